//! An input that is one file.

use crate::cil;
use crate::container::input::Input;
use crate::container::place::same_file;
use crate::container::stage::Staged;
use crate::container::zip::Archive;
use crate::error::{Error, Result};
use crate::pipeline::context::Context;
use crate::pipeline::format::Format;
use crate::pipeline::formats::class::plan_class;
use crate::pipeline::formats::dex::{self, weave_dexes};
use crate::pipeline::inputs::archive::Spot;
use crate::pipeline::inputs::archive::cached::{Lookup, Woven, weave_cached};
use crate::pipeline::inputs::assembly_file::weave_assembly;
use crate::pipeline::job::{Job, Meter, artifact_name};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::library::Library;
use crate::pipeline::library::layout::Unseen;
use crate::pipeline::native::not_woven;
use crate::pipeline::publish::target::Target;
use crate::pipeline::worker::with_worker;

/// Weaves an input that is one file. Returns the files to commit, in their order; nothing has changed yet.
pub(crate) fn weave_file(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    job: &Job,
) -> Result<Vec<Staged>> {
    let input = Input::open(&job.input)?;
    let name = artifact_name(&job.input);
    let format = Format::of(&input);
    if job.identity.is_some() && format != Format::Zip {
        return Err(
            Error::usage("only an apk, a jar or another archive can be signed").in_artifact(name),
        );
    }
    let mut open = || match &job.output {
        Some(output) => Staged::create(output, Some(&job.input)).map(Target::File),
        None => Ok(Target::Nowhere),
    };
    let woven = match format {
        Format::Pe if cil::is_assembly(&input) => {
            return weave_assembly(cx, ledger, job, &name, &input);
        }
        Format::Pe | Format::Other => return Err(not_woven(&input).in_artifact(name)),
        Format::Zip => weave_zip(cx, ledger, meter, job, (&name, &input), &mut open)?,
        Format::Class | Format::Dex => {
            let woven = match format {
                Format::Class => weave_loose_class(cx, ledger, &name, &input)?,
                _ => weave_loose_dex(cx, ledger, &name, &input)?,
            };
            match woven {
                Some(bytes) => {
                    ledger.outcome.artifacts += 1;
                    ledger.end_unit(None);
                    let mut target = open()?;
                    target.put(&bytes)?;
                    Some(target)
                }
                None => None,
            }
        }
    };
    let Some(output) = &job.output else {
        return Ok(vec![]);
    };
    if ledger.refuses(job.strict) {
        return Ok(vec![]);
    }
    let mut staged = Vec::new();
    match woven {
        Some(target) => {
            let map = ledger.end_job();
            staged.extend(job.stage_map(&mut ledger.outcome, map.as_deref())?);
            let target = match &job.identity {
                Some(identity) => target.sign(identity, &job.input, output)?,
                None => target,
            };
            staged.extend(target.into_staged());
        }
        None if same_file(&job.input, output) => {}
        None => {
            let mut target = open()?;
            target.put(&input)?;
            staged.extend(target.into_staged());
        }
    }
    Ok(staged)
}

fn weave_zip(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    job: &Job,
    (name, input): (&str, &Input),
    open: &mut (dyn FnMut() -> Result<Target> + Send),
) -> Result<Option<Target>> {
    let archive = Archive::open(input).map_err(|e| e.in_artifact(name))?;
    let spot = Spot {
        label: name,
        library: match cx.runtime {
            true => Library::Embed,
            false => Library::Absent,
        },
        is_unit: true,
        depth: 0,
        is_named: true,
        unseen: Unseen::Nothing,
    };
    let types = job.types(cx.hierarchy, cx.own);
    let cache = job.cache.as_ref().filter(|_| cx.may_be_cached(ledger));
    let found = cache.map(|cache| Lookup::new(cache, &types, cx, &spot, input));
    Ok(
        match weave_cached(found, cx, ledger, meter, &spot, &archive, open)? {
            Some(Woven::Before(entry)) => {
                let mut target = open()?;
                target.put(entry.as_ref())?;
                Some(target)
            }
            Some(Woven::Now(target)) => Some(target),
            None => None,
        },
    )
}

/// Weaves a dex file that is a file of its own.
fn weave_loose_dex(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>> {
    let matcher = cx.matcher.for_artifact(name, None, cx.hierarchy);
    let source = dex::Source {
        member: None,
        bytes,
    };
    let woven = weave_dexes(cx, ledger, &matcher, name, &[source])?;
    Ok(woven.into_iter().flatten().next().and_then(|dex| dex.bytes))
}

/// Weaves a class that is a file of its own.
fn weave_loose_class(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>> {
    let matcher = cx.matcher.for_artifact(name, None, cx.hierarchy);
    let mut weave = || {
        let Some(mut planned) = plan_class(cx, &matcher, bytes, Unseen::Nothing)? else {
            return Ok(None);
        };
        planned.claim(ledger)?;
        with_worker(|w| planned.weave(cx, &mut w.scratch, None))
    };
    let woven = weave().map_err(|e: Error| e.in_artifact(name))?;
    let Some(class) = woven else { return Ok(None) };
    if !class.generated.is_empty() {
        let what = "own hooks are called through a class that has no place beside a class file alone: weave its folder or \
                    jar, or say `guard = false` where the hooks reach nothing woven";
        return Err(Error::usage(what).in_artifact(name));
    }
    ledger.record(name, &class.ty);
    ledger.needs_library |= class.needs_library;
    Ok(class.bytes)
}
