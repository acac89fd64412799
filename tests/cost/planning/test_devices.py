"""Devices against figures typed from vendors' datasheets, and against each other."""

import re

import pytest

from attncost import UnknownName
from attncost.cost.planning.devices import device, devices

EVERY = [device(name) for name in devices()]

# Name, GB, GB/s, then dense TFLOP/s of bfloat16 (float16 where there is none) and float32, and
# GB/s of all links in both directions, as the datasheets print them.
PRINTED = [
    ("a100-sxm-80gb", 80, 2039, 312, 19.5, 600),
    ("a100-pcie-40gb", 40, 1555, 312, 19.5, 600),
    ("h100-sxm", 80, 3350, 989.4, 66.9, 900),
    ("h100-pcie", 80, 2000, 756, 51.2, 600),
    ("h100-nvl", 94, 3900, 1671 / 2, 60, 600),
    ("h200-sxm", 141, 4800, 1979 / 2, 67, 900),
    ("b200-sxm", 180, 7700, 4500 / 2, 75, 1800),
    ("l4", 24, 300, 242 / 2, 30.3, 64),
    ("l40s", 48, 864, 362.05, 91.6, 64),
    ("a10", 24, 600, 125, 31.2, 64),
    ("t4", 16, 320, 65, 8.1, 32),
    ("v100-sxm-32gb", 32, 900, 125, 15.7, 300),
    ("v100-pcie-16gb", 16, 900, 112, 14, 32),
    ("rtx-3090", 24, 936, 71, 35.6, 112.5),
    ("rtx-4090", 24, 1008, 165.2, 82.6, 64),
    ("rtx-5090", 32, 1792, 209.5, 104.8, 128),
    ("mi300x", 192, 5300, 1307.4, 163.4, 896),
    ("mi325x", 256, 6000, 1307.4, 163.4, 896),
]


@pytest.mark.parametrize(
    ("name", "memory", "bandwidth", "half", "single", "links"), PRINTED, ids=str
)
def test_a_device_is_what_its_datasheet_prints(name, memory, bandwidth, half, single, links):
    one = device(name)
    assert one.memory == memory * 10**9
    assert one.bandwidth == bandwidth * 10**9
    assert one.peak("bfloat16" if "bfloat16" in one.peaks else "float16") == pytest.approx(
        half * 1e12, rel=1e-12
    )
    assert one.peak("float32") == pytest.approx(single * 1e12, rel=1e-12)
    assert 2 * one.link_bandwidth == links * 10**9


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_peaks_are_dense_so_half_as_many_bits_are_twice_as_fast(one):
    """A figure with sparsity among dense ones would be off by two."""
    peaks = one.peaks
    if "bfloat16" in peaks:
        assert peaks["bfloat16"] == peaks["float16"]
        assert peaks["float16"] / peaks["tf32"] == pytest.approx(2, rel=0.03)
    if "fp8" in peaks:
        assert peaks["fp8"] / peaks["float16"] == pytest.approx(2, rel=0.03)
        assert peaks["int8"] >= peaks["fp8"]
    assert all(isinstance(peak, int) for peak in peaks.values())


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_every_device_names_a_datasheet_and_its_year(one):
    assert re.search(r"(datasheet|data sheet|whitepaper).*, 20(1[7-9]|2[0-6])", one.source)


@pytest.mark.parametrize(
    ("name", "ridge"), [("h100", 295), ("a100", 153), ("v100", 139), ("b200", 292), ("l4", 403)]
)
def test_the_ridge_of_a_roofline_is_peak_over_bandwidth(name, ridge):
    """989.4 / 3.35, 312 / 2.039, 125 / 0.9, 2250 / 7.7 and 121 / 0.3, by hand."""
    assert round(device(name).ridge("float16")) == ridge


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("H100", "h100-sxm"),
        ("h100-80gb", "h100-sxm"),
        ("A100", "a100-sxm-80gb"),
        ("a100 40GB", "a100-sxm-40gb"),
        ("a100_pcie", "a100-pcie-80gb"),
        ("4090", "rtx-4090"),
        ("RTX4090", "rtx-4090"),
        # As `torch.cuda.get_device_name` writes them.
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H100 NVL", "h100-nvl"),
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("Tesla V100-SXM2-16GB", "v100-sxm-16gb"),
        ("Tesla T4", "t4"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("AMD Instinct MI300X", "mi300x"),
    ],
)
def test_a_device_is_found_as_people_drivers_and_shops_write_it(written, name):
    assert device(written).name == name


@pytest.mark.parametrize("name", devices())
def test_every_name_and_every_title_finds_its_own_device(name):
    one = device(name)
    assert one.name == name
    assert device(one.title.removesuffix(" (HGX)").replace(" GB", "GB")) is one


@pytest.mark.parametrize("name", ["80gb", "sxm", "", "h100-40gb", "NVIDIA A10G", "tpu"])
def test_a_name_without_a_model_or_with_another_is_refused(name):
    with pytest.raises(UnknownName):
        device(name)


def test_a_typo_is_answered_by_the_nearest_name():
    with pytest.raises(UnknownName, match=r"^no device is called 'a10g'; did you mean 'a10'\? Kn"):
        device("NVIDIA A10G")
    with pytest.raises(UnknownName, match="did you mean 'h100-sxm'"):
        device("h10-sxm")


def test_arithmetic_that_a_device_lacks_is_refused():
    with pytest.raises(UnknownName, match=r"NVIDIA T4 16 GB is called 'bfloat16'; did you mean"):
        device("t4").peak("bfloat16")
