//! `weave verify`: does the bytecode hold together.

use crate::cli::{DONE, NOT_DONE, print, show};
use crate::error::Result;
use crate::pipeline::{Verified, verify};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Check that the bytecode of an artifact holds together
///
/// Every class file is read by two independent readers, whose answers are compared, and the structure of every
/// method is checked: branches, exception ranges, frames and line numbers must fall on instructions. This does
/// not replace the virtual machine's own verifier, which also knows types (java -Xverify:all). Dex files are
/// checked for types, too, by the rules of Android's verifier, as far as one file shows.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave verify woven.jar
  weave verify woven.apk
  weave verify woven-lib/ --json")]
pub struct VerifyArgs {
    /// Class file, jar, war, ear, zip, dex file, apk, aab, aar, .NET assembly, or a folder of these
    #[arg(value_name = "ARTIFACT")]
    artifact: PathBuf,

    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(args: &VerifyArgs) -> Result<u8> {
    let verified = verify(&args.artifact)?;
    let text = match args.json {
        true => json(&verified).to_string() + "\n",
        false => listing(&verified),
    };
    print(&text)?;
    Ok(if verified.failures.is_empty() {
        DONE
    } else {
        NOT_DONE
    })
}

fn listing(verified: &Verified) -> String {
    let mut out = String::new();
    for failure in &verified.failures {
        let _ = writeln!(out, "{failure}");
    }
    let _ = write!(
        out,
        "{} in {} verified: ",
        show::count(verified.methods, "method", "methods"),
        show::count(verified.classes, "class", "classes")
    );
    let _ = match verified.failures.len() as u64 {
        0 => writeln!(out, "all hold together"),
        n => writeln!(out, "{}", show::count(n, "failure", "failures")),
    };
    if !verified.unjudged.is_empty() {
        let n = verified.unjudged.len() as u64;
        let _ = writeln!(
            out,
            "{} not judged by the second reader, which does not know all of their version",
            show::count(n, "file is", "files are")
        );
    }
    out
}

fn json(verified: &Verified) -> serde_json::Value {
    serde_json::json!({
        "classes": verified.classes,
        "methods": verified.methods,
        "failures": verified.failures.iter().map(|e| serde_json::json!({
            "artifact": e.artifact(),
            "member": e.member(),
            "method": e.method(),
            "offset": e.offset(),
            "message": e.message(),
        })).collect::<Vec<_>>(),
        "unjudged": verified.unjudged,
    })
}
