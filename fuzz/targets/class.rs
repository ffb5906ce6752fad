//! Any bytes as a class file: an error or a woven class, never a panic; what was woven reads again.

use super::everything::Everything;
use weave::internals::aspect::advice::{Advice, Reason};
use weave::internals::jvm::{Class, Scratch, module_info, scan, weave};

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
