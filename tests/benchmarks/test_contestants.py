import pytest
import torch
from benchmarks.agreement import OtherNumbersError, agreement
from benchmarks.cells import Cell, Contest, call
from benchmarks.peers import OURS, columns, entrant, judged, missing
from tests.measure.sweep.test_interleaved import Ticking

import attncost as ac

# Compiling takes long, and peers need not be there.
WITHOUT = {"flex", "local"}


def test_what_is_missing_is_named_with_its_reason():
    assert set(missing()) <= WITHOUT
    assert all(reason.endswith(".") for reason in missing().values())


def test_all_compute_the_same_numbers():
    errors, unable = agreement(["causal", "window", "documents", "layer"], WITHOUT)
    assert not unable
    assert {"window: attncost", "window: +mask", "documents: padded", "layer: MHA"} <= errors.keys()
    assert "window: causal" not in errors
    assert all(0 <= row["float32"] < row["bfloat16"] for row in errors.values())


def test_another_pattern_is_found_out(monkeypatch):
    # What is wrong here is the subject, so that attncost and its peers disagree with its mask.
    monkeypatch.setattr("benchmarks.peers.pattern_of", lambda subject: ac.Window(257))
    with pytest.raises(OtherNumbersError, match="window: attncost is off by"):
        agreement(["window"], WITHOUT)


def test_only_who_computes_the_same_numbers_is_a_rival():
    assert judged("causal", "causal")
    assert not judged("window", "causal")
    assert not judged("documents", "padded")
    assert columns("window", {"flex", "window: local"}) == ["causal", "+mask"]


def test_backward_computes_all_gradients_of_what_forward_computes():
    one = entrant("window", OURS, 64, torch.float32)
    assert not call(one, backward=False)().requires_grad
    gradients = call(one, backward=True)()
    assert [x.shape for x in gradients] == [x.shape for x in one.inputs]
    assert all(x.abs().sum() > 0 for x in gradients)


def contest(times, rounds=15, always=()):
    """Run one cell of the window in which each contestant takes a time that is given."""
    clock = Ticking()
    made = Contest(Cell("float32", False, 64), ["window"], without=WITHOUT, always=always)
    assert made.calls.keys() == times.keys()
    made.calls.update({name: clock.call(name, seconds) for name, seconds in times.items()})
    found, samples = made.run(clock, rounds)
    return found["window"], {name: len(one) for name, one in samples.items()}


OUR_WINDOW, CAUSAL, MASKED = "window: attncost", "SDPA, causal", "SDPA, +mask"


def test_a_peer_that_is_out_of_reach_is_visited_three_times():
    found, visits = contest({OUR_WINDOW: 1.0, CAUSAL: 4.0, MASKED: 8.0})
    assert visits == {OUR_WINDOW: 3, CAUSAL: 3, MASKED: 3}
    assert found.seconds == 1
    assert found.best("window")[0] == "+mask"
    assert found.best("window")[1].figure == 1 / 8


def test_a_peer_within_reach_is_visited_in_every_round():
    found, visits = contest({OUR_WINDOW: 1.0, CAUSAL: 4.0, MASKED: 0.9})
    assert visits == {OUR_WINDOW: 15, CAUSAL: 3, MASKED: 15}
    assert found.best("window")[1].rounds == 15


def test_what_is_promised_is_visited_in_every_round():
    found, visits = contest(
        {OUR_WINDOW: 1.0, CAUSAL: 4.0, MASKED: 8.0}, always=[("window", "causal")]
    )
    assert visits == {OUR_WINDOW: 15, CAUSAL: 15, MASKED: 3}
    assert found.ratios["causal"].figure == 1 / 4
