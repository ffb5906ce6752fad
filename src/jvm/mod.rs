//! JVM class files: scan for join points, weave hooks in. JVMS is The Java Virtual Machine
//! Specification, Java SE 25.
//!
//! [`Class::parse`] reads the structure; [`scan`] shows it to a planner; [`weave`] writes the class with
//! the planned methods' hooks. Bytes that no plan touches are copied.

mod android_trace;
mod around;
mod attributes;
mod calls;
mod class;
mod constructor;
mod emit;
mod foundation;
mod frames;
mod hidden;
mod hook_body;
mod insn;
mod instead;
mod kotlin;
mod lower;
mod made;
pub mod module_info;
mod nulls;
mod parameters;
mod place;
mod points;
mod pool;
mod redirect;
mod references;
mod relocate;
mod runner;
mod scan;
pub mod serial;
mod signature;
mod simulation;
mod sites;
mod stack;
mod stores;
mod types;
pub mod verify;
mod write;

pub use calls::library_type;
pub use class::Class;
pub use hook_body::{HookBody, only_proceed};
pub use instead::redirect_class;
pub use made::{adapter, test_class_of};
pub use place::test_class;
pub use relocate::Relocation;
pub use runner::{Runner, Runners, Seats};
pub use scan::scan;
pub use write::{NEWEST_MAJOR, Scratch, weave, weave_seated};
