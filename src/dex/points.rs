//! The points of a method, calls apart.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::settle;
use crate::aspect::bind::ty::{Prim, Ty};
use crate::aspect::joinpoint::EachName;
use crate::aspect::point::{EachPoint, Point, PointDetails, PointKind, PointKinds, PointSite};
use crate::bytes::{mutf8, u16_at, u32_at};
use crate::dex::analysis::constructor;
use crate::dex::format::class::{ClassDef, fields_of, flag};
use crate::dex::format::code_item::Code;
use crate::dex::format::debug_lines;
use crate::dex::format::file::{File, MethodId};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{BRANCH, ENDS, SWITCH, op};
use crate::error::Result;
use std::cell::OnceCell;

const THROWABLE: &str = "java/lang/Throwable";
const OBJECT: &str = "java/lang/Object";

/// How an access of a field names its registers and its kind.
pub(crate) fn field_access(opcode: u8) -> Option<(PointKind, bool)> {
    const FAMILY: u8 = op::IPUT - op::IGET;
    let within = |first: u8| (first..first + FAMILY).contains(&opcode);
    match () {
        () if within(op::IGET) => Some((PointKind::FieldGet, true)),
        () if within(op::IPUT) => Some((PointKind::FieldSet, true)),
        () if within(op::SGET) => Some((PointKind::FieldGet, false)),
        () if within(op::SPUT) => Some((PointKind::FieldSet, false)),
        () => None,
    }
}

/// The ranges of a constructor's code in which its object is initialised. `Err`: nobody knows.
pub(crate) fn initialised(code: &Code<'_>) -> Result<std::result::Result<Vec<(u32, u32)>, Reason>> {
    let tries = code.tries().collect::<Result<Vec<_>>>()?;
    let found = settle(constructor::analyse(code, &tries))?;
    Ok(found.map(|found| found.ranges))
}

pub(crate) fn is_within(ranges: &[(u32, u32)], pc: u32) -> bool {
    ranges.iter().any(|range| (range.0..range.1).contains(&pc))
}

/// What an instruction makes: the register that it names, and the class.
fn made_by(insn: Insn) -> Option<(u32, u32)> {
    (insn.opcode == op::NEW_INSTANCE).then(|| (insn.a, insn.index()))
}

fn is_direct(opcode: u8) -> bool {
    matches!(opcode, op::INVOKE_DIRECT | op::INVOKE_DIRECT_RANGE)
}

/// The constructors that are called for an object that was made for them alone, without a branch in between: where they are called,
/// ascending, and where it was made.
pub(crate) fn new_objects(file: &File<'_>, code: &Code<'_>) -> Result<Vec<(u32, u32)>> {
    struct Open {
        made: u32,
        register: u32,
        class: u32,
    }
    let insns = code.insns;
    let mut leaders = Vec::new();
    for insn in insn::each(insns) {
        let insn = insn?;
        if !insn.is_payload {
            insn::targets(insns, insn, |to| leaders.push(to))?;
        }
    }
    code.lists(|_, mut list| {
        while let Some((_, pc)) = list.next_handler()? {
            leaders.push(pc);
        }
        Ok(())
    })?;
    leaders.sort_unstable();
    let (mut open, mut all): (Vec<Open>, _) = (Vec::new(), Vec::new());
    for insn in insn::each(insns) {
        let insn = insn?;
        if insn.is_payload || leaders.binary_search(&insn.pc).is_ok() {
            open.clear();
        }
        if is_direct(insn.opcode)
            && let Some(receiver) = insn::arguments(insns, insn).next()
            && let Some(place) = open.iter().position(|one| one.register == receiver)
        {
            let one = open.swap_remove(place);
            if file.method(insn.index())?.class == one.class {
                all.push((insn.pc, one.made));
            }
        }
        let written = insn.written();
        let is_moved = (op::MOVE_OBJECT..=op::MOVE_OBJECT_16).contains(&insn.opcode);
        open.retain(|one| !(written.contains(&one.register) || is_moved && one.register == insn.b));
        if let Some((register, class)) = made_by(insn) {
            open.push(Open {
                made: insn.pc,
                register,
                class,
            });
        }
        if insn.op().flags & (BRANCH | SWITCH | ENDS) != 0 {
            open.clear();
        }
    }
    Ok(all)
}

/// Where the calls of other constructors on a constructor's own object end. `Err`: nobody knows.
fn others_behind(code: &Code<'_>) -> Result<std::result::Result<Vec<u32>, Reason>> {
    let tries = code.tries().collect::<Result<Vec<_>>>()?;
    let found = settle(constructor::analyse(code, &tries))?;
    Ok(found.map(|found| found.behind))
}

/// A method with its points.
pub(crate) struct Reader<'r, 'a> {
    pub file: &'r File<'a>,
    pub class: &'r ClassDef,
    pub is_constructor: bool,
    pub code: Code<'a>,
    /// Shows a type by its descriptor; false ends the list.
    pub show: &'r dyn Fn(&str, EachName<'_>) -> bool,
}

/// One point.
struct Found<'r, 'a> {
    reader: &'r Reader<'r, 'a>,
    initialised: &'r OnceCell<std::result::Result<Vec<(u32, u32)>, Reason>>,
    kind: PointKind,
    insn: Insn,
    ty: &'r str,
    name: &'r str,
    /// The type of a field.
    of: &'r str,
    /// What is caught is known without a look at it.
    is_plain: bool,
    /// Why it stays as it is, whatever the hooks are.
    refused: Option<Reason>,
    made: &'r OnceCell<Vec<(u32, u32)>>,
}

impl Found<'_, '_> {
    fn show(&self, line: u32, each: EachPoint<'_>) {
        each(&PointSite {
            at: self.insn.pc,
            kind: self.kind,
            ty: self.ty,
            name: self.name,
            line,
            details: self,
        });
    }

    /// Whether the object may not be initialised yet whose field is set.
    fn is_early(&self) -> std::result::Result<bool, Reason> {
        let reader = self.reader;
        if !reader.is_constructor || self.kind != PointKind::FieldSet {
            return Ok(false);
        }
        let known = self
            .initialised
            .get_or_init(|| initialised(&reader.code).unwrap_or(Err(Reason::Unsupported)));
        match known {
            Err(reason) => Err(*reason),
            Ok(ranges) => Ok(!is_within(ranges, self.insn.pc)),
        }
    }

    /// Whether the class itself declares the field, as final.
    fn is_final(&self) -> bool {
        const FINAL: u32 = flag::FINAL;
        let mut is_final = false;
        let data = self.reader.class.data;
        let looked = fields_of(self.reader.file, data, |index, access| {
            is_final |= index == self.insn.index() && access & FINAL != 0;
        });
        is_final || looked.is_err()
    }

    fn field(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        let Some((ty, "")) = Ty::of_descriptor(self.of) else {
            return Err(Reason::Unsupported);
        };
        let is_set = self.kind == PointKind::FieldSet;
        let (_, has_target) = field_access(self.insn.opcode).ok_or(Reason::Unsupported)?;
        if has_target && self.is_early()? {
            return Err(Reason::Uninitialised);
        }
        if is_set && replaced && self.is_final() {
            return Err(Reason::SetOfFinal);
        }
        if ty == Ty::Void || self.ty.starts_with('[') {
            return Err(Reason::Unsupported);
        }
        let (kind, owner, name) = (self.kind, self.ty, self.name);
        Ok(Point::field(kind, owner, name, has_target, ty))
    }

    fn new_object(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        let Reader { file, code, .. } = self.reader;
        if replaced {
            let made = self
                .made
                .get_or_init(|| new_objects(file, code).unwrap_or_default());
            let place = made.binary_search_by_key(&self.insn.pc, |made| made.0);
            place.map_err(|_| Reason::MadeApart)?;
        }
        let mut rest = self.of.strip_prefix('(').ok_or(Reason::Unsupported)?;
        let mut takes = Vec::new();
        while !rest.starts_with(')') {
            let (ty, behind) = Ty::of_descriptor(rest).ok_or(Reason::Unsupported)?;
            takes.push(ty);
            rest = behind;
        }
        let is_wide = |ty: &Ty| matches!(ty, Ty::Prim(Prim::I64 | Prim::F64));
        let words = takes.iter().map(|ty| 1 + u32::from(is_wide(ty)));
        // The object is named as well; a register of more than eight bits cannot be given a result.
        let receiver = insn::arguments(code.insns, self.insn).next();
        if 1 + words.sum::<u32>() != self.insn.a
            || receiver.is_none_or(|register| register > 0xff)
            || self.ty.starts_with('[')
        {
            return Err(Reason::Unsupported);
        }
        Ok(Point {
            takes: takes.into(),
            result: Ty::class(self.ty),
            ..Point::plain(self.kind, self.ty, "<init>")
        })
    }

    /// A point of what is thrown or caught.
    fn exception(&self, owner: &str, taken: &str) -> Point {
        Point {
            takes: [Ty::class(taken)].into(),
            is_tested: !self.is_plain,
            ..Point::plain(self.kind, owner, "")
        }
    }
}

impl PointDetails for Found<'_, '_> {
    fn parameters(&self, each: EachName<'_>) {
        let mut rest = self.of.strip_prefix('(').unwrap_or_default();
        while let Some((_, behind)) = Ty::of_descriptor(rest) {
            let shown = &rest[..rest.len() - behind.len()];
            if !(self.reader.show)(shown, each) {
                break;
            }
            rest = behind;
        }
    }

    fn point(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        if let Some(reason) = self.refused {
            return Err(reason);
        }
        match self.kind {
            PointKind::New => self.new_object(replaced),
            PointKind::MonitorEnter | PointKind::MonitorExit => Ok(Point {
                takes: [Ty::class(OBJECT)].into(),
                has_target: true,
                ..Point::plain(self.kind, OBJECT, "")
            }),
            PointKind::Line => Ok(Point::plain(self.kind, OBJECT, "")),
            PointKind::Throw => Ok(self.exception(THROWABLE, THROWABLE)),
            // A handler that does not ask for the exception has none to pass.
            PointKind::Catch if self.insn.opcode != op::MOVE_EXCEPTION => Err(Reason::Unsupported),
            // A handler of several types has what all of them are.
            PointKind::Catch => Ok(self.exception(
                self.ty,
                match self.is_plain {
                    true => self.ty,
                    false => THROWABLE,
                },
            )),
            _ => self.field(replaced),
        }
    }
}

impl Reader<'_, '_> {
    /// Shows the points, those of handlers first. `allows` says whether so many bytes more may be looked at.
    pub fn each_point(
        &self,
        kinds: PointKinds,
        allows: &dyn Fn(usize) -> bool,
        each: EachPoint<'_>,
    ) -> Result<()> {
        let walk = Walk {
            reader: self,
            kinds,
            allows,
            initialised: OnceCell::new(),
            made: OnceCell::new(),
        };
        if allows(self.code.insns.len()) && walk.places(each)? {
            walk.instructions(each)?;
        }
        Ok(())
    }
}

/// A walk over a method for its points. What shows some says whether more may be looked at.
struct Walk<'w, 'a> {
    reader: &'w Reader<'w, 'a>,
    kinds: PointKinds,
    allows: &'w dyn Fn(usize) -> bool,
    initialised: OnceCell<std::result::Result<Vec<(u32, u32)>, Reason>>,
    made: OnceCell<Vec<(u32, u32)>>,
}

impl<'a> Walk<'_, 'a> {
    fn found(&self, kind: PointKind, insn: Insn) -> Found<'_, 'a> {
        Found {
            reader: self.reader,
            initialised: &self.initialised,
            kind,
            insn,
            ty: "",
            name: "",
            of: "",
            is_plain: true,
            refused: None,
            made: &self.made,
        }
    }

    /// Shows the points of handlers and lines.
    fn places(&self, each: EachPoint<'_>) -> Result<bool> {
        let Reader { file, code, .. } = self.reader;
        let mut handlers = Vec::new();
        if self.kinds.has(PointKind::Catch) {
            code.lists(|_, mut list| {
                while let Some((ty, pc)) = list.next_handler()? {
                    handlers.push((pc, ty));
                }
                Ok(())
            })?;
            handlers.sort_unstable();
            handlers.dedup();
        }
        let lines = match self.kinds.has(PointKind::Line) {
            true => debug_lines::lines(file.bytes, code)?,
            false => vec![],
        };
        if !(self.allows)(8 * (handlers.len() + lines.len())) {
            return Ok(false);
        }
        let mut handlers = handlers.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut lines = lines.chunk_by(|a, b| a.at == b.at).peekable();
        let has_places = handlers.peek().is_some() || lines.peek().is_some();
        for insn in insn::each(code.insns).take_while(|_| has_places) {
            let insn = insn?;
            while handlers.next_if(|same| same[0].0 < insn.pc).is_some() {}
            while lines.next_if(|same| same[0].at < insn.pc).is_some() {}
            let same = handlers.next_if(|same| same[0].0 == insn.pc);
            let here = lines.next_if(|same| same[0].at == insn.pc);
            if insn.is_payload {
                continue;
            }
            let same = same.unwrap_or_default();
            for ty in same.iter().filter_map(|handler| handler.1) {
                let ty = file.type_name(ty)?;
                if !(self.allows)(ty.len()) {
                    return Ok(false);
                }
                let found = Found {
                    ty: &ty,
                    is_plain: same.len() == 1,
                    ..self.found(PointKind::Catch, insn)
                };
                found.show(0, each);
            }
            let mut here = here.unwrap_or_default().to_vec();
            here.dedup();
            for start in here {
                self.found(PointKind::Line, insn).show(start.line, each);
            }
        }
        Ok(true)
    }

    /// Shows the points that are instructions.
    fn instructions(&self, each: EachPoint<'_>) -> Result<()> {
        let code = &self.reader.code;
        let others = match self.reader.is_constructor && self.kinds.has(PointKind::New) {
            true => others_behind(code)?,
            false => Ok(vec![]),
        };
        for insn in insn::each(code.insns) {
            let insn = insn?;
            if insn.is_payload {
                continue;
            }
            let kind = match insn.opcode {
                op::THROW => PointKind::Throw,
                op::MONITOR_ENTER => PointKind::MonitorEnter,
                op::MONITOR_EXIT => PointKind::MonitorExit,
                opcode if is_direct(opcode) => PointKind::New,
                opcode => match field_access(opcode) {
                    Some((kind, _)) => kind,
                    None => continue,
                },
            };
            if !self.kinds.has(kind) {
                continue;
            }
            let found = self.found(kind, insn);
            let goes_on = match kind {
                PointKind::New => self.new_object(found, &others, each)?,
                PointKind::FieldGet | PointKind::FieldSet => self.field(found, each)?,
                PointKind::Throw => {
                    let ty = THROWABLE;
                    Found { ty, ..found }.show(0, each);
                    true
                }
                _ => {
                    found.show(0, each);
                    true
                }
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// `others`: where calls of other constructors on the same object end.
    fn new_object(
        &self,
        found: Found<'_, '_>,
        others: &std::result::Result<Vec<u32>, Reason>,
        each: EachPoint<'_>,
    ) -> Result<bool> {
        let Reader { file, class, .. } = self.reader;
        let MethodId {
            class: owner,
            proto,
            name,
        } = file.method(found.insn.index())?;
        if file.string(name)? != b"<init>" {
            return Ok(true);
        }
        // Another constructor may be called on this object.
        let refused = match others {
            Ok(behind) if behind.contains(&found.insn.end()) => return Ok(true),
            Err(reason) if [class.ty, class.superclass].contains(&owner) => Some(*reason),
            _ => None,
        };
        let ty = file.type_name(owner)?;
        let mut of = String::new();
        file.proto_descriptor(proto, &mut of)?;
        if !(self.allows)(ty.len() + of.len()) {
            return Ok(false);
        }
        let found = Found {
            ty: &ty,
            of: &of,
            refused,
            ..found
        };
        found.show(0, each);
        Ok(true)
    }

    fn field(&self, found: Found<'_, '_>, each: EachPoint<'_>) -> Result<bool> {
        let file = self.reader.file;
        let index = found.insn.index();
        let no_field = || file.no("field", index, file.fields.len());
        let row = file.fields.get(index as usize).ok_or_else(no_field)?;
        let ty = file.type_name(u16_at(row, 0).into())?;
        let of = mutf8(file.descriptor(u16_at(row, 2).into())?);
        let name = mutf8(file.string(u32_at(row, 4))?);
        if !(self.allows)(ty.len() + of.len() + name.len()) {
            return Ok(false);
        }
        let found = Found {
            ty: &ty,
            name: &name,
            of: &of,
            ..found
        };
        found.show(0, each);
        Ok(true)
    }
}
