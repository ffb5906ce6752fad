//! The dex files of a folder: an unpacked app, or what a compiler left.

use super::Walk;
use crate::container::apk;
use crate::container::input::Input;
use crate::error::Result;
use crate::pipeline::format::Format;
use crate::pipeline::formats::dex::{Source, weave_dexes};
use crate::pipeline::inputs::folder::found::Found;
use crate::pipeline::inputs::folder::staging::OutputFile;
use crate::pipeline::library::embedded;

impl<'a> Walk<'a, '_> {
    /// Weaves the dex files among the files.
    pub(super) fn dexes(&mut self, files: &'a [Found]) -> Result<()> {
        let folder = self.folder;
        let found: Vec<&Found> = files.iter().filter(|f| f.format == Format::Dex).collect();
        let inputs: Vec<Input> = (found.iter())
            .map(|f| Input::open(&f.path))
            .collect::<Result<_>>()?;
        let library = &mut self.woven.dex_library;
        library.look_into(inputs.iter().map(|input| &**input));
        let sources: Vec<Source<'_>> = (found.iter().zip(&inputs))
            .map(|(found, input)| Source {
                member: Some(&found.name),
                bytes: input,
            })
            .collect();
        let woven = weave_dexes(
            folder.cx,
            self.ledger,
            folder.matcher,
            folder.name,
            &sources,
        )?;
        library.look_into_woven(&woven);
        let mut outputs = Vec::new();
        for (found, woven) in found.into_iter().zip(woven) {
            let Some(bytes) = woven.and_then(|dex| dex.bytes) else {
                continue;
            };
            self.woven.dexes = true;
            self.wove_loose();
            outputs.push(OutputFile {
                path: self.staging.file(&found.name)?,
                like: found,
                bytes,
            });
        }
        self.staging.write_all(&outputs)
    }

    /// Adds the hook library, if woven dex files need it, and what own hooks need, as the next dex files of an app, else by
    /// names of their own.
    pub(super) fn add_dex_library(&mut self) -> Result<()> {
        let cx = self.folder.cx;
        let needs = &self.woven.dex_library.needs;
        let own = cx.own.map(|own| own.dexes(needs)).unwrap_or_default();
        let names = self.folder.found.iter().map(|f| f.name.as_str());
        let mut number = apk::free_dex_number(names);
        let is_app = number > 1;
        let mut add = |name: String, dex: &[u8]| {
            let next = apk::dex_name(number);
            number += 1;
            self.staging.add(if is_app { &next } else { &name }, dex)
        };
        if cx.runtime && self.woven.dex_library.is_missing() {
            add("weave-runtime.dex".to_owned(), embedded::DEX)?;
        }
        for (i, dex) in own.iter().enumerate() {
            add(format!("weave-hooks-{}.dex", i + 1), dex)?;
        }
        Ok(())
    }
}
