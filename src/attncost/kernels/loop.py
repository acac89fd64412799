"""Packed documents one by one, each as if it were alone.

    time  O(b h (n_1^2 + n_2^2 + ...) d),  memory  O(b h n d)

Tokens of different documents never meet, so nothing between them is multiplied. It is a loop in
Python: thousands of documents of a few tokens take longer than their products.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.core.counts import Count, ceil_div, larger
from attncost.core.dims import Dims
from attncost.core.options import Options, Output
from attncost.kernels.documents import Document, documents, scattered, unknown
from attncost.kernels.folded import Folded
from attncost.kernels.interface import Call, Kernel, Work
from attncost.kernels.sdpa import Sdpa
from attncost.patterns.interface import Pattern

# From here on tiles are faster than a mask: under a window of 64, 8 heads of 64, on one CPU core.
_SHORT: Final = 256


@final
class Loop(Kernel):
    """One call of another kernel for each document."""

    __slots__ = ()

    def refuses(self, call: Call) -> str | None:
        """Refuse what is no documents, and what changes when a document stands alone."""
        dims, options = call.dims, call.options
        if options.segments is None:
            return "it takes documents one by one, and there are no segments."
        if not call.pattern.relative:
            return "what a document reads under this pattern depends on where it stands."
        if options.dropout_p:
            return "what dropout drops in a document depends on where it stands."
        if 0 in (dims.batch, dims.length, dims.kv_length):
            return "there is nothing in the documents."
        return unknown(options.segments) or scattered(options.segments)

    def caveats(self, call: Call) -> tuple[str, ...]:
        """Pass on what the kernels of the documents say."""
        found = [line for one, _ in _calls(call) for line in _kernel(one).caveats(one)]
        return ("takes documents one by one in Python.", *dict.fromkeys(found))

    def work(self, call: Call) -> Work:
        """Do what the documents take; of sequences that differ, the mean, rounded up."""
        dims, widest = call.dims, larger(call.dims.head_dim, call.dims.value_dim)
        if call.options.segments is None:
            return Sdpa().work(call)
        works = [(_kernel(one).work(one), number) for one, number in _calls(call)]
        pairs: Count = ceil_div(sum(work.pairs * number for work, number in works), dims.batch)
        return Work(pairs, widest, widest, sum(work.bytes * number for work, number in works))

    def run(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g m d"],
        v: Float[Tensor, "b g m e"],
        pattern: Pattern,
        options: Options,
    ) -> Output:
        """Cut, compute, join; all is cut at once, for else every piece had a gradient of all."""
        assert options.segments is not None, "`refuses` was asked"
        found = documents(options.segments, q.shape[2], k.shape[2])
        sequences = zip(found, q.split(1), k.split(1), v.split(1), strict=True)
        alone, bias = _Alone(pattern, options), options.bias
        return _joined([_sequence(alone, inside, bias, qkv) for inside, *qkv in sequences], 0)


@final
class _Alone:
    """What computes documents that stand alone; chosen once for each size, where nothing differs.

    Choosing takes as long as a document of some tokens.
    """

    __slots__ = ("_alike", "_kernels", "_options", "_pattern")

    def __init__(self, pattern: Pattern, options: Options) -> None:
        self._pattern, self._options = pattern, options
        differ = options.key_mask is not None or options.bias is not None
        self._alike = None if differ else replace(options, segments=None)
        self._kernels: dict[tuple[int, int], Kernel] = {}

    def document(self, one: Document, bias: Tensor | None, qkv: Sequence[Tensor]) -> Output:
        """Compute one document, which has queries; it may have no keys."""
        q, k, v = qkv
        options = self._alike or _options(self._options, one, bias)
        if not one.keys:
            lse = q.new_full(
                q.shape[:3], -math.inf, dtype=torch.promote_types(q.dtype, torch.float32)
            )
            out = q.new_zeros(*q.shape[:3], v.shape[3])
            return Output(out, lse if options.return_lse else None)
        size = len(one.queries), len(one.keys)
        kernel = self._kernels.get(size) if self._alike else None
        if kernel is None:
            dims = Dims.of(q.shape, k.shape, v.shape, itemsize=q.element_size())
            grad = any(x.requires_grad for x in qkv)
            kernel = _kernel(Call(self._pattern, dims, options, q.device.type, grad))
            self._kernels[size] = kernel
        return kernel.run(q, k, v, self._pattern, options)


def _sequence(
    alone: _Alone, inside: list[Document], bias: Tensor | None, qkv: Sequence[Tensor]
) -> Output:
    """Compute the documents of one sequence."""
    q, k, v = qkv
    queries = [len(document.queries) for document in inside]
    keys = [len(document.keys) for document in inside]
    cuts = q.split(queries, 2), k.split(keys, 2), v.split(keys, 2)
    outputs = [
        alone.document(document, own, parts)
        for document, own, *parts in zip(inside, _biases(bias, inside), *cuts, strict=True)
        if document.queries
    ]
    return _joined(outputs, 2)


def _joined(outputs: list[Output], axis: int) -> Output:
    """Put outputs side by side."""
    if len(outputs) == 1:
        return outputs[0]
    lses = [output.lse for output in outputs if output.lse is not None]
    return Output(
        torch.cat([output.out for output in outputs], axis),
        torch.cat(lses, axis) if lses else None,
    )


def _kernel(call: Call) -> Kernel:
    """Return what computes a document: never n x m scores or masks of a long one."""
    sdpa = Sdpa()
    short = call.dims.kv_length < _SHORT or not sdpa.caveats(call)
    return sdpa if short and sdpa.refuses(call) is None else Folded()


def _calls(call: Call) -> Iterator[tuple[Call, int]]:
    """Give the call of each size of documents, and how many are of that size."""
    segments, dims = call.options.segments, call.dims
    if segments is None:
        return
    alike: dict[tuple[int, int], list[Document]] = {}
    for inside in documents(segments, dims.length, dims.kv_length):
        for one in inside:
            alike.setdefault((len(one.queries), len(one.keys)), []).append(one)
    for (n, m), same in alike.items():
        if n and m:
            rows, bias = same[0].queries, call.options.bias
            if bias is not None and bias.shape[2] != 1:
                bias = bias[:, :, rows.start : rows.stop]
            options = _options(call.options, same[0], bias)
            alone = replace(dims, batch=1, length=n, kv_length=m)
            yield replace(call, dims=alone, options=options), len(same)


def _biases(bias: Tensor | None, inside: list[Document]) -> list[Tensor | None]:
    """Return the bias of the queries of each document of a sequence."""
    if bias is None or bias.shape[2] == 1:
        return [bias] * len(inside)
    return list(bias.split([len(document.queries) for document in inside], 2))


def _options(options: Options, document: Document, bias: Tensor | None) -> Options:
    """Return what is wished for in one document, from the bias of its queries."""
    i, keys = document.sequence, slice(document.keys.start, document.keys.stop)
    if bias is not None and bias.shape[0] != 1:
        bias = bias[i : i + 1]
    if bias is not None and bias.shape[3] != 1:
        bias = bias[..., keys]
    mask = options.key_mask
    if mask is not None:
        mask = mask[i : i + 1, keys]
    return replace(options, segments=None, key_mask=mask, bias=bias)
