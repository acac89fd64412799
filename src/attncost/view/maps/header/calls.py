"""Which of the calls that were seen a page shows, and which of their sequences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.view.prices.pieces import one_sequence
from attncost.view.seen import Seen

_NUMBER: Final = re.compile(r"(?:^|\.)(\d+)(?:\.|$)")


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Call:
    """One call that is shown.

    Attributes:
        module: The module that made it.
        number: Of the layer in the model, as far as its name tells.
        nth: Its number among the calls of its module that are shown; None if it is the only one.
        last: Whether it is the last one of its module.
        seen: Its one sequence.
        source: Whether it belongs to the encoder beside a decoder; None if there is no decoder.
    """

    module: str
    number: int
    nth: int | None
    last: bool
    seen: Seen
    source: bool | None = None

    @property
    def title(self) -> str:
        """What it is called: its module, with the number of the call if there are several."""
        name = self.module or "the model"
        return name if self.nth is None else f"{name} (call {self.nth})"


def calls(captured: Mapping[str, tuple[Seen, ...]], *, sequence: int = 0) -> tuple[Call, ...]:
    """Return the calls that a page shows: of each module those as long as its last one.

    A layer that a model uses several times has several; of a generation the last step remains.

    Args:
        captured: All calls by module, in order.
        sequence: Which sequence of a batch.

    Raises:
        ShapeError: If there is nothing to show, or no such sequence.
    """
    made = {name: some for name, some in captured.items() if some}
    if not made:
        raise ShapeError(
            "no calls of attention were kept, so there is nothing to show: run the model inside "
            "`with attncost.capture(model) as captured:`, and leave rows= out."
        )
    crossing = any(some[-1].cross for some in made.values())
    return tuple(
        replace(call, source=_is_source(call) if crossing else None)
        for place, (name, some) in enumerate(made.items())
        for call in _of_module(name, some, _number(name, place), sequence)
    )


def decoder(calls: Sequence[Call]) -> Call | None:
    """Return a call of a decoder on its own tokens, which says which are padding; None without."""
    return next((call for call in calls if call.source is False and not call.seen.cross), None)


def _number(name: str, place: int) -> int:
    found = _NUMBER.search(name)
    return int(found[1]) if found else place


def _of_module(name: str, made: tuple[Seen, ...], number: int, sequence: int) -> Iterator[Call]:
    last = made[-1]
    if not 0 <= sequence < len(last.q):
        raise ShapeError(
            f"sequence must lie in [0, {len(last.q)}), as {name!r} saw a batch of "
            f"{len(last.q)}, got {sequence}."
        )
    alike = [one for one in made if (one.q.shape, one.k.shape) == (last.q.shape, last.k.shape)]
    for place, one in enumerate(alike):
        yield Call(
            module=name,
            number=number,
            nth=place + 1 if len(alike) > 1 else None,
            last=one is last,
            seen=one_sequence(one, sequence),
        )


def _is_source(call: Call) -> bool:
    return not call.seen.cross and "encoder" in call.module and "decoder" not in call.module
