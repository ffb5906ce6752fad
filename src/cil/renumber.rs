//! Fields that were added in the middle of their table give those behind them new numbers: code that
//! names fields is patched.

use crate::cil::body::Body;
use crate::cil::image::Image;
use crate::cil::insn;
use crate::cil::metadata::additions::FieldMap;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::cil::output::{NewBody, Patch};
use crate::cil::scan::has_il;
use crate::cil::sections::{Sections, put};
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

/// Renumbers the fields that woven bodies name.
pub(super) fn new_bodies(
    parts: &mut [Vec<u8>],
    bodies: &[NewBody],
    fields: &FieldMap,
) -> Result<()> {
    for body in bodies {
        let start = body.start as usize;
        let bytes = &mut parts[body.part as usize][start..start + body.len as usize];
        let parsed = Body::parse(bytes, body.start)?;
        let code = parsed.code_offset..parsed.code_offset + parsed.code.len();
        let code = &mut bytes[code];
        let mut pc = 0;
        while (pc as usize) < code.len() {
            let found = insn::at(code, pc)?;
            pc = found.end();
            if let Some(new) = moved_field(code, found, fields) {
                put(code, pc as usize - 4, new);
            }
        }
    }
    Ok(())
}

/// What becomes of the fields that the bodies name which stay where they were; by offset.
pub(super) fn old_bodies(
    image: &Image<'_>,
    bodies: &[u32],
    sections: &Sections,
    fields: &FieldMap,
) -> Result<Vec<Patch>> {
    let mut patches = Vec::new();
    for &rva in bodies {
        let (_, body) = image.body(rva)?;
        let Some(start) = sections.offset_of(rva) else {
            continue;
        };
        let mut pc = 0;
        while (pc as usize) < body.code.len() {
            let found = insn::at(body.code, pc)?;
            pc = found.end();
            if let Some(value) = moved_field(body.code, found, fields) {
                let at = start + body.code_offset + pc as usize - 4;
                patches.push(Patch { at, value });
            }
        }
    }
    Ok(patches)
}

/// The new token of the field that an instruction names.
#[inline]
fn moved_field(code: &[u8], found: insn::Insn, fields: &FieldMap) -> Option<u32> {
    if !matches!(found.form, insn::Form::Token | insn::Form::TokenPrefix) {
        return None;
    }
    let old = found.token(code);
    (token_table(old) == table::FIELD)
        .then(|| token(table::FIELD, fields.row(token_row(old))))
        .filter(|new| *new != old)
}
