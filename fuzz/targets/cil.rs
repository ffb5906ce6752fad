//! Any bytes as an assembly: an error or a woven assembly, never a panic; what was woven reads again, is not
//! out of proportion, and is recognised.

use super::everything::Everything;
use ::weave::internals::aspect::advice::{Advice, Reason};
use ::weave::internals::cil::pdb::Source;
use ::weave::internals::cil::{Image, scan, weave};
use std::sync::Arc;

pub fn run(bytes: &[u8]) {
    let Ok(image) = Image::parse(bytes) else {
        return;
    };
    let mut everything = Everything::with(Advice::ALL);
    if scan(&image, &mut everything).is_err() {
        return;
    }
    let source = Source::of(&image, None);
    let plan = everything.plan();
    let Ok((woven, _)) = weave((&image, &source), plan.methods, None, usize::MAX) else {
        return;
    };
    if woven.is_empty() {
        return;
    }
    let symbols = Arc::new(b"symbols".to_vec());
    if let Ok(written) = woven.write(symbols) {
        assert!(written.image.len() < 8 * bytes.len() + (1 << 20));
        let written = written.image.to_vec().expect("nothing is signed");
        let image = Image::parse(&written).expect("what was woven reads again");
        assert_eq!(image.refusal(), Some(Reason::AlreadyWoven));
    }
}
