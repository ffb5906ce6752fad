//! Metadata written anew: streams as they were with additions at their ends; tables copied whole where
//! no index changes its width, else row by row.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::additions::{Additions, FieldMap};
use crate::cil::metadata::schema::{self, Column, column, table};
use crate::cil::metadata::tables::{MAX_COLUMNS, Shape, Widths, heap_size};
use crate::error::Result;

/// New metadata, and where in it to patch.
pub struct Rebuilt {
    /// From the root's signature on.
    pub bytes: Vec<u8>,
    /// Offset of the address column of `MethodDef`'s first row, and the size of its rows.
    pub method_rvas: (usize, usize),
    /// Offset of the module's MVID.
    pub mvid: Option<usize>,
    /// Offset of the `Assembly` row, and its shape.
    pub assembly: Option<(usize, Shape)>,
}

impl Rebuilt {
    /// Gives a method's body another address.
    #[inline]
    pub fn set_rva(&mut self, method: u32, rva: u32) {
        let (first, size) = self.method_rvas;
        let at = first + (method as usize - 1) * size;
        self.bytes[at..at + 4].copy_from_slice(&rva.to_le_bytes());
    }

    /// Gives the assembly another public key (a blob).
    pub fn set_public_key(&mut self, blob: u32) {
        use crate::cil::metadata::schema::column::assembly::{FLAGS, PUBLIC_KEY};
        /// The row holds the whole key (II.23.1.2).
        const HAS_PUBLIC_KEY: u8 = 1;
        if let Some((row, shape)) = self.assembly {
            self.bytes[row + usize::from(shape.offsets[FLAGS])] |= HAS_PUBLIC_KEY;
            let column = usize::from(shape.offsets[PUBLIC_KEY]);
            let width = usize::from(shape.offsets[PUBLIC_KEY + 1]) - column;
            let at = row + column;
            self.bytes[at..at + width].copy_from_slice(&blob.to_le_bytes()[..width]);
        }
    }
}

/// Writes metadata with additions.
pub fn rebuild(
    metadata: &Metadata<'_>,
    additions: &Additions,
    fields: &FieldMap,
) -> Result<Rebuilt> {
    let tables = &metadata.tables;
    let rows = additions.counts();
    let strings = metadata.strings.data().len() + additions.strings().len();
    let blobs = metadata.blobs.data().len() + additions.blobs().len();
    let mut heaps = tables.heap_sizes;
    if strings > 0x1_0000 {
        heaps |= heap_size::STRINGS;
    }
    if blobs > 0x1_0000 {
        heaps |= heap_size::BLOB;
    }
    let widths = Widths {
        rows,
        heaps,
        all_wide: tables.widths.all_wide,
    };

    let root = &metadata.root;
    let table_stream = root
        .streams
        .iter()
        .position(|s| s.name == b"#~")
        .or_else(|| root.streams.iter().position(|s| s.name == b"#-"));
    let mut streams: Vec<(&[u8], &[u8], &[u8])> = Vec::with_capacity(root.streams.len() + 2);
    let mut pending = [
        (&b"#Strings"[..], additions.strings()),
        (b"#Blob", additions.blobs()),
    ];
    for stream in &root.streams {
        let addition = pending.iter_mut().find(|(name, _)| *name == stream.name);
        let addition = addition.map_or(&[][..], |(_, bytes)| std::mem::take(bytes));
        streams.push((stream.name, stream.data, addition));
    }
    streams.extend(
        pending
            .iter()
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|&(name, bytes)| (name, &[][..], bytes)),
    );

    let mut out = Vec::with_capacity(
        metadata.bytes.len() + metadata.bytes.len() / 8 + strings + blobs
            - metadata.strings.data().len()
            - metadata.blobs.data().len()
            + 4096,
    );
    // Signature, version numbers, the version's length and text.
    let head = 16 + root.version.len().next_multiple_of(4);
    out.extend_from_slice(&metadata.bytes[..head]);
    out.extend_from_slice(&root.flags.to_le_bytes());
    out.extend_from_slice(&(streams.len() as u16).to_le_bytes());
    let mut headers = out.len();
    for (name, ..) in &streams {
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(name);
        out.resize((out.len() + 1).next_multiple_of(4), 0);
    }

    let (mut method_rvas, mut mvid, mut assembly) = ((0, 0), None, None);
    for (number, (name, data, addition)) in streams.iter().enumerate() {
        let start = out.len();
        if Some(number) == table_stream {
            let mut starts = [0; table::COUNT];
            put_tables(metadata, additions, fields, &widths, &mut starts, &mut out);
            let shape = |number| Shape::new(number, &widths);
            let methods = shape(table::METHOD_DEF);
            let column = usize::from(methods.offsets[column::method_def::RVA]);
            let start = |number: u8| starts[usize::from(number)];
            method_rvas = (start(table::METHOD_DEF) + column, methods.row_size());
            assembly = (tables.rows(table::ASSEMBLY) > 0)
                .then(|| (start(table::ASSEMBLY), shape(table::ASSEMBLY)));
        } else {
            out.extend_from_slice(data);
            out.extend_from_slice(addition);
            if *name == b"#GUID" && mvid.is_none() {
                let index = tables
                    .row(table::MODULE, 1)
                    .map_or(0, |row| row.get(column::module::MVID));
                if metadata.guids.get(index)?.is_some() {
                    mvid = Some(start + (index as usize - 1) * 16);
                }
            }
        }
        out.resize(out.len().next_multiple_of(4), 0);
        let size = (out.len() - start) as u32;
        out[headers..headers + 4].copy_from_slice(&(start as u32).to_le_bytes());
        out[headers + 4..headers + 8].copy_from_slice(&size.to_le_bytes());
        headers += 8 + (name.len() + 1).next_multiple_of(4);
    }
    // CoreCLR wants every stream to begin inside, an empty one, too.
    if streams
        .last()
        .is_some_and(|(_, data, new)| data.is_empty() && new.is_empty())
    {
        out.extend_from_slice(&[0; 4]);
    }
    Ok(Rebuilt {
        bytes: out,
        method_rvas,
        mvid,
        assembly,
    })
}

/// Writes the tables stream; notes where each table begins.
fn put_tables(
    metadata: &Metadata<'_>,
    additions: &Additions,
    fields: &FieldMap,
    widths: &Widths,
    starts: &mut [usize; table::COUNT],
    out: &mut Vec<u8>,
) {
    let tables = &metadata.tables;
    let rows = &widths.rows;
    let valid = rows
        .iter()
        .enumerate()
        .filter(|&(_, &count)| count > 0)
        .fold(tables.valid, |valid, (number, _)| valid | 1 << number);
    let mut head = *tables.head();
    // The word of unknown use is left out: it is said to be there by this bit.
    head[6] = widths.heaps & !heap_size::EXTRA_DATA;
    out.extend_from_slice(&head);
    out.extend_from_slice(&valid.to_le_bytes());
    out.extend_from_slice(&tables.sorted.to_le_bytes());
    for (number, count) in rows.iter().enumerate() {
        if valid >> number & 1 == 1 {
            out.extend_from_slice(&count.to_le_bytes());
        }
    }
    for number in 0..table::COUNT as u8 {
        let shape = Shape::new(number, widths);
        starts[usize::from(number)] = out.len();
        let names_fields = !fields.is_empty()
            && (number == table::FIELD || schema::columns(number).iter().any(|&c| is_of_fields(c)));
        if shape == *tables.shape(number) && !names_fields {
            out.extend_from_slice(tables.table_bytes(number));
        } else {
            put_rows(metadata, number, &shape, fields, out);
        }
        for row in additions.rows_of(number) {
            put_row(&shape, row, out);
        }
    }
}

/// Whether a column can name a row of `Field`.
fn is_of_fields(column: Column) -> bool {
    match column {
        Column::Row(table) => table == table::FIELD,
        Column::Coded(coded) => coded.tables.contains(&table::FIELD),
        _ => false,
    }
}

/// Writes the old rows of a table in a new shape.
fn put_rows(
    metadata: &Metadata<'_>,
    number: u8,
    shape: &Shape,
    fields: &FieldMap,
    out: &mut Vec<u8>,
) {
    let columns = schema::columns(number);
    let moves = !fields.is_empty();
    let mut new_row = [0; MAX_COLUMNS];
    let mut position = 1;
    // Rows of fields move, those of what they are sorted among do not.
    let sorted_by = match number {
        _ if !moves || !metadata.tables.is_sorted(number) => None,
        table::CONSTANT => Some(column::constant::PARENT),
        table::CUSTOM_ATTRIBUTE => Some(column::custom_attribute::PARENT),
        table::FIELD_MARSHAL => Some(column::field_marshal::PARENT),
        _ => None,
    };
    let mut sorted = Vec::new();
    for row in metadata.tables.iter(number) {
        if number == table::FIELD {
            for added in fields.added_at(position) {
                put_row(shape, added, out);
            }
        }
        for (i, &column) in columns.iter().enumerate() {
            let value = row.get(i);
            new_row[i] = match column {
                _ if !moves => value,
                Column::Row(table::FIELD) if number == table::TYPE_DEF => {
                    fields.list(position, value)
                }
                Column::Row(table::FIELD) => fields.row(value),
                Column::Coded(coded) if is_of_fields(column) => {
                    let tag = value & ((1 << coded.bits) - 1);
                    match coded.tables.get(tag as usize) {
                        Some(&table::FIELD) => fields.row(value >> coded.bits) << coded.bits | tag,
                        _ => value,
                    }
                }
                _ => value,
            };
        }
        match sorted_by {
            Some(_) => sorted.push(new_row),
            None => put_row(shape, &new_row[..columns.len()], out),
        }
        position += 1;
    }
    if let Some(key) = sorted_by {
        sorted.sort_by_key(|row| row[key]);
        for row in &sorted {
            put_row(shape, &row[..columns.len()], out);
        }
    }
    if number == table::FIELD {
        for added in fields.added_at(position) {
            put_row(shape, added, out);
        }
    }
}

#[inline]
fn put_row(shape: &Shape, values: &[u32], out: &mut Vec<u8>) {
    let count = usize::from(shape.columns);
    for (pair, value) in shape.offsets[..=count].windows(2).zip(values) {
        match pair[1] - pair[0] {
            2 => out.extend_from_slice(&(*value as u16).to_le_bytes()),
            _ => out.extend_from_slice(&value.to_le_bytes()),
        }
    }
}
