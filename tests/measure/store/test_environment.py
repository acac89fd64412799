import json
import platform
from datetime import datetime

import torch

from attncost.measure.clocks.clock import CpuClock, CudaClock
from attncost.measure.store.environment import environment


def test_it_says_all_that_must_be_equal_for_two_runs_to_be_compared():
    found = environment(CpuClock(), command="attncost measure demo")
    assert json.loads(json.dumps(found)) == found
    assert found["command"] == "attncost measure demo"
    assert (found["clock"], found["device"], found["threads"]) == ("process CPU time", "cpu", 1)
    assert "waiting for a core" in found["clock_reason"]
    assert found["torch"] == torch.__version__
    assert found["python"] == platform.python_version()
    assert found["processor"]
    assert datetime.fromisoformat(found["started"]).utcoffset().total_seconds() == 0


def test_the_threads_are_those_of_the_sweep_on_a_gpu_too(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    torch.set_num_threads(2)
    try:
        found = environment(CudaClock(), command="attncost measure demo --device cuda")
    finally:
        torch.set_num_threads(1)
    assert (found["device"], found["threads"]) == ("a GPU", 1)
