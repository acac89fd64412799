"""What every mechanism says it costs is what PyTorch is seen to do."""

import pytest
import sympy
from tests.every import every_mechanism
from tests.kernels.counted import flops, moved
from tests.mechanisms.given import SIZES, every_shape, learned
from tests.oracle import random_qkv

from attncost import Dims, Linear, Linformer
from attncost.core.counts import lengths

NUMBERS = {"batch": 2, "heads": 4, "kv_heads": 2, "length": 300, "kv_length": 200}
NUMBERS |= {"head_dim": 8, "value_dim": 5, "d_model": 32, "itemsize": 2}
LONG = [(300, 300), (40, 200), (130, 40), (40, 60)]


@every_mechanism
@pytest.mark.parametrize(("n", "m"), SIZES + LONG)
@every_shape
def test_executed_is_what_torch_counts(mechanism, n, m, heads, features, generator):
    qkv = random_qkv(generator, n, m, heads=heads, features=features)
    parameters = learned(mechanism, qkv, generator)
    cost = mechanism.cost(Dims.of(*(x.shape for x in qkv)))
    assert flops(lambda: mechanism.attend(*qkv, parameters)) == cost.executed


@every_mechanism
@every_shape
@pytest.mark.parametrize(("n", "m"), [(2, 2), (64, 64), (65, 65), (90, 40), *LONG])
def test_bytes_are_those_of_all_that_is_multiplied(mechanism, n, m, heads, features, generator):
    qkv = [x.detach() for x in random_qkv(generator, n, m, heads=heads, features=features)]
    dims = Dims.of(*(x.shape for x in qkv), itemsize=8)
    parameters = {k: x.detach() for k, x in learned(mechanism, qkv, generator, longer=3).items()}
    counted = moved(lambda: mechanism.attend(*qkv, parameters), [*qkv, *parameters.values()])
    assert counted == mechanism.cost(dims).bytes


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n", "m"), [(65, 65), (40, 200)])
def test_values_of_half_types_are_copied(n, m, causal, generator):
    qkv = [x.detach().bfloat16() for x in random_qkv(generator, n, m)]
    dims = Dims.of(*(x.shape for x in qkv), itemsize=2)
    mechanism = Linear(causal=causal)
    assert moved(lambda: mechanism.attend(*qkv, {}), qkv) == mechanism.cost(dims).bytes


@every_mechanism
def test_formula_with_symbols_agrees_with_numbers(mechanism):
    symbols = Dims.symbolic()
    at = {getattr(symbols, name): number for name, number in NUMBERS.items()}
    formula, number = mechanism.cost(symbols), mechanism.cost(Dims(**NUMBERS))
    for count in ("useful", "executed", "dense", "elementwise", "bytes"):
        assert sympy.sympify(getattr(formula, count)).subs(at) == getattr(number, count), count


@every_mechanism
@pytest.mark.parametrize("count", ["useful", "executed", "elementwise", "bytes"])
def test_many_lengths_at_once_agree_with_numbers(mechanism, count):
    every = lengths(200)
    costs = [getattr(mechanism.cost(Dims(heads=4, length=n, head_dim=8)), count) for n in every]
    many = getattr(mechanism.cost(Dims(heads=4, length=every, head_dim=8)), count)
    assert many.tolist() == costs


@every_mechanism
@pytest.mark.parametrize("head_dim", [1, 8, 512])
def test_no_more_is_useful_than_is_executed(mechanism, head_dim):
    cost = mechanism.cost(Dims(heads=8, kv_heads=2, length=lengths(2000), head_dim=head_dim))
    assert (cost.useful <= cost.executed).all()


@every_mechanism
def test_steps_add_up(mechanism):
    cost = mechanism.cost(Dims(**NUMBERS))
    for count in ("useful", "executed", "dense", "elementwise"):
        assert sum(getattr(step, count) for _, step in cost.steps) == getattr(cost, count)


def test_the_recurrence_is_useful_at_long_lengths():
    n, h, d, e = 4096, 8, 64, 48
    written = read = 2 * n * h * d * e
    for causal in (True, False):
        cost = Linear(causal=causal).cost(Dims(heads=h, length=n, head_dim=d, value_dim=e))
        assert cost.useful == written + read
    first = Linear(causal=True).cost(Dims(heads=h, length=1, head_dim=d, value_dim=e))
    assert first.useful == 2 * h * (d + e), "a product and a value, no state"


def test_what_is_learned_is_read_once_and_not_in_every_sequence():
    rank, dims = 16, Dims(batch=2, heads=4, kv_heads=2, length=9, kv_length=50, head_dim=8)
    keys, mixtures, queries = 2 * 2 * 50 * 8, 2 * 2 * rank * 8, 2 * 4 * 9 * 8
    for per_head in (False, True):
        learned = 2 * rank * 50 * (2 if per_head else 1)
        together = 2 * mixtures if per_head else 0
        elements = learned + 2 * (keys + mixtures) + together + 2 * mixtures + 2 * queries
        assert Linformer(rank, per_head).cost(dims).bytes == 4 * elements
