"""The tables of `benchmarks.kernels`, at most 80 columns wide."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from benchmarks.agreement import LENGTH
from benchmarks.owed import MEMORY_LENGTH, Peaks, Results
from benchmarks.peers import COLUMNS

_TYPES: Final = ("float32", "bfloat16")


def numbers(errors: Mapping[str, Mapping[str, float]]) -> None:
    """Print how exact each contestant is."""
    print(f"\nlargest error to float64 at {LENGTH} tokens")
    print(f"{'contestant':<30}" + "".join(f"{dtype:>12}" for dtype in _TYPES))
    for name, row in errors.items():
        print(f"{name:<30}" + "".join(f"{row[dtype]:>12.1e}" for dtype in _TYPES))


def times(results: Results) -> None:
    """Print the time of attncost, and as a multiple of each contestant's."""
    for (dtype, backward), cells in groupby(results, lambda cell: (cell.dtype, cell.backward)):
        direction = "forward + backward" if backward else "forward"
        print(f"\n{direction}, {dtype}: ms of attncost, and its time as a multiple of")
        print(f"{'subject':<12}{'length':>7}{'ms':>10}" + "".join(f"{c:>7}" for c in COLUMNS))
        rows = [(*item, cell.length) for cell in cells for item in results[cell].items()]
        order = list(dict.fromkeys(subject for subject, *_ in rows))
        rows.sort(key=lambda row: (order.index(row[0]), row[2]))
        for subject, found, length in rows:
            ratios = "".join(
                f"{found.ratios[c].figure:>7.3f}" if c in found.ratios else f"{'-':>7}"
                for c in COLUMNS
            )
            print(f"{subject:<12}{length:>7,}{1000 * found.seconds:>10.2f}{ratios}")


def memory(taken: Peaks) -> None:
    """Print the extra memory of the window."""
    if not taken:
        return
    print(f"\nwindow at {MEMORY_LENGTH:,}, float32: MiB of one call, and kept before it")
    print(f"{'direction':<20}{'contestant':<12}{'MiB':>8}{'kept':>8}")
    for (backward, column), found in taken.items():
        direction = "forward + backward" if backward else "forward"
        print(f"{direction:<20}{column:<12}{_middle(found, 0):>8.0f}{_middle(found, 1):>8.0f}")


def _middle(found: Sequence[tuple[float, ...]], which: int) -> float:
    return sorted(one[which] for one in found)[len(found) // 2]
