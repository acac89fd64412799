"""A table of steps stays as wide as a terminal, and says in words what a step computes."""

import pytest

from attncost.integrations.metered import Metered, Totals, passes_in_words, table


@pytest.mark.parametrize("peak", [None, 1.0, 1e60])
@pytest.mark.parametrize("seconds", [1e-12, 604_800.0, 1e15])
@pytest.mark.parametrize("tokens", [1, 10**7, 10**18])
def test_absurd_numbers_print_in_80_columns(peak, seconds, tokens):
    step = Metered(
        step=999_999,
        seconds=seconds,
        tokens=tokens,
        slots=8 * tokens,
        exact=tokens**2 * 10**12,
        half=tokens**2 * 10**12,
        dense=2 * tokens**2 * 10**12,
        attention=10**9 * tokens,
        peak=peak,
        largest_logit=-1.234e-5,
    )
    assert max(map(len, table([step], Totals.of([step])).splitlines())) <= 80


def test_what_is_too_large_for_a_column_keeps_its_size():
    flops = 38 * 10**24  # Llama 3 405B
    step = Metered(
        step=1, seconds=2e6, tokens=1, slots=1, exact=flops, half=flops, dense=flops, attention=0
    )
    shown = table([step], Totals.of([step])).splitlines()[1]
    assert "2.0e6 s" in shown
    assert shown.endswith("3.8e25 3.8e25 3.8e25")


@pytest.mark.parametrize(
    ("model", "again", "counted", "words"),
    [
        (3, 0.0, False, "forward and backward (3 x forward)"),
        (1, 0.0, False, "forward alone"),
        (4, 0.5, False, "4 x forward, 0.5 x forward computed again"),
        (1, 0.0, True, "forward and backward, as counted"),
        (2, 0.0, True, "2 x forward and backward, as counted"),
    ],
)
def test_what_a_step_computes_is_said_in_words(model, again, counted, words):
    assert passes_in_words(model, again, counted=counted) == words
