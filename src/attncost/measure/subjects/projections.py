"""The modules of the layer that articles time, and its weights, drawn once for all of them.

project to queries, keys and values → attend in every head → project: 4 matrices of d_model²
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias, final

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from attncost.measure.subjects.core import Attend, Projected

# What projects to queries, keys and values, and what mixes the heads, by way, type and device.
Weights: TypeAlias = Callable[[str, torch.dtype, torch.device], tuple[nn.Module, nn.Module]]


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

    def forward(
        self, x: Float[Tensor, "b n f"], attend: Attend | None = None
    ) -> Float[Tensor, "b n f"]:
        """Compute the layer without a mask of padding, by another way to attend if one is given."""
        attend = self.attend if attend is None else attend
        q, k, v = self.projected(x)  # held to the end, as models hold them
        mixed: Tensor = self.output(rearrange(attend(q, k, v), "b h n d -> b n (h d)"))
        return mixed

    def projected(self, x: Float[Tensor, "b n f"]) -> Projected:
        """Return queries, keys and values of each head."""
        q, k, v = (rearrange(one, "b n (h d) -> b h n d", h=self.heads) for one in self.project(x))
        return q, k, v


def weights_of(d_model: int) -> Weights:
    """Draw the matrices of a layer once, for every way to project, type and device."""
    generator = torch.Generator().manual_seed(0)
    with torch.inference_mode(False), torch.device("cpu"):
        joint, mix = (
            (
                uniform((rows, d_model), generator) / math.sqrt(d_model),
                uniform((rows,), generator),
            )
            for rows in (3 * d_model, d_model)
        )

    @cache
    def ready(dtype: torch.dtype, device: torch.device) -> tuple[nn.Linear, nn.Linear]:
        one, other = (_linear(*(x.to(device, dtype) for x in pair)) for pair in (joint, mix))
        return one, other

    @cache
    def weights(way: str, dtype: torch.dtype, device: torch.device) -> tuple[nn.Module, nn.Module]:
        one, other = ready(dtype, device)
        return WAYS[way](one), other

    return weights


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Return a layer of these weights, without drawing random ones first."""
    rows, columns = weight.shape
    linear = nn.Linear(columns, rows, device="meta")
    linear.weight, linear.bias = nn.Parameter(weight.detach()), nn.Parameter(bias.detach())
    return linear


def uniform(
    shape: tuple[int, ...],
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
    device: torch.device = torch.device("cpu"),  # noqa: B008 -- a constant
) -> Tensor:
    """Draw from -1 to 1, the same on every device, and leave the caller's random numbers alone."""
    if device.type == "meta":
        return torch.empty(shape, dtype=dtype, device=device)
    return (2 * torch.rand(shape, generator=generator, device="cpu") - 1).to(device, dtype)


WAYS: Final[dict[str, Callable[[nn.Linear], nn.Module]]] = {
    "separate": Separate,
    "fused": Fused,
}
