from itertools import pairwise

import pytest

from attncost.core.errors import ShapeError
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.lengths import octaves, usual_lengths


def layer(d):
    return lambda n: Predicted(linear=8 * n * d**2, core=4 * n**2 * d)


def test_the_articles_layer_is_measured_at_thirteen_lengths():
    found = usual_lengths(layer(512))
    assert found.tokens == (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
    assert found.crossover == pytest.approx(1024)
    assert found.note is None


@pytest.mark.parametrize("d", [4, 32, 64, 100, 384, 512, 600, 1000, 4096])
def test_the_longest_is_four_times_the_crossover_and_the_ratios_are_even(d):
    # 8 n d² = 4 n² d where n = 2 d.
    found = usual_lengths(layer(d))
    assert 4 * 2 * d <= found.tokens[-1] <= max(512, 1.51 * 4 * 2 * d)
    assert len(found.tokens) == 13
    assert all(1.32 < b / a < 1.51 for a, b in pairwise(found.tokens))
    assert found.tokens[0] <= 64 or d > 512


def test_a_model_that_ends_says_that_its_crossover_lies_beyond():
    found = usual_lengths(layer(512), longest=600)
    assert found.tokens[-1] == 512
    assert found.crossover == pytest.approx(1024)
    assert found.note == (
        "Lengths end at 512 tokens and by FLOPs attention takes over at 1,024, so the "
        "crossover must be extrapolated: a law wants lengths up to 4,096."
    )
    assert usual_lengths(layer(8), longest=512).note is None


def test_where_a_module_turns_out_to_end_lengths_end():
    def predicted(n):
        if n > 128:
            raise ShapeError("no positions")
        return Predicted(linear=10**9 * n, core=n * n)

    found = usual_lengths(predicted)
    assert found.tokens[-1] == 128
    assert found.crossover is None


def test_what_never_takes_over_is_measured_where_layers_usually_are():
    assert usual_lengths(lambda n: Predicted(linear=n, core=0)).tokens[-1] == 4096
    window = usual_lengths(lambda n: Predicted(linear=8 * n, core=n))
    assert (window.tokens[-1], window.crossover, window.note) == (4096, None, None)


@pytest.mark.parametrize("longest", [1, 2, 3, 5, 77])
def test_a_short_model_has_short_lengths(longest):
    found = usual_lengths(layer(512), longest=longest)
    assert found.tokens[0] == 1
    assert found.tokens[-1] <= longest < 2 * found.tokens[-1]


def test_octaves_are_every_other_length_and_the_last():
    assert octaves(usual_lengths(layer(512)).tokens) == (64, 128, 256, 512, 1024, 2048, 4096)
    assert octaves((7,)) == (7,)
