//! Weaving a dex file on one thread, and the floor under it: `dex IN.dex OUT ROUNDS` reads the file, weaves all advice
//! into every method with a body, and writes the result; by turns, it reads, checksums and writes the same bytes.
//! Prints the medians in seconds, and the growth in percent. Without arguments (`cargo bench`) it tells its use.

use sha1::{Digest, Sha1};
use std::path::Path;
use std::time::Instant;
use weave::aspect::advice::Advice;
use weave::aspect::joinpoint::{Method, Type, Visitor};
use weave::aspect::plan::{Plan, Planned, id_base};
use weave::dex::{Dex, Scratch, scan, weave};
use weave::error::{Error, Result};

/// Plans all advice for every method with a body, with ids as the weaver gives them.
#[derive(Default)]
struct Everything {
    types: u32,
    base: u32,
    planned: Vec<Planned>,
}

impl Visitor for Everything {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        self.types += 1;
        self.base = id_base(ty.name, 0);
        true
    }
    fn method(&mut self, index: u32, method: &Method<'_>) {
        if method.has_body {
            self.planned.push(Planned {
                ty: self.types - 1,
                index,
                id: self.base + index,
                advice: Advice::ALL,
            });
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io("read", path, e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| Error::io("write", path, e))
}

/// One weave; gives the sizes before and after.
fn woven(input: &Path, output: &Path) -> Result<(usize, usize)> {
    let bytes = read(input)?;
    let dex = Dex::parse(&bytes)?;
    let mut all = Everything::default();
    scan(&dex, &mut all)?;
    let woven = weave(&dex, &Plan::new(all.planned), &mut Scratch::default())?;
    let new = woven.bytes.expect("some method has a body");
    write(output, &new)?;
    Ok((bytes.len(), new.len()))
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
    let mut times = [Vec::new(), Vec::new()];
    let mut sizes = (1, 1);
    for _ in 0..rounds {
        let begun = Instant::now();
        sizes = woven(input, output)?;
        times[0].push(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        floor(input, output)?;
        times[1].push(begun.elapsed().as_secs_f64());
    }
    let [woven, floor] = times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    });
    let growth = 100.0 * (sizes.1 as f64 / sizes.0 as f64 - 1.0);
    println!("{woven:.4} {floor:.4} {growth:.2}");
    Ok(())
}
