//! Changes to an assembly outside its methods that the user should know of.

use std::fmt;

/// A change to an output that the user should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The strong name's signature was removed; the key's token stays part of the name.
    StrongNameRemoved,
    /// The assembly was signed with another key than before.
    PublicKeyChanged {
        /// The token of the old key, or empty.
        old: String,
        /// The token of the new one.
        new: String,
    },
    /// The Authenticode signature was removed.
    AuthenticodeRemoved,
    /// Native code was dropped: the assembly is compiled when it runs.
    ReadyToRunDropped,
    /// The assembly has a strong name, and this one, which hooks brought, has none.
    Unsigned(String),
    /// The file is part of an assembly whose manifest has a hash of it.
    Netmodule,
    /// In this many methods tail calls (`tail.`) became calls, which need stack.
    TailCalls(u32),
    /// The PDB is a Windows PDB, which was left out.
    WindowsPdb,
    /// The debugging information is Mono's own, which was left out.
    MonoSymbols,
    /// The PDB beside the image belongs to another build and was left out.
    OtherPdb,
    /// The PDB cannot be read and was left out.
    UnreadablePdb(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::StrongNameRemoved => f.write_str(
                "the strong name's signature no longer fits and was removed: .NET Framework checks it, .NET does not (sign anew with --key)",
            ),
            Warning::PublicKeyChanged { old, new } if old.is_empty() => write!(
                f,
                "the assembly now has a strong name, with the public key token {new}: references without it, and InternalsVisibleTo without its key, no longer fit",
            ),
            Warning::PublicKeyChanged { old, new } => write!(
                f,
                "the public key token is {new} and no longer {old}: references to the assembly and InternalsVisibleTo with the old key no longer fit",
            ),
            Warning::AuthenticodeRemoved => {
                f.write_str("the Authenticode signature no longer fits and was removed")
            }
            Warning::ReadyToRunDropped => f.write_str(
                "the native code made ahead of time (ReadyToRun) was dropped: methods are compiled when they are first called",
            ),
            Warning::TailCalls(methods) => write!(
                f,
                "tail calls became ordinary calls in {methods} {}, since a hook runs after them: recursion that relies on them needs a larger stack, or an exclude for its methods",
                if *methods == 1 { "method" } else { "methods" },
            ),
            Warning::WindowsPdb => f.write_str(
                "the Windows PDB was left out, and stack traces have no lines: build with portable debugging information (DebugType portable or embedded)",
            ),
            Warning::MonoSymbols => f.write_str(
                "Mono's own debugging information (.mdb) was left out, and stack traces have no lines: build with a portable PDB",
            ),
            Warning::OtherPdb => f.write_str(
                "the PDB is of another build of the assembly and was left out: stack traces have no lines",
            ),
            Warning::UnreadablePdb(what) => write!(
                f,
                "the PDB cannot be read and was left out, and stack traces have no lines: {what}",
            ),
            Warning::Unsigned(name) => write!(
                f,
                "the assembly has a strong name, and {name}, the library of its hooks, has none: .NET Framework refuses to load such a reference, .NET does not look (sign {name}, too)",
            ),
            Warning::Netmodule => f.write_str(
                "a netmodule: the hash of it in its assembly's manifest no longer fits",
            ),
        }
    }
}
