//! Apache Parquet: a row a call, columns as in `csv`. Every file has the same schema, whatever its trace holds.
//!
//! ```text
//! calls -> Rows (a group) -> a task a column, on any thread -> Chunk -> the file, in order
//! ```

mod few;
mod rows;

use super::table::{self, Row};
use super::{End, Logical, Named, Process, Sink, Span, Task, Thread, Unrecorded};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};
use rows::{Encoder, Names, Place, Rows, Texts};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

/// Rows of a group.
const GROUP: usize = if cfg!(test) { 4 } else { 1 << 17 };

/// Groups that are encoded while calls are read. Rows of a group take 10 MB.
const UNDER_WAY: usize = 2;

/// The columns. Times are nanoseconds, but for `start_time`: Spark reads no timestamp of nanoseconds. `values` has arguments and results, as JSON.
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
    required int64 start_time (TIMESTAMP(MICROS,true));
    required int64 start_unix_ns;
    optional int64 duration_ns;
    optional int64 self_ns;
    optional binary outcome (UTF8);
    optional binary exception_type (UTF8);
    optional binary exception_message (UTF8);
    optional binary values (UTF8);
    optional int64 calls;
    optional int64 errors;
    optional int64 min_ns;
    optional int64 max_ns;
    optional int64 weight;
}";

/// Numbers that hardly repeat, but lie close to those before them: differences are smaller than a dictionary, and sooner made.
const COUNTED: &[&str] = &[
    "id",
    "parent",
    "start_ns",
    "start_time",
    "start_unix_ns",
    "duration_ns",
    "self_ns",
];

/// Of these, those that Snappy makes smaller by a tenth at best.
const DENSE: &[&str] = &["duration_ns", "self_ns"];

/// What columns are like.
struct Layout {
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
}

/// A column of a group, as it lies in the file.
struct Chunk {
    bytes: Bytes,
    close: ColumnCloseResult,
}

impl Chunk {
    fn new(sink: TrackedWrite<Vec<u8>>, close: ColumnCloseResult) -> Chunk {
        let bytes = sink.into_inner().expect("memory takes all").into();
        Chunk { bytes, close }
    }
}

type Made = (usize, Result<Chunk, ParquetError>);

/// A group whose columns are made.
struct Group {
    rows: Arc<Rows>,
    made: Receiver<Made>,
}

pub struct Parquet<'a> {
    out: SerializedFileWriter<Box<dyn Write + Send + 'a>>,
    layout: Arc<Layout>,
    spawn: fn(Task),
    place: Place,
    /// It is another one than that of the last row.
    moved: bool,
    texts: Texts,
    /// The names of all processes so far.
    names: Arc<Names>,
    /// How many methods are of processes before the one at hand.
    before: usize,
    rows: Rows,
    under_way: VecDeque<Group>,
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

impl<'a> Parquet<'a> {
    pub fn new(out: Box<dyn Write + Send + 'a>, spawn: fn(Task)) -> io::Result<Parquet<'a>> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(io_error)?);
        let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        for column in COUNTED {
            properties = properties
                .set_column_dictionary_enabled((*column).into(), false)
                .set_column_encoding((*column).into(), Encoding::DELTA_BINARY_PACKED);
        }
        for column in DENSE {
            properties =
                properties.set_column_compression((*column).into(), Compression::UNCOMPRESSED);
        }
        let layout = Layout {
            schema: Arc::new(SchemaDescriptor::new(Arc::clone(&schema))),
            properties: Arc::new(properties.build()),
        };
        let out = SerializedFileWriter::new(out, schema, Arc::clone(&layout.properties));
        Ok(Parquet {
            out: out.map_err(io_error)?,
            layout: Arc::new(layout),
            spawn,
            place: Place::default(),
            moved: true,
            texts: Texts::default(),
            names: Arc::default(),
            before: 0,
            rows: Rows::default(),
            under_way: VecDeque::new(),
        })
    }

    #[inline]
    fn row(&mut self, row: &Row, method: usize) -> io::Result<()> {
        if std::mem::take(&mut self.moved) || self.rows.is_empty() {
            self.rows.move_to(&self.place);
        }
        self.rows.put(row, self.before + method);
        match self.rows.len() >= GROUP {
            true => self.encode(),
            false => Ok(()),
        }
    }

    /// Has the group at hand encoded, and begins another one.
    fn encode(&mut self) -> io::Result<()> {
        let next = match self.under_way.len() >= UNDER_WAY {
            true => self.write()?,
            false => Rows::default(),
        };
        let rows = Arc::new(std::mem::replace(&mut self.rows, next));
        let (sender, made) = mpsc::channel();
        for number in 0..self.layout.schema.num_columns() {
            let (layout, names) = (Arc::clone(&self.layout), Arc::clone(&self.names));
            let (rows, sender) = (Arc::clone(&rows), sender.clone());
            (self.spawn)(Box::new(move || {
                let encoder = Encoder {
                    layout: &layout,
                    names: &names,
                    rows: &rows,
                };
                let chunk = encoder.column(number);
                // Rows are free again when their columns are there.
                drop(rows);
                // Nobody takes it where the file cannot be written any more.
                let _ = sender.send((number, chunk));
            }));
        }
        self.under_way.push_back(Group { rows, made });
        Ok(())
    }

    /// Writes the group that was begun first; its rows' memory is free for others.
    fn write(&mut self) -> io::Result<Rows> {
        let Some(Group { rows, made }) = self.under_way.pop_front() else {
            return Ok(Rows::default());
        };
        let mut chunks: Vec<Option<Chunk>> = Vec::new();
        chunks.resize_with(self.layout.schema.num_columns(), || None);
        for (number, chunk) in made {
            chunks[number] = Some(chunk.map_err(io_error)?);
        }
        let mut group = self.out.next_row_group().map_err(io_error)?;
        for chunk in chunks {
            let Chunk { bytes, close } =
                chunk.ok_or_else(|| io::Error::other("a column is missing"))?;
            group.append_column(&bytes, close).map_err(io_error)?;
        }
        group.close().map_err(io_error)?;
        let mut rows = Arc::into_inner(rows).unwrap_or_default();
        rows.clear();
        Ok(rows)
    }
}

impl Sink for Parquet<'_> {
    fn process(&mut self, process: &Process, methods: &[Named]) -> io::Result<()> {
        let names = Arc::make_mut(&mut self.names);
        let header = process.trace.header();
        self.place = Place {
            trace: self.texts.number(process.trace.name(), names),
            command: self.texts.number(&header.command, names),
            pid: header.pid,
            origin: header.origin,
            thread: None,
        };
        self.moved = true;
        self.before = names.methods();
        for method in methods {
            self.texts.method(method, names);
        }
        Ok(())
    }

    fn unnamed(&mut self, method: &Named) -> io::Result<()> {
        (self.texts).method(method, Arc::make_mut(&mut self.names));
        Ok(())
    }

    fn thread(&mut self, _: &Process, thread: &Thread) -> io::Result<()> {
        let name = (self.texts).number(thread.name, Arc::make_mut(&mut self.names));
        self.place.thread = Some((thread.number, name));
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
        self.moved |= self.place.thread.take().is_some();
        self.row(&table::logical(logical), logical.method)
    }

    fn unrecorded(&mut self, unrecorded: &Unrecorded, _: &Named) -> io::Result<()> {
        self.moved |= self.place.thread.take().is_some();
        self.row(&table::unrecorded(unrecorded), unrecorded.method)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.encode()?;
        }
        while !self.under_way.is_empty() {
            self.write()?;
        }
        self.out.finish().map_err(io_error)?;
        self.out.inner_mut().flush()
    }
}
