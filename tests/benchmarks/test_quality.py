"""The benchmark of quality holds the worst seed to what was promised, and times to a law."""

import pytest
from benchmarks.mechanism_speed import LENGTHS, LOW_RANK_LENGTH, OURS, SDPA, law, wins_from
from benchmarks.mechanism_speed import promises as promises_of_time
from benchmarks.quality import parsed
from benchmarks.task_quality import CAUSAL, CONTESTS, DIAL, DIGITS, LINEAR, RECALL, promises

from attncost import UnknownName
from attncost.train.quality.tasks.run import Run

PEER = "performer"


def times(*, ours=1e-8, power=1.0, rank=0.1):
    found = {
        f"{n}": {
            OURS: {i: ours * n**power * (1 + 0.001 * i) for i in range(15)},
            SDPA: dict.fromkeys(range(15), 2e-11 * n**2),
            PEER: dict.fromkeys(range(15), 3e-08 * n),
        }
        for n in LENGTHS
    }
    return found | {
        "low rank": {"Linformer": dict.fromkeys(range(15), rank), "SDPA, full": {0: 1.0, 1: 1.0}}
    }


def run(score, seed=0):
    return Run(attention="", seed=seed, score=score, diverged=False, steps=1, seconds=1.0, curve=())


def scores(**changes):
    found = {one.task: {name: [run(0.97)] * 3 for name in one.attentions} for one in CONTESTS}
    found[RECALL.task]["window:width=16"] = [run(0.1)] * 3
    found[DIAL.task][LINEAR] = [run(0.2)] * 3
    for title, (name, seeds) in changes.items():
        found[{"recall": RECALL.task, "dial": DIAL.task, "digits": DIGITS.task}[title]][name] = [
            run(score) for score in seeds
        ]
    return found


def test_what_is_linear_and_first_everywhere_keeps_its_promises():
    found = times()
    assert all(one.met for one in promises_of_time(found))
    assert law(found).growth.name == "n"
    assert wins_from(found) == 512
    assert wins_from(times(ours=3e-8)) == 2048


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({"power": 1.2, "ours": 1e-9}, {"power of n"}),
        ({"rank": 0.3}, {f"Linformer / SDPA, full, n = {LOW_RANK_LENGTH:,}"}),
        ({"ours": 1e-7}, {f"{OURS} / {PEER}, n = {n:,}" for n in LENGTHS}),
    ],
    ids=["not linear", "low rank too slow", "a peer is faster"],
)
def test_what_is_not_loses_them(change, missed):
    broken = [one.name for one in promises_of_time(times(**change)) if not one.met]
    assert broken
    assert all(any(name.startswith(one) for one in missed) for name in broken)


def test_accuracies_as_they_should_be_keep_their_promises():
    assert all(one.met for one in promises(scores()))


@pytest.mark.parametrize(
    "change",
    [
        {"recall": (CAUSAL, (1.0, 1.0, 0.94))},
        {"recall": ("window:width=16", (0.1, 0.1, 0.26))},
        {"dial": (CAUSAL, (1.0, 0.9, 1.0))},
        {"dial": (LINEAR, (0.1, 0.1, 0.81))},
        {"digits": ("full", (1.0, 1.0, 1.0))},
    ],
    ids=str,
)
def test_one_seed_that_is_off_loses_a_promise(change):
    found = scores(**change)
    if "digits" in change:
        found[DIGITS.task]["linformer:rank=16"] = [run(0.96)] * 3
    assert sum(not one.met for one in promises(found)) == 1


def test_a_part_that_is_not_there_is_named():
    with pytest.raises(UnknownName, match="did you mean 'speed'"):
        parsed(["--only", "sped"])
