"""Optimizers that are not the recipe's, from the model and the recipe as `optimizer` is."""

from torch import nn
from torch.optim import SGD, AdamW

from attncost.train.recipe import Recipe


def decaying_everything(model: nn.Module, recipe: Recipe) -> AdamW:
    """Let gains, biases and embeddings decay too, as AdamW does unless told otherwise."""
    return AdamW(
        _learned(model),
        lr=recipe.learning_rate,
        betas=recipe.betas,
        weight_decay=recipe.weight_decay,
    )


def plain_descent(model: nn.Module, recipe: Recipe) -> SGD:
    """Step along the gradient, however long it is."""
    return SGD(_learned(model), lr=recipe.learning_rate)


def _learned(model: nn.Module) -> list[nn.Parameter]:
    return [weight for weight in model.parameters() if weight.requires_grad]
