"""Random settings of the calculator, and what this package says of each with numbers."""

import math
from fractions import Fraction

from attncost.cost.planning.needs import needs
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates, flops, speed
from attncost.mechanisms.interface import Priced
from attncost.patterns.full import Full
from attncost.report.calculator.attentions import attentions, dials
from attncost.report.calculator.model import built
from attncost.report.calculator.settings import CHOICES, SIZES, TRAINED

_MOST = {"length": 1 << 20, "page": 64}


def state(random):
    """Return settings that hold together."""
    found = {size.name: _size(random, size) for size in (*SIZES, *dials())}
    found |= {choice.name: random.choice([*choice.options]) for choice in CHOICES}
    found["attention"] = random.choice(attentions()).name
    found["kv_heads"] = random.choice(_divisors(found["heads"]))
    found["longest"] = random.choice((0, found["length"] + random.randrange(1000)))
    found["device"] = "own"
    found["width"] = max(2, found["width"])
    if found["work"] == "training" and found["weights"] not in TRAINED:
        found["weights"] = random.choice(TRAINED)
    return found


def said(state):
    """Return what this package says: exact counts, and seconds as a quotient."""
    attention = _dialled(state)
    approximate = isinstance(attention, Priced)
    model = modelled(state, Full() if approximate else attention)
    how = situation(state)
    n, batch = state["length"], state["batch"]
    if approximate:
        return {} if how.work == "decode" else _of_approximation(state, model, attention, how)
    found = {one.part: one.bytes for one in needs(model, how, length=n, batch=batch)}
    rates = Rates(flops=state["peak"], bytes=state["bandwidth"], source="typed")
    work = flops(model, how, length=n) * batch
    seconds = speed(model, how, rates, length=n, batch=batch).seconds
    core = model.decode_core(n) if how.work == "decode" else model.core(n)
    times = {"training": 4 if how.checkpointing else 3}.get(how.work, 1)
    return {
        **found,
        "memory": sum(found.values()),
        "flops": work,
        "attention_flops": times * core.useful * batch,
        "other_flops": work - times * core.useful * batch,
        "dense_flops": core.dense * batch,
        "elementwise": core.elementwise * batch,
        "parameters": model.parameters,
        "seconds": seconds,
    }


def modelled(state, attention):
    """Return the model of what is set."""
    sizes = {name: value for name, value in state.items() if isinstance(value, int)}
    choices = {name: value for name, value in state.items() if isinstance(value, str)}
    return built(sizes, choices, attention)


def situation(state):
    """Return how a model is run."""
    return Situation(
        work=state["work"],
        kernel=state["kernel"],
        weights=state["weights"],
        kv=state["kv"],
        activations=state["activations"],
        page=state["page"],
        checkpointing=state["checkpointing"] == "on",
        optimizer=state["optimizer"],
    )


def _of_approximation(state, model, attention, how):
    n, batch = state["length"], state["batch"]
    work = model.cost(n, attention).useful
    core = model.core(n, attention)
    if how.work == "training":
        work = 3 * work + (model.inside(n, attention).useful if how.checkpointing else 0)
    times = {"training": 4 if how.checkpointing else 3}.get(how.work, 1)
    return {
        "flops": work * batch,
        "attention_flops": times * core.useful * batch,
        "elementwise": core.elementwise * batch,
        "parameters": model.parameters,
    }


def _dialled(state):
    return next(one for one in attentions() if one.name == state["attention"]).of(state)


def _size(random, size):
    high = min(size.high, _MOST.get(size.name, size.high))
    if size.low == 0 and random.random() < 0.4:
        return 0
    return math.floor(2 ** random.uniform(math.log2(max(1, size.low)), math.log2(high)))


def _divisors(number):
    return [one for one in range(1, number + 1) if number % one == 0]


def python_value(tree, state, quantities, words):
    """Evaluate an exported tree in Python: a second reading of what the page reads."""
    if isinstance(tree, str) and tree.startswith("@"):
        return python_value(quantities[tree[1:]], state, quantities, words)
    if isinstance(tree, str):
        return Fraction(int(tree)) if tree.lstrip("-").isdigit() else Fraction(state[tree])
    if tree is None or isinstance(tree, int):
        return None if tree is None else Fraction(tree)
    if tree[0] == "case":
        place = words[tree[1]].index(state[tree[1]])
        return python_value(tree[2 + place], state, quantities, words)
    parts = [python_value(part, state, quantities, words) for part in tree[1:]]
    return None if None in parts else _OPERATIONS[tree[0]](parts)


_OPERATIONS = {
    "+": sum,
    "*": math.prod,
    "/": lambda parts: parts[0] / parts[1],
    "^": lambda parts: parts[0] ** parts[1],
    "max": max,
    "min": min,
    "ceil": lambda parts: math.ceil(parts[0]),
    "floor": lambda parts: math.floor(parts[0]),
}
