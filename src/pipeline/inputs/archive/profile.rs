//! The baseline profile of an apk whose dex files changed.

use crate::container::apk::profile::{self, Change};
use crate::dex::{Dex, ProfileRemap};
use crate::error::{Error, Kind, Result};

/// A dex file that changed.
pub(crate) struct Renumbered {
    member: String,
    checksum: u32,
    /// `None`: it is unknown which new number an old one became.
    numbers: Option<ProfileRemap>,
}

impl Renumbered {
    /// Compares the old file with the new one.
    pub(crate) fn of(member: &str, old: &[u8], new: &[u8]) -> Renumbered {
        let between = || ProfileRemap::between(&Dex::parse(old)?, &Dex::parse(new)?);
        Renumbered {
            member: member.to_owned(),
            checksum: libdeflater::crc32(new),
            numbers: between().ok().flatten(),
        }
    }
}

/// A profile, or its metadata, for the dex files that changed of those in a folder.
pub(crate) fn renumber(bytes: &[u8], renumbered: &[Renumbered], folder: &str) -> Result<Vec<u8>> {
    let mut changes = Vec::with_capacity(renumbered.len());
    for dex in renumbered {
        let Some(name) = dex.member.strip_prefix(folder).filter(|n| !n.contains('/')) else {
            continue;
        };
        let Some(numbers) = &dex.numbers else {
            let what = format!("the profile cannot be kept for {name}");
            return Err(Error::new(Kind::Unsupported, what));
        };
        changes.push(Change {
            name,
            checksum: dex.checksum,
            types: &numbers.types,
            type_count: numbers.type_count,
            methods: &numbers.methods,
            method_count: numbers.method_count,
        });
    }
    profile::renumber(bytes, &changes)
}
