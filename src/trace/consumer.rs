//! The consumer of a live trace, for `tail` and `collect`: it takes the trace's one consumer lock, writes heartbeats, and finds
//! out whether the writing process is gone.

use super::format::{FLAG_ORDERLY, HEADER_USED, HEARTBEAT_AT, Header};
use super::lock;
use crate::error::{Error, Kind, Result};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A trace without a lock, of a process that is not in sight, is taken for left after so long without a change.
const QUIET: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 5_000 });

/// The process that writes a trace.
pub(super) struct Writer {
    /// The process was seen to hold the trace's lock.
    was_locked: bool,
    /// When the trace was seen to change.
    changed: Instant,
}

/// The open file of a trace, and where it lies.
#[derive(Clone, Copy)]
pub(super) struct TraceFile<'t> {
    file: &'t File,
    path: &'t Path,
}

impl<'t> TraceFile<'t> {
    pub(super) fn of(file: &'t File, path: &'t Path) -> TraceFile<'t> {
        TraceFile { file, path }
    }
}

impl Writer {
    pub(super) fn of(trace: &File) -> Writer {
        Writer {
            was_locked: lock::has_writer(trace),
            changed: Instant::now(),
        }
    }

    /// The trace has changed.
    pub(super) fn wrote(&mut self) {
        self.changed = Instant::now();
    }

    /// Whether it has ended.
    pub(super) fn is_gone(&mut self, trace: TraceFile<'_>, header: &Header) -> bool {
        if lock::has_writer(trace.file) {
            self.was_locked = true;
            return false;
        }
        let orderly = header.flags & FLAG_ORDERLY != 0;
        self.was_locked
            || orderly
            || !has_it_mapped(header.pid, trace.path) && self.changed.elapsed() > QUIET
    }
}

/// Takes the consumer lock of a trace. Fails where another process has it: a trace has one consumer.
pub(super) fn take(trace: &File, path: &Path, header: &Header) -> Result<()> {
    if lock::take_consumer(trace) {
        return Ok(());
    }
    let what = format!(
        "{}: process {} collects it already; a trace has one consumer",
        path.display(),
        header.consumer
    );
    Err(Error::new(Kind::NotDone, what))
}

/// Writes a number into a trace's header.
pub(super) fn put(trace: TraceFile<'_>, at: usize, value: u64) -> Result<()> {
    write_at(trace.file, &value.to_le_bytes(), at as u64)
        .map_err(|e| Error::io("write to", trace.path, e))
}

/// Writes the next heartbeat: the process sees by it that the consumer lives.
pub(super) fn beat(trace: TraceFile<'_>, header: &mut Header) -> Result<()> {
    header.heartbeat = header.heartbeat.wrapping_add(1);
    put(trace, HEARTBEAT_AT, header.heartbeat)
}

/// Reads the header again; its bytes.
pub(super) fn refresh(
    trace: TraceFile<'_>,
    header: &mut Header,
    consumes: bool,
) -> Result<Vec<u8>> {
    let mut head = vec![0; HEADER_USED];
    let read = read_at(trace.file, &mut head, 0).map_err(|e| Error::io("read", trace.path, e))?;
    if read == HEADER_USED {
        header.refresh(&head, consumes)?;
    }
    Ok(head)
}

/// Whether that process is in sight and has the file mapped; where this cannot be seen it has not.
pub fn has_it_mapped(pid: u64, path: &Path) -> bool {
    match fs::read(format!("/proc/{pid}/maps")) {
        Ok(maps) => mapped(&maps).any(|there| there.is(path)),
        // Another user's: it lives, and that is all that is known.
        Err(e) => e.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// A file that a process has mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFile {
    /// Its path, as the process's own mount namespace has it.
    pub path: PathBuf,
    /// Major and minor number of its device.
    device: (u32, u32),
    inode: u64,
}

impl MappedFile {
    /// Whether a path of our own leads to it. Some file systems show another device in mappings than in files: there the path
    /// must be the same.
    pub fn is(&self, path: &Path) -> bool {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::MetadataExt;
            let Ok(file) = path.metadata() else {
                return false;
            };
            let device = (libc::major(file.dev()), libc::minor(file.dev()));
            file.ino() == self.inode
                && (device == self.device
                    || path.canonicalize().is_ok_and(|path| path == self.path))
        }
        #[cfg(not(target_os = "linux"))]
        {
            self.path == path
        }
    }
}

/// The files in what `/proc/PID/maps` says: address, permissions, offset, device, inode; then the path, which may have spaces.
pub fn mapped(maps: &[u8]) -> impl Iterator<Item = MappedFile> {
    maps.split(|b| *b == b'\n').filter_map(|line| {
        let path = &line[line.iter().position(|b| *b == b'/')?..];
        let head = std::str::from_utf8(&line[..line.len() - path.len()]).ok()?;
        let mut fields = head.split_ascii_whitespace().skip(3);
        let (major, minor) = fields.next()?.split_once(':')?;
        let number = |hex| u32::from_str_radix(hex, 16).ok();
        Some(MappedFile {
            path: PathBuf::from(String::from_utf8_lossy(path).into_owned()),
            device: (number(major)?, number(minor)?),
            inode: fields.next()?.parse().ok()?,
        })
    })
}

/// Reads as much as there is.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut file = file;
    file.seek(SeekFrom::Start(at))?;
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(read)
}

pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut file = file;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}
