"""Saying of a model's masks what they let through, where nobody can look: on the meta device."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from torch import Tensor

from attncost.cost.counting.told import tell
from attncost.integrations.hf.register import interfaces
from attncost.integrations.hf.rules import MaskFunction, read

_NAME: Final = "sdpa"


@contextmanager
def telling(*, unpadded: bool = False) -> Iterator[None]:
    """For a while, let masks that transformers writes without values be told of by their rules.

    Causality and windows are such rules. Nothing else changes, and masks with values stay as they
    are.

    Args:
        unpadded: Whether no sequence is padded, so that a model's own note of its padding, which
            has no values either, says nothing.
    """
    if "transformers" not in sys.modules:
        yield
        return
    _, masks = interfaces()
    kept = dict(masks._local_mapping)
    masks[_NAME] = partial(_told, masks[_NAME], unpadded)
    try:
        yield
    finally:
        masks._local_mapping = kept


def _told(
    own: MaskFunction,
    unpadded: bool,
    *,
    batch_size: int,
    q_length: int,
    kv_length: int,
    mask_function: MaskFunction,
    attention_mask: Tensor | None = None,
    **asked: Any,  # noqa: ANN401 -- what else transformers hands to any mask function
) -> Tensor | None:
    if unpadded and attention_mask is not None and attention_mask.is_meta:
        attention_mask = None
    mask: Tensor | None = own(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        mask_function=mask_function,
        attention_mask=attention_mask,
        **asked,
    )
    if mask is None or not mask.is_meta or attention_mask is not None:
        return mask
    rule = read(mask_function)
    # A pattern aligns the last query with the last key, which is then that of the same number.
    aligned = q_length == kv_length and asked.get("q_offset", 0) == asked.get("kv_offset", 0)
    if rule is not None and rule.documents is None and aligned:
        tell(mask, batch_size * int(rule.pattern.pairs(q_length, kv_length)))
    return mask
