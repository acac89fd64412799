"""How attentions, layers and figures of a swapped model are called in few words."""

from collections.abc import Sequence
from math import ceil
from typing import Final

from attncost.report.head_rows import labels
from attncost.train.quality.estimate import Estimate
from attncost.train.quality.models.results import Compared, Swapped

# Columns of attentions that stand side by side on a terminal.
_BESIDE: Final = 5


def short_names(spelled: Sequence[str]) -> dict[str, str]:
    """Return a short name of each attention, as long as they differ.

    >>> [*short_names(["window:width=33,ahead=16", "linear:feature_map=elu"]).values()]
    ['window 33', 'linear']
    >>> [*short_names(["window:width=8", "window:width=8,ahead=4"]).values()]
    ['window:width=8', 'window:width=8,ahead=4']
    """
    found = {one: _short(one) for one in spelled}
    called = [*found.values()]
    return {one: short if called.count(short) == 1 else one for one, short in found.items()}


def _short(spelled: str) -> str:
    name, _, rest = spelled.partition(":")
    value = rest.partition(",")[0].partition("=")[2]
    return f"{name} {value}" if value.isdecimal() else name


def layer_names(found: Compared) -> dict[str, str]:
    """Return a short name of each layer."""
    every = [layer.name for one in found.swapped for layer in one.layers]
    return labels([*dict.fromkeys(every)])


def chunks(swapped: Sequence[Swapped]) -> list[Sequence[Swapped]]:
    """Return groups of attentions that stand side by side."""
    most = ceil(len(swapped) / ceil(len(swapped) / _BESIDE)) if swapped else 1
    return [swapped[i : i + most] for i in range(0, len(swapped), most)]


def between(figure: Estimate) -> str:
    """Say in which interval a figure lies, if it has one.

    >>> between(Estimate(0.5, 0.41, 0.62)), between(Estimate(0.5))
    (' (0.41 to 0.62)', '')
    """
    if figure.low is None or figure.high is None:
        return ""
    return f" ({figure.low:.3g} to {figure.high:.3g})"
