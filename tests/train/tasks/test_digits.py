import sys

import pytest
import torch
from sklearn.datasets import load_digits

from attncost.core.errors import UnsupportedOption
from attncost.train.tasks import digits
from attncost.train.tasks.digits import Digits


def images(batch):
    return [
        (tuple(tokens), label)
        for tokens, (label,) in zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True)
    ]


@pytest.fixture(scope="module")
def every_image():
    data = load_digits()
    pixels = data.images.astype(int).reshape(len(data.images), -1).tolist()
    return set(zip(map(tuple, pixels), data.target.tolist(), strict=True))


def test_an_image_either_trains_or_is_held_out(every_image):
    held = set(images(Digits().held_out(10_000)))
    drawn = set(images(Digits().drawn(20_000, seed=0, step=0)))
    assert len(held) + len(drawn) == len(every_image) == 1797, "no two are the same"
    assert held | drawn == every_image


def test_a_fifth_of_each_digit_is_held_out(every_image):
    held = Digits().held_out(10_000).labels.flatten().bincount().tolist()
    for digit in range(10):
        all_of_it = sum(label == digit for _, label in every_image)
        assert held[digit] == pytest.approx(all_of_it / 5, abs=1)


def test_the_first_held_out_are_the_first_of_all_held_out():
    few, every = Digits().held_out(50), Digits().held_out(10_000)
    assert torch.equal(few.tokens, every.tokens[:50])
    assert len(set(few.labels.flatten().tolist())) == 10


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    digits._parts.cache_clear()
    with pytest.raises(UnsupportedOption, match=r"install attncost\[train\]"):
        Digits().drawn(1, seed=0, step=0)
