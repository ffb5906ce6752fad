//! A comparison as JSON; `docs/diff.md` has the schema.

use super::limits::Limit;
use crate::trace::diff::{Comparison, Numbers, Power, Row, Side, Sums};
use crate::trace::methods::{OfValue, split_label};
use serde_json::{Value, json};

/// Version of the schema: fields may be added without a new one.
const VERSION: u32 = 1;

/// The whole comparison, with the rows of these numbers.
pub fn value(
    of: &Comparison,
    sides: [&Side; 2],
    rows: &[usize],
    limits: &[Limit],
    wanted: &[bool],
) -> Value {
    let [before, after] = sides.map(side);
    let rows: Vec<Value> = rows.iter().map(|&i| row(of, &of.rows[i])).collect();
    let limits: Vec<Value> = (limits.iter())
        .map(|limit| {
            let broken: Vec<Value> = (limit.broken(of, wanted).iter())
                .map(|b| json!({ "label": b.row.label, "before": b.before, "after": b.after, "p": b.p }))
                .collect();
            json!({ "limit": limit.to_string(), "broken": broken })
        })
        .collect();
    json!({
        "version": VERSION,
        "before": before,
        "after": after,
        "test": {
            "name": (of.tests > 0).then_some("Mann-Whitney U, two-sided, Holm"),
            "pairs": of.design.pairs.len(),
            "level": of.judgement.level,
            "methods": of.tests,
            "enough_runs": of.power == Power::Enough,
            "runs_needed": match of.power { Power::TooFew(n) => Some(n), _ => None },
        },
        "all": row(of, &of.all),
        "methods": rows,
        "limits": limits,
    })
}

fn side(side: &Side) -> Value {
    let traces: Vec<Value> = (side.analysis.processes.iter())
        .map(|p| {
            json!({
                "file": p.file,
                "command": p.header.command,
                "pid": p.header.pid,
                "started_unix_ns": p.header.origin,
                "wall_ns": p.end,
                "lost_records": p.lost,
                "overwritten_chunks": p.header.overwritten,
                "missing_segments": p.missing,
                "notes": p.notes.lines(),
                "window": p.part.map(|part| json!({
                    "from_ns": part.from,
                    "until_ns": part.until.min(p.end),
                })),
            })
        })
        .collect();
    json!({ "runs": side.runs(), "traces": traces })
}

fn row(of: &Comparison, row: &Row) -> Value {
    let symbol = row.method.symbol();
    let change = match (&row.before, &row.after) {
        (Some(b), Some(a)) if b.typical.own > 0 && row.is_timed() => {
            Some((a.typical.own as f64 / b.typical.own as f64 - 1.0) * 100.0)
        }
        _ => None,
    };
    let tests: serde_json::Map<String, Value> = (row.tests.iter())
        .map(|t| (t.test.name.to_owned(), t.p.into()))
        .collect();
    let of_value = row.method.of_value();
    let mut value = json!({
        "label": of_value.map_or(&*row.label, |_| split_label(&row.label).0),
        "type": symbol.map(|s| &*s.type_name),
        "method": symbol.map(|s| &*s.method),
        "descriptor": symbol.map(|s| &*s.descriptor),
        "before": row.before.as_ref().map(numbers),
        "after": row.after.as_ref().map(numbers),
        "self_change_ns": i64::try_from(row.change()).ok().filter(|_| row.is_timed()),
        "self_change_percent": change,
        "p": row.p(),
        "tests": tests,
        "differs": of.differs(row),
    });
    match of_value {
        None => {}
        Some(OfValue { json: None, .. }) => value["other_values"] = true.into(),
        Some(OfValue {
            json: Some(json), ..
        }) => value["value"] = json.clone(),
    }
    value
}

fn numbers(n: &Numbers) -> Value {
    let run = |s: &Sums| {
        let mut value = sums(s, n);
        value["p50_ns"] = s.spread.p50.into();
        value["p90_ns"] = s.spread.p90.into();
        value["p99_ns"] = s.spread.p99.into();
        value
    };
    let runs: Vec<Value> = n.runs.iter().map(run).collect();
    let mut value = sums(&n.typical, n);
    value["p50_ns"] = n.p50.into();
    value["p90_ns"] = n.p90.into();
    value["p99_ns"] = n.p99.into();
    value["max_ns"] = (!n.counted).then_some(n.max).into();
    if let Some(recorded) = n.estimated_from {
        value["estimated_from"] = recorded.into();
    }
    value["runs"] = runs.into();
    value
}

fn sums(s: &Sums, n: &Numbers) -> Value {
    let known = |number: u64| (!n.counted).then_some(number);
    let single = |number: u64| (!n.aggregated).then_some(number);
    json!({
        "calls": s.calls,
        "self_ns": known(s.own),
        "total_ns": known(s.total),
        "errors": known(s.errors),
        "self_p10_ns": single(s.spread.own_p10),
        "self_p50_ns": single(s.spread.own_p50),
    })
}
