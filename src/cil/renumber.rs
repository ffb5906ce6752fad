//! Fields that were added in the middle of their table give those behind them new numbers: code that
//! names fields is patched.

use crate::cil::body::Body;
use crate::cil::image::Image;
use crate::cil::insn;
use crate::cil::metadata::additions::FieldMap;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::cil::scan::has_il;
use crate::cil::sections::{Sections, put};
use crate::error::Result;
use std::ops::Range;

/// Whether every field that code names can be found. One unreadable body is enough to say no: what it
/// names once it is decrypted would be another field.
pub(super) fn is_possible(image: &Image<'_>) -> bool {
    let methods = image.metadata.tables.iter(table::METHOD_DEF);
    let mut bodies: Vec<u32> = methods
        .filter(has_il)
        .map(|row| row.get(column::method_def::RVA))
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
    bodies: &mut [u8],
    methods: &[(u32, Range<usize>)],
    fields: &FieldMap,
) -> Result<()> {
    for (_, range) in methods {
        let start = range.start;
        let body = Body::parse(&bodies[range.clone()], start as u32)?;
        let code = start + body.code_offset..start + body.code_offset + body.code.len();
        patch_fields(&mut bodies[code], fields)?;
    }
    Ok(())
}

/// Renumbers the fields that the bodies name which stay where they were.
pub(super) fn old_bodies(
    image: &Image<'_>,
    bodies: &[u32],
    sections: &Sections,
    fields: &FieldMap,
    out: &mut [u8],
) -> Result<()> {
    for &rva in bodies {
        let (_, body) = image.body(rva)?;
        if let Some(start) = sections.offset_of(rva) {
            let code = start + body.code_offset..start + body.code_offset + body.code.len();
            patch_fields(&mut out[code], fields)?;
        }
    }
    Ok(())
}

fn patch_fields(code: &mut [u8], fields: &FieldMap) -> Result<()> {
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let found = insn::at(code, pc)?;
        pc = found.end();
        if matches!(found.form, insn::Form::Token | insn::Form::TokenPrefix) {
            let old = found.token(code);
            if token_table(old) == table::FIELD {
                put(
                    code,
                    pc as usize - 4,
                    token(table::FIELD, fields.row(token_row(old))),
                );
            }
        }
    }
    Ok(())
}
