"""What a way to put texts into batches is.

A way is told how long each text is and in which order the texts come, and says which of them share
a batch. It draws nothing by itself: who wants chance shuffles the order before, and the batches
after it. So a way has only numbers in it, and the same texts make the same batches everywhere.

Every text is in exactly one batch. An empty text has a place like any other, and takes no slot. A
text that is longer than a budget of tokens is alone in its batch: nothing is cut or left out here.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from attncost.batches.batch import Batch
from attncost.core.errors import ShapeError, UnsupportedOption


class Batching(ABC):
    """A way to put texts into batches; a frozen dataclass of whole numbers.

    Attributes:
        source: Who described it.
        packs: Whether a row holds several texts, which attention must then keep apart.
        sorts: Whether texts of like length share a batch, so that chance decides on less.
    """

    __slots__ = ()

    source: ClassVar[str]
    packs: ClassVar[bool] = False
    sorts: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple["Batching", ...]:
        """Return instances for the contract tests, edge cases included."""

    @classmethod
    @abstractmethod
    def dials(cls, lengths: Sequence[int]) -> tuple["Batching", ...]:
        """Return the settings that are worth trying on texts of such lengths.

        Args:
            lengths: Tokens of each text; one or more, and one at least is not empty.
        """

    @abstractmethod
    def batches(self, lengths: Sequence[int], order: Sequence[int]) -> tuple[Batch, ...]:
        """Put texts into batches.

        Args:
            lengths: Tokens of each text of the whole set, at least 0.
            order: Numbers of the texts to be batched, in the order in which they come.

        Returns:
            Batches, none without a text, that hold each text of `order` once.
        """

    @abstractmethod
    def row_slots(self, tokens: int) -> int:
        """Return how many slots a row has: what collators make and what prices go by.

        Args:
            tokens: Of the longest text of a padded batch, or of all texts of a packed row.

        Returns:
            At least as many, and none where there is no token.
        """


def check_given(way: object) -> None:
    """Refuse what is no way to batch.

    Raises:
        ShapeError: If it is none, such as a class that was not called.
    """
    if not isinstance(way, Batching):
        raise ShapeError(f"way must be a way to batch, such as Stepped(), got {way!r}.")


def check_way(way: Batching | None, *, packs: bool) -> None:
    """Refuse a way whose rows another collator makes.

    Raises:
        ShapeError: If it is none.
        UnsupportedOption: If it packs and should not, or the other way round.
    """
    if way is None:
        return
    check_given(way)
    if way.packs != packs:
        raise UnsupportedOption(
            f"a packing collator takes ways that pack, such as Packed(), got {way}: use a padding "
            "collator."
            if packs
            else f"a padding collator takes ways that give each text a row, got {way}: use a "
            "packing collator."
        )


def check_dials(**dials: object) -> None:
    """Refuse settings that are no whole numbers above 0.

    Raises:
        ShapeError: If one is not.
    """
    for name, value in dials.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ShapeError(f"{name} must be a whole number of at least 1, got {value!r}.")
