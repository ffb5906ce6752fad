//! What hooks of methods that complete asynchronously cannot do.

use super::*;

impl<'b> Binding<'b> {
    /// Whether a method that may end long after it has returned runs when it is called, at first: it is an async method of .NET.
    pub(super) fn begins_at_once(&self) -> bool {
        self.binder.target.language() == Language::CSharp
            && !is_enumerated(&self.subject.signature.result)
    }

    /// What cannot be done in such a method. `is_outside`: a hook runs instead of its body, inside of the aspect's own hooks.
    pub(super) fn ends_later(&self, is_outside: bool) -> Option<Misfit> {
        let begins_at_once = self.begins_at_once();
        let refused = match self.binder.target.language() {
            Language::Java => self.refuses_all(),
            Language::CSharp => self.refuses_some(is_outside),
        };
        if refused.is_some() {
            return refused;
        }
        let own = self.aspect.hooks;
        let is_asked_for = |record: &&OwnRecord| match &record.value {
            Recorded::Operand(operand) | Recorded::Text(operand) => !operand.optional,
            Recorded::Call(_) => true,
        };
        if begins_at_once {
            let records = own.record.iter().chain(&own.entry);
            let late = records
                .filter(|_| !own.guard)
                .find(|record| self.is_late(record))?;
            return Some(self.complains(
                late.span.clone(),
                "`guard = false` is not possible for a value at the end of an async method".into(),
                "its exception would not reach callers of",
                Some("leave `guard = false` out".into()),
            ));
        }
        let mut late = (own.record.iter()).filter(|record| self.is_late(record));
        let place = &late.find(is_asked_for)?.span;
        let title = "values of iterators and suspend functions are not recorded yet";
        Some(self.left_out(place, title, "for"))
    }

    pub(super) fn left_out(&self, place: &Range<usize>, title: &str, what: &str) -> Misfit {
        let help = "leave them out: `exclude = { kind = \"async\" }`";
        self.complains(place.clone(), title.into(), what, Some(help.into()))
    }

    /// `suspend` functions have no hooks.
    pub(super) fn refuses_all(&self) -> Option<Misfit> {
        let own = self.aspect.hooks;
        let hooks = own.enter.iter().chain(&own.exit).chain(&own.exception);
        let around = own.around.iter().filter(|hook| !around::passes_over(hook));
        let hook = hooks.chain(around).next()?;
        Some(self.left_out(
            &hook.name,
            "a method that ends after it returns cannot have own hooks yet",
            "for the suspend function",
        ))
    }

    /// What no async method or iterator of .NET can do.
    pub(super) fn refuses_some(&self, is_outside: bool) -> Option<Misfit> {
        let own = self.aspect.hooks;
        let leaves_out =
            |hook: &&OwnHook| matches!(hook.call.changes, Changes::Return(_) | Changes::Skip(_));
        if let Some(hook) = own.enter.iter().find(leaves_out) {
            return Some(self.complains(
                hook.changes.clone(),
                "only `around` can skip the body of an async method or iterator".into(),
                "for",
                Some("use a hook `around` that does not call `proceed`".into()),
            ));
        }
        let at_end = own.exit.iter().chain(&own.exception).next()?;
        if is_outside {
            return Some(self.complains(
                at_end.name.clone(),
                "a hook at the end of an async method or iterator cannot surround an `around`".into(),
                "for",
                Some("move the aspect behind the one with `around`, or let that hook await the task".into()),
            ));
        }
        if !own.guard {
            return Some(self.complains(
                at_end.name.clone(),
                "`guard = false` is not possible at the end of an async method or iterator".into(),
                "its exception would not reach callers of",
                Some("leave `guard = false` out".into()),
            ));
        }
        let ends = |hook: &&OwnHook| matches!(&hook.call.changes, Changes::Value(_));
        let hook = own.exception.iter().find(ends)?;
        Some(self.complains(
            hook.changes.clone(),
            "a hook cannot end an exception of an async method or iterator".into(),
            "for",
            Some("`throw ..` replaces it; a hook `around` can await and catch it".into()),
        ))
    }
}
