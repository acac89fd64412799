import json

import pytest
from tests.measure.speed.machine import machine

from attncost.core.errors import ShapeError
from attncost.measure.speed.calibration import calibration


def test_a_calibration_survives_being_written_and_read():
    known = machine(python=1e-6, drift=0.01, packed=(1e-3, 1e-4))
    assert calibration(json.loads(json.dumps(known.as_dict())), source="here.json") == known


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": "attncost.calibration/1"}, "must have the schema 'attncost.calibration/3'"),
        ({"flops_per_second": True}, "flops_per_second must lie between"),
        ({"view": -1}, "a time must be a number that is not negative, got -1"),
        ({"tables": {"product nn": {"start": 0}}}, "KeyError"),
        ({"tables": 7}, "AttributeError"),
        ({"kernels": {"sdpa": {"speed": 1}}}, "TypeError"),
        ({"far": [[1]]}, "ValueError"),
        ({"packed": [1e-3]}, "ValueError"),
    ],
)
def test_a_file_of_something_else_is_refused_in_one_line(change, reason):
    found = machine().as_dict() | change
    with pytest.raises(ShapeError, match=reason) as refused:
        calibration(json.loads(json.dumps(found)), source="here.json")
    assert "here.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_table_of_the_wrong_size_is_refused():
    found = json.loads(json.dumps(machine().as_dict()))
    found["tables"]["gelu"]["rates"].pop()
    with pytest.raises(ShapeError, match="needs as many rates"):
        calibration(found, source="here.json")
