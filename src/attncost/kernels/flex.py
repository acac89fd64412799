"""PyTorch's flex attention, compiled for an NVIDIA GPU, over the blocks that a pattern reads.

    time  O(b h blocks d),  memory  O(b h n d)

Blocks that nothing reads are skipped, and what decides inside the others is compiled into the
product. Each new pattern takes seconds to compile, and the index that it needs has an entry for
every block of 128 x 128, read or not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, flex_attention

from attncost.core.counts import ceil_div, counted
from attncost.core.options import Options, Output
from attncost.kernels.interface import Call, Kernel, Work, traffic
from attncost.patterns.interface import Pattern

_BLOCK: Final = 128
# What PyTorch's lowering of flex attention asks for.
_LEAST_FEATURES: Final = 16

Attend: TypeAlias = Callable[..., Any]
MaskMod: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class _Blocks(NamedTuple):
    """Blocks of queries and keys: which hold a pair that is read, and which nothing else."""

    read: Bool[Tensor, "r c"]
    full: Bool[Tensor, "r c"]


@final
@dataclass(frozen=True, slots=True)
class _Executed:
    """The pairs that a pattern makes this kernel multiply, for `counted`."""

    pattern: Pattern

    def count(self, n: int, m: int) -> int:
        return int(_blocks(self.pattern, n, m).read.sum()) * _BLOCK**2


@final
class Flex(Kernel):
    """One compiled call."""

    __slots__ = ()

    def refuses(self, call: Call) -> str | None:
        """Refuse all places but a GPU, and what cannot be compiled."""
        dims = call.dims
        if call.device != "cuda":
            return (
                "PyTorch compiles flex attention with gradients for NVIDIA GPUs only, "
                f"not for {call.device}."
            )
        if call.options.dropout_p:
            return "PyTorch's flex attention has no dropout."
        if 0 in (dims.batch, dims.length, dims.kv_length):
            return "there is nothing to compile."
        if min(dims.head_dim, dims.value_dim) < _LEAST_FEATURES:
            return f"PyTorch's flex attention needs at least {_LEAST_FEATURES} features per head."
        return "it computes in at most float32." if dims.itemsize > 4 else None

    def caveats(self, call: Call) -> tuple[str, ...]:
        """Say how long the index is, and that compiling takes time."""
        rows, columns = (ceil_div(x, _BLOCK) for x in (call.dims.length, call.dims.kv_length))
        return (
            f"keeps an index of {rows} x {columns} blocks.",
            "compiles anew for a new pattern or other options.",
        )

    def work(self, call: Call) -> Work:
        """Multiply whole blocks."""
        dims = call.dims
        pairs = counted(_Executed(call.pattern), dims.length, dims.kv_length)
        return Work(pairs, dims.head_dim, dims.value_dim, traffic(dims))

    def run(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g m d"],
        v: Float[Tensor, "b g m e"],
        pattern: Pattern,
        options: Options,
    ) -> Output:
        """Compute it in one call; a sink takes its share afterwards, by the log-sum-exp."""
        n, m = q.shape[2], k.shape[2]
        # Within a call that is being compiled it is compiled as well.
        apart = q.is_cuda and not torch.compiler.is_compiling()
        attend = _attend(compiled=apart)
        out, aux = attend(
            q,
            k,
            v,
            score_mod=_score_mod(options, m - n),
            block_mask=block_mask(pattern, options, n, m, device=q.device),
            scale=options.scale,
            enable_gqa=q.shape[1] != k.shape[1],
            return_aux=AuxRequest(lse=True),
        )
        if options.sink is not None:
            share = torch.sigmoid(aux.lse - options.sink[:, None])
            out = out * share.masked_fill(aux.lse.isneginf(), 0).to(out.dtype)[..., None]
        return Output(out, aux.lse.detach() if options.return_lse else None)


def block_mask(
    pattern: Pattern, options: Options, n: int, m: int, *, device: torch.device
) -> BlockMask:
    """Return what flex attention wants to know about what is read, from the tiles of a pattern."""
    read, full = _blocks(pattern, n, m)
    if options.key_mask is not None or options.segments is not None:
        full = torch.zeros_like(full)
    return BlockMask.from_kv_blocks(
        *_ordered(read & ~full, device),
        *_ordered(full, device),
        _BLOCK,
        _mask_mod(pattern, options, n, m),
        (n, m),
    )


@lru_cache(maxsize=64)
def _blocks(pattern: Pattern, n: int, m: int) -> _Blocks:
    """Return which blocks a pattern reads, found without looking at pairs."""
    rows, columns = (_counted(range(size))[1] for size in (n, m))
    read = torch.zeros(len(rows), len(columns), dtype=torch.bool, device="cpu")
    covered = torch.zeros(len(rows), len(columns), dtype=torch.long, device="cpu")
    for part in pattern.parts(n, m, _BLOCK):
        for tile in part.tiles:
            row, queries = _counted(tile.queries, n - m)
            for span in tile.spans:
                column, keys = _counted(span.keys)
                here = slice(row, row + len(queries)), slice(column, column + len(keys))
                pairs = queries[:, None] * keys
                read[here] |= pairs > 0
                # No pair lies in two spans, so a block is full if as many are read as it has.
                covered[here] += pairs * span.full
    return _Blocks(read, read & (covered == rows[:, None] * columns))


def _counted(positions: range, shift: int = 0) -> tuple[int, Int[Tensor, "c"]]:
    """Return the first block that holds shifted positions, and how many it and the next ones do."""
    blocks = (
        torch.arange(positions.start, positions.stop, positions.step, device="cpu") + shift
    ) // _BLOCK
    first = int(blocks[0]) if len(blocks) else 0
    return first, torch.bincount(blocks - first)


def _ordered(
    blocks: Bool[Tensor, "r c"], device: torch.device
) -> tuple[Int[Tensor, "1 1 r"], Int[Tensor, "1 1 r c"]]:
    """Return how many blocks of each row are true, and their numbers before all others."""
    numbers = blocks.int().argsort(dim=1, descending=True, stable=True).int()
    counts = blocks.sum(1).int()
    return counts[None, None].to(device), numbers[None, None].to(device)


@cache
def _attend(*, compiled: bool) -> Attend:
    attend: Attend = flex_attention
    return torch.compile(attend) if compiled else attend


def _mask_mod(pattern: Pattern, options: Options, n: int, m: int) -> MaskMod:
    """Return what decides whether a pair is read."""
    rule, key_mask, segments = pattern.mask_mod(n, m), options.key_mask, options.segments
    tokens = max(n, m)

    def mask_mod(batch: Tensor, head: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        reads = rule(batch, head, q_idx, kv_idx)
        if key_mask is not None:
            reads = reads & key_mask[batch, kv_idx]
        if segments is not None:
            mine, theirs = q_idx + (tokens - n), kv_idx + (tokens - m)
            reads = reads & (segments[batch, mine] == segments[batch, theirs])
        return reads

    return mask_mod


def _score_mod(options: Options, shift: int) -> ScoreMod | None:
    """Return what changes a score, if anything does; queries stand `shift` behind their number."""
    softcap, bias, alibi = options.softcap, options.bias, options.alibi
    if softcap is None and bias is None and alibi is None:
        return None
    # An axis of one is read at 0.
    b, h, n, m = (1, 1, 1, 1) if bias is None else (int(size != 1) for size in bias.shape)

    def score_mod(
        score: Tensor, batch: Tensor, head: Tensor, q_idx: Tensor, kv_idx: Tensor
    ) -> Tensor:
        if softcap is not None:
            score = softcap * torch.tanh(score / softcap)
        if bias is not None:
            score = score + bias[batch * b, head * h, q_idx * n, kv_idx * m].to(score.dtype)
        if alibi is not None:
            score = score - (alibi[head] * (q_idx + shift - kv_idx).abs()).to(score.dtype)
        return score

    return score_mod
