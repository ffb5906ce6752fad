//! What of a woven program can be switched while it runs: aspects, each with a level.

use std::fmt;
use std::sync::Arc;

/// How much of a program one wants to see: a level takes those before it along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    Error,
    #[default]
    Info,
    Debug,
}

/// The words for levels, in their order.
pub const LEVEL_WORDS: [(&str, Level); 3] = [
    ("error", Level::Error),
    ("info", Level::Info),
    ("debug", Level::Debug),
];

impl Level {
    /// The level of a number, as a symbols map has it.
    pub fn of(number: u32) -> Option<Level> {
        let word = LEVEL_WORDS.get(number as usize);
        word.map(|(_, level)| *level)
    }

    /// The level of a word.
    pub fn named(word: &str) -> Option<Level> {
        let found = LEVEL_WORDS.iter().find(|(name, _)| *name == word);
        found.map(|(_, level)| *level)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        LEVEL_WORDS[self as usize].0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// An aspect that can be switched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Switch {
    pub name: Box<str>,
    /// It is on at this level and above, unless it is switched by its name.
    pub level: Level,
    /// The program itself decides how much it records of its calls (`mode = "auto"`): of one that takes so many microseconds always that.
    pub auto: Option<u32>,
    /// The part of the program's CPU that this may take, in thousandths; with `auto` alone.
    pub overhead: Option<u32>,
    /// Of its recorded calls only some are: with all sampled calls below them, by the outermost of a thread.
    pub sample: Option<Sampling>,
}

/// Which outermost calls are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sampling {
    /// One of so many of a thread.
    OneOf(u32),
    /// So many a second of the process.
    Second(u32),
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::OneOf(calls) => write!(f, "1/{calls}"),
            Sampling::Second(calls) => write!(f, "{calls}/s"),
        }
    }
}

/// The most microseconds that [`Switch::auto`] can have.
pub const MOST_MICROSECONDS: u32 = (1 << 24) - 1;

/// The most thousandths that [`Switch::overhead`] can have: as much as the program itself takes.
pub const MOST_OVERHEAD: u32 = 1_000;

/// The most calls that a [`Sampling`] can have.
pub const MOST_SAMPLED: u32 = (1 << 24) - 1;
/// A bit of [`says`]: calls are sampled.
const SAMPLED: u32 = 1 << 3;

/// A bit of [`says`]: values of a logical call are recorded before its begin, and whether to record it was decided
/// there.
pub const DECIDED: i32 = 1 << 6;

/// What woven code says to the hook library of a method that can be switched: what its rules do.
pub fn says(mode: u8, switches: &[Arc<Switch>]) -> i32 {
    let level = switches.iter().map(|switch| switch.level).min();
    let level = level.unwrap_or_default() as u32;
    let decides = match (auto(switches), sample(switches)) {
        (Some(slower), _) => 1 << 2 | slower << 8,
        (None, Some(Sampling::OneOf(calls))) => SAMPLED | calls << 8,
        (None, Some(Sampling::Second(calls))) => SAMPLED | 1 << 7 | calls << 8,
        (None, None) => 0,
    };
    (u32::from(mode) | level << 4 | decides).cast_signed()
}

/// Whether a method of which woven code says so is off until somebody switches it on.
pub fn starts_off(says: i32) -> bool {
    Level::of(says.cast_unsigned() >> 4 & 3) > Some(Level::default())
}

/// Whether the program itself decides about a method, and of what calls it tells in any case.
pub fn auto(switches: &[Arc<Switch>]) -> Option<u32> {
    let all = switches.iter().map(|switch| switch.auto);
    all.reduce(|a, b| Some(a?.min(b?))).flatten()
}

/// How a method's calls are sampled: where all its aspects sample, as that does which takes most of them.
pub fn sample(switches: &[Arc<Switch>]) -> Option<Sampling> {
    let all = switches.iter().map(|switch| switch.sample);
    all.reduce(|a, b| {
        Some(match (a?, b?) {
            (Sampling::OneOf(a), Sampling::OneOf(b)) => Sampling::OneOf(a.min(b)),
            (Sampling::Second(a), Sampling::Second(b)) => Sampling::Second(a.max(b)),
            (one @ Sampling::OneOf(_), _) | (_, one) => one,
        })
    })
    .flatten()
}

/// The aspects that take a method: it is on where one of them is.
pub type Switches = Arc<[Arc<Switch>]>;

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(auto: Option<u32>, sample: Option<Sampling>) -> Arc<Switch> {
        Arc::new(Switch {
            name: "x".into(),
            level: Level::Debug,
            auto,
            overhead: None,
            sample,
        })
    }

    #[test]
    fn what_woven_code_says_of_a_method() {
        let of = |auto, sample| says(0, &[switch(auto, sample)]);
        assert_eq!(of(None, None), 2 << 4);
        assert_eq!(of(Some(5), None), 2 << 4 | 4 | 5 << 8);
        let one = of(None, Some(Sampling::OneOf(100)));
        assert_eq!(one, 2 << 4 | 8 | 100 << 8);
        let most = of(None, Some(Sampling::Second(MOST_SAMPLED)));
        assert_eq!(most, 2 << 4 | 8 | 128 | !0xff);
    }

    #[test]
    fn where_all_aspects_of_a_method_sample_the_most_of_its_calls_are_taken() {
        let of = |all: &[Option<Sampling>]| {
            let all: Vec<_> = all.iter().map(|&sample| switch(None, sample)).collect();
            sample(&all).map(|sample| sample.to_string())
        };
        let [ten, hundred] = [10, 100].map(|n| Some(Sampling::OneOf(n)));
        let [two, five] = [2, 5].map(|n| Some(Sampling::Second(n)));
        assert_eq!(of(&[hundred, ten]).as_deref(), Some("1/10"));
        assert_eq!(of(&[two, five]).as_deref(), Some("5/s"));
        assert_eq!(of(&[five, hundred]).as_deref(), Some("1/100"));
        assert_eq!(of(&[hundred, five, ten]).as_deref(), Some("1/10"));
        assert_eq!(of(&[hundred, None]), None);
        assert_eq!(of(&[]), None);
        // What the program itself decides about, and what is sampled, is neither where both take it.
        let both = [switch(Some(5), None), switch(None, ten)];
        assert_eq!(says(0, &both), 2 << 4);
    }
}
