"""What is found out for a report by calling the model itself: its count, and its memory."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from attncost.cli._command import command
from attncost.cli._model import subject
from attncost.core.errors import AttnCostError

if TYPE_CHECKING:
    from attncost.integrations.weightless import Weightless
    from attncost.measure.subjects.target import Target
    from attncost.report.material import Material
    from attncost.report.remembered import Held


def called(chosen: "Target", *, lengths: Sequence[int]) -> "Material":
    """Call the model at the last length that it is priced at.

    One with states is called at the first: they are computed chunk by chunk in Python, and a count
    follows each operation. Memory is that of models which can be measured here; larger ones are
    planned by formula, and following each of their blocks would take longer than all the rest.

    Args:
        chosen: The model.
        lengths: Tokens, increasing; none of what cannot be called at any length.
    """
    from attncost.integrations.weightless import weightless
    from attncost.report.material import Material

    model, sizes = chosen.name, chosen.sizes
    if sizes is None:
        return _made(chosen, lengths)
    if sizes.embedding.patch:
        reason = "it reads images, and inputs of those are not made here"
        return Material(missing=(f"{model} is priced and not counted: {reason}.",))
    if not (model.startswith("layer:") or find_spec("transformers")):
        missing = "without transformers it is not counted, only priced: pip install 'attncost[hf]'."
        typer.echo(f"{model}: {missing}", err=True)
        return Material(missing=(f"{model}: {missing}",))
    length = lengths[0 if sizes.state else -1]
    found, again = weightless(model), command("count", [model], {"length": length})
    counted = subject(found, length=length, batch=1, training=False, command=again)
    if not chosen.lengths:
        return Material(counted=counted)
    return _with_memory(Material(counted=counted), found, length)


def _made(chosen: "Target", lengths: Sequence[int]) -> "Material":
    """Call what a function makes, which has no formula: at every length, if it takes one."""
    from attncost.integrations.weightless import weightless
    from attncost.measure.subjects.case import Case
    from attncost.report.by_count import Counts
    from attncost.report.material import Material

    found, length = weightless(chosen.name), lengths[-1] if lengths else None
    again = command("count", [chosen.name], {"length": length})
    counted = subject(found, length=length, batch=None, training=False, command=again)
    rows = []
    if lengths:
        (one,) = chosen.subjects()
        for n in lengths:
            predicted = one.predict(Case(length=n))
            rows.append(Counts(length=n, core=predicted.core, linear=predicted.linear))
    return _with_memory(Material(counted=counted, over_length=tuple(rows)), found, length)


def _with_memory(material: "Material", found: "Weightless", length: int | None) -> "Material":
    """Add what calls hold in memory, or the reason why that is not known."""
    try:
        return replace(material, memory=_memory(found, length))
    except AttnCostError as error:  # It can be reported on all the same.
        return replace(material, missing=(*material.missing, f"Memory by part: {error}"))


def _memory(found: "Weightless", length: int | None) -> "tuple[Held, ...]":
    """Return what a forward pass holds, and a step of training."""
    from attncost.integrations.optimizers import optimizer
    from attncost.integrations.weightless import remembered
    from attncost.report.remembered import Held

    call, options = found.call(length), {"length": length, "memory": True}
    forward = remembered(call, name=found.name)
    step = remembered(call, name=found.name, training=True, optimizer=optimizer("adamw"))
    trained = options | {"training": True, "optimizer": "adamw"}
    return (
        Held("one forward pass", forward, command("count", [found.name], options)),
        Held("one step of training by AdamW", step, command("count", [found.name], trained)),
    )
