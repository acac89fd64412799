import copy
import math
from dataclasses import replace

import pytest
import torch
from tests.train.small import SIZES, Either, Ragged
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from attncost import Causal, Full
from attncost.core.errors import ShapeError
from attncost.mechanisms.linear import Linear
from attncost.train.loop import train
from attncost.train.recipe import Recipe
from attncost.train.transformer import Transformer

RECIPE = Recipe(steps=6, batch=5, warmup=0.5, learning_rate=0.02, clip=0.05, seed=3)


def learner(dtype=torch.float32, **options):
    return Transformer(Ragged(), Causal(), SIZES, **options).to(dtype)


def weights(model):
    return [weight.detach().clone() for weight in model.parameters()]


def plainly(model, recipe, task):
    """Train with nothing but PyTorch, and return the losses and norms."""
    tables = [model.embedding.weight, model.positions.weight]
    decaying = [x for x in model.parameters() if x.ndim > 1 and all(x is not t for t in tables)]
    others = [x for x in model.parameters() if all(x is not one for one in decaying)]
    groups = [{"params": decaying}, {"params": others, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(
        groups, lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    warming = round(recipe.warmup * recipe.steps)
    growing = LinearLR(adamw, start_factor=1 / warming, total_iters=warming - 1)
    least = recipe.floor * recipe.learning_rate
    falling = CosineAnnealingLR(adamw, recipe.steps - 1 - warming, least)
    rates, told = SequentialLR(adamw, [growing, falling], [warming]), []
    for step in range(recipe.steps):
        batch = task.drawn(recipe.batch, seed=recipe.seed, step=step)
        loss = cross_entropy(model(batch.tokens).flatten(0, 1), batch.labels.flatten())
        adamw.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        adamw.step()
        rates.step()
        told.append((loss.item(), norm.item()))
    return told


@pytest.mark.parametrize(
    ("task", "attention", "micro_batches"),
    [
        (Ragged(), Causal(), 1),
        (Ragged(), Causal(), 2),
        (Ragged(), Linear(causal=True), 5),
        (Either(), Full(), 3),
    ],
    ids=str,
)
def test_it_is_the_loop_that_one_would_write_however_a_batch_is_cut(task, attention, micro_batches):
    ours, theirs = (Transformer(task, attention, SIZES).double() for _ in range(2))
    recipe = replace(RECIPE, micro_batches=micro_batches)
    told = plainly(theirs, recipe, task)
    rows = train(ours, task, recipe).rows
    # Some are clipped, so that it is seen which norm is told.
    assert max(norm for _, norm in told) > RECIPE.clip
    for row, (loss, norm) in zip(rows, told, strict=True):
        assert (row.loss, row.gradient_norm) == pytest.approx((loss, norm), rel=1e-6)
    torch.testing.assert_close(weights(ours), weights(theirs), rtol=1e-5, atol=1e-7)


def test_without_clipping_the_norm_is_told_and_nothing_is_clipped():
    model = learner(torch.float64)
    before, recipe = weights(model), replace(RECIPE, steps=1, clip=None)
    batch = Ragged().drawn(5, seed=3, step=0)
    cross_entropy(model(batch.tokens).flatten(0, 1), batch.labels.flatten()).backward()
    gradients = [torch.zeros(()) if x.grad is None else x.grad for x in model.parameters()]
    (row,) = train(
        model, Ragged(), recipe, optimize=lambda model, _: torch.optim.SGD(model.parameters())
    ).rows
    squares = sum(float((one**2).sum()) for one in gradients)
    assert row.gradient_norm == pytest.approx(math.sqrt(squares))
    moved = [old - recipe.rate(0) * g for old, g in zip(before, gradients, strict=True)]
    torch.testing.assert_close(weights(model), moved)


def test_looking_at_layers_changes_no_bit():
    told = []
    for every in (0, 1):
        model = learner(checkpointing=True)
        rows = train(model, Ragged(), RECIPE, every=every).rows
        told.append(([(row.loss, row.gradient_norm) for row in rows], weights(model)))
        assert all((row.layers is None) == (every == 0) for row in rows)
    assert told[0][0] == told[1][0]
    assert all(map(torch.equal, told[0][1], told[1][1]))


def test_layers_are_looked_at_every_few_steps_and_in_the_last_one():
    rows = train(learner(), Ragged(), RECIPE, every=2).rows
    assert [row.layers is not None for row in rows] == [True, False, True, False, True, True]
    assert len(rows[0].layers) == SIZES.layers


def test_where_a_run_stops_early_no_step_is_its_last_one():
    rows = train(learner(), Ragged(), RECIPE, every=2, until=4).rows
    assert [row.layers is not None for row in rows] == [True, False, True, False]


def test_a_loss_that_is_not_finite_ends_the_run_and_changes_no_weights():
    model, recipe = learner(), replace(RECIPE, learning_rate=1e30, clip=None, warmup=0.0)
    found = train(model, Ragged(), recipe)
    *fine, last = found.rows
    assert found.diverged
    assert fine
    assert all(math.isfinite(row.loss) for row in fine)
    assert not math.isfinite(last.loss)
    assert last.step < recipe.steps - 1
    before = learner()
    assert not train(before, Ragged(), recipe, until=last.step).diverged
    # Of what is not a number no two are equal.
    assert all(map(torch.equal, *([x.nan_to_num() for x in weights(m)] for m in (model, before))))


class Sharp(nn.Module):
    """Has a finite loss whose gradient is NaN, from a step on."""

    def __init__(self, step):
        super().__init__()
        self.step, self.steep = step, nn.Parameter(torch.zeros(7))
        self.table = nn.Embedding(7, 7)

    def forward(self, tokens):
        self.step -= 1
        scores = self.table(tokens)
        return scores if self.step >= 0 else scores + (self.steep * 0).sum().abs().sqrt()


@pytest.mark.parametrize("step", [0, 2, RECIPE.steps - 1])
def test_a_gradient_that_is_not_finite_ends_the_run_and_changes_no_weights(step):
    torch.manual_seed(0)
    model, recipe = Sharp(step), replace(RECIPE, clip=None)
    other = copy.deepcopy(model)
    found = train(model, Ragged(), recipe)
    assert found.diverged
    assert [row.step for row in found.rows] == list(range(step + 1))
    assert math.isfinite(found.rows[-1].loss)
    assert math.isnan(found.rows[-1].gradient_norm)
    train(other, Ragged(), recipe, until=step)
    assert all(map(torch.equal, weights(model), weights(other)))


def test_in_float16_a_gradient_that_overflows_leaves_a_step_out_and_no_more():
    class Steep(nn.Module):
        """Has a gradient that overflows while the loss is scaled by 2 ** 15 or more."""

        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 7)

        def forward(self, tokens):
            scores = self.table(tokens)
            scores.register_hook(lambda g: g.half().mul(100).float())
            return scores

    torch.manual_seed(0)
    model = Steep()
    found = train(model, Ragged(), replace(RECIPE, autocast="float16"))
    finite = [math.isfinite(row.gradient_norm) for row in found.rows]
    assert not found.diverged
    assert not finite[0]
    assert finite[-1]
    assert len(finite) == RECIPE.steps
    assert not train(Steep(), Ragged(), replace(RECIPE, autocast="float16"), until=1).diverged


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 7)

    def forward(self, tokens):
        return nn.functional.dropout(self.table(tokens), 0.5, self.training)


def test_what_a_step_draws_depends_on_seed_and_step_alone():
    def losses(seed, stir):
        torch.manual_seed(0)
        model = Dropping()
        torch.rand(stir)
        rows = train(model, Ragged(), replace(RECIPE, seed=seed, learning_rate=1e-9)).rows
        return [row.loss for row in rows]

    assert losses(1, 0) == losses(1, 17)
    assert len({*losses(1, 0), *losses(2, 0)}) == 12


def test_narrower_products_are_made_in_that_type():
    seen, model = set(), learner()
    model.blocks[0].up.register_forward_hook(lambda *given: seen.add(given[2].dtype))
    with torch.autocast("cpu"):  # the caller's own, which is not the recipe's
        train(model, Ragged(), replace(RECIPE, steps=1))
        assert seen == {torch.float32}
        train(model, Ragged(), replace(RECIPE, steps=1, autocast="bfloat16"))
    assert seen == {torch.float32, torch.bfloat16}


@pytest.mark.parametrize("autocast", ["bfloat16", "float16"])
def test_narrower_products_learn_as_much(autocast):
    wide, narrow = learner(), learner()
    expected = train(wide, Ragged(), RECIPE).rows
    found = train(narrow, Ragged(), replace(RECIPE, autocast=autocast)).rows
    for row, other in zip(found, expected, strict=True):
        assert row.loss == pytest.approx(other.loss, rel=1e-2)
        assert row.gradient_norm == pytest.approx(other.gradient_norm, rel=0.1)


def test_a_step_without_a_label_has_no_loss_and_no_gradient():
    class Silent:
        def drawn(self, size, *, seed, step):
            batch = Ragged().drawn(size, seed=seed, step=step)
            return replace(batch, labels=torch.full_like(batch.labels, -100))

    (row,) = train(learner(), Silent(), replace(RECIPE, steps=1)).rows
    assert (row.loss, row.gradient_norm) == (0, 0)


def test_scores_that_do_not_belong_to_the_labels_are_refused():
    class Wrong(nn.Linear):
        def forward(self, tokens):
            return super().forward(tokens.float())

    with pytest.raises(ShapeError, match=r"\(5, 9, 'classes'\), got \(5, 3\)."):
        train(Wrong(9, 3), Ragged(), RECIPE)
