"""A swapped model against transformers' own eager attention under a complete mask."""

import numpy as np
import pytest
import torch
from tests.train.quality.models.readings import (
    bert,
    dense,
    eager,
    gpt2,
    llama,
    reading,
    texts,
)

import attncost as ac
from attncost.core.errors import UnsupportedOption
from attncost.mechanisms.linear import Linear
from attncost.train.quality.models.compare import Swaps, compare

NARROW = ac.Window(7, ahead=3)
LENGTHS = (24, 24, 17, 24, 9)


def tried(*attentions, **more):
    return Swaps(attentions=lambda _length, _ahead: attentions, **more)


def vectors(model, some, pattern):
    """Return vectors and states, each text by itself."""
    outputs = [eager(model, text, dense(pattern, len(text), causal=False)) for text in some]
    states = [[state[0].double().numpy() for state in one.hidden_states[1:]] for one in outputs]
    return np.stack([one[-1].mean(0) for one in states]), states


def test_cosines_and_neighbours_are_those_of_vectors_computed_apart(generator):
    model, some = bert(), texts(generator, *LENGTHS)
    found = compare(reading(model, some, "mean"), tried(NARROW))
    (one,) = found.swapped
    before, states = vectors(model, some, ac.Full())
    after, changed = vectors(model, some, NARROW)
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (before, after)]
    cosines = (unit[0] * unit[1]).sum(1)
    assert one.vectors.cosine.value == pytest.approx(cosines.mean(), abs=1e-5)
    assert one.vectors.worst == pytest.approx(cosines.min(), abs=1e-5)
    assert one.vectors.worst_text == cosines.argmin()
    own, new = (x @ x.T - 9 * np.eye(len(x)) for x in unit)
    same = own.argmax(1) == new.argmax(1)
    assert one.vectors.nearest.value == pytest.approx(same.mean())
    others = [set(np.argsort(-own[i])[:2]) & set(np.argsort(-new[i])[:2]) for i in range(5)]
    assert one.vectors.top == 2
    assert one.vectors.overlap.value == pytest.approx(np.mean([len(x) / 2 for x in others]))
    assert found.apart == pytest.approx((own.sum() + 5 * 8) / 20, abs=1e-5)
    moves = [
        np.concatenate(
            [
                np.linalg.norm(b[block] - a[block], axis=1) / np.linalg.norm(a[block], axis=1)
                for a, b in zip(states, changed, strict=True)
            ]
        ).mean()
        for block in range(3)
    ]
    assert one.blocks == pytest.approx(moves, rel=1e-4)


@pytest.mark.parametrize("make", [llama, gpt2])
def test_nats_by_position_are_those_of_a_dense_mask(make, generator):
    model, some = make(), texts(generator, 140, 70)
    pattern = ac.Longformer(9, tokens=2, ahead=0)
    found = compare(reading(model, some, None), tried(pattern, alone=False))
    (one,) = found.swapped
    nats = {"was": [], "now": [], "divergence": []}
    for text in some:
        own, new = (
            eager(model, text, dense(p, len(text), causal=True)).logits[0].double().log_softmax(-1)
            for p in (ac.Full(), pattern)
        )
        for at in range(1, len(text)):
            nats["was"].append((at, -float(own[at - 1, text[at]])))
            nats["now"].append((at, -float(new[at - 1, text[at]])))
            apart = (own[at - 1].exp() * (own[at - 1] - new[at - 1])).sum()
            nats["divergence"].append((at, float(apart)))
    assert [(b.start, b.tokens) for b in one.tokens.buckets] == [(0, 126), (64, 70), (128, 12)]
    for bucket in one.tokens.buckets:
        for name, each in nats.items():
            of = [value for at, value in each if bucket.start <= at < bucket.stop]
            assert getattr(bucket, name) == pytest.approx(np.mean(of), rel=2e-4)
    change = np.mean([v for _, v in nats["now"]]) - np.mean([v for _, v in nats["was"]])
    assert one.tokens.added.value == pytest.approx(change, rel=1e-3)
    assert one.tokens.added.low < change < one.tokens.added.high


def test_a_window_as_wide_as_the_text_changes_nothing(generator):
    some = texts(generator, 24, 24, 16, 8)
    found = compare(reading(bert(), some, "mean"), tried(ac.Window(47, ahead=23)))
    (one,) = found.swapped
    assert (one.vectors.nearest.value, one.vectors.overlap.value) == (1, 1)
    assert one.vectors.worst == pytest.approx(1, abs=1e-6)
    assert max(one.blocks) < 1e-5
    assert all(layer.mass == pytest.approx(1, abs=1e-5) for layer in one.layers)
    assert one.pairs_share == 1


def test_mass_kept_and_outputs_moved_are_those_of_dense_weights(generator):
    model, (text,) = bert(), texts(generator, 24)
    (one,) = compare(reading(model, (text,), "mean"), tried(NARROW)).swapped
    reads = dense(NARROW, 24, causal=False)
    for number, layer in enumerate(one.layers):
        held = {}
        attend = model.encoder.layer[number].attention.self
        watch = attend.register_forward_pre_hook(lambda _, inputs, held=held: held.update(x=inputs))
        eager(model, text, dense(ac.Full(), 24, causal=False))
        watch.remove()
        x = held["x"][0].double()
        q, k, v = (
            torch.nn.functional.linear(x, part.weight.double(), part.bias.double())
            .detach()
            .view(24, 2, 16)
            .transpose(0, 1)
            for part in (attend.query, attend.key, attend.value)
        )
        weights = (q @ k.mT / 4).softmax(-1)
        kept = weights * reads
        assert layer.mass == pytest.approx(float(kept.sum(-1).mean()), rel=1e-4)
        out, narrow = weights @ v, kept / kept.sum(-1, keepdim=True) @ v
        assert layer.moved == pytest.approx(float((narrow - out).norm() / out.norm()), rel=1e-4)


def test_one_layer_at_a_time_moves_what_that_layer_alone_moves(generator):
    model, some = bert(), texts(generator, 24, 16)
    wide, narrow = ac.Window(15, ahead=7), ac.Window(3, ahead=1)
    found = compare(reading(model, some, "mean"), tried(wide, narrow))
    assert found.alone_of == "window:width=3,ahead=1", "the one that reads least"
    assert [one.name for one in found.alone] == [one.name for one in found.swapped[0].layers]
    with ac.hf.swap(model, narrow, layers=[1]), torch.no_grad():
        after = [model(input_ids=torch.tensor([t])).last_hidden_state[0].mean(0) for t in some]
    with torch.no_grad():
        before = [model(input_ids=torch.tensor([t])).last_hidden_state[0].mean(0) for t in some]
    cosines = [float(torch.cosine_similarity(a, b, 0)) for a, b in zip(before, after, strict=True)]
    assert found.alone[1].loss == pytest.approx(1 - np.mean(cosines), abs=1e-5)


def test_shares_are_those_that_the_counter_counts(generator):
    model, some = bert(), texts(generator, 150, 150)
    (one,) = compare(reading(model, some, "mean"), tried(ac.Window(3, ahead=1))).swapped
    ids = torch.tensor(some)
    own = ac.count(model, input_ids=ids)
    with ac.hf.swap(model, ac.Window(3, ahead=1)):
        other = ac.count(model, input_ids=ids)
    assert one.attention_share == pytest.approx(other.core.executed / own.core.executed)
    assert one.model_share == pytest.approx(other.executed / own.executed, rel=1e-3)
    assert one.pairs_share == pytest.approx(int(other.core.useful) / int(own.core.useful))


def test_what_cannot_be_swapped_in_is_named_and_the_rest_compared(generator):
    some = texts(generator, 16)
    found = compare(reading(llama(), some, None), tried(ac.Window(4), Linear()))
    assert [one.attention for one in found.swapped] == ["window:width=4"]
    (reason,) = found.refused
    assert reason.startswith("linear")
    assert "\n" not in reason
    with pytest.raises(UnsupportedOption, match="causal"):
        compare(reading(llama(), some, None), tried(Linear(), alone=False))


def test_a_mechanism_is_compared_and_said_to_need_training(generator):
    model, some = llama(), texts(generator, 16, 16)
    found = compare(reading(model, some, None), tried(Linear(causal=True), ac.Window(4)))
    linear, window = found.swapped
    assert (linear.untrained, window.untrained) == (True, False)
    assert all(layer.mass is None and layer.moved > 0 for layer in linear.layers)
    assert found.alone_of == "window:width=4"


def test_the_model_is_left_as_it_was(generator):
    model = bert().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.random.get_rng_state()
    compare(reading(model, texts(generator, 8, 8, 8), "cls"), tried(NARROW))
    assert model.training
    assert model.config._attn_implementation == "sdpa"
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_one_text_has_no_interval_and_no_neighbours(generator):
    found = compare(reading(bert(), texts(generator, 12), "mean"), tried(NARROW, alone=False))
    (one,) = found.swapped
    assert found.apart is None
    assert one.vectors.nearest is None
    assert one.vectors.overlap is None
    assert (one.vectors.cosine.low, one.vectors.cosine.high) == (None, None)
