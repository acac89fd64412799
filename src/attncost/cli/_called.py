"""What is found out for a report by calling the model itself: its count, and its memory."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from attncost.cli._command import command
from attncost.cli._model import subject
from attncost.core.errors import AttnCostError

if TYPE_CHECKING:
    from attncost.integrations.weightless import Weightless
    from attncost.measure.subjects.target import Target
    from attncost.report.findings import Material
    from attncost.report.remembered import Held


def called(chosen: "Target", *, length: int) -> "Material":
    """Call the model at the length that its steps are priced at.

    Memory is that of models which can be measured here; larger ones are planned by formula, and
    following each of their blocks would take longer than all the rest.

    Args:
        chosen: The model.
        length: Tokens.
    """
    from attncost.integrations.weightless import weightless
    from attncost.report.findings import Material

    model = chosen.name
    if chosen.configuration.embedding.patch:
        reason = "it reads images, and inputs of those are not made here"
        return Material(missing=(f"{model} is priced and not counted: {reason}.",))
    if not (model.startswith("layer:") or find_spec("transformers")):
        missing = "without transformers it is not counted, only priced: pip install 'attncost[hf]'."
        typer.echo(f"{model}: {missing}", err=True)
        return Material(missing=(f"{model}: {missing}",))
    found, sizes = weightless(model), {"length": length}
    again = command("count", [model], sizes)
    counted = subject(found, length=length, batch=1, training=False, command=again)
    if not chosen.lengths:
        return Material(counted=counted)
    try:
        return Material(counted=counted, memory=_memory(found, length))
    except AttnCostError as error:  # It can be reported on all the same.
        return Material(counted=counted, missing=(f"Memory by part: {error}",))


def _memory(found: "Weightless", length: int) -> "tuple[Held, ...]":
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
