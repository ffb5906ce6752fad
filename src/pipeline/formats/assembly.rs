//! .NET assemblies, each with the symbols file (.pdb) beside it.

use crate::aspect::advice::Reason;
use crate::aspect::plan::Plan;
use crate::aspect::woven::WovenType;
use crate::cil::{self, Written};
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::in_order::InOrder;
use crate::pipeline::cache::{Cache, Entry};
use crate::pipeline::context::{Context, Platform};
use crate::pipeline::format::file_name;
use crate::pipeline::formats::plan::{ADAPTERS, Scanned, plan};
use crate::pipeline::ledger::ids::Claim;
use crate::pipeline::ledger::records::Records;
use crate::pipeline::ledger::touched::{TouchedCall, touched_calls};
use crate::pipeline::ledger::{Ledger, Recorded};
use crate::pipeline::outcome::{Outcome, WarningKind};
use crate::pipeline::own::{Code, Needs};
use crate::pipeline::worker::with_worker;
use crate::signing::strong_name::StrongNameKey;
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

/// An assembly that changed.
pub(crate) struct WovenAssembly<'a> {
    made: Made<'a>,
    fresh: Option<Fresh>,
}

enum Made<'a> {
    Now(Box<Written<'a>>),
    Before(Entry),
}

/// What the cache is to have of an assembly beside its bytes.
struct Fresh {
    key: String,
    recorded: Box<Recorded>,
}

impl WovenAssembly<'_> {
    /// The symbols file that goes beside it, if one was given and fits.
    pub(crate) fn pdb(&self) -> Option<&[u8]> {
        match &self.made {
            Made::Now(written) => written.pdb.as_deref(),
            Made::Before(entry) => entry.beside(),
        }
    }

    /// Writes the image that is to go over `path`, like `like`, on all threads.
    pub(crate) fn stage(&self, path: &Path, like: &Path) -> Result<Staged> {
        match &self.made {
            Made::Now(written) => stage_image(&written.image, path, like),
            Made::Before(entry) => Staged::whole(path, entry.as_ref(), Some(like)),
        }
    }

    /// Keeps what was staged in the cache, if it is not from there.
    pub(crate) fn store(&self, cache: Option<&Cache>, staged: &mut Staged) -> Result<()> {
        let Some((cache, fresh)) = cache.zip(self.fresh.as_ref()) else {
            return Ok(());
        };
        let image = staged.written()?;
        fresh.store(cache, Some(&image), self.pdb())
    }
}

impl Fresh {
    fn store(&self, cache: &Cache, image: Option<&[u8]>, pdb: Option<&[u8]>) -> Result<()> {
        cache.store(&self.key, &self.recorded, image, pdb)
    }
}

/// An assembly before its ids are claimed.
enum Begun {
    Known(Entry),
    Planned(Box<Planned>),
}

#[derive(Default)]
struct Planned {
    plan: Plan,
    claims: Vec<Claim>,
}

/// An assembly with its ids.
// There are few of these at once, so the larger one costs no memory worth a box.
#[allow(clippy::large_enum_variant)]
enum Ready<'i, 'a> {
    Known(Entry),
    Woven(Option<Box<(cil::Woven<'i, 'a>, Records)>>, Option<Fresh>),
}

/// Weaves assemblies on all threads, or takes earlier results, and records them in their order. `None` for one
/// that stays as it is. `types` is the digest of what is known of supertypes.
pub(crate) fn weave_assemblies<'a>(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    cache: Option<&Cache>,
    types: &[u8],
    key: Option<&'a StrongNameKey>,
    sources: &[Source<'_, 'a>],
) -> Result<Vec<Option<WovenAssembly<'a>>>> {
    let cache = cache.filter(|_| cx.may_be_cached(ledger));
    let files: Vec<File<'_, '_>> = sources.par_iter().map(File::of).collect();
    let begun: Vec<(Option<String>, Result<Begun>)> = (files.par_iter())
        .map(|file| {
            let name = cache.and_then(|cache| file.key(cache, types, key));
            let found = cache.zip(name.as_deref());
            let begun = match found.and_then(|(cache, name)| cache.load(name)) {
                Some(entry) => Ok(Begun::Known(entry)),
                None => file
                    .plan(cx)
                    .map(|planned| Begun::Planned(Box::new(planned))),
            };
            (name, begun)
        })
        .collect();
    // Ids are claimed in the job's order, before anything is woven with them.
    let mut claimed = Vec::with_capacity(files.len());
    for (file, (name, begun)) in files.iter().zip(begun) {
        let begun = begun.and_then(|begun| file.claim(cx, ledger, begun, name.is_some()));
        claimed.push((name, begun.map_err(|e| file.place(e))?));
    }
    if !cx.own_fits() {
        claimed.iter_mut().for_each(|(name, _)| *name = None);
    }
    let ready: Vec<Result<Ready<'_, '_>>> = (files.par_iter().zip(claimed))
        .map(|(file, (name, begun))| file.weave(cx, name, begun, key))
        .collect();
    let mut settled = Vec::with_capacity(files.len());
    for (file, ready) in files.iter().zip(ready) {
        let ready = ready.map_err(|e| file.place(e))?;
        let interrupted = ledger.begin_inner_unit();
        settled.push(file.record(ledger, cache, ready));
        ledger.resume(interrupted);
    }
    share_maps(&files, &mut settled);
    let written: Vec<Result<Option<WovenAssembly<'_>>>> = (settled.into_par_iter().zip(&files))
        .map(|(settled, file)| {
            let written = settled.map(|(changed, map)| changed.write(map));
            written.transpose().map_err(|e| file.place(e))
        })
        .collect();
    let mut written: Vec<Option<WovenAssembly<'_>>> = written.into_iter().collect::<Result<_>>()?;
    for (woven, file) in written.iter_mut().zip(&files) {
        let Some(woven) = woven else { continue };
        match &woven.made {
            Made::Now(written) => {
                let mut outcome = Outcome {
                    artifacts: 1,
                    ..Outcome::default()
                };
                for warning in &written.warnings {
                    let text = format!("{}: {warning}", file.source.label);
                    outcome.warn(kind(warning), text);
                }
                if let Some(fresh) = &mut woven.fresh {
                    fresh.recorded.outcome.add(outcome.clone());
                }
                ledger.outcome.add(outcome);
            }
            Made::Before(entry) => {
                let warnings = &entry.recorded.outcome.warnings;
                ledger.outcome.warnings.extend(warnings.iter().cloned());
            }
        }
    }
    Ok(written)
}

/// An assembly that changes, its results recorded.
// There are few of these at once, so the larger one costs no memory worth a box.
#[allow(clippy::large_enum_variant)]
enum Changed<'i, 'a> {
    Known(Entry),
    Woven(Box<cil::Woven<'i, 'a>>, Option<Fresh>),
}

impl<'a> Changed<'_, 'a> {
    fn write(self, map: Arc<Vec<u8>>) -> Result<WovenAssembly<'a>> {
        Ok(match self {
            Changed::Known(entry) => WovenAssembly {
                made: Made::Before(entry),
                fresh: None,
            },
            Changed::Woven(woven, fresh) => WovenAssembly {
                made: Made::Now(Box::new(woven.write(map)?)),
                fresh,
            },
        })
    }
}

/// What changes, and the map of its ids.
type Settled<'i, 'a> = (Changed<'i, 'a>, Arc<Vec<u8>>);

/// The hook library reads the resources of assemblies, not of their netmodules: so the assembly's map holds the names of
/// its modules, too.
fn share_maps(files: &[File<'_, '_>], settled: &mut [Option<Settled<'_, '_>>]) {
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
fn stage_image(image: &cil::Output<'_>, path: &Path, like: &Path) -> Result<Staged> {
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
        W::Unsigned(_) => WarningKind::LibraryUnsigned,
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

    /// The name of its entry in the cache. `None`: it follows from other files, too.
    fn key(&self, cache: &Cache, types: &[u8], key: Option<&StrongNameKey>) -> Option<String> {
        let source = self.source;
        if source.image.modules().next().is_some() {
            return None;
        }
        let how = format!(
            "{:?}",
            (
                source.artifact,
                source.name,
                source.pdb_name.as_deref(),
                source.pdb.is_some(),
                key.map(StrongNameKey::public_key),
            )
        );
        Some(cache.key(&[
            types,
            source.label.as_bytes(),
            how.as_bytes(),
            source.file,
            source.pdb.unwrap_or_default(),
        ]))
    }

    /// What to weave.
    fn plan(&self, cx: &Context<'_>) -> Result<Planned> {
        let (source, image) = (self.source, self.source.image);
        let version = image.package_version();
        let matcher = (cx.matcher).for_artifact(source.name, version.as_deref(), cx.hierarchy);
        if !matcher.bytes_may_match(source.file) {
            return Ok(Planned::default());
        }
        let pdb = self.pdb.pdb();
        let lines = pdb.as_ref().map(|pdb| pdb as &dyn cil::scan::Lines);
        let survey = cil::Survey::read(image).with_lines(lines);
        let base_of = |_: u32, name: &str| (cx.id_base)(name, 0);
        let part = |types: Range<u32>| {
            let scanned = Scanned {
                adapters: ADAPTERS,
                platform: Platform::DotNet,
                code: Code::Assembly,
                first: types.start,
            };
            plan(cx, &matcher, &base_of, scanned, |visitor| {
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
        Ok(Planned {
            plan: plan.finish()?,
            claims: vec![],
        })
    }

    /// Gives the planned methods ids that no other method has, or plans the assembly where others have those that it had.
    fn claim(
        &self,
        cx: &Context<'_>,
        ledger: &mut Ledger<'_>,
        begun: Begun,
        journal: bool,
    ) -> Result<Begun> {
        let mut planned = match begun {
            Begun::Known(entry) if ledger.taken.replay(&entry.recorded.claims) => {
                ledger.matched.add(&entry.recorded.matched);
                return Ok(Begun::Known(entry));
            }
            Begun::Known(_) => Box::new(self.plan(cx)?),
            Begun::Planned(planned) => planned,
        };
        if journal {
            ledger.taken.start_journal();
        }
        let image = self.source.image;
        ledger.taken.expect(planned.plan.methods.len());
        ledger.claim(
            &mut planned.plan,
            |ty| image.type_name(ty),
            |ty, index| image.describe(ty, index),
        )?;
        planned.claims = ledger.taken.take_journal();
        Ok(Begun::Planned(planned))
    }

    fn weave(
        &self,
        cx: &Context<'_>,
        name: Option<String>,
        begun: Begun,
        key: Option<&'a StrongNameKey>,
    ) -> Result<Ready<'_, 'a>> {
        let Planned { plan, claims } = match begun {
            Begun::Known(entry) => return Ok(Ready::Known(entry)),
            Begun::Planned(planned) => *planned,
        };
        let fresh = name.map(|key| Fresh {
            key,
            recorded: Box::new(Recorded {
                outcome: Outcome::default(),
                matched: plan.matched.clone(),
                claims,
                maps: vec![],
                needs_library: false,
                needs: Needs::default(),
            }),
        });
        let woven = (!plan.is_empty()).then(|| self.weave_planned(cx, plan, key));
        Ok(Ready::Woven(woven.transpose()?.map(Box::new), fresh))
    }

    fn weave_planned(
        &self,
        cx: &Context<'_>,
        mut plan: Plan,
        key: Option<&'a StrongNameKey>,
    ) -> Result<(cil::Woven<'_, 'a>, Records)> {
        let recorder = Recorder {
            artifact: self.source.artifact,
            explain: cx.explain,
        };
        let (values, roots, switched) = (plan.values(), plan.root_ids(), plan.switched_ids());
        let methods = cil::Methods {
            planned: match cx.explain {
                true => plan.methods.clone(),
                false => std::mem::take(&mut plan.methods),
            },
            bound: plan.bound.clone(),
            redirects: plan.redirects.clone(),
            calls: plan.calls.clone(),
            call_ids: plan.call_ids.clone(),
        };
        let image = self.source.image;
        let assembly = cil::Assembly::of(image, &self.pdb);
        let (woven, parts) = cil::weave_on(assembly, methods, key, &recorder, &run)?;
        plan.leave_calls(woven.left_calls(), |ty, index| image.describe(ty, index))?;
        let mut records = Records::default();
        for part in parts {
            records.append(part);
        }
        records.add_values(values);
        records.add_roots(&roots);
        records.add_switched(&switched);
        let calls = match cx.explain {
            true => self.explain_calls(&plan)?,
            false => vec![],
        };
        records.add_calls(&plan);
        records.note_calls(&plan, calls);
        records.complete(plan, cx.explain);
        Ok((woven, records))
    }

    /// What types call instead of other methods, type by type.
    fn explain_calls(&self, plan: &Plan) -> Result<Vec<(WovenType, Vec<TouchedCall>)>> {
        let image = self.source.image;
        let mut all = Vec::new();
        for calls in plan.calls.chunk_by(|a, b| a.ty == b.ty) {
            let ty = calls[0].ty;
            let named = WovenType::new(ty, &image.type_name(ty)?, "", 0);
            let describe = |index| image.describe(ty, index);
            all.push((named, touched_calls(calls, plan, describe)?));
        }
        Ok(all)
    }

    /// Enters the results but for warnings. An assembly that does not change goes to the cache now.
    fn record<'w>(
        &self,
        ledger: &mut Ledger<'_>,
        cache: Option<&Cache>,
        ready: Ready<'w, 'a>,
    ) -> Option<Settled<'w, 'a>> {
        let (woven, mut fresh) = match ready {
            Ready::Known(entry) => {
                let mut outcome = entry.recorded.outcome.clone();
                // Those of what was written come when it is written again.
                (outcome.warnings).retain(|warning| warning.kind == WarningKind::BuildTool);
                outcome.cached = 1;
                ledger.outcome.add(outcome);
                let map = Arc::clone(entry.recorded.maps.first()?);
                ledger.add_unit(Arc::clone(&map));
                return Some((Changed::Known(entry), map));
            }
            Ready::Woven(woven, fresh) => (woven, fresh),
        };
        let mut changed = None;
        if let Some(woven) = woven {
            let (woven, records) = *woven;
            let redirects = records.redirects;
            let before = std::mem::take(&mut ledger.outcome);
            ledger.record_all(self.source.label, records);
            if ledger.outcome.left.contains_key(&Reason::BuildTool) {
                let text = format!(
                    "{} is left unwoven: {}",
                    self.source.label,
                    Reason::BuildTool
                );
                ledger.outcome.warn(WarningKind::BuildTool, text);
            }
            let map = ledger.end_unit(None);
            // Calls have no names in it.
            let map = map.or_else(|| redirects.then(|| Arc::new(Writer::default().finish())));
            let outcome = std::mem::replace(&mut ledger.outcome, before);
            if let Some(fresh) = &mut fresh {
                fresh.recorded.outcome = outcome.clone();
                fresh.recorded.maps.extend(map.clone());
            }
            ledger.outcome.add(outcome);
            changed = map.map(|map| (woven, map));
        }
        if let Some((woven, map)) = changed {
            return Some((Changed::Woven(Box::new(woven), fresh), map));
        }
        if let Some((cache, fresh)) = cache.zip(fresh)
            && let Err(e) = fresh.store(cache, None, None)
        {
            ledger.not_cached(self.source.label, &e);
        }
        None
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
