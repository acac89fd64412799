"""Operations outside products, and the bytes that all move, against numbers made by hand."""

import pytest
import torch
from tests.cost.counting.pricing import cost_of
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from attncost.cost.counting.formulas.traffic import stored

N = 24  # the numbers of x
x = torch.arange(1.0, N + 1).reshape(2, 3, 4)
row = torch.ones(4)
places = torch.tensor([1, 0, 1])

# A call, elementwise operations, and the bytes of what it reads and of what it writes.
CASES = {
    "add": (lambda: x + x, N, 4 * 3 * N),
    "add a number": (lambda: x + 1, N, 4 * 2 * N),
    "add a row": (lambda: x + row, N, 4 * (2 * N + 4)),
    "add an expanded row": (lambda: x + row.expand(2, 3, 4), N, 4 * (2 * N + 4)),
    "add in place": (lambda: x.clone().add_(row), N, 4 * (2 * N + 2 * N + 4)),
    "add into": (lambda: torch.add(x, row, out=torch.empty(2, 3, 4)), N, 4 * (2 * N + 4)),
    "compare": (lambda: x > 3, N, 4 * N + N),
    "compare in place": (lambda: x.clone().ge_(3), N, 4 * 4 * N),
    "gelu": (lambda: functional.gelu(x), N, 4 * 2 * N),
    "where": (lambda: torch.where(x > 3, x, 0.0), 2 * N, 4 * N + N + N + 4 * 2 * N + 2 * 4),
    "tril": (lambda: torch.tril(x), N, 4 * 2 * N),
    "sum": (lambda: x.sum(-1), N, 4 * (N + 6)),
    "mean": (x.mean, N, 4 * (N + 1)),
    "max": (x.max, N, 4 * (N + 1)),
    "max of rows": (lambda: x.max(-1), N, 4 * N + 6 * (4 + 8)),
    "argmax": (lambda: x.argmax(-1), N, 4 * N + 8 * 6),
    "variance": (lambda: x.var(-1), 4 * N, 4 * (N + 6)),
    "norm": (lambda: torch.linalg.vector_norm(x), 2 * N, 4 * (N + 1)),
    "cumsum": (lambda: x.cumsum(-1), N, 4 * 2 * N),
    "logsumexp": (lambda: x.logsumexp(-1), 4 * N, 4 * (N + 6)),
    "sort": (lambda: x.sort(-1), 2 * N, 4 * N + N * (4 + 8)),
    "softmax": (lambda: x.softmax(-1), 5 * N, 4 * 2 * N),
    "log softmax": (lambda: x.log_softmax(-1), 5 * N, 4 * 2 * N),
    "layer norm": (lambda: functional.layer_norm(x, (4,), row, row), 7 * N, 4 * (2 * N + 8 + 12)),
    "layer norm alone": (lambda: functional.layer_norm(x, (4,)), 5 * N, 4 * (2 * N + 12)),
    "group norm": (lambda: functional.group_norm(x, 3), 5 * N, 4 * (2 * N + 12)),
    "max pool": (lambda: functional.max_pool2d(x, 2), 2 * 1 * 2 * 4, 4 * N + 4 * (4 + 8)),
    "average pool": (lambda: functional.avg_pool2d(x, 2), 2 * 1 * 2 * 4, 4 * (N + 4)),
    "fill": (lambda: torch.zeros(5), 0, 4 * 5),
    "draw": (lambda: torch.rand(5), 5, 4 * 5),
    "copy": (x.clone, 0, 4 * 2 * N),
    "cast": (x.half, 0, (4 + 2) * N),
    "concatenate": (lambda: torch.cat([x, x]), 0, 4 * 4 * N),
    "stack": (lambda: torch.stack([row, row]), 0, 4 * 16),
    "pad": (lambda: functional.pad(row, (1, 1)), 0, 4 * (4 + 6)),
    "roll": (lambda: x.roll(1), 0, 4 * 2 * N),
    "overwrite": (lambda: torch.empty(2, 3, 4).copy_(row), 0, 4 * (4 + N)),
    "index": (lambda: x[places], 0, 3 * 8 + 4 * 2 * 36),
    "select rows": (lambda: x.index_select(0, places), 0, 3 * 8 + 4 * 2 * 36),
    "gather": (lambda: row.gather(0, places), 0, 3 * 8 + 4 * 2 * 3),
    "write at places": (
        lambda: torch.empty(9, 4).index_put_([places], torch.ones(3, 4)),
        0,
        4 * 12 + 3 * 8 + 4 * 12 + 4 * 12,
    ),
    "add at places": (
        lambda: torch.empty(9, 4).index_add_(0, places, torch.ones(3, 4)),
        12,
        4 * 12 + 3 * 8 + 4 * 12 + 2 * 4 * 12,
    ),
    "views": (lambda: x.view(6, 4).T.unsqueeze(0).expand(5, 4, 6)[:, 1:], 0, 0),
    "split": (lambda: x.split(1), 0, 0),
    "new memory": (lambda: torch.empty(100), 0, 0),
    "a number": (x[0, 0, 0].item, 0, 0),
    "questions": (lambda: x.shape[0] + x.stride(1) + x.is_contiguous(), 0, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_costs_what_a_hand_counts(name):
    call, elementwise, moved = CASES[name]
    cost = cost_of(call)
    assert (cost.elementwise, cost.bytes, cost.dense) == (elementwise, moved, 0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", CASES)
def test_an_operation_costs_the_same_in_every_mode(name, mode):
    call, elementwise, _ = CASES[name]
    with mode():
        assert cost_of(call).elementwise == elementwise


def test_an_embedding_reads_the_rows_that_it_takes():
    table, tokens = torch.randn(1000, 8), torch.tensor([[3, 5, 3]])
    assert cost_of(lambda: functional.embedding(tokens, table)).bytes == 3 * 8 + 2 * 4 * 3 * 8


def test_the_gradient_of_an_embedding_writes_the_whole_table():
    layer, tokens = nn.Embedding(100, 8), torch.tensor([3, 5, 3])
    forward, grad = layer(tokens), torch.ones(3, 8)
    cost = cost_of(lambda: torch.autograd.grad(forward, layer.weight, grad))
    assert (cost.elementwise, cost.bytes) == (24, 3 * 8 + 4 * (24 + 800))


def test_dropout_costs_the_same_fused_and_step_by_step():
    def steps():
        return functional.dropout(x, 0.5)

    with torch.device("meta"):
        fused = cost_of(lambda: torch.native_dropout(torch.empty(2, 3, 4), 0.5, True))
    assert cost_of(steps).elementwise == fused.elementwise == 3 * N


def test_only_gradients_that_are_asked_for_are_paid():
    weight, bias = row.clone().requires_grad_(), row.clone().requires_grad_()
    given = x.clone().requires_grad_()
    grad = torch.ones_like(x)

    def backward(*wanted):
        out = functional.layer_norm(given, (4,), weight, bias)
        return cost_of(lambda: torch.autograd.grad(out, wanted, grad)).elementwise

    assert backward(given) == 10 * N
    assert backward(weight) == 2 * N
    assert backward(given, weight, bias) == 13 * N


def test_a_batch_norm_computes_moments_in_training_alone():
    layer = nn.BatchNorm1d(3)
    assert cost_of(lambda: layer(x)).elementwise == 7 * N + 1  # and one more batch is counted
    layer.eval()
    assert cost_of(lambda: layer(x)).elementwise == 4 * N


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.AdamW, {}),
        (torch.optim.AdamW, {"amsgrad": True}),
        (torch.optim.SGD, {}),
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
        (torch.optim.Adagrad, {}),
    ],
)
def test_a_step_costs_the_same_fused_in_lists_and_one_by_one(optimizer, options, decay, maximize):
    found = {}
    for way in ({"fused": True}, {"foreach": True}, {"foreach": False}):
        weights = [nn.Parameter(torch.ones(3, 1000)), nn.Parameter(torch.ones(500))]
        given = options | way | {"weight_decay": decay, "maximize": maximize, "lr": 0.1}
        stepping = optimizer(weights, **given)
        for _ in range(2):
            for weight in weights:
                weight.grad = torch.ones_like(weight)
            cost = cost_of(stepping.step)
        found[next(iter(way.items()))] = cost
    fused, lists, single = found.values()
    # Counters of steps are a number for each weight; lists of Adagrad scale their gradients apart.
    apart = 3500 if optimizer is torch.optim.Adagrad else 0
    assert lists.elementwise == pytest.approx(fused.elementwise + apart, abs=20)
    assert single.elementwise == pytest.approx(fused.elementwise, abs=20)
    assert fused.bytes <= lists.bytes


def test_a_fused_step_moves_weights_gradients_and_state_once():
    weight = nn.Parameter(torch.ones(100))
    optimizer = torch.optim.AdamW([weight], fused=True)
    weight.grad = torch.ones(100)
    optimizer.step()
    # Four are read, three are written, and so is the counter of steps.
    assert cost_of(optimizer.step).bytes == 4 * 7 * 100 + 4 * 2


def test_what_a_view_repeats_is_stored_once():
    assert stored(torch.ones(5, 1).expand(5, 7)) == 4 * 5
    assert stored(torch.arange(10.0).unfold(0, 3, 1)) == 4 * 10
    assert stored(torch.ones(4, 6)[:, :2]) == 4 * 8
    assert stored(torch.ones(4, 6)[:, :1].expand(4, 9)) == 4 * 4
    assert stored(torch.empty(0, 3)) == 0
    assert stored(torch.tensor(1.0, dtype=torch.float64)) == 8
    assert stored(torch.eye(3).to_sparse()) == 3 * 4 + 2 * 3 * 8


@pytest.mark.parametrize("name", [name for name in CASES if name != "a number"])
def test_an_operation_costs_the_same_on_fake_tensors(name):
    call, elementwise, moved = CASES[name]
    with FakeTensorMode(allow_non_fake_inputs=True):
        cost = cost_of(call)
    assert (cost.elementwise, cost.bytes) == (elementwise, moved)
