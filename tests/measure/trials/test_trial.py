import pytest
import torch
from tests.measure.sweep.test_interleaved import Ticking
from torch import nn

from attncost.batches.priced import priced
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.core.errors import ShapeError
from attncost.cost.reading import preset
from attncost.integrations.reader import Reader
from attncost.measure.trials.trial import affordable, trial

TEXTS = [[1, 2, 3], [4], [5, 6], [7, 8, 9]]


class Model(nn.Module):
    """Takes a second for each slot, and remembers what it was called with."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.seen = clock, []

    def forward(self, ids):
        self.clock.now += ids.numel()
        self.seen.append(ids.tolist())


def padding(way):
    def collate(texts):
        longest = max(map(len, texts))
        return {"ids": torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts])}

    return collate


def packing(way):
    return lambda texts: {"ids": torch.tensor([[token for text in texts for token in text]])}


WAYS = {"usual": Padded(2), "packed": Packed(5)}


def test_each_way_is_read_by_the_model_for_it_and_takes_what_its_slots_take():
    clock = Ticking()
    padded, packed = Model(clock), Model(clock)
    both = {False: Reader(padded, padding), True: Reader(packed, packing)}
    usual, other = trial(WAYS, TEXTS, both, clock)
    assert (usual.name, usual.seconds) == ("usual", 2 * 3 + 2 * 3)
    assert (other.name, other.seconds) == ("packed", 3 + 1 + 2 + 3)
    assert other.ratio.figure == 9 / 12
    assert (usual.texts, usual.tokens) == (4, 9)
    assert padded.seen[:2] == [[[1, 2, 3], [4, 0, 0]], [[5, 6, 0], [7, 8, 9]]]
    assert {len(rows) for rows in packed.seen} == {1}


def test_what_no_model_reads_is_left_out_and_nothing_is_refused():
    clock = Ticking()
    (found,) = trial(WAYS, TEXTS, {False: Reader(Model(clock), padding)}, clock)
    assert found.name == "usual"
    with pytest.raises(ShapeError, match="got 0 ways"):
        trial({"packed": Packed(5)}, TEXTS, {False: Reader(Model(clock), padding)}, clock)


def test_so_many_texts_are_taken_as_all_ways_pass_in_one_round():
    lengths, order = [128] * 1000, [*reversed(range(1000))]
    bert = preset("bert-base")
    ways = [priced(way, lengths, bert, order=order) for way in (Padded(8), Packed(1024))]
    taken = affordable(ways)
    # Neither way pads anything: each passes the texts once, and 6e11 FLOPs are a round.
    alone = bert.linear(128).executed + bert.core(128).executed
    assert len(taken) == pytest.approx(6e11 / (2 * alone), abs=1)
    assert list(taken) == sorted(taken, reverse=True), "as they come"


def test_a_short_text_is_taken_whole():
    found = affordable([priced(Padded(8), [5, 0, 9], preset("bert-base"), order=[2, 0, 1])])
    assert found == (2, 0, 1)
