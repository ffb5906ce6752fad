//! How fast the container layer is, on a jar of one's own:
//! `cargo bench --profile release --bench container -- some.jar [deflate]`.
//!
//! Prints the time to open, to copy with everything kept, to inflate, and to deflate all classes;
//! with `deflate` a table over libdeflate's levels, beside the sizes in the jar, by which
//! `DEFLATE_LEVEL` was chosen. Single-threaded.

use std::time::{Duration, Instant};
use weave::internals::container::input::Input;
use weave::internals::container::stage::Staged;
use weave::internals::container::zip::{Archive, Codec, DEFLATE_LEVEL, Method, Packed, Splicer};
use weave::internals::error::Result;

/// The best of a few runs: other work on the machine only ever adds.
fn best<T>(runs: usize, mut run: impl FnMut() -> Result<T>) -> Result<(Duration, T)> {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..runs {
        let start = Instant::now();
        let value = run()?;
        let time = start.elapsed();
        if best.as_ref().is_none_or(|(t, _)| time < *t) {
            best = Some((time, value));
        }
    }
    Ok(best.expect("at least one run"))
}

fn mb_s(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn keep_all(archive: &Archive<'_>, sink: impl std::io::Write) -> Result<()> {
    let copy = || -> std::io::Result<()> {
        let mut splicer = Splicer::new(archive, sink);
        for _ in archive.members() {
            splicer.keep()?;
        }
        splicer.finish().map(|_| ())
    };
    copy().map_err(|e| {
        weave::internals::error::Error::new(weave::internals::error::Kind::Io, e.to_string())
    })
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let Some(path) = args.first() else {
        println!("give a jar: cargo bench --bench container -- some.jar [deflate]");
        return Ok(());
    };
    let path = std::path::Path::new(path);
    let input = Input::open(path)?;
    let (time, archive) = best(5, || Archive::open(&input))?;
    println!(
        "open          {time:>10.2?}  {} members",
        archive.members().len()
    );

    let len = input.len() as u64;
    let target = std::env::temp_dir().join("weave-bench.jar");
    let (time, ()) = best(5, || {
        let mut staged = Staged::create(&target, None)?;
        keep_all(&archive, &mut staged)?;
        staged.commit()
    })?;
    println!("keep, to file {time:>10.2?}  {:.0} MB/s", mb_s(len, time));
    let (time, ()) = best(5, || {
        let all = std::fs::write(&target, &*input);
        all.map_err(|e| weave::internals::error::Error::io("write", &target, e))
    })?;
    println!("plain write   {time:>10.2?}  {:.0} MB/s", mb_s(len, time));
    let _ = std::fs::remove_file(&target);
    let (time, ()) = best(5, || keep_all(&archive, Vec::with_capacity(input.len())))?;
    println!("keep, to RAM  {time:>10.2?}  {:.0} MB/s", mb_s(len, time));

    let classes = || {
        let members = archive.members().iter();
        members.filter(|m| m.name().ends_with(".class") && m.method() == Method::Deflated)
    };
    let size: u64 = classes().map(|m| m.size()).sum();
    let packed: u64 = classes().map(|m| m.packed().len() as u64).sum();
    let mut codec = Codec::new();
    let mut out = Vec::new();
    let (time, ()) = best(3, || {
        classes().try_for_each(|m| m.read(&mut codec, u64::MAX, &mut out))
    })?;
    println!(
        "inflate       {time:>10.2?}  {:.0} MB/s  {} classes, {size} bytes from {packed}",
        mb_s(size, time),
        classes().count(),
    );

    let mut data = Vec::with_capacity(classes().count());
    for member in classes() {
        let mut out = Vec::new();
        member.read(&mut codec, u64::MAX, &mut out)?;
        data.push(out);
    }
    let levels = match args.get(1).map(String::as_str) {
        Some("deflate") => 1..=9,
        _ => DEFLATE_LEVEL..=DEFLATE_LEVEL,
    };
    for level in levels {
        let mut codec = Codec::with_level(level);
        let (time, sum) = best(2, || {
            let pack = |d: &Vec<u8>| Packed::new(Method::Deflated, d, &mut codec).data.len() as u64;
            Ok(data.iter().map(pack).sum::<u64>())
        })?;
        println!(
            "deflate {level:>2}    {time:>10.2?}  {:.0} MB/s  {sum} bytes, {:+.2} % of the jar's",
            mb_s(size, time),
            100.0 * (sum as f64 / packed as f64 - 1.0),
        );
    }
    Ok(())
}
