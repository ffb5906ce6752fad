//! Apache Parquet: a row a call, columns as in `csv`. Every file has the same schema, whatever its trace holds.

use super::table::{self, Context, Row};
use super::{End, Logical, Named, Process, Sink, Span, Thread};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a group: they are in memory until it is written.
const GROUP: usize = if cfg!(test) { 4 } else { 1 << 17 };

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

/// The rows that wait.
#[derive(Default)]
struct Columns {
    trace: Column<ByteArray>,
    command: Column<ByteArray>,
    pid: Column<i64>,
    thread: Column<i64>,
    thread_name: Column<ByteArray>,
    kind: Column<ByteArray>,
    id: Column<i64>,
    parent: Column<i64>,
    depth: Column<i32>,
    logical: Column<i64>,
    ty: Column<ByteArray>,
    method: Column<ByteArray>,
    descriptor: Column<ByteArray>,
    artifact: Column<ByteArray>,
    source: Column<ByteArray>,
    line: Column<i32>,
    start: Column<i64>,
    start_time: Column<i64>,
    duration: Column<i64>,
    own: Column<i64>,
    outcome: Column<ByteArray>,
    exception_type: Column<ByteArray>,
    exception_message: Column<ByteArray>,
    values: Column<ByteArray>,
}

impl Columns {
    fn write(&mut self, group: &mut Group) -> Result<(), ParquetError> {
        flush::<ByteArrayType>(group, &mut self.trace)?;
        flush::<ByteArrayType>(group, &mut self.command)?;
        flush::<Int64Type>(group, &mut self.pid)?;
        flush::<Int64Type>(group, &mut self.thread)?;
        flush::<ByteArrayType>(group, &mut self.thread_name)?;
        flush::<ByteArrayType>(group, &mut self.kind)?;
        flush::<Int64Type>(group, &mut self.id)?;
        flush::<Int64Type>(group, &mut self.parent)?;
        flush::<Int32Type>(group, &mut self.depth)?;
        flush::<Int64Type>(group, &mut self.logical)?;
        flush::<ByteArrayType>(group, &mut self.ty)?;
        flush::<ByteArrayType>(group, &mut self.method)?;
        flush::<ByteArrayType>(group, &mut self.descriptor)?;
        flush::<ByteArrayType>(group, &mut self.artifact)?;
        flush::<ByteArrayType>(group, &mut self.source)?;
        flush::<Int32Type>(group, &mut self.line)?;
        flush::<Int64Type>(group, &mut self.start)?;
        flush::<Int64Type>(group, &mut self.start_time)?;
        flush::<Int64Type>(group, &mut self.duration)?;
        flush::<Int64Type>(group, &mut self.own)?;
        flush::<ByteArrayType>(group, &mut self.outcome)?;
        flush::<ByteArrayType>(group, &mut self.exception_type)?;
        flush::<ByteArrayType>(group, &mut self.exception_message)?;
        flush::<ByteArrayType>(group, &mut self.values)
    }
}

/// The texts of a method, shared by its rows.
struct Texts {
    ty: ByteArray,
    method: ByteArray,
    descriptor: ByteArray,
    artifact: ByteArray,
    source: Option<ByteArray>,
    line: Option<i32>,
}

fn texts(method: &Named) -> Texts {
    let (ty, name, descriptor, artifact, source, line) = table::names(method);
    Texts {
        ty: ty.into(),
        method: name.as_str().into(),
        descriptor: descriptor.into(),
        artifact: artifact.into(),
        source: (!source.is_empty()).then(|| source.into()),
        line: i32::try_from(line).ok().filter(|&line| line > 0),
    }
}

pub struct Parquet<'a> {
    out: SerializedFileWriter<Box<dyn Write + Send + 'a>>,
    context: Context,
    trace: ByteArray,
    command: ByteArray,
    thread_name: Option<ByteArray>,
    methods: Vec<Texts>,
    /// `kind`s and `outcome`s that came up.
    words: FxHashMap<String, ByteArray>,
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
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let out = SerializedFileWriter::new(out, schema, Arc::new(properties));
        Ok(Parquet {
            out: out.map_err(io_error)?,
            context: Context::default(),
            trace: ByteArray::default(),
            command: ByteArray::default(),
            thread_name: None,
            methods: Vec::new(),
            words: FxHashMap::default(),
            columns: Columns::default(),
        })
    }

    fn word(&mut self, word: &str) -> ByteArray {
        if let Some(known) = self.words.get(word) {
            return known.clone();
        }
        let new = ByteArray::from(word);
        self.words.insert(word.to_owned(), new.clone());
        new
    }

    fn row(&mut self, row: &Row, method: usize) -> io::Result<()> {
        let (kind, outcome) = (self.word(row.kind), self.word(row.outcome));
        let (c, texts) = (&mut self.columns, &self.methods[method]);
        c.trace.put(self.trace.clone());
        c.command.put(self.command.clone());
        c.pid.put(signed(self.context.pid));
        c.thread.put_option(self.context.thread.map(i64::from));
        c.thread_name.put_option(self.thread_name.clone());
        c.kind.put(kind);
        c.id.put_option(row.span.map(|s| signed(s.id)));
        (c.parent).put_option(row.span.and_then(|s| s.parent).map(signed));
        c.depth.put_option(row.span.map(|s| s.depth as i32));
        c.logical.put_option(row.logical.map(signed));
        c.ty.put(texts.ty.clone());
        c.method.put(texts.method.clone());
        c.descriptor.put(texts.descriptor.clone());
        c.artifact.put(texts.artifact.clone());
        c.source.put_option(texts.source.clone());
        c.line.put_option(texts.line);
        c.start.put(signed(row.start));
        (c.start_time).put(signed(self.context.origin.saturating_add(row.start)));
        c.duration.put(signed(row.duration));
        c.own.put_option(row.own.map(signed));
        c.outcome.put(outcome);
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
        self.columns.write(&mut group).map_err(io_error)?;
        group.close().map_err(io_error)?;
        Ok(())
    }
}

impl Sink for Parquet<'_> {
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()> {
        self.context.process(process);
        self.trace = self.context.trace.as_str().into();
        self.command = self.context.command.as_str().into();
        self.thread_name = None;
        self.methods = methods.iter().map(texts).collect();
        Ok(())
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        self.methods.push(texts(method));
        Ok(())
    }

    fn thread(&mut self, _: &Process, thread: &Thread) -> io::Result<()> {
        self.context.thread(thread);
        self.thread_name = Some(thread.name.into());
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
        self.thread_name = None;
        self.row(&table::logical(logical), logical.method)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.out.finish().map_err(io_error)?;
        self.out.inner_mut().flush()
    }
}
