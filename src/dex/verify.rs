//! Verifies a dex file's code by the rules of ART's method verifier: the contents of every register at every instruction,
//! uninitialised objects, pairs, handlers, monitors, payloads. Woven methods must also call their hooks in pairs.
//!
//! Facts about classes outside the file are assumed. Devices do the same, and verify again at run time.

mod frame;
mod hooks;
mod method;
mod statics;
mod step;
mod types;

use crate::bytes::u32_at;
use crate::dex::format::class::{ClassDef, Members};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{Dex, File};
use crate::dex::format::order;
use crate::error::{Error, Result, Verdict};
use method::Checker;

/// `ACC_STATIC`.
const ACC_STATIC: u32 = 0x8;

/// How many times the file's size the verified code may be: methods may share code.
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

/// Compares each dex with its checksum, which Android demands; ignores the signature.
pub fn checksums(bytes: &[u8]) -> Result<()> {
    for file in &Dex::parse(bytes)?.files {
        let dex = &file.bytes[file.start..][..file.size];
        let (stored, is) = (u32_at(dex, 8), simd_adler32::adler32(&&dex[12..]));
        if stored != is {
            let what = format!("the checksum is {stored:08x}, that of the bytes {is:08x}");
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
        verdict.types += 1;
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
