//! The main job: `weave [OPTIONS] INPUT OUTPUT`.

use crate::aspect::plan::id_base;
use crate::cli::messages::{self, MessageFormat};
use crate::cli::rules::Resolved;
use crate::cli::sign::SignArgs;
use crate::cli::{DONE, NOT_DONE, depfile, idle_list, note, print, rules, show};
use crate::error::Result;
use crate::pipeline::{self, Cache, Effort, Files, Job, Outcome, Trust, WarningKind};
use crate::printable::printable;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Failures shown one by one unless `-v` asks for all.
const SHOWN: usize = 10;

/// Arguments of the main job.
#[derive(clap::Args)]
pub struct WeaveArgs {
    /// Class file, jar, war, ear, zip, dex file, apk, aab, aar, .NET assembly, or a folder of these
    #[arg(value_name = "INPUT", required = true)]
    input: Option<PathBuf>,

    /// Where the woven file or folder goes; may be the input itself
    #[arg(value_name = "OUTPUT", required = true)]
    output: Option<PathBuf>,

    /// Rules file, or a ready-made pack as pack:NAME; may be repeated [default: weave.toml beside the input or in the current folder, else pack:default]
    #[arg(long, value_name = "FILE")]
    rules: Vec<String>,

    /// The mapping.txt of an obfuscated input (ProGuard, R8): rules are about original names
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Leave the hook library out; `weave runtime` writes it, and the woven program needs it on its class path
    #[arg(long)]
    no_runtime: bool,

    /// Compress changed members faster; jars and apks become 1 to 3 percent larger
    #[arg(long)]
    fast: bool,

    /// Fail, and write nothing, if a method that matches a rule cannot be woven or a class cannot be read
    #[arg(long)]
    strict: bool,

    /// Jar, assembly or folder with base types outside the input, for rules with `extends`; @FILE lists them, one a line; may be repeated
    #[arg(long, value_name = "PATH")]
    reference: Vec<PathBuf>,

    /// Where the map from ids to names goes [default: OUTPUT.wsym]
    #[arg(long, value_name = "FILE")]
    symbols: Option<PathBuf>,

    /// Map of an earlier weave: its ids are not given to other methods, and classes that have not changed keep theirs; may be repeated
    #[arg(long, value_name = "FILE")]
    known_symbols: Vec<PathBuf>,

    #[command(flatten)]
    sign: SignArgs,

    /// Number of threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Print the summary as JSON, for programs
    #[arg(long)]
    json: bool,

    /// How warnings and errors are written
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    message_format: MessageFormat,

    /// Write the list of files that the output depends on, in the format of make and ninja
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,

    /// Keep woven archives and assemblies in this folder, and reuse those that have not changed; may be shared
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Use the cache even if other users can write to it
    #[arg(long, requires = "cache")]
    cache_trust: bool,

    /// Largest size of the cache, in MiB; the entries that were unused longest are deleted [default: 1024]
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 1024,
        hide_default_value = true,
        requires = "cache"
    )]
    cache_size: u32,

    /// Do not warn about aspects that match nothing (for rules shared by several projects)
    #[arg(long)]
    allow_idle: bool,

    /// Warn about such aspects only in rules files in this folder: others, and packs, serve other projects, too
    #[arg(long, value_name = "DIR", conflicts_with = "allow_idle")]
    allow_idle_outside: Option<PathBuf>,

    /// Write which aspects of files outside that folder matched something; a build joins the lists of its projects
    #[arg(
        long,
        value_name = "FILE",
        requires = "allow_idle_outside",
        hide = true
    )]
    idle_list: Option<PathBuf>,

    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Print the rules, and every method that matches one but was not woven
    #[arg(short, long)]
    verbose: bool,
}

impl WeaveArgs {
    /// How warnings and errors are written.
    pub fn message_format(&self) -> MessageFormat {
        self.message_format
    }

    fn open_cache(&self, rules: &Resolved) -> Result<Option<Cache>> {
        let Some(dir) = &self.cache else {
            return Ok(None);
        };
        let mapping = self.mapping.as_deref().map(rules::read_bytes).transpose()?;
        let mut parts: Vec<&[u8]> = rules.texts.iter().map(String::as_bytes).collect();
        parts.extend(mapping.as_deref());
        let trust = match self.cache_trust {
            true => Trust::All,
            false => Trust::Own,
        };
        Cache::open(dir, trust, u64::from(self.cache_size) << 20, &parts).map(Some)
    }

    /// Takes out the idle aspects that need no warning; if none is left, and none took anything, one message says so.
    fn forgive_idle(&self, outcome: &mut Outcome, input: &Path) {
        let all_idle = !outcome.idle.is_empty() && outcome.idle.len() == outcome.aspects.len();
        match &self.allow_idle_outside {
            Some(folder) => (outcome.idle).retain(|idle| rules::is_below(folder, &idle.place.file)),
            None if self.allow_idle => outcome.idle.clear(),
            None => return,
        }
        if all_idle && outcome.idle.is_empty() && outcome.warnings.is_empty() {
            let name = input.file_name().unwrap_or(input.as_os_str());
            let text = format!("{}: no rule matches a method of it", name.display());
            outcome.warn(WarningKind::NothingTaken, text);
        }
    }

    /// The files of the job that only its arguments name.
    fn named(&self, rules: &Resolved) -> Files {
        let mut files = Files::default();
        for path in &rules.files {
            files.read("the rules file", path);
        }
        for path in &rules.libraries {
            files.read("the library", path);
        }
        if let Some(path) = &self.mapping {
            files.read("the mapping", path);
        }
        for path in rules::lists(&self.reference) {
            files.read("the list of references", path);
        }
        self.sign.name(&mut files);
        if let Some(path) = &self.depfile {
            files.write("the dependency file", path);
        }
        if let Some(path) = &self.idle_list {
            files.write("the list of aspects", path);
        }
        files
    }

    /// The files that the output follows from.
    fn dependencies(
        &self,
        input: &Path,
        rules: &Resolved,
        references: &[PathBuf],
    ) -> Result<Vec<PathBuf>> {
        let mut all = pipeline::files_of(input)?;
        for reference in references {
            all.extend(pipeline::files_of(reference)?);
        }
        all.extend(rules.files.iter().cloned());
        for library in rules.libraries.iter().filter(|path| path.exists()) {
            all.extend(pipeline::files_of(library)?);
        }
        all.extend(self.mapping.iter().cloned());
        all.extend(self.known_symbols.iter().cloned());
        Ok(all)
    }
}

/// What weave has lists of, the same on every machine (`rules/types-*.txt`).
const KNOWN_TYPES: &str =
    "the public types of JDK 8 to 25, Android 13, .NET 10 and .NET Framework 4.8";

/// Runs the job.
pub fn run(args: &WeaveArgs) -> Result<u8> {
    let (Some(input), Some(output)) = (&args.input, &args.output) else {
        unreachable!("clap requires both");
    };
    let resolved = rules::resolve(&args.rules, input)?;
    if args.verbose {
        note(&format!("rules: {}", printable(&resolved.source)));
        note(&format!("known beside the input: {}", KNOWN_TYPES));
    }
    let cache = args.open_cache(&resolved)?;
    let references = rules::listed(&args.reference)?;
    // An output that replaces its input takes the list of what there was with it.
    let dependencies = match &args.depfile {
        Some(_) => args.dependencies(input, &resolved, &references)?,
        None => vec![],
    };
    let job = Job {
        input: input.clone(),
        output: Some(output.clone()),
        matcher: rules::matcher(resolved.rules.clone(), args.mapping.as_deref())?,
        runtime: !args.no_runtime,
        effort: match args.fast {
            true => Effort::Fast,
            false => Effort::Thorough,
        },
        strict: args.strict,
        references,
        symbols: args.symbols.clone(),
        known_symbols: args.known_symbols.clone(),
        cache,
        identity: args.sign.identity()?,
        key: args.sign.strong_name()?,
        threads: args.jobs.map(usize::from),
        explain: false,
        id_base,
    };
    job.check_files(args.named(&resolved))?;
    let mut outcome = run_with_progress(&job, args.quiet || args.json)?;
    if let (Some(path), Some(folder)) = (&args.idle_list, &args.allow_idle_outside) {
        idle_list::write(path, folder, &job.matcher, &outcome)?;
    }
    args.forgive_idle(&mut outcome, input);
    let failed = args.strict && outcome.fails_strict();
    if let (Some(path), false) = (&args.depfile, failed) {
        depfile::write(path, output, &dependencies)?;
    }
    if args.message_format != MessageFormat::Human && (!args.quiet || failed) {
        let text = messages::warnings(&outcome, args.message_format);
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
    if args.json {
        print(&(json(&outcome, job.matcher.needs_hierarchy()).to_string() + "\n"))?;
    } else if args.message_format == MessageFormat::Human && (!args.quiet || failed) {
        let text = summary(&outcome, input, output, args.verbose);
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
    Ok(if failed { NOT_DONE } else { DONE })
}

/// Runs a job with a progress bar on a terminal.
pub fn run_with_progress(job: &Job, silent: bool) -> Result<Outcome> {
    if silent || !std::io::stderr().is_terminal() {
        return pipeline::run(job, &|_, _| {});
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("{bar:32} {bytes} of {total_bytes}");
    bar.set_style(style.expect("a valid template"));
    let result = pipeline::run(job, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    result
}

/// The summary for people: warnings first, the result last.
fn summary(outcome: &Outcome, input: &Path, output: &Path, verbose: bool) -> String {
    let mut text = String::new();
    let mut line = |s: String| {
        text.push_str(&printable(&s));
        text.push('\n');
    };
    let shown = if verbose { usize::MAX } else { SHOWN };
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in &outcome.warnings {
        let told = told.entry(warning.kind.code()).or_default();
        *told += 1;
        if *told <= shown {
            line(format!("warning: {}", warning.text));
        }
    }
    for (kind, n) in told {
        if let Some(more) = n.checked_sub(shown).filter(|&n| n > 0) {
            let kind = kind.replace('-', " ");
            line(format!("warning: {kind}: {more} more (-v names them)"));
        }
    }
    for left in outcome.failures.iter().take(shown) {
        line(format!("warning: {}", show::left(left)));
    }
    if let Some(more) = outcome.failures.len().checked_sub(shown).filter(|&n| n > 0) {
        line(format!(
            "warning: {more} more are left unchanged (-v names them)"
        ));
    }
    for idle in &outcome.idle {
        line(format!("warning: {}", show::idle(idle)));
    }
    if outcome.refused {
        line("error: not everything could be woven (--strict): nothing was written".to_owned());
        return text;
    }
    if !outcome.changed() {
        let same = if input == output {
            format!("{} is left unchanged", output.display())
        } else {
            format!("{} is a copy of {}", output.display(), input.display())
        };
        let why = if outcome.left.is_empty() {
            String::new()
        } else {
            let left = outcome.left.values().sum();
            let reasons = show::reasons(&outcome.left);
            format!(" ({} left: {reasons})", show::thousands(left))
        };
        line(format!("nothing was woven: {same}{why}"));
        return text;
    }
    let mut result = format!(
        "wove {} of {} in {}",
        show::count(outcome.methods, "method", "methods"),
        show::count(outcome.classes, "class", "classes"),
        show::count(outcome.artifacts, "artifact", "artifacts"),
    );
    if outcome.calls > 0 {
        let calls = show::count(outcome.calls, "call", "calls");
        result += &format!(", and redirected {calls}");
    }
    if outcome.points > 0 {
        let hooks = show::count(outcome.points, "hook", "hooks");
        result += &format!(", and put {hooks} at points");
    }
    if !outcome.left.is_empty() {
        let total = outcome.left.values().sum();
        result += &format!(
            " ({} left: {})",
            show::thousands(total),
            show::reasons(&outcome.left)
        );
    }
    line(format!("{result} -> {}", output.display()));
    text
}

/// The summary for programs.
fn json(outcome: &Outcome, extends: bool) -> serde_json::Value {
    serde_json::json!({
        "written": outcome.output.is_some(),
        "output": outcome.output.as_ref().map(|p| p.display().to_string()),
        "symbols": outcome.symbols.as_ref().map(|p| p.display().to_string()),
        "methods": outcome.methods,
        "calls": outcome.calls,
        "points": outcome.points,
        "classes": outcome.classes,
        "artifacts": outcome.artifacts,
        "cached": outcome.cached,
        // A rule asks for base types: the output follows from the references, too.
        "extends": extends,
        "left": outcome.left.iter().map(|(r, n)| (r.code().to_owned(), (*n).into()))
            .collect::<serde_json::Map<_, _>>(),
        "failures": outcome.failures.iter().map(|l| serde_json::json!({
            "artifact": l.artifact,
            "type": l.type_name,
            "method": l.method,
            "reason": l.reason.code(),
        })).collect::<Vec<_>>(),
        "warnings": outcome.warnings.iter().map(|w| serde_json::json!({
            "kind": w.kind.code(),
            "text": w.text,
        })).collect::<Vec<_>>(),
        "idle": outcome.idle.iter().map(|idle| serde_json::json!({
            "aspect": idle.aspect,
            "reasons": idle.reasons.iter().map(|r| r.code()).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
