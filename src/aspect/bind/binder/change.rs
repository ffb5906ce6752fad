//! Hooks that change what a method does: what their results go to.

use super::*;

/// What a hook changes in the method at hand.
enum Target {
    Nothing,
    /// A value, which its result takes the place of.
    Value {
        dest: Dest,
        to: Ty,
        /// The value before the change, or the exception that is thrown.
        old: Value,
    },
    /// Whether the body runs.
    Body(Dest),
}

impl Binding<'_> {
    /// A hook with what it changes; `None` where the method does not have that, and the rule says `?`. `exits`: how many exit hooks
    /// the aspects around have.
    pub(super) fn hook(
        &mut self,
        written: &OwnHook,
        exits: u16,
        keep: &mut Keep,
    ) -> Result<Option<Call>, Misfit> {
        let Some(target) = self.target(written, exits)? else {
            return Ok(None);
        };
        let mut call = self.call(written, keep)?;
        match target {
            Target::Nothing => {}
            Target::Body(dest) => {
                let wanted = match dest {
                    Dest::SkipWhen { .. } => &Ty::Prim(Prim::Bool),
                    _ => &self.subject.signature.result,
                };
                let convert = self.given(written, &call, wanted)?;
                call.given = Some((convert, self.subject.signature.result.clone()));
                call.dest = dest;
                // It must say that it gives nothing.
                if !matches!(dest, Dest::SkipWhen { .. }) && !call.gives().is_reference() {
                    return Err(self.gives_wrong(written, &call.gives(), wanted, Why::Other));
                }
            }
            Target::Value { dest, to, old } => {
                let convert = match self.given(written, &call, &to) {
                    // What Java's generic hooks return is an object, once compiled.
                    Err(_) if dest != Dest::Throw && self.is_erased(&call.gives(), &to) => {
                        Convert::Cast
                    }
                    given => given?,
                };
                call.dest = dest;
                if call.adapter.is_some() {
                    self.fall_back(written, &mut call, convert, &to, old)?;
                }
                call.given = Some((convert, to));
            }
        }
        Ok(Some(call))
    }

    /// Whether a hook's result says nothing of its type, and is cast (JVM, dex).
    fn is_erased(&self, gives: &Ty, wanted: &Ty) -> bool {
        self.binder.target.language() == Language::Java && is_object(gives) && wanted.is_reference()
    }

    fn target(&self, written: &OwnHook, exits: u16) -> Result<Option<Target>, Misfit> {
        let result = &self.subject.signature.result;
        let place = || written.changes.clone();
        let refused = |title: &str, what: &str, help: &str| {
            Err(self.complains(place(), title.into(), what, Some(help.into())))
        };
        if written.call.changes == Changes::Nothing {
            return Ok(Some(Target::Nothing));
        }
        let is_constructor = matches!(self.subject.name, "<init>" | ".ctor");
        match &written.call.changes {
            Changes::Return(_) | Changes::Skip(_) if is_constructor => refused(
                "the body of a constructor cannot be skipped",
                "the constructor",
                "`kind = \"method\"` matches no constructors",
            ),
            Changes::Nothing => Ok(None),
            Changes::Value(operand) if operand.word == Word::Result => {
                if *result == Ty::Void {
                    return match operand.optional {
                        true => Ok(None),
                        false => refused(
                            "a method without a result has no `result`",
                            "in",
                            "`result? = ..` skips these methods",
                        ),
                    };
                }
                if let Some(what) = self.unchangeable(result) {
                    return match operand.optional {
                        true => Ok(None),
                        false => {
                            refused(&what, "what returns one is", "leave it out with `exclude`")
                        }
                    };
                }
                let to = result.clone();
                Ok(Some(match self.when {
                    When::Exit => Target::Value {
                        dest: Dest::Result,
                        old: Value {
                            source: Source::Result,
                            ty: to.clone(),
                        },
                        to,
                    },
                    _ => Target::Value {
                        dest: Dest::Ends { exits },
                        to,
                        old: self.exception(),
                    },
                }))
            }
            Changes::Value(operand) => {
                let Meant::Value(value) = self.meant(operand, &written.changes)? else {
                    return Ok(None);
                };
                if let Some(what) = self.unchangeable(&value.ty) {
                    return match operand.optional {
                        true => Ok(None),
                        false => refused(
                            &what,
                            "it is one in",
                            "change what it points to in the hook",
                        ),
                    };
                }
                let Source::Arg(n) = value.source else {
                    return Ok(None);
                };
                Ok(Some(Target::Value {
                    dest: Dest::Arg(n),
                    to: value.ty.clone(),
                    old: value,
                }))
            }
            Changes::Throw(_) => Ok(Some(Target::Value {
                dest: Dest::Throw,
                to: self.throwable(),
                old: self.exception(),
            })),
            Changes::Return(_) => match result {
                Ty::Void => refused(
                    "a method without a result returns nothing",
                    "for",
                    "`skip when ..` skips its body",
                ),
                ty if !ty.is_reference() => Err(self.complains(
                    place(),
                    format!("{} is never null", article(&self.shown_type(ty))),
                    "which is returned by",
                    Some(
                        "`skip when ..` skips the body, and `result = ..` gives another result"
                            .into(),
                    ),
                )),
                _ => Ok(Some(Target::Body(Dest::ReturnUnlessNull { exits }))),
            },
            Changes::Skip(_) => match self.unchangeable(result) {
                Some(what) => refused(&what, "what returns one is", "leave it out with `exclude`"),
                None => Ok(Some(Target::Body(Dest::SkipWhen { exits }))),
            },
        }
    }

    /// Why a value of this type cannot be changed.
    fn unchangeable(&self, ty: &Ty) -> Option<String> {
        let shown = || article(&self.shown_type(ty));
        match ty {
            Ty::ByRef(_) => Some(format!("{} cannot be changed", shown())),
            Ty::Pointer(_) | Ty::Opaque(_) => Some(format!("{} cannot be changed", shown())),
            Ty::Named(named) if named.by_ref_like => {
                Some(format!("{}, a ref struct, cannot be changed", shown()))
            }
            _ => None,
        }
    }

    /// How the hook's result becomes what is wanted.
    pub(super) fn given(
        &self,
        written: &OwnHook,
        call: &Call,
        wanted: &Ty,
    ) -> Result<Convert, Misfit> {
        let gives = call.gives();
        let how =
            match &gives {
                Ty::Void => Err(Why::Other),
                gives if gives == wanted => Ok(Convert::Same),
                // Of the woven method, or its type: nothing else becomes one.
                _ if names_parameter(wanted) => Err(Why::Other),
                gives => convert(self.binder.hierarchy, gives, wanted, &mut vec![]).and_then(
                    |(_, how)| match how {
                        Convert::Load | Convert::LoadBox => Err(Why::Other),
                        how => Ok(how),
                    },
                ),
            };
        how.map_err(|why| self.gives_wrong(written, &gives, wanted, why))
    }

    fn exception(&self) -> Value {
        Value {
            source: Source::Exception,
            ty: self.throwable(),
        }
    }

    /// The adapter takes the old value, too, and returns the new one or that.
    fn fall_back(
        &self,
        written: &OwnHook,
        call: &mut Call,
        convert: Convert,
        to: &Ty,
        Value { source, ty: from }: Value,
    ) -> Result<(), Misfit> {
        /// Words that a method of the JVM and of dex files takes.
        const MOST: usize = 255;
        let declared = match call.gives() == *to {
            true => &call.hook.result,
            false => to,
        };
        let throws = matches!(call.dest, Dest::Ends { .. });
        let old = match throws || call.dest == Dest::Throw {
            true => from.clone(),
            false => declared.clone(),
        };
        let change = Some(Change {
            convert,
            to: declared.clone(),
            old,
            throws,
        });
        let words = |ty: &Ty| 1 + usize::from(matches!(ty, Ty::Prim(Prim::I64 | Prim::F64)));
        let taken: usize = call.hook.parameters.iter().chain([&from]).map(words).sum();
        if self.binder.target.language() == Language::Java && taken > MOST {
            return Err(self.complains(
                written.name.clone(),
                "a guarded hook that changes a value takes one operand less".into(),
                "for",
                Some("`guard = false` lets it take all".into()),
            ));
        }
        if let Some(adapter) = &mut call.adapter {
            adapter.class = adapter_class(
                self.subject.home.adapters,
                &call.hook,
                adapter.guard,
                adapter.recursion,
                &change,
            );
            adapter.change = change;
        }
        let mut operands = std::mem::take(&mut call.operands).into_vec();
        operands.push(Operand {
            source,
            to: from.clone(),
            from,
            convert: Convert::Same,
        });
        call.operands = operands.into();
        Ok(())
    }
}

/// Whether a type parameter is in a type.
fn names_parameter(ty: &Ty) -> bool {
    match ty {
        Ty::Param { .. } => true,
        Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => names_parameter(inner),
        Ty::Named(named) => named.args.iter().any(names_parameter),
        Ty::Void | Ty::Prim(_) | Ty::Opaque(_) => false,
    }
}
