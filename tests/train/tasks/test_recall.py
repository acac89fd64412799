import pytest
import torch
from scipy.stats import chisquare

from attncost.core.errors import ShapeError
from attncost.train.tasks.interface import IGNORED
from attncost.train.tasks.recall import Recall

every_size = pytest.mark.parametrize("task", Recall.examples(), ids=str)


def solved(tokens, task):
    """Return what to say at each token, reading none after it."""
    labels, values, key = [], {}, None
    for place, token in enumerate(tokens):
        label = IGNORED
        if place < 2 * task.pairs:
            if place % 2 == 0:
                key = token
            else:
                assert key not in values, "a key comes once"
                values[key] = token - 1 - task.keys
        elif token:
            label = values.pop(token)
        labels.append(label)
    assert not values, "each is asked for"
    return labels


@every_size
def test_who_remembers_pairs_knows_every_label(task):
    for batch in (task.drawn(200, seed=0, step=0), task.held_out(200)):
        for tokens, labels in zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True):
            assert labels == solved(tokens, task)
            assert all(1 <= key <= task.keys for key in tokens[0 : 2 * task.pairs : 2])
            assert all(value > task.keys for value in tokens[1 : 2 * task.pairs : 2])


def test_each_later_place_is_as_likely_for_each_pair():
    task = Recall(length=20, pairs=3)
    batch = task.drawn(6000, seed=0, step=0)
    for pair in range(3):
        again = batch.tokens[:, 6:] == batch.tokens[:, 2 * pair, None]
        assert chisquare(again.sum(0).numpy()).pvalue > 1e-3


def test_keys_and_values_are_all_as_likely_and_do_not_tell_each_other():
    task = Recall(length=3, pairs=1, keys=4, values=3)
    tokens = task.drawn(6000, seed=0, step=0).tokens
    both = (tokens[:, 0] - 1) * 3 + tokens[:, 1] - 5
    assert chisquare(torch.bincount(both, minlength=12).numpy()).pvalue > 1e-3


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"length": 23}, "8 pairs and their keys once more take 24 tokens, got length 23"),
        ({"keys": 7}, "8 pairs need as many different keys, got 7"),
        ({"pairs": 0}, "pairs must be at least 1, got 0"),
        ({"values": 0}, "values must be at least 1, got 0"),
        ({"length": -1, "pairs": -1}, "pairs must be at least 1, got -1"),
    ],
)
def test_dials_that_do_not_fit_are_refused(dials, message):
    with pytest.raises(ShapeError, match=message):
        Recall(**dials)
