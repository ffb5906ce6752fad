//! Methods that the process has summed up itself, in place of a record for each call ("Aggregates" of the format).

/// Buckets of durations: four for each power of two of nanoseconds.
pub const BUCKETS: usize = 160;

/// Words of an entry in front of its buckets.
const HEAD: usize = 7;

/// What the calls of a method add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// Calls that began.
    pub calls: u64,
    /// Of those that ended: those that an exception left.
    pub errors: u64,
    /// Time from begin to end; of recursive calls the outermost counts.
    pub total: u64,
    /// Time not spent in other calls that are recorded or summed up.
    pub own: u64,
    /// Shortest call that ended.
    pub min: Option<u64>,
    /// Longest.
    pub max: u64,
    /// How long those took that ended.
    pub durations: Buckets,
}

/// How often calls took how long: a window of the buckets, around those that are not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    low: usize,
    counts: Vec<u64>,
}

/// The shortest and the longest duration in a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    if bucket < 4 {
        return (bucket as u64, bucket as u64);
    }
    let (power, quarter) = (bucket / 4 + 1, bucket as u64 % 4);
    let width = 1 << (power - 2);
    let from = (4 + quarter) * width;
    (from, from + width - 1)
}

impl Buckets {
    /// Calls in all of them.
    pub fn calls(&self) -> u64 {
        (self.counts.iter()).fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// How many calls took about how long: the middle of each bucket, which no call of it is further from than an eighth.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let middle = |bucket| {
            let (from, to) = bounds(bucket);
            from + (to - from) / 2
        };
        (self.low..)
            .map(middle)
            .zip(self.counts.iter().copied())
            .filter(|&(_, n)| n > 0)
    }

    /// Has room for another's.
    fn cover(&mut self, other: &Buckets) {
        if other.counts.is_empty() {
            return;
        }
        if self.counts.is_empty() {
            self.low = other.low;
        }
        if other.low < self.low {
            let more = self.low - other.low;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.low = other.low;
        }
        let end = (other.low + other.counts.len()).max(self.low + self.counts.len());
        self.counts.resize(end - self.low, 0);
    }

    fn with(&mut self, other: &Buckets, put: impl Fn(&mut u64, u64)) {
        self.cover(other);
        for (at, &n) in (other.low..).zip(&other.counts) {
            put(&mut self.counts[at - self.low], n);
        }
    }

    /// Adds another's calls.
    pub fn add(&mut self, other: &Buckets) {
        self.with(other, |sum, n| *sum = sum.saturating_add(n));
    }
}

/// The sum of a method, as a chunk has it.
#[derive(Debug, PartialEq)]
pub struct Entry {
    pub id: u32,
    pub sum: Aggregate,
    /// How many words it takes.
    pub words: usize,
}

impl Aggregate {
    /// An entry of a chunk. `None` at the end of the entries.
    pub fn read(words: &[[u8; 8]]) -> Option<Entry> {
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word));
        let head = word(0)?;
        let (low, count) = ((head >> 32 & 0xff) as usize, (head >> 40) as usize);
        let all = HEAD + count;
        if count == 0 || low + count > BUCKETS || words.len() < all {
            return None;
        }
        let counts = words[HEAD..all].iter().map(|w| u64::from_le_bytes(*w));
        let durations = Buckets {
            low,
            counts: counts.collect(),
        };
        let sum = Aggregate {
            calls: word(1)?,
            errors: word(2)?,
            total: word(3)?,
            own: word(4)?,
            min: (durations.calls() > 0).then_some(word(5)?),
            max: word(6)?,
            durations,
        };
        Some(Entry {
            id: head as u32,
            sum,
            words: all,
        })
    }

    /// Takes what is newer in another of the same method and process: sums only grow.
    pub fn update(&mut self, other: &Aggregate) {
        self.calls = self.calls.max(other.calls);
        self.errors = self.errors.max(other.errors);
        self.total = self.total.max(other.total);
        self.own = self.own.max(other.own);
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.durations
            .with(&other.durations, |sum, n| *sum = n.max(*sum));
    }

    /// What it has more than it had before.
    pub fn since(&self, before: &Aggregate) -> Aggregate {
        let mut durations = self.durations.clone();
        durations.with(&before.durations, |sum, n| *sum = sum.saturating_sub(n));
        Aggregate {
            calls: self.calls.saturating_sub(before.calls),
            errors: self.errors.saturating_sub(before.errors),
            total: self.total.saturating_sub(before.total),
            own: self.own.saturating_sub(before.own),
            min: self.min,
            max: self.max,
            durations,
        }
    }

    /// Takes what is newer in another of the same method and process; returns how much more that is.
    pub fn grow(&mut self, newer: &Aggregate) -> Aggregate {
        let new = newer.since(self);
        self.update(newer);
        new
    }

    /// Whether no call began or ended.
    pub fn is_nothing(&self) -> bool {
        self.calls == 0 && self.durations.calls() == 0
    }

    /// Calls that had not ended when the sums were written last.
    pub fn running(&self) -> u64 {
        self.calls.saturating_sub(self.durations.calls())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_are_as_narrow_as_stated() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (from, to) = bounds(bucket);
            assert_eq!(from, next, "{bucket}");
            next = to + 1;
            let middle = from + (to - from) / 2;
            assert!(8 * (to - middle) <= from + 4, "{bucket}");
        }
        assert_eq!(next, 1 << 41);
    }

    #[test]
    fn entries_of_other_windows_are_one_sum() {
        let entry = |low: u64, counts: &[u64]| {
            let head = (counts.len() as u64) << 40 | low << 32 | 7;
            let calls = counts.iter().sum();
            let words = [head, calls, 0, 30, 20, 10, 12].into_iter();
            let words: Vec<[u8; 8]> = (words.chain(counts.iter().copied()))
                .map(u64::to_le_bytes)
                .collect();
            let read = Aggregate::read(&words).unwrap();
            let (id, sum, taken) = (read.id, read.sum, read.words);
            assert_eq!((id, taken), (7, words.len()));
            sum
        };
        let mut sum = entry(8, &[1, 0, 2]);
        let wider = entry(6, &[0, 4, 1, 0, 5, 6]);
        let old = sum.clone();
        sum.update(&wider);
        assert_eq!(sum.durations.counts, [0, 4, 1, 0, 5, 6]);
        let mut other_way = wider.clone();
        other_way.update(&old);
        assert_eq!(other_way, sum);
        let new = sum.since(&old);
        assert_eq!((new.calls, new.durations.calls()), (13, 13));
        let begun = Aggregate { calls: 20, ..new };
        assert_eq!(begun.running(), 7);
    }

    #[test]
    fn words_that_make_no_sense_end_the_entries() {
        for head in [0u64, 7, 161 << 40 | 7, 8 << 40 | 155 << 32 | 7, u64::MAX] {
            let words = vec![head.to_le_bytes(); 300];
            assert_eq!(Aggregate::read(&words), None, "{head:#x}");
        }
        let short = [(1u64 << 40 | 7).to_le_bytes(); 7];
        assert_eq!(Aggregate::read(&short), None);
    }
}
