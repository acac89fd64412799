"""What `benchmarks.memory` asks about: layers of 512 features and 8 heads, and two small models.

Every pattern that has defaults is a case, with those defaults. Layers for evaluation take PyTorch's
fast paths, in training mode its usual ones; nothing is dropped.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import torch
from benchmarks.counting_modules import (
    FEATURES,
    HEADS,
    VOCABULARY,
    MultiHead,
    OfTransformers,
    by_operator,
    by_sdpa,
)
from benchmarks.subjects import patterns
from torch import Tensor, nn

import attncost as ac

FORWARD: Final = "forward"
BACKWARD: Final = "forward + backward"
WAYS: Final = (FORWARD, BACKWARD)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A module and how it is called.

    Attributes:
        build: Makes the module.
        inputs: Makes its arguments, for a length.
        ways: Forward, or forward and backward, or both.
        fast: Whether it is for evaluation, and may take a fast path.
        single: Whether it is one layer.
        needs: A package without which it cannot be built; "" if there is none.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Tensor, ...]]
    ways: tuple[str, ...] = WAYS
    fast: bool = False
    single: bool = True
    needs: str = ""

    def make(self, way: str, length: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """Return the module and its arguments; it returns one number that can be learned from."""
        module = self.build().train(not self.fast)
        return (_Summed(module) if way == BACKWARD else module), self.inputs(length)

    def grad(self, way: str) -> AbstractContextManager[None]:
        """Return what it is called under."""
        return torch.no_grad() if way == FORWARD else nullcontext()


class _Summed(nn.Module):
    """The sum of all that a module returns first, as a loss would take it."""

    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, *inputs: Tensor) -> Tensor:
        """Add it up."""
        output = self.inside(*inputs)
        first: Tensor = output if isinstance(output, Tensor) else output[0]
        return first.sum()


class _Alone(nn.Module):
    """PyTorch's multi-head attention of a sequence to itself, without weights."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.MultiheadAttention(FEATURES, HEADS, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Attend."""
        out: Tensor = self.inside(x, x, x, need_weights=False)[0]
        return out


def _encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(FEATURES, HEADS, 4 * FEATURES, dropout=0.0, batch_first=True)


def _model(kind: str) -> nn.Module:
    return OfTransformers(
        kind,
        "sdpa",
        hidden_size=FEATURES,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=2 * FEATURES,
        max_position_embeddings=4096,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )


def _tokens(length: int) -> tuple[Tensor, ...]:
    return (torch.randint(VOCABULARY, (1, length)),)


def _features(length: int) -> tuple[Tensor, ...]:
    return (torch.randn(1, length, FEATURES),)


def _every() -> Iterator[tuple[str, Case]]:
    layer = partial(Case, inputs=_features)
    yield "naive", layer(build=lambda: MultiHead(by_operator))
    yield "SDPA", layer(build=lambda: MultiHead(by_sdpa))
    for name, build in (("MHA", _Alone), ("encoder layer", _encoder)):
        yield f"{name}, fast path", layer(build=build, fast=True, ways=(FORWARD,))
        yield name, layer(build=build)
    for name, pattern in patterns().items():
        yield f"ours: {name}", layer(build=partial(ac.nn.Attention, FEATURES, HEADS, pattern))
    for name in ("llama", "bert"):
        build = partial(_model, name)
        yield (
            f"2 layers of {name}",
            Case(build=build, inputs=_tokens, single=False, needs="transformers"),
        )


CASES: Final = dict(_every())
