"""What layers of a model of Hugging Face are asked, and models with one layer's mask narrowed."""

from contextlib import contextmanager

import torch

from attncost import Full, hf
from attncost.integrations.hf.layers import attention_layers
from attncost.integrations.hf.watch import watching
from attncost.view.seen import Seen


def watched(model, inputs):
    """Return the last call of each layer by its name."""
    names, found = {id(one): name for name, one in attention_layers(model, "*").items()}, {}

    def see(module, qkv, pattern, wishes):
        q, k, v = (x.detach() for x in qkv)
        name = names[id(module)]
        found[name] = Seen(
            name=name,
            q=q,
            k=k,
            v=v,
            pattern=pattern,
            wishes={name: wish for name, wish in wishes.items() if name != "dropout_p"},
            heads=tuple(range(q.shape[1])),
            cross="EncDec" in name,
        )

    with watching(see), torch.no_grad(), hf.swap(model, Full(), layers="*"):
        model(**inputs)
    return found


@contextmanager
def narrowed(model, name, mask):
    """Let one layer read only what a dense mask lets it, by the model's own eager attention."""

    def narrow(_module, args, kwargs):
        own = kwargs.get("attention_mask")
        hidden = torch.where(mask, 0.0, -torch.inf).to(model.dtype)[None, None]
        return args, kwargs | {"attention_mask": hidden if own is None else own + hidden}

    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    handle = model.get_submodule(name).register_forward_pre_hook(narrow, with_kwargs=True)
    try:
        yield model
    finally:
        handle.remove()
        model.set_attn_implementation(before)
