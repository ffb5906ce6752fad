//! An archive (jar, war, any zip) from its bytes to a sink, with all archives nested in it.

use crate::aspect::pointcut::ArtifactMatcher;
use crate::container::zip::{Archive, Method, Packed, Splicer};
use crate::error::{Error, Kind, Result};
use crate::pipeline::discover::{file_name, is_archive_name};
use crate::pipeline::jar_rules::{Fate, JarRules, Library, MANIFEST, Special, Survey};
use crate::pipeline::job::Meter;
use crate::pipeline::layout::{Home, Layout, relative_url};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::process::{Context, MAX_CLASS, Touched, weave_class, with_worker};
use crate::pipeline::runtime_library as runtime;
use crate::symbols;
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::Write;

/// Unpacked bytes in one batch. Two batches are in memory at a time.
const BATCH_BYTES: u64 = 8 << 20;

/// How deep archives may nest. Real ones do three levels (ear, war, jar).
const MAX_DEPTH: usize = 8;

/// Largest nested archive that is unpacked into memory to look into it.
const MAX_NESTED: u64 = 1 << 30;

/// Where an archive is and how it is run.
pub(crate) struct Spot<'a> {
    /// The artifact's name in messages and symbols: `app.jar!/lib/core.jar`.
    pub(crate) label: &'a str,
    pub(crate) library: Library,
    /// It carries its own symbols map, and the library if that is embedded.
    pub(crate) is_unit: bool,
    pub(crate) depth: usize,
}

/// Opens the sink, once an archive is known to change.
pub(crate) type Open<'o, W> = &'o mut (dyn FnMut() -> Result<W> + Send);

/// A member that rules have something to say about, woven and packed.
struct Item {
    packed: Option<Packed>,
    touched: Touched,
}

type Batch = Vec<(usize, Result<Option<Item>>)>;

/// Weaves an archive. `None`: nothing in it changes, and nothing was opened.
pub(crate) fn weave_archive<W: Write + Send>(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    spot: &Spot<'_>,
    archive: &Archive<'_>,
    open: Open<'_, W>,
) -> Result<Option<W>> {
    let survey = Survey::of(archive)?;
    let library = match &spot.library {
        // What brings its own class loader brings its own library.
        Library::ClassPath(_) if survey.layout != Layout::Jar => Library::Embed,
        library => library.clone(),
    };
    let is_unit = spot.is_unit || (library == Library::Embed && spot.depth > 0);
    let interrupted = (is_unit && spot.depth > 0).then(|| ledger.begin_inner_unit());
    if let Some(earlier) = &survey.earlier {
        ledger.taken.reserve(earlier);
    }
    let name = file_name(spot.label);
    let matcher = cx
        .matcher
        .for_artifact(name, survey.version(name).as_deref(), cx.hierarchy);
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
        special: 0,
        at: 0,
        splicer: None,
        open,
        wove: false,
    };
    walk.run(meter)?;
    let woven = walk.finish(is_unit)?;
    if let Some(interrupted) = interrupted {
        ledger.resume(interrupted);
    }
    Ok(woven)
}

/// Members that may be classes of the rules, in batches, and archives, in the archive's order.
enum Step<'s> {
    Classes(&'s [usize]),
    Nested(usize),
}

/// The way through one archive.
struct Walk<'a, 'j, 'o, W: Write> {
    cx: &'a Context<'a>,
    ledger: &'a mut Ledger<'j>,
    spot: &'a Spot<'a>,
    archive: &'a Archive<'a>,
    matcher: &'a ArtifactMatcher<'a>,
    rules: &'a JarRules<'a>,
    /// The next of the survey's special members.
    special: usize,
    /// The next member to write.
    at: usize,
    /// Opened at the first change: until then every member is one to keep.
    splicer: Option<Splicer<'a, W>>,
    open: Open<'o, W>,
    /// A class of this very archive changed.
    wove: bool,
}

impl<W: Write + Send> Walk<'_, '_, '_, W> {
    fn run(&mut self, meter: &Meter<'_>) -> Result<()> {
        let members = self.archive.members();
        let classes: Vec<usize> = (self.rules.survey.classes.iter().copied())
            .filter(|&i| self.matcher.path_may_match(members[i].name()))
            .collect();
        let mut written: Option<Batch> = None;
        for step in steps(self.archive, &classes, &self.rules.survey.archives) {
            match step {
                Step::Classes(range) => {
                    let (cx, archive, matcher) = (self.cx, self.archive, self.matcher);
                    let before = written.take();
                    let (batch, result) = rayon::join(
                        || weave_batch(cx, matcher, archive, range),
                        || before.map_or(Ok(()), |batch| self.write(batch)),
                    );
                    result?;
                    written = Some(batch);
                    if self.spot.depth == 0 {
                        let last = range.last().map_or(0, |&i| members[i].offset());
                        meter.within(last as u64);
                    }
                }
                Step::Nested(index) => {
                    written.take().map_or(Ok(()), |batch| self.write(batch))?;
                    self.nested(index, meter)?;
                    if self.spot.depth == 0 {
                        meter.within(members[index].offset() as u64);
                    }
                }
            }
        }
        written.take().map_or(Ok(()), |batch| self.write(batch))
    }

    /// Writes what changed of a batch, in order.
    fn write(&mut self, batch: Batch) -> Result<()> {
        for (index, item) in batch {
            let member = &self.archive.members()[index];
            let item = item.map_err(|e| self.place(e.in_member(member.name())));
            let mut item = match item {
                Ok(None) => continue,
                Ok(Some(item)) => item,
                Err(e) if e.kind() == Kind::Io => return Err(e),
                Err(e) => {
                    self.ledger.unreadable(&e);
                    continue;
                }
            };
            if item.packed.is_some() {
                let moved = self.ledger.claim_ids(&item.touched);
                if !moved.is_empty() {
                    match weave_member(self.cx, self.matcher, self.archive, index, &moved)? {
                        Ok(Some(again)) => item = again,
                        // The class was woven a moment ago: neither can be.
                        Ok(None) => continue,
                        Err(e) => return Err(self.place(e.in_member(member.name()))),
                    }
                }
            }
            self.ledger.record(self.spot.label, &item.touched);
            if let Some(packed) = item.packed {
                self.count_artifact();
                self.replace(index, &packed)?;
            }
        }
        Ok(())
    }

    fn count_artifact(&mut self) {
        if !self.wove {
            self.wove = true;
            self.ledger.outcome.artifacts += 1;
        }
    }

    /// Weaves a member that may be an archive itself.
    fn nested(&mut self, index: usize, meter: &Meter<'_>) -> Result<()> {
        let member = &self.archive.members()[index];
        let label = format!("{}!/{}", self.spot.label, member.name());
        if member.size() == 0 || matches!(member.method(), Method::Other(_)) || member.is_encrypted() {
            return Ok(());
        }
        let unreadable = |ledger: &mut Ledger<'_>, e: Error| ledger.unreadable(&e.in_artifact(&*label));
        if self.spot.depth + 1 >= MAX_DEPTH {
            let e = Error::new(Kind::Unsupported, format!("archives nest deeper than {MAX_DEPTH} levels"));
            unreadable(self.ledger, e);
            return Ok(());
        }
        if member.size() > MAX_NESTED {
            let e = Error::new(Kind::Unsupported, "a nested archive of more than 1 GiB");
            unreadable(self.ledger, e);
            return Ok(());
        }
        let bytes: Cow<'_, [u8]> = match member.stored() {
            Some(stored) => Cow::Borrowed(stored.map_err(|e| self.place(e.in_member(member.name())))?),
            None => {
                let mut bytes = Vec::new();
                with_worker(|w| member.read(&mut w.codec, MAX_NESTED, &mut bytes))
                    .map_err(|e| self.place(e.in_member(member.name())))?;
                Cow::Owned(bytes)
            }
        };
        if !Archive::is_zip(&bytes) {
            return Ok(());
        }
        let inner = match Archive::open(&bytes) {
            Ok(inner) => inner,
            Err(e) => {
                unreadable(self.ledger, e);
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
        let size = bytes.len();
        let mut open = || Ok(Vec::with_capacity(size + size / 8));
        let open: Open<'_, Vec<u8>> = &mut open;
        if let Some(woven) = weave_archive(self.cx, self.ledger, meter, &spot, &inner, open)? {
            let packed = match member.method() {
                Method::Stored => Packed {
                    method: Method::Stored,
                    crc32: libdeflater::crc32(&woven),
                    size: woven.len() as u64,
                    data: woven,
                },
                _ => with_worker(|w| Packed::new(Method::Deflated, &woven, &mut w.codec)),
            };
            self.replace(index, &packed)?;
        }
        Ok(())
    }

    /// Replaces a member, after whatever lies before it.
    fn replace(&mut self, index: usize, packed: &Packed) -> Result<()> {
        self.open()?;
        self.advance(index)?;
        let result = self.splicer().replace(packed);
        result.map_err(|e| self.cannot_write(&e))?;
        self.at = index + 1;
        Ok(())
    }

    fn splicer(&mut self) -> &mut Splicer<'_, W>
    where
        Self: Sized,
    {
        unreachable!()
    }
}
