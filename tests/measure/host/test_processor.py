import pytest
from tests.measure.host.written import written

from attncost.measure.host.processor import allowed, cores, flags, physical_cores, quota

V1 = "sys/fs/cgroup/cpu/cpu.cfs"


@pytest.mark.parametrize(
    ("files", "granted"),
    [
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({f"{V1}_quota_us": "400000\n", f"{V1}_period_us": "100000\n"}, 4.0),
        ({f"{V1}_quota_us": "-1\n", f"{V1}_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_a_quota_is_told_by_both_versions_of_control_groups(files, granted, tmp_path):
    assert quota(written(tmp_path, files)) == granted


def test_the_tightest_control_group_grants_the_cores(tmp_path):
    written(
        tmp_path,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/outer/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
        },
    )
    assert quota(tmp_path) == 1.5
    written(tmp_path, {"sys/fs/cgroup/outer/inner/cpu.max": "50000 100000\n"})
    assert quota(tmp_path) == 0.5


def test_a_group_of_the_first_version_is_found_by_its_name(tmp_path):
    inner = "sys/fs/cgroup/cpu/box/cpu.cfs"
    written(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n",
            f"{inner}_quota_us": "50000\n",
            f"{inner}_period_us": "100000\n",
        },
    )
    assert quota(tmp_path) == 0.5


def test_two_threads_of_a_core_are_one_and_only_allowed_ones_count(tmp_path):
    told = [
        f"processor\t: {number}\nphysical id\t: {package}\ncore id\t\t: {core}\n"
        for number, (package, core) in enumerate([(0, 0), (0, 1), (0, 0), (1, 0), (1, 0)])
    ]
    written(tmp_path, {"proc/cpuinfo": "\n".join(told)})
    assert len(cores(tmp_path)) == 5
    assert physical_cores(tmp_path) == 3
    assert physical_cores(tmp_path, among=frozenset({0, 2})) == 1
    assert physical_cores(tmp_path, among=frozenset({1, 2, 4})) == 3


def test_what_is_not_told_is_not_made_up(tmp_path):
    assert flags(tmp_path) == frozenset()
    assert physical_cores(tmp_path) is None
    written(tmp_path, {"proc/cpuinfo": "processor\t: 0\nFeatures\t: asimd bf16\n"})
    assert flags(tmp_path) == {"asimd", "bf16"}
    assert physical_cores(tmp_path) is None


def test_this_process_may_run_somewhere():
    assert allowed() is None or len(allowed()) >= 1
