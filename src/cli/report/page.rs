//! The page for a browser.

use super::View;
use super::json::unit_of;
use crate::cli::diff;
use crate::error::{Error, Result};
use crate::mapping::Mapping;
use crate::pipeline::{Access, Output};
use crate::trace::diff::{Judgement, compare};
use crate::trace::export::{self, Selection};
use crate::trace::metrics::Series;
use crate::trace::page::{self, Calls};
use crate::trace::requests::Requests;
use crate::trace::{Roots, Trace};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

impl View<'_> {
    pub(super) fn write_page(
        &self,
        path: &Path,
        traces: &[Trace],
        mappings: &Arc<Vec<Mapping>>,
        failed: &[Error],
    ) -> Result<()> {
        let args = self.args;
        let failure = |e| Error::io("write", path, e);
        let processes = export::processes(traces);
        let end = processes
            .iter()
            .map(|p| p.trace.end().saturating_add(p.offset))
            .max();
        let mut calls = Calls::new(args.html_calls, end.unwrap_or(0));
        let selection = Selection {
            min: args.min.unwrap_or(0),
            thread: args.thread.clone(),
            filter: args.filter.clone(),
            roots: Roots::new(&args.root, Arc::default()).with_rules(args.rule_roots),
            ..Selection::default()
        };
        for process in &processes {
            let header = process.trace.header();
            let selection = selection.within(&args.window(), header.origin, process.trace.end());
            export::walk(process, mappings, &selection, &mut calls, 1, &mut |_| {})
                .map_err(failure)?;
        }
        calls.finish();
        let rows = self.rows();
        let mut meta =
            serde_json::to_value(self.document(&rows, failed)).map_err(|e| failure(e.into()))?;
        for (trace, process) in meta["traces"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .zip(&processes)
        {
            trace["offset_ns"] = process.offset.into();
        }
        let used = self.analysis.processes.iter().zip(&processes);
        for (trace, (analyzed, process)) in meta["traces"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .zip(used)
        {
            let series = analyzed.metrics.iter().map(|s| series(s, process.offset));
            trace["series"] = series.collect();
        }
        meta["threads"] = self.json_cpu_times().map_err(|e| failure(e.into()))?;
        let tree = &self.analysis.tree;
        meta["tree"] = page::tree(tree, &self.visible(), &mut calls, &self.labels, &[]);
        let mut requests = Requests::default();
        traces.iter().for_each(|trace| requests.add(trace));
        requests.finish();
        if !requests.rows.is_empty() {
            meta["requests"] = super::requests::all_json(&requests);
        }
        if !args.compare.is_empty() {
            self.compare(&mut meta, &mut calls, mappings)?;
        }
        let mut out = Output::create(path, Access::Private)?;
        page::write(&mut out, &self.title(), &meta, &calls).map_err(failure)?;
        out.commit()
    }

    /// Adds the comparison with the traces before.
    fn compare(
        &self,
        meta: &mut Value,
        calls: &mut Calls,
        mappings: &Arc<Vec<Mapping>>,
    ) -> Result<()> {
        let args = self.args;
        let reading = diff::Reading {
            options: args.options(mappings),
            mappings,
            symbols: &args.symbols,
        };
        let before = diff::side(&args.compare, &reading)?;
        let after = diff::side(&args.traces, &reading)?;
        let of = compare(&before, &after, Judgement::default(), &|_| true);
        let both = of.tree(&before, &after);
        let visible = vec![true; both.tree.nodes().len()];
        let costs = |side: usize, field: fn(&crate::trace::diff::Costs) -> u64| {
            let costs = &both.costs;
            move |node: usize| field(&costs[node][side])
        };
        meta["diff_tree"] = page::tree(
            &both.tree,
            &visible,
            calls,
            &of.labels(),
            &[
                ("self_before", &costs(0, |c| c.own)),
                ("self_after", &costs(1, |c| c.own)),
                ("total_before", &costs(0, |c| c.total)),
                ("total_after", &costs(1, |c| c.total)),
                ("calls_before", &costs(0, |c| c.calls)),
                ("calls_after", &costs(1, |c| c.calls)),
            ],
        );
        meta["comparison"] = diff::comparison_json(&of, [&before, &after]);
        Ok(())
    }
}

/// Most points of a series; of more, the highest of each stretch is shown.
const POINTS: usize = 2_000;

/// A series as the page's script draws it.
fn series(series: &Series, offset: u64) -> Value {
    let stretch = series.points.len().div_ceil(POINTS).max(1);
    let points: Vec<(u64, f64)> = (series.points.chunks(stretch))
        .filter_map(|points| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)))
        .map(|(time, value)| (time.saturating_add(offset), value))
        .collect();
    json!({
        "label": series.metric.shown(),
        "unit": unit_of(series),
        "most": series.max(),
        "points": points,
    })
}
