//! What became of the indexes of a dex file's tables when ids were added.

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
