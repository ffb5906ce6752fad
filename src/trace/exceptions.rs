//! Exceptions: how often each was thrown, where, and how far it got.

use super::file::cut;
use super::logical::Caller;
use super::methods::MethodIx;
use super::replay::Thrown;
use rustc_hash::FxHashMap;

/// Most different exceptions; messages with numbers in them can be any number.
const MAX_KINDS: usize = 10_000;
/// Bytes kept of a type's name and of a message.
const TEXT: usize = 500;

/// The type shown for errors without details in the trace.
pub const UNKNOWN: &str = "(unknown exception)";

/// The way of an exception through the woven methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// The innermost woven method that it left.
    pub thrown: MethodIx,
    /// The outermost woven method that it left.
    pub left: MethodIx,
    /// The woven method that went on after it: it, or code that is not woven between the two,
    /// caught the exception. None: it left all woven code.
    pub caught: Option<MethodIx>,
}

/// An exception and its ways, the most frequent first.
#[derive(Clone, Debug)]
pub struct Exception {
    pub type_name: String,
    /// Its message, or empty.
    pub message: String,
    /// How often it was thrown.
    pub count: u64,
    /// Where from and how far, with how often.
    pub paths: Vec<(Path, u64)>,
}

/// Gathers exceptions, a thread at a time.
#[derive(Debug, Default)]
pub struct Exceptions {
    kinds: FxHashMap<(Box<str>, Box<str>), FxHashMap<Path, u64>>,
    entries: usize,
    further: u64,
    current: UnderWay,
    /// Exceptions that ended a logical call, by the logical call that awaits its end.
    awaited: FxHashMap<u64, Way>,
}

/// An exception's type and message.
type Name = (Box<str>, Box<str>);
/// An exception, and how far it got.
type Way = (Name, Path);

/// The exception that is on its way through the methods of a thread.
#[derive(Debug, Default)]
pub struct UnderWay {
    way: Option<Way>,
    /// The last one of the thread that was described.
    last: Option<Name>,
}

impl Exceptions {
    /// An exception left a method; if it ended a logical call, `awaits` is who began that.
    pub fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>, awaits: Option<Caller>) {
        let name =
            (thrown.details).map(|(t, m)| -> Name { (cut(t, TEXT).into(), cut(m, TEXT).into()) });
        if name.is_some() {
            self.current.last.clone_from(&name);
        }
        // What a logical call awaited, and did not catch.
        if let Some((known, path)) = thrown.call.and_then(|call| self.awaited.remove(&call)) {
            self.settle();
            if name.as_ref().is_none_or(|name| *name == known) {
                self.current.way = Some((known, path));
            } else {
                self.count(known, path);
            }
        } else if name.is_some() || thrown.again {
            self.settle();
        }
        let caught = awaits.map(|a| a.method).or(thrown.caller);
        match &mut self.current.way {
            Some((_, path)) => (path.left, path.caught) = (method, caught),
            way => {
                let known = name.or_else(|| self.current.last.clone());
                let path = Path {
                    thrown: method,
                    left: method,
                    caught,
                };
                *way = Some((known.unwrap_or_else(|| (UNKNOWN.into(), "".into())), path));
            }
        }
        if let Some(call) = awaits.and_then(|a| a.call)
            && self.awaited.len() < MAX_KINDS
            && let Some(way) = self.current.way.take()
            && let Some((name, path)) = self.awaited.insert(call, way)
        {
            self.count(name, path);
        }
    }

    /// Goes on with the exception of another thread; `other` is then that of the one at hand.
    pub fn turn_to(&mut self, other: &mut UnderWay) {
        std::mem::swap(&mut self.current, other);
    }

    /// The thread at hand is through.
    pub fn end_thread(&mut self) {
        self.settle();
        self.current.last = None;
    }

    /// The trace at hand is through: another one may have the same numbers of calls.
    pub fn end_trace(&mut self) {
        for (_, (name, path)) in std::mem::take(&mut self.awaited) {
            self.count(name, path);
        }
    }

    /// The exception under way has got as far as it goes.
    fn settle(&mut self) {
        if let Some((name, path)) = self.current.way.take() {
            self.count(name, path);
        }
    }

    fn count(&mut self, key: Name, path: Path) {
        if let Some(n) = self.kinds.get_mut(&key).and_then(|k| k.get_mut(&path)) {
            *n += 1;
        } else if self.entries < MAX_KINDS {
            self.entries += 1;
            self.kinds.entry(key).or_default().insert(path, 1);
        } else {
            self.further += 1;
        }
    }

    /// All exceptions, the most frequent first, and how many more were thrown that are not listed.
    pub fn finish(mut self) -> (Vec<Exception>, u64) {
        self.settle();
        self.end_trace();
        let mut all: Vec<Exception> = self
            .kinds
            .into_iter()
            .map(|((type_name, message), paths)| {
                let mut paths: Vec<_> = paths.into_iter().collect();
                paths.sort_unstable_by_key(|&(path, n)| (std::cmp::Reverse(n), path));
                Exception {
                    type_name: type_name.into(),
                    message: message.into(),
                    count: paths.iter().map(|p| p.1).sum(),
                    paths,
                }
            })
            .collect();
        all.sort_unstable_by(|a, b| {
            (b.count.cmp(&a.count))
                .then_with(|| a.type_name.cmp(&b.type_name))
                .then_with(|| a.message.cmp(&b.message))
        });
        (all, self.further)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_begins_with_details_and_goes_on_without() {
        let mut all = Exceptions::default();
        let mut e = |method, details, caller| {
            let thrown = Thrown {
                details,
                caller,
                ..Thrown::default()
            };
            all.error(method, &thrown, None);
        };
        e(3, Some(("T", "m")), Some(2));
        e(2, None, Some(1));
        e(3, Some(("T", "m")), Some(2));
        e(2, None, Some(1));
        e(3, Some(("T", "m")), None);
        all.end_thread();
        all.error(9, &Thrown::default(), None);
        let (all, further) = all.finish();
        assert_eq!(further, 0);
        let path = |thrown, left, caught| Path {
            thrown,
            left,
            caught,
        };
        assert_eq!((all[0].count, &*all[0].message), (3, "m"));
        assert_eq!(
            all[0].paths,
            [(path(3, 2, Some(1)), 2), (path(3, 3, None), 1)]
        );
        assert_eq!(all[1].type_name, UNKNOWN);
    }

    #[test]
    fn different_messages_are_bounded() {
        let mut e = Exceptions::default();
        for i in 0..MAX_KINDS + 10 {
            let message = i.to_string();
            let thrown = Thrown {
                details: Some(("T", &message)),
                ..Thrown::default()
            };
            e.error(1, &thrown, None);
        }
        let (all, further) = e.finish();
        assert_eq!((all.len(), further), (MAX_KINDS, 10));
    }
}
