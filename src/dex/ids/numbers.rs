//! Numbers for all methods of a dex file, from which ids follow: those of one file lie close together.

use crate::bytes::Cursor;
use crate::dex::format::class::ClassDef;
use crate::dex::format::file::{Dex, HEADER, HEADER_41};
use crate::error::{Error, Kind, Result};

/// How many methods a file may have, all dexes of a container together: ids that follow a base do not wrap around.
const MOST: u64 = 1 << 24;

/// Where the header's checksum is, its first field behind magic and version.
const CHECKSUM: usize = 8;

impl Dex<'_> {
    /// The headers as text, which differs between dex files by checksum and signature.
    pub fn fingerprint(&self) -> String {
        let mut text = String::with_capacity(2 * HEADER_41 * self.files.len());
        for file in &self.files {
            for byte in &file.bytes[file.start + CHECKSUM..file.start + HEADER] {
                for digit in [byte >> 4, byte & 15] {
                    text.extend(char::from_digit(digit.into(), 16));
                }
            }
        }
        text
    }
}

/// For each type in the order of the scan, how many methods the types in front of it define.
pub fn first_numbers(dex: &Dex<'_>) -> Result<Vec<u32>> {
    let mut first = Vec::with_capacity(dex.files.iter().map(|file| file.classes.len()).sum());
    let mut methods = 0u64;
    for file in &dex.files {
        for class in file.classes.iter().map(ClassDef::read) {
            first.push(methods as u32);
            if class.data != 0 {
                let mut cursor = Cursor::at(file.bytes, class.data as usize);
                // The counts of static and instance fields come before those of direct and virtual methods.
                for is_method in [false, false, true, true] {
                    methods += u64::from(cursor.uleb32()?) * u64::from(is_method);
                }
                if methods > MOST {
                    let what = format!("a dex file of more than {MOST} methods");
                    return Err(Error::new(Kind::Unsupported, what));
                }
            }
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::joinpoint::{Method, Type, Visitor};
    use crate::bytes::u32_at;
    use crate::dex::scan;

    const LIBRARY: &[u8] = include_bytes!("../../../runtime/java/weave-runtime.dex");

    #[test]
    fn methods_are_numbered_as_the_scan_shows_them() {
        struct Counter(Vec<u32>, u32);
        impl Visitor for Counter {
            fn enter_type(&mut self, _: &Type<'_>) -> bool {
                self.0.push(self.1);
                true
            }
            fn method(&mut self, _: u32, _: &Method<'_>) {
                self.1 += 1;
            }
        }
        let dex = Dex::parse(LIBRARY).unwrap();
        let mut counter = Counter(vec![], 0);
        scan(&dex, &mut counter).unwrap();
        assert!(counter.1 > 100);
        assert_eq!(first_numbers(&dex).unwrap(), counter.0);
    }

    #[test]
    fn more_methods_than_ids_behind_a_base_are_refused() {
        let mut bytes = LIBRARY.to_vec();
        let class = ClassDef::read(&Dex::parse(LIBRARY).unwrap().files[0].classes[0]);
        let at = class.data as usize;
        bytes[at..at + 8].copy_from_slice(&[0, 0, 0, 0x80, 0x80, 0x80, 0x04, 0]);
        let told = first_numbers(&Dex::parse(&bytes).unwrap()).map(|first| first[1]);
        assert_eq!(told.unwrap(), 1 << 23);
        bytes[at + 3..at + 7].copy_from_slice(&[0x81, 0x80, 0x80, 0x08]);
        let told = first_numbers(&Dex::parse(&bytes).unwrap()).unwrap_err();
        assert!(
            told.to_string().contains("more than 16777216 methods"),
            "{told}"
        );
    }

    #[test]
    fn files_are_told_apart_by_what_their_headers_say() {
        let text = |bytes: &[u8]| Dex::parse(bytes).unwrap().fingerprint();
        let library = text(LIBRARY);
        assert_eq!(library.len(), 2 * (HEADER - CHECKSUM));
        let checksum = u32_at(LIBRARY, CHECKSUM).to_le_bytes();
        assert!(library.starts_with(&format!("{:02x}{:02x}", checksum[0], checksum[1])));
        let mut other = LIBRARY.to_vec();
        other[31] ^= 1;
        assert_ne!(text(&other), library);
    }
}
