"""Do all contestants of `benchmarks.kernels` compute the same numbers? That is asked first.

What counts is the largest absolute error of the output to float64, which reads the same inputs. A
neighbouring pattern, one key more or less, is off by about 0.1.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import torch
from benchmarks.cells import DTYPES
from benchmarks.peers import OURS, columns, entrant
from torch._inductor.exc import InductorError

LENGTH: Final = 512
# Some times what sound kernels are off by: outputs reach 3, so a bfloat16 may be 0.008 off itself.
_MOST: Final = {"float32": 2e-5, "bfloat16": 0.04}


class OtherNumbersError(Exception):
    """A contestant computes something else than it is timed for."""


def agreement(
    only: Sequence[str], without: Collection[str]
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Return how far each contestant is off at most, by type, and which do not run and why.

    Args:
        only: Subjects.
        without: Columns that are left out.

    Raises:
        OtherNumbersError: If one is off by more than rounding can explain.
    """
    errors: dict[str, dict[str, float]] = {}
    unable: dict[str, str] = {}
    for subject in only:
        for column in (OURS, *columns(subject, without)):
            # Causal attention is a yardstick of other patterns, not the same numbers.
            if column == "causal" and subject != "causal":
                continue
            name = f"{subject}: {column}"
            try:
                found = {dtype: _error(subject, column, dtype) for dtype in DTYPES}
            except InductorError as error:
                unable[name] = str(error).partition("\n")[0]
                continue
            _judge(name, found)
            errors[name] = found
    return errors, unable


def _error(subject: str, column: str, dtype: str) -> float:
    one = entrant(subject, column, LENGTH, DTYPES[dtype])
    with torch.no_grad():
        out = one.restore(one.attend(*one.inputs))
        return float((out - one.truth()).abs().max())


def _judge(name: str, errors: Mapping[str, float]) -> None:
    for dtype, error in errors.items():
        # NaN is no number that agrees.
        if not error <= _MOST[dtype]:
            raise OtherNumbersError(
                f"{name} is off by {error:.3g} in {dtype}, at most {_MOST[dtype]:g} can be "
                "rounding: it computes something else, and its time means nothing."
            )
