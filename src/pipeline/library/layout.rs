//! How an archive or folder is run, and so where its hook library must lie for all its classes to see it.
//!
//! What weaving makes for a class lies beside it, in every layout. Libraries of one's own hooks lie with the hook library, if nothing is
//! said of them here.
//!
//! | layout | hook library | symbols map |
//! |---|---|---|
//! | jar | package at the root: the outermost class path, which nested loaders ask first | `META-INF/weave/symbols` |
//! | Spring Boot jar (`BOOT-INF/`) | the same; own hooks in `BOOT-INF/classes/`, whose loader sees the application | the same |
//! | jmod (begins with `JM`) | package in `classes/`, which becomes the module | in `classes/` |
//! | war (`WEB-INF/`) | package in `WEB-INF/classes/`, seen by `WEB-INF/lib/*.jar` too | in `WEB-INF/classes/` |
//! | ear (`META-INF/application.xml`) | jar in the library directory, seen by every module and web app | in that jar |
//! | aar (`AndroidManifest.xml`, `classes.jar`) | jar in `libs/` | in that jar |
//! | apk, jar of dex files | a further dex file | `META-INF/weave/symbols` |
//! | aab (`base/dex/`) | a further dex file of the base module | in `base/root/`, which becomes the apk's root |
//! | bundle (zip without classes or manifest, with jars) | `weave-runtime.jar` at the root; each jar's `Class-Path` names it | in that jar |

use crate::pipeline::format::{file_name, is_archive_name};
use crate::pipeline::library::embedded::JAR_NAME;

/// How an archive or folder is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Classes from the root.
    Jar,
    /// Spring Boot's: a launcher at the root makes the loader of what lies in `BOOT-INF`.
    Boot,
    /// A module for `jlink`, with classes, configuration and native code in sections.
    Jmod,
    /// A web application.
    War,
    /// An enterprise application.
    Ear,
    /// An Android library.
    Aar,
    /// Dex files from the root: an Android application.
    Apk,
    /// An Android app bundle.
    Aab,
    /// Jars that are run side by side, with no loader of their own.
    Bundle,
}

/// The exploded application that a file shows by its path: where it lies (with a slash at the end, or empty), and its layout.
pub(crate) fn exploded(path: &str) -> Option<(&str, Layout)> {
    [("WEB-INF/", Layout::War), ("BOOT-INF/", Layout::Boot)]
        .into_iter()
        .find_map(|(inside, layout)| {
            let mut at = path.match_indices(inside).map(|(at, _)| at);
            let at = at.find(|&at| at == 0 || path.as_bytes()[at - 1] == b'/')?;
            Some((&path[..at], layout))
        })
}

/// The innermost application that a path shows, up to its `WEB-INF/` or `BOOT-INF/`.
pub(crate) fn last_exploded(path: &str) -> Option<&str> {
    let ends = ["WEB-INF/", "BOOT-INF/"].into_iter().filter_map(|inside| {
        let mut at = path.rmatch_indices(inside).map(|(at, _)| at);
        let at = at.find(|&at| at == 0 || path.as_bytes()[at - 1] == b'/')?;
        Some(at + inside.len())
    });
    ends.max().map(|end| &path[..end])
}

/// Where the classes of a Spring Boot application lie.
const BOOT_CLASSES: &str = "BOOT-INF/classes/";

/// What of the libraries the loader of a class does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unseen {
    #[default]
    Nothing,
    /// The libraries of own hooks.
    Own,
    /// The hook library, and those of own hooks.
    Library,
}

/// Recognises a layout by the names of its files.
#[derive(Default)]
pub(crate) struct LayoutDetector {
    web_inf: bool,
    application: bool,
    android: bool,
    classes_jar: bool,
    dex: bool,
    base_dex: bool,
    boot: bool,
    manifest: bool,
    classes: bool,
    jars: bool,
}

impl LayoutDetector {
    pub(crate) fn see(&mut self, name: &str) {
        if name.ends_with(".class") {
            self.classes = true;
        }
        match name.as_bytes().first() {
            Some(b'W') if name.starts_with("WEB-INF/") => self.web_inf = true,
            Some(b'B') if name.starts_with("BOOT-INF/") => self.boot = true,
            Some(b'M') if name == "META-INF/application.xml" => self.application = true,
            Some(b'M') if name.eq_ignore_ascii_case("META-INF/MANIFEST.MF") => self.manifest = true,
            Some(b'A') if name == "AndroidManifest.xml" => self.android = true,
            Some(b'c') if name == "classes.jar" => self.classes_jar = true,
            Some(b'c') if name == "classes.dex" => self.dex = true,
            Some(b'b') if name == "base/dex/classes.dex" => self.base_dex = true,
            _ => {}
        }
        if is_archive_name(name) && file_name(name) != JAR_NAME {
            self.jars = true;
        }
    }

    /// The layout of an archive with the names seen.
    pub(crate) fn archive(&self) -> Layout {
        if self.web_inf {
            Layout::War
        } else if self.application {
            Layout::Ear
        } else if self.android && self.classes_jar {
            Layout::Aar
        } else if self.base_dex {
            Layout::Aab
        } else if self.dex && (self.android || !self.classes) {
            Layout::Apk
        } else if self.jars && !self.manifest && !self.classes {
            Layout::Bundle
        } else if self.boot {
            Layout::Boot
        } else {
            Layout::Jar
        }
    }

    /// The layout of a folder with the names seen: an unpacked application, or jars and classes side by side.
    pub(crate) fn folder(&self) -> Layout {
        match self.archive() {
            // A Spring Boot application is one of those that lie in the folder.
            Layout::Jar | Layout::Boot => Layout::Bundle,
            layout => layout,
        }
    }
}

/// Where the hook library lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// As a package, below this prefix.
    Package(&'static str),
    /// As a jar of this path.
    Jar(String),
    /// As the next dex file in this folder.
    Dex(&'static str),
}

impl Layout {
    /// Where the hook library goes. `library_directory`: where an ear keeps its libraries.
    pub(crate) fn home(self, library_directory: &str) -> Home {
        match self {
            Layout::Jar | Layout::Boot => Home::Package(""),
            Layout::Jmod => Home::Package("classes/"),
            Layout::War => Home::Package("WEB-INF/classes/"),
            Layout::Ear => Home::Jar(format!("{library_directory}/{JAR_NAME}")),
            Layout::Aar => Home::Jar(format!("libs/{JAR_NAME}")),
            Layout::Apk => Home::Dex(""),
            Layout::Aab => Home::Dex("base/dex/"),
            Layout::Bundle => Home::Jar(JAR_NAME.to_owned()),
        }
    }

    /// Where libraries of own hooks lie instead, so that they see the types of the application.
    pub(crate) fn own_root(self) -> Option<&'static str> {
        (self == Layout::Boot).then_some(BOOT_CLASSES)
    }

    /// Where the classes of an exploded application lie, which its loader searches, whatever starts it.
    pub(crate) fn exploded_classes(self) -> &'static str {
        match self {
            Layout::War => "WEB-INF/classes/",
            Layout::Boot => BOOT_CLASSES,
            _ => "",
        }
    }

    /// What a class of this path does not see.
    pub(crate) fn unseen(self, path: &str) -> Unseen {
        match self {
            Layout::Boot if !path.starts_with("BOOT-INF/") => Unseen::Own,
            Layout::War if !path.starts_with("WEB-INF/") => Unseen::Library,
            _ => Unseen::Nothing,
        }
    }

    /// What is in front of the symbols map's name in an archive that has no library jar to carry it.
    pub(crate) fn map_root(self) -> &'static str {
        match self {
            Layout::War => "WEB-INF/classes/",
            Layout::Jmod => "classes/",
            Layout::Aab => "base/root/",
            _ => "",
        }
    }
}

/// Whether an archive is a jmod: a zip file behind a magic and a version (`jdk.internal.jmod.JmodFile`).
pub(crate) fn is_jmod(bytes: &[u8]) -> bool {
    bytes.starts_with(b"JM\x01")
}

/// The library directory of an ear: `<library-directory>` in `application.xml`
/// (Jakarta EE Platform, 8.2.1), else `lib`.
pub(crate) fn library_directory(application_xml: &str) -> String {
    let inner = application_xml
        .split_once("<library-directory>")
        .and_then(|(_, rest)| rest.split_once("</library-directory>"))
        .map(|(inner, _)| inner.trim().trim_matches('/'));
    match inner {
        Some(dir) if !dir.is_empty() && !dir.split('/').any(|s| s == "..") => dir.to_owned(),
        _ => "lib".to_owned(),
    }
}

/// The folder that a class path names: the file's path without the class's own name.
pub(crate) fn class_root(path: &str, type_name: &str) -> String {
    path.strip_suffix(".class")
        .and_then(|path| path.strip_suffix(type_name))
        .filter(|root| root.is_empty() || root.ends_with('/'))
        .map(unversioned)
        .unwrap_or_default()
        .to_owned()
}

/// A root without the `META-INF/versions/N/` of a multi-release jar that was unpacked.
pub(crate) fn unversioned(root: &str) -> &str {
    let Some((before, version)) = root.strip_suffix('/').and_then(|r| r.rsplit_once('/')) else {
        return root;
    };
    match before.strip_suffix("META-INF/versions") {
        Some(root) if version.bytes().all(|b| b.is_ascii_digit()) => root,
        _ => root,
    }
}

/// The relative URL from the file `from` to the file `to`, both paths from one root.
pub(crate) fn relative_url(from: &str, to: &str) -> String {
    let mut url = "../".repeat(from.matches('/').count());
    url.push_str(to);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(names: &[&str]) -> LayoutDetector {
        let mut d = LayoutDetector::default();
        names.iter().for_each(|n| d.see(n));
        d
    }

    #[test]
    fn layouts() {
        let of = |names: &[&str]| detect(names).archive();
        assert_eq!(of(&["META-INF/MANIFEST.MF", "a/B.class"]), Layout::Jar);
        assert_eq!(
            of(&["META-INF/MANIFEST.MF", "BOOT-INF/lib/a.jar", "l/L.class"]),
            Layout::Boot
        );
        assert_eq!(of(&["WEB-INF/web.xml"]), Layout::War);
        assert_eq!(of(&["META-INF/application.xml", "a.war"]), Layout::Ear);
        assert_eq!(of(&["AndroidManifest.xml", "classes.jar"]), Layout::Aar);
        assert_eq!(of(&["classes.dex", "AndroidManifest.xml"]), Layout::Apk);
        assert_eq!(of(&["META-INF/MANIFEST.MF", "classes.dex"]), Layout::Apk);
        assert_eq!(
            of(&["BundleConfig.pb", "base/dex/classes.dex"]),
            Layout::Aab
        );
        assert_eq!(of(&["app/lib/a.jar", "app/bin/run"]), Layout::Bundle);
        assert_eq!(of(&["lib/a.jar", "Handler.class"]), Layout::Jar);
        assert_eq!(detect(&["A.class"]).folder(), Layout::Bundle);
        assert_eq!(detect(&["BOOT-INF/lib/a.jar"]).folder(), Layout::Bundle);
        assert_eq!(
            detect(&["BOOT-INF/lib/a.jar", "l/L.class"]).folder(),
            Layout::Bundle
        );
    }

    #[test]
    fn exploded_applications() {
        let of = |path| exploded(path).map(|(root, layout)| (root.to_owned(), layout));
        let web = |root: &str| Some((root.to_owned(), Layout::War));
        assert_eq!(of("webapps/x/WEB-INF/lib/a.jar"), web("webapps/x/"));
        assert_eq!(of("WEB-INF/web.xml"), web(""));
        assert_eq!(
            of("BOOT-INF/lib/a.jar"),
            Some((String::new(), Layout::Boot))
        );
        assert_eq!(of("XWEB-INF/lib/a.jar"), None);
        assert_eq!(of("WEB-INF"), None);
    }

    #[test]
    fn what_is_not_seen() {
        assert_eq!(Layout::Boot.unseen("org/l/Launcher.class"), Unseen::Own);
        assert_eq!(
            Layout::Boot.unseen("BOOT-INF/classes/A.class"),
            Unseen::Nothing
        );
        assert_eq!(Layout::War.unseen("org/l/Launcher.class"), Unseen::Library);
        assert_eq!(Layout::War.unseen("WEB-INF/lib/a.jar"), Unseen::Nothing);
        assert_eq!(Layout::Jar.unseen("A.class"), Unseen::Nothing);
    }

    #[test]
    fn places() {
        assert_eq!(relative_url("a/b/c.jar", "w.jar"), "../../w.jar");
        assert_eq!(relative_url("c.jar", "w.jar"), "w.jar");
        assert_eq!(library_directory("<application/>"), "lib");
        assert_eq!(
            library_directory("<library-directory> /APP-INF/lib/ </library-directory>"),
            "APP-INF/lib"
        );
        assert_eq!(
            library_directory("<library-directory>../..</library-directory>"),
            "lib"
        );
    }

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
