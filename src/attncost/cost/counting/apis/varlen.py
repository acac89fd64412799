"""PyTorch's `varlen_attn`, for documents of any length that lie side by side, without padding.

    useful = heads * sum over documents of the pairs of n_i queries and m_i keys; see `packed`

`window_size=(left, right)` counts keys before and after the query, -1 without a limit, so that
`(-1, 0)` is causal. Bytes of paged keys are those of all pages, also of those that nobody reads.
"""

from collections.abc import Callable
from typing import Any, Final, final

import torch
from torch import Tensor
from torch.nn.attention import varlen

from attncost.cost.counting.apis.interface import AttentionApi, AttentionCall, Given
from attncost.cost.counting.packed import Packed, packed_call

# The second one, which writes its result where it is told, is younger.
_NAMES: Final = tuple(
    name for name in ("_varlen_attn", "_varlen_attn_out") if hasattr(varlen, name)
)


@final
class VarlenAttention(AttentionApi):
    """One call for all documents."""

    __slots__ = ()

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the operations that all calls come to."""
        packets = [getattr(torch.ops.torch_attn, name) for name in _NAMES]
        return (*packets, *(packet.default for packet in packets))

    def read(self, *args: Given, **kwargs: Given) -> tuple[AttentionCall, ...]:
        """Return one call."""
        # Where the result is written comes first, and then one floating-point tensor more.
        first = isinstance(args[3], Tensor) and args[3].is_floating_point()
        named = torch.ops.torch_attn._varlen_attn.default._schema.arguments
        given = dict(zip((one.name for one in named), args[first:], strict=False)) | kwargs
        left, right = given.get("window_size") or (-1, -1)
        packed = Packed(
            queries=given["cu_seq_q"],
            keys=given["cu_seq_k"],
            used=given.get("seqused_k"),
            longest=(int(given["max_q"]), int(given["max_k"])),
            window=(left, 0 if given.get("is_causal") else right),
        )
        return (packed_call(given["query"], given["key"], given["value"], packed),)
