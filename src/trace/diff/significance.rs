//! Whether the runs of two sides differ: the Mann-Whitney U test, and Wilcoxon's signed-rank test where runs of the sides
//! took turns, corrected for many methods by Holm.
//!
//! The tests take nothing for granted but that runs can be exchanged when nothing changed: all of them, or the two of a pair.
//! So a run that a busy machine held up does no harm.

/// What order the runs came in.
#[derive(Clone, Debug)]
pub struct Design {
    /// Runs before.
    pub before: usize,
    /// Runs after.
    pub after: usize,
    /// Runs of the two sides that came one right after the other; empty if runs did not take turns.
    pub pairs: Vec<(usize, usize)>,
}

impl Design {
    /// From when the runs began.
    pub fn new(before: &[u64], after: &[u64]) -> Design {
        let mut order: Vec<(u64, bool, usize)> = (before.iter().enumerate())
            .map(|(i, &start)| (start, false, i))
            .chain(after.iter().enumerate().map(|(i, &start)| (start, true, i)))
            .collect();
        order.sort_unstable();
        // If the runs of a pair were swapped, the same pairs would be found: so the choice favours no side.
        let mut pairs = Vec::new();
        let mut left = order.as_slice();
        while let [a, b, rest @ ..] = left {
            left = match a.1 != b.1 && a.0 != b.0 {
                true => {
                    let (before, after) = if a.1 { (b, a) } else { (a, b) };
                    pairs.push((before.2, after.2));
                    rest
                }
                false => &left[1..],
            };
        }
        if pairs.len() * 4 < before.len().min(after.len()) * 3 {
            pairs.clear();
        }
        Design {
            before: before.len(),
            after: after.len(),
            pairs,
        }
    }

    /// The design for so many tests: pairs count only if they are enough for the level.
    pub fn for_tests(&self, tests: usize, level: f64) -> Design {
        let mut design = self.clone();
        let least = |design: &Design| design.least_p() * tests as f64;
        let pairs = 2.0 * 0.5f64.powi(i32::try_from(self.pairs.len()).unwrap_or(i32::MAX) - 1);
        if pairs * tests as f64 > level || least(self) > level {
            design.pairs.clear();
        }
        design
    }

    /// How probable numbers at least this uneven are if both sides are the same. Of two tests the smaller p counts, twice.
    pub fn p(&self, before: &[u64], after: &[u64]) -> f64 {
        let all = mann_whitney(before, after);
        if self.pairs.is_empty() {
            return all;
        }
        let pairs = self.pairs.iter().map(|&(b, a)| (before[b], after[a]));
        (2.0 * all.min(signed_rank(pairs))).min(1.0)
    }

    /// The smallest p that so many runs can have.
    pub fn least_p(&self) -> f64 {
        let twice = if self.pairs.is_empty() { 1.0 } else { 2.0 };
        (twice * least_p(self.before, self.after)).min(1.0)
    }
}

/// Runs of both sides up to which the test counts every order that they could have come in.
const EXACT: usize = 40;

/// The two-sided p of the Mann-Whitney U test: how probable an order of the runs at least this uneven is if both
/// sides are the same. Equal values share their ranks.
pub fn mann_whitney(before: &[u64], after: &[u64]) -> f64 {
    let (n, m) = (before.len(), after.len());
    if n == 0 || m == 0 {
        return 1.0;
    }
    let mut all: Vec<(u64, bool)> = (before.iter().map(|&v| (v, true)))
        .chain(after.iter().map(|&v| (v, false)))
        .collect();
    all.sort_unstable();
    // Ranks are doubled, so that shared ones are whole numbers.
    let mut ranks = Vec::with_capacity(all.len());
    let (mut sum, mut ties) = (0usize, 0.0);
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        let rank = 2 * ranks.len() + 1 + equal.len();
        sum += rank * equal.iter().filter(|(_, first)| *first).count();
        ranks.resize(ranks.len() + equal.len(), rank);
        let t = equal.len() as f64;
        ties += t * t * t - t;
    }
    let expected = n * (n + m + 1);
    let off = sum.abs_diff(expected);
    if n + m <= EXACT {
        return exact(&ranks, n, expected, off);
    }
    let (n, m) = (n as f64, m as f64);
    let whole = n + m;
    let variance = n * m / 12.0 * (whole + 1.0 - ties / (whole * (whole - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (off as f64 / 2.0 - 0.5).max(0.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// The two-sided p of Wilcoxon's signed-rank test: how probable ratios at least this uneven are if the two of each pair
/// could as well be swapped. Ratios, since a machine that is slow for a while is slow by a factor.
pub fn signed_rank(pairs: impl Iterator<Item = (u64, u64)>) -> f64 {
    let mut ratios: Vec<f64> = pairs
        .filter(|(before, after)| before != after)
        .map(|(before, after)| libm::log1p(after as f64) - libm::log1p(before as f64))
        .collect();
    ratios.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut ranks, mut positive) = (Vec::with_capacity(ratios.len()), 0usize);
    for equal in ratios.chunk_by(|a, b| a.abs() == b.abs()) {
        // Doubled, as above.
        let rank = 2 * ranks.len() + 1 + equal.len();
        positive += rank * equal.iter().filter(|r| **r > 0.0).count();
        ranks.resize(ranks.len() + equal.len(), rank);
    }
    let most: usize = ranks.iter().sum();
    // Twice as far as from the middle, which may lie between two sums.
    let off = (2 * positive).abs_diff(most);
    if ranks.len() > EXACT {
        let variance: f64 = ranks.iter().map(|&r| (r * r) as f64).sum();
        let z = (off as f64 - 2.0).max(0.0) / variance.sqrt();
        return libm::erfc(z / std::f64::consts::SQRT_2).min(1.0);
    }
    let mut ways = vec![0.0f64; most + 1];
    ways[0] = 1.0;
    for &rank in &ranks {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all: f64 = ways.iter().sum();
    let uneven: f64 = (ways.iter().enumerate())
        .filter(|(sum, _)| (2 * sum).abs_diff(most) >= off)
        .map(|(_, ways)| ways)
        .sum();
    (uneven / all).min(1.0)
}

/// The share of all choices of `n` ranks whose sum is at least `off` away from the expected one.
fn exact(ranks: &[usize], n: usize, expected: usize, off: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0f64; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for (i, &rank) in ranks.iter().enumerate() {
        for chosen in (1..=n.min(i + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            let (fewer, more) = (&fewer[chosen - 1], &mut more[0]);
            for sum in rank..=most {
                more[sum] += fewer[sum - rank];
            }
        }
    }
    let all: f64 = ways[n].iter().sum();
    let uneven: f64 = (ways[n].iter().enumerate())
        .filter(|(sum, _)| sum.abs_diff(expected) >= off)
        .map(|(_, ways)| ways)
        .sum();
    (uneven / all).min(1.0)
}

/// The smallest p that so many runs can have.
pub fn least_p(before: usize, after: usize) -> f64 {
    let choices: f64 = (1..=before)
        .map(|i| (after + i) as f64 / i as f64)
        .product();
    (2.0 / choices).min(1.0)
}

/// The runs a side that can show a difference among `tests` methods.
pub fn runs_needed(tests: usize, level: f64) -> usize {
    (2..)
        .find(|&n| least_p(n, n) * tests as f64 <= level || n >= 1_000)
        .unwrap_or(1_000)
}

/// Corrects the p of many tests (Holm): a p of at most some level is then wrong for any of them with at most that probability.
pub fn holm(p: &mut [f64]) {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut least = 0.0f64;
    for (done, &i) in order.iter().enumerate() {
        least = least.max(p[i] * (order.len() - done) as f64).min(1.0);
        p[i] = least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_apart_have_the_least_p() {
        assert_eq!(mann_whitney(&[1, 2, 3], &[4, 5, 6]), 0.1);
        assert_eq!(mann_whitney(&[4, 5, 6], &[1, 2, 3]), 0.1);
        let (low, high): (Vec<u64>, Vec<u64>) = ((0..10).collect(), (10..20).collect());
        let p = mann_whitney(&low, &high);
        assert!((p - 2.0 / 184_756.0).abs() < 1e-12, "{p}");
        assert!((least_p(10, 10) - p).abs() < 1e-12);
        assert_eq!(runs_needed(20, 0.01), 8);
    }

    #[test]
    fn equal_runs_do_not_differ() {
        assert_eq!(mann_whitney(&[7; 5], &[7; 5]), 1.0);
        assert_eq!(mann_whitney(&[7; 30], &[7; 30]), 1.0);
        assert_eq!(mann_whitney(&[], &[1]), 1.0);
        assert_eq!(mann_whitney(&[1, 4], &[2, 3]), 1.0);
    }

    #[test]
    fn ties_share_their_ranks() {
        // The doubled ranks are 2, 5, 5, 8; two of them sum up to 7, 7, 10, 10, 13 or 13, and here to 7.
        let p = mann_whitney(&[1, 2], &[2, 3]);
        assert!((p - 4.0 / 6.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn many_runs_are_near_the_exact_p() {
        let before: Vec<u64> = (0..20).map(|i| i * 10).collect();
        let after: Vec<u64> = (0..20).map(|i| i * 10 + 45).collect();
        let exact = mann_whitney(&before, &after);
        let more: Vec<u64> = after.iter().copied().chain([137]).collect();
        let normal = mann_whitney(&before, &more);
        assert!(
            exact < 0.05 && (exact - normal).abs() < 0.01,
            "{exact} {normal}"
        );
    }

    #[test]
    fn pairs_are_tested_by_their_ratios() {
        let of = |pairs: &[(u64, u64)]| signed_rank(pairs.iter().copied());
        assert_eq!(of(&[(10, 11), (200, 210), (3, 4)]), 0.25);
        assert_eq!(of(&[(11, 10), (210, 200), (4, 3)]), 0.25);
        assert_eq!(of(&[(7, 7), (1, 2), (2, 1)]), 1.0);
        assert_eq!(of(&[]), 1.0);
        // The doubled ranks are 2, 4, 6, 8; of the 16 sums 4 are as far from 10 as the 18 here.
        assert_eq!(of(&[(110, 100), (100, 120), (100, 130), (100, 140)]), 0.25);
        let slow: Vec<(u64, u64)> = (1..=20).map(|i| (i * 1_000, i * 1_050)).collect();
        assert!((of(&slow) - 0.5f64.powi(19)).abs() < 1e-12);
        let more: Vec<(u64, u64)> = (1..=60).map(|i| (i * 1_000, i * 1_050)).collect();
        assert!(of(&more) < 1e-8);
    }

    #[test]
    fn runs_that_took_turns_are_pairs() {
        let pairs = |before: &[u64], after: &[u64]| Design::new(before, after).pairs;
        assert_eq!(pairs(&[1, 4, 5], &[2, 3, 6]), [(0, 0), (1, 1), (2, 2)]);
        assert!(pairs(&[1, 2, 3, 4], &[5, 6, 7, 8]).is_empty());
        assert!(pairs(&[0, 0, 0], &[0, 0, 0]).is_empty());
        // One run is missing: the others still take turns.
        assert_eq!(pairs(&[1, 3, 5, 7, 9], &[2, 6, 8, 10]).len(), 4);
        let design = Design::new(&[1, 3, 5, 7, 9], &[2, 4, 6, 8, 10]);
        assert!(design.for_tests(10, 0.01).pairs.is_empty(), "too few pairs");
        assert_eq!(design.for_tests(1, 0.2).pairs.len(), 5);
    }

    #[test]
    fn many_tests_need_smaller_p() {
        let mut p = [0.01, 0.04, 0.03, 0.005];
        holm(&mut p);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (p, expected) in p.iter().zip(expected) {
            assert!((p - expected).abs() < 1e-12, "{p} {expected}");
        }
    }
}
