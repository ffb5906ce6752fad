//! What an instruction finds on top of the stack where it takes an instance: a pointer to a struct, a struct, or an object. The instruction in
//! front of it says so, if no branch leads in between.

use crate::cil::il::body::Body;
use crate::cil::il::insn::{self, Form, Insn, op};
use crate::cil::image::Image;
use crate::cil::metadata::flags::method_flag;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature::{MethodSignature, Reader, element, kind};
use crate::cil::metadata::tables::{token_row, token_table};
use crate::cil::scan::{sites, types};
use crate::error::{Error, Kind, Result};
use std::cell::OnceCell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    Pointer,
    Value,
    Object,
}

/// A method whose stack is asked for.
pub(super) struct Stack<'i, 'a> {
    image: &'i Image<'a>,
    method: u32,
    body: Body<'a>,
    locals: OnceCell<Vec<Option<Below>>>,
    arguments: OnceCell<Vec<Option<Below>>>,
    targets: OnceCell<Vec<u32>>,
}

/// What a value of a type of a signature is. None: a type parameter decides, or it is a number that may be a pointer.
fn sort(mut ty: &[u8]) -> Option<Below> {
    loop {
        let mut reader = Reader::new(ty);
        reader.skip_modifiers().ok()?;
        let first = reader.u8().ok()?;
        return Some(match first {
            element::PINNED => {
                let pinned = ty.iter().position(|&byte| byte == element::PINNED)?;
                ty = &ty[pinned + 1..];
                continue;
            }
            element::BYREF | element::PTR => Below::Pointer,
            element::GENERICINST if reader.u8().ok()? == element::CLASS => Below::Object,
            element::CLASS
            | element::STRING
            | element::OBJECT
            | element::SZARRAY
            | element::ARRAY => Below::Object,
            element::VAR | element::MVAR | element::I | element::U => return None,
            _ => Below::Value,
        });
    }
}

/// The types of a list in a signature.
fn sorts(mut reader: Reader<'_>, count: u32) -> Vec<Option<Below>> {
    let types = (0..count).map_while(|_| reader.skip_type().ok());
    types.map(sort).collect()
}

impl<'i, 'a> Stack<'i, 'a> {
    pub fn new(image: &'i Image<'a>, method: u32, body: Body<'a>) -> Stack<'i, 'a> {
        Stack {
            image,
            method,
            body,
            locals: OnceCell::new(),
            arguments: OnceCell::new(),
            targets: OnceCell::new(),
        }
    }

    /// Its `MethodDef` row.
    pub fn method(&self) -> u32 {
        self.method
    }

    /// What an instruction leaves on top, which is followed by the one at `at`.
    pub fn below(&self, at: u32, before: Option<Insn>) -> Option<Below> {
        let insn = before?;
        let targets = self.targets.get_or_init(|| self.targets());
        if targets.binary_search(&at).is_ok() {
            return None;
        }
        self.leaves(insn).ok().flatten()
    }

    fn leaves(&self, insn: Insn) -> Result<Option<Below>> {
        let code = self.body.code;
        let operand = &code[insn.pc as usize..insn.end() as usize];
        let short = || usize::from(operand[1]);
        let long = || usize::from(u16::from_le_bytes([operand[2], operand[3]]));
        Ok(match insn.opcode {
            op::LDLOCA_S | op::LDLOCA | op::LDARGA_S | op::LDARGA => Some(Below::Pointer),
            op::LDFLDA | op::LDSFLDA | op::LDELEMA | op::UNBOX => Some(Below::Pointer),
            op::LDLOC_0..op::STLOC_0 => self.local(usize::from(insn.opcode - op::LDLOC_0)),
            op::LDLOC_S => self.local(short()),
            op::LDLOC => self.local(long()),
            op::LDARG_0..op::LDLOC_0 => self.argument(usize::from(insn.opcode - op::LDARG_0)),
            op::LDARG_S => self.argument(short()),
            op::LDARG => self.argument(long()),
            op::LDFLD | op::LDSFLD => {
                let field = sites::field(self.image, insn.token(code))?;
                // The kind is in front.
                match self.image.metadata.blobs.get(field.signature)? {
                    [_, ty @ ..] => sort(ty),
                    [] => None,
                }
            }
            op::CALL | op::CALLVIRT => {
                let called = sites::resolve(self.image, insn.token(code))?;
                let blob = self.image.metadata.blobs.get(called.signature)?;
                sort(MethodSignature::parse(blob)?.returns)
            }
            op::LDOBJ | op::UNBOX_ANY | op::LDELEM => {
                let ty = types::accessed(self.image, self.method, insn.token(code))?;
                ty.is_value.map(|is| match is {
                    true => Below::Value,
                    false => Below::Object,
                })
            }
            op::LDELEM_REF | op::LDIND_REF | op::CASTCLASS | op::ISINST => Some(Below::Object),
            _ => None,
        })
    }

    fn local(&self, number: usize) -> Option<Below> {
        let read = || -> Result<Vec<Option<Below>>> {
            let token = self.body.locals;
            let tables = &self.image.metadata.tables;
            let row = tables.row(token_table(token), token_row(token))?;
            match self.image.metadata.blobs.get(row.get(0))? {
                [kind::LOCALS, rest @ ..] if token_table(token) == table::STAND_ALONE_SIG => {
                    let mut reader = Reader::new(rest);
                    let count = reader.number()?;
                    Ok(sorts(reader, count))
                }
                _ => Err(Error::new(Kind::Malformed, "no signature of locals")),
            }
        };
        let all = self.locals.get_or_init(|| read().unwrap_or_default());
        all.get(number).copied().flatten()
    }

    fn argument(&self, number: usize) -> Option<Below> {
        let read = || -> Result<Vec<Option<Below>>> {
            let metadata = &self.image.metadata;
            let row = metadata.tables.row(table::METHOD_DEF, self.method)?;
            let blob = metadata.blobs.get(row.get(column::method_def::SIGNATURE))?;
            let signature = MethodSignature::parse(blob)?;
            let mut all = Vec::new();
            if row.get(column::method_def::FLAGS) & method_flag::STATIC == 0 {
                let owner = metadata.owner_of_method(self.method).unwrap_or_default();
                all.push(Some(match types::is_value_type(self.image, owner)? {
                    true => Below::Pointer,
                    false => Below::Object,
                }));
            }
            all.extend(sorts(Reader::new(signature.parameters), signature.count));
            Ok(all)
        };
        let all = self.arguments.get_or_init(|| read().unwrap_or_default());
        all.get(number).copied().flatten()
    }

    /// Where branches lead, ascending.
    fn targets(&self) -> Vec<u32> {
        let code = self.body.code;
        let mut targets = Vec::new();
        let mut pc = 0;
        while (pc as usize) < code.len() {
            let Ok(insn) = insn::at(code, pc) else { break };
            match insn.form {
                Form::ShortBranch | Form::Branch => {
                    targets.extend(insn::branch_target(code, insn));
                }
                Form::Switch => {
                    let _ = insn::switch_targets(code, insn, |target| targets.push(target));
                }
                _ => {}
            }
            pc = insn.end();
        }
        targets.sort_unstable();
        targets
    }
}
