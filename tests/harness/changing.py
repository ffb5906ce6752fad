"""Rules whose hooks may change all that a hook can change, and change nothing: tests/jvm/acme/Same.java, tests/dotnet/own/Same.cs."""

import zipfile

JAVA = {"text": "java.lang.String", "object": "java.lang.Object", "truth": "boolean", "number": "int", "wide": "long"}
DOTNET = {"text": "System.String", "object": "System.Object", "truth": "bool", "number": "int", "wide": "long"}


def rules(library, types):
    """A rules file's lines; `types` is one of those above."""
    call = (lambda text: "acme.Same." + text) if types is JAVA else (lambda text: "Acme.Same." + text[0].upper() + text[1:])
    aspects = [("", {"enter": call("begin(method)"), "exit": call("end(state)")})]
    for name in ("text", "number", "wide", "object"):
        aspects.append((f"params = '{types[name]}, ..'", {"enter": f"arg(0) = {call(name)}(arg(0))"}))
    returned = ", ".join(f"'{ty}'" for ty in ("void", *types.values()))
    aspects += [
        (f"returns = [{returned}]", {
            "enter": f"skip when {call('never(method)')}", "exit": call("end(state?)"), "exception": f"throw {call('thrown(exception)')}"}),
        (f"returns = '{types['text']}'", {
            "enter": f"return {call('noText(method)')} unless null", "exit": f"result = {call('text(result)')}",
            "exception": f"result = {call('fallback(exception)')}"}),
        (f"returns = '{types['number']}'", {"exit": f"result = {call('number(result)')}", "exception": f"result = {call('zero(exception)')}"}),
        (f"returns = '{types['truth']}'", {"exit": f"result = {call('truth(result)')}"}),
        (f"returns = '{types['object']}'", {
            "enter": f"return {call('nothing()')} unless null", "exit": f"result = {call('object(result)')}"}),
    ]
    lines = ["version = 1", "[[library]]", f"path = '{library}'"]
    for number, (of, hooks) in enumerate(aspects):
        match = ", ".join(filter(None, ["type = '**'", "kind = ['method', 'accessor', 'bridge', 'synthetic', 'lambda']", "min-size = 0", of]))
        lines += ["[[aspect]]", f"name = '{number}'", f"match = {{ {match} }}", "exclude = [{ kind = 'async' }, { method = ['<init>', '.ctor'] }]"]
        lines += [f'{key} = "{text}"' for key, text in hooks.items()]
    return lines


def old_types(path):
    """The types of a jar whose class files are older than `invokedynamic`; and whether it has others."""
    old, has_others = set(), False
    with zipfile.ZipFile(path) as jar:
        for name in jar.namelist():
            if name.endswith(".class") and not name.endswith("module-info.class"):
                with jar.open(name) as member:
                    head = member.read(8)
                if int.from_bytes(head[6:8], "big") < 51:
                    versioned = name.startswith("META-INF/versions/")
                    path = (name.split("/", 3)[3] if versioned else name).removesuffix(".class")
                    # A folder need not be a package: Jython's are for its own loader.
                    old |= {path.replace("/", "."), path.rsplit("/", 1)[-1]}
                else:
                    has_others = True
    return sorted(old), has_others


def around(library, types="**", but=(), methods="*", hook="proceed"):
    """Rules with a hook instead of each body that can have one, which runs it: `proceed` is copied into classes, `held` is not."""
    left = "".join(f", {{ type = '{ty}' }}" for ty in but)
    return ["version = 1", "[[library]]", f"path = '{library}'", "[[aspect]]", "name = 'around'",
            f"match = {{ type = '{types}', method = '{methods}', kind = ['method', 'accessor', 'bridge', 'synthetic', 'lambda'], min-size = 0 }}",
            "exclude = [{ kind = 'async' }, { method = ['<init>', '<clinit>'] }" + left + "]", f"around = 'acme.Same.{hook}(proceed)'"]


def each_call(library, types):
    """Rules with a hook in front of each call of a method of some types."""
    return f"""version = 1
[[library]]
path = "{library}"
[[aspect]]
name = "each"
at = {{ call = {{ type = "{types}" }} }}
before = "acme.Each.call(method)"
"""


def around_dotnet(library):
    """The same in .NET, by its own types: values are not boxed."""
    return ["version = 1", "[[library]]", f"path = '{library}'", "[[aspect]]", "name = 'around'",
            "match = { type = '**', kind = ['method', 'accessor', 'bridge', 'synthetic', 'lambda'], min-size = 0 }",
            "around = 'Acme.Same.Proceed(proceed?)'"]
