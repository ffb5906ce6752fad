//! Adds ids to a dex's tables, which gives the old ones new indices.
//!
//! Every table stays sorted, as the format demands: strings by UTF-16 code units, types by string, protos by return type
//! and parameters, methods by class, name and proto. Old ids keep their order, so whatever is sorted by index stays so.

pub(crate) mod class_checksums;
pub(crate) mod numbers;
pub(crate) mod profile_remap;

use crate::bytes::{u16_at, u32_at};
use crate::dex::format::file::{FieldId, File, MethodId, ProtoId};
use crate::dex::format::lookup::{compare_strings, search};
use crate::dex::format::remap::{Remap, new_index};
use crate::error::Result;
use std::cmp::Ordering;

/// A method that woven code calls.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    /// Descriptor of its class.
    pub class: &'w [u8],
    pub name: &'w [u8],
    pub parameters: &'w [&'w [u8]],
    pub returns: &'w [u8],
}

/// A table's new rows, each with the old index in front of which it goes; ascending.
pub(crate) type Inserted<T> = Vec<(u32, T)>;

/// A proto to be added, in new indices.
#[derive(Clone)]
pub(crate) struct NewProto {
    pub shorty: u32,
    pub returns: u32,
    pub parameters: Vec<u32>,
}

impl NewProto {
    fn order(&self, other: &NewProto) -> Ordering {
        (self.returns, &self.parameters).cmp(&(other.returns, &other.parameters))
    }
}

/// A field that a new class has.
#[derive(Clone, Copy)]
pub(crate) struct WantedField<'w> {
    /// Descriptor of its class.
    pub class: &'w [u8],
    pub name: &'w [u8],
    /// Descriptor of its type.
    pub ty: &'w [u8],
}

/// A method of a class.
#[derive(Clone, Copy)]
pub(crate) struct PlacedMethod {
    /// Its index.
    pub id: u32,
    pub access: u32,
    /// Where its code lies.
    pub code: u32,
}

impl PlacedMethod {
    /// The same with its code moved by `start` bytes.
    pub fn behind(self, start: u32) -> PlacedMethod {
        PlacedMethod {
            code: start + self.code,
            ..self
        }
    }
}

/// A method that gets other access flags and code.
pub(crate) struct ChangedMethod {
    /// Its number in the class.
    pub number: u32,
    pub access: u32,
    pub code: u32,
}

/// A field of a class.
pub(crate) struct PlacedField {
    /// Its index.
    pub id: u32,
    pub access: u32,
}

/// A class to be added behind all others, in new indices.
#[derive(Default)]
pub(crate) struct NewClass {
    pub ty: u32,
    pub access: u32,
    pub superclass: u32,
    pub interfaces: Vec<u32>,
    /// Its instance fields, ascending.
    pub fields: Vec<PlacedField>,
    /// Its direct methods, ascending; their code lies in `code`.
    pub methods: Vec<PlacedMethod>,
    /// The same of its virtual ones.
    pub virtuals: Vec<PlacedMethod>,
    /// Their code items, each at a multiple of four bytes.
    pub code: Vec<u8>,
}

/// A static field of type `long`, in new indices.
#[derive(Clone, Copy)]
pub(crate) struct Constant {
    pub field: u32,
    pub access: u32,
    pub value: i64,
}

/// Other members for a class of the file.
#[derive(Default)]
pub(crate) struct NewMembers {
    /// The class's number.
    pub class: u32,
    /// Direct methods to be added, in new indices; their code lies in the code section.
    pub added: Vec<PlacedMethod>,
    /// Ascending; their code lies in the code section.
    pub changed: Vec<ChangedMethod>,
    /// A static field to be added.
    pub constant: Option<Constant>,
}

/// A string, by its old index, and its new text.
pub(crate) struct ChangedString {
    pub index: u32,
    pub text: Vec<u8>,
}

/// Additions to a dex's tables.
pub(crate) struct Ids {
    pub remap: Remap,
    pub strings: Inserted<Vec<u8>>,
    /// An old string that gets another text and keeps its place.
    pub changed: Option<ChangedString>,
    /// New string indices.
    pub types: Inserted<u32>,
    pub protos: Inserted<NewProto>,
    pub fields: Inserted<FieldId>,
    pub methods: Inserted<MethodId>,
    pub classes: Vec<NewClass>,
    /// Ascending by class.
    pub members: Vec<NewMembers>,
}

impl Ids {
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
            fields: Vec::new(),
            methods: Vec::new(),
            classes: Vec::new(),
            members: Vec::new(),
        }
    }
}

/// The new indices of a table's `count` rows.
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

/// Where a row is in an old table (`Ok`), or where it belongs (`Err`).
type Place = std::result::Result<u32, u32>;

/// A sorted table with rows added to it.
struct Table<T, F> {
    /// Finds a row in the old table.
    find: F,
    order: fn(&T, &T) -> Ordering,
    inserted: Inserted<T>,
    remap: Vec<u32>,
}

impl<T, F: Fn(&T) -> Result<Place>> Table<T, F> {
    /// Adds those rows to a table of `count` that it does not have.
    fn add(
        count: usize,
        rows: impl IntoIterator<Item = T>,
        order: fn(&T, &T) -> Ordering,
        find: F,
    ) -> Result<Self> {
        let mut inserted = Vec::new();
        for row in rows {
            if let Err(at) = find(&row)? {
                inserted.push((at, row));
            }
        }
        inserted.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| order(&a.1, &b.1)));
        inserted.dedup_by(|a, b| a.0 == b.0 && order(&a.1, &b.1).is_eq());
        Ok(Table {
            find,
            order,
            remap: shifted(count, &inserted),
            inserted,
        })
    }

    fn index(&self, row: &T) -> Result<u32> {
        Ok(match (self.find)(row)? {
            Ok(old) => self.remap[old as usize],
            Err(_) => {
                let k = (self.inserted).binary_search_by(|(_, other)| (self.order)(other, row));
                let k = k.expect("what was not found was inserted");
                self.inserted[k].0 + k as u32
            }
        })
    }

    fn indices(&self, rows: impl IntoIterator<Item = T>) -> Result<Vec<u32>> {
        rows.into_iter().map(|row| self.index(&row)).collect()
    }

    fn len(&self) -> usize {
        self.remap.len() + self.inserted.len()
    }

    fn into_parts(self) -> (Inserted<T>, Vec<u32>) {
        (self.inserted, self.remap)
    }
}

/// What is wanted of a dex's tables.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wants<'w> {
    pub methods: &'w [Wanted<'w>],
    pub fields: &'w [WantedField<'w>],
    /// Descriptors of types by themselves.
    pub types: &'w [&'w [u8]],
    /// Strings by themselves.
    pub strings: &'w [Vec<u8>],
}

impl<'w> Wants<'w> {
    /// The descriptors of all types that these name.
    fn descriptors(&self) -> impl Iterator<Item = &'w [u8]> + use<'w> {
        (self.methods.iter().flat_map(types_of))
            .chain(self.fields.iter().flat_map(|f| [f.class, f.ty]))
            .chain(self.types.iter().copied())
    }

    /// All strings that these need.
    fn texts(&self, shorties: &'w [Vec<u8>]) -> impl Iterator<Item = &'w [u8]> + use<'w> {
        (self.descriptors())
            .chain(self.methods.iter().map(|w| w.name))
            .chain(shorties.iter().map(Vec::as_slice))
            .chain(self.fields.iter().map(|f| f.name))
            .chain(self.strings.iter().map(Vec::as_slice))
    }
}

/// The new tables, and the indices of the wanted ids.
pub(crate) struct Added {
    pub ids: Ids,
    /// New indices of the wanted methods.
    pub methods: Vec<u32>,
    /// New indices of their classes.
    pub classes: Vec<u32>,
    /// New indices of the wanted fields.
    pub fields: Vec<u32>,
    /// New indices of the wanted types.
    pub types: Vec<u32>,
    /// New indices of the wanted strings.
    pub strings: Vec<u32>,
}

/// Adds methods, and types and strings by themselves, to the tables of a dex. `None` where a table would exceed what
/// 16-bit indices reach; strings have no such limit.
pub(crate) fn add(file: &File<'_>, wants: Wants<'_>) -> Result<Option<Added>> {
    let wanted = wants.methods;
    let shorties: Vec<Vec<u8>> = wanted.iter().map(shorty).collect();
    let strings = Table::add(
        file.strings.len(),
        wants.texts(&shorties),
        |a, b| compare_strings(a, b),
        |text| find_string(file, text),
    )?;

    let names = strings.indices(wants.descriptors())?;
    let types = Table::add(file.types.len(), names, u32::cmp, |&name| {
        find_type(file, &strings.remap, name)
    })?;
    let ty = |descriptor| types.index(&strings.index(descriptor)?);

    let rows = wanted.iter().zip(&shorties).map(|(w, shorty)| {
        Ok(NewProto {
            shorty: strings.index(&&shorty[..])?,
            returns: ty(&w.returns)?,
            parameters: w.parameters.iter().map(ty).collect::<Result<_>>()?,
        })
    });
    let rows: Vec<NewProto> = rows.collect::<Result<_>>()?;
    let protos = Table::add(
        file.protos.len(),
        rows.iter().cloned(),
        NewProto::order,
        |proto| find_proto(file, &types.remap, proto),
    )?;

    let rows = (wanted.iter().zip(&rows)).map(|(w, proto)| {
        Ok(MethodId {
            class: ty(&w.class)?,
            proto: protos.index(proto)?,
            name: strings.index(&w.name)?,
        })
    });
    let rows: Vec<MethodId> = rows.collect::<Result<_>>()?;
    let methods = Table::add(file.methods.len(), rows.iter().copied(), by_name, |row| {
        find_method(file, [&types.remap, &protos.remap, &strings.remap], row)
    })?;
    let rows_of_fields = wants.fields.iter().map(|f| {
        Ok(FieldId {
            class: ty(&f.class)?,
            ty: ty(&f.ty)?,
            name: strings.index(&f.name)?,
        })
    });
    let rows_of_fields: Vec<FieldId> = rows_of_fields.collect::<Result<_>>()?;
    let fields = Table::add(
        file.fields.len(),
        rows_of_fields.iter().copied(),
        by_name_and_type,
        |row| find_field(file, [&types.remap, &strings.remap], row),
    )?;
    // `type_ids` and `proto_ids` are limited by the header, the others by what an instruction can name.
    let most = fields.len().max(methods.len());
    if types.len() > 0xffff || protos.len() > 0xffff || most > 0x1_0000 {
        return Ok(None);
    }
    let added_types = wants.types.iter().map(&ty).collect::<Result<_>>()?;
    let added_strings = strings.indices(wants.strings.iter().map(Vec::as_slice))?;
    let added_methods = methods.indices(rows.iter().copied())?;
    let added_fields = fields.indices(rows_of_fields.iter().copied())?;
    // Each borrows from those in front of it.
    let (fields, field_remap) = fields.into_parts();
    let (methods, method_remap) = methods.into_parts();
    let (protos, proto_remap) = protos.into_parts();
    let (types, type_remap) = types.into_parts();
    let (strings, string_remap) = strings.into_parts();
    Ok(Some(Added {
        methods: added_methods,
        classes: rows.iter().map(|row| row.class).collect(),
        fields: added_fields,
        types: added_types,
        strings: added_strings,
        ids: Ids {
            strings: (strings.into_iter())
                .map(|(at, text)| (at, text.to_vec()))
                .collect(),
            changed: None,
            types,
            protos,
            fields,
            methods,
            classes: Vec::new(),
            members: Vec::new(),
            remap: Remap {
                strings: string_remap,
                types: type_remap,
                protos: proto_remap,
                fields: field_remap,
                methods: method_remap,
            },
        },
    }))
}

/// The descriptors of a method's types.
fn types_of<'w>(wanted: &Wanted<'w>) -> impl Iterator<Item = &'w [u8]> + use<'w> {
    let types = [wanted.class, wanted.returns].into_iter();
    types.chain(wanted.parameters.iter().copied())
}

/// The letters of a method's return type and parameters (`proto_id_item`).
fn shorty(wanted: &Wanted<'_>) -> Vec<u8> {
    let letter = |descriptor: &&[u8]| match descriptor[0] {
        b'[' => b'L',
        letter => letter,
    };
    [wanted.returns]
        .iter()
        .chain(wanted.parameters)
        .map(letter)
        .collect()
}

/// The order of `method_ids`: by class, name and proto.
fn by_name(a: &MethodId, b: &MethodId) -> Ordering {
    (a.class, a.name, a.proto).cmp(&(b.class, b.name, b.proto))
}

/// The order of `field_ids`.
fn by_name_and_type(a: &FieldId, b: &FieldId) -> Ordering {
    (a.class, a.name, a.ty).cmp(&(b.class, b.name, b.ty))
}

fn find_string(file: &File<'_>, text: &[u8]) -> Result<Place> {
    search(file.strings.len(), |i| {
        Ok(compare_strings(file.string(i)?, text))
    })
}

/// Finds a type by the new index of its descriptor, given the new indices of strings.
fn find_type(file: &File<'_>, strings: &[u32], name: u32) -> Result<Place> {
    search(file.types.len(), |i| {
        let row = u32_at(&file.types[i as usize], 0);
        Ok(new_index(strings, row, file.start)?.cmp(&name))
    })
}

/// Finds a method, given the new indices of types, protos and strings.
fn find_method(
    file: &File<'_>,
    [types, protos, strings]: [&[u32]; 3],
    wanted: &MethodId,
) -> Result<Place> {
    search(file.methods.len(), |i| {
        let MethodId { class, proto, name } = file.method(i)?;
        let old = MethodId {
            class: new_index(types, class, file.start)?,
            proto: new_index(protos, proto, file.start)?,
            name: new_index(strings, name, file.start)?,
        };
        Ok(by_name(&old, wanted))
    })
}

/// Finds a field, given the new indices of types and strings.
fn find_field(file: &File<'_>, [types, strings]: [&[u32]; 2], wanted: &FieldId) -> Result<Place> {
    search(file.fields.len(), |i| {
        let FieldId { class, ty, name } = file.field(i)?;
        let old = FieldId {
            class: new_index(types, class, file.start)?,
            ty: new_index(types, ty, file.start)?,
            name: new_index(strings, name, file.start)?,
        };
        Ok(by_name_and_type(&old, wanted))
    })
}

/// Finds a proto in the old table, given the new indices of types.
fn find_proto(file: &File<'_>, types: &[u32], proto: &NewProto) -> Result<Place> {
    search(file.protos.len(), |i| {
        let ProtoId {
            returns,
            parameters: list,
            ..
        } = file.proto(i)?;
        let by_return = new_index(types, returns, file.start)?.cmp(&proto.returns);
        if by_return.is_ne() {
            return Ok(by_return);
        }
        let mut parameters = Vec::new();
        for row in file.type_list(list)? {
            let old = u32::from(u16_at(row, 0));
            parameters.push(new_index(types, old, list as usize)?);
        }
        Ok(parameters.cmp(&proto.parameters))
    })
}
