//! The new class file: a copy with additions to the pool and new code of woven methods.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::plan::{LeftCall, Plan, Planned, Redirected, Skipped};
use crate::aspect::woven::WovenType;
use crate::error::Result;
use crate::jvm::around;
use crate::jvm::attributes::first_line;
use crate::jvm::class::{Class, MethodInfo};
use crate::jvm::foundation;
use crate::jvm::lower::{self, Constants, MAX_ADDITIONS, Wanted};
use crate::jvm::place::Edits;
use crate::jvm::pool::{Additions, Known, tag};
use crate::jvm::redirect::Calls;
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
    /// The calls that stay as they are, and why.
    pub calls_left: Vec<LeftCall>,
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
    let (mut methods, calls) = (&plan.methods[..], &plan.calls[..]);
    let untouched = untouched(class, ty.name());
    if let Some(reason) = untouched.or_else(|| refusal(class, plan)) {
        ty.left.extend(methods.iter().map(|p| {
            let has_code = class.methods[p.index as usize].code.is_some();
            skipped(class, p, if has_code { reason } else { Reason::NoBody })
        }));
        methods = &[];
    }
    if let Some(reason) = untouched {
        return Ok(Woven {
            ty,
            calls_left: LeftCall::all(calls.iter().copied(), reason).collect(),
            ..Woven::default()
        });
    }
    if methods.is_empty() || !plan.has_around() {
        return put(class, plan, methods, calls, scratch, ty);
    }
    // Calls go with bodies to where these go.
    let called = put(class, plan, &[], calls, scratch, WovenType::default())?;
    let woven = match &called.bytes {
        None => weave_split(class, plan, seats, scratch, ty)?,
        Some(bytes) => weave_split(&Class::parse(bytes)?, plan, seats, scratch, ty)?,
    };
    Ok(Woven {
        bytes: woven.bytes.or(called.bytes),
        calls_left: called.calls_left,
        ..woven
    })
}

/// The same for methods with `around` hooks.
fn weave_split(
    class: &Class<'_>,
    plan: &Plan,
    seats: &Seats,
    scratch: &mut Scratch,
    mut ty: WovenType,
) -> Result<Woven> {
    let mut leave: FxHashMap<u32, Reason> = FxHashMap::default();
    // A method whose body cannot get its hooks stays whole. That makes room for others alone, so this ends.
    let (split, bytes) = loop {
        let split = around::split(class, plan, seats, &leave)?;
        let parts = Class::parse(&split.bytes)?;
        let methods = &split.plan.methods[..];
        let woven = WovenType::new(0, "", "", methods.len());
        let woven = put(&parts, &split.plan, methods, &[], scratch, woven)?;
        leave.extend(split.left.iter().copied());
        let (mut whole, mut again) = (Vec::new(), false);
        for left in &woven.ty.left {
            let place = (split.plan.methods).binary_search_by_key(&left.index, |p| p.index);
            let origin = place.map_or(left.index, |place| split.origins[place]);
            match split.split.contains_key(&origin) {
                true => again |= leave.insert(origin, left.reason).is_none(),
                false => whole.push((origin, left.reason)),
            }
        }
        if !again {
            leave.extend(whole);
            let alone = (!split.split.is_empty()).then(|| split.bytes.clone());
            break (split, woven.bytes.or(alone));
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
        note(&mut ty, class, planned, line)?;
    }
    Ok(Woven {
        bytes,
        ty,
        runners: split.runners,
        calls_left: Vec::new(),
    })
}

/// Why a class gets nothing, if so.
fn untouched(class: &Class<'_>, name: &str) -> Option<Reason> {
    if class.major > NEWEST_MAJOR {
        Some(Reason::NewerVersion)
    } else if foundation::is_foundation(name.as_bytes()) {
        Some(Reason::Foundation)
    } else {
        None
    }
}

/// Why no method of a class gets hooks, if so.
fn refusal(class: &Class<'_>, plan: &Plan) -> Option<Reason> {
    if class.is_woven()
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

/// A method is woven.
fn note(ty: &mut WovenType, class: &Class<'_>, planned: &Planned, line: u16) -> Result<()> {
    let method = &class.methods[planned.index as usize];
    let name = class.pool.text(method.name)?;
    let descriptor = class.pool.text(method.descriptor)?;
    ty.add(planned.id, u32::from(line), &name, |text| {
        text.push_str(&descriptor);
    });
    Ok(())
}

/// A class that is being written.
struct Writing<'w, 'a> {
    class: &'w Class<'a>,
    plan: &'w Plan,
    constants: Constants,
    copied_elsewhere: scan::Copied,
    calls: Calls<'w, 'a>,
    buffers: &'w mut lower::Scratch,
    additions: &'w mut Additions,
    tail: &'w mut Vec<u8>,
    /// How much of the class was copied.
    copied: usize,
    ty: WovenType,
}

/// Writes a class with the hooks of methods, and with what it gets at calls; no bytes where that is nothing.
fn put(
    class: &Class<'_>,
    plan: &Plan,
    mut methods: &[Planned],
    mut calls: &[Redirected],
    scratch: &mut Scratch,
    ty: WovenType,
) -> Result<Woven> {
    let asked = calls.len();
    scratch.additions.reset(&class.pool);
    scratch.tail.clear();
    let advice = methods
        .iter()
        .fold(Advice::default(), |all, p| all.with(p.advice));
    let own_handlers = methods.iter().any(|p| {
        let bound = plan.bound(p);
        bound.is_some_and(|bound| !bound.exception.is_empty() || bound.may_skip())
    });
    let mut writing = Writing {
        class,
        plan,
        constants: lower::constants(class, advice, own_handlers, &mut scratch.additions),
        copied_elsewhere: scan::Copied::of(class),
        calls: Calls::new(class, plan),
        buffers: &mut scratch.lower,
        additions: &mut scratch.additions,
        tail: &mut scratch.tail,
        copied: class.pool.end(),
        ty,
    };
    let first = |methods: &[Planned], calls: &[Redirected]| {
        let (method, call) = (methods.first(), calls.first());
        (method.map(|p| p.index).into_iter())
            .chain(call.map(|call| call.index))
            .min()
    };
    while let Some(index) = first(methods, calls) {
        let planned = methods.first().filter(|planned| planned.index == index);
        methods = &methods[usize::from(planned.is_some())..];
        let (own, others) = calls.split_at(calls.partition_point(|call| call.index <= index));
        calls = others;
        writing.method(index, planned, own)?;
    }
    let (tail, ty) = (writing.tail, writing.ty);
    tail.extend_from_slice(&class.bytes[writing.copied..]);
    let calls_left = writing.calls.finish(tail);
    let is_changed = calls_left.len() < asked || ty.methods().len() > 0;
    Ok(Woven {
        bytes: is_changed.then(|| class_file(class, scratch)),
        ty,
        runners: BTreeMap::new(),
        calls_left,
    })
}

impl Writing<'_, '_> {
    /// Writes the class up to the end of a method's code, with its hooks and what it has at these calls.
    fn method(
        &mut self,
        index: u32,
        planned: Option<&Planned>,
        calls: &[Redirected],
    ) -> Result<()> {
        let class = self.class;
        let method = &class.methods[index as usize];
        let Some(range) = &method.code else {
            self.leave(planned, Reason::NoBody);
            return Ok(());
        };
        let stays = self.copied_elsewhere.refuses(class, method);
        if let Some(reason) = stays {
            self.leave(planned, reason);
        }
        let planned = planned.filter(|_| stays.is_none());
        self.tail
            .extend_from_slice(&class.bytes[self.copied..range.start]);
        self.copied = range.start;
        let done = match calls {
            [] => (self.attempt(method, planned, &Edits::default()))
                .map(|attempt| attempt.unwrap_or_default()),
            _ => self.with_calls(method, planned, calls, stays),
        };
        done.map_err(|e| e.in_method(class.method_label(method)))
    }

    /// The same for a method that has calls.
    fn with_calls(
        &mut self,
        method: &MethodInfo,
        planned: Option<&Planned>,
        calls: &[Redirected],
        stays: Option<Reason>,
    ) -> Result<()> {
        let Some(code) = self.class.code(method)? else {
            return Ok(());
        };
        let mut calls = self.calls.kept(method, code, stays, calls)?;
        let mut looks = stays.is_none();
        // Each time less is asked for, so this ends.
        loop {
            let mark = self.calls.mark(self.additions);
            let edits = (self.calls).edits(method, code, &calls, looks, self.additions);
            let attempt = match settle(edits)? {
                Ok(edits) => self.attempt(method, planned, &edits)?,
                Err(reason) => Err(reason),
            };
            let Err(reason) = attempt else {
                return Ok(());
            };
            self.calls.rollback(&mark, self.additions);
            match looks {
                true => looks = false,
                false => {
                    calls = self.calls.leave_points(calls, reason);
                    looks = stays.is_none();
                }
            }
        }
    }

    /// Appends a method's code with its hooks and these edits, or else with the edits alone; or says why there is no room for
    /// these.
    fn attempt(
        &mut self,
        method: &MethodInfo,
        planned: Option<&Planned>,
        edits: &Edits,
    ) -> Result<std::result::Result<(), Reason>> {
        let class = self.class;
        let Some(range) = &method.code else {
            return Ok(Ok(()));
        };
        let mut left = None;
        if let Some(planned) = planned {
            match settle(self.lower(method, Some(planned), edits))? {
                Ok(line) => {
                    self.copied = range.end;
                    return note(&mut self.ty, class, planned, line).map(Ok);
                }
                Err(reason) => left = Some(reason),
            }
        }
        if !edits.at.is_empty() {
            if let Err(reason) = settle(self.lower(method, None, edits))? {
                return Ok(Err(reason));
            }
            self.copied = range.end;
        } else if let Some(code) = class.code(method)?.filter(|_| !edits.instead.is_empty()) {
            let base = self.tail.len() + code.offset - range.start;
            self.tail.extend_from_slice(&class.bytes[range.clone()]);
            edits.patch(&mut self.tail[base..], |pc| pc);
            self.copied = range.end;
        }
        if let Some(reason) = left {
            self.leave(planned, reason);
        }
        Ok(Ok(()))
    }

    fn lower(
        &mut self,
        method: &MethodInfo,
        planned: Option<&Planned>,
        edits: &Edits,
    ) -> Attempt<u16> {
        let bound = planned.and_then(|planned| self.plan.bound(planned));
        let needed = usize::from(MAX_ADDITIONS) + lower::constants_needed(bound);
        if planned.is_some() && usize::from(self.additions.room()) < needed {
            return Err(Reason::PoolFull.into());
        }
        let mut constants = self.constants;
        if !edits.joins.is_empty() && constants.stack_map_table == 0 {
            constants.stack_map_table = match self.class.pool.known(Known::StackMapTable) {
                0 => self.additions.shared_utf8(b"StackMapTable"),
                index => index,
            };
        }
        let wanted = Wanted {
            planned,
            bound,
            constants,
            edits,
        };
        let (own, out) = (&mut *self.additions, &mut *self.tail);
        lower::lower(self.class, method, &wanted, own, self.buffers, out)
    }

    fn leave(&mut self, planned: Option<&Planned>, reason: Reason) {
        let skipped = planned.map(|planned| skipped(self.class, planned, reason));
        self.ty.left.extend(skipped);
    }
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
