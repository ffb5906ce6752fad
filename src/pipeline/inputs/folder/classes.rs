//! The classes of a folder.

use super::Walk;
use crate::error::{Error, Kind, Result};
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::formats::class::{PlannedClass, TouchedClass, plan_class};
use crate::pipeline::inputs::folder::found::{Found, read};
use crate::pipeline::inputs::folder::staging::OutputFile;
use crate::pipeline::inputs::folder::woven::Generated;
use crate::pipeline::library::layout::class_root;
use crate::pipeline::limits::MAX_CLASS;
use crate::pipeline::worker::with_worker;
use rayon::prelude::*;
use std::collections::btree_map::Entry;

impl<'a> Walk<'a, '_> {
    /// Weaves the classes among the files.
    pub(super) fn classes(&mut self, files: &'a [Found]) -> Result<()> {
        let folder = self.folder;
        let (cx, matcher) = (folder.cx, folder.matcher);
        let is_class =
            |f: &&Found| f.format == Format::Class && file_name(&f.name) != "module-info.class";
        let found: Vec<&Found> = files.iter().filter(is_class).collect();
        let mut contents = vec![Vec::new(); found.len()];
        let mut planned: Vec<(&Found, Result<Option<PlannedClass<'_>>>)> = (found.into_par_iter())
            .zip(&mut contents)
            .map(|(found, bytes)| {
                let read = read_class(found).map(|class| *bytes = class);
                let unseen = folder.unseen(&found.name);
                (
                    found,
                    read.and_then(|()| plan_class(cx, matcher, bytes, unseen)),
                )
            })
            .filter(|(_, planned)| !matches!(planned, Ok(None)))
            .collect();
        // Ids are claimed in the job's order, before anything is woven with them.
        for (found, planned) in &mut planned {
            let Ok(Some(class)) = planned else { continue };
            let root = class_root(&found.name, &class.name());
            class.seat(&mut self.runners, &root);
            if let Err(e) = class.claim(self.ledger) {
                *planned = Err(e);
            }
        }
        let woven: Vec<(&Found, Result<Option<TouchedClass>>)> = planned
            .into_par_iter()
            .map(|(found, planned)| {
                let weave = |class: PlannedClass<'_>| {
                    let root = class_root(&found.name, &class.name());
                    let relocation = folder.relocations.get(&root);
                    with_worker(|w| class.weave(cx, &mut w.scratch, relocation))
                };
                (
                    found,
                    planned.and_then(|class| class.map_or(Ok(None), weave)),
                )
            })
            .collect();
        let mut outputs = Vec::new();
        for (found, woven) in woven {
            let class = match woven {
                Ok(Some(class)) => class,
                Ok(None) => continue,
                Err(e) if e.kind() == Kind::Io => return Err(e),
                Err(e) => {
                    self.ledger.unreadable(&folder.place(found, e));
                    continue;
                }
            };
            self.ledger.record(folder.name, &class.ty);
            self.ledger.needs_library |= class.needs_library;
            self.ledger.needs.add(class.needs);
            if let Some(bytes) = class.bytes {
                self.wove_loose();
                let root = class_root(&found.name, class.ty.woven.name());
                for (name, made) in class.generated {
                    match self.woven.generated.entry(format!("{root}{name}.class")) {
                        Entry::Vacant(entry) => drop(entry.insert(Generated {
                            class: made,
                            root: root.clone(),
                        })),
                        Entry::Occupied(mut entry) => entry.get_mut().class.join(made),
                    }
                }
                self.woven.roots.insert(root);
                outputs.push(OutputFile {
                    path: self.staging.file(&found.name)?,
                    like: found,
                    bytes,
                });
            }
        }
        self.staging.write_all(&outputs)
    }
}

fn read_class(found: &Found) -> Result<Vec<u8>> {
    if found.size > MAX_CLASS {
        let what = format!("a class of {} bytes", found.size);
        return Err(Error::new(Kind::Unsupported, what));
    }
    read(&found.path)
}
