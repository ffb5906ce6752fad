//! A folder of classes, jars, assemblies and anything else: a class path, an unpacked application, a
//! build's output.

mod assemblies;
mod classes;
mod dexes;
mod found;
mod jars;
mod java_library;
mod staging;
mod woven;

use self::assemblies::earlier_map;
use self::found::{Found, look, read};
use self::jars::SignedJars;
use self::staging::Staging;
use self::woven::Woven;
use crate::aspect::pointcut::ArtifactMatcher;
use crate::container::folder;
use crate::container::input::Input;
use crate::container::place::resolve;
use crate::container::zip::Archive;
use crate::error::{Error, Kind, Result};
use crate::jvm::{Relocation, Runners};
use crate::pipeline::context::Context;
use crate::pipeline::format::{Format, file_name};
use crate::pipeline::inputs::archive::rules::{Survey, signed_packages};
use crate::pipeline::job::{Job, Meter, Progress, artifact_name};
use crate::pipeline::ledger::Ledger;
use crate::pipeline::library::embedded;
use crate::pipeline::library::layout::{
    Home, Layout, LayoutDetector, Unseen, exploded, library_directory, unversioned,
};
use crate::pipeline::native::Native;
use crate::pipeline::outcome::WarningKind;
use crate::pipeline::publish::staged_folder::is_temporary;
use crate::pipeline::reaches;
use crate::symbols::{self, Symbols};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of class files in one batch.
const BATCH_BYTES: u64 = 8 << 20;

/// Weaves an input that is a folder.
pub(crate) fn weave_folder(
    cx: &Context<'_>,
    ledger: &mut Ledger<'_>,
    job: &Job,
    progress: Progress<'_>,
) -> Result<()> {
    let in_place = is_in_place(job)?;
    let listing = folder::list(&job.input)?;
    for (path, why) in &listing.skipped {
        let text = format!("{}: {why}; not copied", path.display());
        ledger.outcome.warn(WarningKind::NotCopied, text);
    }
    if let [first, more @ ..] = &listing.led_out[..] {
        let others = match more.len() {
            0 => String::new(),
            count => format!(", and {count} more of its links"),
        };
        let text = format!(
            "{}: a link out of the input folder{others}; the output has what it leads to",
            first.display()
        );
        ledger.outcome.warn(WarningKind::LinkFollowed, text);
    }
    let mut entries = listing.files;
    entries.retain(|entry| !is_temporary(file_name(&entry.name)));
    let found: Vec<Result<Found>> = entries.into_par_iter().map(look).collect();
    let found: Vec<Found> = found.into_iter().collect::<Result<_>>()?;
    let name = artifact_name(&job.input);
    let matcher = cx.matcher.for_artifact(&name, None, cx.hierarchy);
    let (layout, home) = layout(&found)?;
    let mut folder = Folder {
        cx: &cx.inside(layout),
        job,
        name: &name,
        matcher: &matcher,
        layout,
        home,
        apps: exploded_apps(layout, &found),
        relocations: relocations(cx, &found),
        found: &found,
    };
    let earlier = folder.earlier(ledger)?;
    folder.warn_of_bundles(ledger)?;
    if earlier.has_plugins && layout == Layout::Bundle && !folder.has(embedded::JAR_NAME) {
        folder.home = Home::Jar(format!(".weave/{}", embedded::JAR_NAME));
    }
    let mut walk = Walk {
        folder: &folder,
        ledger,
        meter: Meter::new(progress, found.iter().map(|f| f.size).sum()),
        staging: Staging::create(&job.input, job.output.as_deref())?,
        woven: Woven::default(),
        runners: runners(&found),
    };
    walk.weave()?;
    walk.tell_launchers(&earlier.launchers)?;
    walk.remove_signatures(earlier.signed)?;
    walk.finish(in_place)
}

/// Whether the output is the input. One inside the other is refused.
fn is_in_place(job: &Job) -> Result<bool> {
    let Some(output) = &job.output else {
        return Ok(false);
    };
    let (from, to) = (resolve(&job.input), resolve(output));
    if to != from && to.starts_with(&from) {
        return Err(Error::usage(format!(
            "the output folder {} lies inside the input folder: the next run would weave it again; choose one outside",
            output.display()
        )));
    }
    Ok(to == from)
}

/// The layout, and where its hook library lies.
fn layout(found: &[Found]) -> Result<(Layout, Home)> {
    let mut detector = LayoutDetector::default();
    found.iter().for_each(|f| detector.see(&f.name));
    let layout = detector.folder();
    let application = found.iter().find(|f| f.name == "META-INF/application.xml");
    let directory = match application.filter(|_| layout == Layout::Ear) {
        Some(xml) => library_directory(&String::from_utf8_lossy(&read(&xml.path)?)),
        None => "lib".to_owned(),
    };
    Ok((layout, layout.home(&directory)))
}

/// The exploded applications among jars and classes that lie side by side.
fn exploded_apps(layout: Layout, found: &[Found]) -> BTreeMap<String, Layout> {
    let apps = found.iter().filter_map(|f| exploded(&f.name));
    match layout {
        Layout::Bundle => apps.map(|(root, app)| (root.to_owned(), app)).collect(),
        _ => BTreeMap::new(),
    }
}

/// The names of own hooks' libraries in the modules of a folder. With the hook library in a module of its own they are there, too.
fn relocations(cx: &Context<'_>, found: &[Found]) -> BTreeMap<String, Relocation> {
    let Some(own) = cx.own.filter(|_| !cx.runtime) else {
        return BTreeMap::new();
    };
    let classes = found.iter().filter(|f| f.format == Format::Class);
    let relocation = |f: &Found| {
        let root = unversioned(f.name.strip_suffix("module-info.class")?);
        Some((root.to_owned(), own.relocation(&read(&f.path).ok()?)?))
    };
    classes.filter_map(relocation).collect()
}

/// What the job reads.
struct Folder<'a> {
    cx: &'a Context<'a>,
    job: &'a Job,
    name: &'a str,
    /// For the loose classes: their artifact is the folder.
    matcher: &'a ArtifactMatcher<'a>,
    layout: Layout,
    /// Where the hook library of its jars and classes lies.
    home: Home,
    /// The exploded applications in it that have loaders of their own, by where they lie.
    apps: BTreeMap<String, Layout>,
    /// The names of own hooks' libraries in modules that are woven by themselves, by the class roots of those.
    relocations: BTreeMap<String, Relocation>,
    /// Ascending by name.
    found: &'a [Found],
}

/// What earlier weaves and signers left.
#[derive(Default)]
struct Earlier {
    signed: SignedJars,
    /// A jar at the top says that it is a plug-in.
    has_plugins: bool,
    /// Jars whose loader finds others by an index of its own, and what is not in it by their `Class-Path`.
    launchers: Vec<String>,
    symbols: Symbols,
}

/// What an earlier weave or a signer left in a file.
#[derive(Default)]
struct Seen {
    map: Option<Symbols>,
    /// The packages of a signed jar's classes.
    signed: Option<BTreeSet<String>>,
    is_plugin: bool,
    is_launcher: bool,
}

impl Folder<'_> {
    /// Looks into all files for what was there before, and takes its ids, wherever in the folder they are. Assemblies are
    /// parsed again when they are woven: that is a fiftieth of the work, and a folder may be larger than what can stay mapped.
    fn earlier(&self, ledger: &mut Ledger<'_>) -> Result<Earlier> {
        let seen: Vec<Result<Seen>> = self.found.par_iter().map(|f| self.look_into(f)).collect();
        let mut earlier = Earlier::default();
        for (found, seen) in self.found.iter().zip(seen) {
            let seen = match seen {
                Ok(seen) => seen,
                Err(e) if e.kind() == Kind::Io => return Err(e),
                Err(e) => {
                    ledger.unreadable(&e);
                    continue;
                }
            };
            if let Some(packages) = seen.signed {
                earlier.signed.insert(found.name.clone(), packages);
            }
            if seen.is_launcher {
                earlier.launchers.push(found.name.clone());
            }
            earlier.has_plugins |= seen.is_plugin && !found.name.contains('/');
            if let Some(map) = seen.map {
                ledger.taken.reserve(&map);
                earlier.symbols.merge(map);
            }
        }
        ledger.outcome.warn_of_collisions(&earlier.symbols);
        Ok(earlier)
    }

    /// Looks into a file; the weave reports archives and assemblies that cannot be read.
    fn look_into(&self, found: &Found) -> Result<Seen> {
        let mut seen = Seen::default();
        match found.format {
            Format::Zip => {
                let input = Input::open(&found.path)?;
                if let Ok(archive) = Archive::open(&input)
                    && let Ok(survey) = Survey::of(&archive)
                {
                    seen.signed = signed_packages(&archive);
                    seen.is_plugin = survey.is_plugin;
                    seen.is_launcher = survey.has_index_of_its_own();
                    seen.map = survey.earlier;
                }
            }
            Format::Pe => seen.map = earlier_map(&Input::open(&found.path)?),
            _ if symbols::is_carried_anywhere(&found.name) => seen.map = self.map_of(found)?,
            _ => {}
        }
        Ok(seen)
    }

    /// Warns of assemblies that are packed into an executable, and once of those that are Webcil: they are not woven.
    fn warn_of_bundles(&self, ledger: &mut Ledger<'_>) -> Result<()> {
        /// Libraries, which nothing is packed into.
        const LIBRARIES: [&str; 4] = [".dll", ".so", ".dylib", ".node"];
        let mut webcil: Vec<&str> = Vec::new();
        for found in self.found.iter().filter(|f| f.native) {
            let name = file_name(&found.name);
            if LIBRARIES.iter().any(|suffix| name.ends_with(suffix)) || name.contains(".so.") {
                continue;
            }
            match Native::of(&Input::open(&found.path)?) {
                Some(Native::Bundle) => {
                    let text = format!("{}/{}: {}", self.name, found.name, Native::Bundle.why());
                    ledger.outcome.warn(WarningKind::NotWoven, text);
                }
                Some(Native::Webcil) => webcil.push(&found.name),
                _ => {}
            }
        }
        if let [first, others @ ..] = &webcil[..] {
            let more = match others.len() {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            let text = format!("{}/{first}{more}: {}", self.name, Native::Webcil.why());
            ledger.outcome.warn(WarningKind::NotWoven, text);
        }
        Ok(())
    }

    /// What a map says; nothing for a file that only names one.
    fn map_of(&self, found: &Found) -> Result<Option<Symbols>> {
        let bytes = read(&found.path)?;
        if symbols::is_marker(&bytes) {
            return Ok(None);
        }
        let mut map = Symbols::default();
        map.add(&bytes).map_err(|e| self.place(found, e))?;
        Ok(Some(map))
    }

    fn place(&self, found: &Found, e: Error) -> Error {
        e.in_member(&found.name).in_artifact(self.name)
    }

    fn find(&self, name: &str) -> Option<&Found> {
        let at = self.found.binary_search_by(|f| f.name.as_str().cmp(name));
        at.ok().map(|at| &self.found[at])
    }

    /// The exploded application that a file is part of: where it lies, and its layout.
    fn app_of(&self, name: &str) -> Option<(&str, Layout)> {
        let ends = name.rmatch_indices('/').map(|(slash, _)| slash + 1);
        let mut roots = ends.chain([0]).map(|end| &name[..end]);
        roots.find_map(|root| {
            let (root, layout) = self.apps.get_key_value(root)?;
            Some((root.as_str(), *layout))
        })
    }

    /// What of the libraries a class or archive does not see.
    fn unseen(&self, name: &str) -> Unseen {
        match self.app_of(name) {
            Some((root, layout)) => layout.unseen(&name[root.len()..]),
            None => self.layout.unseen(name),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

/// The way through a folder.
struct Walk<'a, 'j> {
    folder: &'a Folder<'a>,
    ledger: &'a mut Ledger<'j>,
    meter: Meter<'a>,
    staging: Staging,
    woven: Woven,
    /// What runs bodies of its loose classes.
    runners: Runners,
}

/// What runs bodies of a folder's loose classes. They are read one after another: their sizes stand for what is in them.
fn runners(found: &[Found]) -> Runners {
    let classes = found.iter().filter(|file| file.format == Format::Class);
    Runners::new(classes.map(|file| (&*file.name, file.size)))
}

impl<'a> Walk<'a, '_> {
    fn weave(&mut self) -> Result<()> {
        let found = self.folder.found;
        let cx = self.folder.cx;
        let types = self.folder.job.types(cx.hierarchy, cx.own);
        let mut at = 0;
        while at < found.len() {
            let count = match found[at].format {
                Format::Zip => {
                    let count = jars::run(&found[at..]);
                    self.jars(&found[at..at + count], &types)?;
                    at += count;
                    continue;
                }
                Format::Class | Format::Pe | Format::Dex | Format::Other => {
                    let count = batch(&found[at..]);
                    let files = &found[at..at + count];
                    self.classes(files)?;
                    self.assemblies(files, &types)?;
                    self.dexes(files)?;
                    count
                }
            };
            let done = found[at..at + count].iter().map(|f| f.size).sum();
            self.meter.artifact(done);
            at += count;
        }
        Ok(())
    }

    /// Something of the folder itself was woven.
    fn wove_loose(&mut self) {
        if !self.woven.loose {
            self.woven.loose = true;
            self.ledger.outcome.artifacts += 1;
        }
    }

    /// Adds the hook library and the maps, copies the rest, and puts everything in its place.
    fn finish(mut self, in_place: bool) -> Result<()> {
        let folder = self.folder;
        self.add_dex_library()?;
        self.add_assembly_libraries()?;
        if self.woven.loose {
            self.add_loose_map()?;
            self.add_generated()?;
        }
        let map = self.ledger.end_job();
        if self.woven.jars || self.woven.loose || !self.woven.roots.is_empty() {
            let modules = self.modules_that_share();
            let needed = self.ledger.needs_library || self.ledger.needs.hooks;
            match folder.cx.runtime {
                true if needed => {
                    self.add_library(&modules, map.as_deref().map_or(&[][..], Vec::as_slice))?;
                }
                true => {}
                false => self.add_own(&self.woven.roots.clone())?,
            }
            self.describe_modules(&modules)?;
        }
        folder.cx.check_own()?;
        if self.staging.is_dry() || self.ledger.refuses(folder.job.strict) {
            return Ok(());
        }
        if !in_place {
            self.staging.copy_rest(folder.found)?;
        }
        if folder.cx.own.is_some() {
            let files = self.staging.output_files(folder.found);
            reaches::check(folder.name, &reaches::Output::Folder(files))?;
        }
        if let Some(map) = folder
            .job
            .stage_map(&mut self.ledger.outcome, map.as_deref())?
        {
            map.commit()?;
        }
        self.staging.commit()
    }
}

/// How many of these files are woven together: those until the next archive, bounded by bytes.
fn batch(files: &[Found]) -> usize {
    let mut bytes = 0;
    let batch = files.iter().take_while(|f| {
        bytes += match f.format {
            Format::Class => f.size,
            // Mapped, and woven into a few large pieces.
            Format::Pe | Format::Dex => f.size / 4,
            Format::Zip | Format::Other => 0,
        };
        f.format != Format::Zip && bytes <= BATCH_BYTES
    });
    batch.count().max(1)
}
