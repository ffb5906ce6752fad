//! The points of a method, calls apart: fields and exceptions.

use crate::aspect::advice::Reason;
use crate::aspect::attempt::settle;
use crate::aspect::bind::ty::Ty;
use crate::aspect::joinpoint::EachName;
use crate::aspect::point::{EachPoint, Point, PointDetails, PointKind, PointKinds, PointSite};
use crate::bytes::{mutf8, u16_at, u32_at};
use crate::dex::analysis::constructor;
use crate::dex::format::class::{ClassDef, fields_of, flag};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::File;
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::error::Result;
use std::cell::OnceCell;

const THROWABLE: &str = "java/lang/Throwable";

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

/// A method with its points.
pub(crate) struct Reader<'r, 'a> {
    pub file: &'r File<'a>,
    pub class: &'r ClassDef,
    pub is_constructor: bool,
    pub code: Code<'a>,
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
}

impl Found<'_, '_> {
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
        let owner = Ty::class(self.ty);
        let target = has_target.then(|| owner.clone());
        let value = is_set.then(|| ty.clone());
        Ok(Point {
            kind: self.kind,
            owner,
            name: self.name.into(),
            takes: target.into_iter().chain(value).collect(),
            has_target,
            result: if is_set { Ty::Void } else { ty },
            is_tested: false,
            reference: 0,
        })
    }

    /// A point of what is thrown or caught.
    fn exception(&self, owner: &str, taken: &str) -> Point {
        Point {
            kind: self.kind,
            owner: Ty::class(owner),
            name: "".into(),
            takes: [Ty::class(taken)].into(),
            has_target: false,
            result: Ty::Void,
            is_tested: !self.is_plain,
            reference: 0,
        }
    }
}

impl PointDetails for Found<'_, '_> {
    fn parameters(&self, _: EachName<'_>) {}

    fn point(&self, replaced: bool) -> std::result::Result<Point, Reason> {
        match self.kind {
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
        let Reader { file, code, .. } = self;
        if !allows(code.insns.len()) {
            return Ok(());
        }
        let initialised = OnceCell::new();
        let plain = |kind, insn| Found {
            reader: self,
            initialised: &initialised,
            kind,
            insn,
            ty: THROWABLE,
            name: "",
            of: "",
            is_plain: true,
        };
        let mut show = |found: Found<'_, '_>| {
            each(&PointSite {
                at: found.insn.pc,
                kind: found.kind,
                ty: found.ty,
                name: found.name,
                line: 0,
                details: &found,
            });
        };
        let mut handlers = Vec::new();
        if kinds.has(PointKind::Catch) {
            code.lists(|_, mut list| {
                while let Some((ty, pc)) = list.next_handler()? {
                    handlers.push((pc, ty));
                }
                Ok(())
            })?;
            handlers.sort_unstable();
            handlers.dedup();
        }
        for same in handlers.chunk_by(|a, b| a.0 == b.0) {
            if same[0].0 >= insn::units(code.insns) {
                continue;
            }
            let insn = insn::at(code.insns, same[0].0)?;
            for ty in same.iter().filter_map(|handler| handler.1) {
                let ty = file.type_name(ty)?;
                if !allows(ty.len()) {
                    return Ok(());
                }
                show(Found {
                    ty: &ty,
                    is_plain: same.len() == 1,
                    ..plain(PointKind::Catch, insn)
                });
            }
        }
        for insn in insn::each(code.insns) {
            let insn = insn?;
            if insn.is_payload {
                continue;
            }
            if insn.opcode == op::THROW && kinds.has(PointKind::Throw) {
                show(plain(PointKind::Throw, insn));
            }
            let Some((kind, _)) = field_access(insn.opcode).filter(|access| kinds.has(access.0))
            else {
                continue;
            };
            let no_field = || file.no("field", insn.index(), file.fields.len());
            let row = file
                .fields
                .get(insn.index() as usize)
                .ok_or_else(no_field)?;
            let ty = file.type_name(u16_at(row, 0).into())?;
            let of = mutf8(file.descriptor(u16_at(row, 2).into())?);
            let name = mutf8(file.string(u32_at(row, 4))?);
            if !allows(ty.len() + of.len() + name.len()) {
                return Ok(());
            }
            show(Found {
                ty: &ty,
                name: &name,
                of: &of,
                ..plain(kind, insn)
            });
        }
        Ok(())
    }
}
