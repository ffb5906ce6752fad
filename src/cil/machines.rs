//! Async methods and iterators, and the state machines that compilers made of them.

use crate::cil::image::Image;
use crate::cil::metadata::flags::{has_il, impl_flag};
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use rustc_hash::FxHashMap;

/// What a compiler made of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// `async`, whatever it returns.
    Async,
    /// `yield`, in a method that is not `async`.
    Iterator,
    /// Both.
    AsyncIterator,
    /// `async` without a machine: the runtime suspends the method itself.
    ByRuntime,
}

/// A method and its state machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// The `MethodDef` row of the method that its author wrote.
    pub(crate) kickoff: u32,
    pub(crate) sort: Sort,
    /// The `TypeDef` row of the machine, or 0 where it was not found.
    pub(crate) ty: u32,
}

/// The state machines of an image, ascending by kick-off.
#[derive(Default)]
pub struct Machines {
    machines: Vec<Machine>,
    /// The machines' types, ascending.
    types: Vec<u32>,
}

const COMPILER_SERVICES: &[u8] = b"System.Runtime.CompilerServices";
const ATTRIBUTES: [(&[u8], Sort); 3] = [
    (b"AsyncStateMachineAttribute", Sort::Async),
    (b"IteratorStateMachineAttribute", Sort::Iterator),
    (b"AsyncIteratorStateMachineAttribute", Sort::AsyncIterator),
];

impl Machines {
    /// Finds the methods with an attribute that names a state machine.
    pub fn read(image: &Image<'_>) -> Machines {
        use column::custom_attribute::{PARENT, TYPE, VALUE};
        let metadata = &image.metadata;
        let constructors = constructors(image);
        let mut machines = Vec::new();
        // Edit-and-continue images order their methods by `MethodPtr`, and no field can be added.
        if metadata.tables.rows(table::METHOD_PTR) > 0 {
            return Machines::default();
        }
        let by_runtime = suspended_by_runtime(image);
        if constructors.is_empty() {
            return Machines {
                machines: by_runtime,
                types: Vec::new(),
            };
        }
        let nested = nested_types(image);
        for row in metadata.tables.iter(table::CUSTOM_ATTRIBUTE) {
            let ty = row.get(TYPE);
            let Some(&(_, sort)) = constructors.iter().find(|(c, _)| *c == ty) else {
                continue;
            };
            let Ok(parent) = decode(&coded::HAS_CUSTOM_ATTRIBUTE, row.get(PARENT)) else {
                continue;
            };
            if token_table(parent) != table::METHOD_DEF {
                continue;
            }
            let kickoff = token_row(parent);
            let named = metadata.blobs.get(row.get(VALUE)).ok().and_then(type_name);
            let owner = image.metadata.owner_of_method(kickoff);
            let ty = owner.zip(named).and_then(|(owner, name)| {
                let key = (owner, name.as_slice());
                nested.get(&key).copied()
            });
            machines.push(Machine {
                kickoff,
                sort,
                ty: ty.unwrap_or(0),
            });
        }
        machines.sort_by_key(|m| m.kickoff);
        machines.dedup_by_key(|m| m.kickoff);
        let mut types: Vec<u32> = machines.iter().map(|m| m.ty).collect();
        types.sort_unstable();
        // A machine is one method's. What says otherwise is no compiler's work.
        for machine in &mut machines {
            let first = types.partition_point(|&ty| ty < machine.ty);
            if types.get(first + 1) == Some(&machine.ty) {
                machine.ty = 0;
            }
        }
        // An attribute says nothing where the runtime does without the machine.
        machines.retain(|m| {
            by_runtime
                .binary_search_by_key(&m.kickoff, |r| r.kickoff)
                .is_err()
        });
        machines.extend(by_runtime);
        machines.sort_by_key(|m| m.kickoff);
        Machines { machines, types }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// Whether the runtime suspends a method.
    pub(crate) fn has_by_runtime(&self) -> bool {
        self.machines.iter().any(|m| m.sort == Sort::ByRuntime)
    }

    /// The machine of a method (a `MethodDef` row).
    pub(crate) fn of(&self, method: u32) -> Option<Machine> {
        let found = self.machines.binary_search_by_key(&method, |m| m.kickoff);
        found.ok().map(|i| self.machines[i])
    }

    /// Whether a type (a `TypeDef` row) is a state machine.
    pub(crate) fn has_type(&self, ty: u32) -> bool {
        self.types.binary_search(&ty).is_ok()
    }
}

/// The methods that the runtime suspends, ascending.
fn suspended_by_runtime(image: &Image<'_>) -> Vec<Machine> {
    use column::method_def::IMPL_FLAGS;
    let methods = image.metadata.tables.iter(table::METHOD_DEF);
    (1..)
        .zip(methods)
        .filter(|(_, row)| has_il(row) && row.get(IMPL_FLAGS) & impl_flag::ASYNC != 0)
        .map(|(kickoff, _)| Machine {
            kickoff,
            sort: Sort::ByRuntime,
            ty: 0,
        })
        .collect()
}

/// The constructors of the attributes, as the `CustomAttribute` table has them.
fn constructors(image: &Image<'_>) -> Vec<(u32, Sort)> {
    let tables = &image.metadata.tables;
    let sort_of = |ty: u32| {
        let is = |name| image.metadata.is_type_named(ty, COMPILER_SERVICES, name);
        ATTRIBUTES.iter().find(|(name, _)| is(name)).map(|a| a.1)
    };
    let mut found = Vec::new();
    let mut note = |method: u32, sort| {
        found.extend(encode(&coded::CUSTOM_ATTRIBUTE_TYPE, method).map(|c| (c, sort)));
    };
    let is_constructor = |name| image.metadata.strings.is(name, b".ctor");
    for (i, row) in tables.iter(table::MEMBER_REF).enumerate() {
        use column::member_ref::{CLASS, NAME};
        if is_constructor(row.get(NAME))
            && let Ok(class) = decode(&coded::MEMBER_REF_PARENT, row.get(CLASS))
            && let Some(sort) = sort_of(class)
        {
            note(token(table::MEMBER_REF, i as u32 + 1), sort);
        }
    }
    // Assemblies for old frameworks bring the attributes along.
    for ty in 1..=tables.rows(table::TYPE_DEF) {
        let Some(sort) = sort_of(token(table::TYPE_DEF, ty)) else {
            continue;
        };
        for (method, name) in methods(image, ty) {
            if name == b".ctor" {
                note(token(table::METHOD_DEF, method), sort);
            }
        }
    }
    found
}

/// Nested types by what encloses them and their names.
fn nested_types<'a>(image: &Image<'a>) -> FxHashMap<(u32, &'a [u8]), u32> {
    use column::nested_class::{ENCLOSING, NESTED};
    let tables = &image.metadata.tables;
    let mut types = FxHashMap::default();
    for row in tables.iter(table::NESTED_CLASS) {
        let nested = row.get(NESTED);
        let name = tables
            .row(table::TYPE_DEF, nested)
            .and_then(|ty| image.metadata.strings.get(ty.get(column::type_def::NAME)));
        if let Ok(name) = name {
            types.insert((row.get(ENCLOSING), name), nested);
        }
    }
    types
}

/// The simple name of the type that an attribute's blob names: prolog, then a `SerString` with the full
/// name (II.23.3), in which `\` stands in front of characters that mean something in names.
fn type_name(blob: &[u8]) -> Option<Vec<u8>> {
    let rest = blob.strip_prefix(&[1, 0])?;
    let (len, size) = compressed(rest)?;
    let full = rest[size..].get(..len as usize)?;
    let mut name = Vec::with_capacity(full.len());
    let mut bytes = full.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => name.extend(bytes.next()),
            b'+' => name.clear(),
            // The assembly's name follows.
            b',' => break,
            _ => name.push(byte),
        }
    }
    Some(name)
}

/// A type's methods (a `TypeDef` row): their rows and names.
pub(crate) fn methods<'i>(
    image: &'i Image<'_>,
    ty: u32,
) -> impl Iterator<Item = (u32, &'i [u8])> + 'i {
    let positions = image.metadata.method_positions(ty).unwrap_or(0..0);
    positions.filter_map(|position| {
        let method = image.metadata.method_at(position).ok()?;
        let row = image.metadata.tables.row(table::METHOD_DEF, method).ok()?;
        let name = image
            .metadata
            .strings
            .get(row.get(column::method_def::NAME));
        Some((method, name.ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_name_types() {
        let blob = |name: &str| {
            let mut blob = vec![1, 0, name.len() as u8];
            blob.extend_from_slice(name.as_bytes());
            blob.extend_from_slice(&[0, 0]);
            type_name(&blob).map(|name| String::from_utf8(name).unwrap())
        };
        assert_eq!(blob("A.B+<M>d__1").as_deref(), Some("<M>d__1"));
        assert_eq!(blob("A.B`1+C+<M>d__1`2").as_deref(), Some("<M>d__1`2"));
        assert_eq!(
            blob("A+<I<X\\,Y>.M>d__1, Lib, Version=1.0.0.0").as_deref(),
            Some("<I<X,Y>.M>d__1")
        );
        assert_eq!(type_name(&[1, 0]), None);
        assert_eq!(type_name(&[1, 0, 9, b'x']), None);
    }
}
