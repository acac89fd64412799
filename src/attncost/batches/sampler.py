"""A sampler of batches for PyTorch's `DataLoader`, on one rank or many.

    way = Packed(2048)
    sampler = BatchSampler(lengths, way)
    loader = DataLoader(texts, batch_sampler=sampler, collate_fn=PackingCollator(way=way))
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader: ...

Each text is given once in an epoch, over all ranks, and each rank has the same number of batches.
`torch.utils.data.DistributedSampler` makes its ranks even by giving some texts twice, or by leaving
some out. It has as many batches in every epoch. An epoch of a million texts takes seconds to put
together, on each rank by itself.

`accelerator.prepare(loader)` would share the batches of a rank out once more, and leave texts out.
On several ranks it is refused: go through the loader as it is, or take `BatchedDataset`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from torch import distributed
from torch.utils.data import Sampler

from attncost.batches.epoch import check_enough, check_epoch, steps
from attncost.batches.interface import Batching, check_dials, check_given
from attncost.batches.lengths import Numbers, check_lengths, whole
from attncost.core.errors import ShapeError


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Which part of an epoch a process has.

    Attributes:
        rank: Its number, from 0.
        ranks: How many processes share the texts.

    Raises:
        ShapeError: If there is no such rank.
    """

    rank: int = 0
    ranks: int = 1

    def __post_init__(self) -> None:
        check_dials(ranks=self.ranks)
        if self.rank not in range(self.ranks):
            raise ShapeError(
                f"rank must be from 0 to {self.ranks - 1} of {self.ranks} ranks, got {self.rank!r}."
            )

    @classmethod
    def current(cls) -> "Share":
        """Return that of this process in `torch.distributed`; all of it where that is not used."""
        if distributed.is_available() and distributed.is_initialized():
            return cls(rank=distributed.get_rank(), ranks=distributed.get_world_size())
        return cls()


@final
class BatchSampler(Sampler[list[int]]):
    """Yields the numbers of the texts of each batch, row by row.

    The same lengths, way, seed and ranks give the same batches in each process and at any time.

    Args:
        lengths: Tokens of each text.
        way: How texts are put into batches.
        shuffle: Whether to draw the order of the texts, of the steps, and of the ranks in them;
            else they stay as they come, and ranks wait longer for each other.
        seed: What the order is drawn from, together with the epoch.
        share: Which part this process has; by default what `torch.distributed` says by the time
            that an epoch is first looked at.

    Raises:
        ShapeError: If the lengths are no lengths, the way is none, or there are fewer texts than
            ranks.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        way: Batching,
        *,
        shuffle: bool = True,
        seed: int = 0,
        share: Share | None = None,
    ) -> None:
        check_given(way)
        self._lengths = whole(check_lengths(lengths))
        self._way = way
        self._seed = seed if shuffle else None
        self._share = share
        self._epoch = self._skip = 0
        self._known: tuple[int, Share, list[Numbers]] | None = None
        check_enough(len(self._lengths), ranks=(share or Share.current()).ranks)

    @property
    def batch_size(self) -> None:
        """None, as batches differ; what `accelerate` asks for before it shares batches out.

        Raises:
            ShapeError: If there are several ranks: a loader that it prepares would share this
                one's part once more, and leave out the rest without a word.
        """
        ranks = (self._share or Share.current()).ranks
        if ranks > 1:
            raise ShapeError(
                f"batches must be shared out once, got a sampler that shares them among {ranks} "
                "ranks: do not prepare its loader, or take BatchedDataset."
            )

    def set_epoch(self, epoch: int, *, skip: int = 0) -> None:
        """Begin an epoch, or go on in the middle of one.

        How many batches a loop has got is known to the loop alone: a `DataLoader` with workers
        fetches some in advance.

        Args:
            epoch: Its number, which changes the order.
            skip: Batches of it that this rank has got already, before a restart.

        Raises:
            ShapeError: If it has not so many, or a number is no whole one.
        """
        check_epoch(epoch)
        self._epoch, self._skip = epoch, 0
        if skip not in range(len(self) + 1 if skip else 1):
            raise ShapeError(
                f"skip must be from 0 to the {len(self)} batches of epoch {epoch}, got {skip!r}: "
                "pass how many the loop has got."
            )
        self._skip = skip

    def __len__(self) -> int:
        """Return how many batches this epoch still gives, as many on all ranks."""
        return len(self._batches()) - self._skip

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the texts of each batch of this rank."""
        return (texts.tolist() for texts in self._batches()[self._skip :])

    def _batches(self) -> list[Numbers]:
        share = self._share or Share.current()
        if not self._known or self._known[:2] != (self._epoch, share):
            self._known = (self._epoch, share, self._made(share))
        return self._known[2]

    def _made(self, share: Share) -> list[Numbers]:
        found = steps(
            self._lengths, self._way, seed=self._seed, epoch=self._epoch, ranks=share.ranks
        )
        return [whole(step[share.rank].texts) for step in found]
