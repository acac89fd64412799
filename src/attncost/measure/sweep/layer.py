"""The layer that the articles time, as subjects: naive or any attention that is found.

    8 n d_model² FLOPs in four projections + what the kernel executes between queries and keys

One sequence, float32, inference. All layers of one call share their weights, so they compute the
same function wherever their attention does. No dropout and no mask of padding.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnknownName
from attncost.kernels.attention import attention
from attncost.kernels.explain import explain
from attncost.measure.laws.predicted import Predicted
from attncost.measure.sweep.case import Case
from attncost.measure.sweep.subject import Subject
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import known, spelled
from attncost.patterns.interface import Pattern

NAIVE: Final = "naive"
QKV: Final = ("separate", "fused")

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
Projected = tuple[Tensor, Tensor, Tensor]


@final
class Separate(nn.Module):
    """Queries, keys and values from one matrix each, taken from a joint one."""

    def __init__(self, joint: nn.Linear) -> None:
        super().__init__()
        thirds = zip(joint.weight.chunk(3), joint.bias.chunk(3), strict=True)
        self.each = nn.ModuleList(_linear(weight, bias) for weight, bias in thirds)

    def forward(self, x: Float[Tensor, "b n f"]) -> Projected:
        """Project three times."""
        q, k, v = (linear(x) for linear in self.each)
        return q, k, v


@final
class Fused(nn.Module):
    """Queries, keys and values as the thirds of one product."""

    def __init__(self, joint: nn.Linear) -> None:
        super().__init__()
        self.joint = joint

    def forward(self, x: Float[Tensor, "b n f"]) -> Projected:
        """Project once and cut."""
        q, k, v = self.joint(x).chunk(3, dim=-1)
        return q, k, v


@final
class SelfAttention(nn.Module):
    """Project, attend in every head, project; no other step costs anything.

    Args:
        project: Returns queries, keys and values of all heads side by side.
        output: Mixes the heads.
        heads: Into how many the features are split.
        attend: Maps queries, keys and values of each head to its outputs.
    """

    def __init__(self, project: nn.Module, output: nn.Module, heads: int, attend: Attend) -> None:
        super().__init__()
        self.project, self.output = project, output
        self.heads, self.attend = heads, attend

    def forward(self, x: Float[Tensor, "b n f"]) -> Float[Tensor, "b n f"]:
        """Compute the layer without a mask of padding."""
        q, k, v = (rearrange(one, "b n (h d) -> b h n d", h=self.heads) for one in self.project(x))
        mixed: Tensor = self.output(rearrange(self.attend(q, k, v), "b h n d -> b n (h d)"))
        return mixed


@final
@dataclass(frozen=True, slots=True)
class _Core:
    """What lies between the projections.

    Attributes:
        attend: Returns what computes it, at given sizes.
        executed: Returns the FLOPs of its matrix products, at given sizes.
    """

    attend: Callable[[Dims], Attend]
    executed: Callable[[Dims], int]


def layer_subjects(
    *,
    d_model: int,
    heads: int,
    attentions: Sequence[str] | None = None,
    qkv: Sequence[str] = QKV,
) -> tuple[Subject, ...]:
    """Return a layer for every attention and every way to project.

    A mechanism gets random learned tensors of the length that it is asked for.

    Args:
        d_model: Features of a token.
        heads: Heads that share them evenly.
        attentions: `naive` (the articles' three operations) or a spelled pattern or mechanism,
            such as `window:width=128`; `naive` and everything that is found, if left out.
        qkv: `separate`, `fused`.

    Raises:
        ShapeError: If the heads do not divide the features.
        UnknownName: If there is no such attention or way to project.
    """
    if heads < 1 or d_model < 1 or d_model % heads:
        raise ShapeError(f"heads must divide d_model, got {heads} heads for {d_model} features.")
    projections = {"separate": Separate, "fused": Fused}
    for way in qkv:
        if way not in projections:
            raise UnknownName("way to project q, k and v", way, projections)
    if attentions is None:
        attentions = (NAIVE, *known())
    dims = partial(Dims, heads=heads, head_dim=d_model // heads)
    cores = {name: _core(name) for name in attentions}
    generator = torch.Generator().manual_seed(0)
    joint, output = (
        _linear(
            _uniform((rows, d_model), generator) / math.sqrt(d_model),
            _uniform((rows,), generator),
        )
        for rows in (3 * d_model, d_model)
    )

    def subject(name: str, way: str) -> Subject:
        core, project = cores[name], projections[way](joint)

        def prepare(case: Case) -> Callable[[], Tensor]:
            length = case.length
            attend = core.attend(dims(length=length))
            layer = SelfAttention(project, output, heads, attend).eval()
            return partial(layer, _uniform((1, length, d_model), torch.Generator().manual_seed(1)))

        def predict(case: Case) -> Predicted:
            length = case.length
            executed = core.executed(dims(length=length))
            return Predicted(linear=8 * length * d_model**2, core=executed)

        return Subject(
            name=f"{name}, {way} qkv",
            labels={"attention": name, "qkv": way},
            prepare=prepare,
            predict=predict,
        )

    return tuple(subject(name, way) for name in attentions for way in qkv)


def naive(
    q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"], v: Float[Tensor, "b h m e"]
) -> Float[Tensor, "b h n e"]:
    """Attend as the articles do: all scores, their softmax, a weighted sum."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def _core(name: str) -> _Core:
    if name == NAIVE:
        return _Core(
            attend=lambda _: naive,
            executed=lambda dims: 4 * dims.length**2 * dims.heads * dims.head_dim,
        )
    word, names = name.partition(":")[0], (NAIVE, *known())
    if word == NAIVE:
        raise ShapeError(f"naive takes no parameters, got {name!r}.")
    if word not in names:
        raise UnknownName("attention", word, names)
    thing = spelled(name)
    if isinstance(thing, Mechanism):
        return _Core(
            attend=lambda dims: partial(thing.attend, learned=_learned(thing, dims)),
            executed=lambda dims: thing.cost(dims).executed,
        )
    return _Core(
        attend=lambda _: partial(attention, pattern=thing),
        executed=partial(_executed, thing),
    )


def _executed(pattern: Pattern, dims: Dims) -> int:
    """Ask what `attention` would run; shapes are enough for that, so nothing is allocated."""
    shape = (dims.batch, dims.heads, dims.length, dims.head_dim)
    q = torch.empty(shape, device="meta")
    executed: int = explain(q, q, q, pattern).cost.executed
    return executed


def _learned(mechanism: Mechanism, dims: Dims) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        name: _uniform(shape, generator) / math.sqrt(shape[-1])
        for name, shape in mechanism.parameters(dims).items()
    }


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Return a layer of these weights, without drawing random ones first."""
    rows, columns = weight.shape
    linear = nn.utils.skip_init(nn.Linear, columns, rows, device=weight.device)
    assert isinstance(linear, nn.Linear)
    linear.load_state_dict({"weight": weight, "bias": bias})
    return linear


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Draw from -1 to 1, the same on every device, and leave the caller's random numbers alone."""
    drawn = 2 * torch.rand(shape, generator=generator, device="cpu") - 1
    return drawn.to(torch.get_default_device())
