//! Any bytes as an assembly: an error or a woven assembly, never a panic; what was woven reads again, is not
//! out of proportion, and is recognised.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use weave::aspect::advice::{Advice, Reason};
use weave::aspect::joinpoint::{Method, Type, Visitor};
use weave::aspect::plan::{Plan, Planned};
use weave::cil::pdb::Source;
use weave::cil::{Image, Scratch, scan, weave};

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
    let Ok(image) = Image::parse(bytes) else {
        return;
    };
    let mut everything = Everything::default();
    if scan(&image, &mut everything).is_err() {
        return;
    }
    let source = Source::of(&image, None);
    let mut scratch = Scratch::default();
    let plan = Plan::new(everything.methods);
    let Ok(woven) = weave(&image, &source, &plan, &mut scratch) else {
        return;
    };
    if woven.is_empty() {
        return;
    }
    let symbols = Arc::new(b"symbols".to_vec());
    if let Ok(written) = woven.write(Some(symbols), None) {
        assert!(written.image.len() < 8 * bytes.len() + (1 << 20));
        let written = written.image.to_vec().expect("nothing is signed");
        let image = Image::parse(&written).expect("what was woven reads again");
        assert_eq!(image.refusal(), Some(Reason::AlreadyWoven));
    }
});
