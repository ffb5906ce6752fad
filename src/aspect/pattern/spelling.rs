//! Other ways in which the same types are written, by people and in files.

use super::Names;

/// C#'s keywords for types of the core library (C# specification, 8.3.5 and 8.2.1).
const KEYWORDS: [(&str, &str); 17] = [
    ("bool", "System.Boolean"),
    ("byte", "System.Byte"),
    ("char", "System.Char"),
    ("decimal", "System.Decimal"),
    ("double", "System.Double"),
    ("float", "System.Single"),
    ("int", "System.Int32"),
    ("long", "System.Int64"),
    ("nint", "System.IntPtr"),
    ("nuint", "System.UIntPtr"),
    ("object", "System.Object"),
    ("sbyte", "System.SByte"),
    ("short", "System.Int16"),
    ("string", "System.String"),
    ("uint", "System.UInt32"),
    ("ulong", "System.UInt64"),
    ("ushort", "System.UInt16"),
];

/// What attributes' names end with, and C# leaves out.
const ATTRIBUTE: &str = "Attribute";

/// The patterns that mean the same as `text`, which is sound, in other formats.
pub(super) fn others(text: &str, names: Names) -> Vec<String> {
    if names.are_flat() || text.starts_with("re:") {
        return Vec::new();
    }
    let mut others = Vec::new();
    let spelled = without_keywords(text);
    if spelled != text {
        others.push(spelled);
    }
    let is_name = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if names == Names::Annotations && is_name && !text.ends_with(ATTRIBUTE) {
        others.push(format!("{text}{ATTRIBUTE}"));
    }
    others
}

/// The pattern with the core library's names, and without the spaces between type arguments.
fn without_keywords(text: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '+' | '$' | '*');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let keyword = KEYWORDS.iter().find(|(keyword, _)| *keyword == word);
        out.push_str(keyword.map_or(word, |(_, name)| name));
        let separators = after.find(in_word).unwrap_or(after.len());
        out.extend(after[..separators].chars().filter(|c| *c != ' '));
        rest = &after[separators..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_stand_alone() {
        assert_eq!(
            without_keywords("Map<string, int?[]>"),
            "Map<System.String,System.Int32?[]>"
        );
        for same in ["Acme.int", "integer", "*int", "print", ""] {
            assert_eq!(without_keywords(same), same);
        }
        assert!(others("re:int", Names::Types).is_empty());
        assert!(others("int", Names::Methods).is_empty());
    }
}
