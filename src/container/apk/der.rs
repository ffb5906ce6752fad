//! As much of DER (X.690) as a certificate is taken apart with and a signature is put together of.

/// `SEQUENCE`.
pub const SEQUENCE: u8 = 0x30;
/// `SET`.
pub const SET: u8 = 0x31;
/// `INTEGER`.
pub const INTEGER: u8 = 0x02;
/// `OCTET STRING`.
pub const OCTETS: u8 = 0x04;
/// `NULL`.
pub const NULL: u8 = 0x05;
/// `OBJECT IDENTIFIER`.
pub const OID: u8 = 0x06;
/// `BIT STRING`.
pub const BITS: u8 = 0x03;
/// `[0]`, constructed.
pub const CONTEXT_0: u8 = 0xa0;

/// An element: tag, length, contents.
pub fn element(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let len: usize = contents.iter().map(|c| c.len()).sum();
    let mut out = Vec::with_capacity(len + 6);
    out.push(tag);
    if len < 0x80 {
        out.push(len as u8);
    } else {
        let bytes = len.to_be_bytes();
        let bytes = &bytes[bytes.iter().take_while(|&&b| b == 0).count()..];
        out.push(0x80 | bytes.len() as u8);
        out.extend_from_slice(bytes);
    }
    for c in contents {
        out.extend_from_slice(c);
    }
    out
}

/// Elements one after the other.
#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

/// An element that was read.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    pub tag: u8,
    /// With tag and length.
    pub raw: &'a [u8],
    pub contents: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The next element, if there is a whole one.
    pub fn next(&mut self) -> Option<Element<'a>> {
        let bytes = self.0;
        let (&tag, &first) = (bytes.first()?, bytes.get(1)?);
        let (len, start) = match first {
            0..0x80 => (usize::from(first), 2),
            _ => {
                let n = usize::from(first & 0x7f);
                let digits = bytes.get(2..2 + n).filter(|d| (1..=4).contains(&d.len()))?;
                let len = digits.iter().fold(0, |len, &d| len << 8 | usize::from(d));
                (len, 2 + n)
            }
        };
        let end = start.checked_add(len)?;
        let element = Element {
            tag,
            raw: bytes.get(..end)?,
            contents: &bytes[start..end],
        };
        self.0 = &bytes[end..];
        Some(element)
    }

    /// The next element if it has this tag.
    pub fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|e| e.tag == tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for len in [0, 1, 127, 128, 255, 256, 70_000] {
            let contents = vec![7; len];
            let bytes = element(OCTETS, &[&contents[..len / 2], &contents[len / 2..]]);
            let mut reader = Reader(&bytes);
            let read = reader.expect(OCTETS).unwrap();
            assert_eq!((read.contents, read.raw), (&contents[..], &bytes[..]));
            assert!(reader.next().is_none());
            for cut in [1, 2, bytes.len() - 1] {
                assert!(cut >= bytes.len() || Reader(&bytes[..cut]).next().is_none());
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
            assert!(Reader(bytes).next().is_none());
        }
    }
}
