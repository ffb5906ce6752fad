//! What the words of a rule mean for a method.

use super::*;

impl Binding<'_> {
    /// What an operand means for the method at hand.
    pub(in crate::aspect::bind) fn meant(
        &self,
        operand: &HookOperand,
        place: &Range<usize>,
    ) -> Result<Meant, Misfit> {
        if let Some(at) = self.subject.at
            && let Some(meant) = self.meant_at(at, operand, place)
        {
            return meant;
        }
        match &operand.word {
            Word::This | Word::Id if self.subject.is_call => {
                let word = match operand.word {
                    Word::This => "this",
                    _ => "id",
                };
                Err(self.complains(
                    place.clone(),
                    format!("`{word}` of the calling method is not supported at calls yet"),
                    "of",
                    Some(
                        "at a call there are `target`, `args`, `arg(n)`, `result`, `method`, `type`, `signature`, `caller`, `line`".into(),
                    ),
                ))
            }
            Word::This | Word::Target => self.meant_object(operand, place),
            Word::Arg(_) | Word::Named(_) | Word::Args | Word::EachArg => {
                self.meant_argument(operand, place)
            }
            Word::Result | Word::Exception | Word::Proceed | Word::State | Word::Duration => {
                self.meant_of_run(operand, place)
            }
            Word::Method => self.given_text(self.subject.name),
            Word::Type => self.given_text(&dotted(self.subject.ty)),
            Word::Signature => self.given_text(&self.shown_parameters(self.subject.signature)),
            Word::Artifact => self.given_text(self.subject.home.artifact),
            Word::Line if self.subject.is_call => {
                let line = self.subject.line.cast_signed();
                given(Source::Int(line), Ty::Prim(Prim::I32))
            }
            Word::Line => given(Source::Line, Ty::Prim(Prim::I32)),
            Word::Id => given(Source::Id, Ty::Prim(Prim::I32)),
            Word::Kept(place) => {
                let kept = self.taken.iter().find(|kept| kept.place == *place);
                let ty = kept.map_or_else(|| self.string(), |kept| kept.ty.clone());
                given(Source::State(*place), ty)
            }
            Word::Null => Ok(Meant::Nothing),
            Word::Int(_) | Word::Double(_) | Word::Text(_) | Word::Bool(_) => {
                Ok(Meant::Constant(operand.word.clone()))
            }
            Word::End(_) => Err(self.complains(
                place.clone(),
                "`end(..)` is only for recorded values".into(),
                "for",
                Some("a hook at `exit` reads values when the method ends".into()),
            )),
            Word::Call(_) | Word::First(_) | Word::TextOf(_) => {
                unreachable!("what is made of others is bound by `value`")
            }
        }
    }

    /// The error, or `None` where the rule has `?`.
    pub(super) fn absent(
        &self,
        (operand, place): (&HookOperand, &Range<usize>),
        title: impl Into<String>,
        what: &str,
        help: Option<&str>,
    ) -> Result<Meant, Misfit> {
        match operand.optional {
            true => Ok(Meant::Nothing),
            false => {
                let help = help.map(str::to_owned);
                Err(self.complains(place.clone(), title.into(), what, help))
            }
        }
    }

    pub(super) fn given_text(&self, text: &str) -> Result<Meant, Misfit> {
        given(Source::Text(text.into()), self.string())
    }

    /// `this` and `target`.
    fn meant_object(&self, operand: &HookOperand, place: &Range<usize>) -> Result<Meant, Misfit> {
        let this = &self.subject.signature.this;
        let asked = (operand, place);
        let is_target = operand.word == Word::Target;
        match this {
            _ if is_target && !self.subject.is_call => Err(self.complains(
                place.clone(),
                "`target` is only available at calls".into(),
                "this rule is for the method",
                Some("the method's own object is `this`; calls are named with `at`".into()),
            )),
            Some(ty) if is_target => given(Source::Arg(0), ty.clone()),
            Some(ty) => given(Source::This, ty.clone()),
            None if is_target => self.absent(
                asked,
                "a static method has no `target`",
                "of the static",
                Some("`target?` is null there"),
            ),
            None => self.absent(
                asked,
                "a static method has no `this`",
                "in the static",
                Some("`this?` is null there"),
            ),
        }
    }

    /// An argument by its number or name, or all of them.
    fn meant_argument(&self, operand: &HookOperand, place: &Range<usize>) -> Result<Meant, Misfit> {
        let parameters = &self.subject.signature.parameters;
        let asked = (operand, place);
        match &operand.word {
            Word::Arg(n) => match parameters.get(usize::from(*n)) {
                Some(_) => self.argument(*n, operand, place),
                None => self.absent(
                    asked,
                    format!("there is no `arg({n})`"),
                    &format!("of {} in", counted(parameters.len())),
                    Some("`?` behind it makes it null or zero there"),
                ),
            },
            Word::Named(name) if self.subject.is_call && name == CALLER => {
                self.given_text(self.subject.caller.unwrap_or_default())
            }
            Word::Named(name) => {
                let named = (parameters.iter()).position(|p| p.name.as_deref() == Some(name));
                if let Some(n) = named {
                    return self.argument(n as u16, operand, place);
                }
                if !parameters.is_empty() && parameters.iter().all(|p| p.name.is_none()) {
                    return self.absent(
                        asked,
                        format!("parameters have no names here, so `{name}` is unknown"),
                        "in",
                        Some(
                            "compile with debug information (javac -g or -parameters), or write `arg(n)`",
                        ),
                    );
                }
                self.absent(
                    asked,
                    format!("no parameter is named `{name}`"),
                    "in",
                    Some("`?` behind it makes it null or zero there"),
                )
            }
            Word::Args => Ok(Meant::Args {
                optional: operand.optional,
            }),
            // `args..` stands for several operands.
            _ => Err(self.complains(
                place.clone(),
                "`args..` is not one value".into(),
                "in",
                Some("`args` is an array of all arguments".into()),
            )),
        }
    }

    /// What there is of a call that runs or has ended: its result or exception, its state and time, its body.
    fn meant_of_run(&self, operand: &HookOperand, place: &Range<usize>) -> Result<Meant, Misfit> {
        let asked = (operand, place);
        let too_early = |word: &str| {
            let title = format!("`{word}` has no value {}", self.moment());
            self.absent(asked, title, "in", None)
        };
        match (&operand.word, self.when) {
            (Word::Result, When::Exit) => match &self.subject.signature.result {
                Ty::Void => self.absent(
                    asked,
                    "a method without a result has no `result`",
                    "in",
                    Some("`result?` is null there"),
                ),
                ty => given(Source::Result, ty.clone()),
            },
            (Word::Result, _) => too_early("result"),
            (Word::Exception, When::Exception) => given(Source::Exception, self.throwable()),
            (Word::Exception, _) => too_early("exception"),
            (Word::Proceed, When::Around) => Ok(Meant::Proceed),
            (Word::Proceed, _) => Err(self.complains(
                place.clone(),
                "`proceed` is only available in `around`".into(),
                "for",
                Some("`around = \"acme.Retry.run(proceed, 3)\"`".into()),
            )),
            (Word::Duration, When::Enter | When::Around) => too_early("duration"),
            (Word::Duration, _) => given(Source::Duration, Ty::Prim(Prim::I64)),
            (_, When::Around) => self.absent(
                asked,
                "`state` is not available in `around`",
                "for",
                Some("keep values in variables of the hook"),
            ),
            // The error about the enter hook says enough.
            _ if self.enter_failed => Ok(Meant::Nothing),
            (_, when) => match &self.state {
                Some(state) if matches!(when, When::Exit | When::Exception) => {
                    given(Source::State(UNPLACED), state.ty.clone())
                }
                _ => {
                    let title = format!(
                        "`state` has no value: no `enter` of `{}` returns one",
                        self.aspect.name
                    );
                    self.absent(asked, title, "for", None)
                }
            },
        }
    }

    pub(super) fn argument(
        &self,
        n: u16,
        operand: &HookOperand,
        place: &Range<usize>,
    ) -> Result<Meant, Misfit> {
        let parameter = &self.subject.signature.parameters[usize::from(n)];
        if parameter.out && self.when != When::Exit {
            return match operand.optional {
                true => Ok(Meant::Nothing),
                false => Err(self.complains(
                    place.clone(),
                    format!("`arg({n})` is `out`: it has no value yet"),
                    "in",
                    Some("read it at exit".into()),
                )),
            };
        }
        Ok(Meant::Value(Value {
            source: self.argument_source(n),
            ty: parameter.ty.clone(),
        }))
    }

    /// Behind the target, where the hooks lie in a method that takes that first.
    pub(super) fn argument_source(&self, n: u16) -> Source {
        if let Some(at) = self.subject.at {
            return Source::Arg(place_of(at.passed, Passed::Stack(n)).unwrap_or_default());
        }
        let is_behind = self.subject.is_call && self.subject.signature.this.is_some();
        Source::Arg(n + u16::from(is_behind))
    }

    /// When the hook at hand runs.
    pub(super) fn moment(&self) -> String {
        match (self.subject.is_call, self.when) {
            (true, When::Enter) => "in front of the call".into(),
            (true, _) => "behind the call".into(),
            (false, when) => format!("at {}", when.word()),
        }
    }
}

/// How many arguments a method has, as a phrase.
fn counted(arguments: usize) -> String {
    match arguments {
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}
