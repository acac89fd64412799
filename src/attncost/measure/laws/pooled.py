"""Several runs of one machine as one: their rounds follow each other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from attncost.core.errors import ShapeError
from attncost.measure.store.differences import differences
from attncost.measure.store.sample import Sample

Read: TypeAlias = tuple[Mapping[str, Any], Sequence[Sample]]


def pooled(runs: Mapping[str, Read], *, across_environments: bool = False) -> list[Sample]:
    """Return the samples of all runs, with the rounds of each behind those of the one before.

    Args:
        runs: Environment and samples of each, by the name that messages give it.
        across_environments: Whether to pool what was measured under other conditions, too.

    Raises:
        ShapeError: If two runs were measured under other conditions and nobody asked for that.
    """
    first, *others = runs
    for name in () if across_environments else others:
        differing = differences(runs[first][0], runs[name][0])
        if differing:
            raise ShapeError(
                f"{name} was not measured as {first} was ({'; '.join(differing)}): fit them one "
                "at a time, or pool them all the same with --across-environments."
            )
    samples: list[Sample] = []
    for _, taken in runs.values():
        begin = 1 + max((one.round for one in samples), default=-1)
        samples += [replace(one, round=begin + one.round) for one in taken]
    return samples
