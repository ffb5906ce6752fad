//! Native executables: .NET's launchers, which weaving leaves as they are, and single-file applications, whose packed
//! assemblies it does not weave. Assemblies as Webcil, which a finished Blazor WebAssembly publish has. Users get a warning about both.

use crate::cil;
use crate::error::{Error, Kind};

/// Stands in .NET's launchers, behind eight bytes that say where in the file the header of what is packed inside
/// lies, or zero: SHA-256 of ".net core bundle" (`bundle_marker.cpp` of the .NET host).
const MARKER: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// The beginning of an assembly as Webcil, by itself or in a data segment of a WebAssembly module, up to its minor version.
const WEBCIL: &[u8] = b"WbIL";

/// What a native executable is to .NET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Native {
    /// A single-file application.
    Bundle,
    /// Starts the assembly beside it.
    Launcher,
    /// An assembly as Webcil, or a WebAssembly module around it.
    Webcil,
    /// Anything else.
    Code,
}

impl Native {
    /// Whether a file that begins so is native code: ELF, Mach-O, or PE, which may be an assembly, too; or WebAssembly or Webcil.
    pub(crate) fn may_be(head: &[u8]) -> bool {
        let is_code = matches!(
            head,
            [0x7f, b'E', b'L', b'F', ..] | [b'M', b'Z', ..] | [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..]
        );
        is_code || Native::may_be_webcil(head)
    }

    /// Whether a file that begins so is WebAssembly or Webcil.
    pub(crate) fn may_be_webcil(head: &[u8]) -> bool {
        head.starts_with(b"\0asm") || head.starts_with(WEBCIL)
    }

    /// What a file is that is no assembly.
    pub(crate) fn of(bytes: &[u8]) -> Option<Native> {
        if !Native::may_be(bytes) {
            return None;
        }
        if Native::may_be_webcil(bytes) {
            let is_webcil = memchr::memmem::find(bytes, WEBCIL).is_some();
            return Some(if is_webcil {
                Native::Webcil
            } else {
                Native::Code
            });
        }
        let marker = memchr::memmem::find(bytes, &MARKER);
        let header = marker.and_then(|at| bytes.get(at.checked_sub(8)?..at));
        Some(match header {
            None => Native::Code,
            Some([0, 0, 0, 0, 0, 0, 0, 0]) => Native::Launcher,
            Some(_) => Native::Bundle,
        })
    }

    /// Why there is nothing to weave, and what to do.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Native::Bundle => {
                "a single-file application, with its assemblies packed inside: weave the folder of one that is published without PublishSingleFile, or the assemblies before they are packed"
            }
            Native::Launcher => {
                "native code that starts a .NET application: the program is the assembly (.dll) beside it, or the folder as a whole"
            }
            Native::Webcil => {
                "an assembly as Webcil, which a browser runs: weave while the program is built (Weave.MSBuild), or publish with WasmEnableWebcil=false and weave the assemblies before they are compressed"
            }
            Native::Code => {
                "native code, which has no bytecode to weave: weave what it was compiled of"
            }
        }
    }
}

/// Why a file of no known format is refused.
const NOT_WOVEN: &str = "neither a class file, nor a .NET assembly, nor a dex file, nor a jar or other zip file, nor a folder";

/// Why a file that was asked for by name cannot be woven or verified.
pub(crate) fn not_woven(bytes: &[u8]) -> Error {
    let native = Native::of(bytes);
    match cil::Image::parse(bytes) {
        // Neither: it is no .NET file, or a torn one.
        Err(e)
            if native == Some(Native::Code)
                && bytes.starts_with(b"MZ")
                && !cil::is_native(bytes) =>
        {
            e
        }
        _ => Error::new(Kind::Malformed, native.map_or(NOT_WOVEN, Native::why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_whether_something_is_packed_inside() {
        let elf = |offset: u64| {
            [
                b"\x7fELF rest",
                &offset.to_le_bytes()[..],
                &MARKER,
                b"the end",
            ]
            .concat()
        };
        assert_eq!(Native::of(&elf(0)), Some(Native::Launcher));
        assert_eq!(Native::of(&elf(70_000)), Some(Native::Bundle));
        assert_eq!(Native::of(b"\x7fELF"), Some(Native::Code));
        assert_eq!(
            Native::of(&[&b"MZ"[..], &MARKER].concat()),
            Some(Native::Code)
        );
        assert_eq!(Native::of(&elf(70_000)[1..]), None);
        assert_eq!(Native::of(b""), None);
    }

    #[test]
    fn webcil_is_known_with_and_without_a_module_around() {
        assert_eq!(Native::of(b"WbIL\0\0\0\0"), Some(Native::Webcil));
        assert_eq!(
            Native::of(b"\0asm\x01\0\0\0\x0b WbIL\0\0"),
            Some(Native::Webcil)
        );
        assert_eq!(Native::of(b"\0asm\x01\0\0\0"), Some(Native::Code));
        assert_eq!(Native::of(b"a WbIL"), None);
    }
}
