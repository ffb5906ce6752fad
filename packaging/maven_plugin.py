"""What Maven wants to know of weave-maven-plugin: its goals and their parameters, as META-INF/maven/plugin.xml."""
from xml.sax.saxutils import escape

#: Name, type, what it is set to unless the pom says else, the property that sets it, and what it is.
SETTINGS = [
    ("skip", "boolean", "false", "weave.skip", "True leaves everything as it was compiled."),
    ("strict", "boolean", "false", "weave.strict", "Fail where a method that rules mean cannot be woven."),
    ("rules", "java.util.List", None, None, "The rules files: weave.toml beside pom.xml, or beside a parent's, unless others are named."),
    ("packs", "java.util.List", None, None, "Ready-made packs by name, such as all."),
    ("references", "java.util.List", None, None, "More jars and folders with base types of rules with extends, beside the class path."),
    ("arguments", "java.util.List", None, None, "More options of the program."),
    ("executable", "java.io.File", None, "weave.executable", "A program of one's own, instead of the one from the repositories."),
    ("cache", "java.io.File", "${settings.localRepository}/.cache/weave", "weave.cache", "Where woven dependencies are kept for all projects."),
]
#: What Maven itself provides, which no pom sets.
PROVIDED = [
    ("project", "org.apache.maven.project.MavenProject", "${project}"),
    ("session", "org.apache.maven.execution.MavenSession", "${session}"),
    ("version", "java.lang.String", "${plugin.version}"),
]
DEPENDENCIES = ("dependencies", "java.util.List", None, "weave.dependencies", "The dependencies to weave: group:artifact, with * for any characters.")
#: The phase of `weave` comes behind all that reads or changes compiled classes in process-classes, in whatever order poms name plug-ins, and
#: behind the tests' compiler. Goals that fork a lifecycle to run a program (spring-boot:run, jetty:run) ask for this phase.
#: Goal, class, phase, the dependencies that it needs, parameters of its own, and what it does.
GOALS = [
    ("weave", "WeaveMojo", "test-compile", "runtime", [], "Weaves the classes of the project."),
    ("weave-tests", "WeaveTestsMojo", "process-test-classes", "test", [], "Weaves the classes of the project's tests."),
    ("weave-dependencies", "WeaveDependenciesMojo", "test-compile", "test", [DEPENDENCIES], "Weaves jars that the project depends on."),
]


def parameter(name, kind, editable, about):
    return (f"<parameter><name>{name}</name><type>{kind}</type><required>false</required><editable>{editable}</editable>"
            f"<description>{escape(about)}</description></parameter>")


def value(name, kind, default, prop):
    given = f' default-value="{default}"' if default else ""
    return f'<{name} implementation="{kind}"{given}>{f"${{{prop}}}" if prop else ""}</{name}>'


def goal(name, cls, phase, scope, more, about):
    settings = SETTINGS + more
    parameters = [parameter(n, kind, "true", told) for n, kind, _, _, told in settings]
    parameters += [parameter(n, kind, "false", "Set by Maven.") for n, kind, _ in PROVIDED]
    values = [value(n, kind, default, prop) for n, kind, default, prop, _ in settings]
    values += [value(n, kind, given, None) for n, kind, given in PROVIDED]
    return f"""
    <mojo>
      <goal>{name}</goal>
      <description>{escape(about)}</description>
      <implementation>dev.weave.maven.{cls}</implementation>
      <language>java</language>
      <phase>{phase}</phase>
      <requiresDependencyResolution>{scope}</requiresDependencyResolution>
      <requiresProject>true</requiresProject>
      <threadSafe>true</threadSafe>
      <instantiationStrategy>per-lookup</instantiationStrategy>
      <executionStrategy>once-per-session</executionStrategy>
      <parameters>{"".join(parameters)}</parameters>
      <configuration>{"".join(values)}</configuration>
      <requirements><requirement><role>org.eclipse.aether.RepositorySystem</role><field-name>repositories</field-name></requirement></requirements>
    </mojo>"""


def descriptor(group, artifact, version):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<plugin>
  <name>Weave: the Maven plug-in</name>
  <description>Weaves hooks into what a project compiles, and what it depends on.</description>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <goalPrefix>weave</goalPrefix>
  <isolatedRealm>false</isolatedRealm>
  <inheritedByDefault>true</inheritedByDefault>
  <mojos>{"".join(goal(*g) for g in GOALS)}
  </mojos>
  <dependencies/>
</plugin>
"""
