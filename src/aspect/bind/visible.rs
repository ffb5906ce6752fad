//! Which methods a class in another package can call: those that the program is known to declare public, and those of the platform.

use super::catalog::Catalog;
use super::reach;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::pointcut::Hierarchy;
use rustc_hash::FxHashSet;

const OBJECT: &str = "java/lang/Object";

/// What `Object` declares protected.
const HIDDEN_OF_OBJECT: [&str; 2] = ["clone", "finalize"];

/// Classes of Java's that nothing extends, beside those of [`reach::FINAL`].
const WITHOUT_SUBTYPES: [&str; 8] = [
    "java/lang/Class",
    "java/lang/Runtime",
    "java/lang/System",
    "java/lang/reflect/Array",
    "java/util/Arrays",
    "java/util/Collections",
    "java/util/Objects",
    "java/util/Optional",
];

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

/// What is known of the program.
pub struct Visible<'v> {
    pub catalog: &'v Catalog,
    pub hierarchy: &'v Hierarchy,
}

impl Visible<'_> {
    /// Whether a method looks at who calls it, or may: of the type that the call names, or of one above it.
    pub fn is_caller_sensitive(&self, named: Named<'_>) -> bool {
        let lists = |owner: &str| {
            let all = CALLER_SENSITIVE.iter();
            let mut own = all
                .filter(|(ty, _)| *ty == owner)
                .flat_map(|(_, names)| *names);
            own.any(|&name| name == "*" || name == named.name)
        };
        let walks = |owner: &str| {
            let declared = self.catalog.declared(owner);
            declared.is_some_and(|declared| declared.walks_stack)
        };
        let mut above = self.above(named.owner).into_iter();
        above.any(|owner| lists(owner) || walks(owner))
    }

    /// A type and those above it, as far as they are known.
    fn above<'t>(&'t self, ty: &'t str) -> Vec<&'t str> {
        let mut all = vec![ty];
        let mut seen = FxHashSet::default();
        let mut at = 0;
        while at < all.len() {
            let above = self.hierarchy.supertypes.get(all[at]);
            for ty in above.into_iter().flat_map(|above| above.iter()) {
                if seen.insert(&**ty) {
                    all.push(ty);
                }
            }
            at += 1;
        }
        all
    }

    /// Whether everybody can make a call that the type `caller` makes. What is not known counts as hidden.
    pub fn is_public(&self, caller: &str, named: Named<'_>) -> bool {
        let Named {
            owner,
            name,
            descriptor,
            how,
        } = named;
        if (self.catalog.declared(owner)).is_some_and(|declared| !declared.is_public) {
            return false;
        }
        // The superclasses, from the type that the call names on, up to the one that declares the method.
        let mut at = owner;
        let mut seen = FxHashSet::default();
        while let Some(declared) = self.catalog.declared(at) {
            if let Some(is_public) = declared.method(name, descriptor) {
                return is_public;
            }
            let above = self.hierarchy.supertypes.get(at);
            match above.and_then(|above| above.first()) {
                Some(superclass) if seen.insert(at) => at = superclass,
                _ => return how == CallHow::Interface,
            }
        }
        // A type that is not known declares it, or one above that. Methods of interfaces are public or private.
        if at == OBJECT {
            return !HIDDEN_OF_OBJECT.contains(&name);
        }
        if how == CallHow::Interface {
            return true;
        }
        !same_package(caller, at) && !self.may_extend(caller, at)
    }

    /// Whether a class is, or may be, a subclass of a class that is not known.
    fn may_extend(&self, class: &str, above: &str) -> bool {
        if reach::FINAL.contains(&above) || WITHOUT_SUBTYPES.contains(&above) {
            return false;
        }
        let mut at = class;
        let mut seen = FxHashSet::default();
        while at != above {
            let supertypes = self.hierarchy.supertypes.get(at);
            match supertypes.and_then(|all| all.first()) {
                Some(superclass) if seen.insert(at) => at = superclass,
                _ => return at != OBJECT,
            }
        }
        true
    }
}

fn same_package(a: &str, b: &str) -> bool {
    let package = |name: &'_ str| name.rfind('/').unwrap_or(0);
    a[..package(a)] == b[..package(b)]
}
