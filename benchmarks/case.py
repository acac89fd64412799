"""One comparison of `benchmarks.models`: contestants that are timed in turns.

First all results that should be the same are compared. Then every contestant is visited in rounds,
those that no promise speaks of in the first three alone.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, final

import torch
from benchmarks.agreement import OtherNumbersError
from benchmarks.promise import Promise
from torch import Tensor

from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.sweep.interleaved import Samples, interleave, ratio

_AGREED: Final = 1e-4
FEWEST: Final = 3


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Case:
    """Contestants that do the same work, or what somebody would do in its place.

    Attributes:
        subject: Whose attention it is.
        where: On what.
        calls: What is timed, by contestant; the first is what the others are multiples of.
        alike: Contestants whose results must be the same.
        limits: The most that the time of one contestant may be as a multiple of another's.
        steps: Tokens that a call computes one after the other; 1 if all at once.
        nbytes: Bytes of a cache that has seen so many tokens.
        constant: The cache whose bytes must not grow, if one must not.
    """

    subject: str
    where: str
    calls: Mapping[str, Run]
    alike: tuple[tuple[str, ...], ...]
    limits: Mapping[tuple[str, str], float] = field(default_factory=dict)
    steps: int = 1
    nbytes: Mapping[tuple[str, int], int] = field(default_factory=dict)
    constant: str | None = None

    def __str__(self) -> str:
        return f"{self.subject}, {self.where}"

    def agreement(self) -> dict[str, float]:
        """Return how far each contestant is off the first one that it should be like.

        That is the largest error as a multiple of the largest number in the same tensor.

        Raises:
            OtherNumbersError: If one is not like it.
        """
        errors = {}
        for first, *others in self.alike:
            expected = list(_tensors(self.calls[first]()))
            for name in others:
                error = _off(list(_tensors(self.calls[name]())), expected)
                if not error <= _AGREED:
                    raise OtherNumbersError(f"{self}: {name} is off {first} by {error:.2g}.")
                errors[name] = error
        return errors

    def run(self, clock: Clock, rounds: int) -> Samples:
        """Return the seconds of each step."""
        found = interleave(self.calls, clock, rounds=rounds, wanted=self._wanted)
        return {
            name: {visit: seconds / self.steps for visit, seconds in one.items()}
            for name, one in found.items()
        }

    def _wanted(self, samples: Samples) -> Collection[str]:
        if min(map(len, samples.values())) < FEWEST or not self.limits:
            return samples.keys()
        return {name for pair in self.limits for name in pair}

    def promises(self, samples: Samples) -> list[Promise]:
        """Return what was promised of times and caches."""
        held = [n for (name, _), n in self.nbytes.items() if name == self.constant]
        grown = max(held) / min(held) if held else 1.0
        found = [
            Promise(
                name=f"{self}: bytes of {self.constant}, most / least",
                figure=grown,
                low=grown,
                high=grown,
                limit=1,
            )
        ] * bool(held)
        for (one, other), limit in self.limits.items():
            r = ratio(samples, one, other)
            found.append(
                Promise(
                    name=f"{self}: {one} / {other}",
                    figure=r.figure,
                    low=r.low,
                    high=r.high,
                    limit=limit,
                )
            )
        return found


def _off(found: list[Tensor], expected: list[Tensor]) -> float:
    errors = [(a - b).abs().max() / b.abs().max() for a, b in zip(found, expected, strict=True)]
    # NaN if one of them is, which `max` of numbers would overlook.
    return float(torch.stack(errors).max())


def _tensors(result: object) -> Iterator[Tensor]:
    assert isinstance(result, Tensor | tuple)
    yield from (result,) if isinstance(result, Tensor) else result


def without_gradients(call: Callable[[], Tensor]) -> Run:
    """Return a call as one makes it who does not train."""

    def run() -> Tensor:
        with torch.no_grad():
            return call()

    return run
