"""A group of processes of which this one is the only one there."""

from contextlib import contextmanager

from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextmanager
def in_group(*, rank, ranks):
    """Have `torch.distributed` say that this process is one of so many."""
    distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
    try:
        yield
    finally:
        distributed.destroy_process_group()
