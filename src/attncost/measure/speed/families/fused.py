"""Fused attention, forward and backward: by queries, keys and features of a head.

    work = 4 pairs d FLOPs of a head forward, 10 backward; under `is_causal` half the pairs

PyTorch's kernel takes 32 queries at a time, 64 from 192 queries on and 256 from 768, so that its
speed has steps there; it takes 512 keys at a time.
"""

from typing import Final

import torch
from torch import Tensor

from attncost.measure.clocks.interface import Run
from attncost.measure.speed.family import Family, Place, Pool, argument, aten
from attncost.measure.speed.operation import Operation

_ATEN: Final = torch.ops.aten
_FORWARD: Final = aten("_scaled_dot_product_flash_attention_for_cpu")
_BACKWARD: Final = aten("_scaled_dot_product_flash_attention_for_cpu_backward")
_HEADS: Final = 2
_STEPS: Final = (191, 192, 767, 768)
_FEATURES: Final = (32, 64, 128)
_KEYS: Final = (64, 256, 1024)
_KNOTS: Final = {
    "plain": ((8, 32, 96, *_STEPS, 2048), _KEYS, (*_FEATURES, 192)),
    "masked": ((32, *_STEPS), _KEYS, _FEATURES),
    "causal": ((16, 64, *_STEPS, 3072), _FEATURES),
}
_BACKWARD_KNOTS: Final = {
    "plain": ((32, *_STEPS, 2048), (64, 512), _FEATURES),
    "masked": ((64, 192, 768), (64, 512), (32, 128)),
    "causal": ((64, 192, 768, 1536), _FEATURES),
}


def _sizes(point: tuple[int, ...]) -> tuple[int, int, int]:
    """Return queries, keys and features; where two are given there are as many keys as queries."""
    n, m, d = point if len(point) == 3 else (point[0], *point)
    return n, m, d


def _flops(kind: str, point: tuple[int, ...], *, back: bool) -> float:
    """Return those of one head."""
    n, m, d = _sizes(point)
    pairs = n * (n + 1) / 2 if kind == "causal" else float(n * m)
    return (10 if back else 4) * pairs * d


def _probe(kind: str, pool: Pool, point: tuple[int, ...], *, back: bool) -> Run:
    n, m, d = _sizes(point)
    q = pool.take(1, n, _HEADS, d).transpose(1, 2)
    k, v = (pool.take(1, m, _HEADS, d, at=at).transpose(1, 2) for at in (1, 2))
    mask = pool.take(1, 1, n, m, at=3) if kind == "masked" else None
    causal = kind == "causal"

    def forward() -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = _ATEN._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, causal, attn_mask=mask
        )
        return found

    if not back:
        return forward
    out, lse = forward()
    grad = pool.take(1, n, _HEADS, d, at=4).transpose(1, 2)
    return lambda: _ATEN._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, q, k, v, out, lse, 0.0, causal, attn_mask=mask
    )


def _placed(kind: str, one: Operation, *, back: bool) -> Place | None:
    q, k = one.inputs[1:3] if back else one.inputs[:2]
    if q.dtype != "float32" or _kind(one, back=back) != kind:
        return None
    (b, h, n, d), m = q.shape, k.shape[2]
    # Timed are as many keys as queries; a triangle of other sizes is read by its queries.
    point = (n, d) if kind == "causal" else (n, m, d)
    return Place(point, b * h * _flops(kind, point, back=back)) if n * m * b * h else None


def _family(kind: str, *, back: bool) -> Family:
    return Family(
        name=f"attention {kind}{' backward' if back else ''}",
        operations=_BACKWARD if back else _FORWARD,
        knots=(_BACKWARD_KNOTS if back else _KNOTS)[kind],
        least=(1,) * (2 if kind == "causal" else 3),
        probe=lambda pool, point: _probe(kind, pool, point, back=back),
        work=lambda point: _HEADS * _flops(kind, point, back=back),
        place=lambda one: _placed(kind, one, back=back),
    )


def _kind(one: Operation, *, back: bool) -> str:
    if argument(one, 7 if back else 4, "is_causal", default=False):
        return "causal"
    mask = argument(one, 8 if back else 5, "attn_mask")
    return "plain" if mask is None else "masked"


FAMILIES: Final = tuple(_family(kind, back=back) for back in (False, True) for kind in _KNOTS)
