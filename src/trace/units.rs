//! Durations and counts as people read them.

use jiff::Timestamp;

/// A duration in the unit that fits, three digits: `12.3 ms`.
pub fn duration(ns: u64) -> String {
    let scaled = |unit: f64, name: &str| {
        let value = ns as f64 / unit;
        let digits = match value {
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        };
        format!("{value:.digits$} {name}")
    };
    // Limits half a last digit below the unit, so that rounding never shows "1000 ms".
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => scaled(1e3, "µs"),
        999_500..999_500_000 => scaled(1e6, "ms"),
        999_500_000..120_000_000_000 => scaled(1e9, "s"),
        120_000_000_000..7_200_000_000_000 => {
            let s = ns / 1_000_000_000;
            format!("{}m {:02}s", s / 60, s % 60)
        }
        _ => {
            let m = ns / 60_000_000_000;
            format!("{}h {:02}m", m / 60, m % 60)
        }
    }
}

/// A time since a trace's start (`1.500 s`), with so many digits that a time later by a hundredth of `window` reads differently.
pub fn moment(ns: u64, window: u64) -> String {
    let (unit, name): (u64, _) = match ns {
        999_500_000.. => (1_000_000_000, "s"),
        999_500.. => (1_000_000, "ms"),
        1_000.. => (1_000, "µs"),
        _ => return format!("{ns} ns"),
    };
    let step = (window / 100).max(1);
    let mut digits = 0;
    while digits < 9 && unit / 10u64.pow(digits) > step {
        digits += 1;
    }
    let digits = digits as usize;
    format!("{:.digits$} {name}", ns as f64 / unit as f64)
}

/// A size in the unit that fits, three digits: `12.3 MB`. Units are powers of 1,000.
pub fn bytes(n: u64) -> String {
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = n as f64;
    let mut unit = "B";
    for larger in units {
        if value < 999.5 {
            break;
        }
        value /= 1e3;
        unit = larger;
    }
    let digits = match value {
        _ if unit == "B" => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Reads a duration as people write it: `5ms`, `250us`, `1.5 s`; a bare number is milliseconds.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" | "" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        _ => return Err("expected a number and one of ns, us, ms, s, m: 250us, 5ms, 1.5s".into()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "expected a number and a unit: 250us, 5ms, 1.5s".to_owned())?;
    Ok((number * unit) as u64)
}

/// Reads a size as people write it: `512k`, `256m`, `2g`; a bare number is bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => 64,
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(1u64.checked_shl(shift)?))
        .ok_or_else(|| "expected a size such as 512k, 256m, 2g".to_owned())
}

/// Marks a number that is an estimate: `~1,200`.
pub fn about(number: String, is_estimate: bool) -> String {
    match is_estimate {
        true => format!("~{number}"),
        false => number,
    }
}

/// A count with thousands separated: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A count and its noun: `1 thread`, `1,200 threads`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A share in percent: `12.3%`.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", share(part, whole))
}

/// A share in percent as a number; of nothing, nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

/// Nanoseconds since 1970-01-01 UTC.
pub(super) fn timestamp(ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::MAX)
}

/// Nanoseconds since 1970-01-01 UTC as a date and time of day.
pub fn date(ns: u64) -> String {
    timestamp(ns).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The same with milliseconds.
pub fn date_and_ms(ns: u64) -> String {
    timestamp(ns)
        .strftime("%Y-%m-%d %H:%M:%S.%3f UTC")
        .to_string()
}

/// Where the method's own name starts in `com.acme.Orders.place`; .NET's constructors are `.ctor`
/// and `.cctor`, with a dot of their own.
pub fn method_start(name: &str) -> usize {
    match name.rfind('.') {
        Some(dot) if name[..dot].ends_with('.') => dot,
        Some(dot) => dot + 1,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let shown = [0, 999, 1_000, 12_345, 999_499, 999_500, u64::MAX].map(bytes);
        assert_eq!(
            shown,
            [
                "0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "18.4 EB"
            ]
        );
    }

    #[test]
    fn durations_fit_their_unit() {
        let shown: Vec<_> = [
            0,
            999,
            1_000,
            12_345,
            999_499,
            999_500,
            99_960_000,
            999_499_999,
            999_500_000,
            61_000_000_000,
            125_000_000_000,
            7_260_000_000_000,
            u64::MAX,
        ]
        .map(duration)
        .into();
        assert_eq!(
            shown,
            [
                "0 ns",
                "999 ns",
                "1.00 µs",
                "12.3 µs",
                "999 µs",
                "1.00 ms",
                "100 ms",
                "999 ms",
                "1.00 s",
                "61.0 s",
                "2m 05s",
                "2h 01m",
                "5124095h 34m"
            ]
        );
    }

    #[test]
    fn moments_have_the_digits_that_a_window_takes() {
        assert_eq!(moment(1_500_000_000, 2_000_000_000), "1.50 s");
        assert_eq!(moment(24_600_000_519, 519_000), "24.600001 s");
        assert_eq!(moment(90_000_000_000, 600_000_000_000), "90 s");
        assert_eq!(
            (moment(0, 5), moment(999, 5)),
            ("0 ns".into(), "999 ns".into())
        );
    }

    #[test]
    fn durations_read_as_they_are_written() {
        assert_eq!(parse_duration("250us"), Ok(250_000));
        assert_eq!(parse_duration("1.5 s"), Ok(1_500_000_000));
        assert_eq!(parse_duration("5"), Ok(5_000_000));
        assert!(parse_duration("5 parsecs").is_err());
        assert!(parse_duration("ms").is_err());
        assert!(parse_duration("1.2.3ms").is_err());
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_826_153_000_000_000), "2000-02-29 12:09:13 UTC");
        assert_eq!(date(1_795_269_713_000_000_000), "2026-11-21 14:01:53 UTC");
        assert!(date(u64::MAX).starts_with("2554-07-21"));
        assert_eq!(date_and_ms(7_005_000_000), "1970-01-01 00:00:07.005 UTC");
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "thread"), "1 thread");
        assert_eq!(percent(1, 0), "0.0%");
    }
}
