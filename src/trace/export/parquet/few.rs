//! A column whose rows repeat few values: a dictionary page, then pages of numbers into it ("RLE / bit-packing hybrid" of the
//! format). The crate's writer would hash each row's value; here a row has a number already.

use super::Chunk;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;

/// Rows of a page, as many as the crate has.
const PAGE: usize = if cfg!(test) { 1_000 } else { 20_000 };

/// A key that has no number yet.
const NEW: u32 = u32::MAX;
/// A key that stands for no value.
const NONE: u32 = u32::MAX - 1;

/// Writes a column. Of each row's key `value` says which value it stands for, if any, and `plain` writes such a value out.
/// Keys are small; keys of one value may differ. `statistics` gets the values and how many rows have none.
pub fn encode(
    column: ColumnDescPtr,
    keys: &[u32],
    value: impl Fn(u32) -> Option<u64>,
    plain: impl Fn(u64, &mut Vec<u8>),
    statistics: impl FnOnce(&[u64], u64) -> Statistics,
) -> Result<Chunk> {
    let (numbers, values) = number(keys, value);
    let optional = column.max_def_level() > 0;
    let width = 32 - (values.len() as u32).saturating_sub(1).leading_zeros();
    let mut sink = TrackedWrite::new(Vec::new());
    let mut pages = Pages::new(&mut sink);
    let mut bytes = Vec::new();
    for &value in &values {
        plain(value, &mut bytes);
    }
    pages.dictionary(&bytes, values.len() as u32)?;
    let mut nulls = 0;
    let (mut defined, mut present) = (Vec::new(), Vec::new());
    for page in numbers.chunks(PAGE) {
        let (mut page, rows) = (page, page.len());
        bytes.clear();
        if optional {
            defined.clear();
            defined.extend(page.iter().map(|&number| u32::from(number != NONE)));
            bytes.extend([0; 4]);
            hybrid(&defined, 1, &mut bytes);
            let len = bytes.len() as u32 - 4;
            bytes[..4].copy_from_slice(&len.to_le_bytes());
            present.clear();
            present.extend(page.iter().copied().filter(|&number| number != NONE));
            nulls += (rows - present.len()) as u64;
            page = &present;
        }
        bytes.push(width as u8);
        hybrid(page, width, &mut bytes);
        pages.data(&bytes, rows as u32)?;
    }
    let statistics = statistics(&values, nulls);
    let close = pages.close(column, keys.len(), statistics)?;
    Ok(Chunk::new(sink, close))
}

/// Each row's number, and the values in the order of their numbers.
fn number(keys: &[u32], value: impl Fn(u32) -> Option<u64>) -> (Vec<u32>, Vec<u64>) {
    let (mut known, mut of_value) = (Vec::new(), FxHashMap::default());
    let mut values = Vec::new();
    let mut numbers = Vec::with_capacity(keys.len());
    for &key in keys {
        let at = key as usize;
        if at >= known.len() {
            known.resize(at + 1, NEW);
        }
        if known[at] == NEW {
            known[at] = match value(key) {
                None => NONE,
                Some(value) => *of_value.entry(value).or_insert_with(|| {
                    values.push(value);
                    values.len() as u32 - 1
                }),
            };
        }
        numbers.push(known[at]);
    }
    (numbers, values)
}

/// Numbers of `width` bits: runs of one number, and between them groups of eight, packed.
fn hybrid(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut at, mut packed) = (0, 0);
    while at < numbers.len() {
        let first = numbers[at];
        let run = numbers[at..].iter().take_while(|&&n| n == first).count();
        if run < 8 {
            at = numbers.len().min(at + 8);
            continue;
        }
        pack(&numbers[packed..at], width, out);
        varint((run as u64) << 1, out);
        out.extend(&first.to_le_bytes()[..width.div_ceil(8) as usize]);
        at += run;
        packed = at;
    }
    pack(&numbers[packed..], width, out);
}

/// Whole groups of eight; the last is filled up.
fn pack(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    let (mut bits, mut held) = (0u64, 0);
    for &number in numbers {
        bits |= u64::from(number) << held;
        held += width;
        if held >= 32 {
            out.extend((bits as u32).to_le_bytes());
            bits >>= 32;
            held -= 32;
        }
    }
    out.extend(bits.to_le_bytes());
    out.resize(end, 0);
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes the pages of a column chunk, and counts what its metadata holds: sizes, offsets, encodings.
struct Pages<'a> {
    to: SerializedPageWriter<'a, Vec<u8>>,
    snappy: snap::raw::Encoder,
    /// Bytes as they lie in the file, and before they were compressed.
    sizes: (u64, u64),
    first: Option<u64>,
    count: i32,
    index: OffsetIndexBuilder,
}

impl<'a> Pages<'a> {
    fn new(sink: &'a mut TrackedWrite<Vec<u8>>) -> Pages<'a> {
        Pages {
            to: SerializedPageWriter::new(sink),
            snappy: snap::raw::Encoder::new(),
            sizes: (0, 0),
            first: None,
            count: 0,
            index: OffsetIndexBuilder::new(),
        }
    }

    /// Writes what `page` makes of the compressed bytes.
    fn write(&mut self, bytes: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<PageWriteSpec> {
        let compressed = self.snappy.compress_vec(bytes);
        let compressed = compressed.map_err(|e| ParquetError::External(Box::new(e)))?;
        let page = CompressedPage::new(page(compressed.into()), bytes.len());
        let spec = self.to.write_page(page)?;
        self.sizes.0 += spec.compressed_size as u64;
        self.sizes.1 += spec.uncompressed_size as u64;
        Ok(spec)
    }

    fn dictionary(&mut self, bytes: &[u8], values: u32) -> Result<()> {
        self.write(bytes, |buf| Page::DictionaryPage {
            buf,
            num_values: values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })?;
        Ok(())
    }

    fn data(&mut self, bytes: &[u8], rows: u32) -> Result<()> {
        let spec = self.write(bytes, |buf| Page::DataPage {
            buf,
            num_values: rows,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.first.get_or_insert(spec.offset);
        self.count += 1;
        self.index.append_row_count(i64::from(rows));
        (self.index).append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
        Ok(())
    }

    fn close(
        mut self,
        column: ColumnDescPtr,
        rows: usize,
        statistics: Statistics,
    ) -> Result<ColumnCloseResult> {
        self.to.close()?;
        let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
        let pages = |page_type, encoding, count| PageEncodingStats {
            page_type,
            encoding,
            count,
        };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::SNAPPY)
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_page_encoding_stats(vec![
                pages(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
                pages(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, self.count),
            ])
            .set_total_compressed_size(self.sizes.0 as i64)
            .set_total_uncompressed_size(self.sizes.1 as i64)
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(self.first.unwrap_or(0) as i64)
            .set_statistics(statistics)
            .build()?;
        Ok(ColumnCloseResult {
            bytes_written: self.sizes.0,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(self.index.build()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::record::Field;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Writes a file of one column, in which odd keys stand for what they are and what is above them, and reads it back with the
    /// crate's reader. None: a multiple of ten, where the column is optional.
    fn read_back(keys: &[u32], optional: bool) -> (Vec<Option<i64>>, Vec<Option<i64>>) {
        let value = |key: u32| (!optional || !key.is_multiple_of(10)).then_some(u64::from(key | 1));
        let repetition = if optional { "optional" } else { "required" };
        let schema = format!("message m {{ {repetition} int64 a; }}");
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let column = SchemaDescriptor::new(Arc::clone(&schema)).column(0);
        let plain = |value: u64, out: &mut Vec<u8>| out.extend(value.to_le_bytes());
        let none = |_: &[u64], nulls| Statistics::int64(None, None, None, Some(nulls), false);
        let chunk = encode(column, keys, value, plain, none).unwrap();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = file.next_row_group().unwrap();
        group.append_column(&chunk.bytes, chunk.close).unwrap();
        group.close().unwrap();
        let bytes = Bytes::from(file.into_inner().unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let found = reader.get_row_iter(None).unwrap().map(|row| {
            match row.unwrap().get_column_iter().next().unwrap().1 {
                Field::Long(value) => Some(*value),
                _ => None,
            }
        });
        let wanted = keys.iter().map(|&key| value(key).map(|v| v as i64));
        (found.collect(), wanted.collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read(
            stretches in prop::collection::vec((0u32..700, 1usize..40, any::<bool>()), 1..150),
            optional in any::<bool>(),
        ) {
            let stretch = |(key, len, same): (u32, usize, bool)| {
                (0..len as u32).map(move |at| if same { key } else { (key + at * 37) % 700 })
            };
            let keys: Vec<u32> = stretches.into_iter().flat_map(stretch).collect();
            let (found, wanted) = read_back(&keys, optional);
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn one_value_none_and_very_many_are_read_back() {
        let many: Vec<u32> = (0..70_000).collect();
        for keys in [&[7; 2_500][..], &[10; 2_500], &[7], &many] {
            for optional in [false, true] {
                let (found, wanted) = read_back(keys, optional);
                assert_eq!(found, wanted);
            }
        }
    }
}
