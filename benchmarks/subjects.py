"""What `benchmarks.kernels` computes: inputs, which pairs are read, and the true numbers.

Every pattern that is found and has defaults is a subject, with those defaults. Two more are not
patterns: `documents`, 32 texts packed into one sequence, and `layer`, attention between its
projections, as `nn.MultiheadAttention` computes it.
"""

import math
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from itertools import accumulate, pairwise
from statistics import NormalDist
from typing import Final

import torch
from torch import Tensor

import attncost as ac
from attncost.patterns import load, names

HEADS: Final = 8
HEAD_DIM: Final = 64
_DOCUMENTS: Final = 32
# Spread of log lengths with which padding wastes what it does on a novel's paragraphs in batches
# of 32: 73 % of tokens, 8 times the pairs.
_SPREAD: Final = 0.75


def patterns() -> dict[str, ac.Pattern]:
    """Return every pattern that needs no parameter; `Full` and `Causal` come first."""
    found = {name: ac.pattern(name) for name in names() if _has_defaults(load(name))}
    return {"full": ac.Full(), "causal": ac.Causal(), **found}


def _has_defaults(kind: type[object]) -> bool:
    return is_dataclass(kind) and all(one.default is not MISSING for one in fields(kind))


def subjects() -> tuple[str, ...]:
    """Return the names of all subjects."""
    return (*patterns(), "documents", "layer")


def pattern_of(subject: str) -> ac.Pattern:
    """Return the pattern of a subject; inside a document and a layer all tokens are read."""
    return patterns().get(subject, ac.Full())


def document_lengths(n: int) -> tuple[int, ...]:
    """Return lengths of documents that add up to `n`, spread evenly over a log-normal law."""
    normal = NormalDist(0, _SPREAD)
    shares = [math.exp(normal.inv_cdf((i + 0.5) / _DOCUMENTS)) for i in range(_DOCUMENTS)]
    ends = [round(n * part / sum(shares)) for part in accumulate(shares)]
    return tuple(b - a for a, b in pairwise([0, *ends]))


def segments(n: int) -> Tensor:
    """Return the number of the document of each token."""
    lengths = torch.tensor(document_lengths(n))
    return torch.arange(len(lengths)).repeat_interleave(lengths)


def inputs(n: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return random queries, keys and values of one sequence, the same ones every time."""
    generator = torch.Generator().manual_seed(n)
    q, k, v = (torch.randn(1, HEADS, n, HEAD_DIM, generator=generator).to(dtype) for _ in range(3))
    return q, k, v


def mask_of(subject: str, n: int) -> Tensor:
    """Return the dense mask of a subject, True where a key is read."""
    if subject == "documents":
        number = segments(n)
        return number[:, None] == number
    return pattern_of(subject).mask(n, n)


def definition(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return attention in float64, written out; rows that read nothing are 0."""
    scores = (q.double() @ k.double().mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    return scores.softmax(-1).nan_to_num() @ v.double()


@cache
def layer(dtype: torch.dtype) -> torch.nn.MultiheadAttention:
    """Return the layer whose weights all contestants share.

    It trains without dropout: in evaluation PyTorch takes a path that is slower and needs more
    memory when sequences are long.
    """
    torch.manual_seed(0)
    width = HEADS * HEAD_DIM
    return torch.nn.MultiheadAttention(width, HEADS, bias=False, batch_first=True, dtype=dtype)


def layer_by_hand(
    module: torch.nn.MultiheadAttention, x: Tensor, attend: ac.Pattern | None
) -> Tensor:
    """Return what the layer computes, around `ac.attention`; without a pattern, in float64."""
    weight: Tensor = module.in_proj_weight
    out: Tensor = module.out_proj.weight
    if attend is None:
        x, weight, out = x.double(), weight.double(), out.double()
    joined = torch.nn.functional.linear(x, weight)
    q, k, v = joined.unflatten(-1, (3, HEADS, HEAD_DIM)).permute(2, 0, 3, 1, 4)
    mixed = (
        definition(q, k, v, torch.ones(1, dtype=torch.bool))
        if attend is None
        else ac.attention(q, k, v, attend)
    )
    return torch.nn.functional.linear(mixed.transpose(1, 2).flatten(2), out)
