//! Parameter types as people write them, from the descriptor of any format.

/// The parameter types of a descriptor by their simple names: `(int, String[])`.
///
/// JVM and dex write `(I[Ljava/lang/String;)V` (JVMS 4.3.3); .NET has no form of its own for a file to
/// hold, and descriptors spell types out: `(System.Int32, List<System.String>)System.Void`.
pub(super) fn simple(descriptor: &str) -> String {
    let (inner, returns) = descriptor
        .strip_prefix('(')
        .and_then(|d| d.rsplit_once(')'))
        .unwrap_or_default();
    let mut out = String::with_capacity(descriptor.len());
    out.push('(');
    // A type parameter of .NET may be named as the JVM names a type: `(S)System.Void`.
    if !(is_jvms(returns) && put_jvm(&mut out, inner)) {
        out.truncate(1);
        put_spelled(&mut out, inner);
    }
    out.push(')');
    out
}

/// Whether a descriptor is of the JVM or of dex, so far as what it returns tells; `None` if it is not known.
pub(super) fn of_jvm(descriptor: &str) -> Option<bool> {
    let (_, returns) = descriptor.rsplit_once(')')?;
    Some(is_jvms(returns))
}

fn is_jvms(returns: &str) -> bool {
    returns == "V" || put_jvm_type(&mut String::new(), returns) == Some("")
}

/// Appends the types of a JVM descriptor. `false`: it is no JVM descriptor.
fn put_jvm(out: &mut String, mut rest: &str) -> bool {
    while !rest.is_empty() {
        if out.len() > 1 {
            out.push_str(", ");
        }
        match put_jvm_type(out, rest) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// Appends the simple name of the first type (JVMS 4.3.2) and returns what follows it.
fn put_jvm_type<'a>(out: &mut String, descriptor: &'a str) -> Option<&'a str> {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let mut chars = element.chars();
    let name = match chars.next()? {
        'L' => {
            let (name, rest) = chars.as_str().split_once(';')?;
            chars = rest.chars();
            name.rsplit('/').next().unwrap_or(name)
        }
        'B' => "byte",
        'C' => "char",
        'D' => "double",
        'F' => "float",
        'I' => "int",
        'J' => "long",
        'S' => "short",
        'Z' => "boolean",
        _ => return None,
    };
    out.push_str(name);
    for _ in 0..dimensions {
        out.push_str("[]");
    }
    Some(chars.as_str())
}

/// Appends spelled-out types without their namespaces.
fn put_spelled(out: &mut String, types: &str) {
    let mut segment = out.len();
    for c in types.chars() {
        match c {
            '.' => out.truncate(segment),
            c => {
                out.push(c);
                if !(c.is_alphanumeric() || matches!(c, '_' | '`' | '+' | '$')) {
                    segment = out.len();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_of_all_formats() {
        assert_eq!(simple("()V"), "()");
        assert_eq!(
            simple("(I[[JLjava/util/Map$Entry;)V"),
            "(int, long[][], Map$Entry)"
        );
        assert_eq!(simple("()System.Void"), "()");
        assert_eq!(
            simple("(System.Int32, System.Collections.Generic.List<Acme.Order[]>&)System.Void"),
            "(Int32, List<Order[]>&)"
        );
        assert_eq!(simple("(T, Acme.Outer+Inner*)T"), "(T, Outer+Inner*)");
        assert_eq!(simple("(S)System.Void"), "(S)");
        assert_eq!(simple("(Ljava/lang"), "()");
    }
}
