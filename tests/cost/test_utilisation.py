"""Utilisation against arithmetic by hand, and claims against their printed digits."""

import math

import pytest

from attncost import ShapeError
from attncost.cost.conventions import conventions, flops_by_convention
from attncost.cost.reading import preset
from attncost.cost.utilisation import claimed, printed, shares_of_peak, utilisation

MODEL = preset("llama-3-8b")


def agreeing(claim, values):
    return [one.convention for one in claimed(claim, values) if one.agrees]


def test_it_is_flops_a_second_over_what_all_devices_can_do():
    shares = utilisation(MODEL, 4096, tokens_per_second=8192 * 3, peak=4e15, training=True)
    flops = flops_by_convention(MODEL, 4096, training=True)
    assert tuple(shares) == conventions()
    for name, share in shares.items():
        assert share == pytest.approx(6 * flops[name] / 4e15, rel=1e-12)


def test_a_share_is_of_what_could_have_been_done_in_the_time():
    assert shares_of_peak({"exact": 30, "dense": 50}, seconds=4, peak=10) == {
        "exact": 0.75,
        "dense": 1.25,
    }


def test_running_forward_takes_a_third_of_training():
    training, forward = (
        utilisation(MODEL, 512, tokens_per_second=100, peak=1e12, training=training)
        for training in (True, False)
    )
    assert training["exact"] == pytest.approx(3 * forward["exact"], rel=1e-12)


def test_a_claim_may_be_in_every_convention_that_rounds_to_it_the_nearest_first():
    values = {"exact": 0.4624, "half": 0.4619, "dense": 0.471, "6N": 0.46249, "macs": 0.4626}
    assert agreeing("46.2%", values) == ["half", "exact", "6N"]
    assert [one.convention for one in claimed("0.462", values)] == [
        "half",
        "exact",
        "6N",
        "macs",
        "dense",
    ]
    assert agreeing("46%", values) == ["half", "exact", "6N", "macs"]
    assert agreeing("0.5", values) == ["dense", "macs", "6N", "exact", "half"]
    assert agreeing("0.48", values) == []


@pytest.mark.parametrize(
    ("claim", "inside", "outside"),
    [
        ("0.5", 0.45, 0.4499),
        ("0.50", 0.495, 0.4949),  # a zero is a digit too
        ("0.500", 0.4995, 0.49949),
        ("50%", 0.505, 0.5051),
        ("50.0 %", 0.5005, 0.50051),
        ("0.25", 0.255, 0.2551),
        ("44", 44.5, 44.51),
        ("440", 440.5, 440.6),
        ("3.14e23", 3.145e23, 3.1451e23),
        ("4.20E+15", 4.205e15, 4.2051e15),
        (" 1.0 ", 0.95, 0.94),
    ],
)
def test_the_rounding_of_a_claim_is_half_of_its_last_printed_digit(claim, inside, outside):
    assert agreeing(claim, {"inside": inside, "outside": outside}) == ["inside"]


def test_a_percentage_and_a_share_are_one_figure():
    assert printed("46.2%") == printed("0.462")


def test_the_convention_behind_a_number_of_flops_is_found():
    flops = flops_by_convention(MODEL, 8192, training=True)
    assert agreeing(f"{flops['palm']:.3e}", flops) == ["palm"]


@pytest.mark.parametrize("claim", ["0", "0.0%", "-1", "nan", "1e999", "46.2.1", "%", "", 0.5, 46])
def test_a_claim_that_is_no_positive_figure_or_has_lost_its_digits_is_refused(claim):
    with pytest.raises(ShapeError, match="a claimed figure must be a positive figure as it is pri"):
        printed(claim)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf])
def test_what_is_no_positive_number_is_refused(value):
    for name in ("tokens_per_second", "peak"):
        sizes = {"tokens_per_second": 1.0, "peak": 1.0, name: value}
        with pytest.raises(ShapeError, match=f"{name} must be a positive number, got {value}"):
            utilisation(MODEL, 512, **sizes)


def test_a_sequence_of_no_tokens_has_no_utilisation():
    with pytest.raises(ShapeError, match="length must be a positive number, got 0"):
        utilisation(MODEL, 0, tokens_per_second=1, peak=1)
