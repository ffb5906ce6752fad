//! What hooks of one's own name, as rows of the assembly's own tables: types, methods and texts. All of it is added before
//! threads weave with it.

use crate::aspect::bind::call::{
    Bound, Call, Change, ConstantValue, Convert, Dest, Hook, Link, LinkKind, Operand, Source,
};
use crate::aspect::bind::site::{is_platform, key_token};
use crate::aspect::bind::ty::{Named, Prim, Signature, Ty};
use crate::cil::image::{Image, RUNTIME};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{element, kind};
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use crate::cil::scan::types as scanned;
use crate::cil::weave::references;
use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Tokens of the hook library's `Guard`; 0 for those that no hook needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guard {
    /// `bool Begin()`
    pub begin: u32,
    /// `void End()`
    pub end: u32,
    /// `void Failed(System.Exception, string)`
    pub failed: u32,
    /// `long Nanoseconds()`
    pub nanoseconds: u32,
}

/// The type whose zero lies in a local: no constant is one, or it is passed by its address.
pub(crate) fn zeroed(ty: &Ty) -> Option<&Ty> {
    match ty {
        Ty::ByRef(inner) => Some(inner),
        Ty::Param { .. } => Some(ty),
        Ty::Named(named) if named.value => Some(ty),
        _ => None,
    }
}

/// What is imported: threads look it up.
#[derive(Default)]
pub(crate) struct Imports {
    /// Tokens of types by name, and by the assembly that defines them.
    named: FxHashMap<Box<str>, FxHashMap<Box<str>, u32>>,
    /// Tokens of types that are no definition or reference, by their blobs.
    specs: FxHashMap<Box<[u8]>, u32>,
    /// Tokens of primitive types' structs.
    primitives: [u32; 14],
    hooks: FxHashMap<Arc<Hook>, Vec<ImportedHook>>,
    texts: FxHashMap<Arc<str>, u32>,
    /// The class `System.Object`.
    pub object: u32,
    pub guard: Guard,
}

/// How a hook is called: itself, or by an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Way {
    pub guard: bool,
    pub recursion: bool,
    pub change: Option<Change>,
}

impl Way {
    pub fn of(call: &Call) -> Option<Way> {
        call.adapter.as_ref().map(|adapter| Way {
            guard: adapter.guard,
            recursion: adapter.recursion,
            change: adapter.change.clone(),
        })
    }
}

struct ImportedHook {
    way: Option<Way>,
    method: u32,
    /// Tokens of its instances, by their blobs.
    instances: FxHashMap<Box<[u8]>, u32>,
}

struct Primitive {
    prim: Prim,
    element: u8,
    /// The name in `System`.
    name: &'static str,
}

const fn primitive(prim: Prim, element: u8, name: &'static str) -> Primitive {
    Primitive {
        prim,
        element,
        name,
    }
}

const PRIMITIVES: [Primitive; 14] = [
    primitive(Prim::Bool, 0x02, "Boolean"),
    primitive(Prim::Char, 0x03, "Char"),
    primitive(Prim::I8, 0x04, "SByte"),
    primitive(Prim::U8, 0x05, "Byte"),
    primitive(Prim::I16, 0x06, "Int16"),
    primitive(Prim::U16, 0x07, "UInt16"),
    primitive(Prim::I32, 0x08, "Int32"),
    primitive(Prim::U32, 0x09, "UInt32"),
    primitive(Prim::I64, 0x0a, "Int64"),
    primitive(Prim::U64, 0x0b, "UInt64"),
    primitive(Prim::F32, 0x0c, "Single"),
    primitive(Prim::F64, 0x0d, "Double"),
    primitive(Prim::Isize, element::I, "IntPtr"),
    primitive(Prim::Usize, element::U, "UIntPtr"),
];

fn place_of(prim: Prim) -> usize {
    let place = PRIMITIVES.iter().position(|known| known.prim == prim);
    place.expect("the list has all")
}

impl Imports {
    fn named(&self, named: &Named) -> Option<u32> {
        self.named.get(&named.name)?.get(&named.scope).copied()
    }

    /// Appends a type as signatures spell it; `None` where something in it has no token.
    pub fn put_type(&self, ty: &Ty, out: &mut Vec<u8>) -> Option<()> {
        match ty {
            Ty::Void => out.push(element::VOID),
            Ty::Prim(prim) => out.push(PRIMITIVES[place_of(*prim)].element),
            Ty::Named(named) => return self.put_named(named, out),
            Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => {
                out.push(match ty {
                    Ty::Array(_) => element::SZARRAY,
                    Ty::ByRef(_) => element::BYREF,
                    _ => element::PTR,
                });
                return self.put_type(inner, out);
            }
            Ty::Param { of_method, index } => {
                out.push(if *of_method {
                    element::MVAR
                } else {
                    element::VAR
                });
                put_compressed(out, u32::from(*index));
            }
            Ty::Opaque(_) => return None,
        }
        Some(())
    }

    fn put_named(&self, named: &Named, out: &mut Vec<u8>) -> Option<()> {
        if let Some(element) = element_of(named) {
            out.push(element);
            return Some(());
        }
        if let (true, [inner]) = (is_array(named), &*named.args) {
            out.push(element::ARRAY);
            self.put_type(inner, out)?;
            let rank = named.name.len() as u32 - 1;
            put_compressed(out, rank);
            put_compressed(out, 0);
            put_compressed(out, rank);
            out.extend((0..rank).map(|_| 0));
            return Some(());
        }
        let coded = encode(&coded::TYPE_DEF_OR_REF, self.named(named)?)?;
        if !named.args.is_empty() {
            out.push(element::GENERICINST);
        }
        out.push(match named.value {
            true => element::VALUETYPE,
            false => element::CLASS,
        });
        put_compressed(out, coded);
        if !named.args.is_empty() {
            put_compressed(out, named.args.len() as u32);
            for arg in &named.args {
                self.put_type(arg, out)?;
            }
        }
        Some(())
    }

    /// The token of a type.
    pub fn type_token(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Prim(prim) => Some(self.primitives[place_of(*prim)]).filter(|&token| token != 0),
            Ty::Named(named) if named.args.is_empty() => self.named(named),
            _ => {
                let mut blob = Vec::new();
                self.put_type(ty, &mut blob)?;
                self.specs.get(&*blob).copied()
            }
        }
    }

    /// The token of what a call calls.
    pub fn method(&self, call: &Call) -> Option<u32> {
        let way = Way::of(call);
        let hooks = self.hooks.get(&*call.hook)?;
        let hook = hooks.iter().find(|hook| hook.way == way)?;
        if call.generics.is_empty() {
            return Some(hook.method);
        }
        hook.instances
            .get(&*self.instance(&call.generics)?)
            .copied()
    }

    /// The blob of an instance of a generic method.
    fn instance(&self, generics: &[Ty]) -> Option<Vec<u8>> {
        let mut blob = vec![kind::INSTANCE];
        put_compressed(&mut blob, generics.len() as u32);
        for ty in generics {
            self.put_type(ty, &mut blob)?;
        }
        Some(blob)
    }

    /// The token of a text.
    pub fn text(&self, text: &str) -> Option<u32> {
        self.texts.get(text).copied()
    }

    /// The signature of a hook, as its definition and references to it have it; or of its adapter that changes something.
    pub fn signature(&self, hook: &Hook, change: Option<&Change>) -> Option<Vec<u8>> {
        let mut blob = Vec::new();
        match hook.generics {
            0 => blob.push(0),
            count => {
                blob.push(kind::GENERIC);
                put_compressed(&mut blob, u32::from(count));
            }
        }
        let (old, result) = match change {
            None => (None, &hook.result),
            // Where it would throw the old exception, it says whether it has put the value behind a pointer.
            Some(change) if change.throws => (
                Some(Ty::ByRef(Arc::new(change.to.clone()))),
                &Ty::Prim(Prim::Bool),
            ),
            Some(change) => (Some(change.old.clone()), &change.to),
        };
        let count = hook.parameters.len() + usize::from(old.is_some());
        put_compressed(&mut blob, count as u32);
        self.put_type(result, &mut blob)?;
        for parameter in hook.parameters.iter().chain(&old) {
            self.put_type(parameter, &mut blob)?;
        }
        Some(blob)
    }
}

/// The byte that signatures have for a class of the core library.
fn element_of(named: &Named) -> Option<u8> {
    match &*named.name {
        "System.String" => Some(element::STRING),
        "System.Object" => Some(element::OBJECT),
        "System.TypedReference" => Some(element::TYPEDBYREF),
        _ => None,
    }
}

/// Whether it stands for an array of several dimensions; see [`Ty::dimensions`].
fn is_array(named: &Named) -> bool {
    named.name.starts_with('[')
}

/// Types beside the primitive ones that every core library can name, by itself or by a forwarder.
const CORE_TYPES: [&str; 22] = [
    "System.Array",
    "System.Attribute",
    "System.DateTime",
    "System.Decimal",
    "System.Delegate",
    "System.Enum",
    "System.EventArgs",
    "System.EventHandler",
    "System.Exception",
    "System.Guid",
    "System.IDisposable",
    "System.IFormattable",
    "System.IntPtr",
    "System.MulticastDelegate",
    "System.Nullable`1",
    "System.Object",
    "System.String",
    "System.TimeSpan",
    "System.Type",
    "System.UIntPtr",
    "System.ValueType",
    "System.Void",
];

fn simple_name(scope: &str) -> &str {
    scope.split(',').next().unwrap_or_default().trim()
}

/// The `TypeRef`s of one name.
#[derive(Default)]
struct References {
    /// The assembly's place and the token.
    list: Vec<(usize, u32)>,
    /// The same; of several the first.
    by_place: FxHashMap<usize, u32>,
}

impl References {
    fn add(&mut self, place: usize, token: u32) {
        self.list.push((place, token));
        self.by_place.entry(place).or_insert(token);
    }
}

/// Adds what hooks name.
pub(crate) struct Importer<'m, 'a> {
    image: &'m Image<'a>,
    additions: &'m mut Additions,
    imports: Imports,
    /// The display name of the assembly itself.
    own: String,
    /// The display names of the assemblies that it refers to, with their tokens; added ones, too.
    assemblies: Vec<(String, u32)>,
    /// The place of each display name among them.
    places: FxHashMap<String, usize>,
    /// Types that the assembly refers to, by full name.
    references: FxHashMap<String, References>,
    /// Its own types, by full name.
    definitions: FxHashMap<String, u32>,
    /// The methods that ask for private members, by how many type parameters they have.
    accessors: FxHashMap<(Link, u16), u32>,
    /// The `TypeRef` of the hook library's class, once it is needed.
    guard: u32,
    with: &'m references::References,
}

impl<'m, 'a> Importer<'m, 'a> {
    pub fn new(
        image: &'m Image<'a>,
        with: &'m references::References,
        additions: &'m mut Additions,
    ) -> Result<Importer<'m, 'a>> {
        use column::type_ref::RESOLUTION_SCOPE;
        let metadata = &image.metadata;
        let tables = &metadata.tables;
        let mut assemblies = Vec::new();
        for row in 1..=tables.rows(table::ASSEMBLY_REF) {
            let name = scanned::reference_name(image, row).unwrap_or_default();
            assemblies.push((name, token(table::ASSEMBLY_REF, row)));
        }
        let mut places = FxHashMap::default();
        for (place, (name, _)) in assemblies.iter().enumerate() {
            places.entry(name.clone()).or_insert(place);
        }
        let place = |scope: u32| {
            let place = token_row(scope).checked_sub(1)? as usize;
            let is_there = token_table(scope) == table::ASSEMBLY_REF && place < assemblies.len();
            is_there.then_some(place)
        };
        let mut references: FxHashMap<String, References> = FxHashMap::default();
        for row in 1..=tables.rows(table::TYPE_REF) {
            let ty = token(table::TYPE_REF, row);
            let mut scope = ty;
            // Nested types lie in others.
            for _ in 0..64 {
                if token_table(scope) != table::TYPE_REF {
                    break;
                }
                scope = tables
                    .row(table::TYPE_REF, token_row(scope))
                    .and_then(|row| decode(&coded::RESOLUTION_SCOPE, row.get(RESOLUTION_SCOPE)))
                    .unwrap_or(0);
            }
            if let Some(assembly) = place(scope)
                && let Some(name) = metadata.types().name(ty)
            {
                let same = references.entry(name.to_owned()).or_default();
                same.add(assembly, ty);
            }
        }
        let core = decode(&coded::RESOLUTION_SCOPE, with.core)?;
        let exception = references.entry("System.Exception".to_owned()).or_default();
        if let (true, Some(core)) = (exception.list.is_empty(), place(core)) {
            exception.add(core, with.tokens.exception);
        }
        let mut definitions = FxHashMap::default();
        for row in 1..=tables.rows(table::TYPE_DEF) {
            let ty = token(table::TYPE_DEF, row);
            if let Some(name) = metadata.types().name(ty) {
                definitions.entry(name.to_owned()).or_insert(ty);
            }
        }
        Ok(Importer {
            image,
            additions,
            imports: Imports::default(),
            own: scanned::own_name(image)?,
            assemblies,
            places,
            references,
            definitions,
            accessors: FxHashMap::default(),
            guard: 0,
            with,
        })
    }

    /// All that was imported.
    pub fn finish(self) -> Imports {
        self.imports
    }

    pub fn imports(&self) -> &Imports {
        &self.imports
    }

    /// The class `System.Exception`.
    pub fn exception(&self) -> u32 {
        self.with.tokens.exception
    }

    pub fn additions(&mut self) -> &mut Additions {
        self.additions
    }

    /// What a method of the assembly (a `MethodDef` row) takes and gives.
    pub fn signature_of(&self, method: u32) -> Result<Signature> {
        use column::method_def::SIGNATURE;
        let row = self.image.metadata.tables.row(table::METHOD_DEF, method)?;
        let signature = scanned::signature(self.image, method, row.get(SIGNATURE));
        signature.ok_or_else(|| Error::new(Kind::NotDone, "a signature that cannot be read"))
    }

    /// Imports what a method's hooks name, the methods of adapters left out.
    pub fn bound(&mut self, bound: &Bound) -> Result<()> {
        for ty in &bound.keep.states {
            self.ty(ty)?;
        }
        if bound.keep.duration {
            self.nanoseconds()?;
        }
        let around = bound.around.as_ref().map(|around| &around.call);
        let own = [&bound.enter, &bound.exit, &bound.exception];
        for call in own.into_iter().flatten().chain(around) {
            if call.adapter.is_none() {
                self.hook(&call.hook)?;
            }
            self.instance(call)?;
            for operand in &call.operands {
                self.operand(operand)?;
                if let (true, Ty::ByRef(of)) = (bound.later, &operand.from) {
                    self.token(of)?; // a copy is kept
                }
            }
            let Some((convert, ty)) = &call.given else {
                continue;
            };
            match convert {
                Convert::Box => self.token(&call.gives())?,
                Convert::Cast => self.token(ty)?,
                _ => {}
            }
            if let (Dest::SkipWhen { .. }, Some(ty)) = (call.dest, zeroed(ty)) {
                self.ty(ty)?;
                self.token(ty)?;
            }
        }
        Ok(())
    }

    fn operand(&mut self, operand: &Operand) -> Result<()> {
        match &operand.source {
            Source::Args(operands) => {
                self.object()?;
                for operand in operands {
                    self.operand(operand)?;
                }
            }
            Source::Text(text) => self.text(text)?,
            Source::Duration => self.nanoseconds()?,
            Source::Proceed(proceed) => {
                self.token(&proceed.ty)?;
                let function = &proceed.function;
                for ty in function.parameters.iter().chain([&function.result]) {
                    self.ty(ty)?;
                }
            }
            Source::Zero => {
                if let Some(ty) = zeroed(&operand.to) {
                    self.ty(ty)?;
                    self.token(ty)?;
                }
            }
            _ => {}
        }
        let inner = match &operand.from {
            Ty::ByRef(inner) => inner,
            other => other,
        };
        match operand.convert {
            Convert::Same | Convert::Widen(..) | Convert::Cast => Ok(()),
            Convert::Box => self.token(&operand.from),
            Convert::Load | Convert::LoadBox => self.token(inner),
        }
    }

    /// The class `System.Object`.
    pub fn object(&mut self) -> Result<u32> {
        if self.imports.object == 0 {
            self.imports.object = self.core("Object")?;
        }
        Ok(self.imports.object)
    }

    /// A type of the core library in the namespace `System`, by the reference to it that is there, or by a new one beside
    /// `System.Exception`.
    fn core(&mut self, name: &str) -> Result<u32> {
        let known = references::core_type(self.image, name.as_bytes());
        if let Some(known) = known {
            return Ok(known);
        }
        let name = self.additions.string(name);
        let namespace = self.additions.string("System");
        let columns = [self.with.core, name, namespace];
        self.additions.row(table::TYPE_REF, &columns)
    }

    /// Makes sure that a type can be spelt in signatures.
    pub fn ty(&mut self, ty: &Ty) -> Result<()> {
        match ty {
            Ty::Named(named) => {
                for arg in &named.args {
                    self.ty(arg)?;
                }
                if element_of(named).is_none() && !is_array(named) {
                    self.named(named)?;
                }
                Ok(())
            }
            Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => self.ty(inner),
            Ty::Void | Ty::Prim(_) | Ty::Param { .. } | Ty::Opaque(_) => Ok(()),
        }
    }

    /// Makes sure that a type has a token.
    pub fn token(&mut self, ty: &Ty) -> Result<()> {
        match ty {
            Ty::Prim(prim) => {
                let place = place_of(*prim);
                if self.imports.primitives[place] == 0 {
                    self.imports.primitives[place] = self.core(PRIMITIVES[place].name)?;
                }
                Ok(())
            }
            Ty::Named(named) if named.args.is_empty() => match element_of(named) {
                Some(element) if element != element::TYPEDBYREF => {
                    let name = &named.name["System.".len()..];
                    if self.imports.named(named).is_none() {
                        let token = self.core(name)?;
                        self.remember(named, token);
                    }
                    Ok(())
                }
                _ => self.named(named),
            },
            Ty::Void | Ty::ByRef(_) | Ty::Opaque(_) => Ok(()),
            _ => {
                self.ty(ty)?;
                let mut blob = Vec::new();
                if self.imports.put_type(ty, &mut blob).is_some()
                    && !self.imports.specs.contains_key(&*blob)
                {
                    let index = self.additions.blob(&blob);
                    let token = self.additions.row(table::TYPE_SPEC, &[index])?;
                    self.imports.specs.insert(blob.into(), token);
                }
                Ok(())
            }
        }
    }

    fn remember(&mut self, named: &Named, token: u32) {
        let same = self.imports.named.entry(named.name.clone()).or_default();
        same.insert(named.scope.clone(), token);
    }

    /// A type by its name: a definition or a reference that is there, or a new reference.
    fn named(&mut self, named: &Named) -> Result<()> {
        if self.imports.named(named).is_some() {
            return Ok(());
        }
        let token = match *named.scope == self.own || named.scope.is_empty() {
            true => {
                let known = self.definitions.get(&*named.name).copied();
                let is_exception = *named.name == *"System.Exception";
                known.or(is_exception.then_some(self.with.tokens.exception))
            }
            false => Some(self.reference(&named.name, &named.scope)?),
        };
        if let Some(token) = token {
            self.remember(named, token);
        }
        Ok(())
    }

    /// The definition of a type that the assembly has itself.
    pub fn own_type(&self, named: &Named) -> Option<u32> {
        let is_own = named.scope.is_empty() || *named.scope == self.own;
        is_own.then(|| self.definitions.get(&*named.name).copied())?
    }

    /// The class of exceptions of this name, which the assembly defines or refers to already. Whether there is one.
    pub fn exception_named(&mut self, ty: &Ty) -> bool {
        let Ty::Named(named) = ty else {
            return false;
        };
        let own = self.definitions.get(&*named.name).copied();
        let other = || Some(self.references.get(&*named.name)?.list.first()?.1);
        match own.or_else(other) {
            Some(token) => {
                self.remember(named, token);
                true
            }
            None => self.imports.named(named).is_some(),
        }
    }

    /// The `TypeRef` of a type of another assembly.
    fn reference(&mut self, name: &str, scope: &str) -> Result<u32> {
        let same = self.references.get(name);
        let by = |fits: &dyn Fn(&str) -> bool| {
            let mut same = same?.list.iter();
            let found = same.find(|(at, _)| fits(&self.assemblies[*at].0));
            found.map(|&(_, token)| token)
        };
        let known = (self.places.get(scope))
            .and_then(|place| same?.by_place.get(place).copied())
            .or_else(|| by(&|other| simple_name(other) == simple_name(scope)))
            .or_else(|| by(&|other| is_platform(scope) && is_platform(other)));
        if let Some(known) = known {
            return Ok(known);
        }
        let (outer, nested) = match name.rsplit_once('+') {
            Some((outer, nested)) => (Some(outer), nested),
            None => (None, name),
        };
        let (at, coded, namespace, simple) = match outer {
            Some(outer) => {
                let outer_token = self.reference(outer, scope)?;
                let same = &self.references[outer].list;
                let at = same.iter().find(|(_, token)| *token == outer_token);
                let at = at.map_or(0, |&(at, _)| at);
                let coded = encode(&coded::RESOLUTION_SCOPE, outer_token);
                (at, coded, "", nested)
            }
            None => {
                let at = self.assembly(name, scope)?;
                let coded = encode(&coded::RESOLUTION_SCOPE, self.assemblies[at].1);
                let (namespace, simple) = nested.rsplit_once('.').unwrap_or(("", nested));
                (at, coded, namespace, simple)
            }
        };
        let simple = self.additions.string(simple);
        let namespace = match namespace {
            "" => 0,
            namespace => self.additions.string(namespace),
        };
        let coded = coded.expect("both are scopes");
        let token = (self.additions).row(table::TYPE_REF, &[coded, simple, namespace])?;
        let same = self.references.entry(name.to_owned()).or_default();
        same.add(at, token);
        Ok(token)
    }

    /// The place of the assembly that a type of this name and scope is to be referred to in.
    fn assembly(&mut self, name: &str, scope: &str) -> Result<usize> {
        if is_platform(scope) && CORE_TYPES.binary_search(&name).is_ok() {
            let core = decode(&coded::RESOLUTION_SCOPE, self.with.core)?;
            let mut assemblies = self.assemblies.iter();
            if let Some(core) = assemblies.position(|(_, token)| *token == core) {
                return Ok(core);
            }
        }
        let same = self.assemblies.iter().position(|(other, _)| {
            simple_name(other).eq_ignore_ascii_case(simple_name(scope))
                && key_token(other) == key_token(scope)
        });
        if let Some(same) = same {
            return Ok(same);
        }
        let row = assembly_row(scope, self.additions);
        let token = self.additions.row(table::ASSEMBLY_REF, &row)?;
        self.places.insert(scope.to_owned(), self.assemblies.len());
        self.assemblies.push((scope.to_owned(), token));
        Ok(self.assemblies.len() - 1)
    }

    /// Makes sure that a hook that is called itself has a token.
    pub fn hook(&mut self, hook: &Arc<Hook>) -> Result<()> {
        if self.imported(hook, None).is_some() {
            return Ok(());
        }
        if let Some(method) = self.method(hook)? {
            self.add_method(hook, None, method);
        }
        Ok(())
    }

    /// The token of a hook's own method.
    fn method(&mut self, hook: &Hook) -> Result<Option<u32>> {
        let Ty::Named(owner) = &hook.owner else {
            return Ok(None);
        };
        for ty in hook.parameters.iter().chain([&hook.result]) {
            self.ty(ty)?;
        }
        self.token(&hook.owner)?;
        let (Some(parent), Some(signature)) = (
            self.imports.type_token(&hook.owner),
            self.imports.signature(hook, None),
        ) else {
            return Ok(None);
        };
        if token_table(parent) == table::TYPE_DEF {
            return Ok(self.definition(token_row(parent), hook));
        }
        debug_assert!(owner.args.is_empty());
        let parent = encode(&coded::MEMBER_REF_PARENT, parent).expect("a TypeRef has members");
        let name = self.additions.string(&hook.name);
        let signature = self.additions.blob(&signature);
        self.additions
            .row(table::MEMBER_REF, &[parent, name, signature])
            .map(Some)
    }

    /// A hook that the assembly itself declares.
    fn definition(&self, ty: u32, hook: &Hook) -> Option<u32> {
        self.declared(ty, &hook.name, |found| {
            found.this.is_none()
                && found.generics == hook.generics
                && found.result == hook.result
                && (found.parameters.iter().map(|p| &p.ty)).eq(hook.parameters.iter())
        })
    }

    /// A method of a type of the assembly itself, by its name and what else is wanted.
    fn declared(&self, ty: u32, name: &str, is_wanted: impl Fn(&Signature) -> bool) -> Option<u32> {
        use column::method_def::{NAME, SIGNATURE};
        let metadata = &self.image.metadata;
        let mut positions = metadata.method_positions(ty).ok()?;
        positions.find_map(|position| {
            let number = metadata.method_at(position).ok()?;
            let row = metadata.tables.row(table::METHOD_DEF, number).ok()?;
            if !(metadata.strings).is(row.get(NAME), name.as_bytes()) {
                return None;
            }
            let found = scanned::signature(self.image, number, row.get(SIGNATURE))?;
            is_wanted(&found).then(|| token(table::METHOD_DEF, number))
        })
    }

    fn imported(&mut self, hook: &Hook, way: Option<&Way>) -> Option<&mut ImportedHook> {
        let hooks = self.imports.hooks.get_mut(hook)?;
        hooks.iter_mut().find(|hook| hook.way.as_ref() == way)
    }

    /// Notes the method that stands for a hook.
    pub fn add_method(&mut self, hook: &Arc<Hook>, way: Option<Way>, method: u32) {
        let hooks = self.imports.hooks.entry(Arc::clone(hook)).or_default();
        hooks.push(ImportedHook {
            way,
            method,
            instances: FxHashMap::default(),
        });
    }

    /// Makes sure that the instance of a generic method that a call calls has a token.
    fn instance(&mut self, call: &Call) -> Result<()> {
        if call.generics.is_empty() {
            return Ok(());
        }
        for ty in &call.generics {
            self.ty(ty)?;
        }
        let Some(blob) = self.imports.instance(&call.generics) else {
            return Ok(());
        };
        let way = Way::of(call);
        let Some(hook) = self.imported(&call.hook, way.as_ref()) else {
            return Ok(());
        };
        if hook.instances.contains_key(&*blob) {
            return Ok(());
        }
        let method = hook.method;
        let token = self.instance_of(method, &blob)?;
        let hook = self.imported(&call.hook, way.as_ref()).expect("it was");
        hook.instances.insert(blob.into(), token);
        Ok(())
    }

    fn instance_of(&mut self, method: u32, blob: &[u8]) -> Result<u32> {
        let method = encode(&coded::METHOD_DEF_OR_REF, method).expect("it is a method");
        let blob = self.additions.blob(blob);
        self.additions.row(table::METHOD_SPEC, &[method, blob])
    }

    /// What an adapter of a hook calls: for a generic one, the instance over the adapter's own type parameters. And the
    /// hook's signature.
    pub fn for_adapter(
        &mut self,
        hook: &Arc<Hook>,
        change: Option<&Change>,
    ) -> Result<Option<(u32, Vec<u8>)>> {
        if let Some(change) = change {
            self.ty(&change.to)?;
            self.ty(&change.old)?;
            if change.throws {
                self.token(&change.to)?;
            }
            if change.convert == Convert::Box {
                self.token(&hook.result)?;
            }
        }
        self.hook(hook)?;
        let Some(method) = self.imported(hook, None).map(|hook| hook.method) else {
            return Ok(None);
        };
        let Some(signature) = self.imports.signature(hook, change) else {
            return Ok(None);
        };
        if hook.generics == 0 {
            return Ok(Some((method, signature)));
        }
        Ok(Some((self.over_own(method, hook.generics)?, signature)))
    }

    /// The instance of a generic method over the type parameters of the method that calls it.
    fn over_own(&mut self, method: u32, generics: u16) -> Result<u32> {
        let own: Vec<Ty> = (0..generics)
            .map(|index| Ty::Param {
                of_method: true,
                index,
            })
            .collect();
        let blob = self.imports.instance(&own).expect("they need no tokens");
        self.instance_of(method, &blob)
    }

    /// What a chain's links name, a token each, and the signature of what stands for it.
    pub fn for_chain(&mut self, hook: &Hook) -> Result<Option<(Vec<u32>, Vec<u8>)>> {
        for ty in hook.parameters.iter().chain([&hook.result]) {
            self.ty(ty)?;
        }
        for link in &hook.links {
            self.constants(link)?;
        }
        let mut methods = Vec::with_capacity(hook.links.len());
        for link in &hook.links {
            match self.link(link, hook.generics)? {
                Some(method) => methods.push(method),
                None => return Ok(None),
            }
        }
        Ok(self
            .imports
            .signature(hook, None)
            .map(|blob| (methods, blob)))
    }

    /// The field that a type of the assembly declares.
    fn field(&self, ty: u32, link: &Link) -> Option<u32> {
        use column::field::{NAME, SIGNATURE};
        let metadata = &self.image.metadata;
        metadata.fields_of(ty).find_map(|number| {
            let row = metadata.tables.row(table::FIELD, number).ok()?;
            let is_named = (metadata.strings).is(row.get(NAME), link.name.as_bytes());
            let holds = || scanned::own_field(self.image, ty, row.get(SIGNATURE));
            (is_named && holds().as_ref() == Some(link.gives()))
                .then(|| token(table::FIELD, number))
        })
    }

    /// Makes sure that a link's constants have tokens.
    pub fn constants(&mut self, link: &Link) -> Result<()> {
        for constant in link.arguments() {
            if let ConstantValue::Text(text) = &constant.value {
                self.text(text)?;
            }
            if let Some(prim) = constant.boxed {
                self.token(&Ty::Prim(prim))?;
            }
        }
        Ok(())
    }

    /// The signature of a static method that takes an object and gives what a link does.
    pub fn accessor(&mut self, link: &Link, generics: u16) -> Result<Option<Vec<u8>>> {
        let mut signature = match generics {
            0 => vec![0],
            count => {
                let mut signature = vec![kind::GENERIC];
                put_compressed(&mut signature, u32::from(count));
                signature
            }
        };
        signature.push(1);
        for ty in [&link.result, &link.owner] {
            self.ty(ty)?;
            if self.imports.put_type(ty, &mut signature).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(signature))
    }

    /// Notes the method that asks for a private member.
    pub fn add_accessor(&mut self, link: &Link, generics: u16, method: u32) {
        self.accessors.insert((link.clone(), generics), method);
    }

    fn link(&mut self, link: &Link, generics: u16) -> Result<Option<u32>> {
        if !link.is_private {
            return self.member(link);
        }
        let known = self.accessors.get(&(link.clone(), generics)).copied();
        match (known, generics) {
            (Some(method), 1..) => self.over_own(method, generics).map(Some),
            (known, _) => Ok(known),
        }
    }

    /// What a link names.
    pub fn member(&mut self, link: &Link) -> Result<Option<u32>> {
        if link.kind == LinkKind::Length {
            return Ok(Some(0));
        }
        self.ty(&link.result)?;
        self.ty(link.gives())?;
        self.token(&link.owner)?;
        let parameters = link.parameters();
        for ty in &parameters {
            self.ty(ty)?;
        }
        let Some(parent) = self.imports.type_token(&link.owner) else {
            return Ok(None);
        };
        if matches!(link.kind, LinkKind::Cast | LinkKind::Box) {
            return Ok(Some(parent));
        }
        let is_field = link.kind == LinkKind::Field;
        let own = match &link.owner {
            Ty::Named(named) => self.own_type(named),
            _ => None,
        };
        let own = own.filter(|_| token_table(parent) != table::TYPE_REF);
        if let Some(ty) = own {
            let member = match is_field {
                true => self.field(token_row(ty), link),
                false => self.declared(token_row(ty), &link.name, |found| {
                    let taken = found.parameters.iter().map(|parameter| &parameter.ty);
                    found.this.is_some() && taken.eq(&parameters) && found.result == *link.gives()
                }),
            };
            return match member {
                Some(member) if token_table(parent) == table::TYPE_SPEC => {
                    self.of_instance(member, parent, &link.name).map(Some)
                }
                member => Ok(member),
            };
        }
        let mut signature = match is_field {
            true => vec![FIELD],
            false => vec![kind::HAS_THIS],
        };
        if !is_field {
            put_compressed(&mut signature, parameters.len() as u32);
        }
        for ty in [link.gives()].into_iter().chain(&parameters) {
            if self.imports.put_type(ty, &mut signature).is_none() {
                return Ok(None);
            }
        }
        let parent = encode(&coded::MEMBER_REF_PARENT, parent).expect("a TypeRef has members");
        let name = self.additions.string(&link.name);
        let signature = self.additions.blob(&signature);
        let columns = [parent, name, signature];
        self.additions.row(table::MEMBER_REF, &columns).map(Some)
    }

    /// A member that a type of the assembly declares, as one of an instance of that.
    fn of_instance(&mut self, member: u32, parent: u32, name: &str) -> Result<u32> {
        let column = match token_table(member) {
            table::FIELD => column::field::SIGNATURE,
            _ => column::method_def::SIGNATURE,
        };
        let tables = &self.image.metadata.tables;
        let row = tables.row(token_table(member), token_row(member))?;
        let signature = row.get(column);
        let parent = encode(&coded::MEMBER_REF_PARENT, parent).expect("a TypeSpec has members");
        let name = self.additions.string(name);
        let columns = [parent, name, signature];
        self.additions.row(table::MEMBER_REF, &columns)
    }

    /// Makes sure that a text has a token.
    pub fn text(&mut self, text: &Arc<str>) -> Result<()> {
        if !self.imports.texts.contains_key(text) {
            let token = self.additions.user_string(text)?;
            self.imports.texts.insert(Arc::clone(text), token);
        }
        Ok(())
    }

    fn nanoseconds(&mut self) -> Result<()> {
        if self.imports.guard.nanoseconds == 0 {
            let token = self.of_guard("Nanoseconds", &[0, 0, element::I8])?;
            self.imports.guard.nanoseconds = token;
        }
        Ok(())
    }

    /// Imports what adapters call of the hook library.
    pub fn guard(&mut self, way: &Way) -> Result<()> {
        if way.guard && self.imports.guard.failed == 0 {
            let mut signature = vec![0, 2, element::VOID, element::CLASS];
            let exception = encode(&coded::TYPE_DEF_OR_REF, self.with.tokens.exception);
            put_compressed(&mut signature, exception.expect("it is a TypeRef"));
            signature.push(element::STRING);
            self.imports.guard.failed = self.of_guard("Failed", &signature)?;
        }
        if way.recursion && self.imports.guard.begin == 0 {
            let begin = self.of_guard("Begin", &[0, 0, element::BOOLEAN])?;
            let end = self.of_guard("End", &[0, 0, element::VOID])?;
            (self.imports.guard.begin, self.imports.guard.end) = (begin, end);
        }
        Ok(())
    }

    fn of_guard(&mut self, name: &str, signature: &[u8]) -> Result<u32> {
        if self.guard == 0 {
            let class = self.additions.string("Guard");
            let namespace = self.additions.string(RUNTIME);
            let columns = [self.with.runtime, class, namespace];
            self.guard = self.additions.row(table::TYPE_REF, &columns)?;
        }
        let parent = encode(&coded::MEMBER_REF_PARENT, self.guard).expect("a TypeRef has members");
        let name = self.additions.string(name);
        let signature = self.additions.blob(signature);
        self.additions
            .row(table::MEMBER_REF, &[parent, name, signature])
    }
}

/// What the signature of a field begins with (II.23.2.4).
const FIELD: u8 = 0x06;

/// The columns of an `AssemblyRef` with this display name.
fn assembly_row(scope: &str, additions: &mut Additions) -> [u32; 9] {
    let part = |name: &str| {
        let part = scope
            .split(',')
            .find_map(|part| part.trim().strip_prefix(name));
        part.unwrap_or_default()
    };
    let mut version = part("Version=")
        .split('.')
        .map(|part| part.parse::<u16>().unwrap_or(0).into());
    let mut number = || version.next().unwrap_or(0);
    let [major, minor, build, revision] = [number(), number(), number(), number()];
    let token: Vec<u8> = key_token(scope)
        .as_bytes()
        .chunks_exact(2)
        .map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let key = match token.len() {
        8 => additions.blob(&token),
        _ => 0,
    };
    let name = additions.string(simple_name(scope));
    let culture = match part("Culture=") {
        "" | "neutral" => 0,
        culture => additions.string(culture),
    };
    [major, minor, build, revision, 0, key, name, culture, 0]
}
