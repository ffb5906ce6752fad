//! Method references: `executor::execute` is an `invokedynamic` whose bootstrap method gets a handle of the method. A rule about
//! calls of that method means it as well: then the handle is that of what is called instead.

use crate::aspect::joinpoint::CallHow;
use crate::bytes::{Cursor, mutf8};
use crate::error::Result;
use crate::jvm::class::Class;
use crate::jvm::pool::{Additions, MemberRef, tag};

/// The kinds of method handles (JVMS 4.4.8).
const INVOKE_VIRTUAL: u8 = 5;
const INVOKE_STATIC: u8 = 6;
const INVOKE_INTERFACE: u8 = 9;

/// What a method reference names.
pub struct Reference {
    /// The constant of the method.
    pub member: u16,
    pub how: CallHow,
    /// Where the entry of its bootstrap method lies in the class file, and how long it is.
    entry: (usize, usize),
}

/// What the `invokedynamic` with this constant makes a function of, if that is a method which others can call as well.
pub fn reference(class: &Class<'_>, dynamic: u16) -> Result<Option<Reference>> {
    let MemberRef {
        owner: bootstrap,
        descriptor,
        ..
    } = class.pool.member(dynamic)?;
    let Some(&at) = class.bootstraps().entries.get(usize::from(bootstrap)) else {
        return Ok(None);
    };
    let mut cursor = Cursor::at(class.bytes, at as usize);
    let (factory, arguments) = (cursor.be_u16()?, cursor.be_u16()?);
    let MemberRef { owner, name, .. } = class.pool.member(class.pool.method_handle(factory)?)?;
    // What the other method of that factory makes may be serialised, which names the method.
    if class.pool.class_name(owner)? != b"java/lang/invoke/LambdaMetafactory"
        || name != b"metafactory"
        || arguments != 3
    {
        return Ok(None);
    }
    cursor.be_u16()?;
    let handle = cursor.be_u16()?;
    let kind = class.pool.handle_kind(handle)?;
    let member = class.pool.method_handle(handle)?;
    let MemberRef {
        owner,
        name,
        descriptor: of,
    } = class.pool.member(member)?;
    let owner = class.pool.class_name(owner)?;
    let captured = mutf8(descriptor);
    let captured = captured.split(')').next().unwrap_or_default();
    // What is captured must be of just the type that the method takes.
    let how = match kind {
        INVOKE_STATIC if captured == "(" => CallHow::Static,
        INVOKE_VIRTUAL | INVOKE_INTERFACE
            if captured == "(" || captured == format!("(L{};", mutf8(owner)) =>
        {
            match kind {
                INVOKE_VIRTUAL => CallHow::Virtual,
                _ => CallHow::Interface,
            }
        }
        _ => return Ok(None),
    };
    let is_own = owner == class.name_bytes()?;
    if is_own && class.bootstraps().is_body(name, of) {
        return Ok(None);
    }
    Ok(Some(Reference {
        member,
        how,
        entry: (at as usize, 4 + 2 * usize::from(arguments)),
    }))
}

/// How far [`Added`] was.
#[derive(Clone, Copy)]
pub struct Mark {
    len: usize,
    count: u16,
}

/// The entries of bootstrap methods that a class gets.
#[derive(Default)]
pub struct Added {
    entries: Vec<u8>,
    count: u16,
}

impl Added {
    /// The constant of an `invokedynamic` that makes a function of the static method `called` in place of another one; none where there
    /// is no room.
    pub fn put(
        &mut self,
        class: &Class<'_>,
        dynamic: u16,
        called: u16,
        additions: &mut Additions,
    ) -> Result<Option<u16>> {
        let Some(reference) = reference(class, dynamic)? else {
            return Ok(None);
        };
        let old = class.bootstraps().entries.len();
        let Ok(number) = u16::try_from(old + usize::from(self.count)) else {
            return Ok(None);
        };
        let [high, low] = called.to_be_bytes();
        let handle = additions.shared(tag::METHOD_HANDLE, &[INVOKE_STATIC, high, low]);
        let (at, len) = reference.entry;
        let mut entry = class.bytes[at..at + len].to_vec();
        entry[6..8].copy_from_slice(&handle.to_be_bytes());
        self.entries.extend_from_slice(&entry);
        self.count += 1;
        let named = class.pool.name_and_type(dynamic)?;
        Ok(Some(additions.pair(tag::INVOKE_DYNAMIC, number, named)))
    }

    /// How many there are, for [`rollback`](Added::rollback).
    pub fn mark(&self) -> Mark {
        Mark {
            len: self.entries.len(),
            count: self.count,
        }
    }

    /// Removes the entries since a mark.
    pub fn rollback(&mut self, mark: Mark) {
        self.entries.truncate(mark.len);
        self.count = mark.count;
    }

    /// Puts the entries into the class file, which ends with `rest`.
    pub fn finish(self, class: &Class<'_>, rest: &mut Vec<u8>) {
        let (Some(start), true) = (class.bootstraps().start, self.count > 0) else {
            return;
        };
        let at = rest.len() - (class.bytes.len() - start);
        let number = |rest: &[u8], at: usize| {
            u32::from_be_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]])
        };
        let len = number(rest, at + 2);
        let count = u16::from_be_bytes([rest[at + 6], rest[at + 7]]) + self.count;
        rest[at + 2..at + 6].copy_from_slice(&(len + self.entries.len() as u32).to_be_bytes());
        rest[at + 6..at + 8].copy_from_slice(&count.to_be_bytes());
        let end = at + 6 + len as usize;
        rest.splice(end..end, self.entries);
    }
}
