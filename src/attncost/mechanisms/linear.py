"""Linear attention: a positive feature map of queries and keys takes the place of the exponential.

    out_i = sum_j phi(q_i)·phi(k_j) v_j / sum_j phi(q_i)·phi(k_j)          time  O((n + m) d²)

Linear in the length. Keys and values are summed into a state of d x d numbers a head, so decoding a
token takes the same at every length. Use it when sequences are long and what matters is their
gist, or the last state is all that may be kept. Not for recalling one key among many: the state
holds about d of them, and the average is flatter than that of a softmax. Nothing is added to the
denominator; `feature_maps` says how it stays above 0.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from attncost.core.autocast import autocast_type
from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.core.dims import Dims
from attncost.core.errors import UnknownName, UnsupportedOption
from attncost.core.options import Options, Output
from attncost.core.unseen import is_taken_for_finite
from attncost.kernels.finite import Run, guarded
from attncost.kernels.masks import is_plain
from attncost.mechanisms.feature_maps import FEATURE_MAPS
from attncost.mechanisms.interface import Learned, Recurrent, State
from attncost.mechanisms.linear_cost import linear_cost
from attncost.mechanisms.prefixes import (
    Past,
    averages,
    causal_averages,
    nothing_read,
    remembered,
    widened,
    written,
)
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern


@final
@dataclass(frozen=True, slots=True)
class Linear(Recurrent):
    """Linear attention, over all keys or over those up to the query.

    A query that comes before the first key, as where there are fewer keys than queries, returns 0.

    `attend` and `stream` are right where no feature lies more than 58 nats below the greatest of
    its token, which is e^-58 of it (472 in float64). A lesser feature counts as that. So a query
    that shares no nearer feature with a key gets some average of values, and not always the right
    one. `reference` has no such limit.

    Attributes:
        feature_map: "elu" for elu(x) + 1, or "softmax" over the features of a token, for queries
            and keys alike. Shen et al. take the softmax of keys over the tokens, which lets a key
            change the features of all earlier ones.
        causal: Whether a query reads the keys up to its own alone.

    Raises:
        UnknownName: If there is no such feature map.
    """

    source: ClassVar[str] = (
        "Katharopoulos et al. 2020, arXiv:2006.16236 (elu); Shen et al. 2018, arXiv:1812.01243 "
        "(softmax)"
    )

    feature_map: str = "elu"
    causal: bool = False

    def __post_init__(self) -> None:
        if self.feature_map not in FEATURE_MAPS:
            raise UnknownName("feature map", self.feature_map, FEATURE_MAPS)

    @classmethod
    def examples(cls) -> tuple["Linear", ...]:
        """Return both feature maps, in both directions."""
        return tuple(cls(name, causal) for name in FEATURE_MAPS for causal in (False, True))

    def parameters(self, dims: Dims) -> dict[str, tuple[Count, ...]]:
        """Return nothing: nothing is learned."""
        return {}

    def longest(self, learned: Learned) -> int | None:
        """Return None: any number of keys."""
        return None

    def reference(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g m d"],
        v: Float[Tensor, "b g m e"],
        learned: Learned,
        *,
        key_mask: Bool[Tensor, "b m"] | None = None,
    ) -> Float[Tensor, "b h n e"]:
        """Weigh every pair by the logarithm of its product, in memory of n x m x d numbers.

        Raises:
            ShapeError: As `check`.
        """
        self.check(q, k, v, learned, key_mask=key_mask)
        return self._guarded(self._pair_by_pair, q, k, v, key_mask)

    def attend(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g m d"],
        v: Float[Tensor, "b g m e"],
        learned: Learned,
        *,
        key_mask: Bool[Tensor, "b m"] | None = None,
    ) -> Float[Tensor, "b h n e"]:
        """Sum keys into a state; where causal, in chunks whose pairs are multiplied one by one.

        Raises:
            ShapeError: As `check`.
        """
        self.check(q, k, v, learned, key_mask=key_mask)
        return self._guarded(self._by_state, q, k, v, key_mask)

    def stream(
        self,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g n d"],
        v: Float[Tensor, "b g n e"],
        learned: Learned,
        *,
        state: State | None = None,
        key_mask: Bool[Tensor, "b n"] | None = None,
    ) -> tuple[Float[Tensor, "b h n e"], State]:
        """Read the next tokens; after one that is not finite every row is NaN.

        Raises:
            ShapeError: As `check_new`.
            UnsupportedOption: If it is not causal.
        """
        if not self.causal:
            raise UnsupportedOption(
                f"{self} lets a query read later keys, which have not come yet: take "
                f"Linear({self.feature_map!r}, causal=True)."
            )
        self.check_new(q, k, v, learned, key_mask=key_mask)
        before, phi = None if state is None else Past(*state), FEATURE_MAPS[self.feature_map]
        after: list[Past] = []

        def run(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, options: Options) -> Output:
            out, keys, past = causal_averages(q, k, v, options.key_mask, phi, past=before)
            after.append(written(keys, past) if k.shape[2] else before or nothing_read(k, v))
            return Output(out)

        # The first run, not a second one on cleaned keys, makes the state that later rows read.
        return self._guarded(run, q, k, v, key_mask), after[0]

    def cost(self, dims: Dims) -> Cost:
        """Charge what chunks and states multiply; useful is the recurrence, or less."""
        return linear_cost(dims, FEATURE_MAPS[self.feature_map], causal=self.causal)

    def _guarded(
        self,
        run: Run,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b g m d"],
        v: Float[Tensor, "b g m e"],
        key_mask: Bool[Tensor, "b m"] | None,
    ) -> Float[Tensor, "b h n e"]:
        """Run a way to compute it so that no row depends on a key that it may not read.

        What `key_mask` hides nobody reads. Where causal, the last row reads all other keys: if it
        is finite, so are they.
        """
        pattern, options = Causal() if self.causal else Full(), Options(key_mask=key_mask)
        with _in_full(q):
            out = run(q, k, v, pattern, options)
            if self.causal and _looked_at(out.out) and not out.out[:, :, -1:].isfinite().all():
                out = guarded(run, q, k, v, pattern, options)
            return out.out

    def _by_state(
        self, q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, options: Options
    ) -> Output:
        n, m, key_mask = q.shape[2], k.shape[2], options.key_mask
        phi = FEATURE_MAPS[self.feature_map]
        if not self.causal and m:
            return Output(averages(q, remembered(k, v, key_mask, phi), phi))
        rows = min(n, m)
        earlier, parts = None, [m - rows, rows]
        if m > rows:
            (k_old, k), (v_old, v) = (x.split(parts, 2) for x in (k, v))
            old, key_mask = (None, None) if key_mask is None else key_mask.split(parts, 1)
            earlier = remembered(k_old, v_old, old, phi)
        q = q.split([n - rows, rows], 2)[1]
        out, _, _ = causal_averages(q, k, v, key_mask, phi, past=earlier)
        return Output(pad(out, (0, 0, n - rows, 0)) if n > rows else out)

    def _pair_by_pair(
        self, q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, options: Options
    ) -> Output:
        logarithm, group = FEATURE_MAPS[self.feature_map].logarithm, q.shape[1] // k.shape[1]
        dtype, (q, k, v) = q.dtype, (widened(x) for x in (q, k, v))
        if options.key_mask is not None:
            hidden = ~options.key_mask[:, None, :, None]
            k, v = k.masked_fill(hidden, 0), v.masked_fill(hidden, 0)
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        weights = (logarithm(q)[:, :, :, None] + logarithm(k)[:, :, None]).logsumexp(-1)
        reads = pattern.mask(q.shape[2], k.shape[2], q.device)
        if options.key_mask is not None:
            reads = reads & options.key_mask[:, None, None]
        some = reads.any(-1, keepdim=True)
        weights = weights.masked_fill(~reads, -math.inf).masked_fill(~some, 0).softmax(-1)
        return Output((weights.masked_fill(~some, 0) @ v).to(dtype))


def _in_full(q: Tensor) -> AbstractContextManager[object]:
    """Turn autocast off, which would round features to half a type."""
    kind = q.device.type
    on = autocast_type(kind) is not None
    return torch.autocast(kind, enabled=False) if on else nullcontext()


def _looked_at(out: Tensor) -> bool:
    """Say whether numbers can be asked for: not in a graph, nor of a tensor without any."""
    # Asked in this order, as a graph that is compiled can hold no more than the first.
    return not torch.compiler.is_compiling() and is_plain(out) and not is_taken_for_finite(out)
