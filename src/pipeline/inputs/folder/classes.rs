//! The classes of a folder.

use super::Walk;
use crate::error::{Error, Kind, Result};
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::formats::class::{TouchedClass, WovenClass, weave_class};
use crate::pipeline::inputs::folder::found::{Found, read};
use crate::pipeline::inputs::folder::java_library::class_root;
use crate::pipeline::limits::MAX_CLASS;
use crate::pipeline::worker::with_worker;
use rayon::prelude::*;

impl<'a> Walk<'a, '_> {
    /// Weaves the classes among the files.
    pub(super) fn classes(&mut self, files: &'a [Found]) -> Result<()> {
        let folder = self.folder;
        let (cx, matcher) = (folder.cx, folder.matcher);
        let weave = |found: &Found, attempt: u32| -> Result<Option<TouchedClass>> {
            if found.size > MAX_CLASS {
                let what = format!("a class of {} bytes", found.size);
                return Err(Error::new(Kind::Unsupported, what));
            }
            let bytes = read(&found.path)?;
            with_worker(|w| weave_class(cx, matcher, &bytes, &mut w.scratch, attempt))
        };
        let batch: Vec<(&Found, Result<Option<TouchedClass>>)> = files
            .par_iter()
            .filter(|f| f.format == Format::Class && file_name(&f.name) != "module-info.class")
            .map(|found| (found, weave(found, 0)))
            .filter(|(_, touched)| !matches!(touched, Ok(None)))
            .collect();
        let mut outputs = Vec::new();
        for (found, touched) in batch {
            let touched = match touched {
                Ok(Some(touched)) => touched,
                Ok(None) => continue,
                Err(e) if e.kind() == Kind::Io => return Err(e),
                Err(e) => {
                    self.ledger.unreadable(&folder.place(found, e));
                    continue;
                }
            };
            let again = |attempt| weave(found, attempt).map_err(|e| folder.place(found, e));
            let Some(class) = touched.settle(self.ledger, folder.name, again)? else {
                continue;
            };
            if let Some(bytes) = class.bytes {
                self.wove_loose();
                self.woven
                    .roots
                    .insert(class_root(&found.name, class.ty.woven.name()));
                outputs.push((self.staging.file(&found.name)?, found, bytes));
            }
        }
        self.staging.write_all(&outputs)
    }
}
