"""Rules whose hooks may change all that a hook can change, and change nothing: tests/jvm/acme/Same.java, tests/dotnet/own/Same.cs."""

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
