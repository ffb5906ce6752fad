//! Native executables: .NET's launchers, which weaving leaves as they are, and single-file applications, whose packed
//! assemblies it does not weave. Users get a warning about those.

use crate::cil;
use crate::error::{Error, Kind};

/// Stands in .NET's launchers, behind eight bytes that say where in the file the header of what is packed inside
/// lies, or zero: SHA-256 of ".net core bundle" (`bundle_marker.cpp` of the .NET host).
const MARKER: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
    0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// What a native executable is to .NET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Native {
    /// A single-file application.
    Bundle,
    /// Starts the assembly beside it.
    Launcher,
    /// Anything else.
    Code,
}

impl Native {
    /// Whether a file that begins so is native code: ELF, Mach-O, or PE, which may be an assembly, too.
    pub(crate) fn may_be(head: &[u8]) -> bool {
        matches!(
            head,
            [0x7f, b'E', b'L', b'F', ..] | [b'M', b'Z', ..] | [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..]
        )
    }

    /// What a file is that is no assembly.
    pub(crate) fn of(bytes: &[u8]) -> Option<Native> {
        if !Native::may_be(bytes) {
            return None;
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
}
