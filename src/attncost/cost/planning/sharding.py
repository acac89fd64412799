"""What one of several devices holds, when they share a model.

    weights / t, / data as well at ZeRO 3        gradients / t, / data from ZeRO 2 on
    optimizer / t, / data from ZeRO 1 on         activations: split / t + whole, / t in sequence
    keys and values: ceil(kv_heads / t) heads    batch / data

Tensor parallel splits heads and hidden features over `t` devices (Shoeybi et al. 2019,
arXiv:1909.08053); what stands between them, inputs of norms and dropouts, is whole on each, unless
it is split along the sequence (Korthikanti et al. 2022, arXiv:2205.05198). ZeRO splits the rest
over the data-parallel devices (Rajbhandari et al. 2019, arXiv:1910.02054); its third stage is
FSDP. Every share is rounded up, so it is the fullest device's. Buffers of communication and the
layer that ZeRO 3 has gathered are left out.
"""

from dataclasses import dataclass
from typing import Final, final

from attncost.core.counts import Count, ceil_div
from attncost.core.errors import ShapeError

_GATHERED: Final = 3  # the stage of ZeRO at which weights are split
_REDUCED: Final = 2  # gradients
_STATES: Final = 1  # the state of the optimizer


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Sharding:
    """How devices share a model.

    Attributes:
        tensor: Devices that share each layer, `t`.
        data: Groups of such devices, each with sequences of its own.
        zero: The stage of ZeRO, 0 to 3; FSDP is 3. Without a second group it changes nothing.
        sequence: Whether what tensor parallel leaves whole is split along the sequence.
    """

    tensor: int = 1
    data: int = 1
    zero: int = 0
    sequence: bool = False

    def __post_init__(self) -> None:
        for name in ("tensor", "data"):
            devices = getattr(self, name)
            if devices < 1:
                raise ShapeError(f"{name} must be at least 1 device, got {devices}.")
        if self.zero not in range(_GATHERED + 1):
            raise ShapeError(
                f"zero must be a stage of ZeRO from 0 to {_GATHERED} (FSDP is {_GATHERED}), "
                f"got {self.zero}."
            )

    @property
    def devices(self) -> int:
        """How many devices there are in all."""
        return self.tensor * self.data

    def check(self, *, heads: Count, kv_heads: Count) -> None:
        """Refuse heads that the devices cannot share.

        Raises:
            ShapeError: If they would not all have as many heads, or not all need as many of keys.
        """
        if heads % self.tensor:
            raise ShapeError(
                f"tensor must divide the heads, got tensor={self.tensor} for {heads} heads: try "
                f"{_divisor(heads, self.tensor)}."
            )
        if kv_heads % self.tensor and self.tensor % kv_heads:
            raise ShapeError(
                f"tensor must divide the heads of keys or be a multiple of them, got "
                f"tensor={self.tensor} for {kv_heads} kv_heads: try "
                f"{_divisor(kv_heads, self.tensor)}."
            )

    def batch(self, sequences: Count) -> Count:
        """Return how many sequences of a batch one device works on.

        >>> Sharding(tensor=2, data=4).batch(10)
        3
        """
        return ceil_div(sequences, self.data)

    def weights(self, split: Count, whole: Count = 0) -> Count:
        """Return what one device holds of the weights between passes.

        Args:
            split: Those that tensor parallel splits: matrices and their inner biases, tables.
            whole: Those that each of its devices has: norms, biases of what leaves a layer.

        >>> Sharding(tensor=2, data=4, zero=3).weights(800, 80)
        120
        """
        return self._share(split, whole, since=_GATHERED)

    def gradients(self, split: Count, whole: Count = 0) -> Count:
        """Return what one device holds of the gradients; arguments as of `weights`."""
        return self._share(split, whole, since=_REDUCED)

    def optimizer(self, split: Count, whole: Count = 0) -> Count:
        """Return what one device holds of the optimizer's state; arguments as of `weights`."""
        return self._share(split, whole, since=_STATES)

    def activations(self, split: Count, whole: Count) -> Count:
        """Return what one device holds of the activations of its own sequences.

        Args:
            split: Those inside attention and feed-forward, by heads and hidden features.
            whole: Those between them: inputs of norms, of dropouts and of the layers themselves.

        >>> Sharding(tensor=8).activations(24, 10), Sharding(tensor=8, sequence=True).activations(
        ...     24, 8
        ... )
        (13, 4)
        """
        between = ceil_div(whole, self.tensor) if self.sequence else whole
        return ceil_div(split, self.tensor) + between

    def cache(self, cached: Count, *, kv_heads: Count) -> Count:
        """Return what one device holds of the keys and values of its own sequences.

        More devices than heads have copies of them, so a cache shrinks no further.

        Args:
            cached: All of it; as many for each head.
            kv_heads: Heads of keys and values; 1 for a latent that all heads share.

        >>> [Sharding(tensor=t).cache(800, kv_heads=8) for t in (2, 8, 16)]
        [400, 100, 100]
        """
        return ceil_div(cached * ceil_div(kv_heads, self.tensor), kv_heads)

    def _share(self, split: Count, whole: Count, *, since: int) -> Count:
        mine = ceil_div(split, self.tensor) + whole
        return ceil_div(mine, self.data) if self.zero >= since else mine


def _divisor(heads: int, tensor: int) -> int:
    """Return the most devices, up to `tensor`, that can share heads."""
    return next(t for t in range(min(tensor, heads), 0, -1) if heads % t == 0)
