//! Exceptions: how often each was thrown, where, and how far it got.

use super::call::{Described, Thrown};
use super::file::cut;
use super::logical::Caller;
use super::methods::MethodIx;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most types with their places, most ways, and most messages: they can be any number.
const MAX_KINDS: usize = 10_000;
/// Most ways that wait to be joined; the oldest are counted as they are.
const MAX_WAYS: usize = if cfg!(test) { 1 << 6 } else { 1 << 14 };
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

/// The exceptions of a type that were thrown in a method.
#[derive(Clone, Debug)]
pub struct Exception {
    pub type_name: String,
    /// The innermost woven method that they left.
    pub thrown: MethodIx,
    /// How often they were thrown.
    pub count: u64,
    /// Their messages, with how often: those that differ in numbers alone are one, with `#` for each number.
    pub messages: Vec<(String, u64)>,
    /// Throws with other messages.
    pub further_messages: u64,
    /// How far they got, with how often.
    pub paths: Vec<(Path, u64)>,
}

impl Exception {
    /// The message, or the most frequent of them.
    pub fn message(&self) -> &str {
        self.messages.first().map_or("", |(message, _)| message)
    }
}

/// What is counted of a type and a method.
#[derive(Debug, Default)]
struct Kind {
    count: u64,
    paths: FxHashMap<Path, u64>,
    /// By the message without its numbers.
    messages: FxHashMap<Box<str>, Message>,
    further_messages: u64,
}

#[derive(Debug)]
struct Message {
    /// As it was first.
    text: Box<str>,
    is_one: bool,
    count: u64,
}

/// How long an id at the beginning of a text is: hexadecimal digits, with dashes or not.
fn id(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_hexdigit() && c != '-');
    let id = text[..end.unwrap_or(text.len())].trim_end_matches('-');
    let goes_on = text[id.len()..].starts_with(|c: char| c.is_alphanumeric());
    let is_id = id.len() >= 8 && !id.starts_with('-') && id.bytes().any(|b| b.is_ascii_digit());
    if is_id && !goes_on { id.len() } else { 0 }
}

/// A message with `#` for each number and each id in it.
fn without_numbers(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let id = id(rest);
        if id > 0 {
            out.push('#');
            rest = &rest[id..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let word = &rest[..end.unwrap_or(rest.len()).max(first.len_utf8())];
        let mut in_number = false;
        for c in word.chars() {
            if !c.is_ascii_digit() {
                out.push(c);
            } else if !in_number {
                out.push('#');
            }
            in_number = c.is_ascii_digit();
        }
        rest = &rest[word.len()..];
    }
    // Of a number its groups and its fraction.
    for pair in ["#,#", "#.#"] {
        while out.contains(pair) {
            out = out.replace(pair, "#");
        }
    }
    out
}

/// Gathers exceptions, a thread at a time.
///
/// What ends a logical call goes on in the one that awaits it. Threads are replayed a segment at a time, so the records that tell
/// who awaits may come later than those of both ends: until the trace is through such ways wait to be joined.
#[derive(Debug, Default)]
pub struct Exceptions {
    kinds: FxHashMap<(Box<str>, MethodIx), Kind>,
    /// Ways and messages in all.
    paths: usize,
    messages: usize,
    further: u64,
    current: UnderWay,
    /// Ways that are not counted yet, by a number of their own.
    ways: BTreeMap<u64, Way>,
    next: u64,
    /// By the logical call that awaits what ended by it, and has not ended by it.
    awaited: FxHashMap<u64, u64>,
    /// By the logical call that ended by it, of which is not known who awaits it.
    orphans: FxHashMap<u64, u64>,
    /// By the logical call whose end is the first that is known of it.
    heads: FxHashMap<u64, u64>,
}

type Name = Described<Box<str>>;

/// An exception, how far it got, and where it may be found in the maps of [`Exceptions`].
#[derive(Debug)]
struct Way {
    name: Name,
    path: Path,
    awaited: Option<u64>,
    orphan: Option<u64>,
    head: Option<u64>,
    /// It was thrown in the selected part.
    counts: bool,
}

/// The exception that is on its way through the methods of a thread.
#[derive(Debug, Default)]
pub struct UnderWay {
    way: Option<u64>,
    /// The last one of the thread that was described.
    last: Option<Name>,
}

impl Exceptions {
    /// An exception left a method; if it ended a logical call, `awaits` is who began that, if it is known.
    pub fn error(&mut self, method: MethodIx, thrown: &Thrown<'_>, awaits: Option<Caller>) {
        let name = thrown.details.map(|details| Name {
            type_name: cut(details.type_name, TEXT).into(),
            message: cut(details.message, TEXT).into(),
        });
        if name.is_some() {
            self.current.last.clone_from(&name);
        }
        // What a logical call awaited, and did not catch.
        if let Some(id) = thrown.call.and_then(|call| self.awaited.remove(&call)) {
            self.settle();
            match self.ways.get_mut(&id) {
                Some(way) if name.as_ref().is_none_or(|name| *name == way.name) => {
                    way.awaited = None;
                    self.current.way = Some(id);
                }
                _ => self.close(id),
            }
        } else if name.is_some() || thrown.again {
            self.settle();
        }
        let caught = awaits.map(|a| a.method).or(thrown.caller);
        let id = match self.current.way.filter(|id| self.ways.contains_key(id)) {
            Some(id) => id,
            None => {
                let name = name.or_else(|| self.current.last.clone());
                let name = name.unwrap_or_else(|| Name {
                    type_name: UNKNOWN.into(),
                    message: "".into(),
                });
                self.begin(name, method, thrown)
            }
        };
        self.current.way = Some(id);
        let Some(way) = self.ways.get_mut(&id) else {
            return;
        };
        (way.path.left, way.path.caught) = (method, caught);
        // Another method was left: who awaits the call before is of no interest.
        if let Some(call) = way.orphan.take() {
            self.orphans.remove(&call);
        }
        match (thrown.call, awaits) {
            (Some(_), Some(Caller { call: Some(by), .. })) => {
                self.current.way = None;
                self.deliver(id, by);
            }
            (Some(call), None) => {
                if let Some(way) = self.ways.get_mut(&id) {
                    way.orphan = Some(call);
                    self.orphans.insert(call, id);
                }
                if thrown.caller.is_none() {
                    self.current.way = None;
                }
            }
            _ => {}
        }
    }

    /// Who began a logical call comes up: it may have ended by an exception already.
    pub fn adopt(&mut self, call: u64, caller: Caller) {
        if self.orphans.is_empty() {
            return;
        }
        let Some(id) = self.orphans.remove(&call) else {
            return;
        };
        if let Some(way) = self.ways.get_mut(&id) {
            way.orphan = None;
            way.path.caught = Some(caller.method);
            if let Some(by) = caller.call {
                self.deliver(id, by);
            }
        }
    }

    /// The exception that ended a logical call goes on in the one that awaits it, which may have ended by it already.
    fn deliver(&mut self, id: u64, by: u64) {
        if let Some(outer) = self.heads.get(&by).copied().filter(|outer| *outer != id)
            && let (Some(one), Some(other)) = (self.ways.get(&id), self.ways.get(&outer))
            && one.name == other.name
        {
            self.heads.remove(&by);
            let Some(inner) = self.take(id) else { return };
            if let Some(way) = self.ways.get_mut(&outer) {
                way.path.thrown = inner.path.thrown;
                way.head = inner.head;
                way.counts = inner.counts;
                if let Some(call) = inner.head {
                    self.heads.insert(call, outer);
                }
            }
            return;
        }
        if let Some(way) = self.ways.get_mut(&id) {
            way.awaited = Some(by);
            if let Some(old) = self.awaited.insert(by, id) {
                self.close(old);
            }
        }
    }

    /// An exception is seen for the first time.
    fn begin(&mut self, name: Name, method: MethodIx, thrown: &Thrown<'_>) -> u64 {
        let call = thrown.call;
        if self.ways.len() >= MAX_WAYS
            && let Some((&oldest, _)) = self.ways.first_key_value()
        {
            self.close(oldest);
        }
        let id = self.next;
        self.next += 1;
        let path = Path {
            thrown: method,
            left: method,
            caught: None,
        };
        let way = Way {
            name,
            path,
            awaited: None,
            orphan: None,
            head: call,
            counts: !thrown.outside,
        };
        self.ways.insert(id, way);
        if let Some(call) = call {
            self.heads.insert(call, id);
        }
        id
    }

    /// Takes a way out of all maps.
    fn take(&mut self, id: u64) -> Option<Way> {
        let way = self.ways.remove(&id)?;
        for (map, call) in [
            (&mut self.awaited, way.awaited),
            (&mut self.orphans, way.orphan),
            (&mut self.heads, way.head),
        ] {
            if let Some(call) = call
                && map.get(&call) == Some(&id)
            {
                map.remove(&call);
            }
        }
        Some(way)
    }

    /// A way is as long as it will be.
    fn close(&mut self, id: u64) {
        if let Some(way) = self.take(id).filter(|way| way.counts) {
            self.count(way.name, way.path);
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
        while let Some((&id, _)) = self.ways.first_key_value() {
            self.close(id);
        }
    }

    /// The exception under way has got as far as it goes in its thread.
    fn settle(&mut self) {
        if let Some(id) = self.current.way.take()
            && self.ways.get(&id).is_some_and(|way| {
                way.awaited.is_none() && way.orphan.is_none() && way.head.is_none()
            })
        {
            self.close(id);
        }
    }

    fn count(&mut self, Name { type_name, message }: Name, path: Path) {
        let key = (type_name, path.thrown);
        if !self.kinds.contains_key(&key) && self.kinds.len() >= MAX_KINDS {
            self.further += 1;
            return;
        }
        let kind = self.kinds.entry(key).or_default();
        kind.count += 1;
        if let Some(n) = kind.paths.get_mut(&path) {
            *n += 1;
        } else if self.paths < MAX_KINDS {
            self.paths += 1;
            kind.paths.insert(path, 1);
        }
        let folded = without_numbers(&message);
        if let Some(known) = kind.messages.get_mut(&*folded) {
            known.count += 1;
            known.is_one &= known.text == message;
        } else if self.messages < MAX_KINDS {
            self.messages += 1;
            let (is_one, count) = (true, 1);
            let text = message;
            let new = Message {
                text,
                is_one,
                count,
            };
            kind.messages.insert(folded.into(), new);
        } else {
            kind.further_messages += 1;
        }
    }

    /// All exceptions, the most frequent first, and how many more were thrown that are not listed.
    pub fn finish(mut self) -> (Vec<Exception>, u64) {
        self.settle();
        self.end_trace();
        let mut all: Vec<Exception> = self
            .kinds
            .into_iter()
            .map(|((type_name, thrown), kind)| {
                let mut paths: Vec<_> = kind.paths.into_iter().collect();
                paths.sort_unstable_by_key(|&(path, n)| (Reverse(n), path));
                let messages = kind.messages.into_iter().map(|(folded, message)| {
                    let text = if message.is_one { message.text } else { folded };
                    (text.into(), message.count)
                });
                let mut messages: Vec<(String, u64)> = messages.collect();
                messages.sort_unstable_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
                Exception {
                    type_name: type_name.into(),
                    thrown,
                    count: kind.count,
                    messages,
                    further_messages: kind.further_messages,
                    paths,
                }
            })
            .collect();
        all.sort_unstable_by(|a, b| {
            (b.count.cmp(&a.count))
                .then_with(|| a.type_name.cmp(&b.type_name))
                .then_with(|| a.message().cmp(b.message()))
                .then_with(|| a.thrown.cmp(&b.thrown))
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
        let told = Some(Described {
            type_name: "T",
            message: "m",
        });
        e(3, told, Some(2));
        e(2, None, Some(1));
        e(3, told, Some(2));
        e(2, None, Some(1));
        e(3, told, None);
        all.end_thread();
        all.error(9, &Thrown::default(), None);
        let (all, further) = all.finish();
        assert_eq!(further, 0);
        let path = |thrown, left, caught| Path {
            thrown,
            left,
            caught,
        };
        assert_eq!((all[0].count, all[0].message()), (3, "m"));
        assert_eq!(
            all[0].paths,
            [(path(3, 2, Some(1)), 2), (path(3, 3, None), 1)]
        );
        assert_eq!(all[1].type_name, UNKNOWN);
    }

    fn thrown(messages: impl Iterator<Item = String>) -> Vec<Exception> {
        let mut e = Exceptions::default();
        for message in messages {
            let thrown = Thrown {
                details: Some(Described {
                    type_name: "T",
                    message: &message,
                }),
                ..Thrown::default()
            };
            e.error(1, &thrown, None);
        }
        e.finish().0
    }

    #[test]
    fn messages_that_differ_in_numbers_are_one() {
        let orders = (0..15_000).map(|i| format!("order {i} not found"));
        let all = thrown(orders.chain(["no stock of 7".to_owned()]));
        assert_eq!((all.len(), all[0].count), (1, 15_001));
        let text = |text: &str, n| (text.to_owned(), n);
        let expected = [text("order # not found", 15_000), text("no stock of 7", 1)];
        assert_eq!(all[0].messages, expected);
        for (message, folded) in [
            ("-12,345.67 of x2y", "-# of x#y"),
            ("id 550e8400-e29b-41d4-a716-446655440000!", "id #!"),
            ("at café 3", "at café #"),
            ("deadbeef01", "#"),
            ("", ""),
        ] {
            let got = without_numbers(message);
            assert_eq!(got, folded);
        }
    }

    #[test]
    fn different_messages_are_bounded() {
        let word = |mut n: usize| {
            let mut word = String::new();
            while n > 0 {
                word.push((b'g' + (n % 16) as u8) as char);
                n /= 16;
            }
            word
        };
        let all = thrown((0..MAX_KINDS + 10).map(word));
        let e = &all[0];
        assert_eq!((e.messages.len(), e.further_messages), (MAX_KINDS, 10));
        assert_eq!((all.len(), e.count), (1, MAX_KINDS as u64 + 10));
    }
}
