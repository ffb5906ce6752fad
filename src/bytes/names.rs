//! Names that many texts share: such a text refers to them by number instead of repeating them. A signature is then as
//! long as it has types, however long their names are.

/// In front of a reference in a text.
const REFERENCE: char = '\u{1}';

/// Names by number, from 0.
#[derive(Debug, Default)]
pub struct Names {
    text: String,
    /// Where each name ends.
    ends: Vec<u32>,
}

impl Names {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Bytes that they take.
    pub fn size(&self) -> usize {
        self.text.len() + std::mem::size_of_val(&self.ends[..])
    }

    /// Adds the name that `put` appends, unless that fails; gives its number.
    pub fn add<E>(&mut self, put: impl FnOnce(&mut String) -> Result<(), E>) -> Result<u32, E> {
        let start = self.text.len();
        if let Err(e) = put(&mut self.text) {
            self.text.truncate(start);
            return Err(e);
        }
        self.ends.push(self.text.len() as u32);
        Ok(self.ends.len() as u32 - 1)
    }

    /// A name by its number.
    pub fn get(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        let start = match number {
            0 => 0,
            _ => *self.ends.get(number - 1)?,
        };
        Some(&self.text[start as usize..*self.ends.get(number)? as usize])
    }

    /// All names, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.ends.len()).map(|number| self.get(number as u32).expect("it is one of them"))
    }

    /// Appends a reference to a name: its number in digits of five bits, the lowest first, as the characters from `@` on,
    /// or, where more follow, from the accent on.
    pub fn refer(number: u32, text: &mut String) {
        text.push(REFERENCE);
        let mut rest = number;
        while rest >= 32 {
            text.push(char::from(0x60 | (rest & 31) as u8));
            rest >>= 5;
        }
        text.push(char::from(0x40 | rest as u8));
    }

    /// Appends a text with names in place of references, of at most `most` bytes. `None` if it is longer or refers to what
    /// is not there.
    pub fn expand(&self, text: &str, most: usize, out: &mut String) -> Option<()> {
        let start = out.len();
        let mut parts = text.split(REFERENCE);
        out.push_str(parts.next()?);
        for part in parts {
            // Seven digits hold any number.
            let end = 1 + part.bytes().take(7).position(|b| b & 0x60 == 0x40)?;
            let digits = part.as_bytes()[..end].iter().rev();
            if !digits.clone().all(|digit| (0x40..0x80).contains(digit)) {
                return None;
            }
            let number = digits.fold(0u32, |number, digit| number << 5 | u32::from(digit & 31));
            out.push_str(self.get(number)?);
            out.push_str(&part[end..]);
            if out.len() - start > most {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_names_again() {
        let mut names = Names::default();
        for i in 0..1100 {
            let name = format!("Name{i}");
            let number = names.add(|text| {
                text.push_str(&name);
                Ok::<_, ()>(())
            });
            assert_eq!(number, Ok(i));
        }
        let failed = names.add(|text| {
            text.push('x');
            Err("no")
        });
        assert_eq!(failed, Err("no"));
        assert_eq!(names.iter().len(), 1100);
        let mut text = String::from("(");
        let mut wanted = text.clone();
        for number in [0, 31, 32, 1023, 1024, 1099] {
            Names::refer(number, &mut text);
            text.push_str(", é");
            wanted.push_str(&format!("Name{number}, é"));
        }
        let mut out = String::new();
        assert_eq!(names.expand(&text, 1000, &mut out), Some(()));
        assert_eq!(out, wanted);
        assert_eq!(
            names.expand(&text, wanted.len() - 20, &mut String::new()),
            None
        );
        for wrong in [
            "\u{1}",
            "\u{1}(",
            "\u{1}``",
            "\u{1}````````@",
            "\u{1}é",
            "\u{1}`````_",
        ] {
            assert_eq!(
                names.expand(wrong, 1000, &mut String::new()),
                None,
                "{wrong:?}"
            );
        }
    }
}
