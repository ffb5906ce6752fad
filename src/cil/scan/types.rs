//! Types and signatures as hooks of one's own see them.

use crate::aspect::bind::site::is_platform;
use crate::aspect::bind::ty::{Named, Parameter, Prim, Signature, Ty};
use crate::cil::image::Image;
use crate::cil::metadata::flags::{impl_flag, param_flag, type_param_flag};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{
    self, MAX_DEPTH, MAX_PARTS, MAX_TEXT, MethodSignature, Reader, element, kind,
};
use crate::cil::metadata::tables::{Row, decode, encode, token, token_row, token_table};
use crate::error::{Error, Kind, Result};
use crate::signing::strong_name::public_key_token;
use std::fmt::Write;
use std::sync::Arc;

/// Ref structs of the platform. An assembly does not say of another's struct that it is one.
const REF_STRUCTS: &[&str] = &[
    "System.ArgIterator",
    "System.Buffers.SequenceReader`1",
    "System.IO.Enumeration.FileSystemEntry",
    "System.MemoryExtensions+SpanSplitEnumerator`1",
    "System.MemoryExtensions+TryWriteInterpolatedStringHandler",
    "System.ReadOnlySpan`1",
    "System.ReadOnlySpan`1+Enumerator",
    "System.Runtime.CompilerServices.DefaultInterpolatedStringHandler",
    "System.Runtime.InteropServices.Marshalling.AnsiStringMarshaller+ManagedToUnmanagedIn",
    "System.Runtime.InteropServices.Marshalling.ArrayMarshaller`2+ManagedToUnmanagedIn",
    "System.Runtime.InteropServices.Marshalling.BStrStringMarshaller+ManagedToUnmanagedIn",
    "System.Runtime.InteropServices.Marshalling.PointerArrayMarshaller`2+ManagedToUnmanagedIn",
    "System.Runtime.InteropServices.Marshalling.ReadOnlySpanMarshaller`2+ManagedToUnmanagedIn",
    "System.Runtime.InteropServices.Marshalling.SpanMarshaller`2+ManagedToUnmanagedIn",
    "System.Runtime.InteropServices.Marshalling.Utf8StringMarshaller+ManagedToUnmanagedIn",
    "System.RuntimeArgumentHandle",
    "System.Span`1",
    "System.Span`1+Enumerator",
    "System.Text.Json.Utf8JsonReader",
    "System.Text.RegularExpressions.Regex+ValueMatchEnumerator",
    "System.Text.RegularExpressions.Regex+ValueSplitEnumerator",
    "System.Text.RegularExpressions.ValueMatch",
    "System.Text.SpanLineEnumerator",
    "System.Text.SpanRuneEnumerator",
    "System.Text.Unicode.Utf8+TryWriteInterpolatedStringHandler",
    "System.Threading.Lock+Scope",
    "System.TypedReference",
];

#[cold]
fn wrong(what: &str) -> Error {
    Error::new(Kind::Malformed, what)
}

/// A type as the owner of hooks; none if it is generic.
pub(super) fn owner(image: &Image<'_>, ty: u32) -> Option<Ty> {
    match type_parameters(image, token(table::TYPE_DEF, ty)) {
        0 => definition(image, ty),
        _ => None,
    }
}

/// A type over its own type parameters, if it has any.
pub(super) fn definition(image: &Image<'_>, ty: u32) -> Option<Ty> {
    Types::new(image, 0, false).own(ty).ok()
}

/// What a method (a `MethodDef` row) takes and gives; none if it cannot be read, or takes a list of arguments without types.
pub(crate) fn signature(image: &Image<'_>, method: u32, blob: u32) -> Option<Signature> {
    let blob = image.metadata.blobs.get(blob).ok()?;
    read_signature(image, method, blob).ok()
}

/// A type whose member an instruction names.
pub(super) struct Accessed {
    /// As the method of the instruction names it.
    pub ty: Ty,
    /// Whether it is a struct; none where only its assembly says so.
    pub is_value: Option<bool>,
}

impl Accessed {
    /// The type arguments.
    fn args(&self) -> &[Ty] {
        match &self.ty {
            Ty::Named(named) => &named.args,
            _ => &[],
        }
    }
}

/// What a token of a type means in a method (a `MethodDef` row).
pub(super) fn accessed(image: &Image<'_>, method: u32, ty: u32) -> Result<Accessed> {
    let mut types = Types::new(image, method, true);
    if token_table(ty) != table::TYPE_SPEC {
        let is_value = match token_table(ty) {
            table::TYPE_DEF => Some(is_value_type(image, token_row(ty))?),
            _ => None,
        };
        let ty = types.named(ty, is_value == Some(true), Box::default())?;
        return Ok(Accessed { ty, is_value });
    }
    let row = (image.metadata.tables).row(table::TYPE_SPEC, token_row(ty))?;
    let blob = (image.metadata.blobs).get(row.get(column::type_spec::SIGNATURE))?;
    let ty = types.ty(&mut Reader::new(blob), 0)?;
    let is_value = match &ty {
        Ty::Named(named) => Some(named.value),
        Ty::Array(_) => Some(false),
        Ty::Prim(_) => Some(true),
        _ => None,
    };
    Ok(Accessed { ty, is_value })
}

/// A type of a member's signature, with the arguments of the type that has it.
fn of_instance(ty: Ty, args: &[Ty]) -> Result<Ty> {
    fn size(ty: &Ty) -> usize {
        match ty {
            Ty::Named(named) => 1 + named.args.iter().map(size).sum::<usize>(),
            Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => 1 + size(inner),
            _ => 1,
        }
    }
    fn put(ty: &Ty, args: &[Ty]) -> Ty {
        let within = |inner: &Arc<Ty>| Arc::new(put(inner, args));
        match ty {
            Ty::Param {
                of_method: false,
                index,
            } => match args.get(usize::from(*index)) {
                Some(arg) => arg.clone(),
                None => Ty::Opaque("?".into()),
            },
            Ty::Array(inner) => Ty::Array(within(inner)),
            Ty::ByRef(inner) => Ty::ByRef(within(inner)),
            Ty::Pointer(inner) => Ty::Pointer(within(inner)),
            Ty::Named(named) if !named.args.is_empty() => Ty::Named(Arc::new(Named {
                args: named.args.iter().map(|arg| put(arg, args)).collect(),
                ..(**named).clone()
            })),
            other => other.clone(),
        }
    }
    if args.is_empty() {
        return Ok(ty);
    }
    let largest = args.iter().map(size).max().unwrap_or_default();
    match size(&ty).saturating_mul(largest) > MAX_PARTS as usize {
        true => Err(wrong("a type of too many parts")),
        false => Ok(put(&ty, args)),
    }
}

/// Whether a type may be a ref struct: it is one, or a struct of another assembly, of which only the platform's are known.
pub(super) fn may_be_ref_struct(image: &Image<'_>, ty: &Ty) -> bool {
    match ty {
        Ty::Named(named) if named.value => {
            named.by_ref_like
                || image.structs.is_none()
                    && !is_platform(&named.scope)
                    && !own_name(image).is_ok_and(|own| *own == *named.scope)
        }
        Ty::ByRef(_) => true,
        _ => false,
    }
}

/// A method that a call names.
pub(super) struct NamedMethod {
    pub(super) owner: Ty,
    pub(super) parameters: Vec<Ty>,
    pub(super) result: Ty,
}

/// The method that a call names, by the token of its type and its signature.
pub(super) fn callee(image: &Image<'_>, owner: u32, blob: &[u8]) -> Result<NamedMethod> {
    let parsed = MethodSignature::parse(blob)?;
    let mut types = Types::new(image, 0, true);
    let value = match token_table(owner) {
        table::TYPE_DEF => is_value_type(image, token_row(owner))?,
        _ => false,
    };
    let owner = types.named(owner, value, Box::default())?;
    let result = types.ty(&mut Reader::new(parsed.returns), 0)?;
    let mut reader = Reader::new(parsed.parameters);
    let parameters = (0..parsed.count).map(|_| types.ty(&mut reader, 0));
    Ok(NamedMethod {
        owner,
        parameters: parameters.collect::<Result<_>>()?,
        result,
    })
}

/// What a field holds.
pub(super) fn field(image: &Image<'_>, owner: &Accessed, blob: &[u8]) -> Result<Ty> {
    /// II.23.2.4.
    const FIELD: u8 = 0x06;
    let mut types = Types::new(image, 0, true);
    let mut reader = Reader::new(blob);
    if reader.u8()? != FIELD {
        return Err(wrong("not the signature of a field"));
    }
    reader.skip_modifiers()?;
    of_instance(types.ty(&mut reader, 0)?, owner.args())
}

/// What a field holds that a type (a `TypeDef` row) declares; none if it cannot be read.
pub(crate) fn own_field(image: &Image<'_>, ty: u32, signature: u32) -> Option<Ty> {
    let owner = Accessed {
        ty: definition(image, ty)?,
        is_value: None,
    };
    field(image, &owner, image.metadata.blobs.get(signature).ok()?).ok()
}

/// What a constructor takes.
pub(super) fn constructor(image: &Image<'_>, owner: &Accessed, blob: &[u8]) -> Result<Vec<Ty>> {
    let parsed = MethodSignature::parse(blob)?;
    let mut types = Types::new(image, 0, true);
    let mut reader = Reader::new(parsed.parameters);
    let parameters =
        (0..parsed.count).map(|_| of_instance(types.ty(&mut reader, 0)?, owner.args()));
    parameters.collect()
}

/// Whether a struct (a `TypeDef` row) is a ref struct.
pub(super) fn is_by_ref_like(image: &Image<'_>, ty: u32) -> bool {
    let (namespace, name) = (b"System.Runtime.CompilerServices", b"IsByRefLikeAttribute");
    has_attribute(image, token(table::TYPE_DEF, ty), namespace, name)
}

/// Whether a struct of another assembly is a ref struct, or may be one: nothing that was read defines it.
fn may_be_by_ref_like(image: &Image<'_>, name: &str, assembly: &str) -> bool {
    if is_ref_struct(name) {
        return true;
    }
    let Some(structs) = &image.structs else {
        return false;
    };
    structs.is_ref_struct(name).unwrap_or_else(|| {
        let is_unknown = !is_platform(assembly);
        if is_unknown {
            structs.miss(name, assembly);
        }
        is_unknown
    })
}

/// Whether this is a ref struct of the platform.
pub(super) fn is_ref_struct(name: &str) -> bool {
    REF_STRUCTS.binary_search(&name).is_ok()
}

/// A class that a handler names (a token).
pub(super) fn named(image: &Image<'_>, ty: u32) -> Result<Ty> {
    Types::new(image, 0, true).named(ty, false, Box::default())
}

/// Whether a type (a `TypeDef` or `TypeRef` token) has type parameters.
pub(super) fn is_generic(image: &Image<'_>, ty: u32) -> bool {
    match token_table(ty) {
        table::TYPE_DEF => type_parameters(image, ty) > 0,
        _ => {
            let mut name = String::new();
            signature::put_type_name(&image.metadata, 0, ty, &mut name);
            name.contains('`')
        }
    }
}

/// Whether a signature says all that callers must respect: its types have words, and any type serves as a type argument.
pub(super) fn is_callable(image: &Image<'_>, method: u32, blob: u32) -> bool {
    let Some(signature) = signature(image, method, blob) else {
        return false;
    };
    let parameters = signature.parameters.iter().map(|p| &p.ty);
    if (parameters.chain([&signature.result])).any(|ty| matches!(ty, Ty::Opaque(_))) {
        return false;
    }
    takes_any_type(image, token(table::METHOD_DEF, method))
}

/// Whether any type serves as a type argument of a method or a type (a token).
pub(super) fn takes_any_type(image: &Image<'_>, owner: u32) -> bool {
    use column::generic_param::{FLAGS, OWNER};
    let key = encode(&coded::TYPE_OR_METHOD_DEF, owner).expect("they have type parameters");
    let tables = &image.metadata.tables;
    let mut own = tables.with_key(table::GENERIC_PARAM, OWNER, key);
    own.all(|(number, row)| {
        let owner = column::generic_param_constraint::OWNER;
        let mut constraints = tables.with_key(table::GENERIC_PARAM_CONSTRAINT, owner, number);
        row.get(FLAGS) & type_param_flag::CONSTRAINTS == 0 && constraints.next().is_none()
    })
}

/// Why the body of a method (a `MethodDef` row) cannot become a method of its own, which an object runs.
pub(super) fn keeps_body(image: &Image<'_>, method: u32, blob: u32) -> Option<&'static str> {
    use column::method_def::IMPL_FLAGS;
    let tables = &image.metadata.tables;
    let pointers = [table::FIELD_PTR, table::METHOD_PTR, table::PARAM_PTR];
    if pointers.iter().any(|&pointers| tables.rows(pointers) > 0) {
        return Some("the metadata of its assembly is not compressed: nothing can be added to it");
    }
    let row = tables.row(table::METHOD_DEF, method).ok()?;
    if row.get(IMPL_FLAGS) & impl_flag::SYNCHRONIZED != 0 {
        return Some(
            "the runtime takes a `MethodImplOptions.Synchronized` method's lock, and the body cannot take it with it",
        );
    }
    let signature = signature(image, method, blob)?;
    let is_ref_struct = |ty: &Ty| match ty {
        Ty::Named(named) => named.by_ref_like,
        Ty::Opaque(_) => true,
        _ => false,
    };
    let is_unknown = |ty: &Ty| match ty {
        Ty::Named(named) if named.by_ref_like => {
            (image.structs.as_ref()).is_some_and(|structs| structs.is_missing(&named.name))
        }
        _ => false,
    };
    if let Some(Ty::ByRef(this)) = &signature.this {
        if is_ref_struct(this) {
            return Some("no object can keep a ref struct");
        }
        // Others may change what it refers to while the body runs: `proceed` would run on a copy.
        let owner = image.metadata.owner_of_method(method)?;
        let (namespace, name) = (b"System.Runtime.CompilerServices", b"IsReadOnlyAttribute");
        if !has_attribute(image, token(table::TYPE_DEF, owner), namespace, name) {
            return Some(
                "a struct's `this` is a reference, which no object can keep; of a `readonly` struct it can keep a copy",
            );
        }
        // Its `void` is modified.
        let parsed = MethodSignature::parse(image.metadata.blobs.get(blob).ok()?).ok()?;
        if parsed.is_void() && parsed.returns.len() > 1 {
            return Some("an `init` accessor sets a struct that no object can keep");
        }
    }
    let mut types = signature.parameters.iter().map(|p| &p.ty);
    if types.any(is_unknown) || is_unknown(&signature.result) {
        return Some(
            "a struct of another assembly may be a ref struct, which no object can keep: name that assembly with --reference",
        );
    }
    for ty in signature.parameters.iter().map(|p| &p.ty) {
        match ty {
            Ty::ByRef(_) => return Some("no object can keep what is passed by reference"),
            ty if is_ref_struct(ty) => return Some("no object can keep a ref struct"),
            _ => {}
        }
    }
    match &signature.result {
        Ty::ByRef(_) => Some("no delegate for `proceed` returns a reference"),
        Ty::Pointer(_) => Some("no delegate for `proceed` returns a pointer"),
        ty if is_ref_struct(ty) => Some("no delegate for `proceed` returns a ref struct"),
        _ => None,
    }
}

fn read_signature(image: &Image<'_>, method: u32, blob: &[u8]) -> Result<Signature> {
    /// Calling conventions (II.23.2.1).
    const CONVENTION: u8 = 0x0f;
    let parsed = MethodSignature::parse(blob)?;
    if parsed.flags & CONVENTION != 0 {
        return Err(wrong("not the usual calling convention"));
    }
    let has_this = parsed.flags & kind::HAS_THIS != 0;
    let mut types = Types::new(image, method, has_this);
    let this = match has_this {
        true => Some(types.this()?),
        false => None,
    };
    let result = types.ty(&mut Reader::new(parsed.returns), 0)?;
    let mut reader = Reader::new(parsed.parameters);
    let mut parameters = Vec::new();
    for _ in 0..parsed.count {
        parameters.push(Parameter {
            name: None,
            ty: types.ty(&mut reader, 0)?,
            out: false,
        });
    }
    let mut variadic = false;
    for (number, row) in parameter_rows(image, method, parameters.len()) {
        let sequence = row.get(column::param::SEQUENCE) as usize;
        let Some(parameter) = (sequence.checked_sub(1)).and_then(|n| parameters.get_mut(n)) else {
            continue;
        };
        let name = image.metadata.strings.text(row.get(column::param::NAME))?;
        parameter.name = (!name.is_empty()).then(|| name.into());
        let flags = row.get(column::param::FLAGS);
        parameter.out = matches!(parameter.ty, Ty::ByRef(_))
            && flags & (param_flag::IN | param_flag::OUT) == param_flag::OUT;
        if sequence == parameters.len() {
            variadic = has_attribute(
                image,
                token(table::PARAM, number),
                b"System",
                b"ParamArrayAttribute",
            );
        }
    }
    Ok(Signature {
        this,
        parameters: parameters.into(),
        result,
        generics: type_parameters(image, token(table::METHOD_DEF, method)) as u16,
        variadic,
    })
}

/// The rows of a method's parameters and its result, with their numbers; at most one more than parameters.
fn parameter_rows<'t>(
    image: &'t Image<'_>,
    method: u32,
    parameters: usize,
) -> impl Iterator<Item = (u32, Row<'t>)> {
    use column::method_def::PARAM_LIST;
    let tables = &image.metadata.tables;
    let pointers = tables.rows(table::PARAM_PTR);
    let end = 1 + match pointers {
        0 => tables.rows(table::PARAM),
        pointers => pointers,
    };
    let list = |method| {
        tables
            .row(table::METHOD_DEF, method)
            .map(|row| row.get(PARAM_LIST))
    };
    let start = list(method).unwrap_or(end);
    let end = list(method + 1).map_or(end, |next| next.min(end));
    (start..end)
        .take(parameters + 1)
        .filter_map(move |position| {
            let number = match pointers {
                0 => position,
                _ => tables.row(table::PARAM_PTR, position).ok()?.get(0),
            };
            Some((number, tables.row(table::PARAM, number).ok()?))
        })
}

/// How many type parameters a type or a method (a token) has.
fn type_parameters(image: &Image<'_>, owner: u32) -> usize {
    let key = encode(&coded::TYPE_OR_METHOD_DEF, owner).expect("types and methods have some");
    let tables = &image.metadata.tables;
    let rows = tables.with_key(table::GENERIC_PARAM, column::generic_param::OWNER, key);
    // No signature can name more.
    rows.take(MAX_PARTS as usize).count()
}

fn has_attribute(image: &Image<'_>, parent: u32, namespace: &[u8], name: &[u8]) -> bool {
    let mut found = false;
    image.metadata.attributes(parent, &mut |ty| {
        found |= image.metadata.is_type_named(ty, namespace, name);
    });
    found
}

/// Decodes types of one signature.
struct Types<'i, 'a> {
    image: &'i Image<'a>,
    /// The method (a `MethodDef` row), or 0.
    method: u32,
    /// Modifiers of whole parameters and results do not count: they change no value. But who calls a method
    /// names them, and only static methods are called as hooks.
    sees_through: bool,
    parts: u32,
    text: usize,
}

impl<'i, 'a> Types<'i, 'a> {
    fn new(image: &'i Image<'a>, method: u32, sees_through: bool) -> Types<'i, 'a> {
        Types {
            image,
            method,
            sees_through,
            parts: 0,
            text: 0,
        }
    }

    /// The type of `this` in the method.
    fn this(&mut self) -> Result<Ty> {
        let owner = self.image.metadata.owner_of_method(self.method);
        let this = self.own(owner.ok_or_else(|| wrong("a method without a type"))?)?;
        Ok(match this {
            Ty::Named(named) if named.value => Ty::ByRef(Arc::new(Ty::Named(named))),
            this => this,
        })
    }

    /// A `TypeDef` as its own methods see it.
    fn own(&mut self, ty: u32) -> Result<Ty> {
        let token = token(table::TYPE_DEF, ty);
        let parameters = type_parameters(self.image, token) as u16;
        let args = (0..parameters).map(|index| Ty::Param {
            of_method: false,
            index,
        });
        let value = is_value_type(self.image, ty)?;
        self.named(token, value, args.collect())
    }

    fn ty(&mut self, reader: &mut Reader<'_>, depth: u32) -> Result<Ty> {
        let start = *reader;
        match self.known(reader, depth)? {
            Some(ty) => Ok(ty),
            None => {
                *reader = start;
                self.opaque(reader)
            }
        }
    }

    /// What there is no word for, spelt out.
    fn opaque(&mut self, reader: &mut Reader<'_>) -> Result<Ty> {
        let bytes = reader.skip_type()?;
        let mut text = String::new();
        signature::put_type(&self.image.metadata, bytes, &mut text);
        if matches!(bytes, [element::CMOD_REQD | element::CMOD_OPT, ..]) {
            text.push_str(" (modified)");
        }
        self.spend(text.len())?;
        Ok(Ty::Opaque(text.into()))
    }

    fn spend(&mut self, text: usize) -> Result<()> {
        self.text += text;
        match self.text > MAX_TEXT {
            true => Err(wrong("a signature of very long names")),
            false => Ok(()),
        }
    }

    /// A type; none if there is no word for it.
    fn known(&mut self, reader: &mut Reader<'_>, depth: u32) -> Result<Option<Ty>> {
        self.parts += 1;
        if depth > MAX_DEPTH || self.parts > MAX_PARTS {
            return Err(wrong("a type nested too deeply"));
        }
        let element = reader.u8()?;
        Ok(Some(match element {
            element::VOID => Ty::Void,
            element::STRING => core("System.String", false),
            element::OBJECT => core("System.Object", false),
            element::TYPEDBYREF => core("System.TypedReference", true),
            element::BYREF | element::PTR | element::SZARRAY => {
                if element == element::BYREF && self.sees_through {
                    reader.skip_modifiers()?;
                }
                let Some(inner) = self.known(reader, depth + 1)? else {
                    return Ok(None);
                };
                let inner = Arc::new(inner);
                match element {
                    element::BYREF => Ty::ByRef(inner),
                    element::PTR => Ty::Pointer(inner),
                    _ => Ty::Array(inner),
                }
            }
            element::VALUETYPE | element::CLASS => {
                let token = reader.type_token()?;
                self.named(token, element == element::VALUETYPE, Box::default())?
            }
            element::VAR | element::MVAR => {
                let of_method = element == element::MVAR;
                match u16::try_from(reader.number()?) {
                    Ok(index) if !self.may_be_ref_struct(of_method, index) => {
                        Ty::Param { of_method, index }
                    }
                    _ => return Ok(None),
                }
            }
            element::ARRAY => match self.known(reader, depth + 1)? {
                Some(inner) => return self.array(inner, reader),
                None => return Ok(None),
            },
            element::GENERICINST => {
                let value = reader.u8()? == element::VALUETYPE;
                let token = reader.type_token()?;
                let mut args = Vec::new();
                for _ in 0..reader.number()? {
                    match self.known(reader, depth + 1)? {
                        Some(arg) => args.push(arg),
                        None => return Ok(None),
                    }
                }
                self.named(token, value, args.into())?
            }
            element::CMOD_REQD | element::CMOD_OPT if depth == 0 && self.sees_through => {
                reader.number()?;
                reader.skip_modifiers()?;
                return self.known(reader, depth + 1);
            }
            other => match primitive(other) {
                Some(prim) => Ty::Prim(prim),
                None => return Ok(None),
            },
        }))
    }

    /// An array of several dimensions, as languages declare them: of no size, counting from 0.
    fn array(&self, inner: Ty, reader: &mut Reader<'_>) -> Result<Option<Ty>> {
        /// The most that a runtime loads.
        const MOST: u32 = 32;
        let rank = reader.number()?;
        let (sizes, bounds) = (reader.number()?, reader.number()?);
        if rank > MOST || sizes > 0 || bounds != rank && !(self.sees_through && bounds == 0) {
            return Ok(None);
        }
        for _ in 0..bounds {
            if reader.number()? != 0 {
                return Ok(None);
            }
        }
        Ok(Some(Ty::dimensions(rank, inner)))
    }

    /// Whether a type parameter may be a ref struct, which cannot be boxed.
    fn may_be_ref_struct(&self, of_method: bool, index: u16) -> bool {
        use column::generic_param::{FLAGS, NUMBER, OWNER};
        let metadata = &self.image.metadata;
        let owner = match of_method {
            true => token(table::METHOD_DEF, self.method),
            false => match metadata.owner_of_method(self.method) {
                Some(owner) => token(table::TYPE_DEF, owner),
                None => return false,
            },
        };
        let key = encode(&coded::TYPE_OR_METHOD_DEF, owner).expect("they have type parameters");
        let mut rows = metadata.tables.with_key(table::GENERIC_PARAM, OWNER, key);
        rows.any(|(_, row)| {
            row.get(NUMBER) == u32::from(index)
                && row.get(FLAGS) & type_param_flag::ALLOWS_REF_STRUCT != 0
        })
    }

    fn named(&mut self, token: u32, value: bool, args: Box<[Ty]>) -> Result<Ty> {
        let metadata = &self.image.metadata;
        let mut name = String::new();
        match metadata.types().name(token) {
            Some(known) => name.push_str(known),
            None => signature::put_type_name(metadata, 0, token, &mut name),
        }
        let scope = self.scope(token)?;
        self.spend(name.len() + scope.len())?;
        let by_ref_like = value
            && match token_table(token) {
                table::TYPE_DEF => is_by_ref_like(self.image, token_row(token)),
                _ => may_be_by_ref_like(self.image, &name, &scope),
            };
        Ok(Ty::Named(Arc::new(Named {
            name: name.into(),
            scope: scope.into(),
            value,
            by_ref_like,
            args,
        })))
    }

    /// The display name of the assembly that a type (a `TypeDef` or `TypeRef`) is of.
    fn scope(&self, mut token: u32) -> Result<String> {
        use column::type_ref::RESOLUTION_SCOPE;
        for _ in 0..MAX_DEPTH {
            match token_table(token) {
                table::TYPE_REF => {
                    let row = self
                        .image
                        .metadata
                        .tables
                        .row(table::TYPE_REF, token_row(token))?;
                    token = decode(&coded::RESOLUTION_SCOPE, row.get(RESOLUTION_SCOPE))?;
                }
                table::ASSEMBLY_REF => return reference_name(self.image, token_row(token)),
                // The assembly's own, in another module, too.
                _ => return own_name(self.image),
            }
        }
        Err(wrong("a type nested too deeply"))
    }
}

/// A type of the core library that signatures have a byte for.
fn core(name: &str, value: bool) -> Ty {
    Ty::Named(Arc::new(Named {
        name: name.into(),
        scope: "".into(),
        value,
        by_ref_like: value,
        args: Box::default(),
    }))
}

fn primitive(element: u8) -> Option<Prim> {
    const FIRST: u8 = element::BOOLEAN;
    match element {
        element::I => Some(Prim::Isize),
        element::U => Some(Prim::Usize),
        FIRST.. => Prim::WITH_SIZE.get(usize::from(element - FIRST)).copied(),
        _ => None,
    }
}

/// Whether a type (a `TypeDef` row) is a value type.
pub(super) fn is_value_type(image: &Image<'_>, ty: u32) -> Result<bool> {
    let row = image.metadata.tables.row(table::TYPE_DEF, ty)?;
    let base = decode(&coded::TYPE_DEF_OR_REF, row.get(column::type_def::EXTENDS))?;
    let is = |ty, name| image.metadata.is_type_named(ty, b"System", name);
    let this = token(table::TYPE_DEF, ty);
    // The class `Enum` itself derives from `ValueType` (I.8.5.2).
    Ok(is(base, b"Enum") || is(base, b"ValueType") && !is(this, b"Enum"))
}

/// The display name of the assembly itself; empty for a module.
pub(crate) fn own_name(image: &Image<'_>) -> Result<String> {
    use column::assembly::{
        BUILD_NUMBER, CULTURE, MAJOR_VERSION, MINOR_VERSION, NAME, PUBLIC_KEY, REVISION_NUMBER,
    };
    let Ok(row) = image.metadata.tables.row(table::ASSEMBLY, 1) else {
        return Ok(String::new());
    };
    let version = [MAJOR_VERSION, MINOR_VERSION, BUILD_NUMBER, REVISION_NUMBER].map(|c| row.get(c));
    let key = image.metadata.blobs.get(row.get(PUBLIC_KEY))?;
    let token = (!key.is_empty()).then(|| public_key_token(key));
    let token = token.as_ref().map_or(&[][..], |token| token);
    display_name(image, row.get(NAME), version, row.get(CULTURE), token)
}

/// The display name of an assembly that this one refers to (an `AssemblyRef` row).
pub(crate) fn reference_name(image: &Image<'_>, number: u32) -> Result<String> {
    use column::assembly_ref::{
        BUILD_NUMBER, CULTURE, FLAGS, MAJOR_VERSION, MINOR_VERSION, NAME, PUBLIC_KEY_OR_TOKEN,
        REVISION_NUMBER,
    };
    /// The row holds the whole key (II.23.1.2).
    const PUBLIC_KEY: u32 = 1;
    let row = image.metadata.tables.row(table::ASSEMBLY_REF, number)?;
    let version = [MAJOR_VERSION, MINOR_VERSION, BUILD_NUMBER, REVISION_NUMBER].map(|c| row.get(c));
    let key = image.metadata.blobs.get(row.get(PUBLIC_KEY_OR_TOKEN))?;
    let of_key;
    let token = match row.get(FLAGS) & PUBLIC_KEY != 0 && !key.is_empty() {
        true => {
            of_key = public_key_token(key);
            &of_key[..]
        }
        false => key,
    };
    display_name(image, row.get(NAME), version, row.get(CULTURE), token)
}

fn display_name(
    image: &Image<'_>,
    name: u32,
    [a, b, c, d]: [u32; 4],
    culture: u32,
    token: &[u8],
) -> Result<String> {
    let strings = &image.metadata.strings;
    let name = strings.text(name)?;
    let culture = match strings.text(culture)? {
        culture if culture.is_empty() => "neutral".into(),
        culture => culture,
    };
    let mut text = format!("{name}, Version={a}.{b}.{c}.{d}, Culture={culture}, PublicKeyToken=");
    match token {
        [] => text.push_str("null"),
        token => token.iter().for_each(|byte| _ = write!(text, "{byte:02x}")),
    }
    Ok(text)
}
