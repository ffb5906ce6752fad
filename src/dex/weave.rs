//! From a plan to a new dex file, with the outcome of each method.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::aspect::woven::WovenType;
use crate::bytes::mutf8;
use crate::dex::bodies::Bodies;
pub use crate::dex::bodies::inputs::Run;
use crate::dex::bodies::inputs::{
    CHUNK, DEBUG_INFO, Facts, Inputs, Limits, Member, Outcome, Present,
};
use crate::dex::format::class::{Budget, ClassDef, Members};
use crate::dex::format::descriptors::Descriptors;
use crate::dex::format::file::{Dex, File, MethodId, NO_INDEX};
use crate::dex::format::order;
use crate::dex::format::remap::Remap;
use crate::dex::hooks::android_trace::{self, Names};
use crate::dex::hooks::near::{self, Near};
use crate::dex::hooks::own::{self, AddedHooks};
use crate::dex::hooks::{HOOKS, THROWABLE};
use crate::dex::ids::class_checksums;
use crate::dex::ids::{self, Added, Ids, Wanted, Wants};
use crate::dex::lower::Hooks;
use crate::dex::lower::insertions::Insertions;
use crate::dex::lower::own_frame::Names as OwnNames;
use crate::dex::write::file as new_file;
use crate::error::{Error, Result};
use std::sync::atomic::AtomicUsize;

/// Reusable buffers for [`weave`].
pub struct Scratch {
    bodies: Bodies,
    members: Vec<Member>,
    /// One for each planned method.
    outcomes: Vec<Outcome>,
    /// See [`Limits::chunk`].
    chunk: usize,
    /// How many times a file's size the debug info of its woven methods may be.
    debug_info: usize,
    /// From how many methods on a dex gets hooks of its own.
    near: usize,
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            bodies: Bodies::default(),
            members: Vec::new(),
            outcomes: Vec::new(),
            chunk: CHUNK,
            debug_info: DEBUG_INFO,
            near: near::LEAST,
        }
    }
}

impl Scratch {
    /// From how many methods on a dex gets hooks of its own, which take ids of 16 bits. Not 256, for tests with small
    /// files.
    #[must_use]
    pub fn near_from(self, methods: usize) -> Scratch {
        Scratch {
            near: methods,
            ..self
        }
    }
}

/// A woven dex file.
#[derive(Default)]
pub struct Woven {
    /// The new file; `None` where nothing could be woven.
    pub bytes: Option<Vec<u8>>,
    /// The types with planned methods, in the order of the file.
    pub types: Vec<WovenType>,
}

/// Runs tasks on this thread.
pub fn one_by_one(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

/// Weaves the planned methods of a dex file. `run` may use many threads; the result does not depend on it.
pub fn weave(dex: &Dex<'_>, plan: &Plan, scratch: &mut Scratch, run: Run<'_>) -> Result<Woven> {
    weave_named(dex, plan, &[], scratch, run)
}

/// One of the dex files of a container.
pub(crate) struct OfFile<'d, 'a, 'p> {
    pub file: &'d File<'a>,
    /// The methods that are planned in it.
    pub planned: &'p [Planned],
    /// The number of its first type.
    pub first_type: u32,
}

/// The files of a dex file, with what is planned in each.
pub(crate) fn by_file<'d, 'a, 'p>(
    dex: &'d Dex<'a>,
    plan: &'p Plan,
) -> Result<Vec<OfFile<'d, 'a, 'p>>> {
    let (mut rest, mut next) = (&plan.methods[..], 0);
    let files = dex.files.iter().map(|file| {
        let first_type = next;
        next += file.classes.len() as u32;
        let planned;
        (planned, rest) = rest.split_at(rest.partition_point(|p| p.ty < next));
        OfFile {
            file,
            planned,
            first_type,
        }
    });
    let files: Vec<_> = files.collect();
    match rest.is_empty() {
        true => Ok(files),
        false => Err(another_file()),
    }
}

#[cold]
pub(crate) fn another_file() -> Error {
    Error::usage("the plan is of another dex file")
}

/// The same; `named` has for each planned method the index of the one by whose name sections go, or is empty.
pub(crate) fn weave_named(
    dex: &Dex<'_>,
    plan: &Plan,
    named: &[u32],
    scratch: &mut Scratch,
    run: Run<'_>,
) -> Result<Woven> {
    let mut named = named;
    let mut woven = Woven::default();
    if plan.methods.is_empty() {
        return Ok(woven);
    }
    let mut out = Vec::new();
    let mut starts = Vec::with_capacity(dex.files.len());
    for OfFile {
        file,
        planned: ours,
        first_type,
    } in by_file(dex, plan)?
    {
        let (names, rest) = named.split_at(ours.len().min(named.len()));
        named = rest;
        let file_plan = FilePlan {
            whole: Some(plan),
            planned: ours,
            named: names,
            first_type,
        };
        let ids = weave_bodies(file, file_plan, scratch, &mut woven.types, run)?;
        let ids = match ids {
            Some(ids) => ids,
            // Nothing changes here, but a dex before it in its container grows.
            None if dex.files.len() > 1 => {
                let ids = Ids::none(file);
                scratch.copy_all(file, &ids, run)?;
                ids
            }
            None => continue,
        };
        out.resize(out.len().next_multiple_of(4), 0);
        starts.push(out.len());
        new_file::write(file, &ids, &mut scratch.bodies, &mut out)?;
    }
    if woven.types.iter().any(|ty| ty.methods().len() > 0) {
        new_file::seal(&mut out, &starts);
        let last = dex.files.last().map_or(&[][..], |file| file.bytes);
        out.extend_from_slice(&dex.bytes[last.len()..]);
        woven.bytes = Some(out);
    }
    Ok(woven)
}

/// Lists the types with planned methods, given the result of each method: why it was left, or its first line.
pub(crate) fn list(
    dex: &Dex<'_>,
    plan: &Plan,
    scratch: &mut Scratch,
    outcome: impl Fn(&Planned) -> std::result::Result<u32, Reason>,
) -> Result<Vec<WovenType>> {
    let mut types = Vec::new();
    for OfFile {
        file,
        planned: ours,
        first_type,
    } in by_file(dex, plan)?
    {
        let file_plan = FilePlan {
            whole: Some(plan),
            planned: ours,
            named: &[],
            first_type,
        };
        scratch.gather(file, file_plan)?;
        for (planned, of) in ours.iter().zip(&mut scratch.outcomes) {
            match outcome(planned) {
                Ok(line) => of.line = line,
                Err(reason) => of.left = Some(reason),
            }
        }
        list_types(file, file_plan, scratch, &mut types)?;
    }
    Ok(types)
}

/// The plan of one dex.
#[derive(Clone, Copy, Default)]
struct FilePlan<'p> {
    /// The plan that it is a part of, which has the own hooks.
    whole: Option<&'p Plan>,
    planned: &'p [Planned],
    /// See [`weave_named`].
    named: &'p [u32],
    /// The number of its first type in the whole file.
    first_type: u32,
}

/// Makes the new bodies of a dex in `scratch`, and records the outcome of each planned method. Returns the new ids, or
/// nothing where no method could be woven.
fn weave_bodies(
    file: &File<'_>,
    plan: FilePlan<'_>,
    scratch: &mut Scratch,
    types: &mut Vec<WovenType>,
    run: Run<'_>,
) -> Result<Option<Ids>> {
    if plan.planned.is_empty() {
        return Ok(None);
    }
    // Look-ups in unsorted tables would miss rows, such as hooks of an earlier weave.
    order::check(file)?;
    scratch.gather(file, plan)?;
    let names = scratch.section_names(file, plan)?;
    let added = match add_hooks(file, plan, &names, scratch.near)? {
        Some(FoundHooks { added, hooks, own }) => {
            let mut sections = Vec::new();
            if !names.is_empty() {
                sections.resize(plan.planned.len(), NO_INDEX);
                let with = (plan.planned.iter().zip(&mut sections))
                    .filter(|(planned, _)| planned.advice.has(Advice::SECTION));
                for ((_, section), &name) in with.zip(&added.strings) {
                    *section = name;
                }
            }
            let calls = Calls {
                hooks,
                sections: &sections,
                own: &own,
                points: &[],
                this: NO_INDEX,
            };
            scratch.build(file, &added.ids.remap, plan, calls, run)?;
            Some(added)
        }
        None => {
            for outcome in &mut scratch.outcomes {
                outcome.left = Some(Reason::PoolFull);
            }
            None
        }
    };
    let any = list_types(file, plan, scratch, types)?;
    let Some(mut ids) = added.map(|added| added.ids).filter(|_| any) else {
        return Ok(None);
    };
    ids.changed = class_checksums::without(file, &ids)?;
    Ok(Some(ids))
}

/// What woven code calls.
#[derive(Clone, Copy)]
struct Calls<'c> {
    hooks: Hooks,
    /// See [`Inputs::sections`].
    sections: &'c [u32],
    own: &'c OwnNames,
    /// See [`Inputs::points`].
    points: &'c [Insertions],
    /// See [`Inputs::this`].
    this: u32,
}

/// What was added to a dex's tables, and what in there woven code calls.
struct FoundHooks {
    added: Added,
    hooks: Hooks,
    own: OwnNames,
}

/// Adds the hooks that the planned methods need, and the names of their sections, to a dex's tables. `None` where a
/// table has no room.
fn add_hooks(
    file: &File<'_>,
    plan: FilePlan<'_>,
    names: &[Vec<u8>],
    near: usize,
) -> Result<Option<FoundHooks>> {
    let mut base = 0;
    let mut add = |own: own::Needs| {
        own.add(file, names, |more| {
            add_pair(file, plan.planned, near, &mut base, more)
        })
    };
    let own = match plan.whole {
        Some(whole) => own::Needs::of(whole, plan.planned),
        None => own::Needs::default(),
    };
    let mut found = add(own)?;
    if found.is_none() && plan.planned.iter().any(|p| p.bound.is_some()) {
        // Methods with own hooks are left, the others may do with less.
        found = add(own::Needs::default())?;
    }
    Ok(found.map(|found| {
        let AddedHooks { added, places } = found.hooks;
        let mut indices = [None; 13];
        for (place, &index) in places.into_iter().zip(&added.methods) {
            indices[place] = Some(index);
        }
        let index = |place: usize| indices[place].unwrap_or(0);
        let hooks = Hooks {
            enter: index(0),
            exit: index(1),
            error: index(2),
            begin: index(3),
            end: index(4),
            count: index(5),
            start: index(6),
            stop: index(7),
            failed: index(8),
            leave: indices[9],
            leaf: indices[10],
            finish: indices[11],
            moment: indices[12],
            base,
        };
        FoundHooks {
            added,
            hooks,
            own: found.names,
        }
    }))
}

/// Adds the recorded pair's hooks and those of sections, with `more` behind them, to a dex's tables.
/// Sets the base of ids where the dex gets hooks of its own.
fn add_pair(
    file: &File<'_>,
    planned: &[Planned],
    near: usize,
    base: &mut u32,
    more: Wants<'_>,
) -> Result<Option<AddedHooks>> {
    const BOTH: Advice = Advice::EXIT.with(Advice::EXCEPTION);
    let hook = |name: &'static [u8], parameters| Wanted {
        class: HOOKS,
        name,
        parameters,
        returns: b"V",
    };
    let hooks = [
        (Advice::ENTER, hook(b"enter", &[b"I"])),
        (Advice::EXIT, hook(b"exit", &[b"I"])),
        (Advice::EXCEPTION, hook(b"error", &[THROWABLE, b"I"])),
        (Advice::SECTION, android_trace::BEGIN),
        (Advice::SECTION, android_trace::END),
        (Advice::COUNT, hook(b"count", &[b"I"])),
        (Advice::AGGREGATE, hook(b"start", &[b"I"])),
        (Advice::AGGREGATE, hook(b"stop", &[b"I"])),
        (Advice::AGGREGATE, hook(b"failed", &[THROWABLE, b"I"])),
        // Optional: the hooks above do the same.
        (BOTH, hook(b"leave", &[THROWABLE, b"I"])),
        (Advice::ALL, hook(b"leaf", &[b"I"])),
        (Advice::AGGREGATE, hook(b"finish", &[THROWABLE, b"I"])),
        (Advice::AGGREGATE, hook(b"moment", &[b"I"])),
    ];
    const NEEDED: usize = 9;
    let advice = (planned.iter()).fold(Advice::default(), |all, p| all.with(p.advice));
    if let Some(near) = Near::choose(file, planned, near)?
        && let Some(found) = near.add(file, &hooks, advice, more)?
    {
        *base = near.base;
        return Ok(Some(found));
    }
    let is_used = |&i: &usize| match hooks[i].0 {
        BOTH => (planned.iter())
            .any(|p| p.advice.has(BOTH) && !p.advice.has(Advice::SECTION) && p.bound.is_none()),
        Advice::ALL => planned.iter().any(|p| p.advice == Advice::ALL),
        when => advice.has(when),
    };
    let mut places: Vec<usize> = (0..hooks.len()).filter(is_used).collect();
    loop {
        let mut wanted: Vec<Wanted<'_>> = places.iter().map(|&i| hooks[i].1).collect();
        wanted.extend(more.methods);
        let wants = Wants {
            methods: &wanted,
            ..more
        };
        let added = ids::add(file, wants)?;
        if let Some(added) = added {
            return Ok(Some(AddedHooks { added, places }));
        }
        if places.pop_if(|place| *place >= NEEDED).is_none() {
            return Ok(None);
        }
    }
}

/// Lists the types with planned methods; returns whether any method was woven.
fn list_types(
    file: &File<'_>,
    plan: FilePlan<'_>,
    scratch: &Scratch,
    types: &mut Vec<WovenType>,
) -> Result<bool> {
    let mut any = false;
    let mut descriptors = Descriptors::new(file);
    let mut outcomes = scratch.outcomes.iter();
    for of_type in plan.planned.chunk_by(|a, b| a.ty == b.ty) {
        let number = of_type[0].ty;
        let class = ClassDef::read(&file.classes[(number - plan.first_type) as usize]);
        let name = file.type_name(class.ty)?;
        let source = mutf8(class.file(file)?);
        let mut ty = WovenType::new(number, &name, &source, of_type.len());
        for (planned, outcome) in of_type.iter().zip(&mut outcomes) {
            let member = scratch.members[outcome.member as usize];
            let MethodId { proto, name, .. } = file.method(member.id)?;
            let name = mutf8(file.string(name)?);
            let descriptor = descriptors.of(proto)?;
            match outcome.left {
                Some(reason) => ty.left.push(Skipped {
                    ty: number,
                    index: planned.index,
                    method: format!("{name}{descriptor}"),
                    reason,
                    asked: false,
                }),
                None => {
                    any = true;
                    ty.add(planned.id, outcome.line, &name, |text| {
                        text.push_str(descriptor);
                    });
                }
            }
        }
        types.push(ty);
    }
    Ok(any)
}

impl Scratch {
    /// Lists all methods that the classes define, and which of them are planned.
    fn gather(&mut self, file: &File<'_>, plan: FilePlan<'_>) -> Result<()> {
        let mut budget = Budget::new(file, "class data items");
        self.members.clear();
        self.outcomes.clear();
        let mut planned = plan.planned.iter().enumerate().peekable();
        for (ty, row) in (plan.first_type..).zip(file.classes) {
            let class = ClassDef::read(row);
            if class.data == 0 {
                continue;
            }
            let mut members = Members::read(file, class.data)?;
            let mut index = 0;
            while let Some(method) = members.next()? {
                let found = planned.next_if(|(_, p)| (p.ty, p.index) == (ty, index));
                if found.is_some() {
                    self.outcomes.push(Outcome {
                        member: self.members.len() as u32,
                        ..Outcome::default()
                    });
                }
                self.members.push(Member {
                    id: method.id,
                    access: method.access,
                    code: method.code,
                    planned: found.map_or(NO_INDEX, |(number, _)| number as u32),
                    takes_this: false,
                });
                index += 1;
            }
            budget.spend(members.start, members.len())?;
        }
        match planned.next() {
            None => Ok(()),
            Some(_) => Err(Error::usage("the plan is of another dex file")),
        }
    }

    /// The names of planned methods' sections, for those that get one.
    fn section_names(&self, file: &File<'_>, plan: FilePlan<'_>) -> Result<Vec<Vec<u8>>> {
        let mut names = Names::default();
        let own = |outcome: &Outcome| self.members[outcome.member as usize].id;
        ((0..).zip(plan.planned).zip(&self.outcomes))
            .filter(|((_, planned), _)| planned.advice.has(Advice::SECTION))
            .map(|((i, _), outcome)| {
                let named = plan.named.get::<usize>(i).copied();
                names.of(file, named.unwrap_or_else(|| own(outcome)))
            })
            .collect()
    }

    /// Copies all bodies with new indices.
    pub(crate) fn copy_all(&mut self, file: &File<'_>, ids: &Ids, run: Run<'_>) -> Result<()> {
        self.copy_to_static(file, ids, &[], NO_INDEX, run)
    }

    /// The same; the bodies of some methods, by their numbers among all members, become those of static ones that take `this`. Its
    /// name is a new index.
    pub(crate) fn copy_to_static(
        &mut self,
        file: &File<'_>,
        ids: &Ids,
        members: &[u32],
        this: u32,
        run: Run<'_>,
    ) -> Result<()> {
        self.gather(file, FilePlan::default())?;
        for &member in members {
            self.members[member as usize].takes_this = true;
        }
        let calls = Calls {
            hooks: Hooks::default(),
            sections: &[],
            own: &OwnNames::default(),
            points: &[],
            this,
        };
        self.build(file, &ids.remap, FilePlan::default(), calls, run)
    }

    /// Copies all bodies, and puts code around the points of these methods, in the file's order. Gives why one cannot have it.
    pub(crate) fn copy_with_points(
        &mut self,
        file: &File<'_>,
        ids: &Ids,
        methods: &[Planned],
        points: &[Insertions],
        run: Run<'_>,
    ) -> Result<Vec<Option<Reason>>> {
        let plan = FilePlan {
            planned: methods,
            ..FilePlan::default()
        };
        self.gather(file, plan)?;
        let calls = Calls {
            hooks: Hooks::default(),
            sections: &[],
            own: &OwnNames::default(),
            points,
            this: NO_INDEX,
        };
        self.build(file, &ids.remap, plan, calls, run)?;
        Ok(self.outcomes.iter().map(|outcome| outcome.left).collect())
    }

    pub(crate) fn bodies(&mut self) -> &mut Bodies {
        &mut self.bodies
    }

    fn build(
        &mut self,
        file: &File<'_>,
        remap: &Remap,
        plan: FilePlan<'_>,
        calls: Calls<'_>,
        run: Run<'_>,
    ) -> Result<()> {
        let Calls {
            hooks,
            sections,
            own,
            points,
            this,
        } = calls;
        let planned = plan.planned;
        // Indices keep their order.
        let begin = remap.methods.binary_search(&hooks.begin).ok();
        let inputs = Inputs {
            file,
            remap,
            members: &self.members,
            plan: plan.whole,
            planned,
            sections,
            hooks,
            own,
            points,
            this,
            present: Present {
                hooks: near::known(file)?,
                begin: begin.map(|old| old as u32),
            },
            facts: match planned {
                [] => Facts::default(),
                _ => Facts::read(file)?,
            },
            limits: Limits {
                chunk: self.chunk,
                debug_info: AtomicUsize::new(self.debug_info * file.bytes.len()),
            },
        };
        self.bodies.build(&inputs, &mut self.outcomes, run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::everything::everything;
    use crate::aspect::joinpoint::Method;
    use crate::dex::format::code_item::Code;
    use crate::dex::format::opcodes::op;
    use crate::dex::{bodies::debug_info, format::insn};

    /// Plans seven of eight methods.
    fn plan(dex: &Dex<'_>) -> Plan {
        let id = |ty, index, _: &Method<'_>| (index % 8 != 7).then_some((ty + 1) << 8 | index);
        everything(Advice::ALL, id, |v| crate::dex::scan(dex, v).unwrap())
    }

    /// Runs tasks last one first, each on a thread of its own.
    fn backwards(count: usize, task: &(dyn Fn(usize) + Sync)) {
        for i in (0..count).rev() {
            std::thread::scope(|scope| {
                scope.spawn(|| task(i));
            });
        }
    }

    #[test]
    fn debug_info_out_of_proportion_is_refused() {
        let dex = Dex::parse(include_bytes!("../../tests/dex/everything.dex")).unwrap();
        let plan = plan(&dex);
        let mut scratch = Scratch {
            debug_info: 0,
            chunk: 1,
            ..Scratch::default()
        };
        let told = weave(&dex, &plan, &mut scratch, &one_by_one)
            .err()
            .unwrap()
            .to_string();
        assert!(told.starts_with("methods share debug info"), "{told}");
        let again = weave(&dex, &plan, &mut scratch, &backwards);
        assert_eq!(again.err().unwrap().to_string(), told);
    }

    /// The code of all methods, in the order of the class data.
    fn codes<'a>(dex: &Dex<'a>) -> Vec<Code<'a>> {
        let file = &dex.files[0];
        let mut codes = vec![];
        for row in file.classes {
            let class = ClassDef::read(row);
            if class.data != 0 {
                let mut members = Members::read(file, class.data).unwrap();
                while let Some(method) = members.next().unwrap() {
                    if method.code != 0 {
                        codes.push(Code::read(file.bytes, method.code as usize).unwrap());
                    }
                }
            }
        }
        codes
    }

    #[test]
    fn woven_methods_without_debug_info_tell_their_old_pcs() {
        let bytes = include_bytes!("../../tests/dex/verify.dex");
        let dex = Dex::parse(bytes).unwrap();
        let plan = plan(&dex);
        let new = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap();
        let new = new.bytes.unwrap();
        let woven = Dex::parse(&new).unwrap();
        let mut told = 0;
        for (old, code) in codes(&dex).iter().zip(codes(&woven)) {
            if old.debug_info != 0 || code.debug_info == 0 {
                continue;
            }
            for (pc, line) in debug_info::tests::lines(&new[code.debug_info as usize..]) {
                let at = |code: &Code<'_>, pc| insn::at(code.insns, pc).unwrap().opcode;
                let same = at(&code, pc) == at(old, line);
                // Where the body begins lies the enter hook.
                let hook = pc == 0 || matches!(at(&code, pc), op::CONST | op::INVOKE_STATIC);
                assert!(same || hook, "{pc} {line}");
                told += u32::from(same);
            }
        }
        assert!(told > 10, "{told}");
    }

    #[test]
    fn chunks_of_any_size_make_the_same_file() {
        for bytes in [
            &include_bytes!("../../tests/dex/everything.dex")[..],
            include_bytes!("../../tests/dex/verify.dex"),
            include_bytes!("../../runtime/java/weave-runtime.dex"),
        ] {
            let dex = Dex::parse(bytes).unwrap();
            let plan = plan(&dex);
            let mut scratch = Scratch::default();
            let whole = weave(&dex, &plan, &mut scratch, &one_by_one).unwrap();
            for chunk in [1, 100, 1000] {
                scratch.chunk = chunk;
                let parts = weave(&dex, &plan, &mut scratch, &backwards).unwrap();
                assert!(parts.bytes == whole.bytes, "{chunk}");
                let lines = |woven: &Woven| -> Vec<u32> {
                    let all = woven.types.iter().flat_map(WovenType::methods);
                    all.map(|m| m.line).collect()
                };
                assert_eq!(lines(&parts), lines(&whole));
            }
        }
    }
}
