"""How fast approximations are, beside PyTorch's fused attention and beside peers.

One sequence, 8 heads of 64, forward without gradients, in turns in one process.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import torch
from benchmarks.promise import Promise
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from attncost.core.dims import Dims
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.measure.laws.fit import fit_law
from attncost.measure.laws.law import Law
from attncost.measure.laws.predicted import Predicted
from attncost.measure.sweep.interleaved import Samples, interleave, ratio
from attncost.mechanisms.linear import Linear
from attncost.mechanisms.linformer import Linformer

HEADS: Final = 8
FEATURES: Final = 64
LENGTHS: Final = (512, 1024, 2048, 4096, 8192, 16384)
RANK: Final = 256
LOW_RANK_LENGTH: Final = 8192
LOW_RANK_LIMIT: Final = 0.20
# The power of the length that still counts as linear, with the noise of a shared machine.
EXPONENT_LIMIT: Final = 1.05
OURS: Final = "linear, causal"
SDPA: Final = "SDPA, causal"
# Dense attention and the slowest peers take minutes beyond these, or n x d x d numbers.
_LONGEST_DENSE: Final = 8192
_PEERS: Final = {
    "performer": ("performer_pytorch", 8192),
    "linear-attention-transformer": ("linear_attention_transformer", 2048),
}

Calls = dict[str, Callable[[], object]]


def causal(length: int) -> Calls:
    """Return the contestants that read the past alone."""
    q, k, v = _qkv(length)
    calls: Calls = {OURS: partial(Linear(causal=True).attend, q, k, v, {})}
    calls["linear, softmax features"] = partial(
        Linear(feature_map="softmax", causal=True).attend, q, k, v, {}
    )
    if length <= _LONGEST_DENSE:
        calls[SDPA] = partial(sdpa, q, k, v, is_causal=True)
    for name, (_, longest) in _PEERS.items():
        if length <= longest and name not in absent():
            calls[name] = _peer(name, q, k, v)
    return calls


def low_rank() -> Calls:
    """Return Linformer and what it replaces."""
    q, k, v = _qkv(LOW_RANK_LENGTH)
    mechanism, generator = Linformer(RANK), torch.Generator().manual_seed(1)
    learned = {
        name: torch.randn(shape, generator=generator) * shape[-1] ** -0.5
        for name, shape in mechanism.parameters(Dims.of(q.shape, k.shape, v.shape)).items()
    }
    return {
        "Linformer": partial(mechanism.attend, q, k, v, learned),
        "SDPA, full": partial(sdpa, q, k, v),
    }


def timed(rounds: int, lengths: Sequence[int] = LENGTHS) -> dict[str, Samples]:
    """Time all of them; the samples by a title, the length or Linformer's."""
    clock = clock_for("cpu")
    found = {}
    with threads(1), torch.inference_mode():
        for length in lengths:
            calls = causal(length)
            found[f"{length}"] = interleave(calls, clock, rounds=rounds, wanted=lambda _: [*calls])  # noqa: B023
        calls = low_rank()
        found["low rank"] = interleave(calls, clock, rounds=rounds, wanted=lambda _: [*calls])
    return found


def law(found: dict[str, Samples]) -> Law:
    """Fit the law of our causal linear attention to all lengths."""
    mechanism = Linear(causal=True)
    seconds = {
        int(title): [*samples[OURS].values()]
        for title, samples in found.items()
        if title.isdecimal()
    }

    def flops(length: int) -> Predicted:
        dims = Dims(heads=HEADS, length=length, head_dim=FEATURES)
        return Predicted(linear=int(mechanism.cost(dims).executed), core=0)

    return fit_law(seconds, predicted=flops, formula="the FLOPs of its chunks")


def promises(found: dict[str, Samples]) -> list[Promise]:
    """Return what is promised of time."""
    end = law(found).long_end.measured
    owed = [
        Promise(
            name="power of n, causal linear attention",
            figure=end.value or 0.0,
            low=end.low or 0.0,
            high=end.high or 0.0,
            limit=EXPONENT_LIMIT,
        ),
        _promise(found["low rank"], "Linformer", "SDPA, full", LOW_RANK_LIMIT, LOW_RANK_LENGTH),
    ]
    for title, samples in found.items():
        dense = (SDPA,) if title == f"{_LONGEST_DENSE}" else ()
        owed += [
            _promise(samples, OURS, other, 1.0, int(title))
            for other in (*_PEERS, *dense)
            if title.isdecimal() and other in samples
        ]
    return owed


def wins_from(found: dict[str, Samples]) -> int | None:
    """Return the length from which ours surely takes less time than SDPA, of those measured."""
    first = None
    for title in sorted((t for t in found if t.isdecimal()), key=int, reverse=True):
        if SDPA not in found[title]:
            continue
        if ratio(found[title], OURS, SDPA).high >= 1:
            break
        first = int(title)
    return first


def absent() -> tuple[str, ...]:
    """Return the peers that are not installed."""
    return tuple(name for name, (module, _) in _PEERS.items() if find_spec(module) is None)


def _promise(samples: Samples, one: str, other: str, limit: float, length: int) -> Promise:
    of = ratio(samples, one, other)
    name = f"{one} / {other}, n = {length:,}"
    return Promise(name=name, figure=of.figure, low=of.low, high=of.high, limit=limit)


def _peer(name: str, q: Tensor, k: Tensor, v: Tensor) -> Callable[[], object]:
    """Return the causal linear attention of a peer; it computes other features than ours."""
    if name == "performer":
        fast: Any = import_module("performer_pytorch").FastAttention(FEATURES, causal=True)
        return partial(fast, q, k, v)
    home = import_module("linear_attention_transformer.linear_attention_transformer")
    # With its usual buckets of 64 a row reads none of the keys of its own bucket; its modules, and
    # so we, take buckets of 1, the only ones with which it is causal linear attention.
    return partial(home.causal_linear_attn, q, k, v, bucket_size=1)


def _qkv(length: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, HEADS, length, FEATURES, generator=generator)
    return q, k, v
