"""Attention maps of a model as one page, exact at any length.

    4 n d bytes a head for queries and keys in 16 bits, 12 n for what is known of each token,
    at most 16 kB for its pooled map; never n m

The page multiplies queries and keys again wherever somebody looks. What it shows are weights of
rounded queries and keys; how far they may be off is measured and written into the page.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attncost.core.errors import ShapeError
from attncost.core.files import put
from attncost.view.capture.captured import UNSEEN, Captured
from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.header.calls import calls
from attncost.view.maps.header.entries import Prices, finished, gauges_of, one_of, started
from attncost.view.maps.header.header import header
from attncost.view.maps.header.measures import measures
from attncost.view.maps.header.notes import notes, subtitle
from attncost.view.maps.header.sequences import Legend, Sequences
from attncost.view.maps.header.size import MOST
from attncost.view.maps.render import framed, page
from attncost.view.seen import Seen
from attncost.view.statistics.results import Statistics


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Maps:
    """A page of attention maps.

    Attributes:
        header: What it says, as plain data of the schema attncost.maps/1.
        blocks: Its arrays, packed.
    """

    header: Mapping[str, object]
    blocks: Blocks

    def html(self) -> str:
        """Return the page, one file that needs nothing else and requests nothing."""
        return "".join(self._pieces())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page.

        Args:
            path: The file, which is replaced if it is there.

        Raises:
            StorageError: If it cannot be written.
        """
        page = "".join(self._pieces()).encode(errors="backslashreplace")
        put(Path(path), page, give="choose another file")

    def _pieces(self) -> Iterator[str]:
        return page(self.header, self.blocks)

    def __repr__(self) -> str:
        return f"Maps({self.header['title']!r}: {self.header['subtitle']})"

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return framed(self.html(), str(self.header["title"]))


def maps(
    captured: Mapping[str, tuple[Seen, ...]],
    *,
    tokens: object = None,
    sequence: int = 0,
    title: str = "",
    command: str = "",
    statistics: Mapping[str, Statistics] | None = None,
    prices: Prices | None = None,
    image: object = None,
    grid: tuple[int, int] | None = None,
) -> Maps:
    """Return the attention maps of calls that were captured, as a page.

    Of each layer it shows the calls that are as long as its last one: all of a layer that a model
    uses several times, the last step of a generation.

    >>> import torch, attncost as ac
    >>> model = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    >>> x = torch.randn(1, 5, 8)
    >>> with ac.capture(model) as captured:
    ...     _ = model(x, x, x, need_weights=False)
    >>> page = ac.maps(captured, tokens=["a", "page", "of", "five", "tokens"])
    >>> page.header["subtitle"]
    '1 layer, 2 heads, 5 tokens'

    Args:
        captured: Calls by module, as `capture` yields them.
        tokens: A list of strings, or a tuple of such lists of the source and the target of an
            encoder with a decoder; their places if left out.
        sequence: Which sequence of a batch.
        title: Of the page.
        command: The line that makes this page again, shown in it.
        statistics: Of the last call of each module, by its name, all with the same gauges; those
            that are missing are made here.
        prices: What cheaper attention would cost in each layer; those of heads are worked out here
            if left out.
        image: What a vision model saw: (rows, columns, 3) or (3, rows, columns).
        grid: Rows and columns of its patches, with or without an image; guessed from the image if
            left out.

    Raises:
        ShapeError: If something does not fit, is not finite, or makes a page larger than 50 MB.
    """
    _check_captured(captured)
    made = calls(captured, sequence=sequence)
    blocks = Blocks(MOST)
    sequences = Sequences(Legend.of(tokens, image, grid), blocks)
    known = {name: one_of(some, sequence) for name, some in (statistics or {}).items()}
    gauges = gauges_of(known)
    shown = started(made, sequences)
    sequences.check_grid()
    entries = list(finished(shown, blocks, found=known, gauges=gauges, prices=prices))
    multiplied = [(one.call, one.vectors) for one in shown]
    said = header(
        title=title or "Attention maps",
        subtitle=subtitle(multiplied),
        sequences=sequences.entries,
        layers=entries,
        command=command,
        notes=notes(captured, multiplied, sequence=sequence),
        measures=measures(gauges, longest=max(call.seen.k.shape[2] for call, _ in multiplied)),
    )
    return Maps(said, blocks)


def _check_captured(captured: object) -> None:
    if not isinstance(captured, Mapping) or not all(map(_are_calls, captured.values())):
        raise ShapeError(
            "captured must be what attncost.capture yields, a mapping such as {name: (seen,)}, got "
            f"a {type(captured).__name__}"
            f"{' of something else' if isinstance(captured, Mapping) else ''}."
        )
    if isinstance(captured, Captured) and not captured.names:
        raise ShapeError(UNSEEN)


def _are_calls(given: object) -> bool:
    return isinstance(given, tuple | list) and all(isinstance(one, Seen) for one in given)
