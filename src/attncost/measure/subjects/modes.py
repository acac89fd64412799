"""The calls that are timed, by mode: what is inside a sample, and what was made before it.

    forward   the module on its input, in inference mode
    training  the same with a graph, then the gradients of its weights and of an input of numbers,
              from its loss or from ones in the place of what would come from further on; they are
              returned, added to nothing, and gone when the next call begins
    decode    one token more beside a cache that was filled before, then the cache forgets it again

A call enters the mode of gradients that it needs and leaves it, whatever surrounds it. Weights and
inputs are made outside of inference mode, so that each of them serves both kinds of call.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from attncost.cost.counting.backward import targets_of
from attncost.cost.counting.count import count
from attncost.cost.memory.fakes import Fakes, stood_in_for
from attncost.cost.memory.footprint import Footprint
from attncost.cost.memory.memory import memory
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case

# By position and by keyword, whatever the module takes.
Inputs: TypeAlias = tuple[tuple[Any, ...], Mapping[str, Any]]

_SEED: Final = 0


class Timed(ABC):
    """What a sample calls, and what is known of it without running it."""

    @abstractmethod
    def __call__(self) -> object:
        """Run it once."""

    @abstractmethod
    def footprint(self, device: str) -> Footprint:
        """Return what it would hold in memory on a device, by a run on fake tensors."""

    @property
    @abstractmethod
    def held(self) -> list[Tensor]:
        """The tensors that were made for it: weights and inputs."""


@final
class Forward(Timed):
    """A module on its input, in inference."""

    def __init__(self, module: nn.Module, *inputs: Any, **options: Any) -> None:  # noqa: ANN401
        self.module, self.inputs, self.options = module, inputs, options

    def __call__(self) -> Any:  # noqa: ANN401 -- the module's
        """Return what the module does."""
        with torch.inference_mode():
            return self.module(*self.inputs, **self.options)

    def footprint(self, device: str) -> Footprint:
        """Return what it would hold."""
        with torch.inference_mode():
            return memory(self.module, *self.inputs, device=device, **self.options)

    @property
    def held(self) -> list[Tensor]:
        """Weights and inputs."""
        return _tensors(self.module, (self.inputs, self.options))


@final
class Training(Timed):
    """A module on its input and back.

    Args:
        module: In the mode of training.
        *inputs: What it takes; what requires a gradient gets one.
        draws: Whether it draws random numbers, such as those of dropout: the same ones in each
            call, and those of the caller are left alone.
        **options: What it takes by keyword.
    """

    def __init__(
        self,
        module: nn.Module,
        *inputs: Any,  # noqa: ANN401 -- the module's
        draws: bool = False,
        **options: Any,  # noqa: ANN401 -- the module's
    ) -> None:
        self.module, self.inputs, self.options = module, inputs, options
        self._learned = [x for x in self.held if x.requires_grad]
        self._random = same_numbers if draws else nullcontext

    def __call__(self) -> tuple[Tensor | None, ...]:
        """Return the gradients, None of weights that nothing depends on."""
        with with_gradients(), self._random():
            targets = targets_of(self.module(*self.inputs, **self.options))
            ones = [torch.ones_like(target) for target in targets]
            return torch.autograd.grad(targets, self._learned, ones, allow_unused=True)

    def footprint(self, device: str) -> Footprint:
        """Return what it would hold."""
        with with_gradients():
            return memory(self.module, *self.inputs, training=True, device=device, **self.options)

    @property
    def held(self) -> list[Tensor]:
        """Weights and inputs."""
        return _tensors(self.module, (self.inputs, self.options))


@final
class Decode(Timed):
    """One token more than a cache holds.

    Args:
        begin: Fills a cache, and returns the step to time, which leaves the cache as it was.
        ready: Whether to do that now; if not, only the footprint can be asked for.
    """

    def __init__(self, begin: Callable[[], Callable[[], object]], *, ready: bool) -> None:
        self._begin = begin
        with torch.inference_mode(False), torch.no_grad():
            self._step = begin() if ready else None

    def __call__(self) -> Any:  # noqa: ANN401 -- the module's
        """Return what the step does."""
        assert self._step is not None, "a call that is weighed is not run"
        with torch.inference_mode():
            return self._step()

    def footprint(self, device: str) -> Footprint:
        """Return what filling a cache and the step would hold; the cache counts as new."""

        def both() -> object:
            return self._begin()()

        with torch.inference_mode():
            return memory(both, device=device)

    @property
    def held(self) -> list[Tensor]:
        """Nothing: the cache is in the footprint, and weights are there anyway."""
        return []


def place(case: Case) -> torch.device:
    """Return where a call is to be made: where the case says, or without memory.

    Inside `with torch.device("meta")` everything of a call that takes memory is made there, so
    that what it would take can be asked before anything is taken.
    """
    default: torch.device = torch.get_default_device()
    return default if default.type == "meta" else torch.device(case.device)


def counted(call: Forward | Training, device: str) -> Predicted:
    """Return what a call costs, by counting it on stand-ins; nothing is computed.

    Products of two activations are taken for attention, see `Counted.core`. What a backward pass
    computes again counts, as it is executed.
    """
    fakes, learns, module = Fakes(torch.device(device)), isinstance(call, Training), call.module

    def run(*inputs: Any, **options: Any) -> Any:  # noqa: ANN401 -- the module's
        # What is made on the way is fake, too; what the count puts back afterwards is not.
        with fakes.mode:
            return module(*inputs, **options)

    recording = with_gradients() if learns else torch.inference_mode()
    with recording, stood_in_for(module.modules(), fakes):
        inputs, options = fakes.within((call.inputs, call.options))
        found = count(run, *inputs, training=learns, **options)
    core, moved = int(found.core.executed), int(found.core.bytes)
    return Predicted(linear=found.executed - core, core=core, bytes=moved)


def twin(module: nn.Module) -> nn.Module:
    """Return a module in the mode of training that shares all tensors with one in evaluation."""
    tensors = (*module.parameters(), *module.buffers())
    return deepcopy(module, {id(x): x for x in tensors}).train()


@contextmanager
def with_gradients() -> Iterator[None]:
    """Record a graph, also where inference mode surrounds it."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


@contextmanager
def same_numbers() -> Iterator[None]:
    """Draw the same random numbers each time, and leave those of the caller alone."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(_SEED)
        yield


def _tensors(module: nn.Module, inputs: Inputs) -> list[Tensor]:
    given = [x for x in tree_leaves(inputs) if isinstance(x, Tensor)]
    return [*given, *module.parameters(), *module.buffers()]
