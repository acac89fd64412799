"""Where a model says by which attention function its parts compute."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


def configurations(model: nn.Module) -> list[Any]:
    """Return the configurations that the parts of a model have, each once, outer ones first.

    Setting one sets those within it, too: set them in this order, each to its own.
    """
    found: dict[int, Any] = {}
    for part in model.modules():
        one: Any = getattr(part, "config", None)
        if hasattr(one, "_attn_implementation"):
            within = [getattr(one, name, None) for name in getattr(one, "sub_configs", {})]
            for each in (one, *within):
                if each is not None:
                    found.setdefault(id(each), each)
    return list(found.values())


@contextmanager
def implementing(model: nn.Module, name: str) -> Iterator[None]:
    """Let a model use another attention function for a while."""
    former = [(one, one._attn_implementation) for one in configurations(model)]
    try:
        for one, _ in former:
            one._attn_implementation = name
        yield
    finally:
        # Setting one sets those within it, which come later and are put right then.
        for one, implementation in former:
            one._attn_implementation = implementation
