#!/usr/bin/env python3
"""`weave top` in a real terminal (tmux): what it shows of a program that runs, and what its keys do."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from lib import WORK, Missing, Score, fresh, main, run, weave_binary
from otlp import PATIENCE, begun, compiled

WIDTH, HEIGHT = 130, 30
# Two methods of which one calls the other; a phase goes on until the next is asked for.
BUSY = """
import weave.runtime.Hooks;
public class Busy {
    static volatile boolean stop;
    public static void main(String[] a) throws Exception {
        Thread waiting = new Thread(() -> {
            Hooks.enter(3);
            while (!stop) try { Thread.sleep(20); } catch (InterruptedException e) { return; }
            Hooks.exit(3);
        }, "waiting-one");
        waiting.start();
        Thread working = new Thread(() -> {
            while (!stop) {
                Hooks.enter(1);
                for (int i = 0; i < 5; i++) { Hooks.enter(2); Hooks.exit(2); }
                try { Thread.sleep(1); } catch (InterruptedException e) { return; }
                Hooks.error(new IllegalStateException("no"), 1);
            }
        }, "working-one");
        working.start();
        System.out.println("running");
        System.in.read();
        stop = true;
        working.join();
        waiting.join();
    }
}"""


class Terminal:
    """tmux with a server of its own."""

    def __init__(self, folder, command):
        self.socket, self.status = folder / "tmux", folder / "status"
        line = " ".join(f"'{part}'" for part in map(str, command))
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", WIDTH, "-y", HEIGHT, f"{line}; echo $? > '{self.status}'; sleep 1000")

    def tmux(self, *words, check=True):
        environment = {k: v for k, v in os.environ.items() if k != "TMUX"} | {"LC_ALL": "C.UTF-8", "TERM": "xterm"}
        try:
            return run(["tmux", "-S", self.socket, *words], check=check, env=environment)
        except FileNotFoundError:
            raise Missing("tmux (tests/setup.sh installs it)") from None

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout.splitlines()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def until(self, condition):
        """Waits until the screen is as it should be; answers it, or the last one."""
        screen = []
        for _ in range(PATIENCE * 5):
            screen = self.screen()
            if condition(screen):
                return True, screen
            if self.status.exists():
                break
            time.sleep(0.2)
        return False, screen

    def close(self):
        self.tmux("kill-server", check=False)


def left_behind(trace, end):
    """`top` in a pseudo-terminal of its own, ended by `end(process, keys)` as soon as it shows something: its exit status, what
    it wrote in all, and whether the terminal has the settings that it had."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    before, shown, ended = termios.tcgetattr(theirs), b"", False
    process = subprocess.Popen([weave_binary(), "top", trace], stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, env=os.environ | {"TERM": "xterm"})
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                shown += os.read(ours, 1 << 16)
            elif process.poll() is not None:
                break
            if not ended and b"pid " in shown:
                assert termios.tcgetattr(theirs) != before, "a view without raw mode"
                end(process, ours)
                ended = True
        return process.poll(), shown, termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def check_ends(score, trace, folder):
    """Whatever ends it, the terminal is as it was: no raw mode, the screen of before, a cursor."""

    def check(name, trace, end, status):
        code, shown, same = left_behind(trace, end)
        back = shown.rfind(b"\x1b[?1049l") > shown.rfind(b"\x1b[?1049h") >= 0 and shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l")
        good = code == status and same and back
        score.check(f"the terminal after {name}", good, "" if good else f"exit {code}, settings {same}, screen {back}, {shown[-200:]!r}")

    def send(number):
        return lambda process, _: process.send_signal(number)

    check("q", trace, lambda _, keys: os.write(keys, b"q"), 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        check(number.name, trace, send(number), 0)
    check("SIGQUIT", trace, send(signal.SIGQUIT), -signal.SIGQUIT)
    # What the system sends where a file is cut off while it is mapped.
    check("SIGBUS", trace, send(signal.SIGBUS), 1)
    cut = folder / "cut.wtrace"
    shutil.copy(trace, cut)

    def cut_off(_, keys):
        os.truncate(cut, 100)
        os.write(keys, b"q")

    check("a trace that is cut off", cut, cut_off, 0)


def check_stops(score, trace, folder):
    """A program that is stopped leaves the terminal as it was, and shows its view again when it goes on."""
    terminal = Terminal(fresh(folder / "stops"), ["sh", "-c", 'echo $$ > "$0"; exec "$1" top "$2"', folder / "pid", weave_binary(), trace])
    try:
        seen, _ = terminal.until(lambda screen: line_of(screen, "pid ") is not None)
        pid, tty = int((folder / "pid").read_text()), terminal.tmux("display", "-p", "#{pane_tty}").stdout.strip()
        modes = lambda: run(["stty", "-a", "-F", tty]).stdout.split()
        raw = "-icanon" in modes()
        for time in ("once", "again"):
            os.kill(pid, signal.SIGTSTP)
            left, screen = terminal.until(lambda screen: line_of(screen, "pid ") is None)
            score.check(f"stopped {time}: the terminal is as it was", seen and raw and left and "icanon" in modes(), "" if left else "\n".join(screen))
            os.kill(pid, signal.SIGCONT)
            back, screen = terminal.until(lambda screen: line_of(screen, "pid ") is not None)
            score.check(f"stopped {time}: the view comes back", back and "-icanon" in modes(), "" if back else "\n".join(screen))
        terminal.keys("q")
        terminal.until(lambda _: terminal.status.exists())
        score.check("it ends as ever", terminal.status.exists() and terminal.status.read_text().strip() == "0")
    finally:
        terminal.close()


def line_of(screen, text):
    return next((number for number, line in enumerate(screen) if text in line), None)


def before(screen, one, other):
    places = line_of(screen, one), line_of(screen, other)
    return None not in places and places[0] < places[1]


def number(screen, text, column):
    """A number of a row, by its column."""
    row = line_of(screen, text)
    words = screen[row].replace("%", "").replace(",", "").split() if row is not None else []
    return float(words[column]) if len(words) > column else 0.0


def body():
    score, folder = Score(), fresh(WORK / "top")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEAVE_TRACE")}
    environment["WEAVE_TRACE"] = str(folder / "t.wtrace")
    program = subprocess.Popen(compiled(folder, "Busy", BUSY), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    trace = folder / "t.wtrace"
    begun(trace)
    terminal = Terminal(folder, [weave_binary(), "top", program.pid, "--delay", "500ms"])
    try:
        def shows(name, condition):
            good, screen = terminal.until(condition)
            return score.check(name, good, "" if good else "\n" + "\n".join(screen))

        one, two, three = "[0x00000001]", "[0x00000002]", "[0x00000003]"
        shows("methods and their rates", lambda s: number(s, two, 2) > 0 and number(s, one, 3) > 0 and number(s, one, 4) > 0)
        shows("the head", lambda s: "running" in s[0] and f"pid {program.pid}" in s[0] and "calls/s" in s[1])
        shows("by own time the caller is first", lambda s: before(s, one, two))
        shows("a call that is open", lambda s: line_of(s, three) is not None)
        terminal.keys("c")
        shows("by calls the called one is first", lambda s: before(s, two, one))
        terminal.keys("r")
        shows("the other way round", lambda s: before(s, one, two))
        terminal.keys("r", "/")
        terminal.keys("0001")
        shows("a filter", lambda s: line_of(s, one) is not None and line_of(s, two) is None and "filter: 0001" in s[-1])
        terminal.keys("Enter", "Escape")
        shows("no filter", lambda s: line_of(s, two) is not None)
        terminal.keys("2", "n")
        shows("threads", lambda s: before(s, "waiting-one", "working-one"))
        terminal.keys("Home")
        shows("the stack of a thread", lambda s: line_of(s, "stack of waiting-one") is not None and three in s[line_of(s, "stack of waiting-one") + 1])
        terminal.keys("?")
        shows("help", lambda s: line_of(s, "Ctrl-C") is not None)
        terminal.keys("?", "1")
        shows("methods again", lambda s: line_of(s, two) is not None)
        score.check("the program runs on", program.poll() is None)
        program.stdin.write("\n")
        program.stdin.close()
        score.check("the program ends", program.wait(PATIENCE) == 0)
        shows("it says that the program has ended", lambda s: "ended" in s[0])
        terminal.keys("q")
        good = any(terminal.status.exists() and terminal.status.read_text() or time.sleep(0.2) for _ in range(PATIENCE * 5))
        score.check("q quits", good and terminal.status.read_text().strip() == "0")
        done = run([weave_binary(), "top", folder / "t.wtrace"], check=False, stdin=subprocess.DEVNULL)
        score.check("without a terminal it says so", done.returncode == 1 and "needs a terminal" in done.stderr, done.stderr.strip())
        check_ends(score, folder / "t.wtrace", folder)
        check_stops(score, folder / "t.wtrace", folder)
        report = json.loads(run([weave_binary(), "report", folder / "t.wtrace", "--json"]).stdout)
        score.check("nothing is lost of the trace", report["traces"][0]["lost_records"] == 0 and report["traces"][0]["records"] > 0)
    finally:
        terminal.close()
        program.kill()
    check_several(score, fresh(folder / "several"))
    return score.finish("top")


def check_several(score, folder):
    """Two processes by their ids: methods together, threads and processes by the id."""
    programs = []
    for name in ("a", "b"):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WEAVE_TRACE")} | {"WEAVE_TRACE": str(folder / f"{name}.wtrace")}
        programs.append(subprocess.Popen(compiled(folder, "Busy", BUSY), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        programs[-1].stdout.readline()
    first, second = (str(program.pid) for program in programs)
    begun(*(folder / f"{name}.wtrace" for name in ("a", "b")))
    terminal = Terminal(folder, [weave_binary(), "top", first, second, "--delay", "500ms"])
    try:
        def shows(name, condition):
            good, screen = terminal.until(condition)
            return score.check(name, good, "" if good else "\n" + "\n".join(screen))

        shows("several processes: the head", lambda s: "running" in s[0] and f"2 processes: {first} {second}" in s[0])
        # Each of the two has a thread in the call that waits. Mean and longest are two words each.
        shows("several processes: a method is one row", lambda s: sum("[0x00000003]" in line for line in s) == 1 and number(s, "[0x00000003]", 9) == 2)
        terminal.keys("2")
        shows("several processes: threads", lambda s: all(line_of(s, f"{pid} waiting-one") is not None for pid in (first, second)))
        terminal.keys("3")
        shows("several processes: each by itself", lambda s: all(number(s[2:], f"{pid} ", 2) > 0 for pid in (first, second)))
        programs[0].stdin.close()
        programs[0].wait(PATIENCE)
        shows("several processes: one has ended", lambda s: "1 running" in s[0] and line_of(s, "ended: ") is not None)
        terminal.keys("q")
    finally:
        terminal.close()
        for program in programs:
            program.kill()
            program.wait()


if __name__ == "__main__":
    main(body)
