//! Debugging information of bodies that become those of other methods: their rows go along.

use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::tables::{MAX_COLUMNS, decode, encode, token, token_row, token_table};
use crate::cil::pdb::edits::Edits;
use crate::cil::pdb::reader::Pdb;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Where rows of a PDB go.
pub(super) struct Moves {
    /// Methods to those that have their bodies.
    methods: FxHashMap<u32, u32>,
    /// The old scopes in their new order.
    scopes: Vec<u32>,
    /// The same of locals and constants.
    locals: [Vec<u32>; 2],
    /// The new row of each old scope, local and constant, from 1 on.
    rows: [Vec<u32>; 3],
}

/// The tables of scopes and what they list, with the columns of the lists.
const LISTED: [(u8, usize); 2] = [
    (table::LOCAL_VARIABLE, column::local_scope::VARIABLE_LIST),
    (table::LOCAL_CONSTANT, column::local_scope::CONSTANT_LIST),
];

impl Moves {
    pub(super) fn new(pdb: &Pdb<'_>, edits: &Edits) -> Moves {
        let mut moves = Moves {
            methods: edits.bodies.iter().copied().collect(),
            scopes: Vec::new(),
            locals: Default::default(),
            rows: Default::default(),
        };
        if moves.methods.is_empty() {
            return moves;
        }
        let tables = &pdb.metadata.tables;
        let methods: Vec<u32> = (tables.iter(table::LOCAL_SCOPE))
            .map(|row| moves.method(row.get(column::local_scope::METHOD)))
            .collect();
        let lists = LISTED.map(|(number, column)| {
            let starts = tables.iter(table::LOCAL_SCOPE).map(|row| row.get(column));
            ranges(starts.collect(), tables.rows(number))
        });
        // Rows in an unexpected order are not moved.
        let [Some(variables), Some(constants)] = lists else {
            moves.scopes = (1..=methods.len() as u32).collect();
            return moves;
        };
        let mut order: Vec<u32> = (1..=methods.len() as u32).collect();
        order.sort_by_key(|&scope| methods[scope as usize - 1]);
        for (n, ranges) in [variables, constants].into_iter().enumerate() {
            let of = |scope: &u32| ranges[*scope as usize - 1].clone();
            moves.locals[n] = order.iter().flat_map(of).collect();
            moves.rows[n + 1] = inverse(&moves.locals[n]);
        }
        moves.rows[0] = inverse(&order);
        moves.scopes = order;
        moves
    }

    pub(super) fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    fn method(&self, method: u32) -> u32 {
        self.methods.get(&method).copied().unwrap_or(method)
    }

    /// Rows of `MethodDebugInformation`.
    pub(super) fn move_points(&self, rows: &mut [[u32; MAX_COLUMNS]]) {
        for (&old, &new) in &self.methods {
            let (old, new) = (old as usize - 1, new as usize - 1);
            if old < rows.len() && new < rows.len() {
                rows[new] = std::mem::replace(&mut rows[old], [0; MAX_COLUMNS]);
            }
        }
    }

    /// Rows of `LocalScope`, in the order of their methods.
    pub(super) fn move_scopes(&self, rows: &mut Vec<[u32; MAX_COLUMNS]>) {
        if self.is_empty() || self.rows[0].is_empty() {
            return;
        }
        let old = std::mem::take(rows);
        let mut first = [1, 1];
        for &scope in &self.scopes {
            let mut row = old[scope as usize - 1];
            row[column::local_scope::METHOD] = self.method(row[column::local_scope::METHOD]);
            for (n, (_, column)) in LISTED.into_iter().enumerate() {
                let starts = row[column];
                let end = (old.get(scope as usize))
                    .map_or(self.rows[n + 1].len() as u32, |next| next[column]);
                row[column] = first[n];
                first[n] += end - starts;
            }
            rows.push(row);
        }
    }

    /// Rows of what scopes list, in their new order.
    pub(super) fn move_locals(&self, number: u8, rows: &mut Vec<[u32; MAX_COLUMNS]>) {
        let place = LISTED.iter().position(|(listed, _)| *listed == number);
        if let Some(n) = place.filter(|_| !self.rows[0].is_empty()) {
            let old = std::mem::take(rows);
            rows.extend(self.locals[n].iter().map(|&row| old[row as usize - 1]));
        }
    }

    /// A parent of other information.
    pub(super) fn parent(&self, parent: u32) -> u32 {
        if self.is_empty() {
            return parent;
        }
        let coded = &coded::HAS_CUSTOM_DEBUG_INFORMATION;
        let Ok(old) = decode(coded, parent) else {
            return parent;
        };
        let row = token_row(old);
        let among = |rows: &[u32]| rows.get(row as usize).copied().unwrap_or(row);
        let new = match token_table(old) {
            table::METHOD_DEF => self.method(row),
            table::LOCAL_SCOPE => among(&self.rows[0]),
            table::LOCAL_VARIABLE => among(&self.rows[1]),
            table::LOCAL_CONSTANT => among(&self.rows[2]),
            _ => return parent,
        };
        encode(coded, token(token_table(old), new)).unwrap_or(parent)
    }
}

/// The ranges of rows that lists are, each up to the next one's start; none unless they hold each of `count` rows once.
fn ranges(starts: Vec<u32>, count: u32) -> Option<Vec<Range<u32>>> {
    let ends = starts.iter().skip(1).copied().chain([count + 1]);
    let holds_all = starts.first().map_or(count == 0, |&first| first == 1);
    let ranges: Vec<Range<u32>> = starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| start..end)
        .collect();
    (holds_all && ranges.iter().all(|range| range.start <= range.end)).then_some(ranges)
}

/// The place of each row in an order, from 1 on.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut rows = vec![0; order.len() + 1];
    for (new, &old) in (1..).zip(order) {
        rows[old as usize] = new;
    }
    rows
}
