"""What is shown while a model is run on fake tensors to foretell its times."""

import pytest
from tests.measure.speed.machine import machine

from attncost.cli._curves import calls, watched
from attncost.measure.speed.curves import foretold_curves


def waited(seconds, times, capsys):
    """Return what is told and shown of calls that take so long each."""
    now, shown = [0.0], []

    def run(batch, length):
        now[0] += seconds
        return batch * length

    seen = watched(run, "a model", calls=times, show=shown.append, clock=lambda: now[0])
    assert [seen(2, n) for n in range(times)] == [2 * n for n in range(times)]
    return capsys.readouterr(), shown


def test_each_call_is_shown_with_its_size_and_how_many_lie_behind_it(capsys):
    told, shown = waited(0.1, 3, capsys)
    assert [(one.done, one.total) for one in shown] == [(0, 3), (1, 3), (2, 3)]
    assert shown[1].doing == "a model on fake tensors, 2 x 1"
    assert told.err == "", "nobody waits long"


def test_whoever_waits_long_is_told_once_for_what_and_how_long(capsys):
    told, _ = waited(3.0, 20, capsys)
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith("attncost: a model is run 20 times on fake tensors")
    assert line.endswith("takes about 60.0 s.")
    nearly, _ = waited(3.0, 3, capsys)
    assert nearly.err == "", "what is nearly done needs no word"


@pytest.mark.parametrize("longest", [1, 9, 271, 5000])
def test_so_many_calls_are_made_as_were_said(longest):
    made = []
    foretold_curves(
        lambda *size: made.append(size), machine(), name="a model", slots=1 << 14, longest=longest
    )
    assert len(made) == calls(longest)
