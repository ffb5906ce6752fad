//! The methods that rules may call as hooks, as artifacts declare them.

use super::functional::{DELEGATE, Function, INVOKE, Interface};
use super::ty::{Named, Signature, Ty};
use crate::aspect::joinpoint::{Access, Field, Kinds, Method, Type, Visitor};
use crate::aspect::rules::model::SaidType;
use crate::aspect::short::Bodies;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

/// The types that own hooks are looked for in, with their static methods.
#[derive(Debug, Default)]
pub struct Catalog {
    types: FxHashMap<Box<str>, HookType>,
    /// All types of the libraries that rules name.
    libraries: FxHashSet<Box<str>>,
    /// Of [`Catalog::types`] those that only give values, and the methods that rules call.
    values: FxHashMap<Box<str>, Vec<Box<str>>>,
    /// What types declare, where rules are about calls.
    declared: FxHashMap<Box<str>, Declared>,
    /// What types have that chains can ask for, where rules have chains.
    members: FxHashMap<Box<str>, MemberType>,
    /// Their names, by simple names, once somebody asks.
    simple: OnceLock<FxHashMap<Box<str>, Vec<Box<str>>>>,
    /// The interfaces and delegates, where rules have `around`.
    interfaces: FxHashMap<Box<str>, Interface>,
    /// Where rules have `mode = "auto"`, the methods that it takes.
    pub bodies: Bodies,
}

/// What of a type is not woven, since rules call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves<'c> {
    Nothing,
    /// It is of a library of hooks: nothing is said of it.
    Library,
    /// It declares hooks, and what they call beside.
    All,
    /// These give values.
    Methods(&'c [Box<str>]),
}

/// A type, for chains.
#[derive(Clone, Debug)]
pub struct MemberType {
    pub ty: Ty,
    pub is_interface: bool,
    pub access: Access,
    /// Rules say so, and no artifact does: it may have more.
    pub is_said: bool,
    /// Supertypes, where rules say them.
    pub extends: Vec<Box<str>>,
    /// The direct supertypes that have type arguments (.NET).
    pub generic: Vec<Ty>,
    /// What chains can ask for.
    pub members: Vec<Member>,
}

/// A method or a field of an object.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: Box<str>,
    pub access: Access,
    pub is_field: bool,
    /// What the method takes.
    pub parameters: Box<[Ty]>,
    pub result: Given,
}

/// What a member gives.
#[derive(Clone, Debug)]
pub enum Given {
    Type(Ty),
    /// As rules write it.
    Said(Box<str>),
}

/// What a type declares, for those who call it.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    pub is_public: bool,
    /// Its code walks the stack.
    pub walks_stack: bool,
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
    /// The names of its other methods, which need an object.
    pub of_objects: Vec<Box<str>>,
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

    /// Adds a type for chains; of two with one name the first counts.
    pub fn add_members(&mut self, name: Box<str>, ty: MemberType) {
        self.members.entry(name).or_insert(ty);
    }

    /// Adds what rules say of a type, which no artifact that is read declares. `spell` makes the format's own name of one with dots.
    pub fn say(&mut self, said: &SaidType, spell: impl Fn(&str) -> String) {
        let name = spell(&said.name);
        let ty = Ty::Named(Arc::new(Named {
            name: name.as_str().into(),
            scope: said.assembly.clone(),
            value: said.is_struct,
            by_ref_like: false,
            args: Box::default(),
        }));
        let entry = self.members.entry(name.into());
        let known = entry.or_insert_with(|| MemberType {
            ty,
            is_interface: said.is_interface,
            access: Access::Public,
            is_said: true,
            extends: Vec::new(),
            generic: Vec::new(),
            members: Vec::new(),
        });
        if !known.is_said {
            return;
        }
        known
            .extends
            .extend(said.extends.iter().map(|name| spell(name).into()));
        let members = said.members.iter().map(|member| Member {
            name: member.method.clone(),
            access: Access::Public,
            is_field: false,
            parameters: Box::default(),
            result: Given::Said(member.result.clone()),
        });
        known.members.extend(members);
    }

    /// Adds an interface or a delegate, which `proceed` may be an object of; of two with one name the first counts.
    pub fn add_interface(&mut self, name: Box<str>, interface: Interface) {
        self.interfaces.entry(name).or_insert(interface);
    }

    pub fn interfaces(&self) -> &FxHashMap<Box<str>, Interface> {
        &self.interfaces
    }

    /// All of them, ascending.
    pub fn all_interfaces(&self) -> impl Iterator<Item = (&str, &Interface)> {
        ascending(&self.interfaces)
    }

    /// What is known of a type for chains.
    pub fn members(&self, name: &str) -> Option<&MemberType> {
        self.members.get(name)
    }

    /// The types of this simple name that are known for chains, ascending; the hook library's are none.
    pub fn of_simple_name(&self, name: &str) -> &[Box<str>] {
        let simple = self.simple.get_or_init(|| {
            let mut all: FxHashMap<Box<str>, Vec<Box<str>>> = FxHashMap::default();
            let is_of_library = |name: &&str| {
                ["weave/runtime/", "Weave.Runtime."]
                    .iter()
                    .any(|ours| name.starts_with(ours))
            };
            let names = self.all_members().map(|(name, _)| name);
            for name in names.filter(|name| !is_of_library(name)) {
                let simple = name.rsplit(['.', '/', '$', '+']).next().unwrap_or(name);
                all.entry(simple.into()).or_default().push(name.into());
            }
            all
        });
        simple.get(name).map_or(&[], |all| all)
    }

    /// All of it, ascending.
    pub fn all_members(&self) -> impl Iterator<Item = (&str, &MemberType)> {
        ascending(&self.members)
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

    /// Notes that rules call these methods of a type, as it is written, for values alone.
    pub fn note_values(&mut self, written: &str, methods: &[&str]) {
        for name in spellings(written).filter(|name| self.types.contains_key(&**name)) {
            let methods = methods.iter().map(|method| Box::from(*method)).collect();
            self.values.insert(name.into(), methods);
        }
    }

    /// What rules leave of a type.
    pub fn leaves(&self, name: &str) -> Leaves<'_> {
        match (self.libraries.contains(name), self.values.get(name)) {
            (true, _) => Leaves::Library,
            (_, Some(methods)) => Leaves::Methods(methods),
            _ if self.types.contains_key(name) => Leaves::All,
            _ => Leaves::Nothing,
        }
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

/// What is collected.
#[derive(Clone, Copy)]
pub struct Collect<'w> {
    /// The types whose static methods rules call.
    pub types: &'w FxHashSet<String>,
    /// What all types declare.
    pub declared: bool,
    /// The links of chains; if there are any, what all types have that chains can ask for.
    pub members: &'w FxHashSet<String>,
    /// What interfaces leave open, and what delegates do.
    pub interfaces: bool,
    /// Whether a method with a body counts as one of [`Bodies`].
    pub counts: Option<Counts<'w>>,
}

/// Whether a method counts, by its type, its name and its kinds.
pub type Counts<'w> = &'w (dyn Fn(&str, &str, Kinds) -> bool + Sync);

/// Collects the static methods of wanted types, and the supertypes of all.
pub struct Collector<'w> {
    collect: Collect<'w>,
    pub declared: Vec<(Box<str>, Declared)>,
    /// The type under way is wanted.
    is_wanted: bool,
    pub supertypes: Vec<Supertypes>,
    /// The structs (.NET), and whether they are ref structs.
    pub structs: Vec<(Box<str>, bool)>,
    /// The types that only subtypes of others see (.NET).
    pub hidden: Vec<Box<str>>,
    /// The classes that may be defined hidden from their own bytes (JVM).
    pub defined_hidden: Vec<Box<str>>,
    /// The wanted types.
    pub types: Vec<(Box<str>, HookType)>,
    /// All types, if chains are about them.
    pub members: Vec<(Box<str>, MemberType)>,
    /// The last of these is the type under way.
    has_members: bool,
    /// All interfaces and delegates, if rules have `around`.
    pub interfaces: Vec<(Box<str>, Interface)>,
    /// The last of these is the type under way.
    is_interface: bool,
    /// And it is a delegate.
    is_delegate: bool,
    /// The keys of methods for [`Bodies`].
    pub bodies: Vec<u64>,
}

impl<'w> Collector<'w> {
    pub fn new(collect: Collect<'w>) -> Collector<'w> {
        Collector {
            collect,
            declared: Vec::new(),
            is_wanted: false,
            supertypes: Vec::new(),
            structs: Vec::new(),
            hidden: Vec::new(),
            defined_hidden: Vec::new(),
            types: Vec::new(),
            members: Vec::new(),
            has_members: false,
            interfaces: Vec::new(),
            is_interface: false,
            is_delegate: false,
            bodies: Vec::new(),
        }
    }

    /// Whether chains may name a method: public ones of the JVM that take nothing, of .NET getters, and all that rules name.
    fn may_be_member(&self, method: &Method<'_>) -> bool {
        let takes_nothing = match method.descriptor.starts_with('(') {
            true => method.descriptor.starts_with("()"),
            false => method.name.starts_with("get_"),
        };
        let is_named = || self.collect.members.contains(method.name);
        self.has_members
            && (takes_nothing && method.access == Access::Public || is_named())
            && !method.name.starts_with(['<', '.'])
    }
}

impl Visitor for Collector<'_> {
    fn wants_descriptors(&self) -> bool {
        self.collect.declared || !self.collect.members.is_empty()
    }

    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        let mut supertypes: Vec<Box<str>> = Vec::new();
        ty.details
            .supertypes(&mut |name| supertypes.push(name.into()));
        self.is_delegate =
            self.collect.interfaces && supertypes.first().is_some_and(|base| **base == *DELEGATE);
        self.supertypes.push((ty.name.into(), supertypes.into()));
        if ty.details.is_hidden() {
            self.hidden.push(ty.name.into());
        }
        let defined_hidden = &mut self.defined_hidden;
        (ty.details).defines_hidden(&mut |name| defined_hidden.push(name.into()));
        if let Some(by_ref_like) = ty.details.ref_struct() {
            self.structs.push((ty.name.into(), by_ref_like));
        }
        let wants_members = !self.collect.members.is_empty();
        self.is_wanted = self.collect.types.contains(ty.name);
        let owner = match self.is_wanted || wants_members || self.collect.interfaces {
            true => ty.details.owner(),
            false => None,
        };
        if self.collect.declared {
            let declared = Declared {
                is_public: ty.access == Access::Public,
                walks_stack: ty.details.walks_stack(),
                methods: Vec::new(),
            };
            self.declared.push((ty.name.into(), declared));
        }
        self.is_wanted &= owner.is_some();
        let member_owner = match wants_members {
            true => ty.details.member_owner(),
            false => None,
        };
        self.has_members = member_owner.is_some();
        self.is_interface = self.is_delegate
            || self.collect.interfaces && owner.as_ref().is_some_and(|owner| owner.is_interface);
        if self.is_interface {
            let interface = Interface {
                is_public: ty.access == Access::Public,
                ..Interface::default()
            };
            self.interfaces.push((ty.name.into(), interface));
        }
        if let Some(owner) = member_owner {
            let members = MemberType {
                ty: owner.ty,
                is_interface: owner.is_interface,
                access: ty.access,
                is_said: false,
                extends: Vec::new(),
                generic: ty.details.generic_supertypes(),
                members: Vec::new(),
            };
            self.members.push((ty.name.into(), members));
        }
        let Some(owner) = owner else {
            return self.is_delegate
                || self.collect.declared
                || self.has_members
                || self.collect.counts.is_some();
        };
        if self.is_wanted {
            let hooks = HookType {
                ty: owner.ty,
                is_interface: owner.is_interface,
                is_public: ty.access == Access::Public,
                methods: Vec::new(),
                of_objects: Vec::new(),
            };
            self.types.push((ty.name.into(), hooks));
        }
        self.is_wanted
            || self.has_members
            || self.is_interface
            || self.collect.declared
            || self.collect.counts.is_some()
    }

    fn wants_fields(&self) -> bool {
        self.has_members
    }

    fn field(&mut self, field: &Field<'_>) {
        if !self.collect.members.contains(field.name) {
            return;
        }
        if let Some((_, ty)) = self.members.last_mut()
            && let Some(result) = (field.ty)()
        {
            ty.members.push(Member {
                name: field.name.into(),
                access: field.access,
                is_field: true,
                parameters: Box::default(),
                result: Given::Type(result),
            });
        }
    }

    fn method(&mut self, _: u32, method: &Method<'_>) {
        if let Some((_, declared)) = self.declared.last_mut() {
            declared.add(
                method.name,
                method.descriptor,
                method.access == Access::Public,
            );
        }
        if let (Some(counts), Some((ty, _))) = (self.collect.counts, self.supertypes.last())
            && method.has_body
            && counts(ty, method.name, method.kinds)
        {
            let parameters = method.details.parameter_count();
            self.bodies.push(Bodies::key(method.name, parameters));
        }
        let may_be_member = self.may_be_member(method);
        if !self.is_wanted && !may_be_member && !self.is_interface {
            return;
        }
        let Some(signature) = method.details.signature() else {
            return;
        };
        if self.is_interface
            && let Some((_, interface)) = self.interfaces.last_mut()
            && signature.this.is_some()
            && (!self.is_delegate || method.name == INVOKE)
        {
            let function = Function::new(method.name, &signature);
            match method.has_body {
                false => interface.open.push(function),
                true => interface.given.push((function.name, function.parameters)),
            }
        }
        if may_be_member
            && let Some((_, ty)) = self.members.last_mut()
            && signature.this.is_some()
            && signature.generics == 0
        {
            ty.members.push(Member {
                name: method.name.into(),
                access: method.access,
                is_field: false,
                parameters: signature.parameters.iter().map(|p| p.ty.clone()).collect(),
                // The others are for messages.
                result: match self.collect.members.contains(method.name) {
                    true => Given::Type(signature.result.clone()),
                    false => Given::Said("".into()),
                },
            });
        }
        if self.is_wanted
            && let Some((_, ty)) = self.types.last_mut()
            && signature.this.is_some()
        {
            ty.of_objects.push(method.name.into());
        }
        if self.is_wanted
            && let Some((_, ty)) = self.types.last_mut()
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
