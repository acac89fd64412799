"""What our attention takes more where texts are packed: for a row, and for each text in it.

    seconds of a layer = those of the texts in a batch of their own + row + texts * text

It is Python, so it does not depend on how many numbers there are, but much on what ran before: in a
model products lie between two layers, after which a row takes twice as long. By then its texts
follow one another.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import torch
from torch.nn.functional import gelu, linear

from attncost.kernels.attention import attention
from attncost.measure.clocks.interface import Run

_FEW: Final = 2
_MANY: Final = 32
_TOKENS: Final = 16
_HEADS: Final = 4
_HEAD_DIM: Final = 32
# Products of so many rows, with so many weights of these sizes, between two layers.
_ROWS: Final = 16
_WEIGHTS: Final = 8
_SIZES: Final = (1536, 384)


def packing_calls() -> dict[str, Run]:
    """Return texts of a few tokens in a row, and as rows of their own, by name."""
    weights = torch.zeros(_WEIGHTS, *_SIZES, device="cpu")
    x = torch.zeros(_ROWS, _SIZES[1], device="cpu")

    def after(call: Run) -> Run:
        def both() -> None:
            for weight in weights:
                gelu(linear(x, weight))
            call()

        return both

    calls = {name(_FEW): call(_FEW) for name, call in _KINDS}
    many = {name(_MANY): call(_MANY) for name, call in _KINDS}
    return calls | many | {_cold(name): after(call) for name, call in calls.items()}


def packing_seconds(seconds: Mapping[str, float]) -> tuple[float, float]:
    """Return the seconds of a row and of a text.

    Args:
        seconds: Of each call, by the names of `packing_calls`.
    """
    first, last = (seconds[_packed(n)] - seconds[_alone(n)] for n in (_FEW, _MANY))
    cold = seconds[_cold(_packed(_FEW))] - seconds[_cold(_alone(_FEW))]
    text = max(0.0, (last - first) / (_MANY - _FEW))
    return max(0.0, max(first, cold) - _FEW * text), text


def _in_a_row(texts: int) -> Run:
    row = torch.zeros(1, _HEADS, texts * _TOKENS, _HEAD_DIM, device="cpu")
    segments = torch.arange(texts, device="cpu").repeat_interleave(_TOKENS)[None]
    return partial(attention, row, row, row, segments=segments)


def _in_rows(texts: int) -> Run:
    rows = torch.zeros(texts, _HEADS, _TOKENS, _HEAD_DIM, device="cpu")
    return partial(attention, rows, rows, rows)


def _packed(texts: int) -> str:
    return f"{texts} texts in a row"


def _alone(texts: int) -> str:
    return f"{texts} texts in rows"


def _cold(name: str) -> str:
    return f"{name}, cold"


_KINDS: Final[tuple[tuple[Callable[[int], str], Callable[[int], Run]], ...]] = (
    (_packed, _in_a_row),
    (_alone, _in_rows),
)
