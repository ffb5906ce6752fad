//! `weave control`: switches what a running process records.

use super::{DONE, print, show, traces};
use crate::aspect::rules::nearest;
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::switches::{LEVEL_WORDS, Level, Switch};
use crate::trace::consumer::has_it_mapped;
use crate::trace::control::{
    Less, MODE_WORDS, MOST, Mode, Request, State, decided, is_after, may_wait, number_after,
    request_file, states,
};
use crate::trace::file::peek;
use crate::trace::format::{FLAG_ORDERLY, Header};
use crate::trace::{Trace, lock, regular};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the process has to take a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long another `weave control` may have its turn before this one.
const TURN: Duration = Duration::from_secs(15);
/// Pause between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// Switch what a running program records, or show what is on
///
/// It acts within a second. Aspects are switched by level or by name where a rule of the build has a `level`; the mode is of all
/// their methods. Calls that are open end in the mode in which they began. Without a switch it shows what is on.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  weave control 4711                              shows what is on
  weave control 4711 --level debug
  weave control 4711 --enable sql --disable ui
  weave control weave-4711.wtrace --mode aggregate
  weave control 4711 --mode off                   nothing, until
  weave control 4711 --reset                      as it began")]
pub struct ControlArgs {
    /// The trace that the process writes, or its id (Linux)
    #[arg(value_name = "TRACE|PID")]
    trace: PathBuf,

    /// Switch on the aspects of this level and of the levels before it: error, info, debug
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,

    /// Switch this aspect on, whatever the level; may be repeated
    #[arg(long, value_name = "ASPECT")]
    enable: Vec<String>,

    /// Switch this aspect off, whatever the level; may be repeated
    #[arg(long, value_name = "ASPECT")]
    disable: Vec<String>,

    /// How much of each call goes into the trace: rules (as the rules say), off, count, aggregate, record, auto (as the program decides)
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<Mode>,

    /// Reset to the initial state first
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
    // The library looks beside the file itself. What lies in a process's own mount namespace has no other path.
    let path = match named.is_symlink() {
        true => (named.canonicalize()).map_err(|e| Error::io("read", &named, e))?,
        false => named,
    };
    // What is asked for counts from what the one before has asked for.
    let turn = match args.asks() {
        true => Some(turn(&path)?),
        false => None,
    };
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
            "process {} has ended and can no longer be controlled",
            header.pid
        ));
    }
    if !header.controlled || header.nonce == [0; 16] {
        return not_done(format!(
            "the hook library of process {} takes no requests: it is older than this weave, or in a class loader that may go",
            header.pid
        ));
    }
    let switches = trace.symbols().switches();
    let file = request_file(&path, &header.nonce);
    let before = present(&trace, &file, turn.is_some());
    let next = args.next(&before, &first(&trace), &switches)?;
    let is_waiting = request(&file, header).is_some_and(|r| may_wait(r.number, header.request));
    let state = match next == before && !args.reset && !is_waiting {
        true => before,
        false => {
            let request = Request::to(header, request(&file, header), next, args.reset);
            ask(&path, &file, &request)?;
            request.state
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
    fn asks(&self) -> bool {
        let names = self.enable.len() + self.disable.len();
        self.level.is_some() || self.mode.is_some() || self.reset || names > 0
    }

    /// What is asked for. `first` is what the program began with.
    fn next(
        &self,
        before: &State,
        first: &State,
        switches: &[(Arc<Switch>, u64)],
    ) -> Result<State> {
        let mut next = if self.reset { first } else { before }.clone();
        if self.asks() && switches.is_empty() {
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
                "aspect `{both}` is in both --enable and --disable"
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
    let file = regular::open(path).map_err(|e| Error::io("read", path, e))?;
    // Where there are no such locks, or none is held for a moment, the mapping tells; where that cannot be seen it may live.
    let sees_processes = Path::new("/proc/self/maps").exists();
    Ok(!lock::has_writer(&file) && sees_processes && !has_it_mapped(header.pid, path))
}

/// Waits for this one's turn, which goes on until the file is closed: of two requests at once none takes the other's place.
fn turn(path: &Path) -> Result<File> {
    let until = Instant::now() + TURN;
    let file = match regular::open_as(path, OpenOptions::new().read(true).write(true)) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(not_allowed(path));
        }
        opened => opened.map_err(|e| Error::io("open", path, e))?,
    };
    while !lock::take_controller(&file) {
        if Instant::now() > until {
            return Err(Error::new(
                Kind::NotDone,
                format!(
                    "another weave control is switching {} and does not end",
                    path.display()
                ),
            ));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(file)
}

fn not_allowed(path: &Path) -> Error {
    let what = format!(
        "{}: only the user who runs the program, and root, can switch it",
        path.display()
    );
    Error::new(Kind::NotDone, what)
}

/// The request that lies there, if it is for this process.
fn request(file: &Path, header: &Header) -> Option<Request> {
    let mut text = String::new();
    let there = regular::open_own(file).ok()?;
    (there.take(MOST as u64 + 1).read_to_string(&mut text)).ok()?;
    let request = Request::parse(&text)?;
    let own = (header.pid, header.origin, header.nonce);
    ((request.pid, request.origin, request.nonce) == own).then_some(request)
}

/// What is on: the last request that was taken, else what the trace tells. For who asks for more: the one that still waits, if one does.
fn present(trace: &Trace, file: &Path, asks: bool) -> State {
    let taken = trace.header().request;
    let request = request(file, trace.header())
        .filter(|request| request.number == taken || asks && may_wait(request.number, taken));
    match request {
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

impl Request {
    /// The next one to a process, behind one that may be waiting.
    fn to(header: &Header, waiting: Option<Request>, state: State, reset: bool) -> Request {
        let waiting = waiting.filter(|waiting| may_wait(waiting.number, header.request));
        Request {
            pid: header.pid,
            origin: header.origin,
            nonce: header.nonce,
            number: number_after(waiting.as_ref().map_or(header.request, |w| w.number)),
            state,
            reset: reset || waiting.is_some_and(|waiting| waiting.reset),
        }
    }
}

/// Leaves a request, and waits until it is taken.
fn ask(path: &Path, file: &Path, asked: &Request) -> Result<()> {
    let text = asked.to_string();
    if text.len() > MOST {
        return Err(Error::usage(format!(
            "the names of the aspects that are switched take more than {MOST} bytes: use --level"
        )));
    }
    put(path, file, text.as_bytes())?;
    let until = Instant::now() + PATIENCE;
    loop {
        let now = peek(path)?;
        let what = match Instant::now() > until {
            // Where there are no locks, another one may have come in between.
            _ if now.request == asked.number => match request(file, &now) {
                Some(other) if other != *asked && other.number == asked.number => {
                    "took another request instead of this one".to_owned()
                }
                _ => return Ok(()),
            },
            _ if is_after(now.request, asked.number) => return Ok(()),
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
        let what = format!("process {} {what}", asked.pid);
        return Err(Error::new(Kind::NotDone, what));
    }
}

/// Writes a request under a name that nobody else has, for its owner alone, and then gives it its own: what lies there is
/// replaced, never written to.
fn put(trace: &Path, file: &Path, text: &[u8]) -> Result<()> {
    let failed = |e| Error::io("write", file, e);
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".weave-").suffix(".tmp");
    let mut new = builder.tempfile_in(folder).map_err(failed)?;
    new.write_all(text).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let owner = trace
            .metadata()
            .map_err(|e| Error::io("read", trace, e))?
            .uid();
        let own = new.as_file().metadata().map_err(failed)?.uid();
        if owner != own && fchown(new.as_file(), Some(owner), None).is_err() {
            return Err(not_allowed(trace));
        }
    }
    #[cfg(not(unix))]
    let _ = trace;
    new.persist(file).map(drop).map_err(|e| failed(e.error))
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
