//! The stretches of a body that our handlers protect, beside the method's own handlers.

use crate::dex::analysis::monitors::Held;
use crate::dex::format::code_item::{Code, NO_LIST, Try};
use crate::error::Result;

/// A stretch of the old code with the handlers that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// First pc.
    pub start: u32,
    /// The pc behind the last.
    pub end: u32,
    /// The list of handlers that it has, or [`NO_LIST`].
    pub list: u32,
    /// Which of our handlers comes behind them, by the monitors held.
    pub ours: Option<Held>,
}

/// A range of pcs, with the monitors held there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    pub start: u32,
    pub end: u32,
    pub held: Held,
}

/// The code that our handlers protect.
#[derive(Default)]
pub struct Cover {
    /// In order and apart.
    pub ranges: Vec<Covered>,
    borders: Vec<u32>,
}

impl Cover {
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Covers a range in which no monitor is held.
    pub fn without_locks(&mut self, start: u32, end: u32) {
        self.ranges.push(Covered {
            start,
            end,
            held: 0,
        });
    }

    /// Covers the throwing instructions within `ranges`, up to `end`, each with the monitors it holds.
    pub fn instructions(&mut self, throwing: &[(u32, Held)], ranges: &[(u32, u32)], end: u32) {
        let mut last = None;
        for &(pc, held) in throwing {
            let i = ranges.partition_point(|r| r.1 <= pc);
            let within = ranges.get(i).filter(|r| r.0 <= pc).map(|_| (i, held));
            if within == last {
                continue;
            }
            if let (Some((i, _)), Some(open)) = (last, self.ranges.last_mut()) {
                open.end = pc.min(ranges[i].1);
            }
            if within.is_some() {
                self.ranges.push(Covered {
                    start: pc,
                    end,
                    held,
                });
            }
            last = within;
        }
        if let (Some((i, _)), Some(open)) = (last, self.ranges.last_mut()) {
            open.end = end.min(ranges[i].1);
        }
    }

    /// Cuts the code at every border of a try and of the cover. A stretch needs our handler only if one of the `throwing`
    /// pcs lies in it. Nothing is protected from `end` on.
    pub fn stretches(
        &mut self,
        code: &Code<'_>,
        tries: &[Try],
        throwing: &[u32],
        throwable: Option<u32>,
        end: u32,
        out: &mut Vec<Stretch>,
    ) -> Result<()> {
        out.clear();
        self.borders.clear();
        self.borders.extend(
            tries
                .iter()
                .flat_map(|t| [t.start.min(end), t.end.min(end)]),
        );
        self.borders.extend(
            self.ranges
                .iter()
                .flat_map(|r| [r.start.min(end), r.end.min(end)]),
        );
        self.borders.sort_unstable();
        self.borders.dedup();
        let (mut t, mut c, mut p) = (0, 0, 0);
        let mut caught: Option<(u16, bool)> = None;
        for pair in self.borders.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            while tries.get(t).is_some_and(|t| t.end <= start) {
                t += 1;
            }
            while self.ranges.get(c).is_some_and(|r| r.end <= start) {
                c += 1;
            }
            while throwing.get(p).is_some_and(|pc| *pc < start) {
                p += 1;
            }
            let throws = throwing.get(p).is_some_and(|pc| *pc < end);
            let list = tries.get(t).filter(|t| t.start <= start).map(|t| t.list);
            let covered = self.ranges.get(c).filter(|r| r.start <= start && throws);
            let mut ours = covered.map(|r| r.held);
            if let (Some(list), Some(_)) = (list, ours) {
                let all = match caught {
                    Some((at, all)) if at == list => all,
                    _ => code.list(list)?.catches_all(throwable)?,
                };
                caught = Some((list, all));
                if all {
                    ours = None;
                }
            }
            let stretch = Stretch {
                start,
                end,
                list: list.map_or(NO_LIST, u32::from),
                ours,
            };
            match out.last_mut() {
                Some(last)
                    if last.end == start && (last.list, last.ours) == (stretch.list, ours) =>
                {
                    last.end = end;
                }
                _ if stretch.list == NO_LIST && ours.is_none() => {}
                _ => out.push(stretch),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::Body;

    #[test]
    fn only_what_is_not_caught_and_can_throw_is_protected() {
        let bytes = Body::new(1, 0, &[0; 20])
            .try_at(2, 4, &[(Some(7), 10)])
            .try_at(6, 8, &[(Some(7), 10), (None, 11)])
            .try_at(8, 10, &[(Some(9), 10)])
            .bytes();
        let code = Code::read(&bytes, 0).unwrap();
        let tries: Vec<Try> = code.tries().map(Result::unwrap).collect();
        let mut cover = Cover::default();
        let mut out = vec![];
        cover.without_locks(0, 20);
        let throwing = [1, 3, 7, 8, 15];
        cover
            .stretches(&code, &tries, &throwing, Some(9), 18, &mut out)
            .unwrap();
        let brief: Vec<_> = out
            .iter()
            .map(|s| (s.start, s.end, s.list != NO_LIST, s.ours))
            .collect();
        assert_eq!(
            brief,
            [
                (0, 2, false, Some(0)),
                (2, 4, true, Some(0)),
                (6, 8, true, None),
                (8, 10, true, None), // type 9 is Throwable
                (10, 18, false, Some(0)),
            ]
        );
    }

    #[test]
    fn instructions_that_hold_the_same_lie_in_one_range() {
        let mut cover = Cover::default();
        let throwing = [(0, 0), (2, 0), (4, 1), (6, 1), (8, 0), (12, 0)];
        cover.instructions(&throwing, &[(1, 9)], 20);
        let ranges = cover.ranges.iter();
        let ranges: Vec<_> = ranges.map(|r| (r.start, r.end, r.held)).collect();
        assert_eq!(ranges, [(2, 4, 0), (4, 8, 1), (8, 9, 0)]);
    }
}
