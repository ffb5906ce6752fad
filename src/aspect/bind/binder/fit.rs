//! Chooses the overload that takes the operands of a rule, and the conversions of each.

use super::*;

impl<'b> Binding<'b> {
    /// The type that a call names, and its methods of that name.
    pub(super) fn overloads(
        &self,
        written: &OwnHook,
    ) -> Result<(&'b HookType, Vec<&'b HookMethod>), Misfit> {
        let call = &written.call;
        let whole = format!("{}.{}", call.ty, call.method);
        let Some(ty) = self.binder.catalog.find(&call.ty) else {
            return Err(self.complains(
                written.name.clone(),
                format!("no library has a type `{}`", call.ty),
                "for",
                Some(match self.binder.hierarchy.nearest(&call.ty) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "weave looks for hooks in the files of `[[library]]`, in the input and in --reference; android takes a dex file \
                     (`d8 --output .. hooks.jar`)".into(),
                }),
            ));
        };
        let named: Vec<&HookMethod> = ty
            .methods
            .iter()
            .filter(|m| *m.name == call.method)
            .collect();
        let public: Vec<&HookMethod> = named
            .iter()
            .copied()
            .filter(|m| m.is_public && ty.is_public)
            .collect();
        if !public.is_empty() {
            return Ok((ty, public));
        }
        let is_of_objects = ty.of_objects.iter().any(|name| **name == *call.method);
        let (title, help) = match named.is_empty() {
            true if is_of_objects => (
                format!("`{whole}` is an instance method"),
                "a hook is a static method".to_owned(),
            ),
            true => {
                let mut names: Vec<&str> = ty
                    .methods
                    .iter()
                    .filter(|m| m.is_public)
                    .map(|m| &*m.name)
                    .collect();
                names.sort_unstable();
                names.dedup();
                let near = nearest_name(&call.method, &names);
                let total = names.len();
                names.truncate(10);
                let more = if names.len() < total { ", .." } else { "" };
                let help = match near {
                    _ if names.is_empty() => {
                        format!("`{}` has no public static method", call.ty)
                    }
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}{more}", names.join(", ")),
                };
                (
                    format!("`{}` has no static method `{}`", call.ty, call.method),
                    help,
                )
            }
            false => (
                format!("`{whole}` is not public"),
                "make type and method public".to_owned(),
            ),
        };
        Err(self.complains(written.name.clone(), title, "for", Some(help)))
    }

    /// The operands for an overload.
    pub(super) fn candidate<'c>(
        &self,
        method: &'c HookMethod,
        meant: &[Meant],
    ) -> Result<Candidate<'c>, Unfitting> {
        let parameters = &method.signature.parameters;
        if parameters.len() != meant.len() {
            return Err(Unfitting::ALL);
        }
        let mut inferred = vec![None; usize::from(method.signature.generics)];
        let mut operands = Vec::new();
        for (i, (meant, parameter)) in meant.iter().zip(parameters).enumerate() {
            operands.push(
                self.operand(meant, &parameter.ty, &mut inferred)
                    .map_err(|why| Unfitting { at: Some(i), why })?,
            );
        }
        Self::with_generics(method, operands, inferred)
    }

    /// The same for one that takes any number of objects at its end (`Object...`, `params object[]`).
    pub(super) fn candidate_of_more<'c>(
        &self,
        method: &'c HookMethod,
        meant: &[Meant],
    ) -> Option<Candidate<'c>> {
        let (last, first) = method.signature.parameters.split_last()?;
        let object = self.object();
        let is_open = method.signature.variadic && last.ty == Ty::Array(Arc::new(object.clone()));
        if !is_open || meant.len() < first.len() {
            return None;
        }
        let mut inferred = vec![None; usize::from(method.signature.generics)];
        let (plain, more) = meant.split_at(first.len());
        let mut operands = Vec::new();
        for (meant, parameter) in plain.iter().zip(first) {
            operands.push(self.operand(meant, &parameter.ty, &mut inferred).ok()?);
        }
        let mut elements = Vec::new();
        for meant in more {
            let (_, element) = self.operand(meant, &object, &mut inferred).ok()?;
            // Where a state is kept is found for operands alone.
            if matches!(element.source, Source::State(_) | Source::Args(_)) {
                return None;
            }
            elements.push(element);
        }
        let array = Operand {
            source: Source::Args(elements.into()),
            from: last.ty.clone(),
            convert: Convert::Same,
            to: last.ty.clone(),
        };
        operands.push((Fit::Boxing, array));
        Self::with_generics(method, operands, inferred).ok()
    }

    /// A candidate whose type arguments are inferred.
    pub(super) fn with_generics<'c>(
        method: &'c HookMethod,
        mut operands: Vec<(Fit, Operand)>,
        inferred: Inferred,
    ) -> Result<Candidate<'c>, Unfitting> {
        let generics: Option<Vec<Ty>> = inferred.into_iter().collect();
        let generics = generics.ok_or(Unfitting::ALL)?;
        for (_, operand) in &mut operands {
            operand.to = instantiate(&operand.to, &generics);
            if let Source::Proceed(proceed) = &mut operand.source
                && !generics.is_empty()
            {
                *proceed = Arc::new(proceed.instantiate(&generics));
            }
        }
        Ok(Candidate {
            method,
            operands,
            generics,
        })
    }

    pub(super) fn operand(
        &self,
        meant: &Meant,
        to: &Ty,
        inferred: &mut Vec<Option<Ty>>,
    ) -> Result<(Fit, Operand), Why> {
        let operand = |source, from: &Ty, convert| Operand {
            source,
            from: from.clone(),
            convert,
            to: to.clone(),
        };
        match meant {
            Meant::Nothing => match to {
                Ty::ByRef(_) | Ty::Pointer(_) | Ty::Opaque(_) | Ty::Param { .. } => Err(Why::Other),
                _ => Ok((Fit::Identity, operand(Source::Zero, to, Convert::Same))),
            },
            Meant::Constant(word) => self.constant(word, to).ok_or(Why::Other),
            Meant::Proceed => {
                let (fit, proceed) = self.proceed(to, inferred)?;
                let source = Source::Proceed(Arc::new(proceed));
                Ok((fit, operand(source, to, Convert::Same)))
            }
            Meant::Value(value) => {
                let from = self.seen_as(value, to);
                let (fit, how) = convert(self.binder.hierarchy, from, to, inferred)?;
                Ok((fit, operand(value.source.clone(), &value.ty, how)))
            }
            Meant::Optional(value) => {
                let from = self.seen_as(value, to);
                let (fit, how) = match convert(self.binder.hierarchy, from, to, inferred) {
                    Ok(fits) => fits,
                    Err(_) => return self.nothing_for(to, inferred),
                };
                Ok((fit, operand(value.source.clone(), &value.ty, how)))
            }
            Meant::Args { optional } => {
                let object = self.object();
                let array = Ty::Array(Arc::new(object.clone()));
                let (fit, how) = convert(self.binder.hierarchy, &array, to, inferred)?;
                let mut elements = Vec::new();
                for (n, parameter) in self.subject.signature.parameters.iter().enumerate() {
                    let element = match parameter.out && self.when != When::Exit {
                        true => Meant::Nothing,
                        false => Meant::Value(Value {
                            source: self.argument_source(n as u16),
                            ty: parameter.ty.clone(),
                        }),
                    };
                    let element = match self.operand(&element, &object, inferred) {
                        Err(Why::NoObject) if *optional => {
                            self.operand(&Meant::Nothing, &object, inferred)
                        }
                        element => element,
                    };
                    elements.push(element?.1);
                }
                Ok((fit, operand(Source::Args(elements.into()), &array, how)))
            }
        }
    }

    /// Null, where an object or a type argument is asked for.
    pub(super) fn nothing_for(
        &self,
        to: &Ty,
        inferred: &mut Inferred,
    ) -> Result<(Fit, Operand), Why> {
        if let Ty::Param {
            of_method: true,
            index,
        } = to
        {
            let slot = inferred.get_mut(usize::from(*index)).ok_or(Why::Other)?;
            slot.get_or_insert_with(|| self.object());
        } else if !to.is_reference() {
            return Err(Why::NoObject);
        }
        let operand = Operand {
            source: Source::Zero,
            from: to.clone(),
            convert: Convert::Same,
            to: to.clone(),
        };
        Ok((Fit::Boxing, operand))
    }

    /// A constant as what is asked for.
    pub(in crate::aspect::bind) fn constant(&self, word: &Word, to: &Ty) -> Option<(Fit, Operand)> {
        let object = is_object(to);
        let (fit, source, from, how) = match (word, to) {
            (Word::Bool(value), Ty::Prim(Prim::Bool)) => (
                Fit::Identity,
                Source::Int((*value).into()),
                to.clone(),
                Convert::Same,
            ),
            (Word::Bool(value), _) if object => (
                Fit::Boxing,
                Source::Int((*value).into()),
                Ty::Prim(Prim::Bool),
                Convert::Box,
            ),
            (Word::Text(text), _) => {
                let (fit, how) =
                    convert(self.binder.hierarchy, &self.string(), to, &mut vec![]).ok()?;
                (fit, Source::Text((**text).into()), self.string(), how)
            }
            (Word::Int(value), Ty::Prim(prim)) => {
                let least = match i32::try_from(*value) {
                    Ok(_) => Prim::I32,
                    Err(_) => Prim::I64,
                };
                let fit = if *prim == least {
                    Fit::Identity
                } else {
                    Fit::Widening
                };
                (fit, integer(*value, *prim)?, to.clone(), Convert::Same)
            }
            (Word::Int(value), _) if object => match i32::try_from(*value) {
                Ok(value) => (
                    Fit::Boxing,
                    Source::Int(value),
                    Ty::Prim(Prim::I32),
                    Convert::Box,
                ),
                Err(_) => (
                    Fit::Boxing,
                    Source::Long(*value),
                    Ty::Prim(Prim::I64),
                    Convert::Box,
                ),
            },
            (Word::Double(value), Ty::Prim(Prim::F64)) => (
                Fit::Identity,
                Source::Double(*value),
                to.clone(),
                Convert::Same,
            ),
            (Word::Double(value), Ty::Prim(Prim::F32)) => (
                Fit::Widening,
                Source::Double(*value),
                to.clone(),
                Convert::Same,
            ),
            (Word::Double(value), _) if object => (
                Fit::Boxing,
                Source::Double(*value),
                Ty::Prim(Prim::F64),
                Convert::Box,
            ),
            _ => return None,
        };
        Some((
            fit,
            Operand {
                source,
                from,
                convert: how,
                to: to.clone(),
            },
        ))
    }

    /// Whether each parameter of the one fits that of the other.
    pub(super) fn is_more_specific(&self, a: &HookMethod, b: &HookMethod) -> bool {
        let pairs = || a.signature.parameters.iter().zip(&b.signature.parameters);
        let fits = |from: &Ty, to: &Ty| {
            let mut inferred = vec![None; usize::from(b.signature.generics)];
            convert(self.binder.hierarchy, from, to, &mut inferred).is_ok()
        };
        pairs().all(|(a, b)| fits(&a.ty, &b.ty)) && pairs().any(|(a, b)| a.ty != b.ty)
    }

    /// No overload takes the operands.
    pub(super) fn nothing_fits(
        &self,
        written: &OwnHook,
        methods: &[&HookMethod],
        meant: &[Meant],
        wrong: Option<Unfitting>,
    ) -> Misfit {
        let call = &written.call;
        let types: Vec<String> = meant.iter().map(|meant| self.shown(meant)).collect();
        let there: Vec<String> = methods.iter().map(|m| self.shown_call(m)).collect();
        let mut help = format!("there is {}", there.join(", "));
        let title = format!(
            "no `{}.{}` takes ({})",
            call.ty,
            call.method,
            types.join(", ")
        );
        let [method] = methods else {
            return self.complains(written.name.clone(), title, "for", Some(help));
        };
        let Some(Unfitting { at: Some(at), why }) = wrong else {
            return self.complains(written.name.clone(), title, "for", Some(help));
        };
        let parameter = &method.signature.parameters[at].ty;
        let place = written.operands[at].clone();
        if matches!(meant[at], Meant::Proceed) {
            return self.no_proceed(place, parameter);
        }
        match why {
            Why::NoObject => {
                let title = match &meant[at] {
                    Meant::Args { .. } => "some argument cannot become an object".to_owned(),
                    _ => format!("{} cannot become an object", article(&types[at])),
                };
                let help = match &meant[at] {
                    Meant::Value(value) if self.is_missing(&value.ty) => {
                        "nothing says whether it is a ref struct: name its assembly with --reference".into()
                    }
                    _ => format!("use its own type in the hook: {help}"),
                };
                self.complains(place, title, "in", Some(help))
            }
            Why::Unknown => self.complains(
                place,
                format!(
                    "it is unknown whether {} is {}",
                    article(&types[at]),
                    article(&self.shown_type(parameter))
                ),
                format!("{} in", article(&types[at])),
                Some(match parameter {
                    Ty::Named(named) if !named.args.is_empty() => {
                        "the supertypes of a generic type's instances are not known: let the hook take an object, or a type parameter".into()
                    }
                    _ => "name the jar or assembly that has it with --reference".into(),
                }),
            ),
            Why::Other => {
                let fitting = self
                    .subject
                    .signature
                    .parameters
                    .iter()
                    .position(|p| p.ty == *parameter);
                if let Some(n) = fitting {
                    help.push_str(&format!(
                        "; `arg({n})` is {}",
                        article(&self.shown_type(parameter))
                    ));
                }
                self.complains(
                    place,
                    title,
                    format!("{} in", article(&types[at])),
                    Some(help),
                )
            }
        }
    }
}

/// An integer as a value of a primitive type, if it fits.
fn integer(value: i64, prim: Prim) -> Option<Source> {
    let range: (i128, i128) = match prim {
        Prim::I8 => (i8::MIN.into(), i8::MAX.into()),
        Prim::U8 => (0, u8::MAX.into()),
        Prim::I16 => (i16::MIN.into(), i16::MAX.into()),
        Prim::U16 => (0, u16::MAX.into()),
        Prim::I32 => (i32::MIN.into(), i32::MAX.into()),
        Prim::U32 => (0, u32::MAX.into()),
        Prim::I64 => (i64::MIN.into(), i64::MAX.into()),
        Prim::U64 => (0, u64::MAX.into()),
        Prim::F32 | Prim::F64 => return Some(Source::Double(value as f64)),
        Prim::Bool | Prim::Char | Prim::Isize | Prim::Usize => return None,
    };
    if !(range.0..=range.1).contains(&value.into()) {
        return None;
    }
    Some(match prim {
        Prim::I64 | Prim::U64 => Source::Long(value),
        // An unsigned one has the bits of a signed one.
        _ => Source::Int(value as i32),
    })
}
