//! Hooks of a dex's own, for ids of 16 bits.
//!
//! A method loads its id before it calls its hooks: `const` of 32 bits takes six bytes, `const/16` four, `const/4` two.
//! A dex with many woven methods gets a class beside the hook library's that adds the rest:
//!
//! ```text
//!     public final synthetic class weave.runtime.Hooks$5eed0000 {
//!         public static synthetic void enter(int id) { Hooks.enter(id + 0x5eed0000); }
//!         ...
//!     }
//! ```
//!
//! The base names the class and decides its methods, so of two in one app either serves.

use crate::aspect::advice::Advice;
use crate::aspect::plan::Planned;
use crate::dex::format::class::flag;
use crate::dex::format::code_item;
use crate::dex::format::file::File;
use crate::dex::format::lookup;
use crate::dex::format::lookup::compare_strings;
use crate::dex::format::opcodes::op;
use crate::dex::hooks::HOOKS;
use crate::dex::hooks::own::AddedHooks;
use crate::dex::ids::{self, Added, NewClass, PlacedMethod, Wanted, Wants};
use crate::dex::lower::registers;
use crate::error::Result;
use std::ops::Range;

/// The beginning of such classes' descriptors. In the table of types the library's own class follows them.
const PREFIX: &str = "Lweave/runtime/Hooks$";
/// Descriptor of the superclass.
const OBJECT: &[u8] = b"Ljava/lang/Object;";

/// The least number of methods for such a class: it takes about 300 bytes, and saves two a method.
pub(crate) const LEAST: usize = 256;

/// The class that a dex gets.
pub(crate) struct Near {
    /// What its methods add to the id.
    pub base: u32,
    pub descriptor: Vec<u8>,
    /// Old index of its superclass.
    object: u32,
}

impl Near {
    /// The class for the planned methods, where at least `least` of them call the hook library and have ids near that of the
    /// first, and the file has room for it. Recorded calls, which come last, have ids of their own.
    pub fn choose(file: &File<'_>, planned: &[Planned], least: usize) -> Result<Option<Near>> {
        let calling = |p: &&Planned| p.advice.only(Advice::LIBRARY) != Advice::default();
        let Some(first) = planned.iter().find(calling).map(|p| p.id) else {
            return Ok(None);
        };
        let behind = (planned.iter().filter(calling))
            .map(|p| p.id.wrapping_sub(first))
            .filter(|offset| *offset <= u32::from(u16::MAX));
        if behind.clone().count() < least {
            return Ok(None);
        }
        // `const/16` extends the sign.
        let base = match behind.max().unwrap_or(0) <= i16::MAX as u32 {
            true => first,
            false => first.wrapping_add(1 << 15),
        };
        let descriptor = format!("{PREFIX}{base:08x};").into_bytes();
        let object = lookup::find_type(file, OBJECT)?;
        // An entry of the hidden-API data for each class; only Android's own files have any.
        let fits = file.hidden_api.is_none() && lookup::find_type(file, &descriptor)?.is_none();
        Ok(object.filter(|_| fits).map(|object| Near {
            base,
            descriptor,
            object,
        }))
    }

    /// Adds the class with all of its methods, and the other hooks of `advice`, to a dex's tables, with `more` behind them.
    /// `None` where a table has no room.
    pub fn add(
        &self,
        file: &File<'_>,
        hooks: &[(Advice, Wanted<'_>)],
        advice: Advice,
        more: Wants<'_>,
    ) -> Result<Option<AddedHooks>> {
        // Those that count and sum up are of few files.
        let is_rare = |when| when == Advice::COUNT || when == Advice::AGGREGATE;
        let is_used = |when: Advice| !is_rare(when) || advice.has(when);
        let of_library = |i: &usize| hooks[*i].1.class == HOOKS && is_used(hooks[*i].0);
        let (mut places, mut others): (Vec<usize>, Vec<usize>) =
            (0..hooks.len()).partition(of_library);
        others.retain(|&i| advice.has(hooks[i].0));
        let count = places.len();
        let goals: Vec<Wanted<'_>> = places.iter().map(|&i| hooks[i].1).collect();
        let mut wanted: Vec<Wanted<'_>> = Vec::with_capacity(2 * count + others.len());
        wanted.extend(goals.iter().map(|goal| Wanted {
            class: &self.descriptor,
            ..*goal
        }));
        wanted.extend(&goals);
        wanted.extend(others.iter().map(|&i| hooks[i].1));
        wanted.extend(more.methods);
        let wants = Wants {
            methods: &wanted,
            ..more
        };
        let Some(mut added) = ids::add(file, wants)? else {
            return Ok(None);
        };
        let goals: Vec<u32> = added.methods.drain(count..2 * count).collect();
        added.classes.drain(count..2 * count);
        added.ids.classes = vec![self.class(&added, &goals, &wanted)];
        places.append(&mut others);
        Ok(Some(AddedHooks { added, places }))
    }

    /// The class; of the wanted methods the first are its own, as many as there are hooks that they call.
    fn class(&self, added: &Added, goals: &[u32], wanted: &[Wanted<'_>]) -> NewClass {
        let mut new = NewClass {
            ty: added.classes[0],
            access: flag::PUBLIC | flag::FINAL | flag::SYNTHETIC,
            superclass: added.ids.remap.types[self.object as usize],
            methods: Vec::with_capacity(goals.len()),
            ..NewClass::default()
        };
        for ((&goal, &method), wanted) in goals.iter().zip(&added.methods).zip(wanted) {
            let place = new.code.len().next_multiple_of(4);
            new.code.resize(place, 0);
            self.put_method(goal, wanted.parameters.len(), &mut new.code);
            let access = flag::PUBLIC | flag::STATIC | flag::SYNTHETIC;
            new.methods.push(PlacedMethod {
                id: method,
                access,
                code: place as u32,
            });
        }
        new.methods.sort_unstable_by_key(|method| method.id);
        new
    }

    /// Appends the code item of a method, which calls `goal` with its arguments, of which the last is the id.
    fn put_method(&self, goal: u32, arguments: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let words = arguments as u16;
        code_item::put_header(out, [1 + words, words, words, 0], 0);
        registers::put_const(out, 0, self.base);
        registers::put_add_int(out, arguments as u32, 0);
        let passed: Vec<u32> = (1..=arguments as u32).collect();
        registers::put_invoke_static(out, goal as u16, &passed);
        registers::put_one(out, op::RETURN_VOID, 0);
        code_item::set_units(out, start);
    }
}

/// Old indices of all hooks that the file names, the library's and those of such classes; `None` if it names none.
pub(crate) fn known(file: &File<'_>) -> Result<Option<Range<u32>>> {
    let place = |descriptor: &[u8]| {
        lookup::search(file.types.len(), |i| {
            Ok(compare_strings(file.descriptor(i)?, descriptor))
        })
    };
    let (Ok(first) | Err(first)) = place(PREFIX.as_bytes())?;
    let end = match place(HOOKS)? {
        Ok(hooks) => hooks + 1,
        Err(end) => end,
    };
    Ok((first < end).then(|| lookup::methods_of(file, first..end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::everything::everything;
    use crate::aspect::plan::Plan;
    use crate::aspect::woven::WovenType;
    use crate::dex::format::class::{ClassDef, Members};
    use crate::dex::format::code_item::Code;
    use crate::dex::format::file::HEADER_41;
    use crate::dex::format::insn;
    use crate::dex::testing::show;
    use crate::dex::verify::verify;
    use crate::dex::weave::{Scratch, Woven, one_by_one, weave};
    use crate::dex::{Dex, ProfileRemap, scan, write::file as new_file};

    const SHAPES: &[u8] = include_bytes!("../../../tests/dex/verify.dex");
    const EVERYTHING: &[u8] = include_bytes!("../../../tests/dex/everything.dex");

    /// Plans everything, with ids that are so far from each other.
    fn plan(dex: &Dex<'_>, first: u32, step: u32) -> Plan {
        let mut ids = (first..).step_by(step as usize);
        everything(Advice::ALL, |_, _, _| ids.next(), |v| scan(dex, v).unwrap())
    }

    /// Weaves everything with hooks of the file's own, if it can have any.
    fn woven(bytes: &[u8], first: u32, step: u32) -> Woven {
        let dex = Dex::parse(bytes).unwrap();
        let mut scratch = Scratch::default().near_from(1);
        weave(&dex, &plan(&dex, first, step), &mut scratch, &one_by_one).unwrap()
    }

    /// The names of the classes of hooks.
    fn classes(bytes: &[u8]) -> Vec<String> {
        let mut names = vec![];
        for file in Dex::parse(bytes).unwrap().files {
            let types = file.classes.iter().map(|row| ClassDef::read(row).ty);
            let all = types.map(|ty| file.type_name(ty).unwrap().into_owned());
            names.extend(all.filter(|name| name.starts_with("weave/runtime/")));
        }
        names
    }

    /// The methods of a file: their names with their code.
    fn codes(bytes: &[u8]) -> Vec<(String, Code<'_>)> {
        let dex = Dex::parse(bytes).unwrap();
        let mut codes = vec![];
        for file in &dex.files {
            for row in file.classes {
                let mut members = Members::read(file, ClassDef::read(row).data).unwrap();
                while let Some(method) = members.next().unwrap() {
                    if method.code != 0 {
                        let code = Code::read(bytes, method.code as usize).unwrap();
                        codes.push((file.method_label(method.id), code));
                    }
                }
            }
        }
        codes
    }

    #[test]
    fn the_class_passes_on_what_it_gets() {
        let bytes = woven(SHAPES, 0x5eed_0001, 1).bytes.unwrap();
        assert_eq!(classes(&bytes), ["weave/runtime/Hooks$5eed0001"]);
        let file = &Dex::parse(&bytes).unwrap().files[0];
        let mut told = String::new();
        for (name, code) in codes(&bytes) {
            if let Some(name) = name.strip_prefix("weave/runtime/Hooks$5eed0001.") {
                let item = show(&bytes[code.offset..][..code.size().unwrap()]);
                let (front, rest) = item.split_once('@').unwrap();
                let (goal, rest) = rest.split_once('\n').unwrap();
                let goal = file.method_label(goal.parse().unwrap());
                told += &format!("{name} {front}{goal}\n{rest}");
            }
        }
        insta::assert_snapshot!(told, @"
        enter(I)V registers 2 ins 1 outs 1
           0 const v0, #0x5eed0001
           3 add-int/2addr v1, v0
           4 invoke-static v1, weave/runtime/Hooks.enter(I)V
           7 return-void
        error(Ljava/lang/Throwable;I)V registers 3 ins 2 outs 2
           0 const v0, #0x5eed0001
           3 add-int/2addr v2, v0
           4 invoke-static v1, v2, weave/runtime/Hooks.error(Ljava/lang/Throwable;I)V
           7 return-void
        exit(I)V registers 2 ins 1 outs 1
           0 const v0, #0x5eed0001
           3 add-int/2addr v1, v0
           4 invoke-static v1, weave/runtime/Hooks.exit(I)V
           7 return-void
        leaf(I)V registers 2 ins 1 outs 1
           0 const v0, #0x5eed0001
           3 add-int/2addr v1, v0
           4 invoke-static v1, weave/runtime/Hooks.leaf(I)V
           7 return-void
        leave(Ljava/lang/Throwable;I)V registers 3 ins 2 outs 2
           0 const v0, #0x5eed0001
           3 add-int/2addr v2, v0
           4 invoke-static v1, v2, weave/runtime/Hooks.leave(Ljava/lang/Throwable;I)V
           7 return-void
        ");
    }

    #[test]
    fn what_code_loads_and_what_is_added_are_the_id() {
        // All ids within 15 bits, within 16, and with the sign bit.
        for (first, step) in [(1, 1), (0x7fff_f000, 0x900), (0xf000_0000, 0x1100)] {
            let woven = woven(SHAPES, first, step);
            let bytes = woven.bytes.unwrap();
            verify(&bytes).assert_sound();
            let class = classes(&bytes).pop().unwrap();
            let base = u32::from_str_radix(class.split_once('$').unwrap().1, 16).unwrap();
            let ids: Vec<u32> = (woven.types.iter().flat_map(WovenType::methods))
                .map(|method| method.id)
                .collect();
            assert_eq!((ids[0], ids[1]), (first, first + step));
            for (id, (name, code)) in ids.iter().zip(codes(&bytes)) {
                let loads: Vec<u32> = insn::each(code.insns)
                    .map(Result::unwrap)
                    .filter(|i| matches!(i.opcode, op::CONST_4 | op::CONST_16 | op::CONST))
                    .inspect(|i| assert_ne!(i.opcode, op::CONST, "{name}"))
                    .map(|i| base.wrapping_add(i.value as u32))
                    .collect();
                assert!(loads.contains(id), "{name} {id:#x} {loads:x?}");
            }
        }
    }

    #[test]
    fn it_is_there_where_it_pays_and_fits() {
        let dex = Dex::parse(SHAPES).unwrap();
        let planned = |ids: &[u32], advice| -> Vec<Planned> {
            let plan = |&id| Planned {
                ty: 0,
                index: 0,
                id,
                advice,
                bound: None,
            };
            ids.iter().map(plan).collect()
        };
        let base = |ids: &[u32], advice, least| {
            let near = Near::choose(&dex.files[0], &planned(ids, advice), least).unwrap();
            near.map(|near| near.base)
        };
        let all = Advice::ALL;
        assert_eq!(base(&[5, 7], all, 2), Some(5));
        assert_eq!(base(&[5, 7], all, 3), None);
        assert_eq!(base(&[], all, 0), None);
        // Sections have names, no ids.
        assert_eq!(base(&[5, 7], Advice::SECTION, 1), None);
        assert_eq!(base(&[5, 0x7fff + 5], all, 1), Some(5));
        assert_eq!(base(&[5, 0x8000 + 5], all, 1), Some(0x8005));
        assert_eq!(base(&[5, 0xffff + 5], all, 2), Some(0x8005));
        assert_eq!(base(&[5, 0x1_0000 + 5], all, 2), None);
        assert_eq!(base(&[u32::MAX - 1, u32::MAX], all, 1), Some(u32::MAX - 1));
        // Recorded calls lie anywhere.
        for call in [0, 1, 6, 0x1_0000 + 5, u32::MAX] {
            assert_eq!(base(&[5, 7, call], all, 2), Some(5), "{call}");
        }
        // Hidden-API data has an entry for each class.
        let bytes = woven(EVERYTHING, 1, 1).bytes.unwrap();
        assert!(classes(&bytes).is_empty() && !codes(&bytes).is_empty());
    }

    #[test]
    fn a_file_that_is_woven_again_gets_no_class_twice() {
        let dex = Dex::parse(SHAPES).unwrap();
        let whole = plan(&dex, 0x100, 1);
        let (some, others) = whole.methods.split_at(5);
        let mut scratch = Scratch::default().near_from(1);
        let first = weave(&dex, &Plan::new(some.to_vec()), &mut scratch, &one_by_one).unwrap();
        let first = first.bytes.unwrap();
        // Ids of which the first are taken: the class that they would have is there. Others have another one.
        let mut again = |from: u32| {
            let dex = Dex::parse(&first).unwrap();
            let mut planned = whole.methods.clone();
            for p in &mut planned {
                p.id = p.id - 0x100 + from;
            }
            let woven = weave(&dex, &Plan::new(planned), &mut scratch, &one_by_one).unwrap();
            let left = woven.types.iter().flat_map(|ty| &ty.left);
            assert_eq!(left.count(), some.len());
            let methods = woven.types.iter().flat_map(WovenType::methods);
            assert_eq!(methods.count(), others.len());
            let bytes = woven.bytes.unwrap();
            verify(&bytes).assert_sound();
            assert!(
                ProfileRemap::between(&dex, &Dex::parse(&bytes).unwrap())
                    .unwrap()
                    .is_some()
            );
            classes(&bytes)
        };
        assert_eq!(again(0x100), ["weave/runtime/Hooks$00000100"]);
        assert_eq!(
            again(0x200),
            [
                "weave/runtime/Hooks$00000100",
                "weave/runtime/Hooks$00000200"
            ]
        );
    }

    #[test]
    fn each_dex_of_a_container_has_its_own() {
        let mut bytes = SHAPES.to_vec();
        bytes[4..7].copy_from_slice(b"041");
        bytes[0x24] = HEADER_41 as u8;
        // The same dex as one of version 041, twice.
        let mut file = Dex::parse(SHAPES).unwrap().files.remove(0);
        (file.bytes, file.version) = (&bytes, 41);
        let (mut pair, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let (mut scratch, ids) = (Scratch::default(), ids::Ids::none(&file));
            scratch.copy_all(&file, &ids, &one_by_one).unwrap();
            starts.push(pair.len());
            new_file::write(&file, &ids, scratch.bodies(), &mut pair).unwrap();
        }
        new_file::seal(&mut pair, &starts);
        let new = woven(&pair, 0x100, 1).bytes.unwrap();
        verify(&new).assert_sound();
        let methods = codes(SHAPES).len() as u32;
        assert_eq!(
            classes(&new),
            ["00000100".to_owned(), format!("{:08x}", 0x100 + methods)]
                .map(|base| format!("weave/runtime/Hooks${base}"))
        );
    }
}
