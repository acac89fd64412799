"""A mechanism between the projections of a layer, a whole sequence or one token at a time.

One token more reads the state of those before, which has one size: what that costs is counted on
tensors without numbers, as is the way back. Forward, the mechanism says it itself.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.dims import Dims
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.core import Attend, Core, Draw, Projected
from attncost.measure.subjects.modes import Forward, Training, counted
from attncost.mechanisms.interface import Mechanism
from attncost.nn.streaming import streaming


@final
@dataclass(frozen=True, slots=True)
class Approximate(Core):
    """A mechanism, with random learned tensors of the length that it is asked for."""

    mechanism: Mechanism
    name: str

    @property
    def kernel(self) -> str:
        """Its name."""
        return self.name

    def attend(self, dims: Dims, draw: Draw) -> Attend:
        """Return it with its learned tensors."""
        return self._mixing(dims, draw)

    def cost(self, dims: Dims, case: Case) -> tuple[int, int]:
        """Return what it says itself, or what is counted on the way back or of a token more."""
        if case.mode == "forward":
            found = self.mechanism.cost(dims)
            return int(found.executed), int(found.bytes)
        empty = partial(torch.empty, dtype=case.torch_dtype, device="meta")
        mixing = self._mixing(dims, lambda shape, _: empty(shape))
        if case.mode == "decode":
            one = _empty(dims, case, 1)
            step, state = _continued(mixing, one)
            more = counted(Forward(step, *one, *state), case.device)
            return more.linear + more.core, more.bytes
        both = counted(Training(mixing, *_empty(dims, case, case.length)), case.device)
        return both.linear + both.core, 3 * int(self.mechanism.cost(dims).bytes)

    def after(self, attend: Attend, held: Projected) -> Attend:
        """Go on from the state of the tokens before."""
        assert isinstance(attend, Mixing), "made by `attend`"
        step, state = _continued(attend, held)

        def one_more(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            out: Tensor = step(q, k, v, *state)
            return out

        return one_more

    def _mixing(self, dims: Dims, draw: Draw) -> "Mixing":
        generator = torch.Generator().manual_seed(0)
        shapes = self.mechanism.parameters(dims)
        return Mixing(
            self.mechanism,
            {name: draw(shape, generator) / math.sqrt(shape[-1]) for name, shape in shapes.items()},
        )


@final
class Mixing(nn.Module):
    """A mechanism with its learned tensors."""

    def __init__(self, mechanism: Mechanism, learned: dict[str, Tensor]) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.learned = nn.ParameterDict({name: nn.Parameter(x) for name, x in learned.items()})

    def forward(
        self, q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"], v: Float[Tensor, "b h m e"]
    ) -> Float[Tensor, "b h n e"]:
        """Approximate attention."""
        mixed: Tensor = self.mechanism.attend(q, k, v, dict(self.learned.items()))
        return mixed


@final
class Step(nn.Module):
    """A mechanism on one token after others, which it then forgets."""

    def __init__(self, mixing: Mixing) -> None:
        super().__init__()
        self.mechanism, self.learned = streaming(mixing.mechanism), mixing.learned

    def forward(
        self,
        q: Float[Tensor, "b h 1 d"],
        k: Float[Tensor, "b h 1 d"],
        v: Float[Tensor, "b h 1 e"],
        *state: Tensor,
    ) -> Float[Tensor, "b h 1 e"]:
        """Read a state, which stays as it was."""
        out, _ = self.mechanism.stream(q, k, v, dict(self.learned.items()), state=state)
        return out


def _continued(mixing: Mixing, held: Projected) -> tuple[Step, tuple[Tensor, ...]]:
    """Return what attends to one token more, and the state of those before."""
    step = Step(mixing)
    _, state = step.mechanism.stream(*held, dict(mixing.learned.items()))
    return step, state


def _empty(dims: Dims, case: Case, length: int) -> Projected:
    """Return queries, keys and values without numbers."""
    shape, grad = (dims.batch, dims.heads, length, dims.head_dim), case.mode == "training"
    empty = partial(torch.empty, dtype=case.torch_dtype, device="meta", requires_grad=grad)
    return empty(shape), empty(shape), empty(shape)
