"""Known laws, the samples that they would give, and the table of the article."""

import json
from pathlib import Path

import numpy as np

from attncost import fit_law
from attncost.measure.laws.law import Margins
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.published import LAYER, layer

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
D = 512
ARTICLE = json.loads((Path(__file__).parents[2] / "data" / "published.json").read_text("utf-8"))[
    "article_layer_timings"
]
ROUNDED = Margins(rounding=0.05e-3)


def full(n):
    """Full attention in a layer of 512 features: 4nd² + 2n²d multiply-adds."""
    return Predicted(linear=8 * n * D**2, core=4 * n**2 * D)


def window(n):
    """The same with 64 keys a query, at lengths that are not shorter."""
    return Predicted(linear=8 * n * D**2, core=4 * (64 * n - 2016) * D)


def seconds(n, *, constant=2e-4, linear_rate=7e10, core_rate=5e10, predicted=full):
    flops = predicted(n)
    return constant + flops.linear / linear_rate + flops.core / core_rate


def samples(*, noise=0.0, repeats=9, seed=0, lengths=LENGTHS, **law):
    """Draw samples around a law, off by a lognormal factor."""
    return shaken({n: seconds(n, **law) for n in lengths}, noise=noise, repeats=repeats, seed=seed)


def shaken(times, *, noise, repeats=9, seed=0, rounds=0.0):
    """Draw samples around times, off by a lognormal factor of their own and one of their round."""
    generator = np.random.default_rng(seed)
    slow = np.exp(generator.normal(0, rounds, repeats)) if rounds else np.ones(repeats)
    return {
        n: [time * s * np.exp(generator.normal(0, noise)) for s in slow]
        for n, time in times.items()
    }


def stepped(factor):
    """Times of full attention that from 1,024 tokens on are slower by a factor."""
    return {n: seconds(n) * (factor if n >= 1024 else 1) for n in LENGTHS}


def article(margins=ROUNDED):
    table = {
        n: [ms / 1000] for n, ms in zip(ARTICLE["length"], ARTICLE["milliseconds"], strict=True)
    }
    return fit_law(table, predicted=layer(512), formula=LAYER, margins=margins)
