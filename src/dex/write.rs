//! The new dex file: what was woven, method by method, and the bytes.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::aspect::woven::WovenType;
use crate::bytes::mutf8;
use crate::dex::bodies::{Bodies, DEBUG_INFO, Job, Member, PART};
use crate::dex::checksums;
use crate::dex::class::{Budget, ClassDef, Members};
use crate::dex::descriptors::Descriptors;
use crate::dex::file::{Dex, File, NO_INDEX};
use crate::dex::ids::{self, Ids, Wanted};
use crate::dex::layout;
use crate::dex::lower::Hooks;
use crate::dex::near::{self, Near};
use crate::dex::order;
use crate::dex::own_fields::Fields;
use crate::dex::remap::Remap;
use crate::dex::sections::{self, Names};
use crate::error::{Error, Result};
use std::sync::atomic::AtomicUsize;

/// Descriptor of the class that holds the hooks.
pub const HOOKS: &[u8] = b"Lweave/runtime/Hooks;";

/// Descriptor of what the exception hook is given.
const THROWABLE: &[u8] = b"Ljava/lang/Throwable;";

/// Reusable buffers for [`weave`].
pub struct Scratch {
    bodies: Bodies,
    members: Vec<Member>,
    /// One for each planned method.
    outcomes: Vec<Outcome>,
    /// See [`Job::part`].
    part: usize,
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
            part: PART,
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

/// Runs so many tasks, each by its number, in any order, also at once; returns when all are done.
pub type Run<'r> = &'r dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// Runs tasks on this thread.
pub fn one_by_one(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

/// Weaves the planned methods of a dex file, on this thread.
pub fn weave(dex: &Dex<'_>, plan: &Plan, scratch: &mut Scratch) -> Result<Woven> {
    weave_on(dex, plan, scratch, &one_by_one)
}

/// Weaves the planned methods of a dex file; what there is of it that can be done at once, `run` does. How does not show
/// in the result.
pub fn weave_on(dex: &Dex<'_>, plan: &Plan, scratch: &mut Scratch, run: Run<'_>) -> Result<Woven> {
    let mut woven = Woven::default();
    if plan.methods.is_empty() {
        return Ok(woven);
    }
    let mut out = Vec::new();
    let mut starts = Vec::with_capacity(dex.files.len());
    let mut planned = &plan.methods[..];
    let mut first_type = 0;
    for file in &dex.files {
        let next_type = first_type + file.classes.len() as u32;
        let (ours, rest) = planned.split_at(planned.partition_point(|p| p.ty < next_type));
        planned = rest;
        let file_plan = FilePlan {
            planned: ours,
            first_type,
        };
        first_type = next_type;
        let ids = weave_bodies(file, file_plan, scratch, &mut woven.types, run)?;
        let ids = match ids {
            Some(ids) => ids,
            // Nothing can be woven here, but what lies in front of it in its container grows.
            None if dex.files.len() > 1 => {
                let ids = Ids::none(file);
                scratch.copy_all(file, &ids, run)?;
                ids
            }
            None => continue,
        };
        out.resize(out.len().next_multiple_of(4), 0);
        starts.push(out.len());
        layout::write(file, &ids, &mut scratch.bodies, &mut out)?;
    }
    if !planned.is_empty() {
        return Err(Error::usage("the plan is of another dex file"));
    }
    if woven.types.iter().any(|ty| ty.methods().len() > 0) {
        layout::seal(&mut out, &starts);
        let last = dex.files.last().map_or(&[][..], |file| file.bytes);
        out.extend_from_slice(&dex.bytes[last.len()..]);
        woven.bytes = Some(out);
    }
    Ok(woven)
}

/// What of the plan is about one dex.
#[derive(Clone, Copy, Default)]
struct FilePlan<'p> {
    planned: &'p [Planned],
    /// The number of its first type in the whole file.
    first_type: u32,
}

/// Makes the new bodies of a dex in `scratch`, and tells what came of each planned method. Gives the new
/// ids, or nothing where no method could be woven.
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
    // What is looked for in tables that are not sorted, hooks that are there already among it, would not be found.
    order::check(file)?;
    scratch.gather(file, plan)?;
    let advice = plan
        .planned
        .iter()
        .fold(Advice::default(), |all, p| all.with(p.advice));
    let hook = |name: &'static [u8], parameters| Wanted {
        class: HOOKS,
        name,
        parameters,
        returns: b"V",
    };
    const BOTH: Advice = Advice::EXIT.with(Advice::EXCEPTION);
    let whole = (plan.planned.iter()).any(|p| p.advice == Advice::ALL);
    let leaves =
        (plan.planned.iter()).any(|p| p.advice.has(BOTH) && !p.advice.has(Advice::SECTION));
    let hooks = [
        (Advice::ENTER, hook(b"enter", &[b"I"])),
        (Advice::EXIT, hook(b"exit", &[b"I"])),
        (Advice::EXCEPTION, hook(b"error", &[THROWABLE, b"I"])),
        (Advice::SECTION, sections::BEGIN),
        (Advice::SECTION, sections::END),
        // These can be done without.
        (BOTH, hook(b"leave", &[THROWABLE, b"I"])),
        (Advice::ALL, hook(b"leaf", &[b"I"])),
    ];
    const NEEDED: usize = 5;
    let names = scratch.section_names(file, plan.planned)?;
    let (mut base, mut added, mut places) = (0, None, Vec::new());
    if let Some(near) = Near::choose(file, plan.planned, scratch.near)?
        && let Some(found) = near.add(file, &hooks, advice, &names)?
    {
        (base, added, places) = (near.base, Some(found.0), found.1);
    }
    if added.is_none() {
        let used = |when| match when {
            BOTH => leaves,
            Advice::ALL => whole,
            _ => advice.has(when),
        };
        places = (0..hooks.len()).filter(|&i| used(hooks[i].0)).collect();
        let mut wanted: Vec<Wanted<'_>> = places.iter().map(|&i| hooks[i].1).collect();
        added = ids::add(file, &wanted, &names)?;
        while added.is_none() && places.pop_if(|place| *place >= NEEDED).is_some() {
            wanted.pop();
            added = ids::add(file, &wanted, &names)?;
        }
    }
    match &added {
        Some(added) => {
            let mut indices = [None; 7];
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
                leave: indices[5],
                leaf: indices[6],
            };
            let mut sections = Vec::new();
            if !names.is_empty() {
                sections.resize(plan.planned.len(), NO_INDEX);
                let with = (plan.planned.iter().zip(&mut sections))
                    .filter(|(planned, _)| planned.advice.has(Advice::SECTION));
                for ((_, section), &name) in with.zip(&added.strings) {
                    *section = name;
                }
            }
            let remap = &added.ids.remap;
            scratch.build(file, remap, plan.planned, (hooks, base), &sections, run)?;
        }
        None => scratch.outcomes.iter_mut().for_each(|outcome| {
            outcome.left = Some(Reason::PoolFull);
        }),
    }
    let any = tell(file, plan, scratch, types)?;
    let Some(mut ids) = added.map(|added| added.ids).filter(|_| any) else {
        return Ok(None);
    };
    ids.changed = checksums::without(file, &ids)?;
    Ok(Some(ids))
}

/// Lists the types with planned methods, and whether any method was woven.
fn tell(
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
            let (_, proto, name) = file.method(member.id)?;
            let name = mutf8(file.string(name)?);
            let descriptor = descriptors.of(proto)?;
            match outcome.left {
                Some(reason) => ty.left.push(Skipped {
                    ty: number,
                    index: planned.index,
                    method: format!("{name}{descriptor}"),
                    reason,
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

/// What came of a planned method.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome {
    /// Its number among the methods that the classes define.
    pub member: u32,
    /// Why it was left as it was.
    pub left: Option<Reason>,
    /// Its first source line, or 0.
    pub line: u32,
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
    fn section_names(&self, file: &File<'_>, planned: &[Planned]) -> Result<Vec<Vec<u8>>> {
        let mut names = Names::default();
        (planned.iter().zip(&self.outcomes))
            .filter(|(planned, _)| planned.advice.has(Advice::SECTION))
            .map(|(_, outcome)| names.of(file, self.members[outcome.member as usize].id))
            .collect()
    }

    /// Makes bodies that are the old ones, renumbered.
    pub(super) fn copy_all(&mut self, file: &File<'_>, ids: &Ids, run: Run<'_>) -> Result<()> {
        self.gather(file, FilePlan::default())?;
        self.build(file, &ids.remap, &[], (Hooks::default(), 0), &[], run)
    }

    #[cfg(test)]
    pub(super) fn bodies(&mut self) -> &mut Bodies {
        &mut self.bodies
    }

    fn build(
        &mut self,
        file: &File<'_>,
        remap: &Remap,
        planned: &[Planned],
        (hooks, base): (Hooks, u32),
        sections: &[u32],
        run: Run<'_>,
    ) -> Result<()> {
        // Indices keep their order.
        let begin = remap.methods.binary_search(&hooks.begin).ok();
        let job = Job {
            file,
            remap,
            members: &self.members,
            planned,
            fields: match planned {
                [] => Fields::default(),
                _ => Fields::read(file)?,
            },
            hooks,
            base,
            sections,
            init: ids::find_string(file, b"<init>")?,
            throwable: ids::find_type(file, THROWABLE)?,
            known: near::known(file)?,
            begin: begin.map(|old| old as u32),
            part: self.part,
            debug_info: AtomicUsize::new(self.debug_info * file.bytes.len()),
        };
        self.bodies.build(&job, &mut self.outcomes, run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::joinpoint::{Method, Type, Visitor};
    use crate::dex::code_item::Code;
    use crate::dex::opcodes::op;
    use crate::dex::{debug_info, insn};

    #[derive(Default)]
    struct Everything {
        types: u32,
        planned: Vec<Planned>,
    }

    impl Visitor for Everything {
        fn enter_type(&mut self, _: &Type<'_>) -> bool {
            self.types += 1;
            true
        }
        fn method(&mut self, index: u32, method: &Method<'_>) {
            // One in eight stays as it is.
            if method.has_body && index % 8 != 7 {
                self.planned.push(Planned {
                    ty: self.types - 1,
                    index,
                    id: self.types << 8 | index,
                    advice: Advice::ALL,
                });
            }
        }
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
        let mut all = Everything::default();
        crate::dex::scan(&dex, &mut all).unwrap();
        let plan = Plan::new(all.planned);
        let mut scratch = Scratch {
            debug_info: 0,
            part: 1,
            ..Scratch::default()
        };
        let told = weave(&dex, &plan, &mut scratch).err().unwrap().to_string();
        assert!(told.starts_with("methods share debug info"), "{told}");
        let again = weave_on(&dex, &plan, &mut scratch, &backwards);
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
        let mut all = Everything::default();
        crate::dex::scan(&dex, &mut all).unwrap();
        let plan = Plan::new(all.planned);
        let new = weave(&dex, &plan, &mut Scratch::default()).unwrap();
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
    fn parts_of_any_size_make_the_same_file() {
        for bytes in [
            &include_bytes!("../../tests/dex/everything.dex")[..],
            include_bytes!("../../tests/dex/verify.dex"),
            include_bytes!("../../runtime/java/weave-runtime.dex"),
        ] {
            let dex = Dex::parse(bytes).unwrap();
            let mut all = Everything::default();
            crate::dex::scan(&dex, &mut all).unwrap();
            let plan = Plan::new(all.planned);
            let mut scratch = Scratch::default();
            let whole = weave(&dex, &plan, &mut scratch).unwrap();
            for part in [1, 100, 1000] {
                scratch.part = part;
                let parts = weave_on(&dex, &plan, &mut scratch, &backwards).unwrap();
                assert!(parts.bytes == whole.bytes, "{part}");
                let lines = |woven: &Woven| -> Vec<u32> {
                    let all = woven.types.iter().flat_map(WovenType::methods);
                    all.map(|m| m.line).collect()
                };
                assert_eq!(lines(&parts), lines(&whole));
            }
        }
    }
}
