//! What ids stand for, over any number of maps.

use super::parameters;
use crate::dotnet_names::{self, Shown};
use crate::spans::SpanRule;
use crate::switches::{Switch, Switches};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::sync::Arc;

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The artifact that the method was woven in, by its path inside the input (`BOOT-INF/lib/core.jar`).
    pub artifact: Arc<str>,
    /// The type's name in the format's own spelling (`com/acme/Outer$Inner`).
    pub type_name: Arc<str>,
    /// The method's name.
    pub method: Arc<str>,
    /// Parameters and return type as the format writes them.
    pub descriptor: Arc<str>,
    /// Source file name, or empty.
    pub file: Arc<str>,
    /// First source line of the body, or 0.
    pub line: u32,
    /// A rule says that its calls begin a trace.
    pub root: bool,
}

impl Symbol {
    /// Whether this is the same method as another, wherever it lies. A descriptor may be missing from a large map (`?`).
    fn is_same_method(&self, other: &Symbol) -> bool {
        let same = |a: &str, b: &str| a == b || a == "?" || b == "?";
        (&self.type_name, &self.method) == (&other.type_name, &other.method)
            && same(&self.descriptor, &other.descriptor)
    }

    /// The method with its parameters and, if it is known, its artifact: `com.acme.A.run(int) in lib/a.jar`.
    pub fn full_name(&self) -> String {
        let name = self.name() + &self.parameters() + &self.place();
        match &*self.artifact {
            "" => name,
            artifact => format!("{name} in {artifact}"),
        }
    }

    /// Type and method as people write them, `com.acme.Outer$Inner.run`, or as debuggers show what a compiler named. A
    /// lambda without a line has a number in its place.
    pub fn name(&self) -> String {
        let Some(shown) = dotnet_names::shown(&self.type_name, &self.method) else {
            return self.compilers_name();
        };
        let method = match self.place().is_empty() {
            true => shown.numbered(),
            false => shown.method,
        };
        format!("{}.{method}", shown.type_name)
    }

    /// Type and method as the program has them.
    pub fn compilers_name(&self) -> String {
        format!("{}.{}", self.type_name.replace('/', "."), self.method)
    }

    /// Where a method stands that has no name of its own: ` (Program.cs:27)`; else empty.
    pub fn place(&self) -> String {
        let shown = dotnet_names::shown(&self.type_name, &self.method);
        let Some(shown) = shown.filter(Shown::is_anonymous) else {
            return String::new();
        };
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        match (file, self.line.max(shown.line)) {
            ("", _) | (_, 0) => String::new(),
            (file, line) => format!(" ({file}:{line})"),
        }
    }

    /// Parameter types by their simple names: `(int, String[])`.
    pub fn parameters(&self) -> String {
        parameters::simple(&self.descriptor)
    }
}

/// Maps ids to what they stand for, over any number of maps.
#[derive(Debug, Default)]
pub struct Symbols {
    pub(super) by_id: FxHashMap<u32, Symbol>,
    /// The names of the values that methods record.
    pub(super) values: FxHashMap<u32, Arc<[Arc<str>]>>,
    /// About how much memory those take.
    pub(super) values_size: usize,
    pub(super) has_roots: bool,
    /// What rules say of the methods whose calls are spans.
    pub(super) spans: FxHashMap<u32, Arc<SpanRule>>,
    /// What switches the methods that can be switched.
    pub(super) switched: FxHashMap<u32, Switches>,
    pub(super) has_sampled: bool,
    collisions: Vec<Collision>,
}

/// An id that stands for two methods: their artifacts were woven apart, and neither weave knew of the other.
#[derive(Clone, Debug)]
pub struct Collision {
    pub id: u32,
    /// What [`Symbols::get`] says that it is.
    pub kept: Symbol,
    /// What another map says.
    pub other: Symbol,
}

/// Most collisions that are kept: a torn map could make any number.
pub(super) const MAX_COLLISIONS: usize = 1000;

impl Symbols {
    /// What the values of a method are called. Who says it again says more: the names that were there stay where they are.
    pub(super) fn name_values(&mut self, id: u32, names: Arc<[Arc<str>]>) {
        let known = self.values.entry(id).or_insert_with(|| Arc::clone(&names));
        if names.len() > known.len() {
            *known = names;
        }
    }

    /// Adds all of another map; ids that are known already keep their names.
    pub fn merge(&mut self, other: Symbols) {
        self.has_roots |= other.has_roots;
        self.has_sampled |= other.has_sampled;
        for (id, symbol) in other.by_id {
            self.insert(id, symbol);
        }
        for (id, names) in other.values {
            self.name_values(id, names);
        }
        for (id, rule) in other.spans {
            self.spans.entry(id).or_insert(rule);
        }
        for (id, by) in other.switched {
            self.switched.entry(id).or_insert(by);
        }
        let room = MAX_COLLISIONS.saturating_sub(self.collisions.len());
        self.collisions
            .extend(other.collisions.into_iter().take(room));
    }

    /// Adds a method, if its id is not known yet.
    pub(super) fn insert(&mut self, id: u32, symbol: Symbol) {
        match self.by_id.entry(id) {
            Entry::Vacant(entry) => drop(entry.insert(symbol)),
            Entry::Occupied(mut entry) => {
                let kept = entry.get_mut();
                kept.root |= symbol.root;
                if !kept.is_same_method(&symbol) && self.collisions.len() < MAX_COLLISIONS {
                    self.collisions.push(Collision {
                        id,
                        kept: kept.clone(),
                        other: symbol,
                    });
                }
            }
        }
    }

    /// The ids that stand for two methods, by id: of these, records show one name and may mean the other.
    pub fn collisions(&self) -> Vec<&Collision> {
        let mut collisions: Vec<&Collision> = self.collisions.iter().collect();
        collisions.sort_by_key(|c| c.id);
        // A map that is read twice says it twice.
        collisions.dedup_by(|a, b| a.id == b.id && a.other.is_same_method(&b.other));
        collisions
    }

    /// What an id stands for.
    pub fn get(&self, id: u32) -> Option<&Symbol> {
        self.by_id.get(&id)
    }

    /// The names of the values that a method records, in the order of their numbers.
    pub fn values(&self, id: u32) -> &[Arc<str>] {
        self.values.get(&id).map_or(&[], |names| names)
    }

    /// Whether a rule says of some method that its calls begin a trace.
    pub fn has_roots(&self) -> bool {
        self.has_roots
    }

    /// What a rule says of a method whose calls are spans.
    pub fn span(&self, id: u32) -> Option<&Arc<SpanRule>> {
        self.spans.get(&id)
    }

    /// Whether calls of some method are spans.
    pub fn has_spans(&self) -> bool {
        !self.spans.is_empty()
    }

    /// The aspects that switch a method; `None` if it cannot be switched.
    pub fn switched(&self, id: u32) -> Option<&Switches> {
        self.switched.get(&id)
    }

    /// Whether some method's calls are sampled.
    pub fn has_sampled(&self) -> bool {
        self.has_sampled
    }

    /// All aspects that switch methods, each with how many, by their names.
    pub fn switches(&self) -> Vec<(Arc<Switch>, u64)> {
        let mut all: BTreeMap<&Arc<Switch>, u64> = BTreeMap::new();
        for switch in self.switched.values().flat_map(|by| by.iter()) {
            *all.entry(switch).or_default() += 1;
        }
        let all = all.into_iter();
        all.map(|(switch, methods)| (Arc::clone(switch), methods))
            .collect()
    }

    /// A name to show for an id: the method's full name, or the bare id.
    pub fn name(&self, id: u32) -> String {
        match self.get(id) {
            Some(symbol) => symbol.name(),
            None => {
                let mut s = String::new();
                let _ = write!(s, "[{id:#010x}]");
                s
            }
        }
    }

    /// Number of ids known.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether no id is known.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether most methods are of the JVM or of dex, and not of .NET; `None` without any.
    pub fn are_of_jvm(&self) -> Option<bool> {
        let known = self
            .by_id
            .values()
            .filter_map(|symbol| parameters::of_jvm(&symbol.descriptor));
        let (jvm, all) = known.fold((0usize, 0usize), |(jvm, all), of| {
            (jvm + usize::from(of), all + 1)
        });
        (all > 0).then_some(2 * jvm >= all)
    }

    /// All ids with their symbols, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Symbol)> {
        self.by_id.iter().map(|(&id, symbol)| (id, symbol))
    }
}
