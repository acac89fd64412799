"""How much memory batches take, and how many texts or tokens fit into one.

padded    the largest batch: so many rows, each as wide as the widest
packed    one row, of whose texts attention keeps no weights
masked    one row, and a mask of one byte for each pair of its slots; none for a text that is alone
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from attncost.batches.interface import Batching, check_dials
from attncost.batches.machine import Documents
from attncost.batches.priced import Priced
from attncost.core.units import show
from attncost.cost.configuration import Configuration
from attncost.cost.planning.fit import bisected, largest_batch
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.situation import Situation

# Says why a way is out of the question; None if it is not.
Limit: TypeAlias = Callable[[Priced], str | None]

# Beyond any machine; what still fits there has no limit.
_GREATEST: Final = 1 << 40


def memory_of(priced: Priced, model: Configuration, how: Situation) -> int:
    """Return the bytes that the largest batch takes, with the model itself.

    Args:
        priced: A way on given texts.
        model: The sizes.
        how: How it is run.
    """
    packed = priced.way.packs and not priced.masked
    mask = priced.widest_mask
    most = max(_bytes(model, how, shape=shape, apart=packed) for shape in priced.shapes)
    return max(most, _bytes(model, how, shape=(1, mask)) + mask**2) if mask else most


def largest(
    way: Batching,
    model: Configuration,
    how: Situation,
    *,
    memory: int,
    longest: int,
    documents: Documents = "apart",
) -> int | None:
    """Return how large a batch may be: tokens of a packed row, or else rows as long as a text.

    Args:
        way: The way; its dials do not matter.
        model: The sizes.
        how: How it is run.
        memory: Bytes of one device.
        longest: Tokens of the longest text.
        documents: How attention takes packed texts.

    Returns:
        The greatest number that fits, 0 if none does; None if memory sets no limit.
    """
    if not way.packs:
        return largest_batch(model, how, memory=memory, length=longest).greatest

    def fits(tokens: int) -> bool:
        apart = documents == "apart"
        mask = 0 if apart else tokens**2
        return _bytes(model, how, shape=(1, tokens), apart=apart) + mask <= memory

    found = bisected(fits, top=_GREATEST)
    return None if found == _GREATEST else found


def in_memory(model: Configuration, how: Situation, *, memory: int) -> Limit:
    """Return a limit for `choose_batching`: the largest batch must fit into a memory."""

    def refusal(priced: Priced) -> str | None:
        needed = memory_of(priced, model, how)
        if needed <= memory:
            return None
        return f"takes {show(needed, 'bytes')} of {show(memory, 'bytes')}"

    return refusal


def at_most(slots: int) -> Limit:
    """Return a limit for `choose_batching`: no batch may have more slots than that.

    Raises:
        ShapeError: If that is no whole number above 0.
    """
    check_dials(slots=slots)

    def refusal(priced: Priced) -> str | None:
        if priced.most_slots <= slots:
            return None
        return f"has a batch of {priced.most_slots:,} slots, and {slots:,} are allowed"

    return refusal


def _bytes(
    model: Configuration, how: Situation, *, shape: tuple[int, int], apart: bool = False
) -> int:
    rows, width = shape
    if apart:
        how = replace(how, kernel="fused")
    # Empty texts alone make a row without a slot, of which a device holds no less than of one.
    return total(needs(model, how, length=max(width, 1), batch=rows))
