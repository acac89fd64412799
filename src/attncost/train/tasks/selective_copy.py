"""Selective copying: symbols stand between blanks, and are to be written in order at the end.

    _ _ c _ a _ _ _ b _  ? ? ?      at each mark, say the next symbol: c a b; chance 1 / symbols

How far apart they are differs from sequence to sequence, so what is copied is found by what it is
and not by where it is: a convolution or a decay of fixed rates cannot do it. Attention has to count
what came before, which is the harder the more `tokens` there are.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch

from attncost.core.errors import ShapeError
from attncost.train.tasks.interface import (
    IGNORED,
    Batch,
    Metric,
    Task,
    Usual,
    chances,
    chances_held_out,
    check_dials,
)

_BLANK, _MARK, _FIRST = 0, 1, 2


@final
@dataclass(frozen=True, slots=True)
class SelectiveCopy(Task):
    """Write what was not blank.

    Tokens are a blank, the mark at which to write, then `symbols` symbols.

    Attributes:
        length: Tokens of a sequence, the marks included.
        tokens: Tokens to copy, and so marks.
        symbols: Different symbols that there are; one may come twice.

    Raises:
        ShapeError: If the length has no room to tell and to write them.
    """

    length: int = 64
    tokens: int = 8
    symbols: int = 16

    source: ClassVar[str] = "Gu & Dao 2023, arXiv:2312.00752, after Jing et al. 2019"
    metric: ClassVar[Metric] = "accuracy"
    causal: ClassVar[bool] = True
    pooled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_dials(tokens=self.tokens, symbols=self.symbols)
        if self.length < 2 * self.tokens:
            raise ShapeError(
                f"{self.tokens} tokens to read and to write take {2 * self.tokens}, got length "
                f"{self.length}."
            )

    @classmethod
    def examples(cls) -> tuple["SelectiveCopy", ...]:
        """Return the usual one, one without a blank, and the smallest there is."""
        return cls(), cls(12, tokens=6, symbols=3), cls(2, tokens=1, symbols=1)

    @property
    def vocabulary(self) -> int:
        """Count the blank, the mark and the symbols."""
        return _FIRST + self.symbols

    @property
    def classes(self) -> int:
        """Count the symbols."""
        return self.symbols

    @property
    def chance(self) -> float:
        """Guess any symbol."""
        return 1 / self.symbols

    @property
    def usual(self) -> Usual:
        """Suffice to count to eight."""
        return Usual(steps=300, batch=64, learning_rate=1e-2)

    def drawn(self, size: int, *, seed: int, step: int) -> Batch:
        """Draw symbols and places."""
        return self._sequences(size, chances(seed, step))

    def held_out(self, size: int) -> Batch:
        """Draw others."""
        return self._sequences(size, chances_held_out())

    def _sequences(self, size: int, chances: np.random.Generator) -> Batch:
        before = self.length - self.tokens
        symbols = chances.integers(self.symbols, size=(size, self.tokens))
        rows = np.broadcast_to(np.arange(before), (size, before))
        places = np.sort(chances.permuted(rows, axis=1)[:, : self.tokens], axis=1)
        tokens = np.full((size, self.length), _BLANK)
        labels = np.full((size, self.length), IGNORED)
        np.put_along_axis(tokens, places, _FIRST + symbols, axis=1)
        tokens[:, before:] = _MARK
        labels[:, before:] = symbols
        return Batch(torch.from_numpy(tokens), torch.from_numpy(labels))
