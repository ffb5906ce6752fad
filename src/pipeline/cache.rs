//! Results of earlier weaves, by what they were made of (`--cache DIR`).
//!
//! An entry is one archive or assembly woven: its bytes, those of the symbols file beside it, and what the ledger noted of
//! it. Its name is the SHA-256 of everything that the result follows from: the program, the rules, the options, the
//! artifact. Ids depend on the artifacts before it, too: so an entry has the journal of its claims, and counts only where
//! these come out the same.
//!
//! Entries are written beside their place and renamed, and never change: any number of processes may use a cache, and
//! whatever is killed leaves whole entries. The oldest go when there are too many.

use crate::aspect::pointcut::{Hierarchy, Matched};
use crate::container::input::Input;
use crate::container::stage::Staged;
use crate::error::{Error, Kind, Result};
use crate::pipeline::ledger::Recorded;
use crate::pipeline::ledger::ids::{CallKey, Claim};
use crate::pipeline::outcome::Outcome;
use crate::pipeline::own::{Needs, Own};
use crate::pipeline::publish::staged_folder::remove_stale;
use crate::symbols;
use ring::digest::{self, SHA256};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// What an entry begins with; a number for its layout.
const MAGIC: &[u8; 8] = b"weave\0c5";
/// What an entry's name ends with.
const SUFFIX: &str = ".woven";

/// A folder with results of earlier weaves.
pub struct Cache {
    dir: PathBuf,
    trust: Trust,
    limit: u64,
    /// Of the program and the rules.
    base: [u8; 32],
    stored: AtomicBool,
}

/// Whose entries count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// What this user alone, or root, can have written. Entries are the user's alone.
    Own,
    /// Whatever lies in the folder.
    All,
}

/// What an entry says beside its bytes.
#[derive(Serialize, Deserialize)]
struct Header {
    outcome: Outcome,
    matched: Matched,
    needs_library: bool,
    needs: Needs,
    maps: Vec<u64>,
    /// Words of the journal.
    claims: u64,
    /// Length of the woven artifact; none where nothing changed.
    artifact: Option<u64>,
    /// Length of its symbols file, which comes first; none if it has none.
    beside: Option<u64>,
}

/// An entry, checked.
pub(crate) struct Entry {
    pub(crate) recorded: Box<Recorded>,
    file: Input,
    artifact: Option<Range<usize>>,
    beside: Option<Range<usize>>,
}

impl Cache {
    /// Opens or makes a cache of at most `limit` bytes. `rules` is all that the rules consist of.
    pub fn open(dir: &Path, trust: Trust, limit: u64, rules: &[&[u8]]) -> Result<Cache> {
        let failed = |e| Error::io("create the cache", dir, e);
        make_folder(dir, trust).map_err(failed)?;
        if trust == Trust::Own && others_can_write(&fs::metadata(dir).map_err(failed)?) {
            return Err(Error::usage(format!(
                "another user can write to the cache {}, and so change the output: use a folder of your own (chmod go-w), \
                 or accept that with --cache-trust",
                dir.display()
            )));
        }
        let mut context = digest::Context::new(&SHA256);
        context.update(MAGIC);
        context.update(&program()?.to_le_bytes());
        for part in rules {
            update(&mut context, part);
        }
        Ok(Cache {
            dir: dir.to_owned(),
            trust,
            limit,
            base: hash(context),
            stored: AtomicBool::new(false),
        })
    }

    /// The name of an entry. `parts` is all that the result follows from but the program and the rules.
    pub(crate) fn key(&self, parts: &[&[u8]]) -> String {
        let mut context = digest::Context::new(&SHA256);
        context.update(&self.base);
        for part in parts {
            update(&mut context, part);
        }
        hash(context).iter().map(|b| format!("{b:02x}")).collect()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}{SUFFIX}"))
    }

    /// The entry of this name. One that is damaged or not to be trusted goes, and so does a link, which a new entry would be written
    /// through.
    pub(crate) fn load(&self, key: &str) -> Option<Entry> {
        let path = self.path(key);
        let there = fs::symlink_metadata(&path).ok()?;
        let is_trusted = self.trust == Trust::All || !others_can_write(&there);
        let entry = match there.is_file() && is_trusted {
            true => Input::open(&path).ok().and_then(Entry::parse),
            false => None,
        };
        match &entry {
            // The time says when it was last of use.
            Some(_) => {
                let touched = File::options().write(true).open(&path);
                let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
            }
            None => {
                let _ = fs::remove_file(&path);
            }
        }
        entry
    }

    pub(crate) fn store(
        &self,
        key: &str,
        recorded: &Recorded,
        artifact: Option<&[u8]>,
        beside: Option<&[u8]>,
    ) -> Result<()> {
        let claims = words(&recorded.claims);
        let header = Header {
            outcome: recorded.outcome.clone(),
            matched: recorded.matched.clone(),
            needs_library: recorded.needs_library,
            needs: recorded.needs.clone(),
            maps: recorded.maps.iter().map(|map| map.len() as u64).collect(),
            claims: claims.len() as u64,
            artifact: artifact.map(|bytes| bytes.len() as u64),
            beside: beside.map(|bytes| bytes.len() as u64),
        };
        let header = serde_json::to_vec(&header)
            .map_err(|e| Error::new(Kind::Unsupported, format!("the cache: {e}")))?;
        let claims: Vec<u8> = claims.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = (header.len() as u64).to_le_bytes();
        let mut parts: Vec<&[u8]> = vec![&length, &header, &claims];
        parts.extend(recorded.maps.iter().map(|map| map.as_slice()));
        parts.extend(beside);
        parts.extend(artifact);
        let mut sum = Xxh3::new();
        parts.iter().for_each(|part| sum.update(part));
        let path = self.path(key);
        let mut staged = match self.trust {
            Trust::Own => Staged::private(&path)?,
            Trust::All => Staged::own(&path, &[], None)?,
        };
        staged.put(MAGIC)?;
        staged.put(&sum.digest128().to_le_bytes())?;
        parts.iter().try_for_each(|part| staged.put(part))?;
        staged.commit()?;
        self.stored.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the entries that were of no use for the longest time, until the rest is within the limit.
    pub(crate) fn trim(&self) {
        if !self.stored.load(Ordering::Relaxed) {
            return;
        }
        remove_stale(&self.dir.join("entry"));
        let mut entries: Vec<(SystemTime, PathBuf, u64)> = (fs::read_dir(&self.dir).into_iter())
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_entry))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, entry.path(), metadata.len()))
            })
            .collect();
        let mut total: u64 = entries.iter().map(|(.., size)| size).sum();
        entries.sort();
        for (_, path, size) in entries {
            if total <= self.limit {
                break;
            }
            // Another process may have been quicker.
            let _ = fs::remove_file(path);
            total -= size;
        }
    }
}

/// Makes the folder, which only this user can look into unless all are trusted.
fn make_folder(dir: &Path, trust: Trust) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if trust == Trust::Own {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = trust;
    builder.create(dir)
}

/// Whether somebody else than this user and root can have written a file, or into a folder. On systems without owners and modes: no.
#[cfg(unix)]
fn others_can_write(there: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: the call takes nothing and always succeeds.
    let user = unsafe { libc::geteuid() };
    let is_ours = there.uid() == user || there.uid() == 0;
    !is_ours || there.mode() & 0o022 != 0
}

#[cfg(not(unix))]
fn others_can_write(_: &fs::Metadata) -> bool {
    false
}

/// Whether a file's name is that of an entry.
fn is_entry(name: &str) -> bool {
    name.strip_suffix(SUFFIX)
        .is_some_and(|key| key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A hash that differs between builds of this program.
fn program() -> Result<u128> {
    let path = std::env::current_exe()
        .map_err(|e| Error::io("find", Path::new("the program itself"), e))?;
    if let Ok(bytes) = Input::open(&path) {
        return Ok(xxh3_128(&bytes));
    }
    // A program may run without being readable.
    let metadata = fs::metadata(&path).map_err(|e| Error::io("look at", &path, e))?;
    let version = env!("CARGO_PKG_VERSION");
    let build = format!(
        "{version} {} {:?}",
        metadata.len(),
        metadata.modified().ok()
    );
    Ok(xxh3_128(build.as_bytes()))
}

fn hash(context: digest::Context) -> [u8; 32] {
    context.finish().as_ref().try_into().expect("32 bytes")
}

/// Adds a part in such a way that parts cannot be mistaken for others.
fn update(context: &mut digest::Context, part: &[u8]) {
    context.update(&(part.len() as u64).to_le_bytes());
    context.update(part);
}

/// A digest of all supertypes, where rules ask for them, and of own hooks.
pub(crate) fn types(hierarchy: &Hierarchy, own: Option<&Own<'_>>) -> Vec<u8> {
    let mut all: Vec<_> = hierarchy.supertypes.iter().collect();
    all.sort_unstable();
    let mut context = digest::Context::new(&SHA256);
    for (name, supertypes) in all {
        update(&mut context, name.as_bytes());
        context.update(&(supertypes.len() as u64).to_le_bytes());
        supertypes
            .iter()
            .for_each(|s| update(&mut context, s.as_bytes()));
    }
    for (name, by_ref_like) in hierarchy.structs.all() {
        update(&mut context, name.as_bytes());
        update(&mut context, &[by_ref_like.into()]);
    }
    for name in hierarchy.structs.all_hidden() {
        update(&mut context, name.as_bytes());
    }
    for name in &hierarchy.defined_hidden {
        update(&mut context, name.as_bytes());
    }
    if let Some(own) = own {
        own.digest(&mut |part| update(&mut context, part));
    }
    hash(context).to_vec()
}

/// In the count of bases: these are those of a call.
const OF_CALL: u32 = 1 << 31;

/// A journal as numbers: how many bases (none: reserved), the bases, how many ids, the ids. Of a call its key in place of ids.
fn words(claims: &[Claim]) -> Vec<u32> {
    let mut words = Vec::new();
    for claim in claims {
        let (of, bases, ids): (u32, &[u32], &[u32]) = match claim {
            Claim::Reserved(ids) => (0, &[], ids),
            Claim::Taken { bases, ids } => (0, bases, ids),
            Claim::Call { call, bases } => (OF_CALL, bases, call),
        };
        words.push(bases.len() as u32 | of);
        words.extend(bases);
        words.push(ids.len() as u32);
        words.extend(ids);
    }
    words
}

fn claims(bytes: &[u8]) -> Option<Vec<Claim>> {
    let mut words = bytes
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes(w.try_into().expect("four")));
    let mut claims = Vec::new();
    while let Some(count) = words.next() {
        let bases = (count & !OF_CALL) as usize;
        let bases: Vec<u32> = words.by_ref().take(bases).collect();
        let ids = words.next()? as usize;
        let ids: Vec<u32> = words.by_ref().take(ids).collect();
        claims.push(match bases.is_empty() {
            _ if count & OF_CALL != 0 => Claim::Call {
                call: CallKey::try_from(ids).ok()?,
                bases,
            },
            true => Claim::Reserved(ids),
            false => Claim::Taken { bases, ids },
        });
    }
    Some(claims)
}

/// The woven artifact.
impl AsRef<[u8]> for Entry {
    fn as_ref(&self) -> &[u8] {
        self.artifact().unwrap_or_default()
    }
}

impl Entry {
    /// The woven artifact, if it changed.
    pub(crate) fn artifact(&self) -> Option<&[u8]> {
        Some(&self.file[self.artifact.clone()?])
    }

    /// The symbols file that goes beside it.
    pub(crate) fn beside(&self) -> Option<&[u8]> {
        Some(&self.file[self.beside.clone()?])
    }

    fn parse(file: Input) -> Option<Entry> {
        let rest = file.strip_prefix(MAGIC)?;
        let (sum, rest) = rest.split_at_checked(16)?;
        if xxh3_128(rest).to_le_bytes() != sum {
            return None;
        }
        let (length, rest) = rest.split_at_checked(8)?;
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let (header, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let header: Header = serde_json::from_slice(header).ok()?;
        let claimed = usize::try_from(header.claims.checked_mul(4)?).ok()?;
        let (claimed, mut rest) = rest.split_at_checked(claimed)?;
        let mut maps = Vec::new();
        for length in header.maps {
            let (map, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            symbols::is_map(map).then_some(())?;
            maps.push(Arc::new(map.to_vec()));
            rest = after;
        }
        let beside = usize::try_from(header.beside.unwrap_or(0)).ok()?;
        let (beside, artifact) = rest.split_at_checked(beside)?;
        if artifact.len() as u64 != header.artifact.unwrap_or(0) {
            return None;
        }
        let at = file.len() - artifact.len();
        let (beside, artifact) = (at - beside.len()..at, at..file.len());
        Some(Entry {
            recorded: Box::new(Recorded {
                outcome: header.outcome,
                claims: claims(claimed)?,
                maps,
                matched: header.matched,
                needs_library: header.needs_library,
                needs: header.needs,
            }),
            artifact: header.artifact.map(|_| artifact),
            beside: header.beside.map(|_| beside),
            file,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::ledger::Ledger;
    use crate::pipeline::ledger::ids::KnownIds;
    use crate::symbols::{Symbols, Writer};

    #[test]
    fn journals_are_read_as_they_were_written() {
        let all = vec![
            Claim::Reserved(vec![]),
            Claim::Taken {
                bases: vec![1, 2],
                ids: vec![1, 4],
            },
            Claim::Reserved(vec![9]),
            Claim::Call {
                call: [5, 6, 7, 8],
                bases: vec![3],
            },
        ];
        let bytes: Vec<u8> = words(&all).iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(claims(&bytes).unwrap(), all);
    }

    #[test]
    fn entries_that_lie_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), Trust::Own, 1 << 20, &[]).unwrap();
        let mut map = Writer::default();
        map.ty("a.B", "B.java");
        map.method(7, "f", "()V", 1);
        let map = Arc::new(map.finish());
        let recorded = Recorded {
            outcome: Outcome::default(),
            matched: Matched::default(),
            claims: vec![Claim::Taken {
                bases: vec![7],
                ids: vec![7],
            }],
            maps: vec![Arc::clone(&map)],
            needs_library: true,
            needs: Needs::default(),
        };
        let key = "a".repeat(64);
        let store = || cache.store(&key, &recorded, Some(b"artifact"), Some(b"symbols"));
        store().unwrap();
        let entry = cache.load(&key).unwrap();
        assert_eq!(entry.artifact(), Some(&b"artifact"[..]));
        assert_eq!(entry.beside(), Some(&b"symbols"[..]));
        assert_eq!(entry.recorded.maps, [map]);
        assert_eq!(entry.recorded.claims, recorded.claims);
        drop(entry);
        let whole = fs::read(cache.path(&key)).unwrap();
        let head = MAGIC.len() + 16;
        let known = KnownIds::new(|_, n| n, Symbols::default());
        // With a sum that fits, so that all that is read of it is looked at.
        let load = |mut bytes: Vec<u8>| {
            let sum = xxh3_128(&bytes[head..]).to_le_bytes();
            bytes[MAGIC.len()..head].copy_from_slice(&sum);
            fs::write(cache.path(&key), bytes).unwrap();
            let entry = cache.load(&key)?;
            let mut ledger = Ledger::new(&known, false, "in".into());
            ledger.replay(&entry.recorded);
            (entry.recorded.maps.iter()).for_each(|map| ledger.add_unit(Arc::clone(map)));
            let _ = (ledger.end_job(), entry.beside());
            Some(entry.artifact().map(<[u8]>::len))
        };
        for at in head..whole.len() {
            let _ = load(whole[..at].to_vec());
            for value in [0, 1, 0x7f, 0xff, b'0', b'9'] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = load(bytes);
            }
        }
        assert_eq!(load(whole.clone()), Some(Some(8)));
    }

    #[test]
    fn only_entries_go_and_the_oldest_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), Trust::Own, 250, &[]).unwrap();
        let name = |n: char| {
            dir.path()
                .join(format!("{}{SUFFIX}", n.to_string().repeat(64)))
        };
        for (n, age) in [('a', 5), ('b', 50), ('c', 20)] {
            let file = File::create(name(n)).unwrap();
            file.set_len(100).unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(age);
            file.set_modified(time).unwrap();
        }
        fs::write(dir.path().join("mine.woven"), vec![0; 1000]).unwrap();
        cache.trim();
        assert!(
            name('b').exists(),
            "nothing was stored: nothing is looked at"
        );
        cache.stored.store(true, Ordering::Relaxed);
        cache.trim();
        assert!(!name('b').exists());
        assert!(name('a').exists() && name('c').exists());
        assert!(dir.path().join("mine.woven").exists());
    }
}
