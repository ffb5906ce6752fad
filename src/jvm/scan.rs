//! Shows the methods of a class as join points.

use crate::aspect::advice::Reason;
use crate::aspect::bind::ty::{Parameter, Prim, Signature, Ty};
use crate::aspect::callees::{CallRules, Callees};
use crate::aspect::joinpoint::{
    Access, EachCall, EachName, Field, Kinds, LineStart, Method, MethodDetails, Owner, Shape, Type,
    TypeDetails, Visitor,
};
use crate::aspect::point::{EachPoint, PointKinds};
use crate::aspect::short::{Called, Knows};
use crate::bytes::{Cursor, mutf8};
use crate::error::Result;
use crate::jvm::class::{Class, MethodInfo, attributes, flag};
use crate::jvm::hidden;
use crate::jvm::insn::{self, op};
use crate::jvm::kotlin::Inlined;
use crate::jvm::points;
use crate::jvm::pool::Known;
use crate::jvm::signature;
use crate::jvm::sites;
use crate::jvm::stack;
use std::cell::OnceCell;

/// Shows the class and, if the visitor wants them, its methods.
pub fn scan(class: &Class<'_>, visitor: &mut dyn Visitor) -> Result<()> {
    let name = class.name();
    let wanted = visitor.enter_type(&Type {
        name: &name,
        access: access(class.access),
        details: class,
    });
    if !wanted {
        return Ok(());
    }
    if visitor.wants_fields() {
        scan_fields(class, visitor)?;
    }
    let called = OnceCell::new();
    for (index, method) in class.methods.iter().enumerate() {
        let name = class.pool.text(method.name)?;
        let descriptor = class.pool.text(method.descriptor)?;
        let code = class
            .code(method)
            .map_err(|e| e.in_method(class.method_label(method)))?;
        let body = code.map_or(&[][..], |code| code.insns);
        let shape = shape(body);
        visitor.method(
            index as u32,
            &Method {
                name: &name,
                descriptor: &descriptor,
                access: access(method.access),
                kinds: kinds(method.access, &name, &descriptor, shape),
                has_body: code.is_some(),
                size: body.len() as u32,
                trivial: shape.is_trivial(name == "<init>"),
                details: &Details {
                    class,
                    called: &called,
                    method,
                },
            },
        );
    }
    Ok(())
}

/// Shows the fields of objects.
fn scan_fields(class: &Class<'_>, visitor: &mut dyn Visitor) -> Result<()> {
    class.each_field(|flags, name, descriptor| {
        if flags & flag::STATIC == 0 {
            visitor.field(&Field {
                name: &class.pool.text(name)?,
                access: access(flags),
                ty: &|| {
                    let descriptor = class.pool.text(descriptor).ok()?;
                    Ty::of_descriptor(&descriptor).map(|(ty, _)| ty)
                },
            });
        }
        Ok(())
    })
}

fn access(flags: u16) -> Access {
    let has = |flag| flags & flag != 0;
    Access::of_java(has(flag::PUBLIC), has(flag::PRIVATE), has(flag::PROTECTED))
}

fn kinds(flags: u16, name: &str, descriptor: &str, shape: Shape) -> Kinds {
    let has = |flag| flags & flag != 0;
    let kinds = Kinds::of_java(name, descriptor, has(flag::BRIDGE), has(flag::SYNTHETIC));
    match shape {
        Shape::Accessor => kinds.with(Kinds::ACCESSOR),
        _ => kinds,
    }
}

/// The shape of a short body, by its opcodes alone.
fn shape(code: &[u8]) -> Shape {
    const XRETURN: std::ops::RangeInclusive<u8> = op::IRETURN..=op::RETURN;
    let is_return = |b: u8| XRETURN.contains(&b);
    match *code {
        [op::RETURN] => Shape::Empty,
        // In a constructor: the call of another one and nothing else.
        [op::ALOAD_0, op::INVOKESPECIAL, _, _, op::RETURN] => Shape::Forwards,
        // A constant or an argument: aconst_null to dconst_1, or iload_0 to aload_3.
        [1..=15 | 26..=45, r] if is_return(r) => Shape::Empty,
        [16 | op::LDC | 21..=25, _, r] if is_return(r) => Shape::Empty,
        [17 | 19 | 20, _, _, r] if is_return(r) => Shape::Empty,
        [op::GETSTATIC, _, _, r] if is_return(r) => Shape::Accessor,
        [op::ALOAD_0, op::GETFIELD, _, _, r] if is_return(r) => Shape::Accessor,
        [26..=45, op::PUTSTATIC, _, _, op::RETURN] => Shape::Accessor,
        [op::ALOAD_0, 26..=45, op::PUTFIELD, _, _, op::RETURN] => Shape::Accessor,
        _ => Shape::Other,
    }
}

impl TypeDetails for Class<'_> {
    fn annotations(&self, each: EachName<'_>) {
        annotations(self, self.attributes, each);
    }

    fn supertypes(&self, each: EachName<'_>) {
        Class::supertypes(self, each);
    }

    fn platform(&self) -> Option<String> {
        // JVMS table 4.1-A: 45 is of JDK 1.1, 46 of 1.2, and so on.
        Some(self.major.saturating_sub(44).to_string())
    }

    fn defines_hidden(&self, each: EachName<'_>) {
        hidden::defined(self, each);
    }

    fn walks_stack(&self) -> bool {
        stack::is_walked(&self.pool)
    }

    fn owner(&self) -> Option<Owner> {
        Some(Owner {
            ty: Ty::class(&self.name()),
            is_interface: self.access & flag::INTERFACE != 0,
        })
    }
}

struct Details<'c, 'a> {
    class: &'c Class<'a>,
    /// Asked when calls are.
    called: &'c OnceCell<Callees>,
    method: &'c MethodInfo,
}

impl Details<'_, '_> {
    fn called(&self, rules: &dyn CallRules) -> &Callees {
        let ask = || sites::called(self.class, rules);
        self.called.get_or_init(ask)
    }
}

impl MethodDetails for Details<'_, '_> {
    fn annotations(&self, each: EachName<'_>) {
        annotations(self.class, self.method.range.start + 6, each);
    }

    fn parameters(&self, each: EachName<'_>) {
        if let Ok(descriptor) = self.class.pool.text(self.method.descriptor) {
            signature::parameters(&descriptor, each);
        }
    }

    fn returns(&self, each: EachName<'_>) {
        if let Ok(descriptor) = self.class.pool.text(self.method.descriptor)
            && let Some((_, returns)) = descriptor.rsplit_once(')')
        {
            signature::type_name(returns, each);
        }
    }

    fn signature(&self) -> Option<Signature> {
        signature_of(self.class, self.method)
    }

    fn keeps_body(&self) -> Option<&'static str> {
        (self.class.major < 51)
            .then_some("a class of Java 6 or older has no `invokedynamic`, which `proceed` needs")
    }

    fn points(&self, kinds: PointKinds, each: EachPoint<'_>) {
        let _ = points::each_point(self.class, self.method, kinds, each);
    }

    fn parameter_count(&self) -> usize {
        parameter_count(
            self.class
                .pool
                .utf8(self.method.descriptor)
                .unwrap_or_default(),
        )
    }

    fn is_bounded(&self, knows: Knows<'_>) -> bool {
        let code = self.class.code(self.method);
        self.method.access & flag::SYNCHRONIZED == 0
            && code.is_ok_and(|code| {
                code.is_some_and(|code| {
                    insn::is_straight_line(code.insns, |insn| {
                        is_known(self.class, code.insns, insn, knows).unwrap_or_default()
                    })
                })
            })
    }

    fn lines(&self) -> Vec<LineStart> {
        let code = self.class.code(self.method);
        let lines = code.and_then(|code| match code {
            Some(code) => points::lines(self.class, &code),
            None => Ok(Vec::new()),
        });
        lines.unwrap_or_default()
    }

    fn may_call(&self, rules: &dyn CallRules) -> bool {
        !self.called(rules).is_empty()
    }

    fn calls(&self, rules: &dyn CallRules, each: EachCall<'_>) {
        // A method that cannot be read ends here: weaving it reports that.
        let _ = sites::each_call(self.class, self.called(rules), self.method, each);
    }
}

/// Whether what an instruction calls is known. `invokedynamic` makes an object or a text.
fn is_known(class: &Class<'_>, code: &[u8], insn: insn::Insn, knows: Knows<'_>) -> Result<bool> {
    if insn.opcode == op::INVOKEDYNAMIC {
        return Ok(true);
    }
    let at = insn.pc as usize;
    let member = (class.pool).member(u16::from_be_bytes([code[at + 1], code[at + 2]]))?;
    Ok(knows(&Called {
        ty: &mutf8(class.pool.class_name(member.owner)?),
        method: &mutf8(member.name),
        parameters: parameter_count(member.descriptor),
    }))
}

fn parameter_count(descriptor: &[u8]) -> usize {
    let mut count = 0;
    signature::each_parameter(descriptor, |_| count += 1);
    count
}

/// What a method takes and gives, for hooks.
pub(super) fn signature_of(class: &Class<'_>, method: &MethodInfo) -> Option<Signature> {
    let descriptor = class.pool.text(method.descriptor).ok()?;
    let mut rest = descriptor.strip_prefix('(')?;
    let mut parameters = Vec::new();
    while !rest.starts_with(')') {
        let (ty, behind) = Ty::of_descriptor(rest)?;
        if ty == Ty::Void {
            return None;
        }
        parameters.push(Parameter {
            name: None,
            ty,
            out: false,
        });
        rest = behind;
    }
    let (result, "") = Ty::of_descriptor(&rest[1..])? else {
        return None;
    };
    let is_static = method.access & flag::STATIC != 0;
    // Names are not checked by HotSpot: wrong ones are as good as none.
    let _ = put_names(class, method, is_static, &mut parameters);
    Some(Signature {
        this: (!is_static).then(|| Ty::class(&class.name())),
        parameters: parameters.into(),
        result,
        generics: 0,
        variadic: method.access & flag::VARARGS != 0,
    })
}

/// Names parameters by the `MethodParameters` attribute (JVMS 4.7.24), else by the variables that live from the start
/// (JVMS 4.7.13).
fn put_names(
    class: &Class<'_>,
    method: &MethodInfo,
    is_static: bool,
    parameters: &mut [Parameter],
) -> Result<()> {
    let pool = &class.pool;
    let name = |index: u16| pool.text(index).ok().map(|name| (&*name).into());
    attributes(class.bytes, method.range.start + 6, |a| {
        if pool.utf8(a.name)? == b"MethodParameters" {
            let mut cursor = Cursor::new(a.data);
            // A list of another length has what the compiler added (mandated parameters) or left out.
            if usize::from(cursor.u8()?) == parameters.len() {
                for parameter in &mut *parameters {
                    parameter.name = name(cursor.be_u16()?);
                    cursor.be_u16()?;
                }
            }
        }
        Ok(())
    })?;
    let Some(code) = class.code(method)? else {
        return Ok(());
    };
    let mut slot = u16::from(!is_static);
    let slots: Vec<u16> = (parameters.iter())
        .map(|parameter| {
            let wide = matches!(parameter.ty, Ty::Prim(Prim::I64 | Prim::F64));
            let own = slot;
            slot = slot.saturating_add(1 + u16::from(wide));
            own
        })
        .collect();
    attributes(class.bytes, code.attributes, |a| {
        if pool.which(a.name) == Some(Known::LocalVariableTable) {
            let mut cursor = Cursor::new(a.data);
            for _ in 0..cursor.be_u16()? {
                let start = cursor.be_u16()?;
                cursor.be_u16()?;
                let variable = name(cursor.be_u16()?);
                cursor.be_u16()?;
                let slot = cursor.be_u16()?;
                if start == 0
                    && let Ok(i) = slots.binary_search(&slot)
                    && parameters[i].name.is_none()
                {
                    parameters[i].name = variable;
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Which methods of a class stay as they are, since their code is copied into other classes.
pub(super) struct Copied(Inlined);

impl Copied {
    pub(super) fn of(class: &Class<'_>) -> Copied {
        Copied(Inlined::of(class))
    }

    /// Why a method stays as it is, if it does.
    pub(super) fn refuses(&self, class: &Class<'_>, method: &MethodInfo) -> Option<Reason> {
        if self.0.has(class, method) {
            return Some(Reason::Inlined);
        }
        is_template(class, method).then_some(Reason::Template)
    }
}

/// Whether agents copy the method's code into other classes, as Byte Buddy does with its advice. The hook library may not
/// be visible there.
fn is_template(class: &Class<'_>, method: &MethodInfo) -> bool {
    const ADVICE: [Known; 2] = [Known::OnMethodEnter, Known::OnMethodExit];
    if ADVICE.iter().all(|&known| class.pool.known(known) == 0) {
        return false;
    }
    let mut found = false;
    annotations(class, method.range.start + 6, &mut |name| {
        found |= matches!(
            name,
            "net/bytebuddy/asm/Advice$OnMethodEnter" | "net/bytebuddy/asm/Advice$OnMethodExit"
        );
    });
    found
}

/// The annotations among the attributes whose count lies at `at` (JVMS 4.7.16, 4.7.17), as names
/// in internal form. Malformed input ends the list, as HotSpot ignores such annotations.
fn annotations(class: &Class<'_>, at: usize, each: EachName<'_>) {
    let _ = attributes(class.bytes, at, |a| {
        if matches!(
            class.pool.which(a.name),
            Some(Known::RuntimeVisibleAnnotations | Known::RuntimeInvisibleAnnotations)
        ) {
            let mut cursor = Cursor::new(a.data);
            for _ in 0..cursor.be_u16()? {
                let ty = class.pool.utf8(cursor.be_u16()?)?;
                if let Some(name) = ty.strip_prefix(b"L").and_then(|t| t.strip_suffix(b";")) {
                    each(&mutf8(name));
                }
                signature::skip_element_pairs(&mut cursor)?;
            }
        }
        Ok(())
    });
}
