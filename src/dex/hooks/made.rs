//! The methods that Weave makes (`aspect/bind/made`), in registers:
//!
//! ```text
//!     what is at hand, an exception and its hook's name; [the flag, what is stored in it]; [a link's object and constants]; arguments
//! ```

use crate::aspect::bind::call::{Constant, ConstantValue, Link, LinkKind};
use crate::aspect::bind::made::{Called, Caught, Made, Step, Test};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::aspect::joinpoint::CallHow;
use crate::bytes::put_uleb32;
use crate::dex::format::code_item;
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::dex::lower::own::widening;
use crate::dex::lower::own_frame::{Names, place_of};
use crate::dex::lower::registers::{self, LAST_NIBBLE, Width, width, words};
use std::ops::Range;

/// New indices of what a method names.
pub(crate) struct Named<'n> {
    /// The methods that its steps call, in their order.
    pub goals: &'n [u32],
    pub names: &'n Names,
    /// An adapter has these.
    pub guard: Option<Guard>,
}

/// New indices of the methods of `Guard`, and of the string that names the hook.
#[derive(Clone, Copy, Default)]
pub(crate) struct Guard {
    pub begin: u32,
    pub failed: u32,
    pub told: u32,
}

/// A method under way.
struct Lowering<'m> {
    made: &'m Made<'m>,
    named: &'m Named<'m>,
    /// Those of its goals that were called.
    called: usize,
    code: Vec<u8>,
    /// Parts of the code, and where what they throw goes: start, end, handler.
    tries: Vec<[u32; 3]>,
    /// Where steps leave the method.
    jumps: Vec<u32>,
    /// What may throw, and how far the last instruction that may is in it.
    tried: Range<u32>,
    thrown: u32,
    /// Registers: the flag, where links are put together, and the first argument.
    flag: u32,
    room: u32,
    arguments: u32,
    /// The registers of what is at hand and of a chain's object.
    at: u32,
    object: u32,
}

fn words_of(types: &[Ty]) -> u32 {
    types.iter().map(words).sum()
}

/// How many registers the links of a chain need for an object with constants.
fn room_for_links(made: &Made<'_>) -> u32 {
    let needs = made.steps.iter().map(|step| match step {
        Step::Ask(link) if !link.arguments().is_empty() => {
            let pushed = link.arguments().iter().map(Constant::pushed);
            1 + pushed.map(|ty| words(&ty)).sum::<u32>()
        }
        _ => 0,
    });
    needs.max().unwrap_or(0)
}

/// Appends the code item of a method.
pub(crate) fn put_made(made: &Made<'_>, named: &Named<'_>, out: &mut Vec<u8>) {
    let has = |of: fn(&Step<'_>) -> bool| made.steps.iter().any(of);
    let flag = match named.guard {
        Some(_) => 2,
        None if has(|step| matches!(step, Step::Unless(_))) => 1,
        None => words(made.gives),
    };
    let room = match has(|step| *step == Step::Begin) {
        true => flag + 2,
        false => flag,
    };
    let for_links = room_for_links(made);
    let arguments = room + for_links;
    let mut lowering = Lowering {
        made,
        named,
        called: 0,
        code: Vec::new(),
        tries: Vec::new(),
        jumps: Vec::new(),
        tried: 0..0,
        thrown: 0,
        flag,
        room,
        arguments,
        at: 0,
        object: arguments,
    };
    made.steps.iter().for_each(|step| lowering.put(step));
    let ins = words_of(&made.takes);
    let outs = match named.guard {
        Some(_) => ins.max(2).max(for_links),
        None if named.goals.is_empty() => 0,
        None => ins,
    };
    lowering.finish([arguments + ins, ins, outs], out);
}

impl Lowering<'_> {
    fn units(&self) -> u32 {
        insn::units(&self.code)
    }

    fn register(&self, argument: usize) -> u32 {
        self.arguments + words_of(&self.made.takes[..argument])
    }

    fn goal(&mut self) -> u16 {
        self.called += 1;
        self.named.goals[self.called - 1] as u16
    }

    fn guard(&self) -> Guard {
        self.named.guard.expect("an adapter has it")
    }

    fn ty(&self, ty: &Ty) -> u32 {
        *(self.named.names.types.get(ty)).expect("it was asked for")
    }

    /// A jump to a label that follows.
    fn jump(&mut self, opcode: u8, register: u32) {
        self.jumps.push(self.units());
        registers::put_if(&mut self.code, opcode, register, 0);
    }

    /// What a call gave, if anything, is at hand.
    fn result(&mut self, ty: &Ty) {
        if let Some(opcode) = registers::move_result(ty) {
            registers::put_one(&mut self.code, opcode, 0);
        }
        self.at = 0;
    }

    /// What is at hand is in the first register.
    fn first(&mut self, width: Width) {
        if self.at != 0 {
            registers::put_move(&mut self.code, width, 0, self.at);
        }
        self.at = 0;
    }

    fn put(&mut self, step: &Step<'_>) {
        match step {
            Step::Begin => {
                let begin = self.guard().begin as u16;
                registers::put_invoke_static(&mut self.code, begin, &[]);
                self.tried = 0..self.units();
                registers::put_one(&mut self.code, op::MOVE_RESULT_OBJECT, self.flag);
                self.jump(op::IF_NEZ, self.flag);
            }
            Step::End => {
                let (flag, no) = (self.flag, self.flag + 1);
                registers::put_const(&mut self.code, no, 0);
                registers::put_three(&mut self.code, op::APUT_BOOLEAN, no, flag, no);
            }
            Step::Try => self.tried.start = self.units(),
            Step::Tried => self.tried.end = self.thrown,
            Step::Catch(Caught::All | Caught::Failure) => self.catch(),
            Step::Tell(_) => {
                let guard = self.guard();
                registers::put_const_string(&mut self.code, 1, guard.told);
                self.tried.start = self.units();
                registers::put_invoke_static(&mut self.code, guard.failed as u16, &[0, 1]);
                self.tried.end = self.units();
            }
            Step::Untold(_) => {
                self.catch();
                let distance = self.tried.end as i32 - self.units() as i32;
                registers::put_goto(&mut self.code, distance);
            }
            Step::Load(argument) => self.at = self.register(*argument),
            Step::Zero(ty) => match words(ty) {
                0 => {}
                1 => registers::put_const(&mut self.code, 0, 0),
                _ => registers::put_const_wide(&mut self.code, 0, 0),
            },
            Step::Pass(called) => self.pass(*called),
            Step::Widen(from, to) => {
                if let Some(opcode) = widening(*from, *to) {
                    registers::put_two(&mut self.code, opcode, 0, 0);
                }
            }
            Step::Box(ty) => {
                if let Ty::Prim(prim) = ty {
                    self.boxes(*prim, self.at, 0);
                }
                self.at = 0;
                self.thrown = self.units();
            }
            Step::Cast(ty) => {
                let ty = self.ty(ty);
                registers::put_indexed(&mut self.code, op::CHECK_CAST, 0, ty);
                self.thrown = self.units();
            }
            Step::Hold => self.object = 0,
            Step::Unless(test) => self.unless(*test),
            Step::Ask(link) => {
                self.ask(link);
                self.at = 0;
                self.thrown = self.units();
            }
            Step::Label(_) => {
                let here = self.units();
                for at in std::mem::take(&mut self.jumps) {
                    let distance = (here - at) as u16;
                    let at = 2 * at as usize + 2;
                    self.code[at..at + 2].copy_from_slice(&distance.to_le_bytes());
                }
            }
            Step::Return => {
                self.first(width(self.made.gives));
                registers::put_one(&mut self.code, registers::return_of(self.made.gives), 0);
            }
            Step::Throw => {
                self.first(Width::Object);
                registers::put_one(&mut self.code, op::THROW, 0);
            }
        }
    }

    /// What was thrown where something was tried is at hand.
    fn catch(&mut self) {
        let Range { start, end } = self.tried;
        let handler = self.units();
        self.tries.push([start, end, handler]);
        registers::put_one(&mut self.code, op::MOVE_EXCEPTION, 0);
        self.at = 0;
    }

    fn pass(&mut self, called: Called<'_>) {
        let goal = self.goal();
        let (opcode, passed, result) = match called {
            Called::Hook(hook) => (op::INVOKE_STATIC, words_of(&hook.parameters), &hook.result),
            Called::Callee(callee) => {
                let opcode = match callee.how {
                    CallHow::Interface => op::INVOKE_INTERFACE,
                    CallHow::Virtual => op::INVOKE_VIRTUAL,
                    CallHow::Static | CallHow::Exact => op::INVOKE_STATIC,
                };
                (opcode, words_of(&self.made.takes), &callee.result)
            }
            Called::Tested(_, ty) => {
                let (first, ty) = (self.arguments, self.ty(ty));
                registers::put_indexed(&mut self.code, op::CHECK_CAST, first, ty);
                (op::INVOKE_STATIC, words_of(&self.made.takes), &Ty::Void)
            }
        };
        let all = self.arguments..self.arguments + passed;
        match self.named.guard {
            Some(_) => {
                registers::put_invoke(&mut self.code, opcode, goal, &all.collect::<Vec<u32>>());
            }
            // Hooks are woven into it, and move its arguments: a range names any register.
            None => registers::put_invoke_range(&mut self.code, opcode, goal, all),
        }
        self.thrown = self.units();
        self.result(result);
    }

    fn unless(&mut self, test: Test<'_>) {
        match test {
            Test::NotNull => self.jump(op::IF_EQZ, self.object),
            Test::HasArgument(argument) => self.jump(op::IF_EQZ, self.register(argument)),
            Test::Is(ty) => {
                let (is, object, ty) = (self.flag - 1, self.near_object(), self.ty(ty));
                registers::put_field(&mut self.code, op::INSTANCE_OF, is, object, ty);
                self.jump(op::IF_EQZ, is);
            }
        }
    }

    /// The object, in a register that four bits name.
    fn near_object(&mut self) -> u32 {
        if self.object > LAST_NIBBLE {
            registers::put_move(&mut self.code, Width::Object, 0, self.object);
            self.object = 0;
        }
        self.object
    }

    /// What a link does with the object.
    fn ask(&mut self, link: &Link) {
        match link.kind {
            LinkKind::Cast => {
                if self.object != 0 {
                    registers::put_move(&mut self.code, Width::Object, 0, self.object);
                }
                let ty = self.ty(&link.owner);
                registers::put_indexed(&mut self.code, op::CHECK_CAST, 0, ty);
            }
            LinkKind::Field => {
                let field = self.named.names.fields.get(link);
                let field = *field.expect("it was asked for");
                let opcode = registers::of_field(op::IGET, &link.result);
                let object = self.near_object();
                registers::put_field(&mut self.code, opcode, 0, object, field);
            }
            LinkKind::Length => {
                let object = self.near_object();
                registers::put_two(&mut self.code, op::ARRAY_LENGTH, 0, object);
            }
            LinkKind::Method(_) | LinkKind::Box => self.ask_method(link),
        }
    }

    fn ask_method(&mut self, link: &Link) {
        let goal = self.goal();
        let opcode = match link.owner_is_interface {
            true => op::INVOKE_INTERFACE,
            false => op::INVOKE_VIRTUAL,
        };
        let mut passed = self.object..self.object + 1;
        if !link.arguments().is_empty() {
            registers::put_move(&mut self.code, Width::Object, self.room, self.object);
            passed = self.room..self.room + 1;
            for constant in link.arguments() {
                passed.end += self.constant(constant, passed.end);
            }
        }
        registers::put_invoke_range(&mut self.code, opcode, goal, passed);
        self.result(&link.result);
    }

    /// Puts what a link's method takes into a register. Returns how many it takes.
    fn constant(&mut self, constant: &Constant, register: u32) -> u32 {
        let pushed = constant.pushed();
        let taken = words(&pushed);
        let is_wide = taken == 2;
        let code = &mut self.code;
        match &constant.value {
            ConstantValue::Taken(n) => {
                let from = self.register(1 + usize::from(*n));
                registers::put_move(&mut self.code, Width::Object, register, from);
                return 1;
            }
            ConstantValue::Text(text) => {
                let text = self.named.names.texts.get(text);
                registers::put_const_string(code, register, *text.expect("it was asked for"));
            }
            ConstantValue::Double(bits) if !is_wide => {
                let value = f64::from_bits(*bits) as f32;
                registers::put_const(code, register, value.to_bits());
            }
            ConstantValue::Double(bits) => registers::put_const_wide(code, register, *bits),
            ConstantValue::Long(n) => registers::put_const_wide(code, register, *n as u64),
            ConstantValue::Int(n) if is_wide => {
                registers::put_const_wide(code, register, i64::from(*n) as u64);
            }
            ConstantValue::Int(n) => registers::put_const(code, register, *n as u32),
            ConstantValue::Null | ConstantValue::Out => {
                registers::put_const(code, register, 0);
            }
        }
        match constant.boxed {
            Some(prim) => {
                self.boxes(prim, register, register);
                1
            }
            None => taken,
        }
    }

    /// Makes an object of a primitive value.
    fn boxes(&mut self, prim: Prim, from: u32, to: u32) {
        let value: Vec<u32> = (from..from + words(&Ty::Prim(prim))).collect();
        let method = place_of(prim).map_or(0, |place| self.named.names.boxes[place]);
        registers::put_invoke_static(&mut self.code, method as u16, &value);
        registers::put_one(&mut self.code, op::MOVE_RESULT_OBJECT, to);
    }

    /// Appends the code item; `registers`: all, arguments, and those that calls pass.
    fn finish(mut self, [all, ins, outs]: [u32; 3], out: &mut Vec<u8>) {
        self.tries.sort_unstable();
        let begin = out.len();
        let tries = self.tries.len();
        let counts = [all as u16, ins as u16, outs as u16, tries as u16];
        code_item::put_header(out, counts, self.units());
        out.extend_from_slice(&self.code);
        if tries == 0 {
            return;
        }
        code_item::align(out, begin);
        // The lists of handlers: how many, then for each that it catches all (a size of 0), and where.
        let mut lists = vec![tries as u8];
        for [start, end, handler] in self.tries {
            out.extend_from_slice(&start.to_le_bytes());
            out.extend_from_slice(&((end - start) as u16).to_le_bytes());
            out.extend_from_slice(&(lists.len() as u16).to_le_bytes());
            lists.push(0);
            put_uleb32(&mut lists, handler);
        }
        out.extend_from_slice(&lists);
    }
}
