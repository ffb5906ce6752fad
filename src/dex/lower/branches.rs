//! Branches, switches and payloads at their new places, longer where necessary.

use crate::dex::format::insn::{self, Insn};
use crate::dex::format::opcodes::op;
use crate::edit::{Layout, Place};
use crate::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// An old pc.
    Old(u32),
    /// So many code units behind the start of the tails.
    Tail(u32),
}

/// A `goto` or an `if`, or a return that becomes a `goto`.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Where it is in the old code.
    pub pc: u32,
    opcode: u8,
    len: u32,
    goal: Goal,
    /// Its growth in code units.
    pub growth: u32,
}

/// An `if` becomes its opposite around a `goto/32`.
const INVERTED: u32 = 3;

impl Branch {
    /// An instruction and where it is to go.
    pub fn new(insn: Insn, goal: Goal) -> Branch {
        Branch {
            pc: insn.pc,
            opcode: insn.opcode,
            len: insn.len,
            goal,
            growth: 0,
        }
    }

    /// Whether it goes to old code that is not behind it.
    pub fn goes_back(&self) -> bool {
        matches!(self.goal, Goal::Old(to) if to <= self.pc)
    }

    fn is_if(&self) -> bool {
        (op::IF_EQ..=op::IF_LEZ).contains(&self.opcode)
    }

    /// How far it goes in the new code.
    fn distance(&self, layout: &Layout, units: u32) -> i32 {
        let to = match self.goal {
            Goal::Old(pc) => layout.target(pc),
            Goal::Tail(at) => layout.start(units) + at,
        };
        to as i32 - layout.insn(self.pc) as i32
    }

    /// The growth that a distance needs. Only `goto/32` may go nowhere.
    fn needed(&self, distance: i32) -> u32 {
        let near = distance != 0 && i8::try_from(distance).is_ok();
        let far = distance != 0 && i16::try_from(distance).is_ok();
        match (self.is_if(), near, far) {
            (true, _, true) => 0,
            (true, _, false) => INVERTED,
            (false, true, _) => 0,
            (false, _, true) => 2u32.saturating_sub(self.len),
            (false, _, false) => 3 - self.len,
        }
    }

    fn largest(&self) -> u32 {
        match self.is_if() {
            true => INVERTED,
            false => 3 - self.len,
        }
    }
}

/// Data in the code; it stays aligned to four bytes.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    /// Where it is in the old code.
    pub pc: u32,
    nops: u32,
    /// A switch has its distances in it.
    used: bool,
}

impl Payload {
    pub fn at(pc: u32) -> Payload {
        Payload {
            pc,
            nops: 0,
            used: false,
        }
    }
}

/// A place where the code changes.
#[derive(Clone, Copy)]
pub struct Stop {
    pub pc: u32,
    /// Where something is put; none where the instruction grows.
    pub place: Option<Place>,
    pub len: u32,
}

impl Stop {
    pub fn insert(pc: u32, place: Place, len: u32) -> Stop {
        let place = Some(place);
        Stop { pc, place, len }
    }

    fn grow(pc: u32, len: u32) -> Stop {
        let place = None;
        Stop { pc, place, len }
    }
}

/// Reusable memory of [`solve`].
pub type Stops = Vec<Stop>;

/// Rounds after which all branches take their longest form, which ends the search.
const PATIENCE: u32 = 16;

/// Solves the layout. `fixed` are the insertions; `branches` must be in order.
pub fn solve(
    layout: &mut Layout,
    stops: &mut Stops,
    fixed: impl Iterator<Item = Stop> + Clone,
    jumbos: &[u32],
    branches: &mut [Branch],
    payloads: &mut [Payload],
    units: u32,
) {
    for round in 0.. {
        stops.clear();
        stops.extend(fixed.clone());
        stops.extend(jumbos.iter().map(|&pc| Stop::grow(pc, 1)));
        let grown = branches.iter().filter(|b| b.growth > 0);
        stops.extend(grown.map(|b| Stop::grow(b.pc, b.growth)));
        let padded = payloads.iter().filter(|p| p.nops > 0);
        stops.extend(padded.map(|p| Stop::insert(p.pc, Place::Before, p.nops)));
        stops.sort_by_key(|stop| stop.pc);
        layout.clear();
        for &Stop { pc, place, len } in stops.iter() {
            match place {
                Some(place) => layout.insert(pc, place, len),
                None => layout.grow(pc, len),
            }
        }
        layout.solve(|_, _| 0);

        let mut settled = true;
        for branch in branches.iter_mut() {
            let needed = match round {
                0..PATIENCE => branch.needed(branch.distance(layout, units)),
                _ => branch.largest(),
            };
            if needed > branch.growth {
                branch.growth = needed;
                settled = false;
            }
        }
        if settled {
            let mut shift = 0;
            for payload in payloads.iter_mut() {
                if (layout.insn(payload.pc) + shift) % 2 == 1 {
                    payload.nops += 1;
                    shift += 1;
                    settled = false;
                }
            }
        }
        if settled {
            return;
        }
    }
}

/// Writes the branches into the new code.
pub fn patch(code: &mut [u8], layout: &Layout, branches: &[Branch], units: u32) {
    for branch in branches {
        let pc = layout.insn(branch.pc);
        let distance = branch.distance(layout, units);
        if branch.is_if() {
            if branch.growth == 0 {
                insn::set_unit(code, pc + 1, distance as u16);
            } else {
                // `eq` and `ne`, `lt` and `ge`, `gt` and `le` differ in the last bit.
                let inverted = insn::unit(code, pc) ^ 1;
                insn::set_unit(code, pc, inverted);
                insn::set_unit(code, pc + 1, 5);
                insn::set_unit(code, pc + 2, u16::from(op::GOTO_32));
                insn::set_wide(code, pc + 3, (distance - 2) as u32);
            }
            continue;
        }
        match branch.len + branch.growth {
            1 => insn::set_unit(code, pc, u16::from(op::GOTO) | (distance as u16) << 8),
            2 => {
                insn::set_unit(code, pc, u16::from(op::GOTO_16));
                insn::set_unit(code, pc + 1, distance as u16);
            }
            _ => {
                insn::set_unit(code, pc, u16::from(op::GOTO_32));
                insn::set_wide(code, pc + 1, distance as u32);
            }
        }
    }
}

/// Writes the places of arrays' data into the instructions that fill them.
pub fn patch_data(code: &mut [u8], old: &[u8], layout: &Layout, data: &[Insn]) -> Result<()> {
    for insn in data {
        let (pc, payload) = (layout.insn(insn.pc), layout.insn(insn.target(old)?));
        insn::set_wide(code, pc + 1, payload.wrapping_sub(pc));
    }
    Ok(())
}

/// Writes the switches and their payloads into the new code, which begins at `body` of `out`. Copies a shared payload to
/// the end where its switches need different distances. `false` where that is too much.
pub fn put_switches(
    out: &mut Vec<u8>,
    body: usize,
    old: &[u8],
    layout: &Layout,
    switches: &[Insn],
    payloads: &mut [Payload],
) -> Result<bool> {
    let mut fuel = u64::from(insn::units(old)) * 4;
    for &switch in switches {
        let payload = insn::switch_payload(old, switch)?;
        match fuel.checked_sub(u64::from(payload.size) + 1) {
            Some(left) => fuel = left,
            None => return Ok(false),
        }
        let from = layout.insn(switch.pc);
        let mut distances = Vec::with_capacity(payload.size as usize);
        insn::switch_targets(old, switch, |target| {
            distances.push(layout.target(target).wrapping_sub(from));
        })?;
        let Ok(i) = payloads.binary_search_by_key(&payload.pc, |p| p.pc) else {
            return Ok(false);
        };
        let mut at = layout.insn(payload.pc);
        let first = payload.targets - payload.pc;
        let written = (0..).map(|i| at + first + 2 * i);
        let serves = written
            .zip(&distances)
            .all(|(at, d)| insn::wide(&out[body..], at) == *d);
        if payloads[i].used && !serves {
            if (out.len() - body) % 4 == 2 {
                out.extend_from_slice(&[0, 0]);
            }
            at = insn::units(&out[body..]);
            let (len, _) = insn::length(old, payload.pc)?;
            let bytes = payload.pc as usize * 2..(payload.pc + len) as usize * 2;
            out.extend_from_slice(&old[bytes]);
        }
        payloads[i].used = true;
        let code = &mut out[body..];
        for (i, distance) in (0..).zip(&distances) {
            insn::set_wide(code, at + first + 2 * i, *distance);
        }
        insn::set_wide(code, from + 1, at.wrapping_sub(from));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dex::testing::code;

    fn solved(units: &[u16], inserted: &[(u32, u32)]) -> (Layout, Vec<Branch>, Vec<Payload>) {
        let code = code(units);
        let insns: Vec<Insn> = insn::each(&code).map(Result::unwrap).collect();
        let mut branches: Vec<Branch> = insns
            .iter()
            .filter(|i| i.op().has(crate::dex::format::opcodes::BRANCH))
            .map(|i| Branch::new(*i, Goal::Old(i.target(&code).unwrap())))
            .collect();
        let mut payloads: Vec<Payload> = insns
            .iter()
            .filter(|i| i.is_payload)
            .map(|i| Payload::at(i.pc))
            .collect();
        let mut layout = Layout::default();
        let fixed = (inserted.iter()).map(|&(pc, len)| Stop::insert(pc, Place::Before, len));
        solve(
            &mut layout,
            &mut vec![],
            fixed,
            &[],
            &mut branches,
            &mut payloads,
            insn::units(&code),
        );
        (layout, branches, payloads)
    }

    #[test]
    fn branches_grow_until_they_reach() {
        // goto +6; if-eqz v0, +5; nop; nop; nop; return-void
        let units = [0x0628, 0x0038, 5, 0, 0, 0, 0x000e];
        let grown = |units: &[u16], by: u32| {
            let (_, branches, _) = solved(units, &[(4, by)]);
            branches.iter().map(|b| b.growth).collect::<Vec<_>>()
        };
        assert_eq!(grown(&units, 121), [0, 0]);
        assert_eq!(grown(&units, 122), [1, 0]);
        assert_eq!(grown(&units, 32_760), [1, 0]);
        assert_eq!(grown(&units, 32_761), [2, 0]);
        assert_eq!(grown(&units, 32_762), [2, 0]);
        assert_eq!(grown(&units, 32_763), [2, 3]);
    }

    #[test]
    fn an_if_that_does_not_reach_is_inverted() {
        // if-eqz v0, +5; nop; nop; nop; return-void
        let units = [0x0038, 5, 0, 0, 0, 0x000e];
        let (layout, branches, _) = solved(&units, &[(4, 40_000)]);
        let mut new = code(&[0x0038, 5, 0, 0, 0]);
        patch(&mut new, &layout, &branches, 6);
        let insns: Vec<_> = insn::each(&new).map(|i| i.unwrap()).collect();
        assert_eq!((insns[0].op().name, insns[0].value), ("if-nez", 5));
        assert_eq!(
            (insns[1].op().name, insns[1].value),
            ("goto/32", 5 + 40_000 + 3 - 2)
        );
    }

    #[test]
    fn payloads_stay_aligned() {
        // fill-array-data v0, +4; return-void; payload
        let units = [0x0026, 4, 0, 0x000e, 0x0300, 1, 0, 0];
        for by in 0..4 {
            let (layout, _, _) = solved(&units, &[(3, by)]);
            assert_eq!(layout.insn(4) % 2, 0);
            assert!(layout.insn(4) <= 4 + by + 1);
        }
    }

    #[test]
    fn a_payload_that_serves_one_switch_no_longer_is_copied() {
        // Two switches with one payload; each goes two instructions further on.
        let units = [
            0x002b, 10, 0, // 0: packed-switch v0
            0x002b, 7, 0, // 3: packed-switch v0
            0, 0, 0, 0x000e, // 6..
            0x0100, 1, 0, 0, 5, 0, // 10: one case: 5 or 8
        ];
        let old = code(&units);
        let switches: Vec<Insn> = [0, 3].map(|pc| insn::at(&old, pc).unwrap()).to_vec();
        let new_targets = |inserted: &[(u32, u32)]| {
            let (layout, _, mut payloads) = solved(&units, inserted);
            let mut out = vec![];
            let mut copied = 0;
            for change in layout.changes() {
                out.extend_from_slice(&old[copied..change.pc as usize * 2]);
                copied = change.pc as usize * 2;
                out.resize(out.len() + 2 * change.before as usize, 0);
            }
            out.extend_from_slice(&old[copied..]);
            let len = out.len();
            assert!(put_switches(&mut out, 0, &old, &layout, &switches, &mut payloads).unwrap());
            let mut targets = vec![];
            for switch in &switches {
                let insn = insn::at(&out, layout.insn(switch.pc)).unwrap();
                insn::switch_targets(&out, insn, |t| targets.push(t)).unwrap();
            }
            (targets, (out.len() - len) / 2)
        };
        assert_eq!(new_targets(&[(0, 2)]), (vec![7, 10], 0));
        assert_eq!(new_targets(&[(6, 2)]), (vec![5, 10], 6));
    }
}
