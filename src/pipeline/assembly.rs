//! .NET assemblies, each with the symbols file (.pdb) beside it.

use crate::aspect::plan::Plan;
use crate::aspect::woven::WovenType;
use crate::cil::{self, StrongNameKey, Written};
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::pipeline::discover::file_name;
use crate::pipeline::in_order::InOrder;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::process::{Context, Platform, with_worker};
use crate::pipeline::records::Records;
use crate::pipeline::unit::{parse_all, plan};
use crate::symbols::Writer;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// An assembly to weave.
pub(crate) struct Source<'f> {
    /// Its name in messages and symbols: `app/Acme.Orders.dll`.
    pub(crate) label: &'f str,
    /// Its file name, for rules.
    pub(crate) name: &'f str,
    /// The file.
    pub(crate) file: &'f Input,
    /// The symbols file beside it.
    pub(crate) pdb: Option<&'f [u8]>,
    /// The name of the file that the symbols are written to.
    pub(crate) pdb_name: Option<String>,
}

/// Weaves assemblies on all threads and records them in their order. `None` for one that stays as it is.
pub(crate) fn weave_assemblies<'a>(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    key: Option<&'a StrongNameKey>,
    sources: &[Source<'a>],
) -> Result<Vec<Option<Written<'a>>>> {
    let (parsed, errors) = parse_all(sources, |source| cil::Image::parse(source.file));
    let pdbs: Vec<Option<cil::pdb::Source<'_>>> = (sources.par_iter().zip(&parsed))
        .map(|(source, image)| {
            let pdb = cil::pdb::Source::of(image.as_ref()?, source.pdb);
            Some(pdb.written_as(source.pdb_name.as_deref()))
        })
        .collect();
    let files: Vec<_> = (sources.iter().zip(&parsed).zip(&pdbs))
        .map(|((source, image), pdb)| {
            Some(File {
                source,
                image: image.as_ref()?,
                pdb: pdb.as_ref()?,
            })
        })
        .collect();
    let plans: Vec<Result<Option<_>>> = (files.par_iter())
        .map(|file| match file {
            Some(file) => file.plan(cx),
            None => Ok(None),
        })
        .collect();
    // Ids are claimed in the job's order, before anything is woven with them.
    let mut ready = Vec::with_capacity(sources.len());
    for (((source, file), e), plan) in sources.iter().zip(&files).zip(errors).zip(plans) {
        let place = |e: Error| e.in_artifact(source.label);
        if let Some(e) = e {
            ledger.unreadable(&place(e));
        }
        let plan = plan.map_err(place)?;
        let claimed = file.as_ref().zip(plan).map(|(file, mut planned)| {
            (file.claim(ledger, &mut planned.plan)).map_err(place)?;
            Ok((file, planned))
        });
        ready.push(claimed.transpose()?);
    }
    let woven: Vec<Result<Option<_>>> = (ready.into_par_iter())
        .map(|ready| match ready {
            Some((file, planned)) => file.weave(cx, planned, key).map(Some),
            None => Ok(None),
        })
        .collect();
    let mut settled = Vec::with_capacity(sources.len());
    for (source, woven) in sources.iter().zip(woven) {
        let woven = woven.map_err(|e| e.in_artifact(source.label))?;
        let Some((woven, records)) = woven else {
            settled.push(None);
            continue;
        };
        let interrupted = ledger.begin_inner_unit();
        ledger.record_all(source.label, records);
        let map = ledger.end_unit(None);
        ledger.resume(interrupted);
        settled.push(map.map(|map| (woven, map)));
    }
    share_maps(&files, &mut settled);
    let written: Vec<Result<Option<Written<'_>>>> = (settled.into_par_iter().zip(sources))
        .map(|(woven, source)| {
            let Some((woven, map)) = woven else {
                return Ok(None);
            };
            let written = woven.write(Some(map), key);
            written.map(Some).map_err(|e| e.in_artifact(source.label))
        })
        .collect();
    let written: Vec<Option<Written<'_>>> = written.into_iter().collect::<Result<_>>()?;
    for (written, source) in written.iter().zip(sources) {
        let Some(written) = written else { continue };
        ledger.outcome.artifacts += 1;
        for warning in &written.warnings {
            let text = format!("{}: {warning}", source.label);
            ledger.outcome.warn(kind(warning), text);
        }
    }
    Ok(written)
}

/// What was woven, and the map of its ids.
type Settled<W> = (W, Arc<Vec<u8>>);

/// A netmodule's resources are none of its assembly's, which the hook library asks: the assembly's map holds its
/// modules' names, too.
fn share_maps<W>(files: &[Option<File<'_, '_>>], settled: &mut [Option<Settled<W>>]) {
    let split = |label: &'_ str| label.len() - file_name(label).len();
    for i in 0..files.len() {
        let (Some(file), Some((_, map))) = (&files[i], &settled[i]) else {
            continue;
        };
        let modules: FxHashSet<&[u8]> = file.image.modules().collect();
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
            if let (Some(other), Some((_, map))) = (other, settled)
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

/// About how many methods are scanned at once, and how many are woven: so many that their symbols pack well.
const SCANNED: u32 = 2048;
const WOVEN: usize = 1024;

/// Writes a woven assembly that is to go over `path`, like `like`: its windows are made, hashed and
/// written on all threads.
pub(crate) fn stage_image(image: &cil::Output<'_>, path: &Path, like: &Path) -> Result<Staged> {
    let staged = Staged::create(path, Some(like))?;
    staged.reserve(image.len() as u64)?;
    let windows: Vec<Result<cil::WindowDigest>> = (0..image.windows())
        .into_par_iter()
        .with_max_len(1)
        .map(|number| {
            with_worker(|w| {
                let (at, digest) = image.window(number, &mut w.bytes);
                staged.write_at(at as u64, &w.bytes)?;
                Ok(digest)
            })
        })
        .collect();
    let windows: Vec<_> = windows.into_iter().collect::<Result<_>>()?;
    for (at, bytes) in image.seal(&windows)? {
        staged.write_at(at as u64, &bytes)?;
    }
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

/// An assembly that was read.
struct File<'i, 'a> {
    source: &'i Source<'a>,
    image: &'i cil::Image<'a>,
    pdb: &'i cil::pdb::Source<'i>,
}

/// What to weave of it.
struct Planned {
    plan: Plan,
    machines: cil::Machines,
    /// Unless all is to be told.
    numbers: Option<cil::SymbolNumbers>,
}

impl<'i, 'a> File<'i, 'a> {
    /// What to weave. `None`: no rule has anything to say about it.
    fn plan(&self, cx: &Context<'_>) -> Result<Option<Planned>> {
        let (source, image) = (self.source, self.image);
        let version = image.assembly_version();
        let matcher = (cx.matcher).for_artifact(source.name, version.as_deref(), cx.hierarchy);
        if !matcher.bytes_may_match(source.file) {
            return Ok(None);
        }
        // Names of types are asked for as soon as the first type is shown.
        let (_, (machines, (survey, numbers))) = rayon::join(
            || image.types(),
            || {
                let numbers = || (!cx.explain).then(|| cil::SymbolNumbers::read(image));
                rayon::join(
                    || cil::Machines::read(image),
                    || (cil::Survey::read(image), numbers()),
                )
            },
        );
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
        Ok((!is_empty).then_some(Planned {
            plan,
            machines,
            numbers,
        }))
    }

    /// Gives the planned methods ids that nobody else has.
    fn claim(&self, ledger: &mut Ledger<'_>, plan: &mut Plan) -> Result<()> {
        ledger.taken.expect(plan.methods.len());
        for methods in plan.methods.chunk_by_mut(|a, b| a.ty == b.ty) {
            let ty = methods[0].ty;
            let name = || self.image.type_name(ty);
            let describe = |index| self.image.describe(ty, index);
            (ledger.taken).claim_planned(ledger.known, methods, name, describe)?;
        }
        Ok(())
    }

    fn weave(
        &self,
        cx: &Context<'_>,
        planned: Planned,
        key: Option<&StrongNameKey>,
    ) -> Result<(cil::Woven<'i, 'a>, Records)> {
        let source = self.source;
        let Planned {
            mut plan,
            machines,
            numbers,
        } = planned;
        let mut weaver = cil::Weaver::new(self.image, self.pdb, &plan, machines)?;
        if let Some(numbers) = numbers {
            weaver.number_names(numbers);
        }
        let part = |number, range: Range<usize>| -> Result<(cil::Part, Records)> {
            let artifact = (number == 0).then_some(source.label);
            let mut records = Records::begin(artifact, range.len(), !cx.explain);
            let mut record = |ty: &mut WovenType| records.add(ty, cx.explain);
            let part = with_worker(|w| weaver.part(range, &mut w.cil_scratch, &mut record))?;
            records.symbols.pack();
            Ok((part, records))
        };
        let (joined, names) = rayon::join(
            || {
                let start = (weaver.joiner(), Records::default());
                let joined = InOrder::new(start, |(joiner, all), (part, records)| {
                    all.append(records);
                    joiner.add(part)
                });
                // Handed out in order, so that no part waits for long.
                let ranges = weaver.parts(WOVEN).into_iter().enumerate().par_bridge();
                ranges.for_each(|(number, range)| joined.put(number, part(number, range)));
                joined.finish()
            },
            || {
                weaver.look_ahead();
                names(&weaver)
            },
        );
        let (joiner, mut records) = joined?;
        let names = names?;
        let mut woven = with_worker(|w| joiner.finish(&mut w.cil_scratch))?;
        // Only the steps, and writing, need more memory than all that was before.
        drop(weaver);
        if !cx.explain {
            plan.methods = vec![];
        }
        let steps = woven.steps(true, key).into_iter().enumerate().par_bridge();
        let failed = steps.filter_map(|(number, step)| Some((number, step.run().err()?)));
        if let Some((_, e)) = failed.min_by_key(|(number, _)| *number) {
            return Err(e);
        }
        let mut machines = Records::begin(None, woven.types.len(), !cx.explain);
        for mut ty in std::mem::take(&mut woven.types) {
            machines.add(&mut ty, cx.explain);
        }
        records.append(machines);
        records.name(names);
        records.complete(plan, cx.explain);
        Ok((woven, records))
    }
}

/// The names of the methods that are numbered, packed.
fn names(weaver: &cil::Weaver<'_, '_, '_>) -> Result<Writer> {
    let Some(names) = weaver.symbol_names()? else {
        return Ok(Writer::default());
    };
    // All at once would take as much memory as hundreds of methods' code.
    const PACKED: usize = 64 << 10;
    let mut descriptors = Writer::default();
    let types = names.descriptors(&mut |number, text| {
        descriptors.numbered_descriptor(number, text);
        descriptors.pack_from(PACKED);
    });
    let mut symbols = Writer::default();
    symbols.names(&types);
    symbols.append(&mut descriptors);
    names.names(&mut |number, name| {
        symbols.numbered_name(number, &name);
        symbols.pack_from(PACKED);
    })?;
    symbols.pack();
    Ok(symbols)
}
