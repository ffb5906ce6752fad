//! The methods that rules may call as hooks, as artifacts declare them.

use super::ty::{Signature, Ty};
use crate::aspect::joinpoint::{Access, Method, Type, Visitor};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::hash::BuildHasher;

/// The types that own hooks are looked for in, with their static methods.
#[derive(Debug, Default)]
pub struct Catalog {
    types: FxHashMap<Box<str>, HookType>,
    /// All types of the libraries that rules name.
    libraries: FxHashSet<Box<str>>,
    /// What types declare, where rules are about calls.
    declared: FxHashMap<Box<str>, Declared>,
}

/// What a type declares, for those who call it.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    pub is_public: bool,
    /// Its methods, by hashes of name and descriptor, ascending, and whether they are public.
    methods: Vec<(u64, bool)>,
}

impl Declared {
    /// Whether a method of it is public; `None`: it declares none of that name.
    pub fn method(&self, name: &str, descriptor: &str) -> Option<bool> {
        let hash = FxBuildHasher.hash_one((name, descriptor));
        let place = self.methods.binary_search_by_key(&hash, |&(hash, _)| hash);
        place.ok().map(|place| self.methods[place].1)
    }

    fn add(&mut self, name: &str, descriptor: &str, is_public: bool) {
        let hash = FxBuildHasher.hash_one((name, descriptor));
        self.methods.push((hash, is_public));
    }
}

/// A type that declares hooks.
#[derive(Clone, Debug)]
pub struct HookType {
    pub ty: Ty,
    pub is_interface: bool,
    pub is_public: bool,
    pub methods: Vec<HookMethod>,
}

/// A static method of it.
#[derive(Clone, Debug)]
pub struct HookMethod {
    pub name: Box<str>,
    pub is_public: bool,
    pub signature: Signature,
}

fn ascending<V>(map: &FxHashMap<Box<str>, V>) -> impl Iterator<Item = (&str, &V)> {
    let mut all: Vec<_> = map.iter().map(|(name, value)| (&**name, value)).collect();
    all.sort_unstable_by_key(|(name, _)| *name);
    all.into_iter()
}

impl Catalog {
    /// Adds a type; of two with one name the first counts.
    pub fn add(&mut self, name: Box<str>, ty: HookType) {
        self.types.entry(name).or_insert(ty);
    }

    /// Adds what a type declares; of two with one name the first counts.
    pub fn declare(&mut self, name: Box<str>, mut declared: Declared) {
        declared.methods.sort_unstable();
        self.declared.entry(name).or_insert(declared);
    }

    pub fn declared(&self, name: &str) -> Option<&Declared> {
        self.declared.get(name)
    }

    /// The type that rules call so.
    pub fn find(&self, written: &str) -> Option<&HookType> {
        spellings(written).find_map(|name| self.types.get(&*name))
    }

    /// Notes that a library has a type.
    pub fn add_library_type(&mut self, name: &str) {
        self.libraries.insert(name.into());
    }

    /// The types that declare hooks, by name.
    pub fn types(&self) -> impl Iterator<Item = (&str, &HookType)> {
        ascending(&self.types)
    }

    /// What types declare, ascending.
    pub fn all_declared(&self) -> impl Iterator<Item = (&str, &Declared)> {
        ascending(&self.declared)
    }

    /// Whether a type declares hooks that rules call, or is of a library of such: rules do not weave it.
    pub fn has(&self, name: &str) -> bool {
        self.types.contains_key(name) || self.libraries.contains(name)
    }
}

/// What artifacts may call a type that is written with dots: `a.B.C` may be `a/B/C`, `a/B$C` or `a/B$C` on the JVM, `a.B.C`, `a.B+C` in .NET.
pub fn spellings(written: &str) -> impl Iterator<Item = String> {
    let of = |package: char, nested: char| {
        let mut name = written.replace('.', &package.to_string());
        let mut end = name.len();
        let mut all = vec![name.clone()];
        while let Some(at) = name[..end].rfind(package) {
            name.replace_range(at..=at, &nested.to_string());
            all.push(name.clone());
            end = at;
        }
        all
    };
    let mut all = of('/', '$');
    all.extend(of('.', '+'));
    all.into_iter()
}

/// A type and the names of its direct supertypes.
pub type Supertypes = (Box<str>, Box<[Box<str>]>);

/// Collects the static methods of wanted types, and the supertypes of all.
pub struct Collector<'w> {
    wanted: &'w FxHashSet<String>,
    /// What types declare is collected, too.
    all: bool,
    pub declared: Vec<(Box<str>, Declared)>,
    /// The type under way is wanted.
    is_wanted: bool,
    pub supertypes: Vec<Supertypes>,
    /// The wanted types.
    pub types: Vec<(Box<str>, HookType)>,
}

impl<'w> Collector<'w> {
    pub fn new(wanted: &'w FxHashSet<String>, all: bool) -> Collector<'w> {
        Collector {
            wanted,
            all,
            declared: Vec::new(),
            is_wanted: false,
            supertypes: Vec::new(),
            types: Vec::new(),
        }
    }
}

impl Visitor for Collector<'_> {
    fn wants_descriptors(&self) -> bool {
        self.all
    }

    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        let mut supertypes = Vec::new();
        ty.details
            .supertypes(&mut |name| supertypes.push(name.into()));
        self.supertypes.push((ty.name.into(), supertypes.into()));
        let owner = match self.wanted.contains(ty.name) {
            true => ty.details.owner(),
            false => None,
        };
        if self.all {
            let declared = Declared {
                is_public: ty.access == Access::Public,
                methods: Vec::new(),
            };
            self.declared.push((ty.name.into(), declared));
        }
        self.is_wanted = owner.is_some();
        let Some(owner) = owner else { return self.all };
        self.types.push((
            ty.name.into(),
            HookType {
                ty: owner.ty,
                is_interface: owner.is_interface,
                is_public: ty.access == Access::Public,
                methods: Vec::new(),
            },
        ));
        true
    }

    fn method(&mut self, _: u32, method: &Method<'_>) {
        if let Some((_, declared)) = self.declared.last_mut() {
            declared.add(
                method.name,
                method.descriptor,
                method.access == Access::Public,
            );
        }
        if !self.is_wanted {
            return;
        }
        if let (Some((_, ty)), Some(signature)) =
            (self.types.last_mut(), method.details.signature())
            && signature.this.is_none()
            && method.details.is_callable()
        {
            ty.methods.push(HookMethod {
                name: method.name.into(),
                is_public: method.access == Access::Public,
                signature,
            });
        }
    }
}
