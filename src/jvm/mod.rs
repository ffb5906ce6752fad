//! JVM class files: scan for join points, weave hooks in. JVMS is The Java Virtual Machine
//! Specification, Java SE 25.

pub mod module_info;

use crate::aspect::joinpoint::{EachName, Visitor};
use crate::aspect::plan::{Plan, Skipped};
use crate::error::Result;

/// Reusable buffers for [`weave`]; one a thread.
#[derive(Default)]
pub struct Scratch {}

/// A class file whose structure was read and checked; code is not decoded yet.
pub struct Class<'a> {
    _bytes: &'a [u8],
}

/// A woven class.
pub struct Woven {
    /// The new class file; `None` where nothing could be woven.
    pub bytes: Option<Vec<u8>>,
    /// Full name in internal form.
    pub type_name: String,
    /// Source file name, or empty.
    pub file: String,
    /// The methods that got hooks.
    pub methods: Vec<WovenMethod>,
    /// Planned methods that were left as they were.
    pub left: Vec<Skipped>,
}

/// A method that got hooks.
pub struct WovenMethod {
    /// The id that its hooks are called with.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// First source line, or 0.
    pub line: u32,
}

impl<'a> Class<'a> {
    /// Reads the structure of a class file.
    pub fn parse(_bytes: &'a [u8]) -> Result<Class<'a>> {
        todo!()
    }
    /// Whether this is a `module-info`.
    pub fn is_module(&self) -> bool {
        todo!()
    }
    /// Full name in internal form (`java/util/Map$Entry`).
    pub fn name(&self) -> std::borrow::Cow<'a, str> {
        todo!()
    }
    /// The superclass and interfaces that the class names.
    pub fn supertypes(&self, _each: EachName<'_>) {
        todo!()
    }
}

/// Shows the class and, if the visitor wants them, its methods.
pub fn scan(_class: &Class<'_>, _visitor: &mut dyn Visitor) -> Result<()> {
    todo!()
}

/// Weaves the planned methods.
pub fn weave(_class: &Class<'_>, _plan: &Plan, _scratch: &mut Scratch) -> Result<Woven> {
    todo!()
}

/// For `plan`'s listing and errors: name and descriptor of a method by its index.
pub fn method_label(_class: &Class<'_>, _index: u32) -> String {
    todo!()
}

#[doc(hidden)]
pub type Left = Skipped;
