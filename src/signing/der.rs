//! DER (X.690) by the crate `der`: a certificate is taken apart with it and a signature is put together.

pub use der::Tag;
use der::asn1::AnyRef;
use der::{Decode, Encode, Reader as _, SliceReader, TagNumber};

/// `[0]`, constructed.
pub const CONTEXT_0: Tag = Tag::ContextSpecific {
    constructed: true,
    number: TagNumber(0),
};

/// An element of this tag; its contents are far below the 256 MB that the crate takes.
pub fn element(tag: Tag, contents: &[&[u8]]) -> Vec<u8> {
    let contents = contents.concat();
    let element = AnyRef::new(tag, &contents).and_then(|element| element.to_der());
    element.expect("a signature is no 256 MB long")
}

/// Elements one after the other.
pub struct Reader<'a>(SliceReader<'a>);

#[derive(Clone, Copy)]
pub struct Element<'a> {
    pub tag: Tag,
    /// With tag and length.
    pub raw: &'a [u8],
    pub contents: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads these bytes; `None` where they are too many.
    pub fn new(bytes: &'a [u8]) -> Option<Reader<'a>> {
        SliceReader::new(bytes).ok().map(Reader)
    }

    /// The next element, if there is a whole one.
    pub fn next(&mut self) -> Option<Element<'a>> {
        let raw = self.0.tlv_bytes().ok()?;
        let element = AnyRef::from_der(raw).ok()?;
        let tag = element.header().tag();
        let contents = element.value();
        Some(Element { tag, raw, contents })
    }

    /// The next element if it has this tag.
    pub fn expect(&mut self, tag: Tag) -> Option<Element<'a>> {
        self.next().filter(|e| e.tag == tag)
    }

    /// The elements in the next one if it has this tag.
    pub fn enter(&mut self, tag: Tag) -> Option<Reader<'a>> {
        Reader::new(self.expect(tag)?.contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for len in [0, 1, 127, 128, 255, 256, 70_000] {
            let contents = vec![7; len];
            let bytes = element(
                Tag::OctetString,
                &[&contents[..len / 2], &contents[len / 2..]],
            );
            let mut reader = Reader::new(&bytes).unwrap();
            let read = reader.expect(Tag::OctetString).unwrap();
            assert_eq!((read.contents, read.raw), (&contents[..], &bytes[..]));
            assert!(reader.next().is_none());
            for cut in [1, 2, bytes.len() - 1] {
                assert!(cut >= bytes.len() || Reader::new(&bytes[..cut]).unwrap().next().is_none());
            }
        }
    }

    #[test]
    fn lengths_beyond_the_bytes_are_no_element() {
        for bytes in [
            &[0x30, 0x80, 0, 0][..],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x30, 0xff],
            &[0x30, 0x85, 0, 0, 0, 0, 0],
        ] {
            assert!(Reader::new(bytes).unwrap().next().is_none());
        }
    }
}
