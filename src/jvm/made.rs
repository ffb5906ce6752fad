//! The methods that Weave makes (`aspect/bind/made`), each in a class of its own.
//!
//! An adapter, so that no woven method needs a handler for what hooks throw:
//!
//! ```text
//!       [invokestatic Guard.begin; astore busy; aload busy; ifnonnull S; zero; xreturn]
//!     S: arguments; invokestatic hook; [busy[0] = false]; xreturn
//!     H: ldc name; invokestatic Guard.failed; [busy[0] = false]; zero; xreturn
//! ```
//!
//! Instead of the hook's call a chain has those of its links, each behind a test for null:
//!
//! ```text
//!     S: [aload; ifnull Z; aload; invokevirtual link; [astore]]..; [busy[0] = false]; xreturn
//!     Z: [busy[0] = false]; zero; xreturn
//! ```
//!
//! Where a hook changes a value, the adapter takes the old one as its last argument, and returns (or throws) that in place of zero.
//!
//! At the end of the stack or of memory the calls of `Guard` may fail themselves. Then the result is zero, too. The store that ends a hook
//! cannot fail.

use crate::aspect::bind::call::{Adapter, Constant, ConstantValue, Hook, Link, LinkKind};
use crate::aspect::bind::made::{self, Called, Caught, Label, Made, Step, Test};
use crate::aspect::bind::site::Redirect;
use crate::aspect::bind::ty::{Language, Prim, Ty};
use crate::aspect::joinpoint::CallHow;
use crate::bytes::modified_utf8;
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::{Added, Change, put_added};
use crate::jvm::insn::op;
use crate::jvm::pool::{Additions, tag};
use std::ops::Range;

/// The class of all objects, in internal form.
pub(super) const OBJECT: &str = "java/lang/Object";

/// The class of the hook library that adapters call, in internal form.
const GUARD: &[u8] = b"weave/runtime/Guard";

/// Java 8: static methods of interfaces can be called (JVMS 4.9.1).
pub(super) const MAJOR: u16 = 52;

const PUBLIC_FINAL_SUPER_SYNTHETIC: u16 = 0x1031;
const PUBLIC_STATIC: u16 = 0x0009;

/// What is thrown where the library's own calls fail. Where the library is missing, that is said as for all other hooks.
const FAILURE: &[u8] = b"java/lang/VirtualMachineError";

/// The class file of an adapter. Here and below constants that come first keep the order of earlier versions, and so the bytes.
pub fn adapter(hook: &Hook, adapter: &Adapter) -> Vec<u8> {
    let made = made::adapter(hook, adapter);
    let mut additions = Additions::fresh();
    own_classes(&adapter.class, &mut additions);
    if hook.links.is_empty() {
        called(Called::Hook(hook), &mut additions);
    }
    Guard::constants(&mut additions);
    class_of(&adapter.class, &made, additions)
}

/// The class that looks whether an exception is what the hook of a redirect is about:
///
/// ```text
///        aload_0; instanceof type; ifeq E; aload_0; checkcast type; arguments; invokestatic call
///     E: return
/// ```
pub fn test_class_of(redirect: &Redirect) -> Option<Vec<u8>> {
    let looks = made::looks(redirect)?;
    let mut additions = Additions::fresh();
    class(&emit::class_name(looks.ty), &mut additions);
    class(&modified_utf8(redirect.class()?), &mut additions);
    Some(class_of(&looks.class, &looks.made, additions))
}

/// The class of what is called instead of a call or at a point, without its hooks.
pub(super) fn redirected(name: &str, made: &Made<'_>) -> Vec<u8> {
    let mut additions = Additions::fresh();
    if let Some(Step::Pass(called)) = made.steps.first() {
        self::called(*called, &mut additions);
    }
    own_classes(name, &mut additions);
    own_method(made, &mut additions);
    class_of(name, made, additions)
}

/// A class's own constant, and that of its superclass.
fn own_classes(name: &str, additions: &mut Additions) -> [u16; 2] {
    [&*modified_utf8(name), b"java/lang/Object"].map(|name| class(name, additions))
}

/// The constants of a class's one method: its name and descriptor.
fn own_method(made: &Made<'_>, additions: &mut Additions) -> [u16; 2] {
    let descriptor = emit::descriptor(&made.takes, made.gives);
    [b"call", &*descriptor].map(|text| additions.shared_utf8(text))
}

fn class(name: &[u8], additions: &mut Additions) -> u16 {
    let name = additions.shared_utf8(name);
    additions.shared(tag::CLASS, &name.to_be_bytes())
}

/// A class of one static method.
fn class_of(name: &str, made: &Made<'_>, mut additions: Additions) -> Vec<u8> {
    let [this, object] = own_classes(name, &mut additions);
    let attribute = lower(made, &mut additions);
    let [name, descriptor] = own_method(made, &mut additions);
    let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
    let mut put = |n: u16| out.extend_from_slice(&n.to_be_bytes());
    put(MAJOR);
    put(additions.count());
    out.extend_from_slice(additions.bytes());
    let mut put = |n: u16| out.extend_from_slice(&n.to_be_bytes());
    // No interfaces, no fields, one method with one attribute.
    let class = [PUBLIC_FINAL_SUPER_SYNTHETIC, this, object, 0, 0, 1];
    let method = [PUBLIC_STATIC, name, descriptor, 1];
    class.into_iter().chain(method).for_each(&mut put);
    out.extend_from_slice(&attribute);
    out.extend_from_slice(&[0, 0]);
    out
}

/// The constant of what a method calls.
fn called(called: Called<'_>, additions: &mut Additions) -> u16 {
    let (owner, name, is_of_interface, descriptor) = match called {
        Called::Hook(hook) => (
            emit::class_name(&hook.owner),
            modified_utf8(&hook.name),
            hook.owner_is_interface,
            emit::descriptor(&hook.parameters, &hook.result),
        ),
        Called::Callee(callee) => (
            emit::class_name(&callee.owner),
            modified_utf8(&callee.name),
            callee.owner_is_interface,
            emit::descriptor(&callee.parameters, &callee.result),
        ),
        Called::Tested(redirect, _) => (
            redirect
                .class()
                .map_or(vec![], |class| modified_utf8(class)),
            b"call".to_vec(),
            false,
            emit::descriptor(&redirect.callee.taken(), &redirect.callee.result),
        ),
    };
    let owner = class(&owner, additions);
    additions.shared_method(tag_of(is_of_interface), owner, &name, &descriptor)
}

fn tag_of(is_of_interface: bool) -> u8 {
    match is_of_interface {
        true => tag::INTERFACE_METHODREF,
        false => tag::METHODREF,
    }
}

/// Constants of adapters.
struct Guard {
    begin: u16,
    failed: u16,
    throwable: u16,
    flag: u16,
    failure: u16,
}

impl Guard {
    fn constants(additions: &mut Additions) -> Guard {
        let guard = class(GUARD, additions);
        let mut method = |name: &[u8], descriptor: &[u8]| {
            additions.shared_method(tag::METHODREF, guard, name, descriptor)
        };
        Guard {
            begin: method(b"begin", b"()[Z"),
            failed: method(b"failed", b"(Ljava/lang/Throwable;Ljava/lang/String;)V"),
            throwable: class(b"java/lang/Throwable", additions),
            flag: class(b"[Z", additions),
            failure: class(FAILURE, additions),
        }
    }
}

/// The Code attribute of a method.
fn lower(made: &Made<'_>, additions: &mut Additions) -> Vec<u8> {
    let has = |of: fn(&Step<'_>) -> bool| u32::from(made.steps.iter().any(of));
    let words: u32 = made.takes.iter().map(emit::words).sum();
    let held = words + has(|step| *step == Step::Begin);
    let mut lowering = Lowering {
        made,
        out: Snippet::default(),
        tries: Vec::new(),
        frames: Vec::new(),
        jumps: Vec::new(),
        tried: 0..0,
        flag: words as u16,
        held: held as u16,
        object: 0,
    };
    for step in &made.steps {
        lowering.put(step, additions);
    }
    let max_locals = held + has(|step| matches!(step, Step::Ask(_)));
    lowering.attribute(max_locals as u16, additions)
}

/// A method under way.
struct Lowering<'m> {
    made: &'m Made<'m>,
    out: Snippet,
    /// The exception table: start, end, handler, type.
    tries: Vec<[u16; 4]>,
    frames: Vec<Added>,
    /// Where steps leave the method.
    jumps: Vec<u32>,
    /// What may throw.
    tried: Range<u16>,
    /// The variables of the flag against recursion and of a chain's object, and where that object is now.
    flag: u16,
    held: u16,
    object: u16,
}

impl Lowering<'_> {
    fn pc(&self) -> u16 {
        self.out.len() as u16
    }

    fn slot(&self, argument: usize) -> u16 {
        let before = self.made.takes[..argument].iter();
        before.map(emit::words).sum::<u32>() as u16
    }

    /// A handler begins, with the exception on the stack, for what was tried last.
    fn handler(&mut self, ty: u16) -> u16 {
        let pc = self.pc();
        let Range { start, end } = self.tried;
        self.tries.push([start, end, pc, ty]);
        self.frames.push(Added {
            pc,
            change: Change::Thrown,
        });
        self.out.restart(1);
        pc
    }

    /// A jump to a label that follows.
    fn jump(&mut self, opcode: u8) {
        self.jumps.push(self.out.len());
        self.out.indexed(opcode, 0, 1, 0);
    }

    fn put(&mut self, step: &Step<'_>, additions: &mut Additions) {
        match step {
            Step::Begin => {
                let begin = Guard::constants(additions).begin;
                self.out.call(begin, 0, 1);
                self.tried = 0..self.pc();
                self.out.store(Kind::REFERENCE, self.flag);
                self.out.load(Kind::REFERENCE, self.flag);
                self.jump(op::IFNONNULL);
            }
            Step::End => {
                self.out.load(Kind::REFERENCE, self.flag);
                self.out.op(op::ICONST_0, 0, 1);
                self.out.op(op::ICONST_0, 0, 1);
                self.out.op(op::BASTORE, 3, 0);
            }
            Step::Try => self.tried.start = self.pc(),
            Step::Tried => self.tried.end = self.pc(),
            Step::Catch(Caught::All) => self.tried.start = self.handler(0),
            Step::Catch(Caught::Failure) => {
                let failure = Guard::constants(additions).failure;
                self.handler(failure);
                self.out.pop(1);
            }
            Step::Tell(name) => {
                self.out.string(name, additions);
                let failed = Guard::constants(additions).failed;
                self.out.call(failed, 2, 0);
                self.tried.end = self.pc();
            }
            Step::Untold(steps) => {
                self.put(&Step::Catch(Caught::Failure), additions);
                steps.iter().for_each(|step| self.put(step, additions));
                if steps.contains(&Step::End) {
                    self.handler(0);
                    self.put(&Step::End, additions);
                    self.put(&Step::Throw, additions);
                }
            }
            Step::Load(argument) => {
                if let Some(kind) = Kind::of(&self.made.takes[*argument]) {
                    self.out.load(kind, self.slot(*argument));
                }
            }
            Step::Zero(ty) => self.out.zero(ty),
            Step::Pass(called) => self.pass(*called, additions),
            Step::Widen(from, to) => self.out.widen(*from, *to),
            Step::Box(ty) => boxes(&mut self.out, ty, additions),
            Step::Cast(to) => {
                let class = class(&emit::class_name(to), additions);
                self.out.indexed(op::CHECKCAST, class, 1, 1);
            }
            Step::Hold => {
                self.out.store(Kind::REFERENCE, self.held);
                self.object = self.held;
            }
            Step::Unless(test) => self.unless(*test, additions),
            Step::Ask(link) => self.ask(link, additions),
            Step::Label(label) => {
                let pc = self.pc();
                let change = match label {
                    Label::Free => Change::Local(Guard::constants(additions).flag),
                    Label::Out => Change::Same,
                };
                self.frames.push(Added { pc, change });
                for at in std::mem::take(&mut self.jumps) {
                    self.out.patch(at, pc - at as u16);
                }
                self.out.restart(0);
            }
            Step::Return => self.out.xreturn(self.made.gives),
            Step::Throw => self.out.op(op::ATHROW, 1, 0),
        }
    }

    fn pass(&mut self, called: Called<'_>, additions: &mut Additions) {
        let method = self::called(called, additions);
        let (count, result) = match called {
            Called::Hook(hook) => (hook.parameters.len(), &hook.result),
            Called::Callee(callee) => (self.made.takes.len(), &callee.result),
            Called::Tested(redirect, _) => (self.made.takes.len(), &redirect.callee.result),
        };
        for argument in 0..count {
            self.put(&Step::Load(argument), additions);
            if let (0, Called::Tested(_, ty)) = (argument, called) {
                self.put(&Step::Cast(ty), additions);
            }
        }
        let (words, given) = (u32::from(self.slot(count)), emit::words(result));
        let Called::Callee(callee) = called else {
            return self.out.call(method, words, given);
        };
        // An interpreter's frame keeps what lies in its variables: an argument would live for as long as the call runs.
        for (argument, ty) in self.made.takes.iter().enumerate() {
            if ty.is_reference() {
                self.out.forget(self.slot(argument));
            }
        }
        match callee.how {
            CallHow::Virtual => self.out.indexed(op::INVOKEVIRTUAL, method, words, given),
            CallHow::Interface => self.out.interface(method, words as u8, given),
            CallHow::Static | CallHow::Exact => self.out.call(method, words, given),
        }
    }

    fn unless(&mut self, test: Test<'_>, additions: &mut Additions) {
        let slot = match test {
            Test::HasArgument(argument) => self.slot(argument),
            Test::NotNull | Test::Is(_) => self.object,
        };
        self.out.load(Kind::REFERENCE, slot);
        match test {
            Test::Is(ty) => {
                let class = class(&emit::class_name(ty), additions);
                self.out.indexed(op::INSTANCEOF, class, 1, 1);
                self.jump(op::IFEQ);
            }
            Test::NotNull | Test::HasArgument(_) => self.jump(op::IFNULL),
        }
    }

    /// What a link does with the object.
    fn ask(&mut self, link: &Link, additions: &mut Additions) {
        self.out.load(Kind::REFERENCE, self.object);
        let owner = class(&emit::class_name(&link.owner), additions);
        let name = modified_utf8(&link.name);
        let given = emit::words(&link.result);
        match &link.kind {
            LinkKind::Cast => self.out.indexed(op::CHECKCAST, owner, 1, 1),
            LinkKind::Box => {}
            LinkKind::Length => self.out.op(op::ARRAYLENGTH, 1, 1),
            LinkKind::Field => {
                let mut descriptor = String::new();
                link.result.put_descriptor(&mut descriptor);
                let descriptor = modified_utf8(&descriptor);
                let field = additions.shared_method(tag::FIELDREF, owner, &name, &descriptor);
                self.out.indexed(op::GETFIELD, field, 1, given);
            }
            LinkKind::Method(arguments) => {
                for argument in arguments {
                    match argument.value {
                        ConstantValue::Taken(n) => {
                            self.put(&Step::Load(1 + usize::from(n)), additions);
                        }
                        _ => self.constant(argument, additions),
                    }
                }
                let parameters = link.parameters();
                let taken = 1 + parameters.iter().map(emit::words).sum::<u32>();
                let descriptor = emit::descriptor(&parameters, &link.result);
                let tag = tag_of(link.owner_is_interface);
                let method = additions.shared_method(tag, owner, &name, &descriptor);
                match link.owner_is_interface {
                    // A method takes 255 words at most (JVMS 4.3.3).
                    true => self.out.interface(method, taken as u8, given),
                    false => self.out.indexed(op::INVOKEVIRTUAL, method, taken, given),
                }
            }
        }
    }

    fn constant(&mut self, constant: &Constant, additions: &mut Additions) {
        match &constant.value {
            ConstantValue::Text(text) => self.out.string(text, additions),
            ConstantValue::Null | ConstantValue::Taken(_) | ConstantValue::Out => {
                self.out.op(op::ACONST_NULL, 0, 1)
            }
            ConstantValue::Int(n) => self.out.int(*n, additions),
            ConstantValue::Long(n) => self.out.long(*n, additions),
            ConstantValue::Double(bits) => {
                let value = f64::from_bits(*bits);
                match constant.pushed() {
                    Ty::Prim(Prim::F32) => self.out.float(value as f32, additions),
                    _ => self.out.double(value, additions),
                }
            }
        }
        if let Some(prim) = constant.boxed {
            boxes(&mut self.out, &Ty::Prim(prim), additions);
        }
    }

    fn attribute(&self, max_locals: u16, additions: &mut Additions) -> Vec<u8> {
        let mut tables = Vec::new();
        if !self.frames.is_empty() {
            let name = additions.shared_utf8(b"StackMapTable");
            // Only handlers' frames have an exception.
            let throwable = match self.tries.is_empty() {
                true => 0,
                false => Guard::constants(additions).throwable,
            };
            let mut map = Vec::new();
            put_added(&mut map, &self.frames, throwable);
            tables.push(Table { name, data: map });
        }
        let mut out = Vec::new();
        let body = code_of(&self.out, max_locals, &self.tries, &tables);
        put_attribute(&mut out, additions.shared_utf8(b"Code"), &body);
        out
    }
}

/// An attribute of code.
pub(super) struct Table {
    /// The index of its name.
    pub name: u16,
    pub data: Vec<u8>,
}

/// What a Code attribute holds (JVMS 4.7.3): code with its number of variables, the exception table, attributes.
pub(super) fn code_of(
    out: &Snippet,
    max_locals: u16,
    tries: &[[u16; 4]],
    tables: &[Table],
) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&(out.deepest() as u16).to_be_bytes());
    body.extend_from_slice(&max_locals.to_be_bytes());
    body.extend_from_slice(&out.len().to_be_bytes());
    body.extend_from_slice(out.bytes());
    body.extend_from_slice(&(tries.len() as u16).to_be_bytes());
    for n in tries.as_flattened() {
        body.extend_from_slice(&n.to_be_bytes());
    }
    body.extend_from_slice(&(tables.len() as u16).to_be_bytes());
    for table in tables {
        put_attribute(&mut body, table.name, &table.data);
    }
    body
}

pub(super) fn put_attribute(out: &mut Vec<u8>, name: u16, data: &[u8]) {
    out.extend_from_slice(&name.to_be_bytes());
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
}

/// Makes an object of the value on the stack; one of a class is an object already.
pub(super) fn boxes(out: &mut Snippet, ty: &Ty, additions: &mut Additions) {
    let Ty::Prim(prim) = ty else { return };
    let name = emit::box_class(*prim);
    let descriptor = emit::descriptor(std::slice::from_ref(ty), &Ty::class(name));
    let class = class(name.as_bytes(), additions);
    let method = additions.shared_method(tag::METHODREF, class, b"valueOf", &descriptor);
    out.call(method, emit::words(ty), 1);
}

/// The result of a body becomes what the interface's method gives that runs it. Of a body without one it is null.
pub(super) fn gives(out: &mut Snippet, own: &Ty, given: &Ty, additions: &mut Additions) {
    match (own, given) {
        (Ty::Void, Ty::Void) => {}
        (Ty::Void, _) => out.op(op::ACONST_NULL, 0, 1),
        (Ty::Prim(_), given) if given.is_reference() => boxes(out, own, additions),
        (Ty::Prim(_), _) => {}
        // The method's type is known to be one of these, but no verifier needs to load it.
        (own, given) => cast(out, own, given, additions),
    }
}

/// A value of one type becomes one of another: a cast, and what it holds where a primitive type is asked for.
pub(super) fn cast(out: &mut Snippet, from: &Ty, to: &Ty, additions: &mut Additions) {
    if !from.is_reference() || from == to || to.name() == Some(OBJECT) {
        return;
    }
    let name = match to {
        Ty::Prim(prim) => emit::box_class(*prim).as_bytes().to_vec(),
        to => emit::class_name(to),
    };
    let class = class(&name, additions);
    if emit::class_name(from) != name {
        out.indexed(op::CHECKCAST, class, 1, 1);
    }
    if let Ty::Prim(prim) = to {
        let name = [prim.word(Language::Java), "Value"].concat();
        let descriptor = emit::descriptor(&[], to);
        let method = additions.shared_method(tag::METHODREF, class, name.as_bytes(), &descriptor);
        out.indexed(op::INVOKEVIRTUAL, method, 1, emit::words(to));
    }
}
