//! Exit and exception hook in one call, which both ways out of a method share.
//!
//! ```text
//!     const/4 vE, 0                                the last return, to which the others go
//!     L: invoke-static {vE, vI} leave; return vR
//!     move-exception vE; const/4 vR, 0; goto L     the handler
//! ```
//!
//! `leave` reports an exit where it gets null; else it reports the exception and throws it again. So no exception reaches
//! the return, but verifiers follow that path, too: the handler puts a value of the type into vR, unless vR is `this`.
//!
//! No handler may protect the call, which would catch what the call throws. If a return exhausts the stack there, the
//! method ends by that error without a hook.

use crate::dex::analysis::guards::Stretch;
use crate::dex::analysis::monitors::Held;
use crate::dex::format::code_item::NO_LIST;
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::dex::lower::registers::{self, Scheme, Width};

/// Code units of both calls, the handler's `move-exception` and its `throw`.
const TWO: u32 = 8;
/// Code units of the null and the call.
const ONE: u32 = 4;
/// A `try_item` in code units.
const TRY_ITEM: u32 = 4;

/// Registers of the one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leave {
    /// The hook's index.
    pub hook: u32,
    /// The exception, or null.
    pub thrown: u32,
    pub id: u32,
    /// What is returned.
    main: u32,
    width: Option<Width>,
    /// The returned register does not hold `this` throughout.
    fills: bool,
    /// The id is loaded for the call.
    pub loads: bool,
}

/// The facts that decide whether one call is shorter.
pub(super) struct Ways<'w> {
    /// The index of the hook that both call.
    pub hook: u32,
    pub scheme: Scheme,
    /// Registers of the new frame.
    pub registers: u32,
    /// The register that is returned, in the new frame, and how wide it is.
    pub main: u32,
    pub width: Option<Width>,
    /// It holds `this` from the first instruction to the last.
    pub is_this: bool,
    /// In front of which old pc the exit hook lies.
    pub end: u32,
    pub stretches: &'w [Stretch],
    pub handlers: &'w [Held],
}

impl Leave {
    /// The registers for one call, where two would be longer. Not where a monitor is held: verifiers demand that the
    /// handler joins the return with the same monitors.
    pub fn choose(ways: &Ways<'_>) -> Option<Leave> {
        if ways.handlers != [0] {
            return None;
        }
        let taken = ways.main..ways.main + ways.width.map_or(0, Width::words);
        let live = match ways.scheme {
            Scheme::Live { id, .. } => Some(id),
            Scheme::Dead | Scheme::Moved { .. } | Scheme::Block { .. } => None,
        };
        // `const/4` and a list of arguments name 16.
        let mut free =
            (0..ways.registers.min(16)).filter(|r| !taken.contains(r) && Some(*r) != live);
        let leave = Leave {
            hook: ways.hook,
            thrown: free.next()?,
            id: live.or_else(|| free.next())?,
            main: ways.main,
            width: ways.width,
            fills: !ways.is_this,
            loads: live.is_none(),
        };
        // The exit hook is protected; only where it follows what is protected alike this takes no further try.
        let last = ways.stretches.last();
        let further = last.is_none_or(|s| (s.end, s.list, s.ours) != (ways.end, NO_LIST, Some(0)));
        let two = TWO + if further { TRY_ITEM } else { 0 };
        // Where each call loads the id, one less is always shorter.
        (leave.loads || ONE + leave.handler_units() < two).then_some(leave)
    }

    /// Code units of the handler, whose way is short.
    fn handler_units(&self) -> u32 {
        2 + match self.width {
            None => 0,
            Some(_) if !self.fills => 0,
            Some(Width::Wide) => 2,
            Some(Width::Single | Width::Object) => 1 + u32::from(self.main > 15),
        }
    }

    /// Appends the handler; `call` is where L is, counted from the handler.
    pub fn put_handler(&self, call: i32, out: &mut Vec<u8>) {
        let start = insn::units(out);
        registers::put_one(out, op::MOVE_EXCEPTION, self.thrown);
        match self.width {
            None => {}
            Some(_) if !self.fills => {}
            Some(Width::Wide) => registers::put_const_wide_0(out, self.main),
            Some(Width::Single | Width::Object) => registers::put_const(out, self.main, 0),
        }
        let at = (insn::units(out) - start) as i32;
        registers::put_goto(out, call - at);
    }
}
