import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy.stats import ttest_rel
from tests.train.quality.tasks.little import ASKED, asked

from attncost.core.errors import ShapeError, StorageError, UnsupportedOption
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.window import Window
from attncost.train.quality.tasks.stored import check_folder, finished, place
from attncost.train.quality.tasks.study import study
from attncost.train.quality.tasks.times import known


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a study of few steps, and its folder, which must stay as it is."""
    folder, told = tmp_path_factory.mktemp("runs"), []
    return study(asked(), folder, begin=told.append), folder, told


@pytest.fixture
def folder(made, tmp_path):
    """Return a copy of that folder, to spoil."""
    return shutil.copytree(made[1], tmp_path / "runs")


@pytest.mark.slow  # trains six models until they know what they can
def test_what_reads_the_first_token_learns_it_and_a_window_that_cannot_does_not(tmp_path):
    found = study(asked(steps=40, seeds=3), tmp_path)
    window, causal = found.judged
    assert [run.score for run in causal.runs] == [1.0, 1.0, 1.0]
    # 64 coins: guessing gets 32 of them, give or take 4.
    assert all(abs(run.score - 0.5) < 0.2 for run in window.runs)
    assert (found.base, causal.gain, causal.score.low) == (causal, None, 1.0)
    theirs = ttest_rel(*([run.score for run in one.runs] for one in (window, causal)))
    low, high = theirs.confidence_interval(0.95)
    assert (window.gain.low, window.gain.high) == pytest.approx((low, high))
    assert window.gain.settled == (theirs.pvalue < 0.05)
    assert found.by_flops == ("causal",), "both multiply one block, and causal learns more"


def test_flops_are_those_of_the_pairs_that_are_read_and_of_one_block(made):
    window, causal = made[0].judged
    # A pair takes 8 features of a key and 8 of a value, 2 FLOPs each.
    assert causal.price.useful == 32 * (8 * 9 // 2)
    assert window.price.useful == 32 * (1 + 2 * 7)
    assert causal.price.executed == window.price.executed == 32 * 8 * 8
    weights = 2 * 8 * (8 * (4 * 8 + 2 * 16) + 3 * 8 + 8 * 2)
    assert causal.price.model_useful - causal.price.useful == weights


def test_the_second_time_nothing_is_trained_or_timed_and_the_same_comes_out(made):
    first, folder, told = made
    before, found = files(folder), []
    again = study(
        asked(), folder, begin=found.append, progress=lambda *_: pytest.fail("nothing to do")
    )
    assert (again, told, found) == (first, [0], [4])
    assert files(folder) == before


def test_a_further_seed_and_a_further_attention_leave_what_is_there(made, folder):
    kept, done = files(folder), []
    more = {**asked().attentions, "window:width=3": Window(3)}
    found = study(
        asked(attentions=more, seeds=3), folder, progress=lambda *given: done.append(given)
    )
    assert done[-1] == ("window:width=3", 20, 20), "5 runs of 4 steps were missing"
    del kept[folder / "times.json"]
    assert kept.items() <= files(folder).items()
    assert found.base.runs[:2] == made[0].base.runs


def test_a_run_that_is_interrupted_goes_on_and_comes_out_the_same(tmp_path):
    long = asked(steps=12, seeds=1)
    whole = study(long, tmp_path / "whole")

    def stop(doing, done, total):
        if done == 17:  # in the second run
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(long, tmp_path / "cut", progress=stop)
    told = []
    found = study(long, tmp_path / "cut", begin=told.append)
    assert told == [1]
    for one, other in zip(found.judged, whole.judged, strict=True):
        (run,), (same,) = one.runs, other.runs
        assert (run.score, run.curve) == (same.score, same.curve)


def test_a_run_that_diverges_counts_as_guessing(tmp_path):
    recipe = replace(ASKED.recipe, steps=20, learning_rate=1e30, clip=None)
    found = study(replace(ASKED, recipe=recipe, seeds=1), tmp_path)
    assert [one.runs[0].diverged for one in found.judged] == [True, True]
    assert [one.score.value for one in found.judged] == [0.5, 0.5]
    assert found.judged[0].runs[0].steps < 20
    assert (found.by_flops, found.by_time) == ((), ())


def test_random_numbers_and_threads_of_the_caller_stay(folder):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    shutil.rmtree(folder / "causal" / "seed-0")
    study(asked(), folder)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("attention", [Full(), Window(3, ahead=1)])
def test_what_reads_ahead_is_refused_before_anything_is_trained(attention, tmp_path):
    both = {"causal": Causal(), "ahead": attention}
    with pytest.raises(UnsupportedOption):
        study(asked(attentions=both), tmp_path)
    assert files(tmp_path) == {}


def test_runs_of_other_settings_are_not_compared(made):
    with pytest.raises(ShapeError, match="steps=4, and steps=5 is asked for"):
        finished(made[1], asked(steps=5))


def without_score(row):
    return {name: value for name, value in row.items() if name != "score"}


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda _: "{", "is no JSON"),
        (lambda _: "[]", "is not of schema attncost.quality.run/1"),
        (lambda text: text.replace("quality.run/1", "quality.run/9"), "is not of schema"),
        (lambda text: json.dumps(without_score(json.loads(text))), "is no result of a run"),
        (lambda text: text.replace("settings", "other"), "does not say its settings"),
    ],
)
def test_a_file_that_is_no_result_is_said_in_one_line(spoil, line, folder):
    path = folder / "causal" / "seed-0" / "result.json"
    path.write_text(spoil(path.read_text()))
    with pytest.raises(ShapeError, match=line) as caught:
        finished(folder, asked())
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["torch", "processor"])
def test_times_of_another_machine_or_version_are_not_taken(name, folder):
    path = folder / "times.json"
    assert known(folder, asked()) is not None
    row = json.loads(path.read_text())
    row["environment"][name] = "another"
    path.write_text(json.dumps(row))
    assert known(folder, asked()) is None


def test_runs_of_another_version_are_not_compared(folder):
    path = folder / "causal" / "seed-0" / "result.json"
    row = json.loads(path.read_text())
    assert row["settings"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    row["settings"]["torch"] = "1.0"
    path.write_text(json.dumps(row))
    with pytest.raises(ShapeError, match=r"is of torch=1\.0, and torch="):
        finished(folder, asked())


def test_times_that_cannot_be_read_are_said_in_one_line(folder):
    path = folder / "times.json"
    path.write_text(path.read_text().replace("ratio", "other"))
    with pytest.raises(ShapeError, match="holds no times"):
        known(folder, asked())


def test_no_two_attentions_share_a_folder():
    names = ("window:width=2", "window:width=2,ahead=1", "causal", "a/b", "..")
    places = {place(Path("runs"), name, seed) for name in names for seed in (0, 1)}
    assert len(places) == 2 * len(names)
    assert all(len(one.parts) == 3 and ".." not in one.parts for one in places)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(StorageError, match="taken cannot hold runs"):
        check_folder(tmp_path / "taken")


@pytest.mark.parametrize(
    "changes", [{"seeds": 0}, {"seeds": 10**9}, {"attentions": {}}, {"held_out": 0}]
)
def test_what_cannot_be_asked_is_refused(changes):
    with pytest.raises(ShapeError):
        asked(**changes)
