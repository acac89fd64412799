"""The loss of a few texts as a share of that of all tokens, so that shares add up.

    loss of a micro-batch  =  sum of its cross entropies / tokens of all micro-batches of all ranks

The mean of means of micro-batches is another number: ten tokens of loss 1 and one of loss 3 make
(1 + 3) / 2 = 2, and not 13 / 11 = 1.18. See https://github.com/huggingface/transformers/pull/34191.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, distributed
from torch.nn.functional import cross_entropy, pad

from attncost.batches.labels import IGNORED
from attncost.core.errors import ShapeError


def counted_tokens(
    labels: Int[Tensor, "b n"], *, shifted: bool = True, ignore: int = IGNORED
) -> int:
    """Return how many labels of a batch count in its loss.

    >>> counted_tokens(torch.tensor([[-100, 6, 7, -100, 9]]))
    3

    Args:
        labels: One for each slot; on an accelerator, reading them waits for it.
        shifted: Whether a label is compared with the token before it, so that the first of a row
            never counts.
        ignore: The label that does not count.
    """
    return int((labels[:, int(shifted) :] != ignore).sum())


def token_loss(
    logits: Float[Tensor, "b n v"],
    labels: Int[Tensor, "b n"],
    *,
    tokens: float,
    shifted: bool = True,
    ignore: int = IGNORED,
) -> Float[Tensor, ""]:
    """Return the sum of the cross entropies of a batch over a number of tokens.

    Backward after each micro-batch adds up to the gradient of all of them in one batch:

        tokens = across_ranks(sum(counted_tokens(batch["labels"]) for batch in micro_batches))
        for batch in micro_batches:
            token_loss(logits_of(batch), batch["labels"], tokens=tokens).backward()

    Where nothing counts it is 0, and so is its gradient: the mean would be NaN.

    Args:
        logits: Of every slot; half precision is summed in float32.
        labels: One for each slot.
        tokens: What counts in all micro-batches, of all ranks if there are several.
        shifted: Whether to compare a label with the token before it.
        ignore: The label that does not count.

    Raises:
        ShapeError: If labels count and `tokens` says that none does, or is no number.
    """
    if not tokens > 0:
        _check_none(counted_tokens(labels, shifted=shifted, ignore=ignore), tokens)
    if shifted:
        # Labels move, as they are so much smaller than logits.
        labels = pad(labels[:, 1:], (0, min(1, labels.shape[1])), value=ignore)
    wide = logits if logits.dtype == torch.float64 else logits.float()
    summed = cross_entropy(
        wide.flatten(0, 1), labels.flatten().long(), ignore_index=ignore, reduction="sum"
    )
    return summed / tokens if tokens > 0 else summed


def token_shares(
    labels: Sequence[Int[Tensor, "_ _"]],
    *,
    tokens: float | None = None,
    shifted: bool = True,
    ignore: int = IGNORED,
) -> list[float]:
    """Return what the mean loss of each micro-batch is to be multiplied by, to add up to one batch.

    For models that return a mean, as those of transformers do. The mean of a micro-batch in which
    nothing counts is NaN, and stays so times its share of 0: leave it out, or, where other ranks
    wait for its backward, take `token_loss`.

        for batch, share in zip(micro_batches, token_shares([b["labels"] for b in micro_batches])):
            if share:
                (model(**batch).loss * share).backward()

    >>> token_shares([torch.ones(1, 11).long(), torch.ones(1, 2).long()], tokens=20)
    [0.5, 0.05]

    Args:
        labels: Of each micro-batch.
        tokens: What counts in all of them, from `across_ranks` if there are several ranks; counted
            here if left out.
        shifted: Whether the model compares a label with the token before it.
        ignore: The label that does not count.

    Raises:
        ShapeError: If labels count and `tokens` says that none does, or is no number.
    """
    counted = [counted_tokens(one, shifted=shifted, ignore=ignore) for one in labels]
    total = sum(counted) if tokens is None else tokens
    if not total > 0:
        _check_none(sum(counted), total)
    return [one / total if one else 0.0 for one in counted]


def across_ranks(tokens: int) -> float:
    """Return the tokens of all ranks divided by the number of ranks; without ranks, the tokens.

    Data parallelism takes the *mean* of the gradients g_r of R ranks. With T tokens in all,

        (1/R) sum_r g_r / (T/R)  =  sum_r g_r / T

    is the gradient of the whole batch, however unequal the ranks are. All ranks must call it.

    Args:
        tokens: What counts on this rank.
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        return float(tokens)
    on_cpu = "cpu" in distributed.get_backend_config()
    device = torch.device("cpu") if on_cpu else torch.accelerator.current_accelerator()
    total = torch.tensor(tokens, device=device)
    distributed.all_reduce(total)
    return int(total) / distributed.get_world_size()


def _check_none(counted: int, tokens: float) -> None:
    if counted:
        raise ShapeError(
            f"tokens must be those of all micro-batches, at least 1, got {tokens} where {counted} "
            "count: add up counted_tokens(labels) first."
        )
