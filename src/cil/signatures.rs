//! Signatures of locals: each once, by the order in which they are first asked for.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;
use std::ops::Range;

/// Different blobs, numbered.
#[derive(Clone, Default)]
pub struct Signatures {
    bytes: Vec<u8>,
    /// Where each blob ends.
    ends: Vec<u32>,
    /// Numbers by hashes. Of blobs with the same hash, the later ones are under the next free keys.
    known: FxHashMap<u64, u32>,
}

impl Signatures {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// A blob by its number.
    pub fn blob(&self, number: usize) -> &[u8] {
        let start = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    /// The blobs with these numbers.
    pub fn blobs(&self, numbers: Range<usize>) -> impl Iterator<Item = &[u8]> {
        numbers.map(|number| self.blob(number))
    }

    /// The number of a blob; `None` if it is new, and then has the next number.
    pub fn add(&mut self, blob: &[u8]) -> Option<usize> {
        let mut hasher = FxHasher::default();
        hasher.write(blob);
        let mut key = hasher.finish();
        while let Some(&number) = self.known.get(&key) {
            if self.blob(number as usize) == blob {
                return Some(number as usize);
            }
            key = key.wrapping_add(1);
        }
        self.known.insert(key, self.ends.len() as u32);
        self.bytes.extend_from_slice(blob);
        self.ends.push(self.bytes.len() as u32);
        None
    }

    /// No more are added: keeps what tells them apart no longer.
    pub fn close(&mut self) {
        self.known = FxHashMap::default();
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_blob_has_one_number() {
        let mut set = Signatures::default();
        let all: Vec<Vec<u8>> = (0..300u16)
            .map(|n| n.to_le_bytes()[..1 + usize::from(n > 255)].to_vec())
            .collect();
        for (number, blob) in all.iter().enumerate() {
            assert_eq!(set.add(blob), None);
            assert_eq!(set.add(blob), Some(number));
        }
        assert_eq!(set.count(), 300);
        assert!(set.blobs(0..300).eq(all.iter().map(Vec::as_slice)));
        assert_eq!(set.add(&[]), None);
        assert_eq!(set.add(&[]), Some(300));
    }
}
