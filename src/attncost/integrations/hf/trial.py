"""What moves in the outputs of a model when other tokens stand in chosen places.

The embeddings in those places are replaced by random ones, whatever the tokens are, so that no
model mistakes one for padding. Shapes stay as they are: an output that depends on nothing replaced
stays the same to the last bit, except where a model sorts its tokens, as a mixture of experts does.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal, TypeAlias, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from attncost.core.errors import AttnCostError, ShapeError

Model: TypeAlias = Any  # of transformers, whose modules say little about their attributes
Batch: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["padding", "future", "document"]

# How large the random embeddings are, measured in those that they replace.
_SIZE: Final = 4.0


@final
@dataclass(frozen=True, slots=True)
class Stream:
    """Tokens that go into a model side by side.

    Attributes:
        prefix: What their arguments begin with: `decoder_` in an encoder-decoder, or nothing.
        shape: Sequences and tokens of each.
        embed: What embeds them.
        call: Which call of `embed` in a forward pass is theirs, as encoder and decoder may share.
    """

    prefix: str
    shape: tuple[int, int]
    embed: nn.Module
    call: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Whether rows of the outputs move when tokens change that they must not depend on.

    Attributes:
        kind: What the tokens are to those rows.
        stream: Whose tokens change.
        changed: Tokens that change.
        fixed: Rows that must not move.
    """

    kind: Kind
    stream: Stream
    changed: Bool[Tensor, "b n"]
    fixed: Bool[Tensor, "b r"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A model on a batch, and its outputs before anything changes."""

    model: Model
    batch: Batch
    before: Float[Tensor, "b r c"]

    @classmethod
    def of(cls, model: Model, batch: Batch, shape: tuple[int, int]) -> "Trial":
        """Run the model as it is; its outputs must have so many sequences and rows."""
        return cls(model, batch, _outputs(model, batch, shape))

    def movement(self, question: Question) -> Float[Tensor, "b r"]:
        """Return how far each row moves when tokens change, 0 for the rows not asked about."""
        rows, columns = self.before.shape[:2]
        with ExitStack() as stack:
            batch, stream = self.batch, question.stream
            embedded = stream.prefix + "inputs_embeds"
            if batch.get(embedded) is not None:
                batch = {**batch, embedded: _replaced(batch[embedded], question.changed)}
            else:
                stack.enter_context(_replacing(stream, question.changed))
            after = _outputs(self.model, batch, (rows, columns))
        moved = (after - self.before).abs().nan_to_num(nan=torch.inf).amax(-1).float()
        return torch.where(question.fixed.to(moved.device), moved, 0.0)

    def reach(self, stream: Stream, counts: Bool[Tensor, "b r"]) -> float:
        """Return how far the usual row moves when all tokens change.

        Raises:
            AttnCostError: If it does not move.
        """
        everything = torch.ones(stream.shape, dtype=torch.bool)
        moved = self.movement(Question("future", stream, everything, counts))
        reach = float(moved[counts.to(moved.device)].median())
        if not reach > 0:
            raise AttnCostError(
                f"outputs of {type(self.model).__name__} stay the same whatever its tokens are, so "
                "no leak could be seen: check that the batch and the model belong together."
            )
        return reach


@contextmanager
def undisturbed(model: Model) -> Iterator[None]:
    """Run a model in evaluation, without gradients, and leave no trace of it."""
    training = {module: module.training for module in model.modules()}
    devices = range(torch.cuda.device_count())
    try:
        model.eval()
        with torch.no_grad(), torch.random.fork_rng(devices):
            yield
    finally:
        for module, was in training.items():
            module.training = was


def _outputs(model: Model, batch: Batch, shape: tuple[int, int]) -> Float[Tensor, "b r c"]:
    """Return what the model says of each token, or what the model below its head does."""
    below: list[object] = []
    base = getattr(model, "base_model", model)
    assert isinstance(base, nn.Module)
    torch.manual_seed(0)  # for models that draw numbers in evaluation, too
    with _hooked(base, lambda _module, _inputs, output: below.append(output)):
        whole = model(**batch)
    for output in (whole, *below):
        for tensor in _tensors(output):
            if tensor.ndim == 3 and tensor.shape[:2] == shape and tensor.is_floating_point():
                return tensor
    raise ShapeError(
        f"outputs must have a row for each of {shape[0]} x {shape[1]} tokens, which none of "
        f"{type(model).__name__} has: check the model below, such as model.base_model."
    )


def _tensors(output: object) -> list[Tensor]:
    values = [*output.values()] if isinstance(output, Mapping) else output
    values = values if isinstance(values, tuple | list) else [values]
    return [one for one in values if isinstance(one, Tensor)]


@contextmanager
def _replacing(stream: Stream, changed: Bool[Tensor, "b n"]) -> Iterator[None]:
    calls, met = count(), []

    def replace(_module: nn.Module, _inputs: object, output: Tensor) -> Tensor | None:
        more = output.shape[1] - changed.shape[1]  # some models fill their last window themselves
        if next(calls) != stream.call or len(output) != len(changed) or more < 0:
            return None
        met.append(True)
        return _replaced(output, pad(changed, (0, more)))

    with _hooked(stream.embed, replace):
        yield
    if not met:
        raise AttnCostError(
            f"{type(stream.embed).__name__} was not asked for embeddings of {stream.shape} tokens: "
            "give the batch as inputs_embeds instead."
        )


@contextmanager
def _hooked(module: nn.Module, hook: Any) -> Iterator[None]:  # noqa: ANN401 -- as torch has it
    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _replaced(embeddings: Tensor, changed: Bool[Tensor, "b n"]) -> Tensor:
    size = float(embeddings.float().square().mean().sqrt()) or 1.0
    random = torch.randn(embeddings.shape, generator=torch.Generator().manual_seed(0))
    places = changed.to(embeddings.device)[..., None]
    return torch.where(places, (_SIZE * size * random).to(embeddings), embeddings)
