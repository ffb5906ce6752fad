//! Name patterns: what a rule writes, compiled to the cheapest test that decides it.
//!
//! In the names of types `.`, `/`, `+`, and `$` between nested types are equal: patterns and
//! names are compared in one [common form](name), with dots. Names of methods and artifacts
//! have no segments; there `*` and `**` mean the same.

pub mod name;
pub mod params;
pub mod version;

mod glob;
mod spelling;

use glob::{Glob, Token};
use name::{Name, common_form};
use regex_automata::meta;
use regex_syntax::hir::{Hir, Look};
use std::ops::Range;

/// Longest pattern in bytes. Names are at most 65,535 bytes long (JVMS 4.4.7); a pattern near
/// that is a mistake.
const MAX_PATTERN: usize = 4096;

/// Most memory for one compiled regex, and for the states that matching builds as it goes.
const MAX_REGEX: usize = 1 << 20;

/// How deep groups in a regex may nest.
const MAX_REGEX_NESTING: u32 = 64;

/// What is wrong with a pattern, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong.
    pub message: String,
    /// Which bytes of the pattern.
    pub span: Range<usize>,
    /// What to write instead.
    pub help: Option<String>,
}

impl PatternError {
    pub fn new(span: Range<usize>, message: impl Into<String>) -> PatternError {
        PatternError {
            message: message.into(),
            span,
            help: None,
        }
    }

    pub fn help(mut self, help: impl Into<String>) -> PatternError {
        self.help = Some(help.into());
        self
    }

    /// The same error in a text that has `offset` bytes in front of the pattern.
    pub fn shifted(mut self, offset: usize) -> PatternError {
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }
}

/// What sort of names a pattern is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Types: names have segments; one without any is meant in every package.
    Types,
    /// Annotations: types; in .NET an `Attribute` at the end may be left out.
    Annotations,
    /// Methods: the whole name is one segment.
    Methods,
    /// Artifacts: file names, one segment too.
    Artifacts,
}

impl Names {
    /// Whether the whole name is one segment.
    fn are_flat(self) -> bool {
        matches!(self, Names::Methods | Names::Artifacts)
    }
}

/// One pattern without its `!`.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Whether it is about the last segment only.
    simple: bool,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Any,
    Exact(Box<[u8]>),
    Prefix(Box<[u8]>),
    Suffix(Box<[u8]>),
    /// These are the last segments: the whole name, or what follows a dot.
    Tail(Box<[u8]>),
    Glob(Glob),
    Regex(Box<meta::Regex>),
}

impl Pattern {
    /// Compiles a pattern.
    pub fn new(text: &str, names: Names) -> Result<Pattern, PatternError> {
        if let Some(regex) = text.strip_prefix("re:") {
            return Ok(Pattern {
                simple: false,
                test: Test::Regex(Box::new(
                    compile_regex(regex).map_err(|e| e.shifted("re:".len()))?,
                )),
            });
        }
        check(text, names)?;
        let flat = names.are_flat();
        let common = if flat {
            text.as_bytes().to_vec()
        } else {
            common_form(text.as_bytes())
        };
        // Type arguments have separators of their own.
        let bare = common.split(|&b| b == b'<').next().unwrap_or_default();
        let simple = !flat && !bare.contains(&b'.') && !bare.windows(2).any(|w| w == b"**");
        // The last segment has no separators, unless it has type arguments.
        let flat = flat || (simple && bare.len() == common.len());
        Ok(Pattern {
            simple,
            test: Test::of(glob::tokens(&common, flat), flat),
        })
    }

    fn is_match(&self, name: Name<'_>) -> bool {
        self.test
            .is_match(if self.simple { name.last } else { name.whole })
    }

    /// A pattern for paths that end in a name which this one matches: it may match more.
    fn in_path(&self) -> Pattern {
        if self.simple {
            return self.clone();
        }
        Pattern {
            simple: false,
            test: match &self.test {
                Test::Any | Test::Regex(_) => Test::Any,
                Test::Exact(bytes) | Test::Tail(bytes) => Test::Tail(bytes.clone()),
                Test::Suffix(bytes) => Test::Suffix(bytes.clone()),
                Test::Prefix(bytes) => Test::Glob(Glob::new(
                    vec![Token::Segments, Token::Literal(bytes.clone()), Token::Deep],
                    false,
                )),
                Test::Glob(glob) => Test::Glob(glob.anywhere()),
            },
        }
    }

    /// The literal parts of the pattern.
    fn literals(&self) -> Vec<&[u8]> {
        match &self.test {
            Test::Any | Test::Regex(_) => Vec::new(),
            Test::Exact(b) | Test::Prefix(b) | Test::Suffix(b) | Test::Tail(b) => vec![b],
            Test::Glob(glob) => glob.literals().collect(),
        }
    }

    /// A text that every name which matches holds, in the common form.
    fn literal(&self) -> Option<&[u8]> {
        longest(self.literals().into_iter(), 2)
    }

    /// A text that an artifact must hold somewhere to declare a name that matches: the longest
    /// run of characters that all formats store alike and in one piece. Separators differ
    /// between formats, .NET stores namespaces apart, modified UTF-8 has its own non-ASCII.
    fn needle(&self) -> Option<&[u8]> {
        let alike = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$');
        let runs = self
            .literals()
            .into_iter()
            .flat_map(|literal| literal.split(move |b| !alike(b)));
        longest(runs, 3)
    }
}

/// The longest text, if it is long enough to tell names apart.
fn longest<'t>(texts: impl Iterator<Item = &'t [u8]>, useful: usize) -> Option<&'t [u8]> {
    texts
        .max_by_key(|text| text.len())
        .filter(|text| text.len() >= useful)
}

impl Test {
    fn of(mut tokens: Vec<Token>, flat: bool) -> Test {
        match &mut tokens[..] {
            [] => Test::Exact([].into()),
            [Token::Deep] => Test::Any,
            [Token::Literal(a)] => Test::Exact(std::mem::take(a)),
            [Token::Literal(a), Token::Deep] => Test::Prefix(std::mem::take(a)),
            [Token::Deep, Token::Literal(a)] => Test::Suffix(std::mem::take(a)),
            [Token::Segments, Token::Literal(a)] => Test::Tail(std::mem::take(a)),
            _ => Test::Glob(Glob::new(tokens, flat)),
        }
    }

    #[inline]
    fn is_match(&self, name: &[u8]) -> bool {
        match self {
            Test::Any => true,
            Test::Exact(bytes) => name == &**bytes,
            Test::Prefix(bytes) => name.starts_with(bytes),
            Test::Suffix(bytes) => name.ends_with(bytes),
            Test::Tail(bytes) => name
                .strip_suffix(&**bytes)
                .is_some_and(|front| matches!(front.last(), None | Some(b'.'))),
            Test::Glob(glob) => glob.matches(name),
            Test::Regex(regex) => regex.is_match(name),
        }
    }
}

/// How type parameters are written.
const TYPE_PARAMETERS: &str = "write a type parameter by its name, as in source: `T`, `T[]`";

/// Whether the pattern of a parameter or of what is returned takes the position of a type parameter for its name: IL
/// has `!0` and `!!0`, which here would be everything but a type named `0`.
pub fn check_no_position(text: &str) -> Result<(), PatternError> {
    let digits = text.strip_prefix('!').unwrap_or_default();
    match digits.starts_with(|c: char| c.is_ascii_digit()) {
        true => {
            let what = "the position of a type parameter";
            Err(PatternError::new(0..text.len(), what).help(TYPE_PARAMETERS))
        }
        false => Ok(()),
    }
}

/// Mistakes that have a better spelling.
fn check(text: &str, names: Names) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::new(0..0, "the pattern is empty").help("`**` matches everything"));
    }
    if text.len() > MAX_PATTERN {
        return Err(PatternError::new(
            0..0,
            format!("the pattern is longer than {MAX_PATTERN} bytes"),
        ));
    }
    // Methods may have spaces (Kotlin's and Groovy's test names do), types only among arguments.
    let spaces = names.are_flat() || text.contains('<');
    if let Some((at, c)) = text
        .char_indices()
        .find(|(_, c)| c.is_control() || c.is_whitespace() && !spaces)
    {
        return Err(PatternError::new(
            at..at + c.len_utf8(),
            "a name has no such character",
        ));
    }
    if names == Names::Methods
        && let Some(at) = text.find('(')
    {
        return Err(
            PatternError::new(at..text.len(), "a method's pattern is its name alone")
                .help("parameters go into `params`, the return type into `returns`"),
        );
    }
    if !names.are_flat() {
        if let Some(at) = text.find('!') {
            return Err(
                PatternError::new(at..at + 1, "`!` stands in front of a pattern alone")
                    .help(TYPE_PARAMETERS),
            );
        }
        if let Some(at) = text.find("..") {
            let help = text.replace("..", ".**.").replace("**.*", "**");
            return Err(PatternError::new(at..at + 2, "`..` stands for parameters")
                .help(format!("across packages write `**`: `{help}`")));
        }
        if text.ends_with(';') || text.starts_with('[') {
            return Err(PatternError::new(0..text.len(), "this is a descriptor")
                .help("write the type as in source: `java.lang.String`, `int[]`"));
        }
        if text.ends_with(['.', '/', '+']) {
            return Err(PatternError::new(
                text.len() - 1..text.len(),
                "the last part of the name is missing",
            )
            .help(format!("all types in there: `{text}**`")));
        }
    }
    Ok(())
}

/// What is wrong with a regular expression, and where in it.
pub fn not_a_regex(e: &regex_syntax::Error, text: &str) -> PatternError {
    let (span, what) = match e {
        regex_syntax::Error::Parse(e) => (*e.span(), e.kind().to_string()),
        regex_syntax::Error::Translate(e) => (*e.span(), e.kind().to_string()),
        _ => return PatternError::new(0..text.len(), e.to_string()),
    };
    PatternError::new(
        span.start.offset..span.end.offset,
        format!("not a regex: {what}"),
    )
}

fn compile_regex(text: &str) -> Result<meta::Regex, PatternError> {
    let whole = 0..text.len();
    if text.is_empty() {
        return Err(
            PatternError::new(whole, "the regex is empty").help("`re:.*` matches everything")
        );
    }
    if text.len() > MAX_PATTERN {
        return Err(PatternError::new(
            whole,
            format!("the regex is longer than {MAX_PATTERN} bytes"),
        ));
    }
    let hir = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_REGEX_NESTING)
        .build()
        .parse(text)
        .map_err(|e| not_a_regex(&e, text))?;
    // The whole name must match, as with the other patterns.
    let hir = Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]);
    meta::Builder::new()
        .configure(
            meta::Config::new()
                .nfa_size_limit(Some(MAX_REGEX))
                .onepass_size_limit(Some(MAX_REGEX))
                .hybrid_cache_capacity(MAX_REGEX),
        )
        .build_from_hir(&hir)
        .map_err(|_| {
            PatternError::new(whole, "the regex takes too much memory")
                .help("lower the numbers of its repetitions")
        })
}

/// The value of a key: at least one of its patterns must match, and none of its patterns with `!`.
#[derive(Clone, Debug, Default)]
pub struct NameSet {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

/// How several names of one thing (all annotations of a method) stand to a [`NameSet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    include: bool,
    exclude: bool,
}

impl Hits {
    /// Counts what another count has counted; whether that is news.
    pub fn join(&mut self, other: Hits) -> bool {
        let before = *self;
        self.include |= other.include;
        self.exclude |= other.exclude;
        *self != before
    }
}

impl NameSet {
    /// Adds a pattern, with or without its `!`.
    pub fn add(&mut self, text: &str, names: Names) -> Result<(), PatternError> {
        let (to, text, offset) = match text.strip_prefix('!') {
            Some("") => {
                let what = "`!` needs a pattern to exclude";
                return Err(PatternError::new(0..1, what));
            }
            Some(rest) => (&mut self.exclude, rest, 1),
            None => (&mut self.include, text, 0),
        };
        to.push(Pattern::new(text, names).map_err(|e| e.shifted(offset))?);
        for other in spelling::others(text, names) {
            to.extend(Pattern::new(&other, names));
        }
        Ok(())
    }

    /// Whether a type's name is in the set.
    pub fn has(&self, name: Name<'_>) -> bool {
        (self.include.is_empty() || self.include.iter().any(|p| p.is_match(name)))
            && !self.exclude.iter().any(|p| p.is_match(name))
    }

    /// Whether a name without segments (a method's) is in the set.
    #[inline]
    pub fn has_flat(&self, name: &str) -> bool {
        let name = name.as_bytes();
        (self.include.is_empty() || self.include.iter().any(|p| p.test.is_match(name)))
            && !self.exclude.iter().any(|p| p.test.is_match(name))
    }

    /// Counts one name of several.
    pub fn count(&self, hits: &mut Hits, name: Name<'_>) {
        hits.include |= self.include.iter().any(|p| p.is_match(name));
        hits.exclude |= self.exclude.iter().any(|p| p.is_match(name));
    }

    /// Counts one name of several that have no segments.
    pub fn count_flat(&self, hits: &mut Hits, name: &str) {
        let name = name.as_bytes();
        hits.include |= self.include.iter().any(|p| p.test.is_match(name));
        hits.exclude |= self.exclude.iter().any(|p| p.test.is_match(name));
    }

    /// Whether the names that were counted are in the set.
    pub fn decide(&self, hits: Hits) -> bool {
        (self.include.is_empty() || hits.include) && !hits.exclude
    }

    /// Whether it names what it means: no pattern means more.
    pub fn is_exact(&self) -> bool {
        let mut include = self.include.iter();
        !self.include.is_empty() && include.all(|p| matches!(p.test, Test::Exact(_)))
    }

    /// Whether every name is in it.
    pub fn is_all(&self) -> bool {
        let mut include = self.include.iter();
        self.exclude.is_empty()
            && (self.include.is_empty() || include.any(|p| matches!(p.test, Test::Any)))
    }

    /// A set for paths that end in a name of this one; `None` where every path could.
    pub fn in_path(&self) -> Option<NameSet> {
        let include: Vec<Pattern> = self.include.iter().map(Pattern::in_path).collect();
        let any = include.iter().any(|p| matches!(p.test, Test::Any));
        (!include.is_empty() && !any).then(|| NameSet {
            include,
            exclude: Vec::new(),
        })
    }

    /// An artifact that declares a name of this set holds at least one of these texts; `None` where
    /// there are no such texts.
    pub fn needles(&self) -> Option<Vec<&[u8]>> {
        self.each(Pattern::needle)
    }

    /// Every name of this set, in the common form, holds one of these texts; `None` where there
    /// are no such texts.
    pub fn literals(&self) -> Option<Vec<&[u8]>> {
        self.each(Pattern::literal)
    }

    fn each(&self, text: fn(&Pattern) -> Option<&[u8]>) -> Option<Vec<&[u8]>> {
        if self.include.is_empty() {
            return None;
        }
        self.include.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(patterns: &[&str]) -> NameSet {
        let mut set = NameSet::default();
        for pattern in patterns {
            set.add(pattern, Names::Types).unwrap();
        }
        set
    }

    fn has(patterns: &[&str], name: &str) -> bool {
        Name::with(name, |name| types(patterns).has(name))
    }

    #[test]
    fn types_as_csharp_writes_them() {
        assert!(has(&["string"], "System.String"));
        assert!(has(&["int[]"], "System.Int32[]"));
        assert!(has(&["int[]"], "int[]"));
        assert!(!has(&["!int"], "System.Int32"));
        assert!(has(
            &["Dictionary<string, S.List<int>>"],
            "S.Dictionary`2<System.String,S.List`1<System.Int32>>"
        ));
        assert!(!has(&["Acme.string"], "System.String"));
        let mut set = NameSet::default();
        set.add("NoTrace", Names::Annotations).unwrap();
        for name in ["Acme.NoTraceAttribute", "Acme.NoTrace"] {
            assert!(Name::with(name, |name| set.has(name)), "{name}");
        }
        assert!(!Name::with("NoTraces", |name| set.has(name)));
    }

    #[test]
    fn separators_are_equal() {
        for pattern in [
            "com.acme.Outer.Inner",
            "com/acme/Outer$Inner",
            "com.acme.Outer+Inner",
        ] {
            assert!(has(&[pattern], "com/acme/Outer$Inner"), "{pattern}");
            assert!(has(&[pattern], "com.acme.Outer+Inner"), "{pattern}");
        }
    }

    #[test]
    fn a_name_without_a_package_is_meant_in_every_package() {
        assert!(has(&["Orders"], "com/acme/Orders"));
        assert!(has(&["Orders"], "Orders"));
        assert!(has(&["Item"], "com/acme/Orders$Item"));
        assert!(!has(&["Orders"], "com/acme/Orders$Item"));
        assert!(!has(&["Orders"], "com/acme/BackOrders"));
        assert!(has(&["*Service"], "com/acme/OrderService"));
        assert!(has(&["*"], "com/acme/Orders"));
        assert!(has(&["**"], "com/acme/Orders"));
        assert!(has(&["None$"], "scala/None$"));
        assert!(has(&["Task<**>"], "System.Threading.Task`1<System.Int32>"));
        assert!(has(&["List<>", "Nothing"], "System.List`1"));
        assert!(has(&["List`1"], "System.List`1"));
        assert!(!has(&["List"], "System.List`1"));
    }

    #[test]
    fn exclusions_win() {
        assert!(!has(&["com.acme.**", "!**.gen.**"], "com/acme/gen/A"));
        assert!(has(&["com.acme.**", "!**.gen.**"], "com/acme/A"));
        assert!(has(&["!com.acme.**"], "org/A"));
    }

    #[test]
    fn regexes_see_dots_and_match_the_whole_name() {
        assert!(has(&[r"re:com\.(acme|corp)\..*"], "com/acme/Outer$Inner"));
        assert!(!has(&["re:Inner"], "com/acme/Outer$Inner"));
        assert!(has(&["re:a|ab"], "ab"));
    }

    #[test]
    fn methods_have_no_segments() {
        let mut set = NameSet::default();
        set.add("lambda$*", Names::Methods).unwrap();
        set.add("<init>", Names::Methods).unwrap();
        set.add("*.Dispose", Names::Methods).unwrap();
        assert!(set.has_flat("lambda$main$0"));
        assert!(set.has_flat("<init>"));
        assert!(set.has_flat("System.IDisposable.Dispose"));
        assert!(!set.has_flat("<clinit>"));
        set.add("adds two*", Names::Methods).unwrap();
        assert!(set.has_flat("adds two numbers"));
    }

    #[test]
    fn a_hostile_regex_is_refused() {
        let e = Pattern::new("re:((a{1000}){1000}){1000}", Names::Types).unwrap_err();
        assert_eq!(e.message, "the regex takes too much memory");
        let deep = format!("re:{}", "(".repeat(3000));
        assert!(Pattern::new(&deep, Names::Types).is_err());
    }

    #[test]
    fn an_error_knows_its_place_in_the_pattern() {
        let e = NameSet::default().add("!re:a[b", Names::Types).unwrap_err();
        assert_eq!(
            (e.span, &*e.message),
            (5..6, "not a regex: unclosed character class")
        );
    }

    #[test]
    fn needles_hold_no_separator() {
        let set = types(&["com.acme.Orders", "**.Order?Item*", "com.acme.**"]);
        let needles: Vec<_> = set
            .needles()
            .unwrap()
            .into_iter()
            .map(|n| std::str::from_utf8(n).unwrap())
            .collect();
        assert_eq!(needles, ["Orders", "Order", "acme"]);
        assert_eq!(types(&["com.acme.Orders", "re:.*"]).needles(), None);
        assert_eq!(types(&["!com.acme.Orders"]).needles(), None);
    }
}
