//! The part of a trace that is looked at: `--from` and `--until`.

use super::units::{date, duration, parse_duration};
use crate::error::{Error, Result};
use std::fmt;

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// A moment as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// So many nanoseconds after the trace's start.
    Since(u64),
    /// So many nanoseconds before the trace's end.
    BeforeEnd(u64),
    /// A time of day on the day of the trace, in nanoseconds since midnight here.
    TimeOfDay(u64),
    /// Nanoseconds since 1970-01-01 as a clock here shows them.
    Here(u64),
    /// Nanoseconds since 1970-01-01 UTC.
    Utc(u64),
}

/// What a user asks for; without bounds all of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub from: Option<Moment>,
    pub until: Option<Moment>,
}

/// A part of a trace, in nanoseconds since its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub from: u64,
    pub until: u64,
}

impl Part {
    /// All of a trace.
    pub const WHOLE: Part = Part {
        from: 0,
        until: u64::MAX,
    };

    /// The nearest time in it.
    #[inline]
    pub fn clip(self, time: u64) -> u64 {
        time.max(self.from).min(self.until)
    }

    /// Whether something ends in it. Of two parts that meet, one has it.
    #[inline]
    pub fn has_end(self, time: u64) -> bool {
        time <= self.until && (time > self.from || self.from == 0)
    }

    /// Whether something runs in it, if only for a moment.
    #[inline]
    pub fn has(self, start: u64, end: u64) -> bool {
        start < self.until && (end > self.from || start >= self.from)
    }
}

impl Window {
    /// Whether it has bounds.
    pub fn is_bounded(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    /// An error where nothing can lie between its bounds, whatever the trace.
    pub fn check(&self) -> Result<()> {
        let empty = match (self.from, self.until) {
            (Some(Moment::Since(from)), Some(Moment::Since(until)))
            | (Some(Moment::Utc(from)), Some(Moment::Utc(until))) => from >= until,
            (Some(Moment::BeforeEnd(from)), Some(Moment::BeforeEnd(until))) => from <= until,
            _ => false,
        };
        match empty {
            true => Err(Error::usage("--until is not behind --from")),
            false => Ok(()),
        }
    }

    /// What to show for it; `None` without bounds.
    pub fn shown(&self) -> Option<String> {
        let bound = |word, moment: Option<Moment>| moment.map(|m| format!("{word} {m}"));
        let bounds = [bound("from", self.from), bound("until", self.until)];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        (!bounds.is_empty()).then(|| format!("only {} of each trace", bounds.join(" ")))
    }

    /// The part of a trace of these times.
    pub fn of(&self, origin: u64, end: u64) -> Part {
        let at = |moment: Moment| moment.of(origin, end);
        let from = self.from.map_or(0, at);
        Part {
            from,
            until: self.until.map_or(u64::MAX, at).max(from),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Moment::Since(ns) => f.write_str(&duration(ns)),
            Moment::BeforeEnd(ns) => write!(f, "{} before the end", duration(ns)),
            Moment::TimeOfDay(ns) => {
                let shown = date(ns);
                let time = shown.split(' ').nth(1).unwrap_or_default();
                write!(f, "{time}{}", fraction(ns))
            }
            Moment::Here(ns) => {
                let shown = date(ns);
                write!(f, "{}{}", shown.trim_end_matches(" UTC"), fraction(ns))
            }
            Moment::Utc(ns) => {
                let shown = date(ns);
                write!(f, "{}{} UTC", shown.trim_end_matches(" UTC"), fraction(ns))
            }
        }
    }
}

/// What a time has beyond whole seconds: `.25`.
fn fraction(ns: u64) -> String {
    match ns % SECOND {
        0 => String::new(),
        rest => format!(".{rest:09}").trim_end_matches('0').to_owned(),
    }
}

impl Moment {
    /// As nanoseconds since the origin of a trace.
    fn of(self, origin: u64, end: u64) -> u64 {
        match self {
            Moment::Since(time) => time,
            Moment::BeforeEnd(time) => end.saturating_sub(time),
            Moment::Utc(time) => time.saturating_sub(origin),
            Moment::Here(time) => to_utc(time).saturating_sub(origin),
            Moment::TimeOfDay(time) => {
                let midnight = here(origin) / DAY * DAY;
                let on = |day: u64| to_utc((midnight + day * DAY).saturating_add(time));
                // A trace that goes on past midnight may mean the day after.
                let next = on(1);
                let is_next = on(0) < origin && next <= origin.saturating_add(end);
                (if is_next { next } else { on(0) }).saturating_sub(origin)
            }
        }
    }
}

/// Reads a moment: a duration since the trace's start (`1.5s`), before its end (`-10s`), or a clock's time
/// (`14:03:20`, `2026-11-24T14:03:20.5+01:00`), which is of this machine's zone if it names none.
pub fn parse_moment(text: &str) -> std::result::Result<Moment, String> {
    let text = text.trim();
    if !text.contains(':') {
        return match text.strip_prefix('-') {
            Some(rest) => parse_duration(rest).map(Moment::BeforeEnd),
            None => parse_duration(text).map(Moment::Since),
        };
    }
    clock(text).ok_or_else(|| {
        "expected a time such as 14:03:20 or 2026-11-24T14:03:20Z, or a duration such as 1.5s or -10s"
            .to_owned()
    })
}

fn clock(text: &str) -> Option<Moment> {
    let Some((day, time)) = text.split_once(['T', 't', ' ']) else {
        return time_of_day(text).map(Moment::TimeOfDay);
    };
    let mut parts = day.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let last = days_of(year, month)?;
    if parts.next().is_some() || !(1970..=2500).contains(&year) || !(1..=last).contains(&day) {
        return None;
    }
    let midnight = (days_since_1970(year, month) + day - 1) * DAY;
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some(Moment::Utc(midnight + time_of_day(time)?));
    }
    let Some(sign) = time.find(['+', '-']) else {
        return Some(Moment::Here(midnight + time_of_day(time)?));
    };
    let (time, offset) = time.split_at(sign);
    let at = midnight + time_of_day(time)?;
    let digits = offset[1..].replace(':', "");
    let (hours, minutes) = match digits.len() {
        2 => (number(&digits)?, 0),
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    if hours > 18 || minutes > 59 {
        return None;
    }
    let offset_ns = (hours * 60 + minutes) * 60 * SECOND;
    Some(Moment::Utc(match offset.starts_with('+') {
        true => at.saturating_sub(offset_ns),
        false => at + offset_ns,
    }))
}

/// `14:03`, `14:03:20`, `14:03:20.125` in nanoseconds since midnight.
fn time_of_day(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let (seconds, rest) = match parts.next() {
        None => (0, 0),
        Some(text) => {
            let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
            if rest.is_empty() || rest.len() > 9 {
                return None;
            }
            (number(whole)?, number(&format!("{rest:0<9}"))?)
        }
    };
    let fits = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 60;
    fits.then_some(((hours * 60 + minutes) * 60 + seconds) * SECOND + rest)
}

fn number(text: &str) -> Option<u64> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn days_of(year: u64, month: u64) -> Option<u64> {
    let leaps = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    Some(match month {
        2 => 28 + u64::from(leaps),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    })
}

/// Days from 1970 to the first of a month.
fn days_since_1970(year: u64, month: u64) -> u64 {
    let years = (1970..year).map(|year| 337 + days_of(year, 2).unwrap_or(0));
    let months = (1..month).filter_map(|month| days_of(year, month));
    years.sum::<u64>() + months.sum::<u64>()
}

/// What a clock here shows at a time of UTC.
fn here(utc: u64) -> u64 {
    let offset = offset(utc).unwrap_or(0) * SECOND as i64;
    utc.saturating_add_signed(offset)
}

fn to_utc(here: u64) -> u64 {
    let less = |by: i64| here.saturating_add_signed(-by * SECOND as i64);
    // Near a change of the clocks the first guess may be of the wrong side.
    let guess = less(offset(here).unwrap_or(0));
    less(offset(guess).unwrap_or(0))
}

/// Seconds by which the clocks here are ahead of UTC at this time, if the system tells.
#[cfg(all(unix, not(test)))]
fn offset(utc: u64) -> Option<i64> {
    let seconds = libc::time_t::try_from(utc / SECOND).ok()?;
    // SAFETY: all zeros is a valid `tm`, which the call fills; both pointers live as long as the call.
    let mut of: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: as above; the call is the one that threads may make.
    let done = unsafe { libc::localtime_r(&raw const seconds, &raw mut of) };
    // It is narrower on other systems.
    #[allow(clippy::useless_conversion)]
    let ahead = i64::from(of.tm_gmtoff);
    (!done.is_null()).then_some(ahead)
}

#[cfg(all(not(unix), not(test)))]
fn offset(_: u64) -> Option<i64> {
    None
}

/// Tests hold in every time zone: theirs is an hour ahead of UTC.
#[cfg(test)]
fn offset(_: u64) -> Option<i64> {
    Some(3_600)
}

/// A date beside that of UTC: `15:01:53 +01:00`, with its day where that is another; none where the clocks here show UTC.
pub fn local(ns: u64) -> Option<String> {
    let offset = offset(ns).filter(|&offset| offset != 0)?;
    let (utc, shown) = (date(ns), date(here(ns)));
    let shown = shown.trim_end_matches(" UTC");
    let day = &utc[..utc.find(' ').unwrap_or(0)];
    let shown = shown.strip_prefix(day).unwrap_or(shown).trim_start();
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.abs() / 60;
    Some(format!(
        "{shown} {sign}{:02}:{:02}",
        minutes / 60,
        minutes % 60
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 14:01:53 UTC.
    const ORIGIN: u64 = 1_795_269_713 * SECOND;

    fn at(text: &str, end: u64) -> u64 {
        parse_moment(text).unwrap().of(ORIGIN, end)
    }

    #[test]
    fn moments_count_from_the_start_or_from_the_end() {
        assert_eq!(at("1.5s", 60 * SECOND), 1_500_000_000);
        assert_eq!(at("-10s", 60 * SECOND), 50 * SECOND);
        assert_eq!(at("-2m", 60 * SECOND), 0);
    }

    #[test]
    fn a_clock_is_of_this_zone_unless_it_names_one() {
        for (text, seconds) in [
            ("15:02", 7),
            ("15:02:03", 10),
            ("2026-11-21T15:02:03", 10),
            ("2026-11-21 14:02:03Z", 10),
            ("2026-11-21T16:02:03+02:00", 10),
            ("2026-11-21T09:02:03-0500", 10),
            ("2026-11-22T15:02:03", 86_410),
            // Before the trace began.
            ("15:01", 0),
            ("1999-12-31T00:00:00Z", 0),
        ] {
            assert_eq!(at(text, 60 * SECOND), seconds * SECOND, "{text}");
        }
        assert_eq!(at("15:01:53.25", 60 * SECOND), SECOND / 4);
        // The trace goes on past midnight.
        let midnight = (9 * 3_600 - 53) * SECOND;
        assert_eq!(at("00:01", DAY), midnight);
        assert_eq!(at("00:00", 2 * 3_600 * SECOND), 0);
    }

    #[test]
    fn a_window_is_shown_as_it_was_asked_for() {
        let shown = |from: &str, until: &str| {
            let read = |text: &str| (!text.is_empty()).then(|| parse_moment(text).unwrap());
            let (from, until) = (read(from), read(until));
            Window { from, until }.shown()
        };
        assert_eq!(shown("", ""), None);
        let (a, b) = (
            "only from 1.50 s of each trace",
            "only until 14:03:20.5 of each trace",
        );
        assert_eq!(shown("1.5s", "").as_deref(), Some(a));
        assert_eq!(shown("", "14:03:20.5").as_deref(), Some(b));
        let c = "only from 2026-11-24 13:03:20 UTC until 10.0 s before the end of each trace";
        let from = "2026-11-24T14:03:20+01:00";
        assert_eq!(shown(from, "-10s").as_deref(), Some(c));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "-",
            "5 parsecs",
            "25:00",
            "14:60",
            "14:03:20:1",
            "14:03:",
            "2026-02-29T00:00:00",
            "2026-13-01T00:00:00",
            "2026-11-24T14:03:20+",
            "2026-11-24T14:03:20+1",
            "99999999999999999999:00",
            "T14:00",
        ] {
            assert!(parse_moment(text).is_err(), "{text}");
        }
        assert!(parse_moment("2028-02-29T00:00:00").is_ok());
    }

    #[test]
    fn parts_that_meet_share_nothing() {
        let (a, b) = (
            Part { from: 0, until: 5 },
            Part {
                from: 5,
                until: u64::MAX,
            },
        );
        for (start, end) in [(0, 0), (0, 5), (5, 5), (6, 7)] {
            assert_eq!(
                u32::from(a.has(start, end)) + u32::from(b.has(start, end)),
                1
            );
        }
        assert!(a.has(4, 6) && b.has(4, 6));
        for end in 0..8 {
            assert!(a.has_end(end) != b.has_end(end), "{end}");
        }
    }

    #[test]
    fn local_times_name_a_day_only_where_it_is_another() {
        assert_eq!(local(ORIGIN).unwrap(), "15:01:53 +01:00");
        let late = ORIGIN + 9 * 3_600 * SECOND;
        assert_eq!(local(late).unwrap(), "2026-11-22 00:01:53 +01:00");
    }
}
