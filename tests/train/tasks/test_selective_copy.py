import pytest
from scipy.stats import chisquare

from attncost.core.errors import ShapeError
from attncost.train.tasks.interface import IGNORED
from attncost.train.tasks.selective_copy import SelectiveCopy

every_size = pytest.mark.parametrize("task", SelectiveCopy.examples(), ids=str)


def solved(tokens):
    """Return what to write at each token, reading none after it."""
    labels, waiting = [], []
    for token in tokens:
        labels.append(waiting.pop(0) if token == 1 else IGNORED)
        if token > 1:
            waiting.append(token - 2)
    assert not waiting, "each is written"
    return labels


@every_size
def test_who_remembers_symbols_in_order_knows_every_label(task):
    for batch in (task.drawn(200, seed=0, step=0), task.held_out(200)):
        for tokens, labels in zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True):
            assert labels == solved(tokens)
            assert sum(label != IGNORED for label in labels) == task.tokens


def test_symbols_stand_anywhere_before_the_marks():
    task = SelectiveCopy(length=20, tokens=4)
    tokens = task.drawn(6000, seed=0, step=0).tokens
    assert chisquare((tokens[:, :16] > 1).sum(0).numpy()).pvalue > 1e-3
    assert (tokens[:, 16:] == 1).all()


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"length": 15}, "8 tokens to read and to write take 16, got length 15"),
        ({"tokens": 0}, "tokens must be at least 1, got 0"),
        ({"symbols": 0}, "symbols must be at least 1, got 0"),
    ],
)
def test_dials_that_do_not_fit_are_refused(dials, message):
    with pytest.raises(ShapeError, match=message):
        SelectiveCopy(**dials)
