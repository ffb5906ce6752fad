//! Instructions of ours, written one after the other.

use super::Snippet;
use super::job::Slots;
use crate::cil::insn::op;

/// Bytes of a short and of a long branch.
pub(super) const SHORT: u32 = 2;
pub(super) const LONG: u32 = 5;

/// What code is appended to.
pub(super) trait Code {
    /// Appends the first `len` bytes.
    fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize);
}

impl Code for Vec<u8> {
    fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        self.extend_from_slice(&bytes[..len]);
    }
}

/// A little code, in place: what is appended to it is copied as a whole, however little of it counts.
pub(super) struct Short {
    bytes: [u8; Short::ROOM],
    len: usize,
}

impl Short {
    const ROOM: usize = 80;

    pub(super) fn new() -> Short {
        Short {
            bytes: [0; Short::ROOM],
            len: 0,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Code for Short {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        self.bytes[self.len..self.len + N].copy_from_slice(&bytes);
        self.len += len;
    }
}

/// Appends our handlers.
#[inline]
pub(super) fn put_handlers(slots: Slots, exception: u32, error: Snippet, out: &mut impl Code) {
    let [a, b, c, d] = exception.to_le_bytes();
    out.put([op::ISINST as u8, a, b, c, d], 5);
    put_store(out, slots.exception);
    let [prefix, end_filter] = op::ENDFILTER.to_be_bytes();
    out.put([op::LDC_I4_0 as u8, prefix, end_filter, op::THROW as u8], 4);
    put_load(out, slots.exception);
    put_snippet(out, error);
    out.put([op::ENDFINALLY as u8], 1);
}

#[inline]
pub(super) fn put_snippet(out: &mut impl Code, snippet: Snippet) {
    out.put(snippet.bytes, usize::from(snippet.len));
}

/// Bytes of a load or store of a local.
pub(super) fn local_len(index: u32) -> u32 {
    match index {
        0..=3 => 1,
        4..=255 => 2,
        _ => 4,
    }
}

#[inline]
pub(super) fn put_store(out: &mut impl Code, index: u32) {
    put_local(out, op::STLOC_0, op::STLOC_S, op::STLOC, index);
}

#[inline]
pub(super) fn put_load(out: &mut impl Code, index: u32) {
    put_local(out, op::LDLOC_0, op::LDLOC_S, op::LDLOC, index);
}

#[inline]
fn put_local(out: &mut impl Code, zero: u16, short: u16, long: u16, index: u32) {
    let [low, high, ..] = index.to_le_bytes();
    let [prefix, second] = long.to_be_bytes();
    let bytes = match index {
        0..=3 => [zero as u8 + low, 0, 0, 0],
        4..=255 => [short as u8, low, 0, 0],
        _ => [prefix, second, low, high],
    };
    out.put(bytes, local_len(index) as usize);
}
