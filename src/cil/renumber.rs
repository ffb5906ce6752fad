//! Fields that were added in the middle of their table give those behind them new numbers: code that
//! names fields is patched.

use crate::cil::body::{self, Body};
use crate::cil::image::Image;
use crate::cil::insn;
use crate::cil::metadata::additions::FieldMap;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row};
use crate::cil::scan::has_il;
use crate::cil::sections::put;
use crate::error::Result;

/// Whether every field that code names can be found. One unreadable body is enough to say no: what it
/// names once it is decrypted would be another field. `read` tells of which methods (`MethodDef` rows) that is
/// known already.
pub(super) fn is_possible(image: &Image<'_>, read: impl Fn(u32) -> bool) -> bool {
    let methods = image.metadata.tables.iter(table::METHOD_DEF);
    let mut bodies: Vec<u32> = (1..)
        .zip(methods)
        .filter(|(method, row)| !read(*method) && has_il(row))
        .map(|(_, row)| row.get(column::method_def::RVA))
        .collect();
    bodies.sort_unstable();
    bodies.dedup();
    bodies.iter().all(|&rva| {
        let body = image.body(rva);
        body.is_ok_and(|(_, body)| insn::tokens(body.code).all(|token| token.is_ok()))
    })
}

/// Changes the tokens in the woven bodies of a part, which begin at multiples of four: of signatures of locals, and of
/// fields that move.
pub(super) fn new_bodies(
    part: &mut [u8],
    locals: impl Fn(u32) -> u32,
    fields: &FieldMap,
) -> Result<()> {
    let mut start = 0;
    while start < part.len() {
        let bytes = &mut part[start..];
        body::change_locals(bytes, &locals);
        let body = Body::parse(bytes, start as u32)?;
        let code = body.code_offset..body.code_offset + body.code.len();
        start = (start + body.len).next_multiple_of(4);
        if fields.is_empty() {
            continue;
        }
        let code = &mut bytes[code];
        let mut pc = 0;
        while let Some(at) = insn::next_token(code, &mut pc)? {
            if let Some(new) = moved(code, at, fields) {
                put(code, at, new);
            }
        }
    }
    Ok(())
}

/// What becomes of the fields that the bodies name which stay where they were: addresses and new tokens.
pub(super) fn old_bodies(
    image: &Image<'_>,
    bodies: &[u32],
    fields: &FieldMap,
) -> Result<Vec<(u32, u32)>> {
    let mut changes = Vec::new();
    if fields.is_empty() {
        return Ok(changes);
    }
    for &rva in bodies {
        let (_, body) = image.body(rva)?;
        let mut pc = 0;
        while let Some(at) = insn::next_token(body.code, &mut pc)? {
            if let Some(new) = moved(body.code, at, fields) {
                changes.push((rva.saturating_add((body.code_offset + at) as u32), new));
            }
        }
    }
    Ok(changes)
}

/// The new token in place of one that names a field which moves.
#[inline]
fn moved(code: &[u8], at: usize, fields: &FieldMap) -> Option<u32> {
    if code[at + 3] != table::FIELD {
        return None;
    }
    let old = u32::from_le_bytes(code[at..at + 4].try_into().expect("four bytes"));
    let new = token(table::FIELD, fields.row(token_row(old)));
    (new != old).then_some(new)
}
