//! The new file as what it consists of: windows of it are made when they are hashed and written, on any thread, so that
//! it is never in memory as a whole.

use crate::cil::identity::{Identity, WINDOW, WindowDigest};
use crate::cil::metadata::additions::FieldMap;
use crate::cil::pieces::Piece;
use crate::cil::renumber;
use crate::cil::rewrite::{Frame, Hooks};
use crate::error::Result;

/// A range of the input that stays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Where it lies in the output.
    pub at: u32,
    /// Where it lies in the input.
    pub from: u32,
    /// Its bytes.
    pub len: u32,
}

/// A method's new body.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewBody {
    /// The `MethodDef` row.
    pub method: u32,
    /// What it consists of, in its part.
    pub content: Content,
    /// Its bytes.
    pub len: u32,
    /// Bytes of the old body.
    pub old_len: u32,
    /// Where it goes in the output, once that is known.
    pub at: u32,
}

/// What a new body consists of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// Bytes, from here on.
    Bytes(u32),
    /// A frame around the old code: its number.
    Framed(u32),
}

/// New bodies.
#[derive(Default)]
pub(super) struct Bodies {
    pub list: Vec<NewBody>,
    /// Those that were written, one after the other, each at a multiple of four.
    pub bytes: Vec<u8>,
    /// Those that are not, until the file is.
    pub frames: Vec<Framed>,
    /// Where in the code of those the tokens of fields lie, which may change.
    pub fields: Vec<u32>,
}

/// Old code in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framed {
    pub frame: Frame,
    /// Where the code lies in the input.
    pub from: u32,
    /// Where its fields end among the part's; those of the one before end where they begin.
    pub fields_end: u32,
}

/// What is the same for all bodies that are a frame around old code.
pub(super) struct Framing {
    pub hooks: Hooks,
    /// Where fields go.
    pub fields: FieldMap,
}

impl Bodies {
    /// Makes a body that is a frame around code of the input; there is room for just as much.
    fn put_framed(&self, number: u32, input: &[u8], framing: &Framing, out: &mut [u8]) {
        let number = number as usize;
        let framed = &self.frames[number];
        let old = &input[framed.from as usize..];
        framed.frame.put(old, &framing.hooks, out);
        if framing.fields.is_empty() {
            return;
        }
        let first = match number {
            0 => 0,
            _ => self.frames[number - 1].fields_end,
        };
        let fields = &self.fields[first as usize..framed.fields_end as usize];
        renumber::fields(&mut out[Frame::CODE..], fields, &framing.fields);
    }
}

/// Four bytes that change, wherever they come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    /// Where in the output.
    pub at: u32,
    /// The new value, little-endian.
    pub value: u32,
}

/// A new file that is not written yet.
pub struct Output<'a> {
    pub(super) input: &'a [u8],
    pub(super) len: usize,
    /// Ascending, none over another.
    pub(super) kept: Vec<Kept>,
    /// What is new, by offset. Where two lie over one another, the later one counts.
    pub(super) pieces: Vec<(usize, Piece<'a>)>,
    /// The new bodies, in parts: in each where they go ascends.
    pub(super) parts: Vec<Bodies>,
    pub(super) framing: Framing,
    pub(super) patches: Vec<Patch>,
    /// What is zeros at first, since it follows from the rest.
    pub(super) identity: Identity<'a>,
}

/// Bytes to change in a file at an offset.
pub type Change = (usize, Vec<u8>);

impl Patch {
    /// Four bytes at an offset, which lies in a section or in the headers.
    pub(super) fn new(at: usize, value: u32) -> Patch {
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

    /// Whether the file is empty, which none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many windows the file has.
    pub fn windows(&self) -> usize {
        self.len.div_ceil(WINDOW)
    }

    /// Makes a window of the file, and hashes it; returns where it begins. What follows from the content as a whole is
    /// still zeros; see [`Output::seal`].
    pub fn window(&self, number: usize, window: &mut Vec<u8>) -> (usize, WindowDigest) {
        let at = number * WINDOW;
        window.resize(WINDOW.min(self.len - at), 0);
        self.fill(at, window);
        (at, self.identity.digest(window))
    }

    /// Makes the file's bytes from `at` on, which must be there, but for what [`Output::seal`] tells.
    pub(super) fn fill(&self, at: usize, window: &mut [u8]) {
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

    /// What follows from the content, to be put into the file that all windows make: MVID, time stamp, checksum,
    /// signature. `windows` has all of them, in their order.
    pub fn seal(&self, windows: &[WindowDigest]) -> Result<Vec<Change>> {
        self.identity.seal(self, windows)
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

/// Puts bytes that begin at `start` into the window that begins at `at`, as far as they lie in it.
#[inline]
pub(super) fn overlay(window: &mut [u8], at: usize, start: usize, bytes: &[u8]) {
    let from = start.max(at);
    let to = (start + bytes.len()).min(at + window.len());
    if from < to {
        window[from - at..to - at].copy_from_slice(&bytes[from - start..to - start]);
    }
}
