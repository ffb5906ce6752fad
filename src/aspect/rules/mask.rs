//! What of recorded texts is not kept: patterns, compiled to a table that the hook libraries walk.
//!
//! The table is a text, which woven code passes on as a constant. Its UTF-16 units are numbers:
//!
//! ```text
//!     C; the class of each unit 0..=127; the class of all others                      classes are 0..C
//!     for each state: 1 if a match may end here, else 0; for each class the next state plus 1, or 0 for none
//! ```
//!
//! From each place of a text the longest match is masked, from the first state on. So the table has one meaning on all
//! platforms, and a text of any length takes bounded time: see [`WINDOW`].

use crate::aspect::pattern::{PatternError, not_a_regex};
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::Hir;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1000;

/// Most states of all patterns together. Each is below 0x800, so that it takes two bytes of a class file's text at most,
/// which has 65,535 (JVMS 4.4.7).
const MAX_STATES: usize = 1000;

/// Most numbers in a table.
const MAX_TABLE: usize = 20_000;

/// Most memory that a hostile pattern takes, in bytes.
const MAX_MEMORY: usize = 4 << 20;

/// How far a match is followed, in UTF-16 units: one that goes on there takes the rest of the text. The hook libraries know it,
/// too.
#[cfg(test)]
const WINDOW: usize = 4096;

/// The compiled patterns of an aspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    pub table: Arc<str>,
}

impl Mask {
    /// Compiles patterns: `re:` and a regular expression, or a text in which `*` stands for what is no blank.
    pub fn new(patterns: &[&str]) -> Result<Mask, PatternError> {
        let mut all = Vec::new();
        for text in patterns {
            all.push(parse(text)?);
        }
        let too_large = || {
            let whole = 0..patterns.first().map_or(0, |text| text.len());
            PatternError::new(whole, "the mask takes too many states")
                .help("lower the numbers of its repetitions")
        };
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .nfa_size_limit(Some(MAX_MEMORY)),
            )
            .build_many_from_hir(&all)
            .map_err(|_| too_large())?;
        let dfa = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Anchored)
                    .minimize(true)
                    .dfa_size_limit(Some(MAX_MEMORY))
                    .determinize_size_limit(Some(MAX_MEMORY)),
            )
            .build_from_nfa(&nfa)
            .map_err(|_| too_large())?;
        let table = table(&dfa).ok_or_else(too_large)?;
        Ok(Mask {
            table: table.into(),
        })
    }
}

fn parse(text: &str) -> Result<Hir, PatternError> {
    let whole = 0..text.len();
    if text.len() > MAX_PATTERN {
        let what = format!("the mask is longer than {MAX_PATTERN} bytes");
        return Err(PatternError::new(whole, what));
    }
    if !text.is_ascii() {
        return Err(PatternError::new(whole, "a mask is of ASCII characters")
            .help("`[^ -~]` is any other character"));
    }
    let (regex, offset) = match text.strip_prefix("re:") {
        Some(regex) => (regex.to_owned(), 3),
        None => (regex_syntax::escape(text).replace(r"\*", r"\S*"), 0),
    };
    let hir = regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .nest_limit(50)
        .build()
        .parse(&regex)
        .map_err(|e| not_a_regex(&e, &regex).shifted(offset))?;
    if !hir.properties().look_set().is_empty() {
        return Err(
            PatternError::new(whole, "a mask cannot test the text around its match")
                .help("leave out `^`, `$` and `\\b`"),
        );
    }
    if hir.properties().minimum_len() == Some(0) {
        return Err(PatternError::new(whole, "the mask matches the empty text")
            .help("write what must be there: `\\S+`, not `\\S*`"));
    }
    Ok(hir)
}

/// Units above ASCII are all one byte to the automaton.
const OTHER: u8 = 0xff;

/// The automaton as a table; `None` where that is too large.
fn table(dfa: &dense::DFA<Vec<u32>>) -> Option<String> {
    let units: Vec<u8> = (0..128).chain([OTHER]).collect();
    let classes = dfa.byte_classes();
    let mut numbers: Vec<u8> = Vec::new();
    let mut representatives: Vec<u8> = Vec::new();
    for &unit in &units {
        let class = classes.get(unit);
        let known = representatives
            .iter()
            .position(|&other| classes.get(other) == class);
        numbers.push(known.unwrap_or(representatives.len()) as u8);
        if known.is_none() {
            representatives.push(unit);
        }
    }
    let start = dfa
        .start_state_forward(&Input::new(b"").anchored(Anchored::Yes))
        .ok()?;
    let mut states: Vec<StateID> = vec![start];
    let mut places: FxHashMap<StateID, usize> = FxHashMap::from_iter([(start, 0)]);
    let mut table: Vec<usize> = vec![representatives.len()];
    table.extend(numbers.iter().map(|&number| usize::from(number)));
    let mut next = 0;
    while let Some(&state) = states.get(next) {
        next += 1;
        // A match shows one step later.
        table.push(dfa.is_match_state(dfa.next_eoi_state(state)).into());
        for &unit in &representatives {
            let to = dfa.next_state(state, unit);
            if dfa.is_dead_state(to) {
                table.push(0);
                continue;
            }
            let place = *places.entry(to).or_insert_with(|| {
                states.push(to);
                states.len() - 1
            });
            table.push(place + 1);
        }
        if states.len() > MAX_STATES || table.len() > MAX_TABLE {
            return None;
        }
    }
    let text = table.into_iter().map(|n| char::from_u32(n as u32));
    text.collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the hook libraries do, as the head of this file says it.
    pub fn masked(mask: &Mask, text: &str) -> String {
        let table: Vec<usize> = mask.table.chars().map(|c| c as usize).collect();
        let classes = table[0];
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut out: Vec<u16> = Vec::new();
        let mut at = 0;
        while at < units.len() {
            let (mut row, mut end, mut place) = (130, at, at);
            loop {
                if place == units.len() {
                    break;
                }
                if place - at == WINDOW {
                    end = units.len();
                    break;
                }
                let next = table[row + 1 + table[1 + usize::from(units[place].min(128))]];
                if next == 0 {
                    break;
                }
                place += 1;
                row = 130 + (next - 1) * (classes + 1);
                if table[row] == 1 {
                    end = place;
                }
            }
            match end > at {
                true => {
                    out.extend("***".encode_utf16());
                    at = end;
                }
                false => {
                    out.push(units[at]);
                    at += 1;
                }
            }
        }
        String::from_utf16_lossy(&out)
    }

    fn of(patterns: &[&str], text: &str) -> String {
        masked(&Mask::new(patterns).unwrap(), text)
    }

    #[test]
    fn the_longest_match_is_masked() {
        assert_eq!(
            of(&[r"re:password=\S+"], "login password=secret now"),
            "login *** now"
        );
        assert_eq!(of(&["password=*"], "password=a password= b"), "*** *** b");
        assert_eq!(
            of(
                &[r"re:\d{4}-\d{4}", "re:(?i)token"],
                "TOKEN 1234-5678 12-34"
            ),
            "*** *** 12-34"
        );
        assert_eq!(of(&["re:a|ab|abc"], "xabcd"), "x***d");
        assert_eq!(of(&["re:key=[^;]+"], "key=größe€;x"), "***;x");
        assert_eq!(of(&["secret"], "nothing"), "nothing");
        // One that goes on takes all the rest.
        assert_eq!(
            of(&["re:a+"], &("b".to_owned() + &"a".repeat(2 * WINDOW))),
            "b***"
        );
    }

    #[test]
    fn what_is_no_mask_is_told() {
        let wrong = |text: &str| {
            let e = Mask::new(&[text]).unwrap_err();
            (text[e.span].to_owned(), e.message)
        };
        assert_eq!(wrong(r"re:\S*").1, "the mask matches the empty text");
        assert_eq!(wrong("*").1, "the mask matches the empty text");
        assert_eq!(
            wrong("re:^a").1,
            "a mask cannot test the text around its match"
        );
        assert_eq!(wrong("größe").1, "a mask is of ASCII characters");
        assert_eq!(wrong("re:a(b").0, "(");
        assert_eq!(
            wrong("re:(a{500}){500}").1,
            "the mask takes too many states"
        );
        assert_eq!(
            wrong("re:[ab]*a[ab]{18}").1,
            "the mask takes too many states"
        );
    }

    proptest! {
        #[test]
        fn masks_do_what_a_regex_does(pattern in "[abc.+?|()*]{1,8}", text in "[abcdé ]{0,20}") {
            if let Ok(mask) = Mask::new(&[&format!("re:{pattern}")]) {
                let regex = regex_automata::dfa::regex::Builder::new()
                    .syntax(regex_automata::util::syntax::Config::new().unicode(false).utf8(false))
                    .dense(dense::Config::new().match_kind(MatchKind::All))
                    .build(&pattern)
                    .unwrap();
                // Units above ASCII are one byte each.
                let bytes: Vec<u8> = text.chars().map(|c| if c.is_ascii() { c as u8 } else { OTHER }).collect();
                let mut expected = String::new();
                let mut at = 0;
                while at < bytes.len() {
                    let input = Input::new(&bytes).span(at..bytes.len()).anchored(Anchored::Yes);
                    match regex.forward().try_search_fwd(&input).unwrap() {
                        Some(found) => {
                            expected.push_str("***");
                            at = found.offset();
                        }
                        None => {
                            expected.push(text.chars().nth(at).unwrap());
                            at += 1;
                        }
                    }
                }
                prop_assert_eq!(masked(&mask, &text), expected);
            }
        }

        #[test]
        fn any_text_is_a_mask_or_an_error_in_it(text in ".{0,30}|(re:)?[a-c.*+?(){}0-9\\\\|]{0,30}") {
            if let Err(e) = Mask::new(&[&text]) {
                prop_assert!(e.span.end <= text.len());
            }
        }
    }
}
