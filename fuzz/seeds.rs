//! Writes the start corpora into `corpus/`, made by the generators of the tests.

#[path = "../tests/support/zipgen.rs"]
#[allow(dead_code)]
mod zipgen;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/zip");
    std::fs::create_dir_all(&corpus)?;
    for (i, spec) in zipgen::samples().iter().enumerate() {
        std::fs::write(
            corpus.join(format!("sample-{i:02}.zip")),
            zipgen::write(spec),
        )?;
    }
    Ok(())
}
