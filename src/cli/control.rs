//! `weave control`: switches what a running process records.

use super::{DONE, print, show, traces};
use crate::aspect::rules::nearest;
use crate::error::{Error, Kind, Result};
use crate::pipeline::{Access, Output};
use crate::printable::printable;
use crate::switches::{LEVEL_WORDS, Level, Switch};
use crate::trace::collect::has_it_mapped;
use crate::trace::control::{
    Less, MODE_WORDS, MOST, Mode, Request, SUFFIX, State, decided, states,
};
use crate::trace::file::peek;
use crate::trace::format::{FLAG_ORDERLY, Header};
use crate::trace::{Trace, lock};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the process has to take a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// Switch what a running program records, or show what is on
///
/// It acts within a second. Aspects are switched by level or by name where a rule of the build has a `level`; the mode is of all
/// their methods. Calls that are open keep to what they began with. Without a switch it shows what is on.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  weave control 4711                              what is on
  weave control 4711 --level debug
  weave control 4711 --enable sql --disable ui
  weave control weave-4711.wtrace --mode aggregate
  weave control 4711 --mode off                   nothing, until
  weave control 4711 --reset                      as it began")]
pub struct ControlArgs {
    /// The trace that the process writes, or its id (Linux)
    #[arg(value_name = "TRACE|PID")]
    trace: PathBuf,

    /// Aspects of this level are on and those of the levels before it: error, info, debug
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,

    /// This aspect is on, whatever the level; may be repeated
    #[arg(long, value_name = "ASPECT")]
    enable: Vec<String>,

    /// This aspect is off, whatever the level; may be repeated
    #[arg(long, value_name = "ASPECT")]
    disable: Vec<String>,

    /// How much of each call: rules (as they say), off, count, aggregate, record, auto (as the program decides)
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<Mode>,

    /// First back to what the program began with
    #[arg(long)]
    reset: bool,

    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

fn level(word: &str) -> std::result::Result<Level, String> {
    let words = LEVEL_WORDS.map(|(word, _)| word).join(", ");
    Level::named(word).ok_or(format!("expected one of {words}"))
}

fn mode(word: &str) -> std::result::Result<Mode, String> {
    let words = MODE_WORDS.map(|(word, _)| word).join(", ");
    Mode::named(word).ok_or(format!("expected one of {words}"))
}

/// Runs the subcommand.
pub fn run(args: &ControlArgs) -> Result<u8> {
    let named = traces::live(&args.trace)?;
    // The library looks beside the file itself.
    let path = (named.canonicalize()).map_err(|e| Error::io("read", &named, e))?;
    let trace = Trace::open(&path)?;
    let header = trace.header();
    if header.part > 0 {
        return Err(Error::usage(format!(
            "{} is a part of a collected trace; name the one that its process writes",
            path.display()
        )));
    }
    let not_done = |what: String| Err(Error::new(Kind::NotDone, what));
    if has_ended(&path, header)? {
        return not_done(format!(
            "process {} has ended: nothing of it can be switched",
            header.pid
        ));
    }
    if !header.controlled {
        return not_done(format!(
            "the hook library of process {} takes no requests: it is older than this weave, or in a class loader that may go",
            header.pid
        ));
    }
    let switches = trace.symbols().switches();
    let file = request_file(&path);
    let before = present(&trace, &file);
    let next = args.next(&before, &first(&trace), &switches)?;
    let state = match next == before && !args.reset {
        true => before,
        false => {
            ask(&path, header, &file, &next, args.reset)?;
            next
        }
    };
    let decided = match args.reset {
        true => [0; 3],
        false => {
            let decided = decided(trace.changes());
            [Less::Summed, Less::Counted, Less::Nothing]
                .map(|less| decided.values().filter(|&&of| of == less).count() as u64)
        }
    };
    let text = match args.json {
        true => json(&path, header, &state, &switches, decided).to_string() + "\n",
        false => shown(&path, header, &state, &switches, decided),
    };
    print(&text)?;
    Ok(DONE)
}

impl ControlArgs {
    /// What is asked for. `first` is what the program began with.
    fn next(
        &self,
        before: &State,
        first: &State,
        switches: &[(Arc<Switch>, u64)],
    ) -> Result<State> {
        let mut next = if self.reset { first } else { before }.clone();
        let names = self.enable.iter().chain(&self.disable);
        let asks = self.level.is_some() || self.mode.is_some() || self.reset;
        if (asks || names.count() > 0) && switches.is_empty() {
            return Err(Error::new(
                Kind::NotDone,
                "nothing of this program can be switched: no aspect has a `level`, or the trace has no symbols yet",
            ));
        }
        for name in self.enable.iter().chain(&self.disable) {
            check(name, switches)?;
        }
        if let Some(both) = self.enable.iter().find(|name| self.disable.contains(name)) {
            return Err(Error::usage(format!(
                "aspect `{both}` is to be on and off at once"
            )));
        }
        next.level = self.level.unwrap_or(next.level);
        next.mode = self.mode.unwrap_or(next.mode);
        for name in &self.enable {
            next.disabled.remove(name);
            next.enabled.insert(name.clone());
        }
        for name in &self.disable {
            next.enabled.remove(name);
            next.disabled.insert(name.clone());
        }
        Ok(next)
    }
}

/// Refuses what is no aspect.
fn check(name: &str, switches: &[(Arc<Switch>, u64)]) -> Result<()> {
    let mut names: Vec<&str> = switches.iter().map(|(switch, _)| &*switch.name).collect();
    names.dedup();
    if names.contains(&name) {
        return Ok(());
    }
    let mut what = format!("no aspect `{}`", printable(name));
    match nearest(name, &names, &[]) {
        Some(near) => drop(write!(what, ": did you mean `{near}`?")),
        None => drop(write!(what, "; there are {}", names.join(", "))),
    }
    Err(Error::usage(what))
}

/// Whether the process is known to have ended.
fn has_ended(path: &Path, header: &Header) -> Result<bool> {
    if header.flags & FLAG_ORDERLY != 0 {
        return Ok(true);
    }
    let file = File::open(path).map_err(|e| Error::io("read", path, e))?;
    // Where there are no such locks, or none is held for a moment, the mapping tells; where that cannot be seen it may live.
    let sees_processes = Path::new("/proc/self/maps").exists();
    Ok(!lock::has_writer(&file) && sees_processes && !has_it_mapped(header.pid, path))
}

/// Where requests for a trace's process lie.
fn request_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// The request that lies there, if it is for this process.
fn request(file: &Path, header: &Header) -> Option<Request> {
    let request = Request::parse(&std::fs::read_to_string(file).ok()?)?;
    ((request.pid, request.origin) == (header.pid, header.origin)).then_some(request)
}

/// What is on: the last request that was taken, else what the trace tells.
fn present(trace: &Trace, file: &Path) -> State {
    let request = request(file, trace.header());
    let taken = request.filter(|request| request.number == trace.header().request);
    match taken {
        Some(request) => request.state,
        None => {
            let last = states(trace.changes()).next_back();
            last.map(|(_, state)| state.clone()).unwrap_or_default()
        }
    }
}

/// What the program began with.
fn first(trace: &Trace) -> State {
    let first = states(trace.changes()).next();
    first.map(|(_, state)| state.clone()).unwrap_or_default()
}

/// Leaves a request, and waits until it is taken.
fn ask(path: &Path, header: &Header, file: &Path, state: &State, reset: bool) -> Result<()> {
    let waiting = request(file, header).map_or(0, |request| request.number);
    let number = header.request.max(waiting).wrapping_add(1);
    let request = Request {
        pid: header.pid,
        origin: header.origin,
        number,
        state: state.clone(),
        reset,
    };
    let text = request.to_string();
    if text.len() > MOST {
        return Err(Error::usage(format!(
            "the names of the aspects that are switched take more than {MOST} bytes: use --level"
        )));
    }
    Output::put(file, text.as_bytes(), Access::Usual)?;
    let until = Instant::now() + PATIENCE;
    loop {
        let now = peek(path)?;
        if now.request >= number {
            return Ok(());
        }
        let what = match Instant::now() > until {
            _ if has_ended(path, &now)? => "has ended meanwhile".to_owned(),
            true => format!(
                "has not taken the request yet (it may be stopped, or may not read {}); it takes it when it can",
                file.display()
            ),
            false => {
                std::thread::sleep(PAUSE);
                continue;
            }
        };
        let what = format!("process {} {what}", header.pid);
        return Err(Error::new(Kind::NotDone, what));
    }
}

/// Why an aspect is on or off.
fn reason(switch: &Switch, state: &State) -> &'static str {
    match () {
        () if state.mode == Mode::Off => "all are off",
        () if state.disabled.contains(&*switch.name) => "by name",
        () if state.enabled.contains(&*switch.name) => "by name",
        () => "by level",
    }
}

/// `decided`: how many methods the program itself sums up, counts, and leaves out.
fn shown(
    path: &Path,
    header: &Header,
    state: &State,
    switches: &[(Arc<Switch>, u64)],
    decided: [u64; 3],
) -> String {
    let mut out = String::new();
    let command = match &*header.command {
        "" => String::new(),
        command => format!(": {}", printable(command)),
    };
    let file = printable(&path.display().to_string());
    let _ = writeln!(out, "{file}: process {}{command}", header.pid);
    let mode = match state.mode {
        Mode::Rules => "mode as the rules say".to_owned(),
        mode => format!("mode {mode}"),
    };
    if switches.is_empty() {
        let _ = writeln!(out, "nothing can be switched: no aspect has a level");
        return out;
    }
    let _ = writeln!(out, "level {}, {mode}", state.level);
    if let [summed, counted, left] = decided.map(show::thousands)
        && decided != [0; 3]
    {
        let _ = writeln!(
            out,
            "of methods of mode auto, {summed} are only summed up by now, {counted} only counted, and {left} left out"
        );
    }
    let now = |switch: &Switch| {
        let on = state.is_on(switch);
        let mut now = format!(
            "{} {}",
            if on { "on" } else { "off" },
            reason(switch, state)
        );
        let samples = on && matches!(state.mode, Mode::Rules | Mode::Auto);
        if let Some(sample) = switch.sample.filter(|_| samples) {
            let _ = write!(now, ", sampled {sample}");
        }
        now
    };
    let all: Vec<String> = switches.iter().map(|(switch, _)| now(switch)).collect();
    let width = all.iter().map(String::len).max().unwrap_or(0).max(13);
    let _ = writeln!(out, "  methods  level  {:<width$}  aspect", "now");
    for ((switch, methods), now) in switches.iter().zip(&all) {
        let _ = writeln!(
            out,
            "{:>9}  {:<5}  {now:<width$}  {}",
            show::thousands(*methods),
            switch.level.to_string(),
            printable(&switch.name)
        );
    }
    out
}

fn json(
    path: &Path,
    header: &Header,
    state: &State,
    switches: &[(Arc<Switch>, u64)],
    [summed, counted, left]: [u64; 3],
) -> serde_json::Value {
    let aspects = switches.iter().map(|(switch, methods)| {
        let mut shown = serde_json::json!({
            "aspect": &*switch.name, "level": switch.level.to_string(), "methods": methods,
            "on": state.is_on(switch), "why": reason(switch, state),
        });
        if let Some(sample) = switch.sample {
            shown["sample"] = sample.to_string().into();
        }
        shown
    });
    serde_json::json!({
        "trace": path.display().to_string(),
        "pid": header.pid,
        "level": state.level.to_string(),
        "mode": state.mode.to_string(),
        "aspects": aspects.collect::<Vec<_>>(),
        "summed_up": summed,
        "counted": counted,
        "left_out": left,
    })
}
