import json
from functools import partial

import pytest
import torch
from benchmarks.agreement import OtherNumbersError
from benchmarks.case import Case
from benchmarks.hosts import decoding, encoding, reading
from benchmarks.layers import caching, multihead, multihead_window
from tests.measure.sweep.test_interleaved import Ticking

from benchmarks import hosts, models

# A little more than the window reads, so that it shows.
LENGTH = hosts.WIDTH + 4


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.setattr(hosts, "STEPS", 2)
    return 2


def case(calls, **more):
    return Case(subject="a", where="b", calls=calls, alike=(tuple(calls),), **more)


def test_quick_takes_fewer_rounds_unless_they_are_named():
    assert models.parsed([]).rounds == 15
    assert models.parsed(["--quick"]).rounds < 15
    assert models.parsed(["--quick", "--rounds", "20"]).rounds == 20
    assert models.parsed(["--only", "llama,caches"]).only == ["llama", "caches"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "lama"], "did you mean 'llama'"),
        (["--rounds", "2"], "at least 3"),
    ],
)
def test_a_mistaken_request_ends_with_status_2_and_one_clear_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        models.parsed(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_results_that_should_be_the_same_and_are_not_end_the_run():
    def results(more):
        return torch.ones(3), torch.tensor([1000.0, 0.0]) + more

    near = case({"one": partial(results, 0.0), "other": partial(results, 0.05)})
    assert near.agreement() == {"other": pytest.approx(5e-5, rel=0.01)}
    for more in (0.2, torch.nan):
        far = case({"one": partial(results, 0.0), "other": partial(results, more)})
        with pytest.raises(OtherNumbersError, match="a, b: other is off one"):
            far.agreement()


def test_only_what_is_promised_is_visited_in_every_round():
    clock = Ticking()
    calls = {name: clock.call(name, t) for name, t in (("one", 3.0), ("two", 2.0), ("three", 1.0))}
    found = case(calls, limits={("two", "one"): 0.5}, steps=4)
    samples = found.run(clock, 15)
    assert {name: len(times) for name, times in samples.items()} == {
        "one": 15,
        "two": 15,
        "three": 3,
    }
    assert samples["one"][0] == 0.75
    (promise,) = found.promises(samples)
    assert promise.name == "a, b: two / one"
    assert (promise.figure, promise.met) == (2 / 3, False)


def test_a_cache_that_grows_breaks_its_promise():
    held = {("rolling", 8): 100, ("rolling", 9): 101, ("dynamic", 9): 999}
    (promise,) = case({}, nbytes=held, constant="rolling").promises({})
    assert (promise.figure, promise.met) == (1.01, False)


def test_one_cache_stays_as_it_is_and_the_other_grows_and_both_give_the_same_numbers():
    made = caching()
    assert made.agreement().keys() == {"rolling"}
    assert [(one.figure, one.met) for one in made.promises({})] == [(1.0, True)]
    assert made.nbytes["dynamic", 4096] > 10 * made.nbytes["rolling", 4096]


def test_twins_share_all_weights_and_differ_in_their_attention():
    model = hosts._llama()
    ours, theirs = (hosts._twin(model, name) for name in ("exact", "eager"))
    assert all(a is b for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
    used = [one.config._attn_implementation for one in (model, ours, theirs)]
    assert used == ["sdpa", "bench_exact", "eager"]


@pytest.mark.usefixtures("steps")
def test_models_compute_the_same_numbers_with_our_attention():
    assert encoding(16, padded=True).agreement().keys() == {"exact", "eager"}
    assert reading(LENGTH).agreement().keys() == {"exact", "window"}
    assert decoding(LENGTH, window=1.0).agreement().keys() == {"exact", "window"}


@pytest.mark.usefixtures("steps")
def test_a_window_that_is_one_token_too_wide_is_found_out(monkeypatch):
    monkeypatch.setattr(hosts, "WIDTH", hosts.WIDTH - 1)
    for make in (reading, partial(decoding, window=1.0)):
        with pytest.raises(OtherNumbersError, match="window is off"):
            make(LENGTH).agreement()


def test_a_model_goes_on_writing_where_it_stopped(steps):
    calls = decoding(4).calls
    ours, theirs = ([calls[name]() for _ in range(2)] for name in ("exact", "sdpa"))
    assert ours[0].shape == (steps, 1, 1000)
    assert not torch.allclose(ours[0], ours[1], atol=0.1)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("training", [False, True])
def test_the_drop_in_computes_the_same_numbers_and_gradients(training):
    whole = multihead(16, training=training, limit=1.0)
    assert "drop-in" in whole.agreement()
    results = whole.calls["drop-in"]()
    assert isinstance(results, tuple) == training  # the output, and 5 gradients
    assert len(results) == (6 if training else 1)
    assert "window" in multihead_window(LENGTH, training=training, limit=1.0).agreement()


def test_the_fast_path_of_torch_is_left_as_it_was():
    multihead(8, training=False, limit=1.0).agreement()
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize(("limit", "status"), [(1e9, 0), (1e-9, 1)])
def test_a_run_prints_its_table_and_keeps_its_samples(limit, status, tmp_path, capsys, monkeypatch):
    made = partial(multihead, 16, training=False, limit=limit)
    monkeypatch.setitem(models.CASES, "multihead", ([made], []))
    path = tmp_path / "found.json"
    arguments = ["--quick", "--only", "multihead", "--rounds", "6", "--json", str(path)]
    assert models.main(arguments) == status
    table, promises = capsys.readouterr().out.split("\n\n")
    assert max(map(len, table.splitlines())) <= 80
    assert {line.split(":")[0] for line in promises.splitlines()} == {("met", "missed")[status]}
    kept = json.loads(path.read_text())
    assert kept["environment"]["threads"] == 1
    assert len(kept["cases"][0]["seconds"]["drop-in"]) == 6
    assert len(kept["promises"]) == 2


def test_a_package_that_is_missing_is_named(capsys, monkeypatch):
    monkeypatch.setitem(models._NEEDS, "caches", ("json", "no_such_package"))
    assert models.main(["--only", "caches"]) == 0
    assert "not measured: caches: no_such_package is not there: pip" in capsys.readouterr().out
