//! Where traces of their own begin: `--root`, or `root = true` in a rule.

use super::methods::Method;
use super::pattern;
use crate::mapping::Mapping;
use std::sync::Arc;

/// Methods whose outermost calls are roots; without patterns there are no roots, and all calls are selected.
#[derive(Clone, Default)]
pub struct Roots {
    patterns: Arc<[String]>,
    /// Names that methods had before, where they are not restored yet.
    mappings: Arc<Vec<Mapping>>,
    /// What rules call roots are some, too.
    by_rules: bool,
}

impl std::fmt::Debug for Roots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.patterns.fmt(f)
    }
}

impl Roots {
    /// Methods whose names fit one of these patterns.
    pub fn new(patterns: &[String], mappings: Arc<Vec<Mapping>>) -> Roots {
        Roots {
            patterns: patterns.into(),
            mappings,
            by_rules: false,
        }
    }

    /// The same and, if so, what rules call roots.
    #[must_use]
    pub fn with_rules(self, by_rules: bool) -> Roots {
        Roots { by_rules, ..self }
    }

    /// Whether nothing is a root.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && !self.by_rules
    }

    /// Whether a call of this method is a root, if none is around it.
    pub fn takes(&self, method: &Method) -> bool {
        if self.by_rules && method.symbol().is_some_and(|symbol| symbol.root) {
            return true;
        }
        if self.patterns.is_empty() {
            return false;
        }
        let method = method.restored(&self.mappings);
        let (name, full) = (method.name(), method.full_name());
        (self.patterns.iter()).any(|p| pattern::matches(p, &name) || pattern::matches(p, &full))
    }
}
