//! The output of one archive: nothing until the first change, then a splice of what stays and what changes.

use crate::container::apk;
use crate::container::zip::{Archive, Method, Packed, Splicer};
use crate::error::{Error, Kind, Result};
use crate::pipeline::inputs::archive::rules::{Fate, JarRules, MANIFEST};
use crate::pipeline::library::layout::Layout;
use crate::pipeline::worker::with_worker;
use std::io::{self, Write};

/// Opens the sink, once an archive is known to change.
pub(crate) type Open<'o, W> = &'o mut (dyn FnMut() -> Result<W> + Send);

/// The output of one archive. As long as no member changes, every member so far is one to keep, so
/// that nothing needs to be held back for the manifest, which comes first and depends on what follows.
pub(crate) struct Output<'a, 'o, W: Write> {
    archive: &'a Archive<'a>,
    rules: &'a JarRules<'a>,
    label: &'a str,
    open: Open<'o, W>,
    splicer: Option<Splicer<'a, W>>,
    /// The next member to write.
    at: usize,
    /// The next of the survey's special members.
    special: usize,
    /// Special members that stay because they cannot be read.
    unreadable: Vec<Error>,
}

impl<'a, 'o, W: Write> Output<'a, 'o, W> {
    pub(crate) fn new(
        archive: &'a Archive<'a>,
        rules: &'a JarRules<'a>,
        label: &'a str,
        open: Open<'o, W>,
    ) -> Self {
        Output {
            archive,
            rules,
            label,
            open,
            splicer: None,
            at: 0,
            special: 0,
            unreadable: Vec::new(),
        }
    }

    /// Whether anything changed so far.
    pub(crate) fn is_open(&self) -> bool {
        self.splicer.is_some()
    }

    /// The splicer, opened if this is the first change.
    fn splicer(&mut self) -> Result<&mut Splicer<'a, W>> {
        if self.splicer.is_none() {
            let mut splicer = Splicer::new(self.archive, (self.open)()?);
            if self.rules.survey.layout == Layout::Apk && self.archive.find(apk::MANIFEST).is_some()
            {
                splicer.align(apk::alignment);
            }
            if let Some(manifest) = self.rules.new_manifest() {
                // First, where `JarInputStream` looks for it.
                let packed =
                    with_worker(|w| Packed::new(Method::Deflated, &manifest, &mut w.codec));
                let added = splicer.add(MANIFEST, &packed);
                added.map_err(|e| cannot_write(self.label, &e))?;
            }
            self.splicer = Some(splicer);
        }
        Ok(self.splicer.as_mut().expect("opened above"))
    }

    /// Writes the members before `index`: they stay, but for what a change makes wrong.
    fn advance(&mut self, index: usize) -> Result<()> {
        let (archive, rules, label) = (self.archive, self.rules, self.label);
        let specials = &rules.survey.specials;
        while self.at < index {
            let fate = match specials.get(self.special) {
                Some(&(i, special)) if i == self.at => {
                    self.special += 1;
                    rules.fate(archive, i, special).unwrap_or_else(|e| {
                        self.unreadable.push(e.in_artifact(label));
                        Fate::Keep
                    })
                }
                _ => Fate::Keep,
            };
            let splicer = self.splicer()?;
            let written = match fate {
                Fate::Keep => splicer.keep(),
                Fate::Drop => splicer.drop(),
                Fate::Replace(packed) => splicer.replace(&packed),
            };
            written.map_err(|e| cannot_write(label, &e))?;
            self.at += 1;
        }
        Ok(())
    }

    /// Replaces a member, after what lies before it.
    pub(crate) fn replace(
        &mut self,
        index: usize,
        packed: &Packed<impl AsRef<[u8]>>,
    ) -> Result<()> {
        self.splicer()?;
        self.advance(index)?;
        let replaced = self.splicer()?.replace(packed);
        replaced.map_err(|e| cannot_write(self.label, &e))?;
        self.at = index + 1;
        Ok(())
    }

    /// Writes all members that are left.
    pub(crate) fn keep_rest(&mut self) -> Result<()> {
        self.advance(self.archive.members().len())
    }

    /// Why special members stay that should have changed.
    pub(crate) fn take_unreadable(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.unreadable)
    }

    /// Adds a member at the end.
    pub(crate) fn add(&mut self, name: &str, method: Method, bytes: &[u8]) -> Result<()> {
        let packed = with_worker(|w| Packed::new(method, bytes, &mut w.codec));
        self.add_packed(name, &packed)
    }

    /// Adds a packed member at the end.
    pub(crate) fn add_packed(&mut self, name: &str, packed: &Packed) -> Result<()> {
        let added = self.splicer()?.add(name, packed);
        added.map_err(|e| cannot_write(self.label, &e))
    }

    /// Writes the directory and gives the sink back.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.splicer()?;
        let splicer = self.splicer.take().expect("opened above");
        splicer.finish().map_err(|e| cannot_write(self.label, &e))
    }
}

#[cold]
fn cannot_write(label: &str, e: &io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot write the woven {label}: {e}"))
}
