use super::*;
use crate::aspect::bind::ty::Language;
use crate::aspect::bind::ty::Ty;
use crate::aspect::callees::Counting;
use crate::aspect::point::PointKind;
use crate::cil::testing::SHAPES;
use std::fmt::Write;

struct Listing(String);

impl Visitor for Listing {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        let out = &mut self.0;
        let _ = write!(out, "{:?} {}", ty.access, ty.name);
        ty.details.supertypes(&mut |name| {
            let _ = write!(out, " : {name}");
        });
        ty.details.annotations(&mut |name| {
            let _ = write!(out, " @{name}");
        });
        out.push('\n');
        !ty.name.starts_with('<') && !ty.name.ends_with("d__1")
    }

    fn method(&mut self, index: u32, method: &Method<'_>) {
        const KINDS: [&str; 8] = [
            "method",
            "constructor",
            "static-init",
            "accessor",
            "bridge",
            "synthetic",
            "lambda",
            "async",
        ];
        let out = &mut self.0;
        let kinds: Vec<&str> = (0..8)
            .filter(|bit| method.kinds.0 >> bit & 1 == 1)
            .map(|bit| KINDS[bit])
            .collect();
        let _ = write!(
            out,
            "  {index} {:?} {}{} {} {}{}",
            method.access,
            method.name,
            method.descriptor,
            kinds.join("+"),
            method.size,
            if method.trivial { " trivial" } else { "" },
        );
        if !method.has_body {
            out.push_str(" no body");
        }
        let mut parts = vec![];
        method
            .details
            .parameters(&mut |ty| parts.push(ty.to_owned()));
        method.details.returns(&mut |ty| parts.push(ty.to_owned()));
        let returns = parts.pop().unwrap();
        assert_eq!(
            method.descriptor,
            format!("({}){returns}", parts.join(", "))
        );
        method.details.annotations(&mut |name| {
            let _ = write!(out, " @{name}");
        });
        out.push('\n');
    }
}

#[test]
fn types_and_methods_are_shown_as_their_author_knows_them() {
    let image = Image::parse(SHAPES).unwrap();
    let mut listing = Listing(String::new());
    scan(&image, &mut listing).unwrap();
    insta::assert_snapshot!(listing.0, @"
    Package <Module>
    Public MarkAttribute : System.Attribute @System.AttributeUsageAttribute @System.AttributeUsage
      0 Public .ctor(System.String)System.Void constructor 14
      1 Public get_Why()System.String method+accessor 7 trivial @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
    Public Acme.Shapes.IShape
      0 Public Area()System.Double method 0 no body
      1 Public get_Name()System.String method 6 trivial
    Public Acme.Shapes.Shape`1 : System.Object : Acme.Shapes.IShape : System.IComparable<Acme.Shapes.Shape<T>> : System.IComparable`1 @MarkAttribute @Mark
      0 Protected .ctor(T)System.Void constructor 25
      1 Public get_Auto()System.String method+accessor 7 trivial @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
      2 Public set_Auto(System.String)System.Void method+accessor 8 trivial @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
      3 Public get_Label()System.String method+accessor 7 trivial
      4 Public set_Label(System.String)System.Void method+accessor 8 trivial
      5 Public add_Changed(System.EventHandler)System.Void synthetic 41 @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
      6 Public remove_Changed(System.EventHandler)System.Void synthetic 41 @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
      7 Public Area()System.Double method 0 no body
      8 Public CompareTo(Acme.Shapes.Shape<T>)System.Int32 method 21
      9 Package Sum(System.Int32&, System.Int32*, System.Int32[,], System.Collections.Generic.List<System.Collections.Generic.KeyValuePair<System.String,T[]>>)System.Int32 method 39 @MarkAttribute @Mark
      10 Package Raise()System.Void method 23
      11 Private .cctor()System.Void static-init 46
    Public Acme.Shapes.Point : System.ValueType
      0 Public .ctor(System.Int32, System.Int32)System.Void constructor 15
    Package Acme.Shapes.Steps : System.Object
      0 Public Later(System.Int32)System.Threading.Tasks.Task<System.Int32> method+async 55 @System.Runtime.CompilerServices.AsyncStateMachineAttribute @System.Runtime.CompilerServices.AsyncStateMachine
      1 Public Count(System.Int32)System.Collections.Generic.IEnumerable<System.Int32> method+async 15 @System.Runtime.CompilerServices.IteratorStateMachineAttribute @System.Runtime.CompilerServices.IteratorStateMachine
      2 Public Adder(System.Int32)System.Func<System.Int32,System.Int32> method 24
      3 Public Guarded(System.String)System.Int32 method 57
    Package <PrivateImplementationDetails> : System.Object @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
    Public Acme.Shapes.Shape`1+Nested`1 : System.Object
      0 Public Walk(System.Func<T,U>, U&)System.Collections.Generic.Dictionary`2+Enumerator<T,U> method 92
      1 Public .ctor()System.Void constructor 7 trivial
      2 Package <Walk>g__Twice|0_0(System.Int32, Acme.Shapes.Shape`1+Nested`1+<>c__DisplayClass0_0<T,U>&)System.Int32 method 16 @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
    Private Acme.Shapes.Steps+<>c__DisplayClass2_0 : System.Object @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
      0 Public .ctor()System.Void synthetic 7 trivial
      1 Package <Adder>b__0(System.Int32)System.Int32 lambda 9
    Private Acme.Shapes.Steps+<Count>d__1 : System.Object : System.Collections.Generic.IEnumerable<System.Int32> : System.Collections.Generic.IEnumerable`1 : System.Collections.IEnumerable : System.Collections.Generic.IEnumerator<System.Int32> : System.Collections.Generic.IEnumerator`1 : System.IDisposable : System.Collections.IEnumerator @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
    Private Acme.Shapes.Steps+<Later>d__0 : System.ValueType : System.Runtime.CompilerServices.IAsyncStateMachine @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
      0 Private MoveNext()System.Void synthetic 155
      1 Private SetStateMachine(System.Runtime.CompilerServices.IAsyncStateMachine)System.Void synthetic 13 @System.Diagnostics.DebuggerHiddenAttribute @System.Diagnostics.DebuggerHidden
    Private <PrivateImplementationDetails>+__StaticArrayInitTypeSize=12 : System.ValueType
    Private <PrivateImplementationDetails>+__StaticArrayInitTypeSize=24 : System.ValueType
    Private Acme.Shapes.Shape`1+Nested`1+<>c__DisplayClass0_0 : System.ValueType @System.Runtime.CompilerServices.CompilerGeneratedAttribute @System.Runtime.CompilerServices.CompilerGenerated
    ");
}

/// What rules that ask for no name see of methods.
struct Unnamed {
    names: bool,
    seen: Vec<(u32, String, Kinds, bool, u32)>,
}

impl Visitor for Unnamed {
    fn wants_names(&self) -> bool {
        self.names
    }

    fn enter_type(&mut self, _: &Type<'_>) -> bool {
        true
    }

    fn method(&mut self, index: u32, m: &Method<'_>) {
        let name = m.name.to_owned();
        (self.seen).push((index, name, m.kinds, m.trivial, m.size));
    }
}

#[test]
fn methods_are_of_the_same_kind_without_their_names() {
    let seen = |bytes: &[u8], names| {
        let image = Image::parse(bytes).unwrap();
        let seen = vec![];
        let mut visitor = Unnamed { names, seen };
        scan(&image, &mut visitor).unwrap();
        visitor.seen
    };
    let library = include_bytes!("../../../runtime/dotnet/Weave.Runtime.dll");
    for bytes in [SHAPES, library] {
        let (named, unnamed) = (seen(bytes, true), seen(bytes, false));
        assert_eq!(named.len(), unnamed.len());
        for (mut a, b) in named.into_iter().zip(unnamed) {
            if b.1.is_empty() {
                a.1.clear();
            }
            assert_eq!(a, b);
        }
    }
}

#[test]
fn what_is_not_worth_a_trace_is_told_by_its_opcodes() {
    for (code, expected) in [
        (&[0x2a][..], Shape::Empty),
        (&[0x00, 0x2a], Shape::Empty),
        (&[0x14, 0x2a], Shape::Empty),
        (&[0x20, 1, 2, 3, 4, 0x2a], Shape::Empty),
        (&[2, 0x28, 1, 0, 0, 0x0a, 0x2a], Shape::Forwards),
        (&[2, 0x28, 1, 0, 0, 0x06, 0, 0, 0x2a], Shape::Forwards),
        (&[2, 0x28, 1, 0, 0, 0x0a, 0x26, 0x2a], Shape::Other),
        (&[2, 0x7b, 1, 0, 0, 4, 0x2a], Shape::Accessor),
        (
            &[0, 2, 0x7b, 1, 0, 0, 4, 0x0a, 0x2b, 0, 6, 0x2a],
            Shape::Accessor,
        ),
        (&[0, 2, 3, 0x7d, 1, 0, 0, 4, 0x2a], Shape::Accessor),
        (&[0x14, 0x7a], Shape::Other),
        (&[], Shape::Other),
    ] {
        assert_eq!(shape(code), expected, "{code:02x?}");
    }
}

#[test]
fn a_method_that_forwards_is_worth_a_trace() {
    struct Trivial(Vec<String>);
    impl Visitor for Trivial {
        fn enter_type(&mut self, ty: &Type<'_>) -> bool {
            self.0.push(ty.name.to_owned());
            true
        }
        fn method(&mut self, _: u32, m: &Method<'_>) {
            let of = self.0.last_mut().unwrap();
            of.push_str(if m.trivial { " -" } else { " +" });
            of.push_str(m.name);
        }
    }
    for build in [
        &include_bytes!("../../../tests/dotnet/fixtures/forward-debug.dll")[..],
        include_bytes!("../../../tests/dotnet/fixtures/forward-release.dll"),
    ] {
        let image = Image::parse(build).unwrap();
        let mut seen = Trivial(vec![]);
        scan(&image, &mut seen).unwrap();
        seen.0.retain(|ty| ty != "<Module>");
        assert_eq!(
            seen.0,
            [
                "Base -.ctor +Close +ReadAll +Wait +Sum",
                "Derived -.ctor -.ctor +Close",
                "Value +.ctor +Init",
            ]
        );
    }
}

/// The signatures as hooks of one's own see them.
struct Signatures(String);

impl Visitor for Signatures {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        if ty.name.starts_with('<') {
            return false;
        }
        let owner = ty.details.owner();
        let scope = owner.map(|owner| match owner.ty {
            Ty::Named(named) => format!("{} of {}", named.name, named.scope),
            other => panic!("{other:?}"),
        });
        let _ = writeln!(self.0, "{}", scope.unwrap_or_else(|| ty.name.to_owned()));
        true
    }

    fn method(&mut self, _: u32, method: &Method<'_>) {
        let out = &mut self.0;
        let Some(signature) = method.details.signature() else {
            let _ = writeln!(out, "  {}: none", method.name);
            return;
        };
        let _ = write!(
            out,
            "  {} {}",
            signature.result.shown(Language::CSharp),
            method.name
        );
        if signature.generics > 0 {
            let _ = write!(out, "<{}>", signature.generics);
        }
        out.push('(');
        if let Some(this) = signature.this {
            let _ = write!(out, "this {}; ", this.shown(Language::CSharp));
        }
        for parameter in &signature.parameters {
            let word = if parameter.out { "out " } else { "" };
            let name = parameter.name.as_deref().unwrap_or("?");
            let _ = write!(
                out,
                "{word}{} {name}, ",
                parameter.ty.shown(Language::CSharp)
            );
        }
        let _ = writeln!(out, "{})", if signature.variadic { ".." } else { "" });
        assert!(method.details.is_callable(), "{}", method.name);
    }
}

#[test]
fn signatures_are_shown_with_types() {
    let image = Image::parse(SHAPES).unwrap();
    let mut shown = Signatures(String::new());
    scan(&image, &mut shown).unwrap();
    insta::assert_snapshot!(shown.0, @"
    MarkAttribute of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      void .ctor(this MarkAttribute; string why, )
      string get_Why(this MarkAttribute; )
    Acme.Shapes.IShape of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      double Area(this Acme.Shapes.IShape; )
      string get_Name(this Acme.Shapes.IShape; )
    Acme.Shapes.Shape`1
      void .ctor(this Acme.Shapes.Shape<!0>; !0 extent, )
      string get_Auto(this Acme.Shapes.Shape<!0>; )
      void set_Auto(this Acme.Shapes.Shape<!0>; string value, )
      string get_Label(this Acme.Shapes.Shape<!0>; )
      void set_Label(this Acme.Shapes.Shape<!0>; string value, )
      void add_Changed(this Acme.Shapes.Shape<!0>; System.EventHandler value, )
      void remove_Changed(this Acme.Shapes.Shape<!0>; System.EventHandler value, )
      double Area(this Acme.Shapes.Shape<!0>; )
      int CompareTo(this Acme.Shapes.Shape<!0>; Acme.Shapes.Shape<!0> other, )
      int Sum(ref int a, int* b, int[,] c, System.Collections.Generic.List<System.Collections.Generic.KeyValuePair<string, !0[]>> d, )
      void Raise(this Acme.Shapes.Shape<!0>; )
      void .cctor()
    Acme.Shapes.Point of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      void .ctor(this ref Acme.Shapes.Point; int x, int y, )
    Acme.Shapes.Steps of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      System.Threading.Tasks.Task<int> Later(int n, )
      System.Collections.Generic.IEnumerable<int> Count(int to, )
      System.Func<int, int> Adder(int n, )
      int Guarded(string s, )
    Acme.Shapes.Shape`1+Nested`1
      System.Collections.Generic.Dictionary<!0, !1> Walk(this Acme.Shapes.Shape<!0, !1>; System.Func<!0, !1> make, ref !1 seed, )
      void .ctor(this Acme.Shapes.Shape<!0, !1>; )
      int <Walk>g__Twice|0_0(int n, ref Acme.Shapes.Shape<!0, !1> ?, )
    Acme.Shapes.Steps+<>c__DisplayClass2_0 of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      void .ctor(this Acme.Shapes.Steps.<>c__DisplayClass2_0; )
      int <Adder>b__0(this Acme.Shapes.Steps.<>c__DisplayClass2_0; int m, )
    Acme.Shapes.Steps+<Count>d__1 of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      void .ctor(this Acme.Shapes.Steps.<Count>d__1; int <>1__state, )
      void System.IDisposable.Dispose(this Acme.Shapes.Steps.<Count>d__1; )
      bool MoveNext(this Acme.Shapes.Steps.<Count>d__1; )
      int System.Collections.Generic.IEnumerator<System.Int32>.get_Current(this Acme.Shapes.Steps.<Count>d__1; )
      void System.Collections.IEnumerator.Reset(this Acme.Shapes.Steps.<Count>d__1; )
      object System.Collections.IEnumerator.get_Current(this Acme.Shapes.Steps.<Count>d__1; )
      System.Collections.Generic.IEnumerator<int> System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator(this Acme.Shapes.Steps.<Count>d__1; )
      System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator(this Acme.Shapes.Steps.<Count>d__1; )
    Acme.Shapes.Steps+<Later>d__0 of shapes, Version=0.0.0.0, Culture=neutral, PublicKeyToken=708275ba6fe63377
      void MoveNext(this ref Acme.Shapes.Steps.<Later>d__0; )
      void SetStateMachine(this ref Acme.Shapes.Steps.<Later>d__0; System.Runtime.CompilerServices.IAsyncStateMachine stateMachine, )
    Acme.Shapes.Shape`1+Nested`1+<>c__DisplayClass0_0
    ");
}

/// The type under way, and the points of all methods.
struct Points(String, Vec<String>);

impl Visitor for Points {
    fn enter_type(&mut self, ty: &Type<'_>) -> bool {
        ty.name.clone_into(&mut self.0);
        true
    }

    fn method(&mut self, _: u32, method: &Method<'_>) {
        let mut kinds = PointKinds::default();
        PointKind::ALL.iter().for_each(|kind| kinds.add(*kind));
        method.details.points(kinds, &mut |site| {
            let inner = ["", ", in its machine"][usize::from(site.details.inner() != 0)];
            let (of, kind) = (&self.0, site.kind.word());
            (self.1).push(format!("{of}.{}: {kind} {}{inner}", method.name, site.ty));
        });
    }
}

#[test]
fn points_of_a_state_machine_are_those_of_the_source() {
    for bytes in [
        &include_bytes!("../../../tests/dotnet/fixtures/steps-release.dll")[..],
        include_bytes!("../../../tests/dotnet/fixtures/steps-debug.dll"),
    ] {
        let mut points = Points(String::new(), Vec::new());
        scan(&Image::parse(bytes).unwrap(), &mut points).unwrap();
        assert_eq!(
            points.1,
            ["Steps`1.Tells: new System.Exception, in its machine"]
        );
    }
}

/// The calls that methods make, as far as rules may mean them.
struct Calls<'r> {
    rules: &'r Counting,
    seen: Vec<String>,
}

impl Visitor for Calls<'_> {
    fn enter_type(&mut self, _: &Type<'_>) -> bool {
        true
    }

    fn method(&mut self, _: u32, method: &Method<'_>) {
        let before = self.seen.len();
        method.details.calls(self.rules, &mut |call| {
            self.seen.push(format!("{} {}", method.name, call.method));
        });
        let calls = self.seen.len() > before;
        assert_eq!(method.details.may_call(self.rules), calls);
    }
}

#[test]
fn rules_about_calls_are_asked_once_for_each_method_that_is_named() {
    let image = Image::parse(SHAPES).unwrap();
    let survey = Survey::read(&image);
    let rules = Counting::of("get_Count");
    let mut calls = Calls {
        rules: &rules,
        seen: vec![],
    };
    survey.scan(0..survey.types(), &mut calls).unwrap();
    assert_eq!(
        calls.seen,
        ["Sum get_Count", "<Walk>g__Twice|0_0 get_Count"]
    );
    let rows = |table| image.metadata.tables.rows(table) as usize;
    let asked = rules.names.get();
    assert!(asked <= rows(table::METHOD_DEF) + rows(table::MEMBER_REF));
    assert!(rules.methods.get() <= 2);
    survey.scan(0..survey.types(), &mut calls).unwrap();
    assert_eq!(rules.names.get(), asked);
    assert_eq!(calls.seen.len(), 4);
}
