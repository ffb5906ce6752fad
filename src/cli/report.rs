//! `weave report`: shows what traces recorded.

mod json;
mod table;
mod text;
mod tree;

use crate::cli::rules::read_mapping;
use crate::error::{Error, Kind, Result};
use crate::trace::{Analysis, Analyzer, Options, Trace, flame, pattern, units};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Rows shown unless `--limit` says otherwise.
const LIMIT: usize = 30;

/// Show what traces recorded: which method took how long, called by whom, with what exceptions.
///
/// Without a view, the table of methods is shown. Views can be combined.
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = "Examples:
  weave report weave-4711.wtrace                     the table, most own time first
  weave report traces/ --sort p99 --limit 10         all *.wtrace in a folder, as one
  weave report a.wtrace --filter 'com.acme.*' --min 5ms
  weave report a.wtrace --tree --thread main         the call tree of a thread
  weave report a.wtrace --exceptions --threads
  weave report a.wtrace --flame flame.svg            open it in a browser")]
pub struct ReportArgs {
    /// Traces, or folders in which all *.wtrace are read
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,

    /// Show the call tree, merged over all threads
    #[arg(long, help_heading = "Views")]
    pub tree: bool,

    /// Show a line for each thread
    #[arg(long, help_heading = "Views")]
    pub threads: bool,

    /// Show the exceptions: how often, thrown where, and how far they got
    #[arg(long, help_heading = "Views")]
    pub exceptions: bool,

    /// Write a flame graph for a browser (.svg or .html)
    #[arg(long, value_name = "FILE", help_heading = "Views")]
    pub flame: Option<PathBuf>,

    /// Write everything as JSON, for programs (docs/report.md has the schema)
    #[arg(long, help_heading = "Views")]
    pub json: bool,

    /// What the table is sorted by
    #[arg(long, value_enum, default_value_t = Sort::Own)]
    pub sort: Sort,

    /// Rows to show; 0 for all [default: 30, with --json all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Only methods whose name has this in it, or fits it as a whole with * and ?
    #[arg(long, value_name = "PATTERN")]
    pub filter: Option<String>,

    /// Only threads of this name (as --filter) or number
    #[arg(long, value_name = "NAME|N")]
    pub thread: Option<String>,

    /// Only calls at least this long (5ms, 250us, 1.5s); the time of shorter ones counts as their callers' own
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    pub min: Option<u64>,

    /// Deepest level of the tree
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub depth: u32,

    /// Smallest share of all time that a line of the tree has
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub min_percent: f64,

    /// The mapping.txt of an obfuscated program (ProGuard, R8): original names are shown; may be repeated
    #[arg(long, value_name = "FILE")]
    pub mapping: Vec<PathBuf>,

    /// Further symbols maps (.wsym), for traces that do not explain themselves
    #[arg(long, value_name = "FILE")]
    pub symbols: Vec<PathBuf>,
}

/// What the table is sorted by.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Time in the method itself
    #[value(name = "self")]
    Own,
    /// Time in the method and all it called
    Total,
    /// Number of calls
    Calls,
    /// Duration that one call in a hundred exceeds
    P99,
    /// Longest call
    Max,
    /// Calls left by an exception
    Errors,
    /// Name
    Name,
}

/// Runs the subcommand: to standard output, as wide as the terminal.
pub fn run(args: &ReportArgs) -> Result<()> {
    let stdout = io::stdout();
    let width = stdout
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten()
        .map(|(width, _)| usize::from(width.0));
    let mut out = BufWriter::new(stdout.lock());
    report(args, &mut out, width)
}

/// Writes the report; `width` is that of the terminal, if it is one.
pub fn report(args: &ReportArgs, out: &mut dyn Write, width: Option<usize>) -> Result<()> {
    let files = files(&args.traces)?;
    let maps = (args.symbols.iter())
        .map(|path| {
            Ok((
                path,
                std::fs::read(path).map_err(|e| Error::io("read", path, e))?,
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    let mappings = (args.mapping.iter())
        .map(|path| read_mapping(path))
        .collect::<Result<Vec<_>>>()?;
    let mut analyzer = Analyzer::new(Options {
        min: args.min.unwrap_or(0),
        thread: args.thread.clone(),
        tree: args.tree || args.flame.is_some(),
    });
    let mut failed = Vec::new();
    for file in &files {
        match Trace::open(file) {
            Ok(mut trace) => {
                for (path, map) in &maps {
                    trace
                        .add_symbols(map)
                        .map_err(|e| e.in_artifact(path.display().to_string()))?;
                }
                analyzer.add(&trace);
            }
            Err(e) => failed.push(e),
        }
    }
    if failed.len() == files.len() {
        return Err(failed.swap_remove(0));
    }
    let mut analysis = analyzer.finish();
    for mapping in &mappings {
        analysis.restore_names(mapping);
    }
    let view = View::new(args, analysis, width);
    if let Some(path) = &args.flame {
        view.write_flame(path)?;
    }
    match view.write(out, &failed).and_then(|()| out.flush()) {
        // Who reads has seen enough (`weave report ... | head`).
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Error::new(
            Kind::Io,
            format!("cannot write the report: {e}"),
        )),
        Ok(()) if failed.is_empty() => Ok(()),
        Ok(()) => Err(Error::new(
            Kind::NotDone,
            format!(
                "{} of {} traces could not be read",
                failed.len(),
                files.len()
            ),
        )),
    }
}

/// The traces that the arguments name, folders resolved in the order of their names.
fn files(args: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for arg in args {
        if !arg.is_dir() {
            files.push(arg.clone());
            continue;
        }
        let before = files.len();
        for entry in std::fs::read_dir(arg).map_err(|e| Error::io("read", arg, e))? {
            let path = entry.map_err(|e| Error::io("read", arg, e))?.path();
            if path.extension().is_some_and(|e| e == "wtrace") && path.is_file() {
                files.push(path);
            }
        }
        if files.len() == before {
            return Err(Error::usage(format!("no *.wtrace in {}", arg.display())));
        }
        files[before..].sort();
    }
    Ok(files)
}

/// What is shown, and how.
struct View<'a> {
    args: &'a ReportArgs,
    analysis: Analysis,
    labels: Vec<String>,
    /// Per method: whether `--filter` takes it.
    wanted: Vec<bool>,
    width: Option<usize>,
}

impl<'a> View<'a> {
    fn new(args: &'a ReportArgs, analysis: Analysis, width: Option<usize>) -> View<'a> {
        let labels = analysis.methods.labels();
        let wanted = (analysis.methods.rows().iter().zip(&labels))
            .map(|(method, label)| match &args.filter {
                None => true,
                Some(p) => pattern::matches(p, label) || pattern::matches(p, &method.name()),
            })
            .collect();
        View {
            args,
            analysis,
            labels,
            wanted,
            width,
        }
    }

    fn write(&self, out: &mut dyn Write, failed: &[Error]) -> io::Result<()> {
        let args = self.args;
        if args.json {
            return self.json(out, failed);
        }
        self.header(out, failed)?;
        if let Some(path) = &args.flame {
            writeln!(out, "\nFlame graph written to {}", path.display())?;
        }
        if args.threads {
            self.threads(out)?;
        }
        if args.tree {
            self.tree(out)?;
        }
        if args.exceptions {
            self.exceptions(out)?;
        }
        if !(args.threads || args.tree || args.exceptions || args.flame.is_some()) {
            self.table(out)?;
        }
        Ok(())
    }

    /// Rows to show of so many.
    fn limit(&self, rows: usize) -> usize {
        let default = if self.args.json { 0 } else { LIMIT };
        match self.args.limit.unwrap_or(default) {
            0 => rows,
            n => n.min(rows),
        }
    }

    /// Per node of the tree: whether it, a caller or a callee of it fits `--filter`.
    fn visible(&self) -> Vec<bool> {
        let nodes = self.analysis.tree.nodes();
        let own: Vec<bool> = (nodes.iter())
            .map(|n| self.wanted[n.method as usize])
            .collect();
        let mut below = own.clone();
        for (i, node) in nodes.iter().enumerate().rev() {
            if let (true, Some(parent)) = (below[i], node.parent) {
                below[parent as usize] = true;
            }
        }
        let mut above = own;
        for (i, node) in nodes.iter().enumerate() {
            above[i] |= node.parent.is_some_and(|p| above[p as usize]);
        }
        below.iter().zip(&above).map(|(&b, &a)| a || b).collect()
    }

    fn write_flame(&self, path: &Path) -> Result<()> {
        let form = match path.extension().and_then(|e| e.to_str()) {
            Some("svg") => flame::Form::Svg,
            Some("html" | "htm") => flame::Form::Html,
            _ => {
                return Err(Error::usage(
                    "--flame takes a file that ends in .svg or .html",
                ));
            }
        };
        let title = match self.analysis.processes.as_slice() {
            [one] => units::printable(&one.header.command),
            many => format!("{} traces", many.len()),
        };
        let visible = self.visible();
        let file = File::create(path).map_err(|e| Error::io("create", path, e))?;
        let mut out = BufWriter::new(file);
        flame::draw(
            &mut out,
            form,
            &title,
            &self.analysis.tree,
            &self.labels,
            &|node| visible[node as usize],
        )
        .and_then(|()| out.flush())
        .map_err(|e| Error::io("write", path, e))
    }
}

#[cfg(test)]
mod tests;
