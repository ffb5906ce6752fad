//! What a jar needs besides its classes when it changes: manifest, signatures, module descriptors,
//! index, and an earlier weave's map.

use crate::container::apk;
use crate::container::jar::{Manifest, is_signature_file};
use crate::container::zip::{Archive, Method, Packed};
use crate::error::{Error, Result};
use crate::jvm::{Relocation, module_info};
use crate::pipeline::format::{file_name, is_archive_name};
use crate::pipeline::library::Library;
use crate::pipeline::library::embedded::{HOOKS_CLASS, JAR_NAME, MODULE, PACKAGE};
use crate::pipeline::library::layout::{Home, Layout, LayoutDetector, is_jmod, library_directory};
use crate::pipeline::limits::MAX_CLASS;
use crate::pipeline::own::{Brings, Own};
use crate::pipeline::worker::with_worker;
use crate::symbols::{self, Symbols};
use std::collections::BTreeSet;

/// Where the manifest is.
pub(crate) const MANIFEST: &str = "META-INF/MANIFEST.MF";

/// Most bytes of a manifest, descriptor or map that are read.
const MAX_TEXT: u64 = 256 << 20;

/// Members by which hosts know their plug-ins: pf4j (or `Plugin-Id` in the manifest), IntelliJ's platform, servers and
/// loaders of Minecraft.
const PLUGIN_DESCRIPTORS: [&str; 8] = [
    "plugin.properties",
    "plugin.yml",
    "paper-plugin.yml",
    "bungee.yml",
    "velocity-plugin.json",
    "fabric.mod.json",
    "META-INF/plugin.xml",
    "META-INF/mods.toml",
];

/// A member that does not simply stay when its archive changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Manifest,
    /// A signature file, which the change makes wrong.
    Signature,
    ModuleInfo,
    /// `META-INF/INDEX.LIST`: a class loader that trusts it does not find a package that was added.
    Index,
    /// An earlier weave's map, or the library jar that carries it: a new one takes its place.
    Map,
    /// A baseline profile, whose place is at the end: until then it is not known what changes.
    Profile,
}

/// What to look at in an archive, found in one pass over its names.
pub(crate) struct Survey {
    pub(crate) layout: Layout,
    pub(crate) home: Home,
    /// The library is there already.
    pub(crate) carries_library: bool,
    /// Members in their order.
    pub(crate) specials: Vec<(usize, Special)>,
    /// Members that may be classes.
    pub(crate) classes: Vec<usize>,
    /// Members that may be dex files.
    pub(crate) dexes: Vec<usize>,
    /// Members that may be archives.
    pub(crate) archives: Vec<usize>,
    pub(crate) signed: bool,
    /// It says that it is a plug-in: what scans a folder for such takes each jar there for one.
    pub(crate) is_plugin: bool,
    pub(crate) manifest: Option<Manifest>,
    /// What an earlier weave wrote.
    pub(crate) earlier: Option<Symbols>,
}

pub(crate) fn read(archive: &Archive<'_>, index: usize) -> Result<Vec<u8>> {
    let member = &archive.members()[index];
    let mut bytes = Vec::new();
    with_worker(|w| member.read(&mut w.codec, MAX_TEXT.min(member.size()), &mut bytes))
        .map_err(|e| e.in_member(member.name()))?;
    Ok(bytes)
}

/// The packages of a jar's classes, if it is signed.
pub(crate) fn signed_packages(archive: &Archive<'_>) -> Option<BTreeSet<String>> {
    let names = || archive.members().iter().map(|m| m.name());
    names().any(is_signature_file).then(|| {
        let classes = names().filter(|name| name.ends_with(".class"));
        let packages = classes.filter_map(|name| {
            let versioned = name.strip_prefix("META-INF/versions/");
            let name = versioned.map_or(Some(name), |rest| Some(rest.split_once('/')?.1));
            name?
                .rsplit_once('/')
                .map(|(package, _)| package.replace('/', "."))
        });
        packages.collect()
    })
}

/// Whether a member is a module descriptor: at the root, or for one version (JAR File
/// Specification, "Multi-release JAR files").
fn is_module_info(name: &str) -> bool {
    let versioned = || {
        name.strip_prefix("META-INF/versions/")
            .and_then(|rest| rest.split_once('/'))
            .is_some_and(|(_, rest)| rest == "module-info.class")
    };
    name == "module-info.class" || (name.ends_with("/module-info.class") && versioned())
}

/// What the names of an archive's members say.
#[derive(Default)]
struct Names {
    detector: LayoutDetector,
    specials: Vec<(usize, Special)>,
    classes: Vec<usize>,
    dexes: Vec<usize>,
    archives: Vec<usize>,
    manifest: Option<usize>,
    /// `META-INF/application.xml`.
    application: Option<usize>,
    signed: bool,
    is_plugin: bool,
}

impl Names {
    fn see(&mut self, i: usize, name: &str, is_jmod: bool) {
        self.detector.see(name);
        if name.ends_with('/') {
            return;
        }
        self.is_plugin |= PLUGIN_DESCRIPTORS.contains(&name);
        if name.ends_with(".class") {
            if is_module_info(name) || is_jmod && name == "classes/module-info.class" {
                self.specials.push((i, Special::ModuleInfo));
            } else {
                self.classes.push(i);
            }
        } else if name.ends_with(".dex") {
            self.dexes.push(i);
        } else if is_archive_name(name) {
            self.archives.push(i);
        } else if name.len() > 9 && name.as_bytes()[..9].eq_ignore_ascii_case(b"META-INF/") {
            if name.eq_ignore_ascii_case(MANIFEST) && self.manifest.is_none() {
                self.manifest = Some(i);
                self.specials.push((i, Special::Manifest));
            } else if name == "META-INF/INDEX.LIST" {
                self.specials.push((i, Special::Index));
            } else if name == "META-INF/application.xml" {
                self.application = Some(i);
            } else if is_signature_file(name) {
                self.signed = true;
                self.specials.push((i, Special::Signature));
            }
        } else if apk::PROFILES.contains(&name) {
            self.specials.push((i, Special::Profile));
        } else if apk::is_signature_file(name) {
            self.signed = true;
            self.specials.push((i, Special::Signature));
        }
    }
}

impl Survey {
    /// The baseline profile and its metadata.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = usize> + '_ {
        let profiles = self.specials.iter().filter(|(_, s)| *s == Special::Profile);
        profiles.map(|(i, _)| *i)
    }

    /// The descriptors of a module: one, or one for each version of Java.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = usize> + '_ {
        let found = (self.specials.iter()).filter(|(_, s)| *s == Special::ModuleInfo);
        found.map(|(i, _)| *i)
    }

    pub(crate) fn of(archive: &Archive<'_>) -> Result<Survey> {
        let is_jmod = is_jmod(archive.bytes());
        let mut names = Names::default();
        for (i, member) in archive.members().iter().enumerate() {
            names.see(i, member.name(), is_jmod);
        }
        let layout = match is_jmod {
            true => Layout::Jmod,
            false => names.detector.archive(),
        };
        let library_directory = match names.application.filter(|_| layout == Layout::Ear) {
            Some(i) => library_directory(&String::from_utf8_lossy(&read(archive, i)?)),
            None => "lib".to_owned(),
        };
        let home = layout.home(&library_directory);
        let maps: Vec<usize> = match &home {
            Home::Jar(path) => archive.position(path).into_iter().collect(),
            Home::Package(_) | Home::Dex(_) => (archive.members().iter().enumerate())
                .filter(|(_, member)| symbols::is_carried(member.name(), layout.map_root()))
                .map(|(i, _)| i)
                .collect(),
        };
        let mut earlier: Option<Symbols> = None;
        for i in maps {
            names.archives.retain(|&a| a != i);
            names.specials.push((i, Special::Map));
            if let Some(map) = earlier_map(archive, i, &home)? {
                earlier.get_or_insert_default().merge(map);
            }
        }
        names.specials.sort_unstable_by_key(|(i, _)| *i);
        // A bundle's or ear's library is known by its name; so is one that users laid there.
        (names.archives).retain(|&a| file_name(archive.members()[a].name()) != JAR_NAME);
        let carries_library = match &home {
            Home::Package(prefix) => {
                let witness = format!("{prefix}{HOOKS_CLASS}");
                archive.position(&witness).is_some()
            }
            Home::Jar(_) | Home::Dex(_) => false,
        };
        let manifest = match names.manifest {
            Some(i) => Some(Manifest::parse(&read(archive, i)?)),
            None => None,
        };
        let has_plugin_id = (manifest.as_ref()).is_some_and(|m| m.get("Plugin-Id").is_some());
        Ok(Survey {
            layout,
            home,
            carries_library,
            specials: names.specials,
            classes: names.classes,
            dexes: names.dexes,
            archives: names.archives,
            signed: names.signed || apk::has_signing_block(archive),
            is_plugin: names.is_plugin || has_plugin_id,
            manifest,
            earlier,
        })
    }

    /// Whether it starts an application whose class loader has an index of its jars, and does not look at their manifests
    /// (Quarkus).
    pub(crate) fn has_index_of_its_own(&self) -> bool {
        let main = self.manifest.as_ref().and_then(|m| m.get("Main-Class"));
        main.is_some_and(|main| main.trim() == "io.quarkus.bootstrap.runner.QuarkusEntryPoint")
    }

    /// The version that the artifact claims, for rules that ask for one.
    pub(crate) fn version(&self, name: &str) -> Option<String> {
        let manifest = self.manifest.as_ref();
        [
            "Implementation-Version",
            "Bundle-Version",
            "Specification-Version",
        ]
        .iter()
        .find_map(|key| {
            manifest?
                .get(key)
                .filter(|v| v.starts_with(|c: char| c.is_ascii_digit()))
        })
        .or_else(|| version_in_name(name))
    }
}

/// `1.2.3` of `core-1.2.3.jar`.
fn version_in_name(name: &str) -> Option<String> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let at = stem
        .as_bytes()
        .windows(2)
        .position(|w| w[0] == b'-' && w[1].is_ascii_digit())?;
    Some(stem[at + 1..].to_owned())
}

fn parse_map(bytes: &[u8]) -> Result<Symbols> {
    let mut symbols = Symbols::default();
    symbols.add(bytes)?;
    Ok(symbols)
}

/// The map that an earlier weave left as a member, or in the library jar that is this member.
fn earlier_map(archive: &Archive<'_>, index: usize, home: &Home) -> Result<Option<Symbols>> {
    let bytes = read(archive, index)?;
    let map = match home {
        Home::Package(_) | Home::Dex(_) if symbols::is_marker(&bytes) => Ok(None),
        Home::Package(_) | Home::Dex(_) => parse_map(&bytes).map(Some),
        Home::Jar(_) if !Archive::is_zip(&bytes) => Ok(None),
        Home::Jar(_) => {
            let jar = Archive::open(&bytes)?;
            match jar.position(symbols::MEMBER) {
                Some(i) => parse_map(&read(&jar, i)?).map(Some),
                None => Ok(None),
            }
        }
    };
    map.map_err(|e| e.in_member(archive.members()[index].name()))
}

/// Decides how the special members of a changed archive are written.
pub(crate) struct JarRules<'s> {
    pub(crate) survey: &'s Survey,
    pub(crate) library: &'s Library,
    /// The archive gets a map of its own.
    pub(crate) carries_map: bool,
    /// Hooks of one's own.
    pub(crate) own: Option<&'s Own<'s>>,
    /// The names of their libraries in it.
    pub(crate) relocation: Option<&'s Relocation>,
}

/// What becomes of a member.
pub(crate) enum Fate {
    Keep,
    Drop,
    Replace(Packed),
}

impl JarRules<'_> {
    /// A manifest for a jar that needs one and has none.
    pub(crate) fn new_manifest(&self) -> Option<Vec<u8>> {
        match (self.library, &self.survey.manifest) {
            (Library::ClassPath(url), None) if self.survey.layout == Layout::Jar => {
                let mut manifest = Manifest::new();
                manifest.set("Manifest-Version", "1.0");
                manifest.add_class_path(url);
                Some(manifest.to_bytes())
            }
            _ => None,
        }
    }

    /// What becomes of a special member.
    pub(crate) fn fate(
        &self,
        archive: &Archive<'_>,
        index: usize,
        special: Special,
    ) -> Result<Fate> {
        let member = &archive.members()[index];
        let pack = |bytes: &[u8]| {
            let method = match member.method() {
                Method::Stored => Method::Stored,
                _ => Method::Deflated,
            };
            Fate::Replace(with_worker(|w| Packed::new(method, bytes, &mut w.codec)))
        };
        match special {
            Special::Signature | Special::Profile => Ok(Fate::Drop),
            // A library jar stays where none takes its place.
            Special::Map
                if self.carries_map
                    && (matches!(self.survey.home, Home::Package(_) | Home::Dex(_))
                        || *self.library == Library::Embed) =>
            {
                Ok(Fate::Drop)
            }
            Special::Index if matches!(self.library, Library::Embed | Library::ClassPath(_)) => {
                Ok(Fate::Drop)
            }
            Special::Map | Special::Index => Ok(Fate::Keep),
            Special::Manifest => {
                let before = read(archive, index)?;
                let mut manifest = Manifest::parse(&before);
                if self.survey.signed {
                    manifest.remove_digests();
                }
                if let Library::ClassPath(url) = self.library {
                    manifest.add_class_path(url);
                }
                match self.library {
                    Library::ClassPath(_) | Library::Absent => {
                        manifest.import_package(&PACKAGE.replace('/', "."));
                        if let (Some(own), Library::ClassPath(_)) = (self.own, self.library) {
                            for package in own.packages() {
                                manifest.import_package(&package.replace('/', "."));
                            }
                        }
                    }
                    Library::Embed if matches!(self.survey.layout, Layout::Jar | Layout::Boot) => {
                        manifest.search_root();
                    }
                    Library::Embed | Library::Outer => {}
                }
                let after = manifest.to_bytes();
                Ok(if after == before {
                    Fate::Keep
                } else {
                    pack(&after)
                })
            }
            Special::ModuleInfo => {
                if member.size() > MAX_CLASS {
                    return Ok(Fate::Keep);
                }
                let before = read(archive, index)?;
                let after = match self.library {
                    Library::Embed
                        if matches!(
                            self.survey.layout,
                            Layout::Jar | Layout::Boot | Layout::Jmod
                        ) =>
                    {
                        module_info::add_package(&before, PACKAGE)
                    }
                    Library::ClassPath(_) | Library::Absent => {
                        module_info::add_requires(&before, MODULE)
                    }
                    Library::Embed | Library::Outer => Ok(None),
                };
                let place = |e: Error| e.in_member(member.name());
                let mut after = after.map_err(place)?;
                if let Some(own) = self.own {
                    let brings = match self.library {
                        Library::Embed | Library::Absent => Brings::Libraries(self.relocation),
                        Library::ClassPath(_) | Library::Outer => Brings::Nothing,
                    };
                    after = own.describe(&before, after, brings).map_err(place)?;
                }
                Ok(after.map_or(Fate::Keep, |bytes| pack(&bytes)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_descriptors_are_at_the_root_or_versioned() {
        assert!(is_module_info("module-info.class"));
        assert!(is_module_info("META-INF/versions/9/module-info.class"));
        assert!(!is_module_info("a/module-info.class"));
        assert!(!is_module_info("META-INF/versions/9/a/module-info.class"));
    }

    #[test]
    fn versions_in_names() {
        assert_eq!(
            version_in_name("spring-core-5.3.1.jar").as_deref(),
            Some("5.3.1")
        );
        assert_eq!(version_in_name("app.jar"), None);
        assert_eq!(
            version_in_name("log4j-1.2-api-2.17.0.jar").as_deref(),
            Some("1.2-api-2.17.0")
        );
    }
}
