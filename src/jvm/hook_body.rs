//! The body of a hook `around` methods, copied into the classes that call it.
//!
//! ```text
//!     M              this; arguments; operands but `proceed`; invokestatic weave$hook$M; xreturn
//!     weave$hook$M   the hook's body, which calls weave$body$M where the hook calls `proceed`
//! ```
//!
//! So nothing is made and no class is loaded for `proceed`, and a JVM's compilers see plain calls. [`HookBody::read`] says which hooks
//! may be copied: those that do nothing with `proceed` but call it, and whose code means the same in another class. The others get an
//! object of a [runner](super::runner).

mod copy;

pub use copy::Target;

use crate::aspect::bind::call::{Call, Hook, Proceed, Source};
use crate::aspect::bind::visible::{is_of_java_base, looks_at_callers, package_of};
use crate::bytes::{modified_utf8, mutf8};
use crate::jvm::class::{Class, Code, MethodInfo, attributes, flag};
use crate::jvm::emit::{self, Kind};
use crate::jvm::frames::{self, FullFrame, item};
use crate::jvm::insn::{self, Form, Insn, op};
use crate::jvm::pool::{Known, MemberRef, tag};
use crate::jvm::simulation::{State, step};
use crate::jvm::stack;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a hook's code, at most: each method gets a copy. HotSpot's C2 puts methods of up to 325 bytes (`FreqInlineSize`) into their
/// callers, and of a larger hook the object for `proceed` is the smaller part.
const MOST_CODE: usize = 325;

/// Bytes of a copy, at most, so that a branch reaches all of it.
const MOST_COPIED: usize = 16_000;

/// Java 7: the first whose class files all have frames (JVMS 4.10). Those of the copy are the hook's.
const JAVA_7: u16 = 51;

/// Java 8: static methods of interfaces can be called (JVMS 4.9.1).
const JAVA_8: u16 = 52;

/// Packages of the platform whose methods look at who calls them, or check what it may do.
const LOOKING: [&str; 2] = ["java/lang/invoke", "java/lang/reflect"];

const OBJECT: &str = "java/lang/Object";

/// The class files of the libraries of hooks, by the names of their classes.
pub type Files<'f> = &'f (dyn Fn(&str) -> Option<&'f [u8]> + 'f);

/// A hook's body that may be copied.
#[derive(Debug)]
pub struct HookBody {
    hook: Hook,
    proceed: Proceed,
    /// Which of the hook's parameters that is, and its variable.
    parameter: usize,
    slot: u16,
    max_stack: u16,
    max_locals: u16,
    insns: Box<[u8]>,
    /// The constants of instructions, by their pcs.
    operands: FxHashMap<u32, Constant>,
    /// The pcs of instructions that load `proceed`, and of those that call it.
    loads: FxHashSet<u32>,
    runs: FxHashSet<u32>,
    tries: Vec<Try>,
    frames: Vec<Frame>,
    /// The oldest class file that may have the code.
    major: u16,
}

/// A constant of the hook's class.
#[derive(Clone, Debug)]
enum Constant {
    Class(Box<[u8]>),
    String(Box<[u8]>),
    /// A tag, and what follows it.
    Number(u8, Box<[u8]>),
    Member {
        tag: u8,
        owner: Box<[u8]>,
        name: Box<[u8]>,
        descriptor: Box<[u8]>,
    },
}

/// An entry of the exception table.
#[derive(Debug)]
struct Try {
    start: u32,
    end: u32,
    handler: u32,
    /// The class that it catches; none: all.
    caught: Option<Constant>,
}

/// A frame, whose locals are the hook's without `proceed`.
#[derive(Debug)]
struct Frame {
    pc: u32,
    locals: Vec<Item>,
    stack: Vec<Item>,
}

/// A verification type.
#[derive(Debug)]
enum Item {
    Plain(u8),
    Object(Constant),
    /// What is made at this pc.
    New(u32),
}

impl HookBody {
    /// The body of the hook that is called in place of a method's, if it may be copied into any class that can call the hook:
    ///
    /// - it loads `proceed` for no other use than to call its one method, in straight code;
    /// - what else it names is public, and of `java.base` or of its own package, which everybody sees who calls it. Its class
    ///   extends `Object`, so what it names outside of its package is public anyway;
    /// - it calls nothing that looks at its caller, and has no `invokedynamic`, whose bootstrap would;
    /// - it holds no lock of its class;
    /// - its class is initialised as early as by a call of it, or has nothing that a program would see.
    pub fn read(call: &Call, files: Files<'_>) -> Option<HookBody> {
        let hook = &*call.hook;
        let (parameter, proceed) = only_proceed(call).filter(|_| hook.links.is_empty())?;
        // What cannot be read is not copied: whoever must read it reports it.
        let class = Class::parse(files(hook.owner.name()?)?).ok()?;
        let method = method_of(&class, hook)?;
        let refused = flag::SYNCHRONIZED | flag::STRICT;
        if class.major < JAVA_7
            || method.access & (flag::STATIC | refused) != flag::STATIC
            || stack::is_walked(&class.pool)
        {
            return None;
        }
        let code = class.code(method).ok()??;
        if code.insns.len() > MOST_CODE {
            return None;
        }
        let before = hook.parameters[..parameter].iter();
        let slot = before.map(emit::words).sum::<u32>() as u16;
        let reader = Reader {
            hook,
            proceed,
            slot,
            class: &class,
            code: &code,
            files,
        };
        let above = reader.above();
        if above.first().map(String::as_str) != Some(OBJECT) {
            return None;
        }
        let flow = reader.flow()?;
        if !(above.len() == 1 && !reader.has_initialiser() || reader.initialises_first()) {
            return None;
        }
        let operands = reader.operands(&flow.runs)?;
        let calls_interface = operands.iter().any(|(&pc, constant)| {
            let is_static = code.insns[pc as usize] == op::INVOKESTATIC;
            is_static && matches!(constant, Constant::Member { tag, .. } if *tag == tag::INTERFACE_METHODREF)
        });
        Some(HookBody {
            hook: hook.clone(),
            proceed: proceed.clone(),
            parameter,
            slot,
            max_stack: code.max_stack,
            max_locals: code.max_locals,
            insns: code.insns.into(),
            operands,
            loads: flow.loads,
            runs: flow.runs,
            tries: reader.tries()?,
            frames: reader.frames()?,
            major: if calls_interface { JAVA_8 } else { JAVA_7 },
        })
    }

    /// Whether there is room for it in a method of a class of this version, whose body takes so many words.
    pub fn fits(&self, words: u32, major: u16) -> bool {
        let taken: u32 = self.taken().map(Kind::words).sum();
        let one_run = 4 * words + 8 * taken + 16;
        let most = 2 * self.insns.len() + self.runs.len() * one_run as usize;
        let locals = u32::from(self.max_locals) + words + taken;
        major >= self.major && locals <= u32::from(u8::MAX) && most <= MOST_COPIED
    }

    /// How many constants a copy adds at most, apart from those of what it calls and of its types.
    pub fn constants(&self) -> usize {
        /// A class with its name, two names, a pair, the reference.
        const MEMBER: usize = 6;
        let items = |frame: &Frame| frame.locals.len() + frame.stack.len();
        let frames: usize = self.frames.iter().map(items).sum();
        MEMBER * (self.operands.len() + self.taken().count()) + 2 * (self.tries.len() + frames)
    }

    /// What `proceed` takes.
    fn taken(&self) -> impl DoubleEndedIterator<Item = Kind> {
        let function = &self.proceed.function;
        function.parameters.iter().filter_map(Kind::of)
    }
}

/// The hook's one parameter that runs the body, where the hook is called itself and not by an adapter.
pub fn only_proceed(call: &Call) -> Option<(usize, &Proceed)> {
    if call.adapter.is_some() {
        return None;
    }
    let operands = call.operands.iter().enumerate();
    let mut proceeds = operands.filter_map(|(n, operand)| match &operand.source {
        Source::Proceed(proceed) => Some((n, &**proceed)),
        _ => None,
    });
    proceeds.next().filter(|_| proceeds.next().is_none())
}

fn method_of<'c>(class: &'c Class<'_>, hook: &Hook) -> Option<&'c MethodInfo> {
    let name = modified_utf8(&hook.name);
    let descriptor = emit::descriptor(&hook.parameters, &hook.result);
    class.methods.iter().find(|method| {
        class.pool.utf8(method.name).is_ok_and(|own| own == name)
            && (class.pool.utf8(method.descriptor)).is_ok_and(|own| own == descriptor)
    })
}

/// A hook that is looked at.
struct Reader<'r, 'f> {
    hook: &'r Hook,
    proceed: &'r Proceed,
    /// The variable of `proceed`.
    slot: u16,
    class: &'r Class<'f>,
    code: &'r Code<'f>,
    files: Files<'f>,
}

/// Where a hook uses `proceed`.
#[derive(Default)]
struct Flow {
    loads: FxHashSet<u32>,
    runs: FxHashSet<u32>,
}

impl<'f> Reader<'_, 'f> {
    /// The superclass and the interfaces of its class.
    fn above(&self) -> Vec<String> {
        let mut above = Vec::new();
        self.class
            .supertypes(&mut |name| above.push(name.to_owned()));
        above
    }

    fn has_initialiser(&self) -> bool {
        let pool = &self.class.pool;
        let mut names = self
            .class
            .methods
            .iter()
            .map(|method| pool.utf8(method.name));
        names.any(|name| name.is_ok_and(|name| name == b"<clinit>"))
    }

    fn insns(&self) -> impl Iterator<Item = Option<Insn>> {
        let code = self.code.insns;
        let mut next = Some(0);
        std::iter::from_fn(move || {
            let pc = next.filter(|&pc| (pc as usize) < code.len())?;
            let insn = insn::at(code, pc).ok();
            next = insn.map(|insn| insn.pc + insn.len);
            Some(insn)
        })
    }

    /// The index that an instruction has for an operand.
    fn index(&self, insn: Insn) -> u16 {
        let at = insn.pc as usize;
        u16::from_be_bytes([self.code.insns[at + 1], self.code.insns[at + 2]])
    }

    /// Where `proceed` is loaded and called; none if something else is done with it, or the code cannot be moved.
    fn flow(&self) -> Option<Flow> {
        let code = self.code.insns;
        let mut flow = Flow::default();
        let mut used: Vec<(u32, u32)> = Vec::new();
        // Where control may come from elsewhere.
        let mut joins: Vec<u32> = Vec::new();
        for insn in self.insns() {
            let insn = insn?;
            match insn.form {
                Form::Wide | Form::WideBranch | Form::Invalid => return None,
                Form::Branch => joins.push(insn::branch_target(code, insn).ok()?),
                Form::Switch => {
                    insn::switch_targets(code, insn, |target| joins.push(target)).ok()?
                }
                _ => {}
            }
            if matches!(insn.opcode, op::JSR | op::RET | op::INVOKEDYNAMIC) {
                return None;
            }
            let slot = u32::from(self.slot);
            if insn::written(code, insn).is_some_and(|written| written.contains(&slot)) {
                return None;
            }
            if insn::load(code, insn).is_some_and(|local| local.slot == slot) {
                used.push((insn.pc, self.run_of(insn)?));
            }
        }
        joins.extend(self.tries()?.iter().map(|one| one.handler));
        joins.extend(self.full_frames()?.iter().map(|frame| frame.pc));
        for (load, run) in used {
            if joins.iter().any(|&pc| load < pc && pc <= run) {
                return None;
            }
            flow.loads.insert(load);
            flow.runs.insert(run);
        }
        Some(flow)
    }

    /// The call whose object this instruction loads, if nothing else becomes of that.
    fn run_of(&self, load: Insn) -> Option<u32> {
        let mut state = State {
            locals: vec![false; usize::from(self.code.max_locals)],
            stack: vec![true],
        };
        let mut pc = load.pc + load.len;
        loop {
            if pc as usize >= self.code.insns.len() {
                return None;
            }
            let insn = insn::at(self.code.insns, pc).ok()?;
            if !matches!(insn.form, Form::Plain | Form::Store | Form::StoreN)
                || insn.opcode == op::ATHROW
            {
                return None;
            }
            if insn.opcode == op::INVOKEINTERFACE && self.is_run(insn, state.stack.len())? {
                return Some(pc);
            }
            step(self.class, self.code, insn, &mut state, &mut |_, _| {}).ok()??;
            let others = state.stack.get(1..)?.iter().chain(&state.locals);
            if !state.stack[0] || others.into_iter().any(|&is_proceed| is_proceed) {
                return None;
            }
            pc += insn.len;
        }
    }

    /// Whether this calls the one method of what lies lowest of so many words.
    fn is_run(&self, insn: Insn, depth: usize) -> Option<bool> {
        let function = &self.proceed.function;
        let pool = &self.class.pool;
        let MemberRef {
            owner,
            name,
            descriptor,
        } = pool.member(self.index(insn)).ok()?;
        let words: u32 = function.parameters.iter().map(emit::words).sum();
        Some(
            depth == 1 + words as usize
                && pool.class_name(owner).ok()? == emit::class_name(&self.proceed.ty)
                && name == modified_utf8(&function.name)
                && descriptor == emit::descriptor(&function.parameters, &function.result),
        )
    }

    /// Whether the class is initialised before the hook does anything else, and where the hook does not catch what that throws.
    fn initialises_first(&self) -> bool {
        for insn in self.insns() {
            let Some(insn) = insn else { return false };
            match insn.opcode {
                op::NOP..=op::LDC2_W | op::ILOAD..=op::ALOAD_3 | op::POP..=op::SWAP => {}
                _ if matches!(insn.form, Form::Store | Form::StoreN) => {}
                op::GETSTATIC | op::PUTSTATIC | op::INVOKESTATIC | op::NEW => {
                    let index = self.index(insn);
                    let owner = match insn.opcode {
                        op::NEW => Ok(index),
                        _ => self.class.pool.member(index).map(|member| member.owner),
                    };
                    let owner = owner.and_then(|owner| self.class.pool.class_name(owner));
                    let is_own =
                        owner.is_ok_and(|owner| self.class.name_bytes().ok() == Some(owner));
                    let covers = |one: &Try| (one.start..one.end).contains(&insn.pc);
                    let tries = self.tries();
                    return is_own && tries.is_some_and(|tries| !tries.iter().any(covers));
                }
                _ => return false,
            }
        }
        false
    }

    /// The constants of all instructions but the calls of `proceed`; none if another class may not use one.
    fn operands(&self, runs: &FxHashSet<u32>) -> Option<FxHashMap<u32, Constant>> {
        let mut operands = FxHashMap::default();
        for insn in self.insns() {
            let insn = insn?;
            let constant = match insn.opcode {
                _ if runs.contains(&insn.pc) => continue,
                op::LDC => self.loaded(u16::from(self.code.insns[insn.pc as usize + 1]))?,
                op::LDC_W | op::LDC2_W => self.loaded(self.index(insn))?,
                op::GETSTATIC..=op::INVOKEINTERFACE => self.member(insn)?,
                op::NEW | op::ANEWARRAY | op::CHECKCAST | op::INSTANCEOF | op::MULTIANEWARRAY => {
                    self.class_constant(self.index(insn))?
                }
                _ => continue,
            };
            operands.insert(insn.pc, constant);
        }
        Some(operands)
    }

    /// What `ldc` loads.
    fn loaded(&self, index: u16) -> Option<Constant> {
        let pool = &self.class.pool;
        match pool.tag(index)? {
            tag::STRING => Some(Constant::String(pool.string(index).ok()?.into())),
            tag::CLASS => self.class_constant(index),
            _ => {
                let (tag, data) = pool.number(index)?;
                Some(Constant::Number(tag, data.into()))
            }
        }
    }

    fn class_constant(&self, index: u16) -> Option<Constant> {
        let name = self.class.pool.class_name(index).ok()?;
        self.is_seen(name).then(|| Constant::Class(name.into()))
    }

    /// Whether all that call the hook may use a class, or an array's elements.
    fn is_seen(&self, name: &[u8]) -> bool {
        let dimensions = name.iter().take_while(|&&b| b == b'[').count();
        let element = match (dimensions, &name[dimensions..]) {
            (0, name) => name,
            (_, [b'L', name @ .., b';']) => name,
            // Primitive values.
            _ => return true,
        };
        let name = mutf8(element);
        let package = package_of(&name);
        if is_of_java_base(package) {
            return true;
        }
        package == self.package()
            && self
                .other(&name)
                .is_some_and(|class| class.access & flag::PUBLIC != 0)
    }

    fn package(&self) -> &str {
        self.hook.owner.name().map_or("", package_of)
    }

    fn other(&self, name: &str) -> Option<Class<'_>> {
        Class::parse((self.files)(name)?).ok()
    }

    /// A field or method that is used.
    fn member(&self, insn: Insn) -> Option<Constant> {
        let pool = &self.class.pool;
        let index = self.index(insn);
        let MemberRef {
            owner,
            name,
            descriptor,
        } = pool.member(index).ok()?;
        let owner = pool.class_name(owner).ok()?;
        let is_array = owner.first() == Some(&b'[');
        let is_constructor = name == b"<init>";
        if !self.is_seen(owner) || (insn.opcode == op::INVOKESPECIAL) != is_constructor {
            return None;
        }
        let (class, method) = (mutf8(owner), mutf8(name));
        let package = package_of(&class);
        let may = match is_array {
            true => true,
            false if is_of_java_base(package) => {
                let is_hidden = *class == *OBJECT && matches!(&*method, "clone" | "finalize");
                !is_hidden && !looks_at_callers(&class, &method) && !LOOKING.contains(&package)
            }
            false => {
                let is_field = insn.opcode <= op::PUTFIELD;
                is_public(&self.other(&class)?, is_field, name, descriptor)?
            }
        };
        may.then(|| Constant::Member {
            tag: pool.tag(index).unwrap_or(tag::METHODREF),
            owner: owner.into(),
            name: name.into(),
            descriptor: descriptor.into(),
        })
    }

    fn tries(&self) -> Option<Vec<Try>> {
        let entries = self.code.exceptions.chunks_exact(8);
        let entry = |bytes: &[u8]| {
            let n = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let len = self.code.insns.len() as u32;
            let (start, end, handler) = (n(0).into(), n(2).into(), n(4).into());
            let caught = match n(6) {
                0 => None,
                class => Some(self.class_constant(class)?),
            };
            (start < end && end <= len && handler < len).then_some(Try {
                start,
                end,
                handler,
                caught,
            })
        };
        entries.map(entry).collect()
    }

    /// The frames as they are; the class of the n-th parameter is the n-th constant behind the pool.
    fn full_frames(&self) -> Option<Vec<FullFrame>> {
        let behind = usize::from(self.class.pool.count());
        let parameters = self.hook.parameters.iter().enumerate();
        let initial = parameters.map(|(n, ty)| {
            let class = u16::try_from(behind + n).ok()?;
            Some(match Kind::of(ty)? {
                Kind::LONG => (item::LONG, 0),
                Kind::FLOAT => (item::FLOAT, 0),
                Kind::DOUBLE => (item::DOUBLE, 0),
                Kind::REFERENCE => (item::OBJECT, class),
                _ => (item::INTEGER, 0),
            })
        });
        let initial: Option<Vec<_>> = initial.collect();
        let mut map: Option<&[u8]> = None;
        attributes(self.class.bytes, self.code.attributes, |a| {
            if self.class.pool.which(a.name) == Some(Known::StackMapTable) {
                map = Some(a.data);
            }
            Ok(())
        })
        .ok()?;
        match map {
            None => Some(Vec::new()),
            Some(map) => frames::expand(map, initial?).ok()?,
        }
    }

    fn frames(&self) -> Option<Vec<Frame>> {
        let len = self.code.insns.len() as u32;
        let frame = |full: FullFrame| {
            let (mut locals, mut word) = (Vec::new(), 0);
            for (tag, operand) in full.locals {
                let is_proceed = word == self.slot;
                word += 1 + u16::from(matches!(tag, item::LONG | item::DOUBLE));
                match is_proceed {
                    true if matches!(tag, item::OBJECT | item::TOP) => {}
                    true => return None,
                    false => locals.push(self.item(tag, operand)?),
                }
            }
            let stack = full.stack.into_iter();
            let stack: Option<Vec<Item>> = stack
                .map(|(tag, operand)| self.item(tag, operand))
                .collect();
            (full.pc < len).then_some(Frame {
                pc: full.pc,
                locals,
                stack: stack?,
            })
        };
        self.full_frames()?.into_iter().map(frame).collect()
    }

    fn item(&self, tag: u8, operand: u16) -> Option<Item> {
        Some(match tag {
            item::OBJECT => {
                let behind = operand.checked_sub(self.class.pool.count());
                let name = match behind {
                    Some(n) => emit::class_name(self.hook.parameters.get(usize::from(n))?),
                    None => self.class.pool.class_name(operand).ok()?.to_vec(),
                };
                Item::Object(Constant::Class(name.into()))
            }
            item::UNINITIALIZED if usize::from(operand) < self.code.insns.len() => {
                Item::New(operand.into())
            }
            item::UNINITIALIZED | item::UNINITIALIZED_THIS => return None,
            tag => Item::Plain(tag),
        })
    }
}

/// Whether a class declares such a member, and everybody may use it.
fn is_public(class: &Class<'_>, is_field: bool, name: &[u8], descriptor: &[u8]) -> Option<bool> {
    let pool = &class.pool;
    let is = |own: u16, text: &[u8]| pool.utf8(own).is_ok_and(|own| own == text);
    let mut found = false;
    let mut look = |access: u16, own: u16, ty: u16| {
        found |= access & flag::PUBLIC != 0 && is(own, name) && is(ty, descriptor);
    };
    match is_field {
        true => class
            .each_field(|access, own, ty| {
                look(access, own, ty);
                Ok(())
            })
            .ok()?,
        false => (class.methods.iter()).for_each(|m| look(m.access, m.name, m.descriptor)),
    }
    Some(found)
}
