"""What a model says of the next token, and how a change shows there, by how much it has read.

    nats = -ln p(token | tokens before it)          perplexity = exp(mean of nats)
    divergence = sum of p ln (p / q), of what it says as it is (p) and changed (q)

A cheaper attention that loses what stands far back shows in late tokens first, so figures are told
by the number of tokens that were read before: 1 to 63, 64 to 127 and so on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.train.quality.estimate import Estimate
from attncost.train.quality.models.intervals import mean_of

BUCKET: Final = 64
# Tokens at a time, as a row of logits has a number for every word there is.
_ROWS: Final = 256


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Heard:
    """What a model says of each token of some texts but the first.

    Attributes:
        was: Nats, of the model as it is.
        now: Nats, of the changed one.
        divergence: In nats.
        same: Whether the likeliest token is the same.
    """

    was: Float[Tensor, "b t"]
    now: Float[Tensor, "b t"]
    divergence: Float[Tensor, "b t"]
    same: Bool[Tensor, "b t"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """Means over tokens before which about as much was read.

    Attributes:
        start: Tokens read, at least.
        stop: Fewer than so many.
        tokens: How many tokens are in it.
        was: Nats of the model as it is.
        now: Nats of the changed one.
        divergence: In nats.
    """

    start: int
    stop: int
    tokens: int
    was: float
    now: float
    divergence: float


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class TokenChange:
    """How what a model says of the next token changes.

    Attributes:
        was: Nats of the model as it is, mean over all tokens.
        added: Nats that the change adds.
        same: Share of tokens where the likeliest one stays the same.
        divergence: Mean over all tokens, in nats.
        buckets: By how much was read before.
    """

    was: float
    added: Estimate
    same: Estimate
    divergence: float
    buckets: tuple[Bucket, ...]


def heard(
    was: Float[Tensor, "b n w"], now: Float[Tensor, "b n w"], ids: Int[Tensor, "b n"]
) -> Heard:
    """Compare the logits of a model as it is and changed."""
    parts = []
    for start in range(0, ids.shape[1] - 1, _ROWS):
        rows = slice(start, min(start + _ROWS, ids.shape[1] - 1))
        before, after = (logits[:, rows].double().log_softmax(-1) for logits in (was, now))
        token = ids[:, rows.start + 1 : rows.stop + 1, None]
        parts.append(
            (
                -before.gather(-1, token)[..., 0],
                -after.gather(-1, token)[..., 0],
                torch.where(before.isneginf(), 0, before.exp() * (before - after)).sum(-1),
                before.argmax(-1) == after.argmax(-1),
            )
        )
    own, new, divergence, same = (torch.cat(part, 1) for part in zip(*parts, strict=True))
    return Heard(was=own, now=new, divergence=divergence, same=same)


def token_change(found: Mapping[int, Heard]) -> TokenChange:
    """Return what changed in all texts.

    Args:
        found: What was heard of each text, by its number.
    """
    texts = [found[number] for number in sorted(found)]
    counts = [one.was.numel() for one in texts]
    was = sum(float(one.was.sum()) for one in texts)
    longest = max(counts) + 1
    return TokenChange(
        was=was / sum(counts),
        added=mean_of([float((one.now - one.was).sum()) for one in texts], counts),
        same=mean_of([float(one.same.sum()) for one in texts], counts),
        divergence=sum(float(one.divergence.sum()) for one in texts) / sum(counts),
        buckets=tuple(
            _bucket(texts, start) for start in range(0, longest, BUCKET) if start < longest
        ),
    )


def _bucket(texts: list[Heard], start: int) -> Bucket:
    # The token of row i is said after i + 1 tokens.
    rows = slice(max(start - 1, 0), start + BUCKET - 1)
    tokens = sum(one.was[:, rows].numel() for one in texts)
    was, now, divergence = (
        sum(float(getattr(one, name)[:, rows].sum()) for one in texts) / tokens
        for name in ("was", "now", "divergence")
    )
    return Bucket(
        start=start, stop=start + BUCKET, tokens=tokens, was=was, now=now, divergence=divergence
    )
