//! Weaves assemblies with own hooks that take everything there is, bound by hand: a rule could not ask that of every method of a
//! program, since some have what fits no hook. For tests/harness/check_own_hooks.py.
//!
//! `own_hooks LIST`: the list has lines of an assembly, TAB, where it goes woven. Prints for each the assembly, how many methods
//! are woven, and how many are left for which reason. The hooks are those of tests/support/own_hooks_dotnet.rs.

#[path = "../tests/support/own_hooks_dotnet.rs"]
mod own_hooks_dotnet;

use own_hooks_dotnet::Planner;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use weave::internals::cil::{self, Image, pdb, scan};

fn one(from: &Path, to: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(from)?;
    let image = Image::parse(&bytes)?;
    let mut planner = Planner::default();
    scan(&image, &mut planner)?;
    let beside = std::fs::read(from.with_extension("pdb")).ok();
    let source = pdb::Source::of(&image, beside.as_deref());
    let assembly = cil::Assembly::of(&image, &source);
    let (woven, types) = cil::weave(assembly, planner.plan, None, 1024)?;
    let mut left: BTreeMap<&str, u32> = BTreeMap::new();
    for skipped in types.iter().flat_map(|ty| &ty.left) {
        *left.entry(skipped.reason.code()).or_default() += 1;
    }
    if planner.without_signature > 0 {
        left.insert("no-signature", planner.without_signature);
    }
    let methods: usize = types.iter().map(|ty| ty.methods().len()).sum();
    let file = match woven.is_empty() {
        true => bytes.clone(),
        false => {
            let written = woven.write(Arc::default())?;
            if let Some(pdb) = &written.pdb {
                std::fs::write(to.with_extension("pdb"), pdb)?;
            }
            written.image.to_vec()?
        }
    };
    std::fs::write(to, file)?;
    let left: Vec<String> = left.iter().map(|(why, n)| format!("{why}={n}")).collect();
    Ok(format!("{methods}\t{}", left.join(" ")))
}

fn main() {
    let list = std::env::args().nth(1).expect("a list");
    let list = std::fs::read_to_string(list).expect("a readable list");
    for line in list.lines() {
        let (from, to) = line.split_once('\t').expect("two paths");
        match one(Path::new(from), Path::new(to)) {
            Ok(told) => println!("{from}\t{told}"),
            Err(e) => println!("{from}\terror\t{e}"),
        }
    }
}
