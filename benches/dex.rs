//! Weaving a dex file, and the floor under it: `dex IN.dex OUT ROUNDS` reads the file, weaves all advice into every method
//! with a body, and writes the result, on all cores and on one; by turns, it reads, checksums and writes the same bytes.
//! Prints the medians in seconds (all cores, one, floor), the growth in percent, and what a method grows by in bytes: with
//! all three hooks, then with one of them, enter, exit, exception. Without arguments (`cargo bench`) it tells its use.

#[path = "../src/aspect/everything.rs"]
mod everything;

use everything::everything;
use memchr::{memchr, memmem};
use rayon::prelude::*;
use sha1::{Digest, Sha1};
use std::path::Path;
use std::time::Instant;
use weave::internals::aspect::advice::Advice;
use weave::internals::aspect::plan::id_base;
use weave::internals::aspect::{advice, joinpoint, plan};
use weave::internals::dex::{Dex, Run, Scratch, first_numbers, one_by_one, scan, weave};
use weave::internals::error::{Error, Result};

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io("read", path, e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| Error::io("write", path, e))
}

/// A woven file, and what it was made from.
struct Outcome {
    before: usize,
    methods: usize,
    /// Bytes of D8's checksums that are no longer there: what hooks cost is beside that.
    dropped: usize,
    new: Vec<u8>,
}

/// The length of the string with D8's checksums.
fn checksums(dex: &[u8]) -> usize {
    memmem::find(dex, b"~~~{").map_or(0, |at| memchr(0, &dex[at..]).unwrap_or(0))
}

impl Outcome {
    fn growth(&self) -> f64 {
        self.new.len() as f64 - self.before as f64
    }
    fn a_method(&self) -> f64 {
        (self.growth() + self.dropped as f64) / self.methods as f64
    }
}

fn woven(input: &Path, advice: Advice, run: Run<'_>) -> Result<Outcome> {
    let bytes = read(input)?;
    let dex = Dex::parse(&bytes)?;
    // Ids as the weaver gives them.
    let (base, first) = (id_base(&dex.fingerprint(), 0), first_numbers(&dex)?);
    let id = |ty: u32, index, _: &joinpoint::Method<'_>| Some(base + first[ty as usize] + index);
    let mut scanned = Ok(());
    let plan = everything(advice, id, |visitor| scanned = scan(&dex, visitor));
    scanned?;
    let methods = plan.methods.len();
    let woven = weave(&dex, &plan, &mut Scratch::default(), run)?;
    let new = woven.bytes.expect("some method has a body");
    Ok(Outcome {
        before: bytes.len(),
        methods,
        dropped: checksums(&bytes) - checksums(&new),
        new,
    })
}

fn floor(input: &Path, output: &Path) -> Result<()> {
    let mut bytes = read(input)?;
    let signature = Sha1::digest(&bytes[32..]);
    bytes[12..32].copy_from_slice(&signature);
    let checksum = simd_adler32::adler32(&&bytes[12..]);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    write(output, &bytes)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().filter(|a| a != "--bench").collect();
    let [_, input, output, rounds] = &args[..] else {
        println!("use: dex IN.dex OUT ROUNDS (benches/run.py runs it beside its peer)");
        return Ok(());
    };
    let (input, output) = (Path::new(input), Path::new(output));
    let rounds = rounds
        .parse::<usize>()
        .map_err(|_| Error::usage("ROUNDS must be a number"))?
        .max(1);
    let on_all = |count: usize, task: &(dyn Fn(usize) + Sync)| {
        (0..count).into_par_iter().with_max_len(1).for_each(task);
    };
    let mut times = [const { Vec::new() }; 3];
    let mut time = |which: usize, work: &dyn Fn() -> Result<()>| {
        let begun = Instant::now();
        work()?;
        times[which].push(begun.elapsed().as_secs_f64());
        Ok(())
    };
    for _ in 0..rounds {
        for (which, run) in [&on_all as Run<'_>, &one_by_one].into_iter().enumerate() {
            time(which, &|| {
                write(output, &woven(input, Advice::ALL, run)?.new)
            })?;
        }
        time(2, &|| floor(input, output))?;
    }
    let [all, one, floor] = times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    });
    let grown = woven(input, Advice::ALL, &on_all)?;
    let percent = 100.0 * grown.growth() / grown.before as f64;
    print!(
        "{all:.4} {one:.4} {floor:.4} {percent:.2} {:.1}",
        grown.a_method()
    );
    for advice in [Advice::ENTER, Advice::EXIT, Advice::EXCEPTION] {
        print!(" {:.1}", woven(input, advice, &on_all)?.a_method());
    }
    println!();
    Ok(())
}
