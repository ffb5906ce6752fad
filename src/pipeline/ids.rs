//! Ids that are unique over a whole job: [`method_id`](crate::aspect::plan::method_id) gives
//! 32 bits, so that among 200,000 methods about five pairs collide, and the same class may be in a job
//! twice (two jars, `META-INF/versions/N`).
//!
//! Workers weave with the id that they would like. Whoever writes takes the classes in the job's
//! order (artifact, member, method), and a method whose id is taken gets its next candidate that is free;
//! its class is then woven again. The order does not depend on threads, so neither do the ids.

use crate::symbols::{Symbol, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};

/// How an id is made of type, method name, descriptor and attempt.
pub type MethodId = fn(&str, &str, &str, u32) -> u32;

/// Type, name and descriptor of a method.
type Key = (Box<str>, Box<str>, Box<str>);

/// Ids of earlier weaves (`--known-symbols`), and how to make new ones; shared by all threads.
pub(crate) struct KnownIds {
    make: MethodId,
    known: Symbols,
    /// Methods whose known id is not their first candidate: type, name, descriptor.
    moved: FxHashMap<Key, u32>,
}

impl KnownIds {
    pub(crate) fn new(make: MethodId, known: Symbols) -> KnownIds {
        let mut moved = FxHashMap::<Key, u32>::default();
        for (id, s) in known.iter() {
            if make(&s.type_name, &s.method, &s.descriptor, 0) != id {
                let key = (
                    (&*s.type_name).into(),
                    s.method.clone(),
                    s.descriptor.clone(),
                );
                // Two artifacts of an earlier weave may both have had the method: the smaller id,
                // so that the choice does not depend on the map's order.
                let entry = moved.entry(key).or_insert(id);
                *entry = id.min(*entry);
            }
        }
        // A method that some earlier map knows by its first candidate keeps that one.
        moved.retain(|(ty, name, descriptor), _| {
            let first = make(ty, name, descriptor, 0);
            !known
                .get(first)
                .is_some_and(|s| is(s, ty, name, descriptor))
        });
        KnownIds { make, known, moved }
    }

    /// The id that a method would like to have.
    pub(crate) fn preferred(&self, ty: &str, name: &str, descriptor: &str) -> u32 {
        if !self.moved.is_empty()
            && let Some(&id) = self.moved.get(&(ty.into(), name.into(), descriptor.into()))
        {
            return id;
        }
        (self.make)(ty, name, descriptor, 0)
    }

    /// Whether no earlier weave gave the id to another method.
    fn allows(&self, id: u32, ty: &str, name: &str, descriptor: &str) -> bool {
        self.known
            .get(id)
            .is_none_or(|s| is(s, ty, name, descriptor))
    }
}

fn is(symbol: &Symbol, ty: &str, name: &str, descriptor: &str) -> bool {
    (&*symbol.type_name, &*symbol.method, &*symbol.descriptor) == (ty, name, descriptor)
}

/// The ids given so far.
#[derive(Default)]
pub(crate) struct TakenIds {
    taken: FxHashSet<u32>,
}

impl TakenIds {
    /// Marks the ids of classes that an earlier weave left in the input.
    pub(crate) fn reserve(&mut self, symbols: &Symbols) {
        self.taken.extend(symbols.iter().map(|(id, _)| id));
    }

    /// Takes `wanted` for a method, or its next candidate that is free.
    pub(crate) fn claim(
        &mut self,
        known: &KnownIds,
        ty: &str,
        name: &str,
        descriptor: &str,
        wanted: u32,
    ) -> u32 {
        let mut id = wanted;
        let mut attempt = 0;
        while !(known.allows(id, ty, name, descriptor) && self.taken.insert(id)) {
            attempt += 1;
            id = (known.make)(ty, name, descriptor, attempt);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Writer;

    /// Three names share each first candidate.
    fn weak(_: &str, name: &str, _: &str, attempt: u32) -> u32 {
        name.len() as u32 / 3 + 1 + attempt * 10
    }

    fn map(id: u32, name: &str) -> Symbols {
        let mut w = Writer::default();
        w.artifact("old.jar");
        w.ty("T", "");
        w.method(id, name, "()V", 0);
        let mut s = Symbols::default();
        s.add(&w.finish()).unwrap();
        s
    }

    #[test]
    fn the_first_keeps_its_id_and_later_ones_take_the_next_free_candidate() {
        let known = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        let mut claim = |name: &str| {
            let wanted = known.preferred("T", name, "()V");
            taken.claim(&known, "T", name, "()V", wanted)
        };
        assert_eq!(claim("aaa"), 2);
        assert_eq!(claim("bbb"), 12);
        assert_eq!(claim("ccc"), 22);
        assert_eq!(claim("aaa"), 32, "the same method in another jar");
        assert_eq!(claim("a"), 1);
    }

    #[test]
    fn known_maps_keep_ids_apart_and_stable() {
        // An earlier weave moved "aaa" to 12.
        let known = KnownIds::new(weak, map(12, "aaa"));
        let mut taken = TakenIds::default();
        assert_eq!(known.preferred("T", "aaa", "()V"), 12);
        assert_eq!(taken.claim(&known, "T", "bbb", "()V", 2), 2);
        assert_eq!(
            taken.claim(&known, "T", "ccc", "()V", 2),
            22,
            "12 belongs to aaa, though this job has not met it yet"
        );
        assert_eq!(taken.claim(&known, "T", "aaa", "()V", 12), 12);
    }

    #[test]
    fn ids_of_classes_woven_before_are_taken() {
        let known = KnownIds::new(weak, Symbols::default());
        let mut taken = TakenIds::default();
        taken.reserve(&map(2, "aaa"));
        assert_eq!(taken.claim(&known, "T", "bbb", "()V", 2), 12);
    }
}
