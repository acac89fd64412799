"""The roofline, against figures worked out by hand."""

import pytest

from attncost import ShapeError
from attncost.cost.planning.sharding import Sharding
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates, speed
from attncost.cost.reading import preset

# Round numbers: a PFLOP/s and 4 TB/s.
RATES = Rates(flops=1e15, bytes=4e12, source="a test")
PARAMETERS = 8_030_261_248
TABLE = 128_256 * 4096
# All but two tables and the scales of 65 norms.
MATRICES = PARAMETERS - 2 * TABLE - 65 * 4096


def layers(n):
    """Return the FLOPs of the layers of Llama 3 8B: 32, each of 32 heads of 128 features."""
    return 2 * n * MATRICES + 4 * (n * (n + 1) // 2) * 32 * 128 * 32


def test_one_token_takes_as_long_as_reading_the_weights_and_the_cache():
    found = speed(preset("llama-3-8b"), Situation(work="decode"), RATES, length=1000)
    # One row of its table is read, which is not counted.
    moved = 2 * (PARAMETERS - TABLE) + 1000 * 131_072
    assert (found.bound, found.tokens) == ("memory", 1)
    assert found.seconds == moved / 4e12
    assert found.equation == f"{moved:,} B / 4e+12 B/s"


def test_a_long_prompt_takes_as_long_as_its_arithmetic():
    model = preset("llama-3-8b")
    found = speed(model, Situation(), RATES, length=8192, batch=2)
    assert (found.bound, found.tokens) == ("arithmetic", 2 * 8192)
    # Of the last token alone logits are needed.
    assert found.seconds == pytest.approx(2 * (layers(8192) + 2 * TABLE) / 1e15)
    shared = speed(model, Situation(sharding=Sharding(tensor=8)), RATES, length=8192, batch=2)
    assert shared.seconds == pytest.approx(found.seconds / 8)


def test_a_training_step_takes_three_passes_and_a_fourth_with_checkpointing():
    model = preset("llama-3-8b")
    step, again = (
        speed(model, Situation(work="training", checkpointing=on), RATES, length=4096, batch=8)
        for on in (False, True)
    )
    inside, logits = layers(4096), 4096 * 2 * TABLE
    assert step.seconds == pytest.approx(8 * 3 * (inside + logits) / 1e15)
    assert again.seconds == pytest.approx(8 * (4 * inside + 3 * logits) / 1e15)


def test_a_million_tokens_cost_the_hours_that_they_take():
    found = speed(preset("llama-3-8b"), Situation(work="decode"), RATES, length=1000, batch=10)
    hours = 1e6 / found.tokens_per_second / 3600
    assert found.price(2.5, devices=2) == pytest.approx(2 * 2.5 * hours)


def test_more_sequences_share_the_weights_until_arithmetic_takes_over():
    model, how = preset("llama-3-8b"), Situation(work="decode")
    prices = [
        speed(model, how, RATES, length=100, batch=batch).price(1, devices=1)
        for batch in (1, 8, 64, 512)
    ]
    assert prices == sorted(prices, reverse=True)
    assert speed(model, how, RATES, length=100, batch=512).bound == "arithmetic"


def test_pages_are_reserved_and_not_read():
    found = [
        speed(preset("llama-3-8b"), Situation(work="decode", page=page), RATES, length=100)
        for page in (1, 16, 10_000)
    ]
    assert found[0] == found[1] == found[2]


def test_a_sequence_runs_on_one_group_of_devices():
    alone, groups = (
        speed(
            preset("llama-3-8b"), Situation(sharding=Sharding(data=data)), RATES, length=8192
        ).seconds
        for data in (1, 8)
    )
    assert alone == groups


def test_a_token_reads_the_experts_that_it_visits():
    model = preset("mixtral-8x7b")
    found = speed(model, Situation(work="decode"), RATES, length=1)
    # 2 of 8 experts, each of three matrices, in 32 layers (arXiv:2401.04088).
    unused = 32 * 6 * 3 * 4096 * 14_336
    read = 46_702_792_704 - unused - 32_000 * 4096
    assert found.seconds == (2 * read + 131_072) / 4e12


@pytest.mark.parametrize(
    "rates", [{"flops": 0}, {"bytes": -1.0}, {"flops": float("inf")}, {"bytes": float("nan")}]
)
def test_rates_must_be_those_of_a_device(rates):
    with pytest.raises(ShapeError, match="must lie between 1 and"):
        Rates(**{"flops": 1.0, "bytes": 1.0, "source": ""} | rates)
