"""What fits of a model: by formula, or by running what no formula describes."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._devices import named
from attncost.cli._plan_options import again, check_batch, check_known, option, requested
from attncost.cli._trial import WORKS, ran, runnable
from attncost.core.errors import AttnCostError, ShapeError, UnknownName, UnsupportedOption

if TYPE_CHECKING:
    from attncost.report.document import Document

# What a module that is run is asked; formulas know the rest.
_RUN: Final = ("memory", "works", "length", "batch", "lengths", "optimizer")
_TIMED: Final = (*_RUN, "time", "calibration")


def fitting(given: dict[str, Any], wished: Mapping[str, object]) -> "tuple[Document, list[bool]]":
    """Return what fits and whether it is what was asked for, of each work.

    Args:
        given: All options.
        wished: Those that are not as ever.

    Raises:
        AttnCostError: If one of them is impossible.
    """
    from attncost.integrations.sizes import sized
    from attncost.report.planned import plan_document

    if given["memory"] is None:
        raise ShapeError(
            "a plan needs --memory SIZE, such as 80GiB or H100, or a text to put into batches: "
            "--text FILE."
        )
    if given["measure"]:
        raise ShapeError("--measure times ways to put a text into batches: add --text FILE.")
    try:
        model = sized(given["model"])
    except (UnknownName, UnsupportedOption) as error:
        return _run(given, wished, error)
    request = requested(model, given, wished)
    return plan_document(request), [way.answer() for way in request.main]


def _run(
    given: dict[str, Any], wished: Mapping[str, object], reason: AttnCostError
) -> "tuple[Document, list[bool]]":
    """Return the same of a model whose sizes are not understood."""
    from attncost.cost.planning.sizes import memory_of
    from attncost.report.ran import Trial, ran_document

    model, why = runnable(given["model"], reason)
    _check_run(model.name, given, wished)
    memory, device = memory_of(given["memory"]), named(given["memory"])
    works = ran(model, given, memory=memory)
    trial = Trial(
        name=model.name,
        why=why,
        memory=memory,
        device=device.title if device else "",
        optimizer=given["optimizer"],
        works=works,
        command=again(given["model"], wished),
    )
    return ran_document(trial), [one.answer(memory) for one in works]


def _check_run(name: str, given: Mapping[str, Any], wished: Collection[str]) -> None:
    """Refuse what only formulas know."""
    for wish in wished:
        if wish not in (_TIMED if given["time"] else _RUN):
            raise ShapeError(
                f"{option(wish)} is known to formulas alone, and {name} is run, as no formula "
                "describes it: leave it out."
            )
    works = given["works"] or WORKS
    check_known("work", works, WORKS)
    check_batch(given["batch"])
    if "training" not in works and "optimizer" in wished:
        raise ShapeError("--optimizer changes nothing in prefill: leave it out.")
