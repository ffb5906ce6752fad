//! Version ranges: `>=1.0, <3`.
//!
//! Versions compare number by number; missing numbers are zero. Words follow what Maven
//! and SemVer agree on: `alpha < beta < milestone < rc < snapshot < release`. A word that is none of these
//! (`31.1-jre`) comes after the bare version and before the next number. What follows `+` does not count.

use super::PatternError;
use std::cmp::Ordering;

/// Rank of what a bare version ends with.
const RELEASE: u8 = 5;

fn rank(word: &str) -> u8 {
    match word {
        "dev" | "alpha" | "a" | "preview" | "pre" | "ea" => 0,
        "beta" | "b" => 1,
        "milestone" | "m" => 2,
        "rc" | "cr" => 3,
        "snapshot" => 4,
        "final" | "ga" | "release" => RELEASE,
        _ => RELEASE + 1,
    }
}

/// A version, ready to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The numbers in front, without zeros at the end.
    numbers: Vec<u64>,
    /// What follows from the first word on, without zeros at the end.
    qualifiers: Vec<Qualifier>,
}

/// In the order in which they decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Qualifier {
    rank: u8,
    number: u64,
    word: Box<str>,
}

/// A number among the qualifiers; zero is also what a missing one counts as.
fn numeric(number: u64) -> Qualifier {
    Qualifier {
        rank: RELEASE,
        number,
        word: "".into(),
    }
}

impl Version {
    /// Reads a version of any spelling; what is not understood counts as a word.
    pub fn new(text: &str) -> Version {
        let text = text.split('+').next().unwrap_or_default();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (mut numbers, mut qualifiers) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let digits = first.is_ascii_digit();
            let len = rest
                .find(|c: char| c.is_ascii_digit() != digits || matches!(c, '.' | '-' | '_'))
                .unwrap_or(rest.len());
            if len == 0 {
                // A separator.
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let (part, after) = rest.split_at(len);
            rest = after;
            if !digits {
                let word = part.to_ascii_lowercase();
                if rank(&word) != RELEASE {
                    qualifiers.push(Qualifier {
                        rank: rank(&word),
                        number: 0,
                        word: word.into(),
                    });
                }
            } else {
                // Digits only, so what does not parse is too large.
                let number = part.parse().unwrap_or(u64::MAX);
                if qualifiers.is_empty() {
                    numbers.push(number);
                } else {
                    qualifiers.push(numeric(number));
                }
            }
        }
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        while qualifiers.last() == Some(&numeric(0)) {
            qualifiers.pop();
        }
        Version {
            numbers,
            qualifiers,
        }
    }

    fn starts_with(&self, prefix: &[u64]) -> bool {
        prefix
            .iter()
            .enumerate()
            .all(|(i, &n)| self.numbers.get(i).copied().unwrap_or(0) == n)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let missing = numeric(0);
        let len = self.qualifiers.len().max(other.qualifiers.len());
        let qualifier =
            |version: &Version, i: usize| version.qualifiers.get(i).unwrap_or(&missing).clone();
        self.numbers.cmp(&other.numbers).then_with(|| {
            (0..len)
                .map(|i| qualifier(self, i).cmp(&qualifier(other, i)))
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }
}

#[derive(Clone, Debug)]
enum Bound {
    /// The version's order to this one must be among these.
    Order(&'static [Ordering], Version),
    /// `1.2.*`
    Prefix(Vec<u64>),
}

/// The key `version`: at least one of its ranges must hold, and none of its ranges with `!`.
#[derive(Clone, Debug, Default)]
pub struct VersionSet {
    include: Vec<Vec<Bound>>,
    exclude: Vec<Vec<Bound>>,
}

impl VersionSet {
    /// Adds a range, with or without its `!`.
    pub fn add(&mut self, text: &str) -> Result<(), PatternError> {
        let (body, list) = match text.strip_prefix('!') {
            Some(body) => (body, &mut self.exclude),
            None => (text, &mut self.include),
        };
        let offset = text.len() - body.len();
        let mut bounds = Vec::new();
        let mut at = offset;
        for part in body.split(',') {
            let lead = part.len() - part.trim_start().len();
            bounds.push(bound(part.trim()).map_err(|e| e.shifted(at + lead))?);
            at += part.len() + 1;
        }
        list.push(bounds);
        Ok(())
    }

    /// Whether a version is in the set.
    pub fn has(&self, version: &str) -> bool {
        let version = Version::new(version);
        let holds = |bounds: &Vec<Bound>| {
            bounds.iter().all(|bound| match bound {
                Bound::Order(orders, limit) => orders.contains(&version.cmp(limit)),
                Bound::Prefix(numbers) => version.starts_with(numbers),
            })
        };
        (self.include.is_empty() || self.include.iter().any(holds))
            && !self.exclude.iter().any(holds)
    }
}

fn bound(text: &str) -> Result<Bound, PatternError> {
    use Ordering::{Equal, Greater, Less};
    const EXPECTED: &str = "a range is like `>=1.0, <3`, `1.2.*` or `1.2.3`";
    let (orders, number): (&'static [Ordering], &str) = [
        (">=", &[Greater, Equal] as &[_]),
        ("<=", &[Less, Equal]),
        (">", &[Greater]),
        ("<", &[Less]),
        ("=", &[Equal]),
    ]
    .into_iter()
    .find_map(|(op, orders)| Some((orders, text.strip_prefix(op)?)))
    .unwrap_or((&[Equal], text));
    let start = text.len() - number.trim_start().len();
    let number = number.trim();
    let wrong =
        |message: &str| Err(PatternError::new(start..start + number.len(), message).help(EXPECTED));
    if number.is_empty() {
        return wrong("a version is missing");
    }
    if let Some(prefix) = number.strip_suffix(".*") {
        let numbers: Option<Vec<u64>> = prefix.split('.').map(|n| n.parse().ok()).collect();
        return match numbers {
            Some(numbers) if start == 0 => Ok(Bound::Prefix(numbers)),
            _ => wrong("`.*` follows plain numbers only"),
        };
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let digits = number.strip_prefix(['v', 'V']).unwrap_or(number);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || !number.chars().all(plain) {
        return wrong("not a version");
    }
    Ok(Bound::Order(orders, Version::new(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn has(range: &str, version: &str) -> bool {
        let mut set = VersionSet::default();
        set.add(range).unwrap();
        set.has(version)
    }

    #[test]
    fn versions_are_ordered() {
        let ascending = [
            "0.9",
            "1.0-alpha1",
            "1.0-alpha2",
            "1.0-beta",
            "1.0-M1",
            "1.0-RC1",
            "1.0-SNAPSHOT",
            "1.0",
            "1.0-jre",
            "1.0.1-rc1",
            "1.0.1",
            "1.2",
            "1.10",
            "2.0.0",
            "31.1-jre",
            "31.2",
        ];
        for pair in ascending.windows(2) {
            assert!(Version::new(pair[0]) < Version::new(pair[1]), "{pair:?}");
        }
        for (a, b) in [
            ("1", "1.0.0"),
            ("1.0.Final", "1.0"),
            ("1-rc1", "1.0.0-RC.1"),
            ("v2", "2+build.5"),
        ] {
            assert_eq!(
                Version::new(a).cmp(&Version::new(b)),
                Ordering::Equal,
                "{a} {b}"
            );
        }
    }

    #[test]
    fn ranges() {
        assert!(has(">=1.0, <3", "2.6.90"));
        assert!(has(">=1.0, <3", "1"));
        assert!(!has(">=1.0, <3", "3.0"));
        assert!(has("<3", "3.0.0-rc1"));
        assert!(has("1.2.*", "1.2"));
        assert!(has("1.2.*", "1.2.7-beta"));
        assert!(!has("1.2.*", "1.20"));
        assert!(has("1.2", "1.2.0"));
        assert!(!has("!1.2", "1.2.0"));
        assert!(has("!>=2", "1.9"));
        assert!(has("= 99999999999999999999999", "99999999999999999999999"));
    }

    #[test]
    fn wrong_ranges_point_at_the_part() {
        let e = VersionSet::default().add("!>=1.0, <x").unwrap_err();
        assert_eq!((e.span, &*e.message), (9..10, "not a version"));
        for wrong in ["", ">=", "1,,2", ">1.*", "=>1", "1 2", "^1.0", "*"] {
            assert!(VersionSet::default().add(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_order_is_total(a in "[0-9a-c.-]{0,8}", b in "[0-9a-c.-]{0,8}", c in "[0-9a-c.-]{0,8}") {
            let [a, b, c] = [a, b, c].map(|v| Version::new(&v));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }

        #[test]
        fn any_text_is_a_version_or_an_error(text: String) {
            let _ = Version::new(&text);
            let _ = VersionSet::default().add(&text);
        }
    }
}
