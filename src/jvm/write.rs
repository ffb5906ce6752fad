//! The new class file: a copy with additions to the pool and new code of woven methods.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::settle;
use crate::aspect::plan::{Plan, Skipped};
use crate::aspect::woven::WovenType;
use crate::error::Result;
use crate::jvm::class::{Class, MethodInfo};
use crate::jvm::foundation;
use crate::jvm::lower::{self, MAX_ADDITIONS};
use crate::jvm::pool::Additions;
use crate::jvm::scan;

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
}

/// Weaves the planned methods of a class.
pub fn weave(class: &Class<'_>, plan: &Plan, scratch: &mut Scratch) -> Result<Woven> {
    let mut woven = Woven {
        bytes: None,
        ty: WovenType::new(0, &class.name(), &class.source_file(), plan.methods.len()),
    };
    let refused = if class.major > NEWEST_MAJOR {
        Some(Reason::NewerVersion)
    } else if foundation::is_foundation(woven.ty.name().as_bytes()) {
        Some(Reason::Foundation)
    } else if class.is_woven() {
        Some(Reason::AlreadyWoven)
    } else if class.pool.count() > u16::MAX - MAX_ADDITIONS {
        Some(Reason::PoolFull)
    } else {
        None
    };
    let skip = |index: u32, method: &MethodInfo, reason| Skipped {
        ty: 0,
        index,
        method: class.method_label(method),
        reason,
    };
    if let Some(reason) = refused {
        woven.ty.left = plan
            .methods
            .iter()
            .map(|p| (p.index, &class.methods[p.index as usize]))
            .map(|(i, m)| match m.code {
                Some(_) => skip(i, m, reason),
                None => skip(i, m, Reason::NoBody),
            })
            .collect();
        return Ok(woven);
    }

    let Scratch {
        lower: buffers,
        additions,
        tail,
        bytes: reused,
    } = scratch;
    additions.reset(&class.pool);
    tail.clear();
    let advice = plan
        .methods
        .iter()
        .fold(Advice::default(), |all, p| all.with(p.advice));
    let constants = lower::constants(class, advice, additions);
    let mut copied = class.pool.end();
    for planned in &plan.methods {
        let method = &class.methods[planned.index as usize];
        let mark = tail.len();
        let attempt = match &method.code {
            _ if additions.room() < MAX_ADDITIONS => Err(Reason::PoolFull.into()),
            None => Err(Reason::NoBody.into()),
            Some(_) if scan::is_template(class, method) => Err(Reason::Template.into()),
            Some(code) => {
                tail.extend_from_slice(&class.bytes[copied..code.start]);
                lower::lower(class, method, planned, constants, additions, buffers, tail)
                    .map(|line| (line, code.end))
            }
        };
        match settle(attempt).map_err(|e| e.in_method(class.method_label(method)))? {
            Ok((line, end)) => {
                copied = end;
                let name = class.pool.text(method.name)?;
                let descriptor = class.pool.text(method.descriptor)?;
                woven.ty.add(planned.id, u32::from(line), &name, |text| {
                    text.push_str(&descriptor);
                });
            }
            Err(reason) => {
                tail.truncate(mark);
                woven.ty.left.push(skip(planned.index, method, reason));
            }
        }
    }
    if woven.ty.methods().len() == 0 {
        return Ok(woven);
    }
    tail.extend_from_slice(&class.bytes[copied..]);
    let pool = &class.bytes[10..class.pool.end()];
    let mut bytes = std::mem::take(reused);
    bytes.clear();
    bytes.reserve_exact(10 + pool.len() + additions.bytes().len() + tail.len());
    bytes.extend_from_slice(&class.bytes[..8]);
    bytes.extend_from_slice(&additions.count().to_be_bytes());
    bytes.extend_from_slice(pool);
    bytes.extend_from_slice(additions.bytes());
    bytes.extend_from_slice(tail);
    woven.bytes = Some(bytes);
    Ok(woven)
}
