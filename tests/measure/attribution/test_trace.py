"""A trace is JSON that viewers open: ranges of modules lie in one another and hold their work."""

import json

import pytest
import torch
from tests.measure.attribution.spans import STEP
from torch import nn

from attncost import StorageError
from attncost.measure.attribution.profile import profile
from attncost.measure.attribution.tally import tally
from attncost.measure.attribution.trace import write_trace

CLASSES = {"": "Net", "one": "Linear", "two": "Attention"}


def events(path):
    found = json.loads(path.read_text())["traceEvents"]
    return [event for event in found if event["ph"] == "X"]


def inside(event, other):
    within = event["ts"] >= other["ts"] and event["tid"] == other["tid"]
    return within and event["ts"] + event["dur"] <= other["ts"] + other["dur"] + 1e-6


def test_events_have_what_the_format_asks_for(tmp_path):
    path = tmp_path / "trace.json"
    write_trace(path, tally(STEP).spans, CLASSES)
    found = events(path)
    assert len(found) == len(STEP)
    for event in found:
        assert {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"} <= event.keys()
        assert event["ts"] >= 0
        assert event["dur"] >= 0
    named = {event["name"]: event for event in found}
    assert named["aten::linear"] == {
        "ph": "X",
        "name": "aten::linear",
        "cat": "linear layers",
        "pid": 1,
        "tid": 1,
        "ts": 0.03,
        "dur": 0.15,
        "args": {"module": "one", "pass": "forward"},
    }
    assert named["AddmmBackward0"]["args"] == {"module": "one", "pass": "backward"}
    assert {"the call", "the backward pass", "Net", "one (Linear)"} <= named.keys()


def test_modules_of_a_real_call_nest_and_hold_their_operators(tmp_path):
    path, names = tmp_path / "trace.json", ("self_attn", "linear1", "norm2")
    encoder = nn.TransformerEncoderLayer(16, 2, batch_first=True)
    profile(encoder, torch.zeros(1, 4, 16), training=True, rounds=1).chrome_trace(str(path))
    found = events(path)
    whole = next(event for event in found if event["name"] == "TransformerEncoderLayer")
    for name in names:
        one = next(event for event in found if event["name"].startswith(f"{name} ("))
        assert inside(one, whole)
        own = [e for e in found if e["args"]["module"] == name and e["args"]["pass"] == "forward"]
        assert len(own) > 1
        assert all(inside(event, one) for event in own)
        assert any(e["args"] == {"module": name, "pass": "backward"} for e in found)


def test_a_file_that_cannot_be_written_is_one_clear_line(tmp_path):
    with pytest.raises(StorageError, match=r"cannot be written \(No such file or directory\)"):
        write_trace(tmp_path / "none" / "trace.json", (), {})
    with pytest.raises(StorageError, match="cannot be written"):
        profile(nn.ReLU(), torch.zeros(1), rounds=1).chrome_trace(tmp_path)
