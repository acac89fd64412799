"""A plan for a text: which way to put its lines into batches, on which machine."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._calibration import calibration_in
from attncost.cli._curves import foretold
from attncost.cli._devices import named, rates
from attncost.cli._lines import counted_text
from attncost.cli._plan_options import again, check_known, check_needed, option
from attncost.cli._timed_ways import check_measured, measured
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.batches.machine import Machine
    from attncost.cost.planning.devices import Device
    from attncost.cost.planning.situation import Situation
    from attncost.measure.subjects.target import Target
    from attncost.report.compared_ways import Asked
    from attncost.report.document import Document
    from attncost.report.lines import Text

_WORKS: Final = ("prefill", "training")
_BATCH: Final = 32
_PRECISIONS: Final = ("weights", "kv", "activations")
_SITUATION: Final = (*_PRECISIONS, "checkpointing", "optimizer")
_KNOWN: Final = (
    *("text", "batch", "memory", "works", "calibration", "time", "measure"),
    *_SITUATION,
)


def batching(given: dict[str, Any], wished: Mapping[str, object]) -> "tuple[Document, bool]":
    """Return which way is the cheapest, and whether any batch fits.

    Args:
        given: All options.
        wished: Those that are not as ever.

    Raises:
        AttnCostError: If one of them is impossible.
    """
    from attncost.measure.subjects.target import target
    from attncost.report.batching import batching_document, with_trials
    from attncost.report.compared_ways import compared

    _check(wished)
    how = _situation(given, wished)
    chosen, device = target(given["model"]), _device(given)
    if given["measure"]:
        check_measured(chosen, how)
    found = compared(_asked(chosen, given, how))
    document = batching_document(
        found,
        name=chosen.name,
        device=device.title if device else "",
        command=again(given["model"], wished),
    )
    if given["measure"]:
        document = with_trials(document, measured(found, chosen, given["text"]))
    return document, found.fits


def _asked(chosen: "Target", given: Mapping[str, Any], how: "Situation") -> "Asked":
    from attncost.cost.planning.sizes import memory_of
    from attncost.report.compared_ways import Asked

    batch = _BATCH if given["batch"] is None else given["batch"]
    text = counted_text(chosen, given["text"], batch=batch)
    return Asked(
        text=text,
        model=chosen.configuration,
        machine=_machine(chosen, text, given, how),
        how=how,
        memory=None if given["memory"] is None else memory_of(given["memory"]),
    )


def _device(given: Mapping[str, Any]) -> "Device | None":
    return None if given["memory"] is None else named(given["memory"])


def _check(wished: Collection[str]) -> None:
    """Refuse what says nothing of a text."""
    for wish in wished:
        if wish not in _KNOWN:
            raise ShapeError(
                f"{option(wish)} says nothing of a text that is batched: leave it out."
            )


def _situation(given: Mapping[str, Any], wished: Collection[str]) -> "Situation":
    """Return in which work memory is counted: one."""
    from attncost.cost.planning.situation import STATES, Situation

    works = given["works"] or ["prefill"]
    if "decode" in works:
        raise ShapeError(
            "--text compares batches that read texts, in prefill or training, and decode writes "
            "them: leave --for decode or --text out."
        )
    check_known("work", works, _WORKS)
    if len(works) > 1:
        raise ShapeError(
            f"--text is planned for one work at a time, got {' and '.join(works)}: leave one out."
        )
    check_known("optimizer", [given["optimizer"]], STATES)
    check_needed(works, wished)
    return Situation(work=works[0], **{name: given[name] for name in _SITUATION})


def _machine(
    chosen: "Target", text: "Text", given: Mapping[str, Any], how: "Situation"
) -> "Machine | None":
    """Return what is known of the time of a call: by operations, by two rates, or nothing."""
    from attncost.batches.rates import machine_of

    model = chosen.configuration
    if given["time"]:
        known = calibration_in(given["calibration"])
        return foretold(given["model"], known, longest=max(text.kept(model.longest)))
    two = rates(_device(given), given["calibration"], activations=given["activations"])
    # Kernels of accelerators take all packed texts at once: a text costs nothing by itself.
    return two and machine_of(model, two, how=how)
