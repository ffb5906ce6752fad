//! The data sections that hold neither code nor text: type lists, annotations, arrays of values.
//!
//! Each is gathered from what refers to it, laid out from 0, and written once its place is known.

use crate::bytes::{Cursor, u32_at};
use crate::dex::format::class::{Budget, ClassDef, fields_of, flag};
use crate::dex::format::file::File;
use crate::dex::format::remap::new_index;
use crate::dex::ids::{Constant, Ids};
use crate::dex::write::values;
use crate::error::{Error, Result};

/// The items of one section: old offsets, and new ones from the section's start.
#[derive(Default)]
pub(crate) struct Items {
    what: &'static str,
    old: Vec<u32>,
    new: Vec<u32>,
    /// Bytes of all of them.
    pub size: usize,
}

impl Items {
    fn gather(what: &'static str, mut offsets: Vec<u32>) -> Items {
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.first() == Some(&0) {
            offsets.remove(0);
        }
        Items {
            what,
            new: Vec::with_capacity(offsets.len()),
            old: offsets,
            size: 0,
        }
    }

    /// Lays the items out; `read` returns the end of each and its new size. Items may not overlap: they could make the
    /// output grow without limit.
    fn lay_out(
        mut self,
        align: usize,
        mut read: impl FnMut(usize) -> Result<(usize, usize)>,
    ) -> Result<Items> {
        let mut last_end = 0;
        for &old in &self.old {
            let at = old as usize;
            if at < last_end {
                return Err(Error::malformed(at, format!("{} overlap", self.what)));
            }
            let (end, len) = read(at)?;
            last_end = end;
            let new = self.size.next_multiple_of(align);
            self.new.push(new as u32);
            self.size = new + len;
        }
        Ok(self)
    }

    pub fn len(&self) -> usize {
        self.old.len()
    }

    /// The new offset of an item when the section starts at `base`; 0 stays 0. `hint` keeps the place of the last item,
    /// since most come in order.
    #[inline]
    pub fn get(&self, old: u32, base: u32, hint: &mut usize) -> u32 {
        if old == 0 {
            return 0;
        }
        let next = *hint + 1;
        let found = if self.old.get(next) == Some(&old) {
            next
        } else if self.old.get(*hint) == Some(&old) {
            *hint
        } else {
            self.old
                .binary_search(&old)
                .expect("what is referred to was gathered")
        };
        *hint = found;
        base + self.new[found]
    }

    fn each(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let old = self.old.iter().map(|&old| old as usize);
        old.zip(self.new.iter().map(|&new| new as usize))
    }
}

/// All of these sections.
pub(crate) struct Data {
    pub type_lists: Items,
    /// Where the lists of new protos lie, from the section's start.
    pub new_type_lists: Vec<Option<u32>>,
    /// The same of the interfaces of new classes.
    pub new_interfaces: Vec<Option<u32>>,
    pub directories: Items,
    pub ref_lists: Items,
    pub sets: Items,
    pub annotations: Items,
    pub annotation_bytes: Vec<u8>,
    pub arrays: Arrays,
}

/// The encoded arrays: values of static fields, and what call sites have.
pub(crate) struct Arrays {
    pub items: Items,
    /// Where those of classes with one more static field lie, from the section's start, by a class's number; ascending.
    pub new: Vec<(u32, u32)>,
    pub bytes: Vec<u8>,
}

/// Where sections start, for those that are referred to from [`Data`].
#[derive(Clone, Copy)]
pub(crate) struct Bases {
    pub ref_lists: u32,
    pub sets: u32,
    pub annotations: u32,
}

/// Length of an item that is a count and so many rows.
fn counted(file: &File<'_>, at: usize, row: usize) -> Result<usize> {
    let mut cursor = Cursor::at(file.bytes, at);
    let rows = (cursor.le_u32()? as usize).saturating_mul(row);
    cursor.take(rows)?;
    Ok(4 + rows)
}

/// The rows of an item that is a count and so many offsets.
fn offsets<'a>(file: &File<'a>, at: usize) -> Result<&'a [[u8; 4]]> {
    let mut cursor = Cursor::at(file.bytes, at);
    let count = cursor.le_u32()? as usize;
    Ok(cursor.take(count.saturating_mul(4))?.as_chunks().0)
}

/// An `annotations_directory_item`: the class's set, then rows of index and offset.
struct Directory<'a> {
    class: u32,
    /// Fields and methods, whose rows lead to sets, and methods whose rows lead to lists of sets.
    counts: [usize; 3],
    rows: &'a [[u8; 8]],
}

impl<'a> Directory<'a> {
    fn read(file: &File<'a>, at: usize) -> Result<Directory<'a>> {
        let mut cursor = Cursor::at(file.bytes, at);
        let class = cursor.le_u32()?;
        let mut counts = [0; 3];
        for count in &mut counts {
            *count = cursor.le_u32()? as usize;
        }
        let all = counts.iter().sum::<usize>();
        let rows = cursor.take(all.saturating_mul(8))?.as_chunks().0;
        Ok(Directory {
            class,
            counts,
            rows,
        })
    }

    fn len(&self) -> usize {
        16 + 8 * self.rows.len()
    }

    /// How many rows lead to sets.
    fn with_sets(&self) -> usize {
        self.counts[0] + self.counts[1]
    }
}

impl Data {
    /// Finds and lays out everything that the id tables and class definitions lead to.
    pub fn gather(file: &File<'_>, ids: &Ids) -> Result<Data> {
        let classes = || file.classes.iter().map(ClassDef::read);
        let lists = file.protos.iter().map(|row| u32_at(row, 8));
        let lists = lists.chain(classes().map(|c| c.interfaces)).collect();
        let mut type_lists = Items::gather("type lists", lists).lay_out(4, |at| {
            let len = counted(file, at, 2)?;
            Ok((at + len, len))
        })?;
        let mut place = |types: &[u32]| {
            (!types.is_empty()).then(|| {
                let at = type_lists.size.next_multiple_of(4);
                type_lists.size = at + 4 + 2 * types.len();
                at as u32
            })
        };
        let new_type_lists = (ids.protos.iter())
            .map(|(_, proto)| place(&proto.parameters))
            .collect();
        let new_interfaces = (ids.classes.iter())
            .map(|class| place(&class.interfaces))
            .collect();

        let mut set_offsets = Vec::new();
        let mut ref_offsets = Vec::new();
        let all = classes().map(|c| c.annotations).collect();
        let directories = Items::gather("annotation directories", all).lay_out(4, |at| {
            let directory = Directory::read(file, at)?;
            let (sets, refs) = directory.rows.split_at(directory.with_sets());
            set_offsets.push(directory.class);
            set_offsets.extend(sets.iter().map(|row| u32_at(row, 4)));
            ref_offsets.extend(refs.iter().map(|row| u32_at(row, 4)));
            Ok((at + directory.len(), directory.len()))
        })?;
        let ref_lists = Items::gather("annotation set lists", ref_offsets).lay_out(4, |at| {
            let rows = offsets(file, at)?;
            set_offsets.extend(rows.iter().map(|row| u32_at(row, 0)));
            let len = 4 + 4 * rows.len();
            Ok((at + len, len))
        })?;
        let mut item_offsets = Vec::new();
        let sets = Items::gather("annotation sets", set_offsets).lay_out(4, |at| {
            let rows = offsets(file, at)?;
            item_offsets.extend(rows.iter().map(|row| u32_at(row, 0)));
            let len = 4 + 4 * rows.len();
            Ok((at + len, len))
        })?;
        if let Some(at) = item_offsets.iter().position(|&at| at == 0) {
            return Err(Error::malformed(
                at,
                "an annotation set without an annotation",
            ));
        }
        let mut annotation_bytes = Vec::new();
        let annotations = Items::gather("annotations", item_offsets).lay_out(1, |at| {
            let start = annotation_bytes.len();
            let end = values::annotation(file.bytes, at, &ids.remap, &mut annotation_bytes)?;
            Ok((end, annotation_bytes.len() - start))
        })?;
        let arrays = Arrays::gather(file, ids)?;
        Ok(Data {
            type_lists,
            new_type_lists,
            new_interfaces,
            directories,
            ref_lists,
            sets,
            annotations,
            annotation_bytes,
            arrays,
        })
    }

    /// How many type lists there are.
    pub fn type_list_count(&self) -> usize {
        let new = self.new_type_lists.iter().chain(&self.new_interfaces);
        self.type_lists.len() + new.flatten().count()
    }

    /// Writes the type lists at the end of `out`, which is where they belong.
    pub fn write_type_lists(&self, file: &File<'_>, ids: &Ids, out: &mut Vec<u8>) -> Result<()> {
        let base = out.len();
        for (old, new) in self.type_lists.each() {
            out.resize(base + new, 0);
            let list = file.type_list(old as u32)?;
            put(out, list.len() as u32);
            for row in list {
                let ty = u32::from(u16::from_le_bytes(*row));
                let ty = new_index(&ids.remap.types, ty, old)?;
                out.extend_from_slice(&(ty as u16).to_le_bytes());
            }
        }
        let protos = ids.protos.iter().map(|(_, proto)| &proto.parameters);
        let protos = self.new_type_lists.iter().zip(protos);
        let classes = ids.classes.iter().map(|class| &class.interfaces);
        let classes = self.new_interfaces.iter().zip(classes);
        for (at, types) in protos.chain(classes) {
            if let Some(at) = at {
                out.resize(base + *at as usize, 0);
                put(out, types.len() as u32);
                for &ty in types {
                    out.extend_from_slice(&(ty as u16).to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// Writes the annotation sets.
    pub fn write_sets(&self, file: &File<'_>, bases: Bases, out: &mut Vec<u8>) -> Result<()> {
        let mut hint = 0;
        for (old, _) in self.sets.each() {
            let rows = offsets(file, old)?;
            put(out, rows.len() as u32);
            for row in rows {
                put(
                    out,
                    self.annotations
                        .get(u32_at(row, 0), bases.annotations, &mut hint),
                );
            }
        }
        Ok(())
    }

    /// Writes the lists of annotation sets, which parameters have.
    pub fn write_ref_lists(&self, file: &File<'_>, bases: Bases, out: &mut Vec<u8>) -> Result<()> {
        let mut hint = 0;
        for (old, _) in self.ref_lists.each() {
            let rows = offsets(file, old)?;
            put(out, rows.len() as u32);
            for row in rows {
                put(out, self.sets.get(u32_at(row, 0), bases.sets, &mut hint));
            }
        }
        Ok(())
    }

    /// Writes the annotation directories.
    pub fn write_directories(
        &self,
        file: &File<'_>,
        ids: &Ids,
        bases: Bases,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (mut set, mut list) = (0, 0);
        for (old, _) in self.directories.each() {
            let directory = Directory::read(file, old)?;
            put(out, self.sets.get(directory.class, bases.sets, &mut set));
            for count in directory.counts {
                put(out, count as u32);
            }
            for (i, row) in directory.rows.iter().enumerate() {
                let table = match i {
                    i if i < directory.counts[0] => &ids.remap.fields,
                    _ => &ids.remap.methods,
                };
                put(out, new_index(table, u32_at(row, 0), old + 16 + 8 * i)?);
                put(
                    out,
                    match i {
                        i if i < directory.with_sets() => {
                            self.sets.get(u32_at(row, 4), bases.sets, &mut set)
                        }
                        _ => self
                            .ref_lists
                            .get(u32_at(row, 4), bases.ref_lists, &mut list),
                    },
                );
            }
        }
        Ok(())
    }
}

impl Arrays {
    fn gather(file: &File<'_>, ids: &Ids) -> Result<Arrays> {
        let classes = file.classes.iter().map(ClassDef::read);
        let constants = || (ids.members.iter()).filter_map(|of| Some((of.class, of.constant?)));
        let mut replaced = constants().map(|(class, _)| class).peekable();
        let all = (0..)
            .zip(classes)
            .map(|(number, class)| match replaced.next_if_eq(&number) {
                Some(_) => 0,
                None => class.static_values,
            });
        let all = all
            .chain(file.call_sites.iter().map(|row| u32_at(row, 0)))
            .collect();
        let mut bytes = Vec::new();
        let mut items = Items::gather("encoded arrays", all).lay_out(1, |at| {
            let start = bytes.len();
            let end = values::array(file.bytes, at, &ids.remap, &mut bytes)?;
            Ok((end, bytes.len() - start))
        })?;
        let mut new = Vec::new();
        let mut budget = Budget::new(file, "encoded arrays");
        for (number, constant) in constants() {
            new.push((number, bytes.len() as u32));
            let class = ClassDef::read(&file.classes[number as usize]);
            let before = before(file, ids, &class, constant)?;
            let at = class.static_values;
            let value = (&before[..], constant.value);
            let len = values::array_with(file.bytes, at, &ids.remap, value, &mut bytes)?;
            budget.spend(at as usize, len)?;
        }
        items.size = bytes.len();
        Ok(Arrays { items, new, bytes })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.items.len() + self.new.len()
    }
}

/// The descriptors of the static fields of a class in front of one that it gets.
fn before<'a>(
    file: &File<'a>,
    ids: &Ids,
    class: &ClassDef,
    constant: Constant,
) -> Result<Vec<&'a [u8]>> {
    let mut statics = Vec::new();
    if class.data != 0 {
        fields_of(file, class.data, |field, access| {
            if access & flag::STATIC != 0 {
                statics.push(field);
            }
        })?;
    }
    let mut before = Vec::new();
    for field in statics {
        if new_index(&ids.remap.fields, field, class.data as usize)? < constant.field {
            before.push(file.descriptor(file.field(field)?.ty)?);
        }
    }
    Ok(before)
}

/// Appends a 32-bit number.
pub(crate) fn put(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}
