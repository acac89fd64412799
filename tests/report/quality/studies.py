"""Studies written down by hand, with numbers that are easy to check."""

from dataclasses import replace

from tests.train.quality.tasks.little import ASKED, First

from attncost.measure.sweep.interleaved import Ratio
from attncost.patterns.window import Window
from attncost.train.quality.tasks.price import Price
from attncost.train.quality.tasks.run import Run
from attncost.train.quality.tasks.study import Judged, Study, gain_of, score_of
from attncost.train.quality.tasks.times import Time

# Of each attention: a score a seed, executed FLOPs of attention, and time beside the base.
USUAL = {
    "window:width=2": ([0.5, 0.46, 0.48], 500, 0.75),
    "causal": ([1.0, 0.98, 0.99], 1000, 1.0),
    "linear:causal=1": ([0.99, 0.99, 0.97], 800, 1.5),
}


def study(scores=USUAL, *, task=None, diverged=()):
    """Return what would have been found."""
    seeds = len(next(iter(scores.values()))[0])
    asked = replace(
        ASKED, task=task or First(), attentions=dict.fromkeys(scores, Window(2)), seeds=seeds
    )
    runs = {
        name: tuple(_run(name, seed, one, diverged) for seed, one in enumerate(found))
        for name, (found, *_) in scores.items()
    }
    judged = [
        Judged(
            name=name,
            runs=runs[name],
            score=score_of(asked, runs[name]),
            gain=None if name == asked.base else gain_of(asked, runs[name], runs[asked.base]),
            price=_price(flops),
            time=Time(0.002 * ratio, Ratio(ratio, 0.9 * ratio, 1.1 * ratio, 15)),
        )
        for name, (_, flops, ratio) in scores.items()
    ]
    return Study(asked=asked, judged=tuple(judged), sequences=32, environment={"torch": "2.13"})


def again(attentions):
    """Return the command that trains them."""
    return f"attncost quality first --attention {','.join(attentions)}"


def _run(name, seed, score, diverged):
    return Run(
        attention=name,
        seed=seed,
        score=score,
        diverged=(name, seed) in diverged,
        steps=80,
        seconds=1.5,
        curve=((40, 0.6), (80, 0.3)),
    )


def _price(flops):
    return Price(
        parameters=1234,
        executed=flops,
        useful=flops // 2,
        model_executed=10 * flops,
        model_useful=9 * flops,
        at_least=False,
        peak_bytes=4096,
        peak_at_least=True,
    )
