//! The JDK's classes that hooks run on: a hook in one of them would call itself without end.
//!
//! Once a thread has its lane, a guard stops hooks inside hooks. In front of the guard lie the look-up of the lane (a
//! thread-local variable, a weak reference), the clock, and the write into a mapped buffer. The lists have what a debugger
//! saw there on JDK 17 and 25, similar classes that another JDK or buffer would use, and the machinery that switches
//! virtual threads, where the current thread is undefined.

/// Packages whose classes are all refused, without their subpackages.
const PACKAGES: [&str; 4] = [
    "java/nio",
    "jdk/internal/misc",
    "jdk/internal/vm",
    "jdk/internal/access/foreign",
];

/// Classes that are refused with their nested classes.
const CLASSES: [&str; 12] = [
    "java/lang/BaseVirtualThread",
    "java/lang/Object",
    "java/lang/System",
    "java/lang/Thread",
    "java/lang/ThreadLocal",
    "java/lang/VirtualThread",
    "java/lang/ref/Reference",
    "java/lang/ref/WeakReference",
    "java/util/Objects",
    "jdk/internal/foreign/AbstractMemorySegmentImpl",
    "jdk/internal/foreign/MemorySessionImpl",
    "jdk/internal/util/Preconditions",
];

/// Whether the class of this internal name gets no hooks.
pub fn is_foundation(class: &[u8]) -> bool {
    // The first bytes decide for nearly every class.
    if !class.starts_with(b"java/") && !class.starts_with(b"jdk/internal/") {
        return false;
    }
    let package = class.iter().rposition(|&b| b == b'/').unwrap_or(0);
    let outermost = match class[package..].iter().position(|&b| b == b'$') {
        Some(at) => &class[..package + at],
        None => class,
    };
    PACKAGES.iter().any(|p| p.as_bytes() == &class[..package])
        || CLASSES.iter().any(|c| c.as_bytes() == outermost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hooks_run_on_is_told_from_its_neighbours() {
        for class in [
            "java/lang/Thread",
            "java/lang/Thread$Builder",
            "java/lang/ThreadLocal$ThreadLocalMap$Entry",
            "java/nio/DirectLongBufferU",
            "jdk/internal/misc/Unsafe",
            "jdk/internal/util/Preconditions$1",
        ] {
            assert!(is_foundation(class.as_bytes()), "{class}");
        }
        for class in [
            "java/lang/ThreadGroup",
            "java/lang/Threads",
            "java/nio/file/Files",
            "java/util/HashMap",
            "java/lang/invoke/MethodHandle",
            "com/acme/java/nio/Buffer",
            "jdk/internal/vmx/A",
            "java/",
            "A",
            "",
        ] {
            assert!(!is_foundation(class.as_bytes()), "{class}");
        }
    }
}
