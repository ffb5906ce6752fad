//! `module-info.class`: lets a woven named module reach the hook library (JVMS 4.7.25, 4.7.26).

use crate::bytes::Cursor;
use crate::error::{Error, Kind, Result};
use crate::jvm::class::{Attribute, Class, attributes};
use crate::jvm::pool::{Additions, tag};

/// Adds `requires <module>`; `None` if it is there already.
pub fn add_requires(bytes: &[u8], module: &str) -> Result<Option<Vec<u8>>> {
    let class = Class::parse(bytes)?;
    let Some(attribute) = find(&class, "Module")? else {
        return Err(Error::malformed(
            class.attributes,
            "module-info without a Module attribute",
        ));
    };
    let mut cursor = Cursor::new(attribute.data);
    // module_name_index, module_flags, module_version_index
    cursor.take(6)?;
    let count_at = cursor.position();
    let count = cursor.be_u16()?;
    for _ in 0..count {
        let name = class.pool.module_name(cursor.be_u16()?)?;
        cursor.take(4)?;
        if name == module.as_bytes() {
            return Ok(None);
        }
    }
    let mut additions = room(&class)?;
    let name = additions.utf8(module);
    let index = additions.named(tag::MODULE, name);
    let [hi, lo] = index.to_be_bytes();
    // No flags, no version: an ordinary requires.
    let entry = [hi, lo, 0, 0, 0, 0];
    insert(
        &class,
        attribute,
        count_at,
        count,
        cursor.position(),
        &entry,
        &additions,
    )
    .map(Some)
}

/// What the module is called.
pub fn name(bytes: &[u8]) -> Result<Option<String>> {
    let class = Class::parse(bytes)?;
    let Some(attribute) = find(&class, "Module")? else {
        return Ok(None);
    };
    let name = (class.pool).module_name(Cursor::new(attribute.data).be_u16()?)?;
    Ok(String::from_utf8(name.to_vec()).ok())
}

/// Exports a package to everybody; `None` if it is exported already.
pub fn add_exports(bytes: &[u8], package: &str) -> Result<Option<Vec<u8>>> {
    let class = Class::parse(bytes)?;
    let Some(attribute) = find(&class, "Module")? else {
        return Err(Error::malformed(
            class.attributes,
            "module-info without a Module attribute",
        ));
    };
    let mut cursor = Cursor::new(attribute.data);
    // module_name_index, module_flags, module_version_index
    cursor.take(6)?;
    let requires = cursor.be_u16()?;
    cursor.take(usize::from(requires) * 6)?;
    let count_at = cursor.position();
    let count = cursor.be_u16()?;
    for _ in 0..count {
        let name = class.pool.package_name(cursor.be_u16()?)?;
        if name == package.as_bytes() {
            return Ok(None);
        }
        cursor.take(2)?;
        let to = cursor.be_u16()?;
        cursor.take(usize::from(to) * 2)?;
    }
    let mut additions = room(&class)?;
    let name = additions.utf8(package);
    let [hi, lo] = additions.named(tag::PACKAGE, name).to_be_bytes();
    // No flags, to nobody by name.
    let entry = [hi, lo, 0, 0, 0, 0];
    insert(
        &class,
        attribute,
        count_at,
        count,
        cursor.position(),
        &entry,
        &additions,
    )
    .map(Some)
}

/// Adds a package (`weave/runtime`) to the `ModulePackages` attribute; `None` if the class has no such attribute, which
/// is optional, or lists the package already.
pub fn add_package(bytes: &[u8], package: &str) -> Result<Option<Vec<u8>>> {
    let class = Class::parse(bytes)?;
    let Some(attribute) = find(&class, "ModulePackages")? else {
        return Ok(None);
    };
    let mut cursor = Cursor::new(attribute.data);
    let count = cursor.be_u16()?;
    for _ in 0..count {
        if class.pool.package_name(cursor.be_u16()?)? == package.as_bytes() {
            return Ok(None);
        }
    }
    let mut additions = room(&class)?;
    let name = additions.utf8(package);
    let index = additions.named(tag::PACKAGE, name);
    insert(
        &class,
        attribute,
        0,
        count,
        cursor.position(),
        &index.to_be_bytes(),
        &additions,
    )
    .map(Some)
}

fn room(class: &Class<'_>) -> Result<Additions> {
    let mut additions = Additions::default();
    additions.reset(&class.pool);
    match additions.room() {
        2.. => Ok(additions),
        _ => Err(Error::new(
            Kind::NotDone,
            "the constant pool of module-info is full",
        )),
    }
}

fn find<'a>(class: &Class<'a>, name: &str) -> Result<Option<Attribute<'a>>> {
    let mut found = None;
    attributes(class.bytes, class.attributes, |a| {
        if found.is_none()
            && class
                .pool
                .utf8(a.name)
                .is_ok_and(|text| text == name.as_bytes())
        {
            found = Some(a);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The class with an entry added to a counted list of an attribute: `count` at `count_at`, the list's
/// end at `end`, both counted in the attribute's contents.
fn insert(
    class: &Class<'_>,
    attribute: Attribute<'_>,
    count_at: usize,
    count: u16,
    end: usize,
    entry: &[u8],
    additions: &Additions,
) -> Result<Vec<u8>> {
    let count = count
        .checked_add(1)
        .ok_or_else(|| Error::new(Kind::NotDone, "65,535 entries in a list of module-info"))?;
    let old = class.bytes;
    let (pool_end, contents) = (class.pool.end(), attribute.offset());
    let mut out = Vec::with_capacity(old.len() + additions.bytes().len() + entry.len());
    out.extend_from_slice(&old[..8]);
    out.extend_from_slice(&additions.count().to_be_bytes());
    out.extend_from_slice(&old[10..pool_end]);
    out.extend_from_slice(additions.bytes());
    out.extend_from_slice(&old[pool_end..attribute.start + 2]);
    out.extend_from_slice(&((attribute.data.len() + entry.len()) as u32).to_be_bytes());
    out.extend_from_slice(&old[contents..contents + count_at]);
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&old[contents + count_at + 2..contents + end]);
    out.extend_from_slice(entry);
    out.extend_from_slice(&old[contents + end..]);
    Ok(out)
}
