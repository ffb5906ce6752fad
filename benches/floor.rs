//! The floor under any weave of a jar: `floor IN.jar WOVEN.jar OUT` inflates every class member of the
//! input, deflates those members of the woven jar that differ, copies the rest, and writes the same number of
//! bytes, with the same libraries, the same level and the same number of threads as the weaver.
//! `floor IN OUT` is the floor under a weave of a single file: it reads, hashes with XXH3, as the
//! weaver does, and writes.
//! Prints the seconds it took. Without arguments (`cargo bench`) it tells its use.

use rayon::prelude::*;
use std::io::Write;
use std::time::Instant;
use weave::internals::container::zip::{Archive, Codec, Method, Packed};
use weave::internals::error::Result;

/// No class or resource of the bench's jars is larger.
const LIMIT: u64 = 1 << 30;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().filter(|a| a != "--bench").collect();
    if let [_, input, output] = &args[..] {
        return single(input.as_ref(), output.as_ref());
    }
    let [_, input, woven, output] = &args[..] else {
        println!(
            "use: floor IN.jar WOVEN.jar OUT, or floor IN OUT (benches/run.py runs it beside the weaver)"
        );
        return Ok(());
    };
    let read = |path: &String| {
        let path = std::path::Path::new(path);
        std::fs::read(path).map_err(|e| weave::internals::error::Error::io("read", path, e))
    };
    let (woven, out) = (read(woven)?, std::path::Path::new(output));
    // What the weaver makes of each member is prepared before the clock starts.
    let after = Archive::open(&woven)?;
    let mut codec = Codec::new();
    let mut changed = rustc_hash::FxHashMap::default();
    for member in after.members() {
        let mut data = Vec::new();
        member.read(&mut codec, LIMIT, &mut data)?;
        changed.insert(member.name(), (member.crc32(), data));
    }

    let begun = Instant::now();
    let file = std::fs::File::open(input)
        .map_err(|e| weave::internals::error::Error::io("open", input.as_ref(), e))?;
    // SAFETY: the bench's own input is not changed while it is mapped.
    let input = unsafe { memmap2::Mmap::map(&file) }
        .map_err(|e| weave::internals::error::Error::io("map", input.as_ref(), e))?;
    let archive = Archive::open(&input)?;
    let mut sink = std::io::BufWriter::with_capacity(
        1 << 20,
        std::fs::File::create(out)
            .map_err(|e| weave::internals::error::Error::io("create", out, e))?,
    );
    for batch in archive.members().chunks(4096) {
        let packed: Vec<Option<Packed>> = batch
            .par_iter()
            // No thread waits long for another at the end of a batch.
            .with_max_len(16)
            .map_init(
                || (Codec::new(), Vec::new()),
                |(codec, data), member| {
                    if !member.name().ends_with(".class") {
                        return Ok(None);
                    }
                    member.read(codec, LIMIT, data)?;
                    Ok(match changed.get(member.name()) {
                        Some((crc32, new)) if *crc32 != member.crc32() => {
                            Some(Packed::new(Method::Deflated, new, codec))
                        }
                        _ => None,
                    })
                },
            )
            .collect::<Result<_>>()?;
        for (member, packed) in batch.iter().zip(&packed) {
            let data = packed.as_ref().map_or(member.packed(), |p| &p.data);
            sink.write_all(data)
                .map_err(|e| weave::internals::error::Error::io("write", out, e))?;
        }
    }
    sink.flush()
        .map_err(|e| weave::internals::error::Error::io("write", out, e))?;
    println!("{:.6}", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Reads a file, hashes and writes it.
fn single(input: &std::path::Path, output: &std::path::Path) -> Result<()> {
    let begun = Instant::now();
    let data =
        std::fs::read(input).map_err(|e| weave::internals::error::Error::io("read", input, e))?;
    let hash = xxhash_rust::xxh3::xxh3_128(&data);
    std::fs::write(output, &data)
        .map_err(|e| weave::internals::error::Error::io("write", output, e))?;
    println!("{:.6}", begun.elapsed().as_secs_f64());
    std::hint::black_box(hash);
    Ok(())
}
