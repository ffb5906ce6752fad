//! Names that compilers of .NET make up, as debuggers show them.
//!
//! ```text
//! Acme.Shop+<>c__DisplayClass0_0  <Place>b__1          Acme.Shop  Place.AnonymousMethod
//! Program                         <<Main>$>g__Add|0_0  Program    Main.Add
//! Acme.Shop+_Closure$__           _Lambda$__1-0        Acme.Shop  AnonymousMethod
//! Acme.Shop+place@12-1            Invoke               Acme.Shop  place.AnonymousMethod
//! <Shop>F0A..__Cart               Add                  Cart       Add
//! ```
//!
//! Roslyn's are those of its `GeneratedNames`, VB's of its `StringConstants`, F#'s `name@line`. No author can write one:
//! `<`, `>` and `@` are in no identifier, and VB's begin as no name of a program does.

use std::borrow::Cow;

/// What a lambda is called.
pub const ANONYMOUS: &str = "AnonymousMethod";

/// A type and a method as debuggers show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'n> {
    /// The type that the author wrote, in the format's spelling.
    pub type_name: Cow<'n, str>,
    /// The method, behind the one that it was written in.
    pub method: String,
    /// What tells one lambda of a type from another: `0_1`.
    pub ordinal: Option<&'n str>,
    /// The line that an F# name says, or 0.
    pub line: u32,
}

impl Shown<'_> {
    /// Whether this is a lambda, which has no name of its own.
    pub fn is_anonymous(&self) -> bool {
        self.method == ANONYMOUS || self.method.ends_with(".AnonymousMethod")
    }

    /// The method, told from other lambdas, as the debugger writes it: `Main.AnonymousMethod__0_1`.
    pub fn numbered(&self) -> String {
        match self.ordinal {
            Some(ordinal) => format!("{}__{ordinal}", self.method),
            None => self.method.clone(),
        }
    }

    /// The method without the one that it was written in.
    pub fn own_name(&self) -> &str {
        // What a method of an interface is written for has dots, too, but is no shown name.
        self.method.rsplit('.').next().unwrap_or(&self.method)
    }
}

/// How debuggers show a method; `None` where a compiler made up neither name.
pub fn shown<'n>(type_name: &'n str, method: &'n str) -> Option<Shown<'n>> {
    let written = written_type(type_name);
    if let Some(made) = written.as_ref().and_then(|w| w.closure) {
        let method = match method {
            "Invoke" if made.name == "clo" => ANONYMOUS.to_owned(),
            "Invoke" => format!("{}.{ANONYMOUS}", made.name),
            other => format!("{}.{other}", made.name),
        };
        return Some(Shown {
            type_name: written.expect("it is one").name,
            method,
            ordinal: Some(made.ordinal).filter(|o| !o.is_empty()),
            line: made.line,
        });
    }
    let made = made_method(method);
    if written.is_none() && made.is_none() {
        return None;
    }
    let made = made.unwrap_or_else(|| MadeMethod::named(method.to_owned()));
    Some(Shown {
        type_name: written.map_or(Cow::Borrowed(type_name), |w| w.name),
        method: made.name,
        ordinal: made.ordinal,
        line: made.line,
    })
}

/// The type that the author wrote, if a compiler made up this one's name.
pub fn shown_type(type_name: &str) -> Option<Cow<'_, str>> {
    written_type(type_name).map(|written| written.name)
}

struct Written<'n> {
    name: Cow<'n, str>,
    /// The F# closure that the type is.
    closure: Option<AtLine<'n>>,
}

fn written_type(type_name: &str) -> Option<Written<'_>> {
    let mut outer = type_name;
    let mut closure = None;
    while let Some((before, last)) = outer.rsplit_once('+') {
        if !is_closure(last) {
            let Some(found) = at_line(without_arity(last)) else {
                break;
            };
            // Of closures in closures the outermost has the name that the author knows.
            closure = Some(found);
        }
        outer = before;
    }
    let name = match without_file(outer) {
        Some(name) => Cow::Owned(name),
        None if outer.len() < type_name.len() => Cow::Borrowed(outer),
        None => return None,
    };
    Some(Written { name, closure })
}

/// Whether a nested type holds what lambdas capture, or nothing but lambdas.
fn is_closure(name: &str) -> bool {
    let rest = name
        .strip_prefix("<>c")
        .or_else(|| name.strip_prefix("_Closure$"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '`']))
}

fn without_arity(name: &str) -> &str {
    match name.rsplit_once('`') {
        Some((name, arity)) if is_number(arity) => name,
        _ => name,
    }
}

/// What F# calls `name@line` and `name@line-1`.
#[derive(Clone, Copy)]
struct AtLine<'n> {
    name: &'n str,
    line: u32,
    /// `12-1`.
    ordinal: &'n str,
}

fn at_line(name: &str) -> Option<AtLine<'_>> {
    let (name, ordinal) = name.rsplit_once('@')?;
    let (line, rest) = ordinal.split_once('-').unwrap_or((ordinal, "0"));
    if name.is_empty() || !is_number(line) || !is_number(rest) {
        return None;
    }
    Some(AtLine {
        name,
        line: line.parse().ok()?,
        ordinal,
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A type whose parts without the file's mark, which `file class` gets; `None` if no part has one.
fn without_file(type_name: &str) -> Option<String> {
    /// Hex digits of the hash of the file's path.
    const HASH: usize = 64;
    if !type_name.contains(">F") {
        return None;
    }
    let mut out = String::with_capacity(type_name.len());
    let mut found = false;
    for part in type_name.split_inclusive(['.', '+', '/']) {
        let marked = part.strip_prefix('<').and_then(|p| p.split_once(">F"));
        let name = marked.and_then(|(_, rest)| {
            let (hash, name) = rest.split_at_checked(HASH)?;
            hash.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
            name.strip_prefix("__")
        });
        found |= name.is_some();
        out.push_str(name.unwrap_or(part));
    }
    found.then_some(out)
}

/// What is shown of a made-up method.
struct MadeMethod<'a> {
    name: String,
    /// What numbers it.
    ordinal: Option<&'a str>,
    line: u32,
}

impl MadeMethod<'_> {
    fn named(name: String) -> MadeMethod<'static> {
        MadeMethod {
            name,
            ordinal: None,
            line: 0,
        }
    }
}

fn made_method(method: &str) -> Option<MadeMethod<'_>> {
    if method == "<Main>$" {
        return Some(MadeMethod::named("Main".to_owned()));
    }
    if let Some(rest) = method.strip_prefix("_Lambda$__") {
        return Some(MadeMethod {
            ordinal: Some(rest),
            ..MadeMethod::named(ANONYMOUS.to_owned())
        });
    }
    if let Some(made_in) = method.strip_prefix('<') {
        let written = |name: &str| made_method(name).map_or_else(|| name.to_owned(), |m| m.name);
        if let Some((outer, ordinal)) = made_in.rsplit_once(">b__") {
            let name = format!("{}.{ANONYMOUS}", written(outer));
            return Some(MadeMethod {
                ordinal: Some(ordinal),
                ..MadeMethod::named(name)
            });
        }
        let (outer, rest) = made_in.rsplit_once(">g__")?;
        let (local, _) = rest.rsplit_once('|')?;
        return Some(MadeMethod::named(format!("{}.{local}", written(outer))));
    }
    // The module's own functions, lifted out of others.
    let at = at_line(method)?;
    Some(MadeMethod {
        line: at.line,
        ..MadeMethod::named(at.name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(type_name: &str, method: &str) -> Option<(String, String)> {
        let shown = shown(type_name, method)?;
        Some((shown.type_name.to_string(), shown.numbered()))
    }

    #[test]
    fn names_of_each_compiler() {
        let hash = "0123456789ABCDEF".repeat(4);
        let local = format!("Acme.<Shop>F{hash}__Cart+Line");
        for (type_name, method, shown_type, shown_method) in [
            (
                "A.Shop+<>c",
                "<Place>b__0_1",
                "A.Shop",
                "Place.AnonymousMethod__0_1",
            ),
            (
                "Program+<>c__DisplayClass0_0",
                "<<Main>$>b__0",
                "Program",
                "Main.AnonymousMethod__0",
            ),
            (
                "A.B`1+<>c__1`1",
                "<Map>b__1_0",
                "A.B`1",
                "Map.AnonymousMethod__1_0",
            ),
            (
                "A.Shop+<>c",
                "<.ctor>b__3_0",
                "A.Shop",
                ".ctor.AnonymousMethod__3_0",
            ),
            ("Program", "<<Main>$>g__Add|0_0", "Program", "Main.Add"),
            ("Program", "<Run>g__Add|0_0", "Program", "Run.Add"),
            ("Program", "<Main>$", "Program", "Main"),
            (
                "Shop+_Closure$__",
                "_Lambda$__1-0",
                "Shop",
                "AnonymousMethod__1-0",
            ),
            (
                "Shop+_Closure$__2-0",
                "_Lambda$__1",
                "Shop",
                "AnonymousMethod__1",
            ),
            (
                "Shop+place@12-1",
                "Invoke",
                "Shop",
                "place.AnonymousMethod__12-1",
            ),
            ("Shop+clo@7", "Invoke", "Shop", "AnonymousMethod__7"),
            ("Shop+fetch@3", "MoveNext", "Shop", "fetch.MoveNext__3"),
            ("Shop", "inner@9", "Shop", "inner"),
            (&local, "Add", "Acme.Cart+Line", "Add"),
        ] {
            let wanted = (shown_type.to_owned(), shown_method.to_owned());
            assert_eq!(
                names(type_name, method),
                Some(wanted),
                "{type_name}.{method}"
            );
        }
    }

    #[test]
    fn what_authors_wrote_stays() {
        for (type_name, method) in [
            ("com/acme/Orders$Inner", "<init>"),
            ("com/acme/Orders", "lambda$place$0"),
            ("Acme.Orders+Inner", ".ctor"),
            ("Acme.Orders", "System.IDisposable.Dispose"),
            ("Acme.Orders", "<Clone>$"),
            ("Acme.Orders", "<Main>"),
            ("Acme.Orders+<>candy", "Eat"),
            ("Acme.Orders", "mail@"),
            ("Acme.<Shop>Fabc__Cart", "Add"),
        ] {
            assert_eq!(names(type_name, method), None, "{type_name}.{method}");
        }
    }

    #[test]
    fn lambdas_are_known() {
        assert!(shown("A+<>c", "<M>b__0_0").unwrap().is_anonymous());
        assert!(!shown("A", "<M>g__L|0_0").unwrap().is_anonymous());
        assert_eq!(shown("A", "<M>g__L|0_0").unwrap().own_name(), "L");
        assert_eq!(shown("A+f@3", "Invoke").unwrap().line, 3);
    }
}
