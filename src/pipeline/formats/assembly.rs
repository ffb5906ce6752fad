//! .NET assemblies, each with the symbols file (.pdb) beside it.

use crate::aspect::plan::Plan;
use crate::aspect::woven::WovenType;
use crate::cil::{self, StrongNameKey, Written};
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::in_order::InOrder;
use crate::pipeline::context::{Context, Platform};
use crate::pipeline::format::file_name;
use crate::pipeline::formats::plan::plan;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::records::Records;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::worker::with_worker;
use crate::symbols::Writer;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// An assembly to weave.
pub(crate) struct Source<'i, 'a> {
    /// Its name in messages: `app/Acme.Orders.dll`.
    pub(crate) label: &'i str,
    /// Its name in symbols, wherever the input lies: `Acme.Orders.dll`.
    pub(crate) artifact: &'i str,
    /// Its file name, for rules.
    pub(crate) name: &'i str,
    pub(crate) file: &'a Input,
    /// What the file holds.
    pub(crate) image: &'i cil::Image<'a>,
    /// The symbols file beside it.
    pub(crate) pdb: Option<&'i [u8]>,
    /// The name of the file that the symbols are written to.
    pub(crate) pdb_name: Option<String>,
}

/// Weaves assemblies on all threads and records them in their order. `None` for one that stays as it is.
pub(crate) fn weave_assemblies<'a>(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    key: Option<&'a StrongNameKey>,
    sources: &[Source<'_, 'a>],
) -> Result<Vec<Option<Written<'a>>>> {
    let files: Vec<File<'_, '_>> = sources.par_iter().map(File::of).collect();
    let plans: Vec<Result<Option<_>>> = files.par_iter().map(|file| file.plan(cx)).collect();
    // Ids are claimed in the job's order, before anything is woven with them.
    let mut ready = Vec::with_capacity(files.len());
    for (file, plan) in files.iter().zip(plans) {
        let mut plan = plan.map_err(|e| file.place(e))?;
        if let Some(plan) = &mut plan {
            file.claim(ledger, plan).map_err(|e| file.place(e))?;
        }
        ready.push(plan);
    }
    let woven: Vec<Result<Option<_>>> = (files.par_iter().zip(ready))
        .map(|(file, plan)| plan.map(|plan| file.weave(cx, plan, key)).transpose())
        .collect();
    let mut settled = Vec::with_capacity(files.len());
    for (file, woven) in files.iter().zip(woven) {
        let Some((woven, records)) = woven.map_err(|e| file.place(e))? else {
            settled.push(None);
            continue;
        };
        let interrupted = ledger.begin_inner_unit();
        ledger.record_all(file.source.label, records);
        let map = ledger.end_unit(None);
        ledger.resume(interrupted);
        settled.push(map.map(|map| (woven, map)));
    }
    share_maps(&files, &mut settled);
    let written: Vec<Result<Option<Written<'_>>>> = (settled.into_par_iter().zip(&files))
        .map(|(settled, file)| {
            let written = settled.map(|(woven, map)| woven.write(map));
            written.transpose().map_err(|e| file.place(e))
        })
        .collect();
    let written: Vec<Option<Written<'_>>> = written.into_iter().collect::<Result<_>>()?;
    for (written, file) in written.iter().zip(&files) {
        let Some(written) = written else { continue };
        ledger.outcome.artifacts += 1;
        for warning in &written.warnings {
            let text = format!("{}: {warning}", file.source.label);
            ledger.outcome.warn(kind(warning), text);
        }
    }
    Ok(written)
}

/// What was woven, and the map of its ids.
type Settled<W> = (W, Arc<Vec<u8>>);

/// The hook library reads the resources of assemblies, not of their netmodules: so the assembly's map holds the names of
/// its modules, too.
fn share_maps<W>(files: &[File<'_, '_>], settled: &mut [Option<Settled<W>>]) {
    let split = |label: &'_ str| label.len() - file_name(label).len();
    for (i, file) in files.iter().enumerate() {
        let Some((_, map)) = &settled[i] else {
            continue;
        };
        let modules: FxHashSet<&[u8]> = file.source.image.modules().collect();
        if modules.is_empty() {
            continue;
        }
        let label = file.source.label;
        let is_module = |other: &File<'_, '_>| {
            let (folder, name) = other.source.label.split_at(split(other.source.label));
            folder == &label[..split(label)] && modules.contains(name.as_bytes())
        };
        let mut all = Writer::default();
        all.append_map(map);
        for (other, settled) in files.iter().zip(&*settled) {
            if let Some((_, map)) = settled
                && is_module(other)
            {
                all.append_map(map);
            }
        }
        if let Some((_, map)) = &mut settled[i] {
            *map = Arc::new(all.finish());
        }
    }
}

/// About how many methods are scanned at once.
const SCANNED: u32 = 2048;

/// Runs tasks of the backend.
fn run(count: usize, task: &(dyn Fn(usize, &mut cil::Scratch) + Sync)) {
    // Handed out in order, so that none waits long for those before it.
    let tasks = (0..count).par_bridge();
    tasks.for_each(|number| with_worker(|w| task(number, &mut w.cil_scratch)));
}

/// Writes a woven assembly that is to go over `path`, like `like`, on all threads.
pub(crate) fn stage_image(image: &cil::Output<'_>, path: &Path, like: &Path) -> Result<Staged> {
    let staged = Staged::create(path, Some(like))?;
    staged.reserve(image.len() as u64)?;
    image.write_on(&run, &|at, bytes| staged.write_at(at as u64, bytes))?;
    Ok(staged)
}

/// What a backend's warning is about.
fn kind(warning: &cil::Warning) -> WarningKind {
    use cil::Warning as W;
    match warning {
        W::StrongNameRemoved
        | W::PublicKeyChanged { .. }
        | W::AuthenticodeRemoved
        | W::Netmodule => WarningKind::SignatureRemoved,
        W::ReadyToRunDropped => WarningKind::NativeCodeDropped,
        W::TailCalls(_) => WarningKind::TailCallsDropped,
        W::WindowsPdb | W::MonoSymbols | W::OtherPdb | W::UnreadablePdb(_) => {
            WarningKind::DebuggingDropped
        }
    }
}

/// An assembly with its debugging information.
struct File<'i, 'a> {
    source: &'i Source<'i, 'a>,
    pdb: cil::pdb::Source<'i>,
}

impl<'i, 'a> File<'i, 'a> {
    fn of(source: &'i Source<'i, 'a>) -> File<'i, 'a> {
        let pdb = cil::pdb::Source::of(source.image, source.pdb);
        File {
            source,
            pdb: pdb.written_as(source.pdb_name.as_deref()),
        }
    }

    /// Adds the place to an error.
    fn place(&self, e: Error) -> Error {
        e.in_artifact(self.source.label)
    }

    /// What to weave. `None`: no rule has anything to say about it.
    fn plan(&self, cx: &Context<'_>) -> Result<Option<Plan>> {
        let (source, image) = (self.source, self.source.image);
        let version = image.assembly_version();
        let matcher = (cx.matcher).for_artifact(source.name, version.as_deref(), cx.hierarchy);
        if !matcher.bytes_may_match(source.file) {
            return Ok(None);
        }
        let survey = cil::Survey::read(image);
        let base_of = |_: u32, name: &str| (cx.id_base)(name, 0);
        let part = |types: Range<u32>| {
            let place = (Platform::DotNet, types.start);
            plan(cx, &matcher, &base_of, place, |visitor| {
                survey.scan(types, visitor)
            })
        };
        let room = Plan::new(Vec::with_capacity(survey.methods() as usize));
        let plan = InOrder::new(room, |plan: &mut Plan, part| {
            plan.append(part);
            Ok(())
        });
        let parts = survey.parts(SCANNED).into_iter().enumerate().par_bridge();
        parts.for_each(|(number, types)| plan.put(number, part(types)));
        let plan = plan.finish()?;
        let is_empty = plan.methods.is_empty() && plan.skipped.is_empty();
        Ok((!is_empty).then_some(plan))
    }

    /// Gives the planned methods ids that no other method has.
    fn claim(&self, ledger: &mut Ledger<'_>, plan: &mut Plan) -> Result<()> {
        ledger.taken.expect(plan.methods.len());
        for methods in plan.methods.chunk_by_mut(|a, b| a.ty == b.ty) {
            let ty = methods[0].ty;
            let name = || self.source.image.type_name(ty);
            let describe = |index| self.source.image.describe(ty, index);
            (ledger.taken).claim_planned(ledger.known, methods, name, describe)?;
        }
        Ok(())
    }

    fn weave(
        &self,
        cx: &Context<'_>,
        mut plan: Plan,
        key: Option<&'a StrongNameKey>,
    ) -> Result<(cil::Woven<'_, 'a>, Records)> {
        let recorder = Recorder {
            artifact: self.source.artifact,
            explain: cx.explain,
        };
        let artifact = (self.source.image, &self.pdb);
        let methods = match cx.explain {
            true => plan.methods.clone(),
            false => std::mem::take(&mut plan.methods),
        };
        let (woven, parts) = cil::weave_on(artifact, methods, key, &recorder, &run)?;
        let mut records = Records::default();
        for part in parts {
            records.append(part);
        }
        records.complete(plan, cx.explain);
        Ok((woven, records))
    }
}

/// Keeps the results of types: symbols, and what the outcome reports.
struct Recorder<'s> {
    artifact: &'s str,
    explain: bool,
}

impl cil::Recorder for Recorder<'_> {
    type Records = Records;

    /// Explanations need the names.
    fn takes_numbers(&self) -> bool {
        !self.explain
    }

    fn names(&self, names: &cil::SymbolNames<'_, '_, '_>) -> Result<Records> {
        // All at once would take as much memory as hundreds of methods' code.
        const PACKED: usize = 64 << 10;
        let mut descriptors = Writer::default();
        let types = names.descriptors(&mut |number, text| {
            descriptors.numbered_descriptor(number, text);
            descriptors.pack_from(PACKED);
        });
        let mut records = Records::default();
        let symbols = &mut records.symbols;
        symbols.names(&types);
        symbols.append(&mut descriptors);
        names.names(&mut |number, name| {
            symbols.numbered_name(number, &name);
            symbols.pack_from(PACKED);
        })?;
        symbols.pack();
        Ok(records)
    }

    fn begin(&self, first: bool, methods: usize) -> Records {
        Records::begin(first.then_some(self.artifact), methods, !self.explain)
    }

    fn add(&self, records: &mut Records, ty: &mut WovenType) {
        records.add(ty, self.explain);
    }

    fn end(&self, records: &mut Records) {
        records.symbols.pack();
    }
}
