//! Code items built in tests.

use crate::bytes::put_uleb32;
use crate::dex::code_item::{self, Handler};

/// Code units as bytes.
pub fn code(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|u| u.to_le_bytes()).collect()
}

/// A code item in the making.
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
