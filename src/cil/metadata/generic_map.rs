//! New rows of `GenericParam`, once rows are added. The table is sorted by owner, and the keys of types and methods alternate: what is
//! added may come in front of what is there. No code names these rows. Runtimes search the table whether the header says that it is
//! sorted or not: Mono's ilasm says so of none.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::schema::{Column, column, table};

/// Rows of `GenericParam`, the added ones behind the old ones, to new ones.
#[derive(Default)]
pub struct GenericMap {
    /// The new row of each, from 1 on; empty where none moves.
    rows: Vec<u32>,
}

impl GenericMap {
    pub fn new(metadata: &Metadata<'_>, additions: &Additions) -> GenericMap {
        use column::generic_param::OWNER;
        let tables = &metadata.tables;
        let mut added = additions
            .rows_of(table::GENERIC_PARAM)
            .map(|row| row[OWNER])
            .peekable();
        if added.peek().is_none() {
            return GenericMap::default();
        }
        let old = tables.iter(table::GENERIC_PARAM).map(|row| row.get(OWNER));
        let owners: Vec<u32> = old.chain(added).collect();
        if owners.is_sorted() {
            return GenericMap::default();
        }
        let mut order: Vec<usize> = (0..owners.len()).collect();
        order.sort_by_key(|&row| owners[row]);
        let mut rows = vec![0; owners.len() + 1];
        for (new, old) in (1..).zip(order) {
            rows[old + 1] = new;
        }
        GenericMap { rows }
    }

    /// Whether rows stay what they are.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The column by which a table is sorted whose order these rows decide.
    pub fn key(&self, number: u8) -> Option<usize> {
        let key = match number {
            table::GENERIC_PARAM => column::generic_param::OWNER,
            table::GENERIC_PARAM_CONSTRAINT => column::generic_param_constraint::OWNER,
            table::CUSTOM_ATTRIBUTE => column::custom_attribute::PARENT,
            _ => return None,
        };
        (!self.is_empty()).then_some(key)
    }

    /// The value of a column once rows have moved.
    pub fn moved(&self, column: Column, value: u32) -> u32 {
        let row = |row: u32| self.rows.get(row as usize).copied().unwrap_or(row);
        match column {
            Column::Row(table::GENERIC_PARAM) => row(value),
            Column::Coded(coded) => {
                let tag = value & ((1 << coded.bits) - 1);
                match coded.tables.get(tag as usize) {
                    Some(&table::GENERIC_PARAM) => row(value >> coded.bits) << coded.bits | tag,
                    _ => value,
                }
            }
            _ => value,
        }
    }
}
