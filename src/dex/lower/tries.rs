//! The new tries: the method's own with ours behind them, and those that protect hooks.

use super::lowering::{Lowering, Protected, Scratch, Sequences};
use crate::aspect::advice::Advice;
use crate::dex::analysis::monitors::Held;
use crate::dex::format::code_item::{Catches, NO_CATCH_ALL};
use crate::dex::format::insn;
use crate::error::Result;

/// Code units of the call that ends a section, with which exit hooks begin.
const END_SECTION: u32 = 3;

impl Lowering<'_, '_> {
    /// Collects the new tries. `handler` is where our first handler is.
    pub(super) fn build_tries(
        &self,
        entries: &[u32],
        handler: u32,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (layout, tries_out) = (&scratch.layout, &mut scratch.tries_out);
        let Protected {
            stretches,
            handlers,
            exits,
            ..
        } = &scratch.protected;
        let Sequences {
            handler: code,
            outer,
            begin,
            protected_exit,
            goes_on,
            ..
        } = &scratch.sequences;
        let behind_handlers = handler + handlers.len() as u32 * insn::units(code);
        let outside = Catches::all(behind_handlers);
        // Where sections begin: in front of what is protected, or between.
        let mut begins = entries
            .iter()
            .map(|&pc| layout.target(pc))
            .filter(|_| *begin > 0)
            .map(|end| (end - *begin, end))
            .peekable();
        let target = |held: Option<Held>| match held {
            None => NO_CATCH_ALL,
            Some(held) => {
                let i = handlers.iter().position(|h| *h == held);
                handler + i.expect("all were collected") as u32 * insn::units(code)
            }
        };
        tries_out.clear();
        let mut open = None;
        let mut add = |range: (u32, u32), catches: Catches| match joined(
            &mut open,
            NewTry { range, catches },
        ) {
            Some(NewTry { range, catches }) => {
                let pc = |old| layout.target(old);
                tries_out.add(range, self.code, catches, self.remap, pc)
            }
            None => Ok(()),
        };
        for s in stretches.iter() {
            let catches = Catches::of(s.list, target(s.ours));
            if let Some(points) = self.method.points {
                for range in points.protected(s, layout) {
                    add(range, catches)?;
                }
                continue;
            }
            let range = (layout.insn(s.start), layout.start(s.end));
            if range.0 < range.1 {
                while let Some(begin) = begins.next_if(|b| b.1 <= range.0) {
                    add(begin, outside)?;
                }
                while begins.next_if(|b| b.1 <= range.1).is_some() {}
                add(range, catches)?;
            }
        }
        for begin in begins {
            add(begin, outside)?;
        }
        for &(start, end) in exits.iter().filter(|_| !handlers.is_empty()) {
            let inside = Catches::all(target(Some(0)));
            let end = end.min(start.saturating_add(*protected_exit));
            if start == end {
                continue;
            }
            if self.advice.has(Advice::SECTION) {
                let ended = start + END_SECTION;
                add((start, ended), inside)?;
                if !outer.is_empty() && self.advice.has(Advice::EXIT) {
                    add((ended, end), outside)?;
                }
            } else {
                add((start, end), inside)?;
            }
        }
        let inner =
            (0..handlers.len() as u32).map(|n| (handler + n * insn::units(code), &goes_on.handler));
        for (at, calls) in inner.chain([(behind_handlers, &goes_on.outer)]) {
            for call in calls {
                let called = (at + call.called.0, at + call.called.1);
                add(called, Catches::all(at + call.at))?;
            }
        }
        if let Some(NewTry { range, catches }) = open {
            let pc = |old| layout.target(old);
            tries_out.add(range, self.code, catches, self.remap, pc)?;
        }
        Ok(())
    }
}

/// A part of the code, and the handlers of what it throws.
struct NewTry {
    range: (u32, u32),
    catches: Catches,
}

/// Joins a try to the one in front of it, where they meet and have the same handlers. Else it takes that one's place.
fn joined(open: &mut Option<NewTry>, new: NewTry) -> Option<NewTry> {
    match open {
        Some(last) if last.range.1 == new.range.0 && last.catches == new.catches => {
            last.range.1 = new.range.1;
            None
        }
        _ => open.replace(new),
    }
}
