"""Random configurations, computed by the calculator's page and by this package.

FLOPs, bytes held and bytes moved are whole numbers and must be the same; seconds may differ by
1e-12 of them.
"""

import math
import random
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.in_browser import Page

from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates, flops, speed
from attncost.patterns.interface import Pattern
from attncost.report.calculator.attentions import attentions
from attncost.report.calculator.model import built
from attncost.report.calculator.settings import CHOICES, SIZES

State = dict[str, Any]

_HEADS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 32, 40, 64)
_PATTERNS: Final = tuple(one for one in attentions() if issubclass(one.kind, Pattern))
# What the page says of a state, whole numbers as text.
_ASK: Final = """(states) => states.map((state) => {
  const of = (name) => attncost.exact(name, state)
  const text = (name) => { const { numerator, denominator } = of(name)
    return denominator === 1n ? String(numerator) : `${numerator}/${denominator}` }
  return [text("@flops"), text("@memory"), attncost.approximate("@seconds")(state)]
})"""


def agreement(page: Page, several: int, *, seed: int = 0) -> int:
    """Return how many of so many random configurations the page computes otherwise."""
    begun = page.evaluate("attncost.state")
    drawn = random.Random(seed)
    states = [state(drawn, begun) for _ in range(several)]
    theirs = page.evaluate(_ASK, states)
    return sum(not _same(computed(one), other) for one, other in zip(states, theirs, strict=True))


def state(drawn: random.Random, begun: Mapping[str, Any]) -> State:
    """Return random settings that can be."""
    found = {**begun, **{one.name: drawn.choice(list(one.options)) for one in CHOICES}}
    for size in SIZES:
        if size.group == "main":
            found[size.name] = int(2 ** drawn.uniform(0, min(math.log2(size.high), 17)))
    heads = drawn.choice(_HEADS)
    shared = [number for number in range(1, heads + 1) if heads % number == 0]
    found |= {"heads": heads, "kv_heads": drawn.choice(shared), "longest": 0, "device": "own"}
    found |= {"attention": drawn.choice(_PATTERNS).name, "width": drawn.randint(1, 10_000)}
    found["page"] = drawn.choice((1, 16))
    if found["work"] == "training":
        found["weights"] = drawn.choice(("float32", "bfloat16", "float16"))
    return found


def computed(one: State) -> tuple[int, int, float]:
    """Return FLOPs, bytes and seconds of settings, as `attncost plan` computes them."""
    pattern = next(found for found in _PATTERNS if found.name == one["attention"]).of(one)
    assert isinstance(pattern, Pattern)
    numbers = {name: value for name, value in one.items() if isinstance(value, int)}
    words = {name: value for name, value in one.items() if isinstance(value, str)}
    model = built(numbers, words, pattern)
    how = Situation(
        work=one["work"],
        kernel=one["kernel"],
        weights=one["weights"],
        kv=one["kv"],
        activations=one["activations"],
        page=one["page"],
        checkpointing=one["checkpointing"] == "on",
        optimizer=one["optimizer"],
    )
    sizes = {"length": one["length"], "batch": one["batch"]}
    work = one["batch"] * flops(model, how, length=one["length"])
    own = Rates(flops=one["peak"], bytes=one["bandwidth"], source="own")
    held = total(needs(model, how, **sizes))
    return int(work), held, speed(model, how, own, **sizes).seconds


def _same(ours: tuple[int, int, float], theirs: tuple[str, str, float]) -> bool:
    same = (str(ours[0]), str(ours[1])) == tuple(theirs[:2])
    return same and math.isclose(ours[2], theirs[2], rel_tol=1e-12)
