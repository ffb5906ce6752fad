//! Weaving an archive, or taking what came of it before.

use crate::container::zip::Archive;
use crate::error::Result;
use crate::pipeline::cache::Cache;
use crate::pipeline::context::Context;
use crate::pipeline::inputs::archive::output::Open;
use crate::pipeline::inputs::archive::{Spot, weave_archive};
use crate::pipeline::job::Meter;
use crate::pipeline::ledger::Ledger;
use crate::pipeline::publish::target::Target;

/// Weaves an archive, or takes what came of it before. `types` is the digest of what is known of supertypes.
pub(crate) fn weave_cached(
    cache: (Option<&Cache>, &[u8]),
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    meter: &Meter<'_>,
    spot: &Spot<'_>,
    archive: (&Archive<'_>, &[u8]),
    open: Open<'_, Target>,
) -> Result<Option<Target>> {
    let ((cache, types), (archive, bytes)) = (cache, archive);
    let Some(cache) = cache.filter(|_| cx.may_be_cached(ledger)) else {
        return weave_archive(cx, ledger, meter, spot, archive, open);
    };
    let how = format!(
        "{:?} {:?} {:?} {} {} {} {}",
        spot.library,
        cx.classes_on,
        cx.effort,
        spot.is_unit,
        spot.is_named,
        cx.runtime,
        cx.identity.is_some()
    );
    let key = cache.key(&[types, spot.label.as_bytes(), how.as_bytes(), bytes]);
    if let Some(entry) = cache.load(&key)
        && ledger.replay(&entry.recorded)
    {
        cx.matcher.add_outcomes(&entry.idle);
        let Some(archive) = entry.artifact() else {
            return Ok(None);
        };
        let mut target = open()?;
        target.put(archive)?;
        return Ok(Some(target));
    }
    let before = ledger.start_recording();
    let matched = cx.matcher.take_outcomes();
    let mut woven = weave_archive(cx, ledger, meter, spot, archive, open)?;
    let recorded = ledger.stop_recording(before);
    let idle = cx.matcher.take_outcomes();
    cx.matcher.add_outcomes(&matched);
    cx.matcher.add_outcomes(&idle);
    let Some(recorded) = recorded else {
        return Ok(woven);
    };
    let stored = match &mut woven {
        Some(Target::File(staged)) => {
            let written = staged.written()?;
            cache.store(&key, &recorded, &idle, Some(&written), None)
        }
        Some(Target::Nowhere) => Ok(()),
        None => cache.store(&key, &recorded, &idle, None, None),
    };
    // The weave itself is done.
    if let Err(e) = stored {
        ledger.not_cached(spot.label, &e);
    }
    Ok(woven)
}
