//! `weave diff`: what became slower, faster, new or gone between two sides.

pub(super) mod json;
mod limits;
mod requests;
mod show;

#[cfg(test)]
mod tests;

use super::rules::read_mapping;
use super::terminal::{Screen, Showing, written};
use super::{DONE, NOT_DONE, traces};
use crate::error::{Error, Result};
use crate::mapping::Mapping;
use crate::pipeline::{Access, Output};
use crate::printable::printable;
use crate::trace::diff::{Comparison, Costs, Judgement, Runs, Side, compare};
use crate::trace::flame::{Form, Look, Picture};
use crate::trace::methods::Method;
use crate::trace::query::Query;
use crate::trace::units::{self, count, duration};
use crate::trace::values::Condition;
use crate::trace::window::parse_moment;
use crate::trace::{Excludes, Moment, Options, Roots, Window, pattern};
use limits::Limit;
use requests::Compared;
use std::cmp::Reverse;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Rows shown unless `--limit` says otherwise.
const LIMIT: usize = 30;

/// Compare what traces recorded before and after a change.
///
/// A side is a trace, or a folder. In a folder each trace is a run, and each folder with traces in it is a run of
/// several processes. Several runs a side tell change from noise.
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = "Examples:
  weave diff old.wtrace new.wtrace
  weave diff old/ new/                               ten runs a side tell change from noise
  weave diff --before old-*.wtrace --after new-*.wtrace
  weave diff old/ new/ --fail-on 'self>+10%'         exit status 1 if a method is that much slower
  weave diff old/ new/ --format markdown             for a pull request
  weave diff old/ new/ --by sql                      a row for each value that rules `record`
  weave diff old.wtrace new.wtrace --flame diff.svg  a differential flame graph

Exit status: 0 done; 1 a limit of --fail-on is broken.")]
pub struct DiffArgs {
    /// The side before the change: a trace, or a folder of runs
    #[arg(value_name = "BEFORE", requires = "after")]
    before: Option<PathBuf>,

    /// The side after the change: a trace, or a folder of runs
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,

    /// Further runs before
    #[arg(long = "before", value_name = "TRACE", num_args = 1..)]
    more_before: Vec<PathBuf>,

    /// Further runs after
    #[arg(long = "after", value_name = "TRACE", num_args = 1..)]
    more_after: Vec<PathBuf>,

    /// Exit with 1 if a method is worse by more than this: self>+10%, p99>+5ms, calls>+0; may be repeated
    #[arg(long, value_name = "LIMIT")]
    fail_on: Vec<Limit>,

    /// Significance level (false-positive rate): how often two equal sides may show a difference in any method
    #[arg(long, value_name = "P", default_value_t = Judgement::default().level)]
    level: f64,

    /// Methods with a smaller share of all time are not tested and not limited
    #[arg(long, value_name = "PERCENT", default_value_t = Judgement::default().min_percent)]
    min_percent: f64,

    /// Write a differential flame graph for a browser (.svg or .html)
    #[arg(long, value_name = "FILE")]
    flame: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Sort key of the table; methods that differ come first, except with `name`
    #[arg(long, value_enum, default_value_t = Sort::Change)]
    sort: Sort,

    /// Rows to show; 0 for all [default: 30, with --format json all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Only methods whose name contains this; a pattern with * or ? must match the whole name
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,

    /// A row for each method and value of this name, which rules `record`
    #[arg(long, value_name = "NAME", conflicts_with = "flame")]
    by: Option<String>,

    /// Only calls that have a value that fits: 'sql=*orders*', 'result=12'; may be repeated: all must fit
    #[arg(long = "where", value_name = "NAME=PATTERN", conflicts_with = "flame")]
    conditions: Vec<Condition>,

    /// Only threads of this name (as --filter) or number
    #[arg(long, value_name = "NAME|N")]
    thread: Option<String>,

    /// Only calls at least this long (5ms, 250us, 1.5s); the time of shorter ones counts as their callers' own
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    min: Option<u64>,

    /// Only what ran after this: a time since each trace's start (1.5s), before its end (-10s), or a clock's (14:03:20)
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    from: Option<Moment>,

    /// Only what ran before this; calls that go on count as running
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    until: Option<Moment>,

    /// The mapping.txt of an obfuscated program (ProGuard, R8): original names are shown; may be repeated
    #[arg(long, value_name = "FILE")]
    mapping: Vec<PathBuf>,

    /// Further symbols maps (.wsym), or woven artifacts that carry them, for traces that lack theirs
    #[arg(long, value_name = "FILE")]
    symbols: Vec<PathBuf>,

    #[command(flatten)]
    showing: Showing,
}

/// How to show a comparison.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// For a terminal
    Text,
    /// A table for a pull request
    Markdown,
    /// For programs (docs/diff.md has the schema)
    Json,
}

/// What the table is sorted by.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// How much self time changed, in either direction
    Change,
    /// Self time, of the side that has more
    #[value(name = "self")]
    Own,
    /// Name
    Name,
}

/// A run: its traces, each with its parts.
type Run = Vec<Vec<PathBuf>>;

/// Runs the subcommand; the exit status says whether a limit was broken.
pub fn run(args: &DiffArgs) -> Result<u8> {
    let paged = args.format == Format::Text;
    (args.showing).show(paged, |out, screen| diff(args, out, screen))
}

/// What a side is read with.
pub(super) struct Reading<'a> {
    /// How traces are summed up.
    pub options: Options,
    /// Original names.
    pub mappings: &'a [Mapping],
    /// Further symbols maps.
    pub symbols: &'a [PathBuf],
}

impl DiffArgs {
    fn options(&self, window: Window) -> Options {
        Options {
            min: self.min.unwrap_or(0),
            thread: self.thread.clone(),
            tree: self.flame.is_some(),
            query: Query {
                by: self.by.clone(),
                conditions: self.conditions.clone(),
                ..Query::default()
            },
            window,
            roots: Roots::default(),
            excludes: Excludes::default(),
        }
    }

    /// Whether parts of the calls are compared. Of requests there are none: their spans lie on many threads.
    fn takes_parts(&self) -> bool {
        !(self.conditions.is_empty() && self.by.is_none())
            || self.thread.is_some()
            || self.min.is_some()
            || self.from.is_some()
            || self.until.is_some()
    }
}

/// The traces of a side.
fn named(one: &Option<PathBuf>, more: &[PathBuf], side: &str) -> Result<Vec<PathBuf>> {
    let all: Vec<PathBuf> = one.iter().chain(more).cloned().collect();
    match all.is_empty() {
        true => Err(Error::usage(format!(
            "no trace {side}: weave diff BEFORE AFTER"
        ))),
        false => Ok(all),
    }
}

/// Writes the comparison.
fn diff(args: &DiffArgs, out: &mut dyn Write, screen: Screen) -> Result<u8> {
    if !(args.level > 0.0 && args.level < 1.0) {
        return Err(Error::usage("--level takes a probability between 0 and 1"));
    }
    if args.min_percent.is_nan() || args.min_percent < 0.0 {
        return Err(Error::usage("--min-percent takes a share in percent"));
    }
    let window = Window {
        from: args.from,
        until: args.until,
    };
    window.check()?;
    let before = named(&args.before, &args.more_before, "before")?;
    let after = named(&args.after, &args.more_after, "after")?;
    if let Some(path) = &args.flame {
        let mut files = all_files(&before)?;
        files.extend(all_files(&after)?);
        traces::check_outputs(
            &files,
            &[&args.symbols, &args.mapping],
            &[("--flame", path)],
        )?;
    }
    let mappings = (args.mapping.iter())
        .map(|path| read_mapping(path))
        .collect::<Result<Vec<_>>>()?;
    let reading = Reading {
        options: args.options(window),
        mappings: &mappings,
        symbols: &args.symbols,
    };
    let requests = match args.takes_parts() {
        true => None,
        false => Some(Compared::new(
            requests::side(&before, &reading)?,
            requests::side(&after, &reading)?,
        )),
    };
    let (before, after) = (side(&before, &reading)?, side(&after, &reading)?);
    let wants = |method: &Method| match &args.filter {
        _ if method.of_value().is_some() != args.by.is_some() => false,
        None => true,
        Some(p) => pattern::matches(p, &method.full_name()) || pattern::matches(p, &method.name()),
    };
    let judgement = Judgement {
        level: args.level,
        min_percent: args.min_percent,
    };
    let comparison = compare(&before, &after, judgement, &wants);
    let wanted: Vec<bool> = comparison.rows.iter().map(|r| wants(&r.method)).collect();
    let rows = sorted(&comparison, &wanted, args.sort);
    let default = if args.format == Format::Json {
        0
    } else {
        LIMIT
    };
    let limit = match args.limit.unwrap_or(default) {
        0 => usize::MAX,
        n => n,
    };
    let view = View {
        comparison,
        sides: [&before, &after],
        window: window.shown(),
        rows,
        wanted,
        by: args.by.as_deref(),
        requests,
        filter: args.filter.as_deref(),
        limits: &args.fail_on,
        limit,
        screen,
    };
    if let Some(path) = &args.flame {
        view.write_flame(path)?;
    }
    let result = match args.format {
        Format::Text => view.text(out),
        Format::Markdown => view.markdown(out),
        Format::Json => view.json(out),
    };
    written(result.and_then(|()| out.flush()))?;
    let broken = (view.limits.iter()).any(|l| !l.broken(&view.comparison, &view.wanted).is_empty());
    Ok(if broken { NOT_DONE } else { DONE })
}

/// The files of the runs that arguments name.
pub(super) fn all_files(args: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>> {
    Ok(runs(args)?.into_iter().flatten().collect())
}

/// The runs that arguments name.
fn runs(args: &[PathBuf]) -> Result<Vec<Run>> {
    let (mut runs, mut files): (Vec<Run>, Vec<PathBuf>) = Default::default();
    for arg in args {
        if !arg.is_dir() {
            files.push(arg.clone());
            continue;
        }
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(arg).map_err(|e| Error::io("read", arg, e))? {
            let path = entry.map_err(|e| Error::io("read", arg, e))?.path();
            if path.is_dir() && traces::any_in(&path)? {
                folders.push(path);
            }
        }
        folders.sort();
        let before = runs.len();
        for folder in folders {
            runs.push(traces::files(&[folder])?);
        }
        if traces::any_in(arg)? || runs.len() == before {
            let alone = traces::files(std::slice::from_ref(arg))?;
            runs.extend(alone.into_iter().map(|trace| vec![trace]));
        }
    }
    runs.extend(traces::files(&files)?.into_iter().map(|trace| vec![trace]));
    Ok(runs)
}

/// Reads a side.
pub(super) fn side(args: &[PathBuf], reading: &Reading<'_>) -> Result<Side> {
    let mut side = Runs::new(reading.options.clone());
    for run in runs(args)? {
        for parts in &run {
            let mut trace = [traces::open(parts, &run)?];
            traces::add_symbols(&mut trace, reading.symbols)?;
            side.add(&trace[0]);
        }
        side.end_run();
    }
    Ok(side.finish(reading.mappings))
}

/// The rows that are wanted and were called on a side, in their order.
fn sorted(of: &Comparison, wanted: &[bool], sort: Sort) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..of.rows.len())
        .filter(|&i| wanted[i] && (of.rows[i].before.is_some() || of.rows[i].after.is_some()))
        .collect();
    rows.sort_by_cached_key(|&i| {
        let row = &of.rows[i];
        let own = |n: &Option<_>| n.as_ref().map_or(0, own_of);
        let key = match sort {
            Sort::Change => row.change().unsigned_abs(),
            Sort::Own => u128::from(own(&row.before).max(own(&row.after))),
            Sort::Name => 0,
        };
        (
            Reverse((sort != Sort::Name && of.differs(row), key)),
            row.label.clone(),
        )
    });
    rows
}

fn own_of(numbers: &crate::trace::diff::Numbers) -> u64 {
    numbers.typical.own
}

/// All rows of a comparison as JSON, those that changed most first.
pub(super) fn comparison_json(of: &Comparison, sides: [&Side; 2]) -> serde_json::Value {
    let wanted = vec![true; of.rows.len()];
    json::value(of, sides, &sorted(of, &wanted, Sort::Change), &[], &wanted)
}

/// What is shown, and how.
struct View<'a> {
    comparison: Comparison,
    sides: [&'a Side; 2],
    /// What of each trace is looked at, if that is not all.
    window: Option<String>,
    /// Rows in their order.
    rows: Vec<usize>,
    /// Per row of the comparison: whether `--filter` takes it.
    wanted: Vec<bool>,
    /// The value of which each has a row of its own.
    by: Option<&'a str>,
    /// Where they are compared.
    requests: Option<Compared>,
    filter: Option<&'a str>,
    limits: &'a [Limit],
    limit: usize,
    screen: Screen,
}

impl View<'_> {
    fn json(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let rows = &self.rows[..self.limit.min(self.rows.len())];
        let mut value = json::value(
            &self.comparison,
            self.sides,
            rows,
            self.limits,
            &self.wanted,
        );
        let requests = self.requests.as_ref();
        if let Some(requests) = requests.and_then(|all| all.json(self.filter, self.limit)) {
            value["requests"] = requests;
        }
        serde_json::to_writer_pretty(&mut *out, &value)?;
        writeln!(out)
    }

    fn write_flame(&self, path: &Path) -> Result<()> {
        let form = Form::of(path)?;
        let [before, after] = self.sides;
        let both = self.comparison.tree(before, after);
        let labels = self.comparison.labels();
        let sum = |side: usize| {
            let roots = both.tree.nodes().iter().zip(&both.costs);
            let roots = roots.filter(|(node, _)| node.parent.is_none());
            roots.fold(0u64, |sum, (_, costs)| {
                sum.saturating_add(costs[side].total)
            })
        };
        let (was, is) = (sum(0), sum(1));
        let title = match after.analysis.processes.as_slice() {
            [one] => printable(&one.header.command),
            many => format!("{} traces after", many.len()),
        };
        let visible = crate::trace::tree::visible(&both.tree, &self.wanted);
        let picture = Picture {
            title: &title,
            legend: "Width is time, of the side that has more. Red: more self time after, blue: less. Click a box to zoom.",
            tree: &both.tree,
            labels: &labels,
            visible: &|node| visible[node as usize],
            look: &|node| look(&both.costs[node as usize]),
            all: format!("{} before, {} after, a run", duration(was), duration(is)),
        };
        let mut out = Output::create(path, Access::Private)?;
        (picture.draw(&mut out, form)).map_err(|e| Error::io("write", path, e))?;
        out.commit()
    }
}

/// How a box of the differential flame graph looks.
fn look([before, after]: &[Costs; 2]) -> Look {
    let pair = |name: &str, before: String, after: String| match before == after {
        true => format!("{name} {after}"),
        false => format!("{name} {before} → {after}"),
    };
    let hint = [
        pair("total", duration(before.total), duration(after.total)),
        pair("self", duration(before.own), duration(after.own)),
        pair("calls", count(before.calls), count(after.calls)),
    ];
    // The larger the part of the box's own time that came or went, the stronger the colour.
    let most = before.own.max(after.own).max(1) as f64;
    let part = (after.own as f64 - before.own as f64) / most;
    let light = 96.0 - 36.0 * part.abs();
    let hue = if part > 0.0 { 4 } else { 214 };
    let strength = if part == 0.0 { 0 } else { 85 };
    Look {
        hint: hint.join(", "),
        fill: format!("hsl({hue},{strength}%,{light:.0}%)"),
    }
}
