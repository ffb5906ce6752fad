//! `weave top`: what a running process does, on the terminal.

use super::full_screen::{self, failed};
use super::{DONE, traces};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::trace::live::{Counts, Live, MethodRow, ThreadRow};
use crate::trace::pattern;
use crate::trace::tail::{Role, Tail, Turn};
use crate::trace::units::{count, counted, duration, parse_duration, percent};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table, TableState, Wrap};
use ratatui::{Frame, Terminal, backend::Backend};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Longest that the trace is read before keys are looked at.
const BUSY: Duration = Duration::from_millis(50);
/// Pause between two looks at the trace.
const PAUSE: Duration = Duration::from_millis(50);

/// Show what a running program does: its hottest methods, errors, threads and their stacks
///
/// Reads the trace while it is written, and changes nothing: the program never waits. The keys are on the help page (?).
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  weave top weave-4711.wtrace
  weave top 4711                      the trace that process 4711 writes
  weave top 4711 --filter 'com.acme.*' --sort errors")]
pub struct TopArgs {
    /// A trace that is being written, or the id of the process that writes it
    #[arg(value_name = "TRACE|PID")]
    trace: PathBuf,

    /// Time between two pictures
    #[arg(short, long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    delay: u64,

    /// Only methods whose name has this in it, or fits it as a whole with * and ?
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,

    /// Sort key
    #[arg(long, value_enum, default_value_t = Sort::Own, value_name = "COLUMN")]
    sort: Sort,
}

/// Columns of methods.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Own time in the last interval
    #[value(name = "self")]
    Own,
    /// Time from enter to end in the last interval
    Total,
    /// Calls in the last interval
    Calls,
    /// Calls that exceptions left, in the last interval
    Errors,
    /// Mean time of a call
    Mean,
    /// Longest call
    Longest,
    /// Name
    Name,
}

const SORTS: [Sort; 7] = [
    Sort::Own,
    Sort::Total,
    Sort::Calls,
    Sort::Errors,
    Sort::Mean,
    Sort::Longest,
    Sort::Name,
];

const HELP: &str = "\
Tab, 1, 2        methods, threads
up, down, j, k   choose a row; PgUp, PgDn, Home, End
left, right      sort by the column before, behind
s t c e m l n    sort by self, total, calls, errors, mean, longest, name
r                the other way round
/                filter by name: text, or * and ?; Enter keeps it, Esc ends it
z                count from now on
space            hold the picture; the trace is read on
q, Ctrl-C        quit

Rates are of the last interval. Self and total are shares of its time: 100% is
one thread. A call counts when it ends; stacks show those that are open.";

/// Runs the subcommand until the user has seen enough.
pub fn run(args: &TopArgs) -> Result<u8> {
    let path = traces::live(&args.trace)?;
    let mut tail = Tail::open(&path, Role::Onlooker)?;
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let what = "top needs a terminal; weave report shows a trace without one";
        return Err(Error::new(Kind::NotDone, what));
    }
    full_screen::show(|terminal, stop| App::new(args).watch(&mut tail, terminal, stop))?;
    Ok(DONE)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Methods,
    Threads,
}

struct App {
    live: Live,
    delay: Duration,
    view: View,
    sort: Sort,
    reversed: bool,
    filter: String,
    /// The filter is being typed.
    typing: bool,
    help: bool,
    held: bool,
    selected: TableState,
    methods: Vec<MethodRow>,
    threads: Vec<ThreadRow>,
    status: Status,
}

/// What the head of the picture says of the process.
#[derive(Default)]
struct Status {
    command: String,
    pid: u64,
    ended: bool,
    behind: bool,
    /// Nanoseconds since the trace began.
    now: u64,
    interval: u64,
    recent: Counts,
    busy: usize,
    lost: u64,
    missing: u64,
    full: bool,
}

impl App {
    fn new(args: &TopArgs) -> App {
        App {
            live: Live::default(),
            delay: Duration::from_nanos(args.delay).max(Duration::from_millis(100)),
            view: View::Methods,
            sort: args.sort,
            reversed: false,
            filter: args.filter.clone().unwrap_or_default(),
            typing: false,
            help: false,
            held: false,
            selected: TableState::default().with_selected(0),
            methods: Vec::new(),
            threads: Vec::new(),
            status: Status::default(),
        }
    }

    fn watch<B: Backend>(
        &mut self,
        tail: &mut Tail,
        terminal: &mut Terminal<B>,
        stop: &AtomicBool,
    ) -> Result<()>
    where
        B::Error: std::fmt::Display,
    {
        let mut ticked = Instant::now();
        // What is there already is no news: rates begin when it is read.
        let mut behind = true;
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let mut turn = Turn::default();
            while begun.elapsed() < BUSY {
                turn = tail.turn(&mut self.live)?;
                if !turn.more {
                    break;
                }
            }
            if behind && !turn.more && (tail.looks() >= 3 || tail.is_done()) {
                behind = false;
                self.live.tick(0);
                self.live.tick(0);
                ticked = Instant::now();
                self.look(tail, behind);
            } else if ticked.elapsed() >= self.delay {
                self.live.tick(ticked.elapsed().as_nanos() as u64);
                ticked = Instant::now();
                self.look(tail, behind);
            }
            terminal
                .draw(|frame| self.draw(frame))
                .map_err(|e| failed(&e))?;
            let wait = if turn.more { Duration::ZERO } else { PAUSE };
            while !stop.load(Ordering::Relaxed) && event::poll(wait).map_err(|e| failed(&e))? {
                let event = event::read().map_err(|e| failed(&e))?;
                if let Event::Key(key) = event
                    && key.kind != KeyEventKind::Release
                    && !self.key(key)
                {
                    return Ok(());
                }
                terminal
                    .draw(|frame| self.draw(frame))
                    .map_err(|e| failed(&e))?;
                if turn.more {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes a new picture, unless the old one is held.
    fn look(&mut self, tail: &Tail, behind: bool) {
        if self.held {
            return;
        }
        let header = tail.header();
        let (recent, busy) = self.live.recent();
        let wall = SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |t| t.as_nanos() as u64);
        self.status = Status {
            command: printable(&header.command),
            pid: header.pid,
            ended: tail.is_done(),
            behind,
            now: match tail.is_done() {
                true => tail.end(),
                false => wall.saturating_sub(header.origin).max(tail.end()),
            },
            interval: self.live.interval(),
            recent,
            busy,
            lost: header.lost,
            missing: self.live.missing(),
            full: header.policy != 0 && header.lost > 0 && header.consumer == 0,
        };
        self.methods = self.live.methods();
        self.threads = self.live.threads();
        self.arrange();
    }

    fn arrange(&mut self) {
        let (sort, reversed) = (self.sort, self.reversed);
        self.methods.sort_by(|a, b| {
            let key = |row: &MethodRow| match sort {
                Sort::Own => (row.recent.own, row.sum.own),
                Sort::Total => (row.recent.total, row.sum.total),
                Sort::Calls => (row.recent.calls, row.sum.calls),
                Sort::Errors => (row.recent.errors, row.sum.errors),
                Sort::Mean => (mean(&row.sum), 0),
                Sort::Longest => (row.longest, 0),
                Sort::Name => (0, 0),
            };
            let order = key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name));
            if reversed { order.reverse() } else { order }
        });
        self.threads.sort_by(|a, b| {
            let key = |row: &ThreadRow| match sort {
                Sort::Calls => (row.recent.calls, row.sum.calls),
                Sort::Errors => (row.recent.errors, row.sum.errors),
                _ => (row.recent.own, row.sum.own),
            };
            let order = match sort {
                Sort::Name => a.name.cmp(&b.name),
                _ => key(b).cmp(&key(a)),
            };
            let order = order.then_with(|| a.number.cmp(&b.number));
            if reversed { order.reverse() } else { order }
        });
    }

    fn fits(&self, name: &str) -> bool {
        self.filter.is_empty() || pattern::matches(&self.filter, name)
    }

    /// Takes a key; false to quit.
    fn key(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return false;
        }
        if self.typing {
            match key.code {
                KeyCode::Enter => self.typing = false,
                KeyCode::Esc => {
                    self.typing = false;
                    self.filter.clear();
                }
                KeyCode::Backspace => {
                    self.filter.pop();
                }
                KeyCode::Char(c) => self.filter.push(c),
                _ => {}
            }
            self.selected.select(Some(0));
            return true;
        }
        if std::mem::take(&mut self.help) {
            return true;
        }
        let at = SORTS
            .iter()
            .position(|&sort| sort == self.sort)
            .unwrap_or(0);
        match key.code {
            KeyCode::Char('q') => return false,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char(' ') => self.held = !self.held,
            KeyCode::Char('z') => self.live.zero(),
            KeyCode::Char('1') => self.show(View::Methods),
            KeyCode::Char('2') => self.show(View::Threads),
            KeyCode::Tab | KeyCode::BackTab => self.show(match self.view {
                View::Methods => View::Threads,
                View::Threads => View::Methods,
            }),
            KeyCode::Up | KeyCode::Char('k') => self.selected.select_previous(),
            KeyCode::Down | KeyCode::Char('j') => self.selected.select_next(),
            KeyCode::PageUp => self.selected.scroll_up_by(20),
            KeyCode::PageDown => self.selected.scroll_down_by(20),
            KeyCode::Home => self.selected.select_first(),
            KeyCode::End => self.selected.select_last(),
            KeyCode::Left => self.sort = SORTS[at.saturating_sub(1)],
            KeyCode::Right => self.sort = SORTS[(at + 1).min(SORTS.len() - 1)],
            KeyCode::Char('s') => self.sort = Sort::Own,
            KeyCode::Char('t') => self.sort = Sort::Total,
            KeyCode::Char('c') => self.sort = Sort::Calls,
            KeyCode::Char('e') => self.sort = Sort::Errors,
            KeyCode::Char('m') => self.sort = Sort::Mean,
            KeyCode::Char('l') => self.sort = Sort::Longest,
            KeyCode::Char('n') => self.sort = Sort::Name,
            KeyCode::Char('r') => self.reversed = !self.reversed,
            _ => {}
        }
        self.arrange();
        true
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.selected = TableState::default().with_selected(0);
    }

    fn draw(&mut self, frame: &mut Frame) {
        let rows = [
            Constraint::Length(2),
            Constraint::Min(3),
            Constraint::Length(1),
        ];
        let [head, body, foot] = Layout::vertical(rows).areas(frame.area());
        frame.render_widget(self.head(), head);
        match self.view {
            View::Methods => self.draw_methods(frame, body),
            View::Threads => self.draw_threads(frame, body),
        }
        let keys = match (self.typing, self.filter.is_empty()) {
            (true, _) => format!("filter: {}_", self.filter),
            (false, true) => "q quit  Tab threads  / filter  s t c e m l n sort  r reverse  z zero  space hold  ? help".to_owned(),
            (false, false) => format!("filter: {}   Esc ends it   ? help", self.filter),
        };
        frame.render_widget(
            Line::from(keys).style(Style::new().add_modifier(Modifier::DIM)),
            foot,
        );
        if self.help {
            let area = frame.area();
            let [area] = Layout::vertical([Constraint::Max(16)]).areas(area);
            frame.render_widget(Clear, area);
            let help = Paragraph::new(HELP).block(Block::bordered().title(" weave top "));
            frame.render_widget(help.wrap(Wrap { trim: false }), area);
        }
    }

    fn head(&self) -> Paragraph<'static> {
        let status = &self.status;
        let state = match status {
            _ if self.held => "held",
            Status { ended: true, .. } => "ended",
            Status { behind: true, .. } => "reading what is there",
            _ => "running",
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut rates = format!(
            "{} calls/s   {} errors/s   {} threads in calls   {} since the start",
            count(status.recent.calls * 1_000_000_000 / status.interval.max(1)),
            count(status.recent.errors * 1_000_000_000 / status.interval.max(1)),
            count(status.busy as u64),
            duration(status.now),
        );
        if status.lost > 0 {
            rates += &format!("   {} records lost", count(status.lost));
        }
        if status.missing > 0 {
            rates += &format!("   {} missing", counted(status.missing, "segment"));
        }
        if status.full {
            rates += " (the trace is full: weave collect takes from it)";
        }
        Paragraph::new(vec![
            Line::from(format!(
                "weave top  {state}  pid {}  {}",
                status.pid, status.command
            ))
            .style(bold),
            Line::from(rates),
        ])
    }

    /// The head of a column, marked where it sorts.
    fn title(&self, text: &'static str, sort: Sort) -> Cell<'static> {
        let style = match self.sort == sort {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        Cell::from(format!("{text:>9}")).style(style)
    }

    fn draw_methods(&mut self, frame: &mut Frame, area: Rect) {
        let interval = self.status.interval;
        let rate = |n: u64| count(n * 1_000_000_000 / interval.max(1));
        let part = |n: u64| {
            if interval == 0 {
                "-".to_owned()
            } else {
                percent(n, interval)
            }
        };
        let rows: Vec<Row> = (self.methods.iter().filter(|row| self.fits(&row.name)))
            .map(|row| {
                let cells = [
                    part(row.recent.own),
                    part(row.recent.total),
                    rate(row.recent.calls),
                    rate(row.recent.errors),
                    count(row.sum.calls),
                    duration(mean(&row.sum)),
                    duration(row.longest),
                    row.now.to_string(),
                ];
                let cells = cells.map(|text| Cell::from(format!("{text:>9}")));
                Row::new(cells.into_iter().chain([Cell::from(row.name.clone())]))
            })
            .collect();
        let header = Row::new([
            self.title("self", Sort::Own),
            self.title("total", Sort::Total),
            self.title("calls/s", Sort::Calls),
            self.title("errors/s", Sort::Errors),
            Cell::from(format!("{:>9}", "calls")),
            self.title("mean", Sort::Mean),
            self.title("longest", Sort::Longest),
            Cell::from(format!("{:>9}", "now")),
            match self.sort {
                Sort::Name => {
                    Cell::from("method").style(Style::new().add_modifier(Modifier::REVERSED))
                }
                _ => Cell::from("method"),
            },
        ]);
        let widths = [Constraint::Length(9); 8]
            .into_iter()
            .chain([Constraint::Min(20)]);
        self.table(frame, area, rows, header, widths.collect());
    }

    fn draw_threads(&mut self, frame: &mut Frame, area: Rect) {
        let interval = self.status.interval;
        let shown: Vec<&ThreadRow> = (self.threads.iter())
            .filter(|row| {
                let inside = row.stack.last().map(|&(method, _)| self.live.name(method));
                self.fits(&row.name) || inside.is_some_and(|name| self.fits(&name))
            })
            .collect();
        let rows: Vec<Row> = (shown.iter())
            .map(|row| {
                let inside = match row.stack.last() {
                    Some(&(method, start)) => format!(
                        "{} for {}",
                        self.live.name(method),
                        duration(self.status.now.saturating_sub(start))
                    ),
                    None => String::new(),
                };
                Row::new([
                    format!("{:>9}", percent(row.recent.own, interval)),
                    format!(
                        "{:>9}",
                        count(row.recent.calls * 1_000_000_000 / interval.max(1))
                    ),
                    format!("{:>9}", count(row.sum.errors)),
                    row.name.clone(),
                    inside,
                ])
            })
            .collect();
        let chosen = self
            .selected
            .selected()
            .unwrap_or(0)
            .min(shown.len().saturating_sub(1));
        let stack: Vec<Line> = match shown.get(chosen) {
            None => Vec::new(),
            Some(row) if row.stack.is_empty() => vec![Line::from("no call is open")],
            Some(row) => (row.stack.iter().rev())
                .map(|&(method, start)| {
                    let open = duration(self.status.now.saturating_sub(start));
                    Line::from(format!("{open:>9}  {}", self.live.name(method)))
                })
                .collect(),
        };
        let title = shown
            .get(chosen)
            .map_or(String::new(), |row| format!(" stack of {} ", row.name));
        let header = Row::new([
            self.title("self", Sort::Own),
            self.title("calls/s", Sort::Calls),
            self.title("errors", Sort::Errors),
            Cell::from("thread"),
            Cell::from("in"),
        ]);
        let number = Constraint::Length(9);
        let widths = vec![
            number,
            number,
            number,
            Constraint::Max(30),
            Constraint::Min(20),
        ];
        let halves = [Constraint::Fill(1), Constraint::Fill(1)];
        let [above, below] = Layout::vertical(halves).areas(area);
        self.table(frame, above, rows, header, widths);
        let stack = Paragraph::new(stack).block(Block::bordered().title(title));
        frame.render_widget(stack, below);
    }

    fn table(
        &mut self,
        frame: &mut Frame,
        area: Rect,
        rows: Vec<Row<'_>>,
        header: Row<'_>,
        widths: Vec<Constraint>,
    ) {
        let last = rows.len().saturating_sub(1);
        self.selected
            .select(Some(self.selected.selected().unwrap_or(0).min(last)));
        let table = Table::new(rows, widths)
            .header(header.style(Style::new().add_modifier(Modifier::BOLD)))
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(table, area, &mut self.selected);
    }
}

fn mean(counts: &Counts) -> u64 {
    counts.total / counts.calls.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;

    fn row(name: &str, calls: u64, own: u64, errors: u64) -> MethodRow {
        let counts = Counts {
            calls,
            errors,
            total: own * 2,
            own,
        };
        MethodRow {
            name: name.to_owned(),
            sum: counts,
            recent: counts,
            longest: own,
            now: 0,
        }
    }

    fn app() -> App {
        let args = TopArgs {
            trace: PathBuf::new(),
            delay: 1_000_000_000,
            filter: None,
            sort: Sort::Own,
        };
        let mut app = App::new(&args);
        app.status.interval = 1_000_000_000;
        app.methods = vec![
            row("a.Slow.run()", 10, 900_000_000, 0),
            row("a.Often.get()", 5_000, 1_000_000, 0),
            row("b.Fails.go()", 20, 2_000_000, 7),
        ];
        app.arrange();
        app
    }

    fn lines(app: &mut App) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(120, 12)).unwrap();
        terminal.draw(|frame| app.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| {
            (0..120)
                .map(|x| buffer[(x, y)].symbol())
                .collect::<String>()
        };
        (0..12).map(row).collect()
    }

    fn press(app: &mut App, keys: &str) {
        for c in keys.chars() {
            let code = if c == '\n' {
                KeyCode::Enter
            } else {
                KeyCode::Char(c)
            };
            assert!(app.key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    #[test]
    fn keys_sort_and_filter() {
        let mut app = app();
        let shown = lines(&mut app);
        assert!(
            shown[3].contains("90.0%") && shown[3].contains("a.Slow.run()"),
            "{shown:#?}"
        );
        press(&mut app, "e");
        assert!(lines(&mut app)[3].contains("b.Fails.go()"));
        press(&mut app, "c");
        let shown = lines(&mut app);
        assert!(
            shown[3].contains("5,000") && shown[3].contains("a.Often.get()"),
            "{shown:#?}"
        );
        press(&mut app, "nr");
        assert!(lines(&mut app)[3].contains("b.Fails.go()"));
        press(&mut app, "/Slow\n");
        let shown = lines(&mut app);
        assert!(
            shown[3].contains("a.Slow.run()") && shown[4].trim().is_empty(),
            "{shown:#?}"
        );
        assert!(!app.key(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE)));
    }

    #[test]
    fn a_small_terminal_is_no_trap() {
        let mut app = app();
        for (width, height) in [(1, 1), (10, 2), (30, 4)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| app.draw(frame)).unwrap();
            press(&mut app, "2");
            terminal.draw(|frame| app.draw(frame)).unwrap();
            press(&mut app, "1?");
            terminal.draw(|frame| app.draw(frame)).unwrap();
            press(&mut app, "1");
        }
    }
}
