"""How attention weights are spread, exact and at any length.

    one pass:  exp(q k^T scale - top) [v]       time  O(b h pairs (d + e)),  memory  O(b h n e)

About the time of attention itself and no n x m weights; only a pattern whose queries read far
apart, with gaps in between, takes the time of all pairs.
"""

from collections.abc import Iterable
from typing import Final, Unpack

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.core.errors import ShapeError, UnknownName
from attncost.core.options import Options, Wishes
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.view.statistics.finished import finished
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.results import Statistics
from attncost.view.statistics.subject import check, subject
from attncost.view.statistics.walk import walk

_PLAIN: Final = Gauges()
# Weights are looked at as they are before dropout.
_ASKED: Final = tuple(name for name in Wishes.__annotations__ if name != "dropout_p")


def statistics(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"] | None = None,
    pattern: Pattern = Full(),
    *,
    gauges: Gauges = _PLAIN,
    query_mask: Bool[Tensor, "b n"] | None = None,
    padded: Bool[Tensor, "b m"] | None = None,
    **wishes: Unpack[Wishes],
) -> Statistics:
    """Measure the weights of attention without writing them down.

    The weights are those of `attention_weights`: with a learned `sink` they, and all masses, sum
    to less than 1, while distance and quantiles are of what is read. The first keys are those of a
    query's own document (`segments`) that `key_mask` does not hide. Half precision is widened; sums
    are in float32, or float64 for float64. Nothing has a gradient.

    A key that is not finite changes nothing for queries that may not read it. Those that do read
    one, or have a score that is not finite, are NaN, and are left out of what is summed over
    queries.

    >>> import torch
    >>> import attncost as ac
    >>> q = k = torch.zeros(1, 1, 4, 8)
    >>> found = ac.statistics(q, k, pattern=ac.Causal())
    >>> found.distance.tolist(), found.largest[0, 0, 3].item()
    ([[[0.0, 0.5, 1.0, 1.5]]], 0.25)

    Args:
        q: Queries.
        k: Keys; fewer heads than queries have are shared.
        v: Values, if the output is wanted.
        pattern: Which key each query reads; the last query stands at the last key.
        gauges: What to measure beside.
        query_mask: True where a query counts in numbers of keys and heads; all if left out. Those
            that read nothing never do.
        padded: True where a key holds padding; the mass on it is told, it is not hidden.
        **wishes: Options of `attention`; `dropout_p` may only be 0.

    Returns:
        Numbers of each query, key and head; see `Statistics`.

    Raises:
        ShapeError: If the tensors do not belong together, or hold no numbers.
        UnknownName: If there is no such option.
        UnsupportedOption: If dropout is asked for.
    """
    _check_known(gauges, wishes)
    options, marks = Options(**wishes), (query_mask, padded)
    check((q, k, v), pattern, options, marks)
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        call = subject((q, k, v), pattern, options, gauges, marks)
        return finished(call, walk(call), q.dtype)


def _check_known(gauges: object, wishes: Iterable[str]) -> None:
    if not isinstance(gauges, Gauges):
        raise ShapeError(
            "gauges must be attncost.Gauges, such as attncost.Gauges(first=1), got a "
            f"{type(gauges).__name__}."
        )
    for name in wishes:
        if name not in Wishes.__annotations__:
            raise UnknownName("option of statistics", name, _ASKED)
