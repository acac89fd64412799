"""How fast a model could run at most, and what its tokens then cost: the roofline.

    seconds >= max(FLOPs / peak, bytes / bandwidth)     price = devices * price per hour * hours

A device can do no more than its peak and read no faster than its memory (Williams et al. 2009,
doi:10.1145/1498765.1498785), so real time is longer and real tokens are dearer: both figures are
bounds. Rates that were measured on a device, in place of its peaks, make them estimates. Messages
between devices are taken to cost no time.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal, final

from attncost.core.counts import Count, ceil_div
from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.cost.configuration import Configuration
from attncost.cost.planning.cache import cache_read
from attncost.cost.planning.needs import needs
from attncost.cost.planning.precision import stored
from attncost.cost.planning.situation import Situation

_TOKENS: Final = 1_000_000
_LEAST: Final = 1.0
_MOST: Final = 1e24


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """What one device does in a second.

    Attributes:
        flops: FLOPs of matrix products.
        bytes: Bytes that it reads or writes.
        source: Who says so.
        measured: Whether these were measured, and are no peaks.
    """

    flops: float
    bytes: float
    source: str
    measured: bool = False

    def __post_init__(self) -> None:
        for name in ("flops", "bytes"):
            if not _LEAST <= getattr(self, name) <= _MOST:
                raise ShapeError(
                    f"{name} a second must lie between {_LEAST:g} and {_MOST:g}, got "
                    f"{getattr(self, name):g}."
                )


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """How long one pass, step or token takes at least.

    Attributes:
        seconds: The time.
        tokens: Tokens that are read or written in it.
        bound: What takes it.
        equation: How it comes about, numbers in place of letters.
    """

    _repr_html_ = as_html

    seconds: float
    tokens: int
    bound: Literal["arithmetic", "memory"]
    equation: str

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all sequences in one second."""
        return self.tokens / self.seconds

    def price(self, per_hour: float, *, devices: int) -> float:
        """Return what a million tokens cost.

        Args:
            per_hour: The price of one device for an hour, in any currency.
            devices: How many work.

        Raises:
            ShapeError: If the price is negative.
        """
        if not (isfinite(per_hour) and per_hour >= 0):
            raise ShapeError(f"a price must be a number that is not negative, got {per_hour}.")
        return devices * per_hour / 3600 * _TOKENS / self.tokens_per_second


def speed(
    model: Configuration, how: Situation, rates: Rates, *, length: int, batch: int = 1
) -> Speed:
    """Return how fast a pass over a prompt, a token or a training step can be.

    Args:
        model: The sizes.
        how: How it is run.
        rates: Of one device.
        length: Tokens of each sequence; in `decode` those that the next token reads.
        batch: Sequences on all devices together.
    """
    asked = flops(model, how, length=length) * how.sharding.batch(batch)
    share, moved = ceil_div(asked, how.sharding.tensor), _moved(model, how, length, batch)
    arithmetic, memory = share / rates.flops, moved / rates.bytes
    tokens = batch * (1 if how.work == "decode" else length)
    if arithmetic >= memory:
        equation = f"{share:.3g} FLOPs / {rates.flops:.3g} FLOP/s"
        return Speed(seconds=arithmetic, tokens=tokens, bound="arithmetic", equation=equation)
    equation = f"{moved:,} B / {rates.bytes:.3g} B/s"
    return Speed(seconds=memory, tokens=tokens, bound="memory", equation=equation)


def flops(model: Configuration, how: Situation, *, length: Count) -> Count:
    """Return the useful FLOPs of one sequence; checkpointed, all layers run once more.

    Args:
        model: The sizes, or symbols.
        how: How it is run.
        length: Tokens; in `decode` those that the next token reads.
    """
    if how.work == "prefill":
        return model.prompt(length).useful
    again = model.inside(length).useful if how.work == "training" and how.checkpointing else 0
    return model.flops(length, how.work) + again


def _moved(model: Configuration, how: Situation, length: int, batch: int) -> Count:
    """Return the bytes that a device cannot but move: what it holds for good, once.

    To serve, it reads no table but a few rows of it, and the experts of one token at least; to
    write, the past as well, which reading has written.
    """
    parts = {one.part: one.bytes for one in needs(model, how, length=length, batch=batch)}
    if how.work == "training":
        return sum(parts.get(part, 0) for part in ("weights", "gradients", "optimizer"))
    read = model.decoded if how.work == "decode" else model.multiplied
    weights = stored(how.sharding.weights(read), how.weights)
    past = cache_read(model, how, length=length, batch=how.sharding.batch(batch))
    return weights + past + parts.get("state", 0)
