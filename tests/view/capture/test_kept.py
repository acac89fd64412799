"""What is kept of a call: all of it, some heads, or weights of some queries alone."""

from dataclasses import replace
from weakref import ref

import pytest
import torch
from tests.view.capture.seen_calls import drawn

from attncost.core.errors import ShapeError
from attncost.patterns.causal import Causal
from attncost.view.capture.kept import of_heads, padded, rows_of, whole
from attncost.view.seen import Seen

B, H, G, N, D = 2, 6, 3, 5, 4


def call(n=N, m=N, **wishes):
    return Seen(
        name="layer",
        q=drawn(B, H, n, D),
        k=drawn(B, G, m, D, seed=1),
        v=drawn(B, G, m, D, seed=2),
        pattern=Causal(),
        wishes=wishes,
        heads=tuple(range(H)),
    )


def held(*tensors):
    """Return the bytes that tensors keep alive."""
    storages = {x.untyped_storage().data_ptr(): x.untyped_storage() for x in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def test_the_whole_is_a_copy_that_keeps_nothing_else_alive():
    packed = drawn(B, N, 3 * H * D, seed=3).requires_grad_()
    q, k, v = packed.unflatten(-1, (3, H, D)).permute(2, 0, 3, 1, 4)
    seen = replace(call(), q=q, k=k, v=v)
    expected = seen.weights().detach()
    kept = whole(seen, values=True)
    with torch.no_grad():
        packed.zero_()  # as a static cache is written anew
    assert torch.equal(kept.weights(), expected)
    assert held(kept.q, kept.k, kept.v) == 4 * (q.numel() + k.numel() + v.numel())
    assert not kept.q.requires_grad
    assert whole(seen).v is None


def test_what_layers_share_is_not_copied_for_each():
    bias = drawn(1, 1, N, N)
    assert whole(call(bias=bias)).wishes["bias"] is bias


@pytest.mark.parametrize(
    ("heads", "keys"),
    [
        ((0, 1, 2, 3, 4, 5), 3),
        ((2, 3), 1),
        ((0, 2, 5), 3),
        ((1, 0), 1),
        ((0, 1, 4), 3),
        ((5, 4, 1, 0), 2),
        ((2,), 1),
        ((0, 2, 1), 3),
    ],
    ids=str,
)
def test_some_heads_weigh_as_they_do_among_all(heads, keys):
    wishes = {"bias": drawn(B, H, N, N), "alibi": drawn(H).abs(), "sink": drawn(H, seed=4)}
    seen = call(**wishes)
    some = of_heads(seen, heads)
    assert (some.heads, some.k.shape[1]) == (heads, keys)
    torch.testing.assert_close(some.weights(), seen.weights()[:, list(heads)])
    wide = seen.v.repeat_interleave(2, 1)[:, list(heads)]
    assert torch.equal(some.v.repeat_interleave(len(heads) // keys, 1), wide)


def test_heads_of_some_heads_go_by_the_numbers_of_the_model():
    seen = call()
    again = of_heads(of_heads(seen, (1, 3, 5)), (5,))
    assert again.heads == (5,)
    torch.testing.assert_close(again.weights(), seen.weights()[:, [5]])


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ((6,), r"layer has no head 6 among those it was seen with: 0 to 5\."),
        ((-1,), "layer has no head -1"),
        ((), r"different numbers, at least one, got \[\]"),
        ((1, 1), r"different numbers, at least one, got \[1, 1\]"),
    ],
    ids=["too large", "negative", "none", "twice"],
)
def test_heads_that_are_none_are_refused(heads, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        of_heads(call(), heads)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [("last", [4]), (2, [2]), (-1, [4]), ([0, -2], [0, 3]), (range(2), [0, 1])],
    ids=["last", "one", "from the end", "several", "a range"],
)
def test_rows_are_those_of_the_whole(rows, numbers):
    seen = call()
    torch.testing.assert_close(rows_of(seen, rows), seen.weights()[:, :, numbers])


def test_rows_that_are_none_are_refused():
    with pytest.raises(ShapeError, match=r"rows must lie in \[-5, 5\)"):
        rows_of(call(), [5])


def test_rows_keep_no_queries_keys_or_graph():
    seen = call()
    seen = replace(seen, q=seen.q.requires_grad_())
    gone = [ref(seen.q), ref(seen.k), ref(seen.v)]
    weights = rows_of(seen, "last")
    del seen
    assert [one() for one in gone] == [None, None, None]
    assert not weights.requires_grad
    assert held(weights) == 4 * B * H * N


def test_a_generation_keeps_one_row_a_token():
    prompt, new = 7, 6
    rows = [rows_of(call(n=prompt, m=prompt), "last")]
    rows += [rows_of(call(n=1, m=prompt + t), "last") for t in range(1, new)]
    assert held(*rows) == 4 * B * H * sum(range(prompt, prompt + new))
    steps = padded(rows)
    assert steps.shape == (new, B, H, prompt + new - 1)
    for t, (row, step) in enumerate(zip(rows, steps, strict=True)):
        assert row.shape == (B, H, 1, prompt + t)
        assert torch.equal(step[..., : prompt + t], row[:, :, 0])
        assert not step[..., prompt + t :].any()


def test_several_rows_of_one_call_follow_each_other():
    seen = call()
    steps = padded([rows_of(seen, [0, 3]), rows_of(call(n=1, m=6), "last")])
    assert steps.shape == (3, B, H, 6)
    torch.testing.assert_close(steps[1, ..., :N], seen.weights()[:, :, 3])


@pytest.mark.parametrize("shapes", [[], [(1, 2), (2, 2)]], ids=["none", "other batches"])
def test_rows_that_do_not_belong_together_are_refused(shapes):
    with pytest.raises(ShapeError, match="all have the same sequences and heads"):
        padded([torch.ones(*shape, 1, 3) for shape in shapes])
