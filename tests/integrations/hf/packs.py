"""Models that are tried on packed texts, texts for them, and what each text is alone."""

from functools import cache

import torch
from tests.integrations.hf import zoo

from attncost import hf
from attncost.batches.ways.packed import Packed
from attncost.integrations.hf.packing import packing_collator

LENGTHS = (11, 0, 7, 1, 12)

# Pictures, two sequences, and what differs from others in nothing that matters here.
_LEFT_OUT = ("vit", "t5", "mistral", "qwen3", "xlmr")
MODELS = {name: make for name, make in {**zoo.ZOO, **zoo.MORE}.items() if name not in _LEFT_OUT}
# Their own attention takes neither ours nor any word about documents.
CLOSED = ("bloom", "mpnet")
OPEN = tuple(name for name in MODELS if name not in CLOSED)
# Where positions begin, as their authors publish it; all others count from 0.
FROM_PADDING = dict.fromkeys(("roberta", "esm"), 2)
# transformers finds documents in the positions of these itself, without a cache.
OWN_MASK = ("llama", "gemma2", "gemma3", "qwen2", "gpt2", "mixtral")


def texts(lengths=LENGTHS, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(4, 97, (length,), generator=generator) for length in lengths]


def ours(name, dtype=torch.float32):
    model = MODELS[name](dtype)
    model.set_attn_implementation(hf.register("attncost"))
    return model


def said(model, batch):
    with torch.no_grad():
        return zoo.outputs(model, batch)


def split(outputs, lengths=LENGTHS):
    return outputs[0, : sum(lengths)].split(lengths)


def each_alone(model, ids):
    return [said(model, {"input_ids": text[None]})[0] for text in ids if len(text)]


def check_as_alone(model, collate, expected, tolerance=1e-5):
    found = [one for one in split(said(model, collate(texts()))) if len(one)]
    for one, alone in zip(found, expected, strict=True):
        torch.testing.assert_close(one, alone, rtol=0, atol=tolerance * float(alone.abs().max()))


@cache
def tried(name):
    """Return a model with our attention and its collator; nobody changes them."""
    model = ours(name)
    return model, packing_collator(model, way=Packed(multiple=8))
