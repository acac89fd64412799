import pytest
import torch
from tests.integrations.hf.leaky import made
from tests.integrations.hf.zoo import DECODERS, EAGER_ONLY, ZOO, inputs, packed
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

from attncost.integrations.hf.isolation import check_isolation

# gpt-oss tells its attention nothing of documents, see below.
PACKING = [name for name in DECODERS if name != "gpt_oss"]


@pytest.mark.parametrize("name", PACKING)
def test_packed_documents_leak_with_a_cache_or_a_mask_and_not_without(name):
    model, batch = made(name, "eager" if name in EAGER_ONLY else "sdpa"), packed(name)
    ones = {"attention_mask": torch.ones_like(batch["input_ids"])}
    assert check_isolation(model, batch | {"use_cache": False}).checked[-1] == "3 documents"
    assert check_isolation(model, batch | {"use_cache": False})
    cached, masked, both = (
        check_isolation(model, batch | more).leaks
        for more in ({}, ones | {"use_cache": False}, ones)
    )
    for leaks in (cached, masked, both):
        assert [leak.kind for leak in leaks] == ["document"]
        (_, source), (_, target) = leaks[0].source, leaks[0].target
        assert (source < 11 <= target) or (source < 18 <= target)
    assert cached[0].remedy == "pass use_cache=False"
    assert masked[0].remedy.startswith("leave attention_mask out")
    assert "use_cache=False" in both[0].remedy
    assert "leave attention_mask out" in both[0].remedy


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_leak_that_only_training_with_checkpoints_mends_is_found_and_said(name):
    model, batch = made(name, "sdpa").train(), packed(name)
    model.activation_checkpointing_enable()
    leak = check_isolation(model, batch).leaks[0]
    assert "only in training" in leak.cause
    assert leak.remedy == "pass use_cache=False"
    alone = [model(input_ids=x, use_cache=False).logits for x in batch["input_ids"].split(11, 1)]
    torch.testing.assert_close(model(**batch).logits[:, :11], alone[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2", "bert", "t5"])
def test_a_function_without_its_mask_function_is_named(name):
    found = check_isolation(made(name, "test_maskless"), inputs(name, "left"))
    (leak,) = found.leaks
    assert leak.kind == "padding"
    assert "'test_maskless' is registered without a mask function" in leak.cause
    assert leak.remedy.startswith("AttentionMaskInterface.register('test_maskless', sdpa_mask)")
    assert "test_maskless" not in ALL_MASK_ATTENTION_FUNCTIONS


def test_two_causes_are_both_named():
    leak = check_isolation(made("llama", "test_maskless"), packed("llama")).leaks[0]
    assert "without a mask function" in leak.cause
    assert "use_cache is on" in leak.cause


def test_a_function_without_its_mask_function_is_noted_where_nothing_leaks():
    found = check_isolation(made("mistral", "test_maskless"), inputs("mistral"))
    assert found
    assert "windows and documents are lost" in " ".join(found.notes)


@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
def test_a_function_that_drops_its_mask_is_told_from_one_that_gets_none(name):
    leaks = check_isolation(made(name, "without_its_mask"), inputs(name, "left")).leaks
    assert leaks[0].kind == "padding"
    assert leaks[0].source[0] == leaks[0].target[0] == 0
    assert leaks[0].source[1] < 8
    assert "'without_its_mask' reads what its mask hides" in leaks[0].cause


@pytest.mark.parametrize("name", ["bert", "distilbert", "modernbert", "gpt_oss"])
def test_positions_do_not_isolate_in_models_that_make_no_mask_of_documents(name):
    """Not even gpt-oss, whose masks are made without position_ids in transformers 5.24."""
    model, batch = ZOO[name](), packed(name) | {"use_cache": False}
    if name != "gpt_oss":
        del batch["position_ids"], batch["use_cache"]
    numbers = torch.arange(30)[None] // 10
    leak = check_isolation(model, batch, segments=numbers).leaks[-1]
    assert leak.kind == "document"
    assert "makes no mask of documents" in leak.cause
    same = (numbers[..., None] == numbers[:, None])[:, None]
    mask = torch.zeros(same.shape).masked_fill(~(same if name != "gpt_oss" else same.tril()), -1e9)
    assert check_isolation(model, batch | {"attention_mask": mask}, segments=numbers)


TOLD = {
    "positions": packed("llama"),
    "ends": {"cu_seq_lens_q": torch.tensor([0, 11, 18, 30], dtype=torch.int32)},
    "numbers": {"seq_idx": torch.tensor([[0] * 11 + [1] * 7 + [2] * 12], dtype=torch.int32)},
    "counting mask": {"attention_mask": torch.tensor([[1] * 11 + [2] * 7 + [3] * 12])},
}


@pytest.mark.parametrize("how", TOLD)
def test_documents_are_read_however_the_batch_tells_them(how):
    batch = {"input_ids": packed("llama")["input_ids"], "use_cache": False} | TOLD[how]
    found = check_isolation(made("llama", "sdpa"), batch)
    assert found.checked[-1] == "3 documents"
    assert bool(found) == (how == "positions")
    assert how == "positions" or "begin at 0 in each document" in found.leaks[0].remedy


@pytest.mark.parametrize("name", ["llama", "gemma3", "modernbert"])
def test_padding_that_turns_nan_and_spreads_is_explained(name):
    """Their softmax is in float32, where the lowest float64 is minus infinity."""
    (leak,) = check_isolation(made(name, "eager", torch.float64), inputs(name, "left")).leaks
    assert (leak.kind, leak.target[0], leak.source) == ("padding", 0, (0, 0))
    assert leak.moved == 16
    assert "becomes NaN" in leak.cause
