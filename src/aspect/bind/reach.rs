//! Whether a hook may reach woven code, by what its library calls.
//!
//! Libraries are not woven. So a hook that calls nothing but its library and methods of the platform that call nobody back
//! reaches no woven code, and needs no flag that keeps it from calling itself. What is not known counts as reached.

use crate::aspect::joinpoint::MethodNames;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a method does that may run other code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It calls a method. The names are in the format's spelling.
    Method {
        owner: Box<str>,
        name: Box<str>,
        descriptor: Box<str>,
        how: How,
    },
    /// It initialises a type that was not used before.
    Type(Box<str>),
    /// What cannot be followed, in words.
    Unknown(Box<str>),
}

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// That one, or what the type inherits.
    Exact,
    /// Or what a subtype has in its place.
    Virtual,
    /// Of an interface, which lambdas of anybody may implement.
    Interface,
}

/// A method of a library.
#[derive(Clone, Debug)]
pub struct LibraryMethod {
    pub name: Box<str>,
    pub descriptor: Box<str>,
    /// None: it has no body that can be read (native), or none at all.
    pub calls: Option<Box<[Effect]>>,
    pub is_abstract: bool,
    /// No subtype has another one in its place.
    pub is_final: bool,
}

impl LibraryMethod {
    fn names<'a>(&'a self, ty: &'a str) -> MethodNames<&'a str> {
        MethodNames {
            ty,
            name: &self.name,
            descriptor: &self.descriptor,
        }
    }
}

/// A type of a library.
#[derive(Clone, Debug, Default)]
pub struct LibraryType {
    /// The superclass first.
    pub supertypes: Box<[Box<str>]>,
    pub methods: Vec<LibraryMethod>,
}

impl LibraryType {
    /// This type or another one of its name, of which nobody knows which runs.
    pub fn join(&mut self, other: LibraryType) {
        let mut supertypes = std::mem::take(&mut self.supertypes).into_vec();
        for ty in other.supertypes {
            if !supertypes.contains(&ty) {
                supertypes.push(ty);
            }
        }
        self.supertypes = supertypes.into();
        let mut others = other.methods;
        for known in &mut self.methods {
            let same =
                |m: &LibraryMethod| (&m.name, &m.descriptor) == (&known.name, &known.descriptor);
            let Some(at) = others.iter().position(same) else {
                // The other inherits it, from whomever.
                known.calls = None;
                continue;
            };
            let method = others.swap_remove(at);
            known.is_abstract &= method.is_abstract;
            known.is_final &= method.is_final;
            known.calls = match (known.calls.take(), method.calls) {
                (Some(calls), Some(more)) => Some([calls, more].concat().into()),
                _ => None,
            };
        }
        for method in &mut others {
            method.calls = None;
        }
        self.methods.append(&mut others);
    }
}

/// The types of libraries, and who extends them.
pub struct Reach<'a> {
    types: &'a FxHashMap<Box<str>, LibraryType>,
    /// The direct subtypes of each type, of libraries and of all others.
    subtypes: FxHashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Reach<'a> {
    /// `supertypes`: of all types of the program that are known, those of libraries among them.
    pub fn new(
        types: &'a FxHashMap<Box<str>, LibraryType>,
        supertypes: impl Iterator<Item = (&'a str, &'a [Box<str>])>,
    ) -> Reach<'a> {
        let mut subtypes: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        let own = types.iter().map(|(name, ty)| (&**name, &*ty.supertypes));
        for (name, supertypes) in supertypes.chain(own) {
            for supertype in supertypes {
                subtypes.entry(supertype).or_default().push(name);
            }
        }
        Reach { types, subtypes }
    }

    /// Why a hook may reach woven code; `None` where it is proved that it does not.
    pub fn why(&self, owner: &str, name: &str, descriptor: &str) -> Option<String> {
        let Some((owner, _)) = self.types.get_key_value(owner) else {
            return Some(format!("{} is of no library", shown(owner)));
        };
        let mut walk = Walk {
            reach: self,
            seen: FxHashSet::default(),
            initialised: FxHashSet::default(),
            work: Vec::new(),
        };
        let start = walk
            .initialise(owner)
            .and_then(|()| walk.exact(owner, name, descriptor));
        start.and_then(|()| walk.run()).err()
    }
}

struct Walk<'w, 'a> {
    reach: &'w Reach<'a>,
    seen: FxHashSet<MethodNames<&'w str>>,
    initialised: FxHashSet<&'w str>,
    /// Methods whose calls are still to be followed, with these calls.
    work: Vec<(MethodNames<&'w str>, &'w [Effect])>,
}

/// An error is the reason.
type Known = Result<(), String>;

impl<'w> Walk<'w, '_> {
    fn run(&mut self) -> Known {
        while let Some((caller, callees)) = self.work.pop() {
            for callee in callees {
                let known = match callee {
                    Effect::Unknown(what) => Err(what.to_string()),
                    Effect::Type(name) => self.initialise(name),
                    Effect::Method {
                        owner,
                        name,
                        descriptor,
                        how: How::Exact,
                    } => self.exact(owner, name, descriptor),
                    Effect::Method {
                        owner,
                        name,
                        descriptor,
                        how,
                    } => self.overridden(owner, name, descriptor, *how),
                };
                known.map_err(|what| format!("{}.{} {what}", shown(caller.ty), caller.name))?;
            }
        }
        Ok(())
    }

    /// The method that a type has or inherits.
    fn exact(&mut self, owner: &str, name: &str, descriptor: &str) -> Known {
        let mut at = vec![owner];
        let mut seen = FxHashSet::default();
        while let Some(ty) = at.pop() {
            if !seen.insert(ty.to_owned()) {
                continue;
            }
            let Some((ty_name, ty)) = self.reach.types.get_key_value(ty) else {
                // Interfaces of the platform have what nobody here can follow.
                return match is_inert(ty, name, descriptor) {
                    true => Ok(()),
                    false => Err(format!("calls {}.{name}", shown(ty))),
                };
            };
            let found = ty
                .methods
                .iter()
                .find(|m| *m.name == *name && *m.descriptor == *descriptor);
            match found {
                Some(method) if !method.is_abstract => {
                    let Some(calls) = &method.calls else {
                        return Err(format!("calls {}.{name}, which is native", shown(ty_name)));
                    };
                    let names = method.names(ty_name);
                    if self.seen.insert(names) {
                        self.work.push((names, calls));
                    }
                    return Ok(());
                }
                // The superclass comes next, then interfaces.
                _ => at.extend(ty.supertypes.iter().rev().map(|s| &**s)),
            }
        }
        Err(format!("calls {}.{name}, which is not known", shown(owner)))
    }

    /// That, and what subtypes have in its place.
    fn overridden(&mut self, owner: &str, name: &str, descriptor: &str, how: How) -> Known {
        if !self.reach.types.contains_key(owner) {
            return match is_inert(owner, name, descriptor) {
                true => Ok(()),
                false => Err(format!("calls {}.{name}", shown(owner))),
            };
        }
        if how == How::Interface {
            return Err(format!("calls {}.{name} of an interface", shown(owner)));
        }
        let mut at = vec![owner];
        let mut seen = FxHashSet::default();
        while let Some(ty) = at.pop() {
            if !seen.insert(ty.to_owned()) {
                continue;
            }
            let Some((_, library)) = self.reach.types.get_key_value(ty) else {
                return Err(format!(
                    "calls {}.{name}, which {} may override",
                    shown(owner),
                    shown(ty)
                ));
            };
            let mut declared = library.methods.iter();
            let method = declared.find(|m| *m.name == *name && *m.descriptor == *descriptor);
            // Abstract ones are called on nobody but subtypes.
            if !method.is_some_and(|m| m.is_abstract) {
                self.exact(ty, name, descriptor)?;
            }
            if method.is_some_and(|m| m.is_final) {
                continue;
            }
            if let Some(subtypes) = self.reach.subtypes.get(ty) {
                at.extend(subtypes);
            }
        }
        Ok(())
    }

    /// A type's initialiser, and those of its supertypes.
    fn initialise(&mut self, name: &str) -> Known {
        let mut at = vec![name];
        while let Some(name) = at.pop() {
            match self.reach.types.get_key_value(name) {
                Some((name, ty)) => {
                    if !self.initialised.insert(name) {
                        continue;
                    }
                    // Constructors of exceptions call the second.
                    let run = |m: &&LibraryMethod| {
                        matches!(&*m.name, "<clinit>" | "fillInStackTrace" | ".cctor")
                    };
                    for method in ty.methods.iter().filter(run) {
                        let Some(calls) = &method.calls else {
                            return Err(format!("initialises {}", shown(name)));
                        };
                        self.work.push((method.names(name), calls));
                    }
                    at.extend(ty.supertypes.iter().map(|s| &**s));
                }
                None if is_platform(name) => {}
                None => return Err(format!("initialises {}", shown(name))),
            }
        }
        Ok(())
    }
}

fn shown(name: &str) -> String {
    name.replace(['/', '$'], ".")
}

/// Whether a type is Java's own, and so of nobody that rules of a program mean.
fn is_platform(name: &str) -> bool {
    name.starts_with("java/") || name.starts_with('[')
}

/// Final types of Java's whose methods run nobody's code, whatever inert arguments they get.
pub(super) const FINAL: [&str; 14] = [
    "java/lang/Boolean",
    "java/lang/Byte",
    "java/lang/Character",
    "java/lang/Double",
    "java/lang/Float",
    "java/lang/Integer",
    "java/lang/Long",
    "java/lang/Math",
    "java/lang/Short",
    "java/lang/StrictMath",
    "java/lang/String",
    "java/lang/StringBuffer",
    "java/lang/StringBuilder",
    "java/time/Duration",
];

/// Methods of those that do: they look up properties, or charsets by their names.
const NOT: [(&str, &str); 4] = [
    ("java/lang/Boolean", "getBoolean"),
    ("java/lang/Integer", "getInteger"),
    ("java/lang/Long", "getLong"),
    ("java/lang/String", "getBytes"),
];

/// Final or static methods of Java's that only look at the identity of the objects that they get.
const METHODS: [(&str, &[&str]); 11] = [
    (
        "java/lang/Object",
        &["<init>", "getClass", "notify", "notifyAll"],
    ),
    ("java/lang/Enum", &["<init>", "name", "ordinal"]),
    (
        "java/lang/System",
        &[
            "arraycopy",
            "currentTimeMillis",
            "identityHashCode",
            "nanoTime",
        ],
    ),
    (
        "java/lang/Thread",
        &[
            "currentThread",
            "getName",
            "onSpinWait",
            "threadId",
            "yield",
        ],
    ),
    ("java/util/Objects", &["requireNonNull"]),
    ("java/util/concurrent/atomic/AtomicBoolean", ATOMIC),
    ("java/util/concurrent/atomic/AtomicInteger", ATOMIC),
    ("java/util/concurrent/atomic/AtomicLong", ATOMIC),
    ("java/util/concurrent/atomic/AtomicReference", ATOMIC),
    ("java/util/concurrent/atomic/AtomicIntegerArray", ATOMIC),
    ("java/util/concurrent/atomic/AtomicLongArray", ATOMIC),
];

const ATOMIC: &[&str] = &[
    "<init>",
    "addAndGet",
    "compareAndSet",
    "decrementAndGet",
    "get",
    "getAndAdd",
    "getAndDecrement",
    "getAndIncrement",
    "getAndSet",
    "incrementAndGet",
    "lazySet",
    "length",
    "set",
];

/// Exceptions of Java's that libraries throw: their constructors, with a message or without.
const EXCEPTIONS: [&str; 7] = [
    "java/lang/Exception",
    "java/lang/Error",
    "java/lang/IllegalArgumentException",
    "java/lang/IllegalStateException",
    "java/lang/NullPointerException",
    "java/lang/RuntimeException",
    "java/lang/UnsupportedOperationException",
];

/// Whether a method of the platform runs nobody else's code.
pub(super) fn is_inert(owner: &str, name: &str, descriptor: &str) -> bool {
    if owner.starts_with('[') {
        return name == "clone";
    }
    if METHODS
        .iter()
        .any(|(ty, names)| *ty == owner && names.contains(&name))
    {
        // The other `requireNonNull` takes who makes a message.
        return !descriptor.contains("Supplier");
    }
    let is_equals = name == "equals" && FINAL.contains(&owner) && owner != "java/time/Duration";
    let is_known = FINAL.contains(&owner) && !NOT.contains(&(owner, name))
        || EXCEPTIONS.contains(&owner) && name == "<init>";
    // A string of bytes in a charset of some name.
    let is_decoded = name == "<init>" && descriptor.starts_with("([B");
    is_equals || is_known && !is_decoded && takes_inert(descriptor)
}

/// Whether all parameters of a method's descriptor (JVMS 4.3.3) are values whose own methods run nobody's code.
pub fn takes_inert(descriptor: &str) -> bool {
    let Some((parameters, _)) = descriptor.strip_prefix('(').and_then(|d| d.split_once(')')) else {
        return false;
    };
    let mut rest = parameters;
    while let Some(letter) = rest.bytes().next() {
        rest = match letter {
            b'[' => {
                // Of primitive values.
                let element = rest.trim_start_matches('[');
                if element.starts_with('L') {
                    return false;
                }
                element.get(1..).unwrap_or("")
            }
            b'L' => {
                let Some((name, behind)) = rest[1..].split_once(';') else {
                    return false;
                };
                let boxes = FINAL.contains(&name)
                    && !matches!(name, "java/lang/StringBuffer" | "java/lang/StringBuilder");
                if !boxes {
                    return false;
                }
                behind
            }
            _ => &rest[1..],
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, calls: &[&str]) -> LibraryMethod {
        let call = |name: &&str| Effect::Method {
            owner: "java/lang/Math".into(),
            name: (*name).into(),
            descriptor: "()V".into(),
            how: How::Exact,
        };
        LibraryMethod {
            name: name.into(),
            descriptor: "()V".into(),
            calls: Some(calls.iter().map(call).collect()),
            is_abstract: false,
            is_final: true,
        }
    }

    #[test]
    fn of_two_types_with_one_name_either_may_run() {
        let ty = |methods| LibraryType {
            supertypes: ["java/lang/Object".into()].into(),
            methods,
        };
        let mut both = ty(vec![method("a", &["abs"]), method("b", &[])]);
        let mut other = ty(vec![method("c", &[]), method("a", &["max"])]);
        other.methods[1].calls = Some([Effect::Unknown("runs who knows what".into())].into());
        both.join(other);
        let types = FxHashMap::from_iter([("A".into(), both)]);
        let reach = Reach::new(&types, std::iter::empty());
        assert_eq!(
            reach.why("A", "a", "()V").unwrap(),
            "A.a runs who knows what"
        );
        for only in ["b", "c"] {
            let why = reach.why("A", only, "()V").unwrap();
            assert_eq!(why, format!("calls A.{only}, which is native"));
        }
        let mut both = ty(vec![method("a", &["abs"])]);
        both.join(ty(vec![method("a", &["max"])]));
        let types = FxHashMap::from_iter([("A".into(), both)]);
        assert_eq!(
            Reach::new(&types, std::iter::empty()).why("A", "a", "()V"),
            None
        );
    }
}
