//! Reading: the directory, checked as a whole before any member is used.

use super::codec::plausible;
use super::record::{
    CENTRAL, CENTRAL_LEN, DESCRIPTOR, END, END_LEN, END64, END64_LEN, FLAG_DESCRIPTOR,
    FLAG_ENCRYPTED, LOCAL, LOCAL_LEN, LOCATOR, LOCATOR_LEN,
};
use super::{Codec, Method};
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::{Error, Kind, Result};
use std::borrow::Cow;

/// A zip file, its directory read and checked.
pub struct Archive<'a> {
    bytes: &'a [u8],
    members: Vec<Member<'a>>,
    /// The members in the order of the directory, where that is another than in the file.
    directory_order: Option<Vec<u32>>,
    /// What the archive's offsets count from: not 0 where a prefix was put before a finished zip.
    base: usize,
    directory: usize,
    /// The zip64 end record with its extensible data.
    end64: Option<&'a [u8]>,
    /// The end record with the comment and whatever follows.
    end: &'a [u8],
    aligned: bool,
}

/// A member of a zip file.
pub struct Member<'a> {
    name: Cow<'a, str>,
    /// The local header with name and extra field.
    local: &'a [u8],
    /// The directory record with name, extra field and comment.
    central: &'a [u8],
    data: &'a [u8],
    offset: usize,
    size: u64,
}

impl<'a> Archive<'a> {
    /// An archive without members, to create one from nothing.
    pub(super) const EMPTY: Archive<'static> = Archive {
        bytes: &EMPTY_END,
        members: Vec::new(),
        directory_order: None,
        base: 0,
        directory: 0,
        end64: None,
        end: &EMPTY_END,
        aligned: false,
    };

    /// Whether the bytes look like a zip file: a local header or an end record at the start, or
    /// (a prefix before the zip) an end record whose comment ends with the bytes.
    pub fn is_zip(bytes: &[u8]) -> bool {
        if bytes.starts_with(LOCAL) || bytes.starts_with(END) {
            return true;
        }
        whole_end(bytes).is_some()
    }

    /// Reads and checks the directory.
    ///
    /// Refuses what readers of zip files disagree about and what bombs are made of: overlapping
    /// members, members outside the file, a local header with another name or method. Offsets in
    /// errors count from the start of `bytes`.
    pub fn open(bytes: &'a [u8]) -> Result<Archive<'a>> {
        match Archive::open_at(bytes, 0) {
            Ok(archive) => Ok(archive),
            // A zip64 record is looked for where the locator says; behind a prefix that nobody
            // added to the offsets it is further on.
            Err(e) => match zip64_prefix(bytes) {
                Some(base) => Archive::open_at(bytes, base),
                None => Err(e),
            },
        }
    }

    fn open_at(bytes: &'a [u8], start: usize) -> Result<Archive<'a>> {
        let zip = rawzip::ZipArchive::from_slice(located(bytes, start)).map_err(|e| {
            let at = e.eocd_offset().map_or(bytes.len(), |o| start + o as usize);
            Error::malformed(at, format!("not a readable zip file: {e}"))
        })?;
        let end_at = start + zip.eocd_offset() as usize;
        let end = &bytes[end_at..];
        let directory = start + zip.directory_offset() as usize;
        let end64 = end64(bytes, start, end_at).filter(|record| {
            u64_at(record, 32) == zip.entries_hint() && u64_at(record, 48) == zip.directory_offset()
        });
        // For a plain end record rawzip finds a directory that lies just before it, whatever the
        // declared offset: the difference is the length of a prefix.
        let base = match end64 {
            Some(_) => start,
            None => directory.saturating_sub(u32_at(end, 16) as usize),
        };
        let mut archive = Archive {
            bytes,
            members: Vec::new(),
            directory_order: None,
            base,
            directory,
            end64,
            end,
            aligned: false,
        };
        if zip.entries_hint() == 0 && !bytes[directory.min(end_at)..].starts_with(CENTRAL) {
            // rawzip takes what lies between a prefix and the end record for records.
            archive.directory = end64.map_or(end_at, |record| offset_in(bytes, record));
            archive.base = archive.directory.saturating_sub(directory);
            return Ok(archive);
        }
        archive.read_directory(&zip, start)?;
        archive.check_layout()?;
        archive.aligned = is_aligned(&archive.members);
        Ok(archive)
    }

    fn read_directory(
        &mut self,
        zip: &rawzip::ZipSliceArchive<Cow<'a, [u8]>>,
        start: usize,
    ) -> Result<()> {
        let declared = zip.entries_hint();
        let count_matches = |count: usize| match self.end64 {
            Some(_) => count as u64 == declared,
            // Writers without zip64 (Java before 7) let the count wrap around.
            None => count as u16 == declared as u16,
        };
        // A record takes 46 bytes, so a wrong count reserves no more than the file's length.
        let most = (self.bytes.len() - self.directory.min(self.bytes.len())) / CENTRAL_LEN;
        let mut members = Vec::with_capacity((declared as usize).min(most));
        let mut at = self.directory;
        let mut entries = zip.entries();
        loop {
            let record = match entries.next_entry() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                // Bytes between the directory and its end are nobody's.
                Err(_) if !members.is_empty() && count_matches(members.len()) => break,
                Err(e) => return Err(Error::malformed(at, format!("zip directory: {e}"))),
            };
            let member = self.read_member(zip, start, at, &record)?;
            at += member.central.len();
            members.push(member);
        }
        if !count_matches(members.len()) {
            let found = members.len();
            return Err(Error::malformed(
                offset_in(self.bytes, self.end),
                format!("the zip directory has {found} members, its end record says {declared}"),
            ));
        }
        self.members = members;
        Ok(())
    }

    fn read_member(
        &self,
        zip: &rawzip::ZipSliceArchive<Cow<'a, [u8]>>,
        start: usize,
        at: usize,
        record: &rawzip::ZipFileHeaderRecord<'_>,
    ) -> Result<Member<'a>> {
        let lengths = &self.bytes[at + 28..];
        let variable: usize = (0..3).map(|i| usize::from(u16_at(lengths, 2 * i))).sum();
        let central = &self.bytes[at..at + CENTRAL_LEN + variable];
        let raw_name = &central[CENTRAL_LEN..CENTRAL_LEN + usize::from(u16_at(central, 28))];
        let name = String::from_utf8_lossy(raw_name);
        // Fits: the archive is in memory, and what lies beyond it fails below.
        let offset = start.saturating_add(record.local_header_offset() as usize);
        let bad = |what: String| Error::malformed(offset, format!("zip member \"{name}\": {what}"));

        let entry = zip
            .get_entry(record.wayfinder())
            .map_err(|e| bad(format!("no local header, or data beyond the file: {e}")))?;
        let header = entry.local_header();
        let local_name = header.file_path();
        if local_name.as_ref() != raw_name {
            let local = String::from_utf8_lossy(local_name.as_ref());
            return Err(bad(format!("its local header names it \"{local}\"")));
        }
        let (local, central_method) = (
            header.compression_method().as_u16(),
            record.compression_method().as_u16(),
        );
        if local != central_method {
            return Err(bad(format!(
                "packed by method {central_method}, by {local} in its local header"
            )));
        }
        let (data_start, data_end) = entry.compressed_data_range();
        let data_start = start + data_start as usize;
        let local = &self.bytes[offset..data_start];
        if (u16_at(local, 6) ^ u16_at(central, 8)) & FLAG_ENCRYPTED != 0 {
            return Err(bad(
                "only one of its headers says that it is encrypted".to_owned()
            ));
        }
        Ok(Member {
            local,
            central,
            data: &self.bytes[data_start..start + data_end as usize],
            offset,
            size: record.uncompressed_size_hint(),
            name,
        })
    }

    /// Brings the members into the order of their data and refuses overlaps.
    fn check_layout(&mut self) -> Result<()> {
        if !self.members.is_sorted_by_key(|m| m.offset) {
            let mut order: Vec<u32> = (0..self.members.len() as u32).collect();
            order.sort_by_key(|&i| self.members[i as usize].offset);
            let mut place = vec![0; order.len()];
            for (to, &from) in order.iter().enumerate() {
                place[from as usize] = to as u32;
            }
            self.members.sort_by_key(|m| m.offset);
            self.directory_order = Some(place);
        }
        for pair in self.members.windows(2) {
            if pair[0].data_end() > pair[1].offset {
                return Err(Error::malformed(
                    pair[1].offset,
                    format!(
                        "zip members \"{}\" and \"{}\" overlap",
                        pair[0].name, pair[1].name
                    ),
                ));
            }
        }
        match self.members.last() {
            Some(last) if last.data_end() > self.directory => Err(Error::malformed(
                last.offset,
                format!("zip member \"{}\" overlaps the directory", last.name),
            )),
            _ => Ok(()),
        }
    }

    /// The members in the order in which their data lies in the file.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The place of the first member of that name in [`Archive::members`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|m| m.name == name)
    }

    /// The first member of that name.
    pub fn find(&self, name: &str) -> Option<&Member<'a>> {
        self.position(name).map(|i| &self.members[i])
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes before the first member, as a self-executing jar has them.
    pub fn prefix(&self) -> &'a [u8] {
        let end = self.members.first().map_or(self.directory, |m| m.offset);
        &self.bytes[..end]
    }

    /// Where the directory begins in the file.
    pub fn directory_offset(&self) -> usize {
        self.directory
    }

    /// Places in [`Archive::members`] in the order of the directory.
    pub(super) fn directory_order(&self) -> impl Iterator<Item = usize> {
        let order = self.directory_order.as_deref();
        (0..self.members.len()).map(move |i| order.map_or(i, |order| order[i] as usize))
    }

    /// Where a member ends: with the bytes up to the next one, which are its data descriptor and
    /// padding; the last one with its descriptor.
    pub(super) fn member_end(&self, i: usize) -> usize {
        match self.members.get(i + 1) {
            Some(next) => next.offset,
            None => {
                let member = &self.members[i];
                let end = member.data_end();
                end + member.descriptor_len(&self.bytes[end..self.directory])
            }
        }
    }

    pub(super) fn is_aligned(&self) -> bool {
        self.aligned
    }

    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// The zip64 end record, where there is one, and the end record.
    pub(super) fn end_records(&self) -> (Option<&'a [u8]>, &'a [u8]) {
        (self.end64, self.end)
    }
}

/// The end record of an archive without members.
static EMPTY_END: [u8; END_LEN] = {
    let mut end = [0; END_LEN];
    let mut i = 0;
    while i < END.len() {
        end[i] = END[i];
        i += 1;
    }
    end
};

/// Where a part of `bytes` begins in it.
fn offset_in(bytes: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - bytes.as_ptr() as usize
}

/// Where the end record begins whose comment ends with the bytes (APPNOTE 4.3.16): the last of them, as the JDK and unzip
/// choose.
fn whole_end(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().saturating_sub(END_LEN + usize::from(u16::MAX));
    let ends_with_bytes = |at: &usize| {
        let record = &bytes[tail + at..];
        record.len() >= END_LEN && END_LEN + usize::from(u16_at(record, 20)) == record.len()
    };
    let found = memchr::memmem::rfind_iter(&bytes[tail..], END).find(ends_with_bytes)?;
    Some(tail + found)
}

/// What rawzip reads. It takes the last signature for the end record, so where the comment has that signature in it, it gets a copy
/// without the comment.
fn located(bytes: &[u8], start: usize) -> Cow<'_, [u8]> {
    let Some(end) = whole_end(bytes).filter(|&end| end >= start) else {
        return Cow::Borrowed(&bytes[start..]);
    };
    let comment = end + END_LEN;
    // A signature that begins in the record itself counts, too: the comment's length can be its first bytes.
    if memchr::memmem::rfind(&bytes[end + 1..], END).is_none() {
        return Cow::Borrowed(&bytes[start..]);
    }
    let mut copy = bytes[start..comment].to_vec();
    let length = copy.len() - 2;
    copy[length..].fill(0);
    Cow::Owned(copy)
}

/// The locator of a zip64 end record just before the end record.
fn locator(bytes: &[u8], end_at: usize) -> Option<(usize, &[u8])> {
    let at = end_at.checked_sub(LOCATOR_LEN)?;
    let locator = &bytes[at..end_at];
    locator.starts_with(LOCATOR).then_some((at, locator))
}

/// The zip64 end record, up to its locator, where offsets count from `start`.
fn end64(bytes: &[u8], start: usize, end_at: usize) -> Option<&[u8]> {
    let (locator_at, locator) = locator(bytes, end_at)?;
    let at = start.checked_add(usize::try_from(u64_at(locator, 8)).ok()?)?;
    let record = bytes.get(at..locator_at)?;
    (record.starts_with(END64) && record.len() >= END64_LEN).then_some(record)
}

/// How far a zip64 end record lies behind where its locator says.
fn zip64_prefix(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().saturating_sub(END_LEN + usize::from(u16::MAX));
    let last = || Some(tail + memchr::memmem::rfind(&bytes[tail..], END)?);
    let (locator_at, locator) = locator(bytes, whole_end(bytes).or_else(last)?)?;
    let at = locator_at.checked_sub(END64_LEN)?;
    let declared = usize::try_from(u64_at(locator, 8)).ok()?;
    let base = at.checked_sub(declared)?;
    (base > 0 && bytes[at..].starts_with(END64)).then_some(base)
}

impl<'a> Member<'a> {
    /// The name, with `/` between folders; a folder's own entry ends in `/`. What is not UTF-8 is
    /// replaced by U+FFFD.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn raw_name(&self) -> &'a [u8] {
        &self.central[CENTRAL_LEN..CENTRAL_LEN + usize::from(u16_at(self.central, 28))]
    }

    /// Whether this is a folder's own entry.
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }

    /// Length of the unpacked data as the directory says.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The packed data.
    pub fn packed(&self) -> &'a [u8] {
        self.data
    }

    /// CRC-32 of the unpacked data as the directory says.
    pub fn crc32(&self) -> u32 {
        u32_at(self.central, 16)
    }

    /// How the data is packed.
    pub fn method(&self) -> Method {
        Method::from_id(u16_at(self.central, 10))
    }

    /// Whether the data is encrypted: it can be copied but not read.
    pub fn is_encrypted(&self) -> bool {
        u16_at(self.central, 8) & FLAG_ENCRYPTED != 0
    }

    /// Where the local header begins in the file.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Where the packed data begins in the file.
    pub fn data_offset(&self) -> usize {
        self.offset + self.local.len()
    }

    /// The unpacked data where it needs no unpacking (stored), checked against its CRC-32.
    pub fn stored(&self) -> Option<Result<&'a [u8]>> {
        (self.method() == Method::Stored).then(|| {
            self.check_readable()?;
            if self.size != self.data.len() as u64 {
                return Err(self.bad(format!(
                    "stored in {} bytes, but {} in size",
                    self.data.len(),
                    self.size
                )));
            }
            self.check_crc(self.data)?;
            Ok(self.data)
        })
    }

    /// Unpacks into `out` (replacing what it holds) and checks length and CRC-32; refuses sizes
    /// above `limit`.
    ///
    /// Offsets in errors are those of the member's data in the zip file.
    pub fn read(&self, codec: &mut Codec, limit: u64, out: &mut Vec<u8>) -> Result<()> {
        self.check_readable()?;
        if self.size > limit {
            return Err(Error::new(
                Kind::Unsupported,
                format!("{} bytes are more than the limit of {limit}", self.size),
            ));
        }
        if let Some(data) = self.stored() {
            out.clear();
            out.extend_from_slice(data?);
            return Ok(());
        }
        let packed = self.data.len() as u64;
        let size = usize::try_from(self.size).ok();
        let Some(size) = size.filter(|_| plausible(packed, self.size)) else {
            return Err(self.bad(format!(
                "{packed} bytes of deflated data cannot hold {} bytes",
                self.size
            )));
        };
        codec
            .inflate(self.data, size, out)
            .map_err(|what| self.bad(format!("its data {what}")))?;
        self.check_crc(out)
    }

    fn check_readable(&self) -> Result<()> {
        let what = match self.method() {
            _ if self.is_encrypted() => "is encrypted".to_owned(),
            Method::Other(id) => format!("is packed by method {id}, which is not supported"),
            Method::Stored | Method::Deflated => return Ok(()),
        };
        Err(Error::new(Kind::Unsupported, what))
    }

    fn check_crc(&self, data: &[u8]) -> Result<()> {
        let (found, declared) = (libdeflater::crc32(data), self.crc32());
        if found == declared {
            return Ok(());
        }
        Err(self.bad(format!(
            "CRC-32 is {found:#010x}, the directory says {declared:#010x}"
        )))
    }

    #[cold]
    fn bad(&self, what: String) -> Error {
        Error::malformed(self.data_offset(), what)
    }

    fn data_end(&self) -> usize {
        self.data_offset() + self.data.len()
    }

    /// The local header with name and extra field.
    pub(super) fn local(&self) -> &'a [u8] {
        self.local
    }

    pub(super) fn local_extra(&self) -> &'a [u8] {
        &self.local[LOCAL_LEN + usize::from(u16_at(self.local, 26))..]
    }

    /// The directory record.
    pub(super) fn central(&self) -> &'a [u8] {
        self.central
    }

    /// Length of the data descriptor at the start of `after`: with or without signature, with
    /// 32-bit or 64-bit sizes (APPNOTE 4.3.9); 0 if there is none that fits the directory.
    fn descriptor_len(&self, after: &[u8]) -> usize {
        if (u16_at(self.local, 6) | u16_at(self.central, 8)) & FLAG_DESCRIPTOR == 0 {
            return 0;
        }
        let (packed, size) = (self.data.len() as u64, self.size);
        for signature in [&DESCRIPTOR[..], &[]] {
            let Some(rest) = after.strip_prefix(signature) else {
                continue;
            };
            let crc_fits = rest.len() >= 12 && u32_at(rest, 0) == self.crc32();
            if crc_fits
                && u64::from(u32_at(rest, 4)) == packed
                && u64::from(u32_at(rest, 8)) == size
            {
                return signature.len() + 12;
            }
            if crc_fits && rest.len() >= 20 && u64_at(rest, 4) == packed && u64_at(rest, 12) == size
            {
                return signature.len() + 20;
            }
        }
        0
    }
}

/// What `zipalign` aligns every stored member to.
pub(super) const WORD: usize = 4;

/// Whether an archive was aligned on purpose: all its stored data is.
pub(super) fn is_aligned(members: &[Member<'_>]) -> bool {
    let mut stored = members
        .iter()
        .filter(|m| m.method() == Method::Stored && m.size() > 0)
        .peekable();
    stored.peek().is_some() && stored.all(|m| m.data_offset() % WORD == 0)
}
