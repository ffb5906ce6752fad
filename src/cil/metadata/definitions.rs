//! Types and their methods, enclosing types, attributes and names.

use crate::aspect::joinpoint::Described;
use crate::cil::metadata::Metadata;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature;
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use crate::cil::metadata::types::Types;
use crate::error::{Error, Result};
use std::ops::Range;

impl<'a> Metadata<'a> {
    /// The method lists of types must ascend, so that each method is of one type.
    pub(crate) fn check_lists(&self) -> Result<()> {
        let mut last = 1;
        let end = self.method_list_end();
        for row in self.tables.iter(table::TYPE_DEF) {
            let first = row.get(column::type_def::METHOD_LIST);
            if first < last || first > end {
                let what = format!(
                    "a type's methods begin at {first}, behind {last} and up to {end} wanted"
                );
                return Err(Error::malformed(0, what));
            }
            last = first;
        }
        Ok(())
    }

    /// One more than the highest position in the method list.
    fn method_list_end(&self) -> u32 {
        let tables = &self.tables;
        match tables.rows(table::METHOD_PTR) {
            0 => tables.rows(table::METHOD_DEF) + 1,
            pointers => pointers + 1,
        }
    }

    /// Whether a `TypeDef` or `TypeRef` has this namespace and name.
    pub(crate) fn is_type_named(&self, ty: u32, namespace: &[u8], name: &[u8]) -> bool {
        let tables = &self.tables;
        let Ok(row) = tables.row(token_table(ty), token_row(ty)) else {
            return false;
        };
        let (n, ns) = match token_table(ty) {
            table::TYPE_REF => (column::type_ref::NAME, column::type_ref::NAMESPACE),
            table::TYPE_DEF => (column::type_def::NAME, column::type_def::NAMESPACE),
            _ => return false,
        };
        let is = |index, text: &[u8]| self.strings.is(index, text);
        is(row.get(n), name) && is(row.get(ns), namespace)
    }

    /// The types of the custom attributes of a parent; malformed ones are skipped.
    pub(crate) fn attributes(&self, parent: u32, each: &mut dyn FnMut(u32)) {
        use column::custom_attribute::{PARENT, TYPE};
        let tables = &self.tables;
        let Some(key) = encode(&coded::HAS_CUSTOM_ATTRIBUTE, parent) else {
            return;
        };
        for (_, row) in tables.with_key(table::CUSTOM_ATTRIBUTE, PARENT, key) {
            if let Some(ty) = self.attribute_type(row.get(TYPE)) {
                each(ty);
            }
        }
    }

    /// The type whose constructor a custom attribute names.
    pub(crate) fn attribute_type(&self, constructor: u32) -> Option<u32> {
        let constructor = decode(&coded::CUSTOM_ATTRIBUTE_TYPE, constructor).ok()?;
        let row = token_row(constructor);
        match token_table(constructor) {
            table::METHOD_DEF => Some(token(table::TYPE_DEF, self.owner_of_method(row)?)),
            table::MEMBER_REF => {
                let row = self.tables.row(table::MEMBER_REF, row).ok()?;
                let parent = row.get(column::member_ref::CLASS);
                decode(&coded::MEMBER_REF_PARENT, parent).ok()
            }
            _ => None,
        }
    }

    /// The type that a method is of.
    pub(crate) fn owner_of_method(&self, method: u32) -> Option<u32> {
        let tables = &self.tables;
        let position = match tables.rows(table::METHOD_PTR) {
            0 => method,
            _ => {
                let column = column::method_ptr::METHOD;
                let pointers = tables.indexed(table::METHOD_PTR, column, method);
                pointers.first()?.1
            }
        };
        let (mut low, mut high) = (1, tables.rows(table::TYPE_DEF) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let row = tables.row(table::TYPE_DEF, middle).ok()?;
            if row.get(column::type_def::METHOD_LIST) <= position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low > 1).then(|| low - 1)
    }

    /// The fields of a type (a `TypeDef` row): their rows; none where the file lists them elsewhere.
    pub(crate) fn fields_of(&self, ty: u32) -> Range<u32> {
        use column::type_def::FIELD_LIST;
        if self.tables.rows(table::FIELD_PTR) > 0 {
            return 0..0;
        }
        let list = |ty| {
            let row = self.tables.row(table::TYPE_DEF, ty);
            row.map(|row| row.get(FIELD_LIST))
        };
        let end = self.tables.rows(table::FIELD) + 1;
        let start = list(ty).unwrap_or(end);
        start..list(ty + 1).unwrap_or(end).min(end)
    }

    /// The type that declares a field.
    pub(crate) fn owner_of_field(&self, field: u32) -> Option<u32> {
        let tables = &self.tables;
        let position = match tables.rows(table::FIELD_PTR) {
            0 => field,
            _ => {
                let pointers = tables.indexed(table::FIELD_PTR, column::field_ptr::FIELD, field);
                pointers.first()?.1
            }
        };
        let (mut low, mut high) = (1, tables.rows(table::TYPE_DEF) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let row = tables.row(table::TYPE_DEF, middle).ok()?;
            if row.get(column::type_def::FIELD_LIST) <= position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low > 1).then(|| low - 1)
    }

    /// What types enclose which, and their names.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| Types::read(self))
    }

    /// The positions of a type's methods in the method list.
    pub(crate) fn method_positions(&self, ty: u32) -> Result<Range<u32>> {
        let tables = &self.tables;
        let first = tables
            .row(table::TYPE_DEF, ty)?
            .get(column::type_def::METHOD_LIST);
        let end = match tables.row(table::TYPE_DEF, ty + 1) {
            Ok(next) => next.get(column::type_def::METHOD_LIST),
            Err(_) => self.method_list_end(),
        };
        Ok(first..end)
    }

    /// The `MethodDef` row at a position of the method list.
    #[inline]
    pub(crate) fn method_at(&self, position: u32) -> Result<u32> {
        let tables = &self.tables;
        match tables.rows(table::METHOD_PTR) {
            0 => Ok(position),
            _ => Ok(tables
                .row(table::METHOD_PTR, position)?
                .get(column::method_ptr::METHOD)),
        }
    }

    /// The type that encloses a nested type.
    pub(crate) fn enclosing(&self, ty: u32) -> Option<u32> {
        use column::nested_class::{ENCLOSING, NESTED};
        let mut rows = self.tables.with_key(table::NESTED_CLASS, NESTED, ty);
        rows.next().map(|(_, row)| row.get(ENCLOSING))
    }

    /// A type's full name, by its number in the order of the scan.
    pub fn type_name(&self, ty: u32) -> Result<String> {
        let mut name = String::new();
        self.types().put_name(self, ty + 1, &mut name)?;
        Ok(name)
    }

    /// Name and descriptor of a method, by the numbers of its type and in its type in the order of the scan.
    pub fn describe(&self, ty: u32, index: u32) -> Result<Described> {
        use column::method_def::{NAME, SIGNATURE};
        let method = self.method_at(self.method_positions(ty + 1)?.start + index)?;
        let row = self.tables.row(table::METHOD_DEF, method)?;
        let name = self.strings.text(row.get(NAME))?.into_owned();
        let mut descriptor = String::new();
        signature::put_descriptor(self, method, row.get(SIGNATURE), &mut descriptor);
        Ok(Described { name, descriptor })
    }

    /// Name and signature of a method, for messages.
    pub(crate) fn method_label(&self, method: u32) -> String {
        let mut label = String::new();
        if let Ok(row) = self.tables.row(table::METHOD_DEF, method) {
            match self.strings.text(row.get(column::method_def::NAME)) {
                Ok(name) => label.push_str(&name),
                Err(_) => label.push('?'),
            }
            let signature = row.get(column::method_def::SIGNATURE);
            signature::put_descriptor(self, method, signature, &mut label);
        }
        label
    }
}
