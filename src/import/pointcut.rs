//! AspectJ's pointcut expressions, as far as rules can say them.

use super::draft::{Draft, Point, Table, Value, What};
use std::collections::{BTreeMap, BTreeSet};

/// Most rules that one expression may become, and deepest nesting.
const MAX_PARTS: usize = 256;
const MAX_DEPTH: usize = 64;
/// Most primitive pointcuts that are looked at for one expression.
const MAX_STEPS: usize = 4096;

/// Methods that all these tables take (`takes`), without those that any of `leaves` takes.
#[derive(Clone, Debug, Default)]
struct Part {
    takes: Option<Table>,
    leaves: Vec<Table>,
    /// It is about whole methods.
    is_whole: bool,
    /// It is about points inside methods.
    is_inside: bool,
    /// It is about these points; the methods are those that have them.
    at: Option<Point>,
    /// The types of the arguments, of the method or the call.
    args: Option<Vec<String>>,
    /// The pattern of the type of the object that has the method.
    target: Option<String>,
}

impl Part {
    /// One that is about points.
    fn at(point: Point) -> Part {
        Part {
            at: Some(point),
            ..Part::default()
        }
    }
}

/// An expression as a list of parts, of which any may hold.
type Parts = Vec<Part>;

/// What an expression became.
pub struct Said {
    /// Tables and exclusions, a draft for each sort of exclusion.
    pub drafts: Vec<Draft>,
    /// What is said otherwise.
    pub told: Vec<String>,
    /// The other pointcuts that it uses.
    pub used: BTreeSet<String>,
    /// What the names that it binds stand for, as operands of hooks.
    pub bound: BTreeMap<String, String>,
}

/// Makes drafts of an expression; `named` are the other pointcuts. What cannot be said is the error.
pub fn say(expression: &str, named: &BTreeMap<String, String>) -> Result<Said, String> {
    if named.values().any(|text| nesting(text) > MAX_DEPTH) || nesting(expression) > MAX_DEPTH {
        return Err("nested too deeply".into());
    }
    let mut reader = Reader {
        named,
        told: Vec::new(),
        used: BTreeSet::new(),
        bound: BTreeMap::new(),
        steps: 0,
    };
    let parts = reader.either(expression, false, 0)?;
    let mut drafts: Vec<Draft> = Vec::new();
    for part in parts {
        for part in reader.applied(part)? {
            let matches: Vec<Table> = part.takes.into_iter().collect();
            let same = drafts.iter_mut().find(|draft| {
                (&draft.excludes, &draft.at) == (&part.leaves, &part.at)
                    && !draft.matches.is_empty()
                    && !matches.is_empty()
            });
            match same {
                Some(draft) if draft.matches.contains(&matches[0]) => {}
                Some(draft) => draft.matches.extend(matches),
                None => drafts.push(Draft {
                    matches,
                    excludes: part.leaves,
                    at: part.at,
                    ..Draft::default()
                }),
            }
        }
    }
    reader.told.dedup();
    Ok(Said {
        drafts,
        told: reader.told,
        used: reader.used,
        bound: reader.bound,
    })
}

struct Reader<'a> {
    named: &'a BTreeMap<String, String>,
    told: Vec<String>,
    used: BTreeSet<String>,
    bound: BTreeMap<String, String>,
    steps: usize,
}

impl Reader<'_> {
    /// Alternatives; negated, what none of them takes.
    fn either(&mut self, text: &str, negated: bool, depth: usize) -> Result<Parts, String> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply".into());
        }
        let mut sides = Vec::new();
        for side in split(text, "||")? {
            sides.push(self.both(side, negated, depth)?);
        }
        combine(sides, negated)
    }

    /// Conditions that hold together.
    fn both(&mut self, text: &str, negated: bool, depth: usize) -> Result<Parts, String> {
        let mut sides = Vec::new();
        for side in split(text, "&&")? {
            sides.push(self.one(side.trim(), negated, depth)?);
        }
        combine(sides, !negated)
    }

    fn one(&mut self, text: &str, negated: bool, depth: usize) -> Result<Parts, String> {
        // Pointcuts that use others twice grow with each step.
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("more than {MAX_STEPS} parts"));
        }
        if let Some(rest) = text.strip_prefix('!') {
            return match depth > MAX_DEPTH {
                true => Err("nested too deeply".into()),
                false => self.one(rest.trim(), !negated, depth + 1),
            };
        }
        if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            return self.either(inner, negated, depth + 1);
        }
        let (name, arguments) = text
            .split_once('(')
            .and_then(|(name, rest)| Some((name.trim(), rest.strip_suffix(')')?.trim())))
            .ok_or_else(|| format!("`{text}` is no pointcut"))?;
        if matches!(name, "call" | "get" | "set" | "handler" | "args" | "target") {
            return match negated {
                true => Err(format!("`!{text}` cannot be said by a rule")),
                false => match name {
                    "call" => self.call(text, arguments),
                    "get" => self.field("field-get", text, arguments),
                    "set" => self.field("field-set", text, arguments),
                    "handler" => self.handler(text, arguments),
                    "args" => Ok(vec![self.args(arguments)?]),
                    _ => Ok(vec![self.target(arguments)?]),
                },
            };
        }
        if name == "this" && is_name(arguments) && !negated {
            self.bound.insert(arguments.to_owned(), "this".to_owned());
            return Ok(vec![Part::default()]);
        }
        let tables = match name {
            "execution" | "withincode" => self.method(arguments)?,
            "this" => object(arguments)?,
            "within" => self.within(arguments)?,
            "staticinitialization" => types(arguments)?
                .into_iter()
                .map(|(key, pattern)| {
                    Table::of(key, in_its_package(pattern)).with("kind", "static-init")
                })
                .collect(),
            "@annotation" | "@within" => {
                self.told.push(format!(
                    "`{text}`: an annotation is that of the method or of its type, and may take more"
                ));
                vec![Table::of("annotation", glob(arguments)?)]
            }
            _ => match self
                .named
                .get_key_value(name.rsplit('.').next().unwrap_or(name))
            {
                Some((name, other)) if arguments.is_empty() => {
                    self.used.insert(name.clone());
                    let other = other.clone();
                    return self.either(&other, negated, depth + 1);
                }
                _ => return Err(format!("`{text}` cannot be said by a rule")),
            },
        };
        Ok(match negated {
            false => tables
                .into_iter()
                .map(|table| Part {
                    takes: Some(table),
                    is_whole: matches!(name, "execution" | "staticinitialization"),
                    is_inside: name == "withincode",
                    ..Part::default()
                })
                .collect(),
            true => vec![Part {
                leaves: tables,
                ..Part::default()
            }],
        })
    }

    /// `call(..)`: the calls that name this type and this method.
    fn call(&mut self, text: &str, arguments: &str) -> Result<Parts, String> {
        let mut all = Vec::new();
        for table in self.method(arguments)? {
            let is_new = table.has("kind");
            if table.has("extends") {
                let told = format!("`{text}`: a call that names a subtype is left out");
                if !self.told.contains(&told) {
                    self.told.push(told);
                }
                continue;
            }
            let (kept, lost): (Vec<_>, Vec<_>) =
                (table.0.into_iter()).partition(|(key, _)| match *key {
                    "type" | "params" => true,
                    "method" => !is_new,
                    _ => false,
                });
            let lost = lost
                .iter()
                .filter(|(key, _)| !is_new || !matches!(*key, "kind" | "method"));
            for (key, _) in lost {
                self.told.push(format!(
                    "`{text}`: `{key}` of what is called is left out: the rule may take more"
                ));
            }
            let mut calls = Table(kept);
            if !calls.has("type") && !calls.has("method") {
                calls.0.insert(0, ("type", Value::One("**".to_owned())));
            }
            let point = match is_new {
                true => Point {
                    kind: "new",
                    what: What::Table(calls),
                },
                false => Point::call(calls),
            };
            all.push(Part::at(point));
        }
        Ok(all)
    }

    /// `get(..)` or `set(..)`: the fields that are read or set.
    fn field(&mut self, kind: &'static str, text: &str, arguments: &str) -> Result<Parts, String> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let (Some((&named, said)), false) =
            (words.split_last(), arguments.contains(['(', '@', '&', '|']))
        else {
            return Err(format!("`{text}` cannot be said by a rule"));
        };
        let (ty, name) = named.rsplit_once('.').unwrap_or(("*", named));
        let says_more = said.iter().any(|word| *word != "*");
        if says_more {
            self.told.push(format!(
                "`{text}`: modifiers and the field's type are left out: the rule may take more"
            ));
        }
        let mut all = Vec::new();
        for (key, pattern) in types(ty)? {
            if key != "type" {
                self.told.push(format!(
                    "`{text}`: an access that names a subtype is left out"
                ));
                continue;
            }
            let mut table = Table::of("type", pattern);
            if name != "*" {
                table = table.with("name", name);
            }
            all.push(Part::at(Point {
                kind,
                what: What::Table(table),
            }));
        }
        Ok(all)
    }

    /// `handler(T)`: where a handler begins that declares the type.
    fn handler(&mut self, text: &str, arguments: &str) -> Result<Parts, String> {
        let mut all = Vec::new();
        for (key, pattern) in types(arguments)? {
            match key {
                "type" => all.push(Part::at(Point {
                    kind: "catch",
                    what: What::Type(pattern),
                })),
                _ => self.told.push(format!(
                    "`{text}`: a handler that declares a subtype is left out"
                )),
            }
        }
        Ok(all)
    }

    /// `args(..)`: the types of the arguments, or names for them.
    fn args(&mut self, arguments: &str) -> Result<Part, String> {
        let mut all = Vec::new();
        let params = match arguments {
            "" => vec![],
            _ => split(arguments, ",")?,
        };
        for (index, param) in params.into_iter().map(str::trim).enumerate() {
            all.push(match param {
                ".." | "*" => param.to_owned(),
                _ if is_name(param) => {
                    if !all.iter().any(|before| before == "..") {
                        self.bound.insert(param.to_owned(), format!("arg({index})"));
                    }
                    "*".to_owned()
                }
                _ => {
                    self.told.push(format!(
                        "`args({arguments})`: a parameter is taken by the type that it is declared with"
                    ));
                    only(param)?
                }
            });
        }
        Ok(Part {
            args: Some(all),
            ..Part::default()
        })
    }

    /// `target(T)`: the type of the object that has the method, or a name for it.
    fn target(&mut self, arguments: &str) -> Result<Part, String> {
        if is_name(arguments) {
            self.bound.insert(arguments.to_owned(), "target".to_owned());
            return Ok(Part::default());
        }
        Ok(Part {
            target: Some(only(arguments)?),
            ..Part::default()
        })
    }

    /// A part with its conditions about arguments and target in the tables that they are about.
    fn applied(&mut self, mut part: Part) -> Result<Parts, String> {
        let is_point = part.at.is_some();
        if part.is_inside && !is_point {
            return Err("`withincode` goes with `call`, `get`, `set` and `handler`".into());
        }
        if let Some(args) = part.args.take() {
            let has_args = |kind| matches!(kind, "call" | "new");
            let table = match &mut part.at {
                Some(Point {
                    kind,
                    what: What::Table(table),
                }) if has_args(kind) => table,
                // What a field gets or a handler has is a name that advice binds.
                Some(_) if args.iter().all(|arg| arg == "*") => return self.targeted(part),
                Some(point) => {
                    return Err(format!("`args` of a type goes with no `{}`", point.kind));
                }
                None => part.takes.get_or_insert_default(),
            };
            let is_said = matches!(table.get("params"), Some(Value::List(own)) if own.iter().all(|p| p != ".."));
            if !is_said {
                table.0.retain(|(key, _)| *key != "params");
                table.0.push(("params", Value::List(args)));
            }
        }
        self.targeted(part)
    }

    /// A part with its condition about the target in the table that it is about.
    fn targeted(&mut self, mut part: Part) -> Result<Parts, String> {
        let Some(target) = part.target.take() else {
            return Ok(vec![part]);
        };
        if let Some(point) = &mut part.at {
            let What::Table(table) = &mut point.what else {
                return Err(format!("`target({target})` goes with no `{}`", point.kind));
            };
            match table.get("type") {
                None => table.0.insert(0, ("type", Value::One(target))),
                Some(Value::One(any)) if any == "**" => {
                    table.0[0].1 = Value::One(target);
                }
                Some(_) => self.told.push(format!(
                    "`target({target})` is left out: the rule takes what names the type of `{}`",
                    point.kind
                )),
            }
            return Ok(vec![part]);
        }
        let objects = [("type", target.clone()), ("extends", target)];
        let parts = objects.map(|(key, pattern)| {
            let other = Part {
                takes: Some(Table::of(key, pattern)),
                ..Part::default()
            };
            joined(&part, &other)
        });
        parts.into_iter().collect()
    }

    /// `within(T)`: a type, the types nested in it included.
    fn within(&mut self, text: &str) -> Result<Vec<Table>, String> {
        if text.starts_with('@') {
            return self.annotated(text);
        }
        let mut all = Vec::new();
        for (key, pattern) in types(text)? {
            let nested = match (key, names_no_package(&pattern)) {
                ("type", _) if pattern.starts_with('!') => None,
                // What begins with a small letter may be a package, too.
                ("type", true)
                    if pattern.contains('*') && !pattern.starts_with(char::is_uppercase) =>
                {
                    self.told.push(format!(
                        "`within({text})`: types nested in those of `{pattern}` are left out"
                    ));
                    None
                }
                ("type", false) if pattern.ends_with('*') => None,
                ("type", _) => Some(format!("{pattern}.**")),
                _ => None,
            };
            all.push(Table::of(key, in_its_package(pattern)));
            all.extend(nested.map(|nested| Table::of(key, nested)));
        }
        Ok(all)
    }

    /// `@A *`, with or without parentheses.
    fn annotated(&mut self, text: &str) -> Result<Vec<Table>, String> {
        let parts = text
            .strip_prefix('@')
            .and_then(|t| t.split_once(char::is_whitespace));
        match parts {
            Some((annotation, rest)) if rest.trim() == "*" => {
                self.told.push(format!(
                    "`{text}`: an annotation is that of the method or of its type, and may take more"
                ));
                Ok(vec![Table::of("annotation", glob(annotation)?)])
            }
            _ => Err(format!("`{text}` cannot be said by a rule")),
        }
    }

    /// The pattern of a method or constructor.
    fn method(&mut self, text: &str) -> Result<Vec<Table>, String> {
        let open = opening(text).ok_or_else(|| format!("`{text}` has no parameters"))?;
        let close = matching(text, open).ok_or_else(|| format!("`{text}` has no `)`"))?;
        let throws = text[close + 1..].trim();
        if !throws.is_empty() {
            self.told
                .push(format!("`{throws}` is left out: the rule may take more"));
        }
        let mut base = Table::default();
        let mut words = split_words(text[..open].trim());
        let name = words.pop().ok_or_else(|| format!("`{text}` has no name"))?;
        let mut returns = None;
        for word in words {
            let (plain, not) = match word.strip_prefix('!') {
                Some(plain) => (plain, "!"),
                None => (word, ""),
            };
            match plain {
                "public" | "protected" | "private" if !base.has("access") => {
                    base = base.with("access", format!("{not}{plain}"));
                }
                "public" | "protected" | "private" => {
                    return Err(format!("`{text}`: two visibilities at once"));
                }
                "static" | "final" | "synchronized" | "abstract" | "native" | "strictfp" => {
                    self.told
                        .push(format!("`{word}` is left out: the rule may take more"));
                }
                _ if plain.starts_with('@') && not.is_empty() => {
                    base = base.with("annotation", glob(&plain[1..])?);
                }
                _ if returns.is_none() => returns = Some(word),
                _ => return Err(format!("`{text}`: `{word}` is not understood")),
            }
        }
        let (declaring, name) = declaring(name);
        if name == "new" {
            base = base.with("kind", "constructor");
        } else {
            let returns = returns.ok_or_else(|| format!("`{text}` has no return type"))?;
            if returns != "*" {
                base = base.with("returns", only(returns)?);
            }
            if name != "*" {
                base = base.with("method", name);
            }
        }
        let params = text[open + 1..close].trim();
        if params != ".." {
            let mut all = Vec::new();
            for param in split(params, ",")?.into_iter().map(str::trim) {
                match param {
                    "" => {}
                    ".." | "*" => all.push(param.to_owned()),
                    _ => all.push(only(param)?),
                }
            }
            base = base.with_list("params", all);
        }
        let Some(declaring) = declaring.filter(|ty| *ty != "*") else {
            return Ok(vec![base]);
        };
        let mut found = types(declaring)?;
        for (_, pattern) in &mut found {
            *pattern = in_its_package(std::mem::take(pattern));
        }
        // A method that overrides another has that one's signature, too.
        let exact = |pattern: &str| !pattern.contains(['*', '?', '!']);
        if let [("type", one)] = &found[..]
            && exact(one)
            && name != "new"
        {
            found.push(("extends", one.clone()));
        }
        Ok(found
            .into_iter()
            .map(|(key, pattern)| {
                let mut table = Table::of(key, pattern);
                table.0.extend(base.0.iter().cloned());
                table
            })
            .collect())
    }
}

/// How many parentheses are open at once, at most.
fn nesting(text: &str) -> usize {
    let mut open = 0usize;
    let depths = text.bytes().map(|byte| {
        match byte {
            b'(' => open += 1,
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
        open
    });
    depths.max().unwrap_or(0)
}

/// All combinations, or all alternatives.
fn combine(sides: Vec<Parts>, together: bool) -> Result<Parts, String> {
    if !together {
        let all: Parts = sides.into_iter().flatten().collect();
        return match all.len() > MAX_PARTS {
            true => Err(format!("more than {MAX_PARTS} alternatives")),
            false => Ok(all),
        };
    }
    let mut all = vec![Part::default()];
    for side in sides {
        let mut next = Vec::new();
        for left in &all {
            for right in &side {
                next.push(joined(left, right)?);
            }
        }
        if next.len() > MAX_PARTS {
            return Err(format!("more than {MAX_PARTS} alternatives"));
        }
        all = next;
    }
    Ok(all)
}

/// One of two conditions, which cannot both be there.
fn one_of<T: Clone>(left: &Option<T>, right: &Option<T>, what: &str) -> Result<Option<T>, String> {
    match (left, right) {
        (Some(_), Some(_)) => Err(format!("two {what} at once")),
        (one, other) => Ok(one.clone().or_else(|| other.clone())),
    }
}

/// What two parts take together.
fn joined(left: &Part, right: &Part) -> Result<Part, String> {
    let at = one_of(&left.at, &right.at, "points")?;
    let is_whole = left.is_whole || right.is_whole;
    if is_whole && at.is_some() {
        return Err("a point in a method and the execution of a method are never the same".into());
    }
    let mut leaves = left.leaves.clone();
    leaves.extend(right.leaves.iter().cloned());
    let takes = match (&left.takes, &right.takes) {
        (None, one) | (one, None) => one.clone(),
        (Some(a), Some(b)) => {
            let (a, b) = match b.0.len() > a.0.len() {
                true => (b, a),
                false => (a, b),
            };
            let mut table = a.clone();
            for (key, value) in &b.0 {
                if !table.has(key) {
                    table.0.push((key, value.clone()));
                    continue;
                }
                // A key is there once: what the other asks for is what must not be missing.
                match value {
                    Value::One(pattern) => {
                        let not = match pattern.strip_prefix('!') {
                            Some(plain) => plain.to_owned(),
                            None => format!("!{pattern}"),
                        };
                        leaves.push(Table::of(key, not));
                    }
                    Value::List(_) => {
                        return Err("two lists of parameters at once".into());
                    }
                }
            }
            Some(table)
        }
    };
    Ok(Part {
        takes,
        leaves,
        is_whole,
        is_inside: left.is_inside || right.is_inside,
        at,
        args: one_of(&left.args, &right.args, "lists of arguments")?,
        target: one_of(&left.target, &right.target, "targets")?,
    })
}

/// Whether a pointcut's argument is a name that it binds, and no type.
fn is_name(text: &str) -> bool {
    const PRIMITIVE: [&str; 8] = [
        "boolean", "byte", "char", "short", "int", "long", "float", "double",
    ];
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_plain && text.starts_with(|c: char| c.is_lowercase()) && !PRIMITIVE.contains(&text)
}

/// The tables of `this(T)`: the method is that of an object of the type.
fn object(text: &str) -> Result<Vec<Table>, String> {
    let pattern = only(text)?;
    Ok(vec![
        Table::of("type", pattern.clone()),
        Table::of("extends", pattern),
    ])
}

/// Splits at an operator outside parentheses.
fn split<'a>(text: &'a str, operator: &str) -> Result<Vec<&'a str>, String> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut at) = (0usize, 0, 0);
    while at < text.len() {
        match text.as_bytes()[at] {
            b'(' | b'<' => depth += 1,
            b')' | b'>' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| format!("`{text}`: one `)` too many"))?;
            }
            _ if depth == 0 && text.as_bytes()[at..].starts_with(operator.as_bytes()) => {
                parts.push(&text[start..at]);
                at += operator.len();
                start = at;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 {
        return Err(format!("`{text}`: a `)` is missing"));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Words between blanks, outside parentheses; `! private` is one.
fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut depth, mut start) = (0, None);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            _ => {}
        }
        let blank = c.is_whitespace() && depth == 0;
        match (blank, start) {
            (true, Some(from)) => {
                words.push(&text[from..i]);
                start = None;
            }
            (false, None) => start = Some(i),
            _ => {}
        }
    }
    words.extend(start.map(|from| &text[from..]));
    words
}

/// Where the parameters begin: the last parenthesis at the top that is not part of a type.
fn opening(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut found = None;
    while let Some(open) = text[at..].find('(').map(|i| at + i) {
        let before = text[..open].trim_end().chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "_$*".contains(c))
            && !text[..open].ends_with(char::is_whitespace)
        {
            found = Some(open);
        }
        at = matching(text, open)? + 1;
    }
    found
}

/// The parenthesis that closes another.
fn matching(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// The declaring type and the name of a method's pattern.
fn declaring(text: &str) -> (Option<&str>, &str) {
    match text.rfind('.') {
        None => (None, text),
        // `com.acme..*` is any method of any type there.
        Some(dot) if text[..dot].ends_with('.') => (Some(&text[..=dot]), &text[dot + 1..]),
        Some(dot) => (Some(&text[..dot]), &text[dot + 1..]),
    }
}

/// The tables that a pattern for types becomes, of which any may hold: a key and its pattern.
fn types(text: &str) -> Result<Vec<(&'static str, String)>, String> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
    if let Some(inner) = inner {
        return types(inner);
    }
    let alternatives = split(text, "||")?;
    if alternatives.len() > 1 {
        let mut all = Vec::new();
        for one in alternatives {
            all.extend(types(one)?);
        }
        return Ok(all);
    }
    let cannot = || format!("the type `{text}` cannot be said by a rule");
    if text.contains("&&") || text.contains(['@', '(', ')', ' ']) {
        return Err(cannot());
    }
    if let Some(rest) = text.strip_prefix('!') {
        if rest.trim_start().starts_with('!') {
            return Err(cannot());
        }
        return match &types(rest)?[..] {
            [("type", pattern)] if !pattern.starts_with('!') => {
                Ok(vec![("type", format!("!{pattern}"))])
            }
            _ => Err(cannot()),
        };
    }
    if let Some(base) = text.strip_suffix('+') {
        let pattern = glob(base)?;
        return Ok(vec![("type", pattern.clone()), ("extends", pattern)]);
    }
    let pattern = glob(text)?;
    // Dots in the middle stand for none, too.
    match pattern.match_indices(".**.").next() {
        Some((at, _)) if at > 0 => {
            let near = format!("{}.{}", &pattern[..at], &pattern[at + 4..]);
            Ok(vec![("type", near), ("type", pattern)])
        }
        _ => Ok(vec![("type", pattern)]),
    }
}

/// Whether a pattern is about types without a package.
fn names_no_package(pattern: &str) -> bool {
    !pattern.contains('.') && !pattern.contains("**")
}

/// The pattern of a type that is declared somewhere. One without a package has none; in a rule it would be of any.
fn in_its_package(pattern: String) -> String {
    if !names_no_package(&pattern) {
        return pattern;
    }
    let (not, plain) = match pattern.strip_prefix('!') {
        Some(plain) => ("!", plain),
        None => ("", pattern.as_str()),
    };
    let mut regex = String::new();
    for c in plain.chars() {
        match c {
            '*' => regex.push_str("[^.]*"),
            // Between nested types it is a dot.
            '$' => regex.push_str("[.$]"),
            c if c.is_alphanumeric() || c == '_' => regex.push(c),
            c => regex.extend(['\\', c]),
        }
    }
    format!("{not}re:{regex}")
}

/// A pattern that must be one type's.
fn only(text: &str) -> Result<String, String> {
    match &types(text)?[..] {
        [("type", pattern)] => Ok(pattern.clone()),
        _ => Err(format!("the type `{text}` cannot be said by a rule here")),
    }
}

/// `com.acme..*` as `com.acme.**`.
fn glob(text: &str) -> Result<String, String> {
    let text = text.trim();
    let plain = |c: char| c.is_alphanumeric() || "_$.*[]<>,?".contains(c);
    if text.is_empty() || !text.chars().all(plain) || text.contains("...") {
        return Err(format!("`{text}` is no pattern of a type"));
    }
    if text == "*" {
        return Ok("**".into());
    }
    let mut out = text.replace("..*.", ".**.*.");
    if let Some(package) = out.strip_suffix("..*").or_else(|| out.strip_suffix("..")) {
        out = format!("{package}.**");
    }
    let out = out.replace("..", ".**.");
    Ok(match out.strip_prefix('.') {
        Some(rest) => rest.to_owned(),
        None => out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_types() {
        for (from, to) in [
            ("com.acme.Orders", "com.acme.Orders"),
            ("com.acme.*", "com.acme.*"),
            ("com.acme..*", "com.acme.**"),
            ("*..*", "*.**"),
            ("*", "**"),
            ("*..Orders", "*.**.Orders"),
            ("com.acme..*Service", "com.acme.**.*Service"),
            ("java.lang.String[]", "java.lang.String[]"),
        ] {
            assert_eq!(glob(from).as_deref(), Ok(to), "{from}");
        }
        assert!(glob("a b").is_err());
    }

    fn said(expression: &str) -> String {
        match say(expression, &BTreeMap::new()) {
            Ok(said) => {
                let all: Vec<_> = said.drafts.iter().map(Draft::render).collect();
                let lines = all.join("");
                let lines = lines.lines().filter(|line| {
                    !line.is_empty()
                        && !line.starts_with(['#', '[', ']'])
                        && !line.starts_with("name")
                });
                lines.map(str::trim).collect::<Vec<_>>().join("\n")
            }
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn what_is_negated_is_left_out() {
        let text =
            "execution(* com.acme..*.*(..)) && !within(com.acme.gen..*) && !execution(void run())";
        insta::assert_snapshot!(said(text));
        insta::assert_snapshot!(said("!(within(a.B) || within(c.D))"));
        insta::assert_snapshot!(said("!(within(a.B) && execution(* f()))"));
    }

    #[test]
    fn methods_and_constructors() {
        insta::assert_snapshot!(said(
            "execution(public !static int com.acme.Orders.place*(String, ..) throws *)"
        ));
        insta::assert_snapshot!(said("execution(com.acme..*.new(..))"));
        insta::assert_snapshot!(said("execution(@com.acme.Timed * *(..))"));
        insta::assert_snapshot!(said("execution(* com.acme.Base+.get*())"));
        insta::assert_snapshot!(said("execution(* (a.B || c.D).f(*))"));
        insta::assert_snapshot!(said("execution(* com.acme..*(..))"));
        insta::assert_snapshot!(said("within(a..*) && within(*Service)"));
    }

    #[test]
    fn what_cannot_be_said() {
        for text in [
            "cflow(execution(* f()))",
            "execution(* f())) ",
            "execution(* f()",
            "execution(f)",
            "get(int a.B.c())",
            "",
            "unknown()",
            "within((a.B && c.D))",
        ] {
            assert!(said(text).starts_with("error: "), "{text}: {}", said(text));
        }
        let deep = format!("{}within(a.B){}", "(".repeat(500), ")".repeat(500));
        assert!(said(&deep).starts_with("error: "));
        let doubled: BTreeMap<_, _> = (0..50)
            .map(|i| (format!("p{i}"), format!("!p{n}() && !p{n}()", n = i + 1)))
            .collect();
        assert!(say("p0()", &doubled).is_err());
        let deep = format!("execution(* {}a.B{}.f())", "(".repeat(900), ")".repeat(900));
        assert!(said(&deep).starts_with("error: "));
        let many = vec!["(within(a.B) || within(c.D))"; 40].join(" && ");
        assert!(said(&many).starts_with("error: "));
    }
}
