//! The constants that hooks need in a class's pool.

use super::HANDLED;
use crate::aspect::advice::Advice;
use crate::jvm::android_trace;
use crate::jvm::class::Class;
use crate::jvm::pool::{Additions, HOOKS_CLASS, Known, tag};

/// Constants that all hooks of a class share; 0 where no advice needs them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Constants {
    /// `Methodref` of the enter hook.
    pub enter: u16,
    /// `Methodref` of the exit hook.
    pub exit: u16,
    /// `Methodref` of the error hook.
    pub error: u16,
    /// `Methodref` of the hook that counts.
    pub count: u16,
    /// `Methodref`s of the pair that sums up, and of what it has for exceptions.
    pub start: u16,
    /// See `start`.
    pub stop: u16,
    /// See `start`.
    pub failed: u16,
    /// `Methodref` of `beginSection`.
    pub begin_section: u16,
    /// `Methodref` of `endSection`.
    pub end_section: u16,
    /// `Class` of `java/lang/Throwable`.
    pub throwable: u16,
    /// `Utf8` of `StackMapTable`.
    pub stack_map_table: u16,
}

impl Constants {
    /// Those of a method: its pair is that which records, or that which sums up.
    pub fn of(self, advice: Advice) -> Constants {
        match advice.has(Advice::AGGREGATE) {
            true => Constants {
                enter: self.start,
                exit: self.stop,
                error: self.failed,
                ..self
            },
            false => self,
        }
    }
}

/// Most constants that one class and one of its methods add, islands aside: those of [`constants`], an id, a section's
/// name.
pub const MAX_ADDITIONS: u16 = 48;

/// Constants for the hooks of a class, as far as `advice` needs them; reuses existing ones. `own_handlers`: own hooks of some
/// method see exceptions.
pub fn constants(
    class: &Class<'_>,
    advice: Advice,
    own_handlers: bool,
    additions: &mut Additions,
) -> Constants {
    let mut constants = Constants::default();
    if advice.only(Advice::LIBRARY) != Advice::default() {
        hook_constants(class, advice, additions, &mut constants);
    }
    if advice.has(Advice::SECTION) {
        let trace = additions.utf8(android_trace::TRACE);
        let trace = additions.named(tag::CLASS, trace);
        let mut method = |(name, descriptor)| additions.method(trace, name, descriptor);
        constants.begin_section = method(android_trace::BEGIN);
        constants.end_section = method(android_trace::END);
    }
    if (own_handlers || advice.only(HANDLED) != Advice::default()) && class.major >= 50 {
        let name = class.pool.known(Known::Throwable);
        let known = (name != 0).then(|| class.pool.class_named(name)).flatten();
        constants.throwable = match known {
            Some(index) => index,
            None => {
                let name = if name == 0 {
                    additions.utf8("java/lang/Throwable")
                } else {
                    name
                };
                additions.named(tag::CLASS, name)
            }
        };
        constants.stack_map_table = match class.pool.known(Known::StackMapTable) {
            0 => additions.utf8("StackMapTable"),
            index => index,
        };
    }
    constants
}

fn hook_constants(
    class: &Class<'_>,
    advice: Advice,
    additions: &mut Additions,
    constants: &mut Constants,
) {
    let hooks_name = match class.pool.known(Known::Hooks) {
        0 => additions.utf8(HOOKS_CLASS),
        index => index,
    };
    let hooks = additions.named(tag::CLASS, hooks_name);
    let hook = |additions: &mut Additions, name: &str, descriptor: u16| {
        let name = additions.utf8(name);
        let pair = additions.pair(tag::NAME_AND_TYPE, name, descriptor);
        additions.pair(tag::METHODREF, hooks, pair)
    };
    const BY_ID: Advice = Advice::ENTER
        .with(Advice::EXIT)
        .with(Advice::COUNT)
        .with(Advice::AGGREGATE);
    if advice.only(BY_ID) != Advice::default() {
        let int_void = match class.pool.known(Known::IntVoid) {
            0 => additions.utf8("(I)V"),
            index => index,
        };
        if advice.has(Advice::ENTER) {
            constants.enter = hook(additions, "enter", int_void);
        }
        if advice.has(Advice::EXIT) {
            constants.exit = hook(additions, "exit", int_void);
        }
        if advice.has(Advice::COUNT) {
            constants.count = hook(additions, "count", int_void);
        }
        if advice.has(Advice::AGGREGATE) {
            constants.start = hook(additions, "start", int_void);
            constants.stop = hook(additions, "stop", int_void);
        }
    }
    const THROWN: Advice = Advice::EXCEPTION.with(Advice::AGGREGATE);
    if advice.only(THROWN) != Advice::default() {
        let descriptor = additions.utf8("(Ljava/lang/Throwable;I)V");
        if advice.has(Advice::EXCEPTION) {
            constants.error = hook(additions, "error", descriptor);
        }
        if advice.has(Advice::AGGREGATE) {
            constants.failed = hook(additions, "failed", descriptor);
        }
    }
}
