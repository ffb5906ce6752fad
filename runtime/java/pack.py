"""Packs a folder of classes into a jar whose members depend on nothing else: sorted, no dates.

With --check: fails if the jar's members are not those. The deflated bytes are not compared, since they are another
library's matter.
"""

import pathlib
import sys
import zipfile

MANIFEST = b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n"

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
