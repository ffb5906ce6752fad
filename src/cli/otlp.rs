//! `weave export --to otlp`: the calls of traces to an OpenTelemetry Collector, at rest or while they are recorded.

mod follow;

use super::rules::read_mapping;
use super::{DONE, NOT_DONE, traces};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::trace::counted::{left_out, unrecorded};
use crate::trace::export::Selection;
use crate::trace::export::otlp::{
    self, Batch, Config, Kind as SpanKind, Options, Protocol, Sender, Sent,
};
use crate::trace::units::{counted, parse_duration, parse_size};
use crate::trace::{Trace, Window};
use indicatif::ProgressBar;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long to try when the Collector does not answer, and where a container's end waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_OF_COMMAND: Duration = Duration::from_secs(5);
/// Calls shorter than this are no spans by default: one millisecond.
const MIN: u64 = 1_000_000;
/// Levels of calls that are spans by default.
const DEPTH: u32 = 16;
/// Pauses between two looks at a trace.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(64));

/// What goes with `--to otlp`.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "OpenTelemetry (--to otlp)")]
pub struct OtlpArgs {
    /// The Collector [default: OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318, of gRPC http://localhost:4317]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,

    /// The protocol [default: OTEL_EXPORTER_OTLP_PROTOCOL, or http/protobuf]
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<By>,

    /// A header for each request, such as a key; may be repeated (also OTEL_EXPORTER_OTLP_HEADERS)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,

    /// Signals to send
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SIGNALS", default_values_t = [What::Traces, What::Metrics])]
    signals: Vec<What>,

    /// service.name [default: OTEL_SERVICE_NAME, or unknown_service and the program]
    #[arg(long, value_name = "NAME")]
    service: Option<String>,

    /// Span kind of the roots
    #[arg(long, value_enum, value_name = "KIND", default_value_t = RootKind::Server)]
    root_kind: RootKind,

    /// Send while the program runs, until it ends; takes one trace or process id, or starts the command behind --
    #[arg(long)]
    follow: bool,

    /// Bytes of requests that wait while the Collector is down
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = parse_size)]
    buffer: u64,

    /// How long to try when the Collector does not answer; with --follow, after the program has ended [default: 60s, of a
    /// command 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    patience: Option<u64>,

    /// With --follow, how often metrics are sent [default: OTEL_METRIC_EXPORT_INTERVAL, or 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    interval: Option<u64>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum By {
    /// HTTP/1.1 with protobuf
    #[value(name = "http/protobuf", alias = "http")]
    Http,
    /// gRPC
    Grpc,
}

/// Span kinds, as OpenTelemetry names them.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum RootKind {
    Internal,
    Server,
    Client,
    Producer,
    Consumer,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Spans
    Traces,
    /// Calls, errors and durations of each method
    Metrics,
    /// Exceptions as log records
    Logs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// This machine, on which a process that is followed runs.
fn host() -> Vec<(String, String)> {
    let host = host_of_system();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    // The conventions' words.
    let os = if os == "macos" { "darwin" } else { os };
    let arch = match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "x86",
        arch => arch,
    };
    let all = [
        ("host.name", host.name),
        ("host.arch", Some(arch.to_owned())),
        ("os.type", Some(os.to_owned())),
        ("os.description", host.description),
    ];
    let all = all
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    all.filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

struct Host {
    name: Option<String>,
    /// The system and its version.
    description: Option<String>,
}

#[cfg(unix)]
fn host_of_system() -> Host {
    let text = |part: &[libc::c_char]| {
        let bytes: Vec<u8> = part
            .iter()
            .map(|&c| c as u8)
            .take_while(|&b| b != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    // SAFETY: plain data, which the call fills.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: it lives as long as the call.
    if unsafe { libc::uname(&raw mut names) } != 0 {
        return Host {
            name: None,
            description: None,
        };
    }
    Host {
        name: Some(text(&names.nodename)),
        description: Some(format!("{} {}", text(&names.sysname), text(&names.release))),
    }
}

#[cfg(not(unix))]
fn host_of_system() -> Host {
    Host {
        name: environment("COMPUTERNAME"),
        description: environment("OS"),
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl OtlpArgs {
    /// Whether something is asked for that only makes sense with `--to otlp`.
    pub fn is_used(&self) -> bool {
        self.endpoint.is_some()
            || self.protocol.is_some()
            || !self.header.is_empty()
            || self.service.is_some()
            || self.follow
            || self.interval.is_some()
            || self.patience.is_some()
    }

    fn config(&self) -> Result<Config> {
        let protocol = self.protocol.map(|by| match by {
            By::Http => Protocol::Http,
            By::Grpc => Protocol::Grpc,
        });
        let endpoint = self.endpoint.as_deref();
        Config::new(endpoint, protocol, &self.header, self.buffer, &environment)
    }

    fn interval(&self) -> Result<Duration> {
        let ms = match environment("OTEL_METRIC_EXPORT_INTERVAL") {
            None => 60_000,
            Some(ms) => (ms.parse()).map_err(|_| {
                Error::usage(format!(
                    "OTEL_METRIC_EXPORT_INTERVAL: {ms} is not a number of milliseconds"
                ))
            })?,
        };
        Ok(self
            .interval
            .map_or(Duration::from_millis(ms), Duration::from_nanos))
    }

    fn options(&self, mut selection: Selection, min: Option<u64>) -> Result<Options> {
        selection.min = min.unwrap_or(MIN);
        selection.depth = selection.depth.or(Some(DEPTH));
        let mut resource = match environment("OTEL_RESOURCE_ATTRIBUTES") {
            None => Vec::new(),
            Some(list) => otlp::pairs(&list)
                .map_err(|e| Error::usage(format!("OTEL_RESOURCE_ATTRIBUTES: {e}")))?,
        };
        if let Some(service) = self
            .service
            .clone()
            .or_else(|| environment("OTEL_SERVICE_NAME"))
        {
            resource.push(("service.name".to_owned(), service));
        }
        // How the conventions let exceptions move from events of spans to log records.
        let opted = environment("OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN").unwrap_or_default();
        let opted = |value: &str| opted.split(',').any(|one| one.trim() == value);
        Ok(Options {
            selection,
            spans: self.signals.contains(&What::Traces),
            metrics: self.signals.contains(&What::Metrics),
            events: !opted("logs") || opted("logs/dup"),
            logs: self.signals.contains(&What::Logs) || opted("logs") || opted("logs/dup"),
            root_kind: match self.root_kind {
                RootKind::Internal => SpanKind::Internal,
                RootKind::Server => SpanKind::Server,
                RootKind::Client => SpanKind::Client,
                RootKind::Producer => SpanKind::Producer,
                RootKind::Consumer => SpanKind::Consumer,
            },
            resource,
        })
    }
}

/// What is exported, as the arguments of all formats say it.
pub struct Exported<'a> {
    pub traces: &'a [PathBuf],
    /// The program that is started, and whose traces are followed; nothing where they are there.
    pub command: &'a [OsString],
    pub symbols: &'a [PathBuf],
    pub mapping: &'a [PathBuf],
    /// What of any trace; the window is one of each trace.
    pub selection: Selection,
    pub window: Window,
    /// The least length of a call, in nanoseconds, where one was asked for.
    pub min: Option<u64>,
    pub quiet: bool,
}

/// Sends what is exported.
pub fn run(args: &OtlpArgs, mut exported: Exported<'_>) -> Result<u8> {
    let sender = Sender::new(args.config()?)?;
    let selection = std::mem::take(&mut exported.selection);
    let options = args.options(selection, exported.min)?;
    let stop = Arc::new(AtomicU32::new(0));
    let patience = |usual: Duration| args.patience.map_or(usual, Duration::from_nanos);
    if !exported.command.is_empty() {
        if !args.follow {
            return Err(Error::usage("a command requires --follow"));
        }
        let job = Job {
            exported,
            sender,
            patience: patience(PATIENCE_OF_COMMAND),
            stop: &stop,
        };
        return job.command(options, args.interval()?);
    }
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        asked.fetch_add(1, Ordering::Relaxed);
    })
    .map_err(|e| Error::new(Kind::Io, format!("cannot wait for signals: {e}")))?;
    let job = Job {
        exported,
        sender,
        patience: patience(PATIENCE),
        stop: &stop,
    };
    match args.follow {
        true => job.follow(options, args.interval()?),
        false => job.whole(&options),
    }
}

struct Job<'a> {
    exported: Exported<'a>,
    sender: Sender,
    patience: Duration,
    /// How often the user asked to stop.
    stop: &'a AtomicU32,
}

impl Job<'_> {
    fn stops(&self) -> u32 {
        self.stop.load(Ordering::Relaxed)
    }

    fn tell(&self) {
        for what in self.sender.news() {
            let _ = writeln!(io::stderr(), "weave: {}", printable(&what));
        }
    }

    fn mappings(&self) -> Result<Vec<crate::mapping::Mapping>> {
        (self.exported.mapping.iter())
            .map(|path| read_mapping(path))
            .collect()
    }

    /// Waits for room, and puts a request into the queue; false if the Collector has been silent for too long.
    fn wait_and_push(&self, batch: Batch) -> bool {
        while !self.sender.has_room(&batch) {
            if self.stops() > 0 || self.sender.silence() > self.patience {
                return false;
            }
            self.sender.run(PAUSES.0);
            self.tell();
        }
        self.sender.push(batch);
        true
    }

    fn whole(self, options: &Options) -> Result<u8> {
        let files = traces::files(self.exported.traces)?;
        let mut all: Vec<Trace> = Vec::new();
        for parts in &files {
            all.push(traces::open(parts, &files)?);
        }
        traces::add_symbols(&mut all, self.exported.symbols)?;
        let bar = match !self.exported.quiet && io::stderr().is_terminal() {
            true => ProgressBar::new(1_000),
            false => ProgressBar::hidden(),
        };
        let mut is_whole = true;
        for (number, trace) in all.iter().enumerate() {
            let (header, mut options) = (trace.header(), options.clone());
            options.selection =
                (options.selection).within(&self.exported.window, header.origin, trace.end());
            is_whole &= options.selection.is_of_whole_processes();
            let mut session = otlp::session(header, options, self.mappings()?);
            let share = |part: f64| (number as f64 + part) * 1_000.0 / all.len() as f64;
            let done = session.whole(trace, &mut |batch| self.wait_and_push(batch), &mut |part| {
                bar.set_position(share(part) as u64);
            });
            if !done {
                break;
            }
        }
        bar.finish_and_clear();
        let unrecorded = all.iter().map(unrecorded).sum();
        if !self.exported.quiet && unrecorded > 0 && !is_whole {
            let _ = writeln!(
                io::stderr(),
                "{}",
                left_out(unrecorded, "counted or summed up")
            );
        }
        self.end()
    }

    /// Waits until all is sent, or nobody answers any more.
    fn end(self) -> Result<u8> {
        let asked = self.stops();
        self.end_unless(&|job| job.stops() > asked)
    }

    /// The same, until somebody asks to stop.
    fn end_unless(self, is_asked: &dyn Fn(&Self) -> bool) -> Result<u8> {
        let begun = Instant::now();
        while !self.sender.is_idle()
            && !is_asked(&self)
            && self.sender.silence().min(begun.elapsed()) < self.patience
        {
            self.sender.run(PAUSES.0);
            self.tell();
        }
        let Job {
            exported, sender, ..
        } = self;
        let Sent {
            requests,
            spans,
            rejected,
            dropped,
            unsent,
            ..
        } = sender.stop();
        let mut out = io::stderr().lock();
        if !exported.quiet {
            let (spans, requests) = (counted(spans, "span"), counted(requests, "request"));
            let _ = writeln!(out, "{spans} exported, {requests} answered");
        }
        for (number, why) in [
            (rejected, "rejected by the Collector"),
            (
                dropped,
                "dropped: no room while the Collector did not answer (--buffer)",
            ),
            (unsent, "not sent: the Collector does not answer"),
        ] {
            if number > 0 {
                let _ = writeln!(out, "weave: {} {why}", counted(number, "item"));
            }
        }
        Ok(match rejected + dropped + unsent {
            0 => DONE,
            _ => NOT_DONE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::export::otlp::Signal;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        otlp: OtlpArgs,
    }

    #[test]
    fn an_endpoint_is_the_base_of_all_signals() {
        let line = Line::parse_from(["x", "--endpoint", "http://there:4318/"]);
        let config = line.otlp.config().unwrap();
        assert_eq!(
            config.target(Signal::Metrics).uri(),
            "http://there:4318/v1/metrics"
        );
        let line = Line::parse_from(["x", "--protocol", "grpc", "--endpoint", "http://there:1"]);
        let config = line.otlp.config().unwrap();
        let uri = config.target(Signal::Traces).uri();
        assert_eq!(
            uri,
            "http://there:1/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        );
        assert!(line.otlp.is_used());
    }

    #[test]
    fn a_password_in_an_endpoint_is_never_shown() {
        let config = |endpoint: &str| {
            Line::parse_from(["x", "--endpoint", endpoint])
                .otlp
                .config()
        };
        let target = config("http://me:pass%40word@there:4318").unwrap();
        assert_eq!(
            target.target(Signal::Traces).uri(),
            "http://there:4318/v1/traces"
        );
        for wrong in [
            "ftp://me:secret@there",
            "http://me:secret@",
            "me:secret@x y",
        ] {
            let shown = config(wrong).err().unwrap().to_string();
            assert!(!shown.contains("secret"), "{shown}");
        }
    }
}
