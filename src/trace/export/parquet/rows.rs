//! The rows of a group, and what each column holds of them.

use super::few;
use super::{Chunk, Layout};
use crate::trace::export::Named;
use crate::trace::export::table::{self, Row};
use parquet::basic::ConvertedType;
use parquet::column::writer::{get_column_writer, get_typed_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What `kind` and `outcome` say; a row holds the place of its word here. The first is none.
const WORDS: &[&str] = &[
    "",
    "counted",
    "aggregated",
    "call",
    "piece",
    "logical",
    "exit",
    "error",
    "lost",
    "running",
    "left-out",
];

/// The longest text that statistics hold.
const LEAST_AND_GREATEST: usize = 64;

/// Texts by number; equal ones have one number.
#[derive(Default)]
pub struct Texts {
    numbers: FxHashMap<Arc<str>, u32>,
}

/// What rows refer to by number.
#[derive(Clone, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    methods: Vec<Method>,
}

/// The numbers of a method's texts, and its line.
#[derive(Clone)]
struct Method {
    ty: u32,
    name: u32,
    descriptor: u32,
    artifact: u32,
    source: Option<u32>,
    line: Option<u32>,
}

impl Texts {
    pub fn number(&mut self, text: &str, names: &mut Names) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let new = names.texts.len() as u32;
        let text: Arc<str> = text.into();
        names.texts.push(Arc::clone(&text));
        self.numbers.insert(text, new);
        new
    }

    pub fn method(&mut self, method: &Named, names: &mut Names) {
        let table::Names {
            type_name: ty,
            name,
            descriptor,
            artifact,
            source,
            line,
        } = table::names(method);
        let method = Method {
            ty: self.number(ty, names),
            name: self.number(&name, names),
            descriptor: self.number(descriptor, names),
            artifact: self.number(artifact, names),
            source: (!source.is_empty()).then(|| self.number(source, names)),
            line: Some(line).filter(|&line| line > 0 && line <= i32::MAX as u32),
        };
        names.methods.push(method);
    }
}

impl Names {
    pub fn methods(&self) -> usize {
        self.methods.len()
    }
}

/// Where calls ran: what many rows in a row have in common.
#[derive(Clone, Default)]
pub struct Place {
    pub trace: u32,
    pub command: u32,
    pub pid: u64,
    /// Wall-clock time at the trace's origin.
    pub origin: u64,
    /// Number and name of the thread.
    pub thread: Option<(u32, u32)>,
}

/// Values that not each row has, with a definition level a row: 1 for a value, 0 for none.
struct Column<T> {
    values: Vec<T>,
    defined: Vec<i16>,
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column {
            values: Vec::new(),
            defined: Vec::new(),
        }
    }
}

impl<T> Column<T> {
    #[inline]
    fn put(&mut self, value: Option<T>) {
        self.defined.push(i16::from(value.is_some()));
        if let Some(value) = value {
            self.values.push(value);
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.defined.clear();
    }
}

/// The rows of a group.
#[derive(Default)]
pub struct Rows {
    /// Each row's place, as a number among `places`.
    place: Vec<u32>,
    places: Vec<Place>,
    kind: Vec<u32>,
    id: Column<i64>,
    parent: Column<i64>,
    /// One more than the depth; 0 for none.
    depth: Vec<u32>,
    logical: Column<i64>,
    method: Vec<u32>,
    start: Vec<i64>,
    duration: Column<i64>,
    own: Column<i64>,
    outcome: Vec<u32>,
    exception_type: Column<ByteArray>,
    exception_message: Column<ByteArray>,
    values: Column<ByteArray>,
    calls: Column<i64>,
    errors: Column<i64>,
    min: Column<i64>,
    max: Column<i64>,
    weight: Column<i64>,
}

/// Numbers are signed in the file; times and numbers of calls stay far below 2^63 in a sound trace.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn word(text: &str) -> u32 {
    let at = WORDS.iter().position(|&word| word == text);
    at.expect("a word of this list") as u32
}

impl Rows {
    pub fn len(&self) -> usize {
        self.place.len()
    }

    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// The rows that follow are of another place.
    pub fn move_to(&mut self, place: &Place) {
        self.places.push(place.clone());
    }

    #[inline]
    pub fn put(&mut self, row: &Row, method: usize) {
        self.place.push(self.places.len() as u32 - 1);
        self.kind.push(word(row.kind));
        self.id.put(row.span.map(|s| signed(s.id)));
        self.parent.put(row.parent.map(signed));
        self.depth.push(row.span.map_or(0, |s| s.depth + 1));
        self.logical.put(row.logical.map(signed));
        self.method.push(method as u32);
        self.start.push(signed(row.start));
        self.duration.put(row.duration.map(signed));
        self.own.put(row.own.map(signed));
        self.outcome.push(word(row.outcome));
        (self.exception_type).put(row.exception.map(|told| told.type_name.into()));
        (self.exception_message).put(row.exception.map(|told| told.message.into()));
        self.values
            .put(row.values().map(|text| text.into_bytes().into()));
        self.calls.put(row.calls.map(signed));
        self.errors.put(row.errors.map(signed));
        self.min.put(row.min.map(signed));
        self.max.put(row.max.map(signed));
        self.weight.put(row.weight.map(signed));
    }

    pub fn clear(&mut self) {
        let Rows {
            place,
            places,
            kind,
            id,
            parent,
            depth,
            logical,
            method,
            start,
            duration,
            own,
            outcome,
            exception_type,
            exception_message,
            values,
            calls,
            errors,
            min,
            max,
            weight,
        } = self;
        for numbers in [place, kind, depth, method, outcome] {
            numbers.clear();
        }
        places.clear();
        start.clear();
        for column in [
            id, parent, logical, duration, own, calls, errors, min, max, weight,
        ] {
            column.clear();
        }
        for texts in [exception_type, exception_message, values] {
            texts.clear();
        }
    }
}

/// The rows of a group on their way into columns.
pub struct Encoder<'r> {
    pub layout: &'r Layout,
    pub names: &'r Names,
    pub rows: &'r Rows,
}

impl Encoder<'_> {
    /// Writes the column of this number.
    pub fn column(&self, number: usize) -> Result<Chunk> {
        let rows = self.rows;
        let place = |key: u32| &rows.places[key as usize];
        let method = |key: u32| &self.names.methods[key as usize];
        match self.layout.schema.column(number).name() {
            "trace" => self.texts(number, &rows.place, |key| Some(place(key).trace)),
            "command" => self.texts(number, &rows.place, |key| Some(place(key).command)),
            "pid" => self.longs(number, &rows.place, |key| Some(place(key).pid)),
            "thread" => self.longs(number, &rows.place, |key| {
                Some(u64::from(place(key).thread?.0))
            }),
            "thread_name" => self.texts(number, &rows.place, |key| Some(place(key).thread?.1)),
            "kind" => self.words(number, &rows.kind),
            "id" => self.numbers(number, &rows.id),
            "parent" => self.numbers(number, &rows.parent),
            "depth" => self.ints(number, &rows.depth, |key| key.checked_sub(1)),
            "logical" => self.numbers(number, &rows.logical),
            "type" => self.texts(number, &rows.method, |key| Some(method(key).ty)),
            "method" => self.texts(number, &rows.method, |key| Some(method(key).name)),
            "descriptor" => self.texts(number, &rows.method, |key| Some(method(key).descriptor)),
            "artifact" => self.texts(number, &rows.method, |key| Some(method(key).artifact)),
            "source" => self.texts(number, &rows.method, |key| method(key).source),
            "line" => self.ints(number, &rows.method, |key| method(key).line),
            "start_ns" => self.typed::<Int64Type>(number, &rows.start, None),
            "start_time" => self.starts(number, 1000),
            "start_unix_ns" => self.starts(number, 1),
            "duration_ns" => self.numbers(number, &rows.duration),
            "self_ns" => self.numbers(number, &rows.own),
            "outcome" => self.words(number, &rows.outcome),
            "exception_type" => self.messages(number, &rows.exception_type),
            "exception_message" => self.messages(number, &rows.exception_message),
            "values" => self.messages(number, &rows.values),
            "calls" => self.numbers(number, &rows.calls),
            "errors" => self.numbers(number, &rows.errors),
            "min_ns" => self.numbers(number, &rows.min),
            "max_ns" => self.numbers(number, &rows.max),
            _ => self.numbers(number, &rows.weight),
        }
    }

    /// When calls began, since 1970-01-01 UTC, in units of so many nanoseconds.
    fn starts(&self, number: usize, unit: u64) -> Result<Chunk> {
        let rows = self.rows;
        let time = |(&start, &key): (&i64, &u32)| {
            let origin = rows.places[key as usize].origin;
            signed(origin.saturating_add(start as u64) / unit)
        };
        let times: Vec<i64> = rows.start.iter().zip(&rows.place).map(time).collect();
        self.typed::<Int64Type>(number, &times, None)
    }

    fn typed<D: DataType>(
        &self,
        number: usize,
        values: &[D::T],
        defined: Option<&[i16]>,
    ) -> Result<Chunk> {
        let mut sink = TrackedWrite::new(Vec::new());
        let column = self.layout.schema.column(number);
        let properties = Arc::clone(&self.layout.properties);
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let mut writer = get_typed_column_writer::<D>(get_column_writer(column, properties, pages));
        writer.write_batch(values, defined, None)?;
        let close = writer.close()?;
        Ok(Chunk::new(sink, close))
    }

    fn numbers(&self, number: usize, column: &Column<i64>) -> Result<Chunk> {
        self.typed::<Int64Type>(number, &column.values, Some(&column.defined))
    }

    fn messages(&self, number: usize, column: &Column<ByteArray>) -> Result<Chunk> {
        self.typed::<ByteArrayType>(number, &column.values, Some(&column.defined))
    }

    /// Texts of which keys tell the numbers.
    fn texts(
        &self,
        number: usize,
        keys: &[u32],
        value: impl Fn(u32) -> Option<u32>,
    ) -> Result<Chunk> {
        let text = |number: u64| &*self.names.texts[number as usize];
        self.few_texts(number, keys, |key| value(key).map(u64::from), text)
    }

    fn words(&self, number: usize, keys: &[u32]) -> Result<Chunk> {
        self.few_texts(
            number,
            keys,
            |key| Some(u64::from(key)).filter(|&word| word > 0),
            |word| WORDS[word as usize],
        )
    }

    fn few_texts<'t>(
        &self,
        number: usize,
        keys: &[u32],
        value: impl Fn(u32) -> Option<u64>,
        text: impl Fn(u64) -> &'t str,
    ) -> Result<Chunk> {
        let plain = |value: u64, out: &mut Vec<u8>| {
            let text = text(value).as_bytes();
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text);
        };
        let column = self.layout.schema.column(number);
        debug_assert_eq!(column.converted_type(), ConvertedType::UTF8);
        few::encode(column, keys, value, plain, |values, nulls| {
            let texts = || values.iter().map(|&value| text(value));
            let (least, greatest) = match texts().all(|t| t.len() <= LEAST_AND_GREATEST) {
                true => (texts().min(), texts().max()),
                false => (None, None),
            };
            let bytes = |text: Option<&str>| text.map(ByteArray::from);
            Statistics::byte_array(bytes(least), bytes(greatest), None, Some(nulls), false)
        })
    }

    fn longs(
        &self,
        number: usize,
        keys: &[u32],
        value: impl Fn(u32) -> Option<u64>,
    ) -> Result<Chunk> {
        let plain = |value: u64, out: &mut Vec<u8>| out.extend(signed(value).to_le_bytes());
        let column = self.layout.schema.column(number);
        few::encode(column, keys, value, plain, |values, nulls| {
            let (least, greatest) = (values.iter().min(), values.iter().max());
            let (least, greatest) = (least.map(|&v| signed(v)), greatest.map(|&v| signed(v)));
            Statistics::int64(least, greatest, None, Some(nulls), false)
        })
    }

    fn ints(
        &self,
        number: usize,
        keys: &[u32],
        value: impl Fn(u32) -> Option<u32>,
    ) -> Result<Chunk> {
        let plain = |value: u64, out: &mut Vec<u8>| out.extend((value as i32).to_le_bytes());
        let column = self.layout.schema.column(number);
        let value = |key| value(key).map(u64::from);
        few::encode(column, keys, value, plain, |values, nulls| {
            let (least, greatest) = (values.iter().min(), values.iter().max());
            let (least, greatest) = (least.map(|&v| v as i32), greatest.map(|&v| v as i32));
            Statistics::int32(least, greatest, None, Some(nulls), false)
        })
    }
}
