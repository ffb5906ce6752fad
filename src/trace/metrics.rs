//! What the process itself used while it ran: samples that the hook library took ("Samples" of the format).

use super::window::Part;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Readings that are kept of a trace; a day of samples a second has 1.3 million.
pub const MAX_READINGS: usize = if cfg!(test) { 1 << 10 } else { 1 << 22 };

/// One value of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// When, in nanoseconds since the trace's origin.
    pub time: u64,
    /// Number of the metric.
    pub metric: u8,
    /// The value, in the metric's unit.
    pub value: u64,
}

/// The readings of a SAMPLE escape.
pub fn readings(time: u64, values: &[u8]) -> impl Iterator<Item = Reading> + '_ {
    values.as_chunks::<8>().0.iter().map(move |word| {
        let word = u64::from_le_bytes(*word);
        Reading {
            time,
            metric: word as u8,
            value: word >> 8,
        }
    })
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Things.
    Count,
}

/// A quantity that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its number in the trace.
    pub number: u8,
    /// Its name, after OpenTelemetry's semantic conventions where they have one.
    pub name: &'static str,
    /// What a reader calls it.
    pub label: &'static str,
    /// What its values count.
    pub unit: Unit,
    /// It only grows: what matters is how fast.
    pub grows: bool,
}

impl Metric {
    /// What its [`Series::points`] are called: `CPU time per second`.
    pub fn shown(&self) -> String {
        match self.grows {
            true => format!("{} per second", self.label),
            false => self.label.to_owned(),
        }
    }
}

const fn metric(
    number: u8,
    name: &'static str,
    label: &'static str,
    unit: Unit,
    grows: bool,
) -> Metric {
    Metric {
        number,
        name,
        label,
        unit,
        grows,
    }
}

/// All metrics, by number from 1 on.
pub const METRICS: &[Metric] = &[
    metric(1, "process.cpu.time", "CPU time", Unit::Nanoseconds, true),
    metric(
        2,
        "process.memory.usage",
        "resident memory",
        Unit::Bytes,
        false,
    ),
    metric(3, "heap.used", "heap in use", Unit::Bytes, false),
    metric(4, "heap.committed", "heap committed", Unit::Bytes, false),
    metric(5, "gc.count", "garbage collections", Unit::Count, true),
    metric(6, "gc.pause.time", "GC pauses", Unit::Nanoseconds, true),
    metric(7, "process.thread.count", "threads", Unit::Count, false),
    metric(
        8,
        "thread_pool.queue.length",
        "thread pool queue",
        Unit::Count,
        false,
    ),
    metric(9, "exceptions", "exceptions thrown", Unit::Count, true),
    metric(10, "heap.allocated", "allocated", Unit::Bytes, true),
    metric(11, "jit.time", "JIT compilation", Unit::Nanoseconds, true),
    metric(12, "class.count", "classes loaded", Unit::Count, false),
    metric(13, "safepoint.count", "safepoints", Unit::Count, true),
    metric(
        14,
        "safepoint.time",
        "safepoint pauses",
        Unit::Nanoseconds,
        true,
    ),
];

/// The metric of a number, if this version knows it.
pub fn metric_of(number: u8) -> Option<&'static Metric> {
    METRICS.get(usize::from(number).checked_sub(1)?)
}

/// CPU time that a thread had used by some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    pub thread: u32,
    pub time: u64,
    pub used: u64,
}

/// How much CPU time each thread has used in a part of its trace, from the last reading before it to the last in it.
pub fn cpu_times(readings: &[CpuTime], part: Part) -> FxHashMap<u32, u64> {
    let mut ranges: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
    for reading in readings {
        let (before, until) = ranges.entry(reading.thread).or_default();
        if reading.time < part.from {
            *before = reading.used.max(*before);
        }
        if reading.time < part.until {
            *until = reading.used.max(*until);
        }
    }
    (ranges.into_iter())
        .map(|(thread, (before, until))| (thread, until.saturating_sub(before)))
        .collect()
}

/// All readings of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric.
    pub metric: &'static Metric,
    /// Times in nanoseconds, and values; of a metric that grows, its growth per second up to that time.
    pub points: Vec<(u64, f64)>,
    /// The mean of the values over the time.
    pub mean: f64,
    /// How much a metric that grows has grown from the first sample to the last.
    pub total: Option<u64>,
}

impl Series {
    fn new(metric: &'static Metric, readings: &[(u64, u64)]) -> Series {
        let (&(from, first), &(to, last)) = match readings {
            [first, .., last] => (first, last),
            [one] => (one, one),
            [] => (&(0, 0), &(0, 0)),
        };
        let (points, mean, total): (Vec<_>, _, _) = if metric.grows {
            let total = last.saturating_sub(first);
            let points = (readings.windows(2))
                .filter(|pair| pair[1].0 > pair[0].0)
                .map(|pair| (pair[1].0, rate(pair[0], pair[1])))
                .collect();
            (points, rate((from, first), (to, last)), Some(total))
        } else {
            let points: Vec<_> = readings.iter().map(|&(t, v)| (t, v as f64)).collect();
            let sum: f64 = points.iter().map(|p| p.1).sum();
            (points, sum / readings.len().max(1) as f64, None)
        };
        Series {
            metric,
            points,
            mean,
            total,
        }
    }

    /// The smallest value.
    pub fn min(&self) -> f64 {
        let values = self.points.iter().map(|p| p.1);
        values.reduce(f64::min).unwrap_or(self.mean)
    }

    /// The greatest value.
    pub fn max(&self) -> f64 {
        let values = self.points.iter().map(|p| p.1);
        values.reduce(f64::max).unwrap_or(self.mean)
    }
}

/// Growth per second from one reading to another.
fn rate(from: (u64, u64), to: (u64, u64)) -> f64 {
    match to.0.saturating_sub(from.0) {
        0 => 0.0,
        ns => to.1.saturating_sub(from.1) as f64 * 1e9 / ns as f64,
    }
}

/// Puts readings together by metric, in the order of their numbers. Metrics that this version does not know are left out.
pub fn series(readings: &[Reading]) -> Vec<Series> {
    let mut by_metric: BTreeMap<u8, Vec<(u64, u64)>> = BTreeMap::new();
    for r in readings {
        let all = by_metric.entry(r.metric).or_default();
        all.push((r.time, r.value));
    }
    (by_metric.into_iter())
        .filter_map(|(number, readings)| Some(Series::new(metric_of(number)?, &readings)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(time: u64, metric: u8, value: u64) -> Reading {
        Reading {
            time,
            metric,
            value,
        }
    }

    #[test]
    fn numbers_are_places_in_the_table() {
        for (place, metric) in METRICS.iter().enumerate() {
            assert_eq!(usize::from(metric.number), place + 1);
            assert_eq!(metric_of(metric.number), Some(metric));
        }
        assert_eq!((metric_of(0), metric_of(255)), (None, None));
    }

    #[test]
    fn cpu_time_of_a_part_is_what_was_used_in_it() {
        let reading = |thread, time, used| CpuTime { thread, time, used };
        // As chunks lie in a ring: not in the order of time.
        let all = [
            reading(1, 30, 9),
            reading(1, 10, 2),
            reading(1, 20, 5),
            reading(2, 10, 4),
        ];
        let of =
            |from, until, thread: u32| cpu_times(&all, Part { from, until }).get(&thread).copied();
        assert_eq!((of(0, 100, 1), of(0, 100, 2)), (Some(9), Some(4)));
        assert_eq!((of(15, 25, 1), of(15, 25, 2)), (Some(3), Some(0)));
        assert_eq!(of(0, 100, 3), None);
    }

    #[test]
    fn growth_is_per_second() {
        let second = 1_000_000_000;
        let all = [
            reading(second, 5, 10),
            reading(second, 7, 3),
            reading(2 * second, 5, 12),
            reading(2 * second, 7, 5),
            reading(4 * second, 5, 22),
            reading(4 * second, 200, 1),
        ];
        let [gc, threads] = &series(&all)[..] else {
            panic!("two metrics");
        };
        assert_eq!(
            (gc.min(), gc.max(), gc.mean, gc.total),
            (2.0, 5.0, 4.0, Some(12))
        );
        assert_eq!(gc.points, [(2 * second, 2.0), (4 * second, 5.0)]);
        assert_eq!(
            (threads.min(), threads.max(), threads.mean),
            (3.0, 5.0, 4.0)
        );
        assert_eq!((threads.total, threads.points.len()), (None, 2));
        let one = series(&[reading(0, 1, 5)]);
        assert_eq!(
            (one[0].mean, one[0].max(), one[0].total),
            (0.0, 0.0, Some(0))
        );
        assert_eq!(series(&[]), []);
    }
}
