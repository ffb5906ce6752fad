//! Columns, and names cut to the width of a terminal.

use super::terminal::{HEAD, Screen};
use crate::trace::methods::split_label;
use crate::trace::units::method_start;
use anstyle::Style;
use std::io::{self, Write};

/// Narrowest that a name is cut to as long as a column can be left out for it, and at all.
const NARROW: usize = 24;
const NARROWEST: usize = 8;

/// A cell, and how it looks where the terminal has colours.
pub(in crate::cli) struct Cell {
    text: String,
    style: Style,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        let style = Style::new();
        Cell { text, style }
    }
}

impl Cell {
    pub(in crate::cli) fn styled(text: String, style: Style) -> Cell {
        Cell { text, style }
    }

    fn write(&self, out: &mut dyn Write, width: usize, screen: Screen) -> io::Result<()> {
        let text = &self.text;
        match screen.colour && self.style != Style::new() {
            true => write!(out, "{0}{text:>width$}{0:#}", self.style),
            false => write!(out, "{text:>width$}"),
        }
    }
}

/// Lines of right-aligned columns and one last column as long as it likes.
pub(in crate::cli) struct Columns {
    heads: Vec<&'static str>,
    rows: Vec<(Vec<Cell>, String)>,
    /// Heads that may be left out on a narrow terminal, in this order.
    spare: &'static [&'static str],
}

impl Columns {
    pub(in crate::cli) fn new(heads: Vec<&'static str>) -> Columns {
        Columns {
            heads,
            rows: Vec::new(),
            spare: &[],
        }
    }

    /// Figures are never cut: these columns are left out where there is no room, in this order.
    pub(in crate::cli) fn spare(mut self, heads: &'static [&'static str]) -> Columns {
        self.spare = heads;
        self
    }

    pub(in crate::cli) fn row(&mut self, cells: Vec<Cell>, last: String) {
        self.rows.push((cells, last));
    }

    /// Writes all; `cut` makes the last cell fit the room that is left, if there is a limit.
    pub(in crate::cli) fn write(
        &self,
        out: &mut dyn Write,
        last: &str,
        screen: Screen,
        cut: fn(&str, usize) -> String,
    ) -> io::Result<()> {
        let widths: Vec<usize> = (self.heads.iter().enumerate())
            .map(|(i, head)| {
                let cells = (self.rows.iter()).map(|(cells, _)| cells[i].text.chars().count());
                cells.max().unwrap_or(0).max(head.chars().count())
            })
            .collect();
        let mut used: usize = widths.iter().map(|w| w + 2).sum();
        let mut left_out = Vec::new();
        for spare in self.spare {
            if screen.width.is_none_or(|width| used + NARROW <= width) {
                break;
            }
            if let Some(i) = self.heads.iter().position(|head| head == spare) {
                used -= widths[i] + 2;
                left_out.push(i);
            }
        }
        let shown: Vec<usize> = (0..widths.len())
            .filter(|i| !left_out.contains(i))
            .collect();
        for &i in &shown {
            let head = Cell::styled(self.heads[i].to_owned(), HEAD);
            head.write(out, widths[i], screen)?;
            write!(out, "  ")?;
        }
        Cell::styled(last.to_owned(), HEAD).write(out, 0, screen)?;
        writeln!(out)?;
        for (cells, name) in &self.rows {
            for &i in &shown {
                cells[i].write(out, widths[i], screen)?;
                write!(out, "  ")?;
            }
            match screen.width {
                Some(width) => {
                    let room = width.saturating_sub(used).max(NARROWEST);
                    writeln!(out, "{}", cut(name, room))?;
                }
                None => writeln!(out, "{name}")?,
            }
        }
        if !left_out.is_empty() {
            left_out.sort_unstable();
            let names: Vec<&str> = left_out.iter().map(|&i| self.heads[i]).collect();
            writeln!(out, "left out for want of room: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// A method's name in so many characters: packages shrink to letters, then parameters to `(…)`,
/// then the middle goes.
pub(in crate::cli) fn cut_method(name: &str, room: usize) -> String {
    let fits = |s: &str| s.chars().count() <= room;
    if fits(name) {
        return name.to_owned();
    }
    let (full, parameters) = name.split_at(name.find('(').unwrap_or(name.len()));
    let method = method_start(full);
    let owner = full[..method].trim_end_matches('.');
    let mut parts: Vec<&str> = owner.split('.').filter(|_| method > 0).collect();
    parts.push(&full[method..]);
    let packages = parts.len().saturating_sub(2);
    let short: Vec<String> = (parts.iter().enumerate())
        .map(|(i, part)| match part.chars().next() {
            Some(c) if i < packages => c.to_string(),
            _ => (*part).to_owned(),
        })
        .collect();
    let short = short.join(".");
    for candidate in [format!("{short}{parameters}"), format!("{short}(…)")] {
        if fits(&candidate) {
            return candidate;
        }
    }
    if fits(&short) {
        return short;
    }
    cut_middle(&short, room)
}

/// A method and what is known of its calls in so many characters: the method shrinks first, down to a third.
pub(in crate::cli) fn cut_labelled(text: &str, room: usize) -> String {
    let (method, Some(more)) = split_label(text) else {
        return cut_method(text, room);
    };
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let left = room.saturating_sub(more.chars().count() + 2);
    let method = cut_method(method, left.max(room / 3));
    let left = room.saturating_sub(method.chars().count() + 2);
    format!("{method}  {}", cut_end(more, left))
}

/// Text in so many characters: the middle goes, more of the front than of the end.
pub(in crate::cli) fn cut_middle(text: &str, room: usize) -> String {
    let len = text.chars().count();
    if len <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let front = kept / 3;
    let end = text.chars().skip(len - (kept - front));
    text.chars().take(front).chain(['…']).chain(end).collect()
}

/// Text in so many characters: the end goes.
pub(in crate::cli) fn cut_end(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars()
        .take(room.saturating_sub(1))
        .chain(['…'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_shrink_from_the_least_telling_end() {
        let name = "com.acme.shop.Orders.place(int, String)";
        assert_eq!(cut_method(name, 39), name);
        assert_eq!(cut_method(name, 38), "c.a.s.Orders.place(int, String)");
        assert_eq!(cut_method(name, 25), "c.a.s.Orders.place(…)");
        assert_eq!(cut_method(name, 18), "c.a.s.Orders.place");
        assert_eq!(cut_method(name, 10), "c.a….place");
        assert_eq!(cut_method("[0x00000001]", 5), "[…01]");
        assert_eq!(cut_middle("http-nio-8080-exec-12", 12), "htt…-exec-12");
        assert_eq!(cut_method("main(int, int)", 7), "main(…)");
        assert_eq!(
            cut_method("Acme.Shop.Order..ctor(int)", 20),
            "A.S.Order..ctor(int)"
        );
        assert_eq!(
            cut_method("Acme.Shop.Order..ctor(int)", 19),
            "A.S.Order..ctor(…)"
        );
        assert_eq!(cut_end("abcdef", 4), "abc…");
        let call = "com.acme.shop.Orders.place(int)  sql=\"SELECT 1 FROM orders\"";
        assert_eq!(cut_labelled(call, 99), call);
        assert_eq!(
            cut_labelled(call, 50),
            "c.a.s.Orders.place(…)  sql=\"SELECT 1 FROM orders\""
        );
        assert_eq!(
            cut_labelled(call, 36),
            "c.a…rs.place  sql=\"SELECT 1 FROM or…"
        );
        assert_eq!(cut_labelled(name, 18), "c.a.s.Orders.place");
    }
}
