//! `<application>.deps.json`: which assemblies a published .NET application consists of.
//!
//! The host (`hostpolicy`) passes on to the runtime only what this file lists, so an assembly that is
//! laid beside the others is not found unless it is added here. The format is that of
//! .NET's "Runtime configuration files" specification; what this module does not know is kept.

use crate::error::{Error, Kind, Result};
use serde_json::{Map, Value, json};

/// What a file's name ends with.
pub const SUFFIX: &str = ".deps.json";

/// An assembly to list.
pub struct Assembly<'a> {
    /// Its simple name (`Weave.Runtime`); the file is `<name>.dll`.
    pub name: &'a str,
    /// Its version, of four parts.
    pub version: String,
}

/// The byte order mark that some tools put in front.
const BOM: &str = "\u{feff}";

/// The version of .NET that the application is for; 0 where that is another platform, or not told.
pub fn platform_version(bytes: &[u8]) -> u32 {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let file: Option<Value> = serde_json::from_str(text.trim_start_matches(BOM)).ok();
    let name = file
        .as_ref()
        .and_then(|file| file.pointer("/runtimeTarget/name")?.as_str());
    let version = name.and_then(|name| name.strip_prefix(".NETCoreApp,Version=v"));
    let major = version.and_then(|version| version.split('.').next()?.parse().ok());
    major.unwrap_or(0)
}

/// The file with an assembly added to the application's own target. `None`: it is listed already, or the file
/// lists no assemblies at all.
pub fn add(bytes: &[u8], assembly: &Assembly<'_>) -> Result<Option<Vec<u8>>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Error::malformed(e.valid_up_to(), format!("not UTF-8: {e}")))?;
    let bom = text.starts_with(BOM);
    let text = text.trim_start_matches(BOM);
    let mut file: Value = serde_json::from_str(text)
        .map_err(|e| Error::new(Kind::Malformed, format!("not JSON: {e}")))?;
    let target = match file.pointer("/runtimeTarget/name") {
        Some(Value::String(name)) => name.clone(),
        _ => return Ok(None),
    };
    let key = {
        let short = assembly.version.splitn(4, '.').take(3);
        format!("{}/{}", assembly.name, short.collect::<Vec<_>>().join("."))
    };
    let is_it = |key: &String| {
        let name = key.split_once('/').map_or(&**key, |(name, _)| name);
        name.eq_ignore_ascii_case(assembly.name)
    };
    let dll = format!("{}.dll", assembly.name);
    let Some(Value::Object(libraries)) = file
        .get_mut("targets")
        .and_then(|targets| targets.get_mut(&target))
    else {
        return Ok(None);
    };
    if libraries.keys().any(is_it) {
        return Ok(None);
    }
    let versions = json!({ "assemblyVersion": assembly.version, "fileVersion": assembly.version });
    let runtime = Map::from_iter([(dll, versions)]);
    libraries.insert(key.clone(), json!({ "runtime": runtime }));
    if let Some(libraries) = file.get_mut("libraries").and_then(Value::as_object_mut) {
        let library = json!({ "type": "reference", "serviceable": false, "sha512": "" });
        libraries.insert(key, library);
    }
    let mut out = Vec::with_capacity(bytes.len() + 512);
    if bom {
        out.extend_from_slice(BOM.as_bytes());
    }
    serde_json::to_writer_pretty(&mut out, &file)
        .map_err(|e| Error::new(Kind::NotDone, format!("cannot write JSON: {e}")))?;
    if text.ends_with('\n') {
        out.push(b'\n');
    }
    Ok(Some(out))
}

/// Whether the application's own target lists an assembly's file (`App.dll`). What is no such list does not.
pub fn lists(bytes: &[u8], file: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(list) = serde_json::from_str::<Value>(text.trim_start_matches(BOM)) else {
        return false;
    };
    let target = list.pointer("/runtimeTarget/name").and_then(Value::as_str);
    let libraries = target.and_then(|target| list["targets"].get(target)?.as_object());
    let is_it = |path: &String| {
        path.rsplit('/')
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(file))
    };
    let assets = |library: &Value, kind: &str| {
        (library.get(kind).and_then(Value::as_object))
            .is_some_and(|assets| assets.keys().any(is_it))
    };
    libraries.is_some_and(|libraries| {
        let mut all = libraries.values();
        all.any(|library| assets(library, "runtime") || assets(library, "runtimeTargets"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> Assembly<'static> {
        Assembly {
            name: "Weave.Runtime",
            version: "1.2.0.0".to_owned(),
        }
    }

    const APP: &str = r#"{
  "runtimeTarget": {
    "name": ".NETCoreApp,Version=v8.0",
    "signature": ""
  },
  "compilationOptions": {},
  "targets": {
    ".NETCoreApp,Version=v8.0": {
      "App/1.0.0": {
        "runtime": {
          "App.dll": {}
        }
      }
    }
  },
  "libraries": {
    "App/1.0.0": {
      "type": "project",
      "serviceable": false,
      "sha512": ""
    }
  }
}
"#;

    #[test]
    fn says_what_it_is_for() {
        assert_eq!(platform_version(APP.as_bytes()), 8);
        let own = APP.replace("v8.0", "v10.0/linux-x64");
        assert_eq!(platform_version((BOM.to_owned() + &own).as_bytes()), 10);
        let framework = APP.replace(".NETCoreApp,Version=v8.0", ".NETFramework,Version=v4.8");
        for other in [framework.as_bytes(), b"{}", b"[", b"\xff"] {
            assert_eq!(platform_version(other), 0);
        }
    }

    #[test]
    fn the_library_joins_the_application() {
        let added = add(APP.as_bytes(), &runtime()).unwrap().unwrap();
        let text = String::from_utf8(added.clone()).unwrap();
        for line in APP.lines() {
            assert!(text.contains(line.trim_end_matches('}')), "{line}");
        }
        insta::assert_snapshot!(text.lines().skip(12).collect::<Vec<_>>().join("\n"), @r#"
              },
              "Weave.Runtime/1.2.0": {
                "runtime": {
                  "Weave.Runtime.dll": {
                    "assemblyVersion": "1.2.0.0",
                    "fileVersion": "1.2.0.0"
                  }
                }
              }
            }
          },
          "libraries": {
            "App/1.0.0": {
              "type": "project",
              "serviceable": false,
              "sha512": ""
            },
            "Weave.Runtime/1.2.0": {
              "type": "reference",
              "serviceable": false,
              "sha512": ""
            }
          }
        }
        "#);
        assert_eq!(add(&added, &runtime()).unwrap(), None, "once is enough");
        for (file, listed) in [
            ("App.dll", true),
            ("Weave.Runtime.dll", true),
            ("B.dll", false),
        ] {
            assert_eq!(lists(&added, file), listed, "{file}");
        }
        assert!(!lists(b"{", "App.dll") && !lists(b"[]", "App.dll"));
    }

    #[test]
    fn what_lists_nothing_stays() {
        for text in ["{}", "[]", r#"{"runtimeTarget":{"name":"x"},"targets":{}}"#] {
            assert_eq!(add(text.as_bytes(), &runtime()).unwrap(), None);
        }
        let e = add(b"{\"targets\":", &runtime()).unwrap_err();
        insta::assert_snapshot!(e, @"not JSON: EOF while parsing a value at line 1 column 11");
        assert!(add(b"{\"\xff", &runtime()).is_err());
    }

    #[test]
    fn a_byte_order_mark_stays() {
        let text = format!("{BOM}{APP}");
        let added = add(text.as_bytes(), &runtime()).unwrap().unwrap();
        assert!(added.starts_with(BOM.as_bytes()));
    }
}
