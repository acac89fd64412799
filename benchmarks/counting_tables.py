"""The tables of `benchmarks.counting`, at most 80 columns wide."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, TypeAlias

from benchmarks.apart import Outcome
from benchmarks.counting_cases import CASES
from benchmarks.later import FORWARD, OURS, TORCH

from attncost.measure.sweep.interleaved import Samples, ratio

# What came of asking everybody about a case, by case and by who.
Found: TypeAlias = Mapping[str, Mapping[str, Outcome]]

# Ours are two: the pairs that are read, and all.
USEFUL: Final = "useful"
DENSE: Final = "dense"

EXACT: Final = "exact"
UNMASKED: Final = "unmasked"
OFF: Final = "off"
ZERO: Final = "ZERO"
NONE: Final = "none"
CRASH: Final = "CRASH"

_WIDTH: Final = 80
_NAME: Final = 23
_TRUTH: Final = 14
_NARROWEST: Final = 7


def verdict(case: str, who: str, outcome: Outcome) -> str:
    """Return in a word what a count is worth."""
    truth = CASES[case]
    if outcome.crash is not None:
        return CRASH
    if outcome.value is None:
        return NONE
    if outcome.value == (truth.dense if who == DENSE else truth.useful):
        return EXACT
    if outcome.value == 0:
        return ZERO
    return UNMASKED if outcome.value == truth.dense else OFF


def side_by_side(found: Found) -> None:
    """Print what everybody counts as a multiple of what it is."""
    everybody = list(dict.fromkeys(chain.from_iterable(found.values())))
    print(f"\nFLOPs as a multiple of the truth; `{USEFUL}` and `{DENSE}` are of attncost")
    for number, columns in enumerate(_blocks(everybody)):
        truth = "" if number else f"{'truth':>{_TRUTH}}"
        print(f"\n{'case':<{_NAME}}{truth}" + "".join(f"{who:>{_wide(who)}}" for who in columns))
        for case, row in found.items():
            truth = "" if number else f"{CASES[case].useful:>{_TRUTH},}"
            cells = (f"{_cell(case, who, row[who]):>{_wide(who)}}" for who in columns)
            print(f"{case:<{_NAME}}{truth}" + "".join(cells))


def scores(found: Found) -> None:
    """Print how often everybody is right."""
    words = (EXACT, UNMASKED, OFF, ZERO, NONE, CRASH)
    print(f"\n{'of ' + str(len(found)):<12}" + "".join(f"{word:>10}" for word in words))
    for who in dict.fromkeys(chain.from_iterable(found.values())):
        seen = Counter(verdict(case, who, row[who]) for case, row in found.items())
        print(f"{who:<12}" + "".join(f"{seen[word] or '-':>10}" for word in words))


def crashes(found: Found) -> None:
    """Print why attncost crashed, if it did."""
    for case, row in found.items():
        if row[USEFUL].crash is not None:
            print(f"attncost crashed on {case}: {row[USEFUL].crash}")


def costs(taken: Mapping[str, Samples]) -> None:
    """Print how long counting takes."""
    if not taken:
        return
    print(f"\n{'time of counting a forward pass':<34}{'who':<10}{'x forward':>10}  95 % interval")
    for case, samples in taken.items():
        for who in (OURS, TORCH):
            one = ratio(samples, who, FORWARD)
            print(f"{case:<34}{who:<10}{one.figure:>10.2f}  [{one.low:.2f}, {one.high:.2f}]")


def _blocks(everybody: list[str]) -> Iterator[list[str]]:
    """Divide columns into tables that fit, the first with the truth."""
    block: list[str] = []
    room = _WIDTH - _NAME - _TRUTH
    for who in everybody:
        if _wide(who) > room:
            yield block
            block, room = [], _WIDTH - _NAME
        block.append(who)
        room -= _wide(who)
    yield block


def _wide(who: str) -> int:
    return 1 + max(len(who), _NARROWEST)


def _cell(case: str, who: str, outcome: Outcome) -> str:
    word = verdict(case, who, outcome)
    if word not in (OFF, UNMASKED):
        return word
    times = outcome.value / (CASES[case].dense if who == DENSE else CASES[case].useful)
    return f"{times:.3f}D" if word == UNMASKED else f"{times:.4f}"
