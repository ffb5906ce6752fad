//! From a plan to new bodies, and to what they need in tables and in the PDB.

pub mod bodies;
pub mod calls;
pub mod constructor;
pub mod join;
pub mod machines;
pub mod ordinary;
pub mod part;
pub mod references;
pub mod runtime_async;
pub mod state_machine;
pub mod tokens;
