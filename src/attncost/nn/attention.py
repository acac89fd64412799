"""Multi-head attention as a module: projections around any pattern or mechanism.

    out(attention(q, k, v)),  q, k, v = heads of qkv(x)          time  O(n d²) + that of the pattern

One matrix makes queries, keys and values. Token by token decoding takes a cache, see `cache`, and
computes keys of each token once; attention over an encoder's output computes its keys at every
call.
"""

from typing import Final, cast, final

from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from attncost.core.dims import Dims
from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.kernels.attention import attention as attend
from attncost.mechanisms.interface import Mechanism
from attncost.nn.attending import attending
from attncost.nn.cache import Cache
from attncost.nn.learned import learned
from attncost.nn.rope import Rope
from attncost.nn.state_cache import StateCache
from attncost.nn.wishes import INEXACT, Asked, with_keys
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_EPSILON: Final = 1e-6  # As Qwen 3.


@final
class Attention(nn.Module):
    """Multi-head attention in which each query reads the keys that a pattern allows.

    A query that reads nothing gets the output projection's bias, as from 0. With fewer `kv_heads`
    than `heads`, heads share keys: Ainslie et al. 2023, arXiv:2305.13245. `qk_norm` normalises
    each query and key over `head_dim` before they are rotated, as in Qwen 3, arXiv:2505.09388.

    Args:
        d_model: Features of a token.
        heads: Query heads.
        attention: A pattern, or the approximation that takes its place.
        kv_heads: Heads of keys and values, a divisor of `heads`; as many if left out.
        head_dim: Features of one head; `d_model / heads` if left out.
        bias: Whether the projections add a bias.
        qk_norm: Whether queries and keys are normalised, so that scores cannot grow without bound.
        rope: Turns queries and keys by their positions.
        dropout: Probability to drop a weight in training.
        length: The most keys, for a mechanism whose learned tensors depend on how many there are.

    Raises:
        ShapeError: If the sizes do not fit together.
        UnsupportedOption: If the mechanism cannot honour one of them, or has no code.

    >>> import attncost as ac
    >>> Attention(64, 4, ac.Window(16), kv_heads=2)
    Attention(
      Window(width=16, ahead=0), d_model=64, heads=4, kv_heads=2, head_dim=16
      (qkv): Linear(in_features=64, out_features=128, bias=True)
      (out): Linear(in_features=64, out_features=64, bias=True)
    )
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        attention: Pattern | Mechanism = Full(),
        *,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        qk_norm: bool = False,
        rope: Rope | None = None,
        dropout: float = 0.0,
        length: int | None = None,
    ) -> None:
        super().__init__()
        sizes = _sizes(d_model, heads, kv_heads, head_dim)
        attention = attending(attention)
        _check(attention, dropout, length)
        if rope is not None:
            rope.turning(sizes.head_dim)
        self.d_model, self.heads = d_model, heads
        self.kv_heads, self.head_dim = sizes.kv_heads, sizes.head_dim
        self.attention, self.rope = attention, rope
        self.dropout, self.length = dropout, length
        rows = (heads + 2 * self.kv_heads) * self.head_dim
        self.qkv = nn.Linear(d_model, rows, bias=bias)
        self.q_norm = nn.RMSNorm(self.head_dim, eps=_EPSILON) if qk_norm else None
        self.k_norm = nn.RMSNorm(self.head_dim, eps=_EPSILON) if qk_norm else None
        self.out = nn.Linear(heads * self.head_dim, d_model, bias=bias)
        if isinstance(attention, Mechanism):
            self.learned = learned(attention, length, sizes)

    def forward(
        self,
        x: Float[Tensor, "b n _"],
        context: Float[Tensor, "b m _"] | None = None,
        *,
        key_mask: Bool[Tensor, "b _"] | None = None,
        segments: Int[Tensor, "b _"] | None = None,
        cache: Cache | StateCache | None = None,
    ) -> Float[Tensor, "b n _"]:
        """Let every token read others.

        Args:
            x: Tokens that read.
            context: Tokens that are read, as in cross-attention; `x` if left out.
            key_mask: True where a token may be read; with a cache, the new tokens alone, since the
                cache remembers the older ones.
            segments: A number for each token of `x`; tokens with different numbers never meet.
            cache: Keys and values of the tokens before `x`, which those of `x` join, or the state
                of a mechanism.

        Raises:
            ShapeError: If the tensors do not fit the module or each other.
            UnsupportedOption: If the pattern or mechanism cannot honour an argument.
        """
        self._check_tokens(x, context)
        Asked(context, segments, cache, self.rope).check(self.attention)
        q, k, v = self._projected(x, context)
        first = 0 if cache is None else cache.tokens
        q, k = self._placed(q, self.q_norm, first), self._placed(k, self.k_norm, first)
        if isinstance(self.attention, Mechanism):
            mixed = self._approximated(self.attention, (q, k, v), key_mask, cache)
        else:
            if cache is not None:
                k, v, key_mask = with_keys(self.attention, cache, x.shape[1]).extend(k, v, key_mask)
            mixed = attend(
                q,
                k,
                v,
                self.attention,
                key_mask=key_mask,
                segments=segments,
                dropout_p=self.dropout if self.training else 0.0,
            )
        out: Tensor = self.out(rearrange(mixed, "b h n d -> b n (h d)"))
        return out

    def _approximated(
        self,
        mechanism: Mechanism,
        qkv: tuple[Tensor, Tensor, Tensor],
        key_mask: Tensor | None,
        cache: Cache | StateCache | None,
    ) -> Tensor:
        """Return what a mechanism makes of queries, keys and values."""
        q, k, v = qkv
        own = dict(self.learned.items())
        if isinstance(cache, StateCache):
            return cache.stream(q, k, v, own, key_mask=key_mask)
        return mechanism.attend(q, k, v, own, key_mask=key_mask)

    def extra_repr(self) -> str:
        """Return the pattern and the sizes, as `repr` shows them."""
        sizes = f"d_model={self.d_model}, heads={self.heads}, kv_heads={self.kv_heads}"
        parts = [f"{self.attention}, {sizes}, head_dim={self.head_dim}"]
        options = {"rope": self.rope, "dropout": self.dropout, "length": self.length}
        return ", ".join(parts + [f"{name}={value}" for name, value in options.items() if value])

    def _projected(self, x: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values by heads."""
        h, g, d = self.heads, self.kv_heads, self.head_dim
        if context is None:
            q, k, v = rearrange(self.qkv(x), "b n (h d) -> b h n d", d=d).split((h, g, g), 1)
            return q, k, v
        if type(self.qkv) is not nn.Linear or self.qkv._forward_hooks:
            # An adapter or a hook changes what the module computes, so it is asked for all of it.
            q, _ = rearrange(self.qkv(x), "b n (h d) -> b h n d", d=d).split((h, 2 * g), 1)
            _, k, v = rearrange(self.qkv(context), "b m (h d) -> b h m d", d=d).split((h, g, g), 1)
            return q, k, v
        weights = self.qkv.weight.split((h * d, 2 * g * d))
        bias = cast("Tensor | None", self.qkv.bias)
        biases = (None, None) if bias is None else bias.split((h * d, 2 * g * d))
        queries, pairs = map(functional.linear, (x, context), weights, biases)
        k, v = rearrange(pairs, "b m (h d) -> b h m d", d=d).chunk(2, 1)
        return rearrange(queries, "b n (h d) -> b h n d", d=d), k, v

    def _placed(self, x: Tensor, norm: nn.RMSNorm | None, first: int) -> Tensor:
        """Normalise and turn queries or keys, and round them once."""
        dtype = x.dtype
        if norm is not None:
            # Under autocast `x` is narrower, for which PyTorch has no fused norm.
            x = norm(x.to(norm.weight.dtype))
        if self.rope is not None:
            x = self.rope.rotate(x, first)
        return x.to(dtype)

    def _check_tokens(self, x: Tensor, context: Tensor | None) -> None:
        for name, tokens in (("x", x), ("context", x if context is None else context)):
            if tokens.ndim != 3 or tokens.shape[2] != self.d_model:
                raise ShapeError(
                    f"{name} must have shape (batch, length, d_model = {self.d_model}), "
                    f"got {tuple(tokens.shape)}."
                )


def _sizes(d_model: int, heads: int, kv_heads: int | None, head_dim: int | None) -> Dims:
    """Return all sizes but the length, which says nothing yet."""
    if head_dim is None and (heads < 1 or d_model % heads):
        raise ShapeError(
            f"heads must divide d_model, got {heads} heads for {d_model} features: give head_dim "
            "for heads of another size."
        )
    return Dims(
        heads=heads,
        kv_heads=kv_heads,
        length=1,
        head_dim=d_model // heads if head_dim is None else head_dim,
        d_model=d_model,
    )


def _check(attention: Pattern | Mechanism, dropout: float, length: int | None) -> None:
    if not 0 <= dropout < 1:
        raise ShapeError(f"dropout must lie in [0, 1), got {dropout}.")
    if dropout and isinstance(attention, Mechanism):
        raise UnsupportedOption(INEXACT.format(attention, "dropout"))
    if length is not None and isinstance(attention, Pattern):
        raise ShapeError(f"{attention} takes every length: leave length out, got {length}.")
