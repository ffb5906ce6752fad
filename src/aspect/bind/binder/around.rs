//! Hooks instead of a body, and what runs that.

use super::super::call::Proceed;
use super::super::functional::{Function, Unfit, delegate, function};
use super::*;

/// Most words of arguments that an object can keep: invokedynamic and the method that makes it take two of the JVM's 255.
const MOST_KEPT: usize = 253;

/// Whether the rule passes over methods whose bodies nothing can run.
pub(super) fn passes_over(written: &OwnHook) -> bool {
    let mut operands = written.call.operands.iter();
    operands.any(|operand| operand.word == Word::Proceed && operand.optional)
}

impl Binding<'_> {
    /// The call of a hook instead of the body; none where the rule passes over the method (`proceed?`). It has no guard: there the
    /// hook is the program.
    pub(super) fn around(&mut self, written: &OwnHook) -> Result<Option<Call>, Misfit> {
        self.when = When::Around;
        if let Some((title, help)) = self.keeps_body() {
            if passes_over(written) {
                return Ok(None);
            }
            return Err(self.complains(written.name.clone(), title, "for", help));
        }
        if let Some(place) = asked_for(written) {
            return Err(self.complains(
                place,
                "`around` does not take chains yet".into(),
                "of",
                Some("read the value in the hook".into()),
            ));
        }
        let mut call = self.plain_call(written, &mut Keep::default())?;
        let wanted = &self.subject.signature.result;
        if *wanted == Ty::Void {
            return Ok(Some(call));
        }
        let how = match self.given(written, &call, wanted) {
            Ok(how) => how,
            Err(_) if self.is_cast(&call.gives(), wanted) => Convert::Cast,
            Err(misfit) => return Err(misfit),
        };
        call.given = Some((how, wanted.clone()));
        call.dest = Dest::Returned;
        Ok(Some(call))
    }

    /// Why the body of the method at hand cannot be left out or run by an object, and what to do.
    fn keeps_body(&self) -> Option<(String, Option<String>)> {
        let subject = self.subject;
        let words = |ty: &Ty| 1 + usize::from(matches!(ty, Ty::Prim(Prim::I64 | Prim::F64)));
        let parameters = subject.signature.parameters.iter();
        let words: usize = parameters.map(|p| words(&p.ty)).sum();
        let words = words + usize::from(subject.signature.this.is_some());
        let help = |text: &str| Some(text.to_owned());
        match subject.name {
            "<init>" | ".ctor" => Some((
                "a constructor cannot have `around`".into(),
                help("`kind = \"method\"` matches no constructors, and `proceed?` skips them"),
            )),
            "<clinit>" | ".cctor" => Some((
                "a static initialiser cannot have `around`".into(),
                help("exclude it with `exclude`, or by `proceed?`"),
            )),
            _ if subject.is_async && self.binder.target.language() == Language::Java => Some((
                "`proceed` cannot run a method that ends after it returns yet".into(),
                help("exclude it with `exclude`, or by `proceed?`"),
            )),
            _ if words > MOST_KEPT && self.binder.target.language() == Language::Java => Some((
                format!("`proceed` keeps at most {MOST_KEPT} words of arguments"),
                help("exclude it with `exclude`, or by `proceed?`"),
            )),
            _ => {
                let title = subject.keeps_body?.to_owned();
                Some((title, help("exclude it with `exclude`, or by `proceed?`")))
            }
        }
    }

    /// Whether a hook's result becomes the method's by a cast: one that serves many methods returns an object.
    fn is_cast(&self, gives: &Ty, wanted: &Ty) -> bool {
        let holds = |prim: Prim| {
            convert(self.binder.hierarchy, &Ty::Prim(prim), gives, &mut vec![])
                .is_ok_and(|(fit, _)| fit == Fit::Boxing)
        };
        match wanted {
            Ty::Prim(prim) => gives.is_reference() && holds(*prim),
            Ty::Named(named) if named.value => is_object(gives) && !named.by_ref_like,
            Ty::Param { .. } => is_object(gives),
            _ => is_object(gives) && wanted.is_reference(),
        }
    }

    /// What runs the body, as an object of a type; and how near that is to the method.
    /// The type arguments of a generic hook (.NET) are inferred by what the body takes and gives.
    pub(super) fn proceed(&self, to: &Ty, inferred: &mut Inferred) -> Result<(Fit, Proceed), Why> {
        let function = self.function(to).map_err(|unfit| match unfit {
            Unfit::Unknown => Why::Unknown,
            _ => Why::Other,
        })?;
        let signature = self.subject.signature;
        let mut fit = self.runs(&signature.result, &function.result, inferred)?;
        let takes_arguments = !function.parameters.is_empty();
        if takes_arguments {
            if function.parameters.len() != signature.parameters.len() {
                return Err(Why::Other);
            }
            for (parameter, taken) in signature.parameters.iter().zip(&function.parameters) {
                fit = fit.max(self.takes(&parameter.ty, taken, inferred)?);
            }
        }
        let proceed = Proceed {
            ty: to.clone(),
            function,
            takes_arguments,
        };
        Ok((fit, proceed))
    }

    fn function(&self, ty: &Ty) -> Result<Function, Unfit> {
        let above = &self.binder.hierarchy.supertypes;
        if let (Ty::Named(named), Language::CSharp) = (ty, self.binder.target.language()) {
            let is_known = |name: &str| above.contains_key(name);
            return delegate(self.binder.catalog.interfaces(), &is_known, named);
        }
        let Some(name) = ty.name() else {
            return Err(Unfit::Other);
        };
        let supertypes = |name: &str| above.get(name).map(|above| &**above);
        function(self.binder.catalog.interfaces(), &supertypes, name)
    }

    /// How near the result of a function is to that of the method. One of a method without a result is null.
    fn runs(&self, result: &Ty, given: &Ty, inferred: &mut Inferred) -> Result<Fit, Why> {
        let hierarchy = self.binder.hierarchy;
        match (result, given) {
            (Ty::Void, Ty::Void) => Ok(Fit::Identity),
            (Ty::Void, given) if given.is_reference() => Ok(Fit::Boxing),
            (
                Ty::Void,
                Ty::Param {
                    of_method: true, ..
                },
            ) => convert(hierarchy, &self.object(), given, inferred).map(|_| Fit::Boxing),
            (_, Ty::Void) | (Ty::Void, _) => Err(Why::Other),
            (Ty::Prim(a), Ty::Prim(b)) if a != b => Err(Why::Other),
            _ => convert(hierarchy, result, given, inferred).map(|(fit, _)| fit),
        }
    }

    /// The same of a parameter. What takes any object is called with those that the method takes, which is checked as it runs.
    fn takes(&self, parameter: &Ty, taken: &Ty, inferred: &mut Inferred) -> Result<Fit, Why> {
        match self.runs(parameter, taken, inferred)? {
            Fit::Identity => Ok(Fit::Identity),
            _ => Ok(Fit::Boxing),
        }
    }

    /// A hook asks for what cannot run the body.
    pub(super) fn no_proceed(&self, place: Range<usize>, ty: &Ty) -> Misfit {
        let shown = self.shown_type(ty);
        let types = |types: &mut dyn Iterator<Item = &Ty>| {
            let types: Vec<String> = types.map(|ty| self.shown_type(ty)).collect();
            types.join(", ")
        };
        let is_java = self.binder.target.language() == Language::Java;
        let (title, help) = match self.function(ty) {
            Err(Unfit::Unknown) => (
                format!("nothing says which method {} has", article(&shown)),
                format!(
                    "name the {} that has it with --reference",
                    if is_java { "jar" } else { "assembly" }
                ),
            ),
            Err(Unfit::NotPublic) => (
                format!("`{shown}` is not public"),
                "make it public: woven code makes an object of it".to_owned(),
            ),
            Err(Unfit::Other) if !is_java => (
                format!("`{shown}` is no delegate"),
                "`System.Func<T>`, `System.Action`, or one of your own".to_owned(),
            ),
            Err(Unfit::Other) => (
                format!("`{shown}` is no interface with one method"),
                "`java.util.function.Supplier`, `java.lang.Runnable`, or one of your own"
                    .to_owned(),
            ),
            Ok(function) => {
                let signature = self.subject.signature;
                let mut own = signature.parameters.iter().map(|p| &p.ty);
                let result = self.shown_type(&signature.result);
                (
                    format!(
                        "`{}` is `{} {}({})`, which does not run the method",
                        shown,
                        self.shown_type(&function.result),
                        function.name,
                        types(&mut function.parameters.iter())
                    ),
                    format!(
                        "its one method takes nothing or ({}), and gives {} or an object",
                        types(&mut own),
                        if result == "void" { "nothing" } else { &result }
                    ),
                )
            }
        };
        self.complains(place, title, "of", Some(help))
    }
}
