//! The jars and other archives of a folder.

use super::{Folder, Walk};
use crate::container::input::Input;
use crate::container::zip::Archive;
use crate::error::Result;
use crate::pipeline::cache::Entry;
use crate::pipeline::format::{Format, is_archive_name};
use crate::pipeline::inputs::archive::cached::{Lookup, Woven, weave_cached};
use crate::pipeline::inputs::archive::rules::Survey;
use crate::pipeline::inputs::archive::{Spot, with_library};
use crate::pipeline::inputs::folder::found::Found;
use crate::pipeline::inputs::folder::staging::OutputFile;
use crate::pipeline::library::Library;
use crate::pipeline::library::layout::{Home, Layout, relative_url};
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::publish::target::Target;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Signed jars, and the packages of their classes.
pub(super) type SignedJars = BTreeMap<String, BTreeSet<String>>;

/// Most archives that are looked up together.
const TOGETHER: usize = 64;

/// How many of these files are archives that are woven one after the other.
pub(super) fn run(files: &[Found]) -> usize {
    let run = files.iter().take_while(|f| f.format == Format::Zip);
    run.take(TOGETHER).count()
}

/// An archive, mapped and looked up.
struct Looked<'c> {
    input: Input,
    label: String,
    lookup: Option<Lookup<'c>>,
}

impl Folder<'_> {
    /// Where an archive is.
    fn spot<'s>(&self, found: &Found, label: &'s str) -> Spot<'s> {
        let library = match (&self.home, self.layout) {
            _ if !self.cx.runtime => Library::Absent,
            // Its loader does not look at the manifests of its libraries.
            _ if self.app_of(&found.name).is_some() => Library::Outer,
            (Home::Jar(path), Layout::Bundle) => {
                Library::ClassPath(relative_url(&found.name, path))
            }
            _ => Library::Outer,
        };
        Spot {
            label,
            library,
            is_unit: true,
            depth: 0,
            is_named: false,
            unseen: self.unseen(&found.name),
        }
    }
}

impl Walk<'_, '_> {
    /// Weaves archives, or takes earlier results. `types` is the digest of what is known of supertypes.
    pub(super) fn jars(&mut self, files: &[Found], types: &[u8]) -> Result<()> {
        let folder = self.folder;
        let cache = (folder.job.cache.as_ref()).filter(|_| folder.cx.may_be_cached(self.ledger));
        // Hashing them is most of the work where nothing has changed.
        let looked: Vec<Result<Looked<'_>>> = (files.par_iter())
            .map(|found| {
                let input = Input::open(&found.path)?;
                let label = format!("{}/{}", folder.name, found.name);
                let lookup = cache.map(|cache| {
                    let spot = folder.spot(found, &label);
                    Lookup::new(cache, types, folder.cx, &spot, &input)
                });
                Ok(Looked {
                    input,
                    label,
                    lookup,
                })
            })
            .collect();
        let mut known = Vec::new();
        for (found, looked) in files.iter().zip(looked) {
            // The hook library that an earlier weave laid there stays.
            if !matches!(&folder.home, Home::Jar(path) if *path == found.name)
                && let Some(entry) = self.jar(found, looked?)?
            {
                known.push(OutputFile {
                    path: self.staging.file(&found.name)?,
                    like: found,
                    bytes: entry,
                });
            }
            self.meter.artifact(found.size);
        }
        self.staging.write_all(&known)
    }

    /// Weaves an archive, or returns an earlier result.
    fn jar(&mut self, found: &Found, looked: Looked<'_>) -> Result<Option<Entry>> {
        let folder = self.folder;
        let Looked {
            input,
            label,
            lookup,
        } = looked;
        let archive = match Archive::open(&input) {
            Ok(archive) => archive,
            // By its name it is meant to be one; otherwise it is some file that begins like one.
            Err(e) => {
                if is_archive_name(&found.name) {
                    self.ledger.unreadable(&e.in_artifact(label));
                }
                return Ok(None);
            }
        };
        let spot = folder.spot(found, &label);
        let staging = &mut self.staging;
        let mut open = || staging.open(found);
        // The loose classes have a map of their own.
        let loose = self.ledger.begin_inner_unit();
        let woven = weave_cached(
            lookup,
            folder.cx,
            self.ledger,
            &self.meter,
            &spot,
            &archive,
            &mut open,
        )?;
        self.ledger.resume(loose);
        if woven.is_some() {
            match folder.app_of(&found.name) {
                Some((root, layout)) => {
                    let classes = format!("{root}{}", layout.exploded_classes());
                    self.woven.roots.insert(classes);
                }
                None => self.woven.jars = true,
            }
        }
        match woven {
            Some(Woven::Before(entry)) => return Ok(Some(entry)),
            Some(Woven::Now(target)) => target.commit()?,
            None => {
                if let Ok(survey) = Survey::of(&archive)
                    && let Some(earlier) = survey.earlier
                {
                    self.ledger.keep_earlier(&earlier);
                }
            }
        }
        Ok(None)
    }

    /// Removes the signatures of jars that share a package with a jar that lost its signature: the JVM refuses a package
    /// with both signed and unsigned classes.
    pub(super) fn remove_signatures(&mut self, mut signed: SignedJars) -> Result<()> {
        let lost = |name: &String| self.staging.has(name);
        let mut unsigned: Vec<String> = signed.keys().filter(|name| lost(name)).cloned().collect();
        while let Some(name) = unsigned.pop() {
            let packages = signed.remove(&name).unwrap_or_default();
            for (other, theirs) in &signed {
                let Some(package) = theirs.intersection(&packages).next() else {
                    continue;
                };
                if !self.staging.has(other) && !unsigned.contains(other) {
                    self.remove_signature(other, &name, package)?;
                    unsigned.push(other.clone());
                }
            }
        }
        Ok(())
    }

    /// Lets what launchers start reach the hook library, where something of it was woven.
    pub(super) fn tell_launchers(&mut self, launchers: &[String]) -> Result<()> {
        let folder = self.folder;
        let (Home::Jar(path), true) = (&folder.home, folder.cx.runtime && self.woven.jars) else {
            return Ok(());
        };
        for name in launchers {
            let Some(found) = folder.find(name).filter(|_| !self.staging.has(name)) else {
                continue;
            };
            let root = &name[..name.rfind('/').map_or(0, |slash| slash + 1)];
            let woven = |f: &Found| f.name.starts_with(root) && self.staging.has(&f.name);
            if !folder.found.iter().any(woven) {
                continue;
            }
            let label = format!("{}/{name}", folder.name);
            let input = Input::open(&found.path)?;
            let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*label))?;
            let library = Library::ClassPath(relative_url(name, path));
            let mut open = || self.staging.open(found);
            with_library::<Target>(&label, &archive, &library, &mut open)?.commit()?;
        }
        Ok(())
    }

    fn remove_signature(&mut self, name: &str, other: &str, package: &str) -> Result<()> {
        let Some(found) = self.folder.find(name) else {
            return Ok(());
        };
        let label = format!("{}/{name}", self.folder.name);
        let input = Input::open(&found.path)?;
        let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*label))?;
        let mut open = || self.staging.open(found);
        with_library::<Target>(&label, &archive, &Library::Outer, &mut open)?.commit()?;
        let text = format!(
            "{label}: its signature was removed, since it has classes of the package {package} as {other} has, whose signature no longer fits"
        );
        let kind = WarningKind::SignatureRemoved;
        self.ledger.outcome.warn(kind, text);
        Ok(())
    }
}
