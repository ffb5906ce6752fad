//! How sure an estimate from sampled calls is.

/// The weighted calls of sampled trees: what lies in one tree goes together, so trees tell how sure an estimate is, not calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    /// Trees with such calls, the one at hand not included.
    trees: u64,
    /// For how many calls those of each tree stand, added up, and their squares.
    calls: f64,
    squares: f64,
    /// The tree at hand, and for how many calls those in it stand.
    tree: u64,
    open: f64,
}

/// Of 100 estimates so many lie within their limits: a normal distribution's two-sided 95 %.
const Z: f64 = 1.96;

impl Estimate {
    /// Adds a call in a tree (not 0), which stands for so many.
    pub fn add(&mut self, tree: u64, weight: u32) {
        if tree != self.tree {
            self.close();
            self.tree = tree;
        }
        self.open += f64::from(weight);
    }

    fn close(&mut self) {
        if self.open > 0.0 {
            self.trees += 1;
            self.calls += self.open;
            self.squares += self.open * self.open;
        }
        self.open = 0.0;
        self.tree = 0;
    }

    /// Adds what another one knows, of other trees.
    pub fn absorb(&mut self, mut other: Estimate) {
        self.close();
        other.close();
        self.trees += other.trees;
        self.calls += other.calls;
        self.squares += other.squares;
    }

    /// From how many trees it comes.
    pub fn trees(self) -> u64 {
        self.trees + u64::from(self.open > 0.0)
    }

    /// Between which numbers of calls the true one lies, in 95 of 100 cases at least: the limits of a Poisson number (as Wilson and
    /// Hilferty approximate them) of as many equal trees as would be as sure.
    pub fn limits(mut self) -> Option<[u64; 2]> {
        self.close();
        if self.trees == 0 {
            return None;
        }
        let equal = self.calls * self.calls / self.squares;
        let part = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).powi(3);
        let [low, high] = [part(equal, -Z), part(equal + 1.0, Z)];
        let calls = |n: f64| (self.calls * n / equal).round() as u64;
        Some([calls(low.max(0.0)), calls(high)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below `bound`, and the next state (xorshift).
    fn below(state: &mut u64, bound: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % bound
    }

    /// 100 programs: of 3,000 trees one in ten is taken, each has 3 calls in a third of the cases, and 40 in a hundredth.
    #[test]
    fn limits_hold_in_a_hundred_runs() {
        let mut state = 0x9E37_79B9_7F4A_7C15;
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..100 {
            let (mut all, mut one) = (0u64, Estimate::default());
            for group in 0..300u64 {
                let pick = below(&mut state, 10);
                for place in 0..10 {
                    let calls = match below(&mut state, 300) {
                        0..=2 => 40,
                        3..=102 => 3,
                        _ => 0,
                    };
                    all += calls;
                    for _ in 0..if place == pick { calls } else { 0 } {
                        one.add(group + 1, 10);
                    }
                }
            }
            let [low, high] = one.limits().unwrap();
            held += u32::from((low..=high).contains(&all));
            width += (high - low) as f64 / all as f64;
        }
        assert!(held >= 90, "{held} of 100");
        assert!(
            width / 100.0 < 1.2,
            "limits that say nothing: {}",
            width / 100.0
        );
    }

    #[test]
    fn few_trees_say_little() {
        let mut one = Estimate::default();
        assert_eq!(one.limits(), None);
        one.add(1, 100);
        assert_eq!(one.trees(), 1);
        let [low, high] = one.limits().unwrap();
        assert!(low < 10 && high > 500, "{low} to {high}");
        let mut many = Estimate::default();
        (1..=10_000).for_each(|tree| many.add(tree, 1));
        let [low, high] = many.limits().unwrap();
        assert!(low > 9_700 && high < 10_300, "{low} to {high}");
    }
}
