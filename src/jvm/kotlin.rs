//! Kotlin's inline functions. The compiler copies their bodies out of class files into the callers, wherever those are compiled:
//! hooks would go along, and hooks at the start of a `try` make the compiler fail. Callers never call them.
//!
//! `@kotlin.Metadata` says which they are: a protocol buffer in `d1`, and the strings that it names in `d2`.

use crate::bytes::Cursor;
use crate::error::Result;
use crate::jvm::class::{Class, MethodInfo, attributes};
use crate::jvm::pool::Known;
use crate::jvm::signature;
use std::ops::Range;

/// The bit of `xi` for a class that lies in the body of an inline function that others can call: it is copied, too.
const COPIED: u32 = 1 << 7;
/// The bits of a function's flags, and of an accessor's.
const INLINE: u64 = 1 << 10;
const SUSPEND: u64 = 1 << 13;
const INLINE_ACCESSOR: u64 = 1 << 8;

/// What the compiler copies out of a class.
#[derive(Default)]
pub(super) struct Inlined {
    whole: bool,
    functions: Vec<Function>,
}

/// An inline function as the class file has it.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: Vec<u8>,
    descriptor: Option<Vec<u8>>,
    /// How many parameters it has, which decides where the metadata leaves the descriptor out.
    parameters: usize,
}

impl Inlined {
    /// Malformed metadata ends the list, as Kotlin ignores it.
    pub(super) fn of(class: &Class<'_>) -> Inlined {
        let mut inlined = Inlined::default();
        if class.pool.known(Known::KotlinMetadata) != 0 {
            let _ = attributes(class.bytes, class.attributes, |a| {
                if class.pool.which(a.name) == Some(Known::RuntimeVisibleAnnotations) {
                    inlined.read_annotations(class, a.data)?;
                }
                Ok(())
            });
        }
        inlined
    }

    /// Whether the compiler copies this method's body into its callers.
    pub(super) fn has(&self, class: &Class<'_>, method: &MethodInfo) -> bool {
        if self.whole {
            return true;
        }
        if self.functions.is_empty() {
            return false;
        }
        let (Ok(name), Ok(descriptor)) = (
            class.pool.utf8(method.name),
            class.pool.utf8(method.descriptor),
        ) else {
            return false;
        };
        self.functions.iter().any(|function| {
            match name.strip_prefix(&*function.name) {
                Some(b"") => match &function.descriptor {
                    Some(wanted) => wanted == descriptor,
                    None => count(descriptor) == function.parameters,
                },
                // What fills in default arguments, and a suspend function as it is copied.
                Some(b"$default" | b"$$forInline") => true,
                _ => false,
            }
        })
    }

    fn read_annotations(&mut self, class: &Class<'_>, data: &[u8]) -> Result<()> {
        let mut cursor = Cursor::new(data);
        for _ in 0..cursor.be_u16()? {
            if class.pool.which(cursor.be_u16()?) != Some(Known::KotlinMetadata) {
                signature::skip_element_pairs(&mut cursor)?;
                continue;
            }
            let (mut kind, mut data, mut strings) = (0, Vec::new(), Vec::new());
            for _ in 0..cursor.be_u16()? {
                let name = class.pool.utf8(cursor.be_u16()?)?;
                match name {
                    b"k" => kind = integer(class, &mut cursor)?,
                    b"xi" => self.whole = integer(class, &mut cursor)? & COPIED != 0,
                    b"d1" => data = texts(class, &mut cursor)?,
                    b"d2" => strings = texts(class, &mut cursor)?,
                    _ => signature::skip_element_value(&mut cursor)?,
                }
            }
            if let Some(functions) = functions(kind, &data, &strings) {
                self.functions = functions;
            }
        }
        Ok(())
    }
}

/// An annotation's number; of another type, 0.
fn integer(class: &Class<'_>, cursor: &mut Cursor<'_>) -> Result<u32> {
    let mut value = *cursor;
    signature::skip_element_value(cursor)?;
    match value.u8()? {
        b'I' => class.pool.integer(value.be_u16()?),
        _ => Ok(0),
    }
}

/// An annotation's strings, as they are in the pool.
fn texts<'a>(class: &Class<'a>, cursor: &mut Cursor<'_>) -> Result<Vec<&'a [u8]>> {
    let mut value = *cursor;
    signature::skip_element_value(cursor)?;
    let mut texts = Vec::new();
    if value.u8()? == b'[' {
        for _ in 0..value.be_u16()? {
            match value.u8()? {
                b's' => texts.push(class.pool.utf8(value.be_u16()?)?),
                _ => return Ok(Vec::new()),
            }
        }
    }
    Ok(texts)
}

/// How many parameters a descriptor has.
fn count(descriptor: &[u8]) -> usize {
    let mut n = 0;
    signature::parameters(&String::from_utf8_lossy(descriptor), &mut |_| n += 1);
    n
}

/// The inline functions of a class (kind 1), a file (2) or a part of one (5).
fn functions(kind: u32, data: &[&[u8]], strings: &[&[u8]]) -> Option<Vec<Function>> {
    let (function, property) = match kind {
        1 => (9, 10),
        2 | 5 => (3, 4),
        _ => return None,
    };
    let bytes = bytes_of(data)?;
    let mut message = Message(&bytes);
    // The table of strings goes first, behind its length.
    let length = usize::try_from(message.varint()?).ok()?;
    let (table, rest) = message.0.split_at_checked(length)?;
    let names = Names::read(table, strings)?;
    let mut functions = Vec::new();
    let mut message = Message(rest);
    while let Some(field) = message.next()? {
        match field {
            (number, Value::Bytes(bytes)) if number == function => {
                functions.extend(inline_function(bytes, &names)?);
            }
            (number, Value::Bytes(bytes)) if number == property => {
                inline_accessors(bytes, &names, &mut functions)?;
            }
            _ => {}
        }
    }
    Some(functions)
}

/// The bytes that Kotlin keeps as characters: the first one says how. Compilers before 1.0 did so in another way.
fn bytes_of(data: &[&[u8]]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for text in data {
        let mut rest = text.iter();
        while let Some(&first) = rest.next() {
            bytes.push(match first {
                0..0x80 => first,
                0xC0..=0xC3 => (first << 6) | (rest.next()? & 0x3F),
                _ => return None,
            });
        }
    }
    match bytes.first()? {
        0 => Some(bytes.split_off(1)),
        _ => None,
    }
}

fn inline_function(bytes: &[u8], names: &Names<'_>) -> Option<Option<Function>> {
    let (mut flags, mut name, mut parameters) = (6, None, 0);
    let mut signature = (None, None);
    let mut message = Message(bytes);
    while let Some(field) = message.next()? {
        match field {
            (9, Value::Number(n)) => flags = n,
            (2, Value::Number(n)) => name = names.get(n),
            // Parameters; receivers and contexts, spelt out or by number.
            (6 | 5 | 10 | 13, Value::Bytes(_)) | (8, Value::Number(_)) => parameters += 1,
            (100, Value::Bytes(bytes)) => signature = jvm_signature(bytes, names)?,
            _ => {}
        }
    }
    if flags & INLINE == 0 {
        return Some(None);
    }
    let name = signature.0.or(name)?.to_vec();
    Some(Some(Function {
        name,
        descriptor: signature.1.map(<[u8]>::to_vec),
        parameters: parameters + usize::from(flags & SUSPEND != 0),
    }))
}

fn inline_accessors(bytes: &[u8], names: &Names<'_>, functions: &mut Vec<Function>) -> Option<()> {
    let (mut flags, mut signatures) = ([0; 2], [(None, None); 2]);
    let mut message = Message(bytes);
    while let Some(field) = message.next()? {
        match field {
            (number @ (7 | 8), Value::Number(n)) => flags[number as usize - 7] = n,
            (100, Value::Bytes(bytes)) => {
                let mut message = Message(bytes);
                while let Some(field) = message.next()? {
                    if let (number @ (3 | 4), Value::Bytes(bytes)) = field {
                        signatures[number as usize - 3] = jvm_signature(bytes, names)?;
                    }
                }
            }
            _ => {}
        }
    }
    for (flags, (name, descriptor)) in flags.into_iter().zip(signatures) {
        if flags & INLINE_ACCESSOR != 0
            && let (Some(name), Some(descriptor)) = (name, descriptor)
        {
            functions.push(Function {
                name: name.to_vec(),
                descriptor: Some(descriptor.to_vec()),
                parameters: 0,
            });
        }
    }
    Some(())
}

type Signature<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// A `JvmMethodSignature`: name and descriptor, each where Kotlin's own do not say it.
fn jvm_signature<'a>(bytes: &[u8], names: &Names<'a>) -> Option<Signature<'a>> {
    let mut signature = (None, None);
    let mut message = Message(bytes);
    while let Some(field) = message.next()? {
        match field {
            (1, Value::Number(n)) => signature.0 = names.get(n),
            (2, Value::Number(n)) => signature.1 = names.get(n),
            _ => {}
        }
    }
    Some(signature)
}

/// The strings by number. Some are none of `d2`'s, which are names of classes alone.
struct Names<'a> {
    strings: &'a [&'a [u8]],
    /// The numbers of those that are made from others, ascending.
    made: Vec<Range<u64>>,
}

impl<'a> Names<'a> {
    fn read(table: &[u8], strings: &'a [&'a [u8]]) -> Option<Names<'a>> {
        let mut made = Vec::new();
        let mut number = 0_u64;
        let mut message = Message(table);
        while let Some(field) = message.next()? {
            let (1, Value::Bytes(record)) = field else {
                continue;
            };
            let (mut range, mut is_made) = (1, false);
            let mut record = Message(record);
            while let Some((field, value)) = record.next()? {
                match value {
                    Value::Number(n) if field == 1 => range = n,
                    _ => is_made = true,
                }
            }
            let end = number.checked_add(range)?;
            if is_made {
                made.push(number..end);
            }
            number = end;
        }
        Some(Names { strings, made })
    }

    fn get(&self, number: u64) -> Option<&'a [u8]> {
        let at = self.made.partition_point(|range| range.end <= number);
        match self.made.get(at) {
            Some(range) if range.contains(&number) => None,
            _ => self.strings.get(usize::try_from(number).ok()?).copied(),
        }
    }
}

/// A message of a protocol buffer.
struct Message<'a>(&'a [u8]);

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

impl<'a> Message<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// The next field with its number, or nothing at the end; `None` if it is malformed.
    #[allow(clippy::option_option)]
    fn next(&mut self) -> Option<Option<(u64, Value<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.take(8).map(|_| Value::Other)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Other)?,
            _ => return None,
        };
        Some(Some((key >> 3, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a length, as short ones are written.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = match number {
            100 => vec![0xA2, 0x06],
            _ => vec![number << 3 | 2],
        };
        field.push(bytes.len() as u8);
        field.extend_from_slice(bytes);
        field
    }

    /// As the compiler keeps bytes: a character each, in modified UTF-8.
    fn as_text(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for &byte in [0].iter().chain(bytes) {
            match byte {
                1..0x80 => text.push(byte),
                _ => text.extend([0xC0 | byte >> 6, 0x80 | byte & 0x3F]),
            }
        }
        text
    }

    fn read(kind: u32, functions_at: u8, messages: &[Vec<u8>], strings: &[&[u8]]) -> Vec<Function> {
        // Of the strings, the first is made: a name of a class.
        let record = [field(1, &[2 << 3, 2]), field(1, &[1 << 3, 9])].concat();
        let mut bytes = vec![record.len() as u8];
        bytes.extend(record);
        for message in messages {
            bytes.extend(field(functions_at, message));
        }
        let text = as_text(&bytes);
        let (a, b) = text.split_at(2);
        functions(kind, &[a, b], strings).unwrap()
    }

    #[test]
    fn the_metadata_says_which_functions_are_inline() {
        let strings: [&[u8]; 4] = [b"", b"timed", b"(I)V", b"other"];
        let inline = [9 << 3, 0x86, 0x08];
        let timed = [&[2 << 3, 1][..], &inline, &field(100, &[2 << 3, 2])].concat();
        let plain = vec![2 << 3, 3];
        let short = [&[2 << 3, 3][..], &inline, &field(6, &[]), &field(5, &[])].concat();
        let found = read(1, 9, &[timed, plain, short], &strings);
        assert_eq!(
            found,
            [
                Function {
                    name: b"timed".to_vec(),
                    descriptor: Some(b"(I)V".to_vec()),
                    parameters: 0
                },
                Function {
                    name: b"other".to_vec(),
                    descriptor: None,
                    parameters: 2
                },
            ]
        );
    }

    #[test]
    fn accessors_are_inline_by_themselves() {
        let strings: [&[u8]; 3] = [b"", b"getSize", b"()I"];
        let getter = field(3, &[1 << 3, 1, 2 << 3, 2]);
        let property = [&[7 << 3, 0x86, 0x02][..], &field(100, &getter)].concat();
        let found = read(2, 4, &[property], &strings);
        assert_eq!(found[0].name, b"getSize");
        assert_eq!(found[0].descriptor.as_deref(), Some(&b"()I"[..]));
    }

    #[test]
    fn metadata_that_is_malformed_says_nothing() {
        let whole = as_text(&[2, 0x0A, 0, 0x4A, 2, 0x10, 1]);
        assert_eq!(functions(1, &[&whole], &[b"a" as &[u8]; 2]), Some(vec![]));
        for cut in 0..whole.len() - 1 {
            let _ = functions(1, &[&whole[..cut]], &[]);
        }
        let no_end = as_text(&[0, 0xFF, 0xFF]);
        assert_eq!(functions(1, &[&no_end], &[]), None);
        let huge = as_text(&[0, 0x4A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
        assert_eq!(functions(1, &[&huge], &[]), None);
    }
}
