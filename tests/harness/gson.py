"""gson's published sources as a project that builds can weave, an edit of one class, and a program that uses it."""

import os
import re
import subprocess
import zipfile

import lib
from builds import packages, write

VERSION, ERRORS = "2.11.0", ("com.google.errorprone", "error_prone_annotations", "2.27.0")
RULES = 'version = 1\n\n[[aspect]]\nname = "gson"\nmatch = { type = "com.google.gson.**", kind = "method", min-size = 0 }\n'
USE = """package use;
import com.google.gson.*;
public class Use { public static void main(String[] args) throws Exception {
    Gson gson = new GsonBuilder().setPrettyPrinting().create();
    JsonElement read = JsonParser.parseString("{\\"a\\":[1,2.5,null,true],\\"b\\":{\\"c\\":\\"text\\"}}");
    System.out.println(gson.toJson(read));
    try { JsonParser.parseString("{"); } catch (JsonParseException e) { System.out.println(e.getClass()); }
    try { Class<?> calls = Class.forName("probe.Calls");
        System.err.println("calls " + calls.getField("begun").get(null) + " " + calls.getField("ended").get(null));
    } catch (ClassNotFoundException e) { }
} }
"""


def jar_of(local, group, name, version, classifier="", extension="jar"):
    """An artifact in a local repository, which fetches it if it is not there."""
    suffix = f"-{classifier}" if classifier else ""
    path = local / group.replace(".", "/") / name / version / f"{name}-{version}{suffix}.{extension}"
    if not path.is_file():
        packages.run("mvn", "-q", "-B", f"-Dmaven.repo.local={local}", "org.apache.maven.plugins:maven-dependency-plugin:2.8:get",
                     f"-Dartifact={group}:{name}:{version}:{extension}" + (f":{classifier}" if classifier else ""), "-Dtransitive=false")
    return path


class Sources:
    """The sources in a project's folder, with the rules beside them."""

    def __init__(self, folder, local):
        write(folder / "weave.toml", RULES)
        with zipfile.ZipFile(jar_of(local, "com.google.code.gson", "gson", VERSION, "sources")) as sources:
            for name in sources.namelist():
                if name.startswith("com/") and name.endswith(".java"):
                    write(folder / "src/main/java" / name, sources.read(name).decode())
        self.edited = folder / "src/main/java/com/google/gson/JsonNull.java"
        self.text = self.edited.read_text(encoding="utf-8")

    def edit(self, number):
        """Has one method do something else."""
        body = f"public int hashCode() {{\n    int more = {number}; if (more > 9) more--;"
        write(self.edited, re.sub(r"public int hashCode\(\) \{", body, self.text, count=1))


def compile_use(jdk, folder, classes):
    """The program; the answer is its folder of classes."""
    write(folder / "Use.java", USE)
    lib.run([jdk / "bin/javac", "-cp", classes, "-d", folder / "out", folder / "Use.java"])
    return folder / "out"


def use(jdk, folders, trace):
    """What the program prints, and how many calls it counted that began and ended, if it counted any."""
    trace.unlink(missing_ok=True)
    told = subprocess.run([jdk / "bin/java", "-cp", os.pathsep.join(map(str, folders)), "use.Use"], text=True, capture_output=True,
                          env={**os.environ, "WEAVE_TRACE": str(trace)})
    seen = re.search(r"calls (\d+) (\d+)", told.stderr)
    return told.stdout, tuple(map(int, seen.groups())) if seen else None
