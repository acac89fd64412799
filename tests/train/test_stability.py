"""What is left out of the recipe is left out, and nothing else; and what then happens."""

import math
from dataclasses import fields, replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, layer_norm

from attncost.core.errors import ShapeError, UnknownName
from attncost.train.recipe import Recipe
from attncost.train.stability.sensitivity import sensitivity
from attncost.train.stability.trial import Setting, Trial, trial
from attncost.train.stability.variants import ABLATIONS, RECIPE, VARIANTS, variant
from attncost.train.tasks.bytes import Bytes
from attncost.train.telemetry import LayerRow, Row
from attncost.train.transformer import Sizes

TASK = Bytes(length=16)
SIZES = Sizes(d_model=16, layers=2, heads=2, hidden=16, convolution=1)
SMALL = Setting(task=TASK, sizes=SIZES, recipe=Recipe(steps=12, batch=4), held_out=8, every=1)
BRIEF = replace(SMALL, recipe=Recipe(steps=2, batch=2))
NAMES = [one.name for one in VARIANTS]


def built(name, seed=0):
    return variant(name).build(TASK, SIZES, seed=seed)


def count(model, kind):
    return sum(type(module) is kind for module in model.modules())


def outcome(*losses, start=5.0, end=2.0):
    rows = tuple(Row(i, loss, 0.1, 1.0, None) for i, loss in enumerate(losses))
    return Trial(variant="the recipe", rate=0.1, seed=0, rows=rows, start=start, end=end)


def test_sensitivity_is_that_of_a_table_worked_out_by_hand():
    # 3 2 2 5 5 after what is worse than the start, or not finite, was put to it: 17 / 5 - 2.
    assert sensitivity([3.0, 2.0, 2.0, 7.0, math.nan], start=5.0) == pytest.approx(1.4)
    assert sensitivity([3.0, 2.0, 2.0, 7.0, -math.inf], start=5.0) == pytest.approx(1.4)
    assert sensitivity([2.5, 2.5], start=5.0) == 0
    assert sensitivity([9.0, math.inf], start=5.0) == 0


@pytest.mark.parametrize(("losses", "start"), [([], 5.0), ([1.0], math.nan), ([1.0], math.inf)])
def test_sensitivity_of_nothing_is_refused(losses, start):
    with pytest.raises(ShapeError, match=r"must be finite|needs the loss"):
        sensitivity(losses, start=start)


@pytest.mark.parametrize(
    ("name", "layer_norms", "rms_norms"),
    [
        ("the recipe", 5, 4),
        ("no LayerNorm", 0, 4),
        ("no QK-norm", 5, 0),
        ("no norm at all", 0, 0),
        ("norms after", 4, 4),
        ("as advised", 4, 0),
        ("advised - norms", 0, 0),
    ],
)
def test_norms_are_where_a_variant_has_them(name, layer_norms, rms_norms):
    model = built(name)
    # A convolution of width 1 is none, but its norm may be there.
    for mixer in model.mixers:
        layer_norms += count(mixer, nn.LayerNorm)
    assert (count(model, nn.LayerNorm), count(model, nn.RMSNorm)) == (layer_norms, rms_norms)


def test_a_norm_after_a_sub_layer_is_that_of_the_sum(generator):
    block = built("norms after").blocks[0]
    x = torch.randn(2, 5, 16, generator=generator)
    gain, bias = torch.randn(2, 16, generator=generator)
    with torch.no_grad():
        block.feed_forward_norm.weight.copy_(gain)
        block.feed_forward_norm.bias.copy_(bias)
        first = layer_norm(x + block.attention(x), (16,))
        inner = nn.functional.gelu(first @ block.up.weight.T + block.up.bias)
        second = first + inner @ block.down.weight.T + block.down.bias
        torch.testing.assert_close(block(x), gain * layer_norm(second, (16,)) + bias)


def test_what_a_variant_leaves_alone_begins_with_the_same_weights():
    recipe = dict(built("the recipe").named_parameters())
    for name in ("no LayerNorm", "norms after", "no warm-up", "trained gains"):
        for key, weight in built(name).named_parameters():
            torch.testing.assert_close(weight, recipe[key], rtol=0, atol=0)


def test_a_small_start_is_small_and_smaller_at_the_ends_of_branches():
    def deviation(weight):
        return float(weight.detach().std())

    model = built("small start")
    assert deviation(model.embedding.weight) == pytest.approx(0.02, rel=0.05)
    for block in model.blocks:
        assert deviation(block.up.weight) == pytest.approx(0.02, rel=0.15)
        # 2 layers have 4 branches.
        assert deviation(block.down.weight) == pytest.approx(0.01, rel=0.15)
    assert deviation(built("the recipe").embedding.weight) > 0.5


def test_gains_of_queries_and_keys_are_trained_in_one_variant_alone():
    for one in VARIANTS:
        gains = [
            weight.requires_grad
            for name, weight in one.build(TASK, SIZES, seed=0).named_parameters()
            if name.endswith(("q_norm.weight", "k_norm.weight"))
        ]
        assert set(gains) <= {one.name == "trained gains"}


def test_an_ablation_changes_one_thing():
    usual = Recipe(steps=7)
    expected = {"no warm-up": "warmup", "no clipping": "clip", "no decay": "weight_decay"}
    for one in ABLATIONS:
        found = one.recipe(usual)
        changed = [
            f.name for f in fields(Recipe) if getattr(found, f.name) != getattr(usual, f.name)
        ]
        changed += ["qk_norm"] * (not one.qk_norm) + ["edits"] * bool(one.edits)
        changed += ["optimize"] * (one.optimize is not RECIPE.optimize)
        assert len(changed) == 1, one.name
        assert expected.get(one.name, changed[0]) == changed[0]
    assert variant("no warm-up").recipe(usual).rate(0) == usual.learning_rate


def test_where_everything_decays_a_gain_without_gradient_shrinks_by_rate_times_decay():
    for name, left in (("the recipe", 1.0), ("all decays", 1 - 0.5 * 0.1)):
        model = built(name)
        recipe = Recipe(steps=1, learning_rate=0.5, weight_decay=0.1)
        optimizer = variant(name).optimize(model, recipe)
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
        torch.testing.assert_close(model.norm.weight.detach(), torch.full((16,), left))


def test_plain_descent_steps_along_the_gradient():
    model = built("SGD")
    before = model.head.weight.detach().clone()
    optimizer = variant("SGD").optimize(model, Recipe(steps=1, learning_rate=0.5))
    model.head.weight.grad = torch.ones_like(before)
    optimizer.step()
    torch.testing.assert_close(model.head.weight.detach(), before - 0.5)


def test_a_variant_that_is_not_there_is_named():
    with pytest.raises(UnknownName, match="did you mean 'no QK-norm'"):
        variant("no QKnorm")


@pytest.mark.parametrize("name", NAMES)
def test_every_variant_trains(name):
    found = trial(variant(name), 1e-3, 0, setting=BRIEF)
    assert [row.step for row in found.rows] == [0, 1]
    assert not math.isinf(found.worst_loss)
    assert found.largest_logit < 100


def test_a_trial_tells_the_gradient_that_a_reader_computes():
    """Against the loss of the first batch and its gradient, from the definition."""
    found = trial(variant("no clipping"), 1e-3, 3, setting=BRIEF)
    model, batch = built("no clipping", seed=3), TASK.drawn(2, seed=3, step=0)
    loss = cross_entropy(model(batch.tokens).flatten(0, 1), batch.labels.flatten())
    loss.backward()
    squares = sum(
        float((w.grad.double() ** 2).sum()) for w in model.parameters() if w.grad is not None
    )
    assert found.rows[0].loss == pytest.approx(float(loss.detach()))
    assert found.rows[0].gradient_norm == pytest.approx(math.sqrt(squares))
    held_out = TASK.held_out(8)
    with torch.no_grad():
        fresh = built("no clipping", seed=3)(held_out.tokens)
    start = float(cross_entropy(fresh.flatten(0, 1), held_out.labels.flatten()))
    assert found.start == pytest.approx(start)


def test_a_trial_trains_as_its_variant_says():
    """One step of plain descent, written out."""
    alone = replace(BRIEF, recipe=Recipe(steps=1, batch=2))
    found = trial(variant("bare SGD"), 0.1, 3, setting=alone)
    model, batch = built("bare SGD", seed=3), TASK.drawn(2, seed=3, step=0)
    cross_entropy(model(batch.tokens).flatten(0, 1), batch.labels.flatten()).backward()
    held_out = TASK.held_out(8)
    with torch.no_grad():
        for weight in model.parameters():
            weight.sub_(0.1 * weight.grad)
        scores = model(held_out.tokens).flatten(0, 1)
    assert found.end == pytest.approx(float(cross_entropy(scores, held_out.labels.flatten())))
    assert found.end < found.start


def test_normalised_queries_and_keys_bound_every_score_at_any_rate():
    """|q| = |k| = sqrt(d) and Cauchy-Schwarz: a score is at most d / sqrt(d), here sqrt(8)."""
    bounded = trial(RECIPE, 3.0, 0, setting=SMALL)
    assert bounded.largest_logit <= math.sqrt(8) * (1 + 1e-5)
    free = trial(variant("no QK-norm"), 3.0, 0, setting=SMALL)
    assert free.largest_logit > 100


def test_without_any_norm_a_rate_diverges_at_which_the_recipe_learns():
    lost = trial(variant("no norm at all"), 0.3, 0, setting=SMALL)
    assert lost.diverged
    assert lost.worst_loss > 100
    kept = trial(RECIPE, 0.3, 0, setting=SMALL)
    assert not kept.diverged
    assert kept.end < kept.start - 1


@pytest.mark.parametrize(
    ("found", "diverged"),
    [
        (outcome(5.0, 3.0), False),
        (outcome(5.0, 400.0, 3.0), False),
        (outcome(5.0, math.nan, end=math.nan), True),
        (outcome(5.0, math.inf, 3.0), True),
        (outcome(5.0, 3.0, end=5.0), True),
        (outcome(5.0, 3.0, end=9.0), True),
        (outcome(5.0, 3.0, end=math.nan), True),
    ],
)
def test_training_that_did_harm_alone_has_diverged(found, diverged):
    assert found.diverged is diverged


def test_the_worst_of_a_trial_is_infinite_where_it_is_not_finite():
    assert outcome(5.0, 400.0, 3.0).worst_loss == 400
    assert outcome(5.0, math.nan).worst_loss == math.inf
    layers = (LayerRow(2.0, 0.5), LayerRow(None, None), LayerRow(7.0, 0.1))
    row = Row(0, 5.0, 0.1, 3.0, layers)
    found = Trial(variant="x", rate=0.1, seed=0, rows=(row,), start=5.0, end=2.0)
    assert (found.largest_logit, found.worst_gradient) == (7, 3)


def test_a_trial_is_repeatable_and_leaves_pytorchs_generator_alone():
    first = trial(variant("small start"), 1e-2, 1, setting=BRIEF)
    torch.rand(3)
    state = torch.get_rng_state()
    assert trial(variant("small start"), 1e-2, 1, setting=BRIEF) == first
    assert torch.equal(torch.get_rng_state(), state)
    assert trial(variant("small start"), 1e-2, 2, setting=BRIEF).start != first.start
