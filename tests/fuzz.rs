//! The fuzz targets over their seeds and changes of them: the same inputs each time, by numbers alone. `WEAVE_FUZZ_ROUNDS`
//! says how many inputs a target gets. What it lacks is coverage: `cargo fuzz` looks at which code an input reaches.

#[path = "../fuzz/targets/mod.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Inputs of a target in an everyday run.
const ROUNDS: u64 = 2_000;
/// Largest input.
const LARGEST: usize = 256 << 10;

/// Splitmix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// A seed with one to eight changes.
fn input(seeds: &[(String, Vec<u8>)], target: &str, round: u64) -> Vec<u8> {
    let start = target
        .bytes()
        .fold(round, |n, b| n.rotate_left(8) ^ u64::from(b));
    let mut numbers = Numbers(start);
    let mut bytes = seeds[numbers.below(seeds.len())].1.clone();
    for _ in 0..=numbers.below(8) {
        change(&mut bytes, seeds, &mut numbers);
        bytes.truncate(LARGEST);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[(String, Vec<u8>)], numbers: &mut Numbers) {
    let at = numbers.below(bytes.len());
    let len = (1 + numbers.below(32)).min(bytes.len() - at);
    match numbers.below(9) {
        0 if len > 0 => bytes[at] ^= 1 << numbers.below(8),
        1 if len > 0 => bytes[at] = numbers.next() as u8,
        // Sizes and offsets at their limits, in either order of bytes.
        2 | 3 if len > 0 => {
            let wide = [1, 2, 4, 8][numbers.below(4)].min(bytes.len() - at);
            let value: u64 = match numbers.below(6) {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << (8 * wide - 1),
                3 => (1 << (8 * wide - 1)) - 1,
                4 => bytes.len() as u64,
                _ => numbers.next() & 0xff,
            };
            let word = match numbers.below(2) {
                0 => value.to_le_bytes()[..wide].to_vec(),
                _ => value.to_be_bytes()[8 - wide..].to_vec(),
            };
            bytes[at..at + wide].copy_from_slice(&word);
        }
        4 => drop(bytes.drain(at..at + len)),
        5 => {
            let again = bytes[at..at + len].to_vec();
            let to = numbers.below(bytes.len() + 1);
            bytes.splice(to..to, again);
        }
        6 => {
            let again = bytes[at..at + len].to_vec();
            let to = numbers.below(bytes.len() + 1 - len);
            bytes[to..to + len].copy_from_slice(&again);
        }
        7 => {
            let other = &seeds[numbers.below(seeds.len())].1;
            let from = numbers.below(other.len());
            let to = other.len().min(from + 1 + numbers.below(256));
            bytes.splice(at..at + len, other[from..to].iter().copied());
        }
        8 if numbers.below(4) == 0 => bytes.truncate(at),
        _ => {}
    }
}

fn fuzz(target: &str, run: fn(&[u8])) {
    let rounds = match std::env::var("WEAVE_FUZZ_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("WEAVE_FUZZ_ROUNDS is a number"),
        Err(_) => ROUNDS,
    };
    let seeds = targets::seeds::of(target);
    assert!(!seeds.is_empty());
    seeds.iter().for_each(|(_, bytes)| run(bytes));
    for round in 0..rounds {
        let bytes = input(&seeds, target, round);
        if catch_unwind(AssertUnwindSafe(|| run(&bytes))).is_err() {
            let kept =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{target}-{round}"));
            std::fs::write(&kept, &bytes).expect("it can be written");
            panic!(
                "{target}: round {round} failed; its input is {}",
                kept.display()
            );
        }
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            fuzz(stringify!($name), targets::$name::run);
        })*

        #[test]
        fn every_target_runs() {
            assert_eq!(targets::seeds::TARGETS, [$(stringify!($name)),*]);
        }
    };
}

targets!(cil class dex pdb rules symbols trace zip);
