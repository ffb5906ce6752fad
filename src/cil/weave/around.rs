//! Hooks that replace bodies (`around`): the body becomes a static method, which `proceed` runs.
//!
//! ```text
//!     M         ldarg..; newobj closure; stloc c; operands, among them [ldloc c; ldftn run; newobj delegate]; call hook; ret
//!     run       ldarg.0; ldfld..; call body; ret
//!     body      what M was, with `this` as its first argument
//! ```
//!
//! `run` and `body` are static methods of a type `<Weave>` in M's, behind all types, so that no row of another moves and the body may
//! call what it did. The type has the type parameters of M's, the methods those of M. Closures are classes of the assembly, one for
//! each count of values that they keep. The `this` of a struct, which is read-only, is kept as a copy.
//!
//! The hooks outside of an `around` are woven into M, and the others with the recorded pair into its body. Where several aspects have
//! one, there is a method for each between these two.

use crate::aspect::bind::call::{Around, Bound, Call, Proceed, Source};
use crate::aspect::bind::layers::{Part, layers};
use crate::aspect::bind::ty::Ty;
use crate::aspect::plan::Planned;
use crate::cil::il::body;
use crate::cil::il::insn::op;
use crate::cil::image::Image;
use crate::cil::metadata::flags::{impl_flag, type_param_flag};
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{MethodSignature, Reader, element, kind, without_modifiers};
use crate::cil::metadata::tables::{decode, encode, token, token_row};
use crate::cil::weave::adapters::{self, Adapter};
use crate::cil::weave::code::Code;
use crate::cil::weave::import::Importer;
use crate::cil::weave::methods::{Methods, WithOwn};
use crate::cil::weave::own::{self, Method, Own, Run};
use crate::error::{Error, Kind, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A body that throws, for a method whose body cannot be woven after all: nothing calls it.
pub(crate) const NO_BODY: [u8; 3] = [2 << 2 | 2, op::LDNULL as u8, op::THROW as u8];

/// Methods that are split, by their `MethodDef` rows.
pub(crate) type Splits = FxHashMap<u32, Split>;

/// A method that is split.
pub(crate) struct Split {
    /// From the method itself inwards.
    pub layers: Vec<Layer>,
    /// The row of its body, and the hooks there.
    pub body: u32,
    pub inner: Option<Arc<Bound>>,
}

/// A method that calls a hook with what runs the next one.
pub(crate) struct Layer {
    pub method: u32,
    code: Vec<u8>,
    max_stack: u32,
    /// The signature of its locals; empty where it has none.
    pub locals: Vec<u8>,
    /// The hooks outside of the call.
    pub bound: Option<Arc<Bound>>,
}

impl Layer {
    /// Appends its body without hooks; `locals` is the token of their signature.
    pub fn put_body(&self, locals: u32, out: &mut Vec<u8>) {
        put_body(&self.code, self.max_stack, locals, out);
    }
}

fn put_body(code: &[u8], max_stack: u32, locals: u32, out: &mut Vec<u8>) {
    let stack = u16::try_from(max_stack).unwrap_or(u16::MAX);
    match body::fits_tiny(code.len(), stack, locals, 0) {
        true => body::put_tiny_header(out, code.len()),
        false => body::put_fat_header(out, code.len(), stack, true, locals, false),
    }
    out.extend_from_slice(code);
}

/// What is known of a method in all its parts.
struct Whole<'w, 'a> {
    planned: &'w Planned,
    bound: &'w Arc<Bound>,
    /// Its row, and that of its type.
    method: u32,
    owner: u32,
    name: u32,
    impl_flags: u32,
    first_parameter: u32,
    signature: &'a [u8],
    parsed: MethodSignature<'a>,
    /// The type of its `this`, as signatures spell it.
    this: Option<Vec<u8>>,
    /// That is a struct.
    is_value: bool,
    /// The rows of its type parameters.
    generics: Vec<u32>,
    /// What a closure keeps: `this` and the arguments, as type arguments.
    kept: Vec<Vec<u8>>,
}

impl<'w, 'a> Whole<'w, 'a> {
    fn read(image: &Image<'a>, WithOwn { planned, bound }: WithOwn<'w>) -> Result<Whole<'w, 'a>> {
        use column::method_def::{IMPL_FLAGS, NAME, PARAM_LIST, SIGNATURE};
        let metadata = &image.metadata;
        let owner = planned.ty + 1;
        let positions = metadata.method_positions(owner)?;
        let method = metadata.method_at(positions.start + planned.index)?;
        let row = metadata.tables.row(table::METHOD_DEF, method)?;
        let signature = metadata.blobs.get(row.get(SIGNATURE))?;
        let parsed = MethodSignature::parse(signature)?;
        let is_value = is_value_type(image, owner)?;
        let this = (parsed.flags & kind::HAS_THIS != 0).then(|| this_type(image, owner, is_value));
        let mut kept = Vec::new();
        if let Some(this) = &this {
            kept.push(this[usize::from(is_value)..].to_vec());
        }
        let mut reader = Reader::new(parsed.parameters);
        for _ in 0..parsed.count {
            kept.push(match without_modifiers(reader.skip_type()?) {
                // No type argument is a pointer; a number of its size is.
                [element::PTR | element::FNPTR, ..] => vec![element::I],
                ty => ty.to_vec(),
            });
        }
        Ok(Whole {
            planned,
            bound,
            method,
            owner,
            name: row.get(NAME),
            impl_flags: row.get(IMPL_FLAGS),
            first_parameter: row.get(PARAM_LIST),
            signature,
            parsed,
            this,
            is_value,
            generics: type_parameters(image, token(table::METHOD_DEF, method)),
            kept,
        })
    }

    /// What the objects of a layer keep.
    fn keeps(&self, call: &Call) -> Keeps {
        let keeps_arguments =
            self.parsed.count > 0 && proceeds(call).any(|proceed| !proceed.takes_arguments);
        match (&self.this, keeps_arguments) {
            (None, false) => Keeps::Nothing,
            (Some(_), false) if !self.is_value => Keeps::This,
            (this, false) => Keeps::Closure(usize::from(this.is_some())),
            (_, true) => Keeps::Closure(self.kept.len()),
        }
    }

    fn arounds(&self) -> impl Iterator<Item = &'w Around> {
        self.bound
            .layers()
            .filter_map(|layer| layer.around.as_deref())
    }
}

/// A static method that was added.
#[derive(Clone, Copy)]
struct PartMethod {
    row: u32,
    /// The token that calls it.
    called: u32,
}

/// The method and the layer's number, of which the names of its delegates' methods are made.
#[derive(Clone, Copy)]
struct LayerNames<'n> {
    method: &'n str,
    place: usize,
}

impl LayerNames<'_> {
    /// The name of the method that a delegate calls.
    fn of_run(self, number: usize) -> String {
        format!("{} (proceed {}.{number})", self.method, self.place)
    }
}

impl Keeps {
    fn with(self, closure: Option<&Closure>) -> Kept<'_> {
        let keeps = self;
        Kept { keeps, closure }
    }
}

/// What an object that runs a body keeps, and the class that has the fields.
#[derive(Clone, Copy)]
struct Kept<'k> {
    keeps: Keeps,
    closure: Option<&'k Closure>,
}

/// What an object that runs a body keeps.
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    Nothing,
    /// An object, which the delegate has as its target.
    This,
    /// So many values, in a closure.
    Closure(usize),
}

fn proceeds(call: &Call) -> impl Iterator<Item = &Arc<Proceed>> {
    call.operands
        .iter()
        .filter_map(|operand| match &operand.source {
            Source::Proceed(proceed) => Some(proceed),
            _ => None,
        })
}

/// A class whose objects keep values, with those in place.
#[derive(Clone)]
struct Closure {
    /// As signatures spell it.
    ty: Vec<u8>,
    constructor: u32,
    fields: Vec<u32>,
}

/// The type in another one that has bodies.
struct Nested {
    /// Its token, or that of it with its own type parameters as arguments.
    token: u32,
    is_generic: bool,
    /// Names and signatures of its methods.
    known: FxHashSet<(Vec<u8>, Vec<u8>)>,
}

/// Splits the planned methods with `around` hooks: adds the methods that they become. The hooks' references are
/// imported already. `line` gives a method's first line.
pub(crate) fn add(
    image: &Image<'_>,
    methods: &Methods,
    line: &dyn Fn(u32) -> u32,
    importer: &mut Importer<'_, '_>,
    all: &mut Vec<Adapter>,
) -> Result<Splits> {
    let mut wholes = Vec::new();
    for of in methods.with_own().filter(|of| of.bound.around.is_some()) {
        wholes.push(Whole::read(image, of)?);
    }
    if wholes.is_empty() {
        return Ok(Splits::default());
    }
    let mut adding = Adding {
        image,
        importer,
        all,
        classes: FxHashMap::default(),
        closures: FxHashMap::default(),
        constructors: FxHashMap::default(),
        types: FxHashMap::default(),
        this: 0,
    };
    let keeps = wholes
        .iter()
        .flat_map(|whole| whole.arounds().map(|around| whole.keeps(&around.call)));
    let counts: BTreeSet<usize> = keeps
        .filter_map(|keeps| match keeps {
            Keeps::Closure(count) => Some(count),
            _ => None,
        })
        .collect();
    for count in counts {
        adding.class(count)?;
    }
    let mut splits = Splits::default();
    for of_type in wholes.chunk_by(|a, b| a.owner == b.owner) {
        let mut nested = adding.nested(of_type[0].owner)?;
        for whole in of_type {
            let split = adding.split(whole, &mut nested, line(whole.method))?;
            splits.insert(whole.method, split);
        }
    }
    Ok(splits)
}

struct Adding<'s, 'm, 'a> {
    image: &'s Image<'s>,
    importer: &'s mut Importer<'m, 'a>,
    all: &'s mut Vec<Adapter>,
    /// The classes of closures by how many values they keep.
    classes: FxHashMap<usize, u32>,
    closures: FxHashMap<Vec<u8>, Closure>,
    /// The constructors of delegates.
    constructors: FxHashMap<Ty, u32>,
    /// Tokens of instances of the assembly's own structs, by their blobs.
    types: FxHashMap<Vec<u8>, u32>,
    /// The name `this`.
    this: u32,
}

fn cannot(what: &str) -> Error {
    Error::new(Kind::NotDone, format!("`around`: {what}"))
}

fn coded_type(token: u32) -> u32 {
    encode(&coded::TYPE_DEF_OR_REF, token).expect("it is a type")
}

impl Adding<'_, '_, '_> {
    fn add_type(&mut self, flags: u32, name: &str) -> Result<u32> {
        let object = self.importer.object()?;
        let additions = self.importer.additions();
        let fields = additions.count(table::FIELD) + 1;
        let methods = additions.count(table::METHOD_DEF) + 1;
        let name = additions.string(name);
        let columns = [flags, name, 0, coded_type(object), fields, methods];
        additions.row(table::TYPE_DEF, &columns)
    }

    fn add_method(&mut self, flags: [u32; 2], name: &str, signature: &[u8]) -> Result<u32> {
        let additions = self.importer.additions();
        let parameters = additions.count(table::PARAM) + 1;
        let (name, signature) = (additions.string(name), additions.blob(signature));
        let [impl_flags, flags] = flags;
        let columns = [0, impl_flags, flags, name, signature, parameters];
        additions.row(table::METHOD_DEF, &columns).map(token_row)
    }

    fn type_spec(&mut self, blob: &[u8]) -> Result<u32> {
        if let Some(&known) = self.types.get(blob) {
            return Ok(known);
        }
        let additions = self.importer.additions();
        let index = additions.blob(blob);
        let token = additions.row(table::TYPE_SPEC, &[index])?;
        self.types.insert(blob.to_vec(), token);
        Ok(token)
    }

    fn member(&mut self, parent: u32, name: &str, signature: &[u8]) -> Result<u32> {
        let parent = encode(&coded::MEMBER_REF_PARENT, parent).expect("a type has members");
        let additions = self.importer.additions();
        let (name, signature) = (additions.string(name), additions.blob(signature));
        additions.row(table::MEMBER_REF, &[parent, name, signature])
    }

    /// The class of closures that keep so many values.
    fn class(&mut self, count: usize) -> Result<()> {
        /// Not public, sealed, initialised at any time (II.23.1.15).
        const CLASS: u32 = 0x100 | 0x10_0000;
        const FIELD: u32 = 6;
        /// Public, hidden by signature, of a special name.
        const CONSTRUCTOR: u32 = 6 | 0x80 | 0x800 | 0x1000;
        let class = self.add_type(CLASS, &format!("<Weave>Closure`{count}"))?;
        let owner = encode(&coded::TYPE_OR_METHOD_DEF, class).expect("it is a type");
        for number in 0..count as u32 {
            let mut signature = vec![kind::FIELD, element::VAR];
            put_compressed(&mut signature, number);
            let additions = self.importer.additions();
            let (name, blob) = (additions.string(&field(number)), additions.blob(&signature));
            additions.row(table::FIELD, &[FIELD, name, blob])?;
            let name = additions.string(&format!("T{number}"));
            additions.row(table::GENERIC_PARAM, &[number, 0, owner, name])?;
        }
        let method = self.add_method([0, CONSTRUCTOR], ".ctor", &constructor(count))?;
        self.classes.insert(count, class);
        let own: Vec<Vec<u8>> = (0..count as u32)
            .map(|number| {
                let mut ty = vec![element::VAR];
                put_compressed(&mut ty, number);
                ty
            })
            .collect();
        let closure = self.closure(&own)?;
        let object = self.importer.object()?;
        let of_object = self.member(object, ".ctor", &[kind::HAS_THIS, 0, element::VOID])?;
        let mut code = Code::default();
        code.load_argument(0);
        code.op_u32(op::CALL, of_object);
        for (number, &field) in (1..).zip(&closure.fields) {
            code.load_argument(0);
            code.load_argument(number);
            code.op_u32(op::STFLD, field);
        }
        code.op(op::RET);
        self.add_body(method, &code, 2);
        Ok(())
    }

    fn add_body(&mut self, method: u32, code: &Code, max_stack: u32) {
        let mut body = Vec::new();
        put_body(code.as_bytes(), max_stack, 0, &mut body);
        self.all.push(Adapter { method, body });
    }

    /// A closure that keeps values of these types.
    fn closure(&mut self, kept: &[Vec<u8>]) -> Result<Closure> {
        let class = self.classes[&kept.len()];
        let mut ty = vec![element::GENERICINST, element::CLASS];
        put_compressed(&mut ty, coded_type(class));
        put_compressed(&mut ty, kept.len() as u32);
        kept.iter().for_each(|kept| ty.extend_from_slice(kept));
        if let Some(known) = self.closures.get(&ty) {
            return Ok(known.clone());
        }
        let token = self.type_spec(&ty)?;
        let constructor = self.member(token, ".ctor", &constructor(kept.len()))?;
        let mut fields = Vec::with_capacity(kept.len());
        for number in 0..kept.len() as u32 {
            let mut signature = vec![kind::FIELD, element::VAR];
            put_compressed(&mut signature, number);
            fields.push(self.member(token, &field(number), &signature)?);
        }
        let closure = Closure {
            ty: ty.clone(),
            constructor,
            fields,
        };
        self.closures.insert(ty, closure.clone());
        Ok(closure)
    }

    /// Adds the type in another one that has its bodies.
    fn nested(&mut self, owner: u32) -> Result<Nested> {
        /// Private to the type around it, abstract, sealed, initialised at any time.
        const FLAGS: u32 = 3 | 0x80 | 0x100 | 0x10_0000;
        /// The type of what is in none (II.22.37).
        const MODULE: u32 = 1;
        let (flags, name) = match owner {
            MODULE => (FLAGS & !3, "<Weave>Module"),
            _ => (FLAGS, adapters::TYPE),
        };
        let ty = self.add_type(flags, name)?;
        if owner != MODULE {
            let additions = self.importer.additions();
            additions.row(table::NESTED_CLASS, &[token_row(ty), owner])?;
        }
        let generics = type_parameters(self.image, token(table::TYPE_DEF, owner));
        self.add_generics(&generics, ty, false)?;
        let token = match generics.len() as u32 {
            0 => ty,
            count => {
                let mut blob = vec![element::GENERICINST, element::CLASS];
                put_compressed(&mut blob, coded_type(ty));
                put_compressed(&mut blob, count);
                for number in 0..count {
                    blob.push(element::VAR);
                    put_compressed(&mut blob, number);
                }
                self.type_spec(&blob)?
            }
        };
        Ok(Nested {
            token,
            is_generic: !generics.is_empty(),
            known: FxHashSet::default(),
        })
    }

    /// Gives a type or a method (a token) the type parameters of another one.
    fn add_generics(&mut self, rows: &[u32], to: u32, of_method: bool) -> Result<()> {
        use column::generic_param::{FLAGS, NAME, NUMBER};
        use column::generic_param_constraint::OWNER;
        let tables = &self.image.metadata.tables;
        let owner = encode(&coded::TYPE_OR_METHOD_DEF, to).expect("they have type parameters");
        for &number in rows {
            let row = tables.row(table::GENERIC_PARAM, number)?;
            // Classes have no variance.
            let flags = match of_method {
                true => row.get(FLAGS),
                false => row.get(FLAGS) & !type_param_flag::VARIANCE,
            };
            let columns = [row.get(NUMBER), flags, owner, row.get(NAME)];
            let additions = self.importer.additions();
            let added = token_row(additions.row(table::GENERIC_PARAM, &columns)?);
            for (_, row) in tables.with_key(table::GENERIC_PARAM_CONSTRAINT, OWNER, number) {
                let columns = [added, row.get(column::generic_param_constraint::CONSTRAINT)];
                additions.row(table::GENERIC_PARAM_CONSTRAINT, &columns)?;
            }
        }
        Ok(())
    }

    /// Adds a static method with the type parameters of the whole.
    fn part(
        &mut self,
        whole: &Whole<'_, '_>,
        nested: &mut Nested,
        impl_flags: u32,
        name: &str,
        signature: &[u8],
    ) -> Result<PartMethod> {
        /// Of the assembly, static, hidden by signature (II.23.1.10).
        const FLAGS: u32 = 3 | 0x10 | 0x80;
        // No two methods of a type are of one name and signature.
        let mut name = name.to_owned();
        for number in 2.. {
            if nested
                .known
                .insert((name.as_bytes().to_vec(), signature.to_vec()))
            {
                break;
            }
            name.push_str(&format!(" ({number})"));
        }
        let row = self.add_method([impl_flags, FLAGS], &name, signature)?;
        let method = token(table::METHOD_DEF, row);
        self.add_generics(&whole.generics, method, true)?;
        let mut called = method;
        if nested.is_generic {
            called = self.member(nested.token, &name, signature)?;
        }
        if !whole.generics.is_empty() {
            let mut blob = vec![kind::INSTANCE];
            put_compressed(&mut blob, whole.generics.len() as u32);
            for number in 0..whole.generics.len() as u32 {
                blob.push(element::MVAR);
                put_compressed(&mut blob, number);
            }
            let coded = encode(&coded::METHOD_DEF_OR_REF, called).expect("it is a method");
            let additions = self.importer.additions();
            let blob = additions.blob(&blob);
            called = additions.row(table::METHOD_SPEC, &[coded, blob])?;
        }
        Ok(PartMethod { row, called })
    }

    /// Names the parameters of a method that was added last, as those of the whole.
    fn name_parameters(&mut self, whole: &Whole<'_, '_>) -> Result<()> {
        use column::method_def::PARAM_LIST;
        use column::param::{NAME, SEQUENCE};
        let tables = &self.image.metadata.tables;
        let shift = u32::from(whole.this.is_some());
        let additions = self.importer.additions();
        if shift > 0 {
            if self.this == 0 {
                self.this = additions.string("this");
            }
            additions.row(table::PARAM, &[0, 1, self.this])?;
        }
        let end = match tables.row(table::METHOD_DEF, whole.method + 1) {
            Ok(next) => next.get(PARAM_LIST),
            Err(_) => tables.rows(table::PARAM) + 1,
        };
        for number in whole.first_parameter..end {
            let Ok(row) = tables.row(table::PARAM, number) else {
                break;
            };
            let sequence = row.get(SEQUENCE);
            if (1..=whole.parsed.count).contains(&sequence) {
                additions.row(table::PARAM, &[0, sequence + shift, row.get(NAME)])?;
            }
        }
        Ok(())
    }

    fn split(&mut self, whole: &Whole<'_, '_>, nested: &mut Nested, line: u32) -> Result<Split> {
        let name = self.image.metadata.strings.text(whole.name)?.into_owned();
        let mut signature = self.head(whole, whole.kept.len());
        signature.extend_from_slice(whole.parsed.returns);
        signature.extend_from_slice(whole.this.as_deref().unwrap_or_default());
        signature.extend_from_slice(whole.parsed.parameters);

        let of_body = whole.impl_flags & (impl_flag::OF_CODE | impl_flag::ASYNC);
        let body = self.part(whole, nested, of_body, &name, &signature)?;
        self.name_parameters(whole)?;
        let all = layers(whole.bound);
        let mut rows = Vec::new();
        for layer in &all {
            rows.push(match layer.part {
                Part::Whole => PartMethod {
                    row: whole.method,
                    called: 0,
                },
                Part::Between(number) => {
                    let name = format!("{name} (around {number})");
                    let row = self.part(whole, nested, 0, &name, &signature)?;
                    self.name_parameters(whole)?;
                    row
                }
                Part::Body => body,
            });
        }
        let mut made = Vec::new();
        let mut inner = None;
        for (place, layer) in all.iter().enumerate() {
            let hooks = layer.hooks.clone().filter(|hooks| hooks.has_own_hooks());
            let Some(call) = layer.call else {
                inner = hooks;
                break;
            };
            let next = rows[place + 1].called;
            let names = LayerNames {
                method: &name,
                place: place + 1,
            };
            let layer = self.layer(whole, nested, call, next, names, line)?;
            made.push(Layer {
                method: rows[place].row,
                bound: hooks,
                ..layer
            });
        }
        Ok(Split {
            layers: made,
            body: body.row,
            inner,
        })
    }

    /// The beginning of a method's signature, up to its result.
    fn head(&self, whole: &Whole<'_, '_>, count: usize) -> Vec<u8> {
        let mut blob = Vec::new();
        match whole.generics.len() as u32 {
            0 => blob.push(0),
            generics => {
                blob.push(kind::GENERIC);
                put_compressed(&mut blob, generics);
            }
        }
        put_compressed(&mut blob, count as u32);
        blob
    }

    /// The code that calls a hook with what runs the method `next`.
    fn layer(
        &mut self,
        whole: &Whole<'_, '_>,
        nested: &mut Nested,
        call: &Call,
        next: u32,
        names: LayerNames<'_>,
        line: u32,
    ) -> Result<Layer> {
        let keeps = whole.keeps(call);
        let closure = match keeps {
            Keeps::Closure(count) => Some(self.closure(&whole.kept[..count])?),
            _ => None,
        };
        let of_struct = match &whole.this {
            Some(this) if whole.is_value && closure.is_some() => {
                Some(self.own_struct(whole, this)?)
            }
            _ => None,
        };
        let mut runs: Vec<Run> = Vec::new();
        for proceed in proceeds(call) {
            if runs.iter().any(|run| run.proceed == *proceed) {
                continue;
            }
            let constructor = self.constructor(&proceed.ty)?;
            let method = match runs_itself(whole, keeps, proceed, self.importer) {
                true => next,
                false => {
                    let name = names.of_run(runs.len() + 1);
                    let kept = keeps.with(closure.as_ref());
                    self.run(whole, nested, proceed, next, &name, kept)?
                }
            };
            runs.push(Run {
                proceed: Arc::clone(proceed),
                target: match keeps {
                    Keeps::Nothing => own::Target::None,
                    Keeps::This => own::Target::This,
                    Keeps::Closure(_) => own::Target::Local(0),
                },
                method,
                constructor,
            });
        }
        let mut locals = (Vec::new(), 0);
        let mut code = Code::default();
        let mut max_stack = 2;
        if let (Some(closure), Keeps::Closure(count)) = (&closure, keeps) {
            for argument in 0..count as u32 {
                code.load_argument(argument);
                if let (Some(ty), 0) = (of_struct, argument) {
                    code.op_u32(op::LDOBJ, ty);
                }
            }
            code.op_u32(op::NEWOBJ, closure.constructor);
            code.store_local(0);
            locals = (closure.ty.clone(), 1);
            max_stack = max_stack.max(count as u32);
        }
        let mut own = Own::default();
        let blob = own::signature_of_locals(&locals);
        let method = Method {
            code: &[],
            start: 0,
            signature: whole.signature,
            locals: &blob,
            this: whole.this.as_deref(),
            id: whole.planned.id,
            line,
            is_raw: false,
            is_zeroed: true,
            runs: &runs,
            result: None,
            more_locals: 0,
            ends: own::Ends::Here,
        };
        let bound = Bound {
            enter: Box::new([call.clone()]),
            ..Bound::default()
        };
        own.make(self.importer.imports(), &bound, &method)
            .map_err(|_| cannot("something of a hook has no token"))?;
        let made = own.code();
        max_stack = max_stack.max(made.max_stack);
        let (types, count) = own.extra();
        locals.0.extend_from_slice(types);
        locals.1 += count;
        code.bytes(made.enter);
        code.op(op::RET);
        Ok(Layer {
            method: 0,
            code: code.as_bytes().to_vec(),
            max_stack,
            locals: own::signature_of_locals(&locals),
            bound: None,
        })
    }

    /// The token of the struct that a method is of.
    fn own_struct(&mut self, whole: &Whole<'_, '_>, this: &[u8]) -> Result<u32> {
        match this {
            [element::BYREF, rest @ ..] if rest.first() == Some(&element::GENERICINST) => {
                self.type_spec(rest)
            }
            _ => Ok(token(table::TYPE_DEF, whole.owner)),
        }
    }

    /// The constructor of a delegate.
    fn constructor(&mut self, ty: &Ty) -> Result<u32> {
        if let Some(&known) = self.constructors.get(ty) {
            return Ok(known);
        }
        let parent = self.importer.imports().type_token(ty);
        let parent = parent.ok_or_else(|| cannot("a delegate has no token"))?;
        let signature = [
            kind::HAS_THIS,
            2,
            element::VOID,
            element::OBJECT,
            element::I,
        ];
        let token = self.member(parent, ".ctor", &signature)?;
        self.constructors.insert(ty.clone(), token);
        Ok(token)
    }

    /// Adds the method that a delegate calls; returns the token that names it.
    fn run(
        &mut self,
        whole: &Whole<'_, '_>,
        nested: &mut Nested,
        proceed: &Proceed,
        next: u32,
        name: &str,
        Kept { keeps, closure }: Kept<'_>,
    ) -> Result<u32> {
        let function = &proceed.function;
        let has_target = keeps != Keeps::Nothing;
        let taken = match proceed.takes_arguments {
            true => &function.parameters[..],
            false => &[],
        };
        let mut signature = self.head(whole, taken.len() + usize::from(has_target));
        let no_token = || cannot("a delegate's type has no token");
        let imports = self.importer.imports();
        imports
            .put_type(&function.result, &mut signature)
            .ok_or_else(no_token)?;
        match (closure, &whole.this) {
            (Some(closure), _) => signature.extend_from_slice(&closure.ty),
            (None, Some(this)) if has_target => signature.extend_from_slice(this),
            _ => {}
        }
        for ty in taken {
            imports.put_type(ty, &mut signature).ok_or_else(no_token)?;
        }
        let own = self.importer.signature_of(whole.method)?;
        let mut code = Code::default();
        let has_this = whole.this.is_some();
        if has_this {
            code.load_argument(0);
            if let Some(closure) = closure {
                let opcode = if whole.is_value {
                    op::LDFLDA
                } else {
                    op::LDFLD
                };
                code.op_u32(opcode, closure.fields[0]);
            }
        }
        for (number, parameter) in own.parameters.iter().enumerate() {
            match proceed.takes_arguments {
                true => {
                    code.load_argument(number as u32 + u32::from(has_target));
                    if taken[number] != parameter.ty {
                        self.importer.token(&parameter.ty)?;
                        let ty = self.importer.imports().type_token(&parameter.ty);
                        code.op_u32(op::UNBOX_ANY, ty.ok_or_else(no_token)?);
                    }
                }
                false => {
                    let closure = closure.expect("it keeps the arguments");
                    code.load_argument(0);
                    code.op_u32(op::LDFLD, closure.fields[number + usize::from(has_this)]);
                }
            }
        }
        code.op_u32(op::CALL, next);
        match (&own.result, &function.result) {
            (Ty::Void, Ty::Void) => {}
            (Ty::Void, _) => code.op(op::LDNULL),
            (result, given) if result != given && !result.is_reference() => {
                self.importer.token(result)?;
                let ty = self.importer.imports().type_token(result);
                code.op_u32(op::BOX, ty.ok_or_else(no_token)?);
            }
            _ => {}
        }
        code.op(op::RET);
        let made = self.part(whole, nested, 0, name, &signature)?;
        self.add_body(made.row, &code, whole.kept.len() as u32 + 1);
        Ok(made.called)
    }
}

/// Whether a delegate can call the next method itself: that takes and gives what the delegate does.
fn runs_itself(
    whole: &Whole<'_, '_>,
    keeps: Keeps,
    proceed: &Proceed,
    importer: &Importer<'_, '_>,
) -> bool {
    let Ok(own) = importer.signature_of(whole.method) else {
        return false;
    };
    let takes = own.parameters.iter().map(|parameter| &parameter.ty);
    !matches!(keeps, Keeps::Closure(_))
        && own.result == proceed.function.result
        && takes.eq(proceed.function.parameters.iter())
}

fn field(number: u32) -> String {
    format!("v{number}")
}

/// The signature of a closure's constructor.
fn constructor(count: usize) -> Vec<u8> {
    let mut blob = vec![kind::HAS_THIS];
    put_compressed(&mut blob, count as u32);
    blob.push(element::VOID);
    for number in 0..count as u32 {
        blob.push(element::VAR);
        put_compressed(&mut blob, number);
    }
    blob
}

/// The rows of the type parameters of a type or a method (a token), in order.
fn type_parameters(image: &Image<'_>, owner: u32) -> Vec<u32> {
    let key = encode(&coded::TYPE_OR_METHOD_DEF, owner).expect("they have type parameters");
    let tables = &image.metadata.tables;
    let rows = tables.with_key(table::GENERIC_PARAM, column::generic_param::OWNER, key);
    // More are in no signature.
    rows.map(|(number, _)| number).take(0xffff).collect()
}

/// The type of `this` in methods of a type (a `TypeDef` row), as signatures spell it.
pub(crate) fn this_type(image: &Image<'_>, ty: u32, is_value: bool) -> Vec<u8> {
    let token = token(table::TYPE_DEF, ty);
    let parameters = type_parameters(image, token).len() as u32;
    let mut bytes = Vec::new();
    if is_value {
        bytes.push(element::BYREF);
    }
    if parameters > 0 {
        bytes.push(element::GENERICINST);
    }
    bytes.push(match is_value {
        true => element::VALUETYPE,
        false => element::CLASS,
    });
    put_compressed(&mut bytes, coded_type(token));
    if parameters > 0 {
        put_compressed(&mut bytes, parameters);
        for number in 0..parameters {
            bytes.push(element::VAR);
            put_compressed(&mut bytes, number);
        }
    }
    bytes
}

/// Whether a type (a `TypeDef` row) is a value type, whose constructors call no other.
pub(crate) fn is_value_type(image: &Image<'_>, ty: u32) -> Result<bool> {
    let row = image.metadata.tables.row(table::TYPE_DEF, ty)?;
    let base = decode(&coded::TYPE_DEF_OR_REF, row.get(column::type_def::EXTENDS))?;
    Ok(image.metadata.is_type_named(base, b"System", b"ValueType")
        || image.metadata.is_type_named(base, b"System", b"Enum"))
}
