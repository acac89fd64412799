"""Ways to train: the recipe, the recipe with one thing changed, and none of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias, final

import torch
from torch import nn
from torch.optim import Optimizer

from attncost.core.errors import UnknownName
from attncost.patterns.causal import Causal
from attncost.train.recipe import Recipe, optimizer
from attncost.train.stability.edits import (
    Edit,
    begun_small,
    with_norms_after,
    with_trained_gains,
    without_layer_norm,
)
from attncost.train.stability.optimizers import decaying_everything, plain_descent
from attncost.train.tasks.interface import Task
from attncost.train.transformer import Sizes, Transformer

Change: TypeAlias = Callable[[Recipe], Recipe]
Optimize: TypeAlias = Callable[[nn.Module, Recipe], Optimizer]


def _unchanged(recipe: Recipe) -> Recipe:
    return recipe


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """A way to train.

    Attributes:
        name: What is different.
        qk_norm: Whether queries and keys are normalised.
        edits: What is changed about the model, in this order.
        recipe: Returns what is trained by in the place of the recipe.
        optimize: Makes the optimizer.
    """

    name: str
    qk_norm: bool = True
    edits: tuple[Edit, ...] = ()
    recipe: Change = _unchanged
    optimize: Optimize = optimizer

    def build(self, task: Task, sizes: Sizes, *, seed: int) -> Transformer:
        """Return the model, of causal attention."""
        model = Transformer(task, Causal(), replace(sizes, qk_norm=self.qk_norm), seed=seed)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            for edit in self.edits:
                edit(model)
        return model


_UNBOUND: Final = partial(replace, warmup=0.0, floor=1.0, clip=None, weight_decay=0.0)

RECIPE: Final = Variant(name="the recipe")
# In each of them one thing is changed.
ABLATIONS: Final = (
    Variant(name="no LayerNorm", edits=(without_layer_norm,)),
    Variant(name="norms after", edits=(with_norms_after,)),
    Variant(name="no QK-norm", qk_norm=False),
    Variant(name="trained gains", edits=(with_trained_gains,)),
    Variant(name="small start", edits=(begun_small,)),
    Variant(name="no warm-up", recipe=partial(replace, warmup=0.0)),
    Variant(name="no clipping", recipe=partial(replace, clip=None)),
    Variant(name="no decay", recipe=partial(replace, weight_decay=0.0)),
    Variant(name="all decays", optimize=decaying_everything),
    Variant(name="SGD", optimize=plain_descent),
)
# In each of them more than one is, or all of it.
BARE: Final = (
    Variant(name="no norm at all", qk_norm=False, edits=(without_layer_norm,)),
    Variant(
        name="bare AdamW",
        qk_norm=False,
        edits=(without_layer_norm,),
        recipe=_UNBOUND,
    ),
    Variant(
        name="bare SGD",
        qk_norm=False,
        edits=(without_layer_norm,),
        recipe=_UNBOUND,
        optimize=plain_descent,
    ),
)

# What an article advises against exploding gradients: norms after sub-layers, AdamW with decay and
# warm-up. Then the same without one of them.
_ADVISED: Final = Variant(
    name="as advised",
    qk_norm=False,
    edits=(with_norms_after,),
    recipe=partial(replace, clip=None),
    optimize=decaying_everything,
)
ADVICE: Final = (
    _ADVISED,
    replace(_ADVISED, name="advised - norms", edits=(without_layer_norm,)),
    replace(_ADVISED, name="advised - AdamW", optimize=plain_descent),
    replace(_ADVISED, name="advised - decay", recipe=partial(replace, clip=None, weight_decay=0.0)),
    replace(_ADVISED, name="advised - warm-up", recipe=partial(replace, clip=None, warmup=0.0)),
)
VARIANTS: Final = (RECIPE, *ABLATIONS, *BARE, *ADVICE)


def variant(name: str) -> Variant:
    """Return the variant of this name.

    Raises:
        UnknownName: If there is none.
    """
    known = {one.name: one for one in VARIANTS}
    if name not in known:
        raise UnknownName("variant", name, known)
    return known[name]
