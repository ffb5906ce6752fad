//! Columns, and names cut to the width of a terminal.

use super::terminal::{HEAD, Screen};
use crate::trace::units::method_start;
use anstyle::Style;
use std::io::{self, Write};

/// Narrowest that a name is cut to.
const NARROW: usize = 24;

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
}

impl Columns {
    pub(in crate::cli) fn new(heads: Vec<&'static str>) -> Columns {
        Columns {
            heads,
            rows: Vec::new(),
        }
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
        let used: usize = widths.iter().map(|w| w + 2).sum();
        for (head, width) in self.heads.iter().zip(&widths) {
            let head = Cell::styled((*head).to_owned(), HEAD);
            head.write(out, *width, screen)?;
            write!(out, "  ")?;
        }
        Cell::styled(last.to_owned(), HEAD).write(out, 0, screen)?;
        writeln!(out)?;
        for (cells, name) in &self.rows {
            for (cell, width) in cells.iter().zip(&widths) {
                cell.write(out, *width, screen)?;
                write!(out, "  ")?;
            }
            match screen.width {
                Some(width) => {
                    writeln!(out, "{}", cut(name, width.saturating_sub(used).max(NARROW)))?
                }
                None => writeln!(out, "{name}")?,
            }
        }
        Ok(())
    }
}

/// A method's name in so many characters: packages shrink to letters, then parameters to `(…)`,
/// then the front goes.
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
    let skip = short.chars().count() - room.saturating_sub(1);
    ['…'].into_iter().chain(short.chars().skip(skip)).collect()
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
        assert_eq!(cut_method(name, 10), "…ers.place");
        assert_eq!(cut_method("[0x00000001]", 5), "…001]");
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
    }
}
