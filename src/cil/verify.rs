//! Verifies an assembly: every body by our own reader, the file around them also by an independent one (goblin).
//!
//! It checks structure (ECMA-335 II.25, III.1.7): instructions, branches, clauses, the depth of the stack. It checks no
//! types; the runtime's JIT does. Types, methods and fields of one name (II.22.37, II.22.26, II.22.15), which obfuscators
//! make, are no failure: CoreCLR and Mono run such an assembly.

use crate::cil::il::body::{Body, Clause, ClauseKind};
use crate::cil::il::insn::{self, Form, VARIES, op};
use crate::cil::image::Image;
use crate::cil::metadata::flags::impl_flag;
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::signature::MethodSignature;
use crate::cil::metadata::tables::{token_row, token_table};
use crate::cil::pe::directory;
use crate::cil::weave::calls::ConstructorCalls;
use crate::cil::weave::constructor::Calls;
use crate::error::{Error, Kind, Result, Verdict};

/// Verifies an assembly or module.
pub fn verify(bytes: &[u8]) -> Verdict {
    let mut verdict = Verdict::default();
    let image = match Image::parse(bytes) {
        Ok(image) => image,
        Err(e) => {
            verdict.failures.push(e);
            return verdict;
        }
    };
    match goblin::pe::PE::parse(bytes) {
        Ok(second) => verdict.failures.extend(compare(&image, &second).err()),
        Err(e) => verdict.unjudged = Some(e.to_string()),
    }
    let mut scratch = Scratch::default();
    let types = image.metadata.tables.rows(table::TYPE_DEF);
    verdict.types = types.into();
    for ty in 1..=types {
        if let Err(e) = verify_type(&image, ty, &mut scratch, &mut verdict) {
            verdict.failures.push(e);
        }
    }
    verdict
}

/// Compares where the two readers see the file's parts.
fn compare(image: &Image<'_>, second: &goblin::pe::PE<'_>) -> Result<()> {
    let differ = |what: &str, ours: u64, theirs: u64| {
        let what = format!("{what}: {ours:#x} here, {theirs:#x} for goblin");
        Err(Error::new(Kind::Malformed, what))
    };
    let sections = &image.pe.sections;
    if sections.len() != second.sections.len() {
        let (ours, theirs) = (sections.len() as u64, second.sections.len() as u64);
        return differ("number of sections", ours, theirs);
    }
    for (ours, theirs) in sections.iter().zip(&second.sections) {
        if ours.rva != theirs.virtual_address {
            let (ours, theirs) = (ours.rva.into(), theirs.virtual_address.into());
            return differ("a section's address", ours, theirs);
        }
    }
    let ours = image.pe.directory(directory::CLI_HEADER);
    let theirs = second
        .header
        .optional_header
        .and_then(|h| h.data_directories.get_clr_runtime_header().copied());
    match theirs {
        Some(theirs) if theirs.virtual_address == ours.rva => Ok(()),
        theirs => {
            let theirs = theirs.map_or(0, |d| d.virtual_address);
            differ("the CLI header's address", ours.rva.into(), theirs.into())
        }
    }
}

fn verify_type(
    image: &Image<'_>,
    ty: u32,
    scratch: &mut Scratch,
    verdict: &mut Verdict,
) -> Result<()> {
    let calls = ConstructorCalls::of(image, ty);
    for position in image.metadata.method_positions(ty)? {
        let method = image.metadata.method_at(position)?;
        verdict.methods += 1;
        if let Err(e) = verify_method(image, method, &calls, scratch) {
            verdict
                .failures
                .push(e.in_method(image.metadata.method_label(method)));
        }
    }
    Ok(())
}

fn verify_method(
    image: &Image<'_>,
    method: u32,
    calls: &ConstructorCalls<'_, '_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let row = image.metadata.tables.row(table::METHOD_DEF, method)?;
    let rva = row.get(column::method_def::RVA);
    let flags = row.get(column::method_def::IMPL_FLAGS);
    if rva == 0 || flags & impl_flag::CODE_TYPE != impl_flag::IL {
        return Ok(());
    }
    let (offset, body) = image.body(rva)?;
    let signature = image
        .metadata
        .blobs
        .get(row.get(column::method_def::SIGNATURE))?;
    let signature = MethodSignature::parse(signature)?;
    let result = if flags & impl_flag::ASYNC != 0 {
        // What lies on the stack is not what the signature says.
        None
    } else {
        Some(i32::from(!signature.is_void()))
    };
    verify_body(image, &body, result, calls, scratch)
        .map_err(|e| e.offset_by(offset + body.code_offset))
}

/// Buffers for one body at a time.
#[derive(Default)]
struct Scratch {
    /// For each byte of the code: whether an instruction begins there, and the depth of the stack.
    at: Vec<Place>,
    /// Pcs to follow.
    open: Vec<u32>,
    clauses: Vec<Clause>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Inside,
    Start,
    /// The depth of the stack in front of it.
    Depth(i32),
}

impl Scratch {
    /// Control reaches `pc` with `depth` values on the stack.
    fn reach(&mut self, from: u32, pc: u32, depth: i32) -> Result<()> {
        let fail = |what: String| Err(Error::malformed(from as usize, what));
        match self.at.get_mut(pc as usize) {
            Some(place @ Place::Start) => {
                *place = Place::Depth(depth);
                self.open.push(pc);
                Ok(())
            }
            Some(Place::Depth(before)) if *before == depth => Ok(()),
            Some(Place::Depth(before)) => {
                let before = *before;
                fail(format!(
                    "IL_{pc:04x} is reached with {before} and with {depth} values on the stack"
                ))
            }
            Some(Place::Inside) => fail(format!("IL_{pc:04x} lies inside an instruction")),
            None => fail(format!("control runs to IL_{pc:04x}, behind the code")),
        }
    }

    fn begins(&self, pc: u32) -> bool {
        !matches!(self.at.get(pc as usize), None | Some(Place::Inside))
    }
}

/// Verifies one body; offsets of errors count from the start of the code.
fn verify_body(
    image: &Image<'_>,
    body: &Body<'_>,
    result: Option<i32>,
    calls: &ConstructorCalls<'_, '_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let code = body.code;
    scratch.at.clear();
    scratch.at.resize(code.len(), Place::Inside);
    let mut pc = 0;
    while (pc as usize) < code.len() {
        let insn = insn::at(code, pc)?;
        scratch.at[pc as usize] = Place::Start;
        if matches!(insn.form, Form::Token | Form::TokenPrefix) {
            verify_token(image, insn.token(code)).map_err(|e| e.offset_by(pc as usize))?;
        }
        pc = insn.end();
    }
    verify_clauses(body, scratch)?;
    scratch.open.clear();
    scratch.reach(0, 0, 0)?;
    for i in 0..scratch.clauses.len() {
        let clause = scratch.clauses[i];
        scratch.reach(clause.try_start, clause.try_start, 0)?;
        let on_entry = match clause.kind {
            ClauseKind::Catch | ClauseKind::Filter => 1,
            ClauseKind::Finally | ClauseKind::Fault => 0,
        };
        scratch.reach(clause.try_start, clause.handler_start, on_entry)?;
        if clause.kind == ClauseKind::Filter {
            scratch.reach(clause.try_start, clause.class_or_filter, 1)?;
        }
    }
    while let Some(pc) = scratch.open.pop() {
        let Place::Depth(depth) = scratch.at[pc as usize] else {
            unreachable!("what is open was reached")
        };
        step(body, pc, depth, result, calls, scratch)?;
    }
    Ok(())
}

/// Follows one instruction.
fn step(
    body: &Body<'_>,
    pc: u32,
    depth: i32,
    result: Option<i32>,
    calls: &ConstructorCalls<'_, '_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let code = body.code;
    let insn = insn::at(code, pc)?;
    let fail = |what: String| Err(Error::malformed(pc as usize, what));
    let (pops, pushes) = match insn.opcode {
        op::RET => match result {
            Some(result) if result != depth => {
                return fail(format!(
                    "ret with {depth} values on the stack, not {result}"
                ));
            }
            _ => return Ok(()),
        },
        _ if insn.pops() == VARIES || insn.pushes() == VARIES => {
            match calls.stack_effect(insn.opcode, insn.token(code)) {
                Some((pops, pushes)) => (pops as i32, pushes as i32),
                // What a call takes is not known: what follows it is not followed.
                None => return Ok(()),
            }
        }
        _ => (i32::from(insn.pops()), i32::from(insn.pushes())),
    };
    if pops > depth {
        return fail(format!("{pops} values wanted, {depth} on the stack"));
    }
    let after = depth - pops + pushes;
    if after > i32::from(body.max_stack) {
        let max = body.max_stack;
        return fail(format!(
            "{after} values on the stack, and maxstack says {max}"
        ));
    }
    let leaves = matches!(insn.opcode, op::LEAVE | op::LEAVE_S);
    match insn.form {
        Form::ShortBranch | Form::Branch => {
            let target = insn::branch_target(code, insn)?;
            scratch.reach(pc, target, if leaves { 0 } else { after })?;
        }
        Form::Switch => {
            let mut reached = Ok(());
            insn::switch_targets(code, insn, |target| {
                if reached.is_ok() {
                    reached = scratch.reach(pc, target, after);
                }
            })?;
            reached?;
        }
        _ => {}
    }
    if insn.ends_flow() {
        return Ok(());
    }
    scratch.reach(pc, insn.end(), after)
}

/// Clauses begin and end at instructions, and an inner one stands before an outer one.
fn verify_clauses(body: &Body<'_>, scratch: &mut Scratch) -> Result<()> {
    scratch.clauses.clear();
    for clause in body.clauses() {
        // Their errors count from the body's start.
        scratch.clauses.push(clause?);
    }
    let end = body.code.len() as u32;
    for (i, clause) in scratch.clauses.iter().enumerate() {
        let begins = |pc: u32| scratch.begins(pc);
        let ends = |pc: u32| pc == end || scratch.begins(pc);
        let holds = begins(clause.try_start)
            && ends(clause.try_end)
            && clause.try_start < clause.try_end
            && begins(clause.handler_start)
            && ends(clause.handler_end)
            && clause.handler_start < clause.handler_end
            && (clause.kind != ClauseKind::Filter || begins(clause.class_or_filter));
        if !holds {
            let what = format!("clause {i} begins or ends inside an instruction: {clause:x?}");
            return Err(Error::malformed(clause.try_start as usize, what));
        }
        let outer = scratch.clauses[..i].iter().position(|before| {
            let inside = |start, end| before.try_start <= start && end <= before.try_end;
            inside(clause.try_start, clause.try_end)
                && (before.try_start, before.try_end) != (clause.try_start, clause.try_end)
        });
        if let Some(outer) = outer {
            let what = format!("clause {i} lies inside clause {outer}, which stands before it");
            return Err(Error::malformed(clause.try_start as usize, what));
        }
    }
    Ok(())
}

/// A token names a row that exists.
fn verify_token(image: &Image<'_>, token: u32) -> Result<()> {
    /// The `#US` heap, as tokens of `ldstr` name it (II.24.2.4).
    const USER_STRINGS: u8 = 0x70;
    let number = token_row(token);
    match token_table(token) {
        USER_STRINGS => Ok(()),
        at if number >= 1 && number <= image.metadata.tables.rows(at) => Ok(()),
        _ => Err(Error::malformed(
            0,
            format!("token {token:#010x} names nothing"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_library_holds_together_and_damage_is_told() {
        let library = include_bytes!("../../runtime/dotnet/Weave.Runtime.dll");
        let verdict = verify(library);
        assert!(verdict.types > 5 && verdict.methods > 50);
        assert!(verdict.unjudged.is_none());
        verdict.assert_sound();

        let image = Image::parse(library).unwrap();
        let longest = (1..=image.metadata.tables.rows(table::METHOD_DEF))
            .filter_map(|method| {
                let row = image.metadata.tables.row(table::METHOD_DEF, method).ok()?;
                let rva = row.get(column::method_def::RVA);
                image.body(rva).ok().filter(|_| rva != 0)
            })
            .max_by_key(|(_, body)| body.code.len())
            .unwrap();
        let (offset, body) = longest;
        let mut found = 0;
        let places = (0..body.code.len()).step_by(3);
        for pc in places.clone() {
            let mut damaged = library.to_vec();
            // `ldnull`: one value too many, or a stranger inside an operand.
            damaged[offset + body.code_offset + pc] = 0x14;
            let failures = verify(&damaged).failures;
            found += usize::from(!failures.is_empty());
            assert!(failures.iter().all(|e| e.method().is_some()));
        }
        assert!(found * 2 > places.len(), "{found} of {}", places.len());
    }
}
