//! The checksums that D8 leaves in debug builds. One string of a dex file, which nothing in it refers to, holds for each
//! class that of the class file it was made of (`ClassesChecksum` of R8's sources):
//!
//! ```text
//!     ~~~{"Lcom/acme/A;":"1a2b3c4d","Lcom/acme/B;":"5e6f"}
//! ```
//!
//! Tools that compare builds class by class go by them. A woven class is not what its checksum says, so that goes.

use crate::dex::file::File;
use crate::dex::ids::{self, Ids, compare_strings};
use crate::error::Result;
use memchr::{memchr_iter, memmem};
use rustc_hash::FxHashSet;

/// What the string begins with.
const BEGIN: &[u8] = b"~~~{";
/// What it ends with.
const END: &[u8] = b"}";
/// What lies between a class and its checksum.
const OF: &[u8] = b"\":\"";

/// The string with the checksums, and its text without those of woven classes. `None` where there is nothing to be left
/// out. `woven` gives the descriptors.
pub(super) fn without<'f>(
    file: &File<'f>,
    ids: &Ids,
    woven: impl FnOnce() -> Result<FxHashSet<&'f [u8]>>,
) -> Result<Option<(u32, Vec<u8>)>> {
    let (Ok(index) | Err(index)) = ids::search(file.strings.len(), |i| {
        Ok(compare_strings(file.string(i)?, BEGIN))
    })?;
    if index as usize == file.strings.len() {
        return Ok(None);
    }
    let Some(checksums) =
        (file.string(index)?.strip_prefix(BEGIN)).and_then(|t| t.strip_suffix(END))
    else {
        return Ok(None);
    };
    let woven = woven()?;
    let mut text = BEGIN.to_vec();
    let mut from = 0;
    for to in memchr_iter(b',', checksums).chain([checksums.len()]) {
        let entry = &checksums[from..to];
        from = to + 1;
        let class = entry.strip_prefix(b"\"").and_then(|rest| {
            let end = memmem::find(rest, OF)?;
            Some(&rest[..end])
        });
        let Some(class) = class else {
            return Ok(None);
        };
        if !woven.contains(class) {
            if text.len() > BEGIN.len() {
                text.push(b',');
            }
            text.extend_from_slice(entry);
        }
    }
    text.extend_from_slice(END);
    let keeps_its_place = (index + 1 == file.strings.len() as u32
        || compare_strings(&text, file.string(index + 1)?).is_lt())
        && ids.strings.iter().all(|(at, new)| match *at {
            at if at == index => compare_strings(new, &text).is_lt(),
            at if at == index + 1 => compare_strings(&text, new).is_lt(),
            _ => true,
        });
    Ok(keeps_its_place.then_some((index, text)))
}

#[cfg(test)]
mod tests {
    use crate::aspect::advice::Advice;
    use crate::aspect::plan::{Plan, Planned};
    use crate::dex::verify::verify;
    use crate::dex::write::{Scratch, one_by_one, weave};
    use crate::dex::{Dex, class::ClassDef, ids, layout};

    const EVERYTHING: &[u8] = include_bytes!("../../tests/dex/everything.dex");

    /// The file with these strings, which nothing refers to.
    fn with(strings: &[&str]) -> Vec<u8> {
        let dex = Dex::parse(EVERYTHING).unwrap();
        let strings: Vec<Vec<u8>> = strings.iter().map(|s| s.as_bytes().to_vec()).collect();
        let ids = ids::add(&dex.files[0], &[], &strings).unwrap().unwrap().ids;
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        scratch.copy_all(&dex.files[0], &ids, &one_by_one).unwrap();
        layout::write(&dex.files[0], &ids, scratch.bodies(), &mut out).unwrap();
        layout::seal(&mut out, &[0]);
        out
    }

    /// Weaves the first method of the class `Everything`, and gives all strings from the first `~` on.
    fn told(strings: &[&str]) -> String {
        let bytes = with(strings);
        let dex = Dex::parse(&bytes).unwrap();
        let file = &dex.files[0];
        let ty = (0..file.classes.len() as u32)
            .find(|&i| {
                let class = ClassDef::read(&file.classes[i as usize]);
                file.descriptor(class.ty).unwrap() == b"Lfix/Everything;"
            })
            .unwrap();
        let plan = Plan::new(vec![Planned {
            ty,
            index: 0,
            id: 1,
            advice: Advice::ALL,
        }]);
        let woven = weave(&dex, &plan, &mut Scratch::default()).unwrap();
        let bytes = woven.bytes.unwrap();
        let verdict = verify(&bytes);
        assert!(verdict.failures.is_empty(), "{:?}", verdict.failures);
        let dex = Dex::parse(&bytes).unwrap();
        let file = &dex.files[0];
        let all: Vec<&str> = (0..file.strings.len() as u32)
            .map(|i| std::str::from_utf8(file.string(i).unwrap()).unwrap_or(""))
            .collect();
        assert!(all.is_sorted());
        let from = all.partition_point(|s| *s < "~");
        all[from..].join("\n")
    }

    #[test]
    fn checksums_of_woven_classes_go() {
        insta::assert_snapshot!(told(&[
            r#"~~D8{"has-checksums":true}"#,
            r#"~~~{"LA;":"1","Lfix/Everything;":"2f","LZ;":"3"}"#,
        ]), @r#"
        ~~D8{"has-checksums":true}
        ~~~{"LA;":"1","LZ;":"3"}
        "#);
        insta::assert_snapshot!(told(&[r#"~~~{"Lfix/Everything;":"2f"}"#]), @"~~~{}");
        insta::assert_snapshot!(told(&[r#"~~~{"Lfix/Everything;":"2f"}"#, "~~~~"]), @"
        ~~~{}
        ~~~~
        ");
    }

    #[test]
    fn what_is_something_else_stays() {
        for strings in [
            &[r#"~~~{"LA;":"1"}"#][..],
            &["~~~{}"],
            &["~~~{"],
            &[r#"~~~{"Lfix/Everything;":"2f""#],
            &[r#"~~~{Lfix/Everything;":"2f"}"#],
            // It would come behind the other, or be the same.
            &[r#"~~~{"Lfix/Everything;":"2f"}"#, r#"~~~{"M"#],
            &[r#"~~~{"Lfix/Everything;":"2f"}"#, "~~~{}"],
        ] {
            assert_eq!(told(strings), strings.join("\n"));
        }
    }
}
