"""PyTorch's encoders compute all at once in evaluation; what their attention reads is seen."""

import copy

import pytest
import torch
from tests.view.capture.seen_calls import Named, drawn, shaken, softmax_of, watched
from torch import nn

from attncost import Window, swap_multihead

E, H, N = 16, 4, 7
LATER = torch.ones(N, N, dtype=torch.bool).triu(1)
PADDED = torch.tensor([[False] * N, [False] * 4 + [True] * 3])
MASKS = {
    "none": {},
    "causal": {"mask": LATER},
    "padding": {"src_key_padding_mask": PADDED},
    "both": {"mask": LATER, "src_key_padding_mask": PADDED},
}
AT_ONCE = "aten::_transformer_encoder_layer_fwd"

# PyTorch warns that its own nested tensors are a prototype.
nested = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


def encoder(layers=2, **arguments):
    layer = nn.TransformerEncoderLayer(E, H, 32, batch_first=True, **arguments)
    # With `norm_first` an encoder would warn that it cannot nest.
    nests = not arguments.get("norm_first")
    return shaken(nn.TransformerEncoder(layer, layers, enable_nested_tensor=nests)).eval()


def by_the_slow_path(model, *inputs, **masks):
    """Return the weights of each layer as its attention returns them when it is asked."""
    weights = []

    def ask(module, args, kwargs):
        kwargs |= {"need_weights": True, "average_attn_weights": False}
        return args, kwargs

    def note(module, args, out):
        weights.append(out[1])

    model = copy.deepcopy(model)  # hooks turn the fast path off
    for layer in model.layers:
        layer.self_attn.register_forward_pre_hook(ask, with_kwargs=True)
        layer.self_attn.register_forward_hook(note)
    model.enable_nested_tensor = model.use_nested_tensor = False
    with torch.no_grad():
        model(*inputs, **masks)
    return weights


@nested
@pytest.mark.parametrize("norm_first", [False, True], ids=["norm last", "norm first"])
@pytest.mark.parametrize("masks", MASKS)
def test_an_encoder_is_seen_and_its_output_stays_the_same_to_the_bit(masks, norm_first):
    model, x = encoder(norm_first=norm_first), drawn(2, N, E)
    expected = by_the_slow_path(model, x, **MASKS[masks])
    with torch.no_grad():
        plain = model(x, **MASKS[masks])
        with watched(model) as calls, Named() as names:
            out = model(x, **MASKS[masks])
    assert torch.equal(out, plain)
    assert names.found.count(AT_ONCE) == 2
    assert [seen.name for seen in calls] == ["layers.0.self_attn", "layers.1.self_attn"]
    real = ~PADDED if "src_key_padding_mask" in MASKS[masks] else ~torch.zeros_like(PADDED)
    for seen, weights in zip(calls, expected, strict=True):
        # Nested tensors hold no padding, so what a padded token would ask is another matter.
        rows = real[:, None, :, None]
        torch.testing.assert_close(
            seen.weights() * rows, weights * rows, atol=1e-6, rtol=1e-4, check_stride=False
        )
        torch.testing.assert_close(seen.weights().double(), softmax_of(seen), atol=1e-6, rtol=1e-4)


@nested
@pytest.mark.parametrize("way", ["train", "grad"])
def test_where_it_computes_step_by_step_it_is_seen_once(way):
    model, x = encoder(dropout=0.0), drawn(2, N, E)
    model.train(way == "train")
    plain = model(x, src_key_padding_mask=PADDED)
    with watched(model) as calls, Named() as names:
        out = model(x, src_key_padding_mask=PADDED)
    assert torch.equal(out, plain)
    assert AT_ONCE not in names.found
    assert [seen.name for seen in calls] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert not any(seen.q.requires_grad for seen in calls)
    out.sum().backward()


@nested
def test_one_layer_alone_is_seen_among_nested_ones():
    model, x = encoder(3), drawn(2, N, E)
    with torch.no_grad():
        plain = model(x, src_key_padding_mask=PADDED)
        with watched(model, "layers.1.self_attn") as calls, Named() as names:
            out = model(x, src_key_padding_mask=PADDED)
    assert torch.equal(out, plain)
    assert names.found.count(AT_ONCE) == 3
    assert [seen.name for seen in calls] == ["layers.1.self_attn"]
    assert torch.equal(calls[0].wishes["key_mask"], ~PADDED)


def test_a_user_s_hook_on_a_layer_changes_nothing_for_who_watches():
    model, x = encoder(), drawn(2, N, E)
    model.layers[0].linear1.register_forward_hook(lambda *_: None)
    with torch.no_grad(), watched(model) as calls, Named() as names:
        model(x)
    assert names.found.count(AT_ONCE) == 1
    assert [seen.name for seen in calls] == ["layers.0.self_attn", "layers.1.self_attn"]


def test_a_decoder_reads_itself_and_then_the_memory():
    layer = nn.TransformerDecoderLayer(E, H, 32, batch_first=True)
    model = shaken(nn.TransformerDecoder(layer, 1)).eval()
    x, memory = drawn(2, N, E), drawn(2, 5, E, seed=4)
    with torch.no_grad():
        plain = model(x, memory, tgt_mask=LATER)
        with watched(model) as calls:
            out = model(x, memory, tgt_mask=LATER)
    assert torch.equal(out, plain)
    found = [(seen.name, seen.cross, seen.k.shape[2]) for seen in calls]
    assert found == [
        ("layers.0.self_attn", False, N),
        ("layers.0.multihead_attn", True, 5),
    ]


def test_our_attention_within_their_layer_is_seen():
    model, x = encoder(), drawn(2, N, E)
    swap_multihead(model, Window(3), where="layers.1.*")
    with torch.no_grad():
        plain = model(x)
        with watched(model) as calls:
            out = model(x)
    assert torch.equal(out, plain)
    assert [str(seen.pattern) for seen in calls] == ["Full()", "Window(width=3, ahead=0)"]


class ViT(nn.Module):
    """Patches, a first token and positions before PyTorch's encoder."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, E, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, E))
        self.places = nn.Parameter(torch.zeros(1, 17, E))
        self.encoder = encoder(norm_first=True)
        self.head = nn.Linear(E, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


def test_a_vision_transformer_is_seen_on_its_grid():
    model, image = shaken(ViT()).eval(), drawn(2, 3, 16, 16)
    with torch.no_grad():
        plain = model(image)
        with watched(model) as calls:
            out = model(image)
    assert torch.equal(out, plain)
    assert [seen.name for seen in calls] == [f"encoder.layers.{i}.self_attn" for i in range(2)]
    assert [tuple(seen.weights().shape) for seen in calls] == [(2, H, 17, 17)] * 2
