//! The opcodes of Dalvik bytecode, versions 035 to 041, as one table.

/// The layout of an instruction (dex "Dalvik executable instruction formats"): the first digit is
/// its length in 16-bit code units, the second how many registers it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    F10x,
    F12x,
    F11n,
    F11x,
    F10t,
    F20t,
    F22x,
    F21t,
    F21s,
    F21h,
    F21c,
    F23x,
    F22b,
    F22t,
    F22s,
    F22c,
    F30t,
    F32x,
    F31i,
    F31t,
    F31c,
    F35c,
    F3rc,
    F45cc,
    F4rcc,
    F51l,
}

impl Format {
    /// Length in code units.
    pub const fn units(self) -> u32 {
        match self {
            F10x | F12x | F11n | F11x | F10t => 1,
            F20t | F22x | F21t | F21s | F21h | F21c | F23x | F22b | F22t | F22s | F22c => 2,
            F30t | F32x | F31i | F31t | F31c | F35c | F3rc => 3,
            F45cc | F4rcc => 4,
            F51l => 5,
        }
    }
}

use Format::*;

/// What table the index of an instruction points into; it lies in the second code unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    None,
    String,
    Type,
    Proto,
    Field,
    Method,
    CallSite,
    MethodHandle,
}

use Index::*;

/// The instruction can throw.
pub const THROW: u8 = 1;
/// The instruction branches to one target: `goto` and `if`.
pub const BRANCH: u8 = 2;
/// `packed-switch` and `sparse-switch`.
pub const SWITCH: u8 = 4;
/// The instruction returns.
pub const RETURN: u8 = 8;
/// Control never falls through to the next instruction.
pub const ENDS: u8 = 16;
/// The instruction names registers that lie side by side: a pair or a range.
pub const ADJACENT: u8 = 32;

/// What is known of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The specification's name; empty where the opcode is unused.
    pub name: &'static str,
    /// Its layout.
    pub format: Format,
    /// Its length in code units; 0 where the opcode is unused.
    pub units: u8,
    /// The registers it names, in order: a capital is written, a small letter read, a `+` says
    /// that the first is read, too. `n` holds any 32 bits but no reference, `i` an int, `f` a float;
    /// `w` any pair, `j` a long, `d` a double; `l` a reference; `v` any of `n` and `l`. Empty for
    /// lists of arguments.
    pub registers: &'static str,
    /// What its index means.
    pub index: Index,
    /// A set of [`THROW`], [`BRANCH`], [`SWITCH`], [`RETURN`], [`ENDS`] and [`ADJACENT`].
    pub flags: u8,
}

impl Op {
    /// Whether all of `flags` hold.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

/// Opcodes that code names.
pub mod op {
    pub const NOP: u8 = 0x00;
    pub const MOVE: u8 = 0x01;
    pub const MOVE_WIDE: u8 = 0x04;
    pub const MOVE_OBJECT: u8 = 0x07;
    pub const MOVE_OBJECT_16: u8 = 0x09;
    pub const MOVE_RESULT: u8 = 0x0a;
    pub const MOVE_RESULT_WIDE: u8 = 0x0b;
    pub const MOVE_RESULT_OBJECT: u8 = 0x0c;
    pub const MOVE_EXCEPTION: u8 = 0x0d;
    pub const RETURN_VOID: u8 = 0x0e;
    pub const RETURN: u8 = 0x0f;
    pub const RETURN_WIDE: u8 = 0x10;
    pub const RETURN_OBJECT: u8 = 0x11;
    pub const CONST_4: u8 = 0x12;
    pub const CONST_16: u8 = 0x13;
    pub const CONST: u8 = 0x14;
    pub const CONST_HIGH16: u8 = 0x15;
    pub const CONST_WIDE_16: u8 = 0x16;
    pub const CONST_WIDE_32: u8 = 0x17;
    pub const CONST_WIDE: u8 = 0x18;
    pub const CONST_WIDE_HIGH16: u8 = 0x19;
    pub const CONST_STRING: u8 = 0x1a;
    pub const CONST_STRING_JUMBO: u8 = 0x1b;
    pub const CONST_CLASS: u8 = 0x1c;
    pub const MONITOR_ENTER: u8 = 0x1d;
    pub const MONITOR_EXIT: u8 = 0x1e;
    pub const CHECK_CAST: u8 = 0x1f;
    pub const INSTANCE_OF: u8 = 0x20;
    pub const ARRAY_LENGTH: u8 = 0x21;
    pub const NEW_INSTANCE: u8 = 0x22;
    pub const NEW_ARRAY: u8 = 0x23;
    pub const FILLED_NEW_ARRAY: u8 = 0x24;
    pub const FILLED_NEW_ARRAY_RANGE: u8 = 0x25;
    pub const FILL_ARRAY_DATA: u8 = 0x26;
    pub const THROW: u8 = 0x27;
    pub const GOTO: u8 = 0x28;
    pub const GOTO_16: u8 = 0x29;
    pub const GOTO_32: u8 = 0x2a;
    pub const PACKED_SWITCH: u8 = 0x2b;
    pub const SPARSE_SWITCH: u8 = 0x2c;
    pub const IF_EQ: u8 = 0x32;
    pub const IF_NE: u8 = 0x33;
    pub const IF_EQZ: u8 = 0x38;
    pub const IF_NEZ: u8 = 0x39;
    pub const IF_LEZ: u8 = 0x3d;
    pub const AGET: u8 = 0x44;
    pub const APUT: u8 = 0x4b;
    pub const IGET: u8 = 0x52;
    pub const IPUT: u8 = 0x59;
    pub const IPUT_SHORT: u8 = 0x5f;
    pub const SGET: u8 = 0x60;
    pub const SPUT: u8 = 0x67;
    pub const SPUT_SHORT: u8 = 0x6d;
    pub const INVOKE_VIRTUAL: u8 = 0x6e;
    pub const INVOKE_DIRECT: u8 = 0x70;
    pub const INVOKE_STATIC: u8 = 0x71;
    pub const INVOKE_INTERFACE: u8 = 0x72;
    pub const INVOKE_VIRTUAL_RANGE: u8 = 0x74;
    pub const INVOKE_DIRECT_RANGE: u8 = 0x76;
    pub const INVOKE_STATIC_RANGE: u8 = 0x77;
    pub const INVOKE_INTERFACE_RANGE: u8 = 0x78;
    pub const APUT_OBJECT: u8 = 0x4d;
    pub const APUT_BOOLEAN: u8 = 0x4e;
    pub const APUT_SHORT: u8 = 0x51;
    pub const INT_TO_LONG: u8 = 0x81;
    pub const INT_TO_FLOAT: u8 = 0x82;
    pub const INT_TO_DOUBLE: u8 = 0x83;
    pub const LONG_TO_FLOAT: u8 = 0x85;
    pub const LONG_TO_DOUBLE: u8 = 0x86;
    pub const FLOAT_TO_DOUBLE: u8 = 0x89;
    pub const INT_TO_BYTE: u8 = 0x8d;
    pub const INT_TO_CHAR: u8 = 0x8e;
    pub const INT_TO_SHORT: u8 = 0x8f;
    pub const AND_INT: u8 = 0x95;
    pub const SUB_LONG: u8 = 0x9c;
    pub const XOR_INT: u8 = 0x97;
    pub const ADD_INT_2ADDR: u8 = 0xb0;
    pub const AND_INT_2ADDR: u8 = 0xb5;
    pub const XOR_INT_2ADDR: u8 = 0xb7;
    pub const AND_INT_LIT16: u8 = 0xd5;
    pub const XOR_INT_LIT16: u8 = 0xd7;
    pub const AND_INT_LIT8: u8 = 0xdd;
    pub const XOR_INT_LIT8: u8 = 0xdf;
    pub const INVOKE_POLYMORPHIC: u8 = 0xfa;
    pub const INVOKE_POLYMORPHIC_RANGE: u8 = 0xfb;
    pub const INVOKE_CUSTOM: u8 = 0xfc;
    pub const INVOKE_CUSTOM_RANGE: u8 = 0xfd;
    pub const CONST_METHOD_HANDLE: u8 = 0xfe;
    pub const CONST_METHOD_TYPE: u8 = 0xff;

    /// The letter of the type that an instruction narrows an int to.
    pub const fn narrows(opcode: u8) -> Option<u8> {
        match opcode {
            INT_TO_BYTE => Some(b'B'),
            INT_TO_CHAR => Some(b'C'),
            INT_TO_SHORT => Some(b'S'),
            _ => None,
        }
    }

    /// `and`, `or` and `xor` of ints.
    pub const fn is_logic(opcode: u8) -> bool {
        matches!(
            opcode,
            AND_INT..=XOR_INT
                | AND_INT_2ADDR..=XOR_INT_2ADDR
                | AND_INT_LIT16..=XOR_INT_LIT16
                | AND_INT_LIT8..=XOR_INT_LIT8
        )
    }
}

pub static OPS: [Op; 256] = table();

#[derive(Clone, Copy)]
struct Row {
    opcode: u8,
    name: &'static str,
    format: Format,
    registers: &'static str,
    index: Index,
    flags: u8,
}

const fn row(
    opcode: u8,
    name: &'static str,
    format: Format,
    registers: &'static str,
    index: Index,
    flags: u8,
) -> Row {
    Row {
        opcode,
        name,
        format,
        registers,
        index,
        flags,
    }
}

const fn table() -> [Op; 256] {
    let unused = Op {
        name: "",
        format: F10x,
        units: 0,
        registers: "",
        index: Index::None,
        flags: 0,
    };
    let mut ops = [unused; 256];
    let mut i = 0;
    while i < ROWS.len() {
        let Row {
            opcode,
            name,
            format,
            registers,
            index,
            flags,
        } = ROWS[i];
        let is_range = matches!(format, F3rc | F4rcc);
        let adjacent = if is_range || names_pair(registers.as_bytes()) {
            ADJACENT
        } else {
            0
        };
        ops[opcode as usize] = Op {
            name,
            format,
            units: format.units() as u8,
            registers,
            index,
            flags: flags | adjacent,
        };
        i += 1;
    }
    ops
}

const fn names_pair(registers: &[u8]) -> bool {
    let mut i = 0;
    while i < registers.len() {
        if matches!(registers[i], b'W' | b'w' | b'J' | b'j' | b'D' | b'd') {
            return true;
        }
        i += 1;
    }
    false
}

/// One row an opcode: the number, the name, the format, the registers, the index, the flags.
#[rustfmt::skip]
const ROWS: [Row; 224] = [
    row(0x00, "nop", F10x, "", None, 0),
    row(0x01, "move", F12x, "Nn", None, 0),
    row(0x02, "move/from16", F22x, "Nn", None, 0),
    row(0x03, "move/16", F32x, "Nn", None, 0),
    row(0x04, "move-wide", F12x, "Ww", None, 0),
    row(0x05, "move-wide/from16", F22x, "Ww", None, 0),
    row(0x06, "move-wide/16", F32x, "Ww", None, 0),
    row(0x07, "move-object", F12x, "Ll", None, 0),
    row(0x08, "move-object/from16", F22x, "Ll", None, 0),
    row(0x09, "move-object/16", F32x, "Ll", None, 0),
    row(0x0a, "move-result", F11x, "N", None, 0),
    row(0x0b, "move-result-wide", F11x, "W", None, 0),
    row(0x0c, "move-result-object", F11x, "L", None, 0),
    row(0x0d, "move-exception", F11x, "L", None, 0),
    row(0x0e, "return-void", F10x, "", None, RETURN | ENDS),
    row(0x0f, "return", F11x, "n", None, RETURN | ENDS),
    row(0x10, "return-wide", F11x, "w", None, RETURN | ENDS),
    row(0x11, "return-object", F11x, "l", None, RETURN | ENDS),
    row(0x12, "const/4", F11n, "N", None, 0),
    row(0x13, "const/16", F21s, "N", None, 0),
    row(0x14, "const", F31i, "N", None, 0),
    row(0x15, "const/high16", F21h, "N", None, 0),
    row(0x16, "const-wide/16", F21s, "W", None, 0),
    row(0x17, "const-wide/32", F31i, "W", None, 0),
    row(0x18, "const-wide", F51l, "W", None, 0),
    row(0x19, "const-wide/high16", F21h, "W", None, 0),
    row(0x1a, "const-string", F21c, "L", String, THROW),
    row(0x1b, "const-string/jumbo", F31c, "L", String, THROW),
    row(0x1c, "const-class", F21c, "L", Type, THROW),
    row(0x1d, "monitor-enter", F11x, "l", None, THROW),
    row(0x1e, "monitor-exit", F11x, "l", None, THROW),
    row(0x1f, "check-cast", F21c, "l", Type, THROW),
    row(0x20, "instance-of", F22c, "Il", Type, THROW),
    row(0x21, "array-length", F12x, "Il", None, THROW),
    row(0x22, "new-instance", F21c, "L", Type, THROW),
    row(0x23, "new-array", F22c, "Li", Type, THROW),
    row(0x24, "filled-new-array", F35c, "", Type, THROW),
    row(0x25, "filled-new-array/range", F3rc, "", Type, THROW),
    row(0x26, "fill-array-data", F31t, "l", None, THROW),
    row(0x27, "throw", F11x, "l", None, THROW | ENDS),
    row(0x28, "goto", F10t, "", None, BRANCH | ENDS),
    row(0x29, "goto/16", F20t, "", None, BRANCH | ENDS),
    row(0x2a, "goto/32", F30t, "", None, BRANCH | ENDS),
    row(0x2b, "packed-switch", F31t, "i", None, SWITCH),
    row(0x2c, "sparse-switch", F31t, "i", None, SWITCH),
    row(0x2d, "cmpl-float", F23x, "Iff", None, 0),
    row(0x2e, "cmpg-float", F23x, "Iff", None, 0),
    row(0x2f, "cmpl-double", F23x, "Idd", None, 0),
    row(0x30, "cmpg-double", F23x, "Idd", None, 0),
    row(0x31, "cmp-long", F23x, "Ijj", None, 0),
    row(0x32, "if-eq", F22t, "vv", None, BRANCH),
    row(0x33, "if-ne", F22t, "vv", None, BRANCH),
    row(0x34, "if-lt", F22t, "ii", None, BRANCH),
    row(0x35, "if-ge", F22t, "ii", None, BRANCH),
    row(0x36, "if-gt", F22t, "ii", None, BRANCH),
    row(0x37, "if-le", F22t, "ii", None, BRANCH),
    row(0x38, "if-eqz", F21t, "v", None, BRANCH),
    row(0x39, "if-nez", F21t, "v", None, BRANCH),
    row(0x3a, "if-ltz", F21t, "i", None, BRANCH),
    row(0x3b, "if-gez", F21t, "i", None, BRANCH),
    row(0x3c, "if-gtz", F21t, "i", None, BRANCH),
    row(0x3d, "if-lez", F21t, "i", None, BRANCH),
    row(0x44, "aget", F23x, "Nli", None, THROW),
    row(0x45, "aget-wide", F23x, "Wli", None, THROW),
    row(0x46, "aget-object", F23x, "Lli", None, THROW),
    row(0x47, "aget-boolean", F23x, "Nli", None, THROW),
    row(0x48, "aget-byte", F23x, "Nli", None, THROW),
    row(0x49, "aget-char", F23x, "Nli", None, THROW),
    row(0x4a, "aget-short", F23x, "Nli", None, THROW),
    row(0x4b, "aput", F23x, "nli", None, THROW),
    row(0x4c, "aput-wide", F23x, "wli", None, THROW),
    row(0x4d, "aput-object", F23x, "lli", None, THROW),
    row(0x4e, "aput-boolean", F23x, "nli", None, THROW),
    row(0x4f, "aput-byte", F23x, "nli", None, THROW),
    row(0x50, "aput-char", F23x, "nli", None, THROW),
    row(0x51, "aput-short", F23x, "nli", None, THROW),
    row(0x52, "iget", F22c, "Nl", Field, THROW),
    row(0x53, "iget-wide", F22c, "Wl", Field, THROW),
    row(0x54, "iget-object", F22c, "Ll", Field, THROW),
    row(0x55, "iget-boolean", F22c, "Nl", Field, THROW),
    row(0x56, "iget-byte", F22c, "Nl", Field, THROW),
    row(0x57, "iget-char", F22c, "Nl", Field, THROW),
    row(0x58, "iget-short", F22c, "Nl", Field, THROW),
    row(0x59, "iput", F22c, "nl", Field, THROW),
    row(0x5a, "iput-wide", F22c, "wl", Field, THROW),
    row(0x5b, "iput-object", F22c, "ll", Field, THROW),
    row(0x5c, "iput-boolean", F22c, "nl", Field, THROW),
    row(0x5d, "iput-byte", F22c, "nl", Field, THROW),
    row(0x5e, "iput-char", F22c, "nl", Field, THROW),
    row(0x5f, "iput-short", F22c, "nl", Field, THROW),
    row(0x60, "sget", F21c, "N", Field, THROW),
    row(0x61, "sget-wide", F21c, "W", Field, THROW),
    row(0x62, "sget-object", F21c, "L", Field, THROW),
    row(0x63, "sget-boolean", F21c, "N", Field, THROW),
    row(0x64, "sget-byte", F21c, "N", Field, THROW),
    row(0x65, "sget-char", F21c, "N", Field, THROW),
    row(0x66, "sget-short", F21c, "N", Field, THROW),
    row(0x67, "sput", F21c, "n", Field, THROW),
    row(0x68, "sput-wide", F21c, "w", Field, THROW),
    row(0x69, "sput-object", F21c, "l", Field, THROW),
    row(0x6a, "sput-boolean", F21c, "n", Field, THROW),
    row(0x6b, "sput-byte", F21c, "n", Field, THROW),
    row(0x6c, "sput-char", F21c, "n", Field, THROW),
    row(0x6d, "sput-short", F21c, "n", Field, THROW),
    row(0x6e, "invoke-virtual", F35c, "", Method, THROW),
    row(0x6f, "invoke-super", F35c, "", Method, THROW),
    row(0x70, "invoke-direct", F35c, "", Method, THROW),
    row(0x71, "invoke-static", F35c, "", Method, THROW),
    row(0x72, "invoke-interface", F35c, "", Method, THROW),
    row(0x74, "invoke-virtual/range", F3rc, "", Method, THROW),
    row(0x75, "invoke-super/range", F3rc, "", Method, THROW),
    row(0x76, "invoke-direct/range", F3rc, "", Method, THROW),
    row(0x77, "invoke-static/range", F3rc, "", Method, THROW),
    row(0x78, "invoke-interface/range", F3rc, "", Method, THROW),
    row(0x7b, "neg-int", F12x, "Ii", None, 0),
    row(0x7c, "not-int", F12x, "Ii", None, 0),
    row(0x7d, "neg-long", F12x, "Jj", None, 0),
    row(0x7e, "not-long", F12x, "Jj", None, 0),
    row(0x7f, "neg-float", F12x, "Ff", None, 0),
    row(0x80, "neg-double", F12x, "Dd", None, 0),
    row(0x81, "int-to-long", F12x, "Ji", None, 0),
    row(0x82, "int-to-float", F12x, "Fi", None, 0),
    row(0x83, "int-to-double", F12x, "Di", None, 0),
    row(0x84, "long-to-int", F12x, "Ij", None, 0),
    row(0x85, "long-to-float", F12x, "Fj", None, 0),
    row(0x86, "long-to-double", F12x, "Dj", None, 0),
    row(0x87, "float-to-int", F12x, "If", None, 0),
    row(0x88, "float-to-long", F12x, "Jf", None, 0),
    row(0x89, "float-to-double", F12x, "Df", None, 0),
    row(0x8a, "double-to-int", F12x, "Id", None, 0),
    row(0x8b, "double-to-long", F12x, "Jd", None, 0),
    row(0x8c, "double-to-float", F12x, "Fd", None, 0),
    row(0x8d, "int-to-byte", F12x, "Ii", None, 0),
    row(0x8e, "int-to-char", F12x, "Ii", None, 0),
    row(0x8f, "int-to-short", F12x, "Ii", None, 0),
    row(0x90, "add-int", F23x, "Iii", None, 0),
    row(0x91, "sub-int", F23x, "Iii", None, 0),
    row(0x92, "mul-int", F23x, "Iii", None, 0),
    row(0x93, "div-int", F23x, "Iii", None, THROW),
    row(0x94, "rem-int", F23x, "Iii", None, THROW),
    row(0x95, "and-int", F23x, "Iii", None, 0),
    row(0x96, "or-int", F23x, "Iii", None, 0),
    row(0x97, "xor-int", F23x, "Iii", None, 0),
    row(0x98, "shl-int", F23x, "Iii", None, 0),
    row(0x99, "shr-int", F23x, "Iii", None, 0),
    row(0x9a, "ushr-int", F23x, "Iii", None, 0),
    row(0x9b, "add-long", F23x, "Jjj", None, 0),
    row(0x9c, "sub-long", F23x, "Jjj", None, 0),
    row(0x9d, "mul-long", F23x, "Jjj", None, 0),
    row(0x9e, "div-long", F23x, "Jjj", None, THROW),
    row(0x9f, "rem-long", F23x, "Jjj", None, THROW),
    row(0xa0, "and-long", F23x, "Jjj", None, 0),
    row(0xa1, "or-long", F23x, "Jjj", None, 0),
    row(0xa2, "xor-long", F23x, "Jjj", None, 0),
    row(0xa3, "shl-long", F23x, "Jji", None, 0),
    row(0xa4, "shr-long", F23x, "Jji", None, 0),
    row(0xa5, "ushr-long", F23x, "Jji", None, 0),
    row(0xa6, "add-float", F23x, "Fff", None, 0),
    row(0xa7, "sub-float", F23x, "Fff", None, 0),
    row(0xa8, "mul-float", F23x, "Fff", None, 0),
    row(0xa9, "div-float", F23x, "Fff", None, 0),
    row(0xaa, "rem-float", F23x, "Fff", None, 0),
    row(0xab, "add-double", F23x, "Ddd", None, 0),
    row(0xac, "sub-double", F23x, "Ddd", None, 0),
    row(0xad, "mul-double", F23x, "Ddd", None, 0),
    row(0xae, "div-double", F23x, "Ddd", None, 0),
    row(0xaf, "rem-double", F23x, "Ddd", None, 0),
    row(0xb0, "add-int/2addr", F12x, "Ii+", None, 0),
    row(0xb1, "sub-int/2addr", F12x, "Ii+", None, 0),
    row(0xb2, "mul-int/2addr", F12x, "Ii+", None, 0),
    row(0xb3, "div-int/2addr", F12x, "Ii+", None, THROW),
    row(0xb4, "rem-int/2addr", F12x, "Ii+", None, THROW),
    row(0xb5, "and-int/2addr", F12x, "Ii+", None, 0),
    row(0xb6, "or-int/2addr", F12x, "Ii+", None, 0),
    row(0xb7, "xor-int/2addr", F12x, "Ii+", None, 0),
    row(0xb8, "shl-int/2addr", F12x, "Ii+", None, 0),
    row(0xb9, "shr-int/2addr", F12x, "Ii+", None, 0),
    row(0xba, "ushr-int/2addr", F12x, "Ii+", None, 0),
    row(0xbb, "add-long/2addr", F12x, "Jj+", None, 0),
    row(0xbc, "sub-long/2addr", F12x, "Jj+", None, 0),
    row(0xbd, "mul-long/2addr", F12x, "Jj+", None, 0),
    row(0xbe, "div-long/2addr", F12x, "Jj+", None, THROW),
    row(0xbf, "rem-long/2addr", F12x, "Jj+", None, THROW),
    row(0xc0, "and-long/2addr", F12x, "Jj+", None, 0),
    row(0xc1, "or-long/2addr", F12x, "Jj+", None, 0),
    row(0xc2, "xor-long/2addr", F12x, "Jj+", None, 0),
    row(0xc3, "shl-long/2addr", F12x, "Ji+", None, 0),
    row(0xc4, "shr-long/2addr", F12x, "Ji+", None, 0),
    row(0xc5, "ushr-long/2addr", F12x, "Ji+", None, 0),
    row(0xc6, "add-float/2addr", F12x, "Ff+", None, 0),
    row(0xc7, "sub-float/2addr", F12x, "Ff+", None, 0),
    row(0xc8, "mul-float/2addr", F12x, "Ff+", None, 0),
    row(0xc9, "div-float/2addr", F12x, "Ff+", None, 0),
    row(0xca, "rem-float/2addr", F12x, "Ff+", None, 0),
    row(0xcb, "add-double/2addr", F12x, "Dd+", None, 0),
    row(0xcc, "sub-double/2addr", F12x, "Dd+", None, 0),
    row(0xcd, "mul-double/2addr", F12x, "Dd+", None, 0),
    row(0xce, "div-double/2addr", F12x, "Dd+", None, 0),
    row(0xcf, "rem-double/2addr", F12x, "Dd+", None, 0),
    row(0xd0, "add-int/lit16", F22s, "Ii", None, 0),
    row(0xd1, "rsub-int", F22s, "Ii", None, 0),
    row(0xd2, "mul-int/lit16", F22s, "Ii", None, 0),
    row(0xd3, "div-int/lit16", F22s, "Ii", None, THROW),
    row(0xd4, "rem-int/lit16", F22s, "Ii", None, THROW),
    row(0xd5, "and-int/lit16", F22s, "Ii", None, 0),
    row(0xd6, "or-int/lit16", F22s, "Ii", None, 0),
    row(0xd7, "xor-int/lit16", F22s, "Ii", None, 0),
    row(0xd8, "add-int/lit8", F22b, "Ii", None, 0),
    row(0xd9, "rsub-int/lit8", F22b, "Ii", None, 0),
    row(0xda, "mul-int/lit8", F22b, "Ii", None, 0),
    row(0xdb, "div-int/lit8", F22b, "Ii", None, THROW),
    row(0xdc, "rem-int/lit8", F22b, "Ii", None, THROW),
    row(0xdd, "and-int/lit8", F22b, "Ii", None, 0),
    row(0xde, "or-int/lit8", F22b, "Ii", None, 0),
    row(0xdf, "xor-int/lit8", F22b, "Ii", None, 0),
    row(0xe0, "shl-int/lit8", F22b, "Ii", None, 0),
    row(0xe1, "shr-int/lit8", F22b, "Ii", None, 0),
    row(0xe2, "ushr-int/lit8", F22b, "Ii", None, 0),
    row(0xfa, "invoke-polymorphic", F45cc, "", Method, THROW),
    row(0xfb, "invoke-polymorphic/range", F4rcc, "", Method, THROW),
    row(0xfc, "invoke-custom", F35c, "", CallSite, THROW),
    row(0xfd, "invoke-custom/range", F3rc, "", CallSite, THROW),
    row(0xfe, "const-method-handle", F21c, "L", MethodHandle, THROW),
    row(0xff, "const-method-type", F21c, "L", Proto, THROW),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_name_as_many_registers_as_their_format() {
        assert!(ROWS.windows(2).all(|w| w[0].opcode < w[1].opcode));
        for Row {
            opcode,
            name,
            format,
            registers,
            index,
            ..
        } in ROWS
        {
            let named = match format {
                F10x | F10t | F20t | F30t | F35c | F3rc | F45cc | F4rcc => 0,
                F11n | F11x | F21t | F21s | F21h | F21c | F31i | F31t | F31c | F51l => 1,
                F12x | F22x | F22b | F22t | F22s | F22c | F32x => 2,
                F23x => 3,
            };
            assert_eq!(
                registers.trim_end_matches('+').len(),
                named,
                "{opcode:#x} {name}"
            );
            let has_index = matches!(format, F21c | F22c | F31c | F35c | F3rc | F45cc | F4rcc);
            assert_eq!(index != None, has_index, "{opcode:#x} {name}");
        }
    }
}
