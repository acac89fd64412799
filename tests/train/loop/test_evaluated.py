import math

import pytest
import torch
from tests.train.small import SIZES, Either, Ragged
from torch import nn
from torch.nn.functional import log_softmax

from attncost import Causal, Full
from attncost.core.errors import ShapeError
from attncost.train.loop import evaluate
from attncost.train.tasks.interface import IGNORED
from attncost.train.transformer import Transformer


def test_accuracy_is_the_share_of_labels_that_are_said():
    model, batch = Transformer(Either(), Full(), SIZES), Either().held_out(150)
    with torch.no_grad():
        said = model(batch.tokens)[:, 0].argmax(-1)
    right = sum(int(one) == int(label) for one, label in zip(said, batch.labels[:, 0], strict=True))
    assert evaluate(model, Either(), size=150) == right / 150


def test_nats_are_the_mean_over_labels_and_not_over_sequences():
    model, batch = Transformer(Ragged(), Causal(), SIZES), Ragged().held_out(150)
    with torch.no_grad():
        logs = log_softmax(model(batch.tokens).double(), -1)
    found = [
        -float(logs[i, j, label])
        for i, row in enumerate(batch.labels.tolist())
        for j, label in enumerate(row)
        if label != IGNORED
    ]
    assert evaluate(model, Ragged(), size=150) == pytest.approx(sum(found) / len(found), rel=1e-6)


@pytest.mark.parametrize("task", [Either(), Ragged()], ids=["accuracy", "nats"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_scores_that_say_nothing_are_no_score(task, wrong):
    model = Transformer(task, Causal() if task.causal else Full(), SIZES)
    model.head.register_forward_hook(lambda *given: given[2].index_fill(-1, torch.tensor(0), wrong))
    assert math.isnan(evaluate(model, task, size=9))


def test_a_class_that_is_ruled_out_is_never_said():
    model, labels = Transformer(Either(), Full(), SIZES), Either().held_out(50).labels
    never = torch.tensor([0])
    model.head.register_forward_hook(lambda *given: given[2].index_fill(-1, never, -math.inf))
    assert evaluate(model, Either(), size=50) == float((labels == 1).float().mean())


@pytest.mark.parametrize("counted", ["accuracy", "nats"])
def test_what_is_said_where_nothing_is_asked_does_not_count(counted):
    class Judged:
        metric = counted
        held_out = Ragged().held_out

    model, silent = Transformer(Ragged(), Causal(), SIZES), Ragged().held_out(9).labels == IGNORED
    expected = evaluate(model, Judged(), size=9)
    model.head.register_forward_hook(
        lambda *given: given[2].masked_fill(silent[..., None], math.nan)
    )
    assert evaluate(model, Judged(), size=9) == pytest.approx(expected)


def test_the_mode_is_that_of_use_meanwhile_and_as_before_afterwards():
    model, modes = Transformer(Ragged(), Causal(), SIZES), []
    model.blocks[1].eval()
    model.register_forward_hook(lambda *_: modes.append((model.training, torch.is_grad_enabled())))
    evaluate(model, Ragged(), size=9)
    assert modes == [(False, False)]
    assert model.training
    assert not model.blocks[1].training


def test_narrower_products_are_made_in_that_type():
    model, types = Transformer(Ragged(), Causal(), SIZES), []
    model.head.register_forward_hook(lambda *given: types.append(given[2].dtype))
    wide = evaluate(model, Ragged(), size=9)
    narrow = evaluate(model, Ragged(), size=9, autocast="bfloat16")
    assert types == [torch.float32, torch.bfloat16]
    assert wide == pytest.approx(narrow, rel=1e-2)


def test_a_task_that_holds_out_nothing_is_refused():
    with pytest.raises(ShapeError, match=r"holds out no label in 0 sequences"):
        evaluate(Transformer(Ragged(), Causal(), SIZES), Ragged(), size=0)


def test_a_module_that_holds_nothing_is_refused():
    with pytest.raises(ShapeError, match="the model has no parameters"):
        evaluate(nn.ReLU(), Ragged(), size=3)
