//! Names as they were before a program was obfuscated: what rules are about, where a mapping is given.

use crate::aspect::bind::ty::Signature;
use crate::aspect::joinpoint::{EachName, MethodDetails};
use crate::mapping::Mapping;

/// Details of a method, with original names.
pub(super) struct Restored<'a> {
    pub(super) details: &'a dyn MethodDetails,
    pub(super) mapping: &'a Mapping,
}

impl Restored<'_> {
    fn translate<'f>(&'f self, each: EachName<'f>) -> impl FnMut(&str) + 'f {
        |name| each(&self.mapping.type_name(name))
    }
}

impl MethodDetails for Restored<'_> {
    fn annotations(&self, each: EachName<'_>) {
        self.details.annotations(&mut self.translate(each));
    }

    fn parameters(&self, each: EachName<'_>) {
        self.details.parameters(&mut self.translate(each));
    }

    fn returns(&self, each: EachName<'_>) {
        self.details.returns(&mut self.translate(each));
    }

    /// Hooks get values of the types that are there.
    fn signature(&self) -> Option<Signature> {
        self.details.signature()
    }
}
