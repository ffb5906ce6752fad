//! Hooks that replace bodies (`around`): the body becomes a separate method, which `proceed` runs.
//!
//! ```text
//!     M             new-instance P; invoke-direct {P, this, arguments}; <operands>; invoke-static hook; return
//!     weave$body$M  what M was: static, its object the first argument
//!     P             a class of the interface that the hook asks for, whose method calls that
//! ```
//!
//! A static body has no entry in the table of virtual methods, and no subclass overrides it; calls of `super` stay
//! legal in it. It cannot be private, since P calls it: it is package-private, and public in interfaces.
//!
//! The file is split before anything is woven into it; then the hooks outside of an `around` are woven into M, and the others with
//! the recorded pair into its body. Where several aspects have one, there is a method for each between these two.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::bind::call::{Bound, Call, Proceed};
use crate::aspect::bind::layers::{self, BODY, layers};
use crate::aspect::bind::ty::Ty;
use crate::aspect::plan::{MethodPlace, Plan, Planned};
use crate::aspect::serial::{FIELD, Said};
use crate::bytes::{Cursor, modified_utf8, mutf8, put_uleb32};
use crate::dex::bodies::debug_info;
use crate::dex::bodies::inputs::Run;
use crate::dex::bodies::pc_lines::PcLines;
use crate::dex::format::class::{ClassDef, Members, Method as Member, flag};
use crate::dex::format::code_item::Code;
use crate::dex::format::debug_lines::dbg;
use crate::dex::format::file::{Dex, File, MethodId, ProtoId};
use crate::dex::format::insn;
use crate::dex::format::lookup;
use crate::dex::format::order;
use crate::dex::hooks::own::{AddedHooks, Method, Needs, descriptor, parameters_of, wanted};
use crate::dex::hooks::proceed::{Found, Runner, of_object};
use crate::dex::ids::{
    self, Added, ChangedMethod, Constant, Ids, NewMembers, PlacedMethod, Wanted, WantedField,
    Wants, class_checksums,
};
use crate::dex::lower::own::{InPlace, Made};
use crate::dex::lower::own_frame::Names;
use crate::dex::lower::registers::{Width, width};
use crate::dex::scan::Patience;
use crate::dex::serial::{self, Serial};
use crate::dex::weave::{self as parts, Scratch, Woven};
use crate::dex::write::file as new_file;
use crate::error::Result;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Rows of tables that are left for what is woven into a file then, besides its own hooks.
const ROOM: usize = 32;

/// The dex version from which on interfaces have methods with code.
const WITH_DEFAULTS: u8 = 37;

/// Most words that a body can take: those of an instruction that calls, without the object that a constructor gets.
const MOST_WORDS: u32 = 0xff - 1;

/// Weaves the planned methods of a dex file. `run` may use many threads; the result does not depend on it.
pub fn weave(dex: &Dex<'_>, plan: &Plan, scratch: &mut Scratch, run: Run<'_>) -> Result<Woven> {
    if !plan.has_around() {
        return parts::weave(dex, plan, scratch, run);
    }
    let mut leave: FxHashMap<MethodPlace, Reason> = FxHashMap::default();
    // A method whose parts cannot get their hooks stays whole. That makes room for others alone, so this ends.
    loop {
        let known = leave.len();
        let split = Split::of(dex, plan, &mut leave, scratch, run)?;
        if leave.len() > known && split.is_broken {
            continue;
        }
        let woven = match &split.bytes {
            None => parts::weave_named(dex, &split.plan, &split.named, scratch, run)?,
            Some(bytes) => {
                let split_dex = Dex::parse(bytes)?;
                parts::weave_named(&split_dex, &split.plan, &split.named, scratch, run)?
            }
        };
        let (mut whole, mut again) = (Vec::new(), false);
        for left in woven.types.iter().flat_map(|ty| &ty.left) {
            let found = (split.plan.methods)
                .binary_search_by_key(&(left.ty, left.index), |p| (p.ty, p.index));
            let Ok(place) = found else { continue };
            let origin = split.origins[place];
            match split.lines.contains_key(&origin) {
                true => again |= leave.insert(origin, left.reason).is_none(),
                false => whole.push((origin, left.reason)),
            }
        }
        if again {
            continue;
        }
        leave.extend(whole);
        let methods = woven.types.iter().flat_map(|ty| ty.methods());
        let lines: FxHashMap<u32, u32> = methods.map(|m| (m.id, m.line)).collect();
        let types = parts::list(dex, plan, scratch, |planned| {
            let place = planned.place();
            match (leave.get(&place), split.lines.get(&place)) {
                (Some(reason), _) => Err(*reason),
                (None, Some(line)) => Ok(*line),
                (None, None) => Ok(lines.get(&planned.id).copied().unwrap_or_default()),
            }
        })?;
        return Ok(Woven {
            bytes: woven.bytes.or(split.bytes),
            types,
        });
    }
}

/// A dex file whose methods with `around` are split.
#[derive(Default)]
struct Split {
    /// None: no method is.
    bytes: Option<Vec<u8>>,
    /// What is woven into it.
    plan: Plan,
    /// The methods that these were.
    origins: Vec<MethodPlace>,
    /// The methods by whose names sections go.
    named: Vec<u32>,
    /// The methods that are split, and their first lines.
    lines: FxHashMap<MethodPlace, u32>,
    /// A method turned out not to be split when the tables had it already: again without it.
    is_broken: bool,
}

/// Hooks of a split method, by the indices of the parts.
struct Part {
    planned: Planned,
    origin: MethodPlace,
    named: u32,
}

impl Split {
    /// Splits the planned methods with `around` hooks, except those that are left unwoven; it may add to these.
    fn of(
        dex: &Dex<'_>,
        plan: &Plan,
        leave: &mut FxHashMap<MethodPlace, Reason>,
        scratch: &mut Scratch,
        run: Run<'_>,
    ) -> Result<Split> {
        let mut split = Split::default();
        split.plan.bound.clone_from(&plan.bound);
        let mut out = Vec::new();
        let mut starts = Vec::new();
        let mut all: Vec<Part> = Vec::new();
        let mut added_types = 0;
        for parts::OfFile {
            file,
            planned: ours,
            first_type,
        } in parts::by_file(dex, plan)?
        {
            let mut splitting = Splitting::new(file, first_type)?;
            if ours.iter().any(|p| around(plan, p).is_some()) {
                order::check(file)?;
            }
            splitting.outline(plan, ours, leave)?;
            let made = splitting.make(plan, leave, scratch, run)?;
            let moved = first_type + added_types;
            for one in ours {
                let origin = one.place();
                let done = made.as_ref().and_then(|made| made.places.get(&origin));
                if around(plan, one).is_some() && done.is_none() {
                    continue;
                }
                let class = one.ty - first_type;
                let index = |direct: &[u32]| match direct.get(one.index as usize) {
                    Some(index) => *index,
                    None => one.index,
                };
                let moves = made.as_ref().and_then(|made| made.moved.get(&class));
                let planned = Planned {
                    ty: one.ty - first_type + moved,
                    index: moves.map_or(one.index, |moves| index(moves)),
                    ..*one
                };
                let methods = &splitting.class(class)?.methods;
                let old = (methods
                    .get(one.index as usize)
                    .ok_or_else(parts::another_file)?)
                .id;
                let named = match &made {
                    Some(made) => made.ids.remap.methods[old as usize],
                    None => old,
                };
                let Some(done) = done else {
                    all.push(Part {
                        planned,
                        origin,
                        named,
                    });
                    continue;
                };
                let whole = Part {
                    planned,
                    origin,
                    named,
                };
                split.put_layers(plan, one, &whole, done, &mut all);
            }
            split.is_broken |= splitting.is_broken;
            let ids = match made {
                Some(made) => made.ids,
                None if dex.files.len() > 1 => {
                    let ids = Ids::none(file);
                    scratch.copy_all(file, &ids, run)?;
                    ids
                }
                None => continue,
            };
            added_types += ids.classes.len() as u32;
            out.resize(out.len().next_multiple_of(4), 0);
            starts.push(out.len());
            new_file::write(file, &ids, scratch.bodies(), &mut out)?;
        }
        if !split.lines.is_empty() {
            new_file::seal(&mut out, &starts);
            let last = dex.files.last().map_or(&[][..], |file| file.bytes);
            out.extend_from_slice(&dex.bytes[last.len()..]);
            split.bytes = Some(out);
        }
        all.sort_by_key(|part| (part.planned.ty, part.planned.index));
        for part in all {
            split.plan.methods.push(part.planned);
            split.origins.push(part.origin);
            split.named.push(part.named);
        }
        Ok(split)
    }
}

impl Split {
    /// The parts of a split method that have hooks.
    fn put_layers(
        &mut self,
        plan: &Plan,
        planned: &Planned,
        whole: &Part,
        done: &Done,
        all: &mut Vec<Part>,
    ) {
        self.lines.insert(whole.origin, done.line);
        let first = [whole.planned.index];
        let indices = first.iter().chain(&done.indices);
        let parts = around(plan, planned).map(layers).unwrap_or_default();
        for (layer, &index) in parts.iter().zip(indices) {
            let advice = layer.advice_of(planned);
            if advice == Advice::default() {
                continue;
            }
            let hooks = match layer.part != layers::Part::Whole && done.has_this {
                true => layer.hooks_taking_this(),
                false => layer.hooks.clone(),
            };
            let hooks = hooks.filter(|_| advice.has(Advice::OWN));
            let bound = hooks.map(|hooks| {
                self.plan.bound.push(hooks);
                self.plan.bound.len() as u32 - 1
            });
            all.push(Part {
                planned: Planned {
                    index,
                    advice,
                    bound,
                    ..whole.planned
                },
                ..*whole
            });
        }
    }
}

/// The hooks of a planned method that has one instead of its body.
fn around<'p>(plan: &'p Plan, planned: &Planned) -> Option<&'p Arc<Bound>> {
    let bound = planned.bound.map(|place| &plan.bound[place as usize]);
    bound.filter(|bound| bound.around.is_some())
}

/// The methods of a class, in the order of the class data.
struct OfClass {
    /// The number of the first among those of the file.
    first: u32,
    direct: u32,
    methods: Vec<Member>,
    /// It has bodies of an earlier weave.
    is_split: bool,
}

/// A method that is to be split.
struct Outline<'p> {
    /// The class's number in the file, and the method's in that.
    class: u32,
    member: Member,
    planned: Planned,
    /// Descriptor of the class.
    owner: Vec<u8>,
    is_interface: bool,
    has_this: bool,
    /// `this`, if it has that, and the arguments.
    takes: Vec<Ty>,
    result: Ty,
    line: u32,
    /// Debug info of what calls a hook, with names' old indices.
    lines: Lines,
    layers: Vec<Layer<'p>>,
    /// The number for serialization that its class had and would lose: the body is one of the methods that the number follows from. The
    /// first method of a class has it for all.
    number: Option<i64>,
}

/// A hook, and the method that its `proceed` runs.
struct Layer<'p> {
    call: &'p Call,
    target: Vec<u8>,
    /// What `proceed` is, each with the class that is made for it.
    proceeds: Vec<(&'p Proceed, Vec<u8>)>,
}

/// What a method's debug info says of its start.
#[derive(Default)]
struct Lines {
    first: u32,
    /// Old indices of the parameters' names with one added, or 0 for none.
    names: Vec<u32>,
    /// There are names to be shown.
    is_named: bool,
}

/// The result of splitting a method.
struct Done {
    line: u32,
    has_this: bool,
    /// The numbers in the class of the methods that it became.
    indices: Vec<u32>,
}

/// The result for a file.
struct MadeFile {
    ids: Ids,
    /// New numbers of the methods of classes that get more, by the classes' numbers.
    moved: FxHashMap<u32, Vec<u32>>,
    places: FxHashMap<MethodPlace, Done>,
}

/// A file under way.
struct Splitting<'s, 'a, 'p> {
    file: &'s File<'a>,
    first_type: u32,
    /// Where the methods of each class begin among those of the file, up to the class asked for last.
    starts: Vec<u32>,
    classes: FxHashMap<u32, OfClass>,
    serials: FxHashMap<u32, Serial>,
    patience: Patience,
    outlines: Vec<Outline<'p>>,
    is_broken: bool,
}

impl<'s, 'a, 'p> Splitting<'s, 'a, 'p> {
    fn new(file: &'s File<'a>, first_type: u32) -> Result<Splitting<'s, 'a, 'p>> {
        let mut starts = Vec::with_capacity(file.classes.len());
        let mut count = 0u32;
        for row in file.classes {
            starts.push(count);
            let class = ClassDef::read(row);
            if class.data != 0 {
                let members = Members::read(file, class.data)?;
                count = count.saturating_add(members.direct + members.virtuals);
            }
        }
        Ok(Splitting {
            file,
            first_type,
            starts,
            classes: FxHashMap::default(),
            serials: FxHashMap::default(),
            patience: Patience::new(file.bytes.len()),
            outlines: Vec::new(),
            is_broken: false,
        })
    }

    /// The methods of a class, by its number.
    fn class(&mut self, number: u32) -> Result<&OfClass> {
        if !self.classes.contains_key(&number) {
            let class = ClassDef::read(&self.file.classes[number as usize]);
            let mut of = OfClass {
                first: self.starts[number as usize],
                direct: 0,
                methods: Vec::new(),
                is_split: false,
            };
            if class.data != 0 {
                let mut members = Members::read(self.file, class.data)?;
                of.direct = members.direct;
                while let Some(method) = members.next()? {
                    let MethodId { name, .. } = self.file.method(method.id)?;
                    of.is_split |= self.file.string(name)?.starts_with(BODY.as_bytes());
                    of.methods.push(method);
                }
            }
            self.classes.insert(number, of);
        }
        Ok(&self.classes[&number])
    }

    /// Looks at the methods that are to be split; those that cannot be join the ones that are left.
    fn outline(
        &mut self,
        plan: &'p Plan,
        planned: &[Planned],
        leave: &mut FxHashMap<MethodPlace, Reason>,
    ) -> Result<()> {
        for one in planned {
            let place = one.place();
            let Some(bound) = around(plan, one).filter(|_| !leave.contains_key(&place)) else {
                continue;
            };
            let number = one.ty - self.first_type;
            let class = self.class(number)?;
            let member = class.methods.get(one.index as usize).copied();
            let member = member.ok_or_else(parts::another_file)?;
            let is_split = class.is_split;
            let serial = self.serial(number, plan, one.ty)?;
            let attempt = match serial {
                _ if is_split => Err(Reason::AlreadyWoven.into()),
                Some(serial) if serial.said == Said::Wrong => Err(Reason::SerialNumber.into()),
                _ => self.outline_of(number, member, one, bound),
            };
            let is_first = self.outlines.last().is_none_or(|last| last.class != number);
            let own = serial.filter(|serial| is_first && serial.said == Said::Nothing);
            let attempt = attempt.map(|outline| Outline {
                number: own.map(|serial| serial.default),
                ..outline
            });
            match settle(attempt).map_err(|e| e.in_method(self.file.method_label(member.id)))? {
                Ok(outline) => self.outlines.push(outline),
                Err(reason) => {
                    leave.insert(place, reason);
                }
            }
        }
        Ok(())
    }

    /// The number for serialization of a class, unless none is asked of it.
    fn serial(&mut self, number: u32, plan: &Plan, ty: u32) -> Result<Option<Serial>> {
        if plan.not_numbered.contains(&ty) {
            return Ok(None);
        }
        if let Some(known) = self.serials.get(&number) {
            return Ok(Some(*known));
        }
        let class = ClassDef::read(&self.file.classes[number as usize]);
        let serial = serial::of(self.file, &class, &self.patience)?;
        self.serials.insert(number, serial);
        Ok(Some(serial))
    }

    fn outline_of(
        &self,
        number: u32,
        member: Member,
        planned: &Planned,
        bound: &'p Arc<Bound>,
    ) -> Attempt<Outline<'p>> {
        let file = self.file;
        if member.code == 0 {
            return Err(Reason::NoBody.into());
        }
        let class = ClassDef::read(&file.classes[number as usize]);
        let is_interface = class.access & flag::INTERFACE != 0;
        let MethodId {
            class: ty,
            proto,
            name,
        } = file.method(member.id)?;
        let name = file.string(name)?;
        // Hidden-API data has flags for each method, and a lock of this kind would be another one's.
        let odd = flag::CONSTRUCTOR | flag::SYNCHRONIZED;
        if ty != class.ty
            || member.access & odd != 0
            || name.starts_with(b"<")
            || file.hidden_api.is_some()
            || is_interface && file.version < WITH_DEFAULTS
        {
            return Err(Reason::Unsupported.into());
        }
        let owner = file.descriptor(ty)?.to_vec();
        let has_this = member.access & flag::STATIC == 0;
        let ProtoId {
            returns,
            parameters: list,
            ..
        } = file.proto(proto)?;
        let mut takes = Vec::new();
        if has_this {
            takes.push(of_type(file, ty)?);
        }
        for row in file.type_list(list)? {
            takes.push(of_type(file, u32::from(u16::from_le_bytes(*row)))?);
        }
        let code = Code::read(file.bytes, member.code as usize)?;
        let words: u32 = takes.iter().map(|ty| width(ty).words()).sum();
        if words != u32::from(code.ins) || words > MOST_WORDS {
            return Err(Reason::Unsupported.into());
        }
        let label = file.method_label(member.id);
        let suffix = [name, b"$", &hash(&[&label])[..]].concat();
        let mut outlined = Vec::new();
        let all = layers(bound);
        for (n, pair) in all.windows(2).enumerate() {
            let [layer, next] = pair else { break };
            let Some(call) = layer.call else { break };
            let target = [next.part.prefix().as_bytes(), &suffix].concat();
            let mut proceeds: Vec<(&Proceed, Vec<u8>)> = Vec::new();
            for proceed in layer.proceeds() {
                let mut made = String::new();
                proceed.ty.put_descriptor(&mut made);
                let what = format!("{} {} {made}", n + 2, proceed.takes_arguments);
                let front = owner.strip_suffix(b";").unwrap_or(&owner);
                let class = [front, b"$weave$proceed_", &hash(&[&label, &what])[..], b";"].concat();
                if defines(file, &class)? {
                    return Err(Reason::AlreadyWoven.into());
                }
                proceeds.push((proceed, class));
            }
            outlined.push(Layer {
                call,
                target,
                proceeds,
            });
        }
        let lines = lines(file, &code, takes.len() - usize::from(has_this))?;
        Ok(Outline {
            class: number,
            member,
            planned: *planned,
            owner,
            is_interface,
            has_this,
            takes,
            result: of_type(file, returns)?,
            line: match lines.is_named {
                true => lines.first,
                false => 0,
            },
            lines,
            layers: outlined,
            number: None,
        })
    }

    /// Adds the parts of as many methods as there is room for, and copies the code. The others are left.
    fn make(
        &mut self,
        plan: &Plan,
        leave: &mut FxHashMap<MethodPlace, Reason>,
        scratch: &mut Scratch,
        run: Run<'_>,
    ) -> Result<Option<MadeFile>> {
        let room = Needs::of(plan, &plan.methods).count() + ROOM;
        let mut outlines = std::mem::take(&mut self.outlines);
        if outlines.is_empty() {
            return Ok(None);
        }
        let Fitting { count, found } = most_that_fit(self.file, &outlines, room)?;
        for outline in outlines.drain(count..) {
            leave.insert(outline.planned.place(), Reason::PoolFull);
        }
        let Some(FoundIds { mut added, names }) = found else {
            return Ok(None);
        };
        let mut to_static = Vec::new();
        for outline in outlines.iter().filter(|outline| outline.has_this) {
            to_static.push(self.class(outline.class)?.first + outline.planned.index);
        }
        let this = added.strings[0];
        scratch.copy_to_static(self.file, &added.ids, &to_static, this, run)?;
        let mut taken = TakenParts::default();
        let mut members: Vec<NewMembers> = Vec::new();
        let mut classes = Vec::new();
        for outline in &outlines {
            let attempt = outline.parts(&added, &mut taken, &names, this);
            let made = match settle(attempt)? {
                Ok(made) => made,
                Err(reason) => {
                    leave.insert(outline.planned.place(), reason);
                    self.is_broken = true;
                    return Ok(None);
                }
            };
            if members
                .last()
                .is_none_or(|last| last.class != outline.class)
            {
                members.push(NewMembers {
                    class: outline.class,
                    ..NewMembers::default()
                });
            }
            let of = members.last_mut().expect("one was pushed");
            let body = self.class(outline.class)?.first + outline.planned.index;
            let body = scratch.bodies().methods[body as usize];
            let mut places = made
                .methods
                .iter()
                .map(|method| scratch.bodies().add(&method.code, &method.debug));
            let whole = places.next().unwrap_or(body);
            of.changed.push(ChangedMethod {
                number: outline.planned.index,
                access: outline.member.access,
                code: whole,
            });
            of.constant = of.constant.or(made.constant);
            let places: Vec<u32> = places.collect();
            let last = made.targets.len() - 1;
            for (n, &id) in made.targets.iter().enumerate() {
                let (access, code) = match places.get(n) {
                    Some(place) if n < last => (outline.access(0), *place),
                    _ => {
                        let kept = flag::STRICT | flag::DECLARED_SYNCHRONIZED;
                        (outline.access(kept), body)
                    }
                };
                of.added.push(PlacedMethod { id, access, code });
            }
            classes.extend(made.classes);
        }
        let moves = self.moves(&added.ids, &members)?;
        let places = done(&outlines, &moves);
        added.ids.classes.extend(classes);
        added.ids.members = members;
        added.ids.changed = class_checksums::without(self.file, &added.ids)?;
        let moves = moves.into_iter().map(|(class, moved)| (class, moved.old));
        Ok(Some(MadeFile {
            ids: added.ids,
            moved: moves.collect(),
            places,
        }))
    }

    /// The new numbers of the methods of classes that get more.
    fn moves(&mut self, ids: &Ids, members: &[NewMembers]) -> Result<FxHashMap<u32, Moved>> {
        let mut all = FxHashMap::default();
        for of in members {
            let class = self.class(of.class)?;
            let count = class.methods.len();
            let direct = class.direct as usize;
            let mut order: Vec<(u32, usize)> = (class.methods[..direct].iter().enumerate())
                .map(|(n, method)| (ids.remap.methods[method.id as usize], n))
                .collect();
            let added = of.added.iter().enumerate();
            order.extend(added.map(|(n, method)| (method.id, count + n)));
            order.sort_by_key(|method| method.0);
            order.extend((direct..count).map(|n| (0, n)));
            let mut new = vec![0; order.len()];
            for (index, (_, n)) in (0..).zip(&order) {
                new[*n] = index;
            }
            let added = new.split_off(count);
            all.insert(of.class, Moved { old: new, added });
        }
        Ok(all)
    }
}

/// New numbers of the methods of a class.
struct Moved {
    /// Of those that it has.
    old: Vec<u32>,
    /// Of those that it gets.
    added: Vec<u32>,
}

/// A method that is made.
struct Written {
    /// Its code item.
    code: Vec<u8>,
    /// Its debug info.
    debug: Vec<u8>,
}

/// The parts of a split method, in new indices.
struct Parts {
    /// The method and those between it and its body.
    methods: Vec<Written>,
    /// What their objects run, the body last.
    targets: Vec<u32>,
    classes: Vec<ids::NewClass>,
    /// See [`Outline::number`].
    constant: Option<Constant>,
}

/// How many of the ids that were added belong to methods so far.
#[derive(Default)]
struct TakenParts {
    methods: usize,
    fields: usize,
}

impl Outline<'_> {
    /// Access flags of the methods that it becomes, with those of its own that they keep.
    fn access(&self, kept: u32) -> u32 {
        let own = flag::STATIC | flag::SYNTHETIC | self.member.access & kept;
        match self.is_interface {
            true => (own | flag::PUBLIC) & !flag::DECLARED_SYNCHRONIZED,
            false => own,
        }
    }

    fn runner<'r>(&'r self, proceed: &'r Proceed, class: &[u8]) -> Runner<'r> {
        Runner {
            proceed,
            class: class.to_vec(),
            takes: &self.takes,
            has_this: self.has_this,
            result: &self.result,
        }
    }

    /// The methods and fields that its parts are and name, in the order in which [`Outline::parts`] takes them; `want` gets the
    /// former.
    fn wanted(&self, want: &mut Vec<Method>, fields: &mut Vec<[Vec<u8>; 3]>, needs: &mut Needs) {
        for layer in &self.layers {
            want.push(Method {
                class: self.owner.clone(),
                name: layer.target.clone(),
                parameters: self.takes.iter().map(descriptor).collect(),
                returns: descriptor(&self.result),
            });
            for (proceed, class) in &layer.proceeds {
                let runner = self.runner(proceed, class);
                runner.need(needs);
                want.extend(runner.methods());
                for (n, ty) in runner.kept().iter().enumerate() {
                    fields.push([class.clone(), field_name(n), descriptor(ty)]);
                }
            }
        }
        if self.number.is_some() {
            fields.push([self.owner.clone(), FIELD.into(), b"J".to_vec()]);
        }
    }

    fn parts(
        &self,
        added: &Added,
        taken: &mut TakenParts,
        names: &Names,
        this: u32,
    ) -> Attempt<Parts> {
        let mut parts = Parts {
            methods: Vec::new(),
            targets: Vec::new(),
            classes: Vec::new(),
            constant: None,
        };
        // Before the first of this kind comes the constructor of objects.
        let mut next = || {
            taken.methods += 1;
            taken.methods
        };
        let arguments: Vec<Width> = self.takes.iter().map(width).collect();
        for (n, layer) in self.layers.iter().enumerate() {
            let body = added.methods[next()];
            let mut proceeds = Vec::new();
            for (proceed, class) in &layer.proceeds {
                let runner = self.runner(proceed, class);
                let (constructor, run) = (next(), next());
                let count = runner.kept().len();
                let own = &added.fields[taken.fields..][..count];
                taken.fields += count;
                let ty = added.classes[constructor];
                let constructor = added.methods[constructor];
                proceeds.push((*proceed, Made { ty, constructor }));
                parts.classes.push(runner.class(&Found {
                    ty,
                    constructor,
                    run: added.methods[run],
                    body,
                    above: added.methods[0],
                    fields: own,
                    names,
                })?);
            }
            let in_place = InPlace {
                names,
                arguments: &arguments,
                has_this: self.has_this,
                result: &self.result,
                id: self.planned.id,
                line: self.line,
                proceeds: &proceeds,
            };
            let mut code = Vec::new();
            in_place.put(layer.call, &mut code)?;
            let this = (n > 0 && self.has_this).then_some(this);
            let debug = self.lines.debug_info(this, &added.ids.remap.strings);
            parts.methods.push(Written { code, debug });
            parts.targets.push(body);
        }
        parts.constant = self.number.map(|value| {
            let field = added.fields[taken.fields];
            taken.fields += 1;
            let own = flag::STATIC | flag::FINAL | flag::SYNTHETIC;
            let seen = match self.is_interface {
                true => flag::PUBLIC,
                false => flag::PRIVATE,
            };
            Constant {
                field,
                access: own | seen,
                value,
            }
        });
        Ok(parts)
    }
}

/// Where the parts of each split method are, by its place.
fn done(outlines: &[Outline<'_>], moves: &FxHashMap<u32, Moved>) -> FxHashMap<MethodPlace, Done> {
    let mut at = 0;
    let each = outlines.iter().map(|outline| {
        let new = &moves[&outline.class].added;
        // Added methods come in the order of the outlines of their class.
        let end = at + outline.layers.len();
        let indices = new[at..end].to_vec();
        at = if end == new.len() { 0 } else { end };
        let done = Done {
            line: outline.line,
            has_this: outline.has_this,
            indices,
        };
        (outline.planned.place(), done)
    });
    each.collect()
}

/// The ids of the split methods, and of what they name.
struct FoundIds {
    added: Added,
    names: Names,
}

/// The outlines that there is room for.
struct Fitting {
    count: usize,
    /// The ids that these need.
    found: Option<FoundIds>,
}

/// How many outlines there is room for: as many as each is sure to take room; else down to what
/// fits, and up again to the most.
fn most_that_fit(file: &File<'_>, outlines: &[Outline<'_>], room: usize) -> Result<Fitting> {
    let mut next = room_for(file, outlines, room);
    let (mut fits, mut too_many, mut step) = (0, next + 1, 1);
    let mut found = None;
    while fits + 1 < too_many {
        match names_of(file, &outlines[..next], room)? {
            Some(names) => (fits, found) = (next, Some(names)),
            None => too_many = next,
        }
        next = match found {
            Some(_) => fits + (too_many - fits) / 2,
            None => too_many.saturating_sub(step),
        };
        step *= 2;
    }
    Ok(Fitting { count: fits, found })
}

/// How many of these methods there can be room for: each is sure to take a method, and a class with two for each object.
fn room_for(file: &File<'_>, outlines: &[Outline<'_>], room: usize) -> usize {
    let mut methods = (0x1_0000 - room.min(0x1_0000)).saturating_sub(file.methods.len());
    let mut types = (0xffff - room.min(0xffff)).saturating_sub(file.types.len());
    let mut fields = 0x1_0000usize.saturating_sub(file.fields.len());
    let fits = outlines.iter().take_while(|outline| {
        let proceeds = || outline.layers.iter().flat_map(|layer| &layer.proceeds);
        let kept =
            |(proceed, class): &(&Proceed, Vec<u8>)| outline.runner(proceed, class).kept().len();
        let taken = [
            (&mut methods, outline.layers.len() + 2 * proceeds().count()),
            (&mut types, proceeds().count()),
            (
                &mut fields,
                proceeds().map(kept).sum::<usize>() + usize::from(outline.number.is_some()),
            ),
        ];
        taken.into_iter().all(|(left, taken)| {
            let fits = *left >= taken;
            *left = left.saturating_sub(taken);
            fits
        })
    });
    fits.count()
}

/// Adds what the parts of these methods are and name to a file's tables. `None` where one has no room.
fn names_of(file: &File<'_>, outlines: &[Outline<'_>], room: usize) -> Result<Option<FoundIds>> {
    let calls = outlines.iter().flat_map(|outline| &outline.layers);
    let mut needs = Needs::of_calls(calls.map(|layer| layer.call));
    let (mut methods, mut fields) = (vec![of_object()], Vec::new());
    for outline in outlines {
        outline.wanted(&mut methods, &mut fields, &mut needs);
    }
    let parameters = parameters_of(&methods);
    let wanted = wanted(&methods, &parameters);
    let fields: Vec<WantedField<'_>> = (fields.iter())
        .map(|[class, name, ty]| WantedField { class, name, ty })
        .collect();
    let found = needs.add(file, &[b"this".to_vec()], |more| {
        let mut wanted: Vec<Wanted<'_>> = wanted.collect();
        wanted.extend(more.methods);
        let wants = Wants {
            methods: &wanted,
            fields: &fields,
            ..more
        };
        let added = ids::add(file, wants)?.filter(|added| {
            let remap = &added.ids.remap;
            let methods = remap.methods.len() + added.ids.methods.len();
            let types = remap.types.len() + added.ids.types.len();
            methods + room <= 0x1_0000 && types + room <= 0xffff
        });
        Ok(added.map(|added| AddedHooks {
            added,
            places: (0..methods.len()).collect(),
        }))
    })?;
    Ok(found.map(|found| FoundIds {
        added: found.hooks.added,
        names: found.names,
    }))
}

fn field_name(n: usize) -> Vec<u8> {
    format!("a{n}").into_bytes()
}

/// Eight hexadecimal digits that follow from texts.
fn hash(texts: &[&str]) -> Vec<u8> {
    let mut sha = Sha256::new();
    for text in texts {
        sha.update(text);
        sha.update([0]);
    }
    let digits: String = sha.finalize()[..4]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    digits.into_bytes()
}

/// A type, if its descriptor is one that is written as it was read.
fn of_type(file: &File<'_>, ty: u32) -> Attempt<Ty> {
    let bytes = file.descriptor(ty)?;
    let text = mutf8(bytes);
    match Ty::of_descriptor(&text) {
        Some((ty, "")) if modified_utf8(&text) == bytes => Ok(ty),
        _ => Err(Reason::Unsupported.into()),
    }
}

/// Whether a file defines a class, by its descriptor.
fn defines(file: &File<'_>, class: &[u8]) -> Result<bool> {
    let Some(ty) = lookup::find_type(file, class)? else {
        return Ok(false);
    };
    let mut classes = file.classes.iter().map(ClassDef::read);
    Ok(classes.any(|class| class.ty == ty))
}

/// What a method's debug info says of its start.
fn lines(file: &File<'_>, code: &Code<'_>, parameters: usize) -> Result<Lines> {
    let at = code.debug_info as usize;
    if at == 0 {
        return Ok(Lines {
            names: vec![0; parameters],
            ..Lines::default()
        });
    }
    let pcs = PcLines::read(file.bytes, at, insn::units(code.insns))?;
    let mut cursor = Cursor::at(file.bytes, at);
    cursor.uleb32()?;
    let count = cursor.uleb32()?;
    let mut names = Vec::new();
    // No method takes more.
    for _ in 0..count.min(0xff) {
        names.push(cursor.uleb32()?);
    }
    Ok(Lines {
        first: match pcs {
            Some(pcs) => pcs.first,
            None => debug_info::first_line(file.bytes, at)?,
        },
        names,
        is_named: pcs.is_none(),
    })
}

impl Lines {
    /// A `debug_info_item` of which all code is at the first line; `this`: the new index of the name of one more parameter in front.
    fn debug_info(&self, this: Option<u32>, strings: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        put_uleb32(&mut out, self.first);
        put_uleb32(
            &mut out,
            (self.names.len() + usize::from(this.is_some())) as u32,
        );
        if let Some(this) = this {
            put_uleb32(&mut out, if self.is_named { this + 1 } else { 0 });
        }
        for name in &self.names {
            let new = name
                .checked_sub(1)
                .and_then(|old| strings.get(old as usize));
            put_uleb32(&mut out, new.map_or(0, |new| new + 1));
        }
        out.push(dbg::SPECIAL + dbg::LINE_BASE.unsigned_abs() as u8);
        out.push(dbg::END_SEQUENCE);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::bind::call::{Around, Convert, Dest, Source};
    use crate::aspect::bind::functional::Function;
    use crate::aspect::bind::ty::{Prim, Signature};
    use crate::dex::format::file::{HEADER, HEADER_41};
    use crate::dex::testing::{
        as_object, call, changes_all, object, own_everywhere, own_wherever, same, takes_objects,
        takes_types,
    };
    use crate::dex::verify::verify;
    use crate::dex::weave::one_by_one;

    const SHAPES: &[u8] = include_bytes!("../../tests/dex/verify.dex");
    /// It has hidden-API data.
    const EVERYTHING: &[u8] = include_bytes!("../../tests/dex/everything.dex");
    const RETURNS: &[u8] = include_bytes!("../../tests/dex/returns.dex");
    const LIBRARY: &[u8] = include_bytes!("../../runtime/java/weave-runtime.dex");

    /// What a hook asks for.
    #[derive(Clone, Copy)]
    struct Asks {
        /// `proceed` takes the arguments.
        takes: bool,
        /// All of `proceed` is about objects.
        boxes: bool,
    }

    const ASKS: [Asks; 4] = [
        Asks {
            takes: false,
            boxes: true,
        },
        Asks {
            takes: false,
            boxes: false,
        },
        Asks {
            takes: true,
            boxes: true,
        },
        Asks {
            takes: true,
            boxes: false,
        },
    ];

    /// Hooks with one more around them, which takes all that it can.
    fn around(asks: Asks, signature: &Signature, outer: Bound, inner: Option<Bound>) -> Bound {
        let shown = |ty: &Ty| match asks.boxes {
            true => object(),
            false => ty.clone(),
        };
        let parameters = signature.parameters.iter().filter(|_| asks.takes);
        let function = Function {
            name: "run".into(),
            parameters: parameters.map(|p| shown(&p.ty)).collect(),
            result: shown(&signature.result),
        };
        let ty = Ty::class("acme/Body");
        let proceed = Proceed {
            ty: ty.clone(),
            takes_arguments: asks.takes && !function.parameters.is_empty(),
            function,
        };
        let arguments = signature.parameters.iter().enumerate();
        let arguments = arguments.map(|(n, p)| as_object(Source::Arg(n as u16), &p.ty));
        let array = Ty::Array(Arc::new(object()));
        let long = Ty::Prim(Prim::I64);
        let operands = vec![
            same(Source::Proceed(Arc::new(proceed)), &ty),
            match &signature.this {
                Some(this) => as_object(Source::This, this),
                None => same(Source::Zero, &object()),
            },
            same(Source::Text("text".into()), &Ty::class("java/lang/String")),
            same(Source::Args(arguments.collect()), &array),
            same(Source::Long(1 << 40), &long),
        ];
        let mut call = call("around", operands, object(), Dest::Drop, false);
        if signature.result != Ty::Void {
            call.dest = Dest::Returned;
            call.given = Some((Convert::Cast, signature.result.clone()));
        }
        Bound {
            around: Some(Box::new(Around {
                call,
                inner: inner.map(Arc::new),
            })),
            ..outer
        }
    }

    fn woven(bytes: &[u8], advice: Advice, hooked: &dyn Fn(&Signature) -> Bound) -> Woven {
        let dex = Dex::parse(bytes).unwrap();
        let plan = own_everywhere(&dex, advice, hooked);
        weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap()
    }

    fn left(woven: &Woven, reason: Reason) -> Vec<&str> {
        let left = woven.types.iter().flat_map(|ty| &ty.left);
        let left = left.filter(|left| left.reason == reason);
        left.map(|left| left.method.as_str()).collect()
    }

    /// The methods of a file that have code, by class: their names and access flags.
    fn methods(bytes: &[u8]) -> Vec<(String, u32)> {
        let dex = Dex::parse(bytes).unwrap();
        let mut all = Vec::new();
        for file in &dex.files {
            for row in file.classes {
                let class = ClassDef::read(row);
                if class.data == 0 {
                    continue;
                }
                let mut members = Members::read(file, class.data).unwrap();
                while let Some(method) = members.next().unwrap() {
                    if method.code != 0 {
                        all.push((file.method_label(method.id), method.access));
                    }
                }
            }
        }
        all
    }

    #[test]
    fn every_body_becomes_a_method_of_its_own() {
        let nothing = |_: &Signature| Bound::default();
        let hooks: [&dyn Fn(&Signature) -> Bound; 4] =
            [&nothing, &takes_objects, &takes_types, &changes_all];
        let sections = Advice::ALL.with(Advice::SECTION);
        let judge = |bytes: &[u8], asks: Asks, number: usize, advice: Advice| {
            let hooks = hooks[number];
            let one = |s: &Signature| around(asks, s, hooks(s), Some(hooks(s)));
            let two = |s: &Signature| around(asks, s, hooks(s), Some(one(s)));
            for hooked in [&one as &dyn Fn(&Signature) -> Bound, &two] {
                let new = woven(bytes, advice, hooked);
                verify(new.bytes.as_ref().unwrap()).assert_sound();
            }
        };
        for asks in ASKS {
            for number in 0..hooks.len() {
                for advice in [Advice::default(), sections] {
                    judge(SHAPES, asks, number, advice);
                    judge(RETURNS, asks, number, advice);
                }
            }
        }
        judge(LIBRARY, ASKS[2], 3, sections);
    }

    #[test]
    fn a_method_is_told_once_and_keeps_its_name() {
        let bare = |signature: &Signature| around(ASKS[0], signature, Bound::default(), None);
        for advice in [Advice::default(), Advice::ALL] {
            let new = woven(SHAPES, advice, &bare);
            let told: Vec<String> = (new.types.iter().flat_map(|ty| ty.methods()))
                .map(|m| format!("{}{}", m.name, m.descriptor))
                .collect();
            let old = methods(SHAPES);
            let constructors = left(&new, Reason::Unsupported);
            assert!(
                constructors.iter().all(|m| m.starts_with("<init>")),
                "{constructors:?}"
            );
            assert_eq!(told.len() + constructors.len(), old.len());
            let all = methods(new.bytes.as_ref().unwrap());
            for method in told {
                let label = all
                    .iter()
                    .filter(|(label, _)| label.ends_with(&format!(".{method}")));
                assert_eq!(label.count(), 1, "{method}");
            }
            let bodies = all
                .iter()
                .filter(|(label, _)| label.contains("weave$body$"));
            let flags: Vec<u32> = bodies.map(|(_, access)| access & !flag::STRICT).collect();
            assert_eq!(flags.len(), old.len() - constructors.len());
            assert!(
                flags
                    .iter()
                    .all(|flags| *flags == flag::STATIC | flag::SYNTHETIC),
                "{flags:?}"
            );
        }
    }

    #[test]
    fn a_method_keeps_its_access_flags() {
        let bare = |signature: &Signature| around(ASKS[1], signature, Bound::default(), None);
        let split = woven(LIBRARY, Advice::default(), &bare).bytes.unwrap();
        let new = methods(&split);
        let mut locks = 0;
        for (label, access) in methods(LIBRARY) {
            let kept = new.iter().find(|(name, _)| *name == label);
            assert_eq!(kept.map(|(_, access)| *access), Some(access), "{label}");
            locks += usize::from(access & flag::DECLARED_SYNCHRONIZED != 0);
        }
        assert!(locks > 3, "{locks}");
    }

    #[test]
    fn a_split_method_is_woven_already() {
        let bare = |signature: &Signature| around(ASKS[0], signature, Bound::default(), None);
        let first = woven(SHAPES, Advice::default(), &bare).bytes.unwrap();
        let again = woven(&first, Advice::default(), &bare);
        let classes = |woven: &Woven| {
            let left = left(woven, Reason::AlreadyWoven);
            left.iter()
                .filter(|method| !method.contains("weave$"))
                .count()
        };
        let bodies = methods(&first)
            .iter()
            .filter(|(label, _)| label.contains("weave$body$"))
            .count();
        assert_eq!(classes(&again), methods(SHAPES).len());
        assert!(bodies > 10);
    }

    #[test]
    fn hidden_api_data_has_no_place_for_more_methods() {
        let bare = |signature: &Signature| around(ASKS[0], signature, Bound::default(), None);
        let new = woven(EVERYTHING, Advice::ALL, &bare);
        assert!(new.bytes.is_none());
        assert_eq!(
            left(&new, Reason::Unsupported).len(),
            methods(EVERYTHING).len()
        );
    }

    #[test]
    fn no_bytes_panic() {
        let bare = |signature: &Signature| around(ASKS[2], signature, Bound::default(), None);
        let mut woven = 0;
        // Every byte of the file, its lowest and its highest bit in turns.
        for at in 0..SHAPES.len() {
            let mut bytes = SHAPES.to_vec();
            bytes[at] ^= if at % 2 == 0 { 1 } else { 0x80 };
            let Ok(dex) = Dex::parse(&bytes) else {
                continue;
            };
            let Ok(plan) = own_wherever(&dex, Advice::ALL, &bare) else {
                continue;
            };
            if let Ok(new) = weave(&dex, &plan, &mut Scratch::default(), &one_by_one)
                && let Some(new) = new.bytes
            {
                Dex::parse(&new).unwrap();
                woven += 1;
            }
        }
        assert!(woven > 500, "{woven}");
    }

    #[test]
    fn a_plan_of_another_file_is_refused() {
        let bare = |signature: &Signature| around(ASKS[0], signature, Bound::default(), None);
        let dex = Dex::parse(SHAPES).unwrap();
        for (ty, index) in [(0, 1000), (1000, 0)] {
            let mut plan = own_everywhere(&dex, Advice::ALL, &bare);
            let last = plan.methods.last_mut().unwrap();
            (last.ty, last.index) = (ty, index);
            let e = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).err();
            assert_eq!(e.unwrap().to_string(), "the plan is of another dex file");
        }
    }

    #[test]
    fn each_dex_of_a_container_is_split() {
        /// Where the header has its own size, that of the container, and its place in it.
        const SIZES: [usize; 3] = [0x24, HEADER, HEADER + 4];
        let mut old = Dex::parse(SHAPES).unwrap();
        let mut bytes = SHAPES.to_vec();
        bytes[4..7].copy_from_slice(b"041");
        bytes[SIZES[0]] = HEADER_41 as u8;
        let mut file = old.files.remove(0);
        file.bytes = &bytes;
        file.version = 41;
        let (mut out, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let ids = Ids::none(&file);
            let mut scratch = Scratch::default();
            scratch.copy_all(&file, &ids, &one_by_one).unwrap();
            starts.push(out.len());
            new_file::write(&file, &ids, scratch.bodies(), &mut out).unwrap();
        }
        new_file::seal(&mut out, &starts);
        let hooked = |s: &Signature| around(ASKS[0], s, takes_objects(s), Some(takes_objects(s)));
        let new = woven(&out, Advice::ALL, &hooked);
        let split = new.bytes.unwrap();
        verify(&split).assert_sound();
        assert_eq!(Dex::parse(&split).unwrap().files.len(), 2);
        let told: Vec<usize> = new.types.iter().map(|ty| ty.methods().count()).collect();
        let bodies = methods(&split);
        let bodies = bodies
            .iter()
            .filter(|(label, _)| label.contains("weave$body$"));
        assert_eq!(bodies.count(), told.iter().sum::<usize>());
        assert!(
            told[0] > 10 && told[..told.len() / 2] == told[told.len() / 2..],
            "{told:?}"
        );
    }

    #[test]
    fn as_many_are_split_as_the_tables_have_room_for() {
        let dex = Dex::parse(SHAPES).unwrap();
        let bare = |signature: &Signature| around(ASKS[0], signature, Bound::default(), None);
        let names: Vec<String> = (0..0x1_0000).map(|n| format!("m{n}")).collect();
        let filled = |count: usize| {
            let wanted: Vec<Wanted<'_>> = names[..count]
                .iter()
                .map(|name| Wanted {
                    class: b"Lacme/Many;",
                    name: name.as_bytes(),
                    parameters: &[],
                    returns: b"V",
                })
                .collect();
            let wants = Wants {
                methods: &wanted,
                ..Wants::default()
            };
            let ids = ids::add(&dex.files[0], wants).unwrap()?.ids;
            let (mut scratch, mut out) = (Scratch::default(), Vec::new());
            scratch.copy_all(&dex.files[0], &ids, &one_by_one).unwrap();
            new_file::write(&dex.files[0], &ids, scratch.bodies(), &mut out).unwrap();
            new_file::seal(&mut out, &[0]);
            Some(out)
        };
        let whole = woven(&filled(0).unwrap(), Advice::ALL, &bare);
        let all = whole.types.iter().flat_map(|ty| ty.methods()).count();
        let mut told = vec![all];
        // From where all have room to where no row is left.
        let counts = (0x1_0000 - 150..0x1_0000).step_by(40);
        for bytes in counts.map_while(filled) {
            let new = woven(&bytes, Advice::ALL, &bare);
            let done = new.types.iter().flat_map(|ty| ty.methods()).count();
            assert_eq!(done + left(&new, Reason::PoolFull).len(), all);
            told.push(done);
            if let Some(bytes) = &new.bytes {
                verify(bytes).assert_sound();
            }
        }
        assert!(told.is_sorted_by(|a, b| a >= b), "{told:?}");
        assert!(told.iter().any(|done| (1..all).contains(done)), "{told:?}");
    }
}
