//! Ids that a weave adds to a dex's tables, and where that moves the others.
//!
//! Every table stays sorted, as the format demands: strings by UTF-16 code units, types by string,
//! protos by return type and parameters, methods by class, name and proto. New ids go in between, so old
//! ones keep their order among themselves: whatever is sorted by index stays so when it is renumbered.

use crate::dex::file::{File, u16_at, u32_at};
use crate::dex::remap::Remap;
use crate::error::{Error, Result};
use std::cmp::Ordering;
use std::ops::Range;

/// A method that code is to call.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'w> {
    /// Descriptor of its class.
    pub class: &'w [u8],
    pub name: &'w [u8],
    pub parameters: &'w [&'w [u8]],
    pub returns: &'w [u8],
}

/// A table's new rows, each with the old index that it comes in front of; ascending.
pub(super) type Inserted<T> = Vec<(u32, T)>;

/// A proto to be added, in new indices.
pub(super) struct NewProto {
    pub shorty: u32,
    pub returns: u32,
    pub parameters: Vec<u32>,
}

/// A class to be added, in new indices. It comes behind all others.
pub(super) struct NewClass {
    pub ty: u32,
    pub access: u32,
    pub superclass: u32,
    /// Its direct methods, ascending: index, access flags, where in `code` their code lies.
    pub methods: Vec<(u32, u32, u32)>,
    /// Their code items, each at a multiple of four bytes.
    pub code: Vec<u8>,
}

/// What is added to a dex's tables.
pub(super) struct Ids {
    pub remap: Remap,
    pub strings: Inserted<Vec<u8>>,
    /// An old string, by its old index, that gets another text; it keeps its place among the others.
    pub changed: Option<(u32, Vec<u8>)>,
    /// New string indices.
    pub types: Inserted<u32>,
    pub protos: Inserted<NewProto>,
    /// Class, proto, name.
    pub methods: Inserted<(u32, u32, u32)>,
    pub class: Option<NewClass>,
}

impl Ids {
    /// Nothing is added.
    pub fn none(file: &File<'_>) -> Ids {
        let count = |rows: usize| rows as u32;
        Ids {
            remap: Remap::identity([
                count(file.strings.len()),
                count(file.types.len()),
                count(file.protos.len()),
                count(file.fields.len()),
                count(file.methods.len()),
            ]),
            strings: Vec::new(),
            changed: None,
            types: Vec::new(),
            protos: Vec::new(),
            methods: Vec::new(),
            class: None,
        }
    }
}

/// The index of a string.
pub(super) fn find_string(file: &File<'_>, text: &[u8]) -> Result<Option<u32>> {
    let found = search(file.strings.len(), |i| {
        Ok(compare_strings(file.string(i)?, text))
    })?;
    Ok(found.ok())
}

/// The index of a type, by its descriptor.
pub(super) fn find_type(file: &File<'_>, descriptor: &[u8]) -> Result<Option<u32>> {
    let found = search(file.types.len(), |i| {
        Ok(compare_strings(file.descriptor(i)?, descriptor))
    })?;
    Ok(found.ok())
}

/// The indices of the methods of some classes, which lie together since methods are sorted by class.
pub(super) fn methods_of(file: &File<'_>, classes: Range<u32>) -> Range<u32> {
    let from = |class| {
        file.methods
            .partition_point(|row| u32::from(u16_at(row, 0)) < class) as u32
    };
    from(classes.start)..from(classes.end)
}

/// The new index for an old one that was read at an offset.
#[inline]
pub(super) fn new_index(table: &[u32], old: u32, at: usize) -> Result<u32> {
    match table.get(old as usize) {
        Some(&new) => Ok(new),
        None => Err(beyond(table, old, at)),
    }
}

#[cold]
fn beyond(table: &[u32], old: u32, at: usize) -> Error {
    Error::malformed(at, format!("index {old} of a table of {}", table.len()))
}

/// Orders modified UTF-8 by UTF-16 code units: by its bytes, but that NUL (`C0 80`) comes first.
pub(super) fn compare_strings(a: &[u8], b: &[u8]) -> Ordering {
    // Neighbours in a sorted table have long fronts in common.
    let (words, others) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let words = words.iter().zip(others).take_while(|(a, b)| a == b);
    let common = 8 * words.count();
    let mut rest = a[common..].iter().zip(&b[common..]);
    match rest.position(|(a, b)| a != b).map(|i| common + i) {
        None => a.len().cmp(&b.len()),
        Some(i) => match (a[i], b[i]) {
            (0xc0, _) => Ordering::Less,
            (_, 0xc0) => Ordering::Greater,
            (a, b) => a.cmp(&b),
        },
    }
}

/// Where in a sorted table of `count` rows something belongs, and whether it is there already.
pub(super) fn search(
    count: usize,
    mut compare: impl FnMut(u32) -> Result<Ordering>,
) -> Result<Result<u32, u32>> {
    let (mut low, mut high) = (0, count as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle)? {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(Ok(middle)),
            Ordering::Greater => high = middle,
        }
    }
    Ok(Err(low))
}

/// New indices for a table of `count` rows into which rows come.
fn shifted<T>(count: usize, inserted: &[(u32, T)]) -> Vec<u32> {
    let mut new = Vec::with_capacity(count);
    let mut from = 0;
    for (k, to) in inserted
        .iter()
        .map(|&(at, _)| at)
        .chain([count as u32])
        .enumerate()
    {
        new.extend((from..to).map(|i| i + k as u32));
        from = to;
    }
    new
}

/// Adds rows to a table; `find` gives an existing index or the place for a new row.
struct Table<T> {
    count: usize,
    inserted: Inserted<T>,
    remap: Vec<u32>,
}

impl<T> Table<T> {
    fn seal(count: usize, mut inserted: Inserted<T>, order: impl Fn(&T, &T) -> Ordering) -> Self {
        inserted.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| order(&a.1, &b.1)));
        inserted.dedup_by(|a, b| a.0 == b.0 && order(&a.1, &b.1).is_eq());
        Table {
            count,
            remap: shifted(count, &inserted),
            inserted,
        }
    }

    /// The new index of an old row, or of the new one that belongs at a place.
    fn index(&self, found: Result<u32, u32>, compare: impl Fn(&T) -> Ordering) -> u32 {
        match found {
            Ok(old) => self.remap[old as usize],
            Err(_) => {
                let k = self.inserted.binary_search_by(|(_, row)| compare(row));
                let k = k.expect("what was not found was inserted");
                self.inserted[k].0 + k as u32
            }
        }
    }

    fn len(&self) -> usize {
        self.count + self.inserted.len()
    }
}

/// The new tables, and where in them is what was wanted.
pub(super) struct Added {
    pub ids: Ids,
    /// New indices of the wanted methods.
    pub methods: Vec<u32>,
    /// New indices of their classes.
    pub classes: Vec<u32>,
    /// New indices of the wanted strings.
    pub strings: Vec<u32>,
}

/// Adds methods, and strings by themselves, to the tables of a dex. `None` where a table would exceed what 16-bit
/// indices reach; strings have no such limit.
pub(super) fn add(
    file: &File<'_>,
    wanted: &[Wanted<'_>],
    wanted_strings: &[Vec<u8>],
) -> Result<Option<Added>> {
    let shorty = |w: &Wanted<'_>| -> Vec<u8> {
        let letter = |d: &[u8]| match d[0] {
            b'[' => b'L',
            letter => letter,
        };
        [w.returns]
            .iter()
            .chain(w.parameters)
            .map(|d| letter(d))
            .collect()
    };
    let find_string = |text: &[u8]| {
        search(file.strings.len(), |i| {
            Ok(compare_strings(file.string(i)?, text))
        })
    };
    let mut new = Vec::new();
    for w in wanted {
        let shorty = shorty(w);
        let texts = [w.class, w.name, w.returns, &shorty];
        for text in texts.iter().chain(w.parameters) {
            if let Err(at) = find_string(text)? {
                new.push((at, text.to_vec()));
            }
        }
    }
    for text in wanted_strings {
        if let Err(at) = find_string(text)? {
            new.push((at, text.clone()));
        }
    }
    let strings = Table::seal(file.strings.len(), new, |a: &Vec<u8>, b| {
        compare_strings(a, b)
    });
    let string = |text: &[u8]| -> Result<u32> {
        let found = find_string(text)?;
        Ok(strings.index(found, |s| compare_strings(s, text)))
    };

    let find_type = |name: u32| {
        search(file.types.len(), |i| {
            let row = u32_at(&file.types[i as usize], 0);
            Ok(new_index(&strings.remap, row, file.start)?.cmp(&name))
        })
    };
    let mut new = Vec::new();
    for w in wanted {
        for text in [w.class, w.returns].iter().chain(w.parameters) {
            let name = string(text)?;
            if let Err(at) = find_type(name)? {
                new.push((at, name));
            }
        }
    }
    let types = Table::seal(file.types.len(), new, u32::cmp);
    let ty = |text: &[u8]| -> Result<u32> {
        let name = string(text)?;
        Ok(types.index(find_type(name)?, |n| n.cmp(&name)))
    };

    let find_proto = |returns: u32, parameters: &[u32]| {
        search(file.protos.len(), |i| {
            let (_, r, list) = file.proto(i)?;
            let by_return = new_index(&types.remap, r, file.start)?.cmp(&returns);
            if by_return.is_ne() {
                return Ok(by_return);
            }
            let mut ours = parameters.iter();
            for row in file.type_list(list)? {
                let old = u32::from(u16_at(row, 0));
                match ours.next() {
                    None => return Ok(Ordering::Greater),
                    Some(our) => match new_index(&types.remap, old, list as usize)?.cmp(our) {
                        Ordering::Equal => {}
                        unequal => return Ok(unequal),
                    },
                }
            }
            Ok(match ours.next() {
                Some(_) => Ordering::Less,
                None => Ordering::Equal,
            })
        })
    };
    let mut new = Vec::new();
    let mut found_protos = Vec::new();
    for w in wanted {
        let returns = ty(w.returns)?;
        let parameters = w
            .parameters
            .iter()
            .map(|p| ty(p))
            .collect::<Result<Vec<_>>>()?;
        let found = find_proto(returns, &parameters)?;
        if let Err(at) = found {
            let shorty = string(&shorty(w))?;
            new.push((
                at,
                NewProto {
                    shorty,
                    returns,
                    parameters: parameters.clone(),
                },
            ));
        }
        found_protos.push((found, returns, parameters));
    }
    let protos = Table::seal(file.protos.len(), new, |a: &NewProto, b| {
        (a.returns, &a.parameters).cmp(&(b.returns, &b.parameters))
    });

    let mut new = Vec::new();
    let mut found_methods = Vec::new();
    for (w, (found, returns, parameters)) in wanted.iter().zip(found_protos) {
        let proto = protos.index(found, |p| {
            (p.returns, &p.parameters).cmp(&(returns, &parameters))
        });
        let row = (ty(w.class)?, proto, string(w.name)?);
        let found = search(file.methods.len(), |i| {
            let (class, proto, name) = file.method(i)?;
            Ok(new_index(&types.remap, class, file.start)?
                .cmp(&row.0)
                .then(new_index(&strings.remap, name, file.start)?.cmp(&row.2))
                .then(new_index(&protos.remap, proto, file.start)?.cmp(&row.1)))
        })?;
        if let Err(at) = found {
            new.push((at, row));
        }
        found_methods.push((found, row));
    }
    let methods = Table::seal(file.methods.len(), new, |a: &(u32, u32, u32), b| {
        (a.0, a.2, a.1).cmp(&(b.0, b.2, b.1))
    });
    // `type_ids` and `proto_ids` are limited by the header, `method_ids` by what an invoke can name.
    if types.len() > 0xffff || protos.len() > 0xffff || methods.len() > 0x1_0000 {
        return Ok(None);
    }
    let classes = found_methods.iter().map(|(_, row)| row.0).collect();
    let new_methods = found_methods
        .into_iter()
        .map(|(found, row)| methods.index(found, |r| (r.0, r.2, r.1).cmp(&(row.0, row.2, row.1))))
        .collect();
    let new_strings = wanted_strings
        .iter()
        .map(|text| string(text))
        .collect::<Result<_>>()?;
    let ids = Ids {
        remap: Remap {
            strings: strings.remap,
            types: types.remap,
            protos: protos.remap,
            fields: (0..file.fields.len() as u32).collect(),
            methods: methods.remap,
        },
        strings: strings.inserted,
        changed: None,
        types: types.inserted,
        protos: protos.inserted,
        methods: methods.inserted,
        class: None,
    };
    Ok(Some(Added {
        ids,
        methods: new_methods,
        classes,
        strings: new_strings,
    }))
}
