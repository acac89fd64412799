"""The drop-in in one graph, exported for every length, and its refusals without the type checks."""

import math
from functools import partial

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from attncost import (
    Causal,
    Full,
    Linear,
    Linformer,
    ShapeError,
    UnsupportedOption,
    Window,
)
from attncost.nn.multihead import MultiheadAttention
from attncost.nn.swap_multihead import swap_multihead

N = 9
PADDING = torch.arange(N) >= torch.tensor([[9], [6], [0]])
BLOCKED = torch.rand(N, N, generator=torch.Generator().manual_seed(1)) < 1 / 3
NUMBERS = torch.zeros(3, N).masked_fill(PADDING, -math.inf)
MASKS = {
    "weights": {},
    "padding and causal": {
        "key_padding_mask": PADDING,
        "is_causal": True,
        "need_weights": False,
    },
    "blocked": {"attn_mask": BLOCKED, "key_padding_mask": PADDING},
    "numbers": {
        "attn_mask": torch.randn(12, N, N, generator=torch.Generator().manual_seed(2)),
        "key_padding_mask": NUMBERS,
        "need_weights": False,
    },
}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("masks", "pattern"),
    [
        ("weights", Window(4)),
        ("padding and causal", Full()),
        ("blocked", Window(4)),
        ("numbers", Full()),
    ],
)
def test_the_module_is_one_graph_with_the_same_values_and_gradients(masks, pattern):
    module = MultiheadAttention(16, 4, batch_first=True, pattern=pattern)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    x = torch.randn(3, N, 16, requires_grad=True)
    found = []
    for one in (module, compiled):
        out, weights = one(x, x, x, **MASKS[masks])
        wanted = [x, *module.parameters()]
        found.append([out, weights, *torch.autograd.grad(out.square().sum(), wanted)])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_compiled_code_of_inductor_agrees_on_padding():
    module = MultiheadAttention(16, 4, batch_first=True, pattern=Window(4)).eval()
    compiled, x = torch.compile(module, fullgraph=True), torch.randn(3, N, 16)
    masks = {"key_padding_mask": PADDING, "attn_mask": BLOCKED, "need_weights": False}
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, x, x, **masks), module(x, x, x, **masks))


def test_a_swapped_encoder_is_one_graph():
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    compiled = torch.compile(encoder, fullgraph=True, backend="aot_eager")
    x = torch.randn(3, N, 16)
    with torch.no_grad():
        full = compiled(x)
        swap_multihead(encoder, Window(2))
        torch.testing.assert_close(compiled(x), encoder(x))
        assert not torch.allclose(compiled(x), full)


@pytest.mark.parametrize("pattern", [Full(), Window(4)], ids=str)
def test_an_exported_program_takes_every_batch_and_length(pattern):
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = MultiheadAttention(16, 4, batch_first=True, pattern=pattern)

        def forward(self, x, padding):
            masks = {"key_padding_mask": padding, "is_causal": True, "need_weights": False}
            return self.attention(x, x, x, **masks)[0]

    module = Layer().eval()
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    inputs = (torch.randn(3, N, 16), PADDING)
    program = torch.export.export(module, inputs, dynamic_shapes=(axes, axes)).module()
    for batch, n in ((3, N), (2, 40), (5, 17)):
        x, padding = torch.randn(batch, n, 16), torch.rand(batch, n) < 1 / 3
        torch.testing.assert_close(program(x, padding), module(x, padding))


def test_masks_whose_numbers_are_unknown_are_taken_as_they_are():
    with FakeTensorMode():
        module = MultiheadAttention(16, 4, batch_first=True)
        x, mask = torch.randn(3, N, 16), torch.zeros(N, N)
        for masks in ({"attn_mask": mask}, {"key_padding_mask": torch.zeros(3, N)}):
            assert module(x, x, x, **masks)[0].shape == x.shape


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_each_sequence_of_a_batch_is_mapped_with_a_mask_of_its_own():
    module = MultiheadAttention(16, 4, batch_first=True).eval()
    x, masks = torch.randn(3, N, 16), torch.randn(3, N, N)

    def one(x, mask):
        return module(x, x, x, attn_mask=mask, need_weights=False)[0]

    expected = torch.stack([one(*each) for each in zip(x, masks, strict=True)])
    torch.testing.assert_close(torch.vmap(one)(x, masks), expected)


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(ShapeError, match=r"must be a pattern such as .*, got 'causal'"):
        MultiheadAttention(8, 2, pattern="causal")
    with pytest.raises(ShapeError, match="must be a pattern such as"):
        swap_multihead(nn.MultiheadAttention(8, 2), Causal)


@pytest.mark.parametrize("mechanism", [Linear(causal=True), Linformer(4)], ids=str)
def test_a_mechanism_is_refused_where_weights_of_pairs_are_promised(mechanism):
    swapping = partial(swap_multihead, nn.TransformerEncoderLayer(8, 2), mechanism)
    for use in (partial(MultiheadAttention, 8, 2, pattern=mechanism), swapping):
        with pytest.raises(UnsupportedOption, match=r"no pair, .* attncost\.nn\.Att") as said:
            use()
        assert "\n" not in str(said.value)
