"""A reader of the trace format written from its page alone: it shares nothing with the library.

What does not hold ends the test with an AssertionError.
"""

import struct
import time
import zlib
from array import array
from collections import namedtuple

CHUNK = 65536
ENTER, EXIT, ERROR = 1, 2, 3
FIRST, LAST = 1, 2
HEADER = struct.Struct("<8sHHIQQIIQQQQQI")

# `thrown` are the details of a new exception, `logical` the flags and the number of a logical call.
Event = namedtuple("Event", "kind id time thrown logical")
# A value: its number, what it is, and whether it is cut, masked and of the end.
Value = namedtuple("Value", "number value cut masked end")
# What a logical call does: begin, resume, suspend, end, fail.
Step = namedtuple("Step", "time what thread id")


def value(payload):
    """A VALUE escape."""
    kind, flags, number, length = struct.unpack("<BBHI", payload[:1].tobytes())
    data = payload[1:].tobytes()
    if kind in (8, 9, 10):
        assert len(data) == (2 * length + 7) // 8 * 8, "a text fills its words"
        text = data[: 2 * length].decode("utf-16-le", "surrogatepass")
        what = {8: ascii, 9: lambda text: ascii(text)[1:-1], 10: lambda text: "!" + ascii(text)[1:-1]}[kind](text)
    elif kind == 1:
        assert not data
        what = "null"
    else:
        assert len(data) == 8 and length == 0
        # Signed, unsigned, double, float, boolean, a unit of UTF-16.
        what = {
            2: lambda: str(struct.unpack("<q", data)[0]), 3: lambda: str(struct.unpack("<Q", data)[0]),
            4: lambda: str(struct.unpack("<d", data)[0]), 5: lambda: str(struct.unpack("<f4x", data)[0]),
            6: lambda: ("false", "true")[struct.unpack("<Q", data)[0]], 7: lambda: ascii(data[:2].decode("utf-16-le", "surrogatepass")),
        }[kind]()
    return Value(number, what, bool(flags & 1), bool(flags & 2), bool(flags & 4))


class Names:
    """What symbols maps say of ids: methods' names, and those of their values."""

    def __init__(self, maps):
        self.methods, self.values, self.versions = {}, {}, set()
        for data in maps:
            magic, version, zero, self.count, blocks = struct.unpack_from("<4sHHII", data)
            assert magic == b"WSYM" and zero == 0
            self.versions.add(version)
            at, self.numbered = 16, {}
            for _ in range(blocks):
                length, crc, packed = struct.unpack_from("<III", data, at)
                payload = zlib.decompress(data[at + 12 : at + 12 + packed], -15)
                assert len(payload) == length and zlib.crc32(payload) == crc
                self.block(payload)
                at += 12 + packed

    def block(self, data):
        at, last, numbers = 0, 0, {7: 0, 8: 0}

        def number():
            nonlocal at
            value = shift = 0
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value & 0xFFFFFFFF

        def text():
            nonlocal at
            length = number()
            at += length
            return data[at - length : at]

        while at < len(data):
            tag = data[at]
            at += 1
            if tag in (1, 2):
                for _ in range(tag):
                    text()
            elif tag == 3:
                last = (last + number()) & 0xFFFFFFFF
                self.methods[last] = text().decode()
                text()
                number()
            elif tag in (4, 6):
                if tag == 4:
                    self.numbered = {}
                for _ in range(number()):
                    text()
            elif tag == 5:
                first = (last + number()) & 0xFFFFFFFF
                count = number()
                for i in range(count):
                    name = number()
                    number()
                    number()
                    self.methods[first + i] = self.numbered[name].decode()
                last = first + count - 1
            elif tag in (7, 8):
                numbers[tag] = (numbers[tag] + number()) & 0xFFFFFFFF
                name = text()
                if tag == 7:
                    self.numbered[numbers[7]] = name
            elif tag == 9:
                method = number()
                self.values[method] = [text().decode() for _ in range(number())]
            elif tag == 10:
                number()
            elif tag == 13:
                number()
                assert 1 <= number() <= 5, "a kind of spans"
                for _ in range(5):
                    text()
            elif tag == 11:
                for _ in range(number()):
                    flags = number()
                    assert flags & 15 < 3 and flags >> 4 in (0, 1, 2, 6), "a level, and what else an aspect says"
                    if flags & 48:
                        assert 0 < number() < 1 << 24, "a time, or a number of calls"
                    text()
            elif tag == 12:
                last = (last + number()) & 0xFFFFFFFF
                last += number() - 1
                for _ in range(number()):
                    number()
            else:
                assert False, f"tag {tag}"


class Thread:
    def __init__(self):
        self.name = None
        self.flags = 0
        self.segments = {}
        self.lost = 0
        self.elsewhere = {}  # (segment, how many events of it come before): time of the innermost call in what is summed up
        self.weights = {}  # (segment, how many events of it come before): how many calls a sampled one stands for that says so
        self.values = []  # (segment, how many events of it come before, the method, the value)

    def all(self):
        return [e for n in sorted(self.segments) for e in self.segments[n]]

    def valued(self):
        """The enter, exit and error records with the values in front of each: of its method, and of the call's start or end."""
        waiting, values = [], sorted(self.values, key=lambda v: v[:2])
        for number in sorted(self.segments):
            for place, event in enumerate(self.segments[number]):
                while values and values[0][:2] <= (number, place):
                    waiting.append(values.pop(0)[2:])
                mine = [v for method, v in waiting if method == event.id and v.end == (event.kind != ENTER)]
                waiting = [(method, v) for method, v in waiting if v not in mine]
                yield event, mine

    def own(self):
        """Time in recorded calls that was spent in none that they made."""
        own, stack = 0, []
        for number in sorted(self.segments):
            for place, event in enumerate(self.segments[number]):
                if stack:
                    stack[-1][1] += self.elsewhere.get((number, place), 0)
                if event.kind == ENTER:
                    stack.append([event.time, 0])
                else:
                    begun, inner = stack.pop()
                    assert event.time - begun >= inner, "a call has spent more in others than it took"
                    own += event.time - begun - inner
                    if stack:
                        stack[-1][1] += event.time - begun
            if stack:  # the record that it stands in front of may be in the next segment
                stack[-1][1] += self.elsewhere.get((number, len(self.segments[number])), 0)
        return own

    def events(self):
        return sum(len(s) for s in self.segments.values())

    def whole(self):
        return self.lost == 0 and sorted(self.segments) == list(range(len(self.segments)))


class Trace:
    def __init__(self, path):
        data = path.read_bytes()
        self.size = len(data)
        (magic, version, zero, size, origin, self.pid, self.policy, self.flags, limit, self.lost, self.overwritten,
         self.failures, self.end, length) = HEADER.unpack_from(data)
        self.limit_by, self.short, self.failed, self.consumer, self.heartbeat, self.collected = struct.unpack_from("<I4xQQQQQ", data, 8192)
        self.controlled, self.request = struct.unpack_from("<II", data, 8264)
        self.lost_overwritten = struct.unpack_from("<Q", data, 8256)[0]
        assert magic == b"WTRACE\r\n" and (version, zero, size) == (1, 0, CHUNK), "header"
        assert abs(origin / 1e9 - time.time()) < 600, "wall clock"
        assert len(data) <= limit, "the file is above its limit"
        self.command = data[84 : 84 + length].decode()
        (length,) = struct.unpack_from("<I", data, 4096)
        self.notes = data[4100 : 4100 + length].decode()
        self.threads, self.maps, self.calls = {}, {}, {}
        self.counts = {}  # calls of methods that are only counted, by id
        self.changes = []  # (time, what was on from then), as text
        self.decisions = []  # (time, what kind, ids) of what was decided while it ran
        self.slow = []  # (thread, id, start, duration, failed) of calls that are summed up and told by themselves
        self.sums = {}  # (calls, errors, total, own, shortest, longest, ended) of methods that are summed up, by id
        self.cpu = {}  # by number of the thread: (time, CPU time so far)
        self.samples = []  # what the process used: (time, values by metric)
        serials, order = set(), []
        for at in range(CHUNK, len(data) // CHUNK * CHUNK, CHUNK):
            if data[at : at + 4] == b"WCHK":
                serial = struct.unpack_from("<Q", data, at + 8)[0]
                assert serial not in serials, "serial twice"
                serials.add(serial)
                order.append((serial, at))
            else:
                assert data[at : at + 4] in (bytes(4), b"WFRE"), f"chunk magic at {at:#x}"
        for _, at in sorted(order):
            self.chunk(data[at : at + CHUNK])
        own = [n for n, thread in self.threads.items() if thread.flags & 4 and not thread.events()]
        for number in own:
            del self.threads[number]
        for parts in self.maps.values():
            whole = b"".join(part for part, _ in (parts[i] for i in range(len(parts))))
            assert len(whole) == parts[0][1], "a map is incomplete"

    def symbols(self):
        return [b"".join(parts[i][0] for i in range(len(parts))) for _, parts in sorted(self.maps.items())]

    def chunk(self, data):
        """Reads one chunk: also for a consumer's copies."""
        kind, _, owner, number, start = struct.unpack_from("<IQIIQ", data, 4)
        if kind == 2:
            used, whole = start & 0xFFFFFFFF, start >> 32
            self.maps.setdefault(owner, {})[number] = (data[32 : 32 + used], whole)
            return
        if kind == 3:
            assert number == 0
            for at in range(32, CHUNK, 16):
                method, zero, count = struct.unpack_from("<IIQ", data, at)
                if method == zero == 0:
                    break
                assert zero == 0 and method not in self.counts, "an id, and not twice"
                self.counts[method] = count
            return
        if kind == 4:
            assert number == 0
            words, at = array("Q", data[32:]), 0
            while at < len(words) and words[at]:
                method, first, buckets = words[at] & 0xFFFFFFFF, words[at] >> 32 & 0xFF, words[at] >> 40
                assert buckets and first + buckets <= 160 and at + 7 + buckets <= len(words), "an entry's buckets"
                one = (*words[at + 1 : at + 7], sum(words[at + 7 : at + 7 + buckets]))
                self.sums[method] = max(self.sums.get(method, one), one)
                at += 7 + buckets
            return
        if kind == 5:
            assert number == 0
            at = 32
            while at + 16 <= CHUNK and (head := struct.unpack_from("<Q", data, at)[0]):
                length, what = head & 0xFFFFFFFF, head >> 32
                assert at + 16 + length <= CHUNK and what < 5, "a change's length and kind"
                time_, text = struct.unpack_from("<Q", data, at + 8)[0], data[at + 16 : at + 16 + length]
                if what:
                    self.decisions.append((time_, what, list(struct.unpack(f"<{length // 4}I", text))))
                else:
                    self.changes.append((time_, text.decode()))
                at += 16 + (length + 7) // 8 * 8
            return
        assert kind == 1, "chunk kind"
        words = array("Q", data[32:])
        thread, events, clock = self.segment(owner, number), [], start
        thread.segments[number] = events
        segment = number
        who, thrown, logical, at = owner, None, None, 0
        # Tests read millions of records: each is made a tuple without a call in Python.
        record = tuple.__new__
        while at < len(words) and words[at]:
            word = words[at]
            argument = word >> 32
            if kind := word & 3:
                clock += word >> 2 & 0x3FFFFFFF
                events.append(record(Event, (kind, argument, clock, thrown, logical)))
                if logical:
                    if kind == ENTER:
                        self.step(logical[1], clock, "resume", who, argument)
                        assert logical[0] in (0, FIRST)
                    else:
                        self.step(logical[1], clock, "end" if kind == EXIT else "fail", who, argument)
                        assert logical[0] == LAST
                    logical = None
                thrown = None
                at += 1
                continue
            size, escape = word >> 8 & 0xFFFFFF, word >> 2 & 63
            payload = words[at + 1 : at + 1 + size]
            assert len(payload) == size, "an escape is within its chunk"
            if escape == 1:
                clock = payload[0]
            elif escape == 2:
                assert size == 2
                who, segment, events, clock = argument, payload[0], [], payload[1]
                thread = self.segment(who, payload[0])
                thread.segments[payload[0]] = events
            elif escape == 3:
                assert argument == who, "THREAD names the current thread"
                thread.flags = payload[0] & 0xFFFFFFFF
                thread.name = payload[1:].tobytes()[: payload[0] >> 32].decode()
            elif escape == 4:
                one, two = payload[0] & 0xFFFFFFFF, payload[0] >> 32
                text = payload[1:].tobytes()
                assert one <= 1000 and two <= 1000
                thrown = (text[:one].decode(), text[one : one + two].decode())
            elif escape == 5:
                thread.lost += payload[0]
            elif escape == 6:
                assert size == 0 and (at + 1 == len(words) or words[at + 1] == 0), "END ends the data"
            elif escape == 7:
                assert argument == payload[0] == 0 and size == 2
                events.append(Event("unhandled", 0, payload[1], thrown, None))
                thrown = None
            elif escape == 8:
                self.samples.append((payload[0], {word & 0xFF: word >> 8 for word in payload[1:]}))
            elif escape == 9:
                thread.values.append((segment, len(events), argument, value(payload)))
            elif escape == 10:
                thread.elsewhere[segment, len(events)] = thread.elsewhere.get((segment, len(events)), 0) + payload[0]
            elif escape == 11:
                assert size == 2, "CPU time of a thread"
                self.cpu.setdefault(argument, []).append(tuple(payload))
            elif escape == 12:
                assert size == 2, "a call that is told by itself"
                self.slow.append((who, argument, payload[0], payload[1] & (1 << 63) - 1, payload[1] >> 63))
            elif escape == 13:
                assert size == 1 and 0 < payload[0] < 1 << 24, "a call stands for so many"
                after = words[at + 2] if at + 2 < len(words) else 0
                if after >> 32 == argument and (after & 3 == ENTER or after & 3 == 0 and after >> 2 & 63 in (17, 18)):
                    thread.weights[segment, len(events)] = payload[0]
                else:
                    assert after & 3 == 0, "a sampled call begins right where that is said, or is lost"
            elif escape in (14, 15):
                assert size == (5 if escape == 14 else 4), "ids of a span, or of a context"
            elif escape == 16:
                logical = (argument, payload[0])
            elif escape == 17:
                self.step(payload[0], payload[1], "begin", who, argument)
                events.append(Event("begin", argument, payload[1], None, None))
            elif escape == 18:
                self.step(payload[0], payload[1], "fail" if payload[2] else "end", who, argument)
                events.append(Event("complete", argument, payload[1], thrown, None))
                thrown = None
            else:
                assert False, f"escape {escape}"
            at += 1 + size

    def segment(self, thread, number):
        thread = self.threads.setdefault(thread, Thread())
        assert number not in thread.segments, f"segment {number} twice"
        return thread

    def step(self, call, when, what, thread, method):
        assert call > 0
        self.calls.setdefault(call, []).append(Step(when, what, thread, method))

    def steps(self):
        """What each logical call did, in the order of time: `(method, steps)`."""
        self.suspensions()
        calls = [sorted(steps, key=lambda s: s.time) for steps in self.calls.values()]
        return sorted((steps[0].id, [s.what for s in steps]) for steps in calls)

    def suspensions(self):
        """An exit without LOGICAL suspends the call whose piece it ends."""
        for number, thread in self.threads.items():
            stack = []
            for e in thread.all():
                if e.kind == ENTER:
                    stack.append(e)
                elif e.kind in (EXIT, ERROR):
                    begun = stack.pop()
                    if begun.logical and not e.logical:
                        self.step(begun.logical[1], e.time, "suspend", number, e.id)

    def events(self):
        return sum(t.events() for t in self.threads.values())

    def lost_in_threads(self):
        return sum(t.lost for t in self.threads.values())

    def named(self, name):
        found = [t for t in self.threads.values() if t.name == name]
        assert len(found) == 1, f"{len(found)} threads {name!r}: {[t.name for t in self.threads.values()][:10]}"
        return found[0]

    def balanced(self, thread):
        """Checks that a whole thread's records pair up and its time does not go back; returns how many calls are open."""
        assert thread.whole(), f"thread {thread.name} is whole"
        stack, last = [], 0
        for kind, method, at, _, logical in thread.all():
            assert at >= last, "time goes back"
            last = at
            if kind == ENTER:
                stack.append((method, logical and logical[1]))
            elif kind in (EXIT, ERROR):
                begun = stack.pop()
                assert begun[0] == method and (not logical or logical[1] == begun[1]), f"unbalanced: {kind} of {method} at {at}"
        return len(stack)

    def all_balanced(self):
        for thread in self.threads.values():
            assert self.balanced(thread) == 0, f"{thread.name} has open calls"
