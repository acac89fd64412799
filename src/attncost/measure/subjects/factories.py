"""`package.module:factory` as a subject: a module that a function of the user's makes, with inputs.

It is made anew for each length if the function takes one, with weights drawn from one seed. FLOPs
are counted on a copy without weights: products of two activations are taken for attention. What it
keeps beside its parameters and what it does outside of PyTorch is not looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, final

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.integrations.factory import Factory, factory
from attncost.integrations.theirs import explained
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.modes import (
    Forward,
    Timed,
    Training,
    counted,
    place,
    same_numbers,
    twin,
    with_gradients,
)
from attncost.measure.subjects.subject import Subject

_OWN: Final = "own"


@final
@dataclass(frozen=True, slots=True)
class Made:
    """What a function makes.

    Attributes:
        name: `package.module:factory`.
        sized: Whether it can be made for any length.
    """

    name: str
    sized: bool

    def subject(self) -> Subject:
        """Return it as it attends itself.

        Raises:
            ShapeError: If its inputs have sizes of their own.
        """
        if not self.sized:
            raise ShapeError(
                f"{self.name} returns inputs of its own sizes, so it cannot be measured over the "
                "length: give the function a parameter called length."
            )
        prepare = partial(self._prepared, cache(self._factory))
        return Subject(
            name=self.name,
            labels={"attention": _OWN, "kernel": _OWN},
            prepare=prepare,
            predict=partial(self.predicted, prepare),
        )

    def predicted(self, prepare: Callable[[Case], Timed], case: Case) -> Predicted:
        """Return the cost, counted without weights.

        Raises:
            UnsupportedOption: If it shall write token by token.
        """
        if case.mode == "decode":
            raise UnsupportedOption(
                f"{self.name} is called as a whole, and nothing is known of a cache: measure "
                "forward or training."
            )
        with torch.device("meta"):
            call = prepare(case)
        assert isinstance(call, Forward | Training)
        with explained(self.name):
            return counted(call, case.device)

    def _factory(self, device: torch.device, dtype: torch.dtype) -> Factory:
        """Return the function for a place and a type; one module may serve all lengths of it."""
        with same_numbers():
            return factory(self.name, device=str(device))

    def _prepared(self, made: Callable[[torch.device, torch.dtype], Factory], case: Case) -> Timed:
        where, dtype = place(case), case.torch_dtype
        with torch.device("cpu"), with_gradients(), same_numbers():
            module, inputs, options = made(where, dtype).make(case.length, case.batch)
            module = _typed(module, dtype)
            inputs, options = tree_map_only(Tensor, partial(_as, dtype), (inputs, options))
            if case.mode != "training":
                return Forward(module.eval(), *inputs, **options)
            inputs, options = tree_map_only(Tensor, _learning, (inputs, options))
            return Training(twin(module.eval()), *inputs, draws=True, **options)


def made(text: str) -> Made:
    """Return what a text names.

    Raises:
        ShapeError: If there is no such module, it fails, or it returns something else.
        UnknownName: If the module has no such function.
    """
    return Made(text, factory(text).sized)


def _typed(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Return a module of a type: itself, if it is made of that already."""
    kinds = {p.dtype for p in module.parameters() if p.is_floating_point()}
    return module if kinds <= {dtype} else module.to(dtype)


def _as(dtype: torch.dtype, tensor: Tensor) -> Tensor:
    return tensor.detach().to(dtype) if tensor.is_floating_point() else tensor


def _learning(tensor: Tensor) -> Tensor:
    """Return an input that gets a gradient, if it is of numbers: inside a model it would."""
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor
