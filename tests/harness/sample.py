#!/usr/bin/env python3
"""samples/java, woven with its own rules: what its trace must show, call by call, on each JDK."""

import json
import os
from collections import Counter
from functools import cache

import check_trace
from lib import ROOT, SAMPLES, Score, fresh, judges, main, run, weave_binary

SAMPLE = ROOT / "samples" / "java"
COINS = (5, 10, 20, 50)


@cache
def calls_of_ways(cents, coins):
    """How many calls `Main.ways` makes."""
    if cents <= 0 or coins == 0:
        return 1
    return 1 + calls_of_ways(cents, coins - 1) + calls_of_ways(cents - COINS[coins - 1], coins)


# Orders 1 to 8, ten in each of three threads, and one of the fourth are paid; order 9 is refused by its constructor.
PAID = 8 + 30 + 1
CALLS = Counter({
    "Main.main": 1,
    "Main.payAll": 2,
    "Main.ways": calls_of_ways(100, len(COINS)),
    "Main.discounted": 1,
    "Main.counters": 1,
    "Main.work": 4,
    # The discount, four threads' bodies, one handler of what was not caught.
    "Main.lambda": 1 + 4 + 1,
    "Document.<init>": PAID + 1,
    # Hooks are behind `this(..)` and `super(..)`: order 9's second constructor never gets there.
    "Order.<init>(I)V": 6,
    "Order.<init>(II)V": 6 + 30,
    "Order.<init>(IILshop/Payment;)V": PAID + 1,
    "Order.pay": PAID,
    "Fees.of": PAID,
    "Fees.refuse": 2,
    "Ledger.<init>": 1,
    "Ledger.add": PAID - 2,
    "Ledger.close": PAID,
    "Ledger.total": 1,
})
ERRORS = Counter({
    "Order.<init>(IILshop/Payment;)V": 1,
    "Order.pay": 2,
    "Fees.of": 2,
    "Fees.refuse": 2,
    "Main.work": 1,
    "Main.lambda": 1,
})
EXCEPTIONS = Counter({
    ("java.lang.IllegalArgumentException", "cannot pay with Voucher[code=X1]"): 1,
    ("java.lang.IllegalArgumentException", "cannot pay with Voucher[code=X3]"): 1,
    ("java.lang.IllegalStateException", "order 9 has a negative price"): 1,
    ("java.lang.IllegalStateException", "counter 3 is closed"): 1,
})


def named(trace, counts):
    """Counts by the names used above."""
    result = Counter()
    for method, n in counts.items():
        owner, name, descriptor = trace.symbols[method]
        owner = owner.replace("/", ".").removeprefix("shop.")
        if owner == "Order" and name == "<init>":
            name += descriptor
        result[f"{owner}.{'lambda' if name.startswith('lambda$') else name}"] += n
    return result


#: What the hooks say, but for the sums, which threads make in any order.
HOOKED = Counter({
    **{f"audit: of: {100 * i} cents by Cash[given={100 * i + 50}]: 0": 1 for i in (1, 3, 5)},
    **{f"audit: of: {100 * i} cents by Card[network=red]: {i}": 1 for i in (2, 4, 6)},
    "audit: of: 500 cents by Card[network=black]: 15": 1,
    "audit: 80 cents by Voucher[code=X1]: cannot pay with Voucher[code=X1]": 1,
    "audit: 10 cents by Voucher[code=X3]: cannot pay with Voucher[code=X3]": 1,
    "audit: of: 1000 cents by Card[network=red]: 10": 15,
    "audit: of: 1000 cents by Cash[given=1050]: 0": 15,
})
FEES = 2 + 4 + 6 + 15 + 15 * 10
#: Calls and exceptions by what was recorded.
PAYMENTS = {
    "Voucher[***": (2, 2), "Card[network=red]": (3 + 15, 0), "Card[network=black]": (1, 0),
    "Cash[given=150]": (1, 0), "Cash[given=350]": (1, 0), "Cash[given=550]": (1, 0), "Cash[given=1050]": (15, 0),
}


def hooked(score, what, home, folder, printed):
    """The shop with hooks of its own and recorded values."""
    run([SAMPLE / "hooks/build.sh", folder], env={**os.environ, "JAVA_HOME": str(home)})
    run([weave_binary(), "-q", "--strict", "--rules", folder / "hooks.toml", folder / "shop.jar", folder / "hooked.jar"])
    path = folder / "hooked.wtrace"
    ran = run([home / "bin" / "java", "-jar", folder / "hooked.jar"], env={**os.environ, "WEAVE_TRACE": str(path)})
    score.check(f"{what} with own hooks: the same output", ran.stdout == printed)
    lines = [line.partition(", ") for line in ran.stderr.splitlines()]
    score.counts(f"{what} with own hooks: what they say", Counter(line for line, _, _ in lines), HOOKED)
    sums = [int(told.removesuffix(" in all")) for _, _, told in lines if told]
    score.check(f"{what} with own hooks: their sum", max(sums, default=0) == FEES, str(sums))
    told = json.loads(run([weave_binary(), "report", "--json", "--by", "payment", path]).stdout)
    found = {m["value"]: (m["calls"], m["errors"]) for m in told["methods"]}
    score.check(f"{what} with own hooks: calls by payment, masked", found == PAYMENTS, str(found))
    told = json.loads(run([weave_binary(), "report", "--json", "--calls", "--where", "fee=15", path]).stdout)
    values = [call["values"] for call in told["calls"]]
    score.check(f"{what} with own hooks: the call whose fee is 15", values == [{"payment": "Card[network=black]", "cents": 500, "fee": 15}], str(values))


def one(score, version, home):
    folder = fresh(SAMPLES / str(version))
    run([SAMPLE / "build.sh", folder / "shop.jar"], env={**os.environ, "JAVA_HOME": str(home)})
    run([weave_binary(), "-q", "--strict", "--rules", SAMPLE / "weave.toml", folder / "shop.jar", folder / "woven.jar"])
    plain = run([home / "bin" / "java", "-jar", folder / "shop.jar"])
    path = folder / "shop.wtrace"
    woven = run([home / "bin" / "java", "-jar", folder / "woven.jar"], env={**os.environ, "WEAVE_TRACE": str(path)})
    what = f"the sample on JDK {version}"
    score.check(f"{what}: the same output", plain.stdout == woven.stdout and len(plain.stdout.splitlines()) == 13, woven.stderr[:200])
    trace = check_trace.read(path)
    score.check(f"{what}: a whole, balanced trace", not trace.problems and trace.orderly, str(trace.problems))
    for name, found, expected in (
        ("calls", named(trace, trace.calls), CALLS),
        ("exceptions that leave methods", named(trace, trace.errors), ERRORS),
        ("exceptions by type and message", trace.exceptions, EXCEPTIONS),
        ("returns", named(trace, trace.exits), CALLS - ERRORS),
    ):
        score.counts(f"{what}: {name}", found, expected)
    names = set(trace.threads.values())
    score.check(f"{what}: threads", names >= {"main", *(f"counter-{i}" for i in range(4))}, str(sorted(names)))
    told = json.loads(run([weave_binary(), "report", "--json", path]).stdout)
    calls = sum(m["calls"] for m in told["methods"])
    score.check(f"{what}: weave report tells the same calls", calls == sum(CALLS.values()), str(calls))
    hooked(score, what, home, folder, plain.stdout)


def body():
    score = Score()
    for version, home in sorted(judges().items()):
        one(score, version, home)
    return score.finish("samples/java")


if __name__ == "__main__":
    main(body)
