//! Hooks of one's own: what rules call, what of it goes into the output, and calls that do not fit.

use crate::aspect::bind::call::{Adapter, Call, Hook};
use crate::aspect::bind::catalog::{Catalog, Declared, HookType, MemberType};
use crate::aspect::bind::functional::Interface;
use crate::aspect::bind::misfit::{self, Misfit};
use crate::aspect::bind::reach::{LibraryType, Reach};
use crate::aspect::bind::site::Redirect;
use crate::aspect::plan::Plan;
use crate::aspect::pointcut::Matcher;
use crate::aspect::rules::model::{Aspect, SaidType};
use crate::cil;
use crate::container::folder;
use crate::container::input::Input;
use crate::container::jar::Manifest;
use crate::container::zip::{Archive, Method};
use crate::dex;
use crate::error::{Error, Kind, Result};
use crate::jvm::{self, Relocation, module_info};
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::library::embedded::{self, is_of_runtime};
use crate::pipeline::limits::MAX_MEMBER;
use crate::pipeline::worker::with_worker;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is declared in classes, dex files and assemblies: hooks of the one cannot be called from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Class,
    Dex,
    Assembly,
}

/// What hooks there are, by the format of those who call them.
#[derive(Default)]
pub(crate) struct Catalogs([Catalog; 3]);

impl Catalogs {
    pub(crate) fn of(&self, code: Code) -> &Catalog {
        &self.0[code as usize]
    }

    pub(crate) fn add_library_type(&mut self, name: &str) {
        self.0
            .iter_mut()
            .for_each(|catalog| catalog.add_library_type(name));
    }

    pub(crate) fn declare(&mut self, code: Code, name: Box<str>, declared: Declared) {
        self.0[code as usize].declare(name, declared);
    }

    pub(crate) fn add(&mut self, code: Code, name: Box<str>, ty: HookType) {
        self.0[code as usize].add(name, ty);
    }

    pub(crate) fn note_values(&mut self, written: &str, methods: &[&str]) {
        let all = self.0.iter_mut();
        all.for_each(|catalog| catalog.note_values(written, methods));
    }

    pub(crate) fn add_members(&mut self, code: Code, name: Box<str>, ty: MemberType) {
        self.0[code as usize].add_members(name, ty);
    }

    pub(crate) fn add_interface(&mut self, code: Code, name: Box<str>, interface: Interface) {
        self.0[code as usize].add_interface(name, interface);
    }

    /// Adds methods that have a body, by their keys.
    pub(crate) fn add_bodies(&mut self, code: Code, keys: Vec<u64>) {
        let bodies = &mut self.0[code as usize].bodies;
        keys.into_iter().for_each(|key| bodies.add(key));
    }

    /// Adds what rules say of a type, wherever it may be.
    pub(crate) fn say(&mut self, said: &SaidType) {
        for code in [Code::Class, Code::Dex] {
            self.0[code as usize].say(said, |name| name.replace('.', "/"));
        }
        self.0[Code::Assembly as usize].say(said, str::to_owned);
    }
}

/// The bodies of hooks by the hook and its parameter that is `proceed`; none: it is not copied.
type HookBodies = FxHashMap<(Hook, usize), Option<Arc<jvm::HookBody>>>;

/// The own hooks of a job.
pub(crate) struct Own<'a> {
    pub(crate) catalogs: Catalogs,
    pub(crate) embedded: Embedded,
    /// The libraries that are there when the program runs.
    there: Embedded,
    /// What hooks of class files and assemblies reach.
    reach: Reach<'a>,
    /// Whether hooks may reach woven code, as far as that was asked.
    reached: Mutex<FxHashMap<Hook, bool>>,
    /// Which hooks around methods may be copied, as far as that was asked.
    bodies: Mutex<HookBodies>,
    /// Calls that do not fit, in no order.
    misfits: Mutex<Vec<Misfit>>,
    /// Rules about activities were refused.
    refuses_sources: AtomicBool,
}

/// In front of the packages of libraries in a module that is woven by itself; the module's name comes between.
const OWN_PACKAGES: &str = "weave/own/";

/// What own hooks bring into a module.
pub(crate) enum Brings<'r> {
    Nothing,
    /// The libraries of the output, with these names.
    Libraries(Option<&'r Relocation>),
}

/// The libraries that go into the output.
#[derive(Default)]
pub(crate) struct Embedded {
    /// Members of jars and folders: path and data.
    pub(crate) classes: BTreeMap<String, Vec<u8>>,
    pub(crate) dexes: Vec<Vec<u8>>,
    /// File name and data.
    pub(crate) assemblies: BTreeMap<String, Vec<u8>>,
    /// What the Java modules are called that they are, by a descriptor or by their manifests.
    modules: BTreeSet<String>,
    /// The files of libraries that are no modules: no named module sees their classes.
    unnamed: BTreeSet<String>,
}

impl<'a> Own<'a> {
    pub(crate) fn new(
        catalogs: Catalogs,
        embedded: Embedded,
        there: Embedded,
        reach: Reach<'a>,
    ) -> Own<'a> {
        Own {
            catalogs,
            embedded,
            there,
            reach,
            reached: Mutex::default(),
            bodies: Mutex::default(),
            misfits: Mutex::default(),
            refuses_sources: AtomicBool::new(false),
        }
    }

    /// Whether what a hook calls may be woven.
    pub(crate) fn may_reach(&self, code: Code, hook: &Hook) -> bool {
        let Some(owner) = hook.owner.name() else {
            return true;
        };
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = reached.get(hook) {
            return known;
        }
        let mut descriptor = String::new();
        if code != Code::Assembly {
            descriptor.push('(');
            let parameters = hook.parameters.iter();
            parameters.for_each(|ty| ty.put_descriptor(&mut descriptor));
            descriptor.push(')');
            hook.result.put_descriptor(&mut descriptor);
        }
        let may = self.reach.why(owner, &hook.name, &descriptor).is_some();
        reached.insert(hook.clone(), may);
        may
    }

    /// The body of a hook around methods of classes, if a library has it and it may be copied into them.
    pub(crate) fn hook_body(&self, call: &Call) -> Option<Arc<jvm::HookBody>> {
        let (parameter, _) = jvm::only_proceed(call)?;
        // What is kept is of the hook alone: the same for each such call.
        let key = ((*call.hook).clone(), parameter);
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        let body = bodies.entry(key).or_insert_with(|| {
            let file = |name: &str| {
                let path = format!("{name}.class");
                let libraries = [&self.embedded, &self.there];
                let mut files = libraries.iter().filter_map(|l| l.classes.get(&path));
                files.next().map(Vec::as_slice)
            };
            jvm::HookBody::read(call, &file).map(Arc::new)
        });
        body.clone()
    }

    /// Notes calls that do not fit.
    pub(crate) fn complain(&self, misfits: Vec<Misfit>) {
        /// More would not help a reader; they cost memory.
        const MOST: usize = 100_000;
        let mut all = self.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST {
            all.extend(misfits);
        }
    }

    /// An artifact has no activities: rules that name their sources (`[[spans]]`) do not fit. Reports it once.
    pub(crate) fn refuse_sources(&self, matcher: &Matcher, artifact: &str) {
        let misfit = |aspect: &Aspect| {
            let source = Arc::clone(&aspect.own.as_ref()?.source);
            Some(Misfit {
                source,
                span: aspect.start..aspect.start + "[[spans]]".len(),
                title: "`[[spans]]` names sources of activities, which .NET alone has".into(),
                what: "there are none in".into(),
                method: artifact.into(),
                help: Some(
                    "the JVM's libraries are recorded by rules with `span`, as in `pack:requests-jvm`; give assemblies a rules file of their own"
                        .into(),
                ),
            })
        };
        let misfits: Vec<Misfit> = matcher.listening().filter_map(misfit).collect();
        if !misfits.is_empty() && !self.refuses_sources.swap(true, Ordering::Relaxed) {
            self.complain(misfits);
        }
    }

    /// The members of libraries that classes need that need this: path and data, ascending.
    pub(crate) fn members(&self, needs: &Needs) -> &BTreeMap<String, Vec<u8>> {
        static NONE: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        match needs.hooks {
            true => &self.embedded.classes,
            false => &NONE,
        }
    }

    /// The first library that is there when the program runs, and that no named module sees.
    pub(crate) fn unseen_by_modules(&self) -> Option<&str> {
        self.there.unnamed.first().map(String::as_str)
    }

    /// Whether one of these calls needs a library that goes into the output.
    pub(crate) fn embeds<'c>(&self, mut calls: impl Iterator<Item = &'c Call>) -> bool {
        let path = |call: &'c Call| Some(format!("{}.class", call.hook.owner.name()?));
        calls.any(|call| path(call).is_some_and(|path| self.embedded.classes.contains_key(&path)))
    }

    /// What goes beside dex files that need this.
    pub(crate) fn dexes(&self, needs: &Needs) -> Vec<Vec<u8>> {
        match needs.hooks {
            true => self.embedded.dexes.clone(),
            false => Vec::new(),
        }
    }

    /// The packages of all that [`Own::members`] may give, with slashes.
    pub(crate) fn packages(&self) -> BTreeSet<&str> {
        embedded::packages(&self.embedded.classes)
    }

    /// The names that the libraries of the output have in a module that is woven by itself. No two modules of a layer may have one
    /// package: so each has a copy with names of its own. `descriptor` is the module's.
    pub(crate) fn relocation(&self, descriptor: &[u8]) -> Option<Relocation> {
        if self.embedded.classes.is_empty() {
            return None;
        }
        // The code that changes a descriptor reports its errors.
        let module = module_info::name(descriptor).ok().flatten()?;
        let package = format!("{OWN_PACKAGES}{}", module.replace('.', "/"));
        let paths = self.embedded.classes.keys().map(String::as_str);
        Some(Relocation::new(&package, paths))
    }

    /// The descriptor of a woven module as it must be for own hooks: it contains the packages that they bring into it, if they do, and
    /// requires the modules of the libraries that are there when the program runs. `after` is what was made of it so far.
    pub(crate) fn describe(
        &self,
        before: &[u8],
        mut after: Option<Vec<u8>>,
        brings: Brings<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let packages: BTreeSet<String> = match brings {
            Brings::Nothing => BTreeSet::new(),
            Brings::Libraries(None) => self.packages().into_iter().map(str::to_owned).collect(),
            Brings::Libraries(Some(relocation)) => {
                let classes = self
                    .embedded
                    .classes
                    .keys()
                    .filter(|p| p.ends_with(".class"));
                let paths = classes.map(|path| relocation.path(path));
                let folder = |path: String| Some(path.rsplit_once('/')?.0.to_owned());
                paths.filter_map(folder).collect()
            }
        };
        for package in &packages {
            let added = module_info::add_package(after.as_deref().unwrap_or(before), package)?;
            after = added.or(after);
        }
        for module in &self.there.modules {
            let added = module_info::add_requires(after.as_deref().unwrap_or(before), module)?;
            after = added.or(after);
        }
        Ok(after)
    }

    /// Hashes all that decides how an artifact is woven: what hooks there are, and the libraries.
    pub(crate) fn digest(&self, update: &mut dyn FnMut(&[u8])) {
        for catalog in &self.catalogs.0 {
            for (name, ty) in catalog.types() {
                update(format!("{name} {ty:?}").as_bytes());
            }
            for (name, declared) in catalog.all_declared() {
                update(format!("{name} {declared:?}").as_bytes());
            }
            for (name, ty) in catalog.all_members() {
                update(format!("{name} {ty:?}").as_bytes());
            }
            for (name, interface) in catalog.all_interfaces() {
                update(format!("{name} {interface:?}").as_bytes());
            }
            update(b"");
        }
        for module in &self.there.modules {
            update(module.as_bytes());
        }
        for libraries in [&self.embedded, &self.there] {
            let classes = (libraries.classes.iter()).map(|(name, bytes)| (name.as_str(), bytes));
            let dexes = libraries.dexes.iter().map(|bytes| (".dex", bytes));
            let assemblies = libraries.assemblies.iter();
            let assemblies = assemblies.map(|(name, bytes)| (name.as_str(), bytes));
            for (name, bytes) in classes.chain(dexes).chain(assemblies) {
                update(name.as_bytes());
                update(bytes);
            }
            update(b"");
        }
    }

    /// Whether all calls fit, as far as was planned.
    pub(crate) fn fits(&self) -> bool {
        let all = self.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        all.is_empty()
    }

    /// The error for calls that do not fit, if there are any: nothing half-bound is written.
    pub(crate) fn check(&self) -> Result<()> {
        let mut all = self.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        all.sort_by(|a, b| {
            let key = |m: &Misfit| (m.source.name.clone(), m.span.start, m.span.end);
            key(a).cmp(&key(b)).then_with(|| a.method.cmp(&b.method))
        });
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        misfit::error(&all, colour).map_or(Ok(()), Err)
    }
}

/// What woven code needs beside it for its own hooks.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Needs {
    /// Some method has own hooks.
    pub(crate) hooks: bool,
    /// Some method calls the hook library itself: it records values, a rule names a hook there, or a call is recorded.
    library: bool,
    /// Some hook is called through an adapter.
    guard: bool,
}

/// The classes that weaving makes for a class, by their names.
pub(crate) type Generated = BTreeMap<Box<str>, MadeClass>;

/// A class that weaving makes.
#[derive(Clone)]
pub(crate) enum MadeClass {
    Adapter(Arc<Hook>, Adapter),
    /// What is called instead of a method. And its id, if it is recorded.
    Redirect(Arc<Redirect>, u32),
    /// What looks at exceptions for it.
    Test(Arc<Redirect>),
    /// What runs bodies of several classes.
    Runner(jvm::Runner),
}

impl MadeClass {
    /// The same class, as another class needs it: all of one name are the same, but for what each lets a runner run.
    pub(crate) fn join(&mut self, other: MadeClass) {
        if let (MadeClass::Runner(runner), MadeClass::Runner(other)) = (self, other) {
            runner.bodies.extend(other.bodies);
        }
    }

    /// Its class file, in a module with these names of libraries.
    pub(crate) fn bytes(&self, relocation: Option<&Relocation>) -> Result<Vec<u8>> {
        let bytes = match self {
            MadeClass::Adapter(hook, adapter) => jvm::adapter(hook, adapter),
            MadeClass::Redirect(redirect, id) => jvm::redirect_class(redirect, *id)?,
            MadeClass::Test(redirect) => jvm::test_class_of(redirect).ok_or_else(|| {
                Error::new(Kind::Unsupported, "a hook of exceptions without a type")
            })?,
            MadeClass::Runner(runner) => runner.bytes(),
        };
        match relocation {
            Some(relocation) => relocation.class(&bytes, 1),
            None => Ok(bytes),
        }
    }
}

/// The classes that a class needs that is woven by this plan.
pub(crate) fn generated(plan: &Plan) -> Generated {
    let mut generated = Generated::new();
    for call in calls(plan) {
        if let Some(adapter) = &call.adapter
            && !generated.contains_key(&*adapter.class)
        {
            let made = MadeClass::Adapter(Arc::clone(&call.hook), adapter.clone());
            generated.insert((*adapter.class).into(), made);
        }
    }
    for (place, redirect) in plan.redirects_here() {
        if let Some(class) = redirect.class() {
            let made = MadeClass::Redirect(Arc::clone(redirect), plan.call_id(place));
            generated.insert((**class).into(), made);
            if let Some(test) = jvm::test_class(redirect) {
                generated.insert(test.into(), MadeClass::Test(Arc::clone(redirect)));
            }
        }
    }
    generated
}

/// The calls of own hooks in a plan.
fn calls(plan: &Plan) -> impl Iterator<Item = &Call> {
    let bound = plan.bound_here().flat_map(|bound| bound.all());
    let redirects = (plan.redirects_here()).flat_map(|(_, redirect)| redirect.calls());
    bound.chain(redirects)
}

impl Needs {
    /// What the methods of a plan need.
    pub(crate) fn of(plan: &Plan) -> Needs {
        let recorded = (plan.redirects_here()).any(|(_, redirect)| redirect.recorded().is_some());
        Needs {
            hooks: plan.bound_here().next().is_some() || plan.redirects_here().next().is_some(),
            library: recorded
                || calls(plan).any(|call| call.hook.owner.name().is_some_and(is_of_runtime)),
            guard: calls(plan).any(|call| call.adapter.is_some()),
        }
    }

    /// Whether the code calls the hook library, apart from the recorded pair of methods.
    pub(crate) fn calls_library(&self) -> bool {
        self.library || self.guard
    }

    pub(crate) fn add(&mut self, other: Needs) {
        self.library |= other.library;
        self.hooks |= other.hooks;
        self.guard |= other.guard;
    }
}

/// The types of libraries, for what hooks reach. Those of a file that cannot be read are not known. Of two with one name
/// either may be the one that runs.
pub(crate) fn library_types(embedded: &Embedded) -> FxHashMap<Box<str>, LibraryType> {
    let classes = embedded
        .classes
        .iter()
        .filter(|(name, _)| name.ends_with(".class"));
    let read = classes.filter_map(|(_, bytes)| {
        let class = jvm::Class::parse(bytes).ok()?;
        Some((Box::from(&*class.name()), jvm::library_type(&class).ok()?))
    });
    let assemblies = embedded.assemblies.values().filter_map(|bytes| {
        let image = cil::Image::parse(bytes).ok()?;
        cil::library_types(&image).ok()
    });
    let dexes = embedded.dexes.iter().filter_map(|bytes| {
        let dex = dex::Dex::parse(bytes).ok()?;
        dex::library_types(&dex).ok()
    });
    let mut types: FxHashMap<Box<str>, LibraryType> = FxHashMap::default();
    for (name, ty) in read.chain(assemblies.flatten()).chain(dexes.flatten()) {
        match types.entry(name) {
            Entry::Vacant(entry) => drop(entry.insert(ty)),
            Entry::Occupied(mut entry) => entry.get_mut().join(ty),
        }
    }
    types
}

impl Embedded {
    /// The hook library.
    pub(crate) fn runtime() -> Result<Embedded> {
        Ok(Embedded {
            classes: embedded::classes()?.into_iter().collect(),
            dexes: vec![embedded::DEX.to_vec()],
            assemblies: BTreeMap::from([(embedded::DLL_NAME.to_owned(), embedded::DLL.to_vec())]),
            modules: BTreeSet::new(),
            unnamed: BTreeSet::new(),
        })
    }

    /// Reads a library.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        let before = (self.modules.len(), self.classes.len());
        self.read(path)?;
        if before.0 == self.modules.len() && before.1 < self.classes.len() {
            self.unnamed.insert(path.display().to_string());
        }
        Ok(())
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        if path.is_dir() {
            for file in folder::list(path)?.files {
                let bytes =
                    std::fs::read(&file.path).map_err(|e| Error::io("read", &file.path, e))?;
                self.modules.extend(module_of(&file.name, &bytes));
                if is_part(&file.name) {
                    self.classes.insert(file.name, bytes);
                }
            }
            return Ok(());
        }
        let input = Input::open(path)?;
        let name = path.display().to_string();
        let place = |e: Error| e.in_artifact(name.clone());
        match Format::of(&input) {
            Format::Zip => {
                let archive = Archive::open(&input).map_err(place)?;
                for member in archive.members() {
                    let names_module = names_module(member.name());
                    if !(names_module || is_part(member.name()))
                        || matches!(member.method(), Method::Other(_))
                    {
                        continue;
                    }
                    let mut bytes = Vec::new();
                    with_worker(|w| member.read(&mut w.codec, MAX_MEMBER, &mut bytes))
                        .map_err(|e| place(e.in_member(member.name())))?;
                    if names_module {
                        self.modules.extend(module_of(member.name(), &bytes));
                        continue;
                    }
                    match member.name().ends_with(".dex") {
                        true => self.dexes.push(bytes),
                        false => drop(self.classes.insert(member.name().to_owned(), bytes)),
                    }
                }
            }
            Format::Class => {
                let class = jvm::Class::parse(&input).map_err(place)?;
                self.classes
                    .insert(format!("{}.class", class.name()), input.to_vec());
            }
            Format::Dex => self.dexes.push(input.to_vec()),
            Format::Pe => {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                self.assemblies.insert(file.into_owned(), input.to_vec());
            }
            Format::Other => {
                return Err(place(Error::usage(
                    "no library of hooks: a jar, a folder of classes, an assembly or a dex file",
                )));
            }
        }
        Ok(())
    }
}

/// Whether a member may say what the module of a library is called.
fn names_module(name: &str) -> bool {
    name == "META-INF/MANIFEST.MF" || file_name(name) == "module-info.class"
}

/// What a member says that the module is called.
fn module_of(name: &str, bytes: &[u8]) -> Option<String> {
    match name {
        "META-INF/MANIFEST.MF" => Manifest::parse(bytes).get("Automatic-Module-Name"),
        _ if names_module(name) => module_info::name(bytes).ok().flatten(),
        _ => None,
    }
}

/// Whether a member of a library is copied: its classes and resources are, metadata of the jar itself is not.
fn is_part(name: &str) -> bool {
    let about = name.starts_with("META-INF/") && !name.starts_with("META-INF/services/");
    !name.ends_with('/') && !about && file_name(name) != "module-info.class"
}
