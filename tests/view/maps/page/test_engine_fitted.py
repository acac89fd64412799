"""Colours that fit the weights of a head."""

import pytest
import torch
from tests.view.maps.page.engine_map import SMALL, shown


def test_a_fitted_scale_spreads_its_colours_over_the_weights_that_a_head_has(mapped):
    page = shown(mapped, SMALL)
    found = page.evaluate("""() => {
      engine.setScale("fitted")
      const { head } = seen.map, by = engine.scaleOf(head, true)
      const weights = Array.from({ length: 40 }, (_, i) => [...head.row(i)]).flat()
      const labels = engine.legendOf(by)
      engine.setScale("log")
      return { low: by.low, high: by.high, weights: weights.filter((w) => w > 0), labels }
    }""")
    weights = torch.tensor(found["weights"], dtype=torch.float64)
    ends = weights.quantile(torch.tensor([0.01, 0.999], dtype=torch.float64)).clamp(min=1e-6)
    assert [found["low"], found["high"]] == pytest.approx(ends.tolist(), rel=0.3)
    values = [stop["value"] for stop in found["labels"]]
    assert values == sorted(values)
    assert [values[0], values[-1]] == [found["low"], found["high"]]
    assert found["labels"][0]["label"].startswith("≤ ")


def test_a_fitted_scale_has_the_ends_that_it_is_given(mapped):
    ends = "engine.setScale('fitted', 0.01, 0.16)"
    found = mapped.page.evaluate(f"() => {{ {ends}; return engine.colourOf(0.04) }}")
    mapped.page.evaluate("engine.setScale('linear')")
    assert found == mapped.page.evaluate("engine.colourOf(0.5)")
    mapped.page.evaluate("engine.setScale('log')")
