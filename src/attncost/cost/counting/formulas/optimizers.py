"""What the fused steps of optimizers cost, as if they ran operation by operation.

Elementwise operations for each weight, with one for each of PyTorch's own steps that it fuses:

    Adam, AdamW   mean of gradients 1, mean of squares 2, root, division, eps 3, new weight 1
    SGD           new weight 1, momentum 2, Nesterov 1
    Adagrad       sum of squares 1, root, eps 2, new weight 1

and 1 for each of weight decay, AMSGrad and a step uphill.
"""

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.traffic import Argument, elements, traffic
from attncost.cost.counting.registry import ELEMENTWISE, price

Tensors = list[Tensor]


@price("aten::_fused_adam_", "aten::_fused_adamw_", step=ELEMENTWISE)
def adam(weights: Tensors, grads: Tensors, *state: Argument, **given: Argument) -> Cost:
    """Return the cost of a step of Adam."""
    each = 7 + sum(bool(given[name]) for name in ("weight_decay", "amsgrad", "maximize"))
    return _step(weights, grads, state[:3], each)


@price("aten::_fused_sgd_", step=ELEMENTWISE)
def sgd(weights: Tensors, grads: Tensors, momenta: Tensors, **given: Argument) -> Cost:
    """Return the cost of a step of stochastic gradient descent."""
    momentum = (2 + bool(given["nesterov"])) if given["momentum"] else 0
    each = 1 + momentum + sum(bool(given[name]) for name in ("weight_decay", "maximize"))
    return _step(weights, grads, (momenta,), each)


@price("aten::_fused_adagrad_", step=ELEMENTWISE)
def adagrad(
    weights: Tensors, grads: Tensors, sums: Tensors, *_: Argument, **given: Argument
) -> Cost:
    """Return the cost of a step of Adagrad."""
    each = 4 + sum(bool(given[name]) for name in ("weight_decay", "maximize"))
    return _step(weights, grads, (sums,), each)


@price("aten::_amp_foreach_non_finite_check_and_unscale_", step=ELEMENTWISE)
def unscale(grads: Tensors, *_: Argument, **__: Argument) -> Cost:
    """Return the cost of checking and scaling gradients in place."""
    return Cost(elementwise=2 * elements(grads), bytes=traffic(grads, grads))


def _step(weights: Tensors, grads: Tensors, state: Argument, each: int) -> Cost:
    """Weights and state are read and written, gradients are read."""
    changed = [weights, *state]
    return Cost(
        elementwise=each * elements(weights),
        bytes=traffic((changed, grads), changed),
    )
