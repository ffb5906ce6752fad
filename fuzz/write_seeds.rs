//! Writes the start corpora into `corpus/`.

use std::path::Path;
use weave_fuzz::seeds;

fn main() -> std::io::Result<()> {
    for target in seeds::TARGETS {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(target);
        std::fs::create_dir_all(&corpus)?;
        for (name, bytes) in seeds::of(target) {
            std::fs::write(corpus.join(name), bytes)?;
        }
    }
    Ok(())
}
