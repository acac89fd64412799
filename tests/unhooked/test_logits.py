"""A compiled model shows its largest logit in the steps that ask for it, and stays compiled."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from attncost.cost.reading import preset
from attncost.integrations.meter import Meter

torch.set_num_threads(1)


def test_compiled_attention_is_looked_at_and_compiled_again_by_no_step():
    compiled = 0

    def backend(graph, _):
        nonlocal compiled
        compiled += 1
        return graph

    def layer(q):
        return scaled_dot_product_attention(q, 6 * q, q)

    fast, q = torch.compile(layer, backend=backend), torch.eye(4)[None, None]
    meter = Meter(preset("llama-3-8b"))
    for asked in (False, True, False):
        with meter.step([4], logits=asked):
            out = fast(q)
        torch.testing.assert_close(out, layer(q))
    assert [step.largest_logit for step in meter.steps] == [None, 3.0, None]
    assert compiled == 1
