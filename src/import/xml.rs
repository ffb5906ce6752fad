//! Elements of an XML file with their attributes and lines: as much as an `aop.xml` needs.

use super::{Lines, Wrong};

/// A tag that opens, closes, or does both.
pub struct Tag<'a> {
    /// The element's name.
    pub name: &'a str,
    /// Its attributes, entities resolved.
    pub attributes: Vec<(&'a str, String)>,
    /// The line where it begins.
    pub line: u32,
    /// Whether it opens an element.
    pub opens: bool,
    /// Whether it closes one.
    pub closes: bool,
}

impl Tag<'_> {
    /// An attribute's value.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// All tags of a text in order. What lies between them is passed over.
pub fn tags(text: &str) -> Result<Vec<Tag<'_>>, Wrong> {
    let lines = Lines::of(text);
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let wrong = |what: &str| Wrong {
            line: lines.at(start),
            what: what.to_owned(),
        };
        let rest = &text[start..];
        let passed = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .into_iter()
            .find(|(open, _)| rest.starts_with(open));
        if let Some((open, close)) = passed {
            let end = rest[open.len()..].find(close);
            let end = end.ok_or_else(|| wrong(&format!("`{open}` without `{close}`")))?;
            at = start + open.len() + end + close.len();
            continue;
        }
        let end = end_of_tag(rest).ok_or_else(|| wrong("a tag without an end"))?;
        at = start + end + 1;
        if rest.starts_with("<!") {
            if rest[..end].contains('[') {
                return Err(wrong("a document type with declarations of its own"));
            }
            continue;
        }
        tags.push(tag(&rest[1..end], lines.at(start))?);
    }
    Ok(tags)
}

/// Where the `>` is that ends a tag: not one in an attribute.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    text.bytes().enumerate().find_map(|(i, byte)| {
        match (quote, byte) {
            (None, b'>') => return Some(i),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
        None
    })
}

fn tag(text: &str, line: u32) -> Result<Tag<'_>, Wrong> {
    let wrong = |what: String| Wrong { line, what };
    let (text, closing) = match text.strip_prefix('/') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (text, empty) = match text.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    if name.is_empty() {
        return Err(wrong("a tag without a name".into()));
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let parts = rest.split_once('=');
        let (key, after) =
            parts.ok_or_else(|| wrong(format!("`{}` has no value", rest.trim_end())))?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| "\"'".contains(*c));
        let quote =
            quote.ok_or_else(|| wrong(format!("the value of `{}` has no quotes", key.trim())))?;
        let close = after[1..].find(quote);
        let close = close.ok_or_else(|| wrong(format!("`{}` has no end", key.trim())))?;
        attributes.push((
            key.trim(),
            resolved(&after[1..=close]).map_err(|entity| {
                wrong(format!("`{entity}` is no entity that every XML file has"))
            })?,
        ));
        rest = &after[close + 2..];
    }
    Ok(Tag {
        name,
        attributes,
        line,
        opens: !closing,
        closes: closing || empty,
    })
}

/// A value with its entities resolved; one that is unknown is the error.
fn resolved(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(';').map(|end| at + end);
        let end = end.ok_or_else(|| rest[at..].chars().take(12).collect::<String>())?;
        let name = &rest[at + 1..end];
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => numbered(name).ok_or_else(|| format!("&{name};"))?,
        });
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn numbered(name: &str) -> Option<char> {
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}
