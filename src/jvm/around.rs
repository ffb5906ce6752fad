//! Hooks in the places of bodies: such a body becomes a method of its own, which `proceed` runs.
//!
//! ```text
//!     M             operands, among them [this; arguments; invokedynamic]; invokestatic hook; xreturn
//!     weave$body$M  what M was, private
//! ```
//!
//! The class is split before anything is woven into it; then the hooks outside of an `around` are woven into M, and the others with the
//! recorded pair into its body. Where several aspects have one, there is a method for each between these two.

use crate::aspect::advice::{Advice, Reason};
use crate::aspect::attempt::{Attempt, settle};
use crate::aspect::bind::call::{Around, Bound, Call, Proceed, Source};
use crate::aspect::bind::ty::{Signature, Ty};
use crate::aspect::plan::{Plan, Planned};
use crate::aspect::serial::{FIELD, Said};
use crate::bytes::{Cursor, modified_utf8};
use crate::error::Result;
use crate::jvm::adapter::put_attribute;
use crate::jvm::attributes::first_line;
use crate::jvm::class::{BODY, Class, Code, MethodInfo, attributes, flag};
use crate::jvm::emit::{self, Kind, Snippet};
use crate::jvm::insn::op;
use crate::jvm::lower::{self, AtStart};
use crate::jvm::pool::{Additions, Known, tag};
use crate::jvm::scan::{self, Copied};
use crate::jvm::serial;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What makes objects of functional interfaces, and its one method.
const FACTORY: &[u8] = b"java/lang/invoke/LambdaMetafactory";
const METAFACTORY: &[u8] = b"metafactory";
const METAFACTORY_TYPE: &[u8] = b"(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodHandle;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;";

/// Kinds of method handles (JVMS 5.4.3.5).
const REF_INVOKE_STATIC: u8 = 6;
const REF_INVOKE_SPECIAL: u8 = 7;

/// Most constants that a split method adds besides those of calls: names of attributes, a method for each `around` with one that
/// returns null for it, and a field of the class.
const MAX_ADDITIONS: usize = 32 + 5;

/// Room that is left for what is woven into the class then.
const ROOM: usize = 4 * lower::MAX_ADDITIONS as usize;

/// The longest that stands in front of a method's name.
const LONGEST_PREFIX: usize = 32;

/// A class whose methods with `around` are split.
pub struct Split {
    pub bytes: Vec<u8>,
    /// What is woven into it.
    pub plan: Plan,
    /// The methods that these were, by their numbers in the class as it was.
    pub origins: Vec<u32>,
    /// The methods that are split, and their first lines.
    pub split: FxHashMap<u32, u16>,
    /// Those that cannot be.
    pub left: Vec<(u32, Reason)>,
}

/// Whether a class is split already.
pub fn is_split(class: &Class<'_>) -> bool {
    let is_body = |method: &MethodInfo| {
        (class.pool.utf8(method.name)).is_ok_and(|name| name.starts_with(BODY.as_bytes()))
    };
    class.methods.iter().any(is_body)
}

/// A class under way.
struct Splitting<'s, 'a> {
    class: &'s Class<'a>,
    /// What stays whole.
    copied: Copied,
    additions: Additions,
    /// `BootstrapMethods` without its count.
    bootstraps: Vec<u8>,
    bootstrap_count: u16,
    /// Methods behind those that the class has.
    added: Vec<u8>,
    added_count: usize,
    /// What the class says of its number for serialization; none, where nobody asks for that.
    said: Option<Said>,
}

/// Splits the planned methods that have hooks in the places of their bodies, but for those that are left.
pub fn split(class: &Class<'_>, plan: &Plan, leave: &FxHashMap<u32, Reason>) -> Result<Split> {
    let mut splitting = Splitting::new(class)?;
    // A class is planned by itself.
    if !plan.not_numbered.contains(&0) {
        splitting.said = Some(serial::declared(class)?.said());
    }
    let mut split = Split {
        bytes: Vec::new(),
        plan: Plan::default(),
        origins: Vec::new(),
        split: FxHashMap::default(),
        left: Vec::new(),
    };
    let mut planned: Vec<(Planned, u32)> = Vec::new();
    let mut changed: FxHashMap<u32, Vec<u8>> = FxHashMap::default();
    split.plan.bound.clone_from(&plan.bound);
    for one in &plan.methods {
        let bound = one.bound.map(|place| &plan.bound[place as usize]);
        let Some(bound) = bound.filter(|bound| bound.around.is_some()) else {
            planned.push((*one, one.index));
            continue;
        };
        if leave.contains_key(&one.index) {
            continue;
        }
        let mark = splitting.mark();
        let method = &class.methods[one.index as usize];
        let attempt = splitting.split(one, bound);
        match settle(attempt).map_err(|e| e.in_method(class.method_label(method)))? {
            Err(reason) => {
                splitting.rollback(mark);
                split.left.push((one.index, reason));
            }
            Ok(done) => {
                for (index, layer) in done.layers {
                    let advice = one.advice_of(layer.as_deref());
                    if advice == Advice::default() {
                        continue;
                    }
                    let place = layer.filter(|_| advice.has(Advice::OWN)).map(|layer| {
                        split.plan.bound.push(layer);
                        split.plan.bound.len() as u32 - 1
                    });
                    let layer = Planned {
                        index,
                        advice,
                        bound: place,
                        ..*one
                    };
                    planned.push((layer, one.index));
                }
                changed.insert(one.index, done.method);
                split.split.insert(one.index, done.line);
            }
        }
    }
    planned.sort_by_key(|(planned, _)| planned.index);
    (split.plan.methods, split.origins) = planned.into_iter().unzip();
    split.bytes = splitting.class_file(&changed)?;
    Ok(split)
}

/// A method that is split.
struct Done {
    /// Its `method_info`.
    method: Vec<u8>,
    line: u16,
    /// It and the methods that it became, by their numbers, with what is woven into each.
    layers: Vec<(u32, Option<Arc<Bound>>)>,
}

/// What a method has in all its parts.
struct Whole<'w, 'a> {
    info: &'w MethodInfo,
    name: &'a [u8],
    code: Code<'a>,
    signature: Signature,
    id: u32,
    line: u16,
}

impl Whole<'_, '_> {
    fn flags(&self, more: u16) -> u16 {
        flag::PRIVATE | flag::SYNTHETIC | self.info.access & (flag::STATIC | more)
    }

    fn is_static(&self) -> bool {
        self.info.access & flag::STATIC != 0
    }

    fn parameters(&self) -> impl Iterator<Item = &Ty> {
        self.signature.parameters.iter().map(|p| &p.ty)
    }
}

impl<'a> Splitting<'_, 'a> {
    fn new<'s>(class: &'s Class<'a>) -> Result<Splitting<'s, 'a>> {
        let mut splitting = Splitting {
            class,
            copied: Copied::of(class),
            additions: Additions::default(),
            bootstraps: Vec::new(),
            bootstrap_count: 0,
            added: Vec::new(),
            added_count: 0,
            said: None,
        };
        splitting.additions.reset(&class.pool);
        attributes(class.bytes, class.attributes, |a| {
            if class.pool.utf8(a.name)? == b"BootstrapMethods" {
                splitting.bootstrap_count = Cursor::new(a.data).be_u16()?;
                splitting.bootstraps = a.data[2..].to_vec();
            }
            Ok(())
        })?;
        Ok(splitting)
    }

    fn mark(&self) -> ((usize, u16), (usize, u16), (usize, usize)) {
        let bootstraps = (self.bootstraps.len(), self.bootstrap_count);
        let added = (self.added.len(), self.added_count);
        (self.additions.mark(), bootstraps, added)
    }

    fn rollback(
        &mut self,
        (additions, bootstraps, added): ((usize, u16), (usize, u16), (usize, usize)),
    ) {
        self.additions.rollback(additions);
        self.bootstraps.truncate(bootstraps.0);
        self.bootstrap_count = bootstraps.1;
        self.added.truncate(added.0);
        self.added_count = added.1;
    }

    fn split(&mut self, planned: &Planned, bound: &Arc<Bound>) -> Attempt<Done> {
        let class = self.class;
        let info = &class.methods[planned.index as usize];
        let code = class.code(info)?.ok_or(Reason::NoBody)?;
        if let Some(reason) = self.copied.refuses(class, info) {
            return Err(reason.into());
        }
        let loses_lock = info.access & (flag::SYNCHRONIZED | flag::PRIVATE) == flag::SYNCHRONIZED;
        if loses_lock && self.said == Some(Said::Wrong) {
            return Err(Reason::SerialNumber.into());
        }
        let whole = Whole {
            info,
            name: class.pool.utf8(info.name)?,
            code,
            signature: scan::signature_of(class, info).ok_or(Reason::Unsupported)?,
            id: planned.id,
            line: first_line(class, &code)?,
        };
        if whole.name.len() + LONGEST_PREFIX > usize::from(u16::MAX) {
            return Err(Reason::Unsupported.into());
        }
        let mut layers = vec![(planned.index, Some(Arc::clone(bound)))];
        let mut method = Vec::new();
        let mut place = 1;
        let mut name = whole.name.to_vec();
        let mut layer = Some(Arc::clone(bound));
        while let Some(Around { call, inner }) =
            layer.as_deref().and_then(|layer| layer.around.as_deref())
        {
            let needed = MAX_ADDITIONS + lower::constants_of_around(call) + ROOM;
            if usize::from(self.additions.room()) < needed
                || usize::from(u16::MAX - self.bootstrap_count) < call.operands.len()
            {
                return Err(Reason::PoolFull.into());
            }
            let prefix = match inner.as_ref().is_some_and(|inner| inner.around.is_some()) {
                true => format!("weave$around{}$", place + 1),
                false => BODY.to_owned(),
            };
            let target = [prefix.as_bytes(), whole.name].concat();
            let attribute = self.code_of(&whole, call, &target, place)?;
            match place {
                1 => method = self.method_info(&whole, &attribute)?,
                _ => {
                    self.add(whole.flags(0), &name, info.descriptor, &attribute);
                    layers.push((self.last(), layer.clone()));
                }
            }
            place += 1;
            name = target;
            let inner = inner.clone();
            layer = inner;
        }
        let range = info.code.clone().ok_or(Reason::NoBody)?;
        let flags = whole.flags(flag::SYNCHRONIZED | flag::STRICT);
        self.add(flags, &name, info.descriptor, &class.bytes[range]);
        layers.push((self.last(), layer));
        if class.methods.len() + self.added_count > usize::from(u16::MAX) {
            return Err(Reason::PoolFull.into());
        }
        Ok(Done {
            method,
            line: whole.line,
            layers,
        })
    }

    /// The number of the method that was added last.
    fn last(&self) -> u32 {
        (self.class.methods.len() + self.added_count) as u32 - 1
    }

    /// Adds a method with this Code attribute.
    fn add(&mut self, access: u16, name: &[u8], descriptor: u16, code: &[u8]) {
        let name = self.additions.shared_utf8(name);
        for n in [access, name, descriptor, 1] {
            self.added.extend_from_slice(&n.to_be_bytes());
        }
        self.added.extend_from_slice(code);
        self.added_count += 1;
    }

    /// The method as it was, with other code. Its lock goes with the body.
    fn method_info(&self, whole: &Whole<'_, 'a>, code: &[u8]) -> Result<Vec<u8>> {
        let bytes = self.class.bytes;
        let start = whole.info.range.start;
        let access = whole.info.access & !flag::SYNCHRONIZED;
        let mut out = access.to_be_bytes().to_vec();
        out.extend_from_slice(&bytes[start + 2..start + 8]);
        attributes(bytes, start + 6, |a| {
            let end = a.offset() + a.data.len();
            match whole
                .info
                .code
                .as_ref()
                .is_some_and(|own| own.start == a.start)
            {
                true => out.extend_from_slice(code),
                false => out.extend_from_slice(&bytes[a.start..end]),
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The Code attribute of a method that calls a hook, which gets what runs the method `target`.
    fn code_of(
        &mut self,
        whole: &Whole<'_, 'a>,
        call: &Call,
        target: &[u8],
        place: usize,
    ) -> Attempt<Vec<u8>> {
        let mut proceeds: Vec<(Proceed, u16)> = Vec::new();
        let mut null = None;
        for operand in &call.operands {
            if let Source::Proceed(proceed) = &operand.source
                && !proceeds.iter().any(|(known, _)| known == &**proceed)
            {
                let constant = self.proceed(whole, proceed, (target, place), &mut null);
                proceeds.push(((**proceed).clone(), constant));
            }
        }
        let mut out = Snippet::default();
        let at_start = AtStart {
            class: self.class,
            method: whole.info,
            id: whole.id,
            line: whole.line,
        };
        let max_locals = at_start.put_around(call, &proceeds, &mut self.additions, &mut out)?;
        if out.len() > lower::MAX_CODE {
            return Err(Reason::CodeTooLarge.into());
        }
        let tables = self.tables(whole, out.len() as u16)?;
        Ok(self.attribute(&out, max_locals, &tables))
    }

    /// A Code attribute.
    fn attribute(&mut self, out: &Snippet, max_locals: u16, tables: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&(out.deepest() as u16).to_be_bytes());
        body.extend_from_slice(&max_locals.to_be_bytes());
        body.extend_from_slice(&out.len().to_be_bytes());
        body.extend_from_slice(out.bytes());
        // No handlers.
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&(tables.len() as u16).to_be_bytes());
        for (name, data) in tables {
            put_attribute(&mut body, *name, data);
        }
        let code = self.name(Known::Code, "Code");
        let mut attribute = Vec::new();
        put_attribute(&mut attribute, code, &body);
        attribute
    }

    fn name(&mut self, known: Known, text: &str) -> u16 {
        match self.class.pool.known(known) {
            0 => self.additions.shared_utf8(text.as_bytes()),
            index => index,
        }
    }

    /// Its first line, and the names of its parameters: debuggers show them, and frameworks read them.
    fn tables(&mut self, whole: &Whole<'_, 'a>, len: u16) -> Result<Vec<(u16, Vec<u8>)>> {
        let mut tables = Vec::new();
        if whole.line != 0 {
            let name = self.name(Known::LineNumberTable, "LineNumberTable");
            let [high, low] = whole.line.to_be_bytes();
            tables.push((name, vec![0, 1, 0, 0, high, low]));
        }
        let words: u32 = whole.parameters().map(emit::words).sum();
        let words = words + u32::from(!whole.is_static());
        attributes(self.class.bytes, whole.code.attributes, |a| {
            if !matches!(
                self.class.pool.which(a.name),
                Some(Known::LocalVariableTable | Known::LocalVariableTypeTable)
            ) {
                return Ok(());
            }
            let mut cursor = Cursor::new(a.data);
            let (mut count, mut entries) = (0u16, Vec::new());
            // One entry for each name in a variable: of two of one length HotSpot refuses the class.
            let mut seen: FxHashSet<[u8; 4]> = FxHashSet::default();
            for _ in 0..cursor.be_u16()? {
                let (start, _) = (cursor.be_u16()?, cursor.be_u16()?);
                let rest = cursor.take(6)?;
                let slot = u16::from_be_bytes([rest[4], rest[5]]);
                let named = [rest[0], rest[1], rest[4], rest[5]];
                if start == 0 && u32::from(slot) < words && seen.insert(named) {
                    entries.extend_from_slice(&[0, 0]);
                    entries.extend_from_slice(&len.to_be_bytes());
                    entries.extend_from_slice(rest);
                    count += 1;
                }
            }
            if count > 0 {
                tables.push((a.name, [&count.to_be_bytes()[..], &entries].concat()));
            }
            Ok(())
        })?;
        Ok(tables)
    }

    /// The constant of the `invokedynamic` that makes an object which runs the method `target`.
    fn proceed(
        &mut self,
        whole: &Whole<'_, 'a>,
        proceed: &Proceed,
        (target, place): (&[u8], usize),
        null: &mut Option<u16>,
    ) -> u16 {
        let function = &proceed.function;
        let result = &whole.signature.result;
        let parameters: Vec<Ty> = whole.parameters().cloned().collect();
        let own = emit::descriptor(&parameters, result);
        let runs = match (result, &function.result) {
            (Ty::Void, given) if *given != Ty::Void => match *null {
                Some(known) => known,
                None => *null.insert(self.returns_null(whole, target, place)),
            },
            _ => self.method(target, &own),
        };
        let this = (!whole.is_static()).then(|| Ty::class(&self.class.name()));
        let kept = match proceed.takes_arguments {
            true => &[][..],
            false => &parameters,
        };
        let kept: Vec<Ty> = this.into_iter().chain(kept.iter().cloned()).collect();
        // What it is called with and gives, as near to the method as the interface allows (LambdaMetafactory).
        let near = |own: &Ty, declared: &Ty| match own {
            Ty::Prim(prim) if declared.is_reference() => Ty::class(emit::box_class(*prim)),
            own => own.clone(),
        };
        let given = match result {
            Ty::Prim(_) => near(result, &function.result),
            _ => function.result.clone(),
        };
        let taken: Vec<Ty> = (parameters.iter().zip(&function.parameters))
            .map(|(own, declared)| near(own, declared))
            .collect();
        let declared = self.method_type(&function.parameters, &function.result);
        let near = self.method_type(&taken, &given);
        let kind = match whole.is_static() {
            true => REF_INVOKE_STATIC,
            false => REF_INVOKE_SPECIAL,
        };
        let runs = self.handle(kind, runs);
        let factory = self.additions.class(&self.class.pool, FACTORY);
        let factory =
            (self.additions).shared_method(tag::METHODREF, factory, METAFACTORY, METAFACTORY_TYPE);
        let factory = self.handle(REF_INVOKE_STATIC, factory);
        for n in [factory, 3, declared, runs, near] {
            self.bootstraps.extend_from_slice(&n.to_be_bytes());
        }
        let bootstrap = self.bootstrap_count;
        self.bootstrap_count += 1;
        let name = self.additions.shared_utf8(&modified_utf8(&function.name));
        let descriptor = emit::descriptor(&kept, &proceed.ty);
        let descriptor = self.additions.shared_utf8(&descriptor);
        let named = self.additions.pair(tag::NAME_AND_TYPE, name, descriptor);
        self.additions.pair(tag::INVOKE_DYNAMIC, bootstrap, named)
    }

    fn method_type(&mut self, parameters: &[Ty], result: &Ty) -> u16 {
        let descriptor = emit::descriptor(parameters, result);
        let descriptor = self.additions.shared_utf8(&descriptor);
        (self.additions).shared(tag::METHOD_TYPE, &descriptor.to_be_bytes())
    }

    fn handle(&mut self, kind: u8, method: u16) -> u16 {
        let [high, low] = method.to_be_bytes();
        (self.additions).shared(tag::METHOD_HANDLE, &[kind, high, low])
    }

    /// The constant of a method of the class.
    fn method(&mut self, name: &[u8], descriptor: &[u8]) -> u16 {
        let tag = match self.class.access & flag::INTERFACE {
            0 => tag::METHODREF,
            _ => tag::INTERFACE_METHODREF,
        };
        let this = self.class.this_class();
        (self.additions).shared_method(tag, this, name, descriptor)
    }

    /// Adds a method that runs `target`, which returns nothing, and returns null for it; gives its constant.
    fn returns_null(&mut self, whole: &Whole<'_, 'a>, target: &[u8], place: usize) -> u16 {
        let parameters: Vec<Ty> = whole.parameters().cloned().collect();
        let called = self.method(target, &emit::descriptor(&parameters, &Ty::Void));
        let mut out = Snippet::default();
        let mut slot = 0;
        let this = (!whole.is_static()).then_some(Kind::REFERENCE);
        for kind in this
            .into_iter()
            .chain(parameters.iter().filter_map(Kind::of))
        {
            out.load(kind, slot);
            slot += kind.words() as u16;
        }
        match whole.is_static() {
            true => out.call(called, slot.into(), 0),
            false => out.indexed(op::INVOKESPECIAL, called, slot.into(), 0),
        }
        out.op(op::ACONST_NULL, 0, 1);
        out.op(op::ARETURN, 1, 0);
        let mut name = format!("weave$null{place}$").into_bytes();
        name.extend_from_slice(whole.name);
        let object = Ty::class("java/lang/Object");
        let descriptor = emit::descriptor(&parameters, &object);
        let constant = self.method(&name, &descriptor);
        let attribute = self.attribute(&out, slot, &[]);
        let descriptor = self.additions.shared_utf8(&descriptor);
        self.add(whole.flags(0), &name, descriptor, &attribute);
        constant
    }

    /// The class with these methods in the places of others. A class without a number for serialization keeps the one that it had.
    fn class_file(mut self, changed: &FxHashMap<u32, Vec<u8>>) -> Result<Vec<u8>> {
        if changed.is_empty() {
            return Ok(self.class.bytes.to_vec());
        }
        let attributes = self.class_attributes()?;
        let bytes = self.with_fields(changed, &attributes, None)?;
        if self.said != Some(Said::Nothing) {
            return Ok(bytes);
        }
        let number = serial::declared(self.class)?.default_number();
        if serial::declared(&Class::parse(&bytes)?)?.default_number() == number {
            return Ok(bytes);
        }
        let field = self.number_field(number);
        self.with_fields(changed, &attributes, Some(&field))
    }

    /// The class's attributes, with their count in front.
    fn class_attributes(&mut self) -> Result<Vec<u8>> {
        let class = self.class;
        let bootstraps = match self.bootstrap_count {
            0 => Vec::new(),
            count => [&count.to_be_bytes()[..], &self.bootstraps].concat(),
        };
        let mut out = vec![0, 0];
        let (mut count, mut has_bootstraps) = (0u16, bootstraps.is_empty());
        attributes(class.bytes, class.attributes, |a| {
            match class.pool.utf8(a.name)? == b"BootstrapMethods" {
                true => {
                    put_attribute(&mut out, a.name, &bootstraps);
                    has_bootstraps = true;
                }
                false => {
                    let end = a.offset() + a.data.len();
                    out.extend_from_slice(&class.bytes[a.start..end]);
                }
            }
            count += 1;
            Ok(())
        })?;
        if !has_bootstraps {
            let name = self.additions.shared_utf8(b"BootstrapMethods");
            put_attribute(&mut out, name, &bootstraps);
            count += 1;
        }
        out[..2].copy_from_slice(&count.to_be_bytes());
        Ok(out)
    }

    /// The `field_info` of the number for serialization (JVMS 4.5, 4.7.2).
    fn number_field(&mut self, number: i64) -> Vec<u8> {
        let value = (self.additions).shared(tag::LONG, &number.to_be_bytes());
        let [name, descriptor, constant] =
            [FIELD, "J", "ConstantValue"].map(|text| self.additions.shared_utf8(text.as_bytes()));
        let access = flag::PRIVATE | flag::STATIC | flag::FINAL | flag::SYNTHETIC;
        let mut field: Vec<u8> = [access, name, descriptor, 1]
            .iter()
            .flat_map(|n| n.to_be_bytes())
            .collect();
        put_attribute(&mut field, constant, &value.to_be_bytes());
        field
    }

    fn with_fields(
        &self,
        changed: &FxHashMap<u32, Vec<u8>>,
        attributes: &[u8],
        field: Option<&[u8]>,
    ) -> Result<Vec<u8>> {
        let class = self.class;
        let methods = class.methods.len() + self.added_count;
        let mut out = class.bytes[..8].to_vec();
        out.extend_from_slice(&self.additions.count().to_be_bytes());
        out.extend_from_slice(&class.bytes[10..class.pool.end()]);
        out.extend_from_slice(self.additions.bytes());
        let start = class.pool.end();
        let interfaces = usize::from(Cursor::at(class.bytes, start + 6).be_u16()?);
        let fields = start + 8 + 2 * interfaces;
        let count = Cursor::at(class.bytes, fields).be_u16()? + u16::from(field.is_some());
        out.extend_from_slice(&class.bytes[start..fields]);
        out.extend_from_slice(&count.to_be_bytes());
        // Methods follow the fields.
        let end = (class.methods.first()).map_or(class.attributes, |first| first.range.start);
        out.extend_from_slice(&class.bytes[fields + 2..end - 2]);
        out.extend_from_slice(field.unwrap_or_default());
        out.extend_from_slice(&(methods as u16).to_be_bytes());
        for (index, method) in class.methods.iter().enumerate() {
            match changed.get(&(index as u32)) {
                Some(changed) => out.extend_from_slice(changed),
                None => out.extend_from_slice(&class.bytes[method.range.clone()]),
            }
        }
        out.extend_from_slice(&self.added);
        out.extend_from_slice(attributes);
        Ok(out)
    }
}
