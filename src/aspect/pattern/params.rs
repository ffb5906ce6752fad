//! Parameter lists: `int, java.lang.String, ..`.

use super::{Name, NameSet, Names, PatternError, check_no_position};
use std::ops::Range;

/// Most elements of one list; the states of a match fit into one number.
const MAX_ELEMENTS: usize = 127;

/// A pattern for a whole parameter list.
#[derive(Clone, Debug, Default)]
pub struct Params {
    elements: Vec<Element>,
}

#[derive(Clone, Debug)]
enum Element {
    /// `..`
    Rest,
    Type(NameSet),
}

/// A match under way. Bit `n` of the states: the first `n` elements fit what was seen so far.
#[derive(Clone, Copy)]
pub struct State(u128);

impl Params {
    /// Parses the one-string form; the empty string means no parameters.
    pub fn parse(text: &str) -> Result<Params, PatternError> {
        let mut params = Params::default();
        if text.trim().is_empty() {
            return Ok(params);
        }
        for span in split(text) {
            params
                .add(&text[span.clone()])
                .map_err(|e| e.shifted(span.start))?;
        }
        Ok(params)
    }

    /// Adds one element: `..` or a type's pattern.
    pub fn add(&mut self, text: &str) -> Result<(), PatternError> {
        if self.elements.len() == MAX_ELEMENTS {
            return Err(PatternError::new(
                0..text.len(),
                format!("more than {MAX_ELEMENTS} parameters"),
            ));
        }
        self.elements.push(if text == ".." {
            Element::Rest
        } else {
            if let [first, _, ..] = &split(text)[..] {
                return Err(
                    PatternError::new(first.end..first.end + 1, "one type an element")
                        .help("write the list as one string, or each type as an element"),
                );
            }
            check_no_position(text)?;
            let mut set = NameSet::default();
            set.add(text, Names::Types)?;
            Element::Type(set)
        });
        Ok(())
    }

    /// A match before the first parameter.
    pub fn start(&self) -> State {
        State(self.with_skips(1))
    }

    /// Takes the next parameter's type.
    pub fn next(&self, state: &mut State, ty: &str) {
        let before = state.0;
        let after = Name::with(ty, |ty| {
            let mut after = 0;
            for (i, element) in self.elements.iter().enumerate() {
                if before >> i & 1 == 1 {
                    match element {
                        Element::Rest => after |= 1 << i,
                        Element::Type(set) if set.has(ty) => after |= 1 << (i + 1),
                        Element::Type(_) => {}
                    }
                }
            }
            after
        });
        state.0 = self.with_skips(after);
    }

    /// Whether the parameters seen are a whole list that fits.
    pub fn is_match(&self, state: State) -> bool {
        state.0 >> self.elements.len() & 1 == 1
    }

    /// Where `..` is next, it may also stand for nothing.
    fn with_skips(&self, mut states: u128) -> u128 {
        for (i, element) in self.elements.iter().enumerate() {
            if states >> i & 1 == 1 && matches!(element, Element::Rest) {
                states |= 1 << (i + 1);
            }
        }
        states
    }
}

/// The parts between commas that are in no type arguments, without the spaces around them.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    let mut cut = |start: usize, end: usize| {
        let part = &text[start..end];
        let left = start + (part.len() - part.trim_start().len());
        out.push(left..left + part.trim().len());
    };
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                cut(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    cut(start, text.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, types: &[&str]) -> bool {
        let params = Params::parse(pattern).unwrap();
        let mut state = params.start();
        for ty in types {
            params.next(&mut state, ty);
        }
        params.is_match(state)
    }

    #[test]
    fn lists_match_as_a_whole() {
        assert!(fits("", &[]));
        assert!(!fits("", &["int"]));
        assert!(fits(
            "int, java.lang.String, ..",
            &["int", "java/lang/String"]
        ));
        assert!(fits(
            "int, String, ..",
            &["int", "java/lang/String", "byte[]"]
        ));
        assert!(!fits("int, String", &["int", "java/lang/String", "byte[]"]));
        assert!(fits("..", &[]));
        assert!(fits(".., int", &["long", "int", "int"]));
        assert!(!fits(".., int", &["int", "long"]));
        assert!(fits(".., int, .., int", &["int", "int"]));
        assert!(!fits(".., int, .., int", &["int"]));
        assert!(fits("!int", &["long"]));
        assert!(!fits("!int", &["int"]));
        assert!(fits("*", &["java/util/Map$Entry"]));
        assert!(fits("int[]", &["int[]"]));
        assert!(!fits("int", &["int[]"]));
        assert!(fits("Map<**>, ..", &["System.Map`2<System.A,System.B>"]));
    }

    #[test]
    fn as_many_parameters_as_a_method_can_have() {
        let many: Vec<&str> = vec!["int"; 255];
        assert!(fits("int, .., int", &many));
        assert!(Params::parse(&"int,".repeat(200)).is_err());
        assert!(fits(&vec!["int"; 127].join(","), &many[..127]));
    }

    #[test]
    fn errors_point_into_the_list() {
        let e = Params::parse("int, , long").unwrap_err();
        assert_eq!((e.span, &*e.message), (5..5, "the pattern is empty"));
        let mut params = Params::default();
        assert_eq!(params.add("int, long").unwrap_err().span, 3..4);
    }
}
