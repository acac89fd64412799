"""What an article advises against exploding gradients, held against runs with and without it."""

import json
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
TRIALS = json.loads((ROOT / "benchmarks/results/stability-cpu.json").read_text())["trials"]


def runs(variant, rate):
    found = [row for row in TRIALS if (row["variant"], row["rate"]) == (variant, rate)]
    assert len(found) == 3
    return found


def test_n_a_norm_is_needed_and_not_after_attention():
    for rate in (0.03, 0.3):
        assert all(row["diverged"] for row in runs("advised - norms", rate))
        assert not any(row["diverged"] for row in runs("as advised", rate))
    ends = {
        name: median(row["end"] for row in runs(name, 0.03))
        for name in ("the recipe", "norms after")
    }
    assert round(ends["the recipe"], 2) == 2.49
    assert round(ends["norms after"], 2) == 3.06
    gradients = {
        name: max(row["worst_gradient"] for row in runs(name, 0.3))
        for name in ("as advised", "advised - AdamW", "advised - decay")
    }
    assert gradients["advised - AdamW"] < gradients["as advised"] < gradients["advised - decay"]
