//! Any bytes as a class file: an error or a woven class, never a panic; what was woven reads again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weave::aspect::joinpoint::{Method, Type, Visitor};
use weave::aspect::advice::{Advice, Reason};
use weave::aspect::plan::{Plan, Planned};
use weave::jvm::{Class, Scratch, module_info, scan, weave};

struct Everything(Plan);

impl Visitor for Everything {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        ty.details.annotations(&mut |_| ());
        ty.details.supertypes(&mut |_| ());
        true
    }
    fn method(&mut self, index: u32, method: &Method<'_>) {
        method.details.annotations(&mut |_| ());
        method.details.parameters(&mut |_| ());
        method.details.returns(&mut |_| ());
        let advice = Advice(1 + (index % 7) as u8);
        self.0.methods.push(Planned { ty: 0, index, id: index + 1, advice });
    }
}

fuzz_target!(|bytes: &[u8]| {
    let _ = module_info::add_requires(bytes, "weave.runtime");
    let _ = module_info::add_package(bytes, "weave/runtime");
    let Ok(class) = Class::parse(bytes) else {
        return;
    };
    let mut visitor = Everything(Plan::default());
    if scan(&class, &mut visitor).is_err() {
        return;
    }
    let plan = visitor.0;
    let mut scratch = Scratch::default();
    let Ok(woven) = weave(&class, &plan, &mut scratch) else {
        return;
    };
    if let Some(new) = woven.bytes {
        let class = Class::parse(&new).expect("what was woven reads again");
        let again = weave(&class, &plan, &mut scratch).expect("and is recognised");
        assert!(again.bytes.is_none());
        assert!(again.ty.left.iter().all(|l| l.reason == Reason::AlreadyWoven));
    }
});
