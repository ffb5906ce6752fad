//! The command line: one file a subcommand, each from arguments to a resolved job to printing.

mod collect;
mod columns;
mod completions;
mod control;
mod depfile;
mod diff;
mod export;
mod full_screen;
mod idle_list;
mod import;
mod init;
mod inputs;
mod messages;
mod otlp;
mod packs;
mod plan;
mod program;
pub mod report;
mod rules;
mod runtime;
mod schema;
mod show;
mod sign;
mod terminal;
mod top;
mod traces;
mod tune;
mod verify;
mod weave;

use crate::aspect::rules::nearest;
use crate::error::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Weave enter, exit and exception hooks into compiled programs
///
/// Reads classes, .NET assemblies or dex files, by themselves or in a jar, an apk or a folder, and writes the
/// same with hooks in the bytecode. The woven program records what happened; `weave report` shows it.
#[derive(Parser)]
#[command(
    name = "weave",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    after_help = "Examples:
  weave app.jar woven.jar                    trace every method that is not trivial
  java -jar woven.jar                        run it: it writes weave-<pid>.wtrace
  weave report weave-*.wtrace                see what took how long
  weave app.jar woven.jar --rules weave.toml only what your rules name (`weave init` writes a start)
  weave lib/ woven-lib/                      a whole class path, ids unique over it
  weave plan app.jar                         what would be woven, and why the rest is not

Exit status: 0 done; 1 something asked for was not done; 2 wrong use or wrong rules; 3 malformed or
unsupported input. If the input has the name of a command, write ./plan."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    weave: weave::WeaveArgs,
}

#[derive(Subcommand)]
enum Command {
    Plan(plan::PlanArgs),
    Report(report::ReportArgs),
    Tune(tune::TuneArgs),
    Collect(collect::CollectArgs),
    Top(top::TopArgs),
    Control(control::ControlArgs),
    Verify(verify::VerifyArgs),
    Init(init::InitArgs),
    Runtime(runtime::RuntimeArgs),
    Diff(diff::DiffArgs),
    Export(export::ExportArgs),
    Completions(completions::CompletionsArgs),
    Man(completions::ManArgs),
    Schema(schema::SchemaArgs),
    Import(import::ImportArgs),
    Inputs(inputs::InputsArgs),
    Packs(packs::PacksArgs),
}

/// Exit status: all done.
const DONE: u8 = 0;
/// Exit status: something asked for was not done.
const NOT_DONE: u8 = 1;

/// Parses the arguments, runs, prints errors, and returns the exit status.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = parse(&arguments).unwrap_or_else(|e| e.exit());
    let result = match &cli.command {
        None => weave::run(&cli.weave),
        Some(Command::Plan(args)) => plan::run(args),
        Some(Command::Report(args)) => report::run(args).map(|()| DONE),
        Some(Command::Tune(args)) => tune::run(args),
        Some(Command::Collect(args)) => collect::run(args),
        Some(Command::Top(args)) => top::run(args),
        Some(Command::Control(args)) => control::run(args),
        Some(Command::Verify(args)) => verify::run(args),
        Some(Command::Init(args)) => init::run(args),
        Some(Command::Runtime(args)) => runtime::run(args),
        Some(Command::Diff(args)) => diff::run(args),
        Some(Command::Export(args)) => export::run(args),
        Some(Command::Completions(args)) => completions::run(args).map(|()| DONE),
        Some(Command::Man(args)) => completions::man(args).map(|()| DONE),
        Some(Command::Schema(args)) => schema::run(args),
        Some(Command::Import(args)) => import::run(args),
        Some(Command::Inputs(args)) => inputs::run(args),
        Some(Command::Packs(args)) => packs::run(args),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(e) => {
            let text = messages::error(&e, cli.weave.message_format());
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
            ExitCode::from(e.exit_status())
        }
    }
}

/// Says something on standard error; that nobody reads it is no failure.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Parses the arguments. A first word that is neither a command nor a file is an error of its own.
fn parse(arguments: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    let parsed = Cli::try_parse_from(arguments);
    let words: Vec<&str> = (arguments.iter().skip(1))
        .map_while(|word| word.to_str())
        .collect();
    let word = match words[..] {
        ["help", word, ..] => word,
        [word, ..] if !Path::new(word).exists() => word,
        _ => return parsed,
    };
    let mut root = Cli::command();
    root.build();
    let commands: Vec<&str> = root
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let is_word = word.bytes().all(|c| c.is_ascii_alphabetic());
    if !is_word || commands.contains(&word) {
        return parsed;
    }
    let near = nearest(word, &commands, &[]);
    let meant = match (near, &parsed) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Err(_)) => format!("commands are {}", commands.join(", ")),
        (None, Ok(_)) => return parsed,
    };
    let told = format!("no command and no file is named `{word}`: {meant}");
    Err(Cli::command().error(ErrorKind::InvalidSubcommand, told))
}

/// Prints to standard output; a reader that has seen enough (`| head`) is no failure.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(crate::error::Error::io(
            "write",
            std::path::Path::new("standard output"),
            e,
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn files_and_commands_are_told_apart() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["weave"], args].concat());
        assert!(parse(&["in.jar", "out.jar"]).unwrap().command.is_none());
        assert!(parse(&["./plan", "out.jar"]).unwrap().command.is_none());
        assert!(parse(&["plan", "in.jar"]).unwrap().command.is_some());
        assert!(parse(&["in.jar"]).is_err());
        assert!(parse(&[]).is_err());
    }
}
