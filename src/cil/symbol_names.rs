//! The names of methods and their descriptors as symbols maps have them: each once, by a number, however many methods
//! share it. In most programs that is every third one.

use crate::bytes::{self, Numbers, Ranked};
use crate::cil::image::Image;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature::{Referred, put_referring_descriptor};
use crate::error::Result;
use std::borrow::Cow;

/// Numbers for all names and signatures of an image's methods: their places among those that are different, in the order
/// of their heaps.
pub struct SymbolNumbers {
    names: Ranked,
    signatures: Ranked,
}

impl SymbolNumbers {
    /// Reads the table of methods.
    pub fn read(image: &Image<'_>) -> SymbolNumbers {
        use column::method_def::{NAME, SIGNATURE};
        let metadata = &image.metadata;
        let (strings, blobs) = (metadata.strings.data(), metadata.blobs.data());
        let mut names = Numbers::below(strings.len());
        let mut signatures = Numbers::below(blobs.len());
        for row in metadata.tables.iter(table::METHOD_DEF) {
            // A set takes room up to the largest.
            let (name, signature) = (row.get(NAME), row.get(SIGNATURE));
            if (name as usize) < strings.len() {
                names.add(name);
            }
            if (signature as usize) < blobs.len() {
                signatures.add(signature);
            }
        }
        SymbolNumbers {
            names: names.into(),
            signatures: signatures.into(),
        }
    }

    /// The number of a name; `None` if it lies outside of its heap.
    #[inline]
    pub(super) fn name(&self, index: u32) -> Option<u32> {
        self.names.place(index)
    }

    /// The number of a signature; `None` if it lies outside of its heap.
    #[inline]
    pub(super) fn signature(&self, index: u32) -> Option<u32> {
        self.signatures.place(index)
    }
}

/// The names that some methods of an image have.
pub struct SymbolNames<'w, 'i, 'a> {
    image: &'i Image<'a>,
    numbers: &'w SymbolNumbers,
    names: Numbers,
    signatures: Numbers,
}

impl<'w, 'i, 'a> SymbolNames<'w, 'i, 'a> {
    /// Of these `MethodDef` rows.
    pub(super) fn of(
        image: &'i Image<'a>,
        numbers: &'w SymbolNumbers,
        methods: impl Iterator<Item = Result<u32>>,
    ) -> Result<Self> {
        use column::method_def::{NAME, SIGNATURE};
        let mut names = Numbers::default();
        let mut signatures = Numbers::default();
        for method in methods {
            let row = image.metadata.tables.row(table::METHOD_DEF, method?)?;
            if let Some(name) = numbers.name(row.get(NAME)) {
                names.add(name);
            }
            if let Some(signature) = numbers.signature(row.get(SIGNATURE)) {
                signatures.add(signature);
            }
        }
        Ok(SymbolNames {
            image,
            numbers,
            names,
            signatures,
        })
    }

    /// Shows the names by their numbers, ascending. Those beyond all proportion are `?`: each may be the end of another, and
    /// all of them could have as much text as one likes.
    pub fn names(&self, each: &mut dyn FnMut(u32, Cow<'a, str>)) -> Result<()> {
        let strings = &self.image.metadata.strings;
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

    /// Shows the descriptors by their numbers, ascending. They refer to the names that come back.
    pub fn descriptors(&self, each: &mut dyn FnMut(u32, &str)) -> bytes::Names {
        let mut referred = Referred::default();
        let mut text = String::new();
        for (number, signature) in (0..).zip(self.numbers.signatures.iter()) {
            if self.signatures.has(number) {
                text.clear();
                put_referring_descriptor(self.image, signature, &mut referred, &mut text);
                each(number, &text);
            }
        }
        referred.names(self.image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cil::testing::SHAPES;

    fn names(bytes: &[u8]) -> Vec<String> {
        let image = Image::parse(bytes).unwrap();
        let numbers = SymbolNumbers::read(&image);
        let methods = 1..=image.metadata.tables.rows(table::METHOD_DEF);
        let all = SymbolNames::of(&image, &numbers, methods.map(Ok)).unwrap();
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
