//! Signatures of locals, each once, in the order of their first use.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// Different blobs, numbered.
#[derive(Clone, Default)]
pub struct BlobSet {
    blobs: Blobs,
    /// Numbers by their blobs.
    known: HashTable<u32>,
}

#[derive(Clone, Default)]
struct Blobs {
    bytes: Vec<u8>,
    /// Where each blob ends.
    ends: Vec<u32>,
}

impl Blobs {
    #[inline]
    fn get(&self, number: usize) -> &[u8] {
        let start = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        &self.bytes[start as usize..self.ends[number] as usize]
    }
}

#[inline]
fn hash(blob: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(blob);
    hasher.finish()
}

impl BlobSet {
    /// Reserves memory for about so many.
    pub fn reserve(&mut self, count: usize) {
        /// What a blob takes in many programs.
        const USUAL: usize = 16;
        let blobs = &mut self.blobs;
        blobs.bytes.reserve(count * USUAL);
        blobs.ends.reserve(count);
        self.known
            .reserve(count, |&number| hash(blobs.get(number as usize)));
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.blobs.ends.len()
    }

    pub fn blob(&self, number: usize) -> &[u8] {
        self.blobs.get(number)
    }

    /// The blobs with these numbers.
    pub fn blobs(&self, numbers: Range<usize>) -> impl Iterator<Item = &[u8]> {
        numbers.map(|number| self.blob(number))
    }

    /// The number of a blob; `None` if it is new, and then has the next number.
    pub fn add(&mut self, blob: &[u8]) -> Option<usize> {
        let BlobSet { blobs, known } = self;
        let next = blobs.ends.len() as u32;
        match known.entry(
            hash(blob),
            |&number| blobs.get(number as usize) == blob,
            |&number| hash(blobs.get(number as usize)),
        ) {
            Entry::Occupied(number) => return Some(*number.get() as usize),
            Entry::Vacant(place) => place.insert(next),
        };
        blobs.bytes.extend_from_slice(blob);
        blobs.ends.push(blobs.bytes.len() as u32);
        None
    }

    /// Frees the memory that finds equal blobs, once no more are added.
    pub fn close(&mut self) {
        self.known = HashTable::new();
        self.blobs.bytes.shrink_to_fit();
        self.blobs.ends.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_blob_has_one_number() {
        let mut set = BlobSet::default();
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
