"""A machine whose times follow simple laws, so that sums can be written out by hand."""

from attncost.kernels.rates import RATES
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.families import families
from attncost.measure.speed.table import Table

START, COLD, RATE, VIEW = 1e-5, 3e-5, 1e-9, 2e-6
PEAK, BANDWIDTH = 1e9, 1e9


def table(rate=RATE, start=START, cold=START, spread=0.0):
    """Return a table of one rate for all sizes."""
    return Table(start=start, cold=cold, knots=((1, 1024),), rates=(rate, rate), spread=spread)


def flat(family, rate=RATE, cold=START, spread=0.0):
    """Return the table of a family in which every size has one rate."""
    rates = 1
    for axis in family.knots:
        rates *= len(axis)
    return Table(start=START, cold=cold, knots=family.knots, rates=(rate,) * rates, spread=spread)


def machine(**changes):
    """Return a calibration in which a unit of any work takes a nanosecond."""
    known = {
        "flops_per_second": PEAK,
        "bytes_per_second": BANDWIDTH,
        "view": 0.0,
        "python": 0.0,
        "waking": 0.0,
        "fault": 0.0,
        "far": ((1 << 20, 0.0), (1 << 21, 0.0)),
        "tables": {name: flat(family) for name, family in families().items()},
        "kernels": dict(RATES),
        "packed": (0.0, 0.0),
        "drift": 0.0,
        "environment": {"command": "none", "processor": "imagined"},
    }
    return Calibration(**(known | changes))
