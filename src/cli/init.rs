//! `weave init`: a starter rules file that fits the build beside it, and what to add to that build.

use crate::aspect::rules::{STARTER, STARTER_DOTNET};
use crate::cli::rules::FILE_NAME;
use crate::cli::{DONE, note, print};
use crate::error::Result;
use crate::pipeline::{Access, Output};
use std::path::{Path, PathBuf};

/// Write a starter rules file to change to your needs
///
/// It fits the build that weave finds beside it (Gradle, Maven, MSBuild), and weave says what to add to that build. `weave` and
/// the builds find a file named weave.toml beside the input or in the current folder by themselves.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  weave init                  writes weave.toml
  weave init - | less         prints it")]
pub struct InitArgs {
    /// The file to write; - is standard output. An existing file is never overwritten
    #[arg(value_name = "FILE", default_value = FILE_NAME)]
    file: PathBuf,
}

/// The file that MSBuild reads for all projects below it.
const ALL_PROJECTS: &str = "Directory.Build.props";

/// The file with the versions of all projects' packages, under central package management.
const ALL_VERSIONS: &str = "Directory.Packages.props";

/// What builds a folder.
#[derive(Clone, Copy, PartialEq)]
enum Tool {
    Gradle,
    GradleKotlin,
    Maven,
    MsBuild,
    /// A project whose packages' versions stand in another file.
    MsBuildUnversioned,
    /// That file, for one project.
    MsBuildVersions,
    /// That file, for all projects below it.
    MsBuildCentral,
}

impl Tool {
    /// The tool that a file is for.
    fn of(file: &str) -> Option<Tool> {
        match file {
            "build.gradle" => Some(Tool::Gradle),
            "build.gradle.kts" => Some(Tool::GradleKotlin),
            "pom.xml" => Some(Tool::Maven),
            ALL_PROJECTS => Some(Tool::MsBuild),
            _ => {
                let (_, extension) = file.rsplit_once('.')?;
                let is_project = ["csproj", "fsproj", "vbproj"].contains(&extension);
                is_project.then_some(Tool::MsBuild)
            }
        }
    }

    /// What stands in a file to which the lines were added.
    fn mark(self) -> &'static str {
        match self {
            Tool::Gradle | Tool::GradleKotlin => "dev.weave",
            Tool::Maven => "weave-maven-plugin",
            Tool::MsBuild
            | Tool::MsBuildUnversioned
            | Tool::MsBuildVersions
            | Tool::MsBuildCentral => "Weave.MSBuild",
        }
    }

    /// What to add: where in the file, and which lines.
    fn lines(self) -> Vec<(&'static str, String)> {
        const VERSION: &str = env!("CARGO_PKG_VERSION");
        match self {
            Tool::Gradle => vec![(
                "",
                format!("plugins {{\n    id 'dev.weave' version '{VERSION}'\n}}\n"),
            )],
            Tool::GradleKotlin => vec![(
                "",
                format!("plugins {{\n    id(\"dev.weave\") version \"{VERSION}\"\n}}\n"),
            )],
            Tool::Maven => vec![
                (
                    " under <build><plugins>",
                    format!(
                        "<plugin>
  <groupId>dev.weave</groupId><artifactId>weave-maven-plugin</artifactId><version>{VERSION}</version>
  <executions><execution><goals><goal>weave</goal></goals></execution></executions>
</plugin>
"
                    ),
                ),
                (
                    " under <dependencies>",
                    format!(
                        "<dependency>
  <groupId>dev.weave</groupId><artifactId>weave-runtime</artifactId><version>{VERSION}</version><scope>runtime</scope>
</dependency>
"
                    ),
                ),
            ],
            Tool::MsBuild => {
                items(&format!("PackageReference Include=\"Weave.MSBuild\" Version=\"{VERSION}\""))
            }
            Tool::MsBuildUnversioned => items("PackageReference Include=\"Weave.MSBuild\""),
            Tool::MsBuildVersions => {
                items(&format!("PackageVersion Include=\"Weave.MSBuild\" Version=\"{VERSION}\""))
            }
            Tool::MsBuildCentral => items(&format!(
                "GlobalPackageReference Include=\"Weave.MSBuild\" Version=\"{VERSION}\""
            )),
        }
    }

    /// It is for projects of .NET.
    fn is_dotnet(self) -> bool {
        self.mark() == "Weave.MSBuild"
    }
}

/// An item of a project of MSBuild, as lines to add.
fn items(item: &str) -> Vec<(&'static str, String)> {
    let lines = format!("<ItemGroup>\n  <{item} />\n</ItemGroup>\n");
    vec![(" under <Project>", lines)]
}

/// Whether a file of MSBuild's switches central package management on.
fn is_central(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let (_, value) = text
        .split_once("<managepackageversionscentrally>")
        .unwrap_or_default();
    value.trim_start().starts_with("true")
}

/// The nearest file of this name in a folder or above it, as MSBuild finds it, with what it has.
fn nearest_above(folder: &Path, file: &str) -> Option<(PathBuf, Vec<u8>)> {
    let absolute = std::path::absolute(folder).ok()?;
    (absolute.ancestors()).find_map(|above| {
        let path = above.join(file);
        let text = std::fs::read(&path).ok()?;
        Some((path, text))
    })
}

/// A file of a build, to which lines are added.
struct Script {
    tool: Tool,
    /// What people call it.
    name: String,
    /// What it has, if it is there.
    text: Vec<u8>,
}

impl Script {
    /// The files of builds in a folder, by name.
    fn find(folder: &Path) -> Vec<Script> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        let is_there = |name: &str| names.iter().any(|other| other == name);
        let solution = |name: &String| name.ends_with(".sln") || name.ends_with(".slnx");
        let has = |tool| names.iter().any(|name| Tool::of(name) == Some(tool));
        let script = |name: &String| {
            let tool = Tool::of(name)?;
            // A file for all projects of MSBuild stands for theirs.
            let replaced = tool == Tool::MsBuild && is_there(ALL_PROJECTS) && name != ALL_PROJECTS;
            let path = folder.join(name);
            (!replaced).then(|| Script {
                tool,
                name: path
                    .strip_prefix(".")
                    .unwrap_or(&path)
                    .display()
                    .to_string(),
                text: std::fs::read(&path).unwrap_or_default(),
            })
        };
        let mut all: Vec<Script> = names.iter().filter_map(script).collect();
        let elsewhere = |tool, name: &str| Script {
            tool,
            name: name.to_owned(),
            text: vec![],
        };
        if (has(Tool::MsBuild) || names.iter().any(solution))
            && Script::add_central(folder, &mut all)
        {
            return all;
        }
        // The root of a build whose projects lie below.
        if !has(Tool::MsBuild) && names.iter().any(solution) {
            let name = format!("a new {ALL_PROJECTS} beside the solution");
            all.push(elsewhere(Tool::MsBuild, &name));
        }
        if !has(Tool::Gradle) && !has(Tool::GradleKotlin) {
            let each = "the build script of each project";
            if is_there("settings.gradle.kts") {
                all.push(elsewhere(Tool::GradleKotlin, each));
            } else if is_there("settings.gradle") {
                all.push(elsewhere(Tool::Gradle, each));
            }
        }
        all
    }

    /// Under central package management a reference has no version (NuGet refuses it), and one to a package that the central file does
    /// not name fails, too. Whether it is so here.
    fn add_central(folder: &Path, all: &mut Vec<Script>) -> bool {
        let Some((path, text)) = nearest_above(folder, ALL_VERSIONS) else {
            return false;
        };
        let built = nearest_above(folder, ALL_PROJECTS).is_some_and(|(_, text)| is_central(&text));
        if !is_central(&text) && !built {
            return false;
        }
        let here = folder.join(ALL_VERSIONS);
        let is_here = here.is_file();
        let path = if is_here { here } else { path };
        let versions = Script {
            tool: match is_here {
                true => Tool::MsBuildCentral,
                false => Tool::MsBuildVersions,
            },
            name: path
                .strip_prefix(".")
                .unwrap_or(&path)
                .display()
                .to_string(),
            text,
        };
        if is_here {
            // One item serves all projects.
            all.retain(|script| script.tool != Tool::MsBuild);
        } else {
            for script in all.iter_mut().filter(|script| script.tool == Tool::MsBuild) {
                script.tool = Tool::MsBuildUnversioned;
            }
        }
        all.push(versions);
        true
    }

    /// What to add to the file, for people.
    fn told(&self) -> String {
        let (name, mark) = (&self.name, self.tool.mark());
        if memchr::memmem::find(&self.text, mark.as_bytes()).is_some() {
            return format!("\n{name} names {mark} already.\n");
        }
        let indent = |text: &str| {
            let lines = text.lines().map(|line| format!("    {line}\n"));
            lines.collect::<String>()
        };
        let parts = self.tool.lines().into_iter().map(|(place, lines)| {
            let lines = indent(&lines);
            format!("\nAdd to {name}{place}:\n\n{lines}")
        });
        parts.collect()
    }
}

/// The rules for what a folder builds.
fn starter(scripts: &[Script]) -> &'static str {
    let dotnet = |script: &Script| script.tool.is_dotnet();
    match !scripts.is_empty() && scripts.iter().all(dotnet) {
        true => STARTER_DOTNET,
        false => STARTER,
    }
}

/// What to do next, for people.
fn next(scripts: &[Script]) -> String {
    if scripts.is_empty() {
        return "\nNext: weave plan INPUT shows what it takes; weave INPUT OUTPUT weaves.\n"
            .to_owned();
    }
    scripts.iter().map(Script::told).collect()
}

/// Runs the subcommand.
pub fn run(args: &InitArgs) -> Result<u8> {
    if args.file.as_os_str() == "-" {
        let scripts = Script::find(Path::new("."));
        print(starter(&scripts))?;
        return Ok(DONE);
    }
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let scripts = Script::find(folder);
    Output::put(&args.file, starter(&scripts).as_bytes(), Access::New)?;
    note(&format!(
        "wrote {}\n{}",
        args.file.display(),
        next(&scripts).trim_end()
    ));
    Ok(DONE)
}
