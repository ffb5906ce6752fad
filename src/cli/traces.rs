//! Which traces the arguments of `report` and `export` name.

use crate::error::{Error, Kind, Result};
use crate::pipeline::{Files, maps_of};
use crate::trace::Trace;
use crate::trace::file::{PACKED, peek};
use std::path::{Path, PathBuf};

/// The traces that the arguments name, folders resolved in the order of their names: each one file, or
/// the parts of a collected trace in their order.
pub fn files(args: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>> {
    let mut files = Vec::new();
    for arg in args {
        if !arg.is_dir() {
            files.push(arg.clone());
            continue;
        }
        let before = files.len();
        for entry in std::fs::read_dir(arg).map_err(|e| Error::io("read", arg, e))? {
            let path = entry.map_err(|e| Error::io("read", arg, e))?.path();
            if is_trace(&path) && path.is_file() {
                files.push(path);
            }
        }
        if files.len() == before {
            return Err(Error::usage(format!("no *.wtrace in {}", arg.display())));
        }
        files[before..].sort();
    }
    Ok(groups(files))
}

/// Opens a trace: a file, or the parts of one. `shown` are all that are opened.
pub fn open(parts: &[PathBuf], shown: &[Vec<PathBuf>]) -> Result<Trace> {
    let paths: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    let mut trace = Trace::open_parts(&paths)?;
    if let [one] = paths[..]
        && let Some(newer) = newer_sibling(one, shown)
    {
        trace.note(format!("a later run wrote {newer}"));
    }
    Ok(trace)
}

/// The trace of a process that runs: a file, or a process id, whose trace is the one that it has mapped.
pub fn live(arg: &Path) -> Result<PathBuf> {
    let pid = arg
        .to_str()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    let Some(pid) = pid.filter(|_| !arg.exists()) else {
        return Ok(arg.to_owned());
    };
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))
        .map_err(|e| Error::new(Kind::NotDone, format!("process {pid}: {e}; name its trace")))?;
    // Address, permissions, offset, device, inode; then the path, which may have spaces.
    let paths = maps
        .lines()
        .filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let mut traces: Vec<&Path> = paths.filter(|path| is_trace(path)).collect();
    traces.sort();
    traces.dedup();
    match traces[..] {
        [one] => Ok(one.to_owned()),
        [] => Err(Error::new(
            Kind::NotDone,
            format!("process {pid} writes no trace; is it woven, and its recording on?"),
        )),
        _ => Err(Error::usage(format!(
            "process {pid} writes several traces; name one"
        ))),
    }
}

/// Refuses outputs, by their options, that are one of the traces, of the maps that are read with them, or each other.
pub fn check_outputs(
    traces: &[Vec<PathBuf>],
    beside: &[&Vec<PathBuf>],
    outputs: &[(&'static str, &Path)],
) -> Result<()> {
    let mut files = Files::default();
    for path in traces.iter().flatten() {
        files.read("the trace", path);
    }
    for path in beside.iter().copied().flatten() {
        files.read("the map", path);
    }
    for (option, path) in outputs {
        files.write(option, *path);
    }
    files.check()
}

/// Whether a trace lies in a folder.
pub fn any_in(folder: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io("read", folder, e))? {
        let path = entry.map_err(|e| Error::io("read", folder, e))?.path();
        if is_trace(&path) && path.is_file() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_trace(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    let name = name.strip_suffix(PACKED.as_bytes()).unwrap_or(name);
    name.ends_with(b".wtrace")
}

/// The parts of each collected trace together, in their order; every other file by itself.
fn groups(files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
    type Group = (Option<u64>, Vec<(u32, PathBuf)>);
    let mut groups: Vec<Group> = Vec::new();
    for file in files {
        // What cannot be read says so when it is opened.
        let header = peek(&file).ok().filter(|h| h.part > 0);
        let (identity, part) = (
            header.as_ref().map(|h| h.identity),
            header.map_or(0, |h| h.part),
        );
        let known = (groups.iter_mut()).find(|(of, _)| identity.is_some() && *of == identity);
        match known {
            Some((_, parts)) => parts.push((part, file)),
            None => groups.push((identity, vec![(part, file)])),
        }
    }
    (groups.into_iter())
        .map(|(_, mut parts)| {
            parts.sort();
            parts.into_iter().map(|(_, file)| file).collect()
        })
        .collect()
}

/// The newest trace that a later run wrote beside this one because its name was taken: `x-2.wtrace` of
/// `x.wtrace`. None if it is shown as well.
fn newer_sibling(path: &Path, shown: &[Vec<PathBuf>]) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".wtrace")?;
    let modified = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let of = |path: &Path| Some((peek(path).ok()?.origin, modified(path)?));
    let mut newest = of(path)?;
    let mut name = None;
    for number in 2.. {
        let next = path.with_file_name(format!("{stem}-{number}.wtrace"));
        if !next.is_file() {
            break;
        }
        if shown.iter().flatten().any(|file| *file == next) {
            continue;
        }
        if let Some(key) = of(&next)
            && key.0 > newest.0
        {
            newest = key;
            name = Some(next.display().to_string());
        }
    }
    name
}

/// Adds symbols maps, or those of woven artifacts, to traces that do not explain themselves.
pub fn add_symbols(traces: &mut [Trace], maps: &[PathBuf]) -> Result<()> {
    for path in maps {
        for map in maps_of(path)? {
            for trace in &mut *traces {
                trace
                    .add_symbols(&map)
                    .map_err(|e| e.in_artifact(path.display().to_string()))?;
            }
        }
    }
    Ok(())
}
