"""What a benchmark ends with: one line a promise, and an exit status that says if all were kept."""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A figure that was promised.

    Attributes:
        name: What is promised.
        figure: What was measured.
        low: Lower end of its 95 % interval.
        high: Upper end.
        limit: What it must not exceed.
    """

    name: str
    figure: float
    low: float
    high: float
    limit: float

    @property
    def met(self) -> bool:
        """A promise is missed only if all of the interval is beyond the limit."""
        return self.low <= self.limit

    def __str__(self) -> str:
        word = "met" if self.met else "missed"
        ends = f"[{self.low:.3g}, {self.high:.3g}]"
        return f"{word}: {self.name}: {self.figure:.3g} {ends}, promised {self.limit:.3g}"


def median_of_runs(name: str, figures: list[float], *, limit: float) -> Promise:
    """Return a promise of a median, which has no slack: `low` is the median, `high` the worst."""
    middle = median(figures)
    return Promise(name=name, figure=middle, low=middle, high=max(figures), limit=limit)


def settle(promises: list[Promise]) -> int:
    """Print one line a promise and return the exit status: 1 if any was missed."""
    for promise in promises:
        print(promise)
    return int(not all(promise.met for promise in promises))
