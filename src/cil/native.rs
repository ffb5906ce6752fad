//! Native code in an image: ReadyToRun, whose code is dropped so that the IL runs, and mixed mode,
//! which is left alone.

use crate::cil::cli_header::{CliHeader, cli_flag};
use crate::cil::metadata::Metadata;
use crate::cil::metadata::flags::impl_flag;
use crate::cil::metadata::schema::{column, table};
use crate::cil::pe::Pe;

/// First bytes of a ReadyToRun header: `RTR\0`.
const SIGNATURE: &[u8] = b"RTR\0";

/// What native code an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// None, or only the stub that starts the runtime.
    None,
    /// Native code made from the IL ahead of time, or a stub that names the composite image which
    /// has it. Without it the IL is compiled when it runs.
    ReadyToRun,
    /// The native code of several assemblies, without their IL.
    Composite,
    /// Native code that the program needs (C++/CLI).
    Mixed,
}

/// Machine numbers of ReadyToRun images are those of the processor, with the operating system's
/// mask laid over: Apple, FreeBSD, Linux, NetBSD, SunOS (`IMAGE_FILE_MACHINE_OS_MASK_*` of CoreCLR).
const OS_MASKS: [u16; 5] = [0x4644, 0xadc4, 0x7b79, 0x1993, 0x1992];

/// The processors: i386, ARM Thumb-2, AMD64, ARM64, LoongArch64, RISC-V 64.
const PROCESSORS: [u16; 6] = [0x014c, 0x01c4, 0x8664, 0xaa64, 0x6264, 0x5064];

/// Which native code an image holds.
pub(super) fn kind(pe: &Pe<'_>, cli: &CliHeader, metadata: &Metadata<'_>) -> Native {
    let is_ready = !cli.native.is_empty()
        && pe
            .at_rva(cli.native.rva)
            .is_ok_and(|(_, bytes)| bytes.starts_with(SIGNATURE));
    if is_ready {
        // A composite image has a manifest of references, but no types of its own and no code in IL.
        return match metadata.tables.rows(table::TYPE_DEF) {
            0 => Native::Composite,
            _ => Native::ReadyToRun,
        };
    }
    if cli.flags & cli_flag::IL_ONLY != 0 {
        return Native::None;
    }
    let has_native_method = || {
        metadata.tables.iter(table::METHOD_DEF).any(|row| {
            row.get(column::method_def::RVA) != 0
                && row.get(column::method_def::IMPL_FLAGS) & impl_flag::CODE_TYPE
                    == impl_flag::NATIVE
        })
    };
    if !cli.native.is_empty()
        || cli.flags & cli_flag::NATIVE_ENTRY_POINT != 0
        || has_native_method()
    {
        Native::Mixed
    } else {
        Native::None
    }
}

/// The processor's own machine number.
pub(super) fn plain_machine(machine: u16) -> u16 {
    if PROCESSORS.contains(&machine) {
        return machine;
    }
    OS_MASKS
        .iter()
        .map(|mask| machine ^ mask)
        .find(|plain| PROCESSORS.contains(plain))
        .unwrap_or(machine)
}
