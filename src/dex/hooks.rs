//! The methods that woven code calls.

pub(crate) mod android_trace;
pub(crate) mod made;
pub(crate) mod near;
pub(crate) mod own;
pub(crate) mod proceed;

/// Descriptor of the class that holds the hooks.
pub(crate) const HOOKS: &[u8] = b"Lweave/runtime/Hooks;";

/// Descriptor of what the exception hook is given.
pub(crate) const THROWABLE: &[u8] = b"Ljava/lang/Throwable;";
