//! `weave export`: the calls of traces as files of other tools.

use super::rules::read_mapping;
use super::{DONE, otlp, traces};
use crate::error::{Error, Result};
use crate::pipeline::{Access, Output, on_any_thread};
use crate::trace::counted;
use crate::trace::export::{self, Counts, Format, Selection, Weight};
use crate::trace::window::parse_moment;
use crate::trace::{Moment, Roots, Trace, Window, units};
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Write what traces recorded in the format of another tool.
///
/// Calls are read one by one, so that a trace of any size is exported in little memory.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  weave export a.wtrace --to perfetto -o a.pftrace          open it in ui.perfetto.dev
  weave export a.wtrace --to speedscope -o a.speedscope.json
  weave export a.wtrace --to folded | flamegraph.pl > a.svg
  weave export traces/ --to parquet -o calls.parquet        for DuckDB, Spark, pandas
  weave export a.wtrace --to chrome -o a.json --from 2s --until 3s --min 10us
  weave export a.wtrace --to otlp --endpoint http://localhost:4318
  weave export weave-4711.wtrace --to otlp --follow         send as the program runs
  weave export --to otlp --follow -- java -jar app.jar      start the program, and send until it ends")]
pub struct ExportArgs {
    /// Traces, or folders in which all *.wtrace are read
    #[arg(value_name = "TRACE", required_unless_present = "command")]
    traces: Vec<PathBuf>,

    /// With --to otlp --follow: the program to start, whose traces are sent; TRACE is then a folder that they are kept in
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: To,

    /// The file to write; - or nothing for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What folded stacks count [default: self]
    #[arg(long, value_enum, value_name = "WEIGHT")]
    weight: Option<By>,

    /// Only calls that run after this: a time since the trace's start (1.5s), before its end (-10s), or a clock's (14:03:20)
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true, help_heading = "Selection")]
    from: Option<Moment>,

    /// Only calls that began before this
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true, help_heading = "Selection")]
    until: Option<Moment>,

    /// Only the outermost calls of these methods (as --filter) and what runs below them, each a trace of its own in OTLP;
    /// may be repeated
    #[arg(long, value_name = "PATTERN", help_heading = "Selection")]
    root: Vec<String>,

    /// The same for methods with `root = true` in the rules; the default with --to otlp, unless --root is given
    #[arg(long, help_heading = "Selection")]
    rule_roots: bool,

    /// Only calls at least this long (5ms, 250us; a bare number is milliseconds)
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration, help_heading = "Selection")]
    min: Option<u64>,

    /// Only this many levels of calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Selection")]
    depth: Option<u32>,

    /// Only threads of this name (as --filter) or number
    #[arg(long, value_name = "NAME|N", help_heading = "Selection")]
    thread: Option<String>,

    /// Only methods whose name contains this; a pattern with * or ? must match the whole name
    #[arg(long, value_name = "PATTERN", help_heading = "Selection")]
    filter: Option<String>,

    /// The mapping.txt of an obfuscated program (ProGuard, R8): original names are written; may be repeated
    #[arg(long, value_name = "FILE")]
    mapping: Vec<PathBuf>,

    /// Further symbols maps (.wsym), or woven artifacts that carry them, for traces that lack theirs
    #[arg(long, value_name = "FILE")]
    symbols: Vec<PathBuf>,

    /// No progress and no summary
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    otlp: otlp::OtlpArgs,
}

/// The formats.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// Perfetto's protobuf, for ui.perfetto.dev and its trace processor
    Perfetto,
    /// Chrome's JSON, for chrome://tracing and Perfetto
    Chrome,
    /// speedscope's JSON
    Speedscope,
    /// Collapsed stacks, for flame graph scripts
    Folded,
    /// Comma-separated values, a row a call
    Csv,
    /// Apache Parquet, a row a call
    Parquet,
    /// OpenTelemetry's protocol, to a Collector
    Otlp,
}

/// What folded stacks count.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Own time in nanoseconds
    #[value(name = "self")]
    Own,
    /// Calls
    Calls,
}

impl ExportArgs {
    /// The format of a file; none where calls are sent.
    fn format(&self) -> Option<Format> {
        Some(match self.to {
            To::Perfetto => Format::Perfetto,
            To::Chrome => Format::Chrome,
            To::Speedscope => Format::Speedscope,
            To::Folded => Format::Folded(match self.weight {
                None | Some(By::Own) => Weight::Own,
                Some(By::Calls) => Weight::Calls,
            }),
            To::Csv => Format::Csv,
            To::Parquet => Format::Parquet,
            To::Otlp => return None,
        })
    }

    fn exported(&self) -> otlp::Exported<'_> {
        otlp::Exported {
            traces: &self.traces,
            command: &self.command,
            symbols: &self.symbols,
            mapping: &self.mapping,
            selection: self.selection(),
            window: self.window(),
            min: self.min,
            quiet: self.quiet,
        }
    }

    fn window(&self) -> Window {
        Window {
            from: self.from,
            until: self.until,
        }
    }

    /// What is exported of any trace; the window is one of each trace.
    fn selection(&self) -> Selection {
        Selection {
            roots: Roots::new(&self.root, Arc::default()).with_rules(self.rule_roots),
            from: None,
            until: None,
            min: self.min.unwrap_or(0),
            depth: self.depth,
            thread: self.thread.clone(),
            filter: self.filter.clone(),
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &ExportArgs) -> Result<u8> {
    let Some(format) = args.format() else {
        if args.output.is_some() {
            return Err(Error::usage(
                "--to otlp sends to --endpoint and writes no file",
            ));
        }
        if args.weight.is_some() {
            return Err(Error::usage("--weight requires --to folded"));
        }
        return otlp::run(&args.otlp, args.exported());
    };
    if !args.command.is_empty() {
        return Err(Error::usage("a command requires --to otlp --follow"));
    }
    if args.otlp.is_used() {
        return Err(Error::usage(
            "--endpoint, --follow and other OpenTelemetry options require --to otlp",
        ));
    }
    let is_folded = matches!(format, Format::Folded(_));
    if args.weight.is_some() && !is_folded {
        return Err(Error::usage("--weight requires --to folded"));
    }
    let mut traces = Vec::new();
    let files = traces::files(&args.traces)?;
    for parts in &files {
        traces.push(traces::open(parts, &files)?);
    }
    traces::add_symbols(&mut traces, &args.symbols)?;
    let mappings = (args.mapping.iter())
        .map(|path| read_mapping(path))
        .collect::<Result<Vec<_>>>()?;
    let named = args.output.as_deref();
    let named = named.filter(|path| *path != Path::new("-"));
    let mut output = match named {
        Some(path) => {
            traces::check_outputs(&files, &[&args.symbols, &args.mapping], &[("-o", path)])?;
            Output::create(path, Access::Private)?
        }
        None => Output::standard(),
    };
    let shown = named.unwrap_or(Path::new("standard output"));
    let counts = match write(args, format, &traces, &mappings, Box::new(&mut output)) {
        // Who reads has seen enough (`weave export ... | head`).
        Err(_) if output.is_closed() => return Ok(DONE),
        result => result.map_err(|e| Error::io("write", shown, e))?,
    };
    output.commit()?;
    if !args.quiet {
        report(args, format, counts);
    }
    Ok(DONE)
}

fn write<'a>(
    args: &ExportArgs,
    format: Format,
    traces: &'a [Trace],
    mappings: &[crate::mapping::Mapping],
    out: Box<dyn Write + Send + 'a>,
) -> io::Result<Counts> {
    let bar = match !args.quiet && io::stderr().is_terminal() {
        true => ProgressBar::new(1_000).with_style(
            ProgressStyle::with_template("{bar:40} {percent}% {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        ),
        false => ProgressBar::hidden(),
    };
    let mut sink = format.sink(out, on_any_thread)?;
    let mut sum = Counts::default();
    let selection = args.selection();
    for process in export::processes(traces) {
        let before = process.number as f64;
        let (header, end) = (process.trace.header(), process.trace.end());
        let selection = selection.within(&args.window(), header.origin, end);
        let counts = export::walk(
            &process,
            mappings,
            &selection,
            &mut *sink,
            sum.calls + 1,
            &mut |share| {
                bar.set_position(((before + share) * 1_000.0 / traces.len() as f64) as u64);
            },
        )?;
        sum.calls += counts.calls;
        sum.logical += counts.logical;
        sum.logical_left_out += counts.logical_left_out;
        sum.unrecorded += counts.unrecorded;
        sum.unrecorded_left_out += counts.unrecorded_left_out;
        sum.left_out += counts.left_out;
    }
    sink.finish()?;
    bar.finish_and_clear();
    Ok(sum)
}

/// Says on standard error what was written, and what the reader should know.
fn report(args: &ExportArgs, format: Format, counts: Counts) {
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "{} exported", units::counted(counts.calls, "call"));
    if counts.unrecorded_left_out > 0 {
        let how = "counted or summed up";
        let _ = writeln!(
            out,
            "{}",
            counted::left_out(counts.unrecorded_left_out, how)
        );
    } else if counts.unrecorded > 0 && !format.has_unrecorded() {
        let methods = units::counted(counts.unrecorded, "method");
        let _ = writeln!(
            out,
            "{methods} counted or summed up, not recorded, left out: this format knows single calls alone"
        );
    }
    if counts.left_out > 0 {
        let _ = writeln!(
            out,
            "{} left out by the program itself from a moment on (`mode = \"auto\"`): their calls are more than those exported",
            units::counted(counts.left_out, "method")
        );
    }
    if counts.logical_left_out > 0 {
        let _ = writeln!(
            out,
            "warning: too many logical calls at once: {} came through as pieces only",
            units::count(counts.logical_left_out)
        );
    }
    if let Some(most) = format.comfortable().filter(|&most| counts.calls > most) {
        let _ = writeln!(
            out,
            "warning: viewers of this format become slow beyond {} calls: --from and --until, --min, --depth, --thread or \
             --filter take a part",
            units::count(most)
        );
    }
    if counts.calls + counts.unrecorded == 0 && (args.filter.is_some() || args.thread.is_some()) {
        let _ = writeln!(out, "warning: nothing fits the selection");
    }
}
