//! What a pointcut sees of a program: types and methods, borrowed from the artifact's bytes.
//!
//! A backend's `scan` fills these views. What costs decoding (annotations, supertypes,
//! parameter types) sits behind a trait and is asked for only by rules that need it.

use crate::aspect::advice::Reason;
use crate::aspect::bind::ty::{Language, Parameter, Signature, Ty};
use crate::aspect::callees::CallRules;
use crate::aspect::point::{EachPoint, PointKinds};
use crate::aspect::short::Knows;
use std::fmt;

/// Visibility of a type or method, in terms common to the three formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Visible everywhere.
    Public,
    /// Visible to subtypes (and, on the JVM, the package).
    Protected,
    /// Visible in the package or assembly only.
    Package,
    /// Visible in the type only.
    Private,
}

impl Access {
    /// What the Java platform's access flags mean, in class files as in dex files.
    pub const fn of_java(public: bool, private: bool, protected: bool) -> Access {
        match (public, private, protected) {
            (true, ..) => Access::Public,
            (_, true, _) => Access::Private,
            (.., true) => Access::Protected,
            _ => Access::Package,
        }
    }
}

/// What sort of method a join point is; a method can be several at once (a set of bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Kinds(pub u16);

impl Kinds {
    /// An ordinary method.
    pub const METHOD: Kinds = Kinds(1);
    /// An instance constructor.
    pub const CONSTRUCTOR: Kinds = Kinds(1 << 1);
    /// A static initialiser (`<clinit>`, `.cctor`).
    pub const STATIC_INIT: Kinds = Kinds(1 << 2);
    /// A trivial getter or setter.
    pub const ACCESSOR: Kinds = Kinds(1 << 3);
    /// A bridge that the compiler made for erasure or covariant returns.
    pub const BRIDGE: Kinds = Kinds(1 << 4);
    /// Any other method that the compiler made.
    pub const SYNTHETIC: Kinds = Kinds(1 << 5);
    /// The body of a lambda.
    pub const LAMBDA: Kinds = Kinds(1 << 6);
    /// A method that may suspend (async, iterator, coroutine).
    pub const ASYNC: Kinds = Kinds(1 << 7);

    /// What the Java platform's compilers call their methods, in class files as in dex files.
    pub fn of_java(name: &str, descriptor: &str, bridge: bool, synthetic: bool) -> Kinds {
        // javac names the bodies of lambdas `lambda$method$n`, Kotlin `method$lambda$n`.
        let is_lambda =
            name.contains('$') && (name.contains("lambda$") || name.contains("$lambda"));
        let kinds = match name {
            _ if is_lambda => Kinds::LAMBDA,
            _ if bridge => Kinds::BRIDGE,
            // One that the compiler adds, so that another class can make such an object.
            "<init>" if synthetic => Kinds::SYNTHETIC.with(Kinds::CONSTRUCTOR),
            _ if synthetic => Kinds::SYNTHETIC,
            "<init>" => Kinds::CONSTRUCTOR,
            "<clinit>" => Kinds::STATIC_INIT,
            _ => Kinds::METHOD,
        };
        // Kotlin's suspend functions take their continuation last, and return the result or a mark. What only makes or
        // resumes a continuation (`<init>`, `create`) returns something else.
        let suspends = descriptor.ends_with("Lkotlin/coroutines/Continuation;)Ljava/lang/Object;");
        match suspends {
            true => kinds.with(Kinds::ASYNC),
            false => kinds,
        }
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether the two sets share a kind.
    pub const fn intersects(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a short body does, by its opcodes alone. Backends recognise shapes in their bytecode; what follows from a shape is
/// decided here, for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing, or it returns a constant or an argument.
    Empty,
    /// It reads or writes one field.
    Accessor,
    /// It calls another method of `this` without arguments, and returns.
    Forwards,
    /// Something worth a trace.
    Other,
}

impl Shape {
    /// Whether a body of this shape does nothing worth a trace. `constructs`: it is a constructor, and a call in it is
    /// that of another one. A method that forwards hides what it calls, which may have no hooks.
    pub const fn is_trivial(self, constructs: bool) -> bool {
        match self {
            Shape::Empty | Shape::Accessor => true,
            Shape::Forwards => constructs,
            Shape::Other => false,
        }
    }
}

/// Receives names one by one; a name is in the format's own spelling of types
/// (`java/util/Map$Entry`, `int`, `byte[]`).
pub type EachName<'f> = &'f mut dyn FnMut(&str);

/// What of a type is decoded on request only.
pub trait TypeDetails {
    /// The annotations (attributes) on the type.
    fn annotations(&self, each: EachName<'_>);
    /// The base type and the interfaces that the type itself names.
    fn supertypes(&self, each: EachName<'_>);
    /// The version of the runtime that it is compiled for: of Java, .NET, or Android's API level; none where nothing says it.
    fn platform(&self) -> Option<String> {
        None
    }
    /// The type as the owner of methods that are called as hooks; none where it cannot be (.NET: a generic type).
    fn owner(&self) -> Option<Owner>;
    /// The type as the owner of members that chains ask for: a generic one (.NET) over its own type parameters.
    fn member_owner(&self) -> Option<Owner> {
        self.owner()
    }
    /// Those of its direct supertypes that have type arguments (.NET).
    fn generic_supertypes(&self) -> Vec<Ty> {
        Vec::new()
    }
    /// Of a struct (.NET): whether it is a ref struct.
    fn ref_struct(&self) -> Option<bool> {
        None
    }
    /// Only types below the one that it is nested in see it (.NET).
    fn is_hidden(&self) -> bool {
        false
    }
    /// The classes that its code may define hidden from their own bytes (JVM), and others.
    fn defines_hidden(&self, _: EachName<'_>) {}
    /// Its code walks the stack, so what its methods do may depend on who calls them.
    fn walks_stack(&self) -> bool {
        false
    }
}

/// A type whose static methods are called as hooks.
pub struct Owner {
    pub ty: Ty,
    pub is_interface: bool,
}

/// A method by its names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MethodNames<T = String> {
    pub ty: T,
    pub name: T,
    pub descriptor: T,
}

impl<T: std::ops::Deref<Target = str>> MethodNames<T> {
    pub fn as_deref(&self) -> MethodNames<&str> {
        MethodNames {
            ty: &self.ty,
            name: &self.name,
            descriptor: &self.descriptor,
        }
    }
}

/// Name and descriptor of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    pub name: String,
    pub descriptor: String,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.descriptor)
    }
}

impl From<MethodNames> for Described {
    fn from(names: MethodNames) -> Described {
        Described {
            name: names.name,
            descriptor: names.descriptor,
        }
    }
}

/// Where a source line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineStart {
    /// The place in the code, in the format's own count.
    pub at: u32,
    pub line: u32,
}

impl LineStart {
    /// The line of a place in the code; 0 where nothing says it. `lines` ascend.
    pub fn line_at(lines: &[LineStart], at: u32) -> u32 {
        let next = lines.partition_point(|start| start.at <= at);
        next.checked_sub(1).map_or(0, |place| lines[place].line)
    }
}

/// What of a method is decoded on request only.
pub trait MethodDetails {
    /// The annotations (attributes) on the method.
    fn annotations(&self, each: EachName<'_>);
    /// The declared parameter types, in order.
    fn parameters(&self, each: EachName<'_>);
    /// The declared return type (once).
    fn returns(&self, each: EachName<'_>);
    /// All of it, for hooks that take values; none where it cannot be read.
    fn signature(&self) -> Option<Signature>;
    /// Whether it may make a call that these rules mean; the same rules for all methods of a scan.
    fn may_call(&self, _: &dyn CallRules) -> bool {
        true
    }
    /// The calls that it makes and these rules may mean, in the order of its code.
    fn calls(&self, _: &dyn CallRules, _: EachCall<'_>) {}
    /// Where its source lines begin, as far as debugging information says, ascending.
    fn lines(&self) -> Vec<LineStart> {
        Vec::new()
    }
    /// Its points of these kinds, in the order of its code; calls are none of them.
    fn points(&self, _: PointKinds, _: EachPoint<'_>) {}
    /// Whether something says where its source lines are.
    fn has_lines(&self) -> bool {
        true
    }
    /// How many parameters it has, without `this`.
    fn parameter_count(&self) -> usize {
        0
    }
    /// Whether its time is bounded by its length and by the calls that it makes: no array, no lock, no backward branch, and
    /// only calls that are known. Where none is, its code is straight-line.
    fn is_bounded(&self, _: Knows<'_>) -> bool {
        false
    }
    /// Why hooks at its points cannot have its `this`, if so.
    fn lacks_this(&self) -> Option<&'static str> {
        None
    }
    /// Why its body cannot become a method of its own, if so.
    fn keeps_body(&self) -> Option<&'static str> {
        None
    }
    /// Whether all that calls of it must respect is in its signature, so that it can be called as a hook.
    fn is_callable(&self) -> bool {
        true
    }
}

/// A call that a method makes.
pub struct CallSite<'a> {
    /// Where it stands, in the format's own count.
    pub at: u32,
    /// The type that it names, in the format's own spelling.
    pub ty: &'a str,
    pub method: &'a str,
    /// Parameters and result, where the format writes them as text.
    pub descriptor: &'a str,
    /// How it calls, or why it must stay as it is.
    pub how: Result<CallHow, Reason>,
    pub details: &'a dyn CallDetails,
}

/// How a call finds its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallHow {
    /// It is a static one.
    Static,
    /// The object has it, or what its class inherits.
    Virtual,
    /// The same, of an interface.
    Interface,
    /// That very one of the object (.NET: `call`).
    Exact,
}

/// The method that a call names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Callee {
    pub owner: Ty,
    /// The owner is an interface (JVM, dex).
    pub owner_is_interface: bool,
    pub name: Box<str>,
    pub how: CallHow,
    pub parameters: Box<[Ty]>,
    pub result: Ty,
    /// The token by which the caller names it (.NET).
    pub reference: u32,
}

impl Callee {
    pub fn has_target(&self) -> bool {
        self.how != CallHow::Static
    }

    /// As hooks see it.
    pub fn signature(&self) -> Signature {
        Signature {
            this: self.has_target().then(|| self.owner.clone()),
            parameters: (self.parameters.iter())
                .map(|ty| Parameter {
                    name: None,
                    ty: ty.clone(),
                    out: false,
                })
                .collect(),
            result: self.result.clone(),
            generics: 0,
            variadic: false,
        }
    }

    /// What a static method in its place takes.
    pub fn taken(&self) -> Vec<Ty> {
        let target = self.has_target().then_some(&self.owner);
        target
            .into_iter()
            .chain(&self.parameters)
            .cloned()
            .collect()
    }

    /// `java.io.File.renameTo(java.io.File)`
    pub fn shown(&self, language: Language) -> String {
        let parameters = self.parameters.iter();
        let parameters: Vec<String> = parameters.map(|ty| ty.shown(language)).collect();
        format!(
            "{}.{}({})",
            self.owner.shown(language),
            self.name,
            parameters.join(", ")
        )
    }
}

/// What of a call is decoded on request only.
pub trait CallDetails {
    /// The declared types of the parameters, in order.
    fn parameters(&self, each: EachName<'_>);
    /// What is called; none where it has no such signature that others can call it by.
    fn callee(&self) -> Option<Callee>;
    /// Whom it lets make the call, as far as its artifact says (.NET).
    fn callers(&self) -> Callers {
        Callers::All
    }
    /// What symbols say of parameters and result, where [`CallSite::descriptor`] does not.
    fn described(&self) -> Option<String> {
        None
    }
}

/// Who may make a call, as far as an artifact says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callers {
    /// All of it.
    All,
    /// Some of its types.
    Some,
    /// All, unless what is called is protected: what makes the call lies below these types of other artifacts.
    Below(Vec<String>),
}

/// Receives calls one by one.
pub type EachCall<'f> = &'f mut dyn FnMut(&CallSite<'_>);

/// A type that declares methods.
pub struct Type<'a> {
    /// Full name in the format's own spelling (`com/acme/Outer$Inner`).
    pub name: &'a str,
    /// Declared visibility.
    pub access: Access,
    /// The rest, on request.
    pub details: &'a dyn TypeDetails,
}

/// A method of the type that was entered last.
pub struct Method<'a> {
    /// Simple name; constructors and static initialisers have the format's special names.
    pub name: &'a str,
    /// Parameters and return type as the format writes them (`(ILjava/lang/String;)V`);
    /// with type and name it identifies the method.
    pub descriptor: &'a str,
    /// Declared visibility.
    pub access: Access,
    /// What sort of method it is.
    pub kinds: Kinds,
    /// Whether there is a body at all (not abstract, not native).
    pub has_body: bool,
    /// Bytes of code.
    pub size: u32,
    /// The body does nothing worth a trace: empty, or a mere field read or write.
    pub trivial: bool,
    /// The rest, on request.
    pub details: &'a dyn MethodDetails,
}

/// A field of each object of the type that was entered last.
pub struct Field<'a> {
    pub name: &'a str,
    /// Declared visibility.
    pub access: Access,
    /// What it holds; none where it cannot be read.
    pub ty: &'a dyn Fn() -> Option<Ty>,
}

/// Walks a program's types and their methods; every backend's `scan` drives one.
pub trait Visitor {
    /// Whether methods are to be shown with their descriptors; else a scan may leave them empty where it
    /// would have to make them up.
    fn wants_descriptors(&self) -> bool {
        true
    }
    /// Whether methods are to be shown with their names; else a scan may leave a name empty that says nothing of what
    /// kind of method it is.
    fn wants_names(&self) -> bool {
        true
    }
    /// A type begins. `false` passes its methods over.
    fn enter_type(&mut self, ty: &Type<'_>) -> bool;
    /// Whether the fields of that type are to be shown, before its methods.
    fn wants_fields(&self) -> bool {
        false
    }
    /// A field of that type.
    fn field(&mut self, _: &Field<'_>) {}
    /// A method of that type; `index` numbers methods as the format does.
    fn method(&mut self, index: u32, method: &Method<'_>);
}
