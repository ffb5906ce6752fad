//! Weave: a build-time static weaver.
//!
//! `weave in out` reads compiled artifacts, applies aspect rules declared in TOML, and
//! inserts enter, exit and exception hooks into the bytecode. The flow is one way:
//!
//! ```text
//! bytes -> container -> format -> scan -> join points -> rules match -> plan
//!       -> lower -> edit/layout -> write -> container -> bytes
//! ```
//!
//! `docs/DESIGN.md` says what lives where and which way dependencies point.

pub mod aspect;
pub mod bytes;
pub mod cil;
pub mod cli;
pub mod container;
pub mod dex;
pub mod edit;
pub mod error;
pub mod jvm;
pub mod mapping;
pub mod pipeline;
pub mod symbols;
pub mod trace;
