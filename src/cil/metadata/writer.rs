//! Writes metadata anew: streams are copied, with additions at their ends; tables are copied if no index changes its
//! width, else written row by row.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::field_map::FieldMap;
use crate::cil::metadata::flags::impl_flag;
use crate::cil::metadata::generic_map::GenericMap;
use crate::cil::metadata::pieces::{Piece, Pieces};
use crate::cil::metadata::root::Headers;
use crate::cil::metadata::schema::{self, Column, column, table};
use crate::cil::metadata::tables::{MAX_COLUMNS, RowFormat, Widths, heap_size};
use crate::error::Result;

/// Where the rows of `MethodDef` are.
struct MethodPieces {
    /// The piece with the old ones.
    old: usize,
    /// How many these are.
    count: usize,
    /// The piece with the ones behind them.
    added: usize,
    format: RowFormat,
}

/// The new address of a method's body, and the flags that the method gets or loses.
pub struct PlacedBody {
    /// The method's row.
    pub method: u32,
    /// The address.
    pub rva: u32,
    /// It gets `NoInlining`.
    pub apart: bool,
    /// It loses `AggressiveInlining`.
    pub unmarked: bool,
    /// It loses `Async`: the runtime does not suspend it.
    pub unsuspended: bool,
}

/// New metadata, and where in it to patch.
pub struct Rebuilt<'a> {
    /// From the root's signature on; all streams begin at multiples of four.
    pub pieces: Pieces<'a>,
    /// Offset of the module's MVID, which is zeros.
    pub mvid: Option<usize>,
    methods: MethodPieces,
    /// The new rows of type parameters.
    pub generics: GenericMap,
    /// The piece with the `Assembly` row, and its format.
    assembly: Option<(usize, RowFormat)>,
}

impl Rebuilt<'_> {
    /// Gives methods' bodies other addresses.
    pub fn set_bodies(&mut self, bodies: impl Iterator<Item = PlacedBody>) {
        let MethodPieces {
            old,
            count,
            added: new,
            format,
        } = self.methods;
        let column = usize::from(format.offsets[column::method_def::RVA]);
        let flags = usize::from(format.offsets[column::method_def::IMPL_FLAGS]);
        let mut added = Vec::new();
        let rows = self.pieces.owned(old);
        let put = |rows: &mut [u8], row: usize, body: &PlacedBody| {
            let at = row * format.row_size();
            rows[at + column..at + column + 4].copy_from_slice(&body.rva.to_le_bytes());
            if body.apart {
                rows[at + flags] |= impl_flag::NO_INLINING as u8;
            }
            if body.unmarked {
                rows[at + flags + 1] &= !((impl_flag::AGGRESSIVE_INLINING >> 8) as u8);
            }
            if body.unsuspended {
                rows[at + flags + 1] &= !((impl_flag::ASYNC >> 8) as u8);
            }
        };
        for body in bodies {
            match (body.method as usize - 1).checked_sub(count) {
                None => put(rows, body.method as usize - 1, &body),
                Some(row) => added.push((row, body)),
            }
        }
        for (row, body) in added {
            put(self.pieces.owned(new), row, &body);
        }
    }

    /// Gives the assembly another public key (a blob).
    pub fn set_public_key(&mut self, blob: u32) {
        use crate::cil::metadata::schema::column::assembly::{FLAGS, PUBLIC_KEY};
        /// The row holds the whole key (II.23.1.2).
        const HAS_PUBLIC_KEY: u8 = 1;
        if let Some((piece, format)) = self.assembly {
            let row = self.pieces.owned(piece);
            row[usize::from(format.offsets[FLAGS])] |= HAS_PUBLIC_KEY;
            let at = usize::from(format.offsets[PUBLIC_KEY]);
            let width = usize::from(format.offsets[PUBLIC_KEY + 1]) - at;
            row[at..at + width].copy_from_slice(&blob.to_le_bytes()[..width]);
        }
    }
}

/// Makes metadata with additions.
pub fn rebuild<'a>(
    metadata: &Metadata<'a>,
    mut additions: Additions,
    fields: &FieldMap,
) -> Result<Rebuilt<'a>> {
    let tables = &metadata.tables;
    let widths = widths(metadata, &additions);
    let mvid_index = tables
        .row(table::MODULE, 1)
        .map_or(0, |row| row.get(column::module::MVID));

    let mut rebuilt = Rebuilt {
        pieces: Pieces::default(),
        mvid: None,
        methods: MethodPieces {
            old: 0,
            count: tables.rows(table::METHOD_DEF) as usize,
            added: 0,
            format: RowFormat::new(table::METHOD_DEF, &widths),
        },
        generics: GenericMap::new(metadata, &additions),
        assembly: None,
    };
    let root = &metadata.root;
    let (table_stream, guid_stream) = (root.tables(), root.position(b"#GUID"));
    let mut pending = additions.take_heaps();
    // New heaps come last.
    let mut streams: Vec<(&[u8], &'a [u8], Vec<u8>)> = Vec::with_capacity(root.streams.len() + 2);
    for (number, stream) in root.streams.iter().enumerate() {
        let addition = (pending.iter_mut()).find(|(name, _)| root.position(name) == Some(number));
        let addition = addition.map_or(vec![], |(_, bytes)| std::mem::take(bytes));
        streams.push((stream.name, stream.data, addition));
    }
    streams.extend(
        (pending.into_iter())
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|(name, bytes)| (name, &[][..], bytes)),
    );

    let mut head = Vec::new();
    let mut headers = Headers::put(metadata, streams.iter().map(|(name, ..)| *name), &mut head);
    let head = rebuilt.pieces.push(Piece::Owned(head));

    // CoreCLR demands that every stream begins inside, even an empty one.
    let ends_empty =
        (streams.last()).is_some_and(|(_, data, new)| data.is_empty() && new.is_empty());
    for (number, (name, data, addition)) in streams.into_iter().enumerate() {
        let pieces = &mut rebuilt.pieces;
        let start = pieces.len();
        if Some(number) == table_stream {
            put_tables(metadata, &additions, fields, &widths, &mut rebuilt);
        } else {
            let mvid = match Some(number) == guid_stream {
                true => metadata.guids.get(mvid_index)?,
                false => None,
            };
            if mvid.is_some() {
                let at = (mvid_index as usize - 1) * 16;
                let mut guids = data.to_vec();
                guids[at..at + 16].fill(0);
                rebuilt.mvid = Some(start + at);
                pieces.push(Piece::Owned(guids));
            } else {
                pieces.push(Piece::Borrowed(data));
            }
            pieces.push(Piece::Owned(addition));
        }
        let pieces = &mut rebuilt.pieces;
        pieces.align(4);
        headers.set(name, start..pieces.len(), pieces.owned(head));
    }
    if ends_empty {
        rebuilt.pieces.push(Piece::Borrowed(&[0; 4]));
    }
    Ok(rebuilt)
}

/// The widths of columns that reach the additions.
fn widths(metadata: &Metadata<'_>, additions: &Additions) -> Widths {
    let strings = metadata.strings.data().len() + additions.strings().len();
    let blobs = metadata.blobs.data().len() + additions.blobs().len();
    let mut heaps = metadata.tables.heap_sizes;
    if strings > 0x1_0000 {
        heaps |= heap_size::STRINGS;
    }
    if blobs > 0x1_0000 {
        heaps |= heap_size::BLOB;
    }
    Widths {
        rows: additions.counts(),
        heaps,
        all_wide: metadata.tables.widths.all_wide,
    }
}

/// Adds the tables stream.
fn put_tables<'a>(
    metadata: &Metadata<'a>,
    additions: &Additions,
    fields: &FieldMap,
    widths: &Widths,
    rebuilt: &mut Rebuilt<'a>,
) {
    let tables = &metadata.tables;
    let mut head = Vec::new();
    tables.put_header(widths.heaps, &widths.rows, &mut head);
    rebuilt.pieces.push(Piece::Owned(head));
    for number in 0..table::COUNT as u8 {
        let format = RowFormat::new(number, widths);
        if let Some(key) = rebuilt.generics.key(number) {
            let rows = all_rows(
                (metadata, additions),
                number,
                (&format, key),
                fields,
                &rebuilt.generics,
            );
            rebuilt.pieces.push(Piece::Owned(rows));
            continue;
        }
        let names_fields = !fields.is_empty()
            && (number == table::FIELD || schema::columns(number).iter().any(|&c| is_of_fields(c)));
        let old = tables.table_bytes(number);
        let piece = match format == *tables.format(number) && !names_fields {
            true if number == table::METHOD_DEF || number == table::ASSEMBLY => {
                Piece::Owned(old.to_vec())
            }
            true => Piece::Borrowed(old),
            false => Piece::Owned(old_rows(metadata, number, &format, fields)),
        };
        let piece = rebuilt.pieces.push(piece);
        match number {
            table::METHOD_DEF => rebuilt.methods.old = piece,
            table::ASSEMBLY if !old.is_empty() => rebuilt.assembly = Some((piece, format)),
            _ => {}
        }
        let mut new = Vec::new();
        for row in additions.rows_of(number) {
            match (number, row) {
                // Its fields are behind all others.
                (table::TYPE_DEF, &[a, b, c, d, fields_at, e]) => {
                    let fields_at = fields_at + fields.added() as u32;
                    format.put_row(&[a, b, c, d, fields_at, e], &mut new);
                }
                _ => format.put_row(row, &mut new),
            }
        }
        let piece = rebuilt.pieces.push(Piece::Owned(new));
        if number == table::METHOD_DEF {
            rebuilt.methods.added = piece;
        }
    }
}

/// All rows of a table that type parameters decide the order of, old and new.
fn all_rows(
    (metadata, additions): (&Metadata<'_>, &Additions),
    number: u8,
    (format, key): (&RowFormat, usize),
    fields: &FieldMap,
    generics: &GenericMap,
) -> Vec<u8> {
    let mut rows = old_rows(metadata, number, format, fields);
    for row in additions.rows_of(number) {
        format.put_row(row, &mut rows);
    }
    let place = |column: usize| {
        usize::from(format.offsets[column])..usize::from(format.offsets[column + 1])
    };
    let was_sorted =
        (rows.chunks_exact(format.row_size())).is_sorted_by_key(|row| index(&row[place(key)]));
    for (i, &column) in schema::columns(number).iter().enumerate() {
        for row in rows.chunks_exact_mut(format.row_size()) {
            let value = &mut row[place(i)];
            let new = generics.moved(column, index(value)).to_le_bytes();
            value.copy_from_slice(&new[..value.len()]);
        }
    }
    if number == table::CUSTOM_ATTRIBUTE && !was_sorted {
        return rows;
    }
    let mut sorted: Vec<&[u8]> = rows.chunks_exact(format.row_size()).collect();
    sorted.sort_by_key(|row| index(&row[place(key)]));
    sorted.concat()
}

/// Whether a column can name a row of `Field`.
fn is_of_fields(column: Column) -> bool {
    match column {
        Column::Row(table) => table == table::FIELD,
        Column::Coded(coded) => coded.tables.contains(&table::FIELD),
        _ => false,
    }
}

/// The old rows of a table in a new format, with the fields' new numbers.
fn old_rows(metadata: &Metadata<'_>, number: u8, format: &RowFormat, fields: &FieldMap) -> Vec<u8> {
    let tables = &metadata.tables;
    let takes_rows = number == table::FIELD || number == table::TYPE_DEF;
    let mut rows = match *format == *tables.format(number) && !takes_rows {
        true => {
            let mut rows = tables.table_bytes(number).to_vec();
            move_fields(number, format, fields, &mut rows);
            rows
        }
        false => {
            let count = tables.rows(number) as usize + fields.added();
            let mut rows = Vec::with_capacity(format.row_size() * count);
            put_rows(metadata, number, format, fields, &mut rows);
            rows
        }
    };
    // The rows of fields move among those of other tables, so the sort key changes.
    let key = match number {
        _ if fields.is_empty() => None,
        table::CONSTANT => Some(column::constant::PARENT),
        table::CUSTOM_ATTRIBUTE => Some(column::custom_attribute::PARENT),
        table::FIELD_MARSHAL => Some(column::field_marshal::PARENT),
        table::IMPL_MAP => Some(column::impl_map::MEMBER_FORWARDED),
        _ => None,
    };
    if let Some(key) = key
        && (tables.is_sorted(number) || tables.iter(number).is_sorted_by_key(|row| row.get(key)))
    {
        sort(&mut rows, format, key, schema::columns(number)[key]);
    }
    rows
}

/// Sorts rows by a column, stably. They were sorted until fields moved.
fn sort(rows: &mut Vec<u8>, format: &RowFormat, key: usize, column: Column) {
    let (start, end) = (format.offsets[key].into(), format.offsets[key + 1].into());
    let key = |row: &[u8]| index(&row[start..end]);
    let old = rows.chunks_exact(format.row_size());
    if old.clone().is_sorted_by_key(key) {
        return;
    }
    // Fields kept their order among themselves, and so did the others: merge them.
    let names_field = |row: &&[u8]| names_field(column, key(row));
    let mut fields = old.clone().filter(names_field).peekable();
    let mut others = old.clone().filter(|row| !names_field(row)).peekable();
    let mut sorted = Vec::with_capacity(rows.len());
    while let Some(row) = match (fields.peek(), others.peek()) {
        (Some(field), Some(other)) if key(field) < key(other) => fields.next(),
        (_, Some(_)) => others.next(),
        _ => fields.next(),
    } {
        sorted.extend_from_slice(row);
    }
    let new = sorted.chunks_exact(format.row_size());
    if !new.clone().is_sorted_by_key(key) {
        // The input said that its rows are sorted, and they were not.
        let mut new: Vec<&[u8]> = old.collect();
        new.sort_by_key(|row| key(row));
        sorted = new.concat();
    }
    *rows = sorted;
}

/// An index of two bytes or four.
#[inline]
fn index(bytes: &[u8]) -> u32 {
    match *bytes {
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => u32::from(bytes[0]) | u32::from(bytes[1]) << 8,
    }
}

/// Gives the fields that rows name their new numbers.
fn move_fields(number: u8, format: &RowFormat, fields: &FieldMap, rows: &mut [u8]) {
    let columns = schema::columns(number).iter().enumerate();
    for (i, &column) in columns.filter(|&(_, &column)| is_of_fields(column)) {
        let (start, end) = (format.offsets[i].into(), format.offsets[i + 1].into());
        for row in rows.chunks_exact_mut(format.row_size()) {
            let value: &mut [u8] = &mut row[start..end];
            let new = moved(column, index(value), fields).to_le_bytes();
            value.copy_from_slice(&new[..value.len()]);
        }
    }
}

/// Whether a column's value is a row of `Field`.
fn names_field(column: Column, value: u32) -> bool {
    match column {
        Column::Coded(coded) => {
            let tag = value & ((1 << coded.bits) - 1);
            coded.tables.get(tag as usize) == Some(&table::FIELD)
        }
        column => is_of_fields(column),
    }
}

/// The value of a column once fields have moved.
#[inline]
pub fn moved(column: Column, value: u32, fields: &FieldMap) -> u32 {
    match column {
        Column::Row(table::FIELD) => fields.row(value),
        Column::Coded(coded) => {
            let tag = value & ((1 << coded.bits) - 1);
            match coded.tables.get(tag as usize) {
                Some(&table::FIELD) => fields.row(value >> coded.bits) << coded.bits | tag,
                _ => value,
            }
        }
        _ => value,
    }
}

/// Writes the old rows of a table, one by one.
fn put_rows(
    metadata: &Metadata<'_>,
    number: u8,
    format: &RowFormat,
    fields: &FieldMap,
    out: &mut Vec<u8>,
) {
    let columns = schema::columns(number);
    let moves = !fields.is_empty();
    let mut new_row = [0; MAX_COLUMNS];
    let mut position = 1;
    for row in metadata.tables.iter(number) {
        if number == table::FIELD {
            for added in fields.added_at(position) {
                format.put_row(added, out);
            }
        }
        for (i, &column) in columns.iter().enumerate() {
            let value = row.get(i);
            new_row[i] = match column {
                _ if !moves => value,
                Column::Row(table::FIELD) if number == table::TYPE_DEF => {
                    fields.list(position, value)
                }
                _ if is_of_fields(column) => moved(column, value, fields),
                _ => value,
            };
        }
        format.put_row(&new_row[..columns.len()], out);
        position += 1;
    }
    if number == table::FIELD {
        for added in fields.added_at(position) {
            format.put_row(added, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_whose_fields_moved_are_sorted_again() {
        let widths = Widths {
            rows: [1; 64],
            heaps: 0,
            all_wide: false,
        };
        let format = RowFormat::new(table::CONSTANT, &widths);
        let (key, column) = (
            column::constant::PARENT,
            schema::columns(table::CONSTANT)[column::constant::PARENT],
        );
        // HasConstant: Field is 0, Param 1, Property 2 (II.24.2.6). The value identifies rows.
        let (field, param) = (|row: u32| row << 2, |row: u32| row << 2 | 1);
        let sorted = |parents: &[u32]| {
            let mut rows = Vec::new();
            for (number, &parent) in parents.iter().enumerate() {
                format.put_row(&[0, parent, number as u32], &mut rows);
            }
            sort(&mut rows, &format, key, column);
            let value = |row: &[u8], column: usize| {
                let (start, end) = (format.offsets[column], format.offsets[column + 1]);
                index(&row[start.into()..end.into()])
            };
            let rows = rows.chunks_exact(format.row_size());
            rows.map(|row| (value(row, key), value(row, column::constant::VALUE)))
                .collect::<Vec<_>>()
        };
        for parents in [
            // The fields 2 and 3 have become 4 and 5.
            vec![
                field(1),
                param(1),
                field(4),
                param(2),
                field(5),
                param(3),
                param(6),
            ],
            vec![field(1), param(1), param(2)],
            // Two constants of one parent, and fields last.
            vec![param(1), field(9), field(9), param(2)],
            // Not sorted from the beginning.
            vec![param(3), field(2), param(1), field(1)],
            vec![],
        ] {
            let columns = parents.iter().copied();
            let mut expected: Vec<(u32, u32)> = columns.zip(0..).collect();
            expected.sort_unstable();
            assert_eq!(sorted(&parents), expected, "{parents:?}");
        }
    }
}
