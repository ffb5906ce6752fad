//! From a plan to new bodies, and to what they need in tables and in the PDB.

pub(crate) mod adapters;
pub(crate) mod around;
pub mod bodies;
pub mod calls;
pub(crate) mod code;
pub(crate) mod completion;
pub mod constructor;
pub(crate) mod import;
pub(crate) mod inlining;
pub mod join;
pub mod methods;
pub mod ordinary;
pub(crate) mod own;
pub mod part;
pub(crate) mod points;
pub(crate) mod redirects;
pub mod references;
pub mod runtime_async;
pub(crate) mod sites;
pub mod state_machine;
pub mod tokens;
