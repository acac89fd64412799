"""A small Transformer for any task and any attention, made to train stably.

    embed + positions -> layers of (short convolution, attention, feed-forward) -> norm -> labels

Norms stand before sub-layers. Queries and keys are normalised: Henry et al. 2020,
arXiv:2010.04245. Their gains are not learned, so that no score exceeds sqrt(head_dim) at any
learning rate; learned ones grow with it. The convolution of width 3 lets a token see its
neighbours, without which two layers take far longer to learn to recall: Arora et al. 2023,
arXiv:2312.04927. It normalises first, too: without that, recall took 600 steps instead of 200.
Weights begin as PyTorch has them, which at this size is better than a deviation of 0.02. It is made
for comparisons of a minute, not for size: positions are learned, so a sequence has at most
`task.length` tokens.
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import spelling
from attncost.nn.ahead import reads_ahead
from attncost.nn.attention import Attention
from attncost.nn.block import TransformerBlock
from attncost.nn.learned import needs_length
from attncost.patterns.interface import Pattern
from attncost.train.tasks.interface import Task


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The sizes of a `Transformer`.

    Attributes:
        d_model: Features of a token.
        layers: Blocks.
        heads: Attention heads, a divisor of `d_model`.
        hidden: Features inside the feed-forward; `2 * d_model` if left out.
        convolution: Tokens that a convolution before each attention sees, itself and the ones
            before it (on both sides where a task is not causal); 1 for none.
        qk_norm: Whether queries and keys are normalised, with gains of 1.
    """

    d_model: int = 64
    layers: int = 2
    heads: int = 2
    hidden: int | None = None
    convolution: int = 3
    qk_norm: bool = True

    def __post_init__(self) -> None:
        for name in ("layers", "convolution"):
            if getattr(self, name) < 1:
                raise ShapeError(f"{name} must be at least 1, got {getattr(self, name)}.")


@final
class Transformer(nn.Module):
    """A Transformer whose layers all read by one pattern or mechanism.

    Args:
        task: Says how many tokens, labels and positions there are.
        attention: What each layer reads.
        sizes: Its sizes.
        checkpointing: Whether to compute each block again in the backward pass instead of keeping
            what it made: Chen et al. 2016, arXiv:1604.06174.
        seed: Decides its weights, which leave PyTorch's generator as it was.

    Raises:
        ShapeError: If the sizes do not fit together.
        UnsupportedOption: If the task is causal and the attention reads ahead, and so its labels.
    """

    def __init__(
        self,
        task: Task,
        attention: Pattern | Mechanism,
        sizes: Sizes | None = None,
        *,
        checkpointing: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        _check(attention, task)
        self.task, self.sizes, self.checkpointing = task, sizes or Sizes(), checkpointing
        with torch.random.fork_rng([]):
            torch.default_generator.manual_seed(seed)
            self._make(attention)

    def forward(self, tokens: Int[Tensor, "b n"]) -> Float[Tensor, "b r c"]:
        """Return the scores of every label: for each token, or one row where the task is pooled.

        Raises:
            ShapeError: If there are more tokens than the task's sequences have.
        """
        if tokens.shape[1] > self.task.length:
            raise ShapeError(
                f"{self.task} has sequences of at most {self.task.length} tokens, got "
                f"{tokens.shape[1]}."
            )
        x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]
        for mixer, block in zip(self.mixers, self.blocks, strict=True):
            x = mixer(x)
            if self.checkpointing and torch.is_grad_enabled():
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        x = self.norm(x)
        scores: Tensor = self.head(x.mean(1, keepdim=True) if self.task.pooled else x)
        return scores

    def _make(self, attention: Pattern | Mechanism) -> None:
        task, sizes, d = self.task, self.sizes, self.sizes.d_model
        self.embedding = nn.Embedding(task.vocabulary, d)
        self.positions = nn.Embedding(task.length, d)
        self.mixers = nn.ModuleList(
            Neighbours(d, sizes.convolution, causal=task.causal) for _ in range(sizes.layers)
        )
        self.blocks = nn.ModuleList(
            TransformerBlock(_attention(attention, task, sizes), hidden=sizes.hidden or 2 * d)
            for _ in range(sizes.layers)
        )
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, task.classes, bias=False)


@final
class Neighbours(nn.Module):
    """Add to each token a weighted sum of its neighbours, normalised, feature by feature."""

    def __init__(self, d_model: int, width: int, *, causal: bool) -> None:
        super().__init__()
        before = width - 1 if causal else (width - 1) // 2
        self._sides = (before, width - 1 - before)
        self.norm = nn.LayerNorm(d_model) if width > 1 else None
        self.mix = nn.Conv1d(d_model, d_model, width, groups=d_model) if width > 1 else None

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Add them."""
        if self.norm is None or self.mix is None:
            return x
        added: Tensor = self.mix(pad(self.norm(x).mT, self._sides)).mT
        return x + added


def _attention(attention: Pattern | Mechanism, task: Task, sizes: Sizes) -> Attention:
    d, h = sizes.d_model, sizes.heads
    if h < 1 or d % h:
        raise ShapeError(f"heads must divide d_model, got {h} heads for {d} features.")
    dims = Dims(heads=h, length=1, head_dim=d // h, d_model=d)
    bound = isinstance(attention, Mechanism) and needs_length(attention, dims)
    length = task.length if bound else None
    module = Attention(d, h, attention, qk_norm=sizes.qk_norm, length=length)
    for norm in filter(None, (module.q_norm, module.k_norm)):
        norm.weight.requires_grad_(False)
    return module


def _check(attention: Pattern | Mechanism, task: Task) -> None:
    """Refuse to read labels that are later tokens."""
    if not task.causal:
        return
    if isinstance(attention, Mechanism):
        ahead, instead = not attention.causal, "such as linear:causal=1"
    else:
        ahead = reads_ahead(attention, task.length)
        instead = "such as causal or window:width=16, or in Python pattern & Causal()"
    if ahead:
        raise UnsupportedOption(
            f"{spelling(attention)} reads ahead, and the labels of {task} are later tokens: take a "
            f"causal attention, {instead}."
        )
