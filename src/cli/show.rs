//! How outcomes are printed.

use crate::aspect::advice::Reason;
use crate::aspect::pointcut::Idle;
use crate::dotnet_names;
use crate::pipeline::Left;
use crate::printable::printable;
use crate::symbols::Symbol;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// `1234567` as `1,234,567`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 class`, `2 classes`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(n), if n == 1 { one } else { many })
}

/// `2 code too large, 54 already woven`, most first.
pub fn reasons(left: &BTreeMap<Reason, u64>) -> String {
    let mut all: Vec<_> = left.iter().collect();
    all.sort_by_key(|(reason, n)| (std::cmp::Reverse(**n), **reason));
    let words = |(reason, n): &(&Reason, &u64)| {
        format!("{} {}", thousands(**n), reason.code().replace('-', " "))
    };
    all.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// A method by its name and the simple names of its parameters.
pub fn method(type_name: &str, name_and_descriptor: &str) -> (String, String) {
    let (name, descriptor) = match name_and_descriptor.find('(') {
        Some(at) => name_and_descriptor.split_at(at),
        None => (name_and_descriptor, ""),
    };
    let symbol = Symbol {
        artifact: "".into(),
        type_name: type_name.into(),
        method: name.into(),
        descriptor: descriptor.into(),
        file: "".into(),
        line: 0,
        root: false,
    };
    let shown = dotnet_names::shown(type_name, name);
    let shown = shown.map_or_else(|| name.to_owned(), |shown| shown.numbered());
    let short = format!("{shown}{}", symbol.parameters());
    let long = format!("{}{}", symbol.name(), symbol.parameters());
    (printable(&long), printable(&short))
}

/// What was asked for and is left as it was.
pub fn left(left: &Left) -> String {
    let (name, _) = method(&left.type_name, &left.method);
    let (artifact, reason) = (&left.artifact, left.reason);
    match reason.is_of_part() {
        true => format!("{artifact}: in {name} {reason}"),
        false => format!("{artifact}: {name} is left unwoven: {reason}"),
    }
}

/// Why an aspect put a hook nowhere.
pub fn idle(idle: &Idle) -> String {
    let mut text = format!("aspect `{}` ", idle.aspect);
    if idle.reasons.is_empty() {
        text.push_str(match (idle.calls, idle.points) {
            (true, _) => "matched no call",
            (_, true) => "matched no point",
            _ => "matched no method",
        });
    } else {
        text.push_str(match (idle.calls, idle.points) {
            (true, _) => "matched only calls that are left unchanged: ",
            (_, true) => "matched only points that are left unchanged: ",
            _ => "matched only methods that are left out: ",
        });
        for (i, reason) in idle.reasons.iter().enumerate() {
            let _ = write!(text, "{}{reason}", if i > 0 { "; " } else { "" });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(count(1, "class", "classes"), "1 class");
        let (long, short) = method("a/B$C", "run([ILjava/lang/String;)V");
        assert_eq!(long, "a.B$C.run(int[], String)");
        assert_eq!(short, "run(int[], String)");
        let left = BTreeMap::from([(Reason::CodeTooLarge, 2), (Reason::AlreadyWoven, 1054)]);
        assert_eq!(reasons(&left), "1,054 already woven, 2 code too large");
    }
}
