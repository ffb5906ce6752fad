//! Straight-line code: no branch back, and no call that may take long.

/// Whether code of `len` units is a straight line. `next` gives the position behind the instruction at a position, or `None`
/// where that instruction branches back, may take long, or cannot be decoded. Empty code is not a straight line.
pub fn is_straight_line(len: usize, next: impl Fn(u32) -> Option<u32>) -> bool {
    let mut pc = 0;
    while (pc as usize) < len {
        match next(pc) {
            Some(behind) => pc = behind,
            None => return false,
        }
    }
    len > 0
}
