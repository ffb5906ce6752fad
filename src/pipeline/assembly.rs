//! .NET assemblies, each with the symbols file (.pdb) beside it.

use crate::aspect::plan::Plan;
use crate::cil::{self, StrongNameKey, Written};
use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::output::write_all;
use crate::pipeline::process::{Context, Platform, with_worker};
use crate::pipeline::unit::{Attempts, Unit, parse_all, plan};
use rayon::prelude::*;
use std::path::Path;

/// An assembly to weave.
pub(crate) struct Source<'f> {
    /// Its name in messages and symbols: `app/Acme.Orders.dll`.
    pub(crate) label: &'f str,
    /// Its file name, for rules.
    pub(crate) name: &'f str,
    /// The file.
    pub(crate) bytes: &'f [u8],
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
    let (parsed, errors) = parse_all(sources, |source| cil::Image::parse(source.bytes));
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
    let begun: Vec<_> = (files.par_iter())
        .map(|file| match file {
            Some(file) => file.weave(cx, &Attempts::default()),
            None => Ok(None),
        })
        .collect();
    let mut settled = Vec::with_capacity(sources.len());
    for (((source, file), e), unit) in sources.iter().zip(&files).zip(errors).zip(begun) {
        let place = |e: Error| e.in_artifact(source.label);
        if let Some(e) = e {
            ledger.unreadable(&place(e));
        }
        let (Some(file), Some(unit)) = (file, unit.map_err(place)?) else {
            settled.push(None);
            continue;
        };
        let interrupted = ledger.begin_inner_unit();
        let woven = unit.settle(ledger, source.label, |attempts| {
            let again = file.weave(cx, attempts).map_err(place)?;
            Ok(again.expect("the same rules mean the same methods"))
        })?;
        let map = ledger.end_unit(None);
        ledger.resume(interrupted);
        settled.push(map.map(|map| (woven, map)));
    }
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

/// About how many methods are scanned at once.
const SCANNED: u32 = 2048;

/// Bytes of an assembly that are written at once: few enough to stay in a core's cache until they are.
const WINDOW: usize = 256 << 10;

/// Writes a woven assembly over `path`, like `like`. While one window of it is made and hashed, the one before
/// it is written.
pub(crate) fn write_image(image: &cil::Output<'_>, path: &Path, like: &Path) -> Result<()> {
    let mut staged = Staged::create(path, Some(like))?;
    let mut digest = image.digest();
    let (mut ready, mut next) = (Vec::new(), Vec::with_capacity(WINDOW));
    let mut at = 0;
    while at < image.len() || !ready.is_empty() {
        next.resize(WINDOW.min(image.len() - at), 0);
        let (wrote, ()) = rayon::join(
            || write_all(&mut staged, &ready, path),
            || {
                image.fill(at, &mut next);
                digest.update(&next);
            },
        );
        wrote?;
        at += next.len();
        std::mem::swap(&mut ready, &mut next);
    }
    for (at, bytes) in image.seal(digest)? {
        staged.change(at as u64, &bytes)?;
    }
    staged.commit()
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

impl<'i, 'a> File<'i, 'a> {
    /// `None`: no rule has anything to say about it.
    fn weave(
        &self,
        cx: &Context<'_>,
        attempts: &Attempts,
    ) -> Result<Option<Unit<cil::Woven<'i, 'a>>>> {
        let (source, image) = (self.source, self.image);
        let version = image.assembly_version();
        let matcher = (cx.matcher).for_artifact(source.name, version.as_deref(), cx.hierarchy);
        if !matcher.bytes_may_match(source.bytes) {
            return Ok(None);
        }
        let survey = cil::Survey::read(image)?;
        let parts: Vec<Result<Plan>> = (survey.parts(SCANNED).into_par_iter())
            .map(|types| {
                let first = types.start;
                plan(
                    cx,
                    &matcher,
                    attempts,
                    (Platform::DotNet, first),
                    |visitor| survey.scan(types, visitor),
                )
            })
            .collect();
        let mut plan = Plan::default();
        for part in parts {
            plan.append(part?);
        }
        if plan.methods.is_empty() && plan.skipped.is_empty() {
            return Ok(None);
        }
        let weaver = cil::Weaver::new(&survey, self.pdb, &plan)?;
        let parts: Vec<Result<cil::Part>> = (weaver.parts().into_par_iter())
            .map(|part| with_worker(|w| weaver.part(part, &mut w.cil_scratch)))
            .collect();
        let parts = parts.into_iter().collect::<Result<_>>()?;
        let mut woven = with_worker(|w| weaver.join(parts, &mut w.cil_scratch))?;
        let types = std::mem::take(&mut woven.types);
        Ok(Some(Unit::new(cx, woven, types, plan)))
    }
}
