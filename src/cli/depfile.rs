//! `--depfile`: which files a result was made of, as make and ninja read it.

use crate::error::Result;
use crate::pipeline::{Access, Output};
use std::path::{Path, PathBuf};

/// Writes `output: input ..`, a file a line.
pub fn write(path: &Path, output: &Path, inputs: &[PathBuf]) -> Result<()> {
    let mut text = escape(output) + ":";
    for input in inputs {
        text += " \\\n  ";
        text += &escape(input);
    }
    text.push('\n');
    Output::put(path, text.as_bytes(), Access::Usual)
}

fn escape(path: &Path) -> String {
    let mut out = String::new();
    for c in path.to_string_lossy().chars() {
        match c {
            ' ' | '#' => out.extend(['\\', c]),
            '$' => out += "$$",
            _ => out.push(c),
        }
    }
    out
}
