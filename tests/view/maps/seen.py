"""Calls of attention as a capture would hand them over."""

import torch

import attncost as ac
from attncost.view.seen import Seen


def call(generator, pattern=None, *, n=24, m=None, heads=(2, 2), size=1.0, **wishes):
    """Return one call with random queries and keys."""
    m, (h, g), batch = m or n, heads, wishes.pop("batch", 1)
    q = torch.randn(batch, h, n, 8, generator=generator) * size
    k = torch.randn(batch, g, m, 8, generator=generator) * size
    return Seen(
        name=wishes.pop("name", "layers.0.attention"),
        q=q,
        k=k,
        v=None,
        pattern=pattern or ac.Full(),
        cross=wishes.pop("cross", False),
        heads=tuple(range(h)),
        wishes=wishes,
    )
