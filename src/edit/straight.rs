//! Code that takes no longer than it is.

/// Whether code of that length is a straight line. `next` gives where the instruction behind one at a position begins; nothing
/// behind one that may take longer, or goes back, or cannot be read. Code without instructions is no line.
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
