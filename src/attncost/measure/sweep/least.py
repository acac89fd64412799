"""The least time that a call takes on the fastest machine there is, by its FLOPs.

    FLOPs / 10¹² a second for each thread of a CPU, 10¹⁶ for a GPU

No float32 reaches that. Engines for matrices of narrow types have a few times as many, so there it
is a quarter. It says nothing of a sensible call, which takes ten times as long and more.
"""

from typing import Final

from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case
from attncost.measure.sweep.plan import FEWEST_ROUNDS

# Calls that a cell cannot do without: one to warm up, one for its memory, and those of two rounds.
CALLS: Final = 2 + FEWEST_ROUNDS
_FASTEST: Final = {"cpu": 1e12, "cuda": 1e16}
_WIDE: Final = frozenset({"float32", "float64"})
_NARROWER: Final = 4


def least_seconds(case: Case, predicted: Predicted) -> float:
    """Return the seconds that a call takes at least.

    >>> least_seconds(Case(length=1 << 20), Predicted(linear=0, core=4 * 2**40 * 512))
    2251.799813685248
    """
    threads = case.threads if case.device == "cpu" else 1
    faster = 1 if case.dtype in _WIDE else _NARROWER
    return (predicted.linear + predicted.core) / (_FASTEST[case.device] * threads * faster)
