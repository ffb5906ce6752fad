//! Short methods, which `mode = "auto"` leaves to their callers.
//!
//! Compilers put the code of short methods into the methods that call them, and hooks keep them from that or make the callers
//! larger. A short method without loops, arrays and locks takes long only if what it calls does. Where that is recorded itself, or
//! is quick, the method's own time is a few nanoseconds of its caller.

use crate::aspect::bind::ty::{Language, Target};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// A method that a call names.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// The type, in the format's own spelling.
    pub ty: &'a str,
    pub method: &'a str,
    /// How many parameters it has, without `this`.
    pub parameters: usize,
}

/// Whether what a call names is recorded itself, or is quick.
pub type Knows<'a> = &'a dyn Fn(&Called<'_>) -> bool;

/// The most bytes of code of a short method.
pub const fn most_code(target: Target) -> u32 {
    match target {
        // HotSpot inlines methods of up to so many bytes wherever they are called (-XX:MaxInlineSize).
        Target::Jvm => 35,
        // Two bytes a unit; ART inlines methods of up to 32 units.
        Target::Dex => 64,
        // CoreCLR always inlines up to 16 bytes, and up to 100 where that seems to pay.
        Target::DotNet => 32,
    }
}

/// The methods of the input that have a body and that `mode = "auto"` takes, by name and number of parameters.
#[derive(Debug, Default)]
pub struct Bodies(FxHashSet<u64>);

impl Bodies {
    /// What stands for all methods of a name and a number of parameters. .NET has the interface in front of the name of a method that
    /// implements it explicitly.
    pub fn key(method: &str, parameters: usize) -> u64 {
        let name = method.rsplit_once('.').map_or(method, |(_, name)| name);
        let mut hasher = FxHasher::default();
        (name, parameters).hash(&mut hasher);
        hasher.finish()
    }

    pub fn add(&mut self, key: u64) {
        self.0.insert(key);
    }

    /// Whether what a call names is quick, or has a body in the input. Of the platform's types only what is known counts: the input does not
    /// have the platform's code.
    pub fn knows(&self, called: &Called<'_>, language: Language) -> bool {
        match language {
            Language::Java => java::knows(called),
            Language::CSharp => dotnet::knows(called),
        }
        .unwrap_or_else(|| {
            self.0
                .contains(&Bodies::key(called.method, called.parameters))
        })
    }
}

/// Whether an annotation keeps a method from being left out: one that compilers and analysers put on methods says nothing of it.
pub fn is_told_by(annotation: &str) -> bool {
    const COMPILERS: [&str; 8] = [
        "System.Runtime.CompilerServices.",
        "System.Diagnostics.",
        "System.Runtime.Versioning.",
        "System.ObsoleteAttribute",
        "java/lang/",
        "kotlin/",
        "org/jetbrains/annotations/",
        "org/jspecify/annotations/",
    ];
    const ENDS: [&str; 3] = ["Nullable", "NotNull", "NonNull"];
    !COMPILERS
        .iter()
        .any(|prefix| annotation.starts_with(prefix))
        && !ENDS.iter().any(|suffix| annotation.ends_with(suffix))
}

/// The platform of the JVM and of Android.
mod java {
    use super::Called;

    /// Types whose methods do not wait, by the beginnings of their names.
    const QUICK: [&str; 18] = [
        "java/lang/Boolean",
        "java/lang/Byte",
        "java/lang/CharSequence",
        "java/lang/Character",
        "java/lang/Comparable",
        "java/lang/Double",
        "java/lang/Enum",
        "java/lang/Float",
        "java/lang/Integer",
        "java/lang/Long",
        "java/lang/Math",
        "java/lang/Number",
        "java/lang/Short",
        "java/lang/StrictMath",
        "java/lang/String",
        "java/util/concurrent/atomic/",
        "java/util/concurrent/ConcurrentHashMap",
        "kotlin/jvm/internal/",
    ];
    /// Types of `java.util` that wait, or run what they are given.
    const SLOW: [&str; 4] = ["Formatter", "Scanner", "ServiceLoader", "Timer"];

    /// Whether a method of the platform is quick; none where it is another's.
    pub(super) fn knows(called: &Called<'_>) -> Option<bool> {
        let ty = called.ty;
        let of_platform = [
            "java/",
            "javax/",
            "jdk/",
            "sun/",
            "com/sun/",
            "android/",
            "kotlin/jvm/internal/",
        ];
        if !of_platform.iter().any(|prefix| ty.starts_with(prefix)) {
            return None;
        }
        let utility =
            |rest: &str| !rest.contains('/') && !SLOW.iter().any(|slow| rest.starts_with(slow));
        Some(
            QUICK.iter().any(|prefix| ty.starts_with(prefix))
                || ty.strip_prefix("java/util/").is_some_and(utility)
                || ty == "java/lang/Object" && called.method != "wait"
                || ty == "java/lang/Class"
                    && matches!(
                        called.method,
                        "isInstance" | "cast" | "desiredAssertionStatus"
                    )
                || ty == "java/lang/System"
                    && matches!(
                        called.method,
                        "arraycopy" | "nanoTime" | "currentTimeMillis" | "identityHashCode"
                    )
                || called.method == "<init>" && ty.ends_with("Exception"),
        )
    }
}

/// The platform of .NET, as far as the core library has it.
mod dotnet {
    use super::Called;

    /// Namespaces of the core library.
    const CORE: [&str; 16] = [
        "System",
        "System.Buffers",
        "System.Collections",
        "System.Collections.Concurrent",
        "System.Collections.Generic",
        "System.Diagnostics",
        "System.Globalization",
        "System.IO",
        "System.Numerics",
        "System.Reflection",
        "System.Runtime.CompilerServices",
        "System.Runtime.InteropServices",
        "System.Security",
        "System.Text",
        "System.Threading",
        "System.Threading.Tasks",
    ];
    /// Those of them whose methods do not wait.
    const QUICK: [&str; 5] = [
        "System.Collections",
        "System.Collections.Generic",
        "System.Numerics",
        "System.Runtime.CompilerServices",
        "System.Text",
    ];
    /// Types of the others, without the number of their type parameters.
    const TYPES: [&str; 52] = [
        "System.ArgumentException",
        "System.ArgumentNullException",
        "System.ArgumentOutOfRangeException",
        "System.Array",
        "System.ArraySegment",
        "System.BitConverter",
        "System.Boolean",
        "System.Byte",
        "System.Char",
        "System.DateTime",
        "System.DateTimeOffset",
        "System.Decimal",
        "System.Double",
        "System.Enum",
        "System.Guid",
        "System.HashCode",
        "System.IComparable",
        "System.IEquatable",
        "System.Index",
        "System.Int128",
        "System.Int16",
        "System.Int32",
        "System.Int64",
        "System.IntPtr",
        "System.Math",
        "System.MathF",
        "System.Memory",
        "System.MemoryExtensions",
        "System.Nullable",
        "System.Object",
        "System.ObjectDisposedException",
        "System.Range",
        "System.ReadOnlyMemory",
        "System.ReadOnlySpan",
        "System.SByte",
        "System.Single",
        "System.Span",
        "System.String",
        "System.StringComparer",
        "System.TimeSpan",
        "System.Tuple",
        "System.Type",
        "System.UInt16",
        "System.UInt32",
        "System.UInt64",
        "System.ValueTuple",
        "System.ValueType",
        "System.Diagnostics.Debug",
        "System.Diagnostics.Stopwatch",
        "System.Runtime.InteropServices.MemoryMarshal",
        "System.Threading.Interlocked",
        "System.Threading.Volatile",
    ];

    /// Whether a method of the core library is quick; none where it may be another's.
    pub(super) fn knows(called: &Called<'_>) -> Option<bool> {
        let outer = called.ty.split(['/', '+']).next().unwrap_or(called.ty);
        let (namespace, _) = outer.rsplit_once('.')?;
        if !CORE.contains(&namespace) {
            return None;
        }
        let ty = outer.split(['`', '<']).next().unwrap_or(outer);
        // Delegates and exceptions are made with no more than a field or two.
        let is_made = called.method == ".ctor"
            && (ty.ends_with("Exception")
                || ["System.Func", "System.Action", "System.Predicate"].contains(&ty));
        Some(QUICK.contains(&namespace) || TYPES.contains(&ty) || is_made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_quick_counts_of_the_platform() {
        let mut bodies = Bodies::default();
        for name in ["wait", "sleep", "read", "Sleep", "Read"] {
            bodies.add(Bodies::key(name, 1));
        }
        use Language::{CSharp, Java};
        for (language, ty, method, is_known) in [
            (Java, "java/lang/Object", "equals", true),
            (Java, "java/lang/Object", "wait", false),
            (Java, "java/lang/Thread", "sleep", false),
            (Java, "java/util/Map", "get", true),
            (Java, "java/util/function/Function", "apply", false),
            (Java, "java/io/InputStream", "read", false),
            (Java, "java/lang/IllegalStateException", "<init>", true),
            (Java, "acme/Disk", "read", true),
            (Java, "acme/Disk", "write", false),
            (CSharp, "System.String", "Equals", true),
            (
                CSharp,
                "System.Collections.Generic.Dictionary`2",
                "get_Item",
                true,
            ),
            (CSharp, "System.Threading.Thread", "Sleep", false),
            (CSharp, "System.Threading.Tasks.Task", "Wait", false),
            (CSharp, "System.IO.Stream", "Read", false),
            (CSharp, "System.Func`2", ".ctor", true),
            (CSharp, "System.Func`2", "Invoke", false),
            (CSharp, "System.Net.Sockets.Socket", "Read", true),
            (CSharp, "Acme.Disk", "Write", false),
        ] {
            let called = Called {
                ty,
                method,
                parameters: 1,
            };
            assert_eq!(bodies.knows(&called, language), is_known, "{ty}.{method}");
        }
    }

    #[test]
    fn a_body_counts_for_its_name_and_parameters() {
        let mut bodies = Bodies::default();
        bodies.add(Bodies::key("Acme.IDisk.Read", 1));
        bodies.add(Bodies::key(".ctor", 0));
        for (method, parameters, is_known) in [
            ("Read", 1, true),
            ("Read", 2, false),
            ("Write", 1, false),
            (".ctor", 0, true),
        ] {
            let called = Called {
                ty: "Acme.Disk",
                method,
                parameters,
            };
            assert_eq!(
                bodies.knows(&called, Language::CSharp),
                is_known,
                "{method}"
            );
        }
    }

    #[test]
    fn annotations_of_compilers_tell_nothing() {
        for name in [
            "java/lang/Deprecated",
            "javax/annotation/Nullable",
            "System.Runtime.CompilerServices.NullableContextAttribute",
        ] {
            assert!(!is_told_by(name), "{name}");
        }
        assert!(is_told_by(
            "org/springframework/web/bind/annotation/GetMapping"
        ));
        assert!(is_told_by("Microsoft.AspNetCore.Mvc.HttpGetAttribute"));
    }
}
