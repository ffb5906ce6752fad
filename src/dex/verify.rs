//! Whether a dex file's code holds together, after the rules of ART's method verifier: what every
//! register holds at every instruction, uninitialised objects, pairs, handlers, monitors, payloads.
//!
//! Woven methods must call their hooks in pairs, too.
//!
//! What classes from outside the file decide is taken to be right. Devices do the same with what
//! they cannot resolve, and look again when it is run.

mod hooks;
mod method;
mod statics;
mod step;
mod types;

use crate::dex::class::{ClassDef, Members};
use crate::dex::code_item::Code;
use crate::dex::file::{Dex, File, u32_at};
use crate::dex::order;
use crate::error::{Error, Result, Verdict};
use method::Checker;

/// `ACC_STATIC`, `ACC_CONSTRUCTOR`.
const ACC_STATIC: u32 = 0x8;

/// Code may be shared between methods, but not so much that the work exceeds the file many times.
const MAX_SHARING: usize = 64;

/// Verifies a dex file, or all of a container.
pub fn verify(bytes: &[u8]) -> Verdict {
    let mut verdict = Verdict::default();
    match Dex::parse(bytes) {
        Ok(dex) => {
            for file in &dex.files {
                verdict.failures.extend(order::check(file).err());
                if let Err(e) = verify_file(file, &mut verdict) {
                    verdict.failures.push(e);
                }
            }
        }
        Err(e) => verdict.failures.push(e),
    }
    verdict
}

/// Compares each dex with its checksum, without which Android loads none. The signature it does not look at.
pub fn checksums(bytes: &[u8]) -> Result<()> {
    for file in &Dex::parse(bytes)?.files {
        let dex = &file.bytes[file.start..][..file.size];
        let (told, is) = (u32_at(dex, 8), simd_adler32::adler32(&&dex[12..]));
        if told != is {
            let what = format!("the checksum is {told:08x}, that of the bytes {is:08x}");
            return Err(Error::malformed(file.start + 8, what));
        }
    }
    Ok(())
}

fn verify_file(file: &File<'_>, verdict: &mut Verdict) -> Result<()> {
    let mut checker = Checker::new(file)?;
    let mut budget = file.bytes.len().saturating_mul(MAX_SHARING);
    for row in file.classes {
        let class = ClassDef::read(row);
        if class.data == 0 {
            continue;
        }
        let mut members = Members::read(file, class.data)?;
        while let Some(method) = members.next()? {
            verdict.methods += 1;
            if method.code == 0 {
                continue;
            }
            let outcome = Code::read(file.bytes, method.code as usize).and_then(|code| {
                let size = code.size()?;
                budget = budget
                    .checked_sub(size)
                    .ok_or_else(|| Error::malformed(code.offset, "too many methods share code"))?;
                checker.check(&class, method.id, method.access, &code)
            });
            if let Err(e) = outcome {
                verdict
                    .failures
                    .push(e.in_method(file.method_label(method.id)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
