"""What lies between the projections of a layer: naive, a pattern in a kernel, a mechanism.

naive    softmax(q kᵀ / √d) v, as articles write it: all scores in memory
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.core.options import Options
from attncost.cost.counting.apis.ours import called
from attncost.kernels.attention import attention
from attncost.kernels.choose import every, ranked
from attncost.kernels.interface import Call
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.modes import Training, counted
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import known, spelled
from attncost.nn.cache import Cache
from attncost.nn.cache_for import cache_for
from attncost.nn.static_cache import StaticCache
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

NAIVE: Final = "naive"
AUTO: Final = "auto"

Attend: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
# Makes a tensor of random numbers where a call is made.
Draw: TypeAlias = Callable[[tuple[int, ...], torch.Generator], Tensor]


class Core(ABC):
    """One way to attend."""

    @property
    @abstractmethod
    def kernel(self) -> str:
        """What it asks for: `auto`, a kernel, or its own name if it has one way alone."""

    @abstractmethod
    def attend(self, dims: Dims, draw: Draw) -> Attend:
        """Return what computes it at given sizes."""

    @abstractmethod
    def cost(self, dims: Dims, case: Case) -> tuple[int, int]:
        """Return the FLOPs that are executed and the bytes that are moved; in training both ways.

        Raises:
            UnsupportedOption: If it cannot run in the case.
        """

    @abstractmethod
    def cache(self, tokens: int) -> tuple[Cache, int]:
        """Return an empty cache for as many tokens, and how many keys the last of them reads.

        Raises:
            UnsupportedOption: If it cannot write token by token.
        """


@final
@dataclass(frozen=True, slots=True)
class Naive(Core):
    """The three operations of articles; a token more reads all that is in the cache."""

    @property
    def kernel(self) -> str:
        """Its name."""
        return NAIVE

    def attend(self, dims: Dims, draw: Draw) -> Attend:
        """Return `naive`."""
        return naive

    def cost(self, dims: Dims, case: Case) -> tuple[int, int]:
        """Return those of two products, and of four more on the way back.

        Of all pairs the products write scores and read weights, which have been written; going
        back, those and their gradients.
        """
        pairs = dims.batch * dims.heads * dims.length * dims.kv_length
        rows = 2 * dims.batch * dims.heads * (dims.length + dims.kv_length) * dims.head_dim
        passes = 3 if case.mode == "training" else 1
        return 4 * passes * pairs * dims.head_dim, passes * (3 * pairs + rows) * dims.itemsize

    def cache(self, tokens: int) -> tuple[Cache, int]:
        """Return one of fixed memory."""
        return StaticCache(tokens), tokens


@final
@dataclass(frozen=True, slots=True)
class Exact(Core):
    """A pattern, in the kernel asked for."""

    pattern: Pattern
    wanted: str = AUTO

    @property
    def kernel(self) -> str:
        """The kernel asked for."""
        return self.wanted

    def attend(self, dims: Dims, draw: Draw) -> Attend:
        """Return `attention` with both."""

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return attention(q, k, v, self.pattern, kernel=self.wanted)

        return attend

    def cost(self, dims: Dims, case: Case) -> tuple[int, int]:
        """Return those of the kernel that runs; sizes are enough for that.

        A fused kernel keeps no scores and computes them again for the backward pass.
        """
        name, call = self.runs(dims, case), self._call(dims, case)
        found = replace(called(call, every()[name]), learns=(call.grad,) * 3)
        cost = found.forward() + found.backward()
        again = 0 if every()[name].last_resort else found.again().executed
        return int(cost.executed + again), int(cost.bytes)

    def runs(self, dims: Dims, case: Case) -> str:
        """Return the kernel that runs."""
        return ranked(self._call(dims, case), self.wanted)[0]

    def refusal(self, dims: Dims, case: Case) -> str | None:
        """Return why the kernel asked for cannot run it, or None if it can."""
        if self.wanted == AUTO:
            return None
        reason: str | None = every()[self.wanted].refuses(self._call(dims, case))
        return reason

    def cache(self, tokens: int) -> tuple[Cache, int]:
        """Return what the pattern needs; of a window no more is read than its width."""
        read = min(tokens, self.pattern.width) if isinstance(self.pattern, Window) else tokens
        return cache_for(self.pattern, length=tokens), read

    def _call(self, dims: Dims, case: Case) -> Call:
        grad = case.mode == "training"
        return Call(self.pattern, dims, Options(), device=case.device, grad=grad)


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
        generator = torch.Generator().manual_seed(0)
        shapes = self.mechanism.parameters(dims)
        return Mixing(
            self.mechanism,
            {name: draw(shape, generator) / math.sqrt(shape[-1]) for name, shape in shapes.items()},
        )

    def cost(self, dims: Dims, case: Case) -> tuple[int, int]:
        """Return what it says itself, and count what it does on the way back."""
        found = self.mechanism.cost(dims)
        if case.mode != "training":
            return int(found.executed), int(found.bytes)
        rows = (dims.batch, dims.heads, dims.length, dims.head_dim)
        q, k, v = (torch.empty(rows, device="meta", requires_grad=True) for _ in range(3))
        mixing = self.attend(dims, lambda shape, _: torch.empty(shape, device="meta"))
        assert isinstance(mixing, nn.Module)
        both = counted(Training(mixing, q, k, v), case.device)
        return both.linear + both.core, 3 * int(found.bytes)

    def cache(self, tokens: int) -> tuple[Cache, int]:
        """Refuse, as it weighs no pairs."""
        raise UnsupportedOption(
            f"a cache holds keys that a pattern reads, and {self.mechanism} is none: run the whole "
            "sequence."
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


def naive(
    q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"], v: Float[Tensor, "b h m e"]
) -> Float[Tensor, "b h n e"]:
    """Attend as the articles do: all scores, their softmax, a weighted sum."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def core(name: str) -> Core:
    """Return what a name spells: `naive`, a pattern for any kernel, a mechanism.

    Raises:
        ShapeError: If a parameter is none, or `naive` is given one.
        UnknownName: If there is none of this name, or it has no such parameter.
    """
    if name == NAIVE:
        return Naive()
    word, names = name.partition(":")[0], (NAIVE, *known())
    if word == NAIVE:
        raise ShapeError(f"naive takes no parameters, got {name!r}.")
    if word not in names:
        raise UnknownName("attention", word, names)
    thing = spelled(name)
    return Approximate(thing, word) if isinstance(thing, Mechanism) else Exact(thing)


def in_kernels(
    one: Core, kernels: tuple[str, ...], *, dims: Dims, case: Case
) -> dict[str, Core | str]:
    """Return an attention in each kernel, or why it refuses; what has one way alone is as it is.

    Args:
        one: The attention.
        kernels: `auto` and names of kernels.
        dims: Sizes at which kernels are asked.
        case: The rest of what they are asked.

    Raises:
        UnknownName: If there is no such kernel.
    """
    for name in kernels:
        if name not in (AUTO, *every()):
            raise UnknownName("kernel", name, (AUTO, *every()))
    if not isinstance(one, Exact):
        return {AUTO: one}
    found = {name: replace(one, wanted=name) for name in kernels}
    return {name: exact.refusal(dims, case) or exact for name, exact in found.items()}


def changing(names: dict[int, str]) -> str:
    """Say which kernel runs at which length.

    >>> changing({64: "sdpa", 128: "sdpa", 256: "folded"})
    'sdpa, folded from 256'
    """
    said: list[str] = []
    last = None
    for length, name in names.items():
        if name != last:
            said.append(f"{name} from {length:,}" if said else name)
        last = name
    return ", ".join(said)
