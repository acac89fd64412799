"""Whole models without an operation that has no price, and operations that must have none."""

from collections.abc import Callable

import pytest
import torch
from tests.cost.counting.pricing import Priced, cost_of
from tests.integrations.hf.zoo import ZOO, inputs
from torch import nn
from torch.nn import functional

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.free import FREE, is_view
from attncost.cost.counting.prices import price_for
from attncost.cost.counting.registry import price

# What the whole count meets as a function, and mutes beneath.
ATTENTION = "scaled_dot_product"


def unpriced(call):
    with Priced() as priced:
        call()
    return [name for name in priced.unpriced if ATTENTION not in name]


def trained(model, given, **options):
    """Run a model forward and backward, and make a step."""
    found = model(**given)
    out = found.logits if "logits" in found else found.last_hidden_state
    scores = out.flatten(0, 1)
    functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    torch.optim.AdamW(model.parameters(), **options).step()


@pytest.mark.parametrize("name", ZOO)
def test_every_operation_of_a_training_step_has_a_price(name):
    model, given = ZOO[name]().train(), inputs(name, None if name == "vit" else "left")
    assert not unpriced(lambda: trained(model, given, fused=True))


@pytest.mark.parametrize("name", ZOO)
def test_every_operation_of_a_served_model_has_a_price(name):
    model, given = ZOO[name](), inputs(name, None if name == "vit" else "right")
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert not unpriced(lambda: model(**given))


class Residual(nn.Module):
    """Two grouped convolutions and what goes around them."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.BatchNorm2d(8)

    def forward(self, x):
        return functional.relu(x + self.norm(self.first(x)))


def vision():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.SiLU(),
        nn.MaxPool2d(2),
        Residual(),
        nn.AvgPool2d(2),
        nn.ConvTranspose2d(8, 8, 2, stride=2),
        nn.GroupNorm(2, 8),
        nn.Hardswish(),
        nn.Dropout(),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Upsample(scale_factor=2),
        nn.ReflectionPad2d(1),
        nn.PixelShuffle(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2, 10),
        nn.LeakyReLU(),
        nn.ELU(),
        nn.Softplus(),
        nn.PReLU(),
    )


def sequences(module):
    return lambda device: module(torch.randn(2, 5, 6, device=device, requires_grad=True))[0]


# A module, and a call of it on a device.
MODULES: dict[str, Callable[[], tuple[nn.Module, Callable[[str], torch.Tensor]]]] = {
    "vision": lambda: (
        net := vision(),
        lambda device: net(torch.randn(2, 3, 32, 32, device=device)),
    ),
    "lstm": lambda: (net := nn.LSTM(6, 4, 2, bidirectional=True, batch_first=True), sequences(net)),
    "gru": lambda: (net := nn.GRU(6, 4), sequences(net)),
    "plain": lambda: (net := nn.RNN(6, 4, bias=False), sequences(net)),
    "transformer": lambda: (
        net := nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
        lambda device: net(
            torch.randn(2, 5, 8, device=device), torch.randn(2, 4, 8, device=device)
        ),
    ),
    "bags": lambda: (
        net := nn.EmbeddingBag(7, 4),
        lambda device: net(torch.zeros(2, 5, dtype=torch.long, device=device)),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_every_operation_of_a_module_has_a_price(name):
    module, call = MODULES[name]()
    assert not unpriced(lambda: call("cpu").sum().backward())
    module.eval()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert not unpriced(lambda: call("cpu"))


@pytest.mark.parametrize("name", ["vision", "gru", "plain", "bags"])
def test_a_module_has_the_same_flops_on_the_meta_device(name):
    module, call = MODULES[name]()
    real = cost_of(lambda: call("cpu").sum().backward())
    module.to("meta")
    assert cost_of(lambda: call("meta").sum().backward()).dense == real.dense


def test_a_recurrent_layer_costs_the_same_fused_and_step_by_step():
    module, call = MODULES["lstm"]()
    with torch.no_grad():
        fused = cost_of(lambda: call("cpu"))
        module.to("meta")
        steps = cost_of(lambda: call("meta"))
    # Each of two layers in two directions: all gates of 10 tokens, from inputs and from states.
    assert fused.dense == steps.dense == 2 * 10 * 2 * 16 * ((6 + 4) + (8 + 4))
    assert fused.elementwise == steps.elementwise


def layer_and_input():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()
    return layer, torch.randn(2, 5, 8)


def fast(layer, given, **options):
    """Return the price of the fast path of an encoder layer."""
    with torch.no_grad(), Priced() as priced:
        layer(given, **options)
    (cost,) = [
        cost for name, _, cost in priced.costs if name == "aten::_transformer_encoder_layer_fwd"
    ]
    return cost


def test_the_fast_path_of_an_encoder_layer_costs_what_its_parts_do():
    layer, given = layer_and_input()
    projections, network, attention = 4 * 10 * 8 * 8, 2 * 10 * 8 * 16, 2 * 2 * 25 * 8
    cost = fast(layer, given)
    assert cost.dense == cost.useful == cost.executed == 2 * (projections + network + attention)


def test_the_fast_path_of_an_encoder_layer_tells_what_its_mask_hides():
    layer, given = layer_and_input()
    without = fast(layer, given)
    padded = torch.zeros(2, 5, dtype=torch.bool)
    padded[0, 3:] = True
    by_keys = fast(layer, given, src_key_padding_mask=padded)
    causal = fast(layer, given, src_mask=torch.ones(5, 5, dtype=torch.bool).triu(1))
    assert by_keys.dense == causal.dense == by_keys.executed == without.dense
    # A pair is 2 products of 8 features; 2 keys of 5 queries are hidden, or 10 pairs twice.
    assert without.useful - by_keys.useful == 2 * 2 * 8 * 5 * 2
    assert without.useful - causal.useful == 2 * 2 * 8 * 10 * 2


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_the_fast_path_of_an_encoder_leaves_padding_out():
    layer, given = layer_and_input()
    padded = torch.zeros(2, 5, dtype=torch.bool)
    padded[0, 3:] = True
    encoder = nn.TransformerEncoder(layer, 1).eval()
    with torch.no_grad(), Priced() as priced:
        encoder(given, src_key_padding_mask=padded)
    assert not priced.unpriced
    # Sequences of 3 and 5 tokens; without a mask, there are two times 5 x 5 pairs.
    weights, tokens, pair = 4 * 8 * 8 + 2 * 8 * 16, 3 + 5, 2 * 2 * 8
    assert priced.total.executed == 2 * tokens * weights + pair * (9 + 25)
    assert priced.total.useful == priced.total.executed
    assert priced.total.dense == 2 * tokens * weights + pair * (25 + 25)


def test_the_fast_path_of_multi_head_attention_costs_what_its_parts_do():
    attention, given = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(2, 5, 8)
    with torch.no_grad():
        cost = cost_of(lambda: attention(given, given, given))
    assert cost.dense == 2 * (4 * 10 * 8 * 8 + 2 * 2 * 25 * 8)


@pytest.mark.skipif(
    not hasattr(nn, "LinearCrossEntropyOptions"), reason="this version of PyTorch has no such loss"
)
def test_logits_and_loss_in_one_operation_cost_their_products():
    given, weight = (torch.randn(size, 4, requires_grad=True) for size in (6, 9))
    options = nn.LinearCrossEntropyOptions(chunking_method=None, batch_chunk_size=3)
    with Priced() as priced:
        target = torch.zeros(6, dtype=torch.long)
        functional.linear_cross_entropy(given, weight, target, options=options).backward()
    assert priced.total.dense == 3 * 2 * 6 * 4 * 9
    assert not priced.unpriced


def pointwise_operations():
    for name in torch._C._dispatch_get_all_op_names():
        library, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if library == "aten":
            operation = getattr(getattr(torch.ops.aten, packet), overload or "default")
            if torch.Tag.pointwise in operation.tags and not operation._can_decompose():
                yield operation


def test_every_operation_that_pytorch_calls_pointwise_has_a_price():
    operations = list(pointwise_operations())
    assert len(operations) > 400
    assert not [operation.name() for operation in operations if price_for(operation) is None]


def test_operations_in_place_and_into_a_result_are_priced_like_the_others():
    aten = torch.ops.aten
    ours = price_for(aten.ge.Scalar)
    for operation in (aten.ge_.Scalar, aten.ge.Scalar_out, aten.gelu_.default, aten.mul.Scalar_out):
        assert price_for(operation) == ours


def test_a_view_is_free_and_a_copy_of_one_is_not():
    aten = torch.ops.aten
    assert price_for(aten.transpose.int) == price_for(aten.split.Tensor) == FREE
    assert not is_view(aten.add_.Tensor)
    assert not is_view(aten.mm.default)
    assert price_for(aten.transpose_copy.int).step == "movement"


@pytest.fixture
def library():
    with torch.library._scoped_library("attncost_tests", "FRAGMENT") as made:
        yield made


def test_a_custom_operation_that_hides_a_product_has_no_price(library):
    library.define("hidden(Tensor a, Tensor b) -> Tensor")
    library.impl("hidden", lambda a, b: a @ b, "CompositeExplicitAutograd")
    a = torch.ones(2, 2)
    with Priced() as priced:
        torch.ops.attncost_tests.hidden(a, a)
    assert priced.unpriced == {"attncost_tests::hidden": 1}
    assert priced.total.dense == 0


def test_a_custom_operation_is_pointwise_only_if_it_says_so_itself(library):
    library.define("mixed(Tensor a) -> Tensor", tags=(torch.Tag.pointwise,))
    library.define("mixed.product(Tensor a, Tensor b) -> Tensor")
    mixed = torch.ops.attncost_tests.mixed
    assert price_for(mixed.default).step == "elementwise"
    assert price_for(mixed.product) is None


def test_a_custom_operation_made_of_others_is_counted_by_them(library):
    library.define("open(Tensor a, Tensor b) -> Tensor")
    library.impl("open", lambda a, b: a @ b, "CompositeImplicitAutograd")
    a = torch.ones(2, 2)
    with torch.inference_mode():
        assert cost_of(lambda: torch.ops.attncost_tests.open(a, a)).dense == 16


def test_a_price_of_somebody_else_is_used(library):
    library.define("squared(Tensor a) -> Tensor")
    library.impl("squared", lambda a: a @ a, "CompositeExplicitAutograd")
    squared = torch.ops.attncost_tests.squared

    @price(squared)
    def formula(a, *, out):
        return Cost.product(*a.shape, out.shape[1])

    a = torch.ones(3, 3)
    assert cost_of(lambda: squared(a)) == Cost.product(3, 3, 3)


@pytest.mark.parametrize("name", ["_linalg_svd", "linalg_qr", "_linalg_eigh", "linalg_cholesky_ex"])
def test_what_nobody_wrote_a_formula_for_is_not_free(name):
    assert price_for(getattr(torch.ops.aten, name).default) is None
