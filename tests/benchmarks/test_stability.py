"""What is promised of stability must hold in every seed, and what is kept can be read as JSON."""

import json
import math
from dataclasses import replace

import pytest
from benchmarks.stability import PROMISED, kept, minded, promises

from attncost.train.stability.trial import Trial
from attncost.train.telemetry import LayerRow, Row

LOST = {"no norm at all", "no LayerNorm"}
RATE = 3e-1


def one(name, rate=RATE, *, end=2.9, logit=4.0, loss=4.0):
    rows = (Row(0, loss, rate, 1.0, (LayerRow(logit, 0.5), LayerRow(None, None))),)
    return Trial(variant=name, rate=rate, seed=0, rows=rows, start=5.5, end=end)


def kept_promises():
    return {
        (name, rate): [
            one(
                name,
                rate,
                end=9.0 if name in LOST else 2.9,
                logit=2000.0 if name == "no QK-norm" else 4.0,
            )
        ]
        * 2
        for name, rate in PROMISED
    }


def missed(found):
    return [promise.name for promise in promises(found) if not promise.met]


def test_promises_that_every_seed_keeps_are_met():
    assert len(promises(kept_promises())) == 5
    assert missed(kept_promises()) == []


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("no norm at all", {"end": 3.0}, "no norm at all"),
        ("no LayerNorm", {"end": 3.0}, "no LayerNorm"),
        ("the recipe", {"end": 3.31}, "nats"),
        ("the recipe", {"end": math.nan}, "nats"),
        ("the recipe", {"loss": math.inf}, "nats"),
        ("the recipe", {"logit": 50.3}, "largest logit of the recipe"),
        ("no QK-norm", {"logit": 999.0}, "without QK-norm"),
    ],
)
def test_one_seed_misses_a_promise(name, wrong, said):
    found = kept_promises()
    key = next(key for key in found if key[0] == name)
    usual = {"end": found[key][0].end, "logit": found[key][0].largest_logit}
    found[key] = [found[key][0], one(*key, **(usual | wrong))]
    assert [said in one for one in missed(found)] == [True]


def test_what_is_not_finite_is_none_in_json():
    trial = replace(one("the recipe", logit=math.inf), end=math.nan)
    rows = json.loads(json.dumps(kept({("the recipe", RATE): [trial]}), allow_nan=False))
    assert rows["trials"][0]["end"] is rows["trials"][0]["largest_logit"] is None
    assert rows["trials"][0]["diverged"]
    assert rows["curves"][0]["loss"] == "4"
    assert rows["curves"][0]["largest_logit"] == "inf"


def test_a_variant_is_minded_seed_by_seed():
    low, high = one("SGD", 0.1, end=2.0), one("SGD", 0.2, end=3.0)
    found = {("SGD", 0.1): [low, low], ("SGD", 0.2): [high, replace(high, end=9.0)]}
    # (2 + 3) / 2 - 2, and (2 + 5.5) / 2 - 2.
    assert minded(found, "SGD") == pytest.approx([0.5, 1.75])
