#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weave_fuzz::rules::run(bytes));
