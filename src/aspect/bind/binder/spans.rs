//! Calls that can be switched or are spans: what stands for their pair of hooks.

use super::record::Moment;
use super::*;

/// The rule of a span, and the aspects that meet its method.
#[derive(Clone, Copy)]
pub(super) struct SpanOf<'r> {
    pub(super) rule: &'r SpanRule,
    pub(super) aspects: &'r [Meets<'r>],
}

/// A word that a rule defines, and the state that holds its value.
#[derive(Clone)]
struct FreeWord {
    word: &'static str,
    kept: KeptAt,
}

impl<'b> Binding<'b> {
    /// The calls around the values that a logical call begins with: they decide about it, in front of its first piece.
    pub(super) fn decided(
        &mut self,
        says: i32,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let [decide, pass] =
            ["Decide", "Pass"].map(|name| self.of_library(SWITCHED, name, &(0..0), 2));
        let says = Meant::Constant(Word::Int(says.into()));
        let mut call = self.call_with(&decide, &[says, id()], keep)?;
        let of_call = [records.state(keep), id()];
        call.dest = Dest::State(records.state_place(keep));
        records.enter.decides = Some(call);
        records.enter.switched = Some(self.call_with(&pass, &of_call, keep)?);
        Ok(())
    }

    /// The calls that begin and end a call that can be switched, in place of the plain pair.
    pub(super) fn switched(
        &mut self,
        says: i32,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let has_values = records.state.is_some();
        let names = match self.binder.target.language() {
            Language::Java => ["enter", "decide", "begin", "exit", "error"],
            Language::CSharp => ["Enter", "Decide", "Begin", "Exit", "Error"],
        };
        let [enter, decide, begin, exit, error] =
            names.map(|name| self.of_library(SWITCHED, name, &(0..0), 3));
        let says = Meant::Constant(Word::Int(says.into()));
        let first = if has_values { decide } else { enter };
        let mut call = self.call_with(&first, &[says, id()], keep)?;
        let of_call = [records.state(keep), id()];
        call.dest = Dest::State(records.state_place(keep));
        match has_values {
            true => {
                records.enter.decides = Some(call);
                records.enter.switched = Some(self.call_with(&begin, &of_call, keep)?);
            }
            false => records.enter.switched = Some(call),
        }
        records.exit.switched = Some(self.call_with(&exit, &of_call, keep)?);
        let thrown = Meant::Value(Value {
            source: Source::Exception,
            ty: self.throwable(),
        });
        let of_call = [thrown, records.state(keep), id()];
        records.exception.switched = Some(self.call_with(&error, &of_call, keep)?);
        Ok(())
    }

    /// The calls that begin and end a span, in place of the plain pair.
    pub(super) fn spans(
        &mut self,
        says: i32,
        span: SpanOf<'_>,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let names = match self.binder.target.language() {
            Language::Java => ["begin", "exit", "error"],
            Language::CSharp => ["Begin", "Exit", "Error"],
        };
        let [begin, exit, error] = names;
        self.begun(begin, says, span, records, keep)?;
        let [exit, error] = [exit, error].map(|name| self.of_library(SPANS, name, &(0..0), 4));
        let of_call = [records.state(keep), id()];
        records.exit.switched = Some(self.call_with(&exit, &of_call, keep)?);
        let thrown = Meant::Value(Value {
            source: Source::Exception,
            ty: self.throwable(),
        });
        let of_call = [thrown, records.state(keep), id()];
        records.exception.switched = Some(self.call_with(&error, &of_call, keep)?);
        Ok(())
    }

    /// The calls that begin a span: by the library's method of that name, which gets what came in and gives its headers to what is sent.
    pub(super) fn begun(
        &mut self,
        begin: &str,
        says: i32,
        span: SpanOf<'_>,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let begin = self.of_library(SPANS, begin, &(0..0), 4);
        self.span_begins(says, span, &begin, records, keep)?;
        let aspects = span.aspects;
        self.injected(aspects, records, keep)?;
        self.span_gives(aspects, records, keep)
    }

    /// The call that decides about a span, with the headers that came in, and that which begins it.
    pub(super) fn span_begins(
        &mut self,
        says: i32,
        span: SpanOf<'_>,
        begin: &OwnHook,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let SpanOf { rule, aspects } = span;
        let came = self.extracted(aspects, false, records, keep)?;
        self.links_at_end(aspects, records, keep)?;
        let came = self.span_takes(came, aspects, records, keep)?;
        let decide = match self.binder.target.language() {
            Language::Java => "decide",
            Language::CSharp => "Decide",
        };
        let decide = self.of_library(SPANS, decide, &(0..0), 4);
        let says = Meant::Constant(Word::Int(says.into()));
        let once = || match &*rule.once {
            "" => Meant::Nothing,
            word => Meant::Constant(Word::Text(word.to_owned())),
        };
        let kept = self.kept(aspects, records, keep)?;
        let mut incoming = vec![says, once(), came, id()];
        if let Some((kept, _)) = &kept {
            incoming.insert(3, kept.clone());
        }
        let mut call = self.call_with(&decide, &incoming, keep)?;
        let state = records.state(keep);
        call.dest = Dest::State(records.state_place(keep));
        records.enter.decides = Some(call);
        match kept {
            Some((kept, goes_on)) => self.leaves(kept, goes_on, records, keep)?,
            None if self.gives_stage() && all_complete(aspects) || self.follows => {
                let leave = match self.binder.target.language() {
                    Language::Java => "leave",
                    Language::CSharp => "Leave",
                };
                let leave = self.of_library(SPANS, leave, &(0..0), 3);
                let stage = Meant::Value(Value {
                    source: Source::Result,
                    ty: self.subject.signature.result.clone(),
                });
                let meant = [records.state(keep), stage, id()];
                let mut call = self.call_with(&leave, &meant, keep)?;
                call.dest = Dest::State(records.state_place(keep));
                records.exit.made.push(call);
            }
            None => {}
        }
        let kind = Meant::Constant(Word::Int(rule.kind.number().into()));
        let of_call = [state, kind, once(), id()];
        records.enter.switched = Some(self.call_with(begin, &of_call, keep)?);
        Ok(())
    }

    /// Whether a call gives a stage.
    pub(super) fn gives_stage(&self) -> bool {
        let result = self.subject.signature.result.name();
        result.is_some_and(|name| STAGES.contains(&name))
    }

    /// The object that keeps the span, and the rule that says how long.
    pub(super) fn kept<'a>(
        &mut self,
        aspects: &[Meets<'a>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Option<(Meant, Meets<'a>)>, Misfit> {
        let found = (aspects.iter()).find_map(|&aspect| Some((aspect, aspect.hooks.kept()?)));
        let Some((aspect, kept)) = found else {
            return Ok(None);
        };
        let mut binding = Binding::new(self.binder, self.subject, aspect, false);
        let kept = binding.evaluated(kept, &mut records.enter.made, keep)?;
        Ok(Some((kept, aspect)))
    }

    /// What tells, in front of the values at the end, whether the span goes on.
    pub(super) fn leaves(
        &mut self,
        kept: Meant,
        aspect: Meets<'_>,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let mut binding = Binding::new(self.binder, self.subject, aspect, false);
        binding.when = When::Exit;
        let context = aspect.hooks.context.as_ref();
        let goes_on = match context.and_then(|context| context.goes_on.as_ref()) {
            Some(goes_on) => binding.evaluated(goes_on, &mut records.exit.made, keep)?,
            None => Meant::Constant(Word::Bool(false)),
        };
        let leave = self.of_library([SPANS[0]; 2], "leave", &(0..0), 4);
        let meant = [records.state(keep), kept, goes_on, id()];
        let mut call = self.call_with(&leave, &meant, keep)?;
        call.dest = Dest::State(records.state_place(keep));
        records.exit.made.push(call);
        Ok(())
    }

    /// What came in with a request: the hook library says which headers it asks for, and gets each. `at_end`: what is known then.
    pub(super) fn extracted(
        &mut self,
        aspects: &[Meets<'_>],
        at_end: bool,
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let of = |own: &OwnHooks| own.context.as_ref()?.extract.clone();
        let found = aspects
            .iter()
            .find_map(|&aspect| Some((aspect, of(aspect.hooks)?)));
        let Some((aspect, extract)) = found else {
            return Ok(Meant::Nothing);
        };
        let is_chain = !matches!(extract.value, Recorded::Call(_));
        let [asks, came] = match (self.binder.target.language(), is_chain) {
            (Language::Java, true) => ["asks", "came"],
            // A static method cannot be left out: it is asked for the first once more.
            (Language::Java, false) => ["asksAgain", "came"],
            (Language::CSharp, true) => ["Asks", "Came"],
            (Language::CSharp, false) => ["AsksAgain", "Came"],
        };
        let place = extract.span.clone();
        let mut binding = Binding::new(self.binder, self.subject, aspect, false);
        let mut operands = extract.value.operands().iter();
        let is_early = operands.all(|operand| binding.known_at(operand) == Moment::Start);
        if is_early == at_end {
            return Ok(Meant::Nothing);
        }
        if at_end {
            binding.comes_at_end(&extract, self.follows)?;
            binding.when = When::Exit;
        }
        let made = match at_end {
            true => &mut records.exit.made,
            false => &mut records.enter.made,
        };
        let mut so_far = Meant::Nothing;
        for which in 0..HEADERS {
            let which = Meant::Constant(Word::Int(which));
            let asks = binding.of_library(SPANS, asks, &place, 1);
            let (call, name) = binding.kept_text(&asks, std::slice::from_ref(&which), keep)?;
            made.push(call);
            let mut written = extract.clone();
            binding.taken = vec![KeptAt {
                place: name,
                ty: self.string(),
            }];
            for operand in written.value.operands_mut() {
                let word = Word::Kept(name);
                replace(std::slice::from_mut(operand), "name", &word);
                operand.each_argument(&mut |argument| {
                    replace(std::slice::from_mut(argument), "name", &word);
                });
            }
            let header = binding.evaluated(&written, made, keep)?;
            let came = binding.of_library(SPANS, came, &place, 3);
            let call = binding.call_with(&came, &[so_far, which, header], keep)?;
            so_far = kept_result(call, made, keep);
        }
        Ok(so_far)
    }

    /// Whether what comes in may be known when the method returns: then it is a link.
    fn comes_at_end(&self, extract: &OwnRecord, follows: bool) -> Result<(), Misfit> {
        let operands = extract.value.operands().iter();
        let mut moments = operands.map(|operand| self.known_at(operand));
        let is_dotnet = self.binder.target.language() == Language::CSharp;
        let (title, help) = if !self.aspect.hooks.links() {
            (
                "the parent of a span is known when it begins",
                "`link = true`: what a method returns can be a link",
            )
        } else if follows || self.subject.is_async && is_dotnet {
            (
                "the result of a task cannot bring a link",
                "a rule for the method that gets it: `extract = \"arg(0)..\"`",
            )
        } else if moments.any(|moment| !matches!(moment, Moment::Start | Moment::Exit)) {
            (
                "`extract` reads values of the method's begin, or of its return",
                "`arg(0)` or `result`",
            )
        } else {
            return Ok(());
        };
        Err(self.complains(extract.span.clone(), title.into(), "for", Some(help.into())))
    }

    /// What came in with what the method returns, as a link of its span.
    fn links_at_end(
        &mut self,
        aspects: &[Meets<'_>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let came = self.extracted(aspects, true, records, keep)?;
        if matches!(came, Meant::Nothing) {
            return Ok(());
        }
        let method = match self.binder.target.language() {
            Language::Java => "links",
            Language::CSharp => "Links",
        };
        let written = self.of_library(SPANS, method, &(0..0), 3);
        let call = self.call_with(&written, &[came, records.state(keep), id()], keep)?;
        records.exit.values.push(call);
        Ok(())
    }

    /// A call of the hook library, and where what it gives is kept.
    pub(super) fn kept_text(
        &mut self,
        written: &OwnHook,
        meant: &[Meant],
        keep: &mut Keep,
    ) -> Result<(Call, u16), Misfit> {
        let mut call = self.call_with(written, meant, keep)?;
        let place = keep.state(call.hook.result.clone());
        call.dest = Dest::State(place);
        Ok((call, place))
    }

    /// What sends the current context with a request, behind what begins a span: the hook library says which headers.
    pub(super) fn injected(
        &mut self,
        aspects: &[Meets<'_>],
        records: &mut Records,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        for &aspect in aspects.iter().filter(|meets| meets.hooks.sends()) {
            let injects = aspect.hooks.context.iter().flat_map(|c| &c.inject);
            let injects: Vec<&Inject> = injects.collect();
            let mut binding = Binding::new(self.binder, self.subject, aspect, false);
            for which in 0..HEADERS {
                let which = Meant::Constant(Word::Int(which));
                binding.injected_header(&injects, which, &mut records.enter.sent, keep)?;
            }
        }
        Ok(())
    }

    /// One of the headers: what it says, then its name for each call. A chain's name is null where there is nothing to send, which ends it.
    fn injected_header(
        &mut self,
        injects: &[&Inject],
        which: Meant,
        sent: &mut Vec<Call>,
        keep: &mut Keep,
    ) -> Result<(), Misfit> {
        let [sends, header, bytes] = match self.binder.target.language() {
            Language::Java => ["sends", "header", "bytes"],
            Language::CSharp => ["Sends", "Header", "Bytes"],
        };
        let mut says = Vec::new();
        for (word, method) in [(Inject::VALUE, header), (Inject::BYTES, bytes)] {
            let Some(inject) = injects.iter().find(|inject| inject.takes(word)) else {
                continue;
            };
            let written = self.of_library(SPANS, method, inject.place(), 1);
            let kept = self.sent_part(&written, std::slice::from_ref(&which), sent, keep)?;
            says.push(FreeWord { word, kept });
        }
        for inject in injects {
            let mut meant = vec![which.clone()];
            if let (Inject::Chain(_), Some(FreeWord { kept, .. })) = (inject, says.first()) {
                meant.push(Meant::Value(Value {
                    source: Source::State(kept.place),
                    ty: kept.ty.clone(),
                }));
            }
            let written = self.of_library(SPANS, sends, inject.place(), meant.len());
            let name = FreeWord {
                word: Inject::NAME,
                kept: self.sent_part(&written, &meant, sent, keep)?,
            };
            let mut words = says.clone();
            words.insert(0, name);
            let call = self.injects(inject, &words, keep)?;
            sent.append(&mut self.chains);
            sent.extend(call);
        }
        Ok(())
    }

    /// A call of the hook library that gives a part of a header.
    fn sent_part(
        &mut self,
        written: &OwnHook,
        meant: &[Meant],
        sent: &mut Vec<Call>,
        keep: &mut Keep,
    ) -> Result<KeptAt, Misfit> {
        let (mut call, place) = self.kept_text(written, meant, keep)?;
        let ty = call.hook.result.clone();
        call.role = Role::Switch;
        sent.push(call);
        Ok(KeptAt { place, ty })
    }

    /// What a rule sends a header by, with what its free words stand for.
    fn injects(
        &mut self,
        inject: &Inject,
        words: &[FreeWord],
        keep: &mut Keep,
    ) -> Result<Option<Call>, Misfit> {
        self.taken = words.iter().map(|word| word.kept.clone()).collect();
        let put = |operand: &mut HookOperand| {
            for FreeWord { word, kept } in words {
                replace(std::slice::from_mut(operand), word, &Word::Kept(kept.place));
            }
        };
        match inject.clone() {
            Inject::Call(mut written) => {
                written.call.operands.iter_mut().for_each(put);
                self.hook(&written, 0, keep)
            }
            Inject::Chain(mut written) => {
                self.sends = true;
                for operand in written.value.operands_mut() {
                    operand.each_argument(&mut |argument| put(argument));
                }
                let mut made = Vec::new();
                self.evaluated(&written, &mut made, keep)?;
                self.chains = made;
                Ok(None)
            }
        }
    }
}
