"""MODEL on the command line, as the doctor sees it: sizes, and modules where it can be built."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from attncost.core.errors import AttnCostError, ShapeError

if TYPE_CHECKING:
    from attncost.integrations.weightless import Weightless
    from attncost.measure.doctor.patient import Model, Patient

# Which modules a model has, and how it calls them, does not depend on the length.
_SHORT: Final = 128


def patient(text: str | None, *, length: int | None = None) -> "Patient":
    """Return the patient of a name; without one, the layer that the articles time.

    Args:
        text: MODEL.
        length: Tokens; left open, if left out.

    Raises:
        ShapeError: If it has no such length, or what it names cannot be read.
        UnknownName: If it names nothing.
    """
    from attncost.integrations.sizes import LAYER, check_size, is_function, sized
    from attncost.integrations.weightless import weightless
    from attncost.measure.doctor.patient import Patient

    if length is not None:
        check_size("length", length)
    tokens = length or 0
    if text is None:
        return Patient(length=tokens)
    if is_function(text):
        return _of_function(Patient(name=text, length=tokens, model=_model(weightless(text))))
    found = sized(text)
    block, longest = found.configuration.block, found.configuration.longest
    if longest is not None and tokens > longest:
        raise ShapeError(
            f"{found.name} has positions for {longest} tokens, got a length of {tokens}: examine "
            "it at a shorter one."
        )
    model, unbuilt = None, ""
    if text.partition(":")[0] != LAYER:
        try:
            model = _model(weightless(text))
        except AttnCostError as error:  # Its sizes can be examined all the same.
            unbuilt = str(error)
    return Patient(
        name=found.name,
        d_model=int(block.d_model),
        heads=int(block.heads),
        head_dim=int(block.head_dim),
        length=tokens,
        longest=longest,
        model=model,
        unbuilt=unbuilt,
    )


def _model(found: "Weightless") -> "Model":
    from attncost.measure.doctor.patient import Model

    call = found.call(None if found.usual is None else min(found.usual, _SHORT))
    return Model(call.module, call.inputs, call.options)


def _of_function(patient: "Patient") -> "Patient":
    """Take the sizes of the first attention of PyTorch that it holds; else those of articles."""
    from torch.nn import MultiheadAttention

    assert patient.model
    for one in patient.model.module.modules():
        if isinstance(one, MultiheadAttention):
            return replace(
                patient, d_model=one.embed_dim, heads=one.num_heads, head_dim=one.head_dim
            )
    return patient
