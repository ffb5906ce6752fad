//! `weave plan`: what would be woven, and why the rest is not.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::bind::call::ShownCall;
use crate::aspect::plan::id_base;
use crate::aspect::pointcut::Matcher;
use crate::aspect::rules::model::Texts;
use crate::cli::weave::run_with_progress;
use crate::cli::{DONE, print, rules, show};
use crate::error::Result;
use crate::pipeline::{ClassPlan, Effort, Job, Outcome};
use crate::printable::printable;
use crate::switches::Switch;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Show what would be woven, and why the rest is not
///
/// Does everything that weaving does, but writes nothing. Shows for each artifact how many methods would get hooks and how many
/// are left out. With --details or --filter, a line with + is a method that would get hooks; one with - is a method that
/// some rule matches and that is left out, with the reason; one with > is a method that calls something, where that call would be redirected, or that has a point at which a hook would run. Methods that no rule matches are not shown. Where there are several aspects, each line
/// names those that match the method.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave plan lib/                                  artifact by artifact
  weave plan app.jar --details                     class by class, method by method
  weave plan app.jar --summary                     only how many, and why not
  weave plan app.jar --rules weave.toml --filter Orders
  weave plan app.jar --json | jq '.classes[].type'")]
pub struct PlanArgs {
    /// Class file, jar, war, ear, zip, dex file, apk, aab, aar, .NET assembly, or a folder of these
    #[arg(value_name = "INPUT")]
    input: PathBuf,

    /// Rules file, or a ready-made pack as pack:NAME; may be repeated [default: weave.toml beside the input or in the current folder, else pack:default]
    #[arg(long, value_name = "FILE")]
    rules: Vec<String>,

    /// The mapping.txt of an obfuscated input (ProGuard, R8): rules are about original names
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Jar or folder with base types outside the input, for rules with `extends`; may be repeated
    #[arg(long, value_name = "PATH")]
    reference: Vec<PathBuf>,

    /// Map of an earlier weave: its ids are not given to other methods, and classes that have not changed keep theirs; may be repeated
    #[arg(long, value_name = "FILE")]
    known_symbols: Vec<PathBuf>,

    /// List every class and method
    #[arg(long, conflicts_with = "summary")]
    details: bool,

    /// List only methods whose full name (com.acme.Orders.place) contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Only the counts
    #[arg(long)]
    summary: bool,

    /// Print JSON, for programs
    #[arg(long)]
    json: bool,

    /// Number of threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// Runs the subcommand.
pub fn run(args: &PlanArgs) -> Result<u8> {
    let rules::Resolved { rules, source, .. } = rules::resolve(&args.rules, &args.input)?;
    let job = Job {
        input: args.input.clone(),
        output: None,
        matcher: rules::matcher(rules, args.mapping.as_deref())?,
        runtime: true,
        effort: Effort::Fast,
        strict: false,
        references: rules::listed(&args.reference)?,
        symbols: None,
        known_symbols: args.known_symbols.clone(),
        cache: None,
        identity: None,
        key: None,
        threads: args.jobs.map(usize::from),
        explain: true,
        id_base,
    };
    let levels = Levels {
        switches: &job.matcher.switches(),
        texts: &texts(&job.matcher),
    };
    let mut outcome = run_with_progress(&job, args.json)?;
    if let Some(text) = &args.filter {
        retain(&mut outcome, text);
    }
    let text = match args.json {
        true => json(&outcome, &source, &levels, args.summary).to_string() + "\n",
        false => {
            let listed = match () {
                () if args.summary => Listed::Nothing,
                () if args.details || args.filter.is_some() => Listed::Methods,
                () => Listed::Artifacts,
            };
            listing(&outcome, &source, &levels, &listed)
        }
    };
    print(&text)?;
    Ok(DONE)
}

/// Leaves only the methods whose full name contains `text`.
fn retain(outcome: &mut Outcome, text: &str) {
    for class in &mut outcome.explained {
        let has = |method: &str| show::method(&class.type_name, method).0.contains(text);
        class.woven.retain(|woven| has(&woven.method));
        class.left.retain(|left| has(&left.method));
        class.calls.retain(|call| has(&call.method));
    }
    outcome
        .explained
        .retain(|c| !c.woven.is_empty() || !c.calls.is_empty() || !c.left.is_empty());
    outcome.left = BTreeMap::new();
    for left in outcome.explained.iter().flat_map(|c| &c.left) {
        *outcome.left.entry(left.reason).or_default() += 1;
    }
    let calls = outcome.explained.iter().flat_map(|c| &c.calls);
    let (points, calls): (Vec<_>, Vec<_>) = calls.partition(|call| call.at_point);
    outcome.calls = calls.iter().map(|call| call.times).sum();
    outcome.points = points.iter().map(|call| call.times).sum();
    let woven = || (outcome.explained.iter()).filter(|c| has_hooks(c));
    outcome.methods = woven().map(|c| c.woven.len() as u64).sum();
    outcome.classes = woven().count() as u64;
    let mut artifacts: Vec<&str> = woven().map(|c| c.artifact.as_str()).collect();
    artifacts.sort_unstable();
    artifacts.dedup();
    outcome.artifacts = artifacts.len() as u64;
}

fn advice_words(advice: Advice) -> Vec<&'static str> {
    [
        (Advice::ENTER, "enter"),
        (Advice::EXIT, "exit"),
        (Advice::EXCEPTION, "exception"),
        (Advice::SECTION, "android-trace"),
        (Advice::AGGREGATE, "aggregate"),
        (Advice::COUNT, "count"),
        (Advice::OWN, "own"),
        (Advice::SWITCHED, "switched"),
    ]
    .into_iter()
    .filter(|(one, _)| advice.has(*one))
    .map(|(_, word)| word)
    .collect()
}

/// What is listed above the sums.
#[derive(PartialEq)]
enum Listed {
    Nothing,
    Artifacts,
    Methods,
}

/// What rules say beside which methods they take.
struct Levels<'a> {
    /// The aspects as switches, by number; empty where there is nothing to switch.
    switches: &'a [Option<Arc<Switch>>],
    /// What is left out of all texts of the trace, in words.
    texts: &'a [&'static str],
}

/// What is left out of all texts of the trace, in words.
fn texts(matcher: &Matcher) -> Vec<&'static str> {
    let any = |is: fn(&Texts) -> bool| matcher.texts().iter().any(is);
    [
        (any(|texts| texts.mask.is_some()), "masked"),
        (any(|texts| !texts.messages), "no messages"),
        (any(|texts| !texts.thread_names), "no thread names"),
        (any(|texts| !texts.command_line), "no command line"),
    ]
    .into_iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, word)| word)
    .collect()
}

fn listing(outcome: &Outcome, source: &str, levels: &Levels<'_>, listed: &Listed) -> String {
    let mut out = String::new();
    if *listed == Listed::Artifacts {
        list_artifacts(&mut out, &outcome.explained);
    }
    if *listed == Listed::Methods {
        let mut artifact = "";
        for class in &outcome.explained {
            if class.artifact != artifact {
                artifact = &class.artifact;
                let _ = writeln!(out, "{}", printable(artifact));
            }
            list_class(&mut out, class, &outcome.aspects);
        }
        if !outcome.explained.is_empty() {
            out.push('\n');
        }
    }
    for warning in &outcome.warnings {
        let _ = writeln!(out, "warning: {}", printable(&warning.text));
    }
    for idle in &outcome.idle {
        let _ = writeln!(out, "warning: {}", printable(&show::idle(idle)));
    }
    let _ = writeln!(
        out,
        "rules: {}\n{} of {} in {} would be woven",
        printable(source),
        show::count(outcome.methods, "method", "methods"),
        show::count(outcome.classes, "class", "classes"),
        show::count(outcome.artifacts, "artifact", "artifacts"),
    );
    if !levels.texts.is_empty() {
        let _ = writeln!(out, "texts of the trace: {}", levels.texts.join(", "));
    }
    if outcome.calls > 0 {
        let (calls, s) = (
            show::thousands(outcome.calls),
            if outcome.calls == 1 { "" } else { "s" },
        );
        let _ = writeln!(out, "{calls:>9} call{s} redirected");
    }
    if outcome.points > 0 {
        let points = show::thousands(outcome.points);
        let s = if outcome.points == 1 { "" } else { "s" };
        let _ = writeln!(out, "{points:>9} hook{s} at points");
    }
    for (number, taken) in taken(outcome).iter().enumerate() {
        if taken.methods == 0 {
            continue;
        }
        let methods = show::thousands(taken.methods);
        let mut switched = String::new();
        if let Some(switch) = levels.switches.get(number).and_then(Option::as_ref) {
            let _ = write!(switched, ", level {}", switch.level);
            if switch.auto.is_some() {
                switched += ", auto";
            }
            if let Some(sample) = switch.sample {
                let _ = write!(switched, ", sampled {sample}");
            }
        }
        let _ = writeln!(out, "{methods:>9} by aspect `{}`{switched}", taken.aspect);
    }
    let stay = staying(outcome, levels);
    if stay > 0 {
        let _ = writeln!(
            out,
            "{:>9} of them cannot be switched: another aspect takes them as well",
            show::thousands(stay)
        );
    }
    let mut left: Vec<(&Reason, &u64)> = outcome.left.iter().collect();
    left.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), **reason));
    for (reason, n) in left {
        let _ = writeln!(out, "{:>9} left: {reason}", show::thousands(*n));
    }
    if *listed == Listed::Artifacts && !outcome.explained.is_empty() {
        out.push_str("--details lists every method, --filter TEXT those whose names contain it\n");
    }
    out
}

/// How many methods cannot be switched although an aspect that takes them has a level.
fn staying(outcome: &Outcome, levels: &Levels<'_>) -> u64 {
    let switches = |aspect: &u32| {
        levels
            .switches
            .get(*aspect as usize)
            .is_some_and(Option::is_some)
    };
    let woven = outcome.explained.iter().flat_map(|class| &class.woven);
    woven
        .filter(|woven| !woven.advice.has(Advice::SWITCHED))
        .filter(|woven| woven.aspects.iter().any(switches))
        .count() as u64
}

/// Whether something of a class would change.
fn has_hooks(class: &ClassPlan) -> bool {
    !class.woven.is_empty() || !class.calls.is_empty()
}

/// An artifact a line: methods that would be woven, their classes, methods that are left.
fn list_artifacts(out: &mut String, classes: &[ClassPlan]) {
    if classes.is_empty() {
        return;
    }
    // A column of zeros says nothing.
    let has_left = classes.iter().any(|class| !class.left.is_empty());
    let title = if has_left { "     left" } else { "" };
    let _ = writeln!(out, "  methods  classes{title}  artifact");
    for classes in classes.chunk_by(|a, b| a.artifact == b.artifact) {
        let woven = classes.iter().map(|c| c.woven.len() as u64).sum();
        let with_hooks = classes.iter().filter(|c| has_hooks(c)).count();
        let left = classes.iter().map(|c| c.left.len() as u64).sum();
        let left = match has_left {
            true => format!("{:>9}", show::thousands(left)),
            false => String::new(),
        };
        let _ = writeln!(
            out,
            "{:>9}{:>9}{left}  {}",
            show::thousands(woven),
            show::thousands(with_hooks as u64),
            printable(&classes[0].artifact)
        );
    }
    out.push('\n');
}

/// What an aspect matched.
struct Taken<'o> {
    aspect: &'o str,
    /// How many methods get hooks from it; several aspects can take one method.
    methods: u64,
    /// How many methods it matches that get no hooks.
    left: u64,
}

/// What each aspect matched, in the order of the rules.
fn taken(outcome: &Outcome) -> Vec<Taken<'_>> {
    let new = |aspect| Taken {
        aspect,
        methods: 0,
        left: 0,
    };
    let names = outcome.aspects.iter().map(String::as_str);
    let mut all: Vec<Taken<'_>> = names.map(new).collect();
    for class in &outcome.explained {
        for &aspect in class.woven.iter().flat_map(|woven| &woven.aspects) {
            all[aspect as usize].methods += 1;
        }
        for &aspect in class.left.iter().flat_map(|left| &left.aspects) {
            all[aspect as usize].left += 1;
        }
    }
    all
}

/// The names of a method's aspects.
fn names<'o>(aspects: &[u32], all: &'o [String]) -> Vec<&'o str> {
    let name = |&aspect: &u32| all[aspect as usize].as_str();
    aspects.iter().map(name).collect()
}

/// A recorded call that can be switched.
const SWITCHED: Advice = Advice::ALL.with(Advice::SWITCHED);

fn list_class(out: &mut String, class: &ClassPlan, all: &[String]) {
    let by = |aspects: &[u32]| match all.len() {
        0 | 1 => String::new(),
        _ => format!("  by {}", names(aspects, all).join(", ")),
    };
    let _ = writeln!(out, "  {}", printable(&class.type_name.replace('/', ".")));
    for woven in &class.woven {
        let (_, short) = show::method(&class.type_name, &woven.method);
        let which = match woven.advice {
            Advice::ALL => String::new(),
            SWITCHED => "  [switched]".to_owned(),
            advice => format!("  [{}]", advice_words(advice).join(", ")),
        };
        let root = if woven.root { "  root" } else { "" };
        let _ = writeln!(out, "    + {short}{which}{root}{}", by(&woven.aspects));
        for hook in &woven.hooks {
            let _ = writeln!(out, "        {}", printable(&hook.to_string()));
        }
    }
    for call in &class.calls {
        let (_, short) = show::method(&class.type_name, &call.method);
        let recorded = call.recorded.as_ref().map_or(String::new(), |recorded| {
            format!("  [{}]", advice_words(recorded.advice).join(", "))
        });
        let times = match call.times {
            1 => String::new(),
            n => format!(", {} times", show::thousands(n)),
        };
        let _ = writeln!(
            out,
            "    > {short} {} {}{times}{recorded}",
            call.does,
            printable(&call.callee)
        );
        for hook in &call.hooks {
            let _ = writeln!(out, "        {}", printable(&hook.to_string()));
        }
    }
    for left in &class.left {
        let (_, short) = show::method(&class.type_name, &left.method);
        let by = by(&left.aspects);
        let _ = writeln!(out, "    - {short}: {}{by}", left.reason);
    }
}

fn json(
    outcome: &Outcome,
    source: &str,
    levels: &Levels<'_>,
    only_summary: bool,
) -> serde_json::Value {
    let hooks = |hooks: &[ShownCall]| {
        let hook = |hook: &ShownCall| {
            let mut json = serde_json::json!({
                "when": hook.when, "hook": hook.hook, "operands": hook.operands,
                "guard": hook.guard, "recursion": hook.recursion,
            });
            if let Some(changes) = &hook.changes {
                json["changes"] = changes.as_str().into();
            }
            json
        };
        hooks.iter().map(hook).collect::<Vec<_>>()
    };
    let class = |c: &ClassPlan| {
        serde_json::json!({
            "artifact": c.artifact,
            "type": c.type_name,
            "woven": c.woven.iter().map(|woven| serde_json::json!({
                "method": woven.method, "id": woven.id, "advice": advice_words(woven.advice),
                "aspects": names(&woven.aspects, &outcome.aspects), "root": woven.root,
                "hooks": hooks(&woven.hooks),
            })).collect::<Vec<_>>(),
            "calls": c.calls.iter().map(|call| {
                let mut shown = serde_json::json!({
                    "method": call.method, "callee": call.callee, "times": call.times, "hooks": hooks(&call.hooks),
                });
                if let Some(recorded) = &call.recorded {
                    shown["id"] = recorded.id.into();
                    shown["advice"] = advice_words(recorded.advice).into();
                }
                shown
            }).collect::<Vec<_>>(),
            "left": c.left.iter().map(|left| serde_json::json!({
                "method": left.method, "reason": left.reason.code(),
                "aspects": names(&left.aspects, &outcome.aspects),
            })).collect::<Vec<_>>(),
        })
    };
    let mut value = serde_json::json!({
        "rules": source,
        "methods": outcome.methods,
        "calls": outcome.calls,
        "points": outcome.points,
        "woven_classes": outcome.classes,
        "artifacts": outcome.artifacts,
        "left": outcome.left.iter().map(|(r, n)| (r.code().to_owned(), (*n).into()))
            .collect::<serde_json::Map<_, _>>(),
        "aspects": taken(outcome).iter().enumerate().map(|(number, taken)| {
            let mut shown = serde_json::json!({
                "aspect": taken.aspect, "methods": taken.methods, "left": taken.left,
            });
            if let Some(switch) = levels.switches.get(number).and_then(Option::as_ref) {
                shown["level"] = switch.level.to_string().into();
                if switch.auto.is_some() {
                    shown["auto"] = true.into();
                }
                if let Some(sample) = switch.sample {
                    shown["sample"] = sample.to_string().into();
                }
            }
            shown
        }).collect::<Vec<_>>(),
        "warnings": outcome.warnings.iter().map(|w| serde_json::json!({
            "kind": w.kind.code(), "text": w.text,
        })).collect::<Vec<_>>(),
        "idle": outcome.idle.iter().map(|idle| serde_json::json!({
            "aspect": idle.aspect,
            "reasons": idle.reasons.iter().map(|r| r.code()).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    if !levels.texts.is_empty() {
        value["texts"] = levels.texts.into();
    }
    if !only_summary {
        value["classes"] = outcome.explained.iter().map(class).collect();
    }
    value
}
