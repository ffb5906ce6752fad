//! What a register can hold, and how what comes from several paths is merged, after ART's
//! `RegType`.
//!
//! What other files define is not known here: wherever a class from outside decides, the answer is
//! the lenient one, as it is for ART's unresolved types.

use crate::bytes::mutf8;
use crate::dex::format::class::{ClassDef, flag};
use crate::dex::format::file::{File, NO_INDEX};
use crate::error::Result;
use rustc_hash::FxHashMap;

/// What a register holds: a tag in the upper four bits, and what belongs to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Type(pub u32);

const TAG: u32 = 28;
const PAYLOAD: u32 = (1 << TAG) - 1;

/// Fits of integral values.
const BOOLEAN: u32 = 1;
const BYTE: u32 = 2;
const SHORT: u32 = 4;
const CHAR: u32 = 8;
/// Every way to get here loads a constant, so that it can be a float, too.
const CONSTANT: u32 = 16;
/// The constant is 0, so that it can be `null`, too.
const ZERO: u32 = 32;

impl Type {
    /// Nothing was stored here.
    pub const UNDEFINED: Type = Type(0);
    /// What was stored depends on the path, in ways that do not fit.
    pub const CONFLICT: Type = Type(1 << TAG);
    const INTEGRAL: u32 = 2;
    pub const FLOAT: Type = Type(3 << TAG);
    pub const LONG: Type = Type(4 << TAG);
    pub const DOUBLE: Type = Type(5 << TAG);
    /// A pair that a constant was loaded into.
    pub const WIDE: Type = Type(6 << TAG);
    /// The upper halves, behind the registers that hold `LONG`, `DOUBLE` and `WIDE`.
    pub const LONG_HIGH: Type = Type(7 << TAG);
    pub const DOUBLE_HIGH: Type = Type(8 << TAG);
    pub const WIDE_HIGH: Type = Type(9 << TAG);
    const REFERENCE: u32 = 10;
    /// Some reference that is not known any closer.
    pub const SOME_REFERENCE: Type = Type(11 << TAG);
    /// What `new-instance` made; the payload is its pc.
    const NEW: u32 = 12;
    pub const UNINITIALIZED_THIS: Type = Type(13 << TAG);

    pub const INT: Type = Type::integral(0);
    pub const BOOLEAN: Type = Type::integral(BOOLEAN | BYTE | SHORT | CHAR);
    pub const BYTE: Type = Type::integral(BYTE | SHORT);
    pub const SHORT: Type = Type::integral(SHORT);
    pub const CHAR: Type = Type::integral(CHAR);
    /// `null`, 0 or 0.0.
    pub const NULL: Type = Type::integral(BOOLEAN | BYTE | SHORT | CHAR | CONSTANT | ZERO);

    const fn integral(fits: u32) -> Type {
        Type(Type::INTEGRAL << TAG | fits)
    }

    /// What a constant is.
    pub fn constant(value: i32) -> Type {
        let fit = |range: std::ops::RangeInclusive<i32>, bit| match range.contains(&value) {
            true => bit,
            false => 0,
        };
        Type::integral(
            CONSTANT
                | fit(0..=0, ZERO)
                | fit(0..=1, BOOLEAN)
                | fit(-0x80..=0x7f, BYTE)
                | fit(-0x8000..=0x7fff, SHORT)
                | fit(0..=0xffff, CHAR),
        )
    }

    /// A reference to a type of the [`Universe`].
    pub const fn reference(ty: u32) -> Type {
        Type(Type::REFERENCE << TAG | ty)
    }

    /// What the `new-instance` at a pc made.
    pub const fn new_instance(pc: u32) -> Type {
        Type(Type::NEW << TAG | (pc & PAYLOAD))
    }

    const fn tag(self) -> u32 {
        self.0 >> TAG
    }

    const fn payload(self) -> u32 {
        self.0 & PAYLOAD
    }

    /// The type that it refers to, if that is known.
    pub fn referent(self) -> Option<u32> {
        (self.tag() == Type::REFERENCE).then(|| self.payload())
    }

    /// The pc of the `new-instance` that made it.
    pub fn made_at(self) -> Option<u32> {
        (self.tag() == Type::NEW).then(|| self.payload())
    }

    pub fn is_null(self) -> bool {
        self.is_integral() && self.0 & ZERO != 0
    }

    pub fn is_integral(self) -> bool {
        self.tag() == Type::INTEGRAL
    }

    pub fn is_float(self) -> bool {
        self == Type::FLOAT || self.is_integral() && self.0 & CONSTANT != 0
    }

    pub fn is_boolean(self) -> bool {
        self.is_integral() && self.0 & BOOLEAN != 0
    }

    pub fn is_uninitialized(self) -> bool {
        self.tag() == Type::NEW || self == Type::UNINITIALIZED_THIS
    }

    /// A reference to an initialised object, or `null`.
    pub fn is_reference(self) -> bool {
        matches!(self.tag(), Type::REFERENCE | 11) || self.is_null()
    }

    /// The upper half that belongs to a lower one.
    pub fn high(self) -> Option<Type> {
        matches!(self, Type::LONG | Type::DOUBLE | Type::WIDE).then(|| Type(self.0 + (3 << TAG)))
    }

    fn is_high(self) -> bool {
        matches!(self, Type::LONG_HIGH | Type::DOUBLE_HIGH | Type::WIDE_HIGH)
    }

    /// Whether this primitive may be stored where a descriptor's letter is wanted. An int is
    /// stored where `letter` is smaller only if it fits.
    pub fn fits(self, letter: u8) -> bool {
        let fit = |bit| self.is_integral() && self.0 & bit != 0;
        match letter {
            b'Z' => fit(BOOLEAN),
            b'B' => fit(BYTE),
            b'S' => fit(SHORT),
            b'C' => fit(CHAR),
            b'I' => self.is_integral(),
            b'F' => self.is_float(),
            b'J' => matches!(self, Type::LONG | Type::WIDE),
            b'D' => matches!(self, Type::DOUBLE | Type::WIDE),
            _ => false,
        }
    }

    /// What a descriptor's letter stands for, references aside.
    pub fn of_letter(letter: u8) -> Type {
        match letter {
            b'Z' => Type::BOOLEAN,
            b'B' => Type::BYTE,
            b'S' => Type::SHORT,
            b'C' => Type::CHAR,
            b'I' => Type::INT,
            b'F' => Type::FLOAT,
            b'J' => Type::LONG,
            b'D' => Type::DOUBLE,
            _ => Type::CONFLICT,
        }
    }

    /// For messages.
    pub fn name(self, universe: &Universe<'_>) -> String {
        match self {
            Type::UNDEFINED => "nothing".into(),
            Type::CONFLICT => "different things on different paths".into(),
            Type::FLOAT => "a float".into(),
            Type::LONG => "a long".into(),
            Type::DOUBLE => "a double".into(),
            Type::WIDE => "a wide constant".into(),
            Type::SOME_REFERENCE => "a reference".into(),
            Type::UNINITIALIZED_THIS => "an uninitialised this".into(),
            Type::NULL => "0".into(),
            t if t.is_high() => "the upper half of a pair".into(),
            t if t.tag() == Type::NEW => "an uninitialised object".into(),
            t if t.tag() == Type::REFERENCE => universe.name(t.payload()),
            t if t.0 & CONSTANT != 0 => "a constant".into(),
            Type::BOOLEAN => "a boolean".into(),
            Type::BYTE => "a byte".into(),
            Type::SHORT => "a short".into(),
            Type::CHAR => "a char".into(),
            _ => "an int".into(),
        }
    }
}

/// What is known of a type.
#[derive(Clone, Copy)]
struct Known {
    /// First letter of the descriptor.
    letter: u8,
    /// The type of an array's elements, or `NO_INDEX`.
    component: u32,
    superclass: u32,
    /// A class or an interface of this file, or one of [`PLATFORM`].
    defined: bool,
    interface: bool,
    /// It is no interface, wherever it is defined.
    class: bool,
    /// Offset of its list of interfaces, or 0.
    interfaces: u32,
    /// What it implements is not known.
    open: bool,
    /// It is one of `java.*`, which never extends what an app defines.
    platform: bool,
    /// Arrays implement it.
    of_arrays: bool,
}

/// Classes of the platform with their superclasses, each behind its own.
const PLATFORM: [(&[u8], &[u8]); 29] = [
    (b"Ljava/lang/Throwable;", OBJECT),
    (b"Ljava/lang/Error;", b"Ljava/lang/Throwable;"),
    (b"Ljava/lang/Exception;", b"Ljava/lang/Throwable;"),
    (b"Ljava/lang/RuntimeException;", b"Ljava/lang/Exception;"),
    (
        b"Ljava/lang/InterruptedException;",
        b"Ljava/lang/Exception;",
    ),
    (
        b"Ljava/lang/ReflectiveOperationException;",
        b"Ljava/lang/Exception;",
    ),
    (b"Ljava/io/IOException;", b"Ljava/lang/Exception;"),
    (b"Ljava/lang/ArithmeticException;", RUNTIME),
    (b"Ljava/lang/ClassCastException;", RUNTIME),
    (b"Ljava/lang/IllegalArgumentException;", RUNTIME),
    (b"Ljava/lang/IllegalStateException;", RUNTIME),
    (b"Ljava/lang/IndexOutOfBoundsException;", RUNTIME),
    (b"Ljava/lang/NullPointerException;", RUNTIME),
    (b"Ljava/lang/SecurityException;", RUNTIME),
    (b"Ljava/lang/UnsupportedOperationException;", RUNTIME),
    (b"Ljava/lang/Boolean;", OBJECT),
    (b"Ljava/lang/Character;", OBJECT),
    (b"Ljava/lang/Class;", OBJECT),
    (b"Ljava/lang/Enum;", OBJECT),
    (b"Ljava/lang/Number;", OBJECT),
    (b"Ljava/lang/Byte;", b"Ljava/lang/Number;"),
    (b"Ljava/lang/Double;", b"Ljava/lang/Number;"),
    (b"Ljava/lang/Float;", b"Ljava/lang/Number;"),
    (b"Ljava/lang/Integer;", b"Ljava/lang/Number;"),
    (b"Ljava/lang/Long;", b"Ljava/lang/Number;"),
    (b"Ljava/lang/String;", OBJECT),
    (b"Ljava/lang/Thread;", OBJECT),
    (b"Ljava/lang/invoke/MethodHandle;", OBJECT),
    (b"Ljava/lang/invoke/MethodType;", OBJECT),
];
const OBJECT: &[u8] = b"Ljava/lang/Object;";
const RUNTIME: &[u8] = b"Ljava/lang/RuntimeException;";

/// All types that some code can mean: those of the file, by their index, and some more.
pub(super) struct Universe<'a> {
    file: &'a File<'a>,
    known: Vec<Known>,
    by_descriptor: FxHashMap<&'a [u8], u32>,
    arrays: FxHashMap<u32, u32>,
    pub object: u32,
    pub throwable: u32,
    pub string: u32,
    pub class: u32,
    pub method_handle: u32,
    pub method_type: u32,
}

impl<'a> Universe<'a> {
    pub fn new(file: &'a File<'a>) -> Result<Universe<'a>> {
        let mut universe = Universe {
            file,
            known: Vec::with_capacity(file.types.len() + 16),
            by_descriptor: FxHashMap::default(),
            arrays: FxHashMap::default(),
            object: 0,
            throwable: 0,
            string: 0,
            class: 0,
            method_handle: 0,
            method_type: 0,
        };
        for ty in 0..file.types.len() as u32 {
            let descriptor = file.descriptor(ty)?;
            universe.push(descriptor);
        }
        universe.object = universe.core(OBJECT, NO_INDEX);
        universe.known[universe.object as usize].open = false;
        for (descriptor, superclass) in PLATFORM {
            let superclass = universe.by_descriptor[superclass];
            universe.core(descriptor, superclass);
        }
        universe.throwable = universe.by_descriptor[&b"Ljava/lang/Throwable;"[..]];
        universe.string = universe.by_descriptor[&b"Ljava/lang/String;"[..]];
        universe.class = universe.by_descriptor[&b"Ljava/lang/Class;"[..]];
        universe.method_handle = universe.by_descriptor[&b"Ljava/lang/invoke/MethodHandle;"[..]];
        universe.method_type = universe.by_descriptor[&b"Ljava/lang/invoke/MethodType;"[..]];
        for row in file.classes {
            let class = ClassDef::read(row);
            if let Some(known) = universe.known.get_mut(class.ty as usize) {
                known.defined = true;
                known.interface = class.access & flag::INTERFACE != 0;
                known.class = !known.interface;
                known.superclass = class.superclass;
                known.interfaces = class.interfaces;
                known.open = false;
            }
        }
        // What some class extends is no interface.
        for row in file.classes {
            let class = ClassDef::read(row);
            if let Some(known) = universe.known.get_mut(class.superclass as usize) {
                known.class |= !known.interface;
            }
        }
        // Components may be no types of the file themselves.
        for ty in 0..file.types.len() as u32 {
            let descriptor = file.descriptor(ty)?;
            universe.link(ty, descriptor);
        }
        Ok(universe)
    }

    fn push(&mut self, descriptor: &'a [u8]) -> u32 {
        let ty = self.known.len() as u32;
        self.known.push(Known {
            letter: descriptor.first().copied().unwrap_or(0),
            component: NO_INDEX,
            superclass: NO_INDEX,
            defined: false,
            interface: false,
            class: false,
            interfaces: 0,
            open: true,
            platform: descriptor.starts_with(b"Ljava/"),
            of_arrays: matches!(
                descriptor,
                b"Ljava/lang/Cloneable;" | b"Ljava/io/Serializable;"
            ),
        });
        self.by_descriptor.insert(descriptor, ty);
        ty
    }

    fn core(&mut self, descriptor: &'static [u8], superclass: u32) -> u32 {
        let ty = match self.by_descriptor.get(descriptor) {
            Some(&ty) => ty,
            None => self.push(descriptor),
        };
        let known = &mut self.known[ty as usize];
        known.defined = true;
        known.class = true;
        known.superclass = superclass;
        ty
    }

    /// Links an array to its elements' type.
    fn link(&mut self, ty: u32, descriptor: &'a [u8]) {
        // More dimensions are no type (ART: 255 at most).
        if descriptor.iter().take_while(|b| **b == b'[').count() > 255 {
            return;
        }
        let mut ty = ty;
        let mut rest = descriptor;
        while let Some(component) = rest.strip_prefix(b"[") {
            if self.known[ty as usize].component != NO_INDEX {
                return;
            }
            let inner = match self.by_descriptor.get(component) {
                Some(&inner) => inner,
                None => self.push(component),
            };
            self.known[ty as usize].component = inner;
            self.arrays.insert(inner, ty);
            ty = inner;
            rest = component;
        }
    }

    fn of(&self, ty: u32) -> &Known {
        &self.known[ty as usize]
    }

    /// Whether the file itself or the platform's core says what this type is.
    pub fn is_defined(&self, ty: u32) -> bool {
        self.of(ty).defined
    }

    /// Whether it is known to be an interface.
    pub fn is_interface(&self, ty: u32) -> bool {
        self.of(ty).interface
    }

    /// First letter of a type's descriptor.
    pub fn letter(&self, ty: u32) -> u8 {
        self.of(ty).letter
    }

    /// What a register holds that was loaded from something of this type.
    pub fn value(&self, ty: u32) -> Type {
        match self.letter(ty) {
            b'L' | b'[' => Type::reference(ty),
            letter => Type::of_letter(letter),
        }
    }

    /// The type of an array's elements.
    pub fn component(&self, ty: u32) -> Option<u32> {
        Some(self.of(ty).component).filter(|&c| c != NO_INDEX)
    }

    fn array_of(&mut self, component: u32) -> u32 {
        if let Some(&array) = self.arrays.get(&component) {
            return array;
        }
        let array = self.known.len() as u32;
        self.known.push(Known {
            letter: b'[',
            component,
            superclass: NO_INDEX,
            defined: false,
            interface: false,
            class: false,
            interfaces: 0,
            open: false,
            platform: false,
            of_arrays: false,
        });
        self.arrays.insert(component, array);
        array
    }

    /// For messages.
    pub fn name(&self, ty: u32) -> String {
        let word = match self.letter(ty) {
            b'Z' => "boolean",
            b'B' => "byte",
            b'S' => "short",
            b'C' => "char",
            b'I' => "int",
            b'F' => "float",
            b'J' => "long",
            b'D' => "double",
            b'V' => "void",
            _ => "",
        };
        match self.component(ty) {
            _ if !word.is_empty() => word.into(),
            Some(component) => format!("{}[]", self.name(component)),
            None => match self.file.type_name(ty) {
                Ok(name) => name.into_owned(),
                // One that the file itself has no number for.
                Err(_) => {
                    let known = self.by_descriptor.iter().find(|known| *known.1 == ty);
                    let descriptor = known.map_or(&b"?"[..], |known| known.0);
                    let name = descriptor.strip_prefix(b"L").unwrap_or(descriptor);
                    mutf8(name.strip_suffix(b";").unwrap_or(name)).into_owned()
                }
            },
        }
    }

    /// Whether `ty` is `of`, extends or implements it; `None` where classes from outside decide.
    fn is_subtype(&self, ty: u32, of: u32, fuel: &mut u32) -> Option<bool> {
        let target = self.of(of);
        let of_app = target.defined && !target.platform;
        let mut answer = Some(false);
        let mut at = ty;
        while at != self.object && at != of {
            let known = self.of(at);
            *fuel = fuel.checked_sub(1)?;
            if known.superclass as usize >= self.known.len() || !known.defined {
                return answer.filter(|_| known.platform && of_app);
            }
            if known.open && !target.class && !of_app {
                answer = None;
            }
            if !known.open && !target.class {
                for row in self.file.type_list(known.interfaces).unwrap_or(&[]) {
                    let interface = u32::from(u16::from_le_bytes(*row));
                    match (interface as usize) < self.known.len() {
                        true => match self.is_subtype(interface, of, fuel) {
                            Some(true) => return Some(true),
                            Some(false) => {}
                            None => answer = None,
                        },
                        false => answer = None,
                    }
                }
            }
            at = known.superclass;
        }
        match at == of {
            true => Some(true),
            false => answer,
        }
    }

    /// Whether a register that holds `from` may be used as a `to`, a reference type.
    pub fn assignable(&self, from: Type, to: u32) -> bool {
        if from.is_null() || from == Type::SOME_REFERENCE {
            return true;
        }
        match from.referent() {
            Some(from) => self.convertible(from, to),
            None => false,
        }
    }

    /// Any object may stand for an interface: what is called on it decides.
    fn convertible(&self, from: u32, to: u32) -> bool {
        let target = self.of(to);
        if from == to || to == self.object || target.interface {
            return true;
        }
        match (self.component(from), self.component(to)) {
            (Some(from), Some(to)) => self.is_element(from, to),
            (Some(_), None) => !target.class,
            (None, Some(_)) => false,
            (None, None) => {
                !target.class
                    || (self.is_subtype(from, to, &mut { MAX_SUPERTYPES })).unwrap_or(true)
            }
        }
    }

    /// Whether an array of `from` is one of `to`. Here interfaces are types like others.
    fn is_element(&self, from: u32, to: u32) -> bool {
        let primitive = |ty| !matches!(self.letter(ty), b'L' | b'[');
        if from == to || primitive(from) || primitive(to) {
            return from == to;
        }
        match (self.component(from), self.component(to)) {
            _ if to == self.object => true,
            (Some(from), Some(to)) => self.is_element(from, to),
            (Some(_), None) => self.of(to).of_arrays,
            (None, Some(_)) => false,
            (None, None) => (self.is_subtype(from, to, &mut { MAX_SUPERTYPES })).unwrap_or(true),
        }
    }

    /// What holds of a register that holds `a` or `b`.
    pub fn merge(&mut self, a: Type, b: Type) -> Type {
        if a == b {
            return a;
        }
        if a == Type::UNDEFINED || b == Type::UNDEFINED {
            return Type::CONFLICT;
        }
        if a.is_integral() && b.is_integral() {
            return Type(a.0 & b.0);
        }
        if a.is_float() && b.is_float() {
            return Type::FLOAT;
        }
        match (a, b) {
            (Type::WIDE, Type::LONG | Type::DOUBLE)
            | (Type::WIDE_HIGH, Type::LONG_HIGH | Type::DOUBLE_HIGH) => return b,
            (Type::LONG | Type::DOUBLE, Type::WIDE)
            | (Type::LONG_HIGH | Type::DOUBLE_HIGH, Type::WIDE_HIGH) => return a,
            _ => {}
        }
        if !a.is_reference() || !b.is_reference() {
            return Type::CONFLICT;
        }
        if a.is_null() {
            return b;
        }
        if b.is_null() {
            return a;
        }
        match (a.referent(), b.referent()) {
            (Some(a), Some(b)) => self.join(a, b),
            _ => Type::SOME_REFERENCE,
        }
    }

    fn join(&mut self, a: u32, b: u32) -> Type {
        let object = Type::reference(self.object);
        if a == b {
            return Type::reference(a);
        }
        if a == self.object || b == self.object {
            return object;
        }
        match (self.component(a), self.component(b)) {
            (Some(a), Some(b)) => {
                let primitive = |ty| !matches!(self.letter(ty), b'L' | b'[');
                if primitive(a) || primitive(b) {
                    return object;
                }
                match self.join(a, b).referent() {
                    Some(component) => Type::reference(self.array_of(component)),
                    None => Type::SOME_REFERENCE,
                }
            }
            (None, None) => self.join_classes(a, b),
            // An array and a class, or an interface that arrays may have.
            (a_component, _) => {
                let class = if a_component.is_some() { b } else { a };
                match self.of(class) {
                    known if known.of_arrays => Type::reference(class),
                    known if known.defined => object,
                    _ => Type::SOME_REFERENCE,
                }
            }
        }
    }

    fn join_classes(&self, a: u32, b: u32) -> Type {
        let is_subtype = |ty, of| self.is_subtype(ty, of, &mut { MAX_SUPERTYPES });
        match (is_subtype(a, b), is_subtype(b, a)) {
            (Some(true), _) => return Type::reference(b),
            (_, Some(true)) => return Type::reference(a),
            (None, _) | (_, None) => return Type::SOME_REFERENCE,
            (Some(false), Some(false)) => {}
        }
        // The nearest class that both inherit from.
        let mut at = a;
        for _ in 0..MAX_SUPERTYPES {
            let known = self.of(at);
            if !known.defined || known.superclass as usize >= self.known.len() {
                break;
            }
            at = known.superclass;
            match is_subtype(b, at) {
                Some(true) => return Type::reference(at),
                Some(false) => {}
                None => break,
            }
        }
        Type::SOME_REFERENCE
    }
}

/// Supertypes that are looked through, interfaces among them; a cycle ends here, too.
const MAX_SUPERTYPES: u32 = 200;
