"""Class files that enjarify made, put so that HotSpot can load every one of them.

enjarify writes version 49, whose verifier infers types; methods with code in interfaces came with 52, whose verifier wants
frames. So an interface's code moves into a class of its own beside it, where that same verifier reads it.
"""

import re
import struct

BODIES = "$$bodies"
INTERFACE, ABSTRACT, PUBLIC, STATIC, SUPER = 0x200, 0x400, 0x1, 0x8, 0x20
# The bytes of a constant after its tag.
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 18: 4}
NAMES = re.compile(rb"L([^;<>()\[]+);")


class ClassFile:
    """The constants of a class file, and where the rest begins."""

    def __init__(self, data):
        self.data, self.utf8, self.classes, self.owners, descriptors = data, {}, {}, set(), set()
        count, at, i = struct.unpack_from(">H", data, 8)[0], 10, 1
        while i < count:
            tag = data[at]
            if tag == 1:
                size = 2 + struct.unpack_from(">H", data, at + 1)[0]
                self.utf8[i] = text = data[at + 3 : at + 1 + size]
                if text[:1] == b"(":
                    descriptors.add(text)
            else:
                size = SIZES[tag]
                if tag == 7:
                    self.classes[i] = struct.unpack_from(">H", data, at + 1)[0]
                elif tag == 11:
                    self.owners.add(struct.unpack_from(">H", data, at + 1)[0])
            at, i = at + 1 + size, i + (2 if tag in (5, 6) else 1)
        self.count, self.end = count, at
        self.flags, self.this, self.parent, implemented = struct.unpack_from(">HHHH", data, at)
        self.implemented = struct.unpack_from(f">{implemented}H", data, at + 8)
        self.fields = at + 8 + 2 * implemented
        self.descriptors = descriptors

    def name(self, index):
        return self.utf8[self.classes[index]]

    def interfaces(self):
        """What is an interface, as far as this class tells."""
        return {self.name(i) for i in {*self.implemented, *self.owners}}

    def named(self):
        """The classes that this one names, arrays' elements and parameters included."""
        found = {n for text in self.descriptors for n in NAMES.findall(text)}
        for index in self.classes:
            name = self.name(index)
            found.update(NAMES.findall(name) if name[:1] == b"[" else [name])
        return found

    def members(self, at):
        """The fields or methods at `at`: `[(flags, name, bytes, has code)]`, and what follows them."""
        count, found = struct.unpack_from(">H", self.data, at)[0], []
        at += 2
        for _ in range(count):
            begin, code = at, False
            flags, name, _, attributes = struct.unpack_from(">HHHH", self.data, at)
            at += 8
            for _ in range(attributes):
                attribute, size = struct.unpack_from(">HI", self.data, at)
                code |= self.utf8[attribute] == b"Code"
                at += 6 + size
            found.append((flags, self.utf8[name], self.data[begin:at], code))
        return found, at


def loadable(data):
    """`(the class, its bodies' class or None)`: an interface gives its code away, any other class stays as it is."""
    file = ClassFile(data)
    if not file.flags & INTERFACE:
        return data, None
    _, methods_at = file.members(file.fields)
    methods, rest = file.members(methods_at)
    moved = [(flags, member) for flags, name, member, code in methods if code and name != b"<clinit>"]
    if not moved:
        return data, None
    kept = []
    for flags, name, member, code in methods:
        if not code or name == b"<clinit>":
            kept.append(member)
        elif not flags & 0x000A:
            # Neither private nor static: others may still implement it.
            kept.append(struct.pack(">H", PUBLIC | ABSTRACT) + member[2:6] + b"\0\0")
    plain = data[:methods_at] + struct.pack(">H", len(kept)) + b"".join(kept) + data[rest:]
    name = file.name(file.this) + BODIES.encode()
    constants = data[10 : file.end] + b"\x01" + struct.pack(">H", len(name)) + name + b"\x07" + struct.pack(">H", file.count)
    head = struct.pack(">HHHH", PUBLIC | SUPER | ABSTRACT, file.count + 1, file.parent, 0)
    bodies = [struct.pack(">H", flags) + member[2:] for flags, member in moved]
    return plain, (name.decode("utf-8", "surrogateescape"),
                   data[:8] + struct.pack(">H", file.count + 2) + constants + head + struct.pack(">HH", 0, len(bodies)) + b"".join(bodies) + b"\0\0")


def runnable(classes):
    """The same classes, by name, so that they run: bodies that moved out of interfaces are static methods, which default methods call.

    Such a default method needs no frames, so its class can be of version 52."""
    moved = {}
    for name, data in classes.items():
        file = ClassFile(data)
        if file.flags & INTERFACE and any(code and what != b"<clinit>" for _, what, _, code in file.members(file.members(file.fields)[1])[0]):
            moved[file.name(file.this)] = name
    out = {}
    for name, data in classes.items():
        pool = Pool(data, moved)
        if name not in moved.values():
            out[name] = pool.written(data)
            continue
        file = ClassFile(data)
        this = file.name(file.this)
        bodies_class = pool.class_(this + BODIES.encode())
        head, methods_at = data[file.end : file.fields], file.members(file.fields)[1]
        methods, rest = file.members(methods_at)
        kept, bodies = [], []
        for flags, what, member, code in methods:
            if not code or what == b"<clinit>":
                kept.append(member)
                continue
            descriptor = file.utf8[struct.unpack_from(">H", member, 4)[0]]
            static = descriptor
            if not flags & STATIC:
                static = b"(L" + this + b";" + descriptor[1:]
                kept.append(pool.default(member, bodies_class, what, descriptor, static))
            bodies.append(struct.pack(">H", PUBLIC | STATIC) + member[2:4] + struct.pack(">H", pool.utf8(static)) + member[6:])
        plain = head + data[file.fields : methods_at] + struct.pack(">H", len(kept)) + b"".join(kept) + data[rest:]
        out[name] = b"\xca\xfe\xba\xbe" + struct.pack(">HH", 0, 52) + pool.constants() + plain
        head = struct.pack(">HHHH", PUBLIC | SUPER, bodies_class, file.parent, 0)
        out[(this + BODIES.encode()).decode()] = (
            data[:8] + pool.constants() + head + struct.pack(">HH", 0, len(bodies)) + b"".join(bodies) + b"\0\0")
    return out


class Pool:
    """The constants of a class file, with more; static methods of `moved` interfaces are where their bodies are."""

    def __init__(self, data, moved):
        self.file, self.more = ClassFile(data), b""
        self.count, self.own = self.file.count, bytearray(data[10 : self.file.end])
        at, i = 0, 1
        while i < self.file.count:
            tag = self.own[at]
            size = 2 + struct.unpack_from(">H", self.own, at + 1)[0] if tag == 1 else SIZES[tag]
            if tag == 10:
                (owner,) = struct.unpack_from(">H", self.own, at + 1)
                if (name := self.file.name(owner)) in moved:
                    struct.pack_into(">H", self.own, at + 1, self.class_(name + BODIES.encode()))
            at, i = at + 1 + size, i + (2 if tag in (5, 6) else 1)

    def add(self, constant):
        self.more += constant
        self.count += 1
        return self.count - 1

    def utf8(self, text):
        return self.add(b"\x01" + struct.pack(">H", len(text)) + text)

    def class_(self, name):
        return self.add(b"\x07" + struct.pack(">H", self.utf8(name)))

    def constants(self):
        return struct.pack(">H", self.count) + bytes(self.own) + self.more

    def written(self, data):
        return data[:8] + self.constants() + data[self.file.end :]

    def default(self, member, owner, name, descriptor, static):
        """A default method that calls a static one with all that it gets."""
        named = self.add(b"\x0c" + struct.pack(">HH", self.utf8(name), self.utf8(static)))
        method = self.add(b"\x0a" + struct.pack(">HH", owner, named))
        code, slot = b"", 0
        parameters, result = static[1:].split(b")")
        for ty in re.findall(rb"\[*(?:L[^;]+;|[A-Z])", parameters):
            opcode = {b"J": 0x16, b"F": 0x17, b"D": 0x18}.get(ty, 0x19 if ty[:1] in b"L[" else 0x15)
            code, slot = code + bytes([opcode, slot]), slot + (2 if ty in (b"J", b"D") else 1)
        code += b"\xb8" + struct.pack(">H", method)
        code += bytes([{b"V": 0xb1, b"J": 0xad, b"F": 0xae, b"D": 0xaf}.get(result, 0xb0 if result[:1] in b"L[" else 0xac)])
        body = struct.pack(">HHI", max(slot, 2), slot, len(code)) + code + b"\0\0\0\0"
        attribute = struct.pack(">HI", self.utf8(b"Code"), len(body)) + body
        return struct.pack(">H", PUBLIC) + member[2:6] + b"\0\1" + attribute


def stub(name, interface):
    """An empty class or interface of a name: what stands in for a library that nobody has."""
    parent = b"java/lang/Exception" if name.endswith((b"Exception", b"Error")) else b"java/lang/Object"
    text = b"".join(b"\x01" + struct.pack(">H", len(t)) + t + b"\x07" + struct.pack(">H", i) for t, i in ((name, 1), (parent if not interface else b"java/lang/Object", 3)))
    flags = PUBLIC | (INTERFACE | ABSTRACT if interface else SUPER)
    return struct.pack(">IHHH", 0xCAFEBABE, 0, 49, 5) + text + struct.pack(">HHHHHHH", flags, 2, 4, 0, 0, 0, 0)
