//! The JDK that the tests run.

use std::path::Path;
use std::process::Command;

/// A tool of the JDK in `JAVA_HOME`, or else of the one on the `PATH`.
pub fn jdk(name: &str) -> Command {
    let mut command = Command::new(match std::env::var_os("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin").join(name).into_os_string(),
        None => name.into(),
    });
    // What tests/harness runs the compiler with.
    if let ("javac", Ok(options)) = (name, std::env::var("WEAVE_JAVAC")) {
        command.args(options.split('\n'));
        return command;
    }
    // These programs run for less than a second: compiling them twice takes longer than it saves.
    let quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
    let before = if name.ends_with("java") { "" } else { "-J" };
    command.args(quick.map(|option| format!("{before}{option}")));
    command
}
