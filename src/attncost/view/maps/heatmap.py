"""One matrix of attention weights, with names, a scale, and masked pairs apart from zeros."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.arrays.pooled import pooled, quantised
from attncost.view.maps.header.header import header
from attncost.view.maps.header.layers import GAUGES
from attncost.view.maps.header.notes import CONTAINS
from attncost.view.maps.header.size import MOST
from attncost.view.maps.maps import Maps
from attncost.view.maps.pictures.picture import Picture

# Weights of half precision may sum to a little more than 1.
_SLACK: Final = 1e-2
_PICKS: Final = {3: "weights[0]", 4: "weights[0, 0]"}
_MB: Final = 10**6


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Heatmap:
    """A matrix of weights to look at.

    Attributes:
        weights: A row for each query, NaN where masked.
        queries: A name for each, or none.
        keys: A name for each, or none.
        title: What stands above.
    """

    weights: NDArray[Any]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    title: str

    def html(self) -> str:
        """Return a page in which it can be looked at up close, and that requests nothing."""
        return self._page().html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page.

        Args:
            path: The file, which is replaced if it is there.

        Raises:
            StorageError: If it cannot be written.
        """
        self._page().save(path)

    def svg(self) -> str:
        """Return a picture as SVG; above 128 x 128 its cells are pooled."""
        return self._picture().svg()

    def png(self) -> bytes:
        """Return the same picture as PNG."""
        return self._picture().png()

    def __repr__(self) -> str:
        n, m = self.weights.shape
        return f"Heatmap({self.title!r}: {n:,} x {m:,} weights)"

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self._page()._repr_html_()

    def _picture(self) -> Picture:
        large = max(self.weights.shape) > GAUGES.map_size
        cells = pooled(self.weights, GAUGES.map_size) if large else self.weights
        return Picture(
            weights=cells,
            padded=np.zeros(cells.shape, bool),
            lengths=(self.weights.shape[0], self.weights.shape[1]),
            title=self.title,
            queries=self.queries,
            keys=self.keys,
        )

    def _page(self) -> Maps:
        (n, m), blocks = self.weights.shape, Blocks(MOST)
        one = n == m and self.queries == self.keys
        sequences = [_sequence("text" if one else "queries", n, self.queries)]
        if not one:
            sequences.append(_sequence("keys", m, self.keys))
        said = header(
            title=self.title,
            subtitle=f"{n:,} x {m:,} weights",
            sequences=sequences,
            layers=[self._layer(blocks, cross=not one)],
            notes=[CONTAINS] if self.queries or self.keys else [],
        )
        return Maps(said, blocks)

    def _layer(self, blocks: Blocks, *, cross: bool) -> dict[str, object]:
        (n, m), given = self.weights.shape, np.nan_to_num(self.weights)
        small, log = pooled(self.weights, GAUGES.map_size), np.log(np.where(given > 0, given, 1))
        head = {
            "number": 0,
            "group": 0,
            "weights": blocks.add(self.weights, "f32"),
            "map": blocks.add(quantised(np.nan_to_num(small), ~np.isnan(small)), "u8"),
            "measures": {},
            "received": blocks.add(given.mean(0), "f32"),
            "entropy": blocks.add(-(given * log).sum(1), "f32"),
            "price": None,
        }
        return {
            "name": self.title,
            "number": 0,
            "queries": 0,
            "keys": int(cross),
            "n": n,
            "m": m,
            "d": 0,
            "cross": cross,
            "causal": False,
            "pattern": "",
            "scale": 1,
            "softcap": None,
            "alibi": None,
            "reads": None,
            "bias": None,
            "swap": None,
            "heads": [head],
        }


def heatmap(
    weights: object,
    *,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    title: str = "",
) -> Heatmap:
    """Return a picture of one matrix of attention weights.

    >>> import attncost as ac
    >>> shown = ac.heatmap([[1.0, float("nan")], [0.25, 0.75]], queries=["a", "b"])
    >>> shown.keys, "masked" in shown.svg()
    (('a', 'b'), True)

    Args:
        weights: A tensor, an array or lists with a row for each query and a column for each key,
            NaN where masked; a zero is a weight.
        queries: A name for each query.
        keys: A name for each key; those of the queries if left out and there are as many.
        title: What stands above.

    Raises:
        ShapeError: If it is no such matrix, holds what no weight can be, or takes more than 50 MB.
    """
    found = _matrix(weights)
    n, m = found.shape
    queries = () if queries is None else tuple(queries)
    keys = (queries if n == m else ()) if keys is None else tuple(keys)
    for name, names, count in (("queries", queries, n), ("keys", keys, m)):
        if names and len(names) != count:
            raise ShapeError(f"{name} must be {count} names, one for each, got {len(names)}.")
    size = found.nbytes * 4 // 3
    if size > MOST:
        raise ShapeError(
            f"{n:,} x {m:,} weights take about {size // _MB:,} MB and may take {MOST // _MB}: "
            "show some queries and keys, or use attncost.capture and attncost.maps, which need no "
            "matrix."
        )
    return Heatmap(weights=found, queries=queries, keys=keys, title=title or "Attention weights")


def _matrix(weights: object) -> NDArray[Any]:
    if isinstance(weights, Tensor):
        weights = weights.detach().cpu().float().numpy()
    if isinstance(weights, np.ma.MaskedArray):
        weights = np.ma.filled(weights.astype(np.float32), np.nan)
    try:
        found = np.asarray(weights, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"weights must be a matrix of numbers, got {error}.") from error
    if found.ndim != 2 or not found.size:
        pick = _PICKS.get(found.ndim)
        todo = f": pick one head, such as attncost.heatmap({pick})" if pick else ""
        raise ShapeError(
            f"weights must be one matrix (queries, keys) that is not empty, got the shape "
            f"{found.shape}{todo}."
        )
    if (found < 0).any() or (found > 1 + _SLACK).any():
        raise ShapeError(
            f"weights must lie between 0 and 1, got {np.nanmin(found):.3g} to "
            f"{np.nanmax(found):.3g}: scores become weights with softmax(-1)."
        )
    return found


def _sequence(name: str, length: int, tokens: Sequence[str]) -> dict[str, object]:
    return {
        "name": name,
        "tokens": list(tokens) or [str(place) for place in range(length)],
        "documents": [],
        "padded": None,
        "grid": None,
    }
