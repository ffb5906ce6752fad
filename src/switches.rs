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
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LEVEL_WORDS[*self as usize].0)
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
}

/// The most microseconds that [`Switch::auto`] can have.
pub const MOST_MICROSECONDS: u32 = (1 << 24) - 1;

/// In what [`says`] says: values of a logical call are recorded in front of its begin, and what becomes of it was decided there.
pub const DECIDED: i32 = 1 << 6;

/// What woven code says to the hook library of a method that can be switched: what its rules do.
pub fn says(mode: u8, switches: &[Arc<Switch>]) -> i32 {
    let level = switches.iter().map(|switch| switch.level).min();
    let level = level.unwrap_or_default() as u32;
    let auto = match auto(switches) {
        Some(slower) => 1 << 2 | slower << 8,
        None => 0,
    };
    (u32::from(mode) | level << 4 | auto).cast_signed()
}

/// Whether the program itself decides about a method, and of what calls it tells in any case.
pub fn auto(switches: &[Arc<Switch>]) -> Option<u32> {
    let all = switches.iter().map(|switch| switch.auto);
    all.reduce(|a, b| Some(a?.min(b?))).flatten()
}

/// The aspects that take a method: it is on where one of them is.
pub type Switches = Arc<[Arc<Switch>]>;
