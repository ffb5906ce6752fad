//! Where calls are redirected and hooks stand at points: which of these stay as they are, and the bodies as the rest of
//! the weave reads them, with the redirected calls in place. Nothing in such a body moves.

use crate::aspect::advice::Reason;
use crate::aspect::bind::site::{Passed, Placed, Redirect, Where};
use crate::aspect::plan::{LeftCall, Redirected};
use crate::bytes::put_le_u32;
use crate::cil::il::body::Body;
use crate::cil::il::insn::op;
use crate::cil::image::Image;
use crate::cil::machines::Machines;
use crate::cil::metadata::flags::{impl_flag, method_flag};
use crate::cil::metadata::schema::{column, table};
use crate::cil::metadata::tables::Row;
use crate::cil::weave::methods::Methods;
use crate::cil::weave::points;
use crate::cil::weave::redirects::Token;
use crate::error::Result;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A call or a point of a plan, as the code has it.
pub(crate) struct Site {
    call: Redirected,
    /// The address of the body.
    rva: u32,
    /// Where its prefixes and its instruction begin in the body.
    first: usize,
    insn: usize,
    /// Why it stays, if it does.
    stays: Option<Reason>,
    /// It calls something else.
    is_replaced: bool,
    /// Something goes in front of it or behind it.
    is_point: bool,
}

/// Finds the calls and points of a plan.
pub(crate) fn find(image: &Image<'_>, machines: &Machines, methods: &Methods) -> Result<Vec<Site>> {
    let of = |call: &Redirected| {
        let redirect = &methods.redirects[call.redirect as usize];
        Site::of(image, machines, redirect, *call)
    };
    methods.calls.iter().map(of).collect()
}

impl Site {
    fn of(
        image: &Image<'_>,
        machines: &Machines,
        redirect: &Redirect,
        call: Redirected,
    ) -> Result<Site> {
        let metadata = &image.metadata;
        let positions = metadata.method_positions(call.ty + 1)?;
        let method = match call.inner {
            0 => metadata.method_at(positions.start + call.index)?,
            inner => inner,
        };
        let row = metadata.tables.row(table::METHOD_DEF, method)?;
        let rva = row.get(column::method_def::RVA);
        let (_, body) = image.body(rva)?;
        let mut site = Site {
            call,
            rva,
            first: body.code_offset + call.at as usize,
            insn: body.code_offset + call.at as usize,
            stays: None,
            is_replaced: true,
            is_point: false,
        };
        if let Some(placed) = redirect.placed() {
            let insn = points::instruction(body.code, call.at)?;
            site.insn = body.code_offset + insn.pc as usize;
            site.is_replaced = placed.when == Where::Replace;
            site.is_point = placed.changes_code();
            let is_made = call.inner == 0
                && (machines.has_type(call.ty + 1) || machines.of(method).is_some());
            site.stays = match is_made {
                true => Some(Reason::InStateMachine),
                false => point_stays(placed, &row, body.code, insn.end())?,
            };
        }
        Ok(site)
    }

    /// The point, if something goes in front of it or behind it.
    pub fn point(&self) -> Option<Redirected> {
        (self.is_point && self.stays.is_none()).then_some(self.call)
    }
}

/// Why a point of a method stays; `behind` is where its instruction ends.
fn point_stays(
    placed: &Placed,
    method: &Row<'_>,
    code: &[u8],
    behind: u32,
) -> Result<Option<Reason>> {
    let is_static = method.get(column::method_def::FLAGS) & method_flag::STATIC != 0;
    Ok(
        if method.get(column::method_def::IMPL_FLAGS) & impl_flag::ASYNC != 0 {
            Some(Reason::RuntimeAsync)
        } else if behind as usize >= code.len() && placed.when == Where::After {
            Some(Reason::Unsupported)
        } else if placed.passed.contains(&Passed::This) && !is_static {
            points::overwrites_this(code)?.then_some(Reason::Unsupported)
        } else {
            None
        },
    )
}

/// The bodies of an image, with the calls that are redirected.
pub(crate) struct OldBodies<'i, 'a> {
    image: &'i Image<'a>,
    /// Those that have such calls, by their addresses.
    changed: BTreeMap<u32, Vec<u8>>,
}

/// A body with all its bytes.
pub(crate) struct Read<'c> {
    pub body: Body<'c>,
    pub bytes: &'c [u8],
    /// Where it lies in the file, if it is as there.
    pub at: Option<usize>,
}

/// What becomes of calls and points.
pub(crate) struct Settled {
    /// The points that get something in front or behind.
    pub points: Vec<Redirected>,
    /// What stays, and why.
    pub left: Vec<LeftCall>,
}

impl<'i, 'a> OldBodies<'i, 'a> {
    /// As the image has it.
    pub fn of(image: &'i Image<'a>) -> OldBodies<'i, 'a> {
        OldBodies {
            image,
            changed: BTreeMap::new(),
        }
    }

    /// Redirects the calls of these sites to the methods of their redirects, by the tokens of these.
    pub fn redirect(&mut self, sites: &[Site], tokens: &[Token]) -> Result<Settled> {
        let mut settled = Settled {
            points: Vec::new(),
            left: Vec::new(),
        };
        for site in sites {
            match (tokens[site.call.redirect as usize], site.stays) {
                (Err(reason), _) | (Ok(_), Some(reason)) => settled.left.push(LeftCall {
                    call: site.call,
                    reason,
                }),
                (Ok(token), None) => {
                    settled.points.extend(site.point());
                    if site.is_replaced {
                        self.replace(site, token)?;
                    }
                }
            }
        }
        Ok(settled)
    }

    fn replace(&mut self, site: &Site, token: u32) -> Result<()> {
        let bytes = match self.changed.entry(site.rva) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let (at, body) = self.image.body(site.rva)?;
                place.insert(self.image.bytes[at..at + body.len].to_vec())
            }
        };
        // Prefixes of a field's access.
        bytes[site.first..site.insn].fill(op::NOP as u8);
        bytes[site.insn] = op::CALL as u8;
        put_le_u32(bytes, site.insn + 1, token);
        Ok(())
    }

    /// A method's body, given its address.
    pub fn body(&self, rva: u32) -> Result<Read<'_>> {
        if let Some(bytes) = self.changed.get(&rva) {
            return Ok(Read {
                body: Body::parse(bytes, rva)?,
                bytes,
                at: None,
            });
        }
        let (at, body) = self.image.body(rva)?;
        let bytes = &self.image.bytes[at..at + body.len];
        Ok(Read {
            body,
            bytes,
            at: Some(at),
        })
    }

    /// Of the bodies that stay where they are, by their addresses, those with redirected calls.
    pub fn into_changed(mut self, stay: &[u32]) -> BTreeMap<u32, Vec<u8>> {
        (self.changed).retain(|rva, _| stay.binary_search(rva).is_ok());
        self.changed
    }
}
