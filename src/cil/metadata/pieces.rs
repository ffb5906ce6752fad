//! Bytes in pieces. Old ones are borrowed from the input, so only new ones take memory.

use std::ops::Deref;
use std::sync::Arc;

/// A run of bytes.
pub enum Piece<'a> {
    /// As the input has them.
    Borrowed(&'a [u8]),
    /// New.
    Owned(Vec<u8>),
    /// New, and needed elsewhere, too.
    Shared(Arc<Vec<u8>>),
}

impl Deref for Piece<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Piece::Borrowed(bytes) => bytes,
            Piece::Owned(bytes) => bytes,
            Piece::Shared(bytes) => bytes,
        }
    }
}

/// Zeros to fill up with.
const ZEROS: &[u8] = &[0; 16];

/// Pieces that follow one another.
#[derive(Default)]
pub struct Pieces<'a> {
    list: Vec<Piece<'a>>,
    len: usize,
}

impl<'a> Pieces<'a> {
    /// Bytes of all pieces.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a piece; returns its number, by which [`Pieces::owned`] knows it.
    pub fn push(&mut self, piece: Piece<'a>) -> usize {
        self.len += piece.len();
        self.list.push(piece);
        self.list.len() - 1
    }

    /// Appends zeros up to a multiple of `align`, which is at most 16.
    pub fn align(&mut self, align: usize) {
        let missing = self.len.next_multiple_of(align) - self.len;
        if missing > 0 {
            self.push(Piece::Borrowed(&ZEROS[..missing]));
        }
    }

    /// The bytes of a piece that was pushed as [`Piece::Owned`]; its length must stay.
    pub fn owned(&mut self, number: usize) -> &mut [u8] {
        match &mut self.list[number] {
            Piece::Owned(bytes) => bytes,
            Piece::Borrowed(_) | Piece::Shared(_) => unreachable!("the piece is not ours"),
        }
    }

    /// The pieces, each with where it begins.
    #[allow(clippy::should_implement_trait)]
    pub fn into_iter(self) -> impl Iterator<Item = (usize, Piece<'a>)> {
        let mut at = 0;
        self.list.into_iter().map(move |piece| {
            let start = at;
            at += piece.len();
            (start, piece)
        })
    }
}
