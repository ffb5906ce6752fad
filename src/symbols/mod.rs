//! The symbols map: what each id in a trace stands for.
//!
//! A map travels inside every woven artifact (`META-INF/weave/`), beside the output
//! (`<output>.wsym`), and is copied as it is into each trace by the hook library.
//! `docs/trace-format.md` describes the bytes.

mod carried;
mod layout;
mod model;
mod parameters;
mod read;
mod write;

pub use carried::{Carried, MEMBER, is_carried, is_carried_anywhere, is_marker};
pub use layout::{MAGIC, VERSION, is_map};
pub use model::{Symbol, Symbols};
pub use write::{Writer, pack};

#[cfg(test)]
mod tests {
    use super::layout::*;
    use super::read::{Block, Place};
    use super::write::store;
    use super::*;
    use crate::bytes::{Names, put_uleb32};
    use crate::switches::{Level, MOST_OVERHEAD, Sampling, Switch, Switches};
    use proptest::prelude::*;
    use std::fmt::Write as _;
    use std::sync::Arc;

    fn sample() -> Vec<u8> {
        let mut w = Writer::default();
        w.artifact("app.jar");
        w.ty("com/acme/Outer$Inner", "Outer.java");
        w.method(7, "run", "([[ILjava/lang/String;Z)V", 12);
        w.method(9, "<init>", "()V", 0);
        w.finish()
    }

    #[test]
    fn written_maps_read_back() {
        let mut symbols = Symbols::default();
        symbols.add(&sample()).unwrap();
        let run = symbols.get(7).unwrap();
        assert_eq!(run.name(), "com.acme.Outer$Inner.run");
        assert_eq!(run.parameters(), "(int[][], String, boolean)");
        assert_eq!(
            (&*run.artifact, &*run.file, run.line),
            ("app.jar", "Outer.java", 12)
        );
        assert_eq!(symbols.get(9).unwrap().parameters(), "()");
        assert_eq!(symbols.name(1), "[0x00000001]");
        assert_eq!(symbols.len(), 2);
    }

    #[test]
    fn values_have_names() {
        let mut one = Writer::default();
        one.artifact("app.jar");
        one.ty("com/acme/Db", "Db.java");
        one.values(7, &["arg(0)", "result"]);
        one.method(7, "query", "(Ljava/lang/String;)I", 12);
        let mut whole = Writer::default();
        whole.append(&mut one);
        let mut carrying = Writer::default();
        carrying.append_map(&whole.finish());
        let map = carrying.finish();
        assert_eq!(map[4], 2, "a reader of version 1 refuses the map");
        let mut symbols = Symbols::default();
        symbols.add(&map).unwrap();
        let mut again = Writer::default();
        again.symbols(&symbols);
        let mut merged = Symbols::default();
        let mut copy = Symbols::default();
        copy.add(&again.finish()).unwrap();
        merged.merge(copy);
        let names: Vec<&str> = merged.values(7).iter().map(|name| &**name).collect();
        assert_eq!(names, ["arg(0)", "result"]);
        assert!(merged.values(8).is_empty());
        assert_eq!(sample()[4], 1, "without values nothing changes");
    }

    #[test]
    fn roots_are_told_and_kept() {
        let mut one = Writer::default();
        one.ty("com/acme/Db", "Db.java");
        one.method(7, "query", "()I", 12);
        one.method(8, "close", "()V", 14);
        one.root(7);
        let mut carrying = Writer::default();
        carrying.append(&mut one);
        let mut whole = Writer::default();
        whole.append_map(&carrying.finish());
        let map = whole.finish();
        assert_eq!(map[4], 3, "readers of earlier versions refuse the map");
        let mut symbols = Symbols::default();
        symbols.add(&map).unwrap();
        let mut again = Writer::default();
        again.symbols(&symbols);
        let (mut copy, mut merged) = (Symbols::default(), Symbols::default());
        copy.add(&again.finish()).unwrap();
        merged.add(&sample()).unwrap();
        assert!(!merged.has_roots());
        merged.merge(copy);
        assert!(merged.has_roots());
        let is_root = |id| merged.get(id).unwrap().root;
        assert_eq!((is_root(8), is_root(9)), (false, false));
        assert!(symbols.get(7).unwrap().root);
        // Of a method that no map names.
        let mut stray = Writer::default();
        stray.root(5);
        let mut symbols = Symbols::default();
        symbols.add(&stray.finish()).unwrap();
        assert!(!symbols.has_roots());
    }

    #[test]
    fn what_switches_methods_is_told_and_kept() {
        let switch = |name: &str, level, auto, sample| {
            Arc::new(Switch {
                name: name.into(),
                level,
                auto,
                overhead: None,
                sample,
            })
        };
        let sql = switch("sql", Level::Info, None, Some(Sampling::OneOf(100)));
        let noise = switch("noise", Level::Debug, Some(1_000), None);
        let web = switch("web", Level::Info, None, Some(Sampling::Second(10)));
        let (one, both): (Switches, Switches) = (
            [Arc::clone(&sql)].into(),
            [Arc::clone(&noise), Arc::clone(&sql), Arc::clone(&web)].into(),
        );
        let map = |first: u32| {
            let mut w = Writer::default();
            w.artifact("app.jar");
            w.ty("com/acme/Db", "Db.java");
            for id in first..first + 4 {
                w.method(id, "query", "()I", 12);
            }
            w.switched(first + 1, &one);
            w.switched(first, &one);
            w.switched(first + 3, &both);
            w
        };
        let mut whole = map(7);
        whole.append(&mut map(100));
        whole.append_map(&map(200).finish());
        let bytes = whole.finish();
        assert_eq!(bytes[4], 4, "readers of earlier versions refuse the map");
        let mut symbols = Symbols::default();
        symbols.add(&bytes).unwrap();
        let mut again = Writer::default();
        again.symbols(&symbols);
        let mut merged = Symbols::default();
        merged.add(&again.finish()).unwrap();
        let mut copy = Symbols::default();
        copy.merge(merged);
        for symbols in [&symbols, &copy] {
            for first in [7u32, 100, 200] {
                let by = |id| symbols.switched(first + id).map(|by| &**by);
                assert_eq!([by(0), by(1)], [Some(&*one), Some(&*one)]);
                assert_eq!([by(2), by(3)], [None, Some(&*both)]);
            }
            let all = symbols.switches();
            let expected = [(&noise, 3), (&sql, 9), (&web, 3)];
            assert_eq!(all, expected.map(|(switch, n)| (Arc::clone(switch), n)));
        }
        assert_eq!(sample()[4], 1, "without switches nothing changes");
    }

    #[test]
    fn what_a_program_may_pay_is_told_and_kept() {
        let by: Switches = [Arc::new(Switch {
            name: "all".into(),
            level: Level::Info,
            auto: Some(1_000),
            overhead: Some(50),
            sample: None,
        })]
        .into();
        let mut map = Writer::default();
        map.method(1, "f", "()V", 1);
        map.switched(1, &by);
        let bytes = map.finish();
        assert_eq!(bytes[4], 6, "readers of earlier versions refuse the map");
        let mut symbols = Symbols::default();
        symbols.add(&bytes).unwrap();
        assert_eq!(symbols.switched(1).map(|by| by[0].overhead), Some(Some(50)));
        for part in [0, MOST_OVERHEAD + 1] {
            let mut payload = vec![TAG_ASPECTS, 1];
            for number in [AUTO_WITHIN, 1_000, part, 0] {
                put_uleb32(&mut payload, number);
            }
            let mut map = Writer::default();
            map.needs(VERSION_WITH_OVERHEAD);
            map.blocks.push(store(&payload));
            map.block_count += 1;
            let refused = Symbols::default().add(&map.finish()).unwrap_err();
            assert!(refused.to_string().contains("impossible part"), "{refused}");
        }
    }

    #[test]
    fn an_aspect_that_says_what_cannot_be_is_refused() {
        for (flags, number, said) in [
            (3, 1, "unknown level"),
            (SAMPLED | AUTO, 1, "unknown flags"),
            (SECOND, 1, "unknown flags"),
            (OVERHEAD, 1, "unknown flags"),
            (OVERHEAD | SAMPLED, 1, "unknown flags"),
            (OVERHEAD << 1, 1, "unknown flags"),
            (SAMPLED, 0, "an impossible number of calls"),
            (SAMPLED_SECOND, 1 << 24, "an impossible number of calls"),
        ] {
            let mut payload = vec![TAG_ASPECTS, 1];
            put_uleb32(&mut payload, flags);
            put_uleb32(&mut payload, number);
            payload.extend([1, b'x']);
            let mut w = Writer::default();
            w.blocks.push(store(&payload));
            w.block_count += 1;
            w.needs(VERSION_WITH_SWITCHES);
            let error = Symbols::default().add(&w.finish()).unwrap_err();
            assert!(error.to_string().contains(said), "{flags}: {error}");
        }
    }

    #[test]
    fn a_row_of_all_ids_switches_the_methods_that_there_are() {
        let mut payload = vec![TAG_ASPECTS, 1, 2, 1, b'x'];
        for _ in 0..100_000 {
            payload.extend([TAG_SWITCHED, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0]);
        }
        let mut w = Writer::default();
        w.method(7, "run", "()V", 0);
        w.pack();
        w.blocks.push(store(&payload));
        w.block_count += 1;
        w.needs(VERSION_WITH_SWITCHES);
        let mut symbols = Symbols::default();
        symbols.add(&w.finish()).unwrap();
        assert_eq!(symbols.switched(7).unwrap()[0].level, Level::Debug);
        assert!(symbols.switched(8).is_none());
    }

    #[test]
    fn hostile_lists_of_values_take_no_memory_out_of_proportion() {
        let mut map = Writer::default();
        map.values(7, &vec![""; MAX_VALUES + 2]);
        let error = Symbols::default().add(&map.finish()).unwrap_err();
        assert!(error.to_string().contains("too many values"), "{error}");
    }

    #[test]
    fn ids_that_stand_for_two_methods_are_seen() {
        let map = |artifact: &str, ty: &str| {
            let mut w = Writer::default();
            w.artifact(artifact);
            w.ty(ty, "");
            w.method(7, "run", "(I)V", 12);
            w.finish()
        };
        let mut symbols = Symbols::default();
        symbols.add(&map("a.jar", "com/acme/A")).unwrap();
        // The same method in another jar is no other method.
        symbols.add(&map("b.jar", "com/acme/A")).unwrap();
        assert!(symbols.collisions().is_empty());
        symbols.add(&map("b.jar", "com/acme/B")).unwrap();
        symbols.add(&map("b.jar", "com/acme/B")).unwrap();
        let mut merged = Symbols::default();
        merged.add(&map("a.jar", "com/acme/A")).unwrap();
        merged.merge(symbols);
        let [one] = merged.collisions()[..] else {
            panic!("a collision is reported once");
        };
        assert_eq!(one.id, 7);
        assert_eq!(one.kept.full_name(), "com.acme.A.run(int) in a.jar");
        assert_eq!(one.other.full_name(), "com.acme.B.run(int) in b.jar");
    }

    #[test]
    fn names_may_take_several_blocks() {
        let mut names = Names::default();
        for number in 0..40_000 {
            let put = |text: &mut String| write!(text, "Acme.Orders.Type{number}");
            names.add(put).unwrap();
        }
        let last = names.iter().len() as u32 - 1;
        let mut w = Writer::default();
        w.names(&names);
        w.numbered_name(0, "Make");
        for (id, number) in [(1, 0), (2, last / 2), (3, last)] {
            let mut descriptor = "()".to_owned();
            Names::refer(number, &mut descriptor);
            w.numbered_descriptor(number, &descriptor);
            w.numbered_methods(id, [[0, number, 0]].into_iter());
        }
        let map = w.finish();
        let blocks = u32::from_le_bytes(map[12..16].try_into().unwrap());
        assert!(blocks > 3, "{blocks}");
        let mut symbols = Symbols::default();
        symbols.add(&map).unwrap();
        let descriptor = |id| symbols.get(id).unwrap().descriptor.to_string();
        assert_eq!(descriptor(1), "()Acme.Orders.Type0");
        assert_eq!(descriptor(2), format!("()Acme.Orders.Type{}", last / 2));
        assert_eq!(descriptor(3), format!("()Acme.Orders.Type{last}"));
    }

    #[test]
    fn names_out_of_proportion_are_refused() {
        // A few kilobytes with millions of names.
        let many = 4_000_000u32;
        let mut w = Writer::default();
        for _ in 0..8 {
            w.payload.push(TAG_MORE_NAMES);
            put_uleb32(&mut w.payload, many);
            w.payload.resize(w.payload.len() + many as usize, 0);
            w.pack();
        }
        let map = w.finish();
        assert!(map.len() < 100_000, "{}", map.len());
        let e = Symbols::default().add(&map).unwrap_err();
        assert!(e.to_string().contains("too many names"), "{e}");
    }

    #[test]
    fn descriptors_refer_to_the_last_names() {
        let names = |list: &[&str]| {
            let mut names = Names::default();
            for name in list {
                let put = |text: &mut String| {
                    text.push_str(name);
                    Ok::<_, ()>(())
                };
                names.add(put).unwrap();
            }
            names
        };
        let text = |parts: [&str; 2], number| {
            let mut text = parts[0].to_owned();
            Names::refer(number, &mut text);
            text + parts[1]
        };
        let mut w = Writer::default();
        w.artifact("app.dll");
        w.ty("Acme.Orders", "Orders.cs");
        w.names(&names(&["System.Int32", "Acme.Order"]));
        w.numbered_name(70, "Count");
        w.numbered_name(900, "Place");
        w.numbered_descriptor(8, &text(["(", ", !0)System.Void"], 1));
        w.numbered_descriptor(300, &text(["()", ""], 0));
        w.numbered_methods(11, [[900, 8, 5], [70, 300, 0]].into_iter());
        w.method(3, "Odd", &text(["()", ""], 0), 1);
        w.pack();
        // What refers may lie in another block than what it refers to.
        w.numbered_methods(4, [[900, 8, 1]].into_iter());
        w.names(&names(&["System.String"]));
        w.numbered_name(900, "ToString");
        w.numbered_descriptor(300, &text(["()", ""], 0));
        w.numbered_methods(5, [[900, 300, 1]].into_iter());
        let read = |w: Writer| {
            let mut symbols = Symbols::default();
            symbols.add(&w.finish()).map(|()| symbols)
        };
        let symbols = read(w).unwrap();
        let told = |id| {
            let symbol = symbols.get(id).unwrap();
            format!("{}{} {}", symbol.method, symbol.descriptor, symbol.line)
        };
        assert_eq!(symbols.len(), 5);
        assert_eq!(told(11), "Place(Acme.Order, !0)System.Void 5");
        assert_eq!(told(12), "Count()System.Int32 0");
        assert_eq!(told(3), "Odd()\u{1}@ 1");
        assert_eq!(told(4), "Place(Acme.Order, !0)System.Void 1");
        assert_eq!(told(5), "ToString()System.String 1");

        let refused = |put: &dyn Fn(&mut Writer)| {
            let mut w = Writer::default();
            w.numbered_name(2, "b");
            w.names(&names(&["A"]));
            w.numbered_name(1, "a");
            w.numbered_descriptor(1, "()");
            put(&mut w);
            read(w).unwrap_err().to_string()
        };
        let e = refused(&|w| w.numbered_descriptor(2, &text(["()", ""], 1)));
        assert!(e.contains("refers to a name that is not there"), "{e}");
        // Names are those behind the last names.
        for numbers in [[2, 1, 0], [1, 2, 0]] {
            let e = refused(&|w| w.numbered_methods(1, [numbers].into_iter()));
            assert!(e.contains("refers to a name that is not there"), "{e}");
        }
    }

    #[test]
    fn texts_that_methods_share_are_there_once_and_within_bounds() {
        let read = |w: Writer| {
            let mut symbols = Symbols::default();
            symbols.add(&w.finish()).map(|()| symbols)
        };
        let mut names = Names::default();
        let long = "n".repeat(100_000);
        let put = |text: &mut String| {
            text.push_str(&long);
            Ok::<_, ()>(())
        };
        names.add(put).unwrap();
        let mut w = Writer::default();
        w.names(&names);
        w.numbered_name(0, "m");
        for number in 0..1000 {
            let mut descriptor = number.to_string();
            Names::refer(0, &mut descriptor);
            w.numbered_descriptor(number, &descriptor);
        }
        // More than an entry takes.
        let methods = (0..40_000).map(|id| [0, id % 1000, 0]);
        w.numbered_methods(7, methods.collect::<Vec<_>>().into_iter());
        let symbols = read(w).unwrap();
        assert_eq!(symbols.len(), 40_000);
        let descriptor = |id: u32| &symbols.get(7 + id).unwrap().descriptor;
        assert_eq!(descriptor(1).len(), long.len() + 1);
        assert!(Arc::ptr_eq(descriptor(1), descriptor(39_001)));
        assert_eq!(&**descriptor(999), "?");
        let method = |id: u32| &symbols.get(7 + id).unwrap().method;
        assert!(Arc::ptr_eq(method(1), method(39_001)));

        // Short in a map, and many.
        let many = |count, put: fn(&mut Writer, u32)| {
            let mut w = Writer::default();
            for number in 0..count {
                put(&mut w, number);
            }
            read(w).unwrap_err().to_string()
        };
        let e = many(2_200_000, |w, number| w.numbered_name(number, ""));
        assert!(e.contains("too many names"), "{e}");
        let e = many(4_400_000, |w, number| w.numbered_descriptor(number, ""));
        assert!(e.contains("too many descriptors"), "{e}");
    }

    #[test]
    fn maps_join_and_sort() {
        let mut earlier = Symbols::default();
        earlier.add(&sample()).unwrap();
        let mut fresh = Writer::default();
        fresh.artifact("b.jar");
        fresh.ty("B", "");
        fresh.method(1, "b", "()V", 3);
        let mut all = Writer::default();
        all.append(&mut fresh);
        all.symbols(&earlier);
        let mut read = Symbols::default();
        read.add(&all.finish()).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(&*read.get(1).unwrap().artifact, "b.jar");
        assert_eq!(read.get(7), earlier.get(7));
        assert_eq!(read.get(9), earlier.get(9));
    }

    #[test]
    fn blocks_share_the_type_they_were_cut_in() {
        let mut w = Writer::default();
        w.artifact("large.jar");
        w.ty("T", "T.java");
        let name = "m".repeat(60_000);
        for id in 1..=40 {
            w.method(id, &name, "()V", id);
        }
        assert!(w.waiting() > 1);
        let mut more = Writer::default();
        more.artifact("b.jar");
        more.ty("U", "");
        more.method(99, "n", "()V", 0);
        w.append(&mut more);
        let all = w.finish();
        let mut again = Writer::default();
        again.append_map(&all);
        assert_eq!(again.finish(), all);
        let mut symbols = Symbols::default();
        symbols.add(&all).unwrap();
        assert_eq!(symbols.len(), 41);
        assert!((1..=40).all(|id| &*symbols.get(id).unwrap().type_name == "T"));
        assert_eq!(symbols.get(99).unwrap().name(), "U.n");
    }

    #[test]
    fn a_lying_size_is_refused_before_it_is_allocated() {
        let mut bytes = sample();
        bytes[16..20].copy_from_slice(&(MAX_BLOCK as u32 + 1).to_le_bytes());
        let e = Symbols::default().add(&bytes).unwrap_err();
        assert_eq!(
            e.to_string(),
            "symbols map claims an impossible size (at byte 0x10)"
        );
    }

    proptest! {
        #[test]
        fn damaged_maps_give_errors(at in 0usize..80, value: u8) {
            let mut bytes = sample();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = Symbols::default().add(&bytes);
            let _ = Symbols::default().add(&bytes[..at]);
        }

        #[test]
        fn any_payload_gives_a_result(payload: Vec<u8>) {
            let _ = Block::new(&mut Symbols::default(), &mut Place::default(), &payload).read();
        }
    }
}
