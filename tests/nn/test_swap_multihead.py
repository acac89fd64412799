import copy

import pytest
import torch
from tests.nn.drop_in import EMBED, HEADS, pair, tokens
from torch import nn

from attncost import Full, UnknownName, UnsupportedOption, Window
from attncost.nn.multihead import MultiheadAttention
from attncost.nn.swap_multihead import swap_multihead

N = 12


def model():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(EMBED, HEADS, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def test_every_module_is_swapped_and_its_parameters_are_the_same_objects():
    theirs = model()
    before, state = list(theirs.parameters()), copy.deepcopy(theirs.state_dict())
    optimizer = torch.optim.SGD(theirs.parameters(), lr=0.1)
    names = swap_multihead(theirs, Window(2))
    assert names == tuple(f"layers.{layer}.self_attn" for layer in range(3))
    assert all(isinstance(theirs.get_submodule(name), MultiheadAttention) for name in names)
    assert all(one is other for one, other in zip(theirs.parameters(), before, strict=True))
    torch.testing.assert_close(theirs.state_dict(), state, atol=0, rtol=0)
    theirs(torch.ones(1, N, EMBED)).square().sum().backward()
    optimizer.step()
    assert not torch.equal(
        theirs.state_dict()[f"{names[0]}.in_proj_weight"], state[f"{names[0]}.in_proj_weight"]
    )


def test_training_flags_types_hooks_and_other_references_stay():
    theirs = model().double()
    attention, calls = theirs.layers[1].self_attn, []
    attention.eval().note = "mine"
    handle = attention.register_forward_hook(lambda *_: calls.append("after"))
    attention.register_forward_pre_hook(lambda *_: calls.append("before"))
    swap_multihead(theirs)
    assert attention is theirs.layers[1].self_attn
    assert (attention.training, theirs.layers[0].self_attn.training) == (False, True)
    assert (attention.note, attention.out_proj.weight.dtype) == ("mine", torch.float64)
    theirs(tokens(1, N, EMBED))
    handle.remove()
    theirs(tokens(1, N, EMBED))
    assert calls == ["before", "after", "before"]


def test_only_modules_of_the_given_name_are_swapped():
    theirs = model()
    assert swap_multihead(theirs, where="layers.[02].*") == (
        "layers.0.self_attn",
        "layers.2.self_attn",
    )
    assert type(theirs.layers[1].self_attn) is nn.MultiheadAttention


def test_swapping_again_changes_the_pattern():
    theirs, x = model().eval(), torch.randn(1, N, EMBED)
    full = theirs(x)
    names = swap_multihead(theirs, Window(2))
    assert not torch.allclose(theirs(x), full)
    assert swap_multihead(theirs, Full()) == names
    torch.testing.assert_close(theirs(x), full)


def test_a_module_that_is_one_itself_is_swapped_too():
    theirs, _ = pair()
    x = tokens(1, N, EMBED)
    expected = theirs(x, x, x, attn_mask=~Window(3).mask(N, N))
    assert swap_multihead(theirs, Window(3)) == ("",)
    torch.testing.assert_close(theirs(x, x, x), expected, atol=1e-12, rtol=1e-12)


def test_a_layer_that_stands_in_two_places_has_both_names():
    shared = nn.MultiheadAttention(EMBED, HEADS)
    both = nn.ModuleDict({"a": shared, "b": shared})
    assert swap_multihead(both, where="b") == ("b",)
    assert swap_multihead(both) == ("a", "b")
    assert isinstance(both["a"], MultiheadAttention)


class Own(nn.MultiheadAttention):
    pass


def test_after_an_error_nothing_has_changed():
    others = nn.ModuleDict(
        {
            "plain": nn.MultiheadAttention(EMBED, HEADS),
            "extra": nn.MultiheadAttention(EMBED, HEADS, add_bias_kv=True),
            "own": Own(EMBED, HEADS),
        }
    )
    for where, words in (("[pe]*", "no position"), ("[po]*", "own is a .*Own, .* `where`")):
        with pytest.raises(UnsupportedOption, match=words):
            swap_multihead(others, Window(3), where=where)
        assert type(others["plain"]) is nn.MultiheadAttention
    with pytest.raises(UnknownName, match=r"'self_attm'; did you mean 'plain'\?|Known: .*plain"):
        swap_multihead(others, where="self_attm")
    with pytest.raises(UnknownName, match=r"MultiheadAttention in Linear .*There are none"):
        swap_multihead(nn.Linear(2, 2))
