//! The tables stream (ECMA-335 II.24.2.6): where each table lies and how wide its columns are.

use crate::bytes::Cursor;
use crate::cil::metadata::schema::{self, Coded, Column, table};
use crate::error::{Error, Kind, Result};
use std::sync::OnceLock;

/// Most columns of a table.
pub const MAX_COLUMNS: usize = 9;

/// Bits of the heap sizes (II.24.2.6): which heaps' indices take four bytes.
pub mod heap_size {
    pub const STRINGS: u8 = 1;
    pub const GUID: u8 = 2;
    pub const BLOB: u8 = 4;
    /// A word of unknown use follows the row counts (CLR, `#-` only).
    pub const EXTRA_DATA: u8 = 0x40;
}

/// Offset of the heap sizes in the stream (II.24.2.6).
const HEAP_SIZES: usize = 6;

/// Where a table's columns lie in its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowFormat {
    /// Offset of each column; behind the last, the row's size.
    pub offsets: [u8; MAX_COLUMNS + 1],
    pub columns: u8,
}

impl RowFormat {
    #[inline]
    pub fn put_row(&self, values: &[u32], out: &mut Vec<u8>) {
        let count = usize::from(self.columns);
        for (pair, value) in self.offsets[..=count].windows(2).zip(values) {
            match pair[1] - pair[0] {
                2 => out.extend_from_slice(&(*value as u16).to_le_bytes()),
                _ => out.extend_from_slice(&value.to_le_bytes()),
            }
        }
    }

    #[inline]
    pub fn row_size(&self) -> usize {
        usize::from(self.offsets[usize::from(self.columns)])
    }

    /// The row format of a table whose indices have these widths.
    pub fn new(number: u8, widths: &Widths) -> RowFormat {
        let mut format = RowFormat::default();
        let mut offset = 0;
        for &column in schema::columns(number) {
            offset += if widths.is_wide(column) { 4 } else { 2 };
            format.columns += 1;
            format.offsets[usize::from(format.columns)] = offset;
        }
        format
    }
}

/// What decides how wide indices are.
#[derive(Clone)]
pub struct Widths {
    /// Rows of all tables; in a portable PDB with those of the assembly.
    pub rows: [u32; 64],
    /// Bits of [`heap_size`].
    pub heaps: u8,
    /// Every index takes four bytes.
    pub all_wide: bool,
}

impl Widths {
    fn is_wide(&self, column: Column) -> bool {
        let heap = |bit| self.heaps & bit != 0 || self.all_wide;
        match column {
            Column::U16 => false,
            Column::U32 => true,
            Column::Strings => heap(heap_size::STRINGS),
            Column::Guid => heap(heap_size::GUID),
            Column::Blob => heap(heap_size::BLOB),
            Column::Row(table) => self.all_wide || self.rows[usize::from(table)] > 0xffff,
            Column::Coded(coded) => {
                self.all_wide
                    || coded.tables.iter().any(|&table| {
                        table != schema::NONE
                            && self.rows[usize::from(table)] >= 1 << (16 - coded.bits)
                    })
            }
        }
    }
}

pub struct Tables<'a> {
    data: &'a [u8],
    /// Heap sizes, as they stand.
    pub heap_sizes: u8,
    pub sorted: u64,
    /// Which tables there are, those unknown to this reader included.
    pub valid: u64,
    /// What decides how wide indices are.
    pub widths: Widths,
    rows: [u32; 64],
    formats: [RowFormat; table::COUNT],
    /// Where each table begins in the stream.
    offsets: [usize; table::COUNT],
    /// Indexes of unsorted tables, made on demand.
    indexes: [OnceLock<Index>; table::COUNT],
}

/// The keys of an unsorted table and their rows, sorted.
type Index = Box<[(u32, u32)]>;

#[derive(Clone, Copy)]
pub struct Row<'t> {
    bytes: &'t [u8],
    format: &'t RowFormat,
}

impl Row<'_> {
    #[inline]
    pub fn get(&self, column: usize) -> u32 {
        let start = usize::from(self.format.offsets[column]);
        let end = usize::from(self.format.offsets[column + 1]);
        match self.bytes[start..end] {
            [a, b] => u32::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => unreachable!("a column takes two or four bytes"),
        }
    }
}

impl<'a> Tables<'a> {
    /// Reads the stream's header; `external` are rows of another file's tables that set widths.
    pub(super) fn parse(data: &'a [u8], external: &[u32; 64], wide: bool) -> Result<Tables<'a>> {
        let mut cursor = Cursor::new(data);
        cursor.take(HEAP_SIZES)?;
        let heap_sizes = cursor.u8()?;
        cursor.u8()?;
        let valid = cursor.le_u64()?;
        let sorted = cursor.le_u64()?;
        let mut rows = [0u32; 64];
        let mut widths = Widths {
            rows: *external,
            heaps: heap_sizes,
            all_wide: wide,
        };
        for (number, rows) in rows.iter_mut().enumerate() {
            if valid >> number & 1 == 1 {
                let at = cursor.position();
                let count = cursor.le_u32()?;
                if schema::columns(number as u8).is_empty() {
                    let what = format!("unknown metadata table {number:#04x}");
                    return Err(Error::new(Kind::Unsupported, what));
                }
                if count > 0xff_ffff {
                    let what = format!("table {number:#04x} has {count} rows");
                    return Err(Error::malformed(at, what));
                }
                *rows = count;
                widths.rows[number] = widths.rows[number].max(count);
            }
        }
        if heap_sizes & heap_size::EXTRA_DATA != 0 {
            cursor.take(4)?;
        }
        let mut formats = [RowFormat::default(); table::COUNT];
        let mut offsets = [0; table::COUNT];
        for number in 0..table::COUNT {
            formats[number] = RowFormat::new(number as u8, &widths);
            offsets[number] = cursor.position();
            cursor.take(formats[number].row_size() * rows[number] as usize)?;
        }
        Ok(Tables {
            data,
            heap_sizes,
            sorted,
            valid,
            widths,
            rows,
            formats,
            offsets,
            indexes: std::array::from_fn(|_| OnceLock::new()),
        })
    }

    /// Rows of a table; none of an unknown one, which tokens in code may name.
    #[inline]
    pub fn rows(&self, table: u8) -> u32 {
        self.rows.get(usize::from(table)).copied().unwrap_or(0)
    }

    /// Whether a table says that it is sorted.
    pub fn is_sorted(&self, table: u8) -> bool {
        self.sorted >> table & 1 == 1
    }

    pub fn format(&self, table: u8) -> &RowFormat {
        &self.formats[usize::from(table)]
    }

    /// All rows of a table, as they stand.
    pub fn table_bytes(&self, table: u8) -> &'a [u8] {
        let start = self.offsets[usize::from(table)];
        &self.data[start..start + self.format(table).row_size() * self.rows(table) as usize]
    }

    /// Appends the stream's header with other heap sizes and row counts.
    pub fn put_header(&self, heap_sizes: u8, rows: &[u32; 64], out: &mut Vec<u8>) {
        let valid = (rows.iter().enumerate())
            .filter(|&(_, &count)| count > 0)
            .fold(self.valid, |valid, (number, _)| valid | 1 << number);
        // Reserved word, version, heap sizes, reserved byte.
        out.extend_from_slice(&self.data[..HEAP_SIZES]);
        // The bit for the word of unknown use goes with that word.
        out.push(heap_sizes & !heap_size::EXTRA_DATA);
        out.push(self.data[HEAP_SIZES + 1]);
        out.extend_from_slice(&valid.to_le_bytes());
        out.extend_from_slice(&self.sorted.to_le_bytes());
        for (number, count) in rows.iter().enumerate() {
            if valid >> number & 1 == 1 {
                out.extend_from_slice(&count.to_le_bytes());
            }
        }
    }

    /// The number of rows of each table.
    pub fn row_counts(&self) -> &[u32; 64] {
        &self.rows
    }

    /// A row; they are numbered from 1.
    #[inline]
    pub fn row(&self, table: u8, number: u32) -> Result<Row<'_>> {
        if number == 0 || number > self.rows(table) {
            return Err(self.no_row(table, number));
        }
        Ok(self.at(table, number))
    }

    /// A row that is known to exist.
    #[inline]
    fn at(&self, table: u8, number: u32) -> Row<'_> {
        let format = &self.formats[usize::from(table)];
        let size = format.row_size();
        let start = self.offsets[usize::from(table)] + (number as usize - 1) * size;
        Row {
            bytes: &self.data[start..start + size],
            format,
        }
    }

    #[cold]
    fn no_row(&self, table: u8, number: u32) -> Error {
        let rows = self.rows(table);
        let what = format!("row {number} of table {table:#04x}, which has {rows}");
        Error::malformed(0, what)
    }

    /// All rows of a table, in order.
    pub fn iter(&self, table: u8) -> impl ExactSizeIterator<Item = Row<'_>> + Clone {
        let format = &self.formats[usize::from(table)];
        self.table_bytes(table)
            // A table that no file can have has rows of no size, and no rows.
            .chunks_exact(format.row_size().max(1))
            .map(move |bytes| Row { bytes, format })
    }

    /// The rows whose `column` is `key`, in order, by binary search. For an unsorted table the column must always be the
    /// same: its index is kept.
    pub fn with_key(
        &self,
        table: u8,
        column: usize,
        key: u32,
    ) -> impl Iterator<Item = (u32, Row<'_>)> {
        let (sorted, index) = match self.is_sorted(table) {
            true => (
                self.first_with(table, column, key)..=self.rows(table),
                &[][..],
            ),
            #[allow(clippy::reversed_empty_ranges)]
            false => (1..=0, self.indexed(table, column, key)),
        };
        let sorted = sorted
            .map(move |number| (number, self.at(table, number)))
            .take_while(move |(_, row)| row.get(column) == key);
        let unsorted = index
            .iter()
            .map(move |&(_, row)| (row, self.at(table, row)));
        sorted.chain(unsorted)
    }

    /// The first row of a sorted table whose `column` is not below `key`.
    fn first_with(&self, table: u8, column: usize, key: u32) -> u32 {
        let (mut low, mut high) = (1, self.rows(table) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(table, middle).get(column) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Keys and rows whose `column` is `key`, of an unsorted table.
    pub fn indexed(&self, table: u8, column: usize, key: u32) -> &[(u32, u32)] {
        let index = self.indexes[usize::from(table)].get_or_init(|| {
            let keys = self.iter(table).map(|row| row.get(column));
            let mut index: Index = keys.zip(1..).collect();
            index.sort_unstable();
            index
        });
        let first = index.partition_point(|(k, _)| *k < key);
        let count = index[first..].partition_point(|(k, _)| *k == key);
        &index[first..first + count]
    }
}

/// A coded index taken apart: a token, or 0 for none.
#[inline]
pub fn decode(coded: &Coded, value: u32) -> Result<u32> {
    let tag = value & ((1 << coded.bits) - 1);
    let row = value >> coded.bits;
    match coded.tables.get(tag as usize) {
        _ if row == 0 => Ok(0),
        Some(&table) if table != schema::NONE && row <= 0xff_ffff => {
            Ok(u32::from(table) << 24 | row)
        }
        _ => Err(Error::new(
            Kind::Malformed,
            format!("coded index {value:#x} names no table"),
        )),
    }
}

/// A token as a coded index.
pub fn encode(coded: &Coded, token: u32) -> Option<u32> {
    let table = (token >> 24) as u8;
    let tag = coded.tables.iter().position(|&t| t == table)?;
    Some((token & 0xff_ffff) << coded.bits | tag as u32)
}

#[inline]
pub const fn token_table(token: u32) -> u8 {
    (token >> 24) as u8
}

#[inline]
pub const fn token_row(token: u32) -> u32 {
    token & 0xff_ffff
}

#[inline]
pub const fn token(table: u8, row: u32) -> u32 {
    (table as u32) << 24 | row
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::column::nested_class::{ENCLOSING, NESTED};

    fn nested(rows: &[[u16; 2]], sorted: u64) -> Vec<u8> {
        let mut data = vec![0, 0, 0, 0, 2, 0, 0, 1];
        data.extend_from_slice(&(1u64 << table::NESTED_CLASS).to_le_bytes());
        data.extend_from_slice(&sorted.to_le_bytes());
        data.extend_from_slice(&(rows.len() as u32).to_le_bytes());
        for value in rows.as_flattened() {
            data.extend_from_slice(&value.to_le_bytes());
        }
        data
    }

    fn found(tables: &Tables<'_>, key: u32) -> Vec<(u32, u32)> {
        let rows = tables.with_key(table::NESTED_CLASS, NESTED, key);
        rows.map(|(number, row)| (number, row.get(ENCLOSING)))
            .collect()
    }

    #[test]
    fn rows_are_found_by_their_key_whether_or_not_the_table_is_sorted() {
        let sorted = nested(&[[1, 9], [3, 7], [3, 8]], u64::MAX);
        let sorted = Tables::parse(&sorted, &[0; 64], false).unwrap();
        assert_eq!(found(&sorted, 3), [(2, 7), (3, 8)]);
        assert_eq!(found(&sorted, 2), []);
        let unsorted = nested(&[[3, 7], [1, 9], [3, 8]], 0);
        let unsorted = Tables::parse(&unsorted, &[0; 64], false).unwrap();
        assert_eq!(found(&unsorted, 3), [(1, 7), (3, 8)]);
        assert_eq!(found(&unsorted, 1), [(2, 9)]);
        assert_eq!(found(&unsorted, 0), []);
    }

    #[test]
    fn looking_up_every_row_of_an_unsorted_table_takes_no_time_out_of_proportion() {
        // One by one these would be 10^11 looks.
        let rows: Vec<[u16; 2]> = (0..320_000u32)
            .map(|n| [(n * 7 % 65_521) as u16, 1])
            .collect();
        let data = nested(&rows, 0);
        let tables = Tables::parse(&data, &[0; 64], false).unwrap();
        let all: usize = (0..320_000).map(|n| found(&tables, n).len()).sum();
        assert_eq!(all, rows.len());
    }
}
