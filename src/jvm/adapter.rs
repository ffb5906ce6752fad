//! Adapters: classes whose one method calls a hook, so that no woven method needs a handler for what hooks throw.
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

use crate::aspect::bind::call::{Adapter, Constant, ConstantValue, Convert, Hook, Link, LinkKind};
use crate::aspect::bind::ty::{Prim, Ty};
use crate::bytes::modified_utf8;
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::{Added, Change, put_added};
use crate::jvm::insn::op;
use crate::jvm::pool::{Additions, tag};

/// The class of the hook library that adapters call, in internal form.
const GUARD: &str = "weave/runtime/Guard";

/// Java 8: static methods of interfaces can be called (JVMS 4.9.1).
pub(super) const MAJOR: u16 = 52;

const PUBLIC_FINAL_SUPER_SYNTHETIC: u16 = 0x1031;
const PUBLIC_STATIC: u16 = 0x0009;

/// What is thrown where the library's own calls fail. Where the library is missing, that is said as for all other hooks.
const FAILURE: &[u8] = b"java/lang/VirtualMachineError";

/// Constants of an adapter.
struct Constants {
    begin: u16,
    failed: u16,
    throwable: u16,
    flag: u16,
    failure: u16,
}

/// The code of an adapter under construction.
struct Code {
    out: Snippet,
    /// The exception table: start, end, handler, type.
    tries: Vec<[u16; 4]>,
    frames: Vec<Added>,
    /// What it does where the hook gives nothing.
    falls_back: Snippet,
}

/// The class file of an adapter.
pub fn adapter(hook: &Hook, adapter: &Adapter) -> Vec<u8> {
    let mut additions = Additions::fresh();
    let class = |additions: &mut Additions, name: &[u8]| {
        let name = additions.shared_utf8(name);
        additions.shared(tag::CLASS, &name.to_be_bytes())
    };
    let this = class(&mut additions, &modified_utf8(&adapter.class));
    let object = class(&mut additions, b"java/lang/Object");
    let hooks = emit::descriptor(&hook.parameters, &hook.result);
    let change = adapter.change.as_ref();
    let old = change.map(|change| change.old.clone());
    let taken: Vec<Ty> = hook.parameters.iter().cloned().chain(old).collect();
    let result = change.map_or(&hook.result, |change| &change.to);
    let descriptor = emit::descriptor(&taken, result);
    let called = hook.links.is_empty().then(|| {
        let tag = match hook.owner_is_interface {
            true => tag::INTERFACE_METHODREF,
            false => tag::METHODREF,
        };
        let owner = class(&mut additions, &emit::class_name(&hook.owner));
        additions.shared_method(tag, owner, &modified_utf8(&hook.name), &hooks)
    });
    let guard = class(&mut additions, GUARD.as_bytes());
    let mut of_guard = |name: &str, descriptor: &str| {
        let (name, descriptor) = (name.as_bytes(), descriptor.as_bytes());
        additions.shared_method(tag::METHODREF, guard, name, descriptor)
    };
    let constants = Constants {
        begin: of_guard("begin", "()[Z"),
        failed: of_guard("failed", "(Ljava/lang/Throwable;Ljava/lang/String;)V"),
        throwable: class(&mut additions, b"java/lang/Throwable"),
        flag: class(&mut additions, b"[Z"),
        failure: class(&mut additions, FAILURE),
    };
    let mut code = Code {
        out: Snippet::default(),
        tries: Vec::new(),
        frames: Vec::new(),
        falls_back: falls_back(hook, adapter),
    };
    let parameters: u32 = taken.iter().map(emit::words).sum();
    code.build(
        hook,
        adapter,
        called,
        adapter.recursion.then_some(parameters as u16),
        &constants,
        &mut additions,
    );
    let max_locals = parameters + u32::from(adapter.recursion) + u32::from(called.is_none());
    let attribute = code.attribute(max_locals as u16, &constants, &mut additions);
    let name = additions.shared_utf8(b"call");
    let descriptor = additions.shared_utf8(&descriptor);
    class_file([this, object], [name, descriptor], &attribute, &additions)
}

/// A class of one static method: its own class and `Object`, the method's name and descriptor, and its Code attribute.
pub(super) fn class_file(
    [this, object]: [u16; 2],
    [name, descriptor]: [u16; 2],
    attribute: &[u8],
    additions: &Additions,
) -> Vec<u8> {
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
    out.extend_from_slice(attribute);
    out.extend_from_slice(&[0, 0]);
    out
}

/// What an adapter does where its hook gives nothing: it returns zero, or what was there before, or throws that.
fn falls_back(hook: &Hook, adapter: &Adapter) -> Snippet {
    let mut out = Snippet::default();
    let Some(change) = &adapter.change else {
        out.zero(&hook.result);
        out.xreturn(&hook.result);
        return out;
    };
    let slot: u32 = hook.parameters.iter().map(emit::words).sum();
    if let Some(kind) = Kind::of(&change.old) {
        out.load(kind, slot as u16);
    }
    match change.throws {
        true => out.op(op::ATHROW, 1, 0),
        false => out.xreturn(&change.to),
    }
    out
}

/// Where a chain's adapter has the n-th argument behind the first.
fn slot_of(hook: &Hook, n: usize) -> u16 {
    hook.parameters[..=n].iter().map(emit::words).sum::<u32>() as u16
}

impl Code {
    fn pc(&self) -> u16 {
        self.out.len() as u16
    }

    /// A handler begins, with the exception on the stack.
    fn handler(&mut self) -> u16 {
        let pc = self.pc();
        self.frames.push(Added {
            pc,
            change: Change::Thrown,
        });
        self.out.restart(1);
        pc
    }

    /// The hook gives nothing.
    fn zero(&mut self) {
        self.out.append(&self.falls_back);
    }

    /// The hook's result becomes the adapter's.
    fn convert(&mut self, hook: &Hook, adapter: &Adapter, additions: &mut Additions) {
        match (adapter.change.as_ref().map(|c| c.convert), &hook.result) {
            (Some(Convert::Widen(from, to)), _) => self.out.widen(from, to),
            (Some(Convert::Box), Ty::Prim(prim)) => self.boxes(*prim, additions),
            (Some(Convert::Cast), _) => {
                let to = adapter.change.as_ref().map_or(&hook.result, |c| &c.to);
                let class = additions.shared_utf8(&emit::class_name(to));
                let class = additions.shared(tag::CLASS, &class.to_be_bytes());
                self.out.indexed(op::CHECKCAST, class, 1, 1);
            }
            _ => {}
        }
    }

    fn build(
        &mut self,
        hook: &Hook,
        adapter: &Adapter,
        called: Option<u16>,
        busy: Option<u16>,
        constants: &Constants,
        additions: &mut Additions,
    ) {
        if let Some(busy) = busy {
            self.begin(adapter, busy, constants);
        }
        let start = self.pc();
        let mut slot = 0;
        let mut nulls = Vec::new();
        match called {
            Some(called) => {
                for kind in hook.parameters.iter().filter_map(Kind::of) {
                    self.out.load(kind, slot);
                    slot += kind.words() as u16;
                }
                let given = emit::words(&hook.result);
                self.out.call(called, u32::from(slot), given);
            }
            None => {
                let words = hook.parameters.iter().map(emit::words).sum::<u32>() as u16;
                nulls = self.links(hook, words + busy.map_or(0, |_| 1), additions);
            }
        }
        let called = self.pc();
        self.convert(hook, adapter, additions);
        // A cast can fail as the hook can.
        let end = match adapter.change.as_ref().map(|change| change.convert) {
            Some(Convert::Cast) => self.pc(),
            _ => called,
        };
        self.end(busy);
        let result = adapter.change.as_ref().map_or(&hook.result, |c| &c.to);
        self.out.xreturn(result);
        if !nulls.is_empty() {
            let pc = self.pc();
            self.frames.push(Added {
                pc,
                change: Change::Same,
            });
            for at in nulls {
                self.out.patch(at, pc - at as u16);
            }
            self.out.restart(0);
            self.end(busy);
            self.zero();
        }
        if adapter.guard {
            let handler = self.handler();
            self.tries.push([start, end, handler, 0]);
            let Some(owner) = hook.owner.name() else {
                unreachable!("classes of the JVM have names")
            };
            let name = format!("{}.{}", owner.replace('/', "."), hook.name);
            self.out.string(&name, additions);
            self.out.call(constants.failed, 2, 0);
            let told = self.pc();
            self.end(busy);
            self.zero();
            let untold = self.handler();
            self.tries.push([handler, told, untold, constants.failure]);
            self.out.pop(1);
            self.end(busy);
            self.zero();
            if busy.is_some() {
                let stopped = self.handler();
                self.tries.push([handler, told, stopped, 0]);
                self.end(busy);
                self.out.op(op::ATHROW, 1, 0);
            }
        } else if busy.is_some() {
            let handler = self.handler();
            self.tries.push([start, end, handler, 0]);
            self.end(busy);
            self.out.op(op::ATHROW, 1, 0);
        }
    }

    /// An object of a primitive value.
    fn boxes(&mut self, prim: Prim, additions: &mut Additions) {
        let name = emit::box_class(prim);
        let ty = Ty::Prim(prim);
        let descriptor = emit::descriptor(std::slice::from_ref(&ty), &Ty::class(name));
        let class = additions.shared_utf8(name.as_bytes());
        let class = additions.shared(tag::CLASS, &class.to_be_bytes());
        let method = additions.shared_method(tag::METHODREF, class, b"valueOf", &descriptor);
        self.out.call(method, emit::words(&ty), 1);
    }

    /// The links of a chain, from the first argument on; `local` is free. Returns where they leave it for a null.
    fn links(&mut self, hook: &Hook, local: u16, additions: &mut Additions) -> Vec<u32> {
        let mut nulls = Vec::new();
        let mut from = 0;
        let mut ty = &hook.parameters[0];
        for (i, link) in hook.links.iter().enumerate() {
            if let Ty::Prim(prim) = ty {
                // It is made an object of.
                if i == 0 {
                    self.out.load(Kind::of_prim(*prim), from);
                }
                self.boxes(*prim, additions);
                ty = &link.result;
                continue;
            }
            if i > 0 {
                from = local;
                self.out.store(Kind::REFERENCE, from);
            }
            self.out.load(Kind::REFERENCE, from);
            let owner = additions.shared_utf8(&emit::class_name(&link.owner));
            let owner = additions.shared(tag::CLASS, &owner.to_be_bytes());
            let leaves = match link.kind {
                LinkKind::Cast => {
                    self.out.indexed(op::INSTANCEOF, owner, 1, 1);
                    op::IFEQ
                }
                _ => op::IFNULL,
            };
            nulls.push(self.out.len());
            self.out.indexed(leaves, 0, 1, 0);
            for taken in link.taken() {
                self.out.load(Kind::REFERENCE, slot_of(hook, taken));
                nulls.push(self.out.len());
                self.out.indexed(op::IFNULL, 0, 1, 0);
            }
            self.out.load(Kind::REFERENCE, from);
            self.link(link, (hook, owner), additions);
            ty = &link.result;
        }
        nulls
    }

    /// What a link does with the object on the stack.
    fn link(&mut self, link: &Link, (hook, owner): (&Hook, u16), additions: &mut Additions) {
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
                            self.out.load(Kind::REFERENCE, slot_of(hook, n.into()));
                        }
                        _ => self.constant(argument, additions),
                    }
                }
                let parameters = link.parameters();
                let taken = 1 + parameters.iter().map(emit::words).sum::<u32>();
                let descriptor = emit::descriptor(&parameters, &link.result);
                let tag = match link.owner_is_interface {
                    true => tag::INTERFACE_METHODREF,
                    false => tag::METHODREF,
                };
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
            self.boxes(prim, additions);
        }
    }

    /// The hook begins, unless this thread runs one. The flag goes to the local `busy`.
    fn begin(&mut self, adapter: &Adapter, busy: u16, constants: &Constants) {
        self.out.call(constants.begin, 0, 1);
        let begun = self.pc();
        self.out.store(Kind::REFERENCE, busy);
        self.out.load(Kind::REFERENCE, busy);
        let zero = 3 + self.falls_back.len() as u16;
        let caught = if adapter.guard { zero - 3 + 1 } else { 0 };
        self.out.indexed(op::IFNONNULL, zero + caught, 1, 0);
        self.zero();
        if adapter.guard {
            let handler = self.handler();
            self.tries.push([0, begun, handler, constants.failure]);
            self.out.pop(1);
            self.zero();
        }
        self.frames.push(Added {
            pc: self.pc(),
            change: Change::Local(constants.flag),
        });
        self.out.restart(0);
    }

    /// The hook is over, whatever lies on the stack.
    fn end(&mut self, busy: Option<u16>) {
        if let Some(busy) = busy {
            self.out.load(Kind::REFERENCE, busy);
            self.out.op(op::ICONST_0, 0, 1);
            self.out.op(op::ICONST_0, 0, 1);
            self.out.op(op::BASTORE, 3, 0);
        }
    }

    /// The Code attribute.
    fn attribute(
        &self,
        max_locals: u16,
        constants: &Constants,
        additions: &mut Additions,
    ) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&(self.out.deepest() as u16).to_be_bytes());
        body.extend_from_slice(&max_locals.to_be_bytes());
        body.extend_from_slice(&self.out.len().to_be_bytes());
        body.extend_from_slice(self.out.bytes());
        body.extend_from_slice(&(self.tries.len() as u16).to_be_bytes());
        for n in self.tries.as_flattened() {
            body.extend_from_slice(&n.to_be_bytes());
        }
        if self.frames.is_empty() {
            body.extend_from_slice(&[0, 0]);
        } else {
            let name = additions.shared_utf8(b"StackMapTable");
            let mut map = Vec::new();
            put_added(&mut map, &self.frames, constants.throwable);
            body.extend_from_slice(&[0, 1]);
            put_attribute(&mut body, name, &map);
        }
        let mut out = Vec::new();
        put_attribute(&mut out, additions.shared_utf8(b"Code"), &body);
        out
    }
}

pub(super) fn put_attribute(out: &mut Vec<u8>, name: u16, data: &[u8]) {
    out.extend_from_slice(&name.to_be_bytes());
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
}
