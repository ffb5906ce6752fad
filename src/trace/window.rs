//! The selected part of a trace: `--from` and `--until`.

use super::units::{duration, parse_duration, timestamp};
use crate::error::{Error, Result};
use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use std::fmt;

/// A moment as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// So many nanoseconds after the trace's start.
    Since(u64),
    /// So many nanoseconds before the trace's end.
    BeforeEnd(u64),
    /// A time of day on the day of the trace, as a clock here shows it.
    TimeOfDay(Time),
    /// A day and a time as a clock here shows them.
    Here(DateTime),
    /// The same everywhere.
    Utc(Timestamp),
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
            (Some(Moment::Since(from)), Some(Moment::Since(until))) => from >= until,
            (Some(Moment::Utc(from)), Some(Moment::Utc(until))) => from >= until,
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
            Moment::TimeOfDay(time) => write!(f, "{time}"),
            Moment::Here(time) => write!(f, "{} {}", time.date(), time.time()),
            Moment::Utc(time) => {
                let time = TimeZone::UTC.to_datetime(time);
                write!(f, "{} {} UTC", time.date(), time.time())
            }
        }
    }
}

impl Moment {
    /// As nanoseconds since the origin of a trace.
    fn of(self, origin: u64, end: u64) -> u64 {
        match self {
            Moment::Since(time) => time,
            Moment::BeforeEnd(time) => end.saturating_sub(time),
            Moment::Utc(time) => since_1970(time).saturating_sub(origin),
            Moment::Here(time) => to_utc(time).saturating_sub(origin),
            Moment::TimeOfDay(time) => {
                let day = zone().to_datetime(timestamp(origin)).date();
                let on = |day: jiff::civil::Date| to_utc(day.to_datetime(time));
                // A trace that goes on past midnight may mean the day after.
                let next = day.tomorrow().map_or(u64::MAX, on);
                let is_next = on(day) < origin && next <= origin.saturating_add(end);
                (if is_next { next } else { on(day) }).saturating_sub(origin)
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
    let Some((_, time)) = text.split_once(['T', 't', ' ']) else {
        return text.parse().ok().map(Moment::TimeOfDay);
    };
    match time.contains(['Z', 'z', '+', '-']) {
        true => text.parse().ok().map(Moment::Utc),
        false => text.parse().ok().map(Moment::Here),
    }
}

/// The clocks' zone here; UTC if the system does not tell.
#[cfg(not(test))]
fn zone() -> TimeZone {
    TimeZone::system()
}

/// Tests hold in every time zone: theirs is an hour ahead of UTC.
#[cfg(test)]
fn zone() -> TimeZone {
    TimeZone::fixed(jiff::tz::offset(1))
}

fn since_1970(time: Timestamp) -> u64 {
    let ns = time.as_nanosecond();
    u64::try_from(ns).unwrap_or(if ns < 0 { 0 } else { u64::MAX })
}

/// Of a time that the clocks show twice the first, of one that they leave out what comes as long after.
fn to_utc(here: DateTime) -> u64 {
    zone().to_timestamp(here).map_or(u64::MAX, since_1970)
}

/// A date beside that of UTC: `15:01:53 +01:00`, with its day where that is another; none where the clocks here show UTC.
pub fn local(ns: u64) -> Option<String> {
    let here = timestamp(ns).to_zoned_datetime(zone());
    if here.offset().is_zero() {
        return None;
    }
    let same_day = TimeZone::UTC.to_datetime(timestamp(ns)).date() == here.date();
    let form = if same_day {
        "%H:%M:%S %:z"
    } else {
        "%Y-%m-%d %H:%M:%S %:z"
    };
    Some(here.strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const DAY: u64 = 86_400 * SECOND;
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
