"""Modules in one graph, exported for every length, and mistakes explained by us."""

from functools import partial

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from attncost import Causal, Linear, Linformer, ShapeError, UnsupportedOption, Window
from attncost.mechanisms import formulas
from attncost.nn.attention import Attention
from attncost.nn.block import TransformerBlock
from attncost.nn.cache_for import cache_for
from attncost.nn.rope import Rope

D, H, N = 32, 4, 40
X = torch.zeros(2, N, D)


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()
    torch.manual_seed(0)


def tokens(n=N):
    return torch.randn(2, n, D, dtype=torch.float64).requires_grad_()


def block(mixing, **options):
    layer = Attention(D, H, mixing, kv_heads=2, qk_norm=True, rope=Rope(), **options)
    return TransformerBlock(layer).double()


def run(module, x, **wishes):
    torch.manual_seed(1)
    out = module(x, **wishes)
    return out, torch.autograd.grad(out.square().sum(), x)


WISHES = {
    "key_mask": torch.arange(N) >= torch.tensor([[9], [0]]),
    "segments": (torch.arange(N) // 15).expand(2, N),
}


@pytest.mark.parametrize(
    ("module", "wishes"),
    [
        (block(Window(9), dropout=0.2), WISHES),
        (block(Causal()), {}),
        (block(Linformer(6), length=N + 9), {"key_mask": WISHES["key_mask"]}),
        (block(Linear(causal=True)), {"key_mask": WISHES["key_mask"]}),
        (Attention(D, H, bias=False).double(), {"context": tokens(11).detach()}),
    ],
    ids=["window", "causal", "linformer", "linear", "context"],
)
def test_a_module_is_one_graph(module, wishes):
    x = tokens()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(run(compiled, x, **wishes), run(module, x, **wishes))


def test_one_graph_serves_every_length():
    counter = CompileCounterWithBackend("aot_eager")
    module = Attention(D, H, Window(9), rope=Rope()).double()
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend=counter)
    for n in (40, 41, 150):
        torch.testing.assert_close(run(compiled, x := tokens(n)), run(module, x))
    assert counter.frame_count <= 2


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_code_of_inductor_agrees_for_a_padded_window():
    module, x = Attention(D, H, Window(9), rope=Rope()).double(), tokens()
    with torch.no_grad():
        compiled = torch.compile(module, fullgraph=True)
        key_mask = WISHES["key_mask"]
        torch.testing.assert_close(compiled(x, key_mask=key_mask), module(x, key_mask=key_mask))


# PyTorch 2.11 says so of its own file.
@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")
def test_an_exported_block_takes_every_length(tmp_path):
    module = block(Window(9))
    length = {1: torch.export.Dim("length", min=2, max=4096)}
    exported = torch.export.export(
        module,
        (tokens().detach(),),
        {"key_mask": WISHES["key_mask"]},
        dynamic_shapes={"x": length, "key_mask": length},
    )
    torch.export.save(exported, tmp_path / "block.pt2")
    loaded = torch.export.load(tmp_path / "block.pt2").module()
    for n in (2, 40, 130):
        x, key_mask = tokens(n).detach(), torch.rand(2, n) > 0.3
        torch.testing.assert_close(loaded(x, key_mask=key_mask), module(x, key_mask=key_mask))


def test_a_module_compiles_around_a_cache():
    module = Attention(D, H, Causal(), rope=Rope()).double()
    x, cache = tokens().detach(), cache_for(Causal())
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        steps = [compiled(part, cache=cache) for part in x.split((30, 10), 1)]
        torch.testing.assert_close(torch.cat(steps, 1), module(x))


@pytest.mark.parametrize("mixing", ["window", Window, None], ids=str)
def test_what_is_no_pattern_is_refused(mixing):
    with pytest.raises(
        ShapeError, match=r"pattern or mechanism such as .* attncost.pattern\(name\)"
    ):
        Attention(D, H, mixing)


@pytest.mark.parametrize("use", [partial(Attention, D, H), cache_for], ids=["layer", "cache"])
def test_what_has_a_price_and_no_code_is_refused(use):
    for name in formulas.names():
        with pytest.raises(UnsupportedOption, match=f"^{name} is priced and not run here:") as said:
            use(formulas.load(name).examples()[0])
        assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("x", "context", "reason"),
    [
        (X[0], None, r"x must have shape \(batch, length, d_model = 32\), got \(40, 32\)"),
        (X[..., :8], None, r"got \(2, 40, 8\)"),
        (X, X[..., :8], r"context must have shape .* got \(2, 40, 8\)"),
        (X, X[:1], "one batch size, got 2, 1, 1"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(x, context, reason):
    with pytest.raises(ShapeError, match=reason):
        Attention(D, H)(x, context)
