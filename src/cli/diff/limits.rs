//! `--fail-on`: how much worse a method may be.

use crate::trace::diff::{Comparison, Numbers, Row, Sums};
use crate::trace::units;
use std::fmt;
use std::str::FromStr;

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Own,
    Total,
    P50,
    P90,
    P99,
    Max,
    Calls,
    Errors,
}

const METRICS: [(&str, Metric); 8] = [
    ("self", Metric::Own),
    ("total", Metric::Total),
    ("p50", Metric::P50),
    ("p90", Metric::P90),
    ("p99", Metric::P99),
    ("max", Metric::Max),
    ("calls", Metric::Calls),
    ("errors", Metric::Errors),
];

/// How much more is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Most {
    Percent(f64),
    More(u64),
}

/// A limit: `self>+10%`.
#[derive(Clone, Debug)]
pub struct Limit {
    text: String,
    metric: Metric,
    most: Most,
}

/// A method that broke a limit; its values before and after.
pub struct Broken<'a> {
    pub row: &'a Row,
    pub before: u64,
    pub after: u64,
    /// How probable the difference is if nothing changed, where that was tested.
    pub p: Option<f64>,
}

const FORM: &str = "expected a metric, > and how much more is too much: self>+10%, p99>+5ms, calls>+100, errors>+0";

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let (name, most) = text.split_once('>').ok_or(FORM)?;
        let name = name.trim();
        let Some(&(_, metric)) = METRICS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = METRICS.iter().map(|(known, _)| *known).collect();
            return Err(format!("{name} is none of {}", known.join(", ")));
        };
        let most = most.trim();
        let most = most.strip_prefix('+').unwrap_or(most);
        let most = match most.strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<f64>() {
                Ok(percent) if percent >= 0.0 && percent.is_finite() => Most::Percent(percent),
                _ => return Err(FORM.to_owned()),
            },
            None if metric.is_time() => Most::More(match most.chars().last() {
                Some(unit) if unit.is_alphabetic() => units::parse_duration(most)?,
                _ => {
                    return Err(format!(
                        "{name} takes percent or a duration: {name}>+10%, {name}>+5ms"
                    ));
                }
            }),
            None => Most::More(most.parse().map_err(|_| FORM)?),
        };
        Ok(Limit {
            text: text.to_owned(),
            metric,
            most,
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Metric {
    fn is_time(self) -> bool {
        !matches!(self, Metric::Calls | Metric::Errors)
    }

    fn of(self, numbers: &Numbers) -> Option<u64> {
        let typical = &numbers.typical;
        match self {
            Metric::Own => Some(typical.own),
            Metric::Total => Some(typical.total),
            Metric::Calls => Some(typical.calls),
            Metric::Errors => Some(typical.errors),
            Metric::P50 => numbers.p50,
            Metric::P90 => numbers.p90,
            Metric::P99 => numbers.p99,
            Metric::Max => (numbers.max > 0).then_some(numbers.max),
        }
    }

    fn of_run(self, sums: &Sums) -> u64 {
        match self {
            Metric::Own => sums.own,
            Metric::Total => sums.total,
            Metric::Calls => sums.calls,
            Metric::Errors => sums.errors,
            Metric::P50 => sums.spread.p50,
            Metric::P90 => sums.spread.p90,
            Metric::P99 => sums.spread.p99,
            Metric::Max => sums.spread.max,
        }
    }
}

impl Limit {
    /// A value of what is limited, for people.
    pub fn show(&self, value: u64) -> String {
        match self.metric.is_time() {
            true => units::duration(value),
            false => units::count(value),
        }
    }

    /// The rows that break it, that of all methods first.
    pub fn broken<'a>(&self, of: &'a Comparison, wanted: &[bool]) -> Vec<Broken<'a>> {
        let rows = of.rows.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let all = wanted.iter().all(|wanted| *wanted).then_some(&of.all);
        let all =
            all.filter(|_| matches!(self.metric, Metric::Own | Metric::Calls | Metric::Errors));
        // What is tested may not depend on the outcome: all rows that could matter, whether they are beyond the limit or not.
        let rows: Vec<&Row> = (all.into_iter().chain(rows.map(|(row, _)| row)))
            .filter(|row| self.matters(of, row))
            .collect();
        let tested = of.test(&rows, |sums| self.metric.of_run(sums));
        let p = |at: usize| tested.as_ref().map(|p| p[at]);
        (rows.iter().enumerate())
            .filter_map(|(at, row)| self.breaks(of, row, p(at)))
            .collect()
    }

    /// A method that takes next to no time is slower by a large part without mattering.
    fn matters(&self, of: &Comparison, row: &Row) -> bool {
        match self.metric {
            Metric::Calls | Metric::Errors => true,
            Metric::Own => of.share(row, |s| s.own) >= of.judgement.min_percent,
            _ => of.share(row, |s| s.total) >= of.judgement.min_percent,
        }
    }

    fn breaks<'a>(&self, of: &Comparison, row: &'a Row, p: Option<f64>) -> Option<Broken<'a>> {
        let value = |side: &Option<Numbers>| side.as_ref().and_then(|n| self.metric.of(n));
        let after = value(&row.after)?;
        let before = match (value(&row.before), self.most) {
            (Some(before), _) => before,
            // What is new has grown by no percentage; all methods together show what it costs.
            (None, Most::Percent(_)) => return None,
            (None, Most::More(_)) => 0,
        };
        let beyond = match self.most {
            Most::Percent(percent) => after as f64 > before as f64 * (1.0 + percent / 100.0),
            Most::More(more) => after > before.saturating_add(more),
        };
        let noise = p.is_some_and(|p| p > of.judgement.level);
        // Each call may tell what the sum of a run does not.
        let told = || self.metric == Metric::Own && of.differing(row).any(|t| t.more);
        let p = if noise { row.p() } else { p };
        (beyond && (!noise || told())).then_some(Broken {
            row,
            before,
            after,
            p,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_as_they_are_written() {
        let read = |text: &str| text.parse::<Limit>().map(|l| (l.metric, l.most));
        assert_eq!(read("self>+10%"), Ok((Metric::Own, Most::Percent(10.0))));
        assert_eq!(read("p99 > 5ms"), Ok((Metric::P99, Most::More(5_000_000))));
        assert_eq!(read("errors>+0"), Ok((Metric::Errors, Most::More(0))));
        for wrong in [
            "self",
            "self>",
            "self>10",
            "speed>+1%",
            "calls>+5ms",
            "self>+-1%",
            "self>+inf%",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
