//! `module-info.class`: what a woven named module needs to reach the hook library (JVMS 4.7.25-26).

use crate::error::Result;

/// Adds `requires <module>`; `None` if it is there already.
pub fn add_requires(_bytes: &[u8], _module: &str) -> Result<Option<Vec<u8>>> {
    todo!()
}

/// Adds a package (`weave/runtime`) to the `ModulePackages` attribute; `None` if the class has no such
/// attribute (then the packages are found by looking) or lists the package already.
pub fn add_package(_bytes: &[u8], _package: &str) -> Result<Option<Vec<u8>>> {
    todo!()
}
