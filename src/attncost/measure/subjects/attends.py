"""What lies between the projections of a layer: naive, a pattern in a kernel, a mechanism.

naive    softmax(q kᵀ / √d) v, as articles write it: all scores in memory
"""

import math
from dataclasses import dataclass, replace
from typing import Final, final

from jaxtyping import Float
from torch import Tensor

from attncost.core.counts import Count
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnknownName
from attncost.core.options import Options
from attncost.cost.counting.apis.ours import called
from attncost.kernels.attention import attention
from attncost.kernels.choose import every, ranked
from attncost.kernels.interface import Call
from attncost.measure.subjects.approximate import Approximate
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.core import Attend, Core, Draw, Projected
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import known, runnable, to_run
from attncost.nn.cache import Cache
from attncost.nn.cache_for import cache_for
from attncost.nn.static_cache import StaticCache
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

NAIVE: Final = "naive"
AUTO: Final = "auto"


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
        dims = _one_more(dims, dims.kv_length + 1) if case.mode == "decode" else dims
        pairs = dims.batch * dims.heads * dims.length * dims.kv_length
        rows = 2 * dims.batch * dims.heads * (dims.length + dims.kv_length) * dims.head_dim
        passes = 3 if case.mode == "training" else 1
        return 4 * passes * pairs * dims.head_dim, passes * (3 * pairs + rows) * dims.itemsize

    def after(self, attend: Attend, held: Projected) -> Attend:
        """Read all keys from fixed memory."""
        return _beside(StaticCache(held[1].shape[2] + 1), attend, held)


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
        if case.mode == "decode":
            dims = _one_more(dims, self._read(dims.kv_length + 1))
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

    def after(self, attend: Attend, held: Projected) -> Attend:
        """Read keys of the cache that the pattern needs."""
        return _beside(cache_for(self.pattern, length=held[1].shape[2] + 1), attend, held)

    def _read(self, tokens: int) -> int:
        """Return how many keys the last of so many tokens reads from its cache."""
        cache_for(self.pattern, length=tokens)  # refuses what cannot write token by token
        return min(tokens, self.pattern.width) if isinstance(self.pattern, Window) else tokens

    def _call(self, dims: Dims, case: Case) -> Call:
        grad = case.mode == "training"
        return Call(self.pattern, dims, Options(), device=case.device, grad=grad)


def naive(
    q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"], v: Float[Tensor, "b h m e"]
) -> Float[Tensor, "b h n e"]:
    """Attend as the articles do: all scores, their softmax, a weighted sum."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def _one_more(dims: Dims, keys: Count) -> Dims:
    """Return the sizes of one query that reads so many keys."""
    return replace(dims, length=1, kv_length=keys)


def _beside(cache: Cache, attend: Attend, held: Projected) -> Attend:
    """Return what attends to one token beside the keys of a cache, which then forgets it."""
    _, keys, values = held
    cache.extend(keys, values)
    tokens = cache.tokens

    def step(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v, _ = cache.extend(k, v)
        out = attend(q, k, v)
        cache.crop(tokens)
        return out

    return step


def core(name: str) -> Core:
    """Return what a name spells: `naive`, a pattern for any kernel, a mechanism.

    Raises:
        ShapeError: If a parameter is none, or `naive` is given one.
        UnknownName: If there is none of this name, or it has no such parameter.
        UnsupportedOption: If it is a formula, which nothing here computes.
    """
    if name == NAIVE:
        return Naive()
    word = name.partition(":")[0]
    if word == NAIVE:
        raise ShapeError(f"naive takes no parameters, got {name!r}.")
    if word not in known():
        raise UnknownName("attention", word, (NAIVE, *runnable()))
    thing = to_run(name)
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
