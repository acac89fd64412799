"""Modules that call attention functions: found, named, seen in order, and left as before."""

import copy

import pytest
import torch
from tests.view.capture.seen_calls import (
    KEYS,
    B,
    Causal,
    H,
    M,
    N,
    Projects,
    drawn,
    gpt,
    qkv,
    shaken,
    watched,
)
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def test_modules_are_found_at_their_calls_and_named_after_the_innermost():
    model, x = gpt(), drawn(B, N, 16)
    plain = model(x)
    with watched(model, "") as calls:
        out = model(x)
    assert torch.equal(out, plain)
    assert [seen.name for seen in calls] == ["0.attn", "1.attn", "2.attn"]
    with watched(model, "1") as some, watched(model, "2.attn") as others:
        model(x)
    assert [seen.name for seen in some] == ["1.attn"]
    assert [seen.name for seen in others] == ["2.attn"]
    assert torch.equal(some[0].q, calls[1].q)


def test_a_module_is_as_before_also_after_an_error():
    model = gpt(1)
    with pytest.raises(RuntimeError), watched(model, "") as calls:
        model(drawn(B, N, 3))
    assert not any("forward" in vars(module) for module in model.modules())
    assert torch.overrides._get_current_function_mode() is None
    model(drawn(B, N, 16))
    assert calls == []
    with watched(model, "") as calls:
        with pytest.raises(RuntimeError):
            model(drawn(B, N, 3))
        functional.scaled_dot_product_attention(*qkv())
        model(drawn(B, N, 16))
    assert [seen.name for seen in calls] == ["0.attn"]


def test_what_a_module_was_given_as_its_forward_is_run_and_given_back():
    model, x = gpt(1), drawn(B, N, 16)
    attn = model[0].attn
    own = attn.forward = lambda x: 2 * type(attn).forward(attn, x)
    plain = model(x)
    with watched(model, "0.attn") as calls:
        assert torch.equal(model(x), plain)
    assert attn.forward is own
    assert len(calls) == 1


def test_who_leaves_first_takes_nothing_from_who_stays():
    model, x = gpt(1), drawn(B, N, 16)
    first, second = watched(model, ""), watched(model, "")
    early = first.__enter__()
    late = second.__enter__()
    first.__exit__(None, None, None)
    model(x)
    assert (len(early), len(late)) == (0, 1)
    second.__exit__(None, None, None)
    model(x)
    assert (len(early), len(late)) == (0, 1)


def test_a_copy_made_meanwhile_computes_by_itself():
    model, x = gpt(1), drawn(B, N, 16)
    with watched(model, ""):
        other = copy.deepcopy(model)
        shaken(other, seed=9)
        out = other(x)
    assert torch.equal(out, shaken(gpt(1), seed=9)(x))


class Again(nn.Module):
    """One attention, three times in a pass, and another twice by itself."""

    def __init__(self):
        super().__init__()
        self.one = self.same = Causal()
        self.two = nn.MultiheadAttention(16, H, batch_first=True)

    def forward(self, x):
        x = self.same(self.one(x))
        x = self.two(x, x, x)[0]
        return self.two(self.one(x), x, x)[0]


def test_modules_that_attend_several_times_keep_their_order():
    model = shaken(Again())
    with watched(model, "one", "two") as calls:
        model(drawn(B, N, 16))
    assert [seen.name for seen in calls] == ["one", "one", "two", "one", "two"]
    assert [seen.cross for seen in calls] == [False, False, False, False, True]


class Mixed(nn.Module):
    """PyTorch's encoder, which computes at once, beside a module that calls a function."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, H, 32, batch_first=True)
        self.encoder, self.attn = nn.TransformerEncoder(layer, 1), Causal()

    def forward(self, x, padded):
        x = self.encoder(x, src_key_padding_mask=padded)
        return functional.scaled_dot_product_attention(self.attn(x), x, x)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_whole_model_is_watched_without_a_bit_of_change():
    model, x = shaken(Mixed()).eval(), drawn(B, M, 16)
    with torch.no_grad():
        plain = model(x, ~KEYS[:1].expand(B, -1))
        with watched(model, "") as calls:
            out = model(x, ~KEYS[:1].expand(B, -1))
    assert torch.equal(out, plain)
    assert [seen.name for seen in calls] == ["encoder.layers.0.self_attn", "attn", ""]


class Noted(TorchFunctionMode):
    """Notes which functions are called."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.found.append(func)
        return func(*args, **(kwargs or {}))


def test_who_else_watches_functions_meets_those_of_the_model_alone():
    model, x = shaken(nn.Sequential(Causal(), Projects())), drawn(N, B, 16)
    with Noted() as alone:
        model(x)
    with Noted() as beneath, watched(model, "") as calls, Noted() as above:
        model(x)
    assert len(calls) == 2
    assert beneath.found.count(functional.linear) == alone.found.count(functional.linear)
    assert above.found.count(functional.linear) == alone.found.count(functional.linear)
