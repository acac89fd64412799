"""A dataset whose items are batches, for loops that bring their own sampler.

    texts = BatchedDataset(tokenized, Packed(2048))
    Trainer(model, TrainingArguments(..., per_device_train_batch_size=1,
            train_sampling_strategy="sequential"), train_dataset=texts, data_collator=...)

Item i is the list of the examples of batch i, so a loader of batches of 1 hands its collator a list
with one list in it. The loop should take the items in their order: they are shuffled, and the items
of a step cost about the same on all ranks. A random sampler of `accelerate` on several ranks would
also keep `set_epoch` from getting here.

A loop asks once how many items there are: as many in every epoch, see `attncost.batches.epoch`.
"""

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Protocol, SupportsIndex, TypeAlias, final, runtime_checkable

import torch
from torch.utils.data import Dataset, get_worker_info

from attncost.batches.epoch import check_enough, check_epoch, steps
from attncost.batches.interface import Batching, check_given
from attncost.batches.lengths import Numbers, check_lengths, whole
from attncost.batches.sampler import Share
from attncost.core.errors import ShapeError

Example: TypeAlias = Any  # whatever the dataset holds


@runtime_checkable
class Examples(Protocol):
    """A dataset that has a length and numbers its examples."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Example: ...


@final
class BatchedDataset(Dataset[list[Example]]):
    """The batches of one epoch, as many as the ranks of `torch.distributed` divide.

    Args:
        dataset: The examples of the texts.
        way: How texts are put into batches.
        lengths: Tokens of each; by default each example is read once, and its `input_ids` are
            counted, or the example itself if it has no names.
        shuffle: Whether to draw the order of the texts and of the steps.
        seed: What the order is drawn from, together with the epoch.

    Raises:
        ShapeError: If the lengths are not those of the examples, the examples have no numbers, the
            way is none, or there are fewer texts than ranks.
    """

    def __init__(
        self,
        dataset: Examples,
        way: Batching,
        *,
        lengths: Sequence[int] | None = None,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        check_given(way)
        _check_numbered(dataset)
        self._dataset = dataset
        self._lengths = whole(check_lengths(_counted(dataset) if lengths is None else lengths))
        if len(self._lengths) != len(dataset):
            raise ShapeError(
                f"lengths must be those of the {len(dataset)} examples, got {len(self._lengths)}."
            )
        self._way = way
        self._seed = seed if shuffle else None
        # Epoch and ranks. Worker processes that outlive an epoch see no other change of ours.
        self._now = torch.zeros(2, dtype=torch.long).share_memory_()
        self._known: tuple[tuple[int, int], list[Numbers]] | None = None
        self._look()

    def set_epoch(self, epoch: int) -> None:
        """Put the texts into other batches; `accelerate` calls this before each epoch.

        Args:
            epoch: Its number, which changes the order.

        Raises:
            ShapeError: If it is none.
        """
        check_epoch(epoch)
        self._now[0] = epoch

    def __len__(self) -> int:
        """Return how many batches there are, in this epoch as in any other."""
        return len(self._batches())

    def __getitem__(self, number: SupportsIndex) -> list[Example]:
        """Return the examples of a batch, row by row.

        Raises:
            ShapeError: If that is no number.
        """
        try:
            at = index(number)
        except TypeError as error:
            raise ShapeError(
                f"a batch is taken by its number, got {number!r}: ask for one by one."
            ) from error
        texts = self._batches()[at].tolist()
        if hasattr(self._dataset, "__getitems__"):  # one read for all, as of a table on a disk
            return list(self._dataset.__getitems__(texts))
        return [self._dataset[text] for text in texts]

    def _look(self) -> None:
        """See how many ranks there are; workers are none, and are told."""
        if get_worker_info() is None:
            ranks = Share.current().ranks
            check_enough(len(self._lengths), ranks=ranks)
            self._now[1] = ranks

    def _batches(self) -> list[Numbers]:
        self._look()
        epoch, ranks = self._now.tolist()
        if not self._known or self._known[0] != (epoch, ranks):
            self._known = ((epoch, ranks), self._made(epoch, ranks))
        return self._known[1]

    def _made(self, epoch: int, ranks: int) -> list[Numbers]:
        found = steps(self._lengths, self._way, seed=self._seed, epoch=epoch, ranks=ranks)
        return [whole(batch.texts) for step in found for batch in step]


def _check_numbered(dataset: object) -> None:
    """Refuse columns of a table, and what is gone once it was read."""
    numbered = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
    if numbered and not (isinstance(dataset, Mapping) and "input_ids" in dataset):
        return
    got = "columns" if numbered else "what has no length or no numbers"
    raise ShapeError(
        f"dataset must be a list of examples, or another with numbers, got {got} "
        f"({type(dataset).__name__}): pass [{{'input_ids': ids}} for ids in texts]."
    )


def _counted(dataset: Examples) -> list[int]:
    return [_tokens(dataset[number], number) for number in range(len(dataset))]


def _tokens(example: Example, number: int) -> int:
    named = isinstance(example, Mapping)
    if named and "input_ids" not in example:
        got = ", ".join(map(str, example)) or "nothing"
        raise ShapeError(
            f"example {number} must have input_ids, got {got}: turn the texts into tokens before, "
            "or pass lengths=."
        )
    ids = example["input_ids"] if named else example
    flat = ids.ndim == 1 if hasattr(ids, "ndim") else isinstance(ids, Sequence)
    if not flat or isinstance(ids, str) or (len(ids) and _several(ids[0])):
        got = str(tuple(ids.shape)) if hasattr(ids, "shape") else type(ids).__name__
        raise ShapeError(
            f"input_ids of example {number} must be a list or an axis of tokens, got {got}: leave "
            "out return_tensors=, or pass lengths=."
        )
    return len(ids)


def _several(token: object) -> bool:
    """Say whether what should be a token holds tokens, as an item of a `TensorDataset` does."""
    return isinstance(token, Sequence) or getattr(token, "ndim", 0) > 0
