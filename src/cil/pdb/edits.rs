//! Changes to a PDB when methods get other code.

use super::points;
use super::reader::Pdb;
use crate::bytes::u32_at;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{encode, token, token_row};
use crate::cil::rewrite::Rewritten;
use crate::edit::Layout;
use std::ops::Range;

/// Scopes of locals that became fields of a state machine:
/// 6DA9A61E-F8C7-4874-BE62-68BC5630DF71.
const HOISTED_SCOPES: [u8; 16] = [
    0x1e, 0xa6, 0xa9, 0x6d, 0xc7, 0xf8, 0x74, 0x48, 0xbe, 0x62, 0x68, 0xbc, 0x56, 0x30, 0xdf, 0x71,
];
/// Where an async method is suspended and goes on: 54FD2AC5-E925-401A-9C2A-F94F171072F8.
const ASYNC_STEPPING: [u8; 16] = [
    0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40, 0x9c, 0x2a, 0xf9, 0x4f, 0x17, 0x10, 0x72, 0xf8,
];

pub(super) struct NewBlob {
    /// The place of its method; blobs are written in this order.
    pub(super) order: u32,
    /// The row of the locals' signature, if the blob begins with one.
    pub(super) locals: Option<u32>,
    /// The rest of it, in [`Edits::bytes`].
    pub(super) rest: Range<usize>,
}

/// A row of `LocalScope` with its new beginning and length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MovedScope {
    pub row: u32,
    pub start: u32,
    pub len: u32,
}

/// What changes in a PDB; [`seal`] writes it.
#[derive(Default)]
pub struct Edits {
    pub(super) bytes: Vec<u8>,
    pub(super) blobs: Vec<NewBlob>,
    /// Rows of `MethodDebugInformation` and their new points: numbers of blobs, if they can be read.
    pub(super) points: Vec<(u32, Option<usize>)>,
    pub(super) scopes: Vec<MovedScope>,
    /// Rows of `CustomDebugInformation` and their new values: numbers of blobs.
    pub(super) information: Vec<(u32, usize)>,
    /// Methods, and those that get their bodies with all that belongs to them.
    pub(super) bodies: Vec<(u32, u32)>,
}

/// A method's new code, as far as positions go.
struct Moved<'m> {
    layout: &'m Layout,
    old_len: u32,
    new: &'m Rewritten,
}

impl Moved<'_> {
    fn start(&self, pc: u32) -> u32 {
        self.layout.start(pc)
    }

    /// The new range of an old one; the whole method stays the whole method.
    fn range(&self, start: u32, len: u32) -> (u32, u32) {
        let end = start.saturating_add(len).min(self.old_len);
        let start = start.min(end);
        if start == 0 && end == self.old_len {
            return (0, self.new.code_len);
        }
        let new = self.start(start);
        (new, self.start(end) - new)
    }
}

impl Edits {
    /// Moves the debugging information of a method (a `MethodDef` row) whose code of `old_len` bytes was rewritten.
    /// `order` is the method's place among the woven ones. Unreadable information is left out: it is no reason not to
    /// weave.
    pub fn method(
        &mut self,
        pdb: &Pdb<'_>,
        (order, method): (u32, u32),
        layout: &Layout,
        old_len: u32,
        new: &Rewritten,
    ) {
        let moved = Moved {
            layout,
            old_len,
            new,
        };
        if let Ok(Some((points, _))) = pdb.points(method) {
            let start = self.bytes.len();
            let place = |pc| (pc < old_len).then(|| moved.start(pc));
            let hidden = (new.own_end < new.code_len).then_some(new.own_end);
            let blob = match points::put_moved(&points, place, hidden, &mut self.bytes) {
                Ok(()) => Some(self.add_blob(order, Some(token_row(new.locals)), start)),
                Err(_) => {
                    self.bytes.truncate(start);
                    None
                }
            };
            self.points.push((method, blob));
        }
        self.move_scopes(pdb, method, &moved);
        self.move_information(pdb, (order, method), &moved);
    }

    /// A method's body becomes that of another one (`MethodDef` rows).
    pub fn move_body(&mut self, from: u32, to: u32) {
        self.bodies.push((from, to));
    }

    /// Adds the changes of other methods; `locals` gives their signatures' final rows.
    pub fn append(&mut self, other: Edits, locals: impl Fn(u32) -> u32) {
        let (bytes, blobs) = (self.bytes.len(), self.blobs.len());
        self.bytes.extend_from_slice(&other.bytes);
        let moved = other.blobs.into_iter().map(|blob| NewBlob {
            order: blob.order,
            locals: blob.locals.map(&locals),
            rest: blob.rest.start + bytes..blob.rest.end + bytes,
        });
        self.blobs.extend(moved);
        let points = other.points.into_iter();
        self.points
            .extend(points.map(|(row, blob)| (row, blob.map(|blob| blob + blobs))));
        self.scopes.extend(other.scopes);
        let information = other.information.into_iter();
        self.information
            .extend(information.map(|(row, blob)| (row, blob + blobs)));
        self.bodies.extend(other.bodies);
    }

    /// Makes the bytes from `start` on a blob; returns its number.
    fn add_blob(&mut self, order: u32, locals: Option<u32>, start: usize) -> usize {
        self.blobs.push(NewBlob {
            order,
            locals,
            rest: start..self.bytes.len(),
        });
        self.blobs.len() - 1
    }

    fn move_scopes(&mut self, pdb: &Pdb<'_>, method: u32, moved: &Moved<'_>) {
        use column::local_scope::{LENGTH, METHOD, START_OFFSET};
        let tables = &pdb.metadata.tables;
        for (number, row) in tables.with_key(table::LOCAL_SCOPE, METHOD, method) {
            let (start, len) = moved.range(row.get(START_OFFSET), row.get(LENGTH));
            self.scopes.push(MovedScope {
                row: number,
                start,
                len,
            });
        }
    }

    fn move_information(&mut self, pdb: &Pdb<'_>, (order, method): (u32, u32), moved: &Moved<'_>) {
        use column::custom_debug_information::{KIND, PARENT, VALUE};
        let parent = encode(
            &coded::HAS_CUSTOM_DEBUG_INFORMATION,
            token(table::METHOD_DEF, method),
        );
        let key = parent.expect("methods have such information");
        let metadata = &pdb.metadata;
        let rows = (metadata.tables).with_key(table::CUSTOM_DEBUG_INFORMATION, PARENT, key);
        for (number, row) in rows {
            let put = match metadata.guids.get(row.get(KIND)) {
                Ok(Some(&HOISTED_SCOPES)) => put_hoisted,
                Ok(Some(&ASYNC_STEPPING)) => put_stepping,
                _ => continue,
            };
            if let Ok(value) = metadata.blobs.get(row.get(VALUE)) {
                let start = self.bytes.len();
                put(value, moved, &mut self.bytes);
                let blob = self.add_blob(order, None, start);
                self.information.push((number, blob));
            }
        }
    }
}

/// Pairs of a beginning and a length; slots without a local are 0 and 0.
fn put_hoisted(value: &[u8], moved: &Moved<'_>, out: &mut Vec<u8>) {
    for pair in value.chunks_exact(8) {
        let (start, len) = match (u32_at(pair, 0), u32_at(pair, 4)) {
            (start, 0) => (start, 0),
            (start, len) => moved.range(start, len),
        };
        out.extend_from_slice(&start.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
    }
}

/// One more than the position of the handler that catches what `async void` throws, or 0; then, for
/// each await, where it is suspended, where it goes on, and in which method.
fn put_stepping(value: &[u8], moved: &Moved<'_>, out: &mut Vec<u8>) {
    let Some((handler, mut rest)) = value.split_at_checked(4) else {
        return;
    };
    let handler = match u32_at(handler, 0) {
        0 => 0,
        after => moved.start(after - 1).wrapping_add(1),
    };
    out.extend_from_slice(&handler.to_le_bytes());
    while let Some((pair, behind)) = rest.split_at_checked(8) {
        let Some((_, size)) = compressed(behind) else {
            return;
        };
        for pc in [u32_at(pair, 0), u32_at(pair, 4)] {
            out.extend_from_slice(&moved.start(pc).to_le_bytes());
        }
        out.extend_from_slice(&behind[..size]);
        rest = &behind[size..];
    }
}
