"""What people reported of other tools is right here, see the address of each."""

import torch
from tests.integrations.hf import zoo
from tests.view.capture.theirs import model, run
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attncost.view.capture.capture import capture

CONTEXT = 32_768
# The square of so many tokens takes 256 MiB, and reading them a second.
READ = 8192


class Largest(TorchDispatchMode):
    """Notes the most bytes that one storage made meanwhile has."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                self.bytes = max(self.bytes, leaf.untyped_storage().nbytes())
        return made


def decoder(layers, **sizes):
    return zoo.made(
        "LlamaModel",
        "LlamaConfig",
        vocab_size=16,
        hidden_size=8,
        intermediate_size=8,
        num_attention_heads=1,
        num_hidden_layers=layers,
        max_position_embeddings=CONTEXT,
        **sizes,
    )


def held(captured):
    """Return the bytes of all storages that a capture keeps alive, each once."""
    tensors = [
        tensor
        for calls in captured.values()
        for seen in calls
        for tensor in (seen.q, seen.k, seen.v, *seen.wishes.values())
        if isinstance(tensor, torch.Tensor)
    ]
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def test_one_layer_that_is_captured_costs_the_memory_of_one_layer():
    # https://github.com/resemble-ai/chatterbox/pull/398
    batch = zoo.inputs("llama", "left")
    with capture(model("llama"), layers=[1]) as captured:
        run(model("llama"), batch)
    (seen,) = captured["model.layers.1.self_attn"]
    queries_and_keys = 4 * 2 * (4 + 2) * 24 * 16
    assert seen.q.nbytes + seen.k.nbytes == queries_and_keys
    assert held(captured) == queries_and_keys + 2 * 24  # and which keys are padding


def test_a_long_context_of_many_layers_makes_nothing_of_its_square():
    # https://github.com/TransformerLensOrg/TransformerLens/issues/479
    deep = decoder(80)
    with Largest() as largest, capture(deep) as captured:
        run(deep, {"input_ids": torch.zeros(1, 64, dtype=torch.long)})
    assert len(captured) == 80
    assert largest.bytes <= CONTEXT * 8 * 4


def test_a_whole_long_context_is_captured_without_its_square():
    # https://github.com/TransformerLensOrg/TransformerLens/issues/479
    long = decoder(1)
    with Largest() as largest, capture(long) as captured:
        run(long, {"input_ids": torch.zeros(1, READ, dtype=torch.long)})
        last = captured.last("layers.0.self_attn").weights(rows=-1)
    assert last.shape == (1, 1, 1, READ)
    assert largest.bytes <= READ * 8 * 4
    assert held(captured) == 2 * READ * 8 * 4


def test_keys_of_a_static_cache_do_not_keep_its_buffer_alive():
    own = model("llama")
    asked = zoo.inputs("llama") | {"max_new_tokens": 2, "do_sample": False}
    with capture(own, layers=[0]) as captured:
        own.generate(**asked, cache_implementation="static")
    for seen in captured["model.layers.0.self_attn"]:
        assert seen.k.untyped_storage().nbytes() == seen.k.nbytes
