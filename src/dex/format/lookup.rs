//! Looking things up in sorted id tables.

use crate::bytes::u16_at;
use crate::dex::format::file::File;
use crate::error::Result;
use std::cmp::Ordering;
use std::ops::Range;

/// The index of a string.
pub(crate) fn find_string(file: &File<'_>, text: &[u8]) -> Result<Option<u32>> {
    let found = search(file.strings.len(), |i| {
        Ok(compare_strings(file.string(i)?, text))
    })?;
    Ok(found.ok())
}

/// The index of a type, by its descriptor.
pub(crate) fn find_type(file: &File<'_>, descriptor: &[u8]) -> Result<Option<u32>> {
    let found = search(file.types.len(), |i| {
        Ok(compare_strings(file.descriptor(i)?, descriptor))
    })?;
    Ok(found.ok())
}

/// The indices of the methods of some classes, which lie together since methods are sorted by class.
pub(crate) fn methods_of(file: &File<'_>, classes: Range<u32>) -> Range<u32> {
    let from = |class| {
        file.methods
            .partition_point(|row| u32::from(u16_at(row, 0)) < class) as u32
    };
    from(classes.start)..from(classes.end)
}

/// Orders modified UTF-8 by UTF-16 code units: by its bytes, but that NUL (`C0 80`) comes first.
pub(crate) fn compare_strings(a: &[u8], b: &[u8]) -> Ordering {
    // Neighbours in a sorted table have long fronts in common.
    let (words, others) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let words = words.iter().zip(others).take_while(|(a, b)| a == b);
    let common = 8 * words.count();
    let mut rest = a[common..].iter().zip(&b[common..]);
    match rest.position(|(a, b)| a != b).map(|i| common + i) {
        None => a.len().cmp(&b.len()),
        Some(i) => match (a[i], b[i]) {
            (0xc0, _) => Ordering::Less,
            (_, 0xc0) => Ordering::Greater,
            (a, b) => a.cmp(&b),
        },
    }
}

/// Where in a sorted table of `count` rows something belongs, and whether it is there already.
pub(crate) fn search(
    count: usize,
    mut compare: impl FnMut(u32) -> Result<Ordering>,
) -> Result<Result<u32, u32>> {
    let (mut low, mut high) = (0, count as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle)? {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(Ok(middle)),
            Ordering::Greater => high = middle,
        }
    }
    Ok(Err(low))
}
