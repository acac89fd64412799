"""What a model was seen to cost, operation by operation: the count beside the formula."""

from attncost.core.units import show
from attncost.cost.counting.counted import Counted
from attncost.report.bounds import bounded, why_at_most
from attncost.report.conventions import as_others
from attncost.report.counted import by_module, by_step, unpriced
from attncost.report.document import Section
from attncost.report.subject import Subject


def modules(subject: Subject, *, name: str) -> Section:
    """Return what a count found.

    Args:
        subject: The model, counted.
        name: What people call it.
    """
    counted, command = subject.counted, subject.command
    blocks = [by_step(counted, command=command), by_module(counted, command=command)]
    if counted.unpriced:
        blocks.append(unpriced(counted, command))
    return Section(
        title=f"What {name} does, module by module",
        text=(
            _how(subject),
            f"{_total(subject)}{_agrees(subject)}.",
            *_why(counted),
            *_shorter(subject),
        ),
        blocks=(*blocks, *as_others(subject, None).blocks),
    )


def _total(subject: Subject) -> str:
    counted = subject.counted
    flops = f"Counted, it takes {bounded(counted, show(counted.useful, 'flops'))}"
    if not counted.unpriced:
        return f"{flops}, and no operation is without a price"
    calls = sum(one.calls for one in counted.unpriced)
    return f"{flops}, as {calls:,} calls have no price"


def _why(counted: Counted) -> tuple[str, ...]:
    why = why_at_most(counted)
    return (f"{why[0].upper()}{why[1:]}.",) if counted.at_most else ()


def _shorter(subject: Subject) -> tuple[str, ...]:
    """Say why a model with states is not called at the greatest length."""
    if subject.configuration is None or not subject.configuration.state:
        return ()
    return (
        "It keeps states, which PyTorch computes here in a loop over chunks of tokens: it was "
        "called at the shortest of the lengths that it is priced at.",
    )


def _formula(subject: Subject) -> int | None:
    if subject.configuration is None or subject.length is None:
        return None
    return int(subject.configuration.cost(subject.length).useful) * (subject.batch or 1)


def _agrees(subject: Subject) -> str:
    formula = _formula(subject)
    if formula is None:
        return ""
    if formula == subject.counted.useful:
        return "; by formula exactly as much"
    return f"; by formula {show(formula, 'flops')}"


def _how(subject: Subject) -> str:
    counted = subject.counted
    return (
        f"The module itself was called without weights ({subject.sizes}), and each operation "
        f"counted where PyTorch runs it: {show(counted.executed, 'flops')} executed, "
        f"{show(counted.elementwise, 'count')} elementwise operations, "
        f"{show(counted.bytes, 'bytes')} moved, {show(counted.intensity, 'count')} FLOPs a byte."
    )
