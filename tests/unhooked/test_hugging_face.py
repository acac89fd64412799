"""Models in one graph, exported for every length, and mistakes explained by us."""

import pytest
import torch
from tests.integrations.hf import zoo
from torch import nn
from torch.export import Dim, export
from transformers import CompileConfig

from attncost import Causal, Fixed, Full, Linear, ShapeError, UnsupportedOption, Window, hf
from attncost.integrations.hf.attend import attend
from attncost.mechanisms import formulas

FIXED = Fixed(4, summary=1)
ONE_LAYER = {"gpt2": {"n_layer": 1}, "t5": {"num_layers": 1}}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()


def made(name, dtype=torch.float32):
    return zoo.ZOO[name](dtype, **ONE_LAYER.get(name, {"num_hidden_layers": 1}))


def asked(name, padding=None, **sizes):
    batch = zoo.inputs(name, padding, **sizes)
    return batch if name in zoo.ENCODERS else batch | {"use_cache": False}


def run(model, batch):
    """Return what a model computes, and how it would change its weights."""
    out = zoo.outputs(model, batch)
    weights = list(model.parameters())
    gradients = torch.autograd.grad(out.square().mean(), weights, materialize_grads=True)
    return out.detach(), gradients


@pytest.mark.parametrize(
    ("name", "pattern", "padding", "backend"),
    [
        ("mistral", Window(4), None, "eager"),
        ("mistral", Full(), "right", "eager"),
        ("llama", Window(4), "right", "aot_eager"),
        ("llama", Full(), None, "eager"),
        ("gpt2", Window(4), None, "eager"),
        ("gpt2", Full(), "right", "eager"),
        ("bert", Window(5, ahead=2), "right", "aot_eager"),
        ("bert", FIXED, None, "eager"),
        ("llama", Linear(causal=True), "right", "aot_eager"),
    ],
    ids=str,
)
def test_a_swapped_model_is_one_graph_with_the_same_values(name, pattern, padding, backend):
    model, batch = made(name), asked(name, padding)
    with hf.swap(model, pattern):
        compiled = torch.compile(model, fullgraph=True, backend=backend)
        torch.testing.assert_close(run(compiled, batch), run(model, batch))


@pytest.mark.parametrize("name", ["bert", "llama", "packed"])
def test_where_a_text_begins_is_not_guessed_in_a_graph(name):
    """Packed positions are no padding, but blocks would be counted across the documents."""
    model = made("llama" if name == "packed" else name)
    batch = zoo.packed("llama") | {"use_cache": False} if name == "packed" else asked(name, "right")
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    with (
        hf.swap(model, FIXED),
        pytest.raises(Exception, match=r"counts from the first token of a text, and .*a compiled"),
    ):
        zoo.outputs(compiled, batch)


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_compiled_code_of_inductor_agrees_on_a_window():
    model, batch = made("mistral"), asked("mistral", "right")
    with hf.swap(model, Window(4)), torch.no_grad():
        expected = zoo.outputs(model, batch)
        found = zoo.outputs(torch.compile(model, fullgraph=True), batch)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pattern", [Full(), Window(4)], ids=str)
@pytest.mark.parametrize(("name", "padding"), [("bert", "right"), ("llama", None)])
def test_an_exported_model_serves_every_batch_and_length(name, padding, pattern):
    model, batch = made(name), asked(name, padding)
    every = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    shapes = {key: every if torch.is_tensor(value) else None for key, value in batch.items()}
    with hf.swap(model, pattern), torch.no_grad():
        program = export(model, (), batch, dynamic_shapes=shapes, strict=False).module()
        for length in (37, 3):
            other = asked(name, padding, batch=3, length=length)
            torch.testing.assert_close(zoo.outputs(program, other), zoo.outputs(model, other))


GRAPHS: list[torch.fx.GraphModule] = []


def counting(graph, _inputs):
    GRAPHS.append(graph)
    return graph


@pytest.mark.parametrize("pattern", [Full(), Window(4)], ids=str)
def test_a_compiled_step_of_a_static_cache_writes_the_same_tokens(pattern):
    model, batch = made("llama"), zoo.inputs("llama", "left", length=12)
    wishes = {"max_new_tokens": 16, "do_sample": False}
    config = CompileConfig(backend=counting, fullgraph=True, mode=None)
    config._compile_all_devices = True
    GRAPHS.clear()
    with hf.swap(model, pattern):
        expected = model.generate(**batch, **wishes, disable_compile=True)
        wishes |= {"cache_implementation": "static", "compile_config": config}
        assert torch.equal(model.generate(**batch, **wishes), expected)
    assert 1 <= len(GRAPHS) <= 3  # then one serves every number of filled keys


@pytest.mark.parametrize("attention", ["window", None, Window])
def test_what_is_no_pattern_is_named(attention):
    model = made("llama")
    for use in (lambda: hf.register("odd", attention), lambda: hf.swap(model, attention)):
        with pytest.raises(ShapeError, match="attention must be a pattern or mechanism such as"):
            use()


@pytest.mark.parametrize("layers", [1, 0.5, ["1"]], ids=str)
def test_layers_that_are_no_numbers_are_named(layers):
    with pytest.raises(ShapeError, match="layers must be numbers"):
        hf.swap(made("llama"), Window(4), layers=layers)


def test_a_complete_mask_of_another_size_is_refused():
    module, q = nn.Module(), torch.zeros(2, 4, 6, 8)
    for mask in (torch.zeros(2, 1, 6, 7), torch.ones(2, 1, 7, 6, dtype=torch.bool)):
        with pytest.raises((ShapeError, UnsupportedOption), match=r"\(2, 4, 6, 6\)"):
            attend(module, q, q, q, mask, usual=Causal())


def test_what_has_a_price_and_no_code_is_refused():
    model, formula = made("llama"), formulas.load(formulas.names()[0]).examples()[0]
    for use in (lambda: hf.register("odd", formula), lambda: hf.swap(model, formula)):
        with pytest.raises(UnsupportedOption, match="is priced and not run here:"):
            use()
