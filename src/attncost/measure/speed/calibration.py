"""What is known of a machine once it was calibrated, as plain data.

attncost.calibration/3   flops_per_second, bytes_per_second, view, python, waking, fault, far,
                         tables, kernels, packed, drift, environment
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from attncost.core.errors import ShapeError
from attncost.kernels.rates import Rates
from attncost.measure.speed.table import Table

SCHEMA: Final = "attncost.calibration/3"
_FASTEST: Final = 1e24


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The measured rates of one machine, with one thread.

    Attributes:
        flops_per_second: The most that products of matrices reached.
        bytes_per_second: Of a copy that no cache holds, read and written.
        view: Seconds of an operation that moves nothing.
        python: Seconds that Python takes around each operation.
        waking: Seconds that it takes longer once the nearest caches were filled with other things.
        fault: Seconds for each byte of a block that the system hands out anew.
        far: Seconds for a byte beyond what it takes from the nearest cache, by the bytes that were
            touched since; increasing.
        tables: Of each family.
        kernels: What our kernels take, in the form of `attncost.kernels.rates`.
        packed: Seconds that our attention takes more, in one layer, for a row of packed texts and
            for each text in it.
        drift: How far the machine as a whole is off between rounds, relative.
        environment: Where and when it was measured.
    """

    flops_per_second: float
    bytes_per_second: float
    view: float
    python: float
    waking: float
    fault: float
    far: tuple[tuple[int, float], ...]
    tables: Mapping[str, Table]
    kernels: Mapping[str, Rates]
    packed: tuple[float, float]
    drift: float
    environment: Mapping[str, Any]

    def away(self, distance: int) -> float:
        """Return what a byte costs that was touched so many bytes ago."""
        found = 0.0
        for (low, before), (high, after) in zip(self.far, self.far[1:], strict=False):
            if low <= distance:
                share = min(1.0, (distance - low) / (high - low))
                found = before + share * (after - before)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"schema": SCHEMA, **asdict(self)}


def calibration(found: Mapping[str, Any], *, source: str) -> Calibration:
    """Return what a file holds.

    Args:
        found: The object in it.
        source: Its name, for an error.

    Raises:
        ShapeError: If it holds something else.
    """
    if found.get("schema") != SCHEMA:
        raise ShapeError(
            f"{source} must have the schema {SCHEMA!r}, got {found.get('schema')!r}: write a new "
            "one with attncost measure --calibrate."
        )
    try:
        return Calibration(
            **{name: _rate(found, name) for name in ("flops_per_second", "bytes_per_second")},
            **{
                name: _seconds(found[name])
                for name in ("view", "python", "waking", "fault", "drift")
            },
            far=tuple((int(size), _seconds(cost)) for size, cost in found["far"]),
            tables={name: _table(one) for name, one in found["tables"].items()},
            kernels={name: Rates(**one) for name, one in found["kernels"].items()},
            packed=_both(found["packed"]),
            environment=dict(found["environment"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ShapeError(
            f"{source} is no calibration ({type(error).__name__}: {error}): write a new one with "
            "attncost measure --calibrate."
        ) from error


def _table(found: Mapping[str, Any]) -> Table:
    return Table(
        start=_seconds(found["start"]),
        cold=_seconds(found["cold"]),
        knots=tuple(tuple(int(size) for size in axis) for axis in found["knots"]),
        rates=tuple(_seconds(rate) for rate in found["rates"]),
        spread=_seconds(found["spread"]),
    )


def _both(found: Any) -> tuple[float, float]:  # noqa: ANN401 -- read from a file
    row, text = found
    return _seconds(row), _seconds(text)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
        raise ValueError(f"a time must be a number that is not negative, got {value!r:.40}")
    return float(value)


def _rate(found: Mapping[str, Any], name: str) -> float:
    value = found[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= _FASTEST:
        raise ValueError(f"{name} must lie between 1 and {_FASTEST:g}, got {value!r:.40}")
    return float(value)
