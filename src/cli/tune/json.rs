//! What is advised as JSON; `docs/tune.md` has the schema.

use super::file::Instead;
use super::{Advised, Written, word};
use crate::error::Error;
use crate::trace::tune::{Load, PairFrom, TimeFrom, mean, records, usual, weight};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Version of the schema: fields may be added without a new one.
const VERSION: u32 = 1;

impl Advised<'_> {
    pub(super) fn json(
        &self,
        out: &mut dyn Write,
        failed: &[Error],
        file: Option<&Written>,
    ) -> io::Result<()> {
        let tuning = &self.tuning;
        let limit = match self.args.limit {
            None | Some(0) => usize::MAX,
            Some(n) => n,
        };
        let unreadable: Vec<String> = failed.iter().map(Error::to_string).collect();
        let methods: Vec<Value> = (tuning.out.iter().zip(&self.entries).take(limit))
            .map(|(&row, entry)| {
                let mut method = self.method(row);
                let exclude: Map<String, Value> = (entry.keys().into_iter())
                    .map(|(key, values)| match values[..] {
                        [one] => (key.to_owned(), json!(one)),
                        _ => (key.to_owned(), json!(values)),
                    })
                    .collect();
                method.insert("exclude".to_owned(), Value::Object(exclude));
                Value::Object(method)
            })
            .collect();
        let kept: Vec<Value> = (tuning.kept.iter().take(limit))
            .map(|&(row, why)| {
                let mut method = self.method(row);
                method.insert("since".to_owned(), json!(word(why)));
                Value::Object(method)
            })
            .collect();
        let value = json!({
            "version": VERSION,
            "unreadable": unreadable,
            "pair_cost_ns": tuning.pair,
            "pair_cost_from": match tuning.pair_from {
                PairFrom::User => "user",
                PairFrom::Trace => "traces",
                PairFrom::Usual => "usual",
            },
            "below_ns": tuning.below,
            "time_ns": tuning.time,
            "time_from": match tuning.time_from {
                TimeFrom::Cpu => "cpu",
                TimeFrom::Calls => "calls",
            },
            "target": { "overhead_percent": self.args.overhead, "records_per_second": self.args.rate },
            "reached": tuning.reached,
            "before": load(tuning.before),
            "after": load(tuning.after),
            "written": file.map(|file| json!({
                "added": file.added,
                "counted": file.of(Instead::Count),
                "aggregated": file.of(Instead::Aggregate),
                "aspects": file.aspects,
                "own_hooks": file.own,
                "untaken": file.untaken,
            })),
            "methods": methods,
            "kept": kept,
        });
        serde_json::to_writer_pretty(&mut *out, &value)?;
        writeln!(out)
    }

    fn method(&self, row: usize) -> Map<String, Value> {
        let stats = &self.analysis.stats[row];
        let own = records(stats);
        let (bytes, cost) = weight(own, self.tuning.pair);
        let symbol = self.analysis.methods.rows()[row].symbol();
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let fields = [
            ("label", json!(self.labels[row])),
            ("type", text(symbol.map(|s| &*s.type_name))),
            ("method", text(symbol.map(|s| &*s.method))),
            ("descriptor", text(symbol.map(|s| &*s.descriptor))),
            ("calls", json!(stats.calls)),
            ("records", json!(own)),
            ("bytes", json!(bytes)),
            ("cost_ns", json!(cost)),
            ("self_ns", json!(stats.own)),
            ("mean_self_ns", json!(mean(stats))),
            ("usual_self_ns", json!(usual(stats))),
            ("p99_ns", json!(stats.quantile(0.99))),
            ("errors", json!(stats.errors)),
        ];
        let estimated = stats
            .estimated_from()
            .map(|recorded| ("estimated_from", json!(recorded)));
        (fields.into_iter().chain(estimated))
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }
}

fn load(load: Load) -> Value {
    json!({
        "records": load.records,
        "bytes": load.bytes,
        "cost_ns": load.cost,
        "overhead_percent": load.overhead,
        "records_per_second": load.rate,
    })
}
