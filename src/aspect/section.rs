//! The names of sections in Android's trace ([`Advice::SECTION`](super::advice::Advice::SECTION)).

/// `android.os.Trace.beginSection` throws an exception at more UTF-16 code units than this.
const MAX: usize = 127;

/// The name of a method's section: `com.acme.Orders.place`. Of one that is too long the front of the package goes, and
/// only then the end: methods differ at the end.
///
/// The trace is text in which `|` and line ends separate (`B|pid|name`), so that they cannot be in a name.
pub fn section_name(type_name: &str, method: &str) -> String {
    let name: String = (type_name.chars().chain(['.']).chain(method.chars()))
        .map(|c| match c {
            '/' => '.',
            '|' => '_',
            c if c.is_control() => '_',
            c => c,
        })
        .collect();
    let len = |s: &str| s.chars().map(char::len_utf16).sum::<usize>();
    let mut rest = &*name;
    while len(rest) > MAX {
        match rest.split_once('.') {
            // The last two segments are the type and the method.
            Some((_, behind)) if behind.contains('.') => rest = behind,
            _ => break,
        }
    }
    let mut units = 0;
    let cut = rest.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > MAX
    });
    rest[..cut.map_or(rest.len(), |(at, _)| at)].to_owned()
}

/// What a section's name can have of its type's, which may be long and have many methods: the last packages, or the front of
/// the type's own name.
pub fn end_of_type(name: &str) -> &str {
    let own = name.rfind('/').map_or(0, |at| at + 1);
    let mut from = name.len().saturating_sub(MAX_TYPE).min(own);
    let mut to = name.len().min(own + MAX_TYPE);
    while !name.is_char_boundary(from) {
        from -= 1;
    }
    while !name.is_char_boundary(to) {
        to += 1;
    }
    &name[from..to]
}

/// More bytes of a type's name than a section's can have.
const MAX_TYPE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_types_are_cut_where_it_makes_no_difference() {
        let long = "é".repeat(600);
        for ty in [
            "A".to_owned(),
            format!("a/{long}/b/C"),
            format!("{long}/{long}"),
            format!("{}C", "p/".repeat(2000)),
        ] {
            assert_eq!(section_name(end_of_type(&ty), "m"), section_name(&ty, "m"));
            assert!(end_of_type(&ty).len() <= 2 * MAX_TYPE);
        }
    }

    #[test]
    fn long_names_lose_their_package_first() {
        assert_eq!(
            section_name("com/acme/Orders$1", "place"),
            "com.acme.Orders$1.place"
        );
        assert_eq!(section_name("A", "<init>"), "A.<init>");
        assert_eq!(section_name("a|b", "c\nd"), "a_b.c_d");
        let ty = format!("com/acme/{}/Orders", "p".repeat(108));
        assert_eq!(section_name(&ty, "go").len(), 9 + 108 + 7 + 3);
        assert_eq!(
            section_name(&ty, "goes"),
            format!("acme.{}.Orders.goes", "p".repeat(108))
        );
        let long = section_name("com/acme/Orders", &"m".repeat(130));
        assert_eq!(long, format!("Orders.{}", "m".repeat(120)));
        // Never half of a character, counted as Java counts.
        let wide = section_name("O", &"𝄞".repeat(100));
        assert_eq!(wide, format!("O.{}", "𝄞".repeat(62)));
    }
}
