//! The hook libraries for the JVM, Android and .NET, embedded in this binary.

use crate::aspect::bind::visible::{is_of_java_base, package_of};
use crate::cil;
use crate::container::deps_json;
use crate::container::jar::Manifest;
use crate::container::stage::Staged;
use crate::container::zip::{Archive, Codec, Method, Packed, Splicer};
use crate::error::{Error, Kind, Result};
use crate::jvm::{self, module_info};
use crate::pipeline::format::file_name;
use crate::symbols;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The library as a jar: package `weave.runtime`, module `weave.runtime`.
pub const JAR: &[u8] = include_bytes!("../../../runtime/java/weave-runtime.jar");

/// The same library for Android, as a dex file.
pub const DEX: &[u8] = include_bytes!("../../../runtime/java/weave-runtime.dex");

/// The library's file name.
pub const JAR_NAME: &str = "weave-runtime.jar";

/// The library as an assembly.
pub const DLL: &[u8] = include_bytes!("../../../runtime/dotnet/Weave.Runtime.dll");

/// The same for .NET from [`DLL_NET_SINCE`] on, which does there what .NET Standard has no members for.
pub const DLL_NET: &[u8] = include_bytes!("../../../runtime/dotnet/net8.0/Weave.Runtime.dll");

/// The first .NET that [`DLL_NET`] is for.
pub const DLL_NET_SINCE: u32 = 8;

/// The assembly's file name.
pub const DLL_NAME: &str = "Weave.Runtime.dll";

/// The package, as class files name it.
pub(crate) const PACKAGE: &str = "weave/runtime";

/// The module that a named module must read to call the hooks.
pub(crate) const MODULE: &str = "weave.runtime";

/// A class that is in every version of the library.
pub(crate) const HOOKS_CLASS: &str = "weave/runtime/Hooks.class";

/// Whether a type is the library's, as artifacts or as rules write its name.
pub(crate) fn is_of_runtime(name: &str) -> bool {
    ["weave/runtime/", "weave.runtime.", "Weave.Runtime."]
        .iter()
        .any(|package| name.starts_with(package))
}

/// Writes the library as a file: for Android if it is named `.dex`, for .NET if `.dll`, else as a jar. `newest`: of those for .NET the one for
/// [`DLL_NET_SINCE`].
pub fn write_runtime(path: &Path, newest: bool) -> Result<()> {
    let named = |suffix: &str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(suffix))
    };
    let library = match () {
        () if named("dex") => DEX,
        () if named("dll") && newest => DLL_NET,
        () if named("dll") => DLL,
        () => JAR,
    };
    Staged::whole(path, library, None)?.commit()
}

fn internal(e: impl std::fmt::Display) -> Error {
    Error::new(Kind::NotDone, format!("the embedded hook library: {e}"))
}

/// The library's classes as they are packed in its jar: internal path and data.
pub(crate) fn packed_classes() -> Result<Vec<(String, Packed)>> {
    let archive = Archive::open(JAR)?;
    let of_package = |name: &str| name.starts_with(PACKAGE) && !name.ends_with('/');
    let members = archive.members().iter();
    Ok(members
        .filter(|member| of_package(member.name()))
        .map(|member| {
            let packed = Packed {
                method: member.method(),
                crc32: member.crc32(),
                size: member.size(),
                data: member.packed().to_vec(),
            };
            (member.name().to_owned(), packed)
        })
        .collect())
}

/// The library's classes: internal path and bytes.
pub(crate) fn classes() -> Result<Vec<(String, Vec<u8>)>> {
    let archive = Archive::open(JAR)?;
    let mut codec = Codec::new();
    let mut classes = Vec::new();
    for member in archive.members() {
        let name = member.name();
        if name.starts_with(PACKAGE) && !name.ends_with('/') {
            let mut bytes = Vec::new();
            member.read(&mut codec, member.size(), &mut bytes)?;
            classes.push((name.to_owned(), bytes));
        }
    }
    Ok(classes)
}

/// What a published application's list says of a library.
pub(crate) fn assembly(bytes: &[u8]) -> Result<deps_json::Assembly<'_>> {
    let image = cil::Image::parse(bytes)?;
    let (Some(name), Some(version)) = (image.assembly_name(), image.assembly_version()) else {
        return Err(Error::usage("a library of hooks that is no assembly"));
    };
    Ok(deps_json::Assembly { name, version })
}

/// A published application's list with these libraries (file name and bytes) added. `None`: it stays as it is.
pub(crate) fn listed(list: &[u8], libraries: &[(&str, &[u8])]) -> Result<Option<Vec<u8>>> {
    let mut added = None;
    for (_, bytes) in libraries {
        let list = added.as_deref().unwrap_or(list);
        added = deps_json::add(list, &assembly(bytes)?)?.or(added);
    }
    Ok(added)
}

/// The library as a jar that carries a symbols map, for places where no woven jar can carry it within reach of the library,
/// and what own hooks need. It exports their packages, as a module and as a bundle. If they need more than the base module, it becomes
/// an automatic module, which reads all others.
pub(crate) fn jar_with_symbols(map: &[u8], own: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>> {
    let archive = Archive::open(JAR)?;
    let mut splicer = Splicer::new(&archive, Vec::with_capacity(JAR.len() + map.len() + 256));
    let packages = packages(own);
    let is_automatic = !own.is_empty() && !stands_on_base(own, &packages)?;
    for member in archive.members() {
        let name = file_name(member.name());
        if own.is_empty() || !["module-info.class", "MANIFEST.MF"].contains(&name) {
            splicer.keep().map_err(internal)?;
            continue;
        }
        let mut bytes = Vec::new();
        member.read(&mut Codec::new(), member.size(), &mut bytes)?;
        let new = match name {
            "MANIFEST.MF" => Some(bundle_manifest(&bytes, &packages, is_automatic)),
            _ if is_automatic => None,
            _ => Some(exporting(bytes, &packages)?),
        };
        let packed = new.map(|bytes| Packed::new(member.method(), &bytes, &mut Codec::new()));
        match packed {
            Some(packed) => splicer.replace(&packed),
            None => splicer.drop(),
        }
        .map_err(internal)?;
    }
    let mut add = |name: &str, data: &[u8]| {
        let packed = Packed::new(Method::Stored, data, &mut Codec::new());
        splicer.add(name, &packed).map_err(internal)
    };
    add(symbols::MEMBER, map)?;
    own.iter().try_for_each(|(name, data)| add(name, data))?;
    splicer.finish().map_err(internal)
}

/// The packages of classes, with slashes.
pub(crate) fn packages(members: &BTreeMap<String, Vec<u8>>) -> BTreeSet<&str> {
    let classes = members.keys().filter(|name| name.ends_with(".class"));
    classes
        .filter_map(|name| Some(name.rsplit_once('/')?.0))
        .collect()
}

/// The manifest of the library with own hooks in it: bundles find their packages here, and they find those of other bundles.
fn bundle_manifest(before: &[u8], packages: &BTreeSet<&str>, is_automatic: bool) -> Vec<u8> {
    let mut manifest = Manifest::parse(before);
    if is_automatic {
        manifest.set("Automatic-Module-Name", MODULE);
    }
    for package in packages {
        manifest.add_clause("Export-Package", &package.replace('/', "."));
    }
    manifest.add_clause("DynamicImport-Package", "*");
    manifest.to_bytes()
}

/// The module's descriptor with these packages exported.
fn exporting(mut descriptor: Vec<u8>, packages: &BTreeSet<&str>) -> Result<Vec<u8>> {
    for package in packages {
        if let Some(more) = module_info::add_exports(&descriptor, package)? {
            descriptor = more;
        }
    }
    Ok(descriptor)
}

/// Whether hooks name no class but their own, those of the hook library and of the module `java.base`, and offer no services.
fn stands_on_base(own: &BTreeMap<String, Vec<u8>>, packages: &BTreeSet<&str>) -> Result<bool> {
    if own.keys().any(|name| name.starts_with("META-INF/")) {
        return Ok(false);
    }
    let known = |class: &str| {
        let package = package_of(class);
        package == PACKAGE || packages.contains(package) || is_of_java_base(package)
    };
    for (name, bytes) in own.iter().filter(|(name, _)| name.ends_with(".class")) {
        // In no package, or of another Java version: no module has such.
        if !name.contains('/') || name.starts_with("META-INF/") {
            return Ok(false);
        }
        let named = jvm::Class::parse(bytes).and_then(|class| class.named_classes());
        if !named.is_ok_and(|named| named.iter().all(|class| known(class))) {
            return Ok(false);
        }
    }
    Ok(true)
}
