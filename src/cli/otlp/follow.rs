//! Sends while programs run: of one trace, or of all that a program writes which is started here.

use super::{Job, PAUSES};
use crate::cli::program::{Program, traces_in};
use crate::cli::traces;
use crate::error::{Error, Result};
use crate::pipeline::maps_of;
use crate::printable::printable;
use crate::trace::export::otlp::{self, Options, Sender, Session};
use crate::trace::file::peek;
use crate::trace::tail::{Role, Tail};
use crate::trace::units::{count, counted};
use crate::trace::{Moment, Window};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Spans that make no whole request wait so long for more.
const LINGER: Duration = Duration::from_secs(1);
/// The pause where nobody waits for what is read.
const NEWS: Duration = Duration::from_millis(20);
/// Spans that make a request.
const BATCH: usize = 512;
/// Pause between two looks for further traces.
const LOOK: Duration = Duration::from_millis(100);
/// What a program that is started here records, unless its environment says otherwise: what is read is given back.
const SETTINGS: [(&str, &str); 2] = [
    ("WEAVE_TRACE_POLICY", "drop"),
    ("WEAVE_TRACE_LIMIT", "128m"),
];

/// A trace that is followed, and what is sent of it.
struct Followed {
    tail: Tail,
    session: Session,
    interval: Duration,
    sent: Instant,
    measured: Instant,
    pause: Duration,
    /// Looks after which there is nothing to wait for: the program that was started has ended, and a process that it has left goes on.
    last_look: Option<u64>,
}

impl Followed {
    fn new(path: &Path, job: &Job<'_>, options: &Options, interval: Duration) -> Result<Followed> {
        let mut tail = Tail::open(path, Role::Consumer)?;
        for map in job.exported.symbols {
            for bytes in maps_of(map)? {
                tail.add_symbols(&bytes)
                    .map_err(|e| e.in_artifact(map.display().to_string()))?;
            }
        }
        let mut options = options.clone();
        let window = &job.exported.window;
        options.selection = (options.selection).within(window, tail.header().origin, tail.end());
        let session = otlp::session(tail.header(), options, job.mappings()?);
        Ok(Followed {
            tail,
            session,
            interval,
            sent: Instant::now(),
            measured: Instant::now(),
            pause: PAUSES.0,
            last_look: None,
        })
    }

    /// Reads on for a while, and gives what is ready to the sender. The program goes on, whatever the Collector does: what finds no room
    /// is counted.
    fn turn(&mut self, sender: &Sender) -> Result<()> {
        let mut push = |batch| {
            sender.push(batch);
            true
        };
        let turn = self.tail.turn(&mut self.session)?;
        let lingered = self.sent.elapsed() >= LINGER;
        self.session
            .drain(if lingered { 1 } else { BATCH }, &mut push);
        if lingered {
            self.sent = Instant::now();
        }
        if self.measured.elapsed() >= self.interval {
            self.measured = Instant::now();
            self.session.measure(self.tail.end(), &mut push);
        }
        self.pause = match (turn.more, turn.news) {
            (true, _) => Duration::ZERO,
            // Somebody may wait for chunks.
            (_, true) if self.tail.consumes() => PAUSES.0,
            (_, true) => NEWS,
            _ => (self.pause * 2).clamp(PAUSES.0, PAUSES.1),
        };
        Ok(())
    }

    /// Whether there is nothing more to be read. `is_over`: the program that was started has ended.
    fn is_done(&mut self, is_over: bool) -> bool {
        if self.tail.is_done() || !is_over || !self.tail.is_written() {
            return self.tail.is_done();
        }
        // What is there now is read in the third look from here.
        let looks = self.tail.looks();
        looks > *self.last_look.get_or_insert(looks + 3)
    }

    /// Sends the rest, and says what was read.
    fn end(mut self, job: &Job<'_>) -> Result<()> {
        let mut push = |batch| {
            job.sender.push(batch);
            true
        };
        if self.tail.is_done() {
            self.session.finish(self.tail.end(), &mut push);
        } else {
            self.session.drain(1, &mut push);
            self.session.measure(self.tail.end(), &mut push);
        }
        if !job.exported.quiet {
            let read = counted(self.tail.records(), "record");
            let lost = count(self.tail.header().lost);
            let _ = writeln!(io::stderr(), "{read} read, {lost} lost");
        }
        if self.tail.overtaken() > 0 {
            let lost = counted(self.tail.overtaken(), "segment");
            let _ = writeln!(
                io::stderr(),
                "weave: {lost} overwritten before they were read"
            );
        }
        self.tail.close()
    }
}

fn check(window: &Window) -> Result<()> {
    match (window.from, window.until) {
        (Some(Moment::BeforeEnd(_)), _) | (_, Some(Moment::BeforeEnd(_))) => Err(Error::usage(
            "--follow does not know the trace's end: --from and --until take times since its start, or a clock's",
        )),
        _ => Ok(()),
    }
}

/// The traces that a program writes which is started here: a folder for it and all that it starts.
struct Folder {
    path: PathBuf,
    /// Deletes the folder in the end, where nobody has named one.
    _temporary: Option<tempfile::TempDir>,
    /// What is followed, or cannot be, or was there before.
    known: BTreeSet<OsString>,
}

impl Folder {
    fn new(named: &[PathBuf]) -> Result<Folder> {
        let (path, temporary) = match named {
            [] => {
                let made = tempfile::Builder::new().prefix("weave-").tempdir();
                let made = made.map_err(|e| Error::io("create", &std::env::temp_dir(), e))?;
                (made.path().to_owned(), Some(made))
            }
            [path] => {
                std::fs::create_dir_all(path).map_err(|e| Error::io("create", path, e))?;
                (path.clone(), None)
            }
            _ => {
                return Err(Error::usage(
                    "a command takes one folder, to keep its traces in",
                ));
            }
        };
        // The program may change its working directory.
        let path = std::path::absolute(&path).map_err(|e| Error::io("find", &path, e))?;
        let mut folder = Folder {
            path,
            _temporary: temporary,
            known: BTreeSet::new(),
        };
        folder.known = folder.traces().collect();
        Ok(folder)
    }

    fn traces(&self) -> impl Iterator<Item = OsString> + use<> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten();
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        names.filter(|name| Path::new(name).extension() == Some(OsStr::new("wtrace")))
    }

    /// What the program's environment has beside this process's.
    fn environment(&self) -> Result<Vec<(&'static str, OsString)>> {
        let shown = || printable(&self.path.display().to_string());
        let pattern = traces_in(&self.path)
            .ok_or_else(|| Error::usage(format!("{}: the name is no text", shown())))?;
        let mut all = vec![("WEAVE_TRACE", pattern)];
        if self._temporary.is_some() {
            let unset = SETTINGS
                .iter()
                .filter(|(name, _)| std::env::var_os(name).is_none());
            all.extend(unset.map(|&(name, value)| (name, value.into())));
        }
        Ok(all)
    }

    /// Traces that have begun since the last look.
    fn begun(&mut self) -> Vec<PathBuf> {
        let mut begun = Vec::new();
        for name in self.traces() {
            let path = self.path.join(&name);
            // A file that is there may have no header yet.
            if !self.known.contains(&name) && peek(&path).is_ok() {
                self.known.insert(name);
                begun.push(path);
            }
        }
        begun.sort();
        begun
    }
}

impl Job<'_> {
    /// Follows one trace until its process ends, or somebody asks to stop.
    pub fn follow(self, options: Options, interval: Duration) -> Result<u8> {
        let [arg] = self.exported.traces else {
            return Err(Error::usage("--follow takes one trace, or one process id"));
        };
        check(&self.exported.window)?;
        let path = traces::live(arg)?;
        let mut followed = Followed::new(&path, &self, &of_this_host(options), interval)?;
        while self.stops() == 0 && !followed.is_done(false) {
            followed.turn(&self.sender)?;
            self.sender.run(followed.pause);
            self.tell();
        }
        followed.end(&self)?;
        self.end()
    }

    /// Starts a program and sends what it records, and what others record that it starts, until it has ended; gives its status.
    pub fn command(self, options: Options, interval: Duration) -> Result<u8> {
        check(&self.exported.window)?;
        let options = of_this_host(options);
        let mut folder = Folder::new(self.exported.traces)?;
        let command = self.exported.command;
        let mut program = match Program::start(command, &folder.environment()?) {
            Ok(program) => program,
            Err(e) => {
                let name = command.first().map(|name| name.to_string_lossy());
                say(&format!("{}: {e}", name.unwrap_or_default()));
                return Ok(Program::status_of_failure(&e));
            }
        };
        let mut all: Vec<Followed> = Vec::new();
        let mut looked: Option<Instant> = None;
        let mut seen = 0;
        let status = loop {
            let status = program.look();
            // The look behind the end finds what was begun shortly before.
            if status.is_some() || looked.is_none_or(|at| at.elapsed() >= LOOK) {
                looked = Some(Instant::now());
                for path in folder.begun() {
                    seen += 1;
                    match Followed::new(&path, &self, &options, interval) {
                        Ok(followed) => all.push(followed),
                        Err(e) => say(&e.to_string()),
                    }
                }
            }
            let mut going = Vec::new();
            for mut followed in all {
                match followed.turn(&self.sender) {
                    Err(e) => say(&e.to_string()),
                    Ok(()) if followed.is_done(status.is_some()) => {
                        followed.end(&self).unwrap_or_else(|e| say(&e.to_string()));
                    }
                    Ok(()) => going.push(followed),
                }
            }
            all = going;
            if let Some(status) = status.filter(|_| all.is_empty() || program.is_asked_to_stop()) {
                break status;
            }
            let pauses = all.iter().map(|followed| followed.pause);
            self.sender.run(pauses.min().unwrap_or(PAUSES.1));
            self.tell();
        };
        for followed in all {
            followed.end(&self).unwrap_or_else(|e| say(&e.to_string()));
        }
        if seen == 0 && !self.exported.quiet {
            say(
                "the program has written no trace: is it woven, and does its command name no other (-Dweave.trace)?",
            );
        }
        // What the Collector took is told; the status is the program's.
        self.end_unless(&|_| program.is_asked_to_stop())?;
        Ok(status)
    }
}

/// What is followed runs on this machine.
fn of_this_host(mut options: Options) -> Options {
    options.resource.splice(0..0, super::host());
    options
}

fn say(what: &str) {
    let _ = writeln!(io::stderr(), "weave: {}", printable(what));
}
