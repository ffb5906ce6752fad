//! Where the tests lie: where cargo compiled them, or where `elsewhere.py` runs them.

use std::env;
use std::path::PathBuf;

/// The tree, with the tests' inputs.
pub fn root() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}
