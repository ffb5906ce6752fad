//! Enclosing types and full names, made once.

use crate::cil::metadata::Metadata;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature;
use crate::cil::metadata::tables::{token, token_row, token_table};
use crate::error::Result;
use std::ops::Range;

/// Enclosing types and names.
pub(crate) struct Types {
    /// The type that encloses each type, or 0.
    enclosing: Vec<u32>,
    names: Names,
}

/// Deepest nesting of types that is followed.
const MAX_NESTING: usize = 64;

impl Types {
    pub(crate) fn read(metadata: &Metadata<'_>) -> Types {
        use column::nested_class::{ENCLOSING, NESTED};
        let tables = &metadata.tables;
        let count = tables.rows(table::TYPE_DEF);
        let mut enclosing = vec![0; count as usize + 1];
        for row in tables.iter(table::NESTED_CLASS) {
            let (nested, outer) = (row.get(NESTED), row.get(ENCLOSING));
            if nested <= count && outer <= count {
                enclosing[nested as usize] = outer;
            }
        }
        let names = Names::read(metadata, &enclosing);
        Types { enclosing, names }
    }

    /// The name of a `TypeDef` or `TypeRef`, if it is known.
    #[inline]
    pub(crate) fn name(&self, ty: u32) -> Option<&str> {
        self.names.get(ty)
    }

    /// A type and those around it, from the inside out.
    pub(crate) fn chain(&self, ty: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(ty), |&ty| {
            Some(self.enclosing[ty as usize]).filter(|&outer| outer != 0)
        })
        .take(MAX_NESTING)
    }

    /// Writes a type's full name: `Namespace.Outer+Nested`.
    pub(crate) fn put_name(
        &self,
        metadata: &Metadata<'_>,
        ty: u32,
        out: &mut String,
    ) -> Result<()> {
        out.clear();
        if let Some(name) = self.name(token(table::TYPE_DEF, ty)) {
            out.push_str(name);
            return Ok(());
        }
        let mut chain = [0; MAX_NESTING];
        let mut depth = 0;
        for ty in self.chain(ty) {
            chain[depth] = ty;
            depth += 1;
        }
        for (i, &ty) in chain[..depth].iter().rev().enumerate() {
            if i > 0 {
                out.push('+');
            }
            put_own_name(metadata, ty, out)?;
        }
        Ok(())
    }
}

/// Appends namespace and name of a type, without the types around it.
fn put_own_name(metadata: &Metadata<'_>, ty: u32, out: &mut String) -> Result<()> {
    put_own_name_behind(metadata, ty, &mut Namespace::default(), out)
}

/// A namespace that stands in a text.
#[derive(Default)]
struct Namespace {
    string: u32,
    /// Where it stands, with the dot behind it.
    place: Range<usize>,
}

/// The same; `last` is the namespace that stands in the text already: types of one lie together.
fn put_own_name_behind(
    metadata: &Metadata<'_>,
    ty: u32,
    last: &mut Namespace,
    out: &mut String,
) -> Result<()> {
    let strings = &metadata.strings;
    let row = metadata.tables.row(table::TYPE_DEF, ty)?;
    let string = row.get(column::type_def::NAMESPACE);
    if string == last.string {
        out.extend_from_within(last.place.clone());
    } else {
        let start = out.len();
        let namespace = strings.text(string)?;
        if !namespace.is_empty() {
            out.push_str(&namespace);
            out.push('.');
        }
        let place = start..out.len();
        *last = Namespace { string, place };
    }
    out.push_str(&strings.text(row.get(column::type_def::NAME))?);
    Ok(())
}

/// Names of `TypeDef`s and `TypeRef`s, without those that cannot be read, contradict themselves or exceed the limit.
struct Names {
    text: String,
    /// Where each name ends, by row; it begins where the one before ends.
    definitions: Vec<u32>,
    references: Vec<u32>,
}

impl Names {
    fn read(metadata: &Metadata<'_>, enclosing: &[u32]) -> Names {
        let tables = &metadata.tables;
        // Types that enclose one another could make text without limit.
        let most = 4 * metadata.strings.data().len() + 4096;
        let mut text = String::with_capacity(metadata.strings.data().len().min(most));
        let mut namespace = Namespace::default();
        let mut definitions = vec![0; 1];
        definitions.reserve_exact(enclosing.len());
        for (ty, row) in (1..).zip(tables.iter(table::TYPE_DEF)) {
            let start = text.len();
            // Nested types have a visibility of their own (II.23.1.15).
            let is_nested = row.get(column::type_def::FLAGS) & 7 > 1;
            let outer = enclosing[ty] as usize;
            let around = match (outer, is_nested) {
                (0, false) => Some(0..0),
                (1.., true) if outer < ty => Some(definitions[outer - 1]..definitions[outer]),
                _ => None,
            };
            let known = around.is_some_and(|around| {
                if outer > 0 {
                    text.extend_from_within(around.start as usize..around.end as usize);
                    text.push('+');
                }
                let known = (outer == 0 || !around.is_empty())
                    && put_own_name_behind(metadata, ty as u32, &mut namespace, &mut text).is_ok();
                known && text.len() <= most
            });
            if !known {
                text.truncate(start);
                namespace = Namespace::default();
            }
            definitions.push(text.len() as u32);
        }
        let mut references = vec![text.len() as u32];
        references.reserve_exact(tables.rows(table::TYPE_REF) as usize);
        for row in 1..=tables.rows(table::TYPE_REF) {
            let start = text.len();
            let known =
                signature::put_new_type_name(metadata, token(table::TYPE_REF, row), &mut text);
            if !known || text.len() > most {
                text.truncate(start);
            }
            references.push(text.len() as u32);
        }
        Names {
            text,
            definitions,
            references,
        }
    }

    #[inline]
    fn get(&self, ty: u32) -> Option<&str> {
        let ends = match token_table(ty) {
            table::TYPE_DEF => &self.definitions,
            table::TYPE_REF => &self.references,
            _ => return None,
        };
        let row = token_row(ty) as usize;
        let (start, end) = (*ends.get(row.checked_sub(1)?)?, *ends.get(row)?);
        (start < end).then(|| &self.text[start as usize..end as usize])
    }
}
