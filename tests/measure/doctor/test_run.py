import pytest
from tests.measure.doctor.told import Told, instruments

from attncost import ShapeError, UnknownName
from attncost.measure.doctor import checks, run
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.run import chosen, expects, run_doctor, sized


def test_without_a_length_it_is_the_longest_for_which_there_is_time(monkeypatch):
    monkeypatch.setattr(run, "_short", lambda patient, instruments: 0.001)
    wanted = chosen(["fast_path"])
    (check,) = wanted
    # n² tells them apart: 256 tokens take 0.001 s for each of its calls.
    needed = {n: check.seconds + check.calls * 0.0015 * (n / 256) ** 2 for n in (512, 1024, 2048)}
    for n, seconds in needed.items():
        assert expects(check, Patient(length=n), 0.001) == pytest.approx(seconds)
        assert sized(Patient(), budget=seconds + 1e-9, only=["fast_path"]).length == n
    assert sized(Patient(), budget=1e-3, only=["fast_path"]).length == 256
    assert sized(Patient(longest=100), budget=1e-3).length == 100
    assert sized(Patient(length=77), budget=1e-3).length == 77


def test_what_there_is_no_time_or_memory_for_is_listed_with_its_reason(monkeypatch):
    small = Patient(d_model=16, heads=2, head_dim=8, length=24)
    found = run_doctor(small, budget=0.01, instruments=instruments(Told()))
    assert {one.check for one in found} == set(checks.names())
    assert {one.verdict for one in found} == {"not run"}
    assert all("--budget allows more" in one.reason for one in found)
    monkeypatch.setattr(run, "available_memory", lambda: 1 << 20)
    (found,) = run_doctor(small, only=["allocator"], instruments=instruments(Told()))
    assert (found.verdict, found.time) == ("not run", None)
    assert "there are 1.00 MiB: take a shorter --length" in found.reason


def test_progress_names_each_check_once_and_grows():
    told = []
    small = Patient(d_model=16, heads=2, head_dim=8, length=24)
    run_doctor(small, budget=0.01, instruments=instruments(Told()), progress=told.append)
    assert {one.doing for one in told} == {f"checking {name}" for name in checks.names()}
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done < told[-1].total


def test_a_mistaken_request_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'fast_path'"):
        chosen(["fast_pth"])
    with pytest.raises(ShapeError, match="budget must be a positive number of seconds, got -1"):
        sized(Patient(), budget=-1.0)
