//! What tests of bodies share: a disassembler, and the check that a new body does what the old one did.

use crate::cil::il::body::{Body, ClauseKind};
use crate::cil::il::insn::{self, Form, Insn};
use crate::cil::rewrite::Signatures;
use crate::cil::warning::Warning;
use crate::cil::write::image::Written;
use crate::edit::Layout;
use crate::error::Result;
use std::fmt::Write;

const ONE_BYTE: &str = "\
    nop break ldarg.0 ldarg.1 ldarg.2 ldarg.3 ldloc.0 ldloc.1 ldloc.2 ldloc.3 stloc.0 stloc.1 \
    stloc.2 stloc.3 ldarg.s ldarga.s starg.s ldloc.s ldloca.s stloc.s ldnull ldc.i4.m1 ldc.i4.0 \
    ldc.i4.1 ldc.i4.2 ldc.i4.3 ldc.i4.4 ldc.i4.5 ldc.i4.6 ldc.i4.7 ldc.i4.8 ldc.i4.s ldc.i4 \
    ldc.i8 ldc.r4 ldc.r8 - dup pop jmp call calli ret br.s brfalse.s brtrue.s beq.s bge.s bgt.s \
    ble.s blt.s bne.un.s bge.un.s bgt.un.s ble.un.s blt.un.s br brfalse brtrue beq bge bgt ble \
    blt bne.un bge.un bgt.un ble.un blt.un switch ldind.i1 ldind.u1 ldind.i2 ldind.u2 ldind.i4 \
    ldind.u4 ldind.i8 ldind.i ldind.r4 ldind.r8 ldind.ref stind.ref stind.i1 stind.i2 stind.i4 \
    stind.i8 stind.r4 stind.r8 add sub mul div div.un rem rem.un and or xor shl shr shr.un neg \
    not conv.i1 conv.i2 conv.i4 conv.i8 conv.r4 conv.r8 conv.u4 conv.u8 callvirt cpobj ldobj \
    ldstr newobj castclass isinst conv.r.un - - unbox throw ldfld ldflda stfld ldsfld ldsflda \
    stsfld stobj conv.ovf.i1.un conv.ovf.i2.un conv.ovf.i4.un conv.ovf.i8.un conv.ovf.u1.un \
    conv.ovf.u2.un conv.ovf.u4.un conv.ovf.u8.un conv.ovf.i.un conv.ovf.u.un box newarr ldlen \
    ldelema ldelem.i1 ldelem.u1 ldelem.i2 ldelem.u2 ldelem.i4 ldelem.u4 ldelem.i8 ldelem.i \
    ldelem.r4 ldelem.r8 ldelem.ref stelem.i stelem.i1 stelem.i2 stelem.i4 stelem.i8 stelem.r4 \
    stelem.r8 stelem.ref ldelem stelem unbox.any - - - - - - - - - - - - - conv.ovf.i1 \
    conv.ovf.u1 conv.ovf.i2 conv.ovf.u2 conv.ovf.i4 conv.ovf.u4 conv.ovf.i8 conv.ovf.u8 - - - - \
    - - - refanyval ckfinite - - mkrefany - - - - - - - - - ldtoken conv.u2 conv.u1 conv.i \
    conv.ovf.i conv.ovf.u add.ovf add.ovf.un mul.ovf mul.ovf.un sub.ovf sub.ovf.un endfinally \
    leave leave.s stind.i conv.u";

const TWO_BYTES: &str = "\
    arglist ceq cgt cgt.un clt clt.un ldftn ldvirtftn - ldarg ldarga starg ldloc ldloca stloc \
    localloc - endfilter unaligned. volatile. tail. initobj constrained. cpblk initblk no. \
    rethrow - sizeof refanytype readonly.";

/// The name of an opcode.
pub fn name(opcode: u16) -> &'static str {
    let (names, index) = if opcode >= 0xfe00 {
        (TWO_BYTES, opcode - 0xfe00)
    } else {
        (ONE_BYTE, opcode)
    };
    names.split_whitespace().nth(index as usize).unwrap_or("-")
}

/// A body as text, an instruction a line.
pub fn text(body: &Body<'_>) -> String {
    let mut s = String::new();
    let _ = write!(
        s,
        "{} maxstack {}",
        if body.tiny { "tiny" } else { "fat" },
        body.max_stack
    );
    if body.init_locals {
        s.push_str(" init");
    }
    if body.locals != 0 {
        let _ = write!(s, " locals {:08x}", body.locals);
    }
    s.push('\n');
    let code = body.code;
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let insn = insn::at(code, pc).unwrap();
        let _ = write!(s, "{pc:4} {}", name(insn.opcode));
        let operand_len = insn.len as usize - if insn.opcode >= 0xfe00 { 2 } else { 1 };
        match insn.form {
            Form::ShortBranch | Form::Branch => {
                let _ = write!(s, " {}", insn::branch_target(code, insn).unwrap());
            }
            Form::Switch => {
                insn::switch_targets(code, insn, |t| {
                    let _ = write!(s, " {t}");
                })
                .unwrap();
            }
            _ if operand_len > 0 => {
                s.push(' ');
                for b in code[insn.end() as usize - operand_len..insn.end() as usize]
                    .iter()
                    .rev()
                {
                    let _ = write!(s, "{b:02x}");
                }
            }
            _ => {}
        }
        s.push('\n');
        pc = insn.end();
    }
    for c in body.clauses() {
        let c = c.unwrap();
        let _ = write!(s, "try {}..{} ", c.try_start, c.try_end);
        let _ = match c.kind {
            ClauseKind::Catch => write!(s, "catch {:08x}", c.class_or_filter),
            ClauseKind::Filter => write!(s, "filter {}", c.class_or_filter),
            ClauseKind::Finally => write!(s, "finally"),
            ClauseKind::Fault => write!(s, "fault"),
        };
        let _ = writeln!(s, " {}..{}", c.handler_start, c.handler_end);
    }
    s
}

/// Signatures that are kept in a list.
#[derive(Default)]
pub struct Blobs(pub Vec<Vec<u8>>);

impl Signatures for Blobs {
    fn stand_alone_sig(&mut self, blob: &[u8]) -> Result<u32> {
        self.0.push(blob.to_vec());
        Ok(0x1100_0000 + self.0.len() as u32)
    }
}

/// Holds a new body against the old one: every instruction is where the map says, branches and clauses
/// lead to what they led to. Returns what is wrong.
pub fn difference(
    old: &Body<'_>,
    new: &Body<'_>,
    layout: &Layout,
    start: u32,
) -> std::result::Result<(), String> {
    let mut boundaries = vec![false; new.code.len() + 1];
    let mut pc = 0;
    while (pc as usize) < new.code.len() {
        boundaries[pc as usize] = true;
        pc = insn::at(new.code, pc).map_err(|e| e.to_string())?.end();
    }
    boundaries[new.code.len()] = true;
    let at_start = |from: u32, to: u32| {
        if to == start && from < to {
            layout.start(to)
        } else {
            layout.target(to)
        }
    };
    let mut pc = 0;
    while (pc as usize) < old.code.len() {
        let a = insn::at(old.code, pc).unwrap();
        let moved = layout.insn(pc);
        if !boundaries[moved as usize] {
            return Err(format!("{pc} moved to {moved}, which is no instruction"));
        }
        let b = insn::at(new.code, moved).unwrap();
        let bytes = |code: &[u8], i: Insn| code[i.pc as usize..i.end() as usize].to_vec();
        match a.form {
            Form::ShortBranch | Form::Branch => {
                let to = insn::branch_target(old.code, a).unwrap();
                let lands = insn::branch_target(new.code, b).map_err(|e| e.to_string())?;
                let same = b.opcode == a.opcode
                    || a.form == Form::ShortBranch && b.opcode == insn::long_form(a.opcode);
                if !same || lands != at_start(pc, to) {
                    return Err(format!("branch at {pc} to {to} became one to {lands}"));
                }
            }
            Form::Switch => {
                let (mut from, mut to) = (vec![], vec![]);
                insn::switch_targets(old.code, a, |t| from.push(at_start(pc, t))).unwrap();
                insn::switch_targets(new.code, b, |t| to.push(t)).map_err(|e| e.to_string())?;
                if from != to {
                    return Err(format!("switch at {pc} differs"));
                }
            }
            Form::Return if b.opcode != a.opcode => {
                let leaves = [
                    b.opcode,
                    insn::at(new.code, b.end()).map_or(0, |i| i.opcode),
                ];
                if !leaves
                    .iter()
                    .any(|o| matches!(*o, insn::op::LEAVE | insn::op::LEAVE_S))
                {
                    return Err(format!("ret at {pc} became {}", name(b.opcode)));
                }
            }
            Form::Prefix if b.opcode == insn::op::NOP => {}
            _ => {
                if bytes(old.code, a) != bytes(new.code, b) {
                    return Err(format!(
                        "{} at {pc} became {}",
                        name(a.opcode),
                        name(b.opcode)
                    ));
                }
            }
        }
        pc = a.end();
    }
    let clauses: Vec<_> = new
        .clauses()
        .collect::<Result<_>>()
        .map_err(|e| e.to_string())?;
    for (a, b) in old.clauses().zip(&clauses) {
        let a = a.unwrap();
        if (b.try_start, b.try_end, b.handler_start, b.handler_end)
            != (
                layout.target(a.try_start),
                layout.start(a.try_end).max(b.try_start),
                layout.target(a.handler_start),
                layout.start(a.handler_end).max(b.handler_start),
            )
        {
            return Err(format!("{a:?} became {b:?}"));
        }
        for pc in [b.try_start, b.try_end, b.handler_start, b.handler_end] {
            if !boundaries[pc as usize] {
                return Err(format!("{b:?} splits an instruction"));
            }
        }
    }
    Ok(())
}

/// `tests/dotnet/fixtures/shapes.cs`, compiled: generics, nested types, attributes, resources, data of
/// fields, a strong name.
pub const SHAPES: &[u8] = include_bytes!("../../tests/dotnet/fixtures/shapes.dll");

/// A written assembly as bytes.
pub struct Whole {
    pub image: Vec<u8>,
    pub pdb: Option<Vec<u8>>,
    pub warnings: Vec<Warning>,
}

/// All of what was written, made in its windows and in pieces of an odd size.
pub fn whole(written: Written<'_>) -> Result<Whole> {
    let output = &written.image;
    let image = output.to_vec()?;
    let mut pieced = Vec::new();
    while pieced.len() < output.len() {
        let at = pieced.len();
        pieced.resize(output.len().min(at + 1021), 0xcc);
        output.fill(at, &mut pieced[at..]);
    }
    let backwards = (0..output.windows()).rev();
    let digests = backwards.map(|number| output.window(number, &mut vec![0xcc; 99]).1);
    let mut digests: Vec<_> = digests.collect();
    digests.reverse();
    for (at, bytes) in output.seal(&digests)? {
        pieced[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    assert!(image == pieced, "windows make another file");
    Ok(Whole {
        image,
        pdb: written.pdb,
        warnings: written.warnings,
    })
}
