//! Dex files: those of an apk, or one alone.

use crate::aspect::joinpoint::{Method, Type, Visitor};
use crate::aspect::pointcut::ArtifactMatcher;
use crate::dex;
use crate::error::{Error, Result};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::process::{Context, Platform};
use crate::pipeline::unit::{Unit, parse_all, plan};
use rayon::prelude::*;

/// The class with the hooks.
const HOOKS: &str = "weave/runtime/Hooks";

/// A dex file to weave.
pub(crate) struct Source<'f> {
    /// Its member in an archive, or empty.
    pub(crate) member: &'f str,
    pub(crate) bytes: &'f [u8],
}

/// Weaves dex files of one artifact on all threads and records them in their order. `None` for one that stays as it is.
pub(crate) fn weave_dexes(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    matcher: &ArtifactMatcher<'_>,
    artifact: &str,
    sources: &[Source<'_>],
) -> Result<Vec<Option<Vec<u8>>>> {
    let (parsed, errors) = parse_all(sources, |source| dex::Dex::parse(source.bytes));
    let begun: Vec<_> = (sources.par_iter().zip(&parsed))
        .map(|(source, dex)| match dex {
            Some(dex) => weave(cx, matcher, source.bytes, dex, 0),
            None => Ok(None),
        })
        .collect();
    let mut woven = Vec::with_capacity(sources.len());
    for (((source, dex), e), unit) in sources.iter().zip(&parsed).zip(errors).zip(begun) {
        let place = |e: Error| match source.member {
            "" => e.in_artifact(artifact),
            member => e.in_member(member).in_artifact(artifact),
        };
        if let Some(e) = e {
            ledger.unreadable(&place(e));
        }
        let (Some(dex), Some(unit)) = (dex, unit.map_err(place)?) else {
            woven.push(None);
            continue;
        };
        let base_of = |attempt| id_base(cx, dex, attempt);
        let again = |attempt| {
            let again = weave(cx, matcher, source.bytes, dex, attempt).map_err(place)?;
            Ok(again.expect("the same rules mean the same methods"))
        };
        woven.push(unit.settle(ledger, artifact, base_of, again)?);
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
) -> Result<Option<Unit<Option<Vec<u8>>>>> {
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
    let woven = dex::weave_on(dex, &plan, &mut dex::Scratch::default(), &run)?;
    Ok(Some(Unit::new(cx, woven.bytes, woven.types, plan)))
}

/// Whether a woven dex file calls the hook library: what has sections of Android's trace alone does not.
pub(crate) fn needs_library(woven: &[u8]) -> bool {
    memchr::memmem::find(woven, HOOKS.as_bytes()).is_some()
}

/// Whether a dex file holds the hook library.
pub(crate) fn has_library(bytes: &[u8]) -> bool {
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
