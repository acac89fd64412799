"""One epoch: every text once, in steps that hold a batch for each rank.

    texts, shuffled → batches → a multiple of the ranks → steps of like cost, shuffled

All ranks wait for the slowest batch of a step. So batches are sorted by cost and dealt in order: no
other dealing of the same batches waits less. If the ranks do not divide the batches, the dearest
are split; no text is repeated or dropped.

The time of all steps, over that of ranks which never wait, for 8 ranks and 4,000 texts (log-normal,
median 400 tokens, up to 4,096), where a batch takes as long as it costs:

                 padded (8)   bucketed (8)   budgeted (4096)   packed (4096)
    by chance       1.96          3.59             1.46             1.30
    alike           1.01          1.04             1.01             1.01

There are as many steps in every epoch, so that a schedule can be set before. An order that needs
more than the first epoch's is drawn again; if eight are too long, that epoch's batches come again.

The price of steps of like cost: some hold only long texts, others only short ones. Who weighs
tokens alike, wherever they lie, trains on the same mean.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush, heapreplace
from itertools import accumulate, pairwise
from random import Random
from typing import Final, TypeAlias

from attncost.batches.batch import Batch
from attncost.batches.interface import Batching
from attncost.batches.machine import PAIRS_PER_SLOT, attended
from attncost.core.counts import rounded_up
from attncost.core.errors import ShapeError

Step: TypeAlias = tuple[Batch, ...]

_DRAWS: Final = 8


def steps(
    lengths: Sequence[int], way: Batching, *, seed: int | None, epoch: int, ranks: int
) -> list[Step]:
    """Return the steps of an epoch: the same in each process and at any time.

    Args:
        lengths: Tokens of each text.
        way: How texts are put into batches.
        seed: What the order of the texts, of the steps, and of the ranks in them is drawn from,
            together with the epoch; without one all stay as they come.
        epoch: Its number.
        ranks: How many processes share the texts.

    Raises:
        ShapeError: If there are fewer texts than ranks.
    """
    check_enough(len(lengths), ranks=ranks)
    chance = _chance(seed, 0)
    batches = _drawn(lengths, way, chance)
    count = _even(len(batches), texts=len(lengths), ranks=ranks)
    if epoch and seed is not None:

        def fits(batches: Sequence[Batch]) -> bool:
            return _even(len(batches), texts=len(lengths), ranks=ranks) <= count

        chance = _chance(seed, epoch)
        draws = (_drawn(lengths, way, chance) for _ in range(_DRAWS))
        batches = next(filter(fits, draws), batches)
    return _dealt(_divided(batches, lengths, count), lengths, ranks=ranks, chance=chance)


def check_enough(texts: int, *, ranks: int) -> None:
    """Refuse fewer texts than ranks.

    Raises:
        ShapeError: If there are.
    """
    if texts < ranks:
        fewer = f", or start at most {texts} ranks" if texts else ""
        raise ShapeError(
            f"each rank needs a text or more, got {texts} texts for {ranks} ranks: give at least "
            f"{ranks} texts{fewer}."
        )


def check_epoch(epoch: object) -> None:
    """Refuse what is no number of an epoch.

    Raises:
        ShapeError: If it is none.
    """
    if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
        raise ShapeError(
            f"epoch must be a whole number of at least 0, got {epoch!r}: pass that of the loop."
        )


def _chance(seed: int | None, epoch: int) -> Random | None:
    return None if seed is None else Random(f"{seed} {epoch}")


def _drawn(lengths: Sequence[int], way: Batching, chance: Random | None) -> tuple[Batch, ...]:
    """Shuffle all texts, and put them into batches; without `chance` as they come."""
    order = list(range(len(lengths)))
    if chance:
        chance.shuffle(order)
    return way.batches(lengths, order)


def _even(batches: int, *, texts: int, ranks: int) -> int:
    """Return how many batches there are once the ranks divide them.

    >>> _even(5, texts=9, ranks=2), _even(5, texts=5, ranks=2)
    (6, 4)

    Args:
        batches: How many there are before.
        texts: How many there are, which no number of batches exceeds; no fewer than ranks.
        ranks: How many processes share them.
    """
    more = int(rounded_up(batches, ranks))
    return more if more <= texts else batches // ranks * ranks


def _divided(batches: Sequence[Batch], lengths: Sequence[int], count: int) -> list[Batch]:
    """Split the dearest batches until there are so many, in the order in which they came.

    Where there were more, which happens where a batch is hardly more than one text, the cheapest
    neighbours are joined.

    Args:
        batches: What a way made.
        lengths: Tokens of each text of the whole set.
        count: No more than there are texts in the batches.
    """
    found = list(batches)
    while len(found) > count:
        found = _joined(found, lengths, len(found) - count)
    if len(found) == count:
        return found
    # What a split leaves has longer keys, which keep its place.
    heap: list[tuple[int, tuple[int, ...], Batch]] = [
        (-_cost(batch, lengths), (i,), batch) for i, batch in enumerate(found)
    ]
    heapify(heap)
    alone: list[tuple[int, tuple[int, ...], Batch]] = []
    while len(alone) + len(heap) < count:
        _, key, batch = heap[0]
        if len(batch.texts) == 1:
            alone.append(heappop(heap))
            continue
        first, second = _halves(batch, lengths)
        heapreplace(heap, (-_cost(first, lengths), (*key, 0), first))
        heappush(heap, (-_cost(second, lengths), (*key, 1), second))
    return [batch for _, _, batch in sorted([*alone, *heap], key=lambda one: one[1])]


def _dealt(
    batches: Sequence[Batch], lengths: Sequence[int], *, ranks: int, chance: Random | None
) -> list[Step]:
    """Return steps of a batch for each rank, shuffled; without `chance` in the order given.

    Args:
        batches: A multiple of the ranks.
        lengths: Tokens of each text of the whole set.
        ranks: How many processes share them.
        chance: What shuffles them.
    """
    found = list(batches)
    if chance:
        chance.shuffle(found)
        if ranks > 1:
            found.sort(key=lambda batch: _cost(batch, lengths))
    dealt = [tuple(found[i : i + ranks]) for i in range(0, len(found), ranks)]
    if chance and ranks > 1:
        chance.shuffle(dealt)
        # Else the last rank had the dearest batch of every step.
        dealt = [tuple(chance.sample(step, ranks)) for step in dealt]
    return dealt


def _cost(batch: Batch, lengths: Sequence[int]) -> int:
    """Return about what a batch costs, in pairs of a layer."""
    rows = batch.layout(lengths)
    return rows.slots * PAIRS_PER_SLOT + sum(length**2 for length in attended(rows))


def _halves(batch: Batch, lengths: Sequence[int]) -> tuple[Batch, Batch]:
    """Split a batch between rows; a single row between texts, near its middle.

    >>> _halves(Batch(((0, 1, 2),)), [1, 1, 5])
    (Batch(rows=((0, 1),), multiple=1), Batch(rows=((2,),), multiple=1))

    Args:
        batch: Two texts or more.
        lengths: Tokens of each text of the whole set.
    """
    rows = batch.rows
    if len(rows) > 1:
        at = len(rows) // 2
        return replace(batch, rows=rows[:at]), replace(batch, rows=rows[at:])
    (row,) = rows
    before = [0, *accumulate(lengths[text] for text in row)]
    at = min(range(1, len(row)), key=lambda cut: max(before[cut], before[-1] - before[cut]))
    return replace(batch, rows=(row[:at],)), replace(batch, rows=(row[at:],))


def _joined(batches: Sequence[Batch], lengths: Sequence[int], most: int) -> list[Batch]:
    """Join up to so many pairs of neighbours, the cheapest first, none of them twice.

    What is joined may be beyond the budget of a way: up to twice it, or more if that was not
    enough. That happens only where batches are hardly more than texts, so that there are too few of
    those for a batch more on each rank.
    """
    pairs = {
        # Of two widths the greater holds the rows of both.
        i: Batch(one.rows + other.rows, max(one.multiple, other.multiple))
        for i, (one, other) in enumerate(pairwise(batches))
    }
    taken: dict[int, Batch] = {}
    for i in sorted(pairs, key=lambda i: _cost(pairs[i], lengths)):
        if len(taken) < most and not {i - 1, i + 1} & taken.keys():
            taken[i] = pairs[i]
    return [taken.get(i, batch) for i, batch in enumerate(batches) if i - 1 not in taken]
