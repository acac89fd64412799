"""Vectors of texts, and what a change does to them: their direction, and who is near whom.

    cosine = a . b / (||a|| ||b||)

Who searches by vectors sees nothing but the order of neighbours, so that is counted too: of how
many texts the nearest other text stays the same, and how many of the nearest few do.
"""

from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from attncost.train.quality.estimate import Estimate
from attncost.train.quality.models.intervals import mean_of, share_of
from attncost.train.quality.models.reading import Pooling

_TOP: Final = 10
# With two, each is the other's nearest whatever happens.
_LEAST: Final = 3


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class VectorChange:
    """How the vectors of texts change.

    Attributes:
        cosine: Between the vector of a text and what it was, mean over texts.
        worst: The least of them.
        worst_text: Whose that is, by number.
        nearest: Share of texts whose nearest other text stays the same; None for fewer than 3.
        overlap: Share of the nearest `top` texts that stay among them, mean over texts.
        top: How many nearest texts these are: 10, or less than half of few texts.
    """

    cosine: Estimate
    worst: float
    worst_text: int
    nearest: Estimate | None
    overlap: Estimate | None
    top: int


def pooled(states: Float[Tensor, "b n c"], pooling: Pooling) -> Float[Tensor, "b c"]:
    """Return the vector of each text, of the states of its tokens."""
    if pooling == "mean":
        return states.mean(1)
    return states[:, 0] if pooling == "cls" else states[:, -1]


def vector_change(was: Float[Tensor, "t c"], now: Float[Tensor, "t c"]) -> VectorChange:
    """Return how vectors changed."""
    before, after = _unit(was), _unit(now)
    cosines = (before * after).sum(1)
    texts, top = len(was), min(_TOP, (len(was) - 1) // 2)
    nearest = overlap = None
    if texts >= _LEAST:
        own, new = _ranked(before), _ranked(after)
        nearest = share_of((own[:, 0] == new[:, 0]).tolist())
        stays = (own[:, :top, None] == new[:, None, :top]).sum((1, 2))
        overlap = mean_of((stays / top).tolist())
    return VectorChange(
        cosine=mean_of(cosines.tolist()),
        worst=float(cosines.min()),
        worst_text=int(cosines.argmin()),
        nearest=nearest,
        overlap=overlap,
        top=top,
    )


def apart(vectors: Float[Tensor, "t c"]) -> float | None:
    """Return the mean cosine of two different texts, with which that of a change compares."""
    if len(vectors) < 2:
        return None
    cosines = _unit(vectors) @ _unit(vectors).T
    return float((cosines.sum() - cosines.trace()) / (len(vectors) * (len(vectors) - 1)))


def _unit(vectors: Float[Tensor, "t c"]) -> Float[Tensor, "t c"]:
    return normalize(vectors.double(), dim=1)


def _ranked(unit: Float[Tensor, "t c"]) -> Int[Tensor, "t t"]:
    """Return the other texts of each text, nearest first, and itself at the end."""
    cosines = (unit @ unit.T).fill_diagonal_(-torch.inf)
    return cosines.argsort(dim=1, descending=True, stable=True)
