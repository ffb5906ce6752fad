//! Any bytes as a class file: an error or a woven class, never a panic; what was woven reads again.

use super::everything::Everything;
use weave::internals::aspect::advice::{Advice, Reason};
use weave::internals::jvm::{Class, Scratch, library_type, module_info, scan, weave};

#[path = "../../tests/support/own_hooks.rs"]
mod own_hooks;

pub fn run(bytes: &[u8]) {
    let _ = module_info::add_requires(bytes, "weave.runtime");
    let _ = module_info::add_package(bytes, "weave/runtime");
    let Ok(class) = Class::parse(bytes) else {
        return;
    };
    let mut visitor = Everything::with(Advice::ALL.with(Advice::SECTION));
    if scan(&class, &mut visitor).is_err() {
        return;
    }
    let plan = visitor.plan();
    let mut scratch = Scratch::default();
    let _ = library_type(&class);
    own(&class, &mut scratch);
    let Ok(woven) = weave(&class, &plan, &mut scratch) else {
        return;
    };
    if let Some(new) = woven.bytes {
        let class = Class::parse(&new).expect("what was woven reads again");
        let again = weave(&class, &plan, &mut scratch).expect("and is recognised");
        assert!(again.bytes.is_none());
        // Where no hook was put in, but sections, what could not be woven still cannot.
        let woven_once = |index| !woven.ty.left.iter().any(|l| l.index == index);
        for left in again.ty.left.iter().filter(|l| woven_once(l.index)) {
            assert_eq!(left.reason, Reason::AlreadyWoven);
        }
    }
}

/// The same with own hooks that take everything: called themselves or by adapters, with the recorded pair or without, and with a hook
/// instead of the body.
fn own(class: &Class<'_>, scratch: &mut Scratch) {
    for (guarded, advice, around) in [
        (None, Advice::OWN.with(Advice::ALL), false),
        (Some(true), Advice::OWN, false),
        (Some(false), Advice::OWN.with(Advice::ALL), true),
    ] {
        let mut visitor = Everything::with(advice);
        scan(class, &mut visitor).expect("it was scanned before");
        let mut plan = visitor.plan();
        let style = |index: u32| own_hooks::Style {
            guarded,
            keeps: index % 4 != 3,
        };
        own_hooks::bind(
            &mut plan,
            |visitor| scan(class, visitor).expect("it was scanned before"),
            |index, signature| {
                let bound = own_hooks::everything(signature, style(index));
                match around && index % 3 != 2 {
                    true => own_hooks::around(signature, bound),
                    false => bound,
                }
            },
        );
        if let Ok(woven) = weave(class, &plan, scratch)
            && let Some(new) = woven.bytes
        {
            Class::parse(&new).expect("what was woven reads again");
        }
    }
}
