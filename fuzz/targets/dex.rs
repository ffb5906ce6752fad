//! Any bytes as a dex file: an error or a woven dex, never a panic; what was woven reads again.

use super::everything::Everything;
use weave::internals::aspect::advice::{Advice, Reason};
use weave::internals::dex::{Dex, Scratch, one_by_one, scan, weave};

pub fn run(bytes: &[u8]) {
    let Ok(dex) = Dex::parse(bytes) else {
        return;
    };
    let mut visitor = Everything::with(Advice::ALL.with(Advice::SECTION));
    if scan(&dex, &mut visitor).is_err() {
        return;
    }
    let plan = visitor.plan();
    let enters: Vec<bool> = plan
        .methods
        .iter()
        .map(|p| p.advice.has(Advice::ENTER))
        .collect();
    // Hooks of the file's own, where it can have any, or the library's.
    let own = bytes.len().is_multiple_of(2);
    let mut scratch = Scratch::default().near_from(if own { 1 } else { usize::MAX });
    let Ok(woven) = weave(&dex, &plan, &mut scratch, &one_by_one) else {
        return;
    };
    if let Some(new) = woven.bytes {
        // Shared code that is woven twice is all that may grow out of proportion, and it is limited.
        assert!(new.len() <= 4096 + bytes.len() * 64);
        let dex = Dex::parse(&new).expect("what was woven reads again");
        let mut visitor = Everything::with(Advice::ALL.with(Advice::SECTION));
        scan(&dex, &mut visitor).expect("and is scanned");
        // Hooks are looked for in code that was only copied before, so its faults are errors now.
        let Ok(again) = weave(&dex, &visitor.plan(), &mut scratch, &one_by_one) else {
            return;
        };
        let left = again.types.iter().flat_map(|ty| &ty.left);
        // A method without an end or without a throw can have got no hook where it begins with none.
        let woven_once = woven.types.iter().flat_map(|ty| ty.methods());
        let woven_once = woven_once.filter(|m| enters[m.id as usize - 1]).count();
        assert!(left.filter(|l| l.reason == Reason::AlreadyWoven).count() >= woven_once);
    }
}
