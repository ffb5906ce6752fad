//! Dex files: those of an apk, or one alone.

use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::pointcut::ArtifactMatcher;
use crate::dex;
use crate::error::{Error, Result};
use crate::pipeline::context::{Context, Platform};
use crate::pipeline::formats::plan::plan;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::ledger::touched::{Touched, complete};
use rayon::prelude::*;

/// The class with the hooks.
const HOOKS: &str = "weave/runtime/Hooks";

/// A dex file to weave.
pub(crate) struct Source<'f> {
    /// Its member in an archive or folder; a file that the user named has none.
    pub(crate) member: Option<&'f str>,
    pub(crate) bytes: &'f [u8],
}

/// A dex file that the rules have something to say about.
struct TouchedDex {
    /// The new file, if anything was woven.
    bytes: Option<Vec<u8>>,
    /// The results of its types, ascending.
    types: Vec<Touched>,
}

/// Why nothing came of a dex file.
enum Failed {
    /// It cannot be read. In an archive or folder it stays as it is.
    Parse(Error),
    Weave(Error),
}

/// Weaves dex files of one artifact on all threads and records them in their order. `None` for one that stays as it is.
pub(crate) fn weave_dexes(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    matcher: &ArtifactMatcher<'_>,
    artifact: &str,
    sources: &[Source<'_>],
) -> Result<Vec<Option<Vec<u8>>>> {
    let begun: Vec<_> = (sources.par_iter())
        .map(|source| {
            let dex = dex::Dex::parse(source.bytes).map_err(Failed::Parse)?;
            let begun = weave(cx, matcher, source.bytes, &dex, 0).map_err(Failed::Weave)?;
            Ok(begun.map(|touched| (dex, touched)))
        })
        .collect();
    let mut woven = Vec::with_capacity(sources.len());
    for (source, begun) in sources.iter().zip(begun) {
        let place = |e: Error| match source.member {
            None => e.in_artifact(artifact),
            Some(member) => e.in_member(member).in_artifact(artifact),
        };
        let (dex, mut touched) = match begun {
            Ok(Some(begun)) => begun,
            Ok(None) => {
                woven.push(None);
                continue;
            }
            Err(Failed::Parse(e)) if source.member.is_some() => {
                ledger.unreadable(&place(e));
                woven.push(None);
                continue;
            }
            Err(Failed::Parse(e) | Failed::Weave(e)) => return Err(place(e)),
        };
        // All ids of a file lie behind one base: where one is taken, all move.
        let attempt = ledger.claim_all(&touched.types, |attempt| id_base(cx, &dex, attempt));
        if attempt > 0 {
            let again = weave(cx, matcher, source.bytes, &dex, attempt).map_err(place)?;
            touched = again.expect("the same rules mean the same methods");
        }
        let types = touched.types.iter();
        types.for_each(|ty| ledger.record(artifact, ty));
        woven.push(touched.bytes);
    }
    Ok(woven)
}

/// The base of a dex file's ids.
fn id_base(cx: &Context<'_>, dex: &dex::Dex<'_>, attempt: u32) -> u32 {
    (cx.id_base)(&dex.fingerprint(), attempt)
}

/// `None`: no rule has anything to say about it. `attempt` chooses its ids.
fn weave(
    cx: &Context<'_>,
    matcher: &ArtifactMatcher<'_>,
    bytes: &[u8],
    dex: &dex::Dex<'_>,
    attempt: u32,
) -> Result<Option<TouchedDex>> {
    if !matcher.bytes_may_match(bytes) {
        return Ok(None);
    }
    let scan = |visitor: &mut dyn Visitor| dex::scan(dex, visitor);
    let mut plan = plan(cx, matcher, &|_, _| 0, (Platform::Android, 0), scan)?;
    if plan.methods.is_empty() && plan.skipped.is_empty() {
        return Ok(None);
    }
    if !plan.methods.is_empty() {
        let (base, first) = (id_base(cx, dex, attempt), dex::first_numbers(dex)?);
        for planned in &mut plan.methods {
            planned.id = base + first[planned.ty as usize] + planned.index;
        }
    }
    let run = |count: usize, task: &(dyn Fn(usize) + Sync)| {
        (0..count).into_par_iter().with_max_len(1).for_each(task);
    };
    let woven = dex::weave(dex, &plan, &mut dex::Scratch::default(), &run)?;
    let types = woven.types.into_iter();
    let mut types: Vec<_> = types.map(|ty| Touched::new(ty, vec![])).collect();
    complete(&mut types, plan, cx.explain);
    Ok(Some(TouchedDex {
        bytes: woven.bytes,
        types,
    }))
}

/// What is known of the hook library among dex files that are loaded together.
#[derive(Default)]
pub(crate) struct DexLibrary {
    /// A dex file holds it.
    is_there: bool,
    /// A woven dex file calls it.
    is_needed: bool,
}

impl DexLibrary {
    pub(crate) fn look_into<'f>(&mut self, mut files: impl Iterator<Item = &'f [u8]>) {
        self.is_there |= files.any(has_library);
    }

    pub(crate) fn look_into_woven(&mut self, woven: &[Option<Vec<u8>>]) {
        self.is_needed |= woven.iter().flatten().any(|bytes| needs_library(bytes));
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.is_needed && !self.is_there
    }
}

/// Whether a woven dex file calls the hook library: what has sections of Android's trace alone does not.
fn needs_library(woven: &[u8]) -> bool {
    memchr::memmem::find(woven, HOOKS.as_bytes()).is_some()
}

/// Whether a dex file holds the hook library.
fn has_library(bytes: &[u8]) -> bool {
    struct Finder(bool);
    impl Visitor for Finder {
        fn enter_type(&mut self, ty: &Type<'_>) -> bool {
            self.0 |= ty.name == HOOKS;
            false
        }
        fn method(&mut self, _: u32, _: &Method<'_>) {}
    }
    // Woven dex files name it, too, and those that were never woven do not.
    let mut finder = Finder(false);
    memchr::memmem::find(bytes, HOOKS.as_bytes()).is_some()
        && dex::Dex::parse(bytes).is_ok_and(|dex| dex::scan(&dex, &mut finder).is_ok())
        && finder.0
}
