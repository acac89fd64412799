"""What a family reads, where a count on meta sees no mask: against weights of real attention."""

import torch
import transformers
from tests.cost.families.against import built, read

from attncost.cost.counting.counted import CORE
from attncost.integrations.weightless import Call, counted


def check_dense_flops(settings, lengths=(1, 7, 33)):
    """Fail unless FLOPs without any mask, of attention and of the rest, are those counted."""
    model, theirs = read(settings), built(settings)
    for length in lengths:
        call = Call(theirs.module, (), theirs.inputs(length, 1), unpadded=True)
        found = counted(call, name="this model")
        assert not found.at_least
        attended = sum(found.by_step[step].dense for step in CORE if step in found.by_step)
        assert (model.core(length).dense, model.cost(length).dense) == (attended, found.dense)


def check_pairs(settings, length=21):
    """Fail unless attention reads the pairs that get a weight when the model runs, and no other."""
    config = transformers.CONFIG_MAPPING[settings["model_type"]].from_dict(dict(settings))
    config._attn_implementation = "eager"
    module = getattr(transformers, settings["architectures"][0])(config).eval()
    tokens = torch.full((1, length), 5)
    writes = {"decoder_input_ids": tokens} if config.is_encoder_decoder else {}
    with torch.no_grad():
        found = module(input_ids=tokens, output_attentions=True, **writes)
    model = read(settings)
    pairs = sum(
        int((weights > 0).sum())
        for name, layers in found.items()
        if name.endswith("attentions")
        for weights in layers
    )
    assert model.core(length).useful == 4 * pairs * model.block.head_dim
