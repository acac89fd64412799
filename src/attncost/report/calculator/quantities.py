"""What the page can say, by name: each a formula for every combination of choices.

    memory = @weights + @cache + @activations + @logits      seconds >= max(@flops / F, @moved / B)

The joints are written here, once: which parts make a sum, and the roofline of `attncost plan`. All
that is summed comes from `asked`.
"""

from functools import partial
from typing import Final

from attncost.core.counts import Count, larger
from attncost.report.calculator import asked, learned
from attncost.report.calculator.asked import Chosen, Formula, symbols, told
from attncost.report.calculator.quantity import Quantity


def _sum(*names: str) -> Formula:
    return lambda _: sum(told(name) for name in names)


def _by_work(training: Formula, serving: Formula) -> Formula:
    return lambda chosen: (training if chosen["work"] == "training" else serving)(chosen)


def _exact(formula: Formula) -> Formula:
    """Return a formula that patterns alone have."""
    return lambda chosen: formula(chosen) if chosen["exact"] == "on" else None


def _training(formula: Formula) -> Formula:
    return _by_work(formula, lambda _: None)


def _serving(formula: Formula) -> Formula:
    return _by_work(lambda _: None, formula)


def _arithmetic(_: Chosen) -> Count:
    return told("flops") / symbols()["peak"]


def _traffic(_: Chosen) -> Count:
    return told("moved") / symbols()["bandwidth"]


def _seconds(_: Chosen) -> Count:
    return larger(told("arithmetic"), told("traffic"))


_memory = _by_work(
    _sum("weights", "gradients", "optimizer", "activations", "logits"),
    _sum("weights", "cache", "activations", "logits"),
)
_moved = _by_work(_sum("weights", "gradients", "optimizer"), _sum("weights_read", "cache_read"))
_flops = partial(Quantity, unit="flops")
_bytes = partial(Quantity, unit="bytes")

QUANTITIES: Final = (
    _flops(
        name="flops",
        symbol="C",
        title="FLOPs",
        formula=_sum("attention_flops", "other_flops"),
    ),
    _flops(
        name="attention_flops",
        symbol="C_att",
        title="Attention between its projections",
        over=("work", "checkpointing"),
        formula=asked.attention_flops,
    ),
    _flops(
        name="other_flops",
        symbol="C_rest",
        title="All the rest",
        over=("work", "checkpointing", "feed", "head", "caches"),
        formula=asked.other_flops,
    ),
    _flops(
        name="core",
        symbol="c",
        title="Attention in a layer, forward",
        over=("attention", "work"),
        formula=asked.core,
    ),
    Quantity(
        name="pairs",
        symbol="P",
        title="Pairs that a head reads",
        over=("attention", "work"),
        formula=asked.pairs,
    ),
    _bytes(
        name="memory",
        symbol="M_all",
        title="Memory",
        over=("exact", "work"),
        formula=_exact(_memory),
    ),
    _bytes(
        name="weights",
        symbol="M_w",
        title="Weights",
        over=("weights",),
        formula=asked.of_weights("weights"),
    ),
    _bytes(
        name="gradients",
        symbol="M_g",
        title="Gradients",
        over=("work", "weights"),
        formula=_training(asked.of_weights("gradients")),
    ),
    _bytes(
        name="optimizer",
        symbol="M_o",
        title="Optimizer",
        over=("work", "weights", "optimizer"),
        formula=_training(asked.of_weights("optimizer")),
    ),
    _bytes(
        name="cache",
        symbol="M_kv",
        title="Cache",
        over=("work", "attention", "kv"),
        formula=_serving(asked.cached),
    ),
    _bytes(
        name="activations",
        symbol="M_a",
        title="Activations",
        over=(
            *("work", "activations", "checkpointing", "norm", "last_norm", "kernel"),
            "attention",
        ),
        formula=asked.activations,
        exact=False,
    ),
    _bytes(
        name="logits",
        symbol="M_l",
        title="Logits",
        over=("work", "caches", "head", "activations"),
        formula=asked.logits,
        exact=False,
    ),
    Quantity(
        name="held",
        symbol="A",
        title="Numbers of a layer that are kept or alive at once",
        over=("work", "kernel", "feed"),
        formula=asked.held,
        exact=False,
    ),
    Quantity(
        name="parameters",
        symbol="θ",
        title="Parameters",
        over=("norm", "last_norm", "embedding"),
        formula=learned.parameters,
    ),
    Quantity(
        name="attention_learned",
        symbol="θ_att",
        title="Parameters of attention in a layer",
        over=("biases", "head_norm"),
        formula=learned.attention_learned,
    ),
    Quantity(
        name="feed_learned",
        symbol="θ_feed",
        title="Parameters of the feed-forward in a layer",
        over=("feed", "feed_biases"),
        formula=learned.feed_learned,
    ),
    Quantity(
        name="head_learned",
        symbol="θ_head",
        title="Parameters of the head",
        over=("head",),
        formula=learned.head_learned,
    ),
    Quantity(
        name="multiplied",
        symbol="θ_read",
        title="Parameters that a token multiplies",
        over=("norm", "last_norm", "embedding", "head"),
        formula=learned.multiplied,
    ),
    _bytes(
        name="moved",
        symbol="D",
        title="Bytes moved",
        over=("exact", "work"),
        formula=_exact(_moved),
    ),
    _bytes(
        name="weights_read",
        symbol="D_w",
        title="Weights that are read",
        over=("weights",),
        formula=asked.weights_read,
    ),
    _bytes(
        name="cache_read",
        symbol="D_kv",
        title="Keys and values that are read",
        over=("attention", "kv"),
        formula=asked.read,
    ),
    Quantity(name="seconds", symbol="t", title="Time at least", unit="seconds", formula=_seconds),
    Quantity(
        name="arithmetic", symbol="t_C", title="Arithmetic", unit="seconds", formula=_arithmetic
    ),
    Quantity(name="traffic", symbol="t_D", title="Traffic", unit="seconds", formula=_traffic),
    _flops(
        name="dense_flops",
        symbol="C_dense",
        title="Attention without a mask, forward",
        formula=asked.in_all("dense_core"),
    ),
    _flops(
        name="dense_core",
        symbol="c_dense",
        title="The same in a layer",
        over=("attention", "work"),
        formula=asked.dense_core,
    ),
    _flops(
        name="executed_flops",
        symbol="C_run",
        title="What a naive kernel multiplies, forward",
        formula=asked.in_all("executed_core"),
    ),
    _flops(
        name="executed_core",
        symbol="c_run",
        title="The same in a layer",
        over=("attention", "kernel", "work"),
        formula=asked.executed_core,
    ),
    Quantity(
        name="elementwise",
        symbol="S",
        title="Softmax and the like, forward, in operations",
        formula=asked.in_all("elementwise_core"),
    ),
    Quantity(
        name="elementwise_core",
        symbol="s",
        title="The same in a layer",
        over=("attention", "work"),
        formula=asked.elementwise_core,
    ),
)
