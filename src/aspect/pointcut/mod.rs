//! Compiled rules: from an artifact, over its types, to the advice of one method.

use crate::aspect::joinpoint::{Method, Type};
use crate::aspect::plan::{Advice, Reason};
use crate::aspect::rules::Rules;
use rustc_hash::FxHashMap;

/// What the rules say of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No rule means it.
    Unmatched,
    /// A rule means it, but it is left out for this reason.
    Skip(Reason),
    /// Weave it with this advice (all matching aspects together).
    Weave(Advice),
}

/// Known supertypes of types, by name, for `extends`: the input's own and those of `--reference`.
#[derive(Debug, Default)]
pub struct Hierarchy {
    /// Type name to the names it extends and implements directly.
    pub supertypes: FxHashMap<Box<str>, Box<[Box<str>]>>,
}

/// All rules, compiled.
pub struct Matcher {
    _rules: Rules,
}

/// The rules that can match in one artifact.
pub struct ArtifactMatcher<'a> {
    _matcher: &'a Matcher,
}

/// The rules that can match in one type.
pub struct TypeMatcher<'a> {
    _matcher: &'a Matcher,
}

impl Matcher {
    /// Compiles rules.
    pub fn new(rules: Rules) -> Matcher {
        Matcher { _rules: rules }
    }
    /// Whether some rule asks for supertypes, so that a [`Hierarchy`] is worth building.
    pub fn needs_hierarchy(&self) -> bool {
        false
    }
    /// The rules left for an artifact of this name (file name) and version, if known.
    pub fn for_artifact<'a>(
        &'a self,
        _name: &str,
        _version: Option<&str>,
        _hierarchy: &'a Hierarchy,
    ) -> ArtifactMatcher<'a> {
        ArtifactMatcher { _matcher: self }
    }
    /// Names of the aspects that have matched no method so far.
    pub fn unmatched(&self) -> Vec<String> {
        vec![]
    }
}

impl<'a> ArtifactMatcher<'a> {
    /// Whether any rule is left.
    pub fn is_empty(&self) -> bool {
        false
    }
    /// Prefilter on a class's path in a jar (`BOOT-INF/classes/com/acme/A.class`):
    /// `false` means that no rule can match the class that such a path can hold.
    pub fn path_may_match(&self, _path: &str) -> bool {
        true
    }
    /// Prefilter on raw bytes: `false` means that a literal which every rule needs is absent.
    pub fn bytes_may_match(&self, _bytes: &[u8]) -> bool {
        true
    }
    /// The rules left for a type.
    pub fn for_type(&self, _ty: &Type<'_>) -> Option<TypeMatcher<'a>> {
        Some(TypeMatcher {
            _matcher: self._matcher,
        })
    }
}

impl TypeMatcher<'_> {
    /// What the rules say of a method of the type.
    pub fn method(&self, method: &Method<'_>) -> Verdict {
        if !method.has_body {
            return Verdict::Skip(Reason::NoBody);
        }
        Verdict::Weave(Advice::ALL)
    }
}
