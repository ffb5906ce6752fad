//! One instruction: what it asks of the registers, and what it makes of them.

use super::ACC_STATIC;
use super::frame::{EXTRA, HELD, INITIALISED, Line, PHASES};
use super::hooks::Judge;
use super::types::{Type, Universe};
use crate::bytes::{Cursor, u16_at};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{File, MethodId, NO_INDEX, ProtoId};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{Format, op};
use rustc_hash::FxHashMap;

/// What does not hold, as text: this is rare, and the caller knows the place.
type Check<T = ()> = Result<T, String>;

/// An instruction's surroundings.
pub(super) struct Step<'s, 'a> {
    pub file: &'s File<'a>,
    pub universe: &'s mut Universe<'a>,
    pub access: &'s [u32],
    pub code: &'s Code<'s>,
    pub line: &'s mut Line,
    pub caught: &'s FxHashMap<u32, Type>,
    /// The type whose method this is.
    pub class: u32,
    pub returns: u32,
    pub is_constructor: bool,
    /// Follows the hooks, where they are to pair.
    pub judge: Option<Judge<'s>>,
}

/// Monitors that may be held at once; ART's limit.
const MAX_MONITORS: u32 = 32;

impl Step<'_, '_> {
    fn get(&self, r: u32) -> Type {
        self.line.registers[r as usize]
    }

    fn set(&mut self, r: u32, value: Type) {
        self.line.dirty = true;
        self.line.registers[r as usize] = value;
        if let Some(high) = value.high() {
            self.line.registers[r as usize + 1] = high;
        }
    }

    #[cold]
    fn wanted<T>(&self, r: u32, what: &str) -> Check<T> {
        let value = self.get(r);
        let holds = value.name(self.universe);
        if let Some(high) = value.high()
            && self.line.registers.get(r as usize + 1) != Some(&high)
        {
            return Err(format!("v{r} holds {holds} whose upper half is lost"));
        }
        Err(format!("v{r} holds {holds}, {what} is wanted"))
    }

    /// A register holds what a letter of the table of opcodes says.
    fn want(&self, r: u32, kind: u8) -> Check {
        let value = self.get(r);
        let (holds, what) = match kind {
            b'i' => (value.is_integral(), "an int"),
            b'f' => (value.is_float(), "a float"),
            b'n' => (value.is_integral() || value.is_float(), "a single value"),
            b'l' => (value.is_reference(), "a reference"),
            b'v' => return Ok(()),
            b'j' | b'd' | b'w' => {
                let whole = value.high() == Some(self.get(r + 1)) && value.high().is_some();
                let (fits, what) = match kind {
                    b'j' => (value.fits(b'J'), "a long"),
                    b'd' => (value.fits(b'D'), "a double"),
                    _ => (true, "a pair"),
                };
                (whole && fits, what)
            }
            _ => return Ok(()),
        };
        match holds {
            true => Ok(()),
            false => self.wanted(r, what),
        }
    }

    /// A register may be passed as a type.
    fn want_type(&self, r: u32, ty: u32) -> Check {
        let letter = self.universe.letter(ty);
        let value = self.get(r);
        let holds = match letter {
            b'L' | b'[' => self.universe.assignable(value, ty),
            b'J' | b'D' => value.fits(letter) && value.high() == Some(self.get(r + 1)),
            letter => value.fits(letter),
        };
        match holds {
            true => Ok(()),
            false => self.wanted(r, &self.universe.name(ty)),
        }
    }

    /// Runs an instruction.
    pub fn step(mut self, insn: Insn) -> Check {
        let result = self.line.result.take();
        let (a, b) = (insn.a, insn.b);
        match insn.opcode {
            op::NOP | op::GOTO | op::GOTO_16 | op::GOTO_32 => {}
            op::MOVE..=op::MOVE_OBJECT_16 => return self.copy(insn),
            op::MOVE_RESULT..=op::MOVE_RESULT_OBJECT => return self.result(insn, result),
            op::MOVE_EXCEPTION => match self.caught.get(&insn.pc) {
                Some(&caught) => self.set(a, caught),
                None => return Err("no handler begins here".into()),
            },
            op::RETURN_VOID..=op::RETURN_OBJECT => return self.returned(insn),
            op::CONST_4..=op::CONST_HIGH16 => self.set(a, Type::constant(insn.value as i32)),
            op::CONST_WIDE_16..=op::CONST_WIDE_HIGH16 => self.set(a, Type::WIDE),
            op::CONST_STRING | op::CONST_STRING_JUMBO => {
                self.set(a, Type::reference(self.universe.string));
            }
            op::CONST_CLASS => self.set(a, Type::reference(self.universe.class)),
            op::CONST_METHOD_HANDLE => self.set(a, Type::reference(self.universe.method_handle)),
            op::CONST_METHOD_TYPE => self.set(a, Type::reference(self.universe.method_type)),
            op::MONITOR_ENTER => {
                self.want(a, b'l')?;
                self.monitors(1)?;
            }
            op::MONITOR_EXIT => {
                self.want(a, b'l')?;
                self.monitors(-1)?;
            }
            op::CHECK_CAST => {
                self.want(a, b'l')?;
                self.set(a, self.reference(insn.index())?);
            }
            op::INSTANCE_OF => {
                self.want(b, b'l')?;
                self.reference(insn.index())?;
                self.set(a, Type::BOOLEAN);
            }
            op::ARRAY_LENGTH => {
                self.array(b)?;
                self.set(a, Type::INT);
            }
            op::NEW_INSTANCE => return self.new_instance(insn),
            op::NEW_ARRAY => {
                self.want(b, b'i')?;
                if self.universe.letter(insn.index()) != b'[' {
                    return Err(format!("{} is no array", self.universe.name(insn.index())));
                }
                self.set(a, Type::reference(insn.index()));
            }
            op::FILLED_NEW_ARRAY | op::FILLED_NEW_ARRAY_RANGE => return self.filled(insn),
            op::FILL_ARRAY_DATA => return self.fill(insn),
            op::THROW => {
                self.want(a, b'l')?;
                return self.want_type(a, self.universe.throwable);
            }
            op::IF_EQ..=op::IF_NE => return self.compare(a, self.get(b), b),
            op::IF_EQZ..=op::IF_NEZ => return self.compare(a, Type::NULL, a),
            op::AGET..=op::APUT_SHORT => return self.element(insn),
            op::IGET..=op::SPUT_SHORT => return self.field(insn),
            op::INVOKE_VIRTUAL..=op::INVOKE_INTERFACE
            | op::INVOKE_VIRTUAL_RANGE..=op::INVOKE_INTERFACE_RANGE => {
                return self.invoke(insn);
            }
            op::INVOKE_POLYMORPHIC | op::INVOKE_POLYMORPHIC_RANGE => {
                let proto = u32::from(insn::unit(self.code.insns, insn.pc + 3));
                let MethodId { class, .. } = self.file.method(insn.index()).map_err(text)?;
                self.file.descriptor(class).map_err(text)?;
                return self.call(insn, proto, Some(class));
            }
            op::INVOKE_CUSTOM | op::INVOKE_CUSTOM_RANGE => {
                let proto = self.call_site(insn.index())?;
                return self.call(insn, proto, None);
            }
            _ => return self.arithmetic(insn),
        }
        Ok(())
    }

    /// What is plain in the table of opcodes: it reads and writes what the letters say.
    fn arithmetic(&mut self, insn: Insn) -> Check {
        let op = insn.op();
        let letters = op.registers.as_bytes();
        let operands = [insn.a, insn.b, insn.c];
        for (r, kind) in operands.iter().zip(letters) {
            if kind.is_ascii_lowercase() {
                self.want(*r, *kind)?;
            }
        }
        let Some(first) = letters.first().filter(|l| l.is_ascii_uppercase()) else {
            return Ok(());
        };
        let also_read = letters.last() == Some(&b'+');
        if also_read {
            self.want(insn.a, first.to_ascii_lowercase())?;
        }
        let value = match first {
            b'I' if op::narrows(insn.opcode).is_some() => {
                Type::of_letter(op::narrows(insn.opcode).unwrap_or(b'I'))
            }
            // `and`, `or` and `xor` of booleans are boolean.
            b'I' if op::is_logic(insn.opcode) => {
                let left = if also_read { insn.a } else { insn.b };
                let right = match op.format {
                    Format::F23x => self.get(insn.c),
                    Format::F12x => self.get(insn.b),
                    _ => Type::constant(insn.value as i32),
                };
                match self.get(left).is_boolean() && right.is_boolean() {
                    true => Type::BOOLEAN,
                    false => Type::INT,
                }
            }
            b'I' => Type::INT,
            b'F' => Type::FLOAT,
            b'J' => Type::LONG,
            _ => Type::DOUBLE,
        };
        self.set(insn.a, value);
        Ok(())
    }

    fn copy(&mut self, insn: Insn) -> Check {
        let value = self.get(insn.b);
        match (insn.opcode - op::MOVE) / 3 {
            0 => self.want(insn.b, b'n')?,
            1 => self.want(insn.b, b'w')?,
            _ if value.is_uninitialized() => {}
            _ => self.want(insn.b, b'l')?,
        }
        self.set(insn.a, value);
        Ok(())
    }

    fn result(&mut self, insn: Insn, result: Option<Type>) -> Check {
        let Some(value) = result else {
            return Err("no result right in front of it".into());
        };
        let fits = match insn.opcode {
            op::MOVE_RESULT => value.is_integral() || value.is_float(),
            op::MOVE_RESULT_WIDE => value.high().is_some(),
            _ => value.is_reference(),
        };
        if !fits {
            return Err(format!("the result is {}", value.name(self.universe)));
        }
        self.set(insn.a, value);
        Ok(())
    }

    fn returned(&mut self, insn: Insn) -> Check {
        let end = self.line.registers.len();
        if self.line.registers[end - HELD] != Type(0) {
            return Err("returns while a monitor is held".into());
        }
        if self.is_constructor && self.line.registers[end - INITIALISED] == Type(0) {
            return Err("returns without having called another constructor".into());
        }
        if let Some(judge) = self.judge {
            judge.returned(self.line.registers[end - PHASES].0)?;
        }
        let letter = self.universe.letter(self.returns);
        let wanted = match letter {
            b'V' => op::RETURN_VOID,
            b'J' | b'D' => op::RETURN_WIDE,
            b'L' | b'[' => op::RETURN_OBJECT,
            _ => op::RETURN,
        };
        if insn.opcode != wanted {
            let returns = self.universe.name(self.returns);
            return Err(format!("the method returns {returns}"));
        }
        match letter {
            b'V' => Ok(()),
            // Compilers return ints as whatever is smaller.
            b'Z' | b'B' | b'S' | b'C' => self.want(insn.a, b'i'),
            _ => self.want_type(insn.a, self.returns),
        }
    }

    /// A call that may be a hook's.
    fn hook(&mut self, insn: Insn) -> Check {
        if let Some(judge) = self.judge {
            let at = self.line.registers.len() - PHASES;
            let phases = judge.call(insn, self.line.registers[at].0)?;
            self.line.dirty |= phases != self.line.registers[at].0;
            self.line.registers[at] = Type(phases);
        }
        Ok(())
    }

    fn monitors(&mut self, by: i32) -> Check {
        let held = self.line.registers.len() - HELD;
        let now = self.line.registers[held].0.wrapping_add_signed(by);
        if now > MAX_MONITORS {
            return Err(match by {
                1 => "too many monitors are held".into(),
                _ => "no monitor is held".into(),
            });
        }
        self.line.registers[held] = Type(now);
        self.line.dirty = true;
        Ok(())
    }

    /// The reference to a type by its index.
    fn reference(&self, ty: u32) -> Check<Type> {
        match self.universe.letter(ty) {
            b'L' | b'[' => Ok(Type::reference(ty)),
            _ => Err(format!("{} is no reference type", self.universe.name(ty))),
        }
    }

    fn new_instance(&mut self, insn: Insn) -> Check {
        let ty = insn.index();
        if self.universe.letter(ty) != b'L' {
            return Err(format!("{} is no class", self.universe.name(ty)));
        }
        if self.universe.is_defined(ty) && self.universe.is_interface(ty) {
            return Err(format!("{} is an interface", self.universe.name(ty)));
        }
        // What it made before, and what was never initialised, is lost.
        let new = Type::new_instance(insn.pc);
        for value in &mut self.line.registers {
            if *value == new {
                *value = Type::CONFLICT;
            }
        }
        self.set(insn.a, new);
        Ok(())
    }

    /// The type of an array's elements; `None` for `null` and for what may be an array.
    fn array(&self, r: u32) -> Check<Option<u32>> {
        let value = self.get(r);
        if value.is_null() || value == Type::SOME_REFERENCE {
            return Ok(None);
        }
        match value.referent().and_then(|ty| self.universe.component(ty)) {
            Some(component) => Ok(Some(component)),
            None => self.wanted(r, "an array"),
        }
    }

    fn element(&mut self, insn: Insn) -> Check {
        let reads = insn.opcode < op::APUT;
        let base = if reads { op::AGET } else { op::APUT };
        self.want(insn.c, b'i')?;
        let component = self.array(insn.b)?;
        let letters: &[u8] = LETTERS[(insn.opcode - base) as usize];
        if let Some(component) = component
            && !letters.contains(&self.universe.letter(component))
        {
            return self.wanted(insn.b, "an array of another type");
        }
        if reads {
            let value = match (component, letters[0]) {
                (Some(component), _) => self.universe.value(component),
                (None, b'J') => Type::WIDE,
                (None, b'L') if self.get(insn.b).is_null() => Type::NULL,
                (None, b'L') => Type::SOME_REFERENCE,
                (None, b'I') => Type::constant(i32::MAX),
                (None, letter) => Type::of_letter(letter),
            };
            self.set(insn.a, value);
            return Ok(());
        }
        match component.map_or(letters[0], |c| self.universe.letter(c)) {
            b'L' | b'[' => self.want(insn.a, b'l'),
            b'J' if component.is_none() => self.want(insn.a, b'w'),
            b'I' if component.is_none() => self.want(insn.a, b'n'),
            b'J' => self.want(insn.a, b'j'),
            b'D' => self.want(insn.a, b'd'),
            b'F' => self.want(insn.a, b'f'),
            _ => self.want(insn.a, b'i'),
        }
    }

    fn field(&mut self, insn: Insn) -> Check {
        let row = &self.file.fields[insn.index() as usize];
        let (class, ty) = (u32::from(u16_at(row, 0)), u32::from(u16_at(row, 2)));
        self.file.descriptor(class).map_err(text)?;
        self.file.descriptor(ty).map_err(text)?;
        let kind = (insn.opcode - op::IGET) % 7;
        let writes = (insn.opcode - op::IGET) / 7 % 2 == 1;
        if insn.opcode < op::SGET {
            let object = self.get(insn.b);
            // A constructor may set fields of its class before it calls another.
            let early = object == Type::UNINITIALIZED_THIS && writes && class == self.class;
            if !early && !self.universe.assignable(object, class) {
                return self.wanted(insn.b, &self.universe.name(class));
            }
        }
        let letter = self.universe.letter(ty);
        if !LETTERS[kind as usize].contains(&letter) {
            return Err(format!("the field is {}", self.universe.name(ty)));
        }
        if !writes {
            self.set(insn.a, self.universe.value(ty));
            return Ok(());
        }
        match letter {
            // Compilers store ints as whatever is smaller.
            b'Z' | b'B' | b'S' | b'C' => self.want(insn.a, b'i'),
            _ => self.want_type(insn.a, ty),
        }
    }

    fn compare(&self, a: u32, right: Type, b: u32) -> Check {
        let object = |t: Type| t.is_reference() || t.is_uninitialized();
        let left = self.get(a);
        if object(left) && object(right) || left.is_integral() && right.is_integral() {
            return Ok(());
        }
        let (left, right) = (left.name(self.universe), right.name(self.universe));
        Err(match a == b {
            true => format!("v{a} holds {left}"),
            false => format!("v{a} holds {left}, v{b} {right}"),
        })
    }

    fn filled(&mut self, insn: Insn) -> Check {
        let ty = insn.index();
        let Some(component) = self.universe.component(ty) else {
            return Err(format!("{} is no array", self.universe.name(ty)));
        };
        let letter = self.universe.letter(component);
        if !matches!(letter, b'I' | b'L' | b'[') {
            return Err(format!("an array of {}", self.universe.name(component)));
        }
        for r in insn::arguments(self.code.insns, insn) {
            self.want_type(r, component)?;
        }
        self.line.result = Some(Type::reference(ty));
        Ok(())
    }

    fn fill(&mut self, insn: Insn) -> Check {
        let Some(component) = self.array(insn.a)? else {
            return Ok(());
        };
        let width = match self.universe.letter(component) {
            b'Z' | b'B' => 1,
            b'S' | b'C' => 2,
            b'I' | b'F' => 4,
            b'J' | b'D' => 8,
            _ => return self.wanted(insn.a, "an array of primitives"),
        };
        let payload = insn.target(self.code.insns).map_err(text)?;
        let has = insn::unit(self.code.insns, payload + 1);
        match has == width {
            true => Ok(()),
            false => Err(format!("elements of {has} bytes, {width} are wanted")),
        }
    }

    fn invoke(&mut self, insn: Insn) -> Check {
        let MethodId { class, proto, name } = self.file.method(insn.index()).map_err(text)?;
        self.file.descriptor(class).map_err(text)?;
        let name = self.file.string(name).map_err(text)?;
        let plain = match insn.opcode {
            op::INVOKE_VIRTUAL_RANGE..=op::INVOKE_INTERFACE_RANGE => insn.opcode - 6,
            opcode => opcode,
        };
        let is_static = plain == op::INVOKE_STATIC;
        let initialises = name == b"<init>";
        if initialises && plain != op::INVOKE_DIRECT || name == b"<clinit>" {
            return Err("initialisers are not called like that".into());
        }
        let access = self.access[insn.index() as usize];
        if access != NO_INDEX && (access & ACC_STATIC != 0) != is_static {
            return Err(match is_static {
                true => "the method is not static".into(),
                false => "the method is static".into(),
            });
        }
        let receiver = match insn::arguments(self.code.insns, insn).next() {
            Some(r) if !is_static => r,
            None if !is_static => return Err("no receiver is passed".into()),
            _ => {
                self.call(insn, proto, None)?;
                return self.hook(insn);
            }
        };
        if !initialises {
            let receives = match plain {
                op::INVOKE_INTERFACE => self.universe.object,
                _ => class,
            };
            return self.call(insn, proto, Some(receives));
        }
        let value = self.get(receiver);
        let ty = match value.made_at() {
            Some(pc) => insn::at(self.code.insns, pc).map_err(text)?.index(),
            None if value == Type::UNINITIALIZED_THIS => self.class,
            None => return self.wanted(receiver, "an uninitialised object"),
        };
        if !self.universe.assignable(Type::reference(ty), class) {
            let (ty, class) = (self.universe.name(ty), self.universe.name(class));
            return Err(format!("the new {ty} is no {class}"));
        }
        // The other arguments are checked before the object counts as initialised.
        self.arguments(insn, proto, 1)?;
        for r in 0..self.line.registers.len() - EXTRA {
            if self.line.registers[r] == value {
                self.line.registers[r] = Type::reference(ty);
            }
        }
        self.line.dirty = true;
        if value == Type::UNINITIALIZED_THIS
            && let Some(initialised) = self.line.registers.last_mut()
        {
            *initialised = Type(1);
        }
        Ok(())
    }

    /// A call of a proto, on a receiver of some type if there is one.
    fn call(&mut self, insn: Insn, proto: u32, receives: Option<u32>) -> Check {
        if let Some(class) = receives {
            match insn::arguments(self.code.insns, insn).next() {
                Some(r) => self.want_type(r, class)?,
                None => return Err("no receiver is passed".into()),
            }
        }
        self.arguments(insn, proto, u32::from(receives.is_some()))?;
        let ProtoId { returns, .. } = self.file.proto(proto).map_err(text)?;
        self.file.descriptor(returns).map_err(text)?;
        if self.universe.letter(returns) != b'V' {
            self.line.result = Some(self.universe.value(returns));
        }
        Ok(())
    }

    /// The arguments of a call, behind `passed` words.
    fn arguments(&self, insn: Insn, proto: u32, passed: u32) -> Check {
        let outs = u32::from(self.code.outs);
        if insn.a > outs {
            return Err(format!("{} words are passed, {outs} are declared", insn.a));
        }
        let ProtoId { parameters, .. } = self.file.proto(proto).map_err(text)?;
        let mut registers = insn::arguments(self.code.insns, insn).skip(passed as usize);
        let missing = || "too few arguments".to_string();
        for row in self.file.type_list(parameters).map_err(text)? {
            let ty = u32::from(u16::from_le_bytes(*row));
            self.file.descriptor(ty).map_err(text)?;
            let r = registers.next().ok_or_else(missing)?;
            if matches!(self.universe.letter(ty), b'J' | b'D') {
                let high = registers.next().ok_or_else(missing)?;
                if high != r + 1 {
                    return Err(format!("v{r} and v{high} are no pair"));
                }
            }
            self.want_type(r, ty)?;
        }
        match registers.next() {
            None => Ok(()),
            Some(_) => Err("too many arguments".into()),
        }
    }

    /// The proto of a call site: its third value (dex "call_site_item").
    fn call_site(&self, index: u32) -> Check<u32> {
        const METHOD_TYPE: u8 = 0x15;
        let row = self.file.call_sites[index as usize];
        let mut cursor = Cursor::at(self.file.bytes, u32::from_le_bytes(row) as usize);
        let count = cursor.uleb32().map_err(text)?;
        for i in 0..count.min(3) {
            let head = cursor.u8().map_err(text)?;
            let bytes = cursor.take(usize::from(head >> 5) + 1).map_err(text)?;
            if i == 2 && head & 0x1f == METHOD_TYPE && bytes.len() <= 4 {
                return Ok(bytes.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b)));
            }
        }
        Err("the call site has no method type".into())
    }
}

/// Types of what `aget`, `iget` and their like read, in the order of their opcodes.
const LETTERS: [&[u8]; 7] = [b"IF", b"JD", b"L[", b"Z", b"B", b"C", b"S"];

#[cold]
fn text(e: crate::error::Error) -> String {
    e.to_string()
}
