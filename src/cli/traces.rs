//! Which traces the arguments of `report` and `export` name.

use crate::error::{Error, Kind, Result};
use crate::pipeline::{Files, maps_of};
use crate::printable::printable;
use crate::trace::Trace;
use crate::trace::consumer::{MappedFile, mapped};
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
    let not_done = |what: String| Error::new(Kind::NotDone, format!("process {pid}{what}"));
    let maps = std::fs::read(format!("/proc/{pid}/maps"))
        .map_err(|e| not_done(format!(": {e}; name its trace")))?;
    let mut traces: Vec<MappedFile> = mapped(&maps).filter(|file| is_trace(&file.path)).collect();
    traces.dedup();
    match &traces[..] {
        [one] => located(pid, one).map_err(not_done),
        [] => Err(not_done(match deleted(&maps) {
            Some(name) => format!(" writes {}, which was deleted", printable(&name)),
            None => " writes no trace; is it woven, and its recording on?".to_owned(),
        })),
        _ => Err(Error::usage(format!(
            "process {pid} writes several traces; name one"
        ))),
    }
}

/// A trace whose file has no name any more, but that a process still writes.
fn deleted(maps: &[u8]) -> Option<String> {
    mapped(maps).find_map(|file| {
        let name = file.path.to_str()?.strip_suffix(" (deleted)")?;
        is_trace(Path::new(name)).then(|| name.to_owned())
    })
}

/// The path that leads from here to what a process has mapped: the process may have a mount namespace of its own.
fn located(pid: &str, file: &MappedFile) -> std::result::Result<PathBuf, String> {
    let mut inside = PathBuf::from(format!("/proc/{pid}/root"));
    inside.push(file.path.strip_prefix("/").unwrap_or(&file.path));
    let shown = printable(&file.path.display().to_string());
    let Some(found) = [&file.path, &inside].into_iter().find(|path| file.is(path)) else {
        let here = match file.path.exists() {
            true => "a path that names another file here",
            false => "a path that does not exist here",
        };
        return Err(format!(
            " writes {shown}, {here}: it has a mount namespace of its own, such as a container's; run weave there, or name the trace"
        ));
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    // What cannot be read says so when it is opened.
    match (ids, peek(found)) {
        (Some(ids), Ok(header)) if !is_one_of(ids, header.pid) => Err(format!(
            " has {shown} mapped, which process {} writes",
            header.pid
        )),
        _ => Ok(found.clone()),
    }
}

fn is_one_of(ids: &str, pid: u64) -> bool {
    ids.split_ascii_whitespace().any(|id| id.parse() == Ok(pid))
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

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "7f0000000000-7f0000010000 rw-s 00000000 fe:1f 4711                       /srv/a b.wtrace\n\
                        7f0000020000-7f0000030000 rw-p 00000000 00:00 0 \n\
                        7f0000040000-7f0000050000 rw-s 00000000 fe:1f 4712                       /srv/gone.wtrace (deleted)\n\
                        7ffc00000000-7ffc00010000 rw-p 00000000 00:00 0                          [stack]\n";

    #[test]
    fn a_trace_in_another_mount_namespace_is_not_taken_for_one_here() {
        let all: Vec<MappedFile> = mapped(MAPS.as_bytes()).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].path, Path::new("/srv/a b.wtrace"));
        assert_eq!(deleted(MAPS.as_bytes()).unwrap(), "/srv/gone.wtrace");
        let told = located("self", &all[0]).unwrap_err();
        assert!(
            told.contains("does not exist here") && told.contains("mount namespace"),
            "{told}"
        );
        // A file of that name with another inode.
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("x.wtrace");
        std::fs::write(&other, "").unwrap();
        let line = format!("0-1 rw-s 0 fe:1f 1 {}\n", other.display());
        let there = mapped(line.as_bytes()).next().unwrap();
        let told = located("self", &there).unwrap_err();
        assert!(told.contains("another file here"), "{told}");
        assert!(is_one_of("\t4711\t1", 1) && !is_one_of("\t4711\t1", 47));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mapped_trace_is_found_by_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("x.wtrace");
        std::fs::write(&path, "x").unwrap();
        let file = std::fs::File::open(&path).unwrap();
        // SAFETY: nobody changes the file.
        let _map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        assert_eq!(
            live(Path::new(&std::process::id().to_string())).unwrap(),
            path
        );
    }
}
