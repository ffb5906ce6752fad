//! Hooks of one's own: what their calls name, and the adapters through which they are called.
//!
//! A dex gets the adapters that its methods call, each a class:
//!
//! ```text
//!     public final synthetic class weave.hooks.begin_1f2e3d4c {
//!         public static synthetic Object call(Object o, String s) {
//!             boolean[] busy = Guard.begin();
//!             if (busy == null) return null;
//!             Object r = null;
//!             try { r = Sql.begin(o, s); } catch (Throwable t) { Guard.failed(t, "acme.Sql.begin"); }
//!             busy[0] = false;
//!             return r;
//!         }
//!     }
//! ```
//!
//! All that is in it names the class, so of two in one app either serves.

use crate::aspect::bind::call::{
    Adapter, Call, Constant, ConstantValue, Convert, Hook, Link, LinkKind, Operand, Source,
};
use crate::aspect::bind::ty::{Language, Prim, Ty};
use crate::aspect::plan::{Plan, Planned};
use crate::bytes::{modified_utf8, put_uleb32};
use crate::dex::format::class::{ClassDef, flag};
use crate::dex::format::code_item;
use crate::dex::format::file::File;
use crate::dex::format::insn;
use crate::dex::format::opcodes::op;
use crate::dex::hooks::THROWABLE;
use crate::dex::ids::{Added, NewClass, Wanted, WantedField, Wants};
use crate::dex::lower::own::{calls, widening};
use crate::dex::lower::own_frame::{BOXED, Names, place_of};
use crate::dex::lower::registers::{self, Width};
use crate::error::Result;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Descriptor of the class that adapters report to.
const GUARD: &[u8] = b"Lweave/runtime/Guard;";
const OBJECT: &[u8] = b"Ljava/lang/Object;";
const OBJECTS: &[u8] = b"[Ljava/lang/Object;";
const STRING: &[u8] = b"Ljava/lang/String;";

const BEGIN: Wanted<'static> = Wanted {
    class: GUARD,
    name: b"begin",
    parameters: &[],
    returns: b"[Z",
};
const FAILED: Wanted<'static> = Wanted {
    class: GUARD,
    name: b"failed",
    parameters: &[THROWABLE, STRING],
    returns: b"V",
};
const NANO_TIME: Wanted<'static> = Wanted {
    class: b"Ljava/lang/System;",
    name: b"nanoTime",
    parameters: &[],
    returns: b"J",
};

/// What the own hooks of a dex's planned methods name, each once, in the order in which they come.
#[derive(Default)]
pub(crate) struct Needs {
    hooks: Vec<Arc<Hook>>,
    adapters: Vec<(Arc<Hook>, Adapter)>,
    texts: Vec<Arc<str>>,
    boxed: Vec<Prim>,
    unboxed: Vec<Prim>,
    types: Vec<Ty>,
    /// The fields that chains read.
    fields: Vec<Link>,
    nano_time: bool,
    objects: bool,
}

/// A method with its descriptors.
#[derive(Clone)]
pub(crate) struct Method {
    pub class: Vec<u8>,
    pub name: Vec<u8>,
    pub parameters: Vec<Vec<u8>>,
    pub returns: Vec<u8>,
}

impl Needs {
    /// What planned methods need.
    pub fn of(plan: &Plan, planned: &[Planned]) -> Needs {
        let bound = || planned.iter().filter_map(|planned| plan.bound(planned));
        let mut needs = Needs::of_calls(bound().flat_map(calls));
        needs.nano_time = bound().any(|bound| bound.keep.duration);
        needs
    }

    /// What calls need.
    pub fn of_calls<'c>(all: impl Iterator<Item = &'c Call>) -> Needs {
        let mut needs = Needs::default();
        let mut hooks = FxHashSet::default();
        let mut adapters: FxHashSet<&str> = FxHashSet::default();
        let mut texts: FxHashSet<&str> = FxHashSet::default();
        for call in all {
            match &call.adapter {
                Some(adapter) => {
                    if adapters.insert(&adapter.class) {
                        needs.links(&call.hook);
                        needs
                            .adapters
                            .push((Arc::clone(&call.hook), adapter.clone()));
                    }
                }
                None => {
                    if hooks.insert(&call.hook) {
                        needs.hooks.push(Arc::clone(&call.hook));
                    }
                }
            }
            match (call.conversion(), call.gives(), &call.given) {
                (Convert::Box, Ty::Prim(prim), _) => needs.boxes(prim),
                (Convert::Cast, _, Some((_, to))) => needs.casts(to),
                _ => {}
            }
            let mut operands: Vec<&Operand> = call.operands.iter().collect();
            while let Some(operand) = operands.pop() {
                if let (Convert::Box, Ty::Prim(prim)) = (operand.convert, &operand.from) {
                    needs.boxes(*prim);
                }
                match &operand.source {
                    Source::Args(elements) => {
                        needs.objects = true;
                        operands.extend(elements);
                    }
                    Source::Text(text) if texts.insert(text) => {
                        needs.texts.push(Arc::clone(text));
                    }
                    _ => {}
                }
            }
        }
        needs
    }

    /// What the links of a chain need, but their methods.
    fn links(&mut self, hook: &Hook) {
        let mut from = hook.parameters.first();
        for link in &hook.links {
            match (&link.kind, from) {
                (LinkKind::Field, _) if !self.fields.contains(link) => {
                    self.fields.push(link.clone());
                }
                (LinkKind::Cast, _) if !self.types.contains(&link.owner) => {
                    self.types.push(link.owner.clone());
                }
                (LinkKind::Box, Some(Ty::Prim(prim))) => self.boxes(*prim),
                _ => {}
            }
            for constant in link.arguments() {
                constant.boxed.into_iter().for_each(|prim| self.boxes(prim));
                if let ConstantValue::Text(text) = &constant.value
                    && !self.texts.contains(text)
                {
                    self.texts.push(Arc::clone(text));
                }
            }
            from = Some(&link.result);
        }
    }

    /// Something makes boxes of such values.
    pub fn boxes(&mut self, prim: Prim) {
        if !self.boxed.contains(&prim) {
            self.boxed.push(prim);
        }
    }

    /// Something makes of objects what is of this type.
    pub fn casts(&mut self, to: &Ty) {
        match to {
            Ty::Prim(prim) if self.unboxed.contains(prim) => {}
            Ty::Prim(prim) => self.unboxed.push(*prim),
            to => self.types.push(to.clone()),
        }
    }

    /// How many methods these are.
    pub fn count(&self) -> usize {
        /// `nanoTime`, and what adapters report to.
        const MORE: usize = 3;
        self.methods().len() + MORE
    }

    /// Has `add` look for what is needed, and adds the classes of adapters to what it found.
    pub fn add(
        &self,
        file: &File<'_>,
        names: &[Vec<u8>],
        add: impl FnOnce(Wants<'_>) -> Result<Option<(Added, Vec<usize>)>>,
    ) -> Result<Option<(Added, Vec<usize>, Names)>> {
        let methods = self.methods();
        let parameters: Vec<Vec<&[u8]>> = (methods.iter())
            .map(|method| method.parameters.iter().map(Vec::as_slice).collect())
            .collect();
        let mut wanted: Vec<Wanted<'_>> = (methods.iter().zip(&parameters))
            .map(|(method, parameters)| Wanted {
                class: &method.class,
                name: &method.name,
                parameters,
                returns: &method.returns,
            })
            .collect();
        wanted.extend(self.nano_time.then_some(NANO_TIME));
        wanted.extend(self.has_guards().then_some(FAILED));
        wanted.extend(self.has_flags().then_some(BEGIN));
        let mut types: Vec<&[u8]> = Vec::new();
        types.extend(self.objects.then_some(OBJECTS));
        let named: Vec<Vec<u8>> = self.types.iter().map(descriptor).collect();
        types.extend(named.iter().map(Vec::as_slice));
        types.extend((!self.adapters.is_empty()).then_some(OBJECT));
        let mut strings = names.to_vec();
        strings.extend(self.texts.iter().map(|text| modified_utf8(text)));
        strings.extend((self.adapters.iter()).map(|(hook, _)| modified_utf8(&shown(hook))));
        let fields: Vec<[Vec<u8>; 3]> = (self.fields.iter())
            .map(|link| {
                let name = modified_utf8(&link.name);
                [descriptor(&link.owner), name, descriptor(&link.result)]
            })
            .collect();
        let fields: Vec<WantedField<'_>> = (fields.iter())
            .map(|[class, name, ty]| WantedField { class, name, ty })
            .collect();
        let found = add(Wants {
            methods: &wanted,
            fields: &fields,
            types: &types,
            strings: &strings,
        })?;
        let Some((mut added, places)) = found else {
            return Ok(None);
        };
        let (names, adapters) = self.found(&added, places.len(), names.len());
        let classes = self.classes(file, &added, (&names, adapters), places.len());
        added.ids.classes.extend(classes);
        Ok(Some((added, places, names)))
    }

    /// What was found, in the order in which it was asked for, behind so many methods and strings of others.
    fn found(&self, added: &Added, methods: usize, strings: usize) -> (Names, FoundAdapters) {
        let mut found = added.methods[methods..].iter().copied();
        let mut next = || found.next().expect("one for each wanted method");
        let mut all = Names::default();
        for hook in &self.hooks {
            all.hooks.insert(Arc::clone(hook), next());
        }
        let mut adapters = FoundAdapters::default();
        for (hook, adapter) in &self.adapters {
            let own = next();
            let goals: Vec<u32> = (0..goals(hook, adapter).len()).map(|_| next()).collect();
            adapters.called.push(CalledAdapter { own, goals });
            all.adapters.insert(Arc::clone(&adapter.class), own);
        }
        for prim in &self.boxed {
            let method = next();
            if let Some(place) = place_of(*prim) {
                all.boxes[place] = method;
            }
        }
        let unboxed = methods + self.methods().len() - self.unboxed.len();
        for (prim, &class) in self.unboxed.iter().zip(&added.classes[unboxed..]) {
            let method = next();
            if let Some(place) = place_of(*prim) {
                all.unboxes[place] = (class, method);
            }
        }
        if self.nano_time {
            all.nano_time = next();
        }
        if self.has_guards() {
            adapters.guard.failed = next();
        }
        if self.has_flags() {
            adapters.guard.begin = next();
        }
        if self.objects {
            all.objects = added.types[0];
        }
        let types = &added.types[usize::from(self.objects)..];
        all.types
            .extend(self.types.iter().cloned().zip(types.iter().copied()));
        let fields = self.fields.iter().cloned();
        all.fields.extend(fields.zip(added.fields.iter().copied()));
        let strings = &added.strings[strings..];
        let (texts, shown) = strings.split_at(self.texts.len());
        for (text, &string) in self.texts.iter().zip(texts) {
            all.texts.insert(Arc::clone(text), string);
        }
        adapters.shown.extend_from_slice(shown);
        (all, adapters)
    }

    /// The classes of adapters that the dex does not have yet; `methods` of others come before theirs.
    fn classes(
        &self,
        file: &File<'_>,
        added: &Added,
        (names, adapters): (&Names, FoundAdapters),
        methods: usize,
    ) -> Vec<NewClass> {
        let FoundAdapters {
            called,
            shown,
            guard,
        } = adapters;
        let mut classes = Vec::new();
        // Methods of adapters come behind those of hooks, each one's own and those that it calls.
        let mut place = methods + self.hooks.len();
        for (((hook, adapter), name), called) in self.adapters.iter().zip(shown).zip(called) {
            let CalledAdapter { own, goals } = called;
            let ty = added.classes[place];
            place += 1 + goals.len();
            if defines(file, added, ty) {
                continue;
            }
            let mut code = Vec::new();
            put_adapter(hook, adapter, (&goals, names), &guard, name, &mut code);
            classes.push(NewClass {
                ty,
                access: flag::PUBLIC | flag::FINAL | flag::SYNTHETIC,
                superclass: *added.types.last().expect("adapters want that of objects"),
                methods: vec![(own, flag::PUBLIC | flag::STATIC | flag::SYNTHETIC, 0)],
                code,
                ..NewClass::default()
            });
        }
        classes
    }

    fn has_guards(&self) -> bool {
        self.adapters.iter().any(|(_, adapter)| adapter.guard)
    }

    fn has_flags(&self) -> bool {
        self.adapters.iter().any(|(_, adapter)| adapter.recursion)
    }

    /// The methods that calls name: hooks, adapters each with what it calls, those that make boxes.
    fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = self.hooks.iter().map(|hook| of_hook(hook)).collect();
        for (hook, adapter) in &self.adapters {
            let mut method = Method {
                class: modified_utf8(&format!("L{};", adapter.class)),
                name: b"call".to_vec(),
                ..of_hook(hook)
            };
            if let Some(change) = &adapter.change {
                method.parameters.push(descriptor(&change.old));
                method.returns = descriptor(&change.to);
            }
            methods.push(method);
            methods.extend(goals(hook, adapter));
        }
        methods.extend(self.boxed.iter().map(|prim| of_box(*prim)));
        methods.extend(self.unboxed.iter().map(|prim| of_unbox(*prim)));
        methods
    }
}

fn of_hook(hook: &Hook) -> Method {
    Method {
        class: descriptor(&hook.owner),
        name: modified_utf8(&hook.name),
        parameters: hook.parameters.iter().map(descriptor).collect(),
        returns: descriptor(&hook.result),
    }
}

/// `valueOf` of a box.
fn of_box(prim: Prim) -> Method {
    let boxed = BOXED.iter().find(|(boxed, _)| *boxed == prim);
    let class = boxed.map_or("Ljava/lang/Integer;", |(_, class)| class);
    Method {
        class: class.into(),
        name: b"valueOf".to_vec(),
        parameters: vec![descriptor(&Ty::Prim(prim))],
        returns: class.into(),
    }
}

/// `intValue` of a box.
fn of_unbox(prim: Prim) -> Method {
    let name = [prim.word(Language::Java), "Value"].concat();
    let boxed = of_box(prim);
    Method {
        name: name.into(),
        parameters: Vec::new(),
        returns: descriptor(&Ty::Prim(prim)),
        ..boxed
    }
}

/// What the adapter of a hook calls: the hook, and what makes a box of its result; or the links of a chain.
fn goals(hook: &Hook, adapter: &Adapter) -> Vec<Method> {
    if hook.links.is_empty() {
        let boxes = boxes(hook, adapter).map(of_box);
        return std::iter::once(of_hook(hook)).chain(boxes).collect();
    }
    let links = hook.links.iter();
    let methods = links.filter(|link| matches!(link.kind, LinkKind::Method(_)));
    methods
        .map(|link| Method {
            class: descriptor(&link.owner),
            name: modified_utf8(&link.name),
            parameters: link.parameters().iter().map(descriptor).collect(),
            returns: descriptor(&link.result),
        })
        .collect()
}

/// Of what the adapter makes a box.
fn boxes(hook: &Hook, adapter: &Adapter) -> Option<Prim> {
    match (&adapter.change, &hook.result) {
        (Some(change), Ty::Prim(prim)) if change.convert == Convert::Box => Some(*prim),
        _ => None,
    }
}

pub(crate) fn move_result(width: Width) -> u8 {
    match width {
        Width::Single => op::MOVE_RESULT,
        Width::Wide => op::MOVE_RESULT_WIDE,
        Width::Object => op::MOVE_RESULT_OBJECT,
    }
}

/// How many registers the links of a chain need for an object with constants.
fn room_for_links(hook: &Hook) -> u32 {
    let words = |constant: &Constant| Width::of(descriptor(&constant.pushed())[0]).words();
    let with_constants = hook
        .links
        .iter()
        .filter(|link| !link.arguments().is_empty());
    let needs = with_constants.map(|link| 1 + link.arguments().iter().map(words).sum::<u32>());
    needs.max().unwrap_or_default()
}

/// Appends the links of a chain, whose object is in the register `from`; what each gives is in the first one. `room`: where an object
/// is put together with constants. Returns where they leave it for a null.
fn put_links(
    hook: &Hook,
    (goals, names): (&[u32], &Names),
    (from, room): (u32, u32),
    code: &mut Vec<u8>,
) -> Vec<u32> {
    let mut nulls = Vec::new();
    let mut at = from;
    let mut goals = goals.iter();
    let mut ty = &hook.parameters[0];
    for link in &hook.links {
        if let Ty::Prim(prim) = ty {
            put_box(*prim, at, names, code);
            (at, ty) = (0, &link.result);
            continue;
        }
        if matches!(
            link.kind,
            LinkKind::Field | LinkKind::Length | LinkKind::Cast
        ) && at > NIBBLE
        {
            registers::put_move(code, Width::Object, 0, at);
            at = 0;
        }
        if link.kind == LinkKind::Cast {
            let ty = names.types.get(&link.owner).copied().unwrap_or_default();
            registers::put_two(code, op::INSTANCE_OF, 1, at);
            code.extend_from_slice(&(ty as u16).to_le_bytes());
            nulls.push(insn::units(code));
            registers::put_if(code, op::IF_EQZ, 1, 0);
            if at != 0 {
                registers::put_move(code, Width::Object, 0, at);
            }
            registers::put_indexed(code, op::CHECK_CAST, 0, ty);
        } else {
            nulls.push(insn::units(code));
            registers::put_if(code, op::IF_EQZ, at, 0);
            for taken in link.taken() {
                nulls.push(insn::units(code));
                registers::put_if(code, op::IF_EQZ, register_of(hook, from, taken), 0);
            }
            match link.kind {
                LinkKind::Field => {
                    let field = names.fields.get(link).copied().unwrap_or_default();
                    let opcode = getter(descriptor(&link.result)[0]);
                    registers::put_field(code, opcode, (0, at), field);
                }
                LinkKind::Length => registers::put_two(code, op::ARRAY_LENGTH, 0, at),
                _ => {
                    let goal = goals.next().copied().unwrap_or_default();
                    let taken = |n: u16| register_of(hook, from, n.into());
                    put_link(link, (goal, &taken), (at, room), names, code);
                }
            }
        }
        (at, ty) = (0, &link.result);
    }
    nulls
}

/// The last register that four bits name.
const NIBBLE: u32 = 15;

/// The opcode that reads a field of an object, by the first letter of its descriptor.
fn getter(descriptor: u8) -> u8 {
    op::IGET
        + match descriptor {
            b'J' | b'D' => 1,
            b'L' | b'[' => 2,
            b'Z' => 3,
            b'B' => 4,
            b'C' => 5,
            b'S' => 6,
            _ => 0,
        }
}

/// Appends the call of a link's method of the object in `at`, whose result goes to the first register.
/// `taken` tells where further arguments are.
fn put_link(
    link: &Link,
    (goal, taken): (u32, &dyn Fn(u16) -> u32),
    (at, room): (u32, u32),
    names: &Names,
    code: &mut Vec<u8>,
) {
    let opcode = match link.owner_is_interface {
        true => op::INVOKE_INTERFACE_RANGE,
        false => op::INVOKE_VIRTUAL_RANGE,
    };
    let mut first = at;
    let mut end = at + 1;
    if !link.arguments().is_empty() {
        registers::put_move(code, Width::Object, room, at);
        (first, end) = (room, room + 1);
        for constant in link.arguments() {
            end += match constant.value {
                ConstantValue::Taken(n) => {
                    registers::put_move(code, Width::Object, end, taken(n));
                    1
                }
                _ => put_constant(constant, end, names, code),
            };
        }
    }
    code.extend_from_slice(&[opcode, (end - first) as u8]);
    code.extend_from_slice(&(goal as u16).to_le_bytes());
    code.extend_from_slice(&(first as u16).to_le_bytes());
    if link.result != Ty::Void {
        registers::put_one(code, move_result(Width::of(descriptor(&link.result)[0])), 0);
    }
}

/// Where a chain's adapter has the n-th argument behind the first, which is in the register `from`.
fn register_of(hook: &Hook, from: u32, n: usize) -> u32 {
    let words = |ty: &Ty| Width::of(descriptor(ty)[0]).words();
    from + hook.parameters[..=n].iter().map(words).sum::<u32>()
}

/// Puts a constant into a register. Returns how many it takes.
fn put_constant(constant: &Constant, register: u32, names: &Names, code: &mut Vec<u8>) -> u32 {
    let pushed = constant.pushed();
    let width = Width::of(descriptor(&pushed)[0]);
    match (&constant.value, &pushed) {
        (ConstantValue::Text(text), _) => {
            let text = names.texts.get(text).copied().unwrap_or_default();
            registers::put_const_string(code, register, text);
        }
        (ConstantValue::Double(bits), Ty::Prim(Prim::F32)) => {
            let value = f64::from_bits(*bits) as f32;
            registers::put_const(code, register, value.to_bits());
        }
        (ConstantValue::Double(bits), _) => registers::put_const_wide(code, register, *bits),
        (ConstantValue::Long(n), _) => registers::put_const_wide(code, register, *n as u64),
        (ConstantValue::Int(n), _) if width == Width::Wide => {
            registers::put_const_wide(code, register, i64::from(*n) as u64);
        }
        (ConstantValue::Int(n), _) => registers::put_const(code, register, *n as u32),
        (ConstantValue::Null | ConstantValue::Taken(_) | ConstantValue::Out, _) => {
            registers::put_const(code, register, 0);
        }
    }
    match constant.boxed {
        Some(prim) => {
            let words: Vec<u32> = (register..register + width.words()).collect();
            put_box_of(prim, &words, register, names, code);
            1
        }
        None => width.words(),
    }
}

/// Makes an object of a primitive value, in the first register.
fn put_box(prim: Prim, at: u32, names: &Names, code: &mut Vec<u8>) {
    let words = Width::of(descriptor(&Ty::Prim(prim))[0]).words();
    let value: Vec<u32> = (at..at + words).collect();
    put_box_of(prim, &value, 0, names, code);
}

fn put_box_of(prim: Prim, value: &[u32], to: u32, names: &Names, code: &mut Vec<u8>) {
    let method = place_of(prim).map_or(0, |place| names.boxes[place]);
    registers::put_invoke_static(code, method as u16, value);
    registers::put_one(code, op::MOVE_RESULT_OBJECT, to);
}

pub(crate) fn descriptor(ty: &Ty) -> Vec<u8> {
    let mut text = String::new();
    ty.put_descriptor(&mut text);
    modified_utf8(&text)
}

/// A hook as messages show it.
fn shown(hook: &Hook) -> String {
    let owner = hook.owner.name().unwrap_or_default();
    format!("{}.{}", owner.replace('/', "."), hook.name)
}

/// Whether a dex defines a class already, by its new index.
pub(crate) fn defines(file: &File<'_>, added: &Added, ty: u32) -> bool {
    let types = &added.ids.remap.types;
    types.binary_search(&ty).is_ok_and(|old| {
        let mut classes = file.classes.iter().map(ClassDef::read);
        classes.any(|class| class.ty == old as u32)
    })
}

/// Appends what makes of the hook's result, in the first register, the adapter's.
fn put_converted(hook: &Hook, adapter: &Adapter, goals: &[u32], code: &mut Vec<u8>) {
    let convert = adapter.change.as_ref().map(|change| change.convert);
    if let Some(Convert::Widen(from, to)) = convert
        && let Some(opcode) = widening(from, to)
    {
        registers::put_two(code, opcode, 0, 0);
    }
    if boxes(hook, adapter).is_some() {
        let words = Width::of(descriptor(&hook.result)[0]).words();
        let value: Vec<u32> = (0..words).collect();
        registers::put_invoke_static(code, goals[1] as u16, &value);
        registers::put_one(code, op::MOVE_RESULT_OBJECT, 0);
    }
}

/// New indices of the methods of [`GUARD`].
#[derive(Default)]
struct Guard {
    begin: u32,
    failed: u32,
}

/// New indices of an adapter's method and of those that it calls.
struct CalledAdapter {
    own: u32,
    goals: Vec<u32>,
}

/// What adapters name.
#[derive(Default)]
struct FoundAdapters {
    called: Vec<CalledAdapter>,
    /// The strings that name their hooks.
    shown: Vec<u32>,
    guard: Guard,
}

/// The registers of an adapter, which begin with a result or an exception and the hook's name.
const VALUES: u32 = 2;
/// The flag against recursion, and what is stored in it, which is where, too.
const BUSY: u32 = VALUES;
const FALSE: u32 = VALUES + 1;

/// A part of an adapter's code, and where what it throws goes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Tried {
    start: u32,
    end: u32,
    handler: u32,
}

/// The code of an adapter, while it is put together.
struct AdapterBody<'a> {
    adapter: &'a Adapter,
    code: Vec<u8>,
    tries: Vec<Tried>,
    /// What it gives.
    width: Option<Width>,
    /// What was there before, if it changes something, and its register.
    old: Option<(Width, u32)>,
}

fn width_of(ty: &Ty) -> Option<Width> {
    match ty {
        Ty::Void => None,
        ty => Some(Width::of(descriptor(ty)[0])),
    }
}

impl AdapterBody<'_> {
    fn units(&self) -> u32 {
        insn::units(&self.code)
    }

    /// A call: where it begins and ends.
    fn call(&mut self, method: u32, passed: &[u32]) -> (u32, u32) {
        let start = self.units();
        registers::put_invoke_static(&mut self.code, method as u16, passed);
        (start, self.units())
    }

    /// What that part throws goes to what follows.
    fn catch(&mut self, (start, end): (u32, u32)) {
        let handler = self.units();
        self.tries.push(Tried {
            start,
            end,
            handler,
        });
    }

    /// Returns what is in the first register.
    fn give(&self, code: &mut Vec<u8>) {
        let opcode = match self.width {
            None => op::RETURN_VOID,
            Some(Width::Single) => op::RETURN,
            Some(Width::Wide) => op::RETURN_WIDE,
            Some(Width::Object) => op::RETURN_OBJECT,
        };
        registers::put_one(code, opcode, 0);
    }

    /// The hook gives nothing: returns or throws what was there before, or returns zero.
    fn give_zero(&self, code: &mut Vec<u8>) {
        match (self.old, self.width) {
            (Some((old, register)), _) => registers::put_move(code, old, 0, register),
            (None, None) => {}
            (None, Some(Width::Wide)) => registers::put_const_wide(code, 0, 0),
            (None, Some(_)) => registers::put_const(code, 0, 0),
        }
        match &self.adapter.change {
            Some(change) if change.throws => registers::put_one(code, op::THROW, 0),
            _ => self.give(code),
        }
    }

    fn put(&mut self, part: impl FnOnce(&Self, &mut Vec<u8>)) {
        let mut code = std::mem::take(&mut self.code);
        part(self, &mut code);
        self.code = code;
    }

    /// Clears the flag against recursion.
    fn end(&mut self) {
        if self.adapter.recursion {
            registers::put_const(&mut self.code, FALSE, 0);
            registers::put_three(&mut self.code, op::APUT_BOOLEAN, FALSE, BUSY, FALSE);
        }
    }

    /// Asks for the flag against recursion; where a hook runs already, this one does not.
    fn begin(&mut self, begin: u32) {
        let begun = self.call(begin, &[]);
        registers::put_one(&mut self.code, op::MOVE_RESULT_OBJECT, BUSY);
        let mut zero = Vec::new();
        self.give_zero(&mut zero);
        let mut failed = Vec::new();
        if self.adapter.guard {
            // It may fail itself, at the end of the stack or of memory.
            registers::put_one(&mut failed, op::MOVE_EXCEPTION, 0);
            failed.extend_from_slice(&zero);
        }
        let over = 2 + insn::units(&zero) + insn::units(&failed);
        registers::put_if(&mut self.code, op::IF_NEZ, BUSY, over as u16);
        self.code.extend_from_slice(&zero);
        if self.adapter.guard {
            self.catch(begun);
        }
        self.code.extend_from_slice(&failed);
    }

    /// Calls the hook, or what the links of a chain name, and returns the result; where that may throw.
    fn hook(
        &mut self,
        hook: &Hook,
        (goals, names): (&[u32], &Names),
        (locals, words, passed_on): (u32, u32, u32),
    ) -> (u32, u32) {
        let mut nulls = Vec::new();
        let hooked = if hook.links.is_empty() {
            let passed: Vec<u32> = (locals..locals + words).collect();
            let hooked = self.call(goals[0], &passed);
            if let Some(width) = width_of(&hook.result) {
                registers::put_one(&mut self.code, move_result(width), 0);
            }
            put_converted(hook, self.adapter, goals, &mut self.code);
            hooked
        } else {
            let start = self.units();
            let places = (locals, passed_on);
            nulls = put_links(hook, (goals, names), places, &mut self.code);
            (start, self.units())
        };
        self.end();
        self.put(|body, code| body.give(code));
        if !nulls.is_empty() {
            let null = self.units();
            for at in nulls {
                let distance = (null - at) as u16;
                let at = 2 * at as usize + 2;
                self.code[at..at + 2].copy_from_slice(&distance.to_le_bytes());
            }
            self.end();
            self.put(|body, code| body.give_zero(code));
        }
        hooked
    }

    /// The handler of what the hook throws: tells it, or throws it on.
    fn failed(&mut self, hooked: (u32, u32), failed: u32, name: u32) {
        self.catch(hooked);
        registers::put_one(&mut self.code, op::MOVE_EXCEPTION, 0);
        if !self.adapter.guard {
            self.end();
            registers::put_one(&mut self.code, op::THROW, 0);
            return;
        }
        registers::put_const_string(&mut self.code, 1, name);
        let told = self.call(failed, &[0, 1]);
        self.end();
        self.put(|body, code| body.give_zero(code));
        self.catch(told);
        registers::put_one(&mut self.code, op::MOVE_EXCEPTION, 0);
        let distance = told.1 as i32 - self.units() as i32;
        registers::put_goto(&mut self.code, distance);
    }

    /// Appends the code item; `registers`: all, arguments, and those that calls pass.
    fn finish(mut self, [all, ins, outs]: [u32; 3], out: &mut Vec<u8>) {
        self.tries.sort_unstable();
        let begin = out.len();
        let tries = self.tries.len();
        let counts = [all as u16, ins as u16, outs as u16, tries as u16];
        code_item::put_header(out, counts, self.units());
        out.extend_from_slice(&self.code);
        code_item::align(out, begin);
        // The lists of handlers: how many, then for each that it catches all (a size of 0), and where.
        let mut lists = vec![tries as u8];
        for tried in &self.tries {
            out.extend_from_slice(&tried.start.to_le_bytes());
            out.extend_from_slice(&((tried.end - tried.start) as u16).to_le_bytes());
            out.extend_from_slice(&(lists.len() as u16).to_le_bytes());
            lists.push(0);
            put_uleb32(&mut lists, tried.handler);
        }
        out.extend_from_slice(&lists);
    }
}

/// Appends the code item of an adapter, which calls `goals`; `name` is the string that names the hook.
fn put_adapter(
    hook: &Hook,
    adapter: &Adapter,
    (goals, names): (&[u32], &Names),
    guard: &Guard,
    name: u32,
    out: &mut Vec<u8>,
) {
    let passed_on = VALUES + if adapter.recursion { 2 } else { 0 };
    let room = room_for_links(hook);
    let locals = passed_on + room;
    let words: u32 = (hook.parameters.iter())
        .filter_map(width_of)
        .map(Width::words)
        .sum();
    // What was there before comes last.
    let change = adapter.change.as_ref();
    let old = change.and_then(|change| width_of(&change.old));
    let ins = words + old.map_or(0, Width::words);
    let mut body = AdapterBody {
        adapter,
        code: Vec::new(),
        tries: Vec::new(),
        width: width_of(change.map_or(&hook.result, |change| &change.to)),
        old: old.map(|width| (width, locals + words)),
    };
    if adapter.recursion {
        body.begin(guard.begin);
    }
    let hooked = body.hook(hook, (goals, names), (locals, words, passed_on));
    body.failed(hooked, guard.failed, name);
    body.finish([locals + ins, ins, ins.max(2).max(room)], out);
}

#[cfg(test)]
mod tests {
    use crate::aspect::advice::{Advice, Reason};
    use crate::aspect::bind::call::{Adapter, Bound, Dest, Source};
    use crate::aspect::bind::ty::{Prim, Signature, Ty};
    use crate::dex::Dex;
    use crate::dex::format::class::{ClassDef, Members};
    use crate::dex::format::code_item::Code;
    use crate::dex::format::insn;
    use crate::dex::format::opcodes::op;
    use crate::dex::testing::{
        call, changes_all, changes_wider, own_everywhere, same, show, takes_objects, takes_types,
    };
    use crate::dex::verify::verify;
    use crate::dex::weave::{Scratch, Woven, one_by_one, weave};
    use std::sync::Arc;

    const SHAPES: &[u8] = include_bytes!("../../../tests/dex/verify.dex");
    /// It has hidden-API data.
    const EVERYTHING: &[u8] = include_bytes!("../../../tests/dex/everything.dex");
    const RETURNS: &[u8] = include_bytes!("../../../tests/dex/returns.dex");
    const LIBRARY: &[u8] = include_bytes!("../../../runtime/java/weave-runtime.dex");

    /// Weaves everything with own hooks.
    fn woven(
        bytes: &[u8],
        advice: Advice,
        hooked: &dyn Fn(&Signature) -> Bound,
        near: usize,
    ) -> Woven {
        let dex = Dex::parse(bytes).unwrap();
        let plan = own_everywhere(&dex, advice, hooked);
        let mut scratch = Scratch::default().near_from(near);
        weave(&dex, &plan, &mut scratch, &one_by_one).unwrap()
    }

    fn left(woven: &Woven) -> Vec<String> {
        let left = woven.types.iter().flat_map(|ty| &ty.left);
        left.map(|left| format!("{}: {}", left.method, left.reason))
            .collect()
    }

    #[test]
    fn every_method_takes_hooks_that_take_everything() {
        for bytes in [SHAPES, EVERYTHING, RETURNS, LIBRARY] {
            let pair = woven(bytes, Advice::ALL, &|_| Bound::default(), usize::MAX);
            for hooked in [takes_objects, takes_types] {
                for advice in [
                    Advice::default(),
                    Advice::ALL,
                    Advice::ALL.with(Advice::SECTION),
                ] {
                    for near in [1, usize::MAX] {
                        let new = woven(bytes, advice, &hooked, near);
                        verify(new.bytes.as_ref().unwrap()).assert_sound();
                        assert_eq!(left(&new), left(&pair));
                    }
                }
            }
        }
    }

    #[test]
    fn every_method_takes_hooks_that_change_everything() {
        for bytes in [SHAPES, EVERYTHING, RETURNS, LIBRARY] {
            let pair = woven(bytes, Advice::ALL, &|_| Bound::default(), usize::MAX);
            for hooked in [changes_all, changes_wider] {
                for advice in [
                    Advice::default(),
                    Advice::ALL,
                    Advice::ALL.with(Advice::SECTION),
                ] {
                    let new = woven(bytes, advice, &hooked, usize::MAX);
                    verify(new.bytes.as_ref().unwrap()).assert_sound();
                    // Constructors that overwrite what they are called with.
                    let mut more = left(&new);
                    more.retain(|left| !self::left(&pair).contains(left));
                    assert!(more.iter().all(|left| left.contains("<init>")), "{more:#?}");
                }
            }
        }
    }

    /// The methods of the classes that were added for adapters: their code, and the names of what it calls.
    fn adapters(bytes: &[u8]) -> String {
        let dex = Dex::parse(bytes).unwrap();
        let mut told = String::new();
        for file in &dex.files {
            for row in file.classes {
                let class = ClassDef::read(row);
                if !file
                    .type_name(class.ty)
                    .unwrap()
                    .starts_with("weave/hooks/")
                {
                    continue;
                }
                let mut members = Members::read(file, class.data).unwrap();
                while let Some(method) = members.next().unwrap() {
                    let code = Code::read(bytes, method.code as usize).unwrap();
                    told += &format!("{}\n", file.method_label(method.id));
                    told += &show(&bytes[code.offset..][..code.size().unwrap()]);
                    for insn in insn::each(code.insns).map(Result::unwrap) {
                        if insn.opcode == op::INVOKE_STATIC {
                            told += &format!("  {} {}\n", insn.pc, file.method_label(insn.index()));
                        }
                    }
                }
            }
        }
        told
    }

    #[test]
    fn adapters_catch_what_hooks_throw_and_keep_a_threads_hooks_apart() {
        let of = |guard: bool, recursion: bool| {
            let hooked = |_: &Signature| {
                let operands = vec![same(Source::Long(5), &Ty::Prim(Prim::I64))];
                let mut hook = call("begin", operands, Ty::Prim(Prim::F64), Dest::Drop, false);
                hook.adapter = Some(Adapter {
                    class: "weave/hooks/begin_1".into(),
                    guard,
                    recursion,
                    change: None,
                });
                Bound {
                    enter: [hook].into(),
                    ..Bound::default()
                }
            };
            let new = woven(SHAPES, Advice::default(), &hooked, 1).bytes.unwrap();
            verify(&new).assert_sound();
            // Indices of methods and strings are not what this is about.
            let told = adapters(&new);
            let lines = told
                .lines()
                .map(|line| line.split('@').next().unwrap().trim_end_matches([' ', ',']));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(of(true, true), @"
        weave/hooks/begin_1.call(J)D
        registers 6 ins 2 outs 2
           0 invoke-static
           3 move-result-object v2
           4 if-nez v2, -> 13
           6 const-wide/16 v0, #0x0
           8 return-wide v0
           9 move-exception v0
          10 const-wide/16 v0, #0x0
          12 return-wide v0
          13 invoke-static v4, v5
          16 move-result-wide v0
          17 const/4 v3, #0x0
          18 aput-boolean v3, v2, v3
          20 return-wide v0
          21 move-exception v0
          22 const-string v1
          24 invoke-static v0, v1
          27 const/4 v3, #0x0
          28 aput-boolean v3, v2, v3
          30 const-wide/16 v0, #0x0
          32 return-wide v0
          33 move-exception v0
          34 goto -> 27
        try 0..3 all -> 9
        try 13..16 all -> 21
        try 24..27 all -> 33
          0 weave/runtime/Guard.begin()[Z
          13 acme/Own.begin(J)D
          24 weave/runtime/Guard.failed(Ljava/lang/Throwable;Ljava/lang/String;)V
        ");
        insta::assert_snapshot!(of(true, false), @"
        weave/hooks/begin_1.call(J)D
        registers 4 ins 2 outs 2
           0 invoke-static v2, v3
           3 move-result-wide v0
           4 return-wide v0
           5 move-exception v0
           6 const-string v1
           8 invoke-static v0, v1
          11 const-wide/16 v0, #0x0
          13 return-wide v0
          14 move-exception v0
          15 goto -> 11
        try 0..3 all -> 5
        try 8..11 all -> 14
          0 acme/Own.begin(J)D
          8 weave/runtime/Guard.failed(Ljava/lang/Throwable;Ljava/lang/String;)V
        ");
        insta::assert_snapshot!(of(false, true), @"
        weave/hooks/begin_1.call(J)D
        registers 6 ins 2 outs 2
           0 invoke-static
           3 move-result-object v2
           4 if-nez v2, -> 9
           6 const-wide/16 v0, #0x0
           8 return-wide v0
           9 invoke-static v4, v5
          12 move-result-wide v0
          13 const/4 v3, #0x0
          14 aput-boolean v3, v2, v3
          16 return-wide v0
          17 move-exception v0
          18 const/4 v3, #0x0
          19 aput-boolean v3, v2, v3
          21 throw v0
        try 9..12 all -> 17
          0 weave/runtime/Guard.begin()[Z
          9 acme/Own.begin(J)D
        ");
    }

    #[test]
    fn what_calls_an_adapter_is_woven_already() {
        let first = woven(SHAPES, Advice::default(), &takes_objects, 1)
            .bytes
            .unwrap();
        let dex = Dex::parse(&first).unwrap();
        let mut plan = own_everywhere(&dex, Advice::default(), &takes_objects);
        // Not the adapters themselves, which come last.
        plan.methods.truncate(plan.methods.len() - 3);
        let again = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap();
        assert!(again.bytes.is_none());
        assert!(
            left(&again)
                .iter()
                .all(|left| left.ends_with("woven already"))
        );
        // Another hook's adapter comes beside those.
        plan.bound = vec![Arc::new(takes_types(&Signature {
            this: None,
            parameters: [].into(),
            result: Ty::Void,
            generics: 0,
            variadic: false,
        }))];
        plan.methods.truncate(1);
        let beside = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap();
        assert_eq!(left(&beside), [""; 0]);
        assert_eq!(adapters(&beside.bytes.unwrap()).matches("call(").count(), 3);
    }

    #[test]
    fn hooks_that_the_tables_have_no_room_for_leave_their_methods_alone() {
        let dex = Dex::parse(SHAPES).unwrap();
        let many = |_: &Signature| {
            let hook = |n: u32| call(&format!("h{n}"), vec![], Ty::Void, Dest::Drop, false);
            Bound {
                enter: (0..0x1_0000).map(hook).collect(),
                ..Bound::default()
            }
        };
        let mut plan = own_everywhere(&dex, Advice::ALL, &|_| Bound::default());
        let signature = Signature {
            this: None,
            parameters: [].into(),
            result: Ty::Void,
            generics: 0,
            variadic: false,
        };
        plan.bound[3] = Arc::new(many(&signature));
        let woven = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap();
        verify(woven.bytes.as_ref().unwrap()).assert_sound();
        let full = Reason::PoolFull;
        let left = woven.types.iter().flat_map(|ty| &ty.left);
        assert_eq!(left.filter(|left| left.reason == full).count(), 1);
    }
}
