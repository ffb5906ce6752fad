//! What is accepted, and what a wrong file is told.

use super::model::Inject;
use super::*;
use crate::aspect::advice::Advice;
use crate::switches::{Level, MOST_SAMPLED, Sampling};
use insta::assert_snapshot;
use proptest::prelude::*;

fn wrong(text: &str) -> String {
    let e = Rules::parse("weave.toml", text).unwrap_err();
    assert_eq!(e.exit_status(), 2);
    e.to_string()
}

#[test]
fn a_whole_file() {
    let rules = Rules::parse(
        "weave.toml",
        r#"
            version = 1

            [[aspect]]
            name = "orders"
            match = { type = "Acme.Orders.**", method = "Place*", access = "public" }
            exclude = { annotation = "**.NoTrace" }

            [[aspect]]
            match = [
                { artifact = "StackExchange.Redis", version = ">=1.0, <3", params = ["StackExchange.Redis.Message", ".."] },
                { returns = "System.Threading.Tasks.Task<**>", extends = "I*", kind = ["async", "!lambda"], min-size = 0x10 },
            ]
            advice = ["enter", "exit"]

            [[aspect]]
            name = "sub-tables"
            advice = "exception"
            [aspect.match]
            type = ["A", "!B"]
            params = []
            [[aspect.exclude]]
            method = "<init>"
            [[aspect.exclude]]
            params = ""
        "#,
    )
    .unwrap();
    let shape: Vec<_> = rules
        .aspects
        .iter()
        .map(|a| (&*a.name, a.matches.len(), a.excludes.len(), a.advice))
        .collect();
    assert_eq!(
        shape,
        [
            ("orders", 1, 1, Advice::ALL),
            ("aspect 2", 2, 0, Advice::ENTER.with(Advice::EXIT)),
            ("sub-tables", 1, 2, Advice::EXCEPTION),
        ]
    );
    assert_eq!(rules.aspects[1].matches[1].min_size, Some(16));
}

#[test]
fn every_pack_parses() {
    for (name, _) in PACKS {
        assert!(!Rules::pack(name).unwrap().aspects.is_empty());
    }
    assert_eq!(Rules::default_pack().aspects[0].name, "default");
    assert_eq!(
        Rules::pack("defualt").unwrap_err().to_string(),
        "no rules pack is named `defualt`; did you mean `default`?"
    );
    assert_eq!(
        Rules::pack("x").unwrap_err().to_string(),
        "no rules pack is named `x`; there are default, all, public-api, kotlin, context, requests-jvm, logs-jvm, requests-net, redis-net, kafka-net, logs-net, jdbc, adonet, httpclient, http-net"
    );
}

/// The starter files are right as they are, and with every example in its comments switched on.
#[test]
fn the_starter_files_parse() {
    for (name, text) in [
        ("starter.toml", STARTER),
        ("starter-dotnet.toml", STARTER_DOTNET),
    ] {
        let rules = Rules::parse(name, text).unwrap();
        assert_eq!(rules.aspects.len(), 1, "{name}");
        let switched_on: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(code)
                    if [
                        "[[",
                        "name = ",
                        "match = ",
                        "advice = ",
                        "path = ",
                        "enter = ",
                    ]
                    .iter()
                    .any(|key| code.starts_with(key)) =>
                {
                    code
                }
                _ => line,
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        let rules = Rules::parse(name, &switched_on).unwrap();
        assert_eq!(rules.aspects.len(), 7, "{name}");
    }
}

/// Every TOML example of the documentation is a rules file, or the inside of one.
#[test]
fn the_examples_in_the_docs_parse() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut blocks = 0;
    for page in ["docs/rules.md", "README.md"] {
        let Ok(text) = std::fs::read_to_string(root.join(page)) else {
            assert_eq!(page, "README.md");
            continue;
        };
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let whole = if block.contains("[[aspect]]") {
                block.to_owned()
            } else if block.starts_with("match") || block.starts_with("exclude") {
                block
                    .lines()
                    .filter(|line| line.starts_with("match"))
                    .map(|line| format!("[[aspect]]\n{line}\n"))
                    .collect::<String>()
                    + &block
                        .lines()
                        .filter(|line| line.starts_with("exclude"))
                        .map(|line| format!("[[aspect]]\nmatch = {{ type = '**' }}\n{line}\n"))
                        .collect::<String>()
            } else {
                // Not about rules (a Cargo or Gradle file).
                continue;
            };
            let whole = if whole.contains("version = 1\n") {
                whole
            } else {
                format!("version = 1\n{whole}")
            };
            Rules::parse(page, &whole).unwrap_or_else(|e| panic!("{e}"));
            blocks += 1;
        }
    }
    assert!(blocks >= 12, "only {blocks} examples were found");
}

#[test]
fn colour_is_the_callers_choice() {
    let plain = Rules::parse("weave.toml", "version = 2").unwrap_err();
    let coloured = Rules::parse_coloured("weave.toml", "version = 2", true).unwrap_err();
    assert!(!plain.to_string().contains('\x1b'));
    assert!(coloured.to_string().contains('\x1b'));
}

#[test]
fn a_flood_of_errors_is_cut() {
    let items = "\"a..b\", ".repeat(2000);
    let text = wrong(&format!(
        "version = 1\n[[aspect]]\nmatch = {{ type = [{items}] }}\n"
    ));
    assert!(text.ends_with("and 1975 more errors"));
    assert!(text.len() < 20_000);
    let huge = format!("version = 1\n#{}", " ".repeat(1 << 20));
    assert!(wrong(&huge).contains("at most 1048576 are read"));
}

proptest! {
    #[test]
    fn any_text_gives_a_result(text: String) {
        let _ = Rules::parse("weave.toml", &text);
    }

    /// Text that gets past the TOML parser.
    #[test]
    fn any_value_gives_a_result(
        key in prop::sample::select(vec!["artifact", "version", "platform", "type", "method", "params", "returns",
            "annotation", "extends", "access", "kind", "min-size", "type-access"]),
        value in "\\PC{0,12}|[!.,*<>\\[\\]`$/()+ é1re:]{0,12}",
    ) {
        let literal = serde_json::to_string(&value).unwrap();
        for value in [literal.clone(), format!("[{literal}, {literal}]"), format!("'{value}'")] {
            let text = format!("version = 1\n[[aspect]]\nmatch = {{ {key} = {value} }}\nadvice = {value}\n");
            let _ = Rules::parse("weave.toml", &text);
        }
    }

    #[test]
    fn a_damaged_file_gives_a_result(at in 0usize..STARTER.len(), with: String) {
        let at = STARTER.floor_char_boundary(at);
        let text = format!("{}{with}{}", &STARTER[..at], &STARTER[STARTER.ceil_char_boundary(at + with.len().min(3))..]);
        let _ = Rules::parse("weave.toml", &text);
    }
}

#[test]
fn not_toml() {
    assert_snapshot!(wrong(r##"version = 1
[[aspect]]
name = "a
match = { type = "A" }
advice = [enter]
"##), @r##"
    this is not TOML
     --> weave.toml:3:10
      |
    3 | name = "a
      |          ^ invalid basic string, expected `"`

    error: this is not TOML
     --> weave.toml:5:11
      |
    5 | advice = [enter]
      |           ^^^^^ string values must be quoted, expected literal string
    "##);
}

#[test]
fn a_key_twice() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { type = "A", type = "B" }
"##), @r##"
    this is not TOML
     --> weave.toml:4:23
      |
    4 | match = { type = "A", type = "B" }
      |                       ^^^^ duplicate key
    "##);
}

#[test]
fn no_version() {
    assert_snapshot!(wrong(r##"[[aspect]]
match = { type = "A" }
"##), @r##"
    the rules have no version
     --> weave.toml:1:1
      |
    1 | [[aspect]]
      | ^ expected `version = 1`
      |
      = help: put `version = 1` at the top of the file
    "##);
}

#[test]
fn another_version() {
    assert_snapshot!(wrong(r##"version = 2

[[aspect]]
match = { type = "A" }
"##), @r##"
    unknown version of the rules format
     --> weave.toml:1:11
      |
    1 | version = 2
      |           ^ expected 1, the only one there is
    "##);
}

#[test]
fn no_aspect() {
    assert_snapshot!(wrong(r##"version = 1
"##), @r##"
    the file has no aspect
     --> weave.toml:1:13
      |
    1 | version = 1
      |            ^ expected an `[[aspect]]`
      |
      = help: `weave init` writes a file to start from
    "##);
}

#[test]
fn one_bracket() {
    assert_snapshot!(wrong(r##"version = 1

[aspect]
match = { type = "A" }
"##), @r##"
    `aspect` is a list
     --> weave.toml:3:1
      |
    3 | [aspect]
      | ^^^^^^^^ expected `[[aspect]]`, found a table
      |
      = help: write two brackets: `[[aspect]]`
    "##);
}

#[test]
fn a_root_is_a_call_in_the_trace() {
    let parse = |more: &str| {
        let text = format!("version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\n{more}\n");
        Rules::parse("rules", &text).map(|rules| rules.aspects[0].advice)
    };
    let whole = Advice::ALL.with(Advice::ROOT);
    assert_eq!(parse("root = true").unwrap(), whole);
    assert_eq!(parse("root = false").unwrap(), Advice::ALL);
    for (more, said) in [
        ("root = \"yes\"", "expected true or false, found a string"),
        (
            "root = true\nadvice = \"exit\"",
            "`root` is about calls in the trace",
        ),
        (
            "root = true\nhooks = \"android-trace\"",
            "`root` is about calls",
        ),
        (
            "root = true\nenter = \"a.Log.begin()\"",
            "`root` is about calls",
        ),
    ] {
        let error = parse(more).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_level_is_of_whole_calls() {
    let parse = |more: &str| {
        let text = format!("version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\n{more}\n");
        Rules::parse("rules", &text).map(|rules| rules.aspects[0].level)
    };
    assert_eq!(parse("").unwrap(), None);
    for mode in [
        "",
        "mode = \"count\"",
        "mode = \"aggregate\"",
        "record = \"this\"",
    ] {
        let level = parse(&format!("level = \"debug\"\n{mode}")).unwrap();
        assert_eq!(level, Some(Level::Debug), "{mode}");
    }
    let auto = |more: &str| {
        let text = format!("version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\n{more}\n");
        Rules::parse("rules", &text).unwrap().aspects[0].auto
    };
    assert_eq!(auto("level = \"debug\""), None);
    assert_eq!(auto("mode = \"auto\"\nrecord = \"this\""), Some(1_000));
    assert_eq!(auto("mode = \"auto\"\nslower-than = \"250us\""), Some(250));
    for (said, part) in [("5%", 50), ("0.1 %", 1), ("12.5%", 125), ("100%", 1_000)] {
        let text = format!(
            "version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\nmode = \"auto\"\noverhead = \"{said}\"\n"
        );
        let rules = Rules::parse("rules", &text).unwrap();
        assert_eq!(rules.aspects[0].overhead, Some(part), "{said}");
    }
    for said in [
        "\"0%\"",
        "\"101%\"",
        "\"5\"",
        "\"5.25%\"",
        "\".5%\"",
        "5",
        "\"-1%\"",
    ] {
        let text = format!(
            "version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\nmode = \"auto\"\noverhead = {said}\n"
        );
        let refused = format!("{}", Rules::parse("rules", &text).unwrap_err());
        assert!(refused.contains("from 0.1% to 100%"), "{refused}");
    }
    for (more, said) in [
        ("level = 3", "expected a string, found an integer"),
        (
            "mode = \"auto\"\nadvice = \"enter\"",
            "a call that is switched is recorded whole or not at all",
        ),
        ("slower-than = \"1ms\"", "the aspect has another `mode`"),
        ("overhead = \"5%\"", "`overhead` needs `mode = \"auto\"`"),
        (
            "mode = \"auto\"\nslower-than = \"17s\"",
            "expected a time from 1us to 16s",
        ),
        ("level = \"verbose\"", "did you mean `debug`?"),
        (
            "level = \"info\"\nadvice = [\"enter\", \"exit\"]",
            "a call that is switched is recorded whole or not at all",
        ),
        (
            "level = \"info\"\nhooks = \"android-trace\"",
            "`level` is about what goes into the trace",
        ),
        (
            "level = \"info\"\nenter = \"a.Log.begin()\"",
            "`level` is about what goes into the trace",
        ),
        (
            "level = \"info\"\nadvice = \"enter\"\nat = { call = { method = \"run\" } }",
            "recorded calls (`at`) cannot be switched",
        ),
    ] {
        let error = parse(more).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_sampled_are_recorded_calls() {
    let parse = |more: &str| {
        let text = format!("version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\n{more}\n");
        Rules::parse("rules", &text).map(|mut rules| rules.aspects.remove(0))
    };
    assert_eq!(parse("").unwrap().sample, None);
    for (text, means) in [
        ("1/100", Sampling::OneOf(100)),
        (" 1 / 1 ", Sampling::OneOf(1)),
        ("1/16777215", Sampling::OneOf(MOST_SAMPLED)),
        ("10/s", Sampling::Second(10)),
        ("1/s", Sampling::Second(1)),
    ] {
        for more in [
            "",
            "mode = \"record\"",
            "level = \"debug\"",
            "record = \"this\"\nroot = true",
            "enter = \"a.Log.begin()\"\nmode = \"record\"",
        ] {
            let aspect = parse(&format!("sample = \"{text}\"\n{more}")).unwrap();
            assert_eq!(aspect.sample, Some(means), "{text}, {more}");
            assert!(aspect.is_switchable(), "{text}, {more}");
        }
    }
    for text in [
        "0/s",
        "1/0",
        "2/3",
        "1/16777216",
        "16777216/s",
        "100",
        "1%",
        "1/+2",
        "-1/s",
        "/",
        "1/m",
        "",
    ] {
        let error = parse(&format!("sample = \"{text}\"")).unwrap_err();
        assert!(
            error.to_string().contains("`sample` is one of so many"),
            "{text}: {error}"
        );
    }
    for (more, said) in [
        ("sample = 100", "found an integer"),
        (
            "sample = \"1/10\"\nadvice = \"enter\"",
            "a call that is switched is recorded whole or not at all",
        ),
        (
            "sample = \"1/10\"\nenter = \"a.Log.begin()\"",
            "`sample` is about what goes into the trace",
        ),
        (
            "sample = \"1/10\"\nhooks = \"android-trace\"",
            "`sample` is about what goes into the trace",
        ),
        (
            "sample = \"1/10\"\nadvice = \"enter\"\nat = { call = { method = \"run\" } }",
            "recorded calls (`at`) cannot be sampled",
        ),
        ("sampling = \"1/10\"", "did you mean `sample`?"),
    ] {
        let error = parse(more).unwrap_err().to_string();
        assert!(error.contains(said), "{more}: {error}");
    }
    for mode in ["count", "aggregate", "auto"] {
        assert_eq!(
            wrong(&format!(
                "version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\nmode = \"{mode}\"\nsample = \"1/10\"\n"
            ))
            .trim(),
            "`sample` is only for recorded calls\n \
             --> weave.toml:5:1\n  \
             |\n\
             5 | sample = \"1/10\"\n  \
             | ^^^^^^ the aspect has another `mode`\n  \
             |\n  \
             = help: leave out `sample`, or `mode`: counts and sums cover all calls, and cost less than records"
        );
    }
}

#[test]
fn unknown_key_of_the_file() {
    assert_snapshot!(wrong(r##"version = 1

[[aspects]]
match = { type = "A" }
"##), @r##"
    unknown key `aspects` in a rules file
     --> weave.toml:3:3
      |
    3 | [[aspects]]
      |   ^^^^^^^ did you mean `aspect`?
      |
      = help: expected `version`, `include`, `trace`, `library`, `type`, `spans` or `aspect`
    "##);
}

#[test]
fn unknown_keys() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
name = "orders"
match = { clas = "A", metod = "m", class = "B", frobnicate = 1 }
exlude = { type = "C" }
"##), @r#"
unknown key `clas` in `match`
 --> weave.toml:5:11
  |
5 | match = { clas = "A", metod = "m", class = "B", frobnicate = 1 }
  |           ^^^^ did you mean `type`?
  |
  = help: expected `artifact`, `version`, `platform`, `type`, `type-access`, `method`, `params`, `returns`, `annotation`, `extends`, `access`, `kind` or `min-size`

error: unknown key `metod` in `match`
 --> weave.toml:5:23
  |
5 | match = { clas = "A", metod = "m", class = "B", frobnicate = 1 }
  |                       ^^^^^ did you mean `method`?
  |
  = help: expected `artifact`, `version`, `platform`, `type`, `type-access`, `method`, `params`, `returns`, `annotation`, `extends`, `access`, `kind` or `min-size`

error: unknown key `class` in `match`
 --> weave.toml:5:36
  |
5 | match = { clas = "A", metod = "m", class = "B", frobnicate = 1 }
  |                                    ^^^^^ did you mean `type`?
  |
  = help: expected `artifact`, `version`, `platform`, `type`, `type-access`, `method`, `params`, `returns`, `annotation`, `extends`, `access`, `kind` or `min-size`

error: unknown key `frobnicate` in `match`
 --> weave.toml:5:49
  |
5 | match = { clas = "A", metod = "m", class = "B", frobnicate = 1 }
  |                                                 ^^^^^^^^^^ expected one of the words below
  |
  = help: expected `artifact`, `version`, `platform`, `type`, `type-access`, `method`, `params`, `returns`, `annotation`, `extends`, `access`, `kind` or `min-size`

error: unknown key `exlude` in an aspect
 --> weave.toml:6:1
  |
6 | exlude = { type = "C" }
  | ^^^^^^ did you mean `exclude`?
  |
  = help: expected `name`, `match`, `exclude`, `mode`, `level`, `slower-than`, `overhead`, `sample`, `advice`, `hooks`, `enter`, `exit`, `exception`, `around`, `at`, `before`, `after`, `replace`, `guard`, `record`, `mask`, `messages`, `limit`, `root`, `completion`, `span`, `entry` or `context`
"#);
}

#[test]
fn values_that_are_recorded() {
    let rules = Rules::parse(
        "weave.toml",
        r#"version = 1
[[aspect]]
match = { type = "A" }
record = ["sql = arg(0)", "result?"]
mask = ['re:password=\S+', "token=*"]
limit = 1000
"#,
    )
    .unwrap();
    let aspect = &rules.aspects[0];
    let own = aspect.own.as_ref().unwrap();
    let names: Vec<&str> = own.record.iter().map(|record| &*record.name).collect();
    assert_eq!(names, ["sql", "result"]);
    assert_eq!(
        (own.limit, own.mask.is_some(), own.has_hooks()),
        (1000, true, false)
    );
    // The call is recorded, too: values belong to one.
    assert!(aspect.advice.has(Advice::ALL) && aspect.advice.has(Advice::OWN));
    assert_snapshot!(wrong(r#"version = 1
[[aspect]]
match = { type = "A" }
record = ["arg(0) arg(1)", "duration", "arg(x)"]
mask = ["*", 're:a(b']
limit = 2000
[[aspect]]
name = "two"
match = { type = "A" }
limit = 5
"#), @r#"
bad pattern in `record`
 --> weave.toml:4:19
  |
4 | record = ["arg(0) arg(1)", "duration", "arg(x)"]
  |                   ^^^^^^ something follows the value
  |
  = help: several values are a list: `["arg(0)", "result"]`

error: bad pattern in `record`
 --> weave.toml:4:29
  |
4 | record = ["arg(0) arg(1)", "duration", "arg(x)"]
  |                             ^^^^^^^^ this is not recorded
  |
  = help: `this`, `target`, `arg(n)`, a parameter's name, `args`, `result`, `exception`, a constant, `string(..)`, `first(..)` or `end(..)` of one, or a call that returns a value

error: bad pattern in `record`
 --> weave.toml:4:41
  |
4 | record = ["arg(0) arg(1)", "duration", "arg(x)"]
  |                                         ^^^^^ expected the number of an argument, from 0
  |
  = help: `arg(0)` is the first one, without `this`

error: bad pattern in `mask`
 --> weave.toml:5:10
  |
5 | mask = ["*", 're:a(b']
  |          ^ the mask matches the empty text
  |
  = help: write what must be there: `\S+`, not `\S*`

error: bad pattern in `mask`
 --> weave.toml:5:19
  |
5 | mask = ["*", 're:a(b']
  |                   ^ not a regex: unclosed group

error: `limit` is a number from 1 to 1024, of UTF-16 units
 --> weave.toml:6:9
  |
6 | limit = 2000
  |         ^^^^ expected a number from 1 to 1024, of UTF-16 units, found an integer

error: `limit` is about values
  --> weave.toml:10:1
   |
10 | limit = 5
   | ^^^^^ the aspect records none: `record`
"#);
}

#[test]
fn what_is_left_out_of_texts() {
    let parsed = |text: &str| Rules::parse("weave.toml", &format!("version = 1\n{text}")).unwrap();
    // A file of it alone belongs to others.
    let mut rules =
        parsed("[trace]\nmask = 'password=*'\nthread-names = false\ncommand-line = true");
    let [texts] = &*rules.texts else {
        panic!("{:?}", rules.texts);
    };
    assert!(texts.mask.is_some() && texts.messages && !texts.thread_names && texts.command_line);
    rules.extend(parsed("[trace]\nmessages = false"));
    rules.extend(parsed("[trace]\nmessages = false"));
    rules.extend(parsed("[trace]\nmessages = true"));
    assert_eq!(rules.texts.len(), 2);
    // An aspect needs no values for it, and records the calls.
    for more in ["mask = 'password=*'", "messages = false"] {
        let aspect = &parsed(&format!("[[aspect]]\nmatch = {{ type = 'A' }}\n{more}")).aspects[0];
        assert!(
            aspect.advice.has(Advice::ALL) && aspect.own.as_ref().unwrap().holds(),
            "{more}"
        );
    }
    assert_snapshot!(wrong(r#"version = 1
[trace]
masks = "a*"
mask = ["*", "b"]
messages = "no"
threads = false
[[aspect]]
match = { type = "A" }
mode = "count"
mask = "a*"
[[aspect]]
name = "own"
match = { type = "A" }
enter = "a.B.c()"
messages = false
"#), @r#"
    unknown key `masks` in `trace`
     --> weave.toml:3:1
      |
    3 | masks = "a*"
      | ^^^^^ did you mean `mask`?
      |
      = help: expected `mask`, `messages`, `thread-names` or `command-line`

    error: bad pattern in `mask`
     --> weave.toml:4:10
      |
    4 | mask = ["*", "b"]
      |          ^ the mask matches the empty text
      |
      = help: write what must be there: `\S+`, not `\S*`

    error: `messages` is true or false
     --> weave.toml:5:12
      |
    5 | messages = "no"
      |            ^^^^ expected true or false, found a string

    error: unknown key `threads` in `trace`
     --> weave.toml:6:1
      |
    6 | threads = false
      | ^^^^^^^ did you mean `thread-names`?
      |
      = help: expected `mask`, `messages`, `thread-names` or `command-line`

    error: `mask` is about calls that are recorded
      --> weave.toml:10:1
       |
    10 | mask = "a*"
       | ^^^^ the aspect records neither values nor exceptions
       |
       = help: settings for the whole trace belong in the table `[trace]`

    error: `messages` is about calls that are recorded
      --> weave.toml:15:1
       |
    15 | messages = false
       | ^^^^^^^^ the aspect records neither values nor exceptions
       |
       = help: settings for the whole trace belong in the table `[trace]`
    "#);
}

#[test]
fn packs_mask_what_drivers_quote() {
    let rules = ["jdbc", "adonet"].map(|pack| Rules::pack(pack).unwrap());
    let aspects = rules.iter().flat_map(|rules| &rules.aspects);
    let masks = aspects.filter_map(|aspect| aspect.own.as_ref()?.mask.as_ref());
    for mask in masks {
        for text in [
            "Value too long for column \"PW\": \"'SECRET' (8)\"; SQL statement:\nINSERT INTO u VALUES ('bob', 'SECRET') [22001-232]",
            "can't insert 'SECRET', won't say 'SECRET'",
            "duplicate key value violates unique constraint \"u_pkey\"\n  Detail: Key (mail)=(SECRET@acme.org) already exists.",
            "violates check constraint \"c\"\n  Detail: Failing row contains (1, one line\nSECRET).",
            "invalid input syntax for type integer: \"a\"SECRET\"",
            "Cannot insert duplicate key in object 'dbo.u'. The duplicate key value is (SECRET).",
            "Duplicate entry 'SECRET' for key 'u.PRIMARY'",
            "SQLite Error 1: 'near \"SECRET\": syntax error'.",
            "unique constraint or index violation; UQ table: U value: SECRET",
            "Data conversion error converting \"SECRET\"",
            "select * from u where pw = 'it''s SECRET' and name = 'a\\'SECRET'",
            "select $$SECRET$$, $a$SECRET$a$",
            "insert into u values ('SECRET",
        ] {
            let told = super::mask::tests::masked(mask, text);
            assert!(!told.contains("SECRET"), "{told}");
        }
        let told = super::mask::tests::masked(
            mask,
            "update orders set state = 'late' where id = ? limit 10",
        );
        assert_eq!(told, "update orders set state = *** where id = ? limit 10");
        assert_eq!(
            super::mask::tests::masked(mask, "card = 4111222233334444"),
            "card = ***"
        );
    }
}

#[test]
fn a_selector_in_the_wrong_place() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
type = "A"
match = { method = "m", advice = "enter" }
"##), @r##"
    `type` belongs into `match` or `exclude`
     --> weave.toml:4:1
      |
    4 | type = "A"
      | ^^^^ a selector
      |
      = help: move it into a table: `match = { type = .. }`

    error: `advice` belongs to the aspect
     --> weave.toml:5:25
      |
    5 | match = { method = "m", advice = "enter" }
      |                         ^^^^^^ no selector
      |
      = help: move it out of `match`, beside it
    "##);
}

#[test]
fn no_match() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
name = "orders"

[[aspect]]
advice = "enter"
"##), @r##"
    the aspect `orders` has no `match`
     --> weave.toml:4:8
      |
    4 | name = "orders"
      |        ^^^^^^^^ expected what it matches
      |
      = help: `match = { type = "**" }` matches every method of every type

    error: the aspect `aspect 2` has no `match`
     --> weave.toml:6:1
      |
    6 | [[aspect]]
      | ^^^^^^^^^^ expected what it matches
      |
      = help: `match = { type = "**" }` matches every method of every type
    "##);
}

#[test]
fn a_name_twice() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
name = "orders"
match = { type = "A" }

[[aspect]]
name = "orders"
match = { type = "B" }
"##), @r##"
    two aspects have the name `orders`
     --> weave.toml:8:8
      |
    4 | name = "orders"
      |        -------- the first one
    ...
    8 | name = "orders"
      |        ^^^^^^^^ expected another name
    "##);
    // One rule for several versions is several aspects of one name.
    let rules = |first: &str, second: &str| {
        let aspect =
            |keys| format!("[[aspect]]\nname = 'orders'\nmatch = {{ type = 'A', {keys} }}\n");
        Rules::parse(
            "weave.toml",
            &format!("version = 1\n{}{}", aspect(first), aspect(second)),
        )
    };
    assert!(rules("version = '<2'", "version = '>=2'").is_ok());
    assert!(rules("platform = '<21'", "platform = '>=21'").is_ok());
    assert!(rules("version = '<2'", "method = 'm'").is_err());
}

#[test]
fn empty_lists() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { type = [] }
exclude = []
advice = []

[[aspect]]
match = {}
"##), @r##"
    the list of `type` is empty
     --> weave.toml:4:18
      |
    4 | match = { type = [] }
      |                  ^^ expected at least one string
      |
      = help: leave `type` out for no restriction

    error: the list of `exclude` is empty
     --> weave.toml:5:11
      |
    5 | exclude = []
      |           ^^ expected a table of selectors

    error: the list of `advice` is empty
     --> weave.toml:6:10
      |
    6 | advice = []
      |          ^^ expected at least one string
      |
      = help: leave `advice` out for no restriction

    error: `match` is empty
     --> weave.toml:9:9
      |
    9 | match = {}
      |         ^^ expected at least one selector
      |
      = help: `type = "**"` matches every type
    "##);
}

#[test]
fn wrong_types() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
name = 1
match = "com.acme.**"
exclude = { type = ["A", 3], access = true }
advice = { enter = true }
"##), @r##"
    `name` is a string
     --> weave.toml:4:8
      |
    4 | name = 1
      |        ^ expected a string, found an integer

    error: `match` is a table or a list of tables
     --> weave.toml:5:9
      |
    5 | match = "com.acme.**"
      |         ^^^^^^^^^^^^^ expected a table or a list of tables, found a string
      |
      = help: write `match = { type = "com.acme.**" }`

    error: an element of `type` is a string
     --> weave.toml:6:26
      |
    6 | exclude = { type = ["A", 3], access = true }
      |                          ^ expected a string, found an integer

    error: `access` is a string or a list of strings
     --> weave.toml:6:39
      |
    6 | exclude = { type = ["A", 3], access = true }
      |                                       ^^^^ expected a string or a list of strings, found a boolean

    error: `advice` is a string or a list of strings
     --> weave.toml:7:10
      |
    7 | advice = { enter = true }
      |          ^^^^^^^^^^^^^^^^ expected a string or a list of strings, found a table
    "##);
}

#[test]
fn a_bad_regex() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { type = "re:com\\.acme", method = 're:place[a-z' }
exclude = { method = "!re:a{3,2}" }
"##), @r##"
    bad pattern in `method`
     --> weave.toml:4:53
      |
    4 | match = { type = "re:com\\.acme", method = 're:place[a-z' }
      |                                                     ^ not a regex: unclosed character class

    error: bad pattern in `method`
     --> weave.toml:5:28
      |
    5 | exclude = { method = "!re:a{3,2}" }
      |                            ^^^^^ not a regex: invalid repetition count range, the start must be <= the end
    "##);
}

#[test]
fn a_greedy_regex() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { type = "re:((a{1000}){1000}){1000}" }
"##), @r##"
    bad pattern in `type`
     --> weave.toml:4:22
      |
    4 | match = { type = "re:((a{1000}){1000}){1000}" }
      |                      ^^^^^^^^^^^^^^^^^^^^^^^ the regex takes too much memory
      |
      = help: lower the numbers of its repetitions
    "##);
}

#[test]
fn bad_patterns() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = [
    { type = "com.acme..*" },
    { type = "com.acme." },
    { type = "Ljava/lang/String;" },
    { type = "com.acme Orders" },
    { type = "" },
    { type = "!" },
    { method = "place(int)" },
]
"##), @r##"
    bad pattern in `type`
     --> weave.toml:5:23
      |
    5 |     { type = "com.acme..*" },
      |                       ^^ `..` stands for parameters
      |
      = help: across packages write `**`: `com.acme.**`

    error: bad pattern in `type`
     --> weave.toml:6:23
      |
    6 |     { type = "com.acme." },
      |                       ^ the last part of the name is missing
      |
      = help: all types in there: `com.acme.**`

    error: bad pattern in `type`
     --> weave.toml:7:15
      |
    7 |     { type = "Ljava/lang/String;" },
      |               ^^^^^^^^^^^^^^^^^^ this is a descriptor
      |
      = help: write the type as in source: `java.lang.String`, `int[]`

    error: bad pattern in `type`
     --> weave.toml:8:23
      |
    8 |     { type = "com.acme Orders" },
      |                       ^ a name has no such character

    error: bad pattern in `type`
     --> weave.toml:9:14
      |
    9 |     { type = "" },
      |              ^^ the pattern is empty
      |
      = help: `**` matches everything

    error: bad pattern in `type`
      --> weave.toml:10:15
       |
    10 |     { type = "!" },
       |               ^ `!` needs a pattern to exclude

    error: bad pattern in `method`
      --> weave.toml:11:22
       |
    11 |     { method = "place(int)" },
       |                      ^^^^^ a method's pattern is its name alone
       |
       = help: parameters go into `params`, the return type into `returns`
    "##);
}

#[test]
fn bad_params() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = [{ params = "int, , long" }, { params = ["int, long"] }, { params = 3 }]
"##), @r##"
    bad pattern in `params`
     --> weave.toml:4:21
      |
    4 | match = [{ params = "int, , long" }, { params = ["int, long"] }, { params = 3 }]
      |                     ^^^^^^^^^^^^^ the pattern is empty
      |
      = help: `**` matches everything

    error: bad pattern in `params`
     --> weave.toml:4:54
      |
    4 | match = [{ params = "int, , long" }, { params = ["int, long"] }, { params = 3 }]
      |                                                      ^ one type an element
      |
      = help: write the list as one string, or each type as an element

    error: `params` is a string or a list of strings
     --> weave.toml:4:77
      |
    4 | match = [{ params = "int, , long" }, { params = ["int, long"] }, { params = 3 }]
      |                                                                             ^ expected a string or a list of strings, found an integer
    "##);
}

#[test]
fn bad_versions() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { artifact = "guava", version = [">=1.0, <three", "!>=", "1.2.*.4"] }
"##), @r##"
    bad pattern in `version`
     --> weave.toml:4:51
      |
    4 | match = { artifact = "guava", version = [">=1.0, <three", "!>=", "1.2.*.4"] }
      |                                                   ^^^^^ not a version
      |
      = help: a range is like `>=1.0, <3`, `1.2.*` or `1.2.3`

    error: bad pattern in `version`
     --> weave.toml:4:59
      |
    4 | match = { artifact = "guava", version = [">=1.0, <three", "!>=", "1.2.*.4"] }
      |                                                           ^^^^^ a version is missing
      |
      = help: a range is like `>=1.0, <3`, `1.2.*` or `1.2.3`

    error: bad pattern in `version`
     --> weave.toml:4:67
      |
    4 | match = { artifact = "guava", version = [">=1.0, <three", "!>=", "1.2.*.4"] }
      |                                                                   ^^^^^^^ not a version
      |
      = help: a range is like `>=1.0, <3`, `1.2.*` or `1.2.3`
    "##);
}

#[test]
fn bad_sizes() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = [{ min-size = -1 }, { min-size = "8" }, { min-size = 4.5 }]
"##), @r##"
    `min-size` is a number of bytes
     --> weave.toml:4:23
      |
    4 | match = [{ min-size = -1 }, { min-size = "8" }, { min-size = 4.5 }]
      |                       ^^ expected 0 to 4294967295
      |
      = help: `min-size = 0` takes even empty bodies

    error: `min-size` is a number of bytes
     --> weave.toml:4:42
      |
    4 | match = [{ min-size = -1 }, { min-size = "8" }, { min-size = 4.5 }]
      |                                          ^^^ expected 0 to 4294967295
      |
      = help: `min-size = 0` takes even empty bodies

    error: `min-size` is a number of bytes
     --> weave.toml:4:62
      |
    4 | match = [{ min-size = -1 }, { min-size = "8" }, { min-size = 4.5 }]
      |                                                              ^^^ expected 0 to 4294967295
      |
      = help: `min-size = 0` takes even empty bodies
    "##);
}

#[test]
fn unknown_words() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { kind = ["ctor", "!lamda", "coroutine"], access = "pubic", type-access = "package-private" }
advice = ["before", "exot", "around"]
"##), @r##"
    unknown kind `ctor`
     --> weave.toml:4:19
      |
    4 | match = { kind = ["ctor", "!lamda", "coroutine"], access = "pubic", type-access = "package-private" }
      |                   ^^^^^^ did you mean `constructor`?
      |
      = help: expected `method`, `constructor`, `static-init`, `accessor`, `bridge`, `synthetic`, `lambda` or `async`

    error: unknown kind `lamda`
     --> weave.toml:4:27
      |
    4 | match = { kind = ["ctor", "!lamda", "coroutine"], access = "pubic", type-access = "package-private" }
      |                           ^^^^^^^^ did you mean `lambda`?
      |
      = help: expected `method`, `constructor`, `static-init`, `accessor`, `bridge`, `synthetic`, `lambda` or `async`

    error: unknown kind `coroutine`
     --> weave.toml:4:37
      |
    4 | match = { kind = ["ctor", "!lamda", "coroutine"], access = "pubic", type-access = "package-private" }
      |                                     ^^^^^^^^^^^ expected one of the words below
      |
      = help: expected `method`, `constructor`, `static-init`, `accessor`, `bridge`, `synthetic`, `lambda` or `async`

    error: unknown visibility `pubic`
     --> weave.toml:4:60
      |
    4 | match = { kind = ["ctor", "!lamda", "coroutine"], access = "pubic", type-access = "package-private" }
      |                                                            ^^^^^^^ did you mean `public`?
      |
      = help: expected `public`, `protected`, `package`, `internal` or `private`

    error: unknown visibility `package-private`
     --> weave.toml:4:83
      |
    4 | match = { kind = ["ctor", "!lamda", "coroutine"], access = "pubic", type-access = "package-private" }
      |                                                                                   ^^^^^^^^^^^^^^^^^ did you mean `package`?
      |
      = help: expected `public`, `protected`, `package`, `internal` or `private`

    error: unknown advice `before`
     --> weave.toml:5:11
      |
    5 | advice = ["before", "exot", "around"]
      |           ^^^^^^^^ did you mean `enter`?
      |
      = help: expected `enter`, `exit` or `exception`

    error: unknown advice `exot`
     --> weave.toml:5:21
      |
    5 | advice = ["before", "exot", "around"]
      |                     ^^^^^^ did you mean `exit`?
      |
      = help: expected `enter`, `exit` or `exception`

    error: unknown advice `around`
     --> weave.toml:5:29
      |
    5 | advice = ["before", "exot", "around"]
      |                             ^^^^^^^^ expected one of the words below
      |
      = help: without `advice` all three run
    "##);
}

#[test]
fn non_ascii_text_keeps_its_columns() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
name = "größe" # ✓ 漢字
match = { methode = "größe", type = "re:漢[" }
"##), @r##"
    unknown key `methode` in `match`
     --> weave.toml:5:11
      |
    5 | match = { methode = "größe", type = "re:漢[" }
      |           ^^^^^^^ did you mean `method`?
      |
      = help: expected `artifact`, `version`, `platform`, `type`, `type-access`, `method`, `params`, `returns`, `annotation`, `extends`, `access`, `kind` or `min-size`

    error: bad pattern in `type`
     --> weave.toml:5:42
      |
    5 | match = { methode = "größe", type = "re:漢[" }
      |                                           ^ not a regex: unclosed character class
    "##);
}

#[test]
fn a_long_line_is_cut() {
    let packages: String = (0..40)
        .map(|i| format!("'com.acme.p{i:02}.**', "))
        .collect();
    assert_snapshot!(wrong(&format!("version = 1\n\n[[aspect]]\nmatch = {{ type = [{packages}'com.acme..*'] }}\n")), @r##"
    bad pattern in `type`
     --> weave.toml:4:788
      |
    4 | ...', 'com.acme.p38.**', 'com.acme.p39.**', 'com.acme..*'] }
      |                                                      ^^ `..` stands for parameters
      |
      = help: across packages write `**`: `com.acme.**`
    "##);
}

#[test]
fn hooks_of_androids_trace() {
    let rules = Rules::parse(
        "weave.toml",
        r#"
            version = 1
            [[aspect]]
            match = { type = "com.acme.**" }
            hooks = "android-trace"
            [[aspect]]
            name = "both"
            match = { type = "com.acme.**" }
            hooks = "weave"
            advice = "enter"
        "#,
    )
    .unwrap();
    let advice: Vec<_> = rules.aspects.iter().map(|a| a.advice).collect();
    assert_eq!(advice, [Advice::SECTION, Advice::ENTER]);
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { type = "A" }
hooks = "systrace"

[[aspect]]
match = { type = "B" }
hooks = ["android-trace"]

[[aspect]]
match = { type = "C" }
hooks = "android-trace"
advice = "enter"
"##), @r#"
unknown hooks `systrace`
 --> weave.toml:5:9
  |
5 | hooks = "systrace"
  |         ^^^^^^^^^^ did you mean `android-trace`?
  |
  = help: expected `weave` or `android-trace`

error: `hooks` is a string
 --> weave.toml:9:9
  |
9 | hooks = ["android-trace"]
  |         ^^^^^^^^^^^^^^^^^ expected a string, found a list

error: a section of Android's trace has a beginning and an end
  --> weave.toml:14:10
   |
14 | advice = "enter"
   |          ^^^^^^^ expected all three
   |
   = help: leave `advice` out where `hooks` is "android-trace"
"#);
}

#[test]
fn what_is_counted_or_summed_up_has_no_advice_and_no_values() {
    let rules = Rules::parse(
        "weave.toml",
        r#"
            version = 1
            [[aspect]]
            match = { type = "A" }
            mode = "count"
            [[aspect]]
            match = { type = "A" }
            mode = "record"
            advice = ["enter", "exit"]
            [[aspect]]
            match = { type = "A" }
            mode = "count"
            advice = ["enter", "exit", "exception"]
            enter = "acme.Hooks.run()"
            [[aspect]]
            match = { type = "A" }
            mode = "aggregate"
            exit = "acme.Hooks.run()"
        "#,
    )
    .unwrap();
    let advice: Vec<_> = rules.aspects.iter().map(|a| a.advice).collect();
    let pair = Advice::ENTER.with(Advice::EXIT);
    assert_eq!(
        advice,
        [
            Advice::COUNT,
            pair,
            Advice::COUNT.with(Advice::OWN),
            Advice::AGGREGATE.with(Advice::OWN)
        ]
    );
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
match = { type = "A" }
mode = "counter"

[[aspect]]
match = { type = "B" }
mode = "count"
advice = ["enter", "exit"]

[[aspect]]
match = { type = "C" }
mode = "count"
record = ["arg(0)"]

[[aspect]]
match = { type = "D" }
hooks = "android-trace"
mode = "count"

[[aspect]]
match = { type = "E" }
mode = "aggregate"
advice = "exit"
record = ["arg(0)"]

[[aspect]]
match = { type = "F" }
mode = "aggregate"
root = true
"##), @r#"
unknown mode `counter`
 --> weave.toml:5:8
  |
5 | mode = "counter"
  |        ^^^^^^^^^ did you mean `count`?
  |
  = help: expected `record`, `aggregate`, `count` or `auto`

error: a counted call has one hook, where it begins
  --> weave.toml:10:10
   |
10 | advice = ["enter", "exit"]
   |          ^^^^^^^^^^^^^^^^^ it cannot be chosen
   |
   = help: leave `advice` out where `mode` is "count"

error: values belong to calls that are recorded
  --> weave.toml:15:1
   |
15 | record = ["arg(0)"]
   | ^^^^^^ the aspect counts them only: `mode`
   |
   = help: leave out `record`, or `mode`

error: `mode` does not apply to Android's trace
  --> weave.toml:20:1
   |
20 | mode = "count"
   | ^^^^ leave out `mode`, or `hooks`

error: a call that is summed up has a beginning and an end
  --> weave.toml:25:10
   |
25 | advice = "exit"
   |          ^^^^^^ it cannot be chosen
   |
   = help: leave `advice` out where `mode` is "aggregate"

error: values belong to calls that are recorded
  --> weave.toml:26:1
   |
26 | record = ["arg(0)"]
   | ^^^^^^ the aspect sums them up only: `mode`
   |
   = help: leave out `record`, or `mode`

error: `root` is about calls in the trace
  --> weave.toml:31:1
   |
31 | root = true
   | ^^^^ the aspect records none: `advice` with `enter`
"#);
}

#[test]
fn type_parameters_have_names() {
    assert_snapshot!(wrong(
        "version = 1\n[[aspect]]\nname = 'a'\nmatch = [{ params = ['!!0[]'] }, { params = 'int, !1&' }, { params = 'List<!0>' }, { returns = '!0' }]",
    ), @"
    bad pattern in `params`
     --> weave.toml:4:24
      |
    4 | match = [{ params = ['!!0[]'] }, { params = 'int, !1&' }, { params = 'List<!0>' }, { returns = '!0' }]
      |                        ^ `!` stands in front of a pattern alone
      |
      = help: write a type parameter by its name, as in source: `T`, `T[]`

    error: bad pattern in `params`
     --> weave.toml:4:51
      |
    4 | match = [{ params = ['!!0[]'] }, { params = 'int, !1&' }, { params = 'List<!0>' }, { returns = '!0' }]
      |                                                   ^^^ the position of a type parameter
      |
      = help: write a type parameter by its name, as in source: `T`, `T[]`

    error: bad pattern in `params`
     --> weave.toml:4:76
      |
    4 | match = [{ params = ['!!0[]'] }, { params = 'int, !1&' }, { params = 'List<!0>' }, { returns = '!0' }]
      |                                                                            ^ `!` stands in front of a pattern alone
      |
      = help: write a type parameter by its name, as in source: `T`, `T[]`

    error: bad pattern in `returns`
     --> weave.toml:4:97
      |
    4 | match = [{ params = ['!!0[]'] }, { params = 'int, !1&' }, { params = 'List<!0>' }, { returns = '!0' }]
      |                                                                                                 ^^ the position of a type parameter
      |
      = help: write a type parameter by its name, as in source: `T`, `T[]`
    ");
}

#[test]
fn the_schema_knows_the_keys_and_words_that_the_parser_knows() {
    use super::model::{ACCESS_WORDS, ADVICE_WORDS, HOOKS_WORDS, KIND_WORDS, MODE_WORDS};
    use super::parse::{
        ASPECT_KEYS, AT_KEYS, CALL_KEYS, FIELD_KEYS, FILE_KEYS, NEW_KEYS, SELECTOR_KEYS,
        TRACE_KEYS, TYPE_KEYS,
    };
    let schema: serde_json::Value = serde_json::from_str(super::SCHEMA).unwrap();
    let keys = |at: &str| -> Vec<&str> {
        let properties = schema.pointer(at).unwrap().as_object().unwrap();
        properties.keys().map(String::as_str).collect()
    };
    assert_eq!(keys("/properties"), FILE_KEYS);
    assert_eq!(keys("/properties/trace/properties"), TRACE_KEYS);
    assert_eq!(
        keys("/properties/spans/items/properties"),
        super::parse::spans::SOURCE_KEYS
    );
    assert_eq!(keys("/$defs/aspect/properties"), ASPECT_KEYS);
    assert_eq!(keys("/$defs/type/properties"), TYPE_KEYS);
    let at = "/$defs/aspect/properties/at/properties";
    assert_eq!(keys(at), AT_KEYS);
    for (kind, known) in [
        ("call", &CALL_KEYS[..]),
        ("new", &NEW_KEYS),
        ("field-get", &FIELD_KEYS),
        ("field-set", &FIELD_KEYS),
    ] {
        assert_eq!(keys(&format!("{at}/{kind}/properties")), known);
    }
    assert_eq!(keys("/$defs/selector/properties"), SELECTOR_KEYS);
    let span = "/$defs/aspect/properties/span/anyOf/1/properties";
    assert_eq!(keys(span), super::parse::spans::SPAN_KEYS);
    let context = "/$defs/aspect/properties/context/properties";
    assert_eq!(keys(context), super::parse::spans::CONTEXT_KEYS);
    let words = |at: &str| -> Vec<&str> {
        let all = schema.pointer(at).unwrap().as_array().unwrap();
        all.iter().map(|word| word.as_str().unwrap()).collect()
    };
    let first = |list: &[(&'static str, _)]| list.iter().map(|(word, _)| *word).collect::<Vec<_>>();
    assert_eq!(
        words("/$defs/aspect/properties/advice/anyOf/0/enum"),
        first(&ADVICE_WORDS)
    );
    assert_eq!(
        words("/$defs/aspect/properties/hooks/enum"),
        first(&HOOKS_WORDS)
    );
    assert_eq!(
        words("/$defs/span-kind/enum"),
        crate::spans::KIND_WORDS.map(|(word, _)| word)
    );
    assert_eq!(
        words("/$defs/aspect/properties/mode/enum"),
        MODE_WORDS.map(|(word, _)| word)
    );
    for (key, known) in [
        ("access", ACCESS_WORDS.map(|(word, _)| word).to_vec()),
        ("type-access", ACCESS_WORDS.map(|(word, _)| word).to_vec()),
        ("kind", KIND_WORDS.map(|(word, _)| word).to_vec()),
    ] {
        let said = words(&format!("/$defs/selector/properties/{key}/anyOf/0/enum"));
        let (plain, not): (Vec<&str>, Vec<&str>) =
            said.into_iter().partition(|word| !word.starts_with('!'));
        assert_eq!(plain, known);
        assert_eq!(
            not,
            known
                .iter()
                .map(|word| format!("!{word}"))
                .collect::<Vec<_>>()
        );
    }
}

/// Continuations come and go in Kotlin's coroutines; the functions that they stand for are what is asked for.
#[test]
fn a_suspend_function_is_not_what_makes_its_continuation() {
    use crate::aspect::joinpoint::Kinds;
    let is_async = |name: &str, descriptor: &str| {
        Kinds::of_java(name, descriptor, false, false).intersects(Kinds::ASYNC)
    };
    let continuation = "Lkotlin/coroutines/Continuation;";
    assert!(is_async(
        "load",
        &format!("(I{continuation})Ljava/lang/Object;")
    ));
    assert!(!is_async("<init>", &format!("({continuation})V")));
    let create = format!("(Ljava/lang/Object;{continuation}){continuation}");
    assert!(!is_async("create", &create));
    assert!(!is_async("resumeAll", &format!("({continuation})V")));
}

#[test]
fn aspects_of_calls() {
    use crate::aspect::advice::Advice;
    let text = "version = 1
[[aspect]]
at = { call = { type = \"java.io.File\", method = [\"delete\", \"rename*\"], params = \"..\" } }
replace = \"acme.Audit.delete(target, args..)\"
";
    let rules = super::Rules::parse("weave.toml", text).unwrap();
    let aspect = &rules.aspects[0];
    assert_eq!(aspect.advice, Advice::CALLS);
    assert!(
        aspect.matches.iter().all(|selector| selector.inside),
        "everywhere"
    );
    let own = aspect.own.as_ref().unwrap();
    assert!(own.at.is_some() && own.replace.is_some() && own.has_hooks());
    let recorded = |more: &str| {
        let at = "at = { call = { type = \"A\" } }";
        let text = format!("version = 1\n[[aspect]]\n{at}\n{more}\n");
        let rules = super::Rules::parse("weave.toml", &text).unwrap();
        let own = rules.aspects[0].own.clone().unwrap();
        own.at.as_ref().unwrap().advice
    };
    assert_eq!(recorded("before = \"a.B.c()\""), Advice::default());
    assert_eq!(recorded("record = \"result?\""), Advice::ALL);
    assert_eq!(recorded("mode = \"record\""), Advice::ALL);
    let both = "advice = [\"enter\", \"exit\"]\nroot = true\nreplace = \"a.B.c()\"";
    let pair = Advice::ENTER.with(Advice::EXIT);
    assert_eq!(recorded(both), pair.with(Advice::ROOT));
    let completes = |more: &str| {
        let text = format!(
            "version = 1\n[[aspect]]\nat = {{ call = {{ type = \"A\" }} }}\nrecord = \"result\"\n{more}\n"
        );
        let rules = super::Rules::parse("weave.toml", &text).unwrap();
        let own = rules.aspects[0].own.clone().unwrap();
        own.at.as_ref().unwrap().completion
    };
    assert!(completes("") && completes("completion = true"));
    assert!(!completes("completion = false"));
}

#[test]
fn bad_aspects_of_calls() {
    let first = |aspect: &str| {
        let text = format!("version = 1\n[[aspect]]\n{aspect}\n");
        wrong(&text).lines().next().unwrap().to_owned()
    };
    let at = "at = { call = { method = \"delete\" } }";
    assert_eq!(first("at = {}\nbefore = \"a.B.c()\""), "`at` is empty");
    assert_eq!(
        first("at = { call = { params = \"int\" } }\nbefore = \"a.B.c()\""),
        "`call` names neither a type nor a method"
    );
    assert_eq!(
        first("at = { calls = {} }\nbefore = \"a.B.c()\""),
        "unknown key `calls` in `at`"
    );
    assert_eq!(first(at), "nothing is to be done at these calls");
    assert_eq!(
        first(&format!("{at}\nadvice = \"exit\"\nroot = true")),
        "`root` is about calls in the trace"
    );
    assert_eq!(
        first(&format!("{at}\nmode = \"count\"")),
        "recorded calls (`at`) cannot be counted"
    );
    assert_eq!(
        first(&format!("{at}\nbefore = \"a.B.c()\"\ncompletion = false")),
        "`completion` is about calls that are recorded"
    );
    assert_eq!(
        first(&format!("{at}\nrecord = \"result\"\ncompletion = 1")),
        "`completion` is true or false"
    );
    assert_eq!(
        first("match = { type = \"A\" }\ncompletion = true"),
        "`completion` is about spans, and about recorded calls (`at`)"
    );
    assert_eq!(
        first(&format!("{at}\nbefore = \"a.B.c()\"\nlimit = 9")),
        "`limit` is about values"
    );
    assert_eq!(
        first(&format!(
            "{at}\nbefore = \"a.B.c()\"\nreplace = \"a.B.c()\""
        )),
        "`replace` excludes `before` and `after`"
    );
    assert_eq!(
        first(&format!("{at}\nreplace = \"a.B.c()\"\nguard = false")),
        "a replaced call has no guard: what the hook throws is what the call throws"
    );
    assert_eq!(
        first(&format!(
            "{at}\nbefore = \"a.B.c()\"\naround = \"a.B.c(proceed)\""
        )),
        "`around` is about whole methods"
    );
    assert_eq!(
        first(&format!("{at}\nreplace = [\"a.B.c()\"]")),
        "`replace` is one call, a string"
    );
    assert_eq!(
        first(&format!("{at}\nenter = \"a.B.c()\"\nbefore = \"a.B.c()\"")),
        "`enter` is about whole methods"
    );
    assert_eq!(
        first(&format!("{at}\nbefore = \"c()\"")),
        "bad call in `before`"
    );
    assert_eq!(
        first("match = { type = \"A\" }\nbefore = \"a.B.c()\""),
        "`before` is about points inside methods"
    );
    assert_eq!(
        first("match = { type = \"A\" }\nenter = \"a.B.c(args..?)\""),
        "bad call in `enter`"
    );
}

#[test]
fn hooks_change_only_what_there_is_when_they_run() {
    let first = |hook: &str| {
        let text = format!("version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\n{hook}\n");
        wrong(&text).lines().next().unwrap().to_owned()
    };
    assert_eq!(
        first("exit = \"arg(0) = a.B.c()\""),
        "only `enter` can change an argument"
    );
    assert_eq!(
        first("enter = \"result = a.B.c()\""),
        "`result` has no value at enter"
    );
    assert_eq!(
        first("exit = \"throw a.B.c()\""),
        "only `exception` can replace an exception"
    );
    assert_eq!(
        first("exit = \"return a.B.c() unless null\""),
        "only `enter` can skip the body"
    );
    assert_eq!(
        first("exception = \"skip when a.B.c()\""),
        "only `enter` can skip the body"
    );
    assert_eq!(
        first("exception = [\"result = a.B.c()\", \"a.B.d()\"]"),
        "the exception has ended here"
    );
    let at = "at = { call = { type = \"A\" } }";
    let text = format!("version = 1\n[[aspect]]\n{at}\nbefore = \"arg(0) = a.B.c()\"\n");
    assert!(wrong(&text).starts_with("hooks at points change nothing yet"));
}

#[test]
fn points_are_of_one_kind_and_have_what_that_has() {
    let first = |aspect: &str| {
        let text = format!("version = 1\n[[aspect]]\n{aspect}\n");
        wrong(&text).lines().next().unwrap().to_owned()
    };
    let with = |at: &str, rest: &str| first(&format!("at = {{ {at} }}\n{rest}"));
    let hook = "before = \"a.B.c()\"";
    for (at, said) in [
        ("line = 0", "there is no such line"),
        ("line = \"7\"", "`line` is a number, or true"),
        ("monitor-enter = false", "`monitor-enter` is true"),
        (
            "throw = \"java.io.*\"",
            "`throw` is the full name of a type",
        ),
        ("throw = 1", "`throw` is the full name of a type"),
        ("catch = 1", "`catch` is a string or a list of strings"),
        ("new = {}", "`new` names no type"),
        ("new = \"A\"", "`new` is a table of `type`, `params`"),
        (
            "field-get = {}",
            "`field-get` names neither a type nor a field",
        ),
        (
            "field-set = { name = \"b\", method = \"a\" }",
            "unknown key `method` in `field-set`",
        ),
        (
            "new = { type = \"A\", name = \"a\" }",
            "unknown key `name` in `new`",
        ),
        ("line = 1, throw = \"A\"", "`at` names two kinds of points"),
    ] {
        assert_eq!(with(at, hook), said, "{at}");
    }
    let after = "after = \"a.B.c()\"";
    let replace = "replace = \"a.B.c()\"";
    for (at, rest, said) in [
        (
            "line = 1",
            after,
            "a hook cannot run after a point of `line`",
        ),
        (
            "catch = \"A\"",
            after,
            "a hook cannot run after a point of `catch`",
        ),
        (
            "monitor-exit = true",
            replace,
            "a hook cannot replace a point of `monitor-exit`",
        ),
        ("line = 1", "", "nothing is to be done at these points"),
        ("line = 1", "advice = \"enter\"", "`advice` is about calls"),
        (
            "new = { type = \"A\" }",
            "record = \"result\"",
            "`record` is about calls",
        ),
        (
            "new = { type = \"A\" }",
            "replace = \"a.B.c()\"\nguard = false",
            "a replacement has no guard: what the hook throws reaches the program",
        ),
    ] {
        assert_eq!(with(at, rest), said, "{at} {rest}");
    }
}

#[test]
fn contexts_go_with_objects() {
    let rules = Rules::parse(
        "weave.toml",
        r##"version = 1

            [[aspect]]
            name = "sent"
            at = { call = { type = "Queue", method = "put" } }
            context = { give = "arg(0)" }

            [[aspect]]
            name = "taken"
            at = { call = { type = "Queue", method = "take" } }
            context = { take = "result" }

            [[aspect]]
            name = "batch"
            match = { type = "A" }
            span = "consumer"
            context = { extract = "arg(0).header(name)", take = "arg(0)", link = true }
        "##,
    );
    let rules = rules.unwrap();
    let own = |n: usize| rules.aspects[n].own.as_deref().unwrap();
    assert_eq!(&*own(0).given().unwrap().name, "arg(0)");
    assert_eq!(&*own(1).taken().unwrap().name, "result");
    let frame = |n: usize| own(n).at.as_ref().unwrap().frame.as_deref();
    assert!(frame(0).is_none(), "nothing is taken");
    let frame = frame(1).unwrap();
    assert_eq!(frame.dotnet.exit.len(), 1);
    assert_eq!(frame.dotnet.enter[0].call.ty, "Weave.Runtime.Queued");
    let frame = &frame.java;
    assert_eq!(
        [&frame.enter, &frame.exit, &frame.exception].map(Vec::len),
        [1; 3]
    );
    assert!(own(2).links() && !own(1).links());

    assert_snapshot!(wrong(r##"
version = 1

[[aspect]]
name = "nothing comes in"
match = { type = "A" }
span = "consumer"
context = { give = "arg(0)", link = true }

[[aspect]]
name = "at a call"
at = { call = { type = "Queue", method = "take" } }
span = "client"
context = { take = "result", link = true }

[[aspect]]
name = "no span"
match = { type = "A" }
context = { take = "arg(0)", link = true }

[[aspect]]
name = "two parents"
match = { type = "A" }
span = "consumer"
context = { take = "arg(0)", extract = "arg(0).header(name)" }

[[aspect]]
name = "more hooks"
match = { type = "A" }
enter = "acme.Hooks.enter()"
context = { take = "arg(0)" }

[[aspect]]
name = "no word"
match = { type = "A" }
span = "consumer"
context = { take = "arg(0)", link = "yes" }
"##), @r#"
    the link has no source
     --> weave.toml:8:30
      |
    8 | context = { give = "arg(0)", link = true }
      |                              ^^^^ `link` means nothing here
      |
      = help: `extract = "arg(0).getHeader(name)"`, or `take = "arg(0)"`

    error: a context that is taken at a call cannot be a link
      --> weave.toml:14:30
       |
    14 | context = { take = "result", link = true }
       |                              ^^^^ `link` means nothing here
       |
       = help: use `take` in a rule for a method (`match`)

    error: only a span can have links, and the aspect has none
      --> weave.toml:19:30
       |
    19 | context = { take = "arg(0)", link = true }
       |                              ^^^^ `link` means nothing here
       |
       = help: `span = "consumer"`

    error: a span has one parent
      --> weave.toml:25:21
       |
    25 | context = { take = "arg(0)", extract = "arg(0).header(name)" }
       |                     ^^^^^^ `extract` names it already
       |
       = help: with `link = true` both are links

    error: an aspect that takes a context has no other hooks around the method
      --> weave.toml:31:21
       |
    31 | context = { take = "arg(0)" }
       |                     ^^^^^^ put them into another aspect

    error: `link` is true or false
      --> weave.toml:37:37
       |
    37 | context = { take = "arg(0)", link = "yes" }
       |                                     ^^^^^ expected true or false, found a string
    "#);
}

#[test]
fn spans_and_contexts() {
    use crate::spans::Kind;
    let rules = Rules::parse(
        "pack:web",
        r#"
            version = 1

            [[aspect]]
            match = { type = "Server", method = "service" }
            span = { kind = "server", name = "{http.request.method} {http.route}", once = "http server", error = "http.response.status_code >= 500" }
            context = { extract = "acme.Carrier.get(arg(0), name)" }
            record = ["http.request.method = arg(0)"]

            [[aspect]]
            match = { type = "Db" }
            span = "client"

            [[aspect]]
            match = { type = "Router", method = "route" }
            entry = "http.route = result"

            [[aspect]]
            at = { call = { type = "Client", method = "send" } }
            span = { kind = "client", when = "!result" }
            record = ["result"]
            context = { inject = "arg(0) = acme.Carrier.with(arg(0), name, value)", handover = ["arg(1)", "arg(0)?", "args"] }
        "#,
    )
    .unwrap();
    let [server, db, route, client] = &*rules.aspects else {
        panic!("{}", rules.aspects.len());
    };
    let span = server.span.as_ref().unwrap();
    assert_eq!(
        (span.kind, &*span.once, &*span.scope),
        (Kind::Server, "http server", "pack:web")
    );
    assert!(server.advice.has(Advice::ALL.with(Advice::ROOT)));
    assert!(server.is_switchable() && server.matches[0].takes_trivial);
    let own = |aspect: &Aspect| aspect.own.clone().unwrap();
    let extract = own(server)
        .context
        .as_ref()
        .unwrap()
        .extract
        .clone()
        .unwrap();
    assert_eq!(extract.value.operands().len(), 2);
    assert_eq!(db.span.as_ref().unwrap().kind, Kind::Client);
    assert!(db.own.is_none() && db.advice.has(Advice::ALL));
    // It gives values to another span, and is recorded itself by other rules alone.
    assert_eq!((route.advice, own(route).entry.len()), (Advice::OWN, 1));
    assert!(route.span.is_none());
    let client = own(client);
    let at = client.at.as_ref().unwrap();
    assert_eq!(&*at.traced.as_ref().unwrap().scope, "pack:web");
    assert!(at.advice.has(Advice::ALL.with(Advice::ROOT)));
    let handed = client.handed().unwrap();
    assert_eq!(
        (&*handed.args, handed.all),
        (&[(1, false), (0, true)][..], true)
    );
    assert_eq!(client.context.as_ref().unwrap().inject.len(), 1);
}

/// What sends a context needs no span, may be several calls, and knows `this.add(..)` from a static method.
#[test]
fn contexts_are_sent_without_a_span() {
    let rules = Rules::parse(
        "kafka.toml",
        r#"
            version = 1

            [[aspect]]
            match = { type = "Headers", method = "list" }
            context = { inject = ["this.remove(name)", "this.add(name, bytes)", "acme.Seen.add(name, value)"] }
        "#,
    )
    .unwrap();
    let aspect = &rules.aspects[0];
    let own = aspect.own.as_ref().unwrap();
    assert!(aspect.span.is_none() && own.has_hooks() && own.sends());
    let context = own.context.as_ref().unwrap();
    let chains = (context.inject.iter()).map(|inject| matches!(inject, Inject::Chain(_)));
    assert_eq!(chains.collect::<Vec<_>>(), [true, true, false]);
    let taken = |word| context.inject.iter().filter(|i| i.takes(word)).count();
    assert_eq!([taken("name"), taken("bytes"), taken("value")], [3, 1, 1]);
    let parse = |inject: &str| {
        let text = format!(
            "version = 1\n[[aspect]]\nmatch = {{ type = \"A\" }}\ncontext = {{ inject = {inject} }}"
        );
        Rules::parse("weave.toml", &text)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let wrong = parse(r#"["this.clear()", "this.add(name, bytes)"]"#);
    assert!(
        wrong.contains("nothing says which header is sent"),
        "{wrong}"
    );
    assert!(parse(r#"["this.remove(name)"]"#).contains("or `name` and `bytes`"));
}

/// Sources of activities are asked for where the program begins.
#[test]
fn spans_of_libraries() {
    let rules = Rules::parse(
        "net.toml",
        "version = 1\n[[spans]]\nsource = [\"Npgsql\", \"RabbitMQ.Client.*\"]\nnot = \"Experimental.*\"\n",
    )
    .unwrap();
    let [listens] = &*rules.aspects else {
        panic!("{}", rules.aspects.len());
    };
    let [hook] = &*listens.own.as_ref().unwrap().enter else {
        panic!("one hook");
    };
    assert_eq!(
        (&*hook.call.ty, &*hook.call.method),
        ("Weave.Runtime.Activities", "Listen")
    );
    let operands = format!("{:?}", hook.call.operands);
    assert!(
        operands.contains("\"!Experimental.*,Npgsql,RabbitMQ.Client.*\""),
        "{operands}"
    );
    let said = wrong(
        "version = 1\n[[spans]]\nsource = [\"a*b\", \"it's\"]\nkind = \"x\"\n[[spans]]\nnot = \"x\"\n",
    );
    for (title, times) in [
        ("this is no name of a source", 2),
        ("unknown key `kind` in `spans`", 1),
        ("the spans have no `source`", 1),
    ] {
        assert_eq!(said.matches(title).count(), times, "{said}");
    }
}

#[test]
fn spans_that_say_nothing_right() {
    assert_snapshot!(wrong(r##"version = 1

[[aspect]]
name = "kind"
match = { type = "A" }
span = "servr"

[[aspect]]
name = "table"
match = { type = "A" }
span = { name = "{a", error = "status => 500", title = "x" }

[[aspect]]
name = "values"
match = { type = "A" }
span = { kind = "client", name = "{sql} {db.name}", when = "found" }
record = "sql = arg(0)"

[[aspect]]
name = "counted"
match = { type = "A" }
span = "internal"
mode = "count"

[[aspect]]
name = "half"
match = { type = "A" }
span = "internal"
advice = "enter"

[[aspect]]
name = "context"
match = { type = "A" }
context = { extract = "acme.Carrier.get(arg(0))", inject = "acme.Carrier.set(arg(0), name)", handover = "this", tape = "result" }

[[aspect]]
name = "handover"
match = { type = "A" }
context = { handover = "arg(0)" }

[[aspect]]
name = "kept"
match = { type = "A" }
span = "server"
context = { while = "arg(0).isAsync()", inject = "arg(0).setHeader(name, 3)" }
"##), @r#"
    unknown kind of spans `servr`
     --> weave.toml:6:8
      |
    6 | span = "servr"
      |        ^^^^^^^ did you mean `server`?
      |
      = help: expected `internal`, `server`, `client`, `producer` or `consumer`

    error: the span has no `kind`
      --> weave.toml:11:8
       |
    11 | span = { name = "{a", error = "status => 500", title = "x" }
       |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ expected one of the kinds
       |
       = help: `kind = "server"`, `client`, `producer`, `consumer` or `internal`

    error: `name` cannot be read
      --> weave.toml:11:17
       |
    11 | span = { name = "{a", error = "status => 500", title = "x" }
       |                 ^^^^ `{` is not closed
       |
       = help: `name = "{http.request.method} {http.route}"`

    error: `error` cannot be read
      --> weave.toml:11:31
       |
    11 | span = { name = "{a", error = "status => 500", title = "x" }
       |                               ^^^^^^^^^^^^^^^ expected the name of a recorded value, an operator and a constant
       |
       = help: `error = "http.response.status_code >= 500"`

    error: unknown key `title` in `span`
      --> weave.toml:11:48
       |
    11 | span = { name = "{a", error = "status => 500", title = "x" }
       |                                                ^^^^^ did you mean `name`?
       |
       = help: expected `kind`, `name`, `once`, `error` or `when`

    error: the aspect records no value `found`
      --> weave.toml:16:61
       |
    16 | span = { kind = "client", name = "{sql} {db.name}", when = "found" }
       |                                                             ^^^^^ expected the name of a value
       |
       = help: `record = ["found = arg(0)"]`

    error: a span is recorded whole: `mode` does not go with `span`
      --> weave.toml:23:1
       |
    23 | mode = "count"
       | ^^^^ leave out `mode`, or `span`

    error: a span has a beginning and an end
      --> weave.toml:28:1
       |
    28 | span = "internal"
       | ^^^^ leave out `advice` and `hooks`, or `span`

    error: nothing says which header is read
      --> weave.toml:34:24
       |
    34 | context = { extract = "acme.Carrier.get(arg(0))", inject = "acme.Carrier.set(arg(0), name)", handover = "this", tape = "result" }
       |                        ^^^^^^^^^^^^^^^^^^^^^^^^ expected the word `name`
       |
       = help: `extract = "acme.Carrier.header(arg(0), name)"`

    error: nothing says which header is sent
      --> weave.toml:34:61
       |
    34 | context = { extract = "acme.Carrier.get(arg(0))", inject = "acme.Carrier.set(arg(0), name)", handover = "this", tape = "result" }
       |                                                             ^^^^^^^^^^^^^^^^ expected the words `name` and `value`, or `name` and `bytes`
       |
       = help: `inject = "acme.Carrier.send(arg(0), name, value)"`

    error: this is not handed over
      --> weave.toml:34:105
       |
    34 | context = { extract = "acme.Carrier.get(arg(0))", inject = "acme.Carrier.set(arg(0), name)", handover = "this", tape = "result" }
       |                                                                                                         ^^^^^^ expected arguments
       |
       = help: `arg(0)`, a list of them, or `args` for all that can be

    error: unknown key `tape` in `context`
      --> weave.toml:34:113
       |
    34 | context = { extract = "acme.Carrier.get(arg(0))", inject = "acme.Carrier.set(arg(0), name)", handover = "this", tape = "result" }
       |                                                                                                                 ^^^^ did you mean `take`?
       |
       = help: expected `extract`, `inject`, `handover`, `keep`, `while`, `give`, `take` or `link`

    error: `handover` is about calls
      --> weave.toml:39:24
       |
    39 | context = { handover = "arg(0)" }
       |                        ^^^^^^^^ the aspect names none: `at`
       |
       = help: `at = { call = { extends = "java.util.concurrent.Executor", method = "execute" } }`

    error: nothing says which object keeps the span
      --> weave.toml:45:22
       |
    45 | context = { while = "arg(0).isAsync()", inject = "arg(0).setHeader(name, 3)" }
       |                      ^^^^^^^^^^^^^^^^ `while` goes with `keep`
       |
       = help: `keep = "arg(0)"`

    error: nothing says which header is sent
      --> weave.toml:45:51
       |
    45 | context = { while = "arg(0).isAsync()", inject = "arg(0).setHeader(name, 3)" }
       |                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^ expected the words `name` and `value`, or `name` and `bytes`
       |
       = help: `inject = "acme.Carrier.send(arg(0), name, value)"`
    "#);
}
