//! Shows the types of an assembly and their methods as join points.

use crate::aspect::bind::ty::{Signature, Ty};
use crate::aspect::callees::CallRules;
use crate::aspect::joinpoint::{
    Access, EachCall, EachName, Field, Kinds, LineStart, Method, MethodDetails, Owner, Shape, Type,
    TypeDetails, Visitor,
};
use crate::aspect::point::{EachPoint, PointKinds};
use crate::aspect::short::Knows;
use crate::cil::il::insn::{self, op};
use crate::cil::image::Image;
use crate::cil::machines::Machines;
use crate::cil::metadata::flags::{has_il, impl_flag, method_flag};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature;
use crate::cil::metadata::tables::{Row, decode, token, token_row, token_table};
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::OnceLock;

/// Namespace of the attributes that compilers put on what they make.
const COMPILER_SERVICES: &[u8] = b"System.Runtime.CompilerServices";

/// Shows all types, in order of the `TypeDef` table, and the methods of those that the visitor wants.
pub fn scan(image: &Image<'_>, visitor: &mut dyn Visitor) -> Result<()> {
    let survey = Survey::read(image);
    survey.scan(0..survey.types(), visitor)
}

/// Debugging information.
pub trait Lines: Sync {
    /// Where the source lines of a method (a `MethodDef` row) begin, ascending.
    fn lines(&self, method: u32) -> Vec<LineStart>;
}

/// Facts of a whole image that the scan of each type needs.
pub struct Survey<'i, 'a> {
    image: &'i Image<'a>,
    marks: Marks,
    has_bodies: bool,
    lines: Option<&'i dyn Lines>,
    /// Read when points are asked for.
    machines: OnceLock<Machines>,
    /// Asked when calls are.
    called: OnceLock<sites::Called>,
}

impl<'i, 'a> Survey<'i, 'a> {
    pub fn read(image: &'i Image<'a>) -> Survey<'i, 'a> {
        // Read their names once, before threads ask for them.
        image.metadata.types();
        Survey {
            image,
            marks: Marks::read(image),
            // A reference assembly's bodies never run.
            has_bodies: !image.is_reference_assembly(),
            lines: None,
            machines: OnceLock::new(),
            called: OnceLock::new(),
        }
    }

    /// The same, of an image with debugging information.
    #[must_use]
    pub fn with_lines(self, lines: Option<&'i dyn Lines>) -> Survey<'i, 'a> {
        Survey { lines, ..self }
    }

    pub fn types(&self) -> u32 {
        self.image.metadata.tables.rows(table::TYPE_DEF)
    }

    pub fn methods(&self) -> u32 {
        self.image.metadata.tables.rows(table::METHOD_DEF)
    }

    /// All types in parts with about so many methods, each a range of types for [`Survey::scan`].
    pub fn parts(&self, methods: u32) -> Vec<Range<u32>> {
        let mut parts: Vec<Range<u32>> = Vec::new();
        let mut first = 1;
        for (ty, row) in (0..).zip(self.image.metadata.tables.iter(table::TYPE_DEF)) {
            let begins = row.get(column::type_def::METHOD_LIST);
            match parts.last_mut() {
                // Types without methods take time, too.
                Some(part) if begins - first + (ty - part.start) < methods => part.end = ty + 1,
                _ => {
                    parts.push(ty..ty + 1);
                    first = begins;
                }
            }
        }
        parts
    }

    /// Shows some types, in order, counted from 0, and the methods of those that the visitor wants.
    pub fn scan(&self, range: Range<u32>, visitor: &mut dyn Visitor) -> Result<()> {
        let Survey {
            image,
            marks,
            has_bodies,
            lines,
            machines,
            called,
        } = self;
        let types = image.metadata.types();
        let (describes, names) = (visitor.wants_descriptors(), visitor.wants_names());
        let tables = &image.metadata.tables;
        let strings = &image.metadata.strings;
        let (mut type_name, mut descriptor) = (String::new(), String::new());
        for ty in range.start + 1..range.end + 1 {
            let in_metadata = |e: Error| e.offset_by(image.metadata_offset);
            let row = tables.row(table::TYPE_DEF, ty).map_err(in_metadata)?;
            types
                .put_name(&image.metadata, ty, &mut type_name)
                .map_err(in_metadata)?;
            let flags = row.get(column::type_def::FLAGS);
            let wanted = visitor.enter_type(&Type {
                name: &type_name,
                access: type_access(flags),
                details: &TypeView { image, ty },
            });
            if !wanted {
                continue;
            }
            let made_by_compiler = types
                .chain(ty)
                .any(|ty| marks.of_type(ty) & Marks::COMPILER_GENERATED != 0);
            if visitor.wants_fields() {
                scan_fields(image, ty, visitor)?;
            }
            for (index, position) in image.metadata.method_positions(ty)?.enumerate() {
                let number = image.metadata.method_at(position)?;
                let row = tables.row(table::METHOD_DEF, number).map_err(in_metadata)?;
                let name = row.get(column::method_def::NAME);
                let name = match names || may_tell_kind(strings.first(name)) {
                    true => strings.text(name).map_err(in_metadata)?,
                    false => "".into(),
                };
                let signature = row.get(column::method_def::SIGNATURE);
                descriptor.clear();
                if describes {
                    signature::put_descriptor(&image.metadata, number, signature, &mut descriptor);
                }
                let has_body = *has_bodies && has_il(&row);
                let code = match has_body {
                    // The weave reports a body that cannot be read.
                    true => image
                        .body(row.get(column::method_def::RVA))
                        .map_or(&[][..], |(_, body)| body.code),
                    false => &[],
                };
                let flags = row.get(column::method_def::IMPL_FLAGS);
                let by_runtime = flags & impl_flag::ASYNC != 0;
                // What the runtime suspends returns a task, which its code does not show.
                let shape = match by_runtime {
                    true => Shape::Other,
                    false => shape(code),
                };
                let mut marks = marks.of_method(number);
                if by_runtime {
                    marks |= Marks::STATE_MACHINE;
                }
                visitor.method(
                    index as u32,
                    &Method {
                        name: &name,
                        descriptor: &descriptor,
                        access: method_access(row.get(column::method_def::FLAGS)),
                        kinds: kinds(&name, marks, made_by_compiler, shape),
                        has_body,
                        size: code.len() as u32,
                        trivial: shape
                            .is_trivial(name == ".ctor" && calls_constructor(image, code)),
                        details: &MethodView {
                            image,
                            lines: *lines,
                            machines,
                            called,
                            number,
                            signature,
                        },
                    },
                );
            }
        }
        Ok(())
    }
}

/// Shows the fields of objects of a type.
fn scan_fields(image: &Image<'_>, ty: u32, visitor: &mut dyn Visitor) -> Result<()> {
    /// II.23.1.5.
    const STATIC: u32 = 0x10;
    for number in image.metadata.fields_of(ty) {
        let row = image.metadata.tables.row(table::FIELD, number)?;
        let flags = row.get(column::field::FLAGS);
        if flags & STATIC != 0 {
            continue;
        }
        let name = (image.metadata.strings).text(row.get(column::field::NAME))?;
        visitor.field(&Field {
            name: &name,
            access: method_access(flags),
            ty: &|| types::own_field(image, ty, row.get(column::field::SIGNATURE)),
        });
    }
    Ok(())
}

/// Visibility of a type (II.23.1.15).
fn type_access(flags: u32) -> Access {
    match flags & 7 {
        1 | 2 => Access::Public,
        3 => Access::Private,
        4 | 7 => Access::Protected,
        _ => Access::Package,
    }
}

/// Visibility of a method (II.23.1.10) or a field (II.23.1.5).
fn method_access(flags: u32) -> Access {
    match flags & method_flag::ACCESS {
        6 => Access::Public,
        4 | 5 => Access::Protected,
        2 | 3 => Access::Package,
        _ => Access::Private,
    }
}

/// Whether [`kinds`] may look at a name that begins so.
fn may_tell_kind(first: Option<u8>) -> bool {
    matches!(first, Some(b'<' | b'.' | b'_'))
}

fn kinds(name: &str, marks: u8, in_compilers_type: bool, shape: Shape) -> Kinds {
    let by_compiler = in_compilers_type || marks & Marks::COMPILER_GENERATED != 0;
    // Roslyn's names (GeneratedNames): `<M>b__0_1` is a lambda in M, `<M>g__Local|0_1` a local function of
    // it, which its author wrote as a method. VB names lambdas `_Lambda$__1`.
    let made_up = name.strip_prefix('<').unwrap_or_default();
    let part = made_up.rsplit_once('>').map_or("", |(_, part)| part);
    let mut kinds = if part.starts_with("b__") || name.starts_with("_Lambda$__") {
        Kinds::LAMBDA
    } else if part.starts_with("g__") || name == "<Main>$" {
        Kinds::METHOD
    } else if by_compiler && (shape != Shape::Accessor || in_compilers_type) || name == "<Main>" {
        Kinds::SYNTHETIC
    } else {
        match name {
            ".ctor" => Kinds::CONSTRUCTOR,
            ".cctor" => Kinds::STATIC_INIT,
            _ => Kinds::METHOD,
        }
    };
    if shape == Shape::Accessor {
        kinds = kinds.with(Kinds::ACCESSOR);
    }
    if marks & Marks::STATE_MACHINE != 0 {
        kinds = kinds.with(Kinds::ASYNC);
    }
    kinds
}

/// The shape of a short body, by its opcodes alone.
fn shape(code: &[u8]) -> Shape {
    const NOP: u8 = 0x00;
    const CALL: u8 = 0x28;
    const RET: u8 = 0x2a;
    const LDFLD: u8 = 0x7b;
    const STFLD: u8 = 0x7d;
    const LDSFLD: u8 = 0x7e;
    const STSFLD: u8 = 0x80;
    // Debug builds begin with a nop.
    match *code.strip_prefix(&[NOP]).unwrap_or(code) {
        [] => Shape::Other,
        [RET] => Shape::Empty,
        // In a constructor: the call of another one and nothing else. Debug builds put nops behind it.
        [2, CALL, _, _, _, _, ref rest @ .., RET] if rest.iter().all(|&b| b == NOP) => {
            Shape::Forwards
        }
        // ldarg.0 to ldarg.3, ldnull, ldc.i4.m1 to ldc.i4.8.
        [2..=5 | 0x14..=0x1e, RET] => Shape::Empty,
        // ldarg.s, ldc.i4.s; ldc.i4, ldc.r4, ldstr; ldc.i8, ldc.r8.
        [0x0e | 0x1f, _, RET] => Shape::Empty,
        [0x20 | 0x22 | 0x72, _, _, _, _, RET] => Shape::Empty,
        [0x21 | 0x23, _, _, _, _, _, _, _, _, RET] => Shape::Empty,
        [LDSFLD, _, _, _, _, RET] => Shape::Accessor,
        [2, LDFLD, _, _, _, _, RET] => Shape::Accessor,
        [2 | 3, STSFLD, _, _, _, _, RET] => Shape::Accessor,
        [2, 3, STFLD, _, _, _, _, RET] => Shape::Accessor,
        // The result by way of a local, and a branch to the next instruction, as debug builds do.
        [2, LDFLD, _, _, _, _, 0x0a, 0x2b, 0, 6, RET] => Shape::Accessor,
        [LDSFLD, _, _, _, _, 0x0a, 0x2b, 0, 6, RET] => Shape::Accessor,
        _ => Shape::Other,
    }
}

/// Whether a forwarding body calls a constructor. A value type's constructor may call another method.
fn calls_constructor(image: &Image<'_>, code: &[u8]) -> bool {
    let call = code.iter().position(|&byte| byte == op::CALL as u8);
    let Some(token) = call.and_then(|at| code[at + 1..].first_chunk()) else {
        return false;
    };
    let token = u32::from_le_bytes(*token);
    let column = match token_table(token) {
        table::METHOD_DEF => column::method_def::NAME,
        table::MEMBER_REF => column::member_ref::NAME,
        _ => return false,
    };
    let row = image
        .metadata
        .tables
        .row(token_table(token), token_row(token));
    row.is_ok_and(|row| image.metadata.strings.is(row.get(column), b".ctor"))
}

/// Attributes of types and methods that decide their kinds, from one walk over all custom attributes.
struct Marks {
    methods: Vec<u8>,
    types: Vec<u8>,
}

impl Marks {
    const COMPILER_GENERATED: u8 = 1;
    const STATE_MACHINE: u8 = 2;

    fn read(image: &Image<'_>) -> Marks {
        use column::custom_attribute::{PARENT, TYPE};
        let tables = &image.metadata.tables;
        let bytes = |table| vec![0; tables.rows(table) as usize + 1];
        let mut marks = Marks {
            methods: bytes(table::METHOD_DEF),
            types: bytes(table::TYPE_DEF),
        };
        // A few constructors make most attributes, often several in a row.
        let mut last = (0, 0);
        let mut known = vec![UNKNOWN; tables.rows(table::MEMBER_REF) as usize + 1];
        for row in tables.iter(table::CUSTOM_ATTRIBUTE) {
            let constructor = row.get(TYPE);
            if constructor != last.0 {
                let slot = match constructor & 7 {
                    3 => known.get_mut((constructor >> 3) as usize),
                    _ => None,
                };
                let mark = match slot {
                    Some(slot) if *slot != UNKNOWN => *slot,
                    slot => {
                        let mark = image
                            .metadata
                            .attribute_type(constructor)
                            .map_or(0, |ty| mark_of(image, ty));
                        if let Some(slot) = slot {
                            *slot = mark;
                        }
                        mark
                    }
                };
                last = (constructor, mark);
            }
            if last.1 != 0 {
                let parent = row.get(PARENT);
                let marked = match parent & 31 {
                    0 => marks.methods.get_mut((parent >> 5) as usize),
                    3 => marks.types.get_mut((parent >> 5) as usize),
                    _ => None,
                };
                if let Some(marked) = marked {
                    *marked |= last.1;
                }
            }
        }
        marks
    }

    fn of_method(&self, method: u32) -> u8 {
        self.methods[method as usize]
    }

    fn of_type(&self, ty: u32) -> u8 {
        self.types[ty as usize]
    }
}

/// No mark yet.
const UNKNOWN: u8 = 0xff;

fn mark_of(image: &Image<'_>, ty: u32) -> u8 {
    let is = |name| image.metadata.is_type_named(ty, COMPILER_SERVICES, name);
    if is(b"CompilerGeneratedAttribute") {
        Marks::COMPILER_GENERATED
    } else if is(b"AsyncStateMachineAttribute")
        || is(b"IteratorStateMachineAttribute")
        || is(b"AsyncIteratorStateMachineAttribute")
    {
        Marks::STATE_MACHINE
    } else {
        0
    }
}

struct TypeView<'i, 'a> {
    image: &'i Image<'a>,
    ty: u32,
}

impl TypeView<'_, '_> {
    /// Tokens of the base type and of the interfaces that the type itself names.
    fn above(&self) -> impl Iterator<Item = u32> {
        use column::interface_impl::{CLASS, INTERFACE};
        let tables = &self.image.metadata.tables;
        let base = tables
            .row(table::TYPE_DEF, self.ty)
            .map_or(0, |row| row.get(column::type_def::EXTENDS));
        let interfaces = tables
            .with_key(table::INTERFACE_IMPL, CLASS, self.ty)
            .map(|(_, row)| row.get(INTERFACE));
        std::iter::once(base)
            .chain(interfaces)
            .filter_map(|ty| decode(&coded::TYPE_DEF_OR_REF, ty).ok())
            .filter(|ty| *ty != 0)
    }
}

impl TypeDetails for TypeView<'_, '_> {
    fn owner(&self) -> Option<Owner> {
        Some(Owner {
            ty: types::owner(self.image, self.ty)?,
            is_interface: false,
        })
    }

    fn member_owner(&self) -> Option<Owner> {
        // The method that asks has type parameters without constraints.
        if !types::takes_any_type(self.image, token(table::TYPE_DEF, self.ty)) {
            return None;
        }
        Some(Owner {
            ty: types::definition(self.image, self.ty)?,
            is_interface: false,
        })
    }

    fn generic_supertypes(&self) -> Vec<Ty> {
        let above = self
            .above()
            .filter(|ty| token_table(*ty) == table::TYPE_SPEC);
        above
            .filter_map(|ty| Some(types::accessed(self.image, 0, ty).ok()?.ty))
            .collect()
    }

    fn annotations(&self, each: EachName<'_>) {
        annotations(self.image, token(table::TYPE_DEF, self.ty), each);
    }

    fn platform(&self) -> Option<String> {
        self.image.target_framework()
    }

    fn is_hidden(&self) -> bool {
        let row = self.image.metadata.tables.row(table::TYPE_DEF, self.ty);
        // Nested family, family and assembly, family or assembly (II.23.1.15).
        row.is_ok_and(|row| matches!(row.get(column::type_def::FLAGS) & 7, 4 | 6 | 7))
    }

    fn ref_struct(&self) -> Option<bool> {
        let is_value = types::is_value_type(self.image, self.ty).ok()?;
        is_value.then(|| types::is_by_ref_like(self.image, self.ty))
    }

    fn supertypes(&self, each: EachName<'_>) {
        let owner = token(table::TYPE_DEF, self.ty);
        let mut name = String::new();
        for ty in self.above() {
            // For an instantiated type also its definition, which names its supertypes.
            let definition = signature::definition(&self.image.metadata, ty).filter(|d| *d != ty);
            for ty in std::iter::once(ty).chain(definition) {
                name.clear();
                signature::put_type_name(&self.image.metadata, owner, ty, &mut name);
                each(&name);
            }
        }
    }
}

struct MethodView<'i, 'a> {
    image: &'i Image<'a>,
    lines: Option<&'i dyn Lines>,
    machines: &'i OnceLock<Machines>,
    called: &'i OnceLock<sites::Called>,
    number: u32,
    signature: u32,
}

impl MethodView<'_, '_> {
    fn machines(&self) -> &Machines {
        let read = || Machines::read(self.image);
        self.machines.get_or_init(read)
    }

    fn called(&self, rules: &dyn CallRules) -> &sites::Called {
        let ask = || sites::Called::ask(self.image, rules);
        self.called.get_or_init(ask)
    }
}

impl MethodDetails for MethodView<'_, '_> {
    fn annotations(&self, each: EachName<'_>) {
        annotations(self.image, token(table::METHOD_DEF, self.number), each);
    }

    fn parameters(&self, each: EachName<'_>) {
        signature::parameters(&self.image.metadata, self.number, self.signature, each);
    }

    fn returns(&self, each: EachName<'_>) {
        signature::returns(&self.image.metadata, self.number, self.signature, each);
    }

    fn signature(&self) -> Option<Signature> {
        types::signature(self.image, self.number, self.signature)
    }

    fn points(&self, kinds: PointKinds, each: EachPoint<'_>) {
        let (image, machines) = (self.image, self.machines());
        let _ = points::each_point(image, machines, self.lines, self.number, kinds, each);
    }

    fn parameter_count(&self) -> usize {
        sites::parameter_count(self.image, self.signature).unwrap_or_default()
    }

    fn is_bounded(&self, knows: Knows<'_>) -> bool {
        let is_known = |token| sites::is_known(self.image, token, knows).unwrap_or_default();
        let is_bounded = |row: Row<'_>| {
            let is_locked = row.get(column::method_def::IMPL_FLAGS) & impl_flag::SYNCHRONIZED != 0;
            let body = self.image.body(row.get(column::method_def::RVA));
            !is_locked && body.is_ok_and(|(_, body)| insn::is_straight_line(body.code, is_known))
        };
        let tables = &self.image.metadata.tables;
        tables
            .row(table::METHOD_DEF, self.number)
            .is_ok_and(is_bounded)
    }

    fn has_lines(&self) -> bool {
        self.lines.is_some()
    }

    fn lacks_this(&self) -> Option<&'static str> {
        let machine = self.machines().of(self.number).filter(|m| m.ty != 0)?;
        match machine::field_of_this(self.image, machine.ty) {
            Some(_) => None,
            None => Some("the state machine of this method does not keep `this`"),
        }
    }

    fn lines(&self) -> Vec<LineStart> {
        self.lines
            .map_or(Vec::new(), |lines| lines.lines(self.number))
    }

    fn may_call(&self, rules: &dyn CallRules) -> bool {
        sites::may_call(self.image, self.called(rules), self.number)
    }

    fn calls(&self, rules: &dyn CallRules, each: EachCall<'_>) {
        // A body that cannot be read stays as it is.
        let _ = sites::each_call(self.image, self.called(rules), self.number, each);
    }

    fn keeps_body(&self) -> Option<&'static str> {
        types::keeps_body(self.image, self.number, self.signature)
    }

    fn is_callable(&self) -> bool {
        types::is_callable(self.image, self.number, self.signature)
    }
}

/// The attributes of a token, each by its class's name and as C# writes it in brackets.
fn annotations(image: &Image<'_>, parent: u32, each: EachName<'_>) {
    let mut name = String::new();
    image.metadata.attributes(parent, &mut |ty| {
        name.clear();
        signature::put_type_name(&image.metadata, 0, ty, &mut name);
        each(&name);
        if let Some(short) = name.strip_suffix("Attribute") {
            each(short);
        }
    });
}

mod below;
pub mod calls;
pub(crate) mod machine;
mod points;
pub(crate) mod sites;
#[cfg(test)]
mod tests;
pub(crate) mod types;
