"""Autocast, as whoever computes or counts attention meets it."""

import torch


def autocast_type(kind: str) -> torch.dtype | None:
    """Return the type that autocast narrows numbers to on a kind of device, None if it is off.

    >>> autocast_type("cpu") is None
    True
    """
    # Meta tensors have no autocast, and asking for theirs raises.
    on = _has_autocast(kind) and torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if on else None


# A constant, because the compiler of PyTorch 2.11 does not know the question.
@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _has_autocast(kind: str) -> bool:
    return torch.amp.is_autocast_available(kind)
