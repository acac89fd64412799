import os

import pytest

from attncost.measure.doctor import machine


def written(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            4.0,
        ),
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({}, None),
    ],
)
def test_a_quota_is_told_by_both_kinds_of_control_groups(files, cores, tmp_path):
    assert machine.quota(written(tmp_path, files)) == cores


def test_two_threads_of_a_core_are_one_physical_core(tmp_path, monkeypatch):
    for cpu, (package, core) in enumerate([(0, 0), (0, 1), (0, 0), (1, 0), (1, 0)]):
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        written(
            tmp_path,
            {f"{folder}/physical_package_id": f"{package}\n", f"{folder}/core_id": f"{core}\n"},
        )
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4}, raising=False)
    assert machine.physical_cores(tmp_path) == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2}, raising=False)
    assert (machine.physical_cores(tmp_path), machine.allowed_cores()) == (1, 2)


def test_flags_huge_pages_and_memory_are_read_and_nothing_is_made_up(tmp_path):
    assert machine.flags(tmp_path) == frozenset()
    assert machine.huge_pages(tmp_path) is None
    assert machine.available_memory(tmp_path) is None
    written(
        tmp_path,
        {
            "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu amx_bf16\n",
            "proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    2048 kB\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        },
    )
    assert machine.flags(tmp_path) == {"fpu", "amx_bf16"}
    assert machine.huge_pages(tmp_path) == "madvise"
    assert machine.available_memory(tmp_path) == 2 << 20
