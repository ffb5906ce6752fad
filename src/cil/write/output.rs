//! The new file as a list of its pieces. Threads make windows of it when they hash and write them, so the whole file is
//! never in memory.

use crate::cil::metadata::pieces::Piece;
use crate::cil::run::{Run, gather};
use crate::cil::weave::bodies::{Bodies, Content, Framing};
use crate::cil::write::identity::{Identity, WINDOW, WindowDigest, overlay};
use crate::cil::write::sections::Kept;
use crate::error::Result;

/// Four bytes that change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    /// Where in the output.
    pub at: u32,
    /// The new value, little-endian.
    pub value: u32,
}

/// A new file that is not written yet.
pub struct Output<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) len: usize,
    /// Ascending, none over another.
    pub(crate) kept: Vec<Kept>,
    /// New bytes, by offset. Where two overlap, the later one wins.
    pub(crate) pieces: Vec<(usize, Piece<'a>)>,
    /// The new bodies, in parts, each ascending by offset.
    pub(crate) parts: Vec<Bodies>,
    pub(crate) framing: Framing,
    pub(crate) patches: Vec<Patch>,
    /// What follows from the rest, and is zeros at first.
    pub(crate) identity: Identity<'a>,
}

impl Patch {
    /// Four bytes at an offset, which lies in a section or in the headers.
    pub(crate) fn new(at: usize, value: u32) -> Patch {
        Patch {
            at: at as u32,
            value,
        }
    }
}

impl Output<'_> {
    /// The file's length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the file is empty; none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many windows the file has.
    pub fn windows(&self) -> usize {
        self.len.div_ceil(WINDOW)
    }

    /// Makes and hashes a window of the file; returns where it begins. The identity is still zeros; see [`Output::seal`].
    pub fn window(&self, number: usize, window: &mut Vec<u8>) -> (usize, WindowDigest) {
        let at = number * WINDOW;
        window.resize(WINDOW.min(self.len - at), 0);
        self.fill(at, window);
        (at, self.identity.digest(window))
    }

    /// Makes the file's bytes from `at` on, without the identity.
    pub(crate) fn fill(&self, at: usize, window: &mut [u8]) {
        debug_assert!(at + window.len() <= self.len);
        window.fill(0);
        let end = at + window.len();
        let begins = |start: u32| (start as usize) < end;
        let ends_before = |start: u32, len: u32| start as usize + len as usize <= at;
        let first = self.kept.partition_point(|k| ends_before(k.at, k.len));
        for k in self.kept[first..].iter().take_while(|k| begins(k.at)) {
            let from = k.from as usize;
            overlay(
                window,
                at,
                k.at as usize,
                &self.input[from..from + k.len as usize],
            );
        }
        for (start, piece) in &self.pieces {
            overlay(window, at, *start, piece);
        }
        // A body that is not in this window alone.
        let mut across = Vec::new();
        for part in &self.parts {
            let first = part.list.partition_point(|b| ends_before(b.at, b.len));
            for b in part.list[first..].iter().take_while(|b| begins(b.at)) {
                let (start, len) = (b.at as usize, b.len as usize);
                let framed = match b.content {
                    Content::Bytes(from) => {
                        overlay(window, at, start, &part.bytes[from as usize..][..len]);
                        continue;
                    }
                    Content::Framed(number) => number,
                };
                let put = |out: &mut [u8]| part.put_framed(framed, self.input, &self.framing, out);
                if start >= at && start + len <= end {
                    put(&mut window[start - at..][..len]);
                } else {
                    across.resize(len, 0);
                    put(&mut across);
                    overlay(window, at, start, &across);
                }
            }
        }
        // One may begin in front of the window.
        let first = self.patches.partition_point(|p| ends_before(p.at, 4));
        for p in self.patches[first..].iter().take_while(|p| begins(p.at)) {
            overlay(window, at, p.at as usize, &p.value.to_le_bytes());
        }
    }

    /// The identity as bytes to write over zeros: MVID, time stamp, checksum, signature. `windows` are all, in order.
    pub fn seal(&self, windows: &[WindowDigest]) -> Result<Vec<(usize, Vec<u8>)>> {
        (self.identity).seal(self.len, &|at, window| self.fill(at, window), windows)
    }

    /// Shows the file in windows, on any threads, each with its offset. The identity comes last, over zeros.
    pub fn write_on(
        &self,
        run: Run<'_>,
        write: &(dyn Fn(usize, &[u8]) -> Result<()> + Sync),
    ) -> Result<()> {
        let windows = gather(run, self.windows(), |number, scratch| {
            let (at, digest) = self.window(number, &mut scratch.window);
            write(at, &scratch.window)?;
            Ok(digest)
        })?;
        for (at, bytes) in self.seal(&windows)? {
            write(at, &bytes)?;
        }
        Ok(())
    }

    /// The whole file.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut file = Vec::with_capacity(self.len);
        let mut window = Vec::new();
        let mut digests = Vec::with_capacity(self.windows());
        for number in 0..self.windows() {
            digests.push(self.window(number, &mut window).1);
            file.extend_from_slice(&window);
        }
        for (at, bytes) in self.seal(&digests)? {
            file[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(file)
    }
}
