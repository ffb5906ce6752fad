//! What the methods of a dex file call, for [`crate::aspect::bind::reach`].

use crate::aspect::bind::reach::{Effect, How, LibraryMethod, LibraryType};
use crate::bytes::{mutf8, u16_at};
use crate::dex::format::class::{Budget, ClassDef, Members, Method, flag};
use crate::dex::format::code_item::Code;
use crate::dex::format::file::{Dex, File, MethodId, NO_INDEX};
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::error::{Error, Result};

/// Hostile files share items and names, so a small file could take memory without end.
struct Limits {
    items: Budget,
    /// Bytes of names that may still be kept.
    names: usize,
}

impl Limits {
    fn new(file: &File<'_>) -> Limits {
        const PER_BYTE: usize = 64;
        Limits {
            items: Budget::new(file, "class data and code items"),
            names: file.bytes.len().saturating_mul(PER_BYTE),
        }
    }

    fn keep(&mut self, callee: &Effect, at: usize) -> Result<()> {
        let bytes = match callee {
            Effect::Type(name) | Effect::Unknown(name) => name.len(),
            Effect::Method {
                owner,
                name,
                descriptor,
                ..
            } => owner.len() + name.len() + descriptor.len(),
        };
        let left = self.names.checked_sub(bytes);
        self.names =
            left.ok_or_else(|| Error::malformed(at, "calls share names out of proportion"))?;
        Ok(())
    }
}

/// The classes of a dex file as those of a library, by their names.
pub fn library_types(dex: &Dex<'_>) -> Result<Vec<(Box<str>, LibraryType)>> {
    let mut types = Vec::new();
    for file in &dex.files {
        let mut budget = Limits::new(file);
        for class in file.classes.iter().map(ClassDef::read) {
            types.push((
                file.type_name(class.ty)?.into(),
                library_type(file, &class, &mut budget)?,
            ));
        }
    }
    Ok(types)
}

fn library_type(file: &File<'_>, class: &ClassDef, budget: &mut Limits) -> Result<LibraryType> {
    let mut supertypes: Vec<Box<str>> = Vec::new();
    if class.superclass != NO_INDEX {
        supertypes.push(file.type_name(class.superclass)?.into());
    }
    for row in file.type_list(class.interfaces)? {
        supertypes.push(file.type_name(u16_at(row, 0).into())?.into());
    }
    // Interfaces could share one list.
    budget
        .items
        .spend(class.interfaces as usize, 2 * supertypes.len())?;
    let mut methods = Vec::new();
    if class.data != 0 {
        let mut members = Members::read(file, class.data)?;
        while let Some(method) = members.next()? {
            methods.push(library_method(file, class, &method, budget)?);
        }
        budget.items.spend(members.start, members.len())?;
    }
    Ok(LibraryType {
        supertypes: supertypes.into(),
        methods,
    })
}

fn library_method(
    file: &File<'_>,
    class: &ClassDef,
    method: &Method,
    budget: &mut Limits,
) -> Result<LibraryMethod> {
    let (name, descriptor) = name_of(file, method.id)?;
    let calls = match method.code {
        0 => None,
        at => {
            let code = Code::read(file.bytes, at as usize)?;
            budget.items.spend(code.offset, code.insns.len())?;
            Some(calls_of(file, class.ty, &code, budget)?.into())
        }
    };
    Ok(LibraryMethod {
        name,
        descriptor,
        calls,
        is_abstract: method.access & flag::ABSTRACT != 0,
        is_final: (class.access | method.access) & flag::FINAL != 0
            || method.access & flag::PRIVATE != 0,
    })
}

fn name_of(file: &File<'_>, method: u32) -> Result<(Box<str>, Box<str>)> {
    let MethodId { proto, name, .. } = file.method(method)?;
    let mut descriptor = String::new();
    file.proto_descriptor(proto, &mut descriptor)?;
    Ok((mutf8(file.string(name)?).into(), descriptor.into()))
}

/// What code calls, in its order, each once.
fn calls_of(
    file: &File<'_>,
    own: u32,
    code: &Code<'_>,
    budget: &mut Limits,
) -> Result<Vec<Effect>> {
    /// Callees of one method that each further one is compared with.
    const MOST_COMPARED: usize = 64;
    let mut calls: Vec<Effect> = Vec::new();
    for insn in insn::each(code.insns) {
        let insn = insn.map_err(|e: Error| e.offset_by(code.offset))?;
        if insn.is_payload {
            continue;
        }
        for callee in callees(file, own, insn)?.into_iter().flatten() {
            if calls.len() > MOST_COMPARED || !calls.contains(&callee) {
                budget.keep(&callee, code.offset)?;
                calls.push(callee);
            }
        }
    }
    Ok(calls)
}

fn callees(file: &File<'_>, own: u32, insn: Insn) -> Result<[Option<Effect>; 2]> {
    let initialises = |ty: u32| -> Result<Option<Effect>> {
        Ok(match ty == own {
            true => None,
            false => Some(Effect::Type(file.type_name(ty)?.into())),
        })
    };
    let how = match insn.opcode {
        op::NEW_INSTANCE => return Ok([initialises(insn.index())?, None]),
        op::SGET..=op::SPUT_SHORT => {
            let row = file.fields.get(insn.index() as usize);
            let row = row.ok_or_else(|| file.no("field", insn.index(), file.fields.len()))?;
            return Ok([initialises(u16_at(row, 0).into())?, None]);
        }
        op::INVOKE_VIRTUAL | op::INVOKE_VIRTUAL_RANGE => How::Virtual,
        op::INVOKE_INTERFACE | op::INVOKE_INTERFACE_RANGE => How::Interface,
        // Super methods, constructors and private ones, static ones.
        op::INVOKE_VIRTUAL..=op::INVOKE_INTERFACE
        | op::INVOKE_VIRTUAL_RANGE..=op::INVOKE_INTERFACE_RANGE => How::Exact,
        op::INVOKE_POLYMORPHIC..=op::CONST_METHOD_TYPE => {
            let what = "uses method handles (a lambda, a method reference)";
            return Ok([Some(Effect::Unknown(what.into())), None]);
        }
        _ => return Ok([None, None]),
    };
    let MethodId { class: owner, .. } = file.method(insn.index())?;
    let is_static = matches!(insn.opcode, op::INVOKE_STATIC | op::INVOKE_STATIC_RANGE);
    let (name, descriptor) = name_of(file, insn.index())?;
    let call = Effect::Method {
        owner: file.type_name(owner)?.into(),
        name,
        descriptor,
        how,
    };
    let first = if is_static { initialises(owner)? } else { None };
    Ok([first, Some(call)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashMap;

    const EVERYTHING: &[u8] = include_bytes!("../../tests/dex/everything.dex");

    fn types(bytes: &[u8]) -> FxHashMap<Box<str>, LibraryType> {
        let types = library_types(&Dex::parse(bytes).unwrap()).unwrap();
        types.into_iter().collect()
    }

    #[test]
    fn calls_are_told_with_what_they_initialise() {
        let types = types(EVERYTHING);
        let ty = &types["fix/Everything"];
        assert_eq!(
            ty.supertypes[..2],
            ["java/lang/Object".into(), "java/lang/Runnable".into()]
        );
        let mut told = String::new();
        for method in &ty.methods {
            told += &format!("{}{}", method.name, method.descriptor);
            let Some(calls) = &method.calls else {
                told += " has no code\n";
                continue;
            };
            for callee in calls {
                told += &match callee {
                    Effect::Method {
                        owner,
                        name,
                        descriptor,
                        how,
                    } => {
                        format!("\n  {how:?} {owner}.{name}{descriptor}")
                    }
                    callee => format!("\n  {callee:?}"),
                };
            }
            told += "\n";
        }
        insta::assert_snapshot!(told, @r#"
        <clinit>()V
        <init>(J)V
          Exact java/lang/Object.<init>()V
        bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;I)Ljava/lang/invoke/CallSite;
        poly(Ljava/lang/invoke/MethodHandle;I)V
          Unknown("uses method handles (a lambda, a method reference)")
        run(I)I
          Virtual java/lang/String.length()I
        call()Ljava/lang/Object;
          Unknown("uses method handles (a lambda, a method reference)")
        nothing()V has no code
        run()V
          Type("java/lang/System")
          Virtual java/io/PrintStream.println(Ljava/lang/Object;)V
        "#);
    }

    #[test]
    fn what_is_shared_without_end_is_refused() {
        let dex = Dex::parse(EVERYTHING).unwrap();
        let file = &dex.files[0];
        let types = |limits: &mut Limits| {
            let mut classes = file.classes.iter().map(ClassDef::read);
            classes.find_map(|class| library_type(file, &class, limits).err())
        };
        let mut limits = Limits::new(file);
        let told = (0..1000).find_map(|_| types(&mut limits)).unwrap();
        assert!(told.to_string().contains("items overlap"), "{told}");
        let mut limits = Limits {
            names: 20,
            ..Limits::new(file)
        };
        let told = types(&mut limits).unwrap();
        assert!(told.to_string().contains("share names"), "{told}");
    }
}
