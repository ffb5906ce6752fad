//! Runners: classes whose objects run bodies, for `proceed`. One serves many methods of a package.
//!
//! ```text
//!     final synthetic class weave$hooks$proceed$1f2e3d4c5b6a7988 implements Supplier {
//!         private final int body; private final Object a0, a1; private final int i0, i1;
//!         weave$hooks$proceed$1f2e3d4c5b6a7988(int body, Object a0, int i0) { .. }
//!         public Object get() {
//!             switch (body) {
//!                 case 0: return Client.weave$body$send((Client) a0, i0);
//!                 case 1: return Server.weave$body$stop((Server) a0);
//!             }
//!         }
//!     }
//! ```
//!
//! A class costs a JVM's start far more than a case of a switch. Each runner lies beside the classes whose bodies it runs, so it may
//! call what is of their package.
//!
//! Which runner has which body follows from the order in which methods are planned: their numbers are given before threads weave.

use crate::aspect::bind::call::{Bound, Call, Proceed};
use crate::aspect::bind::layers::layers;
use crate::aspect::bind::ty::Ty;
use crate::aspect::plan::Plan;
use crate::aspect::pointcut::GENERATED;
use crate::bytes::modified_utf8;
use crate::jvm::class::{Class, flag};
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::frames::{Added, Change, put_added};
use crate::jvm::hook_body::HookBody;
use crate::jvm::insn::op;
use crate::jvm::made::{MAJOR, OBJECT, Table, cast, code_of, gives, put_attribute};
use crate::jvm::pool::{Additions, tag};
use crate::jvm::scan;
use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of the code of a runner's method, at most, if it has more than one body. Fewer make more classes, and methods that HotSpot's C2
/// puts into each of their callers (up to 325 bytes), whose code grows by all their cases: Jackson ran slower by half with 300.
const MOST_CODE: usize = 800;

/// Bytes of that code apart from its cases.
const FRAME: usize = 20;

/// `final`, `super` is special (JVMS 4.1-B), made by the weaver.
const CLASS: u16 = 0x1030;

/// A place in a runner: its class, in internal form, and the number of the body there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    pub class: Arc<str>,
    pub number: u16,
}

/// A `proceed` of a class.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProceedPlace {
    /// The method's number.
    pub method: u32,
    /// That of the layer which calls the hook.
    pub layer: usize,
    /// Which of the layer's objects it is.
    pub object: usize,
}

/// How the bodies of a class are run: by copies of hooks, or by runners, in which they have places.
#[derive(Default)]
pub struct Seats {
    /// By the numbers of methods and layers.
    copies: FxHashMap<(u32, usize), Arc<HookBody>>,
    places: FxHashMap<ProceedPlace, Seat>,
    methods: FxHashSet<u32>,
}

impl Seats {
    /// What copies of hooks run. `copied` gives the body of one that may be copied.
    pub fn copying(
        class: &Class<'_>,
        plan: &Plan,
        copied: &dyn Fn(&Call) -> Option<Arc<HookBody>>,
    ) -> Seats {
        let mut seats = Seats::default();
        if is_odd(class) {
            return seats;
        }
        for WithAround {
            method,
            bound,
            body,
        } in bodies(class, plan)
        {
            let parameters = &body.takes[usize::from(body.has_this)..];
            let written = class.pool.utf8(class.methods[method as usize].descriptor);
            // A type whose name is no text, as of the class itself.
            if written.ok() != Some(&emit::descriptor(parameters, &body.result)) {
                continue;
            }
            let words = body.takes.iter().map(emit::words).sum();
            for (layer, made) in layers(bound).iter().enumerate() {
                let hook = made.call.and_then(copied);
                if let Some(hook) = hook.filter(|hook| hook.fits(words, class.major)) {
                    seats.copies.insert((method, layer), hook);
                }
            }
        }
        seats
    }

    /// The hook that is copied for a layer of a method.
    pub fn copy(&self, method: u32, layer: usize) -> Option<&Arc<HookBody>> {
        self.copies.get(&(method, layer))
    }

    /// Whether a method's bodies have places.
    pub fn has(&self, method: u32) -> bool {
        self.methods.contains(&method)
    }

    pub fn get(&self, place: ProceedPlace) -> Option<&Seat> {
        self.places.get(&place)
    }
}

/// Whether the class has a name that is no text, which no type of ours is.
fn is_odd(class: &Class<'_>) -> bool {
    class.name_bytes().ok() != Some(&modified_utf8(&class.name()))
}

/// A planned method that has hooks `around` its body.
struct WithAround<'p> {
    /// Its number.
    method: u32,
    bound: &'p Arc<Bound>,
    /// Without a name.
    body: Body,
}

/// The planned methods of a class that have hooks `around` their bodies.
fn bodies<'p>(class: &'p Class<'_>, plan: &'p Plan) -> impl Iterator<Item = WithAround<'p>> {
    plan.methods.iter().filter_map(|planned| {
        let bound = &plan.bound[planned.bound? as usize];
        bound.around.as_ref()?;
        let method = &class.methods[planned.index as usize];
        let signature = scan::signature_of(class, method)?;
        let owner = class.name();
        let has_this = method.access & flag::STATIC == 0;
        let this = has_this.then(|| Ty::class(&owner));
        let parameters = signature.parameters.iter().map(|p| p.ty.clone());
        let body = Body {
            owner: owner.as_ref().into(),
            name: Vec::new(),
            has_this,
            takes: this.into_iter().chain(parameters).collect(),
            result: signature.result,
        };
        Some(WithAround {
            method: planned.index,
            bound,
            body,
        })
    })
}

/// Gives the bodies of an artifact places in runners, in the artifact's order.
pub struct Runners {
    /// Identifies the artifact: two artifacts may have a package, or even a class, of one name.
    artifact: [u8; 32],
    /// The runners that have room, by package and shape.
    open: FxHashMap<String, Open>,
}

struct Open {
    class: Arc<str>,
    next: u16,
    code: usize,
}

impl Runners {
    /// `artifact`: the names and contents of its classes, or what stands for them.
    pub fn new<'n>(artifact: impl Iterator<Item = (&'n str, u64)>) -> Runners {
        let mut hash = Sha256::new();
        for (name, content) in artifact {
            hash.update(name);
            hash.update(content.to_be_bytes());
        }
        Runners {
            artifact: hash.finalize().into(),
            open: FxHashMap::default(),
        }
    }

    /// Gives places to the bodies of a class's planned methods that no copy of a hook runs. `root` is where classes of its loader lie.
    pub fn seat(&mut self, root: &str, class: &Class<'_>, plan: &Plan, seats: &mut Seats) {
        let name = class.name();
        // All that is in an interface is public or private: its bodies stay private, and others cannot call those.
        if !plan.has_around() || class.access & flag::INTERFACE != 0 || is_odd(class) {
            return;
        }
        let package = &name[..name.rfind('/').map_or(0, |slash| slash + 1)];
        for WithAround {
            method,
            bound,
            body,
        } in bodies(class, plan)
        {
            let label = class.method_label(&class.methods[method as usize]);
            for (layer, made) in layers(bound).iter().enumerate() {
                if seats.copy(method, layer).is_some() {
                    continue;
                }
                for (object, proceed) in made.proceeds().into_iter().enumerate() {
                    let first = || format!("{name} {label} {layer} {object}");
                    let seat = self.place(root, package, proceed, &body, first);
                    let place = ProceedPlace {
                        method,
                        layer,
                        object,
                    };
                    seats.places.insert(place, seat);
                    seats.methods.insert(method);
                }
            }
        }
    }

    /// A place for a body. `first` says which it is, for the name of a new runner.
    fn place(
        &mut self,
        root: &str,
        package: &str,
        proceed: &Proceed,
        body: &Body,
        first: impl Fn() -> String,
    ) -> Seat {
        let room = Fields::of(body.kept(proceed)).rounded();
        let what = format!("{root} {package} {proceed:?} {room:?}");
        let code = body.code_len(proceed);
        if let Some(open) = self.open.get_mut(&what)
            && open.code + code <= MOST_CODE
        {
            open.code += code;
            open.next += 1;
            return Seat {
                class: Arc::clone(&open.class),
                number: open.next - 1,
            };
        }
        let mut hash = Sha256::new();
        hash.update(self.artifact);
        hash.update(&what);
        hash.update(first());
        let digits: String = hash.finalize()[..8]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let class: Arc<str> = format!("{package}{GENERATED}proceed${digits}").into();
        let open = Open {
            class: Arc::clone(&class),
            next: 1,
            code: FRAME + code,
        };
        self.open.insert(what, open);
        Seat { class, number: 0 }
    }
}

/// How many values of each kind a runner keeps, by the order of [`Kind`]: int, long, float, double, reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fields([usize; Kind::COUNT]);

/// What the fields of each kind are called, and their types.
const FIELDS: [(&str, &str); Kind::COUNT] = [
    ("i", "I"),
    ("j", "J"),
    ("f", "F"),
    ("d", "D"),
    ("a", "Ljava/lang/Object;"),
];

/// The field that says which body an object runs.
const WHICH: &str = "body";

impl Fields {
    fn of(kept: &[Ty]) -> Fields {
        let mut fields = Fields::default();
        for kind in kept.iter().filter_map(Kind::of) {
            fields.0[kind.place()] += 1;
        }
        fields
    }

    /// As many as make no object larger than it would be by a word, so that bodies of several shapes share a runner.
    fn rounded(self) -> Fields {
        let mut fields = self;
        for kind in [Kind::INT, Kind::FLOAT, Kind::REFERENCE] {
            let count = &mut fields.0[kind.place()];
            *count = count.next_multiple_of(2);
        }
        let references = &mut fields.0[Kind::REFERENCE.place()];
        *references = (*references).max(2);
        fields
    }

    fn all(self) -> impl Iterator<Item = (String, &'static str)> {
        let of = |(count, (name, ty)): (usize, (&'static str, &'static str))| {
            (0..count).map(move |n| (format!("{name}{n}"), ty))
        };
        self.0.into_iter().zip(FIELDS).flat_map(of)
    }
}

/// A method that a runner calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The class that has it.
    pub owner: Box<str>,
    /// As class files have it.
    pub name: Vec<u8>,
    /// What it takes first is the object of the method that it was.
    pub has_this: bool,
    pub takes: Vec<Ty>,
    pub result: Ty,
}

impl Body {
    /// What an object that runs it keeps.
    fn kept(&self, proceed: &Proceed) -> &[Ty] {
        match proceed.takes_arguments {
            true => &self.takes[..usize::from(self.has_this)],
            false => &self.takes,
        }
    }

    /// How many bytes its case takes at most.
    fn code_len(&self, proceed: &Proceed) -> usize {
        /// The offset in the table, the call, what becomes of the result, and the return.
        const REST: usize = 4 + 3 + 3 + 1;
        let cast = |ty: &Ty| if ty.is_reference() { 3 } else { 0 };
        let kept = self.kept(proceed);
        let read: usize = kept.iter().map(|ty| 1 + 3 + cast(ty)).sum();
        let given = &self.takes[kept.len()..];
        let given: usize = given.iter().map(|_| 2 + 3 + 3).sum();
        REST + read + given
    }

    /// The constructor for it: the number, and what is kept.
    pub fn constructor(&self, proceed: &Proceed) -> Vec<u8> {
        let mut text = String::from("(I");
        for kind in self.kept(proceed).iter().filter_map(Kind::of) {
            text.push_str(FIELDS[kind.place()].1);
        }
        text.push_str(")V");
        text.into_bytes()
    }
}

/// A runner.
#[derive(Clone, Debug)]
pub struct Runner {
    pub class: Arc<str>,
    pub proceed: Arc<Proceed>,
    /// By their numbers. Those of methods that were left are missing.
    pub bodies: BTreeMap<u16, Body>,
}

impl Runner {
    /// Its class file.
    pub fn bytes(&self) -> Vec<u8> {
        let additions = Additions::fresh();
        let mut making = Making {
            runner: self,
            additions,
            this: 0,
            fields: Fields::default(),
        };
        making.this = making.class(&modified_utf8(&self.class));
        for body in self.bodies.values() {
            let fields = Fields::of(body.kept(&self.proceed));
            for (most, count) in making.fields.0.iter_mut().zip(fields.0) {
                *most = (*most).max(count);
            }
        }
        making.class_file()
    }
}

/// A runner under way.
struct Making<'r> {
    runner: &'r Runner,
    additions: Additions,
    /// The constant of its class.
    this: u16,
    fields: Fields,
}

impl Making<'_> {
    fn class(&mut self, name: &[u8]) -> u16 {
        let name = self.additions.shared_utf8(name);
        self.additions.shared(tag::CLASS, &name.to_be_bytes())
    }

    fn class_file(mut self) -> Vec<u8> {
        let above = self.class(b"java/lang/Object");
        let interface = self.class(&emit::class_name(&self.runner.proceed.ty));
        let mut members = Vec::new();
        let kept: Vec<(String, &str)> = self.fields.all().collect();
        members.extend_from_slice(&(1 + kept.len() as u16).to_be_bytes());
        self.put_field(WHICH, "I", &mut members);
        for (name, ty) in kept {
            self.put_field(&name, ty, &mut members);
        }
        let proceed = &self.runner.proceed;
        let constructors: BTreeSet<Vec<u8>> = (self.runner.bodies.values())
            .map(|body| body.constructor(proceed))
            .collect();
        members.extend_from_slice(&(1 + constructors.len() as u16).to_be_bytes());
        for descriptor in &constructors {
            self.put_constructor(above, descriptor, &mut members);
        }
        self.put_run(&mut members);
        // No attributes.
        members.extend_from_slice(&[0, 0]);
        let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        out.extend_from_slice(&MAJOR.to_be_bytes());
        out.extend_from_slice(&self.additions.count().to_be_bytes());
        out.extend_from_slice(self.additions.bytes());
        for n in [CLASS, self.this, above, 1, interface] {
            out.extend_from_slice(&n.to_be_bytes());
        }
        out.extend_from_slice(&members);
        out
    }

    /// The head of a `field_info` or `method_info`, up to the count of its attributes.
    fn put_member(&mut self, access: u16, [name, ty]: [&[u8]; 2], out: &mut Vec<u8>) {
        let (name, ty) = (
            self.additions.shared_utf8(name),
            self.additions.shared_utf8(ty),
        );
        for n in [access, name, ty] {
            out.extend_from_slice(&n.to_be_bytes());
        }
    }

    /// Final, so that a thread which gets an object by a race sees what it keeps.
    fn put_field(&mut self, name: &str, ty: &str, out: &mut Vec<u8>) {
        let access = flag::PRIVATE | flag::FINAL | flag::SYNTHETIC;
        self.put_member(access, [name.as_bytes(), ty.as_bytes()], out);
        out.extend_from_slice(&[0, 0]);
    }

    fn field(&mut self, kind: Kind, n: usize) -> u16 {
        let (name, ty) = FIELDS[kind.place()];
        self.field_named(&format!("{name}{n}"), ty)
    }

    fn field_named(&mut self, name: &str, ty: &str) -> u16 {
        let (name, ty) = (name.as_bytes(), ty.as_bytes());
        self.additions
            .shared_method(tag::FIELDREF, self.this, name, ty)
    }

    /// A constructor that keeps the number and these values.
    fn put_constructor(&mut self, above: u16, descriptor: &[u8], out: &mut Vec<u8>) {
        let mut code = Snippet::default();
        let init = (self.additions).shared_method(tag::METHODREF, above, b"<init>", b"()V");
        code.load(Kind::REFERENCE, 0);
        code.indexed(op::INVOKESPECIAL, init, 1, 0);
        let which = self.field_named(WHICH, "I");
        code.load(Kind::REFERENCE, 0);
        code.load(Kind::INT, 1);
        code.indexed(op::PUTFIELD, which, 2, 0);
        let mut slot = 2;
        let mut counts = Fields::default();
        for kind in kinds(&descriptor[2..]) {
            let field = self.field(kind, counts.0[kind.place()]);
            counts.0[kind.place()] += 1;
            code.load(Kind::REFERENCE, 0);
            code.load(kind, slot);
            code.indexed(op::PUTFIELD, field, 1 + kind.words(), 0);
            slot += kind.words() as u16;
        }
        code.op(op::RETURN, 0, 0);
        self.put_member(flag::SYNTHETIC, [b"<init>", descriptor], out);
        self.put_code(&code, slot, &[], out);
    }

    /// The interface's method, which runs the body.
    fn put_run(&mut self, out: &mut Vec<u8>) {
        let function = &self.runner.proceed.function;
        let words: u32 = function.parameters.iter().map(emit::words).sum();
        let mut code = Snippet::default();
        let mut frames = Vec::new();
        let bodies = &self.runner.bodies;
        match (bodies.first_key_value(), bodies.last_key_value()) {
            (Some((first, body)), Some((last, _))) if first == last => {
                self.put_case(body, &mut code)
            }
            (Some((&first, _)), Some((&last, _))) => {
                let which = self.field_named(WHICH, "I");
                code.load(Kind::REFERENCE, 0);
                code.indexed(op::GETFIELD, which, 1, 1);
                let switch = code.switch(i32::from(first), i32::from(last));
                for number in first..=last {
                    let Some(body) = bodies.get(&number) else {
                        continue;
                    };
                    frames.push(code.len() as u16);
                    code.arrive(&switch, usize::from(number - first));
                    self.put_case(body, &mut code);
                }
                frames.push(code.len() as u16);
                code.otherwise(&switch);
                // No object has such a number.
                code.op(op::ACONST_NULL, 0, 1);
                code.op(op::ATHROW, 1, 0);
            }
            _ => unreachable!("a runner has a body"),
        }
        let name = modified_utf8(&function.name);
        let descriptor = emit::descriptor(&function.parameters, &function.result);
        self.put_member(flag::PUBLIC | flag::FINAL, [&name, &descriptor], out);
        self.put_code(&code, 1 + words as u16, &frames, out);
    }

    /// Runs a body, and returns what it gives.
    fn put_case(&mut self, body: &Body, code: &mut Snippet) {
        let proceed = &self.runner.proceed;
        let function = &proceed.function;
        let kept = body.kept(proceed);
        let mut counts = Fields::default();
        for ty in kept {
            let Some(kind) = Kind::of(ty) else { continue };
            let field = self.field(kind, counts.0[kind.place()]);
            counts.0[kind.place()] += 1;
            code.load(Kind::REFERENCE, 0);
            code.indexed(op::GETFIELD, field, 1, kind.words());
            if ty.is_reference() {
                cast(code, &Ty::class(OBJECT), ty, &mut self.additions);
            }
        }
        let mut slot = 1;
        for (ty, taken) in body.takes[kept.len()..].iter().zip(&function.parameters) {
            let Some(kind) = Kind::of(taken) else {
                continue;
            };
            code.load(kind, slot);
            slot += kind.words() as u16;
            cast(code, taken, ty, &mut self.additions);
        }
        let owner = self.class(&modified_utf8(&body.owner));
        let descriptor = emit::descriptor(&body.takes, &body.result);
        let method = (self.additions).shared_method(tag::METHODREF, owner, &body.name, &descriptor);
        let words = body.takes.iter().map(emit::words).sum();
        code.call(method, words, emit::words(&body.result));
        gives(code, &body.result, &function.result, &mut self.additions);
        code.xreturn(&function.result);
    }

    /// The one attribute of a method. `frames` are where its locals are the parameters, and its stack is empty.
    fn put_code(&mut self, code: &Snippet, max_locals: u16, frames: &[u16], out: &mut Vec<u8>) {
        let mut tables = Vec::new();
        if !frames.is_empty() {
            let change = Change::Same;
            let frames: Vec<Added> = frames.iter().map(|&pc| Added { pc, change }).collect();
            let mut map = Vec::new();
            put_added(&mut map, &frames, 0);
            tables.push(Table {
                name: self.additions.shared_utf8(b"StackMapTable"),
                data: map,
            });
        }
        let body = code_of(code, max_locals, &[], &tables);
        out.extend_from_slice(&[0, 1]);
        put_attribute(out, self.additions.shared_utf8(b"Code"), &body);
    }
}

/// The kinds of a constructor's parameters, by its descriptor from one of them on.
fn kinds(mut descriptor: &[u8]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    while let [letter @ (b'I' | b'J' | b'F' | b'D' | b'L'), rest @ ..] = descriptor {
        kinds.extend(Kind::of_letter(*letter));
        let end = rest
            .iter()
            .position(|b| *b == b';')
            .map_or(0, |end| end + 1);
        descriptor = if *letter == b'L' { &rest[end..] } else { rest };
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::bind::functional::Function;
    use crate::aspect::bind::ty::Prim;

    fn proceed(ty: &str, name: &str, taken: &[Ty], result: Ty) -> Proceed {
        Proceed {
            ty: Ty::class(ty),
            function: Function {
                name: name.into(),
                parameters: taken.into(),
                result,
            },
            takes_arguments: !taken.is_empty(),
        }
    }

    fn supplier() -> Proceed {
        let object = Ty::class(OBJECT);
        proceed("java/util/function/Supplier", "get", &[], object)
    }

    fn body(name: &str, takes: &[Ty], result: Ty) -> Body {
        let this = Ty::class("p/A");
        Body {
            owner: "p/A".into(),
            name: name.as_bytes().to_vec(),
            has_this: true,
            takes: [&[this][..], takes].concat(),
            result,
        }
    }

    fn seats(artifact: &str, bodies: &[(Proceed, Body)]) -> Vec<Seat> {
        let mut runners = Runners::new([(artifact, 1)].into_iter());
        let seat = |(proceed, body): &(Proceed, Body)| {
            let first = || String::from_utf8_lossy(&body.name).into_owned();
            runners.place("", "p/", proceed, body, first)
        };
        bodies.iter().map(seat).collect()
    }

    #[test]
    fn bodies_of_a_package_share_a_runner_up_to_its_size() {
        let text = Ty::class("java/lang/String");
        let runnable = proceed("java/lang/Runnable", "run", &[], Ty::Void);
        let given = seats(
            "a",
            &[
                (supplier(), body("a", &[], Ty::Void)),
                (supplier(), body("b", &[text], Ty::Prim(Prim::I32))),
                (supplier(), body("c", &[Ty::Prim(Prim::I64)], Ty::Void)),
                (runnable, body("d", &[], Ty::Void)),
            ],
        );
        // One reference is as large as two; a long and another interface are others.
        let numbers: Vec<u16> = given.iter().map(|seat| seat.number).collect();
        assert_eq!(numbers, [0, 1, 0, 0]);
        assert_eq!(given[0].class, given[1].class);
        let classes: BTreeSet<&str> = given.iter().map(|seat| &*seat.class).collect();
        assert_eq!(classes.len(), 3);
        let one = |n: usize| (supplier(), body(&format!("m{n}"), &[], Ty::Void));
        let many: Vec<(Proceed, Body)> = (0..200).map(one).collect();
        let given = seats("a", &many);
        let count = |class: &str| given.iter().filter(|seat| &*seat.class == class).count();
        let most = (MOST_CODE - FRAME) / many[0].1.code_len(&many[0].0);
        assert_eq!(count(&given[0].class), most);
        assert!(most > 30, "{most}");
        // Another artifact may have classes of the same names.
        assert_ne!(seats("b", &many)[0].class, given[0].class);
        assert_eq!(seats("a", &many), given);
    }

    #[test]
    fn a_runner_has_a_case_for_each_body_that_was_woven() {
        let prims = [Prim::I64, Prim::Bool, Prim::F64, Prim::F32].map(Ty::Prim);
        let bodies = [
            (0, body("none", &[], Ty::Void)),
            (2, body("all", &prims, Ty::Prim(Prim::I64))),
            (
                3,
                body("array", &[Ty::class("java/lang/String")], Ty::class("p/B")),
            ),
        ];
        let runner = Runner {
            class: "p/R".into(),
            proceed: Arc::new(supplier()),
            bodies: bodies.into(),
        };
        let bytes = runner.bytes();
        let class = Class::parse(&bytes).unwrap();
        let described: Vec<String> = (0..class.methods.len() as u32)
            .map(|index| class.describe(index).unwrap().to_string())
            .collect();
        assert_eq!(
            described,
            [
                "<init>(ILjava/lang/Object;)V",
                "<init>(ILjava/lang/Object;JIDF)V",
                "<init>(ILjava/lang/Object;Ljava/lang/Object;)V",
                "get()Ljava/lang/Object;",
            ]
        );
        let code = class.code(class.methods.last().unwrap()).unwrap().unwrap();
        // aload_0, getfield, tableswitch and its padding; then the default, 0, 3.
        assert_eq!(code.insns[4], op::TABLESWITCH);
        let entry =
            |n: usize| u32::from_be_bytes(code.insns[8 + 4 * n..12 + 4 * n].try_into().unwrap());
        assert_eq!([entry(1), entry(2)], [0, 3]);
        assert_eq!(entry(4), entry(0), "number 1 is missing");
        let cases: BTreeSet<u32> = [0, 3, 4, 5, 6].map(entry).into();
        assert_eq!(cases.len(), 4);
        assert_eq!(code.insns[4 + entry(0) as usize], op::ACONST_NULL);
    }
}
