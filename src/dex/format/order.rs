//! Whether the id tables are sorted and without repetition, as the format demands ("string_ids" to "method_ids" of
//! its "File layout"). Android loads no file in which they are not.

use crate::bytes::{u16_at, u32_at};
use crate::dex::format::file::File;
use crate::dex::format::lookup::compare_strings;
use crate::error::{Error, Result};

/// Where the header has the offset of `string_ids`; those of the other tables follow every eight bytes.
const STRING_IDS_OFF: usize = 0x3c;

/// Refuses tables that are not sorted.
pub(crate) fn check(file: &File<'_>) -> Result<()> {
    let mut last = None;
    for i in 0..file.strings.len() {
        let text = file.string(i as u32)?;
        if last.is_some_and(|last| compare_strings(last, text).is_ge()) {
            return Err(unsorted(file, 0, i, 4));
        }
        last = Some(text);
    }
    // Indices order what they stand for, once the tables that they point into are sorted.
    ascending(file, 1, file.types, |a, b| Ok(u32_at(a, 0) < u32_at(b, 0)))?;
    ascending(file, 2, file.protos, |a, b| {
        let by_return = u32_at(a, 4).cmp(&u32_at(b, 4));
        Ok(by_return.is_lt()
            || by_return.is_eq() && {
                let parameters = |row| -> Result<_> {
                    let list = file.type_list(u32_at(row, 8))?.iter();
                    Ok(list.map(|ty| u16::from_le_bytes(*ty)))
                };
                parameters(a)?.lt(parameters(b)?)
            })
    })?;
    let key = |row: &[u8; 8]| (u16_at(row, 0), u32_at(row, 4), u16_at(row, 2));
    ascending(file, 3, file.fields, |a, b| Ok(key(a) < key(b)))?;
    ascending(file, 4, file.methods, |a, b| Ok(key(a) < key(b)))
}

/// Refuses a table in which not every row comes before the next one.
fn ascending<const N: usize>(
    file: &File<'_>,
    table: usize,
    rows: &[[u8; N]],
    before: impl Fn(&[u8; N], &[u8; N]) -> Result<bool>,
) -> Result<()> {
    for (i, pair) in rows.windows(2).enumerate() {
        if !before(&pair[0], &pair[1])? {
            return Err(unsorted(file, table, i + 1, N));
        }
    }
    Ok(())
}

#[cold]
fn unsorted(file: &File<'_>, table: usize, row: usize, size: usize) -> Error {
    let name = ["string", "type", "proto", "field", "method"][table];
    let rows = u32_at(&file.bytes[file.start..], STRING_IDS_OFF + 8 * table) as usize;
    let what = format!("{name} {row} does not come after the one in front of it");
    Error::malformed(rows + row * size, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::advice::Advice;
    use crate::aspect::plan::{Plan, Planned};
    use crate::dex::{Dex, Scratch, one_by_one, verify, weave};

    const EVERYTHING: &[u8] = include_bytes!("../../../tests/dex/everything.dex");

    fn find(bytes: &[u8]) -> Result<()> {
        check(&Dex::parse(bytes).unwrap().files[0])
    }

    /// The sample with two rows of a table exchanged, or the first one in place of both.
    fn broken(table: usize, size: usize, row: usize, twice: bool) -> Vec<u8> {
        let mut bytes = EVERYTHING.to_vec();
        let rows = u32_at(&bytes, STRING_IDS_OFF + 8 * table) as usize;
        let pair = &mut bytes[rows + row * size..rows + (row + 2) * size];
        match twice {
            true => pair.copy_within(..size, size),
            false => pair.rotate_left(size),
        }
        bytes
    }

    #[test]
    fn rows_out_of_order_and_repeated_ones_are_refused_in_every_table() {
        find(EVERYTHING).unwrap();
        let tables = [
            ("string", 4),
            ("type", 4),
            ("proto", 12),
            ("field", 8),
            ("method", 8),
        ];
        for (table, (name, size)) in tables.into_iter().enumerate() {
            let rows = u32_at(EVERYTHING, STRING_IDS_OFF - 4 + 8 * table) as usize;
            for row in 0..rows - 1 {
                for twice in [false, true] {
                    let told = find(&broken(table, size, row, twice)).unwrap_err();
                    let says = |row| {
                        told.to_string()
                            .starts_with(&format!("{name} {row} does not"))
                    };
                    assert!(says(row + 1), "{told}");
                }
            }
        }
    }

    #[test]
    fn weaving_and_verifying_tell() {
        let bytes = broken(4, 8, 1, false);
        let planned = Planned {
            ty: 0,
            index: 0,
            id: 1,
            advice: Advice::ALL,
            bound: None,
        };
        let dex = Dex::parse(&bytes).unwrap();
        let woven = weave(
            &dex,
            &Plan::new(vec![planned]),
            &mut Scratch::default(),
            &one_by_one,
        );
        let told = woven.err().unwrap().to_string();
        assert!(told.starts_with("method 2 does not come after"), "{told}");
        let verdict = verify::verify(&bytes);
        let told: Vec<_> = verdict.failures.iter().map(ToString::to_string).collect();
        assert!(
            told[0].starts_with("method 2 does not come after"),
            "{told:?}"
        );
    }
}
