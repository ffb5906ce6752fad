#!/usr/bin/env python3
"""Reads a trace by docs/trace-format.md alone, and says whether it is balanced.

    check_trace.py [--running [--open N]] TRACE...

Written apart from the weaver's reader, so that the two can disagree.
"""

import argparse
import json
import re
import struct
import sys
import zlib
from array import array
from collections import Counter, defaultdict

CHUNK = 65536
HEADER = struct.Struct("<8sHHIQQIIQQQQQI")
RECORDS, SYMBOLS, COUNTS, AGGREGATES, CONTROL = 1, 2, 3, 4, 5
# Buckets of durations, and words of an entry in front of them.
BUCKETS, SUM_HEAD = 160, 7
ESCAPE, ENTER, EXIT, ERROR = 0, 1, 2, 3
TIME, SEGMENT, THREAD, EXCEPTION, LOST, UNHANDLED, SAMPLE, VALUE, AGGREGATED, CPU, SLOW, SAMPLED = 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13
SPAN, CONTEXT = 14, 15
# Flags of values.
CUT, OF_END = 1, 4
NONE = {}
# Flag of the thread of the library itself.
OWN = 4
LOGICAL, BEGIN, COMPLETE, STAYS = 16, 17, 18, 19
FIRST, LAST = 1, 2


class Call:
    """A logical call: an async method, an iterator."""

    def __init__(self, method):
        self.method = method
        self.begun = []  # times
        self.pieces = []  # (from, to, thread); `to` is None while the trace does not tell the end
        self.firsts = 0
        self.ended = []  # (time, "exit" or "error")
        self.apart = 0  # begins and ends between pieces
        self.weights = []  # what pieces, begin and end say of how many calls it stands for, if it is sampled
        self.first = None, None  # where it began: the thread, and the sampled tree or call there
        self.within = Counter()  # calls in its pieces by id, but for those in pieces of other sampled calls

    def begin(self):
        return min(self.begun + [p[0] for p in self.pieces])

    def running(self):
        """Nanoseconds in which it ran."""
        return sum(end - begin for begin, end, _ in self.pieces)

    def lasted(self):
        """Nanoseconds from its begin to its end."""
        return self.ended[0][0] - self.begin()


class Sum:
    """What the calls of a method add up to that are summed up in the process."""

    def __init__(self, words, low):
        self.calls, self.errors, self.total, self.own, self.min, self.max = words[:6]
        self.buckets = {low + i: n for i, n in enumerate(words[6:]) if n}

    def ended(self):
        return sum(self.buckets.values())

    def problem(self):
        """What cannot be."""
        if not self.buckets:
            return None if not self.errors + self.total + self.own + self.max else "sums without a call that ended"
        if self.ended() > self.calls or self.errors > self.ended():
            return f"{self.calls} calls, {self.ended()} ended, {self.errors} errors"
        if (bucket(self.min), bucket(self.max)) != (min(self.buckets), max(self.buckets)):
            return f"{self.min} to {self.max} ns, in buckets {min(self.buckets)} to {max(self.buckets)}"
        if self.total > self.max * self.ended():
            return f"a total of {self.total} ns of {self.ended()} calls of at most {self.max}"
        return None


def bucket(ns):
    """The bucket of a duration: four for each power of two."""
    if ns < 4:
        return ns
    power = ns.bit_length() - 1
    return min(BUCKETS - 1, 4 * (power - 1) + (ns >> (power - 2) & 3))


class Trace:
    """What a trace holds."""

    def __init__(self):
        self.problems = []
        self.unhandled = []  # what ended the process: (type, message), or None
        self.orderly = False
        self.lost = 0
        self.overwritten = 0
        self.hook_failures = 0
        self.symbols = {}  # id -> (type, method, descriptor)
        self.threads = {}  # number -> name
        self.cpu = {}  # CPU time by thread, in nanoseconds
        self.samples = []  # what the process used: (time, values by metric)
        self.calls = Counter()  # id -> enters
        self.counts = Counter()  # id -> calls of methods that are only counted
        self.sums = {}  # id -> Sum of methods that are summed up
        self.places = Counter()  # id -> in how many places its sum is
        self.roots = Counter()  # id -> enters with no other call around them
        self.own = Counter()  # id -> nanoseconds in recorded calls of it that were in none of those that they made
        self.total = Counter()  # id -> nanoseconds in them; of recursive ones the outermost
        self.exits = Counter()
        self.errors = Counter()
        self.exceptions = Counter()  # (type, message) -> how often thrown
        self.thrown_by = Counter()  # (id, type, message)
        self.logical = {}  # number -> Call
        self.pieces = Counter()  # id -> how many of the enters are pieces of logical calls
        self.last_pieces = Counter()  # id -> how many of the exits and errors end logical calls
        self.switched = {}  # id -> (name, level) of the aspects that switch it
        self.trees = []  # of outermost sampled calls: (thread, id, weight, Counter of the calls in it by id, itself too)
        self.stray = 0  # pieces of sampled calls that ran within another call's piece or tree, in which the call did not begin
        self.changes = []  # (time, what was on from then), as text
        self.untold = None  # of changes for which there was no room: how many, the last one's time, how long all was off, whether it is
        self.slow = Counter()  # (id, whether it failed) -> how many calls that are summed up are told by themselves
        self.left_out = set()  # ids of methods whose calls were not even counted for a while
        self.decided = {}  # id -> what is left of its calls by the program's own decision: s summed up, c counted, - nothing
        self.value_names = {}  # id -> names of the values that it records
        self.values = Counter()  # (id, values of a call or piece as JSON) -> how often
        self.open = {}  # thread -> ids of calls still open
        self.deepest = 0

    def named(self, counts):
        """Counts by id as counts by `type.method`."""
        named = Counter()
        for method, n in counts.items():
            owner, name, _ = self.symbols.get(method, ("?", f"{method:#x}", ""))
            named[folded(f"{owner.replace('/', '.')}.{name}")] += n
        return named


def folded(name):
    """What a name of .NET's compilers and the one that debuggers show have in common: `Shop.Main.AnonymousMethod` for
    `Shop+<>c.<Main>b__0_1`, for `Shop.Main.AnonymousMethod__0_1` and for `Shop.Main.AnonymousMethod (Shop.cs:7)`."""
    name = re.sub(r"(\+<>c\w*)?\.<(\w+)>b__\w+$", r".\2.AnonymousMethod", name)
    name = re.sub(r"(\+<>c\w*)?\.<(\w+)>g__(\w+)\|\w+$", r".\2.\3", name)
    name = re.sub(r"(AnonymousMethod)__\w+$", r"\1", name)
    return re.sub(r" \([^()]*:\d+\)$", "", name)


def leb128(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def text(data, at):
    length, at = leb128(data, at)
    return data[at : at + length].decode(), at + length


def value(words):
    """A VALUE's number, whether it is of the end, and what it is, as JSON has it; None for an unknown kind."""
    head = words[0]
    kind, flags, number, length = head & 0xFF, head >> 8 & 0xFF, head >> 16 & 0xFFFF, head >> 32
    one, data = (words[1] if len(words) > 1 else 0), words[1:].tobytes()
    if kind == 1:
        what = None
    elif kind == 2:
        what = one - (one >> 63 << 64)
    elif kind == 3:
        what = one
    elif kind in (4, 5):
        form, size = ("<d", 8) if kind == 4 else ("<f", 4)
        (what,) = struct.unpack(form, data[:size])
        if what != what or what in (float("inf"), float("-inf")):
            what = {"nan": "NaN"}.get(str(what), str(what))
        elif kind == 5:
            # The shortest number that is this float.
            digits = (float(f"{what:.{n}g}") for n in range(1, 18))
            what = next(d for d in digits if struct.pack(form, d) == data[:size])
    elif kind == 6:
        what = bool(one)
    elif kind in (7, 8, 9, 10):
        units = data[:2] if kind == 7 else data[: 2 * length]
        if kind != 7 and len(units) != 2 * length:
            return None
        # Halves of characters by themselves are replaced, as everywhere.
        what = re.sub("[\ud800-\udfff]", "\ufffd", units.decode("utf-16-le", "surrogatepass"))
        what += "…" if kind != 7 and flags & CUT else ""
        what = {"missing": what} if kind == 10 else what
    else:
        return None
    return number, bool(flags & OF_END), what


def named_whole(descriptor, names):
    """A descriptor with names in place of references: byte 1, and a number in digits of five bits, the lowest first."""

    def name(found):
        digits = found[1].encode()
        return names[sum((digit & 31) << (5 * i) for i, digit in enumerate(digits))]

    return re.sub("\x01([`-\x7f]*[@-_])", name, descriptor)


def read_symbols(trace, data):
    if data[:4] != b"WSYM":
        trace.problems.append("a symbols map does not begin with WSYM")
        return
    _, _, count, blocks = struct.unpack_from("<HHII", data, 4)
    begin, owner, seen, names, numbered = 16, "", 0, [], {}
    for _ in range(blocks):
        length, crc, packed = struct.unpack_from("<III", data, begin)
        block = zlib.decompress(data[begin + 12 : begin + 12 + packed], -15)
        begin += 12 + packed
        if len(block) != length or length > 4 << 20 or zlib.crc32(block) != crc:
            trace.problems.append("the length or checksum of a symbols map's block is wrong")
        at = method = 0
        last = {7: 0, 8: 0}
        while at < len(block):
            tag = block[at]
            at += 1
            if tag == 1:
                _, at = text(block, at)
            elif tag == 2:
                owner, at = text(block, at)
                _, at = text(block, at)
            elif tag in (4, 6):
                number, at = leb128(block, at)
                if tag == 4:
                    names, numbered = [], {}
                for _ in range(number):
                    name, at = text(block, at)
                    names.append(name)
            elif tag == 3:
                step, at = leb128(block, at)
                method = (method + step) & 0xFFFFFFFF
                name, at = text(block, at)
                descriptor, at = text(block, at)
                _, at = leb128(block, at)
                trace.symbols[method] = (owner, name, descriptor)
                seen += 1
            elif tag == 5:
                step, at = leb128(block, at)
                number, at = leb128(block, at)
                for method in range(method + step, method + step + number):
                    method &= 0xFFFFFFFF
                    name, at = leb128(block, at)
                    descriptor, at = leb128(block, at)
                    _, at = leb128(block, at)
                    trace.symbols[method] = (owner, numbered[7, name], numbered[8, descriptor])
                    seen += 1
            elif tag in (7, 8):
                step, at = leb128(block, at)
                name, at = text(block, at)
                last[tag] += step
                numbered[tag, last[tag]] = name if tag == 7 else named_whole(name, names)
            elif tag == 9:
                of, at = leb128(block, at)
                number, at = leb128(block, at)
                listed = []
                for _ in range(number):
                    name, at = text(block, at)
                    listed.append(name)
                trace.value_names.setdefault(of, listed)
                if struct.unpack_from("<H", data, 4) < (2,):
                    trace.problems.append("a symbols map of version 1 names values")
            elif tag == 10:
                _, at = leb128(block, at)
            elif tag == 13:
                _, at = leb128(block, at)
                kind, at = leb128(block, at)
                for _ in range(5):
                    _, at = text(block, at)
                if not 1 <= kind <= 5 or struct.unpack_from("<H", data, 4) < (5,):
                    trace.problems.append(f"a span of kind {kind} in a map of version {struct.unpack_from('<H', data, 4)}")
            elif tag == 11:
                number, at = leb128(block, at)
                aspects = []
                for _ in range(number):
                    level, at = leb128(block, at)
                    if level >> 4 not in (0, 1, 2, 6, 9):
                        trace.problems.append(f"an aspect has flags {level:#x}")
                    if level & 48:
                        _, at = leb128(block, at)
                    if level & 128:
                        part, at = leb128(block, at)
                        if not 1 <= part <= 1000 or struct.unpack_from("<H", data, 4) < (6,):
                            trace.problems.append(f"an overhead of {part} thousandths in a map of version {struct.unpack_from('<H', data, 4)}")
                    name, at = text(block, at)
                    aspects.append((name, ("error", "info", "debug")[level & 15]))
                if struct.unpack_from("<H", data, 4) < (4,):
                    trace.problems.append("a symbols map of an early version has switches")
                if packed != length + 5 * -(-length // 0xFFFF):
                    trace.problems.append("what says what can be switched is packed")
            elif tag == 12:
                step, at = leb128(block, at)
                number, at = leb128(block, at)
                several, at = leb128(block, at)
                by = []
                for _ in range(several):
                    one, at = leb128(block, at)
                    by.append(aspects[one])
                for method in range(method + step, method + step + number):
                    method &= 0xFFFFFFFF
                    trace.switched[method] = by
            else:
                trace.problems.append(f"a symbols map has tag {tag}")
                return
    if begin != len(data):
        trace.problems.append(f"a symbols map of {len(data)} bytes ends at {begin}")
    if seen != count:
        trace.problems.append(f"a symbols map has {seen} methods and says {count}")


def segments_of(thread, segment, clock, words):
    """Cuts a chunk's words into the segments they belong to: `(thread, segment, (clock, words))`."""
    begin = at = 0
    while at < len(words) and words[at]:
        word = words[at]
        if word & 3 == ESCAPE:
            kind, size = word >> 2 & 63, word >> 8 & 0xFFFFFF
            if kind == SEGMENT:
                yield thread, segment, (clock, words[begin:at])
                thread, segment, clock = word >> 32, words[at + 1], words[at + 2]
                begin = at + 1 + size
            at += size
        at += 1
    yield thread, segment, (clock, words[begin:at])


class Frame:
    """An open call of a thread."""

    __slots__ = ("method", "begun", "inner", "values", "call", "piece")

    def __init__(self, method, begun, values):
        self.method, self.begun, self.values = method, begun, values
        self.inner = 0  # what was spent in calls that it made
        # Of a piece of a logical call: that call, and the piece's number.
        self.call, self.piece = None, 0


def read_thread(trace, thread, segments):
    """Pairs the records of one thread."""
    numbers = sorted(segments)
    if numbers != list(range(len(numbers))):
        trace.problems.append(f"thread {thread}: segments {numbers[:20]}, not all from 0")
    # The open calls, and how many of a method there are.
    stack, open_calls = [], Counter()
    pending, logical, stays, ended = None, None, None, False
    calls, exits, errors, own, total = trace.calls, trace.exits, trace.errors, trace.own, trace.total
    # Values by method, and whether they are of the end.
    waiting = defaultdict(dict)
    # What the next call stands for, where it is an outermost sampled one or a piece of a sampled one; of each of these that is open how many
    # calls were when it began, and what is in it: a Counter, or the logical call.
    weight, trees = None, []

    def logical_call(number, method):
        """What is known of a logical call."""
        one = trace.logical.get(number)
        if one is None:
            one = trace.logical[number] = Call(method)
        return one

    def leaves(frame):
        """A call ends: its values are known."""
        method, of_call = frame.method, frame.values
        if waiting:
            of_call = of_call | waiting.pop((method, True), {})
        if of_call:
            names = trace.value_names.get(method, [])
            named = {(names[n] if n < len(names) else "tracestate" if n == 0xFFFF else f"value {n}"): of_call[n] for n in sorted(of_call)}
            trace.values[method, json.dumps(named)] += 1

    for before, number in zip([None, *numbers], numbers):
        clock, words = segments[number]
        if before is not None and number != before + 1:
            waiting.clear()
        at = 0
        while at < len(words):
            word = words[at]
            kind, method = word & 3, word >> 32
            if kind != ESCAPE:
                clock += word >> 2 & 0x3FFFFFFF
            if weight and not (method == weight[0] and (kind == ENTER or kind == ESCAPE and word >> 2 & 63 in (BEGIN, COMPLETE))):
                trace.problems.append(f"thread {thread}, segment {number}: no call of {weight[0]:#x} begins where one stands for {weight[1]}")
                weight = None
            if kind == ENTER:
                calls[method] += 1
                open_calls[method] += 1
                if not stack:
                    trace.roots[method] += 1
                frame = Frame(method, clock, waiting.pop((method, False), NONE) if waiting else NONE)
                if weight or trees or logical:
                    around = trees[-1][1] if trees else None
                    if weight and not logical:
                        if trees:
                            trace.problems.append(f"thread {thread}, segment {number}: a sampled call of {method:#x} is in another")
                        around = Counter()
                        trees.append((len(stack), around))
                        trace.trees.append((thread, method, weight[1], around))
                        weight = None
                    if around is not None and not weight and (not logical or logical[0] & FIRST):
                        (around.within if isinstance(around, Call) else around)[method] += 1
                if logical:
                    flags, call = logical
                    trace.pieces[method] += 1
                    one = logical_call(call, method)
                    if one.method != method:
                        trace.problems.append(f"logical call {call} is of {one.method:#x} and of {method:#x}")
                    one.firsts += flags & FIRST
                    one.pieces.append((clock, None, thread))
                    if weight:
                        one.weights.append(weight[1])
                        if flags & FIRST and not one.begun:
                            one.first = thread, around
                        elif around is not None:
                            trace.stray += 1
                        trees.append((len(stack), one))
                        weight = None
                    frame.call, frame.piece = call, len(one.pieces) - 1
                    logical = None
                stack.append(frame)
                if len(stack) > trace.deepest:
                    trace.deepest = len(stack)
            elif kind == ERROR and ended and not stack:
                pending = None
            elif kind != ESCAPE:
                (exits if kind == EXIT else errors)[method] += 1
                if kind == ERROR and pending:
                    trace.exceptions[pending] += 1
                    trace.thrown_by[(method, *pending)] += 1
                    pending = None
                if not stack or stack[-1].method != method:
                    trace.problems.append(f"thread {thread}, segment {number}: {method:#x} leaves, but is not innermost")
                    return
                frame = stack.pop()
                if trees and len(stack) == trees[-1][0]:
                    trees.pop()
                took, call = clock - frame.begun, frame.call
                open_calls[method] -= 1
                own[method] += max(0, took - frame.inner)
                total[method] += 0 if open_calls[method] else took
                if stack:
                    stack[-1].inner += took
                if waiting or frame.values:
                    leaves(frame)
                if stays is not None:
                    # What was a call so far is the first piece of a logical one.
                    one = logical_call(stays, method)
                    one.firsts += 1
                    one.pieces.append((frame.begun, clock, thread))
                    trace.pieces[method] += 1
                    stays = None
                if call is not None:
                    one = trace.logical[call]
                    one.pieces[frame.piece] = (one.pieces[frame.piece][0], clock, thread)
                if logical:
                    if logical[1] != call or not logical[0] & LAST:
                        trace.problems.append(f"thread {thread}, segment {number}: a piece of call {call} ends as of {logical[1]}, flags {logical[0]}")
                    else:
                        trace.last_pieces[method] += 1
                        one.ended.append((clock, "exit" if kind == EXIT else "error"))
                    logical = None
                elif call is not None and kind == ERROR:
                    trace.problems.append(f"thread {thread}, segment {number}: logical call {call} is suspended by an exception")
            else:
                escape, size = word >> 2 & 63, word >> 8 & 0xFFFFFF
                payload = words[at + 1 : at + 1 + size]
                if len(payload) != size or escape == 0:
                    trace.problems.append(f"thread {thread}, segment {number}: an escape of type {escape} is cut off")
                    return
                if escape == THREAD and payload[0] & OWN:
                    pass  # the library's own: samples alone
                elif escape == THREAD:
                    length = payload[0] >> 32
                    trace.threads[method] = payload[1:].tobytes()[:length].decode()
                elif escape == EXCEPTION:
                    head, data = payload[0], payload[1:].tobytes()
                    first, second = head & 0xFFFFFFFF, head >> 32
                    pending = (data[:first].decode(), data[first : first + second].decode())
                elif escape == TIME:
                    clock = payload[0]
                elif escape == LOGICAL:
                    logical = (method, payload[0])
                elif escape == STAYS:
                    stays = payload[0]
                elif escape == BEGIN:
                    one = logical_call(payload[0], method)
                    one.begun.append(payload[1])
                    one.apart += 1
                    if weight:
                        one.weights.append(weight[1])
                        one.first, weight = (thread, trees[-1][1] if trees else None), None
                elif escape == COMPLETE:
                    one = logical_call(payload[0], method)
                    one.ended.append((payload[1], "error" if payload[2] else "exit"))
                    one.apart += 1
                    if weight:
                        one.weights.append(weight[1])
                        weight = None
                    if payload[2] and pending:
                        trace.exceptions[pending] += 1
                        trace.thrown_by[(method, *pending)] += 1
                        pending = None
                elif escape == UNHANDLED:
                    # Its calls end here; the host may unwind them afterwards.
                    trace.unhandled.append(pending)
                    ended = True
                    waiting.clear()
                    for frame in reversed(stack):
                        errors[frame.method] += 1
                        leaves(frame)
                        if pending:
                            trace.exceptions[pending] += 1
                            trace.thrown_by[(frame.method, *pending)] += 1
                        pending = None
                    stack, pending, trees = [], None, []
                    open_calls.clear()
                elif escape == SAMPLE:
                    trace.samples.append((payload[0], {value & 0xFF: value >> 8 for value in payload[1:]}))
                elif escape == CPU:
                    trace.cpu[method] = max(trace.cpu.get(method, 0), payload[1])
                elif escape == VALUE:
                    known = value(payload)
                    if known is None:
                        trace.problems.append(f"thread {thread}: a value of {method:#x} is none: {payload[0]:#x}")
                    else:
                        waiting[method, known[1]][known[0]] = known[2]
                elif escape == SAMPLED:
                    if size != 1 or not 0 < payload[0] < 1 << 24:
                        trace.problems.append(f"thread {thread}: a call of {method:#x} stands for {payload.tolist()}")
                    weight = method, payload[0]
                elif escape == SPAN:
                    if size != 5 or 0 in (payload[0] | payload[1], payload[2]):
                        trace.problems.append(f"thread {thread}: a span of {method:#x} has the ids {payload.tolist()}")
                elif escape == CONTEXT:
                    if size != 4 or bool(payload[2]) != bool(payload[0] | payload[1]):
                        trace.problems.append(f"thread {thread}: a context has the ids {payload.tolist()}")
                elif escape == SLOW:
                    trace.slow[method, payload[1] >> 63] += 1
                elif escape == AGGREGATED:
                    if stack:
                        stack[-1].inner += payload[0]
                elif escape == LOST:
                    waiting.clear()
                    trace.problems.append(f"thread {thread}: {payload[0]} records lost")
                at += size
            at += 1
    waiting.clear()
    for frame in reversed(stack):
        leaves(frame)
    if stack:
        trace.open[thread] = [frame.method for frame in stack]


def check_logical(trace):
    """Each logical call has one begin, at most one end, and its pieces are one after the other."""
    for number, call in trace.logical.items():
        what = f"logical call {number} of {call.method:#x}"
        if number == 0 or call.firsts > 1 or len(call.begun) + call.firsts < 1 or len(call.begun) > 1:
            trace.problems.append(f"{what}: {len(call.begun)} begins, {call.firsts} first pieces")
        if len(call.ended) > 1:
            trace.problems.append(f"{what}: {len(call.ended)} ends")
        pieces = sorted(call.pieces, key=lambda p: p[0])
        for (begin, end, thread), (after, _, other) in zip(pieces, pieces[1:]):
            if end is None or end > after:
                trace.problems.append(f"{what}: a piece on thread {thread} from {begin} to {end} overlaps one on {other} at {after}")
        if call.ended and pieces and pieces[-1][0] > call.ended[0][0]:
            trace.problems.append(f"{what}: a piece after its end")
        # A call that is sampled says so wherever it begins, goes on or ends between two pieces.
        if call.weights and (len(set(call.weights)) > 1 or len(call.weights) != len(call.pieces) + call.apart):
            trace.problems.append(f"{what} stands for {call.weights[:9]}, in {len(call.pieces)} pieces")
    plant(trace)


def plant(trace):
    """Finds the trees that begin with logical calls, and adds those that began within a tree to it."""
    sampled = [call for call in trace.logical.values() if call.weights]
    whole = {}
    for call in sampled:
        if call.first[1] is None:
            whole[id(call)] = Counter()
            trace.trees.append((call.first[0], call.method, call.weights[0], whole[id(call)]))
    weights = {id(within): weight for _, _, weight, within in trace.trees}
    for call in sampled:
        root = call
        while isinstance(root, Call) and root.first[1] is not None:
            root = root.first[1]
        tree = whole[id(root)] if isinstance(root, Call) else root
        tree.update(call.within)
        tree[call.method] += 1
        if weights[id(tree)] != call.weights[0]:
            trace.problems.append(f"a logical call of {call.method:#x} stands for {call.weights[0]} below one that stands for {weights[id(tree)]}")


def read(path, running=False, named=True, most_open=None):
    """Reads a whole trace. `running`: calls that are open at the end are no problem (threads that never ended), but for more than
    `most_open` of them. `named`: it must name each method that it records."""
    trace = Trace()
    data = open(path, "rb").read()
    if len(data) < CHUNK or data[:8] != b"WTRACE\r\n":
        trace.problems.append("no header")
        return trace
    (_, version, _, size, _, _, _, flags, _, lost, overwritten, failures, _, _) = HEADER.unpack_from(data)
    trace.orderly = bool(flags & 1)
    trace.lost, trace.overwritten, trace.hook_failures = lost, overwritten, failures
    if (version, size) != (1, CHUNK):
        trace.problems.append(f"version {version}, chunk size {size}")
    for what, n in (("records lost", lost), ("chunks overwritten", overwritten), ("hook failures", failures)):
        if n:
            trace.problems.append(f"{n} {what}")
    threads, maps, serials = defaultdict(dict), defaultdict(dict), set()
    for begin in range(CHUNK, len(data), CHUNK):
        part = data[begin : begin + CHUNK]
        if part[:4] != b"WCHK":
            if any(part[:4]):
                trace.problems.append(f"chunk at {begin:#x} begins with {part[:4]!r}")
            continue
        kind, serial, one, two, three = struct.unpack_from("<IQIIQ", part, 4)
        if serial in serials or serial == 0:
            trace.problems.append(f"chunk at {begin:#x}: serial number {serial} again")
        serials.add(serial)
        if kind == SYMBOLS:
            maps[one][two] = (part[32 : 32 + (three & 0xFFFFFFFF)], three >> 32)
        elif kind == COUNTS:
            for method, zero, n in struct.iter_unpack("<IIQ", part[32 : 32 + (len(part) - 32) // 16 * 16]):
                if method == zero == 0:
                    break
                if zero or method in trace.counts:
                    trace.problems.append(f"counts of {method:#x} at {begin:#x}: twice, or no id")
                trace.counts[method] = n
        elif kind == AGGREGATES:
            words = struct.unpack_from(f"<{(len(part) - 32) // 8}Q", part, 32)
            at = 0
            while at < len(words) and words[at]:
                method, low, buckets = words[at] & 0xFFFFFFFF, words[at] >> 32 & 0xFF, words[at] >> 40
                one = Sum(words[at + 1 : at + SUM_HEAD + buckets], low)
                at += SUM_HEAD + buckets
                if not buckets or low + buckets > BUCKETS or at > len(words):
                    trace.problems.append(f"an entry of {method:#x} at {begin:#x} has buckets {low} to {low + buckets}")
                    break
                # One that has outgrown its place has another.
                before = trace.sums.get(method)
                if not before or one.calls >= before.calls:
                    trace.sums[method] = one
                trace.places[method] += 1
        elif kind == CONTROL:
            at = 32
            while at + 16 <= len(part) and struct.unpack_from("<Q", part, at) != (0,):
                length, what, time = struct.unpack_from("<IIQ", part, at)
                if at + 16 + length > len(part) or what > 5 or what == 5 and length != 24:
                    trace.problems.append(f"a change of {length} bytes at {begin:#x}")
                    break
                said = part[at + 16 : at + 16 + length]
                if what == 0:
                    trace.changes.append((time, said.decode()))
                elif what == 3:
                    trace.decided.clear()
                elif what == 5:
                    count, last, off = struct.unpack("<QQQ", said)
                    trace.untold = count >> 1, last, off, bool(count & 1)
                else:
                    if what == 4:
                        trace.left_out.update(method for (method,) in struct.iter_unpack("<I", said))
                    trace.decided.update((method, "sc?-"[what - 1]) for (method,) in struct.iter_unpack("<I", said))
                at += 16 + (length + 7) // 8 * 8
        elif kind == RECORDS:
            words = array("Q", part[32 : 32 + (len(part) - 32) // 8 * 8])
            if sys.byteorder == "big":
                words.byteswap()
            for thread, segment, cut in segments_of(one, two, three, words):
                if segment in threads[thread]:
                    trace.problems.append(f"thread {thread}: segment {segment} twice")
                threads[thread][segment] = cut
    for number, parts in maps.items():
        whole = b"".join(parts[i][0] for i in sorted(parts))
        if len(whole) != next(iter(parts.values()))[1]:
            trace.problems.append(f"symbols map {number} is not whole")
        else:
            read_symbols(trace, whole)
    for thread, segments in sorted(threads.items()):
        read_thread(trace, thread, segments)
    check_logical(trace)
    for thread, stack in trace.open.items():
        if not running:
            trace.problems.append(f"thread {thread} ({trace.threads.get(thread, '?')}): {len(stack)} calls never left")
    left = sum(map(len, trace.open.values()))
    if running and most_open is not None and left > most_open:
        trace.problems.append(f"{left} calls never left, of at most {most_open} that may be open at the end")
    trace.problems += [f"the sum of {method:#x}: {problem}" for method, one in trace.sums.items() if (problem := one.problem())]
    methods = {*trace.calls, *trace.counts, *trace.sums, *(c.method for c in trace.logical.values())}
    unknown = [m for m in methods if m not in trace.symbols]
    if unknown and named:
        trace.problems.append(f"{len(unknown)} method ids have no name")
    return trace


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--running", action="store_true", help="calls may be open at the end")
    args.add_argument("--open", type=int, help="with --running: at most so many")
    args.add_argument("trace", nargs="+")
    args = args.parse_args()
    bad = 0
    for path in args.trace:
        trace = read(path, args.running, most_open=args.open)
        print(
            f"{path}: {sum(trace.calls.values())} enters, {sum(trace.exits.values())} exits,"
            f" {sum(trace.errors.values())} errors, {len(trace.logical)} logical calls, {len(trace.threads)} threads, deepest {trace.deepest}"
        )
        for problem in trace.problems[:20]:
            print(f"  {problem}")
        bad |= bool(trace.problems)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
