//! An archive (jar, war, any zip) from its bytes to a sink, with all archives nested in it.

use crate::aspect::pointcut::ArtifactMatcher;
use crate::container::apk;
use crate::container::zip::{Archive, Member, Method, Packed};
use crate::error::{Error, Kind, Result};
use crate::pipeline::dex::{Source, has_library, needs_library, weave_dexes};
use crate::pipeline::discover::{Format, file_name};
use crate::pipeline::jar_rules::{self, JarRules, Library, Survey};
use crate::pipeline::job::Meter;
use crate::pipeline::layout::{Home, Layout, relative_url};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::process::{
    Context, MAX_CLASS, Touched, TouchedClass, Worker, weave_class, with_worker,
};
use crate::pipeline::profile::{Renumbered, renumber};
use crate::pipeline::runtime_library as runtime;
use crate::pipeline::splice::{Open, Output};
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

/// Most unpacked bytes in one batch. Two batches are in memory at a time.
const BATCH_BYTES: u64 = 32 << 20;

/// Fewest: below, starting a batch costs more than it spreads.
const MIN_BATCH_BYTES: u64 = 2 << 20;

/// Unpacked bytes that a thread takes at a time: at the end of a batch the others wait for no more.
const TASK_BYTES: u64 = 256 << 10;

/// How deep archives may nest. Real ones do three levels (ear, war, jar).
pub(crate) const MAX_DEPTH: usize = 8;

/// Largest nested archive that is unpacked into memory to look into it.
const MAX_NESTED: u64 = 1 << 30;

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
}

/// A member that rules have something to say about, woven and packed.
struct Item {
    /// Its place in the memory of its [`Task`].
    packed: Option<Packed<Range<usize>>>,
    needs_library: bool,
    touched: Touched,
}

/// What came of a member. The outer error is the archive's and ends the job, the inner one is the
/// class's own: obfuscators leave members that only look like classes, and no loader minds.
type Outcome = Result<Result<Option<Item>>>;

/// A few members in a row, done by one thread.
struct Task {
    outcomes: Vec<(usize, Outcome)>,
    /// Their packed data.
    packed: Vec<u8>,
}

/// Memory of tasks that were written, for the next ones: else every batch would ask for it anew.
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
    let survey = Survey::of(archive).map_err(|e| e.in_artifact(spot.label))?;
    let cx = &cx.inside(survey.layout);
    let library = match &spot.library {
        // What brings its own class loader brings its own library.
        Library::ClassPath(_) if survey.layout != Layout::Jar => Library::Embed,
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
    let rules = JarRules {
        survey: &survey,
        library: &library,
        carries_map: is_unit,
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
        has_dex_library: false,
        needs_dex_library: false,
        renumbered: Vec::new(),
    };
    walk.run(meter)?;
    let woven = walk.finish(is_unit)?;
    if let Some(interrupted) = interrupted {
        ledger.resume(interrupted);
    }
    Ok(woven)
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
    /// A dex file holds the hook library.
    has_dex_library: bool,
    /// A woven dex file calls it.
    needs_dex_library: bool,
    /// What became of the numbers in the dex files that changed, if a profile asks for them.
    renumbered: Vec<Renumbered>,
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
                    let (cx, archive, matcher) = (self.cx, self.archive, self.matcher);
                    let before = std::mem::take(&mut pending);
                    let (batch, result) = rayon::join(
                        || weave_batch(cx, matcher, archive, range, &spare),
                        || self.write(before, &spare),
                    );
                    result?;
                    pending = batch;
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

    /// Adds the place to an error or warning about a member.
    fn place(&self, index: usize, e: Error) -> Error {
        e.in_member(self.archive.members()[index].name())
            .in_artifact(self.spot.label)
    }

    /// Writes what changed of a batch, in order.
    fn write(&mut self, batch: Vec<Task>, spare: &Spare) -> Result<()> {
        for mut task in batch {
            for (index, outcome) in task.outcomes {
                match outcome.map_err(|e| self.place(index, e))? {
                    Ok(None) => {}
                    Ok(Some(item)) => self.write_item(index, item, &mut task.packed)?,
                    Err(e) => {
                        let e = self.place(index, e);
                        self.ledger.unreadable(&e);
                    }
                }
            }
            task.packed.clear();
            spare
                .lock()
                .expect("nobody panics with it")
                .push(task.packed);
        }
        Ok(())
    }

    /// Writes a member that changed; `packed` is the memory of its task.
    fn write_item(&mut self, index: usize, mut item: Item, packed: &mut Vec<u8>) -> Result<()> {
        let attempt = self.ledger.claim_ids(&item.touched);
        if attempt > 0 {
            let member = &self.archive.members()[index];
            let again = weave_member(self.cx, self.matcher, member, attempt, packed);
            match again.flatten().map_err(|e| self.place(index, e))? {
                Some(again) => item = again,
                None => return Ok(()),
            }
        }
        self.ledger.record(self.spot.label, &item.touched);
        self.ledger.needs_library |= item.needs_library;
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
            let bytes = match member.stored() {
                _ if matches!(member.method(), Method::Other(_)) || member.is_encrypted() => {
                    let why =
                        "a dex file that is encrypted or packed with a method other than deflate";
                    return Err(Error::new(Kind::Unsupported, why));
                }
                Some(stored) => Cow::Borrowed(stored?),
                None => {
                    let mut bytes = Vec::new();
                    with_worker(|w| member.read(&mut w.codec, MAX_NESTED, &mut bytes))?;
                    Cow::Owned(bytes)
                }
            };
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
        self.has_dex_library |= found.iter().any(|(_, bytes)| has_library(bytes));
        let sources: Vec<Source<'_>> = (found.iter())
            .map(|(index, bytes)| Source {
                member: members[*index].name(),
                bytes,
            })
            .collect();
        let (cx, label) = (self.cx, self.spot.label);
        let woven = weave_dexes(cx, self.ledger, self.matcher, label, &sources)?;
        self.needs_dex_library |= woven.iter().flatten().any(|bytes| needs_library(bytes));
        let profiled = self.rules.survey.profiles().next().is_some();
        let packed: Vec<_> = (woven.into_par_iter().zip(&found))
            .filter_map(|(bytes, (index, old))| {
                let method = match members[*index].method() {
                    Method::Deflated if !cx.dry => Method::Deflated,
                    _ => Method::Stored,
                };
                let bytes = bytes?;
                let renumbered =
                    profiled.then(|| Renumbered::of(members[*index].name(), old, &bytes));
                let packed = with_worker(|w| Packed::new(method, &bytes, &mut w.codec));
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
        if member.size() == 0
            || matches!(member.method(), Method::Other(_))
            || member.is_encrypted()
        {
            return Ok(());
        }
        let too_much = if self.spot.depth + 1 >= MAX_DEPTH {
            Some(format!("archives nest deeper than {MAX_DEPTH} levels"))
        } else if member.size() > MAX_NESTED && member.method() != Method::Stored {
            Some("a packed nested archive of more than 1 GiB".to_owned())
        } else {
            None
        };
        if let Some(why) = too_much {
            let e = Error::new(Kind::Unsupported, why).in_artifact(label);
            self.ledger.unreadable(&e);
            return Ok(());
        }
        let bytes: Cow<'_, [u8]> = match member.stored() {
            Some(stored) => Cow::Borrowed(stored.map_err(|e| self.place(index, e))?),
            None => {
                let mut bytes = Vec::new();
                with_worker(|w| member.read(&mut w.codec, MAX_NESTED, &mut bytes))
                    .map_err(|e| self.place(index, e))?;
                Cow::Owned(bytes)
            }
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
                Library::ClassPath(relative_url(member.name(), runtime::JAR_NAME))
            }
            Library::Absent if bundle => Library::Absent,
            _ => Library::Outer,
        };
        let spot = Spot {
            label: &label,
            library,
            is_unit: false,
            depth: self.spot.depth + 1,
        };
        let is_signed = apk::has_signing_block(&inner)
            || (inner.members().iter()).any(|m| apk::is_signature_file(m.name()));
        let size = bytes.len();
        let mut open = || Ok(Vec::with_capacity(size + size / 8));
        let woven =
            weave_archive::<Vec<u8>>(self.cx, self.ledger, meter, &spot, &inner, &mut open)?;
        if let Some(mut woven) = woven {
            if let Some(identity) = self.cx.identity
                && is_signed
                && inner.find(apk::MANIFEST).is_some()
            {
                let unsigned = Archive::open(&woven).map_err(|e| self.place(index, e))?;
                woven = apk::sign::sign(&unsigned, identity, Vec::new())
                    .map_err(|e| self.place(index, e))?;
            }
            let packed = match member.method() {
                Method::Stored => Packed {
                    method: Method::Stored,
                    crc32: libdeflater::crc32(&woven),
                    size: woven.len() as u64,
                    data: woven,
                },
                _ => with_worker(|w| Packed::new(Method::Deflated, &woven, &mut w.codec)),
            };
            self.output.replace(index, &packed)?;
        }
        Ok(())
    }

    /// Adds the baseline profile with the new numbers of what it names.
    fn profiles(&mut self) -> Result<()> {
        let folder = match &self.rules.survey.home {
            Home::Dex(folder) => folder,
            Home::Package(_) | Home::Jar(_) => "",
        };
        for index in self.rules.survey.profiles() {
            let member = &self.archive.members()[index];
            let bytes =
                jar_rules::read(self.archive, index).map_err(|e| e.in_artifact(self.spot.label))?;
            let method = match member.method() {
                Method::Stored => Method::Stored,
                _ => Method::Deflated,
            };
            match renumber(&bytes, &self.renumbered, folder) {
                Ok(bytes) => self.output.add(member.name(), method, &bytes)?,
                Err(e) => {
                    let e = self.place(index, e);
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
        if survey.signed && !self.signed_anew() {
            self.ledger.outcome.warn(
                WarningKind::SignatureRemoved,
                format!(
                    "{}: its signature no longer fits and was removed; sign it again if it must be signed",
                    self.spot.label
                ),
            );
        }
        self.profiles()?;
        let embed = *self.rules.library == Library::Embed;
        let needs_library = self.ledger.needs_library;
        let map = match is_unit {
            true => self.ledger.end_unit(survey.earlier.as_ref()),
            false => None,
        };
        match &survey.home {
            Home::Jar(path) if embed && needs_library => {
                let jar = runtime::jar_with_symbols(map.as_deref().map_or(&[][..], Vec::as_slice))?;
                self.output.add(path, Method::Stored, &jar)?;
            }
            home => {
                if embed && self.needs_dex_library && !self.has_dex_library {
                    self.add_dex_library()?;
                }
                if let Home::Package(prefix) = home
                    && embed
                    && needs_library
                    && !survey.carries_library
                {
                    for (name, packed) in runtime::packed_classes()? {
                        self.output
                            .add_packed(&format!("{prefix}{name}"), &packed)?;
                    }
                }
                if let Some(map) = &map {
                    self.output
                        .add(&survey.layout.map_member(), Method::Stored, map)?;
                }
            }
        }
        self.output.finish().map(Some)
    }

    /// Whether this archive gets a signature once it is woven: the outermost one, and apks, which cannot be installed
    /// without.
    fn signed_anew(&self) -> bool {
        let is_apk = || self.archive.find(apk::MANIFEST).is_some();
        self.cx.identity.is_some() && (self.spot.depth == 0 || is_apk())
    }

    /// Adds the hook library as the next dex file, if class loaders look for any here.
    fn add_dex_library(&mut self) -> Result<()> {
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
        let name = format!("{folder}{}", apk::dex_name(number));
        self.output.add(&name, method, runtime::DEX)
    }
}

/// A part of the way through an archive, in its order.
enum Step<'s> {
    /// A batch of members that may be classes.
    Classes(&'s [usize]),
    /// Members that may be dex files, with nothing else to weave between them.
    Dexes(&'s [usize]),
    /// A member that may be an archive.
    Nested(usize),
}

/// Cuts the way into batches bounded by bytes, and what is not a class between them.
fn steps<'s>(archive: &Archive<'_>, mut classes: &'s [usize], survey: &'s Survey) -> Vec<Step<'s>> {
    let members = archive.members();
    let mut steps = Vec::new();
    for (until, stop) in stops(classes, survey, members.len()) {
        let mut before;
        (before, classes) = classes.split_at(classes.partition_point(|&i| i < until));
        // What the directory says of sizes may be a lie of any magnitude.
        let sum = |some: &[usize]| {
            some.iter()
                .fold(0u64, |n, &i| n.saturating_add(members[i].size()))
        };
        while !before.is_empty() {
            // Nobody weaves while the last batch is written, so batches become smaller towards the end.
            let most = (sum(before) / 3).clamp(MIN_BATCH_BYTES, BATCH_BYTES);
            let mut bytes = 0u64;
            let fits = before.iter().take_while(|&&i| {
                bytes = members[i].size().saturating_add(bytes);
                bytes <= most
            });
            let batch;
            (batch, before) = before.split_at(fits.count().max(1));
            steps.push(Step::Classes(batch));
        }
        steps.extend(stop);
    }
    steps
}

/// What lies between classes, by position; last the end.
fn stops<'s>(classes: &[usize], survey: &'s Survey, end: usize) -> Vec<(usize, Option<Step<'s>>)> {
    let between = |some: &[usize], a: usize, b: usize| {
        some.get(some.partition_point(|&i| i < a))
            .is_some_and(|&i| i < b)
    };
    let together =
        |a: &usize, b: &usize| !between(classes, *a, *b) && !between(&survey.archives, *a, *b);
    let dexes = (survey.dexes)
        .chunk_by(together)
        .map(|chunk| (chunk[0], Some(Step::Dexes(chunk))));
    let nested = survey.archives.iter().map(|&i| (i, Some(Step::Nested(i))));
    let mut stops: Vec<_> = dexes.chain(nested).collect();
    stops.sort_unstable_by_key(|(index, _)| *index);
    stops.push((end, None));
    stops
}

fn weave_batch(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    archive: &Archive<'_>,
    members: &[usize],
    spare: &Spare,
) -> Vec<Task> {
    let members_of = archive.members();
    let mut bytes = 0u64;
    let tasks: Vec<&[usize]> = members
        .chunk_by(|_, &next| {
            bytes = bytes.saturating_add(members_of[next].size());
            let same = bytes <= TASK_BYTES;
            bytes *= u64::from(same);
            same
        })
        .collect();
    tasks
        .par_iter()
        .with_max_len(1)
        .map(|members| {
            let memory = spare.lock().expect("nobody panics with it").pop();
            let mut packed = memory.unwrap_or_default();
            let outcomes = members
                .iter()
                .map(|&i| (i, weave_member(cx, matcher, &members_of[i], 0, &mut packed)))
                .filter(|(_, outcome)| !matches!(outcome, Ok(Ok(None))))
                .collect();
            Task { outcomes, packed }
        })
        .collect()
}

fn weave_member(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    member: &Member<'_>,
    attempt: u32,
    packed: &mut Vec<u8>,
) -> Outcome {
    let method = member.method();
    if matches!(method, Method::Other(_)) || member.is_encrypted() {
        let why = "a class that is encrypted or packed with a method other than deflate";
        return Ok(Err(Error::new(Kind::Unsupported, why)));
    }
    if member.size() > MAX_CLASS {
        let why = format!("a class of {} bytes", member.size());
        return Ok(Err(Error::new(Kind::Unsupported, why)));
    }
    with_worker(|w| {
        member.read(&mut w.codec, MAX_CLASS, &mut w.bytes)?;
        let touched = match weave_class(cx, matcher, &w.bytes, &mut w.scratch, attempt) {
            Ok(Some(touched)) => touched,
            Ok(None) => return Ok(Ok(None)),
            Err(e) => return Ok(Err(e)),
        };
        Ok(Ok(Some(Item::pack(cx, method, touched, w, packed))))
    })
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
            // Nobody reads what a plan packs.
            let method = if cx.dry { Method::Stored } else { method };
            let new = Packed::append(method, &bytes, &mut worker.codec, packed);
            worker.scratch.reuse(bytes);
            new
        });
        Item {
            packed,
            needs_library: touched.needs_library,
            touched: touched.ty,
        }
    }
}
