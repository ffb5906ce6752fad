//! The way through an archive, cut into steps.

use crate::container::zip::Archive;
use crate::pipeline::inputs::archive::rules::Survey;

/// Most unpacked bytes in one batch. Two batches are in memory at a time.
const BATCH_BYTES: u64 = 12 << 20;

/// Fewest: below, starting a batch costs more than it spreads.
const MIN_BATCH_BYTES: u64 = 2 << 20;

/// A part of the way through an archive, in its order.
pub(crate) enum Step<'s> {
    /// A batch of members that may be classes.
    Classes(&'s [usize]),
    /// Members that may be dex files, with nothing else to weave between them.
    Dexes(&'s [usize]),
    /// A member that may be an archive.
    Nested(usize),
}

/// Splits the members into batches of classes, bounded by bytes, and the other members between them.
pub(crate) fn steps<'s>(
    archive: &Archive<'_>,
    mut classes: &'s [usize],
    survey: &'s Survey,
) -> Vec<Step<'s>> {
    let members = archive.members();
    let mut steps = Vec::new();
    for (until, stop) in stops(classes, survey, members.len()) {
        let mut before;
        (before, classes) = classes.split_at(classes.partition_point(|&i| i < until));
        // What the directory says of sizes may be a lie of any magnitude.
        let sum = |some: &[usize]| {
            some.iter()
                .fold(0u64, |n, &i| n.saturating_add(members[i].size()))
        };
        while !before.is_empty() {
            // No thread weaves while the last batch is written, so batches become smaller towards the end.
            let most = (sum(before) / 3).clamp(MIN_BATCH_BYTES, BATCH_BYTES);
            let mut bytes = 0u64;
            let fits = before.iter().take_while(|&&i| {
                bytes = members[i].size().saturating_add(bytes);
                bytes <= most
            });
            let batch;
            (batch, before) = before.split_at(fits.count().max(1));
            steps.push(Step::Classes(batch));
        }
        steps.extend(stop);
    }
    steps
}

/// What lies between classes, by position; last the end.
fn stops<'s>(classes: &[usize], survey: &'s Survey, end: usize) -> Vec<(usize, Option<Step<'s>>)> {
    let between = |some: &[usize], a: usize, b: usize| {
        some.get(some.partition_point(|&i| i < a))
            .is_some_and(|&i| i < b)
    };
    let together =
        |a: &usize, b: &usize| !between(classes, *a, *b) && !between(&survey.archives, *a, *b);
    let dexes = (survey.dexes)
        .chunk_by(together)
        .map(|chunk| (chunk[0], Some(Step::Dexes(chunk))));
    let nested = survey.archives.iter().map(|&i| (i, Some(Step::Nested(i))));
    let mut stops: Vec<_> = dexes.chain(nested).collect();
    stops.sort_unstable_by_key(|(index, _)| *index);
    stops.push((end, None));
    stops
}
