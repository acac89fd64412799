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


def test_one_token_takes_as_long_as_reading_the_weights_and_the_cache():
    found = speed(preset("llama-3-8b"), Situation(work="decode"), RATES, length=1000)
    # One row of its table is read, which is not counted.
    moved = 2 * (PARAMETERS - 128_256 * 4096) + 1000 * 131_072
    assert (found.bound, found.tokens) == ("memory", 1)
    assert found.seconds == moved / 4e12
    assert found.equation == f"{moved:,} B / 4e+12 B/s"


def test_a_long_prompt_takes_as_long_as_its_arithmetic():
    model = preset("llama-3-8b")
    found = speed(model, Situation(), RATES, length=8192, batch=2)
    assert (found.bound, found.tokens) == ("arithmetic", 2 * 8192)
    assert found.seconds == pytest.approx(2 * model.cost(8192).useful / 1e15)
    shared = speed(model, Situation(sharding=Sharding(tensor=8)), RATES, length=8192, batch=2)
    assert shared.seconds == pytest.approx(found.seconds / 8)


def test_a_training_step_takes_three_passes_and_a_fourth_with_checkpointing():
    model = preset("llama-3-8b")
    step, again = (
        speed(model, Situation(work="training", checkpointing=on), RATES, length=4096, batch=8)
        for on in (False, True)
    )
    forward = 8 * model.cost(4096).useful / 1e15
    assert step.seconds == pytest.approx(3 * forward)
    assert again.seconds == pytest.approx(4 * forward)


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


def test_a_token_reads_the_experts_that_it_visits():
    model = preset("mixtral-8x7b")
    found = speed(model, Situation(work="decode"), RATES, length=1)
    cache = 131_072
    assert found.seconds == (2 * (int(model.active) - 32_000 * 4096) + cache) / 4e12
    assert model.active < 0.3 * model.parameters


@pytest.mark.parametrize("rates", [{"flops": 0}, {"bytes": -1.0}])
def test_rates_must_be_positive(rates):
    with pytest.raises(ShapeError, match="must be positive"):
        Rates(**{"flops": 1.0, "bytes": 1.0, "source": ""} | rates)
