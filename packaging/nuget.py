"""Packs NuGet packages without an SDK: a package is a zip with a description and a list of what it holds."""
import zipfile
from xml.sax.saxutils import escape

#: Where the program of a platform lies in the package, as other packages with programs have it.
FOLDERS = {"linux-x86_64": "linux_x64/weave", "linux-aarch_64": "linux_arm64/weave", "osx-x86_64": "macosx_x64/weave",
           "osx-aarch_64": "macosx_arm64/weave", "windows-x86_64": "windows_x64/weave.exe"}
#: What .NET calls the platforms.
RIDS = {"linux-x86_64": "linux-x64", "linux-aarch_64": "linux-arm64", "osx-x86_64": "osx-x64", "osx-aarch_64": "osx-arm64",
        "windows-x86_64": "win-x64"}
MSBUILD, RUNTIME, TOOL = "Weave.MSBuild", "Weave.Runtime", "Weave.Tool"
FRAMEWORK = ".NETStandard2.0"

TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />
  {defaults}
  {overrides}
</Types>
"""
RELATIONS = """<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{name}.nuspec" Id="R1" />
</Relationships>
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata minClientVersion="2.12">
    <id>{name}</id>
    <version>{version}</version>
    <title>{name}</title>
    <authors>The authors of Weave</authors>
    <description>{about}</description>
    <license type="expression">MIT OR Apache-2.0</license>
    <requireLicenseAcceptance>false</requireLicenseAcceptance>
    <readme>README.md</readme>
    <icon>icon.png</icon>
    <tags>aop weaving tracing profiling bytecode</tags>
    {more}
  </metadata>
</package>
"""
#: Of a package of symbols, which holds nothing but those.
SYMBOLS = MANIFEST.replace("    <readme>README.md</readme>\n    <icon>icon.png</icon>\n", "")
GROUP = '<group targetFramework="{framework}">{dependencies}</group>'
#: One package for all names the packages of the platforms; `dotnet tool install` takes the one that fits.
TOOL_SETTINGS = """<?xml version="1.0" encoding="utf-8"?>
<DotNetCliTool Version="2">
  <Commands><Command Name="weave" /></Commands>
  <RuntimeIdentifierPackages>{packages}</RuntimeIdentifierPackages>
</DotNetCliTool>
"""
PLATFORM_SETTINGS = """<?xml version="1.0" encoding="utf-8"?>
<DotNetCliTool Version="2">
  <Commands><Command Name="weave" EntryPoint="{program}" Runner="executable" /></Commands>
</DotNetCliTool>
"""


def repository(url, commit):
    """The lines about the sources, if it is known where they are."""
    if not url:
        return ""
    at = f' commit="{commit}"' if commit else ""
    return f'<projectUrl>{escape(url)}</projectUrl><repository type="git" url="{escape(url)}"{at} />'


def pack(out, name, version, about, files, more, kind="nupkg", manifest=MANIFEST):
    """Writes a package, the same bytes each time; `files` are their bytes by path, `more` further lines of its description."""
    manifest = manifest.format(name=name, version=version, about=escape(about), more=more)
    kinds = sorted({path.rsplit(".", 1)[1] for path in files if "." in path.rsplit("/", 1)[-1]} | {"nuspec"})
    defaults = "\n  ".join(f'<Default Extension="{kind}" ContentType="application/octet" />' for kind in kinds)
    bare = [path for path in sorted(files) if "." not in path.rsplit("/", 1)[-1]]
    overrides = "\n  ".join(f'<Override PartName="/{path}" ContentType="application/octet" />' for path in bare)
    parts = {"[Content_Types].xml": TYPES.format(defaults=defaults, overrides=overrides), "_rels/.rels": RELATIONS.format(name=name),
             f"{name}.nuspec": manifest, **files}
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.{version}.{kind}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for part, content in parts.items():
            member = zipfile.ZipInfo(part, (2020, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            # Not every client keeps the run bit: the targets set it.
            member.external_attr = (0o755 if part.startswith("tools/") else 0o644) << 16
            package.writestr(member, content)
    return path


def make(root, out, version, programs, library, url="", commit=""):
    """Packs all packages; `programs` are paths by classifier, `url` and `commit` say where the sources are."""
    sources = repository(url, commit)

    def described(name):
        text = (root / f"packaging/readme/{name}.md").read_text(encoding="utf-8").replace("@WEAVE_VERSION@", version)
        return {"README.md": text.encode(), "icon.png": (root / "packaging/icon.png").read_bytes()}

    def depends(dependencies="", frameworks=(FRAMEWORK,)):
        groups = "".join(GROUP.format(framework=framework, dependencies=dependencies) for framework in frameworks)
        return f"<dependencies>{groups}</dependencies>{sources}"

    files = described(MSBUILD)
    # Nothing for who uses what was woven (buildTransitive): a build that did not ask hears nothing.
    for folder in ("build", "buildMultiTargeting"):
        for path in sorted((root / "msbuild" / folder).iterdir()):
            text = path.read_text(encoding="utf-8").replace("@WEAVE_VERSION@", version)
            files[f"{folder}/{path.name}"] = text.encode()
    files["task/Weave.MSBuild.dll"] = (root / "msbuild/task/Weave.MSBuild.dll").read_bytes()
    for classifier, path in sorted(programs.items()):
        files[f"tools/{FOLDERS[classifier]}"] = path.read_bytes()
    # Without a library of its own, the package fits every framework by this.
    files["lib/netstandard2.0/_._"] = b""
    needs = f'<dependency id="{RUNTIME}" version="[{version}]" include="All" />'
    runtime, about = root / "runtime/dotnet", "The hook library that woven assemblies call."
    documents = (runtime / "Weave.Runtime.xml").read_bytes()
    symbols = {"lib/netstandard2.0/Weave.Runtime.pdb": (runtime / "Weave.Runtime.pdb").read_bytes(),
               "lib/net8.0/Weave.Runtime.pdb": (runtime / "net8.0/Weave.Runtime.pdb").read_bytes()}
    # `dotnet nuget push` sends it along with the package of that name.
    pack(out, RUNTIME, version, about, symbols, '<packageTypes><packageType name="SymbolsPackage" /></packageTypes>' + sources, "snupkg", SYMBOLS)
    return [
        pack(out, RUNTIME, version, about,
             {**described(RUNTIME), "lib/netstandard2.0/Weave.Runtime.dll": library.read_bytes(), "lib/netstandard2.0/Weave.Runtime.xml": documents,
              # The same assembly for trimmed and native programs.
              "lib/net8.0/Weave.Runtime.dll": (runtime / "net8.0/Weave.Runtime.dll").read_bytes(), "lib/net8.0/Weave.Runtime.xml": documents},
             depends(frameworks=(FRAMEWORK, "net8.0"))),
        pack(out, MSBUILD, version, "Weaves hooks into what a project compiles, by the rules in weave.toml.", files, depends(needs)),
        *make_tool(out, version, programs, described(TOOL), sources),
    ]


def make_tool(out, version, programs, described, sources):
    """The command `weave` as a tool of .NET: a package that names those of the platforms, which hold the program."""
    about = "The command weave: puts hooks into .NET assemblies, jars and apks by rules, and shows the traces of woven programs."
    platforms = {classifier: f"{TOOL}.{RIDS[classifier]}" for classifier in sorted(programs)}
    listed = "".join(f'<RuntimeIdentifierPackage RuntimeIdentifier="{RIDS[classifier]}" Id="{name}" />'
                     for classifier, name in platforms.items())
    kind = '<packageTypes><packageType name="{}" /></packageTypes>'
    top = {**described, "tools/net10.0/any/DotnetToolSettings.xml": TOOL_SETTINGS.format(packages=listed).encode()}
    made = [pack(out, TOOL, version, about, top, kind.format("DotnetTool") + sources)]
    for classifier, name in platforms.items():
        program = FOLDERS[classifier].rsplit("/", 1)[1]
        folder = f"tools/any/{RIDS[classifier]}"
        files = {**described, f"{folder}/DotnetToolSettings.xml": PLATFORM_SETTINGS.format(program=program).encode(),
                 f"{folder}/{program}": programs[classifier].read_bytes()}
        made.append(pack(out, name, version, about, files, kind.format("DotnetToolRidPackage") + sources))
    return made
