#[path = "support/own_hooks.rs"]
mod own_hooks;
#[path = "../src/aspect/everything.rs"]
mod everything;
use weave::internals::aspect::{advice, joinpoint, plan};
use weave::internals::aspect::advice::Advice;
use weave::internals::jvm::{Class, Scratch, scan, weave, adapter};
use std::sync::Arc;
use std::collections::{BTreeMap, HashMap};

struct Signatures(HashMap<u32, weave::internals::aspect::bind::ty::Signature>);
impl joinpoint::Visitor for Signatures {
    fn enter_type(&mut self, _: &joinpoint::Type<'_>) -> bool { true }
    fn method(&mut self, index: u32, m: &joinpoint::Method<'_>) {
        self.0.insert(index, m.details.signature().unwrap());
    }
}

#[test]
fn jar() {
    let dir = std::path::PathBuf::from(std::env::var("OWN_IN").unwrap());
    let out = std::path::PathBuf::from(std::env::var("OWN_OUT").unwrap());
    let mode = std::env::var("OWN_MODE").unwrap();
    let mut left: BTreeMap<String, u32> = BTreeMap::new();
    let (mut n, mut classes) = (0, 0);
    let mut adapters = BTreeMap::new();
    let mut stack = vec![dir.clone()];
    let mut scratch = Scratch::default();
    while let Some(d) = stack.pop() {
        for e in std::fs::read_dir(d).unwrap() {
            let p = e.unwrap().path();
            if p.is_dir() { stack.push(p); continue; }
            let target = out.join(p.strip_prefix(&dir).unwrap());
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            let bytes = std::fs::read(&p).unwrap();
            if p.extension().is_none_or(|e| e != "class") || p.ends_with("module-info.class") { std::fs::write(target, bytes).unwrap(); continue; }
            let class = Class::parse(&bytes).unwrap();
            let advice = if mode.contains("pair") { Advice::ALL.with(Advice::OWN) } else { Advice::OWN };
            let advice = if mode.contains("section") { advice.with(Advice::SECTION) } else { advice };
            let mut plan = everything::everything(advice, |_, i, _| Some(0x5eed_0000 + i), |v| scan(&class, v).unwrap());
            let mut s = Signatures(HashMap::new());
            scan(&class, &mut s).unwrap();
            for m in &mut plan.methods {
                let style = own_hooks::Style { guarded: if mode.contains("direct") { None } else { Some(mode.contains("recursion")) }, keeps: !mode.contains("drop") };
                let bound = own_hooks::everything(&s.0[&m.index], style);
                for c in bound.enter.iter().chain(&bound.exit).chain(&bound.exception) {
                    if let Some(a) = &c.adapter { adapters.entry(a.class.to_string()).or_insert_with(|| adapter(&c.hook, a)); }
                }
                m.bound = Some(plan.bound.len() as u32);
                plan.bound.push(Arc::new(bound));
            }
            let woven = weave(&class, &plan, &mut scratch).unwrap_or_else(|e| panic!("{p:?} {e}"));
            for l in &woven.ty.left { *left.entry(format!("{:?}", l.reason)).or_default() += 1; if !matches!(l.reason, advice::Reason::NoBody) { println!("{p:?} {} {:?}", l.method, l.reason); } }
            n += woven.ty.methods().len();
            classes += 1;
            std::fs::write(target, woven.bytes.unwrap_or(bytes)).unwrap();
        }
    }
    for (name, bytes) in adapters {
        let target = out.join(format!("{name}.class"));
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, bytes).unwrap();
    }
    println!("{classes} classes, {n} methods woven, left {left:?}");
}
