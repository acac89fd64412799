"""What fits by running, against every size tried one after another."""

from math import isqrt

import pytest

from attncost.core.errors import ShapeError
from attncost.cost.memory.footprint import PARTS, Footprint
from attncost.integrations.fitting import greatest


def footprint(**parts):
    return Footprint(
        name="Module",
        device="cpu",
        by_part=dict.fromkeys(PARTS, 0) | parts,
        kept={},
        phase="forward",
        module="",
        operation="aten::mm",
    )


@pytest.fixture
def module():
    """Return a module of some memory that counts its runs, and takes only some sizes."""

    def make(memory, takes=lambda _: True):
        def run(size):
            runs.append(size)
            if not takes(size):
                raise ShapeError(f"no {size} here.")
            return footprint(parameters=1000, temporaries=memory(size))

        runs = []
        return run, runs

    return make


CURVES = {
    "line": lambda n: 17 * n,
    "parabola": lambda n: 3 * n * n + 5 * n,
    "kink": lambda n: 40 * n if n < 100 else 4000 + n * (n - 99),
    "stairs": lambda n: 64 * (1 + n // 10),
    "root": lambda n: 900 * isqrt(n),
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("memory", [999, 1064, 1100, 5000, 20_000, 123_456])
def test_what_fits_is_what_brute_force_finds(curve, memory, module):
    run, runs = module(CURVES[curve])
    sizes = range(1, 20_000)
    expected = max((n for n in sizes if 1000 + CURVES[curve](n) <= memory), default=0)
    found = greatest(run, memory=memory, start=32)
    assert found.greatest == expected
    assert found.limit == "temporaries" or not expected
    assert found.next == run(expected + 1)
    assert found.held == run(max(expected, 1))
    assert len(runs) == len(set(runs)) + 2, "no size is run twice, but for the two here"


@pytest.mark.parametrize("start", [1, 64, 4096])
def test_a_smooth_curve_takes_few_runs(start, module):
    run, runs = module(lambda n: 12 * n * n + 7 * n)
    assert greatest(run, memory=10**12, start=start).greatest == 288_674
    doublings = (288_674 // start).bit_length()
    assert len(runs) <= doublings + 5, "bisection takes as many again as doublings from one token"


def test_positions_end_before_memory_does(module):
    run, runs = module(lambda n: n)
    found = greatest(run, memory=10**9, start=2048, most=300)
    assert (found.greatest, found.limit, found.next) == (300, "positions", None)
    assert max(runs) == 300


def test_a_module_that_ends_by_itself_says_why(module):
    run, _ = module(lambda n: n, takes=lambda n: n <= 300)
    found = greatest(run, memory=10**9, start=2048)
    assert (found.greatest, found.limit, found.refusal) == (300, "itself", "no 301 here.")
    assert found.next is None


def test_a_module_that_takes_multiples_is_asked_for_those_alone(module):
    run, _ = module(lambda n: 5 * n, takes=lambda n: n % 16 == 0)
    found = greatest(run, memory=2000, start=64)
    assert (found.step, found.greatest) == (16, 192)
    assert found.next == run(208)


def test_a_module_that_takes_no_small_sizes_still_fits_where_it_can(module):
    run, _ = module(lambda n: n, takes=lambda n: n >= 50)
    assert greatest(run, memory=1100, start=512).greatest == 100
    none = greatest(run, memory=1010, start=512)
    assert none.greatest == 0
    assert none.held == run(64), "the smallest that was run"


def test_what_takes_no_more_memory_has_no_limit(module):
    run, runs = module(lambda _: 0)
    found = greatest(run, memory=2000, start=8)
    assert (found.greatest, found.limit) == (None, "nothing")
    assert len(runs) < 20
    assert greatest(run, memory=500, start=8).greatest == 0


def test_a_module_that_takes_nothing_says_so_of_what_was_asked(module):
    run, _ = module(lambda n: n, takes=lambda _: False)
    with pytest.raises(ShapeError, match="no 512 here"):
        greatest(run, memory=10**9, start=512)


def test_where_memory_shrinks_for_once_what_fits_fits_and_the_next_does_not(module):
    run, _ = module(lambda n: n * 100 if n < 70 else n * 10)
    found = greatest(run, memory=6000, start=16)
    assert found.held.peak <= 6000 < found.next.peak
    assert found.greatest in {50, 500}


def test_the_part_to_blame_grows():
    def run(size):
        return footprint(parameters=10**6, activations=3 * size, temporaries=2 * size)

    assert greatest(run, memory=10**6 + 100, start=4).limit == "activations"
    assert greatest(run, memory=10, start=4).limit == "parameters"
