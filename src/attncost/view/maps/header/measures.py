"""What a page says of each head, one number a measure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.results import Statistics
from attncost.view.statistics.summaries import MASS, head_summaries, reach

_MASS: Final = f"{100 * MASS:.0f} %"


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a head.

    Attributes:
        key: Its name in the page's data.
        title: What a reader sees.
        unit: One of nats, percent (a share of 1), tokens, logit and rank.
        help: What it is, in a sentence.
    """

    key: str
    title: str
    unit: str
    help: str


_PLAIN: Final = (
    Measure("entropy", "Entropy", "nats", "How widely a query spreads its weights, on average."),
    Measure("largest", "Largest weight", "percent", "The largest weight of a query, on average."),
    Measure("distance", "Distance", "tokens", "How far away what a query reads is, on average."),
    Measure("on_self", "On itself", "percent", "Mass on the query's own token."),
    Measure("on_previous", "On the token before", "percent", "Mass on the token before the query."),
    Measure(
        "effective_rank",
        "Effective rank",
        "rank",
        "Of the pooled map: exp of the entropy of its singular values.",
    ),
)


def measures(gauges: Gauges, *, longest: int | None = None) -> tuple[Measure, ...]:
    """Return what is measured of each head, in order.

    Args:
        gauges: The dials.
        longest: The most keys that there are: a width that holds all of them says nothing.
    """
    first = Measure(
        "on_first",
        "On the first tokens",
        "percent",
        f"Mass on the first {gauges.first} tokens of the query's text, the sink of many heads.",
    )
    negligible = Measure(
        "negligible",
        "Negligible",
        "percent",
        f"Mass on keys with a weight below {gauges.negligible:g} each.",
    )
    wide = Measure(
        "width",
        f"Width of {_MASS}",
        "tokens",
        f"Tokens near the query, itself included, on which {_MASS} of its mass lies, on average.",
    )
    within = (
        Measure(
            f"within_{width}",
            f"Within {width:,}",
            "percent",
            f"Mass on keys fewer than {width:,} tokens away.",
        )
        for width in gauges.widths
        if longest is None or width < longest
    )
    logit = Measure("logit", "Largest score", "logit", "The largest score before the softmax.")
    return (*_PLAIN[:3], wide, first, *_PLAIN[3:5], negligible, _PLAIN[5], logit, *within)


def measured(found: Statistics, *, cross: bool) -> Iterator[dict[str, float | None]]:
    """Yield the measures of each head of one sequence.

    Args:
        found: Statistics of it alone.
        cross: Whether keys come from another sequence, so that distances mean nothing.
    """
    summaries = head_summaries(found)
    columns: dict[str, Float[Tensor, h]] = {
        measure.key: getattr(summaries, measure.key)[0] for measure in _PLAIN
    }
    columns["on_first"], columns["negligible"] = summaries.on_first[0], summaries.negligible[0]
    columns["width"] = reach(found)[0] + 1
    columns["logit"] = found.logit[0].masked_fill(~found.counted[0], -torch.inf).amax(-1)
    for place, width in enumerate(found.gauges.widths):
        columns[f"within_{width}"] = summaries.within[0, :, place]
    far = [key for key in columns if cross and _of_distance(key)]
    for head in range(found.lse.shape[1]):
        yield {
            measure.key: None if measure.key in far else number(float(columns[measure.key][head]))
            for measure in measures(found.gauges)
        }


def number(value: float | None) -> float | None:
    """Return a number as the page holds it, six digits of it, or None if it is not finite."""
    return None if value is None or not abs(value) < torch.inf else float(f"{value:.6g}")


def _of_distance(key: str) -> bool:
    return key in ("distance", "width", "on_self", "on_previous") or key.startswith("within_")
