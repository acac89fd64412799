"""Who takes part in `benchmarks.kernels`: attncost and its peers, each in its own best form.

What a peer needs beside its inputs (a dense mask, a block mask, padded inputs) is made before its
time starts; attncost makes what it needs inside, and keeps plans and small masks for the next call,
as between the layers of a model. A mask is handed over as numbers, which spares PyTorch the
conversion. local-attention gets a bucket of 256, so that it need not pad; it then reads 257 keys,
and is checked against that.
"""

import math
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final, final

import torch
from benchmarks.flex import SUBJECTS as FLEXIBLE
from benchmarks.flex import flex
from benchmarks.subjects import (
    definition,
    document_lengths,
    inputs,
    layer,
    layer_by_hand,
    mask_of,
    pattern_of,
    segments,
)
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

import attncost as ac

OURS: Final = "attncost"
# What the tables compare with: PyTorch's fused attention, causal, plain, under a dense mask and
# over padded documents; compiled flex_attention, local-attention and nn.MultiheadAttention.
COLUMNS: Final = ("causal", "SDPA", "+mask", "flex", "local", "padded", "MHA")
_BUCKET: Final = 256


@final
@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """One way to compute one subject.

    Attributes:
        attend: What is timed.
        inputs: Its arguments.
        truth: Computes the same in float64.
        restore: Lays the output out as `truth` does.
    """

    attend: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]
    truth: Callable[[], Tensor]
    restore: Callable[[Tensor], Tensor] = field(default=lambda out: out)


def missing() -> dict[str, str]:
    """Return the columns that cannot be measured here, and why."""
    reasons = {}
    if find_spec("local_attention") is None:
        reasons["local"] = "local-attention is not installed; `make bench` does that."
    if shutil.which("g++") is None:
        reasons["flex"] = "flex_attention needs g++ to be compiled for a CPU."
    return reasons


def judged(subject: str, column: str) -> bool:
    """Say whether a column computes what the subject is, so that the best of them is its rival."""
    return column not in ("causal", "padded") or subject == column


def columns(subject: str, without: Collection[str] = ()) -> list[str]:
    """Return what a subject is compared with, but for columns or `subject: column` left out."""
    special = {
        "full": ("SDPA",),
        "causal": ("causal",),
        "window": ("causal", "+mask", "flex", "local"),
        "documents": ("padded", "+mask", "flex"),
        "layer": ("MHA",),
    }
    return [
        column
        for column in special.get(subject, ("causal", "+mask", "flex"))
        if column not in without
        and f"{subject}: {column}" not in without
        and (column != "flex" or subject in FLEXIBLE)
    ]


def entrant(subject: str, column: str, n: int, dtype: torch.dtype) -> Entrant:
    """Make one contestant ready: attncost, or one of the columns of a subject."""
    if subject == "layer":
        return _layer(column, n, dtype)
    if column == "padded":
        return _padded(n, dtype)
    q, k, v = inputs(n, dtype)
    reads = "causal" if column == "causal" else subject
    ways: dict[str, Callable[[str, int, torch.dtype], Callable[..., Tensor]]] = {
        OURS: _ours,
        "causal": lambda *_: lambda q, k, v: sdpa(q, k, v, is_causal=True),
        "SDPA": lambda *_: sdpa,
        "+mask": _masked,
        "flex": lambda subject, n, _: flex(subject, n),
        "local": lambda *_: _local(),
    }

    def truth() -> Tensor:
        mask = ac.Window(_BUCKET + 1).mask(n, n) if column == "local" else mask_of(reads, n)
        return definition(q, k, v, mask)

    return Entrant(ways[column](subject, n, dtype), (q, k, v), truth)


def _ours(subject: str, n: int, _: torch.dtype) -> Callable[..., Tensor]:
    if subject == "documents":
        packed = segments(n)[None]
        return lambda q, k, v: ac.attention(q, k, v, segments=packed)
    pattern = pattern_of(subject)
    return lambda q, k, v: ac.attention(q, k, v, pattern)


def _masked(subject: str, n: int, dtype: torch.dtype) -> Callable[..., Tensor]:
    mask = torch.zeros(n, n, dtype=dtype).masked_fill_(~mask_of(subject, n), -math.inf)
    return lambda q, k, v: sdpa(q, k, v, attn_mask=mask)


@cache
def _local() -> Callable[..., Tensor]:
    local: Callable[..., Tensor] = import_module("local_attention").LocalAttention(
        _BUCKET,
        causal=True,
        look_backward=1,
        look_forward=0,
        exact_windowsize=True,
        autopad=True,
        use_rotary_pos_emb=False,
    )
    return local


def _padded(n: int, dtype: torch.dtype) -> Entrant:
    """Compute every document as a row of a batch, padded to the longest."""
    lengths, packed = torch.tensor(document_lengths(n)), inputs(n, dtype)
    real = torch.arange(int(lengths.max())) < lengths[:, None]

    def pad(x: Tensor) -> Tensor:
        rows = torch.zeros(*real.shape, *x.shape[1::2], dtype=dtype)
        rows[real] = x[0].transpose(0, 1)
        return rows.transpose(1, 2).contiguous()

    mask = torch.zeros(real.shape, dtype=dtype).masked_fill_(~real, -math.inf)[:, None, None]
    return Entrant(
        lambda q, k, v: sdpa(q, k, v, attn_mask=mask),
        tuple(map(pad, packed)),
        lambda: definition(*packed, mask_of("documents", n)),
        lambda out: out.transpose(1, 2)[real].transpose(0, 1)[None],
    )


def _layer(column: str, n: int, dtype: torch.dtype) -> Entrant:
    """Compute a whole layer: PyTorch's own, or ours between the same projections."""
    module, pattern = layer(dtype), pattern_of("layer")
    x = inputs(n, dtype)[0].transpose(1, 2).flatten(2)
    attend: Callable[[Tensor], Tensor]
    if column == OURS:
        attend = lambda x: layer_by_hand(module, x, pattern)  # noqa: E731
    else:
        attend = lambda x: module(x, x, x, need_weights=False)[0]  # noqa: E731
    return Entrant(attend, (x,), lambda: layer_by_hand(module, x, None))
