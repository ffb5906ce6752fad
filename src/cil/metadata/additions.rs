//! What weaving adds to metadata: rows at the end of tables that need no order, strings, blobs, and
//! fields, which go into the middle of their table. Tokens that exist stay valid, but for those of fields.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{self, column, table};
use crate::cil::metadata::tables::token;
use crate::cil::signatures::Signatures;
use crate::error::{Error, Kind, Result};

/// Most rows of a table: a token has 24 bits for them.
const MAX_ROWS: u32 = 0xff_ffff;

/// A field to be added.
#[derive(Clone, Copy, Debug)]
struct NewField {
    /// The `TypeDef` row.
    ty: u32,
    /// Flags, name, signature.
    columns: [u32; 3],
}

/// Additions to one file's metadata.
#[derive(Clone)]
pub struct Additions {
    /// What goes behind `#Strings`, and where that begins.
    strings: Vec<u8>,
    string_base: u32,
    /// What goes behind `#Blob`, and where that begins.
    blobs: Vec<u8>,
    blob_base: u32,
    /// Columns of the new rows of each table.
    rows: [Vec<u32>; 64],
    /// Rows of each table, the new ones included; `Field` without.
    counts: [u32; 64],
    /// Signatures that were added, and their tokens.
    signatures: Signatures,
    signature_tokens: Vec<u32>,
    fields: Vec<NewField>,
    /// Fields cannot be added: the file has them in an order of its own (`FieldPtr`).
    fixed_fields: bool,
}

impl Additions {
    /// Nothing added yet.
    pub fn new(metadata: &Metadata<'_>) -> Additions {
        let base = |data: &[u8]| data.len() as u32;
        let mut additions = Additions {
            string_base: base(metadata.strings.data()),
            blob_base: base(metadata.blobs.data()),
            counts: std::array::from_fn(|table| metadata.tables.rows(table as u8)),
            fixed_fields: metadata.tables.rows(table::FIELD_PTR) > 0,
            strings: Vec::new(),
            blobs: Vec::new(),
            rows: std::array::from_fn(|_| Vec::new()),
            signatures: Signatures::default(),
            signature_tokens: Vec::new(),
            fields: Vec::new(),
        };
        // Index 0 is the empty string and the empty blob, in a new heap, too.
        if additions.string_base == 0 {
            additions.strings.push(0);
        }
        if additions.blob_base == 0 {
            additions.blobs.push(0);
        }
        additions
    }

    /// Adds a string.
    pub fn string(&mut self, text: &str) -> u32 {
        let index = self.string_base + self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        index
    }

    /// Adds a blob.
    pub fn blob(&mut self, bytes: &[u8]) -> u32 {
        let index = self.blob_base + self.blobs.len() as u32;
        put_compressed(&mut self.blobs, bytes.len() as u32);
        self.blobs.extend_from_slice(bytes);
        index
    }

    /// Adds a row to a table that is not sorted and that nothing holds ranges of; returns its token.
    pub fn row(&mut self, table: u8, columns: &[u32]) -> Result<u32> {
        let count = &mut self.counts[usize::from(table)];
        if *count == MAX_ROWS {
            let what = format!("metadata table {table:#04x} is full");
            return Err(Error::new(Kind::NotDone, what));
        }
        *count += 1;
        debug_assert_eq!(columns.len(), schema::columns(table).len());
        self.rows[usize::from(table)].extend_from_slice(columns);
        Ok(token(table, *count))
    }

    /// The token of a `StandAloneSig` with this signature; one of several that are alike.
    pub fn stand_alone_sig(&mut self, signature: &[u8]) -> Result<u32> {
        if let Some(number) = self.signatures.add(signature) {
            return Ok(self.signature_tokens[number]);
        }
        let blob = self.blob(signature);
        let token = self.row(table::STAND_ALONE_SIG, &[blob])?;
        self.signature_tokens.push(token);
        Ok(token)
    }

    /// Takes room for about so many signatures of locals.
    pub fn reserve_signatures(&mut self, count: usize) {
        self.signatures.reserve(count);
        self.signature_tokens.reserve(count);
    }

    /// No more signatures are added: keeps what tells them apart no longer.
    pub fn close_signatures(&mut self) {
        self.signatures = Signatures::default();
        self.signature_tokens = Vec::new();
    }

    /// Whether fields can be added.
    pub fn takes_fields(&self) -> bool {
        !self.fixed_fields
    }

    /// Adds a field to a type (a `TypeDef` row), behind its others. The token is good for code that
    /// goes through [`Additions::field_token`] when it is written.
    pub fn field(&mut self, ty: u32, flags: u32, name: &str, signature: &[u8]) -> u32 {
        debug_assert!(self.takes_fields());
        let columns = [flags, self.string(name), self.blob(signature)];
        self.fields.push(NewField { ty, columns });
        let count = self.counts[usize::from(table::FIELD)];
        token(table::FIELD, count + self.fields.len() as u32)
    }

    /// Takes the field back that was added last, which no code may name.
    pub fn remove_last_field(&mut self) {
        self.fields.pop();
    }

    /// Whether tokens of fields change.
    pub fn moves_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// What was added to `#Strings`.
    pub fn strings(&self) -> &[u8] {
        &self.strings
    }

    /// What was added to `#Blob`.
    pub fn blobs(&self) -> &[u8] {
        &self.blobs
    }

    /// What was added to heaps, by their names; nothing may be added any more.
    pub fn take_heaps(&mut self) -> [(&'static [u8], Vec<u8>); 2] {
        [
            (b"#Strings", std::mem::take(&mut self.strings)),
            (b"#Blob", std::mem::take(&mut self.blobs)),
        ]
    }

    /// Rows of each table, with all that was added.
    pub fn counts(&self) -> [u32; 64] {
        let mut counts = self.counts;
        counts[usize::from(table::FIELD)] += self.fields.len() as u32;
        counts
    }

    /// The rows added to a table, in order.
    pub fn rows_of(&self, table: u8) -> impl Iterator<Item = &[u32]> {
        let columns = schema::columns(table).len().max(1);
        self.rows[usize::from(table)].chunks_exact(columns)
    }

    /// Where the fields go; asked once all are known.
    pub fn field_map(&self, metadata: &Metadata<'_>) -> Result<FieldMap> {
        let tables = &metadata.tables;
        let old = tables.rows(table::FIELD);
        let mut added = Vec::with_capacity(self.fields.len());
        for (number, field) in self.fields.iter().enumerate() {
            // Behind the type's last field, in front of the next type's first.
            let position = match tables.row(table::TYPE_DEF, field.ty + 1) {
                Ok(next) => next.get(column::type_def::FIELD_LIST),
                Err(_) => old + 1,
            };
            if position == 0 || position > old + 1 {
                let what = format!("a type's fields end at {position} of {old}");
                return Err(Error::new(Kind::Malformed, what));
            }
            added.push(Added {
                ty: field.ty,
                position,
                number: number as u32,
                columns: field.columns,
            });
        }
        added.sort_by_key(|a| (a.position, a.ty, a.number));
        let mut rows = vec![0; added.len()];
        for (before, a) in added.iter().enumerate() {
            rows[a.number as usize] = a.position + before as u32;
        }
        let mut types: Vec<u32> = added.iter().map(|a| a.ty).collect();
        types.sort_unstable();
        let mut moved = Vec::new();
        if !added.is_empty() {
            let mut before = added.iter().peekable();
            let mut count = 0;
            moved.extend((0..=old).map(|row| {
                while before.next_if(|a| a.position <= row).is_some() {
                    count += 1;
                }
                row + count
            }));
        }
        Ok(FieldMap {
            old,
            moved,
            added,
            rows,
            types,
        })
    }
}

/// A field that goes in front of the old row `position`.
#[derive(Clone, Copy, Debug)]
struct Added {
    ty: u32,
    position: u32,
    number: u32,
    columns: [u32; 3],
}

/// Old rows of `Field` to new ones.
pub struct FieldMap {
    old: u32,
    /// The new row of each old one, if any moves: code names them by the hundred thousand.
    moved: Vec<u32>,
    /// Ascending by position and type.
    added: Vec<Added>,
    /// The new row of each added field, in the order in which they were added.
    rows: Vec<u32>,
    /// The types that fields were added to, ascending, each as often as it got one.
    types: Vec<u32>,
}

impl FieldMap {
    /// Whether rows stay what they are.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
    }

    /// How many rows are added.
    pub fn added(&self) -> usize {
        self.added.len()
    }

    /// The new row of an old one, or of an added field. 0 stays 0.
    #[inline]
    pub fn row(&self, row: u32) -> u32 {
        if row > self.old {
            let added = self.rows.get((row - self.old) as usize - 1);
            return added.copied().unwrap_or(row);
        }
        self.moved.get(row as usize).copied().unwrap_or(row)
    }

    /// The new first row of a type's fields.
    pub fn list(&self, ty: u32, first: u32) -> u32 {
        first + self.types.partition_point(|&other| other < ty) as u32
    }

    /// The columns of the fields that go in front of the old row `position`.
    pub fn added_at(&self, position: u32) -> impl Iterator<Item = &[u32; 3]> {
        let start = self.added.partition_point(|a| a.position < position);
        self.added[start..]
            .iter()
            .take_while(move |a| a.position == position)
            .map(|a| &a.columns)
    }
}
