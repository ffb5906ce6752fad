//! An assembly or module: the CLI header (ECMA-335 II.25.3.3) and its metadata, in place.

use crate::aspect::advice::Reason;
use crate::bytes::{Cursor, prefetch};
use crate::cil::body::Body;
use crate::cil::foundation;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{decode, token, token_row, token_table};
use crate::cil::metadata::{Metadata, signature};
use crate::cil::pe::{Directory, Pe, directory};
use crate::cil::readytorun::{self, Native};
use crate::cil::types::Types;
use crate::cil::write::SYMBOLS_RESOURCE;
use crate::error::{Error, Kind, Result};
use std::ops::Range;
use std::sync::OnceLock;

/// Name of the hook library, which is also its namespace.
pub const RUNTIME: &str = "Weave.Runtime";

/// Flags of the CLI header (II.25.3.3.1).
pub mod cli_flag {
    #![allow(missing_docs)]
    pub const IL_ONLY: u32 = 1;
    /// The file was made ready to run, or was NGEN's input.
    pub const IL_LIBRARY: u32 = 4;
    pub const STRONG_NAME_SIGNED: u32 = 8;
    pub const NATIVE_ENTRY_POINT: u32 = 0x10;
}

/// Flags of methods (II.23.1.10).
pub mod method_flag {
    #![allow(missing_docs)]
    pub const ACCESS: u32 = 7;
    pub const STATIC: u32 = 0x10;
    pub const ABSTRACT: u32 = 0x400;
    pub const PINVOKE_IMPL: u32 = 0x2000;
}

/// How methods are implemented (II.23.1.11).
pub mod impl_flag {
    #![allow(missing_docs)]
    pub const CODE_TYPE: u32 = 3;
    pub const IL: u32 = 0;
    pub const NATIVE: u32 = 1;
    /// The runtime suspends the method: there is no state machine, and the stack holds the result
    /// itself (.NET 11).
    pub const ASYNC: u32 = 0x2000;
}

/// The CLI header.
#[derive(Clone, Copy, Debug)]
pub struct CliHeader {
    /// Bits of [`cli_flag`].
    pub flags: u32,
    /// A token, or the address of native code.
    pub entry_point: u32,
    /// The metadata.
    pub metadata: Directory,
    /// The managed resources.
    pub resources: Directory,
    /// The strong name's signature.
    pub strong_name: Directory,
    /// Tables of methods that native code calls.
    pub vtable_fixups: Directory,
    /// The header of native code made ahead of time.
    pub native: Directory,
}

impl CliHeader {
    /// Offset of the metadata's directory in the header; the others follow as the format says.
    pub const METADATA: usize = 8;
    #[allow(missing_docs)]
    pub const FLAGS: usize = 16;
    #[allow(missing_docs)]
    pub const RESOURCES: usize = 24;
    #[allow(missing_docs)]
    pub const STRONG_NAME: usize = 32;
    #[allow(missing_docs)]
    pub const NATIVE: usize = 64;

    fn parse(pe: &Pe<'_>) -> Result<CliHeader> {
        let place = pe.directory(directory::CLI_HEADER);
        if place.is_empty() {
            return Err(Error::new(
                Kind::Malformed,
                "no CLI header: not a .NET file",
            ));
        }
        let (offset, rest) = pe.from_rva(place.rva)?;
        let in_file = |e: Error| e.offset_by(offset);
        let mut cursor = Cursor::new(rest);
        cursor.take(8).map_err(in_file)?;
        let mut word = || cursor.le_u32().map_err(in_file);
        let mut both = || {
            Ok(Directory {
                rva: word()?,
                size: word()?,
            })
        };
        let metadata = both()?;
        let Directory {
            rva: flags,
            size: entry_point,
        } = both()?;
        let resources = both()?;
        let strong_name = both()?;
        let _code_manager = both()?;
        let vtable_fixups = both()?;
        let _export_jumps = both()?;
        let native = both()?;
        Ok(CliHeader {
            flags,
            entry_point,
            metadata,
            resources,
            strong_name,
            vtable_fixups,
            native,
        })
    }
}

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
    /// Read when first asked for.
    types: OnceLock<Types>,
}

impl<'a> Image<'a> {
    /// Reads the structure of a file.
    pub fn parse(bytes: &'a [u8]) -> Result<Image<'a>> {
        let pe = Pe::parse(bytes)?;
        let cli = CliHeader::parse(&pe)?;
        let (metadata_offset, metadata) = pe.slice(cli.metadata)?;
        let metadata = Metadata::parse(metadata).map_err(|e| e.offset_by(metadata_offset))?;
        let native = readytorun::kind(&pe, &cli, &metadata);
        let image = Image {
            bytes,
            pe,
            cli,
            metadata_offset,
            metadata,
            native,
            types: OnceLock::new(),
        };
        image.check_lists()?;
        Ok(image)
    }

    /// The method lists of types must ascend, so that each method is of one type.
    fn check_lists(&self) -> Result<()> {
        let mut last = 1;
        let end = self.method_list_end();
        for row in self.metadata.tables.iter(table::TYPE_DEF) {
            let first = row.get(column::type_def::METHOD_LIST);
            if first < last || first > end {
                let what = format!(
                    "a type's methods begin at {first}, behind {last} and up to {end} wanted"
                );
                return Err(Error::malformed(self.metadata_offset, what));
            }
            last = first;
        }
        Ok(())
    }

    /// One more than the highest position in the method list.
    fn method_list_end(&self) -> u32 {
        let tables = &self.metadata.tables;
        match tables.rows(table::METHOD_PTR) {
            0 => tables.rows(table::METHOD_DEF) + 1,
            pointers => pointers + 1,
        }
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

    /// The assembly's version, as four numbers with dots.
    pub fn assembly_version(&self) -> Option<String> {
        use column::assembly::*;
        let row = self.metadata.tables.row(table::ASSEMBLY, 1).ok()?;
        let [a, b, c, d] =
            [MAJOR_VERSION, MINOR_VERSION, BUILD_NUMBER, REVISION_NUMBER].map(|c| row.get(c));
        Some(format!("{a}.{b}.{c}.{d}"))
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

    /// Whether the program starts here: whether there is an entry point.
    pub fn has_entry_point(&self) -> bool {
        self.cli.entry_point != 0
    }

    /// Why nothing of the file can be woven, if that is so.
    pub fn refusal(&self) -> Option<Reason> {
        if foundation::is_foundation(self) {
            return Some(Reason::CoreLibrary);
        }
        match self.native {
            Native::Mixed => return Some(Reason::MixedMode),
            Native::Composite => return Some(Reason::CompositeImage),
            Native::None | Native::ReadyToRun => {}
        }
        let tables = &self.metadata.tables;
        let is_hooks = |name: u32| self.metadata.strings.is(name, RUNTIME.as_bytes());
        if self.assembly_name() == Some(RUNTIME) {
            return Some(Reason::Runtime);
        }
        if tables
            .iter(table::ASSEMBLY_REF)
            .any(|row| is_hooks(row.get(column::assembly_ref::NAME)))
        {
            return Some(Reason::AlreadyWoven);
        }
        None
    }

    /// Whether this is a reference assembly, whose bodies are never run.
    pub fn is_reference_assembly(&self) -> bool {
        let mut found = false;
        self.attributes(token(table::ASSEMBLY, 1), &mut |ty| {
            found |= self.is_type_named(
                ty,
                b"System.Runtime.CompilerServices",
                b"ReferenceAssemblyAttribute",
            );
        });
        found
    }

    /// Whether a `TypeDef` or `TypeRef` has this namespace and name.
    pub(crate) fn is_type_named(&self, ty: u32, namespace: &[u8], name: &[u8]) -> bool {
        let tables = &self.metadata.tables;
        let Ok(row) = tables.row(token_table(ty), token_row(ty)) else {
            return false;
        };
        let (n, ns) = match token_table(ty) {
            table::TYPE_REF => (column::type_ref::NAME, column::type_ref::NAMESPACE),
            table::TYPE_DEF => (column::type_def::NAME, column::type_def::NAMESPACE),
            _ => return false,
        };
        let is = |index, text: &[u8]| self.metadata.strings.is(index, text);
        is(row.get(n), name) && is(row.get(ns), namespace)
    }

    /// The types of the custom attributes on something; what is malformed is passed over.
    pub(crate) fn attributes(&self, parent: u32, each: &mut dyn FnMut(u32)) {
        use column::custom_attribute::{PARENT, TYPE};
        let tables = &self.metadata.tables;
        let Some(key) = crate::cil::metadata::tables::encode(&coded::HAS_CUSTOM_ATTRIBUTE, parent)
        else {
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
                let row = self.metadata.tables.row(table::MEMBER_REF, row).ok()?;
                let parent = row.get(column::member_ref::CLASS);
                decode(&coded::MEMBER_REF_PARENT, parent).ok()
            }
            _ => None,
        }
    }

    /// The type that a method is of.
    pub(crate) fn owner_of_method(&self, method: u32) -> Option<u32> {
        let tables = &self.metadata.tables;
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

    /// What types enclose which, and their names.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| Types::read(self))
    }

    /// The positions of a type's methods in the method list.
    pub(crate) fn method_positions(&self, ty: u32) -> Result<Range<u32>> {
        let tables = &self.metadata.tables;
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
        let tables = &self.metadata.tables;
        match tables.rows(table::METHOD_PTR) {
            0 => Ok(position),
            _ => Ok(tables
                .row(table::METHOD_PTR, position)?
                .get(column::method_ptr::METHOD)),
        }
    }

    /// Asks for what a row a few methods behind this one refers to: names and signatures lie anywhere, and whoever goes
    /// through all methods would wait for each.
    #[inline]
    pub(crate) fn prefetch_behind(&self, method: u32) {
        use column::method_def::{NAME, RVA, SIGNATURE};
        /// So many that memory has answered by then.
        const AHEAD: u32 = 6;
        let metadata = &self.metadata;
        let behind = method.saturating_add(AHEAD);
        if behind > metadata.tables.rows(table::METHOD_DEF) {
            return;
        }
        let Ok(row) = metadata.tables.row(table::METHOD_DEF, behind) else {
            return;
        };
        prefetch(metadata.strings.data(), row.get(NAME) as usize);
        prefetch(metadata.blobs.data(), row.get(SIGNATURE) as usize);
        if let Some((body, _)) = self.pe.locate(row.get(RVA)) {
            prefetch(self.bytes, body);
        }
    }

    /// The type that encloses a nested type.
    pub(crate) fn enclosing(&self, ty: u32) -> Option<u32> {
        use column::nested_class::{ENCLOSING, NESTED};
        let mut rows = self
            .metadata
            .tables
            .with_key(table::NESTED_CLASS, NESTED, ty);
        rows.next().map(|(_, row)| row.get(ENCLOSING))
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
        let (offset, bytes) = self.pe.from_rva(rva)?;
        let body = Body::parse(bytes, rva).map_err(|e| e.offset_by(offset))?;
        Ok((offset, body))
    }

    /// A type's full name, by its number in the order of the scan.
    pub fn type_name(&self, ty: u32) -> Result<String> {
        let mut name = String::new();
        self.types().put_name(self, ty + 1, &mut name)?;
        Ok(name)
    }

    /// Name and descriptor of a method, by the numbers of its type and in its type in the order of the scan.
    pub fn describe(&self, ty: u32, index: u32) -> Result<(String, String)> {
        use column::method_def::{NAME, SIGNATURE};
        let method = self.method_at(self.method_positions(ty + 1)?.start + index)?;
        let row = self.metadata.tables.row(table::METHOD_DEF, method)?;
        let name = self.metadata.strings.text(row.get(NAME))?.into_owned();
        let mut descriptor = String::new();
        signature::put_descriptor(self, row.get(SIGNATURE), &mut descriptor);
        Ok((name, descriptor))
    }

    /// Name and signature of a method, for messages.
    pub(crate) fn method_label(&self, method: u32) -> String {
        let mut label = String::new();
        if let Ok(row) = self.metadata.tables.row(table::METHOD_DEF, method) {
            match self
                .metadata
                .strings
                .text(row.get(column::method_def::NAME))
            {
                Ok(name) => label.push_str(&name),
                Err(_) => label.push('?'),
            }
            signature::put_descriptor(self, row.get(column::method_def::SIGNATURE), &mut label);
        }
        label
    }
}
