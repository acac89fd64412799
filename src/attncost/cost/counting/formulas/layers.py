"""What whole layers cost that PyTorch runs as one operation: encoder layers and recurrent ones.

They are priced as the sum of what they would be if every step were an operation of its own: so
attention in an encoder layer has the same FLOPs in training and in the fast path of `eval`. Pairs
that a mask hides are multiplied and not useful; a mask without values hides nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, final

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.norms import NORM
from attncost.cost.counting.formulas.traffic import Argument, elements, moving, traffic
from attncost.cost.counting.masks import pairs_read
from attncost.cost.counting.registry import ATTENTION, PRODUCTS, WEIGHTS, price
from attncost.kernels.interface import SOFTMAX

# A layer norm with weight and bias.
_NORM: Final = NORM + 2
# The number that PyTorch gives to a mask of keys, for every sequence.
_HIDES_KEYS: Final = 1
# Gates of a cell, and what it does to each number of its state beside them, by PyTorch's number of
# its mode: an LSTM i g + f c and o tanh(c), a GRU r h and z (h - n) + n, a plain cell nothing.
_CELLS: Final = {2: (4, 5), 3: (3, 4)}
_PLAIN: Final = (1, 0)


@price("aten::_native_multi_head_attention", step=PRODUCTS)
def multihead(
    query: Tensor, key: Tensor, value: Tensor, d: int, heads: int, *rest: Argument, out: Argument
) -> Cost:
    """Return the cost of multi-head attention, from projections to projection."""
    sizes = _Sizes.of(query, key, heads)
    projected = 2 * (sizes.tokens + sizes.kv_tokens) * d
    products = Cost.product(projected, d, 1) + Cost(elementwise=projected)
    mask, _, _, kind = _padded(rest[4:], 4)
    moved = Cost(bytes=traffic((query, key, value, rest), out))
    attention = _attention(sizes, d // heads, mask, kind)
    return (products + moved).named(WEIGHTS) + attention.named(ATTENTION)


@price("aten::_transformer_encoder_layer_fwd", step=PRODUCTS)
def encoder_layer(x: Tensor, d: int, heads: int, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of an encoder layer: attention, feed-forward network, norms, residuals."""
    sizes = _Sizes.of(x, x, heads)
    matrices = [rest[place] for place in (0, 2, 11, 13)]
    biased = sum(weight.shape[0] for weight in matrices)
    activated = matrices[2].shape[0]
    products = Cost.product(sizes.tokens, elements(matrices), 1)
    rest_of_it = sizes.tokens * (biased + activated + 2 * d + 2 * _NORM * d)
    mask, kind = _padded(rest[15:], 2)
    attention = _attention(sizes, d // heads, mask, kind)
    others = Cost(elementwise=rest_of_it, bytes=traffic((x, rest), out))
    return (products + others).named(WEIGHTS) + attention.named(ATTENTION)


@moving("aten::mkldnn_rnn_layer", step=PRODUCTS)
def recurrent_layer(x: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of one recurrent layer in one direction."""
    return _recurrent(x, rest[:4] if rest[11] else rest[:2], mode=rest[8])


@moving("aten::mkldnn_rnn_layer_backward", step=PRODUCTS)
def recurrent_layer_backward(x: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of the gradients of a recurrent layer: of inputs, states and weights."""
    return 2 * _recurrent(x, rest[:4] if rest[16] else rest[:2], mode=rest[13])


@moving("aten::_cudnn_rnn", step=PRODUCTS)
def recurrent(x: Tensor, weights: list[Tensor], *rest: Argument, out: Argument) -> Cost:
    """Return the cost of all layers and directions of a recurrent network."""
    return _recurrent(x, weights, mode=rest[4])


@moving("aten::_cudnn_rnn_backward", step=PRODUCTS)
def recurrent_backward(x: Tensor, weights: list[Tensor], *rest: Argument, out: Argument) -> Cost:
    """Return the cost of the gradients of a recurrent network that are asked for."""
    weights_wanted = int(rest[-1][3])
    return (1 + weights_wanted) * _recurrent(x, weights, mode=rest[8])


@moving("torch_nn::_linear_cross_entropy_batch_chunked", step=PRODUCTS)
@moving("torch_nn::_linear_cross_entropy_batch_chunked_no_reduction", step=PRODUCTS)
def linear_cross_entropy(x: Tensor, weight: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of logits and their loss, and of gradients computed at once with it."""
    logits = x.shape[0] * weight.shape[0]
    once = Cost.product(logits, x.shape[1], 1) + Cost(elementwise=SOFTMAX * logits)
    of_input, of_weight, _ = (*rest[10:13], 0, 0, 0)[:3]
    return once + Cost.product(logits * (of_input + of_weight), x.shape[1], 1)


def _padded(arguments: tuple[Argument, ...], count: int) -> tuple[Argument, ...]:
    """Return so many arguments; those left out are None."""
    return (*arguments, *[None] * count)[:count]


def _recurrent(x: Tensor, weights: Sequence[Tensor], *, mode: int) -> Cost:
    """Return the cost of layers in which every token of every sequence meets all weights once."""
    tokens = prod(x.shape[:-1])
    matrices = [weight for weight in weights if weight.dim() == 2]
    gates, state = _CELLS.get(mode, _PLAIN)
    # Each layer has two matrices; their products are added, and activated.
    rows = sum(weight.shape[0] for weight in matrices)
    biases = sum(weight.shape[0] for weight in weights if weight.dim() == 1)
    each = rows + biases + rows // (2 * gates) * state
    return Cost.product(tokens, elements(matrices), 1) + Cost(elementwise=tokens * each)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class _Sizes:
    """Tokens that are there, and pairs of them over all heads; all pairs of the padded batch."""

    tokens: int
    kv_tokens: int
    padded: tuple[int, int, int, int]
    pairs: int

    @classmethod
    def of(cls, x: Tensor, y: Tensor, heads: int) -> "_Sizes":
        if not x.is_nested:
            (b, n), m = x.shape[:2], y.shape[1]
            padded = (b, heads, n, m)
            return cls(tokens=b * n, kv_tokens=b * m, padded=padded, pairs=prod(padded))
        lengths = x._nested_tensor_size()[:, 0].tolist()
        longest = max(lengths, default=0)
        return cls(
            tokens=sum(lengths),
            kv_tokens=sum(lengths),
            padded=(len(lengths), heads, longest, longest),
            pairs=heads * sum(length**2 for length in lengths),
        )


def _attention(sizes: _Sizes, head_dim: int, mask: Tensor | None, kind: int | None = None) -> Cost:
    """Return the cost of scores, softmax and weighted sums."""
    useful = sizes.pairs
    if kind == _HIDES_KEYS:
        useful = pairs_read(sizes.padded, key_mask=mask, blocks=True).pairs
    elif mask is not None:
        useful = pairs_read(sizes.padded, mask, blocks=True).pairs
    return Cost(
        useful=4 * useful * head_dim,
        executed=4 * sizes.pairs * head_dim,
        dense=4 * prod(sizes.padded) * head_dim,
        elementwise=SOFTMAX * sizes.pairs,
    )
