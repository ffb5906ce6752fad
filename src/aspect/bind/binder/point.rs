//! Hooks at points inside methods: a static method for each, which takes what they ask for.

use super::super::catalog::spellings;
use super::super::site::Where;
use super::super::ty::Parameter;
use super::*;
use crate::aspect::advice::Reason;
use crate::aspect::joinpoint::CallHow;
use crate::aspect::point::{Point, PointKind};
use crate::aspect::rules::model::Thrown;

/// A point, and the method that has it.
#[derive(Clone, Copy)]
pub struct AtPoint<'a> {
    pub point: &'a Point,
    pub when: Where,
    /// What the hooks of the aspect at hand take.
    pub passed: &'a [Passed],
    /// The type of the method's object; a static one has none.
    pub this: Option<&'a Ty>,
    /// Why it is not there, if it has one.
    pub lacks_this: Option<&'static str>,
    /// What is thrown, if not anything.
    pub thrown: Option<&'a Ty>,
    /// The method that has the point, where a hook asks for it.
    pub caller: Option<&'a str>,
    /// For messages.
    pub shown: &'a str,
}

impl Point {
    /// What hooks see as arguments: a constructor's.
    fn signature(&self) -> Signature {
        let arguments = match self.kind {
            PointKind::New => &*self.takes,
            _ => &[],
        };
        let parameters = arguments.iter().map(|ty| Parameter {
            name: None,
            ty: Point::given(ty).unwrap_or_else(|_| ty.clone()),
            out: false,
        });
        Signature {
            this: None,
            parameters: parameters.collect(),
            result: self.result.clone(),
            generics: 0,
            variadic: false,
        }
    }
}

impl AtPoint<'_> {
    /// Why a word has no value here, and what helps; `None` for those of a constructor, of a class, and constants.
    fn has_no(&self, word: &Word) -> Option<(String, Option<&'static str>)> {
        let kind = self.point.kind;
        let point = kind.word();
        let side = match self.when {
            Where::After => "behind",
            _ => "in front of",
        };
        let has_none = |word: &str| format!("`{word}` has no value {side} a point of `{point}`");
        let never = |word: &str| format!("`{word}` is not available at points other than calls");
        let args_help = match kind {
            PointKind::FieldGet => "there are `target`, `field`, and behind it `result`",
            PointKind::FieldSet => "there are `target`, `value`, `field`",
            PointKind::Throw | PointKind::Catch => "there is `exception`",
            PointKind::MonitorEnter | PointKind::MonitorExit => "there is `target`",
            _ => "there are `this`, `line`, `type`, `method`, `signature`",
        };
        Some(match word {
            Word::Target if kind.is_field() && !self.point.has_target => (
                "a static field has no `target`".into(),
                Some("`target?` is null there"),
            ),
            Word::Target => (format!("a point of `{point}` has no `target`"), None),
            Word::This => (
                self.lacks_this
                    .unwrap_or("a static method has no `this`")
                    .into(),
                Some("`this?` is null there"),
            ),
            Word::Named(name) if kind != PointKind::New => (has_none(name), Some(args_help)),
            Word::Args | Word::EachArg | Word::Arg(_) if kind != PointKind::New => (
                format!("a point of `{point}` has no arguments"),
                Some(args_help),
            ),
            Word::Result => (has_none("result"), None),
            Word::Exception => (has_none("exception"), None),
            Word::State => (never("state"), None),
            Word::Duration => (never("duration"), None),
            Word::Id => (never("id"), None),
            _ => return None,
        })
    }

    /// What the exception must be, and nothing else says.
    fn test(&self) -> Option<&Ty> {
        match self.point.kind {
            PointKind::Throw => self.thrown,
            PointKind::Catch if self.point.is_tested => Some(&self.point.owner),
            _ => None,
        }
    }

    /// The type of what is passed; none of a text.
    fn type_of(&self, passed: Passed) -> Option<Ty> {
        match passed {
            Passed::Stack(n) => Some(match self.test() {
                Some(test) => test.clone(),
                None => self.given(&self.point.takes[usize::from(n)]),
            }),
            Passed::Result => Some(self.given(&self.point.result)),
            Passed::This => self.this.cloned(),
            Passed::Line => Some(Ty::Prim(Prim::I32)),
            Passed::Type | Passed::Method | Passed::Signature => None,
        }
    }

    fn given(&self, ty: &Ty) -> Ty {
        Point::given(ty).unwrap_or_else(|_| ty.clone())
    }

    /// Why the hooks of an aspect cannot have what they ask for, if so: a static method takes it.
    pub fn lacks(&self, own: &OwnHooks) -> Option<Reason> {
        let Point {
            takes,
            result,
            has_target,
            ..
        } = self.point;
        let reason = |passed: &Passed| {
            let (ty, is_target) = match passed {
                Passed::Stack(n) => (&takes[usize::from(*n)], *n == 0 && *has_target),
                Passed::Result => (result, false),
                _ => return None,
            };
            match (Point::given(ty).err()?, is_target) {
                (Reason::Unsupported, true) => Some(Reason::PointOfStruct),
                (reason, _) => Some(reason),
            }
        };
        // What takes its place gives just what it does.
        if own.replace.is_some() && *result != Ty::Void {
            match Point::given(result) {
                Err(reason) => return Some(reason),
                Ok(given) if given != *result => return Some(Reason::PointOfGeneric),
                Ok(_) => {}
            }
        }
        [
            (Where::Before, &*own.enter),
            (Where::After, &*own.exit),
            (Where::Replace, own.replace.as_slice()),
        ]
        .into_iter()
        .filter(|(_, hooks)| !hooks.is_empty())
        .find_map(|(when, hooks)| {
            let at = AtPoint { when, ..*self };
            at.passed(hooks.iter()).iter().find_map(reason)
        })
    }

    /// What a word is among what can be passed.
    fn passed_by(&self, word: &Word, passed: &mut Vec<Passed>) {
        let Point {
            kind,
            takes,
            has_target,
            ..
        } = self.point;
        let is_after = self.when == Where::After;
        let last = takes.len().saturating_sub(1) as u16;
        match (word, kind) {
            (Word::Target, _) if *has_target => passed.push(Passed::Stack(0)),
            (Word::Args | Word::EachArg, PointKind::New) => {
                passed.extend((0..takes.len() as u16).map(Passed::Stack));
            }
            (Word::Arg(n), PointKind::New) if usize::from(*n) < takes.len() => {
                passed.push(Passed::Stack(*n));
            }
            (Word::Named(name), PointKind::FieldSet) if name == VALUE => {
                passed.push(Passed::Stack(last));
            }
            (Word::Named(name), PointKind::FieldGet) if name == VALUE && is_after => {
                passed.push(Passed::Result);
            }
            (Word::Result, PointKind::FieldGet | PointKind::New) if is_after => {
                passed.push(Passed::Result);
            }
            (Word::Exception, PointKind::Throw | PointKind::Catch) => {
                passed.push(Passed::Stack(0));
            }
            (Word::This, _) if self.this.is_some() => passed.push(Passed::This),
            (Word::Line, _) => passed.push(Passed::Line),
            // Those of a new object are its constructor's.
            (_, PointKind::New) => {}
            (Word::Type, _) => passed.push(Passed::Type),
            (Word::Method, _) => passed.push(Passed::Method),
            (Word::Signature, _) => passed.push(Passed::Signature),
            _ => {}
        }
    }

    /// What hooks take, in the order in which it is passed.
    fn passed<'h>(&self, hooks: impl Iterator<Item = &'h OwnHook>) -> Vec<Passed> {
        let mut passed = Vec::new();
        if self.when == Where::Replace {
            passed.extend((0..self.point.takes.len() as u16).map(Passed::Stack));
        } else if self.test().is_some() {
            passed.push(Passed::Stack(0));
        }
        for hook in hooks {
            let operands = hook.call.operands.iter();
            for operand in operands.flat_map(HookOperand::parts) {
                self.passed_by(&operand.word, &mut passed);
            }
        }
        let order = |passed: &Passed| match passed {
            Passed::Stack(n) => u32::from(*n),
            Passed::Result => 1 << 16,
            Passed::This => 2 << 16,
            Passed::Line => 3 << 16,
            Passed::Type => 4 << 16,
            Passed::Method => 5 << 16,
            Passed::Signature => 6 << 16,
        };
        passed.sort_by_key(order);
        passed.dedup();
        passed
    }
}

impl AtPoint<'_> {
    /// What is wrong with an aspect here.
    fn misfit(&self, aspect: Meets<'_>, span: Range<usize>, title: &str, help: &str) -> Misfit {
        Misfit {
            source: Arc::clone(&aspect.hooks.source),
            span,
            title: title.to_owned(),
            what: "at".into(),
            method: self.shown.to_owned(),
            help: Some(help.to_owned()),
        }
    }
}

/// What a field holds, or gets.
const VALUE: &str = "value";

/// Type and name of a field.
const FIELD: &str = "field";

impl Binder<'_> {
    /// What is called at a point for one aspect, in the order in which it is put there: in front of it, behind it, or in its place.
    /// `at` says nothing of what is passed yet.
    pub fn bind_point(
        &self,
        aspect: Meets<'_>,
        at: &AtPoint<'_>,
        home: Home<'_>,
    ) -> Result<Vec<Redirect>, Vec<Misfit>> {
        let own = aspect.hooks;
        let mut all = Vec::new();
        for (when, hooks) in [
            (Where::Before, &*own.enter),
            (Where::After, &*own.exit),
            (Where::Replace, own.replace.as_slice()),
        ] {
            if hooks.is_empty() {
                continue;
            }
            let at = AtPoint { when, ..*at };
            let passed = at.passed(hooks.iter());
            let at = AtPoint {
                passed: &passed,
                ..at
            };
            let owner = match &at.point.owner {
                Ty::Named(named) => &*named.name,
                _ => "",
            };
            let signature = at.point.signature();
            let subject = Subject {
                at: Some(&at),
                ..Subject::new(owner, &at.point.name, &signature, home)
            };
            all.push(self.placed(aspect, &subject, &at, hooks)?);
        }
        Ok(all)
    }

    fn placed(
        &self,
        aspect: Meets<'_>,
        subject: &Subject<'_>,
        at: &AtPoint<'_>,
        hooks: &[OwnHook],
    ) -> Result<Redirect, Vec<Misfit>> {
        let mut binding = Binding::new(self, subject, aspect, false);
        let text = binding.string();
        let types = (at.passed.iter()).map(|one| at.type_of(*one).unwrap_or_else(|| text.clone()));
        let point = at.point;
        let callee = Callee {
            owner: point.owner.clone(),
            owner_is_interface: false,
            name: format!("{}{}", point.kind.word(), point.name).into(),
            how: CallHow::Static,
            parameters: types.collect(),
            result: match at.when {
                Where::Replace => point.result.clone(),
                _ => Ty::Void,
            },
            reference: point.reference,
        };
        let placed = Placed {
            point: point.clone(),
            when: at.when,
            passed: at.passed.into(),
            test: at.test().cloned(),
        };
        let instead = match at.when {
            Where::Replace => {
                let replacement = binding.replacement(&callee);
                let replace = replacement.map_err(|misfit| vec![misfit])?;
                match replace.takes_over(&callee) {
                    true => Instead::HookAt(placed, replace),
                    false => {
                        let parts = Parts {
                            replace: Some(&replace),
                            ..Parts::default()
                        };
                        let adapters = subject.home.adapters;
                        Instead::ReplaceAt {
                            class: redirect_class(adapters, &callee, parts, Some(&placed)),
                            placed,
                            replace,
                        }
                    }
                }
            }
            Where::Before | Where::After => {
                let (mut layer, mut wrong) = (Layer::default(), Vec::new());
                for written in hooks {
                    match binding.hook(written, 0, &mut layer.keep) {
                        Ok(None) => {}
                        Ok(Some(call)) => {
                            layer.enter.append(&mut binding.chains);
                            layer.enter.push(call);
                        }
                        Err(misfit) => wrong.push(misfit),
                    }
                }
                if !wrong.is_empty() {
                    return Err(wrong);
                }
                let bound = Arc::new(layer.bound(Records::default()));
                let parts = Parts {
                    bound: Some(&bound),
                    ..Parts::default()
                };
                let adapters = subject.home.adapters;
                Instead::HooksAt {
                    class: redirect_class(adapters, &callee, parts, Some(&placed)),
                    placed,
                    bound,
                }
            }
        };
        Ok(Redirect {
            target: self.target,
            callee,
            instead,
        })
    }

    /// The type of what is thrown, for code that looks for it: none if all is. `Err`: what is wrong with it.
    pub fn thrown(&self, thrown: &Thrown) -> Result<Option<Ty>, String> {
        let name = &*thrown.name;
        if ["java.lang.Throwable", "System.Exception"].contains(&name) {
            return Ok(None);
        }
        let is_known = |spelt: &String| {
            self.catalog.declared(spelt).is_some() || self.hierarchy.above(spelt).is_some()
        };
        let spelt = spellings(name).find(is_known);
        let spelt = spelt.unwrap_or_else(|| match self.target.language() {
            Language::Java => name.replace('.', "/"),
            Language::CSharp => name.to_owned(),
        });
        match self.catalog.declared(&spelt) {
            Some(declared) if !declared.is_public && self.target.language() == Language::Java => {
                Err(format!(
                    "`{name}` is not public: the code that tests for it is in another package"
                ))
            }
            _ => Ok(Some(Ty::class(&spelt))),
        }
    }

    /// What is thrown cannot be looked for.
    pub fn unknown_thrown(&self, aspect: Meets<'_>, at: &AtPoint<'_>, title: &str) -> Misfit {
        let thrown = aspect.hooks.at.as_ref().and_then(|at| at.thrown.as_ref());
        let span = thrown.map_or(0..0, |thrown| thrown.span.clone());
        at.misfit(aspect, span, title, "name a public type above it")
    }

    /// Two aspects replace one point.
    pub fn replaced_twice(&self, aspect: Meets<'_>, at: &AtPoint<'_>) -> Misfit {
        let written = aspect.hooks.replace.as_ref();
        let span = written.map_or(0..0, |written| written.name.clone());
        let help = "narrow `at` or `match` of one of them";
        at.misfit(aspect, span, "two aspects replace the same point", help)
    }
}

impl Binding<'_> {
    /// The type that a value has where this one is asked for: what is thrown and caught is an exception, whatever is known of it.
    pub(super) fn seen_as<'t>(&self, value: &'t Value, to: &'t Ty) -> &'t Ty {
        let is_exception = self.subject.at.is_some_and(|at| {
            let is_of_it = matches!(at.point.kind, PointKind::Throw | PointKind::Catch);
            is_of_it
                && value.source == Source::Arg(0)
                && at.passed.first() == Some(&Passed::Stack(0))
        });
        match is_exception && *to == self.throwable() {
            true => to,
            false => &value.ty,
        }
    }

    /// What an operand means at a point; none where it means what it does elsewhere.
    pub(super) fn meant_at(
        &self,
        at: &AtPoint<'_>,
        operand: &HookOperand,
        place: &Range<usize>,
    ) -> Option<Result<Meant, Misfit>> {
        let mut passed = Vec::new();
        at.passed_by(&operand.word, &mut passed);
        let is_single = !matches!(operand.word, Word::Args | Word::EachArg | Word::Arg(_));
        if let ([one], true) = (&*passed, is_single) {
            let n = place_of(at.passed, *one)?;
            let ty = at.type_of(*one).unwrap_or_else(|| self.string());
            return Some(given(Source::Arg(n), ty));
        }
        match &operand.word {
            Word::Named(name) if name == CALLER => {
                Some(self.given_text(at.caller.unwrap_or_default()))
            }
            Word::Named(name) if name == FIELD && at.point.kind.is_field() => {
                let owner = match &at.point.owner {
                    Ty::Named(named) if !named.args.is_empty() => Ty::class(&named.name),
                    owner => owner.clone(),
                };
                let field = format!("{}.{}", self.shown_type(&owner), at.point.name);
                Some(self.given_text(&field))
            }
            word => {
                let (title, help) = at.has_no(word)?;
                Some(self.absent((operand, place), title, "at", help))
            }
        }
    }
}
