//! What every step of a job needs and none changes.

use crate::aspect::pointcut::{Hierarchy, Matcher};
use crate::aspect::structs::Structs;
use crate::container::zip::Effort;
use crate::error::Result;
use crate::jvm::Relocation;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::ids::IdBase;
use crate::pipeline::library::embedded;
use crate::pipeline::library::layout::Layout;
use crate::pipeline::own::{Needs, Own};
use crate::signing::identity::Identity;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an artifact runs on, as far as hooks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// A JVM.
    Java,
    /// Android, with its own trace.
    Android,
    /// .NET.
    DotNet,
}

/// What every step of a job needs and none changes.
#[derive(Clone, Copy)]
pub(crate) struct Context<'j> {
    pub(crate) matcher: &'j Matcher,
    pub(crate) hierarchy: &'j Hierarchy,
    pub(crate) id_base: IdBase,
    /// Where the classes run: on Android, if they lie in an aar.
    pub(crate) classes_on: Platform,
    /// Collect what is skipped, too.
    pub(crate) explain: bool,
    /// Nothing is written: leave out what costs only for the output.
    pub(crate) dry: bool,
    pub(crate) runtime: bool,
    /// Hooks of one's own.
    pub(crate) own: Option<&'j Own<'j>>,
    /// How well changed members are packed.
    pub(crate) effort: Effort,
    /// Who signs the output anew. If set, removing old signatures needs no warning.
    pub(crate) identity: Option<&'j Identity>,
}

impl Context<'_> {
    /// Whether results may be taken from a cache, and be kept there: what is only planned is none, and the ids of other
    /// weaves are not in the keys.
    pub(crate) fn may_be_cached(&self, ledger: &Ledger<'_>) -> bool {
        !self.dry && !self.explain && ledger.known.is_empty()
    }

    /// What is known of .NET structs, where hooks take values.
    pub(crate) fn structs(&self) -> Option<&'_ Arc<Structs>> {
        (self.matcher.takes_values()).then_some(&self.hierarchy.structs)
    }

    /// Whether all calls of own hooks fit, as far as was planned: else the output is not kept.
    pub(crate) fn own_fits(&self) -> bool {
        self.own.is_none_or(Own::fits)
    }

    /// The members of own hooks' libraries for classes that need this, in a module with these names of libraries.
    pub(crate) fn own_members(
        &self,
        needs: &Needs,
        relocation: Option<&Relocation>,
    ) -> Result<BTreeMap<String, Vec<u8>>> {
        let Some(own) = self.own else {
            return Ok(BTreeMap::new());
        };
        match relocation {
            Some(relocation) => relocation.members(own.members(needs)),
            None => Ok(own.members(needs).clone()),
        }
    }

    /// What is laid beside woven assemblies: file name and data. `platform`: the version of .NET that they need, else 0.
    pub(crate) fn assembly_libraries(&self, platform: u32) -> Vec<(&str, &[u8])> {
        let own = self.own.iter().flat_map(|own| &own.embedded.assemblies);
        let own = own.map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let library = match platform >= embedded::DLL_NET_SINCE {
            true => embedded::DLL_NET,
            false => embedded::DLL,
        };
        let runtime = self.runtime.then_some((embedded::DLL_NAME, library));
        runtime.into_iter().chain(own).collect()
    }

    /// The error for own hooks that do not fit, before anything of the job takes its place.
    pub(crate) fn check_own(&self) -> Result<()> {
        self.own.map_or(Ok(()), Own::check)
    }

    /// The same for what lies in an archive or folder of this layout.
    pub(crate) fn inside(&self, layout: Layout) -> Self {
        let mut inside = *self;
        if layout == Layout::Aar {
            inside.classes_on = Platform::Android;
        }
        inside
    }
}
