//! Calls whose time does not count: `--exclude` and `--without-idle`.

use super::methods::Method;
use super::pattern;
use crate::mapping::Mapping;
use std::sync::Arc;

/// Methods of the platforms, and of pools and servers, in which a thread waits for work or for others: their types, as patterns, and
/// their names up to a `*`.
const WAITS: [(&str, &[&str]); 25] = [
    ("java.lang.Object", &["wait*"]),
    ("java.lang.Thread", &["sleep*", "join*", "park*"]),
    ("java.lang.Process*", &["waitFor*"]),
    ("java.lang.ref.ReferenceQueue*", &["remove*", "await*"]),
    ("java.util.TimerThread", &["mainLoop"]),
    (
        "java.util.concurrent.*",
        &["take*", "poll*", "await*", "acquire*", "park*", "getTask"],
    ),
    ("java.util.concurrent.*Future*", &["get", "join"]),
    ("*.misc.Unsafe", &["park"]),
    ("java.nio.channels.*", &["select*", "accept"]),
    (
        "sun.nio.ch.*",
        &["*elect", "poll*", "wait*", "accept*", "read*", "park*"],
    ),
    ("java.net.*", &["accept*", "read*", "socketRead*"]),
    ("sun.security.ssl.*", &["read*"]),
    ("android.os.MessageQueue", &["next", "nativePollOnce"]),
    ("android.os.SystemClock", &["sleep"]),
    ("kotlinx.coroutines.*", &["park*"]),
    (
        "org.apache.tomcat.util.threads.TaskQueue",
        &["take", "poll"],
    ),
    (
        "io.netty.*",
        &["select*", "epollWait*", "kqueueWait*", "takeTask"],
    ),
    (
        "org.eclipse.jetty.*",
        &["take", "poll*", "idleJobPoll", "select*", "reservedWait"],
    ),
    ("com.zaxxer.hikari.util.ConcurrentBag", &["borrow"]),
    ("System.Threading.Monitor", &["Wait*", "ObjWait"]),
    ("System.Threading.Thread", &["Sleep*", "Join*"]),
    ("System.Threading.*", &["Wait*"]),
    (
        "System.Collections.Concurrent.BlockingCollection*",
        &["Take*", "TryTake*"],
    ),
    (
        "System.Net.Sockets.Socket",
        &["Accept", "Receive*", "Poll", "Select"],
    ),
    ("System.Diagnostics.Process", &["WaitForExit*"]),
];

/// Whether a thread only waits in a method.
fn waits(method: &Method) -> bool {
    let Some(symbol) = method.symbol() else {
        return false;
    };
    let ty = symbol.type_name.replace(['/', '$'], ".");
    WAITS.iter().any(|(types, names)| {
        whole(types, &ty) && names.iter().any(|name| whole(name, &symbol.method))
    })
}

/// Whether all of a text fits a pattern.
fn whole(pattern: &str, text: &str) -> bool {
    match pattern.contains('*') {
        true => pattern::matches(pattern, text),
        false => pattern == text,
    }
}

/// Methods whose time does not count, and that of what they call; without any, all does.
#[derive(Clone, Default)]
pub struct Excludes {
    patterns: Arc<[String]>,
    /// Names that methods had before, where they are not restored yet.
    mappings: Arc<Vec<Mapping>>,
    /// Methods in which a thread waits are some, too.
    idle: bool,
}

impl std::fmt::Debug for Excludes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (&self.patterns, self.idle).fmt(f)
    }
}

impl Excludes {
    /// Methods whose names fit one of these patterns and, if asked for, those in which a thread waits.
    pub fn new(patterns: &[String], idle: bool, mappings: Arc<Vec<Mapping>>) -> Excludes {
        Excludes {
            patterns: patterns.into(),
            mappings,
            idle,
        }
    }

    /// Whether all time counts.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && !self.idle
    }

    /// Whether the time of this method does not count.
    pub fn takes(&self, method: &Method) -> bool {
        if self.is_empty() {
            return false;
        }
        let method = method.restored(&self.mappings);
        let (name, full) = (method.name(), method.full_name());
        let named = |p: &String| pattern::matches(p, &name) || pattern::matches(p, &full);
        self.patterns.iter().any(named) || (self.idle && waits(&method))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbol;

    #[test]
    fn waiting_is_known_by_platforms_and_pools_and_not_by_name_alone() {
        let waits = |ty: &str, method: &str| {
            super::waits(&Method::Known(Symbol {
                artifact: "".into(),
                type_name: ty.into(),
                method: method.into(),
                descriptor: "".into(),
                file: "".into(),
                line: 0,
                root: false,
            }))
        };
        for (ty, method) in [
            ("java/lang/Object", "wait"),
            ("java/util/concurrent/locks/LockSupport", "parkNanos"),
            ("java/util/concurrent/ThreadPoolExecutor", "getTask"),
            ("java/util/concurrent/LinkedBlockingQueue", "take"),
            ("sun/nio/ch/EPollSelectorImpl", "doSelect"),
            ("org/apache/tomcat/util/threads/TaskQueue", "take"),
            ("io/netty/channel/nio/NioEventLoop", "select"),
            ("java/util/concurrent/CompletableFuture", "get"),
            ("android/os/MessageQueue", "next"),
            ("System.Threading.Monitor", "Wait"),
            ("System.Threading.WaitHandle", "WaitOneNoCheck"),
            ("System.Threading.Thread", "Sleep"),
            ("System.Collections.Concurrent.BlockingCollection`1", "Take"),
        ] {
            assert!(waits(ty, method), "{ty} {method}");
        }
        for (ty, method) in [
            ("com/acme/Stock", "take"),
            ("com/acme/Thread", "sleep"),
            ("java/lang/Object", "hashCode"),
            ("java/util/concurrent/ThreadPoolExecutor", "execute"),
            ("java/lang/ThreadLocal", "get"),
            ("java/util/concurrent/ConcurrentHashMap", "get"),
            ("System.Threading.Tasks.Task", "Run"),
        ] {
            assert!(!waits(ty, method), "{ty} {method}");
        }
    }
}
