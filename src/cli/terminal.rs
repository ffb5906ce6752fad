//! Where reports go: how wide, in colour or not, through a pager or not.

use crate::error::{Error, Kind, Result};
use anstyle::{AnsiColor, Style};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

/// What is below is a column of this.
pub(super) const HEAD: Style = Style::new().bold();
/// What is wrong or worse.
pub(super) const BAD: Style = AnsiColor::Red.on_default();
/// What is better.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// What to look at.
pub(super) const HOT: Style = AnsiColor::Yellow.on_default();
/// What matters less.
pub(super) const DIM: Style = Style::new().dimmed();

/// How a report looks on what it is shown on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Columns, if it is a terminal.
    pub width: Option<usize>,
    /// Whether it has colours.
    pub colour: bool,
}

/// Whether to use colours.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR says otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How the output of `report` and `diff` is shown.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Showing {
    /// Whether to use colours
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub color: Colour,

    /// No pager. Without this, what is longer than the terminal goes through $WEAVE_PAGER, $PAGER or less
    #[arg(long, help_heading = "Output")]
    pub no_pager: bool,
}

impl Showing {
    fn screen(&self) -> Screen {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let width = terminal.then(terminal_size::terminal_size).flatten();
        Screen {
            width: width.map(|(width, _)| usize::from(width.0)),
            colour: match self.color {
                Colour::Always => true,
                Colour::Never => false,
                Colour::Auto => {
                    anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never
                }
            },
        }
    }

    /// Shows what `write` writes. A reader that has seen enough (`| head`) is no failure. `paged`: for people.
    pub(super) fn show<T>(
        &self,
        paged: bool,
        write: impl FnOnce(&mut dyn Write, Screen) -> Result<T>,
    ) -> Result<T> {
        let screen = self.screen();
        let mut pager = match paged && !self.no_pager && io::stdout().is_terminal() {
            true => pager(),
            false => None,
        };
        let result = match pager.as_mut().and_then(|child| child.stdin.take()) {
            Some(stdin) => write(&mut BufWriter::new(stdin), screen),
            None => write(&mut BufWriter::new(io::stdout().lock()), screen),
        };
        if let Some(mut child) = pager {
            // What it says of its end changes nothing.
            let _ = child.wait();
        }
        result
    }
}

/// The user's pager, started. `less` ends by itself where all fits on a screen.
fn pager() -> Option<Child> {
    let named = ["WEAVE_PAGER", "PAGER"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    let line = named.unwrap_or_else(|| "less".to_owned());
    let mut words = line.split_whitespace();
    let program = words.next().filter(|&program| program != "cat")?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    command.spawn().ok()
}

/// The result of writing a report.
pub(super) fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Error::new(
            Kind::Io,
            format!("cannot write the report: {e}"),
        )),
        Ok(()) => Ok(()),
    }
}
