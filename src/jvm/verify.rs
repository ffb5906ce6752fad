//! Verifies a class by our own reader and by an independent one (cafebabe).
//!
//! It checks structure (JVMS 4.7.3, 4.9.1), no types; the virtual machine's verifier does.

use crate::bytes::mutf8;
use crate::error::{Error, Result, Verdict};
use crate::jvm::class::{Class, Code, MethodInfo, attributes, flag};
use crate::jvm::frames::{self, item};
use crate::jvm::insn::{self, Local, op};
use crate::jvm::pool::Known;
use crate::jvm::signature::each_parameter;
use cafebabe::attributes::{AttributeData, CodeData};
use rustc_hash::FxHashSet;

/// Verifies a class file.
pub fn verify(bytes: &[u8]) -> Verdict {
    let mut verdict = Verdict {
        types: 1,
        ..Verdict::default()
    };
    let class = match Class::parse(bytes) {
        Ok(class) => class,
        Err(e) => {
            verdict.failures.push(e);
            return verdict;
        }
    };
    verdict.failures.extend(verify_unique(&class).err());
    for method in &class.methods {
        verdict.methods += 1;
        if let Err(e) = verify_method(&class, method) {
            verdict
                .failures
                .push(e.in_method(class.method_label(method)));
        }
    }
    // What does not hold for one reader is not worth the other's opinion.
    if verdict.failures.is_empty() {
        match cafebabe::parse_class(bytes) {
            Ok(second) => verdict.failures.extend(compare(&class, &second).err()),
            Err(e) => verdict.unjudged = Some(e.to_string()),
        }
    }
    verdict
}

/// Whether no interface (JVMS 4.1), no field (4.5) and no method (4.6) is there twice, which HotSpot refuses. Names count,
/// not indices: the pool may hold a text more than once.
fn verify_unique(class: &Class<'_>) -> Result<()> {
    let pool = &class.pool;
    let mut interfaces = FxHashSet::default();
    class.each_interface(|at, index| {
        let name = pool.class_name(index)?;
        match interfaces.insert(name) {
            true => Ok(()),
            false => twice(at, format!("the interface {}", mutf8(name))),
        }
    })?;
    let mut fields = FxHashSet::default();
    class.each_field(|_, name, descriptor| {
        match fields.insert((pool.utf8(name)?, pool.utf8(descriptor)?)) {
            true => Ok(()),
            false => {
                let (name, descriptor) = (pool.text(name)?, pool.text(descriptor)?);
                twice(pool.end(), format!("the field {name} of type {descriptor}"))
            }
        }
    })?;
    let mut methods = FxHashSet::default();
    for method in &class.methods {
        if !methods.insert((pool.utf8(method.name)?, pool.utf8(method.descriptor)?)) {
            return twice(method.range.start, "the method".into())
                .map_err(|e| e.in_method(class.method_label(method)));
        }
    }
    Ok(())
}

#[cold]
fn twice(at: usize, what: String) -> Result<()> {
    Err(Error::malformed(at, format!("{what} is declared twice")))
}

/// The offsets of code where instructions begin.
struct Starts(Vec<bool>);

impl Starts {
    fn of(code: &Code<'_>) -> Result<Starts> {
        let mut starts = vec![false; code.insns.len()];
        let mut pc = 0;
        while (pc as usize) < code.insns.len() {
            starts[pc as usize] = true;
            pc += insn::at(code.insns, pc)?.len;
        }
        Ok(Starts(starts))
    }

    fn has(&self, pc: u32) -> bool {
        self.0.get(pc as usize).copied().unwrap_or(false)
    }

    /// The end of a range may also be the end of the code.
    fn has_end(&self, pc: u32) -> bool {
        pc as usize == self.0.len() || self.has(pc)
    }
}

fn verify_method(class: &Class<'_>, method: &MethodInfo) -> Result<()> {
    let Some(code) = class.code(method)? else {
        return Ok(());
    };
    let starts = Starts::of(&code).map_err(|e| e.offset_by(code.offset))?;
    verify_branches(&code, &starts).map_err(|e| e.offset_by(code.offset))?;
    verify_exceptions(&code, &starts)?;
    verify_loads(class, method, &code)?;
    attributes(class.bytes, code.attributes, |attribute| {
        let at = attribute.offset();
        match class.pool.which(attribute.name) {
            Some(Known::StackMapTable) => verify_frames(attribute.data, &starts),
            Some(Known::LineNumberTable) => verify_lines(attribute.data, &starts),
            Some(Known::LocalVariableTable | Known::LocalVariableTypeTable) => {
                verify_variables(attribute.data, &code)
            }
            _ => Ok(()),
        }
        .map_err(|e| e.offset_by(at))
    })?;
    Ok(())
}

fn verify_branches(code: &Code<'_>, starts: &Starts) -> Result<()> {
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc)?;
        let mut astray = None;
        let mut check = |target: u32| {
            if !starts.has(target) {
                astray.get_or_insert(target);
            }
        };
        match insn.form {
            insn::Form::Branch | insn::Form::WideBranch => {
                check(insn::branch_target(code.insns, insn)?);
            }
            insn::Form::Switch => insn::switch_targets(code.insns, insn, check)?,
            _ => {}
        }
        if let Some(target) = astray {
            let what = format!("branch to {target}, inside an instruction");
            return Err(Error::malformed(pc as usize, what));
        }
        pc += insn.len;
    }
    Ok(())
}

fn be_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn verify_exceptions(code: &Code<'_>, starts: &Starts) -> Result<()> {
    // The table lies behind the code and its own count.
    let base = code.offset + code.insns.len() + 2;
    for (i, entry) in code.exceptions.chunks_exact(8).enumerate() {
        let [start, end, handler] = [0, 2, 4].map(|at| u32::from(be_u16(entry, at)));
        let wrong = |what: String| Err(Error::malformed(base + 8 * i, what));
        if start >= end {
            return wrong(format!("exception range {start}..{end} is empty"));
        }
        if !starts.has(start) || !starts.has_end(end) {
            return wrong(format!(
                "exception range {start}..{end} cuts an instruction"
            ));
        }
        if !starts.has(handler) {
            return wrong(format!("exception handler {handler} is not an instruction"));
        }
    }
    Ok(())
}

fn verify_frames(data: &[u8], starts: &Starts) -> Result<()> {
    let mut before = None;
    let mut wrong = None;
    frames::pcs(data, |pc, _| {
        if before.is_some_and(|before| pc <= before) {
            wrong.get_or_insert(format!("frame at {pc} does not come after the one before"));
        } else if !starts.has(pc) {
            wrong.get_or_insert(format!("frame at {pc}, which is not an instruction"));
        }
        before = Some(pc);
    })?;
    match wrong {
        Some(what) => Err(Error::malformed(0, what)),
        None => Ok(()),
    }
}

/// Whether each `aload` has a reference to load, as the frame above says and the stores since.
fn verify_loads(class: &Class<'_>, method: &MethodInfo, code: &Code<'_>) -> Result<()> {
    // Older classes may be verified without frames (JVMS 4.10).
    if class.major < 51 {
        return Ok(());
    }
    let mut initial = Vec::new();
    if method.access & flag::STATIC == 0 {
        initial.push((item::OBJECT, 0));
    }
    each_parameter(class.pool.utf8(method.descriptor)?, |d| {
        initial.push(match d[0] {
            b'J' => (item::LONG, 0),
            b'D' => (item::DOUBLE, 0),
            b'L' | b'[' => (item::OBJECT, 0),
            _ => (item::INTEGER, 0),
        });
    });
    let mut references = Vec::new();
    list_references(&initial, &mut references);
    let mut frames = Some(Vec::new());
    attributes(class.bytes, code.attributes, |a| {
        if class.pool.which(a.name) == Some(Known::StackMapTable) {
            frames =
                frames::expand(a.data, initial.clone()).map_err(|e| e.offset_by(a.offset()))?;
        }
        Ok(())
    })?;
    let Some(frames) = frames else {
        return Ok(());
    };
    let mut frames = frames.iter().peekable();
    let mut pc = 0;
    while (pc as usize) < code.insns.len() {
        let insn = insn::at(code.insns, pc)?;
        if let Some(frame) = frames.next_if(|frame| frame.pc == pc) {
            list_references(&frame.locals, &mut references);
        }
        if let Some(slot) = loaded_reference(code.insns, insn)
            && !references.get(slot).is_some_and(|is| *is)
        {
            let what = format!("variable {slot} is loaded, which holds no reference there");
            return Err(Error::malformed(code.offset + pc as usize, what));
        }
        if let Some(Local { kind, slot }) = insn::store(code.insns, insn) {
            let slot = slot as usize;
            let words = if kind % 2 == 1 { 2 } else { 1 };
            if references.len() < slot + words {
                references.resize(slot + words, false);
            }
            references[slot..slot + words].fill(kind == 4);
        }
        pc += insn.len;
    }
    Ok(())
}

/// Which variables hold references.
fn list_references(locals: &[frames::VerificationType], out: &mut Vec<bool>) {
    out.clear();
    for &(tag, _) in locals {
        out.push(tag >= item::NULL);
        if matches!(tag, item::LONG | item::DOUBLE) {
            out.push(false);
        }
    }
}

/// The variable that an `aload` loads.
fn loaded_reference(code: &[u8], insn: insn::Insn) -> Option<usize> {
    let pc = insn.pc as usize;
    match insn.opcode {
        op::ALOAD => Some(usize::from(code[pc + 1])),
        op::ALOAD_0..=op::ALOAD_3 => Some(usize::from(insn.opcode - op::ALOAD_0)),
        op::WIDE if code[pc + 1] == op::ALOAD => Some(usize::from(be_u16(code, pc + 2))),
        _ => None,
    }
}

fn verify_lines(data: &[u8], starts: &Starts) -> Result<()> {
    for (i, entry) in data.get(2..).unwrap_or(&[]).chunks_exact(4).enumerate() {
        let pc = u32::from(be_u16(entry, 0));
        if !starts.has(pc) {
            let what = format!("line number at {pc}, which is not an instruction");
            return Err(Error::malformed(2 + 4 * i, what));
        }
    }
    Ok(())
}

fn verify_variables(data: &[u8], code: &Code<'_>) -> Result<()> {
    for (i, entry) in data.get(2..).unwrap_or(&[]).chunks_exact(10).enumerate() {
        let (start, len) = (be_u16(entry, 0), be_u16(entry, 2));
        if usize::from(start) + usize::from(len) > code.insns.len() {
            let what = format!("local variable from {start}, {len} long, leaves the code");
            return Err(Error::malformed(2 + 10 * i, what));
        }
    }
    Ok(())
}

/// Whether both readers see the same class, methods and instructions.
fn compare(class: &Class<'_>, second: &cafebabe::ClassFile<'_>) -> Result<()> {
    let differ =
        |at: usize, what: String| Err(Error::malformed(at, format!("the readers differ: {what}")));
    if class.name() != second.this_class.to_string().as_str() && !class.is_module() {
        return differ(0, format!("{} and {}", class.name(), second.this_class));
    }
    if class.methods.len() != second.methods.len() {
        let (a, b) = (class.methods.len(), second.methods.len());
        return differ(0, format!("{a} methods and {b}"));
    }
    for (ours, theirs) in class.methods.iter().zip(&second.methods) {
        let label = class.method_label(ours);
        let their_label = format!("{}{}", theirs.name, theirs.descriptor);
        if label != their_label {
            return differ(ours.range.start, format!("{label} and {their_label}"));
        }
        let their_code = theirs.attributes.iter().find_map(|a| match &a.data {
            AttributeData::Code(code) => Some(code),
            _ => None,
        });
        match (class.code(ours)?, their_code) {
            (None, None) => {}
            (Some(code), Some(theirs)) => {
                compare_code(&code, theirs).map_err(|e| e.in_method(label))?;
            }
            _ => return differ(ours.range.start, format!("only one sees code in {label}")),
        }
    }
    Ok(())
}

fn compare_code(ours: &Code<'_>, theirs: &CodeData<'_>) -> Result<()> {
    let differ = |what: &str| {
        Err(Error::malformed(
            ours.offset,
            format!("the readers differ: {what}"),
        ))
    };
    if ours.insns != theirs.code {
        return differ("other code");
    }
    if (ours.max_stack, ours.max_locals) != (theirs.max_stack, theirs.max_locals) {
        return differ("other stack or variables");
    }
    if ours.exceptions.len() != 8 * theirs.exception_table.len() {
        return differ("other exception table");
    }
    let starts = Starts::of(ours)?;
    if let Some(bytecode) = &theirs.bytecode {
        let count = starts.0.iter().filter(|start| **start).count();
        let all = bytecode
            .opcodes
            .iter()
            .all(|(pc, _)| starts.has(*pc as u32));
        if !all || count != bytecode.opcodes.len() {
            return differ("other instructions");
        }
    }
    Ok(())
}
