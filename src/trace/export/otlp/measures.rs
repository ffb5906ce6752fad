//! Metrics of requests, as the conventions have them, of all spans that rules name: those that are sent, and those that are not.

use super::proto::{Histogram, HistogramPoint, KeyValue, Metric, Span, Value, attribute};
use super::seconds;
use crate::spans::Kind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Sets of attributes of one metric; what further ones have counts together.
const SETS: usize = 2_000;
/// `AggregationTemporality`: counted from the trace's start.
const CUMULATIVE: i32 = 2;

/// Upper bounds of buckets, in seconds, as the conventions give them.
const OF_HTTP: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];
const OF_DB: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// A histogram of spans.
struct Kept {
    name: &'static str,
    description: &'static str,
    /// Spans of this kind that have this attribute.
    kind: Kind,
    of: &'static str,
    bounds: &'static [f64],
    /// Attributes of spans that are the metric's, too.
    attributes: &'static [&'static str],
}

const ALL: [Kept; 3] = [
    Kept {
        name: "http.server.request.duration",
        description: "Duration of HTTP server requests.",
        kind: Kind::Server,
        of: "http.request.method",
        bounds: OF_HTTP,
        attributes: &[
            "error.type",
            "http.request.method",
            "http.response.status_code",
            "http.route",
            "network.protocol.name",
            "network.protocol.version",
            "url.scheme",
        ],
    },
    Kept {
        name: "http.client.request.duration",
        description: "Duration of HTTP client requests.",
        kind: Kind::Client,
        of: "http.request.method",
        bounds: OF_HTTP,
        attributes: &[
            "error.type",
            "http.request.method",
            "http.response.status_code",
            "network.protocol.name",
            "network.protocol.version",
            "server.address",
            "server.port",
            "url.template",
        ],
    },
    Kept {
        name: "db.client.operation.duration",
        description: "Duration of database client operations.",
        kind: Kind::Client,
        of: "db.system.name",
        bounds: OF_DB,
        attributes: &[
            "db.collection.name",
            "db.namespace",
            "db.operation.name",
            "db.query.summary",
            "db.response.status_code",
            "db.stored_procedure.name",
            "db.system.name",
            "error.type",
            "server.address",
            "server.port",
        ],
    },
];

/// Spans with the same attributes.
struct Point {
    attributes: Vec<KeyValue>,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    buckets: Vec<u64>,
}

impl Point {
    fn new(attributes: Vec<KeyValue>, bounds: &[f64]) -> Point {
        Point {
            attributes,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            buckets: vec![0; bounds.len() + 1],
        }
    }

    fn add(&mut self, took: u64, bounds: &[f64]) {
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
        self.min = self.min.min(took);
        self.max = self.max.max(took);
        // A bucket holds what is at most its bound.
        let took = seconds(took);
        self.buckets[bounds.partition_point(|&bound| bound < took)] += 1;
    }
}

/// What was measured of a process.
#[derive(Default)]
pub struct Measures {
    /// Of each metric, by the attributes as text.
    points: [FxHashMap<String, Point>; ALL.len()],
    key: String,
}

impl Measures {
    /// Counts a span that has ended.
    pub fn add(&mut self, kind: Kind, span: &Span) {
        let find = |key: &str| span.attributes.iter().find(|known| known.key == key);
        let took = (span.end_time_unix_nano).saturating_sub(span.start_time_unix_nano);
        let all = ALL.iter().zip(&mut self.points);
        for (kept, points) in all.filter(|(kept, _)| kept.kind == kind && find(kept.of).is_some()) {
            let key = &mut self.key;
            key.clear();
            for name in kept.attributes {
                if let Some(value) =
                    find(name).and_then(|known| known.value.as_ref()?.value.as_ref())
                {
                    put(key, value);
                }
                key.push('\n');
            }
            if let Some(point) = points.get_mut(key) {
                point.add(took, kept.bounds);
                continue;
            }
            // The last set is that of all others.
            let is_over = points.len() + 1 >= SETS;
            let attributes = match is_over {
                true => vec![attribute("otel.metric.overflow", Value::Boolean(true))],
                false => kept
                    .attributes
                    .iter()
                    .filter_map(|name| find(name).cloned())
                    .collect(),
            };
            let key = if is_over { "overflow" } else { key };
            let point = points.entry(key.to_owned());
            point
                .or_insert_with(|| Point::new(attributes, kept.bounds))
                .add(took, kept.bounds);
        }
    }

    /// All of it, and how many points.
    pub fn metrics(&self, origin: u64, time: u64) -> (Vec<Metric>, u64) {
        let (mut metrics, mut items) = (Vec::new(), 0);
        for (kept, points) in ALL.iter().zip(&self.points) {
            if points.is_empty() {
                continue;
            }
            let sorted: BTreeMap<&String, &Point> = points.iter().collect();
            items += sorted.len() as u64;
            let points = sorted.into_values().map(|point| HistogramPoint {
                start_time_unix_nano: origin,
                time_unix_nano: time,
                count: point.count,
                sum: Some(seconds(point.sum)),
                bucket_counts: point.buckets.clone(),
                explicit_bounds: kept.bounds.to_vec(),
                attributes: point.attributes.clone(),
                min: Some(seconds(point.min)),
                max: Some(seconds(point.max)),
            });
            metrics.push(Metric {
                name: kept.name.to_owned(),
                description: kept.description.to_owned(),
                unit: "s".to_owned(),
                gauge: None,
                sum: None,
                histogram: Some(Histogram {
                    data_points: points.collect(),
                    aggregation_temporality: CUMULATIVE,
                }),
            });
        }
        (metrics, items)
    }
}

/// A value as a part of a key. No text with a line break is the same as two values.
fn put(key: &mut String, value: &Value) {
    match value {
        Value::Text(text) => key.extend(text.chars().map(|c| if c == '\n' { ' ' } else { c })),
        Value::Number(n) => key.push_str(&n.to_string()),
        Value::Boolean(yes) => key.push_str(if *yes { "true" } else { "false" }),
        Value::Double(n) => key.push_str(&n.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::text;
    use super::*;

    fn span(attributes: &[(&str, &str)], took: u64) -> Span {
        Span {
            start_time_unix_nano: 1_000,
            end_time_unix_nano: 1_000 + took,
            attributes: attributes.iter().map(|(k, v)| text(k, *v)).collect(),
            ..Span::default()
        }
    }

    fn points(measures: &Measures) -> Vec<(String, HistogramPoint)> {
        let (metrics, items) = measures.metrics(0, 9);
        let points = metrics.into_iter().flat_map(|metric| {
            let points = metric.histogram.unwrap().data_points.into_iter();
            points.map(move |point| (metric.name.clone(), point))
        });
        let points: Vec<_> = points.collect();
        assert_eq!(points.len() as u64, items);
        points
    }

    #[test]
    fn a_span_counts_where_the_conventions_say_so() {
        let mut measures = Measures::default();
        let get = [
            ("http.request.method", "GET"),
            ("url.path", "/a"),
            ("http.route", "/{x}"),
        ];
        measures.add(Kind::Server, &span(&get, 5_000_000));
        measures.add(Kind::Server, &span(&get, 5_000_001));
        measures.add(Kind::Internal, &span(&get, 1));
        measures.add(
            Kind::Client,
            &span(&[("db.system.name", "h2"), ("db.query.text", "x")], 1),
        );
        measures.add(Kind::Client, &span(&[("rpc.system", "x")], 1));
        let points = points(&measures);
        let names: Vec<&str> = points.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            names,
            [
                "http.server.request.duration",
                "db.client.operation.duration"
            ]
        );
        let (_, server) = &points[0];
        // At most its bound: one call in the first bucket, one in the next.
        assert_eq!(
            (server.count, &server.bucket_counts[..3]),
            (2, &[1, 1, 0][..])
        );
        assert_eq!(
            (server.explicit_bounds.len(), server.bucket_counts.len()),
            (14, 15)
        );
        let keys: Vec<&str> = server.attributes.iter().map(|a| &*a.key).collect();
        assert_eq!(
            keys,
            ["http.request.method", "http.route"],
            "no path: each would be a set"
        );
    }

    #[test]
    fn what_has_too_many_attributes_counts_together() {
        let mut measures = Measures::default();
        for route in 0..SETS + 10 {
            let route = route.to_string();
            let one = [("http.request.method", "GET"), ("http.route", &*route)];
            measures.add(Kind::Server, &span(&one, 1));
        }
        measures.add(
            Kind::Server,
            &span(&[("http.request.method", "GET"), ("http.route", "1")], 1),
        );
        let points = points(&measures);
        assert_eq!(points.len(), SETS);
        let all: u64 = points.iter().map(|(_, point)| point.count).sum();
        assert_eq!(all, SETS as u64 + 11);
        let rest = points
            .iter()
            .find(|(_, point)| point.attributes[0].key == "otel.metric.overflow");
        assert_eq!(rest.unwrap().1.count, 11);
    }
}
