//! Types as hook calls see them: those of three formats in one vocabulary.

use std::sync::Arc;

/// A primitive type. The JVM and dex have the signed ones, `Bool`, `Char`, `F32` and `F64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prim {
    Bool,
    Char,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Isize,
    Usize,
}

impl Prim {
    /// Those whose size does not depend on the machine, in the order of their element types (ECMA-335 II.23.1.16).
    pub const WITH_SIZE: [Prim; 12] = [
        Prim::Bool,
        Prim::Char,
        Prim::I8,
        Prim::U8,
        Prim::I16,
        Prim::U16,
        Prim::I32,
        Prim::U32,
        Prim::I64,
        Prim::U64,
        Prim::F32,
        Prim::F64,
    ];
}

/// A type. Two that differ in scopes alone are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    Void,
    Prim(Prim),
    /// A class, interface, struct or enum.
    Named(Arc<Named>),
    /// A one-dimensional array that counts from 0.
    Array(Arc<Ty>),
    /// A managed pointer (.NET): `ref`, `in`, `out`.
    ByRef(Arc<Ty>),
    /// An unmanaged pointer (.NET).
    Pointer(Arc<Ty>),
    /// A type parameter (.NET): of the method, or of its type.
    Param {
        of_method: bool,
        index: u16,
    },
    /// What is passed as it is or not at all (.NET: function pointers, modified types), spelt out.
    Opaque(Arc<str>),
}

/// A type by its name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Full name in the format's own spelling: `java/util/Map$Entry`, ``System.Collections.Generic.List`1``,
    /// `Acme.Outer+Nested`. .NET's `string` and `object` are `System.String` and `System.Object`.
    pub name: Box<str>,
    /// The assembly that defines it (.NET), as a display name (`System.Runtime, Version=8.0.0.0, Culture=neutral,
    /// PublicKeyToken=b03f5f7f11d50a3a`); else empty.
    pub scope: Box<str>,
    /// A struct or enum (.NET).
    pub value: bool,
    /// A ref struct (.NET), which cannot be boxed.
    pub by_ref_like: bool,
    /// Type arguments (.NET).
    pub args: Box<[Ty]>,
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        self.name == other.name && self.args == other.args
    }
}

impl Eq for Named {}

impl std::hash::Hash for Named {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.args.hash(state);
    }
}

/// The type with the type arguments of a generic hook in place.
pub fn instantiate(ty: &Ty, generics: &[Ty]) -> Ty {
    replaced(ty, &mut |parameter| match parameter {
        Ty::Param {
            of_method: true,
            index,
        } => generics.get(usize::from(*index)).cloned(),
        _ => None,
    })
}

/// A type that a generic type's member names, with the type arguments of an instance of it in place.
pub fn of_instance(ty: &Ty, arguments: &[Ty]) -> Ty {
    replaced(ty, &mut |parameter| match parameter {
        Ty::Param {
            of_method: false,
            index,
        } => arguments.get(usize::from(*index)).cloned(),
        _ => None,
    })
}

/// The type as a generic method sees it that has a type parameter of its own for each one in it: `parameters` are those.
pub fn in_method_of_its_own(ty: &Ty, parameters: &mut Vec<Ty>) -> Ty {
    replaced(ty, &mut |parameter| {
        let place = parameters.iter().position(|known| known == parameter);
        let index = place.unwrap_or_else(|| {
            parameters.push(parameter.clone());
            parameters.len() - 1
        });
        Some(Ty::Param {
            of_method: true,
            index: index as u16,
        })
    })
}

/// The type with others in place of its type parameters, where there is one.
fn replaced(ty: &Ty, by: &mut dyn FnMut(&Ty) -> Option<Ty>) -> Ty {
    match ty {
        Ty::Param { .. } => by(ty).unwrap_or_else(|| ty.clone()),
        Ty::Array(inner) => Ty::Array(Arc::new(replaced(inner, by))),
        Ty::ByRef(inner) => Ty::ByRef(Arc::new(replaced(inner, by))),
        Ty::Pointer(inner) => Ty::Pointer(Arc::new(replaced(inner, by))),
        Ty::Named(named) if !named.args.is_empty() => Ty::Named(Arc::new(Named {
            args: named.args.iter().map(|arg| replaced(arg, by)).collect(),
            ..(**named).clone()
        })),
        _ => ty.clone(),
    }
}

/// The type as a generic type sees it that has the parameters of another one and those of a method of that: a state machine.
pub fn in_machine(ty: &Ty, of_type: u16) -> Ty {
    replaced(ty, &mut |parameter| match parameter {
        Ty::Param {
            of_method: true,
            index,
        } => Some(Ty::Param {
            of_method: false,
            index: index + of_type,
        }),
        _ => None,
    })
}

impl Ty {
    /// A class or interface that has neither scope nor arguments, as all of the JVM's and of dex files.
    pub fn class(name: &str) -> Ty {
        Ty::Named(Arc::new(Named {
            name: name.into(),
            scope: "".into(),
            value: false,
            by_ref_like: false,
            args: Box::default(),
        }))
    }

    /// An array of several dimensions, each counting from 0 (.NET): a reference type of a name that no other has.
    pub fn dimensions(rank: u32, element: Ty) -> Ty {
        let commas = ",".repeat(rank.saturating_sub(1) as usize);
        Ty::Named(Arc::new(Named {
            name: format!("[{commas}]").into(),
            scope: "".into(),
            value: false,
            by_ref_like: false,
            args: Box::new([element]),
        }))
    }

    /// The name of a class, interface, struct or enum without type arguments.
    pub fn name(&self) -> Option<&str> {
        match self {
            Ty::Named(named) if named.args.is_empty() => Some(&named.name),
            _ => None,
        }
    }

    /// How many types it is made of.
    pub fn parts(&self) -> usize {
        match self {
            Ty::Named(named) => 1 + named.args.iter().map(Ty::parts).sum::<usize>(),
            Ty::Array(inner) | Ty::ByRef(inner) | Ty::Pointer(inner) => 1 + inner.parts(),
            _ => 1,
        }
    }

    /// Whether a value of it is a reference to an object: `null` is one.
    pub fn is_reference(&self) -> bool {
        match self {
            Ty::Named(named) => !named.value,
            Ty::Array(_) => true,
            _ => false,
        }
    }

    /// A field type's descriptor, or a return type's (JVMS 4.3.2, 4.3.3), as classes and dex files write it. Types of .NET alone have none.
    pub fn put_descriptor(&self, out: &mut String) {
        match self {
            Ty::Void => out.push('V'),
            Ty::Prim(prim) => out.push(match prim {
                Prim::Bool => 'Z',
                Prim::Char => 'C',
                Prim::I8 | Prim::U8 => 'B',
                Prim::I16 | Prim::U16 => 'S',
                Prim::I32 | Prim::U32 | Prim::Isize | Prim::Usize => 'I',
                Prim::I64 | Prim::U64 => 'J',
                Prim::F32 => 'F',
                Prim::F64 => 'D',
            }),
            Ty::Named(named) => {
                out.push('L');
                out.push_str(&named.name);
                out.push(';');
            }
            Ty::Array(element) => {
                out.push('[');
                element.put_descriptor(out);
            }
            Ty::ByRef(_) | Ty::Pointer(_) | Ty::Param { .. } | Ty::Opaque(_) => {
                unreachable!("types of .NET have no descriptor")
            }
        }
    }

    /// The type that a field descriptor, or `V`, at the start of a text spells, and the rest of the text (JVMS 4.3).
    pub fn of_descriptor(descriptor: &str) -> Option<(Ty, &str)> {
        /// JVMS 4.3.2.
        const MAX_DIMENSIONS: usize = 255;
        let dimensions = descriptor.bytes().take_while(|&b| b == b'[').count();
        if dimensions > MAX_DIMENSIONS {
            return None;
        }
        let (mut ty, rest) = match descriptor[dimensions..].split_at_checked(1)? {
            ("L", rest) => {
                let (name, rest) = rest.split_once(';')?;
                (Ty::class(name), rest)
            }
            (letter, rest) => {
                let prim = match letter {
                    "Z" => Prim::Bool,
                    "C" => Prim::Char,
                    "B" => Prim::I8,
                    "S" => Prim::I16,
                    "I" => Prim::I32,
                    "J" => Prim::I64,
                    "F" => Prim::F32,
                    "D" => Prim::F64,
                    "V" if dimensions == 0 => return Some((Ty::Void, rest)),
                    _ => return None,
                };
                (Ty::Prim(prim), rest)
            }
        };
        for _ in 0..dimensions {
            ty = Ty::Array(Arc::new(ty));
        }
        Some((ty, rest))
    }
}

/// Whose bytecode hooks are bound for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Jvm,
    Dex,
    DotNet,
}

impl Target {
    /// What methods are written in, as far as it matters.
    pub const fn language(self) -> Language {
        match self {
            Target::Jvm | Target::Dex => Language::Java,
            Target::DotNet => Language::CSharp,
        }
    }
}

/// The language in whose words types are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Java,
    CSharp,
}

impl Prim {
    /// What a language calls it.
    pub const fn word(self, language: Language) -> &'static str {
        match (self, language) {
            (Prim::Bool, Language::Java) => "boolean",
            (Prim::I8, Language::Java) => "byte",
            (Prim::Bool, Language::CSharp) => "bool",
            (Prim::I8, Language::CSharp) => "sbyte",
            (Prim::Char, _) => "char",
            (Prim::U8, _) => "byte",
            (Prim::I16, _) => "short",
            (Prim::U16, _) => "ushort",
            (Prim::I32, _) => "int",
            (Prim::U32, _) => "uint",
            (Prim::I64, _) => "long",
            (Prim::U64, _) => "ulong",
            (Prim::F32, _) => "float",
            (Prim::F64, _) => "double",
            (Prim::Isize, _) => "nint",
            (Prim::Usize, _) => "nuint",
        }
    }
}

impl Ty {
    /// As a language writes it, with dots, and the types that everybody knows by their short names.
    pub fn shown(&self, language: Language) -> String {
        let mut out = String::new();
        self.put(language, &mut out);
        out
    }

    fn put(&self, language: Language, out: &mut String) {
        match self {
            Ty::Void => out.push_str("void"),
            Ty::Prim(prim) => out.push_str(prim.word(language)),
            // An array of several dimensions.
            Ty::Named(named) if named.name.starts_with('[') => {
                (named.args.iter()).for_each(|element| element.put(language, out));
                out.push_str(&named.name);
            }
            Ty::Named(named) => {
                let name = named.name.replace(['/', '+'], ".");
                out.push_str(match &*name {
                    "java.lang.String" => "String",
                    "java.lang.Object" => "Object",
                    "System.String" => "string",
                    "System.Object" => "object",
                    other => other.split('`').next().unwrap_or(other),
                });
                for (i, arg) in named.args.iter().enumerate() {
                    out.push_str(if i == 0 { "<" } else { ", " });
                    arg.put(language, out);
                }
                if !named.args.is_empty() {
                    out.push('>');
                }
            }
            Ty::Array(element) => {
                element.put(language, out);
                out.push_str("[]");
            }
            Ty::ByRef(ty) => {
                out.push_str("ref ");
                ty.put(language, out);
            }
            Ty::Pointer(ty) => {
                ty.put(language, out);
                out.push('*');
            }
            Ty::Param { of_method, index } => {
                out.push_str(if *of_method { "!!" } else { "!" });
                out.push_str(&index.to_string());
            }
            Ty::Opaque(spelt) => out.push_str(spelt),
        }
    }
}

/// A parameter of a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// Its name in the source, where the artifact has it.
    pub name: Option<Box<str>>,
    pub ty: Ty,
    /// It has no value before the method sets it (C#'s `out`).
    pub out: bool,
}

/// What a method takes and gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The type of `this` as the method gets it: a struct's (.NET) is [`Ty::ByRef`]. A generic type (.NET) has its own
    /// parameters as arguments. None for a static method.
    pub this: Option<Ty>,
    pub parameters: Box<[Parameter]>,
    pub result: Ty,
    /// How many type parameters it has of its own (.NET).
    pub generics: u16,
    /// The last parameter takes the rest of the arguments (`String...`, `params`).
    pub variadic: bool,
}
