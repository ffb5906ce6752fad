//! Arrays whose types do not meet. Where a register holds one array or another, ART takes their nearest common class and
//! ignores interfaces: `A[]` and `B[]` are both a `Runnable[]`, but merge to `Object[]`, which is none.

use crate::dex::format::class::{ClassDef, flag};
use crate::dex::format::file::File;
use crate::dex::format::lookup::{compare_strings, find_type, search};
use crate::error::Result;
use std::ops::Range;

/// Classes of the platform that files often have arrays of.
const CLASSES: [&[u8]; 4] = [
    b"Ljava/lang/Class;",
    b"Ljava/lang/Integer;",
    b"Ljava/lang/Object;",
    b"Ljava/lang/String;",
];

/// Which array types of a file may lose their type where two arrays meet.
#[derive(Default)]
pub(crate) struct Arrays {
    /// The array types: they follow one another in the table.
    types: Range<u32>,
    loses: Vec<bool>,
}

impl Arrays {
    /// Looks at a file whose tables are sorted.
    pub fn read(file: &File<'_>) -> Result<Arrays> {
        let place = |descriptor: &[u8]| {
            search(file.types.len(), |i| {
                Ok(compare_strings(file.descriptor(i)?, descriptor))
            })
        };
        let (Ok(first) | Err(first)) = place(b"[")?;
        // The character behind `[`.
        let (Ok(end) | Err(end)) = place(b"\\")?;
        let mut is_class = vec![false; file.types.len()];
        for row in file.classes {
            let class = ClassDef::read(row);
            if let Some(is_class) = is_class.get_mut(class.ty as usize) {
                *is_class = class.access & flag::INTERFACE == 0;
            }
        }
        let mut loses = Vec::with_capacity((first..end).len());
        for ty in first..end {
            let descriptor = file.descriptor(ty)?;
            let dimensions = descriptor.iter().take_while(|b| **b == b'[').count();
            let element = &descriptor[dimensions..];
            // What other files define may be an interface.
            loses.push(match element.first() {
                Some(b'L') if CLASSES.contains(&element) => false,
                Some(b'L') => find_type(file, element)?.is_none_or(|ty| !is_class[ty as usize]),
                _ => false,
            });
        }
        Ok(Arrays {
            types: first..end,
            loses,
        })
    }

    /// Whether two arrays that both are of this type may together be none.
    pub fn lose(&self, ty: u32) -> bool {
        self.types.contains(&ty) && self.loses[(ty - self.types.start) as usize]
    }
}
