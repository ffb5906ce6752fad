//! Writing an archive like a given one.
//!
//! The sink gets bytes in order and is never read or sought. Kept members that follow each other
//! become one write; what lies between them (data descriptors, padding) goes with the member
//! before it. Once something has changed, the gap before the directory is left out: it may hold
//! an APK signing block, which would sign other bytes.

use super::read::Archive;
use super::record::{self, End, Entry};
use super::{Method, Packed, align};
use std::io::{self, Write};
use std::ops::Range;

/// Writes an archive like a given one, member by member in the order of [`Archive::members`].
///
/// If every member is kept and none is added, the output is the input, byte for byte.
pub struct Splicer<'a, W: Write> {
    archive: &'a Archive<'a>,
    sink: W,
    /// Bytes of the input to write next; the prefix at first.
    run: Range<usize>,
    /// Length of the output with `run`.
    position: u64,
    written: Vec<Written>,
    added: Vec<Added>,
    changed: bool,
    /// How the archive pads; found on first use.
    style: Option<align::Style>,
    /// What a stored member's data must be aligned to, by its name.
    rule: Option<fn(&[u8]) -> usize>,
}

/// What a member of the archive is replaced by.
enum Written {
    Dropped,
    At(u64),
    Replaced(u64, Entry),
}

/// A new member.
struct Added {
    /// The member before which it lies.
    before: usize,
    central: Vec<u8>,
}

impl Entry {
    fn of(data: &Packed<impl AsRef<[u8]>>) -> Entry {
        Entry {
            method: data.method.id(),
            crc32: data.crc32,
            packed: data.data.as_ref().len() as u64,
            size: data.size,
        }
    }
}

impl<W: Write> Splicer<'static, W> {
    /// Starts an archive from nothing.
    pub fn create(sink: W) -> Splicer<'static, W> {
        static EMPTY: Archive<'static> = Archive::EMPTY;
        Splicer::new(&EMPTY, sink)
    }
}

impl<'a, W: Write> Splicer<'a, W> {
    /// Starts writing.
    pub fn new(archive: &'a Archive<'a>, sink: W) -> Splicer<'a, W> {
        let prefix = archive.prefix().len();
        Splicer {
            archive,
            sink,
            run: 0..prefix,
            position: prefix as u64,
            written: Vec::with_capacity(archive.members().len()),
            added: Vec::new(),
            changed: false,
            style: None,
            rule: None,
        }
    }

    /// Aligns the data of stored members by their names, whether or not the archive was aligned before.
    pub fn align(&mut self, rule: fn(&[u8]) -> usize) {
        self.rule = Some(rule);
    }

    /// The alignment of a stored member that holds something.
    fn alignment(&self, name: &[u8], kept: usize) -> usize {
        self.rule.map_or(kept, |rule| kept.max(rule(name)))
    }

    /// Copies the next member untouched.
    pub fn keep(&mut self) -> io::Result<()> {
        let i = self.next()?;
        let member = &self.archive.members()[i];
        let (start, end) = (member.offset(), self.archive.member_end(i));
        self.written.push(Written::At(self.offset()));
        let data = member.data_offset();
        let mut alignment = align::alignment(self.archive, member);
        if member.method() == Method::Stored && member.size() > 0 {
            alignment = self.alignment(member.raw_name(), alignment);
        }
        let lies_at = self.position + (data - start) as u64;
        if !lies_at.is_multiple_of(alignment as u64) {
            let mut header = member.local().to_vec();
            self.pad(&mut header, alignment)?;
            self.changed = true;
            self.write(&header)?;
            return self.copy(data..end);
        }
        self.copy(start..end)
    }

    /// Writes the next member with other data, all else as it was.
    pub fn replace(&mut self, data: &Packed<impl AsRef<[u8]>>) -> io::Result<()> {
        let i = self.next()?;
        let member = &self.archive.members()[i];
        let entry = Entry::of(data);
        let mut header = record::local_replaced(member.local(), &entry)?;
        if entry.method == 0 {
            let alignment = align::alignment(self.archive, member);
            let alignment = alignment.max(align::alignment_of_new(self.archive));
            self.pad(&mut header, self.alignment(member.raw_name(), alignment))?;
        }
        self.written.push(Written::Replaced(self.offset(), entry));
        self.changed = true;
        self.write(&header)?;
        self.write(data.data.as_ref())
    }

    /// Leaves the next member out.
    pub fn drop(&mut self) -> io::Result<()> {
        self.next()?;
        self.written.push(Written::Dropped);
        self.changed = true;
        Ok(())
    }

    /// Adds a new member before the next one, dated 1980-01-01 00:00.
    pub fn add(&mut self, name: &str, data: &Packed<impl AsRef<[u8]>>) -> io::Result<()> {
        let entry = Entry::of(data);
        let mut header = record::local_new(name, &entry)?;
        if entry.method == 0 && entry.size > 0 {
            let alignment = align::alignment_of_new(self.archive);
            self.pad(&mut header, self.alignment(name.as_bytes(), alignment))?;
        }
        self.added.push(Added {
            before: self.written.len(),
            central: record::central_new(name, &entry, self.offset())?,
        });
        self.changed = true;
        self.write(&header)?;
        self.write(data.data.as_ref())
    }

    /// Writes the directory; all members must have been kept, replaced or dropped. The sink is
    /// flushed and given back.
    pub fn finish(mut self) -> io::Result<W> {
        self.check_whole()?;
        if self.changed {
            self.finish_run()?;
            self.check_prefix()?;
            let (count, mut tail) = self.directory()?;
            let len = tail.len();
            self.end(&mut tail, count, len);
            self.sink.write_all(&tail)?;
        } else {
            self.run.end = self.archive.bytes().len();
            self.finish_run()?;
        }
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// As [`Splicer::finish`], with a block before the directory that no member refers to. It is made of the sink that
    /// all before has gone to, of the directory, and of the end records as they would be without a block.
    pub fn finish_with_block(
        mut self,
        block: impl FnOnce(&mut W, &[u8], &[u8]) -> io::Result<Vec<u8>>,
    ) -> io::Result<W> {
        self.check_whole()?;
        self.finish_run()?;
        let (count, mut tail) = self.directory()?;
        let len = tail.len();
        self.end(&mut tail, count, len);
        let block = block(&mut self.sink, &tail[..len], &tail[len..])?;
        self.write(&block)?;
        self.check_prefix()?;
        tail.truncate(len);
        self.end(&mut tail, count, len);
        self.sink.write_all(&tail)?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn check_whole(&self) -> io::Result<()> {
        match self.archive.members().len() - self.written.len() {
            0 => Ok(()),
            left => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{left} members of the zip file were neither kept nor dropped"),
            )),
        }
    }

    /// Offsets count from behind a prefix. Readers would take what looks like a directory in it, where they look first.
    fn check_prefix(&self) -> io::Result<()> {
        let at = usize::try_from(self.offset()).unwrap_or(usize::MAX);
        let there = self.archive.bytes()[..self.archive.base()].get(at..);
        match there.is_some_and(|bytes| bytes.starts_with(record::CENTRAL)) {
            false => Ok(()),
            true => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "what lies before the zip file looks like the directory of another one",
            )),
        }
    }

    /// The number of members, and the directory.
    fn directory(&self) -> io::Result<(u64, Vec<u8>)> {
        let members = self.archive.members();
        let mut out = Vec::with_capacity(members.iter().map(|m| m.central().len()).sum());
        let mut count = self.added.len() as u64;
        let mut added = self.added.as_slice();
        let mut put_added = |out: &mut Vec<u8>, upto: usize| {
            while let Some((first, rest)) = added.split_first().filter(|(a, _)| a.before <= upto) {
                out.extend_from_slice(&first.central);
                added = rest;
            }
        };
        for i in self.archive.directory_order() {
            put_added(&mut out, i);
            let raw = members[i].central();
            match &self.written[i] {
                Written::Dropped => continue,
                Written::At(offset) => record::central(&mut out, raw, *offset, None)?,
                Written::Replaced(offset, entry) => {
                    record::central(&mut out, raw, *offset, Some(entry))?;
                }
            }
            count += 1;
        }
        put_added(&mut out, usize::MAX);
        Ok((count, out))
    }

    /// Appends the end records for the directory that follows.
    fn end(&self, out: &mut Vec<u8>, count: u64, len: usize) {
        let (end64, end) = self.archive.end_records();
        let offset = self.offset();
        let what = End {
            count,
            offset,
            len: len as u64,
            record_offset: offset + len as u64,
        };
        record::end(out, end64, end, &what);
    }

    /// The place of the next member.
    fn next(&self) -> io::Result<usize> {
        let i = self.written.len();
        if i < self.archive.members().len() {
            return Ok(i);
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the zip file has no more members",
        ))
    }

    /// Where the output ends, as the archive's offsets are counted.
    fn offset(&self) -> u64 {
        self.position - self.archive.base() as u64
    }

    fn pad(&mut self, header: &mut Vec<u8>, alignment: usize) -> io::Result<()> {
        let style = match self.style {
            _ if alignment <= 1 => return Ok(()),
            Some(style) => style,
            None => *self.style.insert(align::style(self.archive)),
        };
        align::pad(header, self.position, alignment, style)
    }

    /// Writes bytes of the input.
    fn copy(&mut self, range: Range<usize>) -> io::Result<()> {
        self.position += range.len() as u64;
        if self.run.end == range.start {
            self.run.end = range.end;
            return Ok(());
        }
        self.finish_run()?;
        self.run = range;
        Ok(())
    }

    /// Writes other bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.finish_run()?;
        self.position += bytes.len() as u64;
        self.sink.write_all(bytes)
    }

    fn finish_run(&mut self) -> io::Result<()> {
        let run = std::mem::replace(&mut self.run, 0..0);
        self.sink.write_all(&self.archive.bytes()[run])
    }
}
