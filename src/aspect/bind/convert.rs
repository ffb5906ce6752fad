//! Which values a parameter takes, and how well: JLS 5.3 and ECMA-334 10.2, as far as both agree.

use super::call::Convert;
pub use super::ty::instantiate;
use super::ty::{Named, Prim, Ty};
use crate::aspect::pointcut::Hierarchy;
use std::sync::Arc;

/// How well a value fits, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    Identity,
    /// A reference to a supertype.
    Reference,
    /// The same, to the root of all types.
    Object,
    /// A wider primitive type.
    Widening,
    /// Into an object, or out of what a managed pointer points to.
    Boxing,
}

/// Why a value does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is another type.
    Other,
    /// Nothing known says that the one type is the other.
    Unknown,
    /// It cannot become an object.
    NoObject,
}

/// Type arguments of a generic hook, as far as they are inferred.
pub type Inferred = Vec<Option<Ty>>;

/// How a value of one type becomes the other.
pub fn convert(
    hierarchy: &Hierarchy,
    from: &Ty,
    to: &Ty,
    inferred: &mut Inferred,
) -> Result<(Fit, Convert), Misfit> {
    if let Ty::Param {
        of_method: true,
        index,
    } = to
    {
        return infer(from, *index, inferred);
    }
    if from == to && !is_generic(to) {
        return Ok((Fit::Identity, Convert::Same));
    }
    match (from, to) {
        (Ty::ByRef(inner), _) if !matches!(to, Ty::ByRef(_)) => {
            // What a managed pointer points to may be what is asked for.
            let (_, convert) = convert(hierarchy, inner, to, inferred)?;
            match convert {
                Convert::Same => Ok((Fit::Boxing, Convert::Load)),
                Convert::Box => Ok((Fit::Boxing, Convert::LoadBox)),
                _ => Err(Misfit::Other),
            }
        }
        (Ty::Prim(a), Ty::Prim(b)) if widens(*a, *b) => Ok((Fit::Widening, Convert::Widen(*a, *b))),
        (Ty::Prim(prim), _) if to.is_reference() => match boxes(hierarchy, *prim, to) {
            true => Ok((Fit::Boxing, Convert::Box)),
            false => Err(Misfit::Other),
        },
        (Ty::Named(named), _) if named.value => match to {
            _ if named.by_ref_like && to.is_reference() => Err(Misfit::NoObject),
            Ty::Named(target) if target.value => unify(named, target, inferred),
            _ if is_object(to) || to.name() == Some("System.ValueType") => {
                Ok((Fit::Boxing, Convert::Box))
            }
            _ => match is_subtype(hierarchy, from, to) {
                Some(true) => Ok((Fit::Boxing, Convert::Box)),
                Some(false) => Err(Misfit::Other),
                None => Err(Misfit::Unknown),
            },
        },
        (Ty::Param { .. }, _) if is_object(to) => Ok((Fit::Boxing, Convert::Box)),
        (Ty::Pointer(_) | Ty::Opaque(_) | Ty::ByRef(_), _) if is_object(to) => {
            Err(Misfit::NoObject)
        }
        (Ty::Named(_) | Ty::Array(_), _) if is_object(to) => Ok((Fit::Object, Convert::Same)),
        (Ty::Named(a), Ty::Named(b)) if a.name == b.name && !a.args.is_empty() => {
            unify(a, b, inferred)
        }
        (Ty::Array(a), Ty::Array(b)) if a.is_reference() && b.is_reference() => {
            let (fit, _) = convert(hierarchy, a, b, inferred)?;
            Ok((fit.max(Fit::Reference), Convert::Same))
        }
        (Ty::Array(a), Ty::Array(b)) => match convert(hierarchy, a, b, inferred)? {
            (Fit::Identity, convert) => Ok((Fit::Identity, convert)),
            _ => Err(Misfit::Other),
        },
        (Ty::Named(_) | Ty::Array(_), Ty::Named(target)) if !target.value => {
            match is_subtype(hierarchy, from, to) {
                Some(true) => Ok((Fit::Reference, Convert::Same)),
                Some(false) => Err(Misfit::Other),
                None => Err(Misfit::Unknown),
            }
        }
        _ => Err(Misfit::Other),
    }
}

/// A type argument of the hook is what it gets, which can be neither a pointer nor a ref struct.
fn infer(from: &Ty, index: u16, inferred: &mut Inferred) -> Result<(Fit, Convert), Misfit> {
    let (ty, convert) = match from {
        Ty::ByRef(inner) => (&**inner, Convert::Load),
        ty => (ty, Convert::Same),
    };
    let usable = match ty {
        Ty::Named(named) => !named.by_ref_like,
        Ty::Prim(_) | Ty::Array(_) | Ty::Param { .. } => true,
        Ty::Void | Ty::ByRef(_) | Ty::Pointer(_) | Ty::Opaque(_) => false,
    };
    let slot = inferred
        .get_mut(usize::from(index))
        .filter(|slot| usable && slot.as_ref().is_none_or(|known| known == ty));
    match slot {
        Some(slot) => {
            *slot = Some(ty.clone());
            Ok((Fit::Identity, convert))
        }
        None => Err(Misfit::Other),
    }
}

/// Whether a hook's own type parameters are in a type.
fn is_generic(ty: &Ty) -> bool {
    match ty {
        Ty::Param { of_method, .. } => *of_method,
        Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => is_generic(inner),
        Ty::Named(named) => named.args.iter().any(is_generic),
        Ty::Void | Ty::Prim(_) | Ty::Opaque(_) => false,
    }
}

/// Two instances of one generic type.
fn unify(
    a: &Arc<Named>,
    b: &Arc<Named>,
    inferred: &mut Inferred,
) -> Result<(Fit, Convert), Misfit> {
    let same = a.name == b.name
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| match b {
            Ty::Param {
                of_method: true,
                index,
            } => infer(a, *index, inferred).is_ok_and(|(_, convert)| convert == Convert::Same),
            _ => a == b,
        });
    match same {
        true => Ok((Fit::Identity, Convert::Same)),
        false => Err(Misfit::Other),
    }
}

/// Whether a type is the root of all.
pub fn is_object(ty: &Ty) -> bool {
    matches!(ty.name(), Some("java/lang/Object" | "System.Object"))
}

/// Widening primitive conversions (JLS 5.1.2), and C#'s implicit numeric ones (ECMA-334 10.2.3).
fn widens(from: Prim, to: Prim) -> bool {
    let bits = |prim| match prim {
        Prim::I8 | Prim::U8 => 8,
        Prim::I16 | Prim::U16 | Prim::Char => 16,
        Prim::I32 | Prim::U32 => 32,
        Prim::I64 | Prim::U64 => 64,
        _ => 0,
    };
    let is_signed = |prim| matches!(prim, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64);
    match (from, to) {
        (Prim::F32, Prim::F64) => true,
        (_, Prim::F32 | Prim::F64) => bits(from) > 0,
        (_, Prim::Char) => false,
        _ if bits(from) == 0 || bits(to) == 0 => false,
        _ if is_signed(from) == is_signed(to) => {
            bits(from) < bits(to) || (from == Prim::Char && to == Prim::U16)
        }
        _ => !is_signed(from) && bits(from) < bits(to),
    }
}

/// The class of a primitive type's objects.
fn box_of(prim: Prim, java: bool) -> &'static str {
    match (prim, java) {
        (Prim::Bool, true) => "java/lang/Boolean",
        (Prim::Char, true) => "java/lang/Character",
        (Prim::I8 | Prim::U8, true) => "java/lang/Byte",
        (Prim::I16 | Prim::U16, true) => "java/lang/Short",
        (Prim::I64 | Prim::U64, true) => "java/lang/Long",
        (Prim::F32, true) => "java/lang/Float",
        (Prim::F64, true) => "java/lang/Double",
        (_, true) => "java/lang/Integer",
        (Prim::Bool, false) => "System.Boolean",
        (Prim::Char, false) => "System.Char",
        (Prim::I8, false) => "System.SByte",
        (Prim::U8, false) => "System.Byte",
        (Prim::I16, false) => "System.Int16",
        (Prim::U16, false) => "System.UInt16",
        (Prim::I32, false) => "System.Int32",
        (Prim::U32, false) => "System.UInt32",
        (Prim::I64, false) => "System.Int64",
        (Prim::U64, false) => "System.UInt64",
        (Prim::F32, false) => "System.Single",
        (Prim::F64, false) => "System.Double",
        (Prim::Isize, false) => "System.IntPtr",
        (Prim::Usize, false) => "System.UIntPtr",
    }
}

/// Whether the object of a primitive value is of this type.
fn boxes(hierarchy: &Hierarchy, prim: Prim, to: &Ty) -> bool {
    let java = to.name().is_some_and(|name| name.contains('/'));
    let object = box_of(prim, java);
    is_object(to)
        || to.name() == Some("System.ValueType")
        || to.name() == Some(object)
        || is_subtype(hierarchy, &Ty::class(object), to) == Some(true)
}

/// Whether the one type is the other, by its name: `None` where some supertype is not known.
fn is_subtype(hierarchy: &Hierarchy, from: &Ty, to: &Ty) -> Option<bool> {
    let (from, to) = match (from, to) {
        (Ty::Named(from), Ty::Named(to)) if to.args.is_empty() => (&*from.name, &*to.name),
        (Ty::Array(_), Ty::Named(to)) => {
            return Some(matches!(
                &*to.name,
                "java/lang/Cloneable" | "java/io/Serializable" | "System.Array"
            ));
        }
        // Instances of generic interfaces are not followed.
        _ => return None,
    };
    let mut seen = vec![from];
    let mut next = 0;
    let mut known = true;
    while let Some(&name) = seen.get(next) {
        next += 1;
        if name == to {
            return Some(true);
        }
        let mut see = |above| {
            if !seen.contains(&above) {
                seen.push(above);
            }
        };
        if let Some(above) = hierarchy.above(name).filter(|above| !above.is_empty()) {
            above.iter().for_each(|above| see(above));
        } else {
            known &= matches!(name, "java/lang/Object" | "System.Object");
        }
        if seen.len() > MAX_SUPERTYPES {
            return None;
        }
    }
    match known {
        true => Some(false),
        false => None,
    }
}

/// Most types above one; real ones have fewer than a hundred.
const MAX_SUPERTYPES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn hierarchy() -> Hierarchy {
        let types: [(&str, &[&str]); 4] = [
            ("a/B", &["a/A", "a/I"]),
            ("a/A", &["java/lang/Object"]),
            ("a/I", &["java/lang/Object"]),
            ("a/C", &["java/util/AbstractList"]),
        ];
        let of = |names: &[&str]| names.iter().map(|n| Box::from(*n)).collect();
        Hierarchy::of(
            types
                .iter()
                .map(|(ty, above)| (Box::from(*ty), of(above)))
                .collect(),
        )
    }

    fn fit(from: &Ty, to: &Ty) -> Result<(Fit, Convert), Misfit> {
        convert(&hierarchy(), from, to, &mut vec![None])
    }

    #[test]
    fn references_fit_supertypes_that_are_known() {
        let class = Ty::class;
        let is = |from: &str, to: &str| fit(&class(from), &class(to)).map(|(fit, _)| fit);
        assert_eq!(is("a/B", "a/B"), Ok(Fit::Identity));
        assert_eq!(is("a/B", "a/I"), Ok(Fit::Reference));
        assert_eq!(is("a/B", "java/lang/Object"), Ok(Fit::Object));
        assert_eq!(is("a/B", "a/C"), Err(Misfit::Other));
        // The platform's own types are known.
        assert_eq!(is("a/C", "java/util/List"), Ok(Fit::Reference));
        assert_eq!(is("a/C", "java/lang/Runnable"), Err(Misfit::Other));
        assert_eq!(is("lib/D", "java/util/List"), Err(Misfit::Unknown));
        assert_eq!(
            is("java/lang/String", "java/lang/CharSequence"),
            Ok(Fit::Reference)
        );
        let array = |name| Ty::Array(Arc::new(class(name)));
        assert_eq!(
            fit(&array("a/B"), &array("java/lang/Object")).map(|(fit, _)| fit),
            Ok(Fit::Object)
        );
        assert_eq!(fit(&array("a/A"), &array("a/B")), Err(Misfit::Other));
    }

    #[test]
    fn primitive_types_widen_and_are_boxed() {
        let prim = Ty::Prim;
        assert_eq!(
            fit(&prim(Prim::I32), &prim(Prim::I64)),
            Ok((Fit::Widening, Convert::Widen(Prim::I32, Prim::I64)))
        );
        assert_eq!(fit(&prim(Prim::I64), &prim(Prim::I32)), Err(Misfit::Other));
        assert_eq!(fit(&prim(Prim::Bool), &prim(Prim::I32)), Err(Misfit::Other));
        assert!(fit(&prim(Prim::Char), &prim(Prim::I32)).is_ok());
        assert!(fit(&prim(Prim::I16), &prim(Prim::Char)).is_err());
        assert!(fit(&prim(Prim::U32), &prim(Prim::I64)).is_ok());
        assert!(fit(&prim(Prim::I32), &prim(Prim::U64)).is_err());
        for (to, good) in [
            ("java/lang/Object", true),
            ("java/lang/Integer", true),
            ("java/lang/Number", true),
            ("java/lang/Long", false),
            ("System.Object", true),
        ] {
            assert_eq!(fit(&prim(Prim::I32), &Ty::class(to)).is_ok(), good, "{to}");
        }
    }

    #[test]
    fn dotnet_structs_pointers_and_type_parameters() {
        let named = |name: &str, value, by_ref_like, args: Vec<Ty>| {
            Ty::Named(Arc::new(Named {
                name: name.into(),
                scope: "".into(),
                value,
                by_ref_like,
                args: args.into(),
            }))
        };
        let object = Ty::class("System.Object");
        let point = named("Acme.Point", true, false, vec![]);
        let span = named("System.Span`1", true, true, vec![Ty::Prim(Prim::Char)]);
        let by_ref = |ty: &Ty| Ty::ByRef(Arc::new(ty.clone()));
        assert_eq!(fit(&point, &object), Ok((Fit::Boxing, Convert::Box)));
        assert_eq!(fit(&span, &object), Err(Misfit::NoObject));
        assert_eq!(fit(&span, &span), Ok((Fit::Identity, Convert::Same)));
        assert_eq!(
            fit(&by_ref(&point), &point),
            Ok((Fit::Boxing, Convert::Load))
        );
        assert_eq!(
            fit(&by_ref(&point), &object),
            Ok((Fit::Boxing, Convert::LoadBox))
        );
        assert_eq!(
            fit(&by_ref(&point), &by_ref(&point)),
            Ok((Fit::Identity, Convert::Same))
        );
        assert_eq!(
            fit(&by_ref(&object), &object),
            Ok((Fit::Boxing, Convert::Load))
        );
        let own = Ty::Param {
            of_method: true,
            index: 0,
        };
        let mut inferred = vec![None];
        assert!(convert(&hierarchy(), &point, &own, &mut inferred).is_ok());
        assert_eq!(inferred, [Some(point.clone())]);
        assert!(convert(&hierarchy(), &object, &own, &mut inferred).is_err());
        assert!(fit(&span, &own).is_err());
        let list = |of: &Ty| {
            named(
                "System.Collections.Generic.List`1",
                false,
                false,
                vec![of.clone()],
            )
        };
        let mut inferred = vec![None];
        assert!(convert(&hierarchy(), &list(&point), &list(&own), &mut inferred).is_ok());
        assert_eq!(inferred, [Some(point.clone())]);
        assert_eq!(
            instantiate(&list(&own), std::slice::from_ref(&point)),
            list(&point)
        );
    }
}
