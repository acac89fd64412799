import sys
from contextlib import contextmanager

import pytest
import torch
from tests.integrations.hf.leaky import made
from tests.integrations.hf.zoo import DECODERS, EAGER_ONLY, PADDINGS, ZOO, inputs, outputs, packed
from transformers import (
    BartConfig,
    BartModel,
    BertConfig,
    BertForSequenceClassification,
    BloomConfig,
    BloomForCausalLM,
    LongformerConfig,
    LongformerModel,
)
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

from attncost.core.errors import AttnCostError, ShapeError, UnsupportedOption
from attncost.integrations.hf.isolation import check_isolation

SET_UPS = [
    (name, implementation)
    for name in ZOO
    for implementation in (("eager",) if name in EAGER_ONLY else ("eager", "sdpa"))
]


@pytest.mark.parametrize(("name", "implementation"), SET_UPS)
def test_models_as_they_come_raise_no_alarm(name, implementation):
    model = made(name, implementation)
    for padding in PADDINGS:
        found = check_isolation(model, inputs(name, padding))
        assert found, str(found)
        something = padding is not None and name != "vit"
        assert bool(found.checked) == (something or name in (*DECODERS, "t5"))


@pytest.mark.parametrize("name", ["llama", "gpt_oss", "t5", "bert"])
def test_neither_does_half_precision(name):
    assert check_isolation(made(name, "eager", torch.bfloat16), inputs(name, "right"))


@pytest.mark.parametrize(
    "function", ["one_head_of_one_layer_peeks", "pairs_of_tokens_read_each_other"]
)
@pytest.mark.parametrize("length", [2, 3, 16, 17, 24])
def test_a_glance_at_the_next_token_is_found(function, length):
    batch = inputs("llama", batch=1, length=length)
    (leak,) = check_isolation(made("llama", function), batch).leaks
    assert leak.kind == "future"
    assert leak.source[1] == leak.target[1] + 1
    assert "eager attention does not" in leak.cause


def test_positions_of_padding_are_no_documents():
    batch = inputs("llama", "left")
    positions = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    assert check_isolation(made("llama", "sdpa"), batch | {"position_ids": positions}).checked == (
        "8 tokens of padding",
        "later tokens",
    )


def test_the_caller_says_whether_tokens_may_read_ahead():
    model = ZOO["bert"]()
    leak = check_isolation(model, inputs("bert"), causal=True).leaks[0]
    assert leak.kind == "future"
    assert not check_isolation(ZOO["llama"](), inputs("llama"), causal=False).checked


def test_embeddings_tuples_and_labels_are_as_good_as_tokens():
    model, batch = made("llama", "without_its_mask"), inputs("llama", "left")
    embedded = model.get_input_embeddings()(batch["input_ids"]).detach()
    mask = batch["attention_mask"]
    for given in (
        {"inputs_embeds": embedded, "attention_mask": mask},
        batch | {"return_dict": False, "labels": batch["input_ids"]},
        batch | {"attention_mask": mask.bool(), "position_ids": None},
    ):
        assert [leak.kind for leak in check_isolation(model, given).leaks] == ["padding"]


def test_a_head_that_says_one_thing_a_sequence_is_looked_under():
    config = BertConfig(**ZOO["bert"].keywords)
    config._attn_implementation = "without_its_mask"
    assert check_isolation(BertForSequenceClassification(config), inputs("bert", "right")).leaks[
        0
    ].source == (0, 16)


def test_encoder_and_decoder_that_share_an_embedding_are_told_apart():
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 2)
    heads = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    config = BartConfig(vocab_size=97, d_model=32, init_std=0.3, **sizes, **heads)
    model, batch = BartModel(config), inputs("t5", "right")
    batch["decoder_attention_mask"] = torch.ones_like(batch["decoder_input_ids"])
    batch["decoder_attention_mask"][1, -2:] = 0
    found = check_isolation(model, batch)
    assert found
    assert found.checked == ("10 tokens of padding", "later tokens")
    model.set_attn_implementation("without_its_mask")
    assert [leak.kind for leak in check_isolation(model, batch).leaks] == ["padding"]
    model.set_attn_implementation("pairs_of_tokens_read_each_other")
    assert "future" in [leak.kind for leak in check_isolation(model, batch).leaks]


def test_a_model_whose_modules_say_nothing_is_causal_if_it_writes():
    model = BloomForCausalLM(BloomConfig(vocab_size=97, hidden_size=32, n_layer=2, n_head=2))
    found = check_isolation(model, inputs("bloom", "left"))
    assert found
    assert found.checked == ("8 tokens of padding", "later tokens")


def test_a_model_that_lengthens_its_rows_itself_is_checked_too():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LongformerModel(LongformerConfig(vocab_size=97, attention_window=16, **sizes))
    assert check_isolation(model, inputs("longformer", "left"))
    leak = check_isolation(model, packed("longformer")).leaks[0]
    assert leak.kind == "document"


@contextmanager
def unchanged(model):
    """Check that a model and what surrounds it are as they were."""
    model.train()
    model.get_decoder().layers[0].eval()
    modes = [module.training for module in model.modules()]
    state, hooks = torch.get_rng_state(), len(model.get_input_embeddings()._forward_hooks)
    implementation, masks = model.config._attn_implementation, [*ALL_MASK_ATTENTION_FUNCTIONS]
    yield
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert len(model.get_input_embeddings()._forward_hooks) == hooks
    assert model.config._attn_implementation == implementation
    assert [*ALL_MASK_ATTENTION_FUNCTIONS] == masks
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("implementation", ["sdpa", "test_maskless", "without_its_mask"])
def test_a_model_is_left_as_it_was(implementation):
    model = made("llama", implementation)
    with unchanged(model):
        check_isolation(model, inputs("llama", "left"))


def test_a_model_is_left_as_it_was_by_an_exception_too():
    model, calls = made("llama", "test_maskless"), []

    def fail(*_):
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("in the middle")

    model.lm_head.register_forward_hook(fail)
    with unchanged(model), pytest.raises(KeyError, match="in the middle"):
        check_isolation(model, inputs("llama", "left"))


def test_dropout_is_off_and_a_sequence_of_nothing_but_padding_is_no_alarm():
    model, batch = made("llama", "sdpa").train(), inputs("llama", "left")
    model.config.attention_dropout = 0.5
    batch["attention_mask"][0] = 0
    assert check_isolation(model, batch)


def test_what_cannot_be_checked_is_refused_in_one_line():
    model, batch = ZOO["llama"](), inputs("llama")
    cache = model(**batch).past_key_values
    with pytest.raises(UnsupportedOption, match="leave past_key_values out"):
        check_isolation(model, batch | {"past_key_values": cache})
    with pytest.raises(ShapeError, match="segments must number each of"):
        check_isolation(model, batch, segments=torch.zeros(1, 3, dtype=torch.long))
    with pytest.raises(UnsupportedOption, match="leave segments out"):
        check_isolation(ZOO["t5"](), inputs("t5"), segments=torch.zeros(2, 24, dtype=torch.long))
    with pytest.raises(ShapeError, match="must have input_ids or inputs_embeds"):
        check_isolation(ZOO["vit"](), inputs("vit"), causal=True)
    with pytest.raises(AttnCostError, match="got Linear"):
        check_isolation(torch.nn.Linear(2, 2), batch)
    model.lm_head.weight.data.fill_(torch.nan)
    with pytest.raises(AttnCostError, match="outputs must be finite"):
        check_isolation(model, batch)
    model.lm_head.weight.data.zero_()
    with pytest.raises(AttnCostError, match="stay the same whatever its tokens are"):
        check_isolation(model, batch)


def test_a_missing_package_names_the_extra_to_install(monkeypatch):
    model = made("llama", "test_maskless")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(AttnCostError, match=r"attncost\[hf\]"):
        check_isolation(model, inputs("llama", "left"))


def test_what_is_found_reads_well():
    told = str(check_isolation(made("llama", "test_maskless"), packed("llama")))
    assert told.startswith("LlamaForCausalLM (test_maskless, float32): 1 leak; checked: later")
    for word in ("why: ", "do: ", "note: ", "times as far"):
        assert word in told
    assert max(map(len, told.splitlines())) <= 80
    fine = str(check_isolation(made("llama", "sdpa"), inputs("llama", "left")))
    assert fine.replace("\n ", "") == (
        "LlamaForCausalLM (sdpa, float32): no leak; checked: 8 tokens of padding, later tokens."
    )
    assert "nothing to check" in str(check_isolation(ZOO["vit"](), inputs("vit")))


def test_what_a_model_answers_is_what_it_answers_without_the_check():
    model, batch = made("llama", "sdpa"), inputs("llama", "left")
    before = outputs(model, batch)
    check_isolation(model, batch)
    assert torch.equal(outputs(model, batch), before)
