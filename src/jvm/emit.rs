//! Instructions to insert, with the stack that they need.

use crate::aspect::bind::ty::{Prim, Ty};
use crate::bytes::modified_utf8;
use crate::jvm::insn::op;
use crate::jvm::pool::{Additions, tag};

/// How an instruction treats a value: int, long, float, double, reference, in the opcodes' order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u8);

impl Kind {
    pub const INT: Kind = Kind(0);
    pub const LONG: Kind = Kind(1);
    pub const FLOAT: Kind = Kind(2);
    pub const DOUBLE: Kind = Kind(3);
    pub const REFERENCE: Kind = Kind(4);

    /// How many there are.
    pub const COUNT: usize = 5;

    /// Its place among them.
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// By that.
    pub fn at(place: u8) -> Kind {
        debug_assert!(usize::from(place) < Kind::COUNT);
        Kind(place)
    }

    /// By the first letter of a type's descriptor; none for `V`.
    pub fn of_letter(letter: u8) -> Option<Kind> {
        Some(Kind(match letter {
            b'V' => return None,
            b'J' => 1,
            b'F' => 2,
            b'D' => 3,
            b'L' | b'[' => 4,
            _ => 0,
        }))
    }

    /// None for void.
    pub fn of(ty: &Ty) -> Option<Kind> {
        match ty {
            Ty::Void => None,
            Ty::Prim(prim) => Some(Kind::of_prim(*prim)),
            _ => Some(Kind::REFERENCE),
        }
    }

    pub fn of_prim(prim: Prim) -> Kind {
        Kind(match prim {
            Prim::I64 | Prim::U64 => 1,
            Prim::F32 => 2,
            Prim::F64 => 3,
            _ => 0,
        })
    }

    /// Words of the stack or of the local variables.
    pub fn words(self) -> u32 {
        1 + u32::from(matches!(self.0, 1 | 3))
    }

    /// The instruction that returns one.
    pub fn xreturn(self) -> u8 {
        op::IRETURN + self.0
    }
}

/// Words that a value of a type takes; 0 for void.
pub fn words(ty: &Ty) -> u32 {
    Kind::of(ty).map_or(0, Kind::words)
}

/// A `tableswitch`, the first instruction's place being a multiple of four.
pub struct Switch {
    at: usize,
    /// Where its operands begin behind the padding.
    table: usize,
    count: usize,
}

/// Instructions to insert.
#[derive(Default)]
pub struct Snippet {
    bytes: Vec<u8>,
    /// Words on the stack, more than at the start.
    depth: i32,
    /// The most of them.
    deepest: i32,
}

impl Snippet {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.depth, self.deepest) = (0, 0);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many words it needs above those that are on the stack where it begins.
    pub fn deepest(&self) -> u32 {
        self.deepest as u32
    }

    /// Code begins that nothing above falls into, with so many words on the stack.
    pub fn restart(&mut self, words: u32) {
        self.depth = words as i32;
        self.deepest = self.deepest.max(self.depth);
    }

    fn put(&mut self, bytes: &[u8], pops: u32, pushes: u32) {
        self.bytes.extend_from_slice(bytes);
        self.depth += pushes as i32 - pops as i32;
        self.deepest = self.deepest.max(self.depth);
    }

    /// Appends an instruction without operands, which takes so many words and leaves so many.
    pub fn op(&mut self, opcode: u8, pops: u32, pushes: u32) {
        self.put(&[opcode], pops, pushes);
    }

    /// Appends instructions whose effect on the stack is of no interest, or their rest.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends an instruction with the index of a constant.
    pub fn indexed(&mut self, opcode: u8, constant: u16, pops: u32, pushes: u32) {
        let [high, low] = constant.to_be_bytes();
        self.put(&[opcode, high, low], pops, pushes);
    }

    /// Sets the two bytes behind an instruction.
    pub fn patch(&mut self, at: u32, value: u16) {
        let at = at as usize + 1;
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// Appends a conditional jump ahead; returns where it is, for [`Snippet::land`].
    pub fn jump(&mut self, opcode: u8, pops: u32) -> usize {
        let at = self.bytes.len();
        self.put(&[opcode, 0, 0], pops, 0);
        at
    }

    /// A jump leads to here; `None` where that is too far.
    pub fn land(&mut self, jump: usize) -> Option<()> {
        let far = i16::try_from(self.bytes.len() - jump).ok()?;
        self.bytes[jump + 1..jump + 3].copy_from_slice(&far.to_be_bytes());
        Some(())
    }

    /// Appends a `tableswitch` for the numbers from `first` to `last` (JVMS 6.5). Where they lead to is not known yet.
    pub fn switch(&mut self, first: i32, last: i32) -> Switch {
        let at = self.bytes.len();
        self.put(&[op::TABLESWITCH], 1, 0);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let table = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&first.to_be_bytes());
        self.bytes.extend_from_slice(&last.to_be_bytes());
        let count = (last - first + 1) as usize;
        self.bytes.resize(self.bytes.len() + 4 * count, 0);
        Switch { at, table, count }
    }

    /// The n-th number of a switch leads to here.
    pub fn arrive(&mut self, switch: &Switch, n: usize) {
        let far = (self.bytes.len() - switch.at) as u32;
        let place = switch.table + 12 + 4 * n;
        self.bytes[place..place + 4].copy_from_slice(&far.to_be_bytes());
        self.restart(0);
    }

    /// All other numbers of a switch lead to here, and those of its own that lead nowhere else.
    pub fn otherwise(&mut self, switch: &Switch) {
        let far = (self.bytes.len() - switch.at) as u32;
        let table = &mut self.bytes[switch.table..switch.table + 12 + 4 * switch.count];
        table[..4].copy_from_slice(&far.to_be_bytes());
        for entry in table[12..]
            .chunks_exact_mut(4)
            .filter(|entry| **entry == [0; 4])
        {
            entry.copy_from_slice(&far.to_be_bytes());
        }
        self.restart(0);
    }

    /// Appends other instructions.
    pub fn append(&mut self, other: &Snippet) {
        self.bytes.extend_from_slice(&other.bytes);
        self.deepest = self.deepest.max(self.depth + other.deepest);
        self.depth += other.depth;
    }

    /// Appends `ldc constant`.
    pub fn ldc(&mut self, constant: u16) {
        match constant.to_be_bytes() {
            [0, low] => self.put(&[op::LDC, low], 0, 1),
            [high, low] => self.put(&[op::LDC_W, high, low], 0, 1),
        }
    }

    /// Appends `invokestatic method`.
    pub fn call(&mut self, method: u16, pops: u32, pushes: u32) {
        self.indexed(op::INVOKESTATIC, method, pops, pushes);
    }

    /// Appends `invokeinterface method`, which takes so many words with its object.
    pub fn interface(&mut self, method: u16, pops: u8, pushes: u32) {
        let [high, low] = method.to_be_bytes();
        self.put(
            &[op::INVOKEINTERFACE, high, low, pops, 0],
            pops.into(),
            pushes,
        );
    }

    /// Appends `invokedynamic`, which takes so many words.
    pub fn dynamic(&mut self, constant: u16, pops: u32, pushes: u32) {
        let [high, low] = constant.to_be_bytes();
        self.put(&[op::INVOKEDYNAMIC, high, low, 0, 0], pops, pushes);
    }

    fn variable(
        &mut self,
        (general, short): (u8, u8),
        kind: Kind,
        slot: u16,
        pops: u32,
        pushes: u32,
    ) {
        match slot.to_be_bytes() {
            [0, n @ 0..=3] => self.put(&[short + 4 * kind.0 + n], pops, pushes),
            [0, low] => self.put(&[general + kind.0, low], pops, pushes),
            [high, low] => self.put(&[op::WIDE, general + kind.0, high, low], pops, pushes),
        }
    }

    /// Loads a local variable.
    pub fn load(&mut self, kind: Kind, slot: u16) {
        self.variable((op::ILOAD, op::ILOAD_0), kind, slot, 0, kind.words());
    }

    /// Stores into a local variable.
    pub fn store(&mut self, kind: Kind, slot: u16) {
        self.variable((op::ISTORE, op::ISTORE_0), kind, slot, kind.words(), 0);
    }

    /// A local variable holds its object no longer.
    pub fn forget(&mut self, slot: u16) {
        self.op(op::ACONST_NULL, 0, 1);
        self.store(Kind::REFERENCE, slot);
    }

    /// Drops a value, if there is one.
    pub fn pop(&mut self, words: u32) {
        match words {
            0 => {}
            1 => self.op(op::POP, 1, 0),
            _ => self.op(op::POP2, 2, 0),
        }
    }

    /// Pushes an int, in the shortest form.
    pub fn int(&mut self, value: i32, additions: &mut Additions) {
        if (-1..=5).contains(&value) {
            self.op((i32::from(op::ICONST_0) + value) as u8, 0, 1);
        } else if let Ok(byte) = i8::try_from(value) {
            self.put(&[op::BIPUSH, byte as u8], 0, 1);
        } else if let Ok(short) = i16::try_from(value) {
            let [high, low] = short.to_be_bytes();
            self.put(&[op::SIPUSH, high, low], 0, 1);
        } else {
            let constant = additions.shared(tag::INTEGER, &value.to_be_bytes());
            self.ldc(constant);
        }
    }

    pub fn long(&mut self, value: i64, additions: &mut Additions) {
        if let 0..=1 = value {
            self.op(op::LCONST_0 + value as u8, 0, 2);
        } else {
            let constant = additions.shared(tag::LONG, &value.to_be_bytes());
            self.indexed(op::LDC2_W, constant, 0, 2);
        }
    }

    pub fn float(&mut self, value: f32, additions: &mut Additions) {
        // By its bits: -0.0 is not 0.0.
        match [0.0f32, 1.0, 2.0]
            .iter()
            .position(|c| c.to_bits() == value.to_bits())
        {
            Some(n) => self.op(op::FCONST_0 + n as u8, 0, 1),
            None => {
                let constant = additions.shared(tag::FLOAT, &value.to_bits().to_be_bytes());
                self.ldc(constant);
            }
        }
    }

    pub fn double(&mut self, value: f64, additions: &mut Additions) {
        match [0.0f64, 1.0]
            .iter()
            .position(|c| c.to_bits() == value.to_bits())
        {
            Some(n) => self.op(op::DCONST_0 + n as u8, 0, 2),
            None => {
                let constant = additions.shared(tag::DOUBLE, &value.to_bits().to_be_bytes());
                self.indexed(op::LDC2_W, constant, 0, 2);
            }
        }
    }

    /// Pushes a text, as much of it as a constant holds.
    pub fn string(&mut self, text: &str, additions: &mut Additions) {
        let text = additions.shared_utf8(cut(&modified_utf8(text)));
        let string = additions.shared(tag::STRING, &text.to_be_bytes());
        self.ldc(string);
    }

    /// Pushes null, or zero of a type; nothing for void.
    pub fn zero(&mut self, ty: &Ty) {
        if let Some(kind) = Kind::of(ty) {
            self.zero_of(kind);
        }
    }

    /// Pushes null or zero.
    pub fn zero_of(&mut self, kind: Kind) {
        let opcode = match kind.0 {
            0 => op::ICONST_0,
            1 => op::LCONST_0,
            2 => op::FCONST_0,
            3 => op::DCONST_0,
            _ => op::ACONST_NULL,
        };
        self.op(opcode, 0, kind.words());
    }

    /// Appends the return of a type.
    pub fn xreturn(&mut self, ty: &Ty) {
        match Kind::of(ty) {
            None => self.op(op::RETURN, 0, 0),
            Some(kind) => self.op(kind.xreturn(), kind.words(), 0),
        }
    }

    /// Widens a primitive value (JLS 5.1.2).
    pub fn widen(&mut self, from: Prim, to: Prim) {
        let (from, to) = (Kind::of_prim(from), Kind::of_prim(to));
        let opcode = match (from.0, to.0) {
            (0, 1) => op::I2L,
            (0, 2) => op::I2F,
            (0, 3) => op::I2D,
            (1, 2) => op::L2F,
            (1, 3) => op::L2D,
            (2, 3) => op::F2D,
            // One int or the other.
            _ => return,
        };
        self.op(opcode, from.words(), to.words());
    }
}

/// The most of a text that a constant holds (JVMS 4.4.7), without half of a character.
fn cut(text: &[u8]) -> &[u8] {
    const MAX: usize = 65_535;
    if text.len() <= MAX {
        return text;
    }
    let mut end = MAX;
    while text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    // The first of two surrogates (JVMS 4.4.7).
    if let Some([0xed, 0xa0..=0xaf, _]) = text[..end].last_chunk::<3>() {
        end -= 3;
    }
    &text[..end]
}

/// A method's descriptor, in modified UTF-8.
pub fn descriptor(parameters: &[Ty], result: &Ty) -> Vec<u8> {
    let mut text = String::from("(");
    for parameter in parameters {
        parameter.put_descriptor(&mut text);
    }
    text.push(')');
    result.put_descriptor(&mut text);
    modified_utf8(&text)
}

/// The name that a `Class` constant has for a reference type: a class's own, or an array's descriptor.
pub fn class_name(ty: &Ty) -> Vec<u8> {
    let mut text = String::new();
    match ty {
        Ty::Named(named) => text.push_str(&named.name),
        other => other.put_descriptor(&mut text),
    }
    modified_utf8(&text)
}

/// The class of objects that hold values of a primitive type.
pub fn box_class(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool => "java/lang/Boolean",
        Prim::Char => "java/lang/Character",
        Prim::I8 | Prim::U8 => "java/lang/Byte",
        Prim::I16 | Prim::U16 => "java/lang/Short",
        Prim::I32 | Prim::U32 | Prim::Isize | Prim::Usize => "java/lang/Integer",
        Prim::I64 | Prim::U64 => "java/lang/Long",
        Prim::F32 => "java/lang/Float",
        Prim::F64 => "java/lang/Double",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_pushed_in_their_shortest_form() {
        let mut additions = Additions::fresh();
        let mut all = Snippet::default();
        for value in [-1, 5, 6, -128, 128, -32_768] {
            all.int(value, &mut additions);
        }
        assert_eq!(
            all.bytes(),
            [2, 8, 16, 6, 16, 0x80, 17, 0, 128, 17, 0x80, 0]
        );
        assert_eq!(all.deepest(), 6);
        all.clear();
        all.int(32_768, &mut additions);
        all.long(1, &mut additions);
        all.long(2, &mut additions);
        all.double(-0.0, &mut additions);
        all.float(2.0, &mut additions);
        // Constants 1; 2 and 3; 4 and 5.
        assert_eq!(all.bytes(), [18, 1, 10, 20, 0, 2, 20, 0, 4, 13]);
        assert_eq!(additions.count(), 6);
        // The same once more is the same constant.
        all.long(2, &mut additions);
        assert_eq!(additions.count(), 6);
    }

    #[test]
    fn variables_beyond_255_are_wide() {
        let mut all = Snippet::default();
        all.load(Kind::REFERENCE, 3);
        all.load(Kind::LONG, 4);
        all.store(Kind::LONG, 255);
        all.store(Kind::REFERENCE, 256);
        assert_eq!(all.bytes(), [45, 22, 4, 55, 255, 196, 58, 1, 0]);
        assert_eq!((all.deepest(), all.depth), (3, 0));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let cut = |text: &str| super::cut(&modified_utf8(text)).len();
        assert_eq!(cut(&"a".repeat(70_000)), 65_535);
        assert_eq!(cut(&"é".repeat(40_000)), 65_534);
        assert_eq!(cut(&"𝄞".repeat(20_000)), 65_532);
        assert_eq!(cut(&format!("abc{}", "𝄞".repeat(20_000))), 65_535);
        assert_eq!(cut(&format!("abcdef{}", "𝄞".repeat(20_000))), 65_532);
        assert_eq!(cut("short"), 5);
    }
}
