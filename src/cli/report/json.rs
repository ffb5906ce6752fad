//! The report as JSON; `docs/report.md` has the schema.

use super::calls::Call;
use super::{View, request, requests};
use crate::error::Error;
use crate::trace::format::{THREAD_DAEMON, THREAD_VIRTUAL};
use crate::trace::methods::split_label;
use crate::trace::metrics::{Series, Unit};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;

/// Version of the schema: fields may be added without a new one.
const VERSION: u32 = 1;

#[derive(Serialize)]
pub(super) struct Report<'a> {
    version: u32,
    traces: Vec<Trace<'a>>,
    unreadable: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<Vec<&'a str>>,
    methods: Vec<Method<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<Thread<'a>>>,
    exceptions: Vec<Exception<'a>>,
    unlisted_exceptions: u64,
    aggregated_errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<Vec<Node<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Vec<Call<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<serde_json::Value>,
}

/// The part of a trace that was looked at.
#[derive(Serialize)]
struct Window {
    from_ns: u64,
    until_ns: u64,
}

#[derive(Serialize)]
struct Trace<'a> {
    file: &'a str,
    command: &'a str,
    artifacts: &'a [String],
    pid: u64,
    started_unix_ns: u64,
    wall_ns: u64,
    orderly: bool,
    threads: u64,
    records: u64,
    lost_records: u64,
    overwritten_chunks: u64,
    missing_segments: u64,
    stack_short_records: u64,
    hook_failures: u64,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<Metric>,
}

#[derive(Serialize)]
struct Metric {
    name: &'static str,
    unit: &'static str,
    per_second: bool,
    mean: f64,
    min: f64,
    max: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

#[derive(Serialize)]
struct Method<'a> {
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a serde_json::Value>,
    #[serde(skip_serializing_if = "is_false")]
    other_values: bool,
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    method: Option<&'a str>,
    descriptor: Option<&'a str>,
    artifact: Option<&'a str>,
    source: Option<&'a str>,
    line: Option<u32>,
    calls: u64,
    #[serde(skip_serializing_if = "is_zero")]
    counted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    aggregated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_trees: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_between: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_from_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_from_ns: Option<u64>,
    running: Option<u64>,
    cut: Option<u64>,
    errors: Option<u64>,
    self_ns: Option<u64>,
    total_ns: Option<u64>,
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical: Option<Logical>,
}

#[derive(Serialize)]
struct Logical {
    calls: u64,
    pieces: u64,
    active_ns: u64,
    waiting_ns: u64,
    open: u64,
}

#[derive(Serialize)]
struct Thread<'a> {
    trace: usize,
    number: u32,
    name: &'a str,
    #[serde(rename = "virtual")]
    is_virtual: bool,
    daemon: bool,
    calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_from: Option<u64>,
    records: u64,
    busy_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ns: Option<u64>,
    first_ns: u64,
    last_ns: u64,
    lost_records: u64,
    missing_segments: u64,
}

#[derive(Serialize)]
struct Exception<'a> {
    #[serde(rename = "type")]
    type_name: &'a str,
    message: &'a str,
    count: u64,
    messages: Vec<Message<'a>>,
    further_messages: u64,
    paths: Vec<Path<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct Path<'a> {
    count: u64,
    thrown_in: &'a str,
    left: &'a str,
    caught_in: Option<&'a str>,
}

#[derive(Serialize)]
struct Node<'a> {
    id: u32,
    parent: Option<u32>,
    label: &'a str,
    calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_from: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    resumed: u64,
    running: u64,
    errors: u64,
    self_ns: u64,
    total_ns: u64,
}

/// What the values of a series count.
pub(super) fn unit_of(series: &Series) -> &'static str {
    match series.metric.unit {
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "ns",
        Unit::Count => "count",
    }
}

fn metric(series: &Series) -> Metric {
    Metric {
        name: series.metric.name,
        unit: unit_of(series),
        per_second: series.metric.grows,
        mean: series.mean,
        min: series.min(),
        max: series.max(),
        total: series.total,
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde hands it so
fn is_false(b: &bool) -> bool {
    !b
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl View<'_> {
    pub(super) fn json(&self, out: &mut dyn Write, failed: &[Error]) -> io::Result<()> {
        let rows = self.rows();
        let calls = self.args.calls.then(|| self.json_calls());
        let report = Report {
            threads: Some(self.json_threads()),
            tree: self.args.tree.then(|| self.json_nodes()),
            unlisted_calls: calls
                .as_ref()
                .map(|calls| self.analysis.fitting - calls.len() as u64),
            calls,
            requests: (self.requests.as_ref()).map(|found| requests::to_json(self.args, found)),
            request: (self.request.as_ref()).map(|found| request::to_json(self, found)),
            ..self.document(&rows[..self.limit(rows.len())], failed)
        };
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)
    }

    /// The report with these rows of the table, without threads and tree.
    /// Labels of the methods whose time does not count, if any were asked for.
    pub(super) fn excluded(&self) -> Option<Vec<&str>> {
        let excludes = self.args.excludes(&Arc::default());
        if excludes.is_empty() {
            return None;
        }
        let rows = self
            .analysis
            .methods
            .rows()
            .iter()
            .zip(&self.analysis.stats);
        let excluded = rows.enumerate().filter(|(_, (method, stats))| {
            method.of_value().is_none() && stats.calls > 0 && excludes.takes(method)
        });
        Some(excluded.map(|(row, _)| self.label(row as u32)).collect())
    }

    pub(super) fn document(&self, rows: &[usize], failed: &[Error]) -> Report<'_> {
        Report {
            version: VERSION,
            traces: self.json_traces(),
            unreadable: failed.iter().map(Error::to_string).collect(),
            excluded: self.excluded(),
            methods: rows.iter().map(|&row| self.json_method(row)).collect(),
            threads: None,
            exceptions: self.json_exceptions(),
            unlisted_exceptions: self.analysis.further_exceptions,
            aggregated_errors: self.analysis.aggregated_errors(),
            tree: None,
            calls: None,
            unlisted_calls: None,
            requests: None,
            request: None,
        }
    }

    fn label(&self, method: u32) -> &str {
        &self.labels[method as usize]
    }

    fn json_traces(&self) -> Vec<Trace<'_>> {
        (self.analysis.processes.iter())
            .map(|p| Trace {
                file: &p.file,
                command: &p.header.command,
                artifacts: &p.artifacts,
                pid: p.header.pid,
                started_unix_ns: p.header.origin,
                wall_ns: p.end,
                orderly: p.orderly(),
                threads: p.threads,
                records: p.records,
                lost_records: p.lost,
                overwritten_chunks: p.header.overwritten,
                missing_segments: p.missing,
                stack_short_records: p.header.stack_short,
                hook_failures: p.header.failures,
                notes: p.notes.lines(),
                window: p.part.map(|part| Window {
                    from_ns: part.from,
                    until_ns: part.until.min(p.end),
                }),
                metrics: p.metrics.iter().map(metric).collect(),
            })
            .collect()
    }

    fn json_method(&self, i: usize) -> Method<'_> {
        let method = &self.analysis.methods.rows()[i];
        let (s, symbol) = (&self.analysis.stats[i], method.symbol());
        let of_value = method.of_value();
        let known = |number| (!s.is_counted()).then_some(number);
        let label = self.label(i as u32);
        let limits = s.estimate.limits().filter(|_| s.scaled.is_any());
        Method {
            label: of_value.map_or(label, |_| split_label(label).0),
            value: of_value.and_then(|of| of.json.as_ref()),
            other_values: of_value.is_some_and(|of| of.json.is_none()),
            type_name: symbol.map(|s| &*s.type_name),
            method: symbol.map(|s| &*s.method),
            descriptor: symbol.map(|s| &*s.descriptor),
            artifact: symbol.map(|s| &*s.artifact).filter(|s| !s.is_empty()),
            source: symbol.map(|s| &*s.file).filter(|s| !s.is_empty()),
            line: symbol.map(|s| s.line).filter(|&line| line != 0),
            calls: s.all_calls(),
            counted: s.counted,
            aggregated: s.aggregated,
            estimated_from: s.estimated_from(),
            estimated_trees: limits.map(|_| s.estimate.trees()),
            calls_between: limits,
            counted_from_ns: s.less.counted,
            left_out_from_ns: s.less.nothing,
            running: known(s.running),
            cut: known(s.cut),
            errors: known(s.errors),
            self_ns: known(s.own),
            total_ns: known(s.total),
            min_ns: s.min,
            p50_ns: s.quantile(0.5),
            p90_ns: s.quantile(0.9),
            p99_ns: s.quantile(0.99),
            max_ns: known(s.max),
            logical: (s.logical.calls > 0).then_some(Logical {
                calls: s.logical.calls,
                pieces: s.logical.pieces,
                active_ns: s.logical.active,
                waiting_ns: s.logical.waiting,
                open: s.logical.open,
            }),
        }
    }

    fn json_threads(&self) -> Vec<Thread<'_>> {
        (self.analysis.threads.iter())
            .map(|t| Thread {
                trace: t.process,
                number: t.number,
                name: &t.name,
                is_virtual: t.flags & THREAD_VIRTUAL != 0,
                daemon: t.flags & THREAD_DAEMON != 0,
                calls: t.calls,
                estimated_from: t.scaled.estimated_from(t.calls),
                records: t.tally.records,
                busy_ns: t.busy,
                cpu_ns: t.cpu,
                first_ns: t.tally.first,
                last_ns: t.tally.last,
                lost_records: t.tally.lost,
                missing_segments: t.missing,
            })
            .collect()
    }

    /// Threads whose CPU time is known: there may be hundreds of thousands of others.
    pub(super) fn json_cpu_times(&self) -> serde_json::Result<serde_json::Value> {
        let mut threads = self.json_threads();
        threads.retain(|thread| thread.cpu_ns.is_some());
        serde_json::to_value(threads)
    }

    fn json_exceptions(&self) -> Vec<Exception<'_>> {
        (self.analysis.exceptions.iter())
            .map(|e| Exception {
                type_name: &e.type_name,
                message: e.message(),
                count: e.count,
                messages: (e.messages.iter())
                    .map(|(message, count)| Message {
                        message,
                        count: *count,
                    })
                    .collect(),
                further_messages: e.further_messages,
                paths: (e.paths.iter())
                    .map(|(path, n)| Path {
                        count: *n,
                        thrown_in: self.label(path.thrown),
                        left: self.label(path.left),
                        caught_in: path.caught.map(|method| self.label(method)),
                    })
                    .collect(),
            })
            .collect()
    }

    fn json_nodes(&self) -> Vec<Node<'_>> {
        let visible = self.visible();
        (0u32..)
            .zip(self.analysis.tree.nodes())
            .filter(|&(id, _)| visible[id as usize])
            .map(|(id, n)| Node {
                id,
                parent: n.parent,
                label: self.label(n.method),
                calls: n.calls,
                estimated_from: n.scaled.estimated_from(n.calls),
                resumed: n.resumed,
                running: n.running,
                errors: n.errors,
                self_ns: n.own,
                total_ns: n.total,
            })
            .collect()
    }
}
