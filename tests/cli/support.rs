//! Running `weave` and the JDK's tools on small programs that are compiled here.

use crate::jdk::jdk;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;
use weave::internals::container::zip::{Archive, Codec};
use weave::internals::symbols::Symbols;

/// What a command printed, and its exit status.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn ran(output: Output) -> Ran {
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The program under test: cargo's, or that of `elsewhere.py`.
pub fn program() -> PathBuf {
    std::env::var_os("WEAVE_TESTED")
        .map_or_else(|| env!("CARGO_BIN_EXE_weave").into(), PathBuf::from)
}

pub fn weave_command(dir: &Path) -> Command {
    let mut command = Command::new(program());
    command.current_dir(dir);
    command
}

/// Runs `weave` in a folder.
pub fn weave<S: AsRef<OsStr>>(dir: &Path, args: &[S]) -> Ran {
    ran(weave_command(dir).args(args).output().unwrap())
}

/// Runs `weave`, which must succeed.
pub fn wove<S: AsRef<OsStr>>(dir: &Path, args: &[S]) -> Ran {
    let ran = weave(dir, args);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    ran
}

/// Runs a tool of the JDK in a folder; it must succeed.
pub fn tool(dir: &Path, name: &str, args: &[&str]) -> Ran {
    let output = jdk(name)
        .args(args)
        .current_dir(dir)
        .env("WEAVE_TRACE", dir.join("run.wtrace"))
        .output()
        .unwrap_or_else(|e| panic!("{name}: {e} (the tests need a JDK)"));
    let ran = ran(output);
    assert_eq!(ran.status, 0, "{name} {args:?}: {}{}", ran.out, ran.err);
    ran
}

/// Assemblies with their symbols, a netmodule and the assembly that it is of, and a dex file.
pub const STEPS: &[u8] = include_bytes!("../dotnet/fixtures/steps-debug.dll");
pub const STEPS_PDB: &[u8] = include_bytes!("../dotnet/fixtures/steps-debug.pdb");
pub const TAIL: &[u8] = include_bytes!("../dotnet/fixtures/tail.dll");
pub const PART: &[u8] = include_bytes!("../dotnet/fixtures/part.netmodule");
pub const WHOLE: &[u8] = include_bytes!("../dotnet/fixtures/whole.exe");
pub const GENERIC: &[u8] = include_bytes!("../dotnet/fixtures/generic.dll");
pub const FORWARD: &[u8] = include_bytes!("../dotnet/fixtures/forward-debug.dll");
pub const DEX: &[u8] = include_bytes!("../dex/everything.dex");

pub const MAIN: &str = r#"
package com.acme;

public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println("fib " + Fib.of(7));
        try {
            fail(2);
        } catch (IllegalStateException e) {
            System.out.println("caught " + e.getMessage() + " at line " + e.getStackTrace()[0].getLineNumber());
        }
    }

    static void fail(int n) {
        if (n == 0) {
            throw new IllegalStateException("deep");
        }
        fail(n - 1);
    }
}
"#;

pub const FIB: &str = r#"
package com.acme;

public class Fib {
    public static int of(int n) {
        return n < 2 ? n : of(n - 1) + of(n - 2);
    }
}
"#;

/// What the program prints, woven or not.
pub const PRINTED: &str = "fib 13\ncaught deep at line 16\n";

/// A folder of its own with compiled classes: `classes/com/acme/{Main,Fib}.class`.
pub struct World {
    dir: TempDir,
}

impl World {
    pub fn new() -> World {
        static CLASSES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
        let classes = CLASSES.get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("Main.java"), MAIN).unwrap();
            fs::write(dir.path().join("Fib.java"), FIB).unwrap();
            let args = ["-g", "--release", "8", "-Xlint:-options", "-d", "classes"];
            tool(
                dir.path(),
                "javac",
                &[&args[..], &["Main.java", "Fib.java"]].concat(),
            );
            ["Main", "Fib"]
                .map(|name| {
                    let name = format!("classes/com/acme/{name}.class");
                    let bytes = fs::read(dir.path().join(&name)).unwrap();
                    (name, bytes)
                })
                .to_vec()
        });
        let world = World {
            dir: tempfile::tempdir().unwrap(),
        };
        for (name, bytes) in classes {
            world.write(name, bytes);
        }
        world
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// `app.jar` with the program.
    pub fn with_jar() -> World {
        static JAR: OnceLock<Vec<u8>> = OnceLock::new();
        let world = World::new();
        let jar = JAR.get_or_init(|| {
            let options = ["cfe", "app.jar", "com.acme.Main", "-C", "classes", "."];
            world.tool("jar", &options);
            world.read("app.jar")
        });
        world.write("app.jar", jar);
        world
    }

    pub fn tool(&self, name: &str, args: &[&str]) -> Ran {
        tool(self.path(), name, args)
    }

    pub fn weave(&self, args: &[&str]) -> Ran {
        weave(self.path(), args)
    }

    pub fn wove(&self, args: &[&str]) -> Ran {
        wove(self.path(), args)
    }

    /// Names of an archive's members.
    pub fn names(&self, jar: &str) -> Vec<String> {
        let bytes = self.read(jar);
        let archive = Archive::open(&bytes).unwrap();
        archive
            .members()
            .iter()
            .map(|m| m.name().to_owned())
            .collect()
    }

    /// The data of an archive's member.
    pub fn member(&self, jar: &str, name: &str) -> Vec<u8> {
        member(&self.read(jar), name)
    }

    /// The map that a jar or folder of classes carries; the member of the one name says where it is.
    pub fn carried(&self, artifact: &str, root: &str) -> Vec<u8> {
        let read = |name: &str| {
            let name = format!("{root}META-INF/weave/{name}");
            match self.at(artifact).is_dir() {
                true => self.read(&format!("{artifact}/{name}")),
                false => self.member(artifact, &name),
            }
        };
        let name = String::from_utf8(read("symbols")).unwrap();
        read(name.trim_end())
    }

    pub fn symbols(&self, name: &str) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.add(&self.read(name)).unwrap();
        symbols
    }

    /// The program's trace shows each call of its methods that are woven, of which `Fib.of` is one.
    pub fn assert_traced(&self) {
        let report = self.wove(&["report", "run.wtrace", "--json"]).out;
        let json: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(json["traces"][0]["lost_records"], 0, "{report}");
        let mut found = Vec::new();
        for method in json["methods"].as_array().unwrap() {
            let label = method["label"].as_str().unwrap();
            // Calls, and those that an exception ended.
            let expected = match label {
                "com.acme.Fib.of(int)" => (41, 0),
                "com.acme.Main.fail(int)" => (3, 3),
                "com.acme.Main.main(String[])" => (1, 0),
                _ => continue,
            };
            let counts = ["calls", "errors"].map(|key| method[key].as_u64().unwrap());
            assert_eq!((counts[0], counts[1]), expected, "{label}: {report}");
            found.push(label);
        }
        assert!(found.contains(&"com.acme.Fib.of(int)"), "{report}");
        fs::remove_file(self.at("run.wtrace")).unwrap();
    }

    /// Files of a folder, sorted.
    pub fn files(&self, folder: &str) -> Vec<String> {
        let listing = weave::internals::container::folder::list(&self.at(folder)).unwrap();
        listing.files.into_iter().map(|f| f.name).collect()
    }
}

pub fn member(jar: &[u8], name: &str) -> Vec<u8> {
    let archive = Archive::open(jar).unwrap();
    let member = archive.find(name).unwrap_or_else(|| panic!("no {name}"));
    let mut bytes = Vec::new();
    member
        .read(&mut Codec::new(), member.size(), &mut bytes)
        .unwrap();
    bytes
}
