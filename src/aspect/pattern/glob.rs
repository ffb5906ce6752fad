//! Wildcards: `*` inside a segment, `**` across segments, `?` for one character.

/// A pattern as a sequence of things to find.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    tokens: Box<[Token]>,
    flat: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// These bytes.
    Literal(Box<[u8]>),
    /// `?`: one character, no separator.
    One,
    /// `*`: any run of characters without a separator.
    Star,
    /// `**`: any run of characters.
    Deep,
    /// `**.` at a segment's start: any number of whole segments, also none.
    Segments,
}

/// Cuts a pattern (in the common form of names) into tokens. Names that are `flat` have no
/// segments: a dot is a character like any other.
pub(super) fn tokens(pattern: &[u8], flat: bool) -> Vec<Token> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < pattern.len() {
        match pattern[i] {
            b'?' => {
                out.push(Token::One);
                i += 1;
            }
            b'*' => {
                let start = i;
                while pattern.get(i) == Some(&b'*') {
                    i += 1;
                }
                let at_segment_start = start == 0 || pattern[start - 1] == b'.';
                out.push(if flat {
                    Token::Deep
                } else if i - start == 1 {
                    Token::Star
                } else if at_segment_start && pattern.get(i) == Some(&b'.') {
                    i += 1;
                    Token::Segments
                } else {
                    Token::Deep
                });
            }
            _ => {
                let len = pattern[i..]
                    .iter()
                    .position(|b| matches!(b, b'*' | b'?'))
                    .unwrap_or(pattern.len() - i);
                out.push(Token::Literal(pattern[i..i + len].into()));
                i += len;
            }
        }
    }
    out
}

/// Bytes of the UTF-8 character that begins with `lead`.
fn char_len(lead: u8) -> usize {
    match lead {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

impl Glob {
    pub(super) fn new(tokens: Vec<Token>, flat: bool) -> Glob {
        Glob {
            tokens: tokens.into(),
            flat,
        }
    }

    /// The same pattern with any number of segments in front.
    pub(super) fn anywhere(&self) -> Glob {
        let mut tokens = vec![Token::Segments];
        tokens.extend_from_slice(&self.tokens);
        Glob::new(tokens, self.flat)
    }

    pub(super) fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.tokens.iter().filter_map(|token| match token {
            Token::Literal(bytes) => Some(&**bytes),
            _ => None,
        })
    }

    /// Whether the whole text matches. Every wildcard first takes as little as it can; on a
    /// mismatch the last `*` takes one character more, and when it may not, the last `**` does.
    /// Earlier wildcards need no second try: what they could reach later, the later ones reach
    /// from where they are. For the same reason running out of text is final, and a `*` that
    /// failed in a segment fails from every later place in it; both keep the time linear.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let inside = |at: usize| self.flat || text[at] != b'.';
        let (mut token, mut at) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        let mut deep: Option<(usize, usize)> = None;
        // Where the first `*` after the last `**` began, and up to where it is known to fail.
        let mut first_star: Option<usize> = None;
        let mut dead: Option<usize> = None;
        loop {
            let mut may_extend_star = true;
            let advanced = match self.tokens.get(token) {
                None if at == text.len() => return true,
                None => false,
                Some(Token::Literal(bytes)) => {
                    if text.len() - at < bytes.len() {
                        return false;
                    }
                    let found = text[at..].starts_with(bytes);
                    if found {
                        at += bytes.len();
                    }
                    found
                }
                Some(Token::One) => {
                    if at == text.len() {
                        return false;
                    }
                    let one = inside(at);
                    if one {
                        at = (at + char_len(text[at])).min(text.len());
                    }
                    one
                }
                Some(Token::Star) => {
                    if first_star.is_none() && dead.is_some_and(|dead| at <= dead) {
                        may_extend_star = false;
                        false
                    } else {
                        first_star.get_or_insert(at);
                        star = Some((token, at));
                        true
                    }
                }
                Some(Token::Deep | Token::Segments) => {
                    deep = Some((token, at));
                    (star, first_star, dead) = (None, None, None);
                    true
                }
            };
            if advanced {
                token += 1;
                continue;
            }
            if let Some((t, from)) = star
                && may_extend_star
            {
                if from == text.len() {
                    return false;
                }
                if inside(from) {
                    at = (from + char_len(text[from])).min(text.len());
                    star = Some((t, at));
                    token = t + 1;
                    continue;
                }
            }
            let Some((t, from)) = deep else { return false };
            if let Some(first) = first_star {
                dead = memchr::memchr(b'.', &text[first..]).map(|dot| first + dot);
            }
            (star, first_star) = (None, None);
            at = if self.tokens[t] == Token::Deep {
                if from == text.len() {
                    return false;
                }
                (from + char_len(text[from])).min(text.len())
            } else {
                match memchr::memchr(b'.', &text[from..]) {
                    Some(dot) => from + dot + 1,
                    None => return false,
                }
            };
            deep = Some((t, at));
            token = t + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn glob(pattern: &str, flat: bool) -> Glob {
        Glob::new(tokens(pattern.as_bytes(), flat), flat)
    }

    /// What the wildcards mean, said as simply as possible.
    fn naive(tokens: &[Token], text: &str, flat: bool) -> bool {
        let Some((first, rest)) = tokens.split_first() else {
            return text.is_empty();
        };
        let cuts = || (0..=text.len()).filter(|&i| text.is_char_boundary(i));
        match first {
            Token::Literal(l) => text
                .strip_prefix(std::str::from_utf8(l).unwrap())
                .is_some_and(|t| naive(rest, t, flat)),
            Token::One => text
                .chars()
                .next()
                .is_some_and(|c| (flat || c != '.') && naive(rest, &text[c.len_utf8()..], flat)),
            Token::Star => cuts()
                .take_while(|&i| flat || !text[..i].contains('.'))
                .any(|i| naive(rest, &text[i..], flat)),
            Token::Deep => cuts().any(|i| naive(rest, &text[i..], flat)),
            Token::Segments => cuts()
                .filter(|&i| i == 0 || text[..i].ends_with('.'))
                .any(|i| naive(rest, &text[i..], flat)),
        }
    }

    #[test]
    fn wildcards_mind_segments() {
        for (pattern, text, expected) in [
            ("com.acme.*", "com.acme.Orders", true),
            ("com.acme.*", "com.acme.Orders.Item", false),
            ("com.acme.**", "com.acme.Orders.Item", true),
            ("com.acme.**", "com.acme", false),
            ("**.NoTrace", "NoTrace", true),
            ("**.NoTrace", "a.b.NoTrace", true),
            ("**.NoTrace", "a.bNoTrace", false),
            ("a.**.b", "a.b", true),
            ("a.**.b", "a.x.y.b", true),
            ("*.*Service", "acme.OrderService", true),
            ("?rders", "Orders", true),
            ("?", ".", false),
            ("S.Task<**>", "S.Task<S.List<S.Int32>>", true),
            ("", "", true),
        ] {
            assert_eq!(
                glob(pattern, false).matches(text.as_bytes()),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn a_hostile_name_takes_linear_time() {
        // Quadratic, this would be 4 * 10^9 steps for each name.
        let text = format!("{}.{}", "a".repeat(65_000), "a".repeat(65_000));
        let start = std::time::Instant::now();
        for pattern in ["**a*a*b.c", "**a*b.a*c", "**a*b**a*b.c", "**.*a*b.*c"] {
            assert!(!glob(pattern, false).matches(text.as_bytes()));
        }
        assert!(start.elapsed().as_secs() < 30);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn globs_equal_the_naive_matcher(
            pattern in "([ab.é]|\\*|\\*\\*|\\?|\\*\\*\\.){0,7}",
            text in "[ab.é]{0,9}",
            flat: bool,
        ) {
            let tokens = tokens(pattern.as_bytes(), flat);
            let expected = naive(&tokens, &text, flat);
            prop_assert_eq!(Glob::new(tokens, flat).matches(text.as_bytes()), expected);
        }
    }
}
