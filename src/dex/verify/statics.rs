//! What must hold of instructions whether they are reached or not.

use super::frame::{Frame, mark};
use crate::dex::format::code_item::{Code, Try};
use crate::dex::format::file::File;
use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::{BRANCH, Format, Index, SWITCH, THROW, op};
use crate::error::{Error, Result};

#[cold]
pub(super) fn fault(code: &Code<'_>, insn: Insn, what: impl std::fmt::Display) -> Error {
    let at = code.offset + crate::dex::format::code_item::HEADER + insn.pc as usize * 2;
    let name = insn.op().name;
    Error::malformed(at, format!("{name} at {}: {what}", insn.pc))
}

/// Checks sizes, registers, indexes and targets of all instructions and tries, and fills in `frame`.
pub(super) fn check(file: &File<'_>, code: &Code<'_>, frame: &mut Frame) -> Result<()> {
    let insns = code.insns;
    let located = |e: Error| e.offset_by(code.offset + crate::dex::format::code_item::HEADER);
    frame.marks.clear();
    frame.marks.resize(insn::units(insns) as usize, 0);
    frame.tries.clear();
    for insn in insn::each(insns) {
        let insn = insn.map_err(located)?;
        frame.marks[insn.pc as usize] = match insn.opcode {
            _ if insn.is_payload => mark::PAYLOAD,
            op::MOVE_RESULT..=op::MOVE_RESULT_OBJECT => mark::INSN | mark::RESULT,
            op::MOVE_EXCEPTION => mark::INSN | mark::EXCEPTION,
            _ => mark::INSN,
        };
        if !insn.is_payload {
            registers(code, insn)?;
            index(file, code, insn)?;
        }
    }
    for insn in insn::each(insns) {
        let insn = insn.map_err(located)?;
        if insn.is_payload {
            continue;
        }
        let op = insn.op();
        if op.has(BRANCH) {
            if insn.value == 0 && insn.opcode != op::GOTO_32 {
                return Err(fault(code, insn, "branches to itself"));
            }
            target(code, frame, insn, insn.target(insns).map_err(located)?)?;
        } else if op.has(SWITCH) {
            let payload = insn::switch_payload(insns, insn).map_err(located)?;
            data(code, frame, insn, payload.pc)?;
            if insn.opcode == op::SPARSE_SWITCH {
                let key = |i: u32| insn::wide(insns, payload.pc + 2 + 2 * i) as i32;
                if (1..payload.size).any(|i| key(i - 1) >= key(i)) {
                    return Err(fault(code, insn, "the keys are not in order"));
                }
            }
            let mut all = Ok(());
            insn::switch_targets(insns, insn, |pc| {
                if all.is_ok() {
                    all = target(code, frame, insn, pc);
                }
            })
            .map_err(located)?;
            all?;
        } else if insn.opcode == op::FILL_ARRAY_DATA {
            let pc = insn.target(insns).map_err(located)?;
            data(code, frame, insn, pc)?;
            if insn::unit(insns, pc) != insn::FILL_ARRAY_DATA_PAYLOAD {
                return Err(fault(code, insn, "the payload is another instruction's"));
            }
        }
    }
    tries(code, frame)
}

fn registers(code: &Code<'_>, insn: Insn) -> Result<()> {
    let all = u32::from(code.registers);
    let op = insn.op();
    let missing = match op.format {
        Format::F35c | Format::F45cc => insn::arguments(code.insns, insn).find(|r| *r >= all),
        Format::F3rc | Format::F4rcc => {
            let last = insn.c + insn.a;
            (last > all).then(|| last.wrapping_sub(1))
        }
        _ => [insn.a, insn.b, insn.c]
            .iter()
            .zip(op.registers.bytes())
            .map(|(r, kind)| match kind.to_ascii_lowercase() {
                b'w' | b'j' | b'd' => r + 1,
                _ => *r,
            })
            .find(|r| *r >= all),
    };
    match missing {
        None => Ok(()),
        Some(r) => Err(fault(code, insn, format!("v{r} of {all} registers"))),
    }
}

fn index(file: &File<'_>, code: &Code<'_>, insn: Insn) -> Result<()> {
    let count = match insn.op().index {
        Index::None => return Ok(()),
        Index::String => file.strings.len(),
        Index::Type => file.types.len(),
        Index::Proto => file.protos.len(),
        Index::Field => file.fields.len(),
        Index::Method => file.methods.len(),
        Index::CallSite => file.call_sites.len(),
        Index::MethodHandle => file.method_handles.len(),
    };
    let mut index = insn.index() as usize;
    let mut limit = count;
    if index < count && matches!(insn.op().format, Format::F45cc | Format::F4rcc) {
        index = usize::from(insn::unit(code.insns, insn.pc + 3));
        limit = file.protos.len();
    }
    if index < limit {
        return Ok(());
    }
    Err(fault(
        code,
        insn,
        format!("index {index} of a table of {limit}"),
    ))
}

fn target(code: &Code<'_>, frame: &mut Frame, insn: Insn, pc: u32) -> Result<()> {
    let mark = &mut frame.marks[pc as usize];
    let what = match *mark {
        m if m & mark::INSN == 0 => "inside an instruction or data",
        m if m & mark::RESULT != 0 => "to a move-result",
        m if m & mark::EXCEPTION != 0 => "to a move-exception",
        _ => {
            *mark |= mark::TARGET;
            return Ok(());
        }
    };
    Err(fault(code, insn, format!("branches to {pc}, {what}")))
}

fn data(code: &Code<'_>, frame: &Frame, insn: Insn, pc: u32) -> Result<()> {
    if frame.marks[pc as usize] != mark::PAYLOAD {
        return Err(fault(code, insn, format!("no payload at {pc}")));
    }
    if pc % 2 == 1 {
        return Err(fault(
            code,
            insn,
            format!("the payload at {pc} is not aligned"),
        ));
    }
    Ok(())
}

fn tries(code: &Code<'_>, frame: &mut Frame) -> Result<()> {
    let mut starts = std::mem::take(&mut frame.lists);
    starts.clear();
    if code.try_count() > 0 {
        crate::dex::format::code_item::list_starts(code, &mut starts)?;
    }
    frame.lists = starts;
    let wrong = |what: String| Err(Error::malformed(code.offset, what));
    for t in code.tries() {
        let t: Try = t?;
        if frame.marks[t.start as usize] & mark::INSN == 0 {
            return wrong(format!(
                "try {}..{} starts inside an instruction",
                t.start, t.end
            ));
        }
        frame.tries.push(t);
    }
    for i in 0..frame.lists.len() {
        let mut list = code.list(frame.lists[i])?;
        while let Some((_, pc)) = list.next_handler()? {
            match frame.marks.get_mut(pc as usize) {
                Some(m) if *m & mark::INSN != 0 && *m & mark::RESULT == 0 => *m |= mark::TARGET,
                _ => return wrong(format!("a handler at {pc}, where none can begin")),
            }
        }
    }
    Ok(())
}

/// Whether an instruction lies in a try, as far as that matters to it.
pub(super) fn covering(tries: &[Try], insn: Insn) -> Option<Try> {
    // ART does not follow what `monitor-exit` throws: it would have succeeded by then.
    match insn.op().has(THROW) && insn.opcode != op::MONITOR_EXIT {
        true => crate::dex::analysis::flow::find(tries, insn.pc),
        false => None,
    }
}
