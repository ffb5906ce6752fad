//! The one form in which type names are compared, whatever format they come from.

/// Longest name that is put into its common form without an allocation.
const ON_STACK: usize = 256;

/// Most type parameters that an arity mark (`` List`1 ``) is spelled out for; a mark beyond that
/// is no arity, and must not make a short name long.
const MAX_ARITY: usize = 32;

/// A type's name in the common form: every separator is a dot, arity marks are brackets.
#[derive(Clone, Copy)]
pub struct Name<'n> {
    /// The whole name, `com.acme.Outer.Inner`.
    pub whole: &'n [u8],
    /// Its last segment, `Inner`.
    pub last: &'n [u8],
}

impl Name<'_> {
    /// Runs `f` on the common form of a name in any format's spelling.
    pub fn with<R>(raw: &str, f: impl FnOnce(Name<'_>) -> R) -> R {
        let raw = raw.as_bytes();
        let mut buffer = [0; ON_STACK];
        if raw.len() <= ON_STACK && !raw.contains(&b'`') {
            let common = &mut buffer[..raw.len()];
            for (i, slot) in common.iter_mut().enumerate() {
                *slot = common_byte(raw, i);
            }
            f(Name::of_common(common))
        } else {
            f(Name::of_common(&common_form(raw)))
        }
    }

    /// A name that is in the common form already.
    pub(super) fn of_common(whole: &[u8]) -> Name<'_> {
        let bare = memchr::memchr(b'<', whole).unwrap_or(whole.len());
        let start = memchr::memrchr(b'.', &whole[..bare]).map_or(0, |dot| dot + 1);
        Name {
            whole,
            last: &whole[start..],
        }
    }
}

/// The common form of a name or of a pattern.
pub fn common_form(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut i = 0;
    while i < raw.len() {
        if raw[i] == b'`'
            && let Some(arity) = arity(&raw[i + 1..])
        {
            i += 1 + arity.digits;
            // An instantiated type carries its arguments itself: List`1<System.Int32>.
            if raw.get(i) != Some(&b'<') {
                out.push(b'<');
                out.resize(out.len() + arity.number - 1, b',');
                out.push(b'>');
            }
            continue;
        }
        out.push(common_byte(raw, i));
        i += 1;
    }
    out
}

/// The number after a backtick.
struct Arity {
    number: usize,
    digits: usize,
}

fn arity(digits: &[u8]) -> Option<Arity> {
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&digits[..len]).ok()?.parse().ok()?;
    (1..=MAX_ARITY).contains(&number).then_some(Arity {
        number,
        digits: len,
    })
}

/// A dot for a separator, else the byte. A `$` separates nested types only between two parts of
/// a name: `$Proxy1`, `Module$` and `Orders$$Lambda` are single segments.
#[inline]
fn common_byte(raw: &[u8], i: usize) -> u8 {
    let part = |k: Option<usize>| {
        k.and_then(|k| raw.get(k))
            .is_some_and(|b| !matches!(b, b'.' | b'/' | b'+' | b'$'))
    };
    match raw[i] {
        b'/' | b'+' => b'.',
        b'$' if part(i.checked_sub(1)) && part(Some(i + 1)) => b'.',
        b => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(raw: &str) -> String {
        Name::with(raw, |n| {
            format!(
                "{} / {}",
                String::from_utf8_lossy(n.whole),
                String::from_utf8_lossy(n.last)
            )
        })
    }

    #[test]
    fn every_format_has_the_same_common_form() {
        assert_eq!(show("com/acme/Outer$Inner"), "com.acme.Outer.Inner / Inner");
        assert_eq!(show("Acme.Outer+Inner"), "Acme.Outer.Inner / Inner");
        assert_eq!(
            show("com/sun/proxy/$Proxy1"),
            "com.sun.proxy.$Proxy1 / $Proxy1"
        );
        assert_eq!(show("Orders$$Lambda$3"), "Orders$$Lambda.3 / 3");
        assert_eq!(show("scala/None$"), "scala.None$ / None$");
        assert_eq!(show("byte[]"), "byte[] / byte[]");
        assert_eq!(show(""), " / ");
    }

    #[test]
    fn arity_marks_become_brackets() {
        assert_eq!(show("S.Dictionary`2"), "S.Dictionary<,> / Dictionary<,>");
        assert_eq!(show("S.Task`1<S.Int32>"), "S.Task<S.Int32> / Task<S.Int32>");
        assert_eq!(
            show("S.Odd`4000000000"),
            "S.Odd`4000000000 / Odd`4000000000"
        );
        assert_eq!(show("S.Odd`"), "S.Odd` / Odd`");
    }

    #[test]
    fn long_names_have_the_same_form_as_short_ones() {
        let long = format!("{}/A$B", "p/".repeat(300));
        assert!(show(&long).ends_with(".A.B / B"));
    }
}
