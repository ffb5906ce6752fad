//! StackMapTable (JVMS 4.7.4): frames are moved, never recomputed.

use crate::aspect::bind::ty::{Prim, Ty};
use crate::bytes::Cursor;
use crate::edit::Layout;
use crate::error::{Error, Result};
use crate::jvm::class::Class;
use crate::jvm::emit;
use crate::jvm::insn::op;
use crate::jvm::pool::Additions;

const SAME_LOCALS_1_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;

/// Tags of verification types (JVMS 4.7.4).
pub mod item {
    pub const TOP: u8 = 0;
    pub const INTEGER: u8 = 1;
    pub const FLOAT: u8 = 2;
    pub const DOUBLE: u8 = 3;
    pub const LONG: u8 = 4;
    pub const NULL: u8 = 5;
    pub const UNINITIALIZED_THIS: u8 = 6;
    pub const OBJECT: u8 = 7;
    pub const UNINITIALIZED: u8 = 8;
}

/// One frame in place.
struct Entry<'a> {
    tag: u8,
    pc: u32,
    /// Verification types; with their counts in a full frame.
    body: &'a [u8],
    /// Some type is `Uninitialized(offset)`, so the body holds pcs.
    has_offsets: bool,
    /// Some local is `uninitializedThis`.
    has_uninitialized_this: bool,
}

/// Walks the frames of a StackMapTable attribute's contents.
fn entries<'a>(data: &'a [u8], mut each: impl FnMut(&Entry<'a>) -> Result<()>) -> Result<u16> {
    let mut cursor = Cursor::new(data);
    let count = cursor.be_u16()?;
    let mut next = 0u32;
    for _ in 0..count {
        let at = cursor.position();
        let tag = cursor.u8()?;
        let delta = match tag {
            0..=63 => u32::from(tag),
            64..=127 => u32::from(tag) - 64,
            247..=255 => u32::from(cursor.be_u16()?),
            _ => {
                return Err(Error::malformed(
                    at,
                    format!("frame of reserved type {tag}"),
                ));
            }
        };
        let body = cursor.position();
        let mut flags = (false, false);
        match tag {
            64..=127 | SAME_LOCALS_1_EXTENDED => types(&mut cursor, 1, &mut flags)?,
            252..=254 => types(&mut cursor, u32::from(tag) - 251, &mut flags)?,
            FULL => {
                let locals = cursor.be_u16()?;
                types(&mut cursor, u32::from(locals), &mut flags)?;
                let stack = cursor.be_u16()?;
                types(&mut cursor, u32::from(stack), &mut flags)?;
            }
            _ => {}
        }
        let pc = next + delta;
        if pc > 65_535 {
            return Err(Error::malformed(at, "frame outside the code"));
        }
        each(&Entry {
            tag,
            pc,
            body: &data[body..cursor.position()],
            has_offsets: flags.0,
            has_uninitialized_this: flags.1,
        })?;
        next = pc + 1;
    }
    Ok(count)
}

fn types(cursor: &mut Cursor<'_>, n: u32, flags: &mut (bool, bool)) -> Result<()> {
    for _ in 0..n {
        let at = cursor.position();
        match cursor.u8()? {
            item::OBJECT => {
                cursor.be_u16()?;
            }
            item::UNINITIALIZED => {
                cursor.be_u16()?;
                flags.0 = true;
            }
            item::UNINITIALIZED_THIS => flags.1 = true,
            0..=5 => {}
            other => {
                return Err(Error::malformed(
                    at,
                    format!("verification type of unknown tag {other}"),
                ));
            }
        }
    }
    Ok(())
}

/// The pcs of all frames, and whether each lists `uninitializedThis`.
pub fn pcs(data: &[u8], mut each: impl FnMut(u32, bool)) -> Result<()> {
    entries(data, |e| {
        each(e.pc, e.has_uninitialized_this);
        Ok(())
    })?;
    Ok(())
}

/// Shows each frame's pc and the type of its first local, if it lists one. At the method's start there are `count` locals,
/// `first` among them.
pub fn first_locals(
    data: &[u8],
    mut count: usize,
    mut first: Option<VerificationType>,
    mut each: impl FnMut(u32, Option<VerificationType>),
) -> Result<()> {
    fn read(cursor: &mut Cursor<'_>) -> Result<VerificationType> {
        Ok(match cursor.u8()? {
            tag @ (item::OBJECT | item::UNINITIALIZED) => (tag, cursor.be_u16()?),
            tag => (tag, 0),
        })
    }
    entries(data, |e| {
        let mut cursor = Cursor::new(e.body);
        match e.tag {
            248..=250 => {
                count = count.saturating_sub(usize::from(SAME_EXTENDED - e.tag));
                first = first.filter(|_| count > 0);
            }
            252..=254 => {
                if count == 0 {
                    first = Some(read(&mut cursor)?);
                }
                count += usize::from(e.tag - SAME_EXTENDED);
            }
            FULL => {
                count = usize::from(cursor.be_u16()?);
                first = match count {
                    0 => None,
                    _ => Some(read(&mut cursor)?),
                };
            }
            _ => {}
        }
        each(e.pc, first);
        Ok(())
    })?;
    Ok(())
}

/// The change of a frame to the locals of the one before.
pub enum LocalsChange<'a> {
    /// They stay.
    Same,
    /// So many of the last ones end.
    Fewer(usize),
    /// So many come behind them.
    More(usize),
    /// All are listed, behind their count.
    Locals {
        /// The count and the verification types; the stack follows.
        list: &'a [u8],
        /// One of them is `uninitializedThis`.
        uninitialised_this: bool,
    },
}

/// Shows each frame's change to the locals.
pub fn locals_changes<'a>(
    data: &'a [u8],
    mut each: impl FnMut(LocalsChange<'a>) -> Result<()>,
) -> Result<()> {
    entries(data, |e| {
        each(match e.tag {
            FULL => LocalsChange::Locals {
                list: e.body,
                uninitialised_this: e.has_uninitialized_this,
            },
            248..=250 => LocalsChange::Fewer(usize::from(SAME_EXTENDED - e.tag)),
            252..=254 => LocalsChange::More(usize::from(e.tag - SAME_EXTENDED)),
            _ => LocalsChange::Same,
        })
    })?;
    Ok(())
}

/// The frame of the handler that is added at the end of the code: the stack is `[Throwable]`.
pub struct HandlerFrame {
    /// Where the handler begins.
    pub pc: u32,
    /// Index of the `Class` constant for `java/lang/Throwable`.
    pub throwable: u16,
    /// Its local variables.
    pub locals: HandlerLocals,
}

/// The local variables of the handler's frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerLocals {
    /// Those of the last frame without this many at their end: the parameters. No frame both drops locals and has a stack,
    /// so frames that drop them stand in front of the handler, at unreachable instructions
    /// ([`HandlerLocals::unreached`]).
    Last(usize),
    /// These.
    Listed(Vec<VerificationType>),
}

/// Most locals that one frame drops.
const MAX_CHOP: usize = 3;

impl HandlerLocals {
    /// Most locals to drop; for more a list is as short.
    pub const MAX_DROPPED: usize = 3 * MAX_CHOP;

    /// The one-byte instructions in front of the handler, of which all but the last carry a frame. They end in `athrow`: HotSpot's C1
    /// compiles no method in which code runs on into a handler, though nothing reaches that code.
    pub fn unreached(&self) -> &'static [u8] {
        const CODE: [u8; 4] = [op::NOP, op::NOP, op::ACONST_NULL, op::ATHROW];
        match self {
            HandlerLocals::Last(0) => &[],
            HandlerLocals::Last(dropped) => &CODE[CODE.len() - 1 - dropped.div_ceil(MAX_CHOP)..],
            HandlerLocals::Listed(_) => &[],
        }
    }
}

/// Appends the contents of a StackMapTable with its frames moved and the handler's frame added.
/// `data` is empty where the method had no such attribute.
///
/// Every local of every covered instruction is assignable to TOP, so a handler frame without
/// locals is always right (JVMS 4.10.1.2). Where the parameters can stay in it, they do: see [`crate::jvm::parameters`].
pub fn relocate(
    out: &mut Vec<u8>,
    data: &[u8],
    layout: &Layout,
    handler: Option<&HandlerFrame>,
) -> Result<()> {
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut next = 0u32;
    let mut count = 0;
    if !data.is_empty() {
        count = entries(data, |e| {
            let pc = layout.target(e.pc);
            let delta = distance(pc, next)?;
            next = pc + 1;
            match e.tag {
                0..=63 | SAME_EXTENDED => put_delta(out, 0, SAME_EXTENDED, delta),
                64..=127 | SAME_LOCALS_1_EXTENDED => {
                    put_delta(out, 64, SAME_LOCALS_1_EXTENDED, delta);
                }
                tag => {
                    out.push(tag);
                    out.extend_from_slice(&(delta as u16).to_be_bytes());
                }
            }
            if e.has_offsets {
                put_types_moved(out, e, layout)
            } else {
                out.extend_from_slice(e.body);
                Ok(())
            }
        })?;
    }
    if let Some(handler) = handler {
        let mut put = 1;
        match &handler.locals {
            HandlerLocals::Last(dropped) => {
                let mut dropped = *dropped;
                let first = handler.pc - handler.locals.unreached().len() as u32;
                for pc in (first..handler.pc).take(dropped.div_ceil(MAX_CHOP)) {
                    let n = dropped.min(MAX_CHOP);
                    dropped -= n;
                    out.push(SAME_EXTENDED - n as u8);
                    out.extend_from_slice(&(distance(pc, next)? as u16).to_be_bytes());
                    next = pc + 1;
                    put += 1;
                }
                put_delta(out, 64, SAME_LOCALS_1_EXTENDED, distance(handler.pc, next)?);
            }
            HandlerLocals::Listed(locals) => {
                out.push(FULL);
                out.extend_from_slice(&(distance(handler.pc, next)? as u16).to_be_bytes());
                put_list(out, locals, layout);
                out.extend_from_slice(&[0, 1]);
            }
        }
        out.push(item::OBJECT);
        out.extend_from_slice(&handler.throwable.to_be_bytes());
        count = count.checked_add(put).ok_or_else(too_many)?;
    }
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

fn too_many() -> Error {
    Error::malformed(0, "65,535 frames in one method")
}

/// How far a frame lies behind the one before it. Only pcs inside an instruction or behind the code
/// can come out of order.
fn distance(pc: u32, next: u32) -> Result<u32> {
    pc.checked_sub(next)
        .ok_or_else(|| Error::malformed(0, "frame that is not at an instruction"))
}

/// The short form, whose tag holds a delta of up to 63, or the extended one.
fn put_delta(out: &mut Vec<u8>, short: u8, extended: u8, delta: u32) {
    if delta <= 63 {
        out.push(short + delta as u8);
    } else {
        out.push(extended);
        out.extend_from_slice(&(delta as u16).to_be_bytes());
    }
}

fn put_types_moved(out: &mut Vec<u8>, e: &Entry<'_>, layout: &Layout) -> Result<()> {
    let mut cursor = Cursor::new(e.body);
    let run = |out: &mut Vec<u8>, cursor: &mut Cursor<'_>, n: u16| -> Result<()> {
        for _ in 0..n {
            let tag = cursor.u8()?;
            out.push(tag);
            match tag {
                item::OBJECT => out.extend_from_slice(cursor.take(2)?),
                item::UNINITIALIZED => {
                    let new_insn = layout.insn(u32::from(cursor.be_u16()?));
                    out.extend_from_slice(&(new_insn as u16).to_be_bytes());
                }
                _ => {}
            }
        }
        Ok(())
    };
    match e.tag {
        FULL => {
            for _ in 0..2 {
                let n = cursor.be_u16()?;
                out.extend_from_slice(&n.to_be_bytes());
                run(out, &mut cursor, n)?;
            }
        }
        252..=254 => run(out, &mut cursor, u16::from(e.tag) - 251)?,
        _ => run(out, &mut cursor, 1)?,
    }
    Ok(())
}

/// A verification type: its tag and operand (a class index or a pc), if it has one.
pub type VerificationType = (u8, u16);

/// That of a value of a type.
pub fn verification_type(
    ty: &Ty,
    class: &Class<'_>,
    additions: &mut Additions,
) -> VerificationType {
    match ty {
        Ty::Prim(Prim::I64 | Prim::U64) => (item::LONG, 0),
        Ty::Prim(Prim::F32) => (item::FLOAT, 0),
        Ty::Prim(Prim::F64) => (item::DOUBLE, 0),
        Ty::Prim(_) => (item::INTEGER, 0),
        _ => (
            item::OBJECT,
            additions.class(&class.pool, &emit::class_name(ty)),
        ),
    }
}

/// A frame with all its locals, as new frames between existing ones need it.
#[derive(Clone, Debug)]
pub struct FullFrame {
    /// Old pc of the instruction that it belongs to.
    pub pc: u32,
    /// Its local variables; long and double are one entry.
    pub locals: Vec<VerificationType>,
    /// Its operand stack.
    pub stack: Vec<VerificationType>,
}

/// Most locals that are spelt out in all frames of a method.
const MAX_EXPANDED: usize = 4 << 20;

/// Spells out all frames; `None` where they would take too much memory.
pub fn expand(data: &[u8], initial: Vec<VerificationType>) -> Result<Option<Vec<FullFrame>>> {
    fn read(cursor: &mut Cursor<'_>, n: usize) -> Result<Vec<VerificationType>> {
        (0..n)
            .map(|_| {
                Ok(match cursor.u8()? {
                    tag @ (item::OBJECT | item::UNINITIALIZED) => (tag, cursor.be_u16()?),
                    tag => (tag, 0),
                })
            })
            .collect()
    }
    let mut frames = Vec::new();
    let mut locals = initial;
    let mut total = 0;
    entries(data, |e| {
        total += locals.len();
        if total > MAX_EXPANDED {
            return Ok(());
        }
        let mut cursor = Cursor::new(e.body);
        let mut stack = Vec::new();
        match e.tag {
            64..=127 | SAME_LOCALS_1_EXTENDED => stack = read(&mut cursor, 1)?,
            248..=250 => locals.truncate(
                locals
                    .len()
                    .saturating_sub(usize::from(SAME_EXTENDED - e.tag)),
            ),
            252..=254 => locals.extend(read(&mut cursor, usize::from(e.tag - SAME_EXTENDED))?),
            FULL => {
                let n = cursor.be_u16()?;
                locals = read(&mut cursor, usize::from(n))?;
                let n = cursor.be_u16()?;
                stack = read(&mut cursor, usize::from(n))?;
            }
            _ => {}
        }
        frames.push(FullFrame {
            pc: e.pc,
            locals: locals.clone(),
            stack,
        });
        Ok(())
    })?;
    Ok((total <= MAX_EXPANDED).then_some(frames))
}

/// Appends verification types behind their count.
fn put_list(out: &mut Vec<u8>, list: &[VerificationType], layout: &Layout) {
    out.extend_from_slice(&(list.len() as u16).to_be_bytes());
    for &one in list {
        put_type(out, one, layout);
    }
}

fn put_type(out: &mut Vec<u8>, (tag, operand): VerificationType, layout: &Layout) {
    out.push(tag);
    match tag {
        item::OBJECT => out.extend_from_slice(&operand.to_be_bytes()),
        item::UNINITIALIZED => {
            let new_insn = layout.insn(u32::from(operand)) as u16;
            out.extend_from_slice(&new_insn.to_be_bytes());
        }
        _ => {}
    }
}

/// Appends the contents of a StackMapTable of frames that are spelt out: `(new pc, frame)` in order, then the
/// handlers'. All are full; if `compact`, but for those whose locals are those of the frame before.
pub fn put_spelt<'f>(
    out: &mut Vec<u8>,
    frames: impl Iterator<Item = (u32, &'f FullFrame)>,
    layout: &Layout,
    handlers: &'f [HandlerFrame],
    compact: bool,
) -> Result<()> {
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut next = 0;
    let mut count = 0u16;
    let mut before: Option<&[VerificationType]> = None;
    let mut put =
        |pc: u32, locals: &'f [VerificationType], stack: &[VerificationType]| -> Result<()> {
            let delta = distance(pc, next)?;
            match stack {
                [] if before == Some(locals) => put_delta(out, 0, SAME_EXTENDED, delta),
                [one] if before == Some(locals) => {
                    put_delta(out, 64, SAME_LOCALS_1_EXTENDED, delta);
                    put_type(out, *one, layout);
                }
                _ => {
                    out.push(FULL);
                    out.extend_from_slice(&(delta as u16).to_be_bytes());
                    put_list(out, locals, layout);
                    put_list(out, stack, layout);
                }
            }
            before = compact.then_some(locals);
            next = pc + 1;
            count = count.checked_add(1).ok_or_else(too_many)?;
            Ok(())
        };
    for (pc, frame) in frames {
        put(pc, &frame.locals, &frame.stack)?;
    }
    for handler in handlers {
        let HandlerLocals::Listed(locals) = &handler.locals else {
            unreachable!("where frames are spelt out, the locals are listed");
        };
        put(handler.pc, locals, &[(item::OBJECT, handler.throwable)])?;
    }
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

/// A frame of code that is made here, whose locals begin with the parameters.
pub struct Added {
    pub pc: u16,
    pub change: Change,
}

/// How such a frame differs from the one before.
#[derive(Clone, Copy, PartialEq)]
pub enum Change {
    /// The stack is `[Throwable]`, the locals are the same.
    Thrown,
    /// One more local, of this class; the stack is empty.
    Local(u16),
    /// The locals are the same; the stack is empty.
    Same,
}

/// Appends the contents of a StackMapTable of such frames, which ascend.
pub fn put_added(out: &mut Vec<u8>, frames: &[Added], throwable: u16) {
    out.extend_from_slice(&(frames.len() as u16).to_be_bytes());
    let mut next = 0;
    for frame in frames {
        let delta = u32::from(frame.pc) - next;
        let class = match frame.change {
            Change::Thrown => {
                put_delta(out, 64, SAME_LOCALS_1_EXTENDED, delta);
                throwable
            }
            Change::Local(class) => {
                out.push(SAME_EXTENDED + 1); // append_frame
                out.extend_from_slice(&(delta as u16).to_be_bytes());
                class
            }
            Change::Same => {
                put_delta(out, 0, SAME_EXTENDED, delta);
                0
            }
        };
        if frame.change != Change::Same {
            out.push(item::OBJECT);
            out.extend_from_slice(&class.to_be_bytes());
        }
        next = u32::from(frame.pc) + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Place;

    #[test]
    fn the_handlers_frame_drops_what_is_not_a_parameter() {
        let layout = Layout::default();
        let frame = |data: &[u8], locals| {
            let handler = HandlerFrame {
                pc: 9,
                throwable: 0x1234,
                locals,
            };
            let mut out = vec![];
            relocate(&mut out, data, &layout, Some(&handler)).unwrap();
            out
        };
        use HandlerLocals::{Last, Listed};
        assert_eq!(frame(&[], Last(0)), [0, 1, 64 + 9, 7, 0x12, 0x34]);
        assert_eq!(
            frame(&[], Listed(vec![(1, 0), (7, 0x5678)])),
            [0, 1, 255, 0, 9, 0, 2, 1, 7, 0x56, 0x78, 0, 1, 7, 0x12, 0x34]
        );
        // One more local at 2: a frame at 7 drops it, and nothing runs on from 8.
        let one = [0, 1, 252, 0, 2, 1];
        assert_eq!(
            frame(&one, Last(1)),
            [0, 3, 252, 0, 2, 1, 250, 0, 4, 65, 7, 0x12, 0x34]
        );
        // Five more: frames at 6 and 7.
        assert_eq!(
            frame(&[], Last(5))[..],
            [0, 3, 248, 0, 6, 249, 0, 0, 65, 7, 0x12, 0x34]
        );
        assert_eq!(Last(5).unreached(), [op::NOP, op::ACONST_NULL, op::ATHROW]);
        assert!(Last(0).unreached().is_empty());
    }

    #[test]
    fn deltas_change_their_form_with_their_size() {
        let mut layout = Layout::default();
        layout.insert(1, Place::Before, 10);
        layout.solve(|_, _| 0);
        // same at 60, same_locals_1 of Uninitialized(2) at 61 + 60
        let data = [0, 2, 60, 64 + 60, 8, 0, 2];
        let mut out = vec![];
        relocate(&mut out, &data, &layout, None).unwrap();
        assert_eq!(out, [0, 2, 251, 0, 70, 64 + 60, 8, 0, 12]);
    }
}
