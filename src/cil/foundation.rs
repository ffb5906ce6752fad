//! What the hook library stands on: hooks in it would call themselves.

use crate::cil::image::Image;
use crate::cil::metadata::schema::column::{method_def, type_def};
use crate::cil::metadata::schema::table;
use crate::cil::scan::has_il;

/// Whether this is the core library, which defines `System.Object`, or has the clock in IL that hooks read (.NET
/// Framework's System, System.Runtime.Extensions of CoreCLR 2.x).
pub(super) fn is_foundation(image: &Image<'_>) -> bool {
    use type_def::{EXTENDS, FLAGS, NAME, NAMESPACE};
    /// Visibility of a type for other assemblies (II.23.1.15); a copy that a library has for itself is none.
    const PUBLIC: u32 = 1;
    let is = |index, text: &[u8]| image.metadata.strings.is(index, text);
    let mut types = (1..).zip(image.metadata.tables.iter(table::TYPE_DEF));
    types.any(|(ty, row)| {
        // `Object` extends nothing, which besides it only interfaces and <Module> do.
        let is_object = row.get(EXTENDS) >> 2 == 0
            && is(row.get(NAME), b"Object")
            && is(row.get(NAMESPACE), b"System");
        is_object
            || row.get(FLAGS) & 7 == PUBLIC
                && is(row.get(NAME), b"Stopwatch")
                && is(row.get(NAMESPACE), b"System.Diagnostics")
                && has_clock(image, ty)
    })
}

/// Whether a type (a `TypeDef` row) has a `GetTimestamp` in IL; Mono's is the runtime's own.
fn has_clock(image: &Image<'_>, ty: u32) -> bool {
    let mut methods = image.method_positions(ty).unwrap_or(0..0);
    methods.any(|position| {
        let method = image.method_at(position);
        let row = method.and_then(|method| image.metadata.tables.row(table::METHOD_DEF, method));
        row.is_ok_and(|row| {
            let name = row.get(method_def::NAME);
            image.metadata.strings.is(name, b"GetTimestamp") && has_il(&row)
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
