//! The .NET assemblies of a folder: a published application, a shared framework, a build's output.

use super::{Folder, Walk};
use crate::cil;
use crate::container::deps_json;
use crate::container::input::Input;
use crate::error::Result;
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::formats::assembly::{Source, WovenAssembly, weave_assemblies};
use crate::pipeline::inputs::folder::found::{Found, read};
use crate::pipeline::inputs::folder::staging::OutputFile;
use crate::pipeline::library::embedded;
use crate::symbols::Symbols;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// An assembly, mapped, with its symbols file.
struct Opened<'f, 'a> {
    found: &'f Found,
    label: String,
    file: &'a Input,
    image: cil::Image<'a>,
    pdb: Option<Pdb<'f>>,
}

struct Pdb<'f> {
    found: &'f Found,
    file: Input,
}

/// A woven assembly that is written.
struct Output<'o, 'f, 'a> {
    path: PathBuf,
    opened: &'o Opened<'f, 'a>,
    woven: &'o WovenAssembly<'a>,
}

/// The map that an earlier weave left in an assembly, if it can be read.
pub(super) fn earlier_map(bytes: &[u8]) -> Option<Symbols> {
    map_in(&cil::Image::parse(bytes).ok()?)
}

fn map_in(image: &cil::Image<'_>) -> Option<Symbols> {
    let mut map = Symbols::default();
    map.add(image.symbols()?).ok()?;
    Some(map)
}

/// The folder that a file is in, with the slash, or empty.
fn directory(name: &str) -> &str {
    &name[..name.len() - file_name(name).len()]
}

impl<'f> Walk<'f, '_> {
    /// Weaves the assemblies among the files. `types` is the digest of what is known of supertypes.
    pub(super) fn assemblies(&mut self, files: &'f [Found], types: &[u8]) -> Result<()> {
        let folder = self.folder;
        let mut inputs = Vec::new();
        for found in files.iter().filter(|f| f.format == Format::Pe) {
            let input = Input::open(&found.path)?;
            if file_name(&found.name) != embedded::DLL_NAME && cil::is_assembly(&input) {
                inputs.push((found, input));
            }
        }
        let parsed: Vec<Result<cil::Image<'_>>> = (inputs.par_iter())
            .map(|(_, input)| Ok(cil::Image::parse(input)?.with_structs(folder.cx.structs())))
            .collect();
        let mut opened = Vec::with_capacity(inputs.len());
        for ((found, file), image) in inputs.iter().zip(parsed) {
            let label = format!("{}/{}", folder.name, found.name);
            match image {
                Ok(image) => opened.push(Opened::new(folder, found, label, file, image)?),
                Err(e) => self.ledger.unreadable(&e.in_artifact(label)),
            }
        }
        let sources: Vec<Source<'_, '_>> = opened.iter().map(Opened::source).collect();
        let key = folder.job.key.as_ref();
        let cache = folder.job.cache.as_ref();
        let woven = weave_assemblies(folder.cx, self.ledger, cache, types, key, &sources)?;
        let (mut images, mut pdbs) = (Vec::new(), Vec::new());
        for (opened, woven) in opened.iter().zip(&woven) {
            let found = opened.found;
            let Some(woven) = woven else {
                if let Some(earlier) = map_in(&opened.image) {
                    self.ledger.keep_earlier(&earlier);
                }
                continue;
            };
            let directories = &mut self.woven.assembly_directories;
            let platform = directories
                .entry(directory(&found.name).to_owned())
                .or_default();
            *platform = (*platform).max(opened.image.platform_version());
            images.push(Output {
                path: self.staging.file(&found.name)?,
                opened,
                woven,
            });
            if let Some(Pdb { found: pdb, .. }) = &opened.pdb {
                match woven.pdb() {
                    Some(bytes) => pdbs.push(OutputFile {
                        path: self.staging.file(&pdb.name)?,
                        like: pdb,
                        bytes,
                    }),
                    // Its lines would be wrong.
                    None => self.staging.leave_out(&pdb.name),
                }
            }
        }
        if self.staging.is_dry() {
            return Ok(());
        }
        let write = |output: &Output<'_, '_, '_>| {
            let like = &output.opened.found.path;
            let mut staged = output.woven.stage(&output.path, like)?;
            let stored = output.woven.store(cache, &mut staged);
            staged.commit()?;
            Ok(stored)
        };
        let (written, pdbs) = rayon::join(
            || images.par_iter().map(write).collect::<Vec<Result<_>>>(),
            || self.staging.write_all(&pdbs),
        );
        for (stored, output) in written.into_iter().zip(&images) {
            if let Err(e) = stored? {
                self.ledger.not_cached(&output.opened.label, &e);
            }
        }
        pdbs
    }

    /// Lays the hook library and those of own hooks where the runtime looks for the references of woven assemblies, and
    /// lists them where the host asks for that.
    pub(super) fn add_assembly_libraries(&mut self) -> Result<()> {
        if self.woven.assembly_directories.is_empty() {
            return Ok(());
        }
        let folder = self.folder;
        let lists: Vec<&Found> = (folder.found.iter())
            .filter(|f| f.name.ends_with(deps_json::SUFFIX))
            .collect();
        let listed: BTreeSet<&str> = lists.iter().map(|f| directory(&f.name)).collect();
        let mut homes: BTreeMap<String, u32> = BTreeMap::new();
        for (woven, platform) in &self.woven.assembly_directories {
            // Below an application's folder (`runtimes/unix/lib/`) its host looks in that folder.
            let application = listed.iter().rev().find(|dir| woven.starts_with(**dir));
            let home = application.map_or(woven.clone(), |dir| (*dir).to_owned());
            let needs = homes.entry(home).or_default();
            *needs = (*needs).max(*platform);
        }
        // An application says itself for which .NET it is, also where only libraries of it are woven.
        for list in &lists {
            if let Some(needs) = homes.get_mut(directory(&list.name)) {
                *needs = (*needs).max(deps_json::platform_version(&read(&list.path)?));
            }
        }
        for (home, platform) in &homes {
            for (file, bytes) in &folder.cx.assembly_libraries(*platform) {
                let name = format!("{home}{file}");
                let same = match folder.find(&name) {
                    Some(there) => read(&there.path)? == *bytes,
                    None => false,
                };
                if !same {
                    self.staging.add(&name, bytes)?;
                }
            }
        }
        for list in lists {
            let Some(platform) = homes.get(directory(&list.name)) else {
                continue;
            };
            let libraries = folder.cx.assembly_libraries(*platform);
            let added = embedded::listed(&read(&list.path)?, &libraries);
            if let Some(text) = added.map_err(|e| folder.place(list, e))? {
                self.staging.add(&list.name, &text)?;
            }
        }
        Ok(())
    }
}

impl<'f, 'a> Opened<'f, 'a> {
    fn new(
        folder: &'f Folder<'_>,
        found: &'f Found,
        label: String,
        file: &'a Input,
        image: cil::Image<'a>,
    ) -> Result<Opened<'f, 'a>> {
        let pdb = symbols_of(folder, &found.name, &image).map(|found| {
            let file = Input::open(&found.path)?;
            Ok(Pdb { found, file })
        });
        Ok(Opened {
            found,
            label,
            file,
            image,
            pdb: pdb.transpose()?,
        })
    }

    fn source(&self) -> Source<'_, 'a> {
        Source {
            label: &self.label,
            artifact: &self.found.name,
            name: file_name(&self.found.name),
            file: self.file,
            image: &self.image,
            pdb: self.pdb.as_ref().map(|pdb| &*pdb.file),
            pdb_name: (self.pdb.as_ref()).map(|pdb| file_name(&pdb.found.name).to_owned()),
        }
    }
}

/// The symbols file of an assembly: of its name, or of the one that it asks for, or Mono's.
fn symbols_of<'f>(
    folder: &'f Folder<'_>,
    assembly: &str,
    image: &cil::Image<'_>,
) -> Option<&'f Found> {
    let stem = assembly.rsplit_once('.').map_or(assembly, |(stem, _)| stem);
    let asked_for = || folder.find(&format!("{}{}", directory(assembly), image.pdb_name()?));
    let mono = || folder.find(&format!("{assembly}.mdb"));
    folder
        .find(&format!("{stem}.pdb"))
        .or_else(asked_for)
        .or_else(mono)
}
