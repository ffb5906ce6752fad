//! The default `serialVersionUID` of a class (Java Object Serialization Specification, 4.6).
//!
//! A class that names none has a number that is a hash of what it declares. What weaving changes of that must not change the number,
//! or the woven program refuses what the unwoven one wrote.

use crate::aspect::pointcut::Hierarchy;
use rustc_hash::FxHashSet;
use sha1::{Digest, Sha1};

/// The field that gives a class its number.
pub const FIELD: &str = "serialVersionUID";

/// Modifiers, as class files have them.
mod modifier {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const VOLATILE: u16 = 0x0040;
    pub const TRANSIENT: u16 = 0x0080;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const STRICT: u16 = 0x0800;
}
use modifier::*;

const OF_CLASS: u16 = PUBLIC | FINAL | INTERFACE | ABSTRACT;
const OF_FIELD: u16 = PUBLIC | PRIVATE | PROTECTED | STATIC | FINAL | VOLATILE | TRANSIENT;
const OF_METHOD: u16 =
    PUBLIC | PRIVATE | PROTECTED | STATIC | FINAL | SYNCHRONIZED | NATIVE | ABSTRACT | STRICT;

/// A field or a method. Texts are modified UTF-8.
#[derive(Clone, Copy)]
pub struct Member<'m> {
    pub access: u16,
    pub name: &'m [u8],
    pub descriptor: &'m [u8],
}

impl Member<'_> {
    fn is_private(&self) -> bool {
        self.access & PRIVATE != 0
    }
}

/// What a class declares.
pub struct Declared<'d> {
    /// In internal form.
    pub name: &'d [u8],
    /// Of a nested class what its declaration says (`InnerClasses`).
    pub access: u16,
    pub interfaces: Vec<&'d [u8]>,
    pub fields: Vec<Member<'d>>,
    /// Constructors and the static initialiser among them.
    pub methods: Vec<Member<'d>>,
}

impl Declared<'_> {
    /// The number of the class if it names none.
    pub fn default_number(&self) -> i64 {
        let mut hash = Hash(Sha1::new());
        hash.dotted(self.name);
        hash.int(self.class_modifiers());
        let mut interfaces = self.interfaces.clone();
        interfaces.sort_unstable();
        interfaces.into_iter().for_each(|name| hash.dotted(name));
        let mut fields: Vec<&Member<'_>> = (self.fields.iter())
            .filter(|f| !f.is_private() || f.access & (STATIC | TRANSIENT) == 0)
            .collect();
        fields.sort_by_key(|field| field.name);
        for field in fields {
            hash.text(field.name);
            hash.int(field.access & OF_FIELD);
            hash.text(field.descriptor);
        }
        let mut methods: Vec<&Member<'_>> = self.methods.iter().collect();
        // The static initialiser, constructors, then methods.
        methods.sort_by_key(|m| (place(m.name), m.name, m.descriptor));
        for method in methods {
            let access = match place(method.name) {
                0 => STATIC,
                _ if method.is_private() => continue,
                _ => method.access & OF_METHOD,
            };
            hash.text(method.name);
            hash.int(access);
            match place(method.name) {
                0 => hash.text(method.descriptor),
                _ => hash.dotted(method.descriptor),
            }
        }
        let digest = hash.0.finalize();
        let first: [u8; 8] = std::array::from_fn(|i| digest[i]);
        i64::from_le_bytes(first)
    }

    /// An interface without methods counts as not abstract.
    fn class_modifiers(&self) -> u16 {
        let own = self.access & OF_CLASS;
        if own & INTERFACE == 0 {
            return own;
        }
        match self.methods.iter().any(|method| place(method.name) == 2) {
            true => own | ABSTRACT,
            false => own & !ABSTRACT,
        }
    }

    /// What the field that gives the number does, if there is one.
    pub fn said(&self) -> Said {
        let mut said = match self.fields.len() < usize::from(u16::MAX) {
            true => Said::Nothing,
            false => Said::Wrong,
        };
        for field in (self.fields.iter()).filter(|field| field.name == FIELD.as_bytes()) {
            let is_constant = field.access & (STATIC | FINAL) == STATIC | FINAL;
            match matches!(field.descriptor, b"J" | b"I" | b"S" | b"B" | b"C") && is_constant {
                true => return Said::Number,
                false => said = Said::Wrong,
            }
        }
        said
    }
}

/// What a class says of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Nothing,
    Number,
    /// A field of that name which the JDK does not read: it has the default number, and there is no place for another field.
    Wrong,
}

fn place(method: &[u8]) -> u8 {
    match method {
        b"<clinit>" => 0,
        b"<init>" => 1,
        _ => 2,
    }
}

/// What is hashed, as `DataOutputStream` writes it.
struct Hash(Sha1);

impl Hash {
    fn text(&mut self, text: &[u8]) {
        self.0.update((text.len() as u16).to_be_bytes());
        self.0.update(text);
    }

    /// A name or descriptor, with dots in its names.
    fn dotted(&mut self, text: &[u8]) {
        let dot = |b: &u8| if *b == b'/' { b'.' } else { *b };
        let dotted: Vec<u8> = text.iter().map(dot).collect();
        self.text(&dotted);
    }

    fn int(&mut self, access: u16) {
        self.0.update(u32::from(access).to_be_bytes());
    }
}

/// Whether objects of a class can be written, and it has a number that follows from what it declares, as far as is known.
pub fn may_have_default_number(hierarchy: &Hierarchy, class: &str) -> bool {
    let mut all = vec![class];
    let mut seen = FxHashSet::default();
    let mut may = false;
    while let Some(ty) = all.pop() {
        match ty {
            // Always 0.
            "java/lang/Enum" | "java/lang/Record" => return false,
            "java/lang/Object" => continue,
            "java/io/Serializable" | "java/io/Externalizable" => may = true,
            _ => match hierarchy.above(ty) {
                None => may = true,
                Some(above) => {
                    let above = above.iter().map(|ty| &**ty);
                    all.extend(above.filter(|ty| seen.insert(*ty)));
                }
            },
        }
    }
    may
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_does_not_count() {
        let member = |access, name: &'static str, descriptor: &'static str| Member {
            access,
            name: name.as_bytes(),
            descriptor: descriptor.as_bytes(),
        };
        let class = |methods: &[Member<'static>]| Declared {
            name: b"p/A",
            access: ABSTRACT,
            interfaces: vec![b"java/io/Serializable"],
            fields: vec![member(0, "f", "I")],
            methods: methods.to_vec(),
        };
        let run = member(SYNCHRONIZED, "m", "(Ljava/lang/String;)V");
        let init = member(0, "<init>", "()V");
        let number = class(&[run, init]).default_number();
        let hidden = member(PRIVATE | SYNCHRONIZED, "n", "()V");
        assert_eq!(class(&[hidden, init, run]).default_number(), number);
        let plain = Member { access: 0, ..run };
        assert_ne!(class(&[init, plain]).default_number(), number);
    }

    #[test]
    fn a_field_that_the_jdk_does_not_read_is_wrong() {
        let said = |access, descriptor: &'static str| {
            let field = Member {
                access,
                name: FIELD.as_bytes(),
                descriptor: descriptor.as_bytes(),
            };
            let class = Declared {
                name: b"A",
                access: 0,
                interfaces: vec![],
                fields: vec![field],
                methods: vec![],
            };
            class.said()
        };
        assert_eq!(said(STATIC | FINAL, "J"), Said::Number);
        assert_eq!(said(STATIC | FINAL, "I"), Said::Number);
        assert_eq!(said(STATIC, "J"), Said::Wrong);
        assert_eq!(said(FINAL, "J"), Said::Wrong);
        assert_eq!(said(STATIC | FINAL, "Ljava/lang/Long;"), Said::Wrong);
    }

    #[test]
    fn enums_and_records_have_no_number_of_their_own() {
        let mut hierarchy = Hierarchy::default();
        for (ty, above) in [
            ("Plain", &["java/lang/Object"][..]),
            ("Under", &["Plain", "java/io/Serializable"]),
            ("Color", &["java/lang/Enum"]),
            ("Color$1", &["Color", "java/io/Serializable"]),
            ("Unknown", &["lib/Base"]),
        ] {
            let above = above.iter().map(|ty| Box::from(*ty)).collect();
            hierarchy.supertypes.insert(ty.into(), above);
        }
        let may: Vec<bool> = ["Plain", "Under", "Color", "Color$1", "Unknown", "Other"]
            .map(|ty| may_have_default_number(&hierarchy, ty))
            .into();
        assert_eq!(may, [false, true, false, false, true, true]);
    }
}
