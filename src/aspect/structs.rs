//! Structs that one assembly defines and another one names: whether they are ref structs, which nothing can box or keep. The assembly
//! that names one does not say; nor whether everybody sees a nested type.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What is known of structs, by their names.
#[derive(Debug, Default)]
pub struct Structs {
    known: FxHashMap<Box<str>, bool>,
    /// Types that only types below others see.
    hidden: FxHashSet<Box<str>>,
    /// Types that were looked up and not found, and their assemblies.
    missing: Mutex<BTreeMap<Box<str>, Box<str>>>,
}

/// A struct of which nothing is known.
pub struct MissingStruct {
    pub name: Box<str>,
    /// The display name of its assembly.
    pub assembly: Box<str>,
}

impl Structs {
    /// Adds a struct; of two with one name a ref struct counts.
    pub fn add(&mut self, name: Box<str>, by_ref_like: bool) {
        *self.known.entry(name).or_default() |= by_ref_like;
    }

    /// Adds a type that only its subtypes, or those of a type around it, see.
    pub fn hide(&mut self, name: Box<str>) {
        self.hidden.insert(name);
    }

    /// Whether a type, or one around it (`A+B` is in `A`), is such a one.
    pub fn is_hidden(&self, name: &str) -> bool {
        let ends = name.match_indices('+').map(|(at, _)| at);
        let mut around = ends.chain([name.len()]).map(|end| &name[..end]);
        around.any(|name| self.hidden.contains(name))
    }

    /// Whether a struct is a ref struct, if that is known.
    pub fn is_ref_struct(&self, name: &str) -> Option<bool> {
        self.known.get(name).copied()
    }

    /// Notes that nothing is known of a struct of an assembly.
    pub fn miss(&self, name: &str, assembly: &str) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.contains_key(name) {
            missing.insert(name.into(), assembly.into());
        }
    }

    /// Whether it was looked up and not found.
    pub fn is_missing(&self, name: &str) -> bool {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.contains_key(name)
    }

    /// The structs of which nothing is known, ascending.
    pub fn missing(&self) -> Vec<MissingStruct> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        (missing.iter())
            .map(|(name, assembly)| MissingStruct {
                name: name.clone(),
                assembly: assembly.clone(),
            })
            .collect()
    }

    /// The hidden types, ascending.
    pub fn all_hidden(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.hidden.iter().map(|name| &**name).collect();
        all.sort_unstable();
        all
    }

    /// All that is known, ascending.
    pub fn all(&self) -> Vec<(&str, bool)> {
        let mut all: Vec<_> = self
            .known
            .iter()
            .map(|(name, known)| (&**name, *known))
            .collect();
        all.sort_unstable();
        all
    }
}
