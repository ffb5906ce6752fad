//! Code items built in tests, and shown.

use crate::aspect::advice::Advice;
use crate::aspect::bind::call::{
    Adapter, Bound, Call, Change, Convert, Dest, Hook, Keep, Operand, Role, Source,
};
use crate::aspect::bind::ty::{Prim, Signature, Ty};
use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::plan::{Plan, Planned};
use crate::bytes::put_uleb32;
use crate::dex::Dex;
use crate::dex::format::code_item::{self, Code, Handler};
use crate::dex::format::insn;
use crate::dex::format::opcodes::{BRANCH, Format, Index};
use crate::error::Result;
use std::fmt::Write;
use std::sync::Arc;

/// Code units as bytes.
pub fn code(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|u| u.to_le_bytes()).collect()
}

/// A code item in the making.
#[derive(Debug)]
pub struct Body {
    registers: u16,
    ins: u16,
    outs: u16,
    insns: Vec<u8>,
    tries: Vec<(u32, u16, Vec<Handler>)>,
}

impl Body {
    /// A frame and its instructions.
    pub fn new(registers: u16, ins: u16, units: &[u16]) -> Body {
        Body {
            registers,
            ins,
            outs: 0,
            insns: code(units),
            tries: vec![],
        }
    }

    /// Adds a try over `start..end`.
    pub fn try_at(mut self, start: u32, end: u32, handlers: &[Handler]) -> Body {
        self.tries
            .push((start, (end - start) as u16, handlers.to_vec()));
        self
    }

    /// The code item.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        let counts = [self.registers, self.ins, self.outs, self.tries.len() as u16];
        code_item::put_header(&mut out, counts, self.insns.len() as u32 / 2);
        out.extend_from_slice(&self.insns);
        if self.tries.is_empty() {
            return out;
        }
        code_item::align(&mut out, 0);
        let mut lists: Vec<&Vec<Handler>> = vec![];
        for (_, _, handlers) in &self.tries {
            if !lists.contains(&handlers) {
                lists.push(handlers);
            }
        }
        let mut encoded = vec![lists.len() as u8];
        let mut starts = vec![];
        for list in &lists {
            starts.push(encoded.len() as u16);
            let typed = list.iter().filter(|h| h.0.is_some()).count() as i8;
            let all = list.iter().any(|h| h.0.is_none());
            encoded.push((if all { -typed } else { typed }) as u8 & 0x7f);
            for &(ty, pc) in *list {
                if let Some(ty) = ty {
                    put_uleb32(&mut encoded, ty);
                }
                put_uleb32(&mut encoded, pc);
            }
        }
        for (start, count, handlers) in &self.tries {
            let list = lists.iter().position(|l| *l == handlers).unwrap();
            out.extend_from_slice(&start.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(&starts[list].to_le_bytes());
        }
        out.extend_from_slice(&encoded);
        out
    }
}

/// A code item as text: the frame, the instructions, the tries with their handlers.
pub fn show(bytes: &[u8]) -> String {
    let code = Code::read(bytes, 0).unwrap();
    assert_eq!(code.size().unwrap(), bytes.len(), "what follows the item");
    let mut out = format!(
        "registers {} ins {} outs {}\n",
        code.registers, code.ins, code.outs
    );
    for insn in insn::each(code.insns) {
        let insn = insn.unwrap();
        let op = insn.op();
        write!(out, "{:4} ", insn.pc).unwrap();
        if insn.is_payload {
            writeln!(out, "payload of {} units", insn.len).unwrap();
            continue;
        }
        out.push_str(op.name);
        let mut operands: Vec<String> = [insn.a, insn.b, insn.c]
            .iter()
            .zip(op.registers.trim_end_matches('+').bytes())
            .map(|(r, _)| format!("v{r}"))
            .collect();
        if matches!(
            op.format,
            Format::F35c | Format::F3rc | Format::F45cc | Format::F4rcc
        ) {
            operands.extend(insn::arguments(code.insns, insn).map(|r| format!("v{r}")));
        }
        if op.has(BRANCH) || op.format == Format::F31t {
            operands.push(format!("-> {}", insn.target(code.insns).unwrap()));
        } else if op.index != Index::None {
            operands.push(format!("@{}", insn.value));
        } else if matches!(
            op.format,
            Format::F11n
                | Format::F21s
                | Format::F21h
                | Format::F31i
                | Format::F51l
                | Format::F22s
                | Format::F22b
        ) {
            operands.push(format!("#{:#x}", insn.value));
        }
        for (i, operand) in operands.iter().enumerate() {
            out.push_str(if i == 0 { " " } else { ", " });
            out.push_str(operand);
        }
        insn::targets(code.insns, insn, |t| {
            if !op.has(BRANCH) {
                write!(out, " -> {t}").unwrap();
            }
        })
        .unwrap();
        out.push('\n');
    }
    for t in code.tries() {
        let t = t.unwrap();
        write!(out, "try {}..{}", t.start, t.end).unwrap();
        let mut list = code.list(t.list).unwrap();
        while let Some((ty, pc)) = list.next_handler().unwrap() {
            match ty {
                Some(ty) => write!(out, " @{ty} -> {pc}").unwrap(),
                None => write!(out, " all -> {pc}").unwrap(),
            }
        }
        out.push('\n');
    }
    out
}

/// Own hooks for a method, by its signature.
pub type Hooked<'h> = &'h dyn Fn(&Signature) -> Bound;

/// Plans own hooks, and `advice` beside them, for every method with a body.
pub fn own_everywhere(dex: &Dex<'_>, advice: Advice, hooked: Hooked<'_>) -> Plan {
    own_wherever(dex, advice, hooked).unwrap()
}

/// The same for any bytes; methods without a signature have none.
pub fn own_wherever(dex: &Dex<'_>, advice: Advice, hooked: Hooked<'_>) -> Result<Plan> {
    struct All<'h> {
        advice: Advice,
        hooked: Hooked<'h>,
        types: u32,
        planned: Vec<Planned>,
        bound: Vec<Arc<Bound>>,
    }
    impl Visitor for All<'_> {
        fn enter_type(&mut self, _: &Type<'_>) -> bool {
            self.types += 1;
            true
        }
        fn method(&mut self, index: u32, method: &Method<'_>) {
            if method.has_body
                && let Some(signature) = method.details.signature()
            {
                self.planned.push(Planned {
                    ty: self.types - 1,
                    index,
                    id: 0x5eed_0000 + self.planned.len() as u32,
                    advice: self.advice.with(Advice::OWN),
                    bound: Some(self.bound.len() as u32),
                });
                self.bound.push(Arc::new((self.hooked)(&signature)));
            }
        }
    }
    let mut all = All {
        advice,
        hooked,
        types: 0,
        planned: vec![],
        bound: vec![],
    };
    crate::dex::scan(dex, &mut all)?;
    let mut plan = Plan::new(all.planned);
    plan.bound = all.bound;
    Ok(plan)
}

pub fn object() -> Ty {
    Ty::class("java/lang/Object")
}

/// An operand as it is.
pub fn same(source: Source, ty: &Ty) -> Operand {
    Operand {
        source,
        from: ty.clone(),
        convert: Convert::Same,
        to: ty.clone(),
    }
}

/// An operand as an object.
pub fn as_object(source: Source, ty: &Ty) -> Operand {
    Operand {
        convert: match ty {
            Ty::Prim(_) => Convert::Box,
            _ => Convert::Same,
        },
        to: object(),
        ..same(source, ty)
    }
}

/// The call of a hook that takes what its operands are.
pub fn call(name: &str, operands: Vec<Operand>, result: Ty, dest: Dest, guarded: bool) -> Call {
    let hook = Hook {
        owner: Ty::class("acme/Own"),
        owner_is_interface: false,
        name: name.into(),
        parameters: operands.iter().map(|o| o.to.clone()).collect(),
        result,
        generics: 0,
        links: Box::default(),
    };
    let mut descriptor = String::new();
    let result = std::slice::from_ref(&hook.result);
    for ty in hook.parameters.iter().chain(result) {
        ty.put_descriptor(&mut descriptor);
    }
    let class = format!(
        "weave/hooks/{name}_{}",
        descriptor.replace([';', '/', '['], "_")
    );
    Call {
        role: Role::Hook,
        adapter: guarded.then(|| Adapter {
            class: class.into(),
            guard: true,
            recursion: true,
            change: None,
        }),
        hook: Arc::new(hook),
        generics: Box::default(),
        operands: operands.into(),
        dest,
        given: None,
    }
}

/// All that hooks can take, as objects: `begin(this?, args)`, `end(this?, args, result?, state, duration)`,
/// `failed(this?, args, exception, state, duration)`.
pub fn takes_objects(signature: &Signature) -> Bound {
    let long = Ty::Prim(Prim::I64);
    let this = || match &signature.this {
        Some(ty) => as_object(Source::This, ty),
        None => same(Source::Zero, &object()),
    };
    let args = || {
        let elements = signature.parameters.iter().enumerate();
        let elements = elements.map(|(n, p)| as_object(Source::Arg(n as u16), &p.ty));
        let array = Ty::Array(Arc::new(object()));
        same(Source::Args(elements.collect()), &array)
    };
    let result = match &signature.result {
        Ty::Void => same(Source::Zero, &object()),
        ty => as_object(Source::Result, ty),
    };
    let thrown = same(Source::Exception, &Ty::class("java/lang/Throwable"));
    let late = |of: Operand| {
        vec![
            this(),
            args(),
            of,
            same(Source::State(0), &object()),
            same(Source::Duration, &long),
        ]
    };
    Bound {
        enter: [call(
            "begin",
            vec![this(), args()],
            object(),
            Dest::State(0),
            true,
        )]
        .into(),
        exit: [call("end", late(result), Ty::Void, Dest::Drop, true)].into(),
        exception: [call("failed", late(thrown), Ty::Void, Dest::Drop, true)].into(),
        keep: Keep {
            args: (0..signature.parameters.len() as u16).collect(),
            this: signature.this.is_some(),
            states: [object()].into(),
            duration: true,
        },
        ..Bound::default()
    }
}

/// All that hooks can take, as what it is, or wider: hooks for the method alone, called themselves, with several states.
pub fn takes_types(signature: &Signature) -> Bound {
    let prim = Ty::Prim;
    let widened = |source: Source, ty: &Ty| match ty {
        Ty::Prim(from) => {
            let to = match from {
                Prim::Bool | Prim::F64 => return same(source, ty),
                Prim::I8 => Prim::I16,
                Prim::I16 | Prim::Char => Prim::I32,
                Prim::I32 => Prim::I64,
                Prim::I64 => Prim::F32,
                _ => Prim::F64,
            };
            Operand {
                convert: Convert::Widen(*from, to),
                to: Ty::Prim(to),
                ..same(source, ty)
            }
        }
        _ => same(source, ty),
    };
    let all = |widen: bool| {
        let mut all = vec![];
        all.extend(signature.this.iter().map(|ty| same(Source::This, ty)));
        for (n, p) in signature.parameters.iter().enumerate() {
            let source = Source::Arg(n as u16);
            all.push(match widen {
                true => widened(source, &p.ty),
                false => same(source, &p.ty),
            });
        }
        // No method takes more than 255 words.
        all.truncate(80);
        all
    };
    let mut enter_more = all(true);
    enter_more.extend([
        same(
            Source::Text("a text".into()),
            &Ty::class("java/lang/String"),
        ),
        same(Source::Id, &prim(Prim::I32)),
        same(Source::Double(0.1), &prim(Prim::F64)),
        same(Source::Double(2.5), &prim(Prim::F32)),
        same(Source::Long(1 << 40), &prim(Prim::I64)),
        same(Source::Int(-3), &prim(Prim::I8)),
        same(Source::Int(1), &prim(Prim::Bool)),
        as_object(Source::Long(7), &prim(Prim::I64)),
        same(Source::Zero, &prim(Prim::F64)),
    ]);
    let states = [
        prim(Prim::Bool),
        prim(Prim::I64),
        Ty::Array(Arc::new(prim(Prim::I32))),
        prim(Prim::Char),
    ];
    let end = |value: Option<Operand>, widen: bool| {
        let mut operands = all(widen);
        operands.extend(value);
        let states = states.iter().enumerate();
        operands.extend(states.map(|(n, ty)| same(Source::State(n as u16), ty)));
        operands.push(same(Source::Line, &prim(Prim::I32)));
        operands.push(Operand {
            convert: Convert::Widen(Prim::I64, Prim::F32),
            to: prim(Prim::F32),
            ..same(Source::Duration, &prim(Prim::I64))
        });
        operands.push(as_object(Source::Duration, &prim(Prim::I64)));
        operands
    };
    let thrown = same(Source::Exception, &Ty::class("java/lang/Throwable"));
    let result = |widen: bool| match &signature.result {
        Ty::Void => None,
        ty if widen => Some(widened(Source::Result, ty)),
        ty => Some(same(Source::Result, ty)),
    };
    let plain = |name, operands, result, dest| call(name, operands, result, dest, false);
    let few = all(false).into_iter().take(3).collect();
    Bound {
        enter: [
            plain("first", all(false), states[0].clone(), Dest::State(0)),
            plain("more", enter_more, states[1].clone(), Dest::State(1)),
            plain("none", vec![], states[2].clone(), Dest::State(2)),
            plain("few", few, states[3].clone(), Dest::State(3)),
        ]
        .into(),
        exit: [
            plain("end", end(result(false), false), Ty::Void, Dest::Drop),
            plain("wider", end(result(true), true), Ty::Void, Dest::Drop),
            plain(
                "alone",
                result(false).into_iter().collect(),
                Ty::Void,
                Dest::Drop,
            ),
        ]
        .into(),
        exception: [
            plain(
                "failed",
                end(Some(thrown.clone()), true),
                Ty::Void,
                Dest::Drop,
            ),
            plain("thrown", vec![thrown], prim(Prim::I32), Dest::Drop),
        ]
        .into(),
        keep: Keep {
            args: (0..signature.parameters.len() as u16).collect(),
            this: signature.this.is_some(),
            states: states.into(),
            duration: true,
        },
        ..Bound::default()
    }
}

/// Hooks that change all that hooks can change, each argument and the result, by adapters that fall back on what was there; `wider`:
/// by hooks that give less, which is widened or boxed, and that are called themselves.
fn changes(signature: &Signature, wider: bool) -> Bound {
    let throwable = Ty::class("java/lang/Throwable");
    let hook = |name: &str, old: Operand, dest: Dest| {
        let to = old.from.clone();
        let (gives, convert) = match &to {
            Ty::Prim(Prim::I64) if wider => {
                (Ty::Prim(Prim::I8), Convert::Widen(Prim::I8, Prim::I64))
            }
            Ty::Prim(Prim::F64) if wider => {
                (Ty::Prim(Prim::I64), Convert::Widen(Prim::I64, Prim::F64))
            }
            Ty::Prim(Prim::I32) if wider => {
                (Ty::Prim(Prim::Char), Convert::Widen(Prim::Char, Prim::I32))
            }
            ty if wider && *ty == object() => (Ty::Prim(Prim::F64), Convert::Box),
            ty => (ty.clone(), Convert::Same),
        };
        let throws = matches!(dest, Dest::Ends { .. });
        let declared = match (&dest, throws) {
            (_, true) => signature.result.clone(),
            _ => to,
        };
        let (gives, convert) = if throws {
            (declared.clone(), Convert::Same)
        } else {
            (gives, convert)
        };
        let mut call = call(
            name,
            vec![same(old.source.clone(), &old.from)],
            gives,
            dest,
            !wider,
        );
        call.given = Some((convert, declared.clone()));
        if let Some(adapter) = &mut call.adapter {
            let mut shape = String::new();
            declared.put_descriptor(&mut shape);
            adapter.class =
                format!("{}_{}", adapter.class, shape.replace([';', '/', '['], "_")).into();
            adapter.change = Some(Change {
                convert,
                to: declared,
                old: old.from.clone(),
                throws,
            });
            let mut operands = std::mem::take(&mut call.operands).into_vec();
            operands.push(old);
            call.operands = operands.into();
        }
        call
    };
    let state = |name: &str| call(name, vec![], Ty::Prim(Prim::I64), Dest::State(0), false);
    let mut never = call(
        "never",
        vec![],
        Ty::Prim(Prim::Bool),
        Dest::SkipWhen { exits: 2 },
        true,
    );
    never.given = Some((Convert::Same, signature.result.clone()));
    let mut enter = vec![never, state("kept")];
    for (n, p) in signature.parameters.iter().enumerate().take(20) {
        enter.push(hook(
            "arg",
            same(Source::Arg(n as u16), &p.ty),
            Dest::Arg(n as u16),
        ));
    }
    let late = |source: Operand| {
        let mut all = vec![source, same(Source::State(0), &Ty::Prim(Prim::I64))];
        let last = signature.parameters.iter().enumerate().next_back();
        all.extend(last.map(|(n, p)| same(Source::Arg(n as u16), &p.ty)));
        all
    };
    let seen = match &signature.result {
        Ty::Void => same(Source::Zero, &object()),
        ty => same(Source::Result, ty),
    };
    let mut exit = vec![call(
        "seen",
        late(seen.clone()),
        Ty::Void,
        Dest::Drop,
        false,
    )];
    let thrown = same(Source::Exception, &throwable);
    let mut exception = vec![hook("thrown", thrown.clone(), Dest::Throw)];
    if signature.result != Ty::Void {
        exit.push(hook("result", seen, Dest::Result));
        exception.push(hook("ends", thrown.clone(), Dest::Ends { exits: 1 }));
        if signature.result.is_reference() {
            enter.push(call(
                "cached",
                vec![],
                signature.result.clone(),
                Dest::ReturnUnlessNull { exits: 1 },
                true,
            ));
        }
    }
    exception.push(call("failed", late(thrown), Ty::Void, Dest::Drop, true));
    Bound {
        enter: enter.into(),
        exit: exit.into(),
        exception: exception.into(),
        keep: Keep {
            args: (0..signature.parameters.len() as u16).collect(),
            this: signature.this.is_some(),
            states: [Ty::Prim(Prim::I64)].into(),
            duration: true,
        },
        ..Bound::default()
    }
}

/// See [`changes`].
pub fn changes_all(signature: &Signature) -> Bound {
    changes(signature, false)
}

/// See [`changes`].
pub fn changes_wider(signature: &Signature) -> Bound {
    changes(signature, true)
}
