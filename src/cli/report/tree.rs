//! The call tree as lines.

use super::View;
use crate::cli::columns::{Cell, Columns, cut_method};
use crate::cli::terminal::{BAD, DIM, HOT, Screen};
use crate::trace::tree::Node;
use crate::trace::units::{about, count, counted, duration, percent, share};
use std::io::{self, Write};

/// Levels of the tree that are shown, unless `--depth` says otherwise.
const DEPTH: u32 = 40;
/// The share of all time, in percent, that a line of it has at least, unless `--min-percent` says otherwise.
const MIN_PERCENT: f64 = 1.0;

/// The children of a node that are still to be shown. Not recursion: a thousand levels are allowed.
struct Level {
    shown: std::vec::IntoIter<u32>,
    hidden: u64,
    time: u64,
    prefix: String,
}

impl View<'_> {
    pub(super) fn tree(&self, out: &mut dyn Write) -> io::Result<()> {
        let tree = &self.analysis.tree;
        let nodes = tree.nodes();
        let whole = tree.total();
        let children = tree.by_parent();
        let visible = self.visible();
        let mut heads = vec!["total", "total%", "self", "calls"];
        let errors = nodes.iter().any(|n| n.errors > 0);
        heads.extend(errors.then_some("errors"));
        let mut columns = Columns::new(heads);

        let deepest = self.args.depth.unwrap_or(DEPTH);
        let least = self.args.min_percent.unwrap_or(MIN_PERCENT);
        let level = |of: Option<u32>, prefix: String| {
            let depth = of.map_or(0, |p| nodes[p as usize].depth + 1);
            let (mut shown, mut hidden, mut time) = (Vec::new(), 0u64, 0u64);
            for &i in children.of(of).iter().filter(|&&i| visible[i as usize]) {
                let total = nodes[i as usize].total;
                if depth < deepest && share(total, whole) >= least {
                    shown.push(i);
                } else {
                    hidden += 1;
                    time = time.saturating_add(total);
                }
            }
            Level {
                shown: shown.into_iter(),
                hidden,
                time,
                prefix,
            }
        };
        let mut stack = vec![level(None, String::new())];
        while let Some(top) = stack.last_mut() {
            let Some(i) = top.shown.next() else {
                if let Some(level) = stack.pop().filter(|level| level.hidden > 0) {
                    let branch = if stack.is_empty() { "" } else { "└─ " };
                    let mut cells: Vec<Cell> = vec![
                        duration(level.time).into(),
                        percent(level.time, whole).into(),
                    ];
                    cells.resize_with(if errors { 5 } else { 4 }, || String::new().into());
                    let smaller = counted(level.hidden, "method");
                    let text = format!("{}{branch}({smaller} not shown)", level.prefix);
                    columns.row(cells, text);
                }
                continue;
            };
            let node = &nodes[i as usize];
            let last = top.shown.len() == 0 && top.hidden == 0;
            let (branch, below) = match (node.depth, last) {
                (0, _) => ("", ""),
                (_, true) => ("└─ ", "   "),
                (_, false) => ("├─ ", "│  "),
            };
            let text = format!("{}{branch}", top.prefix);
            self.put_node(&mut columns, node, text, errors);
            let prefix = format!("{}{below}", top.prefix);
            stack.push(level(Some(i), prefix));
        }
        writeln!(out)?;
        let screen = Screen {
            width: None,
            ..self.screen
        };
        columns.write(out, "method", screen, cut_method)?;
        if tree.folded() > 0 {
            let calls = counted(tree.folded(), "call");
            writeln!(
                out,
                "{calls} too deep or too varied for the tree count for their callers"
            )?;
        }
        Ok(())
    }

    /// The row of a node; `text` is the branch that leads to it.
    fn put_node(&self, columns: &mut Columns, node: &Node, mut text: String, errors: bool) {
        let whole = self.analysis.tree.total();
        let room = self.screen.width.map(|w| {
            let columns = if errors { 52 } else { 44 };
            w.saturating_sub(columns + text.chars().count()).max(24)
        });
        let label = &self.labels[node.method as usize];
        text.push_str(&room.map_or(label.clone(), |room| cut_method(label, room)));
        if node.resumed > 0 {
            text.push_str(&format!("  (resumed {} ×)", count(node.resumed)));
        }
        if node.running > 0 {
            text.push_str("  (still running)");
        }
        let hot = share(node.total, whole) >= 50.0;
        let total = percent(node.total, whole);
        let scaled = |text: String| about(text, node.scaled.is_any());
        let mut cells: Vec<Cell> = vec![
            scaled(duration(node.total)).into(),
            if hot {
                Cell::styled(total, HOT)
            } else {
                total.into()
            },
            scaled(duration(node.own)).into(),
            scaled(count(node.calls)).into(),
        ];
        let style = if node.errors > 0 { BAD } else { DIM };
        cells.extend(errors.then(|| {
            Cell::styled(
                about(count(node.errors), node.errors > 0 && node.scaled.is_any()),
                style,
            )
        }));
        columns.row(cells, text);
    }
}
