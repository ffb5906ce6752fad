//! What a user of the command notices: artifacts go in, artifacts come out, programs run.

mod apks;
mod artifacts;
mod assemblies;
mod debugging;
mod failures;
mod folders;
mod ids;
mod safety;
mod sections;
mod signing;
mod support;
mod tools;
