"""One layer of attention in PyTorch, for `benchmarks.models`: the drop-in, and our caches."""

from functools import partial
from typing import Any, Final

import torch
from benchmarks.case import Case, without_gradients
from benchmarks.hosts import DENSE, STEPS, WIDTH
from torch import Tensor, nn

import attncost as ac
from attncost.measure.clocks.interface import Run
from attncost.nn.attention import Attention
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.multihead import MultiheadAttention
from attncost.nn.rolling_cache import RollingCache
from attncost.patterns.interface import Pattern

CONTEXT: Final = 4096
# PyTorch's module computes with SDPA in training, and in evaluation by a path of its own.
SDPA: Final = "torch"
FAST: Final = "torch, fast"
_FEATURES: Final = 512
_HEADS: Final = 8


def multihead(length: int, *, training: bool, limit: float) -> Case:
    """Return `MultiheadAttention`, where every token reads every other."""
    calls = _torch_calls(length, training=training)
    calls["drop-in"] = _called(_ours(ac.Full()), length, training=training)
    return Case(
        subject="MHA",
        where=_named(length, training=training),
        calls=calls,
        alike=(tuple(calls),),
        limits={("drop-in", name): limit for name in calls if name != "drop-in"},
    )


def multihead_window(length: int, *, training: bool, limit: float) -> Case:
    """Return `MultiheadAttention` with a window, beside PyTorch's with a causal mask."""
    later = ~ac.Causal().mask(length, length)
    calls = _torch_calls(length, training=training, attn_mask=later, is_causal=True)
    causal = tuple(calls)
    calls["window"] = _called(_ours(ac.Window(WIDTH)), length, training=training)
    alike = [causal]
    if length <= DENSE:
        masked = {"attn_mask": ~ac.Window(WIDTH).mask(length, length)}
        calls[f"{SDPA}, window"] = _not_so_fast(
            _called(_torch(), length, training=training, **masked)
        )
        alike.append((f"{SDPA}, window", "window"))
    return Case(
        subject="MHA causal",
        where=_named(length, training=training),
        calls=calls,
        alike=tuple(alike),
        limits={("window", SDPA): limit},
    )


def _torch_calls(length: int, *, training: bool, **masks: Any) -> dict[str, Run]:  # noqa: ANN401
    """Return PyTorch's module as it trains, and as it evaluates unless that takes minutes."""
    call = _called(_torch(), length, training=training, **masks)
    if training:
        return {SDPA: call}
    fast = {FAST: call} if length <= DENSE else {}
    return {SDPA: _not_so_fast(call), **fast}


def caching() -> Case:
    """Return `Attention` with a window, writing tokens behind a long text, and two caches."""
    torch.manual_seed(0)
    layer = Attention(_FEATURES, _HEADS, ac.Window(WIDTH))
    text = torch.randn(1, CONTEXT + STEPS, _FEATURES, generator=_seeded())
    caches = {"dynamic": DynamicCache(), "rolling": RollingCache(WIDTH)}
    nbytes = {}
    with torch.no_grad():
        for name, kept in caches.items():
            for part in text[:, :CONTEXT].split(WIDTH, 1):
                layer(part, cache=kept)
                nbytes[name, kept.tokens] = kept.nbytes

    def write(name: str) -> Tensor:
        new = [layer(token, cache=caches[name]) for token in text[:, CONTEXT:].split(1, 1)]
        return torch.cat(new, 1)

    return Case(
        subject="caches",
        where=f"from {CONTEXT:,}",
        calls={name: without_gradients(partial(write, name)) for name in caches},
        alike=(tuple(caches),),
        steps=STEPS,
        nbytes=nbytes,
        constant="rolling",
    )


def _torch() -> nn.MultiheadAttention:
    torch.manual_seed(0)
    return nn.MultiheadAttention(_FEATURES, _HEADS, batch_first=True)


def _ours(pattern: Pattern) -> nn.MultiheadAttention:
    layer = MultiheadAttention(_FEATURES, _HEADS, batch_first=True, pattern=pattern)
    layer.load_state_dict(_torch().state_dict())
    return layer


def _called(
    layer: nn.MultiheadAttention,
    length: int,
    *,
    training: bool,
    **masks: Any,  # noqa: ANN401 -- what `forward` takes
) -> Run:
    """Return a forward pass, in training also with the gradients of its input and weights."""
    layer.train(training)
    x = torch.randn(1, length, _FEATURES, generator=_seeded(), requires_grad=training)
    leaves, gradient = [x, *layer.parameters()], torch.randn(x.shape, generator=_seeded())

    def forward() -> Tensor:
        out: Tensor = layer(x, x, x, need_weights=False, **masks)[0]
        return out

    def train() -> tuple[Tensor, ...]:
        out = forward()
        return out.detach(), *torch.autograd.grad(out, leaves, gradient)

    return train if training else without_gradients(forward)


def _not_so_fast(call: Run) -> Run:
    """Return a call without PyTorch's fast path, which is slow at length."""

    def run() -> object:
        before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return call()
        finally:
            torch.backends.mha.set_fastpath_enabled(before)

    return run


def _named(length: int, *, training: bool) -> str:
    return f"{length:,}, " + ("training" if training else "evaluation")


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)
