"""Averages over all earlier keys, from a state of fixed size instead of the keys.

    state = sum of w_j phi(k_j) v_j^T, and of w_j phi(k_j),  w_j = 2^(mu_j - R)

`mu_j` is the logarithm of key j's largest feature, `R` the greatest of those read so far: a
running one, since that of all keys would let the future change the past in its last bits, or to 0.
Tokens come in chunks: a row reads the keys of its own chunk one by one and all before them from the
state, so time and memory are O(n (c + d) d) for chunks of c. Half types are summed in float32.
"""

import math
from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.mechanisms.feature_maps import FeatureMap

# The fastest of 32, 64, 128 and 256 for 64 features a head; see docs/adr/0018.
CHUNK: Final = 64


class Past(NamedTuple):
    """All keys that were read, as a state.

    Attributes:
        largest: The running maximum `R`; the least number of its type while no key was read.
        total: The weighted sum of features.
        weighted: The weighted sum of features times values.
    """

    largest: Float[Tensor, "b g"]
    total: Float[Tensor, "b g f"]
    weighted: Float[Tensor, "b g f e"]


class Keys(NamedTuple):
    """The keys of one chunk.

    Attributes:
        features: Relative to the largest of each key.
        largest: The logarithm of that one, to base 2; -inf for a key that nobody reads.
        values: Their values.
    """

    features: Float[Tensor, "b g s f"]
    largest: Float[Tensor, "b g s"]
    values: Float[Tensor, "b g s e"]


def remembered(
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    key_mask: Bool[Tensor, "b m"] | None,
    phi: FeatureMap,
) -> Past:
    """Return the state after at least one key."""
    past = None
    for chunk in _chunks(k, v, key_mask):
        past = written(_made(*chunk, phi), past)
    assert past is not None
    return past


def averages(q: Float[Tensor, "b h n d"], past: Past, phi: FeatureMap) -> Float[Tensor, "b h n e"]:
    """Let every row read the whole state."""
    rows = [
        _divided(*_read(_features(chunk, phi), past), like=chunk) for chunk in q.split(CHUNK, 2)
    ]
    return torch.cat(rows, 2)


def causal_averages(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g n d"],
    v: Float[Tensor, "b g n e"],
    key_mask: Bool[Tensor, "b n"] | None,
    phi: FeatureMap,
    *,
    past: Past | None,
) -> tuple[Float[Tensor, "b h n e"], Keys, Past | None]:
    """Let every row read the state and the keys up to its own.

    Returns:
        The averages, the last chunk of keys, and the state before that chunk, which many callers
        need not write.
    """
    rows, keys, later = [], None, _later(k)
    for chunk, others in zip(q.split(CHUNK, 2), _chunks(k, v, key_mask), strict=True):
        past = past if keys is None else written(keys, past)
        keys = _made(*others, phi)
        rows.append(_divided(*_read_with_own(_features(chunk, phi), keys, later, past), like=chunk))
    assert keys is not None  # also of no tokens there is one chunk
    return torch.cat(rows, 2), keys, past


def written(keys: Keys, past: Past | None) -> Past:
    """Return the state after a chunk of at least one key."""
    largest = _finite(keys.largest.amax(2))
    if past is not None:
        largest = torch.maximum(largest, past.largest)
    weighed = keys.features * (keys.largest - largest[..., None]).exp2()[..., None]
    total, weighted = weighed.sum(2), weighed.mT @ keys.values
    if past is None:
        return Past(largest, total, weighted)
    kept = (past.largest - largest).exp2()[..., None]
    total = torch.addcmul(total, past.total, kept)
    return Past(largest, total, torch.addcmul(weighted, past.weighted, kept[..., None]))


def nothing_read(k: Float[Tensor, "b g _ f"], v: Float[Tensor, "b g _ e"]) -> Past:
    """Return the state before all keys."""
    (b, g, _, f), e, zeros = k.shape, v.shape[3], widened(k).new_zeros
    return Past(_finite(zeros(b, g) - math.inf), zeros(b, g, f), zeros(b, g, f, e))


def widened(x: Tensor) -> Tensor:
    """Return a half type as float32, a wider one as it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _chunks(
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    key_mask: Bool[Tensor, "b m"] | None,
) -> list[tuple[Tensor, Tensor, Tensor | None]]:
    """Cut keys, values and mask; `split` has one gradient, where slices have one each."""
    keys, values = k.split(CHUNK, 2), v.split(CHUNK, 2)
    masks = [None] * len(keys) if key_mask is None else key_mask.split(CHUNK, 1)
    return list(zip(keys, values, masks, strict=True))


def _made(
    k: Float[Tensor, "b g s d"],
    v: Float[Tensor, "b g s e"],
    mask: Bool[Tensor, "b s"] | None,
    phi: FeatureMap,
) -> Keys:
    """Return what a chunk of keys is read by."""
    if mask is None:
        return Keys(*phi.relative(widened(k)), widened(v))
    hidden = ~mask[:, None]
    k, v = (widened(x).masked_fill(hidden[..., None], 0) for x in (k, v))
    features, largest = phi.relative(k)
    return Keys(features, largest.masked_fill(hidden, -math.inf), v)


def _features(q: Float[Tensor, "b h s d"], phi: FeatureMap) -> Float[Tensor, "b h s f"]:
    """Return those of queries, whose largest cancels."""
    features, _ = phi.relative(widened(q))
    return features


def _read(
    q: Float[Tensor, "b h s f"], past: Past
) -> tuple[Float[Tensor, "b g r s e"], Float[Tensor, "b g r s 1"]]:
    """Return the weighted sum of values for features of queries, and the sum of weights."""
    (b, h, s, f), (_, g, _, e) = q.shape, past.weighted.shape
    sums = (q.reshape(b, g, h // g * s, f) @ past.weighted).view(b, g, h // g, s, e)
    weights = q.view(b, g, h // g, s, f) * past.total[:, :, None, None]
    return sums, weights.sum(-1, keepdim=True)


def _read_with_own(
    q: Float[Tensor, "b h s f"], keys: Keys, later: Float[Tensor, "c c"], past: Past | None
) -> tuple[Float[Tensor, "b g r s e"], Float[Tensor, "b g r s 1"]]:
    """Return the same for rows that read the past and the keys of their own chunk up to theirs."""
    (b, h, s, f), (_, g, _, e) = q.shape, keys.values.shape
    running = _finite(keys.largest.cummax(2).values)
    if past is not None:
        running = torch.maximum(running, past.largest[..., None])
    shares = (keys.largest[:, :, None] + later[:s, :s] - running[..., None]).exp2()
    products = (q.reshape(b, g, h // g * s, f) @ keys.features.mT).view(b, g, h // g, s, s)
    products = products * shares[:, :, None]
    weights = products.sum(-1, keepdim=True)
    sums = (products.view(b, g, h // g * s, s) @ keys.values).view(b, g, h // g, s, e)
    if past is None:
        return sums, weights
    kept = (past.largest[..., None] - running).exp2()[:, :, None, :, None]
    earlier, earlier_weights = _read(q, past)
    sums = torch.addcmul(sums, earlier, kept)
    return sums, torch.addcmul(weights, earlier_weights, kept)


def _divided(
    sums: Float[Tensor, "b g r s e"], weights: Float[Tensor, "b g r s 1"], *, like: Tensor
) -> Float[Tensor, "b h s e"]:
    """Return averages, 0 where nothing was read, in the type of the queries."""
    average = sums / weights.masked_fill(weights == 0, 1)
    return average.flatten(1, 2).to(like.dtype)


def _finite(largest: Tensor) -> Tensor:
    """Return the maximum over no key as a number, which can be subtracted from itself."""
    return largest.clamp(min=torch.finfo(largest.dtype).min)


def _later(k: Float[Tensor, "b g n d"]) -> Float[Tensor, "c c"]:
    """Return what hides the keys after each row of a chunk, where it is added to a logarithm."""
    s = min(CHUNK, k.shape[2])
    return torch.full((s, s), -math.inf, dtype=widened(k).dtype, device=k.device).triu(1)
