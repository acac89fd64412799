"""The statistics of a call that is shown: queries that are padding count in none of them."""

from attncost.view.maps.header.hidden import real_queries
from attncost.view.maps.header.layers import GAUGES
from attncost.view.seen import Seen
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.results import Statistics
from attncost.view.statistics.statistics import statistics


def measured_call(seen: Seen, *, target: Seen | None = None, gauges: Gauges = GAUGES) -> Statistics:
    """Return the statistics of a call, of all its sequences.

    Args:
        seen: The call.
        target: A call whose keys are the queries of this one, which in cross-attention do not tell
            which of them are padding.
        gauges: The dials.
    """
    counted = real_queries(seen, target)
    return statistics(
        seen.q, seen.k, None, seen.pattern, gauges=gauges, query_mask=counted, **seen.wishes
    )
