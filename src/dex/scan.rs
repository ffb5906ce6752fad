//! Shows the methods of a dex file as join points.

use crate::aspect::bind::ty::{Parameter, Signature, Ty};
use crate::aspect::callees::{CallRules, Callees};
use crate::aspect::joinpoint::{
    Access, EachCall, EachName, Field, Kinds, LineStart, Method, MethodDetails, Owner, Shape, Type,
    TypeDetails, Visitor,
};
use crate::aspect::point::{EachPoint, PointKinds};
use crate::aspect::short::{Called, Knows};
use crate::bytes::{Cursor, mutf8, u32_at};
use crate::dex::format::class::{self, Budget, ClassDef, Members, fields_of, flag};
use crate::dex::format::code_item::{self, Code};
use crate::dex::format::debug_lines;
use crate::dex::format::descriptors::Descriptors;
use crate::dex::format::file::{Dex, FieldId, File, MethodId, NO_INDEX, ProtoId};
use crate::dex::format::insn;
use crate::dex::{points, sites};
use crate::error::{Error, Result};
use std::cell::{Cell, OnceCell};

/// Shows all classes and, where the visitor wants them, their methods. Types are numbered in the order of
/// the class definitions (through all dexes of a container), methods in that of the class data: direct
/// ones, then virtual ones.
pub fn scan(dex: &Dex<'_>, visitor: &mut dyn Visitor) -> Result<()> {
    dex.files
        .iter()
        .try_for_each(|file| scan_file(file, visitor))
}

fn scan_file(file: &File<'_>, visitor: &mut dyn Visitor) -> Result<()> {
    let mut budget = Budget::new(file, "class data items");
    let patience = Patience::new(file.bytes.len());
    let called = OnceCell::new();
    let mut descriptors = Descriptors::new(file);
    for row in file.classes {
        let class = Class {
            file,
            def: ClassDef::read(row),
            patience: &patience,
            called: &called,
        };
        let name = file.type_name(class.def.ty)?;
        let wanted = visitor.enter_type(&Type {
            name: &name,
            access: access(class.def.access),
            details: &class,
        });
        patience.check(class.def.interfaces)?;
        if !wanted || class.def.data == 0 {
            continue;
        }
        if visitor.wants_fields() {
            scan_fields(file, class.def.data, visitor)?;
        }
        let mut members = Members::read(file, class.def.data)?;
        let mut index = 0;
        while let Some(method) = members.next()? {
            let MethodId { proto, name, .. } = file.method(method.id)?;
            let name = mutf8(file.string(name)?);
            let descriptor = descriptors.of(proto)?;
            let code =
                units(file, method.code).map_err(|e| e.in_method(file.method_label(method.id)))?;
            let shape = shape(code);
            visitor.method(
                index,
                &Method {
                    name: &name,
                    descriptor,
                    access: access(method.access),
                    kinds: kinds(method.access, &name, descriptor, shape),
                    has_body: method.code != 0,
                    size: code.len() as u32 * 2,
                    trivial: shape.is_trivial(name == "<init>"),
                    details: &Details {
                        class: &class,
                        method,
                        proto,
                    },
                },
            );
            index += 1;
        }
        budget.spend(members.start, members.len())?;
        patience.check(class.def.annotations)?;
    }
    Ok(())
}

/// Shows the fields of objects that a `class_data_item` declares.
fn scan_fields(file: &File<'_>, data: u32, visitor: &mut dyn Visitor) -> Result<()> {
    let mut all = Vec::new();
    fields_of(file, data, |id, flags| {
        if flags & flag::STATIC == 0 {
            all.push((id, flags));
        }
    })?;
    for (id, flags) in all {
        let FieldId { ty, name, .. } = file.field(id)?;
        let name = mutf8(file.string(name)?);
        visitor.field(&Field {
            name: &name,
            access: access(flags),
            ty: &|| {
                let descriptor = mutf8(file.descriptor(ty).ok()?);
                Ty::of_descriptor(&descriptor).map(|(ty, _)| ty)
            },
        });
    }
    Ok(())
}

/// A limit on look-ups of annotations, interfaces and parameters. Hostile files share lists and names, so a small file
/// could cause work without end.
pub(crate) struct Patience(Cell<Option<usize>>);

impl Patience {
    pub(crate) fn new(file: usize) -> Patience {
        const PER_BYTE: usize = 64;
        const LEAST: usize = 64 << 20;
        Patience(Cell::new(Some(file.saturating_mul(PER_BYTE).max(LEAST))))
    }

    /// Whether one more name, of this many bytes, may be looked up.
    fn allows(&self, bytes: usize) -> bool {
        /// What finding a name costs.
        const NAME: usize = 16;
        let left = (self.0.get()).and_then(|left| left.checked_sub(NAME + bytes));
        self.0.set(left);
        left.is_some()
    }

    /// Shows a name, unless the limit is reached.
    fn show(&self, name: &str, each: EachName<'_>) -> bool {
        let allowed = self.allows(name.len());
        if allowed {
            each(name);
        }
        allowed
    }

    /// One more name, of this many bytes, of what lies at an offset; an error if that is too much.
    pub(crate) fn spend(&self, bytes: usize, at: u32) -> Result<()> {
        self.allows(bytes);
        self.check(at)
    }

    fn check(&self, at: u32) -> Result<()> {
        match self.0.get() {
            Some(_) => Ok(()),
            None => Err(Error::malformed(
                at as usize,
                "annotations, interfaces or parameters are shared out of proportion",
            )),
        }
    }
}

/// The code units of the `code_item` at an offset; none where there is no code.
fn units<'a>(file: &File<'a>, at: u32) -> Result<&'a [[u8; 2]]> {
    if at == 0 {
        return Ok(&[]);
    }
    let mut cursor = Cursor::at(file.bytes, at as usize + code_item::INSNS_SIZE);
    let count = cursor.le_u32()? as usize;
    match cursor.take(count.saturating_mul(2)) {
        Ok(bytes) => Ok(bytes.as_chunks().0),
        Err(_) => Err(Error::malformed(
            at as usize,
            format!("{count} code units exceed the file"),
        )),
    }
}

fn access(flags: u32) -> Access {
    let has = |flag| flags & flag != 0;
    Access::of_java(has(flag::PUBLIC), has(flag::PRIVATE), has(flag::PROTECTED))
}

fn kinds(flags: u32, name: &str, descriptor: &str, shape: Shape) -> Kinds {
    let has = |flag| flags & flag != 0;
    let kinds = Kinds::of_java(name, descriptor, has(flag::BRIDGE), has(flag::SYNTHETIC));
    match shape {
        Shape::Accessor => kinds.with(Kinds::ACCESSOR),
        _ => kinds,
    }
}

/// The shape of a short body, by its opcodes alone.
fn shape(code: &[[u8; 2]]) -> Shape {
    /// `return`, `return-wide`, `return-object`.
    const XRETURN: std::ops::RangeInclusive<u8> = 0x0f..=0x11;
    const RETURN_VOID: u8 = 0x0e;
    /// `const/4` to `const-class`: units by opcode.
    const CONST_UNITS: [usize; 11] = [1, 2, 3, 2, 2, 3, 5, 2, 2, 3, 2];
    let op = |i: usize| code.get(i).map_or(0xff, |unit| unit[0]);
    let last = |i: usize| code.len() == i + 1;
    match op(0) {
        RETURN_VOID if last(0) => Shape::Empty,
        op if XRETURN.contains(&op) && last(0) => Shape::Empty,
        // `const*`, then a return of it.
        c @ 0x12..=0x1c => {
            let len = CONST_UNITS[usize::from(c) - 0x12];
            if XRETURN.contains(&op(len)) && last(len) {
                Shape::Empty
            } else {
                Shape::Other
            }
        }
        // `invoke-direct {this}`; in a constructor: the call of another one and nothing else.
        0x70 if code[0][1] == 0x10 && op(3) == RETURN_VOID && last(3) => Shape::Forwards,
        // `iget*`, `sget*`.
        0x52..=0x58 | 0x60..=0x66 if XRETURN.contains(&op(2)) && last(2) => Shape::Accessor,
        // `iput*`, `sput*`.
        0x59..=0x5f | 0x67..=0x6d if op(2) == RETURN_VOID && last(2) => Shape::Accessor,
        _ => Shape::Other,
    }
}

struct Class<'f, 'a> {
    file: &'f File<'a>,
    def: ClassDef,
    patience: &'f Patience,
    /// Asked when calls are.
    called: &'f OnceCell<Callees>,
}

impl Class<'_, '_> {
    /// Shows the names of a set's annotations, without those for the system. Malformed input ends the list.
    fn annotation_set(&self, at: u32, each: EachName<'_>) -> Result<()> {
        const VISIBILITY_SYSTEM: u8 = 2;
        if at == 0 {
            return Ok(());
        }
        let mut set = Cursor::at(self.file.bytes, at as usize);
        for _ in 0..set.le_u32()? {
            let mut item = Cursor::at(self.file.bytes, set.le_u32()? as usize);
            let shown = match item.u8()? {
                VISIBILITY_SYSTEM => self.patience.allows(0),
                _ => self
                    .patience
                    .show(&self.file.type_name(item.uleb32()?)?, each),
            };
            if !shown {
                break;
            }
        }
        Ok(())
    }

    /// The annotation set of a method, or 0.
    fn method_annotations(&self, id: u32) -> Result<u32> {
        if self.def.annotations == 0 {
            return Ok(0);
        }
        let mut directory = Cursor::at(self.file.bytes, self.def.annotations as usize);
        directory.take(4)?;
        let fields = directory.le_u32()? as usize;
        let methods = directory.le_u32()? as usize;
        directory.take(4)?;
        directory.take(fields.saturating_mul(8))?;
        let (rows, _) = directory.take(methods.saturating_mul(8))?.as_chunks::<8>();
        Ok(rows
            .binary_search_by_key(&id, |row| u32_at(row, 0))
            .map_or(0, |i| u32_at(&rows[i], 4)))
    }
}

impl TypeDetails for Class<'_, '_> {
    fn owner(&self) -> Option<Owner> {
        Some(Owner {
            ty: Ty::class(&self.file.type_name(self.def.ty).ok()?),
            is_interface: self.def.access & flag::INTERFACE != 0,
        })
    }

    fn platform(&self) -> Option<String> {
        // The first release of Android that reads a version of the format.
        let api_level = match self.file.version {
            ..=36 => 1,
            37 => 24,
            38 => 26,
            39 => 28,
            40 => 29,
            41.. => 35,
        };
        Some(api_level.to_string())
    }

    fn annotations(&self, each: EachName<'_>) {
        if self.def.annotations != 0 {
            let set = Cursor::at(self.file.bytes, self.def.annotations as usize).le_u32();
            let _ = set.and_then(|set| self.annotation_set(set, each));
        }
    }

    fn supertypes(&self, each: EachName<'_>) {
        if self.def.superclass != NO_INDEX
            && let Ok(name) = self.file.type_name(self.def.superclass)
        {
            self.patience.show(&name, each);
        }
        for row in self.file.type_list(self.def.interfaces).unwrap_or_default() {
            // A name that cannot be read ends the list, too.
            let name = self.file.type_name(u32::from(u16::from_le_bytes(*row)));
            if !name.is_ok_and(|name| self.patience.show(&name, each)) {
                break;
            }
        }
    }
}

impl Class<'_, '_> {
    fn called(&self, rules: &dyn CallRules) -> &Callees {
        let ask = || sites::called(self.file, &|bytes| self.patience.allows(bytes), rules);
        self.called.get_or_init(ask)
    }
}

fn parameter_count(file: &File<'_>, proto: u32) -> Result<usize> {
    Ok(file.type_list(file.proto(proto)?.parameters)?.len())
}

/// Whether a method that code calls is known.
fn is_known(class: &Class<'_, '_>, method: u32, knows: Knows<'_>) -> Result<bool> {
    let file = class.file;
    let MethodId {
        class: owner,
        proto,
        name,
    } = file.method(method)?;
    let (owner, name) = (file.type_name(owner)?, file.string(name)?);
    Ok((class.patience).allows(owner.len() + name.len())
        && knows(&Called {
            ty: &owner,
            method: &mutf8(name),
            parameters: parameter_count(file, proto)?,
        }))
}

impl Details<'_, '_, '_> {
    fn is_constructor(&self) -> bool {
        let file = self.class.file;
        let name = file
            .method(self.method.id)
            .and_then(|m| file.string(m.name));
        name.is_ok_and(|name| name == b"<init>")
    }
}

struct Details<'c, 'f, 'a> {
    class: &'c Class<'f, 'a>,
    method: class::Method,
    proto: u32,
}

impl MethodDetails for Details<'_, '_, '_> {
    fn annotations(&self, each: EachName<'_>) {
        let set = self.class.method_annotations(self.method.id);
        let _ = set.and_then(|set| self.class.annotation_set(set, each));
    }

    fn parameters(&self, each: EachName<'_>) {
        let file = self.class.file;
        let list = file
            .proto(self.proto)
            .and_then(|p| file.type_list(p.parameters));
        for row in list.unwrap_or_default() {
            let descriptor = file.descriptor(u32::from(u16::from_le_bytes(*row)));
            let shown = |descriptor| self.class.show_type(&mutf8(descriptor), each);
            if !descriptor.is_ok_and(shown) {
                break;
            }
        }
    }

    fn returns(&self, each: EachName<'_>) {
        let file = self.class.file;
        let returns = file
            .proto(self.proto)
            .and_then(|p| file.descriptor(p.returns));
        if let Ok(descriptor) = returns {
            self.class.show_type(&mutf8(descriptor), each);
        }
    }

    fn lines(&self) -> Vec<LineStart> {
        let bytes = self.class.file.bytes;
        let code = match self.method.code {
            0 => return Vec::new(),
            at => Code::read(bytes, at as usize),
        };
        code.and_then(|code| debug_lines::lines(bytes, &code))
            .unwrap_or_default()
    }

    fn may_call(&self, rules: &dyn CallRules) -> bool {
        !self.class.called(rules).is_empty()
    }

    fn calls(&self, rules: &dyn CallRules, each: EachCall<'_>) {
        let class = self.class;
        if self.method.code != 0
            && let Ok(code) = Code::read(class.file.bytes, self.method.code as usize)
        {
            let allows = |bytes: usize| class.patience.allows(bytes);
            let show = |descriptor: &str, each: EachName<'_>| class.show_type(descriptor, each);
            let called = class.called(rules);
            // Code that cannot be read ends the list: weaving it reports that.
            let _ = sites::each_call(class.file, called, &code, &allows, &show, each);
        }
    }

    fn parameter_count(&self) -> usize {
        parameter_count(self.class.file, self.proto).unwrap_or_default()
    }

    fn is_bounded(&self, knows: Knows<'_>) -> bool {
        let file = self.class.file;
        let is_known = |method| is_known(self.class, method, knows).unwrap_or_default();
        let code = Code::read(file.bytes, self.method.code as usize);
        self.method.code != 0
            && code.is_ok_and(|code| {
                self.class.patience.allows(code.insns.len())
                    && insn::is_straight_line(code.insns, is_known)
            })
    }

    fn points(&self, kinds: PointKinds, each: EachPoint<'_>) {
        let class = self.class;
        if self.method.code != 0
            && let Ok(code) = Code::read(class.file.bytes, self.method.code as usize)
        {
            let show = |descriptor: &str, each: EachName<'_>| class.show_type(descriptor, each);
            let reader = points::Reader {
                file: class.file,
                class: &class.def,
                is_constructor: self.is_constructor(),
                code,
                show: &show,
            };
            let allows = |bytes: usize| class.patience.allows(bytes);
            // Code that cannot be read ends the list: weaving it reports that.
            let _ = reader.each_point(kinds, &allows, each);
        }
    }

    fn signature(&self) -> Option<Signature> {
        let class = self.class;
        let ProtoId {
            returns,
            parameters: list,
            ..
        } = class.file.proto(self.proto).ok()?;
        let list = class.file.type_list(list).ok()?;
        if list.len() > MAX_PARAMETERS {
            return None;
        }
        let mut names = self.parameter_names(list.len());
        names.resize(list.len(), None);
        let parameters = list.iter().zip(names).map(|(row, name)| {
            Some(Parameter {
                name,
                ty: class.ty(u32::from(u16::from_le_bytes(*row)))?,
                out: false,
            })
        });
        let has = |flag| self.method.access & flag != 0;
        Some(Signature {
            this: match has(flag::STATIC) {
                true => None,
                false => Some(class.ty(class.def.ty)?),
            },
            parameters: parameters.collect::<Option<_>>()?,
            result: class.ty(returns)?,
            generics: 0,
            variadic: has(flag::VARARGS),
        })
    }
}

/// What a method can take: 255 words.
const MAX_PARAMETERS: usize = 255;

impl Details<'_, '_, '_> {
    /// The names of the parameters in the debug info, as far as they are there (`debug_info_item`).
    fn parameter_names(&self, count: usize) -> Vec<Option<Box<str>>> {
        let file = self.class.file;
        let at = self.method.code as usize;
        let mut names = Vec::new();
        let mut read = || -> Result<()> {
            let info = Cursor::at(file.bytes, at + code_item::DEBUG_INFO).le_u32()?;
            if info == 0 {
                return Ok(());
            }
            let mut cursor = Cursor::at(file.bytes, info as usize);
            cursor.uleb32()?;
            let known = cursor.uleb32()? as usize;
            for _ in 0..known.min(count) {
                // An index with one added, or 0 for none.
                names.push(match cursor.uleb32()?.checked_sub(1) {
                    None => None,
                    Some(index) => {
                        let name = mutf8(file.string(index)?);
                        let allowed = self.class.patience.allows(name.len());
                        allowed.then(|| name.as_ref().into())
                    }
                });
            }
            Ok(())
        };
        // Malformed input ends the list.
        if at != 0 {
            let _ = read();
        }
        names
    }
}

impl Class<'_, '_> {
    /// The type of an index; none where it cannot be read.
    fn ty(&self, index: u32) -> Option<Ty> {
        let descriptor = mutf8(self.file.descriptor(index).ok()?);
        let allowed = self.patience.allows(descriptor.len());
        let (ty, rest) = Ty::of_descriptor(&descriptor).filter(|_| allowed)?;
        rest.is_empty().then_some(ty)
    }

    /// Shows a descriptor as rules write types: `int`, `java/util/Map$Entry`, `byte[]`.
    fn show_type(&self, descriptor: &str, each: EachName<'_>) -> bool {
        let element = descriptor.trim_start_matches('[');
        let dimensions = descriptor.len() - element.len();
        let name = match element {
            "V" => "void",
            "Z" => "boolean",
            "B" => "byte",
            "C" => "char",
            "S" => "short",
            "I" => "int",
            "J" => "long",
            "F" => "float",
            "D" => "double",
            _ => element
                .strip_prefix('L')
                .and_then(|e| e.strip_suffix(';'))
                .unwrap_or(element),
        };
        if dimensions == 0 {
            self.patience.show(name, each)
        } else {
            self.patience
                .show(&format!("{name}{}", "[]".repeat(dimensions)), each)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::bind::catalog::{Collect, Collector};
    use crate::aspect::bind::ty::Language;
    use crate::aspect::bind::ty::Prim;
    use crate::aspect::callees::Counting;
    use rustc_hash::FxHashSet;

    #[test]
    fn a_type_shows_its_static_methods_as_hooks() {
        let told = |bytes: &[u8], name: &str| {
            let wanted = FxHashSet::from_iter([name.to_owned()]);
            let no_members = FxHashSet::default();
            let mut collector = Collector::new(Collect {
                types: &wanted,
                declared: false,
                members: &no_members,
                interfaces: false,
                counts: None,
            });
            scan(&Dex::parse(bytes).unwrap(), &mut collector).unwrap();
            let (_, ty) = collector.types.pop().unwrap();
            let mut told = format!(
                "{} interface={}",
                ty.ty.shown(Language::Java),
                ty.is_interface
            );
            for method in ty.methods {
                told += &format!("\n{} {}", method.is_public, method.name);
                for parameter in &method.signature.parameters {
                    let name = parameter.name.as_deref().unwrap_or("_");
                    told += &format!(" {name}: {}", parameter.ty.shown(Language::Java));
                }
                told += &format!(" -> {}", method.signature.result.shown(Language::Java));
            }
            told
        };
        let everything = include_bytes!("../../tests/dex/everything.dex");
        insta::assert_snapshot!(told(everything, "fix/Everything"), @"
        fix.Everything interface=false
        false <clinit> -> void
        true bootstrap _: java.lang.invoke.MethodHandles$Lookup _: String _: java.lang.invoke.MethodType _: java.lang.invoke.MethodType _: int -> java.lang.invoke.CallSite
        true poly _: java.lang.invoke.MethodHandle _: int -> void
        true run _: int -> int
        ");
        let marker = told(everything, "fix/Marker");
        assert!(marker.starts_with("fix.Marker interface=true"), "{marker}");
    }

    #[test]
    fn signatures_have_this_and_the_names_that_debug_info_keeps() {
        #[derive(Default)]
        struct Constructors(Vec<Signature>);
        impl Visitor for Constructors {
            fn enter_type(&mut self, _: &Type<'_>) -> bool {
                true
            }
            fn method(&mut self, _: u32, method: &Method<'_>) {
                if method.name == "<init>" {
                    self.0.extend(method.details.signature());
                }
            }
        }
        let mut found = Constructors::default();
        let everything = include_bytes!("../../tests/dex/everything.dex");
        scan(&Dex::parse(everything).unwrap(), &mut found).unwrap();
        let [constructor] = &found.0[..] else {
            panic!("{:?}", found.0)
        };
        let start = Parameter {
            name: Some("start".into()),
            ty: Ty::Prim(Prim::I64),
            out: false,
        };
        assert_eq!(constructor.this, Some(Ty::class("fix/Everything")));
        assert_eq!(*constructor.parameters, [start]);
        assert_eq!(constructor.result, Ty::Void);
        assert!(!constructor.variadic);
    }

    /// The calls that methods make, as far as rules may mean them.
    struct Calls(Counting, Vec<String>);

    impl Visitor for Calls {
        fn enter_type(&mut self, _: &Type<'_>) -> bool {
            true
        }
        fn method(&mut self, _: u32, method: &Method<'_>) {
            method.details.calls(&self.0, &mut |call| {
                let seen = format!("{} {}.{}", method.name, call.ty, call.method);
                self.1.push(seen);
            });
        }
    }

    #[test]
    fn rules_about_calls_are_asked_once_for_each_method_that_is_named() {
        let everything = include_bytes!("../../tests/dex/everything.dex");
        let dex = Dex::parse(everything).unwrap();
        let mut calls = Calls(Counting::of("length"), vec![]);
        scan(&dex, &mut calls).unwrap();
        assert_eq!(calls.1, ["run java/lang/String.length"]);
        assert!(calls.0.names.get() <= dex.files[0].methods.len());
        assert_eq!(calls.0.methods.get(), 1);
    }
}
