#!/usr/bin/env python3
"""The rules packs that record SQL, on PostgreSQL, H2 and SQLite with their real drivers: each statement has its text, as often as it ran.

    databases.py [--only NAME]...

Names: jdbc (on each JDK; PostgreSQL and H2, by way of HikariCP, all of it woven), adonet (on the .NET SDK's runtime; Npgsql and
Microsoft.Data.Sqlite). The programs are in tests/programs/databases. A PostgreSQL of this test's own runs on loopback; its programs are
those of Debian's packages (tests/setup.sh).
"""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import corpora
import sdk
import values
from lib import ROOT, Missing, fresh, judges, main, oldest_jdk, run, weave_binary

SOURCES = ROOT / "tests" / "programs" / "databases"
DRIVERS = ["org.postgresql:postgresql:42.7.4", "com.h2database:h2:2.2.224", "com.zaxxer:HikariCP:5.1.0", "org.slf4j:slf4j-nop:1.7.36"]
PACKAGES = {"Npgsql": "10.0.3", "Microsoft.Data.Sqlite": "10.0.15"}
JDBC = {
    "drop table if exists orders": 1, "create table orders (id int primary key, state varchar(20))": 1,
    "insert into orders values (?, ?)": 100, "update orders set state = *** where id = ?": 1,
    "select count(*) from orders where state = ?": 10, "select max(id) from orders": 1, "select nonsense": 1,
}
ADONET = {
    "drop table if exists orders": 1, "create table orders (id int primary key, state varchar(20))": 1,
    "insert into orders values (@p0, @p1)": 50, "select count(*) from orders where state = @p0": 1, "select max(id) from orders": 1,
    "select * from orders": 1, "select nonsense": 1,
}


#: There all but the reader's own come by way of a second overload.
SQLITE = {text: count if text.startswith("select *") else 2 * count for text, count in ADONET.items()}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def postgres():
    """A PostgreSQL with an empty database; gives its port."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise Missing("PostgreSQL's server (the Debian package postgresql)")
    programs = found[-1].parent
    # It refuses to run as root.
    person = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    home = pathlib.Path(tempfile.mkdtemp(prefix="weave-postgres-"))
    if person:
        shutil.chown(home, "postgres", "postgres")
    data, port = home / "data", free_port()
    control = [*person, programs / "pg_ctl", "-D", data, "-w"]
    try:
        run([*person, programs / "initdb", "-D", data, "-A", "trust", "-U", "weave", "--no-sync", "-E", "UTF8", "--locale=C"], cwd=home)
        options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
        run([*control, "-o", options, "-l", home / "log", "start"], cwd=home)
        yield port
    finally:
        run([*control, "-m", "immediate", "stop"], check=False, cwd=home)
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def rabbitmq():
    """A RabbitMQ on loopback, of Debian's package; gives its port. It is not one of those that the machine runs: node, ports and files are its own."""
    found = sorted(pathlib.Path("/usr/lib/rabbitmq/lib").glob("*/sbin/rabbitmq-server"))
    if not found:
        raise Missing("RabbitMQ's server (the Debian package rabbitmq-server)")
    home = pathlib.Path(tempfile.mkdtemp(prefix="weave-rabbitmq-"))
    port, between, names = free_port(), free_port(), free_port()
    (home / "plugins").write_text("[].\n")
    environment = {
        **os.environ, "HOME": str(home), "RABBITMQ_NODENAME": f"weave{port}@localhost", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port), "RABBITMQ_DIST_PORT": str(between), "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(names),
        "RABBITMQ_MNESIA_BASE": str(home / "data"), "RABBITMQ_LOG_BASE": str(home / "log"), "RABBITMQ_PID_FILE": str(home / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"), "RABBITMQ_CONFIG_FILE": str(home / "none"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}",
    }
    with (home / "out").open("w") as out:
        server = subprocess.Popen([found[-1]], stdout=out, stderr=out, env=environment, cwd=home, start_new_session=True)
    try:
        for _ in range(1200):
            if server.poll() is not None:
                raise RuntimeError("RabbitMQ does not start: " + (home / "out").read_text()[-1000:])
            # It says so when it is ready; its port is there before.
            if "Starting broker... completed" in (home / "out").read_text():
                break
            time.sleep(0.1)
        yield port
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        # The Erlang daemon of names outlives its node, and stays until it has seen that this is gone.
        for _ in range(100):
            done = subprocess.run(["epmd", "-kill"], env=environment, capture_output=True, text=True)
            if "living nodes" not in done.stdout + done.stderr:
                break
            time.sleep(0.1)
        shutil.rmtree(home, ignore_errors=True)


def texts(trace, counted):
    """How often each SQL text came, by methods that `counted` accepts. The pool asks PostgreSQL for nothing to see whether it is there."""
    found = collections.Counter()
    for line in values.shown(trace):
        what, method, *value = line.split(" ", 2)
        if what == "enter" and value and counted(method):
            text = value[0].removesuffix(" masked").removeprefix("sql=")[1:-1]
            found[text] += bool(text)
    return +found


def compare(score, name, done, plain, trace, wanted, counted=lambda _: True):
    score.check(f"{name}: the same output", done.returncode == 0 and done.stdout == plain.stdout, done.stdout[-300:] + done.stderr[-800:])
    found = texts(trace, counted)
    score.check(f"{name}: each statement with its text", found == wanted, f"{len(found)} texts" if found == wanted else found)


def jdbc(score, folder):
    jars = corpora.resolved("databases", DRIVERS)
    plain, woven = fresh(folder / "plain"), folder / "woven"
    for jar in jars.glob("*.jar"):
        if not jar.name.startswith(("junit", "opentest4j", "apiguardian", "slf4j-api-2")):
            shutil.copy(jar, plain)
    fresh(folder / "classes")
    run([oldest_jdk() / "bin/javac", "--release", "11", "-cp", f"{plain}/*", "-d", folder / "classes", SOURCES / "java/Shop.java"])
    run([oldest_jdk() / "bin/jar", "cf", plain / "shop.jar", "-C", folder / "classes", "."])
    run([weave_binary(), "-q", "--strict", "--rules", "pack:jdbc", plain, woven])
    trace = folder / "run.wtrace"
    with postgres() as port:
        for database, url in (("PostgreSQL", f"jdbc:postgresql://127.0.0.1:{port}/postgres"), ("H2", "jdbc:h2:mem:shop")):
            for version, home in judges().items():
                ran = run([home / "bin/java", "-cp", f"{plain}/*", "Shop", url])
                done = run([home / "bin/java", "-Xverify:all", "-cp", f"{woven}/*", "Shop", url], check=False, env=values.environment(trace))
                compare(score, f"{database} on {version}", done, ran, trace, JDBC)


def adonet(score, folder):
    kit = sdk.find()
    project = fresh(folder / "shop")
    references = "".join(f'<PackageReference Include="{name}" Version="{version}" />' for name, version in PACKAGES.items())
    (project / "Shop.csproj").write_text(
        '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType>'
        f"<TargetFramework>net{kit.major}.0</TargetFramework></PropertyGroup><ItemGroup>{references}</ItemGroup></Project>\n")
    shutil.copy(SOURCES / "dotnet/Shop.cs", project)
    (project / "nuget.config").write_text(kit.config())
    plain, woven, trace = folder / "plain", folder / "woven", folder / "run.wtrace"
    run([kit.dotnet, "build", "-v", "q", "-o", plain], cwd=project, env=kit.environment(folder / "packages"))
    run([weave_binary(), "-q", "--strict", "--rules", "pack:adonet", plain, woven])
    with postgres() as port:
        for database, arguments, wanted in (
            ("Npgsql", ["npgsql", f"Host=127.0.0.1;Port={port};Username=weave;Database=postgres"], ADONET),
            ("Microsoft.Data.Sqlite", ["sqlite", f"Data Source={folder / 'shop.db'}"], SQLITE),
        ):
            ran = run([kit.dotnet, "exec", plain / "Shop.dll", *arguments])
            (folder / "shop.db").unlink(missing_ok=True)
            done = run([kit.dotnet, "exec", woven / "Shop.dll", *arguments], check=False, env=values.environment(trace))
            # What all ways of running a command come to.
            compare(score, database, done, ran, trace, wanted, lambda method: method == "ExecuteReader")


EVERY = {"jdbc": jdbc, "adonet": adonet}


if __name__ == "__main__":
    main(lambda: corpora.run_chosen(__doc__, EVERY, set(), "databases"))
