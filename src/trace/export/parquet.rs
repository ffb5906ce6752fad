//! Apache Parquet: a row a call, columns as in `csv`. Every file has the same schema, whatever its trace holds.

use super::table::{self, Context, Row};
use super::{End, Logical, Named, Process, Sink, Span, Thread};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a group: they are in memory until it is written.
const GROUP: usize = if cfg!(test) { 4 } else { 1 << 17 };

/// Texts that are handed to the encoder at a time: what it takes as one, so that where pages end does not depend on it.
const WINDOW: usize = if cfg!(test) {
    3
} else {
    parquet::file::properties::DEFAULT_WRITE_BATCH_SIZE
};

/// The columns. Times are nanoseconds; `values` has room for arguments and results, as JSON.
const SCHEMA: &str = "message call {
    required binary trace (UTF8);
    required binary command (UTF8);
    required int64 pid;
    optional int64 thread;
    optional binary thread_name (UTF8);
    required binary kind (UTF8);
    optional int64 id;
    optional int64 parent;
    optional int32 depth;
    optional int64 logical;
    required binary type (UTF8);
    required binary method (UTF8);
    required binary descriptor (UTF8);
    required binary artifact (UTF8);
    optional binary source (UTF8);
    optional int32 line;
    required int64 start_ns;
    required int64 start_time (TIMESTAMP(NANOS,true));
    required int64 duration_ns;
    optional int64 self_ns;
    required binary outcome (UTF8);
    optional binary exception_type (UTF8);
    optional binary exception_message (UTF8);
    optional binary values (UTF8);
}";

/// Numbers that hardly repeat, but lie close to those before them: differences are smaller than a dictionary, and sooner made.
const COUNTED: &[&str] = &[
    "id",
    "parent",
    "start_ns",
    "start_time",
    "duration_ns",
    "self_ns",
];

/// Texts that each stretch of a trace has in any order: their least and their greatest tell a reader nothing.
const WORDS: &[&str] = &[
    "kind",
    "type",
    "method",
    "descriptor",
    "artifact",
    "source",
    "outcome",
];

/// The values of a column, with a definition level a row: 1 for a value, 0 for none.
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
    fn put(&mut self, value: T) {
        self.put_option(Some(value));
    }

    fn put_option(&mut self, value: Option<T>) {
        self.defined.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

type Group<'a, 'g> = SerializedRowGroupWriter<'g, Box<dyn Write + Send + 'a>>;

/// Writes a column as the group's next, and empties it.
fn flush<D: DataType>(group: &mut Group, column: &mut Column<D::T>) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    (writer.typed::<D>()).write_batch(&column.values, Some(&column.defined), None)?;
    writer.close()?;
    column.values.clear();
    column.defined.clear();
    Ok(())
}

/// Writes a column of texts as the group's next: of each number the text that `find` has for it, with a number that only
/// equal texts share.
///
/// What the encoder gets is a window of [`WINDOW`] texts. Those that are the same in the next window stay, so that a column that
/// says the same in each row costs no reference counted up and down for each.
fn flush_texts<'t>(
    group: &mut Group,
    numbers: &[u32],
    find: impl Fn(u32) -> Option<(u32, &'t ByteArray)>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    let (mut window, mut held) = (Vec::<ByteArray>::new(), Vec::<u32>::new());
    let mut defined = Vec::new();
    for part in numbers.chunks(WINDOW) {
        defined.clear();
        let mut len = 0;
        for &number in part {
            let found = find(number);
            defined.push(i16::from(found.is_some()));
            let Some((number, text)) = found else {
                continue;
            };
            if len == held.len() {
                window.push(text.clone());
                held.push(number);
            } else if held[len] != number {
                window[len] = text.clone();
                held[len] = number;
            }
            len += 1;
        }
        (writer.typed::<ByteArrayType>()).write_batch(&window[..len], Some(&defined), None)?;
    }
    writer.close()?;
    Ok(())
}

/// Texts by number; equal ones have one number.
#[derive(Default)]
struct Texts {
    all: Vec<ByteArray>,
    numbers: FxHashMap<String, u32>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let new = self.all.len() as u32;
        self.all.push(text.into());
        self.numbers.insert(text.to_owned(), new);
        new
    }

    fn of(&self, number: u32) -> Option<(u32, &ByteArray)> {
        Some((number, &self.all[number as usize]))
    }
}

/// The numbers of a method's texts, and its line.
struct MethodTexts {
    ty: u32,
    method: u32,
    descriptor: u32,
    artifact: u32,
    source: Option<u32>,
    line: Option<i32>,
}

/// Where calls ran: what many rows in a row have in common.
#[derive(Clone, Default)]
struct Place {
    trace: ByteArray,
    command: ByteArray,
    thread_name: Option<ByteArray>,
}

/// The rows that wait.
#[derive(Default)]
struct Columns {
    /// Each row's place, as a number among `places`.
    place: Vec<u32>,
    /// The places of these rows.
    places: Vec<Place>,
    pid: Column<i64>,
    thread: Column<i64>,
    kind: Vec<u32>,
    id: Column<i64>,
    parent: Column<i64>,
    depth: Column<i32>,
    logical: Column<i64>,
    method: Vec<u32>,
    line: Column<i32>,
    start: Column<i64>,
    start_time: Column<i64>,
    duration: Column<i64>,
    own: Column<i64>,
    outcome: Vec<u32>,
    exception_type: Column<ByteArray>,
    exception_message: Column<ByteArray>,
    values: Column<ByteArray>,
}

impl Columns {
    fn write(
        &mut self,
        group: &mut Group,
        texts: &Texts,
        methods: &[MethodTexts],
    ) -> Result<(), ParquetError> {
        let place = |number: u32| &self.places[number as usize];
        let method = |number: u32| &methods[number as usize];
        flush_texts(group, &self.place, |n| Some((n, &place(n).trace)))?;
        flush_texts(group, &self.place, |n| Some((n, &place(n).command)))?;
        flush::<Int64Type>(group, &mut self.pid)?;
        flush::<Int64Type>(group, &mut self.thread)?;
        flush_texts(group, &self.place, |n| {
            Some((n, place(n).thread_name.as_ref()?))
        })?;
        flush_texts(group, &self.kind, |n| texts.of(n))?;
        flush::<Int64Type>(group, &mut self.id)?;
        flush::<Int64Type>(group, &mut self.parent)?;
        flush::<Int32Type>(group, &mut self.depth)?;
        flush::<Int64Type>(group, &mut self.logical)?;
        flush_texts(group, &self.method, |n| texts.of(method(n).ty))?;
        flush_texts(group, &self.method, |n| texts.of(method(n).method))?;
        flush_texts(group, &self.method, |n| texts.of(method(n).descriptor))?;
        flush_texts(group, &self.method, |n| texts.of(method(n).artifact))?;
        flush_texts(group, &self.method, |n| texts.of(method(n).source?))?;
        flush::<Int32Type>(group, &mut self.line)?;
        flush::<Int64Type>(group, &mut self.start)?;
        flush::<Int64Type>(group, &mut self.start_time)?;
        flush::<Int64Type>(group, &mut self.duration)?;
        flush::<Int64Type>(group, &mut self.own)?;
        flush_texts(group, &self.outcome, |n| texts.of(n))?;
        flush::<ByteArrayType>(group, &mut self.exception_type)?;
        flush::<ByteArrayType>(group, &mut self.exception_message)?;
        flush::<ByteArrayType>(group, &mut self.values)?;
        self.place.clear();
        self.places.clear();
        self.kind.clear();
        self.method.clear();
        self.outcome.clear();
        Ok(())
    }
}

pub struct Parquet<'a> {
    out: SerializedFileWriter<Box<dyn Write + Send + 'a>>,
    context: Context,
    /// Where the calls at hand run.
    place: Place,
    /// It is another one than that of the last row.
    moved: bool,
    texts: Texts,
    /// The methods of all processes so far.
    methods: Vec<MethodTexts>,
    /// How many are of processes before the one at hand.
    before: usize,
    columns: Columns,
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// Numbers are signed in the file; times and numbers of calls stay far below 2^63 in a sound trace.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl<'a> Parquet<'a> {
    pub fn new(out: Box<dyn Write + Send + 'a>) -> io::Result<Parquet<'a>> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(io_error)?);
        let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        for column in COUNTED {
            properties = properties
                .set_column_dictionary_enabled((*column).into(), false)
                .set_column_encoding((*column).into(), Encoding::DELTA_BINARY_PACKED);
        }
        for column in WORDS {
            properties =
                properties.set_column_statistics_enabled((*column).into(), EnabledStatistics::None);
        }
        let out = SerializedFileWriter::new(out, schema, Arc::new(properties.build()));
        Ok(Parquet {
            out: out.map_err(io_error)?,
            context: Context::default(),
            place: Place::default(),
            moved: true,
            texts: Texts::default(),
            methods: Vec::new(),
            before: 0,
            columns: Columns::default(),
        })
    }

    fn method(&mut self, method: &Named) {
        let (ty, name, descriptor, artifact, source, line) = table::names(method);
        let texts = &mut self.texts;
        self.methods.push(MethodTexts {
            ty: texts.number(ty),
            method: texts.number(&name),
            descriptor: texts.number(descriptor),
            artifact: texts.number(artifact),
            source: (!source.is_empty()).then(|| texts.number(source)),
            line: i32::try_from(line).ok().filter(|&line| line > 0),
        });
    }

    fn row(&mut self, row: &Row, method: usize) -> io::Result<()> {
        let method = self.before + method;
        let (kind, outcome) = (self.texts.number(row.kind), self.texts.number(row.outcome));
        let c = &mut self.columns;
        if std::mem::take(&mut self.moved) || c.places.is_empty() {
            c.places.push(self.place.clone());
        }
        c.place.push(c.places.len() as u32 - 1);
        c.pid.put(signed(self.context.pid));
        c.thread.put_option(self.context.thread.map(i64::from));
        c.kind.push(kind);
        c.id.put_option(row.span.map(|s| signed(s.id)));
        (c.parent).put_option(row.span.and_then(|s| s.parent).map(signed));
        c.depth.put_option(row.span.map(|s| s.depth as i32));
        c.logical.put_option(row.logical.map(signed));
        c.method.push(method as u32);
        c.line.put_option(self.methods[method].line);
        c.start.put(signed(row.start));
        (c.start_time).put(signed(self.context.origin.saturating_add(row.start)));
        c.duration.put(signed(row.duration));
        c.own.put_option(row.own.map(signed));
        c.outcome.push(outcome);
        (c.exception_type).put_option(row.exception.map(|(ty, _)| ty.into()));
        (c.exception_message).put_option(row.exception.map(|(_, text)| text.into()));
        c.values.put_option(None);
        if c.pid.values.len() >= GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.columns.pid.values.is_empty() {
            return Ok(());
        }
        let mut group = self.out.next_row_group().map_err(io_error)?;
        (self.columns.write(&mut group, &self.texts, &self.methods)).map_err(io_error)?;
        group.close().map_err(io_error)?;
        Ok(())
    }
}

impl Sink for Parquet<'_> {
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()> {
        self.context.process(process);
        self.place = Place {
            trace: self.context.trace.as_str().into(),
            command: self.context.command.as_str().into(),
            thread_name: None,
        };
        self.moved = true;
        self.before = self.methods.len();
        for method in methods {
            self.method(method);
        }
        Ok(())
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        self.method(method);
        Ok(())
    }

    fn thread(&mut self, _: &Process, thread: &Thread) -> io::Result<()> {
        self.context.thread(thread);
        self.place.thread_name = Some(thread.name.into());
        self.moved = true;
        Ok(())
    }

    fn open(&mut self, _: &Span, _: &Named) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, span: &Span, end: &End, _: &Named) -> io::Result<()> {
        self.row(&table::call(span, end), span.method)
    }

    fn logical(&mut self, logical: &Logical, _: &Named) -> io::Result<()> {
        self.context.no_thread();
        self.moved |= self.place.thread_name.take().is_some();
        self.row(&table::logical(logical), logical.method)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.out.finish().map_err(io_error)?;
        self.out.inner_mut().flush()
    }
}
