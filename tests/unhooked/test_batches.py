"""What is no way, machine, dataset or number is refused in one line that says what to do."""

import pytest
from torch.utils.data import IterableDataset

from attncost import AttnCostError, ShapeError, UnknownName
from attncost.batches.choose import choose_batching
from attncost.batches.dataset import BatchedDataset
from attncost.batches.memory import at_most
from attncost.batches.sampler import BatchSampler
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.cost.reading import preset

BERT = preset("bert-base")


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({"documents": "masekd"}, UnknownName, "'masekd'; did you mean 'masked'"),
        ({"documents": ""}, UnknownName, "Known: apart, masked"),
        ({"ways": [3]}, ShapeError, "ways must be names of ways or .* got 3: leave ways= out"),
        ({"ways": Packed}, ShapeError, "ways must be names of ways or .* got <class"),
        ({"ways": "packd"}, UnknownName, "'packd'; did you mean 'packed'"),
        ({"usual": "padded"}, ShapeError, "usual must be a way to batch, .* got 'padded'"),
        ({"machine": "H100"}, ShapeError, "got 'H100': pass that of `machine_of`, or None"),
        ({"cost": "bert-base"}, ShapeError, "got 'bert-base': pass a configuration"),
    ],
)
def test_what_a_choice_is_not_made_of_is_refused(options, kind, reason):
    given = {"cost": BERT, "machine": None, **options}
    with pytest.raises(kind, match=reason) as error:
        choose_batching([5, 3], **given)
    assert "\n" not in str(error.value)


class Stream(IterableDataset[list[int]]):
    def __iter__(self):
        return iter([[1, 2], [3]])


sampler, dataset = BatchSampler([3, 4], Padded(1)), BatchedDataset([[1, 2], [3]], Padded(1))


@pytest.mark.parametrize(
    ("asked", "given", "reason"),
    [
        (at_most, ["x"], "slots must be a whole number of at least 1, got 'x'"),
        (BatchSampler, [[3], Packed], "way must be a way to batch, .* got <class"),
        (BatchSampler, [[3], 64], "way must be a way to batch, .* got 64"),
        (BatchedDataset, [[[3]], Packed], "way must be a way to batch, .* got <class"),
        (BatchedDataset, [iter([[3]]), Padded(1)], r"no numbers \(list_iterator\): pass \["),
        (BatchedDataset, [Stream(), Padded(1)], r"no numbers \(Stream\): pass \["),
        (
            dataset.__getitem__,
            [slice(0, 2)],
            r"by its number, got slice\(0, 2, None\): ask for one",
        ),
        (dataset.set_epoch, [None], "epoch must be a whole number of .* got None: pass"),
        (sampler.set_epoch, [True], "epoch must be a whole number of .* got True: pass"),
    ],
)
def test_what_batches_are_not_made_of_is_refused(asked, given, reason):
    with pytest.raises(AttnCostError, match=reason) as error:
        asked(*given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("skip", [1.5, -1, 3])
def test_no_more_is_skipped_than_there_is(skip):
    with pytest.raises(ShapeError, match=f"skip must be from 0 to the 2 .* got {skip}: pass how"):
        sampler.set_epoch(0, skip=skip)
