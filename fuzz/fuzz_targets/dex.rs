//! Any bytes as a dex file: an error or a woven dex, never a panic; what was woven reads again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weave::aspect::advice::{Advice, Reason};
use weave::aspect::joinpoint::{Method, Type, Visitor};
use weave::aspect::plan::{Plan, Planned};
use weave::dex::{Dex, Scratch, scan, weave};

#[derive(Default)]
struct Everything {
    types: u32,
    methods: Vec<Planned>,
}

impl Visitor for Everything {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        self.types += 1;
        ty.details.annotations(&mut |_| ());
        ty.details.supertypes(&mut |_| ());
        true
    }
    fn method(&mut self, index: u32, method: &Method<'_>) {
        method.details.annotations(&mut |_| ());
        method.details.parameters(&mut |_| ());
        method.details.returns(&mut |_| ());
        self.methods.push(Planned {
            ty: self.types - 1,
            index,
            id: self.methods.len() as u32 + 1,
            advice: Advice(1 + (index % 7) as u8),
        });
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(dex) = Dex::parse(bytes) else {
        return;
    };
    let mut visitor = Everything::default();
    if scan(&dex, &mut visitor).is_err() {
        return;
    }
    let enters: Vec<bool> = visitor.methods.iter().map(|p| p.advice.has(Advice::ENTER)).collect();
    let plan = Plan::new(visitor.methods);
    let mut scratch = Scratch::default();
    let Ok(woven) = weave(&dex, &plan, &mut scratch) else {
        return;
    };
    if let Some(new) = woven.bytes {
        // Shared code that is woven twice is all that may grow out of proportion, and it is limited.
        assert!(new.len() <= 4096 + bytes.len() * 64);
        let dex = Dex::parse(&new).expect("what was woven reads again");
        scan(&dex, &mut Everything::default()).expect("and is scanned");
        // Code that was copied unread may be told to be malformed now that it is looked through for hooks.
        let Ok(again) = weave(&dex, &plan, &mut scratch) else {
            return;
        };
        let left = again.types.iter().flat_map(|ty| &ty.left);
        // A method without an end or without a throw can have got no hook where it begins with none.
        let woven_once = woven.types.iter().flat_map(|ty| ty.methods());
        let woven_once = woven_once.filter(|m| enters[m.id as usize - 1]).count();
        assert!(left.filter(|l| l.reason == Reason::AlreadyWoven).count() >= woven_once);
    }
});
