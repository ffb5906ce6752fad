//! `weave collect`: takes records out of traces while they are written, and writes them on.

use super::{DONE, NOT_DONE};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::trace::collect::{Collector, Options};
use crate::trace::units::parse_size;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Pauses between two looks: short while there is something, and never longer than a heartbeat may take.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(64));
/// How long it goes on taking when it is asked to stop.
const LAST: Duration = Duration::from_secs(3);
/// Pause between two looks for new traces.
const LOOK: Duration = Duration::from_millis(500);

/// Collect live traces so that recording can continue past the size limit
///
/// For programs that run with WEAVE_TRACE_POLICY=block (they wait for the collector, nothing is lost) or drop (they
/// never wait). Traces of the default policy, ring, are copied when their process has ended. Named traces are
/// collected until their processes have ended; a folder, with all traces that appear in it, until SIGINT or SIGTERM.
#[derive(clap::Args, Debug, Clone)]
#[command(after_help = "Examples:
  weave collect traces/ -o collected/ --compress --keep 20
  weave collect weave-4711.wtrace -o collected/
  weave report collected/")]
pub struct CollectArgs {
    /// Traces, or folders in which all *.wtrace are collected, also those that appear later
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,

    /// The folder to write to; created if it is missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Size at which a file is full, and the next begins
    #[arg(long, value_name = "SIZE", default_value = "256m", value_parser = parse_size)]
    pub rotate: u64,

    /// Compress full files (zstd)
    #[arg(long)]
    pub compress: bool,

    /// Number of files to keep for all traces of this collection; the oldest are deleted [default: all]
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,

    /// Bytes to keep for all traces of this collection; the oldest files are deleted [default: all]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_size: Option<u64>,

    /// Delete each trace when its process has ended and all of it is collected
    #[arg(long)]
    pub remove: bool,
}

/// Runs the subcommand until its traces have ended, or it is asked to stop.
pub fn run(args: &CollectArgs) -> Result<u8> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed))
        .map_err(|e| Error::new(Kind::Io, format!("cannot wait for signals: {e}")))?;
    collect(args, &stop, &mut std::io::stderr())
}

fn collect(args: &CollectArgs, stop: &AtomicBool, log: &mut dyn Write) -> Result<u8> {
    let options = Options {
        rotate: args.rotate.max(1),
        compress: args.compress,
        keep: args.keep.unwrap_or(0),
        max_size: args.max_size.unwrap_or(0),
        remove: args.remove,
    };
    let mut collector = Collector::new(&args.output, options)?;
    let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.traces.iter().partition(|path| path.is_dir());
    for folder in &folders {
        collector.watch(folder)?;
    }
    let mut status = DONE;
    for path in files {
        if !collector.attach(path)? {
            return Err(Error::new(
                Kind::Malformed,
                format!("{}: not a trace that can be collected", path.display()),
            ));
        }
    }
    let mut refused: Vec<PathBuf> = Vec::new();
    let mut looked: Option<Instant> = None;
    let mut pause = PAUSES.0;
    while !stop.load(Ordering::Relaxed) {
        if looked.is_none_or(|at| at.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            status = status.max(look(&folders, &mut refused, &mut collector, log));
        }
        let turn = collector.turn()?;
        tell(&mut collector, log);
        if folders.is_empty() && collector.is_done() {
            break;
        }
        if turn.more {
            continue;
        }
        pause = match turn.chunks {
            0 => (pause * 2).min(PAUSES.1),
            _ => PAUSES.0,
        };
        std::thread::sleep(pause);
    }
    // A trace may have appeared since the last look.
    status = status.max(look(&folders, &mut refused, &mut collector, log));
    // What is full by now is taken along, but not for ever: a program may record faster than this is.
    let asked = Instant::now();
    while collector.turn()?.more && asked.elapsed() < LAST {}
    tell(&mut collector, log);
    collector.stop()?;
    Ok(status)
}

/// Attaches to traces that have appeared in the folders; gives the exit status.
fn look(
    folders: &[&PathBuf],
    refused: &mut Vec<PathBuf>,
    collector: &mut Collector,
    log: &mut dyn Write,
) -> u8 {
    let mut status = DONE;
    for path in folders.iter().flat_map(|folder| traces(folder)) {
        if refused.contains(&path) {
            continue;
        }
        if let Err(e) = collector.attach(&path) {
            let _ = writeln!(log, "weave: {e}");
            refused.push(path);
            status = NOT_DONE;
        }
    }
    status
}

fn tell(collector: &mut Collector, log: &mut dyn Write) {
    for news in collector.news() {
        let _ = writeln!(
            log,
            "weave: {}: {}",
            printable(&news.path.display().to_string()),
            printable(&news.what)
        );
    }
}

/// The traces in a folder now.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = (std::fs::read_dir(folder).into_iter().flatten())
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "wtrace") && path.is_file())
        .collect();
    all.sort();
    all
}
