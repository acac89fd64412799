"""Who names the class of growth: attncost, and PyPI's big-o, on times that both are given.

Exact times of each class at 13 lengths, in seconds as a layer takes them, and of a layer a thousand
times as fast; the same with 2 % noise; and the medians of real sweeps. big-o has no n^1.5, n + n²
and n + n³: a power, quadratic and cubic are taken for right, which is all that it can say of them.
Beside each answer stands by how much the law that was chosen is off where it is off most.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Literal

import numpy as np
from benchmarks.promise import Promise

from attncost.measure.laws.classes import columns_of
from attncost.measure.laws.fit import fit_law
from attncost.measure.laws.law import Law
from attncost.measure.laws.predicted import Predicted
from attncost.measure.laws.squares import solve

LENGTHS: Final = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
# Coefficients of the constant and of each term, in seconds of a layer of some hundred features.
EXACT: Final = {
    "1": (1e-3,),
    "n": (2e-4, 3e-5),
    "n log n": (2e-4, 3e-6),
    "n^1.5": (2e-4, 1e-6),
    "n²": (2e-4, 3e-8),
    "n + n²": (2e-4, 3e-5, 3e-8),
    "n + n³": (2e-4, 3e-5, 1e-11),
}
# What of big-o's answers counts as right.
THEIRS: Final = {
    "1": "Constant",
    "n": "Linear",
    "n log n": "Linearithmic",
    "n^1.5": "Polynomial",
    "n²": "Quadratic",
    "n + n²": "Quadratic",
    "n + n³": "Cubic",
}
FASTER: Final = 1e-3
NOISE: Final = 0.02
REPEATS: Final = 9

Word = Literal["right", "wrong", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one of the two says of some times.

    Attributes:
        said: The class, or those that cannot be told apart.
        word: Whether that is right; empty where nobody knows.
        worst: Largest relative error of the law of the class.
    """

    said: str
    word: Word | Literal[""]
    worst: float

    def __str__(self) -> str:
        wrong = " (wrong)" if self.word == "wrong" else ""
        return f"{self.said}{wrong}, {100 * self.worst:.0f} %"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What the comparison found.

    Attributes:
        lines: To be printed.
        facts: To be kept.
        promises: Of ours alone: big-o owes nothing.
    """

    lines: list[str]
    facts: list[dict[str, Any]]
    promises: list[Promise]


def compared(laws: dict[str, Law], *, trials: int) -> Compared:
    """Ask both about exact times, times with noise, and medians that were measured."""
    lines = [f"{'times':<24} {'attncost':<30} big-o (class, worst error of its law)"]
    facts: list[dict[str, Any]] = []
    counted: Counter[str] = Counter()
    for name, ours, theirs in _asked(laws, trials):
        counted.update(answer.word for answer in ours if answer.word)
        lines.append(f"{name:<24} {_told(ours):<30} {_told(theirs) or 'not installed'}")
        facts.append({"times": name, "attncost": _told(ours), "big_o": _told(theirs) or None})
    if _theirs(_times("n"), "n") is None:
        lines.append("big-o is not installed, so its column is empty; `make bench` does that.")
    share = 100 * counted["wrong"] / sum(counted.values())
    name = "classes that attncost decides and gets wrong, in %"
    promise = Promise(name=name, figure=share, low=share, high=share, limit=2)
    return Compared(lines=lines, facts=facts, promises=[promise])


def _asked(laws: dict[str, Law], trials: int) -> Iterator[tuple[str, list[Answer], list[Answer]]]:
    """Yield what was asked, and the answers of both: one, or one a trial."""
    for scale, word in ((1.0, "exact"), (FASTER, "exact, fast")):
        for name in EXACT:
            times = {n: scale * seconds for n, seconds in _times(name).items()}
            theirs = _theirs(times, name)
            yield (
                f"{word}: {name}",
                [_ours({n: [t] for n, t in times.items()}, name)],
                [*([theirs] if theirs else [])],
            )
    for name in EXACT:
        runs = [_noisy(name, seed) for seed in range(trials)]
        medians = [{n: float(np.median(ts)) for n, ts in one.items()} for one in runs]
        found = [_theirs(times, name) for times in medians]
        yield (
            f"2 % noise: {name}",
            [_ours(one, name) for one in runs],
            [answer for answer in found if answer],
        )
    for what, law in laws.items():
        times = {p.length: p.seconds.value or p.fitted for p in law.points}
        theirs = _theirs(times, "")
        ours = _answer(law, times, "")
        yield f"measured: {what}", [ours], [*([theirs] if theirs else [])]


def _times(name: str) -> dict[int, float]:
    seconds = columns_of(name, np.array(LENGTHS, float)) @ np.array(EXACT[name])
    return dict(zip(LENGTHS, seconds.tolist(), strict=True))


def _noisy(name: str, seed: int) -> dict[int, list[float]]:
    generator = np.random.default_rng(seed)
    return {
        n: (seconds * np.exp(generator.normal(0, NOISE, REPEATS))).tolist()
        for n, seconds in _times(name).items()
    }


def _ours(timings: dict[int, list[float]], truth: str) -> Answer:
    law = fit_law(
        timings, predicted=lambda n: Predicted(linear=8 * n * 512**2, core=4 * n**2 * 512)
    )
    return _answer(law, {n: float(np.median(values)) for n, values in timings.items()}, truth)


def _answer(law: Law, times: dict[int, float], truth: str) -> Answer:
    growth = law.growth
    n, seconds = (np.array([*values], float) for values in (times, times.values()))
    assert growth.name is not None, "there are lengths enough"
    columns = columns_of(growth.name, n)
    worst = float(np.max(np.abs(columns @ solve(columns, seconds) / seconds - 1)))
    said = " or ".join([growth.name, *growth.undecided])
    if not truth:
        return Answer(said=said, word="", worst=worst)
    right: Word = "right" if growth.name == truth else "wrong"
    return Answer(said=said, word="undecided" if growth.undecided else right, worst=worst)


def _theirs(times: dict[int, float], truth: str) -> Answer | None:
    """Return the class that big-o infers from times, which it takes for the truth."""
    if find_spec("big_o") is None:
        return None
    n, seconds = (np.array([*values], float) for values in (times, times.values()))
    best, _ = import_module("big_o.big_o").infer_big_o_class(n, seconds)
    said, worst = type(best).__name__, float(np.max(np.abs(best.compute(n) / seconds - 1)))
    if not truth:
        return Answer(said=said, word="", worst=worst)
    return Answer(said=said, word="right" if said == THEIRS[truth] else "wrong", worst=worst)


def _told(answers: list[Answer]) -> str:
    if len(answers) <= 1:
        return "".join(map(str, answers))
    counted = Counter(answer.word for answer in answers)
    words = ", ".join(f"{count} {word}" for word, count in sorted(counted.items()))
    return f"{words}, {100 * float(np.median([one.worst for one in answers])):.0f} %"
