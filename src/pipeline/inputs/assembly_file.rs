//! A .NET assembly that is an input of its own: its symbols file and the hook library lie beside it.

use crate::cil;
use crate::container::deps_json;
use crate::container::input::Input;
use crate::container::place::{is_stream, same_file};
use crate::container::stage::Staged;
use crate::error::{Error, Result};
use crate::pipeline::context::Context;
use crate::pipeline::formats::assembly::{Source, weave_assemblies};
use crate::pipeline::job::Job;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::library::embedded;
use crate::pipeline::publish::paths::parent;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Weaves an assembly. Returns the files to commit, in their order.
pub(crate) fn weave_assembly(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    job: &Job,
    name: &str,
    input: &Input,
) -> Result<Vec<Staged>> {
    let image = cil::Image::parse(input).map_err(|e| e.in_artifact(name))?;
    let image = image.with_structs(cx.structs());
    let pdb_path = symbols_of(&job.input, &image);
    let pdb = match pdb_path.is_file() {
        true => Some(Input::open(&pdb_path)?),
        false => None,
    };
    let pdb_output = |output: &Path| match same_file(&job.input, output) {
        true => pdb_path.clone(),
        false if pdb_path == mono_symbols_of(&job.input) => mono_symbols_of(output),
        false => output.with_extension("pdb"),
    };
    let pdb_name = job.output.as_deref().map(pdb_output);
    let source = Source {
        label: name,
        artifact: image.assembly_name().unwrap_or_default(),
        name,
        file: input,
        image: &image,
        pdb: pdb.as_deref(),
        pdb_name: pdb_name.and_then(|path| path.file_name()?.to_str().map(str::to_owned)),
    };
    let types = job.types(cx.hierarchy, cx.own);
    let (cache, key) = (job.cache.as_ref(), job.key.as_ref());
    let mut woven = weave_assemblies(cx, ledger, cache, &types, key, &[source])?;
    let Some(output) = &job.output else {
        return Ok(vec![]);
    };
    if ledger.refuses(job.strict) {
        return Ok(vec![]);
    }
    let in_place = same_file(&job.input, output);
    // Nothing lies beside a device or a pipe.
    let alone = is_stream(output);
    let pdb_output = pdb_output(output);
    if !in_place && same_file(&pdb_path, &pdb_output) {
        return Err(Error::usage(format!(
            "{} would replace the input's: choose an output of another name or in another folder",
            pdb_output.display()
        )));
    }
    let Some(woven) = woven.pop().flatten() else {
        if in_place {
            return Ok(vec![]);
        }
        let pdb = pdb.filter(|_| !alone);
        let pdb = pdb.map(|pdb| Staged::own(&pdb_output, &pdb, Some(&pdb_path)));
        let image = Staged::whole(output, input, Some(&job.input));
        return pdb.into_iter().chain([image]).collect();
    };
    let (beside, image): (_, Result<(Staged, Result<()>)>) = rayon::join(
        || -> Result<Vec<Staged>> {
            let mut staged = Vec::new();
            if let Some(pdb) = woven.pdb().filter(|_| !alone) {
                staged.push(Staged::own(&pdb_output, pdb, Some(&pdb_path))?);
            }
            if !alone {
                let libraries = cx.assembly_libraries(image.platform_version());
                for (name, bytes) in &libraries {
                    staged.extend(stage_library(output, &job.input, name, bytes)?);
                }
                staged.extend(stage_lists(output, &libraries)?);
            }
            let map = ledger.end_job();
            staged.extend(job.stage_map(&mut ledger.outcome, map.as_deref())?);
            Ok(staged)
        },
        || {
            let mut staged = woven.stage(output, &job.input)?;
            let stored = woven.store(job.cache.as_ref(), &mut staged);
            Ok((staged, stored))
        },
    );
    // The assembly last: what it needs is there when it is.
    let mut staged = beside?;
    let (image, stored) = image?;
    staged.push(image);
    if let Err(e) = stored {
        ledger.not_cached(name, &e);
    }
    Ok(staged)
}

/// Stages a library beside the output, if it is not there already.
fn stage_library(output: &Path, like: &Path, name: &str, bytes: &[u8]) -> Result<Option<Staged>> {
    let library = parent(output).join(name);
    let is_file = library
        .symlink_metadata()
        .is_ok_and(|there| there.is_file());
    if is_file && std::fs::read(&library).is_ok_and(|there| there == bytes) {
        return Ok(None);
    }
    Staged::own(&library, bytes, Some(like)).map(Some)
}

/// Stages the lists of applications (`App.deps.json`) beside the output that have it, with the libraries: else their host would not find
/// these.
fn stage_lists(output: &Path, libraries: &[(&str, &[u8])]) -> Result<Vec<Staged>> {
    let Some(file) = output.file_name().and_then(OsStr::to_str) else {
        return Ok(vec![]);
    };
    // A folder that is not there yet has none.
    let entries = std::fs::read_dir(parent(output)).into_iter().flatten();
    let mut lists: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    lists.retain(|path| {
        path.to_str()
            .is_some_and(|path| path.ends_with(deps_json::SUFFIX))
    });
    lists.sort();
    let mut staged = Vec::new();
    for path in lists.iter().filter(|path| path.is_file()) {
        let text = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
        if !deps_json::lists(&text, file) {
            continue;
        }
        let added = embedded::listed(&text, libraries);
        let added = added.map_err(|e| e.in_artifact(path.display().to_string()))?;
        if let Some(text) = added {
            staged.push(Staged::whole(path, &text, None)?);
        }
    }
    Ok(staged)
}

/// Where an assembly's symbols file lies, if there is one: beside it, of its name or of the one that it asks for, or Mono's.
fn symbols_of(assembly: &Path, image: &cil::Image<'_>) -> PathBuf {
    let same_name = assembly.with_extension("pdb");
    if same_name.is_file() {
        return same_name;
    }
    let asked_for = image.pdb_name().map(|name| assembly.with_file_name(name));
    let mono = mono_symbols_of(assembly);
    match asked_for {
        Some(path) if path.is_file() || !mono.is_file() => path,
        _ if mono.is_file() => mono,
        _ => same_name,
    }
}

/// Where Mono's own debugging information lies: `app.dll.mdb`.
fn mono_symbols_of(assembly: &Path) -> PathBuf {
    let mut name = assembly.as_os_str().to_owned();
    name.push(".mdb");
    name.into()
}
