import pickle

import pytest

from attncost import ShapeError, UnknownName
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.pieces import odd_texts, pieces
from attncost.batches.ways.packed import Packed


@pytest.mark.parametrize(
    ("collate", "words", "reason"),
    [
        (PaddingCollator, {"side": "lft"}, "no side is called 'lft'; did you mean 'left'"),
        (PaddingCollator, {"labels": "shift"}, "no kind of labels is called 'shift'; did you mean"),
        (PackingCollator, {"labels": "next"}, "Known: ids, own, shifted"),
    ],
)
def test_a_word_that_means_nothing_is_refused(collate, words, reason):
    with pytest.raises(UnknownName, match=reason):
        collate(**words)


@pytest.mark.parametrize("collate", [PaddingCollator, PackingCollator])
def test_what_is_no_way_is_refused(collate):
    with pytest.raises(ShapeError, match=r"way must be a way to batch, such as Stepped.., got 8"):
        collate(way=8)


@pytest.mark.parametrize("asked", [pieces, odd_texts])
def test_a_rule_that_nobody_knows_is_refused(asked):
    with pytest.raises(UnknownName, match=r"'spilt'; did you mean 'split'\? Known: cut, r"):
        asked([5], longest=4, too_long="spilt")


def test_a_collator_goes_to_another_process():
    collate = PackingCollator(pad=1, first_position=2, way=Packed(64, multiple=8), labels="own")
    assert pickle.loads(pickle.dumps(collate)) == collate
