"""`torch.nn.MultiheadAttention` over any pattern, with the same parameters, arguments and masks.

    out = concat(head_1, ..., head_h) W_o,  head_i = attention(query W_i^q, key W_i^k, value W_i^v)

It is right where PyTorch's is not: `is_causal` is honoured in every mode, dropout only in training,
rows that read nothing are 0 and never NaN, and `TransformerEncoderLayer` calls it instead of
reading its weights; a `TransformerEncoder` made of it says so unless `enable_nested_tensor=False`.
Weights that are asked for are computed a second time and take n x m numbers in each head: pass
`need_weights=False` where nobody looks at them. A NaN in a key spoils rows from which `attn_mask`
alone hides it.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias, final

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.kernels.attention import attention
from attncost.kernels.weights import attention_weights
from attncost.nn.extra_keys import check_pattern, extra_keys
from attncost.nn.jagged import nested_like, packed
from attncost.nn.torch_masks import TorchMasks
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

_NAMES: Final = ("query", "key", "value")

Inputs: TypeAlias = tuple[Tensor, Tensor, Tensor]


@final
class MultiheadAttention(nn.MultiheadAttention):
    """A drop-in for `torch.nn.MultiheadAttention`: the same `state_dict`, any pattern.

    Masks have PyTorch's polarity: True is blocked, numbers are added. A row that reads nothing,
    because masks or the pattern hide all its keys, is exactly 0 in every head, so its output is
    `out_proj.bias`, and no gradient passes through its scores.

    >>> import torch
    >>> import attncost as ac
    >>> layer = ac.nn.MultiheadAttention(8, 2, batch_first=True, pattern=ac.Window(width=2))
    >>> x = torch.zeros(1, 4, 8)
    >>> layer(x, x, x)[1].tolist()
    [[[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5]]]

    Args:
        embed_dim: Features of a query and of the output, over all heads.
        num_heads: Heads; a divisor of `embed_dim`.
        dropout: Probability to drop a weight in training.
        bias: Whether the projections have one.
        add_bias_kv: Whether a learned key and value follow the others, for all queries to read.
        add_zero_attn: Whether a key and a value of zeros follow them.
        kdim: Features of a key; `embed_dim` if left out.
        vdim: Features of a value; `embed_dim` if left out.
        batch_first: Whether the axes are (batch, length, features), not (length, batch, features).
        device: Where the parameters are.
        dtype: Of the parameters.
        pattern: Which key each query reads; the last query stands at the last key.

    Raises:
        ShapeError: If the heads do not divide the features.
        UnsupportedOption: If keys are added under a pattern other than `Full`.
    """

    pattern: Pattern

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        pattern: Pattern = Full(),
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ShapeError(
                "embed_dim must be a multiple of num_heads and both greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads}."
            )
        super().__init__(
            embed_dim,
            num_heads,
            dropout=dropout,
            bias=bias,
            add_bias_kv=add_bias_kv,
            add_zero_attn=add_zero_attn,
            kdim=kdim,
            vdim=vdim,
            batch_first=batch_first,
            device=device,
            dtype=dtype,
        )
        check_pattern(self, pattern)
        self.pattern = pattern

    def _reset_parameters(self) -> None:
        self._qkv_same_embed_dim = self.in_proj_weight is not None
        super()._reset_parameters()
        # PyTorch's layers read the weights of a module for which this is true, past its `forward`.
        self._qkv_same_embed_dim = False

    def extra_repr(self) -> str:
        """Say what it reads."""
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, pattern={self.pattern}"

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Let each query read the keys that pattern and masks allow.

        Args:
            query: Axes as `batch_first` says, or (length, features) without a batch.
            key: Likewise.
            value: Likewise. All three may be nested tensors, of one length or another.
            key_padding_mask: Axes (batch, kv_length). True blocks a key, numbers are added.
            need_weights: Whether to return the weights, as they are before dropout.
            attn_mask: Axes (length, kv_length) or (batch * heads, length, kv_length). True blocks
                a pair, numbers are added. A causal one costs no more than `is_causal`, unless the
                call is compiled.
            average_attn_weights: Whether to return the mean of the heads instead of each.
            is_causal: Whether to block every key behind the query, beside what masks block. The
                last query stands at the last key: one query reads all keys before it, where
                PyTorch's `is_causal` would let it read the first one.

        Returns:
            The output, and the weights with the axes (batch, length, kv_length), those of each
            head with (batch, heads, length, kv_length), or None.

        Raises:
            ShapeError: If the tensors do not belong together.
            UnsupportedOption: If masks or weights are asked for with nested tensors.
        """
        masks = TorchMasks(attn_mask, key_padding_mask, is_causal)
        if query.is_nested or key.is_nested or value.is_nested:
            return self._nested((query, key, value), masks, need_weights), None
        dims = query.dim(), key.dim(), value.dim()
        if dims not in ((3, 3, 3), (2, 2, 2)):
            raise ShapeError(
                "query, key and value must all have 3 axes, or 2 without a batch, "
                f"got {dims[0]}, {dims[1]} and {dims[2]}."
            )
        alone = dims == (2, 2, 2)
        axes = "n (h d)" if alone else "b n (h d)" if self.batch_first else "n b (h d)"
        if alone and key_padding_mask is not None:
            masks = TorchMasks(attn_mask, key_padding_mask[None], is_causal)
        qkv = self._heads((query, key, value), axes, "1" if alone else "b")
        out, weights = self._attend(qkv, masks, need_weights)
        if weights is not None:
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights[0] if alone else weights
        return self._joined(out, axes, "1" if alone else "b"), weights

    def _heads(self, inputs: Inputs, axes: str, batch: str) -> Inputs:
        """Project queries, keys and values, and give each head its own."""
        sizes = ("query", self.embed_dim), ("key", self.kdim), ("value", self.vdim)
        for x, (name, features) in zip(inputs, sizes, strict=True):
            if x.shape[-1] != features:
                raise ShapeError(f"{name} must have {features} features, got {x.shape[-1]}.")
        q, k, v = (
            rearrange(x, f"{axes} -> {batch} h n d", h=self.num_heads)
            for x in self._projected(*inputs)
        )
        if not q.shape[0] == k.shape[0] == v.shape[0] or k.shape[2] != v.shape[2]:
            order = "batch, length" if self.batch_first else "length, batch"
            raise ShapeError(
                "query, key and value must have one batch size, and key and value one length, got "
                f"{tuple(inputs[0].shape)}, {tuple(inputs[1].shape)} and {tuple(inputs[2].shape)}, "
                f"read as ({order}, features)."
            )
        return q, k, v

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> Sequence[Tensor]:
        bias: Tensor | None = self.in_proj_bias
        if query is key is value and self.in_proj_weight is not None:
            return linear(query, self.in_proj_weight, bias).chunk(3, -1)
        weights: Sequence[Tensor] = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return [linear(*each) for each in zip((query, key, value), weights, biases, strict=True)]

    def _joined(self, out: Float[Tensor, "b h n d"], axes: str, batch: str) -> Tensor:
        """Put heads side by side and project them."""
        projected: Tensor = self.out_proj(rearrange(out, f"{batch} h n d -> {axes}"))
        return projected

    def _attend(
        self,
        qkv: Inputs,
        masks: TorchMasks,
        need_weights: bool,
        segments: Int[Tensor, "1 t"] | None = None,
    ) -> tuple[Float[Tensor, "b h n d"], Float[Tensor, "b h n s"] | None]:
        """Return what the heads read, and with which weights."""
        q, k, v = qkv
        pattern, key_mask, bias = masks.reading(self.pattern, q, k, more=extra_keys(self))
        k, v = self._followed(k, self.bias_k), self._followed(v, self.bias_v)
        out = attention(
            q,
            k,
            v,
            pattern,
            key_mask=key_mask,
            bias=bias,
            segments=segments,
            dropout_p=self.dropout if self.training else 0.0,
        )
        if not need_weights:
            return out, None
        return out, attention_weights(q, k, pattern, key_mask=key_mask, bias=bias)

    def _followed(
        self, x: Float[Tensor, "b h m d"], learned: Float[Tensor, "1 1 e"] | None
    ) -> Float[Tensor, "b h s d"]:
        """Return keys or values with those behind them that all queries read."""
        behind = []
        if learned is not None:
            one = rearrange(learned, "1 1 (h d) -> 1 h 1 d", h=self.num_heads)
            behind.append(one.expand(len(x), -1, -1, -1).to(x.dtype))
        if self.add_zero_attn:
            behind.append(torch.zeros_like(x[:, :, :1]))
        return torch.cat([x, *behind], 2) if behind else x

    def _nested(self, inputs: Inputs, masks: TorchMasks, need_weights: bool) -> Tensor:
        """Return what the sequences of nested tensors read, each in itself."""
        if need_weights or masks.attn_mask is not None or masks.key_padding_mask is not None:
            raise UnsupportedOption(
                "nested tensors take need_weights=False and no masks (is_causal and a pattern "
                "hold within each sequence): pad them for masks or weights."
            )
        if not self.batch_first:
            raise UnsupportedOption(
                "a nested tensor has its batch first, the module does not: "
                "make it with batch_first=True."
            )
        query, key, value = (packed(name, x) for name, x in zip(_NAMES, inputs, strict=True))
        if key.lengths != value.lengths or len(query.lengths) != len(key.lengths):
            raise ShapeError(
                "nested query, key and value must hold as many sequences, and key and value as "
                f"long ones, got lengths {query.lengths}, {key.lengths} and {value.lengths}."
            )
        # One tensor stays one, which one product projects.
        same = inputs[0] is inputs[1] is inputs[2]
        tokens = (query.tokens,) * 3 if same else (query.tokens, key.tokens, value.tokens)
        qkv = self._heads(tokens, "b n (h d)", "b")
        if query.lengths == key.lengths and self.pattern.relative and not extra_keys(self):
            out, _ = self._attend(qkv, masks, False, query.segments())
        else:
            cuts = [x.split(of.lengths, 2) for x, of in zip(qkv, (query, key, key), strict=True)]
            out = torch.cat(
                [self._attend(one, masks, False)[0] for one in zip(*cuts, strict=True)], 2
            )
        return nested_like(inputs[0], self._joined(out, "b n (h d)", "b"), query.lengths)
