//! OpenTelemetry's protocol: spans, metrics and logs of calls, sent to a Collector.
//!
//! ```text
//! Trace (at rest) | Tail (while it is written) -> Session (spans, counts) -> requests -> Sender (queue, retries)
//! ```
//!
//! Ids of spans come from the process, thread, start and method: exporting a trace again gives the same.

mod measures;
mod proto;
mod send;
mod spans;

#[cfg(test)]
mod tests;

pub use send::{Config, Protocol, Sender, Sent, Signal, pairs};
pub use spans::Session;

use super::Selection;
use crate::mapping::Mapping;
pub use crate::spans::Kind;
use crate::symbols::Symbols;
use crate::trace::format::Header;
use prost::Message;
use proto::{KeyValue, Metric, Resource, Scope, text};
use sha1::{Digest, Sha1};
use std::sync::Arc;

/// The conventions that names of attributes follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.44.0";
/// Spans or log records of a request.
const BATCH: usize = 512;
/// Methods whose metrics make a request.
const METHODS: usize = 1_000;

/// What is exported, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which calls become spans.
    pub selection: Selection,
    /// Spans are sent.
    pub spans: bool,
    /// Metrics are sent.
    pub metrics: bool,
    /// Exceptions are events of spans.
    pub events: bool,
    /// Exceptions are log records.
    pub logs: bool,
    /// What spans of roots are.
    pub root_kind: Kind,
    /// `service.name` and other attributes of what is exported.
    pub resource: Vec<(String, String)>,
}

/// A request that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What it is of.
    pub signal: Signal,
    /// Spans, data points or log records in it.
    pub items: u64,
    /// The encoded request.
    pub body: Vec<u8>,
}

/// Begins a session for a process.
pub fn session(header: &Header, options: Options, mappings: Vec<Mapping>) -> Session {
    let resource = resource(header, &options.resource);
    Session::new(header, options, mappings, resource)
}

/// The attributes of a process; the user's settings override the trace.
fn resource(header: &Header, named: &[(String, String)]) -> Resource {
    let program = header.command.split_whitespace().next().unwrap_or("");
    let program = program.rsplit(['/', '\\']).next().unwrap_or("");
    let service = match program {
        "" => "unknown_service".to_owned(),
        program => format!("unknown_service:{program}"),
    };
    let language = match program {
        "java" | "javaw" | "java.exe" | "javaw.exe" => "java",
        "dotnet" | "dotnet.exe" => "dotnet",
        // Hosts that tell what they run.
        jar if jar.ends_with(".jar") => "java",
        assembly if assembly.ends_with(".dll") => "dotnet",
        // Unless symbols tell (`know_platform`), what reads the trace and sends it.
        _ => "rust",
    };
    let mut attributes: Vec<KeyValue> = vec![
        text("service.instance.id", instance(header)),
        text(LANGUAGE, language),
        text("service.name", service),
        proto::number("process.pid", header.pid),
        text("process.command_line", header.command.as_str()),
        text("telemetry.sdk.name", "weave"),
        text("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        text("telemetry.distro.name", "weave"),
        text("telemetry.distro.version", env!("CARGO_PKG_VERSION")),
    ];
    if !program.is_empty() {
        attributes.push(text("process.executable.name", program));
    }
    for (key, value) in named {
        attributes.retain(|known| known.key != *key);
        attributes.push(text(key, value.as_str()));
    }
    attributes.sort_by(|a, b| a.key.cmp(&b.key));
    Resource { attributes }
}

const LANGUAGE: &str = "telemetry.sdk.language";

/// Names the language by the methods that were woven, which tell what the command does not; what the user says stays.
fn know_platform(resource: &mut Resource, symbols: &Symbols, named: &[(String, String)]) {
    let Some(of_jvm) = symbols.are_of_jvm() else {
        return;
    };
    let language = if of_jvm { "java" } else { "dotnet" };
    let mut attributes = resource.attributes.iter_mut();
    let attribute = attributes.find(|known| known.key == LANGUAGE);
    if let Some(attribute) = attribute.filter(|_| named.iter().all(|(key, _)| key != LANGUAGE)) {
        *attribute = text(LANGUAGE, language);
    }
}

/// A version 5 UUID of a process, which any export of its trace has, in the namespace that the conventions give.
fn instance(header: &Header) -> String {
    const NAMESPACE: u128 = 0x4d63009a_8d0f_11ee_aad7_4c796ed8e320;
    let hash = Sha1::new()
        .chain_update(NAMESPACE.to_be_bytes())
        .chain_update(header.origin.to_le_bytes())
        .chain_update(header.pid.to_le_bytes())
        .finalize();
    let mut id = [0; 16];
    id.copy_from_slice(&hash[..16]);
    id[6] = id[6] & 0x0f | 0x50;
    id[8] = id[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(id));
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn scope() -> Scope {
    scope_of("")
}

/// The scope of spans: the pack that their rule is from (`weave.jdbc`), or weave. Packs have the version of the weave that has them.
fn scope_of(pack: &str) -> Scope {
    let name = match pack.strip_prefix("pack:").unwrap_or(pack) {
        "" => "weave".to_owned(),
        pack => format!("weave.{pack}"),
    };
    Scope {
        name,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn spans_request(resource: &Resource, spans: Vec<spans::Ready>) -> Batch {
    let items = spans.len() as u64;
    let mut groups: Vec<(Arc<str>, Vec<Vec<u8>>)> = Vec::new();
    for ready in spans {
        match groups.iter_mut().find(|(scope, _)| *scope == ready.scope) {
            Some((_, group)) => group.push(ready.span),
            None => groups.push((ready.scope, vec![ready.span])),
        }
    }
    let groups = groups.into_iter().map(|(pack, spans)| proto::ScopeSpans {
        scope: Some(scope_of(&pack)),
        spans,
    });
    let request = proto::TraceRequest {
        resource_spans: vec![proto::ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: groups.collect(),
            schema_url: SCHEMA.to_owned(),
        }],
    };
    Batch {
        signal: Signal::Traces,
        items,
        body: request.encode_to_vec(),
    }
}

fn metrics_request(resource: &Resource, metrics: Vec<Metric>, items: u64) -> Batch {
    let request = proto::MetricsRequest {
        resource_metrics: vec![proto::ResourceMetrics {
            resource: Some(resource.clone()),
            scope_metrics: vec![proto::ScopeMetrics {
                scope: Some(scope()),
                metrics,
            }],
            schema_url: SCHEMA.to_owned(),
        }],
    };
    Batch {
        signal: Signal::Metrics,
        items,
        body: request.encode_to_vec(),
    }
}

fn logs_request(resource: &Resource, log_records: Vec<proto::LogRecord>) -> Batch {
    let items = log_records.len() as u64;
    let request = proto::LogsRequest {
        resource_logs: vec![proto::ResourceLogs {
            resource: Some(resource.clone()),
            scope_logs: vec![proto::ScopeLogs {
                scope: Some(scope()),
                log_records,
            }],
            schema_url: SCHEMA.to_owned(),
        }],
    };
    Batch {
        signal: Signal::Logs,
        items,
        body: request.encode_to_vec(),
    }
}
