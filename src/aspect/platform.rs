//! What weave knows of the platforms: the public types of the JDK, of Android and of .NET, what is directly above them, and the names of
//! their protected methods. It is the same on every machine, so the same input gives the same output, whatever is installed there.

use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Written by `packaging/types/JavaTypes.java`. A line `= java/util` begins a package. `Name Above /Interface -method` is a type, the types
/// above it, `/` for the root of all, and its protected methods; what has no package is of the same one.
const JAVA: &str = include_str!("../../rules/types-java.txt");

/// The same, by `packaging/types/DotnetTypes.cs`.
const DOTNET: &str = include_str!("../../rules/types-dotnet.txt");

/// A type of the platform.
#[derive(Debug)]
pub struct PlatformType {
    /// The superclass or base type, then interfaces.
    pub above: Box<[Box<str>]>,
    /// The names of the protected methods that it declares.
    hidden: Box<[&'static str]>,
}

impl PlatformType {
    /// Whether it declares a protected method of this name.
    pub fn hides(&self, method: &str) -> bool {
        self.hidden.contains(&method)
    }
}

/// A package or namespace, read when it is asked for.
struct Package {
    lines: &'static str,
    types: OnceLock<FxHashMap<Box<str>, PlatformType>>,
}

/// How a platform spells names.
struct Platform {
    text: &'static str,
    separator: char,
    root: &'static str,
    packages: OnceLock<FxHashMap<&'static str, Package>>,
}

static PLATFORMS: [Platform; 2] = [
    Platform {
        text: JAVA,
        separator: '/',
        root: "java/lang/Object",
        packages: OnceLock::new(),
    },
    Platform {
        text: DOTNET,
        separator: '.',
        root: "System.Object",
        packages: OnceLock::new(),
    },
];

/// What is known of a type, by the name that artifacts have for it.
pub fn find(name: &str) -> Option<&'static PlatformType> {
    let platform = &PLATFORMS[usize::from(!name.contains('/'))];
    let package = platform.package(name)?;
    let types = package
        .types
        .get_or_init(|| platform.types(package.lines, platform.inside(name)));
    types.get(name)
}

impl Platform {
    /// The package of a type, nested ones included.
    fn inside<'n>(&self, name: &'n str) -> &'n str {
        let outermost = name.find('+').unwrap_or(name.len());
        &name[..name[..outermost].rfind(self.separator).unwrap_or(0)]
    }

    fn package(&self, name: &str) -> Option<&Package> {
        let packages = self.packages.get_or_init(|| {
            let blocks = self.text.split("= ").skip(1);
            let blocks = blocks.filter_map(|block| block.split_once('\n'));
            blocks
                .map(|(name, lines)| {
                    let types = OnceLock::new();
                    (name, Package { lines, types })
                })
                .collect()
        });
        packages.get(self.inside(name))
    }

    /// The types of a package.
    fn types(&self, lines: &'static str, inside: &str) -> FxHashMap<Box<str>, PlatformType> {
        let full = |name: &str| match (name, name.contains(self.separator)) {
            ("/", _) => self.root.into(),
            (_, true) => name.into(),
            (_, false) => format!("{inside}{}{name}", self.separator).into_boxed_str(),
        };
        let one = |line: &'static str| {
            let mut words = line.split(' ');
            let name = full(words.next()?);
            let (hidden, above): (Vec<&str>, Vec<&str>) =
                words.partition(|word| word.starts_with('-'));
            let mut above: Vec<Box<str>> = above.into_iter().map(full).collect();
            if above.is_empty() && *name != *self.root {
                above.push(self.root.into());
            }
            let ty = PlatformType {
                above: above.into(),
                hidden: hidden.into_iter().map(|method| &method[1..]).collect(),
            };
            Some((name, ty))
        };
        lines.lines().filter_map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The superclasses of a type, up to the root.
    fn superclasses(name: &str) -> Vec<&str> {
        let mut all = vec![name];
        while let Some(above) = find(all[all.len() - 1]).and_then(|ty| ty.above.first()) {
            all.push(above);
        }
        all
    }

    #[test]
    fn superclasses_lead_to_the_root() {
        assert_eq!(
            superclasses("java/io/FileNotFoundException"),
            [
                "java/io/FileNotFoundException",
                "java/io/IOException",
                "java/lang/Exception",
                "java/lang/Throwable",
                "java/lang/Object"
            ]
        );
        assert_eq!(
            superclasses("android/app/Activity")[1..],
            [
                "android/view/ContextThemeWrapper",
                "android/content/ContextWrapper",
                "android/content/Context",
                "java/lang/Object"
            ]
        );
        assert_eq!(
            superclasses("System.IO.FileStream")[1..],
            [
                "System.IO.Stream",
                "System.MarshalByRefObject",
                "System.Object"
            ]
        );
        for name in ["java/lang/Record", "java/lang/Enum", "java/util/TimerTask"] {
            assert_eq!(superclasses(name)[1..], ["java/lang/Object"]);
        }
    }

    #[test]
    fn every_type_leads_to_the_root() {
        for platform in &PLATFORMS {
            platform.package("a.b/C");
            let packages = platform.packages.get().unwrap();
            assert!(packages.len() > 100);
            for (inside, package) in packages {
                for name in platform.types(package.lines, inside).keys() {
                    assert_eq!(superclasses(name).last(), Some(&platform.root), "{name}");
                }
            }
        }
    }

    #[test]
    fn methods_that_are_protected_have_names() {
        let hides = |ty: &str, method: &str| find(ty).unwrap().hides(method);
        assert!(hides("java/lang/Object", "clone") && hides("System.Object", "Finalize"));
        assert!(hides("java/util/AbstractList", "removeRange"));
        assert!(!hides("java/util/AbstractList", "get"));
        assert!(hides("System.IO.Stream", "Dispose") && !hides("System.IO.Stream", "Read"));
        assert!(
            find("com/acme/Nobody").is_none() && find("").is_none() && find("Nobody").is_none()
        );
        let nested = find("System.Collections.Generic.Dictionary`2+KeyCollection").unwrap();
        assert!(
            nested
                .above
                .contains(&"System.Collections.ICollection".into())
        );
    }
}
