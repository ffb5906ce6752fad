//! What own hooks of a method name, and where its registers are: the frame that [`super::own`] makes and puts calls into.

use super::registers::{Scheme, Width};
use crate::aspect::bind::call::{Bound, Call, Hook, Link, Proceed};
use crate::aspect::bind::schedule::Schedule;
use crate::aspect::bind::ty::{Prim, Ty};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The own hooks of a method.
#[derive(Clone, Copy, Debug)]
pub struct Own<'s> {
    pub bound: &'s Bound,
    pub names: &'s Names,
    /// The method's first source line, or 0.
    pub line: u32,
    /// The method's id, of which the pair's hooks may get a part.
    pub id: u32,
}

/// A box.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unbox {
    pub ty: u32,
    /// What gives its value (`intValue`).
    pub method: u32,
}

/// An operand of an enter hook that is made at the start of the code.
pub(super) struct Prepared {
    /// Numbers of the call and of the operand.
    pub call: usize,
    pub operand: usize,
    pub register: u32,
}

/// A value that another register keeps.
pub(super) struct Saved {
    pub width: Width,
    pub to: u32,
    pub from: u32,
}

/// New indices of what own hooks name.
#[derive(Debug, Default)]
pub struct Names {
    /// The methods that call hooks, by their classes.
    pub adapters: FxHashMap<Arc<str>, u32>,
    /// The fields that chains read.
    pub fields: FxHashMap<Link, u32>,
    /// Hooks that are called themselves.
    pub hooks: FxHashMap<Arc<Hook>, u32>,
    pub texts: FxHashMap<Arc<str>, u32>,
    /// `valueOf` of the boxes of [`BOXED`].
    pub boxes: [u32; 8],
    /// What gives the values of these boxes.
    pub unboxes: [Unbox; 8],
    /// Types by themselves.
    pub types: FxHashMap<Ty, u32>,
    /// `System.nanoTime()`.
    pub nano_time: u32,
    /// The type of arrays of objects.
    pub objects: u32,
}

/// The primitive types, with their boxes.
pub(crate) const BOXED: [(Prim, &str); 8] = [
    (Prim::Bool, "Ljava/lang/Boolean;"),
    (Prim::Char, "Ljava/lang/Character;"),
    (Prim::I8, "Ljava/lang/Byte;"),
    (Prim::I16, "Ljava/lang/Short;"),
    (Prim::I32, "Ljava/lang/Integer;"),
    (Prim::I64, "Ljava/lang/Long;"),
    (Prim::F32, "Ljava/lang/Float;"),
    (Prim::F64, "Ljava/lang/Double;"),
];

/// The place of a primitive type in [`BOXED`].
pub(crate) fn place_of(prim: Prim) -> Option<usize> {
    BOXED.iter().position(|(boxed, _)| *boxed == prim)
}

impl Names {
    /// The method that a call invokes; none where the tables had no room for it.
    pub fn called(&self, call: &Call) -> Option<u32> {
        match &call.adapter {
            Some(adapter) => self.adapters.get(&adapter.class).copied(),
            None => self.hooks.get(&call.hook).copied(),
        }
    }

    pub(crate) fn box_of(&self, prim: Prim) -> Option<u32> {
        Some(self.boxes[place_of(prim)?])
    }

    pub(crate) fn unbox_of(&self, prim: Prim) -> Option<Unbox> {
        Some(self.unboxes[place_of(prim)?])
    }
}

/// The registers of a method with own hooks.
pub(super) struct OwnFrame<'s> {
    pub(super) own: Own<'s>,
    pub(super) schedule: Schedule<'s>,
    pub scheme: Scheme,
    pub registers: u16,
    pub outs: u16,
    /// The frame grows by the arguments, too.
    pub(super) grows: bool,
    /// Four registers that four bits name, if the block has them.
    pub(super) temps: Option<u32>,
    /// Registers for operands.
    pub(super) work: u32,
    /// Where `this` is as it was at the start.
    pub(super) this: u32,
    /// Where arguments are as they were at the start.
    pub(super) args: Vec<u32>,
    /// Where the body has them, if what changes one must write there, too.
    pub(super) bodies: Vec<Body>,
    pub(super) states: Vec<u32>,
    pub(super) start: Option<u32>,
    /// What the method returns where a hook says what, and what a hook gave that is to be converted: a pair each.
    pub(super) given: Option<u32>,
    pub(super) raw: Option<u32>,
    /// How the method's result is moved.
    pub(super) result: Option<Width>,
    /// What leaves the method, in the handler.
    pub(super) exception: u32,
    pub(super) prepared: Vec<Prepared>,
    /// What the start of the code keeps.
    pub(super) saved: Vec<Saved>,
    /// Where the objects are that run a body.
    pub(super) proceeds: Vec<(&'s Proceed, u32)>,
}

/// Where a body has an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// In the same register, or it gets it from there behind the enter hooks.
    Follows,
    /// In one of its own.
    At(u32),
    /// In one of its own, which may hold something else by the time of the enter hooks.
    Unknown,
}

/// The facts that decide on a frame.
pub(super) struct OwnNeeds {
    /// Some operand reaches over the border between locals and arguments.
    pub straddles: bool,
    /// There is a handler.
    pub errs: bool,
}
