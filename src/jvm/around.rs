//! Hooks that replace bodies (`around`): the body becomes a separate method, which `proceed` runs.
//!
//! ```text
//!     M             operands, among them [new runner; dup; number; this; arguments; invokespecial]; invokestatic hook; xreturn
//!     weave$body$M  what M was: static, its object the first argument
//! ```
//!
//! Where the hook's own body may be [copied](super::hook_body), the class gets a copy that calls the body itself:
//!
//! ```text
//!     M              this; arguments; operands but `proceed`; invokestatic weave$hook$M; xreturn
//!     weave$hook$M   the hook's body, with a call of weave$body$M for each of `proceed`
//! ```
//!
//! A method with such copies alone has private parts, which are no more static than it is. The parts of others are called by a runner.
//!
//! A static body has no entry in the table of virtual methods, and no subclass overrides it; calls of `super` stay
//! legal in it. It is package-private, since a [runner](super::runner) calls it. A body that takes its object's lock is
//! private, and a static method calls it.
//!
//! Where there is no place for a runner, or the class must have no more members than private ones, parts are private and `proceed` is
//! a lambda: `[this; arguments; invokedynamic]`.
//!
//! The class is split before anything is woven into it; then the hooks outside of an `around` are woven into M, and the others with the
//! recorded pair into its body. Where several aspects have one, there is a method for each between these two.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::bind::call::{Bound, Call, Proceed};
use crate::aspect::bind::layers::{BODY, Layer, Part, layers};
use crate::aspect::bind::ty::{Signature, Ty};
use crate::aspect::plan::{Plan, Planned};
use crate::aspect::serial::{FIELD, Said};
use crate::bytes::{Cursor, modified_utf8};
use crate::error::Result;
use crate::jvm::attributes::first_line;
use crate::jvm::class::{Class, Code, MethodInfo, attributes, flag};
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::hook_body::{HookBody, Target};
use crate::jvm::insn::op;
use crate::jvm::lower::{self, AtStart, Maker};
use crate::jvm::made::{Table, code_of, put_attribute};
use crate::jvm::pool::{self, Additions, Known, tag};
use crate::jvm::runner::{Body, ProceedPlace, Runner, Seat, Seats};
use crate::jvm::scan::{self, Copied};
use crate::jvm::serial;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What makes objects of functional interfaces, and its one method.
const FACTORY: &[u8] = b"java/lang/invoke/LambdaMetafactory";
const METAFACTORY: &[u8] = b"metafactory";
const METAFACTORY_TYPE: &[u8] = b"(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodHandle;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;";

/// Kinds of method handles (JVMS 5.4.3.5).
const REF_INVOKE_STATIC: u8 = 6;
const REF_INVOKE_SPECIAL: u8 = 7;

/// Most constants that a split method adds besides those of calls: names of attributes, a method for each `around` with one that
/// returns null for it, and a field of the class.
const MAX_ADDITIONS: usize = 32 + 5;

/// Most constants that the copy of a hook adds besides its own: its name and that of what it calls, the box of a result or its cast.
const MAX_COPY: usize = 2 * 6 + 6 + 4;

/// Room that is left for what is woven into the class then.
const ROOM: usize = 4 * lower::MAX_ADDITIONS as usize;

/// In front of the name of a hook's copy.
const COPY: &str = "weave$hook$";

/// In front of the name of what calls a body that takes its object's lock.
const LOCKED: &str = "weave$locked$";

/// The longest that stands in front of a method's name.
const LONGEST_PREFIX: usize = 32;

/// A class whose methods with `around` are split.
pub struct Split {
    pub bytes: Vec<u8>,
    /// What is woven into it.
    pub plan: Plan,
    /// The methods that these were, by their numbers in the class as it was.
    pub origins: Vec<u32>,
    /// The methods that are split, and their first lines.
    pub split: FxHashMap<u32, u16>,
    /// Those that cannot be.
    pub left: Vec<(u32, Reason)>,
    /// What it needs beside it, by their names.
    pub runners: BTreeMap<Arc<str>, Runner>,
}

/// Whether a class is split already.
pub fn is_split(class: &Class<'_>) -> bool {
    let is_body = |method: &MethodInfo| {
        (class.pool.utf8(method.name)).is_ok_and(|name| name.starts_with(BODY.as_bytes()))
    };
    class.methods.iter().any(is_body)
}

/// A class under way.
struct Splitting<'s, 'a> {
    class: &'s Class<'a>,
    /// The methods of the class, by name and descriptor.
    declared: FxHashSet<(&'a [u8], &'a [u8])>,
    /// The methods that are not split.
    copied: Copied,
    additions: Additions,
    /// `BootstrapMethods` without its count.
    bootstraps: Vec<u8>,
    bootstrap_count: u16,
    /// Methods behind those that the class has.
    added: Vec<u8>,
    added_count: usize,
    /// What the class declares as `serialVersionUID`; none where serialization does not read it.
    said: Option<Said>,
    /// What runs its bodies.
    seats: &'s Seats,
    /// The bodies that have taken theirs.
    seated: Vec<Seated>,
    /// The names and descriptors of copies of hooks.
    copies: FxHashSet<(Vec<u8>, Vec<u8>)>,
}

/// A body in its place.
struct Seated {
    seat: Seat,
    proceed: Arc<Proceed>,
    body: Body,
}

/// How far a class was when a method's turn came.
struct Mark {
    additions: pool::Mark,
    bootstraps: usize,
    bootstrap_count: u16,
    added: usize,
    added_count: usize,
    seated: usize,
}

/// Splits the planned methods with `around` hooks, except those that are left unwoven.
pub fn split(
    class: &Class<'_>,
    plan: &Plan,
    seats: &Seats,
    leave: &FxHashMap<u32, Reason>,
) -> Result<Split> {
    let mut splitting = Splitting::new(class, seats)?;
    // A class is planned by itself.
    if !plan.not_numbered.contains(&0) {
        splitting.said = Some(serial::declared(class)?.said());
    }
    let mut split = Split {
        bytes: Vec::new(),
        plan: Plan::default(),
        origins: Vec::new(),
        split: FxHashMap::default(),
        left: Vec::new(),
        runners: BTreeMap::new(),
    };
    let mut planned: Vec<(Planned, u32)> = Vec::new();
    let mut changed: FxHashMap<u32, Vec<u8>> = FxHashMap::default();
    split.plan.bound.clone_from(&plan.bound);
    for one in &plan.methods {
        let bound = one.bound.map(|place| &plan.bound[place as usize]);
        let Some(bound) = bound.filter(|bound| bound.around.is_some()) else {
            planned.push((*one, one.index));
            continue;
        };
        if leave.contains_key(&one.index) {
            continue;
        }
        let mark = splitting.mark();
        let method = &class.methods[one.index as usize];
        let attempt = splitting.split(one, bound);
        match settle(attempt).map_err(|e| e.in_method(class.method_label(method)))? {
            Err(reason) => {
                splitting.rollback(mark);
                split.left.push((one.index, reason));
            }
            Ok(done) => {
                for part in done.parts {
                    if part.advice == Advice::default() {
                        continue;
                    }
                    let hooks = part.hooks.filter(|_| part.advice.has(Advice::OWN));
                    let bound = hooks.map(|hooks| {
                        split.plan.bound.push(hooks);
                        split.plan.bound.len() as u32 - 1
                    });
                    let layer = Planned {
                        index: part.index,
                        advice: part.advice,
                        bound,
                        ..*one
                    };
                    planned.push((layer, one.index));
                }
                changed.insert(one.index, done.method);
                split.split.insert(one.index, done.line);
            }
        }
    }
    planned.sort_by_key(|(planned, _)| planned.index);
    (split.plan.methods, split.origins) = planned.into_iter().unzip();
    for Seated {
        seat,
        proceed,
        body,
    } in std::mem::take(&mut splitting.seated)
    {
        let runner = split
            .runners
            .entry(Arc::clone(&seat.class))
            .or_insert_with(|| Runner {
                class: seat.class,
                proceed,
                bodies: BTreeMap::new(),
            });
        runner.bodies.insert(seat.number, body);
    }
    split.bytes = splitting.class_file(&changed)?;
    Ok(split)
}

/// A method that is split.
struct Done {
    /// Its `method_info`.
    method: Vec<u8>,
    line: u16,
    /// It and the methods that it became.
    parts: Vec<Woven>,
}

/// One of these methods, by its number, and what is woven into it.
struct Woven {
    index: u32,
    advice: Advice,
    hooks: Option<Arc<Bound>>,
}

/// What a method has in all its parts.
struct Whole<'w, 'a> {
    index: u32,
    info: &'w MethodInfo,
    name: &'a [u8],
    code: Code<'a>,
    signature: Signature,
    id: u32,
    line: u16,
    /// Runners call its parts.
    is_run_elsewhere: bool,
    /// The descriptor of its parts.
    descriptor: u16,
}

impl Whole<'_, '_> {
    /// Access flags of its parts, with those of its own that they keep.
    fn flags(&self, kept: u16) -> u16 {
        let kept = self.info.access & kept;
        match self.is_run_elsewhere {
            true => flag::STATIC | flag::SYNTHETIC | kept,
            false => self.private_flags() | kept,
        }
    }

    fn private_flags(&self) -> u16 {
        flag::PRIVATE | flag::SYNTHETIC | self.info.access & flag::STATIC
    }

    /// A lock of its object is taken by a method of that alone.
    fn keeps_lock(&self) -> bool {
        let locks = self.info.access & flag::SYNCHRONIZED != 0;
        locks && self.is_run_elsewhere && !self.is_static()
    }

    /// What calls a body that keeps its lock.
    fn locked(&self) -> Vec<u8> {
        [LOCKED.as_bytes(), self.name].concat()
    }

    /// What its static parts take.
    fn taken(&self, class: &Class<'_>) -> Vec<Ty> {
        let this = (!self.is_static()).then(|| Ty::class(&class.name()));
        this.into_iter().chain(self.parameters().cloned()).collect()
    }

    fn is_static(&self) -> bool {
        self.info.access & flag::STATIC != 0
    }

    fn parameters(&self) -> impl Iterator<Item = &Ty> {
        self.signature.parameters.iter().map(|p| &p.ty)
    }
}

impl<'a> Splitting<'_, 'a> {
    fn new<'s>(class: &'s Class<'a>, seats: &'s Seats) -> Result<Splitting<'s, 'a>> {
        let mut declared = FxHashSet::default();
        for method in &class.methods {
            declared.insert((
                class.pool.utf8(method.name)?,
                class.pool.utf8(method.descriptor)?,
            ));
        }
        let mut splitting = Splitting {
            class,
            declared,
            copied: Copied::of(class),
            additions: Additions::default(),
            bootstraps: Vec::new(),
            bootstrap_count: 0,
            added: Vec::new(),
            added_count: 0,
            said: None,
            seats,
            seated: Vec::new(),
            copies: FxHashSet::default(),
        };
        splitting.additions.reset(&class.pool);
        attributes(class.bytes, class.attributes, |a| {
            if class.pool.utf8(a.name)? == b"BootstrapMethods" {
                splitting.bootstrap_count = Cursor::new(a.data).be_u16()?;
                splitting.bootstraps = a.data[2..].to_vec();
            }
            Ok(())
        })?;
        Ok(splitting)
    }

    fn mark(&self) -> Mark {
        Mark {
            additions: self.additions.mark(),
            bootstraps: self.bootstraps.len(),
            bootstrap_count: self.bootstrap_count,
            added: self.added.len(),
            added_count: self.added_count,
            seated: self.seated.len(),
        }
    }

    fn rollback(&mut self, mark: Mark) {
        self.additions.rollback(mark.additions);
        self.bootstraps.truncate(mark.bootstraps);
        self.bootstrap_count = mark.bootstrap_count;
        self.added.truncate(mark.added);
        self.added_count = mark.added_count;
        self.seated.truncate(mark.seated);
    }

    fn split(&mut self, planned: &Planned, bound: &Arc<Bound>) -> Attempt<Done> {
        let whole = self.whole(planned)?;
        let all = layers(bound);
        let names: Vec<Vec<u8>> = (all.iter())
            .map(|layer| [layer.part.prefix().as_bytes(), whole.name].concat())
            .collect();
        let mut done = Done {
            method: Vec::new(),
            line: whole.line,
            parts: Vec::new(),
        };
        for (number, layer) in all.iter().enumerate() {
            let mut takes_this = whole.is_run_elsewhere && !whole.is_static();
            match (layer.part, layer.call) {
                (part, Some(call)) => {
                    self.check_room(&whole, call, self.seats.copy(planned.index, number))?;
                    let target = match all[number + 1].part {
                        Part::Body if whole.keeps_lock() => whole.locked(),
                        _ => names[number + 1].clone(),
                    };
                    let code = self.code_of(&whole, layer, number, &target)?;
                    match part {
                        Part::Whole => done.method = self.method_info(&whole, &code)?,
                        _ => self.add(whole.flags(0), &names[number], whole.descriptor, &code),
                    }
                }
                (_, None) => {
                    self.add_body(&whole, &names[number])?;
                    takes_this &= !whole.keeps_lock();
                }
            }
            let is_whole = layer.part == Part::Whole;
            done.parts.push(Woven {
                index: if is_whole { planned.index } else { self.last() },
                advice: layer.advice_of(planned),
                hooks: match takes_this && !is_whole {
                    true => layer.hooks_taking_this(),
                    false => layer.hooks.clone(),
                },
            });
        }
        if self.class.methods.len() + self.added_count > usize::from(u16::MAX) {
            return Err(Reason::PoolFull.into());
        }
        Ok(done)
    }

    /// What a method has that can be split.
    fn whole<'w>(&mut self, planned: &Planned) -> Attempt<Whole<'w, 'a>>
    where
        Self: 'w,
    {
        let class = self.class;
        let info = &class.methods[planned.index as usize];
        let code = class.code(info)?.ok_or(Reason::NoBody)?;
        if let Some(reason) = self.copied.refuses(class, info) {
            return Err(reason.into());
        }
        let loses_lock = info.access & (flag::SYNCHRONIZED | flag::PRIVATE) == flag::SYNCHRONIZED;
        if loses_lock && self.said == Some(Said::Wrong) {
            return Err(Reason::SerialNumber.into());
        }
        let mut whole = Whole {
            index: planned.index,
            info,
            name: class.pool.utf8(info.name)?,
            code,
            signature: scan::signature_of(class, info).ok_or(Reason::Unsupported)?,
            id: planned.id,
            line: first_line(class, &code)?,
            // What is not private counts for the number for serialization.
            is_run_elsewhere: self.seats.has(planned.index) && self.said != Some(Said::Wrong),
            descriptor: info.descriptor,
        };
        if whole.name.len() + LONGEST_PREFIX > usize::from(u16::MAX) {
            return Err(Reason::Unsupported.into());
        }
        if whole.is_run_elsewhere && !whole.is_static() {
            let descriptor = emit::descriptor(&whole.taken(class), &whole.signature.result);
            // `f()` of an A, and `f(A)`: the parts of both would be one method.
            if self.declared.contains(&(whole.name, &*descriptor)) {
                whole.is_run_elsewhere = false;
            } else {
                whole.descriptor = self.additions.shared_utf8(&descriptor);
            }
        }
        Ok(whole)
    }

    /// Whether there is room for the call of a hook in place of a body.
    fn check_room(
        &self,
        whole: &Whole<'_, 'a>,
        call: &Call,
        copied: Option<&Arc<HookBody>>,
    ) -> Attempt<()> {
        /// Constants for a type of a copy's frames and for what it calls there.
        const TYPE: usize = 2;
        let copy = copied.map_or(0, |hook| {
            hook.constants() + MAX_COPY + TYPE * (1 + whole.parameters().count())
        });
        let needed = MAX_ADDITIONS + lower::constants_of_around(call) + copy + ROOM;
        let bootstraps = usize::from(u16::MAX - self.bootstrap_count);
        match usize::from(self.additions.room()) < needed || bootstraps < call.operands.len() {
            true => Err(Reason::PoolFull.into()),
            false => Ok(()),
        }
    }

    /// Adds the body, and in front of it what calls one that takes its object's lock.
    fn add_body(&mut self, whole: &Whole<'_, 'a>, name: &[u8]) -> Attempt<()> {
        let class = self.class;
        let range = whole.info.code.clone().ok_or(Reason::NoBody)?;
        let kept = flag::SYNCHRONIZED | flag::STRICT;
        if !whole.keeps_lock() {
            self.add(
                whole.flags(kept),
                name,
                whole.descriptor,
                &class.bytes[range],
            );
            return Ok(());
        }
        let parameters: Vec<Ty> = whole.parameters().cloned().collect();
        let result = &whole.signature.result;
        let called = self.method(name, &emit::descriptor(&parameters, result));
        let mut out = Snippet::default();
        let words = self.put_call(whole, called, &mut out);
        out.xreturn(result);
        let attribute = self.attribute(&out, words, &[]);
        self.add(
            whole.flags(0),
            &whole.locked(),
            whole.descriptor,
            &attribute,
        );
        let flags = whole.private_flags() | whole.info.access & kept;
        self.add(flags, name, whole.info.descriptor, &class.bytes[range]);
        Ok(())
    }

    /// The number of the method that was added last.
    fn last(&self) -> u32 {
        (self.class.methods.len() + self.added_count) as u32 - 1
    }

    /// Adds a method with this Code attribute.
    fn add(&mut self, access: u16, name: &[u8], descriptor: u16, code: &[u8]) {
        let name = self.additions.shared_utf8(name);
        for n in [access, name, descriptor, 1] {
            self.added.extend_from_slice(&n.to_be_bytes());
        }
        self.added.extend_from_slice(code);
        self.added_count += 1;
    }

    /// The method as it was, with other code. Its lock goes with the body.
    fn method_info(&self, whole: &Whole<'_, 'a>, code: &[u8]) -> Result<Vec<u8>> {
        let bytes = self.class.bytes;
        let start = whole.info.range.start;
        let access = whole.info.access & !flag::SYNCHRONIZED;
        let mut out = access.to_be_bytes().to_vec();
        out.extend_from_slice(&bytes[start + 2..start + 8]);
        attributes(bytes, start + 6, |a| {
            let end = a.offset() + a.data.len();
            match whole
                .info
                .code
                .as_ref()
                .is_some_and(|own| own.start == a.start)
            {
                true => out.extend_from_slice(code),
                false => out.extend_from_slice(&bytes[a.start..end]),
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The Code attribute of a method that calls a hook, which gets what runs the method `target`. `number`: the layer's.
    fn code_of(
        &mut self,
        whole: &Whole<'_, 'a>,
        layer: &Layer<'_>,
        number: usize,
        target: &[u8],
    ) -> Attempt<Vec<u8>> {
        let call = layer.call.ok_or(Reason::Unsupported)?;
        let copied = self.seats.copy(whole.index, number).cloned();
        let mut proceeds: Vec<(Proceed, Maker)> = Vec::new();
        let mut null = None;
        for (n, proceed) in layer.proceeds().into_iter().enumerate() {
            let maker = match &copied {
                Some(hook) => Maker::Copy(self.copy(whole, hook, target)?),
                None if whole.is_run_elsewhere => {
                    let place = ProceedPlace {
                        method: whole.index,
                        layer: number,
                        object: n,
                    };
                    let seat = self.seats.get(place).ok_or(Reason::Unsupported)?.clone();
                    self.runner(whole, proceed, target, seat)
                }
                None => Maker::Lambda(self.lambda(whole, proceed, (target, number + 1), &mut null)),
            };
            proceeds.push(((**proceed).clone(), maker));
        }
        let mut out = Snippet::default();
        let at_start = AtStart {
            class: self.class,
            method: whole.info,
            id: whole.id,
            line: whole.line,
        };
        let max_locals = at_start.put_around(call, &proceeds, &mut self.additions, &mut out)?;
        if out.len() > lower::MAX_CODE {
            return Err(Reason::CodeTooLarge.into());
        }
        let tables = self.tables(whole, out.len() as u16)?;
        Ok(self.attribute(&out, max_locals, &tables))
    }

    /// A Code attribute.
    fn attribute(&mut self, out: &Snippet, max_locals: u16, tables: &[Table]) -> Vec<u8> {
        let body = code_of(out, max_locals, &[], tables);
        let code = self.name(Known::Code, "Code");
        let mut attribute = Vec::new();
        put_attribute(&mut attribute, code, &body);
        attribute
    }

    fn name(&mut self, known: Known, text: &str) -> u16 {
        match self.class.pool.known(known) {
            0 => self.additions.shared_utf8(text.as_bytes()),
            index => index,
        }
    }

    /// Its first line, and the names of its parameters: debuggers show them, and frameworks read them.
    fn tables(&mut self, whole: &Whole<'_, 'a>, len: u16) -> Result<Vec<Table>> {
        let mut tables = Vec::new();
        if whole.line != 0 {
            let name = self.name(Known::LineNumberTable, "LineNumberTable");
            let [high, low] = whole.line.to_be_bytes();
            tables.push(Table {
                name,
                data: vec![0, 1, 0, 0, high, low],
            });
        }
        let words: u32 = whole.parameters().map(emit::words).sum();
        let words = words + u32::from(!whole.is_static());
        attributes(self.class.bytes, whole.code.attributes, |a| {
            if !matches!(
                self.class.pool.which(a.name),
                Some(Known::LocalVariableTable | Known::LocalVariableTypeTable)
            ) {
                return Ok(());
            }
            let mut cursor = Cursor::new(a.data);
            let (mut count, mut entries) = (0u16, Vec::new());
            // One entry for each name in a variable: of two of one length HotSpot refuses the class.
            let mut seen: FxHashSet<[u8; 4]> = FxHashSet::default();
            for _ in 0..cursor.be_u16()? {
                let (start, _) = (cursor.be_u16()?, cursor.be_u16()?);
                let rest = cursor.take(6)?;
                let slot = u16::from_be_bytes([rest[4], rest[5]]);
                let named = [rest[0], rest[1], rest[4], rest[5]];
                if start == 0 && u32::from(slot) < words && seen.insert(named) {
                    entries.extend_from_slice(&[0, 0]);
                    entries.extend_from_slice(&len.to_be_bytes());
                    entries.extend_from_slice(rest);
                    count += 1;
                }
            }
            if count > 0 {
                tables.push(Table {
                    name: a.name,
                    data: [&count.to_be_bytes()[..], &entries].concat(),
                });
            }
            Ok(())
        })?;
        Ok(tables)
    }

    /// Adds the copy of a hook which calls the method `target`; gives its constant.
    fn copy(&mut self, whole: &Whole<'_, 'a>, hook: &HookBody, target: &[u8]) -> Attempt<u16> {
        let takes = whole.taken(self.class);
        let result = &whole.signature.result;
        let is_plain = whole.is_run_elsewhere || whole.is_static();
        let descriptor = match whole.is_run_elsewhere {
            true => emit::descriptor(&takes, result),
            false => self.class.pool.utf8(whole.info.descriptor)?.to_vec(),
        };
        let target = Target {
            opcode: if is_plain {
                op::INVOKESTATIC
            } else {
                op::INVOKESPECIAL
            },
            method: self.method(target, &descriptor),
            takes: &takes,
            has_this: !whole.is_static(),
            result,
        };
        let copied = hook.copy(&target, self.class, &mut self.additions)?;
        let mut tables = Vec::new();
        if let Some(frames) = copied.frames {
            tables.push(Table {
                name: self.name(Known::StackMapTable, "StackMapTable"),
                data: frames,
            });
        }
        let body = code_of(&copied.out, copied.max_locals, &copied.tries, &tables);
        let mut attribute = Vec::new();
        put_attribute(&mut attribute, self.name(Known::Code, "Code"), &body);
        let descriptor = hook.descriptor(&target);
        let name = self.name_of_copy(whole, &descriptor);
        let constant = self.method(&name, &descriptor);
        let descriptor = self.additions.shared_utf8(&descriptor);
        let access = flag::PRIVATE | flag::STATIC | flag::SYNTHETIC;
        self.add(access, &name, descriptor, &attribute);
        Ok(constant)
    }

    /// A name that no other method of this descriptor has: those of overloads may differ in nothing else.
    fn name_of_copy(&mut self, whole: &Whole<'_, 'a>, descriptor: &[u8]) -> Vec<u8> {
        let mut name = [COPY.as_bytes(), whole.name].concat();
        let mut n = 1;
        while !self.copies.insert((name.clone(), descriptor.to_vec())) {
            n += 1;
            name = [format!("weave$hook{n}$").as_bytes(), whole.name].concat();
        }
        name
    }

    /// What makes a runner's object which runs the method `target`.
    fn runner(
        &mut self,
        whole: &Whole<'_, 'a>,
        proceed: &Arc<Proceed>,
        target: &[u8],
        seat: Seat,
    ) -> Maker {
        let body = Body {
            owner: self.class.name().as_ref().into(),
            name: target.to_vec(),
            has_this: !whole.is_static(),
            takes: whole.taken(self.class),
            result: whole.signature.result.clone(),
        };
        let class = self
            .additions
            .class(&self.class.pool, &modified_utf8(&seat.class));
        let descriptor = body.constructor(proceed);
        let constructor =
            (self.additions).shared_method(tag::METHODREF, class, b"<init>", &descriptor);
        let number = seat.number;
        self.seated.push(Seated {
            seat,
            proceed: Arc::clone(proceed),
            body,
        });
        Maker::Runner {
            class,
            constructor,
            number,
        }
    }

    /// The constant of the `invokedynamic` that makes an object which runs the method `target`.
    fn lambda(
        &mut self,
        whole: &Whole<'_, 'a>,
        proceed: &Proceed,
        (target, place): (&[u8], usize),
        null: &mut Option<u16>,
    ) -> u16 {
        let function = &proceed.function;
        let result = &whole.signature.result;
        let parameters: Vec<Ty> = whole.parameters().cloned().collect();
        let own = emit::descriptor(&parameters, result);
        let runs = match (result, &function.result) {
            (Ty::Void, given) if *given != Ty::Void => match *null {
                Some(known) => known,
                None => *null.insert(self.returns_null(whole, target, place)),
            },
            _ => self.method(target, &own),
        };
        let this = (!whole.is_static()).then(|| Ty::class(&self.class.name()));
        let kept = match proceed.takes_arguments {
            true => &[][..],
            false => &parameters,
        };
        let kept: Vec<Ty> = this.into_iter().chain(kept.iter().cloned()).collect();
        // What it is called with and gives, as near to the method as the interface allows (LambdaMetafactory).
        let near = |own: &Ty, declared: &Ty| match own {
            Ty::Prim(prim) if declared.is_reference() => Ty::class(emit::box_class(*prim)),
            own => own.clone(),
        };
        let given = match result {
            Ty::Prim(_) => near(result, &function.result),
            _ => function.result.clone(),
        };
        let taken: Vec<Ty> = (parameters.iter().zip(&function.parameters))
            .map(|(own, declared)| near(own, declared))
            .collect();
        let declared = self.method_type(&function.parameters, &function.result);
        let near = self.method_type(&taken, &given);
        let kind = match whole.is_static() {
            true => REF_INVOKE_STATIC,
            false => REF_INVOKE_SPECIAL,
        };
        let runs = self.handle(kind, runs);
        let factory = self.additions.class(&self.class.pool, FACTORY);
        let factory =
            (self.additions).shared_method(tag::METHODREF, factory, METAFACTORY, METAFACTORY_TYPE);
        let factory = self.handle(REF_INVOKE_STATIC, factory);
        for n in [factory, 3, declared, runs, near] {
            self.bootstraps.extend_from_slice(&n.to_be_bytes());
        }
        let bootstrap = self.bootstrap_count;
        self.bootstrap_count += 1;
        let name = self.additions.shared_utf8(&modified_utf8(&function.name));
        let descriptor = emit::descriptor(&kept, &proceed.ty);
        let descriptor = self.additions.shared_utf8(&descriptor);
        let named = self.additions.pair(tag::NAME_AND_TYPE, name, descriptor);
        self.additions.pair(tag::INVOKE_DYNAMIC, bootstrap, named)
    }

    fn method_type(&mut self, parameters: &[Ty], result: &Ty) -> u16 {
        let descriptor = emit::descriptor(parameters, result);
        let descriptor = self.additions.shared_utf8(&descriptor);
        (self.additions).shared(tag::METHOD_TYPE, &descriptor.to_be_bytes())
    }

    fn handle(&mut self, kind: u8, method: u16) -> u16 {
        let [high, low] = method.to_be_bytes();
        (self.additions).shared(tag::METHOD_HANDLE, &[kind, high, low])
    }

    /// The constant of a method of the class.
    fn method(&mut self, name: &[u8], descriptor: &[u8]) -> u16 {
        let tag = match self.class.access & flag::INTERFACE {
            0 => tag::METHODREF,
            _ => tag::INTERFACE_METHODREF,
        };
        let this = self.class.this_class();
        (self.additions).shared_method(tag, this, name, descriptor)
    }

    /// Adds a method that runs `target`, which returns nothing, and returns null for it; gives its constant.
    fn returns_null(&mut self, whole: &Whole<'_, 'a>, target: &[u8], place: usize) -> u16 {
        let parameters: Vec<Ty> = whole.parameters().cloned().collect();
        let called = self.method(target, &emit::descriptor(&parameters, &Ty::Void));
        let mut out = Snippet::default();
        let slot = self.put_call(whole, called, &mut out);
        out.op(op::ACONST_NULL, 0, 1);
        out.op(op::ARETURN, 1, 0);
        let mut name = format!("weave$null{place}$").into_bytes();
        name.extend_from_slice(whole.name);
        let object = Ty::class("java/lang/Object");
        let descriptor = emit::descriptor(&parameters, &object);
        let constant = self.method(&name, &descriptor);
        let attribute = self.attribute(&out, slot, &[]);
        let descriptor = self.additions.shared_utf8(&descriptor);
        self.add(whole.flags(0), &name, descriptor, &attribute);
        constant
    }

    /// The call of a private method with all that the method at hand takes; returns how many words that is.
    fn put_call(&self, whole: &Whole<'_, 'a>, called: u16, out: &mut Snippet) -> u16 {
        let mut slot = 0;
        let this = (!whole.is_static()).then_some(Kind::REFERENCE);
        for kind in this
            .into_iter()
            .chain(whole.parameters().filter_map(Kind::of))
        {
            out.load(kind, slot);
            slot += kind.words() as u16;
        }
        let given = emit::words(&whole.signature.result);
        match whole.is_static() {
            true => out.call(called, slot.into(), given),
            false => out.indexed(op::INVOKESPECIAL, called, slot.into(), given),
        }
        slot
    }

    /// The class with these methods instead of the old ones. A class without a `serialVersionUID` gets its old default
    /// one.
    fn class_file(mut self, changed: &FxHashMap<u32, Vec<u8>>) -> Result<Vec<u8>> {
        if changed.is_empty() {
            return Ok(self.class.bytes.to_vec());
        }
        let attributes = self.class_attributes()?;
        let bytes = self.with_fields(changed, &attributes, None)?;
        if self.said != Some(Said::Nothing) {
            return Ok(bytes);
        }
        let number = serial::declared(self.class)?.default_number();
        if serial::declared(&Class::parse(&bytes)?)?.default_number() == number {
            return Ok(bytes);
        }
        let field = self.number_field(number);
        self.with_fields(changed, &attributes, Some(&field))
    }

    /// The class's attributes, with their count in front.
    fn class_attributes(&mut self) -> Result<Vec<u8>> {
        let class = self.class;
        let bootstraps = match self.bootstrap_count {
            0 => Vec::new(),
            count => [&count.to_be_bytes()[..], &self.bootstraps].concat(),
        };
        let mut out = vec![0, 0];
        let (mut count, mut has_bootstraps) = (0u16, bootstraps.is_empty());
        attributes(class.bytes, class.attributes, |a| {
            match class.pool.utf8(a.name)? == b"BootstrapMethods" {
                true => {
                    put_attribute(&mut out, a.name, &bootstraps);
                    has_bootstraps = true;
                }
                false => {
                    let end = a.offset() + a.data.len();
                    out.extend_from_slice(&class.bytes[a.start..end]);
                }
            }
            count += 1;
            Ok(())
        })?;
        if !has_bootstraps {
            let name = self.additions.shared_utf8(b"BootstrapMethods");
            put_attribute(&mut out, name, &bootstraps);
            count += 1;
        }
        out[..2].copy_from_slice(&count.to_be_bytes());
        Ok(out)
    }

    /// The `field_info` of the number for serialization (JVMS 4.5, 4.7.2).
    fn number_field(&mut self, number: i64) -> Vec<u8> {
        let value = (self.additions).shared(tag::LONG, &number.to_be_bytes());
        let [name, descriptor, constant] =
            [FIELD, "J", "ConstantValue"].map(|text| self.additions.shared_utf8(text.as_bytes()));
        let access = flag::PRIVATE | flag::STATIC | flag::FINAL | flag::SYNTHETIC;
        let mut field: Vec<u8> = [access, name, descriptor, 1]
            .iter()
            .flat_map(|n| n.to_be_bytes())
            .collect();
        put_attribute(&mut field, constant, &value.to_be_bytes());
        field
    }

    fn with_fields(
        &self,
        changed: &FxHashMap<u32, Vec<u8>>,
        attributes: &[u8],
        field: Option<&[u8]>,
    ) -> Result<Vec<u8>> {
        let class = self.class;
        let methods = class.methods.len() + self.added_count;
        let mut out = class.bytes[..8].to_vec();
        out.extend_from_slice(&self.additions.count().to_be_bytes());
        out.extend_from_slice(&class.bytes[10..class.pool.end()]);
        out.extend_from_slice(self.additions.bytes());
        let start = class.pool.end();
        let interfaces = usize::from(Cursor::at(class.bytes, start + 6).be_u16()?);
        let fields = start + 8 + 2 * interfaces;
        let count = Cursor::at(class.bytes, fields).be_u16()? + u16::from(field.is_some());
        out.extend_from_slice(&class.bytes[start..fields]);
        out.extend_from_slice(&count.to_be_bytes());
        // Methods follow the fields.
        let end = (class.methods.first()).map_or(class.attributes, |first| first.range.start);
        out.extend_from_slice(&class.bytes[fields + 2..end - 2]);
        out.extend_from_slice(field.unwrap_or_default());
        out.extend_from_slice(&(methods as u16).to_be_bytes());
        for (index, method) in class.methods.iter().enumerate() {
            match changed.get(&(index as u32)) {
                Some(changed) => out.extend_from_slice(changed),
                None => out.extend_from_slice(&class.bytes[method.range.clone()]),
            }
        }
        out.extend_from_slice(&self.added);
        out.extend_from_slice(attributes);
        Ok(out)
    }
}
