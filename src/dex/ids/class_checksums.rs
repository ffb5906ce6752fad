//! The checksums that D8 leaves in debug builds. One string of a dex file, which nothing in it refers to, holds for each
//! class that of the class file it was made of (`ClassesChecksum` of R8's sources):
//!
//! ```text
//!     ~~~{"Lcom/acme/A;":"1a2b3c4d","Lcom/acme/B;":"5e6f"}
//! ```
//!
//! Tools that compare builds class by class go by them. A woven class is not what its checksum says, and D8 leaves none or
//! one for each class, so they all go. R8's `DexParser` looks for the string alone, not for the marker's `has-checksums`,
//! and reads a file without any as one that was made without. One with some would be worse: its filter of classes would be
//! asked about those without, with null. Told to write checksums, it refuses either way: the first class that has none.

use crate::dex::format::file::File;
use crate::dex::format::lookup;
use crate::dex::format::lookup::compare_strings;
use crate::dex::ids::{ChangedString, Ids};
use crate::error::Result;
use memchr::memmem;

/// What the string begins with.
const BEGIN: &[u8] = b"~~~{";
/// What it ends with.
const END: &[u8] = b"}";
/// What lies between a class and its checksum.
const OF: &[u8] = b"\":\"";
/// The string without checksums.
const NONE: &[u8] = b"~~~{}";

/// The string with the checksums, with its text without any. `None` where there is nothing to be left out.
pub(crate) fn without(file: &File<'_>, ids: &Ids) -> Result<Option<ChangedString>> {
    let (Ok(index) | Err(index)) = lookup::search(file.strings.len(), |i| {
        Ok(compare_strings(file.string(i)?, BEGIN))
    })?;
    if index as usize == file.strings.len() {
        return Ok(None);
    }
    let is_one = |entry: &[u8]| {
        let class = entry.strip_prefix(b"\"");
        class.is_some_and(|rest| memmem::find(rest, OF).is_some())
    };
    let checksums = (file.string(index)?.strip_prefix(BEGIN)).and_then(|t| t.strip_suffix(END));
    // What is shaped otherwise is a string of the program's own.
    if !checksums.is_some_and(|all| all.split(|&b| b == b',').all(is_one)) {
        return Ok(None);
    }
    let keeps_its_place = (index + 1 == file.strings.len() as u32
        || compare_strings(NONE, file.string(index + 1)?).is_lt())
        && ids.strings.iter().all(|(at, new)| match *at {
            at if at == index => compare_strings(new, NONE).is_lt(),
            at if at == index + 1 => compare_strings(NONE, new).is_lt(),
            _ => true,
        });
    Ok(keeps_its_place.then(|| ChangedString {
        index,
        text: NONE.to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use crate::aspect::advice::Advice;
    use crate::aspect::plan::{Plan, Planned};
    use crate::dex::verify::verify;
    use crate::dex::weave::{Scratch, one_by_one, weave};
    use crate::dex::{Dex, format::class::ClassDef, ids, write::file as new_file};

    const EVERYTHING: &[u8] = include_bytes!("../../../tests/dex/everything.dex");

    /// The file with these strings, which nothing refers to.
    fn with(strings: &[&str]) -> Vec<u8> {
        let dex = Dex::parse(EVERYTHING).unwrap();
        let strings: Vec<Vec<u8>> = strings.iter().map(|s| s.as_bytes().to_vec()).collect();
        let ids = ids::add(
            &dex.files[0],
            ids::Wants {
                strings: &strings,
                ..Default::default()
            },
        )
        .unwrap()
        .unwrap()
        .ids;
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        scratch.copy_all(&dex.files[0], &ids, &one_by_one).unwrap();
        new_file::write(&dex.files[0], &ids, scratch.bodies(), &mut out).unwrap();
        new_file::seal(&mut out, &[0]);
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
            bound: None,
        }]);
        let woven = weave(&dex, &plan, &mut Scratch::default(), &one_by_one).unwrap();
        let bytes = woven.bytes.unwrap();
        verify(&bytes).assert_sound();
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
    fn checksums_of_a_woven_file_go() {
        insta::assert_snapshot!(told(&[
            r#"~~D8{"has-checksums":true}"#,
            r#"~~~{"LA;":"1","Lfix/Everything;":"2f","LZ;":"3"}"#,
        ]), @r#"
        ~~D8{"has-checksums":true}
        ~~~{}
        "#);
        insta::assert_snapshot!(told(&[r#"~~~{"LA;":"1"}"#]), @"~~~{}");
        insta::assert_snapshot!(told(&[r#"~~~{"Lfix/Everything;":"2f"}"#]), @"~~~{}");
        insta::assert_snapshot!(told(&[r#"~~~{"Lfix/Everything;":"2f"}"#, "~~~~"]), @"
        ~~~{}
        ~~~~
        ");
    }

    #[test]
    fn what_is_something_else_stays() {
        for strings in [
            &["~~~{}"][..],
            &["~~~{"],
            &[r#"~~~{"Lfix/Everything;":"2f""#],
            &[r#"~~~{Lfix/Everything;":"2f"}"#],
            &[r#"~~~{"LA;":"1",}"#],
            // It would come behind the other, or be the same.
            &[r#"~~~{"Lfix/Everything;":"2f"}"#, r#"~~~{"M"#],
            &[r#"~~~{"Lfix/Everything;":"2f"}"#, "~~~{}"],
        ] {
            assert_eq!(told(strings), strings.join("\n"));
        }
    }
}
