//! New rows of `Field`, once rows are added in the middle of the table.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::schema::{column, table};
use crate::error::{Error, Kind, Result};

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
    /// The new row of each old one, if any moves.
    moved: Vec<u32>,
    /// Ascending by position and type.
    added: Vec<Added>,
    /// The new row of each added field, in the order in which they were added.
    rows: Vec<u32>,
    /// The types that fields were added to, ascending, each as often as it got one.
    types: Vec<u32>,
}

impl FieldMap {
    /// For fields that are added: the type of each (a `TypeDef` row), behind whose others it goes, and its columns.
    pub fn new(
        metadata: &Metadata<'_>,
        fields: impl ExactSizeIterator<Item = (u32, [u32; 3])>,
    ) -> Result<FieldMap> {
        let tables = &metadata.tables;
        let old = tables.rows(table::FIELD);
        let mut added = Vec::with_capacity(fields.len());
        for (number, (ty, columns)) in (0..).zip(fields) {
            // Behind the type's last field, in front of the next type's first.
            let position = match tables.row(table::TYPE_DEF, ty + 1) {
                Ok(next) => next.get(column::type_def::FIELD_LIST),
                Err(_) => old + 1,
            };
            if position == 0 || position > old + 1 {
                let what = format!("a type's fields end at {position} of {old}");
                return Err(Error::new(Kind::Malformed, what));
            }
            added.push(Added {
                ty,
                position,
                number,
                columns,
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
