//! What rewriting shares between the bytecodes: positions, not instructions.
//!
//! A backend lists what goes in front of which instruction and which instructions change their
//! size; [`Layout::solve`] gives every old pc its new place. Sizes that depend on the distance
//! of a branch are the backend's to grow: it calls [`Layout::grow`] and solves again until
//! nothing changes. Growth is never taken back, so this ends.

pub mod straight;

use std::ops::Range;

/// Where branches that meant an instruction land once code was put in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind the inserted code: it runs only when reached from above. A loop whose head is the
    /// first instruction so fires the enter hook once.
    Prologue,
    /// In front of the inserted code: it runs however the instruction is reached.
    Before,
}

/// An old pc where something changes.
#[derive(Clone, Copy, Debug, Default)]
struct Stop {
    pc: u32,
    /// New position of whatever belongs to `pc`, inserted code first. Set by `solve`.
    start: u32,
    prologue: u32,
    before: u32,
    /// How much larger the instruction itself becomes.
    growth: i32,
    /// The growth depends on the new position (padding): `solve` asks for it.
    movable: bool,
}

impl Stop {
    fn insn(&self) -> u32 {
        self.start + self.prologue + self.before
    }
    /// New minus old position, for the instructions after this one.
    fn shift_after(&self) -> i32 {
        (self.insn() as i32 - self.pc as i32) + self.growth
    }
}

/// The map from old to new positions in one method's code.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    stops: Vec<Stop>,
}

/// What belongs to some places of a method's code, one thing to a pc, ascending.
#[derive(Clone, Debug)]
pub struct ByPc<T>(Vec<(u32, T)>);

impl<T> Default for ByPc<T> {
    fn default() -> Self {
        ByPc(Vec::new())
    }
}

impl<T> ByPc<T> {
    /// What belongs to `pc`; it is made if there is nothing yet.
    pub fn entry(&mut self, pc: u32) -> &mut T
    where
        T: Default,
    {
        let place = match self.0.binary_search_by_key(&pc, |one| one.0) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (pc, T::default()));
                place
            }
        };
        &mut self.0[place].1
    }

    pub fn get(&self, pc: u32) -> Option<&T> {
        let place = self.0.binary_search_by_key(&pc, |one| one.0).ok()?;
        Some(&self.0[place].1)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> + Clone {
        self.from(0)
    }

    /// Those at `pc` and behind it.
    pub fn from(&self, pc: u32) -> impl Iterator<Item = (u32, &T)> + Clone {
        let first = self.0.partition_point(|one| one.0 < pc);
        self.0[first..].iter().map(|(pc, one)| (*pc, one))
    }
}

/// One change, in order of pc, for the writer of the new code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The old pc.
    pub pc: u32,
    /// Bytes of inserted code that branches skip.
    pub prologue: u32,
    /// Bytes of inserted code that branches run.
    pub before: u32,
    /// Whether the instruction itself is encoded anew.
    pub resized: bool,
}

impl Layout {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.stops.clear();
    }

    fn stop(&mut self, pc: u32) -> &mut Stop {
        let i = match self.stops.last() {
            Some(last) if last.pc < pc => self.stops.len(),
            None => 0,
            _ => self.stops.partition_point(|s| s.pc < pc),
        };
        if self.stops.get(i).is_none_or(|s| s.pc != pc) {
            self.stops.insert(
                i,
                Stop {
                    pc,
                    ..Stop::default()
                },
            );
        }
        &mut self.stops[i]
    }

    /// Puts `len` bytes of code in front of the instruction at `pc`.
    pub fn insert(&mut self, pc: u32, place: Place, len: u32) {
        let stop = self.stop(pc);
        match place {
            Place::Prologue => stop.prologue += len,
            Place::Before => stop.before += len,
        }
    }

    /// The instruction at `pc` becomes `by` bytes larger.
    pub fn grow(&mut self, pc: u32, by: u32) {
        self.stop(pc).growth = by as i32;
    }

    /// The size of the instruction at `pc` depends on its new position.
    pub fn movable(&mut self, pc: u32) {
        self.stop(pc).movable = true;
    }

    /// Computes all positions; `resize(pc, new_pc)` gives the growth of a movable instruction.
    pub fn solve(&mut self, mut resize: impl FnMut(u32, u32) -> i32) {
        let mut shift = 0i32;
        for stop in &mut self.stops {
            stop.start = (stop.pc as i32 + shift) as u32;
            if stop.movable {
                stop.growth = resize(stop.pc, stop.insn());
            }
            shift = stop.shift_after();
        }
    }

    /// The stop at `pc`, or else the shift that the last one before it leaves.
    #[inline]
    fn find(&self, pc: u32) -> Result<&Stop, u32> {
        let before = match self.stops.last() {
            // Where code ends is asked for most.
            Some(last) if last.pc <= pc => Some(last),
            _ => {
                let i = self.stops.partition_point(|s| s.pc <= pc);
                i.checked_sub(1).map(|i| &self.stops[i])
            }
        };
        match before {
            None => Err(pc),
            Some(stop) if stop.pc == pc => Ok(stop),
            // Debugging information may name any position.
            Some(stop) => Err(pc.wrapping_add_signed(stop.shift_after())),
        }
    }

    /// Where what belongs to `pc` begins, inserted code included; also the new end of a range
    /// that ended at `pc`.
    #[inline]
    pub fn start(&self, pc: u32) -> u32 {
        self.find(pc).map_or_else(|new| new, |stop| stop.start)
    }

    /// Where a branch to `pc` lands.
    #[inline]
    pub fn target(&self, pc: u32) -> u32 {
        self.find(pc)
            .map_or_else(|new| new, |stop| stop.start + stop.prologue)
    }

    /// Where the instruction itself comes to lie.
    #[inline]
    pub fn insn(&self, pc: u32) -> u32 {
        self.find(pc).map_or_else(|new| new, Stop::insn)
    }

    /// The pcs around `pc`, or else right behind it, between which nothing changes, and how far all of them move.
    pub fn calm(&self, pc: u32) -> (Range<u32>, i32) {
        let i = self.stops.partition_point(|s| s.pc <= pc);
        let last = i.checked_sub(1).map(|i| &self.stops[i]);
        let end = self.stops.get(i).map_or(u32::MAX, |next| next.pc);
        match last {
            None => (0..end, 0),
            Some(stop) => (stop.pc + 1..end, stop.shift_after()),
        }
    }

    /// What changes, in order of pc.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.stops.iter().map(|s| Change {
            pc: s.pc,
            prologue: s.prologue,
            before: s.before,
            resized: s.movable || s.growth != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_pass_the_prologue_and_run_what_is_before() {
        let mut layout = Layout::default();
        layout.insert(0, Place::Prologue, 6);
        layout.insert(10, Place::Before, 5);
        layout.solve(|_, _| 0);
        assert_eq!(
            (layout.start(0), layout.target(0), layout.insn(0)),
            (0, 6, 6)
        );
        assert_eq!(
            (layout.start(4), layout.target(4), layout.insn(4)),
            (10, 10, 10)
        );
        assert_eq!(
            (layout.start(10), layout.target(10), layout.insn(10)),
            (16, 16, 21)
        );
        assert_eq!(layout.start(11), 22);
        // Damaged debugging information names any position.
        assert_eq!(layout.start(0x7fff_ffff), 0x8000_000a);
    }

    #[test]
    fn what_belongs_to_a_pc_is_one_thing() {
        let mut all = ByPc::<u32>::default();
        assert!(all.is_empty());
        for pc in [7, 3, 7, 5] {
            *all.entry(pc) += pc;
        }
        let listed =
            |each: Vec<(u32, &u32)>| each.into_iter().map(|(pc, n)| (pc, *n)).collect::<Vec<_>>();
        assert_eq!(listed(all.iter().collect()), [(3, 3), (5, 5), (7, 14)]);
        assert_eq!(listed(all.from(4).collect()), [(5, 5), (7, 14)]);
        assert_eq!((all.get(7), all.get(4)), (Some(&14), None));
    }

    #[test]
    fn both_places_at_one_pc_keep_their_order() {
        let mut layout = Layout::default();
        layout.insert(0, Place::Before, 5);
        layout.insert(0, Place::Prologue, 6);
        layout.solve(|_, _| 0);
        assert_eq!(
            (layout.start(0), layout.target(0), layout.insn(0)),
            (0, 6, 11)
        );
    }

    #[test]
    fn movable_instructions_are_asked_where_they_lie() {
        let mut layout = Layout::default();
        layout.insert(0, Place::Prologue, 5);
        layout.movable(3);
        layout.grow(20, 2);
        layout.solve(|pc, new_pc| {
            assert_eq!((pc, new_pc), (3, 8));
            -3
        });
        assert_eq!(layout.insn(3), 8);
        assert_eq!(layout.insn(20), 22);
        assert_eq!(layout.insn(23), 27);
    }
}
