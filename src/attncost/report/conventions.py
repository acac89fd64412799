"""FLOPs and utilisation in the conventions of papers and programs, side by side."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

from attncost.core.units import show
from attncost.cost.conventions import convention, flops_by_convention, seen_by_convention
from attncost.cost.utilisation import Candidate, Speed, claimed
from attncost.report.document import Column, Finding, Section, Table
from attncost.report.subject import Subject


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Utilisation:
    """What a speed comes to.

    Attributes:
        speed: How fast the model ran, and on what.
        shares: Of the peak, by convention.
        candidates: The conventions that a claimed share may be in, nearest first.
    """

    speed: Speed
    shares: Mapping[str, float]
    candidates: tuple[Candidate, ...] = ()


def by_convention(subject: Subject) -> dict[str, int]:
    """Return the FLOPs of all that was counted, in every convention that can say them."""
    seen, sizes = seen_by_convention(subject.counted), subject.configuration
    if sizes is None or subject.length is None:
        return seen
    formulas = flops_by_convention(sizes, subject.length, training=subject.training)
    batch = subject.batch or 1
    # What was counted comes before what a formula says of it.
    return {name: batch * int(flops) for name, flops in formulas.items()} | seen


def utilised(
    subject: Subject,
    speed: Speed,
    *,
    claim: float | None = None,
    rounding: float | None = None,
) -> Utilisation:
    """Return which part of a device's peak a model took, in every convention.

    Args:
        subject: The model; its inputs must have a length.
        speed: How fast it ran.
        claim: What somebody says it took, as a share of 1.
        rounding: How far off the claim may be for its printed digits.
    """
    assert subject.length is not None
    tokens = subject.length * (subject.batch or 1)
    per_token = {name: flops / tokens for name, flops in by_convention(subject).items()}
    possible = speed.peak * speed.devices
    shares = {name: one * speed.tokens_per_second / possible for name, one in per_token.items()}
    found = () if claim is None else claimed(claim, shares, rounding=rounding)
    return Utilisation(speed=speed, shares=shares, candidates=found)


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
    missing = "" if len(flops) > 4 else "Others need sizes of the model that are not understood. "
    table = Table(
        title="In other conventions",
        columns=(*columns, Column("counts")),
        rows=tuple(rows),
        note=f"{missing}`--json` names who counts so." if missing else "",
        command=subject.command,
    )
    return Section(title="In other conventions", blocks=(table,))


def used(utilisation: Utilisation | None, *, command: str) -> tuple[Finding, ...]:
    """Return the utilisation, and what a claimed one means, a sentence each."""
    if utilisation is None:
        return ()
    speed, shares = utilisation.speed, utilisation.shares
    devices = "" if speed.devices == 1 else f" on {speed.devices:,} devices"
    three = ", ".join(
        f"{show(shares[name], 'percent')} {name}" for name in ("exact", "half", "dense")
    )
    values: dict[str, Any] = {"shares": dict(shares), **asdict(speed)}
    found = [
        Finding(
            key="utilisation",
            text=(
                f"{speed.tokens_per_second:,.0f} tokens a second{devices} of "
                f"{show(speed.peak, 'rate')} are an MFU of {three}"
            ),
            values=values,
            command=command,
        )
    ]
    if utilisation.candidates:
        found.append(_claim(utilisation.candidates, command))
    return tuple(found)


def _claim(candidates: tuple[Candidate, ...], command: str) -> Finding:
    agree = [one.convention for one in candidates if one.agrees]
    nearest = candidates[0]
    text = f"the claimed figure is that of {', '.join(agree)}"
    if not agree:
        near = f"{nearest.convention}, {show(nearest.value, 'percent')}"
        text = f"no convention yields the claimed figure; the nearest is {near}"
    return Finding(
        key="claim",
        text=text,
        values={"candidates": [asdict(one) for one in candidates]},
        command=command,
    )
