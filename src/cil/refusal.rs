//! Reasons to leave a whole file. Hooks in what the hook library itself calls would call themselves.

use crate::aspect::advice::Reason;
use crate::cil::image::{Image, RUNTIME};
use crate::cil::metadata::Metadata;
use crate::cil::metadata::flags::has_il;
use crate::cil::metadata::schema::column::{self, method_def, type_def};
use crate::cil::metadata::schema::{coded, table};
use crate::cil::metadata::tables::{decode, token, token_table};
use crate::cil::native::Native;

impl Image<'_> {
    /// Why the file is left as it is, if it is.
    pub fn refusal(&self) -> Option<Reason> {
        if is_foundation(&self.metadata) {
            return Some(Reason::CoreLibrary);
        }
        match self.native {
            Native::Mixed => return Some(Reason::MixedMode),
            Native::Composite => return Some(Reason::CompositeImage),
            Native::None | Native::ReadyToRun => {}
        }
        let tables = &self.metadata.tables;
        let is_hooks = |name: u32| self.metadata.strings.is(name, RUNTIME.as_bytes());
        if self.assembly_name() == Some(RUNTIME) {
            return Some(Reason::Runtime);
        }
        // What has own hooks alone may not name the library.
        let calls_library = tables
            .iter(table::ASSEMBLY_REF)
            .any(|row| is_hooks(row.get(column::assembly_ref::NAME)));
        if calls_library || self.symbols().is_some() {
            return Some(Reason::AlreadyWoven);
        }
        let is_compiler = (self.assembly_name()).is_some_and(|name| COMPILERS.contains(&name));
        (!is_compiler && is_build_tool(&self.metadata)).then_some(Reason::BuildTool)
    }
}

/// Attributes by which the compiler and IDEs find what they load.
const LOADED_BY_COMPILER: [(&[u8], &[u8]); 4] = [
    (b"Microsoft.CodeAnalysis", b"GeneratorAttribute"),
    (
        b"Microsoft.CodeAnalysis.Diagnostics",
        b"DiagnosticAnalyzerAttribute",
    ),
    (
        b"Microsoft.CodeAnalysis.CodeFixes",
        b"ExportCodeFixProviderAttribute",
    ),
    (
        b"Microsoft.CodeAnalysis.CodeRefactorings",
        b"ExportCodeRefactoringProviderAttribute",
    ),
];

/// What MSBuild makes objects of: its interface, and the bases that have it.
const LOADED_BY_MSBUILD: [(&[u8], &[u8]); 4] = [
    (b"Microsoft.Build.Framework", b"ITask"),
    (b"Microsoft.Build.Utilities", b"Task"),
    (b"Microsoft.Build.Utilities", b"ToolTask"),
    (b"Microsoft.Build.Utilities", b"AppDomainIsolatedTask"),
];

/// The compilers have an analyzer each, and load the others: who weaves them puts the hook library beside them.
const COMPILERS: [&str; 2] = [
    "Microsoft.CodeAnalysis.CSharp",
    "Microsoft.CodeAnalysis.VisualBasic",
];

/// Whether a type of the assembly is an analyzer, a source generator or a task of MSBuild. Their hosts load the assembly
/// alone, so it finds no hook library. Who defines these types is a host.
fn is_build_tool(metadata: &Metadata<'_>) -> bool {
    let tables = &metadata.tables;
    let references = |names: &[(&[u8], &[u8])]| -> Vec<u32> {
        (1..=tables.rows(table::TYPE_REF))
            .map(|row| token(table::TYPE_REF, row))
            .filter(|&ty| {
                (names.iter()).any(|(space, name)| metadata.is_type_named(ty, space, name))
            })
            .collect()
    };
    let attributes = references(&LOADED_BY_COMPILER);
    let by_compiler = !attributes.is_empty()
        && tables.iter(table::CUSTOM_ATTRIBUTE).any(|row| {
            let parent = decode(
                &coded::HAS_CUSTOM_ATTRIBUTE,
                row.get(column::custom_attribute::PARENT),
            );
            parent.is_ok_and(|parent| token_table(parent) == table::TYPE_DEF)
                && (metadata.attribute_type(row.get(column::custom_attribute::TYPE)))
                    .is_some_and(|ty| attributes.contains(&ty))
        });
    let bases = references(&LOADED_BY_MSBUILD);
    let is_base = |ty: u32| decode(&coded::TYPE_DEF_OR_REF, ty).is_ok_and(|ty| bases.contains(&ty));
    by_compiler
        || !bases.is_empty()
            && ((tables.iter(table::TYPE_DEF)).any(|row| is_base(row.get(type_def::EXTENDS)))
                || (tables.iter(table::INTERFACE_IMPL))
                    .any(|row| is_base(row.get(column::interface_impl::INTERFACE))))
}

/// Whether this is the core library, which defines `System.Object`, or defines in IL the clock that hooks read (.NET
/// Framework's System, System.Runtime.Extensions of CoreCLR 2.x).
fn is_foundation(metadata: &Metadata<'_>) -> bool {
    use type_def::{EXTENDS, FLAGS, NAME, NAMESPACE};
    /// Visibility of a type (II.23.1.15). Libraries have copies of the class that are not public.
    const PUBLIC: u32 = 1;
    let is = |index, text: &[u8]| metadata.strings.is(index, text);
    let mut types = (1..).zip(metadata.tables.iter(table::TYPE_DEF));
    types.any(|(ty, row)| {
        // `Object` extends nothing, which besides it only interfaces and <Module> do.
        let is_object = row.get(EXTENDS) >> 2 == 0
            && is(row.get(NAME), b"Object")
            && is(row.get(NAMESPACE), b"System");
        is_object
            || row.get(FLAGS) & 7 == PUBLIC
                && is(row.get(NAME), b"Stopwatch")
                && is(row.get(NAMESPACE), b"System.Diagnostics")
                && has_clock(metadata, ty)
    })
}

/// Whether a type (a `TypeDef` row) has a `GetTimestamp` in IL; Mono's is the runtime's own.
fn has_clock(metadata: &Metadata<'_>, ty: u32) -> bool {
    let mut methods = metadata.method_positions(ty).unwrap_or(0..0);
    methods.any(|position| {
        let method = metadata.method_at(position);
        let row = method.and_then(|method| metadata.tables.row(table::METHOD_DEF, method));
        row.is_ok_and(|row| {
            let name = row.get(method_def::NAME);
            metadata.strings.is(name, b"GetTimestamp") && has_il(&row)
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::aspect::advice::Reason;
    use crate::cil::image::Image;

    #[test]
    fn what_hooks_read_the_clock_with_is_left() {
        let clock = include_bytes!("../../tests/dotnet/fixtures/clock.dll");
        let image = Image::parse(clock).unwrap();
        assert_eq!(image.refusal(), Some(Reason::CoreLibrary));
    }
}
