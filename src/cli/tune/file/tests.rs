//! Files before and after.

use super::*;
use crate::aspect::rules::Rules;

fn entry(ty: &str, method: &str) -> Entry {
    Entry {
        ty: ty.to_owned(),
        method: vec![method.to_owned()],
        params: "int".to_owned(),
        returns: None,
    }
}

/// The file with these types' methods `m` left out of all its aspects; it must stay so when they are put in again.
fn merged(text: &str, types: &[&str]) -> String {
    let entries: Vec<Entry> = types.iter().map(|ty| entry(ty, "m")).collect();
    let before = Rules::parse("weave.toml", text).unwrap();
    let wanted: Vec<Vec<&Entry>> = vec![entries.iter().collect(); before.aspects.len()];
    let merged = merge("weave.toml", text, &wanted, None).unwrap();
    let after = Rules::parse("weave.toml", &merged.text).unwrap();
    for (before, after) in before.aspects.iter().zip(&after.aspects) {
        assert_eq!(before.name, after.name);
        assert!(after.excludes.len() >= types.len());
    }
    let again = merge("weave.toml", &merged.text, &wanted, None).unwrap();
    assert_eq!((again.text.as_str(), again.added), (&*merged.text, 0));
    merged.text
}

const PLAIN: &str = "version = 1 # the only one

[[aspect]]
name  = \"all\"
match = { type = \"**\" }   # everything

# The end.
";

#[test]
fn an_aspect_without_exclude() {
    insta::assert_snapshot!(merged(PLAIN, &["a.A", "a.B"]));
}

#[test]
fn an_aspect_with_one_table() {
    let text = PLAIN.replace(
        "\n\n# The",
        "\nexclude = { annotation  = \"NoTrace\" } # said in the code\nadvice = [\"enter\"]\n\n# The",
    );
    insta::assert_snapshot!(merged(&text, &["a.A", "a.B"]));
}

#[test]
fn an_aspect_with_a_list() {
    let text = PLAIN.replace(
        "\n\n# The",
        "\nexclude = [ { annotation = \"NoTrace\" }, # one\n  { type = \"x.**\" } # two\n  # three\n]\n\n# The",
    );
    insta::assert_snapshot!(merged(&text, &["a.A", "a.B"]));
}

#[test]
fn later_ones_go_between() {
    let first = merged(PLAIN, &["a.B", "a.D"]);
    let second = merged(&first, &["a.A", "a.C", "a.E"]);
    assert_eq!(second, merged(PLAIN, &["a.A", "a.B", "a.C", "a.D", "a.E"]));
}

#[test]
fn lines_keep_their_ends_and_the_file_its_mark() {
    let text = format!("\u{feff}{}", PLAIN.replace('\n', "\r\n"));
    let merged = merged(&text, &["a.A"]);
    assert!(merged.starts_with('\u{feff}'));
    assert_eq!(merged.matches('\n').count(), merged.matches("\r\n").count());
}

#[test]
fn lines_of_both_ends_are_left_alone() {
    let text = PLAIN.replace("only one\n", "only one\r\n");
    let a = entry("a.A", "m");
    assert!(merge("weave.toml", &text, &[vec![&a]], None).is_err());
    assert_eq!(
        merge("weave.toml", &text, &[vec![]], None).unwrap().text,
        text
    );
}

#[test]
fn all_else_stays() {
    let text = format!(
        "{}\n\n[[library]] # of ours\npath = 'hooks.jar'\n\n[[aspect]]\n  name = 'other'\n  match.type = \"b.**\" # dotted\n# none",
        PLAIN.replace("# The end.\n", "# The end.")
    );
    let entries = [entry("a.A", "m")];
    let wanted = [vec![&entries[0]], vec![]];
    let merged = merge("weave.toml", &text, &wanted, None).unwrap().text;
    let (head, rest) = merged.split_once("exclude = [\n").unwrap();
    let end = rest.split_once("\n]\n").unwrap().1;
    assert_eq!(format!("{head}{end}"), text);
}

#[test]
fn as_many_as_a_file_can_have() {
    let types: Vec<String> = (0..9_000).map(|i| format!("a.T{i:05}")).collect();
    let even: Vec<&str> = types.iter().step_by(2).map(|ty| &**ty).collect();
    let all: Vec<&str> = types.iter().map(|ty| &**ty).collect();
    assert_eq!(merged(&merged(PLAIN, &even), &all), merged(PLAIN, &all));
}

#[test]
fn aspects_in_one_line() {
    let text = "version = 1\naspect = [{ match = { type = \"**\" } }, { match = { type = \"b.*\" }, exclude = [{ type = \"b.B\" }] }]\n";
    let merged = merged(text, &["a.A"]);
    assert_eq!(merged.matches(MARK).count(), 2, "{merged}");
}

#[test]
fn what_is_written_otherwise_is_refused() {
    for exclude in [
        "exclude.annotation = \"NoTrace\"",
        "[aspect.exclude]\nannotation = \"NoTrace\"",
        "[[aspect.exclude]]\nannotation = \"NoTrace\"",
    ] {
        let text = PLAIN.replace("\n\n# The", &format!("\n{exclude}\n\n# The"));
        Rules::parse("weave.toml", &text).unwrap();
        let a = entry("a.A", "m");
        let e = merge("weave.toml", &text, &[vec![&a]], None).err().unwrap();
        assert!(e.message().contains("aspect `all`"), "{}", e.message());
    }
}

#[test]
fn nothing_to_add_changes_nothing() {
    let text = "version=1\naspect=[{match={type='**'}}]";
    let merged = merge("weave.toml", text, &[vec![]], None).unwrap();
    assert_eq!((&*merged.text, merged.added), (text, 0));
}
