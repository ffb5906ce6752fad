//! Any bytes as a trace: an error or a report, never a panic, a hang or memory out of proportion.
//!
//! The input is a header's remainder and, as 4 KB pieces, the beginnings of chunks: whole chunks
//! would spend the fuzzer's time on zeros.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weave::trace::format::{CHUNK, MAGIC, VERSION};
use weave::trace::{Analyzer, Options, Trace, flame};

fuzz_target!(|data: &[u8]| {
    let _ = Trace::from_bytes("raw", data.to_vec());
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&0u16.to_le_bytes());
    bytes.extend_from_slice(&(CHUNK as u32).to_le_bytes());
    let (header, chunks) = data.split_at(data.len().min(128));
    bytes.extend_from_slice(header);
    bytes.resize(CHUNK, 0);
    for chunk in chunks.chunks(4096) {
        let start = bytes.len();
        bytes.extend_from_slice(chunk);
        if chunk.len() == 4096 {
            bytes.resize(start + CHUNK, 0);
        }
    }
    let Ok(trace) = Trace::from_bytes("fuzz", bytes) else {
        return;
    };
    let mut analyzer = Analyzer::new(Options {
        tree: true,
        ..Options::default()
    });
    analyzer.add(&trace);
    let analysis = analyzer.finish();
    let labels = analysis.methods.labels();
    let mut out = std::io::sink();
    flame::draw(&mut out, flame::Form::Svg, "", &analysis.tree, &labels, &|_| true).unwrap();
});
