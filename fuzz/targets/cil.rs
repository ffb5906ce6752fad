//! Any bytes as an assembly: an error or a woven assembly, never a panic; what was woven reads again, is not
//! out of proportion, and is recognised. The same with own hooks that take all there is.

#[path = "../../tests/support/own_hooks_dotnet.rs"]
mod own_hooks_dotnet;

use super::everything::Everything;
use ::weave::internals::aspect::advice::{Advice, Reason};
use ::weave::internals::aspect::plan::Plan;
use ::weave::internals::cil::pdb::Source;
use ::weave::internals::cil::{Assembly, Image, library_types, scan, weave};
use own_hooks_dotnet::Planner;
use std::sync::Arc;

pub fn run(bytes: &[u8]) {
    let Ok(image) = Image::parse(bytes) else {
        return;
    };
    let mut everything = Everything::with(Advice::ALL);
    if scan(&image, &mut everything).is_err() {
        return;
    }
    let _ = library_types(&image);
    check(&image, everything.plan(), 8 * bytes.len() + (1 << 20));
    let mut planner = Planner::default();
    scan(&image, &mut planner).expect("it was just scanned");
    check(&image, planner.plan, 64 * bytes.len() + (1 << 26));
}

/// Weaves a plan into at most so many bytes.
fn check(image: &Image<'_>, plan: Plan, most: usize) {
    let source = Source::of(image, None);
    let Ok((woven, _)) = weave(Assembly::of(image, &source), plan, None, usize::MAX) else {
        return;
    };
    if woven.is_empty() {
        return;
    }
    let symbols = Arc::new(b"symbols".to_vec());
    if let Ok(written) = woven.write(symbols) {
        assert!(written.image.len() < most);
        let written = written.image.to_vec().expect("nothing is signed");
        let image = Image::parse(&written).expect("what was woven reads again");
        assert_eq!(image.refusal(), Some(Reason::AlreadyWoven));
    }
}
