import pytest

from attncost.measure.store.conditions.processor import processor

CORE = """processor\t: {number}
model name\t: Made Up 9000
flags\t\t: fpu avx avx2 fma {more}
physical id\t: 0
core id\t\t: {core}
"""


@pytest.fixture
def system(tmp_path):
    """A file system in which files of Linux can be put."""

    def put(name, text):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    put.root = tmp_path
    return put


def test_two_threads_of_one_core_are_one_physical_core(system):
    cores = [CORE.format(number=i, core=i // 2, more="avx512_bf16 amx_tile") for i in range(8)]
    system("proc/cpuinfo", "\n".join(cores))
    found = processor(system.root)
    assert found["processor"] == "Made Up 9000"
    assert found["physical_cores"] == 4
    assert found["cpu_flags"] == ["amx_tile", "avx", "avx2", "avx512_bf16", "fma"]
    assert found["virtual"] is False


def test_a_virtual_machine_says_so(system):
    system("proc/cpuinfo", CORE.format(number=0, core=0, more="hypervisor"))
    assert processor(system.root)["virtual"] is True


def test_an_arm_processor_is_read_too(system):
    system("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd sve bf16\nCPU part\t: 0xd40\n")
    found = processor(system.root)
    assert found["cpu_flags"] == ["asimd", "bf16", "sve"]
    assert found["physical_cores"] is None
    assert found["processor"]


def test_what_the_system_does_not_tell_is_none(tmp_path):
    found = processor(tmp_path)
    unknown = ("cpu_flags", "physical_cores", "cpu_quota", "governor", "turbo", "virtual")
    assert [found[name] for name in unknown] == [None] * len(unknown)
    assert found["processor"]
    assert found["cores"] >= 1


@pytest.mark.parametrize(
    ("file", "text", "turbo"),
    [
        ("intel_pstate/no_turbo", "0\n", True),
        ("intel_pstate/no_turbo", "1\n", False),
        ("cpufreq/boost", "1\n", True),
        ("cpufreq/boost", "0\n", False),
    ],
)
def test_turbo_is_told_by_either_driver(file, text, turbo, system):
    system(f"sys/devices/system/cpu/{file}", text)
    system("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
    found = processor(system.root)
    assert (found["turbo"], found["governor"]) == (turbo, "powersave")
