//! Packing and unpacking: deflate and CRC-32, by libdeflate.

use super::Method;
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};
use std::ops::Range;

/// How well changed members are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// As well as level 6 of zlib, with which most zip files are made.
    #[default]
    Thorough,
    /// Faster, and 1 to 3 percent larger.
    Fast,
}

/// The level of [`Effort::Thorough`] (libdeflate's scale, 1 to 12).
pub const DEFLATE_LEVEL: i32 = 6;

/// The level of [`Effort::Fast`] for members of more than [`SMALL`] bytes.
const FAST_LEVEL: i32 = 4;

/// The level for smaller ones: up to a few KiB it packs as well as any, and its tables, which are
/// cleared for each member, are the smallest.
const SMALL_LEVEL: i32 = 1;

/// Up to here a member is small.
///
/// Over the 26,605 classes of a woven JDK 17, by the size of the class in bytes, level 1 takes this much less time than
/// level 4 and gives this much more output: to 2,000 27 % and nothing, to 4,000 40 % and 0.6 %, to 10,000
/// 29 % and 1.3 %, to 20,000 45 % and 2 %, above 46 % and 4.4 %. From 16 KiB up to here is worth 7 % of the
/// CPU of a whole weave and costs 0.7 % of its output. (`cargo bench --profile release --bench container -- some.jar deflate`
/// measures the levels over a whole jar.)
const SMALL: usize = 48 << 10;

/// The most that deflate can expand to: a match of 258 bytes takes at least two bits, so a byte
/// of packed data stands for at most 1,032 bytes.
const MAX_RATIO: u64 = 1032;

/// Reusable state for inflating and deflating; one a thread.
pub struct Codec {
    inflate: Decompressor,
    thorough: Deflate,
    small: Deflate,
    large: Deflate,
}

/// A level, and its state, which is made on first use: many threads only ever inflate.
struct Deflate(i32, Option<Compressor>);

impl Deflate {
    fn get(&mut self) -> &mut Compressor {
        let level = CompressionLvl::new(self.0).expect("a level of libdeflate's range");
        self.1.get_or_insert_with(|| Compressor::new(level))
    }
}

/// New data for a member, packed and ready to write; made on any thread.
#[derive(Clone, Debug)]
pub struct Packed<D = Vec<u8>> {
    /// How it is packed.
    pub method: Method,
    /// CRC-32 of the unpacked data.
    pub crc32: u32,
    /// Length of the unpacked data.
    pub size: u64,
    /// The packed data, or where it is.
    pub data: D,
}

impl Codec {
    /// Fresh state.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Codec {
        Codec::with_level(DEFLATE_LEVEL)
    }

    /// Fresh state that packs thoroughly at another level; outside 1 to 12 the nearest of these.
    pub fn with_level(level: i32) -> Codec {
        Codec {
            inflate: Decompressor::new(),
            thorough: Deflate(level.clamp(1, 12), None),
            small: Deflate(SMALL_LEVEL, None),
            large: Deflate(FAST_LEVEL, None),
        }
    }

    /// Inflates `packed` into `out`, whose new length is `size`. The caller has bounded `size`.
    pub(super) fn inflate(
        &mut self,
        packed: &[u8],
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        // No `clear` first: only what is longer than before needs zeroes.
        out.resize(size, 0);
        match self.inflate.deflate_decompress(packed, out) {
            Ok(n) if n == size => Ok(()),
            Ok(_) => Err("inflates to less than the directory says"),
            Err(DecompressionError::InsufficientSpace) => {
                Err("inflates to more than the directory says")
            }
            Err(DecompressionError::BadData) => Err("is no valid deflate stream"),
        }
    }

    fn deflate(&mut self, effort: Effort, data: &[u8], out: &mut Vec<u8>) {
        let deflate = match (effort, data.len()) {
            (Effort::Thorough, _) => self.thorough.get(),
            (Effort::Fast, ..=SMALL) => self.small.get(),
            (Effort::Fast, _) => self.large.get(),
        };
        let start = out.len();
        out.resize(start + deflate.deflate_compress_bound(data.len()), 0);
        let n = deflate
            .deflate_compress(data, &mut out[start..])
            .expect("the buffer has the size that libdeflate asks for");
        out.truncate(start + n);
    }
}

impl Packed {
    /// Packs data: stored, or else deflated (a method that cannot be written becomes deflate).
    pub fn new(method: Method, data: &[u8], codec: &mut Codec) -> Packed {
        Packed::with_effort(Effort::default(), method, data, codec)
    }

    /// The same with an effort.
    pub fn with_effort(effort: Effort, method: Method, data: &[u8], codec: &mut Codec) -> Packed {
        let mut out = Vec::new();
        let packed = Packed::append(effort, method, data, codec, &mut out);
        out.shrink_to_fit();
        packed.with(out)
    }
}

impl<D> Packed<D> {
    /// The same with other data.
    fn with<E>(&self, data: E) -> Packed<E> {
        Packed {
            method: self.method,
            crc32: self.crc32,
            size: self.size,
            data,
        }
    }
}

impl Packed<Range<usize>> {
    /// Packs like [`Packed::with_effort`], behind what is in `out` already.
    pub fn append(
        effort: Effort,
        method: Method,
        data: &[u8],
        codec: &mut Codec,
        out: &mut Vec<u8>,
    ) -> Self {
        let start = out.len();
        let method = match method {
            Method::Stored => {
                out.extend_from_slice(data);
                Method::Stored
            }
            Method::Deflated | Method::Other(_) => {
                codec.deflate(effort, data, out);
                Method::Deflated
            }
        };
        Packed {
            method,
            crc32: libdeflater::crc32(data),
            size: data.len() as u64,
            data: start..out.len(),
        }
    }

    /// With the data itself, from where it was appended.
    pub fn of<'o>(&self, out: &'o [u8]) -> Packed<&'o [u8]> {
        self.with(&out[self.data.clone()])
    }
}

/// Whether deflated data of `packed` bytes can hold `size` bytes.
pub(super) fn plausible(packed: u64, size: u64) -> bool {
    size <= packed.saturating_mul(MAX_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deflated_inflates_again_with_reused_state() {
        let mut codec = Codec::new();
        let mut out = Vec::new();
        for data in [&b"hello hello hello hello"[..], b"", &[7; 100_000]] {
            let packed = Packed::new(Method::Deflated, data, &mut codec);
            assert!(plausible(packed.data.len() as u64, packed.size));
            codec.inflate(&packed.data, data.len(), &mut out).unwrap();
            assert_eq!(out, data);
        }
    }

    #[test]
    fn wrong_sizes_and_bad_streams_are_told_apart() {
        let mut codec = Codec::new();
        let mut out = Vec::new();
        let packed = Packed::new(Method::Deflated, b"0123456789", &mut codec).data;
        let mut inflate = |packed: &[u8], size| codec.inflate(packed, size, &mut out).unwrap_err();
        assert_eq!(
            inflate(&packed, 11),
            "inflates to less than the directory says"
        );
        assert_eq!(
            inflate(&packed, 9),
            "inflates to more than the directory says"
        );
        assert_eq!(inflate(&[0xff; 8], 9), "is no valid deflate stream");
    }

    #[test]
    fn the_densest_stream_is_plausible() {
        let zeros = vec![0; 50_000_000];
        let mut packed = Vec::new();
        Codec::with_level(12).deflate(Effort::Thorough, &zeros, &mut packed);
        assert!(plausible(packed.len() as u64, zeros.len() as u64));
        assert!(!plausible(0, 1));
        assert!(plausible(0, 0));
    }
}
