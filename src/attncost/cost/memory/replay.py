"""What was live at the peak, told apart when it is known what became of it."""

from attncost.cost.memory.footprint import Footprint, Part
from attncost.cost.memory.log import Log


def footprint(
    *,
    name: str,
    device: str,
    log: Log,
    before: dict[Part, int],
    gradients: set[int],
    at_least: tuple[str, ...],
) -> Footprint:
    """Return the result of a run.

    Args:
        name: What was called.
        device: Where.
        log: What was live when.
        before: Bytes that were there before, by part.
        gradients: Blocks that are gradients of parameters in the end.
        at_least: Why the peak may be higher.
    """
    peak = log.peak
    live = log.live_at(peak.at)
    learned = live & gradients
    kept = (live & log.live_at(log.left)) - learned
    return Footprint(
        name=name,
        device=device,
        by_part=before
        | {
            "gradients": log.bytes_of(learned),
            "activations": log.bytes_of(kept),
            "temporaries": log.bytes_of(live - learned - kept) + peak.scratch,
        },
        kept=log.kept(),
        phase=peak.phase,
        module=peak.module,
        operation=peak.operation,
        at_least=at_least,
    )
