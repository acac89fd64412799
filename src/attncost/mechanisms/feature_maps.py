"""Feature maps of linear attention: what a query and a key become so that their product weighs.

    elu       phi(x) = elu(x) + 1, which is exp(x) below 0 and 1 + x above it
    softmax   phi(x) = exp(x) / sum(exp(x)), over the features of one token

Features of one token may lie further apart than a type can hold, and those of two tokens further
still. So a token's features are split into its largest, kept as a logarithm, and the others
relative to it: O(d) a token. What is relatively below two thirds of the type's exponents (2^-84 in
float32, 58 nats) counts as that, so that no product of two tokens is ever 0; see `Linear`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

_PER_E: Final = 1 / math.log(2)

Relative = tuple[Float[Tensor, "*s f"], Float[Tensor, "*s"]]


@final
@dataclass(frozen=True, slots=True)
class FeatureMap:
    """A way to make features, which are as many as a token has, and positive.

    Attributes:
        logarithm: Returns the natural logarithm of every feature.
        relative: Returns every feature as a share of the token's largest, and the logarithm of that
            one to base 2. The largest is a constant to gradients, which cancels in an average.
        operations: Elementwise operations of `relative` for each feature.
    """

    logarithm: Callable[[Tensor], Tensor]
    relative: Callable[[Tensor], Relative]
    operations: int


def _log_elu(x: Float[Tensor, "*s f"]) -> Float[Tensor, "*s f"]:
    return x.clamp(max=0) + x.relu().log1p()


def _elu(x: Float[Tensor, "*s f"]) -> Relative:
    top = x.detach().amax(-1, keepdim=True)
    # The largest is exp(low) or high, and the other factor 1.
    low, high = top.clamp(max=0), 1 + top.relu()
    # Subtracted first, so that the largest is 1 whatever rounding does. exp2 takes a quarter of the
    # time of exp, and no more where features are tiny.
    below = ((x.clamp(max=0) - low) * _PER_E).exp2()
    features = ((below + x.relu()) / high).clamp(min=_least(x.dtype))
    return features, (low * _PER_E + high.log2()).squeeze(-1)


def _softmax(x: Float[Tensor, "*s f"]) -> Relative:
    features = x.softmax(-1)
    top = features.detach().amax(-1, keepdim=True)
    return (features / top).clamp(min=_least(x.dtype)), top.log2().squeeze(-1)


def _least(dtype: torch.dtype) -> float:
    """Return the least share: products with it, and with values, keep a third of the exponents."""
    return float(torch.finfo(dtype).tiny ** (2 / 3))


FEATURE_MAPS: Final = {
    "elu": FeatureMap(_log_elu, _elu, operations=9),
    "softmax": FeatureMap(lambda x: x.log_softmax(-1), _softmax, operations=8),
}
