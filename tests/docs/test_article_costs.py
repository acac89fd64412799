"""What the articles say of time and memory: the mistake shown, and the repair of the page checked.

A wrong snippet is written out here in its smallest form; `repaired` holds what the page defines.
"""

import json
import math
import re

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from tests.docs.articles import PAGE, counted, said
from tests.docs.pages import ROOT
from torch import nn
from torch.profiler import ProfilerActivity, profile, supported_activities

from attncost.cli import main

NO_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="shown on a machine without CUDA")


def test_the_page_and_these_files_name_the_same_tests():
    page = (ROOT / PAGE).read_text()
    files = "".join(path.read_text() for path in ROOT.glob("tests/docs/test_article_*.py"))
    rows = set(re.findall(r"^def (test_[a-z]_\w+)", files, re.MULTILINE))
    assert set(re.findall(r"`(test_\w+)`", page)) == rows
    sections = re.findall(r"^## ([a-z])\. ", page, re.MULTILINE)
    assert sections == re.findall(r"^\| \[([a-z])\]", page, re.MULTILINE)
    assert set(sections) == {name[5] for name in rows}


def test_a_the_table_does_not_grow_as_its_formula(repaired):
    n, printed = np.array(repaired["lengths"]), np.array(repaired["milliseconds"])
    formula = 8 * n * 512**2 + 4 * n**2 * 512
    assert repaired["flops"] == formula.tolist()
    for costs in (formula, printed):
        exponents = [f"{e:.2f}" for e in np.diff(np.log2(costs))]
        assert said(" | ".join([*exponents, f"x {costs[-1] / costs[0]:.1f}"]))


def test_a_no_law_of_the_formula_comes_near_the_table(repaired):
    """Maximise c1 / c2 of c0 + c1 n + c2 n² within a tolerance, as a linear programme in 1 / c2."""
    n, printed = np.array(repaired["lengths"]), np.array(repaired["milliseconds"])

    def largest_ratio(digit):
        low, high = (printed - digit) * 0.95, (printed + digit) * 1.05
        above = np.stack([-np.ones(5), -n, low], 1)
        below = np.stack([np.ones(5), n, -high], 1)
        bounds = np.concatenate([n**2, -(n**2)])
        found = linprog([0, -1, 0], np.concatenate([above, below]), bounds)
        return found.x[1] if found.success else None

    assert largest_ratio(0.05) == pytest.approx(10.5, abs=0.05)
    assert largest_ratio(0.0) is None


def test_a_the_command_finds_the_table_inconsistent(repaired, capsys):
    table = ROOT / "examples/data/article_timings.csv"
    assert main(["fit", str(table), "--d-model", "512", "--json"]) == 0
    (law,) = json.loads(capsys.readouterr().out)["laws"]
    assert [point["length"] for point in law["points"]] == list(repaired["lengths"])
    printed = [1000 * point["seconds"]["value"] for point in law["points"]]
    assert printed == pytest.approx(repaired["milliseconds"])
    assert law["verdict"]["word"] == "inconsistent"


def naive_layer(n, heads, d_model):
    """The forward pass of the first article."""
    wq, wk, wv, wo = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(x):
        q, k, v = (w(x).unflatten(2, (heads, -1)).transpose(1, 2) for w in (wq, wk, wv))
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        return wo((weights @ v).transpose(1, 2).flatten(2))

    x = torch.randn(1, n, d_model)
    return lambda: forward(x)


def test_g_one_head_is_a_seventeenth_of_the_peak(repaired):
    n, heads, d = 512, 8, 128
    with torch.no_grad():
        peak = repaired["peak_bytes"](naive_layer(n, heads, d))
    assert peak == pytest.approx(repaired["naive_peak_bytes"](n, heads=heads, d_model=d), rel=0.01)
    one_head = torch.empty(2048, 2048, device="meta").nbytes
    assert one_head == 16 * 2**20
    assert round(repaired["naive_peak_bytes"](2048, heads=8, d_model=512) / one_head) == 17


@NO_CUDA
@pytest.mark.filterwarnings("ignore")
def test_h_the_profiler_needs_an_activity_that_exists():
    with (
        pytest.raises(AssertionError, match="No activities"),
        profile(activities=[ProfilerActivity.CUDA]),
    ):
        pass
    with profile(activities=supported_activities()) as profiler:
        torch.zeros(4)
        torch.randn(256, 256) @ torch.randn(256, 256)
    averages = profiler.key_averages()
    assert {event.device_time_total for event in averages} == {0}
    assert not hasattr(averages[0], "cuda_time_total")
    first = averages.table(sort_by="cuda_time_total", row_limit=1)
    assert averages[0].key in first


def test_h_the_slowest_operation_is_found(repaired):
    x = torch.randn(512, 512)
    assert repaired["slowest"](lambda: [x + 1, x @ x @ x @ x, x - 1]) == "aten::mm"


@NO_CUDA
def test_j_the_printer_sees_nothing_on_a_cpu(capsys):
    def print_memory_usage(module):
        print(f"Allocated: {torch.cuda.memory_allocated() / 1024**2:.2f}MB")  # noqa: T201

    alive = torch.ones(16 * 2**20)
    print_memory_usage(alive)
    assert alive.nbytes == 64 * 2**20
    assert capsys.readouterr().out == "Allocated: 0.00MB\n"


def test_j_the_meter_sees_the_peak(repaired):
    one = torch.ones(2**20)

    def two_more_at_once():
        return (one + 1 + 1).sum()

    assert repaired["peak_bytes"](two_more_at_once) == pytest.approx(8 * 2**20, abs=64)


def test_k_the_share_of_the_square_is_counted(repaired):
    for n in (64, 512, 1024, 3072):
        with torch.device("meta"), torch.no_grad():
            layer = naive_layer(n, 8, 512)
            projections = 4 * counted(lambda n=n: torch.empty(n, 512) @ torch.empty(512, 512))
            share = 1 - projections / counted(layer)
        assert repaired["share_of_square"](n, 512) == pytest.approx(share)
        assert said(f"{100 * share:.1f} %")
