"""Known laws, the samples that they would give, and the table of the article."""

import json
from pathlib import Path

import numpy as np

from attncost import fit_law
from attncost.measure.law import Margins
from attncost.measure.published import LAYER, layer
from attncost.measure.subject import Predicted

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
D = 512
ARTICLE = json.loads((Path(__file__).parents[1] / "data" / "published.json").read_text("utf-8"))[
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
    generator = np.random.default_rng(seed)
    return {
        n: [seconds(n, **law) * np.exp(generator.normal(0, noise)) for _ in range(repeats)]
        for n in lengths
    }


def article(margins=ROUNDED):
    table = {
        n: [ms / 1000] for n, ms in zip(ARTICLE["length"], ARTICLE["milliseconds"], strict=True)
    }
    return fit_law(table, predicted=layer(512), formula=LAYER, margins=margins)
