"""The steps of a recipe.

    loss of a step  =  sum of the cross entropies of all its micro-batches / labels of all of them

so that the gradient is that of the whole batch, however labels lie in it. In float16 small
gradients would be 0, so the loss is scaled up before the backward pass: Micikevicius et al. 2017,
arXiv:1710.03740. A step whose gradients overflow by that changes no weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from attncost.batches.loss import counted_tokens, token_loss
from attncost.train.checkpoint import Trainee
from attncost.train.loop.apart import begin
from attncost.train.loop.ending import diverges
from attncost.train.loop.given import Draws
from attncost.train.loop.scores import device_of, narrowed, scores_of
from attncost.train.recipe import Recipe
from attncost.train.telemetry import LayerRow, Row, layer_rows
from attncost.view.capture.capture import capture

Layers: TypeAlias = tuple[LayerRow, ...] | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps that can be made.

    Attributes:
        trainee: What learns.
        task: What it learns.
        recipe: How.
        every: How many steps lie between two in which layers are looked at; 0 for never.
    """

    trainee: Trainee
    task: Draws
    recipe: Recipe
    every: int

    def made(self, start: int, stop: int) -> Iterator[Row]:
        """Make steps, and yield what is told of each; the one that diverges is the last."""
        for step in range(start, stop):
            row = self._made(step)
            yield row
            if diverges(row, self.trainee.scaler):
                return

    def _made(self, step: int) -> Row:
        trainee, recipe = self.trainee, self.recipe
        rate = recipe.rate(step)
        for group in trainee.optimizer.param_groups:
            group["lr"] = rate
        begin(device_of(trainee.model), recipe.seed, step)
        trainee.optimizer.zero_grad()
        loss, layers = self._backward(step)
        trainee.scaler.unscale_(trainee.optimizer)
        learning = [weight for weight in trainee.model.parameters() if weight.grad is not None]
        norm = get_total_norm([weight.grad for weight in learning if weight.grad is not None])
        row = Row(step, loss, rate, float(norm), layers)
        if not diverges(row, trainee.scaler):
            if recipe.clip is not None:
                clip_grads_with_norm_(learning, recipe.clip, norm)
            trainee.scaler.step(trainee.optimizer)
            trainee.scaler.update()
        return row

    def _backward(self, step: int) -> tuple[float, Layers]:
        """Add up the gradients of a step; return its loss, and how layers attend in it."""
        recipe = self.recipe
        batch = self.task.drawn(recipe.batch, seed=recipe.seed, step=step)
        counted = counted_tokens(batch.labels, shifted=False)
        looked = self.every > 0 and (step % self.every == 0 or step == recipe.steps - 1)
        total, layers = 0.0, None
        for tokens, labels in zip(
            batch.tokens.tensor_split(recipe.micro_batches),
            batch.labels.tensor_split(recipe.micro_batches),
            strict=True,
        ):
            scores, seen = self._forward(tokens, labels, looked=looked and layers is None)
            layers = layers or seen
            loss = token_loss(scores, labels.to(scores.device), tokens=counted, shifted=False)
            self.trainee.scaler.scale(loss).backward()
            total += float(loss.detach())
        return total, layers

    def _forward(
        self, tokens: Int[Tensor, "b n"], labels: Int[Tensor, "b r"], *, looked: bool
    ) -> tuple[Float[Tensor, "b r c"], Layers]:
        model = self.trainee.model
        with narrowed(device_of(model), self.recipe.autocast):
            if not looked:
                return scores_of(model, tokens, labels), None
            with capture(model) as captured:
                scores = scores_of(model, tokens, labels)
        return scores, layer_rows(model, captured)
