import json
import platform
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from attncost.measure.clocks.clock import CpuClock
from attncost.measure.clocks.cuda import CudaClock
from attncost.measure.store.environment import environment

COMMAND = "attncost measure demo"


def test_it_says_all_that_must_be_equal_for_two_runs_to_be_compared():
    found = environment(CpuClock(), command=COMMAND)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["command"] == COMMAND
    assert (found["clock"], found["device"], found["threads"]) == ("process CPU time", "cpu", 1)
    assert "waiting for a core" in found["clock_reason"]
    assert found["torch"] == torch.__version__
    assert found["python"] == platform.python_version()
    assert found["processor"]
    assert found["cores"] >= 1
    assert datetime.fromisoformat(found["started"]).utcoffset().total_seconds() == 0


def test_it_says_what_is_switched_on_now():
    torch.backends.mha.set_fastpath_enabled(False)
    torch.set_float32_matmul_precision("high")
    torch.use_deterministic_algorithms(True)
    try:
        with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]):
            found = environment(CpuClock(), command=COMMAND)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
        torch.set_float32_matmul_precision("highest")
        torch.use_deterministic_algorithms(False)
    usual = environment(CpuClock(), command=COMMAND)
    assert (found["fast_path"], usual["fast_path"]) == (False, True)
    assert (found["matmul_precision"], usual["matmul_precision"]) == ("high", "highest")
    assert (found["deterministic"], usual["deterministic"]) == (True, False)
    assert found["sdpa_backends"] == ["math"]
    assert {"flash", "math"} <= set(usual["sdpa_backends"])


def test_no_folder_of_the_user_and_no_name_of_the_machine_is_in_it(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LD_PRELOAD", f"{home}/lib/libmine.so:libother.so")
    monkeypatch.setenv("MALLOC_CONF", f"prof_prefix:{home}/heap,narenas:1")
    found = environment(CpuClock(), command=f"{COMMAND} {home}/model -o '{home}/my run'")
    assert found["command"] == f"{COMMAND} ~/model -o ~/'my run'"
    assert found["settings"]["LD_PRELOAD"] == "libmine.so:libother.so"
    assert found["settings"]["MALLOC_CONF"] == "prof_prefix:heap,narenas:1"
    assert str(home) not in json.dumps(found)
    assert platform.node() not in found.values()


def test_the_threads_are_those_of_the_sweep_on_a_gpu_too(monkeypatch):
    here = SimpleNamespace(
        major=9,
        minor=0,
        multi_processor_count=132,
        total_memory=150 << 30,
        L2_cache_size=60 << 20,
    )
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: here)
    monkeypatch.setattr(torch.cuda, "clock_rate", lambda: 1980)
    torch.set_num_threads(2)
    try:
        found = environment(CudaClock(), command="attncost measure demo --device cuda")
    finally:
        torch.set_num_threads(1)
    assert (found["device"], found["threads"]) == ("a GPU", 1)
    assert (found["gpu_capability"], found["gpu_cache"]) == ("9.0", 60 << 20)
    assert (found["gpu_processors"], found["gpu_clock_mhz"]) == (132, 1980)


@pytest.mark.skipif(sys.platform != "linux", reason="a preloaded library is told by Linux only")
def test_an_allocator_that_is_loaded_is_named(tmp_path):
    library = tmp_path / "libjemalloc.so.2"
    built = subprocess.run(
        ["cc", "-shared", "-x", "c", "/dev/null", "-o", str(library)],
        capture_output=True,
        check=False,
    )
    if built.returncode:
        pytest.skip("there is no compiler to make a library with")
    code = "from attncost.measure.store.conditions.memory import memory; print(memory())"
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'allocator': 'libjemalloc.so.2'" in said.stdout
    assert str(Path(tmp_path)) not in said.stdout
