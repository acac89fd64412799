"""Dropout: the same weights in every kernel, as many as asked for, independent, reproducible."""

import math

import pytest
import torch
from tests.kernels.attend import attend, every_kernel, every_plain_kernel
from tests.kernels.corners import ONE_EACH, qkv_of, with_gradients
from tests.kernels.wishes import honoured, wishes
from tests.oracle import definition

from attncost import Causal, Full, Window

BATCH, HEADS, N = 2, 4, 200
every_p = pytest.mark.parametrize("p", [0.01, 0.25, 0.5, 0.9])


@pytest.fixture(autouse=True)
def _the_global_generator_is_left_alone():
    with torch.random.fork_rng():
        yield


def dropped_by(kernel, pattern, p, *, n=N, m=N, seed=0, batch=BATCH):
    """Return the weights themselves: of equal scores, averaged over the unit vectors."""
    q, k = torch.zeros(batch, HEADS, n, 8), torch.zeros(batch, HEADS, m, 8)
    torch.manual_seed(seed)
    return attend(kernel, q, k, torch.eye(m).expand(batch, HEADS, m, m), pattern, dropout_p=p)


@every_plain_kernel
@pytest.mark.parametrize("pattern", ONE_EACH, ids=str)
@pytest.mark.parametrize(("n", "m"), [(150, 150), (40, 150), (150, 40)])
def test_every_kernel_drops_the_same_weights_of_those_that_are_read(kernel, pattern, n, m):
    found = dropped_by(kernel, pattern, 0.25, n=n, m=m) > 0
    everywhere = dropped_by("reference", Full(), 0.25, n=n, m=m) > 0
    assert torch.equal(found, everywhere & pattern.mask(n, m))


@every_plain_kernel
@every_p
def test_as_many_are_dropped_as_asked_for_in_rows_columns_and_heads(kernel, p):
    keep = (dropped_by(kernel, Full(), p) > 0).double()
    assert abs(z(keep, p)) < 5
    for axes in [(2, 3), (1, 3), (1, 2), (3,), (2,)]:
        assert z(keep.mean(axes), p, of=math.prod(keep.shape[axis] for axis in axes)) < 5


def z(means, p, *, of=1):
    """Return by how many standard deviations means of `of` weights lie or spread too far."""
    deviations = (means - (1 - p)) / math.sqrt(p * (1 - p) / of)
    if of == 1:
        return float(deviations.sum()) / math.sqrt(deviations.numel())
    count = deviations.numel()
    return float(deviations.square().sum() - count) / math.sqrt(2 * count)


@every_plain_kernel
@every_p
def test_neighbours_are_dropped_independently(kernel, p):
    centred = ((dropped_by(kernel, Full(), p) > 0).double() - (1 - p)) / math.sqrt(p * (1 - p))
    for axis in range(4):
        for step in (1, 2, 16, 64, 128):
            count = centred.shape[axis] - step
            if count > 0:
                product = centred.narrow(axis, 0, count) * centred.narrow(axis, step, count)
                assert abs(float(product.sum())) < 5 * math.sqrt(product.numel()), (axis, step)
    assert abs(float((centred * centred.mT).sum())) < 5 * math.sqrt(2 * centred.numel())


@every_plain_kernel
@every_p
def test_what_is_kept_is_scaled_so_that_the_mean_stays(kernel, p):
    weights = dropped_by(kernel, Full(), p)
    kept = weights[weights > 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / N / (1 - p)))


@every_plain_kernel
def test_seeds_make_the_difference_and_so_do_calls(kernel):
    first, again, other = (dropped_by(kernel, Full(), 0.5, seed=seed) > 0 for seed in (0, 0, 1))
    next_call = attend(
        kernel,
        torch.zeros(BATCH, HEADS, N, 8),
        torch.zeros(BATCH, HEADS, N, 8),
        torch.eye(N).expand(BATCH, HEADS, N, N),
        dropout_p=0.5,
    )
    assert torch.equal(first, again)
    for different in (other, next_call > 0):
        agree = float((first == different).double().mean())
        assert abs(agree - 0.5) < 5 * 0.5 / math.sqrt(first.numel())


@every_kernel
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(33, ahead=16)], ids=str)
def test_forward_and_backward_use_the_weights_that_are_kept(kernel, pattern):
    n, m, p = 150, 140, 0.3
    qkv, options = qkv_of(n, m), wishes(*honoured(kernel, pattern), n=n, m=m)
    keep = dropped_by("reference", Full(), p, n=n, m=m, seed=7) > 0
    torch.manual_seed(7)
    out = attend(kernel, *qkv, pattern, dropout_p=p, **options)
    torch.rand(100)
    tensors = [*qkv, *options.values()]
    exact, _ = definition(*qkv, pattern.mask(n, m), keep=keep, dropout_p=p, **options)
    torch.testing.assert_close(with_gradients(out, tensors), with_gradients(exact, tensors))


@every_plain_kernel
def test_the_log_sum_exp_does_not_know_of_it(kernel):
    qkv = qkv_of(60, 50)
    _, plain = attend(kernel, *qkv, Causal(), return_lse=True)
    _, lse = attend(kernel, *qkv, Causal(), return_lse=True, dropout_p=0.5)
    torch.testing.assert_close(lse, plain)


@every_plain_kernel
def test_without_it_no_random_number_is_drawn_and_no_bit_differs(kernel):
    qkv, before = qkv_of(60, 50), torch.get_rng_state()
    plain, none = attend(kernel, *qkv), attend(kernel, *qkv, dropout_p=0.0)
    assert torch.equal(plain, none)
    assert torch.equal(before, torch.get_rng_state())


@every_plain_kernel
def test_it_drops_whenever_it_is_asked_to_as_a_function_knows_no_training(kernel):
    """pytorch/pytorch, issue 124464: the caller passes 0 in evaluation."""
    with torch.inference_mode():
        assert (dropped_by(kernel, Full(), 0.5) == 0).any()


@every_plain_kernel
def test_a_shorter_batch_drops_the_same_in_its_sequences(kernel):
    long, short = (dropped_by(kernel, Full(), 0.5, batch=batch) for batch in (2, 1))
    assert torch.equal(long[:1], short)
