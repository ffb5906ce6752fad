//! Old to new pcs and registers of a code item.

use super::registers::Scheme;
use crate::edit::Layout;
use std::ops::Range;

/// Old to new pcs and registers of the last lowered code item.
#[derive(Clone, Copy)]
pub struct Moves<'s> {
    layout: Option<&'s Layout>,
    scheme: Scheme,
    /// Length of the old code.
    units: u32,
}

impl<'s> Moves<'s> {
    /// Nothing moved.
    pub fn none() -> Moves<'s> {
        Moves {
            layout: None,
            scheme: Scheme::Dead,
            units: 0,
        }
    }

    pub(crate) fn new(layout: &'s Layout, scheme: Scheme, units: u32) -> Moves<'s> {
        Moves {
            layout: Some(layout),
            scheme,
            units,
        }
    }

    /// The new pc where an old one begins, insertions included. Pcs beyond the code move with its last instruction.
    pub fn pc(&self, old: u32) -> u32 {
        let Some(layout) = self.layout else {
            return old;
        };
        let within = old.min(self.units.saturating_sub(1));
        layout.start(within).saturating_add(old - within)
    }

    /// Whether a pc lies behind the old code.
    pub(crate) fn is_beyond(&self, old: u32) -> bool {
        self.layout.is_some() && old >= self.units
    }

    /// The pcs around or behind `old` that all move equally far, and how far.
    pub(crate) fn calm(&self, old: u32) -> (Range<u32>, i32) {
        match self.layout {
            None => (0..u32::MAX, 0),
            Some(layout) => {
                let (pcs, by) = layout.calm(old);
                (pcs.start..pcs.end.min(self.units), by)
            }
        }
    }

    pub fn register(&self, old: u32) -> u32 {
        self.scheme.renumbered(old)
    }
}
