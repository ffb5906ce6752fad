//! AspectJ's `aop.xml`: concrete aspects with pointcuts, and what the weaver includes and excludes.

use super::draft::{Draft, Point, Table};
use super::xml::{self, Tag};
use super::{Sink, Wrong, pointcut};
use std::collections::{BTreeMap, BTreeSet};

/// A pointcut of a concrete aspect.
struct Named {
    aspect: String,
    name: String,
    expression: String,
    line: u32,
    /// Advice in XML: the element, and the method that it calls.
    advice: Option<(&'static str, Invoked)>,
}

/// A method that advice calls: its class, its name and its parameters, `placing(String name)`.
struct Invoked {
    class: String,
    method: String,
}

pub fn read(text: &str, sink: &mut Sink) -> Result<(), Wrong> {
    let tags = xml::tags(text)?;
    let Declared {
        pointcuts,
        include,
        exclude,
        ..
    } = declared(&tags, sink)?;
    if tags.iter().all(|tag| tag.name != "aspectj") {
        sink.lost(1, "there is no <aspectj> element");
    }
    let leaves = leaves(&include, exclude);
    let mut said = Vec::new();
    let mut used = BTreeSet::new();
    for pointcut in &pointcuts {
        let others = pointcuts.iter().filter(|p| p.aspect == pointcut.aspect);
        let others: BTreeMap<_, _> = others
            .map(|p| (p.name.clone(), p.expression.clone()))
            .collect();
        match pointcut::say(&pointcut.expression, &others) {
            Ok(one) => {
                let aspect = &pointcut.aspect;
                used.extend(one.used.iter().map(|name| (aspect.clone(), name.clone())));
                said.push((pointcut, one));
            }
            Err(why) => sink.lost(pointcut.line, why),
        }
    }
    for (pointcut, one) in said {
        // Which pointcuts have advice is said in code: one that others are made of has most likely none.
        if used.contains(&(pointcut.aspect.clone(), pointcut.name.clone())) {
            let text = format!(
                "`{}` is part of others, and no rule of its own",
                pointcut.name
            );
            sink.told(pointcut.line, text);
            continue;
        }
        for text in one.told {
            sink.told(pointcut.line, text);
        }
        for mut draft in one.drafts {
            draft.name = format!("{}.{}", pointcut.aspect, pointcut.name);
            draft.line = pointcut.line;
            draft.excludes.extend(leaves.iter().cloned());
            if let Some((element, invoked)) = &pointcut.advice {
                let told = advised(element, invoked, &one.bound, &mut draft);
                sink.told(pointcut.line, told);
            }
            let is_point = draft.at.as_ref().is_some_and(|point| !point.is_call());
            if is_point && draft.hooks.is_empty() {
                let text = "fields, new objects and handlers are not recorded: a rule has a hook of its own there (`at`)";
                sink.lost(pointcut.line, text);
                continue;
            }
            sink.drafts.push(draft);
        }
    }
    Ok(())
}

/// What a file declares.
#[derive(Default)]
struct Declared {
    /// The name of the aspect that is read.
    aspect: String,
    pointcuts: Vec<Named>,
    include: Vec<Table>,
    exclude: Vec<Table>,
}

fn declared(tags: &[Tag], sink: &mut Sink) -> Result<Declared, Wrong> {
    let mut path: Vec<&str> = Vec::new();
    let mut declared = Declared::default();
    for tag in tags {
        if tag.opens {
            declared.element(path.last().copied(), tag, sink);
        }
        match (tag.opens, tag.closes) {
            (true, false) => path.push(tag.name),
            (false, true) if path.pop() != Some(tag.name) => {
                return Err(Wrong {
                    line: tag.line,
                    what: format!("</{}> closes no element", tag.name),
                });
            }
            _ => {}
        }
    }
    Ok(declared)
}

impl Declared {
    fn element(&mut self, parent: Option<&str>, tag: &Tag, sink: &mut Sink) {
        match (parent, tag.name) {
            (Some("aspects"), "concrete-aspect") => {
                self.aspect = tag.attribute("name").unwrap_or_default().to_owned();
                if tag.closes {
                    let text = format!("aspect {} has no pointcut here", self.aspect);
                    sink.lost(tag.line, text);
                }
            }
            (Some("aspects"), "aspect") => {
                let name = tag.attribute("name").unwrap_or("without a name");
                let text = format!("aspect {name}: its pointcuts are in its code");
                sink.lost(tag.line, text);
            }
            (Some("concrete-aspect"), "pointcut") => self.pointcuts.push(named(tag, &self.aspect)),
            (Some("concrete-aspect"), name @ ("before" | "after" | "around")) => {
                let text = |key| expression(tag.attribute(key));
                let invoked = Invoked {
                    class: text("invokeClass"),
                    method: text("invokeMethod"),
                };
                let element = match name {
                    "before" => "before",
                    "after" => "after",
                    _ => "around",
                };
                self.pointcuts.push(Named {
                    name: name.to_owned(),
                    expression: text("pointcut"),
                    advice: Some((element, invoked)),
                    ..named(tag, &self.aspect)
                });
            }
            (Some("weaver"), "include") => within(tag, &mut self.include, sink),
            (Some("weaver"), "exclude") => within(tag, &mut self.exclude, sink),
            (Some("aspects"), "include" | "exclude") => {
                let text = format!("`{}` chooses among aspects of other files", tag.name);
                sink.told(tag.line, text);
            }
            (Some("concrete-aspect"), other) => {
                sink.lost(tag.line, format!("`{other}` cannot be said by a rule"));
            }
            _ => {}
        }
    }
}

/// Turns an advice element of `aop.xml` into hooks of the rule, or into recorded calls. Returns the note for the user.
fn advised(
    element: &str,
    invoked: &Invoked,
    bound: &BTreeMap<String, String>,
    draft: &mut Draft,
) -> String {
    match hooks(element, invoked, bound, draft.at.as_ref()) {
        Ok(hooks) => {
            draft.hooks = hooks;
            format!(
                "`{}` is a hook: weave looks for it in the input, and in the files of `[[library]]`",
                invoked.class
            )
        }
        Err(why) if draft.at.as_ref().is_some_and(|point| !point.is_call()) => {
            format!("the method that `{element}` calls is not imported ({why})")
        }
        Err(why) => {
            draft.advice = advice(element);
            format!(
                "the method that `{element}` calls is not imported ({why}): calls are recorded instead"
            )
        }
    }
}

/// A pointcut's attributes.
fn named(tag: &Tag, aspect: &str) -> Named {
    let text = |key| tag.attribute(key).unwrap_or_default().trim().to_owned();
    Named {
        aspect: aspect.to_owned(),
        name: text("name").trim_end_matches("()").to_owned(),
        expression: expression(tag.attribute("expression")),
        line: tag.line,
        advice: None,
    }
}

/// The keys and calls of the hooks that advice in XML is; `bound` are the names of its pointcut.
fn hooks(
    element: &str,
    invoked: &Invoked,
    bound: &BTreeMap<String, String>,
    at: Option<&Point>,
) -> Result<Vec<(&'static str, String)>, String> {
    let kind = at.map(|point| point.kind);
    let keys: &[&str] = match (element, kind) {
        ("before", None) => &["enter"],
        ("before", Some(_)) => &["before"],
        ("after", None) => &["exit", "exception"],
        (_, Some("catch")) => return Err("no hook runs behind a handler".to_owned()),
        // What is thrown there reaches no hook.
        ("after", Some(_)) => &["after"],
        _ => return Err("no hook proceeds".to_owned()),
    };
    let method = invoked.method.trim();
    let (name, params) = method.split_once('(').unwrap_or((method, ")"));
    let params = params.trim_end().strip_suffix(')').unwrap_or(params).trim();
    let mut operands = Vec::new();
    for param in params.split(',').filter(|_| !params.is_empty()) {
        let (ty, name) = param.trim().rsplit_once(' ').unwrap_or((param.trim(), ""));
        operands.push(match bound.get(name).map(String::as_str) {
            Some("this") if kind == Some("call") => return Err(format!("`{name}` is the caller")),
            Some("target") if kind.is_none() => "this",
            Some("arg(0)") if kind == Some("field-set") => "value",
            Some("arg(0)") if kind == Some("catch") => "exception",
            Some(operand) => operand,
            None => return Err(format!("no operand is a `{ty}`")),
        });
    }
    let call = format!("{}.{}({})", invoked.class, name.trim(), operands.join(", "));
    Ok(keys.iter().map(|key| (*key, call.clone())).collect())
}

/// When the calls of advice in XML are recorded.
fn advice(element: &str) -> Vec<&'static str> {
    match element {
        "before" => vec!["enter"],
        "after" => vec!["exit", "exception"],
        _ => vec![],
    }
}

/// A pointcut as XML has it: in one line, with `AND` for what would have to be escaped.
fn expression(text: Option<&str>) -> String {
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    words.join(" ").replace(" AND ", " && ")
}

/// The types that `<include within="..">` or `<exclude within="..">` names.
fn within(tag: &Tag, to: &mut Vec<Table>, sink: &mut Sink) {
    let Some(text) = tag.attribute("within") else {
        return;
    };
    let text = expression(Some(text));
    match pointcut::say(&format!("within({text})"), &BTreeMap::new()) {
        Ok(said) => {
            for text in said.told {
                sink.told(tag.line, text);
            }
            to.extend(said.drafts.into_iter().flat_map(|draft| draft.matches));
        }
        Err(why) => sink.lost(tag.line, why),
    }
}

/// What every rule excludes: the excluded types, and types that are not included.
fn leaves(include: &[Table], exclude: Vec<Table>) -> Vec<Table> {
    let mut all = exclude;
    let mut wanted = Vec::new();
    for table in include {
        match &table.0[..] {
            [("type", super::draft::Value::One(pattern))] if !pattern.starts_with('!') => {
                wanted.push(format!("!{pattern}"));
            }
            // The rest of the included can be of any type: nothing can be left out for it.
            _ => return all,
        }
    }
    if !wanted.is_empty() {
        all.push(Table::default().with_list("type", wanted));
    }
    all
}
