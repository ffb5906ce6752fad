//! The .NET assemblies of a folder: a published application, a shared framework, a build's output.

use super::{Folder, Found, read, write_like};
use crate::cil;
use crate::container::deps_json;
use crate::container::input::Input;
use crate::error::Result;
use crate::pipeline::assembly::{Source, stage_image, weave_assemblies};
use crate::pipeline::discover::{Format, file_name};
use crate::pipeline::runtime_library as runtime;
use crate::symbols::Symbols;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// An assembly, mapped, with its symbols file.
struct Opened<'f> {
    found: &'f Found,
    label: String,
    image: Input,
    pdb: Option<(&'f Found, Input)>,
}

/// The map that an earlier weave left in an assembly; one that cannot be read is none.
pub(super) fn earlier_map(bytes: &[u8]) -> Option<Symbols> {
    let mut map = Symbols::default();
    map.add(cil::Image::parse(bytes).ok()?.symbols()?).ok()?;
    Some(map)
}

/// The folder that a file is in, with the slash, or empty.
fn directory(name: &str) -> &str {
    &name[..name.len() - file_name(name).len()]
}

impl<'a> Folder<'a, '_> {
    /// Weaves the assemblies among the files.
    pub(super) fn assemblies(&mut self, files: &'a [Found]) -> Result<()> {
        let open = |found: &'a Found| -> Result<Option<Opened<'a>>> {
            let image = Input::open(&found.path)?;
            if file_name(&found.name) == runtime::DLL_NAME || !cil::is_assembly(&image) {
                return Ok(None);
            }
            let pdb = (self.symbols_of(&found.name, &image))
                .map(|pdb| Ok((pdb, Input::open(&pdb.path)?)))
                .transpose()?;
            let label = format!("{}/{}", self.name, found.name);
            Ok(Some(Opened {
                found,
                label,
                image,
                pdb,
            }))
        };
        let pe = files.iter().filter(|f| f.format == Format::Pe);
        let opened: Vec<Opened<'_>> = pe
            .filter_map(|f| open(f).transpose())
            .collect::<Result<_>>()?;
        let sources: Vec<Source<'_>> = (opened.iter())
            .map(|o| Source {
                label: &o.label,
                name: file_name(&o.found.name),
                file: &o.image,
                pdb: o.pdb.as_ref().map(|(_, pdb)| &**pdb),
                pdb_name: (o.pdb.as_ref()).map(|(pdb, _)| file_name(&pdb.name).to_owned()),
            })
            .collect();
        let written = weave_assemblies(self.cx, self.ledger, self.job.key.as_ref(), &sources)?;
        let (mut images, mut pdbs) = (Vec::new(), Vec::new());
        for (opened, written) in opened.iter().zip(written) {
            let found = opened.found;
            let Some(written) = written else {
                if let Some(earlier) = earlier_map(&opened.image) {
                    self.ledger.keep_earlier(&earlier);
                }
                continue;
            };
            self.assembly_directories
                .insert(directory(&found.name).to_owned());
            images.push((self.stage(&found.name)?, opened, written.image));
            if let Some((pdb, _)) = &opened.pdb {
                match written.pdb {
                    Some(bytes) => pdbs.push((self.stage(&pdb.name)?, pdb, bytes)),
                    // It would tell wrong lines.
                    None => drop(self.written.insert(pdb.name.clone())),
                }
            }
        }
        if self.staged.is_some() {
            let pdbs = (pdbs.into_par_iter())
                .map(|(path, found, bytes)| write_like(&path, &bytes, Some(&found.path)));
            let images = (images.into_par_iter())
                .map(|(path, o, image)| stage_image(&image, &path, &o.found.path)?.commit());
            let written: Vec<Result<()>> = images.chain(pdbs).collect();
            written.into_iter().collect::<Result<()>>()?;
        }
        Ok(())
    }

    /// The symbols file of an assembly: of its name, or of the one that it asks for, or Mono's.
    fn symbols_of(&self, assembly: &str, image: &[u8]) -> Option<&'a Found> {
        let stem = assembly.rsplit_once('.').map_or(assembly, |(stem, _)| stem);
        let asked_for = || {
            let name = cil::Image::parse(image).ok()?.pdb_name()?;
            self.find(&format!("{}{name}", directory(assembly)))
        };
        let mono = || self.find(&format!("{assembly}.mdb"));
        self.find(&format!("{stem}.pdb"))
            .or_else(asked_for)
            .or_else(mono)
    }

    fn find(&self, name: &str) -> Option<&'a Found> {
        let at = self.found.binary_search_by(|f| f.name.as_str().cmp(name));
        at.ok().map(|at| &self.found[at])
    }

    /// Lays the hook library where the runtime looks for the assemblies' references, and lists it
    /// where the host asks for it.
    pub(super) fn add_assembly_library(&mut self) -> Result<()> {
        let lists: Vec<&'a Found> = (self.found.iter())
            .filter(|f| f.name.ends_with(deps_json::SUFFIX))
            .collect();
        let listed: BTreeSet<&str> = lists.iter().map(|f| directory(&f.name)).collect();
        let mut homes = BTreeSet::new();
        for woven in &self.assembly_directories {
            // Below an application's folder (`runtimes/unix/lib/`) its host looks in that folder.
            let application = listed.iter().rev().find(|dir| woven.starts_with(**dir));
            homes.insert(application.map_or(woven.clone(), |dir| (*dir).to_owned()));
        }
        let library = runtime::assembly()?;
        for home in &homes {
            let name = format!("{home}{}", runtime::DLL_NAME);
            let same = match self.find(&name) {
                Some(there) => read(&there.path)? == runtime::DLL,
                None => false,
            };
            if !same {
                self.add(&name, runtime::DLL)?;
            }
        }
        for list in lists {
            if homes.contains(directory(&list.name)) {
                let added = deps_json::add(&read(&list.path)?, &library);
                if let Some(bytes) = added.map_err(|e| self.place(list, e))? {
                    self.add(&list.name, &bytes)?;
                }
            }
        }
        Ok(())
    }
}
