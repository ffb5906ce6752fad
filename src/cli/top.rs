//! `weave top`: what running processes do, on the terminal.

use super::columns::{cut_method, cut_middle};
use super::full_screen::{self, failed};
use super::{DONE, traces};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use crate::trace::live::{Counts, Live, MethodRow, ThreadRow};
use crate::trace::pattern;
use crate::trace::tail::{Role, Tail, Turn};
use crate::trace::units::{about, count, counted, duration, parse_duration, percent};
use crate::trace::window::parse_moment;
use crate::trace::{Moment, Trace, Window};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table, TableState, Wrap};
use ratatui::{Frame, Terminal, backend::Backend};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Longest that the trace is read before keys are looked at.
const BUSY: Duration = Duration::from_millis(50);
/// Pause between two looks at the trace.
const PAUSE: Duration = Duration::from_millis(50);

/// Show what running programs do: their hottest methods, errors, threads and their stacks
///
/// Reads traces while they are written, and changes nothing: programs never wait. The keys are on the help page (?).
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  weave top weave-4711.wtrace
  weave top 4711                      the trace that process 4711 writes
  weave top 4711 4712 traces/         several processes: their methods together, and each by itself
  weave top 4711 --filter 'com.acme.*' --sort errors")]
pub struct TopArgs {
    /// Traces that are being written, ids of processes that write one, or folders in which all *.wtrace are read
    #[arg(value_name = "TRACE|PID", required = true)]
    traces: Vec<PathBuf>,

    /// Refresh interval
    #[arg(short, long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    delay: u64,

    /// Only what ran after this: a time since the trace's start (1.5s), before its end (-10s), or a clock's (14:03:20)
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    from: Option<Moment>,

    /// Only what ran before this
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    until: Option<Moment>,

    /// Only methods whose name contains this; a pattern with * or ? must match the whole name
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
Tab, 1, 2, 3     methods, threads, processes
up, down, j, k   choose a row; PgUp, PgDn, Home, End
left, right      sort by the previous, next column
s t c e m l n    sort by self, total, calls, errors, mean, longest, name
r                reverse the order
/                filter by name: text, or * and ?; Enter keeps it, Esc ends it
z                count from now on
space            freeze the display (reading continues)
q, Ctrl-C        quit

Rates are of the last interval. Self and total are shares of its time: 100% is
one thread. A call counts when it ends; stacks show those that are open.";

impl TopArgs {
    fn window(&self) -> Window {
        Window {
            from: self.from,
            until: self.until,
        }
    }
}

/// Runs the subcommand until the user has seen enough.
pub fn run(args: &TopArgs) -> Result<u8> {
    let mut tails = Vec::new();
    args.window().check()?;
    let paths = paths(&args.traces)?;
    for path in &paths {
        tails.push(Tail::open(path, Role::Onlooker)?);
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let what = "top needs a terminal; weave report shows a trace without one";
        return Err(Error::new(Kind::NotDone, what));
    }
    let mut app = App::new(args, tails.len());
    app.look_at(&paths)?;
    full_screen::show(|terminal, stop| app.watch(&mut tails, terminal, stop))?;
    Ok(DONE)
}

/// The traces that arguments name, each once.
fn paths(args: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for arg in args {
        let named = match arg.is_dir() {
            true => traces::files(std::slice::from_ref(arg))?.concat(),
            false => vec![traces::live(arg)?],
        };
        for path in named {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Methods,
    Threads,
    Processes,
}

/// A call that is open: its method, and for how long.
type Open = (String, u64);

/// A thread of one of the processes.
struct ThreadOf {
    process: usize,
    row: ThreadRow,
}

struct App {
    /// What of the traces counts.
    window: Window,
    /// One a process.
    lives: Vec<Live>,
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
    threads: Vec<ThreadOf>,
    /// One a process.
    statuses: Vec<Status>,
    /// The processes in the order in which they are shown.
    order: Vec<usize>,
}

/// What is said of a process.
#[derive(Clone, Default)]
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
    fn new(args: &TopArgs, processes: usize) -> App {
        App {
            window: args.window(),
            lives: (0..processes).map(|_| Live::default()).collect(),
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
            statuses: vec![Status::default(); processes],
            order: (0..processes).collect(),
        }
    }

    /// Looks up which part of each trace counts, if that is not all.
    fn look_at(&mut self, paths: &[PathBuf]) -> Result<()> {
        if self.window.is_bounded() {
            for (path, live) in paths.iter().zip(&mut self.lives) {
                let trace = Trace::open(path)?;
                live.look_at(self.window.of(trace.header().origin, trace.end()));
            }
        }
        Ok(())
    }

    fn tick(&mut self, interval: u64) {
        self.lives.iter_mut().for_each(|live| live.tick(interval));
    }

    fn watch<B: Backend>(
        &mut self,
        tails: &mut [Tail],
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
                turn = Turn::default();
                for (tail, live) in tails.iter_mut().zip(&mut self.lives) {
                    turn.more |= tail.turn(live)?.more;
                }
                if !turn.more {
                    break;
                }
            }
            let all_seen = tails.iter().all(|t| t.looks() >= 3 || t.is_done());
            if behind && !turn.more && all_seen {
                behind = false;
                self.tick(0);
                self.tick(0);
                ticked = Instant::now();
                self.look(tails, behind);
            } else if ticked.elapsed() >= self.delay {
                self.tick(ticked.elapsed().as_nanos() as u64);
                ticked = Instant::now();
                self.look(tails, behind);
            }
            if full_screen::was_stopped() {
                terminal.clear().map_err(|e| failed(&e))?;
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
    fn look(&mut self, tails: &[Tail], behind: bool) {
        if self.held {
            return;
        }
        let statuses = tails.iter().zip(&self.lives);
        self.statuses = statuses
            .map(|(tail, live)| Status::of(tail, live, behind))
            .collect();
        self.methods = together(self.lives.iter().map(Live::methods));
        self.threads = (self.lives.iter().enumerate())
            .flat_map(|(process, live)| {
                let rows = live.threads().into_iter();
                rows.map(move |row| ThreadOf { process, row })
            })
            .collect();
        self.arrange();
    }

    /// All processes in one.
    fn whole(&self) -> Status {
        let mut whole = Status {
            ended: true,
            ..Status::default()
        };
        for status in &self.statuses {
            whole.ended &= status.ended;
            whole.behind |= status.behind;
            whole.full |= status.full;
            whole.now = whole.now.max(status.now);
            whole.interval = status.interval;
            whole.recent.add(&status.recent);
            whole.busy += status.busy;
            whole.lost = whole.lost.saturating_add(status.lost);
            whole.missing = whole.missing.saturating_add(status.missing);
        }
        whole
    }

    /// How a thread is called: of several processes with the process' id.
    fn name_of(&self, thread: &ThreadOf) -> String {
        match self.statuses.len() {
            1 => thread.row.name.clone(),
            _ => format!("{} {}", self.statuses[thread.process].pid, thread.row.name),
        }
    }

    fn arrange(&mut self) {
        let (sort, reversed) = (self.sort, self.reversed);
        self.methods.sort_by(|a, b| {
            let key = |row: &MethodRow| match sort {
                Sort::Own => (row.recent.own, row.sum.own),
                Sort::Total => (row.recent.total, row.sum.total),
                Sort::Calls => (row.recent.all_calls(), row.sum.all_calls()),
                Sort::Errors => (row.recent.errors, row.sum.errors),
                Sort::Mean => (mean(&row.sum), 0),
                Sort::Longest => (row.longest, 0),
                Sort::Name => (0, 0),
            };
            let order = key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name));
            if reversed { order.reverse() } else { order }
        });
        self.threads.sort_by(|a, b| {
            let key = |of: &ThreadOf| match sort {
                Sort::Calls => (of.row.recent.calls, of.row.sum.calls),
                Sort::Errors => (of.row.recent.errors, of.row.sum.errors),
                _ => (of.row.recent.own, of.row.sum.own),
            };
            let order = match sort {
                Sort::Name => a.row.name.cmp(&b.row.name),
                _ => key(b).cmp(&key(a)),
            };
            let place = |of: &ThreadOf| (of.process, of.row.number);
            let order = order.then_with(|| place(a).cmp(&place(b)));
            if reversed { order.reverse() } else { order }
        });
        let statuses = &self.statuses;
        self.order = (0..statuses.len()).collect();
        self.order.sort_by(|&a, &b| {
            let key = |i: usize| match sort {
                Sort::Calls => statuses[i].recent.all_calls(),
                Sort::Errors => statuses[i].recent.errors,
                _ => statuses[i].recent.own,
            };
            let order = match sort {
                Sort::Name => statuses[a].command.cmp(&statuses[b].command),
                _ => key(b).cmp(&key(a)),
            };
            let order = order.then_with(|| a.cmp(&b));
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
            KeyCode::Char('z') => self.lives.iter_mut().for_each(Live::zero),
            KeyCode::Char('1') => self.show(View::Methods),
            KeyCode::Char('2') => self.show(View::Threads),
            KeyCode::Char('3') => self.show(View::Processes),
            KeyCode::Tab => self.show(match self.view {
                View::Methods => View::Threads,
                View::Threads if self.statuses.len() > 1 => View::Processes,
                View::Threads | View::Processes => View::Methods,
            }),
            KeyCode::BackTab => self.show(match self.view {
                View::Methods if self.statuses.len() > 1 => View::Processes,
                View::Methods | View::Processes => View::Threads,
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
        let head_lines = self.head(frame.area().width);
        let rows = [
            Constraint::Length(head_lines.len() as u16),
            Constraint::Min(3),
            Constraint::Length(1),
        ];
        let [head, body, foot] = Layout::vertical(rows).areas(frame.area());
        frame.render_widget(Paragraph::new(head_lines), head);
        match self.view {
            View::Methods => self.draw_methods(frame, body),
            View::Threads => self.draw_threads(frame, body),
            View::Processes => self.draw_processes(frame, body),
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

    /// What runs, and how: no fact is cut.
    fn head(&self, width: u16) -> Vec<Line<'static>> {
        let status = &self.whole();
        let state = match status {
            _ if self.held => "held",
            Status { ended: true, .. } => "ended",
            Status { behind: true, .. } => "reading the trace so far",
            _ => "running",
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let estimated = |text| about(text, status.recent.unseen > 0);
        let mut facts = vec![
            format!(
                "{} calls/s",
                estimated(rate(status.recent.all_calls(), status.interval))
            ),
            format!(
                "{} errors/s",
                estimated(rate(status.recent.errors, status.interval))
            ),
            format!("{} threads in calls", count(status.busy as u64)),
            format!("{} since the start", duration(status.now)),
        ];
        if status.lost > 0 {
            facts.push(format!("{} records lost", count(status.lost)));
        }
        if status.missing > 0 {
            facts.push(format!("{} missing", counted(status.missing, "segment")));
        }
        if status.full {
            facts.push("the trace is full: weave collect makes room".to_owned());
        }
        facts.extend(self.window.shown());
        let first = match &self.statuses[..] {
            [one] => format!("weave top  {state}  pid {}  {}", one.pid, one.command),
            many => {
                let running = many.iter().filter(|status| !status.ended).count();
                let state = match state {
                    "running" if running < many.len() => format!("{running} running"),
                    state => state.to_owned(),
                };
                let pids: Vec<String> = many.iter().map(|s| s.pid.to_string()).collect();
                let processes = format!("{} processes", many.len());
                format!("weave top  {state}  {processes}: {}", pids.join(" "))
            }
        };
        let mut lines = vec![first, String::new()];
        for fact in facts {
            let line = lines.last_mut().expect("there are two");
            if line.is_empty() {
                *line = fact;
            } else if line.chars().count() + 3 + fact.chars().count() <= usize::from(width) {
                *line += &format!("   {fact}");
            } else {
                lines.push(fact);
            }
        }
        let mut lines: Vec<Line> = lines.into_iter().map(Line::from).collect();
        lines[0] = std::mem::take(&mut lines[0]).style(bold);
        lines
    }

    fn draw_methods(&mut self, frame: &mut Frame, area: Rect) {
        let interval = self.whole().interval;
        let part = |n: u64| {
            if interval == 0 {
                "-".to_owned()
            } else {
                percent(n, interval)
            }
        };
        let column = |head, sort, value| MethodColumn { head, sort, value };
        let columns = [
            column("self", Some(Sort::Own), |row| row.recent.own),
            column("total", Some(Sort::Total), |row| row.recent.total),
            column("calls/s", Some(Sort::Calls), |row| row.recent.all_calls()),
            column("errors/s", Some(Sort::Errors), |row| row.recent.errors),
            column("calls", None, |row| row.sum.all_calls()),
            column("mean", Some(Sort::Mean), |row| mean(&row.sum)),
            column("longest", Some(Sort::Longest), |row| row.longest),
            column("now", None, |row| u64::from(row.now)),
        ];
        let text = |head: &str, n: u64| match head {
            "self" | "total" => part(n),
            "calls/s" | "errors/s" => rate(n, interval),
            "mean" | "longest" => duration(n),
            _ => count(n),
        };
        let shown: Vec<&MethodRow> = (self.methods.iter())
            .filter(|row| self.fits(&row.name))
            .collect();
        let of_each = columns.map(|MethodColumn { head, sort, value }| {
            let cells = shown.iter().map(|row| match row.is_counted() {
                true if !OF_COUNTED.contains(&head) => String::new(),
                _ => {
                    let is_estimate = match head {
                        "self" | "total" | "calls/s" | "errors/s" => row.recent.unseen > 0,
                        "calls" => row.sum.unseen > 0,
                        _ => false,
                    };
                    about(text(head, value(row)), is_estimate)
                }
            });
            let cells = cells.collect();
            Figures { head, sort, cells }
        });
        // What is left out first.
        let order = [
            "now", "calls", "mean", "total", "longest", "errors/s", "calls/s",
        ];
        let (figures, room) = fitting(of_each.into(), &order, self.sort, area.width);
        let names = shown.iter().map(|row| vec![cut_method(&row.name, room)]);
        let names = names.collect();
        let heads = vec![Texts::new("method", Some(Sort::Name), room)];
        self.table(frame, area, &figures, heads, names);
    }

    fn draw_threads(&mut self, frame: &mut Frame, area: Rect) {
        let interval = self.whole().interval;
        // What calls a thread has open, the outermost first, and for how long.
        let stack_of = |of: &ThreadOf| {
            let (live, now) = (&self.lives[of.process], self.statuses[of.process].now);
            let calls = of.row.stack.iter();
            let calls =
                calls.map(|&(method, start)| (live.name(method), now.saturating_sub(start)));
            calls.collect::<Vec<Open>>()
        };
        let shown: Vec<(&ThreadRow, String, Vec<Open>)> = (self.threads.iter())
            .map(|of| (&of.row, self.name_of(of), stack_of(of)))
            .filter(|(_, name, stack)| {
                self.fits(name) || stack.last().is_some_and(|(name, _)| self.fits(name))
            })
            .collect();
        let part = |n| percent(n, interval);
        let recent = |row: &ThreadRow, text| about(text, row.recent.unseen > 0);
        let figures = vec![
            Figures {
                head: "self",
                sort: Some(Sort::Own),
                cells: shown
                    .iter()
                    .map(|(row, ..)| recent(row, part(row.recent.own)))
                    .collect(),
            },
            Figures {
                head: "calls/s",
                sort: Some(Sort::Calls),
                cells: shown
                    .iter()
                    .map(|(row, ..)| recent(row, rate(row.recent.calls, interval)))
                    .collect(),
            },
            Figures {
                head: "errors",
                sort: Some(Sort::Errors),
                cells: shown
                    .iter()
                    .map(|(row, ..)| about(count(row.sum.errors), row.sum.unseen > 0))
                    .collect(),
            },
        ];
        let (figures, room) = fitting(figures, &["errors", "calls/s"], self.sort, area.width);
        // Names of threads take a third.
        let longest = shown.iter().map(|(_, name, _)| name.chars().count()).max();
        let for_thread = longest.unwrap_or(0).clamp(6, 30).min((room / 3).max(6));
        let for_call = room.saturating_sub(for_thread + 1);
        let names = (shown.iter())
            .map(|(_, name, stack)| {
                let inside = stack.last().map_or(String::new(), |(method, open)| {
                    let open = duration(*open);
                    let room = for_call.saturating_sub(open.chars().count() + 5);
                    format!("{} for {open}", cut_method(method, room))
                });
                vec![cut_middle(name, for_thread), inside]
            })
            .collect();
        let chosen = self
            .selected
            .selected()
            .unwrap_or(0)
            .min(shown.len().saturating_sub(1));
        let stack: Vec<Line> = match shown.get(chosen) {
            None => Vec::new(),
            Some((.., stack)) if stack.is_empty() => vec![Line::from("no call is open")],
            Some((.., stack)) => (stack.iter().rev())
                .map(|(method, open)| Line::from(format!("{:>9}  {method}", duration(*open))))
                .collect(),
        };
        let title = shown
            .get(chosen)
            .map_or(String::new(), |(_, name, _)| format!(" stack of {name} "));
        let heads = vec![
            Texts::new("thread", None, for_thread),
            Texts::new("in", None, for_call),
        ];
        let halves = [Constraint::Fill(1), Constraint::Fill(1)];
        let [above, below] = Layout::vertical(halves).areas(area);
        self.table(frame, above, &figures, heads, names);
        let stack = Paragraph::new(stack).block(Block::bordered().title(title));
        frame.render_widget(stack, below);
    }

    /// Each process by itself.
    fn draw_processes(&mut self, frame: &mut Frame, area: Rect) {
        let shown: Vec<&Status> = (self.order.iter().map(|&i| &self.statuses[i]))
            .filter(|s| self.fits(&s.command) || self.fits(&s.pid.to_string()))
            .collect();
        let recent = |s: &Status, text| about(text, s.recent.unseen > 0);
        let of = |head, sort, text: &dyn Fn(&Status) -> String| Figures {
            head,
            sort,
            cells: shown.iter().map(|s| text(s)).collect(),
        };
        let figures = vec![
            of("pid", None, &|s| s.pid.to_string()),
            of("self", Some(Sort::Own), &|s| {
                recent(s, percent(s.recent.own, s.interval))
            }),
            of("calls/s", Some(Sort::Calls), &|s| {
                recent(s, rate(s.recent.all_calls(), s.interval))
            }),
            of("errors/s", Some(Sort::Errors), &|s| {
                recent(s, rate(s.recent.errors, s.interval))
            }),
            of("threads", None, &|s| count(s.busy as u64)),
            of("lost", None, &|s| count(s.lost)),
            of("since", None, &|s| duration(s.now)),
        ];
        let order = ["since", "lost", "threads", "errors/s", "calls/s"];
        let (figures, room) = fitting(figures, &order, self.sort, area.width);
        let names = (shown.iter())
            .map(|s| {
                let ended = if s.ended { "ended: " } else { "" };
                vec![cut_middle(&format!("{ended}{}", s.command), room)]
            })
            .collect();
        let heads = vec![Texts::new("command", Some(Sort::Name), room)];
        self.table(frame, area, &figures, heads, names);
    }

    /// Figures, then texts that fit their rooms already.
    fn table(
        &mut self,
        frame: &mut Frame,
        area: Rect,
        figures: &[Figures],
        texts: Vec<Texts>,
        names: Vec<Vec<String>>,
    ) {
        let last = names.len().saturating_sub(1);
        self.selected
            .select(Some(self.selected.selected().unwrap_or(0).min(last)));
        let marked = |text: String, sort: Option<Sort>| match sort == Some(self.sort) {
            true => Cell::from(text).style(Style::new().add_modifier(Modifier::REVERSED)),
            false => Cell::from(text),
        };
        let right = |text: &str, width: usize| format!("{text:>width$}");
        let heads = (figures
            .iter()
            .map(|f| marked(right(f.head, f.width()), f.sort)))
        .chain(
            texts
                .iter()
                .map(|text| marked(text.head.to_owned(), text.sort)),
        );
        let header = Row::new(heads).style(Style::new().add_modifier(Modifier::BOLD));
        let rows = names.into_iter().enumerate().map(|(i, names)| {
            let cells = figures
                .iter()
                .map(|f| Cell::from(right(&f.cells[i], f.width())));
            Row::new(cells.chain(names.into_iter().map(Cell::from)))
        });
        let widths = (figures.iter().map(Figures::width))
            .chain(texts.iter().map(|text| text.width))
            .map(|width| Constraint::Length(width as u16));
        let widths: Vec<Constraint> = widths.collect();
        let table = Table::new(rows.collect::<Vec<_>>(), widths)
            .header(header)
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(table, area, &mut self.selected);
    }
}

/// A column of methods' figures.
struct MethodColumn {
    head: &'static str,
    /// What it sorts by.
    sort: Option<Sort>,
    value: fn(&MethodRow) -> u64,
}

/// A column of texts.
struct Texts {
    head: &'static str,
    sort: Option<Sort>,
    width: usize,
}

impl Texts {
    fn new(head: &'static str, sort: Option<Sort>, width: usize) -> Texts {
        Texts { head, sort, width }
    }
}

/// Columns that a method has whose calls are only counted.
const OF_COUNTED: [&str; 3] = ["calls/s", "calls", "now"];

/// A column of figures.
struct Figures {
    head: &'static str,
    sort: Option<Sort>,
    cells: Vec<String>,
}

impl Figures {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells
            .chain([self.head.len(), FIGURE])
            .max()
            .unwrap_or(FIGURE)
    }
}

/// Narrowest that a column of figures and a name become.
const FIGURE: usize = 7;
const NAME: usize = 24;

/// The columns that a width has room for beside a name, and the room for that. They go in this order; that by which rows are
/// sorted stays.
fn fitting(
    mut figures: Vec<Figures>,
    order: &[&str],
    sort: Sort,
    width: u16,
) -> (Vec<Figures>, usize) {
    let width = usize::from(width);
    let used = |figures: &[Figures]| figures.iter().map(|f| f.width() + 1).sum::<usize>();
    for head in order {
        if used(&figures) + NAME <= width {
            break;
        }
        figures.retain(|f| f.head != *head || f.sort == Some(sort));
    }
    let room = width.saturating_sub(used(&figures));
    (figures, room)
}

impl Status {
    fn of(tail: &Tail, live: &Live, behind: bool) -> Status {
        let header = tail.header();
        let (recent, busy) = live.recent();
        let as_of = (tail.as_of())
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
            .map_or(0, |time| time.as_nanos() as u64);
        Status {
            command: printable(&header.command),
            pid: header.pid,
            ended: tail.is_done(),
            behind,
            now: match tail.is_done() {
                true => tail.end(),
                false => as_of.saturating_sub(header.origin).max(live.last()),
            },
            interval: live.interval(),
            recent,
            busy,
            lost: header.lost,
            missing: live.missing(),
            full: header.policy != 0 && header.lost > 0 && header.consumer == 0,
        }
    }
}

/// The methods of several processes: those of one name are one.
fn together(processes: impl Iterator<Item = Vec<MethodRow>>) -> Vec<MethodRow> {
    let mut all: BTreeMap<String, MethodRow> = BTreeMap::new();
    for row in processes.flatten() {
        match all.get_mut(&row.name) {
            None => {
                all.insert(row.name.clone(), row);
            }
            Some(known) => {
                known.sum.add(&row.sum);
                known.recent.add(&row.recent);
                known.longest = known.longest.max(row.longest);
                known.now += row.now;
            }
        }
    }
    all.into_values().collect()
}

/// How many in a second.
fn rate(n: u64, interval: u64) -> String {
    count((u128::from(n) * 1_000_000_000 / u128::from(interval.max(1))) as u64)
}

fn mean(counts: &Counts) -> u64 {
    counts.total / counts.calls.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::{Chunk, TraceBuilder, sampled, shop_symbols};
    use ratatui::backend::TestBackend;

    fn row(name: &str, calls: u64, own: u64, errors: u64) -> MethodRow {
        let counts = Counts {
            calls,
            unseen: 0,
            counted: 0,
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
            traces: vec![PathBuf::new()],
            delay: 1_000_000_000,
            from: None,
            until: None,
            filter: None,
            sort: Sort::Own,
        };
        let mut app = App::new(&args, 1);
        app.statuses[0].interval = 1_000_000_000;
        app.methods = vec![
            row("a.Slow.run()", 10, 900_000_000, 0),
            row("a.Often.get()", 5_000, 1_000_000, 0),
            row("b.Fails.go()", 20, 2_000_000, 7),
        ];
        app.arrange();
        app
    }

    fn lines(app: &mut App) -> Vec<String> {
        lines_of(app, 120)
    }

    fn lines_of(app: &mut App, width: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, 12)).unwrap();
        terminal.draw(|frame| app.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| {
            (0..width)
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

    /// What `top` shows of traces whose processes have ended.
    fn of_traces(traces: Vec<Vec<u8>>) -> App {
        of_window(traces, Window::default())
    }

    fn of_window(traces: Vec<Vec<u8>>, window: Window) -> App {
        let dir = tempfile::tempdir().unwrap();
        for (i, bytes) in traces.iter().enumerate() {
            std::fs::write(dir.path().join(format!("{i}.wtrace")), bytes).unwrap();
        }
        let paths = paths(&[dir.path().to_owned(), dir.path().join("0.wtrace")]).unwrap();
        assert_eq!(paths.len(), traces.len(), "each trace once");
        let tails = paths.iter().map(|path| Tail::open(path, Role::Onlooker));
        let mut tails: Vec<Tail> = tails.collect::<Result<_>>().unwrap();
        let args = TopArgs {
            traces: Vec::new(),
            delay: 1_000_000_000,
            from: window.from,
            until: window.until,
            filter: None,
            sort: Sort::Calls,
        };
        let mut app = App::new(&args, tails.len());
        app.look_at(&paths).unwrap();
        for (tail, live) in tails.iter_mut().zip(&mut app.lives) {
            while !tail.is_done() {
                tail.turn(live).unwrap();
            }
        }
        app.tick(1_000_000_000);
        app.look(&tails, false);
        app
    }

    #[test]
    fn methods_of_several_processes_are_one_and_processes_have_a_view() {
        let trace = |command: &str, pid, calls: u64| {
            let mut chunk = Chunk::records(1, 0, 0).thread(1, 0, "worker").enter(1, 1);
            for _ in 0..calls {
                chunk = chunk.enter(1, 3).exit(1, 3);
            }
            TraceBuilder::new(command, pid, 1_000)
                .symbols(&shop_symbols(), 65_504, &[])
                .push(chunk.exit(1, 1))
                .bytes()
        };
        let mut app = of_traces(vec![
            trace("shop --east", 71, 5),
            trace("shop --west", 72, 8),
        ]);
        let shown = lines(&mut app);
        let has = |line: &str, words: &[&str]| words.iter().all(|word| line.contains(word));
        assert!(
            has(&shown[0], &["ended", "2 processes: 71 72"]),
            "{shown:#?}"
        );
        assert!(has(&shown[1], &["15 calls/s"]), "{shown:#?}");
        assert!(has(&shown[3], &[" 13 ", "Stock.take(int)"]), "{shown:#?}");
        assert!(has(&shown[4], &[" 2 ", "Main.main"]), "{shown:#?}");
        press(&mut app, "2");
        let shown = lines(&mut app);
        assert!(
            has(&shown[3], &["72 worker"]) && has(&shown[4], &["71 worker"]),
            "{shown:#?}"
        );
        press(&mut app, "3");
        let shown = lines(&mut app);
        assert!(
            has(&shown[3], &["72", " 9 ", "ended: shop --west"]),
            "{shown:#?}"
        );
        assert!(
            has(&shown[4], &["71", " 6 ", "ended: shop --east"]),
            "{shown:#?}"
        );
        press(&mut app, "/east\n");
        let shown = lines(&mut app);
        assert!(
            has(&shown[3], &["71"]) && shown[4].trim().is_empty(),
            "{shown:#?}"
        );
    }

    #[test]
    fn calls_that_were_only_counted_have_no_times() {
        let trace = TraceBuilder::new("shop", 71, 1_000)
            .symbols(&shop_symbols(), 65_504, &[])
            .push(Chunk::records(1, 0, 0).enter(1, 1).exit(9, 1))
            .push(Chunk::counts(0, 5, &[(3, 7_000), (2, 4)]))
            .push(Chunk::counts(1, 6, &[(4, 80)]))
            .bytes();
        let mut app = of_traces(vec![trace]);
        let shown = lines(&mut app);
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert!(shown[1].contains("7,085 calls/s"), "{shown:#?}");
        let heads = "self total calls/s errors/s calls mean longest now method";
        assert_eq!(words(&shown[2]).join(" "), heads, "{shown:#?}");
        let take = ["7,000", "7,000", "0", "com.acme.Stock.take(int)"];
        assert_eq!(words(&shown[3]), take, "{shown:#?}");
        let fib = ["80", "80", "0", "com.acme.Maths.fib(int)"];
        assert_eq!(words(&shown[4]), fib, "{shown:#?}");
        press(&mut app, "s");
        let shown = lines(&mut app);
        assert!(shown[3].contains("main"), "times first: {shown:#?}");
    }

    #[test]
    fn what_sampled_calls_come_to_is_marked() {
        let mut app = of_traces(vec![sampled().bytes()]);
        let shown = lines(&mut app);
        assert!(shown[1].contains("~316 calls/s"), "{shown:#?}");
        let of = |method: &str| {
            let line = shown.iter().find(|line| line.contains(method)).unwrap();
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let place = of("com.acme.Orders.place");
        assert_eq!(
            place[2..7],
            ["~200", "~100", "~200", "40", "ns"],
            "{shown:#?}"
        );
        let main = of("com.acme.Main.main");
        assert_eq!(main[2..5], ["1", "0", "1"], "{shown:#?}");
    }

    #[test]
    fn of_a_window_only_what_ran_in_it_counts() {
        let trace = TraceBuilder::new("shop", 71, 1_000)
            .symbols(&shop_symbols(), 65_504, &[])
            .push(
                Chunk::records(1, 0, 0)
                    .enter(0, 1)
                    .enter(100, 2)
                    .exit(100, 2)
                    .enter(200, 3)
                    .exit(100, 3)
                    .exit(300, 1),
            )
            .push(Chunk::counts(0, 5, &[(4, 7_000)]))
            .bytes();
        let window = Window {
            from: Some(Moment::Since(300)),
            until: Some(Moment::BeforeEnd(450)),
        };
        let mut app = of_window(vec![trace], window);
        let shown = lines(&mut app);
        let told = "only from 300 ns until 450 ns before the end of each trace";
        assert!(
            shown.iter().any(|line| line.starts_with(told)),
            "{shown:#?}"
        );
        let times = |name: &str| {
            let row = app.methods.iter().find(|row| row.name.contains(name));
            row.map(|row| (row.sum.calls, row.sum.total, row.sum.own))
        };
        assert_eq!(times("main"), Some((1, 250, 150)));
        assert_eq!(times("take"), Some((1, 100, 100)));
        assert_eq!((times("place"), times("fib")), (None, None));
    }

    #[test]
    fn figures_are_whole_on_a_narrow_terminal() {
        let mut app = app();
        app.methods = vec![row(
            "com.acme.shop.orders.Orders.place()",
            1_234_567_890,
            900_000_000,
            600,
        )];
        app.statuses[0].missing = 2;
        for (width, heads) in [(120, "calls"), (80, "errors/s"), (60, "calls/s")] {
            let mut shown = lines_of(&mut app, width);
            let told = shown.iter().any(|line| line.contains("2 segments missing"));
            assert!(told, "{shown:#?}");
            let head = shown
                .iter()
                .position(|line| line.contains(heads) && line.contains("self"));
            shown.drain(..head.unwrap() - 2);
            let words: Vec<&str> = shown[3].split_whitespace().collect();
            assert!(
                words.contains(&"90.0%") && words.contains(&"1,234,567,890"),
                "{shown:#?}"
            );
            assert!(shown[3].contains("place"), "{shown:#?}");
        }
        // The column that sorts stays.
        press(&mut app, "m");
        let shown = lines_of(&mut app, 60);
        assert!(
            shown
                .iter()
                .any(|line| line.contains("mean") && line.contains("self")),
            "{shown:#?}"
        );
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
