#!/usr/bin/env python3
"""`weave report --html`: the page of real traces, looked at and clicked in headless Chromium, and one of a million calls.

    page.py [TRACE...]      by default the traces that sample.py and sample_dotnet.py left

Pictures go to `.cache/work/page`.
"""

import json
import pathlib
import shutil
import sys

import browser as chromium
from lib import SAMPLES, WORK, Missing, Score, fresh, main, run, weave_binary
from made_trace import ENTER, EXIT, MadeTrace, deep_calls

MANY = 1_200_000
# Notes what is written on canvases.
WRITTEN = """() => {
    const draw = CanvasRenderingContext2D.prototype.fillText;
    window.written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { written.push(text); return draw.call(this, text, ...rest); };
}"""
SHOWN = 1_000_000


class Looked:
    """A page in a browser: what it asked for and complained of is kept."""

    def __init__(self, browser, file, fragment="", scheme="light"):
        self.page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
        self.page.set_default_timeout(600_000)
        self.errors, self.asked = [], []
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.url = file.as_uri()
        self.page.goto(self.url + fragment)
        self.page.wait_for_selector("html[data-ready]")
        self.ready = int(self.page.get_attribute("html", "data-ready"))

    def tab(self, name):
        self.page.click(f"[data-view={name}]")

    def settle(self):
        """Lets what was asked to be drawn be drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def drawn(self):
        self.settle()
        return int(self.page.locator("main .draw").first.get_attribute("data-drawn"))

    def hash(self):
        return dict(part.split("=", 1) for part in self.page.evaluate("location.hash").removeprefix("#").split("&") if part)

    def search(self, words):
        self.page.fill("#search", words)
        self.page.press("#search", "Enter")
        self.settle()

    def rows(self):
        return self.page.locator("main tbody tr").all_inner_texts()

    def quiet(self):
        """No complaint, and nothing asked for but the file itself."""
        others = [u for u in self.asked if not u.startswith((self.url, "data:", "blob:"))]
        return not self.errors and not others, str((self.errors + others)[:3])


def everywhere(score, what, look, told):
    """All views of the page of a trace, whose numbers `weave report --json` told."""
    page = look.page
    heaviest = max(told["methods"], key=lambda m: m["self_ns"])
    score.check(f"{what}: the table has all methods, most own time first", len(look.rows()) == min(300, len(told["methods"])) + (len(told["methods"]) > 300) and heaviest["label"] in look.rows()[0], heaviest["label"])
    page.screenshot(path=WORK / "page" / f"{what}-methods.png")
    look.search(heaviest["label"])
    fits = sum(heaviest["label"].lower() in m["label"].lower() for m in told["methods"])
    score.check(f"{what}: the search takes rows", len(look.rows()) == fits, str(fits))
    look.search("")
    page.click("th:has-text('calls')")
    most = max(told["methods"], key=lambda m: m["calls"])
    score.check(f"{what}: a head sorts", most["label"] in look.rows()[0] and look.hash().get("sort") == "calls", look.rows()[0][:80])

    relations(score, what, look, told)

    look.tab("timeline")
    box = page.locator("main canvas").bounding_box()
    score.check(f"{what}: the timeline draws calls", look.drawn() > 0, f"{look.drawn()} boxes")
    page.screenshot(path=WORK / "page" / f"{what}-timeline.png")
    # The first track's first level is below the axis, the closed chart of what the process used, and the track's head.
    used = any(t.get("metrics") for t in told["traces"])
    first = 26 + 20 + 24 * used
    for x in range(4, int(box["width"]), 9):
        page.mouse.click(box["x"] + x, box["y"] + first + 8)
        if page.locator("#picked").count():
            break
    picked = page.locator("#picked").inner_text() if page.locator("#picked").count() else ""
    score.check(f"{what}: a click picks a call", any(picked == m["label"] for m in told["methods"]), picked)
    page.keyboard.press("f")
    page.keyboard.press("w")
    page.keyboard.press("d")
    look.settle()
    before = look.hash()
    for _ in range(40):
        page.keyboard.press("w")
    look.settle()
    ticks = page.locator("main .draw").first.get_attribute("data-ticks").split("|")
    score.check(f"{what}: ticks differ however near they are", len(ticks) > 1 and len(set(ticks)) == len(ticks), str(ticks))
    before = look.hash()
    score.check(f"{what}: keys zoom and pan", {"t0", "t1", "sel"} <= before.keys(), str(before))
    again = Looked(page.context.browser, pathlib.Path(page.url.partition("#")[0].removeprefix("file://")), page.evaluate("location.hash"))
    score.check(f"{what}: an address leads to what was seen", again.hash() == before and again.page.locator("#picked").inner_text() == picked, str(again.hash()))
    again.page.close()
    page.keyboard.press("0")
    look.search(picked)
    page.keyboard.press("n")
    look.settle()
    score.check(f"{what}: n goes to a call that the search takes", page.locator("#picked").inner_text() == picked and "call" in page.inner_text("#found"), page.inner_text("#found"))
    look.search("")
    wheel = look.hash().get("t0")
    page.mouse.move(box["x"] + 600, box["y"] + 60)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    look.settle()
    score.check(f"{what}: the wheel zooms", look.hash().get("t0") != wheel, str(look.hash().get("t0")))
    page.keyboard.press("0")
    if used:
        drawn = look.drawn()
        page.mouse.click(box["x"] + 60, box["y"] + 26 + 10)
        look.settle()
        score.check(f"{what}: a click opens what the process used", look.hash().get("used") == "1" and look.drawn() <= drawn)
        page.mouse.move(box["x"] + 300, box["y"] + 26 + 20 + 20)
        amount = page.inner_text("#hint")
        score.check(f"{what}: sizes and times have the terminal's units", "iB" not in amount, amount.replace("\n", " "))
        page.screenshot(path=WORK / "page" / f"{what}-used.png")
        page.mouse.click(box["x"] + 60, box["y"] + 26 + 10)
    logical = sum(m.get("logical", {}).get("calls", 0) for m in told["methods"])
    if logical:
        page.keyboard.press("l")
        score.check(f"{what}: the timeline by logical call", look.drawn() > 0 and look.hash()["by"] == "logical", f"{look.drawn()} boxes")
        page.mouse.move(0, 0)
        page.screenshot(path=WORK / "page" / f"{what}-logical.png")
        for x in range(4, int(box["width"]), 9):
            page.mouse.click(box["x"] + x, box["y"] + first + 4)
            if page.locator("#picked").count():
                break
        words = page.locator("main .detail").inner_text()
        score.check(f"{what}: a logical call tells its pieces", "piece" in words, words[:120].replace("\n", " "))
        page.keyboard.press("l")
    else:
        score.check(f"{what}: there is no view of logical calls", page.locator("#by").is_disabled())

    in_range(score, what, look, told, box, first)

    look.tab("tree")
    lines = len(look.rows())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    closed = len(look.rows())
    page.keyboard.press("ArrowRight")
    score.check(f"{what}: keys open and close the tree", closed < lines == len(look.rows()), f"{closed} of {lines} lines")
    look.search(heaviest["label"])
    score.check(f"{what}: the search opens the tree", any(heaviest["label"] in line for line in look.rows()), page.inner_text("#found"))
    page.screenshot(path=WORK / "page" / f"{what}-tree.png")
    look.search("")

    look.tab("flame")
    boxes = look.drawn()
    page.screenshot(path=WORK / "page" / f"{what}-icicle.png")
    page.mouse.click(box["x"] + 5, box["y"] + 8)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    score.check(f"{what}: a click and keys zoom the flame graph", 0 < look.drawn() <= boxes and "node" in look.hash(), f"{look.drawn()} of {boxes} boxes")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    score.check(f"{what}: the icicle turns into a flame graph", look.drawn() == boxes and look.hash().get("style") == "flame", f"{look.drawn()} boxes")
    look.search(heaviest["label"])
    score.check(f"{what}: the search tells its share", page.inner_text("#found").endswith("%"), page.inner_text("#found"))
    look.search("")
    page.screenshot(path=WORK / "page" / f"{what}-flame.png")

    look.tab("exceptions")
    shown = page.locator(".exception").count()
    score.check(f"{what}: the exceptions", shown == min(1000, len(told["exceptions"])), str(shown))
    page.screenshot(path=WORK / "page" / f"{what}-exceptions.png")
    page.keyboard.press("t")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    score.check(f"{what}: dark and light", dark != page.evaluate("getComputedStyle(document.body).backgroundColor"), dark)
    page.keyboard.press("?")
    score.check(f"{what}: the keys are told", page.locator("#help").is_visible())
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    score.check(f"{what}: numbers go to views", look.page.locator("[data-view=methods]").get_attribute("aria-selected") == "true")
    score.check(f"{what}: no complaint, no network", *look.quiet())


def shown(ns):
    """A time as the page shows it."""
    if ns < 1000:
        return f"{ns} ns"
    unit, name = next((u, n) for u, n in ((1e3, "µs"), (1e6, "ms"), (1e9, "s")) if ns / u < 999.5 or n == "s")
    value = ns / unit
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {name}"


def relations(score, what, look, told):
    """Rows by keys, callers and callees of the chosen method, its slowest call, heads that stay, and a phone."""
    page = look.page
    page.goto(look.url + "#sort=calls")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.focus("#main")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.inner_text("#chosen")
    score.check(f"{what}: arrows choose a row", chosen in look.rows()[1] and look.hash().get("row") is not None, chosen)
    nodes = {node["id"]: node for node in told["tree"]}
    callers, callees = {}, {}
    for node in told["tree"]:
        above = nodes[node["parent"]]["label"] if node["parent"] is not None else "outermost"
        for mine, key, to in ((node["label"], above, callers), (above, node["label"], callees)):
            if mine == chosen:
                to[key] = to.get(key, 0) + node["calls"]
    count = lambda n: f"{n:,} call" + "s" * (n != 1)
    text = page.inner_text("#relations")
    seen = [page.locator("#relations .both > div").nth(i).inner_text().split("\n")[1:] for i in (0, 1)]
    told_of = [sorted(f"{count(n)} {label}" for label, n in of.items()) for of in (callers, callees)]
    shown_of = [sorted(line.split(", ", 1)[1] for line in lines if line.strip()) for lines in seen]
    score.check(f"{what}: callers and callees of the chosen method", told_of == shown_of, f"{chosen}: {shown_of}, not {told_of}"[:300] if told_of != shown_of else text[:80].replace("\n", " "))
    page.screenshot(path=WORK / "page" / f"{what}-relations.png")
    other = page.locator("#relations a").first
    if other.count():
        other.focus()
        name = other.inner_text()
        page.keyboard.press("Enter")
        score.check(f"{what}: Enter follows a link to a caller", page.inner_text("#chosen") == name, name)
    page.keyboard.press("Escape")
    score.check(f"{what}: Escape closes them", not page.locator("#relations").is_visible())

    page.set_viewport_size({"width": 1280, "height": 260})
    page.locator("main tbody tr").last.scroll_into_view_if_needed()
    place = lambda it: page.locator(it).first.bounding_box()
    stays = abs(place("main th")["y"] - place("main")["y"]) < 2
    score.check(f"{what}: heads stay where they are", stays and page.evaluate("document.getElementById('main').scrollTop") > 0, str(place("main th")))
    page.set_viewport_size({"width": 390, "height": 780})
    look.settle()
    wide = page.evaluate("[document.documentElement.scrollWidth, document.getElementById('main').scrollWidth]")
    hidden = not page.locator("main td.spare").first.is_visible()
    score.check(f"{what}: a phone shows it without scrolling aside", max(wide) <= 390 and hidden, str(wide))
    page.screenshot(path=WORK / "page" / f"{what}-phone.png")
    page.set_viewport_size({"width": 1280, "height": 800})

    slow = max((m for m in told["methods"] if m["max_ns"] and not m.get("logical")), key=lambda m: m["max_ns"])
    page.locator("main tbody a", has_text=slow["label"]).first.focus()
    page.keyboard.press("Enter")
    look.settle()
    words = page.locator("main .detail").last.inner_text()
    score.check(f"{what}: a method leads to its slowest call", page.inner_text("#picked") == slow["label"] and shown(slow["max_ns"]) in words, words[:120].replace("\n", " "))
    page.goto(look.url)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    look.search("")


def excluded(score, browser, folder, trace, told):
    """A range of a page that leaves out the time in some calls is the report's of that range."""
    file = folder / "excluded.html"
    deep = [node for node in told["tree"] if node["parent"] is not None and not node.get("resumed")]
    label = max(deep, key=lambda node: node["total_ns"])["label"]
    run([weave_binary(), "report", trace, "--exclude", label, "--html", file])
    wall = told["traces"][0]["wall_ns"]
    for a, b in ((0, wall), (wall // 5, wall * 3 // 5)):
        look = Looked(browser, file, f"#r0={a}&r1={b}")
        part = json.loads(run([weave_binary(), "report", trace, "--exclude", label, "--from", f"{a}ns", "--until", f"{b}ns", "--json"]).stdout)
        expected = {m["label"]: (shown(m["self_ns"]), shown(m["total_ns"]), f"{m['calls']:,}") for m in part["methods"] if m["calls"]}
        cells = [line.split("\t") for line in look.rows()]
        seen = {cell[10]: (cell[0], cell[2], cell[3]) for cell in cells}
        off = {k: (seen.get(k), expected.get(k)) for k in seen.keys() | expected.keys() if seen.get(k) != expected.get(k)}
        score.check(f"without the time in {label}: the range's table is the report's", (a > 0 or label in part["excluded"]) and expected and not off, f"{len(expected)} methods; {list(off.items())[:3]}")
        look.page.close()


def pool(score, browser, folder):
    """Threads of one name, as pools give them, and what lies deep in one."""
    trace, file = folder / "pool.wtrace", folder / "pool.html"
    made = MadeTrace(trace, "pool")
    for thread in (1, 2, 3):
        made.segment = 0
        for _ in range(40):
            made.call(ENTER, 1_000, 7)
        for _ in range(40):
            made.call(EXIT, 1_000, 7)
        if thread == 1:
            made.cpu(thread, 12_000)
        made.flush(thread, "worker" if thread < 3 else "other")
    made.close()
    run([weave_binary(), "report", trace, "--html", file])
    look = Looked(browser, file)
    look.page.set_viewport_size({"width": 1280, "height": 300})
    look.page.evaluate(WRITTEN)
    look.tab("timeline")
    look.drawn()
    written = look.page.evaluate("written")
    heads = {t[2:] for t in written if t.startswith("▾ ")}
    score.check("threads of one name have numbers", any(h.startswith("worker #1") for h in heads), str(heads))
    score.check("a thread whose CPU time is known tells it", "worker #1 · 79.0 µs in calls, CPU 12.0 µs" in heads, str(heads))
    for _ in range(3):
        look.page.keyboard.press("ArrowDown")
    look.settle()
    head = look.page.locator("main .draw").first.get_attribute("data-pinned")
    score.check("the head of a thread stays above its rows", (head or "").startswith("worker #1"), head)
    for _ in range(40):
        look.page.keyboard.press("ArrowDown")
    look.settle()
    head = look.page.locator("main .draw").first.get_attribute("data-pinned")
    score.check("one that has its name alone has none", head == "other", head)
    score.check("the pool: no complaint, no network", *look.quiet())
    look.page.close()


def ties(score, browser, folder):
    """A time that lies just between two roundings is the same in the page as in the report's text."""
    trace, file = folder / "ties.wtrace", folder / "ties.html"
    made = MadeTrace(trace, "ties")
    for method, ns in ((1, 13_250), (2, 13_350), (3, 1_125), (4, 1_375), (5, 12_250_000)):
        made.call(ENTER, 100, method)
        made.call(EXIT, ns, method)
    made.close()
    run([weave_binary(), "report", trace, "--html", file])
    text = run([weave_binary(), "report", trace]).stdout
    look = Looked(browser, file)
    cells = [line.split("\t") for line in look.rows()]
    missing = [cell[0] for cell in cells if cell[0] not in text]
    score.check("times between two roundings are the report's", len(cells) == 5 and not missing, f"{missing} in {text}" if missing else str(cells))
    look.page.close()


def sampled(score, browser, folder):
    """Calls that stand for others: table, tree and flame graph count them so and say it, also of a range; the timeline shows what was recorded."""
    trace, file = folder / "sampled.wtrace", folder / "sampled.html"
    made = MadeTrace(trace, "sampled")
    for n in range(200):
        made.call(ENTER, 100, 1)
        made.sampled(2, 5 + n % 7)
        made.call(ENTER, 10, 2)
        made.call(ENTER, 5, 3)
        made.call(EXIT, 20 + n, 3)
        made.call(EXIT, 30, 2)
        made.call(EXIT, 40_000, 1)
    made.close()
    run([weave_binary(), "report", trace, "--html", file])
    told = json.loads(run([weave_binary(), "report", trace, "--json"]).stdout)
    wall = told["traces"][0]["wall_ns"]
    for address, options in (("", ()), (f"#r0={wall // 5}&r1={wall // 2}", ("--from", f"{wall // 5}ns", "--until", f"{wall // 2}ns"))):
        look = Looked(browser, file, address)
        part = json.loads(run([weave_binary(), "report", trace, *options, "--json"]).stdout)
        expected = {}
        for m in part["methods"]:
            mark = "~" if m.get("estimated_from") else ""
            times = [f"{mark}{shown(m[key])}" for key in ("self_ns", "total_ns", "p50_ns", "p99_ns")]
            expected[m["label"]] = [*times, f"{mark}{m['calls']:,}"]
        cells = [line.split("\t") for line in look.rows()]
        seen = {cell[10]: [cell[at] for at in (0, 2, 5, 7, 3)] for cell in cells}
        marked = sum(m.get("estimated_from", 0) > 0 for m in part["methods"])
        score.check(f"sampled{address}: the table is the report's, marked", marked == 1 and seen == expected, f"{seen} for {expected}")
        look.tab("tree")
        lines = look.page.inner_text("main tbody")
        score.check(f"sampled{address}: the tree marks estimates", lines.count("~") == 3 and expected["[0x00000002]"][4] in lines, lines)
        look.tab("flame")
        score.check(f"sampled{address}: the flame graph has its boxes", look.drawn() == 3, str(look.drawn()))
        score.check(f"sampled{address}: no complaint, no network", *look.quiet())
        look.page.close()
    look = Looked(browser, file, "#view=timeline&sel=t0:1")
    look.drawn()
    detail = look.page.inner_text("main .detail")
    score.check("sampled: a call of the timeline says what it stands for", "stands for 5 calls" in detail and "55 ns" in detail, detail)
    look.page.close()


def in_range(score, what, look, told, box, first):
    """A dragged range of the timeline is what `weave report` tells of it, and goes away again."""
    page = look.page
    page.keyboard.press("0")
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 250, box["y"] + first + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + first + 8)
    page.mouse.move(box["x"] + 700, box["y"] + first + 8)
    page.mouse.up()
    page.keyboard.up("Shift")
    look.settle()
    page.screenshot(path=WORK / "page" / f"{what}-range.png")
    chosen = look.hash()
    score.check(f"{what}: Shift and a drag choose a range", {"r0", "r1"} <= chosen.keys() and page.locator("#range").is_visible(), str(chosen))
    look.tab("methods")
    page.screenshot(path=WORK / "page" / f"{what}-range-methods.png")
    exact = "shorter than" not in page.inner_text("#ranged")
    if exact and len(told["traces"]) == 1:
        trace = told["traces"][0]["file"]
        part = json.loads(run([weave_binary(), "report", trace, "--from", f"{chosen['r0']}ns", "--until", f"{chosen['r1']}ns", "--json", "--tree"]).stdout)
        if page.locator("main tbody button").count():
            page.click("main tbody button")
        expected = {m["label"]: (shown(m["self_ns"]), shown(m["total_ns"]), f"{m['calls']:,}") for m in part["methods"] if m["calls"]}
        cells = [line.split("\t") for line in look.rows()]
        seen = {cell[10]: (cell[0], cell[2], cell[3]) for cell in cells}
        off = {k: (seen.get(k), expected.get(k)) for k in seen.keys() | expected.keys() if seen.get(k) != expected.get(k)}
        score.check(f"{what}: the range's table is the report's", expected and not off, f"{len(expected)} methods; {list(off.items())[:3]}")
    rows = len(look.rows())
    look.tab("tree")
    lines = look.rows()
    look.tab("flame")
    score.check(f"{what}: tree and flame graph of the range", len(lines) > 0 and look.drawn() > 0, f"{len(lines)} lines, {look.drawn()} boxes")
    page.click("#range")
    look.tab("methods")
    score.check(f"{what}: a click shows all again", "r0" not in look.hash() and len(look.rows()) >= rows and not page.locator("#range").is_visible(), f"{rows}, then {len(look.rows())}")


def compared(score, browser, folder, before, after):
    file = folder / "compared.html"
    run([weave_binary(), "report", after, "--compare", before, "--html", file])
    look = Looked(browser, file, "#view=compare", "dark")
    rows = look.rows()
    told = json.loads(run([weave_binary(), "diff", before, after, "--format", "json"]).stdout)
    most = max(told["methods"], key=lambda m: abs(m["self_change_ns"]))
    score.check("the comparison has all methods, the largest change first", len(rows) == min(300, len(told["methods"])) and most["label"] in rows[0], rows[0])
    score.check("the differential graph draws", look.drawn() > 0, f"{look.drawn()} boxes")
    look.page.screenshot(path=WORK / "page" / "compared.png")
    look.page.locator("main canvas").click(position={"x": 30, "y": 8})
    score.check("a click zooms the differential graph", "dnode" in look.hash(), str(look.hash()))
    score.check("the comparison: no complaint, no network", *look.quiet())


def twins(score, browser, folder, trace):
    """Two traces of one process: of two class loaders, say."""
    copies = [shutil.copy(trace, folder / name) for name in ("twin.wtrace", "twin-2.wtrace")]
    file = folder / "twins.html"
    run([weave_binary(), "report", *copies, "--html", file])
    told = json.loads(run([weave_binary(), "report", *copies, "--json"]).stdout)["traces"]
    look = Looked(browser, file)
    facts = look.page.inner_text(".facts")
    apart = [f"trace {n} · pid {t['pid']}" in facts and t["file"].rsplit("/")[-1] in facts and all(a in facts for a in t["artifacts"]) for n, t in enumerate(told, 1)]
    score.check("two traces of one process are told apart", len(apart) == 2 and all(apart), facts[:300])
    look.page.evaluate(WRITTEN)
    look.tab("timeline")
    look.drawn()
    written = look.page.evaluate("written")
    score.check("their threads are, too", any("· trace 1" in t for t in written) and not any("· pid" in t for t in written), str(written[:5]))
    look.page.close()


def many(score, browser, folder):
    trace, file = folder / "many.wtrace", folder / "many.html"
    deep_calls(trace, MANY)
    run([weave_binary(), "report", trace, "--html", file])
    look = Looked(browser, file)
    page = look.page
    score.check(f"a page of {MANY} calls opens", look.ready > 0, f"{look.ready} ms, {file.stat().st_size / 1e6:.1f} MB")
    words = page.inner_text("#reduced")
    shown = int(words.split(" of ")[0].split()[-1].replace(",", ""))
    score.check("it says what it leaves out", SHOWN * .5 < shown <= SHOWN and f"of {MANY:,} calls" in words, words)
    look.tab("timeline")
    drawn = look.drawn()
    score.check("its timeline draws no more than there are pixels", 100 < drawn < 1300 * 12, f"{drawn} boxes")
    page.screenshot(path=WORK / "page" / "many.png")
    took = page.evaluate("""async () => {
        const begun = performance.now(), key = k => document.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }));
        for (let i = 0; i < 40; i++) { key(i < 30 ? 'w' : 'd'); await new Promise(requestAnimationFrame); }
        return (performance.now() - begun) / 40;
    }""")
    score.check("it is zoomed and panned", "t0" in look.hash(), f"{took:.0f} ms a frame")
    score.check("many calls: no complaint, no network", *look.quiet())


def body():
    driver = chromium.playwright()
    left = sorted(SAMPLES.glob("*/shop.wtrace"))
    traces = [pathlib.Path(t).resolve() for t in sys.argv[1:]] or left
    if not traces:
        raise Missing("traces to show: run sample.py and sample_dotnet.py first, or name some")
    score, folder = Score(), fresh(WORK / "page")
    with driver as driver:
        browser = chromium.start(driver)
        for trace in traces:
            name = f"{trace.parent.name}-{trace.stem}"
            file = folder / f"{name}.html"
            run([weave_binary(), "report", trace, "--html", file])
            told = json.loads(run([weave_binary(), "report", trace, "--json", "--tree"]).stdout)
            everywhere(score, name, Looked(browser, file), told)
            excluded(score, browser, folder, trace, told)
        compared(score, browser, folder, traces[0], traces[-1])
        twins(score, browser, folder, traces[0])
        pool(score, browser, folder)
        ties(score, browser, folder)
        sampled(score, browser, folder)
        many(score, browser, folder)
        browser.close()
    return score.finish("the page")


if __name__ == "__main__":
    main(body)
