//! Original names of obfuscated programs: `mapping.txt`, as ProGuard and R8 write it.
//!
//! ```text
//! com.acme.Orders -> a.b:
//!     int count -> c
//!     1:3:void place(com.acme.Order):40:42 -> d
//!     4:4:void com.acme.Checks.notNull(java.lang.Object):7:7 -> d
//!     4:4:void place(com.acme.Order):43 -> d
//! ```
//!
//! A class and its members, each with the name that it has in the program behind the arrow. Lines before a method are
//! those of its code: what has several frames was inlined, and the last frame is the method itself.
//!
//! The text is searched for classes once; a class's members are read when it is asked for. Lines that make no sense
//! are passed over, as the tools of both do.

use crate::error::{Error, Kind, Result};
use rustc_hash::FxHashMap;

/// A mapping file, by the names that the program has.
pub struct Mapping {
    text: String,
    /// By the name in the program, with `/`: the class's line.
    classes: FxHashMap<Box<str>, Section>,
}

struct Section {
    /// The original name.
    original: Box<str>,
    /// The lines of its members.
    start: usize,
    end: usize,
}

/// A class of the program.
pub struct Class<'m> {
    mapping: &'m Mapping,
    section: &'m Section,
    /// By the name in the program, else in the order of the lines.
    methods: Vec<Method<'m>>,
}

/// A method of an obfuscated class.
struct Method<'m> {
    /// The class that it was declared in, if it was another.
    owner: Option<&'m str>,
    original: &'m str,
    /// Original parameter types as Java writes them, without spaces.
    parameters: &'m str,
    /// The name in the program.
    name: &'m str,
    /// The descriptor in the program, if R8 says it.
    residual: Option<&'m str>,
}

/// What a method was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalMethod<'m> {
    /// The class that it was declared in, with `.`, if the shrinker moved it from another.
    pub owner: Option<&'m str>,
    pub name: &'m str,
}

impl Mapping {
    /// Reads a mapping file.
    pub fn parse(bytes: Vec<u8>) -> Result<Mapping> {
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            Error::malformed(at, "the mapping is not text in UTF-8")
        })?;
        let mut classes: FxHashMap<Box<str>, Section> = FxHashMap::default();
        let mut open: Option<(Box<str>, Section)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if let Some((original, name)) = class_line(line) {
                let next = (
                    name.replace('.', "/").into_boxed_str(),
                    Section {
                        original: original.into(),
                        start: at,
                        end: text.len(),
                    },
                );
                if let Some((name, mut section)) = open.replace(next) {
                    section.end = start;
                    // The first of a name counts: a later one can only be an accident.
                    classes.entry(name).or_insert(section);
                }
            }
        }
        if let Some((name, section)) = open {
            classes.entry(name).or_insert(section);
        }
        if classes.is_empty() {
            let what = "no class is mapped here: is it a mapping.txt of ProGuard or R8?";
            return Err(Error::new(Kind::Malformed, what));
        }
        Ok(Mapping { text, classes })
    }

    /// The original name, with `.`, of a class of the program, with `.` or `/`.
    pub fn class_name(&self, name: &str) -> Option<&str> {
        let section = match name.contains('.') {
            true => self.classes.get(name.replace('.', "/").as_str()),
            false => self.classes.get(name),
        };
        section.map(|s| &*s.original)
    }

    /// A class of the program, by its name with `/`.
    pub fn class(&self, name: &str) -> Option<Class<'_>> {
        let section = self.classes.get(name)?;
        Some(Class {
            mapping: self,
            section,
            methods: methods(&self.text[section.start..section.end]),
        })
    }

    /// The original of a type as Java writes it (`a.b[]`), with `.`.
    pub fn type_name(&self, name: &str) -> String {
        let element = name.trim_end_matches("[]");
        let original = self.class_name(element);
        let mut out = original.map_or_else(|| element.replace('/', "."), str::to_owned);
        out.push_str(&name[element.len()..]);
        out
    }

    /// A descriptor of the program with original class names.
    pub fn descriptor(&self, descriptor: &str) -> String {
        let mut out = String::with_capacity(descriptor.len() * 2);
        let mut rest = descriptor;
        while let Some((before, after)) = rest.split_once('L') {
            let Some((name, after)) = after.split_once(';') else {
                break;
            };
            out.push_str(before);
            out.push('L');
            match self.class_name(name) {
                Some(original) => {
                    out.extend(original.chars().map(|c| if c == '.' { '/' } else { c }))
                }
                None => out.push_str(name),
            }
            out.push(';');
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// Whether Java's parameter types are those of a descriptor with original names.
    fn same_parameters(&self, parameters: &str, descriptor: &str) -> bool {
        let Some(inner) = descriptor
            .strip_prefix('(')
            .and_then(|d| d.rsplit_once(')'))
        else {
            return false;
        };
        let mut types = inner.0;
        let mut named = parameters.split(',').filter(|p| !p.is_empty());
        loop {
            match (named.next(), types.is_empty()) {
                (None, true) => return true,
                (None, false) | (Some(_), true) => return false,
                (Some(name), false) => match self.strip_type(types, name.trim()) {
                    Some(rest) => types = rest,
                    None => return false,
                },
            }
        }
    }

    /// What follows the first type of a descriptor if that is the type of this original name.
    fn strip_type<'d>(&self, types: &'d str, name: &str) -> Option<&'d str> {
        let element = types.trim_start_matches('[');
        let dimensions = types.len() - element.len();
        let base = name.trim_end_matches("[]");
        if name.len() - base.len() != 2 * dimensions {
            return None;
        }
        let primitive = match base {
            "byte" => "B",
            "char" => "C",
            "double" => "D",
            "float" => "F",
            "int" => "I",
            "long" => "J",
            "short" => "S",
            "boolean" => "Z",
            _ => {
                let (class, rest) = element.strip_prefix('L')?.split_once(';')?;
                let same = match self.class_name(class) {
                    Some(original) => original == base,
                    None => class.split('/').eq(base.split('.')),
                };
                return same.then_some(rest);
            }
        };
        element.strip_prefix(primitive)
    }
}

impl<'m> Class<'m> {
    /// The original name, with `.`.
    pub fn name(&self) -> &'m str {
        &self.section.original
    }

    /// What a method of the program was called. Where names alone do not tell, parameters do.
    pub fn method(&self, name: &str, descriptor: &str) -> Option<OriginalMethod<'m>> {
        let mut found: Option<&Method<'m>> = None;
        let mut several = false;
        let first = self.methods.partition_point(|m| m.name < name);
        for method in self.methods[first..].iter().take_while(|m| m.name == name) {
            let exact = match method.residual {
                Some(residual) => residual == descriptor,
                None => self.mapping.same_parameters(method.parameters, descriptor),
            };
            if exact {
                return Some(method.answer());
            }
            several |=
                found.is_some_and(|f| (f.owner, f.original) != (method.owner, method.original));
            found = found.or(Some(method));
        }
        found.filter(|_| !several).map(Method::answer)
    }
}

impl<'m> Method<'m> {
    fn answer(&self) -> OriginalMethod<'m> {
        OriginalMethod {
            owner: self.owner,
            name: self.original,
        }
    }
}

/// `com.acme.Orders -> a.b:`, with no space in front.
fn class_line(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t', '#']) {
        return None;
    }
    let (original, name) = line.trim_end().strip_suffix(':')?.split_once(" -> ")?;
    let sound = |n: &str| !n.is_empty() && !n.contains(char::is_whitespace);
    (sound(original) && sound(name)).then_some((original, name))
}

/// The methods of a class's lines, each once.
fn methods(lines: &str) -> Vec<Method<'_>> {
    let mut methods: Vec<Method<'_>> = Vec::new();
    // The range of the last line: what follows with the same range is the frame around it.
    let mut last_range = "";
    for line in lines.lines() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            if let (Some(last), Some(signature)) = (methods.last_mut(), residual(comment)) {
                last.residual = Some(signature);
            }
            continue;
        }
        let Some((range, method)) = method_line(line) else {
            last_range = "";
            continue;
        };
        let same_range = !range.is_empty() && range == last_range;
        last_range = range;
        match methods.last_mut() {
            Some(inner) if same_range && inner.name == method.name => *inner = method,
            _ => methods.push(method),
        }
    }
    methods.sort_by_key(|m| m.name);
    methods
}

/// `1:3:void com.acme.Orders.place(com.acme.Order,int):40:42 -> d`: the range in front, and the method.
fn method_line(line: &str) -> Option<(&str, Method<'_>)> {
    let (left, name) = line.split_once(" -> ")?;
    let (left, after) = left.split_once('(')?;
    let (parameters, _) = after.split_once(')')?;
    let digits = left.len()
        - left
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ':')
            .len();
    let (range, signature) = left.split_at(digits);
    let (_returns, qualified) = signature.trim_start().split_once(' ')?;
    let (owner, original) = match qualified.rsplit_once('.') {
        Some((owner, original)) => (Some(owner), original),
        None => (None, qualified),
    };
    let name = name.trim();
    (!original.is_empty() && !name.is_empty()).then_some((
        range,
        Method {
            owner,
            original,
            parameters,
            name,
            residual: None,
        },
    ))
}

/// The descriptor in R8's `# {"id":"com.android.tools.r8.residualsignature","signature":"(La;)V"}`.
fn residual(comment: &str) -> Option<&str> {
    let comment = comment.trim();
    comment
        .contains("\"com.android.tools.r8.residualsignature\"")
        .then_some(())?;
    let (_, after) = comment.split_once("\"signature\":\"")?;
    let (signature, _) = after.split_once('"')?;
    signature.starts_with('(').then_some(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"# compiler: R8
# {"id":"com.android.tools.r8.mapping","version":"2.2"}
com.acme.Order -> a.a:
    long id -> a
com.acme.Orders -> a.b:
# {"id":"sourceFile","fileName":"Orders.java"}
    int count -> a
    1:3:void <init>():10:12 -> <init>
    1:2:void place(com.acme.Order):40:41 -> a
    3:3:void com.acme.Checks.notNull(java.lang.Object):7:7 -> a
    3:3:void place(com.acme.Order):42 -> a
    java.lang.String name(int,com.acme.Order[]) -> a
    void com.acme.Legacy.run() -> b
    1:1:void unused(com.acme.Gone):9:9 -> c
      # {"id":"com.android.tools.r8.residualsignature","signature":"(I)V"}
    1:1:void other():9:9 -> d
    2:2:void another(int):9:9 -> d
com.acme.Orders$Line -> com.acme.Orders$Line:
"#;

    fn mapping() -> Mapping {
        Mapping::parse(TEXT.replace('\n', "\r\n").into_bytes()).unwrap()
    }

    #[test]
    fn classes_and_methods_have_their_names_back() {
        let mapping = mapping();
        assert_eq!(mapping.class_name("a/b"), Some("com.acme.Orders"));
        assert_eq!(mapping.class_name("a.b"), Some("com.acme.Orders"));
        assert_eq!(
            mapping.class_name("com/acme/Orders$Line"),
            Some("com.acme.Orders$Line")
        );
        assert_eq!(mapping.class_name("com/acme/Orders"), None);
        let orders = mapping.class("a/b").unwrap();
        let name =
            |method: &str, descriptor: &str| orders.method(method, descriptor).map(|m| m.name);
        assert_eq!(orders.name(), "com.acme.Orders");
        assert_eq!(name("<init>", "()V"), Some("<init>"));
        // Not the method that was inlined; overloads differ in their parameters.
        assert_eq!(name("a", "(La/a;)V"), Some("place"));
        assert_eq!(name("a", "(I[La/a;)Ljava/lang/String;"), Some("name"));
        assert_eq!(name("a", "(J)V"), None, "neither");
        assert_eq!(name("c", "(I)V"), Some("unused"));
        assert_eq!(name("c", "(J)V"), Some("unused"), "there is no other");
        assert_eq!(name("d", "(I)V"), Some("another"));
        assert_eq!(name("e", "()V"), None);
        let moved = OriginalMethod {
            owner: Some("com.acme.Legacy"),
            name: "run",
        };
        assert_eq!(orders.method("b", "()V"), Some(moved));
    }

    #[test]
    fn types_and_descriptors_are_translated() {
        let mapping = mapping();
        assert_eq!(mapping.type_name("a.a[][]"), "com.acme.Order[][]");
        assert_eq!(mapping.type_name("int[]"), "int[]");
        assert_eq!(mapping.type_name("java/lang/String"), "java.lang.String");
        assert_eq!(
            mapping.descriptor("(I[La/a;La/c;)La/b;"),
            "(I[Lcom/acme/Order;La/c;)Lcom/acme/Orders;"
        );
        assert_eq!(mapping.descriptor("(La/a"), "(La/a");
    }

    #[test]
    fn what_is_no_mapping_is_told() {
        let wrong = |bytes: &[u8]| Mapping::parse(bytes.to_vec()).err().unwrap().to_string();
        insta::assert_snapshot!(wrong(b"a -> b:\n\xff"), @"the mapping is not text in UTF-8 (at byte 0x8)");
        insta::assert_snapshot!(wrong(b"PK\x03\x04"), @"no class is mapped here: is it a mapping.txt of ProGuard or R8?");
        insta::assert_snapshot!(wrong(b""), @"no class is mapped here: is it a mapping.txt of ProGuard or R8?");
    }

    proptest! {
        #[test]
        fn no_text_panics(lines in proptest::collection::vec(r#"[ab] -> [ab]:|  ?([0-9:]{0,4})?[a-z.]{0,4} ?[ab.]{0,3}\(?[\[\]L;,a-z.]{0,6}\)?:? ?-?>? [ab]|# ?.{0,9}"#, 0..12), name in "[ab]", descriptor in r"\(?[\[LI;ab/]{0,8}\)?V?") {
            if let Ok(mapping) = Mapping::parse(lines.join("\n").into_bytes()) {
                if let Some(class) = mapping.class(&name) {
                    class.method(&name, &descriptor);
                }
                mapping.descriptor(&descriptor);
                mapping.type_name(&descriptor);
            }
        }
    }
}
