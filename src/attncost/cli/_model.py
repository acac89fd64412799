"""MODEL on the command line, counted without weights."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attncost.integrations.weightless import Weightless
    from attncost.report.subject import Subject


def subject(
    model: "Weightless", *, length: int | None, batch: int | None, training: bool, command: str
) -> "Subject":
    """Count a model once.

    Args:
        model: The model.
        length: Tokens; the model's usual length, if left out.
        batch: Sequences; one, if left out.
        training: Whether to count the backward pass, too.
        command: What repeats it.

    Raises:
        ShapeError: If it cannot be counted so.
    """
    from attncost.cost.difference import owned, parameters_by_module
    from attncost.integrations.weightless import counted
    from attncost.report.subject import Subject

    sizes = model.sizes(length, batch)
    call = model.call(length, batch=batch)
    found = counted(call, name=model.name, training=training)
    return Subject(
        name=model.name,
        counted=found,
        owned=owned(found, parameters_by_module(call.module)),
        length=sizes and sizes[0],
        batch=sizes and sizes[1],
        training=training,
        configuration=model.configuration,
        kv_bytes_per_token=_kept(model),
        command=command,
    )


def _kept(model: "Weightless") -> int | None:
    """Return the bytes of a token in a cache: by formula, which is quick, or by filling one."""
    known = model.configuration
    if known is None:
        return model.kv_bytes_per_token()
    return int(known.kv_bytes_per_token()) if known.caches else None
