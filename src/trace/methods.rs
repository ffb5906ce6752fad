//! The methods of an analysis: rows that stand for one name, whichever file and id it came from.

use super::values::Value;
use crate::mapping::Mapping;
use crate::printable::printable;
use crate::symbols::{Symbol, Symbols};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Ids without a name that get a row of their own. A sound trace has few; a damaged one could
/// name a new one with every record.
const UNKNOWN: usize = 1 << 16;

/// A row's number.
pub type MethodIx = u32;

/// What a row stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// A method that a symbols map names.
    Known(Symbol),
    /// An id that no map explains.
    Unknown(u32),
    /// All further ids that no map explains.
    Others,
    /// Of a method, the calls that have a certain value.
    OfValue(Box<OfValue>),
}

/// A method and a value that some of its calls have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfValue {
    pub method: Method,
    /// The value as JSON; `None` for all values that have no row of their own.
    pub json: Option<serde_json::Value>,
    /// The value in one line.
    pub shown: String,
}

impl OfValue {
    pub fn new(method: Method, value: Option<Value>) -> OfValue {
        OfValue {
            method,
            json: value.as_ref().map(Value::json),
            shown: value.map_or_else(|| "others".to_owned(), |value| value.shown()),
        }
    }
}

/// What stands between a method and its value in a label.
const BETWEEN: &str = "  ";

/// A label's method, and its value if it has one.
pub fn split_label(label: &str) -> (&str, Option<&str>) {
    match label.split_once(BETWEEN) {
        Some((method, value)) => (method, Some(value)),
        None => (label, None),
    }
}

impl Method {
    /// Type and method without parameters; of a lambda, its place.
    pub fn name(&self) -> String {
        match self {
            Method::Known(symbol) => symbol.name() + &symbol.place(),
            Method::Unknown(id) => format!("[{id:#010x}]"),
            Method::Others => "[other unknown ids]".to_owned(),
            Method::OfValue(of) => of.method.name(),
        }
    }

    /// Name and parameters: `com.acme.Orders.place(int, String)`.
    pub fn full_name(&self) -> String {
        match self {
            Method::Known(symbol) => symbol.name() + &symbol.parameters() + &symbol.place(),
            Method::OfValue(of) => of.method.full_name(),
            _ => self.name(),
        }
    }

    /// The symbol, if there is one.
    pub fn symbol(&self) -> Option<&Symbol> {
        match self {
            Method::Known(symbol) => Some(symbol),
            Method::OfValue(of) => of.method.symbol(),
            _ => None,
        }
    }

    fn symbol_mut(&mut self) -> Option<&mut Symbol> {
        match self {
            Method::Known(symbol) => Some(symbol),
            Method::OfValue(of) => of.method.symbol_mut(),
            _ => None,
        }
    }

    /// The method with the names that obfuscated programs had before.
    pub fn restored(&self, mappings: &[Mapping]) -> Method {
        let mut one = Methods {
            rows: vec![self.clone()],
            ..Methods::default()
        };
        for mapping in mappings {
            one.restore_names(mapping);
        }
        one.rows.swap_remove(0)
    }

    /// The value that its calls have, if it stands for those alone.
    pub fn of_value(&self) -> Option<&OfValue> {
        match self {
            Method::OfValue(of) => Some(of),
            _ => None,
        }
    }
}

/// All rows, and which row each name and unknown id has.
#[derive(Debug, Default)]
pub struct Methods {
    rows: Vec<Method>,
    by_name: FxHashMap<String, MethodIx>,
    by_unknown: FxHashMap<u32, MethodIx>,
    others: Option<MethodIx>,
}

impl Methods {
    /// The row of an id in a trace with these symbols.
    pub fn resolve(&mut self, id: u32, symbols: &Symbols) -> MethodIx {
        let next = self.rows.len() as MethodIx;
        if let Some(symbol) = symbols.get(id) {
            // No name of a method or a type has a line break in it.
            let key = format!(
                "{}\n{}\n{}",
                symbol.type_name, symbol.method, symbol.descriptor
            );
            let row = *self.by_name.entry(key).or_insert(next);
            if let Some(Method::Known(known)) = self.rows.get_mut(row as usize) {
                known.root |= symbol.root;
            }
            if row == next {
                self.rows.push(Method::Known(symbol.clone()));
            }
            return row;
        }
        if let Some(&row) = self.by_unknown.get(&id) {
            return row;
        }
        if self.by_unknown.len() < UNKNOWN {
            self.by_unknown.insert(id, next);
            self.rows.push(Method::Unknown(id));
            return next;
        }
        *self.others.get_or_insert_with(|| {
            self.rows.push(Method::Others);
            next
        })
    }

    /// Gives the rows the names that obfuscated programs had before.
    pub fn restore_names(&mut self, mapping: &Mapping) {
        let known = |i: &usize| self.rows[*i].symbol().map(|s| &*s.type_name);
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        // Type by type, so that each class of the mapping is read once.
        order.sort_by(|a, b| known(a).cmp(&known(b)));
        let mut class = None;
        let mut of = None;
        for i in order {
            let Some(symbol) = self.rows[i].symbol_mut() else {
                continue;
            };
            if of.as_ref() != Some(&symbol.type_name) {
                class = mapping.class(&symbol.type_name);
                of = Some(Arc::clone(&symbol.type_name));
            }
            if let Some(class) = &class {
                let method = class.method(&symbol.method, &symbol.descriptor);
                let owner = method.and_then(|m| m.owner).unwrap_or(class.name());
                symbol.type_name = owner.replace('.', "/").into();
                if let Some(method) = method {
                    symbol.method = method.name.into();
                }
            }
            symbol.descriptor = mapping.descriptor(&symbol.descriptor).into();
        }
    }

    /// Adds rows that no id resolves to.
    pub(super) fn add_rows(&mut self, rows: impl Iterator<Item = Method>) {
        self.rows.extend(rows);
    }

    pub fn rows(&self) -> &[Method] {
        &self.rows
    }

    /// What to show for each row.
    pub fn labels(&self) -> Vec<String> {
        labels(&self.rows)
    }
}

/// What to show for each method: name and parameters, or, where two would look the same
/// (bridge methods, types of the same simple name), the name and the whole descriptor.
pub fn labels(methods: &[Method]) -> Vec<String> {
    let mut labels: Vec<String> = methods.iter().map(|m| printable(&m.full_name())).collect();
    let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
    for (label, method) in labels.iter().zip(methods) {
        *seen.entry(label).or_default() += u32::from(method.of_value().is_none());
    }
    let twice: Vec<bool> = labels.iter().map(|l| seen[l.as_str()] > 1).collect();
    for ((label, method), twice) in labels.iter_mut().zip(methods).zip(twice) {
        if let (true, Some(symbol)) = (twice, method.symbol()) {
            *label = printable(&(symbol.compilers_name() + &symbol.descriptor));
        }
        if let Some(of) = method.of_value() {
            *label += BETWEEN;
            *label += &of.shown;
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Writer;

    #[test]
    fn ids_mean_names_and_look_alikes_show_their_descriptor() {
        let mut w = Writer::default();
        w.ty("a/T", "");
        w.method(1, "get", "(I)La/T;", 0);
        w.method(2, "get", "(I)Ljava/lang/Object;", 0);
        w.method(3, "put", "(La/T;J)V", 0);
        let mut first = Symbols::default();
        first.add(&w.finish()).unwrap();
        let mut w = Writer::default();
        w.ty("a/T", "");
        w.method(9, "put", "(La/T;J)V", 0);
        let mut second = Symbols::default();
        second.add(&w.finish()).unwrap();

        let mut methods = Methods::default();
        let rows: Vec<_> = [1, 2, 3, 8]
            .map(|id| methods.resolve(id, &first))
            .into_iter()
            .chain([9, 8].map(|id| methods.resolve(id, &second)))
            .collect();
        assert_eq!(rows, [0, 1, 2, 3, 2, 3]);
        assert_eq!(
            methods.labels(),
            [
                "a.T.get(I)La/T;",
                "a.T.get(I)Ljava/lang/Object;",
                "a.T.put(T, long)",
                "[0x00000008]"
            ]
        );
    }

    #[test]
    fn obfuscated_names_are_restored() {
        let mut w = Writer::default();
        w.ty("a/b", "");
        w.method(1, "a", "(La/b;)V", 0);
        w.method(2, "b", "()V", 0);
        w.ty("a/c", "");
        w.method(3, "a", "(La/b;)V", 0);
        let mut symbols = Symbols::default();
        symbols.add(&w.finish()).unwrap();
        let mut methods = Methods::default();
        for id in [1, 9, 3, 2] {
            methods.resolve(id, &symbols);
        }
        let text = "com.acme.Orders -> a.b:\n    void place(com.acme.Orders) -> a\n    void com.acme.Old.go() -> b\n";
        methods.restore_names(&Mapping::parse(text.into()).unwrap());
        assert_eq!(
            methods.labels(),
            [
                "com.acme.Orders.place(Orders)",
                "[0x00000009]",
                "a.c.a(Orders)",
                "com.acme.Old.go()"
            ]
        );
    }

    #[test]
    fn unknown_ids_are_bounded() {
        let mut methods = Methods::default();
        let symbols = Symbols::default();
        for id in 0..UNKNOWN as u32 + 1_000 {
            methods.resolve(id, &symbols);
        }
        assert_eq!(methods.rows().len(), UNKNOWN + 1);
        assert_eq!(methods.rows()[UNKNOWN], Method::Others);
    }
}
