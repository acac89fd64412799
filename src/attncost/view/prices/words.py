"""The sentences beside a picture: where mass lies, what a window would cost, what it would move."""

from typing import Final

from attncost.core.units import show
from attncost.view.prices.offers import Offer, Offers

CROSS: Final = "Its keys come from another sequence, where distance means nothing: no window fits."
_LEAST: Final = 1e-5
NOTHING: Final = "None of its queries that count reads anything: there is nothing to price."


def priced(offers: Offers, subject: str, keys: int) -> str:
    """Say where the mass lies, and what the best offer would cost; without a full stop.

    Args:
        offers: One of which is cheaper than what is read now.
        subject: Such as "95 % of its mass".
        keys: How many there are.
    """
    best = offers.best
    assert best is not None, "there is an offer"
    cost = f"would cost {show(best.share, 'times')}"
    if not best.tokens:
        return f"{subject} lies {_near(best)}: a window {cost}"
    first = "the first token" if best.tokens == 1 else f"the first {best.tokens} tokens"
    return (
        f"{subject} lies {_near(best)} and on {first} (a window alone takes "
        f"{_taken(offers.window, keys)}): {best.spelled} {cost}"
    )


def dear(window: Offer, subject: str, length: int, keys: int) -> str:
    """Say that nothing cheaper holds the mass."""
    if 2 * window.distance < keys - 1:
        return f"{subject} lies {_near(window)}, but no window is cheaper at {_tokens(length)}."
    return f"{subject} takes {_taken(window, keys)}: no window is cheaper."


def percent(mass: float) -> str:
    """Write a share that somebody chose, without digits that nobody did."""
    return f"{100 * mass:.10g} %"


def moving(what: str, size: float | None) -> str:
    """Say what is moved, nothing if that is not known."""
    return "" if size is None else f" and move {what} by {change(size)}"


def change(size: float) -> str:
    """Write a relative change; one that is there is never written as none.

    >>> change(0.25), change(2e-7), change(0.0)
    ('25.0 %', 'less than 0.001 %', '0 %')
    """
    return "less than 0.001 %" if 0 < size < _LEAST else show(size, "percent")


def slow(length: int) -> str:
    """Say that fewer FLOPs take no less time."""
    return f" (its FLOPs: at {_tokens(length)} it takes no less time on a CPU)"


def losing(loss: float | None) -> str:
    """Say how much the loss rises, nothing if that is not known."""
    return "" if loss is None else f", and its mean loss by {loss:+.3g} nats"


def _near(offer: Offer) -> str:
    if not offer.distance:
        return "on the token itself"
    tokens = offer.distance if offer.both else offer.distance + 1
    return f"within {_tokens(tokens)}" + (" on each side" if offer.both else "")


def _taken(window: Offer, keys: int) -> str:
    """Say how many of all tokens a window takes."""
    if window.both:
        return f"{window.distance:,} of {_tokens(keys - 1)} on each side"
    return f"{window.distance + 1:,} of {_tokens(keys)}"


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count:,} tokens"
