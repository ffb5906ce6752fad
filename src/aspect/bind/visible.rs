//! Which methods a class in another package can call: those that the program is known to declare public, and those of the platform.

use super::catalog::Catalog;
use crate::aspect::advice::Reason;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::platform;
use crate::aspect::pointcut::Hierarchy;
use rustc_hash::FxHashSet;

const OBJECT: &str = "java/lang/Object";

/// What is above all.
const ROOTS: [&str; 2] = [OBJECT, "System.Object"];

/// Methods of the JDK that look at who calls them: those with `@CallerSensitive` in JDK 17 and 25 (`java.base`, `java.logging`,
/// `java.sql`), those that walk the stack, among them loggers, which name their caller, and the signature-polymorphic ones
/// (JVMS 2.9.3). `*`: all of the class.
const CALLER_SENSITIVE: [(&str, &[&str]); 36] = [
    ("java/io/ObjectStreamClass", &["forClass"]),
    ("java/io/ObjectStreamField", &["getType"]),
    (
        "java/lang/Class",
        &[
            "forName",
            "getClassLoader",
            "getClasses",
            "getConstructor",
            "getConstructors",
            "getDeclaredClasses",
            "getDeclaredConstructor",
            "getDeclaredConstructors",
            "getDeclaredField",
            "getDeclaredFields",
            "getDeclaredMethod",
            "getDeclaredMethods",
            "getDeclaringClass",
            "getEnclosingClass",
            "getEnclosingConstructor",
            "getEnclosingMethod",
            "getField",
            "getFields",
            "getMethod",
            "getMethods",
            "getNestHost",
            "getNestMembers",
            "getPermittedSubclasses",
            "getRecordComponents",
            "getResource",
            "getResourceAsStream",
            "newInstance",
        ],
    ),
    (
        "java/lang/ClassLoader",
        &[
            "getParent",
            "getPlatformClassLoader",
            "getSystemClassLoader",
            "registerAsParallelCapable",
        ],
    ),
    ("java/lang/Module", &["*"]),
    ("java/lang/ModuleLayer$Controller", &["enableNativeAccess"]),
    ("java/lang/Package", &["getPackage", "getPackages"]),
    ("java/lang/Runtime", &["load", "loadLibrary"]),
    ("java/lang/StackWalker", &["*"]),
    (
        "java/lang/System",
        &["getLogger", "load", "loadLibrary", "setSecurityManager"],
    ),
    ("java/lang/System$Logger", &["log"]),
    (
        "java/lang/Thread",
        &[
            "dumpStack",
            "getAllStackTraces",
            "getContextClassLoader",
            "getStackTrace",
        ],
    ),
    ("java/lang/Throwable", &["fillInStackTrace"]),
    ("java/lang/foreign/AddressLayout", &["withTargetLayout"]),
    (
        "java/lang/foreign/Linker",
        &["downcallHandle", "upcallStub"],
    ),
    ("java/lang/foreign/MemorySegment", &["reinterpret"]),
    (
        "java/lang/foreign/SymbolLookup",
        &["libraryLookup", "loaderLookup"],
    ),
    ("java/lang/invoke/MethodHandle", &["*"]),
    (
        "java/lang/invoke/MethodHandleProxies",
        &["asInterfaceInstance"],
    ),
    ("java/lang/invoke/MethodHandles", &["lookup"]),
    ("java/lang/invoke/VarHandle", &["*"]),
    (
        "java/lang/reflect/AccessibleObject",
        &["canAccess", "setAccessible", "trySetAccessible"],
    ),
    (
        "java/lang/reflect/Constructor",
        &[
            "canAccess",
            "newInstance",
            "setAccessible",
            "trySetAccessible",
        ],
    ),
    (
        "java/lang/reflect/Executable",
        &["canAccess", "setAccessible", "trySetAccessible"],
    ),
    ("java/lang/reflect/Field", &["*"]),
    ("java/lang/reflect/InvocationHandler", &["invokeDefault"]),
    (
        "java/lang/reflect/Method",
        &["canAccess", "invoke", "setAccessible", "trySetAccessible"],
    ),
    (
        "java/lang/reflect/Proxy",
        &["getInvocationHandler", "getProxyClass", "newProxyInstance"],
    ),
    ("java/security/AccessController", &["*"]),
    (
        "java/sql/DriverManager",
        &[
            "deregisterDriver",
            "drivers",
            "getConnection",
            "getDriver",
            "getDrivers",
        ],
    ),
    ("java/util/ResourceBundle", &["clearCache", "getBundle"]),
    ("java/util/ServiceLoader", &["load", "loadInstalled"]),
    (
        "java/util/concurrent/atomic/AtomicIntegerFieldUpdater",
        &["newUpdater"],
    ),
    (
        "java/util/concurrent/atomic/AtomicLongFieldUpdater",
        &["newUpdater"],
    ),
    (
        "java/util/concurrent/atomic/AtomicReferenceFieldUpdater",
        &["newUpdater"],
    ),
    (
        "java/util/logging/Logger",
        &[
            "config",
            "fine",
            "finer",
            "finest",
            "getAnonymousLogger",
            "getLogger",
            "info",
            "log",
            "severe",
            "warning",
        ],
    ),
];

/// A method that a call names.
#[derive(Clone, Copy)]
pub struct Named<'n> {
    pub owner: &'n str,
    pub name: &'n str,
    pub descriptor: &'n str,
    pub how: CallHow,
}

/// The package of a class, as it is spelled in class files.
pub fn package_of(class: &str) -> &str {
    class.rfind('/').map_or("", |slash| &class[..slash])
}

/// Whether a method of the JDK looks at who calls it.
pub fn looks_at_callers(owner: &str, method: &str) -> bool {
    let own = CALLER_SENSITIVE.iter().filter(|(ty, _)| *ty == owner);
    own.flat_map(|(_, names)| *names)
        .any(|&name| name == "*" || name == method)
}

/// Whether a package is of the module `java.base`, in every JDK since 9.
pub fn is_of_java_base(package: &str) -> bool {
    const ROOTS: [&str; 12] = [
        "java/io",
        "java/lang",
        "java/math",
        "java/net",
        "java/nio",
        "java/security",
        "java/text",
        "java/time",
        "java/util",
        "javax/crypto",
        "javax/net",
        "javax/security/auth",
    ];
    const ELSEWHERE: [&str; 6] = [
        "java/lang/instrument",
        "java/lang/management",
        "java/net/http",
        "java/util/logging",
        "java/util/prefs",
        "javax/security/auth/kerberos",
    ];
    let below = |root: &str| {
        let rest = package.strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    ROOTS.iter().any(|root| below(root)) && !ELSEWHERE.iter().any(|root| below(root))
}

/// What is known of the program.
pub struct Visible<'v> {
    pub catalog: &'v Catalog,
    pub hierarchy: &'v Hierarchy,
}

impl Visible<'_> {
    /// Whether a method looks at who calls it, or may: of the type that the call names, or of one above it.
    pub fn is_caller_sensitive(&self, named: Named<'_>) -> bool {
        let walks = |owner: &str| {
            let declared = self.catalog.declared(owner);
            declared.is_some_and(|declared| declared.walks_stack)
        };
        let mut all = self.hierarchy.all_above(named.owner).into_iter();
        all.any(|owner| looks_at_callers(owner, named.name) || walks(owner))
    }

    /// Whether everybody can make a call that the type `caller` makes; else why not.
    pub fn is_public(&self, caller: &str, named: Named<'_>) -> Result<(), Reason> {
        let Named {
            owner,
            name,
            descriptor,
            how,
        } = named;
        if (self.catalog.declared(owner)).is_some_and(|declared| !declared.is_public) {
            return Err(Reason::CallOfHidden);
        }
        // The superclasses, from the type that the call names on, up to the one that declares the method.
        let mut at = owner;
        let mut seen = FxHashSet::default();
        while let Some(declared) = self.catalog.declared(at) {
            if let Some(is_public) = declared.method(name, descriptor) {
                return match is_public {
                    true => Ok(()),
                    false => Err(Reason::CallOfHidden),
                };
            }
            match self.superclass(at) {
                Some(superclass) if seen.insert(at) => at = superclass,
                _ if how == CallHow::Interface => return Ok(()),
                _ => return Err(Reason::CallOfUnknown),
            }
        }
        if how == CallHow::Interface && at != OBJECT {
            // Methods of interfaces are public or private.
            return Ok(());
        }
        // It lies outside of what is read. There a package may have methods of its own.
        if same_package(caller, at) {
            return Err(Reason::CallOfUnknown);
        }
        self.is_public_outside(at, name, std::iter::once(caller))
    }

    /// Whether a method of a type outside of what is read is public for all that `callers` know: they may be below a type that has it
    /// protected.
    pub fn is_public_outside<'c>(
        &self,
        owner: &str,
        method: &str,
        callers: impl Iterator<Item = &'c str>,
    ) -> Result<(), Reason> {
        let hiding = match platform::find(owner) {
            Some(_) => self.hiding(owner, method),
            None => vec![owner],
        };
        if hiding.is_empty() {
            return Ok(());
        }
        let mut said = Ok(());
        for caller in callers {
            match self.extends(caller, &hiding) {
                Some(false) => {}
                // What nobody knows may be public.
                Some(true) if platform::find(owner).is_some() => return Err(Reason::CallOfHidden),
                _ => said = Err(Reason::CallOfUnknown),
            }
        }
        said
    }

    /// The platform's types, from this one up, that have a protected method of the name.
    fn hiding<'t>(&'t self, owner: &'t str, method: &str) -> Vec<&'t str> {
        let mut all = Vec::new();
        let mut at = Some(owner);
        while let Some(name) = at {
            let hides = platform::find(name).is_some_and(|ty| ty.hides(method));
            if hides {
                all.push(name);
            }
            at = self.superclass(name).filter(|_| all.len() < MOST_ABOVE);
        }
        all
    }

    /// The superclass or base type; that of an instance of a generic type (.NET) is the type itself.
    fn superclass<'t>(&'t self, name: &'t str) -> Option<&'t str> {
        let above = &**self.hierarchy.above(name)?.first()?;
        match above.find('`') {
            Some(generic) => match above[generic..].find('<') {
                Some(arguments) => Some(&above[..generic + arguments]),
                None => Some(above),
            },
            None => Some(above),
        }
    }

    /// Whether a class is one of these or below one; none where a class above it is not known.
    fn extends(&self, class: &str, wanted: &[&str]) -> Option<bool> {
        let mut at = class;
        for _ in 0..MOST_ABOVE {
            if wanted.contains(&at) {
                return Some(true);
            }
            match self.superclass(at) {
                // Rules may say what is above it, and not all of it.
                Some(_) if self.hierarchy.is_said(at) => return None,
                Some(superclass) => at = superclass,
                None => return ROOTS.contains(&at).then_some(false),
            }
        }
        None
    }
}

/// Most classes above one; real ones have fewer than a hundred.
const MOST_ABOVE: usize = 10_000;

fn same_package(a: &str, b: &str) -> bool {
    let package = |name: &'_ str| name.rfind('/').unwrap_or(0);
    a[..package(a)] == b[..package(b)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether everybody can make a call of a method from a class, by what is above that.
    fn said(above: &[(&str, &str)], caller: &str, owner: &str, name: &str) -> Result<(), Reason> {
        let above = above
            .iter()
            .map(|(ty, above)| (Box::from(*ty), [Box::from(*above)].into()));
        let visible = Visible {
            catalog: &Catalog::default(),
            hierarchy: &Hierarchy::of(above.collect()),
        };
        let named = Named {
            owner,
            name,
            descriptor: "()V",
            how: CallHow::Virtual,
        };
        visible.is_public(caller, named)
    }

    #[test]
    fn what_a_class_of_the_platform_is_below_is_known() {
        let job = [("a/Job", "java/util/TimerTask"), ("a/File", "java/io/File")];
        assert_eq!(said(&job, "a/Job", "java/io/File", "delete"), Ok(()));
        assert_eq!(said(&job, "a/File", "java/io/File", "delete"), Ok(()));
        let activity = [("a/Main", "android/app/Activity")];
        assert_eq!(said(&activity, "a/Main", "java/io/File", "delete"), Ok(()));
        assert_eq!(said(&activity, "a/Main", "a/lib/Thing", "run"), Ok(()));
        // Protected, and the caller is below what declares it; or is not.
        let list = [("a/List", "java/util/ArrayList")];
        let hidden = Err(Reason::CallOfHidden);
        let of_list = |name| said(&list, "a/List", "java/util/ArrayList", name);
        assert_eq!(of_list("removeRange"), hidden);
        assert_eq!(of_list("clear"), Ok(()));
        assert_eq!(
            said(&job, "a/Job", "java/util/ArrayList", "removeRange"),
            Ok(())
        );
        assert_eq!(said(&job, "a/Job", "java/lang/Object", "clone"), hidden);
        assert_eq!(said(&job, "a/Job", "java/lang/Object", "hashCode"), Ok(()));
    }

    #[test]
    fn what_nothing_is_known_of_may_be_hidden() {
        let unknown = Err(Reason::CallOfUnknown);
        let below = [("a/A", "lib/Base"), ("a/B", "a/A")];
        // No type of a library has methods of the platform's hidden: the platform is known.
        assert_eq!(said(&below, "a/B", "java/io/File", "delete"), Ok(()));
        assert_eq!(
            said(&below, "a/B", "java/util/AbstractList", "removeRange"),
            unknown
        );
        assert_eq!(said(&below, "a/B", "lib/Thing", "run"), unknown);
        assert_eq!(said(&below, "a/B", "lib/Base", "run"), unknown);
        assert_eq!(said(&[], "a/C", "java/io/File", "delete"), Ok(()));
        // A circle has no end.
        let circle = [("a/A", "a/B"), ("a/B", "a/A")];
        assert_eq!(said(&circle, "a/A", "lib/Thing", "run"), unknown);
    }

    #[test]
    fn base_types_of_dotnet_are_known() {
        let above = [
            ("Acme.Fault", "System.InvalidOperationException"),
            (
                "Acme.Names",
                "System.Collections.Generic.List`1<System.String>",
            ),
        ];
        let above = above
            .iter()
            .map(|(ty, above)| (Box::from(*ty), [Box::from(*above)].into()));
        let visible = Visible {
            catalog: &Catalog::default(),
            hierarchy: &Hierarchy::of(above.collect()),
        };
        let said = |base, owner, name| visible.is_public_outside(owner, name, [base].into_iter());
        for base in [
            "Acme.Fault",
            "Acme.Names",
            "System.IO.Stream",
            "System.Object",
        ] {
            assert_eq!(said(base, "System.IO.File", "Delete"), Ok(()), "{base}");
            assert_eq!(said(base, "Lib.Thing", "Run"), Ok(()), "{base}");
        }
        let dispose = |base| said(base, "System.IO.Stream", "Dispose");
        assert_eq!(dispose("Acme.Fault"), Ok(()));
        assert_eq!(dispose("System.IO.FileStream"), Err(Reason::CallOfHidden));
        assert_eq!(dispose("Lib.Base"), Err(Reason::CallOfUnknown));
        assert_eq!(dispose(""), Err(Reason::CallOfUnknown));
    }
}
