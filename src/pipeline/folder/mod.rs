//! A folder of classes, jars, assemblies and anything else: a class path, an unpacked application, a
//! build's output.

mod assemblies;
mod dexes;

use self::assemblies::earlier_map;
use crate::aspect::pointcut::ArtifactMatcher;
use crate::container::folder::{self, Entry};
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::{Error, Kind, Result};
use crate::jvm::module_info;
use crate::pipeline::archive::{Spot, weave_archive};
use crate::pipeline::commit::{StagedFolder, is_temporary, resolve};
use crate::pipeline::discover::{Format, HEAD, file_name, is_archive_name};
use crate::pipeline::jar_rules::{Library, Survey};
use crate::pipeline::job::{Job, Meter, Progress, artifact_name};
use crate::pipeline::layout::{Home, Layout, LayoutDetector, library_directory, relative_url};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::native::Native;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::output::{Target, write_map};
use crate::pipeline::process::{Context, MAX_CLASS, TouchedClass, weave_class, with_worker};
use crate::pipeline::runtime_library as runtime;
use crate::symbols::{self, Symbols};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

/// Bytes of class files in one batch.
const BATCH_BYTES: u64 = 8 << 20;

/// A file of the folder.
struct Found {
    name: String,
    path: std::path::PathBuf,
    format: Format,
    /// It may be native code.
    native: bool,
    size: u64,
}

fn look(entry: Entry) -> Result<Found> {
    let failed = |e| Error::io("read", &entry.path, e);
    let file = File::open(&entry.path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    Ok(Found {
        format: Format::of(&head),
        native: Native::may_be(&head),
        name: entry.name,
        path: entry.path,
        size,
    })
}

/// Weaves an input that is a folder.
pub(crate) fn weave_folder(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    job: &Job,
    progress: Progress<'_>,
) -> Result<()> {
    let in_place = match &job.output {
        Some(output) => {
            let (from, to) = (resolve(&job.input), resolve(output));
            if to != from && to.starts_with(&from) {
                return Err(Error::usage(format!(
                    "the output folder {} lies inside the input folder: the next run would weave it again; choose one outside",
                    output.display()
                )));
            }
            to == from
        }
        None => false,
    };
    let listing = folder::list(&job.input)?;
    for (path, why) in &listing.skipped {
        let text = format!("{}: {why}; not copied", path.display());
        ledger.outcome.warn(WarningKind::NotCopied, text);
    }
    let mut entries = listing.files;
    entries.retain(|entry| !is_temporary(file_name(&entry.name)));
    let found: Vec<Result<Found>> = entries.into_par_iter().map(look).collect();
    let found: Vec<Found> = found.into_iter().collect::<Result<_>>()?;
    let name = artifact_name(&job.input);
    let matcher = cx.matcher.for_artifact(&name, None, cx.hierarchy);
    let (layout, home) = layout(&found)?;
    let cx = &cx.inside(layout);
    let mut folder = Folder {
        cx,
        ledger,
        job,
        name: &name,
        matcher: &matcher,
        meter: Meter::new(progress, found.iter().map(|f| f.size).sum()),
        layout: (layout, home),
        found: &found,
        staged: match &job.output {
            Some(output) => Some(StagedFolder::create(output)?),
            None => None,
        },
        written: FxHashSet::default(),
        roots: BTreeSet::new(),
        wove_jar: false,
        wove_class: false,
        wove_dex: false,
        has_dex_library: false,
        needs_dex_library: false,
        assembly_directories: BTreeSet::new(),
    };
    folder.reserve_earlier_ids()?;
    folder.tell_of_bundles()?;
    folder.weave()?;
    folder.finish(in_place)
}

/// The layout, and where its hook library lies.
fn layout(found: &[Found]) -> Result<(Layout, Home)> {
    let mut detector = LayoutDetector::default();
    found.iter().for_each(|f| detector.see(&f.name));
    let layout = detector.folder();
    let application = found.iter().find(|f| f.name == "META-INF/application.xml");
    let directory = match application.filter(|_| layout == Layout::Ear) {
        Some(xml) => library_directory(&String::from_utf8_lossy(&read(&xml.path)?)),
        None => "lib".to_owned(),
    };
    Ok((layout, layout.home(&directory)))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| Error::io("read", path, e))
}

/// A class that rules have something to say about.
type Loose<'f> = (&'f Found, Result<Option<TouchedClass>>);

struct Folder<'a, 'j> {
    cx: &'a Context<'a>,
    ledger: &'a mut Ledger<'j>,
    job: &'a Job,
    name: &'a str,
    /// For the loose classes: their artifact is the folder.
    matcher: &'a ArtifactMatcher<'a>,
    meter: Meter<'a>,
    layout: (Layout, Home),
    found: &'a [Found],
    staged: Option<StagedFolder>,
    /// Names that are staged.
    written: FxHashSet<String>,
    /// Class roots (`classes/`, or empty) with woven classes.
    roots: BTreeSet<String>,
    wove_jar: bool,
    /// A class or dex file of the folder changed.
    wove_class: bool,
    wove_dex: bool,
    /// A dex file holds the hook library.
    has_dex_library: bool,
    /// A woven dex file calls it.
    needs_dex_library: bool,
    /// Folders with woven assemblies: paths with a slash at the end, or empty.
    assembly_directories: BTreeSet<String>,
}

impl<'a> Folder<'a, '_> {
    /// Ids of artifacts that were woven before are taken, wherever in the folder they are.
    fn reserve_earlier_ids(&mut self) -> Result<()> {
        for found in self.found {
            if found.format == Format::Zip {
                let input = Input::open(&found.path)?;
                // What cannot be read is told when its turn comes.
                if let Ok(archive) = Archive::open(&input)
                    && let Ok(survey) = Survey::of(&archive)
                    && let Some(earlier) = survey.earlier
                {
                    self.ledger.taken.reserve(&earlier);
                }
            } else if found.format == Format::Pe {
                if let Some(earlier) = earlier_map(&Input::open(&found.path)?) {
                    self.ledger.taken.reserve(&earlier);
                }
            } else if file_name(&found.name) == "symbols" && found.name.ends_with(symbols::MEMBER) {
                self.ledger.taken.reserve(&self.map_of(found)?);
            }
        }
        Ok(())
    }

    /// Assemblies that are packed into an executable are not woven, and whoever weaves a folder does not see them.
    fn tell_of_bundles(&mut self) -> Result<()> {
        /// Libraries, which nothing is packed into.
        const LIBRARIES: [&str; 4] = [".dll", ".so", ".dylib", ".node"];
        for found in self.found.iter().filter(|f| f.native) {
            let name = file_name(&found.name);
            if LIBRARIES.iter().any(|suffix| name.ends_with(suffix)) || name.contains(".so.") {
                continue;
            }
            if Native::of(&Input::open(&found.path)?) == Some(Native::Bundle) {
                let text = format!("{}/{}: {}", self.name, found.name, Native::Bundle.why());
                self.ledger.outcome.warn(WarningKind::NotWoven, text);
            }
        }
        Ok(())
    }

    fn map_of(&self, found: &Found) -> Result<Symbols> {
        let mut map = Symbols::default();
        let added = map.add(&read(&found.path)?);
        added.map_err(|e| self.place(found, e))?;
        Ok(map)
    }

    fn place(&self, found: &Found, e: Error) -> Error {
        e.in_member(&found.name).in_artifact(self.name)
    }

    fn weave(&mut self) -> Result<()> {
        let found = self.found;
        let mut at = 0;
        while at < found.len() {
            match found[at].format {
                Format::Zip => {
                    self.archive(&found[at])?;
                    self.meter.artifact(found[at].size);
                    at += 1;
                }
                Format::Class | Format::Pe | Format::Dex | Format::Other => {
                    let mut bytes = 0;
                    let batch = found[at..].iter().take_while(|f| {
                        bytes += match f.format {
                            Format::Class => f.size,
                            // Mapped, and woven into a few large pieces.
                            Format::Pe | Format::Dex => f.size / 4,
                            Format::Zip | Format::Other => 0,
                        };
                        f.format != Format::Zip && bytes <= BATCH_BYTES
                    });
                    let count = batch.count().max(1);
                    self.classes(&found[at..at + count])?;
                    self.assemblies(&found[at..at + count])?;
                    self.dexes(&found[at..at + count])?;
                    self.meter
                        .artifact(found[at..at + count].iter().map(|f| f.size).sum());
                    at += count;
                }
            }
        }
        Ok(())
    }

    /// Weaves the classes among the files.
    fn classes(&mut self, files: &'a [Found]) -> Result<()> {
        let (cx, matcher) = (self.cx, self.matcher);
        let weave = |found: &Found, attempt: u32| -> Result<Option<TouchedClass>> {
            if found.size > MAX_CLASS {
                let what = format!("a class of {} bytes", found.size);
                return Err(Error::new(Kind::Unsupported, what));
            }
            let bytes = read(&found.path)?;
            with_worker(|w| weave_class(cx, matcher, &bytes, &mut w.scratch, attempt))
        };
        let batch: Vec<Loose<'_>> = files
            .par_iter()
            .filter(|f| f.format == Format::Class && file_name(&f.name) != "module-info.class")
            .map(|found| (found, weave(found, 0)))
            .filter(|(_, touched)| !matches!(touched, Ok(None)))
            .collect();
        let mut outputs = Vec::new();
        for (found, touched) in batch {
            let mut touched = match touched {
                Ok(Some(touched)) => touched,
                Ok(None) => continue,
                Err(e) if e.kind() == Kind::Io => return Err(e),
                Err(e) => {
                    let e = self.place(found, e);
                    self.ledger.unreadable(&e);
                    continue;
                }
            };
            let attempt = self.ledger.claim_ids(&touched.ty);
            if attempt > 0 {
                match weave(found, attempt).map_err(|e| self.place(found, e))? {
                    Some(again) => touched = again,
                    None => continue,
                }
            }
            self.ledger.record(self.name, &touched.ty);
            self.ledger.needs_library |= touched.needs_library;
            if let Some(bytes) = touched.bytes {
                self.wove_loose();
                self.roots
                    .insert(class_root(&found.name, touched.ty.woven.name()));
                outputs.push((self.stage(&found.name)?, found, bytes));
            }
        }
        if self.staged.is_some() {
            let written: Vec<Result<()>> = outputs
                .par_iter()
                .map(|(path, found, bytes)| write_like(path, bytes, Some(&found.path)))
                .collect();
            written.into_iter().collect::<Result<()>>()?;
        }
        Ok(())
    }

    /// Something of the folder itself was woven.
    fn wove_loose(&mut self) {
        if !self.wove_class {
            self.wove_class = true;
            self.ledger.outcome.artifacts += 1;
        }
    }

    /// Announces an output file; an empty path when only planning.
    fn stage(&mut self, name: &str) -> Result<std::path::PathBuf> {
        self.written.insert(name.to_owned());
        match &mut self.staged {
            Some(staged) => staged.file(name),
            None => Ok(std::path::PathBuf::new()),
        }
    }

    fn archive(&mut self, found: &Found) -> Result<()> {
        if self.is_library(&found.name) {
            return Ok(());
        }
        let label = format!("{}/{}", self.name, found.name);
        let input = Input::open(&found.path)?;
        let archive = match Archive::open(&input) {
            Ok(archive) => archive,
            // By its name it is meant to be one; otherwise it is some file that begins like one.
            Err(e) if is_archive_name(&found.name) => return Err(e.in_artifact(label)),
            Err(_) => return Ok(()),
        };
        let library = match (&self.layout.1, self.layout.0) {
            _ if !self.cx.runtime => Library::Absent,
            (Home::Jar(path), Layout::Bundle) => {
                Library::ClassPath(relative_url(&found.name, path))
            }
            _ => Library::Outer,
        };
        let spot = Spot {
            label: &label,
            library,
            is_unit: true,
            depth: 0,
        };
        let staged = &mut self.staged;
        let mut open = || match staged {
            Some(staged) => {
                Staged::create(&staged.file(&found.name)?, Some(&found.path)).map(Target::File)
            }
            None => Ok(Target::Nowhere),
        };
        // The loose classes have a map of their own.
        let loose = self.ledger.begin_inner_unit();
        let woven = weave_archive::<Target>(
            self.cx,
            self.ledger,
            &self.meter,
            &spot,
            &archive,
            &mut open,
        )?;
        self.ledger.resume(loose);
        match woven {
            Some(target) => {
                target.commit()?;
                self.written.insert(found.name.clone());
                self.wove_jar = true;
            }
            None => {
                if let Ok(survey) = Survey::of(&archive)
                    && let Some(earlier) = survey.earlier
                {
                    self.ledger.keep_earlier(&earlier);
                }
            }
        }
        Ok(())
    }

    /// Whether the file is the hook library that an earlier weave laid there.
    fn is_library(&self, name: &str) -> bool {
        matches!(&self.layout.1, Home::Jar(path) if path == name)
    }

    fn has(&self, name: &str) -> bool {
        self.found
            .binary_search_by(|f| f.name.as_str().cmp(name))
            .is_ok()
    }

    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.stage(name)?;
        match self.staged {
            Some(_) => write_like(&path, bytes, None),
            None => Ok(()),
        }
    }

    /// Adds the hook library and the maps, copies the rest, and puts everything in its place.
    fn finish(mut self, in_place: bool) -> Result<()> {
        let changed = self.wove_jar || self.wove_class;
        if changed && self.cx.runtime && self.ledger.needs_library {
            self.add_library()?;
        }
        if self.cx.runtime && self.needs_dex_library && !self.has_dex_library {
            self.add_dex_library()?;
        }
        if self.cx.runtime && !self.assembly_directories.is_empty() {
            self.add_assembly_library()?;
        }
        if self.wove_class {
            self.add_loose_map()?;
        }
        if changed {
            self.describe_modules()?;
        }
        let (Some(mut staged), Some(output)) = (self.staged.take(), &self.job.output) else {
            return Ok(());
        };
        if self.ledger.refuses(self.job.strict) {
            return Ok(());
        }
        if !in_place {
            let mut copies = Vec::new();
            for found in self
                .found
                .iter()
                .filter(|f| !self.written.contains(&f.name))
            {
                copies.push((found, staged.file(&found.name)?));
            }
            let copied: Vec<Result<()>> = copies
                .par_iter()
                .map(|(found, to)| match fs::copy(&found.path, to) {
                    Ok(_) => Ok(()),
                    Err(e) => Err(Error::io("copy", &found.path, e)),
                })
                .collect();
            copied.into_iter().collect::<Result<()>>()?;
        }
        write_map(self.ledger, self.job, output)?;
        staged.commit()
    }

    fn add_library(&mut self) -> Result<()> {
        let mut roots = BTreeSet::new();
        match self.layout.clone() {
            (Layout::Bundle, Home::Jar(path)) => {
                if self.wove_jar && !self.has(&path) {
                    self.add(&path, runtime::JAR)?;
                }
                roots.extend(self.roots.iter().cloned());
            }
            (_, Home::Jar(path)) => {
                if !self.has(&path) {
                    self.add(&path, runtime::JAR)?;
                }
            }
            (_, Home::Package(prefix)) => {
                roots.insert(prefix.to_owned());
            }
            (_, Home::Dex(_)) => {}
        }
        roots.retain(|root| !self.has(&format!("{root}{}", runtime::HOOKS_CLASS)));
        if roots.is_empty() {
            return Ok(());
        }
        let classes = runtime::classes()?;
        for root in roots {
            for (name, bytes) in &classes {
                self.add(&format!("{root}{name}"), bytes)?;
            }
        }
        Ok(())
    }

    /// Each class root carries the map of all loose classes, with what an earlier weave left there.
    fn add_loose_map(&mut self) -> Result<()> {
        let mut earlier = Symbols::default();
        for found in self
            .found
            .iter()
            .filter(|f| f.name.ends_with(symbols::MEMBER))
        {
            let added = earlier.add(&read(&found.path)?);
            added.map_err(|e| self.place(found, e))?;
        }
        let Some(map) = self.ledger.end_unit(Some(&earlier)) else {
            return Ok(());
        };
        let mut roots = self.roots.clone();
        if self.wove_dex {
            // The root of an app that is packed of the folder.
            roots.insert(String::new());
        }
        for root in roots {
            self.add(&format!("{root}{}", symbols::MEMBER), &map)?;
        }
        Ok(())
    }

    /// The module of a class root must have the hook library's package, or read its module.
    fn describe_modules(&mut self) -> Result<()> {
        for found in self.found {
            let Some(root) = found.name.strip_suffix("module-info.class") else {
                continue;
            };
            if found.format != Format::Class || !self.roots.contains(unversioned(root)) {
                continue;
            }
            let before = read(&found.path)?;
            let after = match self.cx.runtime {
                true => module_info::add_package(&before, runtime::PACKAGE),
                false => module_info::add_requires(&before, runtime::MODULE),
            };
            if let Some(after) = after.map_err(|e| self.place(found, e))? {
                self.add(&found.name, &after)?;
            }
        }
        Ok(())
    }
}

fn write_like(path: &Path, bytes: &[u8], like: Option<&Path>) -> Result<()> {
    let mut staged = Staged::create(path, like)?;
    staged
        .write_all(bytes)
        .map_err(|e| Error::io("write", path, e))?;
    staged.commit()
}

/// The folder that a class path names: the file's path without the class's own name.
fn class_root(path: &str, type_name: &str) -> String {
    path.strip_suffix(".class")
        .and_then(|path| path.strip_suffix(type_name))
        .filter(|root| root.is_empty() || root.ends_with('/'))
        .map(unversioned)
        .unwrap_or_default()
        .to_owned()
}

/// A root without the `META-INF/versions/N/` of a multi-release jar that was unpacked.
fn unversioned(root: &str) -> &str {
    let Some((before, version)) = root.strip_suffix('/').and_then(|r| r.rsplit_once('/')) else {
        return root;
    };
    match before.strip_suffix("META-INF/versions") {
        Some(root) if version.bytes().all(|b| b.is_ascii_digit()) => root,
        _ => root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_roots() {
        assert_eq!(class_root("com/acme/A.class", "com/acme/A"), "");
        assert_eq!(class_root("x/classes/a/A.class", "a/A"), "x/classes/");
        assert_eq!(class_root("x/META-INF/versions/11/a/A.class", "a/A"), "x/");
        assert_eq!(class_root("META-INF/versions/11/a/A.class", "a/A"), "");
        assert_eq!(class_root("odd.class", "a/A"), "");
        assert_eq!(class_root("xa/A.class", "a/A"), "");
    }
}
