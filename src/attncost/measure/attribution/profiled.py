"""Where the time of a call went."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from attncost.core.notebook import as_html
from attncost.measure.attribution.kinds import ATTENTION, KINDS
from attncost.measure.attribution.overhead import Overhead
from attncost.measure.attribution.places import Place
from attncost.measure.attribution.ranges import Ranges
from attncost.measure.attribution.spans import Span
from attncost.measure.attribution.tally import Sum, Tally
from attncost.measure.attribution.trace import write_trace

_NANO: Final = 1e-9


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorTime:
    """An operator in one call.

    Attributes:
        name: Such as `aten::addmm`.
        shapes: Of its inputs, if they were asked for.
        calls: How often it ran.
        self_seconds: Its time without the operators that it called.
        total_seconds: With them.
        share: Of the total, its time without them.
    """

    name: str
    shapes: str
    calls: float
    self_seconds: float
    total_seconds: float
    share: float


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ModuleTime:
    """A module in one call.

    Attributes:
        name: As in `named_modules`; "" is the whole.
        kind: Its class.
        calls: How often it was called.
        self_seconds: Its time without the modules that it called.
        total_seconds: With them.
        backward_seconds: What of the first lies in the backward pass.
        share: Of the total, its time without them.
        also: Its further names, if it has several.
    """

    name: str
    kind: str
    calls: float
    self_seconds: float
    total_seconds: float
    backward_seconds: float
    share: float
    also: tuple[str, ...] = ()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class PartTime:
    """A part of the total.

    Attributes:
        name: A kind of work, or why time belongs to no module.
        seconds: In one call.
        share: Of the total.
    """

    name: str
    seconds: float
    share: float


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """Where the time of a call went, forward or forward and backward.

    Seconds are those of one call under the profiler, on the wall or, on a GPU, of its kernels. They
    hold what the profiler costs: trust shares, and take seconds from a call that runs alone. What
    is small and called often looks larger than it is.

    Attributes:
        name: What was called.
        device: Where it ran.
        threads: Of the CPU that PyTorch may use.
        training: Whether the backward pass was run, too.
        rounds: How many calls were added up, the quickest quarter of those recorded.
        seconds: The total; several threads at once count each.
        by_operator: Every operator, dearest first.
        by_module: Every module that ran, in order.
        by_kind: Attention, linear layers and so on, and what lies between operators.
        elsewhere: What belongs to no module, and why.
        overhead: What the profiler itself costs, measured.
        notes: What must be known beside it.
    """

    _repr_html_ = as_html

    name: str
    device: str
    threads: int
    training: bool
    rounds: int
    seconds: float
    by_operator: tuple[OperatorTime, ...]
    by_module: tuple[ModuleTime, ...]
    by_kind: tuple[PartTime, ...]
    elsewhere: tuple[PartTime, ...]
    overhead: Overhead
    notes: tuple[str, ...] = ()
    _spans: tuple[tuple[Span, Place], ...] = field(default=(), repr=False)

    @property
    def attention(self) -> float:
        """The share of operators of attention; by hand it is among batched products and softmax."""
        return next((part.share for part in self.by_kind if part.name == ATTENTION), 0.0)

    def chrome_trace(self, path: str | Path) -> None:
        """Write one call for Perfetto or `chrome://tracing`, with modules as ranges.

        Args:
            path: A file; one that exists is replaced.

        Raises:
            StorageError: If it cannot be written.
        """
        kinds = {one.name: one.kind for one in self.by_module}
        write_trace(Path(path), self._spans, kinds)


def profiled(
    tally: Tally, ranges: Ranges, spent: Overhead, *, training: bool, run: Mapping[str, object]
) -> Profile:
    """Return sums as the profile of one call.

    Args:
        tally: The sums.
        ranges: The modules.
        spent: What the profiler costs.
        training: Whether the backward pass was run, too.
        run: The device, threads and notes.
    """
    each = _Each(tally)
    operators = [each.operator(*key, found) for key, found in tally.operators.items()]
    modules = tally.modules
    return Profile(
        name=ranges.modules[""],
        training=training,
        rounds=tally.rounds,
        seconds=each.seconds(tally.total),
        by_operator=tuple(sorted(operators, key=lambda one: -one.self_seconds)),
        by_module=tuple(
            each.module(name, kind, modules[name], ranges.also.get(name, ()))
            for name, kind in ranges.modules.items()
            if name in modules
        ),
        by_kind=tuple(each.part(k, tally.kinds[k]) for k in KINDS if tally.kinds.get(k)),
        elsewhere=tuple(each.part(why, time) for why, time in tally.elsewhere.items() if time),
        overhead=spent,
        _spans=tally.spans,
        **run,  # type: ignore[arg-type]
    )


@final
@dataclass(frozen=True, slots=True)
class _Each:
    """Turns sums over rounds into seconds of one call."""

    tally: Tally

    def seconds(self, nanoseconds: int) -> float:
        return nanoseconds * _NANO / self.tally.rounds

    def share(self, nanoseconds: int) -> float:
        return nanoseconds / self.tally.total if self.tally.total else 0.0

    def part(self, name: str, time: int) -> PartTime:
        return PartTime(name=name, seconds=self.seconds(time), share=self.share(time))

    def operator(self, name: str, shapes: str, found: Sum) -> OperatorTime:
        return OperatorTime(
            name=name,
            shapes=shapes,
            calls=found.calls / self.tally.rounds,
            self_seconds=self.seconds(found.own),
            total_seconds=self.seconds(found.whole),
            share=self.share(found.own),
        )

    def module(self, name: str, kind: str, found: Sum, also: tuple[str, ...]) -> ModuleTime:
        return ModuleTime(
            name=name,
            kind=kind,
            calls=found.calls / self.tally.rounds,
            self_seconds=self.seconds(found.own),
            total_seconds=self.seconds(found.whole),
            backward_seconds=self.seconds(found.backward),
            share=self.share(found.own),
            also=also,
        )
