//! Rules files, with calls of hooks: any text is rules, or an error with places in it.

use weave::internals::aspect::rules::Rules;

pub fn run(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Rules::parse("fuzz.toml", text);
    }
}
