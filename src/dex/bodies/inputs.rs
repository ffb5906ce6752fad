//! The inputs of new bodies, and the outcomes of planned methods.

use crate::aspect::advice::Reason;
use crate::aspect::plan::{Plan, Planned};
use crate::dex::analysis::arrays::Arrays;
use crate::dex::analysis::own_fields::Fields;
use crate::dex::format::file::{File, NO_INDEX};
use crate::dex::format::lookup;
use crate::dex::format::remap::Remap;
use crate::dex::hooks::THROWABLE;
use crate::dex::lower::Hooks;
use crate::dex::lower::insertions::Insertions;
use crate::dex::lower::own_frame::Names;
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs so many tasks, each by its number, in any order, also at once; returns when all are done.
pub type Run<'r> = &'r dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// What [`Bodies`] are built from.
pub(crate) struct Inputs<'j, 'a> {
    pub file: &'j File<'a>,
    pub remap: &'j Remap,
    pub members: &'j [Member],
    /// What the planned methods are a part of, which has their own hooks.
    pub plan: Option<&'j Plan>,
    pub planned: &'j [Planned],
    /// New indices of the names of planned methods' sections; `NO_INDEX`, or beyond the end, for none.
    pub sections: &'j [u32],
    pub hooks: Hooks,
    /// What own hooks name.
    pub own: &'j Names,
    /// What the planned methods get at their points; empty, if it is hooks that they get.
    pub points: &'j [Insertions],
    /// New index of the string `this`, for bodies that take that as an argument.
    pub this: u32,
    pub present: Present,
    pub facts: Facts,
    pub limits: Limits,
}

/// Old indices of hooks that the file calls already.
pub(crate) struct Present {
    pub hooks: Option<Range<u32>>,
    /// The method that begins a section.
    pub begin: Option<u32>,
}

/// Facts of the whole file that its methods' hooks depend on.
#[derive(Default)]
pub(crate) struct Facts {
    /// Who declares which field.
    pub fields: Fields,
    /// Which arrays do not meet.
    pub arrays: Arrays,
    /// Old index of the string `<init>`, where the file has it.
    pub init: Option<u32>,
    /// Old index of `java/lang/Throwable`, where the file names it.
    pub throwable: Option<u32>,
}

impl Facts {
    pub fn read(file: &File<'_>) -> Result<Facts> {
        Ok(Facts {
            fields: Fields::read(file)?,
            arrays: Arrays::read(file)?,
            init: lookup::find_string(file, b"<init>")?,
            throwable: lookup::find_type(file, THROWABLE)?,
        })
    }
}

pub(crate) struct Limits {
    /// Bytes of old code from which on a chunk ends. What is written does not depend on it.
    pub chunk: usize,
    /// Bytes of debug info that may still be read for woven methods, which may share it.
    pub debug_info: AtomicUsize,
}

/// How many times a file's size the debug info of woven methods may be; in real files it is a tenth.
pub(crate) const DEBUG_INFO: usize = 4;

impl Inputs<'_, '_> {
    pub fn section(&self, member: &Member) -> u32 {
        let section = self.sections.get(member.planned as usize);
        section.copied().unwrap_or(NO_INDEX)
    }

    /// The name of a method's first parameter in debug info, if that is new.
    pub fn this_of(&self, member: &Member) -> Option<u32> {
        member.takes_this.then(|| self.this.wrapping_add(1))
    }

    /// Accounts for debug info that was read; an error where it is out of proportion.
    pub fn spend_debug_info(&self, bytes: usize) -> Result<()> {
        // None left says that it was not enough.
        let spend = |left: usize| left.checked_sub(bytes).filter(|left| *left > 0);
        let spent =
            (self.limits.debug_info).fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        match spent {
            Ok(_) => Ok(()),
            Err(_) => {
                self.limits.debug_info.store(0, Ordering::Relaxed);
                Err(too_much_debug_info(self.file))
            }
        }
    }
}

/// A method that a class defines, in the order of the class data.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    /// Index into the method ids.
    pub id: u32,
    pub access: u32,
    /// Offset of its `code_item`, or 0.
    pub code: u32,
    /// Its number in the plan, or `NO_INDEX`.
    pub planned: u32,
    /// Its code becomes that of a static method whose first parameter is `this`.
    pub takes_this: bool,
}

/// Usual [`Limits::chunk`]: some chunks a core for a large file, some milliseconds each.
pub(crate) const CHUNK: usize = 128 << 10;

/// The outcome of a planned method.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// Its number among the methods that the classes define.
    pub member: u32,
    /// Why it was left unwoven.
    pub left: Option<Reason>,
    /// Its first source line, or 0.
    pub line: u32,
}

#[cold]
pub(crate) fn too_much_debug_info(file: &File<'_>) -> Error {
    Error::malformed(file.start, "methods share debug info out of proportion")
}
