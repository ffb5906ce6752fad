//! `weave report`: shows what traces recorded.

mod calls;
mod json;
mod page;
mod process;
mod request;
mod requests;
mod table;
mod tree;

use crate::cli::diff;
use crate::cli::rules::read_mapping;
use crate::cli::terminal::{Screen, Showing, written};
use crate::cli::traces;
use crate::error::{Error, Kind, Result};
use crate::mapping::Mapping;
use crate::pipeline::{Access, Output, maps_of};
use crate::printable::printable;
use crate::trace::methods::{Method, split_label};
use crate::trace::query::{Query, Wants};
use crate::trace::request::{Asked, Finder, Request};
use crate::trace::requests::Requests;
use crate::trace::values::Condition;
use crate::trace::window::parse_moment;
use crate::trace::{
    Analysis, Analyzer, Excludes, Moment, Options, Roots, Trace, Window, flame, pattern, units,
};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
  weave report a.wtrace --requests                   requests by route, and what they wait for
  weave report traces/ --request 4bf92f35            one request whole, over threads and services
  weave report a.wtrace --calls --where 'sql=*orders*'   the slowest such calls, one by one
  weave report a.wtrace --by sql                     a row for each value that rules `record`
  weave report a.wtrace --flame flame.svg            open it in a browser
  weave report a.wtrace --html a.html                a page with all of it and a timeline
  weave report new.wtrace --compare old.wtrace --html a.html")]
pub struct ReportArgs {
    /// Traces, or folders in which all *.wtrace are read
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,

    /// Show the call tree, merged over all threads
    #[arg(long, help_heading = "Views")]
    pub tree: bool,

    /// Show requests by name: how many, how long, and what they wait for; rules say which calls are requests (`span`, `root`)
    #[arg(long, help_heading = "Views", conflicts_with_all = ["flame", "html", "from", "until", "min", "thread"])]
    pub requests: bool,

    /// Show one request whole, over threads and traces: its trace id, or the first digits of the id
    #[arg(long, value_name = "ID", value_parser = Asked::parse, help_heading = "Views",
          conflicts_with_all = ["flame", "html", "from", "until", "thread", "requests"])]
    pub request: Option<Asked>,

    /// Show a line for each thread
    #[arg(long, help_heading = "Views")]
    pub threads: bool,

    /// Show what the processes used: CPU, memory, garbage collection, threads
    #[arg(long, help_heading = "Views")]
    pub process: bool,

    /// Show the exceptions: how often, where they were thrown, and which methods they left
    #[arg(long, help_heading = "Views")]
    pub exceptions: bool,

    /// Show single calls, the slowest first, with their values
    #[arg(long, help_heading = "Views")]
    pub calls: bool,

    /// Write a flame graph for a browser (.svg or .html)
    #[arg(long, value_name = "FILE", help_heading = "Views")]
    pub flame: Option<PathBuf>,

    /// Write a page for a browser: table, timeline, call tree, flame graph, exceptions
    #[arg(long, value_name = "FILE", help_heading = "Views")]
    pub html: Option<PathBuf>,

    /// With --html: compare with these traces from before a change, or with a folder of them
    #[arg(long, value_name = "TRACE", requires = "html", num_args = 1.., help_heading = "Views")]
    pub compare: Vec<PathBuf>,

    /// With --html: how many calls the timeline has at most; it has the longest
    #[arg(
        long,
        value_name = "N",
        requires = "html",
        default_value_t = 1_000_000,
        help_heading = "Views"
    )]
    pub html_calls: usize,

    /// Write everything as JSON, for programs (docs/report.md has the schema)
    #[arg(long, help_heading = "Views")]
    pub json: bool,

    /// In the table, a row for each method and value of this name, which rules `record`. With --requests, a row
    /// for each value of this name in entry spans
    #[arg(long, value_name = "NAME", conflicts_with_all = ["calls", "tree", "threads", "process", "exceptions", "flame", "html"])]
    pub by: Option<String>,

    /// Only calls that have a value that fits: 'sql=*orders*', 'result=12'; may be repeated: all must fit
    #[arg(long = "where", value_name = "NAME=PATTERN", conflicts_with_all = ["tree", "threads", "exceptions", "flame", "html"])]
    pub conditions: Vec<Condition>,

    /// Sort key of the table
    #[arg(long, value_enum, default_value_t = Sort::Own)]
    pub sort: Sort,

    /// Rows to show; 0 for all [default: 30, with --json all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Only methods whose name contains this; a pattern with * or ? must match the whole name
    #[arg(long, value_name = "PATTERN")]
    pub filter: Option<String>,

    /// Only threads of this name (as --filter) or number
    #[arg(long, value_name = "NAME|N")]
    pub thread: Option<String>,

    /// Only calls at least this long (5ms, 250us, 1.5s; a bare number is milliseconds); the time of shorter ones counts as their callers' own
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    pub min: Option<u64>,

    /// Only what ran after this: a time since the trace's start (1.5s), before its end (-10s), or a clock's (14:03:20)
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    pub from: Option<Moment>,

    /// Only what ran before this; calls that go on count as running
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    pub until: Option<Moment>,

    /// Only what runs in and below the outermost calls of these methods (as --filter); may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub root: Vec<String>,

    /// The same for methods with `root = true` in the rules
    #[arg(long)]
    pub rule_roots: bool,

    /// The time of calls of these methods (as --filter), and of what they call, does not count; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// The same for methods of the platform and of pools in which threads wait: park, wait, take, select, sleep ...
    #[arg(long)]
    pub without_idle: bool,

    /// Deepest level of the tree [default: 40]
    #[arg(long, value_name = "N", requires = "tree")]
    pub depth: Option<u32>,

    /// Smallest share of all time for a line of the tree [default: 1]
    #[arg(long, value_name = "PERCENT", requires = "tree")]
    pub min_percent: Option<f64>,

    /// The mapping.txt of an obfuscated program (ProGuard, R8): original names are shown; may be repeated
    #[arg(long, value_name = "FILE")]
    pub mapping: Vec<PathBuf>,

    /// Further symbols maps (.wsym), or woven artifacts that carry them, for traces that lack theirs
    #[arg(long, value_name = "FILE")]
    pub symbols: Vec<PathBuf>,

    /// Only methods that were called at least this often; the table and --json
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_calls: u64,

    /// Colours and pager
    #[command(flatten)]
    pub showing: Showing,
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

impl ReportArgs {
    /// How traces are summed up.
    fn options(&self, mappings: &Arc<Vec<Mapping>>) -> Options {
        Options {
            min: self.min.unwrap_or(0),
            thread: self.thread.clone(),
            tree: self.tree || self.flame.is_some() || self.html.is_some(),
            window: self.window(),
            roots: Roots::new(&self.root, Arc::clone(mappings)).with_rules(self.rule_roots),
            excludes: self.excludes(mappings),
            query: query(self, mappings),
        }
    }

    /// What does not count.
    fn excludes(&self, mappings: &Arc<Vec<Mapping>>) -> Excludes {
        Excludes::new(&self.exclude, self.without_idle, Arc::clone(mappings))
    }

    fn window(&self) -> Window {
        Window {
            from: self.from,
            until: self.until,
        }
    }

    fn check_outputs(&self, files: &[Vec<PathBuf>]) -> Result<()> {
        let outputs = [("--flame", &self.flame), ("--html", &self.html)];
        let outputs = outputs.map(|(option, path)| Some((option, path.as_deref()?)));
        let outputs: Vec<_> = outputs.into_iter().flatten().collect();
        if outputs.is_empty() {
            return Ok(());
        }
        let mut all = files.to_vec();
        all.extend(diff::all_files(&self.compare)?);
        traces::check_outputs(&all, &[&self.symbols, &self.mapping], &outputs)
    }
}

/// Runs the subcommand: to standard output, as wide as the terminal.
pub fn run(args: &ReportArgs) -> Result<()> {
    let paged = !args.json;
    (args.showing).show(paged, |out, screen| report(args, out, screen))
}

/// Writes the report.
pub fn report(args: &ReportArgs, out: &mut dyn Write, screen: Screen) -> Result<()> {
    args.window().check()?;
    let files = traces::files(&args.traces)?;
    args.check_outputs(&files)?;
    let maps = (args.symbols.iter())
        .map(|path| Ok((path, maps_of(path)?)))
        .collect::<Result<Vec<_>>>()?;
    let mappings = (args.mapping.iter())
        .map(|path| read_mapping(path))
        .collect::<Result<Vec<_>>>()?;
    let mappings = Arc::new(mappings);
    let mut analyzer = Analyzer::new(args.options(&mappings));
    let mut requests = (args.requests).then(|| Requests::by(args.by.as_deref()));
    let mut failed = Vec::new();
    let mut kept = Vec::new();
    for parts in &files {
        match traces::open(parts, &files) {
            Ok(mut trace) => {
                for (path, map) in maps
                    .iter()
                    .flat_map(|(path, maps)| maps.iter().map(move |map| (path, map)))
                {
                    trace
                        .add_symbols(map)
                        .map_err(|e| e.in_artifact(path.display().to_string()))?;
                }
                analyzer.add(&trace);
                if let Some(requests) = &mut requests {
                    requests.add(&trace);
                }
                if args.html.is_some() || args.request.is_some() {
                    kept.push(trace);
                }
            }
            Err(e) => failed.push(e),
        }
    }
    if failed.len() == files.len() {
        return Err(failed.swap_remove(0));
    }
    let mut analysis = analyzer.finish();
    for mapping in mappings.iter() {
        analysis.restore_names(mapping);
    }
    if let Some(requests) = &mut requests {
        requests.finish();
    }
    let request = match &args.request {
        None => None,
        Some(asked) => Some(whole(args, asked, &kept, &mappings)?),
    };
    let view = View {
        requests,
        request,
        ..View::new(args, analysis, screen)
    };
    if let Some(path) = &args.flame {
        view.write_flame(path)?;
    }
    if let Some(path) = &args.html {
        view.write_page(path, &kept, &mappings, &failed)?;
    }
    written(view.write(out, &failed).and_then(|()| out.flush()))?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Kind::NotDone,
        format!(
            "{} of {} traces could not be read",
            failed.len(),
            files.len()
        ),
    ))
}

/// The request that is asked for.
fn whole(
    args: &ReportArgs,
    asked: &Asked,
    traces: &[Trace],
    mappings: &[Mapping],
) -> Result<Request> {
    let mut finder = Finder::new(asked.find(traces)?, args.min.unwrap_or(0), mappings);
    for (number, trace) in traces.iter().enumerate() {
        finder.add(number, trace);
    }
    Ok(finder.finish())
}

/// What is asked of single calls.
fn query(args: &ReportArgs, mappings: &Arc<Vec<Mapping>>) -> Query {
    let wants = args.filter.clone().map(|filter| {
        let mappings = Arc::clone(mappings);
        Wants(Arc::new(move |method: &Method| {
            let method = method.restored(&mappings);
            fits(&filter, &printable(&method.full_name()), &method)
        }))
    });
    let calls = match args.limit.unwrap_or(if args.json { 0 } else { LIMIT }) {
        0 => calls::MOST,
        n => n,
    };
    Query {
        conditions: args.conditions.clone(),
        by: args.by.clone().filter(|_| !args.requests),
        calls: args.calls.then_some(calls),
        wants,
    }
}

/// Whether `--filter` takes a method.
fn fits(filter: &str, label: &str, method: &Method) -> bool {
    pattern::matches(filter, label) || pattern::matches(filter, &method.name())
}

/// What is shown, and how.
struct View<'a> {
    args: &'a ReportArgs,
    analysis: Analysis,
    labels: Vec<String>,
    /// Per method: whether `--filter` takes it.
    wanted: Vec<bool>,
    screen: Screen,
    /// If they were asked for.
    requests: Option<Requests>,
    request: Option<Request>,
}

impl<'a> View<'a> {
    fn new(args: &'a ReportArgs, analysis: Analysis, screen: Screen) -> View<'a> {
        let labels = analysis.methods.labels();
        let wanted = (analysis.methods.rows().iter().zip(&labels))
            .map(|(method, label)| match &args.filter {
                None => true,
                Some(p) if method.of_value().is_some() => fits(p, split_label(label).0, method),
                Some(p) => fits(p, label, method),
            })
            .collect();
        View {
            args,
            analysis,
            labels,
            wanted,
            screen,
            requests: None,
            request: None,
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
        if let Some(path) = &args.html {
            writeln!(out, "\nPage written to {}", path.display())?;
        }
        if let Some(found) = &self.requests {
            requests::write(args, found, out, self.screen)?;
        }
        if let Some(found) = &self.request {
            request::write(self, found, out)?;
        }
        if args.threads {
            self.threads(out)?;
        }
        if args.process {
            self.process(out)?;
        }
        if args.tree {
            self.tree(out)?;
        }
        if args.exceptions {
            self.exceptions(out)?;
        }
        if args.calls {
            self.calls(out)?;
        }
        if !(args.requests
            || args.request.is_some()
            || args.threads
            || args.calls
            || args.process
            || args.tree
            || args.exceptions
            || args.flame.is_some()
            || args.html.is_some())
        {
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
        crate::trace::tree::visible(&self.analysis.tree, &self.wanted)
    }

    /// What ran, in a line.
    fn title(&self) -> String {
        match self.analysis.processes.as_slice() {
            [one] => printable(&one.header.command),
            many => format!("{} traces", many.len()),
        }
    }

    fn write_flame(&self, path: &Path) -> Result<()> {
        let form = flame::Form::of(path)?;
        let title = self.title();
        let visible = self.visible();
        let mut out = Output::create(path, Access::Private)?;
        flame::draw(
            &mut out,
            form,
            &title,
            &self.analysis.tree,
            &self.labels,
            &|node| visible[node as usize],
        )
        .map_err(|e| Error::io("write", path, e))?;
        out.commit()
    }
}

#[cfg(test)]
mod tests;
