import json
import platform
from datetime import datetime

import torch

from attncost.measure.clock import CpuClock
from attncost.measure.environment import environment


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
