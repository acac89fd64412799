"""Why a way to batch is the cheapest, in one sentence."""

from dataclasses import fields
from typing import Any, Final

from attncost.batches.interface import Batching
from attncost.batches.priced import Priced
from attncost.core.units import show

_MANY: Final = 4
# So many times the pairs are none that a sentence could show.
_SAME: Final = 1.005


def dials(way: Any) -> dict[str, Any]:  # noqa: ANN401 -- each way has others
    """Return the dials of a way by name."""
    return {one.name: getattr(way, one.name) for one in fields(way)}


def told(way: Batching) -> str:
    """Write a way with its dials.

    >>> from attncost.batches.ways.padded import Padded
    >>> from attncost.batches.ways.stepped import Stepped
    >>> told(Padded(32)), told(Padded(4, multiple=8))
    ('padded (size 32)', 'padded (size 4, multiple 8)')
    >>> told(Stepped((64, 512), 8)), told(Stepped((8, 16, 32, 64, 1024), 8))
    ('stepped (widths 64/512, size 8)', 'stepped (5 widths 8…1,024, size 8)')
    """
    # Of most ways: rows that are not rounded up.
    found = {name: value for name, value in dials(way).items() if (name, value) != ("multiple", 1)}
    shown = ", ".join(_setting(name, value) for name, value in found.items())
    name = type(way).__name__.lower()
    return f"{name} ({shown})" if found else name


def reason(best: Priced, usual: Priced, tried: tuple[Priced, ...]) -> str:
    """Say what makes the best way cheaper than the usual one, and how much cheaper.

    Args:
        best: The cheapest.
        usual: What it is compared to.
        tried: All that were priced.
    """
    if best.way == usual.way:
        return f"{told_usual(best)}: {_padding(best)}, and nothing that was tried is cheaper"
    if best.seconds is not None and usual.seconds is not None:
        ratio, unit = best.seconds / usual.seconds, "seconds"
    else:
        ratio, unit = best.executed / usual.executed, "FLOPs"
    share = f"{show(ratio, 'times')} the {unit} of {told_usual(usual)}"
    return f"{told(best.way)}: {_cause(best, tried)}; {share}"


def _cause(best: Priced, tried: tuple[Priced, ...]) -> str:
    masked = "a dense document mask costs the row length squared"
    if best.way.packs and not best.masked:
        return f"{_padding(best)}, and each text attends by itself"
    if best.masked:
        pairs = show(best.waste.times_pairs, "times")
        costs = f"; {masked}, here {pairs} the pairs" if best.waste.times_pairs > _SAME else ""
        return f"{_padding(best)}{costs}"
    shared = best.calls < len(best.order)
    like = ", as texts of like length share a batch" if best.way.sorts and shared else ""
    rivals = (one for one in tried if one.masked and one.waste.times_pairs > _SAME)
    rival = next(rivals, None)
    if rival is None:
        return f"{_padding(best)}{like}"
    pairs = show(rival.waste.times_pairs, "times")
    return f"{_padding(best)}{like}; {masked}, of {told(rival.way)} {pairs} the pairs"


def _padding(priced: Priced) -> str:
    wasted = priced.waste.wasted_tokens
    return f"{show(wasted, 'percent')} padding" if wasted else "no padding"


def told_usual(priced: Priced) -> str:
    """Say what a choice is compared to; chance decides on what neither sorts nor packs."""
    by_chance = not (priced.way.sorts or priced.way.packs) and priced.order != tuple(
        sorted(priced.order)
    )
    return f"{told(priced.way)} at random" if by_chance else told(priced.way)


def _setting(name: str, value: object) -> str:
    if not isinstance(value, tuple):
        return f"{name} {_number(value)}"
    numbers = [_number(one) for one in value]
    if len(numbers) > _MANY:
        return f"{len(numbers)} {name} {numbers[0]}…{numbers[-1]}"
    return f"{name} {'/'.join(numbers)}"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
