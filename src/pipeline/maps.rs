//! The symbols maps that a file has: it is one, or a woven artifact that carries some.

use crate::cil;
use crate::container::input::Input;
use crate::container::zip::{Archive, Codec};
use crate::error::{Error, Kind, Result};
use crate::pipeline::format::{Format, is_archive_name};
use crate::pipeline::job::artifact_name;
use crate::pipeline::limits::{MAX_DEPTH, MAX_MEMBER};
use crate::symbols::{is_carried_anywhere, is_marker};
use std::path::Path;

/// The maps of a file. A file that is no artifact counts as a map; its reader checks it.
pub fn maps_of(path: &Path) -> Result<Vec<Vec<u8>>> {
    let input = Input::open(path)?;
    let mut maps = Vec::new();
    match Format::of(&input) {
        Format::Zip => {
            let archive = Archive::open(&input);
            archive
                .and_then(|archive| in_archive(&archive, 0, &mut maps))
                .map_err(|e| e.in_artifact(artifact_name(path)))?;
        }
        Format::Pe => {
            let image = cil::Image::parse(&input);
            let image = image.map_err(|e| e.in_artifact(artifact_name(path)))?;
            maps.extend(image.symbols().map(<[u8]>::to_vec));
        }
        Format::Class | Format::Dex => {}
        Format::Other => return Ok(vec![input.to_vec()]),
    }
    if maps.is_empty() {
        let what = "it carries no symbols map: name the .wsym that was written beside it";
        return Err(Error::new(Kind::Malformed, what).in_artifact(artifact_name(path)));
    }
    Ok(maps)
}

fn in_archive(archive: &Archive<'_>, depth: usize, maps: &mut Vec<Vec<u8>>) -> Result<()> {
    let mut codec = Codec::new();
    for member in archive.members() {
        let name = member.name();
        let is_map = is_carried_anywhere(name);
        let is_archive = depth < MAX_DEPTH && is_archive_name(name);
        if !(is_map || is_archive) || member.size() > MAX_MEMBER {
            continue;
        }
        let mut bytes = Vec::new();
        let read = member.read(&mut codec, member.size(), &mut bytes);
        read.map_err(|e| e.in_member(name))?;
        if is_map {
            maps.extend((!is_marker(&bytes)).then_some(bytes));
        } else if Archive::is_zip(&bytes) {
            let inner = Archive::open(&bytes);
            let inner = inner.and_then(|inner| in_archive(&inner, depth + 1, maps));
            inner.map_err(|e| e.in_member(name))?;
        }
    }
    Ok(())
}
