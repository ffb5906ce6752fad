//! What `Values.hold` of the hook library takes: flags.

/// Exceptions that leave the method have no message.
pub const SILENT: i32 = 1;
/// The mask holds for values, too.
pub const EVERYWHERE: i32 = 2;
pub const NO_MESSAGES: i32 = 4;
pub const NO_THREAD_NAMES: i32 = 8;
pub const NO_COMMAND_LINE: i32 = 16;
