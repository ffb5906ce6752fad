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
    Adapter, Call, ConstantValue, Convert, Hook, Link, LinkKind, Operand, Source,
};
use crate::aspect::bind::made::{self, Called, Made, Step, Test};
use crate::aspect::bind::ty::{Language, Prim, Ty};
use crate::aspect::joinpoint::Callee;
use crate::aspect::plan::{Plan, Planned};
use crate::bytes::modified_utf8;
use crate::dex::format::class::{ClassDef, flag};
use crate::dex::format::file::File;
use crate::dex::hooks::THROWABLE;
use crate::dex::hooks::made::{Guard, Named, put_made};
use crate::dex::ids::{Added, NewClass, PlacedMethod, Wanted, WantedField, Wants};
use crate::dex::lower::own::calls;
use crate::dex::lower::own_frame::{BOXED, Names, Unbox, place_of};
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

/// Hooks that were added to a dex's tables.
pub(crate) struct AddedHooks {
    pub added: Added,
    /// For each of the first added methods, the number of the hook that was asked for.
    pub places: Vec<usize>,
}

/// The same with what own hooks name.
pub(crate) struct Found {
    pub hooks: AddedHooks,
    pub names: Names,
}

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
                        needs.adapter(&call.hook, adapter);
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

    /// What an adapter needs, but methods.
    fn adapter(&mut self, hook: &Hook, adapter: &Adapter) {
        for step in made::adapter(hook, adapter).steps {
            match step {
                Step::Box(Ty::Prim(prim)) => self.boxes(*prim),
                Step::Cast(ty) | Step::Unless(Test::Is(ty)) if !self.types.contains(ty) => {
                    self.types.push(ty.clone());
                }
                Step::Ask(link) => self.link(link),
                _ => {}
            }
        }
    }

    fn link(&mut self, link: &Link) {
        if link.kind == LinkKind::Field && !self.fields.contains(link) {
            self.fields.push(link.clone());
        }
        for constant in link.arguments() {
            constant.boxed.into_iter().for_each(|prim| self.boxes(prim));
            if let ConstantValue::Text(text) = &constant.value
                && !self.texts.contains(text)
            {
                self.texts.push(Arc::clone(text));
            }
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
        add: impl FnOnce(Wants<'_>) -> Result<Option<AddedHooks>>,
    ) -> Result<Option<Found>> {
        let methods = self.methods();
        let parameters = parameters_of(&methods);
        let mut wanted: Vec<Wanted<'_>> = wanted(&methods, &parameters).collect();
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
        strings.extend((self.adapters.iter()).map(|(hook, _)| modified_utf8(&made::told(hook))));
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
        let Some(mut hooks) = found else {
            return Ok(None);
        };
        let AddedHooks { added, places } = &mut hooks;
        let (names, adapters) = self.found(added, places.len(), names.len());
        let classes = self.classes(file, added, &names, adapters, places.len());
        added.ids.classes.extend(classes);
        Ok(Some(Found { hooks, names }))
    }

    /// What was found, in the order in which it was asked for, behind so many methods and strings of others.
    fn found(&self, added: &Added, methods: usize, strings: usize) -> (Names, Vec<FoundAdapter>) {
        let mut found = added.methods[methods..].iter().copied();
        let mut next = || found.next().expect("one for each wanted method");
        let mut all = Names::default();
        for hook in &self.hooks {
            all.hooks.insert(Arc::clone(hook), next());
        }
        let mut adapters = Vec::new();
        for (hook, adapter) in &self.adapters {
            let own = next();
            let goals = (0..goals(&made::adapter(hook, adapter)).len()).map(|_| next());
            adapters.push(FoundAdapter {
                own,
                goals: goals.collect(),
                guard: Guard::default(),
            });
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
                all.unboxes[place] = Unbox { ty: class, method };
            }
        }
        if self.nano_time {
            all.nano_time = next();
        }
        let mut guard = Guard::default();
        if self.has_guards() {
            guard.failed = next();
        }
        if self.has_flags() {
            guard.begin = next();
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
        for (adapter, &told) in adapters.iter_mut().zip(shown) {
            adapter.guard = Guard { told, ..guard };
        }
        (all, adapters)
    }

    /// The classes of adapters that the dex does not have yet; `methods` of others come before theirs.
    fn classes(
        &self,
        file: &File<'_>,
        added: &Added,
        names: &Names,
        adapters: Vec<FoundAdapter>,
        methods: usize,
    ) -> Vec<NewClass> {
        let mut classes = Vec::new();
        // Methods of adapters come behind those of hooks, each one's own and those that it calls.
        let mut place = methods + self.hooks.len();
        for ((hook, adapter), found) in self.adapters.iter().zip(adapters) {
            let ty = added.classes[place];
            place += 1 + found.goals.len();
            if defines(file, added, ty) {
                continue;
            }
            let mut code = Vec::new();
            let named = Named {
                goals: &found.goals,
                names,
                guard: Some(found.guard),
            };
            put_made(&made::adapter(hook, adapter), &named, &mut code);
            let above = *added.types.last().expect("adapters want that of objects");
            classes.push(class_of(ty, above, found.own, code));
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
        let mut methods: Vec<Method> = self
            .hooks
            .iter()
            .map(|hook| Method::of_hook(hook))
            .collect();
        for (hook, adapter) in &self.adapters {
            let made = made::adapter(hook, adapter);
            let class = Ty::class(&adapter.class);
            methods.push(Method::of(&class, "call", &made.takes, made.gives));
            methods.extend(goals(&made));
        }
        methods.extend(self.boxed.iter().map(|prim| of_box(*prim)));
        methods.extend(self.unboxed.iter().map(|prim| of_unbox(*prim)));
        methods
    }
}

impl Method {
    pub fn of(class: &Ty, name: &str, parameters: &[Ty], returns: &Ty) -> Method {
        Method {
            class: descriptor(class),
            name: modified_utf8(name),
            parameters: parameters.iter().map(descriptor).collect(),
            returns: descriptor(returns),
        }
    }

    pub fn of_hook(hook: &Hook) -> Method {
        Method::of(&hook.owner, &hook.name, &hook.parameters, &hook.result)
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

/// The parameters of methods, for [`wanted`].
pub(crate) fn parameters_of(methods: &[Method]) -> Vec<Vec<&[u8]>> {
    (methods.iter())
        .map(|method| method.parameters.iter().map(Vec::as_slice).collect())
        .collect()
}

/// Methods as a dex file is asked for them.
pub(crate) fn wanted<'w>(
    methods: &'w [Method],
    parameters: &'w [Vec<&'w [u8]>],
) -> impl Iterator<Item = Wanted<'w>> {
    let of = |(method, parameters): (&'w Method, &'w Vec<&'w [u8]>)| Wanted {
        class: &method.class,
        name: &method.name,
        parameters,
        returns: &method.returns,
    };
    methods.iter().zip(parameters).map(of)
}

/// The methods that the steps of a method call, in their order.
pub(crate) fn goals(made: &Made<'_>) -> Vec<Method> {
    let goal = |step: &Step<'_>| match step {
        Step::Pass(Called::Hook(hook)) => Some(Method::of_hook(hook)),
        Step::Pass(Called::Callee(Callee {
            owner,
            name,
            parameters,
            result,
            ..
        })) => Some(Method::of(owner, name, parameters, result)),
        Step::Ask(link) if matches!(link.kind, LinkKind::Method(_)) => {
            let parameters = link.parameters();
            Some(Method::of(
                &link.owner,
                &link.name,
                &parameters,
                &link.result,
            ))
        }
        _ => None,
    };
    made.steps.iter().filter_map(goal).collect()
}

/// A class that Weave makes, of one static method, by new indices.
pub(crate) fn class_of(ty: u32, superclass: u32, method: u32, code: Vec<u8>) -> NewClass {
    NewClass {
        ty,
        access: flag::PUBLIC | flag::FINAL | flag::SYNTHETIC,
        superclass,
        methods: vec![PlacedMethod {
            id: method,
            access: flag::PUBLIC | flag::STATIC | flag::SYNTHETIC,
            code: 0,
        }],
        code,
        ..NewClass::default()
    }
}

pub(crate) fn descriptor(ty: &Ty) -> Vec<u8> {
    let mut text = String::new();
    ty.put_descriptor(&mut text);
    modified_utf8(&text)
}

/// Whether a dex defines a class already, by its new index.
pub(crate) fn defines(file: &File<'_>, added: &Added, ty: u32) -> bool {
    let types = &added.ids.remap.types;
    types.binary_search(&ty).is_ok_and(|old| {
        let mut classes = file.classes.iter().map(ClassDef::read);
        classes.any(|class| class.ty == old as u32)
    })
}

/// New indices of an adapter's method and of what it names.
struct FoundAdapter {
    own: u32,
    goals: Vec<u32>,
    guard: Guard,
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
                        // The library is large: all hooks at once are enough of it.
                        if bytes == LIBRARY && !(advice.has(Advice::SECTION) && near == 1) {
                            continue;
                        }
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
