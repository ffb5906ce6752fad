//! Whether the runs of two sides differ: the Mann-Whitney U test, corrected for many methods by Holm.
//!
//! The test takes nothing for granted but that runs can be exchanged when nothing changed. So a run that a busy machine
//! held up does no harm.

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
    fn many_tests_need_smaller_p() {
        let mut p = [0.01, 0.04, 0.03, 0.005];
        holm(&mut p);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (p, expected) in p.iter().zip(expected) {
            assert!((p - expected).abs() < 1e-12, "{p} {expected}");
        }
    }
}
