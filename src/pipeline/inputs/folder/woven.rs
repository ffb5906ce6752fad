//! The results of a folder so far.

use crate::pipeline::formats::dex::DexLibrary;
use crate::pipeline::own::MadeClass;
use std::collections::{BTreeMap, BTreeSet};

/// The results of a folder so far.
#[derive(Default)]
pub(super) struct Woven {
    /// A jar changed.
    pub(super) jars: bool,
    /// A class or dex file of the folder itself changed.
    pub(super) loose: bool,
    /// A dex file changed.
    pub(super) dexes: bool,
    /// Class roots (`classes/`, or empty) with woven classes.
    pub(super) roots: BTreeSet<String>,
    /// Folders with woven assemblies: paths with a slash at the end, or empty; and the version of .NET that they need.
    pub(super) assembly_directories: BTreeMap<String, u32>,
    pub(super) dex_library: DexLibrary,
    /// The classes that are made for its classes, by their paths.
    pub(super) generated: BTreeMap<String, Generated>,
}

/// A class that is made for classes of a folder.
pub(super) struct Generated {
    pub(super) class: MadeClass,
    /// The class root of those.
    pub(super) root: String,
}
