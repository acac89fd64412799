"""`attncost.attention`: what its kernel says that it does.

    useful = pairs that pattern, masks and a bias of -inf leave; executed, bytes = `Kernel.work`

The kernel is the one that would run here, chosen as `attention` chooses it; a kernel that pads
features multiplies the padding as well.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, final

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.options import Options
from attncost.cost.counting.apis.interface import (
    AttentionApi,
    AttentionCall,
    Given,
    itemsize,
    learns,
)
from attncost.cost.counting.vmapped import lanes
from attncost.kernels.attention import attention
from attncost.kernels.calls import checked
from attncost.kernels.choose import every, ranked
from attncost.kernels.interface import Call, Kernel
from attncost.kernels.read_pairs import read_pairs
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern


@final
class Attention(AttentionApi):
    """One call of one of our kernels."""

    __slots__ = ()

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the function."""
        return (attention,)

    def read(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        pattern: Pattern = Full(),
        *,
        kernel: str = "auto",
        **wishes: Given,
    ) -> tuple[AttentionCall, ...]:
        """Return one call.

        Raises:
            ShapeError: If the tensors do not belong together.
            UnsupportedOption: If the kernel asked for cannot honour the call.
            UnknownName: If there is no such kernel.
        """
        options = Options(**wishes)
        # Whoever counts operations shall not meet those of looking at masks.
        with _disable_current_modes(), torch.no_grad():
            call = _call(q, k, v, pattern, options)
            found = called(call, every()[ranked(call, kernel)[0]])
        repeats = lanes(q, k, v, *options.tensors())
        return (
            replace(
                found,
                dims=replace(call.dims, batch=call.dims.batch * repeats),
                useful=found.useful * repeats,
                executed=found.executed * repeats,
                bytes=found.bytes * repeats,
                learns=(learns(q), learns(k), learns(v)),
                learns_bias=learns(options.bias) or learns(options.alibi),
            ),
        )


def called(call: Call, kernel: Kernel) -> AttentionCall:
    """Return what a kernel does of a call, forward."""
    dims, work, read = call.dims, kernel.work(call), read_pairs(call)
    return AttentionCall(
        dims=dims,
        useful=read.pairs,
        executed=dims.batch * dims.heads * work.pairs,
        bytes=work.bytes,
        padded=(work.head_dim, work.value_dim),
        unknown=read.unknown,
    )


def _call(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, options: Options) -> Call:
    """Return the call as the kernel gets it: under autocast of a narrower type."""
    grad = any(x.requires_grad for x in (q, k, v))
    if itemsize(q) != q.itemsize:
        narrow = torch.get_autocast_dtype(q.device.type)
        q, k, v = (torch.empty_like(x, dtype=narrow) for x in (q, k, v))
    return replace(checked(q, k, v, pattern, options), grad=grad)
