"""Packs a folder of classes into a jar whose members depend on nothing else: sorted, no dates.

With --check: fails if the jar's members are not those. The deflated bytes are not compared, since they are another
library's matter.
"""

import pathlib
import sys
import zipfile

# Also a bundle, so that OSGi frameworks give the package to bundles that import it. Its version is that of the hooks.
MANIFEST = b"".join(line + b"\r\n" for line in [
    b"Manifest-Version: 1.0",
    b"Multi-Release: true",
    b"Bundle-ManifestVersion: 2",
    b"Bundle-SymbolicName: weave.runtime",
    b"Bundle-Name: Hook library of weave",
    b"Bundle-Version: 1.0.0",
    b"Export-Package: weave.runtime;version=1.0.0",
    b"",
])

folder, jar = pathlib.Path(sys.argv[1]), sys.argv[2]
classes = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.class")}
members = [("META-INF/MANIFEST.MF", MANIFEST), *sorted(classes.items())]
if sys.argv[3:] == ["--check"]:
    try:
        with zipfile.ZipFile(jar) as archive:
            same = [(name, archive.read(name)) for name in archive.namelist()] == members
    except (OSError, zipfile.BadZipFile):
        same = False
    sys.exit(not same)
with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name, data in members:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 0
        info.external_attr = 0
        archive.writestr(info, data, compresslevel=9)
