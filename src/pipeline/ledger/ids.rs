//! Ids that are unique over a whole job.
//!
//! [`id_base`](crate::aspect::plan::id_base) gives each type 32 bits, behind which the ids of its methods lie. Among 26,000
//! classes about one pair collides, and the same class may be in a job twice (two jars,
//! `META-INF/versions/N`).
//!
//! Threads plan with a type's first base. Then one thread claims ids for the planned types in the job's order (artifact,
//! member), before anything is woven: where some id of a type is taken, the type gets its next base whose ids are all
//! free. The order does not depend on threads, so neither do the ids.
//!
//! The methods of a dex file have one base, that of the file: their ids lie so close together that code can tell them
//! apart by 16 bits. Where one is taken, all move.

use crate::aspect::joinpoint::{Described, MethodNames};
use crate::aspect::plan::Planned;
use crate::error::Result;
use crate::symbols::Symbols;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

/// How the base of a type's ids is made of its name and the attempt, and that of a dex file's of its fingerprint.
pub type IdBase = fn(&str, u32) -> u32;

/// Ids of earlier weaves (`--known-symbols`), and how to make new ones.
pub(crate) struct KnownIds {
    base: IdBase,
    known: Symbols,
}

impl KnownIds {
    pub(crate) fn new(base: IdBase, known: Symbols) -> KnownIds {
        KnownIds { base, known }
    }

    /// The maps of earlier weaves.
    pub(crate) fn maps(&self) -> &Symbols {
        &self.known
    }

    /// Whether no earlier weave is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether no earlier weave gave the id to another method.
    fn allows(&self, id: u32, method: &MethodNames<&str>) -> bool {
        self.known.get(id).is_none_or(|known| {
            let (ty, name) = (&*known.type_name, &*known.method);
            (ty, name, &*known.descriptor) == (method.ty, method.name, method.descriptor)
        })
    }
}

/// Ids by blocks of 64: those of a type follow one another.
#[derive(Default)]
struct IdSet {
    blocks: FxHashMap<u32, u64>,
}

/// The block of an id, and its bit in there.
fn place(id: u32) -> (u32, u64) {
    (id >> 6, 1 << (id & 63))
}

impl IdSet {
    fn insert(&mut self, id: u32) {
        self.insert_all(place(id));
    }

    /// Adds one; whether it was not there.
    fn add(&mut self, id: u32) -> bool {
        let new = !self.contains(id);
        self.insert(id);
        new
    }

    fn remove(&mut self, id: u32) {
        let (block, bit) = place(id);
        if let Some(bits) = self.blocks.get_mut(&block) {
            *bits &= !bit;
        }
    }

    fn contains(&self, id: u32) -> bool {
        self.has_any(place(id))
    }

    /// Adds the ids that these bits of a block stand for.
    fn insert_all(&mut self, (block, bits): (u32, u64)) {
        *self.blocks.entry(block).or_default() |= bits;
    }

    /// Whether one of them is there.
    fn has_any(&self, (block, bits): (u32, u64)) -> bool {
        self.blocks
            .get(&block)
            .is_some_and(|there| there & bits != 0)
    }
}

/// The ids of a type's methods by blocks: they follow one another.
fn blocks(methods: &[Planned]) -> impl Iterator<Item = (u32, u64)> + Clone {
    let same = |a: &Planned, b: &Planned| place(a.id).0 == place(b.id).0;
    methods.chunk_by(same).map(|methods| {
        let bits = methods.iter().fold(0, |bits, m| bits | place(m.id).1);
        (place(methods[0].id).0, bits)
    })
}

/// What happened to the ids while an artifact was woven: enough to see whether it would happen again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Ids that an earlier weave left in the artifact.
    Reserved(Vec<u32>),
    /// The bases that were tried, of which the last was free, and the ids behind the first.
    Taken { bases: Vec<u32>, ids: Vec<u32> },
    /// The same for the id of a call, which all that say the same of it share.
    Call { call: CallKey, bases: Vec<u32> },
}

/// A hash over what symbols say of a recorded call.
pub(crate) type CallKey = [u32; 4];

fn call_key(identity: &str) -> CallKey {
    let digest = Sha256::digest(identity);
    let word = |n: usize| std::array::from_fn(|i| digest[4 * n + i]);
    std::array::from_fn(|n| u32::from_le_bytes(word(n)))
}

/// A method that takes an id.
pub(crate) struct Claimed<'m> {
    /// The one of the first attempt.
    pub(crate) id: u32,
    pub(crate) names: MethodNames<&'m str>,
}

/// The ids given so far.
#[derive(Default)]
pub(crate) struct TakenIds {
    /// All claims, while they are recorded for the cache.
    journal: Option<Vec<Claim>>,
    taken: IdSet,
    /// The next attempt for first bases that were taken before: a class that is in a job a thousand
    /// times need not try a thousand bases each time.
    next: FxHashMap<u32, u32>,
    /// The bases that were tried for recorded calls; the last is the id.
    calls: FxHashMap<CallKey, Vec<u32>>,
}

impl TakenIds {
    /// Marks the ids of classes that an earlier weave left in the input.
    pub(crate) fn reserve(&mut self, symbols: &Symbols) {
        symbols.iter().for_each(|(id, _)| self.taken.insert(id));
        if let Some(journal) = &mut self.journal {
            let mut ids: Vec<u32> = symbols.iter().map(|(id, _)| id).collect();
            ids.sort_unstable();
            journal.push(Claim::Reserved(ids));
        }
    }

    /// From now on notes what happens.
    pub(crate) fn start_journal(&mut self) {
        self.journal = Some(vec![]);
    }

    /// What happened since.
    pub(crate) fn take_journal(&mut self) -> Vec<Claim> {
        self.journal.take().unwrap_or_default()
    }

    /// Does again what was noted, where it would come out the same now; else changes nothing and says so.
    pub(crate) fn replay(&mut self, claims: &[Claim]) -> bool {
        let mut added = Vec::new();
        let mut moved = Vec::new();
        let mut calls = Vec::new();
        let same = claims.iter().all(|claim| {
            let (bases, ids) = match claim {
                Claim::Reserved(ids) => {
                    added.extend(ids.iter().filter(|&&id| self.taken.add(id)));
                    return true;
                }
                Claim::Taken { bases, ids } => (bases, ids.as_slice()),
                Claim::Call { call, bases } => match self.calls.get(call) {
                    Some(known) => return known.last() == bases.last(),
                    None => {
                        self.calls.insert(*call, bases.clone());
                        calls.push(*call);
                        (bases, bases.first().map_or(&[][..], std::slice::from_ref))
                    }
                },
            };
            {
                let Some((&first, last)) = bases.first().zip(bases.len().checked_sub(1)) else {
                    return false;
                };
                let start = self.next.get(&first).copied().unwrap_or(0) as usize;
                let shifted = |attempt: usize| {
                    let shift = bases[attempt].wrapping_sub(first);
                    ids.iter().map(move |id| id.wrapping_add(shift))
                };
                let free =
                    |attempt: usize| shifted(attempt).all(|id| id != 0 && !self.taken.contains(id));
                if start > last || (start..last).any(free) || !free(last) {
                    return false;
                }
                added.extend(shifted(last).filter(|&id| self.taken.add(id)));
                if last > 0 {
                    moved.push((first, self.next.insert(first, last as u32 + 1)));
                }
                true
            }
        });
        if !same {
            calls.iter().for_each(|call| drop(self.calls.remove(call)));
            added.into_iter().for_each(|id| self.taken.remove(id));
            for (first, before) in moved.into_iter().rev() {
                match before {
                    Some(next) => self.next.insert(first, next),
                    None => self.next.remove(&first),
                };
            }
        }
        same
    }

    /// Takes ids for the methods of a type that are to be woven: those that they have, or else others.
    /// `name` gives the type's name, `describe` name and descriptor of a method, by its number in the type: few claims
    /// ask for them.
    pub(crate) fn claim_planned(
        &mut self,
        known: &KnownIds,
        methods: &mut [Planned],
        name: impl FnOnce() -> Result<String>,
        describe: impl Fn(u32) -> Result<Described>,
    ) -> Result<()> {
        if self.claim_first(known, methods) {
            return Ok(());
        }
        let ty = &*name()?;
        // Only maps of earlier weaves know names.
        let described: Vec<Described> = match known.known.is_empty() {
            true => vec![],
            false => (methods.iter())
                .map(|m| describe(m.index))
                .collect::<Result<_>>()?,
        };
        let first = methods[0].id.wrapping_sub(methods[0].index);
        let base_of = |attempt| (known.base)(ty, attempt);
        let attempt = self.claim_from(known, first, base_of, || {
            methods.iter().enumerate().map(|(i, m)| {
                let described = described.get(i);
                let names = MethodNames {
                    ty,
                    name: described.map_or("", |d| &d.name),
                    descriptor: described.map_or("", |d| &d.descriptor),
                };
                Claimed { id: m.id, names }
            })
        });
        if attempt > 0 {
            let shift = (known.base)(ty, attempt).wrapping_sub(first);
            for method in methods {
                method.id = method.id.wrapping_add(shift);
            }
        }
        Ok(())
    }

    /// Takes the ids that methods of a type have, if all are free and no names are needed to see that.
    fn claim_first(&mut self, known: &KnownIds, methods: &[Planned]) -> bool {
        let Some(first) = methods.first() else {
            return true;
        };
        let is_free = self.journal.is_none()
            && known.known.is_empty()
            && !self.next.contains_key(&first.id.wrapping_sub(first.index))
            && methods.iter().all(|m| m.id != 0)
            && !blocks(methods).any(|ids| self.taken.has_any(ids));
        if is_free {
            blocks(methods).for_each(|ids| self.taken.insert_all(ids));
        }
        is_free
    }

    /// The id of a recorded call, the same for all of which symbols say the same (`identity`). `callee` is what is called.
    pub(crate) fn claim_call(
        &mut self,
        known: &KnownIds,
        identity: &str,
        callee: MethodNames<&str>,
    ) -> u32 {
        let call = call_key(identity);
        if !self.calls.contains_key(&call) {
            let base_of = |attempt| (known.base)(identity, attempt);
            let first = base_of(0);
            let journal = self.journal.take();
            let attempt = self.claim_behind(known, base_of, || {
                std::iter::once(Claimed {
                    id: first,
                    names: callee,
                })
            });
            self.journal = journal;
            (self.calls).insert(call, (0..=attempt).map(base_of).collect());
        }
        let bases = &self.calls[&call];
        if let Some(journal) = &mut self.journal {
            let bases = bases.clone();
            journal.push(Claim::Call { call, bases });
        }
        bases.last().copied().unwrap_or_default()
    }

    /// Makes room for so many more.
    pub(crate) fn expect(&mut self, ids: usize) {
        self.taken.blocks.reserve(ids / 8);
    }

    /// Takes the ids of methods that lie behind the bases that `base_of`
    /// makes of an attempt's number. Returns the attempt whose ids they are.
    pub(crate) fn claim_behind<'m, M>(
        &mut self,
        known: &KnownIds,
        base_of: impl Fn(u32) -> u32,
        methods: impl Fn() -> M,
    ) -> u32
    where
        M: Iterator<Item = Claimed<'m>>,
    {
        self.claim_from(known, base_of(0), base_of, methods)
    }

    /// The same where the first base is known, which costs a hash.
    fn claim_from<'m, M>(
        &mut self,
        known: &KnownIds,
        first: u32,
        base_of: impl Fn(u32) -> u32,
        methods: impl Fn() -> M,
    ) -> u32
    where
        M: Iterator<Item = Claimed<'m>>,
    {
        if methods().next().is_none() {
            return 0;
        }
        let start = self.next.get(&first).copied().unwrap_or(0);
        for attempt in start.. {
            let shift = match attempt {
                0 => 0,
                _ => base_of(attempt).wrapping_sub(first),
            };
            let free = methods().all(|method| {
                let id = method.id.wrapping_add(shift);
                id != 0 && !self.taken.contains(id) && known.allows(id, &method.names)
            });
            if free {
                methods().for_each(|method| self.taken.insert(method.id.wrapping_add(shift)));
                if attempt > 0 {
                    self.next.insert(first, attempt + 1);
                }
                if let Some(journal) = &mut self.journal {
                    // The first base counts as the one to begin with, whatever was tried before.
                    let bases = (0..=attempt).map(|n| if n == 0 { first } else { base_of(n) });
                    journal.push(Claim::Taken {
                        bases: bases.collect(),
                        ids: methods().map(|method| method.id).collect(),
                    });
                }
                return attempt;
            }
        }
        unreachable!("2^32 attempts at the ids behind one base")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Writer;

    /// Names of one length share their bases.
    fn weak(ty: &str, attempt: u32) -> u32 {
        ty.len() as u32 * 100 + attempt * 10
    }

    fn known(id: u32, ty: &str, name: &str) -> KnownIds {
        let mut w = Writer::default();
        w.artifact("old.jar");
        w.ty(ty, "");
        w.method(id, name, "()V", 0);
        let mut s = Symbols::default();
        s.add(&w.finish()).unwrap();
        KnownIds::new(weak, s)
    }

    fn claimed<'m>(id: u32, ty: &'m str, name: &'m str) -> Claimed<'m> {
        let names = MethodNames {
            ty,
            name,
            descriptor: "()V",
        };
        Claimed { id, names }
    }

    /// Claims ids for methods of these indices.
    fn claim(taken: &mut TakenIds, known: &KnownIds, ty: &str, indices: &[(u32, &str)]) -> u32 {
        let base = weak(ty, 0);
        let base_of = |attempt| weak(ty, attempt);
        taken.claim_behind(known, base_of, || {
            (indices.iter()).map(|&(i, name)| claimed(base + i, ty, name))
        })
    }

    #[test]
    fn the_first_keeps_its_ids_and_later_types_take_the_next_base_that_is_free() {
        let known = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        assert_eq!(claim(&mut taken, &known, "A", &[(0, "a"), (12, "b")]), 0);
        assert_eq!(
            claim(&mut taken, &known, "B", &[(0, "a")]),
            1,
            "100 is taken"
        );
        assert_eq!(
            claim(&mut taken, &known, "A", &[(0, "a"), (2, "b")]),
            2,
            "so is 110"
        );
        assert_eq!(claim(&mut taken, &known, "AA", &[(0, "a")]), 0);
    }

    #[test]
    fn a_collision_of_one_method_moves_its_whole_type() {
        let known = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        assert_eq!(claim(&mut taken, &known, "A", &[(5, "a")]), 0);
        assert_eq!(claim(&mut taken, &known, "B", &[(4, "a"), (5, "b")]), 1);
        assert_eq!(
            claim(&mut taken, &known, "C", &[(4, "a")]),
            2,
            "bases already tried are passed over"
        );
    }

    #[test]
    fn known_maps_keep_ids_apart_and_stable() {
        // An earlier weave moved A.a to 110.
        let known = known(110, "A", "a");
        let mut taken = TakenIds::default();
        assert_eq!(
            claim(&mut taken, &known, "C", &[(10, "c")]),
            1,
            "110 is A.a's, though this job has not met it yet"
        );
        let mut taken = TakenIds::default();
        taken.taken.insert(100);
        assert_eq!(claim(&mut taken, &known, "A", &[(0, "a")]), 1);
    }

    #[test]
    fn planned_methods_get_the_ids_of_their_attempt() {
        let planned = |index| Planned {
            ty: 0,
            index,
            id: weak("A", 0) + index,
            advice: crate::aspect::advice::Advice::ALL,
            bound: None,
        };
        let describe = |index: u32| {
            Ok(Described {
                name: ["a", "b"][index as usize].to_owned(),
                descriptor: "()V".to_owned(),
            })
        };
        let ids = |known: &KnownIds, taken: &mut TakenIds| {
            let mut methods = [planned(0), planned(1)];
            let claimed = taken.claim_planned(known, &mut methods, || Ok("A".to_owned()), describe);
            claimed.unwrap();
            methods.map(|m| m.id)
        };
        let none = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        taken.expect(4);
        let mut methods = [planned(0), planned(1)];
        let unasked = || unreachable!("nobody has these ids");
        (taken.claim_planned(&none, &mut methods, unasked, describe)).unwrap();
        assert_eq!(methods.map(|m| m.id), [100, 101]);
        assert_eq!(ids(&none, &mut taken), [110, 111]);
        // An earlier weave gave 100 to another method, or to this one.
        assert_eq!(
            ids(&known(100, "B", "b"), &mut TakenIds::default()),
            [110, 111]
        );
        assert_eq!(
            ids(&known(100, "A", "a"), &mut TakenIds::default()),
            [100, 101]
        );
    }

    #[test]
    fn all_types_behind_one_base_move_together() {
        let none = KnownIds::new(weak, Symbols::default());
        let base_of = |attempt| 500 + attempt * 10;
        let methods = || [claimed(500, "A", "a"), claimed(503, "B", "b")].into_iter();
        let mut taken = TakenIds::default();
        assert_eq!(taken.claim_behind(&none, base_of, methods), 0);
        assert_eq!(taken.claim_behind(&none, base_of, methods), 1);
        // An id of the second type is another method's.
        let mut taken = TakenIds::default();
        assert_eq!(
            taken.claim_behind(&known(503, "C", "c"), base_of, methods),
            1
        );
        let mut taken = TakenIds::default();
        assert_eq!(
            taken.claim_behind(&known(503, "B", "b"), base_of, methods),
            0
        );
        // Where nothing was woven nothing is taken.
        assert_eq!(taken.claim_behind(&none, base_of, || [].into_iter()), 0);
    }

    #[test]
    fn a_journal_is_done_again_only_where_it_comes_out_the_same() {
        let none = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        taken.start_journal();
        claim(&mut taken, &none, "A", &[(0, "a"), (3, "b")]);
        claim(&mut taken, &none, "B", &[(0, "a")]);
        let journal = taken.take_journal();
        assert_eq!(journal.len(), 2);

        let mut same = TakenIds::default();
        assert!(same.replay(&journal));
        assert_eq!(
            claim(&mut same, &none, "C", &[(0, "c")]),
            2,
            "as if claimed"
        );

        // An id of the first type is another's.
        let mut other = TakenIds::default();
        claim(&mut other, &none, "C", &[(3, "c")]);
        assert!(!other.replay(&journal));
        // One of the second type is: what the first took is free again.
        let mut other = TakenIds::default();
        other.taken.insert(110);
        assert!(!other.replay(&journal));
        assert_eq!(claim(&mut other, &none, "C", &[(0, "c"), (3, "d")]), 0);
        // The ids would be free, but the search begins behind them.
        let mut other = TakenIds::default();
        other.next.insert(100, 1);
        assert!(!other.replay(&journal));
    }

    #[test]
    fn calls_of_which_the_same_is_said_share_an_id() {
        let none = KnownIds::new(weak, Symbols::default());
        let name = claimed(0, "A", "a").names;
        let mut taken = TakenIds::default();
        claim(&mut taken, &none, "B", &[(200, "b")]);
        assert_eq!(taken.claim_call(&none, "one", name), 310, "300 is B.b's");
        taken.start_journal();
        assert_eq!(taken.claim_call(&none, "one", name), 310);
        let other = taken.claim_call(&none, "two", name);
        assert_eq!(other, 320);
        let journal = taken.take_journal();
        assert_eq!(journal.len(), 2);

        // Where 300 is free the first would get that.
        assert!(!TakenIds::default().replay(&journal));
        let mut same = TakenIds::default();
        claim(&mut same, &none, "B", &[(200, "b")]);
        assert!(same.replay(&journal));
        assert_eq!(same.claim_call(&none, "two", name), other, "as if claimed");
        assert!(same.replay(&journal), "once more, for another artifact");
        // What was noted for a call that has another id by now.
        let mut moved = TakenIds::default();
        claim(&mut moved, &none, "B", &[(200, "b"), (210, "c")]);
        assert_eq!(moved.claim_call(&none, "one", name), 320);
        assert!(!moved.replay(&journal));
        // An earlier weave's map knows the same call.
        let earlier = known(300, "A", "a");
        assert_eq!(TakenIds::default().claim_call(&earlier, "one", name), 300);
        let earlier = known(300, "C", "a");
        assert_eq!(TakenIds::default().claim_call(&earlier, "one", name), 310);
    }

    #[test]
    fn ids_of_classes_woven_before_are_taken() {
        let earlier = known(100, "A", "a");
        let known = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        taken.reserve(&earlier.known);
        assert_eq!(claim(&mut taken, &known, "B", &[(0, "b")]), 1);
    }
}
