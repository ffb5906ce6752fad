//! The results of a plan, type by type: for the symbols map and for the outcome.

use crate::aspect::plan::Skipped;
use std::ops::Range;

/// The results of the plan for one type. All its names are in one string: with 200,000 methods an allocation each would
/// cost too much.
#[derive(Debug, Default)]
pub struct WovenType {
    /// The type's number in the scan's order, as [`Planned::ty`](crate::aspect::plan::Planned::ty).
    pub ty: u32,
    /// Planned methods that were left unwoven.
    pub left: Vec<Skipped>,
    text: String,
    name: usize,
    file: Range<usize>,
    methods: Vec<Entry>,
    numbered: Vec<NumberedMethod>,
}

#[derive(Debug)]
struct Entry {
    id: u32,
    line: u32,
    start: u32,
    name: u32,
    descriptor: u32,
}

/// A method that got hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WovenMethod<'t> {
    /// The id that its hooks are called with.
    pub id: u32,
    pub name: &'t str,
    pub descriptor: &'t str,
    /// First source line, or 0.
    pub line: u32,
}

/// A method that got hooks. These numbers stand for its names, which the map has elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedMethod {
    /// The id that its hooks are called with.
    pub id: u32,
    /// First source line, or 0.
    pub line: u32,
    /// The number of its name.
    pub name: u32,
    /// The number of its descriptor.
    pub descriptor: u32,
}

/// What a method's name and descriptor take in most programs.
const USUAL: usize = 48;

impl WovenType {
    /// A type with `planned` methods to weave. `name` is its full name in the format's own
    /// spelling, `file` its source file, or empty.
    pub fn new(ty: u32, name: &str, file: &str, planned: usize) -> WovenType {
        let mut text = String::with_capacity(name.len() + file.len() + planned * USUAL);
        text.push_str(name);
        text.push_str(file);
        WovenType {
            ty,
            left: Vec::new(),
            text,
            name: name.len(),
            file: name.len()..name.len() + file.len(),
            methods: Vec::with_capacity(planned),
            numbered: Vec::new(),
        }
    }

    /// Becomes another type without results, and keeps its memory; `put_name` appends the name.
    pub fn begin<E>(
        &mut self,
        ty: u32,
        put_name: impl FnOnce(&mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        self.ty = ty;
        self.left.clear();
        self.text.clear();
        self.methods.clear();
        self.numbered.clear();
        put_name(&mut self.text)?;
        self.name = self.text.len();
        self.file = self.name..self.name;
        Ok(())
    }

    /// Adds a method that got hooks; `descriptor` appends it.
    pub fn add(&mut self, id: u32, line: u32, name: &str, descriptor: impl FnOnce(&mut String)) {
        let start = self.text.len();
        self.text.push_str(name);
        descriptor(&mut self.text);
        self.methods.push(Entry {
            id,
            line,
            start: start as u32,
            name: name.len() as u32,
            descriptor: (self.text.len() - start - name.len()) as u32,
        });
    }

    /// Adds a method that got hooks, without its names.
    pub fn add_numbered(&mut self, method: NumberedMethod) {
        self.numbered.push(method);
    }

    /// Adds the results of other methods of the same type. Ids ascend in a type.
    pub fn merge(&mut self, other: WovenType) {
        for m in other.methods() {
            self.add(m.id, m.line, m.name, |text| text.push_str(m.descriptor));
        }
        self.methods.sort_by_key(|m| m.id);
        self.numbered.extend_from_slice(&other.numbered);
        self.numbered.sort_by_key(|m| m.id);
        if self.file.is_empty() {
            self.set_file(|text| text.push_str(other.file()));
        }
        self.left.extend(other.left);
        self.left.sort_by_key(|left| left.index);
    }

    /// Full name in its format's spelling.
    pub fn name(&self) -> &str {
        &self.text[..self.name]
    }

    /// Source file name, or empty.
    pub fn file(&self) -> &str {
        &self.text[self.file.clone()]
    }

    /// Sets the source file, where that is known only once the methods are; `put` appends its name.
    pub fn set_file(&mut self, put: impl FnOnce(&mut String)) {
        let start = self.text.len();
        put(&mut self.text);
        self.file = start..self.text.len();
    }

    /// The methods that got hooks and have numbers for names.
    pub fn numbered(&self) -> &[NumberedMethod] {
        &self.numbered
    }

    /// The methods that got hooks, but for those that are numbered.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = WovenMethod<'_>> {
        self.methods.iter().map(|m| {
            let (start, name) = (m.start as usize, m.name as usize);
            let end = start + name + m.descriptor as usize;
            WovenMethod {
                id: m.id,
                line: m.line,
                name: &self.text[start..start + name],
                descriptor: &self.text[start + name..end],
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let mut ty = WovenType::new(3, "a/B", "B.java", 2);
        ty.add(7, 12, "run", |d| d.push_str("()V"));
        ty.add(8, 0, "<init>", |d| d.push_str("(I)V"));
        assert_eq!((ty.name(), ty.file()), ("a/B", "B.java"));
        ty.set_file(|f| f.push_str("C.java"));
        assert_eq!(ty.file(), "C.java");
        let all: Vec<_> = ty.methods().collect();
        assert_eq!(
            (all[0].name, all[0].descriptor, all[0].line),
            ("run", "()V", 12)
        );
        assert_eq!((all[1].id, all[1].name), (8, "<init>"));
        let mut more = WovenType::new(3, "a/B", "D.java", 1);
        more.add(6, 1, "first", |d| d.push_str("()I"));
        ty.merge(more);
        let all: Vec<_> = ty.methods().map(|m| (m.name, m.descriptor)).collect();
        assert_eq!(all, [("first", "()I"), ("run", "()V"), ("<init>", "(I)V")]);
        assert_eq!(ty.file(), "C.java");
    }
}
