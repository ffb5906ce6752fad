//! Sets of small numbers.

/// A set of numbers, which takes a bit for each up to the largest.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    bits: Vec<u64>,
}

impl Numbers {
    /// An empty set with room for the numbers below this one.
    pub fn below(end: usize) -> Numbers {
        Numbers {
            bits: vec![0; end.div_ceil(64)],
        }
    }

    #[inline]
    pub fn add(&mut self, number: u32) {
        let word = number as usize / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (number % 64);
    }

    /// Whether it is in the set.
    pub fn has(&self, number: u32) -> bool {
        let word = self.bits.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// One more than the largest, or 0.
    pub fn end(&self) -> u32 {
        let last = self.bits.iter().rposition(|word| *word != 0);
        last.map_or(0, |last| {
            64 * (last as u32 + 1) - self.bits[last].leading_zeros()
        })
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.bits.iter().enumerate().flat_map(|(place, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(64 * place as u32 + bit)
            })
        })
    }
}

/// A set of numbers, each with its place among them.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    numbers: Numbers,
    /// How many lie before each word.
    before: Vec<u32>,
}

impl From<Numbers> for Ranked {
    fn from(numbers: Numbers) -> Ranked {
        let mut count = 0;
        let before = numbers.bits.iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        });
        let before = before.collect();
        Ranked { numbers, before }
    }
}

impl Ranked {
    /// How many of the set are smaller than this one; `None` if it is not in the set.
    #[inline]
    pub fn place(&self, number: u32) -> Option<u32> {
        let word = number as usize / 64;
        let bits = *self.numbers.bits.get(word)?;
        let bit = 1u64 << (number % 64);
        (bits & bit != 0).then(|| self.before[word] + (bits & (bit - 1)).count_ones())
    }

    /// All of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_once_and_in_order() {
        let mut numbers = Numbers::below(65);
        assert_eq!((numbers.end(), numbers.iter().count()), (0, 0));
        for number in [64, 3, 1000, 63, 3] {
            numbers.add(number);
        }
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [3, 63, 64, 1000]);
        assert_eq!(numbers.end(), 1001);
        assert!(numbers.has(1000) && !numbers.has(999) && !numbers.has(1 << 20));
        let ranked = Ranked::from(numbers);
        let places = [3, 63, 64, 1000, 65, 1 << 20].map(|number| ranked.place(number));
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(3), None, None]);
        assert_eq!(ranked.iter().count(), 4);
    }
}
