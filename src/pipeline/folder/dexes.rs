//! The dex files of a folder: an unpacked app, or what a compiler left.

use super::{Folder, Found, write_like};
use crate::container::apk;
use crate::container::input::Input;
use crate::error::Result;
use crate::pipeline::dex::{Source, has_library, needs_library, weave_dexes};
use crate::pipeline::discover::Format;
use crate::pipeline::runtime_library as runtime;

impl<'a> Folder<'a, '_> {
    /// Weaves the dex files among the files.
    pub(super) fn dexes(&mut self, files: &'a [Found]) -> Result<()> {
        let found: Vec<&'a Found> = files.iter().filter(|f| f.format == Format::Dex).collect();
        let inputs: Vec<Input> = (found.iter())
            .map(|f| Input::open(&f.path))
            .collect::<Result<_>>()?;
        self.has_dex_library |= inputs.iter().any(|input| has_library(input));
        let sources: Vec<Source<'_>> = (found.iter().zip(&inputs))
            .map(|(found, input)| Source {
                member: &found.name,
                bytes: input,
            })
            .collect();
        let woven = weave_dexes(self.cx, self.ledger, self.matcher, self.name, &sources)?;
        for (found, bytes) in found.into_iter().zip(woven) {
            let Some(bytes) = bytes else { continue };
            self.wove_dex = true;
            self.needs_dex_library |= needs_library(&bytes);
            self.wove_loose();
            let path = self.stage(&found.name)?;
            if self.staged.is_some() {
                write_like(&path, &bytes, Some(&found.path))?;
            }
        }
        Ok(())
    }

    /// Adds the hook library as the next dex file of an app, else by its own name.
    pub(super) fn add_dex_library(&mut self) -> Result<()> {
        let names = self.found.iter().map(|f| f.name.as_str());
        let name = match apk::free_dex_number(names) {
            1 => "weave-runtime.dex".to_owned(),
            n => apk::dex_name(n),
        };
        self.add(&name, runtime::DEX)
    }
}
