from typing import final

import pytest
from tests.measure.doctor.told import Told, instruments

from attncost import ShapeError, UnknownName
from attncost.measure.clocks.interface import Clock
from attncost.measure.doctor import checks
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.probe import Probe
from attncost.measure.doctor.run import chosen, expects, run_doctor, sized


@final
class Counted(Clock):
    """The first call takes a second, the second two."""

    name, reason, device = "counted", "the test knows the answer", "cpu"

    def __init__(self):
        self.count = 0

    def elapsed(self, call, repeats):
        self.count += 1
        return float(self.count * repeats)


SMALL = Patient(d_model=16, heads=2, head_dim=8, length=24)


def test_without_a_length_it_is_the_longest_for_which_there_is_time():
    read = instruments(Told(), probe=lambda patient: 0.001)
    wanted = chosen(["fast_path"])
    (check,) = wanted
    # n² tells them apart: 256 tokens take 0.001 s for each of its calls.
    needed = {n: check.seconds + check.calls * 0.0015 * (n / 256) ** 2 for n in (512, 1024, 2048)}

    def length(patient, budget, only=("fast_path",)):
        return sized(patient, budget=budget, only=only, instruments=read).length

    for n, seconds in needed.items():
        assert expects(check, Patient(length=n), 0.001) == pytest.approx(seconds)
        assert length(Patient(), seconds + 1e-9) == n
    assert length(Patient(), 1e-3) == 256
    assert length(Patient(longest=100), 1e-3, None) == 100
    assert length(Patient(length=77), 1e-3, None) == 77


def test_what_there_is_no_time_or_memory_for_is_listed_with_its_reason():
    found = run_doctor(SMALL, budget=0.01, instruments=instruments(Told()))
    assert {one.check for one in found} == set(checks.names())
    assert {one.verdict for one in found} == {"not run"}
    assert all("--budget allows more" in one.reason for one in found)
    read = instruments(Told(), free=lambda: 1 << 20)
    (found,) = run_doctor(SMALL, only=["allocator"], instruments=read)
    assert (found.verdict, found.time) == ("not run", None)
    assert "there are 1.00 MiB: take a shorter --length" in found.reason


def test_once_the_time_is_up_no_check_begins():
    # It is read at the start, before each check to know what is left, and wherever one hurries.
    seconds = iter([0.0, 0.0])
    read = Instruments(rounds=6, now=lambda: next(seconds, 61.0), probe=lambda patient: 0.0)
    first, second = run_doctor(SMALL, only=["sdpa_strides", "sdpa_value_dim"], instruments=read)
    assert first.verdict != "not run"
    assert (second.verdict, "0 s are left" in second.reason) == ("not run", True)


def test_a_machine_is_probed_once_for_the_same_heads():
    clock = Counted()
    probe = Probe(clock)
    assert [probe(one) for one in (SMALL, Patient(heads=2, head_dim=8), Patient())] == [1, 1, 2]
    read = instruments(Told(), probe=probe)
    run_doctor(sized(SMALL, instruments=read), budget=1e-3, instruments=read)
    assert clock.count == 2


def test_progress_names_each_check_once_and_grows():
    told = []
    run_doctor(SMALL, budget=0.01, instruments=instruments(Told()), progress=told.append)
    assert {one.doing for one in told} == {f"checking {name}" for name in checks.names()}
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done < told[-1].total


def test_a_mistaken_request_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'fast_path'"):
        chosen(["fast_pth"])
    with pytest.raises(ShapeError, match="budget must be a positive number of seconds, got -1"):
        sized(Patient(), budget=-1.0)
    with pytest.raises(ShapeError, match="length must be at least 1, got 0"):
        run_doctor(Patient())
