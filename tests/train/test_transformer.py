import pytest
import torch
from tests.every import every_mechanism, every_pattern
from tests.train.small import SIZES, Either, Ragged

from attncost import Causal, Full, Window
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.mechanisms.linear import Linear
from attncost.train.loop import train
from attncost.train.recipe import Recipe
from attncost.train.transformer import Sizes, Transformer


def tokens(generator, task, batch=3):
    return torch.randint(task.vocabulary, (batch, task.length), generator=generator)


def learned(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@every_pattern
def test_it_learns_with_every_pattern(pattern, generator):
    check_it_learns(Transformer(Either(), pattern, SIZES), generator)


@every_mechanism
def test_it_learns_with_every_mechanism(mechanism, generator):
    check_it_learns(Transformer(Either(), mechanism, SIZES), generator)


def check_it_learns(model, generator):
    scores = model(tokens(generator, Either()))
    assert scores.shape == (3, 1, 2)
    scores.square().sum().backward()
    assert all(x.grad.isfinite().all() for x in model.parameters() if x.requires_grad)
    assert model.embedding.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("attention", [Causal(), Window(3), Linear(causal=True)], ids=str)
def test_no_output_of_a_causal_task_depends_on_a_later_token(attention, generator):
    model = Transformer(Ragged(), attention, SIZES)
    given = tokens(generator, Ragged())
    changed = given.clone()
    changed[:, 5] = (given[:, 5] + 1) % 7
    before, after = model(given), model(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert not torch.equal(before[:, 5], after[:, 5])


def test_neighbours_lie_on_both_sides_where_the_task_is_not_causal(generator):
    model = Transformer(Either(), Window(1), SIZES)  # a token reads itself
    x = torch.zeros(1, 9, 8)
    x[:, 4] = torch.randn(8, generator=generator)
    moved = (model.mixers[0](x) != model.mixers[0](torch.zeros(1, 9, 8))).any(-1)
    assert moved.nonzero()[:, 1].tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("attention", "message"),
    [
        (
            Full(),
            r"^full reads ahead, and the labels of Ragged\(\) .* attention, such as causal or ",
        ),
        (
            Window(5, ahead=2),
            r"^window:width=5,ahead=2 reads .* Python pattern & Causal\(\)\.$",
        ),
        (Linear(), r"^linear.* reads ahead.* such as linear:causal=1\.$"),
    ],
    ids=str,
)
def test_what_reads_the_labels_is_refused(attention, message):
    with pytest.raises(UnsupportedOption, match=message):
        Transformer(Ragged(), attention, SIZES)


def test_computing_blocks_again_gives_the_same_gradients(generator):
    plain, again = (
        Transformer(Ragged(), Causal(), SIZES, checkpointing=checkpointing)
        for checkpointing in (False, True)
    )
    given, runs = tokens(generator, Ragged()), []
    again.blocks[0].attention.register_forward_hook(lambda *_: runs.append(again))
    gradients = []
    for model in (plain, again):
        model(given).square().sum().backward()
        gradients.append([x.grad for x in model.parameters() if x.requires_grad])
    assert len(runs) == 2  # and once more in the backward pass
    assert all(map(torch.equal, *gradients))


def test_a_seed_decides_the_weights_and_moves_no_generator():
    state = torch.get_rng_state()
    first, same, other = (Transformer(Ragged(), Causal(), SIZES, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), state)
    pairs = learned(first), learned(same)
    assert all(torch.equal(pairs[0][name], pairs[1][name]) for name in pairs[0])
    assert not torch.equal(first.head.weight, other.head.weight)


def test_no_score_exceeds_the_root_of_the_features_whatever_was_learned(generator):
    model = Transformer(Ragged(), Causal(), SIZES)
    recipe = Recipe(steps=5, learning_rate=10.0, warmup=0.0, clip=None)
    rows = train(model, Ragged(), recipe, every=1).rows
    assert float(model.blocks[0].attention.qkv.weight.detach().abs().max()) > 5
    logits = [layer.largest_logit for row in rows for layer in row.layers]
    assert 1 < max(logits) <= 2 + 1e-6  # 4 features a head
    sizes = Sizes(d_model=8, layers=2, heads=2, qk_norm=False)
    rows = train(Transformer(Ragged(), Causal(), sizes), Ragged(), recipe, every=1).rows
    assert max(layer.largest_logit for row in rows for layer in row.layers) > 100


def test_more_tokens_than_there_are_positions_are_refused(generator):
    model = Transformer(Ragged(), Causal(), SIZES)
    assert model(torch.zeros(1, 4).long()).shape == (1, 4, 7)
    with pytest.raises(ShapeError, match="at most 9 tokens, got 10"):
        model(torch.zeros(1, 10).long())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"heads": 3}, "heads must divide d_model, got 3 heads for 8 features."),
        ({"layers": 0}, "layers must be at least 1, got 0."),
        ({"convolution": 0}, "convolution must be at least 1, got 0."),
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong, message):
    with pytest.raises(ShapeError, match=message):
        Transformer(Ragged(), Causal(), Sizes(**{"d_model": 8, "heads": 2, **wrong}))
