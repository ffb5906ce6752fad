//! Contexts that go with objects: `give`, `take`, and links of spans.

use super::*;

impl Binding<'_> {
    /// The hooks by which contexts go with objects, where the method is no span itself.
    pub(super) fn queued(&self) -> Result<OwnHooks, Misfit> {
        let (own, mut hooks) = (self.aspect.hooks, OwnHooks::default());
        if let Some(misfit) = self.has_no_queue() {
            return Err(misfit);
        }
        let hook = |[java, dotnet]: [&str; 2], operand: HookOperand| {
            let method = match self.binder.target.language() {
                Language::Java => java,
                Language::CSharp => dotnet,
            };
            let mut hook = self.of_library(QUEUED, method, &operand.place, 1);
            hook.call.operands = vec![operand];
            hook
        };
        let is_span = self.subject.span.is_some();
        if let Some(given) = own.given().filter(|_| !is_span) {
            hooks.enter.push(hook(["give", "Give"], operand_of(given)));
        }
        match own.taken() {
            Some(taken) if own.at.is_some() => {
                hooks.exit.push(hook(["take", "Take"], operand_of(taken)));
            }
            Some(taken) if !is_span && self.subject.is_async && self.is_dotnet() => {
                return Err(self.takes_in_pieces(taken));
            }
            Some(taken) if !is_span => {
                let done = hook(["done", "Done"], operand(Word::State, &taken.span));
                hooks
                    .enter
                    .push(hook(["begin", "Begin"], operand_of(taken)));
                hooks.exit.push(done.clone());
                hooks.exception.push(done);
            }
            _ => {}
        }
        Ok(hooks)
    }

    fn is_dotnet(&self) -> bool {
        self.binder.target.language() == Language::CSharp
    }

    /// What `give` and `take` say in vain: no object is named, or one that is not there yet.
    fn has_no_queue(&self) -> Option<Misfit> {
        let own = self.aspect.hooks;
        let is_later = |record: &&OwnRecord| {
            let is_result =
                matches!(&record.value, Recorded::Operand(operand) if operand.word == Word::Result);
            let ty = self.type_of(record).filter(|_| is_result);
            ty.is_some_and(|ty| self.binder.is_followed(ty))
        };
        if let Some(task) = own.taken().filter(is_later) {
            return Some(
                self.complains(
                    task.span.clone(),
                    "the context would go with this task, not with the object that it gives later"
                        .into(),
                    "of",
                    Some("a rule for the method that gets the object: `take = \"arg(0)\"`".into()),
                ),
            );
        }
        let is_value = |record: &&OwnRecord| match &record.value {
            Recorded::Text(_) => true,
            _ => self.type_of(record).is_some_and(is_value),
        };
        let value = own.given().into_iter().chain(own.taken());
        let value = value.into_iter().find(is_value)?;
        Some(self.complains(
            value.span.clone(),
            "this is a value without identity, which carries no context".into(),
            "of",
            Some("name the object that goes through the queue".into()),
        ))
    }

    /// The type of an argument or result.
    fn type_of(&self, record: &OwnRecord) -> Option<&Ty> {
        let Recorded::Operand(operand) = &record.value else {
            return None;
        };
        let signature = self.subject.signature;
        match &operand.word {
            _ if !operand.members.is_empty() => None,
            Word::Arg(n) => signature.parameters.get(usize::from(*n)).map(|p| &p.ty),
            Word::Named(name) => {
                let mut parameters = signature.parameters.iter();
                let named = parameters.find(|p| p.name.as_deref() == Some(name));
                named.map(|p| &p.ty)
            }
            Word::Result => Some(&signature.result),
            Word::This | Word::Target => signature.this.as_ref(),
            _ => None,
        }
    }

    /// What no async method or iterator of .NET can do without a span: its hooks begin in its caller, and end elsewhere.
    fn takes_in_pieces(&self, taken: &OwnRecord) -> Misfit {
        self.complains(
            taken.span.clone(),
            "an async method or iterator takes a context only with `span`".into(),
            "for",
            Some("`span = \"consumer\"`; or take it at a call that it makes (`at`)".into()),
        )
    }

    /// What came in as a link, and the context that goes with an object.
    pub(super) fn span_takes(
        &mut self,
        mut came: Meant,
        aspects: &[Meets<'_>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let language = self.binder.target.language();
        let extracts = |own: &OwnHooks| own.context.as_ref().is_some_and(|c| c.extract.is_some());
        let link = aspects
            .iter()
            .find(|meets| meets.hooks.links() && extracts(meets.hooks))
            .filter(|_| !matches!(came, Meant::Nothing));
        let taking = aspects
            .iter()
            .find(|meets| meets.hooks.at.is_none() && meets.hooks.taken().is_some());
        let linked = link.map(|&aspect| (aspect, ["link", "Link"], None));
        let taken = taking.and_then(|&aspect| {
            let method = match aspect.hooks.links() {
                true => ["links", "Links"],
                false => ["parent", "Parent"],
            };
            Some((aspect, method, Some(aspect.hooks.taken()?)))
        });
        for (aspect, [java, dotnet], object) in linked.into_iter().chain(taken) {
            let mut binding = Binding::new(self.binder, self.subject, aspect, false);
            let method = match language {
                Language::Java => java,
                Language::CSharp => dotnet,
            };
            let place = object.map_or(0..0, |object| object.span.clone());
            let mut meant = vec![came];
            if let Some(object) = object {
                meant.push(binding.evaluated(object, &mut records.enter.made, keep)?);
            }
            let written = self.of_library(QUEUED, method, &place, meant.len());
            let call = binding.call_with(&written, &meant, keep)?;
            came = kept_result(call, &mut records.enter.made, keep);
        }
        Ok(came)
    }

    /// The objects with which the context of a span goes, once it has begun.
    pub(super) fn span_gives(
        &mut self,
        aspects: &[Meets<'_>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        for &aspect in aspects {
            let Some(object) = aspect.hooks.given() else {
                continue;
            };
            let mut binding = Binding::new(self.binder, self.subject, aspect, false);
            let mut made = Vec::new();
            let value = binding.evaluated(object, &mut made, keep)?;
            let method = match self.binder.target.language() {
                Language::Java => "give",
                Language::CSharp => "Give",
            };
            let written = self.of_library(QUEUED, method, &object.span, 1);
            let call = binding.call_with(&written, &[value], keep)?;
            records.enter.sent.append(&mut made);
            records.enter.sent.push(call);
        }
        Ok(())
    }
}

/// Whether nothing of this type has an identity.
fn is_value(ty: &Ty) -> bool {
    match ty {
        Ty::Prim(_) | Ty::Void | Ty::Pointer(_) => true,
        Ty::Named(named) => named.value,
        Ty::ByRef(inner) => is_value(inner),
        _ => false,
    }
}
