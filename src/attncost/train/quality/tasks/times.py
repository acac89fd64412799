"""How long a forward pass of each attention takes, side by side in one process.

Every round visits all of them in an order that changes, and each is compared with the base within
the round. What was timed once is not timed again, unless others are to stand beside it or the
machine or PyTorch is another.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

from attncost.core.errors import ShapeError
from attncost.measure.clocks.clock import clock_for
from attncost.measure.store.environment import environment
from attncost.measure.sweep.interleaved import Ratio
from attncost.measure.trials.ways import time_ways
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.quality.tasks.price import forward_of, step_batch
from attncost.train.quality.tasks.stored import SCHEMA, read, write

_FILE: Final = "times.json"
_SECONDS: Final = 30.0
# Of the environment: what times of another are not the times of this one.
_WHERE: Final = ("clock", "device", "processor", "cpu_capability", "cores", "torch")


@final
@dataclass(frozen=True, slots=True)
class Time:
    """A forward pass over one batch.

    Attributes:
        seconds: The median of the rounds.
        ratio: To the base, within a round.
    """

    seconds: float
    ratio: Ratio

    @property
    def told(self) -> float:
        """The ratio that it is judged by: 1 where the interval does not tell it from 1."""
        return 1.0 if self.ratio.low <= 1 <= self.ratio.high else self.ratio.figure


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """Forward passes of all attentions.

    Attributes:
        each: By attention.
        sequences: In a batch.
        environment: Where they were timed.
    """

    each: Mapping[str, Time]
    sequences: int
    environment: Mapping[str, Any]


def timed(asked: Comparison) -> Times:
    """Time all attentions, the base first, on one thread."""
    calls = {name: forward_of(asked, name) for name in (asked.base, *asked.attentions)}
    clock, sequences = clock_for("cpu"), step_batch(asked)
    lengths = [asked.task.length] * sequences
    found = time_ways(calls, clock, lengths=lengths, seconds=_SECONDS)
    return Times(
        each={one.name: Time(one.seconds, one.ratio) for one in found},
        sequences=sequences,
        environment=environment(clock, command=""),
    )


def known(folder: Path, asked: Comparison) -> Times | None:
    """Return what was timed before side by side here, if these attentions were among it.

    Raises:
        ShapeError: If the file is none of ours.
        StorageError: If it cannot be read.
    """
    row = read(folder / _FILE)
    if row is None:
        return None
    try:
        each = {
            name: Time(one["seconds"], Ratio(**one["ratio"])) for name, one in row["each"].items()
        }
        found = Times(each=each, sequences=row["sequences"], environment=row["environment"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ShapeError(f"{folder / _FILE} holds no times ({error}): remove it.") from error
    same = row.get("settings") == asked.settings and row.get("base") == asked.base
    if not same or not asked.attentions.keys() <= each.keys():
        return None
    now = environment(clock_for("cpu"), command="")
    here = all(found.environment.get(name) == now.get(name) for name in _WHERE)
    return found if here else None


def keep(folder: Path, asked: Comparison, times: Times) -> None:
    """Write them.

    Raises:
        StorageError: If that cannot be done.
    """
    row = {"schema": SCHEMA, "settings": asked.settings, "base": asked.base, **asdict(times)}
    write(folder / _FILE, row)
