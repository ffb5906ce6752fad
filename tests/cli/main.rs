//! What a user of the command notices: artifacts go in, artifacts come out, programs run.

mod apks;
mod artifacts;
mod assemblies;
mod builds;
#[path = "../support/class_file.rs"]
mod class_file;
mod debugging;
mod exports;
mod failures;
mod folders;
#[cfg(unix)]
mod followed;
mod hooks;
mod ids;
#[path = "../support/jdk.rs"]
mod jdk;
mod layouts;
mod outputs;
mod safety;
mod sections;
mod signing;
mod support;
mod tools;
#[path = "../support/tree.rs"]
mod tree;
mod unchanged;
#[allow(dead_code)]
#[path = "../support/zipgen.rs"]
mod zipgen;
