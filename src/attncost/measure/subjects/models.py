"""A model of Hugging Face with its weights, as subjects: one for each way it computes attention.

    forward   all tokens, up to the logits if it writes
    training  the same in the mode of training, from its own loss over the next token if it writes,
              and the gradients of all weights; numbers of dropout are drawn anew in the same way
    decode    one token more beside a cache of transformers, which joins keys and values to a new
              tensor each time; that is timed, as it is what `generate` does, and the cache then
              gets its old ones back

A cache is filled once, in parts, so that no more scores are held than those of a part.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor, nn

from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.cost.configuration import Configuration
from attncost.integrations.pretrained import load_model
from attncost.kernels.reference import Reference
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.modes import Decode, Forward, Timed, Training, counted, place, twin
from attncost.measure.subjects.subject import Subject

IMPLEMENTATIONS: Final = ("sdpa", "eager")

_PART: Final = 512
_COUNTED: Final = 16
# Bytes of a number in formulas, unless they are told otherwise.
_FORMULAS: Final = 4


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A model that can be measured.

    Attributes:
        name: What to call it in an error.
        folder: Where its weights are.
        sizes: Its sizes.
    """

    name: str
    folder: Path
    sizes: Configuration

    def subject(self, implementation: str) -> Subject:
        """Return it with one way to compute attention.

        Raises:
            UnknownName: If it is neither `sdpa` nor `eager`.
        """
        if implementation not in IMPLEMENTATIONS:
            raise UnknownName(f"implementation of {self.name}", implementation, IMPLEMENTATIONS)
        prepare = partial(self._prepared, self._loaded(implementation))
        return Subject(
            name=implementation,
            labels={"attention": implementation, "kernel": implementation},
            prepare=prepare,
            predict=partial(self._predicted, implementation, self._back(prepare)),
        )

    @property
    def _writes(self) -> bool:
        return self.sizes.head is not None and self.sizes.head.kind == "logits"

    def _loaded(self, implementation: str) -> Callable[[Case], nn.Module]:
        """Return what gives the model of a type on a device, loaded once."""

        @cache
        def evaluated(dtype: torch.dtype, device: torch.device) -> nn.Module:
            # Parameters that were made in inference mode could never be trained.
            with torch.inference_mode(False), torch.device("cpu"):
                found = load_model(self.folder, writes=self._writes, implementation=implementation)
                return found.to(device, dtype)

        trained = cache(lambda dtype, device: twin(evaluated(dtype, device)))

        def model(case: Case) -> nn.Module:
            make = trained if case.mode == "training" else evaluated
            made: nn.Module = make(case.torch_dtype, torch.device(case.device))
            return made

        return model

    def _prepared(self, loaded: Callable[[Case], nn.Module], case: Case) -> Timed:
        model, more = loaded(case), case.mode == "decode"
        generator = torch.Generator().manual_seed(case.length)
        rows = int(self.sizes.embedding.vocabulary)
        shape = (case.batch, case.length + more)
        with torch.inference_mode(False), torch.device("cpu"):
            tokens = torch.randint(rows, shape, generator=generator).to(case.device)
            if more:
                return Decode(partial(_filled, model, tokens), ready=place(case).type != "meta")
            options = {"input_ids": tokens, "use_cache": False}
            if case.mode == "training":
                return Training(
                    model, draws=True, **options, **({"labels": tokens} if self._writes else {})
                )
            return Forward(model, **options)

    def _predicted(
        self, implementation: str, back: Callable[[Case], tuple[Fraction, Fraction]], case: Case
    ) -> Predicted:
        self._check(case)
        n, sizes, passes = case.length, self.sizes, (Fraction(1), Fraction(1))
        if case.mode == "decode":
            core, whole = sizes.decode_core(n + 1), sizes.decode(n + 1)
            linear, attended = whole.executed - core.executed, core.executed
        else:
            # Both implementations multiply every pair, forbidden ones too.
            linear, attended = sizes.linear(n).executed, sizes.core(n).dense
        if case.mode == "training":
            passes = back(case)
        return Predicted(
            linear=int(passes[0] * case.batch * int(linear)),
            core=int(passes[1] * case.batch * int(attended)),
            bytes=self._moved(implementation, case),
        )

    def _back(
        self, prepare: Callable[[Case], Timed]
    ) -> Callable[[Case], tuple[Fraction, Fraction]]:
        """Return what gives how many times the forward pass both ways take, by counting once.

        Linear layers take three times as much; attention as well, and half of it again where a
        fused kernel computes its scores anew, which depends on type, dropout and device.
        """

        @cache
        def passes(dtype: str, device: str) -> tuple[Fraction, Fraction]:
            n = min(_COUNTED, self.sizes.longest or _COUNTED)
            case = Case(length=n, dtype=dtype, device=device, mode="training")
            call = prepare(case)
            assert isinstance(call, Training)
            both = counted(call, device)
            forward = int(self.sizes.linear(n).executed), int(self.sizes.core(n).dense)
            return Fraction(both.linear, forward[0]), Fraction(both.core, forward[1] or 1)

        return lambda case: passes(case.dtype, case.device)

    def _moved(self, implementation: str, case: Case) -> int:
        """Return the bytes of attention: of each tensor once, or of all scores and weights too.

        Going back, what was moved is moved again, and a gradient of each of it.
        """
        n, itemsize = case.length, case.torch_dtype.itemsize
        core = self.sizes.decode_core(n + 1) if case.mode == "decode" else self.sizes.core(n)
        passes = 3 if case.mode == "training" else 1
        moved = passes * case.batch * int(core.bytes) * itemsize // _FORMULAS
        if implementation == "sdpa" or case.mode == "decode":
            return moved
        calls = (
            (pattern, replace(dims, batch=case.batch, itemsize=itemsize), times)
            for pattern, dims, times in self.sizes.calls(n)
        )
        return passes * sum(
            int(Reference().cost(pattern, dims).bytes * times) for pattern, dims, times in calls
        )

    def _check(self, case: Case) -> None:
        longest, tokens = self.sizes.longest, case.length + (case.mode == "decode")
        if longest is not None and tokens > longest:
            raise ShapeError(
                f"{self.name} has positions for {longest} tokens, got a length of "
                f"{tokens}: measure shorter ones."
            )
        if case.mode != "decode":
            return
        if not self.sizes.caches:
            raise UnsupportedOption(
                f"{self.name} reads ahead, so it writes no token after another and keeps no cache: "
                "measure forward or training."
            )
        if self.sizes.state:
            raise UnsupportedOption(
                f"{self.name} keeps a state that each token overwrites, which cannot be put back "
                "after a sample: measure forward or training."
            )


def _filled(model: Any, tokens: Tensor) -> Callable[[], object]:  # noqa: ANN401 -- theirs
    """Fill a cache with all tokens but the last, and return the step that reads that one."""
    filled: Any = None  # theirs is untyped
    last = tokens[:, -1:]
    for part in tokens[:, :-1].split(_PART, dim=1):
        # Without the logits, of which only the last one's would be needed.
        read = model.base_model(input_ids=part, cache=filled, use_cache=True)
        filled = read.cache
    layers = filled.layers
    before = [dict(vars(layer)) for layer in layers]

    def step() -> object:
        found = model(input_ids=last, cache=filled, use_cache=True)
        for layer, state in zip(layers, before, strict=True):
            vars(layer).update(state)
        return found

    return step
