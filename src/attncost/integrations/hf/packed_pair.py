"""Whether a model keeps packed texts apart, and how its attention takes them.

Positions that start anew are not enough: most models then let texts read each other, and say
nothing. So two texts are packed, and each must be what it is alone, however the other is edited.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.batches.machine import Documents
from attncost.integrations.hf.causes import UNFIT, implementations
from attncost.integrations.hf.configurations import implementing
from attncost.integrations.hf.register import EXACT, ours, register
from attncost.integrations.hf.tiny_texts import Probe
from attncost.integrations.hf.trial import Model
from attncost.patterns.interface import Pattern


@final
@dataclass(frozen=True, slots=True, eq=False)
class PackedPair:
    """A model on its two texts, packed.

    Attributes:
        probe: The model and the texts.
        first: Position of the first token of a text; None if the model takes none.
    """

    probe: Probe
    first: int | None

    def fault(self) -> str | None:
        """Say what is wrong with packed texts; None if each is what it is alone."""
        (first, second), (other, another) = self.probe.texts, self.probe.others
        alone = [self.probe.says(text) for text in self.probe.texts]
        try:
            both = self._says(first, second)
        except TypeError:  # forward() has no such arguments
            return "cannot be told where packed texts end"
        except (ValueError, RuntimeError) as error:  # it was told, and wants none of it
            return f"cannot read packed texts ({' '.join(str(error).split())})"
        size = max(float(one.abs().max()) for one in alone)
        precision = torch.finfo(both[0].dtype).eps
        moved = max(
            _apart(self._says(other, second)[1], both[1]),
            _apart(self._says(first, another)[0], both[0]),
        )
        if not (moved == 0 or (moved <= 64 * precision * size and self.probe.mixes_rows())):
            return "lets packed texts read each other"
        if not max(map(_apart, both, alone)) <= max(1e-4, 8 * precision) * size:  # NaN is no match
            return "says something else of a packed text than of the text alone"
        return None

    def mixes(self, token: int) -> bool:
        """Say whether a text moves when this token stands in the other."""
        (first, second), _ = self.probe.texts, self.probe.others
        marked = first.index_fill(0, first.new_tensor([1]), token)
        moved = _apart(self._says(marked, second)[1], self._says(first, second)[1])
        return moved > 0 and not self.probe.mixes_rows()

    def remedy(self) -> str:
        """Say what to do about a fault; what is said to help was tried."""
        model = self.probe.model
        if all(ours(name) is None for name in implementations(model)):
            with suppress(*UNFIT), implementing(model, register(EXACT)):
                if self.fault() is None:
                    return f"call model.set_attn_implementation(ac.hf.register({EXACT!r})) before."
        return "use padded batches, as ac.hf.padding_collator makes them."

    def _says(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        said = self.probe.says(torch.cat((first, second)), **self._given(first, second))
        return said[: len(first)], said[len(first) :]

    def _given(self, first: Tensor, second: Tensor) -> dict[str, Any]:
        counts = torch.cat(
            [torch.arange(len(text), device=text.device) for text in (first, second)]
        )
        places = {} if self.first is None else {"position_ids": counts[None] + self.first}
        sizes = torch.tensor([len(first), len(second)], device=first.device)
        return {**self.probe.always, **bounds(sizes), **places}


def documents_of(model: Model) -> Documents:
    """Say how the attention of a model takes packed texts, if it keeps them apart at all.

    It goes by the names of its attention functions: ours and those called flash compute each text
    by itself; all others are taken to compute every pair of a row and to hide most of them.

    >>> documents_of(model)  # doctest: +SKIP
    'masked'
    """
    names = implementations(model)
    alone = all(isinstance(ours(name), Pattern) or "flash" in name for name in names)
    return "apart" if names and alone else "masked"


def bounds(lengths: Int[Tensor, "s"]) -> dict[str, Any]:
    """Return the arguments that tell attention where texts end; empty ones do not count."""
    real = lengths[lengths > 0]
    ends = torch.nn.functional.pad(real.cumsum(0), (1, 0)).to(torch.int32)
    longest = int(real.max())
    return {
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
    }


def _apart(a: Float[Tensor, "n d"], b: Float[Tensor, "n d"]) -> float:
    return float((a - b).abs().max())
