"""What would help where not even one token fits: more devices, or narrower weights."""

from dataclasses import replace
from typing import Final

from attncost.core.errors import ShapeError
from attncost.cost.planning.precision import BITS
from attncost.cost.planning.sharding import Sharding
from attncost.cost.planning.situation import Situation
from attncost.report.planning import Way

_DEVICES: Final = 1024


def remedies(way: Way) -> str:
    """Say how many such devices would hold what was asked for, or in which precision one would."""
    found = []
    devices = _devices(way)
    if devices:
        found.append(f"{devices} such devices hold it ({_scheme(way)})")
    narrow = _narrower(way)
    if narrow:
        found.append(f"one device holds it with weights in {narrow}")
    return "; ".join(found) or f"not even {_DEVICES:,} such devices hold it"


def _devices(way: Way) -> int | None:
    fewest = way.how.sharding.devices + 1
    return next(
        (
            n
            for n in range(fewest, _DEVICES + 1)
            if _holds(way, replace(way.how, sharding=_split(way, n)))
        ),
        None,
    )


def _split(way: Way, devices: int) -> Sharding:
    """Share in the way that splits weights: as asked, if it does."""
    asked = way.how.sharding
    if _scheme(way) == "fsdp":
        return replace(asked, tensor=1, data=devices, zero=3, sequence=False)
    return Sharding(tensor=devices, sequence=asked.sequence)


def _scheme(way: Way) -> str:
    asked = way.how.sharding
    tensor = asked.tensor > 1 or (asked.data == 1 and way.how.work != "training")
    return "tensor" if tensor else "fsdp"


def _narrower(way: Way) -> str | None:
    """Return the widest precision that would do; training takes none below 16 bit."""
    if way.how.work == "training":
        return None
    narrow = sorted(BITS, key=lambda name: -BITS[name])
    bits = BITS[way.how.weights]
    return next(
        (n for n in narrow if BITS[n] < bits and _holds(way, replace(way.how, weights=n))), None
    )


def _holds(way: Way, how: Situation) -> bool:
    try:
        return replace(way, how=how).answer()
    except ShapeError:  # so many devices cannot share its heads
        return False
