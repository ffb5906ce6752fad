//! Any bytes as a symbols map, and as the payloads of two blocks of one: an error or symbols, never a panic, a hang or
//! memory out of proportion.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weave::internals::symbols::{MAGIC, Symbols, VERSION, pack};

fuzz_target!(|data: &[u8]| {
    let _ = Symbols::default().add(data);
    let Some((&cut, data)) = data.split_first() else {
        return;
    };
    let (first, second) = data.split_at(data.len() * usize::from(cut) / 256);
    let mut map = MAGIC.to_vec();
    map.extend_from_slice(&VERSION.to_le_bytes());
    map.extend_from_slice(&[0; 6]);
    map.extend_from_slice(&2u32.to_le_bytes());
    map.extend(pack(first));
    map.extend(pack(second));
    let mut symbols = Symbols::default();
    let _ = symbols.add(&map);
    for (id, symbol) in symbols.iter() {
        assert!(!symbols.name(id).is_empty());
        let _ = symbol.parameters();
    }
});
