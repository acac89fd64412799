"""PyTorch's `varlen_attn`: documents of any length side by side, on an NVIDIA GPU.

    time  O(b h (n_1^2 + n_2^2 + ...) d),  memory  O(b h n d)

Documents come from `segments`, or from `key_mask` if it hides padding at the ends: what is hidden
is left out instead of being multiplied. It knows half precision and full, causal and window
attention only, and where documents end must be copied to the CPU.
"""

from collections.abc import Callable, Iterator
from inspect import signature
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias, final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

from attncost.core.counts import Count, ceil_div
from attncost.core.dims import Dims
from attncost.core.options import Options, Output
from attncost.kernels.documents import Document, documents, scattered, unknown, unmasked
from attncost.kernels.interface import Call, Kernel, Work, traffic
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_MOST_FEATURES: Final = 256
# Its log-sum-exp has another shape in every version, and no gradient, which a sink would need.
_MISSING: Final = ("bias", "alibi", "softcap", "sink", "dropout_p", "return_lse")
_SHARES_HEADS: Final = "enable_gqa" in signature(varlen_attn).parameters

Attend: TypeAlias = Callable[..., Any]


@final
class Varlen(Kernel):
    """One call for all documents."""

    __slots__ = ()

    def refuses(self, call: Call) -> str | None:
        """Refuse all that PyTorch's operation does not know, and documents that are none."""
        if call.device != "cuda":
            return f"PyTorch's varlen_attn runs on NVIDIA GPUs only, not on {call.device}."
        if not isinstance(call.pattern, (Full, Causal, Window)):
            return "PyTorch's varlen_attn knows full, causal and window attention only."
        for wish in _MISSING:
            if wish in call.options.wishes():
                return f"PyTorch's varlen_attn has no {wish} that keeps our laws."
        return _odd_sizes(call.dims) or _no_documents(call)

    def caveats(self, call: Call) -> tuple[str, ...]:
        """Say that it waits for the GPU."""
        reads = call.options.segments is not None or call.options.key_mask is not None
        return ("copies where documents end to the CPU.",) if reads else ()

    def work(self, call: Call) -> Work:
        """Multiply at least what is read; of sequences that differ, the mean, rounded up."""
        dims, pattern = call.dims, call.pattern
        pairs: Count = pattern.pairs(dims.length, dims.kv_length)
        if call.options.tensors():
            jobs = _jobs(pattern, call.options, dims.batch, dims.length, dims.kv_length)
            found = (job.pattern.pairs(len(q), len(k)) for job in jobs for _, q, k in job.documents)
            pairs = ceil_div(sum(found), dims.batch)
        return Work(pairs, dims.head_dim, dims.value_dim, traffic(dims))

    def run(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g m d"],
        v: Float[Tensor, "b g m e"],
        pattern: Pattern,
        options: Options,
    ) -> Output:
        """Compute it in one call, or two if queries stand behind the keys."""
        return packed(varlen_attn, (q, k, v), pattern, options)


class _Job(NamedTuple):
    """Documents for one call; in each the last query stands at the last key, unless all is read."""

    pattern: Pattern
    documents: list[Document]


def packed(
    attend: Attend, qkv: tuple[Tensor, Tensor, Tensor], pattern: Pattern, options: Options
) -> Output:
    """Lay documents side by side, let `attend` compute them, and put the results in their places.

    Args:
        attend: Has the signature of PyTorch's `varlen_attn`.
        qkv: Queries, keys and values.
        pattern: Full, causal or a window.
        options: Those that are not refused.
    """
    (b, h, n, _), (g, m), e = qkv[0].shape, qkv[1].shape[1:3], qkv[2].shape[3]
    q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in qkv)
    out = q.new_zeros(b * n, h, e)
    # Early versions do not know the word.
    shared = {"enable_gqa": True} if h != g else {}
    for job in _jobs(pattern, options, b, n, m):
        rows, starts, longest = _laid([(one.sequence, one.queries) for one in job.documents], n)
        keys, key_starts, longest_key = _laid(
            [(one.sequence, one.keys) for one in job.documents], m
        )
        rows, starts, keys, key_starts = (x.to(q.device) for x in (rows, starts, keys, key_starts))
        found = attend(
            q.index_select(0, rows),
            k.index_select(0, keys),
            v.index_select(0, keys),
            starts,
            key_starts,
            longest,
            longest_key,
            scale=options.scale,
            window_size=_window(job.pattern),
            **shared,
        )
        out = out.index_copy(0, rows, found)
    return Output(out.view(b, n, h, e).transpose(1, 2))


def _jobs(pattern: Pattern, options: Options, b: int, n: int, m: int) -> list[_Job]:
    """Return what to call; no document is empty and every query in one reads something."""
    behind: list[Document] = []
    if options.segments is not None:
        found = [one for inside in documents(options.segments, n, m) for one in inside]
    elif options.key_mask is None or isinstance(pattern, Full):
        runs = [range(m)] * b if options.key_mask is None else unmasked(options.key_mask)
        found = [Document(i, range(n), run) for i, run in enumerate(runs)]
    else:
        ends = [(run, max(0, run.stop - m + n)) for run in unmasked(options.key_mask)]
        found = [Document(i, range(end), run) for i, (run, end) in enumerate(ends)]
        behind = [Document(i, range(end, n), run) for i, (run, end) in enumerate(ends)]
    jobs = (
        _Job(pattern, list(_trimmed(pattern, found))),
        _Job(Full(), list(_trimmed(Full(), behind))),
    )
    return [job for job in jobs if job.documents]


def _trimmed(pattern: Pattern, found: list[Document]) -> Iterator[Document]:
    """Leave out queries before the first key that they could read."""
    _, ahead = _window(pattern)
    for sequence, queries, keys in found:
        early = len(queries) - len(keys) - ahead if ahead >= 0 else 0
        reading = queries[max(0, early) :]
        if reading and keys:
            yield Document(sequence, reading, keys)


def _window(pattern: Pattern) -> tuple[int, int]:
    """Return how many keys are read before and after a query, as PyTorch spells it: -1 for all."""
    if isinstance(pattern, Window):
        return pattern.width - 1 - pattern.ahead, pattern.ahead
    return (-1, 0) if isinstance(pattern, Causal) else (-1, -1)


def _laid(
    stretches: list[tuple[int, range]], length: int
) -> tuple[Int[Tensor, "r"], Int[Tensor, "s"], int]:
    """Return the tokens of all sequences that are taken, where each stretch starts, the longest."""
    sizes = [len(stretch) for _, stretch in stretches]
    tokens = [torch.arange(x.start, x.stop) + sequence * length for sequence, x in stretches]
    starts = torch.tensor([0, *accumulate(sizes)], dtype=torch.int32)
    return torch.cat(tokens), starts, max(sizes)


def _odd_sizes(dims: Dims) -> str | None:
    """Return what is wrong with the sizes."""
    if dims.itemsize != 2:
        return "PyTorch's varlen_attn computes in half precision only."
    if dims.head_dim != dims.value_dim or dims.head_dim > _MOST_FEATURES:
        return f"PyTorch's varlen_attn needs head_dim = value_dim <= {_MOST_FEATURES}."
    if dims.heads != dims.kv_heads and not _SHARES_HEADS:
        return "PyTorch's varlen_attn shares no heads in this version."
    return (
        "there is nothing to lay out." if 0 in (dims.batch, dims.length, dims.kv_length) else None
    )


def _no_documents(call: Call) -> str | None:
    """Return why segments or padding do not make documents."""
    segments, mask = call.options.segments, call.options.key_mask
    if segments is not None and mask is not None:
        return "it makes documents from segments or from key_mask, not from both."
    if segments is not None:
        return unknown(segments) or scattered(segments)
    return None if mask is None else unknown(mask) or _holes(mask, call.pattern)


def _holes(mask: Tensor, pattern: Pattern) -> str | None:
    """Return why hidden keys are not padding that can be left out."""
    ends = unmasked(mask)
    if sum(map(len, ends)) != int(mask.sum()):
        return "key_mask hides keys between others, which cannot be left out."
    if isinstance(pattern, Window) and any(run and run.stop < mask.shape[1] for run in ends):
        return "queries behind the last key that may be read see only a part of the window."
    return None
