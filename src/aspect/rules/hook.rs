//! Calls of hooks as rules write them: `acme.Sql.begin(this, arg(0), name?)`, and where their result goes: `arg(0) =
//! ..`.

use super::words::nearest;
use crate::aspect::pattern::PatternError;
use std::fmt;
use std::ops::Range;

/// Most operands of a call: a method has no more parameters (JVMS 4.3.3).
const MAX_OPERANDS: usize = 255;

/// Most links of a chain.
const MAX_MEMBERS: usize = 16;

/// How deep values may be in each other.
const MAX_DEPTH: usize = 16;

/// A call of a static method, as it is written. Ranges are bytes of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCall {
    /// The type that declares the method.
    pub ty: String,
    /// The method.
    pub method: String,
    /// Where type and method stand.
    pub name: Range<usize>,
    pub operands: Vec<HookOperand>,
    pub changes: Changes,
}

/// What a hook changes by its result.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Changes {
    #[default]
    Nothing,
    /// `arg(0) = ..`, `sql = ..`, `result = ..`: that gets another value.
    Value(HookOperand),
    /// `throw ..`: that exception leaves the method. Where the word stands.
    Throw(Range<usize>),
    /// `return .. unless null`: the method returns that at once.
    Return(Range<usize>),
    /// `skip when ..`: the body does not run.
    Skip(Range<usize>),
}

impl Changes {
    /// Where it stands in the text.
    pub fn place(&self) -> Range<usize> {
        match self {
            Changes::Nothing => 0..0,
            Changes::Value(operand) => operand.place.clone(),
            Changes::Throw(place) | Changes::Return(place) | Changes::Skip(place) => place.clone(),
        }
    }
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub struct HookOperand {
    pub word: Word,
    /// `?` stands behind it: null or zero where a method has none.
    pub optional: bool,
    /// What is asked of it, one after the other: `.uri().getHost()`.
    pub members: Vec<MemberName>,
    pub place: Range<usize>,
}

/// A link of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberName {
    /// The member; of a cast the type.
    pub name: String,
    pub kind: MemberKind,
    pub place: Range<usize>,
}

/// What a link asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberKind {
    /// A property or a field.
    Property,
    /// A method, with the constants that it takes.
    Method(Vec<HookOperand>),
    /// `(Type)` in front: the object as that type; null, if it is of another.
    Cast,
}

impl MemberName {
    /// The method that is called: of a property its getter.
    pub fn method(&self) -> String {
        match self.kind {
            MemberKind::Method(_) => self.name.clone(),
            _ => format!("get_{}", self.name),
        }
    }

    pub fn is_method(&self) -> bool {
        matches!(self.kind, MemberKind::Method(_))
    }

    /// The constants that it takes.
    pub fn arguments(&self) -> &[HookOperand] {
        match &self.kind {
            MemberKind::Method(arguments) => arguments,
            _ => &[],
        }
    }
}

/// As rules write it.
impl fmt::Display for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            MemberKind::Property => f.write_str(&self.name),
            MemberKind::Method(arguments) if arguments.is_empty() => write!(f, "{}()", self.name),
            MemberKind::Method(_) => write!(f, "{}(..)", self.name),
            MemberKind::Cast => write!(f, "({})", self.name),
        }
    }
}

impl HookOperand {
    /// The operand and its parts.
    pub fn parts(&self) -> Vec<&HookOperand> {
        let mut all = vec![self];
        for inner in self.word.inner() {
            all.extend(inner.parts());
        }
        all
    }

    /// Whether it is this word by itself.
    pub fn is_free(&self, free: &str) -> bool {
        matches!(&self.word, Word::Named(name) if name == free)
    }

    /// The calls of static methods in it.
    pub fn calls(&self) -> Vec<&HookCall> {
        let calls = self
            .parts()
            .into_iter()
            .filter_map(|part| match &part.word {
                Word::Call(call) => Some(&**call),
                _ => None,
            });
        calls.collect()
    }

    /// Shows what its links take.
    pub fn each_argument(&mut self, each: &mut dyn FnMut(&mut HookOperand)) {
        for member in &mut self.members {
            if let MemberKind::Method(arguments) = &mut member.kind {
                arguments.iter_mut().for_each(&mut *each);
            }
        }
        for inner in self.word.inner_mut() {
            inner.each_argument(each);
        }
    }

    /// Shows all places but its own.
    pub fn each_place(&mut self, each: &mut dyn FnMut(&mut Range<usize>)) {
        for member in &mut self.members {
            each(&mut member.place);
            if let MemberKind::Method(arguments) = &mut member.kind {
                arguments
                    .iter_mut()
                    .for_each(|argument| each(&mut argument.place));
            }
        }
        if let Word::Call(call) = &mut self.word {
            each(&mut call.name);
        }
        for inner in self.word.inner_mut() {
            each(&mut inner.place);
            inner.each_place(each);
        }
    }
}

impl Word {
    /// The operands that it is made of.
    pub fn inner(&self) -> &[HookOperand] {
        match self {
            Word::Call(call) => &call.operands,
            Word::First(all) => all,
            Word::End(inner) | Word::TextOf(inner) => std::slice::from_ref(inner),
            _ => &[],
        }
    }

    fn inner_mut(&mut self) -> &mut [HookOperand] {
        match self {
            Word::Call(call) => &mut call.operands,
            Word::First(all) => all,
            Word::End(inner) | Word::TextOf(inner) => std::slice::from_mut(inner),
            _ => &mut [],
        }
    }

    /// It is written as it is: `'text'`, `3`, `true`, `null`.
    pub fn is_constant(&self) -> bool {
        matches!(
            self,
            Word::Int(_) | Word::Double(_) | Word::Text(_) | Word::Bool(_) | Word::Null
        )
    }
}

/// What an operand means.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    This,
    /// The object whose method is called, at a call.
    Target,
    Args,
    /// `args..`: each argument by itself.
    EachArg,
    /// `arg(n)`, from 0.
    Arg(u16),
    /// A parameter by its name.
    Named(String),
    Result,
    Exception,
    State,
    Duration,
    Method,
    Type,
    Signature,
    Line,
    Artifact,
    Id,
    /// What runs the rest of the method, for `around`. With `?` the rule passes over methods that nothing can run.
    Proceed,
    Int(i64),
    Double(f64),
    Text(String),
    Bool(bool),
    Null,
    /// What an earlier call gave, by its place: no rule writes it.
    Kept(u16),
    /// What a static method returns.
    Call(Box<HookCall>),
    /// `first(x, y)`: the first that is not null.
    First(Vec<HookOperand>),
    /// `end(x)`: read when the call ends.
    End(Box<HookOperand>),
    /// `string(x)` inside of something else: what its `toString` says.
    TextOf(Box<HookOperand>),
}

/// The words that are no parameters' names.
pub const WORDS: [(&str, Word); 15] = [
    ("this", Word::This),
    ("target", Word::Target),
    ("args", Word::Args),
    ("result", Word::Result),
    ("exception", Word::Exception),
    ("state", Word::State),
    ("duration", Word::Duration),
    ("method", Word::Method),
    ("type", Word::Type),
    ("signature", Word::Signature),
    ("line", Word::Line),
    ("artifact", Word::Artifact),
    ("id", Word::Id),
    ("proceed", Word::Proceed),
    ("null", Word::Null),
];

/// A value that is recorded in the trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// `arg(0)`, `result?`, a parameter's name.
    Operand(HookOperand),
    /// `string(arg(0))`: what its `toString` says.
    Text(HookOperand),
    /// What a static method returns.
    Call(HookCall),
}

/// Reads a value that is recorded, with the name that a rule gives it: `sql = arg(0)`.
pub fn parse_recorded(text: &str) -> Result<(Option<&str>, Recorded), PatternError> {
    let mut reader = Reader::new(text);
    reader.spaces();
    let start = reader.at;
    let name = reader.takes_while(|c| in_word(c) || matches!(c, '-' | '.'));
    let place = start..reader.at;
    reader.spaces();
    if name.is_empty() || !reader.takes('=') {
        return Ok((None, recorded(text)?));
    }
    if name.split('.').any(str::is_empty) {
        return Err(wrong(
            place,
            "a part of the name is empty",
            "`http.request.method = arg(0)`",
        ));
    }
    let at = reader.at;
    match recorded(&text[at..]) {
        Ok(value) => Ok((Some(name), value.shifted(at))),
        Err(e) => Err(e.shifted(at)),
    }
}

impl Recorded {
    /// Whether a link of it takes this word.
    pub fn has_argument(&self, word: &str) -> bool {
        let mut found = false;
        for operand in self.clone().operands_mut() {
            operand.each_argument(&mut |argument| found |= argument.is_free(word));
        }
        found
    }

    /// The same, further behind in its text.
    fn shifted(mut self, by: usize) -> Recorded {
        let shift = |place: &mut Range<usize>| *place = place.start + by..place.end + by;
        if let Recorded::Call(call) = &mut self {
            shift(&mut call.name);
        }
        for operand in self.operands_mut() {
            shift(&mut operand.place);
            operand.each_place(&mut |place| shift(place));
        }
        self
    }

    /// The operands of a call; else the one operand.
    pub fn operands(&self) -> &[HookOperand] {
        match self {
            Recorded::Operand(operand) | Recorded::Text(operand) => std::slice::from_ref(operand),
            Recorded::Call(call) => &call.operands,
        }
    }

    pub fn operands_mut(&mut self) -> &mut [HookOperand] {
        match self {
            Recorded::Operand(operand) | Recorded::Text(operand) => std::slice::from_mut(operand),
            Recorded::Call(call) => &mut call.operands,
        }
    }
}

/// Whether a dotted name with `(` behind it is a value with its first methods, and no call of a static method: it begins with a
/// word, or with one small name in front of `method()` or `method('constant')`.
fn is_chain(name: &str, rest: &str) -> bool {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let is_small = first.starts_with(char::is_lowercase) && parts.count() == 1;
    let mut behind = Reader {
        at: 1,
        ..Reader::new(rest)
    };
    WORDS.iter().any(|(word, _)| *word == first) || is_small && behind.constants().is_ok()
}

/// Whether a dotted name in front of `()` is that of a type and its method by the way it is written, and not a value with properties:
/// `Acme.Session.User` and `acme.Session.user` are, `request.Uri.ToString` is not.
fn names_a_type(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_large = |part: &&str| part.starts_with(char::is_uppercase);
    match &*parts {
        [first, ..] if is_large(first) => true,
        [_, types @ .., method] => types.iter().any(is_large) && !is_large(method),
        _ => false,
    }
}

fn recorded(text: &str) -> Result<Recorded, PatternError> {
    value(Reader::new(text))
}

/// In the parentheses of a link: what the method gives by `out` is what the link gives (.NET).
pub const OUT: &str = "out";

/// Reads a value in which these are free words.
pub fn parse_free(text: &str, free: &'static [&'static str]) -> Result<Recorded, PatternError> {
    value(Reader {
        free,
        ..Reader::new(text)
    })
}

fn value(mut reader: Reader<'_>) -> Result<Recorded, PatternError> {
    let text = reader.text;
    reader.spaces();
    let operand = reader.value()?;
    reader.spaces();
    if reader.at < text.len() {
        return Err(wrong(
            reader.at..text.len(),
            "something follows the value",
            "several values are a list: `[\"arg(0)\", \"result\"]`",
        ));
    }
    Ok(match operand.word {
        Word::TextOf(inner) if operand.members.is_empty() => Recorded::Text(*inner),
        Word::Call(call) if operand.members.is_empty() => Recorded::Call(*call),
        _ => Recorded::Operand(operand),
    })
}

/// Reads one operand.
pub fn parse_operand(text: &str) -> Result<HookOperand, PatternError> {
    let mut reader = Reader::new(text);
    reader.spaces();
    let operand = reader.operand()?;
    reader.ends()?;
    Ok(operand)
}

/// Reads a call and where its result goes.
pub fn parse_hook(text: &str) -> Result<HookCall, PatternError> {
    let mut reader = Reader::new(text);
    reader.spaces();
    let changes = reader.changes()?;
    let mut call = call(&mut reader)?;
    if let Changes::Return(_) = changes {
        reader.phrase("unless null", "`return acme.Cache.get(key) unless null`")?;
    }
    reader.ends()?;
    call.changes = changes;
    Ok(call)
}

/// Reads a call.
#[cfg(test)]
pub fn parse(text: &str) -> Result<HookCall, PatternError> {
    let mut reader = Reader::new(text);
    reader.spaces();
    let call = call(&mut reader)?;
    reader.ends()?;
    Ok(call)
}

/// Whether a word has a value that is recorded.
fn is_value(word: &Word) -> bool {
    matches!(
        word,
        Word::This
            | Word::Target
            | Word::Args
            | Word::Arg(_)
            | Word::Named(_)
            | Word::Result
            | Word::Exception
            | Word::Call(_)
            | Word::First(_)
            | Word::End(_)
            | Word::TextOf(_)
    ) || word.is_constant()
}

impl<'t> Reader<'t> {
    /// A value that is recorded, or a part of one.
    fn value(&mut self) -> Result<HookOperand, PatternError> {
        let start = self.at;
        let operand = match self.static_call(is_chain)? {
            Some(operand) => operand,
            None => self.operand()?,
        };
        match is_value(&operand.word) {
            true => Ok(operand),
            false => Err(wrong(
                start..self.at,
                "this is not recorded",
                "`this`, `target`, `arg(n)`, a parameter's name, `args`, `result`, `exception`, a constant, `string(..)`, `first(..)` or \
                 `end(..)` of one, or a call that returns a value",
            )),
        }
    }

    /// A call of a static method as an operand, if that is what comes; else nothing is read.
    fn static_call(
        &mut self,
        is_chain: impl Fn(&str, &str) -> bool,
    ) -> Result<Option<HookOperand>, PatternError> {
        let mut ahead = Reader { ..*self };
        let start = ahead.at;
        let name = ahead.dotted();
        ahead.spaces();
        if !name.contains('.') || !ahead.rest().starts_with('(') || is_chain(name, ahead.rest()) {
            return Ok(None);
        }
        let word = Word::Call(Box::new(call(self)?));
        self.with_members(word, start).map(Some)
    }

    /// The constants in the parentheses of a link, up to the closing one.
    fn constants(&mut self) -> Result<Vec<HookOperand>, PatternError> {
        let mut all = Vec::new();
        self.spaces();
        if self.takes(')') {
            return Ok(all);
        }
        loop {
            let start = self.at;
            let is_text = self.rest().starts_with('\'');
            let word = match self.word() {
                Ok(word) if word.is_constant() || self.is_free(&word) => word,
                Ok(Word::Named(out)) if out == OUT => Word::Named(out),
                Err(e) if is_text => return Err(e),
                _ => {
                    return Err(wrong(
                        self.here(start..self.at.max(start + 1)),
                        "expected `)`, or a constant",
                        "what a chain calls takes nothing, or constants: `getHeader('user-agent')`, `get(3)`; a static method of one's \
                         own can do more",
                    ));
                }
            };
            all.push(HookOperand {
                word,
                optional: false,
                members: Vec::new(),
                place: start..self.at,
            });
            self.spaces();
            match () {
                () if self.takes(',') => self.spaces(),
                () if self.takes(')') => return Ok(all),
                () => {
                    let place = self.here(self.at..self.at + 1);
                    return Err(wrong(place, "expected `,` or `)`", ""));
                }
            }
        }
    }

    /// What stands in parentheses behind `first`, `end`, `string`.
    fn of_value(&mut self, name: &str, start: usize) -> Result<Word, PatternError> {
        self.spaces();
        self.takes('(');
        let mut all = Vec::new();
        loop {
            self.spaces();
            self.deeper()?;
            all.push(self.value()?);
            self.depth -= 1;
            self.spaces();
            match () {
                () if name == "first" && self.takes(',') => {}
                () if self.takes(')') => break,
                () => {
                    let place = self.here(self.at..self.at + 1);
                    let example = match name {
                        "first" => "`first(arg(0).name(), 'none')`",
                        "end" => "`end(arg(1).getStatus())`",
                        _ => "`string(arg(0))`",
                    };
                    return Err(wrong(place, "expected `)`", example));
                }
            }
        }
        if all.len() > MAX_OPERANDS {
            return Err(wrong(
                start..self.at,
                "`first` takes 255 values at most",
                "",
            ));
        }
        let one = |mut all: Vec<HookOperand>| Box::new(all.remove(0));
        Ok(match name {
            "first" => Word::First(all),
            "end" => Word::End(one(all)),
            _ => Word::TextOf(one(all)),
        })
    }

    /// `(Type)` in front of an operand, or an operand in parentheses with what is asked of it.
    fn in_parentheses(&mut self) -> Result<HookOperand, PatternError> {
        let start = self.at;
        self.deeper()?;
        self.takes('(');
        self.spaces();
        let mut ahead = Reader { ..*self };
        let name = ahead.type_name();
        ahead.spaces();
        let is_closed = !name.is_empty() && ahead.takes(')');
        let cast = start..ahead.at;
        ahead.spaces();
        let goes_on = |c: char| in_word(c) || matches!(c, '(' | '@');
        let mut operand = match is_closed && ahead.rest().starts_with(goes_on) {
            true => {
                let name = name.to_owned();
                self.at = ahead.at;
                let mut operand = self.value()?;
                operand.members.push(MemberName {
                    name,
                    kind: MemberKind::Cast,
                    place: cast,
                });
                operand
            }
            false => {
                let mut operand = self.value()?;
                self.spaces();
                if !self.takes(')') {
                    let place = self.here(self.at..self.at + 1);
                    return Err(wrong(place, "expected `)`", "`((acme.Order)arg(0)).id()`"));
                }
                self.members(&mut operand.members)?;
                operand
            }
        };
        self.depth -= 1;
        self.check_members(&operand)?;
        operand.place = start..self.at;
        Ok(operand)
    }

    /// The name of a type, for a cast.
    fn type_name(&mut self) -> &'t str {
        let start = self.at;
        self.dotted();
        while self.rest().starts_with("[]") {
            self.at += 2;
        }
        &self.text[start..self.at]
    }

    /// Values inside of values do not go on without end.
    fn deeper(&mut self) -> Result<(), PatternError> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(wrong(
                self.here(self.at..self.at + 1),
                "values are in each other 16 deep at most",
                "a static method of your own can do more",
            )),
            false => Ok(()),
        }
    }

    /// What stands in front of a call.
    fn changes(&mut self) -> Result<Changes, PatternError> {
        let start = self.at;
        let word = self.dotted();
        let place = start..self.at;
        self.spaces();
        // Types may be called so: `throw.Away.it()`, and a method `skip(..)` is no call of a type's.
        let goes_on = self.rest().starts_with(in_word);
        match word {
            "throw" if goes_on => return Ok(Changes::Throw(place)),
            "return" if goes_on => return Ok(Changes::Return(place)),
            "skip" if goes_on => {
                self.phrase("when", "`skip when acme.Flags.off(method)`")?;
                return Ok(Changes::Skip(place));
            }
            _ => self.at = start,
        }
        // An operand that `=` follows.
        let is_place = |rest: &str| rest.trim_start().starts_with('=');
        let mut ahead = Reader { ..*self };
        let Ok(operand) = ahead.operand() else {
            return Ok(Changes::Nothing);
        };
        if !is_place(ahead.rest()) {
            return Ok(Changes::Nothing);
        }
        if !matches!(operand.word, Word::Arg(_) | Word::Named(_) | Word::Result) {
            return Err(wrong(
                operand.place,
                "this gets no other value",
                "`arg(0) = ..`, a parameter's name, or `result = ..`",
            ));
        }
        ahead.spaces();
        ahead.takes('=');
        ahead.spaces();
        self.at = ahead.at;
        Ok(Changes::Value(operand))
    }

    /// Words that must come next.
    fn phrase(&mut self, words: &str, example: &str) -> Result<(), PatternError> {
        for word in words.split(' ') {
            self.spaces();
            let start = self.at;
            if self.takes_while(in_word) != word {
                let place = self.here(start..self.at.max(start + 1));
                return Err(wrong(place, &format!("expected `{words}`"), example));
            }
        }
        self.spaces();
        Ok(())
    }

    fn ends(&mut self) -> Result<(), PatternError> {
        self.spaces();
        if self.at < self.text.len() {
            return Err(wrong(
                self.at..self.text.len(),
                "something follows the call",
                "several hooks are a list: `[\"a.B.c()\", \"a.B.d()\"]`",
            ));
        }
        Ok(())
    }
}

fn call(reader: &mut Reader<'_>) -> Result<HookCall, PatternError> {
    let start = reader.at;
    let name = reader.dotted();
    let whole = start..reader.at;
    let split = name.rfind('.').filter(|&dot| dot + 1 < name.len());
    let Some((ty, method)) = split.map(|dot| (&name[..dot], &name[dot + 1..])) else {
        return Err(wrong(
            reader.here(whole),
            "a hook is a call of a static method",
            "write `some.Type.method(..)`",
        ));
    };
    let (ty, method) = (ty.to_owned(), method.to_owned());
    reader.spaces();
    if !reader.takes('(') {
        let place = reader.here(reader.at..reader.at + 1);
        return Err(wrong(place, "expected `(`", "write `some.Type.method(..)`"));
    }
    let mut operands = Vec::new();
    reader.spaces();
    if !reader.takes(')') {
        loop {
            let is_chain = |name: &str, rest: &str| {
                let takes_nothing = rest[1..].trim_start().starts_with(')');
                is_chain(name, rest) || takes_nothing && !names_a_type(name)
            };
            reader.deeper()?;
            operands.push(match reader.static_call(is_chain)? {
                Some(operand) => operand,
                None => reader.operand()?,
            });
            reader.depth -= 1;
            if operands.len() > MAX_OPERANDS {
                return Err(wrong(whole, "a call has 255 operands at most", ""));
            }
            reader.spaces();
            match () {
                () if reader.takes(',') => reader.spaces(),
                () if reader.takes(')') => break,
                () => {
                    let place = reader.here(reader.at..reader.at + 1);
                    return Err(wrong(place, "expected `,` or `)`", ""));
                }
            }
        }
    }
    Ok(HookCall {
        ty,
        method,
        name: whole,
        operands,
        changes: Changes::Nothing,
    })
}

pub(super) fn wrong(span: Range<usize>, message: &str, help: &str) -> PatternError {
    PatternError {
        span,
        message: message.to_owned(),
        help: (!help.is_empty()).then(|| help.to_owned()),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// So many values are around what is read.
    depth: usize,
    /// What links may take beside constants.
    free: &'static [&'static str],
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Reader<'t> {
        Reader {
            text,
            at: 0,
            depth: 0,
            free: &[],
        }
    }

    fn is_free(&self, word: &Word) -> bool {
        matches!(word, Word::Named(name) if self.free.contains(&name.as_str()))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn takes_while(&mut self, accepted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !accepted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// A type's or method's name with what is around it: `` a.B$C+D`1.e ``.
    fn dotted(&mut self) -> &'t str {
        self.takes_while(|c| in_word(c) || matches!(c, '.' | '+' | '`' | '-'))
    }

    /// A range that shows something, also at the end of the text.
    fn here(&self, place: Range<usize>) -> Range<usize> {
        let end = place.end.min(self.text.len());
        let start = place.start.min(end);
        match start == end {
            false => self.text.floor_char_boundary(start)..self.text.ceil_char_boundary(end),
            true => self.text.floor_char_boundary(start.saturating_sub(1))..end,
        }
    }

    fn operand(&mut self) -> Result<HookOperand, PatternError> {
        if self.rest().starts_with('(') {
            return self.in_parentheses();
        }
        let start = self.at;
        let word = self.word()?;
        self.with_members(word, start)
    }

    /// The rest of an operand.
    fn with_members(&mut self, word: Word, start: usize) -> Result<HookOperand, PatternError> {
        let end = self.at;
        let optional = self.takes('?');
        let is_there = word.is_constant() || !word.inner().is_empty();
        if optional && (is_there || matches!(word, Word::EachArg | Word::Call(_))) {
            return Err(wrong(
                end..self.at,
                "this is always there",
                "leave the `?` out",
            ));
        }
        let mut operand = HookOperand {
            word,
            optional,
            members: Vec::new(),
            place: start..self.at,
        };
        self.members(&mut operand.members)?;
        operand.place.end = self.at;
        self.check_members(&operand)?;
        Ok(operand)
    }

    /// Whether what is asked for its members has some.
    fn check_members(&self, operand: &HookOperand) -> Result<(), PatternError> {
        let has_members = matches!(
            operand.word,
            Word::This
                | Word::Target
                | Word::Arg(_)
                | Word::Named(_)
                | Word::Result
                | Word::Exception
                | Word::State
                | Word::Call(_)
                | Word::First(_)
                | Word::TextOf(_)
        );
        match operand.members.first() {
            Some(member) if !has_members => Err(wrong(
                member.place.clone(),
                "this has no members",
                "`this`, `target`, `arg(n)`, a parameter's name, `result`, `exception`, `state` and what a call gives have",
            )),
            _ => Ok(()),
        }
    }

    /// The links of a chain: `.uri().getHost()`, `.RequestUri.Host`, `.getHeader('host')`.
    fn members(&mut self, members: &mut Vec<MemberName>) -> Result<(), PatternError> {
        while self.takes('.') {
            let start = self.at;
            let name = self.takes_while(in_word).to_owned();
            if name.is_empty() {
                return Err(wrong(
                    self.here(start..start + 1),
                    "expected a member",
                    "`arg(0).uri().getHost()`; also fields, and of .NET properties: `arg(0).RequestUri.Host`",
                ));
            }
            let kind = match self.takes('(') {
                true => MemberKind::Method(self.constants()?),
                false => MemberKind::Property,
            };
            members.push(MemberName {
                name,
                kind,
                place: start..self.at,
            });
            if members.len() > MAX_MEMBERS {
                return Err(wrong(
                    start..self.at,
                    "a chain has 16 links at most",
                    "a static method of your own can do more",
                ));
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<Word, PatternError> {
        let start = self.at;
        match self.rest().chars().next() {
            Some('\'') => self.quoted(),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number(),
            Some(c) if in_word(c) || c == '@' => {
                self.takes('@');
                let name = self.takes_while(in_word);
                let plain = self.text[start..].starts_with('@');
                match name {
                    _ if plain => Ok(Word::Named(name.to_owned())),
                    "arg" if self.rest().trim_start().starts_with('(') => self.index(start),
                    "args" if self.rest().starts_with("..") => {
                        self.at += 2;
                        Ok(Word::EachArg)
                    }
                    "first" | "end" | "string" if self.rest().trim_start().starts_with('(') => {
                        self.of_value(name, start)
                    }
                    "true" => Ok(Word::Bool(true)),
                    "false" => Ok(Word::Bool(false)),
                    _ if self.rest().trim_start().starts_with('(') => {
                        let help = match nearest(name, &["arg"], &[]) {
                            Some(_) => "did you mean `arg(0)`?",
                            None => {
                                "`arg(0)` is an argument; a method of a value stands behind a dot: `arg(0).uri()`"
                            }
                        };
                        let place = self.here(start..self.at);
                        Err(wrong(place, "no operand is written so", help))
                    }
                    _ => {
                        let known = WORDS.iter().find(|(word, _)| *word == name);
                        let word = known.map(|(_, word)| word.clone());
                        Ok(word.unwrap_or_else(|| Word::Named(name.to_owned())))
                    }
                }
            }
            _ => Err(wrong(
                self.here(start..start + 1),
                "expected an operand",
                "a word (`this`, `arg(0)`, `result`, ..), a parameter's name, a number, 'text', true, false or null",
            )),
        }
    }

    /// The rest of `arg(n)`.
    fn index(&mut self, start: usize) -> Result<Word, PatternError> {
        self.spaces();
        self.takes('(');
        self.spaces();
        let digits = self.takes_while(|c| c.is_ascii_digit());
        self.spaces();
        match digits.parse() {
            Ok(n) if self.takes(')') => Ok(Word::Arg(n)),
            _ => Err(wrong(
                self.here(start..self.at + 1),
                "expected the number of an argument, from 0",
                "`arg(0)` is the first one, without `this`",
            )),
        }
    }

    /// `'text'`; a quote in it is doubled.
    fn quoted(&mut self) -> Result<Word, PatternError> {
        let start = self.at;
        let mut value = String::new();
        self.takes('\'');
        loop {
            value.push_str(self.takes_while(|c| c != '\''));
            if !self.takes('\'') {
                return Err(wrong(
                    start..self.text.len(),
                    "the text has no end",
                    "a quote inside a text is doubled: 'it''s'",
                ));
            }
            if !self.takes('\'') {
                return Ok(Word::Text(value));
            }
            value.push('\'');
        }
    }

    fn number(&mut self) -> Result<Word, PatternError> {
        let start = self.at;
        self.takes('-');
        self.takes_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
        let text = self.text[start..self.at].replace('_', "");
        let value = match text.parse() {
            Ok(n) => Some(Word::Int(n)),
            Err(_) => (text.parse::<f64>().ok().filter(|n| n.is_finite())).map(Word::Double),
        };
        value.ok_or_else(|| {
            wrong(
                start..self.at,
                "expected a number of 64 bits, or with a decimal point",
                "",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<(Word, bool)> {
        let call = parse(text).unwrap();
        let operands = call.operands.into_iter();
        operands.map(|o| (o.word, o.optional)).collect()
    }

    #[test]
    fn calls_are_read() {
        let call = parse(" acme.Sql$Log.begin( this? ,arg(0), sql ) ").unwrap();
        assert_eq!((&*call.ty, &*call.method), ("acme.Sql$Log", "begin"));
        assert_eq!(call.name, 1..19);
        assert_eq!(
            words("a.b(this?, arg( 12 )?, sql, @this, 'it''s', -3, 2.5, true, null, args)"),
            [
                (Word::This, true),
                (Word::Arg(12), true),
                (Word::Named("sql".into()), false),
                (Word::Named("this".into()), false),
                (Word::Text("it's".into()), false),
                (Word::Int(-3), false),
                (Word::Double(2.5), false),
                (Word::Bool(true), false),
                (Word::Null, false),
                (Word::Args, false),
            ]
        );
        assert_eq!(words("a.b()"), []);
    }

    #[test]
    fn recorded_values_are_read() {
        let operand = |word, optional, place| HookOperand {
            word,
            optional,
            members: vec![],
            place,
        };
        assert_eq!(
            parse_recorded(" arg(0)? "),
            Ok((None, Recorded::Operand(operand(Word::Arg(0), true, 1..8))))
        );
        assert_eq!(
            parse_recorded("string( sql )"),
            Ok((
                None,
                Recorded::Text(operand(Word::Named("sql".into()), false, 8..11))
            ))
        );
        // A parameter may be called so.
        assert_eq!(
            parse_recorded("string"),
            Ok((
                None,
                Recorded::Operand(operand(Word::Named("string".into()), false, 0..6))
            ))
        );
        assert!(
            matches!(parse_recorded("acme.Sql.text(this)"), Ok((None, Recorded::Call(call))) if call.method == "text")
        );
        let wrong = |text: &str| {
            let e = parse_recorded(text).unwrap_err();
            (text[e.span].to_owned(), e.message)
        };
        assert_eq!(
            wrong("duration"),
            ("duration".into(), "this is not recorded".into())
        );
        assert_eq!(wrong("a = line").0, "line");
        assert_eq!(wrong("string(sql").1, "expected `)`");
        assert_eq!(
            wrong("arg(0) arg(1)"),
            ("arg(1)".into(), "something follows the value".into())
        );
    }

    #[test]
    fn names_of_values_have_dots() {
        let named = |text| parse_recorded(text).map(|(name, _)| name.map(str::to_owned));
        assert_eq!(
            named("http.request.method = arg(0).getMethod()"),
            Ok(Some("http.request.method".into()))
        );
        assert_eq!(
            named("user-id=acme.Session.user()"),
            Ok(Some("user-id".into()))
        );
        for wrong in [".a = arg(0)", "a. = arg(0)", "a..b = arg(0)"] {
            assert_eq!(
                named(wrong).unwrap_err().message,
                "a part of the name is empty"
            );
        }
    }

    #[test]
    fn a_misspelt_word_has_help() {
        let help = |text| parse(text).unwrap_err().help.unwrap();
        assert_eq!(help("a.b(agr(0))"), "did you mean `arg(0)`?");
        assert!(help("a.b(sql(0))").starts_with("`arg(0)` is an argument"));
        assert_eq!(
            parse_recorded("agr(0)").unwrap_err().help.unwrap(),
            "did you mean `arg(0)`?"
        );
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let place = |text: &str| {
            let e = parse(text).unwrap_err();
            (text[e.span].to_owned(), e.message)
        };
        let (at, said) = place("begin(this)");
        assert_eq!(
            (&*at, &*said),
            ("begin", "a hook is a call of a static method")
        );
        assert_eq!(place("a.b(this").1, "expected `,` or `)`");
        assert_eq!(place("a.b('x)").0, "'x)");
        assert_eq!(place("a.b(arg(x))").0, "arg(x");
        assert_eq!(place("a.b(1?)").0, "?");
        assert_eq!(place("a.b() c").0, "c");
        assert_eq!(place("a.b(,)").0, ",");
        assert_eq!(
            place("arg(0) = a.b()").1,
            "a hook is a call of a static method",
            "only hooks change something"
        );
        assert_eq!(place("a.b(1e999)").0, "1e999");
    }

    #[test]
    fn chains_are_read() {
        let members = |text: &str| -> Vec<(String, bool, String)> {
            let call = parse(text).unwrap();
            let members = call.operands[0].members.iter();
            members
                .map(|m| {
                    (
                        m.name.clone(),
                        m.is_method(),
                        text[m.place.clone()].to_owned(),
                    )
                })
                .collect()
        };
        let one =
            |name: &str, is_method, place: &str| (name.to_owned(), is_method, place.to_owned());
        assert_eq!(
            members("a.b(arg(0)?.uri().getHost( ), 1)"),
            [
                one("uri", true, "uri()"),
                one("getHost", true, "getHost( )")
            ]
        );
        assert_eq!(
            members("a.b(request.RequestUri.Host)"),
            [
                one("RequestUri", false, "RequestUri"),
                one("Host", false, "Host")
            ]
        );
        let chain = |text: &str| match parse_recorded(text).unwrap() {
            (_, Recorded::Operand(operand)) => operand.members.len(),
            (_, Recorded::Text(operand)) => 10 + operand.members.len(),
            (_, Recorded::Call(_)) => 100,
        };
        assert_eq!(chain("host = arg(0).uri().getHost()"), 2);
        assert_eq!(chain("target.request().method()"), 2);
        assert_eq!(chain("target.Address.ToString()"), 2);
        assert_eq!(chain("result.statusCode()"), 1);
        assert_eq!(chain("request.uri().getHost()"), 2);
        assert_eq!(chain("request.uri()"), 1);
        assert_eq!(chain("@request.Uri.ToString()"), 2);
        assert_eq!(chain("string(arg(0).uri())"), 11);
        // A static method of a type: of a package, of none, with operands.
        assert_eq!(chain("acme.Session.user()"), 100);
        assert_eq!(chain("Session.User()"), 100);
        assert_eq!(chain("session.user(this)"), 100);
        let wrong = |text: &str| {
            let e = parse_recorded(text).unwrap_err();
            (text[e.span].to_owned(), e.message)
        };
        assert_eq!(
            wrong("a = args.length()"),
            ("length()".into(), "this has no members".into())
        );
        assert_eq!(
            wrong("arg(0).uri(this)"),
            ("this".into(), "expected `)`, or a constant".into())
        );
        assert_eq!(wrong("arg(0).uri(1 2)").1, "expected `,` or `)`");
        assert_eq!(wrong("arg(0).uri('x)").1, "the text has no end");
        assert_eq!(wrong("arg(0)..x").1, "expected a member");
        assert_eq!(wrong("arg(0).").1, "expected a member");
        assert_eq!(
            wrong(&format!("this{}", ".a()".repeat(17))).1,
            "a chain has 16 links at most"
        );
    }

    /// A value as it was read, each part in parentheses.
    fn shown(operand: &HookOperand) -> String {
        let all = |operands: &[HookOperand]| {
            let shown: Vec<String> = operands.iter().map(shown).collect();
            shown.join(", ")
        };
        let mut text = match &operand.word {
            Word::Arg(n) => format!("arg{n}"),
            Word::Named(name) => format!("@{name}"),
            Word::Text(text) => format!("'{text}'"),
            Word::Int(n) => n.to_string(),
            Word::Null => "null".to_owned(),
            Word::Call(call) => format!("{}#{}({})", call.ty, call.method, all(&call.operands)),
            Word::First(operands) => format!("first({})", all(operands)),
            Word::End(inner) => format!("end({})", shown(inner)),
            Word::TextOf(inner) => format!("string({})", shown(inner)),
            other => format!("{other:?}"),
        };
        for member in &operand.members {
            text.push('.');
            match &member.kind {
                MemberKind::Method(arguments) => {
                    text.push_str(&format!("{}({})", member.name, all(arguments)))
                }
                _ => text.push_str(&member.to_string()),
            }
        }
        text
    }

    #[test]
    fn values_are_made_of_others() {
        let read = |text: &str| match parse_recorded(text).unwrap().1 {
            Recorded::Operand(operand) => shown(&operand),
            Recorded::Text(operand) => format!("text of {}", shown(&operand)),
            Recorded::Call(call) => shown(&HookOperand {
                word: Word::Call(Box::new(call)),
                optional: false,
                members: vec![],
                place: 0..0,
            }),
        };
        assert_eq!(read("a = 'redis'"), "'redis'");
        assert_eq!(read("a = -3"), "-3");
        assert_eq!(read("a = null"), "null");
        assert_eq!(read("arg(0).get('it''s', 3)"), "arg0.get('it's', 3)");
        assert_eq!(read("request.getHeader('x')"), "@request.getHeader('x')");
        assert_eq!(
            read("url.scheme = first( weave.packs.Tomcat.text(arg(0).scheme()) , 'http' )"),
            "first(weave.packs.Tomcat#text(arg0.scheme()), 'http')"
        );
        assert_eq!(
            read("first(arg(0).header('a'), end(a.B.c(a.B.d(sql, 1), arg(1))))"),
            "first(arg0.header('a'), end(a.B#c(a.B#d(@sql, 1), arg1)))"
        );
        assert_eq!(read("a.B.c(this).trim()"), "a.B#c(This).trim()");
        assert_eq!(read("end(string(arg(0)))"), "end(string(arg0))");
        assert_eq!(read("string(arg(0).a())"), "text of arg0.a()");
        assert_eq!(read("(acme.Order)arg(0)"), "arg0.(acme.Order)");
        assert_eq!(read("((acme.Order)arg(0)).id"), "arg0.(acme.Order).id");
        assert_eq!(
            read("( ( a.C[] ) arg(0).list() ).x(1)"),
            "arg0.list().(a.C[]).x(1)"
        );
        assert_eq!(read("(sql).trim()"), "@sql.trim()");
        // Names of parameters.
        assert_eq!(read("first"), "@first");
        assert_eq!(read("end.x()"), "@end.x()");
        // The spelling says whether a name is a type or a value.
        assert_eq!(read("a.B.c(sql.trim())"), "a.B#c(@sql.trim())");
        assert_eq!(read("a.B.c(a.B.d())"), "a.B#c(a.B#d())");
        assert_eq!(read("A.B.C(A.B.D())"), "A.B#C(A.B#D())");
        assert_eq!(read("A.B.C(uri.Host.Trim())"), "A.B#C(@uri.Host.Trim())");
    }

    #[test]
    fn what_values_cannot_be_made_of_has_a_place() {
        let wrong = |text: &str| {
            let e = parse_recorded(text).unwrap_err();
            (text[e.span].to_owned(), e.message)
        };
        let is = |text: &str, place: &str, message: &str| {
            assert_eq!(
                wrong(text),
                (place.to_owned(), message.to_owned()),
                "{text}"
            );
        };
        is("first(duration)", "duration", "this is not recorded");
        is("end(arg(0), arg(1))", ",", "expected `)`");
        is("first(arg(0)", ")", "expected `)`");
        is("first(arg(0))?", "?", "this is always there");
        is("end(arg(0)).x()", "x()", "this has no members");
        is("'a'.length()", "length()", "this has no members");
        is("((a.B)arg(0).x()", ")", "expected `)`");
        let deep = format!("{}arg(0){}", "first(".repeat(20), ")".repeat(20));
        assert_eq!(wrong(&deep).1, "values are in each other 16 deep at most");
        let deep = format!("{}arg(0)", "(a.B)".repeat(5000));
        assert_eq!(wrong(&deep).1, "values are in each other 16 deep at most");
        let deep = "a.b(".repeat(5000);
        assert_eq!(wrong(&deep).1, "values are in each other 16 deep at most");
    }

    #[test]
    fn what_a_call_changes_is_read() {
        let changes = |text: &str| {
            let call = parse_hook(text).unwrap();
            let place = text[call.changes.place()].to_owned();
            assert_eq!(&text[call.name], "a.b");
            (place, call.changes)
        };
        let value = |text: &str| match changes(text) {
            (place, Changes::Value(operand)) => (place, operand.word, operand.optional),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            value(" arg( 2 ) = a.b(arg(2))"),
            ("arg( 2 )".into(), Word::Arg(2), false)
        );
        assert_eq!(
            value("arg(0)?=a.b()"),
            ("arg(0)?".into(), Word::Arg(0), true)
        );
        assert_eq!(
            value("throw = a.b()"),
            ("throw".into(), Word::Named("throw".into()), false)
        );
        assert_eq!(
            value("result = a.b(result)"),
            ("result".into(), Word::Result, false)
        );
        assert_eq!(
            changes("throw a.b(exception)"),
            ("throw".into(), Changes::Throw(0..5))
        );
        assert_eq!(
            changes(" return a.b()  unless  null "),
            ("return".into(), Changes::Return(1..7))
        );
        assert_eq!(
            changes("skip when a.b()"),
            ("skip".into(), Changes::Skip(0..4))
        );
        assert_eq!(changes("a.b(c)").1, Changes::Nothing);
        // Types may be called like these words.
        let plain = parse_hook("throw.skip(arg(0))").unwrap();
        assert_eq!(
            (&*plain.ty, &*plain.method, plain.changes),
            ("throw", "skip", Changes::Nothing)
        );
        let wrong = |text: &str| {
            let e = parse_hook(text).unwrap_err();
            (text[e.span].to_owned(), e.message)
        };
        assert_eq!(
            wrong("this = a.b()"),
            ("this".into(), "this gets no other value".into())
        );
        assert_eq!(
            wrong("return a.b()"),
            (")".into(), "expected `unless null`".into())
        );
        assert_eq!(
            wrong("return a.b() unless zero"),
            ("zero".into(), "expected `unless null`".into())
        );
        assert_eq!(wrong("skip a.b()"), ("a".into(), "expected `when`".into()));
        assert_eq!(wrong("arg(0) =").1, "a hook is a call of a static method");
        assert_eq!(wrong("skip when a.b() c").0, "c");
    }

    proptest! {
        #[test]
        fn any_text_is_a_call_or_an_error_in_it(text in ".{0,40}|(return |throw |skip when |arg\\(0\\) = |a.b\\(proceed|first\\(|end\\(|\\(a.B\\))?[a-z.(),?'@= 0-9]{0,30}") {
            for e in [parse(&text).err(), parse_hook(&text).err(), parse_recorded(&text).err()].into_iter().flatten() {
                prop_assert!(e.span.end <= text.len() && text.is_char_boundary(e.span.start) && text.is_char_boundary(e.span.end));
            }
        }
    }
}
