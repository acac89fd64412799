"""FLOPs and utilisation in the conventions of papers and programs, side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import log10
from typing import Any, Final, final

from attncost.core.units import show
from attncost.cost.conventions import convention, flops_by_convention, seen_by_convention
from attncost.cost.utilisation import Candidate, claimed, printed, shares_of_peak
from attncost.report.bounds import bounded, least
from attncost.report.document import Column, Finding, Section, Table
from attncost.report.subject import Subject

_NEAREST: Final = 2  # conventions to name beside a claim that none yields


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Utilisation:
    """What a speed comes to.

    Attributes:
        tokens_per_second: How fast the model ran, on all devices together.
        peak: FLOP/s of one device.
        devices: How many there were.
        shares: Of the peak, by convention.
        claim: What somebody says it is, as it is printed.
        candidates: The conventions that a claimed share may be in, nearest first.
    """

    tokens_per_second: float
    peak: float
    devices: int
    shares: Mapping[str, float]
    claim: str | None = None
    candidates: tuple[Candidate, ...] = ()


def by_convention(subject: Subject) -> dict[str, int]:
    """Return the FLOPs of all that was counted, in every convention that can say them."""
    seen, sizes = seen_by_convention(subject.counted), subject.configuration
    if sizes is None or subject.length is None:
        return seen
    formulas = flops_by_convention(sizes, subject.length, training=subject.training)
    batch = subject.batch or 1
    if not subject.training:
        # Without a backward pass nothing is computed again for it.
        formulas = {name: x for name, x in formulas.items() if convention(name).again is None}
    # What was counted comes before what a formula says of it.
    return {name: batch * int(flops) for name, flops in formulas.items()} | seen


def utilised(
    subject: Subject,
    *,
    tokens_per_second: float,
    peak: float,
    devices: int = 1,
    claim: str | None = None,
) -> Utilisation:
    """Return which part of the devices' peak a model took, in every convention.

    Args:
        subject: The model; its inputs must have a length.
        tokens_per_second: How fast it ran, on all devices together.
        peak: FLOP/s of one device.
        devices: How many there were.
        claim: What somebody says it took, as it is printed.
    """
    assert subject.length is not None
    seconds = subject.length * (subject.batch or 1) / tokens_per_second
    shares = shares_of_peak(by_convention(subject), seconds=seconds, peak=peak * devices)
    return Utilisation(
        tokens_per_second=tokens_per_second,
        peak=peak,
        devices=devices,
        shares=shares,
        claim=claim,
        candidates=() if claim is None else claimed(claim, shares),
    )


def as_others(subject: Subject, utilisation: Utilisation | None) -> Section:
    """Return how others would count the same."""
    flops = by_convention(subject)
    shares = utilisation.shares if utilisation else {}
    columns = [Column("convention"), Column("FLOPs", "flops"), Column("of exact", "percent")]
    columns += [Column("of peak", "percent")] if utilisation else []
    rows = []
    for value in dict.fromkeys(flops.values()):
        names = [name for name, one in flops.items() if one == value]
        row = (", ".join(names), value, value / flops["exact"] if flops["exact"] else None)
        part = (shares.get(names[0]),) if utilisation else ()
        rows.append((*row, *part, convention(names[0]).counts))
    table = Table(
        title="In other conventions",
        columns=(*columns, Column("counts")),
        rows=tuple(rows),
        note=" ".join((*_notes(subject), "--json says who counts so.")),
        command=subject.command,
    )
    return Section(title="In other conventions", blocks=(table,))


def _notes(subject: Subject) -> Iterable[str]:
    counted = subject.counted
    if subject.configuration is None:
        yield "Few, as all others are formulas of sizes, not known for this architecture."
    elif subject.length is None:
        yield "Few, as all others are formulas of a length, which its own inputs do not say."
    elif not subject.training:
        yield "6N counts a forward pass as 2N."
    if counted.at_most:
        yield "exact: as far as masks are known."
    if counted.at_least:
        yield "Operations without a price are left out of what was counted."


def used(subject: Subject, utilisation: Utilisation | None, *, command: str) -> tuple[Finding, ...]:
    """Return the utilisation, and what a claimed one means, a sentence each."""
    if utilisation is None:
        return ()
    shares, counted = utilisation.shares, subject.counted
    half, dense = (least(counted) + show(shares[name], "percent") for name in ("half", "dense"))
    exact = bounded(counted, f"{show(shares['exact'], 'percent')} exact")
    values: dict[str, Any] = {
        "shares": dict(shares),
        "training": subject.training,
        "tokens_per_second": utilisation.tokens_per_second,
        "peak": utilisation.peak,
        "devices": utilisation.devices,
    }
    found = [
        Finding(
            key="utilisation",
            text=f"MFU {exact}, {half} half, {dense} dense: {_speed(subject, utilisation)}",
            values=values,
            command=command,
        )
    ]
    if utilisation.claim is not None:
        found.append(_claim(utilisation.claim, utilisation.candidates, command))
    return tuple(found)


def _speed(subject: Subject, utilisation: Utilisation) -> str:
    speed, devices = f"{utilisation.tokens_per_second:,.0f} tokens/s", utilisation.devices
    peak = f"peak {show(utilisation.peak, 'rate')}"
    shared = peak if devices == 1 else f"{devices:,} devices, {peak} each"
    return f"{speed}{'' if subject.training else ' forward'}, {shared}"


def _claim(claim: str, candidates: tuple[Candidate, ...], command: str) -> Finding:
    agree = [one.convention for one in candidates if one.agrees]
    text = f"the claimed {claim} is the MFU by {', '.join(agree)}"
    if not agree:
        near = " and ".join(_nearest(claim, candidates))
        text = f"no convention yields the claimed {claim}; the nearest are {near}"
    return Finding(
        key="claim",
        text=text,
        values={"claimed": claim, "candidates": [asdict(one) for one in candidates]},
        command=command,
    )


def _nearest(claim: str, candidates: tuple[Candidate, ...]) -> Iterable[str]:
    """Name the figures nearest to a claim; those that look alike together."""
    # As many digits as the claim has, so that what differs looks different.
    places = max(1, round(-log10(2 * printed(claim).rounding)) - 2)
    names: dict[str, list[str]] = {}
    for one in candidates:
        names.setdefault(f"{100 * one.value:.{places}f} %", []).append(one.convention)
    for value, alike in list(names.items())[:_NEAREST]:
        yield f"{', '.join(alike)} ({value})"
