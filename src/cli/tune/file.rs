//! Entries put into a rules file, of which nothing else changes.

use super::entry::Entry;
use crate::error::{Error, Result};
use crate::switches::Level;
use std::collections::{BTreeSet, VecDeque};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// In front of what stands in the file of `weave tune`.
const MARK: &str =
    "# By `weave tune`: called often, and too short to tell what their records cost.";

/// The aspect that counts what the others leave out.
const COUNTED: &str = "counted";

/// The one that sums it up.
const AGGREGATED: &str = "aggregated";

/// How entries are indented.
const INDENT: &str = "    ";

/// The result of putting entries into a file.
pub struct Merged {
    pub text: String,
    /// Entries that were not there, each counted once.
    pub added: usize,
    /// Those of methods that are counted or summed up from now on.
    pub instead: usize,
    /// The aspects that do so.
    pub takers: Vec<String>,
}

/// What is done with methods in place of recording them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    Count,
    Aggregate,
}

impl Instead {
    /// The aspect that does it with what is on from a level, and its `mode`.
    fn aspect(self, level: Option<Level>) -> (String, &'static str) {
        let (name, mode) = match self {
            Instead::Count => (COUNTED, "count"),
            Instead::Aggregate => (AGGREGATED, "aggregate"),
        };
        let name = match level {
            Some(level) => format!("{name}-{}", level.word()),
            None => name.to_owned(),
        };
        (name, mode)
    }
}

/// A method that is not recorded any more, and the kinds of methods of which it may be one, where that has to be said.
pub struct Other<'e> {
    pub entry: &'e Entry,
    /// The level from which on it was recorded.
    pub level: Option<Level>,
    pub kinds: Vec<&'static str>,
}

/// Puts entries into a file: `wanted` has, for each of its aspects, those that it is to leave out, sorted; `others`
/// what an aspect does with them instead, sorted by their entries.
pub fn merge(
    source: &str,
    text: &str,
    wanted: &[Vec<&Entry>],
    others: Option<(Instead, &[Other<'_>])>,
) -> Result<Merged> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut document: DocumentMut = bare
        .parse()
        .map_err(|e| Error::usage(format!("{source}: {e}")))?;
    let mut added: Vec<&Entry> = Vec::new();
    for (aspect, entries) in aspects(&mut document).into_iter().zip(wanted) {
        let new = put(source, aspect, entries)?;
        added.extend(new);
    }
    let mut instead = 0;
    let mut takers = Vec::new();
    if let Some((what, all)) = others {
        let mut levels: Vec<Option<Level>> = all.iter().map(|one| one.level).collect();
        levels.sort_unstable();
        levels.dedup();
        for level in levels {
            let of_level = all.iter().filter(|one| one.level == level);
            let of_level: Vec<&Other<'_>> = of_level.collect();
            let added = put_instead(source, &mut document, (what, level), &of_level)?;
            if added > 0 {
                takers.push(what.aspect(level).0);
            }
            instead += added;
        }
    }
    if added.is_empty() && instead == 0 {
        return Ok(Merged {
            text: text.to_owned(),
            added: 0,
            instead,
            takers,
        });
    }
    added.sort_unstable();
    added.dedup();
    // The crate writes LF whatever was there.
    let mut out = document.to_string();
    let lines = [text.matches('\n').count(), text.matches("\r\n").count()];
    if lines[1] > 0 && lines[1] < lines[0] {
        return Err(Error::usage(format!(
            "{source}: some lines end with CR LF, some with LF, and weave would make all alike; convert the file first"
        )));
    }
    if lines[1] > 0 {
        out = out.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if bare.len() < text.len() {
        out.insert(0, '\u{feff}');
    }
    Ok(Merged {
        text: out,
        added: added.len(),
        instead,
        takers,
    })
}

/// Has an aspect take methods, one of its name or a new one at the end; returns how many it did not take before.
fn put_instead(
    source: &str,
    document: &mut DocumentMut,
    (instead, level): (Instead, Option<Level>),
    all: &[&Other<'_>],
) -> Result<usize> {
    let (name, mode) = instead.aspect(level);
    let refused = |what: &str| Error::usage(format!("{source}: {what}"));
    let Some(Item::ArrayOfTables(tables)) = document.get_mut("aspect") else {
        return Err(refused(
            "write aspects as `[[aspect]]`, so that one can be added",
        ));
    };
    let is =
        |table: &Table, key: &str, text: &str| table.get(key).and_then(Item::as_str) == Some(text);
    let there = tables.iter().position(|table| is(table, "name", &name));
    let Some(there) = there else {
        let mut array = Array::new();
        insert(&mut array, &entries(all), &|entry| taken(entry, all));
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        table.insert("name", Item::Value((&*name).into()));
        table.insert("match", Item::Value(Value::Array(array)));
        table.insert("mode", Item::Value(mode.into()));
        if let Some(level) = level {
            table.insert("level", Item::Value(level.word().into()));
        }
        tables.push(table);
        return Ok(all.len());
    };
    let table = tables.get_mut(there).expect("it is there");
    if !is(table, "mode", mode) {
        return Err(refused(&format!(
            "the aspect `{name}` has another `mode`; give it another name"
        )));
    }
    if table.get("level").and_then(Item::as_str) != level.map(Level::word) {
        return Err(refused(&format!(
            "the aspect `{name}` has another `level`; give it another name"
        )));
    }
    let Some(Item::Value(Value::Array(array))) = table.get_mut("match") else {
        return Err(refused(&format!(
            "the aspect `{name}` has a `match` in a form that cannot be added to"
        )));
    };
    let known: BTreeSet<Entry> = array.iter().filter_map(entry_of).collect();
    let new: Vec<&Entry> = (entries(all).into_iter())
        .filter(|&entry| !known.contains(entry))
        .collect();
    insert(array, &new, &|entry| taken(entry, all));
    Ok(new.len())
}

fn entries<'e>(all: &[&Other<'e>]) -> Vec<&'e Entry> {
    all.iter().map(|one| one.entry).collect()
}

/// A table of `match`: it takes the method in spite of its size, and whatever kind it is of.
fn taken(entry: &Entry, all: &[&Other<'_>]) -> Value {
    let mut value = value_of(entry);
    let kinds = all
        .iter()
        .find(|one| one.entry == entry)
        .map(|one| &one.kinds);
    if let Value::InlineTable(table) = &mut value {
        table.insert("min-size", Value::from(0));
        if let Some(kinds) = kinds.filter(|kinds| !kinds.is_empty()) {
            table.insert("kind", Value::Array(kinds.iter().copied().collect()));
        }
        table.fmt();
    }
    value
}

fn aspects(document: &mut DocumentMut) -> Vec<&mut dyn TableLike> {
    match document.get_mut("aspect") {
        Some(Item::ArrayOfTables(tables)) => {
            let tables = tables.iter_mut().map(|table| table as &mut dyn TableLike);
            tables.collect()
        }
        Some(Item::Value(Value::Array(array))) => {
            let tables = array.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        _ => Vec::new(),
    }
}

/// Puts entries into an aspect; returns those that were not there.
fn put<'e>(
    source: &str,
    aspect: &mut dyn TableLike,
    entries: &[&'e Entry],
) -> Result<Vec<&'e Entry>> {
    let there: BTreeSet<Entry> = match aspect.get("exclude") {
        Some(Item::Value(Value::Array(array))) => array.iter().filter_map(entry_of).collect(),
        Some(Item::Value(one)) => entry_of(one).into_iter().collect(),
        _ => BTreeSet::new(),
    };
    let new = entries.iter().filter(|&&entry| !there.contains(entry));
    let new: Vec<&Entry> = new.copied().collect();
    if new.is_empty() {
        return Ok(new);
    }
    let name = aspect.get("name").and_then(Item::as_str);
    let named = name.map_or_else(|| "an aspect".to_owned(), |name| format!("aspect `{name}`"));
    if aspect.get("exclude").is_none() {
        aspect.insert("exclude", Item::Value(Value::Array(Array::new())));
    }
    if let Some(Item::Value(value)) = aspect.get_mut("exclude") {
        if let Value::InlineTable(one) = value {
            *value = Value::Array(list_of(one));
        }
        if let Value::Array(array) = value {
            insert(array, &new, &value_of);
            return Ok(new);
        }
    }
    Err(Error::usage(format!(
        "{source}: {named} has an `exclude` in a form that cannot be added to; write it as `exclude = [{{ .. }}]`"
    )))
}

/// A list of the one table, which keeps its text.
fn list_of(one: &mut InlineTable) -> Array {
    let mut array = Array::new();
    *array.decor_mut() = one.decor().clone();
    let mut table = one.clone();
    table.decor_mut().set_prefix(format!("\n{INDENT}"));
    table.decor_mut().set_suffix("");
    array.push_formatted(Value::InlineTable(table));
    array.set_trailing("\n");
    array.set_trailing_comma(true);
    array
}

/// Puts entries, which are sorted, at their places behind the mark, which is made if it is not there.
fn insert(array: &mut Array, entries: &[&Entry], value_of: &dyn Fn(&Entry) -> Value) {
    let plain = format!("\n{INDENT}");
    let mut first = array.iter().position(|value| prefix(value).contains(MARK));
    let mut place = first.unwrap_or(array.len());
    let mut there: VecDeque<Option<Entry>> = array.iter().skip(place).map(entry_of).collect();
    for entry in entries {
        while let Some(other) = there.front() {
            if other.as_ref().is_some_and(|other| other > *entry) {
                break;
            }
            there.pop_front();
            place += 1;
        }
        let mut own = plain.clone();
        if place == array.len() {
            own = end_of(array) + &plain;
            if first.is_none() {
                own = own + MARK + &plain;
                first = Some(place);
            }
        } else if Some(place) == first
            && let Some(next) = array.get_mut(place)
        {
            own = prefix(next);
            next.decor_mut().set_prefix(&plain);
        }
        let mut value = value_of(entry);
        value.decor_mut().set_prefix(own);
        array.insert_formatted(place, value);
        place += 1;
    }
}

fn prefix(value: &Value) -> String {
    let prefix = value.decor().prefix().and_then(|p| p.as_str());
    prefix.unwrap_or_default().to_owned()
}

/// Takes what stands behind the last element, comments too: it comes in front of the next one, behind a comma.
fn end_of(array: &mut Array) -> String {
    let mut end = String::new();
    let last = array.len().checked_sub(1);
    if let Some(last) = last.and_then(|last| array.get_mut(last)) {
        let suffix = last.decor().suffix().and_then(|s| s.as_str());
        end += suffix.unwrap_or_default();
        last.decor_mut().set_suffix("");
    }
    end += array.trailing().as_str().unwrap_or_default();
    end.truncate(end.trim_end().len());
    array.set_trailing("\n");
    array.set_trailing_comma(true);
    end
}

fn value_of(entry: &Entry) -> Value {
    let mut table = InlineTable::new();
    for (key, values) in entry.keys() {
        let value = match values[..] {
            [one] => Value::from(one),
            _ => Value::Array(values.iter().copied().collect()),
        };
        table.insert(key, value);
    }
    table.fmt();
    Value::InlineTable(table)
}

/// What a table says, if it has the keys of an entry and no others but those of a method that is counted.
fn entry_of(value: &Value) -> Option<Entry> {
    let table = value.as_inline_table()?;
    let text = |key: &str| table.get(key)?.as_str().map(str::to_owned);
    let entry = Entry {
        ty: text("type")?,
        method: match table.get("method")? {
            Value::Array(all) => all
                .iter()
                .map(|m| m.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            one => vec![one.as_str()?.to_owned()],
        },
        params: text("params")?,
        returns: text("returns"),
    };
    let more = ["min-size", "kind"]
        .into_iter()
        .filter(|key| table.contains_key(key));
    (entry.keys().len() + more.count() == table.len()).then_some(entry)
}

#[cfg(test)]
mod tests;
