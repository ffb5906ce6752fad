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
    let assemblies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/dotnet/fixtures");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (extension, target) in [("dll", "cil"), ("pdb", "pdb")] {
        std::fs::create_dir_all(corpus.join(target))?;
        for file in std::fs::read_dir(&assemblies)? {
            let path = file?.path();
            if path.extension().is_some_and(|e| e == extension) {
                let name = path.file_name().expect("a file has a name");
                std::fs::copy(&path, corpus.join(target).join(name))?;
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::create_dir_all(corpus.join("dex"))?;
    for name in ["tests/dex/everything.dex", "tests/dex/verify.dex"] {
        let path = root.join(name);
        let name = path.file_name().expect("a file has a name");
        std::fs::copy(&path, corpus.join("dex").join(name))?;
    }
    Ok(())
}
