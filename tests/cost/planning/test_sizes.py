"""Sizes of memory against powers typed by hand."""

import pytest

from attncost import ShapeError, UnknownName
from attncost.cost.planning.sizes import memory_of


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("80GiB", 85_899_345_920),
        ("80GB", 80_000_000_000),
        ("80 gb", 80_000_000_000),
        ("24576MiB", 25_769_803_776),
        ("24564 MiB", 25_757_220_864),
        ("0.5TiB", 549_755_813_888),
        (".5TB", 500_000_000_000),
        ("1.1MB", 1_100_000),
        ("1.5MiB", 1_572_864),
        ("2000kB", 2_000_000),
        ("1024KiB", 1_048_576),
        ("1PiB", 1_125_899_906_842_624),
        ("1048576B", 1_048_576),
        ("  85899345920 ", 85_899_345_920),
        ("0.3GiB", 322_122_547),
    ],
)
def test_a_size_is_read_exactly(text, bytes_):
    assert memory_of(text) == bytes_


def test_a_decimal_that_binary_cannot_hold_is_read_exactly():
    assert memory_of("0.1PB") == 10**14
    assert memory_of("1.0000000000000001PB") == 10**15


def test_the_name_of_a_device_is_its_memory_even_if_it_is_a_number():
    assert memory_of("H100") == 80 * 10**9
    assert memory_of("rtx 4090") == memory_of("4090") == 24 * 10**9


@pytest.mark.parametrize(
    "text", ["0GB", "0", "-3GB", "80G", "80 XB", "1e9", "80GBs", "1,5GB", "0.1B", "3 4"]
)
def test_what_is_no_positive_size_is_refused_in_one_line(text):
    with pytest.raises(ShapeError, match=r"as in 80GiB .* or 80GB ") as refused:
        memory_of(text)
    assert "\n" not in str(refused.value)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "size", "meant"),
    [
        ("80", "80 bytes", "80GiB"),
        (" 1 ", "1 byte", "1GiB"),
        ("24576", "24,576 bytes", "24576MiB"),
        ("16 kB", "16,000 bytes", "16GiB"),
        ("1.5KiB", "1,536 bytes", "1.5GiB"),
        ("1048575", "1,048,575 bytes", "1048575MiB"),
    ],
)
def test_so_little_that_a_unit_was_forgotten_is_refused_with_one(text, size, meant):
    with pytest.raises(ShapeError) as refused:
        memory_of(text)
    assert str(refused.value) == (
        f"memory must be at least 1MiB, got {text!r}, which is {size}: did you mean {meant}?"
    )


@pytest.mark.parametrize("text", ["fast", "GB", "inf", "nan", ""])
def test_what_is_neither_size_nor_device_is_refused(text):
    with pytest.raises((UnknownName, ShapeError)):
        memory_of(text)
