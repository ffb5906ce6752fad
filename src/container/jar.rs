//! What makes a zip file a jar: the manifest and its signatures (JAR File Specification).

/// Whether a member is part of a jar signature (`META-INF/*.SF`, `.RSA`, `.DSA`, `.EC`, `SIG-*`).
pub fn is_signature_file(_name: &str) -> bool {
    todo!()
}

/// A parsed `META-INF/MANIFEST.MF`.
pub struct Manifest {}

impl Manifest {
    /// Parses; a manifest is read leniently, as the JDK does.
    pub fn parse(_bytes: &[u8]) -> Manifest {
        todo!()
    }
    /// A main attribute, by case-insensitive name.
    pub fn get(&self, _name: &str) -> Option<String> {
        todo!()
    }
    /// Sets a main attribute.
    pub fn set(&mut self, _name: &str, _value: &str) {
        todo!()
    }
    /// Adds a relative URL to `Class-Path` unless it is there already.
    pub fn add_class_path(&mut self, _url: &str) {
        todo!()
    }
    /// Removes `*-Digest*` and `Magic` attributes of sections, and sections left empty; tells whether there were any.
    pub fn remove_digests(&mut self) -> bool {
        todo!()
    }
    /// The bytes: untouched parts as they were, lines of at most 72 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        todo!()
    }
}
