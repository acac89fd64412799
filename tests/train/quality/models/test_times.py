"""Attentions in a model are timed without the work of swapping them in."""

from typing import final

import pytest
import transformers
from tests.train.quality.models.readings import SIZES, bert, reading, texts

import attncost as ac
from attncost.integrations.hf.hung import hung
from attncost.measure.clocks.interface import Clock
from attncost.mechanisms.linformer import Linformer
from attncost.train.quality.models.times import times


@final
class Looking(Clock):
    """Counts 2 seconds where a swapped attention stands before and after the call, else 1."""

    name, reason, device = "looks", "tells what stands in the model", "cpu"

    def __init__(self, model):
        self.model, self.seen = model, set()

    def elapsed(self, call, repeats):
        before = self.in_place()
        call()
        assert self.in_place() == before, "nothing is swapped while the clock runs"
        self.seen.add(before)
        return (1.0 if before is None else 2.0) * repeats

    def in_place(self):
        place = hung(self.model.encoder.layer[0].attention.self)
        return None if place is None else str(place.attention)


def test_the_clock_starts_when_the_attention_stands(generator):
    model = bert()
    tried, clock, told = (ac.Window(7, ahead=3), Linformer(rank=4)), Looking(model), []
    some = reading(model, texts(generator, 9, 24), "mean")
    found = times(some, tried, told.append, clock=clock)
    assert clock.seen == {None, *map(str, tried)}
    assert [one.figure for one in found.values()] == [2.0, 2.0]
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert clock.in_place() is None


@pytest.mark.slow  # 15 rounds of two ways to run a model
def test_exact_attention_takes_as_long_as_the_models_own(generator):
    wide = SIZES | {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2}
    config = transformers.BertConfig(**wide, max_position_embeddings=256)
    model = transformers.BertModel._from_config(config, attn_implementation="sdpa").eval()
    found = times(reading(model, texts(generator, 256), "mean"), [ac.Full()])
    (one,) = found.values()
    assert 0.7 < one.figure < 1.4
