//! The results of an artifact of many types: symbols, which any thread packs, and what the outcome reports.

use crate::aspect::advice::Advice;
use crate::aspect::bind::call::Bound;
use crate::aspect::bind::site::Redirect;
use crate::aspect::plan::{Plan, Redirected, RootId, SwitchedId};
use crate::aspect::woven::WovenType;
use crate::pipeline::ledger::touched::{Touched, TouchedCall, complete};
use crate::symbols::Writer;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The records of some types. Names take more memory than code, so only names that the outcome reports are kept.
#[derive(Default)]
pub(crate) struct Records {
    /// Of the methods that got hooks.
    pub(crate) symbols: Writer,
    /// The types with such methods, by number; once complete, each once.
    pub(crate) classes: Vec<u32>,
    /// How many such methods there are.
    pub(crate) methods: u64,
    /// Calls are redirected; how many of them [`Records::touched`] does not list.
    pub(crate) redirects: bool,
    /// Some of them are recorded, and have symbols.
    pub(crate) records_calls: bool,
    pub(crate) calls: u64,
    /// The same of points.
    pub(crate) points: u64,
    /// The types that the outcome reports, ascending.
    pub(crate) touched: Vec<Touched>,
}

impl Records {
    /// The records of an artifact, or, if it is not named, of a later part of one, of about so many methods, which are
    /// numbered or not.
    pub(crate) fn begin(artifact: Option<&str>, methods: usize, numbered: bool) -> Records {
        // What a method takes in most programs.
        let usual = if numbered { 16 } else { 64 };
        let mut records = Records::default();
        records.symbols.reserve(methods * usual);
        if let Some(artifact) = artifact {
            records.symbols.artifact(artifact);
        }
        records
    }

    /// Records a woven type; `explain` keeps it in any case.
    pub(crate) fn add(&mut self, ty: &mut WovenType, explain: bool) {
        let methods = ty.methods().len() + ty.numbered().len();
        if methods > 0 {
            self.classes.push(ty.ty);
            self.methods += methods as u64;
            self.symbols.ty(ty.name(), ty.file());
            for m in ty.methods() {
                self.symbols.method(m.id, m.name, m.descriptor, m.line);
            }
            for row in ty.numbered().chunk_by(|a, b| b.id == a.id.wrapping_add(1)) {
                let methods = row.iter().map(|m| [m.name, m.descriptor, m.line]);
                self.symbols.numbered_methods(row[0].id, methods);
            }
        }
        if explain || !ty.left.is_empty() {
            self.touched.push(Touched::new(std::mem::take(ty), vec![]));
        }
    }

    /// Adds the records of other methods, partly of types that there are already.
    pub(crate) fn append(&mut self, mut other: Records) {
        self.symbols.append(&mut other.symbols);
        self.methods += other.methods;
        self.classes.append(&mut other.classes);
        for touched in other.touched {
            let number = touched.woven.ty;
            let place = (self.touched).binary_search_by_key(&number, |other| other.woven.ty);
            match place {
                Ok(place) => self.touched[place].woven.merge(touched.woven),
                Err(place) => self.touched.insert(place, touched),
            }
        }
    }

    /// Adds the names of the values that methods record.
    pub(crate) fn add_values(&mut self, values: FxHashMap<u32, Arc<Bound>>) {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_unstable_by_key(|(id, _)| *id);
        for (id, bound) in values {
            self.symbols.values(id, &bound.values);
        }
    }

    /// Adds which methods' calls begin a trace.
    pub(crate) fn add_roots(&mut self, ids: &[RootId]) {
        for root in ids {
            add_root(&mut self.symbols, root);
        }
    }

    /// Adds which methods can be switched.
    pub(crate) fn add_switched(&mut self, ids: &[SwitchedId]) {
        for switched in ids {
            self.symbols.switched(switched.id, &switched.switches);
        }
    }

    /// Adds the names of the calls that a plan records.
    pub(crate) fn add_calls(&mut self, plan: &Plan) {
        let mut there = FxHashSet::default();
        for call in &plan.calls {
            let id = plan.call_id(call.redirect);
            if id != 0 && there.insert(id) {
                if !self.records_calls {
                    // What is called lies elsewhere.
                    self.symbols.artifact("");
                }
                let redirect = &plan.redirects[call.redirect as usize];
                add_call(&mut self.symbols, id, redirect);
                self.records_calls = true;
            }
        }
    }

    /// Adds the redirected calls of a plan: those of types that are listed, and how many there are else.
    pub(crate) fn note_calls(&mut self, plan: &Plan, listed: Vec<(WovenType, Vec<TouchedCall>)>) {
        self.redirects = !plan.calls.is_empty();
        self.classes.extend(plan.calls.iter().map(|call| call.ty));
        if listed.is_empty() {
            let is_point =
                |call: &&Redirected| plan.redirects[call.redirect as usize].placed().is_some();
            self.points = plan.calls.iter().filter(is_point).count() as u64;
            self.calls = plan.calls.len() as u64 - self.points;
        }
        for (ty, calls) in listed {
            let number = ty.ty;
            let place = (self.touched).binary_search_by_key(&number, |other| other.woven.ty);
            let place = place.unwrap_or_else(|place| {
                self.touched.insert(place, Touched::new(ty, vec![]));
                place
            });
            self.touched[place].calls = calls;
        }
    }

    /// All there is: adds what the plan left out, and, when explaining, the advice of what was woven.
    pub(crate) fn complete(&mut self, plan: Plan, explain: bool) {
        self.classes.sort_unstable();
        self.classes.dedup();
        complete(&mut self.touched, plan, explain);
    }
}

/// Adds what the id of a recorded call stands for: the method that is called, wherever that is.
pub(crate) fn add_call(symbols: &mut Writer, id: u32, redirect: &Redirect) {
    let Some(recorded) = redirect.recorded() else {
        return;
    };
    let callee = recorded.callee.as_deref();
    symbols.ty(callee.ty, "");
    symbols.method(id, callee.name, callee.descriptor, 0);
    if let Some(bound) = redirect.bound().filter(|bound| !bound.values.is_empty()) {
        symbols.values(id, &bound.values);
    }
    if recorded.advice.has(Advice::ROOT) {
        let span = recorded.span.clone();
        add_root(symbols, &RootId { id, span });
    }
}

/// Adds that calls of a method begin a trace, and what a rule says of them as spans.
pub(crate) fn add_root(symbols: &mut Writer, root: &RootId) {
    symbols.root(root.id);
    if let Some(rule) = &root.span {
        symbols.span(root.id, rule);
    }
}
