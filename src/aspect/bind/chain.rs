//! Chains: `arg(0).uri().getHost()` instead of an operand. Each is a call of its own in front of the hook's, whose result is
//! kept for that: what a link throws, and a null on the way, stay in the adapter.

use super::binder::{Binding, Meant, Value, adapter_class, article};
use super::call::{Adapter, Call, Convert, Dest, Hook, Keep, Link, Operand, Source};
use super::catalog::{Given, MemberType};
use super::misfit::Misfit;
use super::reach::is_inert;
use super::ty::{Language, Named, Prim, Ty};
use crate::aspect::rules::hook::{HookOperand, MemberName};
use crate::aspect::rules::nearest;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Most supertypes that a member is looked for in.
const MAX_TYPES: usize = 10_000;

/// What looking for a member in a type and those above it came to.
enum Found<'c> {
    Member(&'c MemberType, &'c Given),
    /// Its type is not public.
    Hidden(&'c str),
    /// None has it; of this one, if there is one, nothing is known.
    Missing(Option<&'c str>),
}

impl<'b> Binding<'b> {
    /// What an operand means, its chain included: that is evaluated by a call of its own.
    pub(super) fn value(
        &mut self,
        operand: &HookOperand,
        place: &Range<usize>,
        keep: &mut Keep,
    ) -> Result<Meant, Misfit> {
        let head = match self.meant(operand, place)? {
            Meant::Value(head) if !operand.members.is_empty() => head,
            other => return Ok(other),
        };
        let (convert, taken) = match &head.ty {
            Ty::ByRef(inner) => (Convert::Load, (**inner).clone()),
            // `exception`: whoever declares it.
            Ty::Named(named) if named.scope.is_empty() => {
                let known = self.binder.catalog.members(&named.name);
                let known = known.map_or(&head.ty, |known| &known.ty);
                (Convert::Same, known.clone())
            }
            other => (Convert::Same, other.clone()),
        };
        let mut links: Vec<Link> = Vec::new();
        for member in &operand.members {
            let from = links.last().map_or(&taken, |link| &link.result);
            let link = self.link(from, member)?;
            links.push(link);
        }
        let result = links.last().map_or(Ty::Void, |link| link.result.clone());
        let names: Vec<String> = operand.members.iter().map(MemberName::to_string).collect();
        let hook = Arc::new(Hook {
            owner: taken.clone(),
            owner_is_interface: false,
            name: names.join(".").into(),
            parameters: [taken.clone()].into(),
            result: result.clone(),
            generics: 0,
            links: links.into(),
        });
        let guard = self.aspect.2.guard;
        let recursion = !hook.links.iter().all(|link| {
            let owner = link.owner.name().unwrap_or_default();
            owner == "System.String" || is_inert(owner, &link.name, "()")
        });
        let state = keep.state(result.clone());
        self.chains.push(Call {
            adapter: Some(Adapter {
                class: adapter_class(self.subject.adapters, &hook, guard, recursion, &None),
                guard,
                recursion,
                change: None,
            }),
            hook,
            generics: Box::default(),
            operands: [Operand {
                source: head.source,
                from: head.ty,
                convert,
                to: taken,
            }]
            .into(),
            given: None,
            dest: Dest::State(state),
        });
        Ok(Meant::Value(Value {
            source: Source::State(state),
            ty: result,
        }))
    }

    fn link(&self, from: &Ty, member: &MemberName) -> Result<Link, Misfit> {
        let wrong = |title: String, help: Option<String>| {
            Err(self.complains(member.place.clone(), title, "for", help))
        };
        let shown = self.shown_type(from);
        let named = match from {
            Ty::Named(named) if named.args.is_empty() => named,
            Ty::Named(_) | Ty::Param { .. } => {
                let title = format!(
                    "members of generic types, as of {}, are not there yet",
                    article(&shown)
                );
                return wrong(
                    title,
                    Some("a static method of one's own can ask for it".into()),
                );
            }
            _ => return wrong(format!("{} has no members", article(&shown)), None),
        };
        if !member.is_method && self.binder.language == Language::Java {
            return wrong(
                format!("`{}` is no method", member.name),
                Some(format!("Java's types have methods: `{}()`", member.name)),
            );
        }
        let method = member.method();
        let (ty, given) = match self.find(named, &method) {
            Found::Member(ty, given) => (ty, given),
            Found::Hidden(owner) => {
                let title = format!("`{member}` is of `{}`, which is not public", dots(owner));
                return wrong(title, None);
            }
            Found::Missing(Some(unknown)) => {
                let title = match *unknown == *named.name {
                    true => format!("nothing says what {} has", article(&shown)),
                    false => format!(
                        "{} has no `{member}`, as far as it is known: nothing says what `{}` above it has",
                        article(&shown),
                        dots(unknown)
                    ),
                };
                let help = format!(
                    "name the jar or assembly that has it with --reference, or say it: `[[type]]`, `name = \"{}\"`, \
                     `members = [\"some.Type {member}\"]`",
                    dots(unknown)
                );
                return wrong(title, Some(help));
            }
            Found::Missing(None) => {
                return wrong(
                    format!("{} has no `{member}`", article(&shown)),
                    self.there_is(named, &method),
                );
            }
        };
        let result = match given {
            Given::Type(ty) => Some(ty.clone()),
            Given::Said(text) => self.said(text),
        };
        let Some(result) = result else {
            let Given::Said(text) = given else {
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
            Ty::Void | Ty::ByRef(_) | Ty::Pointer(_) | Ty::Param { .. } | Ty::Opaque(_) => false,
            Ty::Named(named) => !named.by_ref_like,
            _ => true,
        };
        if !is_kept {
            let title = match result {
                Ty::Void => format!("`{member}` of {} returns nothing", article(&shown)),
                _ => format!("what `{member}` of {} gives is no value", article(&shown)),
            };
            return wrong(title, None);
        }
        // As the program itself names it.
        let owner = match ty.ty.name() {
            Some(name) if *name == *named.name => from.clone(),
            _ => ty.ty.clone(),
        };
        Ok(Link {
            owner,
            owner_is_interface: ty.is_interface,
            name: method.into(),
            result,
        })
    }

    /// Shows a type and those above it, the superclass's first, until the answer is there.
    fn above<'f, T>(
        &'f self,
        start: &'f str,
        mut each: impl FnMut(&'f str, Option<&'f MemberType>) -> Option<T>,
    ) -> Option<T> {
        let root = match self.binder.language {
            Language::Java => "java/lang/Object",
            Language::CSharp => "System.Object",
        };
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut next = VecDeque::from([start]);
        while let Some(name) = next.pop_front() {
            if seen.len() == MAX_TYPES || !seen.insert(name) {
                continue;
            }
            let known = self.binder.catalog.members(name);
            if let Some(answer) = each(name, known) {
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
            next.extend(above.iter().map(|name| &**name));
            if known.is_some_and(|known| known.is_said) {
                next.push_back(root);
            }
        }
        None
    }

    fn find<'f>(&'f self, ty: &'f Named, method: &str) -> Found<'f> {
        let (mut hidden, mut unknown) = (None, None);
        let found = self.above(&ty.name, |name, known| {
            let Some(known) = known else {
                unknown = unknown.or(Some(name));
                return None;
            };
            // What a struct inherits is for boxed ones.
            if ty.value && *name != *ty.name {
                return None;
            }
            let member = known
                .members
                .iter()
                .find(|member| *member.name == *method)?;
            if !known.is_public {
                hidden = hidden.or(Some(name));
                return None;
            }
            Some((known, &member.result))
        });
        match (found, hidden) {
            (Some((ty, given)), _) => Found::Member(ty, given),
            (None, Some(hidden)) => Found::Hidden(hidden),
            (None, None) => Found::Missing(unknown),
        }
    }

    /// What a type has, for one who asked for something else.
    fn there_is(&self, ty: &Named, method: &str) -> Option<String> {
        const MOST: usize = 10;
        let mut names: Vec<&str> = Vec::new();
        self.above(&ty.name, |_, known| {
            let members = known.iter().flat_map(|known| &known.members);
            names.extend(members.map(|member| &*member.name));
            None::<()>
        });
        names.sort_unstable();
        names.dedup();
        let shown = |name: &str| match (name.strip_prefix("get_"), self.binder.language) {
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
        let language = self.binder.language;
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

/// A type's name as rules write it.
fn dots(name: &str) -> String {
    name.replace('/', ".")
}
