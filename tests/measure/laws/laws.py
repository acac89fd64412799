"""Known laws, the samples that they would give, and the table of the article."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from attncost import fit_law
from attncost.measure.laws.law import Margins
from attncost.measure.laws.medians import summarise
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.published import LAYER, layer

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
# As a sweep spaces them, and enough for a fourth term and for two segments.
MANY = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
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


def stepped(factor, lengths=LENGTHS):
    """Times of full attention that from 1,024 tokens on are slower by a factor."""
    return {n: seconds(n) * (factor if n >= 1024 else 1) for n in lengths}


def naive_bytes(n):
    """Full attention of 8 heads that moves its n x n weights four times, and q, k, v and o."""
    return replace(full(n), bytes=4 * (4 * 8 * n**2 + 4 * n * D))


def medians_of(timings, *, faults=None, draws=200):
    """Take medians with few draws, and the page faults of each length beside them."""
    medians = summarise(timings, margins=Margins(), draws=draws)
    if faults is None:
        return medians
    return replace(medians, faults=np.array([faults(n) for n in medians.lengths], float))


def pages(n):
    """Page faults of a call that maps three n x n weights of 8 heads anew, above 32 MiB each."""
    return 3 * 8 * n**2 / 1024 if 32 * n**2 >= 2**25 else 0.0


def article(margins=ROUNDED):
    table = {
        n: [ms / 1000] for n, ms in zip(ARTICLE["length"], ARTICLE["milliseconds"], strict=True)
    }
    return fit_law(table, predicted=layer(512), formula=LAYER, margins=margins)
