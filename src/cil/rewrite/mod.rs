//! One method body written anew around a [`Recipe`]: what goes in front, before returns and calls, and
//! into handlers around it all.
//!
//! ```text
//!     enter                                  in front of the protected part
//!     .try { .try {
//!         ...                                the method's own code
//!         [stloc r]; leave END               instead of each ret
//!     } filter {
//!         isinst System.Exception; stloc e; ldc.i4.0; endfilter
//!     } { throw } } fault {
//!         ldloc e; error; endfault
//!     }
//! END: exit; [ldloc r]; ret
//! ```
//!
//! Hooks of one's own come outside of these: in front of `enter`, behind `exit` and behind `error`. What records values comes
//! in front of all three. With an exit hook among them, code without handlers has one way out, too.
//!
//! A filter that always declines and a fault block, rather than a catch that rethrows: the exception passes as in
//! unwoven code. Its stack trace is complete (on Mono, `rethrow` loses the frames below), filters further up run before
//! anything is unwound, an unhandled exception ends the process where it was thrown, and it costs a tenth of catching
//! and rethrowing.
//!
//! Without handlers, `exit` goes in front of each `ret`. Code that cannot throw gets none: before
//! .NET 10 no JIT inlines a method that has one. Hooks swallow their own failures, so the exit hook
//! may lie outside the range. Our clauses are the outermost, so they are the last ones (II.25.4.6).

mod body;
mod emit;
mod frame;
mod recipe;
mod walk;

pub use body::zeroes_locals;
pub use frame::{Frame, Hooks};
pub use recipe::{Exit, Own, Points, Recipe, Rewritten, Signatures, Snippet};
pub use walk::Scratch;
