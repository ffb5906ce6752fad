//! `weave tune`: finds methods that are not worth recording, and takes them out of the rules.

mod entry;
mod file;
mod json;

use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::Kinds;
use crate::aspect::pattern::name::Name;
use crate::aspect::pattern::{Hits, NameSet};
use crate::aspect::rules::model::{Aspect, KIND_WORDS, Selector, UNLESS_NAMED};
use crate::aspect::rules::{PACKS, Rules};
use crate::cli::columns::{Cell, Columns, cut_end, cut_method};
use crate::cli::rules::read_mapping;
use crate::cli::terminal::{BAD, Screen, Showing, written};
use crate::cli::{DONE, NOT_DONE, note, traces};
use crate::dotnet_names;
use crate::error::{Error, Kind, Result};
use crate::mapping::Mapping;
use crate::pipeline::{Access, Output, maps_of};
use crate::printable::printable;
use crate::switches::Level;
use crate::symbols::Symbol;
use crate::trace::methods::Method;
use crate::trace::tune::{
    Load, PairFrom, TimeFrom, Tuning, Why, Wishes, records, tune, usual, weight,
};
use crate::trace::units::{about, bytes, count, counted, duration, parse_duration, percent, share};
use crate::trace::{Analysis, Analyzer, Options};
use entry::{Entry, Parts};
use file::{Instead, Other};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows shown unless `--limit` says otherwise.
const LIMIT: usize = 30;

/// A method that stays is shown from this share of the records on, in percent.
const SHOWN_PERCENT: f64 = 1.0;

/// Find methods that are not worth recording, and leave them out of the rules
///
/// Looks for methods that are called often and are too short to be worth recording. Shows what each costs, and how many
/// records remain without them. --write puts them into a rules file as `exclude`, for the next build.
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = "Examples:
  weave tune weave-4711.wtrace                       what to leave out, and what is left
  weave tune traces/ --write weave.toml              add it to the rules; then weave again
  weave tune traces/ --write weave.toml --count      and have them counted, without times
  weave tune traces/ --write weave.toml --aggregate  or summed up, with times, but no records
  weave tune a.wtrace --overhead 5%                  only so much that the hooks take 5 % of the program's time
  weave tune a.wtrace --rate 100k/s --write weave.toml
  weave tune traces/ --from-auto --write weave.toml    leave out what the program itself (auto) left out

Exit status: 0 done; 1 the target cannot be had so, or a trace could not be read; 2 wrong use or wrong rules; 3 no trace is
what it says it is.")]
pub struct TuneArgs {
    /// Traces, or folders in which all *.wtrace are read
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    /// Add the methods to `exclude` in this rules file; a missing file is made from pack:default
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,

    /// With --write: count the methods, so that reports show how often they are called
    #[arg(long, requires = "write")]
    count: bool,

    /// With --write: sum the methods up, so that reports show their calls and times
    #[arg(long, requires = "write", conflicts_with = "count")]
    aggregate: bool,

    /// Leave out exactly the methods that the program itself (mode = "auto") only counted or left out
    #[arg(long, conflicts_with_all = ["overhead", "rate", "below"])]
    from_auto: bool,

    /// Leave out only so much that the hooks take at most this share of the program's time (5%)
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, help_heading = "Target")]
    overhead: Option<f64>,

    /// Leave out only so much that at most so many records a second are left (100k/s, 2m/s)
    #[arg(long, value_name = "RATE", value_parser = parse_rate, help_heading = "Target")]
    rate: Option<f64>,

    /// Leave out only methods whose own time a call is below this, on average or in half of the calls [default: three pairs of hooks]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    below: Option<u64>,

    /// Cost of a pair of hooks (60ns) [default: taken from the shortest calls of the traces]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pair_cost: Option<u64>,

    /// Rows to show; 0 for all [default: 30, with --json all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// The mapping.txt of an obfuscated program (ProGuard, R8): rules are about original names; may be repeated
    #[arg(long, value_name = "FILE")]
    mapping: Vec<PathBuf>,

    /// Further symbols maps (.wsym), or woven artifacts that carry them, for traces that lack theirs
    #[arg(long, value_name = "FILE")]
    symbols: Vec<PathBuf>,

    /// Print JSON, for programs (docs/tune.md has the schema)
    #[arg(long)]
    json: bool,

    /// Colours and pager
    #[command(flatten)]
    showing: Showing,
}

fn parse_percent(text: &str) -> std::result::Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let number = number
        .parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| "expected a share in percent: 5%, 0.5%".to_owned())
}

fn parse_rate(text: &str) -> std::result::Result<f64, String> {
    let text = text.trim().to_ascii_lowercase();
    let number = text.strip_suffix("/s").unwrap_or(&text).trim_end();
    let unit = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let factor = match unit.trim() {
        "" => Some(1.0),
        "k" => Some(1e3),
        "m" => Some(1e6),
        "g" => Some(1e9),
        _ => None,
    };
    let number = number[..number.len() - unit.len()].parse::<f64>().ok();
    (factor.zip(number).map(|(factor, number)| factor * number))
        .ok_or_else(|| "expected records a second: 5000/s, 100k/s, 2m/s".to_owned())
}

/// Runs the subcommand: to standard output, as wide as the terminal.
pub fn run(args: &TuneArgs) -> Result<u8> {
    let paged = !args.json;
    (args.showing).show(paged, |out, screen| show(args, out, screen))
}

fn show(args: &TuneArgs, out: &mut dyn Write, screen: Screen) -> Result<u8> {
    let Analysed {
        analysis,
        symbols,
        failed,
    } = analyse(args)?;
    let advised = Advised::new(args, analysis, symbols);
    let file = match &args.write {
        Some(path) if advised.tuning.reached => Some(advised.write(path)?),
        _ => None,
    };
    written(
        advised
            .show(out, screen, &failed, file.as_ref())
            .and_then(|()| out.flush()),
    )?;
    if !failed.is_empty() {
        let text = format!("{} of the traces could not be read", failed.len());
        return Err(Error::new(Kind::NotDone, text));
    }
    if advised.tuning.reached {
        return Ok(DONE);
    }
    note(&format!("error: {}", advised.missed()));
    Ok(NOT_DONE)
}

/// The sum of all traces.
struct Analysed {
    analysis: Analysis,
    /// Of each row, the names that rules are about.
    symbols: Vec<Option<Symbol>>,
    /// Why traces cannot be read.
    failed: Vec<Error>,
}

fn analyse(args: &TuneArgs) -> Result<Analysed> {
    let files = traces::files(&args.traces)?;
    if let Some(path) = &args.write {
        let outputs = [("--write", path.as_path())];
        traces::check_outputs(&files, &[&args.symbols, &args.mapping], &outputs)?;
    }
    let mut maps = Vec::new();
    for path in &args.symbols {
        maps.extend(maps_of(path)?.into_iter().map(|map| (path, map)));
    }
    let mappings = args.mapping.iter().map(|path| read_mapping(path));
    let mappings = mappings.collect::<Result<Vec<_>>>()?;
    let mut analyzer = Analyzer::new(Options::default());
    let mut failed = Vec::new();
    for parts in &files {
        match traces::open(parts, &files) {
            Ok(mut trace) => {
                for (path, map) in &maps {
                    let added = trace.add_symbols(map);
                    added.map_err(|e| e.in_artifact(path.display().to_string()))?;
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
    let symbol = |row: &Method| Some(as_rules_see(row.symbol()?.clone(), &mappings));
    let symbols = analysis.methods.rows().iter().map(symbol).collect();
    for mapping in &mappings {
        analysis.restore_names(mapping);
    }
    Ok(Analysed {
        analysis,
        symbols,
        failed,
    })
}

/// A method by the names that rules are about. Of one that an optimiser moved from another class, that is the class where it is
/// now; reports name the other one.
fn as_rules_see(mut symbol: Symbol, mappings: &[Mapping]) -> Symbol {
    for mapping in mappings {
        if let Some(class) = mapping.class(&symbol.type_name) {
            if let Some(method) = class.method(&symbol.method, &symbol.descriptor) {
                symbol.method = method.name.into();
            }
            symbol.type_name = class.name().replace('.', "/").into();
        }
        symbol.descriptor = mapping.descriptor(&symbol.descriptor).into();
    }
    symbol
}

/// What to leave out, and how rules say it.
struct Advised<'a> {
    args: &'a TuneArgs,
    analysis: Analysis,
    labels: Vec<String>,
    /// Of each row, as rules see it.
    symbols: Vec<Option<Symbol>>,
    tuning: Tuning,
    /// Of each row in `tuning.out`, in that order.
    entries: Vec<Entry>,
}

/// A rules file that was written.
struct Written {
    added: usize,
    /// Methods that are counted or summed up from now on, and by which aspect.
    instead: usize,
    by: Option<Instead>,
    takers: Vec<String>,
    /// The aspects that leave the methods out now.
    aspects: Vec<String>,
    /// Aspects that record and were left as they are, since they call hooks of one's own.
    own: Vec<String>,
    /// Methods that no aspect of the file takes.
    untaken: usize,
    is_new: bool,
}

impl Written {
    /// Methods with which this is done from now on.
    fn of(&self, instead: Instead) -> usize {
        match self.by == Some(instead) {
            true => self.instead,
            false => 0,
        }
    }
}

impl<'a> Advised<'a> {
    /// What is done with methods that are not recorded any more.
    fn instead(&self) -> Option<Instead> {
        match (self.args.count, self.args.aggregate) {
            (true, _) => Some(Instead::Count),
            (_, true) => Some(Instead::Aggregate),
            _ => None,
        }
    }

    fn new(args: &'a TuneArgs, analysis: Analysis, symbols: Vec<Option<Symbol>>) -> Advised<'a> {
        let labels = analysis.methods.labels();
        let parts = symbols.iter().map(|symbol| Parts::of(symbol.as_ref()?));
        let parts: Vec<Option<Parts<'_>>> = parts.collect();
        let wishes = Wishes {
            pair: args.pair_cost,
            below: args.below,
            overhead: args.overhead,
            rate: args.rate,
            from_auto: args.from_auto,
        };
        let tuning = tune(&analysis, &labels, &|row| parts[row].is_some(), wishes);
        let mut alike: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for (row, parts) in parts.iter().enumerate() {
            if let Some(parts) = parts {
                alike.entry(parts.key()).or_default().push(row);
            }
        }
        let entry = |&row: &usize| {
            let own = parts[row].as_ref()?;
            let others = alike[&own.key()].iter().filter(|&&other| other != row);
            Some(own.entry(others.filter_map(|&other| parts[other].as_ref())))
        };
        let entries = tuning.out.iter().filter_map(entry).collect();
        drop(alike);
        drop(parts);
        Advised {
            args,
            analysis,
            labels,
            symbols,
            tuning,
            entries,
        }
    }

    /// Puts the methods into a rules file.
    fn write(&self, path: &Path) -> Result<Written> {
        let shown = path.display().to_string();
        let (text, is_new) = match std::fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes);
                let text = text.map_err(|e| Error::usage(format!("{shown} is not UTF-8: {e}")))?;
                (text, false)
            }
            // What `weave` does without rules.
            Err(e) if e.kind() == io::ErrorKind::NotFound => (PACKS[0].1.to_owned(), true),
            Err(e) => return Err(Error::io("read", path, e)),
        };
        let rules = Rules::parse(&shown, &text)?;
        let mut wanted: Vec<Vec<&Entry>> = vec![Vec::new(); rules.aspects.len()];
        let mut own: Vec<String> = Vec::new();
        let mut others: BTreeMap<&Entry, (Option<Level>, Kinds)> = BTreeMap::new();
        let mut untaken = 0;
        for (&row, entry) in self.tuning.out.iter().zip(&self.entries) {
            let Some(symbol) = &self.symbols[row] else {
                continue;
            };
            let mut is_taken = false;
            for (aspect, wanted) in rules.aspects.iter().zip(&mut wanted) {
                if !records_calls(aspect) || !may_take(aspect, symbol) {
                    continue;
                }
                // Without the method, its own hooks would not be called.
                if aspect.own.is_some() {
                    own.push(aspect.name.clone());
                    continue;
                }
                is_taken = true;
                wanted.push(entry);
                if self.instead().is_some() {
                    let kinds = kinds_of(aspect, symbol);
                    others
                        .entry(entry)
                        .and_modify(|(level, there)| {
                            // It is on where one of its aspects is, and always where one has no level.
                            *level = (*level).min(aspect.on_from());
                            *there = there.with(kinds);
                        })
                        .or_insert((aspect.on_from(), kinds));
                }
            }
            untaken += usize::from(!is_taken);
        }
        for entries in &mut wanted {
            entries.sort_unstable();
            entries.dedup();
        }
        own.sort_unstable();
        own.dedup();
        let others: Vec<Other<'_>> = (others.into_iter())
            .map(|(entry, (level, kinds))| Other {
                entry,
                level,
                kinds: words(kinds),
            })
            .collect();
        let others = self.instead().map(|instead| (instead, &*others));
        let merged = file::merge(&shown, &text, &wanted, others)?;
        check(&shown, &rules, &merged.text)?;
        if merged.added + merged.instead > 0 {
            let access = if is_new { Access::New } else { Access::Usual };
            Output::put(path, merged.text.as_bytes(), access)?;
        }
        let named = rules.aspects.iter().zip(&wanted);
        let named = named.filter(|(_, entries)| !entries.is_empty());
        Ok(Written {
            added: merged.added,
            instead: merged.instead,
            by: self.instead(),
            takers: merged.takers,
            aspects: named.map(|(aspect, _)| aspect.name.clone()).collect(),
            own,
            untaken,
            is_new,
        })
    }

    /// Why the target is not reached.
    fn missed(&self) -> String {
        let left = self.tuning.after;
        let mut missed = Vec::new();
        if let Some(most) = self.args.overhead.filter(|&most| left.overhead > most) {
            missed.push(format!(
                "the overhead is {:.1}%, not {most}%",
                left.overhead
            ));
        }
        if let Some(most) = self.args.rate.filter(|&most| left.rate > most) {
            let (left, most) = (count(left.rate as u64), count(most as u64));
            missed.push(format!("there are {left} records a second, not {most}"));
        }
        format!(
            "the target is out of reach: without all methods of less than {} a call, {}; a larger --below takes more methods",
            duration(self.tuning.below),
            missed.join(" and "),
        )
    }

    fn show(
        &self,
        out: &mut dyn Write,
        screen: Screen,
        failed: &[Error],
        file: Option<&Written>,
    ) -> io::Result<()> {
        if self.args.json {
            return self.json(out, failed, file);
        }
        self.header(out, screen, failed)?;
        self.left_out(out, screen)?;
        self.totals(out, screen)?;
        self.kept(out, screen)?;
        self.how(out)?;
        match (file, &self.args.write) {
            (Some(file), Some(path)) => told(out, path, file),
            _ if self.tuning.out.is_empty() || !self.tuning.reached => Ok(()),
            _ => writeln!(out, "--write FILE puts them into the rules."),
        }
    }

    fn header(&self, out: &mut dyn Write, screen: Screen, failed: &[Error]) -> io::Result<()> {
        let processes = &self.analysis.processes;
        let title = match processes.as_slice() {
            [one] if !one.header.command.trim().is_empty() => printable(&one.header.command),
            _ => counted(processes.len() as u64, "trace"),
        };
        match screen.width {
            Some(width) => writeln!(out, "{}", cut_end(&title, width))?,
            None => writeln!(out, "{title}")?,
        }
        for e in failed {
            writeln!(out, "not read: {}", printable(&e.to_string()))?;
        }
        let incomplete = (processes.iter())
            .any(|p| p.lost > 0 || p.missing > 0 || p.header.overwritten > 0 || p.notes.loss());
        if incomplete {
            writeln!(
                out,
                "  note: records are missing; all figures are of those that are there"
            )?;
        }
        Ok(())
    }

    fn limit(&self, rows: usize) -> usize {
        match self.args.limit.unwrap_or(LIMIT) {
            0 => rows,
            n => n.min(rows),
        }
    }

    fn left_out(&self, out: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let rows = &self.tuning.out;
        if rows.is_empty() {
            let why = match self.tuning.reached && !self.has_target() {
                true if self.args.from_auto => "the program has left no method out itself",
                true => "every method is worth its records",
                false if self.tuning.reached => "the target is met already",
                false => "no method is too short",
            };
            return writeln!(out, "\nNothing to leave out: {why}.");
        }
        let mut columns = Columns::new(vec![
            "records",
            "share",
            "bytes",
            "hooks' cost",
            "calls",
            "self a call",
            "p99",
        ])
        .spare(&["calls", "bytes", "p99", "share"]);
        let shown = self.limit(rows.len());
        for &row in &rows[..shown] {
            let stats = &self.analysis.stats[row];
            let own = records(stats);
            let (size, cost) = weight(own, self.tuning.pair);
            let cells = vec![
                count(own),
                percent(own, self.tuning.before.records),
                bytes(size),
                duration(cost),
                about(count(stats.calls), stats.scaled.is_any()),
                duration(usual(stats)),
                stats.quantile(0.99).map_or("-".to_owned(), duration),
            ];
            columns.row(
                cells.into_iter().map(Cell::from).collect(),
                self.labels[row].clone(),
            );
        }
        writeln!(out)?;
        columns.write(out, "to leave out", screen, cut_method)?;
        more(out, rows.len() - shown)
    }

    fn totals(&self, out: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let tuning = &self.tuning;
        let mut columns = Columns::new(vec![
            "records",
            "bytes",
            "hooks' cost",
            "overhead",
            "records/s",
        ])
        .spare(&["bytes"]);
        let mut row = |load: Load, name: String, bad: bool| {
            let over = self.args.overhead.is_some_and(|most| load.overhead > most);
            let often = self.args.rate.is_some_and(|most| load.rate > most);
            let styled = |text, wrong| match wrong && bad {
                true => Cell::styled(text, BAD),
                false => Cell::from(text),
            };
            let cells = vec![
                count(load.records).into(),
                bytes(load.bytes).into(),
                duration(load.cost).into(),
                styled(format!("{:.1}%", load.overhead), over),
                styled(count(load.rate as u64), often),
            ];
            columns.row(cells, name);
        };
        row(tuning.before, "all of it".to_owned(), false);
        if !tuning.out.is_empty() {
            let methods = counted(tuning.out.len() as u64, "method");
            row(tuning.after, format!("without {methods}"), true);
        }
        writeln!(out)?;
        columns.write(out, "recorded", screen, cut_end)
    }

    fn kept(&self, out: &mut dyn Write, screen: Screen) -> io::Result<()> {
        let left = self.tuning.after.records;
        let rows: Vec<(usize, Why)> = (self.tuning.kept.iter().copied())
            .filter(|&(row, _)| share(records(&self.analysis.stats[row]), left) >= SHOWN_PERCENT)
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns = Columns::new(vec![
            "records",
            "of the rest",
            "self a call",
            "p99",
            "since",
        ])
        .spare(&["p99", "of the rest", "self a call"]);
        let shown = self.limit(rows.len());
        for &(row, why) in &rows[..shown] {
            let stats = &self.analysis.stats[row];
            let own = records(stats);
            let cells = vec![
                count(own),
                percent(own, left),
                duration(usual(stats)),
                stats.quantile(0.99).map_or("-".to_owned(), duration),
                word(why).to_owned(),
            ];
            columns.row(
                cells.into_iter().map(Cell::from).collect(),
                self.labels[row].clone(),
            );
        }
        writeln!(out)?;
        columns.write(out, "stays", screen, cut_method)?;
        more(out, rows.len() - shown)
    }

    /// What the figures stand on.
    fn how(&self, out: &mut dyn Write) -> io::Result<()> {
        let tuning = &self.tuning;
        let from = match tuning.pair_from {
            PairFrom::User => "as you say",
            PairFrom::Trace => "as the shortest calls say",
            PairFrom::Usual => "as is usual",
        };
        let of = match tuning.time_from {
            TimeFrom::Cpu => "CPU time",
            TimeFrom::Calls => "time within recorded calls",
        };
        writeln!(
            out,
            "\nA pair of hooks costs {}, {from} (--pair-cost).\n\
             The overhead is the hooks' cost as a share of the program's {of} without it, {}.",
            duration(tuning.pair),
            duration(tuning.time),
        )?;
        if !tuning.out.is_empty() {
            writeln!(
                out,
                "The time of a method that is left out counts as its callers' own."
            )?;
        }
        Ok(())
    }

    fn has_target(&self) -> bool {
        self.args.overhead.is_some() || self.args.rate.is_some()
    }
}

/// Why a method stays, in a word or two.
fn word(why: Why) -> &'static str {
    match why {
        Why::Unnamed => "no rule can name it",
        Why::Errors => "exceptions",
        Why::Logical => "runs in pieces",
        Why::Own => "own time",
        Why::Callees => "what it calls",
        Why::Tail => "slow tail",
        Why::Enough => "the target holds",
        Why::Few => "few records",
        Why::Auto => "auto kept it",
    }
}

/// Says how many rows `--limit` left out.
fn more(out: &mut dyn Write, hidden: usize) -> io::Result<()> {
    if hidden > 0 {
        let hidden = counted(hidden as u64, "more method");
        writeln!(out, "and {hidden} (--limit 0 shows all)")?;
    }
    Ok(())
}

/// What was written.
fn told(out: &mut dyn Write, path: &Path, file: &Written) -> io::Result<()> {
    let (path, names) = (path.display(), |names: &[String]| {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("`{}`", printable(name)))
            .collect();
        names.join(", ")
    });
    match (file.added, file.is_new) {
        (0, true) => writeln!(out, "{path} is not made: there is nothing to put into it.")?,
        (0, false) if file.aspects.is_empty() => writeln!(out, "{path} is not changed.")?,
        (0, false) => writeln!(out, "{path} leaves all of them out already.")?,
        (n, is_new) => writeln!(
            out,
            "{path}: {}{} left out of {}. Weave again.",
            if is_new { "pack:default, " } else { "" },
            counted(n as u64, "method"),
            names(&file.aspects),
        )?,
    }
    if let Some(by) = file.by.filter(|_| file.instead > 0) {
        let methods = counted(file.instead as u64, "method");
        let does = match by {
            Instead::Count => "counted",
            Instead::Aggregate => "summed up",
        };
        let by = names(&file.takers);
        writeln!(out, "{path}: {methods} {does} instead, by {by}.")?;
    }
    if !file.own.is_empty() {
        writeln!(
            out,
            "note: {} calls hooks of its own, so it still records its methods",
            names(&file.own)
        )?;
    }
    if file.untaken > 0 {
        let methods = counted(file.untaken as u64, "method");
        writeln!(
            out,
            "note: no aspect of {path} could leave out {methods} of these"
        )?;
    }
    Ok(())
}

/// Whether an aspect's hooks write records.
fn records_calls(aspect: &Aspect) -> bool {
    aspect.advice.only(Advice::ALL) != Advice::default()
}

/// Whether an aspect only counts or sums up.
fn is_instead(aspect: &Aspect) -> bool {
    matches!(aspect.advice, Advice::COUNT | Advice::AGGREGATE)
}

/// Whether an aspect may take a method, by its names; what else it asks for is not in a trace.
fn may_take(aspect: &Aspect, symbol: &Symbol) -> bool {
    !selected(aspect, symbol).is_empty()
}

/// The kinds of which a method may be that an aspect takes; none where that need not be said.
fn kinds_of(aspect: &Aspect, symbol: &Symbol) -> Kinds {
    let fitting = selected(aspect, symbol).into_iter();
    let kinds = fitting.map(|selector| selector.kind.map_or(Kinds::default(), |kind| kind.include));
    kinds.fold(Kinds::default(), Kinds::with)
}

/// The words for kinds of which some have to be named; none where none has.
fn words(kinds: Kinds) -> Vec<&'static str> {
    if !kinds.intersects(UNLESS_NAMED) {
        return Vec::new();
    }
    let usual = |kind: Kinds| kinds.intersects(kind) || !kind.intersects(UNLESS_NAMED);
    (KIND_WORDS.into_iter())
        .filter(|&(_, kind)| usual(kind))
        .map(|(word, _)| word)
        .collect()
}

/// The selectors of an aspect that take a method, by its names.
fn selected<'a>(aspect: &'a Aspect, symbol: &Symbol) -> Vec<&'a Selector> {
    let shown = dotnet_names::shown(&symbol.type_name, &symbol.method);
    let fits_type = |names: &NameSet| {
        let mut hits = Hits::default();
        Name::with(&symbol.type_name, |name| names.count(&mut hits, name));
        if let Some(shown) = &shown {
            Name::with(&shown.type_name, |name| names.count(&mut hits, name));
        }
        names.decide(hits)
    };
    let fits_method = |names: &NameSet| {
        let mut hits = Hits::default();
        names.count_flat(&mut hits, &symbol.method);
        if let Some(shown) = &shown {
            names.count_flat(&mut hits, &shown.method);
            names.count_flat(&mut hits, shown.own_name());
        }
        names.decide(hits)
    };
    let fits = |selector: &&Selector| {
        selector.ty.as_ref().is_none_or(fits_type)
            && selector.method.as_ref().is_none_or(fits_method)
    };
    aspect.matches.iter().filter(fits).collect()
}

/// That the new text is rules with the same aspects, which leave out no less.
fn check(source: &str, before: &Rules, text: &str) -> Result<()> {
    let after = Rules::parse(source, text)?;
    let same = |(old, new): (&Aspect, &Aspect)| {
        old.name == new.name
            && (old.matches.len() == new.matches.len()
                || is_instead(new) && old.matches.len() < new.matches.len())
            && old.advice == new.advice
            && old.excludes.len() <= new.excludes.len()
    };
    let aspects = || before.aspects.iter().zip(&after.aspects);
    // A new one records nothing.
    let added = after.aspects.get(before.aspects.len()..);
    match added.is_some_and(|added| added.iter().all(is_instead)) && aspects().all(same) {
        true => Ok(()),
        false => Err(Error::new(
            Kind::NotDone,
            format!("{source} cannot be extended without changing its meaning; it is not changed"),
        )),
    }
}

#[cfg(test)]
mod tests;
