//! Whether code walks the stack.

use crate::jvm::pool::{MemberRef, Pool, tag};

/// Whether a class calls what shows it its callers: a method of `StackWalker`, its thread's stack trace, or that of a `Throwable` which it
/// makes for that. The trace of an exception that was thrown says nothing of who calls.
pub fn is_walked(pool: &Pool<'_>) -> bool {
    let (mut makes, mut reads) = (false, false);
    let methods = (1..pool.count()).filter(|&index| pool.tag(index) == Some(tag::METHODREF));
    for index in methods {
        let Ok(MemberRef { owner, name, .. }) = pool.member(index) else {
            continue;
        };
        let is_of = |class: &[u8]| pool.class_name(owner).is_ok_and(|own| own == class);
        match name {
            b"walk" | b"forEach" | b"getCallerClass" if is_of(b"java/lang/StackWalker") => {
                return true;
            }
            b"getCallerClass"
                if is_of(b"sun/reflect/Reflection")
                    || is_of(b"jdk/internal/reflect/Reflection") =>
            {
                return true;
            }
            b"getClassContext" => return true,
            b"getStackTrace" if is_of(b"java/lang/Thread") => return true,
            b"getStackTrace" => reads = true,
            b"<init>" if is_of(b"java/lang/Throwable") => makes = true,
            _ => {}
        }
    }
    makes && reads
}
