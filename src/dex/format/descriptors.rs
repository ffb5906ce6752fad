//! Descriptors of methods, decoded once a proto: most methods share theirs with others.

use crate::dex::format::file::File;
use crate::error::Result;

/// The descriptors of a dex's protos, as far as they were asked for.
pub(crate) struct Descriptors<'f, 'a> {
    file: &'f File<'a>,
    /// For each proto, where in `text` its descriptor lies; `0..0` where it was not asked for.
    spans: Vec<(u32, u32)>,
    text: String,
    /// The last one that was not kept.
    spare: String,
}

impl<'f, 'a> Descriptors<'f, 'a> {
    pub fn new(file: &'f File<'a>) -> Self {
        Descriptors {
            file,
            spans: vec![(0, 0); file.protos.len()],
            text: String::new(),
            spare: String::new(),
        }
    }

    /// A proto's descriptor, see [`File::proto_descriptor`].
    pub fn of(&mut self, proto: u32) -> Result<&str> {
        if let Some(&(start, end)) = self.spans.get(proto as usize)
            && end > 0
        {
            return Ok(&self.text[start as usize..end as usize]);
        }
        // Protos can share one long list of long names: what is kept stays in proportion to the file.
        if self.text.len() > self.file.bytes.len() {
            self.spare.clear();
            self.file.proto_descriptor(proto, &mut self.spare)?;
            return Ok(&self.spare);
        }
        let start = self.text.len();
        self.file.proto_descriptor(proto, &mut self.text)?;
        self.spans[proto as usize] = (start as u32, self.text.len() as u32);
        Ok(&self.text[start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::Dex;

    #[test]
    fn what_is_kept_and_what_is_not_read_the_same() {
        let dex = Dex::parse(include_bytes!("../../../tests/dex/everything.dex")).unwrap();
        let file = &dex.files[0];
        let mut full = Descriptors::new(file);
        full.text = " ".repeat(file.bytes.len() + 1);
        let mut kept = Descriptors::new(file);
        for proto in (0..file.protos.len() as u32).chain([0]) {
            let mut wanted = String::new();
            file.proto_descriptor(proto, &mut wanted).unwrap();
            assert_eq!(kept.of(proto).unwrap(), wanted);
            assert_eq!(full.of(proto).unwrap(), wanted);
        }
        assert!(full.text.len() == file.bytes.len() + 1 && !kept.text.is_empty());
        assert!(kept.of(file.protos.len() as u32).is_err());
    }
}
