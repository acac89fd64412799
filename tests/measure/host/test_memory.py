import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from tests.measure.host.written import written

from attncost.measure.host.memory import free

AVAILABLE = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n"}


def test_free_is_what_the_system_says(tmp_path):
    assert free("cpu", root=tmp_path) is None
    assert free("cpu", root=written(tmp_path, AVAILABLE)) == 4000 * 1024
    assert free("cpu") > 1 << 20


@pytest.mark.parametrize(("limit", "left"), [("max", 4000 * 1024), ("1000000", 400_000)])
def test_a_limit_of_a_control_group_counts_files_as_free(tmp_path, limit, left):
    outer = "sys/fs/cgroup/a"
    written(
        tmp_path,
        {
            **AVAILABLE,
            "proc/self/cgroup": "0::/a/b\n",
            f"{outer}/b/memory.max": "max",
            f"{outer}/b/memory.current": "0",
            f"{outer}/memory.max": limit,
            f"{outer}/memory.current": "700000",
            f"{outer}/memory.stat": "anon 5\ninactive_file 100000\n",
        },
    )
    assert free("cpu", root=tmp_path) == left


def test_a_limit_of_the_first_version_is_read_too(tmp_path):
    folder = "sys/fs/cgroup/memory/x"
    written(
        tmp_path,
        {
            **AVAILABLE,
            "proc/self/cgroup": "3:cpu:/\n2:hugetlb,memory:/x\n0::/\n",
            f"{folder}/memory.limit_in_bytes": "9000",
            f"{folder}/memory.usage_in_bytes": "12000",
            f"{folder}/memory.stat": "inactive_file 1\ntotal_inactive_file 4000\n",
        },
    )
    assert free("cpu", root=tmp_path) == 1000
    assert free("cpu", root=written(tmp_path, {f"{folder}/memory.stat": ""})) == 0


def test_of_a_gpu_that_is_free_too_which_pytorch_keeps_for_later(monkeypatch):
    told = SimpleNamespace(mem_get_info=(700, 1000), memory_reserved=200, memory_allocated=150)
    for name, value in vars(told).items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    assert free("cuda") == 750


CODE = """
import sys
sys.modules["resource"] = None  # As on Windows: to import it is an ImportError.
from attncost.measure.host.memory import free
free("cpu")
"""


def test_a_system_without_limits_of_a_user_is_asked_for_the_rest():
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=120)


LIMITED = """
import resource
from attncost.measure.host.memory import free
before = free("cpu")
used = next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, ((used << 10) + (1 << 24), -1))
assert free("cpu") <= 1 << 24 < before, free("cpu")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how many addresses are used")
def test_a_limit_of_the_user_is_kept():
    subprocess.run([sys.executable, "-c", LIMITED], check=True, timeout=120)
