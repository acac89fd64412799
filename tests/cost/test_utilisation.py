"""Utilisation against arithmetic by hand, and claims against their printed digits."""

import math

import pytest

from attncost import ShapeError
from attncost.cost.configuration import preset
from attncost.cost.conventions import conventions, flops_by_convention
from attncost.cost.utilisation import Speed, claimed, utilisation

MODEL = preset("llama-3-8b")


def agreeing(claim, values, **wishes):
    return [one.convention for one in claimed(claim, values, **wishes) if one.agrees]


def test_it_is_flops_a_second_over_what_all_devices_can_do():
    shares = utilisation(
        MODEL, 4096, Speed(tokens_per_second=8192 * 3, peak=1e15, devices=4, training=True)
    )
    flops = flops_by_convention(MODEL, 4096, training=True)
    assert tuple(shares) == conventions()
    for name, share in shares.items():
        assert share == pytest.approx(6 * flops[name] / 4e15, rel=1e-12)


def test_running_forward_takes_a_third_of_training():
    training, forward = (
        utilisation(MODEL, 512, Speed(tokens_per_second=100, peak=1e12, training=training))
        for training in (True, False)
    )
    assert training["exact"] == pytest.approx(3 * forward["exact"], rel=1e-12)


def test_a_claim_may_be_in_every_convention_that_rounds_to_it_the_nearest_first():
    values = {"exact": 0.4624, "half": 0.4619, "dense": 0.471, "6N": 0.46249, "macs": 0.4626}
    assert agreeing(0.462, values) == ["half", "exact", "6N"]
    assert [one.convention for one in claimed(0.462, values)] == [
        "half",
        "exact",
        "6N",
        "macs",
        "dense",
    ]
    assert agreeing(0.462, values, rounding=0.01) == ["half", "exact", "6N", "macs", "dense"]
    assert agreeing(0.5, values) == ["dense", "macs", "6N", "exact", "half"]
    assert agreeing(0.48, values) == []


@pytest.mark.parametrize(
    ("claim", "inside", "outside"),
    [
        (0.5, 0.45, 0.4499),
        (0.25, 0.255, 0.2551),
        (44, 44.5, 44.51),
        (3.14e23, 3.145e23, 3.1451e23),
        (4.2e15, 4.25e15, 4.2501e15),
        (1.0, 0.5, 0.49),
    ],
)
def test_the_rounding_of_a_claim_is_half_of_its_last_digit(claim, inside, outside):
    assert agreeing(claim, {"inside": inside, "outside": outside}) == ["inside"]


def test_the_convention_behind_a_number_of_flops_is_found():
    flops = flops_by_convention(MODEL, 8192, training=True)
    assert agreeing(float(f"{flops['palm']:.4g}"), flops) == ["palm"]


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf])
def test_what_is_no_positive_number_is_refused(value):
    for name in ("tokens_per_second", "peak"):
        sizes = {"tokens_per_second": 1.0, "peak": 1.0, name: value}
        with pytest.raises(ShapeError, match=f"{name} must be a positive number, got {value}"):
            Speed(**sizes)
    with pytest.raises(ShapeError, match="a claimed figure must be a positive number"):
        claimed(value, {})
    with pytest.raises(ShapeError, match="rounding must be a positive number"):
        claimed(1, {}, rounding=value)


def test_there_is_no_speed_on_no_device():
    with pytest.raises(ShapeError, match="devices must be a positive number, got -2"):
        Speed(tokens_per_second=1, peak=1, devices=-2)


def test_a_sequence_of_no_tokens_has_no_utilisation():
    with pytest.raises(ShapeError, match="length must be a positive number, got 0"):
        utilisation(MODEL, 0, Speed(tokens_per_second=1, peak=1))
