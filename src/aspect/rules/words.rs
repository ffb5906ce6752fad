//! The nearest right word for a wrong one.

/// Longer words are no slips of the finger, and comparing them is not worth the time.
const MAX_WORD: usize = 64;

/// The word of `words` that was most likely meant. `synonyms` maps what other tools call it.
pub(crate) fn nearest<'w>(
    wrong: &str,
    words: &[&'w str],
    synonyms: &[(&str, &'w str)],
) -> Option<&'w str> {
    if wrong.len() > MAX_WORD {
        return None;
    }
    let wrong = wrong.to_lowercase().replace('_', "-");
    let candidates = words.iter().map(|word| (*word, *word));
    candidates
        .chain(synonyms.iter().copied())
        .map(|(spelling, right)| {
            (
                strsim::damerau_levenshtein(&wrong, spelling),
                spelling,
                right,
            )
        })
        .filter(|(distance, spelling, _)| *distance <= spelling.len().max(3) / 3)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., right)| right)
}

/// The same for names of a program, whose capitals count for nothing here.
pub(crate) fn nearest_name<'w>(wrong: &str, names: &[&'w str]) -> Option<&'w str> {
    let spelled = names
        .iter()
        .map(|name| name.to_lowercase().replace('_', "-"));
    let spelled: Vec<String> = spelled.collect();
    let names: Vec<(&str, &'w str)> = (spelled
        .iter()
        .map(|name| &**name)
        .zip(names.iter().copied()))
    .collect();
    nearest(wrong, &[], &names)
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_name};

    #[test]
    fn capitals_of_names_do_not_matter() {
        let names = ["Main.H", "Main.Account", "begin_Call"];
        assert_eq!(nearest_name("Main.HH", &names), Some("Main.H"));
        assert_eq!(nearest_name("main.acount", &names), Some("Main.Account"));
        assert_eq!(nearest_name("begin_call", &names), Some("begin_Call"));
        assert_eq!(nearest_name("Session", &names), None);
    }

    #[test]
    fn slips_and_synonyms() {
        let words = ["method", "params", "min-size"];
        let synonyms = [("args", "params")];
        assert_eq!(nearest("metod", &words, &synonyms), Some("method"));
        assert_eq!(nearest("Method", &words, &synonyms), Some("method"));
        assert_eq!(nearest("min_size", &words, &synonyms), Some("min-size"));
        assert_eq!(nearest("arg", &words, &synonyms), Some("params"));
        assert_eq!(nearest("args", &words, &synonyms), Some("params"));
        assert_eq!(nearest("frobnicate", &words, &synonyms), None);
        assert_eq!(nearest(&"m".repeat(100_000), &words, &synonyms), None);
    }
}
