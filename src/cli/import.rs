//! `weave import`: rules from what people have for other tools.

use crate::cli::{DONE, NOT_DONE, note, print, rules};
use crate::error::{Error, Kind, Result};
use crate::import::{self, Source};
use crate::pipeline::{Access, Output};
use crate::printable::printable;
use std::path::PathBuf;

/// Convert rules of other tools: Datadog, AspectJ, btrace, OpenTelemetry
///
/// Weave prints the line and the reason of each part that no rule can express, and then ends with status 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave import aop.xml                    shows the rules
  weave import integrations.json weave.toml
  weave import otel.properties weave.toml its line otel.instrumentation.methods.include=..")]
pub struct ImportArgs {
    /// integrations.json, supported_calltargets.g.json, aop.xml, a btrace script, OpenTelemetry's or Datadog's settings (properties or YAML), or a list of methods my.Type[one,two]
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Where the rules go; - is standard output. An existing file is never overwritten
    #[arg(value_name = "RULES", default_value = "-")]
    output: PathBuf,

    /// Record the arguments and results of all calls, too: they may hold secrets (`mask`), and take room
    #[arg(long)]
    values: bool,

    /// Format of the file [default: recognised from its text]
    #[arg(long, value_enum, value_name = "SOURCE")]
    from: Option<From>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum From {
    /// Datadog's integrations.json or supported_calltargets.g.json
    Datadog,
    /// AspectJ's aop.xml
    Aspectj,
    /// A script of btrace
    Btrace,
    /// A list of methods, or settings that have one
    Methods,
    /// OpenTelemetry's settings in YAML
    OtelYaml,
}

/// Runs the subcommand.
pub fn run(args: &ImportArgs) -> Result<u8> {
    let shown = args.file.display().to_string();
    let text = String::from_utf8(rules::read_bytes(&args.file)?)
        .map_err(|e| Error::new(Kind::Malformed, format!("not UTF-8: {e}")).in_artifact(&shown))?;
    let source = match args.from {
        None => Source::of(&text),
        Some(From::Datadog) => Source::Datadog,
        Some(From::Aspectj) => Source::Aspectj,
        Some(From::Btrace) => Source::Btrace,
        Some(From::Methods) => Source::Methods,
        Some(From::OtelYaml) => Source::OtelYaml,
    };
    let name = args.file.file_name().map(|name| name.to_string_lossy());
    let imported = import::import(&name.unwrap_or_default(), &text, source, args.values)?;
    for one in &imported.notes {
        let word = if one.lost { "left out: " } else { "" };
        let (place, text) = (printable(&shown), printable(&one.text));
        note(&format!("{place}:{}: {word}{text}", one.line));
    }
    let lost = imported.notes.iter().filter(|one| one.lost).count();
    if imported.rules == 0 {
        // A file without a rule is none that weave reads.
        note(&format!(
            "{}: no rule imported: nothing is written",
            printable(&shown)
        ));
        return Ok(NOT_DONE);
    }
    if args.output.as_os_str() == "-" {
        print(&imported.text)?;
    } else {
        Output::put(&args.output, imported.text.as_bytes(), Access::New)?;
    }
    note(&format!(
        "{} rule{} imported, {lost} thing{} left out",
        imported.rules,
        if imported.rules == 1 { "" } else { "s" },
        if lost == 1 { "" } else { "s" }
    ));
    Ok(if lost == 0 { DONE } else { NOT_DONE })
}
