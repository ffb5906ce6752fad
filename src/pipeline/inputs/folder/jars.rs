//! The jars and other archives of a folder.

use super::Walk;
use crate::container::input::Input;
use crate::container::zip::Archive;
use crate::error::Result;
use crate::pipeline::format::is_archive_name;
use crate::pipeline::inputs::archive::cached::weave_cached;
use crate::pipeline::inputs::archive::rules::Survey;
use crate::pipeline::inputs::archive::{Spot, without_signature};
use crate::pipeline::inputs::folder::found::Found;
use crate::pipeline::library::Library;
use crate::pipeline::library::layout::{Home, Layout, relative_url};
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::publish::target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// Signed jars, and the packages of their classes.
pub(super) type SignedJars = BTreeMap<String, BTreeSet<String>>;

impl Walk<'_, '_> {
    /// Weaves an archive. `types` is the digest of what is known of supertypes.
    pub(super) fn jar(&mut self, found: &Found, types: &[u8]) -> Result<()> {
        let folder = self.folder;
        // The hook library that an earlier weave laid there.
        if matches!(&folder.home, Home::Jar(path) if *path == found.name) {
            return Ok(());
        }
        let label = format!("{}/{}", folder.name, found.name);
        let input = Input::open(&found.path)?;
        let archive = match Archive::open(&input) {
            Ok(archive) => archive,
            // By its name it is meant to be one; otherwise it is some file that begins like one.
            Err(e) => {
                if is_archive_name(&found.name) {
                    self.ledger.unreadable(&e.in_artifact(label));
                }
                return Ok(());
            }
        };
        let library = match (&folder.home, folder.layout) {
            _ if !folder.cx.runtime => Library::Absent,
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
            is_named: false,
        };
        let staging = &mut self.staging;
        let mut open = || staging.open(found);
        // The loose classes have a map of their own.
        let loose = self.ledger.begin_inner_unit();
        let woven = weave_cached(
            (folder.job.cache.as_ref(), types),
            folder.cx,
            self.ledger,
            &self.meter,
            &spot,
            (&archive, &input),
            &mut open,
        )?;
        self.ledger.resume(loose);
        match woven {
            Some(target) => {
                target.commit()?;
                self.woven.jars = true;
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

    fn remove_signature(&mut self, name: &str, other: &str, package: &str) -> Result<()> {
        let Some(found) = self.folder.find(name) else {
            return Ok(());
        };
        let label = format!("{}/{name}", self.folder.name);
        let input = Input::open(&found.path)?;
        let archive = Archive::open(&input).map_err(|e| e.in_artifact(&*label))?;
        let mut open = || self.staging.open(found);
        without_signature::<Target>(&label, &archive, &mut open)?.commit()?;
        let text = format!(
            "{label}: its signature was removed, since it has classes of the package {package} as {other} has, whose signature no longer fits"
        );
        let kind = WarningKind::SignatureRemoved;
        self.ledger.outcome.warn(kind, text);
        Ok(())
    }
}
