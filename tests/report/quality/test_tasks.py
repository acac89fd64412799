import json
from dataclasses import dataclass
from typing import ClassVar

import pytest
from scipy.stats import ttest_rel
from tests.browser import opened
from tests.report.quality.studies import USUAL, again, study
from tests.train.quality.tasks.little import First

from attncost.report.html import html
from attncost.report.markdown import markdown
from attncost.report.plain import dumped, plain
from attncost.report.quality.tasks import task_document
from attncost.report.text import text
from attncost.train.tasks.interface import Metric, Task, Usual

NAMES = ("window:width=2", "causal", "linear:causal=1")


@dataclass(frozen=True)
class Nats(Task):
    """A task of which less is better."""

    source: ClassVar[str] = "made for tests"
    metric: ClassVar[Metric] = "nats"
    causal: ClassVar[bool] = True
    pooled: ClassVar[bool] = False
    length: ClassVar[int] = 8
    vocabulary: ClassVar[int] = 9
    classes: ClassVar[int] = 9
    chance: ClassVar[float] = 2.197
    usual: ClassVar[Usual] = First.usual

    @classmethod
    def examples(cls):
        return (cls(),)

    def drawn(self, size, *, seed, step):
        return First().drawn(size, seed=seed, step=step)

    def held_out(self, size):
        return First().held_out(size)


def said(found, *, renderer=text):
    return " ".join(renderer(task_document(found, again)).split())


def said_lines(found):
    return text(task_document(found, again)).splitlines()


def test_a_loss_is_told_with_its_interval_and_its_price():
    low, high = ttest_rel(USUAL["causal"][0], USUAL["window:width=2"][0]).confidence_interval(0.95)
    expected = (
        f"window:width=2 gets 48.0 % of labels, 51.0 points ({100 * low:.1f} to {100 * high:.1f}) "
        "worse than causal, for 0.500 x its executed FLOPs of attention and 0.750 x (0.68 to 0.83) "
        "its forward time."
    )
    assert expected in said(study())


def test_what_seeds_cannot_tell_apart_is_not_told_apart():
    assert (
        "linear:causal=1 gets 98.3 % of labels, which 3 seeds do not tell from causal "
        "(0.667 points worse)" in said(study())
    )


def test_one_seed_has_no_interval_and_says_so():
    found = said(study({name: (one[:1], *rest) for name, (one, *rest) in USUAL.items()}))
    assert (
        "causal gets 100 % of labels (one seed, no interval; guessing has 50.0 % of labels)"
        in found
    )
    assert "50.0 points worse than causal (one seed, no interval)" in found
    assert "One seed has no interval: add --seeds." in found


def test_of_nats_less_is_better():
    scores = {"causal": ([2.0, 2.1], 1000, 1.0), "window:width=2": ([2.5, 2.6], 500, 0.7)}
    found = study(scores, task=Nats())
    assert "window:width=2 gets 2.55 nats a label, 0.5 nats (0.5 to 0.5) worse than causal" in said(
        found
    )
    assert [found.best(one).score for one in found.judged] == [2.0, 2.5]
    cheap = study({**scores, "window:width=2": ([1.5, 1.5], 500, 0.7)}, task=Nats())
    assert cheap.by_flops == ("window:width=2",)


def test_what_is_not_beaten_is_named_for_flops_and_for_time():
    found = {one.key: one for one in task_document(study(), again).findings}
    assert found["not_beaten_by_flops"].values["attentions"] == list(NAMES)
    assert found["not_beaten_by_time"].values["attentions"] == ["window:width=2", "causal"]


def test_a_time_that_noise_does_not_tell_from_the_base_is_the_same_time():
    """0.95 with 0.855 to 1.045 is a tie, in which less quality is beaten; 0.75 is none."""
    worse = ([0.9, 0.9, 0.9], 1000, 0.95)
    found = study({**USUAL, "linear:causal=1": worse})
    assert found.by_time == ("window:width=2", "causal")
    figure = task_document(found, again).sections[0].blocks[1]
    drawn = {one.name: one.points[0].x for one in figure.chart.series}
    assert drawn == pytest.approx(
        {"causal": 0.002, "linear:causal=1": 0.002, "window:width=2": 0.0015}
    )
    assert {row[0]: row[2] for row in figure.table.rows}["linear:causal=1"] == 0.95


def test_what_diverged_is_told_first_and_is_compared_with_nothing():
    found = study(diverged={("window:width=2", 1)})
    first, *others = task_document(found, again).findings
    assert first.text == (
        "The loss of window:width=2 stopped being finite in 1 of 3 runs, which counts as guessing."
    )
    told = next(one.text for one in others if one.text.startswith("window:width=2"))
    assert "cannot be compared with causal as window:width=2 diverged" in told
    assert found.by_flops == ("causal", "linear:causal=1")
    assert "window:width=2" not in found.by_time
    window = found.judged[0]
    assert (window.score.low, window.score.high, window.gain) == (None, None, None)
    assert "None for what diverged: window:width=2." in said(found)


def test_nothing_is_compared_with_a_base_that_diverged():
    found = study(diverged={("causal", seed) for seed in range(3)})
    printed = said(found)
    assert printed.index("The loss of causal stopped being finite in 3 of 3 runs") < printed.index(
        "causal gets 99.0 % of labels (diverged, no interval"
    )
    assert "cannot be compared with causal as causal diverged" in printed
    assert "Gain on causal" not in printed
    assert found.by_time == ("window:width=2", "linear:causal=1")
    every = study(diverged={(name, 0) for name in NAMES})
    assert every.by_flops == every.by_time == ()
    assert "Not beaten" not in said(every)


def test_gains_are_in_the_points_that_the_note_says():
    tables = plain(task_document(study(), again))["tables"]
    (gains,) = [one for one in tables if one["title"] == "Gain on causal"]
    rows = {row[0]: row[1] for row in gains["rows"]}
    assert rows["window:width=2"] == pytest.approx(-51.0)
    assert "In points, seed by seed, over causal" in said(study())
    (line,) = [
        row for row in said_lines(study()) if row.startswith("window:width=2  ") and "-51" in row
    ]
    assert "%" not in line


def test_each_finding_carries_the_command_that_trains_what_it_speaks_of():
    commands = [one.command for one in task_document(study(), again).findings]
    assert commands[:3] == [
        again(["causal"]),
        again(["causal", "linear:causal=1"]),
        again(["causal", "window:width=2"]),
    ]
    assert set(commands[3:]) == {again(list(NAMES))}


def test_json_holds_the_numbers_that_are_shown():
    document = task_document(study(), again)
    found = json.loads(dumped(document))
    assert found["schema"] == "attncost.quality/1"
    scores = {row[0]: row[1:] for row in found["tables"][0]["rows"]}
    for one in found["attentions"]:
        runs = [run["score"] for run in one["runs"]]
        assert runs == USUAL[one["attention"]][0]
        assert one["score"]["value"] == pytest.approx(sum(runs) / 3)
        mean, low, high, worst, best, flops = scores[one["attention"]]
        assert (mean, low, high) == tuple(one["score"].values())
        assert (worst, best, flops) == (min(runs), max(runs), one["price"]["executed"])
        assert f"{100 * mean:.1f} %" in text(document)
    assert plain(document)["not_beaten"] == {"flops": list(NAMES), "time": list(NAMES[:2])}


def test_a_mask_that_saves_nothing_at_this_length_is_told():
    scores = {"causal": ([1.0, 1.0], 1000, 1.0), "window:width=2": ([0.5, 0.5], 1000, 1.0)}
    found = study(scores)
    assert "kernels multiply as much" not in said(found)
    few = found.judged[1].price
    object.__setattr__(few, "useful", 10)
    assert "At 8 tokens the kernels multiply as much for window:width=2 as for causal" in said(
        found
    )


def test_more_attentions_than_a_chart_tells_apart_are_all_in_the_tables():
    scores = {f"window:width={i}": ([0.1 * i, 0.1 * i], 100 * i, 1.0) for i in range(1, 10)}
    document = task_document(study({"causal": ([1.0, 1.0], 1000, 1.0), **scores}), again)
    assert "The charts leave out the 2 worst of them." in " ".join(text(document).split())
    assert len(document.sections[0].blocks[0].chart.series) == 8
    assert len(document.sections[0].blocks[0].table.rows) == 10


LONG = "linear:feature_map=softmax,causal=1"


@pytest.mark.parametrize("seeds", [1, 3])
def test_80_columns_are_enough_and_nothing_is_cut_off(seeds):
    scores = {name: (one[:seeds], *rest) for name, (one, *rest) in USUAL.items()}
    printed = text(task_document(study({**scores, LONG: scores["causal"]}), again))
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed
    assert LONG in "".join(printed.split())


def test_a_long_spelling_is_folded_after_a_comma():
    name = "bigbird:block=64,window_blocks=3,random_blocks=3,global_blocks=2,longest=4096"
    printed = said_lines(study({**USUAL, name: USUAL["causal"]}))
    rows = [row.split()[0] for row in printed if any(row.startswith(p) for p in name.split(","))]
    in_tables = [row for row in rows if row != name]
    assert in_tables
    assert {row.rpartition(",")[2] for row in in_tables} <= {"", "longest=4096"}
    assert max(map(len, printed)) <= 80


def test_other_renderings_say_the_same():
    assert "51.0 points" in said(study(), renderer=markdown)
    assert "51.0 points" in said(study(), renderer=html)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_page_fits_its_window_and_complains_of_nothing(width, scheme, browser, tmp_path):
    page = tmp_path / "quality.html"
    page.write_text(html(task_document(study(), again)), encoding="utf-8")
    with opened(browser, page, width=width, scheme=scheme) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        assert seen.page.locator("figure svg").count() == 3
    assert (seen.errors, seen.requests) == ([], [])
