//! The `weave` command: parse, run, exit code.

fn main() {}
