//! Code, an instruction after the other.

use crate::bytes::put_le_u32;
use crate::cil::il::insn::op;

/// Bytes of code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    bytes: Vec<u8>,
}

impl Code {
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An opcode of one byte or two.
    pub fn op(&mut self, opcode: u16) {
        match opcode.to_be_bytes() {
            [0, second] => self.bytes.push(second),
            both => self.bytes.extend_from_slice(&both),
        }
    }

    /// The same with a 32-bit operand.
    pub fn op_u32(&mut self, opcode: u16, operand: u32) {
        self.op(opcode);
        self.bytes.extend_from_slice(&operand.to_le_bytes());
    }

    /// An instruction that names an argument or a local: forms for the first four, for 256 and for all.
    fn numbered(&mut self, number: u32, zero: Option<u16>, short: u16, long: u16) {
        match (zero, number) {
            (Some(zero), 0..=3) => self.op(zero + number as u16),
            (_, 0..=255) => self.bytes(&[short as u8, number as u8]),
            _ => {
                self.op(long);
                self.bytes.extend_from_slice(&(number as u16).to_le_bytes());
            }
        }
    }

    pub fn load_argument(&mut self, number: u32) {
        self.numbered(number, Some(op::LDARG_0), op::LDARG_S, op::LDARG);
    }

    pub fn store_argument(&mut self, number: u32) {
        self.numbered(number, None, op::STARG_S, op::STARG);
    }

    /// A branch ahead; returns where it is, for [`Code::land`].
    pub fn branch(&mut self, opcode: u16) -> u32 {
        let at = self.len();
        self.op_u32(opcode, 0);
        at
    }

    /// A branch leads to here.
    pub fn land(&mut self, branch: u32) {
        self.lead(branch, self.len());
    }

    /// A branch leads to that place.
    pub fn lead(&mut self, branch: u32, to: u32) {
        let behind = branch + 5;
        put_le_u32(&mut self.bytes, branch as usize + 1, to - behind);
    }

    pub fn load_local(&mut self, number: u32) {
        self.numbered(number, Some(op::LDLOC_0), op::LDLOC_S, op::LDLOC);
    }

    pub fn store_local(&mut self, number: u32) {
        self.numbered(number, Some(op::STLOC_0), op::STLOC_S, op::STLOC);
    }

    pub fn load_local_address(&mut self, number: u32) {
        self.numbered(number, None, op::LDLOCA_S, op::LDLOCA);
    }

    pub fn int(&mut self, value: i32) {
        match value {
            -1..=8 => self.op((i32::from(op::LDC_I4_0) + value) as u16),
            -128..=127 => self.bytes(&[op::LDC_I4_S as u8, value as u8]),
            _ => self.op_u32(op::LDC_I4, value as u32),
        }
    }

    pub fn long(&mut self, value: i64) {
        match i32::try_from(value) {
            Ok(value) => {
                self.int(value);
                self.op(op::CONV_I8);
            }
            Err(_) => {
                self.op(op::LDC_I8);
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
    }

    pub fn float(&mut self, value: f32) {
        self.op(op::LDC_R4);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn double(&mut self, value: f64) {
        self.op(op::LDC_R8);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
}
