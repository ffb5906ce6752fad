//! The new PDB, and its traces in the image: CodeView id and stamp, checksum, the embedded copy.

use super::debug_directory::{CODE_VIEW_PATH, code_view_path, entries, kind};
use crate::cil::image::Image;
use crate::cil::metadata::field_map::FieldMap;
use crate::cil::metadata::generic_map::GenericMap;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::root::Headers;
use crate::cil::metadata::schema::{column, columns, table};
use crate::cil::metadata::tables::{MAX_COLUMNS, RowFormat, Widths, heap_size};
use crate::cil::metadata::writer::moved;
use crate::cil::pdb::edits::Edits;
use crate::cil::pdb::moves::Moves;
use crate::cil::pdb::reader::Pdb;
use crate::error::{Error, Kind, Result};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// Tables of an assembly that a PDB counts: all but those of `#-` and of edit-and-continue.
const COUNTED: u64 = {
    let mut tables = (1u64 << 0x2d) - 1;
    let left_out = [
        table::FIELD_PTR,
        table::METHOD_PTR,
        table::PARAM_PTR,
        table::EVENT_PTR,
        table::PROPERTY_PTR,
        table::ENC_LOG,
        table::ENC_MAP,
    ];
    let mut i = 0;
    while i < left_out.len() {
        tables &= !(1 << left_out[i]);
        i += 1;
    }
    tables
};

/// A debug directory entry that changes.
pub struct DebugEdit {
    /// Its number in the directory.
    pub number: usize,
    pub data: Vec<u8>,
    /// Its new time stamp, if that changes.
    pub stamp: Option<u32>,
}

/// A new PDB, and the changes to its image.
pub struct Sealed {
    /// The file, for the one that lies beside the image.
    pub bytes: Vec<u8>,
    /// New contents of debug directory entries.
    pub debug: Vec<DebugEdit>,
}

/// Writes a PDB with its changes. `rows` are those of the new image's tables, `moved` the new rows of its fields and type parameters. The id is made of the content: the same content has the same one.
pub fn seal(
    image: &Image<'_>,
    pdb: &Pdb<'_>,
    mut edits: Edits,
    rows: &[u32; 64],
    moved: (&FieldMap, &GenericMap),
) -> Result<Sealed> {
    let methods = image.metadata.tables.rows(table::METHOD_DEF);
    let (mut bytes, id_at) = rebuild(pdb, &mut edits, (rows, methods), moved)?;
    let hash = Sha256::digest(&bytes);
    let mut id = [0; 20];
    id.copy_from_slice(&hash[..20]);
    // The form of a random GUID (RFC 9562, version 4); the highest bit of the stamp says that it is no time.
    id[7] = id[7] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    id[19] |= 0x80;

    let mut debug = Vec::new();
    for (number, (entry, data)) in entries(image).enumerate() {
        match entry.kind {
            kind::CODE_VIEW => {
                debug.extend(code_view(number, data, &id, pdb.file_name));
            }
            kind::CHECKSUM => debug.push(DebugEdit {
                number,
                data: checksum(data, &bytes, &hash),
                stamp: None,
            }),
            _ => {}
        }
    }
    bytes[id_at..id_at + 20].copy_from_slice(&id);
    let embedded = entries(image).position(|(entry, _)| entry.kind == kind::EMBEDDED);
    if let Some(number) = embedded {
        debug.push(DebugEdit {
            number,
            data: pack(&bytes)?,
            stamp: None,
        });
    }
    Ok(Sealed { bytes, debug })
}

/// Gives an image another PDB id where its PDB is missing or not understood, so that no debugger uses the old PDB with the
/// new code.
pub fn unlink(image: &Image<'_>) -> Vec<DebugEdit> {
    let mut edits = Vec::new();
    for (number, (entry, data)) in entries(image).enumerate() {
        if entry.kind == kind::CODE_VIEW {
            let hash = Sha256::digest(data);
            let id = hash[..20].try_into().expect("twenty bytes");
            edits.extend(code_view(number, data, &id, None));
        }
    }
    edits
}

/// A CodeView entry with another id, and with another file name if one is given.
fn code_view(
    number: usize,
    data: &[u8],
    id: &[u8; 20],
    file_name: Option<&str>,
) -> Option<DebugEdit> {
    if !data.starts_with(b"RSDS") || data.len() < CODE_VIEW_PATH {
        return None;
    }
    let mut data = match (file_name, code_view_path(data)) {
        (Some(name), (directory, old)) if name.as_bytes() != old => {
            [&data[..CODE_VIEW_PATH], directory, name.as_bytes(), &[0]].concat()
        }
        _ => data.to_vec(),
    };
    data[4..20].copy_from_slice(&id[..16]);
    Some(DebugEdit {
        number,
        data,
        stamp: Some(u32::from_le_bytes(id[16..].try_into().expect("four bytes"))),
    })
}

/// The name of an algorithm, and the hash of the PDB with its id zeroed. SHA-256 where another is unknown.
fn checksum(old: &[u8], bytes: &[u8], sha256: &[u8]) -> Vec<u8> {
    let name = old.split(|&b| b == 0).next().unwrap_or_default();
    let (name, hash) = match name {
        b"SHA384" => (&b"SHA384\0"[..], Sha384::digest(bytes).to_vec()),
        b"SHA512" => (&b"SHA512\0"[..], Sha512::digest(bytes).to_vec()),
        _ => (&b"SHA256\0"[..], sha256.to_vec()),
    };
    [name, &hash].concat()
}

/// The data of an entry for an embedded PDB: signature, size, deflated bytes.
fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut deflate = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut data = vec![0; 8 + deflate.deflate_compress_bound(bytes.len())];
    data[..4].copy_from_slice(b"MPDB");
    data[4..8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    let packed = deflate
        .deflate_compress(bytes, &mut data[8..])
        .map_err(|_| Error::new(Kind::NotDone, "the embedded PDB cannot be packed"))?;
    data.truncate(8 + packed);
    Ok(data)
}

/// The new file with an id of zeros, and where that lies. `methods` are those of the old image.
fn rebuild(
    pdb: &Pdb<'_>,
    edits: &mut Edits,
    (rows, methods): (&[u32; 64], u32),
    moved: (&FieldMap, &GenericMap),
) -> Result<(Vec<u8>, usize)> {
    let metadata = &pdb.metadata;
    let root = &metadata.root;
    let tables = &metadata.tables;
    let stream = metadata.pdb.as_ref().expect("parse checked it");

    let mut widths = Widths {
        rows: [0; 64],
        heaps: tables.heap_sizes & !heap_size::EXTRA_DATA,
        all_wide: tables.widths.all_wide,
    };
    let mut counted = 0u64;
    for (number, &of_assembly) in rows.iter().enumerate() {
        widths.rows[number] = tables.rows(number as u8);
        if COUNTED >> number & 1 == 1 && of_assembly > 0 {
            counted |= 1 << number;
            widths.rows[number] = of_assembly;
        }
    }
    // A row for each method, of those that are new, too.
    let new_methods = match tables.rows(table::METHOD_DEBUG_INFORMATION) == methods {
        true => rows[usize::from(table::METHOD_DEF)].saturating_sub(methods),
        false => 0,
    };
    widths.rows[usize::from(table::METHOD_DEBUG_INFORMATION)] += new_methods;
    let (added, places) = blobs(pdb, edits);
    if metadata.blobs.data().len() + added.len() > 0x1_0000 {
        widths.heaps |= heap_size::BLOB;
    }
    let mut out = Vec::with_capacity(metadata.bytes.len() + added.len() + 4096);
    let mut headers = Headers::put(metadata, root.streams.iter().map(|s| s.name), &mut out);
    let mut id_at = None;
    let [of_pdb, of_blobs] = [&b"#Pdb"[..], b"#Blob"].map(|name| root.position(name));
    for (number, s) in root.streams.iter().enumerate() {
        let start = out.len();
        match Some(number) {
            n if n == of_pdb => {
                id_at = Some(start);
                out.extend_from_slice(&[0; 20]);
                out.extend_from_slice(&stream.entry_point.to_le_bytes());
                out.extend_from_slice(&counted.to_le_bytes());
                for (number, count) in rows.iter().enumerate() {
                    if counted >> number & 1 == 1 {
                        out.extend_from_slice(&count.to_le_bytes());
                    }
                }
            }
            n if n == root.tables() => {
                put_tables(pdb, edits, (&places, new_methods), &widths, moved, &mut out);
            }
            n if n == of_blobs => {
                out.extend_from_slice(s.data);
                out.extend_from_slice(&added);
            }
            _ => out.extend_from_slice(s.data),
        }
        out.resize(out.len().next_multiple_of(4), 0);
        headers.set(s.name, start..out.len(), &mut out);
    }
    match id_at {
        Some(at) if of_blobs.is_some() || added.is_empty() => Ok((out, at)),
        _ => Err(Error::new(Kind::Malformed, "a PDB without a #Blob stream")),
    }
}

/// The bytes behind `#Blob`, and the index of each new blob.
fn blobs(pdb: &Pdb<'_>, edits: &Edits) -> (Vec<u8>, Vec<u32>) {
    let base = pdb.metadata.blobs.data().len();
    let mut order: Vec<usize> = (0..edits.blobs.len()).collect();
    order.sort_by_key(|&number| edits.blobs[number].order);
    let mut added = Vec::with_capacity(edits.bytes.len() + 6 * order.len() + 1);
    let mut places = vec![0; order.len()];
    // Index 0 is the empty blob, in a new heap, too.
    if base == 0 && !order.is_empty() {
        added.push(0);
    }
    let mut locals = Vec::new();
    for number in order {
        let blob = &edits.blobs[number];
        locals.clear();
        if let Some(row) = blob.locals {
            put_compressed(&mut locals, row);
        }
        places[number] = (base + added.len()) as u32;
        put_compressed(&mut added, (locals.len() + blob.rest.len()) as u32);
        added.extend_from_slice(&locals);
        added.extend_from_slice(&edits.bytes[blob.rest.clone()]);
    }
    (added, places)
}

/// Writes the tables stream; `places` are the indices of new blobs, `new_methods` methods that the PDB has no rows of.
fn put_tables(
    pdb: &Pdb<'_>,
    edits: &mut Edits,
    (places, new_methods): (&[u32], u32),
    widths: &Widths,
    (fields, generics): (&FieldMap, &GenericMap),
    out: &mut Vec<u8>,
) {
    use column::method_debug_information::SEQUENCE_POINTS;
    use column::{custom_debug_information as information, local_scope as scope};
    let tables = &pdb.metadata.tables;
    let mut counts = *tables.row_counts();
    counts[usize::from(table::METHOD_DEBUG_INFORMATION)] += new_methods;
    tables.put_header(widths.heaps, &counts, out);
    edits.points.sort_unstable();
    edits.scopes.sort_unstable();
    edits.information.sort_unstable();
    let moves = Moves::new(pdb, edits);
    for number in 0..table::COUNT as u8 {
        let format = RowFormat::new(number, widths);
        let changes = match number {
            table::METHOD_DEBUG_INFORMATION => !edits.points.is_empty() || new_methods > 0,
            table::LOCAL_SCOPE => !edits.scopes.is_empty() || !moves.is_empty(),
            table::LOCAL_VARIABLE | table::LOCAL_CONSTANT => !moves.is_empty(),
            // Fields among its parents may have new rows.
            table::CUSTOM_DEBUG_INFORMATION => true,
            _ => false,
        };
        if !changes && format == *tables.format(number) {
            out.extend_from_slice(tables.table_bytes(number));
            continue;
        }
        let mut new_rows: Vec<[u32; MAX_COLUMNS]> =
            Vec::with_capacity(tables.rows(number) as usize);
        for row in tables.iter(number) {
            let mut values = [0; MAX_COLUMNS];
            for (i, value) in values[..columns(number).len()].iter_mut().enumerate() {
                *value = row.get(i);
            }
            new_rows.push(values);
        }
        match number {
            table::METHOD_DEBUG_INFORMATION => {
                for &(row, blob) in &edits.points {
                    new_rows[row as usize - 1][SEQUENCE_POINTS] =
                        blob.map_or(0, |blob| places[blob]);
                }
                new_rows.extend((0..new_methods).map(|_| [0; MAX_COLUMNS]));
                moves.move_points(&mut new_rows);
            }
            table::LOCAL_SCOPE => {
                for moved in &edits.scopes {
                    new_rows[moved.row as usize - 1][scope::START_OFFSET] = moved.start;
                    new_rows[moved.row as usize - 1][scope::LENGTH] = moved.len;
                }
                moves.move_scopes(&mut new_rows);
            }
            table::LOCAL_VARIABLE | table::LOCAL_CONSTANT => {
                moves.move_locals(number, &mut new_rows)
            }
            table::CUSTOM_DEBUG_INFORMATION => {
                for &(row, blob) in &edits.information {
                    new_rows[row as usize - 1][information::VALUE] = places[blob];
                }
                move_parents(&mut new_rows, (fields, generics), &moves);
            }
            _ => {}
        }
        for values in &new_rows {
            format.put_row(values, out);
        }
    }
}

/// Gives parents their new rows. The order is that of parents.
fn move_parents(
    rows: &mut [[u32; MAX_COLUMNS]],
    (fields, generics): (&FieldMap, &GenericMap),
    moves: &Moves,
) {
    use column::custom_debug_information::PARENT;
    let column = columns(table::CUSTOM_DEBUG_INFORMATION)[PARENT];
    let mut any = false;
    for row in rows.iter_mut() {
        let old = row[PARENT];
        let new = moves.parent(moved(column, old, fields));
        row[PARENT] = generics.moved(column, new);
        any |= row[PARENT] != old;
    }
    if any {
        rows.sort_by_key(|row| row[PARENT]);
    }
}
