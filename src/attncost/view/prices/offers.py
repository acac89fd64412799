"""The narrowest window that holds a share of the mass, and whether the first tokens explain it.

    distance = min a with  sum over d <= a of mass(d)  >=  share of all mass

Language models give the first tokens mass that they have no other use for (Xiao et al. 2023,
arXiv:2309.17453), which makes a window look as long as the text. So a window beside the first
tokens is looked for as well, and offered if it is half as wide or less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.kernels.weights import attention_weights
from attncost.patterns.interface import Pattern
from attncost.patterns.longformer import Longformer
from attncost.patterns.window import Window
from attncost.view.prices.executed import Share
from attncost.view.seen import Seen
from attncost.view.statistics.summaries import nearest

_NARROWER: Final = 0.5


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Where mass lies.

    Attributes:
        mass: At each distance from 0, on either side.
        both: Whether it may lie after the query, too.
        tokens: How many first tokens may be read besides; 0 if none.
        first: How much of it lies on those.
        on_first: Returns the same at each distance.
    """

    mass: Float[Tensor, "l"]
    both: bool
    tokens: int
    first: float
    on_first: Callable[[], Float[Tensor, "l"]]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """A pattern that holds a share of the mass.

    Attributes:
        pattern: A window, or a window and the first tokens.
        distance: How far it looks, on each side if `both`.
        both: Whether it looks ahead, too.
        tokens: First tokens that it reads besides.
        share: FLOPs that the best kernel executes for it, over those of what is read now.
    """

    pattern: Pattern
    distance: int
    both: bool
    tokens: int
    share: float

    @property
    def width(self) -> int:
        """Keys of the window, the query's own among them."""
        return 2 * self.distance + 1 if self.both else self.distance + 1

    @property
    def spelled(self) -> str:
        """How it is written in Python."""
        if not self.tokens:
            ahead = f", ahead={self.distance}" if self.distance and self.both else ""
            return f"ac.Window({self.width}{ahead})"
        ahead = "" if self.both or self.width == 1 else ", ahead=0"
        return f"ac.Longformer({self.width}, tokens={self.tokens}{ahead})"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Offers:
    """What can be offered in place of what is read.

    Attributes:
        window: The narrowest window.
        best: Of that and a narrower one beside the first tokens, the cheaper; None if neither is
            cheaper than what is read now.
    """

    window: Offer
    best: Offer | None


def offers(spread: Spread, mass: float, share: Share) -> Offers:
    """Return the narrowest window that holds so much of all mass, and the best offer."""
    total = spread.mass.sum(dtype=torch.float64)
    distance = int(nearest(spread.mass, mass * total))
    window = Offer(
        pattern=_window(distance, both=spread.both),
        distance=distance,
        both=spread.both,
        tokens=0,
        share=share(_window(distance, both=spread.both)),
    )
    found = [window]
    # If they hold less than may be left out, something else is far away, too.
    if spread.tokens and spread.first >= (1 - mass) * float(total):
        on_first = spread.on_first().to(spread.mass)
        near = int(nearest(spread.mass - on_first, mass * total - on_first.sum()))
        if near + spread.tokens <= _NARROWER * distance:
            pattern = _beside_first(near, spread.tokens, both=spread.both)
            found.append(
                Offer(
                    pattern=pattern,
                    distance=near,
                    both=spread.both,
                    tokens=spread.tokens,
                    share=share(pattern),
                )
            )
    best = min(found, key=lambda one: one.share)
    return Offers(window=window, best=best if best.share < 1 else None)


def on_first_by_distance(
    seen: Seen, counted: Bool[Tensor, "b n"], *, tokens: int, distances: int
) -> Float[Tensor, "b h {distances}"]:
    """Return the mean mass that counted queries give the first tokens, at each distance."""
    first = slice(min(tokens, seen.k.shape[2]))
    weights = attention_weights(seen.q, seen.k, seen.pattern, keys=first, **seen.wishes)  # type: ignore[misc]  # they hold no dropout
    (b, h, n, t), m = weights.shape, seen.k.shape[2]
    query = torch.arange(m - n, m, device=weights.device)[:, None]
    apart = (query - torch.arange(t, device=weights.device)).abs().clamp(max=distances - 1)
    shares = counted / counted.sum(1, keepdim=True).clamp(min=1)
    weights = weights.double() * shares[:, None, :, None]
    found = weights.new_zeros(b, h, distances)
    return found.index_add_(2, apart.flatten(), weights.flatten(2))


def _window(distance: int, *, both: bool) -> Window:
    return Window(2 * distance + 1, ahead=distance) if both else Window(distance + 1)


def _beside_first(distance: int, tokens: int, *, both: bool) -> Longformer:
    if both:
        return Longformer(2 * distance + 1, tokens=tokens)
    return Longformer(distance + 1, tokens=tokens, ahead=0)
