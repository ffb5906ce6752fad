//! The names and descriptors of methods for symbols maps: each once, by a number. In most programs two of three methods
//! share theirs.

use crate::bytes::{self, Numbers, Ranked};
use crate::cil::metadata::Metadata;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature::{Referred, names_type_parameters, put_referring_descriptor};
use crate::error::Result;
use std::borrow::Cow;

/// Numbers for all names and signatures of an image's methods, in the order of their heaps.
pub struct SymbolNumbers {
    names: Ranked,
    signatures: Ranked,
    /// The number of signatures; greater numbers are methods with a descriptor of their own.
    count: u32,
    /// The numbers of signatures that name type parameters: each method's author gave these other names.
    generic: Numbers,
}

impl SymbolNumbers {
    /// Reads the table of methods.
    pub fn read(metadata: &Metadata<'_>) -> SymbolNumbers {
        use column::method_def::{NAME, SIGNATURE};
        let (strings, blobs) = (metadata.strings.data(), metadata.blobs.data());
        let mut names = Numbers::below(strings.len());
        let mut signatures = Numbers::below(blobs.len());
        for row in metadata.tables.iter(table::METHOD_DEF) {
            // A set takes memory up to its largest number.
            let (name, signature) = (row.get(NAME), row.get(SIGNATURE));
            if (name as usize) < strings.len() {
                names.add(name);
            }
            if (signature as usize) < blobs.len() {
                signatures.add(signature);
            }
        }
        let mut generic = Numbers::default();
        let mut count = 0;
        for (number, signature) in (0..).zip(signatures.iter()) {
            let blob = metadata.blobs.get(signature);
            if blob.is_ok_and(names_type_parameters) {
                generic.add(number);
            }
            count = number + 1;
        }
        SymbolNumbers {
            names: names.into(),
            signatures: signatures.into(),
            count,
            generic,
        }
    }

    /// The number of a name; `None` if it lies outside of its heap.
    #[inline]
    pub(super) fn name(&self, index: u32) -> Option<u32> {
        self.names.place(index)
    }

    /// The number of a descriptor: of a method and its signature; `None` if that lies outside of its heap.
    #[inline]
    pub(super) fn descriptor(&self, method: u32, signature: u32) -> Option<u32> {
        let number = self.signatures.place(signature)?;
        Some(match self.generic.has(number) {
            true => self.count + method,
            false => number,
        })
    }
}

/// The names that some methods of an image have.
pub struct SymbolNames<'w, 'i, 'a> {
    metadata: &'i Metadata<'a>,
    numbers: &'w SymbolNumbers,
    names: Numbers,
    descriptors: Numbers,
}

impl<'w, 'i, 'a> SymbolNames<'w, 'i, 'a> {
    /// Of these `MethodDef` rows.
    pub(super) fn of(
        metadata: &'i Metadata<'a>,
        numbers: &'w SymbolNumbers,
        methods: impl Iterator<Item = Result<u32>>,
    ) -> Result<Self> {
        use column::method_def::{NAME, SIGNATURE};
        let mut names = Numbers::default();
        let mut descriptors = Numbers::default();
        for method in methods {
            let method = method?;
            let row = metadata.tables.row(table::METHOD_DEF, method)?;
            if let Some(name) = numbers.name(row.get(NAME)) {
                names.add(name);
            }
            if let Some(descriptor) = numbers.descriptor(method, row.get(SIGNATURE)) {
                descriptors.add(descriptor);
            }
        }
        Ok(SymbolNames {
            metadata,
            numbers,
            names,
            descriptors,
        })
    }

    /// Shows the names by their numbers, ascending. A name may be the end of another, so hostile input can repeat its text
    /// without limit: past a limit the names are `?`.
    pub fn names(&self, each: &mut dyn FnMut(u32, Cow<'a, str>)) -> Result<()> {
        let strings = &self.metadata.strings;
        let mut left = 4 * strings.data().len() + 4096;
        for (number, index) in (0..).zip(self.numbers.names.iter()) {
            if !self.names.has(number) {
                continue;
            }
            let name = match left {
                0 => "?".into(),
                _ => strings.text(index)?,
            };
            left = left.saturating_sub(name.len());
            each(number, name);
        }
        Ok(())
    }

    /// Shows the descriptors by their numbers, ascending; returns the names that they refer to. Past a limit of text they
    /// are `?`.
    pub fn descriptors(&self, each: &mut dyn FnMut(u32, &str)) -> bytes::Names {
        let metadata = self.metadata;
        let mut referred = Referred::default();
        let mut text = String::new();
        let mut put = |number, method, signature| {
            text.clear();
            put_referring_descriptor(self.metadata, method, signature, &mut referred, &mut text);
            each(number, &text);
            text.len()
        };
        for (number, signature) in (0..).zip(self.numbers.signatures.iter()) {
            if self.descriptors.has(number) {
                put(number, 0, signature);
            }
        }
        let methods = metadata.tables.iter(table::METHOD_DEF);
        let mut left = 4 * metadata.bytes.len() + 4096;
        for (method, row) in (1..).zip(methods) {
            let number = self.numbers.count + method;
            if self.descriptors.has(number) {
                let signature = match left {
                    // Beyond the heap's end, where nothing can be read.
                    0 => u32::MAX,
                    _ => row.get(column::method_def::SIGNATURE),
                };
                left = left.saturating_sub(put(number, method, signature));
            }
        }
        referred.names(self.metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cil::image::Image;
    use crate::cil::testing::SHAPES;

    fn names(bytes: &[u8]) -> Vec<String> {
        let image = Image::parse(bytes).unwrap();
        let numbers = SymbolNumbers::read(&image.metadata);
        let methods = 1..=image.metadata.tables.rows(table::METHOD_DEF);
        let all = SymbolNames::of(&image.metadata, &numbers, methods.map(Ok)).unwrap();
        let mut names = Vec::new();
        all.names(&mut |number, name| {
            assert_eq!(number as usize, names.len());
            names.push(name.into_owned());
        })
        .unwrap();
        names
    }

    #[test]
    fn names_come_once() {
        let image = Image::parse(SHAPES).unwrap();
        let mut wanted: Vec<_> = (image.metadata.tables.iter(table::METHOD_DEF))
            .map(|row| row.get(column::method_def::NAME))
            .collect();
        let methods = wanted.len();
        wanted.sort_unstable();
        wanted.dedup();
        assert!(wanted.len() < methods);
        let text = |&index: &u32| image.metadata.strings.text(index).unwrap().into_owned();
        assert_eq!(names(SHAPES), wanted.iter().map(text).collect::<Vec<_>>());
    }

    #[test]
    fn names_that_all_reach_to_the_end_stay_within_bounds() {
        let image = Image::parse(SHAPES).unwrap();
        let heap = image.metadata.strings.data();
        let start = heap.as_ptr() as usize - SHAPES.as_ptr() as usize;
        let mut bytes = SHAPES.to_vec();
        for byte in &mut bytes[start + 1..start + heap.len() - 1] {
            if *byte == 0 {
                *byte = b'_';
            }
        }
        bytes[start + heap.len() - 1] = 0;
        let names = names(&bytes);
        let text: usize = names.iter().map(String::len).sum();
        let most = 4 * heap.len() + 4096;
        assert!(text <= most + heap.len() + names.len(), "{text} of {most}");
        assert_eq!(names.last().unwrap(), "?");
    }
}
