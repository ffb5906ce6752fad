//! Code items: registers, instructions, tries and handlers (dex "code_item", "try_item",
//! "encoded_catch_handler_list").

use crate::bytes::{Cursor, put_uleb32};
use crate::dex::format::insn::{self, Remapped};
use crate::dex::format::remap::Remap;
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;

/// Bytes in front of the instructions.
pub const HEADER: usize = 16;
/// Offsets in the header (dex "code_item").
pub const TRIES_SIZE: usize = 6;
pub const DEBUG_INFO: usize = 8;
pub const INSNS_SIZE: usize = 12;

/// Sets the number of code units of the item that begins at `start` and ends `out`.
pub fn set_units(out: &mut [u8], start: usize) {
    let units = insn::units(&out[start + HEADER..]);
    out[start + INSNS_SIZE..start + HEADER].copy_from_slice(&units.to_le_bytes());
}

/// A code item, borrowed from the file.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    /// Where it begins in the file.
    pub offset: usize,
    /// Registers of the frame.
    pub registers: u16,
    /// Words of arguments that come in: the last registers.
    pub ins: u16,
    /// Words of arguments that any invocation passes.
    pub outs: u16,
    /// Offset of its `debug_info_item`, or 0.
    pub debug_info: u32,
    /// The instructions.
    pub insns: &'a [u8],
    /// The `try_item`s, eight bytes each.
    tries: &'a [u8],
    /// What follows the tries in the file: the handlers, and more.
    rest: &'a [u8],
}

/// A range of instructions with handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// First pc.
    pub start: u32,
    /// The pc behind the last.
    pub end: u32,
    /// Its list of handlers, by offset in the code item's list of lists.
    pub list: u16,
}

#[derive(Clone, Copy, Debug)]
pub struct HandlerList<'a> {
    cursor: Cursor<'a>,
    /// Typed handlers left.
    typed: u32,
    catch_all: bool,
    /// Where the lists lie in the file, for errors.
    base: usize,
}

/// One handler: the type it catches, or `None` for all, and its pc.
pub type Handler = (Option<u32>, u32);

impl<'a> HandlerList<'a> {
    fn read(bytes: &'a [u8], at: usize, base: usize) -> Result<HandlerList<'a>> {
        let mut cursor = Cursor::at(bytes, at);
        let size = sleb32(&mut cursor).map_err(|e| e.offset_by(base))?;
        Ok(HandlerList {
            cursor,
            typed: size.unsigned_abs(),
            catch_all: size <= 0,
            base,
        })
    }

    /// The next handler, in order of priority; the catch-all comes last.
    pub fn next_handler(&mut self) -> Result<Option<Handler>> {
        let at = |e: Error| e.offset_by(self.base);
        if self.typed > 0 {
            self.typed -= 1;
            let ty = self.cursor.uleb32().map_err(at)?;
            return Ok(Some((Some(ty), self.cursor.uleb32().map_err(at)?)));
        }
        if self.catch_all {
            self.catch_all = false;
            return Ok(Some((None, self.cursor.uleb32().map_err(at)?)));
        }
        Ok(None)
    }

    /// Whether it catches all, or `throwable`, which is the same.
    pub fn catches_all(mut self, throwable: Option<u32>) -> Result<bool> {
        while let Some((ty, _)) = self.next_handler()? {
            if ty.is_none() || ty == throwable {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A signed LEB128 number of at most 32 bits.
pub(crate) fn sleb32(cursor: &mut Cursor<'_>) -> Result<i32> {
    let mut value = 0i64;
    for shift in (0..35).step_by(7) {
        let byte = cursor.u8()?;
        value |= i64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let unused = 64 - (shift + 7);
            return Ok((value << unused >> unused) as i32);
        }
    }
    Err(Error::malformed(
        cursor.position(),
        "LEB128 number exceeds five bytes",
    ))
}

/// Bytes of an unsigned LEB128 number.
fn uleb_len(value: u32) -> u32 {
    (32 - (value | 1).leading_zeros()).div_ceil(7)
}

/// Appends a signed LEB128 number.
pub(crate) fn put_sleb32(out: &mut Vec<u8>, mut value: i32) {
    while !(-64..64).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

impl<'a> Code<'a> {
    pub fn read(file: &'a [u8], offset: usize) -> Result<Code<'a>> {
        let mut cursor = Cursor::at(file, offset);
        let registers = cursor.le_u16()?;
        let ins = cursor.le_u16()?;
        let outs = cursor.le_u16()?;
        let tries = usize::from(cursor.le_u16()?);
        let debug_info = cursor.le_u32()?;
        let units = cursor.le_u32()? as usize;
        let insns = cursor.take(units.saturating_mul(2))?;
        if ins > registers {
            let what = format!("{ins} words of arguments in {registers} registers");
            return Err(Error::malformed(offset, what));
        }
        if tries > 0 && units % 2 == 1 {
            cursor.take(2)?;
        }
        let tries = cursor.take(tries * 8)?;
        Ok(Code {
            offset,
            registers,
            ins,
            outs,
            debug_info,
            insns,
            tries,
            rest: &file[cursor.position()..],
        })
    }

    /// Registers that are no arguments.
    pub fn locals(&self) -> u32 {
        u32::from(self.registers - self.ins)
    }

    /// Where the tries begin in the file.
    fn tries_offset(&self) -> usize {
        (self.offset + HEADER + self.insns.len()).next_multiple_of(4)
    }

    /// Where the handlers begin in the file.
    fn lists_offset(&self) -> usize {
        self.tries_offset() + self.tries.len()
    }

    /// How many tries.
    pub fn try_count(&self) -> usize {
        self.tries.len() / 8
    }

    /// The tries, which must be in order and within the code.
    pub fn tries(&self) -> impl Iterator<Item = Result<Try>> + use<'a> {
        let this = *self;
        let mut last = 0;
        self.tries.chunks_exact(8).enumerate().map(move |(i, t)| {
            let start = u32::from_le_bytes([t[0], t[1], t[2], t[3]]);
            let count = u32::from(u16::from_le_bytes([t[4], t[5]]));
            let end = start.saturating_add(count);
            if start < last || count == 0 || end > insn::units(this.insns) {
                let what = format!("try {start}..{end} is not in order or not within the code");
                return Err(Error::malformed(this.tries_offset() + 8 * i, what));
            }
            last = end;
            Ok(Try {
                start,
                end,
                list: u16::from_le_bytes([t[6], t[7]]),
            })
        })
    }

    /// Shows all lists of handlers with their offsets, one after the other; returns their length.
    pub fn lists(&self, mut each: impl FnMut(u16, HandlerList<'a>) -> Result<()>) -> Result<usize> {
        if self.tries.is_empty() {
            return Ok(0);
        }
        let base = self.lists_offset();
        let mut cursor = Cursor::new(self.rest);
        let count = cursor.uleb32().map_err(|e| e.offset_by(base))?;
        for _ in 0..count {
            let at = cursor.position();
            let list = HandlerList::read(self.rest, at, base)?;
            let mut walk = list;
            while walk.next_handler()?.is_some() {}
            cursor = walk.cursor;
            let at = u16::try_from(at)
                .map_err(|_| Error::malformed(base + at, "handlers exceed 65,535 bytes"))?;
            each(at, list)?;
        }
        Ok(cursor.position())
    }

    /// The list of handlers at an offset that [`Code::lists`] shows.
    pub fn list(&self, at: u16) -> Result<HandlerList<'a>> {
        HandlerList::read(self.rest, usize::from(at), self.lists_offset())
    }

    /// Length of the whole item in bytes.
    pub fn size(&self) -> Result<usize> {
        if self.tries.is_empty() {
            return Ok(HEADER + self.insns.len());
        }
        Ok(self.lists_offset() - self.offset + self.lists(|_, _| Ok(()))?)
    }
}

/// Collects the tries and handlers of a new code item. A list is written once, however many tries
/// have it.
#[derive(Default)]
pub struct TryWriter {
    tries: Vec<u8>,
    /// The lists, without the count in front of them.
    lists: Vec<u8>,
    /// Offset of a list in `lists` by what it was made of.
    known: FxHashMap<Catches, u32>,
    /// Where tries name a list, and its offset in `lists`.
    fixups: Vec<(usize, u32)>,
}

/// The handlers of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Catches {
    /// A list of the old code, or [`NO_LIST`].
    pub list: u32,
    /// A new pc behind it, or [`NO_CATCH_ALL`].
    pub catch_all: u32,
}

impl Catches {
    pub fn of(list: u32, catch_all: u32) -> Catches {
        Catches { list, catch_all }
    }

    /// A catch-all alone.
    pub fn all(catch_all: u32) -> Catches {
        Catches::of(NO_LIST, catch_all)
    }
}

/// Stands for "no list of the old code" in [`Catches`].
pub const NO_LIST: u32 = u32::MAX;
/// Stands for "no further catch-all" in [`Catches`].
pub const NO_CATCH_ALL: u32 = u32::MAX;

impl TryWriter {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.tries.clear();
        self.lists.clear();
        self.known.clear();
        self.fixups.clear();
    }
    /// Adds a range of new pcs; ranges must come in order. The range is split where it exceeds 65,535 code units.
    pub fn add(
        &mut self,
        range: (u32, u32),
        code: &Code<'_>,
        catches: Catches,
        map: &Remap,
        pc: impl Fn(u32) -> u32,
    ) -> Result<()> {
        let at = match self.known.get(&catches) {
            Some(&at) => at,
            None => {
                let at = self.lists.len() as u32;
                self.put_list(code, catches, map, pc)?;
                self.known.insert(catches, at);
                at
            }
        };
        let (mut start, end) = range;
        while start < end {
            let count = (end - start).min(u32::from(u16::MAX));
            self.tries.extend_from_slice(&start.to_le_bytes());
            self.tries.extend_from_slice(&(count as u16).to_le_bytes());
            self.fixups.push((self.tries.len(), at));
            self.tries.extend_from_slice(&[0, 0]);
            start += count;
        }
        Ok(())
    }

    fn put_list(
        &mut self,
        code: &Code<'_>,
        Catches { list, catch_all }: Catches,
        map: &Remap,
        pc: impl Fn(u32) -> u32,
    ) -> Result<()> {
        let mut old = match list {
            NO_LIST => None,
            at => Some(code.list(at as u16)?),
        };
        let typed = old.map_or(0, |l| l.typed);
        let catches_all = catch_all != NO_CATCH_ALL || old.is_some_and(|l| l.catch_all);
        let size = i32::try_from(typed).unwrap_or(i32::MAX);
        put_sleb32(&mut self.lists, if catches_all { -size } else { size });
        while let Some((ty, target)) = old.as_mut().map_or(Ok(None), HandlerList::next_handler)? {
            if let Some(ty) = ty {
                let new = map.types.get(ty as usize).ok_or_else(|| {
                    let what = format!("a handler for type {ty} of {}", map.types.len());
                    Error::malformed(code.lists_offset() + list as usize, what)
                })?;
                put_uleb32(&mut self.lists, *new);
            }
            put_uleb32(&mut self.lists, pc(target));
        }
        if catch_all != NO_CATCH_ALL {
            put_uleb32(&mut self.lists, catch_all);
        }
        Ok(())
    }

    /// How many tries there are; `None` where they exceed the format's 16 bits.
    pub fn count(&self) -> Option<u16> {
        u16::try_from(self.tries.len() / 8).ok()
    }

    /// Appends tries and handlers, or gives `false` where some offset exceeds 16 bits. What is
    /// appended to must be aligned to 4 bytes, counted from the start of the code item.
    pub fn put(&mut self, out: &mut Vec<u8>) -> bool {
        if self.tries.is_empty() {
            return true;
        }
        let count = self.known.len() as u32;
        for &(at, list) in &self.fixups {
            let Ok(list) = u16::try_from(uleb_len(count) + list) else {
                return false;
            };
            self.tries[at..at + 2].copy_from_slice(&list.to_le_bytes());
        }
        out.extend_from_slice(&self.tries);
        put_uleb32(out, count);
        out.extend_from_slice(&self.lists);
        true
    }
}

/// The offsets at which lists of handlers begin, ascending; every try's must be among them.
pub fn list_starts(code: &Code<'_>, starts: &mut Vec<u16>) -> Result<()> {
    starts.clear();
    code.lists(|at, _| {
        starts.push(at);
        Ok(())
    })?;
    for (i, t) in code.tries().enumerate() {
        if starts.binary_search(&t?.list).is_err() {
            let what = "a try's handlers begin nowhere in the list of handlers";
            return Err(Error::malformed(code.tries_offset() + 8 * i, what));
        }
    }
    Ok(())
}

/// Appends a code item that no advice touches, with its indexes renumbered and no debug info (the caller
/// fills that in, at byte 8). Where a string's index outgrows `const-string`, `out` is as it was,
/// and the method must be lowered without advice.
pub fn copy(
    code: &Code<'_>,
    map: &Remap,
    tries: &mut TryWriter,
    starts: &mut Vec<u16>,
    out: &mut Vec<u8>,
) -> Result<Remapped> {
    let start = out.len();
    put_header(
        out,
        [code.registers, code.ins, code.outs, code.try_count() as u16],
        insn::units(code.insns),
    );
    out.extend_from_slice(code.insns);
    let remapped = insn::remap(&mut out[start + HEADER..], map)
        .map_err(|e| e.offset_by(code.offset + HEADER))?;
    if remapped == Remapped::NeedsJumbo {
        out.truncate(start);
        return Ok(remapped);
    }
    if code.try_count() > 0 {
        list_starts(code, starts)?;
        tries.clear();
        for t in code.tries() {
            let t = t?;
            let handlers = Catches::of(t.list.into(), NO_CATCH_ALL);
            tries.add((t.start, t.end), code, handlers, map, |pc| pc)?;
        }
        align(out, start);
        if !tries.put(out) {
            let what = "handlers exceed 65,535 bytes";
            return Err(Error::malformed(code.lists_offset(), what));
        }
    }
    Ok(Remapped::Done)
}

/// Appends the header of a code item; `counts` are registers, ins, outs and tries.
pub fn put_header(out: &mut Vec<u8>, counts: [u16; 4], units: u32) {
    for count in counts {
        out.extend_from_slice(&count.to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&units.to_le_bytes());
}

/// Appends what tries need in front of them, for an item that begins at `start`.
pub fn align(out: &mut Vec<u8>, start: usize) {
    if !(out.len() - start).is_multiple_of(4) {
        out.extend_from_slice(&[0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::Body;
    use proptest::prelude::*;

    #[test]
    fn a_code_item_reads_back_and_copies_with_new_types() {
        let bytes = Body::new(3, 1, &[0x000e, 0, 0x000e])
            .try_at(0, 1, &[(Some(1), 2), (None, 2)])
            .try_at(1, 3, &[(Some(0), 0)])
            .bytes();
        let code = Code::read(&bytes, 0).unwrap();
        assert_eq!((code.registers, code.ins, code.locals()), (3, 1, 2));
        assert_eq!(code.size().unwrap(), bytes.len());
        let tries: Vec<Try> = code.tries().map(Result::unwrap).collect();
        assert_eq!((tries[1].start, tries[1].end), (1, 3));
        assert!(code.list(tries[0].list).unwrap().catches_all(None).unwrap());
        let typed = code.list(tries[1].list).unwrap();
        assert!(!typed.catches_all(None).unwrap());
        assert!(typed.catches_all(Some(0)).unwrap());

        let mut map = Remap::identity([0, 2, 0, 0, 0]);
        let mut out = vec![];
        let (mut tries, mut starts) = (TryWriter::default(), vec![]);
        copy(&code, &map, &mut tries, &mut starts, &mut out).unwrap();
        assert_eq!(out, bytes);
        // A type index that takes one byte more moves the second list.
        map.types[1] = 300;
        out.clear();
        copy(&code, &map, &mut tries, &mut starts, &mut out).unwrap();
        let code = Code::read(&out, 0).unwrap();
        let lists: Vec<u16> = code.tries().map(|t| t.unwrap().list).collect();
        assert_eq!(lists, [1, 6]);
        let first = code.list(1).unwrap().next_handler().unwrap();
        assert_eq!(first, Some((Some(300), 2)));
    }

    #[test]
    fn equal_lists_are_written_once() {
        let handler: &[Handler] = &[(None, 0)];
        let bytes = Body::new(1, 0, &[0x000e, 0x000e])
            .try_at(0, 1, handler)
            .try_at(1, 2, handler)
            .bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let mut seen = 0;
        code.lists(|_, _| {
            seen += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let message = |bytes: &[u8]| {
            let code = match Code::read(bytes, 0) {
                Ok(code) => code,
                Err(e) => return e.to_string(),
            };
            let tries = code.tries().collect::<Result<Vec<_>>>();
            let starts = list_starts(&code, &mut vec![]);
            tries.err().or(starts.err()).unwrap().to_string()
        };
        insta::assert_snapshot!(message(&[1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), @"2 words of arguments in 1 registers (at byte 0x0)");
        insta::assert_snapshot!(message(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255]), @"8589934590 bytes wanted, 0 left (at byte 0x10)");
        let body = |start, end| {
            Body::new(1, 0, &[0x000e, 0x000e])
                .try_at(start, end, &[(None, 0)])
                .bytes()
        };
        insta::assert_snapshot!(message(&body(1, 3)), @"try 1..3 is not in order or not within the code (at byte 0x14)");
        let mut lies = body(0, 1);
        lies[0x14 + 6] = 2;
        insta::assert_snapshot!(message(&lies), @"a try's handlers begin nowhere in the list of handlers (at byte 0x14)");
    }

    /// How many strings, types, protos, fields and methods the items name.
    const SIZES: [u32; 5] = [9, 200, 0, 0, 0];

    /// Code items as compilers write them: instructions, tries in order, handlers.
    fn items() -> impl Strategy<Value = Body> {
        let unit = prop_oneof![
            Just(vec![0x0000]),
            Just(vec![0x000e]),
            Just(vec![0x0128]),
            (0..SIZES[0] as u16).prop_map(|string| vec![0x001a, string]),
            (0..SIZES[1] as u16).prop_map(|ty| vec![0x0022, ty]),
        ];
        let insns = prop::collection::vec(unit, 1..40).prop_map(|units| units.concat());
        let handler = (0..SIZES[1], any::<prop::sample::Index>());
        let list = (
            prop::collection::vec(handler, 0..4),
            any::<Option<prop::sample::Index>>(),
        );
        let tries = prop::collection::vec((1..9u32, 0..3u32, list), 0..6);
        (insns, 0..9u16, 0..9u16, tries).prop_map(|(insns, locals, ins, tries)| {
            let units = insns.len() as u32;
            let pc = |index: prop::sample::Index| index.index(units as usize) as u32;
            let mut body = Body::new(locals + ins, ins, &insns);
            let mut end = 0;
            for (len, gap, (typed, all)) in tries {
                let start = end + gap;
                end = start + len;
                let mut handlers: Vec<Handler> = (typed.into_iter())
                    .map(|(ty, at)| (Some(ty), pc(at)))
                    .collect();
                handlers.extend(all.map(|at| (None, pc(at))));
                if end > units || handlers.is_empty() {
                    break;
                }
                body = body.try_at(start, end, &handlers);
            }
            body
        })
    }

    fn copied(code: &Code<'_>) -> Result<Vec<u8>> {
        let (map, mut out) = (Remap::identity(SIZES), vec![]);
        copy(code, &map, &mut TryWriter::default(), &mut vec![], &mut out)?;
        Ok(out)
    }

    /// Reads all of an item, which may be wrong.
    fn walk(code: &Code<'_>) {
        let _ = code.size();
        let _ = copied(code);
        for t in code.tries().flatten() {
            let _ = code.list(t.list).and_then(|list| list.catches_all(None));
        }
    }

    proptest! {
        #[test]
        fn signed_leb128_reads_back(value: i32) {
            let mut out = Vec::new();
            put_sleb32(&mut out, value);
            prop_assert_eq!(sleb32(&mut Cursor::new(&out)).unwrap(), value);
        }

        #[test]
        fn items_read_back_and_copy(item in items()) {
            let bytes = item.bytes();
            let code = Code::read(&bytes, 0).unwrap();
            prop_assert_eq!(code.size().unwrap(), bytes.len());
            prop_assert!(code.tries().all(|t| t.is_ok()));
            prop_assert_eq!(copied(&code).unwrap(), bytes);
        }

        #[test]
        fn no_damaged_item_panics(item in items(), at: prop::sample::Index, with: u8, cut: prop::sample::Index) {
            let mut bytes = item.bytes();
            // The sizes stand in the header: what has that and its length is read.
            let at = HEADER + at.index(bytes.len() - HEADER);
            bytes[at] = with;
            walk(&Code::read(&bytes, 0).unwrap());
            bytes[at % HEADER] = with;
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(code) = Code::read(&bytes, 0) {
                walk(&code);
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            if let Ok(code) = Code::read(&bytes, 0) {
                walk(&code);
            }
        }
    }
}
