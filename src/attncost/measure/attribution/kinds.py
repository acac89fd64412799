"""What kind of work an operator does, by its name.

Fused attention says what it is. Attention by hand does not: it is batched products and a softmax,
which other code has as well, so these are named for what they are.
"""

from typing import Final

ATTENTION: Final = "attention"
BATCHED: Final = "batched products"
SOFTMAX: Final = "softmax"
LINEAR: Final = "linear layers"
CONVOLUTION: Final = "convolutions"
OTHER: Final = "other operators"
BETWEEN: Final = "between operators"

# In the order in which people ask for them.
KINDS: Final = (ATTENTION, BATCHED, SOFTMAX, LINEAR, CONVOLUTION, OTHER, BETWEEN)

_KNOWN: Final = {
    "aten::bmm": BATCHED,
    "aten::baddbmm": BATCHED,
    "aten::softmax": SOFTMAX,
    "aten::_softmax": SOFTMAX,
    "aten::_softmax_backward_data": SOFTMAX,
    "aten::_safe_softmax": SOFTMAX,
    "aten::_masked_softmax": SOFTMAX,
    "aten::linear": LINEAR,
    "aten::mm": LINEAR,
    "aten::addmm": LINEAR,
    "aten::_addmm_activation": LINEAR,
    "mkldnn::_linear_pointwise": LINEAR,
    "aten::convolution": CONVOLUTION,
    "aten::convolution_backward": CONVOLUTION,
}
# Not what holds projections as well, such as `_native_multi_head_attention`.
_MORE: Final = "multi_head"


def kind_of(name: str) -> str:
    """Return the kind of an operator, or nothing if its name does not tell.

    >>> kind_of("aten::scaled_dot_product_attention"), kind_of("aten::mm"), kind_of("aten::t")
    ('attention', 'linear layers', '')
    """
    if name in _KNOWN:
        return _KNOWN[name]
    attends = "attention" in name.lower() or name.startswith("attncost::")
    return ATTENTION if attends and _MORE not in name else ""
