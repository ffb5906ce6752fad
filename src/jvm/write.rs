//! The new class file: a copy with additions to the pool and new code of woven methods.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::settle;
use crate::aspect::plan::{Plan, Planned, Skipped};
use crate::aspect::woven::WovenType;
use crate::error::Result;
use crate::jvm::around;
use crate::jvm::attributes::first_line;
use crate::jvm::class::Class;
use crate::jvm::foundation;
use crate::jvm::lower::{self, MAX_ADDITIONS, Wanted};
use crate::jvm::pool::{Additions, tag};
use crate::jvm::runner::{Runner, Seats};
use crate::jvm::scan;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Newest class file version that is woven: Java 27 is 71 (JVMS 4.1-A), and one more, since new
/// versions rarely change what the weaver touches. Newer classes are left as they are.
pub const NEWEST_MAJOR: u16 = 72;

/// Reusable buffers for [`weave`]; one a thread.
#[derive(Default)]
pub struct Scratch {
    lower: lower::Scratch,
    additions: Additions,
    /// The class from its access flags on.
    tail: Vec<u8>,
    /// Memory for the next class file.
    bytes: Vec<u8>,
}

impl Scratch {
    /// Takes back the bytes of a finished class, as memory for the next one.
    pub fn reuse(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() <= MAX_REUSED {
            self.bytes = bytes;
        }
    }
}

/// Largest memory of a class that is kept for the next one.
const MAX_REUSED: usize = 1 << 20;

/// A woven class.
#[derive(Default)]
pub struct Woven {
    /// The new class file; `None` where nothing could be woven.
    pub bytes: Option<Vec<u8>>,
    /// The outcomes of its methods.
    pub ty: WovenType,
    /// What it calls that runs bodies, with those of its own, by their names.
    pub runners: BTreeMap<Arc<str>, Runner>,
}

impl Woven {
    /// A class of which no method is woven.
    pub fn nothing(class: &Class<'_>) -> Woven {
        Woven {
            bytes: None,
            ty: WovenType::new(0, &class.name(), &class.source_file(), 0),
            runners: BTreeMap::new(),
        }
    }
}

/// Weaves the planned methods of a class that has no place beside it for what runs bodies.
pub fn weave(class: &Class<'_>, plan: &Plan, scratch: &mut Scratch) -> Result<Woven> {
    weave_seated(class, plan, &Seats::default(), scratch)
}

/// The same where its bodies have these places in runners.
pub fn weave_seated(
    class: &Class<'_>,
    plan: &Plan,
    seats: &Seats,
    scratch: &mut Scratch,
) -> Result<Woven> {
    let mut ty = WovenType::new(0, &class.name(), &class.source_file(), plan.methods.len());
    if let Some(reason) = refusal(class, ty.name(), plan) {
        ty.left.extend(plan.methods.iter().map(|p| {
            let has_code = class.methods[p.index as usize].code.is_some();
            skipped(class, p, if has_code { reason } else { Reason::NoBody })
        }));
        let woven = Woven::nothing(class);
        return Ok(Woven { ty, ..woven });
    }
    if plan.has_around() {
        return weave_split(class, (plan, seats), scratch, ty);
    }
    put_tail(class, plan, scratch, &mut ty)?;
    let bytes = (ty.methods().len() > 0).then(|| class_file(class, scratch));
    Ok(Woven {
        bytes,
        ty,
        runners: BTreeMap::new(),
    })
}

/// The same for methods with `around` hooks.
fn weave_split(
    class: &Class<'_>,
    (plan, seats): (&Plan, &Seats),
    scratch: &mut Scratch,
    mut ty: WovenType,
) -> Result<Woven> {
    let mut leave: FxHashMap<u32, Reason> = FxHashMap::default();
    // A method whose body cannot get its hooks stays whole. That makes room for others alone, so this ends.
    let (split, bytes) = loop {
        let split = around::split(class, (plan, seats), &leave)?;
        let parts = Class::parse(&split.bytes)?;
        let mut woven = WovenType::new(0, "", "", split.plan.methods.len());
        put_tail(&parts, &split.plan, scratch, &mut woven)?;
        leave.extend(split.left.iter().copied());
        let (mut whole, mut again) = (Vec::new(), false);
        for left in &woven.left {
            let place = (split.plan.methods).binary_search_by_key(&left.index, |p| p.index);
            let origin = place.map_or(left.index, |place| split.origins[place]);
            match split.split.contains_key(&origin) {
                true => again |= leave.insert(origin, left.reason).is_none(),
                false => whole.push((origin, left.reason)),
            }
        }
        if !again {
            leave.extend(whole);
            let is_woven = woven.methods().len() > 0;
            let bytes = match is_woven {
                true => Some(class_file(&parts, scratch)),
                false if split.split.is_empty() => None,
                false => Some(split.bytes.clone()),
            };
            break (split, bytes);
        }
    };
    for planned in &plan.methods {
        if let Some(&reason) = leave.get(&planned.index) {
            ty.left.push(skipped(class, planned, reason));
            continue;
        }
        let method = &class.methods[planned.index as usize];
        let line = match (split.split.get(&planned.index), class.code(method)?) {
            (Some(line), _) => *line,
            (None, Some(code)) => first_line(class, &code)?,
            (None, None) => 0,
        };
        let name = class.pool.text(method.name)?;
        let descriptor = class.pool.text(method.descriptor)?;
        ty.add(planned.id, u32::from(line), &name, |text| {
            text.push_str(&descriptor);
        });
    }
    Ok(Woven {
        bytes,
        ty,
        runners: split.runners,
    })
}

/// Why no method of a class is woven, if so.
fn refusal(class: &Class<'_>, name: &str, plan: &Plan) -> Option<Reason> {
    if class.major > NEWEST_MAJOR {
        Some(Reason::NewerVersion)
    } else if foundation::is_foundation(name.as_bytes()) {
        Some(Reason::Foundation)
    } else if class.is_woven()
        || calls_adapters(class, plan)
        || (plan.has_around() && around::is_split(class))
    {
        Some(Reason::AlreadyWoven)
    } else if class.pool.count() > u16::MAX - MAX_ADDITIONS {
        Some(Reason::PoolFull)
    } else {
        None
    }
}

/// Whether a class calls an adapter that the plan has for it: it has these own hooks already.
fn calls_adapters(class: &Class<'_>, plan: &Plan) -> bool {
    let bound = plan.bound.iter();
    let calls = bound.flat_map(|bound| bound.all());
    let adapters: FxHashSet<&[u8]> = calls
        .filter_map(|call| Some(call.adapter.as_ref()?.class.as_bytes()))
        .collect();
    !adapters.is_empty()
        && (1..class.pool.count())
            .filter(|&index| class.pool.tag(index) == Some(tag::CLASS))
            .any(|index| (class.pool.class_name(index)).is_ok_and(|name| adapters.contains(name)))
}

fn skipped(class: &Class<'_>, planned: &Planned, reason: Reason) -> Skipped {
    Skipped {
        ty: 0,
        index: planned.index,
        method: class.method_label(&class.methods[planned.index as usize]),
        reason,
        asked: false,
    }
}

/// Collects additions to the pool, and the class from its access flags on, with the hooks of the planned methods.
fn put_tail(
    class: &Class<'_>,
    plan: &Plan,
    scratch: &mut Scratch,
    ty: &mut WovenType,
) -> Result<()> {
    let Scratch {
        lower: buffers,
        additions,
        tail,
        ..
    } = scratch;
    additions.reset(&class.pool);
    tail.clear();
    let advice = (plan.methods.iter()).fold(Advice::default(), |all, p| all.with(p.advice));
    let own_handlers = (plan.methods.iter()).any(|p| {
        plan.bound(p)
            .is_some_and(|bound| !bound.exception.is_empty() || bound.may_skip())
    });
    let constants = lower::constants(class, advice, own_handlers, additions);
    let copied_elsewhere = scan::Copied::of(class);
    let mut copied = class.pool.end();
    for planned in &plan.methods {
        let method = &class.methods[planned.index as usize];
        let mark = tail.len();
        let wanted = Wanted {
            planned,
            bound: plan.bound(planned),
            constants,
            points: None,
        };
        let needed = usize::from(MAX_ADDITIONS) + lower::constants_needed(wanted.bound);
        let attempt = match &method.code {
            _ if usize::from(additions.room()) < needed => Err(Reason::PoolFull.into()),
            None => Err(Reason::NoBody.into()),
            Some(code) => {
                if let Some(reason) = copied_elsewhere.refuses(class, method) {
                    ty.left.push(skipped(class, planned, reason));
                    continue;
                }
                tail.extend_from_slice(&class.bytes[copied..code.start]);
                lower::lower(class, method, &wanted, additions, buffers, tail)
                    .map(|line| (line, code.end))
            }
        };
        match settle(attempt).map_err(|e| e.in_method(class.method_label(method)))? {
            Ok((line, end)) => {
                copied = end;
                let name = class.pool.text(method.name)?;
                let descriptor = class.pool.text(method.descriptor)?;
                ty.add(planned.id, u32::from(line), &name, |text| {
                    text.push_str(&descriptor);
                });
            }
            Err(reason) => {
                tail.truncate(mark);
                ty.left.push(skipped(class, planned, reason));
            }
        }
    }
    tail.extend_from_slice(&class.bytes[copied..]);
    Ok(())
}

/// Puts the new class file together.
fn class_file(class: &Class<'_>, scratch: &mut Scratch) -> Vec<u8> {
    let Scratch {
        additions, tail, ..
    } = scratch;
    let pool = &class.bytes[10..class.pool.end()];
    let mut bytes = std::mem::take(&mut scratch.bytes);
    bytes.clear();
    bytes.reserve_exact(10 + pool.len() + additions.bytes().len() + tail.len());
    bytes.extend_from_slice(&class.bytes[..8]);
    bytes.extend_from_slice(&additions.count().to_be_bytes());
    bytes.extend_from_slice(pool);
    bytes.extend_from_slice(additions.bytes());
    bytes.extend_from_slice(tail);
    bytes
}
