//! Names and other foreign text, fit to be shown: nothing in them steers the terminal, breaks the line or turns text around.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Unicode's format controls (Cf) and line and paragraph separators (Zl, Zp), as ranges. The control characters (Cc) are
/// known to `char::is_control`.
const INVISIBLE: &[(u32, u32)] = &[
    (0xad, 0xad),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x180e, 0x180e),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x2064),
    (0x2066, 0x206f),
    (0xfeff, 0xfeff),
    (0xfff9, 0xfffb),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0001, 0xe0001),
    (0xe0020, 0xe007f),
];

fn is_shown_as_itself(c: char) -> bool {
    let outside = |&(first, last): &(u32, u32)| !(first..=last).contains(&u32::from(c));
    c.is_ascii_graphic() || c == ' ' || !c.is_control() && INVISIBLE.iter().all(outside)
}

/// Text in one line, with what cannot be seen written as Rust and JavaScript escape it: `\n`, `\u{1b}`, `\u{202e}`.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Most texts are of these alone.
    if text.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
        out.push_str(text);
        return out;
    }
    for c in text.chars() {
        if is_shown_as_itself(c) {
            out.push(c);
        } else {
            let _ = match c {
                '\n' => write!(out, "\\n"),
                '\r' => write!(out, "\\r"),
                '\t' => write!(out, "\\t"),
                c => write!(out, "\\u{{{:x}}}", u32::from(c)),
            };
        }
    }
    out
}

/// Text in lines, for a cell of a table: as [`printable`], but line feeds and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\t') || is_shown_as_itself(c);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive(['\n', '\t']);
    let shown = lines.map(|line| match line.char_indices().next_back() {
        Some((at, c @ ('\n' | '\t'))) => printable(&line[..at]) + &c.to_string(),
        _ => printable(line),
    });
    Cow::Owned(shown.collect())
}

/// A JSON text that means the same, with what cannot be seen escaped as JSON does (RFC 8259, section 7).
pub fn escaped_json(json: String) -> String {
    let stays = |c: char| c < ' ' || is_shown_as_itself(c);
    if json.chars().all(stays) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if stays(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_their_lines_alone() {
        assert_eq!(
            printable_lines("a\tb\r\n\x1b[2J\u{202e}c\n"),
            "a\tb\\r\n\\u{1b}[2J\\u{202e}c\n"
        );
        assert!(matches!(printable_lines("a\nb é"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_means_the_same_and_shows_nothing_raw() {
        let value = serde_json::json!({"a\u{9b}": "\u{202e}\x1b\u{7f}\u{e0001} é\n"});
        let text = escaped_json(value.to_string());
        assert_eq!(text, r#"{"a\u009b":"\u202e\u001b\u007f\udb40\udc01 é\n"}"#);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
    use regex_syntax::hir::{Class, HirKind};

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        let shown =
            printable("a\x1b[2Jb\nc\x07\r\t\u{9b}\u{7f} \u{202e}gpj.\u{2066}\u{200f}\u{200b}é中\\");
        assert_eq!(
            shown,
            "a\\u{1b}[2Jb\\nc\\u{7}\\r\\t\\u{9b}\\u{7f} \\u{202e}gpj.\\u{2066}\\u{200f}\\u{200b}é中\\"
        );
    }

    /// The tables of another library name the same characters.
    #[test]
    fn all_that_unicode_calls_invisible_is_escaped() {
        let hir = regex_syntax::parse(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]").unwrap();
        let HirKind::Class(Class::Unicode(class)) = hir.kind() else {
            panic!("{hir:?}")
        };
        let is_in = |c: char| {
            class
                .ranges()
                .iter()
                .any(|r| (r.start()..=r.end()).contains(&c))
        };
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            assert_eq!(!is_shown_as_itself(c), is_in(c), "{:#x}", u32::from(c));
        }
    }
}
