//! How much the JIT may inline. From .NET 10 on it inlines methods with handlers, and those marked `AggressiveInlining`
//! without any bound. Nested calls of such methods, as in code ported from C, made methods with thousands of handlers,
//! which take seconds each to compile. So a woven method keeps that mark only if inlining brings few handlers.

use crate::cil::il::insn;
use crate::cil::image::Image;
use crate::cil::metadata::flags::impl_flag;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{decode, token_row, token_table};
use crate::cil::weave::bodies::NewBody;
use crate::cil::weave::sites::OldBodies;
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};

/// The most handlers of Weave that come along with a method that is marked, its own included. Of ZstdSharp woven whole and off, the
/// code is as fast with 2 as with 16; all of it compiles in 0.5 s with 2, in 1.6 s with 4, in 8 s with 8 (docs/cost.md).
const MOST: u32 = 2;

/// A woven method that is marked and has a handler.
#[derive(Default)]
struct Marked {
    /// Its callers that are marked as well, each as often as it calls.
    callers: Vec<u32>,
    /// How many calls of marked methods are not yet judged.
    unjudged: u32,
    /// The handlers that come along with it, as far as they are known.
    handlers: u32,
}

/// The rows of the methods that lose the mark `AggressiveInlining`.
pub(crate) fn unmarked<'b>(
    image: &Image<'_>,
    old: &OldBodies<'_, '_>,
    bodies: impl Iterator<Item = &'b NewBody>,
) -> Result<BTreeSet<u32>> {
    let tables = &image.metadata.tables;
    let count = tables.rows(table::METHOD_DEF);
    let mut marked = BTreeMap::new();
    for body in bodies.filter(|body| body.has_handler && !body.apart && body.method <= count) {
        let row = tables.row(table::METHOD_DEF, body.method)?;
        if row.get(column::method_def::IMPL_FLAGS) & impl_flag::AGGRESSIVE_INLINING != 0 {
            marked.insert(
                body.method,
                Marked {
                    handlers: 1,
                    ..Marked::default()
                },
            );
        }
    }
    for caller in marked.keys().copied().collect::<Vec<_>>() {
        for called in calls(image, old, caller)? {
            if let Some(called) = marked.get_mut(&called) {
                called.callers.push(caller);
                marked.get_mut(&caller).expect("it is marked").unjudged += 1;
            }
        }
    }
    Ok(judge(marked))
}

/// Judges callers behind what they call. Of methods that call each other in a circle the first one loses the mark.
fn judge(mut marked: BTreeMap<u32, Marked>) -> BTreeSet<u32> {
    let mut unmarked = BTreeSet::new();
    let mut judged = BTreeSet::new();
    let mut ready: Vec<u32> = marked
        .iter()
        .filter(|(_, method)| method.unjudged == 0)
        .map(|(&row, _)| row)
        .collect();
    let mut rest = marked.keys().copied().collect::<Vec<_>>().into_iter();
    loop {
        let (row, circle) = match ready.pop() {
            Some(row) => (row, false),
            None => match rest.find(|row| !judged.contains(row)) {
                Some(row) => (row, true),
                None => return unmarked,
            },
        };
        if !judged.insert(row) {
            continue;
        }
        let method = std::mem::take(marked.get_mut(&row).expect("it is marked"));
        let handlers = match circle || method.handlers > MOST {
            true => {
                unmarked.insert(row);
                0
            }
            false => method.handlers,
        };
        for caller in method.callers {
            let caller_method = marked.get_mut(&caller).expect("it is marked");
            caller_method.handlers = caller_method.handlers.saturating_add(handlers);
            caller_method.unjudged -= u32::from(!judged.contains(&caller));
            if caller_method.unjudged == 0 {
                ready.push(caller);
            }
        }
    }
}

/// The rows of the methods of the same assembly that a method calls, each as often as it stands there.
fn calls(image: &Image<'_>, old: &OldBodies<'_, '_>, method: u32) -> Result<Vec<u32>> {
    let tables = &image.metadata.tables;
    let row = tables.row(table::METHOD_DEF, method)?;
    let body = old.body(row.get(column::method_def::RVA))?.body;
    let mut found = Vec::new();
    for at in insn::tokens(body.code) {
        let mut token = at?.token;
        if token_table(token) == table::METHOD_SPEC {
            let spec = tables.row(table::METHOD_SPEC, token_row(token))?;
            let called = spec.get(column::method_spec::METHOD);
            token = decode(&coded::METHOD_DEF_OR_REF, called)?;
        }
        if token_table(token) == table::METHOD_DEF {
            found.push(token_row(token));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The methods that lose the mark, of marked ones and what each calls.
    fn judged(calls: &[(u32, &[u32])]) -> Vec<u32> {
        let mut marked: BTreeMap<u32, Marked> = BTreeMap::new();
        for &(caller, called) in calls {
            let method = marked.entry(caller).or_default();
            method.handlers = 1;
            method.unjudged = called.len() as u32;
            for &called in called {
                marked.entry(called).or_default().callers.push(caller);
            }
        }
        judge(marked).into_iter().collect()
    }

    #[test]
    fn methods_are_marked_while_few_handlers_come_along() {
        assert_eq!(judged(&[(1, &[]), (2, &[])]), [0u32; 0]);
        // One in another, and no further.
        assert_eq!(judged(&[(1, &[2]), (2, &[])]), [0u32; 0]);
        assert_eq!(judged(&[(1, &[2]), (2, &[3]), (3, &[])]), [1]);
        // What is not inlined brings nothing along.
        assert_eq!(judged(&[(1, &[2]), (2, &[3]), (3, &[4]), (4, &[])]), [2]);
        // Twice the same.
        assert_eq!(judged(&[(1, &[2, 2]), (2, &[])]), [1]);
    }

    #[test]
    fn circles_end() {
        assert_eq!(judged(&[(1, &[1])]), [1]);
        assert_eq!(judged(&[(1, &[2]), (2, &[1])]), [1]);
        assert_eq!(judged(&[(1, &[2]), (2, &[3]), (3, &[1]), (4, &[])]), [1]);
        let ring: Vec<(u32, Vec<u32>)> = (0..50_000).map(|n| (n, vec![(n + 1) % 50_000])).collect();
        let ring: Vec<(u32, &[u32])> = ring.iter().map(|(n, called)| (*n, &called[..])).collect();
        assert_eq!(judged(&ring).len(), 16_667);
    }
}
