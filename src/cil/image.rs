//! An assembly or module: the CLI header and its metadata, in place.

use crate::aspect::joinpoint::Described;
use crate::aspect::structs::Structs;
use crate::cil::cli_header::CliHeader;
use crate::cil::il::body::Body;
use crate::cil::metadata::Metadata;
use crate::cil::metadata::heaps::compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{encode, token};
use crate::cil::native::{self, Native};
use crate::cil::pe::{Pe, directory};
use crate::error::Result;
use std::sync::Arc;

/// Name of the hook library, which is also its namespace.
pub const RUNTIME: &str = "Weave.Runtime";

/// Name of the manifest resource with the map from ids to names.
pub const SYMBOLS_RESOURCE: &str = "Weave.Symbols";

/// An entry of the debug directory (PE/COFF, "Debug Directory").
#[derive(Clone, Copy, Debug)]
pub struct DebugEntry {
    /// What it holds: 2 CodeView, 16 reproducible, 17 embedded portable PDB, 19 PDB checksum.
    pub kind: u32,
    /// Bytes of its data.
    pub size: u32,
    /// Address of its data, or 0.
    pub rva: u32,
    /// Offset of its data in the file.
    pub raw: u32,
}

impl DebugEntry {
    /// Bytes of an entry.
    pub const SIZE: usize = 28;
}

/// Whether a file is a PE file with a CLI header: what this backend reads.
pub fn is_assembly(bytes: &[u8]) -> bool {
    bytes.starts_with(b"MZ")
        && Pe::parse(bytes).is_ok_and(|pe| !pe.directory(directory::CLI_HEADER).is_empty())
}

/// Whether a file is a PE file without a CLI header.
pub fn is_native(bytes: &[u8]) -> bool {
    Pe::parse(bytes).is_ok_and(|pe| pe.directory(directory::CLI_HEADER).is_empty())
}

/// An assembly or module whose structure was read and checked.
pub struct Image<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pe: Pe<'a>,
    pub(crate) cli: CliHeader,
    /// Where the metadata lies in the file.
    pub(crate) metadata_offset: usize,
    pub(crate) metadata: Metadata<'a>,
    pub(crate) native: Native,
    /// The structs of other assemblies, where hooks take values of them.
    pub(crate) structs: Option<Arc<Structs>>,
}

impl<'a> Image<'a> {
    /// Reads the structure of a file.
    pub fn parse(bytes: &'a [u8]) -> Result<Image<'a>> {
        let pe = Pe::parse(bytes)?;
        let cli = CliHeader::parse(&pe)?;
        let (metadata_offset, metadata) = pe.slice(cli.metadata)?;
        let metadata = Metadata::parse(metadata).map_err(|e| e.offset_by(metadata_offset))?;
        let native = native::kind(&pe, &cli, &metadata);
        metadata
            .check_lists()
            .map_err(|e| e.offset_by(metadata_offset))?;
        Ok(Image {
            bytes,
            pe,
            cli,
            metadata_offset,
            metadata,
            native,
            structs: None,
        })
    }

    /// The same, where this is known of other assemblies' structs.
    #[must_use]
    pub fn with_structs(self, structs: Option<&Arc<Structs>>) -> Image<'a> {
        Image {
            structs: structs.cloned(),
            ..self
        }
    }

    /// The simple names of the assemblies that this one refers to.
    pub fn references(&self) -> impl Iterator<Item = &'a str> {
        let rows = self.metadata.tables.iter(table::ASSEMBLY_REF);
        rows.filter_map(|row| {
            let name = row.get(column::assembly_ref::NAME);
            std::str::from_utf8(self.metadata.strings.get(name).ok()?).ok()
        })
    }

    /// The assembly's name, if this is no netmodule.
    pub fn assembly_name(&self) -> Option<&'a str> {
        let row = self.metadata.tables.row(table::ASSEMBLY, 1).ok()?;
        let name = self
            .metadata
            .strings
            .get(row.get(column::assembly::NAME))
            .ok()?;
        std::str::from_utf8(name).ok()
    }

    /// Whether the assembly's name has a public key.
    pub fn has_strong_name(&self) -> bool {
        let row = self.metadata.tables.row(table::ASSEMBLY, 1);
        row.is_ok_and(|row| row.get(column::assembly::PUBLIC_KEY) != 0)
    }

    /// The assembly's version, as four numbers with dots.
    pub fn assembly_version(&self) -> Option<String> {
        use column::assembly::*;
        let row = self.metadata.tables.row(table::ASSEMBLY, 1).ok()?;
        let [a, b, c, d] =
            [MAJOR_VERSION, MINOR_VERSION, BUILD_NUMBER, REVISION_NUMBER].map(|c| row.get(c));
        Some(format!("{a}.{b}.{c}.{d}"))
    }

    /// The version of the package that the assembly is of, as builds write it: its informational version, else its file's, else its own,
    /// which many libraries keep through all minor versions.
    pub fn package_version(&self) -> Option<String> {
        let is_version = |text: &String| {
            let first = text.split(['.', '-', '+']).next().unwrap_or_default();
            !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit()) && text.contains('.')
        };
        let names = [
            "AssemblyInformationalVersionAttribute",
            "AssemblyFileVersionAttribute",
        ];
        let text = |name: &&str| self.assembly_text("System.Reflection", name);
        let mut said = names.iter().filter_map(text);
        said.find(is_version).or_else(|| self.assembly_version())
    }

    /// The version in the assembly's `TargetFrameworkAttribute`: `9.0` of `.NETCoreApp,Version=v9.0`.
    pub fn target_framework(&self) -> Option<String> {
        let said = self.assembly_text("System.Runtime.Versioning", "TargetFrameworkAttribute")?;
        let mut parts = said.split(',').map(str::trim);
        let version = parts.find_map(|part| part.strip_prefix("Version="))?;
        Some(version.trim_start_matches(['v', 'V']).to_owned())
    }

    /// The text that an attribute on the assembly gets first.
    fn assembly_text(&self, namespace: &str, name: &str) -> Option<String> {
        use column::custom_attribute::{PARENT, TYPE, VALUE};
        let metadata = &self.metadata;
        let assembly = encode(&coded::HAS_CUSTOM_ATTRIBUTE, token(table::ASSEMBLY, 1))?;
        let mut rows = metadata
            .tables
            .with_key(table::CUSTOM_ATTRIBUTE, PARENT, assembly);
        rows.find_map(|(_, row)| {
            let ty = metadata.attribute_type(row.get(TYPE))?;
            if !metadata.is_type_named(ty, namespace.as_bytes(), name.as_bytes()) {
                return None;
            }
            // II.23.3: a prolog, then the text.
            let rest = metadata
                .blobs
                .get(row.get(VALUE))
                .ok()?
                .strip_prefix(&[1, 0])?;
            let (len, size) = compressed(rest)?;
            let text = rest[size..].get(..len as usize)?;
            std::str::from_utf8(text).ok().map(str::to_owned)
        })
    }

    /// The version of .NET that the assembly is compiled against, as far as its references tell: 0 for .NET Standard, and for .NET Framework.
    pub fn platform_version(&self) -> u32 {
        use column::assembly_ref::{MAJOR_VERSION, NAME};
        let references = self.metadata.tables.iter(table::ASSEMBLY_REF);
        let versions = references.filter_map(|row| {
            let name = self.metadata.strings.get(row.get(NAME)).ok()?;
            let is_core = [&b"System.Runtime"[..], b"System.Private.CoreLib"].contains(&name);
            is_core.then(|| row.get(MAJOR_VERSION))
        });
        // Those of .NET Standard 1 and .NET Core 1 to 3 are 4.x.
        versions.filter(|&major| major > 4).max().unwrap_or(0)
    }

    /// The file names of the assembly's other modules.
    pub fn modules(&self) -> impl Iterator<Item = &'a [u8]> {
        use column::file::{FLAGS, NAME};
        /// A file without metadata (II.23.1.6).
        const NO_METADATA: u32 = 1;
        let files = self.metadata.tables.iter(table::FILE);
        let modules = files.filter(|row| row.get(FLAGS) & NO_METADATA == 0);
        modules.filter_map(|row| self.metadata.strings.get(row.get(NAME)).ok())
    }

    /// The map of ids that an earlier weave left inside.
    pub fn symbols(&self) -> Option<&'a [u8]> {
        use column::manifest_resource::{IMPLEMENTATION, NAME, OFFSET};
        let resources = self.pe.slice(self.cli.resources).ok()?.1;
        let mut rows = self.metadata.tables.iter(table::MANIFEST_RESOURCE);
        let row = rows.find(|row| {
            let name = self.metadata.strings.get(row.get(NAME));
            name.is_ok_and(|name| name == SYMBOLS_RESOURCE.as_bytes())
                && row.get(IMPLEMENTATION) == 0
        })?;
        let (length, rest) = resources
            .get(row.get(OFFSET) as usize..)?
            .split_first_chunk()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }

    /// Whether this is a reference assembly, whose bodies are never run.
    pub fn is_reference_assembly(&self) -> bool {
        let mut found = false;
        self.metadata
            .attributes(token(table::ASSEMBLY, 1), &mut |ty| {
                found |= self.metadata.is_type_named(
                    ty,
                    b"System.Runtime.CompilerServices",
                    b"ReferenceAssemblyAttribute",
                );
            });
        found
    }

    /// The debug directory's entries; those that the file does not hold are left out.
    pub(crate) fn debug_entries(&self) -> impl Iterator<Item = DebugEntry> + '_ {
        let place = self.pe.directory(directory::DEBUG);
        let bytes = match place.is_empty() {
            true => &[][..],
            false => self.pe.slice(place).map_or(&[][..], |(_, bytes)| bytes),
        };
        bytes.chunks_exact(DebugEntry::SIZE).map(move |entry| {
            let word =
                |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
            DebugEntry {
                kind: word(12),
                size: word(16),
                rva: word(20),
                raw: word(24),
            }
        })
    }

    /// A method's body, given its address.
    #[inline]
    pub(crate) fn body(&self, rva: u32) -> Result<(usize, Body<'a>)> {
        let (offset, bytes) = self.pe.at_rva(rva)?;
        let body = Body::parse(bytes, rva).map_err(|e| e.offset_by(offset))?;
        Ok((offset, body))
    }

    /// A type's full name, by its number in the order of the scan.
    pub fn type_name(&self, ty: u32) -> Result<String> {
        self.metadata.type_name(ty)
    }

    /// Name and descriptor of a method, by the numbers of its type and in its type in the order of the scan.
    pub fn describe(&self, ty: u32, index: u32) -> Result<Described> {
        self.metadata.describe(ty, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &[u8] = include_bytes!("../../runtime/dotnet/Weave.Runtime.dll");

    fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let at: Vec<usize> = (bytes.windows(from.len()).enumerate())
            .filter(|(_, window)| *window == from)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(at.len(), 1, "it stands there once");
        bytes[at[0]..at[0] + to.len()].copy_from_slice(to);
        bytes
    }

    #[test]
    fn the_target_framework_says_the_platform() {
        let of = |bytes: &[u8]| Image::parse(bytes).unwrap().target_framework();
        assert_eq!(of(LIBRARY).as_deref(), Some("2.0"));
        let net8 = include_bytes!("../../runtime/dotnet/net8.0/Weave.Runtime.dll");
        assert_eq!(of(net8).as_deref(), Some("8.0"));
        let other = replaced(
            net8,
            b".NETCoreApp,Version=v8.0",
            b".NETCoreApp,Verzion=v8.0",
        );
        assert_eq!(of(&other), None);
    }

    #[test]
    fn the_version_is_that_of_the_package() {
        let version = |bytes: &[u8]| Image::parse(bytes).unwrap().package_version().unwrap();
        assert_eq!(version(LIBRARY), "1.0.0");
        // An attribute's text has its length in front, and the number of named arguments behind.
        let informational = b"\x01\x00\x051.0.0\x00\x00";
        let file = b"\x01\x00\x071.0.0.0\x00\x00";
        assert_eq!(
            version(&replaced(LIBRARY, informational, b"\x01\x00\x056.8.1")),
            "6.8.1"
        );
        // What is no version: the file's counts.
        let none = replaced(LIBRARY, informational, b"\x01\x00\x05dev-x");
        let none = replaced(&none, file, b"\x01\x00\x076.8.1.9");
        assert_eq!(version(&none), "6.8.1.9");
        assert_eq!(
            Image::parse(&none).unwrap().assembly_version().unwrap(),
            "1.0.0.0"
        );
        // A text that is cut off is none.
        let torn = replaced(LIBRARY, informational, b"\x01\x00\x7f6.8.1");
        assert_eq!(version(&torn), "1.0.0.0");
    }
}
