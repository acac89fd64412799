"""What a model said of each text of a batch: padding left out, and views instead of copies.

    means = [states.mean(0) for states in by_text(outputs, batch)]        one vector a text

The mean of an empty text, which has no tokens, is NaN.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from jaxtyping import Shaped
from torch import Tensor

from attncost.core.errors import ShapeError


@final
class PackedRow(dict[str, Any]):
    """What a model is called with for a packed row, by keyword, beside which lies what it is not.

    A copy of its items is a batch like any other, and has forgotten `lengths`.

    >>> batch = PackedRow({"input_ids": torch.tensor([[5, 6, 7]])}, lengths=(1, 0, 2))
    >>> by_text(batch["input_ids"], batch)
    [tensor([5]), tensor([], dtype=torch.int64), tensor([6, 7])]

    Attributes:
        lengths: Tokens of each text, empty ones included and padding left out; None in a copy.
    """

    __slots__ = ("lengths",)

    def __init__(self, given: Mapping[str, Any], *, lengths: Sequence[int] | None = None) -> None:
        super().__init__(given)
        self.lengths = lengths


def by_text(outputs: Shaped[Tensor, "b n *_"], batch: Mapping[str, Any]) -> list[Tensor]:
    """Return what belongs to each text, in the order of the texts: (tokens, ...).

    Reading where texts lie waits for an accelerator once, if the batch is on one.

    >>> by_text(torch.tensor([[1, 2, 3]]), {"attention_mask": torch.tensor([[0, 1, 1]])})
    [tensor([2, 3])]

    Args:
        outputs: Whatever there is for each slot of the batch: (batch, slots, ...).
        batch: From a `PackingCollator`, known by its `lengths`, from `ac.hf.packing_collator`,
            which is a `PackedRow`, or from a `PaddingCollator` or a tokenizer, known by its
            `attention_mask`, on whichever side padding lies. It may be on another device.

    Raises:
        ShapeError: If they do not belong together, or if a mask has holes.
    """
    lengths = _lengths(batch)
    if lengths is None and "attention_mask" not in batch:
        raise ShapeError(_unknown(batch))
    slots = batch["attention_mask" if lengths is None else "input_ids"].shape
    if outputs.shape[:2] != slots:
        raise ShapeError(
            f"outputs must have {tuple(slots)} as their first axes, those of the batch, got "
            f"{tuple(outputs.shape)}: pass what the model returns for each token."
        )
    if lengths is not None:
        return list(outputs[0, : sum(lengths)].split(lengths))
    runs = _runs(batch["attention_mask"])
    return [row[start:stop] for row, (start, stop) in zip(outputs, runs, strict=True)]


def _lengths(batch: Mapping[str, Any]) -> list[int] | None:
    """Return the tokens of each text of a packed row."""
    if isinstance(batch, PackedRow):
        return None if batch.lengths is None else [*batch.lengths]
    if "lengths" not in batch or "segments" not in batch:
        return None
    found: list[int] = batch["lengths"].tolist()
    return found


def _unknown(batch: Mapping[str, Any]) -> str:
    if "cu_seq_lens_q" in batch:
        return (
            "cu_seq_lens_q says neither which texts are empty nor what is padding: pass the batch "
            "that the collator made, got a copy of what is in it."
        )
    return (
        "a batch must say where its texts lie, by lengths and segments (packed) or by "
        f"attention_mask (padded), got {', '.join(batch) or 'nothing'}."
    )


def _runs(mask: Shaped[Tensor, "b n"]) -> list[tuple[int, int]]:
    """Return where the tokens of each row begin and end."""
    real = mask != 0
    before, behind = ((x.cumsum(1) == 0).sum(1) for x in (real, real.flip(1)))
    numbers: list[list[int]] = torch.stack((before, behind, real.sum(1)), 1).tolist()
    slots, runs = mask.shape[1], []
    for row, (start, end, tokens) in enumerate(numbers):
        if tokens and start + tokens + end != slots:
            raise ShapeError(
                f"attention_mask must hide padding before or behind a text, got row {row} with "
                "hidden tokens inside: take outputs[mask] for what is no text any more."
            )
        runs.append((start, start + tokens))
    return runs
