//! The steps of a weave: threads weave the methods in parts, [`Joiner`] joins the parts in their order, so that the file
//! does not depend on the threads, and the file is laid out. Each step makes a type from the one before: [`Weaver`], [`Joined`](crate::cil::weave::join::Joined), [`Woven`], [`Written`].

use crate::aspect::plan::LeftCall;
use crate::aspect::woven::WovenType;
use crate::cil::image::Image;
use crate::cil::machines::Machines;
use crate::cil::pdb;
use crate::cil::run::{POISONED, Run, both, gather, here};
use crate::cil::symbols::{SymbolNames, SymbolNumbers};
use crate::cil::warning::Warning;
use crate::cil::weave::inlining;
use crate::cil::weave::join::{Joined, Joiner};
use crate::cil::weave::methods::Methods;
use crate::cil::weave::part::{Assembly, Part, Scratch, Weaver};
use crate::cil::weave::sites::OldBodies;
use crate::cil::write::image::{self, Edits, Metadata, Rest, Written};
use crate::error::Result;
use crate::in_order::InOrder;
use crate::signing::strong_name::StrongNameKey;
use std::sync::{Arc, Mutex};

/// How a weave is cut, and what runs its parts.
#[derive(Clone, Copy)]
struct Parts<'r> {
    /// Methods of a part, about.
    methods: usize,
    run: Run<'r>,
}

/// Records the outcomes of types, in parts.
pub trait Recorder: Sync {
    /// The outcomes of a part.
    type Records: Send;

    /// Whether methods are recorded by the numbers of their names: most names of a program occur many times.
    fn takes_numbers(&self) -> bool;
    fn names(&self, names: &SymbolNames<'_, '_, '_>) -> Result<Self::Records>;
    /// Begins a part of about so many methods; `first`: it is the first of all.
    fn begin(&self, first: bool, methods: usize) -> Self::Records;
    /// Records the outcome of a type; may take its memory.
    fn add(&self, records: &mut Self::Records, ty: &mut WovenType);
    /// Completes the part.
    fn end(&self, records: &mut Self::Records);
}

/// Methods of a part, about: enough that their symbols compress well.
const PART: usize = 1024;

/// Weaves the planned methods; `key` signs the file. The records are in
/// the plan's order; types with state machines come a second time.
pub fn weave_on<'i, 'a, R: Recorder>(
    assembly: Assembly<'i, 'a>,
    methods: impl Into<Methods>,
    key: Option<&'a StrongNameKey>,
    recorder: &R,
    run: Run<'_>,
) -> Result<(Woven<'i, 'a>, Vec<R::Records>)> {
    let methods = methods.into();
    weave_in_parts(
        assembly,
        methods,
        key,
        recorder,
        Parts { methods: PART, run },
    )
}

/// The same in parts of so many methods.
fn weave_in_parts<'i, 'a, R: Recorder>(
    assembly: Assembly<'i, 'a>,
    methods: Methods,
    key: Option<&'a StrongNameKey>,
    recorder: &R,
    parts: Parts<'_>,
) -> Result<(Woven<'i, 'a>, Vec<R::Records>)> {
    let image = assembly.image;
    let takes_numbers = recorder.takes_numbers();
    let (machines, numbers) = both(
        parts.run,
        || Ok(Machines::read(image)),
        || Ok(takes_numbers.then(|| SymbolNumbers::read(&image.metadata))),
    )?;
    let weaver = Weaver::new(assembly, methods, machines, numbers)?;
    let (joined, records) = weave_and_join(&weaver, recorder, parts)?;
    // The next step needs more memory than the rest of it.
    let Weaver {
        old, left_calls, ..
    } = weaver;
    let woven = Woven::new(assembly, (joined, old), key, parts.run)?;
    Ok((
        Woven {
            left_calls,
            ..woven
        },
        records,
    ))
}

/// Weaves all parts, and then the state machines.
fn weave_and_join<'i, R: Recorder>(
    weaver: &Weaver<'i, '_>,
    recorder: &R,
    parts: Parts<'_>,
) -> Result<(Joined<'i>, Vec<R::Records>)> {
    let Parts { methods, run } = parts;
    let takes_numbers = recorder.takes_numbers();
    let ranges = weaver.parts(methods);
    let joined = InOrder::new(
        (Joiner::new(weaver), Vec::with_capacity(ranges.len() + 2)),
        |(joiner, all): &mut (Joiner<'_, 'i, '_>, Vec<R::Records>),
         (part, records): (Option<Part>, Option<R::Records>)| {
            all.extend(records);
            part.map_or(Ok(()), |part| joiner.add(part))
        },
    );
    let names = || -> Result<(Option<Part>, Option<R::Records>)> {
        weaver.look_ahead();
        let names = weaver.symbol_names()?;
        let records = names.map(|names| recorder.names(&names)).transpose()?;
        Ok((None, records))
    };
    let part = |number: usize, scratch: &mut Scratch| {
        let range = ranges[number].clone();
        let mut records = recorder.begin(number == 0, range.len());
        let part = weaver.part(range, scratch, &mut |ty| recorder.add(&mut records, ty))?;
        recorder.end(&mut records);
        Ok((Some(part), Some(records)))
    };
    // Naming takes longest, so it comes first; no part waits for it.
    run(
        1 + ranges.len(),
        &|task, scratch| match task.checked_sub(1) {
            None => joined.put(ranges.len(), names()),
            Some(number) => joined.put(number, part(number, scratch)),
        },
    );
    let (joiner, mut records) = joined.finish()?;
    if takes_numbers {
        records.rotate_right(1);
    }
    let joiner = Mutex::new(Some(joiner));
    let joined = gather(run, 1, |_, scratch| {
        let joiner = joiner.lock().expect(POISONED).take();
        joiner.expect("it runs once").finish(scratch)
    })?;
    let (joined, types) = joined.into_iter().next().expect("there is one task");
    let mut of_machines = recorder.begin(false, types.len());
    for mut ty in types {
        recorder.add(&mut of_machines, &mut ty);
    }
    records.push(of_machines);
    Ok((joined, records))
}

/// Keeps all types.
struct Types;

impl Recorder for Types {
    type Records = Vec<WovenType>;

    fn takes_numbers(&self) -> bool {
        false
    }

    fn names(&self, _: &SymbolNames<'_, '_, '_>) -> Result<Vec<WovenType>> {
        Ok(Vec::new())
    }

    fn begin(&self, _: bool, _: usize) -> Vec<WovenType> {
        Vec::new()
    }

    fn add(&self, records: &mut Vec<WovenType>, ty: &mut WovenType) {
        records.push(std::mem::take(ty));
    }

    fn end(&self, _: &mut Vec<WovenType>) {}
}

/// Weaves the planned methods on the calling thread, in parts of so many methods; returns the outcome of each type.
pub fn weave<'i, 'a>(
    assembly: Assembly<'i, 'a>,
    planned: impl Into<Methods>,
    key: Option<&'a StrongNameKey>,
    methods: usize,
) -> Result<(Woven<'i, 'a>, Vec<WovenType>)> {
    let planned = planned.into();
    let (woven, records) = weave_in_parts(
        assembly,
        planned,
        key,
        &Types,
        Parts {
            methods,
            run: &here,
        },
    )?;
    let mut types: Vec<WovenType> = Vec::new();
    for ty in records.into_iter().flatten() {
        match types.binary_search_by_key(&ty.ty, |other| other.ty) {
            Ok(place) => types[place].merge(ty),
            Err(place) => types.insert(place, ty),
        }
    }
    Ok((woven, types))
}

/// A woven assembly without its symbols.
pub struct Woven<'i, 'a> {
    image: &'i Image<'a>,
    source: &'i pdb::Source<'i>,
    key: Option<&'a StrongNameKey>,
    edits: Edits<'i, 'a>,
    tail_calls: u32,
    /// The assemblies without a strong name that hooks brought.
    unsigned: Vec<String>,
    left_calls: Vec<LeftCall>,
}

impl<'i, 'a> Woven<'i, 'a> {
    /// Makes the new metadata, reads what stays, and gives the bodies their final tokens.
    fn new(
        assembly: Assembly<'i, 'a>,
        (joined, old): (Joined<'i>, OldBodies<'_, '_>),
        key: Option<&'a StrongNameKey>,
        run: Run<'_>,
    ) -> Result<Self> {
        let Assembly { image, source } = assembly;
        let Joined {
            additions,
            framing,
            mut parts,
            pdb,
            tail_calls,
        } = joined;
        let unsigned = additions.unsigned_references();
        let fields = &framing.fields;
        let bodies = parts.iter().flat_map(|part| &part.bodies.list);
        let unmarked = inlining::unmarked(image, &old, bodies)?;
        for body in parts.iter_mut().flat_map(|part| &mut part.bodies.list) {
            body.unmarked = unmarked.contains(&body.method);
        }
        let lists: Vec<_> = parts.iter().map(|part| &part.bodies.list[..]).collect();
        let (metadata, rest) = both(
            run,
            || Metadata::new(image, additions, fields, key),
            || Rest::read(image, old, &lists, fields),
        )?;
        let parts: Vec<_> = parts
            .into_iter()
            .map(|part| Mutex::new(Some(part)))
            .collect();
        let parts = gather(run, parts.len(), |number, _| {
            let part = parts[number].lock().expect(POISONED).take();
            part.expect("it runs once").with_final_tokens(fields)
        })?;
        Ok(Woven {
            image,
            source,
            key,
            edits: Edits {
                metadata,
                framing,
                parts,
                rest,
                pdb,
            },
            tail_calls,
            unsigned,
            left_calls: Vec::new(),
        })
    }

    /// Whether anything was woven; if not, the input is the output.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The planned calls and points that stay as they are, and why.
    pub fn left_calls(&self) -> &[LeftCall] {
        &self.left_calls
    }

    /// Lays out the new file. `symbols` becomes the manifest resource [`SYMBOLS_RESOURCE`](image::SYMBOLS_RESOURCE).
    pub fn write(self, symbols: Arc<Vec<u8>>) -> Result<Written<'a>> {
        let mut written = image::write(self.image, self.edits, symbols, self.key)?;
        // .NET takes them, whatever their names.
        let is_for_framework = self.image.platform_version() == 0;
        if is_for_framework && (self.key.is_some() || self.image.has_strong_name()) {
            let unsigned = self.unsigned.into_iter().map(Warning::Unsigned);
            written.warnings.extend(unsigned);
        }
        if self.source.is_embedded() {
            written.pdb = None;
        }
        written.warnings.extend(self.source.warning());
        if self.tail_calls > 0 {
            written.warnings.push(Warning::TailCalls(self.tail_calls));
        }
        Ok(written)
    }
}
