//! What `weave control` has switched in a program while it ran ("Control" of the format).

use super::units;
use crate::switches::{Level, Switch};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// First line of a request.
const HEAD: &str = "weave control 2";
/// What follows a trace's name in that of the file with the request.
const SUFFIX: &str = ".control";
/// So many bytes of the nonce are in the name of the file; all are in it.
const NAMED: usize = 8;
/// Requests that may be waiting at most, one instead of the other.
const WAITING: u32 = 1 << 16;
/// The most bytes that a hook library reads of a request.
pub const MOST: usize = 60_000;
/// Changes that a report tells one by one.
const TOLD: usize = 8;
/// Parts of the time that a report tells one by one.
const PARTS: usize = 50;

/// How much of each call the trace gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As the rules say.
    #[default]
    Rules,
    /// Nothing.
    Off,
    /// That it was one.
    Count,
    /// What it adds to the sums of its method.
    Aggregate,
    /// A record.
    Record,
    /// As the program itself decides, of all methods that can be switched.
    Auto,
}

/// The words for modes, in their order.
pub const MODE_WORDS: [(&str, Mode); 6] = [
    ("rules", Mode::Rules),
    ("off", Mode::Off),
    ("count", Mode::Count),
    ("aggregate", Mode::Aggregate),
    ("record", Mode::Record),
    ("auto", Mode::Auto),
];

impl Mode {
    /// The mode of a word.
    pub fn named(word: &str) -> Option<Mode> {
        let found = MODE_WORDS.iter().find(|(name, _)| *name == word);
        found.map(|(_, mode)| *mode)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MODE_WORDS[*self as usize].0)
    }
}

/// What is on: what a request asks for, and what the library says that it has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub level: Level,
    pub mode: Mode,
    /// Aspects that are on whatever the level.
    pub enabled: BTreeSet<String>,
    /// Aspects that are off whatever the level.
    pub disabled: BTreeSet<String>,
    /// So many more aspects are switched by name, for which a trace had no room.
    pub more: u32,
}

impl State {
    /// Reads lines; those of words that it does not know say nothing.
    pub fn parse(text: &str) -> State {
        let mut state = State::default();
        for line in text.lines() {
            let Some((word, rest)) = line.split_once(' ') else {
                continue;
            };
            match word {
                "level" => state.level = Level::named(rest).unwrap_or(state.level),
                "mode" => state.mode = Mode::named(rest).unwrap_or(state.mode),
                "enable" => drop(state.enabled.insert(rest.to_owned())),
                "disable" => drop(state.disabled.insert(rest.to_owned())),
                "more" => state.more = rest.parse().unwrap_or(0),
                _ => {}
            }
        }
        state
    }

    /// Whether an aspect is on.
    pub fn is_on(&self, switch: &Switch) -> bool {
        self.mode != Mode::Off
            && !self.disabled.contains(&*switch.name)
            && (switch.level <= self.level || self.enabled.contains(&*switch.name))
    }

    /// What this one has other than another: `level debug, ui off`.
    fn told_after(&self, before: &State) -> String {
        let mut told = Vec::new();
        if self.level != before.level {
            told.push(format!("level {}", self.level));
        }
        if self.mode != before.mode {
            told.push(match self.mode {
                Mode::Rules => "as the rules say".to_owned(),
                Mode::Off => "all off".to_owned(),
                mode => format!("mode {mode}"),
            });
        }
        let news = |now: &BTreeSet<String>, then: &BTreeSet<String>, word: &str| {
            let names = now.difference(then);
            names
                .map(|name| format!("{name} {word}"))
                .collect::<Vec<_>>()
        };
        told.extend(news(&self.enabled, &before.enabled, "on"));
        told.extend(news(&self.disabled, &before.disabled, "off"));
        let switched: BTreeSet<&String> = self.enabled.union(&self.disabled).collect();
        let were = before.enabled.union(&before.disabled);
        let left = were.filter(|name| !switched.contains(name));
        told.extend(left.map(|name| format!("{name} by level")));
        if self.more > 0 && self.more != before.more {
            told.push(format!("{} more by name", self.more));
        }
        told.join(", ")
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level {}\nmode {}", self.level, self.mode)?;
        for name in &self.enabled {
            writeln!(f, "enable {name}")?;
        }
        self.disabled
            .iter()
            .try_for_each(|name| writeln!(f, "disable {name}"))
    }
}

/// What the file beside a trace asks its process for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The process, by its id and the origin of its trace: a file of an earlier run says nothing to it.
    pub pid: u64,
    pub origin: u64,
    /// What only who can read the trace knows.
    pub nonce: [u8; 16],
    /// From 1; each has the next one, and 1 comes behind the last that there is.
    pub number: u32,
    pub state: State,
    /// What the program itself has decided is taken back.
    pub reset: bool,
}

/// The line that says so.
const RESET: &str = "reset";

impl Request {
    /// `None` if it is not one.
    pub fn parse(text: &str) -> Option<Request> {
        let mut lines = text.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let to = lines.next()?.strip_prefix("to ")?;
        let (pid, origin) = to.split_once(' ')?;
        let nonce = u128::from_str_radix(lines.next()?.strip_prefix("nonce ")?, 16).ok()?;
        let number = lines.next()?.strip_prefix("number ")?;
        Some(Request {
            pid: pid.parse().ok()?,
            origin: origin.parse().ok()?,
            nonce: nonce.to_be_bytes(),
            number: number.parse().ok()?,
            state: State::parse(text),
            reset: text.lines().any(|line| line == RESET),
        })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request {
            pid,
            origin,
            nonce,
            number,
            state,
            reset,
        } = self;
        let nonce = hex(nonce);
        write!(
            f,
            "{HEAD}\nto {pid} {origin}\nnonce {nonce}\nnumber {number}\n{state}"
        )?;
        if *reset {
            writeln!(f, "{RESET}")?;
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where requests for a trace's process lie.
pub fn request_file(trace: &Path, nonce: &[u8; 16]) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(format!(".{}{SUFFIX}", hex(&nonce[..NAMED])));
    name.into()
}

/// Whether a number comes after another. They begin again when they are used up, so half of them do.
pub fn is_after(number: u32, other: u32) -> bool {
    number != 0 && number.wrapping_sub(other).cast_signed() > 0
}

/// Whether a request of that number may be the one that is taken next.
pub fn may_wait(number: u32, taken: u32) -> bool {
    is_after(number, taken) && number.wrapping_sub(taken) < WAITING
}

/// The number after another.
pub fn number_after(number: u32) -> u32 {
    number.wrapping_add(1).max(1)
}

/// What was changed at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub time: u64,
    pub what: What,
}

/// What holds from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The first is what the program began with.
    State(State),
    /// The program itself has decided so about these methods.
    Decided(Less, Vec<u32>),
    /// All that it has decided is taken back.
    Again,
    /// There was no room for further ones.
    More(More),
}

/// Changes that are not told one by one, the first of them at the moment of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct More {
    pub count: u64,
    /// The time of the last.
    pub last: u64,
    /// How long all was off until then.
    pub off: u64,
    /// All is off from then on.
    pub is_off: bool,
}

/// How many changes a copy of a chunk has: a later copy has more.
pub(super) fn extent(changes: &[Change]) -> (usize, u64) {
    let more = changes.last().map_or(0, |last| match last.what {
        What::More(more) => more.count,
        _ => 0,
    });
    (changes.len(), more)
}

/// What is left of calls that are too many to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Less {
    /// They are summed up.
    Summed,
    /// They are counted.
    Counted,
    /// Nothing.
    Nothing,
}

/// What was on, and from when.
pub fn states(changes: &[Change]) -> impl DoubleEndedIterator<Item = (u64, &State)> {
    changes.iter().filter_map(|change| match &change.what {
        What::State(state) => Some((change.time, state)),
        _ => None,
    })
}

/// The program's own decisions at the end of the trace: how much of each method is still recorded.
pub fn decided(changes: &[Change]) -> BTreeMap<u32, Less> {
    let mut decided = BTreeMap::new();
    for change in changes {
        match &change.what {
            What::State(_) | What::More(_) => {}
            What::Decided(less, methods) => decided.extend(methods.iter().map(|id| (*id, *less))),
            What::Again => decided.clear(),
        }
    }
    decided
}

impl Change {
    /// The entries of a chunk.
    pub(super) fn read(data: &[u8]) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut rest = data;
        while let Some((head, text)) = rest.split_at_checked(16) {
            let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("a word"));
            let (length, what) = (word(0) as u32 as usize, word(0) >> 32);
            if word(0) == 0 {
                break;
            }
            let Some((data, behind)) = length
                .checked_next_multiple_of(8)
                .and_then(|padded| text.split_at_checked(padded))
            else {
                break;
            };
            let data = &data[..length];
            let ids = || {
                let ids = data.as_chunks::<4>().0.iter();
                ids.map(|id| u32::from_le_bytes(*id)).collect()
            };
            let what = match what {
                0 => Some(What::State(State::parse(&String::from_utf8_lossy(data)))),
                1 => Some(What::Decided(Less::Summed, ids())),
                2 => Some(What::Decided(Less::Counted, ids())),
                3 => Some(What::Again),
                4 => Some(What::Decided(Less::Nothing, ids())),
                5 => data.as_chunks::<8>().0.first_chunk().map(|words| {
                    let [count, last, off] = words.map(u64::from_le_bytes);
                    What::More(More {
                        count: count >> 1,
                        last,
                        off,
                        is_off: count & 1 != 0,
                    })
                }),
                _ => None, // of a later version
            };
            changes.extend(what.map(|what| Change {
                time: word(8),
                what,
            }));
            rest = behind;
        }
        changes
    }
}

/// What to say of a program's changes, for people: what was off from the start, and what was switched when. `all` are
/// the aspects that can be switched.
pub fn told<'s>(changes: &[Change], all: impl Iterator<Item = &'s Switch>) -> Vec<String> {
    let states: Vec<(u64, &State)> = states(changes).collect();
    let Some(((_, first), later)) = states.split_first() else {
        return Vec::new();
    };
    let mut told = Vec::new();
    let off: Vec<&str> = all
        .filter(|switch| !first.is_on(switch))
        .map(|switch| &*switch.name)
        .collect();
    if !off.is_empty() {
        let level = first.level;
        told.push(format!(
            "off from the start, which was at level {level}: {}",
            off.join(", ")
        ));
    }
    if !later.is_empty() {
        let mut moments: Vec<String> = (states.windows(2).take(TOLD))
            .map(|pair| {
                let what = pair[1].1.told_after(pair[0].1);
                let what = if what.is_empty() { "as it was" } else { &what };
                format!("at {} {what}", units::duration(pair[1].0))
            })
            .collect();
        let not_told = (changes.iter()).fold(0_u64, |sum, change| match change.what {
            What::More(more) => sum.saturating_add(more.count),
            _ => sum,
        });
        let more = not_told.saturating_add(later.len().saturating_sub(TOLD) as u64);
        if more > 0 {
            let more = units::count(more);
            moments.push(format!("and {more} more times"));
        }
        told.push(format!(
            "switched while it ran; numbers cover only parts of the time: {}",
            moments.join("; ")
        ));
    }
    told.extend(told_off(changes));
    told.extend(told_decided(changes));
    told
}

/// When all was off while it ran.
fn told_off(changes: &[Change]) -> Option<String> {
    let mut parts: Vec<(u64, Option<u64>)> = Vec::new();
    let mut hidden = 0_u64;
    let mut since = None;
    for change in changes {
        let (until, next) = match &change.what {
            What::State(state) => (
                change.time,
                (state.mode == Mode::Off).then_some(change.time),
            ),
            What::More(more) => {
                hidden = hidden.saturating_add(more.off);
                (change.time, more.is_off.then_some(more.last))
            }
            _ => continue,
        };
        match (since, next) {
            // It stays off.
            (Some(_), Some(_)) if matches!(change.what, What::State(_)) => continue,
            (Some(from), _) => parts.push((from, Some(until))),
            (None, _) => {}
        }
        since = next;
    }
    parts.extend(since.map(|from| (from, None)));
    if parts.is_empty() && hidden == 0 {
        return None;
    }
    let mut told: Vec<String> = (parts.iter().take(PARTS))
        .map(|(from, until)| match until {
            Some(until) => format!(
                "from {} to {}",
                units::duration(*from),
                units::duration(*until)
            ),
            None => format!("from {} on", units::duration(*from)),
        })
        .collect();
    let further = parts.iter().skip(PARTS);
    let long = further.fold(hidden, |sum, (from, until)| {
        sum.saturating_add(until.map_or(0, |until| until.saturating_sub(*from)))
    });
    if long > 0 {
        told.push(format!("and {} more in all", units::duration(long)));
    }
    if parts.len() > PARTS
        && let Some((from, None)) = parts.last()
    {
        told.push(format!("from {} on", units::duration(*from)));
    }
    Some(format!(
        "all that can be switched was off {}",
        told.join(", ")
    ))
}

/// What the program has decided itself.
fn told_decided(changes: &[Change]) -> Option<String> {
    let first = |wanted: Less| {
        let of = |change: &&Change| matches!(change.what, What::Decided(less, _) if less == wanted);
        changes.iter().find(of).map(|change| change.time)
    };
    let all = |wanted: Less| {
        let of = changes.iter().filter_map(|change| match &change.what {
            What::Decided(less, methods) if *less == wanted => Some(methods),
            _ => None,
        });
        of.flatten().collect::<BTreeSet<_>>().len() as u64
    };
    let were = |n| units::counted(n, "method") + if n == 1 { " was" } else { " were" };
    let mut told = format!(
        "{} only summed up from {} on, one after the other",
        were(all(Less::Summed)),
        units::duration(first(Less::Summed)?)
    );
    if let Some(from) = first(Less::Counted) {
        let _ = write!(
            told,
            ", and {} only counted, from {} on",
            units::count(all(Less::Counted)),
            units::duration(from)
        );
    }
    if let Some(from) = first(Less::Nothing) {
        let _ = write!(
            told,
            ", and {} left out altogether, from {} on",
            units::count(all(Less::Nothing)),
            units::duration(from)
        );
    }
    told.push_str(": their calls were too many to be recorded (mode auto, WEAVE_TRACE_RATE)");
    if first(Less::Counted).is_some() {
        told.push_str("; of counted calls the times are not known, and are their callers' own");
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::Chunk;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn requests_are_read_as_they_are_written() {
        let request = Request {
            pid: 4711,
            origin: 1_700_000_000_000_000_000,
            nonce: std::array::from_fn(|i| i as u8),
            number: 3,
            state: State {
                level: Level::Debug,
                mode: Mode::Aggregate,
                enabled: names(&["slow queries", "x"]),
                disabled: names(&["level error"]),
                more: 0,
            },
            reset: true,
        };
        let text = request.to_string();
        assert_eq!(Request::parse(&text).unwrap(), request);
        assert_eq!(State::parse(&text), request.state);
        for wrong in [
            "",
            "weave control 1\nto 1 2\nnumber 3\n",
            "weave control 2\nto 1 2\nnumber 3\n",
            "weave control 2\nto 1\nnonce 0\nnumber 3\n",
        ] {
            assert_eq!(Request::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_decides_before_the_level() {
        let switch = |name: &str, level| {
            let name = name.into();
            Switch {
                name,
                level,
                auto: None,
                overhead: None,
                sample: None,
            }
        };
        let mut state = State {
            enabled: names(&["noise"]),
            disabled: names(&["sql"]),
            ..State::default()
        };
        let on = |state: &State, name, level| state.is_on(&switch(name, level));
        assert!(on(&state, "noise", Level::Debug) && !on(&state, "sql", Level::Error));
        assert!(on(&state, "ui", Level::Info) && !on(&state, "ui", Level::Debug));
        state.mode = Mode::Off;
        assert!(!on(&state, "noise", Level::Debug));
    }

    #[test]
    fn what_the_program_decides_itself_is_told() {
        let entries: [(u64, u64, &[u32]); 7] = [
            (0, 0, &[]),
            (1, 300_000_000, &[7, 8, 9]),
            (2, 500_000_000, &[8]),
            (1, 900_000_000, &[7, 10]),
            (3, 1_000_000_000, &[]),
            (2, 1_500_000_000, &[11]),
            (4, 1_600_000_000, &[11]),
        ];
        let mut chunk = Chunk::new(5, 0, 0, 0);
        for (what, time, ids) in entries {
            let text = b"level info\nmode rules\n";
            let data: Vec<u8> = match what {
                0 => text.to_vec(),
                _ => ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
            };
            chunk = chunk.word(what << 32 | data.len() as u64).word(time);
            for word in data.chunks(8) {
                let mut bytes = [0; 8];
                bytes[..word.len()].copy_from_slice(word);
                chunk = chunk.word(u64::from_le_bytes(bytes));
            }
        }
        let changes = Change::read(&chunk.bytes()[32..]);
        assert_eq!(changes.len(), entries.len());
        assert_eq!(decided(&changes[..4]).len(), 4);
        assert_eq!(decided(&changes[..4])[&8], Less::Counted);
        assert_eq!(decided(&changes), BTreeMap::from([(11, Less::Nothing)]));
        assert_eq!(
            told(&changes, std::iter::empty()),
            [
                "4 methods were only summed up from 300 ms on, one after the other, and 2 only counted, from 500 ms on, and 1 left out altogether, from 1.60 s on: their calls were \
                 too many to be recorded (mode auto, WEAVE_TRACE_RATE); of counted calls the times are not known, and are their callers' own"
            ]
        );
    }

    #[test]
    fn changes_are_told_with_their_moments() {
        let state = |text: &str| State::parse(text);
        let texts = [
            "level info\n",
            "level debug\nmode count\n",
            "level debug\ndisable ui\nenable sql\n",
            "level debug\nenable ui\n",
        ];
        let mut chunk = Chunk::new(5, 0, 0, 0);
        for (number, text) in (0u64..).zip(texts) {
            chunk = chunk.word(text.len() as u64).word(number * 1_500_000_000);
            for word in text.as_bytes().chunks(8) {
                let mut bytes = [0; 8];
                bytes[..word.len()].copy_from_slice(word);
                chunk = chunk.word(u64::from_le_bytes(bytes));
            }
        }
        let bytes = chunk.bytes();
        let changes = Change::read(&bytes[32..]);
        assert_eq!(changes.len(), 4);
        assert_eq!(changes[2].what, What::State(state(texts[2])));
        let noise = Switch {
            name: "noise".into(),
            level: Level::Debug,
            auto: None,
            overhead: None,
            sample: None,
        };
        assert_eq!(
            told(&changes, [&noise].into_iter()),
            [
                "off from the start, which was at level info: noise",
                "switched while it ran; numbers cover only parts of the time: at 1.50 s level debug, mode count; \
                 at 3.00 s as the rules say, sql on, ui off; at 4.50 s ui on, sql by level",
            ]
        );
        // Cut off, or a length that no chunk has.
        assert_eq!(Change::read(&bytes[32..32 + 50]).len(), 1);
        let mut wild = bytes[32..].to_vec();
        wild[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(Change::read(&wild).is_empty());
    }

    #[test]
    fn numbers_never_run_out() {
        for (number, next) in [(0, 1), (1, 2), (0x7FFF_FFFF, 0x8000_0000), (u32::MAX, 1)] {
            assert_eq!(number_after(number), next);
            assert!(is_after(next, number) && !is_after(number, next) && !is_after(next, next));
            assert!(may_wait(next, number) && !may_wait(number, next));
        }
        assert!(!may_wait(0x7FFF_FFFF, 1));
    }

    #[test]
    fn every_part_of_the_time_that_was_off_is_told() {
        let state = |time: u64, text: &str| Change {
            time: time * 1_000_000_000,
            what: What::State(State::parse(text)),
        };
        let mut changes = vec![
            state(0, "level info\n"),
            state(1, "mode off\n"),
            state(2, "level debug\nmode off\n"),
            state(3, "mode rules\n"),
            state(4, "mode off\n"),
        ];
        let off = |changes: &[Change]| told_off(changes).unwrap();
        assert_eq!(
            off(&changes),
            "all that can be switched was off from 1.00 s to 3.00 s, from 4.00 s on"
        );
        // Behind these there is no room: nine more, all off for 2 s of them, and at the end.
        let mut chunk = Chunk::new(5, 0, 0, 0);
        for word in [
            5 << 32 | 24,
            5_000_000_000,
            9 << 1 | 1,
            20_000_000_000,
            2_000_000_000,
        ] {
            chunk = chunk.word(word);
        }
        let read = Change::read(&chunk.bytes()[32..]);
        assert_eq!((read.len(), extent(&read)), (1, (1, 9)));
        changes.extend(read);
        assert_eq!(
            off(&changes),
            "all that can be switched was off from 1.00 s to 3.00 s, from 4.00 s to 5.00 s, from 20.0 s on, and 2.00 s more in all"
        );
        let told = told(&changes, std::iter::empty()).join("; ");
        assert!(told.contains("and 9 more times"), "{told}");
        assert_eq!(told_off(&changes[..1]), None);
        // A length that no such entry has says nothing.
        let short = Chunk::new(5, 0, 0, 0).word(5 << 32 | 8).word(1).word(1);
        assert!(Change::read(&short.bytes()[32..]).is_empty());
    }
}
