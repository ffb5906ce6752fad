use super::{Step, Test, adapter, chain};
use crate::aspect::bind::call::{Adapter, Change, Convert, Hook, Link, LinkKind};
use crate::aspect::bind::ty::{Prim, Ty};
use std::sync::Arc;

fn hook(parameters: &[Ty], result: &Ty, links: Vec<Link>) -> Hook {
    Hook {
        owner: Ty::class("acme/Own"),
        owner_is_interface: false,
        name: "hook".into(),
        parameters: parameters.into(),
        result: result.clone(),
        generics: 0,
        links: links.into(),
    }
}

fn link(owner: &Ty, name: &str, kind: LinkKind, result: &Ty) -> Link {
    Link {
        owner: owner.clone(),
        owner_is_interface: false,
        name: name.into(),
        kind,
        is_private: false,
        result: result.clone(),
        declared: None,
    }
}

fn shown(steps: &[Step<'_>]) -> String {
    let all = steps.iter().map(|step| match step {
        Step::Pass(_) => "pass".into(),
        Step::Ask(link) => format!("ask {}", link.name),
        Step::Box(_) => "box".into(),
        Step::Cast(_) => "cast".into(),
        Step::Unless(Test::Is(_)) => "unless is".into(),
        Step::Untold(steps) => format!("untold [{}]", shown(steps)),
        step => format!("{step:?}").to_lowercase(),
    });
    all.collect::<Vec<_>>().join("; ")
}

#[test]
fn an_adapter_falls_back_wherever_its_hook_gives_nothing() {
    let text = Ty::class("java/lang/String");
    let hook = hook(std::slice::from_ref(&text), &Ty::Void, vec![]);
    let of = |guard, recursion, change| {
        let it = Adapter {
            class: Arc::from("weave/hooks/a"),
            guard,
            recursion,
            change,
        };
        let made = adapter(&hook, &it);
        format!("{}: {}", made.takes.len(), shown(&made.steps))
    };
    let change = Change {
        convert: Convert::Cast,
        to: text.clone(),
        old: text.clone(),
        throws: true,
    };
    assert_eq!(
        of(true, true, None),
        "1: begin; zero(void); return; catch(failure); zero(void); return; label(free); \
         try; pass; tried; end; return; \
         catch(all); tell(\"acme.own.hook\"); end; zero(void); return; \
         untold [end; zero(void); return]"
    );
    assert_eq!(
        of(true, false, Some(change)),
        "2: try; pass; cast; tried; return; \
         catch(all); tell(\"acme.own.hook\"); load(1); throw; untold [load(1); throw]"
    );
    assert_eq!(
        of(false, true, None),
        "1: begin; zero(void); return; label(free); \
         try; pass; tried; end; return; catch(all); end; throw"
    );
}

#[test]
fn a_chain_looks_at_each_object_before_it_asks_it() {
    let (text, file) = (Ty::class("java/lang/String"), Ty::class("java/io/File"));
    let (number, object) = (Ty::Prim(Prim::I32), Ty::class("java/lang/Object"));
    let method = || LinkKind::Method(Box::default());
    let hook = hook(
        std::slice::from_ref(&object),
        &object,
        vec![
            link(&file, "cast", LinkKind::Cast, &file),
            link(&file, "getName", method(), &text),
            link(&text, "length", method(), &number),
            link(&number, "", LinkKind::Box, &object),
        ],
    );
    assert_eq!(
        shown(&chain(&hook)),
        "unless is; ask cast; hold; unless(notnull); ask getName; hold; unless(notnull); ask length; box"
    );
}
