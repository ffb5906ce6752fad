//! Any bytes as the portable PDB of an assembly that is woven whole: an error or a PDB that reads again, with
//! all its points inside of what it is about; never a panic.

use super::everything::Everything;
use ::weave::internals::aspect::advice::Advice;
use ::weave::internals::cil::pdb::{Pdb, Source};
use ::weave::internals::cil::{Assembly, Image, scan, weave};
use std::sync::Arc;

const ASSEMBLY: &[u8] = include_bytes!("../../tests/dotnet/fixtures/steps-debug.dll");

pub fn run(bytes: &[u8]) {
    let image = Image::parse(ASSEMBLY).expect("the assembly is whole");
    let mut everything = Everything::with(Advice::ALL);
    scan(&image, &mut everything).expect("and has methods");
    // The id must be the assembly's, or nothing is done.
    let mut bytes = bytes.to_vec();
    if let Ok(pdb) = Pdb::parse(&bytes) {
        let at = pdb.id().as_ptr() as usize - bytes.as_ptr() as usize;
        if let Some(guid) = image.pdb_guid() {
            bytes[at..at + 16].copy_from_slice(&guid);
        }
    }
    let source = Source::of(&image, Some(&bytes));
    let plan = everything.plan();
    let (woven, _) = weave(
        Assembly::of(&image, &source),
        plan.methods,
        None,
        usize::MAX,
    )
    .expect("a PDB is no reason not to weave");
    let Ok(written) = woven.write(Arc::new(Vec::new())) else {
        return;
    };
    if let Some(new) = written.pdb {
        let written = written.image.to_vec().expect("nothing is signed");
        let image = Image::parse(&written).expect("what was woven reads again");
        let pdb = Pdb::parse(&new).expect("and its PDB");
        assert!(pdb.is_of(&image));
    }
}
