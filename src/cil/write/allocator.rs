//! Room for new metadata and bodies: free ranges of the image, and a section behind the last.
//!
//! Everything that stays keeps its address. Old metadata, the bodies of woven methods and native code
//! that is dropped leave holes, into which new bodies go.

use std::ops::Range;

/// Free ranges and a new section, by address.
pub struct Space {
    /// Holes, ascending; those before `next` are used up.
    holes: Vec<Range<u32>>,
    next: usize,
    /// Holes that stay empty.
    closed: Vec<Range<u32>>,
    /// Where the new section begins, and its length so far.
    start: u32,
    len: u32,
}

/// Ranges sorted and merged; those that are at most `gap` apart become one.
pub fn merge(mut ranges: Vec<Range<u32>>, gap: u32) -> Vec<Range<u32>> {
    ranges.retain(|r| r.start < r.end);
    ranges.sort_unstable_by_key(|r| r.start);
    let mut merged: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// `from` without `taken`; both sorted and merged.
pub fn subtract(from: &[Range<u32>], taken: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut left = Vec::with_capacity(from.len());
    let mut first = 0;
    for range in from {
        let mut start = range.start;
        while taken.get(first).is_some_and(|t| t.end <= start) {
            first += 1;
        }
        for t in taken[first..].iter().take_while(|t| t.start < range.end) {
            if t.start > start {
                left.push(start..t.start);
            }
            start = start.max(t.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

impl Space {
    /// Takes the holes, sorted and merged, those that stay empty, and where the new section begins.
    pub fn new(holes: Vec<Range<u32>>, closed: Vec<Range<u32>>, start: u32) -> Space {
        Space {
            holes,
            next: 0,
            closed,
            start,
            len: 0,
        }
    }

    /// Room for something large: the smallest hole that fits, else the new section.
    pub fn large(&mut self, size: u32, align: u32) -> u32 {
        let fits = |hole: &Range<u32>| {
            let start = hole.start.next_multiple_of(align);
            start.checked_add(size).is_some_and(|end| end <= hole.end)
        };
        let best = self
            .holes
            .iter_mut()
            .filter(|hole| fits(hole))
            .min_by_key(|hole| hole.end - hole.start);
        match best {
            Some(hole) => {
                let start = hole.start.next_multiple_of(align);
                hole.start = start + size;
                start
            }
            None => self.at_end(size, align),
        }
    }

    /// Room for something small; holes are filled one after the other.
    #[inline]
    pub fn small(&mut self, size: u32, align: u32) -> u32 {
        while let Some(hole) = self.holes.get_mut(self.next) {
            let start = hole.start.next_multiple_of(align);
            if start.saturating_add(size) <= hole.end {
                hole.start = start + size;
                return start;
            }
            self.next += 1;
        }
        self.at_end(size, align)
    }

    fn at_end(&mut self, size: u32, align: u32) -> u32 {
        let start = (self.start + self.len).next_multiple_of(align);
        self.len = start + size - self.start;
        start
    }

    pub fn section(&self) -> Range<u32> {
        self.start..self.start + self.len
    }

    /// The rest of the holes, in order.
    pub fn left(&self) -> Vec<Range<u32>> {
        merge([&self.holes[..], &self.closed].concat(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_and_subtracted() {
        let merged = merge(vec![10..20, 0..4, 22..30, 25..28, 40..40], 3);
        assert_eq!(merged, [0..4, 10..30]);
        assert_eq!(
            subtract(&merged, &[2..3, 12..14, 29..50]),
            [0..2, 3..4, 10..12, 14..29]
        );
        assert_eq!(subtract(&merged, &merged), []);
        assert_eq!(subtract(&merged, &[]), merged);
    }

    #[test]
    fn what_fits_no_hole_goes_into_the_new_section() {
        let mut space = Space::new(
            vec![0x101..0x110, 0x200..0x240],
            vec![0x120..0x130, 0x300..0x304],
            0x1000,
        );
        assert_eq!(space.large(0x30, 4), 0x200);
        assert_eq!(space.large(0x30, 4), 0x1000);
        assert_eq!(space.small(8, 4), 0x104);
        assert_eq!(space.small(8, 4), 0x230);
        assert_eq!(space.small(9, 4), 0x1030);
        assert_eq!(space.section(), 0x1000..0x1039);
        assert_eq!(
            space.left(),
            [0x10c..0x110, 0x120..0x130, 0x238..0x240, 0x300..0x304]
        );
    }
}
