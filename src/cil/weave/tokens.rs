//! Patches tokens in code. A field added in the middle of its table gives the fields behind it new rows.

use crate::bytes::put_le_u32;
use crate::cil::il::body::Body;
use crate::cil::il::insn;
use crate::cil::image::Image;
use crate::cil::metadata::field_map::FieldMap;
use crate::cil::metadata::flags::has_il;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::cil::weave::sites::OldBodies;
use crate::error::Result;

/// Whether every field that the code of these methods (`MethodDef` rows) names can be found. An unreadable body may be
/// decrypted when it runs, and would then name other fields.
pub(crate) fn is_possible(image: &Image<'_>, methods: impl Iterator<Item = u32>) -> bool {
    let tables = &image.metadata.tables;
    let mut bodies: Vec<u32> = methods
        .filter_map(|method| tables.row(table::METHOD_DEF, method).ok())
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

/// Where woven bodies have tokens that may change.
#[derive(Default)]
pub(crate) struct TokenPlaces {
    /// Of new signatures of locals.
    pub locals: Vec<u32>,
    /// Of fields.
    pub fields: Vec<u32>,
}

impl TokenPlaces {
    /// Finds the fields in bodies that follow one another, each at a multiple of four.
    pub fn of_fields(bodies: &[u8]) -> Result<TokenPlaces> {
        let mut places = TokenPlaces::default();
        let mut start = 0;
        while start < bodies.len() {
            let body = Body::parse(&bodies[start..], start as u32)?;
            let code = start + body.code_offset;
            let mut pc = 0;
            while let Some(at) = insn::next_token(body.code, &mut pc)? {
                if token_table(token_at(body.code, at)) == table::FIELD {
                    places.fields.push((code + at) as u32);
                }
            }
            start = (start + body.len).next_multiple_of(4);
        }
        Ok(places)
    }
}

/// Changes the tokens in woven bodies: of signatures of locals, and of fields that move.
pub(crate) fn new_bodies(
    bodies: &mut [u8],
    places: &TokenPlaces,
    locals: impl Fn(u32) -> u32,
    fields: &FieldMap,
) {
    for &at in &places.locals {
        let at = at as usize;
        let row = locals(token_row(token_at(bodies, at)));
        put_le_u32(bodies, at, token(table::STAND_ALONE_SIG, row));
    }
    if !fields.is_empty() {
        self::fields(bodies, &places.fields, fields);
    }
}

/// Changes the tokens of fields that move, given where in code they lie.
pub(crate) fn fields(code: &mut [u8], places: &[u32], fields: &FieldMap) {
    for &at in places {
        let at = at as usize;
        if let Some(new) = moved(token_at(code, at), fields) {
            put_le_u32(code, at, new);
        }
    }
}

/// The new tokens of fields in bodies that stay: address and token.
pub(crate) fn old_bodies(
    old: &OldBodies<'_, '_>,
    bodies: &[u32],
    fields: &FieldMap,
) -> Result<Vec<(u32, u32)>> {
    let mut changes = Vec::new();
    if fields.is_empty() {
        return Ok(changes);
    }
    for &rva in bodies {
        let body = old.body(rva)?.body;
        let mut pc = 0;
        while let Some(at) = insn::next_token(body.code, &mut pc)? {
            if let Some(new) = moved(token_at(body.code, at), fields) {
                changes.push((rva.saturating_add((body.code_offset + at) as u32), new));
            }
        }
    }
    Ok(changes)
}

#[inline]
fn moved(old: u32, fields: &FieldMap) -> Option<u32> {
    if token_table(old) != table::FIELD {
        return None;
    }
    let new = token(table::FIELD, fields.row(token_row(old)));
    (new != old).then_some(new)
}

#[inline]
fn token_at(code: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(code[at..at + 4].try_into().expect("four bytes"))
}
