"""Packs NuGet packages without an SDK: a package is a zip with a description and a list of what it holds."""
import zipfile
from xml.sax.saxutils import escape

#: Where the program of a platform lies in the package, as other packages with programs have it.
FOLDERS = {"linux-x86_64": "linux_x64/weave", "linux-aarch_64": "linux_arm64/weave", "osx-x86_64": "macosx_x64/weave",
           "osx-aarch_64": "macosx_arm64/weave", "windows-x86_64": "windows_x64/weave.exe"}
MSBUILD, RUNTIME = "Weave.MSBuild", "Weave.Runtime"
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
    <authors>The authors of Weave</authors>
    <description>{about}</description>
    <license type="expression">MIT OR Apache-2.0</license>
    <requireLicenseAcceptance>false</requireLicenseAcceptance>
    <tags>aop weaving tracing profiling bytecode</tags>
    <dependencies>{groups}</dependencies>
  </metadata>
</package>
"""


def pack(out, name, version, about, files, dependencies="", frameworks=(FRAMEWORK,)):
    """Writes a package, the same bytes each time; `files` are their bytes by path."""
    groups = "".join(f'<group targetFramework="{framework}">{dependencies}</group>' for framework in frameworks)
    manifest = MANIFEST.format(name=name, version=version, about=escape(about), groups=groups)
    kinds = sorted({path.rsplit(".", 1)[1] for path in files if "." in path.rsplit("/", 1)[1]} | {"nuspec"})
    defaults = "\n  ".join(f'<Default Extension="{kind}" ContentType="application/octet" />' for kind in kinds)
    bare = [path for path in sorted(files) if "." not in path.rsplit("/", 1)[1]]
    overrides = "\n  ".join(f'<Override PartName="/{path}" ContentType="application/octet" />' for path in bare)
    parts = {"[Content_Types].xml": TYPES.format(defaults=defaults, overrides=overrides), "_rels/.rels": RELATIONS.format(name=name),
             f"{name}.nuspec": manifest, **files}
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.{version}.nupkg"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for part, content in parts.items():
            member = zipfile.ZipInfo(part, (2020, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            # Not every client keeps the run bit: the targets set it.
            member.external_attr = (0o755 if part.startswith("tools/") else 0o644) << 16
            package.writestr(member, content)
    return path


def make(root, out, version, programs, library):
    """Packs both packages; `programs` are paths by classifier."""
    files = {}
    for folder in ("build", "buildTransitive"):
        for path in sorted((root / "msbuild" / folder).iterdir()):
            text = path.read_text(encoding="utf-8").replace("@WEAVE_VERSION@", version)
            files[f"{folder}/{path.name}"] = text.encode()
    for classifier, path in sorted(programs.items()):
        files[f"tools/{FOLDERS[classifier]}"] = path.read_bytes()
    # Without a library of its own, the package fits every framework by this.
    files["lib/netstandard2.0/_._"] = b""
    needs = f'<dependency id="{RUNTIME}" version="[{version}]" include="All" />'
    return [
        pack(out, RUNTIME, version, "The hook library that woven assemblies call.",
             {"lib/netstandard2.0/Weave.Runtime.dll": library.read_bytes(),
              # The same assembly for trimmed and native programs.
              "lib/net8.0/Weave.Runtime.dll": (root / "runtime/dotnet/net8.0/Weave.Runtime.dll").read_bytes()}, frameworks=(FRAMEWORK, "net8.0")),
        pack(out, MSBUILD, version, "Weaves hooks into what a project compiles, by the rules in weave.toml.", files, needs),
    ]
