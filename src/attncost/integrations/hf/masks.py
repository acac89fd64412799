"""The mask function that goes with our attention: says what may be read, without n x m numbers."""

from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn.functional import pad

from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.reads import Reads
from attncost.integrations.hf.rules import MaskFunction, Rule, read
from attncost.kernels.documents import unknown
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    *,
    mask_function: MaskFunction,
    attention_mask: Tensor | None = None,
    **asked: Any,  # noqa: ANN401 -- what else transformers hands to any mask function
) -> Reads:
    """Return what the queries of one forward pass may read, as `AttentionMaskInterface` asks it.

    Args:
        batch_size: Sequences.
        q_length: Queries.
        kv_length: Keys, those of a cache included.
        q_offset: Position of the first query.
        kv_offset: Position of the first key.
        mask_function: Says of one pair whether it is read, padding aside.
        attention_mask: (b, positions), True where a token is no padding.
        **asked: Only passed on where the mask has to be written out.

    Raises:
        UnsupportedOption: If the padding is given in another form.
    """
    if attention_mask is not None and attention_mask.ndim != 2:
        raise UnsupportedOption(
            "attention_mask must have the axes (batch, positions), or be a complete mask with 4 "
            f"axes, got shape {tuple(attention_mask.shape)}."
        )
    if isinstance(q_offset, Tensor) and not torch.compiler.is_compiling():
        q_offset = int(q_offset)  # a static cache counts in place, so now or never
    sizes, first = (batch_size, q_length, kv_length), (q_offset, kv_offset)
    rule = read(mask_function) if _legible(asked) else None
    if rule is None or isinstance(q_offset, Tensor) or not _of_tokens(rule, sizes, first):
        dense = _written_out(
            batch_size=batch_size,
            q_length=q_length,
            kv_length=kv_length,
            q_offset=q_offset,
            kv_offset=kv_offset,
            mask_function=mask_function,
            attention_mask=attention_mask,
            **asked,
        )
        if isinstance(q_offset, Tensor):
            q_offset = q_offset.clone()
        return Reads(sizes, Full(), dense=dense, first=(q_offset, kv_offset))
    return _understood(rule, sizes, (q_offset, kv_offset), attention_mask)


def _of_tokens(rule: Rule, sizes: tuple[int, int, int], first: tuple[Any, int]) -> bool:
    """Say whether documents, if any, are told for the tokens of this call and no others."""
    batch, n, m = sizes
    shape = None if rule.documents is None else tuple(rule.documents.shape)
    return shape is None or (shape == (batch, n) and n == m and first == (0, 0))


def _understood(
    rule: Rule, sizes: tuple[int, int, int], first: tuple[int, int], padding: Tensor | None
) -> Reads:
    (batch, n, m), (query, key) = sizes, first
    key_mask = None if padding is None else _of_keys(padding, m, key)
    # The end of a static cache is yet to be filled; nothing there may be read.
    held, filled = m, query + n - key
    if rule.documents is None and 0 <= filled < m and _behind(rule.pattern):
        m, key_mask = filled, None if key_mask is None else key_mask[:, :filled]
    if key_mask is not None and unknown(key_mask) is None and bool(key_mask.all()):
        key_mask = None
    return Reads(
        (batch, n, m),
        rule.pattern,
        key_mask=key_mask,
        segments=rule.documents,
        first=first,
        held=held,
    )


def _behind(pattern: Pattern) -> bool:
    """Say whether a query reads nothing after itself."""
    return isinstance(pattern, Causal) or (isinstance(pattern, Window) and pattern.ahead == 0)


def _of_keys(padding: Bool[Tensor, "b p"], m: int, first: int) -> Bool[Tensor, "b m"]:
    """Return which keys are no padding; what lies beyond the mask is."""
    missing = first + m - padding.shape[1]
    if missing > 0:
        padding = pad(padding, (0, missing))
    return padding[:, first : first + m].bool()


def _legible(asked: dict[str, Any]) -> bool:
    """Say whether a mask function can be read: in a graph only if it looks nothing up."""
    # transformers allows a mask to be skipped if it is made of limits alone.
    plain = asked.get("allow_is_causal_skip") or asked.get("allow_is_bidirectional_skip")
    return bool(plain) or not torch.compiler.is_compiling()


def _written_out(**asked: Any) -> Bool[Tensor, "b _ n m"]:  # noqa: ANN401 -- theirs
    from transformers.masking_utils import sdpa_mask  # noqa: PLC0415 -- optional

    asked |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    written = sdpa_mask(**asked)
    assert isinstance(written, Tensor)
    return written
