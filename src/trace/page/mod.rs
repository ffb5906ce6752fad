//! The page: one HTML file with everything in it, which a browser opens without a network.
//!
//! `page.html`, `page.css` and `page.js` are its skeleton, look and script. The script finds two blocks, deflated and in
//! base64: `meta`, a JSON object, and `calls`, columns of numbers ([`Calls::columns`]).

mod calls;

#[cfg(test)]
mod tests;

pub use calls::{Calls, Kept};

use super::flame::escape;
use super::tree::Tree;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libdeflater::{CompressionLvl, Compressor};
use rustc_hash::FxHashSet;
use serde::Serialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::io::{self, Write};

/// Nodes of a call tree that a page shows, and their callers.
const MAX_NODES: usize = if cfg!(test) { 64 } else { 100_000 };

/// Which nodes a page shows: of each method the longest path that fails, and the longest of all; then other paths that fail, then
/// those that took longest.
fn kept(tree: &Tree, visible: &[bool]) -> Vec<bool> {
    let nodes = tree.nodes();
    let mut order: Vec<usize> = (0..nodes.len()).filter(|&i| visible[i]).collect();
    order.sort_by_key(|&i| Reverse(nodes[i].total));
    let mut failing: Vec<usize> = order.clone();
    failing.retain(|&i| nodes[i].errors > 0);
    let one_a_method = |of: &[usize]| {
        let mut seen = FxHashSet::default();
        let mut one = of.to_vec();
        one.retain(|&i| seen.insert(nodes[i].method));
        one
    };
    let first = [one_a_method(&failing), one_a_method(&order), failing, order].concat();
    let (mut kept, mut count) = (vec![false; nodes.len()], 0);
    for i in first {
        if count >= MAX_NODES {
            break;
        }
        let mut at = Some(i);
        while let Some(i) = at.filter(|&i| !kept[i]) {
            kept[i] = true;
            count += 1;
            at = nodes[i].parent.map(|p| p as usize);
        }
    }
    kept
}

/// A call tree as columns: per node its parent (or -1), name and numbers. `more` names further numbers of each node.
pub fn tree(
    tree: &Tree,
    visible: &[bool],
    calls: &mut Calls,
    labels: &[String],
    more: &[(&str, &dyn Fn(usize) -> u64)],
) -> Value {
    let nodes = tree.nodes();
    let shown = self::kept(tree, visible);
    let mut place: Vec<i64> = vec![-1; nodes.len()];
    let kept: Vec<usize> = (0..nodes.len()).filter(|&i| shown[i]).collect();
    for (at, &i) in kept.iter().enumerate() {
        place[i] = at as i64;
    }
    let column = |of: &dyn Fn(usize) -> u64| -> Value { kept.iter().map(|&i| of(i)).collect() };
    let parents: Vec<i64> = (kept.iter())
        .map(|&i| nodes[i].parent.map_or(-1, |p| place[p as usize]))
        .collect();
    let names: Vec<u32> = (kept.iter())
        .map(|&i| calls.name(&labels[nodes[i].method as usize]))
        .collect();
    let mut value = json!({
        "parent": parents,
        "name": names,
        "calls": column(&|i| nodes[i].calls),
        "self": column(&|i| nodes[i].own),
        "total": column(&|i| nodes[i].total),
        "errors": column(&|i| nodes[i].errors),
        "left_out": nodes.len() - kept.len(),
    });
    if nodes.iter().any(|node| node.scaled.is_any()) {
        let recorded = |i: usize| nodes[i].scaled.estimated_from(nodes[i].calls);
        value["estimated_from"] = column(&|i| recorded(i).unwrap_or(0));
    }
    for (name, of) in more {
        value[*name] = column(of);
    }
    value
}

/// What the script finds beside the calls.
#[derive(Serialize)]
struct Meta<'a> {
    #[serde(flatten)]
    report: &'a Value,
    title: &'a str,
    names: &'a [String],
    thrown: &'a [(String, String)],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<&'a str>,
    timeline: Timeline<'a>,
}

#[derive(Serialize)]
struct Timeline<'a> {
    calls: u64,
    all_calls: u64,
    least_ns: u64,
    logical: usize,
    tracks: Vec<Track<'a>>,
}

/// A thread. There may be hundreds of thousands.
#[derive(Serialize)]
struct Track<'a> {
    trace: usize,
    number: u32,
    name: &'a str,
    activity: Vec<u8>,
}

/// Writes the page. `report` is what the script finds beside the calls: the report and the trees.
///
/// # Errors
/// What `out` refuses.
pub fn write(out: &mut dyn Write, title: &str, report: &Value, calls: &Calls) -> io::Result<()> {
    let Kept {
        calls: kept,
        of: all_calls,
        least: least_ns,
    } = calls.kept();
    let tracks = calls.tracks.iter().map(|t| Track {
        trace: t.process,
        number: t.number,
        name: &t.name,
        activity: calls.activity(t),
    });
    let meta = Meta {
        report,
        title,
        names: calls.names(),
        thrown: calls.exceptions(),
        values: calls.values().iter().map(|text| &**text).collect(),
        timeline: Timeline {
            calls: kept,
            all_calls,
            least_ns,
            logical: calls.logical(),
            tracks: tracks.collect(),
        },
    };
    let page = include_str!("page.html")
        .replace("{{style}}", include_str!("page.css"))
        .replace("{{script}}", include_str!("page.js"));
    let parts = page
        .split("{{")
        .map(|part| part.split_once("}}").unwrap_or(("", part)));
    for (slot, text) in parts {
        match slot {
            "title" => out.write_all(escape(title).as_bytes())?,
            "meta" => out.write_all(block(&serde_json::to_vec(&meta)?).as_bytes())?,
            "calls" => out.write_all(block(&calls.columns()).as_bytes())?,
            _ => {}
        }
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Bytes as the script reads them.
fn block(bytes: &[u8]) -> String {
    let mut deflate = Compressor::new(CompressionLvl::default());
    let mut packed = vec![0; deflate.deflate_compress_bound(bytes.len())];
    let size = (deflate.deflate_compress(bytes, &mut packed)).expect("the bound is a bound");
    STANDARD.encode(&packed[..size])
}
