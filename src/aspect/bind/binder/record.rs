//! Values that are recorded: each is a call of the hook library, as early as all of the value is known.

use super::*;

/// A value that a rule records.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'r> {
    pub(super) record: &'r OwnRecord,
    /// It belongs to the entry span.
    pub(super) of_entry: bool,
}

impl<'b> Binding<'b> {
    /// Whether a value of such a method cannot be recorded.
    pub(super) fn is_late(&self, record: &OwnRecord) -> bool {
        let operands = record.value.operands().iter();
        !self.begins_at_once()
            || operands
                .map(|operand| self.known_at(operand))
                .any(|moment| moment != Moment::Start)
    }

    /// The call that records a value. It needs no adapter: the hook library throws nothing.
    pub(super) fn record(
        &mut self,
        wanted: Wanted<'_>,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let record = wanted.record;
        let operands = record.value.operands().iter();
        let moment = operands.fold(Moment::Start, |all, operand| {
            all.with(self.known_at(operand))
        });
        let moments: &[When] = match moment {
            Moment::Start => &[When::Enter],
            Moment::Exit => &[When::Exit],
            Moment::Exception => &[When::Exception],
            Moment::End => &[When::Exit, When::Exception],
            Moment::Never => {
                return Err(self.complains(
                    record.span.clone(),
                    "`result` and `exception` never have values together".into(),
                    "in",
                    Some("record two values with two names".into()),
                ));
            }
        };
        self.early = Some(Early::default());
        let named = records.names.len();
        for &when in moments {
            self.when = when;
            self.record_at(wanted, named as i64, records, keep)?;
        }
        let early = self.early.take().unwrap_or_default();
        records.enter.made.extend(early.chains);
        Ok(())
    }

    /// The same for one of the moments at which it is recorded, as the value of that number.
    pub(super) fn record_at(
        &mut self,
        wanted: Wanted<'_>,
        number: i64,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let record = wanted.record;
        let mut made = Vec::new();
        let kept = keep.states.len();
        let value = self.evaluated(record, &mut made, keep)?;
        if matches!(value, Meant::Nothing) {
            return Ok(());
        }
        let call = self.value_call(wanted, value, number, records, keep);
        // Spans and pointers are no objects: a rule for many methods leaves them out.
        if call.is_err()
            && matches!(&record.value, Recorded::Operand(o) | Recorded::Text(o) if o.optional)
        {
            keep.states = keep.states[..kept].into();
            return Ok(());
        }
        let call = call?;
        if records.names.len() as i64 == number {
            records.names.push(Arc::clone(&record.name));
        }
        let recorded = match self.when {
            When::Enter | When::Around => &mut records.enter,
            When::Exit => &mut records.exit,
            When::Exception => &mut records.exception,
        };
        recorded.made.append(&mut made);
        recorded.values.push(call);
        Ok(())
    }

    /// The call of the hook library that writes a value.
    pub(super) fn value_call(
        &mut self,
        wanted: Wanted<'_>,
        value: Meant,
        number: i64,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Call, Misfit> {
        let Wanted { record, of_entry } = wanted;
        let own = self.aspect.hooks;
        let end = i64::from(self.when != When::Enter);
        let is_later = self.follows && self.is_task_with_result(record);
        let method = match (&record.value, self.binder.target.language()) {
            (Recorded::Text(_), _) if is_later => "LaterText",
            _ if is_later => "Later",
            (Recorded::Text(_), Language::Java) => "text",
            (Recorded::Text(_), Language::CSharp) => "Text",
            (_, Language::Java) => "value",
            (_, Language::CSharp) => "Value",
        };
        let written = self.of_library(VALUES, method, &record.span, 6);
        // As the trace has it: the flags of the entry span and of the end, and the number.
        let place = Meant::Constant(Word::Int(
            number << 16 | i64::from(of_entry) << 11 | end << 10,
        ));
        let limit = Meant::Constant(Word::Int(own.limit.into()));
        let mask = match &own.mask {
            Some(mask) => Meant::Value(Value {
                source: Source::Text(Arc::clone(&mask.table)),
                ty: self.string(),
            }),
            None => Meant::Nothing,
        };
        let mut meant = vec![value, place, limit, mask, id()];
        if self.subject.switched.is_some() {
            meant.push(records.state(keep));
        }
        self.call_with(&written, &meant, keep)
            .map_err(|misfit| Misfit {
                title: match misfit.title.contains("cannot become") {
                    true => misfit.title,
                    false => format!("{} cannot be recorded", article(&self.shown(&meant[0]))),
                },
                help: None,
                ..misfit
            })
    }

    /// When a value is known, with all that it is made of.
    pub(super) fn known_at(&self, operand: &HookOperand) -> Moment {
        let own = match &operand.word {
            Word::End(_) => Moment::End,
            word => match self.when_known(word) {
                When::Exit => Moment::Exit,
                When::Exception => Moment::Exception,
                When::Enter | When::Around => Moment::Start,
            },
        };
        let inner = operand.word.inner().iter();
        inner.fold(own, |all, inner| all.with(self.known_at(inner)))
    }

    /// Whether an operand is a part of a value that is recorded at the end, and is asked for at the start. What needs no calls is
    /// kept anyhow.
    pub(in crate::aspect::bind) fn is_early_part(&self, operand: &HookOperand) -> bool {
        let asks = !operand.members.is_empty()
            || !operand.word.inner().is_empty()
            || matches!(operand.word, Word::Call(_));
        self.early.as_ref().is_some_and(|early| !early.is_over)
            && self.when != When::Enter
            && asks
            && self.known_at(operand) == Moment::Start
    }

    /// What such an operand is.
    pub(in crate::aspect::bind) fn early(
        &mut self,
        operand: &HookOperand,
        place: &Range<usize>,
        boxed: bool,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let known = |early: &Early| {
            let mut known = early.known.iter();
            known
                .find(|(at, _)| at == place)
                .map(|(_, meant)| meant.clone())
        };
        if let Some(known) = self.early.as_ref().and_then(known) {
            return Ok(known);
        }
        let when = std::mem::replace(&mut self.when, When::Enter);
        let chains = std::mem::take(&mut self.chains);
        let meant = self.value_as(operand, place, boxed, keep);
        let made = std::mem::replace(&mut self.chains, chains);
        self.when = when;
        let meant = meant?;
        let early = self.early.get_or_insert_default();
        early.chains.extend(made);
        early.known.push((place.clone(), meant.clone()));
        Ok(meant)
    }

    /// A value, and the calls that make it.
    pub(super) fn evaluated(
        &mut self,
        record: &OwnRecord,
        made: &mut Vec<Call>,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        match &record.value {
            Recorded::Operand(operand) | Recorded::Text(operand) => {
                let value = match (&operand.word, &*operand.members) {
                    // The trace has values of any type.
                    (Word::First(all), []) => self.first(all, keep)?.0,
                    (Word::Null, _) => Meant::Value(Value {
                        source: Source::Zero,
                        ty: self.object(),
                    }),
                    _ => self.value(operand, &record.operands[0], keep)?,
                };
                made.append(&mut self.chains);
                Ok(value)
            }
            Recorded::Call(call) => {
                let written = OwnHook {
                    call: call.clone(),
                    name: record.span.clone(),
                    operands: record.operands.clone(),
                    changes: 0..0,
                };
                let (call, value) = self.kept_call(&written, &record.span, keep)?;
                made.append(&mut self.chains);
                made.push(call);
                Ok(value)
            }
        }
    }

    /// The call that tells the hook library what is left out of texts.
    pub(super) fn hold(
        &mut self,
        mask: Option<&Mask>,
        how: i32,
        records: &mut Records,
    ) -> Result<(), Misfit> {
        let name = match self.binder.target.language() {
            Language::Java => "hold",
            Language::CSharp => "Hold",
        };
        let written = self.of_library(VALUES, name, &(0..0), 3);
        let mask = match mask {
            Some(mask) => Meant::Value(Value {
                source: Source::Text(Arc::clone(&mask.table)),
                ty: self.string(),
            }),
            None => Meant::Nothing,
        };
        let how = Meant::Constant(Word::Int(how.into()));
        let call = self.call_with(&written, &[mask, how, id()], &mut Keep::default())?;
        if !records.enter.held.contains(&call) {
            records.enter.held.push(call);
        }
        Ok(())
    }

    /// Whether a value is what a task gives when it is complete.
    pub(super) fn is_task_with_result(&self, record: &OwnRecord) -> bool {
        let (Recorded::Operand(operand) | Recorded::Text(operand)) = &record.value else {
            return false;
        };
        operand.word == Word::Result
            && operand.members.is_empty()
            && matches!(&self.subject.signature.result, Ty::Named(named) if &*named.name == TASK_OF)
    }

    /// When a word has a value that is recorded: as early as it can be.
    pub(super) fn when_known(&self, word: &Word) -> When {
        let parameters = &self.subject.signature.parameters;
        let named = |name: &String| {
            let mut all = parameters.iter();
            all.find(|p| p.name.as_deref() == Some(name))
        };
        let parameter = match word {
            Word::Result => return When::Exit,
            Word::Exception => return When::Exception,
            Word::Arg(n) => parameters.get(usize::from(*n)),
            Word::Named(name) => named(name),
            _ => None,
        };
        match parameter.is_some_and(|parameter| parameter.out) {
            true => When::Exit,
            false => When::Enter,
        }
    }
}

/// When a value is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Start,
    Exit,
    Exception,
    /// Whichever way the call ends.
    End,
    /// A part of it at exit, another at exception.
    Never,
}

impl Moment {
    /// When both are known.
    fn with(self, other: Moment) -> Moment {
        use Moment::{End, Never, Start};
        match (self, other) {
            (Start, other) | (other, Start) => other,
            (a, b) if a == b => a,
            (End, other) | (other, End) => other,
            _ => Never,
        }
    }
}
