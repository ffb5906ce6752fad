//! The new indices of types and methods, found by comparing two files, for profiles of the old one.

use crate::dex::format::file::Dex;
use crate::dex::format::file::File;
use crate::error::Result;

/// New indices by old ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProfileRemap {
    /// Of `type_ids`.
    pub types: Vec<u32>,
    /// How many types there are now.
    pub type_count: u32,
    /// Of `method_ids`.
    pub methods: Vec<u32>,
    /// How many methods there are now.
    pub method_count: u32,
}

impl ProfileRemap {
    /// Compares a dex file with its woven form. `None`: the new file lacks ids of the old one, or one is a container of
    /// several, which profiles do not know.
    pub fn between(old: &Dex<'_>, new: &Dex<'_>) -> Result<Option<ProfileRemap>> {
        let ([old], [new]) = (&old.files[..], &new.files[..]) else {
            return Ok(None);
        };
        let Some(types) = merge(old.types.len(), new.types.len(), |a, b| {
            Ok(old.descriptor(a)? == new.descriptor(b)?)
        })?
        else {
            return Ok(None);
        };
        let Some(protos) = merge(old.protos.len(), new.protos.len(), |a, b| {
            same_proto(old, a, new, b, &types)
        })?
        else {
            return Ok(None);
        };
        let methods = merge(old.methods.len(), new.methods.len(), |a, b| {
            let (a, b) = (old.method(a)?, new.method(b)?);
            Ok(types.get(a.class as usize) == Some(&b.class)
                && protos.get(a.proto as usize) == Some(&b.proto)
                && old.string(a.name)? == new.string(b.name)?)
        })?;
        Ok(methods.map(|methods| ProfileRemap {
            type_count: new.types.len() as u32,
            types,
            method_count: new.methods.len() as u32,
            methods,
        }))
    }
}

/// The new indices of a table's rows in one with more rows in the same order.
fn merge(
    old: usize,
    new: usize,
    same: impl Fn(u32, u32) -> Result<bool>,
) -> Result<Option<Vec<u32>>> {
    let mut at = 0..new as u32;
    let mut map = Vec::with_capacity(old);
    for row in 0..old as u32 {
        loop {
            match at.next() {
                None => return Ok(None),
                Some(candidate) if same(row, candidate)? => {
                    map.push(candidate);
                    break;
                }
                Some(_) => {}
            }
        }
    }
    Ok(Some(map))
}

fn same_proto(old: &File<'_>, a: u32, new: &File<'_>, b: u32, types: &[u32]) -> Result<bool> {
    let (a, b) = (old.proto(a)?, new.proto(b)?);
    let same = |a: u32, b: u32| types.get(a as usize) == Some(&b);
    let index = |row: &[u8; 2]| u32::from(u16::from_le_bytes(*row));
    let (old, new) = (old.type_list(a.parameters)?, new.type_list(b.parameters)?);
    Ok(same(a.returns, b.returns)
        && old.len() == new.len()
        && old.iter().zip(new).all(|(a, b)| same(index(a), index(b))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_behind_those_that_were_added() {
        let (old, new) = ([1, 3, 3, 7], [0, 1, 2, 3, 3, 7, 9]);
        let found = |old: &[u8], new: &[u8]| {
            merge(old.len(), new.len(), |a, b| {
                Ok(old[a as usize] == new[b as usize])
            })
            .unwrap()
        };
        assert_eq!(found(&old, &new), Some(vec![1, 3, 4, 5]));
        assert_eq!(found(&old, &old), Some(vec![0, 1, 2, 3]));
        assert_eq!(found(&new, &old), None);
        assert_eq!(found(&[], &new), Some(vec![]));
    }

    #[test]
    fn the_hook_library_is_its_own() {
        let bytes = include_bytes!("../../../runtime/java/weave-runtime.dex");
        let dex = Dex::parse(bytes).unwrap();
        let found = ProfileRemap::between(&dex, &dex).unwrap().unwrap();
        assert_eq!(found.types, (0..found.type_count).collect::<Vec<_>>());
        assert_eq!(found.methods, (0..found.method_count).collect::<Vec<_>>());
    }
}
