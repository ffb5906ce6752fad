//! What the Java classes of a folder need beside them: the hook library, the map, module descriptors.

use super::Walk;
use crate::error::Result;
use crate::jvm::module_info;
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::inputs::folder::found::read;
use crate::pipeline::library::embedded;
use crate::pipeline::library::layout::{Home, Layout, Unseen, unversioned};
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::own::Brings;
use crate::symbols::{self, Carried, Symbols};
use std::collections::BTreeSet;

impl Walk<'_, '_> {
    /// The library jar has the names of the whole folder: class loaders that see it need not see the jars that call it.
    pub(super) fn add_library(&mut self, sharing: &BTreeSet<String>, map: &[u8]) -> Result<()> {
        let folder = self.folder;
        let own = folder.cx.own_members(&self.ledger.needs, None)?;
        let mut roots = BTreeSet::new();
        match (folder.layout, folder.home.clone()) {
            (Layout::Bundle, Home::Jar(path)) => {
                let mut jars = BTreeSet::new();
                match library_beside(sharing) {
                    // A module path that names the folder of the modules also finds the library.
                    Some(beside) => drop(jars.insert(beside)),
                    None if sharing.is_empty() => {}
                    None => {
                        jars.insert(path.clone());
                        let output = folder.job.output.as_ref();
                        let library = output.unwrap_or(&folder.job.input).join(&path);
                        let text = format!(
                            "{}: modules read the hook library's: put {} on the module path",
                            folder.name,
                            library.display()
                        );
                        self.ledger.outcome.warn(WarningKind::LibraryMissing, text);
                    }
                }
                if self.woven.jars {
                    jars.insert(path);
                }
                for jar in jars {
                    self.staging
                        .add(&jar, &embedded::jar_with_symbols(map, &own)?)?;
                }
                roots.extend(self.woven.roots.difference(sharing).cloned());
            }
            (_, Home::Jar(path)) => {
                self.staging
                    .add(&path, &embedded::jar_with_symbols(map, &own)?)?;
            }
            (_, Home::Package(prefix)) => {
                roots.insert(prefix.to_owned());
            }
            (_, Home::Dex(_)) => {}
        }
        self.add_own(&roots)?;
        roots.retain(|root| !folder.has(&format!("{root}{}", embedded::HOOKS_CLASS)));
        if roots.is_empty() {
            return Ok(());
        }
        let classes = embedded::classes()?;
        for root in roots {
            for (name, bytes) in &classes {
                self.staging.add(&format!("{root}{name}"), bytes)?;
            }
        }
        Ok(())
    }

    /// Adds the classes that are made for classes of the folder itself, each beside its caller.
    pub(super) fn add_generated(&mut self) -> Result<()> {
        for (path, made) in &self.woven.generated {
            if !self.folder.has(path) {
                let bytes = made.class.bytes(self.folder.relocations.get(&made.root))?;
                self.staging.add(path, &bytes)?;
            }
        }
        Ok(())
    }

    /// Adds what own hooks need to class roots; what lies there already counts.
    pub(super) fn add_own(&mut self, roots: &BTreeSet<String>) -> Result<()> {
        // What launches an application does not see its types.
        let roots =
            (roots.iter()).filter(|root| self.folder.unseen(&format!("{root}a")) < Unseen::Own);
        for root in roots {
            let relocation = self.folder.relocations.get(root);
            for (name, bytes) in (self.folder.cx).own_members(&self.ledger.needs, relocation)? {
                let name = format!("{root}{name}");
                if !self.folder.has(&name) {
                    self.staging.add(&name, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Each class root carries the map of all loose classes, with what an earlier weave left there.
    pub(super) fn add_loose_map(&mut self) -> Result<()> {
        let folder = self.folder;
        let mut earlier = Symbols::default();
        for found in folder
            .found
            .iter()
            .filter(|f| symbols::is_carried_anywhere(&f.name))
        {
            // `earlier` has reported maps that cannot be read.
            if let Ok(Some(map)) = folder.map_of(found) {
                earlier.merge(map);
            }
        }
        let Some(map) = self.ledger.end_unit(Some(&earlier)) else {
            return Ok(());
        };
        let mut roots = self.woven.roots.clone();
        if self.woven.dexes {
            // The root of an app that is packed of the folder.
            roots.insert(String::new());
        }
        for root in roots {
            let first = (folder.found.iter())
                .filter(|f| f.format == Format::Class)
                .filter_map(|f| f.name.strip_prefix(&root))
                .find(|name| *name != "module-info.class");
            let member = format!("{root}{}", symbols::MEMBER);
            let Some(first) = first else {
                self.staging.add(&member, &map)?;
                continue;
            };
            let carried = Carried::of(first);
            self.staging.add(&member, &carried.marker)?;
            (self.staging).add(&format!("{root}{}", carried.member), &map)?;
        }
        Ok(())
    }

    /// Class roots with woven classes that are modules and read the hook library's module. No two modules may contain one
    /// package: only a module that is alone has it.
    pub(super) fn modules_that_share(&self) -> BTreeSet<String> {
        let folder = self.folder;
        let descriptors = folder.found.iter().filter(|f| f.format == Format::Class);
        let modules: BTreeSet<String> = descriptors
            .filter_map(|f| f.name.strip_suffix("module-info.class"))
            .map(unversioned)
            .filter(|root| self.woven.roots.contains(*root))
            .map(str::to_owned)
            .collect();
        let has_library = || {
            let beside = library_beside(&modules);
            beside.is_some_and(|path| folder.has(&path)) || folder.has(embedded::JAR_NAME)
        };
        match modules.len() {
            1 if !self.woven.jars && !has_library() => BTreeSet::new(),
            _ => modules,
        }
    }

    /// The module of a class root must have the hook library's package, or read its module.
    pub(super) fn describe_modules(&mut self, sharing: &BTreeSet<String>) -> Result<()> {
        let folder = self.folder;
        for found in folder.found {
            let Some(root) = found.name.strip_suffix("module-info.class") else {
                continue;
            };
            if found.format != Format::Class || !self.woven.roots.contains(unversioned(root)) {
                continue;
            }
            let before = read(&found.path)?;
            self.warn_of_unseen_library(&before);
            let after = match folder.cx.runtime && !sharing.contains(unversioned(root)) {
                true => module_info::add_package(&before, embedded::PACKAGE),
                false => module_info::add_requires(&before, embedded::MODULE),
            };
            let shares = sharing.contains(unversioned(root)) && folder.cx.runtime;
            let after = after.and_then(|after| match folder.cx.own {
                Some(own) => {
                    let brings = match shares {
                        true => Brings::Nothing,
                        false => Brings::Libraries(folder.relocations.get(unversioned(root))),
                    };
                    own.describe(&before, after, brings)
                }
                None => Ok(after),
            });
            match after {
                Ok(Some(after)) => self.staging.add(&found.name, &after)?,
                Ok(None) => {}
                Err(e) => {
                    let e = folder.place(found, e);
                    self.ledger.unreadable(&e);
                }
            }
        }
        Ok(())
    }
}

impl Walk<'_, '_> {
    /// Warns of hooks that the module of a descriptor will not see.
    fn warn_of_unseen_library(&mut self, descriptor: &[u8]) {
        let own = self.folder.cx.own.filter(|_| self.ledger.needs.hooks);
        let library = own.and_then(|own| own.unseen_by_modules());
        if let Some(library) = library
            && let Ok(Some(module)) = module_info::name(descriptor)
        {
            let text = format!(
                "{}: the module {module} does not see the hooks of {library}, which is no named module: give it an \
                 Automatic-Module-Name, or let it go into the output (embed = true)",
                self.folder.name
            );
            self.ledger.outcome.warn(WarningKind::LibraryMissing, text);
        }
    }
}

/// Where the hook library lies beside class roots, if one folder holds them all.
fn library_beside(roots: &BTreeSet<String>) -> Option<String> {
    let folder = |root: &str| {
        let root = root.strip_suffix('/')?;
        Some(root[..root.len() - file_name(root).len()].to_owned())
    };
    let first = folder(roots.first()?)?;
    let all = roots
        .iter()
        .all(|root| folder(root).as_ref() == Some(&first));
    all.then(|| format!("{first}{}", embedded::JAR_NAME))
}
