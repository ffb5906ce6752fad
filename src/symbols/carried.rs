//! How artifacts carry their maps.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Where artifacts that are not packed into others carry their map (an apk, the library's jar). In a jar or folder of classes
/// this member only names the map ([`Carried`]); earlier versions left the map itself there.
pub const MEMBER: &str = "META-INF/weave/symbols";
/// How the names of maps end that lie beside that member.
const MAP_SUFFIX: &str = ".wsym";

/// How a jar or folder of classes carries its map. Each map has a name of its own, since artifacts are packed into one jar, where
/// of two members of one name only one stays.
pub struct Carried {
    /// Where the map goes.
    pub member: String,
    /// What [`MEMBER`] says then: class loaders find a resource by its name alone.
    pub marker: Vec<u8>,
}

impl Carried {
    /// The name follows from the artifact's first class, which no other artifact of a program has.
    pub fn of(first_class: &str) -> Carried {
        let mut name = String::new();
        for byte in &Sha256::digest(first_class)[..8] {
            let _ = write!(name, "{byte:02x}");
        }
        name += MAP_SUFFIX;
        Carried {
            member: MEMBER.replace("symbols", &name),
            marker: format!("{name}\n").into_bytes(),
        }
    }
}

/// Whether a member may be a map, or say where one is: `root` is what is in front of `META-INF/`.
pub fn is_carried(member: &str, root: &str) -> bool {
    let Some(member) = member.strip_prefix(root) else {
        return false;
    };
    let folder = MEMBER.strip_suffix("symbols").unwrap_or_default();
    let name = member.strip_prefix(folder);
    member == MEMBER || name.is_some_and(|n| n.ends_with(MAP_SUFFIX) && !n.contains('/'))
}

/// The same for whatever is in front of `META-INF/`.
pub fn is_carried_anywhere(path: &str) -> bool {
    let root = path.rfind("META-INF/").map(|at| &path[..at]);
    root.is_some_and(|root| is_carried(path, root))
}

/// Whether bytes are what [`MEMBER`] says beside a map.
pub fn is_marker(bytes: &[u8]) -> bool {
    let name = bytes.strip_suffix(b"\n").unwrap_or_default();
    name.ends_with(MAP_SUFFIX.as_bytes()) && name.len() == 16 + MAP_SUFFIX.len()
}
