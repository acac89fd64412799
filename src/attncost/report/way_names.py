"""What a way to put texts into batches is called, and how Python makes it."""

from dataclasses import fields
from typing import Any

from attncost.batches.interface import Batching
from attncost.batches.priced import Priced
from attncost.batches.reasons import told


def kind(one: Priced) -> str:
    """Say which way it is, without its settings."""
    return _beside_mask(type(one.way).__name__.lower(), masked=one.masked)


def named(way: Batching, *, masked: bool) -> str:
    """Say which way it is, with its settings.

    Args:
        way: The way.
        masked: Whether it packs, and attention reads a dense mask of documents.
    """
    return _beside_mask(told(way), masked=masked)


def expression(way: Batching) -> str:
    """Write the call that makes a way: its first setting, and all that are not as ever.

    >>> from attncost.batches.ways.padded import Padded
    >>> expression(Padded()), expression(Padded(8, multiple=4))
    ('Padded(size=32)', 'Padded(size=8, multiple=4)')
    """
    frozen: Any = way  # a dataclass, which the interface does not say
    first, *others = fields(frozen)
    shown = (first, *(one for one in others if getattr(way, one.name) != one.default))
    settings = ", ".join(f"{one.name}={getattr(way, one.name)!r}" for one in shown)
    return f"{type(way).__name__}({settings})"


def _beside_mask(name: str, *, masked: bool) -> str:
    return f"{name}, dense mask" if masked else name
