"""What a family with states reads, against the model that transformers builds and runs on meta.

transformers reads a prompt in chunks, so its products between tokens are no oracle of the
recurrence; tests/cost/model has that. Here: products with weights, attention and what is kept.
"""

from tests.cost.families.against import built, read

from attncost.cost.counting.registry import ATTENTION
from attncost.integrations.weightless import Call, counted

LENGTH = 7
PADDED = 3  # places that transformers' convolutions with four taps compute and cut off


def check(settings):
    """Fail unless parameters, products with weights and the cache are transformers' own."""
    model, theirs = read(settings), built({**settings, "dtype": "bfloat16"})
    assert model.parameters == sum(one.numel() for one in theirs.module.parameters())
    outputs = []
    theirs.module.register_forward_hook(lambda module, given, output: outputs.append(output))
    call = Call(theirs.module, (), theirs.inputs(LENGTH, 1), unpadded=True)
    check_products(model, counted(call, name="this model").by_step)
    check_kept(model, outputs[0].cache.layers)


def check_products(model, found):
    """Fail unless FLOPs of attention, convolutions and all other weights are those counted."""
    steps = dict(model.cost(LENGTH).steps)
    convolved, met = steps["short convolution"].useful, steps["recurrence"].useful
    assert convolved * (LENGTH + PADDED) == found["convolution"].useful * LENGTH
    assert model.linear(LENGTH).useful - convolved == found["weights"].useful
    attended = found[ATTENTION].useful if ATTENTION in found else 0
    assert model.core(LENGTH).useful - met == attended


def check_kept(model, layers):
    """Fail unless keys and values, states and their bytes are those of transformers' cache."""
    states = [
        state
        for layer in layers
        for kind in ("conv_states", "recurrent_states")
        for state in getattr(layer, kind, {}).values()
        if state is not None
    ]
    assert model.state == sum(state.numel() for state in states)
    assert model.state_bytes() == sum(state.nbytes for state in states)
    caches = [layer for layer in layers if getattr(layer, "keys", None) is not None]
    kept = sum(layer.keys.numel() + layer.values.numel() for layer in caches)
    assert model.cached(LENGTH) == kept
