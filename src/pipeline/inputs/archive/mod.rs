//! An archive (jar, war, any zip) from its bytes to a sink, with all archives nested in it.

pub(crate) mod cached;
pub(crate) mod output;
mod profile;
pub(crate) mod rules;
mod steps;

use crate::aspect::pointcut::ArtifactMatcher;
use crate::container::apk;
use crate::container::zip::{Archive, Member, Method, Packed};
use crate::error::{Error, Kind, Result};
use crate::jvm::{Relocation, Runners};
use crate::pipeline::context::Context;
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::formats::class::{PlannedClass, TouchedClass, plan_class};
use crate::pipeline::formats::dex::{DexLibrary, Source, weave_dexes};
use crate::pipeline::inputs::archive::output::{Open, Output};
use crate::pipeline::inputs::archive::profile::{Renumbered, renumber};
use crate::pipeline::inputs::archive::rules::{JarRules, Survey};
use crate::pipeline::inputs::archive::steps::{Step, steps};
use crate::pipeline::job::Meter;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::touched::Touched;
use crate::pipeline::library::layout::{Home, Layout, Unseen, class_root, relative_url};
use crate::pipeline::library::{Library, embedded};
use crate::pipeline::limits::{MAX_CLASS, MAX_DEPTH, MAX_MEMBER, room_for_nested};
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::own::{Generated, MadeClass, Needs};
use crate::pipeline::worker::{Worker, with_worker};
use crate::symbols::{self, Carried};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

/// Unpacked bytes that a thread takes at a time: at the end of a batch the others wait for no more.
const TASK_BYTES: u64 = 256 << 10;

/// Where an archive is and how it is run.
pub(crate) struct Spot<'a> {
    /// The artifact's name in messages and symbols: `app.jar!/lib/core.jar`.
    pub(crate) label: &'a str,
    /// How its classes reach the hook library.
    pub(crate) library: Library,
    /// It carries its own symbols map, and the library if that is embedded.
    pub(crate) is_unit: bool,
    /// How many archives it is nested in.
    pub(crate) depth: usize,
    /// The user named this very file: what cannot be read in it is an error. Elsewhere it is data.
    pub(crate) is_named: bool,
    /// What of the libraries it does not see.
    pub(crate) unseen: Unseen,
}

impl Spot<'_> {
    /// Reports something that cannot be read: an error where the user named it, else a warning, and it is copied.
    fn unreadable(&self, ledger: &mut Ledger<'_>, e: Error) -> Result<()> {
        match self.is_named {
            true => Err(e),
            false => {
                ledger.unreadable(&e);
                Ok(())
            }
        }
    }
}

/// A member that some rule matches, woven and packed.
struct Item {
    /// Its place in the memory of its [`Task`].
    packed: Option<Packed<Range<usize>>>,
    needs_library: bool,
    needs: Needs,
    generated: Generated,
    touched: Touched,
}

/// A member that may be a class, as far as a phase has come with it.
enum MaybeClass<T> {
    /// No rule has anything to say about it.
    Untouched,
    Touched(T),
    /// It is no class that can be read: obfuscators leave members that only look like classes, and no loader minds.
    Unreadable(Error),
}

/// The error is the archive's own.
type Outcome<T> = Result<MaybeClass<T>>;

/// A few members in a row that one thread has planned.
type PlannedTask<'b> = Vec<(usize, Outcome<PlannedClass<'b>>)>;

/// A few members in a row that one thread has woven.
struct Task {
    outcomes: Vec<(usize, Outcome<Item>)>,
    /// Their packed data.
    packed: Vec<u8>,
}

/// Memory of tasks that were written, for the next ones.
type Spare = Mutex<Vec<Vec<u8>>>;

/// Weaves an archive. `None`: nothing in it changes, and nothing was opened.
pub(crate) fn weave_archive<W: Write + Send>(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    spot: &Spot<'_>,
    archive: &Archive<'_>,
    open: Open<'_, W>,
) -> Result<Option<W>> {
    if spot.depth == 0 {
        ledger.room = room_for_nested(archive.bytes().len());
    }
    let survey = match Survey::of(archive) {
        Ok(survey) => survey,
        Err(e) => {
            spot.unreadable(ledger, e.in_artifact(spot.label))?;
            return Ok(None);
        }
    };
    let cx = &cx.inside(survey.layout);
    let library = match &spot.library {
        // What brings its own class loader brings its own library.
        Library::ClassPath(_) if !matches!(survey.layout, Layout::Jar | Layout::Jmod) => {
            Library::Embed
        }
        Library::Outer if cx.runtime && matches!(survey.layout, Layout::Apk | Layout::Aab) => {
            Library::Embed
        }
        library => library.clone(),
    };
    let is_unit = spot.is_unit || library == Library::Embed;
    let interrupted = (is_unit && spot.depth > 0).then(|| ledger.begin_inner_unit());
    if let Some(earlier) = &survey.earlier {
        ledger.taken.reserve(earlier);
    }
    let name = file_name(spot.label);
    let version = survey.version(name);
    let matcher = cx
        .matcher
        .for_artifact(name, version.as_deref(), cx.hierarchy);
    let relocation = relocation(cx, archive, &survey, &library);
    let rules = JarRules {
        survey: &survey,
        library: &library,
        carries_map: is_unit,
        own: cx.own,
        relocation: relocation.as_ref(),
    };
    let mut walk = Walk {
        cx,
        ledger,
        spot,
        archive,
        matcher: &matcher,
        rules: &rules,
        output: Output::new(archive, &rules, spot.label, open),
        wove: false,
        signed_inside: Vec::new(),
        dex_library: DexLibrary::default(),
        renumbered: Vec::new(),
        generated: BTreeMap::new(),
        runners: runners(archive, &survey),
    };
    walk.run(meter)?;
    let woven = walk.finish(is_unit)?;
    if let Some(interrupted) = interrupted {
        ledger.resume(interrupted);
    }
    Ok(woven)
}

/// What runs bodies of an archive's classes.
fn runners(archive: &Archive<'_>, survey: &Survey) -> Runners {
    let classes = survey.classes.iter();
    Runners::new(classes.map(|&index| {
        let member = &archive.members()[index];
        (member.name(), u64::from(member.crc32()))
    }))
}

/// Writes an archive without its signature, where another jar with classes of its packages has lost its own, or where its manifest says
/// more now: how what it starts reaches the hook library.
pub(crate) fn with_library<W: Write + Send>(
    label: &str,
    archive: &Archive<'_>,
    library: &Library,
    open: Open<'_, W>,
) -> Result<W> {
    let survey = Survey::of(archive).map_err(|e| e.in_artifact(label))?;
    let rules = JarRules {
        survey: &survey,
        library,
        carries_map: false,
        own: None,
        relocation: None,
    };
    let mut output = Output::new(archive, &rules, label, open);
    output.keep_rest()?;
    output.finish()
}

/// A signed jar that lies in another archive.
struct SignedInside {
    member: String,
    packages: BTreeSet<String>,
    /// It was woven, and is not signed any more.
    lost: bool,
}

/// The way through one archive.
struct Walk<'a, 'j, 'o, W: Write> {
    cx: &'a Context<'a>,
    ledger: &'a mut Ledger<'j>,
    spot: &'a Spot<'a>,
    archive: &'a Archive<'a>,
    matcher: &'a ArtifactMatcher<'a>,
    rules: &'a JarRules<'a>,
    output: Output<'a, 'o, W>,
    /// A class of this very archive changed, not only one of an archive nested in it.
    wove: bool,
    signed_inside: Vec<SignedInside>,
    dex_library: DexLibrary,
    /// The new numbers in the dex files that changed, if a profile asks for them.
    renumbered: Vec<Renumbered>,
    /// The classes that are made for its classes, by their paths.
    generated: BTreeMap<String, MadeClass>,
    /// What runs bodies of its classes.
    runners: Runners,
}

impl<W: Write + Send> Walk<'_, '_, '_, W> {
    fn run(&mut self, meter: &Meter<'_>) -> Result<()> {
        let members = self.archive.members();
        let survey = self.rules.survey;
        let mut classes: Vec<usize> = survey.classes.clone();
        classes.retain(|&i| self.matcher.path_may_match(members[i].name()));
        let spare = Spare::default();
        let mut pending = Vec::new();
        for step in steps(self.archive, &classes, survey) {
            let at = match step {
                Step::Classes(range) => {
                    pending = self.classes(range, std::mem::take(&mut pending), &spare)?;
                    range.last().copied()
                }
                Step::Dexes(range) => {
                    self.write(std::mem::take(&mut pending), &spare)?;
                    self.dexes(range)?;
                    range.last().copied()
                }
                Step::Nested(index) => {
                    self.write(std::mem::take(&mut pending), &spare)?;
                    self.nested(index, meter)?;
                    Some(index)
                }
            };
            if let Some(index) = at.filter(|_| self.spot.depth == 0) {
                meter.within(members[index].offset() as u64);
            }
        }
        self.write(pending, &spare)
    }

    /// Weaves a batch of classes, while what was woven before is written.
    fn classes(&mut self, range: &[usize], before: Vec<Task>, spare: &Spare) -> Result<Vec<Task>> {
        let (cx, archive) = (self.cx, self.archive);
        let (layout, outer) = (self.rules.survey.layout, self.spot.unseen);
        let relocation = self.rules.relocation;
        let tasks = tasks(archive, range);
        let mut arenas: Vec<Vec<u8>> = tasks.iter().map(|_| take(spare)).collect();
        let mut planned: Vec<PlannedTask<'_>> = (tasks.par_iter())
            .zip(&mut arenas)
            .with_max_len(1)
            .map(|(members, arena)| {
                let unseen = |path: &str| layout.unseen(path).max(outer);
                plan_task(cx, (self.matcher, &unseen), archive, members, arena)
            })
            .collect();
        // Ids are claimed in the job's order, before anything is woven with them.
        for (index, outcome) in planned.iter_mut().flatten() {
            let Ok(MaybeClass::Touched(class)) = outcome else {
                continue;
            };
            let root = class_root(archive.members()[*index].name(), &class.name());
            class.seat(&mut self.runners, &root);
            if let Err(e) = class.claim(self.ledger) {
                *outcome = Ok(MaybeClass::Unreadable(e));
            }
        }
        let weave = || -> Vec<Task> {
            let planned = planned.into_par_iter().with_max_len(1);
            planned
                .map(|task| weave_task(cx, archive, relocation, task, take(spare)))
                .collect()
        };
        let (woven, written) = rayon::join(weave, || self.write(before, spare));
        arenas.into_iter().for_each(|arena| give_back(spare, arena));
        written.map(|()| woven)
    }

    /// Adds the place to an error or warning about a member.
    fn place(&self, index: usize, e: Error) -> Error {
        e.in_member(self.archive.members()[index].name())
            .in_artifact(self.spot.label)
    }

    /// Writes what changed of a batch, in order.
    fn write(&mut self, batch: Vec<Task>, spare: &Spare) -> Result<()> {
        for task in batch {
            for (index, outcome) in task.outcomes {
                match outcome {
                    Ok(MaybeClass::Untouched) => {}
                    Ok(MaybeClass::Touched(item)) => self.write_item(index, item, &task.packed)?,
                    Ok(MaybeClass::Unreadable(e)) => {
                        let e = self.place(index, e);
                        self.ledger.unreadable(&e);
                    }
                    Err(e) => {
                        let e = self.place(index, e);
                        self.spot.unreadable(self.ledger, e)?;
                    }
                }
            }
            give_back(spare, task.packed);
        }
        Ok(())
    }

    /// Writes a member that changed; `packed` is the memory of its task.
    fn write_item(&mut self, index: usize, item: Item, packed: &[u8]) -> Result<()> {
        self.ledger.record(self.spot.label, &item.touched);
        self.ledger.needs_library |= item.needs_library;
        self.ledger.needs.add(item.needs);
        if !item.generated.is_empty() {
            let path = self.archive.members()[index].name();
            let root = class_root(path, item.touched.woven.name());
            for (name, made) in item.generated {
                match self.generated.entry(format!("{root}{name}.class")) {
                    Entry::Vacant(entry) => drop(entry.insert(made)),
                    Entry::Occupied(mut entry) => entry.get_mut().join(made),
                }
            }
        }
        if let Some(new) = item.packed {
            self.woven();
            self.output.replace(index, &new.of(packed))?;
        }
        Ok(())
    }

    /// Weaves members that may be dex files.
    fn dexes(&mut self, indices: &[usize]) -> Result<()> {
        let members = self.archive.members();
        let unpack = |&index: &usize| -> Result<Option<(usize, Cow<'_, [u8]>)>> {
            let member = &members[index];
            if matches!(member.method(), Method::Other(_)) || member.is_encrypted() {
                let why = "a dex file that is encrypted or packed with a method other than deflate";
                return Err(Error::new(Kind::Unsupported, why));
            }
            let bytes = unpack(member)?;
            // Other files have the suffix, too.
            Ok((Format::of(&bytes) == Format::Dex).then_some((index, bytes)))
        };
        let unpacked: Vec<_> = indices.par_iter().map(unpack).collect();
        let mut found = Vec::with_capacity(indices.len());
        for (&index, unpacked) in indices.iter().zip(unpacked) {
            match unpacked {
                Ok(unpacked) => found.extend(unpacked),
                Err(e) => {
                    let e = self.place(index, e);
                    self.ledger.unreadable(&e);
                }
            }
        }
        self.dex_library
            .look_into(found.iter().map(|(_, bytes)| &**bytes));
        let sources: Vec<Source<'_>> = (found.iter())
            .map(|(index, bytes)| Source {
                member: Some(members[*index].name()),
                bytes,
            })
            .collect();
        let (cx, label) = (self.cx, self.spot.label);
        let woven = weave_dexes(cx, self.ledger, self.matcher, label, &sources)?;
        self.dex_library.look_into_woven(&woven);
        let profiled = self.rules.survey.profiles().next().is_some();
        let packed: Vec<_> = (woven.into_par_iter().zip(&found))
            .filter_map(|(woven, (index, old))| {
                let method = match members[*index].method() {
                    Method::Deflated if !cx.dry => Method::Deflated,
                    _ => Method::Stored,
                };
                let bytes = woven?.bytes?;
                let renumbered =
                    profiled.then(|| Renumbered::of(members[*index].name(), old, &bytes));
                let packed =
                    with_worker(|w| Packed::with_effort(cx.effort, method, &bytes, &mut w.codec));
                Some((*index, packed, renumbered))
            })
            .collect();
        for (index, packed, renumbered) in packed {
            self.woven();
            self.output.replace(index, &packed)?;
            self.renumbered.extend(renumbered);
        }
        Ok(())
    }

    /// Something of this very archive was woven.
    fn woven(&mut self) {
        if !self.wove {
            self.wove = true;
            self.ledger.outcome.artifacts += 1;
        }
    }

    /// Weaves a member that may be an archive itself.
    fn nested(&mut self, index: usize, meter: &Meter<'_>) -> Result<()> {
        let member = &self.archive.members()[index];
        let label = format!("{}!/{}", self.spot.label, member.name());
        if member.size() == 0 {
            return Ok(());
        }
        if let Some(why) = self.refuses(member) {
            let e = Error::new(Kind::Unsupported, why).in_artifact(label);
            self.ledger.unreadable(&e);
            return Ok(());
        }
        self.ledger.room -= member.size();
        let bytes = match unpack(member) {
            Ok(bytes) => bytes,
            Err(e) => return self.spot.unreadable(self.ledger, self.place(index, e)),
        };
        if !Archive::is_zip(&bytes) {
            return Ok(());
        }
        let inner = match Archive::open(&bytes) {
            Ok(inner) => inner,
            Err(e) => {
                self.ledger.unreadable(&e.in_artifact(label));
                return Ok(());
            }
        };
        let bundle = self.rules.survey.layout == Layout::Bundle;
        let library = match self.rules.library {
            Library::Embed if bundle => {
                Library::ClassPath(relative_url(member.name(), embedded::JAR_NAME))
            }
            Library::Absent if bundle => Library::Absent,
            _ => Library::Outer,
        };
        let spot = Spot {
            label: &label,
            library,
            is_unit: false,
            depth: self.spot.depth + 1,
            is_named: false,
            unseen: self.unseen(member.name()),
        };
        let size = bytes.len();
        let mut open = || Ok(Vec::with_capacity(size + size / 8));
        let woven =
            weave_archive::<Vec<u8>>(self.cx, self.ledger, meter, &spot, &inner, &mut open)?;
        if let Some(packages) = rules::signed_packages(&inner) {
            self.signed_inside.push(SignedInside {
                member: member.name().to_owned(),
                packages,
                lost: woven.is_some(),
            });
        }
        if let Some(woven) = woven {
            let woven = self.sign_again(&inner, woven);
            let woven = woven.map_err(|e| self.place(index, e))?;
            let packed = match member.method() {
                Method::Stored => Packed {
                    method: Method::Stored,
                    crc32: libdeflater::crc32(&woven),
                    size: woven.len() as u64,
                    data: woven,
                },
                _ => with_worker(|w| {
                    Packed::with_effort(self.cx.effort, Method::Deflated, &woven, &mut w.codec)
                }),
            };
            self.output.replace(index, &packed)?;
        }
        Ok(())
    }

    /// What of the libraries a member does not see.
    fn unseen(&self, path: &str) -> Unseen {
        self.rules.survey.layout.unseen(path).max(self.spot.unseen)
    }

    /// Why a nested archive is not looked into.
    fn refuses(&self, member: &Member<'_>) -> Option<String> {
        if matches!(member.method(), Method::Other(_)) || member.is_encrypted() {
            let why = "an archive that is encrypted or packed with a method other than deflate";
            Some(why.to_owned())
        } else if self.spot.depth + 1 >= MAX_DEPTH {
            Some(format!("archives nest deeper than {MAX_DEPTH} levels"))
        } else if member.size() > MAX_MEMBER && member.method() != Method::Stored {
            Some("a packed nested archive of more than 1 GiB".to_owned())
        } else if member.size() > self.ledger.room {
            Some("the archives nested in the file unpack to more than 32 times its size".to_owned())
        } else {
            None
        }
    }

    /// Signs a nested apk that was signed before it was woven.
    fn sign_again(&self, before: &Archive<'_>, woven: Vec<u8>) -> Result<Vec<u8>> {
        let was_signed = || {
            apk::has_signing_block(before)
                || (before.members().iter()).any(|m| apk::is_signature_file(m.name()))
        };
        match self.cx.identity {
            Some(identity) if before.find(apk::MANIFEST).is_some() && was_signed() => {
                apk::sign::sign(&Archive::open(&woven)?, identity, Vec::new())
            }
            _ => Ok(woven),
        }
    }

    /// Adds the baseline profile with the new numbers of what it names.
    fn profiles(&mut self) -> Result<()> {
        let folder = match &self.rules.survey.home {
            Home::Dex(folder) => folder,
            Home::Package(_) | Home::Jar(_) => "",
        };
        for index in self.rules.survey.profiles() {
            let member = &self.archive.members()[index];
            let method = match member.method() {
                Method::Stored => Method::Stored,
                _ => Method::Deflated,
            };
            let renumbered = rules::read(self.archive, index).and_then(|bytes| {
                renumber(&bytes, &self.renumbered, folder).map_err(|e| e.in_member(member.name()))
            });
            match renumbered {
                Ok(bytes) => self.output.add(member.name(), method, &bytes)?,
                Err(e) => {
                    let e = e.in_artifact(self.spot.label);
                    let kind = WarningKind::ProfileDropped;
                    self.ledger
                        .outcome
                        .warn(kind, format!("{e}; it was left out"));
                }
            }
        }
        Ok(())
    }

    /// Adds the hook library and the map, and ends the archive.
    fn finish(mut self, is_unit: bool) -> Result<Option<W>> {
        let survey = self.rules.survey;
        if !self.output.is_open() {
            return Ok(None);
        }
        self.output.keep_rest()?;
        for e in self.output.take_unreadable() {
            self.spot.unreadable(self.ledger, e)?;
        }
        if survey.signed && !self.signed_anew() {
            self.ledger.outcome.warn(
                WarningKind::SignatureRemoved,
                format!(
                    "{}: its signature no longer fits and was removed; sign it again if it must be signed",
                    self.spot.label
                ),
            );
        }
        self.warn_of_shared_packages();
        self.profiles()?;
        let embed = *self.rules.library == Library::Embed;
        let needs_library = self.ledger.needs_library;
        let here = matches!(self.rules.library, Library::Embed | Library::Absent);
        let relocation = self.rules.relocation;
        let own = match here {
            true => self.cx.own_members(&self.ledger.needs, relocation)?,
            false => BTreeMap::new(),
        };
        for (path, made) in std::mem::take(&mut self.generated) {
            // One of an earlier weave is the same.
            if self.archive.find(&path).is_none() {
                self.output
                    .add(&path, Method::Deflated, &made.bytes(relocation)?)?;
            }
        }
        let map = match is_unit {
            true => self.ledger.end_unit(survey.earlier.as_ref()),
            false => None,
        };
        match &survey.home {
            Home::Jar(path) if embed && (needs_library || !own.is_empty()) => {
                let map = map.as_deref().map_or(&[][..], Vec::as_slice);
                let jar = embedded::jar_with_symbols(map, &own)?;
                self.output.add(path, Method::Stored, &jar)?;
            }
            home => {
                if here {
                    self.add_dexes(embed)?;
                }
                let prefix = match home {
                    Home::Package(prefix) => prefix,
                    Home::Jar(_) | Home::Dex(_) => "",
                };
                let own_root = survey.layout.own_root().unwrap_or(prefix);
                for (name, data) in &own {
                    let name = format!("{own_root}{name}");
                    // What the archive brings itself counts.
                    if self.archive.find(&name).is_none() {
                        self.output.add(&name, Method::Deflated, data)?;
                    }
                }
                if let Home::Package(prefix) = home
                    && embed
                    && needs_library
                    && !survey.carries_library
                {
                    for (name, packed) in embedded::packed_classes()? {
                        self.output
                            .add_packed(&format!("{prefix}{name}"), &packed)?;
                    }
                }
                if let Some(map) = &map {
                    self.add_map(map)?;
                }
            }
        }
        self.output.finish().map(Some)
    }

    /// Nothing is packed into an apk's map any more: it has the one name.
    fn add_map(&mut self, map: &[u8]) -> Result<()> {
        let survey = self.rules.survey;
        let root = survey.layout.map_root();
        let member = format!("{root}{}", symbols::MEMBER);
        if !matches!(survey.home, Home::Package(_)) {
            return self.output.add(&member, Method::Stored, map);
        }
        let members = self.archive.members();
        let classes = survey.classes.iter().map(|&i| members[i].name());
        let carried = Carried::of(classes.min().unwrap_or_default());
        self.output.add(&member, Method::Stored, &carried.marker)?;
        self.output
            .add(&format!("{root}{}", carried.member), Method::Stored, map)
    }

    /// Warns of packages with both signed and unsigned classes, which the JVM refuses.
    fn warn_of_shared_packages(&mut self) {
        for kept in self.signed_inside.iter().filter(|s| !s.lost) {
            let lost = self.signed_inside.iter().filter(|s| s.lost);
            let shared = lost
                .filter_map(|lost| Some((lost, kept.packages.intersection(&lost.packages).next()?)))
                .next();
            if let Some((lost, package)) = shared {
                let text = format!(
                    "{}!/{} is signed and has classes of the package {package} as {} has, whose signature was removed: one class loader refuses to load both; remove META-INF/*.SF from it",
                    self.spot.label, kept.member, lost.member
                );
                let kind = WarningKind::SignatureRemoved;
                self.ledger.outcome.warn(kind, text);
            }
        }
    }

    /// Whether this archive gets a signature once it is woven: the outermost one, and apks, which cannot be installed
    /// without.
    fn signed_anew(&self) -> bool {
        let is_apk = || self.archive.find(apk::MANIFEST).is_some();
        self.cx.identity.is_some() && (self.spot.depth == 0 || is_apk())
    }

    /// Adds the hook library, if it is to be embedded and is missing, and what own hooks need, as the next dex files, if class loaders
    /// look for any here.
    fn add_dexes(&mut self, embed: bool) -> Result<()> {
        let own = self.cx.own.map(|own| own.dexes(&self.dex_library.needs));
        let library = (embed && self.dex_library.is_missing()).then(|| embedded::DEX.to_vec());
        let dexes: Vec<Vec<u8>> = library
            .into_iter()
            .chain(own.into_iter().flatten())
            .collect();
        if dexes.is_empty() {
            return Ok(());
        }
        let (survey, members) = (self.rules.survey, self.archive.members());
        let folder = match survey.home {
            Home::Dex(folder) => folder,
            // Class files may lie beside dex files that were made of them.
            _ if self.archive.find(&apk::dex_name(1)).is_some() => "",
            _ => {
                self.ledger.outcome.warn(
                    WarningKind::LibraryMissing,
                    format!(
                        "{}: its dex files call the hook library, which has no place here: lay the one of `weave runtime weave-runtime.dex` where they find it",
                        self.spot.label
                    ),
                );
                return Ok(());
            }
        };
        let inside = |name: &str| name.strip_prefix(folder).map(str::to_owned);
        let names: Vec<String> = members.iter().filter_map(|m| inside(m.name())).collect();
        let number = apk::free_dex_number(names.iter().map(String::as_str));
        let like = survey.dexes.iter().map(|&i| &members[i]);
        let like = like
            .filter(|m| inside(m.name()).is_some())
            .map(Member::method);
        let method = match like.min_by_key(|m| *m != Method::Stored) {
            Some(Method::Stored) => Method::Stored,
            _ => Method::Deflated,
        };
        for (number, dex) in (number..).zip(&dexes) {
            let name = format!("{folder}{}", apk::dex_name(number));
            self.output.add(&name, method, dex)?;
        }
        Ok(())
    }
}

/// The names of libraries in an archive that is a module and woven by itself.
fn relocation(
    cx: &Context<'_>,
    archive: &Archive<'_>,
    survey: &Survey,
    library: &Library,
) -> Option<Relocation> {
    let is_module =
        *library == Library::Absent && matches!(survey.layout, Layout::Jar | Layout::Jmod);
    let own = cx.own.filter(|_| is_module)?;
    let readable = |&index: &usize| archive.members()[index].size() <= MAX_CLASS;
    let mut descriptors = survey.descriptors().filter(readable);
    descriptors.find_map(|index| own.relocation(&rules::read(archive, index).ok()?))
}

/// The data of a member that is no class.
fn unpack<'a>(member: &Member<'a>) -> Result<Cow<'a, [u8]>> {
    if let Some(stored) = member.stored() {
        return stored.map(Cow::Borrowed);
    }
    let mut bytes = Vec::new();
    with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes))?;
    Ok(Cow::Owned(bytes))
}

/// Memory for a task.
fn take(spare: &Spare) -> Vec<u8> {
    let memory = spare.lock().expect("no thread panics with it").pop();
    memory.unwrap_or_default()
}

fn give_back(spare: &Spare, mut memory: Vec<u8>) {
    memory.clear();
    spare.lock().expect("no thread panics with it").push(memory);
}

/// Cuts a batch into tasks of about [`TASK_BYTES`].
fn tasks<'m>(archive: &Archive<'_>, members: &'m [usize]) -> Vec<&'m [usize]> {
    let mut bytes = 0u64;
    let same_task = |_: &usize, &next: &usize| {
        bytes = bytes.saturating_add(archive.members()[next].size());
        let same = bytes <= TASK_BYTES;
        bytes *= u64::from(same);
        same
    };
    members.chunk_by(same_task).collect()
}

/// Reads classes into `arena` and plans them.
fn plan_task<'b>(
    cx: &Context<'_>,
    (matcher, unseen): (&ArtifactMatcher<'_>, &dyn Fn(&str) -> Unseen),
    archive: &Archive<'_>,
    members: &[usize],
    arena: &'b mut Vec<u8>,
) -> PlannedTask<'b> {
    let read: Vec<(usize, Outcome<Range<usize>>)> = (members.iter())
        .map(|&index| (index, read_class(&archive.members()[index], arena)))
        .collect();
    let bytes: &'b [u8] = arena;
    let plan = |index: usize, range: Range<usize>| {
        let unseen = unseen(archive.members()[index].name());
        match plan_class(cx, matcher, &bytes[range], unseen) {
            Ok(Some(class)) => MaybeClass::Touched(class),
            Ok(None) => MaybeClass::Untouched,
            Err(e) => MaybeClass::Unreadable(e),
        }
    };
    read.into_iter()
        .map(|(index, read)| {
            let plan = |range| plan(index, range);
            (index, read.map(|read| read.and_then(plan)))
        })
        .filter(|(_, outcome)| !matches!(outcome, Ok(MaybeClass::Untouched)))
        .collect()
}

/// Appends a class file to `arena`.
fn read_class(member: &Member<'_>, arena: &mut Vec<u8>) -> Outcome<Range<usize>> {
    let unsupported = |why: String| Ok(MaybeClass::Unreadable(Error::new(Kind::Unsupported, why)));
    if matches!(member.method(), Method::Other(_)) || member.is_encrypted() {
        let why = "a class that is encrypted or packed with a method other than deflate";
        return unsupported(why.to_owned());
    }
    if member.size() > MAX_CLASS {
        return unsupported(format!("a class of {} bytes", member.size()));
    }
    let start = arena.len();
    with_worker(|w| {
        member.read(&mut w.codec, MAX_CLASS, &mut w.bytes)?;
        arena.extend_from_slice(&w.bytes);
        Ok(MaybeClass::Touched(start..arena.len()))
    })
}

/// Weaves planned classes and packs them into `packed`.
fn weave_task(
    cx: &Context<'_>,
    archive: &Archive<'_>,
    relocation: Option<&Relocation>,
    planned: PlannedTask<'_>,
    mut packed: Vec<u8>,
) -> Task {
    let outcomes = (planned.into_iter())
        .map(|(index, planned)| {
            let method = archive.members()[index].method();
            let mut weave = |class: PlannedClass<'_>| {
                with_worker(|w| match class.weave(cx, &mut w.scratch, relocation) {
                    Ok(Some(class)) => {
                        MaybeClass::Touched(Item::pack(cx, method, class, w, &mut packed))
                    }
                    Ok(None) => MaybeClass::Untouched,
                    Err(e) => MaybeClass::Unreadable(e),
                })
            };
            (index, planned.map(|planned| planned.and_then(&mut weave)))
        })
        .collect();
    Task { outcomes, packed }
}

impl<T> MaybeClass<T> {
    /// The next phase of what a rule means.
    fn and_then<U>(self, next: impl FnOnce(T) -> MaybeClass<U>) -> MaybeClass<U> {
        match self {
            MaybeClass::Untouched => MaybeClass::Untouched,
            MaybeClass::Touched(t) => next(t),
            MaybeClass::Unreadable(e) => MaybeClass::Unreadable(e),
        }
    }
}

impl Item {
    fn pack(
        cx: &Context<'_>,
        method: Method,
        touched: TouchedClass,
        worker: &mut Worker,
        packed: &mut Vec<u8>,
    ) -> Item {
        let packed = touched.bytes.map(|bytes| {
            // A plan writes nothing.
            let method = if cx.dry { Method::Stored } else { method };
            let new = Packed::append(cx.effort, method, &bytes, &mut worker.codec, packed);
            worker.scratch.reuse(bytes);
            new
        });
        Item {
            packed,
            needs_library: touched.needs_library,
            needs: touched.needs,
            generated: touched.generated,
            touched: touched.ty,
        }
    }
}
