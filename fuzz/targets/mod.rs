//! What is fuzzed: functions that take any bytes. libFuzzer runs them (`fuzz_targets/`), and so do the tests, over seeds and
//! changes of them that are the same each day (`tests/fuzz.rs`).

pub mod cil;
pub mod class;
pub mod dex;
mod everything;
pub mod pdb;
pub mod rules;
pub mod seeds;
pub mod symbols;
pub mod trace;
pub mod zip;
