//! What an image says of its PDB (PE/COFF, "Debug Directory").

use crate::cil::image::{DebugEntry, Image};

/// Kinds of debug directory entries.
pub(super) mod kind {
    pub const CODE_VIEW: u32 = 2;
    pub const EMBEDDED: u32 = 17;
    pub const CHECKSUM: u32 = 19;
}

/// The debug directory's entries with their data.
pub(super) fn entries<'i>(
    image: &'i Image<'_>,
) -> impl Iterator<Item = (DebugEntry, &'i [u8])> + 'i {
    image.debug_entries().map(|entry| {
        let start = entry.raw as usize;
        let data = image.bytes.get(start..).unwrap_or_default();
        let data = data.get(..entry.size as usize).unwrap_or_default();
        (entry, data)
    })
}

/// The id of the PDB that the image asks for.
pub(super) fn code_view_guid<'i>(image: &'i Image<'_>) -> Option<&'i [u8]> {
    entries(image)
        .filter(|(entry, _)| entry.kind == kind::CODE_VIEW)
        .find_map(|(_, data)| data.strip_prefix(b"RSDS")?.get(..16))
}

/// Where the path begins in a CodeView entry: behind `RSDS`, GUID and age. It ends with a zero (PE/COFF, "Debug
/// Type").
pub(super) const CODE_VIEW_PATH: usize = 24;

/// The directory, with its separator, and the file name of a CodeView entry's path.
pub(super) fn code_view_path(data: &[u8]) -> (&[u8], &[u8]) {
    let path = data.get(CODE_VIEW_PATH..).unwrap_or_default();
    let path = path.split(|&b| b == 0).next().unwrap_or_default();
    let separator = path.iter().rposition(|b| b"/\\:".contains(b));
    path.split_at(separator.map_or(0, |at| at + 1))
}

/// The file name of the PDB that the image asks for.
pub(super) fn code_view_name(image: &Image<'_>) -> Option<String> {
    let (_, data) = entries(image)
        .find(|(entry, data)| entry.kind == kind::CODE_VIEW && data.starts_with(b"RSDS"))?;
    let name = std::str::from_utf8(code_view_path(data).1).ok()?;
    (!name.is_empty()).then(|| name.to_owned())
}

impl Image<'_> {
    /// The GUID of the PDB that the image asks for.
    pub fn pdb_guid(&self) -> Option<[u8; 16]> {
        code_view_guid(self).and_then(|guid| guid.try_into().ok())
    }

    /// The file name of the PDB that the image asks for: what CoreCLR looks for beside it.
    pub fn pdb_name(&self) -> Option<String> {
        code_view_name(self)
    }
}
