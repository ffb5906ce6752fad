//! Whether a method's parameters keep their types to its end, so that the handler's frame can list them.
//!
//! Verifiers accept a frame without locals. But tools that instrument woven classes later, such as Byte Buddy, expect the
//! parameters in every full frame, with their declared types. They are listed where that is sound: all frames list them,
//! and no store changes their types ([`crate::jvm::stores`]).

use crate::bytes::Cursor;
use crate::error::Result;
use crate::jvm::class::Class;
use crate::jvm::frames::{self, item};
use crate::jvm::signature::each_parameter;
use crate::jvm::simulation::{Type, Value};

/// A parameter, or `this`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Tag of its verification type (JVMS 4.7.4).
    pub tag: u8,
    /// Its type, if it is an object.
    pub ty: Option<Type<'a>>,
    /// The name of its class: an internal name, or an array's descriptor.
    pub name: &'a [u8],
}

impl<'a> Parameter<'a> {
    fn of(descriptor: &'a [u8]) -> Parameter<'a> {
        let (tag, name): (u8, &[u8]) = match descriptor[0] {
            b'J' => (item::LONG, b""),
            b'D' => (item::DOUBLE, b""),
            b'F' => (item::FLOAT, b""),
            b'[' => (item::OBJECT, descriptor),
            b'L' => (item::OBJECT, &descriptor[1..descriptor.len() - 1]),
            _ => (item::INTEGER, b""),
        };
        Parameter {
            tag,
            ty: Type::of(descriptor),
            name,
        }
    }

    pub fn words(&self) -> usize {
        1 + usize::from(matches!(self.tag, item::LONG | item::DOUBLE))
    }

    pub fn value(&self) -> Value<'a> {
        self.ty.map_or(Value::Other, Value::Object)
    }
}

/// The parameters of a method, an initialised `this` first.
pub fn parameters<'a>(
    class: &Class<'a>,
    descriptor: &'a [u8],
    is_static: bool,
) -> Result<Vec<Parameter<'a>>> {
    let mut all = Vec::new();
    if !is_static {
        let name = class.pool.class_name(class.this_class())?;
        all.push(Parameter {
            tag: item::OBJECT,
            ty: Some(Type::named(name)),
            name,
        });
    }
    each_parameter(descriptor, |d| all.push(Parameter::of(d)));
    Ok(all)
}

/// The locals of a method's last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How many there are behind the parameters.
    pub more: usize,
    /// `this` is initialised.
    pub initialised: bool,
}

/// Reads the locals of the last frame of a StackMapTable; `None` where some frame does not list the parameters with their
/// types. `uninitializedThis` may stand for `this`.
pub fn frames_keep(
    class: &Class<'_>,
    stack_map: &[u8],
    parameters: &[Parameter<'_>],
    is_constructor: bool,
) -> Result<Option<Kept>> {
    let mut count = Some(parameters.len());
    let mut initialised = !is_constructor;
    let listed = |locals: &[u8]| -> Result<(usize, bool, bool)> {
        let mut cursor = Cursor::new(locals);
        let n = usize::from(cursor.be_u16()?);
        let mut same = n >= parameters.len();
        let mut initialised = true;
        for (i, parameter) in parameters.iter().enumerate().take(n) {
            let tag = cursor.u8()?;
            if tag == item::UNINITIALIZED_THIS && i == 0 && is_constructor {
                initialised = false;
                continue;
            }
            same &= tag == parameter.tag;
            if tag == item::OBJECT {
                same = same && class.pool.class_name(cursor.be_u16()?)? == parameter.name;
            } else if tag == item::UNINITIALIZED {
                cursor.be_u16()?;
            }
            if !same {
                break;
            }
        }
        Ok((n, same, initialised))
    };
    if !stack_map.is_empty() {
        frames::locals_changes(stack_map, |shape| {
            let Some(n) = count else { return Ok(()) };
            count = match shape {
                frames::LocalsChange::Locals {
                    list,
                    uninitialised_this,
                } => {
                    let (n, same, this) = listed(list)?;
                    initialised = this && !uninitialised_this;
                    same.then_some(n)
                }
                frames::LocalsChange::Fewer(by) => {
                    n.checked_sub(by).filter(|&n| n >= parameters.len())
                }
                frames::LocalsChange::More(by) => Some(n + by),
                frames::LocalsChange::Same => Some(n),
            };
            Ok(())
        })?;
    }
    let more = count.and_then(|n| n.checked_sub(parameters.len()));
    Ok(more.map(|more| Kept { more, initialised }))
}
