//! Reads maps.

use super::layout::*;
use super::model::{Symbol, Symbols};
use crate::bytes::{Cursor, Names};
use crate::error::{Error, Kind, Result};
use crate::spans::{self, SpanRule};
use crate::switches::{self, Level, MOST_OVERHEAD, MOST_SAMPLED, Sampling, Switch, Switches};
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Symbols {
    /// Reads one map and adds it; where an id is known already, the first one stays.
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let mut header = Cursor::new(bytes);
        if header.take(4)? != MAGIC {
            return Err(Error::malformed(0, "not a symbols map"));
        }
        let version = header.le_u16()?;
        if !(VERSION..=VERSION_WITH_OVERHEAD).contains(&version) {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "symbols map of version {version}; this weave reads {VERSION} to {VERSION_WITH_OVERHEAD}"
                ),
            ));
        }
        header.le_u16()?;
        let _methods = header.le_u32()?;
        let blocks = header.le_u32()?;
        let mut place = Place::default();
        let mut inflate = libdeflater::Decompressor::new();
        let mut payload = Vec::new();
        for _ in 0..blocks {
            let at = header.position();
            let raw_len = header.le_u32()? as usize;
            let crc = header.le_u32()?;
            let deflated_len = header.le_u32()? as usize;
            let deflated = header.take(deflated_len)?;
            if raw_len > MAX_BLOCK {
                return Err(Error::malformed(
                    at,
                    "symbols map claims an impossible size",
                ));
            }
            payload.resize(raw_len, 0);
            let inflated = inflate
                .deflate_decompress(deflated, &mut payload)
                .map_err(|e| Error::malformed(at, format!("symbols map does not inflate: {e}")))?;
            if inflated != raw_len || libdeflater::crc32(&payload) != crc {
                return Err(Error::malformed(at, "symbols map is damaged (CRC-32)"));
            }
            Block::new(self, &mut place, &payload).read()?;
        }
        self.switch(place);
        Ok(())
    }

    /// Notes what switches the methods of a map. By its methods, not by what it says of ids: that may be any number.
    fn switch(&mut self, mut place: Place) {
        place.switched.sort_by_key(|row| row.first);
        for id in place.ids {
            let behind = place.switched.partition_point(|row| row.first <= id);
            if let Some(row) = behind.checked_sub(1).map(|at| &place.switched[at])
                && row.last >= id
            {
                self.has_sampled |= switches::sample(&row.by).is_some();
                self.switched
                    .entry(id)
                    .or_insert_with(|| Arc::clone(&row.by));
            }
        }
    }
}

/// What an entry holds, or why it is malformed.
type Sound<T> = std::result::Result<T, &'static str>;

/// One block of a map, while it is read.
pub(super) struct Block<'a, 'b> {
    symbols: &'a mut Symbols,
    place: &'a mut Place,
    cursor: Cursor<'b>,
    /// Bytes of the whole block: a bound for what an entry of it brings.
    size: usize,
    last: Last,
    /// Room for a descriptor.
    expanded: String,
}

impl<'a, 'b> Block<'a, 'b> {
    pub(super) fn new(
        symbols: &'a mut Symbols,
        place: &'a mut Place,
        payload: &'b [u8],
    ) -> Block<'a, 'b> {
        Block {
            symbols,
            place,
            cursor: Cursor::new(payload),
            size: payload.len(),
            last: Last::default(),
            expanded: String::new(),
        }
    }

    pub(super) fn read(mut self) -> Result<()> {
        while self.cursor.remaining() > 0 {
            let at = self.cursor.position();
            let wrong = |what| Error::malformed(at, what);
            match self.cursor.u8()? {
                TAG_ARTIFACT => self.place.artifact = self.text()?.into(),
                TAG_TYPE => {
                    self.place.ty = self.text()?.into();
                    self.place.file = self.text()?.into();
                }
                TAG_NAMES => {
                    self.place.names.clear();
                    self.place.numbered = Numbered::default();
                    self.names(at)?;
                }
                TAG_MORE_NAMES => self.names(at)?,
                TAG_METHOD => self.method()?,
                TAG_NUMBERED_NAME => {
                    self.last.name = self.last.name.wrapping_add(self.cursor.uleb32()?);
                    let name = self.text()?;
                    let numbered = &mut self.place.numbered;
                    numbered.add_name(self.last.name, name).map_err(wrong)?;
                }
                TAG_NUMBERED_DESCRIPTOR => self.numbered_descriptor(at)?,
                TAG_NUMBERED_METHODS => self.numbered_methods()?,
                TAG_VALUES => self.values(at)?,
                TAG_ROOT => {
                    let id = self.cursor.uleb32()?;
                    if let Some(symbol) = self.symbols.by_id.get_mut(&id) {
                        symbol.root = true;
                        self.symbols.has_roots = true;
                    }
                }
                TAG_SPAN => self.span(at)?,
                TAG_ASPECTS => self.aspects(at)?,
                TAG_SWITCHED => self.switched(at)?,
                tag => {
                    let what = format!("unknown tag {tag} in a symbols map");
                    return Err(Error::malformed(at, what));
                }
            }
        }
        Ok(())
    }

    fn text(&mut self) -> Result<&'b str> {
        let at = self.cursor.position();
        let len = self.cursor.uleb32()? as usize;
        std::str::from_utf8(self.cursor.take(len)?)
            .map_err(|_| Error::malformed(at, "name in a symbols map is not UTF-8"))
    }

    fn names(&mut self, at: usize) -> Result<()> {
        if self.place.names.size() + self.size > MAX_NAMES {
            return Err(Error::malformed(at, "too many names in a symbols map"));
        }
        for _ in 0..self.cursor.uleb32()? {
            let name = self.text()?;
            (self.place.names).add(|names| {
                names.push_str(name);
                Ok::<_, Error>(())
            })?;
        }
        Ok(())
    }

    fn method(&mut self) -> Result<()> {
        self.last.id = self.last.id.wrapping_add(self.cursor.uleb32()?);
        let method = self.text()?.into();
        let descriptor = self.text()?.into();
        let line = self.cursor.uleb32()?;
        self.add_method(self.last.id, method, descriptor, line);
        Ok(())
    }

    fn numbered_descriptor(&mut self, at: usize) -> Result<()> {
        let number = self.last.descriptor.wrapping_add(self.cursor.uleb32()?);
        self.last.descriptor = number;
        let descriptor = self.text()?;
        self.expanded.clear();
        (self.place.names)
            .expand(descriptor, MAX_DESCRIPTOR, &mut self.expanded)
            .ok_or("descriptor in a symbols map is too long, or refers to a name that is not there")
            .and_then(|()| self.place.numbered.add_descriptor(number, &self.expanded))
            .map_err(|what| Error::malformed(at, what))
    }

    fn numbered_methods(&mut self) -> Result<()> {
        let first = self.last.id.wrapping_add(self.cursor.uleb32()?);
        let count = self.cursor.uleb32()?;
        for number in 0..count {
            let at = self.cursor.position();
            let (method, descriptor) = (self.place.numbered)
                .method(self.cursor.uleb32()?, self.cursor.uleb32()?)
                .map_err(|what| Error::malformed(at, what))?;
            let line = self.cursor.uleb32()?;
            self.last.id = first.wrapping_add(number);
            self.add_method(self.last.id, method, descriptor, line);
        }
        Ok(())
    }

    fn values(&mut self, at: usize) -> Result<()> {
        let id = self.cursor.uleb32()?;
        let mut names = Vec::new();
        for _ in 0..self.cursor.uleb32()? {
            let name = self.text()?;
            self.symbols.values_size += name.len() + NUMBERED;
            if names.len() > MAX_VALUES || self.symbols.values_size > MAX_NAMES {
                return Err(Error::malformed(at, "too many values in a symbols map"));
            }
            names.push(name.into());
        }
        self.symbols.name_values(id, names.into());
        Ok(())
    }

    fn span(&mut self, at: usize) -> Result<()> {
        let id = self.cursor.uleb32()?;
        let kind = spans::Kind::of(self.cursor.uleb32()?)
            .ok_or_else(|| Error::malformed(at, "unknown kind of spans in a symbols map"))?;
        let mut texts: [Box<str>; 5] = Default::default();
        for one in &mut texts {
            *one = self.text()?.into();
            self.symbols.values_size += one.len() + NUMBERED;
        }
        if self.symbols.values_size > MAX_NAMES {
            return Err(Error::malformed(at, "too many spans in a symbols map"));
        }
        let [name, once, error, when, scope] = texts;
        let rule = SpanRule {
            kind,
            name,
            once,
            error,
            when,
            scope,
        };
        let spans = &mut self.symbols.spans;
        spans.entry(id).or_insert_with(|| Arc::new(rule));
        Ok(())
    }

    fn aspects(&mut self, at: usize) -> Result<()> {
        self.place.aspects.clear();
        for _ in 0..self.cursor.uleb32()? {
            let switch = self.aspect(at)?;
            self.place.aspects_size += switch.name.len() + NUMBERED;
            if self.place.aspects_size > MAX_NAMES {
                return Err(Error::malformed(at, "too many aspects in a symbols map"));
            }
            self.place.aspects.push(Arc::new(switch));
        }
        Ok(())
    }

    fn aspect(&mut self, at: usize) -> Result<Switch> {
        let wrong = |what: &str| Error::malformed(at, what);
        let said = self.cursor.uleb32()?;
        let level = Level::of(said & 15).ok_or_else(|| wrong("unknown level in a symbols map"))?;
        let (mut auto, mut overhead, mut sample) = (None, None, None);
        match said & !15 {
            0 => {}
            AUTO => auto = Some(self.cursor.uleb32()?),
            AUTO_WITHIN => {
                auto = Some(self.cursor.uleb32()?);
                let part = self.cursor.uleb32()?;
                if !(1..=MOST_OVERHEAD).contains(&part) {
                    let what = "a symbols map lets a program pay an impossible part of its CPU";
                    return Err(wrong(what));
                }
                overhead = Some(part);
            }
            flags @ (SAMPLED | SAMPLED_SECOND) => {
                let calls = self.cursor.uleb32()?;
                if !(1..=MOST_SAMPLED).contains(&calls) {
                    return Err(wrong("a symbols map samples an impossible number of calls"));
                }
                sample = Some(match flags {
                    SAMPLED => Sampling::OneOf(calls),
                    _ => Sampling::Second(calls),
                });
            }
            _ => return Err(wrong("unknown flags of an aspect in a symbols map")),
        }
        Ok(Switch {
            name: self.text()?.into(),
            level,
            auto,
            overhead,
            sample,
        })
    }

    fn switched(&mut self, at: usize) -> Result<()> {
        let first = self.last.id.wrapping_add(self.cursor.uleb32()?);
        let last = first.saturating_add(self.cursor.uleb32()?.saturating_sub(1));
        self.last.id = last;
        let mut by = Vec::new();
        for _ in 0..self.cursor.uleb32()? {
            let switch = (self.place.aspects).get(self.cursor.uleb32()? as usize);
            by.push(Arc::clone(switch.ok_or_else(|| {
                Error::malformed(at, "a symbols map refers to an aspect that is not there")
            })?));
        }
        let by = match self.place.switched.last() {
            Some(before) if *before.by == *by => Arc::clone(&before.by),
            _ => by.into(),
        };
        self.place.switched.push(Switched { first, last, by });
        Ok(())
    }

    /// Adds a method of this place, if its id is not known yet.
    fn add_method(&mut self, id: u32, method: Arc<str>, descriptor: Arc<str>, line: u32) {
        let place = &mut *self.place;
        let symbol = Symbol {
            artifact: place.artifact.clone(),
            type_name: place.ty.clone(),
            method,
            descriptor,
            file: place.file.clone(),
            line,
            root: false,
        };
        place.ids.push(id);
        self.symbols.insert(id, symbol);
    }
}

/// The artifact, type and source file that the next method of a map belongs to. Shared between its
/// methods: a short map could otherwise repeat a long name with each.
#[derive(Default)]
pub(super) struct Place {
    artifact: Arc<str>,
    ty: Arc<str>,
    file: Arc<str>,
    names: Names,
    /// The names and the whole descriptors of numbered methods.
    numbered: Numbered,
    /// What the numbers of aspects stand for.
    aspects: Vec<Arc<Switch>>,
    /// About how much memory they take.
    aspects_size: usize,
    /// The aspects that switch methods.
    switched: Vec<Switched>,
    /// The ids of its methods.
    ids: Vec<u32>,
}

/// Methods whose ids follow one another, and what switches them.
struct Switched {
    first: u32,
    last: u32,
    by: Switches,
}

/// Texts by their numbers. Methods share them: a short map could otherwise become as much text as one likes.
#[derive(Default)]
struct Numbered {
    names: FxHashMap<u32, Arc<str>>,
    descriptors: FxHashMap<u32, Arc<str>>,
    /// Bytes that the names take, about.
    names_size: usize,
    /// Bytes of the descriptors.
    descriptors_size: usize,
}

impl Numbered {
    fn add_name(&mut self, number: u32, name: &str) -> Sound<()> {
        self.names_size += name.len() + NUMBERED;
        if self.names_size > MAX_NAMES {
            return Err("too many names in a symbols map");
        }
        self.names.insert(number, name.into());
        Ok(())
    }

    fn add_descriptor(&mut self, number: u32, whole: &str) -> Sound<()> {
        let whole = match self.descriptors_size + whole.len() > MAX_DESCRIPTORS {
            true => "?",
            false => whole,
        };
        // Without its text, each takes memory still.
        self.descriptors_size += whole.len() + NUMBERED;
        if self.descriptors_size > 2 * MAX_DESCRIPTORS {
            return Err("too many descriptors in a symbols map");
        }
        self.descriptors.insert(number, whole.into());
        Ok(())
    }

    /// The name and the descriptor of those numbers.
    fn method(&self, name: u32, descriptor: u32) -> Sound<(Arc<str>, Arc<str>)> {
        match (self.names.get(&name), self.descriptors.get(&descriptor)) {
            (Some(name), Some(descriptor)) => Ok((name.clone(), descriptor.clone())),
            _ => Err("method in a symbols map refers to a name that is not there"),
        }
    }
}
