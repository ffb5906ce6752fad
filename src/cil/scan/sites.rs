//! The calls that a method makes. A static method of the same assembly can make those as well, by the same token, that name no
//! type parameters: of static methods, virtual calls, and those of methods of classes that are known not to be virtual.

use crate::aspect::advice::Reason;
use crate::aspect::callees::{CallRules, Callees};
use crate::aspect::joinpoint::Callee;
use crate::aspect::joinpoint::{CallDetails, CallHow, CallSite, Callers, EachCall, EachName};
use crate::aspect::short::{self, Knows};
use crate::cil::il::insn::{self, Form, op};
use crate::cil::image::Image;
use crate::cil::metadata::flags::{has_il, method_flag};
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::{self, MethodSignature, kind};
use crate::cil::metadata::tables::{Row, decode, token, token_row, token_table};
use crate::cil::scan::types;
use crate::error::{Error, Kind, Result};

/// Methods of the platform that, by their documentation, look at the assembly that calls them, or tell the last error of a native
/// call, which hooks in front may change; and what the runtime suspends at. `*`: all of the type.
const CALLER_SENSITIVE: [(&str, &[&str]); 8] = [
    (
        "System.Activator",
        &["CreateInstance", "CreateInstanceFrom"],
    ),
    (
        "System.Reflection.Assembly",
        &[
            "GetCallingAssembly",
            "GetExecutingAssembly",
            "Load",
            "LoadFrom",
            "LoadWithPartialName",
        ],
    ),
    ("System.Reflection.MethodBase", &["GetCurrentMethod"]),
    ("System.Runtime.CompilerServices.AsyncHelpers", &["*"]),
    (
        "System.Runtime.InteropServices.Marshal",
        &[
            "GetLastPInvokeError",
            "GetLastSystemError",
            "GetLastWin32Error",
        ],
    ),
    (
        "System.Runtime.InteropServices.NativeLibrary",
        &["Load", "TryLoad"],
    ),
    ("System.Runtime.Loader.AssemblyLoadContext", &["*"]),
    ("System.Type", &["GetType"]),
];

/// A method that a call names.
struct Named<'n, 'i, 'a> {
    image: &'i Image<'a>,
    token: u32,
    /// The type that it names, a token.
    owner: u32,
    signature: u32,
    name: &'n str,
    how: CallHow,
    /// The method that makes the call, a row.
    caller: u32,
    /// Of a method of the assembly itself.
    flags: Option<u32>,
}

impl CallDetails for Named<'_, '_, '_> {
    fn described(&self) -> Option<String> {
        let mut text = String::new();
        signature::put_descriptor(&self.image.metadata, 0, self.signature, &mut text);
        Some(text)
    }

    fn parameters(&self, each: EachName<'_>) {
        signature::parameters(&self.image.metadata, 0, self.signature, each);
    }

    fn callee(&self) -> Option<Callee> {
        let blob = self.image.metadata.blobs.get(self.signature).ok()?;
        let types::NamedMethod {
            owner,
            parameters,
            result,
        } = types::callee(self.image, self.owner, blob).ok()?;
        Some(Callee {
            owner,
            owner_is_interface: false,
            name: self.name.into(),
            how: self.how,
            parameters: parameters.into(),
            result,
            reference: self.token,
        })
    }

    fn callers(&self) -> Callers {
        match self.flags {
            // Of the assembly, and all that includes.
            Some(flags) if matches!(flags & method_flag::ACCESS, 3 | 5 | 6) => Callers::All,
            Some(_) => Callers::Some,
            None => {
                let caller = self.image.metadata.owner_of_method(self.caller);
                bases(self.image, caller.unwrap_or_default())
            }
        }
    }
}

/// A field that nobody else sets (II.23.1.5).
const INIT_ONLY: u32 = 0x20;

/// What a token of a field means.
pub(super) struct Field {
    pub name: u32,
    pub signature: u32,
    /// The type that it names, a token.
    pub owner: u32,
    pub is_init_only: bool,
}

/// Whether only its type sets a field (a row of `Field`).
pub(super) fn is_init_only(row: &Row<'_>) -> bool {
    row.get(column::field::FLAGS) & INIT_ONLY != 0
}

/// What it means.
pub(super) fn field(image: &Image<'_>, named: u32) -> Result<Field> {
    let metadata = &image.metadata;
    let row = metadata.tables.row(token_table(named), token_row(named))?;
    let wrong = || Error::new(Kind::Malformed, "an access of no field");
    match token_table(named) {
        table::FIELD => Ok(Field {
            name: row.get(column::field::NAME),
            signature: row.get(column::field::SIGNATURE),
            owner: token(
                table::TYPE_DEF,
                metadata
                    .owner_of_field(token_row(named))
                    .ok_or_else(wrong)?,
            ),
            is_init_only: is_init_only(&row),
        }),
        table::MEMBER_REF => {
            let MemberRef {
                name,
                signature,
                owner,
            } = member_ref(&row)?;
            Ok(Field {
                name,
                signature,
                owner,
                is_init_only: false,
            })
        }
        _ => Err(wrong()),
    }
}

/// What a token of a method means.
pub(super) struct Resolved {
    name: u32,
    pub(super) signature: u32,
    pub(super) owner: u32,
    /// Of a method of the assembly itself.
    flags: Option<u32>,
    is_instance: bool,
}

/// A row of `MemberRef` (ECMA-335 II.22.25).
pub(super) struct MemberRef {
    pub(super) name: u32,
    pub(super) signature: u32,
    /// The token of the parent.
    pub(super) owner: u32,
}

pub(super) fn member_ref(row: &Row<'_>) -> Result<MemberRef> {
    let parent = row.get(column::member_ref::CLASS);
    Ok(MemberRef {
        name: row.get(column::member_ref::NAME),
        signature: row.get(column::member_ref::SIGNATURE),
        owner: decode(&coded::MEMBER_REF_PARENT, parent)?,
    })
}

pub(super) fn resolve(image: &Image<'_>, token: u32) -> Result<Resolved> {
    let metadata = &image.metadata;
    let row = metadata.tables.row(token_table(token), token_row(token))?;
    let wrong = || Error::new(Kind::Malformed, "a call of no method");
    match token_table(token) {
        table::METHOD_DEF => Ok(Resolved {
            name: row.get(column::method_def::NAME),
            signature: row.get(column::method_def::SIGNATURE),
            owner: self::token(
                table::TYPE_DEF,
                metadata
                    .owner_of_method(token_row(token))
                    .ok_or_else(wrong)?,
            ),
            flags: Some(row.get(column::method_def::FLAGS)),
            is_instance: false,
        }),
        table::MEMBER_REF => {
            let MemberRef {
                name,
                signature,
                owner,
            } = member_ref(&row)?;
            Ok(Resolved {
                name,
                signature,
                owner,
                flags: None,
                is_instance: false,
            })
        }
        table::METHOD_SPEC => {
            let method = decode(
                &coded::METHOD_DEF_OR_REF,
                row.get(column::method_spec::METHOD),
            )?;
            match token_table(method) {
                table::METHOD_SPEC => Err(wrong()),
                _ => Ok(Resolved {
                    is_instance: true,
                    ..resolve(image, method)?
                }),
            }
        }
        _ => Err(wrong()),
    }
}

/// The methods that tokens in code name, and whether rules about calls may mean each.
pub(super) struct Called {
    definitions: Callees,
    references: Callees,
    instances: Callees,
}

impl Called {
    /// Asks rules about each method that the image names.
    pub(super) fn ask(image: &Image<'_>, rules: &dyn CallRules) -> Called {
        let tables = &image.metadata.tables;
        let mut owner = Owner::default();
        let asked = |number, may_mean: &mut dyn FnMut(u32) -> bool| {
            let rows = tables.rows(number) as usize + 1;
            Callees::ask(rows, |row| row != 0 && may_mean(token(number, row as u32)))
        };
        let mut may_mean = |method| owner.may_mean(image, rules, method).unwrap_or_default();
        let mut called = Called {
            definitions: asked(table::METHOD_DEF, &mut may_mean),
            references: asked(table::MEMBER_REF, &mut may_mean),
            instances: Callees::default(),
        };
        if !called.is_empty() {
            called.instances = asked(table::METHOD_SPEC, &mut |method| {
                let named = instantiated(image, method);
                named.is_some_and(|named| called.has(named))
            });
        }
        called
    }

    fn is_empty(&self) -> bool {
        self.definitions.is_empty() && self.references.is_empty()
    }

    /// Whether rules may mean a call of this token.
    #[inline]
    fn has(&self, token: u32) -> bool {
        let row = token_row(token) as usize;
        match token_table(token) {
            table::METHOD_DEF => self.definitions.has(row),
            table::MEMBER_REF => self.references.has(row),
            table::METHOD_SPEC => self.instances.has(row),
            _ => false,
        }
    }
}

/// The method that a row of `MethodSpec` is an instance of, a token.
fn instantiated(image: &Image<'_>, method: u32) -> Option<u32> {
    let row = (image.metadata.tables).row(table::METHOD_SPEC, token_row(method));
    let named = row.ok()?.get(column::method_spec::METHOD);
    decode(&coded::METHOD_DEF_OR_REF, named).ok()
}

/// The name of a type: methods that follow each other are often of one.
#[derive(Default)]
struct Owner {
    ty: u32,
    name: String,
}

impl Owner {
    /// Names the type of a method: the definition, if it is an instance.
    fn name(&mut self, image: &Image<'_>, ty: u32) -> &str {
        if self.ty != ty {
            self.ty = ty;
            self.name.clear();
            let metadata = &image.metadata;
            let definition = signature::definition(metadata, ty).unwrap_or(ty);
            signature::put_type_name(metadata, 0, definition, &mut self.name);
        }
        &self.name
    }

    /// Whether rules may mean a method, a token.
    fn may_mean(&mut self, image: &Image<'_>, rules: &dyn CallRules, method: u32) -> Result<bool> {
        let metadata = &image.metadata;
        let column = match token_table(method) {
            table::METHOD_DEF => column::method_def::NAME,
            _ => column::member_ref::NAME,
        };
        let row = (metadata.tables).row(token_table(method), token_row(method))?;
        let name = metadata.strings.text(row.get(column))?;
        // Constructors are no methods.
        if name.starts_with(".c") || !rules.may_be_named(&name) {
            return Ok(false);
        }
        let resolved = resolve(image, method)?;
        Ok(rules.may_mean(self.name(image, resolved.owner), &name, ""))
    }
}

/// Whether what a call's token names is known.
pub(super) fn is_known(image: &Image<'_>, token: u32, knows: Knows<'_>) -> Result<bool> {
    let resolved = resolve(image, token)?;
    Ok(knows(&short::Called {
        ty: Owner::default().name(image, resolved.owner),
        method: &image.metadata.strings.text(resolved.name)?,
        parameters: parameter_count(image, resolved.signature)?,
    }))
}

pub(super) fn parameter_count(image: &Image<'_>, signature: u32) -> Result<usize> {
    let blob = image.metadata.blobs.get(signature)?;
    Ok(MethodSignature::parse(blob)?.count as usize)
}

/// Shows the calls of a method (a `MethodDef` row) that rules may mean, in the code's order, as far as its body can be read.
pub(super) fn each_call(
    image: &Image<'_>,
    called: &Called,
    method: u32,
    each: EachCall<'_>,
) -> Result<()> {
    let metadata = &image.metadata;
    let mut owner = Owner::default();
    each_token(image, called, method, &mut |site| {
        let resolved = resolve(image, site.token)?;
        let name = metadata.strings.text(resolved.name)?;
        let owner_name = owner.name(image, resolved.owner);
        let how = match site.is_constrained {
            true => Err(Reason::CallOfExact),
            false => how(image, (owner_name, &name), site.opcode, &resolved),
        };
        each(&CallSite {
            at: site.at,
            ty: owner_name,
            method: &name,
            descriptor: "",
            how,
            details: &Named {
                image,
                token: site.token,
                owner: resolved.owner,
                signature: resolved.signature,
                name: &name,
                how: how.unwrap_or(CallHow::Exact),
                caller: method,
                flags: resolved.flags,
            },
        });
        Ok(true)
    })
}

/// Whether a method (a `MethodDef` row) makes a call that rules may mean, as far as its body can be read.
pub(super) fn may_call(image: &Image<'_>, called: &Called, method: u32) -> bool {
    let mut found = false;
    // A body that cannot be read stays as it is.
    let _ = each_token(image, called, method, &mut |_| {
        found = true;
        Ok(false)
    });
    found
}

/// A call instruction.
struct TokenSite {
    at: u32,
    opcode: u16,
    token: u32,
    is_constrained: bool,
}

/// Shows the call instructions whose tokens rules may mean, until `each` says that it has seen enough.
fn each_token(
    image: &Image<'_>,
    called: &Called,
    method: u32,
    each: &mut dyn FnMut(TokenSite) -> Result<bool>,
) -> Result<()> {
    if called.is_empty() {
        return Ok(());
    }
    let row = image.metadata.tables.row(table::METHOD_DEF, method)?;
    if !has_il(&row) {
        return Ok(());
    }
    let (_, body) = image.body(row.get(column::method_def::RVA))?;
    let mut pc = 0;
    let mut is_constrained = false;
    while let Some(&first) = body.code.get(pc as usize) {
        let is_call = matches!(u16::from(first), op::CALL | op::CALLVIRT);
        let quick = insn::quick(first);
        if quick != 0 && !is_call {
            pc += u32::from(quick & insn::quick::LENGTH);
            is_constrained = false;
            continue;
        }
        let insn = insn::at(body.code, pc)?;
        pc = insn.end();
        if !is_call {
            is_constrained = match insn.form {
                Form::TokenPrefix => true,
                Form::Prefix => is_constrained,
                _ => false,
            };
            continue;
        }
        let was_constrained = std::mem::take(&mut is_constrained);
        let token = insn.token(body.code);
        let site = TokenSite {
            at: insn.pc,
            opcode: insn.opcode,
            token,
            is_constrained: was_constrained,
        };
        if called.has(token) && !each(site)? {
            break;
        }
    }
    Ok(())
}

/// How a call is made, if a static method of the assembly can make it.
fn how(
    image: &Image<'_>,
    (owner, name): (&str, &str),
    opcode: u16,
    resolved: &Resolved,
) -> std::result::Result<CallHow, Reason> {
    const CONVENTION: u8 = 0x0f;
    let metadata = &image.metadata;
    let blob = metadata.blobs.get(resolved.signature);
    let Ok((blob, parsed)) = blob.and_then(|blob| Ok((blob, MethodSignature::parse(blob)?))) else {
        return Err(Reason::Unsupported);
    };
    if resolved.is_instance
        || parsed.flags & kind::GENERIC != 0
        || !matches!(
            token_table(resolved.owner),
            table::TYPE_DEF | table::TYPE_REF
        )
        || types::is_generic(image, resolved.owner)
        || signature::names_type_parameters(blob)
    {
        return Err(Reason::CallOfGeneric);
    }
    if parsed.flags & (CONVENTION | kind::EXPLICIT_THIS) != 0 {
        return Err(Reason::Unsupported);
    }
    let how = match (parsed.flags & kind::HAS_THIS != 0, opcode) {
        (false, _) => CallHow::Static,
        (true, op::CALLVIRT) => CallHow::Virtual,
        // Compilers call so what is not virtual, on what is not null.
        (true, _) if owner == "System.String" || is_plain(image, resolved) => CallHow::Exact,
        (true, _) => return Err(Reason::CallOfExact),
    };
    let mut lists = CALLER_SENSITIVE.iter().filter(|(ty, _)| *ty == owner);
    if lists.any(|(_, names)| names.iter().any(|&known| known == "*" || known == name)) {
        return Err(Reason::CallerSensitive);
    }
    match is_type_visible(image, resolved.owner) {
        true => Ok(how),
        false => Err(Reason::CallOfHidden),
    }
}

/// Whether it is a method of a class of the assembly that no other takes the place of.
fn is_plain(image: &Image<'_>, resolved: &Resolved) -> bool {
    let is_virtual = |flags: u32| flags & method_flag::VIRTUAL != 0;
    resolved.flags.is_some_and(|flags| !is_virtual(flags))
        && token_table(resolved.owner) == table::TYPE_DEF
        && types::is_value_type(image, token_row(resolved.owner)).is_ok_and(|is| !is)
}

/// Whether the whole assembly sees a type.
pub(crate) fn is_type_visible(image: &Image<'_>, ty: u32) -> bool {
    let mut ty = match token_table(ty) {
        table::TYPE_DEF => Some(token_row(ty)),
        _ => None,
    };
    let mut depth = 0;
    while let Some(row) = ty {
        let flags = image.metadata.tables.row(table::TYPE_DEF, row);
        let flags = flags.map_or(3, |row| row.get(column::type_def::FLAGS));
        // Nested private, family, family and assembly (II.23.1.15).
        if matches!(flags & 7, 3 | 4 | 6) || depth > 64 {
            return false;
        }
        depth += 1;
        ty = image.metadata.enclosing(row);
    }
    true
}

/// The base types in other assemblies of a type and of those around it. One that cannot be read has no name.
fn bases(image: &Image<'_>, caller: u32) -> Callers {
    let metadata = &image.metadata;
    let mut bases = Vec::new();
    let mut around = Some(caller);
    for _ in 0..64 {
        let Some(mut ty) = around else { break };
        around = metadata.enclosing(ty);
        for depth in 0.. {
            let row = metadata.tables.row(table::TYPE_DEF, ty);
            let base = row.map(|row| row.get(column::type_def::EXTENDS));
            let base = base.and_then(|base| decode(&coded::TYPE_DEF_OR_REF, base));
            match base
                .ok()
                .and_then(|base| signature::definition(metadata, base))
            {
                Some(base) if token_table(base) == table::TYPE_DEF && depth < 1_000 => {
                    ty = token_row(base);
                }
                // An interface, or `<Module>`.
                Some(0) => break,
                base => {
                    let mut text = String::new();
                    if let Some(base) = base {
                        signature::put_type_name(metadata, 0, base, &mut text);
                    }
                    bases.push(text);
                    break;
                }
            }
        }
    }
    if around.is_some() {
        bases.push(String::new());
    }
    Callers::Below(bases)
}
