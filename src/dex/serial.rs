//! What a class declares, for its default `serialVersionUID`, as reflection on Android shows it.

use crate::aspect::serial::{Declared, Member, Said};
use crate::bytes::{Cursor, u16_at};
use crate::dex::format::class::{ClassDef, Members, fields_of, flag};
use crate::dex::format::file::{FieldId, File, MethodId, ProtoId};
use crate::dex::scan::Patience;
use crate::error::Result;

/// The annotation with the modifiers of a nested class's declaration ("Dalvik system annotations").
const INNER_CLASS: &[u8] = b"Ldalvik/annotation/InnerClass;";
const ACCESS_FLAGS: &[u8] = b"accessFlags";
const VISIBILITY_SYSTEM: u8 = 2;

/// `value_type` of the values that this annotation has ("encoded_value").
mod value {
    pub const INT: u8 = 0x04;
    pub const STRING: u8 = 0x17;
    pub const NULL: u8 = 0x1e;
}

/// What is known of a class's number.
#[derive(Clone, Copy)]
pub(crate) struct Serial {
    pub said: Said,
    /// The number that it has if it names none.
    pub default: i64,
}

/// The number of a class. `patience` is for all classes of the file: they may share lists.
pub(crate) fn of(file: &File<'_>, class: &ClassDef, patience: &Patience) -> Result<Serial> {
    let mut methods = Vec::new();
    let mut fields = Vec::new();
    if class.data != 0 {
        let mut members = Members::read(file, class.data)?;
        while let Some(method) = members.next()? {
            let MethodId { proto, name, .. } = file.method(method.id)?;
            methods.push((
                file.string(name)?,
                descriptor(file, proto, patience)?,
                shown(method.access),
            ));
        }
        fields_of(file, class.data, |field, access| {
            fields.push((field, access));
        })?;
    }
    let mut interfaces = Vec::new();
    for row in file.type_list(class.interfaces)? {
        patience.spend(0, class.interfaces)?;
        interfaces.push(internal(file.descriptor(u16_at(row, 0).into())?));
    }
    let fields = fields.into_iter().map(|(field, access)| {
        let FieldId { ty, name, .. } = file.field(field)?;
        Ok(Member {
            access: access as u16,
            name: file.string(name)?,
            descriptor: file.descriptor(ty)?,
        })
    });
    let methods = methods.iter().map(|(name, descriptor, access)| Member {
        access: *access,
        name,
        descriptor,
    });
    let declared = Declared {
        name: internal(file.descriptor(class.ty)?),
        access: declared_access(file, class, patience)?.unwrap_or(class.access) as u16,
        interfaces,
        fields: fields.collect::<Result<_>>()?,
        methods: methods.collect(),
    };
    Ok(Serial {
        said: declared.said(),
        default: declared.default_number(),
    })
}

/// The modifiers that reflection shows of a method: `synchronized` is what the declaration says, and no abstract method is native.
fn shown(access: u32) -> u16 {
    let mut shown = access & !flag::SYNCHRONIZED;
    if access & flag::ABSTRACT != 0 {
        shown &= !flag::NATIVE;
    }
    if access & flag::DECLARED_SYNCHRONIZED != 0 {
        shown |= flag::SYNCHRONIZED;
    }
    shown as u16
}

/// `p/A` of `Lp/A;`.
fn internal(descriptor: &[u8]) -> &[u8] {
    let inner = descriptor
        .strip_prefix(b"L")
        .and_then(|d| d.strip_suffix(b";"));
    inner.unwrap_or(descriptor)
}

fn descriptor(file: &File<'_>, proto: u32, patience: &Patience) -> Result<Vec<u8>> {
    let ProtoId {
        returns,
        parameters: list,
        ..
    } = file.proto(proto)?;
    let mut text = vec![b'('];
    for row in file.type_list(list)? {
        let ty = file.descriptor(u16_at(row, 0).into())?;
        patience.spend(ty.len(), list)?;
        text.extend_from_slice(ty);
    }
    text.push(b')');
    let returns = file.descriptor(returns)?;
    patience.spend(returns.len(), list)?;
    text.extend_from_slice(returns);
    Ok(text)
}

/// The modifiers that the declaration of a nested class has.
fn declared_access(file: &File<'_>, class: &ClassDef, patience: &Patience) -> Result<Option<u32>> {
    if class.annotations == 0 {
        return Ok(None);
    }
    let at = Cursor::at(file.bytes, class.annotations as usize).le_u32()?;
    if at == 0 {
        return Ok(None);
    }
    let mut set = Cursor::at(file.bytes, at as usize);
    for _ in 0..set.le_u32()? {
        patience.spend(0, class.annotations)?;
        let mut item = Cursor::at(file.bytes, set.le_u32()? as usize);
        if item.u8()? == VISIBILITY_SYSTEM && file.descriptor(item.uleb32()?)? == INNER_CLASS {
            return access_flags(file, item);
        }
    }
    Ok(None)
}

/// The annotation's element with modifiers; the cursor is behind its type.
fn access_flags(file: &File<'_>, mut cursor: Cursor<'_>) -> Result<Option<u32>> {
    for _ in 0..cursor.uleb32()? {
        let name = file.string(cursor.uleb32()?)?;
        let head = cursor.u8()?;
        let (arg, kind) = (usize::from(head >> 5), head & 0x1f);
        match kind {
            value::NULL => {}
            value::INT | value::STRING if arg < 4 => {
                let mut wide = [0; 4];
                wide[..=arg].copy_from_slice(cursor.take(arg + 1)?);
                if kind == value::INT && name == ACCESS_FLAGS {
                    return Ok(Some(u32::from_le_bytes(wide)));
                }
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::format::file::Dex;

    #[test]
    fn what_is_shared_out_of_proportion_is_an_error() {
        let dex = Dex::parse(include_bytes!("../../tests/dex/everything.dex")).unwrap();
        let file = &dex.files[0];
        let all = |patience: &Patience| {
            let classes = file.classes.iter().map(ClassDef::read);
            classes
                .map(|class| of(file, &class, patience))
                .collect::<Result<Vec<_>>>()
        };
        let patience = Patience::new(file.bytes.len());
        assert_eq!(all(&patience).unwrap().len(), file.classes.len());
        while patience.spend(1 << 16, 0).is_ok() {}
        let error = all(&patience).err().unwrap().to_string();
        assert!(error.contains("shared out of proportion"), "{error}");
    }
}
