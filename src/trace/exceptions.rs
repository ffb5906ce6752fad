//! Exceptions: how often each was thrown, where, and how far it got.

use super::file::cut;
use super::methods::MethodIx;
use rustc_hash::FxHashMap;

/// Different exceptions that are told apart; messages with numbers in them can be any number.
const MAX_KINDS: usize = 10_000;
/// Bytes kept of a type's name and of a message.
const TEXT: usize = 500;

/// The type shown for errors of which the trace tells no details.
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
    /// Name of its type.
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
}

/// The exception that is on its way through the methods of a thread.
#[derive(Debug, Default)]
pub struct UnderWay(Option<(Box<str>, Box<str>, Path)>);

impl Exceptions {
    /// An exception left a method.
    pub fn error(
        &mut self,
        method: MethodIx,
        details: Option<(&str, &str)>,
        caught: Option<MethodIx>,
    ) {
        if let (None, Some((_, _, path))) = (details, &mut self.current.0) {
            path.left = method;
            path.caught = caught;
            return;
        }
        self.settle();
        let (type_name, message) = details.unwrap_or((UNKNOWN, ""));
        let path = Path {
            thrown: method,
            left: method,
            caught,
        };
        self.current.0 = Some((cut(type_name, TEXT).into(), cut(message, TEXT).into(), path));
    }

    /// Goes on with the exception of another thread; `other` is then that of the one at hand.
    pub fn turn_to(&mut self, other: &mut UnderWay) {
        std::mem::swap(&mut self.current, other);
    }

    /// The exception under way has got as far as it goes; so it has when a thread ends.
    pub fn settle(&mut self) {
        let Some((type_name, message, path)) = self.current.0.take() else {
            return;
        };
        let key = (type_name, message);
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
        let mut e = Exceptions::default();
        e.error(3, Some(("T", "m")), Some(2));
        e.error(2, None, Some(1));
        e.error(3, Some(("T", "m")), Some(2));
        e.error(2, None, Some(1));
        e.error(3, Some(("T", "m")), None);
        e.settle();
        e.error(9, None, None);
        let (all, further) = e.finish();
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
            e.error(1, Some(("T", &i.to_string())), None);
        }
        let (all, further) = e.finish();
        assert_eq!((all.len(), further), (MAX_KINDS, 10));
    }
}
