//! The new tries: the method's own with ours behind them, and those that protect hooks.

use super::{Job, Scratch};
use crate::aspect::advice::Advice;
use crate::dex::code_item::{self, NO_CATCH_ALL};
use crate::dex::insn;
use crate::dex::monitors::Held;
use crate::error::Result;

impl Job<'_, '_> {
    /// Collects the new tries. `tail` is where the exit hook lies, `handler` where our first handler is.
    pub(super) fn build_tries(
        &self,
        entries: &[u32],
        tail: Option<(u32, u32)>,
        handler: u32,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch {
            layout,
            stretches,
            handlers,
            tries_out,
            handler: code,
            outer,
            begin,
            exit,
            ..
        } = scratch;
        let outside = (
            code_item::NO_LIST,
            handler + handlers.len() as u32 * insn::units(code),
        );
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
        let mut open: Option<((u32, u32), (u32, u32))> = None;
        let mut add = |range: (u32, u32), handlers: (u32, u32)| {
            match &mut open {
                Some((last, same)) if last.1 == range.0 && *same == handlers => last.1 = range.1,
                _ => {
                    if let Some((range, handlers)) = open.replace((range, handlers)) {
                        let pc = |old| layout.target(old);
                        return tries_out.add(range, self.code, handlers, self.map, pc);
                    }
                }
            }
            Ok(())
        };
        for s in stretches.iter() {
            let range = (layout.insn(s.start), layout.start(s.end));
            if range.0 < range.1 {
                while let Some(begin) = begins.next_if(|b| b.1 <= range.0) {
                    add(begin, outside)?;
                }
                while begins.next_if(|b| b.1 <= range.1).is_some() {}
                add(range, (s.list, target(s.ours)))?;
            }
        }
        for begin in begins {
            add(begin, outside)?;
        }
        if let Some((start, end)) = tail.filter(|_| !handlers.is_empty()) {
            let inside = (code_item::NO_LIST, target(Some(0)));
            if self.advice.has(Advice::SECTION) {
                let (ended, _) = insn::length(exit, 0)?;
                add((start, start + ended), inside)?;
                if !outer.is_empty() && self.advice.has(Advice::EXIT) {
                    add((start + ended, end), outside)?;
                }
            } else {
                add((start, end), inside)?;
            }
        }
        if let Some((range, handlers)) = open {
            let pc = |old| layout.target(old);
            tries_out.add(range, self.code, handlers, self.map, pc)?;
        }
        Ok(())
    }
}
