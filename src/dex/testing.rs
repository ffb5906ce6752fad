//! Code items built in tests, and shown.

use crate::bytes::put_uleb32;
use crate::dex::format::code_item::{self, Code, Handler};
use crate::dex::format::insn;
use crate::dex::format::opcodes::{BRANCH, Format, Index};
use std::fmt::Write;

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
