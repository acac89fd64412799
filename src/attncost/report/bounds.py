"""How the numbers of a count are said when they are bounds: what masks hide, what has no price."""

from attncost.cost.counting.counted import Counted

_BOTH = " (less what masks hide, plus what has no price)"


def least(counted: Counted) -> str:
    """Return what comes before a number that no mask changes."""
    return "at least " if counted.at_least else ""


def bounded(counted: Counted, number: str) -> str:
    """Return a number of the useful FLOPs, with what it is a bound of.

    Args:
        counted: The count.
        number: The number as it is shown, and what it is one of.
    """
    if counted.at_least and counted.at_most:
        # Too little on one side and too much on the other is no bound at all.
        return number + _BOTH
    return f"{'at most ' if counted.at_most else least(counted)}{number}"


def why_at_most(counted: Counted) -> str:
    """Return why masks are not known, in one sentence without its stop."""
    return f"at most, because {'; '.join(one.rstrip('. ') for one in counted.at_most)}"


def exactness(*counted: Counted) -> str:
    """Return the line under a title: what a FLOP is, and whether all counts are exact."""
    exact = "" if any(one.at_least or one.at_most for one in counted) else "exact counts, "
    return f"A multiply-add is 2 FLOPs; {exact}no weights were needed"
