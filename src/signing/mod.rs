//! Keys and certificates, as files keep them, and what they sign: no room here knows what is signed.
//!
//! - [`identity`]: a private key with its certificates, for apks and jars; in JKS ([`jks`]), PKCS #12 or PEM;
//! - [`strong_name`]: the key of a .NET assembly's strong name;
//! - [`rsa`]: PKCS #1 v1.5 for SHA-1 and small keys;
//! - [`der`]: certificates taken apart, and signatures put together.

pub(crate) mod der;
pub(crate) mod identity;
mod jks;
pub(crate) mod rsa;
pub(crate) mod strong_name;
