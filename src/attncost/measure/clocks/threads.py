"""How many threads of the CPU PyTorch has while something is timed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Give PyTorch so many threads for a while; CPU time asks for one."""
    before = torch.get_num_threads()
    if count != before:
        torch.set_num_threads(count)
    _first_mathematics()
    try:
        yield
    finally:
        if count != before:
            torch.set_num_threads(before)


@cache
def _first_mathematics() -> None:
    # The first vector mathematics of a process is racy in torch 2.13; let it be this.
    torch.ones(1 << 14, device="cpu").exp().log()
