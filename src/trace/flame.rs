//! The flame graph: an SVG (or HTML page) that a browser opens alone.
//!
//! Roots are at the top, callees below, width is time. Without its script the picture stands
//! as it is; with it, a click zooms and the field searches. `flame.js` holds the script.

use super::tree::Tree;
use super::units::{about, count, counted, duration, method_start, percent};
use crate::error::{Error, Result};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Width of the picture without its script, in pixels.
const WIDTH: f64 = 1_200.0;
/// Height of a row.
const ROW: u32 = 18;
/// Height of what is above the rows.
const TOP: u32 = 58;
/// Most boxes drawn: the smallest are left out.
const MAX_BOXES: usize = 30_000;
/// Narrowest box drawn, as a share of the width.
const MIN_SHARE: f64 = 0.000_2;
/// Average width of a character of the font, in pixels; the script uses it as well.
const CHAR: f64 = 6.7;
/// Units that positions in the file are given in, over the whole width.
const UNITS: f64 = 1e6;

const SCRIPT: &str = include_str!("flame.js");

/// Whether the picture is wrapped in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A standalone SVG.
    Svg,
    /// An HTML page with the SVG in it.
    Html,
}

impl Form {
    /// The form that a file's name ends in.
    ///
    /// # Errors
    /// It ends in neither.
    pub fn of(path: &Path) -> Result<Form> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("svg") => Ok(Form::Svg),
            Some("html" | "htm") => Ok(Form::Html),
            _ => Err(Error::usage(
                "--flame takes a file that ends in .svg or .html",
            )),
        }
    }
}

/// A box: a node, or the root of all.
struct Box {
    node: Option<u32>,
    from: f64,
    share: f64,
    depth: u32,
}

/// What a box says and looks like.
pub struct Look {
    /// What pointing at it shows, below its name.
    pub hint: String,
    /// Its colour.
    pub fill: String,
}

/// A picture to draw.
pub struct Picture<'a> {
    /// What ran.
    pub title: &'a str,
    /// What the picture shows, in a line.
    pub legend: &'a str,
    /// The nodes.
    pub tree: &'a Tree,
    /// The methods' names.
    pub labels: &'a [String],
    /// The nodes to draw.
    pub visible: &'a dyn Fn(u32) -> bool,
    /// How a node looks.
    pub look: &'a dyn Fn(u32) -> Look,
    /// What the box around all says.
    pub all: String,
}

/// Draws the nodes that `visible` says; `labels` are the methods' names, `title` what ran.
pub fn draw(
    out: &mut dyn Write,
    form: Form,
    title: &str,
    tree: &Tree,
    labels: &[String],
    visible: &dyn Fn(u32) -> bool,
) -> io::Result<()> {
    let whole = tree.total();
    let look = |i: u32| {
        plain(
            tree,
            i,
            whole,
            &labels[tree.nodes()[i as usize].method as usize],
        )
    };
    let picture = Picture {
        title,
        legend: "Width is time. Click a box to zoom, point at it for its numbers.",
        tree,
        labels,
        visible,
        look: &look,
        all: format!("{} in woven calls", duration(whole)),
    };
    picture.draw(out, form)
}

fn plain(tree: &Tree, i: u32, whole: u64, label: &str) -> Look {
    let node = &tree.nodes()[i as usize];
    let scaled = |text: String| about(text, node.scaled.is_any());
    let mut hint = format!(
        "total {} ({}), self {}, {}",
        scaled(duration(node.total)),
        percent(node.total, whole),
        scaled(duration(node.own)),
        scaled(counted(node.calls, "call")),
    );
    if let Some(recorded) = node.scaled.estimated_from(node.calls) {
        let _ = write!(hint, " (from {} recorded)", count(recorded));
    }
    if node.resumed > 0 {
        let _ = write!(hint, ", resumed {} times", count(node.resumed));
    }
    for (n, what) in [
        (node.errors, "left by an exception"),
        (node.running, "still running"),
    ] {
        if n > 0 {
            let _ = write!(hint, ", {} {what}", scaled(count(n)));
        }
    }
    let fill = colour(label);
    Look { hint, fill }
}

impl Picture<'_> {
    /// Draws it.
    pub fn draw(&self, out: &mut dyn Write, form: Form) -> io::Result<()> {
        let boxes = layout(self.tree, self.visible);
        let levels = boxes.iter().map(|b| b.depth + 1).max().unwrap_or(1);
        let height = TOP + levels * ROW + 30;
        let title = escape(self.title);
        if form == Form::Html {
            write!(
                out,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
             <style>body{{margin:0}}</style></head><body>\n"
            )?;
        } else {
            out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")?;
        }
        write!(
            out,
            "<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n\
         <title>{title}</title>\n<style>\
         rect.b{{stroke:#fff;stroke-width:.6}} g.f{{cursor:pointer}} g.f:hover rect{{stroke:#000;stroke-width:1}} \
         g.f text{{pointer-events:none}} g.f.dim{{opacity:.45}} g.f.hit rect{{fill:#d05ce3}} #reset{{cursor:pointer}} .hide{{display:none}}\
         </style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{}</text>\n\
         <text id=\"info\" x=\"10\" y=\"42\" fill=\"#333\">{}</text>\n\
         <text id=\"reset\" class=\"hide\" x=\"10\" y=\"{}\" fill=\"#06c\">Reset zoom</text>\n",
            shorten(&title_text(&title), WIDTH - 330.0, CHAR * 1.35),
            escape(self.legend),
            height - 10,
        )?;
        out.write_all(
        b"<foreignObject id=\"find\" class=\"hide\" x=\"950\" y=\"6\" width=\"240\" height=\"26\">\
          <input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"Search methods\" \
          style=\"box-sizing:border-box;width:100%;height:24px;font-size:12px\"/></foreignObject>\n",
    )?;
        for b in &boxes {
            self.write_box(out, b)?;
        }
        write!(
            out,
            "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n{}",
            if form == Form::Html {
                "</body></html>\n"
            } else {
                ""
            }
        )
    }

    fn write_box(&self, out: &mut dyn Write, b: &Box) -> io::Result<()> {
        let (label, hint, fill) = match b.node {
            None => ("all threads", self.all.clone(), "#e6e6e6".to_owned()),
            Some(i) => {
                let Look { hint, fill } = (self.look)(i);
                let method = self.tree.nodes()[i as usize].method;
                (self.labels[method as usize].as_str(), hint, fill)
            }
        };
        let hint = format!("{label}\n{hint}");
        let (x, width) = (b.from * WIDTH, b.share * WIDTH);
        let y = TOP + b.depth * ROW;
        let text = shorten(&short_name(label), width - 6.0, CHAR);
        writeln!(
            out,
            "<g class=\"f\" data-x=\"{:.0}\" data-w=\"{:.0}\" data-n=\"{}\"><title>{}</title>\
         <rect class=\"b\" x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" fill=\"{fill}\"/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
            b.from * UNITS,
            b.share * UNITS,
            escape(&short_name(label)),
            escape(&hint),
            ROW - 1,
            x + 3.0,
            y + ROW - 5,
            escape(&text),
        )
    }
}

/// The title is escaped already: nothing to do but to name the picture where it is empty.
fn title_text(title: &str) -> String {
    if title.is_empty() {
        "Flame graph".to_owned()
    } else {
        title.to_owned()
    }
}

/// Places the boxes, widest first where there are too many.
fn layout(tree: &Tree, visible: &dyn Fn(u32) -> bool) -> Vec<Box> {
    let nodes = tree.nodes();
    let mut totals: Vec<u64> = nodes.iter().map(|n| n.total).collect();
    let mut least = 1;
    if totals.len() > MAX_BOXES {
        let (_, &mut nth, _) = totals.select_nth_unstable_by(MAX_BOXES, |a, b| b.cmp(a));
        least = nth.max(1) + 1;
    }
    let children = tree.by_parent();
    let whole = (children.of(None).iter())
        .filter(|&&i| visible(i))
        .fold(0u64, |sum, &i| sum.saturating_add(nodes[i as usize].total));
    let mut boxes = vec![Box {
        node: None,
        from: 0.0,
        share: 1.0,
        depth: 0,
    }];
    let mut at = 0;
    while at < boxes.len() {
        let Box {
            node,
            mut from,
            share,
            depth,
        } = boxes[at];
        let end = from + share;
        for &child in children.of(node) {
            let total = nodes[child as usize].total;
            // In a damaged trace callees can take longer than their caller, and where they are estimates: they are cut off.
            let share = (total as f64 / whole as f64).min(end - from);
            if total < least || share < MIN_SHARE || boxes.len() > MAX_BOXES {
                break;
            }
            if visible(child) {
                boxes.push(Box {
                    node: Some(child),
                    from,
                    share,
                    depth: depth + 1,
                });
                from += share;
            }
        }
        at += 1;
    }
    boxes
}

/// The name without packages and parameters: `Orders.place`; the hint has all of it.
fn short_name(label: &str) -> String {
    let name = label.split('(').next().unwrap_or(label);
    let method = method_start(name);
    let ty = name[..method].trim_end_matches('.').rfind('.');
    name[ty.map_or(0, |dot| dot + 1)..].to_owned()
}

/// As much of a text as fits, or nothing.
fn shorten(text: &str, width: f64, char_width: f64) -> String {
    let room = (width / char_width).max(0.0) as usize;
    if text.chars().count() <= room {
        text.to_owned()
    } else if room < 3 {
        String::new()
    } else {
        text.chars().take(room - 1).chain(['…']).collect()
    }
}

/// A light, warm colour that is the same for every method of a type, in every picture.
fn colour(label: &str) -> String {
    let name = label.split('(').next().unwrap_or(label);
    let ty = match method_start(name) {
        0 => name,
        method => &name[..method - 1],
    };
    // FNV-1a: small, and the same everywhere.
    let hash = ty.bytes().fold(0x811c_9dc5u32, |h, b| {
        (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
    });
    let hash = hash ^ hash >> 15;
    format!(
        "hsl({},{}%,{}%)",
        5 + hash % 55,
        75 + (hash >> 8) % 20,
        66 + (hash >> 16) % 10
    )
}

/// Text as XML: markup is escaped, characters that XML does not allow become U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
