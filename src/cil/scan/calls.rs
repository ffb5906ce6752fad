//! What the methods of a library call, for [`crate::aspect::bind::reach`].
//!
//! Methods have no descriptors here: those of one name are one, which calls what any of them calls. What the platform's own
//! methods do is known here alone, since it depends on their signatures.

use crate::aspect::bind::reach::{Effect, How, LibraryMethod, LibraryType};
use crate::cil::il::insn::{self, Form, op};
use crate::cil::image::Image;
use crate::cil::metadata::flags::{has_il, method_flag, type_flag};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{self, MethodSignature, Reader, element};
use crate::cil::metadata::tables::{decode, token, token_row, token_table};
use crate::error::{Error, Kind, Result};

/// Callees of one method that each further one is compared with.
const MOST_COMPARED: usize = 64;

/// The types of a library, by their names.
pub fn library_types(image: &Image<'_>) -> Result<Vec<(Box<str>, LibraryType)>> {
    let rows = 1..=image.metadata.tables.rows(table::TYPE_DEF);
    rows.map(|ty| library_type(image, ty)).collect()
}

fn library_type(image: &Image<'_>, ty: u32) -> Result<(Box<str>, LibraryType)> {
    use column::method_def::{FLAGS, NAME, RVA};
    let metadata = &image.metadata;
    let tables = &metadata.tables;
    let row = tables.row(table::TYPE_DEF, ty)?;
    let is_sealed = row.get(column::type_def::FLAGS) & type_flag::SEALED != 0;
    let mut library = LibraryType {
        supertypes: supertypes(image, ty)?,
        methods: Vec::new(),
    };
    for position in metadata.method_positions(ty)? {
        let row = tables.row(table::METHOD_DEF, metadata.method_at(position)?)?;
        let flags = row.get(FLAGS);
        let is_abstract = flags & method_flag::ABSTRACT != 0;
        let calls = match has_il(&row) {
            true => Some(calls_of(image, row.get(RVA))?),
            false if is_abstract => Some(Vec::new()),
            false => None,
        };
        let name = metadata.strings.text(row.get(NAME))?;
        let is_final =
            is_sealed || flags & method_flag::VIRTUAL == 0 || flags & method_flag::FINAL != 0;
        match library.methods.iter_mut().find(|m| *m.name == *name) {
            Some(same) => {
                let known = same.calls.take().zip(calls);
                same.calls = known.map(|(a, b)| a.into_iter().chain(b).collect());
                same.is_abstract &= is_abstract;
                same.is_final &= is_final;
            }
            None => library.methods.push(LibraryMethod {
                name: (&*name).into(),
                descriptor: "".into(),
                calls: calls.map(Into::into),
                is_abstract,
                is_final,
            }),
        }
    }
    let name = type_name(image, token(table::TYPE_DEF, ty))?;
    Ok((name.into(), library))
}

/// The base type and the interfaces, but for the platform's: nothing of theirs runs unless it is called.
fn supertypes(image: &Image<'_>, ty: u32) -> Result<Box<[Box<str>]>> {
    use column::interface_impl::{CLASS, INTERFACE};
    let tables = &image.metadata.tables;
    let base = tables
        .row(table::TYPE_DEF, ty)?
        .get(column::type_def::EXTENDS);
    let interfaces = tables.with_key(table::INTERFACE_IMPL, CLASS, ty);
    let all = interfaces.map(|(_, row)| row.get(INTERFACE));
    let mut names = Vec::new();
    for ty in std::iter::once(base).chain(all) {
        let ty = decode(&coded::TYPE_DEF_OR_REF, ty)?;
        if ty == 0 {
            continue;
        }
        let name = definition_name(image, ty)?;
        if !is_platform(&name) {
            names.push(name.into());
        }
    }
    Ok(names.into())
}

fn is_platform(name: &str) -> bool {
    name.starts_with("System.")
}

/// What the code at an address calls.
fn calls_of(image: &Image<'_>, rva: u32) -> Result<Vec<Effect>> {
    let (_, body) = image.body(rva)?;
    let code = body.code;
    let mut calls: Vec<Effect> = Vec::new();
    let mut add = |callee| {
        if calls.len() > MOST_COMPARED || !calls.contains(&callee) {
            calls.push(callee);
        }
    };
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let insn = insn::at(code, pc)?;
        pc = insn.end();
        if !matches!(insn.form, Form::Token | Form::TokenPrefix) {
            continue;
        }
        let token = insn.token(code);
        match insn.opcode {
            op::CALL | op::CALLVIRT | op::NEWOBJ | op::JMP => {
                method(image, insn.opcode, token, &mut add)?;
            }
            op::CALLI => add(Effect::Unknown("calls by a pointer".into())),
            op::LDFTN | op::LDVIRTFTN => add(Effect::Unknown("makes a delegate".into())),
            op::LDSFLD | op::LDSFLDA | op::STSFLD => {
                if let Some(owner) = field_owner(image, token)? {
                    add(Effect::Type(owner.into()));
                }
            }
            _ => {}
        }
    }
    Ok(calls)
}

/// What runs when a method is called.
fn method(image: &Image<'_>, opcode: u16, token: u32, add: &mut dyn FnMut(Effect)) -> Result<()> {
    let metadata = &image.metadata;
    let row = metadata.tables.row(token_table(token), token_row(token))?;
    let (name, signature, owner) = match token_table(token) {
        table::METHOD_SPEC => {
            let method = decode(
                &coded::METHOD_DEF_OR_REF,
                row.get(column::method_spec::METHOD),
            )?;
            return match token_table(method) {
                table::METHOD_SPEC => Err(wrong()),
                _ => self::method(image, opcode, method, add),
            };
        }
        table::METHOD_DEF => (
            row.get(column::method_def::NAME),
            row.get(column::method_def::SIGNATURE),
            self::token(
                table::TYPE_DEF,
                metadata
                    .owner_of_method(token_row(token))
                    .ok_or_else(wrong)?,
            ),
        ),
        table::MEMBER_REF => (
            row.get(column::member_ref::NAME),
            row.get(column::member_ref::SIGNATURE),
            decode(
                &coded::MEMBER_REF_PARENT,
                row.get(column::member_ref::CLASS),
            )?,
        ),
        _ => return Err(wrong()),
    };
    let name = metadata.strings.text(name)?;
    if signature::definition(metadata, owner).is_none() {
        // The methods of arrays are the runtime's own.
        return Ok(());
    }
    let definition = signature::definition(metadata, owner).unwrap_or(owner);
    if !matches!(token_table(definition), table::TYPE_DEF | table::TYPE_REF) {
        add(Effect::Unknown(
            format!("calls {name}, which is not known").into(),
        ));
        return Ok(());
    }
    let owner = type_name(image, definition)?;
    if token_table(definition) == table::TYPE_REF {
        let signature = metadata.blobs.get(signature)?;
        if !is_inert(image, &owner, &name, signature)? {
            // Another library's, or the platform's: the one may be read, too.
            add(match is_platform(&owner) {
                true => Effect::Unknown(format!("calls {owner}.{name}").into()),
                false => callee(&owner, &name, How::Virtual),
            });
        }
        return Ok(());
    }
    let row = metadata
        .tables
        .row(table::TYPE_DEF, token_row(definition))?;
    let is_interface = row.get(column::type_def::FLAGS) & type_flag::INTERFACE != 0;
    add(Effect::Type(owner.as_str().into()));
    add(callee(
        &owner,
        &name,
        match opcode {
            op::CALLVIRT if is_interface => How::Interface,
            op::CALLVIRT => How::Virtual,
            _ => How::Exact,
        },
    ));
    Ok(())
}

fn callee(owner: &str, name: &str, how: How) -> Effect {
    Effect::Method {
        owner: owner.into(),
        name: name.into(),
        descriptor: "".into(),
        how,
    }
}

#[cold]
fn wrong() -> Error {
    Error::new(Kind::Malformed, "a token that names no method")
}

/// The type of a static field, if it is none of the platform's.
fn field_owner(image: &Image<'_>, token: u32) -> Result<Option<String>> {
    let metadata = &image.metadata;
    let row = token_row(token);
    let owner = match token_table(token) {
        table::FIELD => owner_of_field(image, row)?,
        table::MEMBER_REF => {
            let row = metadata.tables.row(table::MEMBER_REF, row)?;
            let class = row.get(column::member_ref::CLASS);
            decode(&coded::MEMBER_REF_PARENT, class)?
        }
        _ => return Err(wrong()),
    };
    let name = definition_name(image, owner)?;
    Ok((!is_platform(&name)).then_some(name))
}

/// The `TypeDef` that a field is of.
fn owner_of_field(image: &Image<'_>, field: u32) -> Result<u32> {
    use column::type_def::FIELD_LIST;
    let tables = &image.metadata.tables;
    // The file may order its fields otherwise.
    if tables.rows(table::FIELD_PTR) > 0 {
        return Err(wrong());
    }
    let (mut low, mut high) = (1, tables.rows(table::TYPE_DEF) + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if tables.row(table::TYPE_DEF, middle)?.get(FIELD_LIST) <= field {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    match low {
        1 => Err(wrong()),
        low => Ok(token(table::TYPE_DEF, low - 1)),
    }
}

fn type_name(image: &Image<'_>, ty: u32) -> Result<String> {
    let known = image.metadata.types().name(ty);
    known.map(str::to_owned).ok_or_else(wrong)
}

/// The name of a type, or of that whose instance it is.
fn definition_name(image: &Image<'_>, ty: u32) -> Result<String> {
    let definition = signature::definition(&image.metadata, ty).ok_or_else(wrong)?;
    type_name(image, definition)
}

/// Exceptions of the core library that libraries throw and extend.
fn is_exception(name: &str) -> bool {
    matches!(
        name,
        "System.Exception"
            | "System.ApplicationException"
            | "System.ArgumentException"
            | "System.ArgumentNullException"
            | "System.ArgumentOutOfRangeException"
            | "System.InvalidOperationException"
            | "System.NotImplementedException"
            | "System.NotSupportedException"
            | "System.SystemException"
    )
}

/// Whether a method of the core library, which is never woven, calls no other code. Methods that depend on the culture
/// may call the program's: it can define its own cultures.
fn is_inert(image: &Image<'_>, owner: &str, name: &str, signature: &[u8]) -> Result<bool> {
    Ok(match owner {
        "System.Object" => matches!(name, ".ctor" | "GetType" | "ReferenceEquals"),
        "System.Type" => name == "GetTypeFromHandle",
        "System.Threading.Interlocked" | "System.Threading.Volatile" | "System.Math" => true,
        "System.Threading.Monitor" => matches!(name, "Enter" | "Exit" | "TryEnter"),
        "System.Threading.Thread" => {
            matches!(name, "get_CurrentThread" | "get_ManagedThreadId" | "Yield")
        }
        "System.Environment" => matches!(
            name,
            "get_TickCount" | "get_TickCount64" | "get_CurrentManagedThreadId"
        ),
        "System.Diagnostics.Stopwatch" => name == "GetTimestamp",
        "System.Runtime.CompilerServices.RuntimeHelpers" => {
            matches!(name, "InitializeArray" | "GetHashCode")
        }
        "System.Nullable`1" => matches!(
            name,
            ".ctor" | "get_HasValue" | "get_Value" | "GetValueOrDefault"
        ),
        "System.String" => {
            let is_known = matches!(
                name,
                ".ctor"
                    | "Concat"
                    | "Equals"
                    | "GetHashCode"
                    | "Insert"
                    | "IsNullOrEmpty"
                    | "IsNullOrWhiteSpace"
                    | "PadLeft"
                    | "PadRight"
                    | "Remove"
                    | "Replace"
                    | "Substring"
                    | "ToString"
                    | "Trim"
                    | "get_Chars"
                    | "get_Length"
                    | "op_Equality"
                    | "op_Inequality"
            );
            is_known && takes_inert(image, signature, &[])?
        }
        "System.Text.StringBuilder" => match name {
            // Numbers are written as the culture has it.
            "Append" | "AppendLine" => takes_inert(image, signature, &NUMBERS)?,
            ".ctor" | "Clear" | "Remove" | "ToString" | "get_Chars" | "get_Length"
            | "set_Length" => takes_inert(image, signature, &[])?,
            _ => false,
        },
        "System.Boolean" | "System.Char" | "System.Int32" | "System.Int64" => {
            matches!(name, "Equals" | "CompareTo" | "GetHashCode")
                && takes_inert(image, signature, &[])?
        }
        name_of if is_exception(name_of) => name == ".ctor" && takes_inert(image, signature, &[])?,
        _ => false,
    })
}

/// The element types of numbers.
const NUMBERS: [u8; 10] = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// Whether all parameters are primitive values, texts, arrays of these or exceptions, none of the element types `but`.
fn takes_inert(image: &Image<'_>, signature: &[u8], but: &[u8]) -> Result<bool> {
    let parsed = MethodSignature::parse(signature)?;
    let mut reader = Reader::new(parsed.parameters);
    for _ in 0..parsed.count {
        let is_inert = match *reader.skip_type()? {
            [one] | [element::SZARRAY, one] => {
                (element::BOOLEAN..=element::STRING).contains(&one) && !but.contains(&one)
            }
            // Only kept.
            [element::CLASS, ref ty @ ..] => {
                let ty = decode(&coded::TYPE_DEF_OR_REF, Reader::new(ty).number()?)?;
                definition_name(image, ty)? == "System.Exception"
            }
            _ => false,
        };
        if !is_inert {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aspect::bind::reach::Reach;
    use crate::cil::testing::SHAPES;
    use rustc_hash::FxHashMap;

    #[test]
    fn what_calls_nobody_else_is_proved_to() {
        let image = Image::parse(SHAPES).unwrap();
        let types: FxHashMap<_, _> = library_types(&image).unwrap().into_iter().collect();
        let reach = Reach::new(&types, std::iter::empty());
        let why = |ty: &str, method: &str| reach.why(ty, method, "");
        assert_eq!(why("Acme.Shapes.Point", ".ctor"), None);
        assert_eq!(why("MarkAttribute", "get_Why"), None);
        // Steps over generic types, arrays' own methods and a type initialiser.
        let sum = why("Acme.Shapes.Shape`1", "Sum").unwrap();
        assert_eq!(
            sum,
            "Acme.Shapes.Shape`1.Sum calls System.Collections.Generic.List`1.get_Count"
        );
        let guarded = why("Acme.Shapes.Steps", "Guarded").unwrap();
        assert_eq!(
            guarded,
            "Acme.Shapes.Steps.Guarded calls System.Int32.Parse"
        );
        let adder = why("Acme.Shapes.Steps", "Adder").unwrap();
        assert_eq!(adder, "Acme.Shapes.Steps.Adder makes a delegate");
        let compared = why("Acme.Shapes.Shape`1", "CompareTo").unwrap();
        assert!(
            compared.starts_with("Acme.Shapes.Shape`1.CompareTo "),
            "{compared}"
        );
        assert!(why("Acme.Nobody", "at").is_some());
    }
}
