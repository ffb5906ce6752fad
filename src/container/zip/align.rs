//! Keeping stored members aligned, as `zipalign` left them.
//!
//! Android maps stored members straight from the archive: data must begin at a multiple of four,
//! native libraries at a page. When offsets shift, the local extra field is padded anew, in the
//! way the input was padded; a member that was not aligned is never touched.

use super::read::{Archive, WORD};
use super::record::{Fields, LOCAL_LEN, seal_local};
use super::{Member, Method};
use crate::bytes::u16_at;
use std::io;

/// The extra field that Android's tools pad with: the alignment (16 bits), then zeroes.
const EXTRA_ALIGNMENT: u16 = 0xd935;
/// Its length without padding: id, length, alignment.
const ALIGNMENT_LEN: usize = 6;

/// Page sizes to which native libraries are aligned, the larger first.
const PAGES: [usize; 2] = [16_384, 4_096];

/// How an archive pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// With the alignment extra field.
    Field,
    /// With zeroes at the end of the extra field.
    Zeroes,
}

/// The alignment of a member's data to keep; 1 for none.
pub fn alignment(archive: &Archive<'_>, member: &Member<'_>) -> usize {
    if !archive.is_aligned() || member.method() != Method::Stored || member.size() == 0 {
        return 1;
    }
    let at = member.data_offset();
    let library = member.raw_name().ends_with(b".so");
    let page = PAGES
        .into_iter()
        .find(|&page| at.is_multiple_of(page) && (library || declared(member) == Some(page)));
    page.unwrap_or(WORD)
}

/// The alignment of a new stored member.
pub fn alignment_of_new(archive: &Archive<'_>) -> usize {
    if archive.is_aligned() { WORD } else { 1 }
}

/// The alignment in the member's own extra field.
fn declared(member: &Member<'_>) -> Option<usize> {
    Fields(member.local_extra())
        .find(|f| f.id == Some(EXTRA_ALIGNMENT) && f.raw.len() >= ALIGNMENT_LEN)
        .map(|f| usize::from(u16_at(f.raw, 4)))
}

/// How an archive pads, by the first member that shows it.
pub fn style(archive: &Archive<'_>) -> Style {
    let shown = archive.members().iter().find_map(|m| {
        if declared(m).is_some() {
            return Some(Style::Field);
        }
        let zeroes = Fields(m.local_extra()).any(|f| is_zero_padding(f.id, f.raw));
        zeroes.then_some(Style::Zeroes)
    });
    shown.unwrap_or(Style::Field)
}

/// Zeroes that pad: what is left at the end, or four of them, which look like an empty field 0.
fn is_zero_padding(id: Option<u16>, raw: &[u8]) -> bool {
    (id.is_none() || (id == Some(0) && raw.len() == 4)) && raw.iter().all(|&b| b == 0)
}

/// Pads the extra field of a local header that will lie at `at`, so that the data after it is
/// aligned; old padding goes, all other fields stay. A header that has no room stays as it is.
pub fn pad(header: &mut Vec<u8>, at: u64, alignment: usize, style: Style) -> io::Result<()> {
    if alignment <= 1 || (at + header.len() as u64).is_multiple_of(alignment as u64) {
        return Ok(());
    }
    let name_end = LOCAL_LEN + usize::from(u16_at(header, 26));
    let mut extra = Vec::with_capacity(header.len() - name_end + alignment);
    for field in Fields(&header[name_end..]) {
        if field.id != Some(EXTRA_ALIGNMENT) && !is_zero_padding(field.id, field.raw) {
            extra.extend_from_slice(field.raw);
        }
    }
    let missing = |len: usize| {
        let end = at + (name_end + len) as u64;
        (end.next_multiple_of(alignment as u64) - end) as usize
    };
    match style {
        Style::Zeroes => extra.resize(extra.len() + missing(extra.len()), 0),
        Style::Field => {
            if missing(extra.len()) > 0 {
                let zeroes = missing(extra.len() + ALIGNMENT_LEN);
                extra.extend(EXTRA_ALIGNMENT.to_le_bytes());
                extra.extend(((ALIGNMENT_LEN - 4 + zeroes) as u16).to_le_bytes());
                extra.extend((alignment as u16).to_le_bytes());
                extra.resize(extra.len() + zeroes, 0);
            }
        }
    }
    if extra.len() <= usize::from(u16::MAX) {
        header.truncate(name_end);
        header.extend_from_slice(&extra);
        seal_local(header, name_end)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::record::{Entry, local_new};
    use super::*;

    #[test]
    fn padding_aligns_and_replaces_old_padding() {
        let entry = Entry {
            method: 0,
            crc32: 0,
            packed: 1,
            size: 1,
        };
        for style in [Style::Field, Style::Zeroes] {
            for alignment in [4, 4_096, 16_384] {
                let mut header = local_new("lib/x.so", &entry).unwrap();
                let plain = header.len();
                for at in (0..70_000).step_by(977) {
                    pad(&mut header, at, alignment, style).unwrap();
                    assert_eq!((at as usize + header.len()) % alignment, 0);
                    assert!(header.len() < plain + ALIGNMENT_LEN + alignment);
                    assert_eq!(
                        LOCAL_LEN + 8 + usize::from(u16_at(&header, 28)),
                        header.len()
                    );
                }
            }
        }
    }

    #[test]
    fn other_extra_fields_stay() {
        let entry = Entry {
            method: 0,
            crc32: 0,
            packed: 1,
            size: 1,
        };
        let mut header = local_new("a", &entry).unwrap();
        let name_end = header.len();
        let field = [0x55, 0x54, 1, 0, 9];
        header.extend_from_slice(&field);
        header.extend_from_slice(&[0; 3]);
        seal_local(&mut header, name_end).unwrap();
        for style in [Style::Zeroes, Style::Field] {
            for at in 0..8 {
                pad(&mut header, at, 4, style).unwrap();
                assert_eq!(&header[name_end..name_end + 5], field);
                assert_eq!((at as usize + header.len()) % 4, 0);
            }
        }
    }
}
