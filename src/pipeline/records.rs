//! What came of an artifact of many types: symbols, which any thread packs, and what is to be told.

use crate::aspect::plan::{Plan, Skipped};
use crate::aspect::woven::WovenType;
use crate::pipeline::process::Touched;
use crate::symbols::Writer;
use rustc_hash::FxHashMap;

/// The records of some types. Their names take more memory than their code: only what somebody asks for is kept.
#[derive(Default)]
pub(crate) struct Records {
    /// Of the methods that got hooks.
    pub(crate) symbols: Writer,
    /// The types with such methods, by number; once complete, each once.
    pub(crate) classes: Vec<u32>,
    /// How many such methods there are.
    pub(crate) methods: u64,
    /// The types with something to tell, ascending.
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

    /// Records a woven type; `explain` keeps it in any case. What names its numbered methods [`Records::name`] adds.
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

    /// Adds the names of numbered methods, packed, in front of all.
    pub(crate) fn name(&mut self, mut names: Writer) {
        names.append(&mut self.symbols);
        self.symbols = names;
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

    /// All there is: adds what the plan left out, and, when explaining, the advice of what was woven.
    pub(crate) fn complete(&mut self, plan: Plan, explain: bool) {
        self.classes.sort_unstable();
        self.classes.dedup();
        let mut skipped: FxHashMap<u32, Vec<Skipped>> = FxHashMap::default();
        for method in plan.skipped {
            skipped.entry(method.ty).or_default().push(method);
        }
        for entry in &mut self.touched {
            let number = entry.woven.ty;
            let left = skipped.remove(&number).unwrap_or_default();
            entry.woven.left.extend(left);
            if explain {
                let start = plan.methods.partition_point(|m| m.ty < number);
                let end = plan.methods.partition_point(|m| m.ty <= number);
                entry.explain(&plan.methods[start..end]);
            }
        }
        for (number, name) in plan.skipped_types {
            if let Some(left) = skipped.remove(&number) {
                let unwoven = WovenType::new(number, &name, "", 0);
                self.touched.push(Touched::new(unwoven, left));
            }
        }
        self.touched.sort_by_key(|touched| touched.woven.ty);
    }
}
