"""Small layers whole: what they take beyond their operations is what Python takes around these."""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Final, final

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attncost.kernels.attention import attention
from attncost.measure.clocks.interface import Run
from attncost.patterns.window import Window

_D_MODEL: Final = 64
_HEADS: Final = 4

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@final
class Layer(nn.Module):
    """The layer of the articles: project three times, attend in every head, project."""

    def __init__(self, attend: Attend) -> None:
        super().__init__()
        self.project = nn.ModuleList(_linear() for _ in range(4))
        self.attend = attend

    def forward(self, x: Tensor) -> Tensor:
        """Compute it."""
        q, k, v, _ = (
            rearrange(linear(x), "b n (h d) -> b h n d", h=_HEADS) for linear in self.project
        )
        joined = rearrange(self.attend(q, k, v), "b h n d -> b n (h d)")
        mixed: Tensor = self.project[3](joined)
        return mixed


def _linear() -> nn.Linear:
    linear = nn.utils.skip_init(nn.Linear, _D_MODEL, _D_MODEL, device="cpu")
    assert isinstance(linear, nn.Linear)
    for parameter in linear.parameters():
        nn.init.constant_(parameter, 1 / _D_MODEL)
    return linear


def _written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


@cache
def structures() -> dict[str, Run]:
    """Return such a layer over few tokens: fused, written out, and with tiles of our own."""
    x = torch.zeros(1, 2, _D_MODEL, device="cpu")
    tiles = partial(attention, pattern=Window(width=8), kernel="folded")
    return {
        "fused layer": partial(Layer(scaled_dot_product_attention).eval(), x),
        "written layer": partial(Layer(_written_out).eval(), x),
        "tiled layer": partial(Layer(tiles).eval(), torch.zeros(1, 128, _D_MODEL, device="cpu")),
    }


def swept(call: Run, block: Tensor) -> Run:
    """Return a call after a block of memory was gone through.

    Between the products of a real call neither its code nor Python's stays in the nearest caches.
    """

    def both() -> None:
        block.sum()
        call()

    return both
