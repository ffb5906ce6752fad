//! Weaving an archive, or taking an earlier result.

use crate::container::zip::Archive;
use crate::error::Result;
use crate::pipeline::cache::{Cache, Entry};
use crate::pipeline::context::Context;
use crate::pipeline::inputs::archive::output::Open;
use crate::pipeline::inputs::archive::{Spot, weave_archive};
use crate::pipeline::job::Meter;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::publish::target::Target;

/// The result for an archive.
pub(crate) enum Woven {
    Now(Target),
    /// It is to be written yet.
    Before(Entry),
}

/// An archive's name in the cache, and what is there.
pub(crate) struct Lookup<'c> {
    cache: &'c Cache,
    key: String,
    entry: Option<Entry>,
}

impl<'c> Lookup<'c> {
    /// Looks an archive up; on any thread. `types` is the digest of what is known of supertypes.
    pub(crate) fn new(
        cache: &'c Cache,
        types: &[u8],
        cx: &Context<'_>,
        spot: &Spot<'_>,
        bytes: &[u8],
    ) -> Lookup<'c> {
        let how = format!(
            "{:?} {:?} {:?} {} {} {} {} {:?}",
            spot.library,
            cx.classes_on,
            cx.effort,
            spot.is_unit,
            spot.is_named,
            cx.runtime,
            cx.identity.is_some(),
            spot.unseen
        );
        let key = cache.key(&[types, spot.label.as_bytes(), how.as_bytes(), bytes]);
        let entry = cache.load(&key);
        Lookup { cache, key, entry }
    }
}

/// Weaves an archive, or takes an earlier result.
pub(crate) fn weave_cached(
    found: Option<Lookup<'_>>,
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    spot: &Spot<'_>,
    archive: &Archive<'_>,
    open: Open<'_, Target>,
) -> Result<Option<Woven>> {
    let Some(Lookup { cache, key, entry }) = found else {
        let woven = weave_archive(cx, ledger, meter, spot, archive, open)?;
        return Ok(woven.map(Woven::Now));
    };
    if let Some(entry) = entry
        && ledger.replay(&entry.recorded)
    {
        return Ok(entry.artifact().is_some().then_some(Woven::Before(entry)));
    }
    let before = ledger.start_recording();
    let mut woven = weave_archive(cx, ledger, meter, spot, archive, open)?;
    let recorded = ledger.stop_recording(before);
    let Some(recorded) = recorded.filter(|_| cx.own_fits()) else {
        return Ok(woven.map(Woven::Now));
    };
    let stored = match &mut woven {
        Some(Target::File(staged)) => {
            let written = staged.written()?;
            cache.store(&key, &recorded, Some(&written), None)
        }
        Some(Target::Nowhere) => Ok(()),
        None => cache.store(&key, &recorded, None, None),
    };
    // The weave itself is done.
    if let Err(e) = stored {
        ledger.not_cached(spot.label, &e);
    }
    Ok(woven.map(Woven::Now))
}
