//! What a class declares, for its default `serialVersionUID`.

use crate::aspect::serial::{Declared, Member};
use crate::bytes::Cursor;
use crate::error::Result;
use crate::jvm::class::{Class, attributes};

/// What a class declares.
pub fn declared<'a>(class: &Class<'a>) -> Result<Declared<'a>> {
    let pool = &class.pool;
    let name = pool.class_name(class.this_class())?;
    let mut cursor = Cursor::at(class.bytes, class.pool.end() + 6);
    let mut interfaces = Vec::new();
    for _ in 0..cursor.be_u16()? {
        interfaces.push(pool.class_name(cursor.be_u16()?)?);
    }
    let mut fields = Vec::new();
    for _ in 0..cursor.be_u16()? {
        let access = cursor.be_u16()?;
        fields.push(Member {
            access,
            name: pool.utf8(cursor.be_u16()?)?,
            descriptor: pool.utf8(cursor.be_u16()?)?,
        });
        let end = attributes(class.bytes, cursor.position(), |_| Ok(()))?;
        cursor = Cursor::at(class.bytes, end);
    }
    let mut methods = Vec::with_capacity(class.methods.len());
    for method in &class.methods {
        methods.push(Member {
            access: method.access,
            name: pool.utf8(method.name)?,
            descriptor: pool.utf8(method.descriptor)?,
        });
    }
    Ok(Declared {
        name,
        access: declared_access(class, name)?,
        interfaces,
        fields,
        methods,
    })
}

/// The modifiers that the class's declaration has: those of a nested class are in `InnerClasses` (JVMS 4.7.6).
fn declared_access(class: &Class<'_>, name: &[u8]) -> Result<u16> {
    let mut access = None;
    attributes(class.bytes, class.attributes, |a| {
        if class.pool.utf8(a.name)? != b"InnerClasses" {
            return Ok(());
        }
        let mut cursor = Cursor::new(a.data);
        for _ in 0..cursor.be_u16()? {
            let inner = cursor.be_u16()?;
            cursor.take(4)?;
            let flags = cursor.be_u16()?;
            if access.is_none() && inner != 0 && class.pool.class_name(inner)? == name {
                access = Some(flags);
            }
        }
        Ok(())
    })?;
    Ok(access.unwrap_or(class.access))
}
