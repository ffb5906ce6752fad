//! Any bytes as a symbols map, and as the payloads of two blocks of one: an error or symbols, never a panic, a hang or
//! memory out of proportion.

use super::seeds::map;
use weave::internals::symbols::Symbols;

pub fn run(data: &[u8]) {
    let _ = Symbols::default().add(data);
    let Some((&cut, data)) = data.split_first() else {
        return;
    };
    let (first, second) = data.split_at(data.len() * usize::from(cut) / 256);
    let map = map(&[first, second]);
    let mut symbols = Symbols::default();
    let _ = symbols.add(&map);
    for (id, symbol) in symbols.iter() {
        assert!(!symbols.name(id).is_empty());
        let _ = symbol.parameters();
    }
}
