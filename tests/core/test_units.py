import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost.core.units import UNITS, show


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (4_294_967_296, "flops", "4.29 GFLOPs"),
        (999.7e9, "flops", "1.00 TFLOPs"),
        (7, "flops", "7 FLOPs"),
        (6.15e10, "rate", "61.5 GFLOP/s"),
        (16_777_216, "bytes", "16.0 MiB"),
        (1023, "bytes", "1023 B"),
        (0, "bytes", "0 B"),
        (0, "seconds", "0 s"),
        (2e-10, "seconds", "0.200 ns"),
        (0.0123, "seconds", "12.3 ms"),
        (75.0, "seconds", "75.0 s"),
        (131_072, "tokens", "131,072"),
        (0.18, "percent", "18.0 %"),
        (152.6, "times", "153 x"),
        (262_144, "exact", "262,144"),
        (262_144, "count", "262 k"),
        (12.5, "count", "12.5"),
    ],
)
def test_a_number_is_written_for_people(value, unit, written):
    assert show(value, unit) == written


@given(value=st.floats(1e-6, 1e24), unit=st.sampled_from(UNITS))
def test_no_number_is_written_with_an_exponent(value, unit):
    assert "e+" not in show(value, unit)
