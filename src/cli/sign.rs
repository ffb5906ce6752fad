//! The options that say with which key an output is signed anew, named as `apksigner` names them.

use crate::error::{Error, Result};
use crate::pipeline::{Files, Identity, StrongNameKey};
use std::path::{Path, PathBuf};

/// A key store, or a key and its certificate.
#[derive(clap::Args)]
#[command(next_help_heading = "Signing")]
pub struct SignArgs {
    /// Sign the output with a key of this key store (PKCS #12 or JKS): an apk by v1, v2 and v3, a jar or aab by v1
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "cert"])]
    ks: Option<PathBuf>,

    /// Password of the key store: env:NAME, file:PATH or pass:TEXT
    #[arg(long, value_name = "SOURCE", requires = "ks")]
    ks_pass: Option<String>,

    /// Name of the key in the key store, if it holds several
    #[arg(long, value_name = "NAME", requires = "ks")]
    ks_key_alias: Option<String>,

    /// Sign the output with this private key (PKCS #8, PEM or DER, with --cert), or assemblies with this strong-name key (.snk)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Certificate of the key, or its chain (X.509, PEM or DER)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Password of the key, if it is encrypted, or is not that of its key store: env:NAME, file:PATH or pass:TEXT
    #[arg(long, value_name = "SOURCE")]
    key_pass: Option<String>,
}

impl SignArgs {
    /// Names the files that are read.
    pub fn name(&self, files: &mut Files) {
        let named = [
            ("the key store", &self.ks),
            ("the key", &self.key),
            ("the certificate", &self.cert),
        ];
        for (what, path) in named {
            if let Some(path) = path {
                files.read(what, path);
            }
        }
        for source in [&self.ks_pass, &self.key_pass].into_iter().flatten() {
            if let Some(path) = source.strip_prefix("file:") {
                files.read("the password file", path);
            }
        }
    }

    /// Reads the strong-name key, if one is named.
    pub fn strong_name(&self) -> Result<Option<StrongNameKey>> {
        let (Some(path), None) = (&self.key, &self.cert) else {
            return Ok(None);
        };
        let named = |e: Error| e.in_artifact(path.display().to_string());
        let bytes = read(path)?;
        if bytes.starts_with(b"-----BEGIN") || bytes.starts_with(&[0x30]) {
            return Err(Error::usage(
                "a key of this sort signs apks and jars, and needs its certificate: --cert FILE",
            ));
        }
        StrongNameKey::parse(&bytes).map(Some).map_err(named)
    }

    /// Reads the key of an apk or jar, if one is named.
    pub fn identity(&self) -> Result<Option<Identity>> {
        let key_password = (self.key_pass.as_deref())
            .map(|source| password("--key-pass", source))
            .transpose()?;
        let key_password = key_password.as_deref();
        if let Some(ks) = &self.ks {
            let password = match &self.ks_pass {
                Some(source) => password("--ks-pass", source)?,
                None => {
                    let name = ks.display();
                    return Err(Error::usage(format!(
                        "the key store {name} needs a password: --ks-pass env:NAME, file:PATH or pass:TEXT"
                    )));
                }
            };
            let alias = self.ks_key_alias.as_deref();
            let identity = Identity::from_keystore(&read(ks)?, &password, key_password, alias);
            return identity
                .map(Some)
                .map_err(|e| e.in_artifact(ks.display().to_string()));
        }
        let (Some(key), Some(cert)) = (&self.key, &self.cert) else {
            if key_password.is_some() {
                return Err(Error::usage(
                    "--key-pass is for the key of --ks, or of --key and --cert",
                ));
            }
            return Ok(None);
        };
        Identity::from_key(&read(key)?, key_password, &read(cert)?)
            .map(Some)
            .map_err(|e| e.in_artifact(key.display().to_string()))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io("read", path, e))
}

/// A password from where the user says that it is: best not in the command line, which others can see.
fn password(option: &str, source: &str) -> Result<String> {
    if let Some(text) = source.strip_prefix("pass:") {
        return Ok(text.to_owned());
    }
    if let Some(name) = source.strip_prefix("env:") {
        return std::env::var(name)
            .map_err(|e| Error::usage(format!("{option}: the environment's {name}: {e}")));
    }
    if let Some(path) = source.strip_prefix("file:") {
        let path = Path::new(path);
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
        return Ok(text.lines().next().unwrap_or_default().to_owned());
    }
    Err(Error::usage(format!(
        "{option} takes env:NAME, file:PATH or pass:TEXT"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_come_from_where_they_are_said_to_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        std::fs::write(&path, "from file\nnot this\n").unwrap();
        let of = |source: &str| password("--ks-pass", source);
        assert_eq!(of("pass:se:cret").unwrap(), "se:cret");
        assert_eq!(
            of(&format!("file:{}", path.display())).unwrap(),
            "from file"
        );
        assert!(of("env:WEAVE_NO_SUCH_PASSWORD").is_err());
        assert_eq!(of("secret").unwrap_err().exit_status(), 2);
    }
}
