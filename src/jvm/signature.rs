//! Descriptors (JVMS 4.3), and the length of annotations (JVMS 4.7.16).

use crate::aspect::joinpoint::EachName;
use crate::bytes::Cursor;
use crate::error::{Error, Result};

/// Bytes of the first field type of a descriptor, or `None` where there is none.
fn field_type_len(descriptor: &[u8]) -> Option<usize> {
    let dimensions = descriptor.iter().take_while(|&&b| b == b'[').count();
    match descriptor.get(dimensions)? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => Some(dimensions + 1),
        b'L' => {
            let name = descriptor[dimensions..].iter().position(|&b| b == b';')?;
            Some(dimensions + name + 1)
        }
        _ => None,
    }
}

/// Words that a value of a field type takes: 2 for long and double, 0 for void.
pub fn type_words(descriptor: &[u8]) -> u32 {
    match descriptor.first() {
        Some(b'J' | b'D') => 2,
        Some(b'V') | None => 0,
        _ => 1,
    }
}

/// Words that the arguments of a method descriptor take (without `this`) and its return type;
/// `None` where it is malformed.
pub fn method_words(descriptor: &[u8]) -> Option<(u32, u32)> {
    let mut rest = descriptor.strip_prefix(b"(")?;
    let mut words = 0;
    loop {
        if let Some(returns) = rest.strip_prefix(b")") {
            return Some((words, type_words(returns)));
        }
        let len = field_type_len(rest)?;
        words += type_words(rest);
        rest = &rest[len..];
    }
}

/// Shows the descriptors of a method's parameters.
pub fn each_parameter<'a>(descriptor: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or(b"");
    while let Some(len) = field_type_len(rest) {
        each(&rest[..len]);
        rest = &rest[len..];
    }
}

/// The descriptor of what a method returns.
pub fn return_type(descriptor: &[u8]) -> &[u8] {
    let end = descriptor.iter().rposition(|&b| b == b')');
    &descriptor[end.map_or(0, |i| i + 1)..]
}

/// Shows a field type by its name: `int`, `java/lang/String`, `byte[][]`.
pub fn type_name(descriptor: &str, each: EachName<'_>) {
    let element = descriptor.trim_start_matches('[');
    let name = match element.as_bytes().first() {
        Some(b'B') => "byte",
        Some(b'C') => "char",
        Some(b'D') => "double",
        Some(b'F') => "float",
        Some(b'I') => "int",
        Some(b'J') => "long",
        Some(b'S') => "short",
        Some(b'Z') => "boolean",
        Some(b'V') => "void",
        _ => element
            .strip_prefix('L')
            .map_or(element, |n| n.trim_end_matches(';')),
    };
    match descriptor.len() - element.len() {
        0 => each(name),
        dimensions => each(&format!("{name}{}", "[]".repeat(dimensions))),
    }
}

/// Shows the parameter types of a method descriptor by their names.
pub fn parameters(descriptor: &str, each: EachName<'_>) {
    let mut rest = descriptor.strip_prefix('(').unwrap_or("");
    while let Some(len) = field_type_len(rest.as_bytes()) {
        type_name(&rest[..len], each);
        rest = &rest[len..];
    }
}

/// Deepest nesting of annotations that is followed; the JDK's compilers make none beyond a few.
const MAX_DEPTH: u32 = 64;

/// Passes over the element-value pairs of one annotation.
pub fn skip_element_pairs(cursor: &mut Cursor<'_>) -> Result<()> {
    element_pairs(cursor, 0)
}

/// Skips the value of one element.
pub fn skip_element_value(cursor: &mut Cursor<'_>) -> Result<()> {
    element_value(cursor, 0)
}

fn element_pairs(cursor: &mut Cursor<'_>, depth: u32) -> Result<()> {
    for _ in 0..cursor.be_u16()? {
        cursor.be_u16()?;
        element_value(cursor, depth)?;
    }
    Ok(())
}

fn element_value(cursor: &mut Cursor<'_>, depth: u32) -> Result<()> {
    let at = cursor.position();
    if depth > MAX_DEPTH {
        return Err(Error::malformed(at, "annotations nest too deep"));
    }
    match cursor.u8()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => {
            cursor.be_u16()?;
        }
        b'e' => {
            cursor.be_u32()?;
        }
        b'@' => {
            cursor.be_u16()?;
            element_pairs(cursor, depth + 1)?;
        }
        b'[' => {
            for _ in 0..cursor.be_u16()? {
                element_value(cursor, depth + 1)?;
            }
        }
        other => {
            return Err(Error::malformed(
                at,
                format!("annotation value of unknown tag {other}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_give_words_and_names() {
        assert_eq!(method_words(b"(IJ[DLjava/lang/String;)D"), Some((5, 2)));
        assert_eq!(method_words(b"()V"), Some((0, 0)));
        for wrong in [&b"("[..], b"I", b"(Ljava", b"([)V", b"(V)V"] {
            assert_eq!(method_words(wrong), None);
        }
        let mut names = vec![];
        parameters("(I[[JLjava/util/Map$Entry;)V", &mut |n| {
            names.push(n.to_owned())
        });
        assert_eq!(names, ["int", "long[][]", "java/util/Map$Entry"]);
    }
}
