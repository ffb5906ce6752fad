//! Sequence points (Portable PDB v1.0, "Sequence Points Blob"): which source lines code came from.
//!
//! A record's first number is the distance in code from the record before it. The rest is lines and columns, which are
//! copied.

use crate::aspect::joinpoint::LineStart;
use crate::cil::metadata::heaps::{compressed, put_compressed};
use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The code at `pc` came from a place in the source, or from none (hidden).
    Point {
        /// Where in the code.
        pc: u32,
        /// Whether no line belongs to it.
        hidden: bool,
        /// Lines and columns, as they stand.
        span: &'a [u8],
    },
    /// The points behind are of this document (a row).
    Document(u32),
}

/// What precedes the records.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The first point's document, where the method has several.
    pub document: Option<u32>,
    records: &'a [u8],
}

fn cut_short() -> Error {
    Error::malformed(0, "sequence points cut short")
}

/// Takes a compressed number off the front.
fn number(bytes: &mut &[u8]) -> Result<u32> {
    let (value, size) = compressed(bytes).ok_or_else(cut_short)?;
    *bytes = &bytes[size..];
    Ok(value)
}

/// Takes a compressed signed number off the front (ECMA-335 II.23.2): its sign is the last bit.
fn signed(bytes: &mut &[u8]) -> Result<i32> {
    let (value, size) = compressed(bytes).ok_or_else(cut_short)?;
    *bytes = &bytes[size..];
    let bits = match size {
        1 => 6,
        2 => 13,
        _ => 28,
    };
    let magnitude = (value >> 1) as i32;
    Ok(match value & 1 {
        0 => magnitude,
        _ => magnitude - (1 << bits),
    })
}

impl<'a> Points<'a> {
    /// Reads a blob's header; `has_document` where the table names the method's one document.
    pub fn parse(mut blob: &'a [u8], has_document: bool) -> Result<Points<'a>> {
        let _locals = number(&mut blob)?;
        let document = if has_document {
            None
        } else {
            Some(number(&mut blob)?)
        };
        Ok(Points {
            document,
            records: blob,
        })
    }

    /// The records, in order.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'a>>> + use<'a> {
        let mut rest = self.records;
        let mut last = None;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let record = record(&mut rest, &mut last);
            if record.is_err() {
                rest = &[];
            }
            Some(record)
        })
    }

    /// Where lines begin, ascending, as far as they can be read; code without source is left out.
    pub fn lines(&self) -> Vec<LineStart> {
        let mut lines = Vec::new();
        let mut line: Option<u32> = None;
        for record in self.records().map_while(Result::ok) {
            let Record::Point {
                pc,
                hidden: false,
                mut span,
            } = record
            else {
                continue;
            };
            let mut read = || {
                let height = number(&mut span)?;
                // Without a height the width counts up.
                match height {
                    0 => number(&mut span)?,
                    _ => signed(&mut span)? as u32,
                };
                match line {
                    None => number(&mut span),
                    Some(last) => Ok(last.wrapping_add_signed(signed(&mut span)?)),
                }
            };
            let Ok(next) = read() else { break };
            line = Some(next);
            lines.push(LineStart { at: pc, line: next });
        }
        lines
    }

    /// The first line that is named, and its document if it is not the method's first.
    pub fn first_line(&self) -> Result<Option<(Option<u32>, u32)>> {
        let mut document = self.document;
        for record in self.records() {
            match record? {
                Record::Document(row) => document = Some(row),
                Record::Point { hidden: true, .. } => {}
                Record::Point { mut span, .. } => {
                    // Height and width; then the line, which is unsigned in the first point.
                    number(&mut span)?;
                    number(&mut span)?;
                    return Ok(Some((document, number(&mut span)?)));
                }
            }
        }
        Ok(None)
    }
}

fn record<'a>(rest: &mut &'a [u8], last: &mut Option<u32>) -> Result<Record<'a>> {
    let delta = number(rest)?;
    let pc = match *last {
        Some(_) if delta == 0 => return Ok(Record::Document(number(rest)?)),
        Some(pc) => pc
            .checked_add(delta)
            .ok_or_else(|| Error::malformed(0, "sequence point beyond any code"))?,
        None => delta,
    };
    *last = Some(pc);
    let start = *rest;
    let lines = number(rest)?;
    let columns = number(rest)?;
    let hidden = lines == 0 && columns == 0;
    if !hidden {
        number(rest)?;
        number(rest)?;
    }
    Ok(Record::Point {
        pc,
        hidden,
        span: &start[..start.len() - rest.len()],
    })
}

/// Writes points with new positions, without the locals' signature in front. `place` gives the new position of an old
/// one, or none behind the method's own code; `hidden_from` is where code without source begins.
pub fn put_moved(
    points: &Points<'_>,
    place: impl Fn(u32) -> Option<u32>,
    hidden_from: Option<u32>,
    out: &mut Vec<u8>,
) -> Result<()> {
    if let Some(document) = points.document {
        put_compressed(out, document);
    }
    let mut last = None;
    let mut put_pc = |pc: u32, out: &mut Vec<u8>| match last.replace(pc) {
        None => put_compressed(out, pc),
        Some(before) => put_compressed(out, pc - before),
    };
    let mut any = false;
    for record in points.records() {
        match record? {
            Record::Point { pc, span, .. } => {
                let Some(pc) = place(pc) else { break };
                put_pc(pc, out);
                out.extend_from_slice(span);
                any = true;
            }
            Record::Document(row) => {
                put_compressed(out, 0);
                put_compressed(out, row);
            }
        }
    }
    if let (Some(pc), true) = (hidden_from, any) {
        put_pc(pc, out);
        out.extend_from_slice(&[0, 0]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Locals 5; points at 0 (line 10), 3 (hidden), 7 (line 9, backwards).
    const BLOB: &[u8] = &[5, 0, 0, 4, 10, 9, 3, 0, 0, 4, 1, 2, 0x7f, 6];

    #[test]
    fn positions_move_and_lines_stay() {
        let points = Points::parse(BLOB, true).unwrap();
        assert_eq!(points.first_line().unwrap(), Some((None, 10)));
        let lines = points.lines().into_iter();
        let lines: Vec<_> = lines.map(|start| (start.at, start.line)).collect();
        assert_eq!(lines, [(0, 10), (7, 9)]);
        let mut out = vec![5];
        let place = |pc| Some(if pc == 0 { 0 } else { pc + 10 });
        put_moved(&points, place, Some(40), &mut out).unwrap();
        assert_eq!(
            out,
            [5, 0, 0, 4, 10, 9, 13, 0, 0, 4, 1, 2, 0x7f, 6, 23, 0, 0]
        );
        let moved = Points::parse(&out, true).unwrap();
        let pcs: Vec<_> = moved
            .records()
            .map(|r| match r.unwrap() {
                Record::Point { pc, hidden, .. } => (pc, hidden),
                Record::Document(_) => unreachable!(),
            })
            .collect();
        assert_eq!(pcs, [(0, false), (13, true), (17, false), (40, true)]);
    }

    #[test]
    fn documents_change_in_between() {
        // Document 2 first; a point, then document 3, then a point.
        let blob = [0, 2, 1, 0, 4, 10, 9, 0, 3, 4, 0, 4, 2, 0];
        let points = Points::parse(&blob, false).unwrap();
        assert_eq!(points.first_line().unwrap(), Some((Some(2), 10)));
        assert_eq!(
            points.records().nth(1).unwrap().unwrap(),
            Record::Document(3)
        );
        let mut out = vec![0];
        put_moved(&points, Some, None, &mut out).unwrap();
        assert_eq!(out, blob);
    }

    #[test]
    fn what_ends_too_early_is_an_error() {
        let points = Points::parse(&BLOB[..12], true).unwrap();
        insta::assert_snapshot!(
            points.records().last().unwrap().unwrap_err(),
            @"sequence points cut short (at byte 0x0)"
        );
        let beyond = Points::parse(&[0, 1, 0, 0, 0xdf, 0xff, 0xff, 0xff, 0, 0], true).unwrap();
        assert_eq!(beyond.records().filter(Result::is_ok).count(), 2);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(blob: Vec<u8>, has_document: bool, limit: u32) {
            if let Ok(points) = Points::parse(&blob, has_document) {
                let _ = points.first_line();
                let _ = points.lines();
                let _ = points.records().count();
                let place = |pc| (pc < limit).then_some(pc);
                let _ = put_moved(&points, place, Some(limit), &mut vec![]);
            }
        }
    }
}
