"""Meter a training loop: FLOPs of each step from its real lengths, and how well they were used.

    exact FLOPs of a step = passes * sum over documents of cost(tokens)

Arithmetic on lengths, not counting: a step of 64 sequences takes well under a millisecond, after
the clock has stopped. Nothing here waits for an accelerator, unless a mask lies on one or logits
are asked for; so on an accelerator a step is timed as the loop sees it, and the sum over many steps
is right where a single one may not be. `waiting_clock` waits, and times each.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from textwrap import fill
from typing import Final, final

import torch
from torch import Tensor

from attncost.batches.rows import Lengths, Rows, rows_of
from attncost.core.errors import ShapeError, StorageError, UnsupportedOption
from attncost.core.notebook import as_html
from attncost.core.units import show
from attncost.cost.interface import SequenceCost
from attncost.cost.over_length import OverLength
from attncost.integrations.logits import LogitWatch
from attncost.integrations.metered import Metered, Totals, passes_in_words, rate_of, table
from attncost.integrations.prices import Prices


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Passes:
    """What a step computes.

    Attributes:
        model: How often what the meter was given; 1 for inference. If left out, 1 for a cost that
            was counted with its backward pass, and 3 for one that was not: training where all
            parameters learn takes a forward pass, and twice that backward.
        again: Forward passes computed once more for the backward pass: 1 if every layer is
            checkpointed. The scores that a fused kernel computes again are left out, as everybody
            does.
    """

    model: int | None = None
    again: float = 0.0

    def __post_init__(self) -> None:
        if (self.model is not None and self.model < 1) or not 0 <= self.again < inf:
            raise ShapeError(
                f"a step has model >= 1 passes and again >= 0, got {self.model} and {self.again}."
            )


_TRAINING: Final = Passes()


def waiting_clock() -> float:
    """Return the time in seconds, once the accelerator has done all that was asked of it."""
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter()


@final
class Step:
    """A step under way, to which batches are added."""

    __slots__ = ("_notes", "_rows")

    def __init__(self) -> None:
        self._rows: list[Rows] = []
        self._notes: dict[str, None] = {}

    def add(
        self,
        lengths: Lengths | None = None,
        *,
        width: int | None = None,
        key_mask: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> None:
        """Add a batch, such as one of several whose gradients are accumulated.

        Args:
            lengths: Tokens of each sequence; or for each row the tokens of its documents.
            width: Slots of a row with padding; those of the longest row if left out.
            key_mask: True or 1 where a token is real, as `attention_mask` of a tokenizer.
            segments: A number for each token; equal numbers in a row are one document. Padding has
                a number below 0, or is hidden by `key_mask`.

        Raises:
            ShapeError: If they do not belong together.
        """
        self._rows.append(rows_of(lengths, width=width, key_mask=key_mask, segments=segments))

    def add_rows(self, rows: Rows, *, note: str | None = None) -> None:
        """Add a batch whose rows are known, and what must be known beside them."""
        self._rows.append(rows)
        if note is not None:
            self._notes[note] = None

    @property
    def rows(self) -> tuple[Rows, ...]:
        """The batches so far."""
        return tuple(self._rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known beside them."""
        return tuple(self._notes)


@final
class Meter:
    """Meter the steps of a training loop.

    >>> from attncost.cost.reading import preset
    >>> meter = Meter(preset("llama-3-8b"), peak=312e12)
    >>> with meter.step([512, 300]):
    ...     pass  # forward, backward, optimizer
    >>> meter.last.tokens, meter.last.slots
    (812, 1024)

    Args:
        cost: What one sequence costs: a `Configuration` or what `over_length` returns.
        peak: FLOP/s of the devices that share the sequences of a step: of one, if each process
            meters its own sequences; of all together, if a step is told those of all.
        passes: What a step computes.
        path: A file that gets one line of JSON for each step, at its end; it only ever grows.
        clock: Returns seconds; `waiting_clock` times each step on an accelerator.

    Raises:
        ShapeError: If the peak is no positive number.
    """

    _repr_html_ = as_html

    __slots__ = ("_again", "_cost", "_model", "_now", "_open", "_path", "_peak", "_price", "_steps")

    def __init__(
        self,
        cost: SequenceCost,
        *,
        peak: float | None = None,
        passes: Passes = _TRAINING,
        path: str | Path | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        forward = cost.forward if isinstance(cost, OverLength) else None
        self._cost, self._peak, self._now = cost, rate_of(peak), clock
        self._model = passes.model or (1 if forward else 3)
        self._price = Prices(cost)
        self._again = passes.again, Prices(forward) if forward else self._price
        self._path = None if path is None else Path(path)
        self._steps: list[Metered] = []
        self._open = False

    @contextmanager
    def step(
        self,
        lengths: Lengths | None = None,
        *,
        width: int | None = None,
        key_mask: Tensor | None = None,
        segments: Tensor | None = None,
        logits: bool = False,
    ) -> Iterator[Step]:
        """Time a step and price it; one that raises leaves no record.

        Args:
            lengths: As `Step.add`, which adds further batches; so do the next three.
            width: See there.
            key_mask: See there.
            segments: See there.
            logits: Look for the largest attention logit. Its scores are computed once more, and
                what `torch.compile` made runs as it was written during this step.

        Raises:
            ShapeError: If no batch was added, a length lies outside what was counted, or the clock
                went back.
            UnsupportedOption: If another step is under way.
            StorageError: If the line cannot be written; the record is kept in memory.
        """
        step = Step()
        if not (lengths is None and key_mask is None and segments is None):
            step.add(lengths, width=width, key_mask=key_mask, segments=segments)
        with ExitStack() as stack:
            stack.enter_context(self._alone())
            watch = stack.enter_context(LogitWatch()) if logits else None
            if logits:
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            start = self._now()
            yield step
            seconds = self._now() - start
        if not 0 <= seconds < inf:
            raise ShapeError(
                f"a step must take 0 or more seconds, got {seconds}: give a clock that never goes "
                "back, such as time.perf_counter."
            )
        self._steps.append(self._metered(step, seconds, watch))
        self._write(self._steps[-1])

    @property
    def cost(self) -> SequenceCost:
        """What one sequence costs."""
        return self._cost

    @property
    def steps(self) -> tuple[Metered, ...]:
        """All steps so far."""
        return tuple(self._steps)

    @property
    def last(self) -> Metered:
        """The last step.

        Raises:
            UnsupportedOption: If there was none.
        """
        return self._known()[-1]

    def totals(self, *, warmup: int = 0) -> Totals:
        """Return medians and sums over all steps but the first `warmup` ones.

        Raises:
            ShapeError: If `warmup` leaves no step, or is below 0.
            UnsupportedOption: If there was no step.
        """
        if not 0 <= warmup < len(self._known()):
            raise ShapeError(f"warmup must be from 0 to {len(self._steps) - 1}, got {warmup}.")
        return Totals.of(self._steps[warmup:])

    def __str__(self) -> str:
        if not self._steps:
            return "no step was metered"
        totals = self.totals()
        peak = "FLOPs" if self._peak is None else f"MFU of {show(self._peak, 'rate')}"
        steps = f"{totals.sum.steps} step{'s' * (totals.sum.steps != 1)}"
        counted = isinstance(self._cost, OverLength) and self._cost.forward is not None
        passes = passes_in_words(self._model, self._again[0], counted=counted)
        head = f"{self._cost.name}: {steps}, {passes}; exact, half, dense: {peak}"
        notes = [f"note: {note}" for note in totals.sum.notes]
        lines = [fill(line, 80, subsequent_indent="  ") for line in (head, *notes)]
        return "\n".join([lines[0], table(self._steps[-8:], totals), *lines[1:]])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._open:
            raise UnsupportedOption(
                "a step is under way, and its time would count twice: end it before the next one; "
                "step.add(...) gives it further batches."
            )
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def _known(self) -> list[Metered]:
        if not self._steps:
            raise UnsupportedOption("no step was metered: train inside `with meter.step(...)`.")
        return self._steps

    def _metered(self, step: Step, seconds: float, watch: LogitWatch | None) -> Metered:
        batches = step.rows
        if not batches:
            raise ShapeError("a step needs lengths=, key_mask=, segments= or step.add(...).")
        exact, half, dense, attention = (self._model * flops for flops in self._price.of(batches))
        times, forward = self._again
        again = forward.of(batches)[:3] if times else (0, 0, 0)
        cost_notes = self._cost.notes if isinstance(self._cost, OverLength) else ()
        return Metered(
            step=len(self._steps) + 1,
            seconds=seconds,
            tokens=sum(rows.tokens for rows in batches),
            slots=sum(rows.slots for rows in batches),
            exact=exact,
            half=half,
            dense=dense,
            attention=attention,
            again=tuple(round(times * flops) for flops in again),
            peak=self._peak,
            largest_logit=None if watch is None else watch.largest,
            notes=(*cost_notes, *step.notes, *(() if watch is None else watch.notes)),
        )

    def _write(self, step: Metered) -> None:
        if self._path is None:
            return
        line = json.dumps(step.json()) + "\n"
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error}.") from error
