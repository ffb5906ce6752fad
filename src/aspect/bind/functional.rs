//! Functional interfaces, and delegates of .NET: the one method that an object of such a type has, for `proceed`.

use super::ty::{Named, Prim, Signature, Ty};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The base class of delegates, whose methods have no body: the runtime makes them.
pub const DELEGATE: &str = "System.MulticastDelegate";

/// What a delegate's one method is called.
pub const INVOKE: &str = "Invoke";

/// An interface or a delegate, as far as it matters here.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    pub is_public: bool,
    /// Its methods that have no body.
    pub open: Vec<Function>,
    /// Those that have one, which they may give to what another interface left open: name and parameters.
    pub given: Vec<(Box<str>, Box<[Ty]>)>,
}

/// What an object of a functional interface does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: Box<str>,
    pub parameters: Box<[Ty]>,
    pub result: Ty,
}

impl Function {
    pub fn new(name: &str, signature: &Signature) -> Function {
        Function {
            name: name.into(),
            parameters: signature.parameters.iter().map(|p| p.ty.clone()).collect(),
            result: signature.result.clone(),
        }
    }
}

/// Why a type is no functional interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// No artifact that is read declares it.
    Unknown,
    /// It is a class, or has not just one method without a body; it is no delegate.
    Other,
    NotPublic,
}

/// The one method of a functional interface of the JVM. `supertypes` gives those that a type names.
pub fn function<'s>(
    known: &FxHashMap<Box<str>, Interface>,
    supertypes: &dyn Fn(&str) -> Option<&'s [Box<str>]>,
    name: &str,
) -> Result<Function, Unfit> {
    /// Interfaces above one; more are nobody's.
    const MOST: usize = 1_000;
    if let Some(function) = of_platform(name) {
        return Ok(function);
    }
    let Some(interface) = known.get(name) else {
        return Err(match supertypes(name) {
            Some(_) => Unfit::Other,
            None => Unfit::Unknown,
        });
    };
    if !interface.is_public {
        return Err(Unfit::NotPublic);
    }
    let (mut open, mut given) = (Vec::<Function>::new(), Vec::new());
    let mut todo: Vec<&str> = vec![name];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(name) = todo.pop() {
        if seen.contains(&name) || name == "java/lang/Object" {
            continue;
        }
        if seen.len() == MOST {
            return Err(Unfit::Other);
        }
        seen.push(name);
        if let Some(function) = of_platform(name) {
            open.push(function);
            continue;
        }
        let interface = known.get(name).ok_or(Unfit::Unknown)?;
        open.extend(interface.open.iter().cloned());
        given.extend(&interface.given);
        let above = supertypes(name).unwrap_or_default();
        todo.extend(above.iter().map(|name| &**name));
    }
    open.retain(|function| {
        let has = |(name, parameters): &&(Box<str>, Box<[Ty]>)| {
            *name == function.name && *parameters == function.parameters
        };
        !given.iter().any(has) && !is_of_object(function)
    });
    let mut functions = open.into_iter();
    match functions.next() {
        // A second one is a bridge's, which no lambda of ours has.
        Some(function) if functions.all(|other| other == function) => Ok(function),
        _ => Err(Unfit::Other),
    }
}

/// The one method of a delegate of .NET, with the delegate's type arguments in place.
pub fn delegate(
    known: &FxHashMap<Box<str>, Interface>,
    supertypes: &dyn Fn(&str) -> bool,
    named: &Named,
) -> Result<Function, Unfit> {
    if let Some(function) = of_dotnet(named) {
        return Ok(function);
    }
    let Some(delegate) = known.get(&named.name) else {
        return Err(match supertypes(&named.name) {
            true => Unfit::Other,
            false => Unfit::Unknown,
        });
    };
    let Some(function) = delegate.open.first() else {
        return Err(Unfit::Other);
    };
    if !delegate.is_public {
        return Err(Unfit::NotPublic);
    }
    let of = |ty: &Ty| with_arguments(ty, &named.args);
    Ok(Function {
        name: function.name.clone(),
        parameters: function.parameters.iter().map(of).collect(),
        result: of(&function.result),
    })
}

/// The type with the arguments of its generic type in place.
fn with_arguments(ty: &Ty, args: &[Ty]) -> Ty {
    let within = |inner: &Arc<Ty>| Arc::new(with_arguments(inner, args));
    match ty {
        Ty::Param {
            of_method: false,
            index,
        } => args.get(usize::from(*index)).unwrap_or(ty).clone(),
        Ty::Array(inner) => Ty::Array(within(inner)),
        Ty::ByRef(inner) => Ty::ByRef(within(inner)),
        Ty::Pointer(inner) => Ty::Pointer(within(inner)),
        Ty::Named(named) if !named.args.is_empty() => Ty::Named(Arc::new(Named {
            args: (named.args.iter())
                .map(|arg| with_arguments(arg, args))
                .collect(),
            ..(**named).clone()
        })),
        _ => ty.clone(),
    }
}

/// The delegates of the platform, which nobody names with --reference.
fn of_dotnet(named: &Named) -> Option<Function> {
    let (name, count) = match named.name.split_once('`') {
        Some((name, count)) => (name, count.parse().ok()?),
        None => (&*named.name, 0),
    };
    if named.args.len() != count {
        return None;
    }
    let args = &named.args[..];
    let (parameters, result): (&[Ty], Ty) = match (name, count) {
        ("System.Action", 0..=16) => (args, Ty::Void),
        ("System.Func", 1..=17) => (&args[..count - 1], args[count - 1].clone()),
        ("System.Predicate", 1) => (args, Ty::Prim(Prim::Bool)),
        ("System.Converter", 2) => (&args[..1], args[1].clone()),
        ("System.Threading.ThreadStart", 0) => (args, Ty::Void),
        _ => return None,
    };
    Some(Function {
        name: INVOKE.into(),
        parameters: parameters.into(),
        result,
    })
}

/// Whether every object has the method.
fn is_of_object(function: &Function) -> bool {
    match (&*function.name, &*function.parameters) {
        ("hashCode" | "toString", []) => true,
        ("equals", [other]) => other.name() == Some("java/lang/Object"),
        _ => false,
    }
}

/// The functional interfaces of the platform, which nobody names with --reference: `O` is an object.
fn of_platform(name: &str) -> Option<Function> {
    let (all, name) = match name.strip_prefix("java/util/function/") {
        Some(name) => (FUNCTIONS, name),
        None => (OTHERS, name),
    };
    let OfPlatform {
        method, descriptor, ..
    } = all.iter().find(|known| known.name == name)?;
    let ty = |letter: char| match letter {
        'O' => Some(Ty::class("java/lang/Object")),
        letter => Ty::of_descriptor(letter.encode_utf8(&mut [0; 4])).map(|(ty, _)| ty),
    };
    let (parameters, result) = descriptor.split_once(')')?;
    Some(Function {
        name: (*method).into(),
        parameters: parameters.chars().map(ty).collect::<Option<_>>()?,
        result: ty(result.chars().next()?)?,
    })
}

struct OfPlatform {
    name: &'static str,
    method: &'static str,
    /// Without the opening parenthesis.
    descriptor: &'static str,
}

const fn of(name: &'static str, method: &'static str, descriptor: &'static str) -> OfPlatform {
    OfPlatform {
        name,
        method,
        descriptor,
    }
}

const OTHERS: &[OfPlatform] = &[
    of("java/lang/Runnable", "run", ")V"),
    of("java/util/concurrent/Callable", "call", ")O"),
    of("java/security/PrivilegedAction", "run", ")O"),
    of("java/security/PrivilegedExceptionAction", "run", ")O"),
];

/// Those of `java.util.function`.
const FUNCTIONS: &[OfPlatform] = &[
    of("BiConsumer", "accept", "OO)V"),
    of("BiFunction", "apply", "OO)O"),
    of("BinaryOperator", "apply", "OO)O"),
    of("BiPredicate", "test", "OO)Z"),
    of("BooleanSupplier", "getAsBoolean", ")Z"),
    of("Consumer", "accept", "O)V"),
    of("DoubleBinaryOperator", "applyAsDouble", "DD)D"),
    of("DoubleConsumer", "accept", "D)V"),
    of("DoubleFunction", "apply", "D)O"),
    of("DoublePredicate", "test", "D)Z"),
    of("DoubleSupplier", "getAsDouble", ")D"),
    of("DoubleToIntFunction", "applyAsInt", "D)I"),
    of("DoubleToLongFunction", "applyAsLong", "D)J"),
    of("DoubleUnaryOperator", "applyAsDouble", "D)D"),
    of("Function", "apply", "O)O"),
    of("IntBinaryOperator", "applyAsInt", "II)I"),
    of("IntConsumer", "accept", "I)V"),
    of("IntFunction", "apply", "I)O"),
    of("IntPredicate", "test", "I)Z"),
    of("IntSupplier", "getAsInt", ")I"),
    of("IntToDoubleFunction", "applyAsDouble", "I)D"),
    of("IntToLongFunction", "applyAsLong", "I)J"),
    of("IntUnaryOperator", "applyAsInt", "I)I"),
    of("LongBinaryOperator", "applyAsLong", "JJ)J"),
    of("LongConsumer", "accept", "J)V"),
    of("LongFunction", "apply", "J)O"),
    of("LongPredicate", "test", "J)Z"),
    of("LongSupplier", "getAsLong", ")J"),
    of("LongToDoubleFunction", "applyAsDouble", "J)D"),
    of("LongToIntFunction", "applyAsInt", "J)I"),
    of("LongUnaryOperator", "applyAsLong", "J)J"),
    of("ObjDoubleConsumer", "accept", "OD)V"),
    of("ObjIntConsumer", "accept", "OI)V"),
    of("ObjLongConsumer", "accept", "OJ)V"),
    of("Predicate", "test", "O)Z"),
    of("Supplier", "get", ")O"),
    of("ToDoubleBiFunction", "applyAsDouble", "OO)D"),
    of("ToDoubleFunction", "applyAsDouble", "O)D"),
    of("ToIntBiFunction", "applyAsInt", "OO)I"),
    of("ToIntFunction", "applyAsInt", "O)I"),
    of("ToLongBiFunction", "applyAsLong", "OO)J"),
    of("ToLongFunction", "applyAsLong", "O)J"),
    of("UnaryOperator", "apply", "O)O"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_method_without_a_body_makes_a_function() {
        let open = |name: &str, parameters: &[Ty]| Function {
            name: name.into(),
            parameters: parameters.into(),
            result: Ty::class("a/R"),
        };
        let object = Ty::class("java/lang/Object");
        let mut known = FxHashMap::default();
        let mut add = |name: &str, open: Vec<Function>, given: Vec<(Box<str>, Box<[Ty]>)>| {
            let is_public = name != "a/Hidden";
            let interface = Interface {
                is_public,
                open,
                given,
            };
            known.insert(Box::from(name), interface);
        };
        add(
            "a/One",
            vec![
                open("run", &[]),
                open("equals", std::slice::from_ref(&object)),
            ],
            vec![],
        );
        add("a/Two", vec![open("run", &[]), open("stop", &[])], vec![]);
        add("a/Given", vec![], vec![("stop".into(), Box::default())]);
        add("a/Hidden", vec![open("run", &[])], vec![]);
        add("a/None", vec![], vec![]);
        add("a/Below", vec![], vec![]);
        add("a/Other", vec![open("go", &[])], vec![]);
        add("a/Round", vec![open("run", &[])], vec![]);
        let above: FxHashMap<&str, Box<[Box<str>]>> = [
            ("a/One", vec!["java/lang/Object"]),
            ("a/Given", vec!["java/lang/Object", "a/Two"]),
            ("a/Below", vec!["java/util/function/Supplier"]),
            ("a/Other", vec!["a/Unread"]),
            ("a/Round", vec!["a/Round"]),
            ("a/Class", vec!["java/lang/Object"]),
        ]
        .into_iter()
        .map(|(name, above)| (name, above.into_iter().map(Box::from).collect()))
        .collect();
        let supertypes = |name: &str| above.get(name).map(|above| &**above);
        let of = |name: &str| function(&known, &supertypes, name).map(|f| f.name.to_string());
        assert_eq!(of("a/One"), Ok("run".into()));
        assert_eq!(of("a/Two"), Err(Unfit::Other));
        assert_eq!(of("a/Given"), Ok("run".into()));
        assert_eq!(of("a/Below"), Ok("get".into()));
        assert_eq!(of("a/Hidden"), Err(Unfit::NotPublic));
        assert_eq!(of("a/None"), Err(Unfit::Other));
        assert_eq!(of("a/Other"), Err(Unfit::Unknown));
        assert_eq!(of("a/Round"), Ok("run".into()));
        assert_eq!(of("a/Class"), Err(Unfit::Other));
        assert_eq!(of("a/Nowhere"), Err(Unfit::Unknown));
        assert_eq!(of("java/lang/Runnable"), Ok("run".into()));
        for OfPlatform { name, .. } in FUNCTIONS {
            let function = of_platform(&format!("java/util/function/{name}"));
            assert!(function.is_some_and(|f| f.parameters.len() <= 2), "{name}");
        }
    }
}
