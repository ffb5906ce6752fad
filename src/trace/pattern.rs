//! Patterns of `--filter` and `--thread`: a part of the name, or a whole name with `*` and `?`.

/// Whether a text fits a pattern.
pub fn matches(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return text.contains(pattern);
    }
    glob(pattern.as_bytes(), text.as_bytes())
}

/// Goes back only to the last star, so the time is at most the product of the lengths.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_globs() {
        for (pattern, text, fits) in [
            ("Orders", "com.acme.Orders.place", true),
            ("orders", "com.acme.Orders.place", false),
            ("com.acme.*", "com.acme.Orders.place", true),
            ("Orders*", "com.acme.Orders.place", false),
            ("*.pl?ce", "com.acme.Orders.place", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("", "x", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} on {text}");
        }
    }
}
