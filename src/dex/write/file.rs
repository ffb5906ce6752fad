//! The new dex file: id tables, then the data sections in the order in which they lay, then the map.

use crate::bytes::{Cursor, put_uleb32, u16_at, u32_at};
use crate::dex::bodies::Bodies;
use crate::dex::format::class::{Budget, ClassDef, Members};
use crate::dex::format::file::{
    FieldId, File, HEADER, HEADER_41, MethodId, NO_INDEX, kind, string_data,
};
use crate::dex::format::remap::new_index;
use crate::dex::ids::{Ids, Inserted, NewMembers, PlacedMethod};
use crate::dex::write::data::{Bases, Data, put};
use crate::error::{Error, Kind, Result};
use sha1::{Digest, Sha1};

/// The data sections that can be written, in the order in which those that a file lacks come.
const DATA: [u16; 11] = [
    kind::CODE,
    kind::DEBUG_INFO,
    kind::TYPE_LIST,
    kind::STRING_DATA,
    kind::ANNOTATION,
    kind::CLASS_DATA,
    kind::ENCODED_ARRAY,
    kind::ANNOTATION_SET,
    kind::ANNOTATION_SET_REF_LIST,
    kind::ANNOTATIONS_DIRECTORY,
    kind::HIDDENAPI,
];

#[derive(Clone, Copy)]
struct Section {
    kind: u16,
    count: u32,
    offset: u32,
}

fn align(kind: u16) -> usize {
    match kind {
        kind::STRING_DATA
        | kind::CLASS_DATA
        | kind::DEBUG_INFO
        | kind::ANNOTATION
        | kind::ENCODED_ARRAY => 1,
        _ => 4,
    }
}

/// Everything that a new dex is written from.
struct Sources<'s, 'a> {
    file: &'s File<'a>,
    ids: &'s Ids,
    bodies: &'s mut Bodies,
    data: Data,
    strings: Strings,
    class_data: Vec<u8>,
    /// Where each class's data lies in it, or `NO_INDEX`.
    class_data_at: Vec<u32>,
    /// The same of the new classes.
    new_class_data: Vec<u32>,
    /// The hidden-API section.
    hidden_api: Vec<u8>,
}

/// Appends the new dex to `out`, which holds what lies in front of it in its container. The header's
/// checksums, and what it says of the container, are left to [`seal`].
pub(crate) fn write(
    file: &File<'_>,
    ids: &Ids,
    bodies: &mut Bodies,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.resize(out.len().next_multiple_of(4), 0);
    let mut sources = Sources {
        file,
        ids,
        bodies,
        data: Data::gather(file, ids)?,
        strings: Strings::read(file, ids)?,
        class_data: Vec::new(),
        class_data_at: vec![NO_INDEX; file.classes.len()],
        new_class_data: Vec::new(),
        hidden_api: hidden_api(file, ids.classes.len()),
    };
    let places = Places::of(&mut sources, out.len())?;
    out.reserve(places.end - out.len());
    sources.write(&places, out)
}

/// Appends the methods of a class data item: ascending, their code at offsets of the file.
fn put_methods(methods: &[PlacedMethod], out: &mut Vec<u8>) {
    let mut last = 0;
    for method in methods {
        for value in [method.id - last, method.access, method.code] {
            put_uleb32(out, value);
        }
        last = method.id;
    }
}

/// The hidden-API section with so many more classes, of which it says nothing: its size, an offset for each class, flags.
fn hidden_api(file: &File<'_>, classes: usize) -> Vec<u8> {
    let Some(old) = file.hidden_api else {
        return Vec::new();
    };
    let (rows, flags) = match old.split_at_checked(4 + 4 * file.classes.len()) {
        Some((front, flags)) if classes > 0 => (&front[4..], flags),
        _ => return old.to_vec(),
    };
    let added = 4 * classes;
    let mut new = Vec::with_capacity(old.len() + added);
    put(&mut new, (old.len() + added) as u32);
    for row in rows.as_chunks::<4>().0 {
        put(
            &mut new,
            match u32::from_le_bytes(*row) {
                0 => 0,
                offset => offset.wrapping_add(added as u32),
            },
        );
    }
    new.resize(new.len() + added, 0);
    new.extend_from_slice(flags);
    new
}

/// Completes the headers of all dexes of a file, once everything is written.
pub(crate) fn seal(out: &mut [u8], starts: &[usize]) {
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(out.len());
        let whole = out.len() as u32;
        let dex = &mut out[start..end];
        let mut set = |at: usize, value: u32| dex[at..at + 4].copy_from_slice(&value.to_le_bytes());
        set(0x20, (end - start) as u32);
        if dex[0x24] as usize == HEADER_41 {
            let mut set =
                |at: usize, value: u32| dex[at..at + 4].copy_from_slice(&value.to_le_bytes());
            set(HEADER, whole);
            set(HEADER + 4, start as u32);
        }
        let signature = Sha1::digest(&dex[32..]);
        dex[12..32].copy_from_slice(&signature);
        let checksum = simd_adler32::adler32(&&dex[12..]);
        dex[8..12].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// The strings' data.
struct Strings {
    /// Where each old string's ends.
    ends: Vec<u32>,
    /// Bytes of all, with those that are new.
    size: usize,
}

impl Strings {
    /// Finds where the strings end. Those that overlap are refused.
    fn read(file: &File<'_>, ids: &Ids) -> Result<Strings> {
        let mut strings = Strings {
            ends: Vec::with_capacity(file.strings.len()),
            size: 0,
        };
        let mut budget = Budget::new(file, "strings");
        for (i, row) in (0..).zip(file.strings) {
            let at = u32_at(row, 0) as usize;
            let (_, end) = string_data(file.bytes, at)?;
            budget.spend(at, end - at)?;
            strings.size += match &ids.changed {
                Some(changed) if changed.index == i => new_string(&changed.text).len(),
                _ => end - at,
            };
            strings.ends.push(end as u32);
        }
        let new = ids.strings.iter().map(|(_, text)| new_string(text).len());
        strings.size += new.sum::<usize>();
        Ok(strings)
    }
}

/// A new string's `string_data_item`.
fn new_string(text: &[u8]) -> Vec<u8> {
    let units = text.iter().filter(|&b| b & 0xc0 != 0x80).count();
    let mut item = Vec::with_capacity(text.len() + 2);
    put_uleb32(&mut item, units as u32);
    item.extend_from_slice(text);
    item.push(0);
    item
}

/// The offsets of the sections.
struct Places {
    sections: Vec<Section>,
    end: usize,
}

impl Places {
    fn of(sources: &mut Sources<'_, '_>, start: usize) -> Result<Places> {
        let mut places = Places {
            sections: Vec::new(),
            end: start,
        };
        places.add(kind::HEADER, 1, sources.header())?;
        for IdTable { kind, rows, row } in sources.tables() {
            places.add(kind, rows, rows * row)?;
        }
        for kind in sources.order() {
            if kind == kind::CLASS_DATA {
                sources.encode_class_data(places.offset(kind::CODE))?;
            }
            places.add(kind, sources.count(kind), sources.size(kind))?;
        }
        let sections = places.sections.len() + 1;
        places.add(kind::MAP_LIST, 1, 4 + 12 * sections)?;
        Ok(places)
    }

    fn add(&mut self, kind: u16, count: usize, size: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let offset = self.end.next_multiple_of(align(kind));
        self.end = offset + size;
        if u32::try_from(self.end).is_err() {
            return Err(Error::new(
                Kind::NotDone,
                "the new dex file would exceed 4 GiB",
            ));
        }
        self.sections.push(Section {
            kind,
            count: count as u32,
            offset: offset as u32,
        });
        Ok(())
    }

    /// Where a section lies; 0 if there is none.
    fn offset(&self, kind: u16) -> u32 {
        let found = self.sections.iter().find(|s| s.kind == kind);
        found.map_or(0, |section| section.offset)
    }

    /// How many items a section has.
    fn count(&self, kind: u16) -> u32 {
        let found = self.sections.iter().find(|s| s.kind == kind);
        found.map_or(0, |section| section.count)
    }
}

/// A table of ids.
struct IdTable {
    kind: u16,
    rows: usize,
    /// Bytes of a row.
    row: usize,
}

impl Sources<'_, '_> {
    fn header(&self) -> usize {
        match self.file.version {
            41.. => HEADER_41,
            _ => HEADER,
        }
    }

    fn tables(&self) -> [IdTable; 8] {
        let (file, ids) = (self.file, self.ids);
        let table = |kind, rows, row| IdTable { kind, rows, row };
        [
            table(kind::STRING_ID, file.strings.len() + ids.strings.len(), 4),
            table(kind::TYPE_ID, file.types.len() + ids.types.len(), 4),
            table(kind::PROTO_ID, file.protos.len() + ids.protos.len(), 12),
            table(kind::FIELD_ID, file.fields.len() + ids.fields.len(), 8),
            table(kind::METHOD_ID, file.methods.len() + ids.methods.len(), 8),
            table(kind::CLASS_DEF, file.classes.len() + ids.classes.len(), 32),
            table(kind::CALL_SITE_ID, file.call_sites.len(), 4),
            table(kind::METHOD_HANDLE, file.method_handles.len(), 8),
        ]
    }

    /// How many items a data section has.
    fn count(&self, kind: u16) -> usize {
        match kind {
            kind::CODE => {
                let new = self.ids.classes.iter();
                let new = new.map(|class| class.methods.len() + class.virtuals.len());
                self.bodies.items.len() + new.sum::<usize>()
            }
            kind::DEBUG_INFO => self.bodies.debug_count as usize,
            kind::TYPE_LIST => self.data.type_list_count(),
            kind::STRING_DATA => self.file.strings.len() + self.ids.strings.len(),
            kind::ANNOTATION => self.data.annotations.len(),
            kind::CLASS_DATA => {
                let classes = self.file.classes.iter().map(ClassDef::read);
                let old = classes.filter(|class| class.data != 0).count();
                old + self.ids.classes.len()
            }
            kind::ENCODED_ARRAY => self.data.arrays.count(),
            kind::ANNOTATION_SET => self.data.sets.len(),
            kind::ANNOTATION_SET_REF_LIST => self.data.ref_lists.len(),
            kind::ANNOTATIONS_DIRECTORY => self.data.directories.len(),
            kind::HIDDENAPI => usize::from(self.file.hidden_api.is_some()),
            _ => 0,
        }
    }

    /// How many bytes a data section takes.
    fn size(&self, kind: u16) -> usize {
        match kind {
            kind::CODE => self.new_code(self.ids.classes.len()),
            kind::DEBUG_INFO => self.bodies.debug.len(),
            kind::TYPE_LIST => self.data.type_lists.size,
            kind::STRING_DATA => self.strings.size,
            kind::ANNOTATION => self.data.annotations.size,
            kind::CLASS_DATA => self.class_data.len(),
            kind::ENCODED_ARRAY => self.data.arrays.items.size,
            kind::ANNOTATION_SET => self.data.sets.size,
            kind::ANNOTATION_SET_REF_LIST => self.data.ref_lists.size,
            kind::ANNOTATIONS_DIRECTORY => self.data.directories.size,
            kind::HIDDENAPI => self.hidden_api.len(),
            _ => 0,
        }
    }

    /// Where the code of this many new classes ends, from the section's start; each begins at a multiple of four bytes.
    fn new_code(&self, classes: usize) -> usize {
        let classes = &self.ids.classes[..classes];
        classes.iter().fold(self.bodies.code_size, |end, class| {
            end.next_multiple_of(4) + class.code.len()
        })
    }

    /// The data sections in the order in which they are to lie: as before, but that class data, whose
    /// size depends on where the code lies, comes behind it.
    fn order(&self) -> Vec<u16> {
        let mut order = Vec::with_capacity(DATA.len());
        for &kind in self.file.order.iter().chain(&DATA) {
            if !order.contains(&kind) && self.count(kind) != 0 {
                order.push(kind);
            }
        }
        let place = |kind| order.iter().position(|&k| k == kind);
        if let (Some(data), Some(code)) = (place(kind::CLASS_DATA), place(kind::CODE))
            && data < code
        {
            order[data..=code].rotate_left(1);
        }
        order
    }

    /// Encodes the class data: fields as they were, methods by their new ids and places.
    fn encode_class_data(&mut self, code: u32) -> Result<()> {
        let mut budget = Budget::new(self.file, "class data items");
        let bodies = std::mem::take(&mut self.bodies.methods);
        let mut places = bodies.iter();
        let mut changes = self.ids.members.iter().peekable();
        let mut at = std::mem::take(&mut self.class_data_at);
        // Direct and virtual ones.
        let mut methods: [Vec<PlacedMethod>; 2] = Default::default();
        for ((number, row), place) in (0..).zip(self.file.classes).zip(&mut at) {
            let class = ClassDef::read(row);
            if class.data == 0 {
                continue;
            }
            *place = self.class_data.len() as u32;
            let changes = changes.next_if(|changes| changes.class == number);
            let mut members = Members::read(self.file, class.data)?;
            self.put_head(&members, changes)?;
            let mut changed = changes.map_or(&[][..], |c| &c.changed).iter().peekable();
            methods.iter_mut().for_each(Vec::clear);
            let mut index = 0;
            while let Some(method) = members.next()? {
                let id = new_index(&self.ids.remap.methods, method.id, members.start)?;
                let at = *places.next().expect("bodies were gathered class by class");
                let (access, at) = match changed.next_if(|changed| changed.number == index) {
                    Some(changed) => (changed.access, changed.code),
                    None => (method.access, at),
                };
                let code = match at {
                    NO_INDEX => 0,
                    at => code + at,
                };
                methods[usize::from(index >= members.direct)].push(PlacedMethod {
                    id,
                    access,
                    code,
                });
                index += 1;
            }
            if let Some(changes) = changes {
                methods[0].extend(changes.added.iter().map(|method| method.behind(code)));
                methods[0].sort_by_key(|method| method.id);
            }
            for methods in &methods {
                put_methods(methods, &mut self.class_data);
            }
            budget.spend(members.start, members.len())?;
        }
        for (i, class) in self.ids.classes.iter().enumerate() {
            self.new_class_data.push(self.class_data.len() as u32);
            let code = code + self.new_code(i).next_multiple_of(4) as u32;
            for count in [
                0,
                class.fields.len(),
                class.methods.len(),
                class.virtuals.len(),
            ] {
                put_uleb32(&mut self.class_data, count as u32);
            }
            let mut last = 0;
            for field in &class.fields {
                put_uleb32(&mut self.class_data, field.id - last);
                put_uleb32(&mut self.class_data, field.access);
                last = field.id;
            }
            for methods in [&class.methods, &class.virtuals] {
                let placed: Vec<PlacedMethod> =
                    methods.iter().map(|method| method.behind(code)).collect();
                put_methods(&placed, &mut self.class_data);
            }
        }
        self.bodies.methods = bodies;
        self.class_data_at = at;
        Ok(())
    }

    /// Appends the beginning of a class data item, with the fields that it has and gets, and the count of its methods.
    fn put_head(&mut self, members: &Members<'_>, changes: Option<&NewMembers>) -> Result<()> {
        let head = &self.file.bytes[members.head.clone()];
        if changes.is_none() && self.ids.fields.is_empty() {
            self.class_data.extend_from_slice(head);
            return Ok(());
        }
        let added = changes.map_or(0, |changes| changes.added.len() as u32);
        let constant = changes.and_then(|changes| changes.constant);
        let mut cursor = Cursor::at(self.file.bytes, members.start);
        let mut counts = [0; 4];
        for count in &mut counts {
            *count = cursor.uleb32()?;
        }
        let [statics, instances, direct, virtuals] = counts;
        let new_statics = statics + u32::from(constant.is_some());
        for count in [new_statics, instances, direct + added, virtuals] {
            put_uleb32(&mut self.class_data, count);
        }
        let new = constant.map(|constant| (constant.field, constant.access));
        for (count, mut new) in [(statics, new), (instances, None)] {
            let (mut old, mut last) = (0u32, 0);
            let mut put = |(index, access): (u32, u32)| {
                put_uleb32(&mut self.class_data, index - last);
                put_uleb32(&mut self.class_data, access);
                last = index;
            };
            for _ in 0..count {
                let at = cursor.position();
                old = old.saturating_add(cursor.uleb32()?);
                let index = new_index(&self.ids.remap.fields, old, at)?;
                new.take_if(|new| new.0 < index)
                    .into_iter()
                    .for_each(&mut put);
                put((index, cursor.uleb32()?));
            }
            new.into_iter().for_each(&mut put);
        }
        Ok(())
    }

    fn write(&mut self, places: &Places, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        self.write_header(places, start, out);
        let mut string_ids = out.len();
        out.resize(
            string_ids + 4 * (self.file.strings.len() + self.ids.strings.len()),
            0,
        );
        self.write_ids(places, out)?;
        let bases = Bases {
            ref_lists: places.offset(kind::ANNOTATION_SET_REF_LIST),
            sets: places.offset(kind::ANNOTATION_SET),
            annotations: places.offset(kind::ANNOTATION),
        };
        for section in &places.sections {
            if !DATA.contains(&section.kind) {
                continue;
            }
            out.resize(section.offset as usize, 0);
            match section.kind {
                kind::CODE => {
                    self.bodies.put_code(places.offset(kind::DEBUG_INFO), out);
                    let start = section.offset as usize;
                    for class in &self.ids.classes {
                        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
                        out.extend_from_slice(&class.code);
                    }
                }
                kind::DEBUG_INFO => out.extend_from_slice(&self.bodies.debug),
                kind::TYPE_LIST => self.data.write_type_lists(self.file, self.ids, out)?,
                kind::STRING_DATA => self.write_strings(&mut string_ids, out)?,
                kind::ANNOTATION => out.extend_from_slice(&self.data.annotation_bytes),
                kind::CLASS_DATA => out.extend_from_slice(&self.class_data),
                kind::ENCODED_ARRAY => out.extend_from_slice(&self.data.arrays.bytes),
                kind::ANNOTATION_SET => self.data.write_sets(self.file, bases, out)?,
                kind::ANNOTATION_SET_REF_LIST => {
                    self.data.write_ref_lists(self.file, bases, out)?;
                }
                kind::ANNOTATIONS_DIRECTORY => {
                    self.data
                        .write_directories(self.file, self.ids, bases, out)?;
                }
                _ => out.extend_from_slice(&self.hidden_api),
            }
        }
        out.resize(places.offset(kind::MAP_LIST) as usize, 0);
        put(out, places.sections.len() as u32);
        for section in &places.sections {
            put(out, u32::from(section.kind));
            put(out, section.count);
            put(out, section.offset);
        }
        debug_assert_eq!(out.len(), places.end);
        Ok(())
    }

    fn write_header(&self, places: &Places, start: usize, out: &mut Vec<u8>) {
        let old = &self.file.bytes[self.file.start..];
        out.extend_from_slice(&old[..self.header()]);
        let header = &mut out[start..];
        let mut set = |at: usize, value: u32| {
            header[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };
        set(0x34, places.offset(kind::MAP_LIST));
        for (i, kind) in (kind::STRING_ID..=kind::CLASS_DEF).enumerate() {
            set(0x38 + 8 * i, places.count(kind));
            set(0x3c + 8 * i, places.offset(kind));
        }
        // Unused from version 041 on.
        if self.file.version < 41 {
            let ids = |s: &&Section| s.kind > kind::METHOD_HANDLE;
            let data = places.sections.iter().find(ids).map_or(0, |s| s.offset);
            set(0x68, places.end as u32 - data);
            set(0x6c, data);
        }
    }

    /// Writes the id tables behind that of the strings.
    fn write_ids(&self, places: &Places, out: &mut Vec<u8>) -> Result<()> {
        let (file, ids) = (self.file, self.ids);
        let remap = &ids.remap;
        merge(file.types, &ids.types, |row| match row {
            Row::Old(row) => {
                put(out, new_index(&remap.strings, u32_at(row, 0), file.start)?);
                Ok(())
            }
            Row::New(&name, _) => {
                put(out, name);
                Ok(())
            }
        })?;
        let type_lists = places.offset(kind::TYPE_LIST);
        let mut hint = 0;
        merge(file.protos, &ids.protos, |row| {
            match row {
                Row::Old(row) => {
                    put(out, new_index(&remap.strings, u32_at(row, 0), file.start)?);
                    put(out, new_index(&remap.types, u32_at(row, 4), file.start)?);
                    let list = u32_at(row, 8);
                    put(out, self.data.type_lists.get(list, type_lists, &mut hint));
                }
                Row::New(proto, k) => {
                    put(out, proto.shorty);
                    put(out, proto.returns);
                    let list = self.data.new_type_lists[k];
                    put(out, list.map_or(0, |at| type_lists + at));
                }
            }
            Ok(())
        })?;
        merge(file.fields, &ids.fields, |row| {
            let FieldId { class, ty, name } = match row {
                Row::Old(row) => {
                    let FieldId { class, ty, name } = FieldId::read(row);
                    FieldId {
                        class: new_index(&remap.types, class, file.start)?,
                        ty: new_index(&remap.types, ty, file.start)?,
                        name: new_index(&remap.strings, name, file.start)?,
                    }
                }
                Row::New(&row, _) => row,
            };
            out.extend_from_slice(&(class as u16).to_le_bytes());
            out.extend_from_slice(&(ty as u16).to_le_bytes());
            put(out, name);
            Ok(())
        })?;
        merge(file.methods, &ids.methods, |row| {
            let MethodId { class, proto, name } = match row {
                Row::Old(row) => {
                    let MethodId { class, proto, name } = MethodId::read(row);
                    MethodId {
                        class: new_index(&remap.types, class, file.start)?,
                        proto: new_index(&remap.protos, proto, file.start)?,
                        name: new_index(&remap.strings, name, file.start)?,
                    }
                }
                Row::New(&row, _) => row,
            };
            out.extend_from_slice(&(class as u16).to_le_bytes());
            out.extend_from_slice(&(proto as u16).to_le_bytes());
            put(out, name);
            Ok(())
        })?;
        self.write_classes(places, out)?;
        let arrays = places.offset(kind::ENCODED_ARRAY);
        for row in file.call_sites {
            put(
                out,
                self.data
                    .arrays
                    .items
                    .get(u32_at(row, 0), arrays, &mut hint),
            );
        }
        for row in file.method_handles {
            // Types 0 to 3 are about fields, the others about methods.
            let table = match u16_at(row, 0) {
                0..=3 => &remap.fields,
                _ => &remap.methods,
            };
            let index = new_index(table, u32::from(u16_at(row, 4)), file.start)?;
            out.extend_from_slice(&row[..4]);
            out.extend_from_slice(&(index as u16).to_le_bytes());
            out.extend_from_slice(&row[6..]);
        }
        Ok(())
    }

    fn write_classes(&self, places: &Places, out: &mut Vec<u8>) -> Result<()> {
        let (file, remap, data) = (self.file, &self.ids.remap, &self.data);
        let optional = |table: &[u32], index: u32| match index {
            NO_INDEX => Ok(NO_INDEX),
            index => new_index(table, index, file.start),
        };
        let [lists, directories, class_data, arrays] = [
            kind::TYPE_LIST,
            kind::ANNOTATIONS_DIRECTORY,
            kind::CLASS_DATA,
            kind::ENCODED_ARRAY,
        ]
        .map(|kind| places.offset(kind));
        let (mut list, mut directory, mut array) = (0, 0, 0);
        let mut new_arrays = data.arrays.new.iter().peekable();
        for ((number, row), &at) in (0..).zip(file.classes).zip(&self.class_data_at) {
            let class = ClassDef::read(row);
            put(out, new_index(&remap.types, class.ty, file.start)?);
            put(out, class.access);
            put(out, optional(&remap.types, class.superclass)?);
            put(out, data.type_lists.get(class.interfaces, lists, &mut list));
            put(out, optional(&remap.strings, class.source_file)?);
            put(
                out,
                data.directories
                    .get(class.annotations, directories, &mut directory),
            );
            put(
                out,
                match at {
                    NO_INDEX => 0,
                    at => class_data + at,
                },
            );
            let values = match new_arrays.next_if(|(class, _)| *class == number) {
                Some((_, at)) => arrays + at,
                None => data
                    .arrays
                    .items
                    .get(class.static_values, arrays, &mut array),
            };
            put(out, values);
        }
        let new = self.new_class_data.iter().zip(&data.new_interfaces);
        for (class, (data, interfaces)) in self.ids.classes.iter().zip(new) {
            put(out, class.ty);
            put(out, class.access);
            put(out, class.superclass);
            put(out, interfaces.map_or(0, |at| lists + at));
            put(out, NO_INDEX);
            put(out, 0);
            put(out, class_data + data);
            put(out, 0);
        }
        Ok(())
    }

    /// Writes the strings' data, and their ids to where `ids` says. Strings that lie behind one another
    /// are copied in one go.
    fn write_strings(&self, ids: &mut usize, out: &mut Vec<u8>) -> Result<()> {
        let bytes = self.file.bytes;
        let mut run = 0..0;
        let mut old = (0..).zip(&self.strings.ends);
        let changed = self.ids.changed.as_ref();
        merge(self.file.strings, &self.ids.strings, |row| {
            let (text, range) = match row {
                Row::New(text, _) => (Some(text), 0..0),
                Row::Old(row) => {
                    let (i, &end) = old.next().expect("one a string");
                    let text = changed.filter(|changed| changed.index == i);
                    let at = u32_at(row, 0) as usize;
                    (text.map(|changed| &changed.text), at..end as usize)
                }
            };
            let place = match text {
                None => {
                    if range.start != run.end {
                        out.extend_from_slice(&bytes[run.clone()]);
                        run = range.start..range.start;
                    }
                    let place = out.len() + run.len();
                    run.end = range.end;
                    place
                }
                Some(text) => {
                    out.extend_from_slice(&bytes[run.clone()]);
                    run = 0..0;
                    let place = out.len();
                    out.extend_from_slice(&new_string(text));
                    place
                }
            };
            out[*ids..*ids + 4].copy_from_slice(&(place as u32).to_le_bytes());
            *ids += 4;
            Ok(())
        })?;
        out.extend_from_slice(&bytes[run]);
        Ok(())
    }
}

/// A row of a table into which rows were inserted.
enum Row<'r, const N: usize, T> {
    Old(&'r [u8; N]),
    New(&'r T, usize),
}

/// Shows the old and the new rows of a table in their new order, new ones with their number.
fn merge<const N: usize, T>(
    old: &[[u8; N]],
    new: &Inserted<T>,
    mut each: impl FnMut(Row<'_, N, T>) -> Result<()>,
) -> Result<()> {
    let mut from = 0;
    for (k, (at, row)) in new.iter().enumerate() {
        let at = *at as usize;
        for row in &old[from..at] {
            each(Row::Old(row))?;
        }
        from = at;
        each(Row::New(row, k))?;
    }
    for row in &old[from..] {
        each(Row::Old(row))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::Dex;
    use crate::dex::ids::{self, Wanted};
    use crate::dex::weave::{Scratch, one_by_one};

    const EVERYTHING: &[u8] = include_bytes!("../../../tests/dex/everything.dex");

    /// Writes dexes anew as one file, with these methods added to the tables of each.
    fn rewrite(files: &[File<'_>], wanted: &[Wanted<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut starts = Vec::new();
        for file in files {
            let ids = ids::add(
                file,
                ids::Wants {
                    methods: wanted,
                    ..Default::default()
                },
            )
            .unwrap()
            .unwrap()
            .ids;
            let mut scratch = Scratch::default();
            scratch.copy_all(file, &ids, &one_by_one).unwrap();
            starts.push(out.len());
            write(file, &ids, scratch.bodies(), &mut out).unwrap();
        }
        seal(&mut out, &starts);
        out
    }

    fn hook(class: &'static [u8], name: &'static [u8]) -> Wanted<'static> {
        Wanted {
            class,
            name,
            parameters: &[b"Ljava/lang/Throwable;", b"[I", b"J"],
            returns: b"V",
        }
    }

    #[test]
    fn what_does_not_change_is_written_as_it_was() {
        // smali writes an annotation set that nothing refers to, which goes.
        let first = rewrite(&Dex::parse(EVERYTHING).unwrap().files, &[]);
        assert_eq!(first.len(), EVERYTHING.len() - 4);
        assert!(rewrite(&Dex::parse(&first).unwrap().files, &[]) == first);
    }

    #[test]
    fn ids_at_both_ends_renumber_everything_and_are_found_again() {
        let dex = Dex::parse(EVERYTHING).unwrap();
        let wanted = [
            hook(b"LA;", b"!"),
            hook(b"Lzz/Z;", b"~~~"),
            hook(b"LA;", b"~~~"),
        ];
        let new = rewrite(&dex.files, &wanted);
        let again = Dex::parse(&new).unwrap();
        let count = |dex: &Dex<'_>| {
            let f = &dex.files[0];
            [
                f.strings.len(),
                f.types.len(),
                f.protos.len(),
                f.methods.len(),
            ]
        };
        let (old, new_count) = (count(&dex), count(&again));
        assert_eq!(
            std::array::from_fn(|i| new_count[i] - old[i]),
            // LA; Lzz/Z; [I ! ~~~ VLLJ, and J and V were there
            [6, 3, 1, 3]
        );
        let added = ids::add(
            &again.files[0],
            ids::Wants {
                methods: &wanted,
                ..Default::default()
            },
        )
        .unwrap()
        .unwrap();
        let (ids, found) = (added.ids, added.methods);
        assert!(ids.strings.is_empty() && ids.methods.is_empty());
        let labels: Vec<_> = found
            .iter()
            .map(|&m| again.files[0].method_label(m))
            .collect();
        assert_eq!(
            labels,
            [
                "A.!(Ljava/lang/Throwable;[IJ)V",
                "zz/Z.~~~(Ljava/lang/Throwable;[IJ)V",
                "A.~~~(Ljava/lang/Throwable;[IJ)V"
            ]
        );
        for table in [
            again.files[0].methods.windows(2).all(|w| w[0] != w[1]),
            (1..again.files[0].strings.len() as u32).all(|i| {
                let text = |i| again.files[0].string(i).unwrap();
                crate::dex::format::lookup::compare_strings(text(i - 1), text(i)).is_lt()
            }),
        ] {
            assert!(table);
        }
        // What was written so is written again as it is.
        assert!(rewrite(&again.files, &[]) == new);
    }

    #[test]
    fn a_container_of_several_is_read_and_written() {
        let mut dex = Dex::parse(EVERYTHING).unwrap();
        let mut bytes = EVERYTHING.to_vec();
        bytes[4..7].copy_from_slice(b"041");
        bytes[0x24] = HEADER_41 as u8;
        // The same dex as one of version 041, its header larger by the container's fields.
        let mut file = dex.files.remove(0);
        file.bytes = &bytes;
        file.version = 41;
        let container = rewrite(std::slice::from_ref(&file), &[]);
        let one = Dex::parse(&container).unwrap();
        let pair = rewrite(
            &[&one.files[..], &Dex::parse(&container).unwrap().files].concat(),
            &[],
        );
        let two = Dex::parse(&pair).unwrap();
        assert_eq!(two.versions().collect::<Vec<_>>(), [41, 41]);
        let labels = |f: &File<'_>| -> Vec<String> {
            (0..f.methods.len() as u32)
                .map(|m| f.method_label(m))
                .collect()
        };
        assert_eq!(labels(&two.files[0]), labels(&file));
        assert_eq!(labels(&two.files[1]), labels(&file));
        assert!(rewrite(&two.files, &[]) == pair);
        let e = Dex::parse(&pair[..pair.len() - 1]).err().unwrap();
        insta::assert_snapshot!(e, @"a container of 5256 bytes with a header at 0x0: the header lies at 0x0, 5255 bytes are there (at byte 0x70)");
    }
}
