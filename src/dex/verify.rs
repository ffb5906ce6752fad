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

use crate::bytes::{mutf8, u16_at, u32_at};
use crate::dex::format::class::{ClassDef, Members, fields_of};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{Dex, File};
use crate::dex::format::order;
use crate::error::{Error, Result, Verdict};
use method::Checker;
use rustc_hash::FxHashSet;

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
    let mut seen = FxHashSet::default();
    for row in file.classes {
        let class = ClassDef::read(row);
        verdict.types += 1;
        if !seen.insert(class.ty) {
            let name = mutf8(file.descriptor(class.ty)?);
            let what = format!("the class {name} is defined twice");
            verdict.failures.push(Error::malformed(file.start, what));
        }
        if class.data == 0 {
            continue;
        }
        if let Err(e) = verify_declared(file, &class) {
            verdict.failures.push(e);
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

/// Whether what a class declares is its own, and no method is both direct and virtual: ART loads no file with another one.
/// It lets a list repeat an index, and takes the first.
fn verify_declared(file: &File<'_>, class: &ClassDef) -> Result<()> {
    let at = class.data as usize;
    let own = |rows: &[[u8; 8]], kind: &str, index: u32| match rows.get(index as usize) {
        Some(row) if u32::from(u16_at(row, 0)) == class.ty => Ok(()),
        Some(_) => {
            let what = format!("{kind} {index} is not of the class that declares it");
            Err(Error::malformed(at, what))
        }
        None => Err(Error::malformed(at, format!("there is no {kind} {index}"))),
    };
    let mut wrong = Ok(());
    fields_of(file, class.data, |index, _| {
        if wrong.is_ok() {
            wrong = own(file.fields, "field", index);
        }
    })?;
    wrong?;
    let mut members = Members::read(file, class.data)?;
    let mut direct = FxHashSet::default();
    for number in 0.. {
        let Some(method) = members.next()? else {
            break;
        };
        own(file.methods, "method", method.id)?;
        if number < members.direct {
            direct.insert(method.id);
        } else if direct.contains(&method.id) {
            return Err(Error::malformed(at, "a method is both direct and virtual")
                .in_method(file.method_label(method.id)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
