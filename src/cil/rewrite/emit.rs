//! Instructions that the weaver adds.

use super::recipe::Snippet;
use crate::cil::il::body::{Clause, ClauseKind};
use crate::cil::il::insn::op;

/// Bytes of a short and of a long branch.
pub(super) const SHORT: u32 = 2;
pub(super) const LONG: u32 = 5;

/// The locals that the weaver adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    /// Token of the signature with them.
    pub(super) signature: u32,
    /// Holds the result on the way out.
    pub(super) result: u32,
    /// Holds the exception from the filter to the fault.
    pub(super) exception: u32,
}

impl Slots {
    /// Bytes of the filter and of its handler, which never runs.
    pub(super) fn filter_len(self) -> u32 {
        LONG + local_len(self.exception) + 1 + 2 + 1
    }

    /// Bytes of the fault handler, which runs a hook of so many bytes.
    pub(super) fn fault_len(self, error: u32) -> u32 {
        local_len(self.exception) + error + 1
    }

    /// Bytes of the handler that catches, which runs code of so many bytes.
    pub(super) fn catch_len(self, error: u32) -> u32 {
        2 * local_len(self.exception) + error
    }

    /// Its clause; it lies right behind the code that it protects.
    pub(super) fn catch_clause(
        self,
        try_start: u32,
        handler: u32,
        error: u32,
        class: u32,
    ) -> Clause {
        Clause {
            kind: ClauseKind::Catch,
            try_start,
            try_end: handler,
            handler_start: handler,
            handler_end: handler + self.catch_len(error),
            class_or_filter: class,
        }
    }

    /// Bytes of a store or load of the result, if there is one.
    pub(super) fn result_len(self, has_result: bool) -> u32 {
        match has_result {
            true => local_len(self.result),
            false => 0,
        }
    }

    /// The clauses of our handlers, which lie right behind the code they protect. `error`: bytes of the hook.
    pub(super) fn clauses(self, try_start: u32, filter: u32, error: u32) -> [Clause; 2] {
        let fault = filter + self.filter_len();
        [
            Clause {
                kind: ClauseKind::Filter,
                try_start,
                try_end: filter,
                handler_start: fault - 1,
                handler_end: fault,
                class_or_filter: filter,
            },
            Clause {
                kind: ClauseKind::Fault,
                try_start,
                try_end: fault,
                handler_start: fault,
                handler_end: fault + self.fault_len(error),
                class_or_filter: 0,
            },
        ]
    }
}

/// Appends our handlers; `before`, `behind`: what runs around `error`, which has the exception on the stack.
pub(super) fn put_handlers(
    slots: Slots,
    exception: u32,
    error: Snippet,
    (before, behind): (&[u8], &[u8]),
    out: &mut Vec<u8>,
) {
    out.push(op::ISINST as u8);
    out.extend_from_slice(&exception.to_le_bytes());
    put_store(out, slots.exception);
    let [prefix, end_filter] = op::ENDFILTER.to_be_bytes();
    out.extend_from_slice(&[op::LDC_I4_0 as u8, prefix, end_filter, op::THROW as u8]);
    out.extend_from_slice(before);
    put_load(out, slots.exception);
    out.extend_from_slice(error.bytes());
    out.extend_from_slice(behind);
    out.push(op::ENDFINALLY as u8);
}

/// Appends a handler that catches; what runs behind `error` ends it.
pub(super) fn put_catch(
    slots: Slots,
    error: Snippet,
    (before, behind): (&[u8], &[u8]),
    out: &mut Vec<u8>,
) {
    put_store(out, slots.exception);
    out.extend_from_slice(before);
    put_load(out, slots.exception);
    out.extend_from_slice(error.bytes());
    out.extend_from_slice(behind);
}

/// Bytes of a load or store of a local.
pub(super) fn local_len(index: u32) -> u32 {
    match index {
        0..=3 => 1,
        4..=255 => 2,
        _ => 4,
    }
}

pub(super) fn put_store(out: &mut Vec<u8>, index: u32) {
    put_local(out, op::STLOC_0, op::STLOC_S, op::STLOC, index);
}

pub(super) fn put_load(out: &mut Vec<u8>, index: u32) {
    put_local(out, op::LDLOC_0, op::LDLOC_S, op::LDLOC, index);
}

fn put_local(out: &mut Vec<u8>, zero: u16, short: u16, long: u16, index: u32) {
    let [low, high, ..] = index.to_le_bytes();
    let [prefix, second] = long.to_be_bytes();
    match index {
        0..=3 => out.push(zero as u8 + low),
        4..=255 => out.extend_from_slice(&[short as u8, low]),
        _ => out.extend_from_slice(&[prefix, second, low, high]),
    }
}
