"""Predicted times on the command line: `plan --time` with a calibration of this machine."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._calibration import calibration_in
from attncost.cli._magnitudes import tokens
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.integrations.weightless import Weightless
    from attncost.measure.speed.calibration import Calibration
    from attncost.report.document import Document
    from attncost.report.foretold import Foretold

_WORKS: Final = ("prefill", "training")


def check_time(given: dict[str, Any]) -> None:
    """Refuse to predict times of which nothing is known.

    Raises:
        ShapeError: If there is no calibration, or only decoding is asked for.
    """
    if not given["time"]:
        return
    if given["calibration"] is None:
        raise ShapeError(
            "--time needs to know this machine: give --calibration a file that attncost measure "
            "--calibrate wrote."
        )
    if given["works"] and not set(given["works"]) & set(_WORKS):
        raise ShapeError(
            "--time predicts prefill and training, which can be run without numbers, got "
            f"{', '.join(given['works'])}."
        )


def with_times(document: "Document", given: dict[str, Any]) -> "Document":
    """Return a plan with the times that a calibration predicts.

    Args:
        document: The plan.
        given: The options as they were typed.

    Raises:
        AttnCostError: If the calibration cannot be read, or the model not be run.
    """
    from attncost.integrations.weightless import weightless
    from attncost.report.foretold import time_facts, time_findings, time_sections

    known, model = calibration_in(given["calibration"]), weightless(given["model"])
    found = _foretold(model, known, given)
    command = document.command
    # What is counted comes last in every plan.
    *sections, last = document.sections
    return replace(
        document,
        findings=(*document.findings, *time_findings(model.name, found, command=command)),
        sections=(*sections, *time_sections(model.name, found, command=command), last),
        facts={**document.facts, "times": time_facts(found)},
    )


def _foretold(model: "Weightless", known: "Calibration", given: dict[str, Any]) -> "list[Foretold]":
    from attncost.integrations.weightless import remembered
    from attncost.measure.speed.predict import predicted
    from attncost.measure.speed.record import heard
    from attncost.report.foretold import Foretold

    def run(work: str, length: int, batch: int) -> object:
        call = model.call(length, batch=batch)
        return remembered(call, name=model.name, training=work == "training")

    asked = [work for work in _WORKS if work in (given["works"] or _WORKS)]
    return [
        Foretold(
            work=work,
            length=length,
            batch=batch,
            time=predicted(heard(partial(run, work, length, batch)), known),
        )
        for work in asked
        for length, batch in _sizes(model, given)
    ]


def _sizes(model: "Weightless", given: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the lengths that were asked for, with the batch; if none, the model's usual one."""
    texts = {"--lengths": given["lengths"], "--length": given["length"]}
    lengths = {
        tokens(text, of=option)
        for option, joined in texts.items()
        for text in (joined or "").split(",")
        if text
    }
    asked: list[int | None] = [*sorted(lengths)] or [None]
    found = (model.sizes(length, given["batch"]) for length in asked)
    return [sizes for sizes in found if sizes is not None]
