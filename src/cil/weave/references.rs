//! References to the hook library: what woven code calls, as rows of the assembly's own tables.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::Attempt;
use crate::aspect::bind::site::TASK_ASSEMBLIES;
use crate::cil::image::{Image, RUNTIME};
use crate::cil::metadata::additions::Additions;
use crate::cil::metadata::heaps::put_compressed;
use crate::cil::metadata::schema::{coded, column, table};
use crate::cil::metadata::signature::element;
use crate::cil::metadata::tables::{decode, encode, token, token_row, token_table};
use crate::cil::weave::ordinary::Tokens;
use crate::error::Result;

/// Version of the hook library's assembly: the same for all its releases, since it is part of the name.
const RUNTIME_VERSION: [u32; 4] = [1, 0, 0, 0];

/// Token of the hook library's public key (`runtime/dotnet/weave.snk`).
const RUNTIME_KEY_TOKEN: [u8; 8] = [0x70, 0x82, 0x75, 0xba, 0x6f, 0xe6, 0x33, 0x77];

/// Names under which the core library goes in references, the likeliest to know `System.Exception`
/// first.
const CORE_LIBRARIES: [&[u8]; 4] = [
    b"System.Runtime",
    b"netstandard",
    b"mscorlib",
    b"System.Private.CoreLib",
];

/// What woven code refers to.
pub(crate) struct References {
    pub tokens: Tokens,
    /// The hook library's assembly as a scope, or 0 where nothing needs it.
    pub runtime: u32,
    /// The core library as a scope.
    pub core: u32,
}

/// What of the hook library is needed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs {
    /// The hooks of ordinary methods.
    pub advice: Advice,
    /// Those of logical calls.
    pub logical: bool,
    /// Those of methods that the runtime suspends.
    pub by_runtime: bool,
    /// Those that begin logical calls that can be switched.
    pub switched: bool,
    /// Those of calls that end when a task does.
    pub follows: bool,
    /// What guards hooks of one's own.
    pub guard: bool,
}

/// Adds the references that hooks need.
pub(crate) fn add(
    image: &Image<'_>,
    needs: Needs,
    additions: &mut Additions,
) -> Attempt<References> {
    let Some((exception, core)) = exception(image, additions)? else {
        return Err(Reason::NoCoreReference.into());
    };
    let mut references = References {
        tokens: Tokens {
            exception,
            ..Tokens::default()
        },
        runtime: 0,
        core,
    };
    let logical = needs.logical || needs.follows;
    let hooks = needs.advice.only(Advice::LIBRARY) != Advice::default() || logical;
    if !hooks && !needs.guard {
        return Ok(references);
    }
    let key = additions.blob(&RUNTIME_KEY_TOKEN);
    let name = additions.string(RUNTIME);
    let [major, minor, build, revision] = RUNTIME_VERSION;
    let assembly = additions.row(
        table::ASSEMBLY_REF,
        &[major, minor, build, revision, 0, key, name, 0, 0],
    )?;
    let scope = encode(&coded::RESOLUTION_SCOPE, assembly).expect("an AssemblyRef is a scope");
    references.runtime = scope;
    if !hooks {
        return Ok(references);
    }
    let mut class = |class: &str| -> Result<u32> {
        let class = additions.string(class);
        let class = additions.row(table::TYPE_REF, &[scope, class, name])?;
        Ok(encode(&coded::MEMBER_REF_PARENT, class).expect("a TypeRef has members"))
    };
    let parent = class("Hooks")?;
    let switched = match needs.switched {
        true => class("Switched")?,
        false => 0,
    };

    let class = |token| {
        let mut ty = vec![element::CLASS];
        let coded = encode(&coded::TYPE_DEF_OR_REF, token).expect("it is a TypeRef");
        put_compressed(&mut ty, coded);
        ty
    };
    let exception_type = class(exception);
    let task = match needs.follows {
        true => task(image, additions)?,
        false => None,
    };
    let task_type = task.map(class).unwrap_or_default();
    let call: &[u8] = &[element::BYREF, element::I8];
    let id: &[u8] = &[element::I4];
    let mut of = |parent: u32, wanted: bool, name: &str, parameters: &[&[u8]]| {
        if !wanted {
            return Ok(0);
        }
        let mut signature = vec![0, parameters.len() as u8, element::VOID];
        parameters
            .iter()
            .for_each(|p| signature.extend_from_slice(p));
        let signature = additions.blob(&signature);
        let name = additions.string(name);
        additions.row(table::MEMBER_REF, &[parent, name, signature])
    };
    let e: &[u8] = &exception_type;
    let begins = needs.switched;
    let begin_switched = of(switched, begins, "Begin", &[call, id, id])?;
    let resume_switched = of(switched, begins, "Resume", &[call, id, id])?;
    let mut hook =
        |wanted: bool, name: &str, parameters: &[&[u8]]| of(parent, wanted, name, parameters);
    let advice = needs.advice;
    references.tokens = Tokens {
        enter: hook(advice.has(Advice::ENTER), "Enter", &[id])?,
        exit: hook(advice.has(Advice::EXIT), "Exit", &[id])?,
        error: hook(advice.has(Advice::EXCEPTION), "Error", &[e, id])?,
        count: hook(advice.has(Advice::COUNT), "Count", &[id])?,
        start: hook(advice.has(Advice::AGGREGATE), "Start", &[id])?,
        stop: hook(advice.has(Advice::AGGREGATE), "Stop", &[id])?,
        failed: hook(advice.has(Advice::AGGREGATE), "Failed", &[e, id])?,
        begin: hook(logical, "Begin", &[call, id])?,
        resume: hook(logical, "Resume", &[call, id])?,
        suspend: hook(logical, "Suspend", &[call, id])?,
        moved: hook(logical, "Moved", &[&[element::BOOLEAN], call, id])?,
        end: hook(logical, "End", &[call, id])?,
        fail: hook(logical, "Fail", &[e, call, id])?,
        await_: hook(needs.by_runtime, "Await", &[&[element::BOOLEAN], call, id])?,
        awaited: hook(needs.by_runtime, "Awaited", &[call, id])?,
        follow: hook(task.is_some(), "Follow", &[&task_type, call, id])?,
        begin_switched,
        resume_switched,
        exception,
    };
    Ok(references)
}

/// The `TypeRef` of a type in the namespace `System` that the assembly refers to in another.
pub(crate) fn core_type(image: &Image<'_>, name: &[u8]) -> Option<u32> {
    use column::type_ref::{NAME, NAMESPACE, RESOLUTION_SCOPE};
    let strings = &image.metadata.strings;
    let mut references = image.metadata.tables.iter(table::TYPE_REF);
    let row = references.position(|row| {
        strings.is(row.get(NAME), name)
            && strings.is(row.get(NAMESPACE), b"System")
            && is_assembly(row.get(RESOLUTION_SCOPE))
    })?;
    Some(token(table::TYPE_REF, row as u32 + 1))
}

fn is_assembly(scope: u32) -> bool {
    assembly(scope).is_some()
}

/// The row of `AssemblyRef` that a scope is.
fn assembly(scope: u32) -> Option<u32> {
    let token = decode(&coded::RESOLUTION_SCOPE, scope).ok()?;
    (token_table(token) == table::ASSEMBLY_REF && token_row(token) > 0).then(|| token_row(token))
}

/// The `TypeRef` of the class `Task`: the assembly's own, or a new one beside that of tasks with results.
fn task(image: &Image<'_>, additions: &mut Additions) -> Result<Option<u32>> {
    use column::type_ref::{NAME, NAMESPACE, RESOLUTION_SCOPE};
    let (tables, strings) = (&image.metadata.tables, &image.metadata.strings);
    let mut beside = None;
    for (i, row) in tables.iter(table::TYPE_REF).enumerate() {
        let scope = row.get(RESOLUTION_SCOPE);
        if !strings.is(row.get(NAMESPACE), b"System.Threading.Tasks") {
            continue;
        }
        let Some(assembly) = assembly(scope) else {
            continue;
        };
        let assembly = tables.row(table::ASSEMBLY_REF, assembly)?;
        let name = assembly.get(column::assembly_ref::NAME);
        if !(TASK_ASSEMBLIES.iter()).any(|known| strings.is(name, known.as_bytes())) {
            continue;
        }
        if strings.is(row.get(NAME), b"Task") {
            return Ok(Some(token(table::TYPE_REF, i as u32 + 1)));
        }
        if strings.is(row.get(NAME), b"Task`1") {
            beside.get_or_insert((scope, row.get(NAMESPACE)));
        }
    }
    let Some((scope, namespace)) = beside else {
        return Ok(None);
    };
    let name = additions.string("Task");
    additions
        .row(table::TYPE_REF, &[scope, name, namespace])
        .map(Some)
}

/// The `TypeRef` of `System.Exception`: the assembly's own, or a new one in the core library that
/// the assembly refers to. Never a reference to another core library. Behind it, the core library as a scope.
fn exception(image: &Image<'_>, additions: &mut Additions) -> Result<Option<(u32, u32)>> {
    use column::type_ref::{NAME, NAMESPACE, RESOLUTION_SCOPE};
    let tables = &image.metadata.tables;
    let strings = &image.metadata.strings;
    let is = |index, text: &[u8]| strings.is(index, text);
    let mut object = None;
    for (i, row) in tables.iter(table::TYPE_REF).enumerate() {
        let exception = is(row.get(NAME), b"Exception");
        if (exception || is(row.get(NAME), b"Object")) && is(row.get(NAMESPACE), b"System") {
            let scope = row.get(RESOLUTION_SCOPE);
            if !is_assembly(scope) {
                continue;
            }
            if exception {
                return Ok(Some((token(table::TYPE_REF, i as u32 + 1), scope)));
            }
            object.get_or_insert(scope);
        }
    }
    let named = || {
        CORE_LIBRARIES.iter().find_map(|library| {
            let mut references = tables.iter(table::ASSEMBLY_REF);
            let row = references.position(|r| is(r.get(column::assembly_ref::NAME), library))?;
            encode(
                &coded::RESOLUTION_SCOPE,
                token(table::ASSEMBLY_REF, row as u32 + 1),
            )
        })
    };
    let Some(scope) = object.or_else(named) else {
        return Ok(None);
    };
    let name = additions.string("Exception");
    let namespace = additions.string("System");
    let exception = additions.row(table::TYPE_REF, &[scope, name, namespace])?;
    Ok(Some((exception, scope)))
}
