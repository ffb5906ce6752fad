//! The points of a method, calls apart.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::settle;
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::{EachName, LineStart};
use crate::aspect::point::{EachPoint, Point, PointDetails, PointKind, PointKinds, PointSite};
use crate::bytes::{Cursor, modified_utf8, mutf8};
use crate::error::Result;
use crate::jvm::attributes::stack_map;
use crate::jvm::class::{Class, Code, FieldNames, MethodInfo, attributes, flag};
use crate::jvm::constructor::{self, Initialisation};
use crate::jvm::frames::{self, item};
use crate::jvm::insn::{self, Form, op};
use crate::jvm::pool::{Known, MemberRef};
use crate::jvm::signature;
use std::borrow::Cow;
use std::cell::OnceCell;

const THROWABLE: &str = "java/lang/Throwable";

/// Longest descriptor of a method (JVMS 4.4.7), with room for what is passed beside.
const MAX_DESCRIPTOR: usize = 65_000;

/// A new object: where it is made, and where its constructor is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct New {
    pub made: u32,
    pub called: u32,
    /// Nothing but `new; dup; arguments; invokespecial`, without a branch.
    pub is_plain: bool,
}

/// Where branches, switches and handlers lead, ascending.
fn targets(code: &Code<'_>) -> Result<Vec<u32>> {
    let mut targets: Vec<u32> = handlers(code).map(|(pc, _)| pc).collect();
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc)?;
        match insn.form {
            Form::Branch | Form::WideBranch => {
                targets.push(insn::branch_target(code.insns, insn)?);
            }
            Form::Switch => insn::switch_targets(code.insns, insn, |t| targets.push(t))?,
            _ => {}
        }
        pc += insn.len;
    }
    targets.sort_unstable();
    targets.dedup();
    Ok(targets)
}

/// The handlers: where each begins, and the index of what it catches.
fn handlers<'c>(code: &Code<'c>) -> impl Iterator<Item = (u32, u16)> + 'c {
    code.exceptions.chunks_exact(8).map(|entry| {
        let field = |i: usize| u16::from_be_bytes([entry[i], entry[i + 1]]);
        (u32::from(field(4)), field(6))
    })
}

/// The new objects of a method, by the calls of their constructors.
pub fn new_objects(class: &Class<'_>, code: &Code<'_>) -> Result<Vec<New>> {
    struct Open {
        made: u32,
        class: u16,
        is_plain: bool,
    }
    let targets = targets(code)?;
    let mut open: Vec<Open> = Vec::new();
    let mut all = Vec::new();
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc)?;
        let index = || {
            let at = pc as usize;
            u16::from_be_bytes([code.insns[at + 1], code.insns[at + 2]])
        };
        let next = pc + insn.len;
        let jumps = matches!(insn.form, Form::Branch | Form::WideBranch | Form::Switch);
        if jumps || insn::ends_flow(insn.opcode) || targets.binary_search(&pc).is_ok() {
            open.iter_mut().for_each(|open| open.is_plain = false);
        }
        match insn.opcode {
            op::NEW => open.push(Open {
                made: pc,
                class: index(),
                is_plain: code.insns.get(next as usize) == Some(&op::DUP)
                    && targets.binary_search(&next).is_err(),
            }),
            op::INVOKESPECIAL => {
                let MemberRef { owner, name, .. } = class.pool.member(index())?;
                if name == b"<init>"
                    && let Some(last) = open.last()
                    && class.pool.class_name(last.class)? == class.pool.class_name(owner)?
                {
                    all.push(New {
                        made: last.made,
                        called: pc,
                        is_plain: last.is_plain,
                    });
                    open.pop();
                }
            }
            _ => {}
        }
        pc = next;
    }
    Ok(all)
}

/// A method's source lines, ascending.
pub fn lines(class: &Class<'_>, code: &Code<'_>) -> Result<Vec<LineStart>> {
    let mut lines = Vec::new();
    attributes(class.bytes, code.attributes, |a| {
        if class.pool.which(a.name) == Some(Known::LineNumberTable) {
            let mut cursor = Cursor::new(a.data);
            for _ in 0..cursor.be_u16()? {
                lines.push(LineStart {
                    at: cursor.be_u16()?.into(),
                    line: cursor.be_u16()?.into(),
                });
            }
        }
        Ok(())
    })?;
    lines.sort_unstable();
    lines.dedup();
    Ok(lines)
}

/// Where a constructor's `this` is initialised; none of another method. `Err`: nobody knows.
pub fn initialisation(
    class: &Class<'_>,
    method: &MethodInfo,
    code: &Code<'_>,
) -> Result<std::result::Result<Option<Initialisation>, Reason>> {
    if class.pool.utf8(method.name)? != b"<init>" {
        return Ok(Ok(None));
    }
    let found = settle(constructor::analyse(class, code, stack_map(class, code)?))?;
    Ok(found.map(Some))
}

/// What all points of a method share.
struct Reader<'r, 'a> {
    class: &'r Class<'a>,
    method: &'r MethodInfo,
    code: Code<'a>,
    initialisation: OnceCell<std::result::Result<Option<Initialisation>, Reason>>,
}

/// One point.
struct Found<'r, 'a> {
    reader: &'r Reader<'r, 'a>,
    kind: PointKind,
    at: u32,
    opcode: u8,
    ty: &'r str,
    name: &'r str,
    descriptor: &'r str,
    /// Of a new object and a caught exception.
    is_plain: bool,
}

impl Found<'_, '_> {
    fn show(&self, line: u32, each: EachPoint<'_>) {
        each(&PointSite {
            at: self.at,
            kind: self.kind,
            ty: self.ty,
            name: self.name,
            line,
            details: self,
        });
    }

    /// Whether the object may not be initialised yet whose field is set.
    fn is_early(&self) -> std::result::Result<bool, Reason> {
        let Reader {
            class,
            method,
            code,
            initialisation,
        } = self.reader;
        if self.opcode != op::PUTFIELD || self.ty != class.name() {
            return Ok(false);
        }
        let known = initialisation.get_or_init(|| {
            self::initialisation(class, method, code).unwrap_or(Err(Reason::Unsupported))
        });
        match known {
            Err(reason) => Err(*reason),
            Ok(None) => Ok(false),
            Ok(Some(known)) => Ok(!known.is_initialised(self.at)),
        }
    }

    /// Whether the class itself declares the field, as final.
    fn is_final(&self) -> bool {
        let class = self.reader.class;
        self.ty == class.name()
            && (class.final_fields()).is_ok_and(|fields| {
                let (name, descriptor) = (modified_utf8(self.name), modified_utf8(self.descriptor));
                let is_it =
                    |field: &FieldNames<'_>| field.name == name && field.descriptor == descriptor;
                fields.iter().any(is_it)
            })
    }

    fn field(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        let (ty, "") = Ty::of_descriptor(self.descriptor).ok_or(Reason::Unsupported)? else {
            return Err(Reason::Unsupported);
        };
        let is_set = self.kind == PointKind::FieldSet;
        if is_set && self.is_early()? {
            return Err(Reason::Uninitialised);
        }
        if is_set && replaced && self.is_final() {
            return Err(Reason::SetOfFinal);
        }
        let longest = modified_utf8(self.ty).len() + modified_utf8(self.descriptor).len();
        if ty == Ty::Void || self.ty.starts_with('[') || longest > MAX_DESCRIPTOR {
            return Err(Reason::Unsupported);
        }
        let has_target = matches!(self.opcode, op::GETFIELD | op::PUTFIELD);
        let (kind, owner, name) = (self.kind, self.ty, self.name);
        Ok(Point::field(kind, owner, name, has_target, ty))
    }

    fn new_object(&self) -> std::result::Result<Point, Reason> {
        if !self.is_plain {
            return Err(Reason::MadeApart);
        }
        let mut rest = self
            .descriptor
            .strip_prefix('(')
            .ok_or(Reason::Unsupported)?;
        let mut takes = Vec::new();
        while !rest.starts_with(')') {
            let (ty, behind) = Ty::of_descriptor(rest).ok_or(Reason::Unsupported)?;
            takes.push(ty);
            rest = behind;
        }
        let longest = modified_utf8(self.ty).len() + modified_utf8(self.descriptor).len();
        if longest > MAX_DESCRIPTOR {
            return Err(Reason::Unsupported);
        }
        Ok(Point {
            takes: takes.into(),
            result: Ty::class(self.ty),
            ..Point::plain(self.kind, self.ty, "<init>")
        })
    }
}

impl PointDetails for Found<'_, '_> {
    fn parameters(&self, each: EachName<'_>) {
        signature::parameters(self.descriptor, each);
    }

    fn point(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        match self.kind {
            PointKind::FieldGet | PointKind::FieldSet => self.field(replaced),
            PointKind::New => self.new_object(),
            PointKind::Throw => Ok(Point {
                takes: [Ty::class(THROWABLE)].into(),
                ..Point::plain(self.kind, THROWABLE, "")
            }),
            // A handler of several types has what all of them are.
            PointKind::Catch => Ok(Point {
                takes: [Ty::class(match self.is_plain {
                    true => self.ty,
                    false => THROWABLE,
                })]
                .into(),
                is_tested: !self.is_plain,
                ..Point::plain(self.kind, self.ty, "")
            }),
            PointKind::MonitorEnter | PointKind::MonitorExit => Ok(Point {
                takes: [Ty::class("java/lang/Object")].into(),
                has_target: true,
                ..Point::plain(self.kind, "java/lang/Object", "")
            }),
            PointKind::Call | PointKind::Line => {
                Ok(Point::plain(self.kind, "java/lang/Object", ""))
            }
        }
    }
}

/// Shows the points of a method. Those of handlers and lines come first.
pub fn each_point(
    class: &Class<'_>,
    method: &MethodInfo,
    kinds: PointKinds,
    each: EachPoint<'_>,
) -> Result<()> {
    let Some(code) = class.code(method)? else {
        return Ok(());
    };
    let reader = Reader {
        class,
        method,
        code,
        initialisation: OnceCell::new(),
    };
    let begins = begins(&code)?;
    let is_insn = |pc: u32| begins.get(pc as usize).is_some_and(|begins| *begins);
    if kinds.has(PointKind::Catch) {
        let mut all: Vec<(u32, u16)> = handlers(&code).collect();
        all.sort_unstable();
        all.dedup();
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            for &(pc, caught) in same
                .iter()
                .filter(|&&(pc, caught)| caught != 0 && is_insn(pc))
            {
                let ty = mutf8(class.pool.class_name(caught)?);
                let found = Found {
                    ty: &ty,
                    is_plain: same.len() == 1,
                    ..reader.found(PointKind::Catch, pc)
                };
                found.show(0, each);
            }
        }
    }
    if kinds.has(PointKind::Line) {
        for LineStart { at, line } in lines(class, &code)? {
            if is_insn(at) {
                reader.found(PointKind::Line, at).show(line, each);
            }
        }
    }
    reader.instructions(kinds, each)
}

impl<'a> Reader<'_, 'a> {
    fn found(&self, kind: PointKind, at: u32) -> Found<'_, 'a> {
        Found {
            reader: self,
            kind,
            at,
            opcode: op::NOP,
            ty: "",
            name: "",
            descriptor: "",
            is_plain: true,
        }
    }

    /// Shows the points that are instructions.
    fn instructions(&self, kinds: PointKinds, each: EachPoint<'_>) -> Result<()> {
        let insns = self.code.insns;
        let made = match kinds.has(PointKind::New) {
            true => new_objects(self.class, &self.code)?,
            false => vec![],
        };
        let mut pc = 0;
        while (pc as usize) < insns.len() {
            let insn = insn::at(insns, pc)?;
            pc += insn.len;
            let kind = match insn.opcode {
                op::GETSTATIC | op::GETFIELD => PointKind::FieldGet,
                op::PUTSTATIC | op::PUTFIELD => PointKind::FieldSet,
                op::INVOKESPECIAL => PointKind::New,
                op::ATHROW => PointKind::Throw,
                op::MONITORENTER => PointKind::MonitorEnter,
                op::MONITOREXIT => PointKind::MonitorExit,
                _ => continue,
            };
            if !kinds.has(kind) {
                continue;
            }
            let found = Found {
                opcode: insn.opcode,
                ..self.found(kind, insn.pc)
            };
            match kind {
                PointKind::Throw => {
                    let ty = THROWABLE;
                    Found { ty, ..found }.show(0, each);
                }
                PointKind::FieldGet | PointKind::FieldSet => self.member(found, each)?,
                PointKind::New => {
                    if let Ok(place) = made.binary_search_by_key(&insn.pc, |made| made.called) {
                        let is_plain = made[place].is_plain;
                        self.member(Found { is_plain, ..found }, each)?;
                    }
                }
                _ => found.show(0, each),
            }
        }
        Ok(())
    }

    /// Shows a point that is an instruction with a member.
    fn member(&self, found: Found<'_, '_>, each: EachPoint<'_>) -> Result<()> {
        let at = found.at as usize;
        let index = u16::from_be_bytes([self.code.insns[at + 1], self.code.insns[at + 2]]);
        let MemberRef {
            owner,
            name,
            descriptor,
        } = self.class.pool.member(index)?;
        let owner: Cow<'_, str> = mutf8(self.class.pool.class_name(owner)?);
        let (name, descriptor) = (mutf8(name), mutf8(descriptor));
        let found = Found {
            ty: &owner,
            name: &name,
            descriptor: &descriptor,
            ..found
        };
        found.show(0, each);
        Ok(())
    }
}

/// Where instructions begin.
fn begins(code: &Code<'_>) -> Result<Vec<bool>> {
    let mut begins = vec![false; code.insns.len()];
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        begins[pc as usize] = true;
        pc += insn::at(code.insns, pc)?.len;
    }
    Ok(begins)
}

/// Where a method's frames lie, and whether the first local of each is the object, initialised or not.
pub struct FramesWithThis(Vec<(u32, bool)>);

impl FramesWithThis {
    /// Whether `this` can be loaded at an instruction: verifiers believe the frame above, not what the code could know.
    pub fn at(&self, pc: u32) -> bool {
        let above = self.0.partition_point(|&(frame, _)| frame <= pc);
        above.checked_sub(1).is_none_or(|above| self.0[above].1)
    }
}

/// Reads the frames of a method that has an object.
pub fn frames_with_this(
    class: &Class<'_>,
    method: &MethodInfo,
    code: &Code<'_>,
) -> Result<FramesWithThis> {
    let this = class.pool.class_name(class.this_class())?;
    let mut parameters = 1;
    signature::each_parameter(class.pool.utf8(method.descriptor)?, |_| parameters += 1);
    let mut all = Vec::new();
    attributes(class.bytes, code.attributes, |a| {
        if class.pool.which(a.name) != Some(Known::StackMapTable) {
            return Ok(());
        }
        let first = Some((item::OBJECT, class.this_class()));
        frames::first_locals(a.data, parameters, first, |pc, first| {
            let is_this = match first {
                Some((item::UNINITIALIZED_THIS, _)) => true,
                Some((item::OBJECT, index)) => {
                    class.pool.class_name(index).is_ok_and(|name| name == this)
                }
                _ => false,
            };
            all.push((pc, is_this));
        })
    })?;
    Ok(FramesWithThis(all))
}

/// Whether a method stores into the variable of its object.
pub fn overwrites_this(method: &MethodInfo, code: &Code<'_>) -> Result<bool> {
    if method.access & flag::STATIC != 0 {
        return Ok(false);
    }
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc)?;
        if insn::store(code.insns, insn).is_some_and(|local| local.slot == 0) {
            return Ok(true);
        }
        pc += insn.len;
    }
    Ok(false)
}
