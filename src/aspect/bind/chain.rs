//! Chains: `arg(0).uri().getHost()` instead of an operand. Each is a call of its own in front of the hook's, whose result is
//! kept for that: what a link throws, and a null on the way, stay in the adapter.

use super::binder::{Binding, KeptAt, Meant, VALUES, Value, adapter_class, article};
use super::call::{
    Adapter, Call, Constant, ConstantValue, Convert, Dest, Hook, Keep, Link, LinkKind, Operand,
    Role, Source,
};
use super::catalog::{Given, Member, MemberType, spellings};
use super::convert::{Fit, convert};
use super::misfit::Misfit;
use super::reach::is_inert;
use super::ty::{Language, Named, Prim, Ty, in_method_of_its_own, of_instance};
use super::visible::package_of;
use crate::aspect::joinpoint::Access;
use crate::aspect::pointcut::GENERATED;
use crate::aspect::rules::hook::{HookOperand, MemberKind, MemberName, OUT, Word};
use crate::aspect::rules::model::{Inject, OwnHook};
use crate::aspect::rules::nearest;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Most supertypes that a member is looked for in.
const MAX_TYPES: usize = 10_000;

/// Most types that one type may be made of, by the type arguments in it.
const MAX_PARTS: usize = 1_000;

/// How the first value of a chain is converted, and to which type.
struct Taken {
    convert: Convert,
    ty: Ty,
}

/// What looking for a member in a type and those above it came to.
enum Found<'c> {
    /// The type that has it, with its type arguments, and the member.
    Member(&'c MemberType, Box<[Ty]>, &'c Member),
    /// It cannot be seen from here: a member, or else its type.
    Hidden(&'c str, Option<Access>),
    /// None takes these constants.
    Unfit(Vec<&'c Member>),
    /// None has it; of this one, if there is one, nothing is known.
    Missing(Option<&'c str>),
}

impl<'b> Binding<'b> {
    /// What an operand means, with what it is made of: that is evaluated by calls of its own.
    pub(super) fn value(
        &mut self,
        operand: &HookOperand,
        place: &Range<usize>,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        self.value_as(operand, place, false, keep)
    }

    /// The same; `boxed`: what a chain gives is an object, so that it is null and not zero where the chain ends early.
    pub(super) fn value_as(
        &mut self,
        operand: &HookOperand,
        place: &Range<usize>,
        boxed: bool,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        if self.is_early_part(operand) {
            return self.early(operand, place, boxed, keep);
        }
        let head = match &operand.word {
            Word::Call(call) => {
                let written = OwnHook {
                    call: (**call).clone(),
                    name: call.name.clone(),
                    operands: call.operands.iter().map(|o| o.place.clone()).collect(),
                    changes: 0..0,
                };
                let (call, value) = self.kept_call(&written, place, keep)?;
                self.chains.push(call);
                value
            }
            Word::First(all) => {
                let (head, ty) = self.first(all, keep)?;
                match (head, ty) {
                    (Meant::Value(value), Some(ty)) if value.ty != ty => {
                        let taken = Taken {
                            convert: Convert::Same,
                            ty: self.object(),
                        };
                        self.links(value, taken, vec![cast_to(&ty)], keep)
                    }
                    (head, _) => head,
                }
            }
            Word::End(inner) if self.early.is_some() => {
                let is_over = |binding: &mut Self, is| {
                    let early = binding.early.get_or_insert_default();
                    std::mem::replace(&mut early.is_over, is)
                };
                let before = is_over(self, true);
                let value = self.value_as(inner, &inner.place, boxed, keep);
                is_over(self, before);
                return value;
            }
            Word::TextOf(inner) => {
                let head = self.value_as(inner, &inner.place, true, keep)?;
                self.text_of(head, place, keep)?
            }
            _ => self.meant(operand, place)?,
        };
        match head {
            Meant::Value(head) if !operand.members.is_empty() => {
                self.chain(head, &operand.members, boxed, keep)
            }
            other => Ok(other),
        }
    }

    /// The first of several values that is not null, as an object, and the type that all of them are of.
    pub(super) fn first(
        &mut self,
        all: &[HookOperand],
        keep: &mut Keep,
    ) -> Result<(Meant, Option<Ty>), Misfit> {
        let mut values = Vec::new();
        for operand in all {
            let value = self.value_as(operand, &operand.place, true, keep)?;
            if !matches!(value, Meant::Nothing) {
                values.push((value, operand));
            }
        }
        let ty_of = |value: &Meant| match value {
            Meant::Value(value) => match &value.ty {
                Ty::Named(named) if !named.value && named.args.is_empty() => Some(value.ty.clone()),
                _ => None,
            },
            Meant::Constant(Word::Text(_)) => Some(self.string()),
            _ => None,
        };
        let mut types = values.iter().map(|(value, _)| ty_of(value));
        let ty =
            (types.next().flatten()).filter(|first| types.all(|ty| ty.as_ref() == Some(first)));
        let mut values = values.into_iter().rev();
        let Some((mut rest, _)) = values.next() else {
            return Ok((Meant::Nothing, None));
        };
        for (value, operand) in values {
            let name = match self.binder.target.language() {
                Language::Java => "first",
                Language::CSharp => "First",
            };
            let written = self.of_library(VALUES, name, &operand.place, 2);
            let mut call = self.call_with(&written, &[value, rest], keep)?;
            let ty = call.hook.result.clone();
            let place = keep.state(ty.clone());
            call.dest = Dest::State(place);
            self.chains.push(call);
            rest = Meant::Value(Value {
                source: Source::State(place),
                ty,
            });
        }
        Ok((rest, ty))
    }

    /// What the `toString` of a value says.
    fn text_of(
        &mut self,
        head: Meant,
        place: &Range<usize>,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let Meant::Value(head) = head else {
            return Ok(head);
        };
        let name = match self.binder.target.language() {
            Language::Java => "toString",
            Language::CSharp => "ToString",
        };
        let member = MemberName {
            name: name.to_owned(),
            kind: MemberKind::Method(Vec::new()),
            place: place.clone(),
        };
        let link = self.link(&self.object(), &member, false)?;
        let taken = self.as_object(&head.ty, place)?;
        Ok(self.links(head, taken, vec![link], keep))
    }

    /// How a value is taken as an object.
    fn as_object(&self, ty: &Ty, place: &Range<usize>) -> Result<Taken, Misfit> {
        let ty_of_all = self.object();
        match convert(self.binder.hierarchy, ty, &ty_of_all, &mut Vec::new()) {
            Ok((_, convert)) => Ok(Taken {
                convert,
                ty: ty_of_all,
            }),
            Err(_) => {
                let shown = self.shown_type(ty);
                let title = format!("{} cannot become an object", article(&shown));
                Err(self.complains(place.clone(), title, "for", None))
            }
        }
    }

    /// A chain from a value on.
    fn chain(
        &mut self,
        head: Value,
        members: &[MemberName],
        boxed: bool,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let taken = match (members, &head.ty) {
            // Whatever it is said to be.
            ([first, ..], ty) if first.kind == MemberKind::Cast && !matches!(ty, Ty::Prim(_)) => {
                self.as_object(ty, &first.place)?
            }
            _ => self.taken(&head.ty),
        };
        let mut links: Vec<Link> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let from = links.last().map_or(&taken.ty, |link| &link.result);
            let sends = self.sends && at + 1 == members.len();
            let link = self.link(from, member, sends)?;
            let result = link.result.clone();
            links.push(link);
            if matches!(result, Ty::Param { .. }) {
                links.push(boxed_as(&result, &self.object()));
            }
        }
        let result = links.last().map_or(Ty::Void, |link| link.result.clone());
        if boxed && !result.is_reference() {
            links.push(boxed_as(&result, &self.object()));
        }
        Ok(self.links(head, taken, links, keep))
    }

    /// How the first value of a chain is converted.
    fn taken(&self, head: &Ty) -> Taken {
        let (convert, ty) = match head {
            Ty::ByRef(inner) if matches!(**inner, Ty::Param { .. }) => {
                (Convert::LoadBox, self.object())
            }
            Ty::Param { .. } => (Convert::Box, self.object()),
            Ty::ByRef(inner) => (Convert::Load, (**inner).clone()),
            // `exception`: whoever declares it.
            Ty::Named(named) if named.scope.is_empty() => {
                let known = self.binder.catalog.members(&named.name);
                let known = known.map_or(head, |known| &known.ty);
                (Convert::Same, known.clone())
            }
            other => (Convert::Same, other.clone()),
        };
        Taken { convert, ty }
    }

    /// A chain of links that are found: a call of its own, whose result is kept.
    fn links(&mut self, head: Value, taken: Taken, links: Vec<Link>, keep: &mut Keep) -> Meant {
        let result = links.last().map_or(Ty::Void, |link| link.result.clone());
        let takes_more = links.iter().any(|link| link.taken().next().is_some());
        // What links take that is no constant.
        let more = self.taken.iter().filter(|_| takes_more);
        let more: Vec<KeptAt> = more.cloned().collect();
        let names: Vec<String> = links.iter().filter_map(shown_link).collect();
        // An adapter is no part of the type whose type parameters they are.
        let mut generics = Vec::new();
        let mut of = |ty: &Ty| in_method_of_its_own(ty, &mut generics);
        let hook = Hook {
            // For messages.
            owner: match taken.ty {
                Ty::Named(_) => of(&taken.ty),
                _ => self.object(),
            },
            owner_is_interface: false,
            name: names.join(".").into(),
            parameters: std::iter::once(of(&taken.ty))
                .chain(more.iter().map(|kept| kept.ty.clone()))
                .collect(),
            result: of(&result),
            generics: 0,
            links: links.iter().map(|link| link.over(&mut of)).collect(),
        };
        let hook = Arc::new(Hook {
            generics: generics.len() as u16,
            ..hook
        });
        let guard = self.aspect.hooks.guard;
        let recursion = !hook.links.iter().all(|link| {
            let owner = link.owner.name().unwrap_or_default();
            !matches!(link.kind, LinkKind::Method(_))
                || owner == "System.String"
                || link.arguments().is_empty() && is_inert(owner, &link.name, "()")
        });
        let dest = match result {
            Ty::Void => Dest::Drop,
            _ => Dest::State(keep.state(result.clone())),
        };
        let head = Operand {
            source: head.source,
            from: head.ty,
            convert: taken.convert,
            to: taken.ty,
        };
        let more = more.into_iter().map(|kept| Operand {
            source: Source::State(kept.place),
            from: kept.ty.clone(),
            convert: Convert::Same,
            to: kept.ty,
        });
        self.chains.push(Call {
            role: Role::Hook,
            adapter: Some(Adapter {
                class: adapter_class(&self.adapters_of(&hook), &hook, guard, recursion, &None),
                guard,
                recursion,
                change: None,
            }),
            hook,
            generics: generics.into(),
            operands: std::iter::once(head).chain(more).collect(),
            given: None,
            dest,
        });
        match dest {
            Dest::State(state) => Meant::Value(Value {
                source: Source::State(state),
                ty: result,
            }),
            _ => Meant::Nothing,
        }
    }

    /// What the names of a chain's adapter begin with: in dex files it goes to the package that it needs.
    fn adapters_of(&self, hook: &Hook) -> String {
        let adapters = self.subject.home.adapters;
        let Some(package) = self.here() else {
            return adapters.to_owned();
        };
        let needs = |link: &Link| {
            let owner = link.owner.name().unwrap_or_default();
            let known = self.binder.catalog.members(owner);
            known.is_some_and(|known| {
                let named = known
                    .members
                    .iter()
                    .filter(|member| *member.name == *link.name);
                let hidden = named
                    .into_iter()
                    .any(|member| member.access != Access::Public);
                package_of(owner) == package && (known.access != Access::Public || hidden)
            })
        };
        match self.binder.target.language() == Language::Java
            && package_of(adapters) != package
            && hook.links.iter().any(needs)
        {
            true if package.is_empty() => GENERATED.to_owned(),
            true => format!("{package}/{GENERATED}"),
            false => adapters.to_owned(),
        }
    }

    /// Where members are asked for from: the package of the adapter (JVM, dex), or the assembly of the method (.NET).
    fn here(&self) -> Option<&str> {
        let subject = self.subject;
        // Of a call the subject is what is called.
        let is_method = !subject.is_call && subject.at.is_none();
        match self.binder.target.language() {
            Language::Java if is_method => Some(package_of(subject.ty)),
            Language::Java => Some(package_of(subject.home.adapters)),
            Language::CSharp if is_method => {
                let own = self.binder.catalog.members(subject.ty);
                let own = own.map(|own| &own.ty).or(subject.signature.this.as_ref());
                match own {
                    Some(Ty::Named(named)) => Some(&*named.scope),
                    _ => None,
                }
            }
            Language::CSharp => None,
        }
    }

    /// Whether a type is visible there.
    fn sees_type(&self, ty: &MemberType) -> bool {
        match (ty.access, self.binder.target.language()) {
            // Nested in another one, which alone sees it.
            (Access::Private | Access::Protected, Language::CSharp) => false,
            (access, _) => self.sees(ty, access),
        }
    }

    /// Whether what a type declares with this access is visible there.
    fn sees(&self, owner: &MemberType, access: Access) -> bool {
        let is_near = || {
            let Ty::Named(named) = &owner.ty else {
                return false;
            };
            match (self.binder.target.language(), self.here()) {
                (Language::Java, place) => place == Some(package_of(&named.name)),
                (Language::CSharp, place) => place == Some(&*named.scope),
            }
        };
        match access {
            Access::Public => true,
            // In .NET a type of the assembly can have a method that asks for it.
            Access::Private => self.binder.target.language() == Language::CSharp && is_near(),
            Access::Protected | Access::Package => is_near(),
        }
    }

    /// `sends`: it is called for what it does, and may give nothing.
    fn link(&self, from: &Ty, member: &MemberName, sends: bool) -> Result<Link, Misfit> {
        let wrong = |title: String, help: Option<String>| {
            Err(self.complains(member.place.clone(), title, "for", help))
        };
        if member.kind == MemberKind::Cast {
            return self.cast(from, member);
        }
        let shown = self.shown_type(from);
        let length = match self.binder.target.language() {
            Language::Java => "length",
            Language::CSharp => "Length",
        };
        if matches!(from, Ty::Array(_)) && !member.is_method() && member.name == length {
            return Ok(Link {
                owner: from.clone(),
                owner_is_interface: false,
                name: length.into(),
                kind: LinkKind::Length,
                is_private: false,
                result: Ty::Prim(Prim::I32),
                declared: None,
            });
        }
        let Ty::Named(named) = from else {
            return wrong(format!("{} has no members", article(&shown)), None);
        };
        let (ty, args, found) = match self.find(named, member) {
            Found::Member(ty, args, found) => (ty, args, found),
            other => return self.not_found(other, named, &shown, member),
        };
        let result = match &found.result {
            Given::Type(ty) => Some(of_instance(ty, &args)),
            Given::Said(text) => self.said(text),
        };
        let Some(result) = result else {
            let Given::Said(text) = &found.result else {
                unreachable!("other types are known")
            };
            return wrong(
                format!("nothing says which assembly has `{text}`"),
                Some(format!(
                    "say it: `[[type]]`, `name = \"{text}\"`, `assembly = \"..\"`"
                )),
            );
        };
        let is_kept = match &result {
            Ty::Void if sends => true,
            Ty::Void | Ty::ByRef(_) | Ty::Pointer(_) | Ty::Opaque(_) => false,
            Ty::Named(named) => !named.by_ref_like && result.parts() <= MAX_PARTS,
            _ => true,
        };
        if !is_kept {
            let title = match result {
                Ty::Void => format!("`{member}` of {} returns nothing", article(&shown)),
                _ => format!(
                    "the result of `{member}` of {} cannot be used as a value",
                    article(&shown)
                ),
            };
            return wrong(title, None);
        }
        let kind = match found.is_field {
            true => LinkKind::Field,
            false => {
                let constants = self.constants(member, &taken_by(found, &args));
                LinkKind::Method(constants.unwrap_or_default().1)
            }
        };
        let is_private = matches!(found.access, Access::Private | Access::Protected)
            && self.binder.target.language() == Language::CSharp;
        let result = match kind.out() {
            Some(given) => self.out_of(member, &shown, &result, is_private, given)?,
            None => result,
        };
        let declared = match &found.result {
            Given::Type(ty) if !args.is_empty() || kind.out().is_some() => {
                Some((found.parameters.clone(), ty.clone()))
            }
            _ => None,
        };
        let owner = match &ty.ty {
            // As the program itself names it.
            Ty::Named(of) if of.name == named.name => from.clone(),
            Ty::Named(of) if !args.is_empty() => Ty::Named(Arc::new(Named {
                args,
                ..(**of).clone()
            })),
            other => other.clone(),
        };
        Ok(Link {
            owner,
            owner_is_interface: ty.is_interface,
            name: found.name.clone(),
            kind,
            is_private,
            result,
            declared,
        })
    }

    /// What a link gives whose method gives it by `out`.
    fn out_of(
        &self,
        member: &MemberName,
        shown: &str,
        result: &Ty,
        is_private: bool,
        given: &Ty,
    ) -> Result<Ty, Misfit> {
        let (title, help) = match (is_private, result) {
            (true, _) => (
                format!("`{member}` of {} is private", article(shown)),
                "private methods cannot be called with `out`",
            ),
            (false, Ty::Prim(Prim::Bool)) => return Ok(given.clone()),
            _ => (
                format!("`{member}` of {} does not return a `bool`", article(shown)),
                "`out` is for methods that return a `bool`",
            ),
        };
        Err(self.complains(member.place.clone(), title, "for", Some(help.into())))
    }

    /// Why a link is none.
    fn not_found(
        &self,
        found: Found<'_>,
        named: &Named,
        shown: &str,
        member: &MemberName,
    ) -> Result<Link, Misfit> {
        let wrong = |title: String, help: Option<String>| {
            Err(self.complains(member.place.clone(), title, "for", help))
        };
        match found {
            Found::Member(..) => unreachable!("it is there"),
            Found::Hidden(owner, None) => wrong(
                format!("`{member}` is of `{}`, which is not public", dots(owner)),
                None,
            ),
            Found::Hidden(owner, Some(access)) => {
                let title = format!(
                    "`{member}` of `{}` is {}",
                    dots(owner),
                    self.word_of(access)
                );
                let help = match access {
                    Access::Private => {
                        "no other class can access it, and the code that reads it is in another"
                    }
                    _ => {
                        "the code that reads it is in the package or assembly of the method that matches"
                    }
                };
                wrong(title, Some(help.to_owned()))
            }
            Found::Unfit(members) => {
                let there: Vec<String> = members
                    .iter()
                    .map(|there| self.shown_member(there))
                    .collect();
                wrong(
                    format!(
                        "no `{}` of {} takes these constants",
                        member.name,
                        article(shown)
                    ),
                    Some(format!("there is {}", there.join(", "))),
                )
            }
            Found::Missing(Some(unknown)) => {
                let title = match *unknown == *named.name {
                    true => format!("the members of {} are unknown", article(shown)),
                    false => format!(
                        "{} has no `{member}`, as far as it is known: the members of `{}` above it are unknown",
                        article(shown),
                        dots(unknown)
                    ),
                };
                let help = format!(
                    "name the jar or assembly that has it with --reference, or say it: `[[type]]`, `name = \"{}\"`, \
                     `members = [\"some.Type {member}\"]`",
                    dots(unknown)
                );
                wrong(title, Some(help))
            }
            // A field that nobody has may be meant as a method.
            Found::Missing(None)
                if !member.is_method() && self.binder.target.language() == Language::Java =>
            {
                wrong(
                    format!("{} has no field `{}`", article(shown), member.name),
                    Some(format!("a method is `{}()`", member.name)),
                )
            }
            Found::Missing(None) => wrong(
                format!("{} has no `{member}`", article(shown)),
                self.there_is(named, &member.method()),
            ),
        }
    }

    fn word_of(&self, access: Access) -> &'static str {
        match (access, self.binder.target.language()) {
            (Access::Private, _) => "private",
            (Access::Protected, _) => "protected",
            (Access::Package, Language::CSharp) => "internal",
            (Access::Package, Language::Java) => "of its package alone",
            (Access::Public, _) => "public",
        }
    }

    /// A method as messages show it.
    fn shown_member(&self, member: &Member) -> String {
        let types: Vec<String> = member
            .parameters
            .iter()
            .map(|ty| self.shown_type(ty))
            .collect();
        format!("{}({})", member.name, types.join(", "))
    }

    /// The object as another type.
    fn cast(&self, from: &Ty, member: &MemberName) -> Result<Link, Misfit> {
        let wrong = |title: String, help: Option<String>| {
            Err(self.complains(member.place.clone(), title, "for", help))
        };
        if !from.is_reference() {
            let shown = self.shown_type(from);
            return wrong(format!("{} is no object", article(&shown)), None);
        }
        let catalog = self.binder.catalog;
        let mut known = spellings(&member.name).filter_map(|name| catalog.members(&name));
        let to = match (known.next(), member.name.contains('.')) {
            (Some(known), _) => Some(known.ty.clone()),
            (None, true) => self.said(&member.name),
            (None, false) => match catalog.of_simple_name(&member.name) {
                [one] => catalog.members(one).map(|known| known.ty.clone()),
                [] => self
                    .said(&member.name)
                    .filter(|ty| ty.name().is_none_or(|name| name.contains('.'))),
                several => {
                    let names: Vec<String> = several
                        .iter()
                        .take(5)
                        .map(|name| format!("`{}`", dots(name)))
                        .collect();
                    return wrong(
                        format!("several types are called `{}`", member.name),
                        Some(format!(
                            "there are {}: write all of the name",
                            names.join(", ")
                        )),
                    );
                }
            },
        };
        let Some(to) = to.filter(Ty::is_reference) else {
            return wrong(
                format!("the type `{}` is unknown", member.name),
                Some("a cast names a class or an interface: all of its name, or the simple one of a type of the input".into()),
            );
        };
        if let Some(known) = to.name().and_then(|name| catalog.members(name))
            && !self.sees_type(known)
        {
            return wrong(
                format!("`{}` is not public", dots(to.name().unwrap_or_default())),
                None,
            );
        }
        Ok(cast_to(&to))
    }

    /// The constants of a link as what a method takes, and how well they fit.
    fn constants(
        &self,
        member: &MemberName,
        parameters: &[Ty],
    ) -> Option<(Vec<Fit>, Box<[Constant]>)> {
        let hierarchy = self.binder.hierarchy;
        let arguments = member.arguments();
        if arguments.len() != parameters.len() {
            return None;
        }
        let mut fits = Vec::new();
        let mut all = Vec::new();
        for (argument, to) in arguments.iter().zip(parameters) {
            let (fit, operand) = match &argument.word {
                Word::Null if to.is_reference() => (
                    Fit::Identity,
                    Operand {
                        source: Source::Zero,
                        from: to.clone(),
                        convert: Convert::Same,
                        to: to.clone(),
                    },
                ),
                Word::Kept(place) => {
                    let taken = self.taken.iter().position(|taken| taken.place == *place)?;
                    let from = &self.taken[taken].ty;
                    let (fit, _) = convert(hierarchy, from, to, &mut Vec::new()).ok()?;
                    fits.push(fit);
                    all.push(Constant {
                        value: ConstantValue::Taken(taken as u16),
                        boxed: None,
                        to: to.clone(),
                    });
                    continue;
                }
                Word::Named(out) if out == OUT => {
                    let is_last = all.len() + 1 == parameters.len();
                    let inner = matches!(to, Ty::ByRef(_)) && is_last;
                    fits.push(inner.then_some(Fit::Identity)?);
                    all.push(Constant {
                        value: ConstantValue::Out,
                        boxed: None,
                        to: to.clone(),
                    });
                    continue;
                }
                word => self.constant(word, to)?,
            };
            fits.push(fit);
            all.push(Constant::of(&operand)?);
        }
        Some((fits, all.into()))
    }

    /// Shows a type and those above it, the superclass's first, with their type arguments, until the answer is there.
    fn above<'f, T>(
        &'f self,
        start: &'f Named,
        mut each: impl FnMut(&'f str, &[Ty], Option<&'f MemberType>) -> Option<T>,
    ) -> Option<T> {
        let root = match self.binder.target.language() {
            Language::Java => "java/lang/Object",
            Language::CSharp => "System.Object",
        };
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut next = VecDeque::from([(&*start.name, start.args.clone())]);
        while let Some((name, args)) = next.pop_front() {
            if seen.len() == MAX_TYPES || !seen.insert(name) {
                continue;
            }
            let known = self.binder.catalog.members(name);
            // Of a generic type's members all is known but for what its type arguments are.
            let known = known.filter(|known| parameters_of(known) == args.len());
            if let Some(answer) = each(name, &args, known) {
                return Some(answer);
            }
            let above = match known {
                Some(known) if known.is_said => &*known.extends,
                // What the platform's types extend says nothing of members.
                _ => {
                    let read = self.binder.hierarchy.supertypes.get(name);
                    read.map(|above| &**above).unwrap_or_default()
                }
            };
            let generic = known.map_or(&[][..], |known| &known.generic);
            let generic = |name: &str| {
                let named = generic.iter().filter_map(|ty| match ty {
                    Ty::Named(named) => Some(named),
                    _ => None,
                });
                named.into_iter().find(|named| *named.name == *name)
            };
            for (at, name) in above.iter().enumerate() {
                // Of an instance both stand there, and its definition is the second.
                if above
                    .get(at + 1)
                    .is_some_and(|next| generic(next).is_some())
                {
                    continue;
                }
                let of = generic(name).map_or(&[][..], |named| &named.args);
                let of: Box<[Ty]> = of.iter().map(|ty| of_instance(ty, &args)).collect();
                if of.iter().map(Ty::parts).sum::<usize>() <= MAX_PARTS {
                    next.push_back((name, of));
                }
            }
            if known.is_some_and(|known| known.is_said) {
                next.push_back((root, Box::default()));
            }
        }
        None
    }

    fn find<'f>(&'f self, ty: &'f Named, member: &MemberName) -> Found<'f> {
        let (mut hidden, mut unknown) = (None, None);
        let mut unfit = Vec::new();
        let method = member.method();
        let found = self.above(ty, |name, args, known| {
            let Some(known) = known else {
                unknown = unknown.or(Some(name));
                return None;
            };
            // What a struct inherits is for boxed ones.
            if ty.value && *name != *ty.name {
                return None;
            }
            let named = known.members.iter().filter(|there| match there.is_field {
                true => !member.is_method() && *there.name == *member.name,
                // Java has no properties.
                false => {
                    (member.is_method() || self.binder.target.language() == Language::CSharp)
                        && *there.name == *method
                }
            });
            let mut best: Option<(Vec<Fit>, &Member)> = None;
            for there in named {
                // As many as are read from the same place.
                let Some((fits, _)) = self.constants(member, &taken_by(there, args)) else {
                    unfit.push(there);
                    continue;
                };
                if !self.sees_type(known) {
                    hidden = hidden.or(Some((name, None)));
                    continue;
                }
                if !self.sees(known, there.access) {
                    hidden = hidden.or(Some((name, Some(there.access))));
                    continue;
                }
                if best.as_ref().is_none_or(|(best, _)| fits < *best) {
                    best = Some((fits, there));
                }
            }
            best.map(|(_, there)| (known, args.into(), there))
        });
        match (found, hidden) {
            (Some((ty, args, found)), _) => Found::Member(ty, args, found),
            (None, Some((owner, access))) => Found::Hidden(owner, access),
            (None, None) if !unfit.is_empty() => Found::Unfit(unfit),
            (None, None) => Found::Missing(unknown),
        }
    }

    /// What a type has, for one who asked for something else.
    fn there_is(&self, ty: &Named, method: &str) -> Option<String> {
        const MOST: usize = 10;
        let mut names: Vec<&str> = Vec::new();
        self.above(ty, |_, _, known| {
            let members = known.iter().flat_map(|known| &known.members);
            let seen = members.filter(|member| member.access == Access::Public && !member.is_field);
            names.extend(seen.map(|member| &*member.name));
            None::<()>
        });
        names.sort_unstable();
        names.dedup();
        let shown = |name: &str| match (name.strip_prefix("get_"), self.binder.target.language()) {
            (Some(property), Language::CSharp) => property.to_owned(),
            _ => format!("{name}()"),
        };
        if let Some(near) = nearest(method, &names, &[]) {
            return Some(format!("did you mean `{}`?", shown(near)));
        }
        let all: Vec<String> = names.iter().map(|name| shown(name)).collect();
        match all.len() {
            0 => None,
            count if count > MOST => Some(format!("there are {}, ..", all[..MOST].join(", "))),
            _ => Some(format!("there are {}", all.join(", "))),
        }
    }

    /// A type as rules write it; none where nothing says which assembly has it.
    fn said(&self, text: &str) -> Option<Ty> {
        if let Some(element) = text.strip_suffix("[]") {
            return Some(Ty::Array(Arc::new(self.said(element)?)));
        }
        let language = self.binder.target.language();
        let is_there = |prim: Prim| match language {
            Language::Java => !matches!(prim, Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64),
            Language::CSharp => true,
        };
        let mut prims = Prim::WITH_SIZE.into_iter().filter(|&prim| is_there(prim));
        if let Some(prim) = prims.find(|prim| prim.word(language) == text) {
            return Some(Ty::Prim(prim));
        }
        let name = match (text, language) {
            ("void", _) => return Some(Ty::Void),
            ("string", Language::CSharp) => "System.String".to_owned(),
            ("object", Language::CSharp) => "System.Object".to_owned(),
            (_, Language::Java) => text.replace('.', "/"),
            _ => text.to_owned(),
        };
        if let Some(known) = self.binder.catalog.members(&name) {
            return Some(known.ty.clone());
        }
        let is_core = matches!(&*name, "System.String" | "System.Object");
        (language == Language::Java || is_core).then(|| Ty::class(&name))
    }
}

fn cast_to(ty: &Ty) -> Link {
    Link {
        owner: ty.clone(),
        owner_is_interface: false,
        name: "".into(),
        kind: LinkKind::Cast,
        is_private: false,
        result: ty.clone(),
        declared: None,
    }
}

fn boxed_as(ty: &Ty, object: &Ty) -> Link {
    Link {
        owner: ty.clone(),
        owner_is_interface: false,
        name: "".into(),
        kind: LinkKind::Box,
        is_private: false,
        result: object.clone(),
        declared: None,
    }
}

/// How many type parameters a type has.
fn parameters_of(known: &MemberType) -> usize {
    match &known.ty {
        Ty::Named(named) => named.args.len(),
        _ => 0,
    }
}

/// What a member of an instance takes.
fn taken_by(member: &Member, args: &[Ty]) -> Vec<Ty> {
    let parameters = member.parameters.iter();
    parameters.map(|ty| of_instance(ty, args)).collect()
}

/// As a chain's name has it.
fn shown_link(link: &Link) -> Option<String> {
    let constants = |all: &[Constant]| {
        let shown: Vec<String> = (all.iter())
            .map(|constant| match (&constant.value, &constant.to) {
                (ConstantValue::Taken(_), Ty::Array(_)) => Inject::BYTES.to_owned(),
                (value, _) => value.to_string(),
            })
            .collect();
        shown.join(", ")
    };
    let (name, property) = match link.name.strip_prefix("get_") {
        Some(property) => (property, true),
        None => (&*link.name, false),
    };
    match &link.kind {
        LinkKind::Method(all) if all.is_empty() && property => Some(name.to_owned()),
        LinkKind::Method(all) => Some(format!("{}({})", link.name, constants(all))),
        LinkKind::Field | LinkKind::Length => Some(link.name.to_string()),
        LinkKind::Cast => Some(format!("({})", dots(link.owner.name().unwrap_or_default()))),
        LinkKind::Box => None,
    }
}

/// A type's name as rules write it.
fn dots(name: &str) -> String {
    name.replace('/', ".")
}
