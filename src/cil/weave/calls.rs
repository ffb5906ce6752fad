//! The meaning of calls in a constructor, from the image's tables.

use crate::cil::il::insn::op;
use crate::cil::image::Image;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{MethodSignature, element, kind};
use crate::cil::metadata::tables::{decode, token_row, token_table};
use crate::cil::weave::constructor::Calls;

/// Calls in the constructors of one type.
pub(crate) struct ConstructorCalls<'i, 'a> {
    image: &'i Image<'a>,
    ty: u32,
    /// The base type: a token, or 0.
    base: u32,
}

/// The method of a token.
struct CalledMethod<'a> {
    name: &'a [u8],
    signature: &'a [u8],
    /// The token of its type.
    ty: u32,
}

impl<'i, 'a> ConstructorCalls<'i, 'a> {
    /// For constructors of a `TypeDef`.
    pub(crate) fn of(image: &'i Image<'a>, ty: u32) -> ConstructorCalls<'i, 'a> {
        let row = image.metadata.tables.row(table::TYPE_DEF, ty);
        let extends = row.map_or(0, |row| row.get(column::type_def::EXTENDS));
        let base = decode(&coded::TYPE_DEF_OR_REF, extends).unwrap_or(0);
        ConstructorCalls {
            image,
            ty: u32::from(table::TYPE_DEF) << 24 | ty,
            base: generic_type(image, base),
        }
    }

    fn method(&self, token: u32) -> Option<CalledMethod<'a>> {
        let metadata = &self.image.metadata;
        let tables = &metadata.tables;
        let number = token_row(token);
        let (name, signature, ty) = match token_table(token) {
            table::METHOD_DEF => {
                let row = tables.row(table::METHOD_DEF, number).ok()?;
                let owner = self.image.metadata.owner_of_method(number)?;
                (
                    row.get(column::method_def::NAME),
                    row.get(column::method_def::SIGNATURE),
                    u32::from(table::TYPE_DEF) << 24 | owner,
                )
            }
            table::MEMBER_REF => {
                let row = tables.row(table::MEMBER_REF, number).ok()?;
                let class = row.get(column::member_ref::CLASS);
                (
                    row.get(column::member_ref::NAME),
                    row.get(column::member_ref::SIGNATURE),
                    decode(&coded::MEMBER_REF_PARENT, class).ok()?,
                )
            }
            table::METHOD_SPEC => {
                let row = tables.row(table::METHOD_SPEC, number).ok()?;
                let method = row.get(column::method_spec::METHOD);
                let method = decode(&coded::METHOD_DEF_OR_REF, method).ok()?;
                return self.method(method);
            }
            _ => return None,
        };
        Some(CalledMethod {
            name: metadata.strings.get(name).ok()?,
            signature: metadata.blobs.get(signature).ok()?,
            ty,
        })
    }

    /// Whether two type tokens mean the same type: the same row, or two references of one name.
    fn same_type(&self, a: u32, b: u32) -> bool {
        if a == b {
            return a != 0;
        }
        let name = |token: u32| {
            let row = self
                .image
                .metadata
                .tables
                .row(table::TYPE_REF, token_row(token));
            let row = row.ok().filter(|_| token_table(token) == table::TYPE_REF)?;
            let text = |column| self.image.metadata.strings.get(row.get(column)).ok();
            Some((
                text(column::type_ref::NAME)?,
                text(column::type_ref::NAMESPACE)?,
            ))
        };
        name(a).is_some_and(|a| name(b) == Some(a))
    }
}

/// The generic type that a `TypeSpec` instantiates; other tokens as they are.
fn generic_type(image: &Image<'_>, token: u32) -> u32 {
    if token_table(token) != table::TYPE_SPEC {
        return token;
    }
    let blob = image
        .metadata
        .tables
        .row(table::TYPE_SPEC, token_row(token))
        .and_then(|row| {
            image
                .metadata
                .blobs
                .get(row.get(column::type_spec::SIGNATURE))
        });
    match blob {
        Ok([element::GENERICINST, _, rest @ ..]) => compressed(rest)
            .and_then(|(coded, _)| decode(&coded::TYPE_DEF_OR_REF, coded).ok())
            .unwrap_or(token),
        _ => token,
    }
}

impl Calls for ConstructorCalls<'_, '_> {
    fn initialises_this(&self, token: u32) -> bool {
        self.method(token).is_some_and(|called| {
            let ty = generic_type(self.image, called.ty);
            called.name == b".ctor"
                && (self.same_type(ty, self.ty) || self.same_type(ty, self.base))
        })
    }

    fn stack_effect(&self, opcode: u16, token: u32) -> Option<(u32, u32)> {
        let blob = if opcode == op::CALLI {
            let number = token_row(token);
            let row = self
                .image
                .metadata
                .tables
                .row(table::STAND_ALONE_SIG, number);
            let signature = row.ok()?.get(column::stand_alone_sig::SIGNATURE);
            self.image.metadata.blobs.get(signature).ok()?
        } else {
            self.method(token)?.signature
        };
        let signature = MethodSignature::parse(blob).ok()?;
        if signature.flags & kind::EXPLICIT_THIS != 0 {
            return None;
        }
        let has_this = signature.flags & kind::HAS_THIS != 0;
        Some(match opcode {
            op::NEWOBJ => (signature.count, 1),
            _ => (
                signature.count + u32::from(has_this) + u32::from(opcode == op::CALLI),
                u32::from(!signature.is_void()),
            ),
        })
    }
}
