//! Structs that one assembly defines and another one names: whether they are ref structs, which nothing can box or keep. The assembly
//! that names one does not say.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What is known of structs, by their names.
#[derive(Debug, Default)]
pub struct Structs {
    known: FxHashMap<Box<str>, bool>,
    /// Those that were asked for in vain, and their assemblies.
    missing: Mutex<BTreeMap<Box<str>, Box<str>>>,
}

impl Structs {
    /// Adds a struct; of two with one name a ref struct counts.
    pub fn add(&mut self, name: Box<str>, by_ref_like: bool) {
        *self.known.entry(name).or_default() |= by_ref_like;
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

    /// Whether it was asked for in vain.
    pub fn is_missing(&self, name: &str) -> bool {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.contains_key(name)
    }

    /// The structs of which nothing is known, ascending, each with its assembly's display name.
    pub fn missing(&self) -> Vec<(Box<str>, Box<str>)> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        (missing.iter())
            .map(|(name, assembly)| (name.clone(), assembly.clone()))
            .collect()
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
