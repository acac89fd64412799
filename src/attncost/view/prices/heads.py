"""The price beside each head: the narrowest window that holds its mass, its cost, what it moves.

What is said is of one head on the texts that were seen. No line swaps a single head of a layer, an
output that moves little may matter much to what reads it, other texts have other maps, and a model
that is trained with a window learns to do without the rest: `layer_prices` runs the model.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import final

from jaxtyping import Bool, Float
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.patterns.interface import Pattern
from attncost.view.prices import words
from attncost.view.prices.executed import Share, share_of
from attncost.view.prices.moved import moved
from attncost.view.prices.offers import Spread, offers, on_first_by_distance
from attncost.view.prices.pieces import from_the_start, looks_ahead, one_head, one_sequence
from attncost.view.seen import Seen
from attncost.view.statistics.results import Statistics
from attncost.view.statistics.summaries import MASS, check_mass


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class HeadPrice:
    """What a narrower pattern would cost one head, and do to it.

    Attributes:
        head: Its number in the model.
        pattern: A window, or one beside the first tokens if those are why mass is far away (they
            then read everything, too, within what the head reads now); None if nothing cheaper
            holds the mass, or distance means nothing.
        width: Keys of the narrowest window alone, cheaper or not; None if distance means nothing.
        share: FLOPs that the best kernel executes for it within what the head reads now, over those
            for what it reads now, at these sizes; over short texts that need not be less time.
        moves: How far the head's output moves, relative to its size, over the queries that count,
            with the weights on what is left scaled up; None if there were no values. It is local to
            the head, and of these texts.
        sentence: All that in words.
    """

    _repr_html_ = as_html

    head: int
    pattern: Pattern | None = None
    width: int | None = None
    share: float | None = None
    moves: float | None = None
    sentence: str


def head_prices(
    seen: Seen, found: Statistics, *, mass: float = MASS, sequence: int = 0
) -> tuple[HeadPrice, ...]:
    """Return what a window would cost each head of one sequence, and move in its output.

    The window is the narrowest that holds a share of what the queries that count read; behind them
    alone if none reads ahead.

    >>> import torch
    >>> import attncost as ac
    >>> model, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.zeros(1, 400, 8)
    >>> with ac.capture(model.eval(), heads=[1]) as captured:
    ...     _ = model(x, x, x, need_weights=False)
    >>> seen = captured.last("")
    >>> found = ac.statistics(seen.q, seen.k, pattern=seen.pattern, **seen.wishes)
    >>> (price,) = ac.head_prices(seen, found, mass=0.25)
    >>> price.head, price.pattern
    (1, Window(width=109, ahead=54))
    >>> price.sentence
    '25 % of its mass lies within 54 tokens on each side: a window would cost 0.674 x.'

    Args:
        seen: One call.
        found: Its statistics.
        mass: The share of mass that the window holds.
        sequence: Which one.

    Returns:
        One for each head of the call; see `HeadPrice`.

    Raises:
        ShapeError: If there is no such share or sequence, or the statistics are of another call.
    """
    check_mass(mass)
    check_belongs(seen, found)
    if not 0 <= sequence < len(seen.q):
        raise ShapeError(f"sequence must lie in [0, {len(seen.q)}), got {sequence}.")
    if seen.cross:
        return tuple(HeadPrice(head=head, sentence=words.CROSS) for head in seen.heads)
    one, counted = one_sequence(seen, sequence), found.counted[sequence : sequence + 1]
    heads = [one_head(one, place) for place in range(len(seen.heads))]
    both, share = looks_ahead(one), share_of(heads[0])
    tokens = found.gauges.first if from_the_start(one) else 0
    prices = []
    for place, head in enumerate(heads):
        near = found.by_distance[sequence, place]
        spread = Spread(
            mass=near,
            both=both,
            tokens=tokens,
            first=float(found.on_first[sequence, place][counted[0]].double().mean()),
            on_first=partial(_on_first, head, counted, tokens=tokens, distances=len(near)),
        )
        prices.append(_price(head, spread, counted, mass, share))
    return tuple(prices)


def check_belongs(seen: object, found: object) -> None:
    """Refuse statistics that cannot be those of a call.

    Raises:
        ShapeError: If they are of other sequences, heads, queries or keys, or are none.
    """
    for name, given, kind in (("seen", seen, Seen), ("found", found, Statistics)):
        if not isinstance(given, kind):
            raise ShapeError(
                f"{name} must be attncost.{kind.__name__}, got a {type(given).__name__}."
            )
    assert isinstance(seen, Seen)
    assert isinstance(found, Statistics)
    called = (*seen.q.shape[:3], seen.k.shape[2])
    measured = (*found.lse.shape, found.received.shape[2])
    if measured != called:
        raise ShapeError(
            f"statistics must be those of the call, {seen.name!r} with (batch, heads, queries, "
            f"keys) = {called}, got some of {measured}: make them with attncost.statistics(seen.q, "
            "seen.k, pattern=seen.pattern, **seen.wishes)."
        )


def _on_first(
    head: Seen, counted: Bool[Tensor, "1 n"], *, tokens: int, distances: int
) -> Float[Tensor, "l"]:
    return on_first_by_distance(head, counted, tokens=tokens, distances=distances)[0, 0]


def _price(
    head: Seen, spread: Spread, counted: Bool[Tensor, "1 n"], mass: float, share: Share
) -> HeadPrice:
    (number,), (n, m) = head.heads, (head.q.shape[2], head.k.shape[2])
    if not spread.mass.any():
        return HeadPrice(head=number, sentence=words.NOTHING)
    found, subject = offers(spread, mass, share), f"{words.percent(mass)} of its mass"
    best, price = found.best, HeadPrice(head=number, width=found.window.width, sentence="")
    if best is None:
        return replace(price, sentence=words.dear(found.window, subject, n, m))
    moves = moved(head, best.pattern, counted)
    return replace(
        price,
        pattern=best.pattern,
        share=best.share,
        moves=moves,
        sentence=f"{words.priced(found, subject, m)}{words.moving('the output', moves)}.",
    )
