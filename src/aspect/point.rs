//! Points inside methods, calls apart: fields, new objects, exceptions, lines, locks.

use crate::aspect::advice::Reason;
use crate::aspect::bind::ty::Ty;

/// What stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointKind {
    /// A call of a method, which goes a way of its own ([`crate::aspect::joinpoint::CallSite`]).
    Call,
    New,
    FieldGet,
    FieldSet,
    Throw,
    Catch,
    Line,
    MonitorEnter,
    MonitorExit,
}

impl PointKind {
    pub const ALL: [PointKind; 9] = [
        PointKind::Call,
        PointKind::New,
        PointKind::FieldGet,
        PointKind::FieldSet,
        PointKind::Throw,
        PointKind::Catch,
        PointKind::Line,
        PointKind::MonitorEnter,
        PointKind::MonitorExit,
    ];

    /// As rules write it.
    pub const fn word(self) -> &'static str {
        match self {
            PointKind::Call => "call",
            PointKind::New => "new",
            PointKind::FieldGet => "field-get",
            PointKind::FieldSet => "field-set",
            PointKind::Throw => "throw",
            PointKind::Catch => "catch",
            PointKind::Line => "line",
            PointKind::MonitorEnter => "monitor-enter",
            PointKind::MonitorExit => "monitor-exit",
        }
    }

    pub const fn is_field(self) -> bool {
        matches!(self, PointKind::FieldGet | PointKind::FieldSet)
    }

    /// Something comes behind it: a hook can run there.
    pub const fn has_after(self) -> bool {
        !matches!(self, PointKind::Throw | PointKind::Catch | PointKind::Line)
    }

    /// A hook can take its place.
    pub const fn has_replace(self) -> bool {
        matches!(
            self,
            PointKind::Call | PointKind::New | PointKind::FieldGet | PointKind::FieldSet
        )
    }
}

/// A point, as hooks see it. Two that are equal are served by the same code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    pub kind: PointKind,
    /// The type that a field's access names, the class that is made, what is caught; of others `Object`'s place.
    pub owner: Ty,
    /// A field's name; of a new object the constructor's.
    pub name: Box<str>,
    /// What lies on the stack, the target first.
    pub takes: Box<[Ty]>,
    /// The first of that is the target.
    pub has_target: bool,
    /// What the point leaves there.
    pub result: Ty,
    /// What is caught is an `owner` only if a look at it says so.
    pub is_tested: bool,
    /// The token by which the method names the field or constructor (.NET).
    pub reference: u32,
}

impl Point {
    /// An access to a field of a class of the JVM or of a dex file; `ty` is the field's.
    pub fn field(kind: PointKind, owner: &str, name: &str, has_target: bool, ty: Ty) -> Point {
        let plain = Point::plain(kind, owner, name);
        let target = has_target.then(|| plain.owner.clone());
        let is_set = kind == PointKind::FieldSet;
        let value = is_set.then(|| ty.clone());
        Point {
            takes: target.into_iter().chain(value).collect(),
            has_target,
            result: if is_set { Ty::Void } else { ty },
            ..plain
        }
    }

    /// One that takes nothing and gives nothing. A class of the JVM or of a dex file owns it.
    pub fn plain(kind: PointKind, owner: &str, name: &str) -> Point {
        Point {
            kind,
            owner: Ty::class(owner),
            name: name.into(),
            takes: Box::default(),
            has_target: false,
            result: Ty::Void,
            is_tested: false,
            reference: 0,
        }
    }

    /// As what a static method takes something that lies at a point: an object where its type speaks of the type parameters of the
    /// method or its type (.NET).
    pub fn given(ty: &Ty) -> Result<Ty, Reason> {
        match ty {
            Ty::Opaque(_) | Ty::Void => Err(Reason::Unsupported),
            _ if names_parameters(ty) => match ty.is_reference() {
                true => Ok(Ty::class("System.Object")),
                false => Err(Reason::PointOfGeneric),
            },
            Ty::Named(named) if named.by_ref_like => Err(Reason::PointOfStruct),
            Ty::ByRef(inner) => match Point::given(inner) {
                Ok(_) => Ok(ty.clone()),
                Err(reason) => Err(reason),
            },
            _ => Ok(ty.clone()),
        }
    }
}

fn names_parameters(ty: &Ty) -> bool {
    match ty {
        Ty::Param { .. } => true,
        Ty::Named(named) => named.args.iter().any(names_parameters),
        Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => names_parameters(inner),
        Ty::Void | Ty::Prim(_) | Ty::Opaque(_) => false,
    }
}

/// A point that a method has.
pub struct PointSite<'a> {
    /// Where it stands, in the format's own count.
    pub at: u32,
    pub kind: PointKind,
    /// The type of [`Point::owner`], in the format's own spelling; empty where there is none.
    pub ty: &'a str,
    /// A field's name.
    pub name: &'a str,
    /// Its source line, of lines.
    pub line: u32,
    pub details: &'a dyn PointDetails,
}

/// What of a point is decoded on request only.
pub trait PointDetails {
    /// The declared types of a constructor's parameters, in order.
    fn parameters(&self, each: &mut dyn FnMut(&str));
    /// The point, or why it stays as it is. `replaced`: a hook takes its place.
    fn point(&self, replaced: bool) -> Result<Point, Reason>;
    /// The number of the method whose code has it, where that is not the one that it is shown of (.NET: a state machine's); else 0.
    fn inner(&self) -> u32 {
        0
    }
}

/// Receives points one by one.
pub type EachPoint<'f> = &'f mut dyn FnMut(&PointSite<'_>);

/// A set of kinds of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointKinds(u16);

impl PointKinds {
    pub fn add(&mut self, kind: PointKind) {
        self.0 |= 1 << kind as u16;
    }

    pub const fn has(self, kind: PointKind) -> bool {
        self.0 >> kind as u16 & 1 == 1
    }

    /// Whether there is one beside calls.
    pub const fn has_points(self) -> bool {
        self.0 > 1
    }
}
