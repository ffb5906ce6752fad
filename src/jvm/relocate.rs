//! Other names for the classes of a library: in a class file, only `Utf8` constants say them.

use crate::error::{Error, Kind, Result};
use crate::jvm::pool::{Pool, tag};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The names of a library's classes and files, and what they are called instead.
pub struct Relocation {
    /// With a slash at the end.
    root: String,
    /// By paths: classes without `.class`, other files as they are.
    names: FxHashMap<Box<[u8]>, Box<[u8]>>,
}

impl Relocation {
    /// Moves the members of a library below a package. Files at the root and in `META-INF` stay, but for classes.
    pub fn new<'p>(package: &str, paths: impl Iterator<Item = &'p str>) -> Relocation {
        let root = format!("{package}/");
        let name = |path: &'p str| path.strip_suffix(".class").unwrap_or(path);
        let names = paths
            .filter(|path| moves(path))
            .map(|path| {
                let new = format!("{root}{}", name(path));
                (name(path).as_bytes().into(), new.into_bytes().into())
            })
            .collect();
        Relocation { root, names }
    }

    /// Where a member of the library lies.
    pub fn path(&self, path: &str) -> String {
        match moves(path) {
            true => format!("{}{path}", self.root),
            false => path.to_owned(),
        }
    }

    /// The members of a library, by their new paths and with their new names.
    pub fn members(
        &self,
        members: &BTreeMap<String, Vec<u8>>,
    ) -> Result<BTreeMap<String, Vec<u8>>> {
        let moved = members.iter().map(|(path, bytes)| {
            let bytes = match path.ends_with(".class") {
                true => self.class(bytes, 1).map_err(|e| e.in_member(path))?,
                false => bytes.clone(),
            };
            Ok((self.path(path), bytes))
        });
        moved.collect()
    }

    /// A class file with the new names, in constants from this one on.
    pub fn class(&self, bytes: &[u8], first: u16) -> Result<Vec<u8>> {
        let pool = Pool::parse(bytes)?;
        let mut out = Vec::with_capacity(bytes.len() + 256);
        out.extend_from_slice(&bytes[..10]);
        // Behind what was copied.
        let mut copied = 10;
        for index in first..pool.count() {
            if pool.tag(index) != Some(tag::UTF8) {
                continue;
            }
            let old = pool.utf8(index)?;
            let Some(new) = self.text(old) else {
                continue;
            };
            let length = u16::try_from(new.len()).map_err(|_| {
                Error::new(
                    Kind::NotDone,
                    "a constant that is too long with the names of a module",
                )
            })?;
            let at = old.as_ptr() as usize - bytes.as_ptr() as usize;
            out.extend_from_slice(&bytes[copied..at - 2]);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&new);
            copied = at + old.len();
        }
        out.extend_from_slice(&bytes[copied..]);
        Ok(out)
    }

    /// A text with the new names, if it has one: a name in either form, a path, a descriptor or signature.
    fn text(&self, old: &[u8]) -> Option<Vec<u8>> {
        if let Some(new) = self.names.get(old) {
            return Some(new.to_vec());
        }
        if let Some(path) = old.strip_prefix(b"/")
            && let Some(new) = self.names.get(path)
        {
            return Some([b"/", &**new].concat());
        }
        if old.contains(&b'.') && !old.contains(&b'/') && !old.contains(&b';') {
            let swapped = |text: &[u8], from: u8, to: u8| -> Vec<u8> {
                text.iter()
                    .map(|&b| if b == from { to } else { b })
                    .collect()
            };
            let new = self.names.get(&*swapped(old, b'.', b'/'))?;
            return Some(swapped(new, b'/', b'.'));
        }
        self.descriptor(old)
    }

    fn descriptor(&self, old: &[u8]) -> Option<Vec<u8>> {
        let mut new = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(found) = old[at..].iter().position(|&b| b == b'L') {
            let start = at + found + 1;
            let length = old[start..].iter().position(|&b| matches!(b, b';' | b'<'));
            let Some(length) = length else {
                break;
            };
            let name = &old[start..start + length];
            // `L` may also begin the name of a type parameter, `<L:Lacme/Log;>`.
            at = if name.contains(&b':') {
                start
            } else {
                start + length
            };
            if let Some(name) = self.names.get(name) {
                new.extend_from_slice(&old[copied..start]);
                new.extend_from_slice(name);
                copied = at;
            }
        }
        if copied == 0 {
            return None;
        }
        new.extend_from_slice(&old[copied..]);
        Some(new)
    }
}

fn moves(path: &str) -> bool {
    !path.starts_with("META-INF/") && (path.contains('/') || path.ends_with(".class"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relocation() -> Relocation {
        let paths = [
            "acme/Log.class",
            "acme/Log$Level.class",
            "acme/levels.txt",
            "top.txt",
            "META-INF/services/x.Y",
            "Bare.class",
        ];
        Relocation::new("weave/own/shop/core", paths.into_iter())
    }

    #[test]
    fn names_in_every_form() {
        let relocation = relocation();
        let new = |text: &str| {
            let new = relocation.text(text.as_bytes());
            new.map(|new| String::from_utf8(new).unwrap())
        };
        for (old, expected) in [
            ("acme/Log", "weave/own/shop/core/acme/Log"),
            ("acme.Log$Level", "weave.own.shop.core.acme.Log$Level"),
            ("/acme/levels.txt", "/weave/own/shop/core/acme/levels.txt"),
            ("[[Lacme/Log;", "[[Lweave/own/shop/core/acme/Log;"),
            (
                "(Lacme/Log;LLong;Lacme/Log$Level;)LLog;",
                "(Lweave/own/shop/core/acme/Log;LLong;Lweave/own/shop/core/acme/Log$Level;)LLog;",
            ),
            (
                "<T:Lacme/Log;>Ljava/util/List<Lacme/Log<TT;>;>;",
                "<T:Lweave/own/shop/core/acme/Log;>Ljava/util/List<Lweave/own/shop/core/acme/Log<TT;>;>;",
            ),
            (
                "<L:Lacme/Log;>LLBare;",
                "<L:Lweave/own/shop/core/acme/Log;>LLBare;",
            ),
            ("LBare;", "Lweave/own/shop/core/Bare;"),
        ] {
            assert_eq!(new(old).as_deref(), Some(expected), "{old}");
        }
        for old in [
            "acme/Logs",
            "Lacme/Logs;",
            "acme",
            "top.txt",
            "/top.txt",
            "acme.Log.began",
            "L",
            "acme/Log.class",
        ] {
            assert_eq!(new(old), None, "{old}");
        }
    }

    #[test]
    fn paths_of_members() {
        let relocation = relocation();
        assert_eq!(
            relocation.path("acme/Log.class"),
            "weave/own/shop/core/acme/Log.class"
        );
        assert_eq!(relocation.path("top.txt"), "top.txt");
        assert_eq!(
            relocation.path("META-INF/services/x.Y"),
            "META-INF/services/x.Y"
        );
    }

    #[test]
    fn a_constant_has_a_length_of_two_bytes() {
        let long = format!("()L{};", "acme/Log;Lacme/Log;L".repeat(2500));
        let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 2, 1];
        class.extend((long.len() as u16).to_be_bytes());
        class.extend(long.as_bytes());
        let error = relocation().class(&class, 1).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
    }
}
