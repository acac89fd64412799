"""How the page writes and reads numbers, against what the command does."""

import math
import random

import pytest
from tests.report.calculator.page_in_chromium import shown

from attncost.cli._magnitudes import tokens
from attncost.core.units import show
from attncost.cost.planning.sizes import memory_of

SEEDED = random.Random(0)
VALUES = [0, 1, 999, 1000, 1023, 1024, 99.949, 9.996, 0.0004] + [
    10 ** SEEDED.uniform(-3, 20) for _ in range(200)
]


@pytest.fixture(scope="module")
def page(browser, calculator):
    with shown(browser, calculator) as seen:
        yield seen.page


@pytest.mark.parametrize("unit", ["flops", "bytes", "rate", "count"])
def test_numbers_are_written_as_the_command_writes_them(page, unit):
    written = page.evaluate(
        "([values, unit]) => values.map(v => attncost.show(v, unit))", [VALUES, unit]
    )
    assert written == [show(value, unit) for value in VALUES]


def test_times_up_to_hours_are_written_as_the_command_writes_them(page):
    values = [value for value in VALUES if 0 < value < 7000] + [1.5e-9, 2e-6]
    written = page.evaluate("(values) => values.map(v => attncost.show(v, 'seconds'))", values)
    assert written == [show(value, "seconds") for value in values]
    assert page.evaluate("attncost.show(86400 * 3, 'seconds')") == "3.00 days"


@pytest.mark.parametrize("text", ["1", "8k", "128K", "1m", "131072", " 4096 "])
def test_lengths_are_read_as_the_command_reads_them(page, text):
    assert page.evaluate("(text) => attncost.read(text, 'tokens')", text) == tokens(text, of="")


@pytest.mark.parametrize(
    "text", ["80GiB", "80 GB", "0.1GB", "24576MiB", "1.5 TiB", "2000000", "1e9"]
)
def test_memory_is_read_as_the_command_reads_it(page, text):
    expected = 10**9 if text == "1e9" else memory_of(text)
    assert page.evaluate("(text) => attncost.read(text, 'bytes')", text) == expected


def test_what_is_put_into_a_box_is_read_back_exactly(page):
    values = [1, 7, 8192, 279_514, 80 << 30, 80 * 10**9, (80 << 30) + 1, 141 * 10**9, 3 << 20]
    back = page.evaluate(
        "(values) => ['tokens', 'bytes', ''].map(unit =>"
        " values.map(v => attncost.read(attncost.typed(v, unit), unit)))",
        values,
    )
    assert back == [values] * 3


@pytest.mark.parametrize(
    "text", ["", "k", "1.2.3", "0x10", "1e", "Infinity", "\uff18", "1 2", "--5"]
)
def test_what_is_no_number_is_none(page, text):
    assert math.isnan(page.evaluate("(text) => attncost.read(text, 'tokens')", text))
