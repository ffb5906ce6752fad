//! What the processes used, a line a metric.

use super::View;
use crate::cli::columns::{Cell, Columns, cut_end};
use crate::trace::metrics::{Series, Unit};
use crate::trace::units::{bytes, count, duration};
use std::io::{self, Write};

impl View<'_> {
    pub(super) fn process(&self, out: &mut dyn Write) -> io::Result<()> {
        let processes = &self.analysis.processes;
        let many = processes.len() > 1;
        let mut heads = vec!["mean", "least", "most", "total"];
        if many {
            heads.insert(0, "pid");
        }
        let mut columns = Columns::new(heads);
        let mut any = false;
        for process in processes {
            for series in &process.metrics {
                let shown = |value: f64| value_of(series, value);
                let total = series.total.map_or_else(String::new, |t| shown(t as f64));
                let mut cells = vec![
                    shown(series.mean),
                    shown(series.min()),
                    shown(series.max()),
                    total,
                ];
                if many {
                    cells.insert(0, process.header.pid.to_string());
                }
                columns.row(
                    cells.into_iter().map(Cell::from).collect(),
                    series.metric.shown(),
                );
                any = true;
            }
        }
        writeln!(out)?;
        if !any {
            return writeln!(
                out,
                "No samples of the process: it ran for less than a second, or WEAVE_TRACE_SAMPLE is off."
            );
        }
        columns.write(out, "what", self.screen, cut_end)
    }
}

fn value_of(series: &Series, value: f64) -> String {
    match series.metric.unit {
        Unit::Bytes => bytes(value as u64),
        Unit::Nanoseconds => duration(value as u64),
        Unit::Count if series.metric.grows && value < 100.0 && value.fract() != 0.0 => {
            format!("{value:.2}")
        }
        Unit::Count => count(value.round() as u64),
    }
}
