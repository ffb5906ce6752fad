//! Additions to metadata: rows at the end of unsorted tables, strings, blobs, and fields, which go into the middle of
//! their table. Old tokens stay valid, except those of fields.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::blob_set::BlobSet;
use crate::cil::metadata::field_map::FieldMap;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{self, column, table};
use crate::cil::metadata::tables::token;
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
    /// New bytes behind `#Strings`, and where they begin.
    strings: Vec<u8>,
    string_base: u32,
    /// New bytes behind `#Blob`, and where they begin.
    blobs: Vec<u8>,
    blob_base: u32,
    /// New bytes behind `#US`, and where they begin.
    user_strings: Vec<u8>,
    user_string_base: u32,
    /// Columns of the new rows of each table.
    rows: [Vec<u32>; 64],
    /// Rows of each table with the new ones; `Field` without.
    counts: [u32; 64],
    /// Signatures that were added, and their tokens.
    signatures: BlobSet,
    signature_tokens: Vec<u32>,
    fields: Vec<NewField>,
    /// Fields cannot be added: the file orders them by `FieldPtr`.
    fixed_fields: bool,
}

impl Additions {
    pub fn new(metadata: &Metadata<'_>) -> Additions {
        let base = |data: &[u8]| data.len() as u32;
        let mut additions = Additions {
            string_base: base(metadata.strings.data()),
            blob_base: base(metadata.blobs.data()),
            user_string_base: (metadata.root.position(b"#US"))
                .map_or(0, |number| base(metadata.root.streams[number].data)),
            counts: std::array::from_fn(|table| metadata.tables.rows(table as u8)),
            fixed_fields: metadata.tables.rows(table::FIELD_PTR) > 0,
            strings: Vec::new(),
            blobs: Vec::new(),
            user_strings: Vec::new(),
            rows: std::array::from_fn(|_| Vec::new()),
            signatures: BlobSet::default(),
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

    pub fn string(&mut self, text: &str) -> u32 {
        let index = self.string_base + self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        index
    }

    pub fn blob(&mut self, bytes: &[u8]) -> u32 {
        let index = self.blob_base + self.blobs.len() as u32;
        put_compressed(&mut self.blobs, bytes.len() as u32);
        self.blobs.extend_from_slice(bytes);
        index
    }

    /// Adds a text for code; returns its token.
    pub fn user_string(&mut self, text: &str) -> Result<u32> {
        /// What a token has in place of a table.
        const USER_STRING: u32 = 0x70;
        if self.user_string_base == 0 && self.user_strings.is_empty() {
            self.user_strings.push(0);
        }
        let index = self.user_string_base + self.user_strings.len() as u32;
        let units: Vec<u16> = text.encode_utf16().collect();
        let bytes = 2 * units.len() + 1;
        if index as usize + bytes + 4 > 0xff_ffff {
            return Err(Error::new(Kind::NotDone, "too many texts in code"));
        }
        put_compressed(&mut self.user_strings, bytes as u32);
        self.user_strings
            .extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        self.user_strings
            .push(u8::from(units.iter().any(|&unit| is_special(unit))));
        Ok(USER_STRING << 24 | index)
    }

    /// How many rows a table has with those that were added so far.
    pub fn count(&self, table: u8) -> u32 {
        self.counts[usize::from(table)]
    }

    /// Adds a row to a table behind all others: one that is not sorted, or whose order it keeps; returns its token.
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

    /// The token of a `StandAloneSig` with this signature.
    pub fn stand_alone_sig(&mut self, signature: &[u8]) -> Result<u32> {
        if let Some(number) = self.signatures.add(signature) {
            return Ok(self.signature_tokens[number]);
        }
        let blob = self.blob(signature);
        let token = self.row(table::STAND_ALONE_SIG, &[blob])?;
        self.signature_tokens.push(token);
        Ok(token)
    }

    /// Reserves memory for about so many signatures of locals.
    pub fn reserve_signatures(&mut self, count: usize) {
        self.signatures.reserve(count);
        self.signature_tokens.reserve(count);
    }

    /// Frees the memory that finds equal signatures, once no more are added.
    pub fn close_signatures(&mut self) {
        self.signatures = BlobSet::default();
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
        // Code names no field that is added behind all others.
        let behind = self.rows_of(table::FIELD).count() as u32;
        let count = self.counts[usize::from(table::FIELD)] - behind;
        token(table::FIELD, count + self.fields.len() as u32)
    }

    /// Removes the last added field, which no code may name.
    pub fn remove_last_field(&mut self) {
        self.fields.pop();
    }

    pub fn strings(&self) -> &[u8] {
        &self.strings
    }

    pub fn blobs(&self) -> &[u8] {
        &self.blobs
    }

    /// The additions to heaps, by the heaps' names; nothing may be added afterwards.
    pub fn take_heaps(&mut self) -> [(&'static [u8], Vec<u8>); 3] {
        [
            (b"#US", std::mem::take(&mut self.user_strings)),
            (b"#Strings", std::mem::take(&mut self.strings)),
            (b"#Blob", std::mem::take(&mut self.blobs)),
        ]
    }

    /// Rows of each table with all additions.
    pub fn counts(&self) -> [u32; 64] {
        let mut counts = self.counts;
        counts[usize::from(table::FIELD)] += self.fields.len() as u32;
        counts
    }

    /// The names of added assembly references without a strong name. For as long as the heaps are there.
    pub fn unsigned_references(&self) -> Vec<String> {
        use column::assembly_ref::{NAME, PUBLIC_KEY_OR_TOKEN};
        let rows = self.rows_of(table::ASSEMBLY_REF);
        let unsigned = rows.filter(|row| row[PUBLIC_KEY_OR_TOKEN] == 0);
        let names = unsigned.map(|row| {
            let at = row[NAME].saturating_sub(self.string_base) as usize;
            let name = self.strings.get(at..).unwrap_or_default();
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        });
        names.collect()
    }

    /// The rows added to a table, in order.
    pub fn rows_of(&self, table: u8) -> impl Iterator<Item = &[u32]> {
        let columns = schema::columns(table).len().max(1);
        self.rows[usize::from(table)].chunks_exact(columns)
    }

    /// The new rows of fields, once all are added.
    pub fn field_map(&self, metadata: &Metadata<'_>) -> Result<FieldMap> {
        let fields = self.fields.iter().map(|field| (field.ty, field.columns));
        FieldMap::new(metadata, fields)
    }
}

/// Whether a text with this unit is marked (II.24.2.4): comparing it takes more than its bytes.
fn is_special(unit: u16) -> bool {
    unit > 0xff || matches!(unit, 0x01..=0x08 | 0x0e..=0x1f | 0x27 | 0x2d | 0x7f)
}
