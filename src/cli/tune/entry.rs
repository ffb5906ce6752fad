//! A method as an `exclude` of the rules writes it.

use crate::aspect::pattern::name::common_form;
use crate::dotnet_names;
use crate::symbols::Symbol;

/// What has a `params` of its own: JVMS 4.3.3 allows more, rules do not.
const MAX_PARAMETERS: usize = 127;

/// The primitive types of the JVM, which have no package.
const PRIMITIVES: [&str; 8] = [
    "boolean", "byte", "char", "double", "float", "int", "long", "short",
];

/// A table of `exclude` that means one method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub ty: String,
    /// The name; what the author wrote may need a second pattern, so that nothing made up by the compiler matches.
    pub method: Vec<String>,
    pub params: String,
    /// Where another method differs in this alone.
    pub returns: Option<String>,
}

impl Entry {
    /// The keys and their values, as rules have them.
    pub fn keys(&self) -> Vec<(&'static str, Vec<&str>)> {
        let mut keys = vec![
            ("type", vec![&*self.ty]),
            ("method", self.method.iter().map(|m| &**m).collect()),
            ("params", vec![&*self.params]),
        ];
        keys.extend(self.returns.as_deref().map(|r| ("returns", vec![r])));
        keys
    }
}

/// A method, taken apart: what its entry is made from.
pub struct Parts<'s> {
    symbol: &'s Symbol,
    params: String,
    returns: String,
}

impl<'s> Parts<'s> {
    /// `None` where the symbols map does not say all of it.
    pub fn of(symbol: &'s Symbol) -> Option<Parts<'s>> {
        let is_unknown = |text: &str| text.is_empty() || text == "?";
        if is_unknown(&symbol.method) || is_unknown(&symbol.type_name) {
            return None;
        }
        let (params, returns) = descriptor(&symbol.descriptor)?;
        if params.len() > MAX_PARAMETERS {
            return None;
        }
        let params: Vec<String> = params.iter().map(|ty| type_pattern(ty, true)).collect();
        Some(Parts {
            symbol,
            params: params.join(", "),
            returns: type_pattern(&returns, true),
        })
    }

    /// The entry, which means none of the others.
    pub fn entry<'o>(&self, others: impl Iterator<Item = &'o Parts<'o>>) -> Entry {
        let symbol = self.symbol;
        let is_made_up = dotnet_names::shown(&symbol.type_name, &symbol.method).is_some();
        let mut method = vec![method_pattern(&symbol.method)];
        let mut returns = None;
        for other in others.filter(|other| other.params == self.params) {
            let o = other.symbol;
            if (&o.type_name, &o.method) == (&symbol.type_name, &symbol.method) {
                if other.returns != self.returns {
                    returns = Some(self.returns.clone());
                }
            } else if !is_made_up && is_shown_as(o, symbol) {
                // Local functions and lambdas match by the names that debuggers show, too.
                let mark = ['<', '@'].into_iter().find(|&mark| o.method.contains(mark));
                method.extend(mark.map(|mark| format!("!*{mark}*")));
            }
        }
        method[1..].sort_unstable();
        method.dedup();
        Entry {
            ty: type_pattern(&symbol.type_name, false),
            method,
            params: self.params.clone(),
            returns,
        }
    }

    /// The place among others that could be taken for it.
    pub fn key(&self) -> (String, &str) {
        let shown = dotnet_names::shown_type(&self.symbol.type_name);
        let ty = shown.map_or_else(|| self.symbol.type_name.to_string(), |ty| ty.into_owned());
        (ty, &self.params)
    }
}

/// Whether debuggers show a method by another's name.
fn is_shown_as(method: &Symbol, other: &Symbol) -> bool {
    let shown = dotnet_names::shown(&method.type_name, &method.method);
    shown.is_some_and(|shown| {
        shown.type_name == *other.type_name
            && (shown.method == *other.method || shown.own_name() == &*other.method)
    })
}

/// The types of the parameters and of what is returned, as people write them.
fn descriptor(text: &str) -> Option<(Vec<String>, String)> {
    let (inner, returns) = text.strip_prefix('(')?.rsplit_once(')')?;
    jvm(inner, returns).or_else(|| Some((spelled(inner), returns.to_owned())))
}

/// Of the JVM and dex: `(I[Ljava/lang/String;)V`.
fn jvm(mut inner: &str, returns: &str) -> Option<(Vec<String>, String)> {
    let returns = match returns {
        "V" => "void".to_owned(),
        other => jvm_type(other).filter(|(_, rest)| rest.is_empty())?.0,
    };
    let mut params = Vec::new();
    while !inner.is_empty() {
        let (ty, rest) = jvm_type(inner)?;
        params.push(ty);
        inner = rest;
    }
    Some((params, returns))
}

fn jvm_type(text: &str) -> Option<(String, &str)> {
    let element = text.trim_start_matches('[');
    let dimensions = text.len() - element.len();
    let first = element.chars().next()?;
    let (name, rest) = match first {
        'L' => {
            let (name, rest) = element[1..].split_once(';')?;
            (name.replace('/', "."), rest)
        }
        _ => {
            let letter = "ZBCDFIJS".find(first)?;
            (PRIMITIVES[letter].to_owned(), &element[1..])
        }
    };
    Some((name + &"[]".repeat(dimensions), rest))
}

/// Of .NET: `System.Int32, List<System.String>`.
fn spelled(inner: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(inner[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner[start..].trim().is_empty() {
        all.push(inner[start..].trim().to_owned());
    }
    all
}

/// A pattern that means exactly this type. In a list of parameters, commas separate where they are in no angle brackets.
fn type_pattern(name: &str, in_list: bool) -> String {
    let name = name.replace('/', ".");
    let element = name.trim_end_matches("[]");
    if in_list && (PRIMITIVES.contains(&element) || name == "void") {
        return name;
    }
    let common = String::from_utf8_lossy(&common_form(name.as_bytes())).into_owned();
    let has_package = common
        .split('<')
        .next()
        .is_some_and(|bare| bare.contains('.'));
    let is_plain = |c: char| c.is_alphanumeric() || "_.$+`<>,&-[]".contains(c);
    let plain = name
        .chars()
        .all(|c| is_plain(c) || c == ' ' && name.contains('<'))
        && !name.starts_with('[')
        && !name.ends_with(['.', '+'])
        && !name.contains("..")
        && outer_commas(&name) == 0;
    if has_package && plain {
        return name;
    }
    // A pattern without a package would mean types of that name in all of them.
    let mut out = "re:".to_owned();
    let mut after_comma = false;
    for c in common.chars() {
        match c {
            ' ' if after_comma => continue,
            // A comma would end the parameter.
            ',' => out.push_str(". ?"),
            c => out.push_str(&regex_syntax::escape(c.encode_utf8(&mut [0; 4]))),
        }
        after_comma = c == ',';
    }
    out
}

/// Commas that are in no angle brackets: in arrays of several dimensions.
fn outer_commas(name: &str) -> usize {
    let mut depth = 0usize;
    let mut commas = 0;
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    commas
}

/// A pattern that means exactly this name.
fn method_pattern(name: &str) -> String {
    let is_plain = !name.starts_with('!')
        && !name.starts_with("re:")
        && !name.contains(['*', '?', '('])
        && !name.chars().any(char::is_control);
    match is_plain {
        true => name.to_owned(),
        false => format!("re:{}", regex_syntax::escape(name)),
    }
}

#[cfg(test)]
mod tests;
