from attncost.measure.clocks.clock import CpuClock
from attncost.measure.store.differences import COMPARED, cautions, differences
from attncost.measure.store.environment import environment

HERE = environment(CpuClock(), command="attncost measure demo")
# What may differ between two runs whose times are compared all the same.
FREE = {
    "command",
    "started",
    "clock_reason",
    "waiting_counted",
    "git_revision",
    "git_dirty",
    "virtual",
    "memory",
    "memory_available",
    "huge_pages_defrag",
    "load",
    "load_5",
    "load_15",
}


def test_an_environment_differs_from_itself_and_from_a_later_one_in_nothing():
    later = {
        **HERE,
        "load": 9.0,
        "started": "later",
        "command": "another",
        "git_revision": "0" * 40,
        "git_dirty": not HERE["git_dirty"],
    }
    assert differences(HERE, HERE) == differences(HERE, later) == ()


def test_every_fact_is_either_compared_or_free():
    of_a_gpu = {"gpu_driver", "gpu_capability", "cuda", "cudnn"}
    assert set(HERE) - set(COMPARED) == FREE
    assert set(COMPARED) - set(HERE) == of_a_gpu


def test_each_fact_that_times_depend_on_is_named_with_both_values():
    for name, said in COMPARED.items():
        (sentence,) = differences({**HERE, name: "this"}, {**HERE, name: "that"})
        assert sentence == f"{said}: this and that."


def test_values_are_written_as_people_read_them():
    assert differences(
        {"fast_path": True, "cpu_flags": ["avx2", "fma"], "settings": {}},
        {"fast_path": False, "cpu_flags": [], "settings": {"MALLOC_ARENA_MAX": "1", "A": "b"}},
    ) == (
        "the processor's instructions: avx2, fma and none.",
        "variables that set up the process: none and MALLOC_ARENA_MAX=1, A=b.",
        "the fast path of multi-head attention: on and off.",
    )


def test_what_one_of_both_does_not_say_is_no_difference():
    old = {"schema": "attncost.samples/1", "torch": HERE["torch"], "threads": 1}
    assert differences(old, HERE) == differences(HERE, old) == ()
    assert differences({**HERE, "turbo": None}, {**HERE, "turbo": False}) == ()


def test_a_load_that_others_made_is_a_caution():
    quiet = {"load": 0.4, "usable_cores": 1, "threads": 1}
    assert cautions(quiet) == cautions({}) == cautions({**quiet, "load": None}) == ()
    assert cautions({**quiet, "load": 6.9, "usable_cores": 8}) == ()
    (line,) = cautions({**quiet, "load": 7.1, "usable_cores": 8})
    assert line.startswith("The load was 7.1 when it began, on 8 cores of which it took 1")


def test_the_load_that_the_command_makes_itself_is_no_caution():
    for threads in (1, 2):
        here = {"usable_cores": 2, "threads": threads}
        assert cautions({**here, "load": threads + 0.4}) == ()
        assert len(cautions({**here, "load": threads + 0.6})) == 1
    alone = {"usable_cores": 1, "threads": 1}
    assert cautions({**alone, "load": 1.1}) == ()
    assert len(cautions({**alone, "load": 1.6})) == 1


def test_a_debug_build_is_a_caution():
    assert cautions({"torch_debug": True}) == ("PyTorch is a debug build, which is slower.",)
