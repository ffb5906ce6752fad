//! Calls that are redirected: what is called instead.

use super::call::{Bound, Call, Convert, ShownCall};
use super::ty::{Target, Ty};
use crate::aspect::advice::Advice;
use crate::aspect::joinpoint::{Callee, MethodNames};
use crate::aspect::point::{Point, PointKind};
use crate::spans::SpanRule;
use std::fmt;
use std::sync::Arc;

/// A call that is changed, or a point at which something is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    pub target: Target,
    /// What the call calls. At a point it is the static method that is called there.
    pub callee: Callee,
    pub instead: Instead,
}

/// What is called: a static method that takes the target, where there is one, and the arguments. A generated one is the method
/// `call` of a class, whose name follows from all that is in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    /// The hook itself, instead of a call.
    Hook(Replacement),
    /// A generated method, instead of a call.
    Method {
        class: Arc<str>,
        /// What it calls instead of the callee.
        replace: Option<Replacement>,
        /// The hooks around that. Their first argument is the target.
        bound: Option<Arc<Bound>>,
        /// What of the call goes into the trace.
        recorded: Option<RecordedCall>,
    },
    /// The hook itself, instead of a point.
    HookAt(Placed, Replacement),
    /// A generated method that calls a hook instead of a point.
    ReplaceAt {
        placed: Placed,
        class: Arc<str>,
        replace: Replacement,
    },
    /// A generated method that has hooks before a point or after it.
    HooksAt {
        placed: Placed,
        class: Arc<str>,
        bound: Arc<Bound>,
    },
}

/// What woven code calls of a redirect.
pub enum Goal<'r> {
    Hook(&'r Replacement),
    /// The method `call` of this class.
    Class(&'r Arc<str>),
}

/// Where the static method of a point is called, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub point: Point,
    pub when: Where,
    pub passed: Box<[Passed]>,
    /// Only if the exception is one of these.
    pub test: Option<Ty>,
}

/// On which side of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Where {
    Before,
    After,
    Replace,
}

/// What the static method of a point takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passed {
    /// The n-th of [`Point::takes`].
    Stack(u16),
    /// What the point gives.
    Result,
    /// The object of the method that has the point.
    This,
    /// The source line.
    Line,
    /// Names of the method that has the point.
    Type,
    Method,
    Signature,
}

impl Placed {
    /// Code goes in front of the point or behind it.
    pub fn changes_code(&self) -> bool {
        let is_of_point = |passed: &Passed| matches!(passed, Passed::Stack(_));
        self.when != Where::Replace || !self.passed.iter().all(is_of_point)
    }

    /// The values of the point that are passed.
    pub fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.passed.iter().filter_map(|passed| match passed {
            Passed::Stack(n) => Some(usize::from(*n)),
            _ => None,
        })
    }

    /// From which value on they have to be kept, if those `from` there on are already.
    pub fn values_to_keep(&self, from: usize) -> Option<usize> {
        self.values().min().filter(|&first| first < from)
    }

    /// The n-th of what the point takes is passed.
    pub fn place_of(&self, wanted: Passed) -> Option<u16> {
        place_of(&self.passed, wanted)
    }

    /// An operand, by its place in what is passed.
    fn shown(&self, place: usize) -> String {
        match self.passed.get(place) {
            Some(Passed::Stack(0)) if self.point.has_target => "target".into(),
            Some(Passed::Stack(n)) => match self.point.kind {
                PointKind::New => format!("arg({n})"),
                PointKind::Throw | PointKind::Catch => "exception".into(),
                _ => "value".into(),
            },
            Some(Passed::Result) => "result".into(),
            Some(Passed::This) => "this".into(),
            Some(Passed::Line) => "line".into(),
            Some(Passed::Type) => "type".into(),
            Some(Passed::Method) => "method".into(),
            Some(Passed::Signature) => "signature".into(),
            None => "?".into(),
        }
    }
}

/// Where something is among what is passed.
pub fn place_of(passed: &[Passed], wanted: Passed) -> Option<u16> {
    let place = passed.iter().position(|one| *one == wanted);
    place.map(|place| place as u16)
}

/// The assemblies (.NET) by whose names programs find tasks. One from elsewhere is another type.
pub const TASK_ASSEMBLIES: [&str; 5] = [
    "System.Runtime",
    "System.Threading.Tasks",
    "System.Private.CoreLib",
    "mscorlib",
    "netstandard",
];

/// Public key tokens of what belongs to the platform (.NET). Its assemblies hand types on to one another.
const PLATFORM_KEYS: [&str; 4] = [
    "b77a5c561934e089",
    "b03f5f7f11d50a3a",
    "7cec85d7bea7798e",
    "cc7b13ffcd2ddd51",
];

/// The public key token of an assembly, by its display name.
pub fn key_token(scope: &str) -> &str {
    let key = scope.rsplit_once("PublicKeyToken=");
    key.map_or("", |(_, key)| key.trim())
}

/// Whether an assembly belongs to the platform.
pub fn is_platform(scope: &str) -> bool {
    PLATFORM_KEYS.contains(&key_token(scope))
}

/// A call that is recorded: the static method has the hooks of the pair, and in the trace the name of what was called.
#[derive(Clone, PartialEq)]
pub struct RecordedCall {
    /// The pair, and whether a trace begins here.
    pub advice: Advice,
    /// The method with the type that the call names, as symbols spell them.
    pub callee: MethodNames<Box<str>>,
    /// The call is a span.
    pub span: Option<Arc<SpanRule>>,
    /// It ends when the task or future that it gives is complete.
    pub follows: bool,
}

/// Names and ids of calls are hashes over this: where there is no span, none is named, and `follows` is
/// added where it holds.
impl fmt::Debug for RecordedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let callee = &self.callee;
        let name = [&callee.ty, &callee.name, &callee.descriptor];
        let mut shown = f.debug_struct("RecordedCall");
        shown.field("advice", &self.advice).field("name", &name);
        if let Some(span) = &self.span {
            shown.field("span", span);
        }
        shown.finish()
    }
}

/// What a method does that has a redirect.
pub struct ShownSite {
    pub does: &'static str,
    pub what: String,
}

/// A hook instead of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    pub call: Call,
    /// How its result becomes the callee's.
    pub convert: Convert,
    /// The type of its result.
    pub result: Ty,
}

impl Redirect {
    pub fn goal(&self) -> Goal<'_> {
        match &self.instead {
            Instead::Hook(replace) | Instead::HookAt(_, replace) => Goal::Hook(replace),
            Instead::Method { class, .. }
            | Instead::ReplaceAt { class, .. }
            | Instead::HooksAt { class, .. } => Goal::Class(class),
        }
    }

    /// The class that is generated.
    pub fn class(&self) -> Option<&Arc<str>> {
        match self.goal() {
            Goal::Class(class) => Some(class),
            Goal::Hook(_) => None,
        }
    }

    /// The point, where it is no call.
    pub fn placed(&self) -> Option<&Placed> {
        match &self.instead {
            Instead::HookAt(placed, _)
            | Instead::ReplaceAt { placed, .. }
            | Instead::HooksAt { placed, .. } => Some(placed),
            Instead::Hook(_) | Instead::Method { .. } => None,
        }
    }

    /// The hook that is called instead of the callee or the point.
    pub fn replace(&self) -> Option<&Replacement> {
        match &self.instead {
            Instead::Hook(replace)
            | Instead::HookAt(_, replace)
            | Instead::ReplaceAt { replace, .. } => Some(replace),
            Instead::Method { replace, .. } => replace.as_ref(),
            Instead::HooksAt { .. } => None,
        }
    }

    /// The hooks of the generated method.
    pub fn bound(&self) -> Option<&Arc<Bound>> {
        match &self.instead {
            Instead::Method { bound, .. } => bound.as_ref(),
            Instead::HooksAt { bound, .. } => Some(bound),
            Instead::Hook(_) | Instead::HookAt(..) | Instead::ReplaceAt { .. } => None,
        }
    }

    /// What of a call goes into the trace.
    pub fn recorded(&self) -> Option<&RecordedCall> {
        match &self.instead {
            Instead::Method { recorded, .. } => recorded.as_ref(),
            _ => None,
        }
    }

    /// The recorded call ends later than it returns.
    pub fn follows(&self) -> bool {
        self.recorded().is_some_and(|recorded| recorded.follows)
    }

    /// When hooks run in the static method; none, if it has none.
    pub fn advice(&self) -> Advice {
        let own = match self.bound() {
            Some(_) => Advice::OWN,
            None => Advice::default(),
        };
        let pair = self
            .recorded()
            .map_or(own, |recorded| recorded.advice.with(own));
        pair.without(Advice::ROOT)
    }

    /// The symbols of a recorded call, as one text: calls with the same text have the same id.
    pub fn identity(&self) -> Option<String> {
        let recorded = self.recorded()?;
        let values = self.bound().map(|bound| &bound.values);
        Some(format!(
            "{recorded:?} {:?}{}",
            values.map_or(&[][..], |v| &**v),
            match recorded.follows {
                true => " follows",
                false => "",
            }
        ))
    }

    /// All that is called, adapters apart.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let bound = self.bound().into_iter();
        let bound = bound.flat_map(|bound| bound.all());
        bound.chain(self.replace().into_iter().map(|replace| &replace.call))
    }

    /// What a method does that has it: `calls java.io.File.delete()`.
    pub fn shown_site(&self) -> ShownSite {
        let language = self.target.language();
        let Some(placed) = self.placed() else {
            return ShownSite {
                does: "calls",
                what: self.callee.shown(language),
            };
        };
        let Point {
            kind, owner, name, ..
        } = &placed.point;
        let owner = || owner.shown(language);
        let test = || placed.test.as_ref().map(|ty| ty.shown(language));
        let (does, what) = match kind {
            PointKind::Call => ("calls", self.callee.shown(language)),
            PointKind::New => ("makes", owner()),
            PointKind::FieldGet => ("gets", format!("{}.{name}", owner())),
            PointKind::FieldSet => ("sets", format!("{}.{name}", owner())),
            PointKind::Throw => ("throws", test().unwrap_or_else(owner)),
            PointKind::Catch => ("catches", owner()),
            PointKind::Line => ("has", "the line".into()),
            PointKind::MonitorEnter => ("takes", "a lock".into()),
            PointKind::MonitorExit => ("gives up", "a lock".into()),
        };
        ShownSite { does, what }
    }

    /// For people and programs.
    pub fn shown(&self) -> Vec<ShownCall> {
        let has_target = self.callee.has_target();
        let bound = self.bound().map_or(vec![], |bound| bound.shown());
        let mut all: Vec<ShownCall> = (bound.into_iter())
            .map(|call| ShownCall {
                when: match (call.when, self.placed().map(|placed| placed.when)) {
                    ("enter", Some(Where::After)) | ("exit", _) => "after",
                    ("enter", _) => "before",
                    (when, _) => when,
                },
                ..call
            })
            .collect();
        all.extend(
            self.replace()
                .into_iter()
                .map(|replace| replace.call.shown("replace")),
        );
        for operand in all.iter_mut().flat_map(|call| &mut call.operands) {
            *operand = match self.placed() {
                None => at_call(operand, has_target),
                Some(placed) => at_point(operand, placed),
            };
        }
        all
    }
}

/// An operand that begins with an argument: its number, and the rest.
fn argument(operand: &str) -> Option<(usize, &str)> {
    let (number, rest) = operand.strip_prefix("arg(")?.split_once(')')?;
    Some((number.parse().ok()?, rest))
}

/// An argument of the static method as what it is at the point.
fn at_point(operand: &str, placed: &Placed) -> String {
    match argument(operand) {
        Some((n, rest)) => placed.shown(n) + rest,
        None => operand.to_owned(),
    }
}

/// An argument of the static method as one of the call: the first is its target.
fn at_call(operand: &str, has_target: bool) -> String {
    match argument(operand) {
        Some((0, rest)) if has_target => format!("target{rest}"),
        Some((n, rest)) if has_target => format!("arg({}){rest}", n - 1),
        _ => operand.to_owned(),
    }
}
