//! The new indexes of a dex file's tables after ids were added.

use crate::error::{Error, Result};

/// New index by old index, one list a table. Call sites and method handles keep theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remap {
    /// `string_ids`.
    pub strings: Vec<u32>,
    /// `type_ids`.
    pub types: Vec<u32>,
    /// `proto_ids`.
    pub protos: Vec<u32>,
    /// `field_ids`.
    pub fields: Vec<u32>,
    /// `method_ids`.
    pub methods: Vec<u32>,
}

impl Remap {
    /// Everything keeps its index, in tables of these sizes (in the order of the fields).
    pub fn identity(sizes: [u32; 5]) -> Remap {
        let [strings, types, protos, fields, methods] = sizes.map(|n| (0..n).collect());
        Remap {
            strings,
            types,
            protos,
            fields,
            methods,
        }
    }
}

/// The new index for an old one that was read at an offset.
#[inline]
pub(crate) fn new_index(table: &[u32], old: u32, at: usize) -> Result<u32> {
    match table.get(old as usize) {
        Some(&new) => Ok(new),
        None => Err(beyond(table, old, at)),
    }
}

#[cold]
fn beyond(table: &[u32], old: u32, at: usize) -> Error {
    Error::malformed(at, format!("index {old} of a table of {}", table.len()))
}
