//! The new bodies of methods.

use crate::cil::metadata::field_map::FieldMap;
use crate::cil::rewrite::{Frame, Hooks};
use crate::cil::weave::tokens;

/// A method's new body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBody {
    /// The `MethodDef` row.
    pub method: u32,
    /// Its content, in its part.
    pub content: Content,
    pub len: u32,
    /// Bytes of the old body.
    pub old_len: u32,
    /// Its offset in the output, once that is known.
    pub at: u32,
    /// It has a handler for the recorded pair or for hooks.
    pub has_handler: bool,
    /// The JIT is not to inline it.
    pub apart: bool,
    /// It loses the mark `AggressiveInlining`.
    pub unmarked: bool,
    /// The runtime suspends the method no longer: what was its body is another method.
    pub unsuspended: bool,
}

/// The content of a new body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// Bytes, which begin here.
    Bytes(u32),
    /// A frame around the old code: its number.
    Framed(u32),
}

#[derive(Default)]
pub(crate) struct Bodies {
    pub list: Vec<NewBody>,
    /// The bytes of written bodies, each at a multiple of four.
    pub bytes: Vec<u8>,
    /// Bodies that are written with the file.
    pub frames: Vec<Framed>,
    /// Where the frames' code has tokens of fields, which may change.
    pub fields: Vec<u32>,
}

/// Old code in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framed {
    pub frame: Frame,
    /// Where the code lies in the input.
    pub from: u32,
    /// Where its fields end among the part's; they begin where those of the frame before end.
    pub fields_end: u32,
}

/// What all frames around old code share.
pub(crate) struct Framing {
    pub hooks: Hooks,
    /// The fields' new rows.
    pub fields: FieldMap,
}

impl Bodies {
    /// Writes a frame around code of the input into `out`, which is as long as it.
    pub(crate) fn put_framed(&self, number: u32, input: &[u8], framing: &Framing, out: &mut [u8]) {
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
        tokens::fields(&mut out[Frame::CODE..], fields, &framing.fields);
    }
}
